"""What adversaries know: each attack gets what the policy grants it, limited to what the attack declares in `needs`.

Who of the candidates and targets is in the table is drawn here too, and goes to the engine and to metrics alone
(`Membership`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.algorithms.prediction import class_scores
from leafgate.algorithms.publication import published
from leafgate.algorithms.sampling import MAX_PEOPLE, nested_sample, sampled
from leafgate.errors import DataError, InconclusiveError
from leafgate.io.release_codec import SealedRelease
from leafgate.io.tables.reader import read_columns_there
from leafgate.kernel.components import AttackModel
from leafgate.kernel.knowledge import (
    AdversaryKnowledge,
    Candidates,
    KnownReleases,
    Knows,
    Membership,
    Targets,
    limit_knowledge,
)
from leafgate.kernel.options import UNREAD
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table, distinct_rows
from leafgate.kernel.tables import Tables
from leafgate.kernel.tree import columns_asked
from leafgate.progress import progress_step

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from leafgate.algorithms.near_copies import NearCopies
    from leafgate.engine.other_releases import ReadRelease
    from leafgate.ir.model_readers import ModelReader
    from leafgate.kernel.context import NamedRelease
    from leafgate.kernel.facts import Fact
    from leafgate.kernel.knowledge import Mechanism, Retrain
    from leafgate.kernel.metrics import Metric
    from leafgate.kernel.training_rows import TrainingRows


def grant_knowledge(
    table: Table,
    *,
    distribution: bool = False,
    mechanism: Mechanism | None = None,
    seed: int = 0,
    population: Table | None = None,
    people: Table | None = None,
    facts: Sequence[Fact] = (),
    release: Release | None = None,
) -> AdversaryKnowledge:
    """What an adversary knows of the people in `table` under a policy's `knows`.

    A secret's distribution is over its values, each with its share of the people. Of a `release` that needs it the
    adversary knows how often each label is right.
    """
    from leafgate.algorithms.prediction import label_accuracies, needs_label_accuracies, vote_accuracies

    public, _ = table.public
    shares = _distribution(table) if distribution else {}
    schema = table.without_key.schema
    accuracies, votes = None, None
    if release is not None and needs_label_accuracies(release) and release.target in schema:
        accuracies, votes = label_accuracies(release, table), vote_accuracies(release, table)
    return AdversaryKnowledge(
        schema, public, shares, mechanism, seed, population, people, tuple(facts), accuracies, votes
    )


@dataclass(frozen=True)
class Adversaries:
    """The adversaries of one release of a table, one for each attack.

    Attributes:
        policy: what each attack is granted.
        tables: the people, in memory, and the others whom the policy names.
        artifact: the release as it is published.
        readers: those of model files, some of which can fit the estimators whose files they read.
        check: whether the control are other people than those of the table; audits of one table share it.
    """

    policy: Policy
    tables: Tables
    artifact: SealedRelease
    readers: Sequence[ModelReader] = ()
    check: ControlCheck = field(default_factory=lambda: ControlCheck(), compare=False)
    _drawn: dict[int, tuple[Candidates, Membership]] = field(default_factory=dict, repr=False, compare=False)
    _asked: dict[object, tuple[dict[str, Targets], Membership]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def table(self) -> Table:
        """The people whom the release was learned from."""
        return self.tables.in_memory

    def of_others(self, tables: Tables, artifact: SealedRelease, policy: Policy | None = None) -> Adversaries:
        """The adversaries of other people or another release: they draw candidates and targets of their own."""
        return Adversaries(policy or self.policy, tables, artifact, self.readers, self.check)

    def knowledge_of(self, attack: AttackModel) -> AdversaryKnowledge:
        """What an attack of the policy gets: by its own `knows` if it has one, else by the policy's.

        Raises InconclusiveError where it needs candidates or targets, and nobody is known who is not in the table.
        """
        knows = self.policy.knows_of(attack)
        if not self.policy.has_own_knowledge(attack):
            return self._limited(self.default, attack, knows)
        people = self.tables.known_by_attack.get(attack.called)
        return self._limited(self._granted(knows, people, self.policy.knows_place(attack)), attack, knows)

    def membership_of(self, attack: AttackModel) -> Membership | None:
        """Who of the candidates or targets of an attack of the policy is in the table; None where it needs neither."""
        return self._membership(attack, self.policy.knows_of(attack))

    def near_copies_for(self, attack: AttackModel) -> NearCopies | None:
        """How many copies in the control would have been seen, for an attack that needs people of it; else None."""
        if attack.needs.isdisjoint({"candidates", "targets"}):
            return None
        return self._tested_control[1]

    def _membership(self, attack: AttackModel, knows: Knows) -> Membership | None:
        if "targets" in attack.needs:
            return self._draw_targets(knows)[1]
        return self._draw(knows)[1] if "candidates" in attack.needs else None

    def _limited(self, known: AdversaryKnowledge, attack: AttackModel, knows: Knows) -> AdversaryKnowledge:
        candidates = self._draw(knows)[0] if "candidates" in attack.needs else None
        targets = self._draw_targets(knows)[0] if "targets" in attack.needs else {}
        releases = self._known_releases if "releases" in attack.needs else None
        granted = replace(known, candidates=candidates, targets=targets, releases=releases)
        return limit_knowledge(granted, attack.needs)

    @cached_property
    def _known_releases(self) -> KnownReleases | None:
        """The other releases that the policy names; InconclusiveError where one is of other people, or unreadable."""
        from leafgate.engine.other_releases import known_releases

        return known_releases(self.policy, self._read_releases, self.table, self.artifact)

    def named_releases(self) -> list[NamedRelease]:
        """The releases that the policy names, for metrics; InconclusiveError where one is a report, or unreadable."""
        if self.policy.releases:
            from leafgate.engine.other_releases import refuse_reports

            refuse_reports(self.policy)
        return [each.for_metrics for each in self._read_releases]

    @cached_property
    def _read_releases(self) -> Sequence[ReadRelease]:
        if not self.policy.releases:
            return ()
        from leafgate.engine.other_releases import read_releases

        return read_releases(self.policy, self.table, self.readers)

    def _draw(self, knows: Knows) -> tuple[Candidates, Membership]:
        """The candidates that a grant allows; they are the same for every attack that is granted as many."""
        most = knows.most_candidates
        if most not in self._drawn:
            self._drawn[most] = draw_candidates(self.table, self._tested_control[0], most, self.policy.seed)
        return self._drawn[most]

    def _draw_targets(self, knows: Knows) -> tuple[dict[str, Targets], Membership]:
        """The targets that a grant allows; they are the same for every attack that is granted the same."""
        key = knows.for_need("targets")
        if key not in self._asked:
            schema = self.table.schema
            tested = secret_inputs(self.artifact.release, schema)
            named = {getattr(attack, "secret", None) for attack in self.policy.attacks if "targets" in attack.needs}
            secrets = [name for name in unknown_columns(schema) if name in tested or name in named]
            self._asked[key] = self._drawn_targets(knows, secrets, tested)
        return self._asked[key]

    def _drawn_targets(
        self, knows: Knows, secrets: Sequence[str], tested: Collection[str]
    ) -> tuple[dict[str, Targets], Membership]:
        """The targets of these secrets; people with a missing cell that no domain has are not among them."""
        never, hardly = self._rarely_missing
        rare = [name for name in secrets if name in hardly]
        table, control = self.table, self._tested_control[0]
        incomplete = table.has_missing(rare)
        asked, others = table.records_where(~incomplete), control.records_where(~control.has_missing([*never, *rare]))
        drawn, membership = draw_targets(asked, others, knows, secrets, self.policy.seed)
        schema, size = table.schema.without_missing_cells([*never, *rare]), int(table.without_key.persons.sum())
        apart = table.records_where(incomplete).without_key if incomplete.any() else None
        targets = {
            name: replace(each, tested=name in tested, secret=schema[name], table_size=size, set_apart=apart)
            for name, each in drawn.items()
        }
        return targets, membership

    @cached_property
    def _rarely_missing(self) -> tuple[frozenset[str], frozenset[str]]:
        """The columns whose cells nobody of the table misses, and those that fewer than `smallest_cell` people miss.

        Those of which the policy says that cells may be missing are not among them.
        """
        table, missing = self.table, dict[str, int]()
        for column in table.schema.columns:
            if column.missing and not column.declares_missing:
                missing[column.name] = table.people_among(table.has_missing([column.name]))
        few = self.policy.report.smallest_cell
        never = frozenset(name for name, people in missing.items() if not people)
        return never, frozenset(name for name, people in missing.items() if 0 < people < few)

    @property
    def _tested_control(self) -> tuple[Table, NearCopies]:
        """The people of the control, or of the test table in its place, and what the test of these found.

        Raises InconclusiveError where there are none, or where they are people of the table.
        """
        test = self.tables.test
        if self.tables.control is not None:
            outside = self.tables.control
        elif test is None:
            raise InconclusiveError("there are no people who are not in the table", place=CONTROL, remedy=OTHER_PEOPLE)
        elif self.policy.build.noisy_test:
            raise InconclusiveError("the test people's numbers have noise on them", place=CONTROL, remedy=OTHER_PEOPLE)
        elif test.sha256 == self.table.sha256 != "":
            raise InconclusiveError("the test table is the table itself", place=CONTROL, remedy=OTHER_PEOPLE)
        else:
            outside = test
        from leafgate.algorithms.near_copies import shares_keys

        if shares_keys(self.table, outside):
            raise InconclusiveError(SHARED_KEYS, place=CONTROL, remedy=OTHER_KEYS)
        return outside, self.check.near_copies(self.table, outside, self.policy.seed)

    @cached_property
    def default(self) -> AdversaryKnowledge:
        """All that the policy's `knows` grants."""
        return self._granted(self.policy.knows, self.tables.known, "knows")

    def _granted(self, knows: Knows, people: Table | None, place: str) -> AdversaryKnowledge:
        """What a section `knows` grants, which stands in the policy at `place`; `people` are those whom it names."""
        seed, share = self.policy.seed, knows.sample
        known = self._ungranted
        if not knows.label_accuracies:
            known = replace(known, label_accuracies=None, vote_accuracies=None)
        return replace(
            known,
            distribution=_distribution(self.table) if knows.distribution else {},
            people=people if share is None else sampled(self.table, share, _own_seed(seed, 1), place),
            facts=knows.granted_facts,
        )

    @cached_property
    def _ungranted(self) -> AdversaryKnowledge:
        """What adversaries know unless `knows` says otherwise; the algorithm too, where it is public.

        The algorithm is cut down like the release.
        """
        builder, level = self.policy.build, self.artifact.release.publish

        def mechanism(own: Table, rng: np.random.Generator) -> Release:
            result = BuildResult.of(builder.mechanism_only.build(own, rng))
            return published(result.release, level, builder.measure_options)

        public = builder.public_algorithm and level.measure and not builder.wants_test
        known = grant_knowledge(
            self.table,
            mechanism=mechanism if public else None,
            seed=_own_seed(self.policy.seed, 0),
            population=self.tables.population,
            release=self.artifact.release,
        )
        retrain, name = self._retrain(known.mechanism)
        reader = _PeopleFiles(self.policy, self.table.schema)
        never, hardly = self._rarely_missing
        incomplete = self.table.has_missing(hardly)
        return replace(
            known,
            schema=known.schema.without_missing_cells(never),
            set_apart=self.table.records_where(incomplete).without_key if incomplete.any() else None,
            hardly_missing=hardly,
            reader=reader,
            retrain=retrain,
            retrain_id=name,
            rows=self._training_rows,
        )

    @property
    def _training_rows(self) -> TrainingRows | None:
        """What a model's file states of the rows of its trees; None where its owner says that these were some rows."""
        provenance = self.artifact.provenance
        numbers = provenance.node_numbers
        is_of_all = numbers is not None and numbers.subsample == 1.0 and not numbers.weighted
        return provenance.training_rows if is_of_all else None

    def _retrain(self, mechanism: Mechanism | None) -> tuple[Retrain | None, str]:
        """Trains a model of the same kind on other people, and what it trains.

        That is the estimator of a model's file, or the public algorithm.
        """
        learner = self.artifact.provenance.learner
        if learner is not None and not self.artifact.release.predicts_numbers:
            for reader in self.readers:
                if reader.train is not None and learner.estimator.startswith(reader.trains):
                    return partial(reader.train, learner), f"{learner.estimator} {learner.described()}"
        if mechanism is None:
            return None, ""

        def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
            return class_scores(mechanism(own, np.random.default_rng(seed)), asked)

        builder = self.policy.build
        kind = type(builder)
        options = f"{builder.model_dump_json(context=UNREAD)} {self.artifact.release.publish}"
        return retrain, f"{kind.__module__}.{kind.__qualname__} {hashlib.sha256(options.encode()).hexdigest()}"


CONTROL = "data.control"
SHARED_KEYS = "some people in it have the key of somebody in the table"
OTHER_KEYS = "leave these people out of the file; where keys only number its rows, give the column the role `ignored`"
OTHER_PEOPLE = "name a file of other people, such as a random part of the data that the release is not learned from"
COPIES = (
    "some people in it seem to be copies of people in the table: they are alike in all columns, or in all but one, "
    "more often than other people are"
)


@dataclass(frozen=True)
class ControlCheck:
    """Whether the people of a control are other people than those of the table, tested once for each seed."""

    _tested: dict[int, NearCopies] = field(default_factory=dict, repr=False, compare=False)

    def near_copies(self, table: Table, control: Table, seed: int) -> NearCopies:
        """The result of the test; InconclusiveError where the control seems to have copies of people of the table."""
        from leafgate.algorithms.near_copies import near_copies

        if seed not in self._tested:
            with progress_step("control"):
                self._tested[seed] = near_copies(table, control, np.random.default_rng(_own_seed(seed, 4)))
        if self._tested[seed].has_copies:
            raise InconclusiveError(COPIES, place=CONTROL, remedy=OTHER_PEOPLE)
        return self._tested[seed]


def draw_candidates(table: Table, control: Table, most: int, seed: int) -> tuple[Candidates, Membership]:
    """People of the table and of the control in random order, and who of them is in the table.

    People of the control who have the same cells as somebody in the table stay: they are other people, and
    `Membership.identical` marks them.

    The order follows from `seed` and from all cells of both tables, so that nobody who knows the seed and the
    candidates can compute it.

    Args:
        table: the people whom the release was learned from.
        control: people with the columns of the same schema.
        most: of each table at most so many people are drawn, everyone equally likely; with the same seed and tables a
            larger number contains every smaller one.
        seed: the policy's seed.

    Raises:
        InconclusiveError: nobody is in the control, or there are too many people to draw from.
    """
    inside, others = _inside_and_others(table, control)
    seeds = np.random.SeedSequence([seed, *_content_words(inside, others)], spawn_key=(2,)).generate_state(3).tolist()
    drawn = [_drawn_rows(people.persons, most, own) for people, own in zip((inside, others), seeds, strict=False)]
    order = np.random.default_rng(seeds[2]).permutation(sum(map(len, drawn)))
    in_table = (np.arange(len(order)) < len(drawn[0]))[order]
    columns = {
        column.name: pd.concat(
            [part.frame[column.name].iloc[rows] for part, rows in zip((inside, others), drawn, strict=True)]
        ).iloc[order]
        for column in inside.schema.columns
    }
    frame = pd.DataFrame({name: cells.array for name, cells in columns.items()})
    people = Table(inside.schema, frame, np.ones(len(order), dtype=np.int64))
    weighted = table.rows is not None and not table.counts_people
    candidates = Candidates(people, len(drawn[0]), len(drawn[1]), weighted, int(inside.persons.sum()))
    return candidates, Membership(in_table, ~in_table & _also_in(inside, people))


def _inside_and_others(table: Table, control: Table) -> tuple[Table, Table]:
    """The people of the table and those of the control, without keys."""
    inside, others = table.without_key, control.without_key
    for people in (inside, others):
        if int(people.persons.sum()) >= MAX_PEOPLE:
            raise InconclusiveError(f"candidates are drawn from fewer than {MAX_PEOPLE:,} people", place=CONTROL)
    if not len(others):
        raise InconclusiveError("there is nobody in it", place=CONTROL, remedy=OTHER_PEOPLE)
    return inside, others


def secret_inputs(release: Release, schema: Schema) -> list[str]:
    """The columns that trees of the release test and that are not public, nor the class, in the schema's order."""
    asked = frozenset[str]().union(*map(columns_asked, (*release.trees, *release.alternatives.values())))
    return [name for name in unknown_columns(schema) if name in asked]


def unknown_columns(schema: Schema) -> list[str]:
    """The columns that trees may test and that are not public, nor the class, in the schema's order."""
    return [column.name for column in schema.features if not column.public]


def draw_targets(
    table: Table, control: Table, knows: Knows, secrets: Sequence[str], seed: int
) -> tuple[dict[str, Targets], Membership]:
    """People of the table and of the control of whom secrets are asked, and who of them is in the table.

    The people are the same for each secret. Some people of the control are set apart before, the auxiliary people; they
    are a third of the control at most. Which group is the table, and the order within the groups, follow from `seed`
    and from all cells of both tables, so that nobody who knows the seed and the targets can compute it.

    Args:
        table: the people whom the release was learned from.
        control: people with the columns of the same schema.
        knows: how many people, and which columns are known of them.
        secrets: the columns that are asked.
        seed: the policy's seed.

    Raises:
        InconclusiveError: there are fewer than three people in the control, or too many people.
    """
    inside, others = _inside_and_others(table, control)
    outside = int(others.persons.sum())
    if outside < FEWEST_OUTSIDE:
        hint = "name a file of more people who are not in the table"
        message = f"fewer than {FEWEST_OUTSIDE} people in it are not in the table"
        raise InconclusiveError(message, place=CONTROL, remedy=hint)
    words = np.random.SeedSequence([seed, *_content_words(inside, others)], spawn_key=(3,)).generate_state(4).tolist()
    known_in_full = nested_sample(others.persons, min(knows.most_auxiliary, outside // FEWEST_OUTSIDE), words[0])
    rest = others.persons - known_in_full
    rng = np.random.default_rng(words[3])
    drawn = [
        people_at(people, rng.permutation(_drawn_rows(persons, knows.most_candidates, word)))
        for people, persons, word in ((inside, inside.persons, words[1]), (others, rest, words[2]))
    ]
    auxiliary = people_at(others, rng.permutation(np.repeat(np.arange(len(others)), known_in_full)))
    targets, membership = targets_of(inside, drawn[0], drawn[1], auxiliary, knows, secrets, swapped=rng.random() < 0.5)
    weighted = table.rows is not None and not table.counts_people
    marked = {name: replace(each, training_weighted=weighted) for name, each in targets.items()}
    return marked, membership


def targets_of(
    table: Table,
    asked: Table,
    control: Table,
    auxiliary: Table,
    knows: Knows,
    secrets: Sequence[str],
    *,
    swapped: bool,
) -> tuple[dict[str, Targets], Membership]:
    """Targets of each secret, and who of them is in the table.

    Args:
        table: everybody whom the release was learned from.
        asked: the people of the table who are targets, a row for each.
        control: the other targets, a row for each.
        auxiliary: people who are no targets, a row for each.
        knows: which columns are known of targets.
        secrets: the columns that are asked.
        swapped: whether the control is the first group.
    """
    parts = [control, asked] if swapped else [asked, control]
    names, size = _columns_known(table.schema, knows), int(table.persons.sum())
    targets = {}
    for secret in secrets:
        first, second = (_with_columns(part, [name for name in names if name != secret]) for part in parts)
        complete = len(asked) == size
        targets[secret] = Targets(table.schema[secret], (first, second), auxiliary, complete, table_size=size)
    codes = {
        name: np.concatenate([part.codes(name) for part in parts]) for name in secrets if table.schema[name].countable
    }
    membership = Membership(
        np.repeat([part is asked for part in parts], [len(part) for part in parts]),
        np.concatenate([_also_in(table, part) & (part is control) for part in parts]),
        secrets=codes,
    )
    return targets, membership


FEWEST_OUTSIDE = 3
"""Of so many people of the control one is an auxiliary person."""


def _columns_known(schema: Schema, knows: Knows) -> list[str]:
    """The columns that are known of targets, but for the secret."""
    known = knows.columns
    return [
        column.name
        for column in schema.columns
        if (knows.class_known or column.public if "class" in column.roles else column.public or known is None)
        or (known is not None and column.name in known)
    ]


def people_at(people: Table, rows: NDArray[np.int64]) -> Table:
    """A row for each of the people at these positions, in this order, each with weight 1."""
    frame = people.frame.iloc[rows].reset_index(drop=True)
    return Table(people.schema, frame, np.ones(len(frame), dtype=np.int64))


def _with_columns(people: Table, names: list[str]) -> Table:
    """The same people, in the same order, with these columns alone."""
    schema = Schema(tuple(people.schema[name] for name in names), dropped=people.schema.dropped)
    cells = pd.DataFrame({name: people.frame[name] for name in names}, index=people.frame.index, copy=False)
    return Table(schema, cells, people.weight)


def _drawn_rows(persons: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """The row of each person who is drawn, one for each."""
    taken = nested_sample(persons, min(most, int(persons.sum())), seed)
    return np.repeat(np.arange(len(persons)), taken)


def _also_in(table: Table, people: Table) -> NDArray[np.bool_]:
    """For each of `people`, whether somebody in the table has the same cells."""
    _, record = distinct_rows(pd.concat([table.frame, people.frame], ignore_index=True), table.schema)
    return np.isin(record[len(table) :], record[: len(table)])


def _content_words(*tables: Table) -> list[int]:
    """The digest of all cells and weights, as whole numbers below 2^32."""
    digest = hashlib.sha256()
    for table in tables:
        for column in table.schema.columns:
            cells = table.frame[column.name]
            numbers = cells.cat.codes if isinstance(cells.dtype, pd.CategoricalDtype) else cells
            digest.update(np.ascontiguousarray(numbers.to_numpy(dtype="<f8")).tobytes())
        digest.update(table.weight.astype("<i8").tobytes())
    return [int(word) for word in np.frombuffer(digest.digest(), dtype="<u4")]


class _PeopleFiles:
    """Reads the files about people that options of the policy's attacks and metrics name, each once.

    A belief that encloses what its attack knew reads none in another process: the policy's classes are not there.
    """

    def __init__(self, policy: Policy, schema: Schema) -> None:
        components: list[AttackModel | Metric] = [*policy.attacks, *policy.metrics]
        self._options = {file: name for component in components for name, file in component.people_files.items()}
        self._data, self._schema = policy.data, schema
        self._tables: dict[Path, Table] = {}

    def __call__(self, path: Path) -> Table:
        if path not in self._options:
            hint = "read what an option of type PeopleFile or OwnersFile names"
            raise InconclusiveError("no attack or metric of the policy names this file in an option", remedy=hint)
        if path not in self._tables:
            try:
                self._tables[path] = read_columns_there(self._data, self._schema, path, self._options[path])
            except DataError as error:
                raise InconclusiveError.listing(error.problems) from error
        return self._tables[path].defensive_copy()

    def __deepcopy__(self, memo: dict[int, object]) -> _PeopleFiles:
        return self

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _no_reader, ()


def _no_reader() -> None:
    """In place of a reader in another process."""


def _distribution(table: Table) -> dict[str, dict[str, float]]:
    """The overall shares of the values of each secret; of the class where the policy names no secret."""
    shares: dict[str, dict[str, float]] = {}
    for column in table.schema.secrets or table.schema.having("class"):
        if column.countable:
            domain = list(map(str, column.domain))
            counts = np.bincount(table.codes(column.name), weights=table.weight, minlength=len(domain))
            shares[column.name] = dict(zip(domain, (counts / table.total_weight).tolist(), strict=True))
    return shares


def _own_seed(seed: int, use: int) -> int:
    """Coins that repeat with the policy's seed: for attacks (0), for drawing known people (1); never the builder's.

    Candidates are drawn with (2), targets with (3), in `draw_candidates` and `draw_targets`. A control is tested
    with (4).
    """
    return int(np.random.SeedSequence(seed, spawn_key=(use,)).generate_state(1)[0])
