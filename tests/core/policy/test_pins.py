from pathlib import Path

import pytest

from entry_points import BASICS, Point, install, offering
from leafgate import PolicyError
from leafgate.app import load_plugins, policy_of
from standins import attack_that, policy_document

NOSY = attack_that(lambda release, known: [])


@pytest.fixture(autouse=True)
def _two_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(NOSY)), BASICS)


@pytest.mark.parametrize(
    "pin", ["acme-spies", "Acme.Spies", "acme_spies>=1", "acme-spies==1.2", "acme-spies~=1.0", "acme-spies>=1,<2"]
)
def test_a_pin_lets_one_distribution_in_and_no_other(pin: str) -> None:
    assert [plugin.name for plugin in load_plugins([pin]).entries] == ["spies"]


def test_without_pins_everything_is_loaded_and_with_an_empty_list_nothing() -> None:
    assert [plugin.name for plugin in load_plugins().entries] == ["spies", "basics"]
    assert load_plugins([]).entries == ()


def test_what_is_not_pinned_is_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported() -> None:
        raise AssertionError

    install(monkeypatch, Point("spies", imported), BASICS)  # type: ignore[arg-type]
    assert [plugin.problem for plugin in load_plugins(["basics"]).entries] == [""]


def test_a_prerelease_is_within_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(NOSY), version="2.0rc1"))
    assert load_plugins(["acme-spies>=1"]).entries


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("acme-spies>=2", "acme-spies 1.2 is installed, the policy wants 'acme-spies>=2'"),
        ("acme-attacks", "no installed plugin comes from 'acme-attacks'"),
        ("acme spies", "'acme spies' is not a distribution name with a version range"),
        ("acme-spies=1.2", "'acme-spies=1.2' is not a distribution name with a version range"),
        ("", "'' is not a distribution name with a version range"),
    ],
)
def test_a_pin_nothing_satisfies_is_refused_with_its_place(pin: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_plugins(["basics", pin])
    assert [(problem.location, problem.message) for problem in caught.value.problems] == [("plugins[1]", said)]


def test_all_pins_that_are_wrong_are_told_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        load_plugins(["a b", "c d", "acme-attacks"])
    assert [problem.location for problem in caught.value.problems] == ["plugins[0]", "plugins[1]", "plugins[2]"]


def test_a_policy_uses_what_it_pins() -> None:
    pinned = policy_document(plugins=["basics"])
    assert policy_of(pinned, Path()).plugins.entries[0].origin == "basics 1.0"
    with pytest.raises(PolicyError, match="'nosy'"):
        policy_of(pinned | {"attacks": [{"use": "calm"}, {"use": "nosy"}]}, Path())


@pytest.mark.parametrize("pins", ["basics", [7], {"basics": 1}])
def test_pins_that_are_no_list_of_texts_are_refused(pins: object) -> None:
    with pytest.raises(PolicyError, match="plugins"):
        policy_of(policy_document(plugins=pins), Path())
