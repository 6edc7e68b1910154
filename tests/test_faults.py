"""The script that puts faults into the code puts one in, and code is still code."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
SCRIPT: dict[str, Any] = runpy.run_path(str(TOP / "tests" / "benchmarks" / "faults.py"))


def test_a_fault_changes_one_line_of_code_whose_module_has_tests() -> None:
    drawn = SCRIPT["drawn_faults"](9, 1)
    assert {fault.kind for fault in drawn} == set(SCRIPT["KINDS"])
    for fault in drawn:
        source = (TOP / fault.file).read_text(encoding="utf-8")
        written = fault.written(source)
        changed = [old != new for old, new in zip(source.split("\n"), written.split("\n"), strict=True)]
        assert sum(changed) == 1
        assert ast.dump(ast.parse(written)) != ast.dump(ast.parse(source))
        assert SCRIPT["covering"](fault.file)
