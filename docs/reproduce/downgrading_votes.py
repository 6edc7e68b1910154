"""Votes whose party is withheld: a random third of the members, downgraded, and attacked by everyone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from leafgate.errors import NoReleaseError
from leafgate.io.release_codec import SealedRelease
from leafgate.session.run import Session, build_release, granted_knowledge, open_session
from leafgate_plugins.downgrading.grid import WITHHELD
from leafgate_plugins.downgrading.options import CellAttack, Conditioning, NaiveBayes, Restoration, TreeInference

FILE = Path("congressional_voting") / "house-votes-84.data"
POLICY = Path(__file__).resolve().parents[2] / "policies" / "votes.yaml"
ADVERSARIES = (TreeInference(), Conditioning(), NaiveBayes(), Restoration())
EVERY = tuple(attack.use for attack in ADVERSARIES)
HIDDEN = 145
"""Members whose party is withheld: a third."""


@dataclass(frozen=True)
class Attacked:
    """One way to downgrade one draw: what it withholds, and how well each adversary then infers the party.

    `withheld` is a share of the other cells of the members concerned; `right` the share of parties guessed, `held` the
    share of protected cells believed with no more than tau. None where no release keeps the limits.
    """

    draw: int
    way: str
    tau: float
    seconds: float
    withheld: float | None = None
    right: Mapping[str, float] | None = None
    held: Mapping[str, float] | None = None


def drawn(root: Path, draw: int) -> np.ndarray[Any, Any]:
    """The members of one draw, numbered as in the file."""
    members = len((root / FILE).read_text().split())
    return np.sort(np.random.default_rng(draw).choice(members, HIDDEN, replace=False))


def run_of(root: Path, draw: int, options: Mapping[str, Any]) -> Session:
    """The example policy with a number for each member and the draw's parties protected."""
    document = yaml.safe_load(POLICY.read_text())
    lines = (root / FILE).read_text().split()
    with TemporaryDirectory() as folder:
        (Path(folder) / "votes.csv").write_text("".join(f"{i},{line}\n" for i, line in enumerate(lines)))
        document["data"]["path"] = "votes.csv"
        document["data"]["columns"] = {"member": {"role": "key"}, **document["data"]["columns"]}
        document["data"]["protect"] = [{"column": "party", "keys": drawn(root, draw).tolist()}]
        document["build"] = {"use": "downgrading", "v": 0.05, "rho": 0.7, **options}
        policy = Path(folder) / "policy.yaml"
        policy.write_text(yaml.safe_dump(document, sort_keys=False))
        return open_session(policy)


def attacked(root: Path, draw: int, way: str, options: Mapping[str, Any], tau: float) -> Attacked:
    """Downgrade one draw, and let all four adversaries at the release."""
    run = run_of(root, draw, {"tau": tau, **options})
    start = time.perf_counter()
    try:
        sealed = build_release(run.policy, run.plugins, run.table)
    except NoReleaseError:
        return Attacked(draw, way, tau, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    found = {str(attack.use): judged(run, sealed, attack, tau) for attack in ADVERSARIES}
    right = {use: one[0] for use, one in found.items()}
    return Attacked(draw, way, tau, seconds, further(sealed), right, {use: one[1] for use, one in found.items()})


def judged(run: Session, sealed: SealedRelease, attack: CellAttack, tau: float) -> tuple[float, float]:
    """The share of parties an attack guesses, and of those it believes with no more than tau."""
    beliefs = {
        belief.secret: belief
        for belief in attack.infer(sealed.release, granted_knowledge(run.policy, attack, run.tables, sealed))
    }
    belief = beliefs["party"]
    assert sealed.origins is not None
    truth = run.table.without_key.codes("party")[np.asarray(sealed.origins)[belief.record_positions]]
    chances = belief.posterior.to_numpy()
    return float((chances.argmax(axis=1) == truth).mean()), float((chances.max(axis=1) <= tau + 1e-9).mean())


def further(sealed: SealedRelease) -> float:
    """The share of votes withheld among those of the members whose party is."""
    records = sealed.release.records
    assert records is not None
    concerned = [row for row in records.rows if row[0] == WITHHELD]
    withheld = sum(int(cell == WITHHELD) for row in concerned for cell in row[1:])
    return withheld / sum(len(row) - 1 for row in concerned)


def mean(of: Sequence[float]) -> float:
    return float(np.mean(of))
