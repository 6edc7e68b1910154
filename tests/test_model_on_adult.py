"""The session in docs/your-model.md, where Adult is there: a pipeline is fitted, fails, is mended, passes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from adult import data_root
from replay import replayed

PAGE = Path(__file__).resolve().parents[1] / "docs/your-model.md"
POLICIES = Path(__file__).resolve().parents[1] / "policies"


def replayed_on_adult(text: str) -> str:
    """The page with its session run again; its blocks are of a kind that needs the data."""
    os.environ["LEAFGATE_DATA"] = str(data_root())
    return replayed(text.replace("```sh-session", "```console")).replace("```console", "```sh-session")


def masked(text: str) -> str:
    """Without digests: a skops file names its parts by where they stood in memory."""
    return re.sub(r"sha256 [0-9a-f]+", "sha256", text)


def test_the_session_prints_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    data_root()
    assert masked(replayed_on_adult(text)) == masked(text), "run python tests/test_model_on_adult.py"


def test_the_page_shows_the_script_that_is_run() -> None:
    shown = PAGE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert shown in (POLICIES / "adult_model.py").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(PAGE.write_text(replayed_on_adult(PAGE.read_text(encoding="utf-8")), encoding="utf-8") < 0)
