"""Neighbours: random tables that differ by one person's secret, and what everybody may read of their audits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from installed_readers import minimise, neutral_file
from leafgate import LeafgateError, Policy, Table, from_sklearn
from leafgate.api import Column
from leafgate.app import audit_policy, document, load_plugins, readable
from leafgate.engine.report import Audit
from leafgate.kernel.tables import Tables
from leafgate.policy.load import policy_of
from random_tables import categorical, numeric, table_of
from reports import FILES, view

PLUGINS = load_plugins(["leafgate"])
PAY = (0.0, 500.0, 1000.0)
PEOPLE = (4, 8, 12, 20, 40, 60, 150)


@dataclass(frozen=True)
class Neighbours:
    """A policy, and two tables that differ by one person's secret.

    Attributes:
        policy: it builds a release of each table, or reads one file for both.
        tables: the two tables.
    """

    policy: Policy
    tables: tuple[Table, Table]

    def public_reports(self) -> tuple[dict[str, bytes], dict[str, bytes]] | None:
        """What everybody may read of both audits, by format; None where the file or a verdict differs."""
        one, other = (audit_policy(self.policy, PLUGINS, Tables(table)) for table in self.tables)
        if one.artifact is None or other.artifact is None or one.artifact.content != other.artifact.content:
            return None
        return (_views(one), _views(other)) if _verdicts(one) == _verdicts(other) else None


def _views(audit: Audit) -> dict[str, bytes]:
    public = document(audit.report, "public")
    return {"json": readable(public)} | {form: view(public, form) for form in FILES}


def _verdicts(audit: Audit) -> dict[str, bool | None]:
    return {finding.id: finding.passed for finding in audit.report.findings}


def neighbours(seed: int, folder: Path, metrics: Sequence[Mapping[str, Any]]) -> Neighbours | None:
    """Neighbours of up to 150 people, with some of the limits; None where the model cannot be scrubbed.

    Half of the policies build a tree, the others read a scrubbed model, whose shares may be rounded.
    """
    rng = random.Random(seed)
    columns = list(_columns(rng))
    rows = [_record(columns, rng) for _ in range(rng.choice(PEOPLE))]
    person, place = rng.randrange(len(rows)), rng.choice([i for i, c in enumerate(columns) if "sensitive" in c.roles])
    changed = [list(row) for row in rows]
    while changed[person][place] == rows[person][place]:
        changed[person][place] = _cell(columns[place], rng)
    build: dict[str, Any] = {"use": "kadet", "k": rng.choice([1, 2, 3, 5])}
    if rng.random() < 0.5:
        content = _scrubbed(columns, rows, rng)
        if content is None:
            return None
        (folder / f"{seed}.json").write_bytes(content)
        build = {"use": "published", "path": f"{seed}.json"}
    said = {
        "leafgate": 1,
        "name": "neighbours",
        "data": {"columns": {column.name: _described(column) for column in columns}},
        "build": build,
        "publish": {"leaves": rng.choice(["labels", "error_rates", "shares", "counts"]), "measure": False},
        "attacks": [{"use": "linking"}, *([{"use": "maxent", "internal": False}] if rng.random() < 0.3 else [])],
        "metrics": [dict(metric) for metric in rng.sample(list(metrics), min(5, len(metrics)))],
        "report": {"smallest_cell": rng.choice([1, 3, 10])},
    }
    said |= {} if build["use"] == "kadet" else {"publish": None}
    policy = policy_of({key: value for key, value in said.items() if value is not None}, folder).policy
    return Neighbours(policy, (table_of(columns, rows), table_of(columns, changed)))


def _columns(rng: random.Random) -> Iterator[Column]:
    """One or two public columns, perhaps another secret, of categories or of numbers, and a class."""
    yield numeric("a", "quasi_identifier")
    if rng.random() < 0.6:
        yield categorical("b", rng.choice(["quasi_identifier", "private"]), values=("0", "1"))
    if rng.random() < 0.3:
        yield categorical("s", "sensitive", values=("s0", "s1", "s2")[: rng.choice([2, 3])])
    if rng.random() < 0.3:
        yield Column("pay", frozenset({"sensitive"}), bins=PAY)
    yield categorical("y", "class", "sensitive", values=("n", "p", "q")[: rng.choice([2, 2, 3])])


def _cell(column: Column, rng: random.Random) -> Any:
    if column.values is not None:
        return rng.choice(column.values)
    return float(rng.randrange(10, 990, 10)) if column.name == "pay" else float(rng.randrange(4))


def _record(columns: Sequence[Column], rng: random.Random) -> list[Any]:
    """The cells of a person, whose class often follows from the first of them."""
    row = [_cell(column, rng) for column in columns]
    if rng.random() < 0.6:
        row[-1] = columns[-1].domain[int(row[0] > 1)]
    return row


def _described(column: Column) -> dict[str, Any]:
    domain = {"values": column.values, "bounds": column.bounds, "bins": column.bins}
    return {"role": sorted(column.roles), **{key: list(each) for key, each in domain.items() if each is not None}}


def _scrubbed(columns: Sequence[Column], rows: Sequence[Sequence[Any]], rng: random.Random) -> bytes | None:
    """The file of a scikit-learn tree on the columns that are no secrets; None where it cannot be scrubbed."""
    people = pd.DataFrame(rows, columns=[column.name for column in columns])
    asked = [column.name for column in columns if not {"sensitive", "class"} & column.roles]
    level, least = rng.choice(["labels", "shares", "shares"]), rng.choice([1, 3, 10])
    try:
        return scrubbed_tree(people[asked].astype(float), people["y"], level, rng.choice([10, 20, 100]), least=least)
    except LeafgateError:
        return None


def scrubbed_tree(numbers: pd.DataFrame, wanted: pd.Series, level: Any, units: int, *, least: int = 1) -> bytes:
    """The file of a tree of `least` people a leaf with labels, or with shares that are multiples of 1 / `units`."""
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=least, random_state=0).fit(numbers, wanted)
    return neutral_file(minimise(from_sklearn(model), level, "tree", units))
