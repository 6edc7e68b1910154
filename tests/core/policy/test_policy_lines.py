from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.app import document, load_policy, open_session
from leafgate.io.yaml import as_parsed
from leafgate.kernel.origin import Lines, SourceLine
from leafgate.kernel.paths import format_path
from leafgate.policy.sources import MAX_LINE_LENGTH, read_policy, read_policy_lines, write_document
from survey import PEOPLE, survey

LETTERS = st.characters(min_codepoint=32, exclude_categories=["C", "Zl", "Zp"])
WORDS = st.text(LETTERS, max_size=20)
DOCUMENTS = st.dictionaries(WORDS, WORDS | st.lists(WORDS, max_size=3), min_size=1, max_size=6)
POLICY = """# who is asked
leafgate: 1
name: survey
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 120]}
    sex: {role: quasi_identifier, values: [f, m]}
    smoker:
      role: private
      values: ["no", "yes"]
    ill: {role: [class, sensitive], values: ["no", "yes"]}
build: {use: c45}
attacks:
  - {use: linking}
metrics:
  - {use: k_anonymity, at_least: 2}
  - use: confidence
    at_most: 0.5
"""


def written(folder: Path, text: str = POLICY) -> Path:
    (folder / "people.csv").write_text(PEOPLE)
    path = folder / "survey.yaml"
    path.write_text(text)
    return path


def by_place(lines: Lines) -> dict[str, SourceLine]:
    return {format_path(path): line for path, line in lines.items()}


@pytest.mark.parametrize(
    ("place", "number", "text"),
    [
        ("name", 3, "name: survey"),
        ("data.columns.age", 7, "age: {role: quasi_identifier, bounds: [0, 120]}"),
        ("data.columns.age.bounds[1]", 7, "age: {role: quasi_identifier, bounds: [0, 120]}"),
        ("data.columns.smoker.values", 11, 'values: ["no", "yes"]'),
        ("metrics[0]", 17, "- {use: k_anonymity, at_least: 2}"),
        ("metrics[1]", 18, "- use: confidence"),
        ("metrics[1].at_most", 19, "at_most: 0.5"),
    ],
)
def test_every_place_has_its_line(tmp_path: Path, place: str, number: int, text: str) -> None:
    line = by_place(load_policy(written(tmp_path)).policy.origin.lines)[place]
    assert (line.file, line.number, line.text) == ("survey.yaml", number, text)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_counted_by_any_ending(ending: str) -> None:
    _, lines = read_policy_lines(POLICY.replace("\n", ending).encode(), "p.yaml")
    assert lines["metrics", 1, "at_most"].number == 19


@given(DOCUMENTS)
def test_a_key_written_on_a_line_of_its_own_is_found_there(document: dict[str, Any]) -> None:
    keys = list(document)
    words = [(json.dumps(key, ensure_ascii=False), json.dumps(document[key], ensure_ascii=False)) for key in keys]
    text = "".join(f"{key}: {value}\n" for key, value in words)
    found, lines = read_policy_lines(text.encode(), "p.yaml")
    assert found == document
    assert [lines[key,].number for key in keys] == list(range(1, len(keys) + 1))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
sections = st.dictionaries(st.sampled_from(["data", "columns", "build", "encoding", "metrics", "a b"]), plain_values)


@given(st.dictionaries(texts, plain_values, max_size=3), sections, st.lists(st.just("# a remark"), max_size=2))
def test_a_written_document_is_read_with_the_same_values_and_lines(
    document: dict[str, Any], section: dict[str, Any], head: list[str]
) -> None:
    document = as_parsed({**document, **section, "data": section, "metrics": [section, {"use": "confidence"}]})
    text, lines = write_document(document, "p.yaml", head)
    assert read_policy_lines(text.encode(), "p.yaml") == (document, lines)


def test_what_is_quoted_is_short_and_moves_no_cursor() -> None:
    _, lines = read_policy_lines(f"name: \N{RIGHT-TO-LEFT OVERRIDE}{'x' * 10_000}\n".encode(), "p.yaml")
    assert len(lines["name",].text) == MAX_LINE_LENGTH
    assert lines["name",].text.isprintable()


def test_a_mark_at_the_end_of_the_text_is_on_a_line_that_is_there() -> None:
    _, lines = read_policy_lines(b"a:\n- \n-", "p.yaml")
    assert (lines["a", 0].number, lines["a", 1].number) == (2, 3)


def test_findings_say_which_line_asked_for_them(tmp_path: Path) -> None:
    report = document(open_session(written(tmp_path)).audit().report, "public")
    fields = {finding["id"]: finding["where"] for finding in report["findings"]}
    assert fields["k_anonymity@linking#ill"] == {"file": "survey.yaml", "line": 17}
    assert fields["confidence@linking#ill"] == {"file": "survey.yaml", "line": 18}
    assert report["policy"]["file"] == "survey.yaml"


def test_what_a_builder_claims_or_cannot_build_points_at_the_builder(tmp_path: Path) -> None:
    fields = {"build": {"use": "kadet", "k": 3}, "metrics.0.at_least": 2}
    (claimed,) = [f for f in open_session(survey(tmp_path, fields)).audit().report.findings if f.id == "guarantee:k"]
    line = read_policy(tmp_path / "policy.yaml").lines["build",].number
    assert claimed.where == {"file": "policy.yaml", "line": line}
    (none,) = open_session(survey(tmp_path, {"build": {"use": "kadet", "k": 30}})).audit().report.findings
    assert (none.id, none.where) == ("build", {"file": "policy.yaml", "line": line})


def test_a_policy_in_another_folder_is_called_by_its_name_alone(tmp_path: Path) -> None:
    report = document(open_session(written(tmp_path)).audit().report, "auditor")
    assert str(tmp_path) not in json.dumps(report)


@given(st.integers(min_value=0, max_value=30))
def test_comments_above_move_every_line_by_as_many(comments: int) -> None:
    _, lines = read_policy_lines(b"# a word\n" * comments + POLICY.encode(), "p.yaml")
    assert lines["metrics", 1, "at_most"].number == 19 + comments
