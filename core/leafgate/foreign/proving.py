"""Two models held against each other on a policy's table."""

from __future__ import annotations

from pathlib import Path

from leafgate.errors import ReleaseError
from leafgate.foreign.model import Foreign
from leafgate.foreign.scrubbing import Proof
from leafgate.foreign.translating import release_of
from leafgate.leaf_numbers import strange_leaves
from leafgate.node_numbers import REMEDY, first_contradiction
from leafgate.release import Release
from leafgate.routing import predict
from leafgate.running import prepare
from leafgate.table import Table


def on_data(one: Foreign, other: Foreign, policy: Path, root: Path | None, place: str) -> Proof:
    """Both models as releases, on every record of the table that a policy names.

    Raises ReleaseError where the first counts other people than the table's: after its counts nobody could see that.
    """
    run = prepare(policy, None, root)
    said = getattr(run.policy.build, "encoding", {})
    gone = set(one.features) - set(other.features)  # features no tree asks about any more: nothing is said of them
    left = {name: each for name, each in said.items() if name not in gone}
    releases = [release_of(model, b"", run.table.schema, of, place) for model, of in ((one, said), (other, left))]
    _check_counts(releases[0], run.table, place)
    mine, its = (predict(release, run.table) for release in releases)
    return Proof(len(run.table), int((mine != its).sum()), of_people=True)


def _check_counts(release: Release, table: Table, place: str) -> None:
    if strange_leaves(release, table):
        raise ReleaseError(
            "some of its leaves count other people than the policy's table has there",
            place=place,
            remedy="was it grown on this table? are its features what the policy takes them for (`encoding`)?",
        )
    wrong = None if release.node_numbers is None else first_contradiction(release.node_numbers, release, table)
    if wrong is not None:
        raise ReleaseError(f"{wrong.words} sends there", place=place, remedy=REMEDY)
