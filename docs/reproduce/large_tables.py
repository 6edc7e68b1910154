"""Audits of a kADET tree grown from many made-up people, beside a plain group-by in DuckDB of the same columns.

    pip install ".[duckdb]"
    python docs/reproduce/large_tables.py 6x5 8x5 8x9 9x6

makes 10^6 and 10^8 people with 5 columns, 10^8 with 9 and 10^9 with 6, in a temporary folder, and prints a line of
docs/measurements/large-tables.md for each: both run in a process of their own, and are measured from its start to its
end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb

from leafgate.cli import main

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


def make_people(path: Path, rows: int, columns: int) -> None:
    """So many people, whose income depends on age, region and job."""
    values = VALUES[columns]
    codes = ", ".join(f"(hash(i * {k + 7}) % {n})::INT AS {name}" for k, (name, n) in enumerate(values.items()))
    texts = ", ".join(name if name in NUMBERS else f"'v' || {name} AS {name}" for name in values)
    rich = f"hash(i * 3) % 100 < 10 + age / 2 + region + (CASE WHEN job >= {values['job'] * 3 // 4} THEN 25 ELSE 0 END)"
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


def line(rows: int, columns: int) -> str:
    """A line of the table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_people(folder / "people.parquet", rows, columns)
        (folder / "policy.yaml").write_text(json.dumps(policy(columns)))
        count = measured([__file__, "count", "people.parquet"], folder)
        audit = measured([__file__, "audit", "policy.yaml"], folder)
        verdict = "pass" if "PASS" in audit.printed else "fail"
    cells = (
        *(f"{rows:,}", f"{columns}", f"{int(count.printed):,}", f"{count.seconds:.1f}", f"{audit.seconds:.1f}"),
        *(f"{audit.seconds / count.seconds:.1f}", f"{count.megabytes:,.0f}", f"{audit.megabytes:,.0f}", verdict),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1] == "count":
        count_groups(sys.argv[2])
    elif sys.argv[1] == "audit":
        sys.argv = ["leafgate", *sys.argv[1:]]
        main()
    else:
        for table in sys.argv[1:]:
            power, width = map(int, table.split("x"))
            print(line(10**power, width), flush=True)
