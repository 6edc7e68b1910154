"""The pinned requirements of the jobs: complete, hashed, and within the ranges of the project."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Mapping

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from recipes import (
    ACTION,
    GITLAB,
    TOP,
)

REQUIREMENTS = ACTION.parent / "requirements.txt"


def pinned() -> Mapping[str, list[tuple[Requirement, int]]]:
    """The requirements of requirements.txt by name, each with the number of its hashes."""
    text = REQUIREMENTS.read_text(encoding="utf-8").replace("\\\n", " ")
    requirements: dict[str, list[tuple[Requirement, int]]] = {}
    for line in filter(None, (line.split("#")[0].strip() for line in text.splitlines())):
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line)
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes)
        parsed = Requirement(requirement)
        requirements.setdefault(canonicalize_name(parsed.name), []).append((parsed, len(hashes)))
    return requirements


def test_every_requirement_is_pinned_with_hashes_and_without_an_address() -> None:
    for requirement, hashes in (each for versions in pinned().values() for each in versions):
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert requirement.url is None
        assert hashes > 0
    text = REQUIREMENTS.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^ *--?(i|f|index|extra|find|trusted)", text, re.MULTILINE)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_pins_are_within_the_ranges_of_the_project_for_each_python(version: str) -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    environment = this_environment() | {"python_version": version, "python_full_version": f"{version}.0"}
    versions = {
        name: [str(requirement.specifier)[2:] for requirement, _ in requirements if holds_in(requirement, environment)]
        for name, requirements in pinned().items()
    }
    for line in (*project["project"]["dependencies"], *project["build-system"]["requires"]):
        wanted = Requirement(line)
        (chosen,) = versions[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(chosen), f"{wanted}: requirements.txt has {chosen}"


def this_environment() -> dict[str, str]:
    """What markers ask for, of this Python."""
    return {name: str(value) for name, value in default_environment().items()}


def holds_in(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether a requirement is one in this environment."""
    return requirement.marker is None or requirement.marker.evaluate(dict(environment))


def test_the_pins_are_complete() -> None:
    """Whatever a package needs that is installed here as it is pinned is pinned, for pip refuses anything else."""
    environment = this_environment() | {"extra": ""}
    pins = pinned()
    for name, requirements in pins.items():
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if not any(pin.specifier.contains(package.version) for pin, _ in requirements):
            continue
        for requirement in map(Requirement, package.requires or []):
            assert canonicalize_name(requirement.name) in pins or not holds_in(requirement, environment), requirement


def test_no_page_installs_leafgate_by_a_name_that_is_not_taken() -> None:
    pages = [TOP / "README.md", GITLAB, *(TOP / "docs").rglob("*.md")]
    by_name = re.compile(r"(pip install|LEAFGATE_INSTALL:) +['\"]?leafgate\b")
    assert [page.name for page in pages if by_name.search(page.read_text(encoding="utf-8"))] == []
