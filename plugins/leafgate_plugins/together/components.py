"""The attack `joint`: what a release and the other releases of these people prove together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from leafgate.api import MORE, AdversaryKnowledge, AttackModel, PositiveFloat, Release, SecretBelief, lazy

if TYPE_CHECKING:
    from leafgate_plugins.together import attack
else:
    attack = lazy("leafgate_plugins.together.attack")


class Joint(AttackModel):
    """Prove from all trees of all releases together which secrets people certainly have.

    Limits on it judge only what is derived: nearly everybody is alone in some combination of leaves, which discloses
    nothing by itself.
    """

    use: Literal["joint"] = "joint"

    insiders: Annotated[int, MORE, Field(ge=0, le=2)] = Field(
        1,
        description="Also what so many people of the tables are certain of who pool what they know of themselves, for "
        "`exposure` with as many `insiders`; 0: outsiders alone.",
    )
    time_limit: Annotated[PositiveFloat | None, MORE] = Field(
        120.0,
        description="Seconds for each secret, after which no new question is put to the solver. A limit without an "
        "answer is inconclusive, unless it is broken anyway.",
    )

    models = frozenset({"trees"})
    parts = frozenset({"trees"})
    needs = frozenset({"releases", "people"})
    threat_model = (
        "The adversary has this release and those that the policy names under `releases`, knows who was in the table "
        "of each (by their keys), and the public columns of everyone as they were in that table. It counts: what "
        "leaves publish must be true of whole people, each of whom has one secret (but for `secret_may_change`)."
    )
    formula = (
        "proved: no assignment of whole people to values that agrees with every leaf of every tree has somebody of the "
        "joint class with another value; else the belief is an estimate of maximum entropy"
    )
    source = (
        "bounds of the cells of a table whose margins are published: A. Dobra, S. E. Fienberg, "
        "PNAS 97(22), 2000, doi:10.1073/pnas.97.22.11885; for trees: docs/how-to/nightly-retraining.md"
    )

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        limit = float("inf") if self.time_limit is None else self.time_limit
        return attack.infer(release, known, insiders=self.insiders, time_limit=limit)
