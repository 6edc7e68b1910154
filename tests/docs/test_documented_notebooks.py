"""The notebooks of the documentation: stored without outputs, and what they print where the site executes them.

The build of the site ends at the first cell that raises an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from documentation_site import executed_notebook

FOLDER = Path(__file__).resolve().parents[2] / "docs/notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
SAYS: dict[str, tuple[str, ...]] = {
    "audit-a-model": (
        "'fail'",
        "the audit of the repaired model: pass",
        r"\{'min_samples_leaf': \d+\} pass",
        "People stand in groups that are too small",
        "leafgate: 1",
    ),
    "compare-attacks": (
        "1: 'fail'",
        "200: 'inconclusive'",
        r"^20 +0\.7\d+ +20\.0 +1\.0",
        "It could not be determined whether",
    ),
    "estimators": (
        r"claim: \{'k': 20\}",
        r"guarantee:k +pass",
        r"\{'k': \d+\} pass",
        r"claim: \{\}",
        "`random_state` fixes the random numbers",
        r"claim: \{'epsilon': \{'at_most': 0\.\d+",
        r"guarantee:epsilon +pass",
    ),
}
"""Regular expressions for what each notebook prints."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=nbformat.current_nbformat)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_valid_and_stored_without_outputs(name: str) -> None:
    notebook = read(FOLDER / f"{name}.ipynb")
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 3
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_names_no_file_of_this_machine_and_no_other_site(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert not re.search(r"https?://|/home/|/root/|/tmp/|[A-Z]:\\\\", text)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_prints_what_its_text_is_about(name: str, site: Path) -> None:
    notebook = read(executed_notebook(site, name))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    outputs = [output for cell in code for output in cell.outputs]
    texts = (output.get("text") or f"\n{output.get('data', {}).get('text/plain', '')}\n" for output in outputs)
    printed = "".join(texts)  # what one `print` prints may come in several outputs
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert [words for words in SAYS[name] if not re.search(words, printed, re.MULTILINE)] == [], printed


def test_what_every_notebook_prints_is_tested() -> None:
    assert sorted(SAYS) == NOTEBOOKS
