import inspect
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
import typer

from command_line import leafgate
from entry_points import BASICS, Load, Point, install, module, offering
from leafgate import InconclusiveError, PolicyError
from leafgate.api import (
    AttackModel,
    Component,
    Metric,
    PersonMetric,
    ReleaseMetric,
    TreeBuilder,
    hookimpl,
)
from leafgate.app import load_plugins, policy_of
from standins import ORIGIN, Calm, Sizes, Stump, policy_document


@pytest.mark.parametrize("stated", [">=3,<4", "~=3.0", ">=2.9,!=3.1"])
def test_a_plugin_that_states_this_interface_is_loaded(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    made = module(attack_models=lambda: [])
    made.__dict__["leafgate_api"] = stated
    install(monkeypatch, Point("spies", lambda: made))
    assert not load_plugins().broken


def test_components_are_found_by_kind_and_know_where_they_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, BASICS)
    found = load_plugins()
    assert found.kind(AttackModel) == [Calm]
    assert found.origin(Calm) == found.origin(Calm()) == "basics 1.0"
    assert found.by_name == {"calm": Calm, "sizes": Sizes, "stump": Stump}


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ((Calm, Sizes), {}),
        ((Stump, Sizes), {}),
        ((Stump, Calm), {"metrics": [{"use": "sizes"}]}),
        ((), {"metrics": [{"use": "sizes"}]}),
    ],
    ids=["builders", "attacks", "metrics", "anything"],
)
def test_where_nobody_offers_a_kind_no_policy_is_valid(
    monkeypatch: pytest.MonkeyPatch, left: tuple[type[Component], ...], said: dict[str, Any]
) -> None:
    install(monkeypatch, Point("some", offering(*left)))
    with pytest.raises(PolicyError, match="nobody offers"):
        policy_of(policy_document(**said), Path())


def test_a_hook_may_be_a_generator_and_have_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module(attack_models=lambda: (each for each in [Calm]))
    vars(made)["scores"] = hookimpl(specname="privacy_metrics")(lambda: [Sizes])
    install(monkeypatch, Point("spies", lambda: made))
    assert load_plugins().by_name == {"calm": Calm, "sizes": Sizes}


def test_a_module_that_two_entry_points_name_is_loaded_by_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module(attack_models=lambda: [Calm])
    install(monkeypatch, Point("spies", lambda: made), Point("twice", lambda: made))
    found = load_plugins()
    assert found.component("calm") is Calm
    assert f"names the module 'spies', and so does {ORIGIN} (spies)" in found.broken[0].problem


def test_a_hook_may_read_its_own_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    depth: list[int] = []

    def hook() -> list[type[Component]]:
        depth.append(len(depth))
        return [Calm] if len(depth) > 2 else [*load_plugins().by_name.values()]

    nested = module(attack_models=hook)
    install(monkeypatch, Point("nested", lambda: nested))
    assert load_plugins().by_name == {"calm": Calm}
    assert depth == [0, 1, 2]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with the class Calm, which only a test imports by its name."""
    place = ModuleType("spies_home")
    vars(place)["Calm"] = Calm
    monkeypatch.setitem(sys.modules, "spies_home", place)
    return "spies_home:Calm"


def named(**attacks: str) -> Load:
    return lambda: module(attack_models=lambda: attacks)


def test_a_class_that_is_offered_by_its_place_is_imported_only_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    install(monkeypatch, Point("spies", named(calm=home, gone="spies_home:Gone")))
    plugins = load_plugins()
    assert (list(plugins.offers), plugins.broken) == (["calm", "gone"], ())
    assert "Gone" in load_plugins(everything=True).broken[0].problem
    assert plugins.kind(Metric) == []
    assert "component" not in vars(plugins.offers["calm"])
    assert (plugins.component("calm"), plugins.component("gone"), plugins.component("none")) == (Calm, None, None)
    assert (plugins.kind(AttackModel), plugins.by_name) == ([Calm], {"calm": Calm})
    assert plugins.origin(Calm) == ORIGIN


def made(base: type[Component], **body: Any) -> type[Component]:
    """A class of this kind with something wrong."""
    annotations = {"use": Literal["odd"]}
    return type("Odd", (base,), {"__module__": __name__, "__annotations__": annotations, "use": "odd", **body})


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "infer without known": ({"infer": lambda self, release: []}, "`def infer(self, release, known)`"),
    "unknown part": ({"parts": {"leaves"}}, "`parts` must be a set of words"),
    "unknown model": ({"models": ["nets"]}, "`models` must be a set of words"),
    "no access": ({"access_levels": frozenset()}, "`access_levels` must be one or more of"),
}
"""Others stand in the table of `plugin_mistakes`."""


@pytest.mark.parametrize(("body", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_class_is_said_when_its_plugin_is_loaded(
    monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], said: str
) -> None:
    install(monkeypatch, Point("spies", offering(made(Calm, **body))), BASICS)
    (broken,) = load_plugins().broken
    assert said in broken.problem
    assert "Odd" in broken.problem
    assert ORIGIN in leafgate("plugins").out


@pytest.mark.parametrize("claim", ["", " [k]"])
def test_a_claim_whose_metric_has_the_name_of_another_is_checked_by_nobody(
    monkeypatch: pytest.MonkeyPatch, claim: str
) -> None:
    points = [Point(name, lambda: module(privacy_metrics=lambda: {"crowd": f"nowhere:K{claim}"})) for name in "ab"]
    install(monkeypatch, *points)
    with pytest.raises(InconclusiveError, match="both offer 'crowd'"):
        load_plugins().checkers("k")


class ThirdPartyK(Sizes):
    """Checks a claim that a metric of leafgate's checks, too."""

    use: Literal["third_party_k"] = "third_party_k"  # type: ignore[assignment]
    checks = "k"


@pytest.mark.parametrize(("claim", "found"), [("", True), (" [k]", True), (" []", False), (" [confidence]", False)])
def test_a_metric_that_is_offered_by_its_place_checks_the_claims_that_it_does_not_exclude(
    monkeypatch: pytest.MonkeyPatch, claim: str, found: bool
) -> None:
    place = ModuleType("metrics_home")
    vars(place)["K"] = ThirdPartyK
    monkeypatch.setitem(sys.modules, "metrics_home", place)
    offers = {"third_party_k": f"metrics_home:K{claim}"}
    install(monkeypatch, Point("spies", lambda: module(privacy_metrics=lambda: offers)))
    assert load_plugins().checkers("k") == ([ThirdPartyK] if found else [])
    problem = load_plugins(everything=True).entries[0].problem
    assert ("another claim" in problem) == (not found)  # said where all is imported


@pytest.mark.parametrize("claim", ["", " [k]"])
def test_a_claim_that_a_metric_may_check_which_cannot_be_imported_is_not_checked_by_others_alone(
    monkeypatch: pytest.MonkeyPatch, claim: str
) -> None:
    install(monkeypatch, Point("spies", lambda: module(privacy_metrics=lambda: {"crowd": f"spies_home:Gone{claim}"})))
    with pytest.raises(InconclusiveError, match="'crowd', which may check it, cannot be imported"):
        load_plugins().checkers("k")
    assert "spies_home" in load_plugins(everything=True).broken[0].problem
    if claim:
        assert load_plugins().checkers("confidence") == []


def test_a_class_is_offered_by_the_name_that_policies_use(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    install(monkeypatch, Point("spies", named(quiet=home)))
    assert "offers Calm as 'quiet'" in load_plugins(everything=True).broken[0].problem


def test_a_name_that_two_plugins_offer_hinders_who_asks_for_it_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    install(monkeypatch, Point("spies", named(calm="spies_home:Gone")), BASICS)
    plugins = load_plugins()
    assert (plugins.kind(AttackModel), plugins.component("sizes")) == ([], Sizes)
    with pytest.raises(PolicyError, match="both offer 'calm'"):
        plugins.component("calm")
    install(monkeypatch, Point("spies", named(calm=home)), BASICS)
    with pytest.raises(PolicyError, match="both offer 'calm'"):
        load_plugins().component("calm")
    lines = leafgate("plugins").out.splitlines()
    assert any(line.startswith("CLASH: plugins: ") and "'calm'" in line for line in lines)


def test_commands_are_found_although_the_classes_of_their_plugin_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command("look")(print)
    offers = {"attack_models": lambda: {"gone": "spies_home:Gone"}, "commands": lambda: [app]}
    install(monkeypatch, Point("spies", lambda: module(**offers)), Point("wrong", lambda: module(commands=lambda: 7)))
    assert "\n  look " in leafgate("--help").out


def test_commands_are_listed_with_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    app, group = typer.Typer(), typer.Typer()
    app.command("look")(print)
    group.command("deep")(print)
    app.add_typer(group, name="spy")
    install(monkeypatch, Point("spies", lambda: module(commands=lambda: [app])))
    assert f"spies ({ORIGIN}): command look, command spy deep\n" in leafgate("plugins").out
    [offers] = [each["offers"] for each in leafgate("plugins", "--json").document["plugins"]]
    assert offers == [{"kind": "command", "use": "look"}, {"kind": "command", "use": "spy deep"}]


def test_a_policy_is_checked_with_the_components_it_names_and_corrected_with_all(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    install(monkeypatch, Point("spies", named(calm=home, other="nowhere:Gone")), Point("more", offering(Stump, Sizes)))
    policy = policy_document(attacks=[{"use": "calm"}])
    assert "component" not in vars(policy_of(policy, Path()).plugins.offers["other"])
    with pytest.raises(InconclusiveError, match="broken"):  # which name is meant, nobody can tell
        policy_of(policy | {"attacks": [{"use": "clam"}]}, Path())


@pytest.mark.parametrize("kind", [Metric, PersonMetric, ReleaseMetric, TreeBuilder], ids=lambda kind: kind.__name__)
def test_paragraphs_of_base_classes_are_filled(kind: type[Component]) -> None:
    """No line of a paragraph ends although the first word of the next would fit into its 120 columns."""
    for paragraph in str(inspect.getdoc(kind)).split("\n\n"):
        lines = paragraph.splitlines()
        for line, following in pairwise(lines):
            assert len(line) + 1 + len(following.split()[0]) > 120 - len("    "), line
