"""Which models and files leafgate, SACRO-ML and ART accept, each tried in an environment of its own.

    pip install -e ".[dev]" catboost
    python docs/reproduce/producers_peers.py leafgate
    pip install "sacroml==2.0.1" xgboost-cpu lightgbm catboost     # in an environment of its own
    python docs/reproduce/producers_peers.py sacroml
    pip install "adversarial-robustness-toolbox==1.20.1" scikit-learn xgboost-cpu lightgbm catboost     # in another
    python docs/reproduce/producers_peers.py art
    python docs/reproduce/producers_peers.py page

Each run fits the same models on the same made-up people, gives each to the tool's audit or to its attacks, and gives it
files of the producer matrix. The outcomes are written to docs/results/producers-peers.csv in place of the tool's older
ones, and with `page` the table to docs/explanation/which-tool.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import numpy as np

from writing import put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
TESTS = DOCS.parent / "tests"
RESULTS = DOCS / "results" / "producers-peers.csv"
PAGE = DOCS / "explanation" / "which-tool.md"
PEOPLE = 200
TREES: dict[str, Any] = {"n_estimators": 5, "max_depth": 3, "random_state": 0}


@dataclass(frozen=True)
class Row:
    """What a tool made of a model or a file.

    Attributes:
        tool: its name on the page.
        version: its version.
        kind: `object` or `file`.
        subject: the model or the file.
        accepted: `yes`, or `no`.
        says: what ran, or the error.
    """

    tool: str
    version: str
    kind: str
    subject: str
    accepted: str
    says: str


class NotTakenError(Exception):
    """No attack of a tool takes a model; the text says why of each."""


def of_sklearn(name: str, **options: Any) -> Callable[[], Any]:
    """An estimator of scikit-learn."""
    place, _, kind = name.rpartition(".")
    return lambda: getattr(import_module(f"sklearn.{place}"), kind)(**options)


def pipeline() -> Any:
    return import_module("sklearn.pipeline").make_pipeline(
        import_module("sklearn.preprocessing").StandardScaler(),
        import_module("sklearn.tree").DecisionTreeClassifier(max_depth=3, random_state=0),
    )


def of_library(name: str, **options: Any) -> Callable[[], Any]:
    """An estimator of XGBoost, LightGBM or CatBoost."""
    library, _, kind = name.partition(".")
    return lambda: getattr(import_module(library), kind)(**options)


OBJECTS: dict[str, Callable[[], Any]] = {
    "DecisionTreeClassifier": of_sklearn("tree.DecisionTreeClassifier", max_depth=3, random_state=0),
    "DecisionTreeRegressor": of_sklearn("tree.DecisionTreeRegressor", max_depth=3, random_state=0),
    "RandomForestClassifier": of_sklearn("ensemble.RandomForestClassifier", **TREES),
    "ExtraTreesClassifier": of_sklearn("ensemble.ExtraTreesClassifier", **TREES),
    "GradientBoostingClassifier": of_sklearn("ensemble.GradientBoostingClassifier", **TREES),
    "HistGradientBoostingClassifier": of_sklearn(
        "ensemble.HistGradientBoostingClassifier", max_iter=5, max_depth=3, random_state=0
    ),
    "pipeline of scaler and tree": pipeline,
    "XGBClassifier": of_library("xgboost.XGBClassifier", **TREES),
    "XGBoost's Booster": of_library("xgboost.XGBClassifier", **TREES),
    "LGBMClassifier": of_library("lightgbm.LGBMClassifier", **TREES, verbose=-1),
    "LightGBM's Booster": of_library("lightgbm.LGBMClassifier", **TREES, verbose=-1),
    "LightGBM's Booster of three classes": of_library("lightgbm.LGBMClassifier", **TREES, verbose=-1),
    "CatBoostClassifier": of_library(
        "catboost.CatBoostClassifier", iterations=5, depth=3, verbose=0, allow_writing_files=False
    ),
}
FILES = {
    "skops of scikit-learn": ("sklearn/producers", "forest.skops"),
    "skops of LightGBM, by MLflow": ("mlflow/producers", "lightgbm.skops"),
    "XGBoost, JSON": ("xgboost/producers", "logistic.json"),
    "LightGBM, text": ("lightgbm/producers", "binary.txt"),
    "CatBoost, JSON": ("catboost/producers", "logloss.json"),
    "ONNX of skl2onnx": ("onnx/producers/skl2onnx", "forest.onnx"),
    "PMML of sklearn2pmml": ("pmml/producers", "forest.pmml"),
}
PICKLE = "pickle of scikit-learn"


def people(classes: int = 2) -> tuple[Any, Any]:
    """Made-up people and their class, of which the first half is given to training."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(18, 90, 2 * PEOPLE), rng.integers(0, 9, 2 * PEOPLE), rng.normal(size=2 * PEOPLE)])
    number = x[:, 0] / 40 + x[:, 2] + rng.normal(size=2 * PEOPLE)
    return x, np.searchsorted(np.quantile(number, np.arange(1, classes) / classes), number)


def classes_of(model: Any) -> int:
    """How many classes a model of `OBJECTS` has learned."""
    return 3 if type(model).__name__ == "Booster" and getattr(model, "_Booster__num_class", 1) == 3 else 2


def fitted(name: str) -> Any:
    """A model of `OBJECTS`, fitted."""
    x, y = people(3 if name.endswith("three classes") else 2)
    model = OBJECTS[name]().fit(x[:PEOPLE], y[:PEOPLE])
    if name.startswith("XGBoost's"):
        return model.get_booster()
    return model.booster_ if name.startswith("LightGBM's") else model


def audited(model: Any) -> str:
    """leafgate's audit of a model in memory, with its verdict on groups of five people."""
    leafgate, pandas = import_module("leafgate"), import_module("pandas")
    x, y = people(classes_of(model))
    table_of = pandas.DataFrame(x[:PEOPLE], columns=["age", "visits", "score"])
    target = pandas.Series(y[:PEOPLE], name="ill")
    numbers = model.__class__.__name__.endswith("Regressor")
    audit = leafgate.audit(model, table_of, target.astype(float) if numbers else target, limits={"k_anonymity": 5})
    return f"audited, {audit.verdict}"


def read_by_leafgate(path: Path) -> str:
    """leafgate's reading of a file, by the readers of its plugins."""
    registry, reader = import_module("leafgate.api.registry"), import_module("leafgate.models.reader")
    if reader.is_pickle(path.read_bytes()[:4096]):
        reader.refuse_pickle(path, path.name)
    reader.read_foreign(path.read_bytes(), path.name, registry.load_plugins().readers)
    return "read"


def attacked_by_sacroml(model: Any) -> str:
    """The attacks of SACRO-ML that take a model: worst case and structural."""
    x, y = people(classes_of(model))
    target = import_module("sacroml.attacks.target").Target(
        model=model, X_train=x[:PEOPLE], y_train=y[:PEOPLE], X_test=x[PEOPLE:], y_test=y[PEOPLE:]
    )
    ran, failed = [], []
    for module, kind, options in (
        ("worst_case_attack", "WorstCaseAttack", {"n_reps": 1, "n_dummy_reps": 0}),
        ("structural_attack", "StructuralAttack", {}),
    ):
        attack = getattr(import_module(f"sacroml.attacks.{module}"), kind)
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = attack(output_dir=folder, write_report=False, **options)
                if not made.attackable(target):
                    raise TypeError(f"{kind} does not take it")
                made.attack(target)
            ran.append(kind)
        except Exception as error:
            failed.append(f"{kind}: {told(error)}")
    if not ran:
        raise NotTakenError("; ".join(failed))
    return ", ".join(ran) + "".join(f"; not {each}" for each in failed)


def loaded_by_sacroml(path: Path) -> str:
    """SACRO-ML's own loading of a saved model, and its attacks."""
    model = import_module("sacroml.attacks.model_sklearn").SklearnModel.load(str(path), "", "", {}, "", {})
    return "unpickled; " + attacked_by_sacroml(model)


def wrapped_by_art(model: Any) -> Iterator[Callable[[], Any]]:
    """The wrappers of ART that its documentation has for a model, the most special first."""
    estimators = import_module("art.estimators.classification")
    kind, library = type(model).__name__, type(model).__module__.partition(".")[0]
    if library == "xgboost":
        yield lambda: estimators.XGBoostClassifier(model=model, nb_features=3, nb_classes=2)
    if library == "lightgbm":
        yield lambda: estimators.LightGBMClassifier(model=model)
    if library == "catboost":
        yield lambda: estimators.CatBoostARTClassifier(model=model, nb_features=3)
    if kind.endswith("Regressor"):
        yield lambda: import_module("art.estimators.regression.scikitlearn").ScikitlearnRegressor(model=model)
    yield lambda: estimators.SklearnClassifier(model=model)


def attacked_by_art(model: Any) -> str:
    """ART's black-box attack on membership, with the first wrapper of the model with which it runs."""
    inference = import_module("art.attacks.inference.membership_inference")
    x, y = people(classes_of(model))
    half, failed = PEOPLE // 2, []
    for wrap in wrapped_by_art(model):
        try:
            wrapped = wrap()
            given = "loss" if type(wrapped).__name__.endswith("Regressor") else "prediction"
            attack = inference.MembershipInferenceBlackBox(wrapped, attack_model_type="rf", input_type=given)
            attack.fit(x[:half], y[:half], x[PEOPLE : PEOPLE + half], y[PEOPLE : PEOPLE + half])
            attack.infer(x[half:PEOPLE], y[half:PEOPLE])
        except Exception as error:
            failed.append(told(error))
        else:
            return f"{type(wrapped).__name__}, black-box membership"
    raise NotTakenError("; ".join(failed))


def loaded_by_art(path: Path) -> str:
    """ART has no loading of files: its wrapper is given the path."""
    return attacked_by_art(str(path))


TOOLS: dict[str, tuple[str, str, Callable[[Any], str], Callable[[Path], str]]] = {
    "leafgate": ("leafgate", "leafgate", audited, read_by_leafgate),
    "sacroml": ("SACRO-ML", "sacroml", attacked_by_sacroml, loaded_by_sacroml),
    "art": ("ART", "adversarial-robustness-toolbox", attacked_by_art, loaded_by_art),
}


def told(error: Exception) -> str:
    """The type and the beginning of an error, on one line, without places on this machine."""
    if isinstance(error, NotTakenError):
        return str(error)
    text = " ".join(str(error).split()).replace(tempfile.gettempdir(), "")
    return f"{type(error).__name__}: {text[:110]}"


def tried(run: Callable[[Any], str], subject: Any) -> tuple[str, str]:
    """Whether a tool takes a model or a file, and what ran or the error; what it prints is dropped."""
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore")
            return "yes", run(subject)
    except Exception as error:
        return "no", told(error)


def outcomes(tool: str) -> Iterator[Row]:
    """What a tool makes of every model and file."""
    sys.path.insert(0, str(TESTS / "support"))
    archives_in = import_module("producer_archive").archives_in
    name, package, of_object, of_file = TOOLS[tool]
    for subject in OBJECTS:
        yield Row(name, version_of(package), "object", subject, *tried(of_object, fitted(subject)))
    with tempfile.TemporaryDirectory() as folder:
        for subject, (place, file) in FILES.items():
            path = Path(folder) / file
            path.write_bytes(archives_in(TESTS / "plugins" / place)[-1].models[file])
            yield Row(name, version_of(package), "file", subject, *tried(of_file, path))
        path = Path(folder) / "model.pkl"
        path.write_bytes(pickle.dumps(fitted("RandomForestClassifier")))
        yield Row(name, version_of(package), "file", PICKLE, *tried(of_file, path))


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows of one tool after those of another, in the order of `TOOLS`."""
    order = [name for name, *_ in TOOLS.values()]
    return sorted(rows, key=lambda row: order.index(row.tool))


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """How many fitted models and files each tool takes."""
    tools = list(dict.fromkeys(f"{row.tool} {row.version}" for row in rows))
    body = []
    for kind, title in (("object", "fitted models in memory"), ("file", "files")):
        here = [[row for row in rows if (row.kind, f"{row.tool} {row.version}") == (kind, tool)] for tool in tools]
        body.append([title, *(f"{sum(row.accepted == 'yes' for row in some)} of {len(some)}" for some in here)])
    yield from table(["taken", *tools], body, "l" + "r" * len(tools))


def main(words: Sequence[str]) -> int:
    """Try one tool, or write the page."""
    os.environ.setdefault("ART_DATA_PATH", tempfile.gettempdir())
    rows = read_rows(RESULTS, Row) if RESULTS.exists() else []
    if words[0] == "page":
        put(PAGE, lines_of(in_order(rows)))
        return 0
    own = list(outcomes(words[0]))
    write_csv(RESULTS, [*(row for row in rows if row.tool != own[0].tool), *own])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
