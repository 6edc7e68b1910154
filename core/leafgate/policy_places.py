"""Where in a policy a mistake is: pydantic's path, without the names it puts in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from leafgate.interfaces import AttackModel, Component, Metric, TreeBuilder
from leafgate.plugins import Plugins
from leafgate.policy import Policy

KINDS: dict[str, type[Component]] = {"build": TreeBuilder, "attacks": AttackModel, "metrics": Metric}


def followed(loc: tuple[Any, ...], plugins: Plugins) -> tuple[list[Any], type[BaseModel] | None]:
    """The place as the policy has it, and the model that holds the last key of it.

    Where a section may be one of several models, pydantic's path has the chosen one's name in it; the
    policy has not.
    """
    place: list[Any] = []
    model: type[BaseModel] | None = Policy
    options: list[type[BaseModel]] = []
    for part in loc:
        chosen = [option for option in options if len(options) > 1 and _use_of(option) == part]
        if chosen:
            model, options = chosen[0], []
            continue
        place.append(part)
        if model is not None and part in model.model_fields:
            options = list(plugins.kind(KINDS[part])) if len(place) == 1 and part in KINDS else models_of(model, part)
            model = options[0] if len(options) == 1 else None
    return place, model


def _use_of(model: type[BaseModel]) -> Any:
    field = model.model_fields.get("use")
    return None if field is None else field.default


def models_of(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    """The models a field may hold, alone, in a list or in a mapping."""
    return list(_models_in(model.model_fields[field].annotation))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)
