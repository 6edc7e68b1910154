"""Group metrics: how much the people of one equivalence class still have one secret in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from leafgate import api
from leafgate.kernel.findings import lenient
from leafgate.kernel.options import PositiveShare

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pandas as pd

    from leafgate.kernel.schema import ColumnSpec
    from leafgate_plugins.diversity import measures
else:
    np, pd, measures = api.lazy("numpy"), api.lazy("pandas"), api.lazy("leafgate_plugins.diversity.measures")


BELIEF = "Whatever the attack it judges assumes; p is what it believes of a person, P the shares among everyone."


class LDiversity(api.AtLeast):
    """The effective number of values that each person's secret could still have."""

    use: Literal["l_diversity"] = "l_diversity"
    form: Literal["distinct", "entropy", "recursive"] = Field("entropy", description="What counts as diverse.")
    c: Annotated[api.PositiveFloat | None, api.LESS] = Field(None, description="Of `form: recursive`: the factor c.")

    counts_persons = True
    policy_example = "at_least: 2"
    checks = "l_diversity"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = BELIEF
    formula = (
        "distinct: values v with p(v) > 0; entropy: exp(H(p)); recursive: the largest l with r_1 < c (r_l"
        " + ... + r_m), where r is p in falling order; 0 if there is none"
    )
    plain_failure = "groups share too few values of {secret}"
    scale = "from 1 (recursive: 0) to the number of values"
    score_range = (0, math.inf)
    interpretation = "1: the secret is disclosed; m of m values: nothing is known beyond the values"
    source = (
        "A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "
        '"l-Diversity: Privacy Beyond k-Anonymity", ACM TKDD 1(1), 2007, section 4'
    )
    examples = (
        api.Example({"flu": 1, "cold": 1}, {"flu": 5, "cold": 5, "gout": 2}, 2.0),
        api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 2.0, {"form": "distinct"}),
        api.Example(
            {"flu": 5, "cold": 3, "gout": 2}, {"flu": 5, "cold": 5, "gout": 2}, 2.0, {"form": "recursive", "c": 2}
        ),
    )

    @property
    def can_be_broken(self) -> bool:
        """Is the limit above 1, or above 0 where groups can have no recursive l?"""
        return self.bound > lenient(0 if self.form == "recursive" else 1)

    @model_validator(mode="after")
    def _c_of_recursive(self) -> Self:
        if (self.form == "recursive") != (self.c is not None):
            raise ValueError("`c` belongs to `form: recursive`, which needs it")
        return self

    def score(self, case: api.ScoringContext) -> api.Score:
        c = self.c
        if c is not None:
            return api.Score(people=_by_group(case, lambda p: measures.recursive_l(p, c)))
        return api.Score(people=_by_group(case, measures.distinct_l if self.form == "distinct" else measures.entropy_l))


class AlphaKAnonymity(api.ValueMetric, api.AtLeast):
    """How many people share each person's group, if no secret is too frequent in it; else 0."""

    use: Literal["alpha_k_anonymity"] = "alpha_k_anonymity"
    alpha: Annotated[PositiveShare, api.LESS] = Field(description="The largest share a value may have.")

    counts_persons = True
    policy_example = "at_least: 5, alpha: 0.8"
    unit = api.Unit.PEOPLE
    by_equivalence_class = True
    threat_model = BELIEF
    formula = "people in the group of x if p(v) <= alpha for every sensitive value v, else 0"
    plain_failure = "groups are too small, or agree too much on {secret}"
    scale = "people; 0 where alpha is exceeded"
    score_range = (0, math.inf)
    interpretation = "(alpha, k)-anonymous when nobody scores below k"
    source = 'R. Wong, J. Li, A. Fu, K. Wang, "(alpha, k)-Anonymity", KDD 2006'
    examples = (
        api.Example({"flu": 2, "cold": 2}, {"flu": 5, "cold": 5}, 4.0, {"alpha": 0.5}),
        api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.0, {"alpha": 0.5}),
    )

    @property
    def can_be_broken(self) -> bool:
        """Is the limit above 0, the score of groups where alpha is exceeded, or above 1 where none can exceed it?"""
        return (self.alpha < 1 and self.bound > 0) or super().can_be_broken

    def score(self, case: api.ScoringContext) -> api.Score:
        judged = self.judged_values(case)
        share = _by_group(case, lambda p: measures.largest_share(p[:, judged]), of_values=False)
        return api.Score(people=case.sizes.where(share <= lenient(self.alpha), 0.0))


class TCloseness(api.AtMost):
    """How far the secret's distribution in each person's group is from that of everyone."""

    use: Literal["t_closeness"] = "t_closeness"
    distance: Literal["equal", "ordered", "hierarchical"] = Field(
        "equal", description="Between two values; `ordered` needs `ordered: true`, `hierarchical` a `hierarchy`."
    )

    counts_persons = True
    policy_example = "at_most: 0.3"
    checks = "t_closeness"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = BELIEF
    formula = (
        "earth mover's distance of p and P. equal: 1/2 sum |p - P|; ordered: sum of |running totals of p "
        "- P| / (m - 1); hierarchical: mass times the height it climbs / the height of the hierarchy"
    )
    plain_failure = "groups differ too much from everybody in {secret}"
    scale = "from 0 to 1"
    score_range = (0, 1)
    interpretation = "0: the group discloses nothing beyond the shares among everyone; 1: as far as can be"
    source = 'N. Li, T. Li, S. Venkatasubramanian, "t-Closeness", ICDE 2007, section 4.1'
    examples = (
        api.Example({"flu": 2}, {"flu": 2, "cold": 1, "gout": 1}, 0.5),
        api.Example({"low": 2}, {"low": 2, "mid": 1, "high": 1}, 0.375, {"distance": "ordered"}),
    )

    def missing_requirements(self, policy: api.Policy) -> str:
        if self.distance == "ordered" and not any(spec.ordered for spec in _secrets(self, policy)):
            return "no secret has `values` in a declared order; list them so and say `ordered: true`"
        if self.distance == "hierarchical" and not any(spec.hierarchy is not None for spec in _secrets(self, policy)):
            return "no secret has a `hierarchy`"
        return ""

    def score(self, case: api.ScoringContext) -> api.Score:
        """The earth mover's distance of each row's posterior; UnreadableError where values have no such distance."""
        column, overall = case.secret, case.overall
        if self.distance == "equal":
            return api.Score(people=_by_group(case, lambda p: measures.equal_distance(p, overall)))
        if self.distance == "ordered":
            if not column.ordered:
                raise api.UnreadableError("its values have no declared order")
            return api.Score(people=_by_group(case, lambda p: measures.ordered_distance(p, overall)))
        hierarchy = column.hierarchy
        if hierarchy is None:
            raise api.UnreadableError("its values have no hierarchy")
        return api.Score(
            people=_by_group(case, lambda p: measures.hierarchical_distance(p, overall, hierarchy, column.domain))
        )


class BetaLikeness(api.AtMost):
    """The largest relative increase of a value's probability over its share among everyone, for each person."""

    use: Literal["beta_likeness"] = "beta_likeness"
    form: Literal["basic", "enhanced"] = Field("basic", description="`enhanced` also refuses gains beyond -ln P.")

    counts_persons = True
    policy_example = "at_most: 1.0"
    by_equivalence_class = True
    threat_model = BELIEF
    formula = "max over v with p(v) > P(v) of (p(v) - P(v)) / P(v); enhanced: unbounded if one is above -ln P(v)"
    plain_failure = "a value of {secret} becomes too much likelier"
    scale = "from 0 up; values that nobody has are left out"
    score_range = (0, math.inf)
    interpretation = "0: no value is likelier than among everyone; 1: one is twice as likely"
    source = 'J. Cao, P. Karras, "Publishing Microdata with a Robust Privacy Guarantee", PVLDB 5(11), 2012'
    examples = (api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.5),)

    def score(self, case: api.ScoringContext) -> api.Score:
        overall = case.overall
        beta = measures.basic_beta if self.form == "basic" else measures.enhanced_beta
        return api.Score(people=_by_group(case, lambda p: beta(p, overall)))


class DeltaDisclosure(api.AtMost):
    """The largest absolute log ratio between a value's probability and its share among everyone, for each person."""

    use: Literal["delta_disclosure"] = "delta_disclosure"

    counts_persons = True
    policy_example = "at_most: 1.0"
    checks = "delta_disclosure"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = BELIEF
    formula = "max over v of |ln(p(v) / P(v))|, in nats"
    plain_failure = "a value of {secret} becomes too much likelier or less likely"
    score_range = (0, math.inf)
    scale = "from 0 up; unbounded where a group rules a value out; values that nobody has are left out"
    interpretation = "0: the group discloses nothing beyond the shares among everyone"
    source = 'J. Brickell, V. Shmatikov, "The Cost of Privacy", KDD 2008'
    examples = (api.Example({"flu": 3, "cold": 1}, {"flu": 4, "cold": 4}, 0.6931471805599453),)

    def score(self, case: api.ScoringContext) -> api.Score:
        overall = case.overall
        return api.Score(people=_by_group(case, lambda p: measures.delta(p, overall)))


class KMap(api.AtLeast):
    """How many people of the declared population would be in each person's group."""

    use: Literal["k_map"] = "k_map"

    counts_persons = True
    policy_example = "at_least: 5"
    judges = api.ABOUT_GROUPS
    groups_only = True
    unit = api.Unit.PEOPLE
    by_equivalence_class = True
    threat_model = "The adversary knows the public columns of the population, and not who of it is in the table."
    formula = "people of `data.population` in the group of x, the table's own among them"
    plain_failure = "too few people of the population could be meant"
    scale = "people, at least k of the table"
    score_range = (0, math.inf)
    interpretation = "1: nobody else in the population could be meant"
    source = 'L. Sweeney, "Computational Disclosure Control", PhD thesis, MIT, 2001 (k-map)'
    examples = (api.Example({"flu": 2}, {"flu": 5, "cold": 5}, 30.0, population=30),)

    def missing_requirements(self, policy: api.Policy) -> str:
        return super().missing_requirements(policy) or _no_population(policy)

    def score(self, case: api.ScoringContext) -> api.Score:
        return api.Score(people=case.population)


class ReidentificationRisk(api.AtMost):
    """The chance of picking each person's record out of those that could be theirs."""

    use: Literal["reidentification_risk"] = "reidentification_risk"
    among: Literal["table", "population"] = Field(
        "table",
        description="`table`: the adversary knows who is in the table (prosecutor); `population`: only the population"
        " (journalist).",
    )

    counts_persons = True
    policy_example = "at_most: 0.2"
    judges = api.ABOUT_GROUPS
    groups_only = True
    unit = api.Unit.ONE_OVER_PEOPLE
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes; in a group everyone is as likely."
    formula = "1 / people in the group of x, of the table or of `data.population`"
    plain_failure = "people can be picked out too surely"
    scale = "above 0 and up to 1"
    score_range = (0, 1)
    interpretation = "1: singled out; the average is the expected share of right picks"
    source = 'K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013'
    examples = (
        api.Example({"flu": 2, "cold": 2}, {"flu": 5, "cold": 5}, 0.25),
        api.Example({"flu": 2, "cold": 2}, {"flu": 5, "cold": 5}, 0.05, {"among": "population"}, population=20),
    )

    def missing_requirements(self, policy: api.Policy) -> str:
        return super().missing_requirements(policy) or (_no_population(policy) if self.among == "population" else "")

    def score(self, case: api.ScoringContext) -> api.Score:
        return api.Score(people=1 / (case.sizes if self.among == "table" else case.population))


class Uniques(api.AtMost):
    """Whether each person is alone in their group: 1 if so, else 0.

    A finding counts these people.
    """

    use: Literal["uniques"] = "uniques"

    counts_persons = True
    policy_example = "at_most: 0"
    judges = api.ABOUT_GROUPS
    groups_only = True
    unit = api.Unit.SHARE
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "1 if nobody else is in the group of x, else 0"
    plain_failure = "people are alone in their groups"
    scale = "0 or 1"
    score_range = (0, 1)
    interpretation = "0: nobody is singled out"
    source = 'C. Skinner, M. Elliot, "A Measure of Disclosure Risk for Microdata", JRSS B 64(4), 2002'
    examples = (api.Example({"flu": 1}, {"flu": 5}, 1.0), api.Example({"flu": 2}, {"flu": 5}, 0.0))

    def score(self, case: api.ScoringContext) -> api.Score:
        return api.Score(people=(case.sizes == 1).astype(float))


def _secrets(metric: api.PersonMetric, policy: api.Policy) -> list[ColumnSpec]:
    """The secrets a metric is about, as the policy declares them."""
    columns = policy.data.columns.items()
    return [spec for name, spec in columns if "sensitive" in spec.roles and metric.secret in {None, name}]


def _no_population(policy: api.Policy) -> str:
    return "there is no `data.population` to look among" if policy.data.population is None else ""


def _by_group(
    case: api.ScoringContext, form: Callable[[api.Floats], api.Floats], *, of_values: bool = True
) -> pd.Series:
    """A form of each record's posterior, computed once for each equivalence class where all its records have the same.

    An attack may give the people of one equivalence class different posteriors: then every record counts by itself.
    Shares of persons, who may have several values, are divided by their sum where the form is one of the shares
    `of_values`.
    """
    p = case.posterior.to_numpy(dtype=float)
    if case.scored == "by_persons" and of_values:
        p = p / p.sum(axis=1, keepdims=True)
    number, groups = pd.factorize(case.equivalence_class)
    first = np.unique(number, return_index=True)[1]
    if len(groups) < len(p) and np.array_equal(p[first][number], p):
        return pd.Series(form(p[first])[number])
    return pd.Series(form(p))
