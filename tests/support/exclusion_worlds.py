"""Models trained on half of some people, read from skops files, and the candidates whom exclusion is asked about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from installed_readers import lower_model, read_foreign
from leafgate import Release, Table
from leafgate.algorithms.node_counts import FileNumbers
from leafgate.api import AdversaryKnowledge, Candidates, MembershipBelief, Schema, make_table
from leafgate.engine.knowledge import draw_candidates
from leafgate.kernel.knowledge import Membership
from leafgate_plugins.inference.membership.exclusion import LeafExclusion
from random_tables import categorical, numeric
from sklearn_zoo import skops_bytes

CLASSES = ("low", "middle", "high")


@dataclass(frozen=True)
class World:
    """A release, its candidates, who of them is in the table, and what its file counts."""

    release: Release
    candidates: Candidates
    membership: Membership
    table: Table
    numbers: FileNumbers

    @property
    def known(self) -> AdversaryKnowledge:
        return AdversaryKnowledge(self.table.schema, self.table.without_rows, candidates=self.candidates)

    def belief(self, **options: Any) -> MembershipBelief:
        """What exclusion believes."""
        (belief,) = LeafExclusion(**options).infer(self.release, self.known)
        assert isinstance(belief, MembershipBelief)
        return belief

    @property
    def excluded(self) -> NDArray[np.bool_]:
        """Whom it excludes for certain."""
        excluded = self.belief().excluded
        assert excluded is not None
        return excluded

    @property
    def p_values(self) -> NDArray[np.float64]:
        """Its p-values of being in the table."""
        p_values = self.belief().exclusion_p_values
        assert p_values is not None
        return p_values


def schema_of(x: NDArray[np.float64], classes: int) -> Schema:
    """Columns x0, x1, ... of numbers, missing where some are, and a class."""
    labels = CLASSES[:classes] if classes <= len(CLASSES) else tuple(f"c{i:03}" for i in range(classes))
    columns = [
        numeric(f"x{i}", "quasi_identifier", bounds=(-1e9, 1e9), missing=bool(np.isnan(x[:, i]).any()))
        for i in range(x.shape[1])
    ]
    return Schema((*columns, categorical("y", "class", values=labels)))


def table_of(schema: Schema, x: NDArray[np.float64], y: NDArray[np.int64]) -> Table:
    """The people with these numbers and classes; a table sorts them."""
    frame = pd.DataFrame({f"x{i}": x[:, i] for i in range(x.shape[1])})
    frame["y"] = pd.Categorical.from_codes(y, categories=pd.Index(schema.classes))
    return make_table(schema, frame)


def world_of(model: Any, x: Any, y: Any, classes: int, most: int = 10**6, seed: int = 0, **fit: Any) -> World:
    """The model fitted on the first half of the people; all are candidates, or `most` of each half."""
    schema, n = schema_of(x, classes), len(y) // 2
    inside, outside = table_of(schema, x[:n], y[:n]), table_of(schema, x[n:], y[n:])
    model.fit(x[:n], np.array(schema.classes)[y[:n]], **fit)
    loaded = lower_model(read_foreign(skops_bytes(model), "m"), schema, {}, "m")
    candidates, membership = draw_candidates(inside, outside, most, seed)
    assert loaded.provenance.node_numbers is not None
    return World(loaded.release, candidates, membership, inside, loaded.provenance.node_numbers)


def with_settings(world: World, **settings: Any) -> World:
    """The same, the release stating other settings of its learner; None for a name takes it out."""
    stated = {**world.release.builder["settings"], **settings}
    builder = {**world.release.builder, "settings": {name: value for name, value in stated.items() if value != "gone"}}
    return replace(world, release=replace(world.release, builder=builder))
