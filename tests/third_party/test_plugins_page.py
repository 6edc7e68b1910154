"""The tutorial shows the files of a package that these tests use; the pages on plugins show others."""

import json
import re
import sys
import unittest
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from entry_points import Point
from leafgate import audit
from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.api import Release, TreeBuilder, registry
from leafgate.app import ExitCode, serialize
from leafgate.testing import conformance
from mortgage import mortgage
from survey import survey

PACKAGE = Path(__file__).with_name("acme_leafgate")
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("plugins", "plugin-components", "plugin-kinds", "plugin-readers")
PAGE = "\n".join((DOCS / f"reference/{name}.md").read_text(encoding="utf-8") for name in PAGES)
TUTORIAL = (DOCS / "tutorials/write-a-plugin.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL))
MORTGAGE = Path(__file__).resolve().parents[2] / "policies/mortgage.yaml"
FILES = sorted(file.name for file in PACKAGE.iterdir() if file.is_file())


def test_the_tutorial_shows_every_file_of_the_package_and_no_other() -> None:
    assert sorted(SHOWN) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_as_it_is(name: str) -> None:
    assert SHOWN[name] == (PACKAGE / name).read_text(encoding="utf-8")


def test_the_other_blocks_of_code_are_those_that_a_test_runs() -> None:
    """The shortest plugin, a builder, a veto; a source and a reader, each with its test; a format.

    In the tutorial a test stands beside the files of the package.
    """
    assert len(re.findall(r"^```(?:python|toml|yaml)$", PAGE, re.MULTILINE)) == 3 + 2 * 2 + 1
    assert len(re.findall(r"^```(?:python|toml|yaml)$", TUTORIAL, re.MULTILINE)) == len(FILES) + 1


def module_of_the_page(word: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The block of the pages that has this word, as a module of its own."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE + TUTORIAL, re.DOTALL)
    (block,) = (text for text in blocks if word in text)
    name = f"{word.split()[-1].lower()}_of_the_page"
    (folder / f"{name}.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module(name)


def test_the_shortest_plugin_is_audited_with_as_a_file_and_as_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of_the_page("def majority", tmp_path, monkeypatch)
    uses = {
        "attacks": [{"use": "linking"}, {"use": "majority", "smooth": 2}],
        "metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "surprise", "of": "majority", "at_least": 0.5}],
    }
    policy, file = survey(tmp_path, uses), tmp_path / f"{module.__name__}.py"
    assert leafgate("audit", policy, "--plugin", file, "--out", tmp_path / "out").code == 0
    findings = json.loads((tmp_path / "out" / "report.json").read_bytes())["findings"]
    assert "surprise@majority#ill" in [finding["id"] for finding in findings]
    table = pd.read_csv(tmp_path / "people.csv")
    tree = DecisionTreeClassifier(max_depth=1).fit(table[["age"]], table["ill"])
    given: dict[str, Any] = {
        "attacks": ["linking", module.majority(smooth=2)],
        "limits": [module.surprise(at_least=0.5, of="majority")],
    }
    audited = audit(tree, table[["age"]], table["ill"], **given)
    assert "surprise@majority#ill" in {finding.id for finding in audited.report.findings}
    again = audit(tree, table[["age"]], table["ill"], attacks=["linking", module.majority], limits={"k_anonymity": 2})
    assert again.report.policy["reproducible"] is False
    again.to_policy(tmp_path / "written")
    head = (tmp_path / "written" / "policy.yaml").read_text().partition("\n")[0]
    assert head.endswith("leafgate audit policy.yaml --plugin FILE.py, with the file of its own attacks and metrics")
    checks = {check.name: check for check in conformance(module.majority())}
    for name in ("works", "runs_apart", "any_row_order", "tells_nobody"):
        checks[name]()


@pytest.fixture
def stump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TreeBuilder:
    """The builder of the page, in a module of its own."""
    return cast(TreeBuilder, module_of_the_page("class Stump", tmp_path, monkeypatch).Stump())


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module with the veto of the page, installed as a distribution of its own beside the bundled plugins."""
    module = module_of_the_page("def forbidden_columns", tmp_path, monkeypatch)
    installed = vars(registry)["entry_points"](group="leafgate")
    point = Point("rules", lambda: module, "acme-rules", "1.0")
    monkeypatch.setattr(registry, "entry_points", lambda group: [*installed, point])
    return module


def test_the_veto_of_the_page_fails_a_release_that_names_a_forbidden_column_and_no_other(
    rules: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (limit,) = re.findall(r"`metrics: \[(\{use: forbidden_columns.*?)\]`", PAGE)
    (tmp_path / "mortgage.csv").write_bytes(MORTGAGE.with_suffix(".csv").read_bytes())
    limited = MORTGAGE.read_text(encoding="utf-8").replace("metrics:", f"metrics:\n  - {limit}")
    (tmp_path / "mortgage.yaml").write_text(limited, encoding="utf-8")
    audited = leafgate("audit", tmp_path / "mortgage.yaml")
    assert (audited.code, audited.err) == (ExitCode.FAIL, "")
    assert "The release names a column that the organisation forbids." in audited.out
    monkeypatch.setattr(rules, "FORBIDDEN", frozenset({"religion"}))
    assert leafgate("audit", tmp_path / "mortgage.yaml").code == ExitCode.PASS


def test_the_builder_of_the_page_makes_a_release_that_counts_the_table(stump: TreeBuilder) -> None:
    release = stump.build(mortgage(), np.random.default_rng(0))
    assert isinstance(release, Release)
    assert inconsistent_leaves(release, mortgage()) == 0
    assert serialize(release).release.trees == release.trees


def test_the_builder_of_the_page_conforms(stump: TreeBuilder) -> None:
    for check in conformance(stump):
        check()


def test_the_test_of_the_tutorial_passes_with_three_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PACKAGE)
    tested = module_of_the_page("KNOWS_NOBODY = ", tmp_path, monkeypatch)
    skipped = {}
    for check in tested.CHECKS:
        try:
            tested.test_it_conforms(check)
        except unittest.SkipTest as reason:
            skipped[str(check)] = str(reason)
    assert len(skipped) == 3, skipped
    assert any("the adversary knows nobody" in reason for reason in skipped.values())
    assert "All pass, and three are skipped" in TUTORIAL
