"""Attacks that reconstruct the original numbers of a table shared with noise, and metrics of their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import (
    AdversaryKnowledge,
    AtLeast,
    AttackModel,
    Belief,
    Metric,
    Release,
    ReleaseAtLeast,
    ReleaseAtMost,
    ScoringContext,
    hookimpl,
)

if TYPE_CHECKING:
    import pandas as pd

MINER = (
    "The adversary has the shared records, the law of the noise on each column and the declared bounds; it knows "
    "nobody's numbers and not how they are distributed."
)
HUANG = 'Z. Huang, W. Du, B. Chen, "Deriving Private Information from Randomized Data", SIGMOD 2005'
AGGARWAL = (
    'D. Agrawal, C. C. Aggarwal, "On the Design and Quantification of Privacy Preserving Data Mining Algorithms", '
    "PODS 2001"
)
NORMAL = "; over the bins a normal law around x with the mean-square error stated, cut off at the bounds"


class _OnRecords(AttackModel):
    """An attack on shared records: whatever is published beside them."""

    reads = frozenset({"perturbed"})
    models = frozenset({"trees", "naive_bayes", "none"})
    parts = frozenset({"records"})
    threat_model = MINER


class Posterior(_OnRecords):
    """Reconstruct how each column's originals are distributed, and apply Bayes' rule to each shared number."""

    use: Literal["posterior"] = "posterior"
    estimate: Literal["mean", "mode"] = Field("mean", description="Which number of the posterior a cell is taken for.")
    by_class: bool = Field(True, description="Reconstruct within each class, where the class is shared in the clear.")
    whole: tuple[str, ...] = Field((), description="Columns whose numbers the adversary knows to be whole.")

    formula = "P(bin | w) = sum over x in the bin of f_R(w - x) F_X(x) / f_W(w), F_X by maximum likelihood (EM)"
    source = f'R. Agrawal, R. Srikant, "Privacy-Preserving Data Mining", SIGMOD 2000; {AGGARWAL}'

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        from leafgate_reconstruction.attacks import posterior_beliefs

        return posterior_beliefs(release, known, self.estimate, by_class=self.by_class, integer_columns=self.whole)


class SpectralFilter(_OnRecords):
    """Keep the directions in which shared records vary by more than noise alone would."""

    use: Literal["spectral_filter"] = "spectral_filter"

    formula = (
        "x = mu + P (w - mu), P onto the eigenvectors of cov(W) with eigenvalues above (1 + sqrt(m/n))^2, noise "
        f"having variance 1{NORMAL}: the diagonal of P + (1 - P) S (1 - P)"
    )
    source = (
        'H. Kargupta, S. Datta, Q. Wang, K. Sivakumar, "On the Privacy Preserving Properties of Random Data '
        'Perturbation Techniques", ICDM 2003'
    )

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        from leafgate_reconstruction.attacks import spectral_beliefs

        return spectral_beliefs(release, known)


class PcaDr(_OnRecords):
    """Keep the principal components of the originals: their covariance is that of what is shared less the noise's."""

    use: Literal["pca_dr"] = "pca_dr"
    components: Annotated[int, Field(ge=1)] | None = Field(
        None, description="How many are kept; default: those that vary more than the noise."
    )

    formula = (
        f"x = mu + P (w - mu), P onto the first eigenvectors of S = cov(W) - 1, noise having variance 1{NORMAL}: the "
        "diagonal of P + (1 - P) S (1 - P)"
    )
    source = f"{HUANG}, section 5"

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        from leafgate_reconstruction.attacks import principal_beliefs

        return principal_beliefs(release, known, self.components)


class BeDr(_OnRecords):
    """Take the originals of all columns to be jointly normal, and apply Bayes' rule to each shared record."""

    use: Literal["be_dr"] = "be_dr"

    formula = (
        f"x = (S^-1 + 1)^-1 (S^-1 mu + w), S = cov(W) - 1, noise having variance 1{NORMAL}: the diagonal of "
        "S - S (S + 1)^-1 S"
    )
    source = f"{HUANG}, section 6"

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        from leafgate_reconstruction.attacks import bayes_beliefs

        return bayes_beliefs(release, known)


class _OfTheNoise(Metric):
    """A metric of what noise leaves to be known of a column, whatever attack is tried."""

    private = True
    threat_model = f"{MINER} For the score it is granted the distribution of the originals."
    source = f"{AGGARWAL}, section 2"

    column: str | None = None

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_reconstruction.metrics import intervals_evidence

        return intervals_evidence(case, self.column)


class IntervalPrivacy(_OfTheNoise, ReleaseAtLeast):
    """How long an interval each original could still lie in, in effect, once its shared number is seen."""

    use: Literal["interval_privacy"] = "interval_privacy"
    column: str | None = Field(None, description="The noisy column; default: the one with the least.")

    formula = "Pi(A|B) = 2^h(A|B) = 2^(h(X) - I), I = h(W) - h(R), in bits; W = X + R"
    plain_failure = "the noise leaves too little unknown"
    scale = "a length from 0 up, in the column's unit"
    interpretation = (
        "0: the numbers are out; L: as little is known as of a number that can be anywhere in an interval of length L"
    )

    def score(self, case: ScoringContext) -> float:
        from leafgate_reconstruction.metrics import intervals

        return min(each.after for each in intervals(case, self.column))


class PrivacyLoss(_OfTheNoise, ReleaseAtMost):
    """Which share of an original's interval privacy is lost once its shared number is seen."""

    use: Literal["privacy_loss"] = "privacy_loss"
    column: str | None = Field(None, description="The noisy column; default: the one with the most.")

    formula = "P(A|B) = 1 - 2^-I, I = h(W) - h(R), in bits; W = X + R. Normal on normal: 1 - 1/sqrt(1 + SNR)"
    plain_failure = "the shared numbers give away too much of the originals"
    scale = "from 0 to 1"
    interpretation = "0: the shared number discloses nothing; 1/2: it halves the interval the original can lie in"

    def score(self, case: ScoringContext) -> float:
        from leafgate_reconstruction.metrics import intervals

        return max(each.loss for each in intervals(case, self.column))


class NormalisedRmse(AtLeast):
    """How far an attack's estimates are off, beside how far people differ anyway; the same for everybody."""

    use: Literal["normalised_rmse"] = "normalised_rmse"

    private = True
    groups_only = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "sqrt(mean over people of (estimate - original)^2) / standard deviation of the originals"
    plain_failure = "people's {secret} can be reconstructed too well"
    scale = "from 0 up"
    interpretation = "0: every number is out; 1: no better than taking everybody for the mean"
    source = f"{HUANG}, section 7 (root mean square error); divided by the spread, it compares columns"

    def score(self, case: ScoringContext) -> pd.Series:
        from leafgate_reconstruction.metrics import normalised_rmse

        return normalised_rmse(case)


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [Posterior, SpectralFilter, PcaDr, BeDr]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [IntervalPrivacy, PrivacyLoss, NormalisedRmse]
