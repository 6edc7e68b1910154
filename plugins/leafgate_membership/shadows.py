"""Shadow models: models of the same kind that the adversary trains on random halves of the candidates.

All attacks of a policy that ask for the same shadow models share one set, which is trained once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from leafgate.api import AdversaryKnowledge, InconclusiveError, Strict, lazy
from leafgate_membership.game import candidates_of, own_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy("numpy")


class ShadowOptions(Strict):
    """How many shadow models are trained."""

    models: int = Field(32, ge=2, description="How many shadow models are trained; a candidate is in half of them.")


@dataclass(frozen=True)
class ShadowModels:
    """What shadow models answer about each candidate.

    Attributes:
        scores: shape (n_models, n_candidates, n_classes), from 0 to 1: as `Answers.scores` of each model.
        trained_on: shape (n_models, n_candidates), whether the model was trained on the candidate.
        own: shape (n_candidates,), as `Answers.own`.
    """

    scores: NDArray[np.float64]
    trained_on: NDArray[np.bool_]
    own: NDArray[np.int64]

    def __len__(self) -> int:
        """How many models there are."""
        return len(self.scores)

    @property
    def of_own_class(self) -> NDArray[np.float64]:
        """The score of each candidate's own class: shape (n_models, n_candidates); 0 where the class is missing."""
        padded = np.pad(self.scores, ((0, 0), (0, 0), (0, 1)))
        result: NDArray[np.float64] = padded[:, np.arange(len(self.own)), self.own]
        return result

    def without(self, model: int) -> ShadowModels:
        """All of them but one."""
        kept = np.arange(len(self)) != model
        return ShadowModels(self.scores[kept], self.trained_on[kept], self.own)


def shadow_size(n_candidates: int, in_table: int) -> int:
    """How many candidates each shadow model is trained on: as many as the model, at most half of all."""
    return max(1, min(in_table, n_candidates // 2))


def train_shadows(options: ShadowOptions, known: AdversaryKnowledge) -> ShadowModels:
    """Shadow models of the audited model, each trained on random candidates.

    Which candidates are drawn follows from the seed and from their cells, not from where they stand.

    Raises:
        InconclusiveError: there are no candidates, or nobody knows how to train such a model.
    """
    from leafgate.algorithms.sampling import record_hashes

    candidates = candidates_of(known)
    if known.retrain is None:
        raise InconclusiveError(
            "shadow models cannot be trained: neither the algorithm nor the estimator of the model is known",
            remedy="name it in `build: {trained_by: {estimator: ..., parameters: ...}}`, or use an attack without them",
        )
    people = candidates.table
    size = shadow_size(len(candidates), candidates.in_table)
    order = np.argsort(record_hashes(people), kind="stable")
    seeds = np.random.SeedSequence(known.seed, spawn_key=(1,)).spawn(options.models)
    trained_on = np.zeros((options.models, len(candidates)), dtype=bool)
    scores = []
    for model, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        rows = order[rng.permutation(len(candidates))[:size]]
        trained_on[model, rows] = True
        scores.append(np.nan_to_num(known.retrain(people.people_at(rows), people, int(rng.integers(2**31)))))
    return ShadowModels(np.stack(scores), trained_on, own_classes(people))
