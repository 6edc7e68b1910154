"""The people, the policies and the given trees of repair_on_six_sets.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
import yaml
from sklearn.tree import DecisionTreeClassifier

from attributes_setting import nursery as nursery_with_health
from membership_setting import adult, credit

DRAW, MODEL_SEED, SIZE_SEED = 17, 0, 23
"""Seeds: of the people of a data set; of the models; of the made-up table."""
PEOPLE = 5_000
"""At most so many people are in a table, and as many in its test."""


def german(root: Path) -> tuple[pd.DataFrame, str]:
    """German credit; the class is whether the credit is good (1) or bad (2)."""
    names = ["checking", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "personal"]
    names += ["debtors", "residence", "property", "age", "plans", "housing", "credits", "job", "liable", "telephone"]
    file = root / "german_credit" / "german.data"
    cells = pd.read_csv(file, header=None, sep=" ", names=[*names, "foreign", "credit"], na_filter=False)
    return cells.astype({"credit": str}), "credit"


def nursery(root: Path) -> tuple[pd.DataFrame, str]:
    """Nursery without its two recommended applications."""
    cells, target, _ = nursery_with_health(root)
    return cells, target


def mushroom(root: Path) -> tuple[pd.DataFrame, str]:
    """Mushroom; the class is whether one is edible (e) or poisonous (p). Unknown roots are a value of their own."""
    names = ["class", "cap-shape", "cap-surface", "cap-color", "bruises", "odor", "gill-attachment", "gill-spacing"]
    names += ["gill-size", "gill-color", "stalk-shape", "stalk-root", "stalk-surface-above", "stalk-surface-below"]
    names += ["stalk-color-above", "stalk-color-below", "veil-type", "veil-color", "ring-number", "ring-type"]
    names += ["spore-print-color", "population", "habitat"]
    file = root / "mushroom" / "agaricus-lepiota.data"
    return pd.read_csv(file, header=None, names=names, na_filter=False), "class"


def lending(root: Path) -> tuple[pd.DataFrame, str]:
    """LendingClub's loans; the class is whether one was not fully paid."""
    cells = pd.read_csv(root / "lendingclub" / "loan_data.csv")
    return cells.astype({"not.fully.paid": str}), "not.fully.paid"


def made_up(root: Path) -> tuple[pd.DataFrame, str]:
    """200,000 people with ten numbers, half of whom the class depends on; nothing is read."""
    rng = np.random.default_rng(SIZE_SEED)
    numbers = rng.integers(0, 1_000, (200_000, 10))
    score = numbers[:, 0] / 250 + (numbers[:, 1] > 500) * numbers[:, 2] / 200 + np.sin(numbers[:, 3] / 80)
    label = score + (numbers[:, 4] > 800) + rng.normal(0, 1.5, len(numbers)) > np.median(score)
    table = pd.DataFrame(numbers, columns=[f"number{i}" for i in range(10)])
    return table.assign(label=np.where(label, "yes", "no")), "label"


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes:
        name: Its name on the page.
        read: Its cells below a folder, and the name of the class.
        private: The columns that the adversary of one policy does not know.
        people: At most so many people are in the table.
    """

    name: str
    read: Callable[[Path], tuple[pd.DataFrame, str]]
    private: Sequence[str]
    people: int = PEOPLE


DATA: Mapping[str, DataSet] = {
    "adult": DataSet("Adult", adult, ("marital-status", "relationship")),
    "credit": DataSet("Credit card clients", credit, ("PAY_0",)),
    "german": DataSet("German credit", german, ("checking", "savings")),
    "nursery": DataSet("Nursery", nursery, ("finance", "health")),
    "mushroom": DataSet("Mushroom", mushroom, ("odor",)),
    "lending": DataSet("LendingClub", lending, ("fico", "int.rate")),
}
SIZE = "size"
MADE_UP = DataSet("made up", made_up, (), 100_000)
SIZE_LEAVES = 5_000


@dataclass(frozen=True)
class Limits:
    """One of the four policies.

    Attributes:
        words: Its limits, on the page.
        k: People in every equivalence class.
        limits: Its limits on the class, without the people who may be beyond them.
        allow: The share of people who may be beyond each of these.
        leaves: What is published on the leaves.
        private: Are there private columns?
    """

    words: str
    k: int
    limits: Sequence[Mapping[str, Any]] = ()
    allow: Sequence[float] = ()
    leaves: str = "counts"
    private: bool = False

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the policy."""
        soft = [{**limit, "allow": allow} for limit, allow in zip(self.limits, self.allow, strict=True)]
        return [{"use": "k_anonymity", "at_least": self.k}, *soft]


CONFIDENCE: Mapping[str, Any] = {"use": "confidence", "at_most": 0.95}
DIVERSITY: Mapping[str, Any] = {"use": "l_diversity", "form": "entropy", "at_least": 1.25}
POLICIES: Mapping[str, Limits] = {
    "k10": Limits("k-anonymity 10", 10),
    "k10 and class": Limits(
        "k-anonymity 10; confidence at most 0.95 for all but 5 % of people; entropy l-diversity 1.25 for all but 10 %",
        10,
        (CONFIDENCE, DIVERSITY),
        (0.05, 0.1),
    ),
    "k50, labels": Limits(
        "the same with k-anonymity 50, and only labels are published",
        50,
        (CONFIDENCE, DIVERSITY),
        (0.05, 0.1),
        "labels",
    ),
    "k10, private": Limits(
        "one or two private columns; k-anonymity 10; confidence at most 0.95 for all but 5 %",
        10,
        (CONFIDENCE,),
        (0.05,),
        private=True,
    ),
}


LEAF_SIZES = (1, 10, 20, 50, 100)
DEPTHS = (2, 4, 8, None)
ALPHAS = (0.0, 0.0005, 0.002)
"""The grid of the refits: 60 trees."""


@dataclass(frozen=True)
class Draw:
    """People of a data set, drawn once: as many for the table as for the test.

    Attributes:
        data: The data set.
        people: Those of the table first, then those of the test.
        features: What models are fitted on: numbers, and a dummy for each value.
        target: The name of the class.
    """

    data: DataSet
    people: pd.DataFrame
    features: pd.DataFrame
    target: str

    @classmethod
    def of(cls, data: DataSet, root: Path) -> Draw:
        """Those of a data set below a folder."""
        cells, target = data.read(root)
        half = min(data.people, len(cells) // 2)
        rows = np.random.default_rng(DRAW).permutation(len(cells))[: 2 * half]
        people = cells.iloc[rows].reset_index(drop=True)
        return cls(data, people, pd.get_dummies(people.drop(columns=[target]), dtype=float), target)

    @property
    def half(self) -> int:
        """How many people are in the table."""
        return len(self.people) // 2

    @property
    def known(self) -> pd.DataFrame:
        """The features of the table's people."""
        return self.features.iloc[: self.half]

    @property
    def labels(self) -> pd.Series[Any]:
        """The classes of the table's people."""
        return self.people[self.target].iloc[: self.half]

    def fitted(self, **parameters: Any) -> DecisionTreeClassifier:
        """scikit-learn's tree of the table's people."""
        return DecisionTreeClassifier(random_state=MODEL_SEED, **parameters).fit(self.known, self.labels)

    def given(self) -> DecisionTreeClassifier:
        """The tree that is to be repaired: with scikit-learn's defaults, but for the one that is large on purpose."""
        return self.fitted(max_leaf_nodes=SIZE_LEAVES) if self.data is MADE_UP else self.fitted()

    @cached_property
    def subtrees(self) -> list[DecisionTreeClassifier]:
        """The trees of all alphas of cost-complexity pruning."""
        path = DecisionTreeClassifier(random_state=MODEL_SEED).cost_complexity_pruning_path(self.known, self.labels)
        return [self.fitted(ccp_alpha=alpha) for alpha in np.unique(np.maximum(path.ccp_alphas, 0))]

    @cached_property
    def refits(self) -> list[DecisionTreeClassifier]:
        """The trees of a grid of smallest leaves, depths and alphas."""
        return [
            self.fitted(min_samples_leaf=size, max_depth=depth, ccp_alpha=alpha)
            for size, depth, alpha in itertools.product(LEAF_SIZES, DEPTHS, ALPHAS)
        ]

    def write(self, limits: Limits, model: DecisionTreeClassifier, folder: Path) -> Path:
        """Write both tables, the model's file and the policy; the policy's path is returned."""
        self.people.iloc[: self.half].to_csv(folder / "table.csv", index=False)
        self.people.iloc[self.half :].to_csv(folder / "test.csv", index=False)
        skops.io.dump(model, folder / "model.skops")
        document = {
            "leafgate": 1,
            "name": "repair",
            "data": {"path": "table.csv", "test": "test.csv", "missing": [], "columns": self.columns(limits)},
            "build": {"use": "published", "path": "model.skops"},
            "publish": {"leaves": limits.leaves},
            "attacks": [{"use": "linking"}],
            "metrics": limits.metrics,
        }
        file = folder / "policy.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        return file

    def columns(self, limits: Limits) -> dict[str, Any]:
        """The columns of a policy; the class is the secret."""
        columns: dict[str, Any] = {}
        for name, cells in self.people.items():
            private = limits.private and name in self.data.private
            role = ["class", "sensitive"] if name == self.target else "private" if private else "quasi_identifier"
            if pd.api.types.is_numeric_dtype(cells):
                columns[str(name)] = {"role": role, "bounds": [float(cells.min()), float(cells.max())]}
            else:
                columns[str(name)] = {"role": role, "values": sorted(set(cells))}
        return columns
