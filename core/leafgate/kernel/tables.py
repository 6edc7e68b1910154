"""The tables of a run: the people whom a release is learned from, and the others whom a policy names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.table import Table


@dataclass(frozen=True)
class Tables:
    """All tables of a run.

    Attributes:
        people: the people whom the release is learned from.
        test: others, for metrics of use; they are the control where the policy names none.
        control: people who are not in the table, with all its columns.
        population: the public columns of the population.
        known: the people in the table whose secrets the adversary knows by the policy's `knows`.
        known_by_attack: the same of each attack that names a file in its own `knows`, by the attack's name.
    """

    people: Table | LargeTable
    test: Table | None = None
    control: Table | None = None
    population: Table | None = None
    known: Table | None = None
    known_by_attack: Mapping[str, Table] = field(default_factory=dict)

    @cached_property
    def in_memory(self) -> Table:
        """The people; of those who do not fit into memory the columns, without rows."""
        return self.people.without_rows if isinstance(self.people, LargeTable) else self.people

    def changed(self, people: Table, change: Callable[[Table], Table]) -> Tables:
        """The tables with these people, all others changed but for the population, which has no secrets."""
        optional = (self.test, self.control, self.known)
        test, control, known = (None if each is None else change(each) for each in optional)
        by_attack = {name: change(table) for name, table in self.known_by_attack.items()}
        return replace(self, people=people, test=test, control=control, known=known, known_by_attack=by_attack)

    @property
    def others(self) -> dict[str, Table | None]:
        """The tables besides the people's own, by what they are for, as reports and digests name them."""
        own = {f"people@{name}": table for name, table in self.known_by_attack.items()}
        return {
            "test": self.test,
            "population": self.population,
            "people": self.known,
            "control": self.control,
            **own,
        }
