"""Laws of a secret and of what an attack and the imputation believe of it, and how often intervals of leaks miss.

Beliefs have a finite number of values, so that the true accuracies and Matthews correlations are sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from interval_coverage_cells import ERROR, ROUNDING, Miss
from leafgate.algorithms.intervals import upper_bound_of_all
from leafgate_plugins.inference.attributes.leaks import MEASURES, Beliefs, Measure, leaks_of

Numbers = NDArray[np.float64]
Row = tuple[float, ...]
Sizes = tuple[int, int]
SIZES: Sequence[Sizes] = ((30, 60), (600, 300), (3_000, 900))
"""People of the table and of the control."""
TOP = 100
"""Of how many people the positive predictive value is, as `attribute_leak` has it by default."""
TABLE = 10
"""The table has so many times the people who are targets."""


# --- Leaks ---


@dataclass(frozen=True)
class Person:
    """One kind of people: how probable, which value, and what the attack and the imputation believe."""

    probability: float
    truth: int
    attack: Row
    imputation: Row


@dataclass(frozen=True)
class BeliefLaw:
    """A law of one group of people."""

    kinds: tuple[Person, ...]

    @cached_property
    def probabilities(self) -> Numbers:
        return np.array([kind.probability for kind in self.kinds])

    @cached_property
    def all_kinds(self) -> Beliefs:
        """One person of each kind."""
        return Beliefs(
            np.array([kind.truth for kind in self.kinds]),
            np.array([kind.attack for kind in self.kinds]),
            np.array([kind.imputation for kind in self.kinds]),
        )

    def draw(self, people: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The kinds of people."""
        drawn = np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(people), side="right")
        return np.asarray(drawn, dtype=np.int64)

    def people(self, drawn: NDArray[np.int64]) -> Beliefs:
        """People of these kinds, posteriors column by column in memory, which is faster to compare."""
        kinds = self.all_kinds
        return Beliefs(kinds.truth[drawn], kinds.attack.T[:, drawn].T, kinds.imputation.T[:, drawn].T)

    def guesses(self, which: str) -> Numbers:
        """The probabilities of each guess: shape (n_kinds, n_values), equal where values tie."""
        posterior: Numbers = getattr(self.all_kinds, which)
        ties = posterior == posterior.max(axis=1, keepdims=True)
        return np.asarray(ties / ties.sum(axis=1, keepdims=True))

    def right(self, which: str) -> Numbers:
        """The probability that the guess is right: shape (n_kinds,)."""
        return np.asarray(self.guesses(which)[np.arange(len(self.kinds)), self.all_kinds.truth])

    def accuracy(self, which: str) -> float:
        return float(self.probabilities @ self.right(which))

    def correlation(self, which: str) -> float:
        """The Matthews correlation, 0 where all guesses are one."""
        guesses = self.probabilities @ self.guesses(which)
        truth = np.bincount(self.all_kinds.truth, weights=self.probabilities, minlength=len(guesses))
        spread = (1 - truth @ truth) * (1 - guesses @ guesses)
        return 0.0 if spread < ROUNDING else float((self.accuracy(which) - truth @ guesses) / math.sqrt(spread))

    @cached_property
    def true_gains(self) -> Mapping[Measure, float]:
        """What the attack gains over the imputation by accuracy and by the Matthews correlation, whoever is drawn."""
        return {
            "accuracy": self.accuracy("attack") - self.accuracy("imputation"),
            "mcc": self.correlation("attack") - self.correlation("imputation"),
        }

    @cached_property
    def right_by_beliefs(self) -> tuple[Numbers, Numbers]:
        """The probability that the guess is right given both beliefs, for attack and imputation."""
        beliefs = [(kind.attack, kind.imputation) for kind in self.kinds]
        alike = np.array([[one == another for one in beliefs] for another in beliefs]) * self.probabilities
        alike /= alike.sum(axis=1, keepdims=True)
        return alike @ self.right("attack"), alike @ self.right("imputation")

    def true_gain(self, measure: Measure, drawn: NDArray[np.int64], top: int) -> float:
        """What the attack gains over the imputation.

        Of the positive predictive value it is that of the people drawn: the mean probability that the guesses about
        the surest of them are right, given what is believed of them.
        """
        if measure != "ppv":
            return self.true_gains[measure]
        counts = np.bincount(drawn, minlength=len(self.kinds))
        attack, imputation = self.all_kinds.attack.max(axis=1), self.all_kinds.imputation.max(axis=1)
        of_attack, of_imputation = self.right_by_beliefs
        return mean_of_surest(attack, counts, of_attack, top) - mean_of_surest(imputation, counts, of_imputation, top)


def mean_of_surest(sure: Numbers, counts: NDArray[np.int64], right: Numbers, top: int) -> float:
    """The mean of `right` among the `top` surest people; of those who tie there, in equal parts."""
    total, rest = 0.0, top
    for level in np.unique(sure)[::-1]:
        here = counts * (sure == level)
        taken = min(rest, int(here.sum()))
        if taken:
            total += taken * float(here @ right) / float(here.sum())
        rest -= taken
    return total / top


@dataclass(frozen=True)
class LeakLaw:
    """Laws of people of the table and of the control."""

    table: BeliefLaw
    control: BeliefLaw


def sure_of(value: int, probability: float, values: int = 2) -> Row:
    """A belief in one value; the rest is divided equally."""
    return tuple(probability if each == value else (1 - probability) / (values - 1) for each in range(values))


EQUAL = (0.5, 0.5)


def law(kinds: Iterable[tuple[float, int, Row, Row]]) -> BeliefLaw:
    return BeliefLaw(tuple(Person(*kind) for kind in kinds if kind[0] > 0))


def rare_value() -> LeakLaw:
    """One in 200; the attack finds half of these, imputation nobody."""
    absent, found = sure_of(0, 0.995), sure_of(1, 0.8)
    return LeakLaw(
        law([(0.995, 0, absent, absent), (0.0025, 1, found, absent), (0.0025, 1, absent, absent)]),
        law([(0.995, 0, absent, absent), (0.005, 1, absent, absent)]),
    )


def ties() -> LeakLaw:
    """Imputation never decides, the attack for half of the table."""
    shares = (0.8, 0.2)
    table = [
        kind
        for truth, share in enumerate(shares)
        for kind in (
            (0.5 * share, truth, EQUAL, EQUAL),
            (0.45 * share, truth, sure_of(truth, 0.9), EQUAL),
            (0.05 * share, truth, sure_of(1 - truth, 0.9), EQUAL),
        )
    ]
    return LeakLaw(law(table), law((share, truth, EQUAL, EQUAL) for truth, share in enumerate(shares)))


def imputation_never_wrong() -> LeakLaw:
    kinds = law(
        (share * part, truth, sure_of(guess, 0.8), sure_of(truth, 0.9))
        for truth, share in enumerate((0.7, 0.3))
        for guess, part in ((truth, 0.9), (1 - truth, 0.1))
    )
    return LeakLaw(kinds, kinds)


def equal_beliefs() -> LeakLaw:
    kinds = law(
        (0.5 * part, truth, sure_of(guess, 0.7), sure_of(guess, 0.7))
        for truth in (0, 1)
        for guess, part in ((truth, 0.7), (1 - truth, 0.3))
    )
    return LeakLaw(kinds, kinds)


def attack_always_right() -> LeakLaw:
    """On the control the attack believes what the imputation does."""
    guessed = [
        (share * part, truth, sure_of(guess, 0.6))
        for truth, share in enumerate((0.7, 0.3))
        for guess, part in ((truth, 0.6), (1 - truth, 0.4))
    ]
    return LeakLaw(
        law((share, truth, sure_of(truth, 0.99), row) for share, truth, row in guessed),
        law((share, truth, row, row) for share, truth, row in guessed),
    )


def dependent_guesses() -> LeakLaw:
    """Both are mostly right about the same people; the attack is certain of one in 30 and right, imputation wrong."""

    def kinds(certain: float, *shares: float) -> BeliefLaw:
        rows = [
            (share / 2, truth, sure_of(attack ^ truth, 0.6), sure_of(imputation ^ truth, 0.6))
            for truth in (0, 1)
            for share, (attack, imputation) in zip(shares, product((0, 1), repeat=2), strict=True)
        ]
        return law([*rows, *((certain / 2, truth, sure_of(truth, 1), sure_of(1 - truth, 1)) for truth in (0, 1))])

    certain = 1 / 30
    return LeakLaw(kinds(certain, 0.4, 0.1, 0.05, 0.45 - certain), kinds(0.0, 0.5, 0.1, 0.1, 0.3))


def five_values() -> LeakLaw:
    """The attack is right for .6 of the table and .5 of the control; imputation mostly guesses the commonest value."""
    values = range(5)
    shares, guessed = (0.4, 0.3, 0.15, 0.1, 0.05), (0.8, 0.05, 0.05, 0.05, 0.05)

    def kinds(right: float) -> BeliefLaw:
        return law(
            (
                shares[truth] * guessed[imputation] * (right if attack == truth else (1 - right) / 4),
                truth,
                sure_of(attack, 0.6, 5),
                sure_of(imputation, 0.5, 5),
            )
            for truth, attack, imputation in product(values, repeat=3)
        )

    return LeakLaw(kinds(0.6), kinds(0.5))


LEAKS: Mapping[str, LeakLaw] = {
    "a value that one in 200 has": rare_value(),
    "ties": ties(),
    "imputation never wrong": imputation_never_wrong(),
    "attack believes what imputation does": equal_beliefs(),
    "attack always right": attack_always_right(),
    "dependent guesses, 1 in 30 certain": dependent_guesses(),
    "five values": five_values(),
}


def leak_misses(law: LeakLaw, sizes: Sizes, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw people once; whether one of the intervals of both leaks misses, by each measure."""
    groups = law.table, law.control
    drawn = [group.draw(size, rng) for group, size in zip(groups, sizes, strict=True)]
    table, control = (group.people(kinds) for group, kinds in zip(groups, drawn, strict=True))
    top = min(TOP, *sizes)
    for measure in MEASURES:
        gains = [group.true_gain(measure, kinds, top) for group, kinds in zip(groups, drawn, strict=True)]
        true = gains[0], gains[0] - gains[1]
        leaks = leaks_of(measure, table, control, TOP, ERROR)
        hold = (leak.low - ROUNDING <= gain <= leak.high + ROUNDING for leak, gain in zip(leaks, true, strict=True))
        yield f"attribute_leak by {measure}", not all(hold)


# --- People whose value is proved ---


PROOFS: Mapping[str, float] = {
    "nobody": 0.0,
    "one person": 1e-9,
    "one in 200": 0.005,
    "3 in a hundred": 0.03,
    "three in ten": 0.3,
    "all but 3 in a hundred": 0.97,
    "everybody": 1.0,
}
"""The share of the table whose value the release proves."""
_upper_bound_of_all = cache(upper_bound_of_all)


def proof_misses(share: float, sizes: Sizes, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw targets; whether fewer people of the table can have a proved value than have one."""
    people = TABLE * sizes[0]
    proved = math.ceil(share * people)
    count = int(rng.hypergeometric(proved, people - proved, sizes[0]))
    yield "attribute_certain", _upper_bound_of_all(count, sizes[0], people, ERROR) < proved
