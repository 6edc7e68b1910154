"""Numbers of people that a model's file has on the nodes of its trees, and how its rows were drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leafgate.kernel.arrays import Floats, Ids

NumberKind = Literal["rows", "parts", "draws", "weight", "hessian"]
"""What a number counts: training rows; training rows, those with missing cells in part; rows drawn with replacement;
weights of rows that nobody knows; second derivatives of the loss."""

OF_PEOPLE: frozenset[NumberKind] = frozenset({"rows", "parts", "draws"})
"""The kinds of numbers that count people."""

Loss = Literal["constant", "logistic", "softmax", "hinge", "exponential", "bounded", "unknown"]
"""How a person's second derivative follows from the scores; `bounded`: it is 1 at most, `unknown`: not at all."""

MISCOUNTED = (
    "scikit-learn before 1.8 counts some people with missing cells at other nodes than it sends them to: fit the model "
    "again with 1.8 or later"
)
"""What to know of trees of scikit-learn that were fitted on missing cells."""

MAX_HESSIAN: Mapping[Loss, float] = {
    **{"constant": 1.0, "logistic": 0.25, "softmax": 0.25},
    **{"hinge": 1.0, "exponential": math.inf, "bounded": 1.0, "unknown": math.inf},
}
"""The largest second derivative of one person, before factors."""


@dataclass(frozen=True, eq=False)
class NodeNumbers:
    """One kind of number of a tree's nodes: `name` is what the file calls it.

    `values` has shape (n_nodes,), or (n_nodes, n_classes) for numbers by class; NaN where the file has none. Where the
    file's nodes are not the tree's, `members` pairs positions in `values` with nodes of the tree: the people of a
    number are those of all its nodes. `kind` is what is counted: `rows` (training rows), `parts` (rows, those with
    missing cells in part), `draws` (rows drawn with replacement), `weight` (weights of rows that nobody knows) or
    `hessian` (sums of second derivatives). `class_weights` are what a person of each of the model's classes weighs,
    where the file states it of numbers of the kind `weight`; else it is empty.
    """

    name: str
    kind: NumberKind
    values: Floats
    members: tuple[Ids, Ids] | None = None
    class_weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """How a tree's rows were drawn from the rows the model was trained on, as the file records it.

    `rate` is the least and the largest probability of a row to be among them, `root` the same for all rows of a tree
    together where that is known better. `held_out` rows (below 1: that share) were set aside before. `draws` rows (a
    float: that share of all) were drawn with replacement; None where no row was drawn twice. `bag_seeds` are the seeds
    from which numpy's `RandomState` draws each tree's rows again, and `bag_rows` the rows that these are of, where the
    file has them; both say no more of how likely a row is drawn, and are not compared.
    """

    rate: tuple[float, float] = (1.0, 1.0)
    root: tuple[float, float] | None = None
    held_out: float = 0.0
    draws: float | int | None = None
    bag_seeds: tuple[int, ...] = field(default=(), compare=False)
    bag_rows: int | None = field(default=None, compare=False)

    def share(self, people: int, subsample: float) -> float:
        """The share of the table's people that are training rows."""
        away = self.held_out if self.held_out < 1 else math.ceil(self.held_out) / people
        return max(0.0, 1 - away) * subsample

    def drawn(self, people: int, subsample: float) -> float | None:
        """How many rows are drawn with replacement."""
        if self.draws is None:
            return None
        return float(self.draws) if isinstance(self.draws, int) else max(1, round(self.draws * people * subsample))

    def rates(self, people: int, subsample: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Least and largest probability of a person to be among a tree's rows: of one person, and of all on average."""
        share, draws = self.share(people, subsample), self.drawn(people, subsample)
        if draws is not None:
            rows = max(1.0, share * people)
            in_bag = share * -math.expm1(draws * math.log1p(-1 / rows)) if rows > 1 else share
            return (in_bag, in_bag), (in_bag, in_bag)
        one = (self.rate[0] * share, self.rate[1] * share)
        return one, one if self.root is None else (self.root[0] * share, self.root[1] * share)


NO_SAMPLING = Sampling()


@dataclass(frozen=True)
class Hessians:
    """How the sums of second derivatives follow from the scores.

    With `logistic` a person has `factor * scale^2 * p (1 - p)`, p being the logistic function of `scale` times the
    score; with `softmax` `factor * p (1 - p)` for each class, or their sum where a tree is about all classes; with
    `constant` `factor`; with `exponential` `factor` times the exponential of the score; with `hinge` 1 where the score
    is on the wrong side of the margin, else 0. People of the last class weigh `positive` times as much.

    `rounds` says of each tree in which round it was grown; `start` are the scores before the first, None where they
    are the link of the classes' shares: then the first trees' scores hold them. After the first round nothing is known
    unless `later`. `rounding` is the relative error of the sums as the file writes them.

    Source: XGBoost 3.2, src/objective/regression_loss.h and multiclass_obj.cu; LightGBM 4.7,
    src/objective/binary_objective.hpp and multiclass_objective.hpp.
    """

    loss: Loss
    rounds: tuple[int, ...]
    start: tuple[float, ...] | None = (0.0,)
    factor: float = 1.0
    scale: float = 1.0
    positive: float = 1.0
    later: bool = True
    rounding: float = 0.0

    @property
    def most(self) -> float:
        """The largest second derivative that anybody may have; infinite where that is not known."""
        scale = self.scale**2 if self.loss == "logistic" else 1.0
        return MAX_HESSIAN[self.loss] * self.factor * scale * max(1.0, self.positive)

    def known(self, round: int) -> bool:
        """Does a person's second derivative in this round follow from the file and the table?"""
        return self.loss not in {"bounded", "unknown"} and (self.later or round == 0)
