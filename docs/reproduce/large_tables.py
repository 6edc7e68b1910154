"""Audits of a kADET tree grown from many made-up people, beside a plain group-by in DuckDB of the same columns.

    pip install ".[duckdb,docs]"
    python docs/reproduce/large_tables.py 5x6 6x6 7x6 8x6 9x6 5x9 6x9 7x9 8x9

makes 10^5 to 10^9 people with 6 columns and 10^5 to 10^8 with 9, one table after the other, in a temporary folder. Both
run in a process of their own, and are measured from its start to its end. The results replace those of the same tables
in docs/results/large-tables.csv, from which the picture beside it and the table in docs/measurements/large-tables.md
are made; without arguments these alone are made anew.

    python docs/reproduce/large_tables.py wrong

makes 10^9 people, the 900,000,001st with an age outside the bounds of the policy, and prints what the audit says.

    python docs/reproduce/large_tables.py private

makes 10^8 people with 9 columns, of which the one that is tested first is private, and prints what an audit takes that
holds all distinct records in memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb

from leafgate.cli import main
from writing import put, read_rows, table, write_csv

TOP = Path(__file__).resolve().parents[1]
RESULTS, PICTURE = TOP / "results" / "large-tables.csv", TOP / "results" / "large-tables.svg"
PAGE = TOP / "measurements" / "large-tables.md"
VALUES = {
    5: {"age": 90, "sex": 2, "region": 16, "job": 20},
    6: {"age": 90, "sex": 2, "region": 16, "job": 20, "education": 30},
    9: {"age": 90, "sex": 2, "region": 16, "job": 10, "marital": 5, "education": 12, "hours": 10, "disabled": 2},
}
"""How many values each public column has, by the number of columns with the class."""
NUMBERS = {"age", "hours"}
"""The columns that are numbers; the cells of others are texts."""
K = {5: 100, 6: 10_000, 9: 1000}
MEMORY = "2GB"
"""What DuckDB may use for the plain group-by; audits allow it as much."""


def policy(columns: int) -> dict[str, Any]:
    public: dict[str, Any] = {}
    for name, size in VALUES[columns].items():
        domain = {"bounds": [0, size]} if name in NUMBERS else {"values": [f"v{i}" for i in range(size)]}
        public[name] = {"role": "quasi_identifier", **domain}
    return {
        "leafgate": 1,
        "name": "large",
        "data": {
            "path": "people.parquet",
            "source": "duckdb",
            "columns": {**public, "income": {"role": ["class", "sensitive"], "values": ["low", "high"]}},
        },
        "build": {"use": "kadet", "k": K[columns]},
        "attacks": [{"use": "linking"}],
        "metrics": [
            {"use": "k_anonymity", "at_least": K[columns]},
            {"use": "l_diversity", "form": "distinct", "at_least": 2},
        ],
    }


def make_people(path: Path, rows: int, columns: int, wrong: int | None = None) -> None:
    """So many people, whose income depends on age, region and job; the one with the number `wrong` is 999 years old."""
    values = VALUES[columns]
    codes = ", ".join(f"(hash(i * {k + 7}) % {n})::INT AS {name}" for k, (name, n) in enumerate(values.items()))
    texts = ", ".join(name if name in NUMBERS else f"'v' || {name} AS {name}" for name in values)
    rich = f"hash(i * 3) % 100 < 10 + age / 2 + region + (CASE WHEN job >= {values['job'] * 3 // 4} THEN 25 ELSE 0 END)"
    if wrong is not None:
        texts = texts.replace("age", f"CASE WHEN i = {wrong - 1} THEN 999 ELSE age END AS age", 1)
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT {texts}, CASE WHEN {rich} THEN 'high' ELSE 'low' END AS income "  # noqa: S608  our own
            f"FROM (SELECT i, {codes} FROM range({rows}) t(i))) TO '{path}' (FORMAT parquet)"
        )


def count_groups(path: str) -> None:
    """The plain group-by."""
    with duckdb.connect(config={"memory_limit": MEMORY}) as connection:
        query = f"SELECT count(*) FROM (SELECT *, count(*) FROM '{path}' GROUP BY ALL)"  # noqa: S608  our own
        print(connection.execute(query).fetchall()[0][0])


class Measured(NamedTuple):
    """What a process printed, its seconds, those of a processor, and its megabytes of memory at most."""

    printed: str
    seconds: float
    processor_seconds: float
    megabytes: float


def measured(arguments: Sequence[str], folder: Path) -> Measured:
    """What a Python process with these arguments takes from its start to its end."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in {0, 1}:
        raise SystemExit(printed)
    return Measured(printed, time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True)
class Result:
    """What the group-by and the audit of one table took."""

    people: int
    columns: int
    distinct: int
    group_by_seconds: float
    audit_seconds: float
    group_by_megabytes: float
    audit_megabytes: float
    verdict: str


def result(rows: int, columns: int) -> Result:
    """Measure both on so many people with so many columns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_people(folder / "people.parquet", rows, columns)
        (folder / "policy.yaml").write_text(json.dumps(policy(columns)))
        count = measured([__file__, "count", "people.parquet"], folder)
        audit = measured([__file__, "audit", "policy.yaml"], folder)
    return Result(
        people=rows,
        columns=columns,
        distinct=int(count.printed),
        group_by_seconds=count.seconds,
        audit_seconds=audit.seconds,
        group_by_megabytes=count.megabytes,
        audit_megabytes=audit.megabytes,
        verdict="pass" if "PASS" in audit.printed else "fail",
    )


def audit_wrong_people() -> None:
    """Print what an audit says of a wrong cell far behind."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_people(folder / "people.parquet", 10**9, 5, wrong=900_000_001)
        (folder / "policy.yaml").write_text(json.dumps(policy(5)))
        audit = [sys.executable, __file__, "audit", "policy.yaml"]
        start = time.perf_counter()
        ended = subprocess.run(audit, cwd=folder, stderr=subprocess.PIPE, text=True)  # noqa: S603
        print(f"exit code {ended.returncode} after {time.perf_counter() - start:.0f} s\n{ended.stderr}")


def audit_private_people() -> None:
    """Print what an audit takes whose first test is on a private column."""
    with TemporaryDirectory() as name:
        folder, k = Path(name), 1_000_000
        make_people(folder / "people.parquet", 10**8, 9)
        document = policy(9)
        document["data"]["source"] = {"use": "duckdb", "most_records": 60_000_000}
        document["data"]["columns"]["job"]["role"] = "private"
        document["build"]["k"] = document["metrics"][0]["at_least"] = k
        (folder / "policy.yaml").write_text(json.dumps(document))
        audit = measured([__file__, "audit", "policy.yaml"], folder)
        print(f"{audit.printed}{audit.seconds:.0f} s, {audit.megabytes:,.0f} MB")


def write_page() -> None:
    """The table and the picture of all results."""
    results = read_rows(RESULTS, Result)
    head = ["people", "columns", "distinct records", "group-by, s", "audit, s", "audit, MB"]
    cells = (
        [
            *(f"{each.people:,}", f"{each.columns}", f"{each.distinct:,}"),
            *(f"{each.group_by_seconds:.1f}", f"{each.audit_seconds:.1f}", f"{each.audit_megabytes:,.0f}"),
        ]
        for each in results
    )
    put(PAGE, table(head, cells, "rrrrrr"))
    draw(PICTURE, results)


def draw(path: Path, results: Sequence[Result]) -> None:
    """Seconds and megabytes by people, of both, for each number of columns."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from kadet_picture import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, unit in zip(panels, ("seconds", "megabytes"), strict=True):
            for columns, dashes in zip(
                sorted({each.columns for each in results}, reverse=True), ("-", "--"), strict=True
            ):
                its = [each for each in results if each.columns == columns]
                for work, color in (("audit", "#1f5f99"), ("group_by", "#c8641b")):
                    values = [getattr(each, f"{work}_{unit}") for each in its]
                    label = f"{work.replace('_', '-')}, {columns} columns"
                    axes.plot([each.people for each in its], values, dashes, color=color, marker="o", label=label)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("people")
            axes.set_title(unit, loc="left", fontsize=10, fontweight="bold")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def measure(tables: Sequence[str]) -> None:
    """Measure these tables, such as `8x9`, and write all results."""
    for name in tables:
        power, columns = map(int, name.split("x"))
        new = result(10**power, columns)
        kept = read_rows(RESULTS, Result) if RESULTS.exists() else []
        others = [each for each in kept if (each.people, each.columns) != (new.people, new.columns)]
        write_csv(RESULTS, sorted([*others, new], key=lambda each: (each.columns, each.people)))
        print(new, flush=True)
    write_page()


if __name__ == "__main__":
    if sys.argv[1:2] == ["count"]:
        count_groups(sys.argv[2])
    elif sys.argv[1:2] == ["audit"]:
        sys.argv = ["leafgate", *sys.argv[1:]]
        main()
    elif sys.argv[1:2] == ["wrong"]:
        audit_wrong_people()
    elif sys.argv[1:2] == ["private"]:
        audit_private_people()
    else:
        measure(sys.argv[1:])
