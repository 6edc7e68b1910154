"""Small random tables of public columns and a secret class, and releases grown on them by the real builders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from leafgate import NoReleaseError, Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, BuildResult, Column, TreeBuilder
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Level, Publish
from leafgate_plugins.baselines.builders import C45, Id3
from leafgate_plugins.kadet.builder import Kadet
from random_tables import categorical, hierarchies, numeric, records, table_of
from sklearn_release import tree_of

VALUES = ("none", "mild", "grave", "fatal")
LEVELS: tuple[Level, ...] = ("labels", "error_rates", "counts")
Case = tuple[Table, Release, AdversaryKnowledge]


@st.composite
def public_columns(draw: st.DrawFn, name: str, numbers: bool | None = None) -> Column:
    """A quasi-identifier: numbers, perhaps with gaps, or values, perhaps with a hierarchy."""
    if draw(st.booleans()) if numbers is None else numbers:
        return numeric(name, "quasi_identifier", missing=numbers is None and draw(st.integers(0, 3)) == 0)
    values = tuple(f"{name}{i}" for i in range(draw(st.integers(2, 3))))
    hierarchy = draw(hierarchies(values, missing=False)) if draw(st.integers(0, 3)) == 0 else None
    return categorical(name, "quasi_identifier", values=values, hierarchy=hierarchy)


@st.composite
def secret_tables(
    draw: st.DrawFn, *, least: int = 4, most: int = 14, heaviest: int = 4, numbers: bool | None = None
) -> Table:
    """`least` to `most` rows of 2 to 4 public columns and a secret class of 2 to 4 values."""
    columns = [draw(public_columns(name, numbers)) for name in "abcd"[: draw(st.integers(2, 4))]]
    values = VALUES[: draw(st.integers(2, 4))]
    columns.append(categorical("y", "class", "sensitive", values=values))
    size = draw(st.integers(least, most))
    rows = draw(records(columns, size, heaviest=heaviest))
    return table_of(columns, [row[:-1] for row in rows], [row[-1] for row in rows])


@st.composite
def builders(draw: st.DrawFn) -> TreeBuilder:
    """ID3 by gain or gini, C4.5 without its filter, or kADET, each with small thresholds."""
    which = draw(st.sampled_from(["id3", "c45", "kadet"]))
    if which == "id3":
        measure = draw(st.sampled_from(["gain", "gini"]))
        least = {"min_leaf": draw(st.integers(1, 3)), "min_split": draw(st.integers(2, 6))}
        return Id3.model_validate({"measure": measure, **least})
    if which == "c45":
        return C45(average_gain=False, min_leaf=draw(st.integers(1, 3)), prune=draw(st.booleans()))
    measure = draw(st.sampled_from(["gain", "gini", "gain_ratio"]))
    more = {"average_gain": False, "prune": draw(st.booleans()), "k": draw(st.integers(1, 4)), "measure": measure}
    return Kadet.model_validate(more)


def release_of(builder: TreeBuilder, table: Table, level: Level) -> Release:
    """What the builder grows on the table, published at a level; tables it refuses are passed over."""
    try:
        draft = builder.build(table, np.random.default_rng(0))
    except NoReleaseError:
        assume(False)
        raise
    return published(BuildResult.of(draft).release, Publish(leaves=level, measure=True), builder.measure_options)


@st.composite
def cases(
    draw: st.DrawFn,
    tables: st.SearchStrategy[Table] | None = None,
    levels: Sequence[Level] = LEVELS,
    distribution: bool | None = None,
) -> Case:
    """A table, a release grown on it, and what the adversary knows; perhaps the overall distribution."""
    table = draw(secret_tables() if tables is None else tables)
    release = release_of(draw(builders()), table, draw(st.sampled_from(levels)))
    granted = draw(st.booleans()) if distribution is None else distribution
    return table, release, grant_knowledge(table, distribution=granted)


@st.composite
def sklearn_cases(draw: st.DrawFn, levels: Sequence[Level] = LEVELS) -> Case:
    """Cases whose release is a scikit-learn tree, on numbers without gaps."""
    table = draw(secret_tables(numbers=True))
    release = sklearn_release(
        table, draw(st.sampled_from(["gini", "entropy"])), draw(st.sampled_from(levels)), draw(st.integers(1, 4))
    )
    return table, release, grant_knowledge(table, distribution=draw(st.booleans()))


def sklearn_release(table: Table, criterion: str, level: Level = "counts", depth: int | None = None) -> Release:
    """A scikit-learn tree grown on the table's (numeric, public) features, with all that is known of its learner."""
    names = [column.name for column in table.schema.features]
    model = DecisionTreeClassifier(criterion=criterion, max_depth=depth, random_state=0)
    code = table.codes(table.schema.target.name)
    model.fit(table.frame[names].to_numpy(dtype=np.float64), code, sample_weight=table.weight)
    facts = {"average_gain": False, "min_leaf": 1, "min_split": 2, "pruned": False}
    draft = Release(
        builder={"use": "sklearn"},
        schema=table.schema,
        trees=(tree_of(model, table),),
        selection={"measure": {"gini": "gini", "entropy": "gain"}[criterion], **facts},
    )
    return published(draft, Publish(leaves=level, measure=True), frozenset())
