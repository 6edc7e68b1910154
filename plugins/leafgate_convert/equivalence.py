"""Two models held against each other on a policy's table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.algorithms.node_counts import REMEDY, first_contradiction
from leafgate.algorithms.prediction import predict
from leafgate.api import CategoryCodes, ModelIR, Numeric, Origin, ReleaseError, Table, Unresolved
from leafgate.app import Encoding, LoadedRelease, lower_model, parse_number
from leafgate_convert import UNPROVED
from leafgate_convert.scrub import Proof


def on_data(original: ModelIR, scrubbed: ModelIR, table: Table, encoding: Mapping[str, Encoding], place: str) -> Proof:
    """Both models as releases, on every record of a table; `encoding` is what the policy states of features.

    Raises ReleaseError where the first counts other people than the table's: after its counts nobody could see that.
    """
    gone = set(original.features) - set(
        scrubbed.features
    )  # features no tree asks about any more: nothing is said of them
    remaining = {name: each for name, each in encoding.items() if name not in gone}
    loaded = [
        lower_model(model, b"", table.schema, of, place) for model, of in ((original, encoding), (scrubbed, remaining))
    ]
    _check_counts(loaded[0], table, place)
    before, after = (predict(each.release, table) for each in loaded)
    return Proof(len(table), int((before != after).sum()), of_people=True)


def _check_counts(loaded: LoadedRelease, table: Table, place: str) -> None:
    if inconsistent_leaves(loaded.release, table):
        raise ReleaseError(
            "some of its leaves count other people than the policy's table has there",
            place=place,
            remedy="was it grown on this table? are its features what the policy takes them for (`encoding`)?",
        )
    numbers = loaded.node_numbers
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
    origins = less.origins or (None,) * len(less.features)
    marked = (
        Unresolved(name, UNPROVED) if _is_bare(one) else one for name, one in zip(less.features, origins, strict=True)
    )
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
