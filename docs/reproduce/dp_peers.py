"""The other libraries, each by a Python that has it, on the same splits as ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dp_data import Data, Split
from dp_scores import Floats, Ids, Score
from leafgate.kernel.table import Table

HERE = Path(__file__).resolve().parent
Found = tuple[str, float, Score]
"""Name, epsilon, score."""


def peers(python: Path, script: str, data: Data, epsilons: Sequence[float], delta: float, runs: int) -> Iterator[Found]:
    """What one library's script says of one data set."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{run}.npz" for run in range(runs)]
        for run, file in enumerate(files):
            _save(file, data.split(run), delta, run)
        text = ",".join(map(str, epsilons))
        command = [str(python), str(HERE / f"{script}.py"), text, *map(str, files)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    for line in map(json.loads, done.stdout.splitlines()):
        yield line["name"], line["epsilon"], Score(line["accuracy"], line["area"])


def _save(path: Path, split: Split, delta: float, seed: int) -> None:
    table, test = split
    features = table.schema.features
    np.savez(
        path,
        x=_numbers(table),
        y=_classes(table),
        z=_numbers(test),
        zy=_classes(test),
        sizes=[0 if column.numeric else len(column.domain) for column in features],
        bounds=[column.bounds or (0.0, 0.0) for column in features],
        classes=len(table.schema.classes),
        delta=delta,
        seed=seed,
    )


def _numbers(table: Table) -> Floats:
    """A row a person; values as positions in their domain. In a fixed random order, for a table is sorted."""
    features = table.schema.features
    columns = [table.numbers(c.name) if c.numeric else table.codes(c.name).astype(np.float64) for c in features]
    return np.asarray(np.stack(columns, axis=1)[_people(table)])


def _classes(table: Table) -> Floats:
    return np.asarray(table.codes(table.schema.target.name)[_people(table)], dtype=np.float64)


def _people(table: Table) -> Ids:
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(table)), table.weight))
