"""An honest attack, and what can be wrong with one."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate import InconclusiveError, Release
from leafgate.api import AdversaryKnowledge, AttackModel, MembershipBelief, PredictionOracle, SecretBelief

if TYPE_CHECKING:
    import numpy as np

    from leafgate import Table

NOWHERE = ("192.0.2.1", 80)
"""An address that is nobody's (RFC 5737)."""


class ByLeaves(AttackModel):
    """Give everyone the class shares of the leaf they reach."""

    use: str = "by_leaves"

    reads = frozenset({"exact"})
    threat_model = "The adversary knows the public columns of everyone, and the tree asks nothing else."
    formula = "P(class = v) = people of class v in the leaf / people in the leaf"
    source = "counting"

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        leaf, counts = self.read(release, known)
        people = counts.sum(axis=1, keepdims=True)
        shares = np.where(people > 0, counts / np.maximum(people, 1), 1 / counts.shape[1])
        return [self.believed(known, leaf, shares[leaf])]

    def believed(self, known: AdversaryKnowledge, groups: np.ndarray, chances: np.ndarray) -> SecretBelief:
        """The belief with these chances of the class."""
        import pandas as pd

        target = known.schema.target
        return SecretBelief(
            target.name, pd.DataFrame(chances, columns=pd.Index(target.domain, dtype=object)), equivalence_class=groups
        )

    def read(self, release: Release, known: AdversaryKnowledge) -> tuple[np.ndarray, np.ndarray]:
        """The leaf of each record, and what the leaves count."""
        import numpy as np

        from leafgate.algorithms.routing import route
        from leafgate.api import columns_asked

        if len(release.trees) != 1 or not columns_asked(release.trees[0]) <= set(known.records.columns):
            raise InconclusiveError("reads one tree that asks public columns")
        routed = route(release.trees[0], known.public)
        if (routed.leaf < 0).any() or any(leaf.counts is None for leaf in routed.leaves):
            raise InconclusiveError("reads counts on every leaf")
        names = known.schema.target.domain
        counts = [[(leaf.counts or {}).get(str(name), 0) for name in names] for leaf in routed.leaves]
        return routed.leaf, np.array(counts, dtype=float)


class WritesInputs(ByLeaves):
    """Adds a column to what it is handed."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        found = super().infer(release, known)
        known.records["seen"] = True
        return found


class WritesRelease(ByLeaves):
    """Sets counts of the release to zero once it has read them."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        from leafgate.api import leaves

        found = super().infer(release, known)
        for leaf in leaves(release.trees[0]):
            if isinstance(leaf.counts, dict):
                leaf.counts.clear()
        return found


class GlobalCoins(ByLeaves):
    """Draws from the random numbers that all share."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import random

        random.random()
        return super().infer(release, known)


class CallsOut(ByLeaves):
    """Tries to reach another machine, and says nothing when it cannot."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        with suppress(OSError):
            socket.create_connection(NOWHERE, timeout=0.1)
        return super().infer(release, known)


class Restless(ByLeaves):
    """Tosses coins that nobody can toss again."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        (found,) = super().infer(release, known)
        unsure = found.posterior + np.random.default_rng().uniform(0, 1e-3)
        return [replace(found, posterior=unsure.div(unsure.sum(axis=1), axis=0))]


class SpillsTown(ByLeaves):
    """Tells everybody where the first person lives."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        first = f"the first lives in {known.records['town'].iloc[0]}" if "town" in known.records else ""
        return [replace(found, evidence={"seen": first}) for found in super().infer(release, known)]


class Speechless(ByLeaves):
    """Cannot word what it divides people by."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        return [replace(found, explain=lambda group: f"{1 // (group * 0)}") for found in super().infer(release, known)]


class OneGroup(ByLeaves):
    """Takes all for alike, whatever it believes of each."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        together = np.zeros(len(known.records), dtype=np.int64)
        return [replace(found, equivalence_class=together) for found in super().infer(release, known)]


class OneGroupBefore(OneGroup):
    """The same, and says that without its reasoning it would believe the same of everybody."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        found = super().infer(release, known)
        return [replace(b, prior=0 * b.posterior + 1 / b.posterior.shape[1]) for b in found]


class EachAlone(ByLeaves):
    """Tells everybody apart, whatever the release does."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        return [
            replace(found, equivalence_class=np.arange(len(known.records))) for found in super().infer(release, known)
        ]


class ByPlace(ByLeaves):
    """Tells whoever stands first apart from everybody."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        first = np.arange(len(known.records)) == 0
        return [
            replace(b, equivalence_class=2 * b.equivalence_class + first)
            for b in super().infer(release, known)
            if b.equivalence_class is not None
        ]


class TakesNoiseForTrue(ByLeaves):
    """Reads noisy counts as if they were those of the people."""

    reads = frozenset({"exact", "noisy"})


class OnChances(ByLeaves):
    """Believes what is made of the honest chances."""

    def changed(self, chances: Any, known: AdversaryKnowledge) -> Any:
        raise NotImplementedError

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        return [replace(b, posterior=self.changed(b.posterior, known)) for b in super().infer(release, known)]


class SortsLabels(OnChances):
    """Takes the classes for sorted by name, whatever their order."""

    def changed(self, chances: Any, known: AdversaryKnowledge) -> Any:
        return chances[sorted(chances.columns)].set_axis(chances.columns, axis=1)


class SortsColumns(OnChances):
    """Gives the classes in the order of their names."""

    def changed(self, chances: Any, known: AdversaryKnowledge) -> Any:
        return chances[sorted(chances.columns)]


class Undeclared(OnChances):
    """Believes of everybody the overall shares where it knows them, and does not declare that it takes them in."""

    def changed(self, chances: Any, known: AdversaryKnowledge) -> Any:
        shares = known.distribution.get(known.schema.target.name)
        return chances if shares is None else chances.assign(**shares)


class Soft(OnChances):
    """Is never certain of anything."""

    def changed(self, chances: Any, known: AdversaryKnowledge) -> Any:
        return 0.9 * chances + 0.1 / chances.shape[1]


class Blind(ByLeaves):
    """Believes of everybody what all leaves say together."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        import numpy as np

        leaf, counts = self.read(release, known)
        overall = counts.sum(axis=0) / max(counts.sum(), 1)
        return [self.believed(known, leaf * 0, np.tile(overall, (len(leaf), 1)))]


class Crashes(ByLeaves):
    """Assumes that leaves publish counts."""

    def read(self, release: Release, known: AdversaryKnowledge) -> tuple[np.ndarray, np.ndarray]:
        from leafgate.api import leaves

        known_classes = [leaf.counts[known.schema.classes[0]] for leaf in leaves(release.trees[0])]  # type: ignore[index]
        assert known_classes
        return super().read(release, known)


class ReadsNothing(ByLeaves):
    """Reads models that it then refuses."""

    models = frozenset({"none"})


class SilentOption(ByLeaves):
    """Has an option that says nothing."""

    depth: int = 1


class OpenOptions(ByLeaves):
    """Takes any option."""

    model_config = {"extra": "allow"}  # noqa: RUF012


class ByScores(AttackModel):
    """Take a candidate for somebody of the table the likelier the model finds the candidate's class."""

    use: str = "by_scores"

    reads = frozenset({"exact"})
    needs = frozenset({"candidates"})
    access_levels = frozenset({"labels", "scores", "file"})
    threat_model = "The adversary knows every column of a candidate, and asks the model or has it."
    formula = "the model's score of the candidate's own class"
    source = "Yeom, Giacomelli, Fredrikson, Jha 2018"

    def infer(self, source: Release | PredictionOracle, known: AdversaryKnowledge) -> Sequence[MembershipBelief]:
        import numpy as np

        if known.candidates is None:
            raise InconclusiveError("knows no candidates")
        people, target = known.candidates.table, known.schema.target
        own = people.codes(target.name)
        if isinstance(source, Release):
            scores = self.scores_of(source, people)
        elif source.access == "scores":
            scores = source.scores(people.frame).to_numpy()
        else:
            scores = np.eye(len(target.domain))[source.labels(people.frame).cat.codes]
        return self.believed(np.nan_to_num(scores[np.arange(len(people)), own]), source, known)

    def scores_of(self, release: Release, people: Table) -> np.ndarray:
        """What the model in the file answers."""
        from leafgate.algorithms.prediction import class_scores

        if not release.trees:
            raise InconclusiveError("reads trees")
        return class_scores(release, people)

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        """The belief with these scores."""
        return [MembershipBelief(scores)]


class ByPlaceAmongCandidates(ByScores):
    """Scores the first candidates a little higher."""

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        return [MembershipBelief(scores - [place / 1e3 for place in range(len(scores))])]


class NoMemory(ByScores):
    """Scores everybody the same."""

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        return [MembershipBelief(scores * 0)]


class ByPublicRecords(ByScores):
    """Takes candidates with the public columns of somebody in the table for these, where it is told who is there."""

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        return [MembershipBelief(scores + len(known.records))]


class ExcludesByNoise(ByScores):
    """Takes a score of 0 for a proof that a candidate is not in the table, whatever the numbers count."""

    reads = frozenset({"exact", "noisy"})

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        return [MembershipBelief(scores, excluded=scores == 0)]


class ExcludesMembers(ByScores):
    """Scores candidates right, and excludes those of whom it is to say that they are in the table."""

    def believed(
        self, scores: np.ndarray, source: Release | PredictionOracle, known: AdversaryKnowledge
    ) -> Sequence[MembershipBelief]:
        return [MembershipBelief(scores, excluded=scores > 0)]


BROKEN_ATTACKS: tuple[tuple[AttackModel, str], ...] = (
    (ReadsNothing(), "works"),
    (SortsColumns(), "works"),
    (OneGroup(), "works"),
    (Speechless(), "works"),
    (SilentOption(), "described_options"),
    (OpenOptions(), "described_options"),
    (Restless(), "runs_apart"),
    (WritesInputs(), "runs_apart"),
    (WritesRelease(), "runs_apart"),
    (GlobalCoins(), "runs_apart"),
    (CallsOut(), "runs_apart"),
    (SortsLabels(), "any_label_order"),
    (ByPlace(), "any_row_order"),
    (SpillsTown(), "tells_nobody"),
    (Undeclared(), "declares_its_needs"),
    (ByPublicRecords(), "declares_its_needs"),
    (ByPlaceAmongCandidates(), "any_column_order"),
    (NoMemory(), "catches_a_leak"),
    (ExcludesMembers(), "catches_a_leak"),
    (ExcludesByNoise(), "takes_noise_for_noise"),
    (Blind(), "catches_a_leak"),
    (Soft(), "catches_a_leak"),
    (OneGroupBefore(), "catches_a_leak"),
    (TakesNoiseForTrue(), "takes_noise_for_noise"),
    (EachAlone(), "knows_nothing_from_nothing"),
    (Crashes(), "errs_in_words"),
)
