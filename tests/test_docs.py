"""The documentation says what is so: made from the code, run again, or followed to its end."""

from __future__ import annotations

import doctest
import pydoc
import re
import runpy
from pathlib import Path

import pytest

from cases import more
from leafgate.api.checks import AuditCheck
from leafgate.api.components import AttackModel, TreeBuilder
from leafgate.api.metrics import Metric, PersonMetric
from leafgate.io.yaml import parse_yaml
from leafgate.policy.load import policy_of
from replay import replayed, without_skops_digests

TOP = Path(__file__).resolve().parents[1]
PAGES = [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md"))]
HISTORY = "CHANGELOG.md"
"""It may name what there is no longer."""
TEXTS = {str(page.relative_to(TOP)): page.read_text(encoding="utf-8") for page in PAGES}

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
YAML = re.compile(r"^```yaml\n(leafgate: 1\n.*?)^```$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"`(leafgate\w*(?:\.\w+)+)`")
TEST = re.compile(r"`(test_\w+_\w+)`")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (TOP / "tests").rglob("test_*.py"))
FILE = re.compile(r"`((?:tests|docs|core|plugins|policies)/[\w./*-]+)`")
MODULE = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)`")
MEMBERS = re.compile(
    r"^\| ((?:`[\w()]+`(?:, )?)+)[^|]*\| (?:all|attacks|builders|metrics|metrics of people) \|", re.MULTILINE
)


def found(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Every match in every page, with the page."""
    return [(name, match) for name, text in TEXTS.items() for match in pattern.findall(text)]


def test_the_policy_reference_is_what_the_models_say() -> None:
    made = runpy.run_path(str(TOP / "docs/reference/make_policy_reference.py"))["page"]()
    assert TEXTS["docs/reference/policy.md"] == made, "run python docs/reference/make_policy_reference.py"


@pytest.mark.parametrize(("page", "link"), [pair for pair in found(LINK) if "://" not in pair[1]])
def test_a_link_leads_to_a_file(page: str, link: str) -> None:
    assert (TOP / page).parent.joinpath(link).exists()


@pytest.mark.parametrize(("page", "policy"), found(YAML))
def test_a_policy_in_a_page_is_valid(page: str, policy: str, tmp_path: Path) -> None:
    assert policy_of(parse_yaml(policy.encode(), page), tmp_path).policy.attacks


def test_the_policy_in_the_readme_is_the_one_that_is_audited_there() -> None:
    shown = dict(found(YAML))["README.md"]
    audited = (TOP / "policies/mortgage.yaml").read_bytes()
    assert parse_yaml(shown.encode(), "README.md") == parse_yaml(audited, "mortgage.yaml")


@pytest.mark.parametrize(("page", "name"), found(FUNCTION))
def test_a_function_a_page_names_exists(page: str, name: str) -> None:
    assert pydoc.locate(name) is not None


@pytest.mark.parametrize("path", sorted(set(MODULE.findall(TEXTS["docs/reference/architecture.md"]))))
def test_a_module_that_the_architecture_page_names_exists(path: str) -> None:
    core = TOP / "core/leafgate"
    assert any((root / path).exists() for root in (TOP, core, core / "models"))


def test_a_member_of_a_class_that_the_plugin_page_names_exists() -> None:
    rows = MEMBERS.findall(TEXTS["docs/reference/plugins.md"].partition("## What a class says of itself")[2])
    names = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    assert {"unit", "examples", "must_hide", "wants_test"} <= names
    members = {name for kind in (AttackModel, AuditCheck, Metric, PersonMetric, TreeBuilder) for name in dir(kind)}
    assert names <= members


@pytest.mark.parametrize(("page", "name"), [pair for pair in found(TEST) if pair[0] != HISTORY])
def test_a_test_that_a_page_names_exists(page: str, name: str) -> None:
    assert f"def {name}(" in TESTS


@pytest.mark.parametrize(("page", "path"), [pair for pair in found(FILE) if pair[0] != HISTORY])
def test_a_file_that_a_page_names_exists(page: str, path: str) -> None:
    assert list(TOP.glob(path))


SWEEP = "docs/how-to/sweep.md"
"""Its session starts workers."""
SESSIONS = [name for name, text in TEXTS.items() if "```console" in text and name != SWEEP]


@pytest.mark.thorough
@pytest.mark.parametrize("page", [*SESSIONS, *more(SWEEP)])
def test_a_session_in_a_page_prints_what_it_says(page: str) -> None:
    printed = without_skops_digests(replayed(TEXTS[page]))
    assert without_skops_digests(TEXTS[page]) == printed, f"run python tests/support/replay.py {page}"


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if ">>> " in text])
def test_an_example_in_a_page_is_right(page: str) -> None:
    assert doctest.testfile(str(TOP / page), module_relative=False).failed == 0
