"""From arrays and data frames to tables: what the columns of X and y mean is fixed by fit and used by predict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from leafgate.errors import DataError, LeafgateError, nearest_name, plain
from leafgate.io.tables.frames import cell_text
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.schema import UNUSED_ROLES, Column, ColumnSpec, Hierarchy, Schema, column_of, parse_hierarchy
from leafgate.kernel.table import Table, make_table
from leafgate.kernel.tree import Branch, CategoricalSplit, Node, NumericSplit

FEATURE_ROLES = ("quasi_identifier", "private", "sensitive", *sorted(UNUSED_ROLES))
"""The roles that a column of X may have."""
NUMBER_KINDS = frozenset({"integer", "floating", "mixed-integer-float", "decimal"})
"""The kinds of object columns, as pandas infers them, that hold numbers alone."""
TEXT_KINDS = frozenset({"string", "boolean", "mixed", "mixed-integer", "empty"})
"""The kinds of object columns that may hold texts."""


class InvalidInputError(DataError, ValueError):
    """Data or parameters that cannot be used; to scikit-learn it is a ValueError."""


@dataclass(frozen=True)
class Cells:
    """One column as it was read: its numbers (NaN where missing), or a code for each row and each code's text.

    A missing cell has the code -1. Several codes may have the same text.
    """

    numbers: NDArray[np.float64] | None = None
    codes: NDArray[np.int64] | None = None
    texts: tuple[str, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return np.isnan(self.numbers) if self.codes is None else self.codes < 0  # type: ignore[arg-type]

    @cached_property
    def as_texts(self) -> Cells:
        """The same column as texts, numbers too."""
        if self.codes is not None:
            return self
        assert self.numbers is not None
        codes, distinct = pd.factorize(self.numbers)
        return Cells(codes=codes, texts=tuple(cell_text(number) for number in distinct.tolist()))

    def codes_in(self, values: Sequence[str], otherwise: int) -> NDArray[np.int64]:
        """Each cell's position in `values`: -1 where the cell is missing, `otherwise` where it is none of them."""
        cells = self.as_texts
        position = {value: code for code, value in enumerate(values)}
        places = np.array([*(position.get(text, otherwise) for text in cells.texts), -1], dtype=np.int64)
        assert cells.codes is not None
        return places[cells.codes]


def read_frame(X: Any, names: Sequence[str]) -> dict[str, Cells]:
    """Each column of X by its name.

    Args:
        X: a two-dimensional array, or a pandas or Polars data frame.
        names: the names of its columns, in their order.

    Raises:
        InvalidInputError: two columns have one name, or a column holds infinite or complex numbers.
        TypeError: a cell is neither text nor number.
    """
    if len(set(names)) < len(names):
        raise InvalidInputError("two columns of X have one name", remedy="rename one")
    if isinstance(X, np.ndarray):
        return {name: _read_cells(pd.Series(X[:, i]), name) for i, name in enumerate(names)}
    if isinstance(X, pd.DataFrame):
        return {name: _read_cells(X.iloc[:, i], name) for i, name in enumerate(names)}
    return {name: _read_cells(pd.Series(X[name].to_numpy()), name) for name in names}


def _read_cells(column: pd.Series, name: str) -> Cells:
    """One column of a data frame as numbers, where its type is one of numbers or all its cells are, or as texts."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Cells(codes=column.cat.codes.to_numpy().astype(np.int64), texts=_texts(column.cat.categories, name))
    if pd.api.types.is_complex_dtype(dtype):
        raise InvalidInputError("Complex data not supported", place=f"column {name!r} of X")
    truths = pd.api.types.is_bool_dtype(dtype)
    if pd.api.types.is_numeric_dtype(dtype) and not truths:
        return _number_cells(column, name)
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind in NUMBER_KINDS:
            return _number_cells(pd.to_numeric(column), name)
        if kind not in TEXT_KINDS:
            raise _neither(name, kind)
        if kind.startswith("mixed"):  # True and 1 are equal to pandas, and are different texts
            cells = [None if _is_missing(cell) else _text(cell, name) for cell in column]
            column = pd.Series(cells, dtype=object)
    elif not truths and not pd.api.types.is_string_dtype(dtype):
        raise _neither(name, str(dtype))
    codes, distinct = pd.factorize(column)
    return Cells(codes=codes, texts=_texts(distinct, name))


def _number_cells(column: pd.Series, name: str) -> Cells:
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        remedy = "replace it by a finite number, or leave those rows out"
        raise InvalidInputError("Input X contains infinity", place=f"column {name!r} of X", remedy=remedy)
    return Cells(numbers=numbers)


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and cell != cell)


def _texts(cells: Any, name: str) -> tuple[str, ...]:
    return tuple(_text(cell, name) for cell in cells.tolist())


def _text(cell: object, name: str) -> str:
    """A cell as text; TypeError where it is neither text nor number."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, Number) and not isinstance(cell, int | float):
        cell = float(cell)  # type: ignore[arg-type]
    if not isinstance(cell, str | int | float):
        raise _neither(name, type(cell).__name__)
    return cell_text(cell)


def _neither(name: str, kind: str) -> TypeError:
    return TypeError(f"column {name!r} of X: each cell's argument must be a string or a number, and one is of {kind}")


@dataclass(frozen=True)
class ColumnOptions:
    """What an estimator's parameters say of the columns.

    Attributes:
        domains: for some columns their domain, in one of the forms that `domain_document` reads.
        roles: for some columns their role, or a list of roles.
        classes: the labels that there can be; None where they are taken from y.
        on_missing: `keep` where a missing cell is a value of its own in every column; None where there are none.
        feature_role: the role of columns that `roles` does not name.
        target_roles: the roles of the class where `roles` does not name it.
    """

    domains: Mapping[str, Any]
    roles: Mapping[str, Any]
    classes: Sequence[Any] | None
    on_missing: str | None
    feature_role: str = "quasi_identifier"
    target_roles: tuple[str, ...] = ("class", "sensitive")


def domain_document(name: str, domain: Any) -> dict[str, Any]:
    """A column's domain as a policy writes it.

    Args:
        name: the column, for errors.
        domain: two numbers, which are bounds; several texts or bools, which are values; or what a policy has of the
            column: a mapping with `values`, `bounds`, `bins`, `ordered` or `hierarchy`, which `read_hierarchy` reads.

    Raises:
        InvalidInputError: it is none of these.

    >>> domain_document("age", (17, 90))
    {'bounds': [17, 90]}
    >>> domain_document("smokes", [False, True])
    {'values': ['False', 'True']}
    """
    if isinstance(domain, Mapping) and set(domain) <= {"values", "bounds", "bins", "ordered", "hierarchy"}:
        document = {key: _plain(value) for key, value in domain.items() if key != "hierarchy"}
        if "hierarchy" in domain and "values" not in document:
            raise InvalidInputError("a hierarchy needs `values`", place=f"domains[{name!r}]")
        if "values" in document:
            document["values"] = [_text(value, name) for value in document["values"]]
        return document
    items = None if isinstance(domain, str | Mapping) or not hasattr(domain, "__iter__") else _plain(list(domain))
    if items and all(isinstance(item, str | bool) for item in items):
        return {"values": [cell_text(item) for item in items]}
    if items and len(items) == 2 and all(isinstance(item, int | float) for item in items):
        return {"bounds": items}
    raise InvalidInputError(
        "is neither two numbers nor a list of texts",
        place=f"domains[{name!r}]",
        remedy='write the bounds (17, 90), the values ["no", "yes"], or {"values": [1, 2, 3]} where numbers are codes',
    )


def read_hierarchy(name: str, hierarchy: Any) -> Hierarchy:
    """How a column's values generalise.

    Args:
        name: the column, for errors.
        hierarchy: the path of a `;`-separated file as a policy names it, or for each value the names of its groups, the
            finest first: `{"cook": ["manual", "*"], "clerk": ["office", "*"]}`.

    Raises:
        DataError: the groups are no hierarchy.
    """
    place = f"domains[{name!r}]['hierarchy']"
    if isinstance(hierarchy, Mapping):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=";", lineterminator="\n")
        writer.writerows([_text(value, name), *map(str, groups)] for value, groups in hierarchy.items())
        return parse_hierarchy(text.getvalue(), place)
    try:
        return parse_hierarchy(Path(hierarchy).read_text(encoding="utf-8-sig"), place)
    except (OSError, UnicodeDecodeError, TypeError):
        remedy = "name a `;`-separated text file, or give the groups of each value"
        raise InvalidInputError("cannot be read", place=place, remedy=remedy) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


@dataclass(frozen=True)
class ClassLabels:
    """The labels of y and the class column of the table.

    Attributes:
        labels: the different labels, sorted: scikit-learn's `classes_`.
        column: the class column; its values are texts of the labels.
        label_of_value: for each value of the column the position of its label.
    """

    labels: NDArray[Any]
    column: Column
    label_of_value: NDArray[np.int64]


def class_labels(y: NDArray[Any], name: str, options: ColumnOptions) -> ClassLabels:
    """The classes that occur in y, or that the parameter `classes` declares.

    Raises:
        InvalidInputError: y has labels that `classes` does not have, or two labels are the same text.
    """
    occurring = pd.unique(pd.Series(y))
    declared = options.classes is not None
    labels = np.unique(np.asarray(options.classes) if declared else np.asarray(occurring, dtype=y.dtype))
    strange = set(occurring.tolist()) - set(labels.tolist())
    if strange:
        remedy = "add them to `classes`, or leave those rows out"
        raise InvalidInputError(f"{len(strange)} label(s) are not among `classes`", place="y", remedy=remedy)
    texts = [_text(label, name) for label in labels.tolist()]
    order = [_text(label, name) for label in _plain(list(options.classes or ()))] if declared else sorted(texts)
    if len(set(texts)) < len(texts) or len(set(order)) < len(order):
        raise InvalidInputError("two labels are the same text", place="classes" if declared else "y")
    spec = _spec(name, options, {"values": order}, options.target_roles)
    if "class" not in spec.role:
        raise InvalidInputError("is what y holds", place=f"roles[{name!r}]", remedy='it needs the role "class"')
    column = replace(column_of(name, spec, options.on_missing), declared=declared)
    return ClassLabels(labels, column, np.array([texts.index(value) for value in order], dtype=np.int64))


def feature_columns(cells: Mapping[str, Cells], target: str, options: ColumnOptions) -> tuple[Column, ...]:
    """The columns that a tree may ask about, with the domain that is declared or that occurs.

    Raises:
        InvalidInputError: a parameter is wrong or names a column that is not there; a cell is missing or outside of
            what is declared.
    """
    _refuse_unknown_columns(cells, target, options)
    columns = []
    for name, column in cells.items():
        domain = domain_document(name, options.domains[name]) if name in options.domains else {}
        spec = _spec(name, options, domain, (options.feature_role,))
        wrong = sorted(set(spec.role) - set(FEATURE_ROLES))
        if wrong:
            remedy = f"choose from {', '.join(FEATURE_ROLES)}"
            raise InvalidInputError(f"a column of X cannot be {wrong[0]!r}", place=f"roles[{name!r}]", remedy=remedy)
        if not set(spec.role) & UNUSED_ROLES:
            declared = _column(column_of(name, spec, options.on_missing), column)
            columns.append(_with_hierarchy(declared, options.domains.get(name)))
    if not columns:
        raise InvalidInputError("no column of X is left that a tree may ask about", place="roles")
    return tuple(columns)


def _refuse_unknown_columns(cells: Mapping[str, Cells], target: str, options: ColumnOptions) -> None:
    """InvalidInputError where `domains` or `roles` names a column that is not there."""
    unknown = [("domains", name) for name in options.domains if name not in cells]
    unknown += [("roles", name) for name in options.roles if name not in {*cells, target}]
    for parameter, name in unknown[:1]:
        remedy = nearest_name(name, cells, "name a column of X")
        raise InvalidInputError("is no column of X", place=f"{parameter}[{name!r}]", remedy=remedy)


def _with_hierarchy(column: Column, domain: Any) -> Column:
    """The column with the hierarchy of its domain, if that has one."""
    if not isinstance(domain, Mapping) or "hierarchy" not in domain:
        return column
    place = f"domains[{column.name!r}]['hierarchy']"
    return replace(column, hierarchy=read_hierarchy(column.name, domain["hierarchy"]).restricted(column.domain, place))


def _spec(name: str, options: ColumnOptions, domain: Mapping[str, Any], default: Sequence[str]) -> ColumnSpec:
    """What a policy would say of the column."""
    role = options.roles.get(name, default)
    document = {"role": [role] if isinstance(role, str) else list(role), **domain}
    try:
        return ColumnSpec.model_validate_json(json.dumps(document))
    except (ValidationError, ValueError, TypeError) as error:
        if not isinstance(error, ValidationError):
            raise InvalidInputError("cannot be read", place=f"domains[{name!r}]") from None
        wrong = error.errors(include_url=False, include_input=False)[0]
        parameter = "roles" if "role" in wrong["loc"] else "domains"
        raise InvalidInputError(plain(wrong["msg"]), place=f"{parameter}[{name!r}]") from None


def _column(column: Column, cells: Cells) -> Column:
    """The column with its domain; refuses cells that do not fit."""
    place, missing = f"column {column.name!r} of X", cells.missing
    if missing.any() and not column.missing:
        secret = "sensitive" in column.roles
        remedy = "leave those rows out" + ("" if secret else ', or say on_missing="keep"')
        raise InvalidInputError("Input X contains NaN: some cells are missing", place=place, remedy=remedy)
    if missing.all():
        raise InvalidInputError("every cell is missing", place=place, remedy='give it the role "ignored"')
    if column.values is not None:
        outside = cells.codes_in(column.values, -2) == -2
    elif cells.numbers is None and column.bounds is not None:
        raise InvalidInputError("has texts, and `domains` declares numbers", place=place, remedy="declare its values")
    elif column.bounds is not None:
        outside = (cells.numbers < column.bounds[0]) | (cells.numbers > column.bounds[1])  # type: ignore[operator]
    else:
        return _domain_that_occurs(column, cells)
    if outside.any():
        remedy = "correct the data or `domains`"
        raise InvalidInputError("some cells are outside of `domains`", place=place, remedy=remedy)
    return column


def _domain_that_occurs(column: Column, cells: Cells) -> Column:
    """The smallest and the largest number, or the sorted values that occur, as reading a data file finds them."""
    if cells.codes is not None:
        texts = {cells.texts[code] for code in np.unique(cells.codes[cells.codes >= 0]).tolist()}
        return replace(column, values=tuple(sorted(texts)))
    if "sensitive" in column.roles:
        remedy = f"declare the edges of its intervals: domains={{{column.name!r}: {{'bins': [...]}}}}"
        raise InvalidInputError("is a secret of numbers", place=f"column {column.name!r} of X", remedy=remedy)
    numbers = cells.numbers
    return replace(column, bounds=(float(np.nanmin(numbers)), float(np.nanmax(numbers))))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Layout:
    """The columns that fit fixed: the features, and the class last."""

    schema: Schema

    @classmethod
    def of(cls, features: Sequence[Column], target: Column, dropped: Sequence[str] = ()) -> Layout:
        return cls(Schema((*features, target), dropped=tuple(dropped)))

    @property
    def open_domains(self) -> tuple[str, ...]:
        """The columns whose domain was taken from the data."""
        return tuple(column.name for column in self.schema.columns if not column.declared)

    @property
    def as_declared(self) -> Layout:
        """The same columns, as if every domain were declared."""
        return Layout(
            Schema(tuple(replace(column, declared=True) for column in self.schema.columns), dropped=self.schema.dropped)
        )

    def training_table(
        self, cells: Mapping[str, Cells], classes: NDArray[np.int64], weight: NDArray[np.int64] | None
    ) -> Table:
        """The table of the people in X: equal people are one record.

        Args:
            cells: the columns of X.
            classes: each row's position among the values of the class column.
            weight: how many people each row is; None where each is one.
        """
        target = self.schema.target
        typed = {column.name: _typed(cells[column.name], column, -1) for column in self.schema.features}
        typed[target.name] = pd.Categorical.from_codes(classes, categories=pd.Index(target.values or ()))
        return make_table(self.schema, pd.DataFrame(typed), weight)

    def prediction_table(self, cells: Mapping[str, Cells]) -> Table:
        """The rows of X in their order, without classes; a value outside of its column's domain is `unknown_value`."""
        columns = tuple(map(with_unknown_value, self.schema.features))
        typed = {}
        for column, known in zip(columns, self.schema.features, strict=True):
            if known.numeric and cells[column.name].numbers is None:
                raise InvalidInputError("has texts, and fit saw numbers", place=f"column {column.name!r} of X")
            if cells[column.name].missing.any() and not known.missing:
                place = f"column {column.name!r} of X"
                raise InvalidInputError("Input X contains NaN", place=place, remedy='say on_missing="keep"')
            typed[column.name] = _typed(cells[column.name], column, len(known.values or ()))
        frame = pd.DataFrame(typed)
        return Table(Schema(columns), frame, np.ones(len(frame), dtype=np.int64))


def _typed(cells: Cells, column: Column, otherwise: int) -> Any:
    """The cells as a Table holds them."""
    if column.values is None:
        return cells.numbers
    return pd.Categorical.from_codes(cells.codes_in(column.values, otherwise), categories=pd.Index(column.values))


def unknown_value(column: Column) -> str:
    """The text that stands for every value which the column's domain does not have."""
    text = "\0unknown"
    while text in column.domain_set:
        text += "_"
    return text


def with_unknown_value(column: Column) -> Column:
    """The column with one more value in the domain of a categorical one: `unknown_value`, after all others."""
    return column if column.values is None else replace(column, values=(*column.values, unknown_value(column)))


def with_unknown_values(release: Release) -> Release:
    """The release with trees that have a branch for unknown values: at each test, the branch with the most people.

    People are those that the leaves publish; the first of equal branches is taken. Nothing else is changed, so that a
    row of known values reaches the same leaves.
    """
    schema = release.schema
    columns = tuple(c if "class" in c.roles else with_unknown_value(c) for c in schema.columns)
    trees = tuple(_with_unknown_branch(tree, schema)[0] for tree in release.trees)
    return replace(release, schema=Schema(columns, dropped=schema.dropped), trees=trees)


def _with_unknown_branch(node: Node, schema: Schema) -> tuple[Node, float]:
    """The node with branches for unknown values, and how many people its leaves publish."""
    match node:
        case Leaf():
            return node, float(node.size or 0)
        case NumericSplit():
            (low, below), (high, above) = (_with_unknown_branch(child, schema) for child in (node.low, node.high))
            return replace(node, low=low, high=high), below + above
        case CategoricalSplit():
            parts = [_with_unknown_branch(branch.node, schema) for branch in node.branches]
            people = [size for _, size in parts]
            largest = int(np.argmax(people))
            unknown = (unknown_value(schema[node.column]),)
            branches = tuple(
                Branch(branch.values + (unknown if i == largest else ()), child)
                for i, (branch, (child, _)) in enumerate(zip(node.branches, parts, strict=True))
            )
            return replace(node, branches=branches), sum(people)


def invalid(error: LeafgateError) -> InvalidInputError:
    """The same problems as an error that scikit-learn takes for a ValueError."""
    listed = InvalidInputError.listing(error.problems)
    assert isinstance(listed, InvalidInputError)
    return listed
