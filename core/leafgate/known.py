"""Known: what the policy grants the adversary, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.fact import Fact
    from leafgate.release import Release
    from leafgate.schema import Schema
    from leafgate.table import Table

    Mechanism = Callable[[Table, np.random.Generator], Release]


@dataclass(frozen=True)
class Known:
    """The adversary's side of an attack.

    `public` holds one row for each distinct public record (the quasi-identifiers of everyone in
    the table) with its weight in people; `population`, where the policy names one, those of the
    larger population the people come from; `schema` the roles and domains of all columns.
    `distribution` gives, where the policy grants it, each secret's overall shares; `people` those of
    the table whose secrets are known, with the public columns and one secret or more; `facts` what
    is known of people in general. `label_accuracies` gives for each predicted class the share of the people with this
    prediction who have it, as somebody with test data would know it: granted where a release's labels are worth more
    than its numbers say (`Release.needs_label_accuracies`), else None; `vote_accuracies` the same of the class that
    most trees of a forest say, where the forest adds up numbers (`Release.votes_beside_prediction`). `mechanism`
    runs the public algorithm on a table of the attacker's own; None when it is not public.
    `seed` is for attacks that toss coins, so that an audit repeats.
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


def lent(known: Known) -> Known:
    """The same knowledge for a plugin: what that writes into it reaches nobody else."""
    population, people = (None if table is None else table.lent() for table in (known.population, known.people))
    return replace(known, public=known.public.lent(), population=population, people=people)


def known_of(
    table: Table,
    *,
    distribution: bool = False,
    mechanism: Mechanism | None = None,
    seed: int = 0,
    population: Table | None = None,
    people: Table | None = None,
    facts: Sequence[Fact] = (),
    release: Release | None = None,
) -> Known:
    """What an adversary knows of the people in `table` under a policy's `knows`.

    A secret's distribution is over its values, each with its share of the people. Of a `release` that needs it the
    adversary knows how often each label is right.
    """
    import numpy as np

    from leafgate.routing import label_accuracies, vote_accuracies

    public, _ = table.public
    shares: dict[str, dict[str, float]] = {}
    for column in table.schema.secrets if distribution else ():
        if column.countable:
            domain = list(map(str, column.domain))
            counts = np.bincount(table.codes(column.name), weights=table.weight, minlength=len(domain))
            shares[column.name] = dict(zip(domain, (counts / table.people).tolist(), strict=True))
    schema = table.without_key.schema
    needed = release is not None and release.needs_label_accuracies and release.target in schema
    accuracies, votes = None, None
    if release is not None and needed:
        accuracies, votes = label_accuracies(release, table), vote_accuracies(release, table)
    return Known(schema, public, shares, mechanism, seed, population, people, tuple(facts), accuracies, votes)
