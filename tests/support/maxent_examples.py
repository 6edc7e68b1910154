"""The examples of Zhu, Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010."""

from __future__ import annotations

import numpy as np

from leafgate import Release
from leafgate.api import AdversaryKnowledge, CategoricalSplit
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Level
from leafgate_plugins.baselines.builders import Id3
from literal_maxent import Floats
from random_maxent import release_of
from random_tables import categorical, table_of

SALARY = categorical("salary", "class", "sensitive", values=("<=50K", ">50K"))
AGE = categorical("age", "quasi_identifier", values=("20-30", "30-40", "40-50"))
DEGREE = categorical("education", "quasi_identifier", values=("Masters", "Doctorate"))
COUNTRY = categorical("country", "quasi_identifier", values=("USA", "Canada"))
GENDER = categorical("gender", "quasi_identifier", values=("F", "M"))

FIGURE_2 = table_of(
    (AGE, DEGREE, SALARY),
    [
        ("20-30", "Doctorate", "<=50K"),
        ("30-40", "Masters", "<=50K"),
        ("30-40", "Doctorate", ">50K"),
        ("40-50", "Masters", ">50K"),
    ],
    [2, 1, 1, 2],
)
"""Zhu, Du 2010, Figure 2(a); q2 is (30-40, Masters), which sorts after q3, (30-40, Doctorate)."""

FIGURE_1 = table_of(
    (DEGREE, COUNTRY, GENDER, SALARY),
    [
        ("Masters", "USA", "F", "<=50K"),
        ("Masters", "USA", "M", "<=50K"),
        ("Masters", "Canada", "M", ">50K"),
        ("Masters", "Canada", "F", "<=50K"),
        ("Masters", "Canada", "F", ">50K"),
        ("Doctorate", "USA", "F", ">50K"),
        ("Doctorate", "Canada", "M", "<=50K"),
        ("Doctorate", "Canada", "M", ">50K"),
        ("Doctorate", "Canada", "F", ">50K"),
    ],
    [1, 1, 2, 1, 1, 2, 1, 1, 1],
)


def example_1(level: Level = "counts", *, distribution: bool = False) -> tuple[Release, AdversaryKnowledge]:
    """Figure 2(b): age is asked, and nothing more of the two people of 30 to 40."""
    release = release_of(Id3(min_split=3), FIGURE_2, level)
    assert isinstance(release.trees[0], CategoricalSplit)
    return release, grant_knowledge(FIGURE_2, distribution=distribution)


def mixed(known: AdversaryKnowledge, x: float) -> Floats:
    """Example 1's belief where q2 has <=50K with probability x."""
    first = {("20-30", "Doctorate"): 1.0, ("30-40", "Masters"): x, ("30-40", "Doctorate"): 1 - x}
    chances = [first.get((a, d), 0.0) for a, d in known.records[["age", "education"]].itertuples(index=False)]
    return np.array([[p, 1 - p] for p in chances])
