"""Write docs/reference/policy.md and policy.schema.json: the models of policies, the bundled plugins' options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel

from leafgate.api.components import AttackModel, Component, TreeBuilder
from leafgate.api.metrics import Metric
from leafgate.api.options import options, parts
from leafgate.api.registry import load_plugins, use_of
from leafgate.io.json import readable
from leafgate.policy.models import Policy
from leafgate.types.schema import Role
from leafgate_scaffold.json_schema import policy_schema

PAGE = Path(__file__).with_name("policy.md")
SCHEMA = Path(__file__).with_name("policy.schema.json")

INTRO = """# Policy reference

This page is made from the code by `python docs/reference/make_policy_reference.py`; a test keeps it so. The same as
JSON Schema is in [policy.schema.json](policy.schema.json); `leafgate schema` prints it with every plugin you have
installed, and `leafgate explain NAME` prints one plugin with its threat model, formula and source.

Editors that know the YAML language server complete keys and mark mistakes while you type: let the policy begin with
`# yaml-language-server: $schema=policy.schema.json`, and put the schema beside it, `leafgate schema >
policy.schema.json`. It is draft-07, which is what these editors read. It says less than the reader: `leafgate validate`
has the last word. A policy that others extend may leave out what the schema wants; one that `extends` may do so at its
top level.

A policy is one YAML file. It is read strictly: unknown keys, keys that stand twice, anchors and aliases, numbers that
are not finite and paths that leave the folder are refused, each with its place. All texts are YAML 1.2: `yes` and `no`
are texts, `true` and `false` are not. Paths are relative to the policy, data files to `--root` where it is given.
"""

ROLES = {
    "quasi_identifier": "The adversary knows it of everyone in the table. Everything else is unknown to them.",
    "sensitive": "A secret. Attacks try to infer it. Several columns may be secrets.",
    "private": "Unknown to the adversary, but not a secret to be judged. Trees may ask about it.",
    "class": "What the tree predicts; one column at most. Usually `[class, sensitive]` or `[class, quasi_identifier]`.",
    "key": "Addresses a record, and keeps every row apart. No builder, attack or release sees it. Stands alone.",
    "weight": "How many people the row stands for, a whole number. Limits count each row as one person, unless the "
    "column says `counts: people` and the `reason`. Stands alone.",
    "identifier": "A name or a number of a person. Dropped when the file is read. Stands alone.",
    "ignored": "Dropped when the file is read. Stands alone.",
}

KINDS: dict[str, tuple[type[Component], str]] = {
    "Builders": (TreeBuilder, "One of these stands under `build`."),
    "Attacks": (
        AttackModel,
        "One or more of these stand under `attacks`. Under `knows` each may have the keys of the section "
        "[knows](#knows); they are then granted to this attack in place of the policy's.",
    ),
    "Metrics": (Metric, "One or more of these stand under `metrics`."),
}


def page() -> str:
    """The whole page, for the plugins of the leafgate distribution alone."""
    return "\n".join(_lines()) + "\n"


def schema() -> bytes:
    """The JSON Schema of policies, for the plugins of the leafgate distribution alone."""
    return readable(policy_schema(load_plugins(["leafgate"])))


def _lines() -> Iterator[str]:
    yield INTRO
    for place, model in _sections("", Policy):
        yield f"## {place or 'Top level'}\n"
        yield f"{_first_line(model)}\n"
        yield from _table(model)
        if place.startswith("data.columns"):
            yield from _roles()
    plugins = load_plugins(["leafgate"])
    for title, (base, where) in KINDS.items():
        yield f"## {title}\n\n{where} `use` picks which; the other keys are its options.\n"
        for component in plugins.kind(base):
            yield f"### {use_of(component)}\n\n{_first_line(component)}\n"
            if issubclass(component, Metric) and component.scale:
                yield f"Score: {component.formula}. Scale: {component.scale}. Safe: {component.interpretation}.\n"
            yield from _table(component)
            for option, model in parts(component):
                use = model.model_fields.get("use")
                picked = f", `use: {use.default}`" if use else ""
                yield f"Under `{option}`{picked}: {_first_line(model)}\n"
                yield from _table(model)


def _sections(place: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The model and every section below it, each with the place a policy writes it at."""
    yield place, model
    for name, field in model.model_fields.items():
        section = _section_in(field.annotation)
        if section is not None:
            several = ".NAME" if "dict" in str(field.annotation) else "[]" if "tuple" in str(field.annotation) else ""
            yield from _sections(f"{place}.{field.alias or name}{several}".lstrip("."), section)


def _section_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None if issubclass(annotation, Component) else annotation
    return next(filter(None, map(_section_in, get_args(annotation))), None)


def _table(model: type[BaseModel]) -> Iterator[str]:
    rows = list(options(cast("type[Component]", model)))
    if not rows:
        yield "No options.\n"
        return
    yield "| key | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for name, kind, default, meaning in rows:
        shown = f"`{default}`" if default else "**required**"
        if default and _section_in(fields[name].annotation) is not None and default[0] == "{":
            shown = "see below"
        yield f"| `{name}` | {_cell(kind)} | {_cell(shown)} | {_cell(meaning)} |"
    yield ""


def _roles() -> Iterator[str]:
    if set(ROLES) != set(get_args(Role)):
        raise ValueError("ROLES does not list the roles of leafgate.types.schema.Role")
    yield "| role | meaning |"
    yield "| --- | --- |"
    yield from (f"| `{role}` | {_cell(meaning)} |" for role, meaning in ROLES.items())
    yield ""


def _first_line(model: type[BaseModel]) -> str:
    return (inspect.getdoc(model) or "").partition("\n")[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_bytes(schema())
