"""ScoringContext: everything a metric may read, with the belief laid out over the table's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.kernel.belief import (
    Belief,
    CellBelief,
    GroupBelief,
    PosteriorBelief,
    SecretBelief,
    classes_of,
    rows_for,
    secret_of,
)
from leafgate.kernel.persons import PersonRows

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.components import Distribution, TreeBuilder
    from leafgate.kernel.knowledge import AdversaryKnowledge, Membership
    from leafgate.kernel.release import Release
    from leafgate.kernel.schema import Column
    from leafgate.kernel.table import Table


B = TypeVar("B", bound=Belief)


class Observation(Enum):
    """What a metric can read of a context that the public may not know; `ScoringContext.observed` records it."""

    POSTERIOR = "the distribution that is scored"
    PRIOR = "the attack's prior, which may rest on knowledge that the policy grants"
    COMPOSITION = "each equivalence class's true distribution of the secret"
    PEOPLE = "whose rows are whose, where a person may have several"
    SCORED = "which distribution is scored, other than by reading it as `posterior`"
    OVERALL = "the secret's distribution in the whole table"
    TRUTH = "true secrets of single people"
    NUMBERS = "true numbers of single people, of a binned secret"
    SIZES = "how many people are in each equivalence class"
    MEMBERSHIP = "who of the candidates or targets is in the table, and the secrets of targets"
    TABLES = "people, in a table or in what the adversary knows, as a metric of the release reads them"


class RecordedField:
    """A field of a context whose reads are recorded in `observed`.

    Attributes:
        observation: what a read is recorded as.
        default: the value of contexts that are made without one.
    """

    def __init__(self, observation: Observation, default: object = None) -> None:
        self.observation, self.default = observation, default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, case: ScoringContext | None, owner: type) -> object:
        if case is None:
            return self.default
        case.observed.add(self.observation)
        return vars(case)[self.name]

    def __set__(self, case: ScoringContext, value: object) -> None:
        vars(case)[self.name] = value


def recorded(observation: Observation, default: object = None) -> Any:
    """A RecordedField, in the place of a field of any type."""
    return RecordedField(observation, default)


SCORED_DISTRIBUTION = recorded(Observation.SCORED, "derived")
"""The field `scored`."""


@dataclass(frozen=True)
class NamedRelease:
    """A release that the policy names under `releases`, as a metric reads it: with all cells of its people.

    Attributes:
        label: what reports call it: the key of the policy and the name of the file, such as `releases[0] (may.json)`.
        release: the release as its file has it.
        table: the people it was learned from, as they were then.
    """

    label: str
    release: Release
    table: Table


def conditioned(posterior: pd.DataFrame, column: Column) -> pd.DataFrame:
    """A posterior of a secret, given that its value is recorded.

    Args:
        posterior: shape (n_rows, n_values), for each value of the column's domain.
        column: says which values are `no_answer`.

    Returns:
        Shape (n_rows, n_recorded): the other values; rows sum to 1. A row that was certain that the value is not
        recorded knows nothing of the others, which are equally probable then.
    """
    import pandas as pd

    values = list(column.answered.domain)
    kept = posterior.loc[:, values].to_numpy(dtype=float)
    return pd.DataFrame(_shares(kept), index=posterior.index, columns=pd.Index(values, dtype=object))


def _shares(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row divided by its sum; equal shares where that is 0."""
    import numpy as np

    total = numbers.sum(axis=1, keepdims=True)
    equal = np.full_like(numbers, 1 / numbers.shape[1])
    return np.asarray(np.divide(numbers, total, where=total > 0, out=equal))


@dataclass(frozen=True)
class ScoringContext:
    """What a metric scores. `belief` is None for metrics of the release alone.

    `posterior`, `prior`, `equivalence_class`, `sizes`, `truth` and `weight` have one row for each row of `table`, so
    that metrics never align anything. `scored` says what `posterior` holds: what the adversary derives, or the true
    composition of each equivalence class. Where the belief is about hidden cells, `table` holds the people behind
    these records, one row for each. `origins` gives, where the builder returned it, for each published record its row
    in `table.without_key`. `inconsistency`: the release claims to count the table's people, and does not. `builder`:
    the one that this audit ran, so that all random numbers of the build were drawn; None where the release was read.
    `comparisons`: how many findings the
    policy's metrics of this kind of belief (MembershipBelief or AttributeBelief) give together, at least 1: intervals
    that are to hold together divide their error by it. `smallest_cell`: a number that so many people share is nobody's.

    `observed` is the record of what was read. `scored`, and every property that reads the table's secrets, enter an
    `Observation` before they return. `leafgate.engine.audience` decides by this record whether the public sees a score,
    and a score by one distribution stands for that by the other only where both would be computed from the same reads.
    What a metric of people reads of `table` itself is not recorded: such a metric sets `public = "verdict"`.
    A copy made with `dataclasses.replace` writes into the same record.
    """

    table: Table
    test: Table | None
    release: Release
    known: AdversaryKnowledge
    belief: Belief | None = None
    scored: Distribution = SCORED_DISTRIBUTION
    origins: Sequence[int] | None = None
    inconsistency: bool = False
    builder: TreeBuilder | None = None
    comparisons: int = field(default=1, kw_only=True)
    smallest_cell: int = field(default=10, kw_only=True)
    observed: set[Observation] = field(default_factory=set, repr=False, compare=False, kw_only=True)
    _membership: Membership | None = field(default=None, repr=False, compare=False, kw_only=True)
    _judged_rows: NDArray[np.int64] | None = field(default=None, repr=False, compare=False, kw_only=True)
    _whole_table: Table | None = field(default=None, repr=False, compare=False, kw_only=True)
    _other_releases: Callable[[], Sequence[NamedRelease]] = field(
        default=tuple, repr=False, compare=False, kw_only=True
    )

    def with_own_record(self, scored: Distribution | None = None) -> ScoringContext:
        """A copy whose reads are recorded apart, so that asking what its numbers disclose adds no observation.

        Args:
            scored: the distribution that the copy's `posterior` holds; this context's when left out.
        """
        return self._with(observed=set(), **({} if scored is None else {"scored": scored}))

    def of_release_metric(self) -> ScoringContext:
        """The same context for a metric of the release, whose reads of people are recorded too, in this one's record.

        The public sees only its verdict, unless it counts people or states a `sensitivity`.
        """
        return ReleaseScoringContext(**{each.name: vars(self)[each.name] for each in fields(self)})

    @property
    def everyone(self) -> Table:
        """All people of the table, whose value is recorded or not; `table` has those who are judged."""
        return self.table if self._whole_table is None else self._whole_table

    @property
    def judged_rows(self) -> NDArray[np.int64] | None:
        """The rows of `everyone` that are judged, in the order of `table`; None for all of them."""
        return self._judged_rows

    def of_answered(self) -> ScoringContext:
        """The context of the people whose secret is recorded, by a belief that takes for granted that it is.

        People with one of the secret's `no_answer` are not in its table, and the posterior, its prior and its
        alternatives are conditioned on the other values. This context where the secret has no `no_answer`, and where
        the belief is about no secret.

        Raises:
            InconclusiveError: nobody's value is recorded, or the belief cannot be conditioned.
        """
        import numpy as np

        belief = self.belief
        name = secret_of(belief)
        if name is None or not self.table.schema[name].no_answer:
            return self
        column = self.table.schema[name]
        if not isinstance(belief, PosteriorBelief):
            raise InconclusiveError(
                f"what is inferred of {name!r} cannot be judged for the people whose value is recorded alone",
                place=f"data.columns.{name}.no_answer",
                remedy="leave these people out of the file",
            )
        answered = np.array([value not in column.no_answer for value in column.domain])
        rows = np.flatnonzero(answered[self.table.codes(name)])
        if not len(rows):
            raise InconclusiveError(f"nobody's value of {name!r} is recorded")
        prior = None if belief.prior is None else conditioned(belief.prior, column)
        others = tuple(conditioned(each, column) for each in belief.alternative_posteriors)
        posterior = conditioned(belief.posterior, column)
        self.observed.add(Observation.COMPOSITION)  # which groups are judged at all depends on whose value is recorded
        belief = replace(belief, posterior=posterior, prior=prior, alternative_posteriors=others)
        return self._with(
            table=self.table.at(rows).with_values(column.answered),
            belief=belief,
            _judged_rows=rows,
            _whole_table=self.table,
        )

    def _with(self, **changed: Any) -> ScoringContext:
        """The context with other values of some fields; reading the others is no observation."""
        return ScoringContext(**{each.name: vars(self)[each.name] for each in fields(self)} | changed)

    @cached_property
    def other_releases(self) -> tuple[NamedRelease, ...]:
        """The releases that the policy names beside this one; a metric that reads them says so in `reads_releases`.

        Raises InconclusiveError where one of them, or its table, cannot be read.
        """
        return tuple(self._other_releases())

    @property
    def noisy_test(self) -> bool:
        """Does the test table have noise on its numbers, as the release's records have? The builder states that."""
        return self.release.builder.get("test") == "perturbed"

    def require_test(self) -> Table:
        """The test table; InconclusiveError without one."""
        if self.test is None:
            raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
        if not len(self.test):
            problem, remedy = "everybody in it is in the table, too", "split the data by person, and not by row"
            raise InconclusiveError(problem, place="data.test", remedy=remedy)
        return self.test

    def require_exact_test(self, noisy_remedy: str) -> Table:
        """The test table, to predict its people's classes from their own cells.

        Args:
            noisy_remedy: what to do where the test table has noise on its numbers, for the error's remedy.

        Raises:
            InconclusiveError: without a test table, when it has noise, and when the release cannot predict.
        """
        test = self.require_test()
        if self.noisy_test:
            raise InconclusiveError("the test people's numbers have noise on them", remedy=noisy_remedy)
        if not (self.release.trees or self.release.bayes):
            raise InconclusiveError("the release has no model to predict with", remedy="release one")
        return test

    @property
    def weight(self) -> pd.Series:
        """People who share each record."""
        import pandas as pd

        return pd.Series(self.table.weight)

    @cached_property
    def posterior(self) -> pd.DataFrame:
        """The distribution of each record's secret that is scored: shape (n_rows, n_values).

        Rows sum to 1, but for shares of persons, who may have several values (`Distribution`).
        """
        believed = self._about_secret.posterior
        shares = vars(self)["scored"] != "derived"  # who reads the posterior reads nothing else of `scored`
        scored = self._composition if shares else believed.iloc[self._position]
        self.observed.add(Observation.POSTERIOR)
        return scored.reset_index(drop=True)

    @cached_property
    def prior(self) -> pd.DataFrame:
        """The attack's prior of each record's secret: what the release discloses at once, whatever is scored."""
        result = self._about_secret.prior
        if result is None:
            raise UnreadableError("the attack gives no prior")
        self.observed.add(Observation.PRIOR)
        return result.iloc[self._position].reset_index(drop=True)

    @property
    def _person(self) -> NDArray[np.int64]:
        """For each row of the table, which of the people whom the adversary knows by their keys it is."""
        import numpy as np
        import pandas as pd

        releases, keys = self.known.releases, self.table.schema.having("key")
        if releases is None or releases.keys is None or not keys:
            return self.table.public[1]
        person = pd.Index(releases.keys).get_indexer(pd.Index(self.table.frame[keys[0].name].astype(object)))
        if (person < 0).any():
            raise InconclusiveError(
                "somebody in the table is none of the people whom the adversary knows by their keys"
            )
        return np.asarray(person, dtype=np.int64)

    def certain_to_insiders(self, insiders: int) -> NDArray[np.bool_] | None:
        """For each row and value whether so many insiders, or fewer, are certain that others of its class have it.

        Insiders are people of the table with the values that they have in truth, and others than the person of the row.

        Args:
            insiders: how many people pool their own values, from 1.

        Returns:
            Shape (n_rows, n_values); None where the attack does not say what insiders are certain of.

        Raises:
            InconclusiveError: the attack says it of fewer insiders.
        """
        import numpy as np

        belief = self._belief
        if not isinstance(belief, SecretBelief) or belief.certain_to_insiders is None or self.scored != "derived":
            return None
        if self._whole_table is not None:
            problem = "the attack does not say what insiders are certain of, of people whose value is recorded"
            raise InconclusiveError(problem, remedy="leave the option `insiders` of the limit out")
        if len(belief.certain_to_insiders) < insiders:
            problem = f"the attack does not say what {insiders} insiders are certain of"
            raise InconclusiveError(problem, remedy="give the attack as many `insiders` as the limit, if it takes them")
        self.observed.add(Observation.COMPOSITION)
        size, number = len(self.secret.domain), self.equivalence_class.to_numpy()
        pair_of_row = number * size + self.table.codes(self.secret.name)
        proofs = [each[:, :, 0] * size + each[:, :, 1] for each in belief.certain_to_insiders[:insiders]]
        n_pairs = size * (1 + max(int(each.max(initial=-1)) // size for each in (number * size, *proofs)))
        people = self.table.people_by(pair_of_row, n_pairs)
        certain = np.zeros(n_pairs, dtype=bool)
        for pairs in proofs:
            needed = (pairs[:, :, None] == pairs[:, None, :]).sum(axis=2)
            certain[pairs[(people[pairs] >= needed).all(axis=1), -1]] = True
        return np.asarray(certain.reshape(-1, size)[number])

    @property
    def certain_is_true(self) -> bool:
        """Is each value of probability 1 in `posterior` also true, because it follows from what the release counts?"""
        return self._about_secret.certainty != "guess" and self.scored == "derived" and not self.inconsistency

    @property
    def is_composition_derived(self) -> bool:
        """Is the posterior of each record what is true of its equivalence class, because the release counts it?"""
        believed = self._about_secret
        return believed.certainty == "shares" and classes_of(believed) is not None and not self.inconsistency

    @cached_property
    def _composition(self) -> pd.DataFrame:
        """The secret's true shares among the people of each record's equivalence class: shape (n_rows, n_values)."""
        import numpy as np
        import pandas as pd

        group, groups = pd.factorize(self.equivalence_class)
        size = len(self.secret.domain)
        cell = group * size + self.table.codes(self.secret.name)
        counts = np.bincount(cell, weights=self.table.weight, minlength=len(groups) * size).reshape(-1, size)
        shares = counts / counts.sum(axis=1, keepdims=True)
        if vars(self)["scored"] == "by_persons":
            people = self.table.people_by(group, len(groups))[:, None]  # nobody where no row says whose it is
            having = self.table.people_by(cell, len(groups) * size).reshape(-1, size)
            shares = np.where(people > 0, having / np.maximum(people, 1), shares)
        self.observed.add(Observation.COMPOSITION)
        return pd.DataFrame(shares[group], columns=pd.Index(self.secret.domain, dtype=object))

    @property
    def worst_case_posteriors(self) -> tuple[pd.DataFrame, ...]:
        """The two worst posteriors of each of the attack's rows: its true shares, and its commonest value for certain.

        Rows of nobody keep the attack's posterior.
        """
        import numpy as np

        believed = self._about_secret.posterior
        counts = np.zeros(believed.shape)
        np.add.at(counts, (self._position, self.table.codes(self.secret.name)), self.table.weight)
        self.observed.add(Observation.TRUTH)
        there = counts.sum(axis=1) > 0
        shares, certain = believed.copy(), believed.copy()
        shares.iloc[there] = counts[there] / counts[there].sum(axis=1, keepdims=True)
        certain.iloc[there] = np.eye(counts.shape[1])[counts[there].argmax(axis=1)]
        return shares, certain

    @cached_property
    def estimates(self) -> NDArray[np.float64]:
        """The attack's estimates of the numbers in the hidden cells: shape (n_rows,)."""
        import numpy as np

        estimates = self.require_belief(CellBelief).estimates
        if estimates is None:
            raise UnreadableError("the attack estimates no numbers")
        return np.asarray(estimates, dtype=float)

    @cached_property
    def people_by_value(self) -> NDArray[np.float64] | None:
        """People in each record's equivalence class by the true value of the secret: shape (n_rows, n_values).

        Rows of the table where weights count no people. None of hidden cells, where what is derived is scored, which
        may be no more than a guess of shares, and where a person may have several rows and with them several values.
        """
        import numpy as np

        size = len(self.secret.domain)
        several = self.table.person_rows is not None
        if several or self.scored != "composition" or classes_of(self.belief) is None:
            return None
        import pandas as pd

        group, groups = pd.factorize(self.equivalence_class)
        cell = group * size + self.table.codes(self.secret.name)
        counts = np.bincount(cell, weights=self.table.persons, minlength=len(groups) * size).reshape(-1, size)
        self.observed.add(Observation.COMPOSITION)
        return np.asarray(counts[group])

    @property
    def rows_of_persons(self) -> PersonRows | None:
        """Whose rows the records are, rows without an id being somebody's each; None where every row is a person."""
        persons = self.table.person_rows
        if persons is None:
            return None
        self.observed.add(Observation.PEOPLE)
        return persons.with_strangers(self.table.weight)

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The true number of each record's secret where it is binned, and people in equivalence classes.

        None of other secrets, and of hidden cells.
        """
        column = self.secret
        if not column.holds_numbers or classes_of(self.belief) is None:
            return None
        self.observed.add(Observation.NUMBERS)
        return self.table.numbers(column.name)

    @cached_property
    def overall(self) -> NDArray[np.float64]:
        """The secret's shares among everyone in the table: shape (n_values,), sums to 1.

        Where shares of persons are scored, of all values that all persons have.
        """
        import numpy as np

        codes, size = self.table.codes(self.secret.name), len(self.secret.domain)
        self.observed.add(Observation.OVERALL)
        if vars(self)["scored"] == "by_persons":
            having = self.table.people_by(codes, size)
            return np.asarray(having / having.sum())
        counts = np.bincount(codes, weights=self.table.weight, minlength=size)
        return np.asarray(counts / self.table.total_weight)

    @cached_property
    def population(self) -> pd.Series:
        """People of the declared population in the equivalence class of each record.

        Raises InconclusiveError without a population, where the attack gives no classes of it, and when a
        class has fewer people in the population than in the table.
        """
        import numpy as np
        import pandas as pd

        everyone, belief = self.known.population, self._belief
        where = belief.population_groups if isinstance(belief, GroupBelief | SecretBelief) else None
        if everyone is None:
            raise InconclusiveError("there is no population", place="data.population", remedy="name a file of it")
        if where is None:
            raise InconclusiveError("the attack does not say where people of the population would be")
        together, _ = pd.factorize(np.concatenate([self.equivalence_class.to_numpy(), where]))
        own, others = together[: len(self.table)], together[len(self.table) :]
        size = int(together.max()) + 1
        people = everyone.people_by(others, size)
        if self.table.person_rows is not None:
            too_few = people < self.table.people_by(own, size)
        else:
            sizes = np.bincount(others, weights=everyone.weight, minlength=size)
            too_few = sizes < np.bincount(own, weights=self.table.weight, minlength=size)
        if too_few.any():
            raise InconclusiveError(
                "a group has fewer people in the population than in the table",
                place="data.population",
                remedy="name a population that holds everyone in the table",
            )
        self.observed.add(Observation.SIZES)
        return pd.Series(people[own].astype(float))

    @property
    def membership(self) -> Membership:
        """Who of the candidates or targets that the attack was granted is in the table; the secrets of targets."""
        if self._membership is None:
            raise UnreadableError("the attack was granted no candidates and no targets")
        self.observed.add(Observation.MEMBERSHIP)
        return self._membership

    def require_belief(self, kind: type[B]) -> B:
        """The attack's belief, if it is of this type; UnreadableError otherwise."""
        if not isinstance(self.belief, kind):
            raise UnreadableError(f"the attack gives no {kind.__name__}")
        return self.belief

    @property
    def secret(self) -> Column:
        """The column the belief is about."""
        return self.table.schema[self._about_secret.secret]

    @cached_property
    def equivalence_class(self) -> pd.Series:
        """The number of each record's equivalence class: the adversary cannot distinguish the records of one."""
        import pandas as pd

        numbers = classes_of(self._belief)
        if numbers is None:
            raise UnreadableError("the attack gives no equivalence classes")
        return pd.Series(numbers[self._position])

    @cached_property
    def sizes(self) -> pd.Series:
        """People of the table in each record's equivalence class; rows where weights count no people."""
        import pandas as pd

        number, classes = pd.factorize(self.equivalence_class)
        self.observed.add(Observation.SIZES)
        return pd.Series(self.table.people_by(number, len(classes))[number].astype(float))

    @cached_property
    def truth(self) -> pd.Series:
        """The secret of each record as the table has it; for a numeric secret the bin."""
        import pandas as pd

        column = self.secret
        self.observed.add(Observation.TRUTH)
        if not column.holds_numbers:
            return self.table.frame[column.name]
        return pd.Series(pd.Categorical.from_codes(self.table.codes(column.name), categories=pd.Index(column.domain)))

    @property
    def _belief(self) -> Belief:
        if self.belief is None:
            raise InconclusiveError("there is no belief to score")
        return self.belief

    @property
    def _about_secret(self) -> PosteriorBelief:
        if not isinstance(self._belief, PosteriorBelief):
            raise UnreadableError("the attack gives no posterior of a secret")
        return self._belief

    @cached_property
    def _position(self) -> NDArray[np.int64]:
        """For each row of the table, the number of the belief's row about it."""
        import numpy as np

        belief = self._belief
        if self._whole_table is not None:
            whole = self._with(table=self._whole_table, _judged_rows=None, _whole_table=None)
            return whole._position[self._judged_rows]
        if isinstance(belief, CellBelief):
            return np.arange(len(self.table))
        if not isinstance(belief, GroupBelief | SecretBelief):
            raise UnreadableError("the attack's belief is not about the people of the table")
        if isinstance(belief, SecretBelief) and belief.of_people:
            return self._person
        own, public = belief.records, self.table.public[1]
        return public if own is None else rows_for(self.known, own)[public]


class ReleaseScoringContext(ScoringContext):
    """What a metric of the release scores: reads of people's tables, and of what the adversary knows, are recorded."""

    table: Table = recorded(Observation.TABLES)
    test: Table | None = recorded(Observation.TABLES)
    known: AdversaryKnowledge = recorded(Observation.TABLES)
    _other_releases: Callable[[], Sequence[NamedRelease]] = recorded(Observation.TABLES)
