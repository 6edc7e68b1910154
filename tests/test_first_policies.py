"""First policies let nobody pass who is exposed (docs/measurements/first-policies.md), and the harness finds who is."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from first_policy_cases import Outcome, run_case
from generator.models import RECIPES, fit, published_file
from generator.outsider import Outsider, secret_of
from generator.people import TARGET, draw_people
from generator.published import Published
from installed_readers import neutral_file, read_foreign

DOCS = Path(__file__).resolve().parents[1] / "docs"
CASES = 50
"""How many seeds the suite tries; `python docs/reproduce/first_policies.py` tries any number."""
THOROUGH_CASES = 240
REPAIRS = 25
ANY_LIMITS = {"k_anonymity": 1, "file_disclosure": 1000}
"""Limits that every model keeps."""


def outcomes(seeds: range, **options: Any) -> list[Outcome]:
    return [outcome for seed in seeds for outcome in run_case(seed, **options)]


def failures(found: Sequence[Outcome]) -> str:
    return "\n".join(str(outcome) for outcome in found if outcome.is_failure or outcome.is_oversight)


@pytest.mark.thorough
def test_nobody_is_exposed_by_what_passes_a_first_policy() -> None:
    found = outcomes(range(CASES))
    assert not failures(found)
    passed = [outcome for outcome in found if outcome.verdict == "pass"]
    assert len(passed) >= CASES // 5
    assert sum(outcome.groups > 1 for outcome in passed) >= CASES // 8


@pytest.mark.slow
def test_nobody_is_exposed_by_what_passes_many_first_policies() -> None:
    assert not failures(outcomes(range(CASES, CASES + THOROUGH_CASES)))


@pytest.mark.thorough
def test_nobody_is_exposed_by_what_a_repair_lets_pass() -> None:
    found = outcomes(range(1000, 1000 + REPAIRS), repair=True)
    assert not failures(found)
    assert any(outcome.how.endswith("repaired") and outcome.verdict == "pass" for outcome in found)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", RECIPES)
def test_models_of_every_kind_are_judged(kind: str) -> None:
    found = outcomes(range(4), kind=kind)
    assert not failures(found)
    assert any(outcome.verdict in {"pass", "fail", "file alone"} for outcome in found)


def test_a_seed_decides_its_case() -> None:
    assert [run_case(seed) for seed in (3, 4)] == [run_case(seed) for seed in (3, 4)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "ways"),
    [
        ("tree, labels", {"certain"}),
        ("median tree, scrubbed", {"near", "printed"}),
        ("mean tree, scrubbed", {"total"}),
        ("xgboost, scores", {"certain"}),
        ("numbers by xgboost, scrubbed", {"near"}),
        ("pipeline", {"text"}),
    ],
)
def test_the_harness_finds_what_looser_limits_let_pass(kind: str, ways: set[str]) -> None:
    found = outcomes(range(8), kind=kind, limits=ANY_LIMITS)
    assert all(outcome.verdict == "pass" for outcome in found)
    assert ways <= {each.way for outcome in found for each in outcome.exposed}


def ways(published: Published, frame: pd.DataFrame, spec: dict[str, Any], **options: Any) -> set[str]:
    """How people are exposed who are in the groups of a model."""
    harmless = options.pop("harmless", ())
    intervals = options.pop("harmless_intervals", ())
    secret = secret_of(TARGET, spec, frame[TARGET], harmless, options.pop("step", 0.0), intervals)
    return {each.way for each in Outsider(published, frame, [secret], **options).exposed()}


def numbers(*groups: Sequence[float]) -> pd.DataFrame:
    rows = [(float(code), number) for code, group in enumerate(groups) for number in group]
    return pd.DataFrame(rows, columns=["c0", TARGET])


@pytest.mark.parametrize(
    "kind", ["tree", "forest", "pipeline", "mean tree", "histogram boosting", "xgboost", "lightgbm"]
)
def test_files_of_leafgate_are_walked_as_the_library_walks_its_model(kind: str) -> None:
    recipe = RECIPES[kind]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        people = draw_people(rng, numbers=recipe.numbers, gaps=False, owned=False)
        fitted = fit(recipe, rng, people)
        content = neutral_file(read_foreign(fitted.content, fitted.file))
        own, other = fitted.published, published_file(content, people, fitted.published)
        pairs = zip(own.leaves(people.frame).T, other.leaves(people.frame).T, strict=True)
        assert all(same_groups(one, another) for one, another in pairs)
        if own.numbers is not None and other.numbers is not None:
            np.testing.assert_allclose(own.numbers(people.frame), other.numbers(people.frame), rtol=1e-6)


def same_groups(one: Any, other: Any) -> bool:
    """Are two people in one group by the one exactly where they are by the other?"""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's script."""
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    spec = importlib.util.spec_from_file_location("first_policies", DOCS / "reproduce" / "first_policies.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "first_policies", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
def test_the_script_counts_what_came_of_the_cases(script: ModuleType, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "first-policies.csv"
    code = script.main(["--cases", "3", "--repairs", "1", "--processes", "1", "--out", str(out)])
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[-2]["policy"] == "as written" or rows[-1]["policy"] == "as written"
    assert sum(int(row["cases"]) for row in rows if row["policy"] == "as written") == 3
    assert code == any(int(row["exposed"]) or int(row["crashed"]) for row in rows)
    assert "audits of 3 cases" in capsys.readouterr().out


def test_the_page_has_what_the_results_have(script: ModuleType) -> None:
    rows = sys.modules["writing"].read_rows(script.RESULTS, script.Row)
    assert "\n".join(script.page_lines(rows)) in script.PAGE.read_text()
    assert not sum(row.exposed + row.overlooked + row.crashed for row in rows)
