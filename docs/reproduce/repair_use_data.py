"""The people, the models and the policies of repair_use.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from data_sets import lending, nursery
from leafgate.commands.convert.scrub import LeafContent
from leafgate.session.proposals import SecretShares, propose
from membership_setting import adult, credit

THINNING_SEED, SPLIT_SEED, SETTINGS_SEED = 29, 31, 37
"""Seeds: of who is left of the rarer class, of the splits, and of the settings of refits."""
THINNED = 0.05
"""The share of the rarer class in the thinned data sets."""
REFITS = 20
"""Refits of a model."""


@dataclass(frozen=True)
class Sizes:
    """How many people of a split are learned from, are in `data.test`, and are seen by no method.

    Of a data set of fewer people, the last are as many as are left.
    """

    table: int = 2_000
    test: int = 2_000
    evaluation: int = 5_000


def very_recommended(root: Path) -> tuple[pd.DataFrame, str]:
    """Nursery; the class is whether an application is very much recommended."""
    cells, target = nursery(root)
    return cells.assign(**{target: np.where(cells[target] == "very_recom", "very_recom", "other")}), target


def thinned(read: Callable[[Path], tuple[pd.DataFrame, str]]) -> Callable[[Path], tuple[pd.DataFrame, str]]:
    """Reads a data set, and leaves out people of the rarer class at random until they are 5 % of all."""

    def read_fewer(root: Path) -> tuple[pd.DataFrame, str]:
        cells, target = read(root)
        rare = (cells[target] == rarer_class(cells[target])).to_numpy()
        kept = round(THINNED / (1 - THINNED) * (~rare).sum())
        chosen = np.random.default_rng(THINNING_SEED).permutation(np.flatnonzero(rare))[:kept]
        return cells.iloc[np.sort(np.concatenate([np.flatnonzero(~rare), chosen]))].reset_index(drop=True), target

    return read_fewer


def rarer_class(labels: pd.Series[Any]) -> str:
    """The value of the class that fewer people have."""
    return str(labels.value_counts().index[-1])


@dataclass(frozen=True)
class DataSet:
    """A data set: its name on the page, and its cells below a folder with the name of the class of two values."""

    name: str
    read: Callable[[Path], tuple[pd.DataFrame, str]]


DATA: Mapping[str, DataSet] = {
    "adult": DataSet("Adult", adult),
    "credit": DataSet("Credit card clients", credit),
    "lending": DataSet("LendingClub", lending),
    "nursery": DataSet("Nursery, `very_recom`", very_recommended),
    "adult5": DataSet("Adult, thinned to 5 %", thinned(adult)),
    "credit5": DataSet("Credit card clients, thinned to 5 %", thinned(credit)),
}


@lru_cache(maxsize=2)
def cells_of(data: str, root: Path) -> tuple[pd.DataFrame, str]:
    """The cells of a data set and the name of the class."""
    return DATA[data].read(root)


@dataclass(frozen=True)
class Draw:
    """The people of one split of a data set.

    Attributes:
        everybody: the cells of the whole data set, whose values are the domains of the policy's columns.
        table, test, evaluation: people who are learned from, of `data.test`, and seen by no method.
        target: the name of the class.
        rare: its rarer value.
        split: the number of the split, which also seeds the models.
    """

    everybody: pd.DataFrame
    table: pd.DataFrame
    test: pd.DataFrame
    evaluation: pd.DataFrame
    target: str
    rare: str
    split: int
    gaps: ClassVar[Mapping[str, Any]] = {"missing": []}
    """What a policy says of gaps."""

    @classmethod
    def of(cls, data: str, root: Path, split: int, sizes: Sizes) -> Draw:
        """The split of this number."""
        cells, target = cells_of(data, root)
        order = np.random.default_rng((SPLIT_SEED, split)).permutation(len(cells))
        ends = np.cumsum([sizes.table, sizes.test, sizes.evaluation])
        parts = [cells.iloc[rows].reset_index(drop=True) for rows in np.split(order, ends)[:3]]
        return cls(cells, parts[0], parts[1], parts[2], target, rarer_class(cells[target]), split)

    @property
    def features(self) -> pd.DataFrame:
        """What models are fitted on: numbers, and a dummy for each value that somebody of the table has."""
        return pd.get_dummies(self.table.drop(columns=[self.target]), dtype=float)

    def labels(self, kind: Kind) -> pd.Series[Any]:
        """The classes of the table's people as this kind of models takes them."""
        labels = self.table[self.target]
        return (labels == self.rare).astype(int) if kind.numbered else labels

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a policy; outsiders know all but the class, which is the secret."""
        columns: dict[str, Any] = {}
        for name, cells in self.everybody.items():
            role: Any = ["class", "sensitive"] if name == self.target else "quasi_identifier"
            if pd.api.types.is_numeric_dtype(cells):
                columns[str(name)] = {"role": role, "bounds": [float(cells.min()), float(cells.max())]}
            else:
                columns[str(name)] = {"role": role, "values": sorted(set(cells))}
        return columns

    def write_tables(self, folder: Path) -> None:
        """Write the people into a folder, a file for each part."""
        for name in ("table", "test", "evaluation"):
            getattr(self, name).to_csv(folder / f"{name}.csv", index=False)

    def write_policy(self, policy: str, kind: Kind | None, model: str, folder: Path) -> Path:
        """Write the policy for a model's file beside the tables; its path is returned."""
        other = next(value for value in self.columns[self.target]["values"] if value != self.rare)
        numbered = {"encoding": {self.target: {"codes": {other: 0, self.rare: 1}}}}
        document = {
            "leafgate": 1,
            "name": "use",
            "data": {"path": "table.csv", "test": "test.csv", **self.gaps, "columns": self.columns},
            "build": {
                "use": "published",
                "path": model,
                **(numbered if kind is not None and kind.numbered else {}),
            },
            "publish": {"leaves": "counts"},
            "attacks": [{"use": "linking"}],
            "metrics": POLICIES[policy].metrics(self.table[self.target]),
        }
        file = folder / f"{policy}.yaml"
        file.write_text(json.dumps(document, indent=1), encoding="utf-8")
        return file


def proposed(labels: pd.Series[Any]) -> list[dict[str, Any]]:
    """The limits that leafgate proposes for a model of these people.

    Where the proposal asks whether the frequent value of the class harms nobody, the answer is that it does not.
    """
    people = {str(value): int(number) for value, number in labels.value_counts().items()}
    shares = SecretShares.of_values(str(labels.name), people, {"values": sorted(people)})
    proposal = propose(shares, of_model=True)
    if proposal.question:
        proposal = propose(shares, of_model=True, harmless=[max(people, key=lambda value: people[value])])
    return [dict(metric) for metric in proposal.metrics]


def groups_of_20(labels: pd.Series[Any]) -> list[dict[str, Any]]:
    """20 people in every equivalence class, and a file that discloses one thing at most: the counts on its leaves.

    Where a file may disclose nothing beyond its predictions, no boosting passes, because its scores disclose counts.
    """
    return [{"use": "k_anonymity", "at_least": 20}, {"use": "file_disclosure", "at_most": 1}]


@dataclass(frozen=True)
class Limits:
    """A policy.

    Attributes:
        metrics: its metrics for a table with these classes.
        leaves: what a file may have on its leaves under this policy's `file_disclosure`, the finest first.
    """

    metrics: Callable[[pd.Series[Any]], list[dict[str, Any]]]
    leaves: tuple[LeafContent, ...]


POLICIES: Mapping[str, Limits] = {
    "proposed": Limits(proposed, ("shares", "labels")),
    "k20": Limits(groups_of_20, ("counts", "shares", "labels")),
}


Drawn = Callable[[np.random.Generator], Any]


def whole(least: int, most: int) -> Drawn:
    """Draws a whole number whose logarithm is uniform."""
    return lambda rng: int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


def real(least: float, most: float) -> Drawn:
    """Draws a number whose logarithm is uniform."""
    return lambda rng: float(np.exp(rng.uniform(np.log(least), np.log(most))))


@dataclass(frozen=True)
class Kind:
    """A kind of models.

    Attributes:
        name: on the page.
        make: the estimator, not fitted.
        given: the settings of the model that is repaired, beside the library's defaults.
        drawn: how the settings of a refit are drawn.
        numbered: does it take classes as 0 and 1?
    """

    name: str
    make: Callable[..., Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    drawn: Mapping[str, Drawn] = field(default_factory=dict)
    numbered: bool = False

    def refits(self) -> Sequence[Mapping[str, Any]]:
        """The settings of the refits, the same for every data set, policy and split."""
        rng = np.random.default_rng((SETTINGS_SEED, list(KINDS.values()).index(self)))
        return [{**self.given, **{name: draw(rng) for name, draw in self.drawn.items()}} for _ in range(REFITS)]

    def fitted(self, draw: Draw, settings: Mapping[str, Any]) -> Any:
        """A model of the table's people."""
        return self.make(random_state=draw.split, **settings).fit(draw.features, draw.labels(self))


def xgboost(**settings: Any) -> Any:
    """XGBoost's classifier."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, **settings)


def lightgbm(**settings: Any) -> Any:
    """LightGBM's classifier."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, **settings)


TREE: Mapping[str, Drawn] = {"min_samples_leaf": whole(10, 300), "max_depth": whole(2, 12)}
FOREST: Mapping[str, Drawn] = {
    "n_estimators": whole(1, 30),
    "min_samples_leaf": whole(10, 300),
    "max_depth": whole(1, 8),
}
RATE = real(0.03, 1.0)
KINDS: Mapping[str, Kind] = {
    "tree": Kind("tree", DecisionTreeClassifier, drawn=TREE),
    "balanced": Kind("balanced tree", DecisionTreeClassifier, {"class_weight": "balanced"}, TREE),
    "forest20": Kind("forest of 20", RandomForestClassifier, {"n_estimators": 20}, FOREST),
    "forest100": Kind("forest of 100", RandomForestClassifier, {"n_estimators": 100}, FOREST),
    "extra": Kind("extra trees, 20", ExtraTreesClassifier, {"n_estimators": 20}, FOREST),
    "histogram": Kind(
        "histogram boosting",
        HistGradientBoostingClassifier,
        drawn={
            "max_iter": whole(1, 30),
            "min_samples_leaf": whole(10, 300),
            "max_depth": whole(1, 8),
            "learning_rate": RATE,
        },
    ),
    "xgboost": Kind(
        "XGBoost",
        xgboost,
        drawn={
            "n_estimators": whole(1, 30),
            "min_child_weight": real(1, 75),
            "max_depth": whole(1, 8),
            "learning_rate": RATE,
        },
        numbered=True,
    ),
    "lightgbm": Kind(
        "LightGBM",
        lightgbm,
        drawn={
            "n_estimators": whole(1, 30),
            "min_child_samples": whole(10, 300),
            "max_depth": whole(1, 8),
            "learning_rate": RATE,
        },
        numbered=True,
    ),
}
