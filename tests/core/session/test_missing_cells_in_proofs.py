"""Adversaries reckon with no missing cells that hardly anybody has, so that proofs say all that follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate
from command_line import leafgate as command
from leafgate.app import document, readable

Blank = Literal["nowhere", "control", "test", "table"]
BLANKS: tuple[Blank, ...] = ("nowhere", "control", "test", "table")
SECRET: dict[str, Any] = {"role": "private", "values": ["0", "1"]}


def people(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.DataFrame({"age": rng.integers(0, 8, n), "ward": rng.integers(0, 5, n), "hiv": rng.integers(0, 2, n)})
    ill = ((table["hiv"] == 1) & (table["ward"] > 2)) | (rng.random(n) < 0.15)
    return table, pd.Series(np.where(ill, "yes", "no"), name="ill")


def with_blank(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.assign(**{column: table[column].astype(float).where(table.index != 3)})


def proved_by_milp(model: DecisionTreeClassifier, table: pd.DataFrame, ill: pd.Series) -> int:
    """Of how many people one value of hiv alone is in every table whose leaves have these counts.

    Unknown are the people of each group (age and ward) by hiv and class; who misses hiv is known.
    """
    tree, yes = model.tree_, (ill == "yes").to_numpy().astype(int)
    leaf_counts = np.rint(tree.value[:, 0] * tree.n_node_samples[:, None])
    gone = table["hiv"].isna().to_numpy()
    cells_of_all = table.to_numpy().astype(np.float32)
    np.subtract.at(leaf_counts, (tree.apply(cells_of_all[gone]), yes[gone]), 1)
    groups = table[~gone].groupby(["age", "ward"]).size().reset_index(name="people")
    n = len(groups)
    cells = groups[["age", "ward"]].to_numpy()
    leaf = np.array([tree.apply(np.column_stack([cells, np.full(n, hiv)]).astype(np.float32)) for hiv in (0, 1)])
    rows, sums = [*np.kron(np.eye(n), np.ones(4))], [*groups["people"]]
    for node in np.flatnonzero(tree.children_left < 0):
        for label in (0, 1):
            row = np.zeros((n, 2, 2))
            row[:, :, label] = (leaf == node).T
            rows, sums = [*rows, row.ravel()], [*sums, leaf_counts[node, label]]
    counted, proved = LinearConstraint(np.array(rows), sums, sums), 0
    for group, size in enumerate(groups["people"]):
        ones = np.zeros((n, 2, 2))
        ones[group, 1] = 1
        low, high = (
            round(sign * milp(sign * ones.ravel(), constraints=counted, integrality=1, bounds=Bounds(0, np.inf)).fun)
            for sign in (1, -1)
        )
        proved += int(size) * (high == 0 or low == size)
    return proved


def proofs_agree(seed: int, blank: Blank, folder: Path) -> int:
    """An audit in memory, that of its files and an integer programme prove the same of as many people."""
    rng = np.random.default_rng(seed)
    table, ill = people(rng, int(rng.integers(60, 250)))
    column = str(rng.choice(["age", "ward", "hiv"]))
    others: dict[str, Any] = {key: people(rng, 90) for key in ("control", "test")}
    if blank in others:
        others[blank] = with_blank(others[blank][0], column), others[blank][1]
    if blank == "table":
        table = with_blank(table, "hiv")
    leaf = int(rng.choice([1, 2, 3, 5, 8]))
    model = DecisionTreeClassifier(random_state=0, min_samples_leaf=leaf).fit(table, ill)
    audit = leafgate.audit(
        model,
        table,
        ill,
        **others,
        roles={"hiv": SECRET},
        attacks=["leaf_constraints"],
        limits=[{"use": "attribute_certain", "of": "leaf_constraints", "at_most": 0}],
        publish="counts",
        search_remedies=False,
    )
    audit.to_policy(folder / "files")
    ended = command(
        "audit", folder / "files/policy.yaml", "--out", folder / "out", "--audience", "auditor", "--no-remedies"
    )
    report = (folder / "out/report.json").read_bytes()
    assert (ended.code, report) == (audit.exit_code, readable(document(audit.report, "auditor")))
    finding = next(each for each in json.loads(report)["findings"] if each["metric"] == "attribute_certain")
    assert ("not_judged" in finding["evidence"]) == (blank == "table")
    assert finding["value"] == proved_by_milp(model, table, ill)
    return int(finding["value"])


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.thorough
def test_leaf_constraints_prove_what_an_integer_programme_proves(blank: Blank, tmp_path: Path) -> None:
    assert proofs_agree(1, blank, tmp_path) > 0


@pytest.mark.slow
@pytest.mark.parametrize("blank", BLANKS)
def test_of_50_tables_each_the_proofs_are_those_of_an_integer_programme(blank: Blank, tmp_path: Path) -> None:
    assert sum(proofs_agree(seed, blank, tmp_path / str(seed)) for seed in range(50))


ROWS = [
    *[(0, 0, "a", 1), (0, 0, "b", 2), (0, 1, "a", 1), (0, 1, "b", 6)],
    *[(1, 0, "a", 3), (1, 0, "b", 2), (1, 1, "a", 3), (1, 1, "b", 3)],
]
"""Cells of two columns, a class, and how many people have them; a tree has a leaf for each pair of cells."""


def proved_cells(blank: Blank, declared: bool = False, encoder: Any = "passthrough") -> Any:
    """The share of cells of x0 and x1 that `rebuild` proves."""
    people = pd.DataFrame([row[:3] for row in ROWS for _ in range(row[3])], columns=["x0", "x1", "y"])
    tables = {"table": people, "control": people.assign(x1=1 - people["x1"]), "test": people}
    if blank in tables:
        tables[blank] = with_blank(tables[blank], "x0")
    role = {"role": "quasi_identifier", "values": ["0", "1"], **({"missing": True} if declared else {})}
    table = tables["table"]
    prepare = make_column_transformer((encoder, ["x0", "x1"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(table[["x0", "x1"]], table["y"])
    audit = leafgate.audit(
        model,
        table,
        "y",
        control=(tables["control"][["x0", "x1"]], tables["control"]["y"]),
        roles={"x0": role, "x1": role},
        attacks=["rebuild"],
        limits=[{"use": "reconstructed_cells", "counted": "proved", "at_most": 0.95}],
        search_remedies=False,
    )
    finding = next(each for each in document(audit.report, "auditor")["findings"] if "reconstructed" in each["metric"])
    return finding["evidence"].get("proved_cells"), finding["evidence"].get("not_judged")


@pytest.mark.parametrize("encoder", ["passthrough", OneHotEncoder()], ids=["numbers", "one hot"])
@pytest.mark.thorough
def test_rebuild_proves_every_cell(encoder: Any) -> None:
    assert proved_cells("nowhere", encoder=encoder) == (42, None)
    assert proved_cells("control", encoder=encoder) == (42, None)


def test_rebuild_takes_out_the_few_who_miss_a_cell() -> None:
    proved, not_judged = proved_cells("table")
    assert (proved, not_judged) == (40, "1 people with missing cells that hardly anybody has")


def test_declared_missing_cells_prove_less() -> None:
    assert proved_cells("nowhere", declared=True)[0] < 42
