"""An honest builder, and what can be wrong with one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate import InconclusiveError, Release
from leafgate.api import CategoricalSplit, TreeBuilder

if TYPE_CHECKING:
    import numpy as np

    from leafgate import Table
    from leafgate.api import Column


class ByColumn(TreeBuilder):
    """One leaf for each value of the column with the first name."""

    use: str = "by_column"

    threat_model = "None: this builder protects nobody."
    formula = "people of each class by the value of one column"
    source = "counting"

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate.api import Branch, Leaf

        column, classes = self.asked(table), table.schema.classes
        leaves = (
            Leaf(classes[int(row.argmax())], dict(zip(classes, row.tolist(), strict=True)))
            for row in self.counts(table, column)
        )
        branches = tuple(Branch((value,), leaf) for value, leaf in zip(column.domain, leaves, strict=True))
        return Release(self.described(), table.schema, (CategoricalSplit(column.name, branches),))

    def asked(self, table: Table) -> Column:
        """The column that the tree asks."""
        found = [column for column in table.schema.features if column.values is not None]
        if not found:
            raise InconclusiveError("asks a column that has values")
        return min(found, key=lambda column: column.name)

    def counts(self, table: Table, column: Column, weight: Any = None) -> np.ndarray:
        """People by value of the column, and by class."""
        import numpy as np

        counts = np.zeros((len(column.domain), len(table.schema.classes)), dtype=np.int64)
        weight = table.weight if weight is None else weight
        np.add.at(counts, (table.codes(column.name), table.codes(table.schema.target.name)), weight)
        return counts


class WritesInputs(ByColumn):
    """Adds a column to the table it is handed."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        table.frame["leaf"] = 0
        return super().build(table, rng)


class SecretlyRandom(ByColumn):
    """Tosses coins, and says that it tosses none."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return replace(super().build(table, rng), selection={"measure": "none", "coin": int(rng.integers(2**40))})


class CountsRows(ByColumn):
    """Counts rows, not people."""

    def counts(self, table: Table, column: Column, weight: Any = None) -> np.ndarray:
        import numpy as np

        return super().counts(table, column, np.ones(len(table), dtype=np.int64))


class SortsLabels(ByColumn):
    """Takes the classes for sorted by name."""

    def counts(self, table: Table, column: Column, weight: Any = None) -> np.ndarray:
        found, classes = super().counts(table, column), list(table.schema.classes)
        return found[:, [classes.index(name) for name in sorted(classes)]]


class ByPosition(ByColumn):
    """Asks whatever column stands first."""

    def asked(self, table: Table) -> Column:
        found: Sequence[Column] = [column for column in table.schema.features if column.values is not None]
        if not found:
            raise InconclusiveError("asks a column that has values")
        return found[0]


class Crashes(ByColumn):
    """Takes for granted that there is a column to ask."""

    def asked(self, table: Table) -> Column:
        return {column.name: column for column in table.schema.features}["town"]


class Unwritable(ByColumn):
    """Says of itself what no file can hold."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return replace(super().build(table, rng), guarantee={"k": {1, 2}})


class Described(ByColumn):
    """Says something more of how it was built."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        made = super().build(table, rng)
        return replace(made, builder={**made.builder, "also": self.also(table)})

    def also(self, table: Table) -> Any:
        raise NotImplementedError


class SpillsRow(Described):
    """Says what stands in a row."""

    def also(self, table: Table) -> Any:
        return max(map(str, table.frame.astype(object).to_numpy().tolist()))


class FirstRow(Described):
    """Goes by who stands first."""

    def also(self, table: Table) -> Any:
        return int(table.codes(self.asked(table).name)[0])


class Mislabels(ByColumn):
    """Labels a leaf with what the fewest people there are."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        made = super().build(table, rng)
        (fan,) = made.trees
        assert isinstance(fan, CategoricalSplit)
        branches = (replace(branch, node=self.rarest(branch.node)) for branch in fan.branches)
        return replace(made, trees=(replace(fan, branches=tuple(branches)),))

    def rarest(self, leaf: Any) -> Any:
        return replace(leaf, label=min(leaf.counts, key=leaf.counts.get))


class CallsOutBelow(ByColumn):
    """Sends something by what `socket` itself is built upon."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        import _socket

        with suppress(OSError):
            out = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
            try:
                out.sendto(b"", ("192.0.2.1", 9))
            finally:
                out.close()
        return super().build(table, rng)


class SetsEnvironment(ByColumn):
    """Leaves something behind in the environment."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        os.environ["LEAFGATE_SEEN"] = "1"
        return super().build(table, rng)


class SilencesNumpy(ByColumn):
    """Leaves numpy silent about what cannot be computed."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        import numpy as np

        np.seterr(all="ignore")
        return super().build(table, rng)


BROKEN_BUILDERS: tuple[tuple[TreeBuilder, str], ...] = (
    (Unwritable(), "works"),
    (SecretlyRandom(), "runs_apart"),
    (WritesInputs(), "runs_apart"),
    (SetsEnvironment(), "runs_apart"),
    (SilencesNumpy(), "runs_apart"),
    (CallsOutBelow(), "runs_apart"),
    (CountsRows(), "counts_people"),
    (SortsLabels(), "any_label_order"),
    (Mislabels(), "counts_truly"),
    (FirstRow(), "any_row_order"),
    (SpillsRow(), "tells_nobody"),
    (ByPosition(), "any_column_order"),
    (Crashes(), "errs_in_words"),
)
