"""Attempts to pass limits on inferred inputs with a release that leaks, and to read a value from a public report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asked_targets import AskedCase, asked
from command_line import leafgate
from components import new_metric
from leafgate import InconclusiveError, PolicyError
from leafgate.algorithms.correlation import correlation_gain
from leafgate.api import AttributeBelief, Metric
from leafgate.app import load_policy

COLUMNS = {
    "town": {"role": "quasi_identifier", "values": ["Hill", "Port"]},
    "married": {"role": "private", "values": ["no", "yes"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}


@pytest.mark.parametrize("limit", ["attribute_certain", "attribute_leak", "k_anonymity"])
def test_a_child_policy_makes_no_secret_input_public_where_what_is_inferred_of_it_is_limited(
    tmp_path: Path, limit: str
) -> None:
    """A public column is no secret input, so that nobody would infer it, and limits would hold without it."""
    bound = {"at_least": 2} if limit == "k_anonymity" else {"at_most": 0}
    metrics = [{"use": limit, **bound}]
    attacks = [{"use": "linking"}, {"use": "leaf_constraints"}]
    data = {"path": "table.csv", "control": "control.csv", "columns": COLUMNS}
    parent = {"leafgate": 1, "name": "parent", "data": data, "build": {"use": "c45"}, "attacks": attacks}
    (tmp_path / "parent.yaml").write_text(json.dumps({**parent, "metrics": metrics}))
    public = {"married": {"role": "quasi_identifier", "values": ["no", "yes"]}}
    path = tmp_path / "child.yaml"
    path.write_text(json.dumps({"leafgate": 1, "name": "c", "extends": "parent.yaml", "data": {"columns": public}}))
    if limit == "k_anonymity":
        assert load_policy(path).policy.data.columns["married"].role == ("quasi_identifier",)
        return
    with pytest.raises(PolicyError) as refused:
        load_policy(path)
    assert [problem.location for problem in refused.value.problems] == ["data.columns.married.role"]


def many_ills(people: int, seed: int) -> str:
    """A CSV file of people whose class follows from both private columns, with some noise."""
    rng = np.random.default_rng(seed)
    town, married, gene = rng.integers(2, size=(3, people))
    ill = np.where(rng.random(people) < 0.1, rng.integers(2, size=people), married & (gene | town))
    rows = zip(town, married, gene, ill, strict=True)
    words = [("Hill", "Port"), ("no", "yes"), ("a", "b"), ("no", "yes")]
    lines = [",".join(names[code] for names, code in zip(words, row, strict=True)) for row in rows]
    return "\n".join(["town,married,gene,ill", *lines, ""])


def audited(folder: Path, **changes: object) -> dict[str, Any]:
    """The auditor's report on a tree of 120 people that tests two private columns."""
    (folder / "table.csv").write_text(many_ills(120, 1))
    (folder / "control.csv").write_text(many_ills(120, 2))
    gene = {"gene": {"role": "private", "values": ["a", "b"]}}
    columns = {name: COLUMNS[name] for name in ("town", "married")} | gene | {"ill": COLUMNS["ill"]}
    data = {"path": "table.csv", "control": "control.csv", "columns": columns}
    metrics = [{"use": "attribute_certain", "at_most": 100}]
    document = {"leafgate": 1, "name": "t", "data": data, "build": {"use": "id3"}, "metrics": metrics} | changes
    (folder / "policy.yaml").write_text(json.dumps(document))
    ended = leafgate("audit", folder / "policy.yaml", "--out", folder / "out", "--audience", "auditor")
    assert ended.code in {0, 1, 3}, ended.err
    report: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return report


@pytest.mark.parametrize("secret", [None, "married"])
def test_a_report_says_of_which_secret_input_no_attack_infers_anything(tmp_path: Path, secret: str | None) -> None:
    report = audited(tmp_path, attacks=[{"use": "leaf_constraints", **({"secret": secret} if secret else {})}])
    notes = [note for note in report["notes"] if "no attack of the policy infers it" in note]
    assert ["'gene'" in note for note in notes] == ([] if secret is None else [True])


@pytest.mark.parametrize("secret", [None, "married"])
def test_a_model_that_does_not_test_a_secret_passes_where_the_attack_names_it(
    tmp_path: Path, secret: str | None
) -> None:
    """The tree of one leaf tests nothing: without a name nobody knows which column is meant."""
    attacks = [{"use": "leaf_constraints", **({"secret": secret} if secret else {})}]
    limits = [{"use": "attribute_certain", "at_most": 0}, {"use": "attribute_leak", "at_most": 0.3}]
    build = {"use": "id3", "min_leaf": 100}
    report = audited(tmp_path, attacks=attacks, metrics=limits, build=build, knows={"class": True})
    verdicts = [each["passed"] for each in report["findings"] if each["metric"].startswith("attribute")]
    assert verdicts == ([True, True] if secret else [None, None])


def test_a_limit_on_certain_people_says_that_not_everybody_was_asked(tmp_path: Path) -> None:
    limits = [{"use": "attribute_certain", "at_most": 5}]
    attacks = [{"use": "leaf_constraints", "secret": "married"}]
    report = audited(tmp_path, attacks=attacks, metrics=limits, knows={"candidates": 20})
    (finding,) = [each for each in report["findings"] if each["metric"] == "attribute_certain"]
    assert finding["passed"] is None
    assert "knows: {candidates: ...}" in finding["evidence"]["problem"]


def rare_value(people: int = 1000) -> AskedCase:
    """One of twenty people has the rare value; the attack learns nothing, and would see every leak that is planted."""
    truth = np.tile(np.arange(people) % 20 == 0, 2).astype(np.int64)
    imputation = np.tile([0.95, 0.05], (2 * people, 1))

    def planted(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
        return np.where(leaking[:, None], np.eye(2)[values], imputation)

    return asked(truth, np.arange(2 * people) < people, imputation, imputation, planted=planted)


def test_a_limit_that_no_leak_of_a_rare_value_breaks_is_inconclusive_and_says_so_to_everybody() -> None:
    """An attack that knows everything gains 0.05 over imputation: the share of people who have the rare value."""
    breakable, unbreakable = (
        rare_value().finding(new_metric("attribute_leak", at_most=limit)) for limit in (0.045, 0.1)
    )
    assert breakable.passed is True
    assert unbreakable.passed is None
    assert str(unbreakable.evidence["problem"]).startswith("no release could break this limit")
    [remedy] = unbreakable.remedies
    assert remedy.text.startswith("Limit what sees rare values")


@pytest.mark.parametrize(
    ("other", "beside", "passes"),
    [
        (new_metric("attribute_leak", name="mcc", measure="mcc", at_most=0.5), True, True),
        (new_metric("attribute_leak", name="rare", measure="ppv", value="married", top=100, at_most=0.45), True, True),
        (new_metric("attribute_leak", name="lax", measure="mcc", at_most=0.9), True, None),
        (new_metric("attribute_leak", name="surest", measure="ppv", top=40, at_most=0.6), None, None),
        (new_metric("attribute_leak", name="higher", at_most=0.2), None, None),
        (new_metric("attribute_leak", name="narrow", measure="mcc", at_most=0.01), None, None),
    ],
    ids=lambda each: each.name if isinstance(each, Metric) else "",
)
@pytest.mark.thorough
def test_such_a_limit_passes_beside_one_that_half_of_a_leak_would_break(
    other: Any, beside: bool | None, passes: bool | None
) -> None:
    """That is a measure of rare values with power: no ppv of the common value, and no limit that half a leak keeps."""
    found, answering = rare_value(4000).findings(new_metric("attribute_leak", at_most=0.1), other)
    assert (answering.passed, found.passed) == (beside, passes)
    assert ("problem" in found.evidence) == (passes is None)
    assert found.evidence["unbreakable"] is True


def test_a_limit_that_no_leak_breaks_stays_inconclusive_beside_one_that_fails() -> None:
    truth = np.tile(np.arange(4000) % 20 == 0, 2).astype(np.int64)
    case = rare_value(4000)
    assert isinstance(case.context.belief, AttributeBelief)
    right = replace(case.context.belief, posterior=np.where(np.arange(8000)[:, None] < 4000, np.eye(2)[truth], 0.5))
    accuracy, beside = replace(case, context=replace(case.context, belief=right)).findings(
        new_metric("attribute_leak", at_most=1.5), new_metric("attribute_leak", name="mcc", measure="mcc", at_most=0.5)
    )
    assert (accuracy.passed, beside.passed) == (None, False)


def test_the_predictive_value_of_a_rare_value_is_counted_among_those_whom_the_attack_takes_to_have_it() -> None:
    """Of the eight people whom the attack is surest to have the value six do, and of imputation's eight all or none."""
    truth = np.array([1] * 6 + [0] * 34)
    imputation = np.column_stack([np.linspace(0.99, 0.6, 40), np.linspace(0.01, 0.4, 40)])
    attack = imputation.copy()
    attack[:8] = (0.45, 0.55)
    case = asked(np.tile(truth, 2), np.arange(80) < 40, np.tile(attack, (2, 1)), np.tile(imputation, (2, 1)))
    score = case.score(new_metric("attribute_leak", measure="ppv", value="married", top=8, at_most=0.5))
    assert score.value == pytest.approx(6 / 8)
    assert score.evidence["of_value"] == "married"
    columns = score.evidence["columns"].content
    assert (columns["attack"]["ppv"], columns["imputation"]["ppv"], columns["prior"]["ppv"]) == (0.75, 0.0, 0.5)


def test_a_value_that_no_secret_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leave `value` out"):
        new_metric("attribute_leak", at_most=0.1, measure="mcc", value="married")
    (tmp_path / "table.csv").write_text(many_ills(120, 1))
    data = {"path": "table.csv", "control": "table.csv", "columns": COLUMNS}
    limit = {"use": "attribute_leak", "measure": "ppv", "value": "yess", "at_most": 0.5}
    document = {"leafgate": 1, "name": "t", "data": data, "build": {"use": "id3"}, "metrics": [limit]}
    (tmp_path / "policy.yaml").write_text(json.dumps({**document, "attacks": [{"use": "likelihood"}]}))
    with pytest.raises(PolicyError, match=r"did you mean 'yes'"):
        load_policy(tmp_path / "policy.yaml")
    widowed = new_metric("attribute_leak", measure="ppv", value="widowed", at_most=0.5)
    with pytest.raises(InconclusiveError, match="no value of the column"):
        rare_value().score(widowed)


def test_the_interval_of_a_correlation_needs_no_memory_for_the_cube_of_the_values() -> None:
    rng = np.random.default_rng(0)
    truth, baseline = rng.integers(3_000, size=(2, 100))
    gain = correlation_gain(truth, np.where(np.arange(100) < 50, truth, baseline), baseline, 3_000, 0.05, rng)
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(0.5, abs=0.05)
