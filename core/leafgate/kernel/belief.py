"""Beliefs: what an attack concludes. There are seven types, and a metric declares which of them it judges.

GroupBelief         which people it cannot distinguish
SecretBelief        a posterior of one secret for each record of people
CellBelief          a posterior of hidden cells of published records
MembershipBelief    a score for each candidate: is this person in the table?
AttributeBelief     a posterior of an input of the model for each target
TableBelief         reconstructed records, which are nobody's in particular
MechanismBelief     evidence about what the release claims of the mechanism that made it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from leafgate.errors import InconclusiveError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.knowledge import AdversaryKnowledge

Certainty = Literal["guess", "certain", "shares"]
"""How much of a posterior is true of the people whom the release counts."""


@dataclass(frozen=True, kw_only=True)
class Belief:
    """What beliefs of all seven types have in common; an attack returns beliefs of those types, and never this one.

    Attributes:
        evidence: JSON for the finding: bounds, gaps, counts of constraints.
    """

    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupBelief(Belief):
    """Which people an attack cannot distinguish, without a posterior of any secret.

    Attributes:
        equivalence_class: shape (n_records,), whole numbers; records with the same number cannot be distinguished by
            what the release discloses at once.
        records: the attack's own records, with every public column; by default those of `AdversaryKnowledge.records`.
        explain: describes in words what the release discloses about one equivalence class; only auditors see it.
        conditions: what all people of one equivalence class have in common, a few words each; only auditors see it.
        population_groups: shape (n_population,), the equivalence class of each row of `AdversaryKnowledge.population`,
            numbered as `equivalence_class` is.
    """

    equivalence_class: NDArray[Any]
    records: pd.DataFrame | None = field(default=None, kw_only=True)
    explain: Callable[[int], str] | None = field(default=None, kw_only=True)
    conditions: Callable[[int], Sequence[str]] | None = field(default=None, kw_only=True)
    population_groups: NDArray[Any] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class PosteriorBelief(Belief):
    """What beliefs about one secret have in common: a SecretBelief is about people, a CellBelief about hidden cells.

    Attributes:
        secret: the column that the belief is about.
        posterior: shape (n_rows, n_values), a column for each value of the secret in the order of its domain; rows
            sum to 1. A row is a record, or a hidden cell.
        prior: shape of `posterior`; what the adversary believed before the attack's reasoning.
        alternative_posteriors: each of the shape of `posterior`; the attack has no less reason for them. A limit that
            does not come out the same for all of them is inconclusive.
        incomplete: the release discloses more about the secret than the attack computes, so that any posterior is
            possible, the true one too.
        certainty: how much of `posterior` is true of all people whom the release counts. `certain`: each value with
            probability 1. `shares`: moreover each row is the true composition of its equivalence class. `guess`:
            nothing.
        undecided_because: why there are alternatives, or why the belief is incomplete: a limit that is inconclusive for
            that says so. Empty for what is said of all attacks.
    """

    secret: str
    posterior: pd.DataFrame
    prior: pd.DataFrame | None = field(default=None, kw_only=True)
    alternative_posteriors: Sequence[pd.DataFrame] = field(default=(), kw_only=True)
    incomplete: bool = field(default=False, kw_only=True)
    certainty: Certainty = field(default="guess", kw_only=True)
    undecided_because: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class SecretBelief(PosteriorBelief):
    """A posterior over one secret's values for each record of people.

    Attributes:
        equivalence_class: shape (n_records,), whole numbers; records with the same number cannot be distinguished by
            what the release discloses at once. None where the attack divides people into no groups.
        records: the attack's own records, with every public column; by default those of `AdversaryKnowledge.records`.
        explain: describes in words what the release discloses about one equivalence class; only auditors see it.
        conditions: what all people of one equivalence class have in common, a few words each; only auditors see it.
        population_groups: shape (n_population,), the equivalence class of each row of `AdversaryKnowledge.population`,
            numbered as `equivalence_class` is.
        of_people: each row is about one of the people of `AdversaryKnowledge.releases` who are in the table, in their
            order, and not about a record.
        derived_alone: the equivalence classes are no disclosure by themselves, so that limits judge what is derived,
            and never the true composition of a class.
        certain_to_insiders: for 1, 2, ... insiders, who pool what they know of themselves, shape (n_proofs, n_insiders
            + 1, 2): pairs of an equivalence class and the position of a value in the domain. Insiders of these classes
            with these values are certain that everybody else of the last pair's class has its value. None where the
            attack does not say what insiders are certain of.
    """

    equivalence_class: NDArray[Any] | None = field(default=None, kw_only=True)
    records: pd.DataFrame | None = field(default=None, kw_only=True)
    explain: Callable[[int], str] | None = field(default=None, kw_only=True)
    conditions: Callable[[int], Sequence[str]] | None = field(default=None, kw_only=True)
    population_groups: NDArray[Any] | None = field(default=None, kw_only=True)
    of_people: bool = field(default=False, kw_only=True)
    derived_alone: bool = field(default=False, kw_only=True)
    certain_to_insiders: Sequence[NDArray[np.int64]] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class CellBelief(PosteriorBelief):
    """A posterior of hidden cells of published records, by an attack that knows whose published record is whose.

    `secret` is the column of the cells; `posterior` has a row for each of them.

    Attributes:
        record_positions: shape (n_cells,), the positions in `release.records` of the records whose cells they are.
        estimates: shape (n_cells,), the attack's estimates of the numbers in those cells.
    """

    record_positions: NDArray[Any]
    estimates: NDArray[Any] | None = field(default=None, kw_only=True)


UNPLANTED = "the attack does not repeat itself on planted leaks, so it is not known whether it would have seen one"
"""The `insufficient` of a Score of such an attack; limits that name no attack are judged by the others, if any."""


@dataclass(frozen=True)
class MembershipBelief(Belief):
    """How likely each of `AdversaryKnowledge.candidates` is to be in the table that the release was made from.

    Attributes:
        scores: shape (n_candidates,), finite numbers; a higher one means that the candidate is more likely in the
            table. Only their order matters.
        p_values: shape (n_candidates,), from 0 to 1: where the attack is a statistical test of the hypothesis that a
            candidate is not in the table, the probability of a score as high if that is true.
        excluded: shape (n_candidates,), True where the release proves that the candidate is not in the table.
        exclusion_p_values: shape (n_candidates,), from 0 to 1: where the attack is a statistical test of the opposite
            hypothesis, that a candidate is in the table, the probability of a score as low if that is true, at most.
        odds: shape (n_candidates,), from 0, infinity included: the attack's own posterior odds that the candidate is
            in the table, where it can state them.
        planted: repeats the attack on a leak of known size, so that a metric can tell whether the attack would have
            seen one: the arguments are the share of members, in [0, 1], whose membership leaks, and the number of the
            repetition, from 0. None where the attack cannot do that; it breaks limits then, and keeps none.
    """

    scores: NDArray[Any]
    p_values: NDArray[Any] | None = field(default=None, kw_only=True)
    excluded: NDArray[Any] | None = field(default=None, kw_only=True)
    exclusion_p_values: NDArray[Any] | None = field(default=None, kw_only=True)
    odds: NDArray[Any] | None = field(default=None, kw_only=True)
    planted: Callable[[float, int], PlantedLeak] | None = field(default=None, kw_only=True, repr=False)


@dataclass(frozen=True)
class PlantedLeak:
    """What an attack concludes from a model that leaks what was planted in it, and nothing else.

    Attributes:
        scores: shape (n_people,), as those of a MembershipBelief; as many people as there are candidates.
        in_table: shape (n_people,), whether the model was trained on this person; as many are as of the candidates.
        odds: shape (n_people,), as those of a MembershipBelief, where the attack states them.
    """

    scores: NDArray[Any]
    in_table: NDArray[Any]
    odds: NDArray[Any] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class AttributeBelief(Belief):
    """A posterior of one column, an input of the model, for each of `AdversaryKnowledge.targets` of that column.

    People stand in the order of the targets' groups, the first group first.

    Attributes:
        secret: the column that the belief is about.
        posterior: shape (n_targets, n_values), a column for each value in the order of the column's domain; rows sum to
            1.
        certain: shape (n_targets,), the position of the value that the release proves, if the target is in the table;
            -1 where it proves none. None where the attack proves nothing of anybody.
        planted: repeats the attack on a leak of known size, so that a metric can tell whether the attack would have
            seen one: a posterior of the same shape. The arguments are the position of the value that each target is to
            have, shape (n_targets,); whose answers depend on their value, shape (n_targets,), while those of all
            others depend on nothing that is asked; and the number of the repetition, from 0. None where the attack
            cannot do that; no limit on it is then kept for certain.
    """

    secret: str
    posterior: NDArray[Any]
    certain: NDArray[Any] | None = field(default=None, kw_only=True)
    planted: Callable[[NDArray[Any], NDArray[Any], int], NDArray[Any]] | None = field(
        default=None, kw_only=True, repr=False
    )


@dataclass(frozen=True)
class TableBelief(Belief):
    """Reconstructed records of the table that the release was made from, which are nobody's in particular.

    They must follow from the release: an attack that copies cells of `AdversaryKnowledge.public` reconstructs nothing.

    Attributes:
        records: a row for each reconstructed person, in any order, from one to as many as there are people in the
            table; one or more of the schema's columns. Cells are values of the column's domain (of a secret number with
            bins, and of a binned class, the names of these), or finite numbers; missing cells only
            where the column may have them.
        proved_cells: how many cells of these columns, but for the class, are proved: so many people at least have one
            of some values, or of some numbers within a tenth of the column's range, together with some class, in every
            table that agrees with the release. None where the attack proves nothing.
        proved_most: how many of them a search without any limit might prove at most; None where the attack proved all
            that can be proved.
        unfinished: why a longer search might find records of which more are right; a limit that these records keep is
            then inconclusive. Empty where the search came to its end.
    """

    records: pd.DataFrame
    proved_cells: int | None = field(default=None, kw_only=True)
    proved_most: int | None = field(default=None, kw_only=True)
    unfinished: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class MechanismBelief(Belief):
    """Evidence about claims of the release, by an attack on the mechanism that made it.

    Attributes:
        tries: the claims that the attack tries to disprove, such as `epsilon`.
        refutes: those that it does disprove.
    """

    tries: Sequence[str] = field(default=(), kw_only=True)
    refutes: Sequence[str] = field(default=(), kw_only=True)

    @property
    def document(self) -> dict[str, Any]:
        """The evidence as findings state it, with the claims that the attack tries to disprove and those it does."""
        tried = {"tries": list(self.tries)} if self.tries else {}
        return {**tried, **self.evidence, **({"refutes": list(self.refutes)} if self.refutes else {})}


BELIEF_TYPES: tuple[type[Belief], ...] = (
    GroupBelief,
    SecretBelief,
    CellBelief,
    MembershipBelief,
    AttributeBelief,
    TableBelief,
    MechanismBelief,
)
"""The types of belief that an attack may return."""


def secret_of(belief: Belief | None) -> str | None:
    """The column whose values the belief is about; None for beliefs that are about no single column."""
    return belief.secret if isinstance(belief, PosteriorBelief | AttributeBelief) else None


def classes_of(belief: Belief | None) -> NDArray[Any] | None:
    """The belief's equivalence class of each record; None where it has none."""
    return belief.equivalence_class if isinstance(belief, GroupBelief | SecretBelief) else None


def rows_for(known: AdversaryKnowledge, records: pd.DataFrame) -> NDArray[np.int64]:
    """For each record of the adversary's knowledge the row of an attack's own `records` with equal public cells.

    Raises InconclusiveError when a column is missing, or a record is not there, or there twice.
    """
    import numpy as np

    names = list(known.records.columns)
    if not set(names) <= set(records.columns):
        raise InconclusiveError("its own records lack a public column")
    numbered = records.loc[:, names].reset_index(drop=True).astype(object)
    numbered = numbered.assign(**{"\0row": np.arange(len(records))})
    rows = known.records.astype(object).merge(numbered, on=names, how="left")["\0row"]
    if len(rows) != len(known.records) or rows.isna().any():
        raise InconclusiveError("its own records do not name every public record just once")
    return rows.to_numpy(dtype=np.int64)
