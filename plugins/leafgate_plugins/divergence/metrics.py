"""How close an attack's posterior is to the truth: its Kullback-Leibler divergence, and its gain over a prior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import api

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")


BELIEF = "Whatever the attack it judges assumes; P* is what it believes."
SOURCE = (
    'Z. Zhu, W. Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, LNCS 6166, section 5, '
    "doi:10.1007/978-3-642-13739-6_3"
)
Floor = Annotated[float, Field(gt=0, le=1e-3, allow_inf_nan=False)]
HALVES = {"<=50K": 0.5, ">50K": 0.5}
SIX = {"<=50K": 3, ">50K": 3}


class Divergence(api.AtLeast):
    """How far the posterior of each public record is from the truth; a small divergence discloses much.

    A public record is everybody with the same quasi-identifiers. The score is the paper's D_individual; with `average:
    true` D_overall is judged. Reports for auditors state how often `floor` mattered (`floored`), and where the attack's
    reasoning lowered the divergence most, if it has a baseline (`top`).
    """

    use: Literal["divergence"] = "divergence"
    floor: Floor = Field(
        1e-9, description="Smaller probabilities count as this one, so that no divergence is infinite."
    )
    top: api.PositiveInt = Field(10, description="How many records a report for auditors lists.")

    policy_example = "at_least: 0.05"
    judges = frozenset({api.SecretBelief})  # a cell's posterior may differ between people with equal quasi-identifiers
    public = "verdict"
    scorable = api.ONLY_DERIVED
    threat_model = BELIEF
    formula = (
        "D(q) = sum over values x of P(x|q) ln(P(x|q) / max(P*(x|q), floor)), in nats; P(x|q): share of x"
        " among all people with the quasi-identifiers q; P*: the posterior"
    )
    plain_failure = "what is believed of people comes too near the truth"
    scale = "from 0 to -ln(floor), by default 20.7"
    score_range = (0, math.inf)
    interpretation = "0: the posterior of a public record is the truth; more: further from it"
    source = f"{SOURCE} (D_individual, D_overall; KL1 and KL2 of Figure 7)"
    examples = (
        api.Example({"<=50K": 1}, SIX, 0.6931471805599453, believed=HALVES),
        api.Example({"<=50K": 2}, SIX, 0.0),
        api.Example({"<=50K": 1}, SIX, 6.907755278982137, {"floor": 1e-3}, believed={"<=50K": 0.0, ">50K": 1.0}),
    )

    def score(self, case: api.ScoringContext) -> api.Score:
        """The divergence of each row's public record, in nats.

        For auditors: how many cells needed the floor and, if there is a baseline, which divergences fell most.
        """
        public, number = case.table.public
        true, believed = true_shares(case), _of_public(case, case.posterior)
        now = divergences(true, believed, self.floor)
        document: dict[str, Any] = {"floored": api.AuditorOnly(floored(true, believed, self.floor))}
        if isinstance(case.belief, api.SecretBelief) and case.belief.prior is not None:
            before = divergences(true, _of_public(case, case.prior), self.floor)
            document["top"] = api.AuditorOnly(_largest_decreases(now, before, public.weight, self.top))
        return api.Score(people=pd.Series(now[number]), evidence=document)


class Gain(api.AtMost):
    """How much more likely the attack's reasoning made each person's true secret.

    It is compared with the attack's baseline: what the release discloses without that reasoning. An attack that states
    no baseline cannot be judged.
    """

    use: Literal["gain"] = "gain"

    policy_example = "at_most: 1.5"
    public = "verdict"
    scorable = api.ONLY_DERIVED
    threat_model = BELIEF
    formula = "P*(truth) / P0(truth), P0 being the attack's baseline; 1 where both are 0"
    plain_failure = "the attack's reasoning brings too much"
    score_range = (0, math.inf)
    scale = "from 0 up; unbounded where only the baseline rules the truth out"
    interpretation = "at most 1: nobody nearer to the truth; 2: a secret twice as likely"
    source = f"{SOURCE} (with and without implicit information); the ratio is ours"
    examples = (
        api.Example(
            {"flu": 2},
            {"flu": 5, "cold": 5},
            2.0,
            believed={"flu": 0.8, "cold": 0.2},
            prior={"flu": 0.4, "cold": 0.6},
        ),
    )

    def score(self, case: api.ScoringContext) -> api.Score:
        rows, truth = np.arange(len(case.table)), case.table.codes(case.secret.name)
        believed, baseline = (p.to_numpy(dtype=float)[rows, truth] for p in (case.posterior, case.prior))
        return api.Score(people=pd.Series(gains(believed, baseline)))


def divergences(true: api.Floats, believed: api.Floats, floor: float) -> api.Floats:
    """The Kullback-Leibler divergence of each row of `true` from the posterior `believed`.

    Args:
        true: True shares, shape (n_records, n_values); rows sum to 1.
        believed: Posterior probabilities, of the same shape; rows sum to 1.
        floor: The smallest probability that a value of `believed` counts with, above 0.

    Returns:
        Divergences in nats, shape (n_records,), from 0 to -ln(floor).

    Source: Zhu, Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, section 5,
    D_individual. doi:10.1007/978-3-642-13739-6_3
    Departure: the paper does not define the divergence where a true value has posterior probability 0. Here no
    probability counts as less than `floor`. That and rounding may make a sum negative; it is then set to 0.

    The paper's Example 1, from its q1 to q4:

    >>> true = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> believed = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    >>> divergences(true, believed, 1e-9).round(3).tolist()
    [0.0, 0.693, 0.693, 0.0]
    """
    log_true = np.log(true, where=true > 0, out=np.zeros_like(true))
    terms = true * (log_true - np.log(np.maximum(believed, floor)))
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def floored(true: api.Floats, believed: api.Floats, floor: float) -> int:
    """How many cells with a true share above 0 have a posterior probability below `floor`."""
    return int(((true > 0) & (believed < floor)).sum())


def gains(believed: api.Floats, baseline: api.Floats) -> api.Floats:
    """`believed` over `baseline` for each person: 1 where both are 0, infinite where only the baseline is 0.

    >>> gains(np.array([0.8, 0.0, 0.5]), np.array([0.4, 0.0, 0.0])).tolist()
    [2.0, 1.0, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((believed == 0) & (baseline == 0), 1.0, believed / baseline)


def _largest_decreases(
    now: api.Floats, before: api.Floats, people: NDArray[np.int64], top: int
) -> list[dict[str, Any]]:
    """The public records with the largest differences, in descending order: the paper's Figure 7."""
    chosen = np.argsort(now - before, kind="stable")[:top]
    return [
        {
            "divergence": float(now[i]),
            "baseline": float(before[i]),
            "difference": float(before[i] - now[i]),
            "people": api.PeopleCount(int(people[i])),
        }
        for i in chosen
    ]


def true_shares(case: api.ScoringContext) -> api.Floats:
    """P(x|q), shape (n_public_records, n_values): the secret's shares among the people of each public record."""
    public, number = case.table.public
    size = len(case.secret.domain)
    cell = number * size + case.table.codes(case.secret.name)
    people = np.bincount(cell, weights=case.table.weight, minlength=len(public) * size).reshape(-1, size)
    return np.asarray(people / people.sum(axis=1, keepdims=True))


def _of_public(case: api.ScoringContext, posterior: pd.DataFrame) -> api.Floats:
    """One row of `posterior` for each public record; all people of one record have the same."""
    first = np.unique(case.table.public[1], return_index=True)[1]
    return posterior.to_numpy(dtype=float)[first]
