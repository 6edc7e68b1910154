"""Where in a policy a mistake is: pydantic's path, without the names it puts in between."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from leafgate.api.registry import Plugins, untrusted, use_of
from leafgate.errors import Problem, nearest_name, plain
from leafgate.io.json import parse_number
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.findings import DIRECTIONS
from leafgate.kernel.metrics import Metric
from leafgate.kernel.options import models_of
from leafgate.kernel.paths import DocumentPath, component_name, dict_or_empty, locate
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import EXCLUSIVE_ROLES, Column, ColumnSpec, column_of
from leafgate.policy.knowledge import fact_problems, place_of
from leafgate.policy.protection import place_of as place_of_rule
from leafgate.policy.protection import protect_problems

KINDS: dict[str, type[Component]] = {"build": TreeBuilder, "attacks": AttackModel, "metrics": Metric}
SOURCE = ("data", "source")


def resolve_error_path(loc: DocumentPath, plugins: Plugins) -> tuple[DocumentPath, type[BaseModel] | None]:
    """Return the path in the policy that pydantic's path of an error means, and the model that has its last key.

    Where a section may be one of several models, pydantic's path contains the name of the chosen one; the path in the
    policy does not.
    """
    path: list[str | int] = []
    model: type[BaseModel] | None = Policy
    options: list[type[BaseModel]] = []
    for part in loc:
        chosen = [option for option in options if len(options) > 1 and _use_of(option) == part]
        if chosen:
            model, options = chosen[0], []
            continue
        path.append(part)
        if isinstance(part, str) and model is not None and part in model.model_fields:
            kind = DataSource if tuple(path) == SOURCE else KINDS.get(str(path[0])) if len(path) == 1 else None
            options = models_of(model, part) if kind is None else list(plugins.kind(kind))
            model = options[0] if len(options) == 1 else None
    return tuple(path), model


def _use_of(model: type[BaseModel]) -> Any:
    field = model.model_fields.get("use")
    return None if field is None else field.default


Named = list[tuple[int, dict[str, Any]]]


def cross_field_errors(document: dict[str, Any], plugins: Plugins) -> Iterator[Problem]:
    """Yield every error that concerns several sections; errors within a section are tolerated here."""
    attacks, metrics = _dicts(document.get("attacks")), _dicts(document.get("metrics"))
    yield from _says_what_it_uses(document, attacks, metrics, plugins)
    yield from _unique("attack", attacks)
    yield from _unique("metric", metrics)
    names = [component_name(attack) for _, attack in attacks]
    columns = dict_or_empty(dict_or_empty(document.get("data")).get("columns"))
    secrets = [name for name, spec in columns.items() if "sensitive" in _listed(dict_or_empty(spec).get("role"))]
    protected = [rule.get("column") for _, rule in _dicts(dict_or_empty(document.get("data")).get("protect"))]
    misspelt = [str(attack.get("use")) for _, attack in attacks if plugins.component(str(attack.get("use"))) is None]
    for i, metric in metrics:
        follows = bool(get_close_matches(str(metric.get("of")), misspelt, 1))  # from an attack's misspelt name
        if metric.get("of") is not None and metric["of"] not in names and not follows:
            known = nearest_name(metric["of"], map(str, names), f"one of {', '.join(map(str, names))}")
            yield Problem(f"metrics[{i}].of", "no attack of the policy has this name", known)
        if metric.get("secret") is not None and metric["secret"] not in [*secrets, *protected]:
            problem = "is not a column with the role `sensitive`, nor one of `data.protect`"
            yield Problem(f"metrics[{i}].secret", problem, nearest_name(metric["secret"], secrets, ""))
    yield from _knowledge(document, secrets)


def _knowledge(document: dict[str, Any], secrets: list[str]) -> Iterator[Problem]:
    """Yield what is wrong with facts, protected cells, and known secrets where no column is secret."""
    data = dict_or_empty(document.get("data"))
    granting = [("knows", dict_or_empty(document.get("knows")))]
    granting += [
        (f"attacks[{i}].knows", dict_or_empty(attack.get("knows"))) for i, attack in _dicts(document.get("attacks"))
    ]
    for section, knows in granting:
        for key in ("people", "sample"):
            if knows.get(key) is not None and not secrets:
                yield Problem(f"{section}.{key}", "no column has the role `sensitive`, so there is no secret to know")
    result = dict_or_empty(data.get("columns"))
    columns = {name: _column(name, dict_or_empty(spec), data.get("on_missing")) for name, spec in result.items()}
    for section, knows in granting:
        listed = knows.get("columns")
        for i, name in enumerate(listed if isinstance(listed, list) else []):
            if name not in columns:
                known = nearest_name(str(name), columns, "")
                yield Problem(f"{section}.columns[{i}]", "is not a column of the policy", known)
        for i, fact in _dicts(knows.get("facts")):
            yield from fact_problems(fact, columns, place_of(i, section))
    for i, rule in _dicts(data.get("protect")):
        yield from protect_problems(rule, columns, place_of_rule(i))
    yield from _missing_values(data.get("missing", [""]), columns)


def _missing_values(marks: Any, columns: Mapping[str, Column | None]) -> Iterator[Problem]:
    """Yield each column that declares a value which means a missing cell as well."""
    for i, mark in enumerate(marks if isinstance(marks, list) else []):
        declaring = [name for name, column in columns.items() if column is not None and _declares(column, str(mark))]
        if declaring:
            problem = f"means a missing cell, and is a declared value of {', '.join(map(repr, declaring))}"
            yield Problem(f"data.missing[{i}]", problem, "take it out here, or out of what the column declares")


def _declares(column: Column, text: str) -> bool:
    """Is a cell with this text one of the column's declared values, or within its bounds?

    Not asked of the class and of secrets, of which no cell may be missing, nor of columns without missing cells.
    """
    if column.roles & (EXCLUSIVE_ROLES | {"class", "sensitive"}):
        return False
    if column.values is not None and column.edges is None:
        return text in column.values
    ends = column.edges or column.bounds
    return ends is not None and ends[0] <= parse_number(text) <= ends[-1]


def _column(name: str, document: dict[str, Any], on_missing: Any) -> Column | None:
    """The column a policy declares, without its hierarchy; None where that is wrong in itself."""
    try:
        spec = ColumnSpec.model_validate_json(json.dumps({**document, "hierarchy": None}))
    except ValidationError:
        return None
    return column_of(name, spec, on_missing)


def _says_what_it_uses(document: dict[str, Any], attacks: Named, metrics: Named, plugins: Plugins) -> Iterator[Problem]:
    built = [("build", document["build"])] if isinstance(document.get("build"), dict) else []
    listed = [(f"{key}[{i}]", one) for key, some in (("attacks", attacks), ("metrics", metrics)) for i, one in some]
    source = dict_or_empty(document.get("data")).get("source")
    reading = [("data.source", source)] if isinstance(source, dict) else []
    for place, component in [*reading, *built, *listed]:
        if "use" not in component:
            kind = DataSource if place == "data.source" else KINDS[place.partition("[")[0]]
            offered = ", ".join(map(use_of, plugins.kind(kind)))
            yield Problem(place, "says not what it uses", f"write `use:` and one of {offered}")


def _unique(noun: str, components: Named) -> Iterator[Problem]:
    names = [component_name(component) for _, component in components]
    for i, component in components:
        if "use" in component and names.count(component_name(component)) > 1:
            yield Problem(f"{noun}s[{i}]", f"another {noun} has this name", "give each its own `name:`")


def _listed(thing: Any) -> list[Any]:
    return thing if isinstance(thing, list) else [thing]


def _dicts(things: Any) -> Named:
    return [(i, thing) for i, thing in enumerate(things if isinstance(things, list) else []) if isinstance(thing, dict)]


REMEDIES = {
    "bool_type": "write `true` or `false`",
    "string_type": "quote it",
    "tuple_type": "write a list: [...]",
    "dict_type": "write a mapping: {...}",
    "model_type": "write a mapping: {...}",
    "model_attributes_type": "write a mapping: {...}",
}


def problems_of(error: ValidationError, document: dict[str, Any], plugins: Plugins) -> list[Problem]:
    """Return every error of the models once; `cross_field_errors` reports a section that lacks `use`."""
    wrongs = error.errors(include_url=False, include_input=False)
    turned = {w["loc"][:-1] for w in wrongs if w["loc"][-1] in DIRECTIONS and w["type"] == "extra_forbidden"}
    forms = _forms(wrongs, document)
    deeper = {key for key in forms for w in wrongs if len(w["loc"]) > len(key) + 1 and w["loc"][: len(key)] == key}
    problems = [
        Problem.at(key, "has none of its forms", ", or ".join(remedies))
        for key, remedies in forms.items()
        if key not in deeper  # what is wrong inside of the right form is said there
    ]
    return problems + [
        _problem(wrong, document, plugins)
        for wrong in wrongs
        if not (wrong["type"] in REMEDIES and wrong["loc"][:-1] in forms)
        and not (wrong["type"] == "union_tag_not_found" and _is_section(wrong["loc"]))
        and not (wrong["type"] == "missing" and wrong["loc"][-1] in DIRECTIONS and wrong["loc"][:-1] in turned)
    ]


def _forms(wrongs: Sequence[Any], document: dict[str, Any]) -> dict[DocumentPath, list[str]]:
    """What may be written at each key that may have several forms, as far as its value is none of them."""
    found: dict[DocumentPath, list[str]] = {}
    for wrong in wrongs:
        *key, form = wrong["loc"]
        written = locate(document, tuple(key))
        is_form = isinstance(form, str) and written is not None and not (isinstance(written, dict) and form in written)
        if wrong["type"] in REMEDIES and is_form:
            found.setdefault(tuple(key), []).append(REMEDIES[wrong["type"]])
    return {key: remedies for key, remedies in found.items() if len(remedies) > 1}


def _is_section(loc: DocumentPath) -> bool:
    """Is it a builder, an attack or a metric itself, not something inside of one?"""
    return len(loc) == (1 if loc[0] == "build" else 2)


def _problem(wrong: Any, document: dict[str, Any], plugins: Plugins) -> Problem:
    loc, used = resolve_error_path(wrong["loc"], plugins)
    kind, message = wrong["type"], plain(wrong["msg"])
    if _is_section(loc) and kind == "union_tag_invalid":
        return _not_offered(wrong["ctx"]["tag"], loc, plugins)
    if kind == "literal_error" and loc[-1] == "use":
        return _not_offered(_written(document, loc), loc, plugins)
    if kind == "union_tag_invalid":
        tag, expected = wrong["ctx"]["tag"], wrong["ctx"]["expected_tags"]
        nearest = nearest_name(tag, re.findall("'([^']*)'", expected), f"one of {expected}")
        return Problem.at(loc, f"there is no {tag!r}", nearest)
    if kind == "union_tag_not_found":
        return Problem.at(loc, "says not what it uses", "write `use:`")
    if kind == "extra_forbidden":
        return Problem.at(loc, *_unknown_key(loc, used))
    if kind == "missing":
        return Problem.at(loc, "is missing")
    if kind == "literal_error" and "ctx" in wrong:
        choices = re.findall("'([^']*)'", wrong["ctx"]["expected"])
        return Problem.at(loc, message, nearest_name(_written(document, loc), choices, ""))
    return Problem.at(loc, message, REMEDIES.get(kind, ""))


def _written(document: Any, loc: DocumentPath) -> Any:
    """Return what is written at a path of the model; a text is the short form of all that lies within it."""
    for step in loc:
        document = document if isinstance(document, str) else document[step]
    return document


def _not_offered(use: object, loc: DocumentPath, plugins: Plugins) -> Problem:
    """A name that no installed plugin offers, with the nearest name, else with all names."""
    kind = DataSource if loc[:2] == SOURCE else KINDS[str(loc[0])]
    offered = [use_of(component) for component in plugins.kind(kind)]
    hint = nearest_name(use, offered, f"installed: {', '.join(offered)}")
    if others := untrusted(plugins):
        hint = f"{hint}; not listed under `plugins:` are {', '.join(others)}"
    return Problem.at(loc, f"nobody offers {use!r}", hint)


def _unknown_key(loc: DocumentPath, used: type[BaseModel] | None) -> tuple[str, str]:
    key = str(loc[-1])
    known = [] if used is None else [field.alias or name for name, field in used.model_fields.items()]
    turned = (set(DIRECTIONS) - {key}) & set(known) if key in DIRECTIONS else set()
    if used is not None and turned and "use" in used.model_fields:
        direction = turned.pop()
        return f"{used.model_fields['use'].default} is limited by `{direction}`", f"write {direction} instead of {key}"
    if len(loc) > 1 and key in Policy.model_fields:
        return "unknown key", f"write `{key}` at the top level of the policy"
    return "unknown key", nearest_name(key.casefold(), known, f"known: {', '.join(known) or 'none'}")
