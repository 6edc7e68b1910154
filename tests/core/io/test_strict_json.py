import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.app import readable

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
KEYS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.integers()
    | st.none()
    | st.booleans()
    | st.just(2.5)
)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=2).map(tuple) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_a_readable_document_is_pythons_own_with_an_indent_of_one(document: Any) -> None:
    result = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    assert readable(document) == result.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        readable({"a": [number]})
