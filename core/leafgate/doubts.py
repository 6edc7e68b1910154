"""What leaves an audit inconclusive whatever its limits say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafgate.leaf_numbers import follows_from_records, is_mislabelled, tells_of_missing_cells
from leafgate.node_numbers import REMEDY
from leafgate.plugins import Plugins
from leafgate.policy import Policy
from leafgate.report import Finding, Private
from leafgate.scoring import Judged


def doubts(policy: Policy, plugins: Plugins, judged: Judged) -> list[Finding]:
    """A finding for each reason why a pass would prove nothing."""
    origin = plugins.origin(policy.build)
    told = [*_rehearsed(policy, judged), *_counted(judged), *_unread_parts(judged), *_unattacked(judged)]
    evidence = _evidence(judged)
    return [
        Finding(
            name,
            name.partition("#")[0],
            None,
            secret=secret,
            evidence={"problem": problem, **evidence.get(name, {})},
            plugin=origin,
            alarm="a pass would prove nothing",
        )
        for name, secret, problem in told
    ]


Doubt = tuple[str, str | None, str]
"""A finding's id, the secret it is about, and what is doubtful."""


def _rehearsed(policy: Policy, judged: Judged) -> Iterator[Doubt]:
    """Coins that a seed repeats, which others may know."""
    if policy.build.rehearses or judged.release.builder.get("rehearsal") is True:
        problem = "a rehearsal repeats by a seed that others may know, so it is not fit to be published"
        yield "rehearsal", None, problem


def _counted(judged: Judged) -> Iterator[Doubt]:
    """Leaves or records that claim to count this table's people and do not, or do and claim to count others."""
    if judged.strange:
        yield "counted", None, judged.strange
    elif is_mislabelled(judged.release, judged.table):
        label = judged.release.counted
        problem = f"the numbers are this table's own, and the release calls them {label}: `counted` must say exact"
        yield "counted", None, problem
    elif _may_tell_dropped_people(judged):
        yield "counted", None, DROPPED_PEOPLE


DROPPED_PEOPLE = (
    "a leaf where nobody of the table ends has numbers, and people with missing cells, whom `on_missing: drop` left "
    "out, may be the ones it counts: audit them too (`on_missing: keep`)"
)


def _may_tell_dropped_people(judged: Judged) -> bool:
    """May a leaf's numbers be those of people whom the table has left out?

    Not where the release was built from the table in this audit, or where a claim of differential privacy is checked.
    """
    release, table = judged.release, judged.table
    known = judged.built or "epsilon" in release.guarantee
    return table.dropped > 0 and not known and tells_of_missing_cells(release, table)


def _unread_parts(judged: Judged) -> Iterator[Doubt]:
    """Published parts that no attack of the policy, of those that could run, takes into account."""
    release = judged.release
    ran = [tried.attack for tried in judged.attempts if not tried.problem]
    read = frozenset[str]().union(*(attack.parts for attack in ran))
    published = {"records": release.records is not None, "alternatives": len(release.learned) > len(release.trees)}
    for part, is_there in published.items():
        if is_there and ran and part not in read:
            problem = f"no attack of the policy takes the published {part} into account: try one that does (linking)"
            yield f"unread#{part}", None, problem
    if not all(follows_from_records(tree, release) for tree in release.noisy_alternatives.values()):
        problem = (
            "an alternative tree asks for numbers under noise, so that no attack sends people down it, and it tells "
            "other than the published records do: take it out, or publish the records it was learned from"
        )
        yield "unread#noisy_alternatives", None, problem


def _evidence(judged: Judged) -> dict[str, dict[str, Any]]:
    """What is told beside a doubt, by its name: for auditors, what the file and the table have at the node."""
    wrong = judged.consistency.contradiction
    if wrong is None or judged.consistency.release_mismatch:
        return {}
    return {"counted": {"remedy": REMEDY, "numbers": Private({"file": wrong.told, "table": wrong.expected})}}


def _unattacked(judged: Judged) -> Iterator[Doubt]:
    """Secret cells that no attack's belief is about: noisy ones of secrets, and protected ones."""
    release = judged.release
    shown = () if release.records is None else release.records.columns
    for column in judged.table.schema.secrets:
        noisy = column.name in release.noise and column.name in shown
        if noisy and not _noisy_cells(column.name, judged) <= set(_cells_told(column.name, judged)):
            problem = "noise hides the records' cells of this secret, and no attack tried to see through it"
            yield f"records#{column.name}", column.name, problem
    for name, marks in judged.table.without_key.protected.items():
        told = {judged.origins[cell] for cell in _cells_told(name, judged)} if judged.origins is not None else set()
        if not set(marks.nonzero()[0].tolist()) <= told:
            problem = "no attack says anything of some protected cells: are they withheld, and does one speak of cells?"
            yield f"protected#{name}", name, problem


def _cells_told(column: str, judged: Judged) -> Iterator[int]:
    """The records whose cells some belief is about."""
    for tried in judged.attempts:
        for belief in tried.beliefs:
            if belief.secret == column and belief.cells is not None:
                yield from belief.cells.tolist()


def _noisy_cells(column: str, judged: Judged) -> set[int]:
    """The records that show a number in the column."""
    records = judged.release.records
    if records is None:
        return set()
    place = records.columns.index(column)
    return {i for i, row in enumerate(records.rows) if row[place] is not None}
