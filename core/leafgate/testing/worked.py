"""The examples that `explain` shows, worked out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from leafgate.belief import Belief
from leafgate.case import Case
from leafgate.interfaces import Example
from leafgate.known import known_of
from leafgate.release import Release
from leafgate.schema import Column, Schema
from leafgate.table import Table, make_table, typed_column

GROUPS = ("the group", "the others")


def worked_case(example: Example) -> Case:
    """The example's group beside the others, and an adversary who knows each group's shares, or what is said."""
    domain = list(example.everyone)
    several = [[example.group.get(value, 0) for value in domain]]
    several.append([example.everyone[value] - mine for value, mine in zip(domain, several[0], strict=True)])
    several = [counts for counts in several if any(counts)]
    who = Column("who", frozenset({"quasi_identifier"}), values=GROUPS[: len(several)])
    secret = Column("secret", frozenset({"sensitive"}), values=tuple(domain), ordered=True)
    rows = [(name, value) for name in who.domain for value in domain]
    table = _people((who, secret), rows, [count for counts in several for count in counts])
    others = None
    if example.population is not None:
        inside = [example.population, *(sum(counts) for counts in several[1:])]
        others = _people((who,), [(name,) for name in who.domain], inside)
    shares = pd.DataFrame([np.array(counts) / sum(counts) for counts in several], columns=domain)
    groups = np.arange(len(several))
    belief = Belief(
        "secret",
        groups,
        _with_first(shares, example.believed),
        population_groups=None if others is None else groups,
        baseline=None if example.baseline is None else _with_first(shares, example.baseline),
    )
    return Case(table, None, Release({}, table.schema), known_of(table, population=others), belief)


def _people(columns: tuple[Column, ...], rows: Sequence[tuple[str | None, ...]], counts: Sequence[int]) -> Table:
    there = [(row, count) for row, count in zip(rows, counts, strict=True) if count]
    frame = pd.DataFrame({c.name: typed_column(c, [row[i] for row, _ in there]) for i, c in enumerate(columns)})
    return make_table(Schema(columns), frame, np.array([count for _, count in there], dtype=np.int64))


def _with_first(shares: pd.DataFrame, said: Mapping[str, float] | None) -> pd.DataFrame:
    """The same with what is said in the place of the group's own shares."""
    if said is None:
        return shares
    changed = shares.copy()
    changed.iloc[0] = [said.get(str(value), 0.0) for value in shares.columns]
    return changed
