"""Attacks on models that others fitted: the same groups whatever the file, and only people taken for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import leafgate as gate
from command_line import leafgate
from installed_readers import minimise, neutral_file
from leafgate import ReleaseError
from pmml_of import pmml_of
from sklearn_zoo import skops_bytes

POLICY = """
leafgate: 1
name: attacked
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 100]}
    pay: {role: quasi_identifier, bounds: [0, 100]}
    rich: {role: [class, sensitive], values: ["no", "yes"]}
build: {use: published, path: model.bin, encoding: {ENCODING}}
attacks: [{use: linking}, {use: maxent}]
metrics: [{use: k_anonymity, of: linking, at_least: 1}, {use: confidence, at_most: 1}]
"""
NAMED = "rich: {codes: {'no': 0, 'yes': 1}}"
NUMBERED = NAMED + ", x0: {column: age}, x1: {column: pay}"


def people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 30, 160), "pay": rng.integers(0, 20, 160)}).astype(float)
    return frame, ((frame["age"] + frame["pay"] + rng.normal(0, 5, 160)) > 25).astype(int)


def audited(folder: Path, content: bytes, encoding: str, policy: str = POLICY) -> dict[str, Any]:
    """The findings on a model's file, each by its id."""
    frame, target = people()
    frame.assign(rich=np.where(target == 1, "yes", "no")).to_csv(folder / "people.csv", index=False)
    (folder / "model.bin").write_bytes(content)
    (folder / "policy.yaml").write_text(policy.replace("{ENCODING}", "{" + encoding + "}"))
    ended = leafgate("audit", folder / "policy.yaml", "--out", folder / "out", "--audience", "auditor")
    assert ended.code in {0, 1, 3}, ended.err
    report = json.loads((folder / "out" / "report.json").read_text())
    return {finding["id"]: finding for finding in report["findings"]}


def test_a_tree_has_the_same_groups_from_memory_skops_onnx_and_pmml(tmp_path: Path) -> None:
    frame, target = people()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, target)
    files = {
        "neutral": (neutral_file(gate.from_sklearn(model)), NAMED),
        "skops": (skops_bytes(model), NAMED),
        "onnx": (to_onnx(model, frame.to_numpy(np.float32)[:1]).SerializeToString(), NUMBERED),
        "pmml": (pmml_of(model, ["age", "pay"], "rich", ["no", "yes"]), ""),
    }
    found = {name: audited(tmp_path, *result) for name, result in files.items()}
    groups = [each["k_anonymity@linking#rich"] for each in found.values()]
    assert len({(finding["value"], finding["evidence"]["groups"]) for finding in groups}) == 1
    levels = {name: each["published_file"]["evidence"]["effective"] for name, each in found.items()}
    assert levels == {"neutral": "counts", "skops": "counts", "onnx": "counts", "pmml": "counts"}
    assert found["neutral"]["confidence@maxent#rich"]["value"] == found["skops"]["confidence@maxent#rich"]["value"]


def test_maxent_takes_exact_counts_for_people(tmp_path: Path) -> None:
    frame, target = people()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, target)
    audit = audited(tmp_path, skops_bytes(model), NAMED)
    tree = gate.from_sklearn(model).trees[0]
    assert tree.counts is not None
    leaves = tree.counts[tree.leaves]
    surest = (leaves.max(axis=1) / leaves.sum(axis=1)).max()
    assert audit["confidence@maxent#rich"]["value"] == pytest.approx(surest, abs=1e-6)
    assert audit["confidence@linking#rich"]["value"] == pytest.approx(surest, abs=1e-9)


def test_a_bootstraps_counts_rule_nothing_out_for_maxent(tmp_path: Path) -> None:
    frame, target = people()
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(frame, target)
    derived = POLICY.replace("{use: confidence, at_most: 1}", "{use: exposure, at_most: 1, scored: derived}")
    audit = audited(tmp_path, skops_bytes(model), NAMED, derived)
    assert gate.from_sklearn(model).counted == "bootstrap"
    surest = model.predict_proba(frame).max(axis=1) >= 1 - 1e-9
    for attack in ("linking", "maxent"):  # whoever is certain is so by what the file says, and by nothing it rules out
        finding = audit[f"exposure@{attack}#rich"]
        assert finding["value"] <= surest.any()
    assert "counted" not in audit


def test_boosting_is_attacked_by_its_structure_alone(tmp_path: Path) -> None:
    frame, target = people()
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(frame, target)
    audit = audited(tmp_path, skops_bytes(model), NAMED)
    assert audit["k_anonymity@linking#rich"]["value"] >= 1
    assert audit["published_file"]["evidence"]["effective"] == "counts"


def test_what_scores_betray_of_anybodys_class_cannot_be_told_and_is_no_pass(tmp_path: Path) -> None:
    frame, target = people()
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(frame, target)
    strict = POLICY.replace("{use: confidence, at_most: 1}", "{use: confidence, at_most: 0.9, scored: derived}")
    less = minimise(gate.from_sklearn(model), "shares", "m")
    claimed = strict.replace("attacks:", "publish: {leaves: labels}\nattacks:")
    for content, policy in ((skops_bytes(model), strict), (neutral_file(less), claimed)):
        audit = audited(tmp_path, content, NAMED, policy)
        for attack in ("linking", "maxent"):
            assert audit[f"confidence@{attack}#rich"]["passed"] is None
            problem = audit[f"confidence@{attack}#rich"]["evidence"]["problem"]
            assert "disclose more of the class than this attack works out" in problem
            assert "(publish a tree or a forest with labels, shares or counts" in problem
        assert audit["k_anonymity@linking#rich"]["passed"] is True
    assert audit["published_file"]["passed"] is False
    assert audit["published_file"]["evidence"]["effective"] == "counts"  # which follow from the first tree's scores
    with pytest.raises(ReleaseError, match="cannot do with labels"):
        minimise(gate.from_sklearn(model), "labels", "m")
