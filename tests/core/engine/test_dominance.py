"""More told is never safer, who is certain is counted, what contradicts the table never passes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import leafgate.engine.audit
from dominance import Failure, cases, check
from generator.adversary import certain_people
from generator.policies import LENIENT, audited, audited_file
from generator.tables import people_from
from generator.trees import blank
from leafgate.api import AdversaryKnowledge, Belief, Release, SecretBelief
from leafgate_plugins.linking.components import Linking

pytestmark = pytest.mark.thorough

CASES = {"builder": 14, "hand made": 20, "records": 5}
"""How many seeds of each kind the suite tries; of the others `OTHERS`. `python -m dominance` tries any number."""
OTHERS = 2
MUTANT_SEEDS = 12


def failures(kind: str, seeds: int) -> list[Failure]:
    """What fails among the first seeds of a kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [failure for seed in range(seeds) for failure in check(seed, kind)]


@pytest.mark.parametrize("kind", cases())
def test_no_random_release_breaks_a_property(kind: str) -> None:
    found = failures(kind, CASES.get(kind, OTHERS))
    assert not found, "\n".join(map(str, found))


def test_maxent_parts_people_of_different_public_classes() -> None:
    columns = {
        "town": {"role": "quasi_identifier", "values": ["here", "there"]},
        "job": {"role": "sensitive", "values": ["cook", "smith", "nurse"]},
        "sick": {"role": ["class", "quasi_identifier"], "values": ["no", "yes"]},
    }
    people = people_from({"columns": columns}, [("here", "cook", "no"), ("here", "nurse", "yes")])
    metrics = ({"use": "k_anonymity", "at_least": 2},)
    attacks = ({"use": "linking"}, {"use": "maxent", "internal": False})
    for min_split in (2, 3):  # a tree that asks for the job, and one leaf
        found = audited(people, {"use": "id3", "min_split": min_split}, metrics, attacks=attacks).findings
        assert {name: finding.value for name, finding in found.items()} == {
            "k_anonymity@linking#job": 1.0,
            "k_anonymity@maxent#job": 1.0,
        }


TOWNS = {
    "columns": {
        "town": {"role": "quasi_identifier", "values": ["here", "there"]},
        "sick": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
}


def test_a_bootstrap_that_agrees_with_the_table_in_one_number_passes() -> None:
    people = people_from(
        TOWNS, [("here", "no"), ("there", "yes")], [16, 15]
    )  # 31 draws have 15 of yes one time in seven
    document = blank(people, "error_rates", "bootstrap")
    document["trees"] = [{"kind": "leaf", "label": "no", "error_rate": 15 / 31}]
    assert audited_file(people, document, LENIENT).verdict == "pass"


@pytest.mark.parametrize("level", ["shares", "error_rates"])
def test_sampled_leaves_of_one_class_pass_and_exact_shares_called_sampled_do_not(level: str) -> None:
    def verdict(rows: Sequence[tuple[str, str]], weight: Sequence[int], here: float) -> str:
        people = people_from(TOWNS, rows, weight)
        document = blank(people, level, "sampled")
        shares = ({"no": here, "yes": 1 - here}, {"no": 0.0, "yes": 1.0})
        items = [{"shares": each} if level == "shares" else {"error_rate": 1 - max(each.values())} for each in shares]
        leaves = [{"kind": "leaf", "label": label} | each for label, each in zip(("no", "yes"), items, strict=True)]
        document["trees"] = [_fan("town", dict(zip(("here", "there"), leaves, strict=True)))]
        return audited_file(people, document, LENIENT).verdict

    one_class_each = [("here", "no"), ("there", "yes")]  # every sample has these shares
    assert verdict(one_class_each, [40, 30], 1.0) == "pass"
    assert verdict([("here", "yes"), *one_class_each], [1, 39, 30], 39 / 40) == "inconclusive"
    assert verdict([("here", "yes"), *one_class_each], [1, 1, 30], 0.5) == "pass"


def test_whom_the_trees_labels_settle_by_vote_their_shares_settle_too() -> None:
    towns = ("a", "b", "c")
    columns = {
        "town": {"role": "quasi_identifier", "values": list(towns)},
        "sick": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    people = people_from({"columns": columns}, [("a", "yes"), ("b", "yes"), ("c", "yes"), ("c", "no")], [3, 3, 2, 2])
    doubtful, likely = (
        {"no": 0.6, "yes": 0.4},
        {"no": 0.1, "yes": 0.9},
    )  # in town c no, no, yes: by their mean it is yes
    one = {"a": likely, "b": likely, "c": doubtful}
    shares = (one, one, dict.fromkeys(towns, likely))
    for level, combine in (("labels", "vote"), ("shares", "mean_per_tree")):
        document = blank(people, level, "unknown", combine)
        for of_town in shares:
            leaves = {
                town: {"kind": "leaf", "label": "no" if result is doubtful else "yes"}
                | ({"shares": result} if level == "shares" else {})
                for town, result in of_town.items()
            }
            document["trees"].append(_fan("town", leaves))
        outcome = audited_file(people, document, ({"use": "exposure", "scored": "derived", "at_most": 0},))
        exposed = outcome.exposed("sick")
        assert exposed is not None
        assert exposed.tolist() == [True, True, False, False]


@pytest.mark.parametrize("level", ["shares", "counts"])
def test_people_whose_leaves_count_nobody_ended_where_no_branch_takes_them(level: str) -> None:
    columns = {
        "town": {"role": "quasi_identifier", "values": ["here", "there"]},
        "job": {"role": "sensitive", "values": ["cook", "smith"]},
        "sick": {"role": ["class", "quasi_identifier"], "values": ["no", "yes"]},
    }
    rows = [("here", "cook", "no"), ("there", "smith", "no"), ("there", "cook", "no")]
    people = people_from({"columns": columns}, rows, [5, 3, 3])
    leaf: dict[str, Any] = {"kind": "leaf", "label": "no"}
    nobody, three = leaf, leaf | {"shares": {"no": 1.0, "yes": 0.0}}
    if level == "counts":
        nobody, three = (leaf | {"counts": {"no": n, "yes": 0}} for n in (0, 3))
    cooks = _fan("town", {"there": three})
    smiths = _fan("town", {"here": nobody, "there": three})
    document = blank(people, level, "exact") | {"trees": [_fan("job", {"cook": cooks, "smith": smiths})]}
    metrics = ({"use": "exposure", "scored": "derived", "at_most": 0},)
    exposed = audited_file(people, document, metrics).exposed("job")
    assert exposed is not None
    assert exposed.tolist() == [True, False, False]


@pytest.mark.parametrize("counted", ["sampled", "bootstrap"])
def test_a_label_of_a_leaf_that_a_draw_left_empty_is_worth_what_it_is_without_numbers(counted: str) -> None:
    people = people_from(TOWNS, [("here", "yes"), ("there", "yes"), ("there", "no")], [1, 9, 9])
    for level in ("labels", "shares", "counts"):
        document = blank(people, level, counted)
        here = {"counts": {"no": 0, "yes": 0}} if level == "counts" else {}
        there = {"counts": {"no": 4, "yes": 8}} if level == "counts" else {"shares": {"no": 1 / 3, "yes": 2 / 3}}
        leaves = {
            "here": {"kind": "leaf", "label": "no"} | here,  # wrong of everybody, so that they have the other class
            "there": {"kind": "leaf", "label": "yes"} | (there if level != "labels" else {}),
        }
        document["trees"] = [_fan("town", leaves)]
        exposed = audited_file(people, document, ({"use": "exposure", "scored": "derived", "at_most": 0},)).exposed(
            "sick"
        )
        assert exposed is not None
        assert exposed.tolist() == [True, False, False], level


@pytest.mark.parametrize("shown", [False, True])
def test_a_secret_withheld_in_every_record_is_certain_of_nobody(
    shown: bool,
) -> None:
    columns = {
        "town": {"role": "quasi_identifier", "values": ["here", "there"]},
        "job": {"role": "sensitive", "values": ["cook", "smith"]},
        "sick": {"role": ["class", "quasi_identifier"], "values": ["no", "yes"]},
    }
    people = people_from({"columns": columns}, [("here", "cook", "no"), ("there", "smith", "no")], [5, 3])
    withheld = {"withheld": True}
    rows = [["here", "cook" if shown else withheld, "no"], ["there", withheld, "no"]]
    records = {"columns": ["town", "job", "sick"], "rows": rows, "weight": [5, 3]}
    leaf = {"kind": "leaf", "label": "no", "counts": {"no": 8, "yes": 0}}
    document = blank(people, "counts", "exact") | {"trees": [leaf], "records": records}
    certain = certain_people(document, people.table)
    assert certain is not None
    assert certain["job"].composition.tolist() == [shown, shown]
    metrics = ({"use": "exposure", "at_most": 0},)
    assert audited_file(people, document, metrics).findings["exposure@linking#job"].value == float(shown)


def _fan(column: str, nodes: Mapping[str, Any]) -> dict[str, Any]:
    branches = [{"values": [value], "node": node} for value, node in nodes.items()]
    return {"kind": "fan", "column": column, "branches": branches}


def believe_nothing(monkeypatch: pytest.MonkeyPatch, of: Any = lambda release: True) -> None:
    """Let the linking attack keep its groups and lose its belief, of some releases."""
    infer = Linking.infer

    def ignorant(self: Linking, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        found = infer(self, release, known)
        secrets = [each for each in found if isinstance(each, SecretBelief)]
        if not secrets or not of(release):
            return found
        return [replace(each, posterior=_uniform(each), certainty="guess") for each in secrets]

    monkeypatch.setattr(Linking, "infer", ignorant)


def _uniform(belief: SecretBelief) -> Any:
    return belief.posterior * 0 + 1 / belief.posterior.shape[1]


def breaks(prop: str, kind: str, seeds: int = MUTANT_SEEDS) -> bool:
    """Does the property fail among the first seeds of a kind?"""
    return any(failure.prop == prop for seed in range(seeds) for failure in _of_seed(kind, seed))


def _of_seed(kind: str, seed: int) -> list[Failure]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(seed, kind)


def test_an_attack_that_believes_less_of_more_breaks_a(monkeypatch: pytest.MonkeyPatch) -> None:
    believe_nothing(monkeypatch, lambda release: release.records is not None and release.model == "trees")
    assert breaks("a", "records")


def test_an_attack_that_believes_nothing_breaks_b(monkeypatch: pytest.MonkeyPatch) -> None:
    believe_nothing(monkeypatch)
    assert breaks("b", "hand made")


def test_an_audit_without_doubts_breaks_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leafgate.engine.audit, "soundness_checks", lambda *_: [])
    assert breaks("c", "hand made")


def test_a_seed_draws_the_same_case_again() -> None:
    assert check(3, "hand made") == check(3, "hand made")
