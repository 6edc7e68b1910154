"""The version is the same wherever it is stated, and the changelog has a section for it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import leafgate

TOP = Path(__file__).resolve().parents[2]
CHANGELOG = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAX_WORDS = 600
"""A section of the changelog fits on one page."""


def sections() -> dict[str, str]:
    """The sections of the changelog by their headings."""
    parts = re.split(r"^## (.+)\n", CHANGELOG, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    expected = yaml.safe_load((TOP / "docs/ci/expected.yaml").read_text(encoding="utf-8"))
    stated = [leafgate.__version__, cited["version"], *expected["leafgate"]["versions"]["leafgate"]]
    assert set(stated) == {PROJECT["version"]}


def test_the_changelog_has_a_section_for_what_comes_and_one_for_this_version() -> None:
    unreleased, newest = list(sections())[:2]
    assert unreleased == "Unreleased"
    assert re.fullmatch(re.escape(PROJECT["version"]) + r" - \d{4}-\d{2}-\d{2}", newest)


def test_a_section_of_the_changelog_fits_on_one_page() -> None:
    assert {heading: len(text.split()) for heading, text in sections().items() if len(text.split()) > MAX_WORDS} == {}


def test_the_classifiers_name_the_versions_of_python_that_are_tested() -> None:
    workflow = yaml.safe_load((TOP / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith("Programming Language")]
    assert named == tested
    assert PROJECT["requires-python"] == f">={tested[0]}"
