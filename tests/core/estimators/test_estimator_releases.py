"""What estimators predict, publish and claim, beside the release and beside what a policy builds."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import leafgate
from leafgate import Table
from leafgate.algorithms import prediction
from leafgate.api import leaves, typed_column
from leafgate.app import build_release, open_session, read_release
from leafgate.estimators import (
    InvalidInputError,
    KAnonymousTreeClassifier,
    NoTreeError,
    PerturbedTreeClassifier,
    PrivateForestClassifier,
)

JOBS = ("clerk", "cook", "guard", "nurse")


def people(rows: int = 200, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """People with a number, a category and a truth value, and a class that depends on all of them."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 70, rows), rng.choice(JOBS, rows)
    smokes = rng.random(rows) < 0.4
    rich = (age > 40) ^ (job == "cook") ^ (smokes & (job == "guard")) ^ (rng.random(rows) < 0.1)
    frame = pd.DataFrame({"age": age, "job": job, "smokes": smokes})
    return frame, pd.Series(np.where(rich, "high", "low"), name="wage")


DOMAINS: dict[str, Any] = {"age": (0, 100), "job": [*JOBS, "none"], "smokes": [False, True]}
POLICY_COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi_identifier", "bounds": [0, 100]},
    "job": {"role": "quasi_identifier", "values": [*JOBS, "none"]},
    "smokes": {"role": "quasi_identifier", "values": ["False", "True"]},
    "wage": {"role": ["class", "sensitive"], "values": ["low", "high"]},
}


def built_by_policy(
    folder: Path, X: pd.DataFrame, y: pd.Series, columns: Mapping[str, Any], build: Mapping[str, Any], seed: int = 0
) -> bytes:
    """The release file that `leafgate build` writes of the same people."""
    X.assign(**{str(y.name): y}).to_csv(folder / "people.csv", index=False)
    document = {
        "leafgate": 1,
        "name": "wages",
        "data": {"path": "people.csv", "columns": columns},
        "build": build,
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 1}],
        "seed": seed,
    }
    (folder / "policy.yaml").write_text(json.dumps(document))
    run = open_session(folder / "policy.yaml")
    return build_release(run.policy, run.plugins, run.table).content


def exported(estimator: Any, folder: Path) -> bytes:
    path = estimator.export(folder / "release.json")
    return Path(path).read_bytes()


@pytest.mark.parametrize("options", [{"k": 5}, {"k": 3, "measure": "gini", "prune": False, "publish_table": True}])
def test_a_tree_is_byte_for_byte_what_a_policy_builds(tmp_path: Path, options: dict[str, Any]) -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier(**options, domains=DOMAINS, classes=["low", "high"]).fit(X, y)
    assert exported(tree, tmp_path) == built_by_policy(tmp_path, X, y, POLICY_COLUMNS, {"use": "kadet", **options})


@pytest.mark.parametrize("as_file", [True, False])
def test_a_tree_with_a_hierarchy_is_byte_for_byte_what_a_policy_builds(tmp_path: Path, as_file: bool) -> None:
    X, y = people(80)  # 20 of each job or so: only groups of jobs have 25 people
    X, y = X[["job"]], pd.Series(np.where(X["job"].isin(["cook", "guard"]), "high", "low"), name="wage")
    groups = {"clerk": ["office"], "cook": ["hands"], "guard": ["hands"], "nurse": ["office"], "none": ["office"]}
    file = tmp_path / "jobs.csv"
    file.write_text("".join(f"{value};{';'.join(names)}\n" for value, names in groups.items()))
    domain = {"values": [*JOBS, "none"], "hierarchy": file if as_file else groups}
    tree = KAnonymousTreeClassifier(k=25, domains={"job": domain}, classes=["low", "high"]).fit(X, y)
    columns = {"job": POLICY_COLUMNS["job"] | {"hierarchy": "jobs.csv"}, "wage": POLICY_COLUMNS["wage"]}
    assert exported(tree, tmp_path) == built_by_policy(tmp_path, X, y, columns, {"use": "kadet", "k": 25})
    assert "('cook', 'guard')" in str(tree.release_.trees)


def test_a_tree_from_perturbed_numbers_is_byte_for_byte_the_rehearsal_of_a_policy(tmp_path: Path) -> None:
    X, y = people()
    X = X[["age"]].assign(height=np.random.default_rng(1).normal(170, 9, len(X)).round())
    columns = {
        "age": {"role": "private", "bounds": [0, 100]},
        "height": {"role": "private", "bounds": [100, 250]},
        "wage": {"role": ["class", "quasi_identifier"], "values": ["high", "low"]},
    }
    domains = {"age": (0, 100), "height": (100, 250)}
    tree = PerturbedTreeClassifier({"snr": 2.0}, domains=domains, classes=["high", "low"], random_state=7).fit(X, y)
    build = {"use": "ppdtc45", "noise": {"snr": 2.0}, "rehearsal": True}
    assert exported(tree, tmp_path) == built_by_policy(tmp_path, X, y, columns, build, seed=7)


def test_a_forest_with_a_seed_is_the_rehearsal_of_a_policy_without_its_claim(tmp_path: Path) -> None:
    X, y = people()
    options = {"trees": 4, "combine": "sum"}
    forest = PrivateForestClassifier(None, **options, domains=DOMAINS, classes=["low", "high"], random_state=7)  # type: ignore[arg-type]
    release = json.loads(exported(forest.fit(X, y), tmp_path))
    build = {"use": "dp_random_trees", **options, "rehearsal": True}
    built = json.loads(built_by_policy(tmp_path, X, y, POLICY_COLUMNS, build, seed=7))
    assert built.pop("guarantee")["epsilon"]
    assert release.pop("guarantee") == {}
    assert release == built


def test_an_exported_release_is_read_back_as_release_(tmp_path: Path) -> None:
    tree = KAnonymousTreeClassifier().fit(*people())
    read = read_release(exported(tree, tmp_path), "release").release
    assert isinstance(tree.release_, leafgate.Release)
    assert (read.trees, read.guarantee) == (tree.release_.trees, tree.release_.guarantee)
    assert read.schema.described() == tree.release_.schema.described()


MIXED = st.lists(
    st.tuples(
        st.integers(-3, 3) | st.floats(-3, 3, allow_nan=False).map(lambda number: round(number, 2)),
        st.sampled_from(["a", "b", "c d", ""]),
        st.booleans(),
        st.sampled_from([2, 10, 33]),
    ),
    min_size=6,
    max_size=60,
)


def mixed(rows: list[tuple[Any, ...]]) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    frame = pd.DataFrame(rows, columns=["number", "text", "truth", "label"])
    return frame[["number", "text", "truth"]], frame["label"].to_numpy()


def table_of(X: pd.DataFrame, release: leafgate.Release) -> Table:
    """The rows of X as a table over the release's columns, in their order."""
    texts = X.assign(truth=X["truth"].astype(str))
    typed = {column.name: typed_column(column, texts[column.name].tolist()) for column in release.schema.features}
    return Table(release.schema, pd.DataFrame(typed), np.ones(len(X), dtype=np.int64))


@given(MIXED)
def test_predictions_of_a_tree_are_those_of_its_release(rows: list[tuple[Any, ...]]) -> None:
    X, y = mixed(rows)
    tree = KAnonymousTreeClassifier(k=2).fit(X, y)
    table = table_of(X, tree.release_)
    codes = prediction.predict(tree.release_, table)
    assert tree.predict(X).tolist() == [int(tree.release_.classes[code]) for code in codes]
    scores = prediction.class_scores(tree.release_, table)
    expected = scores[:, [tree.release_.classes.index(str(label)) for label in tree.classes_]]
    assert np.array_equal(tree.predict_proba(X), expected)


@given(MIXED, st.integers(0, 3))
def test_predictions_of_a_forest_are_those_of_its_release(rows: list[tuple[Any, ...]], seed: int) -> None:
    X, y = mixed(rows * 20)
    forest = PrivateForestClassifier(None, trees=4, k=20, combine="sum", random_state=seed).fit(X, y)
    codes = prediction.predict(forest.release_, table_of(X, forest.release_))
    predicted = forest.predict(X)
    for label, code in zip(predicted.tolist(), codes.tolist(), strict=True):
        if code >= 0:
            assert str(label) == forest.release_.classes[code]
    assert len(set(predicted[codes < 0].tolist())) <= 1


@given(MIXED, st.integers(2, 5))
def test_every_leaf_of_a_tree_that_counts_anybody_counts_k_people(rows: list[tuple[Any, ...]], k: int) -> None:
    X, y = mixed(rows)
    tree = KAnonymousTreeClassifier(k=k, prune=False).fit(X, y)
    assert all(leaf.size == 0 or (leaf.size or 0) >= k for leaf in leaves(tree.release_.trees[0]))
    assert tree.claim_ == {"k": k}


@given(
    st.sampled_from([None, 0, 7]),
    st.sets(st.sampled_from(["age", "job", "smokes"])),
    st.booleans(),
)
def test_a_forest_claims_epsilon_only_with_declared_domains_and_the_coins_of_the_system(
    seed: int | None, declared: set[str], with_classes: bool
) -> None:
    X, y = people()
    domains = {name: domain for name, domain in DOMAINS.items() if name in declared}
    forest = PrivateForestClassifier(
        None,
        trees=2,
        combine="sum",
        domains=domains,
        classes=["low", "high"] if with_classes else None,
        random_state=seed,
    ).fit(X, y)
    honest = seed is None and len(declared) == 3 and with_classes
    assert set(forest.claim_) == ({"epsilon"} if honest else set())
    assert forest.release_.claims_differential_privacy is honest
    assert forest.release_.builder["rehearsal"] is not honest
    assert forest.claim_reason_.startswith("The domains and" if honest else "No epsilon is claimed")
    if not honest:
        assert ("random_state" in forest.claim_reason_) == (seed is not None)
        assert ("taken from the data" in forest.claim_reason_) == (len(declared) < 3 or not with_classes)


def private_forest() -> PrivateForestClassifier:
    """A small forest that claims its epsilon."""
    return PrivateForestClassifier(None, trees=2, combine="sum", domains=DOMAINS, classes=["low", "high"])


class ReadableAtLast(BaseEstimator):  # type: ignore[misc]
    """A search whose `best_params_` cannot be read before its fit has ended, as those of Optuna."""

    def __init__(self, estimator: Any, grid: dict[str, Any], error: type[Exception]) -> None:
        self.estimator = estimator
        self.grid = grid
        self.error = error

    @property
    def best_params_(self) -> dict[str, Any]:
        if not hasattr(self, "refitted_"):
            raise self.error("nothing was chosen yet")
        return {name: values[0] for name, values in self.grid.items()}

    def fit(self, X: Any, y: Any) -> ReadableAtLast:
        chosen = {name: values[0] for name, values in self.grid.items()}
        self.best_estimator_ = clone(self.estimator).set_params(**chosen).fit(X, y)
        self.refitted_ = True
        return self


SEARCHES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "grid": lambda estimator, grid: GridSearchCV(estimator, grid, cv=2),
    "grid in two processes": lambda estimator, grid: GridSearchCV(estimator, grid, cv=2, n_jobs=2),
    "random": lambda estimator, grid: RandomizedSearchCV(estimator, grid, n_iter=1, cv=2),
    "halving": lambda estimator, grid: HalvingGridSearchCV(estimator, grid, cv=2),
    "own refit": lambda estimator, grid: GridSearchCV(estimator, grid, cv=2, refit=lambda results: 0),
    "not fitted before its end": lambda estimator, grid: ReadableAtLast(estimator, grid, NotFittedError),
    "an error before its end": lambda estimator, grid: ReadableAtLast(estimator, grid, ValueError),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.thorough
def test_a_forest_that_a_search_chose_claims_nothing(kind: str, in_pipeline: bool) -> None:
    X, y = people()
    model = make_pipeline("passthrough", private_forest()) if in_pipeline else private_forest()
    search = SEARCHES[kind](model, {"privateforestclassifier__k" if in_pipeline else "k": [20, 30]}).fit(X, y)
    get_reusable_executor().shutdown()
    best = pickle.loads(pickle.dumps(search.best_estimator_))
    forest = best[-1] if in_pipeline else best
    assert (forest.claim_, dict(forest.release_.guarantee)) == ({}, {})
    assert forest.release_.builder["rehearsal"] is True
    assert f"{type(search).__name__} chose the parameters by the data" in forest.claim_reason_
    audit = leafgate.audit(forest, X, y, limits={"differential_privacy": 10}, search_remedies=False)
    assert audit.verdict == "inconclusive"


@pytest.mark.parametrize("kind", ["fitted", "cloned and fitted", "in a pipeline", "scored before", "after a search"])
def test_a_forest_that_no_search_chose_claims_its_epsilon(kind: str) -> None:
    X, y = people()
    forest = private_forest()
    if kind == "scored before":
        cross_val_score(forest, X, y, cv=2)
    if kind == "after a search":
        GridSearchCV(forest, {"k": [20, 30]}, cv=2).fit(X, y)
    fitted = make_pipeline("passthrough", forest) if kind == "in a pipeline" else forest
    fitted = (clone(fitted) if kind == "cloned and fitted" else fitted).fit(X, y)
    forest = fitted[-1] if kind == "in a pipeline" else fitted
    assert set(forest.claim_) == set(forest.release_.guarantee) == {"epsilon"}
    assert forest.release_.builder["rehearsal"] is False


def test_a_tree_from_perturbed_numbers_claims_nothing_and_says_why() -> None:
    X, y = people()
    tree = PerturbedTreeClassifier(domains={"age": (0, 100)}, classes=["low", "high"]).fit(X[["age"]], y)
    assert tree.claim_ == {}
    assert tree.claim_reason_.startswith("PPDTC4.5 claims nothing")
    assert "rehearsal" not in tree.claim_reason_
    assert tree.release_.builder["rehearsal"] is False
    seeded = clone(tree).set_params(random_state=0).fit(X[["age"]], y)
    assert "rehearsal" in seeded.claim_reason_


def test_a_fitted_estimator_keeps_no_row_of_the_data() -> None:
    X, y = people()
    X["age"] = X["age"] + 0.123456789
    tree = PerturbedTreeClassifier(domains={"age": (0, 100)}, random_state=0).fit(X[["age"]], y)
    forest = PrivateForestClassifier(None, trees=2, combine="sum", domains=DOMAINS, random_state=0).fit(X, y)
    for fitted in (tree, forest):
        content = pickle.dumps(fitted)
        assert not any(pickle.dumps(number)[-11:-1] in content for number in X["age"].tolist())
        assert (
            pickle.loads(content).predict(X[list(fitted.feature_names_in_)])
            == fitted.predict(X[list(fitted.feature_names_in_)])
        ).all()


def test_an_unknown_category_goes_where_most_people_are() -> None:
    X = pd.DataFrame({"job": ["clerk"] * 6 + ["cook"] * 4, "x": [0.0] * 10})
    tree = KAnonymousTreeClassifier(k=2, prune=False).fit(X, ["low"] * 6 + ["high"] * 4)
    unknown = pd.DataFrame({"job": ["pilot", "cook"], "x": [0.0, 0.0]})
    assert tree.predict(unknown).tolist() == ["low", "high"]
    assert tree.predict_proba(unknown).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_missing_cells_are_a_value_of_their_own_where_they_are_kept() -> None:
    X = pd.DataFrame({"job": ["clerk"] * 4 + [None] * 4, "x": [1.0, np.nan] * 4})
    y = ["low"] * 4 + ["high"] * 4
    with pytest.raises(InvalidInputError, match="column 'job' of X: Input X contains NaN: some cells are missing"):
        KAnonymousTreeClassifier(k=2).fit(X, y)
    tree = KAnonymousTreeClassifier(k=2, on_missing="keep").fit(X, y)
    assert tree.predict(X).tolist() == y
    assert tree.__sklearn_tags__().input_tags.allow_nan


def test_weights_are_people() -> None:
    X, y = people(60)
    weight = np.arange(60) % 3
    weighted = KAnonymousTreeClassifier(k=4).fit(X, y, sample_weight=weight)
    repeated = KAnonymousTreeClassifier(k=4).fit(X.loc[X.index.repeat(weight.tolist())], y.repeat(weight.tolist()))
    assert weighted.release_ == repeated.release_
    with pytest.raises(ValueError, match="sample_weight counts people"):
        KAnonymousTreeClassifier().fit(X, y, sample_weight=weight + 0.5)


@pytest.mark.parametrize(
    "kind",
    ["category", "object", "arrow", "polars", "polars category", "array"],
)
def test_the_same_people_give_the_same_tree_whatever_holds_them(kind: str) -> None:
    X, y = people()
    names = {"x0": "age", "x1": "job", "x2": "smokes"}
    makers: dict[str, Callable[[], Any]] = {
        "category": lambda: X.astype({"job": "category", "smokes": "category"}),
        "object": lambda: X.astype(object),
        "arrow": lambda: X.convert_dtypes(dtype_backend="pyarrow"),
        "polars": lambda: pl.DataFrame(X.to_dict("list")),
        "polars category": lambda: pl.DataFrame(X.to_dict("list")).with_columns(pl.col("job").cast(pl.Categorical)),
        "array": lambda: X.to_numpy(dtype=object),
    }
    held = makers[kind]()
    tree = KAnonymousTreeClassifier(k=3).fit(held, y)
    expected = KAnonymousTreeClassifier(k=3).fit(X, y)
    text = json.dumps(str(tree.release_.trees))
    for placeholder, name in names.items():
        text = text.replace(f"'{placeholder}'", f"'{name}'")
    assert text == json.dumps(str(expected.release_.trees))
    assert (tree.predict(held) == expected.predict(X)).all()


def test_labels_keep_their_types() -> None:
    X, _ = people(40)
    for labels in (np.array([10, 9]), np.array([True, False]), np.array([2.0, 1.0]), np.array(["b", "a"])):
        y = labels[(X["age"] > 40).to_numpy().astype(int)]
        tree = KAnonymousTreeClassifier(k=2).fit(X, y)
        assert tree.classes_.tolist() == sorted(labels.tolist())
        assert tree.predict(X).dtype == labels.dtype
        assert (tree.predict(X) == y).all()


def test_the_class_is_named_like_y_unless_a_column_has_that_name() -> None:
    X, y = people(40)
    tree = KAnonymousTreeClassifier(k=2)
    assert tree.fit(X, y).release_.target == "wage"
    assert tree.fit(X, y.rename("age")).release_.target == "class"
    assert tree.fit(X, y.to_numpy()).release_.target == "class"
    assert tree.fit(X.rename(columns={"age": "class"}), y.to_list()).release_.target == "class_"


def test_an_audit_in_memory_takes_an_estimator_for_its_release() -> None:
    X, _ = people(2000)
    X["share"] = np.where(X["age"] > 60, np.nan, X["age"] / 3)
    for y in ((X["age"] % 3).astype(float), X["age"] > 40, pd.Series(np.where(X["age"] > 40, 10, 9), name="age")):
        tree = KAnonymousTreeClassifier(k=10, on_missing="keep").fit(X, y)
        audit = leafgate.audit(tree, X, y, limits={"k_anonymity": 10}, search_remedies=False)
        assert audit.verdict == "pass"
        assert audit.artifact is not None
        assert audit.artifact.release.trees == tree.release_.trees


@pytest.mark.parametrize("on_missing", [None, "keep"])
def test_an_audit_in_memory_checks_the_claim_of_a_forest(on_missing: str | None) -> None:
    X, y = people(5000)
    forest = PrivateForestClassifier(
        None, trees=32, combine="sum", domains=DOMAINS, classes=["low", "high"], on_missing=on_missing
    ).fit(X, y)
    audit = leafgate.audit(forest, X, y, limits={"differential_privacy": 1}, search_remedies=False)
    assert [(finding.id, finding.passed) for finding in audit.report.findings] == [
        ("differential_privacy", True),
        ("guarantee:epsilon", True),
    ]


def test_an_audit_in_memory_passes_no_rehearsal() -> None:
    X, y = people()
    forest = PrivateForestClassifier(None, trees=8, combine="sum", domains=DOMAINS, random_state=0).fit(X, y)
    audit = leafgate.audit(forest, X, y, limits={"differential_privacy": 10}, search_remedies=False)
    assert audit.verdict == "inconclusive"
    assert "rehearsal" in [finding.id for finding in audit.report.findings]


def test_declared_classes_that_do_not_occur_have_probability_zero() -> None:
    X, y = people(40)
    tree = KAnonymousTreeClassifier(k=2, classes=["low", "middle", "high"]).fit(X, y)
    assert tree.classes_.tolist() == ["high", "low", "middle"]
    assert (tree.predict_proba(X)[:, 2] == 0).all()
    assert tree.release_.classes == ("low", "middle", "high")


def test_requirements_and_roles_are_those_of_the_builder() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier(
        k=2, require=[{"use": "confidence", "at_most": 0.9}], roles={"smokes": "private", "age": "ignored"}
    ).fit(X, y)
    assert tree.claim_ == {"k": 2, "confidence": [{"at_most": 0.9}]}
    assert [column.name for column in tree.release_.schema.features] == ["job", "smokes"]
    assert "private" in tree.release_.schema["smokes"].roles
    assert all(max((leaf.counts or {}).values()) <= 0.9 * (leaf.size or 0) for leaf in leaves(tree.release_.trees[0]))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an option": ({"measure": "entropy"}, "measure: should be 'gain', 'gain_ratio' or 'gini'"),
    "a k": ({"k": 0}, "k: should be greater than or equal to 1"),
    "a requirement": ({"require": [{"use": "l_diversty", "at_least": 2}]}, "require"),
    "a column": ({"domains": {"ag": (0, 1)}}, r"domains\['ag'\]: is no column of X \(did you mean 'age'\?\)"),
    "a role": ({"roles": {"age": "secret"}}, r"roles\['age'\]"),
    "a role of X": ({"roles": {"age": "weight"}}, r"roles\['age'\]: a column of X cannot be 'weight'"),
    "a role of the class": ({"roles": {"wage": "private"}}, r"roles\['wage'\]: is what y holds"),
    "a domain": ({"domains": {"age": "old"}}, r"domains\['age'\]: is neither two numbers nor a list of texts"),
    "bounds": ({"domains": {"age": (0, 30)}}, "column 'age' of X: some cells are outside of `domains`"),
    "values": ({"domains": {"job": ["clerk"]}}, "column 'job' of X: some cells are outside of `domains`"),
    "bounds of texts": ({"domains": {"job": (0, 1)}}, "column 'job' of X: has texts"),
    "classes": ({"classes": ["low"]}, "y: 1 label.s. are not among `classes`"),
    "a secret number": ({"roles": {"age": "sensitive"}}, "column 'age' of X: is a secret of numbers"),
    "a hierarchy": (
        {"domains": {"job": {"values": [*JOBS], "hierarchy": {"clerk": ["office"]}}}},
        r"domains\['job'\]\['hierarchy'\]: 3 value\(s\) of the domain have no line",
    ),
    "a hierarchy of nothing": (
        {"domains": {"job": {"hierarchy": {}}}},
        r"domains\['job'\]: a hierarchy needs `values`",
    ),
    "a file that is not there": (
        {"domains": {"job": {"values": [*JOBS], "hierarchy": "nowhere.csv"}}},
        r"domains\['job'\]\['hierarchy'\]: cannot be read",
    ),
    "on_missing": ({"on_missing": "drop"}, "on_missing: must be None or 'keep'"),
    "everything ignored": ({"roles": {"age": "ignored", "job": "ignored", "smokes": "identifier"}}, "no column of X"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_is_one_sentence_about_the_parameter(case: str) -> None:
    options, expected = WRONG[case]
    with pytest.raises(ValueError, match=expected) as raised:
        KAnonymousTreeClassifier(**options).fit(*people())
    assert isinstance(raised.value, leafgate.LeafgateError)
    assert "\n" not in str(raised.value)


def test_fewer_than_k_people_have_no_tree() -> None:
    with pytest.raises(NoTreeError, match="k"):
        KAnonymousTreeClassifier(k=50).fit(*people(30))


def test_an_error_about_cells_holds_none_of_them() -> None:
    X, y = people(40)
    X.loc[3, "job"] = "astronaut"
    with pytest.raises(ValueError, match="outside") as raised:
        KAnonymousTreeClassifier(domains={"job": JOBS}).fit(X, y)
    assert "astronaut" not in str(raised.value)


UNUSABLE: dict[str, tuple[Callable[[pd.DataFrame], Any], str]] = {
    "infinity": (lambda X: X.assign(age=np.inf), "column 'age' of X: Input X contains infinity"),
    "infinity in objects": (lambda X: X.assign(age=pd.Series([np.inf, 1] * 20, dtype=object)), "contains infinity"),
    "complex numbers": (lambda X: X.assign(age=1j), "column 'age' of X: Complex data not supported"),
    "days": (lambda X: X.assign(day=pd.Timestamp("2026-01-01")), "column 'day' of X: .* one is of datetime64"),
    "intervals": (lambda X: X.assign(age=pd.Categorical([pd.Interval(0, 1)] * 40)), "column 'age' of X: .*Interval"),
    "tuples": (lambda X: X.assign(job=pd.Series([(1,)] * 40, dtype=object)), "column 'job' of X: .* one is of tuple"),
    "nothing": (lambda X: X.assign(job=None), "column 'job' of X: Input X contains NaN"),
    "one row": (lambda X: X[:1], "1 sample"),
    "no columns": (lambda X: X[[]], "0 feature"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_data_frame_that_cannot_be_used_is_refused_by_its_column(case: str) -> None:
    change, expected = UNUSABLE[case]
    X, y = people(40)
    changed = change(X)
    with pytest.raises((ValueError, TypeError), match=expected):
        KAnonymousTreeClassifier().fit(changed, y[: len(changed)])
