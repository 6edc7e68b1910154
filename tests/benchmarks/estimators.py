"""A search over k beside the same search over min_samples_leaf: python tests/benchmarks/estimators.py --root DIR.

DIR holds the folder `adult` with the UCI files; --write PAGE puts the table into a page. Both searches start from the
same data frame of 30,162 people and 13 columns, 8 of them texts. No time is asserted anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from adult_rows import adult
from leafgate import Table
from leafgate.estimators import KAnonymousTreeClassifier
from timing import Pair, command, markdown, paired

START, END = "<!-- estimators -->", "<!-- /estimators -->"
SIZES = [5, 10, 20, 50]
"""The candidates for k and for min_samples_leaf."""
FOLDS = 5
ROUNDS = 3
TARGET = "at most 2"


def frame_of(table: Table) -> tuple[pd.DataFrame, pd.Series]:
    """Everybody as a row of a data frame with columns of numbers and texts, in random order, and the classes."""
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(table)), table.weight))
    frame = table.frame.iloc[rows].reset_index(drop=True)
    texts = {column.name: frame[column.name].astype(str) for column in table.schema.columns if not column.numeric}
    frame = frame.assign(**texts)
    return frame, frame.pop(table.schema.target.name)


def encoded_tree(*, sparse: bool) -> Any:
    """scikit-learn's tree behind one column for each value of each text."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    texts = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        ColumnTransformer([("texts", encoder, texts)], remainder="passthrough"), DecisionTreeClassifier(random_state=0)
    )


def search(estimator: Any, parameter: str, frame: pd.DataFrame, classes: pd.Series) -> Callable[[], Any]:
    """Cross-validation of every size, and the fit of the best to everybody."""
    return lambda: GridSearchCV(estimator, {parameter: SIZES}, cv=FOLDS).fit(frame, classes)


def pairs(root: Path) -> Iterator[Pair]:
    frame, classes = frame_of(adult(root).table)
    name = "decisiontreeclassifier__min_samples_leaf"
    ours = search(KAnonymousTreeClassifier(), "k", frame, classes)
    for sparse in (True, False):
        peer = search(encoded_tree(sparse=sparse), name, frame, classes)
        work = f"4 candidates, 5 folds; the peer's matrix is {'sparse, its default' if sparse else 'dense'}"
        yield paired(work, ours, peer, ROUNDS, TARGET)


def report(root: Path) -> str:
    return markdown(pairs(root), "DecisionTreeClassifier")


if __name__ == "__main__":
    command(report, START, END)
