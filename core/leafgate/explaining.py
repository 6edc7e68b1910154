"""What plugins say of themselves, taken from their classes and nowhere else."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

from leafgate.interfaces import AttackModel, Component, Metric, RecordMetric, TreeBuilder
from leafgate.plugins import Plugins, use_of

KINDS: dict[type[Component], str] = {TreeBuilder: "builder", AttackModel: "attack", Metric: "metric"}


def kind_of(component: type[Component]) -> str:
    """builder, attack or metric."""
    return next(word for base, word in KINDS.items() if issubclass(component, base))


def options(component: type[Component]) -> Iterator[tuple[str, str, str, str]]:
    """Each option: its name, type, default (empty: required) and description."""
    schema = component.model_json_schema()
    for name, field in component.model_fields.items():
        if name == "use":
            continue
        told = schema["properties"][name]
        default = "" if field.is_required() else json.dumps(told.get("default"))
        yield name, _type(told), default, field.description or ""


def _type(told: dict[str, Any]) -> str:
    if "enum" in told:
        return " | ".join(map(str, told["enum"]))
    if "anyOf" in told:
        return " | ".join(_type(option) for option in told["anyOf"])
    word = {"null": "null", "array": "list"}.get(told.get("type", ""), told.get("type", "mapping"))
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    return " ".join([word, *(f"{sign} {told[key]}" for key, sign in signs.items() if key in told)])


def explanation(component: type[Component], origin: str) -> str:
    """The page `leafgate explain` prints."""
    lines = [f"{use_of(component)}: {kind_of(component)} of {origin}", "", inspect.getdoc(component) or "", ""]
    if issubclass(component, Metric):
        scored = "each person" if issubclass(component, RecordMetric) else "the release"
        lines.append(f"Scores {scored}; a policy limits it with `{component.direction}`.")
        if component.checks:
            lines.append(f"Checks the guarantee {component.checks!r} that a release claims.")
    if issubclass(component, AttackModel):
        lines.append(f"Reads numbers that are: {', '.join(sorted(component.reads))}.")
    if issubclass(component, TreeBuilder):
        lines.append(f"Randomness: {component.randomness}.")
    for title, text in (
        ("Threat model", component.threat_model),
        ("Formula", component.formula),
        ("Source", component.source),
    ):
        if text:
            lines.append(f"{title}: {text}")
    lines += ["", "Options:"]
    for name, kind, default, description in options(component):
        shown = "required" if default == "" else f"default {default}"
        lines.append(f"  {name}: {kind} ({shown}){'. ' + description if description else ''}")
    return "\n".join(lines) + "\n"


def plugins_document(plugins: Plugins) -> dict[str, Any]:
    """Every plugin found, as JSON."""
    return {
        "format": "leafgate/plugins/1",
        "plugins": [
            {
                "name": plugin.name,
                "distribution": plugin.distribution,
                "version": plugin.version,
                "offers": [{"kind": kind_of(c), "use": use_of(c)} for c in plugin.offers],
                "problem": plugin.problem or None,
            }
            for plugin in plugins.found
        ],
    }


def plugin_lines(plugins: Plugins) -> Iterator[str]:
    """Every plugin found, a line each for people."""
    for plugin in plugins.found:
        offers = ", ".join(f"{kind_of(c)} {use_of(c)}" for c in plugin.offers) or "commands only"
        state = f"BROKEN: {plugin.problem}" if plugin.problem else offers
        yield f"{plugin.name} ({plugin.origin}): {state}\n"
