"""Leave one out: how far one person moves the score of her own class when models are trained with her and without her.

What an attack on scores can learn of a person is what she leaves in the model. Here it is measured, not attacked:
models of the same kind are trained on the table, and on the table without one person, for those who are likely to move
it most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import (
    AuditorOnly,
    InconclusiveError,
    PeopleCount,
    ReleaseAtMost,
    Score,
    ScoringContext,
    Table,
    lazy,
    report_progress,
)
from leafgate_membership.game import UNLIKE, Answers, are_alike, own_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Retrain = Callable[[Table, Table, int], NDArray[np.float64]]
else:
    np = lazy("numpy")

LOGIT_OFFSET = 1e-3
"""Added to a score and to one minus it, so that their logit is within 6.91 of 0 and an influence within 13.82."""

ERROR = 0.05
"""The probability, at most, that the interval does not hold the largest influence of those who were tried."""

NEIGHBOURS = 5
"""People are compared with so many of their own class, the nearest."""

MAX_COMPARED = 2_000
"""Neighbours are looked for among so many people, drawn at random."""

MAX_THREADS = 4
"""So many models are trained at a time, at most."""

CHUNK_ROWS = 500
"""So many people are compared with others in one array."""

QUANTILES = (0.5, 0.9, 1.0)
"""Of the influences of those who were tried, these quantiles are evidence."""


class LeaveOneOut(ReleaseAtMost):
    """The largest influence of one person on the logit of the score of that person's class.

    Departure: the influence is Feldman's memorisation on the scale of logits. An attack is told nobody of the table, so
    this is no attack but a metric, which knows the table. Bags cannot be held fixed, for a forest draws other rows once
    one is gone, and scikit-learn since 1.9 also where its weight is 0; so influences are means over the seeds, the same
    for all people, and have an interval.
    """

    use: Literal["leave_one_out"] = "leave_one_out"
    people: int = Field(ge=1, description="How many people are left out, one at a time: those who stand out most.")
    time_limit: float = Field(
        gt=0, description="Seconds for training; where they are not enough for all `people`, the limit is inconclusive."
    )
    seeds: int = Field(
        8,
        ge=1,
        description="With how many seeds each model is trained; 1 is enough for a learner without random numbers, and "
        "gives no interval.",
    )

    policy_example = "at_most: 2.0, people: 50, time_limit: 600"
    private = True
    scale = "from -13.82 to 13.82, in logits; 0: nobody tried moves the score of her own class"
    interpretation = (
        "below 1 one person moves the odds of her own class by less than a factor of e; a full tree on people who "
        "stand out comes to 13.82. Only `people` people are tried, so that others may have more influence."
    )
    plain_failure = "a model trained without one of these people gives her own class a much lower score"
    formula = "max over people x of mean over seeds of logit s(x; table) - logit s(x; table without x)"
    source = "Feldman, STOC 2020, doi:10.1145/3357713.3384290, section 1; Feldman, Zhang, NeurIPS 2020"
    threat_model = "Nobody attacks: what the person leaves in the model bounds what attacks on her score can learn."

    def score(self, case: ScoringContext) -> Score:
        if case.known.retrain is None:
            raise InconclusiveError(
                "models cannot be trained without one person: neither the algorithm nor the estimator is known",
                remedy="name it in `build: {trained_by: {estimator: ..., parameters: ...}}`",
            )
        table = case.table.without_key
        if not table.counts_people:
            raise InconclusiveError("one person cannot be left out where weights do not count people")
        tried, single_outs = people_to_try(table, self.people, case.known.seed)
        if not len(tried):
            raise InconclusiveError("nobody in the table has a class")
        found = influences(case.known.retrain, table, tried, self.seeds, case.known.seed, self.time_limit)
        score = _score(found, len(tried), single_outs)
        return score if score.insufficient or _is_alike(case, table) else replace(score, insufficient=UNLIKE)


@dataclass(frozen=True)
class Influences:
    """The influences of those who were tried before the time was over.

    Attributes:
        mean: shape (n_people,), in logits, over the seeds.
        half_width: shape (n_people,), from 0: half the intervals that hold all influences together, at level ERROR;
            0 where the scores of all seeds are the same, and of one seed.
    """

    mean: NDArray[np.float64]
    half_width: NDArray[np.float64]


def _is_alike(case: ScoringContext, table: Table) -> bool:
    """Whether a model that is trained on the table answers about its people as the audited one does."""
    from leafgate.algorithms.prediction import class_scores

    assert case.known.retrain is not None
    own = own_classes(table)
    audited, trained = (
        Answers(np.nan_to_num(scores), own)
        for scores in (class_scores(case.release, table), case.known.retrain(table, table, case.known.seed))
    )
    return are_alike(audited, [trained])


def _score(found: Influences, wanted: int, single_outs: int) -> Score:
    """The largest influence, its interval where it depends on seeds, and why it is no reason for a pass, if so."""
    largest = float(found.mean.max())
    interval = (float((found.mean - found.half_width).max()), float((found.mean + found.half_width).max()))
    quantiles = {f"{100 * q:g} %": float(np.quantile(found.mean, q)) for q in QUANTILES}
    done = len(found.mean)
    return Score(
        largest,
        interval=interval if found.half_width.any() else None,
        insufficient="" if done == wanted else "the time limit was over before everybody was left out once",
        evidence={
            "people_tried": AuditorOnly(PeopleCount(done)),
            "single_outs_tried": AuditorOnly(PeopleCount(min(done, single_outs))),
            "influences": AuditorOnly(quantiles),
        },
    )


def people_to_try(table: Table, people: int, seed: int) -> tuple[NDArray[np.int64], int]:
    """The rows of those who are left out: first whoever has a unique public record, then who is far from her class.

    Args:
        table: the people; those without a class are never tried.
        people: how many to try, from 1.
        seed: of the draw of those with whom they are compared.

    Returns:
        Distinct rows of the table, shape (n,), n at most `people`; and how many of them, the first, have a unique
        public record.

    Source: Meeus, Guepin, Cretu, de Montjoye, ESORICS 2023, arXiv:2306.10308: the mean distance to the nearest
    neighbours finds vulnerable records. Departure: neighbours of the person's own class among at most MAX_COMPARED
    people, numbers in standard deviations, and a distance of 1 between different categories or to a missing cell.
    """
    has_class = np.flatnonzero(own_classes(table) < len(table.schema.classes))
    unique = np.zeros(len(table), dtype=bool)
    if table.schema.public:
        records, record = table.public
        unique = (records.persons == 1)[record]
    distance = distance_to_own_class(table, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,))))
    order = has_class[np.lexsort((has_class, -distance[has_class], ~unique[has_class]))][:people]
    return order, int(unique[order].sum())


def distance_to_own_class(table: Table, rng: np.random.Generator) -> NDArray[np.float64]:
    """The mean distance of each row from its nearest rows of the same class, itself left out: shape (n_rows,).

    Infinite for somebody who is alone in her class among those who are compared.
    """
    codes = table.codes(table.schema.target.name)
    compared = np.sort(rng.permutation(len(table))[:MAX_COMPARED])
    columns = [_comparable(table, column.name) for column in table.schema.features]
    result = np.full(len(table), np.inf)
    for code in np.unique(codes).tolist():
        rows, same = np.flatnonzero(codes == code), compared[codes[compared] == code]
        for chunk in np.split(rows, range(CHUNK_ROWS, len(rows), CHUNK_ROWS)) if len(same) else ():
            apart = np.zeros((len(chunk), len(same)))
            for cells, is_number in columns:
                one, other = cells[chunk, None], cells[same]
                gap = abs(one - other) if is_number else (one != other).astype(np.float64)
                apart += np.where(np.isnan(gap), np.isnan(one) != np.isnan(other), gap)
            apart[chunk[:, None] == same] = np.inf
            nearest = np.sort(apart, axis=1)[:, :NEIGHBOURS]
            there = np.isfinite(nearest)
            total = np.where(there, nearest, 0).sum(axis=1)
            result[chunk] = np.where(there.any(axis=1), total / np.maximum(there.sum(axis=1), 1), np.inf)
    return result


def _comparable(table: Table, name: str) -> tuple[NDArray[np.float64], bool]:
    """A column's numbers in standard deviations, or its codes; and whether they are numbers."""
    if not table.schema[name].numeric:
        return table.codes(name).astype(np.float64), False
    numbers = table.numbers(name)
    known = numbers[~np.isnan(numbers)]
    deviation = float(known.std()) if known.size else 0.0
    return numbers / (deviation or 1.0), True


def influences(
    retrain: Retrain, table: Table, tried: NDArray[np.int64], seeds: int, seed: int, time_limit: float
) -> Influences:
    """How far each of some people moves the logit of the score of her own class.

    Args:
        retrain: as `AdversaryKnowledge.retrain`.
        table: the people that models are trained on.
        tried: rows of the table, of each of which one person is left out.
        seeds: how many seeds, from 1.
        seed: the seeds follow from this one.
        time_limit: seconds, after which nobody else is left out.

    Returns:
        The influences of the first people of `tried`, of all where there is time.

    Raises:
        InconclusiveError: there is no time for the models with everybody and for one person, or they have no scores.
    """
    deadline = time.monotonic() + time_limit
    drawn = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(5,))).integers(2**31, size=seeds).tolist()
    asked = rows_of(table, tried)
    own = own_classes(asked)
    position = np.arange(len(tried))
    scores = [retrain(table, asked, one)[position, own] for one in _in_time(drawn, deadline)]
    if len(scores) < seeds:
        raise _too_slow()
    if np.isnan(scores).all():
        raise InconclusiveError("the models that are trained have no scores of classes")

    def without(i: int) -> NDArray[np.float64] | None:
        others, her = without_person(table, int(tried[i])), rows_of(table, tried[i : i + 1])
        found = [_logit(retrain(others, her, one)[0, own[i : i + 1]])[0] for one in _in_time(drawn, deadline)]
        return np.array(found) if len(found) == len(drawn) else None

    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        results = []
        report_progress(0, len(tried), "people left out")
        for result in pool.map(without, range(len(tried))):
            results.append(result)
            report_progress(len(results), len(tried), "people left out")
    done = next((i for i, result in enumerate(results) if result is None), len(results))
    if not done:
        raise _too_slow()
    return _influences(
        _logit(np.stack(scores, axis=1))[:done], np.stack([result for result in results[:done] if result is not None])
    )


def _in_time(seeds: Sequence[int], deadline: float) -> Iterator[int]:
    """The seeds, up to the one before which the time is over."""
    for seed in seeds:
        if time.monotonic() > deadline:
            return
        yield seed


def _too_slow() -> InconclusiveError:
    return InconclusiveError("the time limit was over before one person was left out", remedy="raise `time_limit`")


def _influences(everybody: NDArray[np.float64], without: NDArray[np.float64]) -> Influences:
    """Means over the seeds, and Welch's intervals with the fewest degrees of freedom that they may have.

    Args:
        everybody: shape (n_people, n_seeds), logits of the own class with everybody.
        without: the same without the person.

    Source: Welch, Biometrika 34, 1947, doi:10.1093/biomet/34.1-2.28, Bonferroni over the people.
    """
    from scipy.stats import t

    people, seeds = everybody.shape
    mean = everybody.mean(axis=1) - without.mean(axis=1)
    if seeds == 1:
        return Influences(mean, np.zeros(people))
    error = np.sqrt((everybody.var(axis=1, ddof=1) + without.var(axis=1, ddof=1)) / seeds)
    return Influences(mean, error * float(t.isf(ERROR / (2 * people), seeds - 1)))


def _logit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits of scores from 0 to 1, LOGIT_OFFSET away from either end."""
    known = np.nan_to_num(scores)
    return np.asarray(np.log((known + LOGIT_OFFSET) / (1 - known + LOGIT_OFFSET)))


def rows_of(table: Table, rows: NDArray[np.int64]) -> Table:
    """The records of these rows, each one person."""
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))


def without_person(table: Table, row: int) -> Table:
    """The table without one of the people who share a record."""
    weight = table.weight - (np.arange(len(table)) == row)
    kept = weight > 0
    return Table(table.schema, table.frame[kept].reset_index(drop=True), weight[kept])
