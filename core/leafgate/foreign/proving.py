"""Two models held against each other on a policy's table."""

from __future__ import annotations

from pathlib import Path

from leafgate.foreign.model import Foreign
from leafgate.foreign.scrubbing import Proof
from leafgate.foreign.translating import release_of
from leafgate.routing import predict
from leafgate.running import prepare


def on_data(one: Foreign, other: Foreign, policy: Path, root: Path | None, place: str) -> Proof:
    """Both models as releases, on every record of the table that a policy names."""
    run = prepare(policy, None, root)
    said = getattr(run.policy.build, "encoding", {})
    mine, its = (predict(release_of(model, b"", run.table.schema, said, place), run.table) for model in (one, other))
    return Proof(len(run.table), int((mine != its).sum()))
