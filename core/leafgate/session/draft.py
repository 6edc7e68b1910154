"""What a first policy says of a model and of columns: `leafgate init` writes one of files, `leafgate.audit` of tables.

What a model's file states of columns is found by the names of features; of a table in memory the types of its columns
say what a file of text leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import InvalidError, ReleaseError, nearest_name
from leafgate.io.json import parse_number
from leafgate.io.tables.cells import is_code
from leafgate.io.tables.frames import FrameColumn, cell_text
from leafgate.ir.features import CategoryCodes, Feature, MissingIndicator, Numeric, Origin, Unresolved, known_by
from leafgate.ir.model import ModelIR
from leafgate.kernel.release import Level, Release
from leafgate.kernel.schema import EXCLUSIVE_ROLES, Column, Role
from leafgate.models.lowering.encoding import POSITIONAL, Encoding, class_values, spellings
from leafgate.models.lowering.release import asked_features
from leafgate.models.lowering.tests import sends_zero_apart
from leafgate.session.answers import proposed_answers
from leafgate.session.domains import bounds_domain, is_long_list, list_domain, number_domain
from leafgate.session.proposals import MODEL_GROUP

BETWEEN = "_=-.: "
"""What stands between column and value in names of dummy features."""

MAX_CLASSES = 50
"""A class with more values than this is none."""

MAX_WHOLE_NUMBERS = 500
"""So many whole numbers of a column may become values of it."""

MAX_SECRET_VALUES = 12
"""A secret of at most so many whole numbers is one of values, and not of intervals of numbers."""


@dataclass(frozen=True)
class ModelHints:
    """What a model's file states of a table's columns.

    Attributes:
        level: what its file has on the leaves.
        classes: its classes, empty where it predicts numbers.
        numbers: columns that it takes as numbers.
        values: columns that it takes as values.
        unresolved_features: features that nobody can place.
        says: what the file discloses beyond its predictions.
        texts: columns of the table that hold no numbers.
        known: values that it knows of any column.
        fills_missing: columns of whose missing cells it makes something that it makes of no unknown value: their
            encoder has a category for them, or they are filled or marked.
        people: how many people the roots of its trees count.
        takes_missing: does the file say where missing cells go?
        by_position: the columns of features that are named by their positions, where the table has as many columns.
        listed: columns whose values it lists, each with a code, as the encoders of a pipeline do.
        takes_unknown: those of them of which it also takes values that it does not list, as ones that it does not know.

    Without that, `fills_missing` and `people` are empty.
    """

    level: Level
    classes: tuple[str, ...]
    numbers: frozenset[str]
    values: frozenset[str]
    unresolved_features: tuple[str, ...]
    says: tuple[str, ...]
    texts: frozenset[str]
    known: frozenset[str]
    fills_missing: frozenset[str]
    people: frozenset[int]
    takes_missing: bool
    by_position: Mapping[str, str]
    listed: frozenset[str] = frozenset()
    takes_unknown: frozenset[str] = frozenset()


def columns_by_position(model: ModelIR, columns: Sequence[str]) -> dict[str, str]:
    """The columns of the features that some tree tests, by the features' names.

    Empty unless all of them are named by their positions, and no column has such a name.
    """
    found: dict[str, str] = {}
    for feature in asked_features(model).values():
        origin = feature.origin
        column = origin.column if isinstance(origin, Numeric | CategoryCodes | MissingIndicator) else feature.name
        position = None if isinstance(origin, Unresolved) else POSITIONAL.fullmatch(column)
        if column in columns or position is None or int(position[1]) >= len(columns):
            return {}
        found[feature.name] = columns[int(position[1])]
    return found


def model_hints(model: ModelIR, columns: Sequence[str], texts: Mapping[str, Sequence[str]]) -> ModelHints:
    """What the model says of a table with these columns; `texts` are the values where none are numbers.

    Features that are named by their positions are placed where the columns, without the class, are as many as they are.
    """
    by_position = columns_by_position(model, columns) if len(columns) == len(model.features) else {}
    placing = _Placing(columns, texts, by_position)
    asked = asked_features(model)
    placed = {name: placing.of(feature) for name, feature in asked.items()}
    values = frozenset(each.value for each in placed.values() if each.value)
    coded = [each.origin for each in asked.values() if isinstance(each.origin, CategoryCodes)]
    words = {word for feature in asked.values() for word in feature.chosen}
    words |= {word for origin in coded for word in known_by(origin)}
    listed = {placing.column_of(origin.column) for origin in coded}
    takes_missing = not model.unspecified_missing
    filled = {origin.column for origin in model.origins or () if origin is not None and _fills_missing(origin)}
    return ModelHints(
        level=model.level,
        classes=model.classes,
        numbers=frozenset(each.number for each in placed.values() if each.number) - values,
        values=values,
        unresolved_features=tuple(asked[name].name for name, each in placed.items() if each.is_unresolved),
        says=tuple(f"{item.severity}: {item.says}" for item in model.disclosures),
        texts=frozenset(texts),
        known=frozenset(words),
        fills_missing=frozenset(map(placing.column_of, filled if takes_missing else ())),
        people=frozenset(_people_at_roots(model) if takes_missing else ()),
        takes_missing=takes_missing,
        by_position=by_position,
        listed=frozenset(listed),
        takes_unknown=frozenset(listed - {placing.column_of(one.column) for one in coded if one.otherwise is None}),
    )


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """The column that a feature is a `number` or a `value` of, empty for neither, and whether nobody knows of which."""

    number: str = ""
    value: str = ""
    is_unresolved: bool = False


@dataclass(frozen=True)
class _Placing:
    """Finds the columns of a table that the features of a model are.

    Attributes:
        columns: their names.
        texts: those that hold no numbers.
        by_position: the columns of features that are named by their positions.
    """

    columns: Sequence[str]
    texts: Collection[str]
    by_position: Mapping[str, str]

    @cached_property
    def _by_spelling(self) -> Mapping[str, str]:
        return {spelling: column for column in reversed(self.columns) for spelling in spellings(column)}

    def column_of(self, name: str) -> str:
        """The column of this name, or the one that a library may write so; the name itself where there is none."""
        return name if name in self.columns else self._by_spelling.get(name, name)

    def of(self, feature: Feature) -> _Placed:
        """What a feature is: what its file states of it, else what its name says."""
        origin = feature.origin
        if isinstance(origin, Numeric | CategoryCodes | MissingIndicator):
            column = self.column_of(origin.column)
            if column in self.columns:
                return self._of_origin(origin, column, is_set=feature.sets)
        is_unresolved = isinstance(origin, Unresolved)
        name = self.by_position.get(feature.name, self.column_of(feature.name))
        if name in self.columns:
            without_texts = (name in self.texts or feature.sets) and not feature.texts
            kind = {"value": name} if feature.sets else {"number": name}
            return _Placed(**kind, is_unresolved=without_texts or is_unresolved)
        dummy = _dummy_of(feature.name, self.columns)
        return _Placed(is_unresolved=True) if dummy is None else _Placed(value=dummy, is_unresolved=is_unresolved)

    def _of_origin(self, origin: Origin, column: str, *, is_set: bool) -> _Placed:
        """What a feature is that its file states to be made of a column."""
        if isinstance(origin, Numeric):
            return _Placed(value=column) if column in self.texts or is_set else _Placed(number=column)
        return _Placed(value=column) if isinstance(origin, CategoryCodes) else _Placed()


def _fills_missing(origin: Origin) -> bool:
    """Does the model's file say what it makes of the column's missing cells, other than of any unknown value?"""
    match origin:
        case CategoryCodes(otherwise=otherwise, missing=missing):
            return missing is not None and not math.isnan(missing) and missing != otherwise
        case Numeric(fill=fill):
            return fill is not None
        case MissingIndicator(there=there, gone=gone):
            return there != gone
    return False


def _people_at_roots(model: ModelIR) -> Iterator[int]:
    """How many people each tree's root counts, where the file has whole numbers of them."""
    for tree in model.trees:
        size = tree.size[0] if tree.size is not None else math.nan if tree.counts is None else tree.counts[0].sum()
        if math.isfinite(size) and float(size).is_integer():
            yield int(size)


def _dummy_of(feature: str, columns: Sequence[str]) -> str | None:
    """The column a feature is a dummy of, by its name: the longest that it begins with."""
    bare = feature.partition("__")[2] or feature
    found = [
        c for c in columns for name in (feature, bare) if name.startswith(c) and name[len(c) : len(c) + 1] in BETWEEN
    ]
    return max(found, key=len) if found else None


RoleWords = Role | Sequence[Role] | Mapping[str, Any]
"""A role, several, or everything that a policy may say of a column."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TableDraft:
    """What a policy states of a table in memory and of the model that was fitted on it.

    Attributes:
        columns: the table's columns, and the class among them.
        target: the name of the class.
        others: the columns of test and control people, whose values are in the domains too.
        roles: what the caller states of columns.
        secrets: the columns that the caller calls secret; none for the class alone.
        encoding: what the caller states of features.
        model: the model in the file; None where a release is audited.
        release: the release; None where a model is audited.
        is_direct: was the model itself given the table's columns? Features of a pipeline may be made of them.
        class_order: the classes in the order in which the model numbers them, as texts; empty where nobody knows.
        aliases: other spellings of values by the names of columns, each with the value that it means.
        distinct: values that are spelled alike and are different things, by the names of columns.
        no_answer: of each column the texts that say that a value is not recorded; None for what `init` proposes.
    """

    columns: Sequence[FrameColumn]
    target: str
    others: Sequence[Sequence[FrameColumn]] = ()
    roles: Mapping[str, RoleWords]
    secrets: Sequence[str]
    encoding: Mapping[str, Mapping[str, Any]]
    model: ModelIR | None = None
    release: Release | None = None
    is_direct: bool = False
    class_order: Sequence[str] = ()
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    distinct: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    no_answer: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        spellings_given = (("aliases", list(self.aliases)), ("distinct", list(self.distinct)))
        for place, given in (("roles", list(self.roles)), ("secret", self.secrets), *spellings_given):
            for name in given:
                if name not in names:
                    remedy = nearest_name(name, names, "name a column of X, or the class")
                    raise InvalidError(f"there is no column {name!r}", place=place, remedy=remedy)
        for name in self.roles:
            self._declared(name)

    @cached_property
    def hints(self) -> ModelHints | None:
        """What the model's file states of the columns."""
        if self.model is None:
            return None
        names = [column.name for column in self.columns if column.name != self.target]
        texts = {column.name: column.occurring for column in self.columns if column.kind in {"text", "time"}}
        return model_hints(self.model, names, texts)

    @cached_property
    def specs(self) -> dict[str, dict[str, Any]]:
        """What the policy states of each column."""
        return {column.name: self._said(column) for column in self.columns}

    def _said(self, column: FrameColumn) -> dict[str, Any]:
        """What the policy states of a column, with what the caller states of its values."""
        return self._answered(column.name, self._with_spellings(column.name, self._spec(column)))

    def _with_spellings(self, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        """What the policy states of a column, with what the caller states of spellings, which are no values then."""
        given = {str(text): str(value) for text, value in self.aliases.get(name, {}).items()}
        aliases = {**spec.get("aliases", {}), **given}
        found = {**spec, "aliases": aliases} if aliases else dict(spec)
        if aliases and "values" in spec:
            found["values"] = [value for value in spec["values"] if value not in aliases]
        if name in self.distinct:
            found["distinct"] = [list(map(str, values)) for values in self.distinct[name]]
        return found

    def _answered(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """What the policy states of a column, with its `no_answer`; those that the model has as a class stay one."""
        if self.no_answer is None:
            return self._with_proposed_answers(name, spec)
        texts = self.no_answer.get(name)
        if texts is None:
            return spec
        kept = [value for value in spec.get("values", ()) if value not in texts or value in self._classes]
        return {**spec, **({"values": kept} if "values" in spec else {}), "no_answer": list(texts)}

    def _with_proposed_answers(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """What the policy states of a column, where values of a secret may mean that nothing is recorded."""
        roles = spec["role"]
        if "sensitive" not in ([roles] if isinstance(roles, str) else roles) or "no_answer" in spec:
            return spec
        classes = self._classes if name == self.target else frozenset[str]()
        proposed = proposed_answers([str(value) for value in spec.get("values", ())], classes)
        return {**spec, **proposed} if "no_answer" in proposed else spec

    @property
    def _classes(self) -> frozenset[str]:
        """The classes of the model, by all names that are known of them."""
        return frozenset(self.class_order or (() if self.hints is None else self.hints.classes))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the caller must know of columns with many rare values, a sentence each."""
        return tuple(
            note for column in self.columns for note in (self._note(column), self._answers_note(column.name)) if note
        )

    def _answers_note(self, name: str) -> str:
        """What the caller must know of values that were taken for no answer."""
        spec = self.specs[name]
        if self.no_answer is not None or "no_answer" not in spec or "no_answer" in self._declared(name):
            return ""
        values = f"{len(spec['no_answer'])} value(s) may say that nothing is recorded"
        limits = "limits judge the others, and everybody" if "missing_is_value" in spec else "these people are left out"
        return f"column {name!r}: {values}, so {limits}; no_answer=[VALUE, ...], or no_answer=[], settles it"

    def _note(self, column: FrameColumn) -> str:
        start = f"X, column {column.name!r}: {{}} many values that fewer than {MODEL_GROUP} people have each"
        if self._names_people(column):
            start = start.format("taken for an identifier and left out, for it has")
            return f"{start}; roles={{{column.name!r}: 'quasi_identifier'}} keeps it"
        if self._lists_rare_values(column):
            start = start.format("the policy that `audit.to_policy` writes lists")
            return f"{start}; give coarser values, or keep that policy to yourself"
        return ""

    @cached_property
    def asked(self) -> frozenset[str]:
        """The columns that some tree of the model tests."""
        if self.hints is None:
            return frozenset()
        said = {**self._positional(), **self.encoding}
        return self.hints.numbers | self.hints.values | {str(each.get("column", name)) for name, each in said.items()}

    def encodings(self) -> dict[str, dict[str, Any]]:
        """What the features of the model are, where the table proves it and the file does not say.

        Raises:
            InvalidError: neither states it; the text names the argument that does.
        """
        if self.model is None or self.hints is None:
            return {name: dict(value) for name, value in self.encoding.items()}
        found = {**self._positional(), **self._numbers_of_values()}
        spelled = {spelling: column for column in self.columns for spelling in spellings(column.name)}
        spelled |= {column.name: column for column in self.columns}
        asked = asked_features(self.model).values()
        unresolved = {each.name for each in asked if isinstance(each.origin, Unresolved)}
        computed = set() if self.is_direct else unresolved
        coded = {each.name for each in asked if each.sets} | unresolved  # by a library that was given the categories
        for feature in self.hints.unresolved_features:
            if feature in self.encoding or feature in found or feature in computed:
                continue
            if feature not in spelled:
                remedy = (
                    f"say what it is: encoding={{{feature!r}: {{'column': COLUMN, 'value': VALUE}}}}, or give "
                    "X as the model was given it"
                )
                raise InvalidError(f"the model asks about {feature!r}, which is no column", place="X", remedy=remedy)
            found[feature] = _numbers_of_column(feature, spelled[feature], is_coded=feature in coded)
        found |= self._class_codes(next(column for column in self.columns if column.name == self.target))
        return found | {name: dict(value) for name, value in self.encoding.items()}

    def _positional(self) -> dict[str, dict[str, Any]]:
        """The columns of features that are named by their positions, where the table has as many columns with names."""
        assert self.model is not None
        names = [column.name for column in self.columns if column.name != self.target]
        return {feature: {"column": column} for feature, column in columns_by_position(self.model, names).items()}

    def _numbers_of_values(self) -> dict[str, dict[str, Any]]:
        """Features that are the numbers of columns of values, such as a secret of 1, 2 and 3, and no codes of them."""
        assert self.model is not None
        numbers = {c.name for c in self.columns if c.kind == "number" and "values" in self.specs[c.name]}
        return {
            feature.name: {"column": feature.name}
            for feature in asked_features(self.model).values()
            if feature.name in numbers and not feature.sets and isinstance(feature.origin, Numeric | None)
        }

    def _class_codes(self, label: FrameColumn) -> dict[str, dict[str, Any]]:
        """The number that the model gives each class, where its file has numbers and the estimator knows of what."""
        assert self.model is not None
        classes = self.model.classes
        if not classes or self.target in self.encoding:
            return {}
        spec = self.specs[self.target]
        if "values" not in spec:
            raise InvalidError(f"the model predicts classes, and {self.target!r} has none", place="y")
        values = tuple(spec["values"])
        target = Column(self.target, frozenset({"class"}), values=values, aliases=spec.get("aliases", {}))
        try:
            class_values(classes, None, target, "y")
        except ReleaseError:
            if not {*classes}.isdisjoint(target.aliases):  # and nothing but the aliases can be wrong
                raise
        else:
            return {}
        order = self.class_order
        numbered = [str(number) for number in range(len(classes))]
        if len(order) == len(classes) and list(classes) == numbered and set(order) <= set(values):
            codes = {text: number for number, text in enumerate(order)}
            class_values(classes, Encoding(codes=dict(codes)), target, "y")
            return {self.target: {"codes": codes}}
        if len(label.occurring) != len(classes):
            why = f"has {len(label.occurring)} values, and the model predicts {len(classes)} classes"
            raise InvalidError(why, place="y", remedy="give what the model was fitted on")
        remedy = (
            f"say which of the model's classes each value is: encoding={{{self.target!r}: {{'codes': {{VALUE: NUMBER, "
            "...}}}, where the model has numbers; or give y as the model was given it"
        )
        raise InvalidError("has other values than the model's classes", place="y", remedy=remedy)

    def _declared(self, name: str) -> dict[str, Any]:
        """What the caller states of a column."""
        given = self.roles.get(name)
        if given is None:
            return {}
        spec = dict(given) if isinstance(given, Mapping) else {"role": given}
        roles = spec.get("role", ())
        roles = [roles] if isinstance(roles, str) else list(roles)
        for role in roles:
            if role not in get_args(Role):
                remedy = nearest_name(role, get_args(Role), f"choose among {', '.join(get_args(Role))}")
                raise InvalidError(f"there is no role {role!r}", place=f"roles[{name!r}]", remedy=remedy)
        if not isinstance(values := spec.get("values", ()), str) and any(map(_is_number, values)):
            spec["values"] = [_value_text(value) for value in values]
        return {**spec, "role": roles} if roles else spec

    def _roles_of(self, column: FrameColumn) -> list[str]:
        if self._names_people(column):
            return ["identifier"]
        declared = self._declared(column.name).get("role")
        if declared is not None:
            also = column.name in self.secrets and "sensitive" not in declared
            return [*declared, "sensitive"] if also else list(declared)
        if self.release is not None and column.name in self.release.schema:
            return sorted(self.release.schema[column.name].roles)
        secret = column.name in self.secrets
        if column.name == self.target:
            return ["class", "sensitive"] if secret or not self.secrets else ["class"]
        return ["sensitive"] if secret else ["quasi_identifier"]

    def _spec(self, column: FrameColumn) -> dict[str, Any]:
        declared, roles = self._declared(column.name), self._roles_of(column)
        spec: dict[str, Any] = {"role": roles[0] if len(roles) == 1 else roles}
        rest = {key: value for key, value in declared.items() if key != "role"}
        if EXCLUSIVE_ROLES & set(roles) or {"values", "bounds", "bins"} & set(rest):
            return spec | self._with_unknown(column.name, roles, rest)
        if self.release is not None and column.name in self.release.schema:
            return spec | _domain_of(self.release.schema[column.name], self._texts_of(column)) | rest
        texts = self._texts_of(column)
        if not texts:
            return {"role": "ignored"} if column.name != self.target else spec | rest
        if column.name == self.target:
            return spec | self._class_domain(column, texts) | rest
        as_values = self.hints is not None and column.name in self.hints.values
        if column.kind != "number" or as_values:
            return spec | self._list_domain(column, texts) | rest
        numbers = [float(text) for text in texts]
        if "sensitive" in roles:
            return spec | _secret_domain(column, texts, numbers) | rest
        domain = bounds_domain(numbers, int((column.codes >= 0).sum()))
        return spec | (self._whole_numbers(column, domain) or domain) | rest

    def _with_unknown(self, name: str, roles: Sequence[str], declared: dict[str, Any]) -> dict[str, Any]:
        """What the caller states of a column, whose `values` have those of other people that the model does not know.

        The model takes these as it takes any value that it does not know. A secret has the caller's values alone.
        """
        takes_unknown = self.hints is not None and name in self.hints.takes_unknown
        as_given = bool({"sensitive", "class"} & {*roles}) or bool(declared.get("ordered"))
        if not takes_unknown or as_given or "values" not in declared:
            return declared
        known = {*declared["values"], *declared.get("aliases", ()), *self.aliases.get(name, ())}
        more = [text for text in dict.fromkeys(self._texts_of_others(name)) if text not in known]
        return {**declared, "values": [*declared["values"], *more]}

    def _whole_numbers(self, column: FrameColumn, domain: Mapping[str, Any]) -> dict[str, Any]:
        """The whole numbers within public bounds as `values`, where the model takes one that comes to 0 for missing.

        No test of numbers sends one of them elsewhere than its neighbours.
        """
        low, high = map(int, domain["bounds"])
        as_policy = Column(column.name, frozenset(), bounds=(low, high), step=domain.get("step"))
        if self.model is None or "step" not in domain or high - low >= MAX_WHOLE_NUMBERS:
            return {}
        if not sends_zero_apart(self.model, as_policy):
            return {}
        return {"values": [str(number) for number in range(low, high + 1)]}

    def _names_people(self, column: FrameColumn) -> bool:
        """Is it a column of texts for few people each, of which neither the caller says anything nor the model asks?"""
        said = column.name in {*self.roles, *self.secrets, *self.asked, self.target}
        known = self.release is not None and column.name in self.release.schema
        return (
            not said and not known and column.kind in {"text", "time"} and is_long_list(_people_of(column), MODEL_GROUP)
        )

    def _list_domain(self, column: FrameColumn, texts: Sequence[str]) -> dict[str, Any]:
        """What the policy states of a column of values; all of them where others have more to take.

        All, too, where they would be read as numbers, and the model's file lists them, which discloses them anyway.
        """
        listed = _sorted(texts, column.kind)
        domain = list_domain(listed, _people_of(column), MODEL_GROUP)
        others_have_more = not {*self._texts_of_others(column.name)} <= {*column.occurring}
        of_model = self.hints is not None and column.name in self.hints.listed and not any(map(is_code, texts))
        return {"values": listed} if not domain and (others_have_more or of_model) else domain

    def _lists_rare_values(self, column: FrameColumn) -> bool:
        """Does the policy name the rare values of the table, which the caller did not list?"""
        if column.name == self.target or "values" in self._declared(column.name):
            return False
        listed = self.specs[column.name].get("values") == _sorted(self._texts_of(column), column.kind)
        return listed and is_long_list(_people_of(column), MODEL_GROUP)

    def _texts_of(self, column: FrameColumn) -> list[str]:
        """Every text that a column may have: its categories, what occurs, and what test and control people have."""
        own = column.texts if column.is_categorical else column.occurring
        truth = ("False", "True") if column.kind == "truth" else ()
        return list(dict.fromkeys((*own, *self._texts_of_others(column.name), *truth)))

    def _texts_of_others(self, name: str) -> list[str]:
        """What test and control people have in a column."""
        return [text for others in self.others for each in others if each.name == name for text in each.occurring]

    def _class_domain(self, column: FrameColumn, texts: Sequence[str]) -> dict[str, Any]:
        if self.model is not None and not self.model.classes:
            numbers = [float(text) for text in texts] if column.kind == "number" else []
            domain = number_domain(column_numbers(column), numbers) if len(numbers) > 1 else {}
            if not domain:
                remedy = f"give the edges of its intervals: roles={{{column.name!r}: {{'bins': [...]}}}}"
                raise InvalidError("the model predicts numbers, and y has none to divide", place="y", remedy=remedy)
            return domain
        known = dict.fromkeys(texts)
        if known.keys() <= set(self.class_order):  # classes of the model that nobody of these people has
            known |= dict.fromkeys(self.class_order)
        if len(known) > MAX_CLASSES:
            raise InvalidError(f"has more than {MAX_CLASSES} different values, which are no classes", place="y")
        return {"values": _sorted(list(known), column.kind)}


def _is_number(value: object) -> bool:
    """Is it a number or a truth value, which a policy has as a text?"""
    return isinstance(value, int | float | np.number | np.bool_)


def _value_text(value: Any) -> Any:
    """A number or truth value as the text that a policy has for it; anything else as it is."""
    return cell_text(value.item() if isinstance(value, np.generic) else value) if _is_number(value) else value


def _numbers_of_column(feature: str, column: FrameColumn, *, is_coded: bool) -> dict[str, Any]:
    """Which numbers of a column a feature is; `is_coded`: the library numbers categories itself.

    Raises:
        InvalidError: nobody knows the numbers.
    """
    if column.kind in {"number", "truth"} and not column.is_categorical:
        return {"column": column.name}
    if column.is_numbered and is_coded:
        return {"codes": {text: code for code, text in enumerate(column.texts)}}
    remedy = (
        f"say which number the model was given for each: encoding={{{feature!r}: {{'codes': {{VALUE: NUMBER, ...}}}}}};"
        " or give the pandas DataFrame with categories that the model was given"
    )
    what = f"the model asks about numbers of {feature!r}, and the column has none"
    raise InvalidError(what, place="X", remedy=remedy)


def _sorted(texts: Sequence[str], kind: str) -> list[str]:
    return sorted(texts, key=float) if kind == "number" else sorted(texts)


def _people_of(column: FrameColumn) -> list[int]:
    """How many people have each value that occurs."""
    return [int(people) for people in np.unique(column.codes[column.codes >= 0], return_counts=True)[1]]


def column_numbers(column: FrameColumn) -> NDArray[np.float64]:
    """Everybody's number in a column of numbers, without cells that are none."""
    numbers = np.array([parse_number(text) for text in column.texts])[column.codes[column.codes >= 0]]
    return np.asarray(numbers[np.isfinite(numbers)])


def _secret_domain(column: FrameColumn, texts: Sequence[str], numbers: Sequence[float]) -> dict[str, Any]:
    """The values of a secret of few whole numbers, the intervals of one of many."""
    if len(texts) <= MAX_SECRET_VALUES and all(number.is_integer() for number in numbers):
        return {"values": _sorted(texts, "number")}
    domain = number_domain(column_numbers(column), numbers)
    if not domain:
        name = column.name
        remedy = f"give their edges: roles={{{name!r}: {{'role': 'sensitive', 'bins': [...]}}}}"
        raise InvalidError(f"the numbers of the secret {name!r} have no round intervals", place="secret", remedy=remedy)
    return domain


def _domain_of(column: Column, texts: Sequence[str]) -> dict[str, Any]:
    """The domain that a release has for a column; of the table's `texts` other spellings of its numbers are aliases."""
    if column.edges is not None or column.bins is not None:
        bins = {"bins": list(column.edges or column.bins or ()), "scale": column.scale, "step": column.step}
        return {key: each for key, each in bins.items() if each is not None}
    if column.values is None:
        return {} if column.bounds is None else {"bounds": list(column.bounds)}
    domain: dict[str, Any] = {"values": list(column.values)} | ({"ordered": True} if column.ordered else {})
    numbers = {parse_number(value): value for value in column.values}
    known = {text: parse_number(text) for text in texts if text not in column.domain_set}
    aliases = {text: numbers[number] for text, number in known.items() if number in numbers}
    return domain | ({"aliases": aliases} if aliases else {})
