"""Pipelines put together at random: each predicts in the policy's columns what it predicts, or is refused by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leafgate
from example_counts import seeds
from installed_readers import lower_model, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.readers import ModelIR
from random_pipelines import (
    CODES,
    NUMBERS,
    SCHEMA,
    TEXTS,
    Drawn,
    answers,
    as_people,
    as_table,
    at_edges,
    drawn,
    features,
)
from sklearn_zoo import skops_bytes

pytestmark = pytest.mark.thorough

ASKED: list[tuple[Any, pd.DataFrame, list[str | None]]] = []
"""The last pipeline, whom it was asked about and its answers: one model is read from memory and from two files."""


def fitted(of: Drawn) -> Any:
    """The pipeline, fitted; None where scikit-learn itself does not want to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return of.pipeline.fit(features(of.people), of.people["rich"])
        except (ValueError, TypeError):  # as sparse numbers, or gaps, where it takes none
            return None


def check(of: Drawn, read: ModelIR, name: str = "") -> int:
    """Compare the predictions of people at random and at every threshold; how many there are."""
    release = lower_model(read, SCHEMA, {}, "model").release
    table = as_table(at_edges(release, pd.concat([of.people.iloc[:30], of.others], ignore_index=True)))
    people = as_people(table, of.gone)
    if not ASKED or ASKED[-1][0] is not of.pipeline or not ASKED[-1][1].equals(people):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ASKED[:] = [(of.pipeline, people, answers(of.pipeline, people))]
    wanted = ASKED[-1][2]
    mine = [SCHEMA.classes[i] if i >= 0 else None for i in predict(release, table).tolist()]
    pairs = [(one, theirs) for one, theirs in zip(mine, wanted, strict=True) if theirs is not None]
    assert all(one == theirs for one, theirs in pairs), name
    return len(pairs)


REFUSED = "no column as it was given|less than double precision|None and NaN apart|takes not every number"


def neutral_model(model: Any, *, file: bool) -> ModelIR | None:
    """The neutral model, from a file or from memory; None where it is refused by name."""
    try:
        return read_foreign(skops_bytes(model), "m") if file else leafgate.from_sklearn(model)
    except ReleaseError as error:
        if any(known in str(error) for known in REFUSED.split("|")):
            return None
        raise


def test_a_random_pipeline_predicts_as_its_library_or_is_refused_by_name() -> None:
    right, refused = 0, 0
    for seed in seeds(16):
        of = drawn(seed)
        if (model := fitted(of)) is None:
            continue
        if (read := neutral_model(model, file=seed % 4 == 0)) is None:
            refused += 1
        else:
            right += check(of, read, f"seed {seed}") > 0
    assert right > 2 * refused


NUMBERED = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
FEW = OrdinalEncoder(categories=[["a", "b"], ["x", "y"]], handle_unknown="use_encoded_value", unknown_value=np.nan)
BOTH = [*TEXTS, *NUMBERS]


def tree() -> Any:
    return DecisionTreeClassifier(max_depth=9, random_state=0)


def boosted(*marked: int) -> Any:
    return HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, categorical_features=list(marked))


def before(*steps: Any, of: Any = TEXTS) -> Any:
    """Steps on texts, numbers as they are."""
    return make_column_transformer((make_pipeline(*steps), of), ("passthrough", NUMBERS))


MADE: dict[str, Any] = {
    **{
        f"ordinals, {strategy}": make_pipeline(before(OrdinalEncoder(), SimpleImputer(strategy=strategy)), tree())
        for strategy in ("mean", "median", "most_frequent")
    },
    "ordinals, constant": make_pipeline(
        before(OrdinalEncoder(), SimpleImputer(strategy="constant", fill_value=-7)), tree()
    ),
    "unknown ones, indicated": make_pipeline(before(FEW, SimpleImputer(add_indicator=True)), tree()),
    "unknown ones, kept apart": make_pipeline(before(FEW, MissingIndicator(features="all")), tree()),
    "scaled ordinals": make_pipeline(before(OrdinalEncoder(), StandardScaler(), SimpleImputer()), tree()),
    "two fills of numbers": make_pipeline(
        make_column_transformer(
            (
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value=0), SimpleImputer(strategy="constant", fill_value=99)
                ),
                NUMBERS,
            )
        ),
        tree(),
    ),
    "two fills of texts": make_pipeline(
        before(
            SimpleImputer(strategy="constant", fill_value="c"),
            SimpleImputer(strategy="most_frequent", add_indicator=True),
            OneHotEncoder(),
        ),
        tree(),
    ),
    "a word for gaps": make_pipeline(
        before(SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore")),
        tree(),
    ),
    "a word for gaps, scaled": make_pipeline(
        before(SimpleImputer(strategy="constant", fill_value="missing"), OrdinalEncoder(), StandardScaler()), tree()
    ),
    "a gap that is kept": make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True), NUMBERS)
        ),
        tree(),
    ),
    "codes of codes": make_pipeline(before(NUMBERED), boosted(0, 1)),
    "filled codes of codes": make_pipeline(before(OrdinalEncoder(), SimpleImputer(strategy="median")), boosted(0, 1)),
    "codes of filled texts": make_pipeline(
        before(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()), boosted(0, 1)
    ),
    "ordinals as dummies": make_pipeline(before(OrdinalEncoder(), OneHotEncoder(handle_unknown="ignore")), tree()),
    "a union first": make_pipeline(
        make_union(make_column_transformer((SimpleImputer(), NUMBERS)), before(OneHotEncoder())), tree()
    ),
    "cut off at one": make_pipeline(
        make_column_transformer((make_pipeline(SimpleImputer(), MaxAbsScaler(clip=True)), NUMBERS)), tree()
    ),
    "of no columns": make_pipeline(make_column_transformer((StandardScaler(), []), (SimpleImputer(), NUMBERS)), tree()),
    "sparse and scaled": make_pipeline(
        make_column_transformer((OneHotEncoder(), TEXTS), (SimpleImputer(), NUMBERS), sparse_threshold=1.0),
        StandardScaler(with_mean=False),
        tree(),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_pipeline_read_wrong_or_refused_once_predicts_as_its_library(name: str) -> None:
    once = drawn(6)
    of = Drawn(MADE[name], _with_gaps(once.people), _with_gaps(once.others), np.nan)
    model = fitted(of)
    assert check(of, leafgate.from_sklearn(model)) > 60
    read = read_foreign(skops_bytes(model), "m")
    assert check(of, read) > 60
    assert check(of, read_foreign(neutral_file(read), "m.json")) > 60


def _with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    blank = (*NUMBERS, *TEXTS, *CODES)
    return frame.assign(**{c: frame[c].where(rng.random(len(frame)) > 0.15, np.nan) for c in blank})


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (make_column_transformer((make_pipeline(StandardScaler(), OrdinalEncoder()), NUMBERS)), "as it was given"),
        (before(OneHotEncoder(dtype=np.float32), StandardScaler(with_mean=False)), "less than double precision"),
        (before(MissingIndicator(missing_values="a", features="all")), "looks for a value that is not a missing cell"),
    ],
)
def test_what_cannot_be_told_is_refused_by_name(step: Any, why: str) -> None:
    of = drawn(6)
    people = of.people.where(of.people.notna(), None)
    given = features(people) if why != "looks for a value that is not a missing cell" else features(of.people)
    model = make_pipeline(step, tree()).fit(given, people["rich"])
    with pytest.raises(ReleaseError, match=why):
        leafgate.from_sklearn(model)
