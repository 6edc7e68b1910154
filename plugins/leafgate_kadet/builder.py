"""Build the release of kADET from its options and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leafgate.algorithms.induction.encoding import encode as code_table
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.pruning import prune
from leafgate.types.release import Release
from leafgate.types.table import Table
from leafgate_kadet.equivalent_table import equivalent_table
from leafgate_kadet.grow import grow
from leafgate_kadet.requirements import admissible_of
from leafgate_kadet.spans import merge_spans

if TYPE_CHECKING:
    from leafgate_kadet.options import KadetOptions


def build(options: KadetOptions, table: Table) -> Release:
    """The k-anonymous tree with exact counts, its claim and, if requested, the equivalent table.

    Raises:
        NoReleaseError: when no tree is k-anonymous.
        InconclusiveError: when the tree has more than `max_spans` spans.
    """
    coded = code_table(table)
    root, spans = grow(
        coded,
        table.schema,
        admissible_of(coded, table.schema, options.k, options.require),
        options.measure,
        average_gain=options.average_gain,
        max_spans=options.max_spans,
    )
    if options.prune:
        prune(root, options.confidence)
    records = equivalent_table(coded, table.schema, merge_spans(spans.all())) if options.publish_table else None
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=(finished(coded, root, table.schema),),
        selection={
            "measure": options.measure,
            "average_gain": options.average_gain and options.measure == "gain_ratio",
            "k": options.k,
            "pruned": options.prune,
        },
        guarantee=_claims(options),
        records=records,
    )


def _claims(options: KadetOptions) -> dict[str, Any]:
    """k, and every requirement under the name of the metric that checks it."""
    claims: dict[str, Any] = {"k": options.k}
    for required in options.require:
        claims.setdefault(required.use, []).append(required.claim())
    return claims
