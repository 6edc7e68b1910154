"""The kADET paper's Table 1: six people, small enough to follow by hand."""

from __future__ import annotations

from leafgate import Table
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node
from random_tables import categorical, table_of

MARITAL_STATUS = categorical("marital_status", "quasi_identifier", values=("Unmarried", "Married"))
SPORTS_CAR = categorical("sports_car", "private", values=("yes", "no"))
RISK = categorical("loan_risk", "class", "sensitive", values=("good", "bad"))
PEOPLE = [
    ("Unmarried", "yes", "good"),
    ("Married", "yes", "good"),
    ("Married", "no", "bad"),
    ("Married", "no", "bad"),
    ("Unmarried", "yes", "bad"),
    ("Unmarried", "no", "bad"),
]


def mortgage(*columns: Column) -> Table:
    """The six people, under these columns where they mean something else than in the paper."""
    return table_of(columns or (MARITAL_STATUS, SPORTS_CAR, RISK), PEOPLE)


def leaf(good: float, bad: float) -> Leaf:
    """A leaf that holds so many good and so many bad risks."""
    return Leaf("good" if good >= bad else "bad", {"good": good, "bad": bad})


def fan(column: str, **below: Node) -> CategoricalSplit:
    """A categorical test with one value a branch."""
    return CategoricalSplit(column, tuple(Branch((value,), node) for value, node in below.items()))


TREE = fan("sports_car", yes=fan("marital_status", Unmarried=leaf(1, 1), Married=leaf(1, 0)), no=leaf(0, 3))
"""The paper's Figure 3."""
