"""No part of the code grows beyond its ceiling, and its functions do not shrink.

A ceiling is raised only by a change whose line in the changelog says why.
"""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "size.py"))
CEILINGS = {"core": 44_900, "plugins": 30_700, "kit": 905, "tests": 81_950}
"""The most code lines of each part: neither blank, nor comments, nor docstrings."""
MEDIAN = 5
"""The median function has at least so many code lines: nothing is gained by cutting functions into pieces."""


MODULE = '''"""A module."""

# A comment.
NAME = """a
b"""
"""Its docstring,
of two lines."""
'''


@pytest.mark.thorough
@pytest.mark.parametrize("part", CEILINGS)
def test_a_part_stays_below_its_ceiling(part: str) -> None:
    size = SCRIPT["size_of"](part)
    assert size.code <= CEILINGS[part]
    assert size.median >= MEDIAN


def test_code_lines_are_neither_blank_nor_comments_nor_docstrings() -> None:
    text = f"{MODULE}\nif NAME:\n    'x'\n    run(\n        NAME  # why\n    )\n"
    statements = list(SCRIPT["_statements"](ast.parse(text).body))
    assert SCRIPT["code_lines"](text, statements) == {4, 5, 9, 11, 12, 13}
