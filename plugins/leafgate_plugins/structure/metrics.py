"""Metrics of a model's structure: small leaves, classes that leaves rule out, parameters, settings, overfitting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leafgate import api
from leafgate.kernel.tree import iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from scipy import stats

    from leafgate.algorithms import prediction
    from leafgate_plugins.structure import evidence as group_evidence
    from leafgate_plugins.structure import hyperparameters, partitions
    from leafgate_plugins.structure.partitions import Division
else:
    np, stats, prediction = api.lazy("numpy"), api.lazy("scipy.stats"), api.lazy("leafgate.algorithms.prediction")
    group_evidence, hyperparameters, partitions = (
        api.lazy(f"leafgate_plugins.structure.{name}") for name in ("evidence", "hyperparameters", "partitions")
    )


Groups = Literal["each_tree", "all_trees", "outputs"]
By = Literal["quasi_identifiers", "features"]
GROUPS = (
    "Which people are together: those in one leaf of a tree (`each_tree`), of every tree at once "
    "(`all_trees`), or with one prediction of the whole release (`outputs`)."
)
BY = "Distinguish people by public columns, or by all; by default by public columns, where these alone can be judged."
WHO = "The adversary has the release, and the public columns of everyone in the table, or all but the class."
SACRO = "SACRO-ML 2.0, attacks/structural_attack.py, as values; departures: docs/explanation/structure.md"


class _OfGroups(api.Metric):
    """A metric of the groups into which the trees divide the people of the table."""

    groups: Groups = Field("all_trees", description=GROUPS)
    by: By | None = Field(None, description=BY)

    by_equivalence_class = True
    threat_model = WHO
    source = SACRO

    @property
    def is_derived(self) -> bool:
        """Is it about what the release states of a group, and not about who is in it?"""
        return False

    @property
    def by_public(self) -> bool:
        """Do the public columns alone define the groups?"""
        return self.by == "quasi_identifiers" or (self.by is None and self.groups != "outputs" and not self.is_derived)

    def _divisions(self, case: api.ScoringContext) -> list[Division]:
        return partitions.divisions(case, self.groups, self.by_public)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.by == "quasi_identifiers" and (self.groups == "outputs" or self.is_derived):
            raise ValueError("what a release says is said of whole records; leave `by` out")
        return self


class SmallestLeaf(_OfGroups, api.ReleaseAtLeast):
    """How many people the smallest leaf contains, of each tree, or of all trees together."""

    use: Literal["smallest_leaf"] = "smallest_leaf"

    counts_persons = True
    policy_example = "at_least: 10"
    unit = api.Unit.PEOPLE
    formula = "min over groups g that hold anybody of the people of the table in g"
    plain_failure = "a leaf holds too few people"
    scale = "people, from 1"
    score_range = (0, math.inf)
    interpretation = (
        "1: somebody is alone; `by: features` finds leaves that only an adversary who knows all columns sees"
    )

    def public_in(self, case: api.ScoringContext) -> api.Public:
        """Groups made by columns that are not public are for auditors, but where the leaves count them."""
        return self.public if group_evidence.sizes_known(case, self.groups, self.by_public) else "verdict"

    def score(self, case: api.ScoringContext) -> api.Score:
        """People in the smallest group that holds anybody, and how many groups there are.

        For auditors the people in groups below the limit, and the smallest of these.
        """
        divisions = self._divisions(case)
        smallest = float(min(division.sizes.min() for division in divisions))
        small = [np.array([not self.holds(float(size)) for size in division.sizes]) for division in divisions]
        return api.Score(smallest, evidence=_evidence_of(case, divisions, small, self.by_public)[1])


class ClassDisclosure(_OfGroups, api.ReleaseAtMost):
    """The share of people in leaves that disclose their class, rule one out, or hold a few people of one."""

    use: Literal["class_disclosure"] = "class_disclosure"
    form: Literal["single", "ruled_out", "few"] = Field(
        "single",
        description="Leaves of one class (`single`); that lack a class (`ruled_out`); that hold 1 to k - 1 people of "
        "a class (`few`).",
    )
    k: Annotated[int, Field(ge=2)] | None = Field(None, description="Of `form: few`: fewer people than this are few.")
    scored: Literal["composition", "derived"] = Field(
        "composition",
        description="By the classes people have (`composition`), or those the release gives the group (`derived`).",
    )

    counts_persons = True
    policy_example = "at_most: 0.1"
    unit = api.Unit.SHARE
    formula = "people in groups of which it is true / people; `each_tree`: in such a leaf of any tree"
    plain_failure = "too many people are in leaves that disclose too much of their class"
    scale = "from 0 to 1"
    score_range = (0, 1)
    interpretation = "0: nobody; a leaf of two classes or more rules one out as well if there are three"

    @property
    def is_derived(self) -> bool:
        return self.scored == "derived"

    @model_validator(mode="after")
    def _k_of_few(self) -> Self:
        if (self.form == "few") != (self.k is not None):
            raise ValueError("`k` belongs to `form: few`, which needs it")
        if self.is_derived and self.groups == "each_tree":
            raise ValueError("what a single tree says is no prediction of the release; say `scored: composition`")
        return self

    def public_in(self, case: api.ScoringContext) -> api.Public:
        """Show true classes to auditors only unless leaves publish them exactly; the same for sizes of groups."""
        known = group_evidence.sizes_known if self.is_derived else group_evidence.classes_known
        return self.public if known(case, self.groups, self.by_public) else "verdict"

    def score(self, case: api.ScoringContext) -> api.Score:
        people, evidence = self._people_disclosed(case)
        return api.Score(people / case.table.people_among(), evidence=evidence)

    def _people_disclosed(self, case: api.ScoringContext) -> tuple[int, dict[str, Any]]:
        """People in groups that disclose too much of their class, and the evidence of it."""
        if case.release.target not in case.table.schema:
            raise api.InconclusiveError("the table has no class")
        divisions = self._divisions(case)
        counts = [_people_by_class(case, division, derived=self.is_derived) for division in divisions]
        return _evidence_of(case, divisions, [flagged(each, self.form, self.k) for each in counts], self.by_public)


class ResidualDegreesOfFreedom(api.ReleaseAtLeast):
    """How many more people there are than parameters the trees have learned."""

    use: Literal["residual_degrees_of_freedom"] = "residual_degrees_of_freedom"

    counts_persons = True
    policy_example = "at_least: 10"
    unit = api.Unit.PEOPLE_LEFT
    by_equivalence_class = True
    threat_model = "None: a rule of thumb from the disclosure control of regressions."
    formula = "people - (2 for each cut, m for each test of m ways, classes - 1 for each leaf)"
    plain_failure = "the model has too many parameters for so few people"
    scale = "below 0 where more was learned than there are people"
    interpretation = "10 or more is asked of regressions; it means nothing for single people"
    source = SACRO

    def score(self, case: api.ScoringContext) -> api.Score:
        learned = parameters(case.release)
        return api.Score(float(case.table.people_among() - learned), evidence={"parameters": learned})


class RiskySettings(api.ReleaseAtMost):
    """How many settings of the learner would have to change for no rule of risky settings to hold."""

    use: Literal["risky_settings"] = "risky_settings"

    counts_persons = True
    policy_example = "at_most: 0"
    unit = api.Unit.TABLE
    threat_model = "None: settings whose models membership inference did best against, in a study of many."
    formula = (
        "settings that the release does not declare are measured on its trees; those that cannot be "
        "measured count as the riskiest"
    )
    plain_failure = "settings of the learner are among the risky ones"
    scale = "0 or 1: one setting is enough for each kind of model"
    score_range = (0, 1)
    interpretation = "0: no rule places the model among the riskiest fifth, which protects nobody"
    source = f"{SACRO}; arXiv:2502.09396"

    def public_in(self, case: api.ScoringContext) -> api.Public:
        """Show people at tests and in leaves to auditors only, if columns that are not public define their numbers."""
        counted = hyperparameters.counts_people(case)
        known = not counted or group_evidence.sizes_known(case, "each_tree", by_public=False)
        return self.public if known else "verdict"

    def score(self, case: api.ScoringContext) -> api.Score:
        risk = hyperparameters.risk(case.with_own_record())  # `public_in` states whether what is counted is published
        return api.Score(float(len(risk.change)), evidence=risk.evidence)


class GeneralisationGap(api.ReleaseAtMost):
    """How much better the model does on the people it was learned from than on those of `data.test`."""

    use: Literal["generalisation_gap"] = "generalisation_gap"
    form: Literal["accuracy", "losses"] = Field(
        "accuracy",
        description="The difference of two accuracies (`accuracy`), or the distance of the losses' distributions "
        "(`losses`).",
    )

    counts_persons = True
    policy_example = "at_most: 0.05"
    public = "verdict"
    by_equivalence_class = True
    threat_model = "None: membership inference exploits this difference."
    formula = (
        "accuracy on the table - accuracy on the test table; losses: max over t of |F(t) - G(t)|, F and G being the "
        "shares of people whose loss, 1 - P(their class), is at most t"
    )
    plain_failure = "the model does too much better on the people it was learned from"
    scale = "accuracy: from -1 to 1; losses: from 0 to 1"
    score_range = (-1, 1)
    interpretation = "0: as good on others; a model without a gap can still have memorised single people"
    source = SACRO

    def score(self, case: api.ScoringContext) -> api.Score:
        test = case.require_exact_test("name a test table without noise")
        if self.form == "losses":
            losses, test_losses = _losses(case, case.table), _losses(case, test)
            gap = largest_difference(losses, case.table.weight, test_losses, test.weight)
            return api.Score(gap, evidence={"by_chance": by_chance(gap, case.table.total_weight, test.total_weight)})
        on_table, on_test = _accuracy(case, case.table), _accuracy(case, test)
        return api.Score(on_table - on_test, evidence={"on_table": on_table, "on_test": on_test})


def _evidence_of(
    case: api.ScoringContext, divisions: Sequence[Division], marks: Sequence[api.Mask], by_public: bool
) -> tuple[int, dict[str, Any]]:
    """How many people are in a marked group of any division; for auditors these people and the smallest such groups."""
    beyond = np.zeros(len(case.table), dtype=bool)
    for division, marked in zip(divisions, marks, strict=True):
        beyond |= marked[division.group]
    people = case.table.people_among(beyond)
    document: dict[str, Any] = {"groups": sum(len(division.sizes) for division in divisions)}
    document["people_beyond"] = api.AuditorOnly(api.PeopleCount(people))
    if people:
        document["worst"] = group_evidence.worst_groups(case, list(zip(divisions, marks, strict=True)), by_public)
    return people, document


ZERO_SHARE = 1e-8
"""Shares up to this count as 0, as for numpy's `isclose`."""


def flagged(people: api.Floats, form: str, k: int | None) -> api.Mask:
    """Which groups disclose their class.

    Args:
        people: People of each class in each group, shape (n_groups, n_classes).
        form: `single`: all have one class; `ruled_out`: nobody has some class; `few`: some class has 1 to k - 1 people.
        k: Of `few`.

    """
    size = people.sum(axis=1, keepdims=True)
    absent = people <= ZERO_SHARE * size
    if form == "single":
        return np.asarray((~absent).sum(axis=1) == 1)
    if form == "ruled_out":
        return np.asarray(absent.any(axis=1))
    return np.asarray(((people > 0) & (people < (k or 0))).any(axis=1))


def _people_by_class(case: api.ScoringContext, division: Division, *, derived: bool) -> api.Floats:
    """Each group's people by class: as they are, or as many as the release's shares make of them."""
    if not derived:
        target = case.release.target
        return division.counts(case.table.codes(target), len(case.release.classes))
    shares = partitions.class_probabilities(case.release, case.table)[division.first]
    return np.asarray(np.where(np.isnan(shares), 1 / shares.shape[1], shares) * division.sizes[:, None])


DECIMALS = 12
"""Decimals to which losses are compared."""


def _accuracy(case: api.ScoringContext, table: api.Table) -> float:
    right = prediction.predict(case.release, table) == table.codes(case.release.target)
    return float(table.weight[right].sum() / table.total_weight)


def _losses(case: api.ScoringContext, table: api.Table) -> api.Floats:
    """One less the share that the release gives to each row's class, from 0 to 1; shape (n_rows,)."""
    shares = partitions.class_probabilities(case.release, table)
    shares = np.where(np.isnan(shares), 0, shares)
    return np.asarray(1 - shares[np.arange(len(table)), table.codes(case.release.target)])


def largest_difference(first: api.Floats, weight: api.Ids, second: api.Floats, others: api.Ids) -> float:
    """The largest difference between two samples' shares of numbers up to some number."""
    values, place = np.unique(np.round(np.concatenate([first, second]), DECIMALS), return_inverse=True)
    first_shares = np.bincount(place[: len(first)], weights=weight, minlength=len(values)) / weight.sum()
    second_shares = np.bincount(place[len(first) :], weights=others, minlength=len(values)) / others.sum()
    return float(np.abs(np.cumsum(first_shares - second_shares)).max())


def by_chance(distance: float, people: int, others: int) -> float:
    """How likely two samples of one law are as far apart, for large ones: Kolmogorov and Smirnov's test."""
    return float(np.clip(stats.kstwo.sf(distance, max(1, round(people * others / (people + others)))), 0, 1))


def parameters(release: api.Release) -> int:
    """What the trees of a release have learned: the column and the threshold of each cut, and each leaf's numbers.

    A test of m ways counts m: its column, and where values go but for the last way. A leaf counts one less than there
    are classes, for its shares; with scores, one for each class it speaks for, and no more than that.

    Source: SACRO-ML 2.0, whose tests are all of two ways. Departure: it adds one for each tree of XGBoost's, and
    counts all classes on its leaves, each of which speaks for one.
    """
    if not release.trees:
        raise api.InconclusiveError("the release has no trees", remedy="it judges releases of trees")
    return sum(len(api.children(node)) or _of_leaf(node, release) for node in iterate_nodes(*release.trees))


def _of_leaf(node: api.Node, release: api.Release) -> int:
    if not isinstance(node, api.Leaf) or node.value is not None:
        return 1
    free = len(release.classes) - 1
    if node.scores is None:
        return free
    return min(free, max(1, sum(score != 0 for score in node.scores.values())))
