"""Which feature means what: what the policy says, what the file says, what the names say; in this order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from leafgate.errors import Problem, ReleaseError
from leafgate.io.json import parse_number
from leafgate.ir.features import (
    LOOKUP_ROUNDING,
    CategoryCodes,
    Feature,
    MissingIndicator,
    Numeric,
    OneHot,
    Origin,
    Unresolved,
    after_steps,
    known_by,
    with_zero_missing,
)
from leafgate.kernel.options import FiniteFloat, Strict
from leafgate.kernel.release import FeatureEncoding
from leafgate.kernel.schema import MISSING_WORDS, Column, Schema

if TYPE_CHECKING:
    from leafgate.ir.model import ModelIR

See = Callable[[float], float]
"""A number as a model sees it: in single precision, without its fraction."""


def misread(feature: Feature, origin: Origin, column: Column, *, explicit: bool) -> Unresolved | None:
    """Why the feature cannot be taken for what it seems to be made of; None where it can.

    `explicit`: the policy says itself what it is made of.
    """
    if column.numeric:
        return None
    if isinstance(origin, Numeric) and not explicit and _may_be_codes(feature, origin, column):
        return Unresolved(feature.name, "is asked for the column's values, or for codes 0, 1, 2, ... of them", WHICH)
    if feature.texts and isinstance(origin, Numeric):
        return _misspelt(feature.chosen, column, float, whole=False)
    if not isinstance(origin, CategoryCodes):
        return None
    return _misspelt(known_by(origin), column, LOOKUP_ROUNDING[origin.lookup_precision], whole=True)


WHICH = "give its `codes` under `build: {encoding: ...}`, or `{column: ...}` alone where it has the values themselves"


LIST_VALUES = "list them as its `values` under `data: {columns: ...}`"


def _may_be_codes(feature: Feature, origin: Numeric, column: Column) -> bool:
    """Are values that are numbers, but not 0, 1, 2, ..., only asked about where codes of as many values lie?"""
    numbers = [parse_number(value) for value in column.values or ()]
    if feature.sets or not all(map(math.isfinite, numbers)) or sorted(numbers) == list(range(len(numbers))):
        return False
    low, high = after_steps(0.0, origin.steps), after_steps(len(numbers) - 1.0, origin.steps)
    return low <= feature.least and feature.most <= high


def _misspelt(known: frozenset[str], column: Column, see: See, *, whole: bool) -> Unresolved | None:
    """What the model knows, against what the policy declares; `whole`: it is all that the model knows.

    Numbers are the same if the model sees them so, and truth values however they are spelled. A model may know values
    that nobody has any more, or not know some that were declared. Both at once may be one value in two spellings.
    """
    values = frozenset(column.values or ())
    alike = {_comparable(value, see) for value in known}
    numbers = {spelling for value in values for spelling in _spellings(value, see)}
    named = known - values - {IDLE_CATEGORY}
    strange = frozenset(value for value in named if _comparable(value, see) not in numbers)
    gone = frozenset(value for value in strange if value.strip() in MISSING_WORDS)
    if gone and column.missing:
        why = "the model knows a value that stands for missing cells, and missing cells besides"
        return Unresolved(column.name, why, "take it from `data.missing`, so that it is a value of the column too")
    merged = sum(column.aliases.get(value) in known for value in strange)
    if merged:
        why = f"the model knows {merged} value(s) that `aliases` make another value of, so its tests for them are lost"
        return Unresolved(column.name, why, "declare them as `values`, without `aliases`")
    others = len(strange - gone)
    if not others or (whole and all(value in known or alike.intersection(_spellings(value, see)) for value in values)):
        return None
    why = f"the model knows {others} value(s) that the policy does not have"
    return Unresolved(
        column.name, why, "declare `values` as the model spells them, and the table's spelling as `aliases`"
    )


def not_listed(listed: frozenset[str], column: Column) -> frozenset[str]:
    """The values of a column that a list has in no spelling: neither as a number, a truth value nor an alias."""
    texts = [*listed, *(value for alias, value in column.aliases.items() if alias in listed)]
    known = {spelling for text in texts for spelling in _spellings(text, float)}
    return frozenset(value for value in column.values or () if known.isdisjoint(_spellings(value, float)))


def _comparable(value: str, see: See) -> float | str:
    """A value as the model knows it: numbers as it sees them, truth values in one spelling, others as they are."""
    number = parse_number(value)
    if math.isfinite(number):
        return see(number)
    return value.lower() if value.lower() in TRUTH else value


def _spellings(value: str, see: See) -> tuple[float | str, ...]:
    """What a policy's value may be to a model, the likeliest first: a truth value is a number, too."""
    truth = TRUTH.get(value.lower())
    return (_comparable(value, see), *(() if truth is None else (truth,)))


IDLE_CATEGORY = "infrequent_sklearn"
"""What stands in a rewritten encoder in place of each category that no test asks about: scikit-learn's own name for
values of which it knows no more. A policy need not have it."""

BETWEEN = ("_", "=", "-", ".", ":", " ", "__")
"""What stands between column and value in names of dummy features."""


POSITIONAL = re.compile(r"(?:x|f|Column_|)([0-9]{1,6})")
"""What libraries, and readers, call the features of a table whose columns have no names."""


def is_position(name: str, position: int) -> bool:
    """Is it what the feature at this position is called where it has no name?"""
    found = POSITIONAL.fullmatch(name)
    return found is not None and int(found[1]) == position


ResolvedOrigin = Numeric | CategoryCodes | MissingIndicator


class Encoding(Strict):
    """What one feature of a model is, or which number the model gives each class."""

    column: str | None = Field(None, description="The policy's column; by default the one of the feature's name.")
    value: str | None = Field(None, description="The feature is 1 where the column has this value, else 0.")
    codes: dict[str, FiniteFloat] | None = Field(None, description="The number that stands for each value.")
    missing: FiniteFloat | None = Field(None, description="The number of a missing cell; by default a missing number.")
    confirmed: bool = Field(
        False,
        description="Of the class: the mapping is right, although the values fit the table better in another order.",
    )
    zero: Literal["missing"] | None = Field(
        None,
        description="`missing`: the model gets a missing number in place of 0, as XGBoost does from a sparse matrix.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Encoding:
        if self.value is not None and self.codes is not None:
            raise ValueError("`value` (one feature a value) or `codes` (one feature for all), not both")
        return self


def origins_of(
    features: Sequence[Feature],
    encodings: Mapping[str, Encoding],
    schema: Schema,
    place: str,
    unasked: Collection[str] = (),
) -> tuple[Origin, ...]:
    """Each feature's origin among the policy's columns; ReleaseError names every feature that has none.

    An encoding of a feature that the model does not have is refused too. Features in `unasked` are the model's, though
    no tree asks about them any more: the policy may say what they are.
    """
    explained = [_explained(feature, encodings) for feature in features]
    found = [_origin(feature, _declared(feature, encodings), schema) for feature in explained]
    idle = _idle(encodings, {feature.name for feature in features} | set(unasked), schema)
    unknown = dict.fromkeys(one for one in found if isinstance(one, Unresolved))
    problems = [Problem(place, f"{one.column!r}: {one.why}", one.remedy or REMEDY) for one in unknown]
    problems += [Problem("build.encoding", f"no tree asks about a feature {name!r}") for name in idle]
    if problems:
        raise ReleaseError.listing(problems)
    return tuple(found)


REMEDY = "say what it is under `build: {encoding: ...}`, or give the column a role that is kept"


def _idle(declared: Mapping[str, Encoding], features: Collection[str], schema: Schema) -> Iterator[str]:
    targets = {column.name for column in schema.having("class")}
    return (name for name in declared if name not in features and name not in targets)


def _explained(feature: Feature, encodings: Mapping[str, Encoding]) -> Feature:
    """The feature; made of the values that the policy names, where a file looks up the numbers that stand for them."""
    made = feature.origin
    if not isinstance(made, CategoryCodes) or not made.lookup_precision or feature.name in encodings:
        return feature
    of_column = encodings.get(made.column)
    if of_column is None or of_column.codes is None:
        return feature
    see = LOOKUP_ROUNDING[made.lookup_precision]
    looked_up = {see(parse_number(text)): code for text, code in made.codes.items()}
    codes = {value: looked_up.get(see(number), made.otherwise) for value, number in of_column.codes.items()}
    absent = looked_up.get(see(of_column.missing), made.otherwise) if of_column.missing is not None else made.missing
    taken = {value: code for value, code in codes.items() if code is not None}
    return replace(feature, origin=CategoryCodes(of_column.column or made.column, taken, None, absent))


def _declared(feature: Feature, encodings: Mapping[str, Encoding]) -> Encoding | None:
    """What the policy says of a feature, by its name; or by the file's name of the column that it is made of.

    The latter where the policy says no more than which column that is: a file may have several features of it.
    """
    own = encodings.get(feature.name)
    if own is not None or feature.origin is None:
        return own
    of_column = encodings.get(feature.origin.column)
    return of_column if of_column is not None and of_column == Encoding(column=of_column.column) else None


def _origin(feature: Feature, declared: Encoding | None, schema: Schema) -> Origin:
    name, result = feature.name, feature.origin
    if declared is not None:
        origin = _renamed(result, declared) or _declared_origin(name, declared, schema)
        origin = with_zero_missing(origin) if declared.zero == "missing" else origin
    else:
        origin = result if result is not None else _from_name(name, schema)
    if isinstance(origin, Unresolved):
        return origin
    if declared is None and origin.column not in schema:
        origin = _spelled_plainly(origin, schema)
    if origin.column in schema.dropped:
        return _dropped(origin.column)
    if origin.column not in schema:
        return Unresolved(name, "asks about a column that the policy does not have, or drops")
    column = schema[origin.column]
    if "class" in column.roles:
        return Unresolved(name, "asks about the class itself")
    wrong = misread(feature, origin, column, explicit=declared is not None)
    return _to_schema(feature, origin, column) if wrong is None else wrong


def _renamed(origin: Origin | None, declared: Encoding) -> Origin | None:
    """What the file says of a feature, with the column that the policy says it is made from, if the policy says one.

    A file's columns may have no names but positions; how they were scaled stays as the file says. None where the file
    does not say what the feature is, or the policy says what its numbers stand for.
    """
    says_numbers = (declared.value, declared.codes, declared.missing) != (None, None, None)
    if origin is None or isinstance(origin, Unresolved) or says_numbers:
        return None
    return origin if declared.column is None else replace(origin, column=declared.column)


def _spelled_plainly(origin: ResolvedOrigin, schema: Schema) -> ResolvedOrigin:
    """The origin by its column's name in the policy, where the file has `_` for signs that it does not take."""
    found = [column.name for column in schema.columns if origin.column in spellings(column.name)]
    return replace(origin, column=found[0]) if len(found) == 1 else origin


def plainly(name: str) -> str:
    """A name as skl2onnx writes it: letters, digits, `_` and `+`, with no digit first.

    Source: skl2onnx, common/_topology.py, `Scope._generate_unique_name`.
    """
    return re.sub(r"^([0-9])", r"_\1", re.sub(r"[^\w+]", "_", name))


def spellings(name: str) -> frozenset[str]:
    """A column's name as libraries write it that do not take all signs: skl2onnx, and LightGBM, which takes no spaces.

    Source: LightGBM, src/io/dataset_loader.cpp, "Found whitespace in feature_names, replace with underlines".
    """
    return frozenset({plainly(name), name.replace(" ", "_")})


def _declared_origin(name: str, declared: Encoding, schema: Schema) -> Origin:
    """What the policy says a feature is, where 0 is a number to the model."""
    column = declared.column if declared.column is not None else name
    absent = math.nan if declared.missing is None else declared.missing
    if declared.value is not None:
        if column in schema and schema[column].values is not None and declared.value not in schema[column].domain:
            return Unresolved(name, "`encoding` names a value outside the column's domain")
        return CategoryCodes(column, {declared.value: 1.0}, 0.0, 0.0 if declared.missing is None else absent)
    if declared.codes is not None:
        return CategoryCodes(column, dict(declared.codes), None, absent)
    return Numeric(column, (), declared.missing)


def _from_name(name: str, schema: Schema) -> Origin:
    """What a feature's name says: a column's own, or column and value as pandas and scikit-learn join them."""
    bare = name.partition("__")[2]
    for full in (name, bare) if bare else (name,):
        if full in schema:
            return Numeric(full)
        found = {
            (column.name, value)
            for column in schema.columns
            for value in column.values or ()
            for sign in BETWEEN
            if full == f"{column.name}{sign}{value}"
        }
        if len(found) == 1:
            column, value = found.pop()
            return CategoryCodes(column, {value: 1.0}, 0.0, 0.0)
    plain = _spelled_plainly(Numeric(name), schema)
    if plain.column in schema:
        return plain
    dropped = [column for column in schema.dropped for sign in BETWEEN if full.startswith(f"{column}{sign}")]
    if dropped or full in schema.dropped:
        return _dropped(max(dropped, key=len, default=full))
    return Unresolved(name, "is neither a column of the policy nor a column and one of its values")


def _dropped(column: str) -> Unresolved:
    """One error for all features of the column, whose names may end in its cells."""
    remedy = "give it a role that is kept, such as quasi_identifier, or fit the model without it"
    return Unresolved(column, "the model asks about this column, which the policy drops", remedy)


def names_of(schema: Schema) -> frozenset[str]:
    """What features may be called: a column, or a column and one of its values, missing ones and rare ones too."""
    rest = ("infrequent", "infrequent_sklearn", "nan", "None")
    columns = schema.columns
    plain = {spelling for one in columns for spelling in spellings(one.name)}
    dummies = {
        f"{one.name}{sign}{value}" for one in columns for sign in BETWEEN for value in (*(one.values or ()), *rest)
    }
    return frozenset(dummies | {prefix + one.name for one in columns for prefix in ("", "missing ")} | plain)


def _to_schema(feature: Feature, origin: Origin, column: Column) -> Origin:
    """The origin as the column's kind has it: numbers of a column with `values` are the numbers its values are."""
    name = feature.name
    if isinstance(origin, Numeric) and not column.numeric and feature.texts:
        return CategoryCodes(column.name, {}, 0.0)
    if isinstance(origin, Numeric) and feature.sets and not column.numeric:
        return Unresolved(
            name, "is asked for codes of the model's own, and the file does not say of what: give `codes`"
        )
    if isinstance(origin, Numeric) and feature.sets:
        return Unresolved(name, "is asked for single values, and the column has no `values`", LIST_VALUES)
    if isinstance(origin, Numeric) and not column.numeric:
        numbers = {value: as_number(value) for value in column.values or ()}
        if not all(map(math.isfinite, numbers.values())):
            return Unresolved(name, "is a number, and the column's values are none: which stands for which?")
        absent = math.nan if origin.fill is None else origin.fill
        codes = {value: after_steps(number, origin.steps) for value, number in numbers.items()}
        coded = CategoryCodes(column.name, codes, None, absent)
        return with_zero_missing(coded) if origin.zero_is_missing else coded
    if isinstance(origin, CategoryCodes) and column.numeric:
        return Unresolved(column.name, "the model takes it as values, and it has no `values`", LIST_VALUES)
    if isinstance(origin, CategoryCodes):
        return CategoryCodes(column.name, _in_domain(origin, column), origin.otherwise, origin.missing)
    return origin


def as_number(value: str) -> float:
    """The number a model has for a value: what it is spelled as, of a truth value 0 or 1."""
    return TRUTH.get(value.lower(), parse_number(value))


TRUTH = {"false": 0.0, "true": 1.0}


def _in_domain(origin: CategoryCodes, column: Column) -> dict[str, float]:
    """The codes under the policy's spelling: a model's 3.0 is `3`, what it sees as 3.0 too, and its 1 is `TRUE`."""
    codes, see = origin.codes, LOOKUP_ROUNDING[origin.lookup_precision]
    exact = {value: codes[value] for value in column.values or () if value in codes}
    alike = {_comparable(text, see): code for text, code in codes.items()}
    spellings = {value: _spellings(value, see) for value in column.values or ()}
    found = {value: next((alike[each] for each in those if each in alike), None) for value, those in spellings.items()}
    return {value: code for value, code in found.items() if code is not None} | exact


def class_values(classes: Sequence[str], encoding: Encoding | None, target: Column, place: str) -> tuple[str, ...]:
    """The policy's value for each of the model's classes; ReleaseError when one has none.

    Args:
        classes: the names of the model's classes: texts, numbers, or the truth values True and False.
        encoding: what the policy says of the class under `build: {encoding: ...}`; its `codes` decide alone.
        target: the policy's class. Without codes a model's class is the value of the same spelling, the value that an
            alias of the same spelling means, or the one value or alias of the same number; a truth value is 0 or 1.
        place: the name of the model's file, for errors.
    """
    if encoding is not None and encoding.codes is not None:
        by_number = {number: value for value, number in encoding.codes.items()}
        named = [by_number.get(as_number(name)) for name in classes]
    else:
        spelled = {value: value for value in target.values or ()} | dict(target.aliases)
        numbers: dict[float, set[str]] = {}
        for text, value in spelled.items():
            if math.isfinite(number := as_number(text)):
                numbers.setdefault(number, set()).add(value)
        named = [spelled.get(name) or _only(numbers.get(as_number(name), ())) for name in classes]
    if len(set(named)) != len(named) and not {*classes}.isdisjoint(target.aliases):
        raise ReleaseError(
            f"it has a class of its own for each of several spellings that `aliases` of {target.name!r} make one value",
            place=place,
            remedy="fit it on a table with one spelling of each value; or say `distinct`, if they are different things",
        )
    if any(name is None or name not in (target.values or ()) for name in named) or len(set(named)) != len(named):
        raise ReleaseError(
            f"its classes are not those of {target.name!r}", place=place, remedy=_class_remedy(classes, target.name)
        )
    return tuple(name for name in named if name is not None)


def _only(values: Collection[str]) -> str | None:
    """The one value; None where there is none or there are several."""
    return next(iter(values)) if len(values) == 1 else None


MAX_CODES_NAMED = 6
"""Of a model of so many classes that are numbers an error writes the mapping that the policy lacks."""


def _class_remedy(classes: Sequence[str], target: str) -> str:
    """The lines of a policy that map a model's classes; numbers and truth values are written, other texts are not."""
    numbers = [as_number(name) for name in classes]
    if not all(map(math.isfinite, numbers)):
        return f"map them with `aliases: {{CLASS OF THE MODEL: VALUE, ...}}` under `data: columns: {target}:`"
    if not all(number.is_integer() and abs(number) <= MAX_CODES_NAMED for number in numbers):
        return f"say which number is which: `build: {{encoding: {{{target}: {{codes: ...}}}}}}`"
    codes = ", ".join(f"VALUE: {number:g}" for number in numbers)
    truth = {name.lower() for name in classes} <= TRUTH.keys()
    which = "which value is false (0) and which is true (1)" if truth else "which number is which"
    return f"say {which}: `build: {{encoding: {{{target}: {{codes: {{{codes}}}}}}}}}`"


MAX_UNASKED = 2_000
"""Of so many features that no tree asks about the columns are looked up; each is compared with all names."""


def column_encodings(
    model: ModelIR, asked: Mapping[int, Origin], categories: Collection[str], schema: Schema
) -> dict[str, FeatureEncoding]:
    """How each column became the features of a model, in the order of the features.

    Args:
        model: the model as its file gives it.
        asked: the resolved origins of the features that some tree asks about, by their numbers.
        categories: the names of the features that the library itself took for categories.
        schema: the policy's columns.

    Returns:
        By the names of columns; features whose column is not known, or is none that a tree may ask about, are left out.

    Departure: an encoder that drops a value, or groups rare ones, counts as one that keeps each.
    """
    declared = model.given_origins
    origins, unasked = dict(asked), 0
    for number, name in enumerate(model.features):
        if number not in origins and unasked < MAX_UNASKED:
            unasked += 1
            origins[number] = declared[number] or _from_name(name, schema)
    found: dict[str, list[int]] = {}
    for number in sorted(origins):
        if not isinstance(origins[number], Unresolved):
            found.setdefault(origins[number].column, []).append(number)
    return {
        column.name: "category"
        if not column.numeric and any(model.features[number] in categories for number in numbers)
        else _kind_of(column, [origins[number] for number in numbers])
        for column, numbers in ((schema[name], numbers) for name, numbers in found.items() if name in schema)
        if column in schema.features
    }


def _kind_of(column: Column, origins: Sequence[Origin]) -> FeatureEncoding:
    """The encoding of one column, from the origins of its features."""
    if column.numeric:
        return "number"
    coded = [origin for origin in origins if isinstance(origin, CategoryCodes)]
    numbers = {value: as_number(value) for value in column.values or ()}
    if not coded:
        return "number" if all(map(math.isfinite, numbers.values())) else "one_hot"
    if len(origins) == 1 and len(column.domain) == 2:
        return "codes"
    if len(origins) > 1 or isinstance(coded[0].codes, OneHot) or _is_dummy(coded[0]):
        return "one_hot"
    return "number" if coded[0].codes == numbers else "codes"


def _is_dummy(origin: CategoryCodes) -> bool:
    return len(origin.codes) == 1 and origin.otherwise == 0.0
