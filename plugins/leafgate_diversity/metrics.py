"""From a case to one number for each record; each distinct group's shares are worked out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from leafgate import ScoringContext
from leafgate.errors import UnreadableError
from leafgate.types.report import lenient
from leafgate_diversity.l_diversity import Floats, distinct_l, entropy_l, largest_share, recursive_l
from leafgate_diversity.likelihood_ratios import basic_beta, disclosure, enhanced_beta
from leafgate_diversity.t_closeness import equal_distance, hierarchical_distance, ordered_distance


def l_diversity(case: ScoringContext, form: str, c: float | None) -> pd.Series:
    """The largest l of `form` for each record."""
    if c is not None:
        return _each(case, lambda p: recursive_l(p, c))
    return _each(case, distinct_l if form == "distinct" else entropy_l)


def alpha_k(case: ScoringContext, alpha: float, values: Sequence[str] | None) -> pd.Series:
    """People in each record's group where none of `values` (None: of all) has more than `alpha`, else 0."""
    domain = list(case.secret.domain)
    if values is not None and not set(values) <= set(domain):
        raise UnreadableError("some of `values` are not in the secret's domain")
    chosen = [i for i, value in enumerate(domain) if values is None or value in values]
    share = _each(case, lambda p: largest_share(p[:, chosen]))
    return case.sizes.where(share <= lenient(alpha), 0.0)


def t_closeness(case: ScoringContext, distance: str) -> pd.Series:
    """The earth mover's distance for each record; UnreadableError where values have no such distance."""
    column, overall = case.secret, case.overall
    if distance == "equal":
        return _each(case, lambda p: equal_distance(p, overall))
    if distance == "ordered":
        if not column.ordered:
            raise UnreadableError("its values have no declared order")
        return _each(case, lambda p: ordered_distance(p, overall))
    hierarchy = column.hierarchy
    if hierarchy is None:
        raise UnreadableError("its values have no hierarchy")
    return _each(case, lambda p: hierarchical_distance(p, overall, hierarchy, column.domain))


def beta_likeness(case: ScoringContext, form: str) -> pd.Series:
    """The smallest beta for each record."""
    overall = case.overall
    return _each(case, lambda p: (basic_beta if form == "basic" else enhanced_beta)(p, overall))


def delta_disclosure(case: ScoringContext) -> pd.Series:
    """The smallest delta for each record."""
    overall = case.overall
    return _each(case, lambda p: disclosure(p, overall))


def reidentification_risk(case: ScoringContext, among: str) -> pd.Series:
    """One over the people in each record's group."""
    return 1 / (case.sizes if among == "table" else case.population)


def uniques(case: ScoringContext) -> pd.Series:
    """1.0 where a record's group holds one person, else 0.0."""
    return (case.sizes == 1).astype(float)


def _each(case: ScoringContext, form: Callable[[Floats], Floats]) -> pd.Series:
    """A form of each record's shares; records of one group have the same, so each group's are worked out once.

    An attack may believe different things of one group's people: then every record counts by itself.
    """
    p = case.posterior.to_numpy(dtype=float)
    number, groups = pd.factorize(case.equivalence_class)
    first = np.unique(number, return_index=True)[1]
    if len(groups) < len(p) and np.array_equal(p[first][number], p):
        return pd.Series(form(p[first])[number])
    return pd.Series(form(p))
