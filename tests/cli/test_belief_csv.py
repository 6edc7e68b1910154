"""What `leafgate attack` writes: a belief as a table."""

from __future__ import annotations

import csv
import io
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate
from stranger import install
from survey import COLUMNS, PEOPLE, survey

NEEDY = """
from typing import Literal
from leafgate.api import AttackModel, hookimpl
leafgate_api = ">=3,<4"

class Needy(AttackModel):
    use: Literal["needy"] = "needy"
    strength: int

@hookimpl
def attack_models():
    return [Needy]
"""


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def attack(folder: Path, *words: object, use: str = "linking", **changes: Any) -> Any:
    """Build a release and run one attack on it."""
    policy = survey(folder, changes)
    assert leafgate("build", policy, "--out", folder / "release.json").code == 0
    out = folder / "belief.csv"
    return leafgate("attack", policy, "--release", folder / "release.json", "--use", use, "--out", out, *words)


def test_a_belief_has_the_known_columns_weight_group_and_a_chance_for_each_value(tmp_path: Path) -> None:
    assert attack(tmp_path).code == 0
    found = rows(tmp_path / "belief.csv")
    assert list(found[0]) == ["age", "sex", "weight", "group", "p(no)", "p(yes)"]
    assert len({(row["age"], row["sex"]) for row in found}) == len(found) == 8
    assert sum(int(row["weight"]) for row in found) == 24
    assert all(float(row["p(no)"]) + float(row["p(yes)"]) == pytest.approx(1) for row in found)
    assert stat.S_IMODE((tmp_path / "belief.csv").stat().st_mode) == 0o600


def test_a_model_file_is_attacked_by_models_of_the_same_kind(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    from sklearn.tree import DecisionTreeClassifier
    from skops.io import dump

    changes = {"attacks": [{"use": "lira", "shadows": {"models": 4}}], "data.control": "control.csv"}
    policy, release, out = survey(tmp_path, changes), tmp_path / "tree.skops", tmp_path / "belief.csv"
    (tmp_path / "control.csv").write_text(PEOPLE.replace("20,", "25,"))
    people = rows(tmp_path / "people.csv")
    ages, ill = [[float(row["age"])] for row in people], [row["ill"] for row in people]
    tree = DecisionTreeClassifier(random_state=0).fit(ages, ill)
    tree.feature_names_in_ = np.array(["age"], dtype=object)
    dump(tree, release)
    ended = leafgate("attack", policy, "--release", release, "--use", "lira", "--out", out)
    assert ended.code == 0, ended.err
    assert len(rows(out)) == 48
    assert {"age", "ill", "score"} <= set(rows(out)[0])


@pytest.mark.parametrize("name", ["weight", "group", "p(no)"])
def test_a_known_column_may_be_called_like_a_column_of_the_belief(tmp_path: Path, name: str) -> None:
    people = PEOPLE.replace("sex", name, 1)
    renamed = {name if key == "sex" else key: column for key, column in COLUMNS.items()}
    policy = survey(tmp_path, {"data.columns": renamed}, people)
    release, out = tmp_path / "release.json", tmp_path / "belief.csv"
    assert leafgate("build", policy, "--out", release).code == 0
    assert leafgate("attack", policy, "--release", release, "--use", "linking", "--out", out).code == 0
    header, *cells = csv.reader(io.StringIO(out.read_text()))
    assert header == ["age", name, "weight", "group", "p(no)", "p(yes)"]
    assert {row[1] for row in cells} == {"f", "m"}
    assert sum(int(row[2]) for row in cells) == 24


def test_an_attack_is_found_by_its_name_in_the_policy(tmp_path: Path) -> None:
    named = {"attacks": [{"use": "linking", "name": "link"}]}
    assert attack(tmp_path, use="link", **named).code == 0
    assert attack(tmp_path, use="linking", **named).code == 0


def test_an_attack_that_cannot_be_meant_is_invalid(tmp_path: Path) -> None:
    assert "nobody offers the attack 'magic' (installed: " in attack(tmp_path, use="magic").err
    assert "nobody offers the attack 'lnking' (did you mean 'linking'?)" in attack(tmp_path, use="lnking").err
    assert attack(tmp_path, use="kadet").code == 2
    assert attack(tmp_path, "--secret", "smoker").code == 2
    policy = survey(tmp_path)
    for wrong in ("people.csv", "nobody.json"):
        words = ["--release", tmp_path / wrong, "--use", "linking", "--out", tmp_path / "x.csv"]
        assert leafgate("attack", policy, *words).code == 2
    assert not (tmp_path / "x.csv").exists()


def test_of_several_secrets_one_must_be_named(tmp_path: Path) -> None:
    several: dict[str, Any] = {"data.columns.smoker.role": "sensitive", "build.k": 1}
    assert attack(tmp_path, **several).code == 2
    assert attack(tmp_path, "--secret", "smoker", **several).code == 0
    assert "p(yes)" in rows(tmp_path / "belief.csv")[0]


def test_an_attack_that_needs_options_must_stand_in_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_needy", NEEDY)
    monkeypatch.syspath_prepend(tmp_path)
    ended = attack(tmp_path, use="needy")
    assert ended.code == 2
    assert "strength" in ended.err
