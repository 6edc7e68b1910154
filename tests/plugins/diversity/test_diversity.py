from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from components import new_metric, use_of
from leafgate import Table
from leafgate.api import (
    Belief,
    Column,
    Example,
    GroupBelief,
    Hierarchy,
    Metric,
    Release,
    ScoringContext,
    SecretBelief,
    UnreadableError,
)
from leafgate.app import Finding, Report, Tables, audit_policy, document, load_plugins, policy_of, summary
from leafgate.testing import grant_knowledge
from random_tables import Cell, categorical, hierarchies, table_of
from scoring import scores_of_people
from survey import survey, write_policy

PLUGINS = load_plugins()
Counts = Sequence[int]
"""People by value, over a secret's domain."""


def metric(use: str, **options: Any) -> Metric:
    """The metric with these options; its limit is not asked for."""
    chosen = PLUGINS.by_name[use]
    assert issubclass(chosen, Metric)
    return chosen.model_validate({"use": use, chosen.direction: 0, **options})


def case_of(column: Column, several: Sequence[Counts], population: Sequence[int] | None = None) -> ScoringContext:
    """People whose public column `who` says which group they are in, and an adversary who knows each group's shares.

    `population` says how many people are in each group's place in the population.
    """
    who = categorical("who", "quasi_identifier", values=[f"group {i}" for i in range(len(several))])
    cells = [(f"group {i}", value) for i in range(len(several)) for value in column.domain]
    table = _where_somebody_is((who, column), cells, [count for counts in several for count in counts])
    others = None if population is None else _where_somebody_is((who,), [(name,) for name in who.domain], population)
    chances = pd.DataFrame([np.array(counts) / sum(counts) for counts in several], columns=list(column.domain))
    groups = np.arange(len(several))
    belief = SecretBelief(
        column.name, chances, equivalence_class=groups, population_groups=None if others is None else groups
    )
    return ScoringContext(table, None, Release({}, table.schema), grant_knowledge(table, population=others), belief)


def _where_somebody_is(columns: Sequence[Column], cells: Sequence[Sequence[Cell]], people: Counts) -> Table:
    there = [(row, n) for row, n in zip(cells, people, strict=True) if n]
    return table_of(columns, [row for row, _ in there], [n for _, n in there])


def scores_of(case: ScoringContext, use: str, **options: Any) -> list[float]:
    """Each group's score; everybody in a group has the same."""
    scores = (
        pd.Series(scores_of_people(metric(use, **options), case)).groupby(case.equivalence_class).agg(["min", "max"])
    )
    assert (scores["min"] == scores["max"]).all()
    return list(map(float, scores["min"]))


def secret(size: int, **facts: Any) -> Column:
    """A secret with so many values."""
    return replace(categorical("secret", "sensitive", values=[f"v{i}" for i in range(size)]), **facts)


EXAMPLES = [(kind, example) for kind in PLUGINS.kind(Metric) for example in getattr(kind, "examples", ())]


def test_every_group_metric_has_an_example() -> None:
    offered = {use_of(kind) for kind, _ in EXAMPLES}
    assert offered >= {
        *("alpha_k_anonymity", "beta_likeness", "delta_disclosure", "k_map", "l_diversity"),
        *("reidentification_risk", "t_closeness", "uniques"),
    }


@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=[f"{use_of(kind)} {e.score:g}" for kind, e in EXAMPLES])
@pytest.mark.parametrize("scored", ["derived", "composition"])
def test_an_example_has_the_score_it_says(kind: type[Metric], example: Example, scored: Any) -> None:
    column = replace(categorical("secret", "sensitive", values=list(example.everyone)), ordered=True)
    group = [example.group.get(value, 0) for value in example.everyone]
    rest = [count - mine for count, mine in zip(example.everyone.values(), group, strict=True)]
    assert set(example.group) <= set(example.everyone)
    assert min(rest) >= 0
    several = [group, rest] if any(rest) else [group]
    population = None if example.population is None else [example.population, sum(rest)][: len(several)]
    case = replace(case_of(column, several, population), scored="derived" if example.believed else scored)
    case = replace(case, belief=believing(case.belief, example))
    assert scores_of(case, use_of(kind), **example.options)[0] == pytest.approx(example.score, abs=1e-11)


def believing(belief: Belief | None, example: Example) -> Belief:
    """The belief, with what the example says is believed of its group, the first."""
    assert belief is not None
    assert isinstance(belief, SecretBelief)
    chances, baseline = belief.posterior.copy(), belief.posterior.copy()
    for table, result in ((chances, example.believed), (baseline, example.prior)):
        if result is not None:
            table.loc[0] = pd.Series(result)
    return replace(belief, posterior=chances, prior=None if example.prior is None else baseline)


Score = Callable[[Counts, Counts], float]
"""Of a group's people by value, and everyone's."""


def shares(counts: Counts) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def distinct(group: Counts, everyone: Counts) -> float:
    return len([count for count in group if count])


def entropy(group: Counts, everyone: Counts) -> float:
    return math.exp(-sum(p * math.log(p) for p in map(float, shares(group)) if p))


def recursive(c: Fraction) -> Score:
    def largest(group: Counts, everyone: Counts) -> float:
        falling = sorted(shares(group), reverse=True)
        return max((i for i in range(1, len(falling) + 1) if falling[0] < c * sum(falling[i - 1 :])), default=0)

    return largest


def confidence(group: Counts, everyone: Counts) -> float:
    return float(max(shares(group)))


def alpha_k(alpha: Fraction, places: Sequence[int]) -> Score:
    """`places` are those of the sensitive values."""

    def people(group: Counts, everyone: Counts) -> float:
        items = [share for i, share in enumerate(shares(group)) if i in places]
        return sum(group) if all(share <= alpha for share in items) else 0

    return people


def gains(group: Counts, everyone: Counts) -> list[tuple[Fraction, Fraction]]:
    """For each value that a group has more of, its relative gain and its share among everyone."""
    pairs = zip(shares(group), shares(everyone), strict=True)
    return [((p - overall) / overall, overall) for p, overall in pairs if p > overall]


def basic(group: Counts, everyone: Counts) -> float:
    return float(max((gain for gain, _ in gains(group, everyone)), default=0))


def enhanced(group: Counts, everyone: Counts) -> float:
    refused = any(gain > -math.log(overall) for gain, overall in gains(group, everyone))
    return math.inf if refused else basic(group, everyone)


def disclosure(group: Counts, everyone: Counts) -> float:
    held = [(p, overall) for p, overall in zip(shares(group), shares(everyone), strict=True) if overall]
    return max(abs(math.log(p / overall)) if p else math.inf for p, overall in held)


def alone(group: Counts, everyone: Counts) -> float:
    return float(sum(group) == 1)


FORMS: Mapping[str, tuple[str, dict[str, Any], Score]] = {
    "k": ("k_anonymity", {}, lambda group, everyone: sum(group)),
    "confidence": ("confidence", {}, confidence),
    "distinct": ("l_diversity", {"form": "distinct"}, distinct),
    "entropy": ("l_diversity", {"form": "entropy"}, entropy),
    "recursive 1/2": ("l_diversity", {"form": "recursive", "c": 0.5}, recursive(Fraction(1, 2))),
    "recursive 1": ("l_diversity", {"form": "recursive", "c": 1}, recursive(Fraction(1))),
    "recursive 3": ("l_diversity", {"form": "recursive", "c": 3}, recursive(Fraction(3))),
    "alpha": ("alpha_k_anonymity", {"alpha": 0.5}, alpha_k(Fraction(1, 2), range(4))),
    "alpha of one": ("alpha_k_anonymity", {"alpha": 0.25, "values": ("v0",)}, alpha_k(Fraction(1, 4), [0])),
    "basic beta": ("beta_likeness", {"form": "basic"}, basic),
    "enhanced beta": ("beta_likeness", {"form": "enhanced"}, enhanced),
    "delta": ("delta_disclosure", {}, disclosure),
    "risk": ("reidentification_risk", {}, lambda group, everyone: 1 / sum(group)),
    "uniques": ("uniques", {}, alone),
}
forms = pytest.mark.parametrize(("use", "options", "score"), FORMS.values(), ids=FORMS)


@st.composite
def crowds(draw: st.DrawFn, groups: int = 3, most: int = 15) -> tuple[Column, list[Counts]]:
    """A secret in an order and a hierarchy, and the people of some groups by value, somebody in each."""
    column = secret(draw(st.integers(1, 4)), ordered=True)
    found = draw(hierarchies(column.values or (), missing=False))
    group = st.lists(st.integers(0, most), min_size=len(column.domain), max_size=len(column.domain)).filter(any)
    several: list[Counts] = draw(st.lists(group, min_size=groups, max_size=groups))
    return replace(column, hierarchy=found or Hierarchy(dict.fromkeys(column.domain, ()))), several


def together(several: Sequence[Counts]) -> Counts:
    return [sum(counts) for counts in zip(*several, strict=True)]


@forms
@given(crowd=crowds())
@pytest.mark.thorough
def test_a_score_is_what_the_definition_says_of_people_counted_by_hand(
    use: str, options: dict[str, Any], score: Score, crowd: tuple[Column, list[Counts]]
) -> None:
    column, several = crowd
    expected = [score(group, together(several)) for group in several]
    assert scores_of(case_of(column, several), use, **options) == pytest.approx(expected, abs=1e-11)


def apart(column: Column, distance: str, one: int, other: int) -> float:
    """How far two values are from each other, by their places in the domain; 0 to 1."""
    if distance == "ordered":
        return abs(one - other) / max(len(column.domain) - 1, 1)
    if one == other or distance == "equal":
        return float(one != other)
    assert column.hierarchy is not None
    paths = [column.hierarchy.groups[column.domain[place]] for place in (one, other)]
    top = column.hierarchy.depth + 1
    return next((level for level in range(1, top) if paths[0][level - 1] == paths[1][level - 1]), top) / top


def cheapest(p: Sequence[Fraction], overall: Sequence[Fraction], cost: Sequence[Sequence[float]]) -> float:
    """The least work that turns one distribution into the other, found by linear programming."""
    from scipy.optimize import linprog

    size = len(p)
    leaves = np.kron(np.eye(size), np.ones(size))
    arrives = np.kron(np.ones(size), np.eye(size))
    totals = [float(share) for share in (*p, *overall)]
    solved = linprog(np.ravel(cost), A_eq=np.vstack([leaves, arrives]), b_eq=totals, method="highs")
    assert solved.status == 0
    return float(solved.fun)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@given(crowd=crowds())
@pytest.mark.thorough
def test_t_is_the_cheapest_way_to_move_a_groups_shares_to_everyones(
    distance: str, crowd: tuple[Column, list[Counts]]
) -> None:
    column, several = crowd
    places = range(len(column.domain))
    cost = [[apart(column, distance, one, other) for other in places] for one in places]
    expected = [cheapest(shares(group), shares(together(several)), cost) for group in several]
    found = scores_of(case_of(column, several), "t_closeness", distance=distance)
    assert found == pytest.approx(expected, abs=1e-7)


DISTANCES: dict[str, tuple[str, dict[str, Any]]] = {
    f"t {distance}": ("t_closeness", {"distance": distance}) for distance in ("equal", "ordered", "hierarchical")
}
ALL_FORMS = {name: (use, options) for name, (use, options, _) in FORMS.items()} | DISTANCES


HALVES = Hierarchy({"v0": ("low",), "v1": ("low",), "v2": ("high",), "v3": ("high",)})


@pytest.mark.parametrize(
    ("distance", "group", "t"),
    [
        ("ordered", [1, 1, 0, 0], 1 / 3),  # totals 1/2, 1, 1 to 1/4, 1/2, 3/4: (1/4 + 1/2 + 1/4) / 3
        ("ordered", [1, 0, 0, 1], 1 / 6),  # totals 1/2, 1/2, 1/2: (1/4 + 0 + 1/4) / 3
        ("hierarchical", [1, 1, 0, 0], 1 / 2),  # half must leave its half of the hierarchy: 1/2 * 1
        ("hierarchical", [1, 0, 0, 1], 1 / 4),  # 1/4 within either half: 1/2 * 1/2
        ("equal", [1, 1, 0, 0], 1 / 2),
        ("equal", [1, 0, 0, 1], 1 / 2),
    ],
)
def test_which_values_are_near_counts_for_ordered_and_hierarchical_t_alone(
    distance: str, group: Counts, t: float
) -> None:
    column = secret(4, ordered=True, hierarchy=HALVES)
    case = case_of(column, [group, [1 - count for count in group]])
    assert scores_of(case, "t_closeness", distance=distance)[0] == pytest.approx(t, abs=1e-11)


def test_beliefs_that_differ_within_a_group_are_scored_person_by_person() -> None:
    case = case_of(secret(2), [[1, 1], [2, 2]])
    assert isinstance(case.belief, SecretBelief)
    chances = pd.DataFrame({"v0": [1.0, 0.5], "v1": [0.0, 0.5]})
    odd = replace(case, belief=replace(case.belief, equivalence_class=np.zeros(2, dtype=int), posterior=chances))
    assert pd.Series(scores_of_people(metric("l_diversity"), odd)).tolist() == [1, 1, 2, 2]
    assert pd.Series(scores_of_people(metric("reidentification_risk"), odd)).tolist() == [1 / 6] * 4


def test_an_attack_that_names_no_secret_is_scored_by_its_groups_alone() -> None:
    case = replace(case_of(secret(2), [[1, 0], [2, 2]]), belief=GroupBelief(np.arange(2)))
    assert scores_of(case, "uniques") == [1, 0]
    assert scores_of(case, "reidentification_risk") == [1, 1 / 4]
    for use, options in [*ALL_FORMS.values(), ("l_diversity", {})]:
        if use not in {"uniques", "reidentification_risk", "k_anonymity"}:
            with pytest.raises(UnreadableError):
                scores_of_people(metric(use, **options), case)


@pytest.mark.parametrize("options", [{"form": "recursive"}, {"c": 2}, {"form": "recursive", "c": 0}])
def test_c_and_recursive_go_together(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"recursive|greater than 0"):
        metric("l_diversity", **options)


COLUMNS: dict[str, Any] = {
    "city": {"role": "quasi_identifier", "values": ["Rome", "Bonn"]},
    "ill": {"role": ["class", "sensitive"], "values": ["flu", "cold"]},
}


def report(said: dict[str, Any], scores: Mapping[str, Any] | None = None, tmp_path: Path = Path()) -> Report:
    """The audit of a tree that tells Rome (4 flu) from Bonn (1 flu, 3 cold)."""
    fields = {
        "leafgate": 1,
        "name": "cities",
        "data": {"columns": {**COLUMNS, "ill": COLUMNS["ill"] | dict(scores or {})}},
        "build": {"use": "id3"},
        "attacks": [{"use": "linking"}],
        "metrics": [said],
        "report": {"smallest_cell": 1},
    }
    loaded = policy_of(fields, tmp_path)
    rows = [("Rome", "flu"), ("Bonn", "flu"), ("Bonn", "cold")]
    table = table_of(loaded.policy.data.meaning().columns, rows, [4, 1, 3])
    return audit_policy(loaded.policy, loaded.plugins, Tables(table)).report


def only(found: Report) -> Finding:
    (finding,) = found.findings
    return finding


UNBOUNDED: Mapping[str, dict[str, Any]] = {
    "delta": {"use": "delta_disclosure", "at_most": 9},
    "enhanced beta": {"use": "beta_likeness", "form": "enhanced", "at_most": 9},
}


@pytest.mark.parametrize("said", UNBOUNDED.values(), ids=UNBOUNDED)
def test_an_unbounded_score_is_said_to_be_and_fails_whatever_the_limit(said: dict[str, Any]) -> None:
    # Rome rules a cold out. Flu is held by 5/8 of everyone and by all of Rome: a gain of 3/5 > -ln 5/8 = 0.47.
    done = report(said)
    found = only(done)
    assert (found.value, found.evidence["unbounded"], found.passed, done.exit_code) == (None, True, False, 1)
    words = summary(document(done, "public"))
    assert f"FAIL  {said['use']}@linking#ill is unbounded (wanted at most 9)" in words


def test_those_with_an_unbounded_score_are_past_the_limit_and_may_be_allowed_to_be() -> None:
    for allow, passed in ((0.5, True), (0.4, False)):
        found = only(report({"use": "delta_disclosure", "at_most": 9, "allow": allow}))
        assert (found.value, found.violations, found.people, found.passed) == (None, 4, 8, passed)


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ({"use": "t_closeness", "distance": "ordered", "at_most": 1}, "`ordered: true`"),
        ({"use": "t_closeness", "distance": "hierarchical", "at_most": 1}, "no secret has a `hierarchy`"),
        ({"use": "alpha_k_anonymity", "alpha": 0.5, "values": ["plague"], "at_least": 1}, "is no value of a secret"),
        ({"use": "k_map", "at_least": 1}, "data.population"),
        ({"use": "uniques", "at_most": 1, "scored": "composition"}, "`scored` changes nothing"),
        ({"use": "reidentification_risk", "among": "population", "at_most": 1}, "data.population"),
    ],
)
def test_what_the_policy_lacks_for_a_metric_is_told_before_any_data_are_read(
    tmp_path: Path, metric: dict[str, Any], why: str
) -> None:
    ended = leafgate(
        "validate", write_policy(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 1}, metric]}), "--json"
    )
    (problem,) = ended.problems
    assert (ended.code, problem["place"], why in problem["message"]) == (2, "metrics[1]", True)


def test_a_distance_is_told_of_the_secrets_that_have_one(tmp_path: Path) -> None:
    changes = {
        "data.columns.smoker": {"role": "sensitive", "values": ["no", "yes"], "ordered": True},
        "metrics": [{"use": "t_closeness", "distance": "ordered", "at_most": 1}],
    }
    found = leafgate("audit", survey(tmp_path, changes), "--json").document["findings"]
    assert [result["id"] for result in found if result["metric"] == "t_closeness"] == ["t_closeness@linking#smoker"]


def test_a_declared_order_and_a_hierarchy_are_taken(tmp_path: Path) -> None:
    (tmp_path / "ill.csv").write_text("flu;fever;*\ncold;fever;*\n")
    # Of two values each distance is the difference of either's share: 4/4 to 5/8, and 1/4 to 5/8.
    for distance, declared in (("ordered", {"ordered": True}), ("hierarchical", {"hierarchy": "ill.csv"})):
        done = report({"use": "t_closeness", "distance": distance, "at_most": 0.999}, declared, tmp_path)
        assert only(done).value == 3 / 8


def test_an_alpha_that_a_share_equals_is_kept_however_it_is_written() -> None:
    rows = [["a", "flu"], ["a", "flu"], ["a", "cold"]]
    columns = [
        categorical("who", "quasi_identifier", values=("a",)),
        categorical("ill", "sensitive", values=("flu", "cold")),
    ]
    table = table_of(columns, rows)
    for alpha in (2 / 3, 0.6666666666666666, 0.666666666667):
        metric = new_metric("alpha_k_anonymity", alpha=alpha, at_least=3)
        known = grant_knowledge(table)
        belief = SecretBelief("ill", pd.DataFrame({"flu": [2 / 3], "cold": [1 / 3]}), equivalence_class=np.array([0]))
        assert scores_of_people(
            metric, ScoringContext(table, None, Release({}, table.schema), known, belief)
        ).tolist() == [
            3.0,
            3.0,
        ]
