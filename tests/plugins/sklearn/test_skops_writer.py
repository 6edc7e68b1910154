"""Changed models as skops files: scikit-learn predicts as they do, and nothing of the people is left in the bytes."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from command_line import leafgate
from example_counts import examples
from feature_rows import predicted, votes
from installed_readers import READERS, read_foreign
from leafgate.api import Floats, InconclusiveError, ReleaseError, install_command
from leafgate.commands.convert.merging import collapse_equal_leaves
from leafgate.ir.features import known_by
from leafgate.models.exposure.categories import drop_unused_categories
from leafgate.models.lowering.encoding import IDLE_CATEGORY
from leafgate.models.writer import model_as_file
from leafgate.readers import LEAF, CategoryCodes, ModelIR, TreeIR
from leafgate_plugins.sklearn.writer import write
from sklearn_pipelines import PIPELINES, as_frame
from sklearn_pipelines import people as people_with_gaps
from sklearn_zoo import answers, rows, skops_bytes

TREE = "sklearn.tree._tree.Tree"
"""The one type that skops does not trust by itself in a file of trees."""

ESTIMATORS = {
    "tree": DecisionTreeClassifier(min_samples_leaf=2, random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=7, random_state=1),
    "entropy": DecisionTreeClassifier(criterion="entropy", max_depth=6, class_weight="balanced", random_state=2),
    "forest": RandomForestClassifier(5, max_depth=6, max_samples=150, random_state=3),
    "extra trees": ExtraTreesClassifier(4, max_depth=6, class_weight="balanced_subsample", random_state=4),
    "whole": RandomForestClassifier(3, bootstrap=False, max_depth=5, random_state=5),
}
BEFORE: dict[str, Any] = {
    "nothing": (),
    "scaled": (StandardScaler(),),
    "coded": (make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [2]), remainder=MinMaxScaler()),),
    "ordinal": (make_column_transformer((OrdinalEncoder(), [2]), ("passthrough", [0, 1])), StandardScaler()),
}
NAMES = np.array(["low", "middle", "high"])


def pruned(model: ModelIR, seed: int, share: float) -> ModelIR:
    """Some of its trees, in which some tests have become leaves with all people below them."""
    rng = np.random.default_rng(seed)
    kept = sorted(rng.choice(len(model.trees), rng.integers(1, len(model.trees) + 1), replace=False).tolist())
    return replace(model, trees=tuple(_cut(model.trees[i], rng, share) for i in kept))


def _cut(tree: TreeIR, rng: np.random.Generator, share: float) -> TreeIR:
    feature, says = tree.feature.copy(), tree.values.copy()
    inner = np.flatnonzero(feature != LEAF)
    for node in inner[rng.random(len(inner)) < share]:
        feature[node] = LEAF  # rows of inner nodes are scikit-learn's own values there
    counts, numbers = tree.counts, tree.numbers
    size = None if counts is None else tree.size
    cut = replace(tree, feature=feature, values=says, counts=None, size=None, numbers=())
    order = _reached(cut)
    small = collapse_equal_leaves(replace(cut, values=np.arange(tree.nodes, dtype=float)[:, None]))
    assert small.nodes == len(order)
    old = small.values[:, 0].astype(int)
    return replace(
        small,
        values=says[old],
        counts=None if counts is None else counts[old],
        size=None if size is None else size[old],
        numbers=tuple(replace(each, values=each.values[old]) for each in numbers),
    )


def _reached(tree: TreeIR) -> list[int]:
    waiting, found = [0], []
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += [] if tree.feature[node] == LEAF else [int(tree.low[node]), int(tree.high[node])]
    return found


def at_level(model: ModelIR, level: str) -> ModelIR:
    """The model with labels or shares alone, or as it is."""
    if level == "counts":
        return model
    bare = tuple(replace(tree, counts=None, size=None, numbers=()) for tree in model.trees)
    model = replace(model, trees=bare, counted="unknown", discloses=())
    if level == "shares":
        return replace(model, values="shares")
    combine: Any = "vote" if len(bare) > 1 else model.combine
    labels = tuple(replace(tree, values=np.eye(len(model.classes))[tree.values.argmax(axis=1)]) for tree in bare)
    return replace(model, trees=labels, values="labels", combine=combine)


@cache
def fitted(name: str, before: str, classes: int, *, search: bool = False, gaps: bool = False) -> Any:
    given = rows(1, 400, gaps=gaps)
    pipeline = make_pipeline(*(clone(step) for step in BEFORE[before]), clone(ESTIMATORS[name]))
    model: Any = GridSearchCV(pipeline, {}, cv=2) if search else pipeline if BEFORE[before] else pipeline[-1]
    return model.fit(given, NAMES[answers(given, classes)])


def loaded(content: bytes) -> Any:
    assert set(skops.io.get_untrusted_types(data=content)) <= {TREE}
    return skops.io.loads(content, trusted=[TREE])


def asked(model: Any, made: Any) -> Floats:
    """What the trees of a pipeline are asked about."""
    while hasattr(model, "steps"):
        made = model[:-1].transform(made) if len(model.steps) > 1 else made
        model = model[-1]
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)


def at_thresholds(model: ModelIR, given: Floats, seed: int) -> Floats:
    """Rows of which a feature is a threshold, or the number of single or double precision next to it."""
    rng = np.random.default_rng(seed)
    made = given[rng.integers(0, len(given), 300)].copy()
    cuts = [(t.feature[i], t.threshold[i]) for t in model.trees for i in np.flatnonzero(t.feature != LEAF)]
    for row in made if cuts else ():
        feature, at = cuts[rng.integers(len(cuts))]
        near = np.float32(at)
        row[feature] = rng.choice([at, near, np.nextafter(at, np.inf), np.nextafter(near, np.float32(np.inf))])
    return made


def assert_same(model: ModelIR, estimator: Any, x: Floats) -> None:
    """The estimator without its pipeline says what the model says of these features."""
    shared = model.combine == "one" and model.values != "labels"  # which alone says labels
    share = votes(replace(model, combine="mean_per_tree") if shared else model, x)
    share = share / share.sum(axis=1, keepdims=True)
    order = [model.classes.index(str(name)) for name in estimator.classes_]
    np.testing.assert_allclose(estimator.predict_proba(x), share[:, order], rtol=0, atol=1e-12)
    clear = np.diff(np.sort(share, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9
    if model.values == "labels":  # votes are added without rounding
        clear[:] = True
    same = np.array(model.classes)[predicted(model, x)] == estimator.predict(x)
    assert same[clear].all()


@examples(0.4)
@given(
    name=st.sampled_from(sorted(ESTIMATORS)),
    before=st.sampled_from(sorted(BEFORE)),
    classes=st.sampled_from([2, 3]),
    search=st.booleans(),
    level=st.sampled_from(["labels", "shares", "counts"]),
    share=st.sampled_from([0.0, 0.1, 0.4, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_changed_model_predicts_in_scikit_learn_as_it_does_here(
    name: str, before: str, classes: int, search: bool, level: str, share: float, seed: int
) -> None:
    content = skops_bytes(fitted(name, before, classes, search=search))
    whole = read_foreign(content, "whole")
    less = at_level(pruned(whole, seed, share), level)
    new = model_as_file(less, content, "new.skops", READERS)
    estimator = loaded(new)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    x = asked(estimator, rows(2, 300))
    assert_same(less, last, np.concatenate([x, at_thresholds(less, x, seed)]))
    again = read_foreign(new, "new")
    assert (again.features, again.classes, len(again.trees)) == (less.features, less.classes, len(less.trees))
    assert again.leaf_level == less.leaf_level
    for one, other in zip(again.trees, less.trees, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.values[one.leaves], other.values[other.leaves])
        np.testing.assert_array_equal(one.threshold, other.threshold)
        if less.leaf_level == "counts":
            np.testing.assert_array_equal(np.asarray(one.counts), np.asarray(other.counts))
            assert one.numbers[0].values.tolist() == other.numbers[0].values.tolist()


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_a_model_of_numbers_predicts_as_before_and_keeps_no_sizes(kind: Any) -> None:
    forest = {} if kind is DecisionTreeRegressor else {"n_estimators": 3}
    model = kind(max_depth=5, random_state=0, **forest).fit(rows(1), rows(1)[:, 0])
    content = skops_bytes(model)
    new = model_as_file(read_foreign(content, "m"), content, "new.skops", READERS)
    np.testing.assert_array_equal(loaded(new).predict(rows(2)), model.predict(rows(2)))
    again = read_foreign(new, "new")
    assert (again.level, again.discloses) == ("labels", ())
    assert not again.counts_people


KEPT_OF_PEOPLE = ("oob_d", "oob_p", "_sample", "_n_samples", "estimators_s")


@pytest.mark.parametrize("name", ["one-hot", "ordinal", "scaled", "rare", "robust", "both ways", "nested"])
def test_a_pipeline_of_a_data_frame_keeps_all_that_it_needs(name: str) -> None:
    frame, y = as_frame(people_with_gaps(1))
    model = PIPELINES[name]()
    if name == "scaled":  # before boosting, in which no trees are changed
        model = make_pipeline(*(step for _, step in model.steps[:-1]), DecisionTreeClassifier(max_depth=6))
    model.fit(frame, y)
    content = skops_bytes(model)
    less = at_level(read_foreign(content, "m"), "labels")
    new = model_as_file(less, content, "new.skops", READERS)
    needed = set(skops.io.get_untrusted_types(data=new))
    assert needed <= set(skops.io.get_untrusted_types(data=content))
    assert not {each for each in needed if "selector" in each}
    written = skops.io.loads(new, trusted=sorted(needed))
    if len(less.trees) == 1:
        assert (written.predict(frame) == model.predict(frame)).all()
    again = clone(written).fit(frame, y)  # its settings are whole
    assert again.predict(frame).shape == (len(frame),)
    made = asked(written, frame)
    assert (np.array(less.classes)[predicted(less, made)] == written.predict(frame)).all()


ENCODERS = {
    "one-hot": lambda: OneHotEncoder(),
    "one-hot of the first": lambda: OneHotEncoder(drop="first"),
    "one-hot, unseen ignored": lambda: OneHotEncoder(handle_unknown="ignore"),
    "one-hot of rare ones": lambda: OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
    "ordinal": lambda: OrdinalEncoder(),
    "ordinal, unseen last": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99),
    "scaled": lambda: make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
    "filled": lambda: make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OrdinalEncoder()),
}


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(ENCODERS)), depth=st.integers(1, 4))
def test_texts_that_no_test_asks_about_are_gone_and_predictions_stay(seed: int, name: str, depth: int) -> None:
    """Two columns of texts, of which a small tree asks about few; where gaps are filled one has some."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"job": rng.choice([f"job {i}" for i in range(12)], 300), "town": rng.choice(list("uvwxyz"), 300)}
    )
    if name == "filled":
        frame.loc[rng.random(300) < 0.1, "town"] = np.nan
    frame = frame.astype(object)
    y = NAMES[(frame["job"].str[-1].fillna("0").astype(int).to_numpy() + rng.integers(0, 3, 300)) % 3]
    steps = make_column_transformer((ENCODERS[name](), ["job", "town"]))
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(frame, y)
    content = skops_bytes(model)
    whole = at_level(read_foreign(content, "m"), "labels")
    new = model_as_file(whole, content, "new.skops", READERS)
    written = skops.io.loads(new, trusted=skops.io.get_untrusted_types(data=new))
    assert (written.predict(frame) == model.predict(frame)).all()
    again = read_foreign(new, "new.skops")
    least = [one for one in drop_unused_categories(whole).origins or () if isinstance(one, CategoryCodes)]
    listed = {value for one in again.origins or () if isinstance(one, CategoryCodes) for value in known_by(one)}
    if "one-hot" in name and "rare" not in name:  # of two values that a test parts either may stand for all others
        assert listed - {IDLE_CATEGORY} <= {value for one in least for value in one.codes}
    assert len(listed) < 12 + 6


N, DRAWN, SMALLEST_SEARCHED = 997, 211, 40


def people() -> tuple[pd.DataFrame, pd.Series]:
    """A table whose numbers of people stand nowhere else in it."""
    made = rows(7, N)
    frame = pd.DataFrame({"pay": made[:, 0], "tenth": made[:, 1], "job": [f"job {int(code)}" for code in made[:, 2]]})
    return frame, pd.Series(NAMES[answers(made, 2)])


def searched() -> Any:
    """A search over pipelines that keeps all that scikit-learn can keep of people."""
    before = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder=StandardScaler())
    forest = RandomForestClassifier(20, max_depth=4, oob_score=True, class_weight="balanced", random_state=3)
    x, y = people()
    weights = np.random.default_rng(0).integers(1, 4, len(x)).astype(float)
    search = GridSearchCV(make_pipeline(before, forest), {"randomforestclassifier__max_samples": [DRAWN]}, cv=2)
    return search.fit(x, y, randomforestclassifier__sample_weight=weights)


def numbers_of_people(model: Any) -> set[int]:
    """The number of rows, of rows of each class, and all sizes of nodes that are large enough to be no other number."""
    _, y = people()
    found = {N, *y.value_counts().tolist(), DRAWN}
    for tree in model.best_estimator_[-1].estimators_:
        nodes = tree.tree_.__getstate__()["nodes"]
        found |= set(nodes["n_node_samples"].tolist()) | set(np.rint(nodes["weighted_n_node_samples"]).tolist())
    return {int(number) for number in found if number >= SMALLEST_SEARCHED}


def plain_values(document: Any) -> set[str]:
    """What stands in the values of a schema, without the identities of objects and numbers of versions."""
    if isinstance(document, dict):
        kept = [value for key, value in document.items() if key not in {"__id__", "file", "protocol", "_skops_version"}]
        return set[str]().union(*map(plain_values, kept))
    if isinstance(document, list):
        return set[str]().union(*map(plain_values, document))
    return {str(document)}


def places_of(numbers: set[int], content: bytes) -> list[str]:
    """Where one of the numbers stands in a skops file: as a text in the schema, or in an array in any precision."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    plain = plain_values(json.loads(entries.pop("schema.json")))
    found = [f"schema: {number}" for number in numbers if {str(number), f"{number}.0"} & plain]
    for name, entry in entries.items():
        array = np.load(io.BytesIO(entry))
        for part in [array[field] for field in array.dtype.names] if array.dtype.names else [array]:
            if part.dtype.kind in "iuf" and np.isin(part, list(numbers)).any():
                found.append(name)
    return found


def between_fields(content: bytes) -> set[int]:
    """The bytes that stand in the last part of nodes, behind all of their fields."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [archive.read(name) for name in archive.namelist() if name.endswith(".npy")]
    nodes = [entry for entry in entries if b"missing_go_to_left" in entry[:1000]]
    assert len(nodes) == 20
    return {byte for entry in nodes for at in range(len(entry), 1000, -64) for byte in entry[at - 7 : at]}


def test_nothing_of_the_people_is_left_in_a_file_of_labels() -> None:
    model = searched()
    content, numbers = skops_bytes(model), numbers_of_people(model)
    assert len(numbers) > 15
    assert len(places_of(numbers, content)) > 8  # the search finds them where they are
    new = model_as_file(at_level(read_foreign(content, "m"), "labels"), content, "new.skops", READERS)
    assert places_of(numbers, new) == []
    names = plain_values(json.loads(zipfile.ZipFile(io.BytesIO(new)).read("schema.json")))
    assert not {name for name in names if "cv_results" in name or "GridSearchCV" in name}
    kept = loaded(new)
    states = [vars(kept[-1]), *(vars(tree) for tree in kept[-1].estimators_)]
    for state in states:
        assert not {
            name for name in state if name.startswith(("oob_d", "oob_p", "_sample", "_n_samples", "estimators_s"))
        }
        assert (state["random_state"], state["class_weight"]) == (None, None)
    for tree in kept[-1].estimators_:
        parts = tree.tree_.__getstate__()
        for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
            assert not parts["nodes"][name].any()
        leaf = parts["nodes"]["left_child"] == LEAF
        assert not parts["values"][~leaf].any()
        assert set(np.unique(parts["values"])) <= {0.0, 1.0}
    assert between_fields(new) == {0}
    kinds = {item.kind for item in read_foreign(new, "new").discloses}
    assert kinds == {
        "moments",
        "categories",
        "names",
    }  # of the scaler, the encoder and the steps, which predictions need


def test_a_fitted_tree_of_pure_leaves_is_no_model_of_labels() -> None:
    x = rows(1, 200)
    read = read_foreign(skops_bytes(DecisionTreeClassifier().fit(x, NAMES[answers(x, 2)])), "m")
    assert (read.values, read.level, read.counted) == ("shares", "counts", "exact")


@pytest.mark.parametrize("left", ["n_node_samples", "weighted_n_node_samples", "impurity", "inner values"])
def test_a_file_with_some_numbers_of_people_is_read_as_one_with_all_of_them(left: str) -> None:
    content = skops_bytes(fitted("tree", "nothing", 2))
    new = model_as_file(at_level(read_foreign(content, "m"), "labels"), content, "new.skops", READERS)
    whole, bare = (skops.io.loads(each, trusted=[TREE]) for each in (content, new))
    before, state = whole.tree_.__getstate__(), bare.tree_.__getstate__()
    if left == "inner values":
        leaf = state["nodes"]["left_child"] == LEAF
        state["values"][~leaf] = before["values"][~leaf]
    else:
        state["nodes"][left] = before["nodes"][left]
    bare.tree_.__setstate__(state)
    again = read_foreign(skops_bytes(bare), "again")
    assert again.level == "counts"
    assert again.counts_people


def audit(folder: Path, content: bytes, leaves: str) -> Any:
    """The report of an audit of a published file."""
    x, y = people()
    x.assign(risk=y.to_numpy()).to_csv(folder / "people.csv", index=False)
    columns = {
        "pay": {"role": "quasi_identifier", "bounds": [-1e5, 1e5]},
        "tenth": {"role": "quasi_identifier", "bounds": [0, 10]},
        "job": {"role": "quasi_identifier", "values": sorted(set(x["job"]))},
        "risk": {"role": ["class", "sensitive"], "values": ["low", "middle"]},
    }
    (folder / "model.skops").write_bytes(content)
    policy = {
        "leafgate": 1,
        "name": "model",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "published", "path": "model.skops"},
        "publish": {"leaves": leaves},
        "attacks": [{"use": "linking"}],
        "metrics": [
            {"use": "file_disclosure", "at_most": 0, "severity": "high"},
            {"use": "k_anonymity", "at_least": 1},
        ],
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    ended = leafgate("audit", folder / "policy.yaml", "--out", folder / "out", "--audience", "auditor")
    return ended.code, json.loads((folder / "out" / "report.json").read_text())


@pytest.mark.parametrize("name", ["new.skops", "new.onnx"])
@pytest.mark.thorough
def test_an_audit_of_a_file_of_labels_finds_no_counts(name: str, tmp_path: Path) -> None:
    model = searched()
    content = skops_bytes(model)
    code, report = audit(tmp_path, content, "labels")
    assert code == 1
    assert {"published_file", "file_disclosure"} <= failed(report)
    assert "counts" in told(report)
    new = model_as_file(at_level(read_foreign(content, "m"), "labels"), content, name, READERS)
    code, report = audit(tmp_path, new, "labels")
    assert not {"published_file", "file_disclosure"} & failed(report)
    assert not {"counts", "sizes", "shares", "impurity", "how many"} & told(report)
    assert code == 0


def failed(report: Any) -> set[str]:
    return {finding["id"] for finding in report["findings"] if not finding["passed"]}


def told(report: Any) -> set[str]:
    """Kinds and levels of what the findings say that the file discloses; `how many` where one speaks of numbers."""
    items = [item for finding in report["findings"] for item in finding["evidence"].get("discloses", ())]
    levels = {finding["evidence"].get("effective", "") for finding in report["findings"]}
    kinds = {item["kind"] for item in items} | {item.get("level", "") for item in items} | levels
    return kinds | {"how many" for item in items if "how many" in item["says"]}


def changed(**changes: Any) -> ModelIR:
    return replace(read_foreign(skops_bytes(fitted("whole", "nothing", 2)), "m"), **changes)


def with_tree(**changes: Any) -> ModelIR:
    model = changed()
    return replace(model, trees=(replace(model.trees[0], **changes), *model.trees[1:]))


REFUSED: dict[str, tuple[Any, str]] = {
    "a sum of counts": (lambda: changed(combine="sum"), "takes the mean of shares"),
    "boosting": (lambda: changed(combine="boost"), "no model that a RandomForestClassifier can hold"),
    "other classes": (lambda: changed(classes=("low", "rich")), "other classes"),
    "other features": (lambda: changed(features=("x0", "x1", "x9")), "its feature number 2 is none"),
    "double precision": (lambda: with_tree(float32=False), "double precision"),
    "a set": (lambda: with_tree(subsets={0: frozenset({1.0})}), "sets of categories"),
    "a leaf of nobody": (
        lambda: replace(with_tree(), trees=tuple(replace(t, counts=0 * np.asarray(t.counts)) for t in changed().trees)),
        "a leaf that counts nobody",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_scikit_learn_cannot_hold_is_refused(name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(ReleaseError, match=why):
        write(make(), skops_bytes(fitted("whole", "nothing", 2)))


def test_several_trees_are_no_tree() -> None:
    with pytest.raises(ReleaseError, match="has several trees"):
        write(changed(), skops_bytes(fitted("tree", "nothing", 2)))


def test_a_file_of_another_format_is_no_original() -> None:
    with pytest.raises(ReleaseError, match="needs the skops file"):
        write(changed(), b'{"format":"leafgate/model/1"}')


def test_boosting_is_refused_with_what_can_be_written() -> None:
    content = skops_bytes(GradientBoostingClassifier(n_estimators=2).fit(rows(1), answers(rows(1), 2)))
    with pytest.raises(ReleaseError, match=r"holds a GradientBoostingClassifier.*RandomForestClassifier"):
        write(read_foreign(content, "m"), content)


def test_functions_of_the_file_are_not_loaded() -> None:
    pipeline = make_pipeline(FunctionTransformer(pd.util.hash_array), DecisionTreeClassifier())
    pipeline[-1].fit(rows(1), NAMES[answers(rows(1), 2)])
    pipeline.steps[0][1].n_features_in_ = 3
    with pytest.raises(ReleaseError, match=r"1 type\(s\) that skops does not trust"):
        write(changed(), skops_bytes(pipeline))


def test_draws_by_weights_are_written_as_shares_alone() -> None:
    content = skops_bytes(fitted("forest", "nothing", 2))
    weighed = replace(read_foreign(content, "m"), counted="unknown")
    with pytest.raises(ReleaseError, match="counts draws by weights"):
        write(weighed, content)
    assert read_foreign(write(at_level(weighed, "shares"), content), "new").leaf_level == "shares"


def test_the_trees_of_the_original_are_never_made() -> None:
    content = skops_bytes(fitted("tree", "nothing", 2))
    model = at_level(read_foreign(content, "m"), "labels")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries["schema.json"])
    schema["content"]["content"]["tree_"]["__reduce__"]["args"]["content"][2]["content"] = "1000000000"  # outputs
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, entry in {**entries, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(name, entry)
    x = rows(2)
    np.testing.assert_array_equal(
        loaded(write(model, file.getvalue())).predict(x), fitted("tree", "nothing", 2).predict(x)
    )


def test_without_skops_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    content = skops_bytes(fitted("whole", "nothing", 2))
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(InconclusiveError, match=re.escape(install_command("sklearn"))):
        write(changed(), content)
