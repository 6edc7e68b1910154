"""Trees on tables in which patients have several rows: what passes, and who is certain of whom, by sums of rows.

    python docs/reproduce/several_rows.py [--trees 200] [--first 0] [--laws ...] [--out FILE] [--page FILE]

Each table has 300 patients whose illness is the same in all their rows. Four laws draw how many rows a patient has. A
tree of C4.5 is audited with the role `person` by k-anonymity, confidence, and exposure to outsiders and one insider. An
adversary who shares no code with leafgate walks the release and solves the sums of rows. Each tree is printed. The
table is written to docs/results/several-rows.csv, and by laws between the markers of a page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, milp

from leafgate.app import open_session
from writing import put, table, write_csv

RESULTS = Path(__file__).resolve().parents[1] / "results" / "several-rows.csv"
HARNESS = Path(__file__).resolve().parents[2] / "tests" / "support"
PATIENTS = 300
WARDS = ("a", "b", "c", "d", "e", "f")
Ids = NDArray[np.int64]

LAWS: Mapping[str, Callable[[np.random.Generator], Ids]] = {
    "1 to 3": lambda rng: rng.integers(1, 4, PATIENTS),
    "geometric, mean 5": lambda rng: rng.geometric(1 / 5, PATIENTS),
    "lognormal": lambda rng: np.maximum(1, np.rint(rng.lognormal(1.5, 1, PATIENTS))).astype(np.int64),
    "20 to 50": lambda rng: rng.integers(20, 51, PATIENTS),
}
"""How many rows each patient has."""

PATIENTS_A_LEAF = (6, 10, 20, 40)
"""The smallest leaf of a tree is so many patients' rows, on average."""

LIMITS = [
    {"use": "k_anonymity", "at_least": 5},
    {"use": "confidence", "at_most": 0.95},
    {"use": "exposure", "at_most": 0, "insiders": 1},
]


@dataclass(frozen=True)
class Row:
    """What came of the trees of one law.

    Attributes:
        rows: the law of the rows of a patient.
        leaf: the smallest leaf, in patients' rows.
        trees: how many were audited.
        passed: how many passed.
        one_leaf: how many of these have one leaf.
        inconclusive: how many could not be judged.
        exposure_alone: how many failed by exposure and by no other limit.
        certain: in how many somebody is certain to the adversary.
        certain_passed: in how many of these that passed.
        alarms: how many failed by exposure although nobody is certain to the adversary.
    """

    rows: str
    leaf: int
    trees: int
    passed: int
    one_leaf: int
    inconclusive: int
    exposure_alone: int
    certain: int
    certain_passed: int
    alarms: int


@dataclass(frozen=True)
class Outcome:
    """What came of one tree."""

    verdict: str
    failed: frozenset[str]
    n_leaves: int
    certain: bool

    def __str__(self) -> str:
        somebody = "somebody" if self.certain else "nobody"
        return f"{self.verdict} of {self.n_leaves} leaves by {sorted(self.failed)}, {somebody} is certain"


def drawn(seed: int, law: str) -> pd.DataFrame:
    """Rows of 300 patients. In half of the tables a patient's wards differ, so that she is in several leaves."""
    rng = np.random.default_rng([seed, list(LAWS).index(law)])
    age, ward = rng.integers(20, 90, PATIENTS), rng.integers(len(WARDS), size=PATIENTS)
    ill = rng.random(PATIENTS) < np.clip(0.2 + 0.006 * (age - 20) + 0.08 * (ward % 3), 0, 1)
    person = np.repeat(np.arange(PATIENTS), LAWS[law](rng))
    wards = ward[person]
    if seed // len(PATIENTS_A_LEAF) % 2:
        moved = rng.random(len(person)) < rng.choice([0.02, 0.3])
        wards = np.where(moved, rng.integers(len(WARDS), size=len(person)), wards)
    return pd.DataFrame(
        {
            "patient": [f"p{each:04d}" for each in person],
            "age": age[person].astype(float),
            "ward": np.array(WARDS, dtype=object)[wards],
            "ill": np.where(ill[person], "yes", "no"),
        }
    )


def leaf_of(seed: int) -> int:
    """The smallest leaf of a seed's tree, in patients' rows."""
    return PATIENTS_A_LEAF[seed % len(PATIENTS_A_LEAF)]


def outcome_of(seed: int, law: str) -> Outcome:
    """Audit one tree, and let the adversary try what was published."""
    from generator.published import read_release

    frame = drawn(seed, law)
    columns: dict[str, Any] = {
        "patient": {"role": "person"},
        "age": {"role": "quasi_identifier", "bounds": [0, 120]},
        "ward": {"role": "quasi_identifier", "values": list(WARDS)},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    min_leaf = int(leaf_of(seed) * len(frame) / PATIENTS)
    policy = {
        "leafgate": 1,
        "name": "visits",
        "data": {"path": "visits.csv", "columns": columns},
        "build": {"use": "c45", "min_leaf": min_leaf, "prune": False, "average_gain": False},
        "publish": {"leaves": "counts"},
        "attacks": [{"use": "linking"}],
        "metrics": LIMITS,
    }
    with tempfile.TemporaryDirectory(prefix="several-rows-") as folder:
        frame.to_csv(Path(folder, "visits.csv"), index=False)
        Path(folder, "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
        audit = open_session(Path(folder, "policy.yaml")).audit(search_remedies=False)
    assert audit.artifact is not None
    leaves = read_release(audit.artifact.content).leaves(frame)[:, 0]
    rows = rows_by_leaf(frame, leaves)
    truth = (frame.groupby("patient", sort=True)["ill"].first() == "yes").to_numpy()
    verdict = str(audit.report.verdict)
    certain = by_rows(rows, truth) or by_leaf(rows, truth)
    if not certain and verdict == "pass" and ((rows > 0).sum(axis=1) > 1).any():
        certain = by_programme(rows, truth)
    failed = frozenset(each.metric for each in audit.report.findings if each.passed is False)
    return Outcome(verdict, failed, rows.shape[1], certain)


def rows_by_leaf(frame: pd.DataFrame, leaves: Ids) -> Ids:
    """How many rows each patient has on each leaf: shape (n_patients, n_leaves)."""
    return pd.crosstab(frame["patient"], leaves).to_numpy().astype(np.int64)


def by_rows(rows: Ids, truth: NDArray[np.bool_]) -> bool:
    """Has somebody more rows on a leaf than all others who lack her value, one insider aside?"""
    for leaf in rows.T:
        for value in (True, False):
            having, lacking = leaf[truth == value], np.sort(leaf[truth != value])
            if having.max(initial=0) > lacking[:-1].sum():
                return True
    return False


def by_leaf(rows: Ids, truth: NDArray[np.bool_]) -> bool:
    """Is somebody certain by the rows of one leaf, which are sums of whole patients' rows, to one insider or none?

    Who has as many rows and the same value is alike, so one of each kind is tried.
    """
    for leaf in rows.T:
        kinds = Counter((size, value) for size, value in zip(leaf.tolist(), truth.tolist(), strict=True) if size)
        total = sum(size * n for (size, value), n in kinds.items() if value)
        for insider in (None, *kinds):
            others, ill = kinds.copy(), total
            if insider is not None:
                others[insider] -= 1
                ill -= insider[0] * insider[1]
            for size, value in [kind for kind, n in others.items() if n]:
                rest = others.copy()
                rest[size, value] -= 1
                if not is_sum(ill - size * (not value), rest):
                    return True
    return False


def is_sum(total: int, kinds: Mapping[tuple[int, bool], int]) -> bool:
    """Is a number the sum of the sizes of some of these people? Bit `i` of `sums` says whether `i` is."""
    if total < 0:
        return False
    sums, mask = 1, (1 << (total + 1)) - 1
    for (size, _), n in kinds.items():
        for _ in range(n):
            sums |= (sums << size) & mask
    return bool(sums >> total & 1)


def by_programme(rows: Ids, truth: NDArray[np.bool_]) -> bool:
    """Is somebody certain by the rows of all leaves together? An integer programme looks for other illnesses.

    For each insider it changes as many of those as it can of whom no assignment so far has the other illness.
    """
    counts = rows.T @ truth
    constraint = LinearConstraint(rows.T, counts, counts)
    found = [truth]
    for insider in (None, *range(len(truth))):
        while True:
            agreeing = np.array([each for each in found if insider is None or each[insider] == truth[insider]])
            undecided = (agreeing == truth).all(axis=0)
            low, high = np.zeros(len(truth)), np.ones(len(truth))
            if insider is not None:
                undecided[insider] = False
                low[insider] = high[insider] = truth[insider]
            if not undecided.any():
                break
            gain = np.where(undecided, np.where(truth, 1.0, -1.0), 0.0)
            solved = milp(gain, constraints=constraint, integrality=1, bounds=(low, high))
            assert solved.success
            other = np.rint(solved.x).astype(bool)
            if not (other != truth)[undecided].any():
                return True
            found.append(other)
    return False


def rows_of(law: str, seeds: Iterable[int]) -> Iterator[Row]:
    """A row for each smallest leaf of a law."""
    groups: dict[int, list[Outcome]] = {leaf: [] for leaf in PATIENTS_A_LEAF}
    for seed in seeds:
        outcome = outcome_of(seed, law)
        groups[leaf_of(seed)].append(outcome)
        print(f"seed {seed}, {law}: {outcome}", flush=True)
    for leaf, group in groups.items():
        passed = [each for each in group if each.verdict == "pass"]
        by_exposure = [each for each in group if "exposure" in each.failed]
        yield Row(
            rows=law,
            leaf=leaf,
            trees=len(group),
            passed=len(passed),
            one_leaf=sum(each.n_leaves == 1 for each in passed),
            inconclusive=sum(each.verdict == "inconclusive" for each in group),
            exposure_alone=sum(each.failed == {"exposure"} for each in group),
            certain=sum(each.certain for each in group),
            certain_passed=sum(each.certain for each in passed),
            alarms=sum(not each.certain for each in by_exposure),
        )


def page_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table of the page: a line for each law."""
    head = ["rows of a patient", "trees", "pass", "fail by `exposure` alone", "inconclusive", "pass, somebody certain"]
    names = ("trees", "passed", "exposure_alone", "inconclusive", "certain_passed")
    lines = [
        (law, *(f"{sum(getattr(row, name) for row in rows if row.rows == law):,}" for name in names)) for law in LAWS
    ]
    yield from table(head, lines, "lrrrrr")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trees and write the table; 1 where a tree passes although somebody is certain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=200, help="how many trees of each law")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=list(LAWS), help="how many rows patients have")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the table is written")
    parser.add_argument("--page", type=Path, help="a page whose measured part is written anew")
    chosen = parser.parse_args(arguments)
    if str(HARNESS) not in sys.path:
        sys.path.insert(0, str(HARNESS))
    seeds = range(chosen.first, chosen.first + chosen.trees)
    rows = [row for law in chosen.laws for row in rows_of(law, seeds)]
    print("\n".join(page_lines(rows)))
    write_csv(chosen.out, rows)
    if chosen.page is not None:
        put(chosen.page, page_lines(rows))
    return 1 if any(row.certain_passed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
