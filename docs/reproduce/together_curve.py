"""How many people several releases of Adult prove together: the numbers of docs/measurements/together-on-adult.md.

    python docs/reproduce/together_curve.py --root DIR [--parts ...] [--out DIR] [--page FILE]

DIR holds the folder `adult`. The part `nights` publishes a model of 10,000 people on each of ten nights, between which
some leave and as many join; `large` has trees of 30,000 people, forests, and tables that change more. Each part writes
its CSV file, and the measured part of the page is written anew. Every proof is compared with the table; a wrong one
ends the script. What is open in the part `large` depends on how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate import from_sklearn
from leafgate.algorithms.joint_classes import ReleasedTable, joint_system
from leafgate.algorithms.joint_proofs import joint_proofs
from leafgate.algorithms.ranking import area_under_curve, second_class_ranking
from leafgate.api import Release, Schema, Table, make_table
from leafgate.kernel.findings import Finding
from leafgate.kernel.schema import Column
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.session.run import build_release, open_session
from nightly_retraining import released
from writing import count, fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/together-on-adult.md"
NIGHTS, LARGE, PICTURE = "together-nights.csv", "together-large.csv", "together-nights.svg"
PARTS = ("nights", "large")
TARGET = "income"
QUASI_IDENTIFIER, SECRET = ["quasi_identifier"], ["class", "sensitive"]

PEOPLE = 10_000
"""In the table of each night."""
VERSIONS = 10
SHOWN = (1, 2, 5, 10)
"""The numbers of versions on the page; the CSV file has all."""
MOVED = 100
"""People who leave between two nights, and as many who join."""
HELD_OUT = 25_000
"""From here on people are in no table: they test the trees."""
ALONE = {
    "use": "kadet",
    "prune": False,
    "require": [{"use": "confidence", "at_most": 0.95}, {"use": "exposure", "insiders": 1}],
}
"""Of each of these kADET trees alone nobody is certain of anybody, or believes anything with more than .95."""

LARGE_PEOPLE, LARGE_MOVED, LARGE_LEAVES, LARGE_COLUMNS = 30_000, 300, 200, 6
FOREST_PEOPLE, FOREST_TREES, FOREST_LEAVES = 5_000, 100, 100
SECONDS = 120.0
"""The default `time_limit` of `joint`."""


@dataclass(frozen=True)
class Practice:
    """A way to publish: the builder, what leaves publish, and how many people change between two versions."""

    name: str
    build: Mapping[str, Any]
    leaves: str = "counts"
    moved: int = MOVED


PRIVATE = {"use": "dp_random_trees", "delta": 1e-6, "rehearsal": True}
PRACTICES = (
    Practice("kADET, k = 10, counts", ALONE | {"k": 10}),
    Practice("kADET, k = 50, counts", ALONE | {"k": 50}),
    Practice("kADET, k = 10, labels alone", ALONE | {"k": 10}, "labels"),
    Practice("C4.5, counts", {"use": "c45"}),
    Practice("C4.5, labels alone", {"use": "c45"}, "labels"),
    Practice("private forest, epsilon 1 each", PRIVATE | {"epsilon": 1.0}),
    Practice("private forest, epsilon .1 each", PRIVATE | {"epsilon": 0.1}),
)
AT_ONCE = Practice("versions of a kADET tree, 1,000 of 10,000 people changed", ALONE | {"k": 10}, moved=1_000)


@dataclass(frozen=True)
class Row:
    """What the first versions together prove.

    Attributes:
        practice: how they were published.
        versions: how many they are.
        auc: the mean of all ten versions, on people of no table.
        people: who were in some version.
        proved: those of them whose income is proved.
        open: those of whom it was not decided in time.
        finding: of all ten versions, what the audit of the last one says of the limit that nobody is exposed.
    """

    practice: str
    versions: int
    auc: float
    people: int
    proved: int
    open: int
    finding: str = ""


@dataclass(frozen=True)
class LargeRow:
    """What some trees of many people prove together, and how long it took."""

    releases: str
    trees: int
    people: int
    classes: int
    proved: int
    open: int
    seconds: float


def adult(root: Path) -> pd.DataFrame:
    """Everybody of Adult in random order, without the sampling weight and the second education."""
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += ["relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", TARGET]
    files = [root / "adult" / name for name in ("adult.data", "adult.test")]
    read = [
        pd.read_csv(f, header=None, names=names, skipinitialspace=True, na_filter=False, comment="|") for f in files
    ]
    cells = pd.concat(read, ignore_index=True).drop(columns=["fnlwgt", "education-num"])
    cells[TARGET] = cells[TARGET].str.rstrip(".")
    return cells.iloc[np.random.default_rng(0).permutation(len(cells))].reset_index(drop=True)


def columns_of(cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The columns of a policy."""
    columns: dict[str, dict[str, Any]] = {}
    for name in map(str, cells):
        role = SECRET if name == TARGET else QUASI_IDENTIFIER
        if pd.api.types.is_numeric_dtype(cells[name]):
            columns[name] = {"role": role, "bounds": [float(cells[name].min()), float(cells[name].max())]}
        else:
            columns[name] = {"role": role, "values": sorted(set(cells[name]))}
    return columns


def schema_of(cells: pd.DataFrame) -> Schema:
    """The columns as leafgate has them."""
    return Schema(
        tuple(
            Column(
                name,
                frozenset(each["role"]),
                values=tuple(each["values"]) if "values" in each else None,
                bounds=tuple(each["bounds"]) if "bounds" in each else None,
            )
            for name, each in columns_of(cells).items()
        )
    )


def typed(cells: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The cells as a table of leafgate has them."""
    return pd.DataFrame(
        {
            column.name: cells[column.name].astype(float)
            if column.numeric
            else pd.Categorical(cells[column.name], categories=list(column.values or ()))
            for column in schema.columns
        }
    )


@dataclass(frozen=True)
class Proved:
    """How many people some releases prove, of those who were in one of them."""

    people: int
    classes: int
    proved: int
    open: int
    in_last: int

    @classmethod
    def of(cls, sources: Sequence[ReleasedTable], everyone: pd.DataFrame, schema: Schema) -> Proved:
        """By `joint_proofs`, every proof compared with the table."""
        ids = np.flatnonzero(np.any([each.record >= 0 for each in sources], axis=0))
        used = [replace(each, record=each.record[ids]) for each in sources]
        system = joint_system(used, np.ones(len(ids), dtype=np.int64), schema, schema[TARGET])
        proofs = joint_proofs(system, time_limit=SECONDS)
        proved = np.asarray(proofs.proved[system.class_of])
        is_proved = np.asarray(proved.any(axis=1))
        truth = everyone[TARGET].cat.codes.to_numpy()[ids]
        if (proved.argmax(axis=1) != truth)[is_proved].any():
            raise SystemExit("a proof is wrong")
        is_open = np.asarray(proofs.open.any(axis=1))[system.class_of]
        there = used[-1].record >= 0
        numbers = (int(each.sum()) for each in (is_proved, is_open, is_proved & there))
        return cls(len(ids), system.n_classes, *numbers)


class Nights:
    """The table of each night, as files, and the releases that are published of them."""

    def __init__(self, practice: Practice, cells: pd.DataFrame, folder: Path) -> None:
        self.practice, self.cells, self.folder = practice, cells, folder
        self.schema = schema_of(cells)
        self.everyone = typed(cells, self.schema)
        keyed = cells.assign(id=[f"p{i:05}" for i in range(len(cells))])
        for night in range(VERSIONS):
            keyed.iloc[self.ids(night)].to_csv(folder / f"people{night}.csv", index=False)

    def ids(self, night: int) -> np.ndarray:
        """Who is in the table of a night."""
        return np.arange(PEOPLE) + self.practice.moved * night

    def policy(self, night: int, build: Mapping[str, Any]) -> Path:
        """The policy of a night, which names the releases of all nights before."""
        others = [{"path": f"release{i}.json", "data": f"people{i}.csv"} for i in range(night)]
        document = {
            "leafgate": 1,
            "name": "together",
            "seed": night,
            "data": {
                "path": f"people{night}.csv",
                "missing": [],
                "columns": {**columns_of(self.cells), "id": {"role": "key"}},
            },
            "build": dict(build),
            "publish": {"leaves": self.practice.leaves},
            "attacks": [{"use": "joint", "insiders": 0}],
            "metrics": [{"use": "exposure", "of": "joint", "at_most": 0}],
            **({"releases": others} if others else {}),
        }
        file = self.folder / "policy.yaml"
        file.write_text(json.dumps(document), encoding="utf-8")
        return file

    def release(self, night: int) -> Release:
        """The release of a night, which is written to its file."""
        run = open_session(self.policy(night, self.practice.build))
        artifact = build_release(run.policy, run.plugins, run.table)
        (self.folder / f"release{night}.json").write_bytes(artifact.content)
        return artifact.release

    def finding(self) -> Finding:
        """What an audit of the last night's release says of `joint`."""
        last = VERSIONS - 1
        audit = open_session(self.policy(last, {"use": "published", "path": f"release{last}.json"})).audit()
        (finding,) = [each for each in audit.report.findings if each.id.startswith("exposure@joint")]
        return finding

    def sources(self) -> list[ReleasedTable]:
        """The release of each night, as somebody has it who knows who was in the table."""
        return [released(self.release(night), self.everyone, self.ids(night)) for night in range(VERSIONS)]

    def rows(self) -> Iterator[Row]:
        """What one version, two versions and so on prove together."""
        held_out = make_table(self.schema, self.everyone.iloc[HELD_OUT:])
        sources = self.sources()
        auc = float(np.mean([area(each.release, held_out) for each in sources]))
        for number in range(1, VERSIONS + 1):
            found = Proved.of(sources[:number], self.everyone, self.schema)
            row = Row(self.practice.name, number, auc, found.people, found.proved, found.open)
            if number == VERSIONS:
                finding = self.finding()
                if finding.evidence["people_proved"].content.count != found.in_last:
                    raise SystemExit("an audit proves other people")
                row = replace(row, finding=VERDICTS[finding.passed])
            yield row


VERDICTS = {True: "passes", False: "fails", None: "inconclusive"}


def area(release: Release, people: Table) -> float:
    """The area under the ROC curve."""
    truth = people.codes(TARGET)
    ranking = second_class_ranking(release, people)
    return area_under_curve(ranking, truth * people.weight, (1 - truth) * people.weight).value


@dataclass(frozen=True)
class Learner:
    """Fits estimators of scikit-learn on people of Adult; values are positions in their sorted list."""

    everyone: pd.DataFrame
    schema: Schema

    def source(self, model: Any, ids: np.ndarray, names: Sequence[str] | None = None) -> ReleasedTable:
        """The fitted estimator with exact counts on its leaves, as somebody has it who knows who was in the table."""
        names = [column.name for column in self.schema.features] if names is None else names
        codes = self.everyone.apply(lambda cells: cells if cells.dtype == float else cells.cat.codes)
        model.fit(codes.iloc[ids][list(names)].to_numpy(dtype=float), codes[TARGET].iloc[ids])
        read = replace(from_sklearn(model), features=tuple(names), origins=None)
        tested = {read.features[i] for tree in read.trees for i in tree.feature.tolist() if i >= 0} | {TARGET}
        encodings = {
            column.name: Encoding(codes={str(value): float(i) for i, value in enumerate(column.domain)})
            for column in self.schema.columns
            if column.name in tested and column.values is not None
        }
        return released(lower_model(read, self.schema, encodings, "model").release, self.everyone, ids)


def large_rows(cells: pd.DataFrame) -> Iterator[LargeRow]:
    """Trees of other columns, versions of one tree, forests without bootstrap, and versions that differ more."""
    schema = schema_of(cells)
    learner = Learner(typed(cells, schema), schema)
    people, rng = np.arange(LARGE_PEOPLE), np.random.default_rng(1)
    features = [column.name for column in schema.features]
    sources = []
    for i in range(VERSIONS):
        names = [features[j] for j in sorted(rng.permutation(len(features))[:LARGE_COLUMNS])]
        tree = DecisionTreeClassifier(max_leaf_nodes=LARGE_LEAVES, random_state=i)
        sources.append(learner.source(tree, people, names))
    for number in (1, 2, 3, VERSIONS):
        yield timed("trees of six random columns of 12", number, sources[:number], learner)
    sources = []
    for i in range(VERSIONS):
        tree = DecisionTreeClassifier(max_leaf_nodes=LARGE_LEAVES, random_state=0)
        sources.append(learner.source(tree, people + LARGE_MOVED * i))
    for number in (1, 2, 3, VERSIONS):
        yield timed("versions of a tree of all columns", number, sources[:number], learner)
    options = {"n_estimators": FOREST_TREES, "max_leaf_nodes": FOREST_LEAVES, "bootstrap": False, "random_state": 0}
    for name, forest in (
        ("a random forest", RandomForestClassifier),
        ("a forest of extra trees", ExtraTreesClassifier),
    ):
        source = learner.source(forest(**options), np.arange(FOREST_PEOPLE))
        yield timed(name, FOREST_TREES, [source], learner)
    with TemporaryDirectory() as folder:
        sources = Nights(AT_ONCE, cells, Path(folder)).sources()
    for number in (2, 3, VERSIONS):
        yield timed(AT_ONCE.name, number, sources[:number], learner)


def timed(name: str, number: int, sources: Sequence[ReleasedTable], learner: Learner) -> LargeRow:
    start = time.perf_counter()
    found = Proved.of(sources, learner.everyone, learner.schema)
    seconds = time.perf_counter() - start
    return LargeRow(name, number, found.people, found.classes, found.proved, found.open, seconds)


def lines(nights: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: people proved by so many versions."""
    body = []
    for practice in PRACTICES:
        own = {row.versions: row for row in nights if row.practice == practice.name}
        last = own[VERSIONS]
        proved = [count(own[versions].proved) for versions in SHOWN]
        body.append([practice.name, fixed(last.auc, 3), *proved, last.finding])
    head = ["published", "AUC", *(f"{versions} version{'s' * (versions > 1)}" for versions in SHOWN), "limit"]
    yield from table(head, body, "l" + "r" * (len(head) - 2) + "l")


def draw(path: Path, rows: Sequence[Row]) -> None:
    """People proved against the number of versions."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from kadet_picture import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        axes = figure.subplots()
        for practice in PRACTICES:
            own = [row for row in rows if row.practice == practice.name]
            axes.plot([row.versions for row in own], [row.proved for row in own], marker="o", label=practice.name)
        axes.set_yscale("symlog", linthresh=10)
        axes.set_yticks([0, 10, 100, 1_000], ["0", "10", "100", "1,000"])
        axes.set_xticks(range(1, VERSIONS + 1))
        axes.set_xlabel("versions that are taken together")
        axes.set_title("People proved", loc="left", fontsize=10, fontweight="bold")
        figure.legend(loc="outside right upper", frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    cells = adult(options.root)
    if "nights" in options.parts:
        rows = list[Row]()
        for practice in PRACTICES:
            with TemporaryDirectory() as folder:
                rows += Nights(practice, cells, Path(folder)).rows()
            print(practice.name, flush=True)
        write_csv(options.out / NIGHTS, rows)
    if "large" in options.parts:
        found = list[LargeRow]()
        for row in large_rows(cells):
            found.append(row)
            print(row.releases, row.trees, flush=True)
        write_csv(options.out / LARGE, found)
    nights = read_rows(options.out / NIGHTS, Row)
    draw(options.out / PICTURE, nights)
    put(options.page, lines(nights))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How many people several releases of Adult prove together.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="these parts alone")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files go")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
