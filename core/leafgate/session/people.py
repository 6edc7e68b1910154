"""Tables of people in memory, as Python users give them: a table with its class, other people like them, values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from leafgate.errors import DataError, InvalidError, nearest_name
from leafgate.io.tables.frames import FrameColumn, FrameTable, has_names, single_column, table_columns
from leafgate.kernel.policy import CsvOptions, Policy

CLASS_NAME = "class"
"""What the class is called where `y` has no name."""

PERSON_NAME = "person"
"""What the column is called that numbers the people, where it is no column of the table."""

REPEATED_INDEX = (
    "X: labels of its index stand in several rows, and each row was counted as a person (if they number the people, "
    "give person=X.index)"
)


@dataclass(frozen=True, eq=False)
class PeopleInMemory:
    """People in memory: their columns, and the name of the class among them."""

    columns: tuple[FrameColumn, ...]
    target: str

    @property
    def names(self) -> list[str]:
        """The names of all columns but the class."""
        return [column.name for column in self.columns if column.name != self.target]


def people_of(
    X: Any,  # noqa: N803
    y: Any,
    names: Sequence[str] | None,
    class_name: str = CLASS_NAME,
    *,
    gaps: bool = False,
) -> PeopleInMemory:
    """The columns of a table with its class, in which there may be `gaps`, or none.

    `names` are what the model calls columns that have no names.
    """
    if X is None:
        raise InvalidError("is missing", place="X", remedy="give the table that the model was fitted on")
    if names is not None and len(names) != getattr(X, "shape", (0,))[-1]:
        names = None
    columns = table_columns(X, "X", names)
    held = [column.name for column in columns]
    if y is None and class_name in held:
        y = class_name
    if y is None:
        raise InvalidError("is missing", place="y", remedy="give what the model predicts: a column, or its name in X")
    if isinstance(y, str):
        if y not in held:
            remedy = nearest_name(y, held, "give the name of a column of X, or the column itself")
            raise InvalidError(f"there is no column {y!r}", place="y", remedy=remedy)
        label = next(column for column in columns if column.name == y)
        return PeopleInMemory(columns, _complete(label, gaps=gaps).name)
    label = _complete(single_column(y, class_name, "y"), gaps=gaps)
    _refuse_lengths(columns, label, "X", "y")
    if label.name in held:
        same = next(column for column in columns if column.name == label.name)
        if same.equals(label):
            return PeopleInMemory(columns, label.name)
        names_of_class = (f"{CLASS_NAME}{'_' * number}" for number in count())
        label = replace(label, name=next(name for name in names_of_class if name not in held))
    return PeopleInMemory((*columns, label), label.name)


def _complete(label: FrameColumn, *, gaps: bool) -> FrameColumn:
    """The class; DataError where some are missing, and none may be."""
    if label.has_missing and not gaps:
        gone = int((label.codes < 0).sum())
        remedy = "leave these rows out of X and y, or say that they have no class: no_answer=[None]"
        raise DataError(f"{gone:,} value(s) are missing", place="y", remedy=remedy)
    return label


def _refuse_lengths(columns: Sequence[FrameColumn], label: FrameColumn, place: str, y_place: str) -> None:
    rows, labels = len(columns[0].codes), len(label.codes)
    if rows != labels:
        remedy = "give a value for each row of the table"
        raise DataError(f"has {labels:,} row(s), and {place} has {rows:,}", place=y_place, remedy=remedy)


def people_like(people: PeopleInMemory, other: Any, place: str, *, gaps: bool = False) -> PeopleInMemory:
    """Other people with the columns of the table, as `(X, y)` or as a table that has the class, maybe with gaps."""
    rows, label = other if isinstance(other, tuple) and len(other) == 2 else (other, people.target)
    columns = {each.name: each for each in table_columns(rows, place, None if has_names(rows) else people.names)}
    if not isinstance(label, str):
        labels = replace(single_column(label, people.target, place), name=people.target)
        _refuse_lengths(list(columns.values()), labels, place, f"the class of {place}")
        columns[people.target] = _complete(labels, gaps=gaps)
    elif label in columns:
        columns[people.target] = _complete(replace(columns[label], name=people.target), gaps=gaps)
    lacking = [column.name for column in people.columns if column.name not in columns]
    if lacking:
        remedy = f"give {place}=(X, y) with the columns of X"
        raise DataError(f"has no column {lacking[0]!r}", place=place, remedy=remedy)
    return PeopleInMemory(tuple(columns[column.name] for column in people.columns), people.target)


def with_persons(people: PeopleInMemory, person: Any) -> tuple[PeopleInMemory, tuple[str, ...]]:
    """The people with the columns that number them, and the names of these; none where each row is a person.

    Args:
        people: a row each, or several.
        person: a column as long as the table, or the name of a column of the table, or several names; None for none.

    Raises:
        InvalidError: there is no such column, or it has another length.
    """
    if person is None:
        return people, ()
    listed = [person] if isinstance(person, str) else person
    if isinstance(listed, list | tuple) and listed and all(isinstance(name, str) for name in listed):
        unknown = [name for name in listed if name not in people.names]
        if not unknown:
            return people, tuple(listed)
        if len(listed) != len(people.columns[0].codes):
            remedy = nearest_name(unknown[0], people.names, "give the name of a column of X, or the column itself")
            raise InvalidError(f"there is no column {unknown[0]!r}", place="person", remedy=remedy)
    column = single_column(person, PERSON_NAME, "person")
    _refuse_lengths(people.columns, column, "X", "person")
    names = (f"{PERSON_NAME}{'_' * number}" for number in count())
    name = next(name for name in names if name not in {*people.names, people.target})
    return replace(people, columns=(*people.columns, replace(column, name=name))), (name,)


def repeated_index(X: Any, roles: Mapping[str, Any]) -> list[str]:  # noqa: N803
    """A warning where a DataFrame's index has some labels several times, and no column numbers the people."""
    is_unique = getattr(getattr(X, "index", None), "is_unique", True)
    listed = [role.get("role", ()) if isinstance(role, Mapping) else role for role in roles.values()]
    has_persons = any("person" in role for role in listed)
    return [] if is_unique or has_persons else [REPEATED_INDEX]


@dataclass(frozen=True)
class Unanswered:
    """What states that somebody's value is not recorded: these texts, and whether missing cells do."""

    texts: tuple[str, ...]
    missing: bool


def unanswered_of(no_answer: Any, people: PeopleInMemory) -> dict[str, Unanswered]:
    """What `no_answer` of `leafgate.audit` says of each column; of the class where it is a list.

    Raises:
        InvalidError: there is no such column, or the class has gaps of which it does not say so.
    """
    given = no_answer if isinstance(no_answer, Mapping) else {people.target: [] if no_answer is None else no_answer}
    names, found = [column.name for column in people.columns], dict[str, Unanswered]()
    for name, values in given.items():
        if name not in names:
            remedy = nearest_name(str(name), names, "name a column of X, or the class")
            raise InvalidError(f"there is no column {name!r}", place="no_answer", remedy=remedy)
        listed = [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)
        found[str(name)] = Unanswered((), missing=False)
        if listed:
            column = single_column(listed, "no_answer", "no_answer")
            texts = tuple(column.texts[code] for code in column.codes.tolist() if code >= 0)
            found[str(name)] = Unanswered(texts, column.has_missing)
    label = next(column for column in people.columns if column.name == people.target)
    _complete(label, gaps=people.target in found and found[people.target].missing)
    return found


def value_texts(harmless: Any) -> tuple[str, ...]:
    """Values of the class as texts, spelled as its column is; InvalidError for what is no list of values."""
    if harmless is None:
        return ()
    if isinstance(harmless, Mapping | bytes):
        raise InvalidError("is no list of values", place="harmless", remedy='give values of y, such as ["no"]')
    listed = [harmless] if isinstance(harmless, str) or not hasattr(harmless, "__iter__") else list(harmless)
    column = single_column(listed, "harmless", "harmless")
    if column.has_missing:
        raise InvalidError("has a missing value", place="harmless", remedy="give values of y")
    return tuple(column.texts[code] for code in column.codes.tolist() if code >= 0)


def table_for(policy: Policy, X: Any, y: Any, place: str) -> FrameTable:  # noqa: N803
    """A table in memory that stands for the file of a policy; DataError where it has other columns."""
    names = list(policy.data.columns)
    target = next((name for name, spec in policy.data.columns.items() if "class" in spec.role), None)
    if y is None or target is None:
        columns = {column.name: column for column in table_columns(X, place, None if has_names(X) else names)}
    else:
        features = [name for name in names if name != target]
        columns = {column.name: column for column in people_of(X, y, features, target).columns}
    if set(names) != set(columns):
        known = next((name for name in columns if name not in names), "")
        what = f"has a column {known!r} that the policy does not have" if known else "lacks a column of the policy"
        lacking = ", ".join(repr(name) for name in names if name not in columns)
        raise DataError(what, place=place, remedy=f"add {lacking}" if lacking else "leave it out, or declare it")
    listed = tuple(columns[name] for name in names)
    if not policy.data.missing and any(column.has_missing for column in listed):
        raise DataError("has missing cells, and the policy has no word for them", place=place, remedy="add `missing`")
    csv, missing = policy.data.csv, (policy.data.missing or ("",))[0]
    return FrameTable(place, listed, missing, csv, quote_all=csv != CsvOptions())
