"""What to do where several releases together break a limit: the order of the remedies, searched ones among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import Remedy
from leafgate.app import document
from nightly import CONFIDENCE, EXPOSURE, tonight
from sklearn_zoo import skops_bytes

STARTS = {
    "labels": (
        "What is out cannot be taken back. Labels alone",
        "What is out already cannot be taken back, so publish labels alone",
        "Publish labels alone",
    ),
    "batch": ("Wait with the next release",),
    "larger groups": ("Set `build.k`", "Build with `kadet`"),
    "leaves and rounding": ("Grow fewer leaves",),
    "same people": ("Learn the next release from the same people",),
    "private forest": ("Publish a private forest",),
    "nothing found": ("Tried here without a useful result",),
}
"""How the texts of remedies begin, by what they are."""


def remedies(folder: Path, *, search: bool, **options: Any) -> tuple[Remedy, ...]:
    report = tonight(folder, **options).audit(search_remedies=search).report
    (finding,) = [each for each in report.findings if each.id == "exposure@joint#ill"]
    assert finding.passed is False
    return finding.remedies


def kinds(listed: tuple[Remedy, ...]) -> list[str]:
    """What the remedies are, each kind once where several follow each other."""
    named = [next(kind for kind, starts in STARTS.items() if each.text.startswith(starts)) for each in listed]
    return [kind for i, kind in enumerate(named) if kind not in named[:i] or named[i - 1] != kind]


def test_without_a_search_all_that_helps_stands_in_its_order_and_nothing_counts_as_tried(tmp_path: Path) -> None:
    listed = remedies(tmp_path, search=False)
    assert kinds(listed) == ["labels", "batch", "leaves and rounding", "same people", "private forest"]
    assert not any(each.tried for each in listed)
    assert (listed[0].action, listed[0].place, listed[0].value) == ("set", "publish.leaves", "labels")
    assert "raise `build.k`" in listed[2].text
    assert "at least 2 / (people in the smallest leaf)" in listed[2].text


@pytest.mark.thorough
def test_what_a_search_verified_takes_its_place_in_the_order(tmp_path: Path) -> None:
    listed = remedies(tmp_path, search=True, metrics=[EXPOSURE])
    expected = ["labels", "batch", "larger groups", "leaves and rounding", "same people", "private forest"]
    assert kinds(listed) == expected
    tried = [(each.place, each.value) for each in listed if each.tried]
    assert tried[:2] == [("publish.leaves", "labels"), ("build.k", 50)]
    changes: list[dict[str, Any]] = [{"publish": {"leaves": "labels"}}, {"build": {"use": "kadet", "k": 50}}]
    for change in changes:
        assert tonight(tmp_path, metrics=[EXPOSURE], **change).audit().report.verdict == "pass"


@pytest.mark.thorough
def test_labels_that_were_tried_in_vain_are_not_recommended_alone(tmp_path: Path) -> None:
    listed = remedies(tmp_path, search=True, seed=0, nights=2, metrics=[{**EXPOSURE, "insiders": 1}, CONFIDENCE])
    expected = ["labels", "batch", "leaves and rounding", "same people", "private forest", "nothing found"]
    assert kinds(listed) == expected
    assert (listed[0].action, listed[0].place, listed[0].tried) == ("advise", "", False)
    assert "Labels alone were tried here and were not enough" in listed[0].text


def test_a_release_of_labels_alone_is_not_told_to_publish_them(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "metrics": [{**EXPOSURE, "insiders": 1}],
        "publish": {"leaves": "labels"},
        "n": 60,
        "k": 2,
    }
    for seed in range(20):
        report = tonight(tmp_path, seed=seed, **options).audit().report
        failed = [each for each in report.findings if each.fails and each.attack == "joint"]
        if failed:
            assert kinds(failed[0].remedies)[0] == "batch"
            return
    raise AssertionError("labels alone broke no limit")


def test_a_release_file_is_built_again_with_labels(tmp_path: Path) -> None:
    session = tonight(tmp_path)
    artifact = session.audit().artifact
    assert artifact is not None
    (tmp_path / "new.json").write_bytes(artifact.content)
    listed = remedies(tmp_path, search=False, build={"use": "published", "path": "new.json"})
    assert kinds(listed) == ["labels", "batch", "leaves and rounding", "same people", "private forest"]
    assert (listed[0].action, listed[0].place) == ("advise", "")


@pytest.mark.thorough
def test_the_file_of_a_model_is_scrubbed_and_then_repaired(tmp_path: Path) -> None:
    tonight(tmp_path)
    rows = pd.read_csv(tmp_path / "new.csv")
    features = pd.get_dummies(rows[["age", "town"]], dtype=float)
    model = DecisionTreeClassifier(min_samples_leaf=8, random_state=0).fit(features, rows["ill"])
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    of_file = {"build": {"use": "published", "path": "model.skops"}}
    listed = remedies(tmp_path, search=False, **of_file)
    assert listed[0].command == ("leafgate", "scrub", "MODEL", "NEW", "--leaves", "labels", "--policy", "POLICY")
    assert not listed[0].tried
    repaired = [each.command for each in remedies(tmp_path, search=True, **of_file) if each.command]
    assert repaired == [
        ("leafgate", "repair", "MODEL", "--policy", "POLICY", "--out", "NEW")
    ]  # labels alone were tried, and do not keep every limit


def test_a_public_report_has_the_same_order(tmp_path: Path) -> None:
    report = tonight(tmp_path, metrics=[EXPOSURE]).audit(search_remedies=True).report
    (public, auditor) = (
        next(each for each in document(report, audience)["findings"] if each["id"] == "exposure@joint#ill")["remedies"]
        for audience in ("public", "auditor")
    )
    assert [each["text"] for each in public] == [each["text"] for each in auditor]
    assert all("details" not in each for each in public)
