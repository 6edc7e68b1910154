"""Attacks and metrics made of functions: what becomes an option, what is checked at once, and who offers them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest
from pydantic import Field, ValidationError

from entry_points import Point, install
from leafgate.api import AtLeast, AtMost, AttackModel, Score, attack, person_metric, release_metric
from leafgate.app import load_plugins
from leafgate.testing import conformance
from standins import ORIGIN

BELIEFS = ["believed"]


@attack("majority", reads={"exact"}, threat_model="Knows the release alone.", source="counting")
def majority(release: Any, known: Any, *, smooth: Annotated[float, Field(ge=0)] = 0, why: str = "") -> list[Any]:
    """Believes of everybody what most people have."""
    return [*BELIEFS, release, known, smooth, why]


@person_metric("sureness", safer="less", formula="the largest probability")
def sureness(case: Any, *, power: int = 1) -> Any:
    """How sure the adversary is."""
    return case.posterior.max(axis=1) ** power


@release_metric("trees_left", safer="more")
def trees_left(case: Any) -> Any:
    """How many trees there are."""
    return len(case.release.trees)


def test_keyword_only_parameters_are_the_options_of_a_policy() -> None:
    assert issubclass(majority, AttackModel)
    made = majority.model_validate({"use": "majority", "smooth": 2.0})
    assert made.infer("release", "known") == ["believed", "release", "known", 2.0, ""]  # type: ignore[arg-type]
    assert (majority.reads, majority.threat_model) == (frozenset({"exact"}), "Knows the release alone.")
    assert majority.__doc__ == "Believes of everybody what most people have."
    with pytest.raises(ValidationError):
        majority.model_validate({"use": "majority", "smooth": -1.0})
    with pytest.raises(ValidationError):
        majority.model_validate({"use": "majority", "smoth": 1.0})
    assert pickle.loads(pickle.dumps(made)) == made


def test_the_safer_scores_decide_how_a_limit_is_written() -> None:
    assert (issubclass(sureness, AtMost), issubclass(trees_left, AtLeast)) == (True, False)
    assert sureness.model_validate({"use": "sureness", "at_most": 0.5, "power": 2}).limit.direction == "at_most"
    assert trees_left.direction == "at_least"


class Case:
    """As much of a context as these metrics read."""

    posterior = pd.DataFrame({"a": [0.25, 1.0], "b": [0.75, 0.0]})
    release = type("Release", (), {"trees": (1, 2, 3)})


def test_numbers_become_scores_and_scores_stay() -> None:
    case: Any = Case()
    score = sureness.model_validate({"use": "sureness", "at_most": 1, "power": 2}).score(case)
    assert score.people is not None
    assert score.people.tolist() == [0.75**2, 1.0]
    assert trees_left.model_validate({"use": "trees_left", "at_least": 1}).score(case).value == 3.0
    given = Score(people=pd.Series(np.ones(2)))
    assert person_metric("given", safer="more")(lambda case: given)(at_least=1).score(case) is given


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no known": (lambda: attack("x")(lambda release: []), r"takes \(release, known\)"),
    "two cases": (lambda: person_metric("x", safer="more")(lambda case, other: []), r"takes \(case\)"),
    "no type": (lambda: attack("x")(eval("lambda release, known, *, a=1: []")), "the option 'a' needs a type"),
    "no such variable": (lambda: attack("x", read={"exact"})(lambda release, known: []), "no class variable 'read'"),
}


@pytest.mark.parametrize(("make", "said"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_where_the_function_is_decorated(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make()


def test_a_module_with_such_functions_is_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "leafgate_api", ">=3,<4", raising=False)
    install(monkeypatch, Point("spies", lambda: module))
    plugins = load_plugins()
    assert plugins.by_name == {"majority": majority, "sureness": sureness, "trees_left": trees_left}
    assert plugins.origin(majority) == ORIGIN


def test_what_a_module_imports_is_offered_by_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other")
    vars(other).update(majority=majority, confidence=load_plugins().component("confidence"), leafgate_api=">=3,<4")
    install(monkeypatch, Point("other", lambda: other))
    assert load_plugins().by_name == {}


def test_what_is_wrong_with_such_a_class_makes_its_plugin_a_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("odd")
    vars(module).update(leafgate_api=">=3,<4")
    source = (
        "from leafgate.api import attack\n@attack('odd', needs={'luck'})\ndef odd(release, known):\n    return []\n"
    )
    exec(source, vars(module))
    install(monkeypatch, Point("odd", lambda: module))
    [broken] = load_plugins().broken
    assert ": `needs` must be a set of words" in broken.problem


def test_the_kit_checks_them_as_classes() -> None:
    names = {check.name for check in conformance(majority())}
    assert {"works", "runs_apart", "catches_a_leak"} <= names
