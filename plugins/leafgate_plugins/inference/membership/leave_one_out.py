"""Leave one out: how far one person moves the score of her own class when models are trained with her and without her.

Nobody attacks: models of the same kind are trained on the table, and on the table without one person, for those who are
likely to move it most. Where the learner draws no random numbers this is exact. Where it draws some, a rare influence
takes hundreds of models a person to see, so the metric breaks limits and never keeps one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import Field

from leafgate import api
from leafgate_plugins.inference.game import UNLIKE, Answers, are_alike, coins, own_classes, rows_of, scores_about
from leafgate_plugins.inference.membership.likelihood_ratios import logit
from leafgate_plugins.inference.membership.side_by_side import side_by_side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Retrain = Callable[[api.Table, api.Table, int], api.Floats]
else:
    np = api.lazy("numpy")

Result = TypeVar("Result")

LOGIT_OFFSET = 1e-3
"""Added to a score and to one minus it, so that their logit is within 6.91 of 0 and an influence within 13.82."""

LARGEST_INFLUENCE = 13.82
"""No influence is further from 0: twice the logit of a score of 1."""

SEEDS_OF_TABLE = 66
"""Models of the whole table that must be alike: one answer in ten that differs is missed once in a thousand times."""

SEEDS_WITHOUT_PERSON = 12
"""Models without one person that must be alike: a choice with equal chances is missed once in 2,048 times."""

ALTERED_RECORDS = 100
"""So many records with one cell of somebody else are asked for each person, to see whether two models are the same."""

OTHERS = 20
"""Of so many others who are tried, at most, the score without one person is asked, too."""

CONFIRMING_SEEDS = 32
"""With so many more seeds the models of the person with the largest influence are trained, before a limit is broken."""

FRESH_SEEDS = 1_000_000
"""The number of the first of these seeds; those before have smaller ones."""

ERROR = 0.05
"""The probability, at most, that the lower end of the interval is above the largest influence."""

NEIGHBOURS = 5
"""People are compared with so many of their own class, the nearest."""

MAX_COMPARED = 2_000
"""Neighbours are looked for among so many people, drawn at random."""

MAX_THREADS = 4
"""So many models are trained at a time, at most."""

CHUNK_ROWS = 500
"""So many people are compared with others in one array."""

COMPARED_STREAM = 4
"""The stream of random numbers, among those that the audit's seed allows, that draws with whom people are compared."""

MODELS_STREAM = 5
"""The stream of the seeds of models."""

ALTERED_STREAM = 6
"""The stream of the cells of altered records."""

OTHERS_STREAM = 7
"""The stream that draws the others whose scores are asked."""

QUANTILES = (0.5, 0.9, 1.0)
"""Of the influences of those who were tried, these quantiles are evidence."""

MORE_TIME = "raise `time_limit`"
RANDOM = (
    "the models depend on random numbers, so that leaving out somebody else moves scores, too; this metric keeps no "
    "limit then, because a rare influence takes hundreds of models for each person to see"
)
NAME_LIRA = (
    "limit what an attack finds out about single-outs: name people who are not in the table (`data.control`), add "
    "`{use: lira}` to `attacks`, and to `metrics` limits `of: lira`, such as `membership_auc` with "
    "`group: single_outs`, and `membership_identified`"
)


class LeaveOneOut(api.ReleaseAtMost):
    """The largest influence of one person on the logit of the score of that person's class.

    A limit is kept only where all models of each table answer exactly alike, so that nothing is estimated.

    Departure: the influence is Feldman's memorisation on the scale of logits. An attack is told nobody of the table, so
    this is no attack but a metric. Influences are means over seeds: a forest draws other rows once somebody is gone,
    and scikit-learn since 1.9 also where a weight is 0.
    """

    use: Literal["leave_one_out"] = "leave_one_out"
    people: int = Field(ge=1, description="How many people are left out, one at a time: those who stand out most.")
    time_limit: float = Field(
        gt=0, description="Seconds for training; where they are not enough for all `people`, the limit is inconclusive."
    )
    seeds: int = Field(
        8,
        ge=1,
        description="Models of each table over which an influence is averaged, where the learner draws random numbers.",
    )

    policy_example = "at_most: 2.0, people: 50, time_limit: 600"
    public = "verdict"
    scale = "from -13.82 to 13.82, in logits; 0: nobody tried moves the score of her own class"
    score_range = (-LARGEST_INFLUENCE, LARGEST_INFLUENCE)
    interpretation = (
        "below 1 one person moves the odds of her own class by less than a factor of e; a full tree on "
        "people who stand out comes to 13.82. Others than the `people` who are tried may have more "
        "influence."
    )
    plain_failure = "a model trained without one of these people gives her own class a much lower score"
    formula = "max over people x of mean over seeds of logit s(x; table) - logit s(x; table without x)"
    source = "Feldman, STOC 2020, doi:10.1145/3357713.3384290, section 1; Feldman, Zhang, NeurIPS 2020"
    threat_model = (
        "Nobody attacks. The score of each person's own class is compared with her and without her; an attack may use "
        "other answers of the model."
    )

    def score(self, case: api.ScoringContext) -> api.Score:
        if case.known.retrain is None:
            raise api.InconclusiveError(
                "models cannot be trained without one person: neither the algorithm nor the estimator is known",
                remedy="name it in `build: {trained_by: {estimator: ..., parameters: ...}}`",
            )
        table = case.table.without_key
        if not table.counts_people:
            raise api.InconclusiveError("one person cannot be left out where weights do not count people")
        tried, single_outs = people_to_try(table, self.people, case.known.seed)
        if not len(tried):
            raise api.InconclusiveError("nobody in the table has a class")
        deadline = time.monotonic() + self.time_limit
        refits = Refits(case.known.retrain, table, tried, case.known.seed, deadline)
        found = influences(refits, self.seeds)
        value, done = float(found.own.max()), len(found.own)
        interval = None
        if not found.repeats:
            low = -LARGEST_INFLUENCE if self.holds(value) else refits.least_influence(int(found.own.argmax()))
            interval = (min(low, value), LARGEST_INFLUENCE)
        insufficient, remedy = "", ""
        if self.holds(value if interval is None else interval[0]):
            insufficient, remedy = self._insufficiency(found, case, table, wanted=len(tried))
        return api.Score(
            value,
            interval=interval,
            insufficient=insufficient,
            remedy=remedy,
            evidence={
                "people_tried": api.AuditorOnly(api.PeopleCount(done)),
                "single_outs_tried": api.AuditorOnly(api.PeopleCount(min(done, single_outs))),
                "influences": api.AuditorOnly(_quantiles(found.own)),
                "influences_of_others": api.AuditorOnly(_quantiles(found.of_others)),
                "says": api.AuditorOnly(_words(found)),
            },
        )

    def _insufficiency(
        self, found: Influences, case: api.ScoringContext, table: api.Table, wanted: int
    ) -> tuple[str, str]:
        """Why a kept limit is no pass, empty where it is one; and what to do."""
        if not found.repeats:
            return RANDOM, NAME_LIRA
        if len(found.own) < wanted:
            return "the time limit was over before everybody was left out once", MORE_TIME
        return ("", "") if _is_alike(case, table) else (UNLIKE, "")


@dataclass(frozen=True)
class Influences:
    """How far leaving out one person moved scores, of those who were left out before the time was over.

    Attributes:
        own: shape (n_people,), in logits, the mean over the seeds: of the person who was left out.
        of_others: shape (n_pairs,), in logits, a mean, too: of another person who is tried; empty where one is tried.
        repeats: whether the models of each table answered exactly alike, whatever their seed.
    """

    own: api.Floats
    of_others: api.Floats
    repeats: bool


def _is_alike(case: api.ScoringContext, table: api.Table) -> bool:
    """Whether a model that is trained on the table answers about its people as the audited one does."""
    assert case.known.retrain is not None
    own, trained = own_classes(table), case.known.retrain(table, table, case.known.seed)
    return are_alike(Answers(scores_about(case.release, table), own), [Answers(np.nan_to_num(trained), own)])


def _quantiles(influences: api.Floats) -> dict[str, float]:
    return {f"{100 * q:g} %": float(np.quantile(influences, q)) for q in QUANTILES if len(influences)}


def _words(found: Influences) -> str:
    """How far a score moves without the person, and without somebody else."""
    own = f"leaving out one person moves the score of her own class by {found.own.max():z.2f} at most"
    if not len(found.of_others):
        return own
    usual, most = np.quantile(found.of_others, 0.9), found.of_others.max()
    return (
        f"{own}; leaving out somebody else moves it by {usual:z.2f} or less in nine of ten cases, {most:z.2f} at most"
    )


def people_to_try(table: api.Table, people: int, seed: int) -> tuple[NDArray[np.int64], int]:
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
    distance = distance_to_own_class(table, coins(seed, COMPARED_STREAM))
    order = has_class[np.lexsort((has_class, -distance[has_class], ~unique[has_class]))][:people]
    return order, int(unique[order].sum())


def distance_to_own_class(table: api.Table, rng: np.random.Generator) -> api.Floats:
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


def _comparable(table: api.Table, name: str) -> tuple[api.Floats, bool]:
    """A column's numbers in standard deviations, or its codes; and whether they are numbers."""
    if not table.schema[name].numeric:
        return table.codes(name).astype(np.float64), False
    numbers = table.numbers(name)
    known = numbers[~np.isnan(numbers)]
    deviation = float(known.std()) if known.size else 0.0
    return numbers / (deviation or 1.0), True


@dataclass(frozen=True)
class Refits:
    """Trains models on a table, and on the table without one person, until the time is over.

    Attributes:
        retrain: as `AdversaryKnowledge.retrain`.
        table: the people that models are trained on.
        tried: shape (n_people,), rows of the table, of each of which one person is left out.
        seed: all seeds follow from this one.
        deadline: by the monotonic clock; no model is trained afterwards.
    """

    retrain: Retrain
    table: api.Table
    tried: NDArray[np.int64]
    seed: int
    deadline: float

    @cached_property
    def asked(self) -> api.Table:
        """Whom models are asked about: those who are tried, then the altered records of each of them."""
        return with_altered_records(self.table, self.tried, coins(self.seed, ALTERED_STREAM))

    @cached_property
    def others(self) -> NDArray[np.int64]:
        """For each who is tried others of them: positions among them, shape (n_people, at most OTHERS)."""
        n, rng = len(self.tried), coins(self.seed, OTHERS_STREAM)
        return np.array([np.delete(np.arange(n), i)[rng.permutation(n - 1)[:OTHERS]] for i in range(n)], dtype=np.int64)

    def on_table(self, fewest: int, most: int) -> Trained | None:
        """Models of the whole table, asked about everybody, as `_trained` returns them."""
        return self._trained(None, np.arange(len(self.asked)), len(self.tried), range(most), fewest)

    def without(self, i: int, fewest: int, most: int) -> Trained | None:
        """Models without the person at position `i` of those who are tried, asked about this person and the others.

        As `_trained` returns them: None where the time is over before there are as few as `fewest`.
        """
        altered = len(self.tried) + ALTERED_RECORDS * i + np.arange(ALTERED_RECORDS)
        people = np.append(i, self.others[i])
        return self._trained(i, np.concatenate([people, altered]), len(people), range(most), fewest)

    def least_influence(self, i: int) -> float:
        """A number that the influence of one who is tried is above, but for the probability ERROR.

        The person was chosen by the models before, so these have other seeds, which the choice does not depend on.
        """

        def influence(number: int) -> float | None:
            seeds = range(number, number + 1)
            pair = [self._trained(left_out, np.array([i]), 1, seeds, 1) for left_out in (None, i)]
            found = [each.logits[0, 0] for each in pair if each is not None]
            return float(found[0] - found[1]) if len(found) == len(pair) else None

        fresh = range(FRESH_SEEDS, FRESH_SEEDS + CONFIRMING_SEEDS)
        found = _in_parallel(influence, fresh, "pairs of models of one person")
        return least_mean(np.array(found), -LARGEST_INFLUENCE, ERROR)

    def _trained(
        self, left_out: int | None, rows: NDArray[np.int64], people: int, seeds: range, fewest: int
    ) -> Trained | None:
        """Models of one table, of all seeds while they answer alike; None where the time is over before.

        Args:
            left_out: who is left out, by the position among those who are tried.
            rows: of `asked`, about which the models are asked.
            people: the first so many of these rows are people who are tried.
            seeds: the numbers of the seeds, which are others for each table.
            fewest: as many models are trained at least, from 1, and no more where two of them differ.

        Returns:
            The logits of the first `fewest` models, so that their number does not depend on what they answer.
        """
        own = self.table if left_out is None else without_person(self.table, int(self.tried[left_out]))
        asked = rows_of(self.asked, rows)
        position, classes = np.arange(people), own_classes(asked)[:people]
        answers: list[api.Floats] = []
        first, repeats = None, True
        for number in seeds:
            if not repeats and len(answers) >= fewest:
                break
            if time.monotonic() > self.deadline:
                return None
            key = (MODELS_STREAM, 0 if left_out is None else 1 + left_out, number)
            seed = int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0]) // 2
            scores = self.retrain(own, asked, seed)
            first = scores if first is None else first
            repeats = repeats and np.array_equal(first, scores, equal_nan=True)
            answers.append(scores[position, classes])
        if np.isnan(answers).all():
            raise api.InconclusiveError("the models that are trained have no scores of classes")
        return Trained(logit(np.nan_to_num(np.stack(answers[:fewest], axis=1)), LOGIT_OFFSET), repeats)


@dataclass(frozen=True)
class Trained:
    """What models of one table answer.

    Attributes:
        logits: shape (n_people, n_models), of the score of each person's own class.
        repeats: whether all models give the same scores, to the last digit, to everybody and every altered record.
    """

    logits: api.Floats
    repeats: bool


def influences(refits: Refits, seeds: int) -> Influences:
    """How far each of some people moves the logit of the score of her own class.

    A learner counts as one without random numbers where all models of each table answer alike: SEEDS_OF_TABLE of the
    whole table, and SEEDS_WITHOUT_PERSON of each table without one person, no two with the same seed. Where the
    likeliest answers of a table's models have the probability p, its m models all answer alike with at most the
    probability p^(m - 1).

    Args:
        refits: of a table and those who are tried.
        seeds: how many models of each table an influence is the mean of, from 1.

    Returns:
        The influences of the first people who are tried, of all where there is time.

    Raises:
        InconclusiveError: there is no time for the models with everybody and for one person, or they have no scores.
    """
    everybody = refits.on_table(seeds, max(seeds, SEEDS_OF_TABLE))
    if everybody is None:
        raise _too_slow()
    most = max(seeds, SEEDS_WITHOUT_PERSON) if everybody.repeats else seeds
    without = _in_parallel(lambda i: refits.without(i, seeds, most), range(len(refits.tried)), "people left out")
    if not without:
        raise _too_slow()
    mean = everybody.logits.mean(axis=1)
    own = np.array([mean[i] - each.logits[0].mean() for i, each in enumerate(without)])
    of_others = [mean[refits.others[i]] - each.logits[1:].mean(axis=1) for i, each in enumerate(without)]
    return Influences(own, np.concatenate(of_others), everybody.repeats and all(each.repeats for each in without))


def _in_parallel(train: Callable[[int], Result | None], numbers: range, parts: str) -> list[Result]:
    """What comes of each number, up to the first for which the time was over."""
    results: dict[int, Result | None] = {}
    api.report_progress(0, len(numbers), parts)
    for number, result in side_by_side(iter(numbers), train, min(MAX_THREADS, os.cpu_count() or 1)):
        results[number] = result
        api.report_progress(len(results), len(numbers), parts)
    in_time: list[Result] = []
    for number in numbers:
        result = results[number]
        if result is None:
            break
        in_time.append(result)
    return in_time


def _too_slow() -> api.InconclusiveError:
    return api.InconclusiveError("the time limit was over before one person was left out", remedy=MORE_TIME)


def least_mean(values: api.Floats, lowest: float, error: float) -> float:
    """A number that the mean of a law is above, but for the probability `error`, whatever the law is.

    The product of (value - lowest) / (mean - lowest) has the mean 1, so by Markov's inequality it exceeds 1 / error
    with at most the probability `error`.

    Args:
        values: shape (n,), independent draws of one law, none below `lowest`; without any the result is `lowest`.
        lowest: the lowest value that the law can have.
        error: in (0, 1).

    Source: Waudby-Smith, Ramdas, JRSS B 86, 2024, doi:10.1093/jrsssb/qkad009, section 4
    Departure: the whole capital is bet each time, for large means of few values.

    >>> round(least_mean(np.full(32, 1.0), 0.0, 0.05), 6)
    0.910632
    """
    if not len(values):
        return lowest
    each = 1 / len(values)
    return lowest + float(error**each * np.prod(np.maximum(values - lowest, 0) ** each))


def with_altered_records(table: api.Table, rows: NDArray[np.int64], rng: np.random.Generator) -> api.Table:
    """The records of these rows, and after them altered ones: ALTERED_RECORDS of each, with a cell of somebody else.

    Column and other person are random. Different models of one table answer differently about some of these records,
    where they agree about the people that they were trained on.
    """
    row = np.repeat(rows, ALTERED_RECORDS)
    column, other = (
        rng.integers(max(1, len(table.schema.features)), size=len(row)),
        rng.integers(len(table), size=len(row)),
    )
    frame = table.frame.iloc[np.concatenate([rows, row])].reset_index(drop=True)
    for i, name in enumerate(each.name for each in table.schema.features):
        source = np.concatenate([rows, np.where(column == i, other, row)])
        frame[name] = table.frame[name].iloc[source].reset_index(drop=True)
    return api.Table(table.schema, frame, np.ones(len(frame), dtype=np.int64))


def without_person(table: api.Table, row: int) -> api.Table:
    """The table without one of the people who share a record."""
    weight = table.weight - (np.arange(len(table)) == row)
    kept = weight > 0
    return api.Table(table.schema, table.frame[kept].reset_index(drop=True), weight[kept])
