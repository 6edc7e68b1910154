"""The people and models of leader_board.py, the attacks on them, and the rows that come of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import attributes_setting
import data_sets

DRAW, MODEL_SEED = 23, 0
"""Seeds: of the people of a data set; of the models."""
TREES, ROUNDS = 100, 100
"""Trees of a forest, and rounds of boosting, as every library has them by default."""
SHADOWS = 32
"""Shadow models, which leafgate, SACRO-ML and ART share."""
TIME_LIMIT = 60.0
"""Seconds for each attack, and for the shadow models. One that takes longer has no result, but for `rebuild`, which
keeps the limit by itself."""
LOW_RATE = 0.001
"""The false positive rate of `tpr`."""
DRAWS = "its trees count draws of bootstraps, which prove nothing"
"""Why there is no proof of a random forest."""
NO_COUNTS = "its leaves count nobody"
"""Why nothing is counted of boosting."""
CERTAIN = 1 - 1e-9
"""Probability from which a class is proved."""

LIBRARIES = {
    "leafgate": "leafgate",
    "SACRO-ML": "sacroml",
    "ART": "adversarial-robustness-toolbox",
    "scikit-learn": "scikit-learn",
    "XGBoost": "xgboost-cpu",
    "LightGBM": "lightgbm",
}
"""By which name each library is installed."""


@dataclass(frozen=True)
class Family:
    """A kind of model: the library and class that fit it, and its parameters besides the library's defaults."""

    library: str
    estimator: str
    parameters: Mapping[str, Any]
    file: str = "model.skops"


XGBOOST: Mapping[str, Any] = {
    "n_estimators": ROUNDS,
    "learning_rate": 0.3,
    "max_depth": 6,
    "min_child_weight": 1,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
    "reg_lambda": 1.0,
}
"""XGBoost's defaults, which its files do not hold; the policy says them."""
MODELS: Mapping[str, Family] = {
    "tree": Family("scikit-learn", "DecisionTreeClassifier", {}),
    "random forest": Family("scikit-learn", "RandomForestClassifier", {"n_estimators": TREES}),
    "extra trees": Family("scikit-learn", "ExtraTreesClassifier", {"n_estimators": TREES}),
    "histogram boosting": Family("scikit-learn", "HistGradientBoostingClassifier", {"max_iter": ROUNDS}),
    "XGBoost": Family("XGBoost", "XGBClassifier", XGBOOST, "model.json"),
    "LightGBM": Family("LightGBM", "LGBMClassifier", {"n_estimators": ROUNDS}, "model.txt"),
}

Attacks = Mapping[str, Mapping[str, Any]]
_SHARED: Mapping[str, Any] = {"shadows": {"models": SHADOWS, "time_limit": TIME_LIMIT, "jobs": 1}}
MEMBERSHIP: Mapping[str, Attacks] = {
    "leafgate": {
        "loss_threshold": {},
        "leaf_exclusion": {},
        "lira": _SHARED,
        "lira, fixed variance": {"use": "lira", "variance": "fixed", **_SHARED},
        "rmia": _SHARED,
        "quantile": _SHARED,
    },
    "SACRO-ML": {
        "sacroml lira": {"use": "sacroml", "attack": "lira", "open_pickles": True, **_SHARED},
        "sacroml lira, fixed variance": {
            "use": "sacroml",
            "attack": "lira",
            "fix_variance": True,
            "open_pickles": True,
            **_SHARED,
        },
        "sacroml worst_case": {"use": "sacroml", "attack": "worst_case", "correct": True, **_SHARED},
        "sacroml qmia": {"use": "sacroml", "attack": "qmia", **_SHARED},
    },
    "ART": {
        "art rule_based": {"use": "art", "attack": "rule_based"},
        "art black_box": {"use": "art", "attack": "black_box", **_SHARED},
    },
}
ATTRIBUTES: Mapping[str, Attacks] = {
    "leafgate": {"leaf_constraints": {}, "likelihood": {}, "csmia": {}, "lomia": {}, "fredrikson": {}},
    "SACRO-ML": {"sacroml attribute": {"use": "sacroml_attribute"}},
    "ART": {
        "art attribute black_box": {"use": "art_attribute", "attack": "black_box"},
        "art attribute white_box": {"use": "art_attribute", "attack": "white_box"},
    },
}
QUICK = frozenset({"art rule_based", "art attribute white_box"})
"""Attacks without a time limit: their results cannot be handed from one process to another."""
_COLUMNS: Mapping[str, Any] = {"knows": {"distribution": True}}
"""What the baseline of rebuilt tables knows: how each column is distributed."""
TABLES: Attacks = {"linking": {}, "table_reconstruction": _COLUMNS, "rebuild": _COLUMNS}
SHADOW_MODELS, STRUCTURAL = "shadow models", "sacroml structural"
"""Rows beside those of attacks that policies name: the training of shadow models, and SACRO-ML's structural attack."""
STRUCTURAL_FLAGS = (
    "k_anonymity_risk",
    "class_disclosure_risk",
    "smallgroup_risk",
    "dof_risk",
    "unnecessary_risk",
    "gen_error_risk",
)


@dataclass(frozen=True)
class Row:
    """What one attack makes of one model. None where the attack has no such number; `reason` says why it has none.

    Attributes:
        data, model, kind, attack: the kind is membership, attribute, linking, table or structure.
        library: whose attack it is; `library_version` and `model_version` are of this one and of the model's.
        auc, tpr: of membership, `tpr` where one in a thousand of the others is taken for a member; with intervals of
            95 %, each for itself.
        gain: accuracy of attribute inference beyond imputation, on people of the table.
        proved, wrong: people of whom the attack proves something (exclusion: not in the table; leaf constraints: their
            secret; linking: their class), and how many of these proofs are wrong.
        right, baseline, proved_cells: shares of cells: rebuilt right, right without the model, and proved.
        flags: risks that the structural attack sees.
        seconds: of the attack; the shadow models have a row of their own.
    """

    data: str
    model: str
    kind: str
    attack: str
    library: str
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    tpr: float | None = None
    tpr_low: float | None = None
    tpr_high: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    proved: int | None = None
    wrong: int | None = None
    right: float | None = None
    baseline: float | None = None
    proved_cells: float | None = None
    flags: str = ""
    seconds: float | None = None
    reason: str = ""
    library_version: str = ""
    model_version: str = ""


def german(root: Path) -> tuple[pd.DataFrame, str, str]:
    """German credit; sex and marital status, which are one column of four values, are the secret."""
    cells, target = data_sets.german(root)
    return cells, target, "personal"


DATA: Mapping[str, tuple[str, Callable[[Path], tuple[pd.DataFrame, str, str]]]] = {
    "adult": ("Adult", attributes_setting.adult),
    "credit": ("Credit card clients", attributes_setting.credit),
    "german": ("German credit", german),
}
PEOPLE = {"adult": 1_000, "credit": 1_000, "german": 400}
"""People of the table."""
CONTROL = {"adult": 3_700, "credit": 3_700, "german": 400}
"""Other people. A rate of one in a thousand needs 3,688, and German credit has 1,000 people in all."""
AUXILIARY = {"adult": 500, "credit": 500, "german": 200}
"""Other people whose cells attribute inference knows, the secret too."""


@dataclass(frozen=True)
class Draw:
    """People of a data set: those of the table first, then the control, then the auxiliary people."""

    data: str
    people: pd.DataFrame
    target: str
    secret: str

    @classmethod
    def of(cls, data: str, root: Path) -> Draw:
        """Those of a data set, drawn once; the classes are 0 and 1, which every library takes."""
        cells, target, secret = DATA[data][1](root)
        rows = np.random.default_rng(DRAW).permutation(len(cells))[: PEOPLE[data] + CONTROL[data] + AUXILIARY[data]]
        people = cells.iloc[rows].reset_index(drop=True)
        codes = {name: str(code) for code, name in enumerate(sorted(people[target].unique()))}
        return cls(data, people.assign(**{target: people[target].map(codes)}), target, secret)

    @property
    def size(self) -> int:
        """People in the table."""
        return PEOPLE[self.data]

    @property
    def features(self) -> pd.DataFrame:
        """Everybody's numbers, and a column of 0 and 1 for each category."""
        return pd.get_dummies(self.people.drop(columns=[self.target]), dtype=float)

    def columns(self, role: str) -> dict[str, Any]:
        """The columns of a policy; the secret has this role."""
        roles: dict[str, Any] = {self.target: ["class", "sensitive"], self.secret: role}
        columns: dict[str, Any] = {}
        for name, cells in self.people.items():
            columns[str(name)] = {"role": roles.get(str(name), "quasi_identifier")}
            if pd.api.types.is_numeric_dtype(cells):
                columns[str(name)]["bounds"] = [float(cells.min()), float(cells.max())]
            else:
                columns[str(name)]["values"] = sorted(set(cells))
        return columns

    def write(self, folder: Path) -> None:
        """The files that policies name."""
        self.people.iloc[: self.size].to_csv(folder / "table.csv", index=False)
        others = self.people.iloc[self.size :]
        others.iloc[: CONTROL[self.data]].to_csv(folder / "control.csv", index=False)
        others.iloc[-self.size - AUXILIARY[self.data] :].to_csv(folder / "control_and_auxiliary.csv", index=False)


def estimator_of(family: Family) -> Any:
    """An estimator of a family, not fitted yet."""
    if family.library == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(**family.parameters, random_state=MODEL_SEED, n_jobs=1)
    if family.library == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(**family.parameters, random_state=MODEL_SEED, n_jobs=1, verbosity=-1)
    kinds = {
        kind.__name__: kind
        for kind in (
            DecisionTreeClassifier,
            RandomForestClassifier,
            ExtraTreesClassifier,
            HistGradientBoostingClassifier,
        )
    }
    return kinds[family.estimator](**family.parameters, random_state=MODEL_SEED)


def saved(draw: Draw, family: Family, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The model of the table, in a file of its library's own format, and the part of a policy that names it."""
    target = draw.people[draw.target].iloc[: draw.size].astype(int).to_numpy()
    model = estimator_of(family).fit(draw.features.iloc[: draw.size], target)
    build: dict[str, Any] = {"use": "published", "path": family.file}
    if family.library == "XGBoost":
        model.save_model(folder / family.file)
        build["trained_by"] = {"estimator": f"xgboost.{family.estimator}", "parameters": dict(family.parameters)}
    elif family.library == "LightGBM":
        model.booster_.save_model(folder / family.file)
    else:
        skops.io.dump(model, folder / family.file)
    return model, build


def policy(draw: Draw, build: Mapping[str, Any], attacks: Attacks, *, inputs: bool) -> dict[str, Any]:
    """A policy with these attacks, on one of the model's `inputs` or on the table. Its limit does not matter here."""
    control = "control_and_auxiliary.csv" if inputs else "control.csv"
    most = draw.size if inputs else CONTROL[draw.data]
    known = {"auxiliary": AUXILIARY[draw.data], "class": True} if inputs else {"label_accuracies": False}
    limit = {"use": "attribute_certain", "at_most": 0} if inputs else {"use": "membership_auc", "at_most": 0.6}
    return {
        "leafgate": 1,
        "name": "leader-board",
        "data": {
            "path": "table.csv",
            "control": control,
            "missing": [],
            "columns": draw.columns("private" if inputs else "quasi_identifier"),
        },
        "build": dict(build),
        "publish": {"leaves": "counts", "measure": True},
        "knows": {"candidates": most, **known},
        "attacks": [
            {"use": name, "name": name, **({} if name in QUICK else {"time_limit": TIME_LIMIT}), **options}
            for name, options in attacks.items()
        ],
        "metrics": [limit],
    }
