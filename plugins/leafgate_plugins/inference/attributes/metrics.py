"""Limits on what an attack infers of a column of the model's inputs: its gain over imputation, and certain people.

Two leaks are judged together, by the larger upper bound: what the attack gains over imputation without the model for
people of the table, and by how much that exceeds its gain for people of the control. A kept limit is a pass only where
the attack would have seen a leak of just the limit's size: it repeats itself on planted values.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from leafgate import api
from leafgate.algorithms.intervals import Estimate, upper_bound_of_all
from leafgate.errors import nearest_name
from leafgate_plugins.inference.attributes.leaks import (
    MEASURES,
    Beliefs,
    Leaks,
    Measure,
    leaks_of,
    measured,
    most_probable,
)
from leafgate_plugins.inference.power import SEEN_PART, power_problem, repeat_on_leak, shows_leak, unseen

if TYPE_CHECKING:
    import numpy as np

    Posterior = api.Floats
else:
    np = api.lazy("numpy")

QUICK_REPEATS = 3
"""How many times a leak is planted, and must be seen each time, while the smallest one that is seen is sought."""
LEAK_SIZES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The leaks among which the smallest one that the attack sees is sought."""
ROUNDING = 1e-9
"""A planted leak may fall short of its size by this much, as floating point does."""
POSTERIOR_TOLERANCE = 1e-6
"""The rows of a planted posterior sum to 1 but for this."""

MEASURE_WORDS: dict[Measure, str] = {
    "accuracy": "accuracy",
    "ppv": "positive predictive value of the {top} surest",
    "mcc": "Matthews correlation",
}


def imputed(targets: api.Targets, seed: int) -> Posterior:
    """The posterior of each target without the model: shape (n_targets, n_values)."""
    from leafgate_plugins.inference.attributes.imputation import impute

    return np.asarray(impute(targets, seed).posterior, dtype=float)


def determining_columns(case: api.ScoringContext, targets: api.Targets) -> tuple[str, ...]:
    """The columns known of the targets of which the secret is a function, among all people; empty where there are none.

    Args:
        case: whose table is read.
        targets: whose auxiliary people are read.
    """
    from leafgate_plugins.inference.attributes.imputation import determining_columns as among

    secret = targets.secret.name
    names = [*(column.name for column in targets.groups[0].schema.columns if column.name != secret), secret]
    return tuple(among([table.project(names)[0] for table in (case.table, targets.auxiliary)], secret))


# --- The leak ---


@dataclass(frozen=True)
class TargetBelief:
    """A belief about targets beside the truth; `named` is the value that a positive predictive value is of, if any."""

    case: api.ScoringContext
    named: str | None = None

    @cached_property
    def belief(self) -> api.AttributeBelief:
        """What the attack believes."""
        return self.case.require_belief(api.AttributeBelief)

    @cached_property
    def targets(self) -> api.Targets:
        """The people of whom the column is asked."""
        return self.case.known.targets[self.belief.secret]

    @cached_property
    def value(self) -> int | None:
        """The position of the value of that name; InconclusiveError where the secret has no such value."""
        domain = self.targets.secret.domain
        if self.named is None or self.named in domain:
            return None if self.named is None else domain.index(self.named)
        remedy = "let `of` name an attack on the column whose `value` it is"
        raise api.InconclusiveError(
            "the `value` of the limit is no value of the column that is inferred", remedy=remedy
        )

    @cached_property
    def in_table(self) -> api.Mask:
        """Who of them is in the table: shape (n_targets,)."""
        return np.asarray(self.case.membership.in_table, dtype=bool)

    @cached_property
    def truth(self) -> api.Codes:
        """The position of each one's value: shape (n_targets,)."""
        return np.asarray(self.case.membership.secrets[self.belief.secret])

    @cached_property
    def imputation(self) -> Posterior:
        """What is believed of each one without the model: shape (n_targets, n_values)."""
        return imputed(self.targets, self.case.known.seed)

    @cached_property
    def everybody(self) -> Beliefs:
        """All targets."""
        return Beliefs(self.truth, np.asarray(self.belief.posterior, dtype=float), self.imputation, self.value)

    @cached_property
    def groups(self) -> tuple[Beliefs, Beliefs]:
        """People of the table, and people of the control."""
        return self.everybody.where(self.in_table), self.everybody.where(~self.in_table)

    @cached_property
    def prior(self) -> Posterior:
        """The shares of the values among the auxiliary people: shape (n_values,)."""
        people = self.targets.auxiliary
        counts = np.bincount(
            people.codes(self.belief.secret), weights=people.weight, minlength=self.imputation.shape[1]
        )
        return np.asarray(counts / max(1.0, counts.sum()))

    @cached_property
    def determined_by(self) -> tuple[str, ...]:
        """The known columns of which the secret is a function."""
        return determining_columns(self.case, self.targets)


class AttributeLeak(api.ReleaseAtMost):
    """How much more an attack infers of a column than imputation without the model, judged by its interval."""

    use: Literal["attribute_leak"] = "attribute_leak"
    measure: Measure = Field(
        default="accuracy",
        description="What is compared: the share of people whose most probable value is right (`accuracy`), that of "
        "the people of whom an attack is surest (`ppv`), or the Matthews correlation (`mcc`).",
    )
    top: api.PositiveInt = Field(
        default=100, description="Of `ppv`: the number of people of whom the attack is surest."
    )
    value: str | None = Field(
        default=None,
        description="Of `ppv`: count who has this value (of a number a bin, as `[0, 10)`) among those most surely "
        "said to; by default each one's most probable value.",
    )
    confidence: api.OpenProbability = Field(
        default=0.95,
        description="The confidence that the intervals of all limits on inferred columns hold together.",
    )

    policy_example = "at_most: 0.05"
    judges = frozenset({api.AttributeBelief})
    threat_model = "Whatever the attack it judges assumes."
    formula = (
        "the larger of two leaks: measure(attack) - measure(imputation) for people of the table; and that"
        " minus the same for people of the control"
    )
    scale = "from -1 to 1; by comparison with the control up to 2"
    score_range = (-1, 2)
    interpretation = (
        "at most 0: the model discloses no more about people of the table than other columns do; with "
        "`accuracy`, the share of people whose value is inferred because of the model"
    )
    plain_failure = "the release lets people infer {secret} of the people in the table"
    source = (
        "Jayaraman, Evans, CCS 2022, arXiv:2209.01292 (imputation as the baseline, positive predictive value); "
        "intervals by Clopper, Pearson, Biometrika 26, 1934; Gorodkin 2004 (Matthews correlation)"
    )

    @model_validator(mode="after")
    def _value_of_ppv(self) -> Self:
        if self.value is not None and self.measure != "ppv":
            raise ValueError("only `measure: ppv` is of one `value`; leave `value` out")
        return self

    def missing_requirements(self, policy: api.Policy) -> str:
        """That no column which may be inferred has the value, where that is so."""
        domains = [each.domain for each in policy.data.columns.values() if {"private", "sensitive"} & set(each.roles)]
        known = {value for domain in domains for value in domain}
        if self.value is None or self.value in known or not all(domains):  # a domain may be left open
            return super().missing_requirements(policy)
        hint = nearest_name(self.value, known, "name a value of the secret")
        return f"{self.value!r} is no value of a column that may be inferred ({hint})"

    def public_in(self, case: api.ScoringContext) -> api.Public:
        """Nothing bounds how far one person moves a Matthews correlation: it cannot be rounded for the public."""
        return "verdict" if self.measure == "mcc" else self.public

    def score(self, case: api.ScoringContext) -> api.Score:
        asked, error = TargetBelief(case, self.value), (1 - self.confidence) / case.comparisons
        table, control = asked.groups
        if not len(table) or not len(control):
            raise api.InconclusiveError("there are no targets in the table, or none in the control")
        leaks = leaks_of(self.measure, table, control, self.top, error)
        value, low, high = leaks.larger
        if asked.determined_by:
            low = min(low, self.bound)  # imputation could know the value, so that no gain is claimed
        columns, smallest = self._columns(asked), smallest_detectable(self, asked, leaks.larger, error)
        evidence = {
            "columns": api.AuditorOnly(columns),
            "leaks": api.AuditorOnly({name: leak.document() for name, leak in leaks._asdict().items()}),
            "without_identical": api.AuditorOnly(self._without_identical(asked, error)),
            "people_asked": api.AuditorOnly({"table": len(table), "control": len(control)}),
            "measure": self.measure,
            **({"top": self.top} if self.measure == "ppv" else {}),
            **({"of_value": self.value} if self.value is not None else {}),
            "determined_by": api.AuditorOnly(list(asked.determined_by)),
            "smallest_detectable": api.AuditorOnly(smallest),
            "says": api.AuditorOnly(self._words(asked, columns, leaks, smallest)),
        }
        insufficient = leak_power_problem(self, asked, error) if self.holds(high) else ""
        return api.Score(
            value,
            interval=(low, high),
            insufficient=insufficient,
            largest=largest_leak(self, asked),
            remedy=REMEDIES.get(insufficient, ""),
            sensitivity=self._sensitivity(asked),
            evidence=evidence,
        )

    def top_of(self, asked: TargetBelief) -> int:
        """Of how many people the positive predictive value is, at most all of each group."""
        return min(self.top, *map(len, asked.groups))

    def _sensitivity(self, asked: TargetBelief) -> float:
        """The most by which one person of the table or the control moves the larger leak; 0 where nothing bounds it.

        A person counts for both the attack and the imputation, and may move from one group to the other. The release
        and the auxiliary people stay as they are.
        """
        if self.measure == "mcc":
            return 0.0
        sizes = [max(1, len(people) - 1) for people in asked.groups]
        sizes = [min([*sizes, self.top])] * 2 if self.measure == "ppv" else sizes
        return math.fsum(2 / size for size in sizes)

    def _without_identical(self, asked: TargetBelief, error: float) -> dict[str, float]:
        """The leak over those people of the control who are identical to nobody in the table; it is not judged.

        The model says of them what it says of people in the table. Empty where everybody in the control is identical.
        """
        others = asked.everybody.where(~asked.in_table & ~np.asarray(asked.case.membership.identical))
        if not len(others):
            return {}
        leaks = leaks_of(self.measure, asked.groups[0], others, self.top, error)
        return {**leaks.over_control.document(), "control": len(others)}

    def _columns(self, asked: TargetBelief) -> dict[str, dict[str, float]]:
        """Each measure of the prior, the imputation and the attack for people of the table, and of both for others."""
        table, control = asked.groups
        top = self.top_of(asked)
        prior = measured("accuracy", table.truth, np.tile(asked.prior, (len(table), 1)), top)
        commonest = prior if table.value is None else float(asked.prior[table.value])
        columns = {
            "imputation": (table.truth, table.imputation),
            "attack": (table.truth, table.attack),
            "attack_on_control": (control.truth, control.attack),
            "imputation_on_control": (control.truth, control.imputation),
        }
        return {
            "prior": {"accuracy": round(prior, 6), "ppv": round(commonest, 6), "mcc": 0.0},
            **{
                name: {measure: round(measured(measure, *beliefs, top, table.value), 6) for measure in MEASURES}
                for name, beliefs in columns.items()
            },
        }

    def _words(
        self, asked: TargetBelief, columns: dict[str, dict[str, float]], leaks: Leaks, smallest: float | None
    ) -> str:
        """The columns, both leaks and which leaks the attack would see, for auditors."""
        table, control = asked.groups
        numbers = {name: f"{column[self.measure]:.3g}" for name, column in columns.items()}
        name = MEASURE_WORDS[self.measure].format(top=self.top_of(asked))
        name += f" to have {self.value}" if self.value is not None else ""
        parts = [
            f"{name} for {len(table)} people of the table: {numbers['attack']} by the attack, {numbers['imputation']} "
            f"by imputation without the model, {numbers['prior']} by the commonest value",
            f"for {len(control)} people of the control: {numbers['attack_on_control']} by the attack, "
            f"{numbers['imputation_on_control']} by imputation",
            f"the attack gains {leaks.over_imputation} over imputation",
            f"that is {leaks.over_control} more than on the control",
        ]
        if asked.determined_by:
            known = " and ".join(asked.determined_by)
            parts.append(f"the column is a function of {known}, so imputation knows it, and no gain is claimed")
        elif asked.belief.planted is None:
            parts.append("the attack is not repeated on planted leaks")
        else:
            seen = "none" if smallest is None else f"those of {smallest:g} or more"
            parts.append(f"of planted leaks it sees {seen}")
        return "; ".join(parts)


# --- Would the attack have seen a leak? ---

NAME_REPEATING = (
    "the owner of the policy may judge this limit by an attack that repeats itself on planted leaks, such as "
    "`likelihood` (`of`); limit what leaves prove by `attribute_certain`"
)
UNSEEN = unseen("people")
UNBREAKABLE = (
    "no release could break this limit: an attack that knows everybody's value gains less than that over imputation "
    "without the model, as where imputation is right for nearly everybody, or fewer than `top` people have the `value`"
)
LIMIT_RARE_VALUES = (
    "Limit what sees rare values, beside it or in its place: `measure: mcc`, or `measure: ppv` of the rare `value` "
    "with a `top` of no more people than have it."
)
NAME_STRONGER = (
    "The owner of the policy may judge this limit by an attack that sees more (`of`), such as `likelihood` with "
    "`calibration: members`; or name more people in data.control."
)
REMEDIES = {api.UNPLANTED: NAME_REPEATING, UNBREAKABLE: LIMIT_RARE_VALUES, UNSEEN: NAME_STRONGER}
BELOW_CHANCE = "the limit is not above 0, which an attack reaches that learns nothing, so no leak is as small"


def leaking_people(measure: Measure, top: int, people: Beliefs, size: float, rng: np.random.Generator) -> api.Mask:
    """Some people such that an attack which knows just their values has a gain over imputation of this size.

    As few as that needs, in random order, of those whom the imputation gets wrong; all of these where an attack that
    knows all values gains less. Where the measure is the positive predictive value they are of all people: the
    imputation is surest of few whom it gets wrong.

    Args:
        measure: by which the gain is measured.
        top: as `measured` takes it.
        people: from one; what the attack believes of them is not read.
        size: of the gain, above 0.
        rng: of the order.

    Returns:
        Shape (n_people,).
    """
    guesses = most_probable(people.imputation)
    known = guesses[np.arange(len(people)), people.truth] & (guesses.sum(axis=1) == 1)
    order = rng.permutation(np.arange(len(people)) if measure == "ppv" else np.flatnonzero(~known))

    def leaking(number: int) -> api.Mask:
        mask = np.zeros(len(people), dtype=bool)
        mask[order[:number]] = True
        return mask

    def gained(number: int) -> float:
        return gain_of_knowing(measure, top, people, leaking(number))

    return leaking(bisect_left(range(len(order)), size - ROUNDING, key=gained))


def gain_of_knowing(measure: Measure, top: int, people: Beliefs, known: api.Mask) -> float:
    """What an attack that knows the values of some people, and nothing else, gains over imputation.

    Args:
        measure: by which the gain is measured.
        top: as `measured` takes it.
        people: from one; what the attack believes of them is not read.
        known: shape (n_people,), whose values it knows.
    """
    posterior = people.imputation.copy()
    posterior[known] = np.eye(posterior.shape[1])[people.truth[known]]
    knowing, imputed = (
        measured(measure, people.truth, each, top, people.value) for each in (posterior, people.imputation)
    )
    return knowing - imputed


def planted_posterior(belief: api.AttributeBelief, values: api.Codes, leaking: api.Mask, repetition: int) -> Posterior:
    """What the attack believes where the values of some people leak; InconclusiveError where it cannot say it.

    Args:
        belief: of the attack, about targets.
        values: shape (n_targets,), the position of the value that each target is to have.
        leaking: shape (n_targets,), whose answers depend on their value.
        repetition: its number, from 0.
    """
    plant = belief.planted
    if plant is None:
        raise api.InconclusiveError(api.UNPLANTED)
    numbers = repeat_on_leak(lambda: np.array(plant(values.copy(), leaking.copy(), repetition), dtype=float))
    if numbers.shape != np.shape(belief.posterior):
        raise api.InconclusiveError(f"the attack returns no posterior of {len(values)} people on a planted leak")
    proper = np.isfinite(numbers).all() and (numbers >= 0).all()
    if not proper or (np.abs(numbers.sum(axis=1) - 1) > POSTERIOR_TOLERANCE).any():
        raise api.InconclusiveError("the attack returns a posterior that is no distribution on a planted leak")
    return numbers


def planted_leak(metric: AttributeLeak, asked: TargetBelief, size: float, error: float, repetition: int) -> Estimate:
    """The larger leak that the attack shows where one of this size is planted.

    Values of all targets are drawn from the imputation's posterior, so that other columns say of them what they say of
    the true ones. Where no leak of them is as large, the largest there is is planted.
    """
    rng = np.random.default_rng([asked.case.known.seed, repetition])
    drawn = np.cumsum(asked.imputation, axis=1)
    drawn /= drawn[:, -1:]
    values = (drawn <= rng.random(len(drawn))[:, None]).sum(axis=1).astype(np.int64)
    in_table = asked.in_table
    planted_in = Beliefs(values, asked.imputation, asked.imputation, asked.value).where(in_table)
    chosen = leaking_people(metric.measure, metric.top_of(asked), planted_in, size, rng)
    leaking = np.zeros(len(values), dtype=bool)
    leaking[np.flatnonzero(in_table)[chosen]] = True
    posterior = planted_posterior(asked.belief, values, leaking, repetition)
    people = Beliefs(values, posterior, asked.imputation, asked.value)
    return leaks_of(metric.measure, people.where(in_table), people.where(~in_table), metric.top, error).larger


def largest_leak(metric: AttributeLeak, asked: TargetBelief) -> float:
    """What an attack that knows everything would gain over imputation for people of the table."""
    people = asked.groups[0]
    return gain_of_knowing(metric.measure, metric.top_of(asked), people, np.ones(len(people), dtype=bool))


def leak_power_problem(metric: AttributeLeak, asked: TargetBelief, error: float) -> str:
    """Why the attack might not have seen a leak of the size of the metric's limit; empty where it would.

    Where no tree tests the column there is no leak. Elsewhere the attack sees it where the interval is above 0, so that
    there is a leak at all, and where its upper end is beyond nine tenths of the leak: the interval of a release with
    such a leak does not keep the limit then, or hardly. Where no gain over imputation is as large as the limit, the
    largest one there is has to put the interval's end beyond all of it, as it may by the comparison with the control.

    Args:
        metric: with its limit.
        asked: the attack's belief, the targets and their values.
        error: of the intervals of both leaks together, in (0, 1).
    """
    if metric.bound <= 0:
        return BELOW_CHANCE
    if not asked.targets.tested:
        return ""
    is_possible = largest_leak(metric, asked) >= metric.bound - ROUNDING
    if not is_possible and asked.determined_by:
        return ""  # whoever knows these columns knows the value

    def sees(repetition: int) -> bool:
        leak = planted_leak(metric, asked, metric.bound, error, repetition)
        return shows_leak(leak, metric.bound, part=SEEN_PART if is_possible else 1.0)

    problem = power_problem(sees, UNSEEN)
    return UNBREAKABLE if problem and not is_possible else problem


def smallest_detectable(metric: AttributeLeak, asked: TargetBelief, leak: Estimate, error: float) -> float | None:
    """The smallest of some sizes such that the attack sees that there is a leak; None where it sees none.

    Where a leak is planted, nothing else makes the attack differ from imputation. What the audited model says of people
    does so, too, so that a leak that is smaller than the lower part of its interval is not seen.

    Args:
        metric: by whose interval the leak is seen.
        asked: the attack's belief, the targets and their values.
        leak: the larger leak of the audited model.
        error: of the intervals of both leaks together, in (0, 1).
    """

    def is_seen(size: float) -> bool:
        return all(planted_leak(metric, asked, size, error, repetition).low > 0 for repetition in range(QUICK_REPEATS))

    if asked.belief.planted is None:
        return None
    largest = largest_leak(metric, asked) + ROUNDING
    sizes = [size for size in LEAK_SIZES if leak.value - leak.low < size <= largest]
    try:
        first = bisect_left(range(len(sizes)), True, key=lambda index: is_seen(sizes[index]))
    except api.InconclusiveError:
        return None
    return sizes[first] if first < len(sizes) else None


# --- Certain people ---


class AttributeCertain(api.ReleaseAtMost):
    """The number of people in the table whose value of a column the release proves: a limit on single people."""

    use: Literal["attribute_certain"] = "attribute_certain"
    confidence: api.OpenProbability = Field(
        default=0.95,
        description="The confidence that the intervals of all limits on inferred columns hold together.",
    )

    policy_example = "at_most: 0"
    judges = frozenset({api.AttributeBelief})
    unit = api.Unit.PEOPLE
    threat_model = "Whatever the attack it judges assumes; the adversary knows who is in the table."
    formula = "targets in the table for whom the release excludes all values but one; at most: as many of all people"
    scale = "from 0"
    interpretation = "0: the release proves nobody's value; averages over people hide these people"
    plain_failure = "the release proves {secret} of single people in the table"
    source = "counting; the interval by Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404"

    def score(self, case: api.ScoringContext) -> api.Score:
        asked = TargetBelief(case)
        if asked.belief.certain is None:
            raise api.UnreadableError("the attack proves no values")
        certain, in_table = np.asarray(asked.belief.certain), asked.in_table
        proved, right = certain >= 0, certain == asked.truth
        people, members = int(case.table.persons.sum()), int(in_table.sum())
        count, true_count = int((proved & in_table).sum()), int((right & in_table).sum())
        low, high = count, upper_bound_of_all(count, members, people, (1 - self.confidence) / case.comparisons)
        if true_count < count:
            low, high = true_count, people  # what does not hold bounds nothing
        on_control = proved & ~in_table
        insufficient = NOT_ALL_ASKED if members < people and self.holds(count) and not self.holds(high) else ""
        evidence = {
            "proved": api.AuditorOnly(count),
            "proved_rightly": api.AuditorOnly(true_count),
            "proved_and_imputed": api.AuditorOnly(int((proved & in_table & asked.everybody.imputation_right).sum())),
            "on_control": api.AuditorOnly(
                {
                    "people": int((~in_table).sum()),
                    "proved": int(on_control.sum()),
                    "right": int((on_control & right).sum()),
                }
            ),
            "people_asked": api.AuditorOnly(members),
            "says": api.AuditorOnly(_certain_words(asked, proved, right)),
        }
        return api.Score(
            float(count),
            interval=(float(low), float(high)),
            insufficient=insufficient if true_count == count else WRONG_PROOF,
            evidence=evidence,
        )


WRONG_PROOF = "what the attack proves of people who are in the table is wrong of some: it does not hold here"

NOT_ALL_ASKED = (
    "some people of the table are no targets, and the values of more than the limit allows may be proved: raise "
    "`knows: {candidates: ...}`"
)


def _certain_words(asked: TargetBelief, proved: api.Mask, right: api.Mask) -> str:
    """Of how many people a value is proved, how often rightly, and whom imputation would guess, for auditors."""
    in_table = asked.in_table
    inside, outside = proved & in_table, proved & ~in_table
    imputed_rightly = int((inside & asked.everybody.imputation_right).sum())
    parts = [
        f"of {int(inside.sum())} of {int(in_table.sum())} people of the table the value is proved, of "
        f"{int((inside & right).sum())} rightly",
        f"imputation without the model guesses the value of {imputed_rightly} of these people",
        f"of {int(outside.sum())} of {int((~in_table).sum())} people of the control a value would be proved if they "
        "were in the table",
    ]
    if outside.any():
        share = float(right[outside].mean())
        parts.append(f"it is right for {share:.1%} of these: for the rest the proof needs that people are in the table")
    return "; ".join(parts)
