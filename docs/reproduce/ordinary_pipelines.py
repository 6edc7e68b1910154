"""Ordinary pipelines: what their files disclose of the cells of a few people, and what scrub leaves of it.

    python docs/reproduce/ordinary_pipelines.py --root DIR [--data ...] [--page FILE]

DIR holds the folders `adult`, `default_credit_card_clients` and `german_credit`. Pipelines of scikit-learn, and models
of XGBoost and LightGBM, are fitted on each table and saved. Their files are compared with the table as an audit does,
written anew by `leafgate scrub`, and compared again. The rows are written to docs/results/ordinary-pipelines.csv, and
the measured part of the page is written anew. With `--data` the rows of the other tables stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm
import pandas as pd
import skops.io
import xgboost
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from data_sets import german
from leafgate.algorithms.prediction import predict
from leafgate.api import Release
from leafgate.app import open_session
from leafgate.cli import run as leafgate
from leafgate.session.run import Session, build_release
from writing import count, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results" / "ordinary-pipelines.csv"
PAGE = DOCS / "measurements" / "ordinary-pipelines.md"
SEED = 0
CELLS = frozenset({"people_listed", "rare_numbers"})
"""Kinds of findings that are the cells of a few people."""


@dataclass(frozen=True)
class People:
    """A table with what a policy says of its columns.

    Attributes:
        name: of the table, in words.
        cells: a row for each person, missing cells as NaN.
        target: the class, whose values are texts.
        steps: how finely numbers are public; the other numbers have no step.
        public: lists of texts exist without the table, which the policy says.
    """

    name: str
    cells: pd.DataFrame
    target: str
    steps: Mapping[str, float]
    public: bool = True

    @property
    def texts(self) -> list[str]:
        """The columns of texts but for the class."""
        return [name for name in self.features if not pd.api.types.is_numeric_dtype(self.cells[name])]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.features if name not in self.texts]

    @property
    def features(self) -> list[str]:
        return [str(name) for name in self.cells if name != self.target]

    def column(self, name: str) -> dict[str, Any]:
        """What the policy says of a column: lists of codes are public, and numbers to their step."""
        if name == self.target:
            return {"role": ["class", "sensitive"], "values": sorted(set(self.cells[name]))}
        if name in self.texts:
            values = sorted(set(self.cells[name].dropna()))
            return {"role": "quasi_identifier", "values": values} | ({"domain": "public"} if self.public else {})
        least, most = float(self.cells[name].min()), float(self.cells[name].max())
        step = {"step": self.steps[name]} if name in self.steps else {}
        return {"role": "quasi_identifier", "bounds": [least, most], **step}

    def policy(self, model: str, *, coded: bool) -> dict[str, Any]:
        """A policy that audits a model's file; `coded`: the model predicts 0 and 1."""
        values = sorted(set(self.cells[self.target]))
        codes = {"encoding": {self.target: {"codes": {values[0]: 0, values[1]: 1}}}} if coded else {}
        data = {
            "path": "people.csv",
            "on_missing": "keep",
            "columns": {str(name): self.column(str(name)) for name in self.cells},
        }
        return {
            "leafgate": 1,
            "name": "ordinary-pipelines",
            "data": data,
            "build": {"use": "published", "path": model, **codes},
            "attacks": [{"use": "linking"}],
            "metrics": [{"use": "file_disclosure", "at_most": 0}],
        }


def adult(root: Path) -> People:
    names = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship"]
    names += ["race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"]
    file = root / "adult" / "adult.data"
    cells = pd.read_csv(file, header=None, names=names, skipinitialspace=True, na_values="?")
    steps = {"age": 1.0, "education_num": 1.0, "hours_per_week": 1.0}
    return People("Adult", cells.drop(columns="fnlwgt"), "income", steps)


def credit(root: Path) -> People:
    file = root / "default_credit_card_clients" / "default_of_credit_card_clients.csv"
    cells = pd.read_csv(file)
    cells.columns = pd.Index([name.strip().replace(" ", "_") for name in cells.columns])
    *_, target = cells.columns
    codes = ["SEX", "EDUCATION", "MARRIAGE", target]
    cells = cells.drop(columns=cells.columns[0]).astype(dict.fromkeys(codes, str)).astype(dict.fromkeys(codes, object))
    steps = {name: 1.0 for name in map(str, cells) if name == "AGE" or (name.startswith("PAY_") and "AMT" not in name)}
    return People("credit card clients", cells, str(target), {**steps, "LIMIT_BAL": 10_000.0})


def german_credit(root: Path) -> People:
    cells, target = german(root)
    steps = dict.fromkeys(("duration", "rate", "residence", "age", "credits", "liable"), 1.0)
    return People("German credit", cells.astype({target: object}), target, steps)


def adult_without_public_lists(root: Path) -> People:
    return replace(adult(root), name="Adult, no list public", public=False)


TABLES: Mapping[str, Callable[[Path], People]] = {
    "adult": adult,
    "adult-lists": adult_without_public_lists,
    "credit": credit,
    "german": german_credit,
}


def pipeline(people: People, encoder: BaseEstimator, scaler: Any, estimator: BaseEstimator) -> Any:
    """Encoded texts and scaled numbers, gaps filled before."""
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
    return make_pipeline(make_column_transformer((texts, people.texts), (numbers, people.numbers)), estimator)


def skops_file(encoder: BaseEstimator, scaler: Any, estimator: BaseEstimator) -> Callable[[People, Path], str]:
    def save(people: People, folder: Path) -> str:
        model = pipeline(people, encoder, scaler, estimator)
        features = people.cells[people.features].astype(dict.fromkeys(people.texts, object))
        skops.io.dump(model.fit(features, people.cells[people.target]), folder / "model.skops")
        return "model.skops"

    return save


def with_categories(people: People) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Texts as categories, and the class as 0 and 1."""
    features = people.cells[people.features].astype(dict.fromkeys(people.texts, "category"))
    return features, (people.cells[people.target] == max(people.cells[people.target])).astype(int)


def with_dummies(people: People) -> tuple[pd.DataFrame, pd.Series[int]]:
    """A column of 0 and 1 for each text, and the class as 0 and 1."""
    features, target = with_categories(people)
    return pd.get_dummies(features, columns=people.texts, prefix_sep="=").astype(float), target


def xgboost_of_dummies(people: People, folder: Path) -> str:
    xgboost.XGBClassifier(n_estimators=30).fit(*with_dummies(people)).save_model(folder / "model.json")
    return "model.json"


def xgboost_of_categories(people: People, folder: Path) -> str:
    model = xgboost.XGBClassifier(n_estimators=30, enable_categorical=True, tree_method="hist")
    model.fit(*with_categories(people)).save_model(folder / "model.json")
    return "model.json"


def lightgbm_of_dummies(people: People, folder: Path) -> str:
    """Of lists of categories its file does not say of which columns they are."""
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1).fit(*with_dummies(people))
    model.booster_.save_model(folder / "model.txt")
    return "model.txt"


ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
MODELS: Mapping[str, Callable[[People, Path], str]] = {
    "tree, one-hot": skops_file(
        OneHotEncoder(), "passthrough", DecisionTreeClassifier(min_samples_leaf=5, random_state=SEED)
    ),
    "tree, ordinal, scaled": skops_file(
        ORDINAL, StandardScaler(), DecisionTreeClassifier(min_samples_leaf=5, random_state=SEED)
    ),
    "forest, one-hot": skops_file(
        OneHotEncoder(handle_unknown="ignore"),
        "passthrough",
        RandomForestClassifier(20, min_samples_leaf=5, random_state=SEED),
    ),
    "extra trees, rare ones grouped": skops_file(
        OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
        MinMaxScaler(),
        ExtraTreesClassifier(20, min_samples_leaf=5, random_state=SEED),
    ),
    "gradient boosting, one-hot, scaled": skops_file(
        OneHotEncoder(handle_unknown="ignore"),
        StandardScaler(),
        GradientBoostingClassifier(n_estimators=30, random_state=SEED),
    ),
    "histogram boosting, ordinal": skops_file(
        ORDINAL, "passthrough", HistGradientBoostingClassifier(max_iter=30, random_state=SEED)
    ),
    "XGBoost, dummies": xgboost_of_dummies,
    "XGBoost, categories": xgboost_of_categories,
    "LightGBM, dummies": lightgbm_of_dummies,
}


@dataclass(frozen=True)
class Row:
    """What one file discloses, before and after scrub.

    Attributes:
        data: the table.
        model: the pipeline or model.
        people: people in the table.
        before: kinds of `high` items of the file.
        leaves: what scrub left on the leaves; `refused` where it wrote no file of any kind.
        after: kinds of `high` items of the new file.
        changed: people of the table whose prediction the new file changes.
    """

    data: str
    model: str
    people: int
    before: str
    leaves: str
    after: str
    changed: int | None


def opened(folder: Path, people: People, model: str) -> Session:
    """The policy that audits this file, with its table."""
    coded = not (folder / "model.skops").exists()
    (folder / "policy.yaml").write_text(json.dumps(people.policy(model, coded=coded)), encoding="utf-8")
    return open_session(folder / "policy.yaml")


def high(release: Release) -> str:
    """The kinds of what the file discloses of single people and small groups."""
    items = () if release.file is None else release.file.discloses
    return ", ".join(sorted({item.kind for item in items if item.severity == "high"}))


def scrubbed(folder: Path, model: str, predicts_scores: bool) -> str:
    """What `leafgate scrub` left on the leaves: labels where they predict the same, else shares, else counts."""
    tries: list[tuple[str, tuple[str, ...]]] = [
        ("labels", ()),
        ("shares", ()),
        ("shares", ("--digits", "3")),
        ("counts", ()),
    ]
    tries = [("shares", ())] if predicts_scores else tries
    for leaves, options in tries:
        command = ["scrub", str(folder / model), str(folder / "new.json"), "--leaves", leaves, *options]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = leafgate([*command, "--policy", str(folder / "policy.yaml")])
        if code == 0:
            return " ".join((leaves, *options[1:]))
    return "refused"


def measured(people: People, name: str, folder: Path) -> Row:
    """One pipeline: fitted, saved, compared with the table, scrubbed and compared again."""
    people.cells.to_csv(folder / "people.csv", index=False)
    model = MODELS[name](people, folder)
    session = opened(folder, people, model)
    before = build_release(session.policy, session.plugins, session.table).release
    leaves = scrubbed(folder, model, before.combine in {"sum", "boost"})
    row = (people.name, name, len(people.cells), high(before), leaves)
    if leaves == "refused":
        return Row(*row, high(before), None)
    session = opened(folder, people, "new.json")
    after = build_release(session.policy, session.plugins, session.table).release
    differ = predict(before, session.table) != predict(after, session.table)
    return Row(*row, high(after), int(session.table.weight[differ].sum()))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table of the page: a line for each kind of model, over all tables."""
    body = []
    for model in dict.fromkeys(row.model for row in rows):
        here = [row for row in rows if row.model == model]
        before, after = sum(has_cells(row.before) for row in here), sum(has_cells(row.after) for row in here)
        others = sorted({kind for row in here for kind in row.after.split(", ") if kind and kind not in CELLS})
        leaves, changed = ", ".join(dict.fromkeys(row.leaves for row in here)), sum(row.changed or 0 for row in here)
        left = ", ".join(f"`{kind}`" for kind in others) or "nothing"
        body.append([model, f"{before} of {len(here)}", leaves, f"{after} of {len(here)}", left, count(changed)])
    head = ("model", "cells before", "scrubbed to", "cells after", "other `high` after", "changed predictions")
    yield from table(head, body, "lrlrlr")


def has_cells(found: str) -> bool:
    """Is one of the kinds the cells of a few people?"""
    return bool(CELLS & set(found.split(", ")))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What files of ordinary pipelines tell of a few people.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult` and the others")
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES), help="these tables alone")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    rows = read_rows(RESULTS, Row) if RESULTS.exists() else []
    names = [make(options.root).name for make in TABLES.values()]
    for data in options.data:
        people = TABLES[data](options.root)
        rows = [row for row in rows if row.data != people.name]
        for name in MODELS:
            with TemporaryDirectory() as folder:
                rows.append(measured(people, name, Path(folder)))
            print(*vars(rows[-1]).values(), sep="  ", flush=True)
        rows.sort(key=lambda row: names.index(row.data))
        write_csv(RESULTS, rows)
    put(options.page, lines(rows))


if __name__ == "__main__":
    main()
