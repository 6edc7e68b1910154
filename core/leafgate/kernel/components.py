"""Components: the base classes of tree builders, attack models and data sources, and what these share with metrics.

A component's fields are its options in a policy, checked before anything runs. Its class variables are the text that
`leafgate explain` prints and the facts that the core needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, field_validator

from leafgate.errors import InconclusiveError
from leafgate.kernel.findings import Scored
from leafgate.kernel.inheritance import FREE, SPECIAL, Inherited, ordered_by, ranked, rule_of
from leafgate.kernel.knowledge import AdversaryKnowledge, Knows, Need
from leafgate.kernel.options import STRICT as STRICT
from leafgate.kernel.options import PositiveFloat, people_files
from leafgate.kernel.oracle import ACCESS_LEVELS, Access
from leafgate.kernel.schema import Schema

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from leafgate.kernel.arrays import Ids
    from leafgate.kernel.belief import Belief
    from leafgate.kernel.large_table import LargeTable
    from leafgate.kernel.metrics import Metric
    from leafgate.kernel.policy import Policy
    from leafgate.kernel.release import BuildResult, Release
    from leafgate.kernel.table import Table


Neighbours = Literal["add_remove", "replace_one"]
"""Tables that differ by a person more, or by one person changed."""
Distribution = Literal["derived", "composition", "by_persons"]
"""A distribution of a secret: what the adversary derives, or the true composition of each person's group.

Where a column numbers the people, the composition is of rows, and `by_persons` has of each value the share of the
persons who have it: together more than 1 where somebody has several.
"""
DEFAULT_ORDER: tuple[Scored, ...] = ("worst", "derived", "composition")
"""The first of these that a metric can score is its default."""
ONLY_DERIVED: frozenset[Scored] = frozenset({"derived"})
"""The `scorable` of metrics that compare a posterior with the truth."""


class Component(BaseModel):
    """What builders, attacks and metrics have in common: `use`, the name a policy picks it by.

    The rule of a field states how a policy that extends another may change the option, `Annotated[int, MORE]` where
    more always protects better and `LESS` where less does (of a switch, on is more); without a rule it may not be
    changed. `policy_example` has the options with which documentation shows the component in a policy, as YAML on one
    line (`k: 10, prune: false`); it needs those that have no default.

    `counts_persons`: where a column numbers the people and one has several rows, does it count different persons
    (`Table.people_by`), so that what it says holds of persons? Otherwise the core does not run it on such a table.
    """

    model_config = STRICT

    use: str

    counts_persons: ClassVar[bool] = False
    threat_model: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""
    policy_example: ClassVar[str] = ""

    @classmethod
    def options_ruled(cls, rule: Inherited) -> frozenset[str]:
        """The options with this rule, such as `MORE`."""
        return frozenset(name for name, field in cls.model_fields.items() if rule_of(field) == rule)

    def refuse_persons(self, table: Table) -> None:
        """Raise InconclusiveError where a person may have several rows of the table, and it counts rows."""
        if table.person_rows is not None and not self.counts_persons:
            raise InconclusiveError(
                f"{self.use!r} counts rows, and here a person may have several (the role `person`)",
                place="data.columns",
                remedy="take another in its place that counts people (of attacks `linking` does), or leave it out",
            )

    def missing_requirements(self, policy: Policy) -> str:
        """A sentence about what this component needs and the policy does not declare; empty where nothing is missing.

        It is called before any table is read. The policy given to an attack with a `knows` of its own has that one.
        """
        return ""

    @property
    def people_files(self) -> Mapping[str, Path]:
        """The files about people that its options name (PeopleFile, OwnersFile), by the options.

        Reports state their digests.
        """
        return people_files(self)


class TreeBuilder(Component):
    """Makes what the owner would publish.

    `randomness` is the source of its random numbers: `none`, `seed` (repeatable) or `system` (the operating system's
    entropy); a builder with an option `rehearsal` may then take the seed all the same, for a release that must not be
    published. `measure_options` names the options that disclose the selection measure, so that `publish: {measure:
    false}` can leave them out. `audited_option` names the option that is the audited file, where the builder reads one:
    `policy.sha256_without_file` of reports leaves it out. `guarantees` names the kinds of claims (`epsilon`,
    `Claim.kind`) that hold only while nobody chooses among several releases by looking at the data.
    `raised_by_remedies` names whole-number options of which more usually makes groups of people larger: where an audit
    fails, leafgate looks for a value of these, and of those whose rule is `MORE`, with which it passes. `needs_class`:
    is a policy without a column of the role `class` invalid, because what is built predicts it?
    """

    randomness: ClassVar[Literal["none", "seed", "system"]] = "none"
    measure_options: ClassVar[frozenset[str]] = frozenset()
    audited_option: ClassVar[str] = ""
    public_algorithm: ClassVar[bool] = True
    guarantees: ClassVar[frozenset[str]] = frozenset()
    raised_by_remedies: ClassVar[frozenset[str]] = frozenset()
    needs_class: ClassVar[bool] = False

    def missing_requirements(self, policy: Policy) -> str:
        """That no column is the class, where one is needed; empty where nothing is missing."""
        if self.needs_class and not any("class" in spec.roles for spec in policy.data.columns.values()):
            return f"`{self.use}` needs a column with the role `class`, which it predicts"
        return ""

    @property
    def is_rehearsal(self) -> bool:
        """Is the release for trying out only, because it repeats by the seed where it should not?"""
        return bool(getattr(self, "rehearsal", False))

    @property
    def one_shot(self) -> bool:
        """Are its random numbers drawn once, from the operating system?"""
        return self.randomness == "system" and not self.is_rehearsal

    @property
    def witness_file(self) -> Path | None:
        """The file with the own answers of a model that is read from a file, if the policy names one."""
        return None

    @property
    def mechanism_only(self) -> TreeBuilder:
        """The builder without steps that anyone could compute from the rest: attacks on the mechanism run it."""
        return self

    @property
    def noisy_test(self) -> bool:
        """Do the numbers of `data.test` have noise on them, so that they may lie outside the columns' bounds?"""
        return False

    @property
    def wants_test(self) -> bool:
        """Does `build` take the test table, as `test`?"""
        return False

    @property
    def wants_readers(self) -> bool:
        """Does `build` take the readers of model files that the policy's plugins offer, as `readers`?"""
        return False

    def build(self, table: Table, rng: np.random.Generator) -> Release | BuildResult:
        """The release, with exact counts on its leaves; the core cuts it to what is published.

        A builder that has something for its owner alone (`origins`, `trail`) returns a BuildResult.

        Raises NoReleaseError when nothing keeps the builder's promise.
        """
        raise NotImplementedError(type(self).__name__)

    def builds_large(self, schema: Schema) -> bool:
        """Can `build_large` build from tables with these columns that do not fit into memory?"""
        return False

    def build_large(self, table: LargeTable, rng: np.random.Generator) -> Release | BuildResult:
        """What `build` builds, from a table in blocks; called only where `builds_large`.

        By default `build` is asked, which then uses no more of the table than both kinds of tables have.
        """
        build: Callable[..., Release | BuildResult] = self.build
        return build(table, rng)

    def account(self, release: Release, delta: float, neighbours: Neighbours) -> float:
        """The epsilon, at `delta`, of the differential privacy of the mechanism that made this release.

        Work it out from the release and the options: it is published. The metric `differential_privacy` compares it
        with the claim `epsilon` of the release, and `distinguish` runs the builder to refute it.

        Args:
            release: what `build` returned, as its file has it.
            delta: from 0 to 1.
            neighbours: tables that differ by a person more (`add_remove`), or by one who is changed (`replace_one`).

        Returns:
            `math.inf` where none is enough, as where a condition of the account does not hold.

        Raises InconclusiveError where the builder has no account.
        """
        remedy = "give its class the method `account`, or leave the claim out"
        raise InconclusiveError(f"the builder {self.use!r} has no account of its releases", remedy=remedy)

    def distilled(self, table: Table, rng: np.random.Generator, levels: Ids) -> Release | None:
        """What `build` builds, with tests that tell another model's scores apart and not the classes.

        The release has one tree, whose leaves hold the table's people; it keeps what `keeping` was asked for.

        Args:
            table: The people.
            rng: The builder's random numbers.
            levels: shape (n_records,), whole numbers from 0: people with the same number have alike scores.

        Returns:
            None where the builder has no such way.

        Raises NoReleaseError when nothing keeps the builder's promise.
        """
        return None

    @classmethod
    def keeping(cls, limits: Sequence[Metric]) -> Self | None:
        """The builder of this kind whose releases keep as many of these limits as it can keep by construction.

        Where an audit fails, leafgate tries the builders of the installed plugins that answer.

        Args:
            limits: metrics of the policy whose limits are broken.

        Returns:
            The builder with the options that these limits ask for; None where it can keep none of them.
        """
        return None

    def described(self) -> dict[str, Any]:
        """The builder as its release names it."""
        return {"use": self.use} | self.model_dump(mode="json", exclude={"use"})


class AttackModel(Component):
    """Computes an adversary's beliefs from the release and from what the policy grants this attack.

    Class variables, by which the core decides what an attack is given:

    `reads`: the values of `Release.count_semantics` (what the numbers of a release count) that the attack understands.
    `models`: the values of `Release.model` that it can read.
    `parts`: the published parts of a release that it takes into account: `trees` (the model, whatever kind it is),
    `alternatives`, `records`. Where no attack of a policy takes a part into account the audit is inconclusive.
    `needs`: the optional knowledge that it takes into account: `distribution`, `people`, `facts`, `label_accuracies`,
    `population`, `mechanism`, `candidates`, `targets`, `releases`, `rows`. Whatever a policy grants, an attack gets
    nothing that it does not declare. One that declares `candidates` or `targets` does not learn who is in the table: it
    gets no public records, and may not declare `people`. An attack with targets may have an option `secret` with the
    name of a column: it then gets targets of that column too where no tree tests it.
    `access_levels`: what it can use of the model: `labels` or `scores` that a PredictionOracle answers, or the `file`,
    which is the release. The policy chooses one of them by `access`.

    `by_equivalence_class`: does no belief change where one of several people stands for all of them, who have the same
    class and secrets, reach the same leaf of each tree, and would reach the same leaves with other private cells? It
    then attacks tables that do not fit into memory, too.

    The field `knows` belongs to the policy, and is None whenever the engine calls the attack. So does `time_limit`,
    unless a class has a field of that name itself, whose seconds it keeps by itself.
    """

    name: str = Field(default="", description="What findings call it; by default its `use`. Unique.")
    knows: Annotated[Knows | None, SPECIAL] = Field(
        default=None, description="What this attack's adversary has, in place of the policy's `knows`."
    )
    time_limit: Annotated[PositiveFloat | None, FREE] = Field(
        default=None,
        description="Seconds after which the attack is ended and inconclusive. It then runs in a process of its own, "
        "which Windows cannot start.",
    )
    access: Annotated[Access | None, ordered_by(ranked(ACCESS_LEVELS))] = Field(
        default=None,
        description="What it gets of the model: answers with labels, answers with scores, or the release file; by "
        "default the most that it can use.",
    )

    reads: ClassVar[frozenset[str]] = frozenset({"exact", "sampled", "bootstrap", "perturbed", "noisy", "unknown"})
    models: ClassVar[frozenset[str]] = frozenset({"trees"})
    parts: ClassVar[frozenset[str]] = frozenset({"trees", "alternatives", "records"})
    needs: ClassVar[frozenset[Need]] = frozenset()
    access_levels: ClassVar[frozenset[Access]] = frozenset({"file"})
    by_equivalence_class: ClassVar[bool] = False

    @field_validator("access")
    @classmethod
    def _usable(cls, access: Access | None) -> Access | None:
        if access is not None and access not in cls.access_levels:
            usable = ", ".join(level for level in ACCESS_LEVELS if level in cls.access_levels)
            raise ValueError(f"this attack cannot use {access}; choose {usable}")
        return access

    @classmethod
    def limits_itself(cls) -> bool:
        """Has the class an option `time_limit` of its own, so that the engine ends no attack of it?"""
        return rule_of(cls.model_fields["time_limit"]) is not FREE

    @classmethod
    def strongest_access(cls) -> Access:
        """The most that the attack can use."""
        return max(cls.access_levels, key=ACCESS_LEVELS.index)

    @property
    def chosen_access(self) -> Access:
        """What it is handed of the model: what the policy chooses, else the most that it can use."""
        return self.strongest_access() if self.access is None else self.access

    @property
    def called(self) -> str:
        """Its name in the policy: `name`, or what it uses."""
        return self.name or self.use

    @property
    def people_files(self) -> Mapping[str, Path]:
        """The files about people that its own options name; that of `knows` belongs to the policy."""
        return people_files(self.without_knows)

    @property
    def without_knows(self) -> Self:
        """The attack as the engine calls it: without the policy's `knows`, which may name more than it declares."""
        return self if self.knows is None else self.model_copy(update={"knows": None})

    def forecast(self, release: Release, known: AdversaryKnowledge) -> str:
        """What it is going to do, printed before it begins; empty where it is quick.

        It may say about how long that will take, by the amount of work and not by a clock: the same audit prints the
        same on every machine.
        """
        return ""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        """One belief for each secret the attack speaks about.

        Where the policy chooses the access `labels` or `scores`, `release` is a PredictionOracle. An attack that lists
        one of these in `access_levels` widens the type of its argument to `Release | PredictionOracle`.
        """
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True)
class SourceFile:
    """A data file, read by the core: its name without folders, for errors, and its bytes."""

    name: str
    content: bytes


class DataSource(Component):
    """Reads the rows of a data file, as `data.source` of a policy asks for it.

    Its fields are its options in the policy. `suffixes` are the endings, in small letters, of the files that it reads;
    the core reads all other files of the policy itself, as CSV or Parquet. The core also reads the bytes, computes
    their digest, and checks the columns and cells against the policy. `keeps_rows` names the options with which every
    row of a table is read, such as the name of the table: a policy that extends another may state these, and no others.
    """

    suffixes: ClassVar[frozenset[str]] = frozenset()
    keeps_rows: ClassVar[frozenset[str]] = frozenset()

    def read(self, file: SourceFile) -> pd.DataFrame:
        """The cells of every row and every column, as text; `text_frame` makes the result.

        Args:
            file: the bytes of the file, and its name for errors.

        Returns:
            One row for each row of the file and one column for each of its columns, under its name; a file that has no
            names of columns gives them numbers from 0. Each cell is a text; a missing cell is the empty text.

        Raises:
            DataError: the bytes cannot be read, or have no such table. Its text contains no cell.
        """
        raise NotImplementedError

    @classmethod
    def reads(cls, name: str) -> bool:
        """Does a file of this name end in one of the `suffixes`?"""
        return name.lower().endswith(tuple(cls.suffixes))
