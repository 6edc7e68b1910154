from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import PolicyError
from leafgate.app import parse_yaml

LETTERS = st.characters(min_codepoint=32, exclude_categories=["C", "Zl", "Zp"])
TEXTS = st.text(LETTERS, max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DOCUMENTS = st.dictionaries(
    TEXTS,
    st.recursive(SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(TEXTS, part, max_size=4)),
    max_size=4,
)


def value(text: str) -> Any:
    return parse_yaml(f"a: {text}".encode(), "policy.yaml")["a"]


def refusal(content: str | bytes) -> PolicyError:
    with pytest.raises(PolicyError) as refused:
        parse_yaml(content if isinstance(content, bytes) else content.encode(), "policy.yaml")
    return refused.value


@given(DOCUMENTS)
def test_plain_json_reads_as_itself(document: dict[str, Any]) -> None:
    assert parse_yaml(json.dumps(document, ensure_ascii=False).encode(), "policy.yaml") == document


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "off", "y", "N", "NO", "1:30", "1_000", "0b1", "2020-01-01", "=", "<<"]
)
def test_what_older_yaml_takes_for_something_else_is_text(text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", 0.001),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+1", 1),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("true", True),
        ("FALSE", False),
        ("", None),
        ("~", None),
        ("Null", None),
        ("'1'", "1"),
        ('"no"', "no"),
    ],
)
def test_scalars_are_those_of_the_yaml_1_2_core_schema(text: str, expected: object) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


def test_nan_and_infinity_are_read_for_the_policy_to_refuse() -> None:
    assert math.isnan(value(".nan"))
    assert value("-.inf") == -math.inf


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert parse_yaml(b"\xef\xbb\xbfa: 1", "policy.yaml") == {"a": 1}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a: 1\nb: 2\na: 3", 3),
        ("a: 1\n'a': 2", 2),
        ("x:\n  - {b: 1, b: 1}", 2),
        ("{a: 1, a: 1}", 1),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_its_line(content: str, line: int) -> None:
    problem = refusal(content).problems[0]
    assert "stands twice" in problem.message
    assert problem.location == f"policy.yaml, line {line}"


@pytest.mark.parametrize("content", ["a: &x 1", "a: *x", "&x\na: 1", "a: &x [1]\nb: *x", "a: 1\n*x : 2", "&k a: 1"])
def test_anchors_and_aliases_are_refused(content: str) -> None:
    assert "anchors and aliases are not allowed" in refusal(content).problems[0].message


def test_an_alias_bomb_goes_off_nowhere() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert refusal("\n".join(lines)).problems[0].location == "policy.yaml, line 1"


def test_a_merge_key_merges_nothing() -> None:
    assert parse_yaml(b"<<: {a: 1}", "policy.yaml") == {"<<": {"a": 1}}


@pytest.mark.parametrize("key", ["1", "1.5", "true", "null", "~", "[a]", "{a: 1}", "0x1F"])
def test_a_key_that_is_no_text_is_refused(key: str) -> None:
    assert "a key that is not text" in refusal(f"? {key}\n: x").problems[0].message


def test_a_quoted_key_is_text_whatever_it_looks_like() -> None:
    assert parse_yaml(b"'1': x\n\"no\": y", "policy.yaml") == {"1": "x", "no": "y"}


@pytest.mark.parametrize(
    "node",
    [
        "!!python/object/apply:os.system [x]",
        "!!python/name:os.system",
        "!mine x",
        "! 1",
        "!!str 1",
        "!!bool maybe",
        "!!float ''",
        "!!int ''",
        "!!timestamp x",
        "!!timestamp 2020-01-01",
        "!!binary aGk=",
        "!!set {x, y}",
        "!!omap [x: 1]",
        "!!map x",
        "!!null x",
    ],
)
def test_tags_are_refused_with_their_line(node: str) -> None:
    problem = refusal(f"b: 1\na: {node}").problems[0]
    assert problem.location == "policy.yaml, line 2"
    assert "tag" in problem.message


@pytest.mark.parametrize("content", ["a: 1\n---\nb: 2", "a: 1\n...\nb: 2", "---\n---\na: 1"])
def test_a_second_document_is_refused(content: str) -> None:
    assert refusal(content).exit_code == 2


@pytest.mark.parametrize("content", ["\ta: 1", "a:\n\tb: 1", "a:\t1\n\tb: 2"])
def test_tabs_do_not_indent(content: str) -> None:
    assert "\\t" in refusal(content).problems[0].message


@pytest.mark.parametrize("content", ["", "# nothing", "[1, 2]", "text", "null", "12"])
def test_what_is_no_mapping_is_refused(content: str) -> None:
    assert "not a mapping" in refusal(content).problems[0].message


@pytest.mark.parametrize("content", [b"a: \xff", "a: é".encode("latin-1"), "a: 1".encode("utf-16")])
def test_what_is_not_utf_8_is_refused(content: bytes) -> None:
    assert refusal(content).problems[0].message == "is not UTF-8 text"


@pytest.mark.parametrize("content", ["a: \x07", "a: '\x7f'", "a: 'b", "{a: 1", "a: b: c", "a: @x", "a: " + "9" * 5000])
def test_what_is_no_yaml_is_refused(content: str) -> None:
    assert refusal(content).exit_code == 2


def test_a_text_that_is_no_unicode_is_refused() -> None:
    assert refusal(r'a: "\uD800"').exit_code == 2


def test_more_than_a_quarter_megabyte_is_refused_unread() -> None:
    assert "256 KB" in refusal(b"[" * (2**18 + 1)).problems[0].message
    assert "256 KB" not in refusal(b"[" * 2**18).problems[0].message


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_deep_nesting_is_refused_and_common_nesting_is_not(opening: str, closing: str) -> None:
    deep, fine = 33, 31
    assert "nested deeper" in refusal(f"a: {opening * deep}1{closing * deep}").problems[0].message
    assert value(f"{opening * fine}1{closing * fine}")


def test_a_quoted_text_that_does_not_end_is_named_where_it_begins() -> None:
    with pytest.raises(PolicyError, match=r"policy\.yaml, line 2: a quoted text that does not end"):
        parse_yaml(b'leafgate: 1\nname: "x\nbuild:\n  use: kadet\n', "policy.yaml")
