"""The values in docs/results/structure-adult.csv, computed again for the models that are quick to fit."""

from __future__ import annotations

import csv
import importlib
from dataclasses import asdict
from pathlib import Path

import pytest

from adult import adult

TOP = Path(__file__).resolve().parents[1]
FLAGS = (
    "k_anonymity_risk",
    "class_disclosure_risk",
    "smallgroup_risk",
    "dof_risk",
    "unnecessary_risk",
    "gen_error_risk",
)


def printed() -> dict[str, dict[str, str]]:
    with (TOP / "docs/results/structure-adult.csv").open(newline="", encoding="utf-8") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", ["tree, 50 a leaf", "tree, 500 a leaf, 3 deep", "forest of 3, 2000 a leaf, 2 deep"])
def test_the_values_are_those_of_the_models(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = adult("adult-all")
    monkeypatch.syspath_prepend(str(TOP / "docs" / "reproduce"))
    made = importlib.import_module("structure_on_adult")
    row = printed()[name]
    kind, options = next((kind, options) for each, kind, options in made.MODELS if each == name)
    result = {flag: row[flag] == "yes" for flag in FLAGS} | {"accuracy": None}
    table, test = made._with_unknown(run.table), made._with_unknown(run.tables.test)
    z, zy = made._numbers(test)
    result["accuracy"] = made.KINDS[kind](random_state=0, **options).fit(*made._numbers(table)).score(z, zy)
    found = asdict(made._row(name, kind, options, result, table, test))
    for key, value in found.items():
        if isinstance(value, float):
            assert row[key] == f"{value:.4f}", key
        elif isinstance(value, bool):
            assert row[key] == ("yes" if value else "no"), key


def test_only_the_smallest_forest_has_no_k_flag() -> None:
    forests = {name: row["k_anonymity_risk"] for name, row in printed().items() if name.startswith("forest")}
    assert [name for name, flag in forests.items() if flag == "no"] == ["forest of 3, 2000 a leaf, 2 deep"]
