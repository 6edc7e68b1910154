"""Builders, attacks and metrics of installed plugins, by the names that policies pick them by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leafgate.api import AdversaryKnowledge, AttackModel, BuildResult, Component, Metric, Release, Table, TreeBuilder
from leafgate.app import load_plugins
from leafgate.engine.attack import call_infer

PLUGINS = load_plugins()
Kind = TypeVar("Kind", bound=Component)


def use_of(kind: type[Component]) -> str:
    """The name that policies pick a class by."""
    return str(kind.model_fields["use"].default)


def new_builder(use: str, **options: Any) -> TreeBuilder:
    """The tree builder of this name with these options."""
    return _new(TreeBuilder, use, options)


def built_by(use: str, table: Table, seed: int = 0, **options: Any) -> Release:
    """The release that the builder of this name makes of the table."""
    return BuildResult.of(new_builder(use, **options).build(table, np.random.default_rng(seed))).release


def published_file(path: Path) -> TreeBuilder:
    """The builder that audits a file."""
    kind: Any = PLUGINS.component("published")
    made: TreeBuilder = kind.model_validate({"path": path.name}, context={"beside": path.parent, "root": path.parent})
    return made


def new_attack(use: str, **options: Any) -> AttackModel:
    """The attack of this name with these options."""
    return _new(AttackModel, use, options)


def inferred(use: str, release: Release, known: AdversaryKnowledge, **options: Any) -> list[Any]:
    """The beliefs that the attack of this name derives from a release."""
    return list(new_attack(use, **options).infer(release, known))


def answered(attack: AttackModel, release: Release, known: AdversaryKnowledge) -> list[Any]:
    """The beliefs of an attack that is handed what it chooses of the model: its file, or its answers."""
    return list(call_infer(attack, release, known))


def linked(release: Release, known: AdversaryKnowledge) -> list[int]:
    """The equivalence class of each public record, as the linking attack has it."""
    classes: list[int] = inferred("linking", release, known)[0].equivalence_class.tolist()
    return classes


def new_metric(use: str, **options: Any) -> Metric:
    """The metric of this name with these options."""
    return _new(Metric, use, options)


def new_source(use: str, **options: Any) -> Any:
    """The data source, or the engine, of this name with these options."""
    kind = PLUGINS.component(use)
    assert kind is not None, use
    return kind(**options)


def _new(kind: type[Kind], use: str, options: dict[str, Any]) -> Kind:
    component = PLUGINS.component(use)
    assert component is not None, use
    made = component(**options)
    assert isinstance(made, kind)
    return made
