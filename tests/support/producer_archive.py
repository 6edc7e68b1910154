"""Archives of the producer matrix: small model files of one version of a program, and the program's own answers.

An archive, `VERSION.tar.xz` (or `VERSION.zip`), holds

- a model for each case, `CASE.ENDING`;
- `rows.csv`, made-up people and rows that try more; an empty cell is missing;
- `margins.csv`, what the program says of each row before its last transform (scores of boosting, shares of classes,
  predicted numbers): a column `CASE.NUMBER` for each score;
- `labels.csv`, the name of the class that it predicts for each row: a column for each case that has classes;
- `made_with.csv`, the versions of the other programs that took part;
- `originals.csv`, where models were converted: on how many rows the original model answers as the converted one does.

Where the rows of the cases differ, `CASE.csv` has those of a case with its answers, as `raw.NUMBER` and `label`.
A row without an answer was not asked about, a case without answers is one that leafgate refuses. Programs that make
archives import this module in environments of the versions they run with: it needs NumPy alone.
"""

from __future__ import annotations

import csv
import io
import lzma
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

PEOPLE = 80
PROBES = 40
NAMES = ["age", "visits", "ward"]
POOLS = {
    "age": [-5.0, 0.0, 1e-36, 17.5, 18.0, 30.5, 55.0, 89.5, 200.0, np.nan],
    "visits": [-1.0, 0.0, 0.5, 3.5, 8.0, 90.0, np.nan],
    "ward": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0, np.nan],
}
"""Cells of the rows behind the people: between, below and above the people's numbers, missing, unheard of."""


def made_up_people() -> tuple[Any, Any]:
    """Whole numbers in the columns `NAMES`, some missing, `ward` a category; and a number that depends on them."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(18, 90, PEOPLE), rng.integers(0, 9, PEOPLE), rng.integers(0, 6, PEOPLE)]
    x = np.column_stack(columns).astype(float)
    number = x[:, 0] / 20 + (x[:, 2] % 2) * 2 + x[:, 1] / 6 + rng.normal(size=PEOPLE)
    x[rng.random(x.shape) < 0.08] = np.nan
    return x, number


def with_probes(x: Any) -> Any:
    """The people, and rows behind them with cells of `POOLS`."""
    rng = np.random.default_rng(11)
    return np.concatenate([x, np.column_stack([rng.choice(POOLS[name], PROBES) for name in NAMES])])


def quantiles(number: Any, classes: int) -> Any:
    """Which of so many equal parts each number is in: 0, 1, ..."""
    return np.searchsorted(np.quantile(number, np.arange(1, classes) / classes), number)


@dataclass
class Making:
    """An archive in the making."""

    rows: Mapping[str, Any]
    digits: int = 17
    models: dict[str, bytes] = field(default_factory=dict)
    margins: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    made_with: dict[str, str] = field(default_factory=dict)
    originals: dict[str, int] = field(default_factory=dict)

    def add(self, file_name: str, content: bytes, margins: Any = None, labels: Any = None) -> None:
        """Add the file of a case; without answers where leafgate refuses it."""
        case = case_of(file_name)
        self.models[file_name] = content
        if margins is not None:
            scores = np.asarray(margins, dtype=float)
            for i, column in enumerate(scores.reshape(len(scores), -1).T):
                self.margins[f"{case}.{i}"] = column
        if labels is not None:
            self.labels[case] = [label if isinstance(label, str) else str(int(label)) for label in labels]

    def write(self, path: Path) -> None:
        """Write the archive; the same bytes for the same content."""
        texts = {
            "rows.csv": as_csv(self.rows, self.digits),
            "margins.csv": as_csv(self.margins, self.digits),
            "labels.csv": as_csv(self.labels, self.digits),
            "made_with.csv": as_csv({name: [version] for name, version in self.made_with.items()}, self.digits),
            "originals.csv": as_csv({name: [equal] for name, equal in self.originals.items()}, self.digits),
        }
        write_archive(path, {**{name: text.encode() for name, text in texts.items()}, **self.models})


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Files without times and owners; in a `.tar.xz` compressed together, for models of one program are much alike."""
    content = io.BytesIO()
    if path.suffix == ".zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
            for name, file in files.items():
                zipped.writestr(zipfile.ZipInfo(name), file, zipfile.ZIP_DEFLATED)
        path.write_bytes(content.getvalue())
        return
    with tarfile.open(fileobj=content, mode="w") as made:
        for name, file in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(file)
            made.addfile(member, io.BytesIO(file))
    path.write_bytes(lzma.compress(content.getvalue(), preset=9))


def files_in(path: Path) -> dict[str, bytes]:
    """The files in an archive by their names."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def as_csv(columns: Mapping[str, Any], digits: int) -> str:
    """Columns of numbers, or of texts, as CSV; NaN is an empty cell."""
    cells = [
        [cell if isinstance(cell, str) else f"{float(cell):.{digits}g}".replace("nan", "") for cell in column]
        for column in columns.values()
    ]
    return "\n".join([",".join(columns), *map(",".join, zip(*cells))]) + "\n"  # noqa: B905


def columns_of(content: str) -> dict[str, Any]:
    """The columns of a CSV file: numbers, with NaN for empty cells, or texts where a cell is none."""
    names, *rows = csv.reader(io.StringIO(content))
    return {name: _cells(column) for name, column in zip(names, zip(*rows))}  # noqa: B905


def _cells(column: Sequence[str]) -> Any:
    try:
        return np.array([float(cell or "nan") for cell in column])
    except ValueError:
        return np.array(column, dtype=object)


def case_of(file_name: str) -> str:
    return file_name.rpartition(".")[0]


@dataclass(frozen=True)
class Archive:
    """What one version of a program made."""

    path: Path

    @property
    def version(self) -> str:
        return self.path.name.removesuffix(".zip").removesuffix(".tar.xz")

    @cached_property
    def files(self) -> dict[str, bytes]:
        """All files by their names."""
        return files_in(self.path)

    @property
    def models(self) -> dict[str, bytes]:
        """The files of models by their names."""
        return {name: content for name, content in self.files.items() if not name.endswith(".csv") and "/" not in name}

    def _table(self, name: str) -> dict[str, list[str]]:
        """The cells of a CSV file by column; none where there is no such file."""
        names, *rows = csv.reader(io.StringIO(self.files.get(f"{name}.csv", b"\n").decode()))
        return {name: list(column) for name, column in zip(names, zip(*rows))}  # noqa: B905

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The columns of the rows."""
        return {name: _cells(column) for name, column in self._table("rows").items()}

    @cached_property
    def made_with(self) -> dict[str, str]:
        """The versions of the other programs that took part, by their names."""
        return {name: version for name, (version,) in self._table("made_with").items()}

    @cached_property
    def originals(self) -> dict[str, int]:
        """On how many rows the model that was converted answers as the converted one does, by case."""
        return {case: int(equal) for case, (equal,) in self._table("originals").items()}

    @cached_property
    def _margins(self) -> dict[str, list[Any]]:
        """The columns of scores by case."""
        found: dict[str, list[Any]] = {}
        for name, column in self._table("margins").items():
            found.setdefault(case_of(name), []).append(_cells(column))
        return found

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        return self._table("labels")

    def own_rows(self, case: str) -> dict[str, list[str]]:
        """The texts of a case's own rows with their answers, by column; none where all cases have the same rows."""
        return self._table(case)

    def margins(self, case: str) -> Any:
        """Each row's scores: shape (n_rows, n_scores); no row where the case has no answers."""
        own = [_cells(column) for key, column in self.own_rows(case).items() if key.startswith("raw.")]
        columns = own or self._margins.get(case, [])
        return np.column_stack(columns) if columns else np.empty((0, 0))

    def labels(self, case: str) -> list[str]:
        """The name of the class that each row is predicted, "" where it has no answer; empty for numbers."""
        return self.own_rows(case).get("label") or self._labels.get(case, [])

    @cached_property
    def answered(self) -> list[str]:
        """The names of the files with answers."""
        return [name for name in self.models if len(self.margins(case_of(name)))]

    @property
    def unanswered(self) -> list[str]:
        """The names of the files without, which leafgate refuses."""
        return [name for name in self.models if name not in self.answered]


def archives_in(folder: Path) -> list[Archive]:
    """The archives of a folder, oldest version first."""
    found = [Archive(path) for end in ("zip", "tar.xz") for path in folder.glob(f"*.{end}")]
    return sorted(found, key=lambda each: [int(part) for part in each.version.split(".")])
