import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate
from feature_rows import predicted, votes
from installed_readers import leaves_of, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import LEAF, ModelIR
from sklearn_pipelines import PIPELINES, as_frame, people
from sklearn_zoo import CLASSIFIERS, GAPLESS, REGRESSORS, Rows, answers, at_the_edges, fitted, rows, skops_bytes

CASES = [
    (name, classes, gaps)
    for name in CLASSIFIERS
    for classes in (2, 3)
    for gaps in (False, True)
    if not (gaps and name in GAPLESS) and not (name == "exponential" and classes > 2)
]


def everywhere(model: ModelIR, *, gaps: bool) -> Rows:
    """Training rows, other rows, and rows at the thresholds; codes it never saw left out."""
    made = np.concatenate([rows(1, gaps=gaps), rows(2, gaps=gaps), at_the_edges(model, rows(3, gaps=gaps))])
    return made


def in_its_order(model: ModelIR, made: Rows) -> Rows:
    """Rows with columns in the model's own order, codes as it codes them."""
    if model.origins is None:
        return made
    columns = []
    for origin in model.origins:
        assert origin is not None
        column = made[:, int(origin.column[1:])]
        codes = getattr(origin, "codes", None)
        texts = [str(int(x)) if x == x and x == int(x) else str(x) for x in column]
        columns.append(column if codes is None else np.array([codes.get(text, np.nan) for text in texts]))
    return np.column_stack(columns)


@pytest.mark.parametrize(("name", "classes", "gaps"), CASES)
def test_a_model_read_predicts_what_the_library_predicts(name: str, classes: int, gaps: bool) -> None:
    model = fitted(name, classes, gaps=gaps)
    for read in (leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "model.skops")):
        made = everywhere(read, gaps=gaps)
        mine = np.array(read.classes)[predicted(read, in_its_order(read, made))]
        assert (mine == model.predict(made)).all()


@pytest.mark.parametrize(
    ("name", "gaps"), [(n, g) for n in REGRESSORS for g in (False, True) if not (g and n in GAPLESS)]
)
def test_a_model_of_numbers_predicts_what_the_library_predicts(name: str, gaps: bool) -> None:
    model = fitted(name, 0, gaps=gaps)
    read = read_foreign(skops_bytes(model), "model.skops")
    made = everywhere(read, gaps=gaps)
    np.testing.assert_allclose(votes(read, in_its_order(read, made))[:, 0], model.predict(made), rtol=1e-13)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_memory_and_file_tell_the_same(name: str) -> None:
    model = fitted(name, 2, gaps=False)
    memory, file = leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "model.skops")
    assert neutral_file(memory).replace(b"scikit-learn in memory", b"skops") == neutral_file(file)


@pytest.mark.parametrize("name", ["tree", "entropy", "whole", "extra"])
def test_exact_counts_are_the_people_who_come_to_each_leaf(name: str) -> None:
    gaps = "entropy" not in GAPLESS  # before 1.6 scikit-learn's own apply disagrees with the counts it kept of gaps
    model = fitted(name, 3, gaps=gaps)
    read = leafgate.from_sklearn(model)
    assert (read.counted, read.level) == ("exact", "counts")
    given, labels = rows(1, gaps=gaps), truth(3, gaps=gaps)
    for tree in read.trees:
        where = leaves_of(tree, given)
        assert tree.counts is not None
        for leaf in tree.leaves:
            own = [(labels[where == leaf] == name).sum() for name in read.classes]
            assert tree.counts[leaf].tolist() == own


def truth(classes: int, *, gaps: bool) -> Any:
    return np.array(["low", "middle", "high"])[answers(rows(1, gaps=gaps), classes)]


def test_a_bootstraps_counts_are_never_people() -> None:
    read = leafgate.from_sklearn(fitted("forest", 2, gaps=False))
    assert (read.counted, read.level) == ("bootstrap", "counts")
    assert "bootstrap_rows" in {item.kind for item in read.discloses}


def test_weights_are_no_people_either() -> None:
    read = leafgate.from_sklearn(fitted("weighted", 2, gaps=False))
    assert (read.counted, read.leaf_level) == ("unknown", "shares")
    given, y = rows(1), answers(rows(1), 2)
    doubled = leafgate.from_sklearn(
        DecisionTreeClassifier(max_depth=2).fit(given, y, sample_weight=np.full(len(given), 2.0))
    )
    assert (doubled.counted, doubled.leaf_level) == ("unknown", "counts")


def test_boosting_tells_sizes_though_its_leaves_hold_scores() -> None:
    read = leafgate.from_sklearn(fitted("boosting", 2, gaps=False))
    assert (read.leaf_level, read.level) == ("shares", "counts")


GRADIENT: list[tuple[dict[str, Any], float, str]] = [
    ({}, 1, "exact"),
    ({}, 2, "unknown"),
    ({"subsample": 0.5}, 1, "sampled"),
    ({"n_iter_no_change": 2}, 1, "sampled"),
]
HISTOGRAM: list[tuple[dict[str, Any], str]] = [
    ({}, "unknown"),
    ({"early_stopping": True}, "sampled"),
    ({"early_stopping": True, "validation_fraction": None}, "unknown"),
]


@pytest.mark.parametrize(("options", "weight", "counted"), GRADIENT)
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_boosting_counts_everybody_only_where_nobody_was_left_out(
    kind: Any, options: dict[str, Any], weight: float, counted: str
) -> None:
    given = np.nan_to_num(rows(1))
    model = kind(n_estimators=3, **options).fit(given, answers(given, 2), sample_weight=np.full(len(given), weight))
    assert leafgate.from_sklearn(model).counted == counted
    assert read_foreign(skops_bytes(model), "m.skops").counted == counted


@pytest.mark.parametrize(("options", "counted"), HISTOGRAM)
@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_histogram_boosting_never_says_that_it_counts_everybody(
    kind: Any, options: dict[str, Any], counted: str
) -> None:
    model = kind(max_iter=3, **options).fit(rows(1), answers(np.nan_to_num(rows(1)), 2))
    assert leafgate.from_sklearn(model).counted == counted
    assert read_foreign(skops_bytes(model), "m.skops").counted == counted


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "holds a model of the class LogisticRegression, and not a decision tree"),
        (AdaBoostRegressor(), "holds a model of the class AdaBoostRegressor, and not a decision tree"),
        (DecisionTreeClassifier(), "was it fitted"),
        ("a text", "holds no estimator"),
    ],
    ids=["logistic", "adaboost", "unfitted", "text"],
)
def test_what_is_no_fitted_tree_is_refused_by_name(model: Any, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        leafgate.from_sklearn(model)


@pytest.mark.parametrize(
    ("model", "nearest"),
    [
        (AdaBoostRegressor(DecisionTreeRegressor(max_depth=2)), "fit a GradientBoostingRegressor"),
        (LogisticRegression(), "such as DecisionTreeClassifier"),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(DecisionTreeClassifier())), "all classes at once"),
    ],
    ids=["adaboost", "logistic", "pipeline"],
)
def test_a_file_of_another_class_is_refused_with_the_nearest_thing_that_is_read(model: Any, nearest: str) -> None:
    x = np.nan_to_num(rows(1))
    model.fit(x, answers(x, 2))
    kind = type(model[-1] if isinstance(model, Pipeline) else model).__name__
    with pytest.raises(ReleaseError, match=f"the class {kind}, .*{nearest}"):
        read_foreign(skops_bytes(model), "m.skops")


def test_several_outputs_are_refused() -> None:
    y = answers(rows(1), 2)
    with pytest.raises(ReleaseError, match="columns at once"):
        leafgate.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(rows(1), np.column_stack([y, 1 - y])))


def test_reading_a_skops_file_imports_no_scikit_learn(tmp_path: Any) -> None:
    (tmp_path / "m.skops").write_bytes(skops_bytes(fitted("forest", 2, gaps=False)))
    program = (
        "import sys, pathlib; from leafgate.models.reader import read_foreign;"
        "from leafgate.api.registry import load_plugins;"
        f"read_foreign(pathlib.Path({str(tmp_path / 'm.skops')!r}).read_bytes(), 'm', load_plugins().readers);"
        "sys.exit('sklearn' in sys.modules or 'skops' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_leaf_alone_is_a_tree() -> None:
    stump = DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ReleaseError, match="two different classes"):
        leafgate.from_sklearn(stump)
    one = leafgate.from_sklearn(
        DecisionTreeClassifier(max_leaf_nodes=2, min_samples_leaf=2).fit([[1.0], [1.0]], ["a", "b"])
    )
    assert one.trees[0].feature.tolist() == [LEAF]


def kinds(model: Any) -> dict[str, str]:
    """What memory and file both are said to disclose, and texts of the file beside it: the severity by kind."""
    memory, file = leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "model.skops")
    more = [item for item in file.discloses if item not in memory.discloses]
    assert set(memory.discloses) <= set(file.discloses)
    assert all(item.kind == "other_content" and "texts of" in item.says for item in more)
    return {item.kind: item.severity for item in file.discloses}


@pytest.mark.parametrize(("name", "classes", "gaps"), CASES)
def test_nothing_of_scikit_learns_own_is_other_content(name: str, classes: int, gaps: bool) -> None:
    assert not {"other_content", "column_names"} & set(kinds(fitted(name, classes, gaps=gaps)))


@pytest.mark.parametrize("name", sorted(set(PIPELINES) - {"its own categories"}))
def test_nothing_of_a_pipelines_own_is_other_content(name: str) -> None:
    features, target = as_frame(people(1, gaps=False), each=True)
    found = set(kinds(PIPELINES[name]().fit(features, target)))
    assert "other_content" not in found
    assert ("column_names" in found) == (name == "nested")  # which drops the age


@pytest.mark.parametrize(
    ("attribute", "value", "severity"),
    [("X_train_", np.ones((50, 3)), "high"), ("notes_", "of a person", "high"), ("criterion", "x" * 5000, "high")],
)
def test_what_somebody_set_on_an_estimator_is_told(attribute: str, value: Any, severity: str) -> None:
    made = rows(1)
    model = DecisionTreeClassifier(max_depth=2).fit(made, answers(made, 2))
    setattr(model, attribute, value)
    assert kinds(model)["other_content"] == severity


def test_weights_of_single_rows_are_told_as_such() -> None:
    made = rows(1)
    y = answers(made, 2)
    forest = RandomForestClassifier(3, max_depth=2, class_weight="balanced", random_state=0).fit(made, y)
    weights = getattr(forest, "_sample_weight", None)
    found = {item.kind: item for item in leafgate.from_sklearn(forest).discloses}
    assert ("training_rows" in found) == (weights is not None)
    if weights is not None:
        assert len(np.unique(np.column_stack([weights, y]), axis=0)) == 2  # a weight is a class
        assert found["training_rows"].severity == "high"
        assert "weight of every single row" in found["training_rows"].says
    assert "other_content" not in kinds(forest)


def test_that_there_were_weights_is_no_content_of_somebody_elses() -> None:
    made = rows(1)
    model = HistGradientBoostingClassifier(max_iter=2).fit(made, answers(made, 2), sample_weight=np.ones(len(made)))
    assert "other_content" not in kinds(model)


def test_what_older_versions_keep_of_a_loss_is_scikit_learns_own() -> None:
    made = rows(1)
    model = GradientBoostingRegressor(n_estimators=2, loss="huber").fit(made, answers(made, 2))
    model._n_classes = 1
    model._loss = SimpleNamespace(K=1, alpha=0.9, gamma=0.3)  # as 1.3 keeps it
    assert "other_content" not in kinds(model)


def test_names_of_dropped_columns_are_told() -> None:
    features, target = as_frame(people(1, gaps=False), each=True)
    kept = make_column_transformer(("passthrough", ["age"]), remainder="drop")
    model = make_pipeline(kept, DecisionTreeClassifier(max_depth=2)).fit(features, target)
    assert kinds(model)["column_names"] == "medium"


def test_what_boosting_and_a_scaler_keep_of_their_rows_is_told() -> None:
    boosting = fitted("exponential", 2, gaps=False)
    assert {"seed", "training_loss"} <= set(kinds(boosting))
    made = rows(1)
    scaler = RobustScaler(with_centering=False)
    model = make_pipeline(scaler, DecisionTreeClassifier(max_depth=2)).fit(made, answers(made, 2))
    assert kinds(model)["moments"] == "medium"


def test_what_a_zip_holds_besides_the_model_is_told() -> None:
    whole = skops_bytes(fitted("tree", 2, gaps=False))

    def changed(change: Any) -> list[str]:
        stream = io.BytesIO(whole)
        with zipfile.ZipFile(stream, "a") as archive:
            change(archive)
        found = read_foreign(stream.getvalue(), "model.skops").discloses
        return [item.severity for item in found if item.kind == "other_content"]

    array = io.BytesIO()
    np.save(array, np.ones((200, 4)))
    assert changed(lambda archive: None) == []
    assert changed(lambda archive: archive.writestr("people.npy", array.getvalue())) == ["high"]
    assert changed(lambda archive: setattr(archive, "comment", b"of a person")) == ["high"]


def test_entries_of_a_schema_that_nobody_reads_are_told() -> None:
    whole = skops_bytes(fitted("tree", 2, gaps=False))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            result = old.read(name)
            new.writestr(
                name, result.replace(b"{", b'{"notes": "of a person", ', 1) if name == "schema.json" else result
            )
    found = read_foreign(stream.getvalue(), "model.skops").discloses
    assert [item.severity for item in found if item.kind == "other_content"] == ["high"]


@pytest.mark.parametrize(
    "name",
    [
        *("verbose", "random_state", "monotonic_cst", "class_weight", "_n_samples", "max_features_", "values", "state"),
        *("y_true_int", "low", "min_samples_leaf", "max_categories", "quantile_range"),
    ],
)
def test_a_table_under_a_name_of_scikit_learns_own_is_told(name: str) -> None:
    made = rows(1)
    model = DecisionTreeClassifier(max_depth=2).fit(made, answers(made, 2))
    setattr(model, name, np.ones((50, 3)))
    assert kinds(model)["other_content"] == "high"
    setattr(model, name, ["of a person"] * 50)
    assert kinds(model)["other_content"] == "high"


@pytest.mark.parametrize("more", [[("who", "f8", (3,))], [("who", "i8")]])
def test_fields_of_nodes_that_scikit_learn_has_not_are_told(more: Any) -> None:
    whole = skops_bytes(fitted("tree", 2, gaps=False))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            result = old.read(name)
            if b"left_child" in result and name.endswith(".npy"):
                nodes = np.load(io.BytesIO(result))
                fields = [(field, nodes.dtype[field]) for field in nodes.dtype.names]
                wide = np.zeros(nodes.shape, [*fields, *more])
                for field, _ in fields:
                    wide[field] = nodes[field]
                array = io.BytesIO()
                np.save(array, wide)
                result = array.getvalue()
            new.writestr(name, result)
    found = read_foreign(stream.getvalue(), "model.skops").discloses
    assert "other_content" in {item.kind for item in found}


def test_settings_with_one_value_for_each_feature_or_class_are_scikit_learns_own() -> None:
    made = rows(1)
    several = {"class_weight": {0: 1.0, 1: 2.0}, "monotonic_cst": [0] * made.shape[1]}
    model = DecisionTreeClassifier(max_depth=2, **several).fit(made, answers(made, 2) == answers(made, 2)[0])
    assert "other_content" not in kinds(model)


def test_bytes_of_a_zip_that_belong_to_no_entry_are_told() -> None:
    whole = skops_bytes(fitted("tree", 2, gaps=False))
    start = whole.rindex(b"PK\x05\x06")
    table = whole.index(b"PK\x01\x02")
    between = b"of a person, who is ill; " * 200
    moved = (table + len(between)).to_bytes(4, "little")
    content = whole[:table] + between + whole[table : start + 16] + moved + whole[start + 20 :]
    (found,) = [item for item in read_foreign(content, "model.skops").discloses if item.kind == "other_content"]
    assert (found.severity, "belong to no entry" in found.says) == ("high", True)


GRID = {"max_depth": [2, 3, None], "criterion": ["gini", "entropy"]}


@pytest.mark.parametrize("inner", [False, True], ids=["search of a pipeline", "search in a pipeline"])
def test_of_a_search_its_best_estimator_is_read_and_what_it_tried_is_told(inner: bool) -> None:
    features, target = as_frame(people(1, gaps=False))
    features = features.select_dtypes("number")
    tree, settings = DecisionTreeClassifier(random_state=0), {"cv": 3, "scoring": ["accuracy", "f1_macro"]}
    if inner:
        model = make_pipeline(RobustScaler(), GridSearchCV(tree, GRID, refit="accuracy", **settings))
        model.fit(features, target)
        best = make_pipeline(model[0], model[1].best_estimator_)
    else:
        grid = {f"decisiontreeclassifier__{name}": values for name, values in GRID.items()}
        model = RandomizedSearchCV(make_pipeline(RobustScaler(), tree), grid, n_iter=2, refit="accuracy", **settings)
        best = model.fit(features, target).best_estimator_
    read, alone = (read_foreign(skops_bytes(each), "model.skops") for each in (model, best))
    assert neutral_file(replace(read, discloses=())) == neutral_file(replace(alone, discloses=()))
    assert [(item.kind, item.severity) for item in read.discloses if item not in alone.discloses] == [
        ("search_results", "medium")
    ]
    assert {item.kind for item in read_foreign(neutral_file(read), "model.json").discloses} >= {"search_results"}
    if not inner:
        assert neutral_file(leafgate.from_sklearn(model)) == neutral_file(leafgate.from_sklearn(best))


def test_a_search_that_scored_parts_of_few_people_tells_of_single_ones() -> None:
    features, target = (each[:30] for each in as_frame(people(1, gaps=False)))
    model = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=LeaveOneOut())
    read = read_foreign(skops_bytes(model.fit(features.select_dtypes("number"), target)), "model.skops")
    assert ("search_results", "high") in {(item.kind, item.severity) for item in read.discloses}


def test_a_search_without_a_best_estimator_and_other_searches_name_it() -> None:
    features, target = as_frame(people(1, gaps=False))
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, refit=False, cv=2)
    with pytest.raises(ReleaseError, match=r"a GridSearchCV without a `best_estimator_`.*refit=True"):
        leafgate.from_sklearn(search.fit(features.select_dtypes("number"), target))
    other = type("BayesSearchCV", (), {})()
    other.best_estimator_ = DecisionTreeClassifier()
    with pytest.raises(ReleaseError, match="save its `best_estimator_` alone"):
        leafgate.from_sklearn(other)
