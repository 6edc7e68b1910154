"""Small models of scikit-learn with its own answers, saved with skops; made by the versions installed where this runs.

    PYTHONPATH=tests/support python make_sklearn_files.py FOLDER

It needs scikit-learn, skops and pandas, and writes the archive FOLDER/VERSION.tar.xz (`producer_archive`), VERSION
that of scikit-learn. Rows with missing cells have answers in the cases that were trained on such. Cases that begin with
`pipeline` are given the texts of the column `colour` too. The margins of AdaBoost are logarithms of its chances, those
of hard voting the votes, those of isolation forests anomaly scores.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import skops
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from producer_archive import NAMES, Making, made_up_people, quantiles, with_probes

WORDS = np.array(["low", "some", "high"])
TREE: dict[str, Any] = {"max_depth": 3, "min_samples_leaf": 3, "random_state": 1}
FEW: dict[str, Any] = {**TREE, "n_estimators": 3}
ISOLATION: dict[str, Any] = {"max_samples": 32, "random_state": 1, "n_estimators": 5}
HIST: dict[str, Any] = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 5, "random_state": 1}
SAMME: dict[str, Any] = {} if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6) else {"algorithm": "SAMME"}
Make = Callable[[], Any]
Y = "two"
"""What most cases learn: the lower and the upper half."""


def of(kind: Any, usual: dict[str, Any], **options: Any) -> Make:
    return lambda: kind(**{**usual, **options})


def numbers_and_texts(*, ordinal: bool = False) -> Any:
    """An encoder of the texts, and an imputer and a scaler of the numbers."""
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    texts = OrdinalEncoder(**unknown) if ordinal else OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer(
        (texts, ["colour"]), (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NAMES)
    )


def voting(**options: Any) -> Make:
    members = [("tree", DecisionTreeClassifier(**TREE)), ("extra", ExtraTreeClassifier(**TREE))]
    return lambda: VotingClassifier(members, **options)


CASES: dict[str, tuple[Make, str]] = {
    "tree": (of(DecisionTreeClassifier, TREE), Y),
    "tree-entropy": (of(DecisionTreeClassifier, TREE, criterion="entropy"), Y),
    "tree-balanced": (of(DecisionTreeClassifier, TREE, class_weight="balanced"), Y),
    "tree-weighted": (of(DecisionTreeClassifier, TREE, class_weight={0: 1, 1: 2}), Y),
    "tree-missing": (of(DecisionTreeClassifier, TREE), "two missing"),
    "tree-monotone": (of(DecisionTreeClassifier, TREE, monotonic_cst=[1, 0, 0]), Y),
    "tree-pruned": (of(DecisionTreeClassifier, TREE, ccp_alpha=0.02), Y),
    "tree-three": (of(DecisionTreeClassifier, TREE), "three"),
    "tree-words": (of(DecisionTreeClassifier, TREE), "words"),
    "tree-booleans": (of(DecisionTreeClassifier, TREE), "booleans"),
    "tree-number": (of(DecisionTreeRegressor, TREE), "number"),
    "tree-number-missing": (of(DecisionTreeRegressor, TREE), "number missing"),
    "tree-number-absolute": (of(DecisionTreeRegressor, TREE, criterion="absolute_error"), "number"),
    "tree-number-friedman": (of(DecisionTreeRegressor, TREE, criterion="friedman_mse"), "number"),
    "tree-number-poisson": (of(DecisionTreeRegressor, TREE, criterion="poisson"), "number"),
    "extra-tree": (of(ExtraTreeClassifier, TREE), Y),
    "forest": (of(RandomForestClassifier, FEW), Y),
    "forest-missing": (of(RandomForestClassifier, FEW), "two missing"),
    "forest-monotone": (of(RandomForestClassifier, FEW, monotonic_cst=[1, 0, 0]), Y),
    "forest-three": (of(RandomForestClassifier, FEW), "three"),
    "forest-of-all": (of(RandomForestClassifier, FEW, bootstrap=False), Y),
    "forest-of-part": (of(RandomForestClassifier, FEW, max_samples=0.6), Y),
    "forest-balanced": (of(RandomForestClassifier, FEW, class_weight="balanced_subsample"), Y),
    "forest-number": (of(RandomForestRegressor, FEW), "number"),
    "extra-trees": (of(ExtraTreesClassifier, FEW), Y),
    "extra-trees-missing": (of(ExtraTreesClassifier, FEW), "two missing"),
    "extra-trees-number": (of(ExtraTreesRegressor, FEW), "number"),
    "gradient": (of(GradientBoostingClassifier, FEW), Y),
    "gradient-exponential": (of(GradientBoostingClassifier, FEW, loss="exponential"), Y),
    "gradient-of-part": (of(GradientBoostingClassifier, FEW, subsample=0.7), Y),
    "gradient-from-zero": (of(GradientBoostingClassifier, FEW, init="zero"), Y),
    "gradient-three": (of(GradientBoostingClassifier, FEW), "three"),
    "gradient-number": (of(GradientBoostingRegressor, FEW), "number"),
    "gradient-number-huber": (of(GradientBoostingRegressor, FEW, loss="huber"), "number"),
    "gradient-number-quantile": (of(GradientBoostingRegressor, FEW, loss="quantile", alpha=0.8), "number"),
    "hist": (of(HistGradientBoostingClassifier, HIST), "two missing"),
    "hist-none-missing": (of(HistGradientBoostingClassifier, HIST), Y),
    "hist-categories": (of(HistGradientBoostingClassifier, HIST, categorical_features=[2]), "two missing"),
    "hist-categories-gaps": (of(HistGradientBoostingClassifier, HIST, categorical_features=[2]), "gaps missing"),
    "hist-categories-no-gaps": (of(HistGradientBoostingClassifier, HIST, categorical_features=[2]), "no-gaps missing"),
    "hist-monotone": (of(HistGradientBoostingClassifier, HIST, monotonic_cst=[1, 0, 0]), "two missing"),
    "hist-early": (of(HistGradientBoostingClassifier, HIST, early_stopping=True), "two missing"),
    "hist-three": (of(HistGradientBoostingClassifier, HIST), "three missing"),
    "hist-number": (of(HistGradientBoostingRegressor, HIST), "number missing"),
    "hist-number-absolute": (of(HistGradientBoostingRegressor, HIST, loss="absolute_error"), "number missing"),
    "hist-number-quantile": (of(HistGradientBoostingRegressor, HIST, loss="quantile", quantile=0.8), "number missing"),
    "hist-number-poisson": (of(HistGradientBoostingRegressor, HIST, loss="poisson"), "number missing"),
    "hist-number-gamma": (of(HistGradientBoostingRegressor, HIST, loss="gamma"), "number missing"),
    "bagging": (lambda: BaggingClassifier(DecisionTreeClassifier(**TREE), n_estimators=3, random_state=1), Y),
    "bagging-number": (
        lambda: BaggingRegressor(DecisionTreeRegressor(**TREE), n_estimators=3, random_state=1),
        "number",
    ),
    "voting-soft": (voting(voting="soft"), Y),
    "voting-hard": (voting(), Y),
    "adaboost": (
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3, random_state=1, **SAMME),
        Y,
    ),
    "adaboost-three": (
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3, random_state=1, **SAMME),
        "three",
    ),
    "calibrated": (lambda: CalibratedClassifierCV(DecisionTreeClassifier(**TREE), cv=2), Y),
    "calibrated-isotonic": (
        lambda: CalibratedClassifierCV(DecisionTreeClassifier(**TREE), method="isotonic", cv=2),
        "three",
    ),
    "calibrated-forest": (lambda: CalibratedClassifierCV(RandomForestClassifier(**FEW), cv=2), Y),
    "calibrated-forest-isotonic": (
        lambda: CalibratedClassifierCV(RandomForestClassifier(**FEW), method="isotonic", cv=2),
        "three",
    ),
    "calibrated-gradient": (lambda: CalibratedClassifierCV(GradientBoostingClassifier(**FEW), cv=2), "three"),
    "calibrated-hist": (
        lambda: CalibratedClassifierCV(HistGradientBoostingClassifier(**HIST), method="isotonic", cv=2),
        "two missing",
    ),
    "calibrated-sum-forest": (
        lambda: CalibratedClassifierCV(RandomForestClassifier(**FEW), cv=2, ensemble=False),
        Y,
    ),
    "calibrated-sum-hist": (
        lambda: CalibratedClassifierCV(HistGradientBoostingClassifier(**HIST), cv=2, ensemble=False),
        "two missing",
    ),
    "isolation": (of(IsolationForest, ISOLATION), "number"),
    "isolation-drawn": (
        of(IsolationForest, ISOLATION, bootstrap=True, max_features=0.5, contamination=0.1),
        "number",
    ),
    "isolation-missing": (of(IsolationForest, ISOLATION), "number missing"),
    "pipeline-tree": (lambda: make_pipeline(numbers_and_texts(), DecisionTreeClassifier(**TREE)), "two texts"),
    "pipeline-forest": (lambda: make_pipeline(numbers_and_texts(), RandomForestClassifier(**FEW)), "two texts"),
    "pipeline-hist": (
        lambda: make_pipeline(numbers_and_texts(ordinal=True), HistGradientBoostingClassifier(**HIST)),
        "two texts",
    ),
    "pipeline-rest-hist": (
        lambda: make_pipeline(
            make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"),
            HistGradientBoostingClassifier(**HIST),
        ),
        "two texts",
    ),
    "pipeline-number": (lambda: make_pipeline(numbers_and_texts(), DecisionTreeRegressor(**TREE)), "number texts"),
}
REFUSED: dict[str, tuple[Make, str]] = {
    "calibrated-logistic": (lambda: CalibratedClassifierCV(LogisticRegression(), cv=2), Y),
    "stacking": (lambda: StackingClassifier([("tree", DecisionTreeClassifier(**TREE))], LogisticRegression(), cv=2), Y),
    "adaboost-number": (
        lambda: AdaBoostRegressor(DecisionTreeRegressor(**TREE), n_estimators=2, random_state=1),
        "number",
    ),
    "several-targets": (lambda: MultiOutputClassifier(DecisionTreeClassifier(**TREE)), "targets"),
    "tree-several-targets": (of(DecisionTreeClassifier, TREE), "targets"),
    "gradient-from-tree": (of(GradientBoostingClassifier, FEW, init=DecisionTreeClassifier(max_depth=1)), Y),
    "logistic": (LogisticRegression, Y),
}


def colours(rows: Any) -> Any:
    """A text for each row; one that nobody had in training behind the people."""
    rng = np.random.default_rng(5)
    texts = rng.choice(["red", "green", "blue"], len(rows)).astype(object)
    texts[100:104] = "violet"
    return texts


def with_gaps(x: Any) -> Any:
    """The rows with so many missing wards that histogram boosting tests for them."""
    found = x.copy()
    found[::4, 2] = np.nan
    return found


def learned(number: Any, kind: str) -> Any:
    """What a case learns."""
    ward = with_gaps(made_up_people()[0])[:, 2]
    gaps = np.isnan(ward) | (ward % 2 == 1)
    return {
        "gaps": 1 * gaps,
        "no-gaps": 1 - gaps,
        "two": quantiles(number, 2),
        "three": quantiles(number, 3),
        "words": WORDS[quantiles(number, 3)],
        "booleans": quantiles(number, 2) == 1,
        "number": np.abs(number) + 0.1,
        "targets": np.column_stack([quantiles(number, 2), quantiles(-number, 2)]),
    }[kind]


def margins_of(model: Any, given: Any, name: str) -> Any:
    """What scikit-learn says of each row, to be compared score by score."""
    if name.startswith("isolation"):
        return -model.score_samples(given)
    if not hasattr(model, "classes_"):
        return model.predict(given)
    if name.startswith(("adaboost", "calibrated-sum")):
        return np.log(model.predict_proba(given))
    if hasattr(model, "decision_function"):
        return model.decision_function(given)
    if name == "voting-hard":
        return np.array([np.bincount(votes, minlength=len(model.classes_)) for votes in model.transform(given)])
    return model.predict_proba(given)


def main(folder: Path) -> None:
    x, number = made_up_people()
    rows = with_probes(x)
    filled = np.where(np.isnan(rows), 4.0, rows)
    texts = colours(rows)
    made = Making({**dict(zip(NAMES, rows.T, strict=True)), "colour": texts})
    for name, (make, kinds) in {**CASES, **REFUSED}.items():
        kind, _, more = kinds.partition(" ")
        given = rows if more == "missing" else filled
        if more == "texts":
            given = pd.DataFrame(rows, columns=NAMES).assign(colour=texts)
        try:
            people = with_gaps(x) if kind.endswith("gaps") else given[: len(x)]
            model = make().fit(people, learned(number, kind))
        except (TypeError, ValueError) as error:
            print(f"scikit-learn {sklearn.__version__} does not train {name}: {str(error)[:80]}")
            continue
        content = skops.io.dumps(model)
        if name in REFUSED:
            made.add(f"{name}.skops", content)
            continue
        answered = ~np.isnan(rows).any(axis=1) | bool(more)
        margins = np.where(answered[:, None], np.reshape(margins_of(model, given, name), (len(rows), -1)), np.nan)
        labels = np.where(answered, model.predict(given).astype(str), "") if hasattr(model, "classes_") else None
        made.add(f"{name}.skops", content, margins, labels)
    made.made_with = {"skops": skops.__version__}
    made.write(folder / f"{sklearn.__version__}.tar.xz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
