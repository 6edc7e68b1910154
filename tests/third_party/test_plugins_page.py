"""docs/plugins.md shows the files of a package that is installed and used in these tests."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.api import Release, TreeBuilder
from leafgate.app import serialize
from leafgate.testing import check_attack, check_builder, check_metric
from mortgage import mortgage

PACKAGE = Path(__file__).with_name("acme_leafgate")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
FILES = sorted(file.name for file in PACKAGE.iterdir() if file.is_file())


def test_the_page_shows_every_file_of_the_package_and_no_other() -> None:
    assert sorted(SHOWN) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_as_it_is(name: str) -> None:
    assert SHOWN[name] == (PACKAGE / name).read_text(encoding="utf-8")


def test_the_only_other_blocks_of_code_are_the_builder_and_the_report_format() -> None:
    assert len(re.findall(r"^```(?:python|toml|yaml)$", PAGE, re.MULTILINE)) == len(FILES) + 2


@pytest.fixture
def stump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TreeBuilder:
    """The builder of the page, in a module of its own."""
    (block,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Stump" in text)
    (tmp_path / "stump_of_the_page.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "stump_of_the_page", raising=False)
    return cast(TreeBuilder, import_module("stump_of_the_page").Stump())


def test_the_builder_of_the_page_makes_a_release_that_counts_the_table(stump: TreeBuilder) -> None:
    release = stump.build(mortgage(), np.random.default_rng(0))
    assert isinstance(release, Release)
    assert inconsistent_leaves(release, mortgage()) == 0
    assert serialize(release).release.trees == release.trees


def test_the_builder_of_the_page_conforms(stump: TreeBuilder) -> None:
    assert check_builder(stump) == {}


def test_the_attack_and_the_metric_of_the_page_conform_but_for_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PACKAGE)
    acme = import_module("acme_leafgate")
    knows_nobody = {"catches_a_leak": "the adversary knows nobody"}
    skipped = check_attack(acme.Majority(), expected=knows_nobody)
    assert "the adversary knows nobody" in skipped["catches_a_leak"]
    assert set(skipped) == {"catches_a_leak", "takes_noise_for_noise"}
    assert set(check_metric(acme.Surprise(at_least=0.3))) == {"says_who_moves_it"}
