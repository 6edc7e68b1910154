import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Release
from leafgate.algorithms.publication import published
from leafgate.api import CategoricalSplit, Leaf, Level, NumericSplit, Publish, Schema
from leafgate.app import read_release, serialize
from random_tables import categorical, tables
from random_trees import forests
from sample_release import COUNTS, DRAFT, NOBODY, SCHEMA, TELLS, written

LEVELS: tuple[Level, ...] = ("labels", "error_rates", "shares", "counts")
WORDS = {"error_rates": b'"error_rate"', "shares": b'"shares"', "counts": b'"counts": {'}


def without_hierarchies(schema: Schema) -> Schema:
    """A release does not tell hierarchies: they are the policy's."""
    return Schema(tuple(replace(column, hierarchy=None) for column in schema.columns))


@st.composite
def releases(draw: st.DrawFn) -> Release:
    table = draw(tables(most=8))
    names = st.lists(st.text(max_size=3), unique=True, max_size=2)
    trees = draw(forests(table))
    draft = replace(
        DRAFT,
        schema=without_hierarchies(table.schema),
        trees=trees,
        alternatives=dict(zip(draw(names), draw(forests(table)), strict=False)),
        records=None,
        count_semantics=draw(st.sampled_from(["exact", "sampled", "bootstrap", "perturbed", "noisy", "unknown"])),
        combine=draw(st.sampled_from(["vote", "sum", "mean_per_tree", "boost", *(["one"] if len(trees) == 1 else [])])),
        guarantee=draw(st.dictionaries(st.text(max_size=5), st.floats(0, 9) | st.text(max_size=3), max_size=2)),
    )
    return published(draft, Publish(leaves=draw(st.sampled_from(LEVELS)), measure=draw(st.booleans())), TELLS)


@given(releases())
def test_what_is_read_back_is_what_was_written(release: Release) -> None:
    sealed = serialize(release)
    assert sealed.release == release
    assert serialize(sealed.release).content == sealed.content == serialize(release).content


def test_records_and_every_kind_of_test_are_read_back() -> None:
    assert serialize(DRAFT).release == DRAFT
    leaf = Leaf("low", COUNTS, scores=dict.fromkeys(COUNTS, -1.5))
    cuts = NumericSplit("age", 1, leaf, leaf, "high"), NumericSplit("age", 1, leaf, leaf, float32=True)
    assert serialize(replace(DRAFT, trees=cuts, combine="vote")).release.trees == cuts


def test_a_known_algorithm_without_a_measure_stays_known() -> None:
    random = replace(DRAFT, selection={"columns": "random"})
    assert serialize(published(random, Publish(measure=True), TELLS)).release.publish.measure


def test_a_release_read_from_a_file_keeps_its_bytes() -> None:
    spaced = json.dumps(json.loads(written()), indent=7).encode()
    loaded = read_release(spaced, "r")
    assert serialize(loaded).content == spaced
    assert serialize(loaded.release).content != spaced


def test_what_is_attacked_is_what_the_bytes_say_whatever_a_builder_made_of_them() -> None:
    sealed = serialize(DRAFT)
    changed = replace(sealed, release=replace(DRAFT, trees=DRAFT.trees[:1] * 2, combine="vote"))
    assert changed.release != sealed.release
    assert serialize(changed).release == sealed.release
    assert serialize(changed).content == sealed.content


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_publishes_one_statistic_and_no_other(level: Level) -> None:
    content = written(replace(DRAFT, records=None), level)
    assert {key for key, word in WORDS.items() if word in content} == {level} & set(WORDS)
    assert (b"31415" in content) == (b"27182" in content) == (level == "counts")


@pytest.mark.parametrize("level", LEVELS)
def test_an_empty_leaf_tells_nothing_but_its_label(level: Level) -> None:
    (tree,) = read_release(written(level=level), "r").release.trees
    assert isinstance(tree, CategoricalSplit)
    assert tree.default == Leaf("low", NOBODY if level == "counts" else None)


def test_a_measure_that_is_kept_back_is_nowhere_in_the_file() -> None:
    assert b"gain_ratio" in written()
    content = written(measure=False)
    assert not [word for word in (b"gain", b"gini", b"selection", b"min_leaf") if word in content]
    assert json.loads(content)["builder"] == {"use": "careful", "k": 3}
    assert json.loads(content)["publish"] == {"leaves": "counts", "measure": None}


def test_the_key_column_is_not_told() -> None:
    keyed = Schema((*SCHEMA.columns, categorical("patient_number", "key", values=("p1", "p2"))))
    assert b"patient_number" not in written(replace(DRAFT, schema=keyed))
