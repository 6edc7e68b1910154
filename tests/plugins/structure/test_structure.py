"""Structural checks: against brute force, against the attack that groups people, and by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import ks_2samp

from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import (
    AuditorOnly,
    Branch,
    CategoricalSplit,
    InconclusiveError,
    Leaf,
    Level,
    Node,
    NumericSplit,
    PeopleCount,
    Publish,
    ScoringContext,
)
from leafgate.testing import grant_knowledge
from leafgate_plugins.structure.metrics import (
    ClassDisclosure,
    GeneralisationGap,
    ResidualDegreesOfFreedom,
    RiskySettings,
    SmallestLeaf,
    by_chance,
    largest_difference,
    parameters,
)
from leafgate_plugins.structure.sacro_rules import RULES, broken, fewest_changes, some_of_each
from mortgage import TREE, fan, leaf, mortgage
from oracles import path_of, people_of, persons, span
from random_tables import categorical, numeric, table_of, tables
from random_trees import forests
from scoring import score_of_release

GROUPS = ("each_tree", "all_trees")


def case_of(
    table: Table, *trees: Node, level: Level = "counts", test: Table | None = None, **document: Any
) -> ScoringContext:
    document = {"combine": "one" if len(trees) == 1 else "vote"} | document
    release = published(Release({"use": "x"}, table.schema, trees, **document), Publish(leaves=level), frozenset())
    return ScoringContext(table, test, release, grant_knowledge(table))


def smallest(case: ScoringContext, **options: Any) -> float:
    return score_of_release(SmallestLeaf(at_least=0, **options), case)


def disclosed(case: ScoringContext, **options: Any) -> float:
    return score_of_release(ClassDisclosure(at_most=0, **options), case)


def keys_by_hand(table: Table, trees: Sequence[Node], groups: str, *, public: bool) -> list[list[Hashable]]:
    """For each way of dividing people one key for each row: the leaf they are in, or those they could be in."""
    everyone = [person for person, _ in people_of(table)]
    names = [column.name for column in table.schema.public]
    items: list[list[Hashable]] = []
    for tree in trees:
        if public:
            of = [span({name: person[name] for name in names}, [tree], table.schema) for person in everyone]
            items.append(list(of))
        else:
            items.append([path_of(tree, person) for person in everyone])
    return items if groups == "each_tree" else [list(zip(*items, strict=True))]


@st.composite
def audited(draw: st.DrawFn) -> tuple[Table, tuple[Node, ...]]:
    table = draw(tables(public_class=False, most=12))
    return table, draw(forests(table, whole=draw(st.booleans())))


@given(audited(), st.sampled_from(GROUPS), st.booleans())
def test_the_smallest_leaf_is_that_of_everyone_walked_down_the_trees(
    found: tuple[Table, tuple[Node, ...]], groups: str, public: bool
) -> None:
    table, trees = found
    sizes = []
    for keys in keys_by_hand(table, trees, groups, public=public):
        people: Counter[Hashable] = Counter()
        for key, n in zip(keys, table.weight.tolist(), strict=True):
            people[key] += n
        sizes.append(min(people.values()))
    by = "quasi_identifiers" if public else "features"
    assert smallest(case_of(table, *trees), groups=groups, by=by) == min(sizes)


@given(audited(), st.sampled_from(GROUPS), st.booleans(), st.sampled_from(["single", "ruled_out", "few"]))
def test_class_disclosure_counts_the_people_whose_leaf_gives_their_class_away(
    found: tuple[Table, tuple[Node, ...]], groups: str, public: bool, form: str
) -> None:
    table, trees = found
    classes = table.schema.classes
    mine = [str(person["y"]) for person in persons(table.frame)]
    marked = [False] * len(table)
    for keys in keys_by_hand(table, trees, groups, public=public):
        counts: dict[Hashable, Counter[str]] = {}
        for key, own, n in zip(keys, mine, table.weight.tolist(), strict=True):
            counts.setdefault(key, Counter())[own] += n
        result = {
            "single": {key for key, c in counts.items() if len(c) == 1},
            "ruled_out": {key for key, c in counts.items() if len(c) < len(classes)},
            "few": {key for key, c in counts.items() if min(c.values()) < 4},
        }[form]
        marked = [before or key in result for before, key in zip(marked, keys, strict=True)]
    share = sum(n for flag, n in zip(marked, table.weight.tolist(), strict=True) if flag) / table.total_weight
    options = {"k": 4} if form == "few" else {}
    by = "quasi_identifiers" if public else "features"
    assert disclosed(case_of(table, *trees), groups=groups, by=by, form=form, **options) == pytest.approx(share)


def test_the_smallest_groups_are_witnesses_and_auditors_see_the_way_to_them() -> None:
    metric = SmallestLeaf(at_least=2, by="features")
    case = case_of(mortgage(), TREE)
    result = metric.score(case).evidence
    assert result["groups"] == 3
    assert result["people_beyond"] == AuditorOnly(PeopleCount(1))
    (group,) = result["worst"]
    assert group["people"] == PeopleCount(1)
    assert group["path"] == AuditorOnly("sports_car = yes and marital_status = Married")
    assert group["true"] == AuditorOnly({"good": PeopleCount(1)})


def test_a_public_group_is_told_by_its_public_columns_alone() -> None:
    metric = SmallestLeaf(at_least=4)
    case = case_of(mortgage(), TREE)
    paths = [group["path"].content for group in metric.score(case).evidence["worst"]]
    assert paths == ["marital_status = Unmarried", "marital_status = Married"]


def test_one_of_several_trees_is_named() -> None:
    metric = SmallestLeaf(at_least=2, by="features", groups="each_tree")
    case = case_of(mortgage(), leaf(2, 4), TREE)
    (group,) = metric.score(case).evidence["worst"]
    assert group["path"] == AuditorOnly("tree 1: sports_car = yes and marital_status = Married")


@pytest.mark.parametrize("level", ["labels", "error_rates", "shares", "counts"])
def test_the_same_people_are_together_whatever_is_published(level: Level) -> None:
    case = case_of(mortgage(), TREE, level=level)
    assert smallest(case, by="features") == 1
    assert disclosed(case, by="features") == pytest.approx(4 / 6)


def shown(known: bool) -> str:
    return "coarse" if known else "verdict"


PUBLIC_TREE = fan("marital_status", Unmarried=leaf(1, 2), Married=leaf(1, 2))


@pytest.mark.parametrize(
    ("level", "counted", "by_public", "by_features"),
    [
        ("counts", "exact", True, True),
        ("shares", "exact", True, False),
        ("labels", "exact", False, False),
        ("counts", "bootstrap", False, False),
    ],
)
def test_a_groups_classes_are_public_where_leaves_tell_counts_or_countable_shares(
    level: Level, counted: Any, by_public: bool, by_features: bool
) -> None:
    public, private = (case_of(mortgage(), tree, level=level, count_semantics=counted) for tree in (PUBLIC_TREE, TREE))
    for by, result in {"quasi_identifiers": by_public, "features": by_public}.items():
        assert ClassDisclosure.model_validate({"at_most": 0, "by": by}).public_in(public) == shown(result)
    assert ClassDisclosure(at_most=0, by="features").public_in(private) == shown(by_features)
    hidden = ClassDisclosure(at_most=0).public_in(private)  # leaves that ask private columns hold several groups
    assert hidden == "verdict"


@pytest.mark.parametrize(
    ("level", "counted", "value"), [("counts", "exact", True), ("shares", "exact", False), ("counts", "sampled", False)]
)
def test_group_sizes_by_columns_that_are_not_public_are_told_where_leaves_count_them(
    level: Level, counted: Any, value: bool
) -> None:
    case = case_of(mortgage(), TREE, level=level, count_semantics=counted)
    assert SmallestLeaf(at_least=1, by="features").public_in(case) == shown(value)
    assert SmallestLeaf(at_least=1, groups="each_tree", by="features").public_in(case) == shown(value)
    assert ClassDisclosure(at_most=0, scored="derived").public_in(case) == shown(value)
    assert RiskySettings(at_most=0).public_in(case) == shown(value)
    assert SmallestLeaf(at_least=1).public_in(case) == "coarse"
    public = case_of(mortgage(), PUBLIC_TREE, level=level)
    assert SmallestLeaf(at_least=1, by="features").public_in(public) == "coarse"


def test_what_a_release_says_of_a_group_may_be_judged_instead_of_who_is_in_it() -> None:
    # Counts of a bootstrap: all good in a leaf of two bad risks, and one good of 30 where nobody is good.
    tree = fan("sports_car", yes=leaf(5, 0), no=leaf(1, 29))
    case = case_of(mortgage(), tree, count_semantics="bootstrap")
    assert disclosed(case, by="features") == pytest.approx(3 / 6)
    assert disclosed(case, scored="derived") == pytest.approx(3 / 6)
    assert disclosed(case, scored="derived", form="few", k=2) == pytest.approx(3 / 6)  # 3/30 of a person is few


def test_outputs_are_coarser_than_leaves() -> None:
    tree = fan("sports_car", yes=fan("marital_status", Unmarried=leaf(1, 1), Married=leaf(2, 2)), no=leaf(0, 3))
    case = case_of(mortgage(), tree)
    assert smallest(case, by="features") == 1
    assert smallest(case, groups="outputs") == 3


def test_labels_alone_give_no_shares() -> None:
    with pytest.raises(InconclusiveError, match="no class a share"):
        disclosed(case_of(mortgage(), TREE, level="labels"), scored="derived")


def test_a_release_without_trees_has_no_leaves_and_no_parameters() -> None:
    case = case_of(mortgage())
    for metric in (
        SmallestLeaf(at_least=1),
        ClassDisclosure(at_most=0),
        ResidualDegreesOfFreedom(at_least=0),
        RiskySettings(at_most=0),
    ):
        with pytest.raises(InconclusiveError, match="no trees"):
            score_of_release(metric, case)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"groups": "outputs", "by": "quasi_identifiers"}, "whole records"),
        ({"scored": "derived", "by": "quasi_identifiers"}, "whole records"),
        ({"form": "few"}, "needs it"),
        ({"k": 3}, "needs it"),
        ({"scored": "derived", "groups": "each_tree"}, "single tree"),
    ],
)
def test_what_cannot_be_judged_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ClassDisclosure(at_most=0, **options)


def test_parameters_by_hand() -> None:
    # Two tests of two ways, three leaves of two classes.
    assert parameters(case_of(mortgage(), TREE).release) == 2 + 2 + 3
    assert score_of_release(ResidualDegreesOfFreedom(at_least=10), case_of(mortgage(), TREE)) == 6 - 7
    several = CategoricalSplit("town", (Branch(("a",), Leaf()), Branch(("b", "c"), Leaf())), default=Leaf())
    three = categorical("y", "class", values=("p", "q", "r"))
    table = table_of([categorical("town", "quasi_identifier", values="abcd"), three], [("a", "p")])
    assert parameters(case_of(table, several, level="labels").release) == 3 + 3 * 2
    scores = Leaf("p", scores={"p": 0.5, "q": 0, "r": 0})
    assert parameters(case_of(table, scores, level="labels", combine="boost").release) == 1


def rules_by_hand(family: str, **given: float | str) -> bool:
    """The rules, read once more from their documentation: as sentences about whole numbers and choices."""
    number = {name: value for name, value in given.items() if isinstance(value, float)}
    depth, leaf_, split = (number.get(name, 0) for name in ("max_depth", "min_samples_leaf", "min_samples_split"))
    some, many = given.get("max_features") == "some", number.get("n_estimators", 0)
    if family == "tree":
        if depth >= 8 and leaf_ <= 7:
            return split <= 15 or given["splitter"] == "best" or not some
        if given["splitter"] == "random" or some:
            return False
        return (depth >= 8 and leaf_ <= 15) or (4 <= depth <= 7 and leaf_ <= 7)
    if family == "forest":
        if depth >= 4 and many >= 36:
            return some or (split <= 15 and given["bootstrap"] == "yes")
        return depth >= 8 and 16 <= many <= 35 and leaf_ <= 15 and given["bootstrap"] == "no"
    weight = number["min_child_weight"]
    if depth < 4 or many < 4:
        return False
    return weight <= 1 or (many >= 13 and weight <= 3) or (many >= 63 and weight <= 6)


VALUES: dict[str, Sequence[Any]] = {
    "max_depth": (2.0, 3.0, 4.0, 7.0, 8.0, 500.0),
    "min_samples_leaf": (1.0, 7.0, 8.0, 15.0, 16.0),
    "min_samples_split": (2.0, 15.0, 16.0),
    "max_features": ("all", "some"),
    "splitter": ("best", "random"),
    "n_estimators": (1.0, 3.0, 4.0, 12.0, 13.0, 15.0, 16.0, 35.0, 36.0, 62.0, 63.0),
    "bootstrap": ("yes", "no"),
    "min_child_weight": (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0),
}


@pytest.mark.parametrize("family", ["tree", "forest", "boosting"])
def test_settings_are_risky_where_the_rules_say_so(family: str) -> None:
    names = list(dict.fromkeys(name for rule in RULES[family] for name in rule))
    found = {True: 0, False: 0}
    for values in product(*(VALUES[name] for name in names)):
        given_ = dict(zip(names, values, strict=True))
        risky = bool(broken(given_, RULES[family]))
        assert risky == rules_by_hand(family, **given_), given_
        found[risky] += 1
    assert min(found.values()) > 50


@pytest.mark.parametrize("family", ["tree", "forest", "boosting"])
def test_no_fewer_changes_would_do(family: str) -> None:
    rules = RULES[family]
    names = list(dict.fromkeys(name for rule in rules for name in rule))
    every = [dict(zip(names, way, strict=True)) for way in product(*(some_of_each(name, rules) for name in names))]
    safe = [way for way in every if not broken(way, rules)]
    for settings_ in every:
        change = fewest_changes(settings_, rules)
        assert len(change) == min(sum(settings_[name] != way[name] for name in names) for way in safe)
        assert all(settings_[name] not in region for name, region in change.items())
        assert len(change) <= RiskySettings.score_range[1]


def risky(case: ScoringContext) -> tuple[float, dict[str, Any]]:
    metric = RiskySettings(at_most=0)
    return score_of_release(metric, case), dict(metric.score(case).evidence)


def deep(depth: int) -> Node:
    """A tree that asks for one number again and again, a leaf of one on every way."""
    node: Node = leaf(1, 0)
    for at in reversed(range(depth)):
        node = NumericSplit("age", at + 0.5, leaf(1, 0), node)
    return node


def numbers_table(people: int) -> Table:
    columns = [
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        categorical("loan_risk", "class", values=("good", "bad")),
    ]
    return table_of(columns, [(float(i), "good") for i in range(people)])


def test_what_is_not_declared_is_measured_and_what_cannot_be_is_supposed_the_riskiest() -> None:
    score, result = risky(case_of(numbers_table(10), deep(9)))
    assert result["settings"] == {
        "max_depth": {"value": 9.0, "from": "measured"},
        "min_samples_leaf": {"value": AuditorOnly(PeopleCount(1)), "from": "measured"},
        "min_samples_split": {"value": AuditorOnly(PeopleCount(2)), "from": "measured"},
        "splitter": {"from": "unknown"},
        "max_features": {"from": "unknown"},
    }
    assert score == 1
    assert result["change"] == "max_depth up to 3.5"
    assert result["rules"] == ["max_depth above 7.5, min_samples_leaf up to 7.5, min_samples_split up to 15"]


def test_a_shallow_tree_is_at_no_risk_by_its_settings() -> None:
    score, result = risky(case_of(numbers_table(4), deep(3)))
    assert (score, result["rules"], result["change"]) == (0, [], "")


def test_what_boosting_starts_from_is_no_tree() -> None:
    scores = Leaf("good", scores={"good": 1.0, "bad": 0.0})
    tree = NumericSplit("age", 5, scores, scores)
    case = case_of(numbers_table(10), scores, tree, tree, level="labels", combine="boost")
    score, result = risky(case)
    assert result["settings"]["n_estimators"] == {"value": 2.0, "from": "measured"}
    assert score == 0


def test_a_round_of_boosting_may_have_a_tree_for_each_of_two_classes() -> None:
    """XGBoost's `multi:softprob` with two classes grows two trees a round; others grow one, for the last class."""
    good = Leaf("good", scores={"good": 1.0, "bad": 0.0})
    bad = Leaf("bad", scores={"good": 0.0, "bad": 1.0})
    trees = [NumericSplit("age", 5, each, each) for each in (good, bad) * 3]
    case = case_of(numbers_table(10), *trees, level="labels", combine="boost")
    assert risky(case)[1]["settings"]["n_estimators"] == {"value": 3.0, "from": "measured"}


def test_declared_settings_come_before_measured_ones() -> None:
    declared = {"use": "x", "max_depth": None, "min_samples_leaf": 0.5, "settings": {"splitter": "random"}}
    case = case_of(numbers_table(10), deep(2))
    release = Release(declared, case.release.schema, case.release.trees)
    _, result = risky(ScoringContext(case.table, None, release, case.known))
    assert result["settings"]["max_depth"] == {"value": "unlimited", "from": "declared"}
    assert result["settings"]["min_samples_leaf"] == {"value": 5.0, "from": "declared"}
    assert result["settings"]["splitter"] == {"value": "random", "from": "declared"}


@given(st.data())
def test_losses_are_apart_as_kolmogorov_and_smirnov_have_it(data: st.DataObject) -> None:
    samples = []
    for _ in range(2):
        values = data.draw(st.lists(st.integers(0, 5), min_size=3, max_size=12))
        weight = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
        samples.append((np.array(values) / 5, np.array(weight)))
    (one, mine), (other, theirs) = samples
    found = largest_difference(one, mine, other, theirs)
    expected = ks_2samp(np.repeat(one, mine), np.repeat(other, theirs), method="asymp")
    assert found == pytest.approx(expected.statistic, abs=1e-12)
    assert by_chance(found, int(mine.sum()), int(theirs.sum())) == pytest.approx(expected.pvalue, abs=1e-9)


def test_the_gap_is_between_the_tables_people_and_others() -> None:
    tree = fan("sports_car", yes=leaf(2, 1), no=leaf(0, 3))
    table = mortgage()
    others = table_of(table.schema.columns, [("Unmarried", "yes", "good"), ("Married", "no", "good")], [1, 3])
    case = case_of(table, tree, test=others)
    metric = GeneralisationGap(at_most=0)
    assert score_of_release(metric, case) == pytest.approx(5 / 6 - 1 / 4)
    assert metric.score(case).evidence == {"on_table": pytest.approx(5 / 6), "on_test": 0.25}
    losses = GeneralisationGap(at_most=0, form="losses")
    # Losses: 0 of three, 1/3 of two, 2/3 of one; the others': 1/3 of one, 1 of three.
    assert score_of_release(losses, case) == pytest.approx(3 / 4)
    with pytest.raises(InconclusiveError, match="no test table"):
        score_of_release(metric, case_of(table, tree))
