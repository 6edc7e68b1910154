"""What the policy grants an adversary, and nothing else; and facts about people that it may know."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from leafgate.types.schema import Value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.release import Release
    from leafgate.types.schema import Schema
    from leafgate.types.table import Table

    Mechanism = Callable[[Table, np.random.Generator], Release]


@dataclass(frozen=True)
class Between:
    """Numbers from `low` to `high`, both among them."""

    low: float = -math.inf
    high: float = math.inf

    def words(self) -> str:
        """What comes after a column's name: <= 17."""
        if self.low == self.high:
            return f"= {self.low:g}"
        if math.isinf(self.low):
            return f"<= {self.high:g}"
        return f">= {self.low:g}" if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Fact:
    """Of the people who meet `where`, a share from `low` to `high` has one of `values` in `column`.

    `where` maps public columns to the values, or the range of numbers, that its people have; it is empty
    for everyone. `column` is categorical and not public; None among `values` is a missing cell. The
    share is of people, who count by their weight.
    """

    where: Mapping[str, tuple[Value, ...] | Between]
    column: str
    values: tuple[Value, ...]
    low: float
    high: float

    def holds_for(self, public: Table) -> NDArray[np.bool_]:
        """Shape (n_rows,): which rows of a table with the public columns meet `where`."""
        import numpy as np

        met = np.ones(len(public), dtype=np.bool_)
        for name, wanted in self.where.items():
            met &= meets(public, name, wanted)
        return met

    def words(self) -> str:
        """The fact in words: no more than 0.2 of the people with age <= 17 are 'Married' (marital)."""
        conditions = ", ".join(f"{name} {_words(wanted)}" for name, wanted in self.where.items())
        people = f"the people with {conditions}" if conditions else "the people"
        return f"{self._share_words()} of {people} are {_words(self.values)} ({self.column})"

    def _share_words(self) -> str:
        if self.low == self.high:
            return {0.0: "none", 1.0: "all"}.get(self.low, f"{self.low:g}")
        if self.low <= 0:
            return f"no more than {self.high:g}"
        return f"at least {self.low:g}" if self.high >= 1 else f"from {self.low:g} to {self.high:g}"


def meets(table: Table, name: str, wanted: tuple[Value, ...] | Between) -> NDArray[np.bool_]:
    """Which rows of a table have one of the values, or a number in the range, in a column."""
    import numpy as np

    if isinstance(wanted, Between):
        numbers = table.numbers(name)
        return (numbers >= wanted.low) & (numbers <= wanted.high)
    domain = table.schema[name].domain
    return np.isin(table.codes(name), [domain.index(value) for value in wanted])


def _words(wanted: tuple[Value, ...] | Between) -> str:
    if isinstance(wanted, Between):
        return wanted.words()
    return " or ".join("missing" if value is None else repr(value) for value in wanted)


Need = Literal["distribution", "people", "facts", "label_accuracies", "population", "mechanism"]
"""The optional parts of an adversary's knowledge, as attacks declare them in `needs`."""
NEEDS: frozenset[str] = frozenset(get_args(Need))


@dataclass(frozen=True)
class AdversaryKnowledge:
    """What an adversary knows when an attack begins, besides the release.

    Attributes:
        schema: the roles and domains of all columns.
        public: one row for each distinct public record (the quasi-identifiers of everyone in the table), its weight
            the people who share it.
        distribution: for each secret the share of each value among all people; empty unless the policy grants it.
        mechanism: runs the public algorithm on a table of the attacker's own; None when the algorithm is not public.
        seed: for attacks that use random numbers, so that an audit repeats.
        population: the public records of the larger population that the people come from, where the policy names one.
        people: people of the table whose secrets are known, with the public columns and one secret or more.
        facts: what is known of people in general.
        label_accuracies: for each predicted class the share of the people with this prediction who have it, as
            somebody with test data would know it; None unless a release's labels are worth more than its numbers say.
        vote_accuracies: the same for the class that most trees of a forest predict, where the forest adds up numbers.
    """

    schema: Schema
    public: Table
    distribution: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mechanism: Mechanism | None = None
    seed: int = 0
    population: Table | None = None
    people: Table | None = None
    facts: tuple[Fact, ...] = ()
    label_accuracies: Mapping[str, float] | None = None
    vote_accuracies: Mapping[str, float] | None = None

    @property
    def records(self) -> pd.DataFrame:
        return self.public.frame

    @property
    def weight(self) -> NDArray[np.int64]:
        """People who share each of `records`."""
        return self.public.weight


def limit_knowledge(known: AdversaryKnowledge, needs: Collection[str]) -> AdversaryKnowledge:
    """The knowledge without the optional parts that are not among `needs`.

    `vote_accuracies` belong to the `label_accuracies`.
    """
    return replace(
        known,
        distribution=known.distribution if "distribution" in needs else {},
        mechanism=known.mechanism if "mechanism" in needs else None,
        population=known.population if "population" in needs else None,
        people=known.people if "people" in needs else None,
        facts=known.facts if "facts" in needs else (),
        label_accuracies=known.label_accuracies if "label_accuracies" in needs else None,
        vote_accuracies=known.vote_accuracies if "label_accuracies" in needs else None,
    )


def defensive_copy(known: AdversaryKnowledge) -> AdversaryKnowledge:
    """The same knowledge for a plugin: what that writes into it reaches nobody else."""
    population, people = (
        None if table is None else table.defensive_copy() for table in (known.population, known.people)
    )
    return replace(known, public=known.public.defensive_copy(), population=population, people=people)
