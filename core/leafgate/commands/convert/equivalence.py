"""Two models held against each other on a policy's table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.algorithms.node_counts import REMEDY, first_contradiction
from leafgate.algorithms.prediction import predict
from leafgate.api import ReleaseError, Table
from leafgate.commands.convert import UNPROVED
from leafgate.commands.convert.rare_cells import MergedModel, TableOfPolicy, has_value_of_few
from leafgate.commands.convert.scrub import Proof
from leafgate.io.json import parse_number
from leafgate.io.release_codec import SealedRelease
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.readers import CategoryCodes, ModelIR, Numeric, Origin, Unresolved


def on_data(original: ModelIR, scrubbed: ModelIR, people: TableOfPolicy, merged: MergedModel | None = None) -> Proof:
    """Both models as releases, on every record of a table.

    Where values were `merged`, people who have one that few have are predicted as by the merged model, and all others
    as by the original. Raises ReleaseError where the original counts other people than the table's: after its counts
    nobody could see that.
    """
    before = _lowered(original, people, people.encoding)
    _check_counts(before, people.table, people.place)
    answers = predict(before.release, people.table)
    if merged is not None and merged.columns:
        few = has_value_of_few(people, merged.columns)
        answers = np.where(few, predict(_lowered(merged.model, people, people.encoding).release, people.table), answers)
    after = predict(_lowered(scrubbed, people, people.encoding_of(scrubbed)).release, people.table)
    return Proof(len(people.table), int((answers != after).sum()), of_people=True)


def _lowered(model: ModelIR, people: TableOfPolicy, encoding: Mapping[str, Encoding]) -> SealedRelease:
    """The model over the policy's columns."""
    return lower_model(model, people.table.schema, encoding, people.place)


def _check_counts(loaded: SealedRelease, table: Table, place: str) -> None:
    if inconsistent_leaves(loaded.release, table):
        raise ReleaseError(
            "some of its leaves count other people than the policy's table has there",
            place=place,
            remedy="was it grown on this table? are its features what the policy takes them for (`encoding`)?",
        )
    numbers = loaded.provenance.node_numbers
    wrong = None if numbers is None else first_contradiction(numbers, loaded.release, table)
    if wrong is not None:
        raise ReleaseError(f"{wrong.words} sends there", place=place, remedy=REMEDY)


CHECKED = {"exact", "sampled", "bootstrap"}
"""What leaves may count for an audit to hold it against the table."""


def with_unproved(model: ModelIR, less: ModelIR) -> ModelIR:
    """The scrubbed model `less`, its features marked whose reading only the counts that `model` has could prove.

    A column of codes and one of numbers look the same in a file. An audit then refuses such a feature by its name until
    the policy itself says what it is.
    """
    result = all(tree.counts is not None for tree in model.trees)
    kept = any(tree.counts is not None for tree in less.trees)
    if model.counted not in CHECKED or not result or kept:
        return less
    pairs = zip(less.features, less.given_origins, strict=True)
    marked = (Unresolved(name, UNPROVED) if _is_bare(one) else one for name, one in pairs)
    return replace(less, origins=tuple(marked))


def _is_bare(origin: Origin | None) -> bool:
    """Is it known by its name alone, or by numbers that could stand for anything?"""
    if isinstance(origin, CategoryCodes):
        return any(math.isfinite(parse_number(value)) for value in origin.codes)
    return origin is None or isinstance(origin, Numeric)


def unproved(model: ModelIR) -> tuple[str, ...]:
    """The names of the features that are marked so."""
    marked = (one for one in model.origins or () if isinstance(one, Unresolved) and one.why == UNPROVED)
    return tuple(one.column for one in marked)
