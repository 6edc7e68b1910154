"""Data sets that several of these scripts read: their cells, and the name of the class."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attributes_setting import nursery as nursery_with_health


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


def lending(root: Path) -> tuple[pd.DataFrame, str]:
    """LendingClub's loans; the class is whether one was not fully paid."""
    cells = pd.read_csv(root / "lendingclub" / "loan_data.csv")
    return cells.astype({"not.fully.paid": str}), "not.fully.paid"
