"""What the policy grants an adversary, and nothing else; and facts about people that it may know."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from leafgate.errors import InconclusiveError
from leafgate.kernel.schema import Value

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.release import Release
    from leafgate.kernel.schema import Column, Schema
    from leafgate.kernel.table import Table

    Mechanism = Callable[[Table, np.random.Generator], Release]
    Retrain = Callable[[Table, Table, int], NDArray[np.float64]]


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


Need = Literal[
    "distribution", "people", "facts", "label_accuracies", "population", "mechanism", "candidates", "targets"
]
"""The optional parts of an adversary's knowledge, as attacks declare them in `needs`."""
NEEDS: frozenset[str] = frozenset(get_args(Need))


Access = Literal["labels", "scores", "file"]
"""What an attack is handed of the model: answers with labels, answers with scores, or the release itself."""
ACCESS_LEVELS: tuple[Access, ...] = get_args(Access)
"""The same, the weakest first."""


@dataclass
class QueryLog:
    """How often an oracle was asked, and of how many rows in all."""

    calls: int = 0
    rows: int = 0


class PredictionOracle:
    """The model as somebody sees it who can ask it for predictions and does not have the file.

    It has no attribute by which the release can be reached. Attacks are not sandboxed, though: one that looks into the
    closures of the oracle's functions or through the interpreter's memory is a plugin that must not be trusted.

    Attributes:
        schema: the columns, their domains and roles, as the release states them.
        classes: the labels that the model can answer, in the order of the columns of `scores`.
        access: `labels` or `scores`.
    """

    __slots__ = ("_labels", "_log", "_scores", "access", "classes", "schema")

    def __init__(
        self,
        schema: Schema,
        classes: tuple[str, ...],
        log: QueryLog,
        labels: Callable[[Table], NDArray[np.int64]],
        scores: Callable[[Table], NDArray[np.float64]] | None = None,
    ) -> None:
        """An oracle that answers by these functions of a table, and counts in `log`.

        Args:
            schema: the columns of a query.
            classes: the labels.
            log: where queries are counted.
            labels: gives the position of each row's class, -1 for none: shape (n_rows,).
            scores: gives the score of each class, NaN for none: shape (n_rows, n_classes). None where the attack may
                ask for labels only.
        """
        self.schema, self.classes = schema, classes
        self.access: Access = "labels" if scores is None else "scores"
        self._labels, self._scores, self._log = labels, scores, log

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return self._log.calls

    @property
    def rows(self) -> int:
        """Of how many rows it was asked in all."""
        return self._log.rows

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """The label that the model predicts for each row: categorical over `classes`; missing where it has none.

        Args:
            frame: every column of the schema but the class, which is ignored, as are others: values of the declared
                domain as texts or categories, numbers, and None or NaN where a cell is missing.

        Raises:
            InconclusiveError: a column is not there or has a cell outside its domain, or what is published is not
                enough to predict.
        """
        import pandas as pd

        answers = self._labels(self._asked(frame))
        return pd.Series(pd.Categorical.from_codes(answers, categories=pd.Index(self.classes)), index=frame.index)

    def scores(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The score of each class for each row: columns `classes`; rows sum to 1, or are NaN where it has none.

        Args:
            frame: as `labels` takes it.

        Raises:
            InconclusiveError: the attack may ask for labels only; or as `labels`.
        """
        import pandas as pd

        if self._scores is None:
            raise InconclusiveError("it may ask the model for labels only, not for scores")
        return pd.DataFrame(self._scores(self._asked(frame)), index=frame.index, columns=list(self.classes))

    def _asked(self, frame: pd.DataFrame) -> Table:
        """The rows of a query as a table, a row for each; counts the query."""
        import numpy as np
        import pandas as pd

        from leafgate.kernel.table import Table

        cells = {}
        for column in self.schema.columns:
            if column.name not in frame.columns and "class" not in column.roles:
                raise InconclusiveError(f"its query lacks the column {column.name!r}")
            ignored = "class" in column.roles
            asked = pd.Series(np.nan, index=frame.index) if ignored else frame[column.name]
            cells[column.name] = _query_cells(column, asked)
        self._log.calls += 1
        self._log.rows += len(frame)
        return Table(self.schema, pd.DataFrame(cells), np.ones(len(frame), dtype=np.int64))


def _query_cells(column: Column, cells: pd.Series) -> pd.Series:
    """Cells of a query as a table holds them; InconclusiveError for one outside the column's domain."""
    import numpy as np
    import pandas as pd

    outside = InconclusiveError(f"its query has cells outside the domain of {column.name!r}")
    if column.values is None or column.holds_numbers:
        try:
            return pd.Series(cells.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            raise outside from None
    codes = pd.Index(column.values, dtype=object).get_indexer(pd.Index(cells.astype(object)))
    if ((codes < 0) & cells.notna().to_numpy()).any():
        raise outside
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(column.values)))


@dataclass(frozen=True)
class Candidates:
    """People of whom the adversary does not know whether they are in the table that the release was learned from.

    People of the table and people who are not in it, in random order. Which of them are in the table is known to the
    engine alone: nothing here depends on it, neither the order nor an index, nor the categories of a column.

    Attributes:
        table: a row for each person, each with weight 1, so that people with equal records have several rows; every
            column of the schema, the class and the secrets too.
        in_table: how many of them are in the table, from 1.
        not_in_table: how many of them are not in the table, from 1.
        training_weighted: whether the policy has a column of weights that do not count people. A builder may use them,
            while every candidate is one person here.
        table_size: how many people are in the table, candidates or not, as its publisher usually states; None where
            that is not known.
    """

    table: Table
    in_table: int
    not_in_table: int
    training_weighted: bool = False
    table_size: int | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each candidate: categoricals over the schema's domains, numbers as floats; missing cells NaN."""
        return self.table.frame

    @property
    def prior(self) -> float:
        """The share of the candidates who are in the table, in (0, 1)."""
        return self.in_table / (self.in_table + self.not_in_table)

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.table)


@dataclass(frozen=True)
class Targets:
    """People of whom the adversary wants to know one column, the secret, and of whom it knows others.

    The adversary believes that all of them are in the table. That is true of one of the two groups; the other are
    people of the control. Nothing here depends on which is which, neither the order of the groups nor that of the
    people in them. `groups` and `auxiliary` have the same order of columns as the schema.

    Attributes:
        secret: the column that the adversary wants to know.
        groups: two tables with a row for each person, each with weight 1, and the columns that the adversary knows of
            them: never the secret, and the class only where it is granted.
        auxiliary: other people, none of them among the groups, a row for each, with every column of the schema.
        complete: whether everybody in the table is among the targets; the adversary then believes it of both groups.
        training_weighted: whether the policy has a column of weights that do not count people.
        table_size: how many people are in the table, as its publisher usually states; None where that is not known.
        tested: whether trees of the release test the secret. Where none does, what the model answers depends on it in
            no way.
    """

    secret: Column
    groups: tuple[Table, Table]
    auxiliary: Table
    complete: bool = False
    training_weighted: bool = False
    table_size: int | None = None
    tested: bool = True

    def __len__(self) -> int:
        """How many people there are in both groups."""
        return sum(map(len, self.groups))


@dataclass(frozen=True)
class Membership:
    """Who of the candidates or targets is in the table: the engine and metrics know it, and no attack.

    Attributes:
        in_table: shape (n_people,), whether this person is in the table; targets stand in the order of their groups.
        identical: shape (n_people,), whether this person is not in the table and has, in every column that candidates
            have, the cells of somebody who is.
        secrets: for each secret that is asked of targets the position of each one's value in its domain, shape
            (n_people,); empty for candidates.
    """

    in_table: NDArray[np.bool_]
    identical: NDArray[np.bool_]
    secrets: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.in_table, self.identical, *self.secrets.values()):
            array.setflags(write=False)


@dataclass(frozen=True)
class AdversaryKnowledge:
    """What an adversary knows when an attack begins, besides the release.

    Attributes:
        schema: the roles and domains of all columns.
        public: one row for each distinct public record (the quasi-identifiers of everyone in the table), its weight
            the people who share it. It has no rows for an attack that gets `candidates`, which is not told who is in
            the table.
        distribution: for each secret the share of each value, as a text, among all people; empty unless the policy
            grants it.
        mechanism: runs the public algorithm on a table of the attacker's own; None when the algorithm is not public.
        retrain: trains a model of the same kind on people of the attacker's own (a table, of which each person counts
            as often as its weight says), and returns the score of each class that it gives the rows of a second table:
            shape (n_rows, n_classes), rows sum to 1. The third argument is the seed of its random numbers. May be
            called from several threads at once. None when neither the algorithm nor the estimator is known.
        retrain_id: what `retrain` trains, as a text that begins with the full name of a class: where the text and the
            versions of libraries are the same, the same people and seed give the same model. Empty where nobody knows.
        seed: for attacks that use random numbers, so that an audit repeats.
        population: the public records of the larger population that the people come from, where the policy names one.
        people: people of the table whose secrets are known, with the public columns and one secret or more.
        facts: what is known of people in general.
        label_accuracies: for each predicted class the share of the people with this prediction who have it, as
            somebody with test data would know it; None unless a release's labels are worth more than its numbers say,
            and where the policy withholds it.
        vote_accuracies: the same for the class that most trees of a forest predict, where the forest adds up numbers.
        candidates: people in the table and people who are not, for attacks that infer who is in it.
        targets: for attacks that infer an input of the model: for each column that is not public and that the model's
            trees test, and for those that an attack of the policy names in its option `secret`, the people of whom it
            is asked. Empty where there is no such column.
        reader: reads a file about people that an option of the policy's components names; None outside an audit.
    """

    schema: Schema
    public: Table
    distribution: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mechanism: Mechanism | None = None
    retrain: Retrain | None = field(default=None, kw_only=True)
    retrain_id: str = field(default="", kw_only=True, repr=False)
    seed: int = 0
    population: Table | None = None
    people: Table | None = None
    facts: tuple[Fact, ...] = ()
    label_accuracies: Mapping[str, float] | None = None
    vote_accuracies: Mapping[str, float] | None = None
    candidates: Candidates | None = None
    targets: Mapping[str, Targets] = field(default_factory=dict, kw_only=True)
    reader: Callable[[Path], Table] | None = field(default=None, repr=False)

    def read(self, path: Path) -> Table:
        """The people in a file that an option of a component names, with those of the policy's columns that it has.

        Args:
            path: the value of an option of type PeopleFile or OwnersFile. The file is read as the table is: as CSV or
                Parquet, with the same missing cells and domains. Without a header it has all columns of the policy.

        Raises:
            InconclusiveError: no option of the policy's attacks and metrics names the file, or it does not fit the
                policy's columns.
        """
        if self.reader is None:
            raise InconclusiveError("files about people are read in audits only")
        return self.reader(path)

    @property
    def records(self) -> pd.DataFrame:
        return self.public.frame

    @property
    def weight(self) -> NDArray[np.int64]:
        """People who share each of `records`."""
        return self.public.weight


def limit_knowledge(known: AdversaryKnowledge, needs: Collection[str]) -> AdversaryKnowledge:
    """The knowledge without the optional parts that are not among `needs`.

    `vote_accuracies` belong to the `label_accuracies`. Knowledge with `candidates` or `targets` says of nobody that
    they are in the table: it has no public records and no known people.
    """
    guesses_members = not {"candidates", "targets"}.isdisjoint(needs)
    return replace(
        known,
        public=known.public.without_rows if guesses_members else known.public,
        candidates=known.candidates if "candidates" in needs else None,
        targets=known.targets if "targets" in needs else {},
        distribution=known.distribution if "distribution" in needs else {},
        mechanism=known.mechanism if "mechanism" in needs else None,
        retrain=known.retrain if "mechanism" in needs else None,
        retrain_id=known.retrain_id if "mechanism" in needs else "",
        population=known.population if "population" in needs else None,
        people=known.people if "people" in needs and not guesses_members else None,
        facts=known.facts if "facts" in needs else (),
        label_accuracies=known.label_accuracies if "label_accuracies" in needs else None,
        vote_accuracies=known.vote_accuracies if "label_accuracies" in needs else None,
    )


def defensive_copy(known: AdversaryKnowledge) -> AdversaryKnowledge:
    """The same knowledge for a plugin: what that writes into it reaches nobody else."""
    population, people = (
        None if table is None else table.defensive_copy() for table in (known.population, known.people)
    )
    candidates = known.candidates
    if candidates is not None:
        candidates = replace(candidates, table=candidates.table.defensive_copy())
    targets = {secret: _copy_of_targets(each) for secret, each in known.targets.items()}
    return replace(
        known,
        public=known.public.defensive_copy(),
        population=population,
        people=people,
        candidates=candidates,
        targets=targets,
    )


def _copy_of_targets(targets: Targets) -> Targets:
    first, second = targets.groups
    groups = first.defensive_copy(), second.defensive_copy()
    return replace(targets, groups=groups, auxiliary=targets.auxiliary.defensive_copy())
