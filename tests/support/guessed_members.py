"""Contexts of beliefs about candidates with scores of a known law, and attacks that repeat on planted leaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.algorithms.consistency import Consistency
from leafgate.api import (
    Candidates,
    Column,
    MembershipBelief,
    Metric,
    PeopleCount,
    PlantedLeak,
    Release,
    Schema,
    ScoringContext,
    Table,
)
from leafgate.api.registry import Plugin, Plugins, offers_of
from leafgate.engine.attack import AttackResult
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.limits import judge_beliefs
from leafgate.engine.state import AuditState
from leafgate.kernel.findings import Finding, Report
from leafgate.kernel.knowledge import Membership, limit_knowledge
from random_tables import table_of
from standins import attack_that

PLACE, ILL = (
    Column("place", frozenset({"quasi_identifier"}), bounds=(0.0, 1e9)),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)
Scores = Callable[[np.random.Generator, np.ndarray], np.ndarray]
"""The scores of people, by whether each one's membership leaks."""
LEAK = 8.0
"""How many deviations the score of somebody whose membership leaks is higher."""


def shifted(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    """Normal scores, higher by `LEAK` where membership leaks."""
    return rng.normal(0, 1, len(leaks)) + LEAK * leaks


def planting(in_table: np.ndarray, scores: Scores = shifted, odds: bool = False) -> Callable[[float, int], PlantedLeak]:
    """An attack's repetition on planted leaks: of random members a share leaks, and the scores are of these."""

    def planted(share: float, repeat: int) -> PlantedLeak:
        rng = np.random.default_rng([repeat, round(share * 1e9)])
        inside = rng.permutation(in_table)
        leaks = np.zeros(len(inside), dtype=bool)
        members = rng.permutation(np.flatnonzero(inside))
        leaks[members[: round(share * len(members))]] = True
        scored = scores(rng, leaks)
        return PlantedLeak(scored, inside, odds=np.exp(scored) if odds else None)

    return planted


def guessed(
    scores: np.ndarray, in_table: np.ndarray, *, single: np.ndarray | None = None, **more: Any
) -> ScoringContext:
    """The context of a belief with these scores.

    Args:
        scores: of each candidate.
        in_table: whether she is in the table.
        single: whether nobody else in the table has her public record; nobody when left out.
        more: as `guessed_at` takes it.
    """
    alone = np.zeros(len(scores), dtype=bool) if single is None else single
    return guessed_at(scores, in_table, np.where(alone, np.arange(len(scores)) + 1, 0), **more)


def guessed_at(
    scores: np.ndarray,
    in_table: np.ndarray,
    places: np.ndarray,
    *,
    identical: np.ndarray | None = None,
    comparisons: int = 1,
    others_in_table: int = 0,
    **belief: Any,
) -> ScoringContext:
    """The context of a belief with these scores, of people by their public record.

    Args:
        scores: of each candidate.
        in_table: whether she is in the table.
        places: the public record of each; two more people of the table are at 0.
        identical: whether somebody in the table has all her cells.
        comparisons: how many limits there are.
        others_in_table: people of the table who are no candidates.
        belief: more of the MembershipBelief.
    """
    size = len(scores)
    people = [(float(place), "no") for place in places]
    at_zero = [(0.0, "no")] * (others_in_table + 2)
    table = table_of((PLACE, ILL), [row for row, inside in zip(people, in_table, strict=True) if inside] + at_zero)
    everyone = table_of((PLACE, ILL), people)
    frame = everyone.frame.iloc[np.searchsorted(everyone.frame["place"].to_numpy(), places)].reset_index(drop=True)
    candidates = Candidates(
        Table(Schema((PLACE, ILL)), frame, np.ones(size, dtype=np.int64)), int(in_table.sum()), int((~in_table).sum())
    )
    known = limit_knowledge(grant_knowledge(table), frozenset({"candidates"}))
    twins = np.zeros(size, dtype=bool) if identical is None else identical
    return ScoringContext(
        table,
        None,
        Release({}, table.schema),
        replace(known, candidates=candidates),
        MembershipBelief(scores, **belief),
        comparisons=comparisons,
        _membership=Membership(in_table.copy(), twins),
    )


def finding_of(metric: Metric, case: ScoringContext) -> Finding:
    """The finding of a metric on the belief of a context, as an audit has it."""
    assert case.belief is not None
    nosy = attack_that(lambda release, known: [], needs=frozenset({"candidates"}))
    result = AttackResult(nosy(use="nosy"), "spies", case.known, [case.belief], membership=case.membership)
    plugins = Plugins((Plugin("spies", "acme-spies", "1.2", offers_of((type(metric), nosy))),))
    consistency = Consistency(case.table, case.release)
    state = AuditState(
        case.table,
        None,
        case.release,
        case.known,
        [result],
        plugins,
        consistency,
        comparisons={MembershipBelief: case.comparisons},
    )
    (found,) = judge_beliefs(metric, state, result)
    return found


def report_of(found: Finding, people: int) -> Report:
    """A report of this finding alone, on a table of so many people, with a smallest cell of ten."""
    policy = {"name": "p", "sha256": "0" * 64}
    return Report(policy, {"people": PeopleCount(people)}, None, [found], {}, 10)
