"""Two leaks of a column: what an attack gains over imputation, and by how much more on the table than on the control.

Each is measured by accuracy, by the positive predictive value of the surest people (of all values, or of one, which may
be rare) or by the Matthews correlation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from leafgate.algorithms.correlation import correlation_gain, matthews_correlation
from leafgate.algorithms.intervals import Estimate, accuracy_gain, largest, predictive_value_gain
from leafgate.api import lazy

if TYPE_CHECKING:
    import numpy as np

    from leafgate.api import Codes, Floats, Mask

    Posterior = Floats
else:
    np = lazy("numpy")

TIE_DECIMALS = 9
"""Probabilities that are equal to so many decimals are ties, as floating point makes small differences."""
SEED = 0
"""Ties are broken, and intervals drawn, by random numbers from this seed, in the random order of the targets."""

Measure = Literal["accuracy", "ppv", "mcc"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


def most_probable(posterior: Posterior) -> Mask:
    """Which values of each person are the most probable ones, several where they tie: the shape of `posterior`.

    >>> most_probable(np.array([[0.25, 0.5, 0.25], [0.4, 0.4, 0.2]])).tolist()
    [[False, True, False], [True, True, False]]
    """
    rounded = np.round(posterior, TIE_DECIMALS)
    return np.asarray(rounded == rounded.max(axis=1, keepdims=True))


def sureness(posterior: Posterior) -> Posterior:
    """The probability of each person's most probable value, rounded so that ties are equal: shape (n_people,)."""
    return np.asarray(np.round(posterior.max(axis=1), TIE_DECIMALS))


def best_guess(posterior: Posterior, rng: np.random.Generator) -> Codes:
    """The most probable value of each person; one of those that tie is drawn.

    Args:
        posterior: shape (n_people, n_values).
        rng: breaks ties; it must not depend on the truth. Equal generators draw equal values of equal posteriors.

    Returns:
        Shape (n_people,), positions of values.

    >>> best_guess(np.array([[0.1, 0.9], [0.8, 0.2]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    return np.asarray(np.where(most_probable(posterior), rng.random(posterior.shape), -1.0).argmax(axis=1), np.int64)


def surest_people(posterior: Posterior, top: int, rng: np.random.Generator) -> Codes:
    """The people whose most probable value has the highest probability; ties are broken at random.

    Args:
        posterior: shape (n_people, n_values).
        top: how many people, from 1; all of them where there are fewer.
        rng: as `best_guess` takes it.

    Returns:
        Shape (min(top, n_people),), positions of people, the surest one first.

    >>> surest_people(np.array([[0.5, 0.5], [0.1, 0.9], [0.8, 0.2]]), 2, np.random.default_rng(0)).tolist()
    [1, 2]
    """
    return np.lexsort((rng.random(len(posterior)), -sureness(posterior)))[:top].astype(np.int64)


@dataclass(frozen=True)
class Beliefs:
    """What the attack and the imputation believe of some people, beside the truth.

    Attributes:
        truth: shape (n_people,), the position of each one's value.
        attack: shape (n_people, n_values), the attack's posterior.
        imputation: of the same shape, the posterior without the model.
        value: the position of the value that a positive predictive value is of; None where it is of each person's most
            probable one.
    """

    truth: Codes
    attack: Posterior
    imputation: Posterior
    value: int | None = None

    def __len__(self) -> int:
        """How many people there are."""
        return len(self.truth)

    def where(self, mask: Mask) -> Beliefs:
        """Some of the people."""
        return Beliefs(self.truth[mask], self.attack[mask], self.imputation[mask], self.value)

    @cached_property
    def attack_right(self) -> Mask:
        """For whom the attack's guess is right, the best one or `value`: shape (n_people,)."""
        return self._right(self.attack)

    @cached_property
    def imputation_right(self) -> Mask:
        """For whom the imputation's guess is right: shape (n_people,)."""
        return self._right(self.imputation)

    def _right(self, posterior: Posterior) -> Mask:
        guess = best_guess(posterior, tie_rng()) if self.value is None else self.value
        return np.asarray(guess == self.truth)

    def guessed_columns(self, posterior: Posterior) -> Posterior:
        """The columns of a posterior that say how sure a guess is: of all values, or of `value`."""
        return posterior if self.value is None else posterior[:, [self.value]]


def tie_rng() -> np.random.Generator:
    """Equal random numbers each time, so that equal posteriors have equal guesses."""
    return np.random.default_rng(SEED)


def measured(measure: Measure, truth: Codes, posterior: Posterior, top: int, value: int | None = None) -> float:
    """How good a posterior is by one measure: the mean of it over all ways to break ties.

    Args:
        measure: which one.
        truth: shape (n_people,), positions of values, from one person.
        posterior: shape (n_people, n_values).
        top: of how many people the positive predictive value is, from 1; all where there are fewer.
        value: of which value it is; as `Beliefs.value`.

    Returns:
        Accuracy: the share of people whose most probable value is right. Positive predictive value: that share among
        the people whose most probable value has the highest probability; of one value: the share of people who have it,
        among those of whom it has the highest probability. Matthews correlation, of the mean shares: from -1 to 1.
    """
    if measure == "ppv" and value is not None:
        return _mean_of_surest((truth == value).astype(float), sureness(posterior[:, [value]]), top)
    ties = most_probable(posterior)
    guesses = ties / ties.sum(axis=1, keepdims=True)
    right = guesses[np.arange(len(truth)), truth]
    if measure == "mcc":
        shares = np.bincount(truth, minlength=posterior.shape[1])[None] / len(truth)
        return float(matthews_correlation(right.mean(keepdims=True), shares, guesses.mean(axis=0, keepdims=True))[0])
    return _mean_of_surest(right, sureness(posterior), top) if measure == "ppv" else float(right.mean())


def _mean_of_surest(right: Posterior, sure: Posterior, top: int) -> float:
    """The mean of `right` among the `top` people of the highest `sure`; of those who tie there, in equal parts."""
    top = min(top, len(sure))
    threshold = np.partition(sure, len(sure) - top)[len(sure) - top]
    surer, ties = sure > threshold, sure == threshold
    return float((right[surer].sum() + (top - surer.sum()) * right[ties].mean()) / top)


def gain(measure: Measure, people: Beliefs, top: int, error: float) -> Estimate:
    """What the attack gains over the imputation by one measure, with an interval.

    The gain is the mean over all ways to break ties; the interval is of one of these ways, drawn at random.

    Args:
        measure: which one.
        people: from one.
        top: as `measured` takes it.
        error: the probability that the interval misses the true gain is at most this, for the Matthews correlation
            approximately; in (0, 1).
    """
    attacked, imputed = (
        measured(measure, people.truth, each, top, people.value) for each in (people.attack, people.imputation)
    )
    value = attacked - imputed
    interval = _with_ties_broken(measure, people, top, error)
    return Estimate(value, min(interval.low, value), max(interval.high, value))


def _with_ties_broken(measure: Measure, people: Beliefs, top: int, error: float) -> Estimate:
    """The same with ties broken."""
    if measure == "accuracy":
        return accuracy_gain(people.attack_right, people.imputation_right, error)
    if measure == "ppv":
        attack, imputation = (
            surest_people(people.guessed_columns(each), top, tie_rng()) for each in (people.attack, people.imputation)
        )
        return predictive_value_gain(people.attack_right[attack], people.imputation_right[imputation], error)
    attacked, guessed = best_guess(people.attack, tie_rng()), best_guess(people.imputation, tie_rng())
    return correlation_gain(people.truth, attacked, guessed, people.attack.shape[1], error, tie_rng())


class Leaks(NamedTuple):
    """Both leaks of a column.

    Attributes:
        over_imputation: the attack less the imputation, for people of the table.
        over_control: the same less the attack less the imputation for people of the control.
    """

    over_imputation: Estimate
    over_control: Estimate

    @property
    def larger(self) -> Estimate:
        """The larger leak. Where both intervals hold, its true size is between these ends."""
        return largest(self)


def leaks_of(measure: Measure, table: Beliefs, control: Beliefs, top: int, error: float) -> Leaks:
    """Both leaks, with intervals that hold together.

    Args:
        measure: by what both are measured.
        table: people of the table, from one.
        control: people of the control, from one.
        top: as `measured` takes it.
        error: the probability that one of both intervals misses is at most this; in (0, 1).
    """
    top = min(top, len(table), len(control))
    of_table, of_control = (gain(measure, people, top, error / 2) for people in (table, control))
    return Leaks(of_table, of_table.minus(of_control))
