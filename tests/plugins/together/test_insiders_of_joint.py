"""Audits of random releases of the same people: a limit on `joint` with insiders, and everybody tried as an insider."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from example_counts import seeds
from joint_cases import Case, random_case
from leafgate.api import BuildResult
from leafgate.app import open_session, serialize

COLUMNS = {
    "id": {"role": "key"},
    "x": {"role": "quasi_identifier", "bounds": [0, 3]},
    "z": {"role": "quasi_identifier", "values": ["p", "q"]},
    "y": {"role": ["class", "sensitive"], "values": ["a", "b"]},
}


def audited(folder: Path, case: Case) -> bool | None:
    """Whether the limit on exposure to outsiders and to one insider holds, in an audit of the latest version."""
    for number, (version, source) in enumerate(zip(case.versions, case.sources(), strict=True)):
        cells = {
            "x": version.x,
            "z": np.array(["p", "q"])[version.z],
            "y": np.array(["a", "b"])[case.label[version.people]],
        }
        pd.DataFrame({"id": version.people, **cells}).to_csv(folder / f"{number}.csv", index=False)
        (folder / f"{number}.json").write_bytes(serialize(BuildResult(source.release)).content)
    document = {
        "leafgate": 1,
        "name": "insiders",
        "data": {"path": "0.csv", "columns": COLUMNS},
        "build": {"use": "published", "path": "0.json"},
        "publish": {"leaves": case.versions[0].level},
        "releases": [{"path": f"{i}.json", "data": f"{i}.csv"} for i in range(len(case.versions) - 1, 0, -1)],
        "attacks": [{"use": "joint", "time_limit": None}],
        "metrics": [{"use": "exposure", "of": "joint", "at_most": 0, "insiders": 1}],
        "report": {"smallest_cell": 1},
    }
    (folder / "policy.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    findings = open_session(folder / "policy.yaml").audit().report.findings
    return next(each for each in findings if each.metric == "exposure").passed


def expected(case: Case) -> bool | None:
    """By trying everybody: False where somebody in the table is exposed to outsiders or to somebody in the table.

    None where those who left are exposed, or expose somebody, whatever their values are.
    """
    label, n = case.all_tables(), len(case.label)
    is_in = np.isin(np.arange(n), case.versions[0].people)

    def exposed(tables: np.ndarray) -> np.ndarray:
        return np.asarray((tables == tables[0]).all(axis=0))

    others = np.arange(n)
    by_anybody = exposed(label)
    by_the_table = by_anybody.copy()
    for insider in range(n):
        for value in np.unique(label[:, insider]).tolist():
            found = exposed(label[label[:, insider] == value]) & (others != insider)
            by_anybody |= found & (~is_in | ~is_in[insider])
            by_the_table |= found & is_in[insider] & (value == case.label[insider])
    return False if (by_the_table & is_in).any() else None if by_anybody.any() else True


def usable(seed: int) -> Case | None:
    """Some people, of two classes in each version, and two or three releases; every second case of labels alone."""
    case = random_case(np.random.default_rng(seed), most_people=9)
    if seed % 2:
        case = replace(case, versions=tuple(replace(each, level="labels", units=None) for each in case.versions))
    has_both = all(len(np.unique(case.label[version.people])) == 2 for version in case.versions)
    return case if len(case.versions) > 1 and has_both and not any(v.units for v in case.versions) else None


def assert_verdicts(folder: Path, first: int, number: int) -> None:
    cases = [case for seed in range(first, first + number) if (case := usable(seed)) is not None]
    assert cases
    for case in cases:
        assert audited(folder, case) is expected(case)


@pytest.mark.parametrize("seed", seeds(4))
def test_a_limit_holds_where_nobody_is_exposed_to_anybody(tmp_path: Path, seed: int) -> None:
    assert_verdicts(tmp_path, 10 * seed, 10)


@pytest.mark.slow
def test_a_limit_holds_where_nobody_is_exposed_to_anybody_in_five_hundred_cases(tmp_path: Path) -> None:
    assert_verdicts(tmp_path, 1_000, 1_500)
