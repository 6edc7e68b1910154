"""What attacks that infer members and inputs are asked, drawn as in an audit, and how they are handed a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, Candidates, PredictionOracle, Schema, Targets
from leafgate.engine import attack, knowledge
from leafgate.kernel.knowledge import Knows, Membership, limit_knowledge
from leafgate.kernel.oracle import Access, QueryLog


def draw_candidates(table: Table, control: Table, most: int = 1000, seed: int = 0) -> tuple[Candidates, Membership]:
    """Candidates of both tables, and who of them is in the table."""
    return knowledge.draw_candidates(table, control, most, seed)


def draw_targets(
    table: Table, control: Table, knows: Mapping[str, Any], secrets: Collection[str], seed: int
) -> tuple[dict[str, Targets], Membership]:
    """Targets of both tables by their secrets, and who of them is in the table, where a policy grants `knows`."""
    return knowledge.draw_targets(table, control, Knows.model_validate(knows), list(secrets), seed)


def secret_inputs(release: Release, schema: Schema) -> list[str]:
    """The columns that trees of the release test and that nobody is known to have."""
    return knowledge.secret_inputs(release, schema)


def limited(known: AdversaryKnowledge, needs: Collection[str]) -> AdversaryKnowledge:
    """What an attack sees of it that declares these needs."""
    return limit_knowledge(known, needs)


def oracle_of(release: Release, access: Access = "scores") -> tuple[PredictionOracle, QueryLog]:
    """An oracle that answers for the release, and what counts its queries."""
    log = QueryLog()
    return attack.oracle_of(release, access, log), log
