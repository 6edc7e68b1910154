"""Two reports: what got better or worse, what appeared and what vanished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leafgate.disclosure.intervals import range_of_value
from leafgate.disclosure.wording import audited_file, finding_state
from leafgate.kernel.findings import DIRECTIONS

WORSE = {"worse", "vanished"}


@dataclass(frozen=True)
class Moved:
    """Something that is otherwise in the newer report: of which finding (empty: of the whole), what, and how."""

    kind: str
    finding: str
    what: str
    old: Any = None
    new: Any = None


def moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Moved]:
    """Every difference between two reports: first those of the report itself, then each finding's in their order."""
    before = {finding["id"]: finding for finding in old["findings"]}
    after = {finding["id"]: finding for finding in new["findings"]}
    moves = list(_of_report(old, new))
    for name, finding in before.items():
        if name in after:
            moves += _finding(name, finding, after[name])
        else:
            moves.append(Moved("vanished", name, "outcome", finding_state(finding), None))
    appeared = [(name, finding) for name, finding in after.items() if name not in before]
    return moves + [Moved("appeared", name, "outcome", None, finding_state(finding)) for name, finding in appeared]


def _of_report(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Moved]:
    before, after = old["versions"], new["versions"]
    for name in sorted({*before, *after}):  # what another version computes may be better for that reason alone
        if before.get(name) != after.get(name):
            yield Moved("different", "", f"version of {name}", before.get(name), after.get(name))
    if old["verdict"] != new["verdict"]:
        kind = {"pass": "worse"}.get(old["verdict"], "better" if new["verdict"] == "pass" else "different")
        yield Moved(kind, "", "verdict", old["verdict"], new["verdict"])
    pairs = {what: _digests(what, old[what] or {}, new[what] or {}) for what in ("policy", "data", "release")}
    different = [what for what, (before, after) in pairs.items() if before != after]
    files = [audited_file(report) for report in (old, new)]
    digests_of_files = [None if file is None else file["sha256"] for file in files]
    if "release" in different and digests_of_files[0] != digests_of_files[1]:  # else other bytes hold the same model
        yield Moved("different", "", "file", *files)
    yield from (Moved("different", "", what, *pairs[what]) for what in different)


KEYS: Mapping[str, tuple[str, ...]] = {"policy": ("sha256_without_file", "sha256"), "data": ("sha256", "keyed_sha256")}
"""The digests by which parts of reports are compared, where it is not `sha256` alone."""


def _digests(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """A digest that both have; of the data the keyed one, if both state that, and None if there is none.

    The audited file is compared as the release that it was read as, so that of the policy it is left out.
    """
    keys = KEYS.get(what, ("sha256",))
    shared = next((key for key in keys if key in old and key in new), None)
    if shared is None and what == "data":
        return None, None
    return old.get(shared or "sha256"), new.get(shared or "sha256")


def _finding(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Moved]:
    was, now = finding_state(old), finding_state(new)
    if was != now:
        rank = {"failed": 0, "inconclusive": 0, "waived": 1, "passed": 2}
        step = rank[now] - rank[was]
        yield Moved("better" if step > 0 else "worse" if step else "different", name, "outcome", was, now)
    yield from _limit(name, old["limit"], new["limit"])
    direction = next((key for key in DIRECTIONS if key in old["limit"] and key in new["limit"]), None)
    if direction is not None and old["value"] != new["value"] and _alike(old["limit"], new["limit"]):
        before, after = range_of_value(old), range_of_value(new)
        better = None if before is None or after is None else after.better(before, direction)
        kind = {True: "better", False: "worse", None: "different"}[better]
        yield Moved(kind, name, "value", old["value"], new["value"])


def _alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Are the two scores of one kind?"""
    return old.get("average") == new.get("average") and scored_in(old) == scored_in(new)


def scored_in(limit: Mapping[str, Any]) -> str:
    """The distribution of the secret that a stored limit was judged by; `derived` where the limit states none."""
    return str(limit.get("scored", "derived"))


def _limit(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Moved]:
    """A limit that is laxer is worse, whatever the score."""
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if key == "scored":
            before, after = scored_in(old), scored_in(new)
        if before == after:
            continue
        kind = "different"
        if key in {"at_least", "at_most", "allow"} and before is not None and after is not None:
            kind = "better" if (after > before) == (key == "at_least") else "worse"
        if key == "average":
            kind = "worse" if after else "better"
        if key == "scored" and "worst" in {before, after}:
            kind = "better" if after == "worst" else "worse"
        yield Moved(kind, name, f"limit {key}", before, after)
