"""Have chains forgotten where they started? Split R-hat and effective sample size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate_maxent.walk import Floats


@dataclass(frozen=True)
class Mixing:
    """The worst of all quantities that vary: R-hat (1 is best), effective draws, standard error of a share."""

    r_hat: float
    draws: float
    error: float

    def __str__(self) -> str:
        return f"R-hat {self.r_hat:.3f}, {self.draws:.0f} effective draws, standard error {self.error:.3f}"


def mixing_of(sums: Floats, squares: Floats, batch: int, people: Floats) -> Mixing:
    """Of batches of draws (chains x batches x quantities): their sums, and sums of squares; shares are of `people`.

    R-hat compares the means of half chains with the variation inside them. The effective sample size
    compares the variation of single draws with that of batch means about the mean of all.

    Source: Gelman, Rubin, "Inference from iterative simulation using multiple sequences", Statistical
    Science 7(4), 1992; halves as in Vehtari, Gelman, Simpson, Carpenter, Buerkner, Bayesian Analysis
    16(2), 2021. Batch means: Flegal, Jones, Annals of Statistics 38(2), 2010.
    Departure: without ranks, since the numbers are small and whole; sizes from batches, not autocorrelation.
    """
    chains, batches, n = sums.shape
    halves = sums.reshape(chains * 2, batches // 2, n).sum(axis=1)
    half = batch * batches // 2
    means = halves / half
    second = squares.reshape(chains * 2, batches // 2, n).sum(axis=1) / half
    within = np.maximum(second - means**2, 0).mean(axis=0) * half / (half - 1)
    between = half * means.var(axis=0, ddof=1)
    varies = (within > 0) | (between > 0)
    if not varies.any():
        return Mixing(1.0, float(chains * batches * batch), 0.0)
    within, between = within[varies], between[varies]
    ratio = np.divide(between, within, where=within > 0, out=np.full_like(within, np.inf))
    r_hat = np.sqrt((half - 1 + ratio) / half)
    of_batches = (sums[:, :, varies] / batch).var(axis=(0, 1), ddof=1)
    error = np.sqrt(of_batches / (chains * batches)) / people[varies]
    draws = chains * batches * np.divide(within, of_batches, where=of_batches > 0, out=np.full_like(within, np.inf))
    return Mixing(float(r_hat.max()), float(min(draws.min(), chains * batches * batch)), float(error.max()))
