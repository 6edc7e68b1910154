"""The model reader, installed as a stranger's plugin, works wherever a bundled one does.

The page is docs/reference/plugin-readers.md.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from stranger import install

pytestmark = pytest.mark.thorough

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/plugin-readers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(SOURCE,) = (text for text in BLOCKS if "def model_readers" in text)
(TEST,) = (text for text in BLOCKS if "def test_acorn" in text)

FILE = b"""{"acorn": 1, "columns": ["age"], "classes": ["low", "high"],
"tree": {"column": 0, "below": 37.5, "yes": {"people": [6, 1]}, "no": {"people": [1, 4]}}}"""
PEOPLE = "age,risk\n" + "20,low\n" * 6 + "30,high\n" + "50,low\n" + "60,high\n" * 4
POLICY = """
leafgate: 1
name: acorns
data:
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    risk: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: model.json}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}, {use: file_disclosure, at_most: 0}]
report: {smallest_cell: 1}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, a policy and a model file; the reader of the page is installed."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, "acme_acorn", SOURCE)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "acme_acorn", raising=False)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "model.json").write_bytes(FILE)
    return tmp_path


def audited(folder: Path) -> Any:
    return leafgate("audit", folder / "policy.yaml", folder / "people.csv", "--json")


def test_an_audit_reads_its_files_and_says_in_its_words_what_they_disclose(folder: Path) -> None:
    ended = audited(folder)
    findings = {each["id"]: each for each in ended.document["findings"]}
    assert ended.code == 1
    assert findings["k_anonymity@linking#risk"]["passed"] is True
    assert findings["file_disclosure"]["passed"] is False
    assert findings["published_file"]["evidence"]["discloses"] == [
        {
            "kind": "counts",
            "severity": "high",
            "says": "acorn keeps how many people of each class end at every leaf",
            "level": "counts",
        }
    ]
    assert ended.document["release"]["file"]["format"] == "acorn"


def test_other_people_than_the_files_are_a_contradiction(folder: Path) -> None:
    (folder / "people.csv").write_text(PEOPLE + "61,high\n")
    found = {each["id"]: each["passed"] for each in audited(folder).document["findings"]}
    assert found["counted"] is None


def test_what_nobody_needs_is_disclosed(folder: Path) -> None:
    document = json.loads(FILE) | {"trained_on": ["Ann", "Bob"]}
    (folder / "model.json").write_text(json.dumps(document))
    ended = audited(folder)
    (finding,) = (each for each in ended.document["findings"] if each["id"] == "published_file")
    assert [item["kind"] for item in finding["evidence"]["discloses"]] == ["counts", "other_content"]
    assert "Ann" not in ended.out


def test_it_is_listed_converted_scrubbed_and_drafts_a_policy(folder: Path) -> None:
    assert "acme_acorn (acme-acorn 1.0): reader acorn\n" in leafgate("plugins").out
    model = folder / "model.json"
    assert leafgate("convert", model, folder / "neutral.json").code == 0
    again = json.loads((folder / "neutral.json").read_bytes())
    assert (again["from"], again["producer"]) == ("acorn", "acorn 1")
    (folder / "policy.yaml").write_text(POLICY.replace("model.json", "neutral.json"))
    (finding,) = (each for each in audited(folder).document["findings"] if each["id"] == "published_file")
    assert "acorn keeps how many people" in json.dumps(finding["evidence"]["discloses"])
    assert "other_content" not in json.dumps(finding["evidence"]["discloses"])
    assert leafgate("scrub", model, folder / "scrubbed.json", "--leaves", "labels").code == 0
    drafted = leafgate("init", folder / "people.csv", "--model", model).out
    assert "acorn keeps how many people" in drafted
    assert "publish: {leaves: counts" in drafted


def test_without_it_the_file_is_no_model(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY + "plugins: [leafgate]\n")
    assert audited(folder).code == 2


def test_the_test_of_the_page_passes(folder: Path) -> None:
    import_module("acme_acorn")
    names: dict[str, Any] = {}
    exec(compile(TEST, "test_acorn.py", "exec"), names)
    (parametrized,) = names["test_acorn"].pytestmark
    for check in parametrized.args[1]:
        check()
