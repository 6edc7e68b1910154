"""What the features of a scikit-learn pipeline are, in terms of the columns it was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.origins import Absent, Coded, Number, OneOf, Operation, Origin, Step, Unknown, stepped
from leafgate.foreign.seen import Seen, as_tuple

Transform = Callable[[Seen, Sequence["Made"]], list["Made"]]


@dataclass(frozen=True)
class Made:
    """A feature on its way through a pipeline: its name, its origin, and a missing text's stand-in."""

    name: str
    origin: Origin
    stand_in: str | None = None


def raw(names: Sequence[str]) -> list[Made]:
    """The columns as they are given."""
    return [Made(name, Number(name)) for name in names]


MAX_FEATURES = 100_000


def transformed(step: Any, given: Sequence[Made], place: str) -> list[Made]:
    """What a fitted transformer makes of features; ReleaseError names one that cannot be told in columns."""
    if step is None or step == "passthrough":
        return list(given)
    if not isinstance(step, Seen) or step.kind not in TRANSFORMS:
        kind = step.kind if isinstance(step, Seen) else str(step)[:40]
        remedy = f"of scikit-learn's transformers these can be told in columns: {', '.join(TRANSFORMS)}"
        raise ReleaseError(
            f"its features are made by {kind!r}, which mixes columns or is not known here", place=place, remedy=remedy
        )
    width = step.get("n_features_in_")
    if isinstance(width, int) and width != len(given):
        raise ReleaseError(f"its {step.kind} is for {width} features, and gets {len(given)}", place=place)
    step.spend(len(given))
    made = TRANSFORMS[step.kind](step, given)
    step.spend(len(made))
    return made


def _pipeline(step: Seen, given: Sequence[Made]) -> list[Made]:
    made = list(given)
    for named in step.many("steps"):
        made = transformed(named[1], made, step.place)
    return made


def _columns(step: Seen, given: Sequence[Made]) -> list[Made]:
    """A ColumnTransformer: each part's features one after another, in the order it keeps them."""
    if step.get("transformer_weights") is not None:
        raise ReleaseError("its ColumnTransformer weighs its parts", place=step.place)
    made: list[Made] = []
    for part in step.many("transformers_"):
        _, transformer, chosen = part
        if transformer == "drop":
            continue
        made += transformed(transformer, [given[i] for i in _chosen(chosen, given, step)], step.place)
        _refuse_many(made, step)
    return made


def _union(step: Seen, given: Sequence[Made]) -> list[Made]:
    if step.get("transformer_weights") is not None:
        raise ReleaseError("its FeatureUnion weighs its parts", place=step.place)
    made: list[Made] = []
    for _, part in step.many("transformer_list"):
        made += [] if part == "drop" else transformed(part, given, step.place)
        _refuse_many(made, step)
    return made


def _refuse_many(made: Sequence[Made], step: Seen) -> None:
    if len(made) > MAX_FEATURES:
        raise ReleaseError(f"its {step.kind} makes more than {MAX_FEATURES:,} features", place=step.place)


def _chosen(chosen: Any, given: Sequence[Made], step: Seen) -> list[int]:
    """The positions of a part's columns: names, numbers, a mask or a slice."""
    if isinstance(chosen, Seen) and "data" in chosen:
        chosen = chosen["data"]
    names = {made.name: i for i, made in reversed(list(enumerate(given)))}
    if isinstance(chosen, slice) and not isinstance(chosen.start, str) and not isinstance(chosen.stop, str):
        return list(range(len(given)))[chosen]
    if isinstance(chosen, slice):
        start = 0 if chosen.start is None else names[chosen.start]
        return list(range(start, len(given) if chosen.stop is None else names[chosen.stop] + 1))
    listed = (chosen,) if isinstance(chosen, str | int) else as_tuple(chosen, step, "transformers_")
    if listed and all(isinstance(one, bool) for one in listed):
        return [i for i, one in enumerate(listed) if one]
    if not all(one in names if isinstance(one, str) else isinstance(one, int) for one in listed):
        raise ReleaseError("its ColumnTransformer names columns that it is not given", place=step.place)
    return [names[one] if isinstance(one, str) else range(len(given))[one] for one in listed]


def _function(step: Seen, given: Sequence[Made]) -> list[Made]:
    if step.get("func") is not None:
        return [
            replace(made, origin=Unknown(made.name, "is made by a function, which is not run here")) for made in given
        ]
    return list(given)


def _imputer(step: Seen, given: Sequence[Made]) -> list[Made]:
    missing = step.get("missing_values")
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing)) or _is_na(missing)):
        raise ReleaseError("its SimpleImputer replaces a value that is not a missing cell", place=step.place)
    fills = as_tuple(step["statistics_"], step, "statistics_")
    made = [_filled(one, fill) for one, fill in zip(given, fills, strict=True) if not _is_missing(fill)]
    indicator = step.get("indicator_")
    if isinstance(indicator, Seen):
        made += _indicator(indicator, given)
    return made


def _indicator(step: Seen, given: Sequence[Made]) -> list[Made]:
    return [
        Made(f"missing {given[i].name}", Absent(given[i].origin.column)) for i in step.array("features_").astype(int)
    ]


def _is_missing(cell: Any) -> bool:
    return cell is None or _is_na(cell) or (isinstance(cell, float) and math.isnan(cell))


def _is_na(cell: Any) -> bool:
    return isinstance(cell, Seen) and cell.kind == "NAType"


def _filled(made: Made, fill: Any) -> Made:
    if not isinstance(made.origin, Number) or isinstance(fill, str):
        return replace(made, stand_in=_text(fill)) if isinstance(made.origin, Number) else made
    return replace(made, origin=replace(made.origin, fill=float(fill)), stand_in=_text(fill))


def _text(value: Any) -> str:
    """A category as a policy spells it: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _scaler(*operations: tuple[str, Operation, str]) -> Transform:
    """A scaler that does these operations one after another with these attributes, where their options say so."""

    def scale(step: Seen, given: Sequence[Made]) -> list[Made]:
        made = list(given)
        for attribute, operation, option in operations:
            if option and step.get(option, True) is False:
                continue
            by = np.broadcast_to(step.array(attribute).astype(np.float64), (len(given),))
            made = [_stepped(one, Step(operation, float(number)), step) for one, number in zip(made, by, strict=True)]
        if step.get("clip") is True:
            least, most = as_tuple(step["feature_range"], step, "feature_range")
            for bound in (Step("at_least", float(least)), Step("at_most", float(most))):
                made = [_stepped(one, bound, step) for one in made]
        return made

    return scale


def _stepped(made: Made, step: Step, of: Seen) -> Made:
    """The feature one step on."""
    if not math.isfinite(step.by) or (step.operation in {"times", "over"} and step.by <= 0):
        raise ReleaseError(f"its {of.kind} scales {made.name!r} by no positive number", place=of.place)
    match made.origin:
        case Number(column, steps, fill):
            filled = None if fill is None else stepped(fill, (step,))
            return replace(made, origin=Number(column, (*steps, step), filled))
        case Coded(column, codes, other, missing):
            changed = codes.stepped(step) if isinstance(codes, OneOf) else _each_stepped(codes, step)
            rest = [None if number is None else stepped(number, (step,)) for number in (other, missing)]
            return replace(made, origin=Coded(column, changed, rest[0], rest[1]))
        case Absent(column, there, gone):
            return replace(made, origin=Absent(column, stepped(there, (step,)), stepped(gone, (step,))))
    return made


def _each_stepped(codes: Mapping[str, float], step: Step) -> dict[str, float]:
    return {value: stepped(code, (step,)) for value, code in codes.items()}


def _source(made: Made, step: Seen) -> Number:
    """The column an encoder codes; it must be given as it is."""
    if not isinstance(made.origin, Number) or made.origin.steps:
        raise ReleaseError(f"its {step.kind} codes {made.name!r}, which is no column as it was given", place=step.place)
    return made.origin


@dataclass(frozen=True)
class _Categories:
    """The categories of one column in order, which of them are the missing cell, and the group of each.

    `not_a_number`: the missing cell is NaN, to which an OrdinalEncoder gives a number of its own; None has an ordinal.
    """

    texts: tuple[str | None, ...]
    groups: tuple[int, ...]
    infrequent: int | None
    not_a_number: bool = False

    @property
    def width(self) -> int:
        return max(self.groups, default=-1) + 1

    def texts_by_group(self) -> Mapping[int, Sequence[str | None]]:
        found: dict[int, list[str | None]] = {group: [] for group in range(self.width)}
        for text, group in zip(self.texts, self.groups, strict=True):
            found[group].append(text)
        return found


def _categories(step: Seen, number: int) -> _Categories:
    cells = as_tuple(step.many("categories_")[number], step, "categories_")
    texts = tuple(None if _is_missing(cell) else _text(cell) for cell in cells)
    if texts.count(None) > 1:
        raise ReleaseError(
            "its encoder tells None and NaN apart, and a table's missing cells are of one kind", place=step.place
        )
    gone = any(isinstance(cell, float) and math.isnan(cell) for cell in cells)
    mappings = step.get("_default_to_infrequent_mappings")
    mapping = None if mappings is None else as_tuple(mappings, step, "_default_to_infrequent_mappings")[number]
    if mapping is None:
        return _Categories(texts, tuple(range(len(texts))), None, gone)
    groups = tuple(int(group) for group in as_tuple(mapping, step, "_default_to_infrequent_mappings"))
    if not all(0 <= group < len(texts) for group in groups):
        raise ReleaseError("its encoder groups other categories than it has", place=step.place)
    if gone and step.kind == "OrdinalEncoder" and len(groups) == len(texts) - 1:
        groups = (*groups, -1)  # NaN comes last, is in no group, and gets a number of its own
    if len(groups) != len(texts):
        raise ReleaseError("its encoder groups other categories than it has", place=step.place)
    return _Categories(texts, groups, max(groups), gone)


def _one_hot(step: Seen, given: Sequence[Made]) -> list[Made]:
    """A feature for each category, or group of rare ones, that is not dropped."""
    dropped = step.get("_drop_idx_after_grouping", step.get("drop_idx_"))
    gone = [None] * len(given) if dropped is None else list(as_tuple(dropped, step, "drop_idx_"))
    unknown = step.get("handle_unknown", "error")
    made: list[Made] = []
    for i, one in enumerate(given):
        column, found = _source(one, step).column, _categories(step, i)
        rare = found.infrequent if unknown in {"infrequent_if_exist", "warn"} else None
        groups = dict(zip(found.texts, found.groups, strict=True))
        named, texts = {text: group for text, group in groups.items() if text is not None}, found.texts_by_group()
        for group in range(found.width):
            if group == gone[i]:
                continue
            other = None if unknown == "error" else float(group == rare)
            missing = _of_missing(OneOf(groups, group, tuple(texts[group])), one, other)
            mine = tuple(text for text in texts[group] if text is not None)
            name = f"{one.name}_{texts[group][0]}" if len(texts[group]) == 1 else f"{one.name}_infrequent"
            made.append(Made(name, Coded(column, OneOf(named, group, mine), other, missing)))
    return made


def _ordinal(step: Seen, given: Sequence[Made]) -> list[Made]:
    made = []
    told = step.get("unknown_value")
    other = None if step.get("handle_unknown", "error") == "error" else _number(told)
    for i, one in enumerate(given):
        column, found = _source(one, step).column, _categories(step, i)
        codes = {text: float(group) for text, group in zip(found.texts, found.groups, strict=True)}
        if None in codes and found.not_a_number:
            codes[None] = _number(step.get("encoded_missing_value", math.nan))
        made.append(Made(one.name, Coded(column, _named(codes), other, _of_missing(codes, one, other))))
    return made


def _number(told: Any) -> float:
    return math.nan if told is None else float(told)


def _named(codes: Mapping[str | None, float]) -> dict[str, float]:
    return {text: code for text, code in codes.items() if text is not None}


def _of_missing(codes: Mapping[str | None, float], made: Made, other: float | None) -> float | None:
    """The code of a missing cell: its stand-in's where an imputer went before, its own, or an unknown value's."""
    if made.stand_in is not None:
        return codes.get(made.stand_in, other)
    return codes.get(None, other)


TRANSFORMS: Mapping[str, Transform] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _columns,
    "FeatureUnion": _union,
    "FunctionTransformer": _function,
    "SimpleImputer": _imputer,
    "MissingIndicator": _indicator,
    "StandardScaler": _scaler(("mean_", "minus", "with_mean"), ("scale_", "over", "with_std")),
    "MinMaxScaler": _scaler(("scale_", "times", ""), ("min_", "plus", "")),
    "MaxAbsScaler": _scaler(("scale_", "over", "")),
    "RobustScaler": _scaler(("center_", "minus", "with_centering"), ("scale_", "over", "with_scaling")),
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
}
