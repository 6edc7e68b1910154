"""Sessions on Adult, where it is there: a pipeline fails, is mended, passes.

The pages are docs/how-to/audit-a-model-file.md and docs/how-to/remedies.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from adult import data_root
from installed_readers import read_foreign
from replay import replayed

pytestmark = pytest.mark.slow


PAGE = Path(__file__).resolve().parents[1] / "docs/how-to/audit-a-model-file.md"
PAGES = [PAGE, PAGE.with_name("remedies.md")]
POLICIES = Path(__file__).resolve().parents[1] / "policies"


def replayed_on_adult(text: str) -> str:
    """The page with its session run again; its blocks are of a kind that needs the data. Other sessions stay."""
    os.environ["LEAFGATE_DATA"] = str(data_root())
    hidden = text.replace("```console", "```hidden").replace("```shell-session", "```console")
    return replayed(hidden).replace("```console", "```shell-session").replace("```hidden", "```console")


def masked(text: str) -> str:
    """Without digests: a skops file names its parts by where they stood in memory."""
    return re.sub(r"sha256 [0-9a-f]+", "sha256", text)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_session_prints_what_the_page_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    data_root()
    assert masked(replayed_on_adult(text)) == masked(text), "run python tests/test_model_on_adult.py"


def test_the_page_shows_the_script_that_is_run() -> None:
    shown = PAGE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert shown in (POLICIES / "adult_model.py").read_text(encoding="utf-8")


def guessed(least: int) -> tuple[int, dict[int | None, int]]:
    """The leaves with both classes of the page's tree; on how many the fewest people that fit are theirs, by digits."""
    file = data_root() / "adult" / "adult.data"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, POLICIES / "adult_model.py", file, f"{folder}/m", str(least)], check=True)
        (tree,) = read_foreign(Path(folder, "m").read_bytes(), "m").trees
    assert tree.counts is not None
    counts = tree.counts[tree.leaves]
    counts = counts[counts.min(axis=1) > 0]
    people, shares = counts.sum(axis=1), counts / counts.sum(axis=1, keepdims=True)
    found = {
        digits: int((fewest(shares if digits is None else shares.round(digits), digits) == people).sum())
        for digits in (None, 2)
    }
    return len(counts), found


def fewest(shares: np.ndarray, digits: int | None) -> np.ndarray:
    """The fewest people, both classes among them, whose shares are told so; 0 where there are more than 2,000."""
    found, half = np.zeros(len(shares)), 1e-12 if digits is None else 0.5 / 10**digits
    for n in range(2000, 1, -1):
        some = np.rint(shares[:, 0] * n).clip(1, n - 1)
        found[abs(some / n - shares[:, 0]) <= half] = n
    return found


def test_rounding_hides_how_many_people_share_as_the_page_says() -> None:
    assert guessed(50) == (91, {None: 57, 2: 0})
    assert guessed(1) == (73, {None: 44, 2: 15})


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(replayed_on_adult(page.read_text(encoding="utf-8")), encoding="utf-8")
