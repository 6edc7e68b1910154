"""Pipelines of encoders, imputers and scalers as anybody might put them together, and people; drawn by a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import MissingIndicator, SimpleImputer
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

from leafgate import Release, Table
from leafgate.algorithms.feasible import largest_value_going_low
from leafgate.api import NumericSplit, Schema, children, make_table, typed_column
from random_tables import categorical, numeric

NUMBERS, TEXTS, CODES = ["age", "pay"], ["job", "school"], ["region"]
VALUES = {"job": ("a", "b", "c", "d", "e"), "school": ("x", "y", "z"), "region": ("1", "2", "10", "20")}
SCHEMA = Schema(
    (
        *(numeric(name, "quasi_identifier", bounds=(-1e6, 1e6), missing=True) for name in NUMBERS),
        *(categorical(name, "quasi_identifier", values=values, missing=True) for name, values in VALUES.items()),
        categorical("rich", "class", "sensitive", values=("no", "yes")),
    )
)
Random = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """A pipeline and people it is fitted on; others hold values that those do not have.

    `gone` is a missing text: NaN, or None where the pipeline saw such.
    """

    pipeline: Any
    people: pd.DataFrame
    others: pd.DataFrame
    gone: Any


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    gaps = float(rng.choice([0.0, 0.15]))
    gone = None if gaps and rng.random() < 0.15 else math.nan
    people = _people(rng, 160, gaps, gone, known=True)
    return Drawn(_pipeline(rng), people, _people(rng, 50, 0.15, gone, known=False), gone)


def _people(rng: Random, n: int, gaps: float, gone: Any, *, known: bool) -> pd.DataFrame:
    """Numbers, texts and codes; the last value of each column is nobody's in training."""
    cells: dict[str, Any] = {"age": rng.integers(17, 90, n).astype(float), "pay": rng.normal(0, 3, n).round(1)}
    for name, values in VALUES.items():
        of = values[:-1] if known else values
        cells[name] = rng.choice(of, n, p=_odds(len(of))).astype(object)
    for name in cells:
        blank = rng.random(n) < gaps
        cells[name] = np.where(blank, math.nan if name in NUMBERS else gone, cells[name])
    score = (np.nan_to_num(cells["age"].astype(float)) > 45) ^ np.isin(cells["job"].astype(str), ["b", "c"])
    score = score ^ (np.nan_to_num(cells["pay"].astype(float)) > 0.5) ^ (cells["school"].astype(str) == "x")
    score = score ^ np.isin(cells["region"].astype(str), ["2", "nan"]) ^ (rng.random(n) < 0.05)
    cells["rich"] = np.where(score, "yes", "no")
    kinds = {name: float if name in NUMBERS else object for name in cells}
    return pd.DataFrame({name: pd.Series(cells[name].astype(kind), dtype=kind) for name, kind in kinds.items()})


def _odds(n: int) -> Any:
    odds = 1.0 / np.arange(1, n + 1)
    return odds / odds.sum()


def features(frame: pd.DataFrame) -> pd.DataFrame:
    """What the pipeline is given: regions are numbers there."""
    return frame.drop(columns="rich").assign(region=frame["region"].astype(float))


def as_table(frame: pd.DataFrame) -> Table:
    cells = frame.astype(object).where(frame.notna(), None)
    return make_table(SCHEMA, pd.DataFrame({c.name: typed_column(c, list(cells[c.name])) for c in SCHEMA.columns}))


def as_people(table: Table, gone: Any) -> pd.DataFrame:
    """The table's records as they were before."""
    frame = table.frame
    texts = {name: frame[name].astype(object).where(frame[name].notna(), gone) for name in (*VALUES, "rich")}
    return frame.assign(**texts)


def _pick(rng: Random, *ways: Any) -> Any:
    return ways[int(rng.integers(len(ways)))]


def _imputer(rng: Random, *, text: bool) -> Any:
    strategy = (
        _pick(rng, "most_frequent", "constant") if text else _pick(rng, "mean", "median", "most_frequent", "constant")
    )
    fill = _pick(rng, "a", "y", "none", None) if text else _pick(rng, 0, -7, 2.5, None, math.nan)
    return SimpleImputer(
        strategy=strategy,
        fill_value=fill if strategy == "constant" else None,
        add_indicator=bool(rng.random() < 0.4),
        keep_empty_features=bool(rng.random() < 0.3),
    )


def _scaler(rng: Random, *, centred: bool = True) -> Any:
    return _pick(
        rng,
        StandardScaler(with_mean=centred and bool(rng.random() < 0.7), with_std=bool(rng.random() < 0.8)),
        MaxAbsScaler(**({"clip": True} if "clip" in MaxAbsScaler().get_params() and rng.random() < 0.5 else {})),
        RobustScaler(with_centering=centred, unit_variance=bool(rng.random() < 0.5)),
        *([MinMaxScaler(_pick(rng, (0, 1), (-3, 2)), clip=bool(rng.random() < 0.5))] if centred else []),
    )


def _of_numbers(rng: Random, most: int = 3, *, centred: bool = True) -> list[Any]:
    """Some steps that take numbers."""
    steps: list[Any] = []
    for _ in range(int(rng.integers(0, most + 1))):
        kind = rng.random()
        if kind < 0.4:
            steps.append(_imputer(rng, text=False))
        elif kind < 0.75:
            steps.append(_scaler(rng, centred=centred))
        elif kind < 0.85:
            steps.append(FunctionTransformer())
        elif centred:
            beside = _pick(rng, MissingIndicator(features="all"), StandardScaler(), "passthrough")
            steps.append(FeatureUnion([("one", _imputer(rng, text=False)), ("other", beside)]))
    return steps


def _encoder(rng: Random, *, dense: bool) -> Any:
    rare = _pick(rng, {}, {"max_categories": 2}, {"min_frequency": 0.2}, {"max_categories": 3})
    if rng.random() < 0.5:
        unknown = _pick(rng, {}, *[{"handle_unknown": "use_encoded_value", "unknown_value": v} for v in (-1, math.nan)])
        return OrdinalEncoder(**rare, **unknown, encoded_missing_value=_pick(rng, math.nan, -2, 9))
    return OneHotEncoder(
        handle_unknown=_pick(rng, "error", "ignore", "infrequent_if_exist"),
        drop=_pick(rng, None, None, "first", "if_binary"),
        sparse_output=not dense and bool(rng.random() < 0.6),
        dtype=_pick(rng, np.float64, np.float64, np.float64, int, int, np.float32),
        **rare,
    )


def _of_texts(rng: Random) -> list[Any]:
    """Imputers, an encoder, perhaps another, and what takes the numbers they make."""
    dense = bool(rng.random() < 0.6)
    steps: list[Any] = [_imputer(rng, text=True) for _ in range(int(rng.integers(0, 3)))]
    steps.append(_encoder(rng, dense=dense))
    steps += _of_numbers(rng, 2, centred=dense)
    if rng.random() < 0.25:
        steps += [_encoder(rng, dense=True), *_of_numbers(rng, 1)]
    return steps


def _chain(steps: list[Any]) -> Any:
    return make_pipeline(*steps) if steps else "passthrough"


def _columns(rng: Random) -> Any:
    of_codes = _pick(rng, _of_numbers(rng, 1)[:1] + _of_texts_of_codes(rng), _of_texts_of_codes(rng))
    parts = [
        ("numbers", _chain(_of_numbers(rng)), _pick(rng, NUMBERS, [0, 1], slice("age", "pay"))),
        ("texts", _chain(_of_texts(rng)), _pick(rng, TEXTS, ["job"], [False, False, True, True, False])),
        ("codes", _chain(of_codes), CODES),
        ("none", StandardScaler(), []),
    ]
    order = rng.permutation(len(parts))
    return ColumnTransformer(
        [parts[i] for i in order if rng.random() < 0.9],
        remainder="drop",
        sparse_threshold=float(_pick(rng, 0.0, 0.3, 1.0)),
        verbose_feature_names_out=bool(rng.random() < 0.5),
    )


def _of_texts_of_codes(rng: Random) -> list[Any]:
    return [_encoder(rng, dense=True), *_of_numbers(rng, 1)]


def _pipeline(rng: Random) -> Any:
    before = _columns(rng)
    if rng.random() < 0.15:
        before = FeatureUnion([("one", before), ("two", _columns(rng))])
    after = _of_numbers(rng, 1, centred=bool(rng.random() < 0.5))
    return make_pipeline(before, *after, _model(rng))


def _model(rng: Random) -> Any:
    depth = int(rng.integers(3, 8))
    marked = sorted({int(i) for i in rng.integers(0, 5, int(rng.integers(0, 4)))}) or None
    return _pick(
        rng,
        DecisionTreeClassifier(max_depth=depth, random_state=0),
        DecisionTreeClassifier(max_depth=depth, splitter="random", random_state=0),
        RandomForestClassifier(3, max_depth=depth, random_state=0),
        ExtraTreesClassifier(3, max_depth=depth, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3, max_depth=4),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3, max_depth=4, categorical_features=marked),
    )


def at_edges(release: Release, frame: pd.DataFrame, most: int = 40) -> pd.DataFrame:
    """People who hit a threshold of the release, or are a hair above."""
    cuts, waiting = set(), list(release.trees)
    while waiting:
        node = waiting.pop()
        if isinstance(node, NumericSplit) and abs(node.at) < 1e9:
            cuts |= {
                (node.column, x)
                for x in (largest_value_going_low(node), math.nextafter(largest_value_going_low(node), math.inf))
            }
        waiting.extend(children(node))
    rows = [frame.iloc[[i % len(frame)]].assign(**{c: x}) for i, (c, x) in enumerate(sorted(cuts)[:most])]
    return pd.concat([frame, *rows], ignore_index=True)


def answers(pipeline: Any, frame: pd.DataFrame) -> list[str | None]:
    """What the library predicts of each; None where it takes no such people, which halving finds."""
    try:
        return [str(one) for one in pipeline.predict(features(frame))]
    except ValueError:
        half = len(frame) // 2
        return [None] if not half else answers(pipeline, frame[:half]) + answers(pipeline, frame[half:])
