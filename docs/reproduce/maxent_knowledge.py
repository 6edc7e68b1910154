"""Risk as a function of what the adversary knows already: `leafgate sweep`, over known people and over known facts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from leafgate.commands.sweep.command import sweep
from leafgate.console.options import Audience
from leafgate.policy.load import document_of
from maxent_settings import POLICY, SECRET, TIME_LIMIT

SHARES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1)
BUILDERS = {
    "ID3": "{use: id3, measure: gain, min_split: 6}",
    "kADET, k = 50": "{use: kadet, k: 50, measure: gain, prune: false}",
}
FACTS: Mapping[str, Mapping[str, Any]] = {
    "no manager (Exec-managerial) went to Preschool only": {
        "where": {"occupation": "Exec-managerial"}, "column": SECRET, "in": ["Preschool"], "share": 0
    },
    "nobody above 50K went to Preschool only": {
        "where": {"income": ">50K"}, "column": SECRET, "in": ["Preschool"], "share": 0
    },
    "no handler or cleaner has a Doctorate or went to a Prof-school": {
        "where": {"occupation": "Handlers-cleaners"}, "column": SECRET, "in": ["Prof-school", "Doctorate"], "share": 0
    },
}  # fmt: skip
LEVELS = ("labels", "error_rates", "counts")
# What an adversary derives with more knowledge is compared; the groups' composition is the same whatever it knows.
METRICS: tuple[Mapping[str, Any], ...] = (
    {"use": "divergence", "average": True, "at_least": 0},
    {"use": "exposure", "scored": "derived", "average": True, "at_most": 1},
    {"use": "confidence", "scored": "derived", "average": True, "at_most": 1},
)


@dataclass(frozen=True)
class Knowing:
    """A point of a sweep: what is released, how much is known, and the risk; shares in per cent."""

    released: str
    known: float
    divergence: float
    exposed: float
    confidence: float


def by_people(root: Path) -> list[Knowing]:
    """ID3 and kADET with counts, attacked with the choices of tests, by the share of people known."""
    attack = {"use": "maxent", "time_limit": TIME_LIMIT}
    over = [f"build={','.join(BUILDERS.values())}", f"knows.sample={','.join(f'{s:g}' for s in SHARES)}"]
    names = {result: name for name, result in BUILDERS.items()}
    return [_point(names[row["build"]], row["knows.sample"], row) for row in _swept(root, attack, {}, over)]


def by_facts(root: Path) -> list[Knowing]:
    """ID3 by what its leaves tell, attacked without the choices of tests, by the number of facts known."""
    attack = {"use": "maxent", "internal": False, "time_limit": TIME_LIMIT}
    numbers = ",".join(map(str, range(len(FACTS) + 1)))
    over = [f"publish.leaves={','.join(LEVELS)}", f"knows.facts_known={numbers}"]
    knows = {"facts": [dict(fact) for fact in FACTS.values()]}
    return [_point(row["publish.leaves"], row["knows.facts_known"], row) for row in _swept(root, attack, knows, over)]


def _swept(
    root: Path, attack: Mapping[str, Any], knows: Mapping[str, Any], over: Sequence[str]
) -> Iterator[dict[str, str]]:
    """The lines of the sweep's own CSV file."""
    document = document_of(POLICY) | {"attacks": [dict(attack)], "metrics": list(map(dict, METRICS))}
    document |= {"knows": dict(knows)} if knows else {}
    with TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.yaml"
        policy.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")
        with redirect_stdout(io.StringIO()):
            sweep(policy, list(over), Path(folder) / "out", root=root, workers=1, audience=Audience.auditor)
        with (Path(folder) / "out" / "sweep.csv").open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def _point(released: str, known: str, row: Mapping[str, str]) -> Knowing:
    def value(metric: str) -> float:
        return float(next(cell for key, cell in row.items() if key.startswith(f"{metric}@")))

    return Knowing(released, float(known), value("divergence"), 100 * value("exposure"), 100 * value("confidence"))
