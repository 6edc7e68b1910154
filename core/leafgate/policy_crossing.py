"""Mistakes in a policy that no section can see alone: names that clash, or that nothing has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from leafgate.errors import Problem
from leafgate.plugins import Plugins, use_of
from leafgate.policy_column import ColumnSpec, column_of
from leafgate.policy_facts import fact_problems, place_of
from leafgate.policy_places import KINDS
from leafgate.policy_protect import place_of as place_of_rule
from leafgate.policy_protect import protect_problems
from leafgate.schema import Column

Named = list[tuple[int, dict[str, Any]]]


def crossed(document: dict[str, Any], plugins: Plugins) -> Iterator[Problem]:
    """Every such mistake; tolerant of whatever the sections themselves got wrong."""
    attacks, metrics = _dicts(document.get("attacks")), _dicts(document.get("metrics"))
    yield from _says_what_it_uses(document, attacks, metrics, plugins)
    yield from _unique("attack", attacks)
    yield from _unique("metric", metrics)
    names = [_name(attack) for _, attack in attacks]
    columns = _dict(_dict(document.get("data")).get("columns"))
    secrets = [name for name, spec in columns.items() if "sensitive" in _listed(_dict(spec).get("role"))]
    protected = [rule.get("column") for _, rule in _dicts(_dict(document.get("data")).get("protect"))]
    for i, metric in metrics:
        if metric.get("of") is not None and metric["of"] not in names:
            known = f"one of {', '.join(map(str, names))}"
            yield Problem(f"metrics[{i}].of", "no attack of the policy has this name", known)
        if metric.get("secret") is not None and metric["secret"] not in [*secrets, *protected]:
            yield Problem(
                f"metrics[{i}].secret", "is not a column with the role `sensitive`, nor one of `data.protect`"
            )
    yield from _knowledge(document, secrets)


def _knowledge(document: dict[str, Any], secrets: list[str]) -> Iterator[Problem]:
    """What is wrong with facts and with single cells that are secret, and secrets known where there are none."""
    knows, data = _dict(document.get("knows")), _dict(document.get("data"))
    for key in ("people", "sample"):
        if knows.get(key) is not None and not secrets:
            yield Problem(f"knows.{key}", "no column has the role `sensitive`, so there is no secret to know")
    told = _dict(data.get("columns"))
    columns = {name: _column(name, _dict(spec), data.get("on_missing")) for name, spec in told.items()}
    for i, fact in _dicts(knows.get("facts")):
        yield from fact_problems(fact, columns, place_of(i))
    for i, rule in _dicts(data.get("protect")):
        yield from protect_problems(rule, columns, place_of_rule(i))


def _column(name: str, told: dict[str, Any], on_missing: Any) -> Column | None:
    """The column a policy declares, without its hierarchy; None where that is wrong in itself."""
    try:
        spec = ColumnSpec.model_validate_json(json.dumps({**told, "hierarchy": None}))
    except ValidationError:
        return None
    return column_of(name, spec, on_missing)


def _says_what_it_uses(document: dict[str, Any], attacks: Named, metrics: Named, plugins: Plugins) -> Iterator[Problem]:
    built = [("build", document["build"])] if isinstance(document.get("build"), dict) else []
    listed = [(f"{key}[{i}]", one) for key, some in (("attacks", attacks), ("metrics", metrics)) for i, one in some]
    for place, component in [*built, *listed]:
        if "use" not in component:
            offered = ", ".join(map(use_of, plugins.kind(KINDS[place.partition("[")[0]])))
            yield Problem(place, "says not what it uses", f"write `use:` and one of {offered}")


def _unique(noun: str, components: Named) -> Iterator[Problem]:
    names = [_name(component) for _, component in components]
    for i, component in components:
        if "use" in component and names.count(_name(component)) > 1:
            yield Problem(f"{noun}s[{i}]", f"another {noun} has this name", "give each its own `name:`")


def _name(component: dict[str, Any]) -> Any:
    return component.get("name") or component.get("use")


def _dict(thing: Any) -> dict[str, Any]:
    return thing if isinstance(thing, dict) else {}


def _listed(thing: Any) -> list[Any]:
    return thing if isinstance(thing, list) else [thing]


def _dicts(things: Any) -> Named:
    return [(i, thing) for i, thing in enumerate(things if isinstance(things, list) else []) if isinstance(thing, dict)]
