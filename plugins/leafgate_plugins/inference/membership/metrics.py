"""Limits on what an attack finds out about who is in the table: rates over candidates, and single people.

Rates are judged by intervals, on everybody and on single-outs, the worse of both. A kept limit is a pass only where the
attack would have seen a leak of just the limit's size: the attack repeats itself on planted leaks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from leafgate import api
from leafgate.algorithms import intervals
from leafgate.kernel.table import distinct_rows
from leafgate_plugins.inference.membership.planted import PLANTED_ODDS, PlantedLeaks
from leafgate_plugins.inference.power import is_seen, power_problem, repeat_on_leak, shows_leak, unseen

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Ranks = api.Floats
else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")

TIES_SEED = 0
"""Ties are broken by random numbers from this seed, in the random order of the candidates."""
ROC_POINTS = 40
"""How many points of the ROC curve a report draws."""
LEAK_SIZES = tuple(round(10 ** (-3 + step / 6), 4) for step in range(19))
"""The shares of leaking members among which the smallest detectable one is sought: from 0.001 to 1, six a decade."""
ODDS_STEPS = (1, 3, 10, 30, 100, 1000)
"""The odds beyond which a report for auditors counts candidates."""

Group = Literal["everybody", "single_outs"]
GROUPS: tuple[Group, ...] = ("everybody", "single_outs")
Sizes = tuple[int, int]
"""How many members and how many others."""


class RankedCandidates(NamedTuple):
    """Candidates, or some of them, as a metric compares them.

    Attributes:
        ranks: shape (n_people,), whole numbers from 1 in the order of the scores, equal for equal scores; 0 where the
            candidate is excluded for certain.
        in_table: shape (n_people,), whether the person is in the table.
    """

    ranks: Ranks
    in_table: api.Mask

    @property
    def members(self) -> Ranks:
        """The ranks of those who are in the table."""
        return self.ranks[self.in_table]

    @property
    def others(self) -> Ranks:
        """The ranks of those who are not."""
        return self.ranks[~self.in_table]

    @property
    def sizes(self) -> Sizes:
        """How many members and others there are."""
        return len(self.members), len(self.others)

    def where(self, mask: api.Mask) -> RankedCandidates:
        """Some of them."""
        return RankedCandidates(self.ranks[mask], self.in_table[mask])


def ranks_of(scores: NDArray[Any], excluded: NDArray[Any] | None = None) -> Ranks:
    """The rank of each score, 0 where a candidate is excluded: shape (n_people,).

    >>> ranks_of(np.array([0.2, 0.7, 0.2, 0.9]), np.array([False, False, False, True])).tolist()
    [1.0, 2.0, 1.0, 0.0]
    """
    ranks = np.unique(np.asarray(scores, dtype=float), return_inverse=True)[1].reshape(-1).astype(np.float64) + 1
    ranks[np.zeros(len(ranks), dtype=bool) if excluded is None else np.asarray(excluded)] = 0
    return ranks


@dataclass(frozen=True)
class CandidateBelief:
    """A belief about candidates beside the truth."""

    case: api.ScoringContext

    @cached_property
    def belief(self) -> api.MembershipBelief:
        """What the attack believes."""
        return self.case.require_belief(api.MembershipBelief)

    @cached_property
    def everybody(self) -> RankedCandidates:
        """All candidates."""
        return RankedCandidates(ranks_of(self.belief.scores, self.belief.excluded), self.case.membership.in_table)

    @cached_property
    def single_out(self) -> api.Mask:
        """Of each candidate, whether nobody else in the table has this public record: shape (n_candidates,)."""
        return self._public_record[1]

    @property
    def largest_twins(self) -> int:
        """The largest number of single-outs who share a public record; only those outside the table can."""
        record, single = self._public_record
        return int(np.bincount(record[single]).max()) if single.any() else 1

    def people(self, group: Group) -> RankedCandidates:
        """The candidates of a group."""
        return self.everybody if group == "everybody" else self.everybody.where(self.single_out)

    @cached_property
    def _public_record(self) -> tuple[NDArray[np.int64], api.Mask]:
        """Each candidate's public record, as a number, and whether nobody else in the table has it."""
        candidates, in_table = self.case.known.candidates, self.case.membership.in_table
        columns = self.case.table.schema.public
        if candidates is None or not columns:
            return np.zeros(len(in_table), dtype=np.int64), np.zeros(len(in_table), dtype=bool)
        public = self.case.table.public[0]
        names = [column.name for column in columns]
        frames = [public.frame.loc[:, names], candidates.frame.loc[:, names]]
        _, record = distinct_rows(pd.concat(frames, ignore_index=True), api.Schema(tuple(columns)))
        people = np.bincount(record[: len(public)], weights=public.persons, minlength=int(record.max()) + 1)
        own = record[len(public) :]
        return own, people[own] - in_table == 0

    @property
    def single_outs(self) -> api.PeopleCount:
        """How many candidates in the table are single-outs."""
        return api.PeopleCount(int((self.single_out & self.everybody.in_table).sum()))


class MembershipRate(api.ReleaseAtMost):
    """A rate of what an attack finds out about candidates, judged by its interval."""

    confidence: api.OpenProbability = Field(
        default=0.95,
        description="The confidence that the intervals of all membership limits of the policy hold together.",
    )
    group: Literal["both", "everybody", "single_outs"] = Field(
        default="both",
        description="Judge all candidates (`everybody`), those whose public record nobody else in the table has "
        "(`single_outs`), or the worse of both.",
    )

    judges = frozenset({api.MembershipBelief})
    threat_model = "Whatever the attack it judges assumes."
    scale = "from 0 to 1"
    score_range = (0, 1)
    plain_failure = "the release lets people find out who is in the table"

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups that the limit is on."""
        return GROUPS if self.group == "both" else (self.group,)

    @property
    def chance(self) -> float:
        """The rate of an attack that learns nothing, which is the lowest limit that means anything."""
        raise NotImplementedError(type(self).__name__)

    def estimate(self, members: Ranks, others: Ranks, error: float) -> intervals.Estimate:
        """The rate of members and others, one of each at least, and its interval."""
        raise NotImplementedError(type(self).__name__)

    def leak_of(self, rate: float) -> float:
        """The share of members whose membership must leak for certain, and nothing else, for this rate."""
        raise NotImplementedError(type(self).__name__)

    def moved(self, members: Ranks, others: Ranks) -> float:
        """The most by which one candidate who comes, goes or changes moves the rate."""
        return 1 / max(1, min(len(members), len(others)) - 1)

    def non_members_needed(self, error: float) -> int:
        """How many non-members an interval needs to say anything."""
        return 1

    def error_in(self, case: api.ScoringContext) -> float:
        """The probability with which one interval may be wrong, so that all hold together with `confidence`."""
        return (1 - self.confidence) / case.comparisons / len(self.groups)

    def score(self, case: api.ScoringContext) -> api.Score:
        guessed, error = CandidateBelief(case), self.error_in(case)
        groups = {group: guessed.people(group) for group in GROUPS}
        judged = {group: groups[group] for group in self.groups if len(groups[group].members)}
        if not judged:
            raise api.InconclusiveError(
                "no candidate in the table is a single-out",
                remedy="name more people in data.control, or add the metric without `group` beside it",
            )
        self._require_non_members(judged, error)
        estimates = {group: self._estimate(people, error) for group, people in groups.items()}
        worst = intervals.largest(estimates[group] for group in judged)
        apart = guessed.everybody.where(~case.membership.identical)
        documents = {group: _document(estimates[group], groups[group]) for group in GROUPS}
        without_identical = _document(self._estimate(apart, error), apart)
        facts = self.facts(guessed, error)
        evidence = {
            "single_outs": guessed.single_outs,
            **facts,
            "by_group": api.AuditorOnly(documents),
            "without_identical": api.AuditorOnly(without_identical),
            "says": api.AuditorOnly(_words(documents, without_identical, self._seen_words(guessed, facts))),
        }
        insufficient = self.insufficiency(guessed, judged, error) if self.holds(worst.high) else ""
        return api.Score(
            worst.value,
            interval=(worst.low, worst.high),
            insufficient=insufficient,
            remedy=REMEDIES.get(insufficient, ""),
            sensitivity=self._sensitivity(guessed, judged),
            evidence=evidence,
        )

    def _sensitivity(self, guessed: CandidateBelief, judged: dict[Group, RankedCandidates]) -> float:
        """The most by which one person moves the rate.

        Somebody who joins the table takes all with the same public record out of the single-outs.
        """
        moved = [
            self.moved(people.members, people.others) * (1 if group == "everybody" else 1 + guessed.largest_twins)
            for group, people in judged.items()
            if len(people.members) and len(people.others)
        ]
        return max(moved, default=1.0)

    def facts(self, guessed: CandidateBelief, error: float) -> dict[str, Any]:
        """More evidence: the curve, and the smallest leak that the attack can see."""
        everybody = guessed.everybody
        return {
            "roc": api.AuditorOnly(self._curve(everybody, error)),
            "smallest_detectable": smallest_detectable(self, guessed.belief, everybody.sizes, error),
        }

    def _seen_words(self, guessed: CandidateBelief, facts: dict[str, Any]) -> str:
        """Which planted leaks the attack sees."""
        if "smallest_detectable" not in facts:
            return ""
        if guessed.belief.planted is None:
            return "it is not repeated on planted leaks"
        smallest = facts["smallest_detectable"]
        seen = "none" if smallest is None else f"those of {smallest:.1%} of members or more"
        ours = isinstance(guessed.belief.planted, PlantedLeaks)
        size = f" that multiply the odds of members' own classes by {PLANTED_ODDS:g}" if ours else ""
        return f"of planted leaks{size} it sees {seen}"

    def _curve(self, people: RankedCandidates, error: float) -> dict[str, list[float]]:
        return intervals.roc_band(people.members, people.others, error, ROC_POINTS, np.random.default_rng(TIES_SEED))

    def insufficiency(self, guessed: CandidateBelief, judged: dict[Group, RankedCandidates], error: float) -> str:
        """Why a kept limit is no pass: the attack would not have seen a leak of its size."""
        needed = self.non_members_needed(error)
        if any(len(people.others) < needed for people in judged.values()):
            return f"too few single-outs are not in the table: {needed:,} are needed, or limit `group: everybody`"
        return rate_power_problem(self, guessed.belief, [people.sizes for people in judged.values()], error)

    def _require_non_members(self, judged: dict[Group, RankedCandidates], error: float) -> None:
        """InconclusiveError where no group has enough non-members."""
        needed = self.non_members_needed(error)
        if max(len(people.others) for people in judged.values()) < needed:
            raise api.InconclusiveError(
                f"there are too few people who are not in the table: {needed:,} are needed",
                place="data.control",
                remedy="name a file of more people, or grant more `candidates`",
            )

    def _estimate(self, people: RankedCandidates, error: float) -> intervals.Estimate:
        """The rate of some of the candidates; of a group without members or without others it may be anything."""
        if not len(people.members) or not len(people.others):
            return intervals.Estimate(self.chance, 0.0, 1.0)
        return self.estimate(people.members, people.others, error)


def _document(estimate: intervals.Estimate, people: RankedCandidates) -> dict[str, Any]:
    """An estimate and its people, for auditors."""
    return {**estimate.document(), "members": len(people.members), "non_members": len(people.others)}


GROUP_WORDS: dict[Group, str] = {"everybody": "of all candidates", "single_outs": "of single-outs"}


def _words(documents: dict[Group, dict[str, Any]], without_identical: dict[str, Any], seen: str) -> str:
    """The rates of all groups, and which leaks the attack would see, in a sentence for auditors."""
    parts = [_rate_words(documents[group], GROUP_WORDS[group]) for group in GROUPS if documents[group]["members"]]
    if without_identical != documents["everybody"]:
        parts.append(_rate_words(without_identical, "without others who are identical to a member"))
    return "; ".join([*parts, *([seen] if seen else [])])


def _rate_words(document: dict[str, Any], who: str) -> str:
    people = f"{document['members']} in the table, {document['non_members']} others"
    return f"{document['value']:.3g} (from {document['low']:.3g} to {document['high']:.3g}) {who} ({people})"


class MembershipAuc(MembershipRate):
    """How often a random member scores higher than a random other candidate: the area under the ROC curve."""

    use: Literal["membership_auc"] = "membership_auc"

    policy_example = "at_most: 0.6"
    formula = "(pairs in which the member scores higher + half of the ties) / pairs of a member and another candidate"
    interpretation = "at most 0.5: no better than chance; 1: every member ranks above everybody else"
    source = "Hanley, McNeil, Radiology 143, 1982; the interval by Hoeffding, JASA 58, 1963, section 5b"

    @property
    def chance(self) -> float:
        return 0.5

    def estimate(self, members: Ranks, others: Ranks, error: float) -> intervals.Estimate:
        return intervals.area_estimate(members, others, error)

    def leak_of(self, rate: float) -> float:
        return 2 * rate - 1


class MembershipTpr(MembershipRate):
    """The share of members whom the attack finds, at a threshold with a given false-positive rate."""

    use: Literal["membership_tpr"] = "membership_tpr"
    at_fpr: api.OpenProbability = Field(default=0.001, description="The share of non-members taken for members.")

    policy_example = "at_most: 0.05, at_fpr: 0.01"
    formula = (
        "share of members above the threshold that the share `at_fpr` of the non-members is above; "
        "ties are broken at random"
    )
    interpretation = "at most `at_fpr`: no better than chance; 1: it finds every member"
    source = "Carlini and others, IEEE S&P 2022, doi:10.1109/SP46214.2022.9833649; the interval is joint for both rates"

    @property
    def chance(self) -> float:
        return self.at_fpr

    def estimate(self, members: Ranks, others: Ranks, error: float) -> intervals.Estimate:
        return intervals.rate_estimate(members, others, self.at_fpr, error, np.random.default_rng(TIES_SEED))

    def leak_of(self, rate: float) -> float:
        return (rate - self.at_fpr) / (1 - self.at_fpr)

    def non_members_needed(self, error: float) -> int:
        return intervals.others_needed(self.at_fpr, error)

    def facts(self, guessed: CandidateBelief, error: float) -> dict[str, Any]:
        return {**super().facts(guessed, error), "needed": self.non_members_needed(error), "at_fpr": self.at_fpr}

    def moved(self, members: Ranks, others: Ranks) -> float:
        return rate_moved(members, others, self.at_fpr) + super().moved(members, others)


def rate_moved(members: Ranks, others: Ranks, fpr: float) -> float:
    """The most by which any number of non-members moves the rate at a false positive rate, for each of them.

    j non-members who come or go move the threshold by j ranks at most.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.
        fpr: in (0, 1).
    """
    value, ordered, descending = intervals.rate_at(members, others, fpr), np.sort(members), np.sort(others)[::-1]
    above = 1 - np.searchsorted(ordered, descending, side="right") / len(members)
    reached = 1 - np.searchsorted(ordered, descending, side="left") / len(members)
    rank = math.floor(fpr * len(others) + 1e-9)
    stricter = value - np.append(above[:rank][::-1], 0.0)
    laxer = np.append(reached[rank + 1 :], 1.0) - value
    steps = [change / np.arange(1, len(change) + 1) for change in (stricter, laxer)]
    return float(max(step.max() for step in steps))


class MembershipAdvantage(MembershipRate):
    """The largest difference between the true-positive rate and the false-positive rate over all thresholds."""

    use: Literal["membership_advantage"] = "membership_advantage"

    policy_example = "at_most: 0.1"
    formula = "maximum over thresholds of (true positive rate - false positive rate)"
    interpretation = "0: no better than chance; 1: it separates members from all others"
    source = "Yeom and others, CSF 2018, doi:10.1109/CSF.2018.00027; the interval by Massart, Ann. Probab. 18, 1990"

    @property
    def chance(self) -> float:
        return 0.0

    def estimate(self, members: Ranks, others: Ranks, error: float) -> intervals.Estimate:
        return intervals.advantage_estimate(members, others, error)

    def leak_of(self, rate: float) -> float:
        return rate


class MembershipExcluded(MembershipRate):
    """The share of non-members of whom the release proves that they are not in the table."""

    use: Literal["membership_excluded"] = "membership_excluded"

    policy_example = "at_most: 0"
    formula = "non-members whom the attack excludes for certain / non-members"
    interpretation = "0: the release excludes nobody; 1: everybody outside the table"
    plain_failure = "the release proves of people that they are not in the table"
    source = "counting; the interval by Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404"

    @property
    def chance(self) -> float:
        return 0.0

    def score(self, case: api.ScoringContext) -> api.Score:
        belief = case.require_belief(api.MembershipBelief)
        if belief.exclusion_p_values is not None and belief.excluded is None:
            remedy = "limit `membership_auc`, by an attack on scores too"
            raise api.InconclusiveError("bootstraps exclude people by chance and nobody for certain", remedy=remedy)
        if belief.excluded is None:
            raise api.UnreadableError("the attack excludes nobody for certain")
        score = super().score(case)
        if score.interval is None or not score.insufficient:
            return score
        return replace(score, interval=(score.interval[0], 1.0))  # what does not hold bounds nothing

    def estimate(self, members: Ranks, others: Ranks, error: float) -> intervals.Estimate:
        return intervals.share_estimate(int((others == 0).sum()), len(others), error)

    def moved(self, members: Ranks, others: Ranks) -> float:
        return 1 / max(1, len(others) - 1)

    def facts(self, guessed: CandidateBelief, error: float) -> dict[str, Any]:
        everybody = guessed.everybody
        return {
            "excluded": api.AuditorOnly(int((everybody.others == 0).sum())),
            "members_excluded": api.AuditorOnly(int((everybody.members == 0).sum())),
        }

    def insufficiency(self, guessed: CandidateBelief, judged: dict[Group, RankedCandidates], error: float) -> str:
        wrong = bool((guessed.everybody.members == 0).any())
        return "the attack excludes people who are in the table: what it proves does not hold here" if wrong else ""


class MembershipIdentified(api.ReleaseAtMost):
    """The number of people in the table whose posterior odds of membership exceed `odds`: a limit on single people."""

    use: Literal["membership_identified"] = "membership_identified"
    odds: api.PositiveFloat = Field(
        default=10.0, description="People in the table with higher posterior odds than this are identified."
    )
    confidence: api.OpenProbability = Field(
        default=0.95,
        description="The confidence that the intervals of all membership limits of the policy hold together.",
    )

    policy_example = "at_most: 0"
    judges = frozenset({api.MembershipBelief})
    unit = api.Unit.PEOPLE
    threat_model = "Whatever the attack it judges assumes."
    formula = (
        "number of candidates in the table whose posterior odds of being in it are above `odds`. "
        "Interval: at least those beyond what chance finds, judged by the other candidates with such "
        "odds; at most as many of the whole table"
    )
    scale = "from 0"
    interpretation = "0: the attack is sure of nobody; averages over candidates hide these people"
    plain_failure = "the release lets people find out of single persons that they are in the table"
    source = "Jälkö and others, 2026, arXiv:2605.25819; Krčo and others, 2024, arXiv:2405.15423"

    def score(self, case: api.ScoringContext) -> api.Score:
        guessed = CandidateBelief(case)
        odds, in_table = guessed.belief.odds, guessed.everybody.in_table
        if odds is None:
            raise api.UnreadableError("the attack states no odds")
        sure = np.asarray(odds, dtype=float) > self.odds
        if guessed.belief.excluded is not None:
            sure &= ~np.asarray(guessed.belief.excluded)
        identified, members = int((sure & in_table).sum()), int(in_table.sum())
        wrong, others = int((sure & ~in_table).sum()), len(in_table) - members
        people, error = int(case.table.persons.sum()), (1 - self.confidence) / case.comparisons
        value, low, high = intervals.identified_estimate(identified, wrong, members, others, people, error)
        single_outs = int((sure & in_table & guessed.single_out).sum())
        evidence = {
            "single_outs": guessed.single_outs,
            "single_outs_identified": api.AuditorOnly(single_outs),
            "others_as_sure": api.AuditorOnly(wrong),
            "odds_above": api.AuditorOnly(_odds_document(np.asarray(odds, dtype=float), in_table)),
            "says": api.AuditorOnly(
                f"{identified} of {members} in the table, {single_outs} of them single-outs, and {wrong} of {others} "
                f"others have odds above {self.odds:g} to 1"
            ),
        }
        insufficient = self._power_problem(guessed, members) if self.holds(high) else ""
        return api.Score(
            value,
            interval=(low, high),
            insufficient=insufficient,
            remedy=REMEDIES.get(insufficient, ""),
            evidence=evidence,
        )

    def _power_problem(self, guessed: CandidateBelief, members: int) -> str:
        """Why a kept limit is no pass: of as many planted leaks as the limit allows, and one more, it sees too few."""
        leaking = math.floor(self.at_most) + 1
        if leaking > members:
            return ""
        return power_problem(lambda repeat: self._sees(guessed.belief, leaking / members, repeat), UNSEEN)

    def _sees(self, belief: api.MembershipBelief, share: float, repeat: int) -> bool:
        """Whether the attack identifies more people than the limit allows where so many leak."""
        leak = planted_leak(belief, share, repeat)
        if leak.odds is None:
            raise api.InconclusiveError(api.UNPLANTED)
        sure = (np.asarray(leak.odds, dtype=float) > self.odds) & np.asarray(leak.in_table)
        return not self.holds(float(sure.sum()))


def _odds_document(odds: api.Floats, in_table: api.Mask) -> dict[str, list[int]]:
    """How many members and others have odds above each of some steps."""
    return {
        "above": list(ODDS_STEPS),
        "members": [int((odds[in_table] > step).sum()) for step in ODDS_STEPS],
        "non_members": [int((odds[~in_table] > step).sum()) for step in ODDS_STEPS],
    }


NAME_REPEATING = (
    "the owner of the policy may judge this limit by an attack that repeats itself on planted leaks, such as "
    "`lira` (`of`)"
)
REMEDIES = {api.UNPLANTED: NAME_REPEATING}
UNSEEN = unseen("candidates")
BELOW_CHANCE = "the limit is not above what an attack reaches that learns nothing, so no leak is as small"


def planted_leak(belief: api.MembershipBelief, share: float, repeat: int) -> api.PlantedLeak:
    """What the attack concludes where a share of members leaks; InconclusiveError where it cannot say it.

    Args:
        belief: of the attack, about candidates.
        share: the members who leak, from 0 to 1.
        repeat: the number of the repetition, from 0.
    """
    plant = belief.planted
    if plant is None:
        raise api.InconclusiveError(api.UNPLANTED)
    leak = repeat_on_leak(lambda: plant(share, repeat))
    wanted = np.shape(belief.scores)
    if not isinstance(leak, api.PlantedLeak) or np.shape(leak.scores) != wanted or np.shape(leak.in_table) != wanted:
        raise api.InconclusiveError(f"the attack returns no planted leak of {wanted[0]} people")
    if not np.isfinite(np.asarray(leak.scores, dtype=float)).all() or np.asarray(leak.in_table).dtype.kind != "b":
        raise api.InconclusiveError("the attack returns a planted leak with scores that are not finite, or no members")
    return leak


def planted_estimate(
    metric: MembershipRate, belief: api.MembershipBelief, share: float, sizes: Sizes, error: float, repeat: int
) -> intervals.Estimate:
    """What the metric estimates of a planted leak by so many of the members and of the others.

    Args:
        metric: the rate.
        belief: of the attack, about candidates.
        share: the members who leak, from 0 to 1.
        sizes: how many members and others there are.
        error: of the interval, in (0, 1).
        repeat: the number of the repetition, from 0.
    """
    leak = planted_leak(belief, share, repeat)
    rng = np.random.default_rng([repeat, *sizes])
    people = RankedCandidates(ranks_of(leak.scores), np.asarray(leak.in_table))
    members, others = (
        rng.permutation(part)[:size] for part, size in zip((people.members, people.others), sizes, strict=True)
    )
    if (len(members), len(others)) != sizes:
        raise api.InconclusiveError("the attack returns a planted leak with too few members or others")
    return metric.estimate(members, others, error)


def rate_power_problem(metric: MembershipRate, belief: api.MembershipBelief, groups: list[Sizes], error: float) -> str:
    """Why the attack might not have seen a leak of the size of the metric's limit; empty where it would.

    A leak is planted whose rate is the limit where an attack sees all of it. The attack sees it where the interval is
    above chance, so that there is a leak at all, and where its upper end is beyond the rate of nine tenths of the leak:
    the interval of a release with such a leak does not keep the limit then, or hardly.

    Args:
        metric: with its limit.
        belief: of the attack, about candidates.
        groups: of each group that is judged how many members and others there are.
        error: of an interval, in (0, 1).
    """
    if metric.bound >= 1:
        return ""  # no leak is larger
    share = metric.leak_of(metric.bound)
    if share <= 0:
        return BELOW_CHANCE

    def sees(sizes: Sizes, repeat: int) -> bool:
        estimate = planted_estimate(metric, belief, share, sizes, error, repeat)
        return shows_leak(estimate, metric.bound, chance=metric.chance)

    problems = (power_problem(partial(sees, sizes), UNSEEN) for sizes in groups)
    return next(filter(None, problems), "")


def smallest_detectable(
    metric: MembershipRate, belief: api.MembershipBelief, sizes: Sizes, error: float
) -> float | None:
    """The smallest share of leaking members of which the attack sees that there is a leak; None where it sees none.

    Args:
        metric: the rate by whose interval the leak is seen.
        belief: of the attack, about candidates.
        sizes: how many members and others there are.
        error: of an interval, in (0, 1).
    """
    chance = metric.chance

    def is_missed(share: float) -> bool:
        return not is_seen(lambda repeat: planted_estimate(metric, belief, share, sizes, error, repeat).low > chance)

    try:
        seen = bisect_left(LEAK_SIZES[::-1], True, key=is_missed)
    except api.InconclusiveError:
        return None
    return LEAK_SIZES[-seen] if seen else None
