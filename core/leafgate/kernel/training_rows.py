"""What a model's file states of the rows that its trees were grown on, as attacks get it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy("numpy")


@dataclass(frozen=True, kw_only=True)
class Bags:
    """The rows that each tree drew with replacement, as the seeds in a model's file give them back.

    Attributes:
        seeds: for each tree that of numpy's `RandomState`.
        n_rows: how many rows there were.
        n_draws: how many of them each tree drew.
    """

    seeds: tuple[int, ...]
    n_rows: int
    n_draws: int

    def of_tree(self, number: int) -> NDArray[np.int64]:
        """How often a tree drew each row: shape (n_rows,).

        Source: scikit-learn, sklearn/ensemble/_forest.py, `_generate_sample_indices`. Some versions ask numpy for
        numbers of 32 bits, which are the same ones.
        """
        drawn = np.random.RandomState(self.seeds[number]).randint(0, self.n_rows, self.n_draws)
        return np.bincount(drawn, minlength=self.n_rows)

    @property
    def draws(self) -> NDArray[np.int64]:
        """How often each tree drew each row: shape (n_rows, n_trees)."""
        return np.column_stack([self.of_tree(number) for number in range(len(self.seeds))])


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRows:
    """What a model's published file states of the rows that its trees were grown on.

    Attributes:
        people: how many rows the trees were grown on; None where the file does not say so. Rows that were set aside to
            know when to stop are not among them.
        on_leaves: for each tree of the release how many rows are on each of its leaves, shape (n_leaves,); None where
            the file does not say so of all rows. Where trees drew their rows, those that were drawn, each once.
        drawn: where each tree drew its rows with replacement the same, each row as often as it was drawn; else empty.
        sums: for each tree the sum over the rows on each leaf of the number that the model predicts, or how many of
            them have the class of `outputs`, shape (n_leaves,), rows as often as they were drawn; None where that does
            not follow.
        outputs: for each tree the class of which `sums` are; None for the number that the model predicts.
        bags: how often each tree drew each row; rows in the order of the training, in which nobody knows who is who.
            None where the file has no seeds, or its trees do not agree with them.
    """

    people: int | None
    on_leaves: tuple[NDArray[np.float64] | None, ...]
    drawn: tuple[NDArray[np.float64] | None, ...] = ()
    sums: tuple[NDArray[np.float64] | None, ...] = ()
    outputs: tuple[str | None, ...] = ()
    bags: Bags | None = None
