from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from installed_readers import lower_model
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms.exclusion import absence_probability, exclusion_p_values
from leafgate.algorithms.publication import published
from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    Branch,
    BuildResult,
    CategoricalSplit,
    Column,
    Leaf,
    Level,
    Node,
    NumericSplit,
    Publish,
    Schema,
    Targets,
    bin_of,
    columns_asked,
)
from leafgate.app import load_plugins
from leafgate.models.reader import read_foreign
from leafgate.testing import validate_belief
from leafgate_plugins.baselines.builders import C45, Id3
from leafgate_plugins.inference.attributes.counting import occurring_bins
from leafgate_plugins.inference.attributes.imputation import impute
from leafgate_plugins.inference.attributes.leaf_constraints import (
    LeafConstraints,
    bootstrap_ratios,
    excluding_by_value,
    possible_values,
    reachable_leaves,
    restricted,
)
from oracles import Cell, Person, cells_to_try, leaf_at, path_of, persons
from random_tables import categorical, numeric, records, table_of
from random_trees import counted, cuts, fans, trees
from sklearn_zoo import skops_bytes

BINS = (0.0, 2.0, 2.5, 6.0, 10.0)


def rows_of(table: Table, rows: NDArray[np.int64]) -> Table:
    """The people at these positions, a row for each."""
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))


def everybody(table: Table) -> Table:
    """A row for each person."""
    return rows_of(table, np.repeat(np.arange(len(table)), table.weight))


def with_columns(table: Table, names: Sequence[str]) -> Table:
    schema = Schema(tuple(table.schema[name] for name in names))
    return Table(schema, table.frame.loc[:, list(names)], table.weight)


def targets_of(
    inside: Table, outside: Table, secret: str, hidden: Sequence[str] = (), *, class_known: bool = True
) -> Targets:
    """Everybody in the table, and people outside, of whom all is known but the secret and what is `hidden`."""
    gone = {secret, *hidden, *(() if class_known else (inside.schema.target.name,))}
    names = [column.name for column in inside.schema.columns if column.name not in gone]
    groups = with_columns(everybody(inside), names), with_columns(everybody(outside), names)
    return Targets(inside.schema[secret], groups, outside, complete=True, table_size=inside.total_weight)


def cells_of(column: Column, given_trees: Sequence[Node]) -> list[Cell]:
    """What a cell may hold, enough numbers to fall on either side of every threshold and every edge of a bin."""
    cells = cells_to_try(column, given_trees)
    near = [math.nextafter(edge, way) for edge in column.bins or () for way in (-math.inf, edge, math.inf)]
    low, high = column.bounds or (0.0, 0.0)
    return [*cells, *(number for number in near if low <= number <= high)]


def code_of(column: Column, cell: Cell) -> int:
    """The position in the domain: a value's, or a bin's."""
    if column.bins is None:
        return column.domain.index(cell if cell is None else str(cell))
    number = np.nan if cell is None else float(cell)
    return int(bin_of(np.array([number]), column.bins)[0])


def completions(person: Person, unknown: Sequence[Column], given_trees: Sequence[Node]) -> Iterator[Person]:
    """The person with everything that is not known filled in, in every way."""
    for cells in product(*(cells_of(column, given_trees) for column in unknown)):
        yield {**person, **dict(zip((column.name for column in unknown), cells, strict=True))}


def literal_possible(release: Release, schema: Schema, targets: Targets) -> NDArray[np.bool_]:
    """Values with which each tree sends the person, completed in some way, to a leaf that counts the class.

    It fills in all columns for each tree by itself, as the attack does.
    """
    target, secret = schema.target.name, targets.secret
    result = np.zeros((len(targets), len(secret.domain)), dtype=bool)
    people = [person for group in targets.groups for person in persons(group.frame)]
    unknown = [column for column in schema.features if column.name not in people[0]] if people else []
    for i, person in enumerate(people):
        classes = [person[target]] if target in person else list(schema.classes)
        remaining = {(v, y) for v in range(len(secret.domain)) for y in classes}
        for tree in release.trees:
            asked = [column for column in unknown if column.name in columns_asked(tree) or column == secret]
            seen = set()
            for life in completions(person, asked, [tree]):
                leaf = leaf_at(tree, path_of(tree, life))
                counts = {y: 1 if leaf is None else (leaf.counts or {}).get(str(y), 0) for y in classes}
                seen |= {(code_of(secret, life[secret.name]), y) for y in classes if counts[y]}
            remaining &= seen
        for v, _ in remaining:
            result[i, v] = True
    return result


GAPPY = (
    categorical("a", "quasi_identifier", values=("p", "q", "r"), missing=True),
    numeric("n", "quasi_identifier", missing=True),
    categorical("s", "sensitive", values=("u", "v", "w"), missing=True),
    replace(numeric("m", "sensitive", missing=True), bins=BINS),
    categorical("h", "private", values=("k", "l"), missing=True),
    categorical("y", "class", "sensitive", values=("good", "bad")),
)


@pytest.mark.thorough
@given(st.data())
@settings(deadline=None)
def test_possible_values_are_those_that_reach_a_leaf_with_the_class_in_every_tree(data: st.DataObject) -> None:
    """Of random trees, by which some people reach no leaf; missing cells may be known, unknown, or secret."""
    schema = Schema(GAPPY)
    rows = st.lists(records(GAPPY, 1, heaviest=1).map(lambda row: row[0][:-1]), min_size=2, max_size=4)
    table, outside = (table_of(GAPPY, data.draw(rows)) for _ in range(2))
    asked = data.draw(st.sampled_from([GAPPY[:4], GAPPY[1:5], (GAPPY[0], *GAPPY[2:5])]))
    below = trees(Schema((*asked, GAPPY[-1])), depth=3, whole=False)
    first = [cuts(column, below) if column.numeric else fans(column, below, whole=False) for column in asked]
    grown = tuple(counted(data.draw(tree), table) for tree in first)
    hidden = data.draw(st.sampled_from([(), ("h", "n")]))
    for secret, class_known in zip("sm", data.draw(st.permutations([True, False])), strict=True):
        targets = targets_of(table, outside, secret, hidden, class_known=class_known)
        targets = replace(targets, complete=False)
        for shown in (*((tree,) for tree in grown), grown):
            release = Release({"use": "random"}, schema, shown)
            by_leaves, by_counts = possible_values(release, schema, targets)
            assert np.array_equal(by_leaves, literal_possible(release, schema, targets))
            assert np.array_equal(by_counts, by_leaves)


def small_world(seed: int, people: int = 6) -> tuple[Table, Table, Schema]:
    """A few people with a secret of two or three values, and as many others."""
    rng = np.random.default_rng(seed)
    values = tuple("uvw"[: 2 + seed % 2])
    columns = (
        categorical("a", "quasi_identifier", values=("p", "q")),
        numeric("n", "quasi_identifier"),
        categorical("s", "private", values=values),
        categorical("y", "class", "sensitive", values=("good", "bad")),
    )
    rows = []
    for _ in range(2 * people):
        value, label = rng.choice(values), rng.choice(["good", "bad"])
        label = "good" if value == "u" and rng.random() < 0.7 else label
        rows.append([rng.choice(["p", "q"]), float(rng.integers(1, 3)), value, label])
    return table_of(columns, rows[:people]), table_of(columns, rows[people:]), Schema(columns)


def tree_of(table: Table, seed: int) -> Release:
    """An unprotected tree of the table."""
    builder = [Id3(), Id3(min_leaf=2, measure="gini"), C45(prune=False, average_gain=False)][seed // 3 % 3]
    return BuildResult.of(builder.build(table, np.random.default_rng(0))).release


def leaf_counts(tree: Node, people: Sequence[Person], target: str) -> Counter[tuple[Any, Cell]]:
    """How many of the people of each class are in each leaf of the tree."""
    return Counter((path_of(tree, person), person[target]) for person in people)


def literal_joint(release: Release, inside: Table, targets: Targets) -> NDArray[np.bool_]:
    """The values of each person in every completion of all people that gives the trees their counts."""
    target, secret = inside.schema.target.name, targets.secret
    wanted = [leaf_counts(tree, persons(everybody(inside).frame), target) for tree in release.trees]
    people = persons(targets.groups[0].frame)
    result = np.zeros((len(people), len(secret.domain)), dtype=bool)
    classes = [[person[target]] if target in person else list(inside.schema.classes) for person in people]
    states = [list(product(secret.domain, mine)) for mine in classes]
    for chosen in product(*states):
        completed = [
            {**person, secret.name: value, target: y} for person, (value, y) in zip(people, chosen, strict=True)
        ]
        if all(
            leaf_counts(tree, completed, target) == counts for tree, counts in zip(release.trees, wanted, strict=True)
        ):
            for i, (value, _) in enumerate(chosen):
                result[i, secret.domain.index(value)] = True
    return result


@pytest.mark.thorough
@pytest.mark.parametrize("class_known", [True, False])
def test_values_by_counting_are_those_of_all_completions_with_the_counts(*, class_known: bool) -> None:
    """Of all completions of all people; the proofs by counting are more than those by single leaves."""
    by_leaves_alone, by_both, asked = 0, 0, 0
    for seed in range(60):
        inside, outside, schema = small_world(seed, (6 if class_known else 5) - seed % 2)
        release = tree_of(inside, seed)
        if "s" not in columns_asked(release.trees[0]):
            continue
        targets = targets_of(inside, outside, "s", class_known=class_known)
        by_leaves, by_counts = possible_values(release, schema, targets)
        n = inside.total_weight
        assert np.array_equal(by_counts[:n], literal_joint(release, inside, targets)), seed
        assert (by_counts <= by_leaves).all()
        assert by_counts[np.arange(n), everybody(inside).codes("s")].all()
        by_leaves_alone += int((by_leaves[:n].sum(axis=1) == 1).sum())
        by_both += int((by_counts[:n].sum(axis=1) == 1).sum())
        asked += 1
    assert asked > 10
    assert by_both > by_leaves_alone


@st.composite
def places(draw: st.DrawFn) -> tuple[list[set[int]], list[int]]:
    """Bins in which each of some people can be, and counts of the bins, which fit some assignment or none."""
    n_bins = draw(st.integers(1, 4))
    allowed = draw(st.lists(st.sets(st.integers(0, n_bins - 1), min_size=1), min_size=1, max_size=6))
    chosen = [
        draw(st.sampled_from(sorted(mine))) if draw(st.integers(0, 9)) else draw(st.integers(0, n_bins - 1))
        for mine in allowed
    ]
    return allowed, np.bincount(chosen, minlength=n_bins).tolist()


@given(places())
@settings(deadline=None)
def test_occurring_bins_are_those_of_all_assignments_with_the_counts(case: tuple[list[set[int]], list[int]]) -> None:
    allowed, counts = case
    pairs = [(i, b) for i, mine in enumerate(allowed) for b in sorted(mine)]
    occur = set()
    for chosen in product(*allowed):
        if np.bincount(chosen, minlength=len(counts)).tolist() == counts:
            occur |= set(enumerate(chosen))
    person, bins = np.array(pairs).T
    result = occurring_bins(person, bins, len(allowed), np.array(counts))
    if not occur:
        assert result is None
    else:
        assert result is not None
        assert result.tolist() == [pair in occur for pair in pairs]


def three_trees(secret: Column) -> list[Node]:
    """Trees that ask the secret with other columns above it or below."""

    def by(column: Column, below: Node) -> Node:
        return CategoricalSplit(column.name, tuple(Branch((value,), below) for value in column.values or ()))

    leaf, public = Leaf("good"), categorical("a", "quasi_identifier", values=("p", "q"))
    return [
        by(secret, leaf),
        by(public, by(secret, leaf)),
        NumericSplit("n", 1.5, by(secret, leaf), CategoricalSplit("s", (Branch(("u",), leaf),), leaf)),
    ]


@pytest.mark.thorough
def test_counts_of_several_trees_leave_the_values_of_all_completions_of_few_people() -> None:
    """Counts are compared tree by tree until nothing changes. That could leave more values, but not here."""
    more = 0
    for seed in range(30):
        inside, outside, schema = small_world(seed, 5 - seed % 2)
        grown = [counted(tree, inside) for tree in three_trees(schema["s"])]
        release = Release({"use": "many"}, schema, tuple(grown), combine="vote")
        targets = targets_of(inside, outside, "s", class_known=bool(seed % 2))
        n, true = inside.total_weight, everybody(inside).codes("s")
        by_counts = possible_values(release, schema, targets)[1][:n]
        assert by_counts[np.arange(n), true].all()
        alone = [possible_values(replace(release, trees=(tree,)), schema, targets)[1][:n] for tree in grown]
        assert (by_counts <= np.logical_and.reduce(alone)).all()
        more += int((by_counts < np.logical_and.reduce(alone)).sum())
        exact = literal_joint(release, inside, targets)
        assert np.array_equal(by_counts, exact)
    assert more


def attack(release: Release, schema: Schema, targets: Targets, **options: Any) -> AttributeBelief:
    """What the attack believes."""
    nobody = targets.auxiliary.without_rows
    known = AdversaryKnowledge(schema, nobody, targets={targets.secret.name: targets})
    (belief,) = LeafConstraints(**options).infer(release, known)
    belief = validate_belief(belief, known, release)
    assert isinstance(belief, AttributeBelief)
    return belief


def test_the_attack_is_certain_of_the_true_value_and_keeps_to_values_that_remain() -> None:
    certain = 0
    for seed in range(20):
        inside, outside, schema = small_world(seed)
        release = tree_of(inside, seed)
        targets = targets_of(inside, outside, "s")
        belief = attack(release, schema, targets)
        _, possible = possible_values(release, schema, targets)
        true, n = everybody(inside).codes("s"), inside.total_weight
        assert belief.certain is not None
        sure = belief.certain[:n] >= 0
        assert (belief.certain[:n] == true)[sure].all()
        contradicted = np.asarray(~possible.any(axis=1))
        assert not contradicted[:n].any()
        assert (belief.certain[contradicted] == -1).all()
        assert (belief.posterior[~contradicted][~possible[~contradicted]] == 0).all()
        assert belief.posterior.sum(axis=1) == pytest.approx(1)
        assert (belief.posterior[belief.certain >= 0].max(axis=1) == 1).all()
        certain += int(sure.sum())
    assert certain > 5


def test_people_who_contradict_all_values_have_the_imputation_and_no_proof() -> None:
    """Of the control, whose leaves count nobody of their class whatever their secret is."""
    columns = small_world(0)[2].columns
    inside = table_of(columns, [["p", 1.0, "u", "good"], ["p", 1.0, "v", "good"], ["q", 1.0, "u", "bad"]])
    outside = table_of(columns, [["p", 1.0, "u", "bad"], ["q", 1.0, "v", "bad"], ["q", 2.0, "u", "good"]])
    by_a = CategoricalSplit("a", tuple(fan_of(value, "s") for value in "pq"))
    release = Release({"use": "by hand"}, inside.schema, (counted(by_a, inside),))
    belief = attack(release, inside.schema, targets_of(inside, outside, "s"))
    assert belief.certain is not None
    assert belief.certain.tolist() == [-1, -1, 0, -1, 0, -1]
    prior = impute(targets_of(inside, outside, "s"), 0).posterior
    assert np.array_equal(belief.posterior[[3, 5]], prior[[3, 5]])


def fan_of(value: str, secret: str) -> Branch:
    """The branch of a value, below which the secret is asked."""
    return Branch((value,), CategoricalSplit(secret, (Branch(("u",), Leaf("good")), Branch(("v",), Leaf("good")))))


@pytest.mark.parametrize(
    ("strict", "float32", "low"),
    [
        (False, False, [True, True, False]),
        (True, False, [True, False, False]),
        (False, True, [True, True, True]),
        (True, True, [True, False, False]),
    ],
)
def test_a_bin_goes_where_any_of_its_numbers_goes(*, strict: bool, float32: bool, low: list[bool]) -> None:
    """An edge at the threshold belongs to the bin above; single precision rounds the numbers just above it down."""
    at = float(np.float32(0.1))
    just_above = math.nextafter(at, 1.0)
    secret = replace(numeric("s", "private", bounds=(0.0, 1.0)), bins=(0.0, at, just_above, 1.0))
    columns = (numeric("n", "quasi_identifier"), secret, categorical("y", "class", values=("good", "bad")))
    table = table_of(columns, [[1.0, 0.5, "good"]])
    tree = NumericSplit("s", at, Leaf("good"), Leaf("bad"), strict=strict, float32=float32)
    reached = reachable_leaves(tree, with_columns(table, ["n", "y"]), table.schema, secret)
    combinations = {
        (v, reached.leaves[leaf].label) for v, leaf in zip(reached.value.tolist(), reached.leaf.tolist(), strict=True)
    }
    assert [(v, "good") in combinations for v in range(3)] == low
    assert (2, "bad") in combinations
    assert ((0, "bad") in combinations) == (float32 and strict)


def test_an_unknown_column_holds_one_value_all_along_a_path() -> None:
    """A number that is at most 2 is not above 4 further down, so that leaf is not reached."""
    columns = (
        numeric("n", "quasi_identifier"),
        numeric("h", "private"),
        categorical("s", "private", values=("u", "v")),
        categorical("y", "class", values=("good", "bad")),
    )
    table = table_of(columns, [[1.0, 1.0, "u", "good"], [1.0, 7.0, "v", "bad"]])
    never = NumericSplit("h", 4.0, Leaf("bad"), Leaf("good"))
    by_s = CategoricalSplit("s", (Branch(("u",), Leaf("good")), Branch(("v",), never)))
    tree = NumericSplit("h", 2.0, by_s, Leaf("bad"))
    reached = reachable_leaves(
        tree, with_columns(table, ["n"]).people_at(np.arange(1)), table.schema, table.schema["s"]
    )
    labels = [reached.leaves[leaf].label for leaf in reached.leaf[reached.value == 1].tolist()]
    assert labels == ["bad", "bad"]


def forest_world(model: Any, seed: int, n: int = 150) -> tuple[Release, Schema, Targets, NDArray[np.int64]]:
    """A forest of scikit-learn on people whose secret is 0 or 1, and the true secrets of the targets."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, 6, 3 * n), rng.normal(size=3 * n).round(1), rng.integers(0, 2, 3 * n)])
    y = (x[:, 2] + rng.normal(size=3 * n) > 0.7).astype(int)
    columns = [numeric(f"x{i}", "quasi_identifier", bounds=(-100.0, 100.0)) for i in range(2)]
    secret = replace(numeric("x2", "private", bounds=(-1.0, 2.0)), bins=(-1.0, 0.5, 2.0))
    schema = Schema((*columns, secret, categorical("y", "class", "sensitive", values=("low", "high"))))
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    frame["y"] = pd.Categorical.from_codes(y, categories=pd.Index(schema.classes))
    everyone = Table(schema, frame, np.ones(3 * n, dtype=np.int64))
    model.fit(x[:n], np.array(schema.classes)[y[:n]])
    read = read_foreign(skops_bytes(model), "m", load_plugins().readers)
    release = lower_model(read, schema, {}, "m").release
    inside, outside, others = (rows_of(everyone, np.arange(n) + n * i) for i in range(3))
    targets = replace(targets_of(inside, outside, "x2"), auxiliary=others)
    return release, schema, targets, np.concatenate([inside.codes("x2"), outside.codes("x2")])


def test_true_values_of_members_are_below_each_level_no_more_often_than_it_says() -> None:
    below = []
    for seed in range(2):
        model = RandomForestClassifier(30, random_state=seed)
        release, schema, targets, true = forest_world(model, seed)
        out = absence_probability(release, people=targets.table_size, at_least=1, weighted=False)
        assert out == pytest.approx((1 - 1 / 150) ** 150)
        excluding, reference = excluding_by_value(release, schema, targets)
        assert reference.shape == (150, 2)
        below.append(exclusion_p_values(excluding[np.arange(150), true[:150], 0], 30, out))
    p_values = np.concatenate(below)
    for level in (0.2, 0.05, 0.01):
        assert (p_values <= level).mean() <= level + 4 * math.sqrt(level / len(p_values))
    assert p_values.min() < 0.5


def test_bootstraps_prove_nothing_and_favour_the_true_value_of_members() -> None:
    release, schema, targets, true = forest_world(RandomForestClassifier(40, random_state=1), 5)
    belief = attack(release, schema, targets)
    prior = impute(targets, 0).posterior
    assert belief.certain is None
    of_true, before = (each[np.arange(300), true] for each in (belief.posterior, prior))
    assert np.log(of_true[:150]).mean() > np.log(before[:150]).mean() + 0.05
    assert belief.posterior.sum(axis=1) == pytest.approx(1)


def test_bootstrap_ratios_are_those_of_binomial_mixtures() -> None:
    """By scipy's binomial law, for rates that stand in the reference."""
    total, q, reference = 12, 0.37, np.array([0, 3, 3, 12, 7])
    rates = (reference + 0.5) / 13
    expected = [binom.pmf(k, total, q * rates).mean() / binom.pmf(k, total, rates).mean() for k in range(total + 1)]
    assert bootstrap_ratios(total, q, reference) == pytest.approx(expected)
    assert bootstrap_ratios(3, q, np.zeros(0, dtype=np.int64)).tolist() == [1, 1, 1, 1]


def test_trees_of_all_rows_are_intersected() -> None:
    release, schema, targets, true = forest_world(ExtraTreesClassifier(8, random_state=0), 3)
    by_leaves, by_counts = possible_values(release, schema, targets)
    members = np.arange(150)
    assert by_counts[members, true[:150]].all()
    single = np.logical_and.reduce(
        [possible_values(replace(release, trees=(tree,)), schema, targets)[0] for tree in release.trees]
    )
    assert np.array_equal(by_leaves, single)
    assert (by_counts[150:] == by_leaves[150:]).all()
    assert (by_counts[:150].sum(axis=1) == 1).sum() >= (by_leaves[:150].sum(axis=1) == 1).sum() > 30


@pytest.mark.parametrize("model", [RandomForestClassifier(9, random_state=0), ExtraTreesClassifier(5, random_state=0)])
def test_it_plants_no_leak_because_leaves_that_count_nobody_say_nothing_of_other_leaks(model: Any) -> None:
    assert attack(*forest_world(model, 4)[:3]).planted is None


@pytest.mark.parametrize("level", ["labels", "error_rates", "shares"])
def test_other_levels_than_counts_prove_no_more_than_single_leaves(level: Level) -> None:
    for seed in (3, 5, 7, 9):
        inside, outside, schema = small_world(seed)
        full = tree_of(inside, seed)
        targets = targets_of(inside, outside, "s")
        shown = published(full, Publish(leaves=level), frozenset())
        if level == "labels":
            with pytest.raises(InconclusiveError, match="labels"):
                attack(shown, schema, targets)
            continue
        by_leaves, by_counts = possible_values(shown, schema, targets)
        assert np.array_equal(by_leaves, by_counts)
        assert (by_leaves >= possible_values(full, schema, targets)[0]).all()
        if level == "shares":
            assert np.array_equal(by_leaves, possible_values(full, schema, targets)[0])


def test_counts_are_not_used_unless_the_targets_are_everybody() -> None:
    fewer = 0
    for seed in range(20):
        inside, outside, schema = small_world(seed)
        release = tree_of(inside, seed)
        targets = targets_of(inside, outside, "s")
        by_leaves, by_counts = possible_values(release, schema, replace(targets, complete=False))
        assert np.array_equal(by_leaves, by_counts)
        fewer += int((possible_values(release, schema, targets)[1] < by_counts).sum())
    assert fewer


def test_restricting_a_prior_that_excludes_what_remains_makes_it_uniform() -> None:
    prior = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    possible = np.array([[False, True, True], [False, False, False]])
    assert restricted(prior, possible).tolist() == [[0, 0.5, 0.5], [0.2, 0.3, 0.5]]
