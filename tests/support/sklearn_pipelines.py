"""Pipelines as people fit them, over tables with texts, numbers and gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from leafgate import Table
from leafgate.api import Schema, make_table, typed_column
from random_tables import categorical, numeric


def people(seed: int, n: int = 900, *, gaps: bool = True) -> Table:
    """Made-up people; in some pipelines' columns cells are missing."""
    rng = np.random.default_rng(seed)
    schools, jobs = ("none", "basic", "high", "higher", "odd"), ("x", "y")
    school = rng.choice(schools, n, p=[0.3, 0.3, 0.2, 0.18, 0.02])
    age, pay = rng.integers(17, 91, n).astype(float), rng.normal(0, 1e4, n).round(2)
    score = age / 30 + (school == "higher") + pay / 1e4 + rng.normal(0, 0.5, n)
    cells: dict[str, Any] = {
        "age": age,
        "school": school.astype(object),
        "job": rng.choice(jobs, n).astype(object),
        "pay": pay,
    }
    for name in ("age", "school", "pay") if gaps else ():
        cells[name] = np.where(rng.random(n) < 0.07, None, cells[name])
    columns = (
        numeric("age", "quasi_identifier", bounds=(17, 90), missing=True),
        categorical("school", "quasi_identifier", values=schools, missing=True),
        categorical("job", "quasi_identifier", values=jobs),
        numeric("pay", "private", bounds=(-1e6, 1e6), missing=True),
        categorical("rich", "class", "sensitive", values=("no", "yes")),
    )
    cells["rich"] = np.where(score > 1.5, "yes", "no").astype(object)
    frame = pd.DataFrame({column.name: typed_column(column, list(cells[column.name])) for column in columns})
    return make_table(Schema(columns), frame)


def as_frame(table: Table, *, each: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """The features of a table, a row for each record (or each person), and the class, as people have them."""
    frame = table.frame
    for name in frame:
        if not table.schema[str(name)].numeric:
            frame = frame.assign(**{str(name): frame[name].astype(object).where(frame[name].notna(), np.nan)})
    if each:
        frame = frame.loc[frame.index.repeat(table.weight)].reset_index(drop=True)
    features = [column.name for column in table.schema.features]
    return frame[features], frame[table.schema.target.name]


NUMBERS, TEXTS = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")


def _tree() -> Any:
    return DecisionTreeClassifier(min_samples_leaf=2, max_depth=7, random_state=0)


PIPELINES: Mapping[str, Callable[[], Any]] = {
    "one-hot": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(), TEXTS), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=8, random_state=0),
    ),
    "ordinal": lambda: make_pipeline(
        ColumnTransformer([("n", "passthrough", NUMBERS), ("t", OrdinalEncoder(), TEXTS)]),
        RandomForestClassifier(5, max_depth=6, random_state=0),
    ),
    "scaled": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), NUMBERS),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="if_binary")), TEXTS),
        ),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ),
    "rare": lambda: make_pipeline(
        make_column_transformer(
            (MinMaxScaler(clip=True), NUMBERS),
            (OneHotEncoder(min_frequency=0.05, handle_unknown="infrequent_if_exist"), TEXTS),
        ),
        _tree(),
    ),
    "robust": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(RobustScaler(), MaxAbsScaler()), NUMBERS),
            (
                make_pipeline(
                    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
                    StandardScaler(),
                ),
                TEXTS,
            ),
        ),
        _tree(),
    ),
    "both ways": lambda: make_pipeline(
        make_column_transformer(
            (FeatureUnion([("as it is", FunctionTransformer()), ("scaled", StandardScaler())]), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore", drop="first"), TEXTS),
        ),
        _tree(),
    ),
    "its own categories": lambda: HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype"),
    "nested": lambda: make_pipeline(
        make_pipeline(make_column_transformer(("drop", ["age"]), (OrdinalEncoder(), TEXTS), remainder=MinMaxScaler())),
        make_pipeline(StandardScaler(), _tree()),
    ),
}
