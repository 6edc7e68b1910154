"""Does a change of the code change a result? Records many audits, and compares two records.

    python tests/benchmarks/same_results.py record FOLDER [--parts PART ...] [--root DIR] [--random 300]
                                                   [--models BEFORE]
    python tests/benchmarks/same_results.py compare BEFORE AFTER

FOLDER gets a JSON file for each audit: its exit code, its errors, both reports and the digest of the release. Audited
are the example policies (those on the folders of DIR only where it is given), the demo, eight kinds of models that are
fitted on made-up people, by a policy that `leafgate init` writes, and policies on made-up tables that are drawn by a
seed. `recorded_commands.py` adds the other commands, files of every reader, hostile files and plugins with mistakes;
`--parts` chooses among them. Everything goes through the command line, so that names within the code may change between
two records. Files of fitted models differ in some bytes each time, so a second record takes those of the first
(`--models`). The record of another commit is made by this script and the Python of an environment where that commit is
installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

sys.path.append(str(Path(__file__).parent))

from recorded_commands import PARTS, prepare_terminal

TOP = Path(__file__).resolve().parents[2]
WORKERS = 2
SECONDS = 600
"""How long one command may take."""
BEFORE_LEAN = "45acb56c"
"""The commit whose record is the oracle for the changes that take promises away."""


@dataclass(frozen=True)
class Case:
    """One audit.

    Attributes:
        name: The name of its file in the record.
        prepare: Writes what the audit needs into an empty folder, and returns the words after `leafgate audit`.
    """

    name: str
    prepare: Callable[[Path], Sequence[str]]


def leafgate(*words: object, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """A command of the installed package, with one thread and no width of a terminal."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1"}
    command = [str(Path(sys.executable).with_name("leafgate")), *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)


def recorded(case: Case) -> dict[str, Any]:
    """What came of an audit, without what depends on the clock or the folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = case.prepare(folder)
        public = leafgate("audit", *words, "--json", "--out", "out", folder=folder)
        release = folder / "out" / "release.json"
        digest = hashlib.sha256(release.read_bytes()).hexdigest() if release.exists() else ""
        more = ("--json", "--audience", "auditor", "--no-remedies", "--out", "auditor")
        auditor = leafgate("audit", *words, *more, folder=folder)
        errors = (public.stderr + auditor.stderr).decode().replace(name, "FOLDER")
        return {
            "exit code": public.returncode,
            "public": _document(public.stdout),
            "auditor": _document(auditor.stdout),
            "release": digest,
            "errors": errors.splitlines(),
        }


def _document(content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError:
        return content.decode()


def examples(root: Path | None) -> Iterator[Case]:
    """The policies of the project, those on public tables only where the tables are."""
    for path in sorted((TOP / "policies").glob("*.yaml")):
        data = _data_of(path)
        if not data:  # it is there to be extended
            continue
        if (path.parent / data).exists() and not path.stem.startswith("demo"):
            yield Case(path.stem, partial(_given, str(path)))
        elif root is not None and (root / data).exists() and path.stem not in NOT_AS_IT_IS:
            yield Case(path.stem, partial(_given, str(path), "--root", str(root)))


NOT_AS_IT_IS = {"adult-model", "adult-private", "adult-shared"}
"""The first needs a model; the noise of the others is drawn by the operating system."""


def _data_of(path: Path) -> str:
    """The table that a policy names, itself or in one that it extends; empty where none does."""
    document = yaml.safe_load(path.read_text())
    named, parent = document.get("data", {}).get("path", ""), document.get("extends")
    return str(named) if named or parent is None else _data_of(path.parent / parent)


def _given(*words: Any) -> Sequence[str]:
    """The words, which need no folder; it comes last."""
    return words[:-1]


def demos() -> Iterator[Case]:
    """Both policies of `leafgate demo`."""

    def prepare(name: str, folder: Path) -> list[str]:
        leafgate("demo", folder=folder)
        return [f"leafgate-demo/{name}.yaml"]

    for name in ("unprotected", "kadet"):
        yield Case(f"demo-{name}", partial(prepare, name))


def people(seed: int, n: int) -> pd.DataFrame:
    """Made-up people with numbers, values, gaps and a class that follows from them with noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": (rng.gamma(2, 15_000, n)).round(-2).astype(int),
            "region": rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "job": rng.choice(["care", "craft", "office", "none"], n),
        }
    )
    score = (table["age"] - 50) / 20 + (table["region"] == "north") * 0.8 + rng.normal(0, 1, n)
    return table.assign(ill=np.where(score > np.quantile(score, 0.8), "yes", "no"))


def models(kept: Path) -> Iterator[Case]:
    """Eight kinds of models by a policy that `init` writes; their files are kept in a folder, or taken from it."""
    import lightgbm
    import xgboost
    from sklearn import ensemble, tree

    kinds: dict[str, Any] = {
        "tree": tree.DecisionTreeClassifier(random_state=0),
        "balanced": tree.DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=15, random_state=0),
        "forest": ensemble.RandomForestClassifier(20, random_state=0),
        "large": ensemble.RandomForestClassifier(100, min_samples_leaf=10, random_state=0),
        "extra": ensemble.ExtraTreesClassifier(20, random_state=0),
        "histogram": ensemble.HistGradientBoostingClassifier(max_iter=20, random_state=0),
        "xgboost": xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbosity=-1),
    }

    def write(model: Any, table: pd.DataFrame, path: Path) -> None:
        fitted = model.fit(table[["age", "income"]], (table["ill"] == "yes").astype(int))
        if isinstance(fitted, xgboost.XGBClassifier):
            fitted.save_model(path)
        elif isinstance(fitted, lightgbm.LGBMClassifier):
            fitted.booster_.save_model(path)
        else:
            import skops.io

            path.write_bytes(skops.io.dumps(fitted))

    def prepare(name: str, model: Any, folder: Path) -> list[str]:
        table = people(1, 800)
        table.to_csv(folder / "people.csv", index=False)
        endings = {"xgboost": ".json", "lightgbm": ".txt"}
        file = f"{name}{endings.get(name, '.skops')}"
        kept.mkdir(parents=True, exist_ok=True)
        if not (kept / file).exists():
            write(model, table, kept / file)
        (folder / file).write_bytes((kept / file).read_bytes())
        leafgate("init", "people.csv", "--model", file, "--class", "ill", "--out", "policy.yaml", folder=folder)
        return ["policy.yaml"]

    for name, model in kinds.items():
        yield Case(f"model-{name}", partial(prepare, name, model))


def drawn(number: int) -> Case:
    """A policy on a made-up table, both drawn by the number."""
    rng = np.random.default_rng(number)
    table, columns = drawn_table(rng)
    build = _some(rng, {"use": "kadet", "k": _some(rng, 2, 5, 10)}, {"use": "c45", "min_leaf": 5}, {"use": "id3"})
    if build["use"] == "id3":
        columns = {name: {"role": "ignored"} if "values" not in column else column for name, column in columns.items()}
    attacks = [{"use": "linking"}]
    if "sensitive" in columns["class"]["role"] and rng.random() < 0.3:
        attacks.append({"use": "leaf_constraints"})
    data = {"path": "people.csv", "missing": [""], "on_missing": _some(rng, "keep", "drop"), "columns": columns}
    document = {
        "leafgate": 1,
        "name": f"drawn-{number}",
        "data": data,
        "build": build,
        "publish": {"leaves": _some(rng, "counts", "error_rates", "labels"), "measure": bool(rng.random() < 0.5)},
        "attacks": attacks,
        "metrics": list(drawn_limits(rng, columns)),
        "report": {"smallest_cell": _some(rng, 1, 5, 10)},
        "seed": number,
    }
    return Case(f"drawn-{number:03}", partial(_write, table, document))


def _write(table: pd.DataFrame, document: dict[str, Any], folder: Path) -> list[str]:
    table.to_csv(folder / "people.csv", index=False)
    (folder / "policy.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return ["policy.yaml"]


def _some(rng: np.random.Generator, *options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def drawn_table(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table of a few hundred people, and what a policy says of its columns."""
    n, names = int(rng.integers(30, 300)), [f"c{i}" for i in range(int(rng.integers(2, 6)))]
    table, columns = pd.DataFrame(index=range(n)), dict[str, Any]()
    for name in names:
        others = ("quasi_identifier", "quasi_identifier", "private", "sensitive")
        role = _some(rng, *others) if len(columns) else "quasi_identifier"
        if rng.random() < 0.5:
            table[name] = rng.integers(0, _some(rng, 3, 12, 60), n)
            domain = {"bins": [0, 2, 10, 40, 60]} if role == "sensitive" else {"bounds": [0, 60]}
            columns[name] = {"role": role, **domain}
        else:
            values = [f"v{i}" for i in range(int(rng.integers(2, 7)))]
            table[name] = rng.choice(values, n)
            columns[name] = {"role": role, "values": values}
    codes = pd.factorize(table[names[0]])[0] + rng.integers(0, 3, n)
    classes = ["a", "b", "c"][: int(rng.integers(2, 4))]
    table["class"] = [classes[code % len(classes)] for code in codes]
    columns["class"] = {"role": _some(rng, ["class"], ["class", "sensitive"]), "values": classes}
    if rng.random() < 0.5 and columns[names[-1]]["role"] != "sensitive":
        table.loc[rng.random(n) < 0.05, names[-1]] = np.nan
        table = table.astype({name: "Int64" for name in names if "values" not in columns[name]})
    return table, columns


def drawn_limits(rng: np.random.Generator, columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Limits, those on secrets where a column is one."""
    yield {"use": "k_anonymity", "at_least": _some(rng, 2, 5, 10)}
    if any("sensitive" in column["role"] for column in columns.values()):
        yield {"use": "exposure", "at_most": 0}
        yield {"use": "confidence", "at_most": _some(rng, 0.7, 0.9, 1.0)}
        yield {"use": "l_diversity", "at_least": 2}
        yield {"use": "t_closeness", "at_most": _some(rng, 0.2, 0.5)}


AUDITS = "audits"
"""The part of the record that is audits of whole policies."""


def record(folder: Path, parts: Sequence[str], root: Path | None, random: int, before: Path | None) -> None:
    """Record the parts, one file for each audit and for each session of commands."""
    folder.mkdir(parents=True, exist_ok=True)
    prepare_terminal()
    for part in parts:
        if part == AUDITS:
            record_audits(folder, root, random, before)
            continue
        for commands in PARTS[part]():
            _keep(folder, commands.name, steps := commands.recorded())
            print(commands.name, len(steps), "commands", flush=True)


def record_audits(folder: Path, root: Path | None, random: int, before: Path | None) -> None:
    """Audit every case, and write what came of it."""
    cases = [*examples(root), *demos(), *models((before or folder) / "models"), *map(drawn, range(random))]
    with ThreadPoolExecutor(WORKERS) as pool:
        for case, result in zip(cases, pool.map(recorded, cases), strict=True):
            _keep(folder, case.name, result)
            print(case.name, result["exit code"], flush=True)


def _keep(folder: Path, name: str, result: Any) -> None:
    text = json.dumps(result, indent=1, sort_keys=True)
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def compare(before: Path, after: Path) -> int:
    """Print every place where two records differ; 1 where one does."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.json")})
    different = 0
    for name in names:
        both = [folder / name for folder in (before, after)]
        if not all(path.exists() for path in both):
            found = [("", *("there" if path.exists() else "missing" for path in both))]
        else:
            found = list(differences(*(json.loads(path.read_text(encoding="utf-8")) for path in both)))
        different += bool(found)
        for place, old, new in found:
            print(f"{name}{place}: {_short(old)} -> {_short(new)}")
    print(f"{len(names)} records, {different} differ")
    return int(different > 0 or not names)


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The places of two documents where they differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{place}[{i}]")
    elif old != new:
        yield place, old, new


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def main() -> int:
    parser = argparse.ArgumentParser(description="Does a change of the code change a result?")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    every = [*PARTS, AUDITS]
    recording.add_argument("--parts", nargs="+", choices=every, default=every, help="what is recorded, default: all")
    recording.add_argument("--root", type=Path, help="the folder of public tables")
    recording.add_argument("--random", type=int, default=300, help="how many policies are drawn")
    recording.add_argument("--models", type=Path, help="an earlier record, whose fitted models are audited again")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options.before, options.after)
    record(options.folder, options.parts, options.root, options.random, options.models)
    return 0


if __name__ == "__main__":
    sys.exit(main())
