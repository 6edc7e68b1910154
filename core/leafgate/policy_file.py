"""From a policy file to a Policy: every mistake at once, each with its place and the remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import BaseModel, Field, ValidationError, create_model

from leafgate.errors import InconclusiveError, PolicyError, Problem
from leafgate.interfaces import AttackModel, Component, Metric, TreeBuilder
from leafgate.plugins import Plugins, load_plugins, use_of
from leafgate.policy import Policy
from leafgate.strict_yaml import MAX_BYTES, parse_yaml

KINDS: dict[str, type[Component]] = {"build": TreeBuilder, "attacks": AttackModel, "metrics": Metric}


@dataclass(frozen=True)
class Loaded:
    """A policy and the plugins it was read with."""

    policy: Policy
    plugins: Plugins


def load_policy(path: Path, root: Path | None = None) -> Loaded:
    """Read, check and resolve a policy file.

    Raises PolicyError listing everything that is wrong; InconclusiveError when all that is wrong
    is a name nobody offers while a plugin is broken.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", place=str(path)) from None
    return policy_of(parse_yaml(content, path.name), path.parent, root)


def policy_of(document: dict[str, Any], beside: Path, root: Path | None = None) -> Loaded:
    """The policy a parsed document describes; relative files are below `beside`, data below `root`."""
    pins = document.get("plugins")
    pinned = isinstance(pins, list) and all(isinstance(pin, str) for pin in pins)
    plugins = load_plugins(pins if pinned else None)
    model = policy_model(plugins)
    context = {"beside": beside, "root": root or beside}
    problems: list[Problem] = []
    try:
        policy = model.model_validate_json(_json(document), context=context)
    except ValidationError as error:
        problems = [_problem(wrong, plugins) for wrong in error.errors(include_url=False, include_input=False)]
    problems += _crossed(document)
    if problems:
        _refuse(problems, plugins)
    policy.data.meaning()
    if policy.knows.distribution and not any("distribution" in attack.uses for attack in policy.attacks):
        raise PolicyError("no attack of the policy uses it", place="knows.distribution", remedy="leave it out")
    return Loaded(policy, plugins)


def _json(document: dict[str, Any]) -> bytes:
    """The document as JSON; what JSON cannot say becomes a text, which no number or list accepts."""
    return json.dumps(_sayable(document), default=lambda thing: f"a YAML {type(thing).__name__}").encode()


def _sayable(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {key: _sayable(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_sayable(value) for value in thing]
    return str(thing) if isinstance(thing, float) and not math.isfinite(thing) else thing


def policy_model(plugins: Plugins) -> type[Policy]:
    """The policy model with every installed component in its place; its JSON Schema too."""
    build, attack, metric = (_one_of(plugins.kind(base)) for base in KINDS.values())
    chosen: dict[str, Any] = {"build": build, "attacks": tuple[attack, ...], "metrics": tuple[metric, ...]}  # type: ignore[valid-type]
    fields: dict[str, Any] = {name: (kind, Policy.model_fields[name]) for name, kind in chosen.items()}
    return create_model("Policy", __base__=Policy, **fields)


def _one_of(classes: list[type[Component]]) -> Any:
    if len(classes) < 2:
        return classes[0] if classes else Component
    return Annotated[Union[tuple(classes)], Field(discriminator="use")]  # noqa: UP007


def _refuse(problems: list[Problem], plugins: Plugins) -> None:
    unknown = [problem for problem in problems if problem.message.startswith("nobody offers")]
    if plugins.broken and len(unknown) == len(problems):
        why = [Problem(p.origin, f"the plugin {p.name!r} is broken: {p.problem}") for p in plugins.broken]
        raise InconclusiveError.listing([*unknown, *why])
    raise PolicyError.listing(problems)


def _problem(wrong: Any, plugins: Plugins) -> Problem:
    loc = [part for part in wrong["loc"] if part not in plugins.by_name]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
    kind, message = wrong["type"], wrong["msg"].removeprefix("Value error, ")
    if kind == "union_tag_not_found":
        return Problem(place, "says not what it uses", f"write `use:` and one of {_offered(loc, plugins)}")
    if kind == "union_tag_invalid" or (kind == "literal_error" and loc[-1] == "use"):
        used = wrong.get("ctx", {}).get("tag", "that")
        return Problem(place, f"nobody offers {used!r}", f"installed: {_offered(loc, plugins)}")
    if kind == "extra_forbidden":
        return Problem(place, *_unknown_key(wrong["loc"], plugins))
    if kind == "missing":
        return Problem(place, "is missing")
    return Problem(place, message[:1].lower() + message[1:])


def _offered(loc: list[Any], plugins: Plugins) -> str:
    return ", ".join(use_of(component) for component in plugins.kind(KINDS[loc[0]]))


def _unknown_key(loc: tuple[Any, ...], plugins: Plugins) -> tuple[str, str]:
    key, used = str(loc[-1]), next((plugins.by_name[part] for part in loc if part in plugins.by_name), None)
    if used is not None and issubclass(used, Metric) and key in {"at_least", "at_most"}:
        return f"{use_of(used)} is limited by `{used.direction}`", f"write {used.direction} instead of {key}"
    known = used.model_fields if used is not None else _fields_at(loc[:-1])
    close = get_close_matches(key, known, 1)
    return "unknown key", f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"


def _fields_at(loc: tuple[Any, ...]) -> list[str]:
    """The keys of the model a place leads to, followed through dicts and lists."""
    model: Any = Policy
    for part in loc:
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _model_in(annotation: Any) -> Any:
    inner = [annotation, *getattr(annotation, "__args__", ())]
    return next((a for a in inner if isinstance(a, type) and issubclass(a, BaseModel)), annotation)


def _crossed(document: dict[str, Any]) -> Iterator[Problem]:
    """Mistakes that no section can see alone; tolerant of whatever the sections got wrong."""
    attacks, metrics = _dicts(document.get("attacks")), _dicts(document.get("metrics"))
    names = [attack.get("name") or attack.get("use") for _, attack in attacks]
    for i, attack in attacks:
        if names.count(attack.get("name") or attack.get("use")) > 1:
            yield Problem(f"attacks[{i}]", "another attack has this name", "give each its own `name:`")
    called = [metric.get("name") or metric.get("use") for _, metric in metrics]
    columns = _dict(_dict(document.get("data")).get("columns"))
    secrets = [name for name, spec in columns.items() if "sensitive" in _listed(_dict(spec).get("role"))]
    for i, metric in metrics:
        if called.count(metric.get("name") or metric.get("use")) > 1:
            yield Problem(f"metrics[{i}]", "another metric has this name", "give each its own `name:`")
        if "of" in metric and metric["of"] not in names:
            yield Problem(
                f"metrics[{i}].of", "no attack of the policy has this name", f"one of {', '.join(map(str, names))}"
            )
        if "secret" in metric and metric["secret"] not in secrets:
            yield Problem(f"metrics[{i}].secret", "is not a column with the role `sensitive`")


def _dict(thing: Any) -> dict[str, Any]:
    return thing if isinstance(thing, dict) else {}


def _listed(thing: Any) -> list[Any]:
    return thing if isinstance(thing, list) else [thing]


def _dicts(things: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(i, thing) for i, thing in enumerate(things if isinstance(things, list) else []) if isinstance(thing, dict)]
