"""Pipelines that end in XGBoost or LightGBM: the audit is of what they predict, for everybody."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import leafgate
from command_line import leafgate as command
from ensemble_rows import around_every_threshold
from feature_rows import votes
from installed_readers import read_foreign
from leafgate import DataError, ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.app import document, open_session
from leafgate.readers import ModelIR
from sklearn_zoo import entries_of, with_entries

SMALL = {"k_anonymity": 5}
WARDS = ["east", "north", "south", "west"]


def people(seed: int, *, gaps: bool, size: int = 400) -> tuple[pd.DataFrame, pd.Series]:
    """Made-up people; visits are 0 for many, and with `gaps` some ages are missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, size).astype(float),
            "visits": rng.integers(0, 5, size),
            "ward": rng.choice(WARDS, size),
            "job": rng.choice(list("abcdef"), size),
        }
    )
    score = table["age"] / 60 + (table["ward"] == "east") + (table["visits"] == 0) + rng.normal(size=size) / 2
    if gaps:
        table.loc[rng.random(size) < 0.1, "age"] = np.nan
    return table, pd.Series((score > score.median()).astype(int), name="ill")


def pipeline(estimator: Any, *, scaler: Any, imputed: bool, sparse: bool) -> Pipeline:
    numbers = [*([SimpleImputer(strategy="median")] if imputed else []), *([scaler] if scaler is not None else [])]
    prepare = ColumnTransformer(
        [
            ("ward", OneHotEncoder(handle_unknown="ignore"), ["ward", "job"]),
            ("numbers", make_pipeline(*numbers) if numbers else "passthrough", ["age", "visits"]),
        ],
        sparse_threshold=1.0 if sparse else 0.0,
    )
    return make_pipeline(prepare, estimator)


def leaves_of(model: Pipeline, table: pd.DataFrame) -> Any:
    """The leaf of each person in each tree, by the library's own word."""
    rows = model[:-1].transform(table)
    return model[-1].apply(rows) if hasattr(model[-1], "apply") else model[-1].predict(rows, pred_leaf=True)


def assert_predicts_as(model: Pipeline, table: pd.DataFrame, policy: Path) -> None:
    """The release that the policy audits says of each record what the model says."""
    session = open_session(policy)
    release = session.audit(search_remedies=False).artifact
    assert release is not None
    records = session.table.frame
    rows = pd.DataFrame({name: records[name].astype(table[name].dtype) for name in table.columns})
    names = np.array(release.release.classes).astype(int)
    assert np.array_equal(names[predict(release.release, session.table)], model.predict(rows))


def assert_audited_as_it_predicts(
    model: Pipeline, table: pd.DataFrame, ill: pd.Series, folder: Path, **words: Any
) -> leafgate.Audit:
    """The release says of each record what the model says, and its smallest group is the one that shares all leaves."""
    audit = leafgate.audit(model, table, ill, limits=SMALL, search_remedies=False, **words)
    audit.to_policy(folder)
    assert_predicts_as(model, table, folder / "policy.yaml")
    smallest = np.unique(leaves_of(model, table), axis=0, return_counts=True)[1].min()
    finding = audit.findings_for("auditor").set_index("finding").loc["k_anonymity@linking#ill"]
    assert (finding["value"], finding["verdict"]) == (smallest, "pass" if smallest >= 5 else "fail")
    return audit


XGB = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
VISITS = {"visits": {"role": "quasi_identifier", "values": [str(number) for number in range(5)]}}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("gaps", "imputed"), [(False, False), (True, False), (True, True)])
def test_a_pipeline_that_ends_in_xgboost_is_audited_as_it_predicts(
    tmp_path: Path, gaps: bool, imputed: bool, sparse: bool
) -> None:
    """In a sparse matrix 0 is missing to XGBoost: other wards, and no visits."""
    table, ill = people(1, gaps=gaps)
    model = pipeline(xgboost.XGBClassifier(**XGB), scaler=None, imputed=imputed, sparse=sparse).fit(table, ill)
    audit = assert_audited_as_it_predicts(model, table, ill, tmp_path, roles=VISITS)
    assert "inconclusive" not in set(audit.findings["verdict"])  # the file counts the people of this table
    assert "path: model.json" in (tmp_path / "policy.yaml").read_text().replace('"', "")


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_one_hot_encoder_an_imputer_a_scaler_and_xgboost_are_audited_in_five_lines(seed: int, sparse: bool) -> None:
    """The verdict is that of the people who share all leaves, counted one by one by the library itself."""
    table, ill = people(seed, gaps=True)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore")
    parts = [("texts", encoder, ["ward", "job"]), ("numbers", numbers, ["age", "visits"])]
    prepare = ColumnTransformer(parts, sparse_threshold=1.0 if sparse else 0.0)
    model = make_pipeline(prepare, xgboost.XGBClassifier(**XGB)).fit(table, ill)
    smallest = int(np.unique(leaves_of(model, table), axis=0, return_counts=True)[1].min())
    for least, verdict in ((smallest, "pass"), (smallest + 1, "fail")):
        audit = leafgate.audit(model, table, ill, limits={"k_anonymity": least}, search_remedies=False)
        finding = audit.findings_for("auditor").set_index("finding").loc["k_anonymity@linking#ill"]
        assert (finding["value"], finding["verdict"], audit.verdict) == (smallest, verdict, verdict)


@pytest.mark.thorough
@given(
    seed=st.integers(0, 10_000),
    gaps=st.booleans(),
    imputed=st.booleans(),
    sparse=st.booleans(),
    scaler=st.sampled_from([None, StandardScaler(), MinMaxScaler(), MaxAbsScaler()]),
    booster=st.sampled_from(["gbtree", "dart"]),
)
def test_whatever_a_pipeline_that_ends_in_xgboost_does_before(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    gaps: bool,
    imputed: bool,
    sparse: bool,
    scaler: Any,
    booster: str,
) -> None:
    table, ill = people(seed, gaps=gaps)
    estimator = xgboost.XGBClassifier(**XGB, booster=booster, rate_drop=0.5 if booster == "dart" else None)
    model = pipeline(estimator, scaler=scaler, imputed=imputed, sparse=sparse).fit(table, ill)
    assert_audited_as_it_predicts(model, table, ill, tmp_path_factory.mktemp("audit"))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("scaler", [None, MinMaxScaler(), MaxAbsScaler()])
def test_whole_numbers_that_may_be_absent_entries_are_audited_as_values(
    tmp_path: Path, scaler: Any, gaps: bool
) -> None:
    """The model is given 0, or what scaling makes of the smallest age, as missing; no test of a release parts it so."""
    table, ill = people(1, gaps=gaps)
    model = pipeline(xgboost.XGBClassifier(**XGB), scaler=scaler, imputed=gaps, sparse=True).fit(table, ill)
    audit = assert_audited_as_it_predicts(model, table, ill, tmp_path)
    assert "inconclusive" not in set(audit.findings["verdict"])
    policy = (tmp_path / "policy.yaml").read_text()
    listed = re.search(r'"visits": {.*?values: (\[.*?\])}', policy)
    assert listed is not None
    assert json.loads(listed[1])[:2] == ["0", "1"]
    numbers = policy.replace(f"values: {listed[1]}", "bounds: [0, 5], step: 1", 1)
    (tmp_path / "policy.yaml").write_text(numbers)
    ended = command("audit", tmp_path / "policy.yaml")
    assert (ended.code, "takes 0 for missing" in ended.err) == (2, True)


def test_a_number_that_may_be_an_absent_entry_is_refused_with_what_to_do(tmp_path: Path) -> None:
    table, ill = people(1, gaps=False)
    table["visits"] = table["visits"] / 4
    model = pipeline(xgboost.XGBClassifier(**XGB), scaler=None, imputed=False, sparse=True).fit(table, ill)
    with pytest.raises(ReleaseError, match=r"takes 0 for missing in 'visits'.*`values`.*sparse_threshold=0"):
        leafgate.audit(model, table, ill, limits=SMALL)


def test_a_pipeline_that_ends_in_lightgbm_is_audited_as_it_predicts(tmp_path: Path) -> None:
    """To LightGBM 0 is a number in a sparse matrix, too."""
    table, ill = people(2, gaps=False)
    estimator = lightgbm.LGBMClassifier(n_estimators=3, max_depth=3, n_jobs=1, verbose=-1)
    model = pipeline(estimator, scaler=StandardScaler(), imputed=False, sparse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM warns of columns without names
        model.fit(table, ill)
        assert_audited_as_it_predicts(model, table, ill, tmp_path)


def test_an_encoding_says_that_a_booster_was_given_a_sparse_matrix(tmp_path: Path) -> None:
    table, ill = people(3, gaps=False)
    encoder = OneHotEncoder().fit(table[["ward", "job"]])
    estimator = xgboost.XGBClassifier(**XGB).fit(encoder.transform(table[["ward", "job"]]), ill)
    estimator.get_booster().save_model(tmp_path / "model.json")
    pairs = [
        (name, value) for name, values in zip(["ward", "job"], encoder.categories_, strict=True) for value in values
    ]
    found = {}
    for zero in ({}, {"zero": "missing"}):
        encoding = {f"f{i}": {"column": name, "value": value, **zero} for i, (name, value) in enumerate(pairs)}
        asked = {name: encoding[name] for name in estimator.get_booster().get_score()}
        audit = leafgate.audit(
            tmp_path / "model.json", table[["ward", "job"]], ill, limits=SMALL, encoding=asked, search_remedies=False
        )
        found[bool(zero)] = audit.verdict
        assert audit.artifact is not None
        text = audit.to_policy(tmp_path / "files")
        session = open_session(tmp_path / "files" / "policy.yaml")
        assert ("zero: missing" in text) == bool(zero)
        rows = encoder.transform(session.table.frame[["ward", "job"]].astype(str))
        alike = np.array_equal(predict(audit.artifact.release, session.table), estimator.predict(rows))
        assert alike == bool(zero)
    assert found[False] == "inconclusive"  # it counts other people than the file
    assert found[True] != "inconclusive"


def test_the_zeros_of_a_sparse_matrix_are_missing_cells_of_its_table() -> None:
    """What the error says of a sparse X, and what the audit says of the same X with zeros."""
    table, ill = people(3, gaps=False)
    matrix = OneHotEncoder().fit_transform(table[["ward", "job"]])
    model = xgboost.XGBClassifier(**XGB).fit(matrix, ill)
    with pytest.raises(DataError, match=r"put NaN in place of its zeros"):
        leafgate.audit(model, matrix, ill, limits=SMALL)
    dense = matrix.toarray()
    with_zeros = leafgate.audit(model, dense, ill, limits=SMALL, search_remedies=False)
    assert with_zeros.verdict == "inconclusive"
    assert "zero: missing" in json.dumps(document(with_zeros.report, "auditor"))
    with_gaps = leafgate.audit(model, np.where(dense == 0, np.nan, dense), ill, limits=SMALL, search_remedies=False)
    smallest = np.unique(model.apply(matrix), axis=0, return_counts=True)[1].min()
    assert with_gaps.verdict == ("pass" if smallest >= 5 else "fail")


def test_a_pipeline_whose_last_step_takes_categories_is_refused(tmp_path: Path) -> None:
    table, ill = people(3, gaps=False)
    frame = table[["ward", "age"]].astype({"ward": "category"})
    model = make_pipeline("passthrough", xgboost.XGBClassifier(**XGB, enable_categorical=True)).fit(frame, ill)
    with pytest.raises(ReleaseError, match=r"takes categories|was it fitted"):
        leafgate.audit(model, frame, ill, limits=SMALL)


@pytest.mark.parametrize("missing", [0, -999.0])
def test_a_number_that_xgboost_is_told_to_take_for_missing_is_refused(missing: float) -> None:
    """The file does not say it."""
    table, ill = people(3, gaps=False)
    model = xgboost.XGBClassifier(**XGB, missing=missing).fit(table[["age", "visits"]], ill)
    with pytest.raises(ReleaseError, match="takes a number for missing"):
        leafgate.audit(model, table[["age", "visits"]], ill, limits=SMALL)


def test_a_scrubbed_pipeline_with_sparse_input_predicts_as_the_pipeline(tmp_path: Path) -> None:
    table, ill = people(4, gaps=False)
    model = pipeline(xgboost.XGBClassifier(**XGB), scaler=StandardScaler(), imputed=False, sparse=True).fit(table, ill)
    audit = leafgate.audit(model, table, ill, limits=SMALL, roles=VISITS, search_remedies=False)
    audit.to_policy(tmp_path)
    policy = tmp_path / "policy.yaml"
    ended = command("scrub", tmp_path / "model.json", tmp_path / "new.json", "--leaves", "shares", "--policy", policy)
    assert (ended.code, "all records of the table" in ended.out) == (0, True)
    policy.write_text(policy.read_text().replace("model.json", "new.json"))
    assert_predicts_as(model, table, policy)


def test_a_pickled_pipeline_is_converted_by_who_trusts_it_to_the_file_that_is_audited(tmp_path: Path) -> None:
    table, ill = people(5, gaps=True)
    model = pipeline(xgboost.XGBClassifier(**XGB), scaler=StandardScaler(), imputed=True, sparse=False).fit(table, ill)
    leafgate.audit(model, table, ill, limits=SMALL, search_remedies=False).to_policy(tmp_path)
    for thing, name in ((model, "pipeline"), (model[-1], "estimator")):
        joblib.dump(thing, tmp_path / f"{name}.joblib")
        made = tmp_path / f"{name}.json"
        assert command("convert", tmp_path / f"{name}.joblib", made).code == 2
        assert command("convert", tmp_path / f"{name}.joblib", made, "--trust").code == 0
    assert (tmp_path / "pipeline.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert read_foreign((tmp_path / "estimator.json").read_bytes(), "m").producer.startswith("XGBoost")


def margins_of(estimator: Any, rows: Any) -> Any:
    """The sum of the trees for each row, before it becomes probabilities, by the library's own word."""
    if isinstance(estimator, xgboost.XGBModel):
        found = estimator.predict(rows, output_margin=True)
    else:
        found = estimator.booster_.predict(rows, raw_score=True)
    return np.asarray(found, dtype=float).reshape(len(rows), -1)


def assert_adds_up_as(read: ModelIR, estimator: Any, rows: Any) -> None:
    """The trees of the file add up, on both sides of every threshold, to what the estimator adds up."""
    given = around_every_threshold(read, rows)
    scores, expected = votes(read, given), margins_of(estimator, given)
    scores = scores[:, -expected.shape[1] :]
    assert scores == pytest.approx(expected, abs=4e-6 * max(1.0, float(abs(expected).max())))


def lgbm(kind: Any = lightgbm.LGBMClassifier) -> Any:
    return kind(n_estimators=4, max_depth=3, n_jobs=1, verbose=-1)


ALONE: dict[str, tuple[Callable[[], Any], str]] = {
    "xgb": (lambda: xgboost.XGBClassifier(**XGB), "ill"),
    "xgb of three classes": (lambda: xgboost.XGBClassifier(**XGB), "ward"),
    "xgb dart": (lambda: xgboost.XGBClassifier(**XGB, booster="dart", rate_drop=0.5), "ill"),
    "xgb forest": (lambda: xgboost.XGBRFClassifier(n_estimators=3, max_depth=3), "ill"),
    "xgb of numbers": (lambda: xgboost.XGBRegressor(**XGB), "visits"),
    "lgbm": (lgbm, "ill"),
    "lgbm of four classes": (lgbm, "ward"),
    "lgbm of numbers": (lambda: lgbm(lightgbm.LGBMRegressor), "visits"),
}


@pytest.mark.filterwarnings("ignore:.XGBRFClassifier:FutureWarning")  # deprecated from XGBoost 3.4 on
@pytest.mark.parametrize("case", ALONE)
def test_a_skops_file_of_a_booster_is_read_as_it_predicts(case: str) -> None:
    table, ill = people(6, gaps=True)
    make, target = ALONE[case]
    y: Any = {"ill": ill, "ward": table["ward"], "visits": table["visits"]}[target]
    if case.startswith("xgb") and target == "ward":
        y = y.map(WARDS.index) % 3
    elif target == "ill" and case == "lgbm":
        y = np.where(ill == 1, "yes", "no")
    x = table[["age"]].assign(size=np.arange(len(table)) % 7)
    estimator = make().fit(x, y)
    read = read_foreign(skops.io.dumps(estimator), "model.skops")
    assert read.features == ("age", "size")
    assert read.classes == tuple(map(str, getattr(estimator, "classes_", ())))
    assert (read.format, read.producer.rpartition(" ")[2]) == ("skops", type(estimator).__name__)
    assert_adds_up_as(read, estimator, x.to_numpy())
    assert {each.kind for each in read.discloses}.isdisjoint({"other_content", "not_stated"})


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("library", ["xgb", "lgbm"])
def test_a_skops_file_of_a_pipeline_that_ends_in_a_booster_is_audited_as_it_predicts(
    tmp_path: Path, library: str, sparse: bool
) -> None:
    table, ill = people(7, gaps=True)
    estimator = xgboost.XGBClassifier(**XGB) if library == "xgb" else lgbm()
    scaler = None if sparse else StandardScaler()
    model = pipeline(estimator, scaler=scaler, imputed=True, sparse=sparse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, ill)
        skops.io.dump(model, tmp_path / "model.skops")
        audit = leafgate.audit(tmp_path / "model.skops", table, ill, limits=SMALL, roles=VISITS, search_remedies=False)
        audit.to_policy(tmp_path / "files")
        assert_predicts_as(model, table, tmp_path / "files" / "policy.yaml")
    smallest = np.unique(leaves_of(model, table), axis=0, return_counts=True)[1].min()
    finding = audit.findings_for("auditor").set_index("finding").loc["k_anonymity@linking#ill"]
    assert (finding["value"], finding["verdict"]) == (smallest, "pass" if smallest >= 5 else "fail")
    assert "inconclusive" not in set(audit.findings["verdict"])  # the file counts the people of this table


def test_the_skops_file_of_a_search_over_settings_is_read_as_its_best_booster() -> None:
    table, ill = people(8, gaps=False)
    search = GridSearchCV(lgbm(), {"num_leaves": [3, 6]}, cv=2).fit(table[["age", "visits"]], ill)
    read = read_foreign(skops.io.dumps(search), "model.skops")
    assert_adds_up_as(read, search.best_estimator_, table[["age", "visits"]].to_numpy())
    assert "search_results" in {each.kind for each in read.discloses}


def test_a_skops_file_of_a_bare_booster_is_read_as_its_own_file() -> None:
    table, ill = people(8, gaps=False)
    x = table[["age", "visits"]]
    boosters: list[tuple[Any, Callable[[Any], bytes]]] = [
        (lgbm().fit(x, ill).booster_, lambda booster: booster.model_to_string().encode()),
        (xgboost.XGBClassifier(**XGB).fit(x, ill).get_booster(), lambda booster: bytes(booster.save_raw("json"))),
    ]
    for booster, own_file in boosters:
        read, own = read_foreign(skops.io.dumps(booster), "m.skops"), read_foreign(own_file(booster), "m")
        assert (read.features, read.classes, read.base) == (own.features, own.classes, own.base)
        for tree, twin in zip(read.trees, own.trees, strict=True):
            assert np.array_equal(tree.threshold, twin.threshold, equal_nan=True)
            assert np.array_equal(tree.values, twin.values, equal_nan=True)


def test_the_state_of_xgboost_names_the_parameters_that_its_file_leaves_out() -> None:
    table, ill = people(8, gaps=False)
    estimator = xgboost.XGBClassifier(**XGB, learning_rate=0.25, subsample=0.5).fit(table[["age"]], ill)
    learner = read_foreign(skops.io.dumps(estimator), "m").learner
    assert learner is not None
    assert learner.unknown == ()
    wanted = {"learning_rate": 0.25, "subsample": 0.5, "max_depth": 3, "n_estimators": 3}
    assert {name: learner.parameters[name] for name in wanted} == wanted


def test_a_booster_of_lightgbm_that_predicts_with_its_first_trees_is_refused_with_what_to_do() -> None:
    """Fitting drops the trees after the best one, unless it is told to keep them."""
    table, ill = people(9, gaps=False)
    x = table[["age"]]
    stop = lightgbm.early_stopping(3, verbose=False)
    estimator = lightgbm.LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1, learning_rate=0.02)
    estimator.fit(x[:200], ill[:200], eval_X=x[200:], eval_y=ill[200:], callbacks=[stop])
    assert 2 < estimator.best_iteration_ < 50
    read = read_foreign(skops.io.dumps(estimator), "m")
    assert len(read.trees) == estimator.best_iteration_
    assert_adds_up_as(read, estimator, x.to_numpy())
    estimator.booster_.best_iteration = 2
    with pytest.raises(ReleaseError, match=r"holds trees with which it does not predict.*save_model"):
        read_foreign(skops.io.dumps(estimator), "m")


def test_estimators_of_skops_files_that_predict_something_else_than_their_booster_are_refused() -> None:
    table, ill = people(9, gaps=False)
    x = table[["age", "visits"]]
    with pytest.raises(ReleaseError, match="takes a number for missing"):
        read_foreign(skops.io.dumps(xgboost.XGBClassifier(**XGB, missing=0).fit(x, ill)), "m")
    raw = xgboost.XGBClassifier(**XGB, objective="binary:logitraw").fit(x, ill)
    assert np.array_equal(raw.predict(x), raw.predict(x, output_margin=True) > 0.5)
    with pytest.raises(ReleaseError, match=r"sums above 0\.5 for its second class"):
        read_foreign(skops.io.dumps(raw), "m")
    with pytest.raises(ReleaseError, match=r"sums above 0\.5 for its second class"):
        leafgate.audit(raw, x, ill, limits=SMALL)
    ranker = lightgbm.LGBMRanker(n_estimators=2, verbose=-1).fit(x, ill, group=[len(x)])
    with pytest.raises(ReleaseError, match="that is not read"):
        read_foreign(skops.io.dumps(ranker), "m")


def test_settings_of_a_booster_that_contradict_its_model_are_refused() -> None:
    """XGBoost takes the objective of the settings, which stand before the model."""
    table, ill = people(9, gaps=False)
    content = skops.io.dumps(xgboost.XGBClassifier(**XGB).fit(table[["age"]], ill))
    entries = entries_of(content)
    name = next(each for each in entries if each.endswith(".bin"))
    entries[name] = entries[name].replace(b"binary:logistic", b"binary:logitraw", 2)
    with pytest.raises(ReleaseError, match="another `objective` in its settings"):
        read_foreign(with_entries(entries), "m")


def test_a_file_within_a_booster_is_read_by_no_other_reader() -> None:
    """A zip may hold itself."""
    table, ill = people(9, gaps=False)
    content = skops.io.dumps(xgboost.XGBClassifier(**XGB).fit(table[["age"]], ill))
    entries = entries_of(content)
    name = next(each for each in entries if each.endswith(".bin"))
    with pytest.raises(ReleaseError, match=r"no model of a format that is known here.*known: xgboost"):
        read_foreign(with_entries({**entries, name: content}), "m")


def test_bytes_and_texts_that_no_model_needs_are_other_content() -> None:
    table, ill = people(9, gaps=False)
    estimator = xgboost.XGBClassifier(**XGB).fit(table[["age"]], ill)
    estimator.notes = bytes(table["age"].astype(int).tolist())
    found = {each.kind: each.severity for each in read_foreign(skops.io.dumps(estimator), "m").discloses}
    assert found["other_content"] == "high"
    content = skops.io.dumps(xgboost.XGBClassifier(**XGB).fit(table[["age"]], ill))
    entries = entries_of(content)
    name = next(each for each in entries if each.endswith(".bin"))
    secret = b"Anna Bergstrom is 41, ill, and lives in the north"
    key = b"random_stateSL" + len(secret).to_bytes(8, "big") + secret
    entries[name] = entries[name].replace(b"random_stateSL" + (1).to_bytes(8, "big") + b"0", key)
    assert secret in entries[name]
    found = {each.kind: each.severity for each in read_foreign(with_entries(entries), "m").discloses}
    assert found["other_content"] == "high"


OPTIONS: dict[str, Callable[[], Any]] = {
    "classes with weights": lambda: lgbm().set_params(class_weight={0: 1, 1: 3}, random_state=3),
    "balanced classes": lambda: lgbm().set_params(class_weight="balanced", monotone_constraints=[1, 0]),
    "settings of LightGBM": lambda: lgbm().set_params(metric=["auc", "binary_logloss"], extra_trees=True, lambda_l2=3),
    "constraints of XGBoost": lambda: xgboost.XGBClassifier(
        **XGB, monotone_constraints={"age": 1}, interaction_constraints="[[0], [1]]", random_state=4
    ),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_settings_of_boosters_in_skops_files_are_no_other_content(case: str) -> None:
    table, ill = people(9, gaps=False)
    x = table[["age", "visits"]]
    estimator = OPTIONS[case]().fit(x, ill)
    read = read_foreign(skops.io.dumps(estimator), "m")
    assert "other_content" not in {each.kind for each in read.discloses}
    assert_adds_up_as(read, estimator, x.to_numpy())


def test_what_early_stopping_writes_is_a_loss_and_no_other_content() -> None:
    table, ill = people(9, gaps=False)
    x = table[["age"]]
    estimator = xgboost.XGBClassifier(n_estimators=9, early_stopping_rounds=9, n_jobs=1, eval_metric=["auc", "logloss"])
    estimator.fit(x, ill, eval_set=[(x, ill)], verbose=False)
    if estimator.best_iteration != 8:  # the last round, with which it predicts, is the best
        pytest.skip("another round was the best")
    for content in (skops.io.dumps(estimator), bytes(estimator.get_booster().save_raw("json"))):
        kinds = {each.kind for each in read_foreign(content, "m").discloses}
        assert ("training_loss" in kinds, "other_content" in kinds) == (True, False)


def test_a_skops_file_of_catboost_is_refused_by_its_class() -> None:
    class CatBoostClassifier:
        """As a skops file names it; its model is bytes that CatBoost alone reads."""

    with pytest.raises(ReleaseError, match=r"CatBoostClassifier.*format=\"json\""):
        read_foreign(skops.io.dumps(make_pipeline(CatBoostClassifier())), "m")
