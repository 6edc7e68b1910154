"""Remedies for the cells of a few people that a model holds: thresholds are moved, values merged, lists completed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Column, Floats, Table
from leafgate.commands.convert.merging import without_idle_tests
from leafgate.commands.convert.prediction import predictor
from leafgate.models.exposure.cells import ColumnCells, column_cells, values_of_few
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.models.lowering.content import content_of
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import resolved_origins
from leafgate.models.lowering.tests import apply_steps, in_single_precision, splits_in
from leafgate.models.points import with_coded_sets
from leafgate.readers import CategoryCodes, ModelIR, Numeric, OneHot, Origin
from leafgate.session.run import Session

MOST_DIGITS = 17
"""Significant decimal digits that tell any two doubles apart."""

MOST_STAND_INS = 60
"""So many values are tried as what a model takes values for that it has never seen."""


def roundest_number(low: float, high: float, *, with_low: bool = False, with_high: bool = False) -> float | None:
    """The number between two others that has the fewest significant decimal digits.

    Args:
        low: the smaller end of the interval, finite.
        high: the larger one, finite.
        with_low: whether the smaller end is a number of the interval itself.
        with_high: whether the larger end is one, too.

    Returns:
        Of the numbers with the fewest digits the one nearest to the middle, of two as near the smaller one; 0 has no
        digit. None where there is no double between the ends.

    >>> roundest_number(41250.0, 43199.5), roundest_number(30.0, 31.0), roundest_number(30.0, 31.0, with_low=True)
    (42000.0, 30.5, 30.0)
    """

    def is_inside(number: float) -> bool:
        return low < number < high or (with_low and number == low) or (with_high and number == high)

    if is_inside(0.0):
        return 0.0
    middle = (Fraction(low) + Fraction(high)) / 2
    if not middle:
        return None
    exponent = _exponent(abs(middle))
    for digits in range(1, MOST_DIGITS + 1):
        unit = Fraction(10) ** (exponent - digits + 1)
        below = math.floor(middle / unit)
        found = [number for number in (below * unit, (below + 1) * unit) if is_inside(float(number))]
        if found:
            return float(min(found, key=lambda number: (abs(number - middle), number)))
    return None


def _exponent(number: Fraction) -> int:
    """The power of ten of the first digit of a positive number."""
    exponent = math.floor(math.log10(number))
    while Fraction(10) ** exponent > number:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= number:
        exponent += 1
    return exponent


def moved_threshold(threshold: float, cells: Floats, *, strict: bool, float32: bool, keep_ends: Floats) -> float:
    """The roundest threshold that sends each cell where the given one sends it, and that is no number of a few people.

    Args:
        threshold: cells up to it go low; with `strict` those below it.
        cells: the numbers of all people, as the test compares them but for `float32`.
        strict: `<` is asked, not `<=`.
        float32: cells are rounded to single precision before.
        keep_ends: cells at which the threshold may lie, because they are nobody's.

    Where there is no such number, the given one. Where all cells go one way, it lies beyond them by no more than the
    last of them is from 0, or than 1.
    """
    single = in_single_precision(cells)
    compared = single if float32 else cells
    goes_low = compared < threshold if strict else compared <= threshold
    low = float(np.maximum(cells, single)[goes_low].max(initial=-np.inf))
    high = float(np.minimum(cells, single)[~goes_low].min(initial=np.inf))
    if not math.isfinite(low) and not math.isfinite(high):
        return threshold
    low = low if math.isfinite(low) else high - max(abs(high), 1.0)
    high = high if math.isfinite(high) else low + max(abs(low), 1.0)
    found = roundest_number(low, high, with_low=not strict and low in keep_ends, with_high=strict and high in keep_ends)
    return threshold if found is None else found


@dataclass(frozen=True, eq=False)
class TableOfPolicy:
    """The people with whose cells a model is compared, and what the policy says of the model's features.

    Attributes:
        table: the people.
        encoding: what the policy says of features, by their names.
        smallest_cell: a cell that so many people share is nobody's.
        place: the name of the model's file, for errors.
    """

    table: Table
    encoding: Mapping[str, Encoding]
    smallest_cell: int
    place: str

    @classmethod
    def of(cls, session: Session, place: str) -> TableOfPolicy:
        """The table of a session."""
        encoding = getattr(session.policy.build, "encoding", {})
        return cls(session.table, encoding, session.policy.report.smallest_cell, place)

    @cached_property
    def cells(self) -> Mapping[str, ColumnCells]:
        """The cells of each column that were counted."""
        found = column_cells(self.table, self.smallest_cell)
        return {name: each for name, each in found.items() if each is not None}

    def encoding_of(self, model: ModelIR) -> dict[str, Encoding]:
        """What the policy says of the features that this model has, and of the class."""
        names = {*model.features, self.table.schema.target.name}
        return {name: each for name, each in self.encoding.items() if name in names}

    def origins(self, model: ModelIR) -> dict[int, Origin]:
        """The origin, in the policy's columns, of each feature that a tree asks about; ReleaseError as in an audit."""
        return resolved_origins(model, self.encoding_of(model), self.table.schema, self.place)

    def rare_values(self, model: ModelIR) -> dict[str, frozenset[str]]:
        """By column the values that the model's file lists and that a few people have, or nobody."""
        schema = self.table.schema
        content = content_of(model, self.origins(model), self.encoding_of(model), schema)
        found = values_of_few(content, self.table, self.smallest_cell)
        return {name: values for name, values in found.items() if name in schema}

    def is_coded_by_policy(self, feature: str) -> bool:
        """Does the policy itself say which number stands for which value? Then the file holds no value."""
        declared = self.encoding.get(feature)
        return declared is not None and (declared.codes is not None or declared.value is not None)

    def column_features(self, model: ModelIR, origins: Mapping[int, Origin], column: str) -> list[int]:
        """The features that are codes of this column's values, which stand in the file."""
        return [
            i
            for i, one in origins.items()
            if isinstance(one, CategoryCodes)
            and one.column == column
            and not self.is_coded_by_policy(model.features[i])
        ]


def move_rare_thresholds(model: ModelIR, people: TableOfPolicy) -> ModelIR:
    """The model with thresholds that are numbers of a few people moved to round numbers; others stay as they are.

    Everybody in the table, dropped people among them, is sent where they were sent before.
    """
    trees = list(model.trees)
    for feature, origin in people.origins(model).items():
        cells = people.cells.get(origin.column)
        if not isinstance(origin, Numeric) or cells is None or not people.table.schema[origin.column].numeric:
            continue
        numbers = apply_steps(cells.by_number.index.to_numpy(), origin.steps)
        numbers = numbers if origin.fill is None else np.append(numbers, origin.fill)
        common = np.unique(numbers[~cells.are_of_few(numbers, origin.steps)])
        moved: dict[tuple[float, bool, bool], float] = {}
        for number, tree in enumerate(trees):
            nodes = np.flatnonzero(tree.compares & (tree.feature == feature))
            nodes = nodes[cells.are_of_few(tree.threshold[nodes], origin.steps)]
            if not len(nodes):
                continue
            threshold = tree.threshold.copy()
            for node, asked in splits_in(tree, nodes):
                key = asked.at, asked.strict, asked.float32
                if key not in moved:
                    moved[key] = moved_threshold(key[0], numbers, strict=key[1], float32=key[2], keep_ends=common)
                threshold[node] = moved[key]
            trees[number] = replace(tree, threshold=threshold)
    return replace(model, trees=tuple(trees))


@dataclass(frozen=True)
class MergedModel:
    """A model that no longer tells values of a few people from values that it has never seen.

    Attributes:
        model: the model.
        columns: the columns of which values were merged.
        changed: those of them where this changes what is predicted of somebody in the table.
    """

    model: ModelIR
    columns: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def merge_rare_values(model: ModelIR, least: ModelIR, people: TableOfPolicy, *, dummies: bool = True) -> MergedModel:
    """The model without the values of a few people, unless the policy says that a column's list is public.

    Args:
        model: the whole model.
        least: the model as its scrubbed file would have it: what that lists is merged, and nothing else.
        people: the table whose people count.
        dummies: whether unseen values may become a value of a one-hot encoder; else they are none of its values.

    A value that is taken out is what the model takes values for that it has never seen. Where it refused these, they
    become that value, or none, with which the fewest predictions change. What leaves count is no
    longer the number of the people who reach them, so it is `unknown`.
    """
    schema = people.table.schema
    columns = tuple(sorted(name for name in people.rare_values(least) if not schema[name].public_domain))
    if not columns:
        return MergedModel(model)
    coded = with_coded_sets(model, people.origins(model))
    merged, changed = coded, []
    for name in columns:
        cells = _cells_of_rare_people(people, name)
        before = _answers(coded, cells, people)
        differing = {
            stand_in: int(
                (_answers(_without_rare(coded, name, people, stand_in, dummies=dummies), cells, people) != before).sum()
            )
            for stand_in in _stand_ins(coded, name, people, dummies=dummies)
        }
        best = min(differing, key=lambda stand_in: differing[stand_in])
        changed += [name] if differing[best] else []
        merged = _without_rare(merged, name, people, best, dummies=dummies)
    merged = replace(without_idle_tests(merged), counted="unknown")
    if not changed:
        cells = _cells_of_rare_people(people, *columns)
        changed = list(columns) if (_answers(coded, cells, people) != _answers(merged, cells, people)).any() else []
    return MergedModel(merged, columns, tuple(changed))


def has_value_of_few(people: TableOfPolicy, columns: Iterable[str]) -> NDArray[np.bool_]:
    """Which records of the table have a value of one of these columns that a few people have."""
    found = np.zeros(len(people.table), dtype=bool)
    for name in columns:
        values = people.table.schema[name].values or ()
        rare = {value for value in values if name in people.cells and people.cells[name].has_few(value)}
        found |= people.table.frame[name].isin(rare).to_numpy()
    return found


def _cells_of_rare_people(people: TableOfPolicy, *columns: str) -> dict[str, list[Any]]:
    """The cells of everybody who has, in one of these columns, a value that a few people have."""
    frame = people.table.frame[has_value_of_few(people, columns)]
    cells = {str(name): frame[name].astype(object) for name in frame.columns}
    return {name: [None if cell != cell else cell for cell in each] for name, each in cells.items()}


def _answers(model: ModelIR, cells: Mapping[str, list[Any]], people: TableOfPolicy) -> NDArray[Any]:
    """What the model predicts of these people."""
    origins = people.origins(model)
    known = replace(model, origins=tuple(origins.get(i) for i in range(len(model.features))))
    return np.array(predictor(known).predict(cells), dtype=object)


def _stand_ins(model: ModelIR, column: str, people: TableOfPolicy, *, dummies: bool) -> list[str | None]:
    """The values that the model may take values for that it refuses; None is none of them, of one-hot features alone.

    Of values that the model takes alike there is one; those of a few people come last. Without `dummies` unseen values
    are none of a one-hot encoder's.
    """
    origins = people.origins(model)
    free = {
        i: one.codes
        for i in people.column_features(model, origins, column)
        if isinstance(one := origins[i], CategoryCodes) and one.otherwise is None
    }
    chosen = {i: codes for i, codes in free.items() if dummies or _one_hot(model, i) is None}
    values: dict[tuple[float | None, ...], str] = {}
    for value in sorted(people.table.schema[column].values or (), key=people.cells[column].has_few):
        values.setdefault(tuple(codes.get(value) for codes in chosen.values()), value)
    known = [value for codes, value in values.items() if codes and None not in codes][:MOST_STAND_INS]
    only_dummies = all(_one_hot(model, i) is not None for i in free)
    return [None, *known] if only_dummies or not known else [*known]


def _one_hot(model: ModelIR, feature: int) -> OneHot[str] | None:
    """The codes of a one-hot encoder's feature; None for another feature."""
    origin = None if model.origins is None else model.origins[feature]
    return origin.codes if isinstance(origin, CategoryCodes) and isinstance(origin.codes, OneHot) else None


def _without_rare(
    model: ModelIR, column: str, people: TableOfPolicy, stand_in: str | None, *, dummies: bool
) -> ModelIR:
    """The model that takes the rare values of a column for ones that it has never seen, these for `stand_in`."""
    origins = people.origins(model)
    own = list(model.given_origins)
    for i in people.column_features(model, origins, column):
        origin, hot = origins[i], _one_hot(model, i)
        assert isinstance(origin, CategoryCodes)
        otherwise = origin.otherwise
        if otherwise is None and hot is not None and (stand_in is None or not dummies):
            otherwise = hot.off
        elif otherwise is None and stand_in is not None:
            otherwise = origin.codes.get(stand_in)
        common = {value: code for value, code in origin.codes.items() if not people.cells[column].has_few(value)}
        own[i] = replace(origin, codes=common, otherwise=otherwise)
    return replace(model, origins=tuple(own))


def complete_public_lists(model: ModelIR, people: TableOfPolicy) -> ModelIR:
    """The model with all values that the policy declares of a column with `domain: public`, where it lists rare ones.

    The values that it did not list are what it takes values for that it has never seen; no prediction changes.
    """
    schema = people.table.schema
    if not any(column.public_domain for column in schema.columns):
        return model
    columns = [schema[name] for name in people.rare_values(model) if schema[name].public_domain]
    if not columns:
        return model
    model = with_coded_sets(model, people.origins(model))
    origins = people.origins(model)
    own = list(model.given_origins)
    for column in columns:
        features = people.column_features(model, origins, column.name)
        for i in features:
            own[i] = origins[i]
        _add_missing_values([origins[i] for i in features], features, own, column)
    discloses = tuple(item for item in model.discloses if item.kind != "categories")
    return with_implied_disclosures(replace(model, origins=tuple(own), discloses=discloses))


def _add_missing_values(
    origins: Iterable[Origin], features: list[int], own: list[Origin | None], column: Column
) -> None:
    """Give the first feature that takes unseen values those of the column that none lists."""
    listed = {value for one in origins if isinstance(one, CategoryCodes) for value in one.codes}
    for i in features:
        first = own[i]
        if isinstance(first, CategoryCodes) and first.otherwise is not None:
            rest = {value: first.otherwise for value in column.values or () if value not in listed}
            own[i] = replace(first, codes={**first.codes, **rest})
            return
