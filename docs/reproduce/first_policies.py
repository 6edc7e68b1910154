"""First policies on random tables and models: who passes, and what an adversary of its own finds in what passes.

    python docs/reproduce/first_policies.py --cases 5000 --repairs 500

Each case is a random table and a model of some producer, audited by the policy that `leafgate init` or `leafgate.audit`
writes for it. Whatever passes is handed to an adversary that shares no code with leafgate. So many of the first cases
are repaired as well where they fail. The table that is printed is written to docs/results/first-policies.csv, and by
kinds of models to docs/measurements/first-policies.md; each failure is printed with its seed, by which `--first SEED
--cases 1` repeats it. It needs scikit-learn, skops, XGBoost, LightGBM and skl2onnx.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from writing import put, table, write_csv

if TYPE_CHECKING:
    from first_policy_cases import Outcome

RESULTS = Path(__file__).resolve().parents[1] / "results" / "first-policies.csv"
PAGE = Path(__file__).resolve().parents[1] / "measurements" / "first-policies.md"
HARNESS = Path(__file__).resolve().parents[2] / "tests" / "support"
PROCESSES = 2
SEEDS_A_TASK = 10
LISTED = 60
"""So many failures are printed, each with its seed."""


@dataclass(frozen=True)
class Row:
    """What came of the cases of one kind.

    Attributes:
        model: what was published.
        policy: who wrote the policy.
        cases: how many there were.
        passed: how many passed.
        one_group: how many of these passed as models that tell nobody from anybody.
        file_alone: how many failed by what the file discloses beside its predictions, and by nothing else.
        failed: how many failed otherwise.
        inconclusive: how many could not be judged.
        invalid: of how many the policy, the model or the table was refused.
        none_found: for how many no repair was found.
        crashed: how many ended in an error that is no finding.
        exposed: how many passed although somebody is exposed.
        overlooked: how many failed by the file alone although somebody is exposed.
    """

    model: str
    policy: str
    cases: int
    passed: int
    one_group: int
    file_alone: int
    failed: int
    inconclusive: int
    invalid: int
    none_found: int
    crashed: int
    exposed: int
    overlooked: int


def run_seeds(seeds: Sequence[int], repairs: int) -> list[Outcome]:
    """The outcomes of some seeds, in a process of its own."""
    _see_harness()
    from first_policy_cases import run_case

    return [outcome for seed in seeds for outcome in run_case(seed, repair=seed < repairs)]


def _see_harness() -> None:
    """Let the packages of the tests be imported."""
    if str(HARNESS) not in sys.path:
        sys.path.insert(0, str(HARNESS))


def outcomes(first: int, cases: int, repairs: int, processes: int = PROCESSES) -> Iterator[Outcome]:
    """The outcomes of the seeds from `first` on, in their order; those below `repairs` with a repair."""
    _see_harness()  # the outcomes that processes send are unpacked here
    seeds = range(first, first + cases)
    tasks = [seeds[i : i + SEEDS_A_TASK] for i in range(0, cases, SEEDS_A_TASK)]
    if processes == 1:
        for task in tasks:
            yield from run_seeds(task, repairs)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the libraries of the processes would take each other's cores
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        for found in pool.map(run_seeds, tasks, [repairs] * len(tasks)):
            yield from found


def rows_of(found: Iterable[Outcome]) -> list[Row]:
    """A row for each kind of model and of policy, and one for all."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in found:
        groups.setdefault((outcome.kind, outcome.how), []).append(outcome)
    everything = [outcome for group in groups.values() for outcome in group]
    first = [outcome for outcome in everything if not outcome.how.endswith("repaired")]
    repaired = [outcome for outcome in everything if outcome.how.endswith("repaired")]
    rows = [_row(kind, how, group) for (kind, how), group in sorted(groups.items())]
    return [*rows, _row("all", "as written", first), *([_row("all", "repaired", repaired)] if repaired else [])]


def _row(kind: str, how: str, group: Sequence[Outcome]) -> Row:
    verdicts = Counter(outcome.verdict for outcome in group)
    return Row(
        model=kind,
        policy=how,
        cases=len(group),
        passed=verdicts["pass"],
        one_group=sum(outcome.verdict == "pass" and outcome.groups == 1 for outcome in group),
        file_alone=verdicts["file alone"],
        failed=verdicts["fail"],
        inconclusive=verdicts["inconclusive"],
        invalid=verdicts["invalid"],
        none_found=verdicts["none found"],
        crashed=verdicts["crash"],
        exposed=sum(outcome.verdict == "pass" and outcome.exposes for outcome in group),
        overlooked=sum(outcome.is_oversight for outcome in group),
    )


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """The table."""
    head = [
        *("model", "policy", "cases", "pass", "one group", "file alone", "fail", "inconclusive", "invalid"),
        *("no repair", "crash", "pass, exposed", "file alone, exposed"),
    ]
    yield from table(head, [tuple(map(str, vars(row).values())) for row in rows], "llrrrrrrrrrrr")


FAMILIES = {
    "kADET": ("kadet",),
    "ID3 and C4.5": ("id3", "c45"),
    "trees": ("tree",),
    "forests": ("forest",),
    "boosting": ("histogram boosting", "lightgbm", "xgboost"),
    "pipelines and ONNX": ("pipeline", "onnx"),
    "models of numbers": ("mean", "median", "numbers"),
}
"""The lines of the page's table: which kinds of models they add up, by how their names begin."""


def page_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table of the page: a line for each family of models, then for all, and for all that were repaired."""
    head = ["model", "cases", "pass", "file alone", "fail", "inconclusive", "invalid", "pass, exposed"]
    written = [row for row in rows if row.model != "all" and not row.policy.endswith("repaired")]
    lines = [
        _in_page(name, [row for row in written if row.model.startswith(kinds)]) for name, kinds in FAMILIES.items()
    ]
    yield from table(head, [*lines, _in_page("all", written)], "lrrrrrrr")
    for row in rows:
        if row.model == "all" and row.policy == "repaired":
            yield f"\n{row.cases:,} of the first cases that fail were repaired: {row.passed:,} pass,"
            yield f"{row.one_group:,} of them in one group, and for {row.none_found:,} no repair was found."
            yield f"{row.exposed:,} expose somebody."


def _in_page(kind: str, rows: Sequence[Row]) -> tuple[str, ...]:
    """One line of the page's table: rows of a kind added up."""
    names = ("cases", "passed", "file_alone", "failed", "inconclusive", "invalid", "exposed")
    return (kind, *(f"{sum(getattr(row, name) for row in rows):,}" for name in names))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases, print the table and write it; 1 where anything passes that exposes somebody, or breaks down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000, help="how many seeds")
    parser.add_argument("--repairs", type=int, default=500, help="how many of the first seeds are repaired too")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="how many processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the table is written")
    chosen = parser.parse_args(arguments)
    found, failures = [], 0
    for outcome in outcomes(chosen.first, chosen.cases, chosen.first + chosen.repairs, chosen.processes):
        found.append(outcome)
        failures += outcome.is_failure
        if (outcome.is_failure or outcome.is_oversight) and failures <= LISTED:
            print(outcome, flush=True)
    rows = rows_of(found)
    print("\n".join(lines_of(rows)))
    print(f"\n{failures:,} failures in {len(found):,} audits of {chosen.cases:,} cases")
    write_csv(chosen.out, rows)
    if chosen.out == RESULTS:
        put(PAGE, page_lines(rows))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
