from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leafgate import InconclusiveError, LeafgateError, PolicyError
from leafgate.api import TreeBuilder
from leafgate.app import load_plugins, load_policy
from stranger import install
from survey import write_policy

BROKEN = "raise RuntimeError('out of order')\n"
DEAF = """
from typing import Literal
from leafgate.api import AttackModel, hookimpl
leafgate_api = ">=3,<4"

class Deaf(AttackModel):
    use: Literal["deaf"] = "deaf"

@hookimpl
def attack_models():
    return [Deaf]
"""
UNKNOWN: list[dict[str, Any]] = [
    {"build.use": "acme"},
    {"attacks.0.use": "acme"},
    {"metrics.0.use": "acme"},
    {"build": {"use": "acme"}, "attacks.0.use": "acme_attack"},
]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with a broken plugin installed."""
    install(tmp_path, "leafgate_out_of_order", BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("change", UNKNOWN)
def test_a_name_nobody_offers_is_invalid(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="nobody offers 'acme") as refused:
        load_policy(write_policy(tmp_path, change))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("change", UNKNOWN)
def test_a_name_nobody_offers_is_inconclusive_while_a_plugin_is_broken(broken: Path, change: dict[str, Any]) -> None:
    with pytest.raises(InconclusiveError) as refused:
        load_policy(write_policy(broken, change))
    assert refused.value.exit_code == 3
    items = [str(problem) for problem in refused.value.problems]
    assert any("nobody offers 'acme" in text for text in items)
    assert any("leafgate_out_of_order" in text and "is broken" in text for text in items)


def test_any_other_mistake_is_invalid_even_while_a_plugin_is_broken(broken: Path) -> None:
    with pytest.raises(PolicyError):
        load_policy(write_policy(broken, {"attacks.0.use": "acme", "seed": -1}))


def test_a_broken_plugin_that_the_policy_does_not_trust_is_not_to_blame(broken: Path) -> None:
    with pytest.raises(PolicyError):
        load_policy(write_policy(broken, {"attacks.0.use": "acme", "plugins": ["leafgate"]}))


def test_a_broken_plugin_hinders_nobody_who_does_not_use_it(broken: Path) -> None:
    assert load_policy(write_policy(broken)).plugins.broken


def test_a_broken_plugin_that_the_policy_lists_is_inconclusive(broken: Path) -> None:
    with pytest.raises(InconclusiveError, match="the plugin 'leafgate_out_of_order' is broken: RuntimeError"):
        load_policy(write_policy(broken, {"plugins": ["leafgate", "leafgate_out_of_order"]}))


def test_what_the_policy_does_not_trust_is_not_loaded(broken: Path) -> None:
    assert load_policy(write_policy(broken, {"plugins": ["leafgate"]})).plugins.broken == ()


def test_knowledge_that_no_attack_uses_is_not_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_deaf", DEAF)
    monkeypatch.syspath_prepend(tmp_path)
    granted = {"knows.distribution": True}
    assert load_policy(write_policy(tmp_path, granted)).policy.knows.distribution
    with pytest.raises(LeafgateError) as refused:
        load_policy(write_policy(tmp_path, granted | {"attacks.0.use": "deaf"}))
    assert (refused.value.exit_code, refused.value.problems[0].location) == (2, "knows.distribution")


PREDICTING: dict[str, dict[str, Any]] = {
    "id3": {},
    "c45": {},
    "kadet": {"k": 2},
    "random_trees": {},
    "dp_random_trees": {"epsilon": 1, "rehearsal": True},
    "dp_laplace_trees": {"scale": 1, "rehearsal": True},
    "tds": {"k": 2},
    "ppdtc45": {"noise": {"law": "gaussian", "deviation": {"age": 1}}},
}
"""Builders of models that predict the class, each with the options it cannot do without."""


def test_builders_that_predict_need_a_class() -> None:
    builders = [kind for kind in load_plugins().kind(TreeBuilder) if issubclass(kind, TreeBuilder)]
    assert {kind.model_fields["use"].default for kind in builders if kind.needs_class} == PREDICTING.keys()


@pytest.mark.parametrize("use", PREDICTING)
def test_a_policy_without_the_class_that_its_builder_predicts_is_invalid(tmp_path: Path, use: str) -> None:
    path = write_policy(tmp_path, {"build": {"use": use, **PREDICTING[use]}})
    with_class = load_policy(path).policy
    (target,) = [name for name, spec in with_class.data.columns.items() if "class" in spec.roles]
    path = write_policy(
        tmp_path,
        {"build": {"use": use, **PREDICTING[use]}, f"data.columns.{target}.role": ["sensitive"]},
    )
    with pytest.raises(PolicyError, match=f"build: `{use}` needs a column with the role `class`"):
        load_policy(path)
