"""Numbers of single columns in model files: smallest and largest ones, fills, edges of bins, compared with cells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leafgate as gate
from installed_readers import Encoding, disclosed_cells, lower_model, read_foreign
from leafgate import Table
from leafgate.api import Schema, make_table
from leafgate.readers import ModelIR
from random_tables import categorical, numeric

N = 400


def people(income: bool) -> Table:
    """People with ages that many share and, if wanted, incomes of their own that rise with the age."""
    rng = np.random.default_rng(0)
    age = 20.0 + np.arange(N) % 20
    cells: dict[str, Any] = {"age": age, "ill": pd.Categorical(np.where(age > 30, "yes", "no"), ["no", "yes"])}
    columns = [numeric("age", "quasi_identifier", bounds=(0, 120))]
    if income:
        cells["income"] = np.round(1000 * age + rng.uniform(0, 1000, N), 2)
        columns.append(numeric("income", "quasi_identifier", bounds=(0, 1e6)))
    schema = Schema((*columns, categorical("ill", "class", "sensitive", values=("no", "yes"))))
    return make_table(schema, pd.DataFrame(cells))


def disclosed(model: ModelIR, table: Table, encoding: Mapping[str, Encoding] | None = None) -> set[tuple[str, str]]:
    """Kinds and severities of what the file has of cells."""
    loaded = lower_model(model, table.schema, encoding or {}, "model")
    found = disclosed_cells(loaded, table, 10)
    return {(each.kind, each.severity) for each in (*model.disclosures, *found)}


def everybody(table: Table) -> pd.DataFrame:
    """A row for each person."""
    return table.frame.loc[table.frame.index.repeat(table.weight)].reset_index(drop=True)


def features(table: Table) -> pd.DataFrame:
    return everybody(table).drop(columns="ill").astype(float)


def classes(table: Table) -> "pd.Series[str]":
    return everybody(table)["ill"].astype(str)


STEPS: dict[str, Any] = {
    "smallest and largest": (MinMaxScaler(), "extremes"),
    "farthest from 0": (MaxAbsScaler(), "extremes"),
    "median": (SimpleImputer(strategy="most_frequent"), "moments"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("income", [False, True])
def test_numbers_of_scalers_and_imputers_count_where_they_are_a_few_peoples(name: str, income: bool) -> None:
    step, kind = STEPS[name]
    table = people(income)
    model = make_pipeline(step, DecisionTreeClassifier(max_depth=1)).fit(features(table), classes(table))
    found = disclosed(gate.from_sklearn(model), table)
    assert (kind, "medium") in found
    assert (("rare_numbers", "high") in found) is income


def test_numbers_of_a_scaler_after_another_one_are_those_of_no_column_and_stay_high() -> None:
    table = people(income=False)
    for steps, severity in (((StandardScaler(), MinMaxScaler()), "high"), ((MinMaxScaler(),), "medium")):
        model = make_pipeline(*steps, DecisionTreeClassifier(max_depth=1)).fit(features(table), classes(table))
        assert ("extremes", severity) in disclosed(gate.from_sklearn(model), table)


@pytest.mark.parametrize("income", [False, True])
def test_edges_of_bins_count_where_they_are_a_few_peoples(income: bool) -> None:
    """Between ages that many have lie means of two; of many incomes quantiles are somebody's."""
    table = people(income)
    model = HistGradientBoostingClassifier(max_iter=1).fit(features(table), classes(table))
    if income:  # scikit-learn interpolates between incomes, others may not
        for edges in model._bin_mapper.bin_thresholds_:
            edges[-1] = table.frame["income"].max() if edges.max() > 1000 else edges[-1]
    found = disclosed(gate.from_sklearn(model), table)
    assert ("values", "medium") in found
    assert (("rare_numbers", "high") in found) is income


def test_edges_of_bins_of_scaled_numbers_stay_high() -> None:
    table = people(income=False)
    model = make_pipeline(RobustScaler(), HistGradientBoostingClassifier(max_iter=1))
    found = disclosed(gate.from_sklearn(model.fit(features(table), classes(table))), table)
    assert ("values", "high") in found


@pytest.mark.parametrize("income", [False, True])
def test_ranges_of_lightgbm_count_where_they_are_a_few_peoples(tmp_path: Path, income: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = people(income)
    model = lightgbm.LGBMClassifier(n_estimators=1, verbose=-1).fit(features(table), classes(table) == "yes")
    model.booster_.save_model(tmp_path / "m.txt")
    read = read_foreign((tmp_path / "m.txt").read_bytes(), "m.txt")
    codes: Any = {"ill": Encoding(codes={"no": 0, "yes": 1})}
    found = disclosed(read, table, codes)
    assert ("ranges", "medium") in found
    assert (("rare_numbers", "high") in found) is income


PMML = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary><DataField name="age" optype="continuous" dataType="double"><Interval closure="closedClosed"
leftMargin="{low}" rightMargin="39"/></DataField>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification" splitCharacteristic="binarySplit"
missingValueStrategy="defaultChild"><MiningSchema><MiningField name="age"/>
<MiningField name="ill" usageType="target"/></MiningSchema><Node id="1" score="no" defaultChild="2"><True/>
<Node id="2" score="no"><SimplePredicate field="age" operator="lessOrEqual" value="30.5"/></Node>
<Node id="3" score="yes"><SimplePredicate field="age" operator="greaterThan" value="30.5"/></Node></Node>
</TreeModel></PMML>
"""


@pytest.mark.parametrize(("low", "listed"), [("20", False), ("20.25", True), ("0", False)])
def test_intervals_of_pmml_count_where_they_are_a_few_peoples(low: str, listed: bool) -> None:
    table = people(income=False)
    table = make_table(
        table.schema, everybody(table).assign(age=lambda frame: frame["age"].where(frame.index > 0, 20.25))
    )
    found = disclosed(read_foreign(PMML.format(low=low).encode(), "m.pmml"), table)
    assert ("extremes", "medium") in found
    assert (("rare_numbers", "high") in found) is listed
