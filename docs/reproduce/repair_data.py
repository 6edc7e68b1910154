"""The people, the policies and the given trees of repair_on_six_sets.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attributes_setting import nursery as nursery_with_health

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
