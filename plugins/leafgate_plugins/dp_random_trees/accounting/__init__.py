"""Privacy accounting of forests of sampled, thresholded trees: (epsilon, delta) and a lower bound on epsilon.

`theorem` is the printed guarantee, `pld` the privacy-loss distribution of one counter and its composition. No data is
read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from leafgate.api import PolicyError
from leafgate.kernel.components import Neighbours
from leafgate_plugins.dp_random_trees.accounting import theorem
from leafgate_plugins.dp_random_trees.accounting.pld import (
    ROUNDING,
    PrivacyLosses,
    discrete_laplace_loss,
    group_delta,
    optimistic_losses,
    pessimistic_losses,
)

if TYPE_CHECKING:
    from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees, DpRandomTrees


Method = Literal["theorem", "tight"]
LOWER_BOUND_PAIRS = 16
"""So many pairs of tables the lower bound tries: from k people in a counter to half as many again as are needed to
keep k of them, on average, each time more by the same factor."""


@dataclass(frozen=True)
class Forest:
    """How the trees are made: each keeps a person with probability `beta` and shows counters from `k` up."""

    k: int
    beta: float
    trees: int

    def __post_init__(self) -> None:
        for name, fine, wanted in (
            ("k", self.k >= 1, "a whole number of people, 1 or more"),
            ("beta", 0 < self.beta < 1, "a probability between 0 and 1"),
            ("trees", self.trees >= 1, "1 or more"),
        ):
            if not fine:
                raise PolicyError("is out of range", place=name, remedy=f"give {wanted}")

    @property
    def floor(self) -> float:
        """The delta that no epsilon can go below: the chance that some counter of k people shows all of them."""
        return -math.expm1(self.trees * math.log1p(-(self.beta**self.k)))


@dataclass(frozen=True)
class Account:
    """(epsilon, delta)-differential privacy of a forest."""

    k: int
    beta: float
    trees: int
    neighbours: Neighbours
    method: Method
    delta: float
    epsilon: float

    @cached_property
    def epsilon_lower(self) -> float:
        """The epsilon that no account can be below, in nats; worked out when it is first asked for."""
        if self.delta >= 1:
            return min(0.0, self.epsilon)
        pairs = _pairs(Forest(self.k, self.beta, self.trees), self.neighbours)
        return min(max(each.epsilon(self.trees, self.delta) for each in pairs), self.epsilon)

    def document(self) -> dict[str, Any]:
        """As JSON; an epsilon that is infinite is null."""
        fields = asdict(self) | {"epsilon_lower": self.epsilon_lower}
        return {name: None if result == math.inf else result for name, result in fields.items()}


def at_delta(forest: Forest, delta: float, method: Method = "tight", neighbours: Neighbours = "add_remove") -> Account:
    """The account with the smallest epsilon at `delta` (between 0 and 1).

    Raises InvalidError where no epsilon is enough, with the reason.
    """
    if not 0 < delta < 1:
        raise PolicyError("is out of range", place="delta", remedy="give a probability between 0 and 1")
    if delta < forest.floor:
        raise PolicyError(
            f"no epsilon is enough: with chance {forest.floor:.3g} a counter of k people shows all of them",
            place="delta",
            remedy="raise k, lower beta, or grow fewer trees",
        )
    if method == "theorem":
        epsilon = _theorem_epsilon(forest, delta, neighbours)
    else:
        epsilon = pessimistic_losses(forest.k, forest.beta, neighbours).epsilon(forest.trees, delta)
    return Account(forest.k, forest.beta, forest.trees, neighbours, method, delta, epsilon)


def at_epsilon(
    forest: Forest, epsilon: float, method: Method = "tight", neighbours: Neighbours = "add_remove"
) -> Account:
    """The account with the smallest delta at a total `epsilon` (above 0, in nats)."""
    if not 0 < epsilon < math.inf:
        raise PolicyError("is out of range", place="epsilon", remedy="give a number above 0")
    if method == "theorem":
        delta = _theorem_delta(forest, epsilon, neighbours)
    else:
        delta = pessimistic_losses(forest.k, forest.beta, neighbours).delta(forest.trees, epsilon)
        delta = min(delta, _theorem_delta(forest, epsilon, neighbours))  # below 1e-14 rounding in the library dominates
    return Account(forest.k, forest.beta, forest.trees, neighbours, method, delta, epsilon)


def _pairs(forest: Forest, neighbours: Neighbours) -> list[PrivacyLosses]:
    most = 1.5 / forest.beta
    people = {round(forest.k * most ** (i / (LOWER_BOUND_PAIRS - 1))) for i in range(LOWER_BOUND_PAIRS)}
    return [optimistic_losses(forest.k, forest.beta, n, neighbours) for n in sorted(people)]


def _theorem_delta(forest: Forest, epsilon: float, neighbours: Neighbours) -> float:
    """Theorem 5 tree by tree; to replace a person is to remove one and add one."""
    if neighbours == "add_remove":
        return theorem.delta_of(forest.k, forest.beta, forest.trees, epsilon)
    once = theorem.delta_of(forest.k, forest.beta, forest.trees, epsilon / 2)
    return min((1 + math.exp(min(epsilon / 2, 700))) * once, 1.0)


def _theorem_epsilon(forest: Forest, delta: float, neighbours: Neighbours) -> float:
    if neighbours == "add_remove":
        return theorem.epsilon_of(forest.k, forest.beta, forest.trees, delta)
    low = 2 * forest.trees * -math.log1p(-forest.beta)
    high = 1.05 * low
    while _theorem_delta(forest, high, neighbours) > delta:  # falls, and rises again
        low, high = high, 1.05 * high
        if high > 100 * forest.trees:
            return math.inf
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (low, middle) if _theorem_delta(forest, middle, neighbours) <= delta else (middle, high)
    return high


SAMPLING_RATES = tuple(i / 100 for i in range(1, 51))
"""The sampling rates that are tried."""


@dataclass(frozen=True)
class FeasibleParameters:
    """The largest rate at which so many trees with this k keep the promise; None where not even the smallest does."""

    k: int
    trees: int
    beta: float | None


def feasible_parameters(
    epsilon: float, delta: float, ks: Sequence[int], trees: Sequence[int], neighbours: Neighbours = "add_remove"
) -> Iterator[FeasibleParameters]:
    """One answer for each k and number of trees, by the tight account; no table is looked at.

    The loss grows with the rate, so bisection finds the largest rate.
    """

    @cache
    def losses(k: int, rate: float) -> PrivacyLosses:
        return pessimistic_losses(k, rate, neighbours, every=4)

    def keeps(k: int, n: int, rate: float) -> bool:
        return Forest(k, rate, n).floor <= delta and losses(k, rate).delta(n, epsilon) <= delta

    for k in ks:
        for n in trees:
            low, high = -1, len(SAMPLING_RATES)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if keeps(k, n, SAMPLING_RATES[middle]) else (low, middle)
            yield FeasibleParameters(k, n, SAMPLING_RATES[low] if low >= 0 else None)


DEFAULT_TREES = 128
"""Trees of a forest when the policy sets neither `epsilon` nor `trees`."""
DEFAULT_RATE = 0.075
"""Sampling rate of a forest when the policy sets neither `epsilon` nor `beta`."""
MAX_TREES = 1_000
"""The largest number of trees that is considered."""
MIN_USEFUL_TREES = 64
"""With fewer trees most pairs of columns are never tested together."""
MAX_USEFUL_TREES = 256
"""With more trees only the fitting takes longer."""

CLAIM_DENOMINATOR = 1e6
"""A claim is rounded up to one over this."""


def choose_forest(options: DpRandomTrees, most_rows: int = 1) -> Forest:
    """The forest of these options or, by the tight account, one that keeps the promise they want.

    Raises PolicyError where the promise cannot be kept. Looks at no table; a person has up to `most_rows` rows.
    """
    rows, neighbours = rows_changed(most_rows, options.neighbours)
    if options.epsilon is not None and rows > 1:
        epsilon = options.epsilon / rows
        delta = options.delta / group_delta(rows, epsilon, 1.0)
        if delta < ROUNDING:
            raise _refusal(f"no forest keeps it for persons who may have {most_rows:,} rows")
        options = options.model_copy(update={"epsilon": epsilon, "delta": delta, "neighbours": neighbours})
    if options.epsilon is None:
        return Forest(options.k, options.beta or DEFAULT_RATE, options.trees or DEFAULT_TREES)
    wanted = options.epsilon, options.delta, options.neighbours
    if options.trees is None and options.beta is None:
        return _choose_trees_and_rate(options.k, *wanted)
    if options.beta is None:
        return _choose_rate(options.k, options.trees or DEFAULT_TREES, *wanted)
    allowed = _max_trees(options.k, options.beta, *wanted)
    if (options.trees or 1) > allowed:
        raise _refusal(f"so many trees cannot keep it: {allowed} can" if allowed else "not even one tree keeps it")
    return Forest(options.k, options.beta, options.trees or allowed)


def _choose_trees_and_rate(k: int, epsilon: float, delta: float, neighbours: Neighbours) -> Forest:
    """As many trees as the default rate allows, or another rate where that number of trees is not useful."""
    trees = _max_trees(k, DEFAULT_RATE, epsilon, delta, neighbours)
    if MIN_USEFUL_TREES <= trees <= MAX_USEFUL_TREES:
        return Forest(k, DEFAULT_RATE, trees)
    return _choose_rate(
        k, MIN_USEFUL_TREES if trees < MIN_USEFUL_TREES else MAX_USEFUL_TREES, epsilon, delta, neighbours
    )


@cache
def _choose_rate(k: int, trees: int, epsilon: float, delta: float, neighbours: Neighbours) -> Forest:
    """So many trees with the largest rate, to a hundredth, that keeps the promise."""
    rate = next(feasible_parameters(epsilon, delta, (k,), (trees,), neighbours)).beta
    if rate is None:
        raise _refusal(f"no rate lets {trees} trees keep it")
    return Forest(k, rate, trees)


def _refusal(why: str) -> PolicyError:
    return PolicyError(why, place="build.epsilon", remedy="raise k, lower beta, or grow fewer trees")


@cache
def _max_trees(k: int, beta: float, epsilon: float, delta: float, neighbours: Neighbours) -> int:
    """The most trees, up to MAX_TREES, that satisfy the guarantee; found by bisection."""
    losses = pessimistic_losses(k, beta, neighbours)
    low, high = 0, MAX_TREES + 1
    while high - low > 1:
        middle = (low + high) // 2
        keeps = Forest(k, beta, middle).floor <= delta and losses.delta(middle, epsilon) <= delta
        low, high = (middle, high) if keeps else (low, middle)
    return low


def sampling_claim(options: DpRandomTrees, forest: Forest, most_rows: int | None = None) -> dict[str, Any]:
    """The claim of a sampled forest: its tight epsilon, and the printed theorem's beside it, which is of one row.

    Args:
        options: of the builder.
        forest: that was grown.
        most_rows: the most rows of a person, which the claim then states; None where every row is a person.
    """
    delta = options.delta
    epsilon = sampling_epsilon(forest, delta, options.neighbours, most_rows or 1)
    if math.isinf(epsilon):
        raise _refusal("no epsilon is enough at this delta")
    claim = {"at_most": round_up(epsilon), "delta": delta, "neighbours": options.neighbours}
    if most_rows is not None:
        return claim | {"rows_at_most": most_rows}
    theorem = account(forest, delta, "theorem", options.neighbours).epsilon
    return claim | {"theorem": round_up(theorem) if math.isfinite(theorem) else None}


def rows_changed(most_rows: int, neighbours: Neighbours) -> tuple[int, Neighbours]:
    """By how many rows tables differ where a person has up to `most_rows` rows, and how by each of them.

    A person in the place of another has rows of another number: all of one's rows are removed, and the other's added.
    """
    if most_rows == 1:
        return 1, neighbours
    return most_rows * (2 if neighbours == "replace_one" else 1), "add_remove"


@cache
def sampling_epsilon(forest: Forest, delta: float, neighbours: Neighbours, most_rows: int = 1) -> float:
    """The tight epsilon of a forest at `delta`, for persons with up to `most_rows` rows; infinite where none is enough.

    Raises PolicyError for a delta below the forest's floor where every person has one row.
    """
    rows, by_row = rows_changed(most_rows, neighbours)
    if rows == 1:
        return account(forest, delta, "tight", neighbours).epsilon
    return pessimistic_losses(forest.k, forest.beta, by_row).group_epsilon(forest.trees, delta, rows)


@cache
def account(forest: Forest, delta: float, method: Method, neighbours: Neighbours) -> Account:
    """The account of a forest, made once: it depends on no data."""
    return at_delta(forest, delta, method, neighbours)


def noise_claim(options: DpLaplaceTrees, most_rows: int | None = None) -> dict[str, Any]:
    """The claim of a forest with discrete Laplace noise on every count: its epsilon at the options' delta."""
    epsilon = noise_epsilon(options.trees, options.scale, options.delta, options.neighbours, most_rows or 1)
    claim = {"at_most": round_up(epsilon), "delta": options.delta, "neighbours": options.neighbours}
    return claim if most_rows is None else claim | {"rows_at_most": most_rows}


@cache
def noise_epsilon(trees: int, scale: float, delta: float, neighbours: Neighbours, most_rows: int = 1) -> float:
    """The epsilon at `delta` of numbers with discrete Laplace noise in each of so many trees; at 0 they add up.

    Persons have up to `most_rows` rows.
    """
    rows, by_row = rows_changed(most_rows, neighbours)
    pure = rows * trees / scale * (2 if by_row == "replace_one" else 1)
    if delta == 0:
        return pure
    losses = PrivacyLosses((discrete_laplace_loss(scale, by_row),))
    return min(pure, losses.epsilon(trees, delta) if rows == 1 else losses.group_epsilon(trees, delta, rows))


def round_up(epsilon: float) -> float:
    """Rounded up, so that what is claimed can be read."""
    return math.ceil(epsilon * CLAIM_DENOMINATOR) / CLAIM_DENOMINATOR
