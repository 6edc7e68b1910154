"""Isolation forests of scikit-learn, compared with scikit-learn's own anomaly scores."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
import yaml
from packaging.version import Version
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import leafgate
from command_line import leafgate as run
from ensemble_rows import around_every_threshold, both_readings
from feature_rows import votes
from installed_readers import leaves_of, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import LEAF, ModelIR
from sklearn_zoo import rows

TAKES_GAPS = Version(sklearn.__version__) >= Version("1.6")


def random_forest(seed: int) -> IsolationForest:
    """An isolation forest with random settings, fitted on random rows."""
    rng = np.random.default_rng(seed)
    settings = {
        "n_estimators": int(rng.integers(1, 8)),
        "max_samples": rng.choice(np.array(["auto", 1, 2, 3, 20, 0.3, 1.0], dtype=object)),
        "max_features": float(rng.choice([0.4, 1.0])),
        "bootstrap": bool(rng.integers(2)),
        "contamination": rng.choice(np.array(["auto", 0.1], dtype=object)),
    }
    given = rows(seed, int(rng.integers(20, 400)), gaps=TAKES_GAPS and seed % 2 == 0)
    return IsolationForest(**settings, random_state=seed).fit(given)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_an_isolation_forest_answers_scikit_learns_anomaly_score(seed: int) -> None:
    model = random_forest(seed)
    for read in both_readings(model):
        given = around_every_threshold(read, rows(seed + 100, 300, gaps=TAKES_GAPS))
        np.testing.assert_allclose(votes(read, given)[:, 0], -model.score_samples(given), rtol=1e-12)


def test_the_rows_of_each_node_are_those_of_its_trees_subsample() -> None:
    given = rows(1)
    model = IsolationForest(n_estimators=4, max_samples=50, random_state=0).fit(given)
    read = leafgate.from_sklearn(model)
    assert (read.counted, read.sampling.rate) == ("sampled", (50 / 600, 50 / 600))
    for tree, drawn in zip(read.trees, model.estimators_samples_, strict=True):
        where = leaves_of(tree, given[drawn])
        assert tree.size is not None
        leaves = np.flatnonzero(tree.feature == LEAF)
        assert [(where == leaf).sum() for leaf in leaves] == tree.size[leaves].tolist()


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_what_an_isolation_forest_keeps_is_disclosed(contamination: Any) -> None:
    model = IsolationForest(n_estimators=3, max_samples=50, contamination=contamination, random_state=0).fit(rows(1))
    for read in both_readings(model):
        kinds = {item.kind for item in read.discloses}
        assert kinds == {"sizes", "bootstrap_rows", "seed"} | ({"class_shares"} if contamination != "auto" else set())
        assert read.level == "counts"


def scrubbed(model: ModelIR) -> ModelIR:
    """The model without the numbers of rows that its file states."""
    trees = tuple(replace(tree, counts=None, size=None, numbers=()) for tree in model.trees)
    return replace(model, trees=trees, discloses=())


def level(model: ModelIR) -> str:
    """What the leaves of the model disclose, as its file is read."""
    return read_foreign(neutral_file(model), "m").level


@pytest.mark.parametrize("seed", range(10))
def test_leaves_without_numbers_of_rows_still_disclose_them(seed: int) -> None:
    model = IsolationForest(
        n_estimators=3, max_samples=(3, 8, 256)[seed % 3], bootstrap=seed % 2 == 0, random_state=seed
    )
    read = scrubbed(leafgate.from_sklearn(model.fit(rows(seed))))
    assert level(read) == "counts"
    rng = np.random.default_rng(seed)
    others = tuple(replace(tree, values=tree.values * rng.uniform(0.9, 1.1, tree.values.shape)) for tree in read.trees)
    assert level(replace(read, trees=others)) != "counts"


@pytest.mark.parametrize(
    "attribute", ["_average_path_length_per_tree", "_decision_path_lengths", "_max_samples", "_max_features"]
)
@pytest.mark.parametrize("change", ["another", "shorter", "none", "text"])
def test_a_forest_whose_path_lengths_are_not_those_of_its_trees_is_refused(attribute: str, change: str) -> None:
    model = IsolationForest(n_estimators=3, max_samples=50, max_features=0.5, random_state=0).fit(rows(1))
    before = getattr(model, attribute)
    is_number = isinstance(before, int)
    model.__dict__[attribute] = {
        "another": -1 if is_number else (before[0] + 1, *before[1:]),
        "shorter": 0.5 if is_number else before[1:],
        "none": None,
        "text": "text",
    }[change]
    if attribute == "_max_features":  # it says whether trees were given other features, and nothing else
        assert leafgate.from_sklearn(model).combine == "exp_sum"
        return
    with pytest.raises(ReleaseError, match=r"path lengths|number of rows|must be a list"):
        leafgate.from_sklearn(model)


def people(size: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(18, 90, size), "hours": rng.integers(0, 60, size)})


POLICY: dict[str, Any] = {
    "leafgate": 1,
    "name": "outliers",
    "data": {
        "path": "table.csv",
        "columns": {
            "age": {"role": "quasi_identifier", "bounds": [0, 120]},
            "hours": {"role": "quasi_identifier", "bounds": [0, 100]},
            "score": {"role": "class", "bins": [0, 0.5, 1]},
        },
    },
    "build": {"use": "published", "path": "model.skops", "witness": "answers.csv"},
    "publish": {"leaves": "counts"},
    "attacks": [{"use": "linking"}],
    "metrics": [
        {"use": "k_anonymity", "at_least": 10},
        {"use": "smallest_leaf", "groups": "each_tree", "at_least": 20},
        {"use": "file_disclosure", "at_most": 0},
    ],
}


def saved(folder: Path, **settings: Any) -> Any:
    """Save a forest of 2,000 people, the table with its answers, the answers alone, and the policy."""
    table = people(2000, 0)
    model = make_pipeline(SimpleImputer(), IsolationForest(random_state=0, **settings)).fit(table)
    skops.io.dump(model, folder / "model.skops")
    table.assign(score=-model.score_samples(table)).to_csv(folder / "table.csv", index=False)
    table.assign(prediction=-model.score_samples(table)).to_csv(folder / "answers.csv", index=False)
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return model


def audited(folder: Path) -> dict[str, str]:
    """The status of each finding of the audit, by its name."""
    lines = run("audit", folder / "policy.yaml").out.splitlines()
    found = (re.fullmatch(r"  (ok|FAIL|\?\?\?\?) +(\w+).*", line) for line in lines)
    return {match[2]: match[1] for match in found if match}


def test_an_audit_passes_or_fails_for_how_many_people_the_leaves_hold(tmp_path: Path) -> None:
    known = {"reading": "ok", "published_file": "ok", "file_disclosure": "FAIL"}
    saved(tmp_path, n_estimators=2, max_samples=4)
    assert audited(tmp_path) == known | {"k_anonymity": "ok", "smallest_leaf": "ok"}
    saved(tmp_path, n_estimators=20, max_samples=256)
    assert audited(tmp_path) == known | {"k_anonymity": "FAIL", "smallest_leaf": "FAIL"}


def test_an_audit_contradicts_a_table_of_other_people(tmp_path: Path) -> None:
    saved(tmp_path, n_estimators=20, max_samples=256)
    others = people(2000, 1)
    others.assign(age=18, score=[0.3, 0.7] * 1000).to_csv(tmp_path / "table.csv", index=False)
    assert audited(tmp_path)["counted"] == "????"


def test_a_limit_on_the_belief_about_a_class_is_inconclusive(tmp_path: Path) -> None:
    saved(tmp_path, n_estimators=2, max_samples=4)
    metrics = [{"use": "l_diversity", "at_least": 2}, {"use": "exposure", "at_most": 0}]
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "metrics": metrics}))
    assert audited(tmp_path) == {**{"reading": "ok", "published_file": "ok", "l_diversity": "????", "exposure": "????"}}


def test_the_library_and_the_written_script_answer_the_anomaly_score(tmp_path: Path) -> None:
    model, asked = saved(tmp_path, n_estimators=5, max_samples=30), people(300, 1)
    ended = run("convert", tmp_path / "model.skops", tmp_path / "new.json", "--script")
    assert ended.code == 0, ended.err
    read = leafgate.load_model(tmp_path / "new.json")
    assert read.predict(asked) == pytest.approx(-model.score_samples(asked), rel=1e-12)


def test_the_forest_itself_is_asked_for_its_scores_in_memory_and_from_its_file(tmp_path: Path) -> None:
    model, table = saved(tmp_path, n_estimators=3, max_samples=4), people(2000, 0)
    found = leafgate.audit(model, table, pd.Series(-model.score_samples(table), name="score"), roles={"score": "class"})
    assert found.findings.set_index("finding")["verdict"]["reading"] == "pass"
    build = {"use": "published", "path": "model.skops"}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "build": build}))
    ended = run("audit", tmp_path / "policy.yaml", "--witness-library")
    assert "what was read answers as the witness does" in ended.out
