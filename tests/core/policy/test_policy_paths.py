from __future__ import annotations

from pathlib import Path

import pytest

from leafgate import LeafgateError
from leafgate.app import load_policy
from survey import survey

PLACES = ["data.path", "data.test", "data.columns.sex.hierarchy"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The policy's folder, beside things that are none of its business."""
    (tmp_path / "outside.csv").write_text("f;*\nm;*\n")
    (tmp_path / "inside-not").mkdir()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.csv").symlink_to(tmp_path / "outside.csv")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "loop.csv").symlink_to("loop.csv")
    return inside


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    ["../outside.csv", "a/../../outside.csv", "/etc/hostname", "link.csv", "folder/outside.csv", "../inside-not/x.csv"],
)
def test_a_file_outside_the_folder_is_refused(folder: Path, place: str, name: str) -> None:
    with pytest.raises(LeafgateError) as refused:
        load_policy(survey(folder, {place: name}))
    assert refused.value.exit_code == 2
    assert refused.value.problems[0].location == place
    assert "leaves the policy's folder" in refused.value.problems[0].message


@pytest.mark.parametrize("place", PLACES)
def test_a_link_that_leads_to_itself_is_refused(folder: Path, place: str) -> None:
    with pytest.raises(LeafgateError) as refused:
        load_policy(survey(folder, {place: "loop.csv"}))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("name", ["below/people.csv", "a/../people.csv", "./people.csv", "..people.csv"])
def test_a_file_below_the_folder_is_accepted(folder: Path, name: str) -> None:
    assert load_policy(survey(folder, {"data.path": name})).policy.data.path == (folder / name).resolve()


def test_a_link_that_stays_inside_is_accepted(folder: Path) -> None:
    (folder / "near.csv").symlink_to("people.csv")
    assert load_policy(survey(folder, {"data.path": "near.csv"})).policy.data.path == (folder / "people.csv").resolve()


def test_root_moves_the_folder_of_the_data(folder: Path) -> None:
    policy = survey(folder, {"data.path": "outside.csv"})
    assert load_policy(policy, root=folder.parent).policy.data.path == (folder.parent / "outside.csv").resolve()


def test_root_does_not_move_what_stands_beside_the_policy(folder: Path) -> None:
    policy = survey(folder, {"build": {"use": "published", "path": "release.json"}})
    build = load_policy(policy, root=folder.parent).policy.build
    assert getattr(build, "path", None) == (folder / "release.json").resolve()
