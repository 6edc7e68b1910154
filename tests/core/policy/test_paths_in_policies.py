from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import PolicyError
from leafgate.app import load_policy
from leafgate.kernel.paths import DocumentPath, format_path, locate, parse_path, paths_of
from survey import survey

NAMES = st.text("ab.[]01", min_size=1, max_size=6)
"""Names of columns with everything that a printed path has between its steps."""
DOCUMENTS = st.recursive(
    st.integers(),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
).map(lambda inner: {"data": inner})


@given(DOCUMENTS)
def test_a_printed_path_leads_back_to_a_value_that_is_printed_so(document: dict[str, Any]) -> None:
    paths = list(paths_of(document))
    printed = Counter(map(format_path, paths))
    for path in paths:
        parsed = parse_path(format_path(path), document)
        assert format_path(parsed) == format_path(path)
        assert parsed in paths
        assert parsed == path or printed[format_path(path)] > 1


@given(DOCUMENTS, st.sampled_from(["missing", "x.y", "x[3]"]))
def test_a_path_of_something_missing_leads_to_what_is_around_it(document: dict[str, Any], missing: str) -> None:
    for path in paths_of(document):
        text = f"{format_path(path)}.{missing}".removeprefix(".")
        assert format_path(parse_path(text, document)) == format_path(path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("data.columns.a.b", ("data", "columns", "a.b")),
        ("data.columns.a.b.role", ("data", "columns", "a.b", "role")),
        ("data.columns.a.role", ("data", "columns", "a", "role")),
        ("data.columns.a[0]", ("data", "columns", "a[0]")),
        ("data.columns.a[0].role[1]", ("data", "columns", "a[0]", "role", 1)),
        ("data.columns.ab", ("data", "columns")),
        ("metrics[1]", ("metrics",)),
    ],
)
def test_the_columns_decide_what_a_printed_path_means(text: str, path: DocumentPath) -> None:
    spec = {"role": ["class", "sensitive"]}
    document = {"data": {"columns": {"a": spec, "a.b": spec, "a[0]": spec}}, "metrics": [{"use": "exposure"}]}
    assert parse_path(text, document) == path


@given(DOCUMENTS)
def test_every_path_of_a_document_has_its_value(document: dict[str, Any]) -> None:
    for path in paths_of(document):
        inner: Any = document
        for step in path:
            inner = inner[step]
        assert locate(document, path) is inner
        assert locate(document, (*path, "missing")) is None
        assert locate(document, (*path, 99)) is None


@pytest.mark.parametrize("name", ["job.title", "job[0]", "job.title[0].role"])
def test_mistakes_in_a_column_with_dots_say_in_which_file_it_is(tmp_path: Path, name: str) -> None:
    org = {"leafgate": 1, "data": {"columns": {name: {"role": "private", "vaules": []}}}}
    (tmp_path / "org.yaml").write_text(json.dumps(org, indent=1))
    with pytest.raises(PolicyError) as refused:
        load_policy(survey(tmp_path, {"extends": "org.yaml"}))
    assert f"org.yaml, line 7: data.columns.{name}.vaules" in {p.location for p in refused.value.problems}
