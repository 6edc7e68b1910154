"""What a policy grants an adversary (`Knows`), and what an attack then holds (`AdversaryKnowledge`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from leafgate.errors import InconclusiveError
from leafgate.kernel.facts import Fact, FactSpec
from leafgate.kernel.inheritance import GRANTED, MORE, MORE_ITEMS_TIGHTER, SPECIAL, all_of, more, ordered_by, unordered
from leafgate.kernel.options import STRICT, PeopleFile, PositiveInt, Share

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.release import Release
    from leafgate.kernel.schema import Column, Schema
    from leafgate.kernel.table import Table
    from leafgate.kernel.training_rows import TrainingRows

Mechanism: TypeAlias = "Callable[[Table, np.random.Generator], Release]"
"""Runs the builder on a table, for attacks on the mechanism."""
Retrain: TypeAlias = "Callable[[Table, Table, int], NDArray[np.float64]]"
Need = Literal[
    "distribution",
    "people",
    "facts",
    "label_accuracies",
    "population",
    "mechanism",
    "candidates",
    "targets",
    "releases",
    "rows",
]
"""The optional parts of an adversary's knowledge, as attacks declare them in `needs`."""
NEEDS: frozenset[str] = frozenset(get_args(Need))


@dataclass(frozen=True)
class Grant:
    """What a key of `knows` is for; metadata of its field.

    Attributes:
        needs: attacks that declare one of these take it into account; empty for a key that only qualifies another.
        says: what reports list as granted, or as withheld where the key is on by default and off; empty for nothing.
    """

    needs: frozenset[Need]
    says: str | Callable[[Knows], str]


def _grant(*needs: Need, says: str | Callable[[Knows], str] = "") -> Grant:
    return Grant(frozenset(needs), says)


def _known_share(knows: Knows) -> str:
    return f"the secrets of {100 * (knows.sample or 0):g} % of the people"


def _rules(knows: Knows) -> str:
    rules = len(knows.granted_facts)
    return f"{rules} {'rule' if rules == 1 else 'rules'} about people" if rules else ""


MAX_CANDIDATES = 10_000
"""At most so many people of the table, and so many of the control, are candidates unless a policy says otherwise."""


MAX_AUXILIARY = 2_000
"""At most so many people of the control are known with all their columns unless a policy says otherwise."""


class Knows(BaseModel):
    """What the adversary has besides the public columns."""

    model_config = STRICT

    # the metadata of a field: the rule for policies that extend another, and what it is for

    distribution: Annotated[bool, MORE, _grant("distribution", says="how common each value of the secrets is")] = Field(
        False,
        description="The overall shares of each secret, or of the class where there is none; attacks that write down "
        "records then use the distribution of each public column too.",
    )
    people: Annotated[PeopleFile | None, GRANTED, _grant("people", says="some people's secrets, from a file")] = Field(
        None, description="A table of people whose secrets are known: the public columns, and one secret or more."
    )
    sample: Annotated[Share | None, ordered_by(more, default=0), _grant("people", says=_known_share)] = Field(
        None, description="Instead: the share of the people, drawn by the seed, whose secrets are known."
    )
    label_accuracies: Annotated[
        bool,
        MORE,
        _grant("label_accuracies", says="how often each label is right, where no number of its leaf says so"),
    ] = Field(
        True,
        description="How often each label is right, where no number of its leaf says so, as anybody with test data "
        "knows; `false` assumes a weaker adversary.",
    )
    facts: Annotated[tuple[FactSpec, ...], MORE_ITEMS_TIGHTER, _grant("facts", says=_rules)] = Field(
        (), description="Rules about people that are known."
    )
    facts_known: Annotated[Annotated[int, Field(ge=0)] | None, SPECIAL, _grant()] = Field(
        None, description="How many of the `facts` are granted, the first ones; by default all."
    )
    candidates: Annotated[
        PositiveInt | None, ordered_by(more, default=MAX_CANDIDATES), _grant("candidates", "targets")
    ] = Field(
        None,
        description="For membership and attribute attacks: at most how many people of the table, and how many of "
        f"`data.control`, are candidates; by default {MAX_CANDIDATES:,}.",
    )
    class_known: Annotated[bool, MORE, _grant("targets")] = Field(
        False, alias="class", description="For attribute attacks: the class of each person."
    )
    auxiliary: Annotated[PositiveInt | None, ordered_by(unordered, default=MAX_AUXILIARY), _grant("targets")] = Field(
        None,
        description="For attribute attacks: of at most how many people of `data.control` the adversary knows all "
        f"columns; by default {MAX_AUXILIARY:,}.",
    )
    columns: Annotated[tuple[str, ...] | None, ordered_by(all_of), _grant("targets")] = Field(
        None,
        description="For attribute attacks: the columns that the adversary knows of each person, besides the public "
        "ones; by default all but the secret.",
    )

    @field_validator("sample")
    @classmethod
    def _one_source(cls, sample: float | None, info: ValidationInfo) -> float | None:
        if sample is not None and info.data.get("people") is not None:
            raise ValueError("`people` names those who are known, `sample` draws them; choose one")
        return sample

    @field_validator("facts_known")
    @classmethod
    def _so_many(cls, known: int | None, info: ValidationInfo) -> int | None:
        listed = len(info.data.get("facts", ()))
        if known is not None and "facts" in info.data and known > listed:
            raise ValueError(f"is more than the {listed} fact(s) that are listed")
        return known

    @property
    def granted_facts(self) -> tuple[Fact, ...]:
        """The facts that are granted, the first ones of those that are listed."""
        return tuple(spec.fact for spec in self.facts[: self.facts_known])

    @property
    def most_candidates(self) -> int:
        """At most so many people of the table, and so many of the control, are candidates or targets."""
        return self.candidates or MAX_CANDIDATES

    @property
    def most_auxiliary(self) -> int:
        """At most of so many people of the control all columns are known."""
        return self.auxiliary or MAX_AUXILIARY

    @classmethod
    def grants(cls) -> Mapping[str, Grant]:
        """What each field is for."""
        listed = cls.model_fields.items()
        return {name: each for name, info in listed for each in info.metadata if isinstance(each, Grant)}

    @property
    def changed(self) -> list[str]:
        """The fields that grant or withhold something: those that do not have their defaults."""
        return [name for name, info in type(self).model_fields.items() if getattr(self, name) != info.default]

    @property
    def granted(self) -> list[str]:
        """What reports list as granted."""
        return [words for name in self.changed if getattr(self, name) and (words := self._said(name))]

    @property
    def withheld(self) -> list[str]:
        """What reports list as withheld: that is on by default, and off here."""
        return [words for name in self.changed if getattr(self, name) is False and (words := self._said(name))]

    def for_need(self, need: Need) -> tuple[object, ...]:
        """All that is granted to attacks that declare this need, by which two sections grant the same."""
        return tuple(getattr(self, name) for name, grant in self.grants().items() if need in grant.needs)

    def _said(self, name: str) -> str:
        says = self.grants()[name].says
        return says if isinstance(says, str) else says(self)


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
        set_apart: the few people of the table who miss a secret that its domain has no missing cells of, with all
            columns. They are no targets, and `complete` is about all others.
    """

    secret: Column
    groups: tuple[Table, Table]
    auxiliary: Table
    complete: bool = False
    training_weighted: bool = False
    table_size: int | None = None
    tested: bool = True
    set_apart: Table | None = None

    def __len__(self) -> int:
        """How many people there are in both groups."""
        return sum(map(len, self.groups))


@dataclass(frozen=True)
class SecretChange:
    """How the secrets that people have in two tables may differ.

    Attributes:
        directions: pairs of an older and a newer value, as texts; None where any other value may follow. Without any,
            everybody has the same secret in all tables.
        at_most: how many people may have another secret in some table; None for any number.
    """

    directions: frozenset[tuple[str, str]] | None = frozenset()
    at_most: int | None = None

    @property
    def is_none(self) -> bool:
        """Has everybody the same secret in all tables?"""
        return not self.directions if self.directions is not None else self.at_most == 0

    def allows(self, older: str, newer: str) -> bool:
        """May somebody who has one value have another one in a later table, perhaps after several changes?"""
        if self.directions is None or older == newer:
            return True
        reached, waiting = {older}, [older]
        while waiting:
            now = waiting.pop()
            more = {after for before, after in self.directions if before == now} - reached
            reached |= more
            waiting += more
        return newer in reached


@dataclass(frozen=True)
class LeafRoll:
    """In which leaves of a release its people were, where their table is gone.

    Attributes:
        leaf: shape (n_trees, n_records), the number of the leaf that the people of a record reach; -1 for none.
        forgotten: people of the release of whom nobody knows any more who they are, nor which leaves they reached.
    """

    leaf: NDArray[np.int64]
    forgotten: int = 0


@dataclass(frozen=True)
class OtherRelease:
    """A release that the adversary has beside the one that is attacked, and the people it was learned from.

    Attributes:
        label: what reports call it: the key of the policy and the name of the file, such as `releases[0] (may.json)`.
        release: the release as its file has it.
        public: the distinct public records of its people.
        record: shape (n_people,), the position in `public` of the record that each person of `KnownReleases` had then;
            -1 for people it was not learned from. None where nobody knows which of its people is who.
        table: the number of the table of its people, in the order of time; releases of one table have the same.
        largest_share: no class has a larger share of the people of a leaf, as a report of it states; 1 for no report.
        roll: where the table of its people is gone, their leaves; `record` has positions in it, and `public` no rows.
    """

    label: str
    release: Release
    public: Table
    record: NDArray[np.int64] | None
    table: int
    largest_share: float = 1.0
    roll: LeafRoll | None = None


@dataclass(frozen=True)
class KnownReleases:
    """What the adversary has beside the release: other releases, and who is who among the people of all of them.

    People are those of the table, first, and those whom another release was learned from and who are not in the table.
    Nothing here depends on anybody's secret, the order of the people neither.

    Attributes:
        others: the other releases.
        record: shape (n_people,), the position of each person in `AdversaryKnowledge.records`; -1 for people who are
            not in the table.
        weight: shape (n_people,), the persons whom each of these stands for.
        keys: shape (n_people,), the key of each person; None where people are known by their public records alone, and
            there is one person for each of these.
        table: the number of the audited table, the latest one.
        change: how the secrets that people have in two tables may differ.
        largest_share: as in OtherRelease, of the release that is attacked.
    """

    others: tuple[OtherRelease, ...]
    record: NDArray[np.int64]
    weight: NDArray[np.int64]
    keys: NDArray[Any] | None = field(default=None, repr=False)
    table: int = 0
    change: SecretChange = SecretChange()
    largest_share: float = 1.0

    @property
    def in_table(self) -> int:
        """How many of the people are in the table: the first ones."""
        return int((self.record >= 0).sum())


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


def _part(need: Need, says: str = "", *, background: bool = True) -> Mapping[str, Any]:
    """Metadata of a field that only attacks which declare this need get.

    `says` is how `leafgate explain` names it. Numbers that follow from `background` knowledge
    and not from the release are hidden in public reports.
    """
    return {"need": need, "says": says, "background": background}


@dataclass(frozen=True)
class AdversaryKnowledge:
    """What an adversary knows when an attack begins, besides the release.

    Attributes:
        schema: the roles and domains of all columns.
        public: one row for each distinct public record (the quasi-identifiers of everyone in the table), its weight
            the people who share it. It has no rows for an attack that gets `candidates`, which is not told who is in
            the table.
        distribution: for each secret, or for the class where there is none, the share of each value, as a text, among
            all people; empty unless the policy grants it.
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
        set_apart: the few people of the table who miss cells of the columns in `hardly_missing`, with all columns,
            secrets too, whatever the policy grants; only for attacks that declare `people`.
        hardly_missing: columns whose cells so few people of the table miss that proofs leave such cells out: by
            `complete_schema`, and with the people of `set_apart` taken out of all counts.
        reader: reads a file about people that an option of any component of the policy names; None outside an audit.
        releases: other releases of these people, and who is who; None where the policy names none.
        rows: what the file of somebody else's model states of the rows of its trees; None for other releases.
    """

    schema: Schema
    public: Table
    distribution: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict,
        metadata=_part(
            "distribution",
            "the shares of each secret among everyone, and to attacks that write down records of each public column "
            "(`knows.distribution`)",
        ),
    )
    mechanism: Mechanism | None = field(
        default=None,
        metadata=_part("mechanism", "the builder's algorithm and options, where these are public", background=False),
    )
    retrain: Retrain | None = field(default=None, kw_only=True, metadata=_part("mechanism", background=False))
    retrain_id: str = field(default="", kw_only=True, repr=False, metadata=_part("mechanism", background=False))
    seed: int = 0
    population: Table | None = field(
        default=None,
        metadata=_part("population", "a population that the people come from (`data.population`)", background=False),
    )
    people: Table | None = field(
        default=None,
        metadata=_part("people", "people whose secrets are known (`knows.people` or `knows.sample`)"),
    )
    facts: tuple[Fact, ...] = field(default=(), metadata=_part("facts", "rules about people (`knows.facts`)"))
    label_accuracies: Mapping[str, float] | None = field(
        default=None,
        metadata=_part(
            "label_accuracies",
            "how often each label is right, where no number of its leaf says so (`knows.label_accuracies`)",
        ),
    )
    vote_accuracies: Mapping[str, float] | None = field(default=None, metadata=_part("label_accuracies"))
    candidates: Candidates | None = field(
        default=None,
        metadata=_part(
            "candidates", "people who may be in the table (from the table and `data.control`; `knows.candidates`)"
        ),
    )
    targets: Mapping[str, Targets] = field(
        default_factory=dict,
        kw_only=True,
        metadata=_part(
            "targets",
            "people of whom one column is hidden (from the table and `data.control`; `knows.candidates`)",
        ),
    )
    set_apart: Table | None = field(default=None, kw_only=True, metadata=_part("people"))
    hardly_missing: frozenset[str] = field(default=frozenset(), kw_only=True)
    reader: Callable[[Path], Table] | None = field(default=None, repr=False)
    releases: KnownReleases | None = field(
        default=None,
        kw_only=True,
        metadata=_part("releases", "other releases of these people, and who is who among them (`releases`)"),
    )
    rows: TrainingRows | None = field(
        default=None,
        kw_only=True,
        metadata=_part(
            "rows", "the rows that a model's file counts on nodes, and how they were drawn", background=False
        ),
    )

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
    def complete_schema(self) -> Schema:
        """The columns with the domains of everybody but those who are set apart."""
        return self.schema.without_missing_cells(self.hardly_missing)

    @property
    def records(self) -> pd.DataFrame:
        return self.public.frame

    @property
    def weight(self) -> NDArray[np.int64]:
        """People who share each of `records`."""
        return self.public.weight


def needs_in_words() -> dict[str, str]:
    """What each need is, and the key of a policy that grants it."""
    named = [part.metadata for part in fields(AdversaryKnowledge) if part.metadata.get("says")]
    words = {metadata["need"]: metadata["says"] for metadata in named}
    return {need: words[need] for need in get_args(Need)}


def background_of(known: AdversaryKnowledge) -> set[Need]:
    """The needs whose parts are held and are background knowledge."""
    parts = [part for part in fields(known) if part.metadata and part.metadata["background"]]
    return {part.metadata["need"] for part in parts if not _is_nothing(getattr(known, part.name))}


def _is_nothing(part: Any) -> bool:
    return part is None or (isinstance(part, Mapping | tuple) and not part)


def limit_knowledge(known: AdversaryKnowledge, needs: Collection[str]) -> AdversaryKnowledge:
    """The knowledge without the optional parts that are not among `needs`.

    Knowledge with `candidates` or `targets` does not disclose who is in the table: it has no public records.
    """
    left_out: dict[str, Any] = {
        part.name: part.default if part.default_factory is MISSING else part.default_factory()
        for part in fields(known)
        if part.metadata and part.metadata["need"] not in needs
    }
    if not {"candidates", "targets"}.isdisjoint(needs):
        left_out["public"] = known.public.without_rows
    return replace(known, **left_out)


def defensive_copy(known: AdversaryKnowledge) -> AdversaryKnowledge:
    """The same knowledge for a plugin: what that writes into it by mistake reaches nobody else."""
    import numpy as np

    from leafgate.kernel.table import Table
    from leafgate.kernel.training_rows import TrainingRows

    holders = AdversaryKnowledge | Candidates | Targets | KnownReleases | OtherRelease | LeafRoll | TrainingRows

    def copied(part: Any) -> Any:
        if isinstance(part, Table):
            return part.defensive_copy()
        if isinstance(part, np.ndarray):
            return part.copy()
        if isinstance(part, Mapping):
            return {key: copied(each) for key, each in part.items()}
        if isinstance(part, holders):
            return replace(part, **{each.name: copied(getattr(part, each.name)) for each in fields(part)})
        return tuple(map(copied, part)) if isinstance(part, tuple) else part

    return copied(known)  # type: ignore[no-any-return]
