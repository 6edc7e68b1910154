"""Metrics of each person's protection: k-anonymity, confidence and exposure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from leafgate.api import (
    ABOUT_GROUPS,
    AtLeast,
    AtMost,
    Example,
    InconclusiveError,
    Metric,
    Score,
    ScoringContext,
    Unit,
    lazy,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
else:
    np, pd = lazy("numpy"), lazy("pandas")


CERTAIN = 1 - 1e-9
"""A posterior probability from which a value counts as certain."""


class KAnonymity(AtLeast):
    """How many people are in each person's equivalence class: those whom the adversary cannot distinguish."""

    use: Literal["k_anonymity"] = "k_anonymity"

    policy_example = "at_least: 5"
    judges = ABOUT_GROUPS
    groups_only = True
    unit = Unit.PEOPLE
    checks = "k"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "k(x) = number of people in the group of x"
    plain_failure = "people stand in groups that are too small"
    scale = "people, from 1"
    score_range = (0, math.inf)
    interpretation = "1: singled out; k: hidden among k - 1 others"
    examples = (Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 4.0),)
    source = (
        'L. Sweeney, "k-Anonymity: A Model for Protecting Privacy", 2002; for models: A. Friedman, A. Schuster, '
        'R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definition 6'
    )

    @classmethod
    def from_claim(cls, claim: Any) -> Metric:
        if not isinstance(claim, int) or isinstance(claim, bool) or claim < 1:
            raise InconclusiveError("a claimed k is a whole number of people, 1 or more")
        return cls(at_least=claim)

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.sizes)


class Confidence(AtMost):
    """How sure the adversary is of one value: the largest probability believed, right or wrong."""

    use: Literal["confidence"] = "confidence"

    policy_example = "at_most: 0.8"
    checks = "confidence"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "max over values v of P(secret = v | x)"
    plain_failure = "the adversary is too sure of some people's {secret}"
    scale = "from 1/|domain| to 1"
    score_range = (0, 1)
    interpretation = "1: the adversary is certain of one value; 1/|domain|: knows nothing"
    examples = (Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.75),)
    source = 'A. Friedman, A. Schuster, R. Wolff, PKDD 2006, section 4.2 ("confidence")'

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.posterior.max(axis=1))


class Exposure(AtMost):
    """Whether the adversary is certain of a person's secret, and right: 1 if so, else 0.

    With `average: true` the share of people exposed.
    """

    use: Literal["exposure"] = "exposure"

    policy_example = "at_most: 0"
    unit = Unit.SHARE
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "1 if P(secret = truth | x) = 1 (to 1e-9), else 0"
    plain_failure = "it is certain what some people's {secret} is"
    scale = "0 or 1; on average the share of people"
    score_range = (0, 1)
    interpretation = "0: the adversary is certain of nobody's secret and right"
    examples = (
        Example({"flu": 3}, {"flu": 5, "cold": 5}, 1.0),
        Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.0),
    )
    source = 'A. Friedman, A. Schuster, R. Wolff, PKDD 2006, section 4.2 and Figure 6 ("exposed tuples")'

    def score(self, case: ScoringContext) -> Score:
        """1.0 for each row whose true value has probability 1, else 0.0.

        The truth is not read where certainty is never wrong, so that the scores may be public.
        """
        posterior = case.posterior.to_numpy()
        if case.certain_is_true:
            return Score(people=pd.Series((posterior.max(axis=1) >= CERTAIN).astype(float)))
        truth = case.posterior.columns.get_indexer(pd.Index(case.truth.astype(object)))
        return Score(people=pd.Series((posterior[np.arange(len(truth)), truth] >= CERTAIN).astype(float)))
