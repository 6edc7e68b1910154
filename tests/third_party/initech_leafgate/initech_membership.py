"""Who is in the table: an attack by the model's loss and by empty leaves, and the area under its ROC curve."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    InconclusiveError,
    MembershipBelief,
    Metric,
    OpenProbability,
    PredictionOracle,
    Release,
    ReleaseAtMost,
    Score,
    ScoringContext,
    Table,
    hookimpl,
    lazy,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy("numpy")

leafgate_api = ">=3,<4"


class LeafLoss(AttackModel):
    """Take those for members to whose class the model gives a high score; rule out whom an exact leaf cannot count."""

    use: Literal["leaf_loss"] = "leaf_loss"

    needs = frozenset({"candidates"})
    access_levels = frozenset({"scores", "file"})
    parts = frozenset({"trees"})
    threat_model = (
        "The adversary knows all cells of each candidate, the class too, and has the release file or answers with "
        "scores; of the table nothing."
    )
    formula = (
        "score = the model's score of the candidate's class, which falls as the loss rises; excluded where, with "
        "exact counts, the candidate's leaf in some tree counts nobody of that class"
    )
    source = "the loss attack of Yeom and others 2018; counting, for exclusion"

    def infer(self, source: Release | PredictionOracle, known: AdversaryKnowledge) -> list[Belief]:
        from leafgate.algorithms.prediction import class_scores

        if known.candidates is None:
            raise InconclusiveError("there are no candidates", remedy="name people outside the table in data.control")
        people = known.candidates.table
        own = people.codes(known.schema.target.name)
        if isinstance(source, PredictionOracle):
            answers = source.scores(known.candidates.frame)
            return [MembershipBelief(score_of_own_class(answers[list(known.schema.classes)].to_numpy(float), own))]
        scores = score_of_own_class(class_scores(source, people), own)
        return [MembershipBelief(scores, excluded=counted_nowhere(source, people, own))]


def score_of_own_class(scores: NDArray[np.float64], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """The score of each row's class: shape (n_rows,); 0 where the model has none or the class is missing."""
    padded = np.pad(np.nan_to_num(scores), ((0, 0), (0, 1)))
    result: NDArray[np.float64] = padded[np.arange(len(own)), np.minimum(own, scores.shape[1])]
    return result


def counted_nowhere(release: Release, people: Table, own: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each row, whether some tree with exact counts leads it to a leaf that counts nobody of its class."""
    from leafgate.algorithms.routing import route

    out = np.zeros(len(people), dtype=bool)
    for tree in release.trees if release.count_semantics == "exact" else ():
        routed = route(tree, people)
        for position, leaf in enumerate(routed.leaves):
            for code, name in enumerate(release.classes if leaf.counts is not None else ()):
                if not (leaf.counts or {}).get(name):
                    out |= (routed.leaf == position) & (own == code)
    return out


class MembershipArea(ReleaseAtMost):
    """How often a random member of the table scores higher than a random other candidate: the area under the curve."""

    use: Literal["membership_area"] = "membership_area"
    confidence: OpenProbability = Field(
        default=0.95, description="The probability that the interval has the true area."
    )

    judges = frozenset({MembershipBelief})
    threat_model = "Whatever the attack it judges assumes."
    formula = "(pairs in which the member scores higher + half of the ties) / pairs of a member and another candidate"
    scale = "from 0 to 1"
    interpretation = "at most 0.5: the attack does no better than chance; 1: it ranks every member above everybody else"
    plain_failure = "the release lets people find out who is in the table"
    source = "Hanley and McNeil 1982; the interval is Wilson's with the bound on the variance of van Dantzig 1951"

    def score(self, case: ScoringContext) -> Score:
        scores, member = ranked(case)
        members = int(member.sum())
        others = len(member) - members
        if not members or not others:
            raise InconclusiveError("there must be candidates in the table and candidates who are not")
        area = area_under_curve(scores[member], scores[~member])
        return Score(area, interval=wilson(area, min(members, others), self.confidence))


def ranked(case: ScoringContext) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Each candidate's score, the lowest where certainly not in the table; and whether the candidate is."""
    belief = case.require_belief(MembershipBelief)
    scores = np.asarray(belief.scores, dtype=float)
    if belief.excluded is not None:
        scores = np.where(np.asarray(belief.excluded), -np.inf, scores)
    return scores, case.membership.in_table


def area_under_curve(members: NDArray[Any], others: NDArray[Any]) -> float:
    """The share of pairs in which the member is higher, ties half: n log n, by the others below and up to each."""
    others = np.sort(others)
    below, up_to = (np.searchsorted(others, members, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(others))


def wilson(share: float, people: int, confidence: float) -> tuple[float, float]:
    """Wilson's interval; an area's variance is at most that of a share of as many people as the smaller side has."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (share + z * z / (2 * people)) / (1 + z * z / people)
    half = z * (share * (1 - share) / people + z * z / (4 * people * people)) ** 0.5 / (1 + z * z / people)
    return max(0.0, middle - half), min(1.0, middle + half)


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [LeafLoss]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [MembershipArea]
