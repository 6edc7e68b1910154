"""`leafgate.audit` of a policy is what the command line makes of it, on its own table and on one in memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import leafgate
from command_line import leafgate as command
from leafgate.app import document, readable

POLICIES = Path(__file__).resolve().parents[3] / "policies"
SKIPPED = {
    **{path.name: "its data is not in the repository" for path in POLICIES.glob("adult*.yaml")},
    "votes.yaml": "its data is not in the repository",
    "demo.yaml": "its people are made by leafgate demo",
    "structure.yaml": "its people are made by leafgate demo",
    "wages.yaml": "its release is drawn once, by the command line alone",
}


def bytes_of(audit: leafgate.Audit, audience: Any = "public") -> bytes:
    return readable(document(audit.report, audience))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=[pytest.mark.skip(SKIPPED[path.name])] if path.name in SKIPPED else [])
        for path in sorted(POLICIES.glob("*.yaml"))
    ],
)
@pytest.mark.thorough
def test_an_example_policy_has_the_same_report(name: str, tmp_path: Path) -> None:
    ended = command("audit", POLICIES / name, "--no-remedies", "--json", "--out", tmp_path, "--audience", "auditor")
    audit = leafgate.audit(leafgate.load_policy(POLICIES / name), search_remedies=False)
    assert audit.exit_code == ended.code
    assert bytes_of(audit).decode() == ended.out
    assert bytes_of(audit, "auditor") == (tmp_path / "report.json").read_bytes()


@pytest.mark.parametrize("name", ["ward.yaml", "mortgage.yaml"])
@pytest.mark.thorough
def test_a_table_in_memory_stands_for_the_policys_own(name: str, tmp_path: Path) -> None:
    policy = leafgate.load_policy(POLICIES / name)
    assert policy.data.path is not None
    people = pd.read_csv(policy.data.path, dtype=str, keep_default_na=False)
    (tmp_path / "copy.csv").write_text(people.to_csv(index=False, lineterminator="\r\n"), newline="")
    ended = command("audit", POLICIES / name, tmp_path / "copy.csv", "--json")
    given = [leafgate.audit(policy, people), leafgate.audit(str(POLICIES / name), pl.from_pandas(people))]
    for audit in given:
        assert bytes_of(audit).decode() == ended.out
    for label in [column for column, spec in policy.data.columns.items() if "class" in spec.role]:
        halves = leafgate.audit(policy, people.drop(columns=label), people[label])
        assert bytes_of(halves).decode() == ended.out


def test_a_policy_in_another_kind_of_csv_takes_a_table_too(tmp_path: Path) -> None:
    columns = "{age: {role: quasi_identifier, bounds: [0, 100]}, ill: {role: [class, sensitive], values: [a b, c;d]}}"
    text = f"""
leafgate: 1
name: odd
data:
  path: people.txt
  csv: {{header: false, delimiter: ";", quote: "'", comment: "4", encoding: latin-1, skip_initial_space: true}}
  columns: {columns}
build: {{use: kadet, k: 2}}
attacks: [{{use: linking}}]
metrics: [{{use: k_anonymity, at_least: 2}}]
"""
    (tmp_path / "odd.yaml").write_text(text)
    people = pd.DataFrame({"ill": ["a b", "c;d"] * 20, "age": range(30, 70)})
    audit = leafgate.audit(tmp_path / "odd.yaml", people)
    assert audit.passed
    assert audit.report.data["people"].count == 40
    assert audit.report.policy["given"] == ["DATA"]


def test_a_changed_policy_names_no_lines_of_the_file() -> None:
    policy = leafgate.load_policy(POLICIES / "ward.yaml")
    unchanged = leafgate.audit(policy, search_remedies=False)
    assert any(finding.where for finding in unchanged.report.findings)
    changed = policy.model_copy(update={"name": "another"})
    audit = leafgate.audit(changed, search_remedies=False)
    assert not any(finding.where for finding in audit.report.findings)
    assert audit.report.policy["name"] == "another"


def test_a_table_that_lacks_a_column_of_the_policy_is_refused() -> None:
    policy = leafgate.load_policy(POLICIES / "ward.yaml")
    assert policy.data.path is not None
    people = pd.read_csv(io.BytesIO(policy.data.path.read_bytes()), dtype=str, keep_default_na=False)
    with pytest.raises(leafgate.DataError, match="X: has a column 'more' that the policy does not have"):
        leafgate.audit(policy, people.assign(more="1"))
    [label, *_] = [column for column, spec in policy.data.columns.items() if "class" not in spec.role]
    with pytest.raises(leafgate.DataError, match="X: lacks a column of the policy"):
        leafgate.audit(policy, people.drop(columns=label))


def test_an_audit_by_a_policy_has_no_other_policy_to_write() -> None:
    with pytest.raises(leafgate.LeafgateError, match="leafgate audit"):
        leafgate.audit(POLICIES / "ward.yaml", search_remedies=False).to_policy()


def test_a_builder_that_draws_once_is_left_to_the_command_line(tmp_path: Path) -> None:
    columns = "{age: {role: quasi_identifier, bounds: [0, 100]}, ill: {role: [class, sensitive], values: [a, b]}}"
    text = f"""
leafgate: 1
name: once
data: {{path: people.csv, columns: {columns}}}
build: {{use: dp_random_trees, epsilon: 1, delta: 1.0e-6}}
attacks: [{{use: linking}}]
metrics: [{{use: k_anonymity, at_least: 2}}]
"""
    (tmp_path / "once.yaml").write_text(text)
    with pytest.raises(leafgate.PolicyError, match="never draws the same again"):
        leafgate.audit(tmp_path / "once.yaml")
