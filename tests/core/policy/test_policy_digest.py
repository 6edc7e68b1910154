from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from leafgate.app import load_policy
from survey import PEOPLE, policy, survey

HIERARCHY = "f;person;*\nm;person;*\n"
WITH_FILES = {"data.columns.sex.hierarchy": "sex.csv", "data.test": "test.csv"}


def digest(path: Path, root: Path | None = None) -> str:
    return load_policy(path, root).policy.sha256


def written(folder: Path, changes: dict[str, Any] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "sex.csv").write_text(HIERARCHY)
    (folder / "test.csv").write_text(PEOPLE)
    return survey(folder, WITH_FILES | (changes or {}))


def shuffled(thing: Any, rng: random.Random) -> Any:
    """The same keys in another order, but for the columns, whose order means something."""
    if not isinstance(thing, dict):
        return [shuffled(item, rng) for item in thing] if isinstance(thing, list) else thing
    keys = rng.sample(list(thing), len(thing))
    return {key: thing[key] if key == "columns" else shuffled(thing[key], rng) for key in keys}


def test_the_order_of_keys_does_not_change_the_digest(tmp_path: Path) -> None:
    path = survey(tmp_path)
    before = digest(path)
    for seed in range(5):
        path.write_text(json.dumps(shuffled(policy(), random.Random(seed))))
        assert digest(path) == before


def test_comments_and_layout_do_not_change_the_digest(tmp_path: Path) -> None:
    path = survey(tmp_path)
    before = digest(path)
    path.write_text("# a word first\n" + path.read_text() + "\n# and one last\n")
    assert digest(path) == before


def test_defaults_written_out_do_not_change_the_digest(tmp_path: Path) -> None:
    defaults = {
        "seed": 0,
        "knows": {"distribution": False},
        "report": {"smallest_cell": 10},
        "build.prune": True,
        "data.csv": {"header": True, "delimiter": ","},
        "data.columns.age.ordered": False,
        "metrics.0.average": False,
    }
    assert digest(survey(tmp_path, defaults)) == digest(survey(tmp_path))


OF_VERSION_1 = {
    "demo": "ee30a88c985593ae5ec51cc2a8fb0902e9e8e58b5741da2c8d2967964a898fe6",
    "mortgage": "a4c2138f9f17be4eb540272f0d86db852921b64ec680e1c4970307cc4c41631b",
    "submarines": "cf6e8f2df97fbd5256360d3585c302f17751407aadc502e2954e3648413586fd",
    "votes": "aea7db4bba6281420f7da134d592556c67c0fc86ed4e0dd337f760453472e82f",
    "wages": "901243a5f9b04b5f702781a6488dd9713c819b89a0a27c01935efae87bdaf326",
    "ward": "c5e7747522420f3603174e366652395384e462b39f234aacdd12bae5326a800e",
}
"""The digests that leafgate 1.0.0 computes of example policies, which reports, waivers and pins of its users have."""


@pytest.mark.parametrize("name", OF_VERSION_1)
def test_a_policy_of_version_1_keeps_its_digest(name: str) -> None:
    """A key that is new has `Later()` in its field."""
    assert digest(Path(__file__).resolve().parents[3] / "policies" / f"{name}.yaml") == OF_VERSION_1[name]


def test_moving_everything_does_not_change_the_digest(tmp_path: Path) -> None:
    assert digest(written(tmp_path / "here")) == digest(written(tmp_path / "there"))


def test_moving_the_data_to_a_root_does_not_change_the_digest(tmp_path: Path) -> None:
    before = digest(written(tmp_path / "here"))
    data = tmp_path / "data"
    data.mkdir()
    for name in ("sex.csv", "test.csv"):
        (tmp_path / "here" / name).rename(data / name)
    assert digest(tmp_path / "here" / "policy.yaml", root=data) == before


def test_the_data_file_is_no_part_of_the_digest(tmp_path: Path) -> None:
    before = digest(survey(tmp_path))
    assert digest(survey(tmp_path, {"data.path": "other.csv"})) == before
    assert digest(survey(tmp_path, {"data.path": ...})) == before
    assert digest(survey(tmp_path, people="age,sex,smoker,ill\n")) == before


def test_the_bytes_of_a_hierarchy_change_the_digest(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = digest(path)
    (tmp_path / "sex.csv").write_text(HIERARCHY + "\n")
    assert digest(path) != before


@pytest.mark.parametrize("place", ["data.test", "data.population", "knows.people", "report.digest_key"])
def test_no_byte_of_a_file_about_people_changes_the_digest_nor_does_the_key(tmp_path: Path, place: str) -> None:
    """The digest is public: whoever guessed the rest of the file could confirm one person's secret by it."""
    seen = set()
    for content in (PEOPLE, PEOPLE.replace("yes", "no")):
        (tmp_path / "file.csv").write_text(content)
        seen.add(digest(survey(tmp_path, {"attacks": [{"use": "maxent"}], place: "file.csv"})))
    assert len(seen) == 1
    without = digest(survey(tmp_path, {"attacks": [{"use": "maxent"}]}))
    assert (without in seen) == (place == "report.digest_key")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"seed": 1},
        {"build.k": 4},
        {"build": {"use": "c45"}},
        {"publish": {"leaves": "labels"}},
        {"knows": {"distribution": True}},
        {"metrics.0.at_least": 2},
        {"metrics.0.allow": 0.1},
        {"attacks.0.name": "link"},
        {"report": {"smallest_cell": 5}},
        {"data.on_missing": "drop"},
        {"data.missing": ["?"]},
        {"data.csv.skip_initial_space": True},
        {"data.columns.age.bounds": [0, 121]},
        {"data.columns.sex.values": ["m", "f"]},
        {"data.columns.sex.ordered": True},
        {"data.columns.sex.aliases": {"male": "m"}},
        {"data.columns.smoker.role": "ignored"},
        {"data.columns.ill.no_answer": ["yes"]},
        {"data.columns.ill.no_answer": []},
        {"data.columns.ill.distinct": [["no", "yes"]]},
        {"data.columns.ill.missing_is_value": True, "data.columns.ill.no_answer": ["no"]},
        {"approvals": {"reviewers": ["a@b.example"], "decisions": 2}},
        {"plugins": ["leafgate"]},
    ],
)
def test_every_option_is_part_of_the_digest(tmp_path: Path, change: dict[str, Any]) -> None:
    assert digest(survey(tmp_path, change)) != digest(survey(tmp_path))


def test_the_order_of_columns_is_part_of_the_digest(tmp_path: Path) -> None:
    columns = policy()["data"]["columns"]
    swapped = {name: columns[name] for name in ("smoker", "sex", "age", "ill")}
    headerless = {"data.csv.header": False}
    before = digest(survey(tmp_path, headerless))
    assert digest(survey(tmp_path, headerless | {"data.columns": swapped})) != before


def test_a_public_list_is_part_of_the_digest_and_one_that_is_none_changes_no_digest(tmp_path: Path) -> None:
    plain = load_policy(survey(tmp_path)).policy
    assert digest(survey(tmp_path, {"data.columns.sex.domain": None})) == plain.sha256
    assert digest(survey(tmp_path, {"data.columns.sex.domain": "public"})) != plain.sha256


def test_the_digest_without_the_audited_file_changes_with_options_alone(tmp_path: Path) -> None:
    def digests(content: str, **options: Any) -> dict[str, str]:
        (tmp_path / "model.json").write_text(content)
        build = {"use": "published", "path": "model.json", **options}
        return load_policy(survey(tmp_path, {"build": build})).policy.identity

    tonight, next_night = digests("a"), digests("b")
    assert tonight["sha256"] != next_night["sha256"]
    assert tonight["sha256_without_file"] == next_night["sha256_without_file"]
    changed = digests("b", trained_by={"weighted": True})
    assert changed["sha256_without_file"] != tonight["sha256_without_file"]
    assert "sha256_without_file" not in load_policy(survey(tmp_path, {})).policy.identity
