"""Audits of releases of changing people: the table of tonight, and those of earlier nights with their releases."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from leafgate.app import open_session
from leafgate.session.run import Session, build_release

COLUMNS: Mapping[str, Any] = {
    "id": {"role": "key"},
    "age": {"role": "quasi_identifier", "bounds": [0, 9]},
    "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
EXPOSURE: Mapping[str, Any] = {"use": "exposure", "of": "joint", "at_most": 0}
CONFIDENCE: Mapping[str, Any] = {"use": "confidence", "of": "joint", "at_most": 0.95}
LEAVE, JOIN = 5, 6
"""How many people left since each earlier night, and how many came with each night."""


def people(n: int, seed: int) -> list[tuple[str, int, str, str]]:
    """Made-up people whose illness depends a little on age and town."""
    rng = np.random.default_rng(seed)
    ages, towns = rng.integers(0, 10, n), rng.integers(0, 3, n)
    ill = rng.random(n) < 0.25 + 0.04 * ages + 0.1 * (towns == 1)
    return [(f"p{i:03}", int(ages[i]), "abc"[towns[i]], "yes" if ill[i] else "no") for i in range(n)]


def tonight(
    folder: Path,
    *,
    n: int = 200,
    seed: int = 2,
    k: int = 5,
    nights: int = 1,
    metrics: Sequence[Mapping[str, Any]] = (EXPOSURE, CONFIDENCE),
    **changes: Any,
) -> Session:
    """An audit of the kADET tree of tonight's people beside those of earlier nights, `old0.json` the latest of them.

    Args:
        folder: where files are written.
        n: how many people there are in all.
        seed: which people these are.
        k: of all trees.
        nights: how many earlier releases there are.
        metrics: the limits.
        changes: further sections of the policy; `build` and `publish` are those of tonight alone.
    """
    rows, build = people(n, seed), {"use": "kadet", "k": k}
    releases = []
    for i in range(nights):
        table, name = f"old{i}.csv", f"old{i}.json"
        _write(folder / table, rows[: -JOIN * (i + 1)])
        _built(_session(folder, table, {"build": build, "metrics": [EXPOSURE]}), folder / name)
        releases.append({"path": name, "data": table})
    _write(folder / "new.csv", rows[LEAVE:])
    document = {"build": build, "metrics": [dict(each) for each in metrics], "releases": releases, **changes}
    return _session(folder, "new.csv", document)


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(COLUMNS), *rows])


def _session(folder: Path, table: str, changes: Mapping[str, Any]) -> Session:
    document = {
        "leafgate": 1,
        "name": "nightly",
        "data": {"path": table, "columns": dict(COLUMNS)},
        "attacks": [{"use": "joint"}],
        **changes,
    }
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return open_session(path)


def _built(session: Session, path: Path) -> None:
    path.write_bytes(build_release(session.policy, session.plugins, session.table).content)
