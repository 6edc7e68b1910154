"""The documented recipe for publishing boosting: an honest model keeps its limits, one of coin tosses does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from command_line import leafgate
from leafgate.app import parse_yaml
from sklearn_zoo import skops_bytes

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "audit-a-model-file.md"
PEOPLE = 2500
"""In the table, and as many more who are not in it."""

COIN_TOSSES = {"max_iter": 30, "learning_rate": 0.5, "min_samples_leaf": 100}
"""Parameters by which a model learns coin tosses by heart on leaves as large as the recipe asks for."""

MEMBERSHIP = {"membership_auc@lira", "membership_tpr@lira"}


def documented_policy() -> dict[str, Any]:
    """The policy that the page shows."""
    section = PAGE.read_text(encoding="utf-8").split("## Publish boosting\n")[1]
    policy: dict[str, Any] = parse_yaml(section.split("```yaml\n")[1].split("```")[0].encode(), "page")
    return policy


def people_of(policy: dict[str, Any], rng: np.random.Generator, signal: float) -> pd.DataFrame:
    """People of the policy's columns; the logit of being ill is `signal` times -1, 0 or 1, by the first two columns."""
    *names, target = policy["data"]["columns"]
    cells: NDArray[np.int64] = rng.integers(0, 100, (PEOPLE, len(names)))
    logit = signal * ((cells[:, 0] > 50).astype(float) + (cells[:, 1] > 30) - 1)
    ill = rng.random(PEOPLE) < 1 / (1 + np.exp(-logit))
    return pd.DataFrame(cells, columns=names).assign(**{target: np.where(ill, "yes", "no")})


def audited(folder: Path, seed: int, signal: float, changed: dict[str, Any]) -> tuple[int, dict[str, Any], float]:
    """The exit code of the whole recipe, whether each finding passed, and the accuracy on the model's own people."""
    policy, rng = documented_policy(), np.random.default_rng(seed)
    table, control = (people_of(policy, rng, signal) for _ in range(2))
    table.to_csv(folder / "table.csv", index=False)
    control.to_csv(folder / "control.csv", index=False)
    trained_by = policy["build"]["trained_by"]
    trained_by["parameters"] |= changed
    features, target = table.drop(columns="ill"), table["ill"]
    model = HistGradientBoostingClassifier(**trained_by["parameters"], random_state=seed).fit(features, target)
    (folder / "model.skops").write_bytes(skops_bytes(model))
    (folder / "policy.yaml").write_text(json.dumps(policy))
    files = folder / "model.skops", folder / "model.json"
    written = leafgate("scrub", *files, "--leaves", "shares", "--policy", folder / "policy.yaml")
    assert written.code == 0, written.err
    ended = leafgate("audit", folder / "policy.yaml", "--json", "--no-remedies")
    passed = {finding["id"]: finding["passed"] for finding in ended.document["findings"]}
    return ended.code, passed, float(model.score(features, target))


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.thorough
def test_an_honest_boosted_model_passes_the_documented_recipe(tmp_path: Path, seed: int) -> None:
    code, passed, accuracy = audited(tmp_path, seed, 2.0, {})
    assert code == 0, passed
    assert set(passed) >= MEMBERSHIP
    assert all(passed.values())
    assert accuracy > 0.65


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.thorough
def test_boosted_coin_tosses_fail_the_documented_recipe_by_membership_alone(tmp_path: Path, seed: int) -> None:
    code, passed, accuracy = audited(tmp_path, seed, 0.0, COIN_TOSSES)
    assert code == 1, passed
    assert passed["membership_auc@lira"] is False
    assert all(holds for name, holds in passed.items() if name not in MEMBERSHIP)
    assert {"smallest_leaf", "file_disclosure", "published_file"} <= set(passed)
    assert accuracy > 0.7
