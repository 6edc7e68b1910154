"""The attack that rebuilds the table from the counts on all leaves of all trees, with limits on what any table has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import api
from leafgate.kernel.training_rows import TrainingRows
from leafgate_plugins.reconstruction.leaf_records import BY_MARGINALS, FERRY, FITTING, OF_MARGINALS

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms import routing
    from leafgate_plugins.reconstruction import rebuilt_records
    from leafgate_plugins.reconstruction.forest import assignment, bags, bounds, draws, regions
    from leafgate_plugins.reconstruction.forest.assignment import Assignment
    from leafgate_plugins.reconstruction.forest.bounds import ForestBounds
    from leafgate_plugins.reconstruction.forest.regions import ColumnParts, Forest
else:
    np, routing = api.lazy("numpy"), api.lazy("leafgate.algorithms.routing")
    rebuilt_records = api.lazy("leafgate_plugins.reconstruction.rebuilt_records")
    assignment, bags, bounds, draws, regions = (
        api.lazy(f"leafgate_plugins.reconstruction.forest.{name}")
        for name in ("assignment", "bags", "bounds", "draws", "regions")
    )

NEAR = 0.1
"""An interval no longer than this share of a column's range counts as a cell that is proved: its middle is right within
half of it, which is how near a number of `reconstructed_cells` has to be by default."""
SEARCHED = 0.6
"""The share of the time limit after which the search for a table ends."""
NO_ROWS = "its leaves count no people by class, and no file of a model says how many people they have"
NOT_AGREEING = "the rebuilt table does not agree with all counts, and another one may have more cells right"
NOT_ALL_USED = "the attack did not use all trees, all counts and all known people, which may give back more cells"
TIME_IS_OVER = "the search ended with its time, and a longer one may have more cells right"
PARTLY_KNOWN = "people are known whose cells in some tested columns are not, so that they are not used"
PREDICTIONS_NOT_USED = "what the trees predict was not used to place people in leaves, which may give back more cells"
KNOWN_MAY_BE_DRAWN = "people are known, and how often each bootstrap drew them is not, so that they are not used"
TOO_MANY_ROWS = "the seeds give back which rows each tree drew, but rows and cells are too many to use that"
NOT_IN_LEAVES = "the people who are known are not among those that the trees count"


class Rebuild(api.AttackModel):
    """Rebuild the table from the counts on all leaves of all trees, and prove what every such table has.

    The columns are those that the trees test, and the class or number that they predict. Files of models often count
    the people of each leaf where predictions do not, as those of regression trees and of boosting do.
    """

    use: Literal["rebuild"] = "rebuild"

    time_limit: Annotated[api.PositiveFloat | None, api.MORE] = Field(
        120.0,
        description="Seconds after which nothing more is searched: 60 % for single columns and the table, the rest "
        "for what trees prove together. What is proved by then holds, and the table is the best that was found.",
    )

    reads = frozenset({"exact", "bootstrap", "sampled", "unknown"})
    parts = frozenset({"trees"})
    needs = frozenset({"people", "rows", "distribution"})
    threat_model = (
        "The adversary has the release, whose leaves count the people of each class, and the declared domains. It "
        "knows nobody's cells, public ones included, but for the people that the policy grants it (`knows.people`), "
        f"who are taken out of all counts if their tested columns are known. {OF_MARGINALS} Where predictions count "
        "nobody and the model's file does, it has the file. Of bootstraps it knows how often each tree drew each row "
        "of the table where the file has the seeds, though not who that is; else it writes down the likeliest table. "
        "Bootstraps prove cells only where a file counts each row once."
    )
    formula = (
        "table: leaves of all trees for each person, so that as few people as possible are in a leaf with more than it "
        "counts (whole people in the cells of all trees where these are few; else a transport from tree to tree, and "
        "simulated annealing); cells within what a person's leaves leave open as `table_reconstruction` has them. "
        "Proved: the least number of people with a part of a column, by longest paths between the ends of intervals or "
        "a linear program over sets of values, and by linear programs and whole people in cells of several trees. What "
        "a file's trees predict: least squares under the means of their leaves, or the numbers of the class that the "
        "first scores of boosting come to. Of bootstraps: the likeliest numbers of people in these cells, draws taken "
        "to be Poisson distributed; where the draws of each row are known, a cell and a class for each row, so that as "
        f"few draws as possible are in a leaf with more than it counts, by simulated annealing. {BY_MARGINALS}"
    )
    source = (
        f"{FERRY}: the table that agrees with all trees, by a constraint solver; limits on cells of a table by its "
        f"margins: A. Dobra, S. E. Fienberg, PNAS 97(22), 2000, doi:10.1073/pnas.97.22.11885; {FITTING}"
    )

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.TableBelief]:
        """The rebuilt records, as many as the trees count people whom nobody knows.

        Raises InconclusiveError where no tree counts whole people on all its leaves, in the release or in its file, and
        where the trees count different people.
        """
        start = time.monotonic()
        seconds = float("inf") if self.time_limit is None else self.time_limit
        rows, by_class = known.rows, _counts_by_class(release)
        if not by_class and rows is None:
            raise api.InconclusiveError(
                NO_ROWS, remedy="leave this attack out where nobody sees how many people leaves have"
            )
        if release.count_semantics == "bootstrap" if by_class else rows is not None and rows.drawn:
            return [_of_draws(release, known, start, seconds, by_class=by_class)]
        counted_rows = None if by_class else rows
        try:
            forest = _forest(release, known.complete_schema, counted_rows)
        except api.InconclusiveError:
            if known.set_apart is None:
                raise
            known = replace(known, set_apart=None, hardly_missing=frozenset())  # trees without them count differently
            forest = _forest(release, known.schema, counted_rows)
        groups = _people_with_cells(known)
        n_known, unused = 0, tuple[str, ...]()
        for people in groups:
            forest, taken, why = _without_known(forest, release, people, apart=people is known.set_apart)
            n_known, unused = n_known + taken, (*unused, *why)
        rng = np.random.default_rng([known.seed, 46])
        columns = bounds.bounds_of_columns(forest, [_near(parts) for parts in forest.columns], start + seconds)
        found = _assignments(forest, rng, start + SEARCHED * seconds)
        agreeing = [each.leaf if each is not None and not each.missed else None for each in found]
        limits = bounds.forest_bounds(forest, columns, start + seconds, agreeing)
        unused = (*forest.unused, *unused)
        agrees = not any(each is not None and each.missed for each in found)
        records = rebuilt_records.records_of(forest, found, known)
        predictions_used = True
        if not by_class and rows is not None:
            # sums of several trees limit each other, which is not looked at
            predictions_used = len(forest.trees) == 1 and bool(rows.sums) and rows.sums[forest.numbers[0]] is not None
            others = rows
            for people in groups if n_known else ():
                others = _without_sums_of_known(others, release, people, known.schema.target.name)
            rebuilt_records.add_predicted(records, forest, found, others, known)
        return [
            api.TableBelief(
                records,
                proved_cells=limits.proved_cells,
                proved_most=limits.proved_most(forest, all_used=not unused and predictions_used),
                unfinished=_unfinished(agrees=agrees, all_used=not unused, predictions_used=predictions_used),
                evidence=_evidence(forest, limits, found, n_known, unused, known.set_apart),
            )
        ]


def _counts_by_class(release: api.Release) -> bool:
    """Do leaves of the release count people by class, or draws of them?"""
    is_read = release.count_semantics in {"exact", "bootstrap"}
    return is_read and any(leaf.counts is not None for tree in release.trees for leaf in api.leaves(tree))


def _of_draws(
    release: api.Release, known: api.AdversaryKnowledge, start: float, seconds: float, *, by_class: bool
) -> api.TableBelief:
    """The likeliest table of which the trees' bootstraps were drawn, with as many people as each draws.

    Where the file has the seeds of the bootstraps it is the table of which they draw what the leaves count, and where
    it states how many people each leaf's draws are of, limits on what any table has follow from these.

    Raises InconclusiveError where each tree alone has too many leaves.
    """
    rows, deadline = known.rows, start + SEARCHED * seconds
    if by_class or rows is None:
        forest = regions.Forest.of(release, known.schema)
    else:
        forest = regions.Forest.of_rows(release, known.schema, rows, drawn=True)
    drawn = None if rows is None or rows.bags is None else bags.usable_draws(forest, rows.bags.draws)
    wrong: int | None = None
    if drawn is None:
        found, together = draws.drawn_people(forest, release, deadline)
    else:
        bagged = bags.people_of_bags(forest, release, drawn, np.random.default_rng([known.seed, 47]), deadline)
        found, together, wrong = bagged.people, bagged.trees_together, bagged.wrong
    is_over = time.monotonic() > deadline
    evidence: dict[str, Any] = {"trees": len(forest.trees), "trees_together": together}
    if drawn is not None and wrong is not None:
        share = round(wrong / (int(drawn.sum()) * together / len(forest.trees)), 6)
        evidence |= {"bags": "drawn from the seeds", "agrees": not wrong, "in_a_wrong_leaf": share}
    unused = [*forest.unused, *([KNOWN_MAY_BE_DRAWN] if known.people is not None and known.people.total_weight else [])]
    if drawn is not None and wrong is None:
        unused.append(TOO_MANY_ROWS)
    if unused:
        evidence["unused"] = unused
    records = rebuilt_records.records_of(forest, found, known)
    if not by_class and rows is not None:
        rebuilt_records.add_predicted(records, forest, found, rows, known)
    each_row_once = rows is not None and bool(rows.drawn) and drawn is None  # numbers that place nobody
    all_used = together == len(forest.trees) and not unused and not each_row_once
    unfinished = _unfinished(agrees=not wrong, all_used=all_used, predictions_used=by_class)
    unfinished = TIME_IS_OVER if is_over and wrong is None else unfinished
    belief = api.TableBelief(records, unfinished=unfinished, evidence=evidence)
    if rows is None or rows.people is None or not rows.drawn:
        return belief
    of_people = regions.Forest.of_rows(release, known.schema, rows)
    near = [_near(parts) for parts in of_people.columns]
    limits = bounds.bounds_by_columns(bounds.bounds_of_columns(of_people, near, start + seconds))
    evidence |= {"proved_cells": limits.proved_cells, "parts_of_columns": _parts_of_columns(limits)}
    most = limits.proved_most(of_people, all_used=False)  # draws by class may prove more
    return replace(belief, proved_cells=limits.proved_cells, proved_most=most)


def _unfinished(*, agrees: bool, all_used: bool, predictions_used: bool) -> str:
    """Why another table may have more cells right; empty where none may."""
    if not agrees:
        return NOT_AGREEING
    if not all_used:
        return NOT_ALL_USED
    return "" if predictions_used else PREDICTIONS_NOT_USED


def _people_with_cells(known: api.AdversaryKnowledge) -> list[api.Table]:
    """The people whose cells are taken out of all counts: those who are set apart, and those whom the policy grants."""
    apart, people = known.set_apart, known.people
    if apart is not None and people is not None:
        people = people.records_where(~people.has_missing(known.hardly_missing & {*people.frame.columns}))
    return [each for each in (apart, people) if each is not None and each.total_weight]


def _forest(release: api.Release, schema: api.Schema, rows: TrainingRows | None) -> Forest:
    """The forest by the classes that leaves count, or by the rows that a file counts."""
    return regions.Forest.of(release, schema) if rows is None else regions.Forest.of_rows(release, schema, rows)


def _without_known(
    forest: Forest, release: api.Release, people: api.Table, *, apart: bool
) -> tuple[Forest, int, tuple[str, ...]]:
    """The forest of all but these people, how many of them were taken out, and why they were not.

    Those who are set `apart` may be in leaves that nobody else reaches, which the forest does not have.

    Raises InconclusiveError where the people are not among those that the trees count.
    """
    target = release.schema.target.name
    by_class = forest.classes != regions.EVERYBODY
    needed = {parts.column.name for parts in forest.columns} | ({target} if by_class else set())
    if not needed <= {column.name for column in people.schema.columns}:
        return forest, 0, (PARTLY_KNOWN,)
    label = np.zeros(len(people), dtype=np.int64)
    if by_class:
        label = np.array([forest.classes.index(str(name)) for name in people.frame[target]])
    trees = []
    for number, tree in zip(forest.numbers, forest.trees, strict=True):
        leaf = regions.positions(tree.leaf, routing.leaf_numbers(release.trees[number], people).astype(np.int64))
        taken = np.zeros_like(tree.people)
        if (leaf < 0).any() and not apart:
            raise api.InconclusiveError(NOT_IN_LEAVES, place="knows.people", remedy="name people of the table")
        np.add.at(taken, (leaf[leaf >= 0], label[leaf >= 0]), people.weight[leaf >= 0])
        trees.append(replace(tree, people=tree.people - taken))
        if (trees[-1].people < 0).any():
            raise api.InconclusiveError(NOT_IN_LEAVES, place="knows.people", remedy="name people of the table")
    if not trees[0].people.any():
        raise api.InconclusiveError("everybody is known, so that there is nothing to rebuild")
    return replace(forest, trees=tuple(trees)), people.total_weight, ()


def _without_sums_of_known(rows: TrainingRows, release: api.Release, people: api.Table, target: str) -> TrainingRows:
    """What the file states of the others; no sums where nobody knows what the model predicts of these people."""
    if target not in people.schema:
        return replace(rows, sums=())
    sums: list[Any] = []
    on_leaves: list[Any] = []
    for number, tree in enumerate(release.trees):
        own, n = rows.sums[number] if rows.sums else None, rows.on_leaves[number]
        if own is not None and n is not None:
            leaf, output = routing.leaf_numbers(tree, people), rows.outputs[number]
            amount = people.numbers(target) if output is None else people.frame[target].astype(str) == output
            amounts = np.asarray(amount, dtype=np.float64) * people.weight
            own = own - np.bincount(leaf, weights=amounts, minlength=len(own))
            n = n - np.bincount(leaf, weights=people.weight, minlength=len(n))
        sums.append(own)
        on_leaves.append(n)
    return replace(rows, sums=tuple(sums), on_leaves=tuple(on_leaves))


def _assignments(forest: Forest, rng: np.random.Generator, deadline: float) -> list[Assignment | None]:
    """The people of each class; None where there is nobody. Each class has its share of the time."""
    found: list[Assignment | None] = []
    start, people = time.monotonic(), forest.people
    for label, n in enumerate(people.tolist()):
        share = people[: label + 1].sum() / people.sum()
        until = start + (deadline - start) * share if np.isfinite(deadline) else deadline
        found.append(assignment.assign(forest.trees, label, rng, deadline=until) if n else None)
    return found


def _near(parts: ColumnParts) -> float:
    """The length up to which an interval counts as one cell of a column; 0 for values."""
    if parts.values:
        return 0.0
    low, high = parts.column.bounds or (parts.starts[0], parts.ends[-1])
    return float(NEAR * (high - low))


def _parts_of_columns(limits: ForestBounds) -> dict[str, int]:
    """How many parts of columns are proved, exactly, excluded, possible, and open."""
    total = [each.counted() for each in limits.limits]
    return {key: sum(each[key] for each in total) for key in total[0]} if total else {}


def _evidence(
    forest: Forest,
    limits: ForestBounds,
    found: Sequence[Assignment | None],
    known: int,
    unused: Sequence[str],
    set_apart: api.Table | None,
) -> dict[str, Any]:
    """What reports say of the attack. Numbers that follow from people who are known are for auditors."""
    missed = sum(each.missed for each in found if each is not None)
    evidence: dict[str, Any] = {
        "trees": len(forest.trees),
        "agrees": not missed,
        "in_a_wrong_leaf": round(missed / (int(forest.people.sum()) * len(forest.trees)), 6),
        "proved_cells": limits.proved_cells,
        "parts_of_columns": _parts_of_columns(limits),
        "trees_together": min((n for n in limits.trees_together if n), default=0),
    }
    pairs = [each.counted() for each in limits.pairs.values()]
    if pairs:
        counted = {key: sum(each[key] for each in pairs) for key in pairs[0]}
        evidence["pairs_of_leaves"] = counted | {"pairs_of_trees": len(pairs)}
    if set_apart is not None:
        evidence["not_judged"] = api.AuditorOnly(
            f"{set_apart.total_weight} people with missing cells that hardly anybody has"
        )
    if known:
        numbers = {**evidence, "known_people": known}
        evidence = {
            key: each if isinstance(each, api.AuditorOnly) else api.AuditorOnly(each) for key, each in numbers.items()
        }
    if unused:
        evidence["unused"] = list(unused)
    return evidence
