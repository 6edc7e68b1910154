"""docs/plugins.md shows the files of a package that is installed and used in these tests."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).with_name("acme_leafgate")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
FILES = sorted(file.name for file in PACKAGE.iterdir() if file.is_file())


def test_the_page_shows_every_file_of_the_package_and_no_other() -> None:
    assert sorted(SHOWN) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_as_it_is(name: str) -> None:
    assert SHOWN[name] == (PACKAGE / name).read_text(encoding="utf-8")


def test_no_other_block_shows_python_or_a_policy() -> None:
    assert len(re.findall(r"^```(?:python|toml|yaml)$", PAGE, re.MULTILINE)) == len(FILES)
