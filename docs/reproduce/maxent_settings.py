"""The setting of the MaxEnt paper's experiment: its people, the trees that are published, what an attack believes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kadet_runs import POLICIES
from leafgate.api import AdversaryKnowledge, Release
from leafgate.kernel.release import Level
from leafgate.kernel.table import Table
from leafgate.session.run import Session, build_release, granted_knowledge, open_session
from leafgate_plugins.maxent.attack import posterior_of
from leafgate_plugins.maxent.components import MaxEnt
from leafgate_plugins.maxent.problem.build import Model

Floats = NDArray[np.float64]
Measure = Literal["gini", "gain"]
POLICY, SECRET = POLICIES / "adult-education.yaml", "education"
MIN_SPLIT, LARGE = 6, 740
"""Nodes of fewer people are not split: as in the policy, and where a tree by gini is about as small as the paper's."""
FLOOR, STARTS, TIME_LIMIT = 1e-9, 4, 3600.0


@dataclass(frozen=True)
class Wanted:
    """Which tree is published, how much of it, and whether the choices of its tests are used.

    The paper's adversary has no test data; with `label_accuracies` she has, and knows how often each label is right.
    """

    measure: Measure
    level: Level
    internal: bool
    min_split: int = MIN_SPLIT
    label_accuracies: bool = False

    @property
    def builder(self) -> dict[str, Any]:
        return {"use": "id3", "measure": self.measure, "min_split": self.min_split}


def open_run(root: Path) -> Session:
    """The policy of the paper's experiment with its table; `root` holds the folder `adult`."""
    return open_session(POLICY, root=root)


def publishing(run: Session, builder: Mapping[str, Any], level: Level = "counts") -> Session:
    """The same people and another tree."""
    chosen = run.plugins.by_name[str(builder["use"])].model_validate(builder)
    assert run.policy.publish is not None
    publish = run.policy.publish.model_copy(update={"leaves": level})
    return replace(run, policy=run.policy.model_copy(update={"build": chosen, "publish": publish}))


def released(run: Session, wanted: Wanted) -> tuple[Release, AdversaryKnowledge]:
    """The tree as it is published, and what the adversary knows."""
    run = publishing(run, wanted.builder, wanted.level)
    knows = run.policy.knows.model_copy(update={"label_accuracies": wanted.label_accuracies})
    run = replace(run, policy=run.policy.model_copy(update={"knows": knows}))
    sealed = build_release(run.policy, run.plugins, run.table)
    return sealed.release, granted_knowledge(run.policy, MaxEnt(), run.tables, sealed)


def true_shares(table: Table) -> Floats:
    """P(x|q): the secret's shares among the people of each public record."""
    public, number = table.public
    size = len(table.schema[SECRET].domain)
    cells = number * size + table.codes(SECRET)
    people = np.bincount(cells, weights=table.weight, minlength=len(public) * size).reshape(-1, size)
    return np.asarray(people / people.sum(axis=1, keepdims=True))


def believed(model: Model, people: Floats, known: AdversaryKnowledge) -> Floats:
    """P*(x|q)."""
    return posterior_of(model, people, known.schema[SECRET], known).to_numpy(dtype=float)
