"""The attack `rebuild` beside DRAFT, the published attack on forests, on DRAFT's own tables of 0 and 1.

    pip install ".[sklearn]" ortools matplotlib
    python docs/reproduce/rebuild_peer.py --draft DIR [--seconds 300] [--attack rebuild]

DIR is a copy of DRAFT's code with its data (github.com/vidalt/DRAFT). Writes docs/results/rebuild-peer.csv and the
measured part of docs/measurements/rebuild.md. Both attacks have the same forest, the same groups of columns of which
exactly one is 1, and the same cores. The error is DRAFT's: the share of cells that are wrong under the best matching.

Source: J. Ferry, R. Fukasawa, T. Pascal, T. Vidal, "Trained Random Forests Completely Reveal your Dataset", ICML 2024.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier

from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, Release, Schema, Table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.training_rows import Bags, TrainingRows
from leafgate_plugins.reconstruction.rebuild import Rebuild
from writing import fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/rebuild.md"
TREES = 100
NAMES = {"compas": "COMPAS", "adult": "Adult", "default_credit": "Credit cards"}
OWN: dict[str, dict[str, tuple[int, ...]]] = {
    "no": {"compas": (50, 100, 1_500, 7_206), "adult": (50, 300, 5_000), "default_credit": (50, 500, 2_000)},
    "yes": {"compas": (50, 1_500, 7_206), "adult": (300, 5_000), "default_credit": (300, 2_000)},
    "seeds": {"compas": (50, 1_500, 7_206), "adult": (300, 5_000), "default_credit": (300, 2_000)},
}
"""The numbers of people that `rebuild` has, by whether trees are grown on bootstraps, and it knows their seeds."""
PEER: dict[str, dict[str, tuple[int, ...]]] = {
    "no": {"compas": (50, 100), "adult": (50,), "default_credit": (50,)},
    "yes": {"compas": (50,)},
}
"""Those that DRAFT has."""
ATTACKS = ("rebuild", "DRAFT")
MAX_MATCHED = 8_000
"""Of more people no matching is computed."""


@dataclass(frozen=True)
class Row:
    """What one attack made of one forest.

    `error` is the share of cells that are wrong; `agrees` whether the table has all counts (`rebuild`, exact counts),
    and whether a table was found in time (DRAFT); `proved` the share of cells that are proved.
    """

    data: str
    people: int
    trees: int
    bootstrap: str
    attack: str
    seconds: float
    error: float | None
    agrees: str
    proved: float | None


@dataclass(frozen=True, eq=False)
class Case:
    """A forest, its rows of 0 and 1, and the groups of columns of which exactly one is 1."""

    rows: pd.DataFrame
    target: pd.Series
    groups: Sequence[Sequence[int]]
    forest: Any

    @classmethod
    def of(cls, draft: Path, data: str, people: int, bootstrap: str) -> Case:
        """So many random people, and a forest with scikit-learn's defaults, with or without bootstraps."""
        infos = importlib.import_module("datasets_infos")
        rows = pd.read_csv(draft / "data" / f"{data}.csv").sample(people, random_state=0, ignore_index=True)
        target = rows.pop(infos.predictions[data])
        forest = RandomForestClassifier(TREES, bootstrap=bootstrap != "no", random_state=0)
        return cls(rows, target, infos.datasets_ohe_vectors[data], forest.fit(rows.to_numpy(), target.to_numpy()))

    def error(self, rebuilt: Any) -> float | None:
        """The share of cells that are wrong under the best matching."""
        if len(self.rows) > MAX_MATCHED:
            return None
        cost = cdist(np.asarray(rebuilt, dtype=float), self.rows.to_numpy(dtype=float), "cityblock")
        return float(cost[linear_sum_assignment(cost)].mean() / self.rows.shape[1])

    @property
    def names(self) -> list[tuple[str, str]]:
        """For each column of 0 and 1 the column of leafgate's table that it is part of, and the value for 1."""
        names = [(f"x{j}", "1") for j in range(self.rows.shape[1])]
        for number, group in enumerate(self.groups):
            for place, j in enumerate(group):
                names[j] = (f"group{number}", str(place))
        return names

    def release(self) -> tuple[Release, Table]:
        """The forest and its people as leafgate has them: a group is one column."""
        names, cells = self.names, self.rows.to_numpy()
        frame = {name: cells[:, j].astype(str) for j, (name, _) in enumerate(names) if name.startswith("x")}
        values: dict[str, tuple[str, ...]] = dict.fromkeys(frame, ("0", "1"))
        for number, group in enumerate(self.groups):
            frame[f"group{number}"] = cells[:, list(group)].argmax(axis=1).astype(str)
            values[f"group{number}"] = tuple(map(str, range(len(group))))
        columns = [Column(name, frozenset({"quasi_identifier"}), values=values[name]) for name in frame]
        columns.append(Column("class", frozenset({"class", "sensitive"}), values=("0", "1")))
        frame["class"] = self.target.astype(int).astype(str).to_numpy()
        typed = {each.name: pd.Categorical(frame[each.name], categories=list(each.values or ())) for each in columns}
        schema = Schema(tuple(columns))
        trees = tuple(_tree(each.tree_, names) for each in self.forest.estimators_)
        counted = "bootstrap" if self.forest.bootstrap else "exact"
        release = Release({}, schema, trees, combine="vote", count_semantics=counted)  # type: ignore[arg-type]
        return release, Table(schema, pd.DataFrame(typed), np.ones(len(self.rows), dtype=np.int64))

    @property
    def training_rows(self) -> TrainingRows:
        """How often each tree drew each row, by the seeds of the forest."""
        seeds = tuple(each.random_state for each in self.forest.estimators_)
        n = len(self.rows)
        return TrainingRows(people=None, on_leaves=(), bags=Bags(seeds=seeds, n_rows=n, n_draws=n))


def _tree(fitted: Any, names: Sequence[tuple[str, str]]) -> Node:
    def node(i: int) -> Node:
        if fitted.children_left[i] < 0:
            counts = np.rint(fitted.value[i, 0] * fitted.weighted_n_node_samples[i]).astype(int).tolist()
            return Leaf(str(int(np.argmax(counts))), {"0": counts[0], "1": counts[1]})
        name, value = names[fitted.feature[i]]
        return CategoricalSplit(
            name, (Branch((value,), node(fitted.children_right[i])),), node(fitted.children_left[i])
        )

    return node(0)


def by_rebuild(case: Case, bootstrap: str, seconds: float) -> tuple[float, float | None, str, float | None]:
    release, people = case.release()
    known = replace(grant_knowledge(people), rows=case.training_rows if bootstrap == "seeds" else None)
    begin = time.monotonic()
    (belief,) = Rebuild(time_limit=seconds).infer(release, known)
    taken = time.monotonic() - begin
    rebuilt = np.zeros(case.rows.shape)
    for j, (name, value) in enumerate(case.names):
        if name in belief.records:
            rebuilt[:, j] = belief.records[name].astype(str) == value
    cells = people.total_weight * len(people.schema.features)
    proved = None if belief.proved_cells is None else belief.proved_cells / cells
    agrees = {True: "yes", False: "no", None: "-"}[belief.evidence.get("agrees")]
    return taken, case.error(rebuilt), agrees, proved


def by_draft(case: Case, bootstrap: str, seconds: float) -> tuple[float, float | None, str, float | None]:
    draft = importlib.import_module("DRAFT").DRAFT(case.forest, one_hot_encoded_groups=[list(g) for g in case.groups])
    begin = time.monotonic()
    found = draft.fit(timeout=seconds, bagging=bootstrap != "no")
    taken = time.monotonic() - begin
    is_found = found["status"] in {"OPTIMAL", "FEASIBLE"}
    return taken, case.error(found["reconstructed_data"]) if is_found else None, "yes" if is_found else "no", None


def every_row(draft: Path, seconds: float, attack: str) -> Iterator[Row]:
    run, sizes = (by_rebuild, OWN) if attack == "rebuild" else (by_draft, PEER)
    for bootstrap, by_data in sizes.items():
        for data, people in ((data, n) for data, each in by_data.items() for n in each):
            taken, error, agrees, proved = run(Case.of(draft, data, people, bootstrap), bootstrap, seconds)
            yield Row(data, people, TREES, bootstrap, attack, taken, error, agrees, proved)


def lines(found: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page."""
    head = ("table", "people", "bootstrap", "attack", "seconds", "cells wrong", "agrees", "proved")
    body = [
        (
            NAMES[row.data],
            f"{row.people:,}",
            row.bootstrap,
            f"`{row.attack}`" if row.attack == "rebuild" else row.attack,
            fixed(row.seconds, 1),
            share(row.error),
            row.agrees,
            share(row.proved),
        )
        for row in found
    ]
    yield from table(head, body, "lrllrrlr")


def share(value: float | None) -> str:
    return "-" if value is None else "100 %" if value == 1 else f"{100 * value:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draft", type=Path, help="a copy of DRAFT; without it the page is written again")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each attack on each forest")
    parser.add_argument("--attack", choices=ATTACKS, help="one of both; the rows of the other one stay")
    options = parser.parse_args()
    results = DOCS / "results" / "rebuild-peer.csv"
    if options.draft is not None:
        sys.path.insert(0, str(options.draft))
        found = read_rows(results, Row) if options.attack else []
        for attack in [options.attack] if options.attack else ATTACKS:
            rows = list[Row]()
            for row in every_row(options.draft, options.seconds, attack):
                print(row, flush=True)
                rows.append(row)
            others = [row for row in found if row.attack != attack]
            found = [*rows, *others] if attack == ATTACKS[0] else [*others, *rows]
        write_csv(results, found)
    put(DOCS / PAGE, lines(read_rows(results, Row)))


if __name__ == "__main__":
    main()
