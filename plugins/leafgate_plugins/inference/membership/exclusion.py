"""Exclusion: who cannot be in the table, because a leaf that they reach counts nobody of their class.

A tree that was trained on all rows sends each of them to the leaf where it is counted. So a candidate whose leaf counts
nobody of the candidate's class was not among the rows. This needs no shadow model and no threshold. Of a forest whose
trees were each trained on a bootstrap it is evidence, and how many trees there are of which it is so is a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate import api
from leafgate_plugins.inference.game import answers_about, candidates_of, own_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

else:
    np = api.lazy("numpy")


class LeafExclusion(api.AttackModel):
    """Exclude candidates whose leaf counts nobody of their class; no shadow model and no threshold is needed.

    Trees of all rows exclude for certain; how often bootstraps do so tests whether the candidate is in the table.
    """

    use: Literal["leaf_exclusion"] = "leaf_exclusion"
    zero_training_error: bool = Field(
        default=False,
        description="It is published that the model predicts everybody in the table correctly, so that nobody it "
        "predicts wrongly is in the table; the attack does not check it.",
    )

    reads = frozenset({"exact", "bootstrap", "unknown"})
    needs = frozenset({"candidates"})
    access_levels = frozenset({"labels", "file"})
    parts = frozenset({"trees", "alternatives"})
    threat_model = (
        "The adversary knows all cells of each candidate, the class too, how many people are in the table, and has the "
        "release file; of the table nothing else."
    )
    formula = (
        "score = -(number of trees whose leaf counts nobody of the candidate's class); trees of all rows: excluded "
        "where the score is below 0; T bootstraps of m draws from n: P(Binomial(T, (1 - 1/n)^m) >= -score)"
    )
    source = "leafgate; proved in the section on exclusion of the documentation of membership inference"

    def infer(self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge) -> list[api.Belief]:
        candidates = candidates_of(known)
        trees = None if isinstance(source, api.PredictionOracle) else self._count_trees(source, candidates)
        if trees is None and not self.zero_training_error:
            raise api.InconclusiveError(
                "labels exclude nobody unless it is published that the model errs on nobody in the table",
                remedy="state `zero_training_error: true` if it is, or give the attack `access: file`",
            )
        wrong = self._wrong_labels(source, known)
        trees = ExcludingTrees(np.zeros(len(candidates), dtype=np.int64), 0) if trees is None else trees
        return [_belief(trees, wrong)]

    def _count_trees(self, release: api.Release, candidates: api.Candidates) -> ExcludingTrees | None:
        """The trees that exclude each candidate; None where they cannot, but wrong labels can."""
        try:
            out_of_bag = candidate_absence(release, candidates)
        except api.InconclusiveError:
            if self.zero_training_error:
                return None
            raise
        trees = release.trees if out_of_bag else release.fitted_trees
        return ExcludingTrees(excluding_trees(release, trees, candidates.table), len(trees), out_of_bag)

    def _wrong_labels(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge
    ) -> api.Mask | None:
        """Which candidates have another class than is predicted; None where that excludes nobody."""
        people = candidates_of(known).table
        if not self.zero_training_error:
            return None
        own, labels = own_classes(people), _labels(source, known)
        return np.asarray((labels >= 0) & (own < len(people.schema.classes)) & (labels != own))


@dataclass(frozen=True)
class ExcludingTrees:
    """How many trees exclude each candidate.

    Attributes:
        excluding: shape (n_candidates,), from 0 to `trees`.
        trees: how many trees there are.
        out_of_bag: the probability, at most, that somebody in the table is not among the rows of a tree; 0 where each
            tree was trained on all rows.
    """

    excluding: NDArray[np.int64]
    trees: int
    out_of_bag: float = 0.0


def _labels(source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge) -> NDArray[np.int64]:
    """The position of the class that the model predicts for each candidate; -1 where it predicts none."""
    from leafgate.algorithms.prediction import predict

    if isinstance(source, api.PredictionOracle):
        return answers_about(source, known).labels
    return predict(source, candidates_of(known).table)


def _belief(trees: ExcludingTrees, wrong: api.Mask | None) -> api.MembershipBelief:
    """What follows from the trees that exclude candidates, and from `wrong` labels, which exclude them for certain.

    Bootstraps prove nothing of anybody, so that `excluded` is None there; not a proof that nobody is excluded.
    """
    from leafgate.algorithms.exclusion import exclusion_p_values

    by_labels = np.zeros(len(trees.excluding), dtype=bool) if wrong is None else wrong
    scores = -trees.excluding - by_labels * (trees.trees + 1)
    if not trees.out_of_bag:
        by_trees = {"trees": trees.trees, "trained_on": "all rows"} if trees.trees else {}
        return api.MembershipBelief(scores, excluded=scores < 0, evidence=by_trees)
    p_values = exclusion_p_values(trees.excluding, trees.trees, trees.out_of_bag)
    return api.MembershipBelief(
        scores,
        excluded=wrong,
        exclusion_p_values=np.where(by_labels, 0.0, p_values),
        evidence={"trees": trees.trees, "trained_on": "bootstraps", "out_of_bag": api.AuditorOnly(trees.out_of_bag)},
    )


def candidate_absence(release: api.Release, candidates: api.Candidates) -> float:
    """The probability, at most, that a candidate who is in the table is not among the rows that a tree was trained on.

    Args:
        release: the model.
        candidates: how many people are in the table, and whether it has weights that do not count people.

    Returns:
        0 where every tree was trained on all rows; else below 1.

    Raises:
        InconclusiveError: as `leafgate.algorithms.exclusion.absence_probability`.
    """
    from leafgate.algorithms.exclusion import absence_probability

    size, fewest, weighted = candidates.table_size, candidates.in_table, candidates.training_weighted
    return absence_probability(release, people=size, at_least=fewest, weighted=weighted)


def excluding_trees(release: api.Release, trees: Sequence[api.Node], people: api.Table) -> NDArray[np.int64]:
    """How many of the trees send each person to a leaf that counts nobody of the person's class.

    Args:
        release: what is published of the leaves: counts, shares or error rates.
        trees: trees of the release.
        people: the candidates; a missing class is nobody's, and no tree excludes somebody who reaches no leaf.

    Returns:
        Shape (n_people,), from 0 to the number of trees.
    """
    from leafgate.algorithms.exclusion import absent_classes
    from leafgate.algorithms.routing import route

    own = own_classes(people)
    excluding = np.zeros(len(people), dtype=np.int64)
    for tree in trees:
        routed = route(tree, people)
        excluding += absent_classes(routed.leaves, release, people.schema.classes)[routed.leaf, own]
    return excluding
