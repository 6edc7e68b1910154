"""A page that also shows what protection costs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from command_line import Ended, leafgate
from survey import survey


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and an audit for each audience, which the tests only read."""
    folder = tmp_path_factory.mktemp("swept")
    policy = survey(
        folder,
        {
            "data.test": "people.csv",
            "metrics": [{"use": "k_anonymity", "at_least": 6}, {"use": "accuracy", "at_least": 0}],
        },
    )
    for audience in ("public", "auditor"):
        out = folder / audience
        words = ["--over", "build.k=1,3,6", "--workers", 1, "--audience", audience]
        assert leafgate("sweep", policy, "--out", out, *words).code == 0
        leafgate("audit", policy, "--out", out, "--audience", audience)
    return folder


def page(audited: Path, sweep: Path) -> Ended:
    return leafgate("report", audited / "report.json", "--to", "html", "--sweep", sweep)


@pytest.mark.thorough
def test_the_page_holds_the_picture_of_the_sweep(folder: Path) -> None:
    shown = leafgate(
        "report", folder / "public" / "report.json", "--to", "html", "--sweep", folder / "public" / "sweep.json"
    )
    assert shown.code == 0
    picture = shown.out.partition("data:image/svg+xml;base64,")[2].partition('"')[0]
    assert base64.b64decode(picture) == (folder / "public" / "sweep.svg").read_bytes()


@pytest.mark.thorough
def test_an_auditors_sweep_is_not_shown_in_a_public_page(folder: Path) -> None:
    ended = page(folder / "public", folder / "auditor" / "sweep.json")
    assert (ended.code, ended.out) == (2, "")
    assert "an auditor's numbers" in ended.err


def test_the_sweep_of_another_policy_is_not_shown(folder: Path, tmp_path: Path) -> None:
    document = json.loads((folder / "public" / "sweep.json").read_bytes())
    (tmp_path / "sweep.json").write_text(json.dumps(document | {"policy": "another"}))
    ended = page(folder / "public", tmp_path / "sweep.json")
    assert (ended.code, ended.out) == (2, "")
    assert "another policy" in ended.err


@pytest.mark.parametrize("content", ["", "{}", '{"format": "leafgate/sweep/1"}'])
def test_what_is_no_sweep_is_refused(folder: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "sweep.json").write_text(content)
    assert page(folder / "public", tmp_path / "sweep.json").code == 2


def test_only_a_page_shows_a_sweep(folder: Path) -> None:
    public = folder / "public"
    assert leafgate("report", public / "report.json", "--to", "junit", "--sweep", public / "sweep.json").code == 2


def test_a_sweep_says_whom_it_is_for(folder: Path) -> None:
    for audience in ("public", "auditor"):
        assert json.loads((folder / audience / "sweep.json").read_bytes())["audience"] == audience
