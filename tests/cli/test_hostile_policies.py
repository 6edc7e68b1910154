"""Whatever stands in a policy, in what it extends, or in its waivers: a code that was meant, never 4."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from command_line import leafgate
from survey import PEOPLE, policy

WAIVER = {"id": "1", "finding": "k_anonymity@linking#ill", "release": "0" * 64, "owner": "a", "approved_by": "b"}
FULL = {
    "waivers": [WAIVER | {"reason": "r", "issued": "2026-01-01", "expires": "2026-01-02", "limit": {"at_least": 2}}],
    "max_waiver_days": 9,
    "report": {"smallest_cell": 5},
    "publish": {"leaves": "shares"},
    "plugins": ["leafgate"],
    "knows": {"facts": [{"where": {"age": {"to": 9}}, "column": "smoker", "in": ["no"], "share": 1}]},
    "data.protect": [{"column": "smoker", "where": {"age": {"to": 30}}}],
}
STRANGE: list[Any] = [
    None,
    True,
    -1,
    0.5,
    "",
    "x",
    [],
    [[]],
    [None],
    {},
    {"use": "kadet"},
    [{"use": []}],
    {"x": {"y": []}},
]


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """The full policy with something strange in up to three places."""
    result = copy.deepcopy(policy(FULL))
    for _ in range(draw(st.integers(0, 3))):
        here: Any = result
        for step in draw(st.lists(st.integers(0, 30), max_size=4)):
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            below = here[keys[step % len(keys)]] if keys else None
            here = below if isinstance(below, dict | list) and below else here
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            break
        key = keys[draw(st.integers(0, 30)) % len(keys)]
        if isinstance(here, dict) and draw(st.booleans()):
            del here[key]
        else:
            here[key] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
        if not result:
            break
    return result


@given(spoiled(), spoiled(), st.booleans())
@pytest.mark.thorough
def test_policies_are_compared_and_extended_or_refused(
    tmp_path_factory: pytest.TempPathFactory, old: dict[str, Any], new: dict[str, Any], extends: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    write(folder, old, new | ({"extends": "old.yaml"} if extends else {}))
    for words, codes in ((["diff"], {0, 1, 2}), (["validate", "--org"], {0, 2})):
        ended = leafgate(words[0], *words[1:], folder / "old.yaml", folder / "new.yaml", "--json")
        event(f"{words[0]}: {ended.code}")
        assert ended.code in codes, ended.out
        assert ended.document["format"] in {"leafgate/diff/1", "leafgate/valid/1", "leafgate/error/1"}


def write(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "old.yaml").write_text(json.dumps(old, indent=1))
    (folder / "new.yaml").write_text(json.dumps(new, indent=1))
