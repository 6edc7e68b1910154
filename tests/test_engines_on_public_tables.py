"""Audits of ten public data sets and of the example policies: engines make the reports and the releases of the core."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command_line import leafgate
from data_files import DATA
from engine_files import NEEDS_SPARK
from leafgate.app import parse_yaml
from public_tables import FILES
from table_files import csv_cells

pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("polars", reason="Polars is not installed")

FORMATS = ["csv", "parquet"]
Document = Mapping[str, Any]
SOURCES: Mapping[str, Document] = {
    "duckdb": {"use": "duckdb"},
    "polars": {"use": "polars"},
    "spark": {"use": "spark", "master": "local[2]"},
}
ENGINES = [
    pytest.param(("duckdb", "polars"), id="duckdb, polars"),
    pytest.param(("spark",), id="spark", marks=NEEDS_SPARK),
]
IN_SCIKIT_LEARN = ("iris", "wine", "breast_cancer")
TABLES = (*FILES, *IN_SCIKIT_LEARN)
"""Ten data sets; Adult is two files, and those with unknown values are audited with and without them."""
POLICIES = Path(__file__).resolve().parents[1] / "policies"
EXAMPLES = sorted(path for path in POLICIES.glob("*.yaml") if path.stem != "wages")
"""The example policies; `wages` names no table."""


@dataclass(frozen=True)
class Audited:
    """What a command wrote and printed, the digest of the policy left out."""

    printed: str
    report: str
    release: bytes


@cache
def cells_of(name: str) -> pd.DataFrame:
    """The cells of a data set as texts; where it is not there, the test is skipped."""
    if name in IN_SCIKIT_LEARN:
        datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        classes = pd.Series(bunch.target_names[bunch.target], name="class")
        text = pd.concat([bunch.data, classes], axis=1).to_csv(index=False)
        return pd.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    file = FILES[name]
    if not (DATA / file.path).is_file():
        pytest.skip(f"set LEAFGATE_DATA to the folder that holds `{file.path}`")
    return csv_cells((DATA / file.path).read_bytes(), file.names, file.path, **file.csv).astype(str)


def write(cells: pd.DataFrame, path: Path) -> None:
    """The cells as CSV, or as Parquet whose columns of numbers hold numbers."""
    if path.suffix == ".csv":
        cells.to_csv(path, index=False)
    else:
        text = StringIO(cells.to_csv(index=False))
        pd.read_csv(text, keep_default_na=False).to_parquet(path, index=False)


def policy_for(name: str) -> dict[str, Any]:
    """A policy for a data set: all of its columns are public, and their domains are those that occur."""
    columns: dict[str, Any] = {column: {"role": "quasi_identifier"} for column in cells_of(name).columns}
    file = FILES.get(name)
    target, options = ("class", {}) if file is None else (file.target, file.options)
    ignored = () if file is None else file.ignored
    columns |= {column: {"role": "ignored"} for column in ignored} | {target: {"role": ["class", "sensitive"]}}
    return {
        "leafgate": 1,
        "name": "engines",
        "data": {"columns": columns, **options},
        "build": {"use": "kadet", "k": 10, "measure": "gain_ratio"},
        "publish": {"leaves": "counts", "measure": True},
        "attacks": [{"use": "linking"}],
        "metrics": [
            {"use": "k_anonymity", "at_least": 10},
            {"use": "exposure", "average": True, "at_most": 0.01},
            {"use": "confidence", "at_most": 0.95, "allow": 0.05},
        ],
    }


def example(path: Path, form: str, root: Path) -> dict[str, Any]:
    """An example policy whose tables are files of this format in `root`, with all other files that it names."""
    document = parse_yaml(path.read_bytes(), path.name)
    data = document["data"]
    place = DATA if path.stem.startswith(("adult", "votes")) else POLICIES
    if path.stem in {"demo", "structure"}:
        assert leafgate("demo", "--out", root / "demo").code == 0
        place = root / "demo"
    if not (place / data["path"]).is_file():
        pytest.skip(f"set LEAFGATE_DATA to the folder that holds `{data['path']}`")
    if path.stem in {"adult-private", "adult-shared"}:
        document["build"]["rehearsal"] = True  # otherwise each run draws anew
    if path.stem == "adult-private":
        document["attacks"] = [{"use": "distinguish", "runs": 20, "seconds": 600}]
    if path.stem == "adult-model":
        pytest.importorskip("skops", reason="skops is not installed")
        script, model = POLICIES / "adult_model.py", root / document["build"]["path"]
        subprocess.run([sys.executable, script, place / data["path"], model], check=True, cwd=POLICIES.parent)
    options = data.pop("csv", {})
    for key in {"path", "test"} & data.keys():
        cells = csv_cells((place / data[key]).read_bytes(), [*data["columns"]], key, **options)
        data[key] = f"{key}.{form}"
        write(cells.astype(str), root / data[key])
    for column in data["columns"].values():
        if "hierarchy" in column:
            target = root / column["hierarchy"]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(place / column["hierarchy"], target)
    return document


def audited(document: Document, root: Path, audience: str, source: Document | None) -> Audited:
    """An audit under a policy; it has one line, so that reports name the same lines with and without an engine."""
    data = document["data"] if source is None else {**document["data"], "source": source}
    policy, out = root / "policy.yaml", root / f"{audience} {source and source['use']}"
    policy.write_text(json.dumps({**document, "data": data}), encoding="utf-8")
    ended = leafgate("audit", policy, "--root", root, "--out", out, "--audience", audience)
    assert ended.code in {0, 1, 3}, ended.out + ended.err
    report = (out / "report.json").read_text(encoding="utf-8")
    release = (out / "release.json").read_bytes()
    return Audited(ended.out + ended.err, report.replace(json.loads(report)["policy"]["sha256"], ""), release)


def refuse_differences(document: Document, root: Path, engines: Sequence[str]) -> None:
    """Both reports, the release and what is printed are the same with each engine as without one."""
    for audience in ("public", "auditor"):
        expected = audited(document, root, audience, None)
        for engine in engines:
            assert audited(document, root, audience, SOURCES[engine]) == expected, engine


QUICK = {"iris", "mortgage", "ward"}
LONG = {"adult", "adult-education", "adult-model", "adult-private", "adult-shared", "credit", "votes"}
"""Half a minute and more each, of tables like the others'."""


def cases(named: Iterable[tuple[str, Any]]) -> list[Any]:
    """Each of them in both formats: CSV in the longer part, Parquet and what is long among the slow tests."""
    found = []
    for (name, each), form in itertools.product(named, FORMATS):
        mark = pytest.mark.slow if name in LONG or form == "parquet" else pytest.mark.thorough
        found.append(pytest.param(each, form, marks=() if name in QUICK else mark, id=f"{name}-{form}"))
    return found


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize(("name", "form"), cases((name, name) for name in TABLES))
@pytest.mark.thorough
def test_engines_make_the_reports_and_the_release_of_the_core(
    name: str, form: str, engines: Sequence[str], tmp_path: Path
) -> None:
    write(cells_of(name), tmp_path / f"people.{form}")
    document = policy_for(name)
    document["data"]["path"] = f"people.{form}"
    refuse_differences(document, tmp_path, engines)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize(("path", "form"), cases((path.stem, path) for path in EXAMPLES))
@pytest.mark.thorough
def test_engines_make_the_reports_and_the_release_of_an_example_policy(
    path: Path, form: str, engines: Sequence[str], tmp_path: Path
) -> None:
    refuse_differences(example(path, form, tmp_path), tmp_path, engines)
