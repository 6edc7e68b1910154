"""The metric of reconstructed records: the share of cells right, beyond a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from leafgate.api import (
    AuditorOnly,
    InconclusiveError,
    ReleaseAtMost,
    Score,
    ScoringContext,
    TableBelief,
    columns_asked,
    lazy,
)
from leafgate_plugins.reconstruction.leaf_records import FERRY

if TYPE_CHECKING:
    from leafgate.algorithms import table_matching
else:
    table_matching = lazy("leafgate.algorithms.table_matching")

UNBREAKABLE = "a table half of whose cells beyond the baseline are reconstructed would keep this limit"
WORSE = "fewer cells of the reconstructed records are right than of records made up without the release"
GRANT = "Let the attack know what the baseline knows: set `knows: {distribution: true}`. "
STRONGER = "Add a stronger attack: one that returns a `TableBelief` (docs/reference/plugin-components.md)."
LOWER_LIMIT = "Set a lower `at_most`: auditors read in the finding the largest score that any release could have."
LONGER = "Give the attack more time (`time_limit`), or publish fewer trees."
LESS_DETAIL = "Let each leaf count more people, let the tree test fewer columns, or publish labels without counts."
LESS_IN_FILE = (
    "Take the numbers of people out of the model's file (`leafgate scrub`, or `leafgate repair` where that cannot), or "
    "let each leaf count more people."
)


class ReconstructedCells(ReleaseAtMost):
    """The share of the cells of reconstructed records that are right, beyond what is right without the release."""

    use: Literal["reconstructed_cells"] = "reconstructed_cells"
    tolerance: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.05,
        description="Numbers are right within this share of the column's `bounds`, with `scale: ratio` of the larger "
        "number; secret numbers with `bins` in the same bin.",
    )

    baseline: Literal["distributions", "domains"] = Field(
        "distributions",
        description="What the adversary without the release knows: each column's distribution, or its domain alone, "
        "as in the literature; then disclosed distributions count too.",
    )

    counted: Literal["cells", "records", "proved"] = Field(
        "cells",
        description="What counts: right cells or whole right records, beyond the baseline; or cells that the attack "
        "proves, without a baseline (a number within a tenth of its column's range).",
    )

    policy_example = "at_most: 0.1"
    judges = frozenset({TableBelief})
    checked_by = "table_reconstruction"
    public = "verdict"
    threat_model = (
        "Whatever the attack it judges assumes. The records are nobody's in particular; they are matched "
        "with people only for the score."
    )
    formula = (
        "R - B. R: share of right cells under the best one-to-one matching of records with people. B: the"
        " same for as many records made from each column's distribution alone, or with `baseline: "
        "domains` drawn evenly from the domains. Only columns that the attack reconstructs count. "
        "Interval: the least and the most that a draw has right. With `counted: "
        "records` R and B are shares of records all of whose cells are right; with `counted: proved` the score is the "
        "share of the table's cells, without the class, that every table with these counts has"
    )
    source = f"{FERRY}: the matching, and random tables as the baseline; theirs know the columns' domains alone"
    scale = "from -1 to 1"
    score_range = (-1, 1)
    interpretation = "0: no more is right than by the columns' distributions; 1 - B: the whole table is right"
    plain_failure = "the release lets people reconstruct too much of the table it was learned from"

    def score(self, case: ScoringContext) -> Score:
        """The score with its interval; where no release could break the limit it is insufficient.

        Raises InconclusiveError for tables that are too large to match, where weights count no people, and where the
        attack proves no cells and these are counted.
        """
        if self.counted == "proved":
            return self._proved(case)
        belief, table = case.require_belief(TableBelief), case.table
        records = belief.records
        if table.weighted:
            raise InconclusiveError("the policy's weights count no people, so records cannot be matched with people")
        if len(records) > table.total_weight:
            raise InconclusiveError("there are more records than people")
        names = sorted(records.columns)
        columns = table_matching.true_cells(table, names, self.tolerance)
        cells = table_matching.coded_cells(records, table.schema)
        right = table_matching.most_right(columns, cells, self.counted)
        baseline = table_matching.baseline(columns, len(records), case.known.seed, self.baseline, self.counted)
        score, highest = right - baseline.value, right - baseline.low
        largest = 1 - baseline.value
        if not any(map(columns_asked, case.release.trees)):  # nothing but the class can be reconstructed of it
            largest = max(largest, 1 - self._baseline_of_all(case, self.counted).value)
        says = (
            f"{right:.1%} of {'the cells of ' * (self.counted == 'cells')}{len(records):,} reconstructed records "
            f"({', '.join(names)}) are right, and {baseline.value:.1%} without the release"
        )
        facts = {"records": len(records), "columns": names, "right": round(right, 6)}
        facts["baseline"] = {"commonest": round(baseline.commonest, 6), "drawn": [round(b, 6) for b in baseline.drawn]}
        insufficient, remedy = "", _less_detail(case)
        if self.holds(largest / 2):
            insufficient, remedy = UNBREAKABLE, LOWER_LIMIT
        elif right < baseline.low:
            is_less_known = self.baseline == "distributions" and not case.known.distribution
            insufficient, remedy = WORSE, GRANT * is_less_known + STRONGER
        elif belief.unfinished:
            insufficient, remedy = belief.unfinished, LONGER
        return Score(
            score,
            interval=(right - baseline.high, highest),
            insufficient=insufficient,
            largest=largest,
            remedy=remedy,
            evidence={"reconstruction": AuditorOnly(facts), "says": AuditorOnly(says)},
        )

    def _baseline_of_all(self, case: ScoringContext, counted: table_matching.Counted) -> table_matching.Baseline:
        """The baseline of as many records as people, with all columns that attacks may reconstruct."""
        names = [column.name for column in case.table.schema.columns if "key" not in column.roles]
        columns = table_matching.true_cells(case.table, sorted(names), self.tolerance)
        return table_matching.baseline(columns, case.table.total_weight, case.known.seed, self.baseline, counted)

    def _proved(self, case: ScoringContext) -> Score:
        """The share of cells that the attack proves; the truth is not looked at."""
        belief = case.require_belief(TableBelief)
        if belief.proved_cells is None:
            remedy = "Judge an attack that proves cells, such as `rebuild` where trees count everybody once."
            raise InconclusiveError("the attack proves no cells", remedy=remedy)
        cells = case.table.total_weight * sum(not {"class", "key"} & set(c.roles) for c in case.table.schema.columns)
        score = belief.proved_cells / cells if cells else 0.0
        most = score if belief.proved_most is None else min(belief.proved_most / cells, 1.0)
        says = f"{belief.proved_cells:,} of {cells:,} cells are in every table with these counts"
        return Score(
            score, interval=(score, most), largest=1.0, remedy=_less_detail(case), evidence={"says": AuditorOnly(says)}
        )


def _less_detail(case: ScoringContext) -> str:
    """What to change where too much of the table is rebuilt."""
    return LESS_DETAIL if case.release.file is None else LESS_IN_FILE
