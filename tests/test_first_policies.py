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

from first_policy_cases.adversary import Outsider, dominating, secret_of
from first_policy_cases.cases import Outcome, run_case
from first_policy_cases.models import RECIPES, fit, published_file
from first_policy_cases.people import TARGET, draw_people
from first_policy_cases.published import Published
from installed_readers import read_foreign
from leafgate.commands.convert.neutral import written

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


@pytest.mark.thorough
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


def published_by(column: str, numbers: dict[float, float] | None = None, **options: Any) -> Published:
    """A model of one tree whose leaves are the values of a column of codes, with a number on each."""

    def leaves(frame: pd.DataFrame) -> Any:
        return frame[[column]].to_numpy(dtype=np.int64)

    def said(frame: pd.DataFrame) -> Any:
        assert numbers is not None
        return np.array([[numbers[each]] for each in frame[column]])

    return Published(b"", leaves, said if numbers else None, **options)


def ways(published: Published, frame: pd.DataFrame, spec: dict[str, Any], **options: Any) -> set[str]:
    """How people are exposed who are in the groups of a model."""
    harmless = options.pop("harmless", ())
    intervals = options.pop("harmless_intervals", ())
    secret = secret_of(TARGET, spec, frame[TARGET], harmless, options.pop("step", 0.0), intervals)
    return {each.way for each in Outsider(published, frame, [secret], **options).exposed()}


def classes(*groups: str) -> pd.DataFrame:
    """People of groups written as texts, a letter for each one's class."""
    rows = [(float(code), letter) for code, group in enumerate(groups) for letter in group]
    return pd.DataFrame(rows, columns=["c0", TARGET])


def numbers(*groups: Sequence[float]) -> pd.DataFrame:
    rows = [(float(code), number) for code, group in enumerate(groups) for number in group]
    return pd.DataFrame(rows, columns=["c0", TARGET])


CLASS: dict[str, Any] = {"role": ["class", "sensitive"], "values": ["a", "b"]}
NUMBER: dict[str, Any] = {"role": ["class", "sensitive"], "bins": [0, 1000, 10000], "scale": "ratio"}
HONEST = (100.0, 300.0, 900.0, 2000.0, 4000.0, 5000.0)


@pytest.mark.parametrize(
    ("groups", "options", "expected"),
    [
        (("aabb", "abab"), {}, set()),
        (("aaaa", "abab"), {}, {"certain"}),
        (("aaab", "abab"), {}, {"insider"}),
        (("ab", "abab"), {}, {"insider"}),
        (("aaaa", "abab"), {"harmless": ["a"]}, set()),
        (("aaab", "abab"), {"harmless": ["a"]}, set()),
        (("aaab", "abab"), {"harmless": ["b"]}, {"insider"}),
        (("aabb", "ababab"), {"k": 5}, {"small group"}),
        (("aaaaaabb", "abab"), {"confidence": 0.7}, {"confidence"}),
    ],
)
def test_the_adversary_finds_certain_classes(
    groups: tuple[str, ...], options: dict[str, Any], expected: set[str]
) -> None:
    assert ways(published_by("c0"), classes(*groups), CLASS, **options) == expected


def test_the_adversary_judges_the_recorded_alone() -> None:
    frame = classes("aa??", "abab?")
    assert ways(published_by("c0"), frame, CLASS, no_answer=["?"]) == {"certain"}
    assert ways(published_by("c0"), frame, CLASS) == set()


@pytest.mark.parametrize(
    ("persons", "options", "expected"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], {}, set()),
        ([0, 1, 2, 3, 4, 5, 4, 5], {"k": 4}, {"small group", "insider"}),
        ([0, 1, 2, 2, 4, 5, 6, 7], {}, {"insider"}),
        ([0, 1, 0, 0, 4, 5, 6, 7], {}, {"insider"}),
    ],
)
def test_the_adversary_counts_persons(persons: list[int], options: dict[str, Any], expected: set[str]) -> None:
    frame = classes("aabb", "abab")
    assert ways(published_by("c0"), frame, CLASS, persons=np.array(persons), **options) == expected


def test_the_adversary_sees_no_group_by_a_column_that_it_does_not_know() -> None:
    frame = classes("aaaa", "bbbb")
    assert ways(published_by("c0"), frame, CLASS) == {"certain"}
    assert ways(published_by("c0"), frame, CLASS, private=["c0"]) == set()


@pytest.mark.parametrize(
    ("groups", "spec", "expected"),
    [
        ((HONEST,), NUMBER, set()),
        (((950.0, 960.0, 990.0, 1000.0, 1040.0, 5000.0),), NUMBER, {"near"}),
        (((950.0, 960.0, 990.0, 1000.0, 1070.0, 5000.0),), NUMBER, set()),
        (((0.0, 0.0, 0.0, 0.0, 3000.0),), NUMBER, {"near", "insider"}),
        (((1010.0, 2000.0, 4000.0, 9000.0),), NUMBER, {"certain"}),
        (((100.0, 400.0, 590.0, 600.0, 2000.0),), NUMBER | {"scale": None}, {"insider"}),
        (((100.0, 400.0, 590.0, 610.0, 2000.0, 3000.0),), NUMBER | {"scale": None}, set()),
        (((700.0, 800.0, 1200.0, 2000.0, 9000.0),), NUMBER | {"scale": None, "bins": [0, 1000, 50000]}, {"near"}),
    ],
)
def test_the_adversary_finds_numbers_near_to_each_other(
    groups: tuple[Sequence[float], ...], spec: dict[str, Any], expected: set[str]
) -> None:
    assert ways(published_by("c0"), numbers(*groups), spec) == expected


def test_the_adversary_judges_no_numbers_of_harmless_intervals() -> None:
    frame = numbers([0.0] * 9 + [5.0], [0.0] * 8 + [900.0, 3000.0])
    spec = NUMBER | {"bins": [0, 1, 10000]}
    assert ways(published_by("c0"), frame, spec) == {"near", "insider"}
    assert ways(published_by("c0"), frame, spec, harmless_intervals=[0]) == set()
    rich = numbers([3000.0] * 9 + [0.0], [0.0] * 8 + [900.0, 3000.0])
    assert ways(published_by("c0"), rich, spec, harmless_intervals=[0]) == {"near", "insider"}


def test_the_adversary_finds_whose_number_a_mean_gives() -> None:
    gains = (0.0, 10.0, 30.0, 1100.0, 9000.0)
    frame = numbers(gains, HONEST)
    mean = {0.0: float(np.mean(gains)), 1.0: float(np.mean(HONEST))}
    assert ways(published_by("c0", mean, is_mean=True), frame, NUMBER) == {"total"}
    assert ways(published_by("c0", mean), frame, NUMBER) == set()  # nobody knows that they are means
    assert ways(published_by("c0", {0.0: 30.5, 1.0: 1450.5}, is_mean=True), frame, NUMBER) == set()


@pytest.mark.parametrize(
    ("group", "person"),
    [((4787.0, *[0.0] * 9), 0), ((100.0, 50.0, 9.0), 0), ((100.0, 50.0, 10.0), None), ((0.0, 0.0), None)],
)
def test_a_total_gives_a_number_away_by_the_p_percent_rule(group: tuple[float, ...], person: int | None) -> None:
    assert dominating(np.array(group), 0.0) == person


def test_a_total_of_numbers_below_zero_is_judged_by_distances_from_the_median() -> None:
    assert dominating(np.array([-5000.0, 1.0, 3.0, 2.0]), 2.0) == 0
    assert dominating(np.array([-5000.0, 4000.0, 3000.0, 2.0]), 2.0) is None


def test_the_adversary_finds_printed_numbers_of_few_people() -> None:
    frame = numbers(HONEST, [float(each) for each in range(200, 9900, 300)])
    cells = {0.0: 900.5, 1.0: 1100.0}
    assert ways(published_by("c0", cells), frame, NUMBER) == {"printed"}
    assert ways(published_by("c0", cells), frame, NUMBER, step=100.0) == set()
    assert ways(published_by("c0", {0.0: 900.5, 1.0: 1451.5}), frame, NUMBER) == set()
    assert ways(published_by("c0", {0.0: 900.5, 1.0: 1.5}, constants=[2000.0]), frame, NUMBER) == {"printed"}


def test_the_adversary_finds_names_in_a_file() -> None:
    frame = classes("abab", "abab").assign(name=[f"person {code}" for code in range(8)])
    model = published_by("c0")
    holding = Published(b'{"categories": ["person 3"]}', model.leaves)
    assert ways(holding, frame, CLASS, names=["name"]) == {"text"}
    assert ways(model, frame, CLASS, names=["name"]) == set()


@pytest.mark.parametrize(
    "kind", ["tree", "forest", "pipeline", "mean tree", "histogram boosting", "xgboost", "lightgbm"]
)
def test_files_of_leafgate_are_walked_as_the_library_walks_its_model(kind: str) -> None:
    recipe = RECIPES[kind]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        people = draw_people(rng, numbers=recipe.numbers, gaps=False, owned=False)
        fitted = fit(recipe, rng, people)
        content = written(read_foreign(fitted.content, fitted.file))
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


def test_a_failure_is_told_by_the_exit_code(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = Outcome(0, "tree", "init", "crash", words="ValueError")
    monkeypatch.setattr(script, "outcomes", lambda *_: iter([crash]))
    assert script.main(["--cases", "1", "--out", str(tmp_path / "rows.csv")]) == 1
