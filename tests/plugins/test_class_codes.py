"""Codes of a model's classes that fit the table worse than another order of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import leafgate

pytest.importorskip("sklearn")
from sklearn.tree import DecisionTreeClassifier

from sklearn_zoo import skops_bytes

POLICY = """leafgate: 1
name: codes
data:
  path: people.csv
  columns:
    age: {{role: quasi_identifier, bounds: [0, 100]}}
    risk: {{role: [class, sensitive], values: {values}}}
build:
  use: published
  path: model.skops
  encoding: {{risk: {{codes: {codes}{confirmed}}}}}
attacks: [{{use: linking}}]
metrics: [{{use: confidence, at_most: 1}}]
"""


def learned(folder: Path, risk: np.ndarray, age: np.ndarray, codes: dict[str, int], **settings: object) -> float:
    """Write people and a tree of their classes' codes; the share of people whose class scikit-learn predicts."""
    pd.DataFrame({"age": age, "risk": risk}).to_csv(folder / "people.csv", index=False)
    rows, truth = pd.DataFrame({"age": age}), np.array([codes[value] for value in risk])
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, **settings).fit(rows, truth)
    (folder / "model.skops").write_bytes(skops_bytes(model))
    return float(model.score(rows, truth))


def people(classes: int, size: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Classes of people, by age but for some noise, and their ages."""
    rng = np.random.default_rng(7)
    age = rng.integers(20, 80, size)
    noisy = np.clip(age + rng.normal(scale=8, size=size), 20, 79)
    return np.array(["low", "middle", "top"])[((noisy - 20) * classes // 60).astype(int)], age


def codes_found(folder: Path, codes: dict[str, int], *, confirmed: bool = False) -> bool:
    """Does the audit have a finding about the codes?"""
    text = POLICY.format(values=list(codes), codes=codes, confirmed=", confirmed: true" if confirmed else "")
    (folder / "policy.yaml").write_text(text)
    ended = leafgate("audit", folder / "policy.yaml", "--json", "--no-remedies")
    found = {each["id"]: each for each in ended.document["findings"]}
    assert "class_codes" not in found or found["class_codes"]["passed"] is None
    return "class_codes" in found


@pytest.mark.parametrize("classes", [2, 3])
def test_every_order_of_codes_but_that_of_the_training_is_inconclusive(classes: int, tmp_path: Path) -> None:
    risk, age = people(classes)
    values = sorted(set(risk.tolist()))
    trained = {value: (code + 1) % classes for code, value in enumerate(values)}
    assert learned(tmp_path, risk, age, trained) > 0.7
    for order in itertools.permutations(range(classes)):
        codes = dict(zip(values, order, strict=True))
        assert codes_found(tmp_path, codes) == (codes != trained)
    assert not codes_found(tmp_path, {value: code for code, value in enumerate(values)}, confirmed=True)


def test_the_finding_names_the_codes_that_fit(tmp_path: Path) -> None:
    risk, age = people(2)
    learned(tmp_path, risk, age, {"low": 1, "middle": 0})
    assert codes_found(tmp_path, {"low": 0, "middle": 1})
    ended = leafgate("audit", tmp_path / "policy.yaml", "--no-remedies")
    assert 'codes: {"middle": 0, "low": 1}' in ended.out
    assert "`confirmed: true` in `build.encoding.risk`" in ended.out


def test_a_model_that_weighs_rare_classes_more_is_not_taken_for_one_of_swapped_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    risk = np.array(["low"] * 270 + ["middle"] * 30)
    age = np.where(rng.random(300) < np.where(risk == "low", 0.6, 0.95), 60, 30)
    codes = {"low": 0, "middle": 1}
    assert learned(tmp_path, risk, age, codes, class_weight="balanced") < 0.5  # the swapped codes fit more people
    assert not codes_found(tmp_path, codes)


def test_repair_refuses_a_model_whose_codes_fit_worse_than_another_order(tmp_path: Path) -> None:
    risk, age = people(2)
    learned(tmp_path, risk, age, {"low": 1, "middle": 0})
    codes_found(tmp_path, {"low": 0, "middle": 1})
    new = tmp_path / "new.json"
    ended = leafgate("repair", tmp_path / "model.skops", "--policy", tmp_path / "policy.yaml", "--out", new)
    assert ended.code == 3
    assert "the wrong way round" in ended.err
    assert not new.exists()


def proposed(folder: Path) -> str:
    """The line of the first policy that maps the classes."""
    made = leafgate("init", folder / "people.csv", "--class", "risk", "--model", folder / "model.skops")
    (line,) = (line for line in made.out.splitlines() if "codes:" in line)
    return line


@pytest.mark.parametrize("trained", [{"low": 0, "middle": 1}, {"low": 1, "middle": 0}])
def test_init_proposes_the_codes_that_the_model_was_trained_with(trained: dict[str, int], tmp_path: Path) -> None:
    risk, age = people(2)
    learned(tmp_path, risk, age, trained)
    listed = ", ".join(f'"{value}": {code}' for value, code in trained.items())
    assert f"codes: {{{listed}}}" in proposed(tmp_path)
    assert "of all orders this one fits the table best" in proposed(tmp_path)


def test_init_says_where_the_table_cannot_tell_the_codes(tmp_path: Path) -> None:
    learned(tmp_path, np.array(["low", "middle"] * 50), np.repeat(30, 100), {"low": 0, "middle": 1})
    assert "the table fits several orders equally well" in proposed(tmp_path)
