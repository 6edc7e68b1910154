"""What scikit-learn's encoders make of a column, or of numbers that an encoder before them made of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.readers import CategoryCodes, MissingIndicator, Numeric, ObjectView, OneHot, Origin
from leafgate_plugins.sklearn.feature import PipelineFeature, Transform, is_missing, text_of

LESS = {"float16", "float32", "dtype"}
"""Types of less than double precision; a file does not state which `dtype` it is."""


@dataclass(frozen=True)
class _Categories:
    """The categories of one column in order, which of them are the missing cell, and the group of each.

    `numbers` are the groups of those that are numbers. `not_a_number`: the missing cell is NaN, to which an
    OrdinalEncoder gives a number of its own; None has an ordinal.
    """

    texts: tuple[str | None, ...]
    groups: tuple[int, ...]
    infrequent: int | None
    numbers: Mapping[float, int]
    not_a_number: bool = False

    @property
    def width(self) -> int:
        return max(self.groups, default=-1) + 1

    def texts_by_group(self) -> Mapping[int, Sequence[str | None]]:
        found: dict[int, list[str | None]] = {group: [] for group in range(self.width)}
        for text, group in zip(self.texts, self.groups, strict=True):
            if group >= 0:
                found[group].append(text)
        return found


def _categories(step: ObjectView, number: int) -> _Categories:
    cells = as_tuple(step.many("categories_")[number], step, "categories_")
    texts = tuple(None if is_missing(cell) else text_of(cell) for cell in cells)
    if texts.count(None) > 1:
        raise ReleaseError(APART, place=step.place)
    gone = any(isinstance(cell, float) and math.isnan(cell) for cell in cells)
    mappings = step.get("_default_to_infrequent_mappings")
    mapping = None if mappings is None else as_tuple(mappings, step, "_default_to_infrequent_mappings")[number]
    if mapping is None:
        return _Categories(texts, tuple(range(len(texts))), None, _numbers(cells, range(len(texts))), gone)
    groups = tuple(int(group) for group in as_tuple(mapping, step, "_default_to_infrequent_mappings"))
    if not all(0 <= group < len(texts) for group in groups):
        raise ReleaseError("its encoder groups other categories than it has", place=step.place)
    if gone and step.kind == "OrdinalEncoder" and len(groups) == len(texts) - 1:
        groups = (*groups, -1)  # NaN comes last, is in no group, and gets a number of its own
    if len(groups) != len(texts):
        raise ReleaseError("its encoder groups other categories than it has", place=step.place)
    return _Categories(texts, groups, max(groups), _numbers(cells, groups), gone)


APART = "its encoder tells None and NaN apart, and a table's missing cells are of one kind"


def _numbers(cells: Sequence[Any], groups: Sequence[int]) -> dict[float, int]:
    return {
        float(cell): group
        for cell, group in zip(cells, groups, strict=True)
        if isinstance(cell, int | float) and not math.isnan(cell)
    }


def _source(made: PipelineFeature, found: _Categories, step: ObjectView) -> Numeric:
    """The column an encoder codes; it must be given as it is."""
    if not isinstance(made.origin, Numeric) or made.origin.steps:
        raise ReleaseError(f"its {step.kind} codes {made.name!r}, which is no column as it was given", place=step.place)
    if made.fill_value is not None and None in found.texts:
        raise ReleaseError(APART, place=step.place)  # the imputer before filled one of them alone
    return made.origin


def _one_hot(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    """A feature for each category, or group of rare ones, that is not dropped."""
    dropped = step.get("_drop_idx_after_grouping", step.get("drop_idx_"))
    gone = [None] * len(given) if dropped is None else list(as_tuple(dropped, step, "drop_idx_"))
    like = _kept(step)
    made: list[PipelineFeature] = []
    for i, one in enumerate(given):
        found = _categories(step, i)
        texts, of = found.texts_by_group(), _hot_of(one, found, step)
        for group in range(found.width):
            if group != gone[i]:
                name = f"{one.name}_{texts[group][0]}" if len(texts[group]) == 1 else f"{one.name}_infrequent"
                made.append(replace(like, name=name, origin=of(group)))
    return made


def _kept(step: ObjectView) -> PipelineFeature:
    """How the encoder's numbers are kept."""
    dtype, hot = step.get("dtype"), step.kind == "OneHotEncoder"
    sparse = hot and step.get("sparse_output", step.get("sparse", True)) is True
    single = (dtype.kind if isinstance(dtype, ObjectView) else dtype) in LESS
    return PipelineFeature("", Numeric(""), sparse=sparse, single=single)


def _hot_of(made: PipelineFeature, found: _Categories, step: ObjectView) -> Callable[[int], Origin]:
    """The origin of each group's feature."""
    unknown = step.get("handle_unknown", "error")
    rare = found.infrequent if unknown in {"infrequent_if_exist", "warn"} else None
    rest = None if unknown == "error" else -1 if rare is None else rare
    if not isinstance(made.origin, Numeric):
        return _hot_again(made, found, rest, step)
    column = _source(made, found, step).column
    groups = dict(zip(found.texts, found.groups, strict=True))
    named, texts = {text: group for text, group in groups.items() if text is not None}, found.texts_by_group()
    at = groups.get(made.fill_value, rest)

    def of(group: int) -> Origin:
        other = None if rest is None else float(group == rest)
        own = tuple(text for text in texts[group] if text is not None)
        missing = None if at is None else float(group == at)
        return CategoryCodes(column, OneHot(named, group, own), other, missing, fill_value=_filled(made))

    return of


def _hot_again(
    made: PipelineFeature, found: _Categories, rest: int | None, step: ObjectView
) -> Callable[[int], Origin]:
    """The indicator of each group, of numbers that an encoder or an indicator made."""
    group_of = _lookup(found.numbers, dict(zip(found.texts, found.groups, strict=True)).get(None, rest), rest)
    origin = _recoded(made, group_of, step)
    if not isinstance(origin, CategoryCodes) or isinstance(origin.codes, OneHot):
        return lambda group: _recoded(made, lambda number: _is(group_of(number), group), step)
    groups: dict[str, int] = {value: int(code) for value, code in origin.codes.items()}
    chosen: dict[int, list[str]] = {}
    for value, group in groups.items():
        chosen.setdefault(group, []).append(value)

    def of(group: int) -> Origin:
        own = OneHot(groups, group, tuple(chosen.get(group, ())))
        return replace(origin, codes=own, otherwise=_is(origin.otherwise, group), missing=_is(origin.missing, group))

    return of


def _is(found: float | None, group: int) -> float | None:
    return None if found is None else float(found == group)


Codes = Callable[[float], float | None]
"""The number of a number; None where it has none."""


def _lookup(codes: Mapping[float, float], gap: float | None, rest: float | None) -> Codes:
    return lambda number: gap if math.isnan(number) else codes.get(number, rest)


def _recoded(made: PipelineFeature, code: Codes, step: ObjectView) -> Origin:
    """The feature whose numbers are coded once more."""

    def sure(number: float) -> float:
        found = code(number)
        if found is None:
            why = f"its {step.kind} takes not every number that {made.name!r} may have"
            raise ReleaseError(why, place=step.place)
        return found

    match made.origin:
        case MissingIndicator(column, there, gone):
            return MissingIndicator(column, sure(there), sure(gone))
        case CategoryCodes(column, codes, other, missing):
            rest = [None if number is None else code(number) for number in (other, missing)]
            if isinstance(codes, OneHot):
                turned = replace(codes, on=sure(codes.on), off=sure(codes.off))
                return replace(made.origin, codes=turned, otherwise=rest[0], missing=rest[1])
            again = {value: code(number) for value, number in codes.items()}
            known = {value: number for value, number in again.items() if number is not None}
            if len(known) < len(again) and rest[0] is not None:
                sure(next(codes[value] for value in again if value not in known))
            return replace(made.origin, codes=known, otherwise=rest[0], missing=rest[1])
    return made.origin


def _ordinal(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    result, like = step.get("unknown_value"), _kept(step)
    other = None if step.get("handle_unknown", "error") == "error" else _number(result)
    return [
        replace(like, name=one.name, origin=_ordinal_of(one, _categories(step, i), other, step))
        for i, one in enumerate(given)
    ]


def _ordinal_of(made: PipelineFeature, found: _Categories, other: float | None, step: ObjectView) -> Origin:
    codes = {text: float(group) for text, group in zip(found.texts, found.groups, strict=True)}
    if None in codes and found.not_a_number:
        codes[None] = _number(step.get("encoded_missing_value", math.nan))
    if not isinstance(made.origin, Numeric):
        return _recoded(made, _lookup(found.numbers, codes.get(None, other), other), step)
    column = _source(made, found, step).column
    named = {text: code for text, code in codes.items() if text is not None}
    return CategoryCodes(column, named, other, codes.get(made.fill_value, other), fill_value=_filled(made))


def _filled(made: PipelineFeature) -> str:
    """What missing cells were filled with, if it need not be a value of the column."""
    return made.fill_value if made.named and made.fill_value is not None else ""


def _number(document: Any) -> float:
    return math.nan if document is None else float(document)


ENCODERS: Mapping[str, Transform] = {"OneHotEncoder": _one_hot, "OrdinalEncoder": _ordinal}
