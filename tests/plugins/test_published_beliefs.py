"""What a release that publishes little is believed to say: shares, labels, empty leaves, records beside trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from components import new_attack, published_file
from generator.policies import policy_for_any_table
from leafgate import Release, Table
from leafgate.algorithms.prediction import needs_label_accuracies
from leafgate.algorithms.publication import published
from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Branch,
    CategoricalSplit,
    Combine,
    Counted,
    Leaf,
    Level,
    Node,
    Publish,
    Records,
    SecretBelief,
)
from leafgate.app import Audit, Tables, VisibleTo, audit_policy, document, load_plugins, serialize
from leafgate.testing import grant_knowledge
from random_tables import categorical, table_of, tables
from random_trees import counted, forests

LEVELS: tuple[Level, ...] = ("labels", "error_rates", "shares", "counts")
AS_THEY_ARE: tuple[Counted, ...] = ("unknown", "bootstrap")
PLUGINS = load_plugins(["leafgate"])
WITHHELD = {"withheld": True}

TOWN = categorical("town", "quasi_identifier", values=("a", "b"))
ILL = categorical("ill", "class", "sensitive", values=("no", "yes"))
SICK_TOWN = table_of([TOWN, ILL], [("a", "yes"), ("b", "yes"), ("b", "no")], [250, 150, 100])


def by_town(*leaves: Leaf) -> Node:
    return CategoricalSplit("town", tuple(Branch((name,), leaf) for name, leaf in zip(("a", "b"), leaves, strict=True)))


BY_TOWN = by_town(Leaf("yes", {"no": 0, "yes": 250}), Leaf("yes", {"no": 100, "yes": 150}))


def published_release(table: Table, *trees: Node, level: Level = "counts", **facts: Any) -> Release:
    combine: Combine = "one" if len(trees) == 1 else "vote"
    draft = Release({"use": "x"}, table.schema, trees, combine=combine, **facts)
    return published(draft, Publish(leaves=level, measure=False), frozenset())


def knowing(table: Table, release: Release, **more: Any) -> AdversaryKnowledge:
    return grant_knowledge(table, release=release, **more)


def believed(release: Release, table: Table, attack: AttackModel | None = None, about: str = "") -> dict[Any, Any]:
    """The posterior of the people of each value of the first public column, about the first secret or another."""
    known = knowing(table, release)
    found = (attack or new_attack("linking")).infer(release, known)
    beliefs = {belief.secret: belief for belief in found if isinstance(belief, SecretBelief)}
    chances = beliefs[about or next(iter(beliefs))].posterior
    return dict(zip(known.records.iloc[:, 0].tolist(), chances.to_numpy().tolist(), strict=True))


def audited(release: Release, table: Table, folder: Path, *metrics: dict[str, Any], attack: AttackModel) -> Audit:
    """The release held, from its file, against limits on what is derived of each secret."""
    path = folder / "release.json"
    path.write_bytes(serialize(release).content)
    policy = policy_for_any_table([{"scored": "derived", **metric} for metric in metrics])
    changes = {"build": published_file(path), "publish": None, "attacks": (attack,)}
    return audit_policy(policy.model_copy(update=changes), PLUGINS, Tables(table))


def exposed(release: Release, table: Table, folder: Path, attack: AttackModel) -> bool | None:
    """Does the limit that nobody is exposed hold?"""
    done = audited(release, table, folder, {"use": "exposure", "at_most": 0}, attack=attack)
    return next(finding.passed for finding in done.report.findings if finding.metric == "exposure")


@pytest.mark.parametrize("attack", [new_attack("linking"), new_attack("maxent")])
@pytest.mark.parametrize("level", ["error_rates", "shares", "counts"])
@pytest.mark.parametrize("numbers", AS_THEY_ARE)
def test_a_file_that_says_all_of_a_town_are_ill_is_believed_whatever_its_numbers_count(
    tmp_path: Path, numbers: Counted, level: Level, attack: AttackModel
) -> None:
    release = published_release(SICK_TOWN, BY_TOWN, level=level, count_semantics=numbers)
    assert believed(release, SICK_TOWN, attack)["a"] == [0, 1]
    assert exposed(release, SICK_TOWN, tmp_path, attack) is False


@pytest.mark.parametrize("attack", [new_attack("linking"), new_attack("maxent")])
def test_a_forest_is_believed_as_its_mean_of_shares(attack: AttackModel) -> None:
    shares = [(0.96, 0.7), (0.98, 0.5), (1.0, 0.6)]
    trees = [by_town(*(Leaf("yes", shares={"no": 1 - p, "yes": p}) for p in pair)) for pair in shares]
    release = replace(
        published_release(SICK_TOWN, *trees, level="shares", count_semantics="bootstrap"), combine="mean_per_tree"
    )
    known = replace(knowing(SICK_TOWN, release), label_accuracies=None, vote_accuracies=None)
    (belief,) = attack.infer(release, known)
    assert isinstance(belief, SecretBelief)
    assert belief.posterior["yes"].tolist() == pytest.approx([0.98, 0.6])


def test_a_tree_that_says_nothing_of_a_group_does_not_water_down_what_another_says() -> None:
    silent = by_town(Leaf("no", {"no": 0, "yes": 0}), Leaf("yes", {"no": 100, "yes": 150}))
    pure = by_town(Leaf("yes", {"no": 5, "yes": 95}), Leaf("yes", {"no": 100, "yes": 150}))
    (belief,) = new_attack("linking").infer(
        published_release(SICK_TOWN, pure, silent, count_semantics="unknown"), grant_knowledge(SICK_TOWN)
    )
    assert isinstance(belief, SecretBelief)
    assert belief.posterior["yes"].tolist() == pytest.approx([0.95, 0.6])


GROUPS = table_of(
    [categorical("g", "quasi_identifier", values=("a", "b", "c")), ILL],
    [("a", "yes"), ("a", "no"), ("b", "yes"), ("c", "no"), ("c", "yes")],
    [8, 2, 10, 9, 1],
)
LABELS = CategoricalSplit("g", (Branch(("a", "b"), Leaf("yes")), Branch(("c",), Leaf("no"))))


@pytest.mark.parametrize("attack", [new_attack("linking"), new_attack("maxent")])
@pytest.mark.parametrize("numbers", ["exact", "unknown", "bootstrap", "sampled", "noisy"])
def test_a_label_alone_counts_with_its_accuracy_on_the_table(attack: AttackModel, numbers: Counted) -> None:
    # 18 of the 20 people labelled yes are ill, 9 of the 10 labelled no are not.
    beliefs = believed(published_release(GROUPS, LABELS, level="labels", count_semantics=numbers), GROUPS, attack)
    assert beliefs["a"] == beliefs["b"] == pytest.approx([0.1, 0.9], abs=1e-6)
    assert beliefs["c"] == pytest.approx([0.9, 0.1], abs=1e-6)


def test_counting_takes_the_accuracy_of_labels_for_people() -> None:
    beliefs = believed(published_release(GROUPS, LABELS, level="labels"), GROUPS, new_attack("counting"))
    assert beliefs["c"] == pytest.approx([0.9, 0.1])
    assert beliefs["a"] == pytest.approx([0.1, 0.9])


def test_what_a_label_leaves_open_is_spread_by_the_prior() -> None:
    risk = categorical("risk", "class", "sensitive", values=("low", "mid", "high"))
    table = table_of([TOWN, risk], [("a", "high"), ("a", "low"), ("b", "mid"), ("b", "low")], [8, 2, 4, 6])
    release = published_release(table, by_town(Leaf("high"), Leaf("low")), level="labels")
    (belief,) = new_attack("linking").infer(release, knowing(table, release, distribution=True))
    assert isinstance(belief, SecretBelief)  # .8 high; low and mid are 8 and 4 of 20
    assert belief.posterior.iloc[0].tolist() == pytest.approx([0.2 * 2 / 3, 0.2 / 3, 0.8])


def test_an_error_rate_of_the_leaf_goes_before_the_accuracy_of_its_label() -> None:
    branches = (Branch(("a", "b"), Leaf("yes", error_rate=0.2)), Branch(("c",), Leaf("no", error_rate=0.2)))
    release = published_release(GROUPS, CategoricalSplit("g", branches), level="error_rates")
    assert needs_label_accuracies(release) is False
    assert believed(release, GROUPS)["a"] == pytest.approx([0.2, 0.8])


def test_people_whose_unknown_cells_lead_to_several_labels_get_the_mean_of_these() -> None:
    car = categorical("car", "private", values=("yes", "no"))
    rows = [("a", "yes", "yes"), ("a", "no", "no"), ("a", "no", "yes")]
    table = table_of([TOWN, car, ILL], rows, [4, 3, 1])
    tree = CategoricalSplit("car", (Branch(("yes",), Leaf("yes")), Branch(("no",), Leaf("no"))))
    assert believed(published_release(table, tree, level="labels"), table)["a"] == pytest.approx(
        [0.375, 0.625]
    )  # of 0, 1; 3/4, 1/4


def test_the_trees_of_a_vote_are_believed_by_the_accuracy_of_the_class_they_elect() -> None:
    g = [
        CategoricalSplit("g", tuple(Branch((v,), Leaf(label)) for v, label in zip("abc", labels, strict=True)))
        for labels in VOTES
    ]
    for attack in (new_attack("linking"), new_attack("maxent")):
        beliefs = believed(published_release(GROUPS, *g, level="labels", count_semantics="unknown"), GROUPS, attack)
        assert beliefs["a"] == beliefs["b"] == pytest.approx([0.1, 0.9], abs=1e-6)
        assert beliefs["c"] == pytest.approx([0.9, 0.1], abs=1e-6)


VOTES = (("yes", "yes", "no"), ("yes", "no", "no"), ("no", "yes", "yes"))
"""What three trees label the groups a, b and c: together yes, yes, no."""


def test_a_label_that_is_always_right_exposes_people_and_its_rate_is_not_public(tmp_path: Path) -> None:
    table = table_of([TOWN, ILL], [("a", "yes"), ("b", "no")], [30, 30])
    release = published_release(table, by_town(Leaf("yes"), Leaf("no")), level="labels", count_semantics="unknown")
    done = audited(release, table, tmp_path, {"use": "confidence", "at_most": 0.95}, attack=new_attack("linking"))
    found = next(finding for finding in done.report.findings if finding.metric == "confidence")
    assert (found.passed, found.value, found.audience) == (False, 1, VisibleTo.AUDITORS)
    public = next(f for f in document(done.report, "public")["findings"] if f["metric"] == "confidence")
    assert (public["value"], public["beyond"], public["passed"]) == (None, None, False)


@pytest.mark.parametrize(
    ("release", "granted"),
    [
        (published_release(SICK_TOWN, BY_TOWN), False),
        (published_release(SICK_TOWN, BY_TOWN, level="shares"), False),
        (published_release(SICK_TOWN, BY_TOWN, level="shares", count_semantics="unknown"), False),
        (published_release(SICK_TOWN, BY_TOWN, level="shares", count_semantics="sampled"), True),
        (published_release(SICK_TOWN, BY_TOWN, level="labels"), True),
        (published_release(SICK_TOWN, BY_TOWN, BY_TOWN), True),
        (published_release(SICK_TOWN, BY_TOWN, level="labels", guarantee={"epsilon": 1.0}), False),
        (published_release(SICK_TOWN, by_town(Leaf("yes", {"no": 0, "yes": 0}), Leaf("no")), level="shares"), False),
        (Release({}, SICK_TOWN.schema, model="none", records=Records(("ill",), (("no",),), (1,))), False),
    ],
)
def test_the_accuracy_of_labels_is_granted_where_nothing_published_tells_it(release: Release, granted: bool) -> None:
    assert (knowing(SICK_TOWN, release).label_accuracies is not None) is granted


ILLNESS = categorical("illness", "sensitive", values=("flu", "cold"))
OUTCOME = categorical("outcome", "class", values=("good", "bad"))
FLU = table_of(
    [TOWN, ILLNESS, OUTCOME],
    [("a", "cold", "good"), ("a", "cold", "bad"), ("b", "flu", "bad"), ("b", "cold", "good")],
    [30, 10, 30, 30],
)
BY_ILLNESS = counted(
    CategoricalSplit(
        "illness",
        (
            Branch(("flu",), CategoricalSplit("town", (Branch(("a",), Leaf("bad")), Branch(("b",), Leaf("bad"))))),
            Branch(("cold",), CategoricalSplit("town", (Branch(("a",), Leaf("good")), Branch(("b",), Leaf("good"))))),
        ),
    ),
    FLU,
)


@pytest.mark.parametrize("attack", [new_attack("linking"), new_attack("maxent"), new_attack("maxent", internal=False)])
@pytest.mark.parametrize("level", LEVELS[1:])
def test_a_bare_leaf_among_others_tells_that_nobody_has_the_secret_leading_there(
    tmp_path: Path, level: Level, attack: AttackModel
) -> None:
    release = published_release(FLU, BY_ILLNESS, level=level)
    beliefs = believed(release, FLU, attack, "illness")
    assert beliefs["a"] == pytest.approx([0, 1], abs=1e-12)
    assert 0 < beliefs["b"][0] < 1
    assert exposed(release, FLU, tmp_path, attack) is False


def test_among_labels_alone_an_empty_leaf_tells_nothing() -> None:
    assert believed(published_release(FLU, BY_ILLNESS, level="labels"), FLU, about="illness")["a"] == [0.5, 0.5]


@pytest.mark.parametrize("level", LEVELS[1:])
def test_people_whose_class_is_public_are_in_no_leaf_that_has_nobody_of_it(level: Level) -> None:
    table = table_of(
        [TOWN, ILLNESS, replace(OUTCOME, roles=frozenset({"class", "quasi_identifier"}))],
        [("a", "flu", "bad"), ("a", "cold", "good"), ("a", "cold", "bad"), ("b", "flu", "bad")],
        [5, 5, 5, 5],
    )
    tree = counted(CategoricalSplit("illness", (Branch(("flu",), Leaf("bad")), Branch(("cold",), Leaf("good")))), table)
    release = published_release(table, tree, level=level)
    known = knowing(table, release)
    (belief,) = new_attack("linking").infer(release, known)
    assert isinstance(belief, SecretBelief)
    chances = dict(zip(known.records["outcome"], belief.posterior.to_numpy().tolist(), strict=False))
    assert chances["good"] == [0, 1]
    # Of the bad 10 of 15 have the flu; by shares, 1 of those with flu and 1/2 of those with a cold are bad.
    assert chances["bad"] == pytest.approx([2 / 3, 1 / 3])


def test_a_leaf_said_to_be_empty_where_people_are_is_held_against_the_table(tmp_path: Path) -> None:
    release = published_release(FLU, BY_ILLNESS, level="shares")
    full = table_of([TOWN, ILLNESS, OUTCOME], [("a", "flu", "bad"), ("a", "cold", "good")], [5, 5])
    done = audited(release, full, tmp_path, {"use": "k_anonymity", "at_least": 1}, attack=new_attack("linking"))
    assert done.report.verdict == "inconclusive"


PURE = by_town(Leaf("yes", {"no": 0, "yes": 250}), Leaf("yes", {"no": 100, "yes": 150}))


def rows_of(*rows: Sequence[Any], columns: tuple[str, ...] = ("town", "ill")) -> Records:
    return Records(columns, tuple(tuple(row[:-1]) for row in rows), tuple(row[-1] for row in rows))


def test_withheld_records_beside_a_tree_take_nothing_back(tmp_path: Path) -> None:
    release = published_release(SICK_TOWN, PURE, records=rows_of((WITHHELD, WITHHELD, 500)))
    assert believed(release, SICK_TOWN)["a"] == [0, 1]
    assert exposed(release, SICK_TOWN, tmp_path, new_attack("linking")) is False


def test_what_either_a_tree_or_the_records_exclude_is_excluded() -> None:
    risk = categorical("risk", "class", "sensitive", values=("low", "mid", "high"))
    table = table_of([TOWN, risk], [("a", "mid"), ("b", "low"), ("b", "high")], [10, 10, 10])
    # No leaf of the tree for town a has anybody of high risk, no record of a low one: both together leave mid.
    tree = CategoricalSplit("town", (Branch(("a", "b"), Leaf("low", {"low": 10, "mid": 10, "high": 0})),))
    records = Records(("town", "risk"), (("a", {"in": ["mid", "high"]}), ("b", WITHHELD)), (10, 20))
    beliefs = believed(published_release(table, tree, records=records), table)
    assert beliefs["a"] == [0, 1, 0]


@pytest.mark.parametrize("numbers", ["exact", "unknown"])
def test_of_a_tree_and_records_the_more_certain_is_believed(numbers: Counted) -> None:
    records = rows_of(("a", "yes", 200), ("a", WITHHELD, 50), ("b", "yes", 150), ("b", "no", 100))
    trees = by_town(Leaf("yes", {"no": 10, "yes": 240}), Leaf("yes", {"no": 100, "yes": 150}))
    beliefs = believed(published_release(SICK_TOWN, trees, records=records, count_semantics=numbers), SICK_TOWN)
    assert beliefs["a"] == pytest.approx([0.04, 0.96])  # the records say 225 of 250
    assert believed(published_release(SICK_TOWN, BY_TOWN, records=records, count_semantics=numbers), SICK_TOWN)[
        "a"
    ] == [0, 1]


@st.composite
def planted(draw: st.DrawFn, *, most: int = 2) -> tuple[Table, tuple[Node, ...]]:
    table = draw(tables(most=12))
    return table, draw(forests(table, most=most))


def beliefs_of(release: Release, table: Table, *, distribution: bool = False) -> dict[str, SecretBelief]:
    known = knowing(table, release, distribution=distribution)
    return {each.secret: each for each in new_attack("linking").infer(release, known) if isinstance(each, SecretBelief)}


def confidence(belief: SecretBelief) -> NDArray[np.float64]:
    return np.asarray(belief.posterior.to_numpy(dtype=float).max(axis=1))


def is_certain(belief: SecretBelief) -> NDArray[np.bool_]:
    return np.asarray(confidence(belief) >= 1 - 1e-9)


@given(planted(), st.sampled_from(["exact", "exact", "unknown", "bootstrap"]), st.booleans())
def test_people_known_for_certain_stay_so_when_leaves_tell_more(
    plant: tuple[Table, tuple[Node, ...]], numbers: Counted, distribution: bool
) -> None:
    table, grown = plant
    levels = [
        beliefs_of(
            published_release(table, *grown, level=level, count_semantics=numbers), table, distribution=distribution
        )
        for level in LEVELS
    ]
    for less, more in pairwise(levels):
        for secret, belief in less.items():
            assert (is_certain(more[secret]) >= is_certain(belief)).all()


@given(tables(most=12, public_class=False), st.data())
def test_the_surest_belief_is_no_less_sure_when_leaves_of_known_people_tell_more(
    table: Table, data: st.DataObject
) -> None:
    public = replace(table.schema, columns=tuple(c for c in table.schema.columns if c.public or "class" in c.roles))
    names = [column.name for column in public.columns]
    cells = table.frame[names].astype(object).to_numpy().tolist()
    people = table_of(public.columns, [[None if cell != cell else cell for cell in row] for row in cells])
    (grown,) = data.draw(forests(people, most=1))
    surest = [
        confidence(beliefs_of(published_release(people, grown, level=level), people)["y"]).max() for level in LEVELS
    ]
    assert all(more >= less - 1e-9 for less, more in pairwise(surest))


@given(planted(), st.sampled_from(["exact", "unknown"]), st.data())
def test_what_is_known_from_trees_or_from_records_is_known_from_both(
    plant: tuple[Table, tuple[Node, ...]], numbers: Counted, data: st.DataObject
) -> None:
    table, grown = plant
    columns = table.schema.columns
    cells = [[None if cell != cell else cell for cell in row] for row in table.frame.astype(object).to_numpy().tolist()]
    hidden = data.draw(st.lists(st.booleans(), min_size=len(cells) * len(columns), max_size=len(cells) * len(columns)))
    rows = [
        tuple(WITHHELD if hidden[i * len(columns) + j] else cell for j, cell in enumerate(row))
        for i, row in enumerate(cells)
    ]
    records = Records(tuple(c.name for c in columns), tuple(rows), tuple(table.weight.tolist()))
    both = beliefs_of(published_release(table, *grown, records=records, count_semantics=numbers), table)
    alone = [
        published_release(table, *grown, count_semantics=numbers),
        Release({}, table.schema, model="none", records=records),
    ]
    for release in alone:
        for secret, belief in beliefs_of(replace(release, count_semantics=numbers), table).items():
            assert (is_certain(both[secret]) >= is_certain(belief)).all()
            if len(table.schema[secret].domain) == 2 and both[secret].certainty != "shares":
                assert (confidence(both[secret]) >= confidence(belief) - 1e-9).all()
