"""Attacks on the original numbers of shared records: posteriors, and normal laws around point estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate import api

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from scipy import special

    from leafgate_plugins.reconstruction import estimators
    from leafgate_plugins.reconstruction import posterior as column_posterior
    from leafgate_plugins.reconstruction.estimators import Moments

    Estimates = tuple[api.Floats, api.Floats, Mapping[str, Any]]
    """Estimated numbers, the mean-square error of each, and evidence."""
else:
    np, pd, special = api.lazy("numpy"), api.lazy("pandas"), api.lazy("scipy.special")
    column_posterior, estimators = (
        api.lazy(f"leafgate_plugins.reconstruction.{name}") for name in ("posterior", "estimators")
    )

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


class _OnRecords(api.AttackModel):
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

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.CellBelief]:
        """The posterior of each secret number, column by column.

        PolicyError where a column said to be of `whole` numbers has other bins, or none.
        """
        shared = shared_of(release, known.schema)
        _check_whole(known.schema, self.whole)
        one_class = np.zeros(len(shared.numbers), dtype=np.int64)
        classes = classes_of(shared, known.schema) if self.by_class else one_class
        beliefs = []
        for i, column, bins in shared.targets:
            chances, estimates = column_posterior.bin_posterior(
                shared.numbers[:, i],
                shared.weight,
                classes,
                shared.noise[i],
                bins,
                self.estimate,
                integers=column.name in self.whole,
            )
            beliefs.append(_belief(column, chances, estimates, {}))
        return beliefs


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

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.CellBelief]:
        """The spectral filter's estimates, and a normal belief around them."""

        def estimator(numbers: api.Floats, moments: Moments) -> Estimates:
            return _project(numbers, moments, estimators.spectral_signal(moments))

        return _around_estimates(release, known, estimator)


class PcaDr(_OnRecords):
    """Keep the principal components of the originals; their covariance is that of shared records less the noise's."""

    use: Literal["pca_dr"] = "pca_dr"
    components: api.PositiveInt | None = Field(
        None, description="How many are kept; by default those that vary more than the noise."
    )

    formula = (
        f"x = mu + P (w - mu), P onto the first eigenvectors of S = cov(W) - 1, noise having variance 1{NORMAL}: the "
        "diagonal of P + (1 - P) S (1 - P)"
    )
    source = f"{HUANG}, section 5"

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.CellBelief]:
        """The estimates of PCA-DR, and a normal belief around them."""

        def estimator(numbers: api.Floats, moments: Moments) -> Estimates:
            return _project(numbers, moments, estimators.principal_components(moments, self.components))

        return _around_estimates(release, known, estimator)


class BeDr(_OnRecords):
    """Take the originals of all columns to be jointly normal, and apply Bayes' rule to each shared record."""

    use: Literal["be_dr"] = "be_dr"

    formula = (
        f"x = (S^-1 + 1)^-1 (S^-1 mu + w), S = cov(W) - 1, noise having variance 1{NORMAL}: the diagonal of "
        "S - S (S + 1)^-1 S"
    )
    source = f"{HUANG}, section 6"

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.CellBelief]:
        """The estimates of BE-DR, and a normal belief around them."""

        def estimator(numbers: api.Floats, moments: Moments) -> Estimates:
            return *estimators.bayes_estimates(numbers, moments), {}

        return _around_estimates(release, known, estimator)


@dataclass(frozen=True)
class Shared:
    """Shared numbers (a row a record, a column each of `columns`; NaN where missing) and the people of each record.

    `noise` is the law on each column. `records` is the whole of what is published.
    """

    columns: tuple[api.Column, ...]
    numbers: api.Floats
    weight: api.Floats
    noise: tuple[api.Noise, ...]
    records: api.Records

    @property
    def targets(self) -> tuple[tuple[int, api.Column, Sequence[float]], ...]:
        """The secrets among the columns: the place, the column and its bins."""
        found = ((i, column, column.bins) for i, column in enumerate(self.columns) if "sensitive" in column.roles)
        return tuple((i, column, bins) for i, column, bins in found if bins is not None)

    @property
    def scales(self) -> api.Floats:
        """The standard deviation of each column's noise."""
        return np.sqrt([noise.variance for noise in self.noise])


def shared_of(release: api.Release, schema: api.Schema) -> Shared:
    """The noisy columns that show any number; InconclusiveError where no secret number is among them."""
    records = release.records
    if records is None:
        raise api.InconclusiveError("no records are published that could be reconstructed")
    shown = [(schema[n], _numbers(records, i)) for i, n in enumerate(records.columns) if n in release.noise]
    items = [(column, numbers) for column, numbers in shown if column.numeric and not np.isnan(numbers).all()]
    shared = Shared(
        tuple(column for column, _ in items),
        np.column_stack([numbers for _, numbers in items]) if items else np.zeros((len(records.rows), 0)),
        np.array(records.weight, dtype=np.float64),
        tuple(release.noise[column.name] for column, _ in items),
        records,
    )
    if not shared.targets:
        raise api.InconclusiveError(
            "the records show no secret number with noise on it, so there is nothing to reconstruct",
            remedy="give such a column the role `sensitive` and `bins`",
        )
    return shared


def _numbers(records: api.Records, place: int) -> api.Floats:
    cells = (row[place] for row in records.rows)
    return np.array([cell if isinstance(cell, int | float) else np.nan for cell in cells], dtype=np.float64)


def classes_of(shared: Shared, schema: api.Schema) -> api.Ids:
    """The number of each record's class where that is published in the clear; else all are of one."""
    names = [column.name for column in schema.having("class") if column.name in shared.records.columns]
    if not names:
        return np.zeros(len(shared.numbers), dtype=np.int64)
    place = shared.records.columns.index(names[0])
    cells = [repr(row[place]) for row in shared.records.rows]
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


def _project(numbers: api.Floats, moments: Moments, kept: api.Floats) -> Estimates:
    """Estimates by projection onto the kept directions, and how many these are."""
    return *estimators.projected(numbers, moments, kept), {"directions": kept.shape[1], "of": kept.shape[0]}


def _check_whole(schema: api.Schema, whole: Sequence[str]) -> None:
    for name in whole:
        bins = schema[name].bins if name in schema else None
        if bins is None or any(edge != int(edge) for edge in bins):
            raise api.PolicyError(
                f"{name!r} is no secret number whose bins begin and end at whole numbers",
                place="attacks: whole",
                remedy="leave it out, or give it such `bins`",
            )


def _around_estimates(
    release: api.Release, known: api.AdversaryKnowledge, estimator: Callable[[api.Floats, Moments], Estimates]
) -> list[api.CellBelief]:
    """What an attack on all the noisy columns together believes of the secrets among them.

    Departure: the papers have equal noise in every column; here columns are first divided by their noise's standard
    deviation. Estimates are cut off at the bounds, which the adversary knows.
    """
    shared = shared_of(release, known.schema)
    scaled = shared.numbers / shared.scales
    moments = estimators.moments_of(scaled, shared.weight)
    estimates, error, evidence = estimator(scaled, moments)
    estimates = estimates * shared.scales
    spread = np.sqrt(np.maximum(error, moments.least)) * shared.scales
    return [
        _belief(
            column,
            normal_in_bins(estimates[:, i], spread[:, i], bins),
            np.clip(estimates[:, i], bins[0], bins[-1]),
            evidence,
        )
        for i, column, bins in shared.targets
    ]


def normal_in_bins(middle: api.Floats, spread: api.Floats, bins: Sequence[float]) -> api.Floats:
    """The chance of each bin (columns) under normal laws cut off at the first and last edge; rows sum to 1.

    A law so far outside that nothing of it is left has all in the bin at its side.
    """
    edges = (np.asarray(bins, dtype=np.float64) - middle[:, None]) / spread[:, None]
    upper = edges[:, :-1] > 0  # there differences are exact in the upper tail
    inside = np.where(
        upper,
        special.ndtr(-edges[:, :-1]) - special.ndtr(-edges[:, 1:]),
        special.ndtr(edges[:, 1:]) - special.ndtr(edges[:, :-1]),
    )
    total = inside.sum(axis=1, keepdims=True)
    nearest = np.eye(len(bins) - 1)[api.bin_of(middle, bins)]
    return np.where(total > 0, inside / np.where(total > 0, total, 1), nearest)


def _belief(
    column: api.Column, chances: api.Floats, estimates: api.Floats, evidence: Mapping[str, Any]
) -> api.CellBelief:
    frame = pd.DataFrame(chances, columns=pd.Index(column.domain, dtype=object))
    cells = np.arange(len(estimates))
    return api.CellBelief(column.name, frame, cells, estimates=estimates, evidence=evidence)
