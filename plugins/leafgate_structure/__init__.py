"""Metrics of a model's structure: small leaves, classes that leaves rule out, parameters, settings, overfitting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leafgate import Metric, ReleaseAtLeast, ReleaseAtMost, ScoringContext, hookimpl
from leafgate.types.report import Unit

if TYPE_CHECKING:
    import pandas as pd

    from leafgate_structure.metrics import Disclosed

Groups = Literal["each_tree", "all_trees", "outputs"]
By = Literal["quasi_identifiers", "features"]
GROUPS = (
    "Who is together: people in one leaf of a tree, of every tree at once, or people for whom the whole release "
    "predicts the same."
)
BY = "Told apart by their public columns, or by all; default: public columns where these alone can be judged."
WHO = "The adversary has the release, and the public columns of everyone in the table, or all but the class."
SACRO = "SACRO-ML 2.0, attacks/structural_attack.py, as values; departures: docs/structure.md"


class _OfGroups(Metric):
    """A metric of the groups into which the trees divide the people of the table."""

    groups: Groups = Field("all_trees", description=GROUPS)
    by: By | None = Field(None, description=BY)

    threat_model = WHO
    source = SACRO

    @property
    def told_by_release(self) -> bool:
        """Is it about what the release says of a group, not about who is in it?"""
        return False

    @property
    def by_public(self) -> bool:
        """Do the public columns alone define the groups?"""
        return self.by == "quasi_identifiers" or (
            self.by is None and self.groups != "outputs" and not self.told_by_release
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.by == "quasi_identifiers" and (self.groups == "outputs" or self.told_by_release):
            raise ValueError("what a release says is said of whole records; leave `by` out")
        return self


class SmallestLeaf(_OfGroups, ReleaseAtLeast):
    """How many people the smallest leaf holds, of each tree, or of all trees together."""

    use: Literal["smallest_leaf"] = "smallest_leaf"

    unit = Unit.PEOPLE
    formula = "min over groups g that hold anybody of the people of the table in g"
    plain_failure = "a leaf holds too few people"
    scale = "people, from 1"
    interpretation = (
        "1: somebody is alone; by `features`, a small leaf is one that an adversary who knows all columns sees"
    )

    def must_hide(self, case: ScoringContext) -> bool:
        """Groups made by columns that are not public are for auditors, but where the leaves count them."""
        from leafgate_structure.evidence import sizes_known

        return not sizes_known(case, self.groups, self.by_public)

    def score(self, case: ScoringContext) -> float:
        from leafgate_structure.metrics import smallest

        return smallest(case, self.groups, self.by_public)

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_structure.metrics import evidence

        return evidence(case, self.groups, self.by_public, self.holds)


class ClassDisclosure(_OfGroups, ReleaseAtMost):
    """The share of people in leaves that disclose their class, rule one out, or hold a few people of one."""

    use: Literal["class_disclosure"] = "class_disclosure"
    form: Literal["single", "ruled_out", "few"] = Field(
        "single", description="Leaves of one class; that lack a class; that hold 1 to k - 1 people of a class."
    )
    k: Annotated[int, Field(ge=2)] | None = Field(None, description="Of `form: few`: fewer people are few.")
    scored: Literal["composition", "derived"] = Field(
        "composition", description="By the classes people have, or by those the release gives the group."
    )

    unit = Unit.SHARE
    formula = "people in groups of which it is true / people; `each_tree`: in such a leaf of any tree"
    plain_failure = "too many people are in leaves that disclose too much of their class"
    scale = "from 0 to 1"
    interpretation = "0: nobody; a leaf of two classes or more rules one out as well if there are three"

    @property
    def told_by_release(self) -> bool:
        return self.scored == "derived"

    @model_validator(mode="after")
    def _k_of_few(self) -> Self:
        if (self.form == "few") != (self.k is not None):
            raise ValueError("`k` belongs to `form: few`, which needs it")
        if self.told_by_release and self.groups == "each_tree":
            raise ValueError("what a single tree says is no prediction of the release; say `scored: composition`")
        return self

    def must_hide(self, case: ScoringContext) -> bool:
        """Show true classes to auditors only unless leaves publish them exactly; the same for sizes of groups."""
        from leafgate_structure.evidence import classes_known, sizes_known

        result = sizes_known if self.told_by_release else classes_known
        return not result(case, self.groups, self.by_public)

    def score(self, case: ScoringContext) -> float:
        return self._disclosed(case).share

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        return self._disclosed(case).evidence

    def _disclosed(self, case: ScoringContext) -> Disclosed:
        from leafgate_structure.metrics import disclosed

        return disclosed(case, self.groups, self.by_public, self.form, self.k, derived=self.told_by_release)


class ResidualDegreesOfFreedom(ReleaseAtLeast):
    """How many more people there are than parameters the trees have learned."""

    use: Literal["residual_degrees_of_freedom"] = "residual_degrees_of_freedom"

    unit = Unit.PEOPLE_LEFT
    threat_model = "None: a rule of thumb from the disclosure control of regressions."
    formula = "people - (2 for each cut, m for each test of m ways, classes - 1 for each leaf)"
    plain_failure = "the model has too many parameters for so few people"
    scale = "below 0 where more was learned than there are people"
    interpretation = "10 or more is asked of regressions; it says nothing of single people"
    source = SACRO

    def score(self, case: ScoringContext) -> float:
        from leafgate_structure.metrics import residual

        return residual(case)

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_structure.metrics import parameters

        return {"parameters": parameters(case.release)}


class RiskySettings(ReleaseAtMost):
    """How many settings of the learner would have to change for no rule of risky settings to hold."""

    use: Literal["risky_settings"] = "risky_settings"

    unit = Unit.TABLE
    threat_model = "None: settings whose models membership inference did best against, in a study of many."
    formula = (
        "the fewest settings to change; those that the release does not declare are measured on its trees, and those "
        "that cannot be measured are supposed to be the riskiest"
    )
    plain_failure = "settings of the learner are among the risky ones"
    scale = "0, 1, 2, ..."
    interpretation = "0: by no rule is the model among the riskiest fifth; which is no protection of anybody"
    source = f"{SACRO}; arXiv:2502.09396"

    def must_hide(self, case: ScoringContext) -> bool:
        """Show people at tests and in leaves to auditors only, if columns that are not public define their numbers."""
        from leafgate_structure.evidence import sizes_known
        from leafgate_structure.hyperparameters import counts_people

        return counts_people(case) and not sizes_known(case, "each_tree", by_public=False)

    def score(self, case: ScoringContext) -> float:
        from leafgate_structure.hyperparameters import risk

        return float(len(risk(case).change))

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_structure.hyperparameters import risk

        return risk(case).evidence


class GeneralisationGap(ReleaseAtMost):
    """How much better the model does on the people it was learned from than on those of `data.test`."""

    use: Literal["generalisation_gap"] = "generalisation_gap"
    form: Literal["accuracy", "losses"] = Field(
        "accuracy", description="The difference of two accuracies, or how far the losses' distributions are apart."
    )

    private = True
    threat_model = "None: what membership inference lives on."
    formula = (
        "accuracy on the table - accuracy on the test table; losses: max over t of |F(t) - G(t)|, F and G being the "
        "shares of people whose loss, 1 - P(their class), is at most t"
    )
    plain_failure = "the model does too much better on the people it was learned from"
    scale = "accuracy: from -1 to 1; losses: from 0 to 1"
    interpretation = "0: as good on others; but a model may know single people and have no gap"
    source = SACRO

    def score(self, case: ScoringContext) -> float:
        from leafgate_structure.metrics import accuracies, distance

        if self.form == "losses":
            return distance(case)
        here, there = accuracies(case)
        return here - there

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_structure.metrics import accuracies, by_chance, test_people

        if self.form == "losses":
            assert isinstance(scores, float)
            return {"by_chance": by_chance(scores, case.table.people, test_people(case).people)}
        return dict(zip(("on_table", "on_test"), accuracies(case), strict=True))


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [ClassDisclosure, GeneralisationGap, ResidualDegreesOfFreedom, RiskySettings, SmallestLeaf]
