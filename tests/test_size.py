"""No part of the code grows beyond its ceiling, its functions do not shrink, and few tests depend on internal modules.

A ceiling is raised only by a change whose line in the changelog says why.
"""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[1]
SCRIPT: dict[str, Any] = runpy.run_path(str(TOP / "tests" / "benchmarks" / "size.py"))
CEILINGS = {"core": 44_720, "plugins": 29_980, "kit": 905, "tests": 81_950}
"""The most code lines of each part: neither blank, nor comments, nor docstrings."""
MEDIAN = 5
"""The median function has at least so many code lines: nothing is gained by cutting functions into pieces."""


MOST_TESTS_OF_INTERNAL_MODULES = 118
"""The most files of tests that import a module which no page documents."""


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


def documented_modules() -> set[str]:
    """The modules that the reference documents for users and for plugins."""
    pages = [page.read_text(encoding="utf-8") for page in (TOP / "docs" / "reference").glob("*.md")]
    return {module for page in pages for module in re.findall(r"^(?:```{public-names} )?(leafgate[.\w]*)$", page, re.M)}


def imports_internal_modules(path: Path, documented: set[str]) -> bool:
    """Does a file import anything of leafgate or its plugins that is neither a documented module nor of one?"""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module not in documented:
            imported |= {f"{node.module}.{name.name}" for name in node.names}
    return any(module.startswith("leafgate") for module in imported - documented)


def test_few_tests_import_modules_that_are_not_documented() -> None:
    """Tests go through policies, the command line and documented modules, so that code can move without breaking them.

    Who needs an internal module, for its mathematics alone, tests it beside others of the same module.
    """
    documented = documented_modules()
    assert {"leafgate", "leafgate.api", "leafgate.app", "leafgate.algorithms.routing"} <= documented
    files = sorted((TOP / "tests").rglob("test_*.py"))
    internal = [str(path.relative_to(TOP)) for path in files if imports_internal_modules(path, documented)]
    assert len(internal) <= MOST_TESTS_OF_INTERNAL_MODULES, internal
