"""Limits that no release of a table can keep, because even one group of everybody breaks them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leafgate.api.registry import Plugins, isolate_plugin_errors
from leafgate.engine.scores import scores_of, value_of
from leafgate.errors import LeafgateError
from leafgate.kernel.belief import SecretBelief
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.findings import Remedy
from leafgate.kernel.knowledge import AdversaryKnowledge
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.metrics import Metric, PersonMetric, ValueMetric
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column
from leafgate.kernel.table import Table

IMPOSSIBLE = "no release of this table can keep it"


@dataclass(frozen=True)
class UnkeepableLimit:
    """A limit that even one group of everybody breaks, and with it every release that says anything of its secret.

    Attributes:
        number: the position of the metric in the policy.
        metric: the metric.
        secret: the secret; empty for a limit on the sizes of groups.
        share: the largest share of everybody who have one judged value, or numbers in one narrow window.
        in_window: is it of numbers in one narrow window?
    """

    number: int
    metric: Metric
    secret: str
    share: float
    in_window: bool = False

    @property
    def message(self) -> str:
        """Why it cannot be kept, in a clause without a value or a share: logs are often public."""
        if self.secret and not isinstance(self.metric, ValueMetric):
            return f"{IMPOSSIBLE}: even one group of everybody violates it for {self.secret!r}"
        return f"{IMPOSSIBLE}: {self._why}"

    @property
    def _why(self) -> str:
        return (
            f"too many people have {self._what} of {self.secret!r}" if self.secret else "the table has too few people"
        )

    @property
    def _what(self) -> str:
        """What too many people have."""
        return "numbers in one narrow window" if self.in_window else "one value"

    @property
    def hint(self) -> str:
        """What to do."""
        if not self.secret:
            return "gather more people"
        more = (
            "choose a limit above the share of these people"
            if self.metric.use == "confidence"
            else "choose a weaker limit"
        )
        if not isinstance(self.metric, ValueMetric):
            return more
        if self.in_window:
            return f"{more}; or top-code the outliers that widen its `bins`, and with them the windows"
        return f"{more}; or, if it harms nobody that this value is known of them, name the others with `values`"

    @property
    def remedy(self) -> Remedy:
        """The same as what to do about a finding, whose share is for auditors."""
        details = f"{round_share(self.share)} of all people do." if self.secret else ""
        text = f"No release of this table can keep this limit, because {self._why}: {self.hint}."
        return Remedy(action="advise", text=text, details=details)


def unkeepable_limits(
    metrics: Sequence[Metric], plugins: Plugins, table: Table, *, of_model: bool = False
) -> list[UnkeepableLimit]:
    """The limits on the class that everybody in one group breaks.

    Of other secrets a release may say nothing. A group of everybody has the most people, and no value more often than
    the group that has it most often: what it breaks, some group of every other release breaks too. So a limit is asked
    of such a group by its own metric.

    Args:
        metrics: the limits of a policy.
        plugins: that offer them.
        table: the people.
        of_model: is the release a model's, which predicts the numbers of a class of numbers and not their intervals?
    """
    found = []
    for number, metric in enumerate(metrics):
        if not _is_asked(metric) or not len(table):
            continue
        assert isinstance(metric, PersonMetric)
        for secret in table.schema.having("class"):
            if "sensitive" not in secret.roles or metric.secret not in {None, secret.name}:
                continue
            if _everybody_breaks(metric, plugins, table, secret, of_model=of_model):
                name = "" if metric.groups_only else secret.name
                share, window = largest_shares(metric, table, secret)
                in_window = of_model and window > share
                found.append(UnkeepableLimit(number, metric, name, max(share, window * in_window), in_window))
    return found


def _is_asked(metric: Metric) -> bool:
    """Is it a limit on every person that the composition of groups decides?

    Not one that forgives some people: a small group of these may be beyond it, and the others within.
    """
    if not isinstance(metric, PersonMetric) or SecretBelief not in metric.judges or metric.average or metric.allow:
        return False
    composition = metric.scored in {"worst", "composition"} and metric.can_score("composition")
    return metric.by_equivalence_class and (metric.groups_only or composition)


def _everybody_breaks(metric: PersonMetric, plugins: Plugins, table: Table, secret: Column, *, of_model: bool) -> bool:
    """Does everybody in one group violate the limit?"""
    shares = (
        np.bincount(table.codes(secret.name), weights=table.weight, minlength=len(secret.domain)) / table.total_weight
    )
    public = table.public[0]
    posterior = pd.DataFrame(np.tile(shares, (len(public), 1)), columns=pd.Index(secret.domain, dtype=object))
    belief = SecretBelief(secret.name, posterior, equivalence_class=np.zeros(len(public), dtype=np.int64))
    known = AdversaryKnowledge(table.schema, public)
    case = ScoringContext(table.defensive_copy(), None, _of_everybody(table, of_model=of_model), known, belief)
    try:
        case = case if metric.groups_only else case.with_own_record("composition").of_answered()
        worst = value_of(metric, scores_of(metric, plugins, case)[0], case)
        with isolate_plugin_errors(metric, plugins):
            return not metric.holds(worst)
    except LeafgateError:  # such as a population that is not read here
        return False


def _of_everybody(table: Table, *, of_model: bool) -> Release:
    """A release that says of everybody the same: a class, or where it is a model's a number, which tells of nobody.

    The number is above all of theirs. A mean would tell their total, and a median somebody's number: a limit that these
    break other models may keep.
    """
    target = table.schema.target
    if of_model and target.edges is not None:
        above_all = 2 * float(np.abs(table.numbers(target.name)).max()) + 1
        return Release({"use": "everybody"}, table.schema, (Leaf(value=above_all),))
    return Release({"use": "everybody"}, table.schema, (Leaf(None if target.values is None else target.values[0]),))


def largest_shares(metric: PersonMetric, table: Table, secret: Column) -> tuple[float, float]:
    """The largest share of everybody with one judged value of a secret, and with numbers in one narrow window."""
    chosen = metric.values if isinstance(metric, ValueMetric) else None
    answers = [value not in secret.no_answer for value in secret.domain]
    judged = np.array([chosen is None or value in chosen for value in secret.domain]) & answers
    codes = table.codes(secret.name)
    people = table.people_by(codes, len(judged)) * answers
    answered = table.people_among(np.asarray(answers)[codes])
    share = float(people[judged].max(initial=0) / max(answered, 1))
    if not secret.holds_numbers or table.person_rows is not None:
        return share, 0.0
    from leafgate.algorithms.certainty import Window, Windows

    nobody = np.zeros(len(table), dtype=np.int64)
    windows = Windows.of(table.numbers(secret.name), table.persons, nobody, Window.of(secret))
    return share, float(windows.largest_share(judged[codes])[0])


@dataclass(frozen=True)
class FrequentValue:
    """A value of a secret that nearly everybody has, though limits are on certainty about all values.

    Attributes:
        secret: the secret.
        value: the value.
        others: the other values of the secret.
        share: of all people who have it.
    """

    secret: str
    value: str
    others: tuple[str, ...]
    share: float

    @property
    def pure_by_chance(self) -> int:
        """Of so many people or fewer, a random group has nobody but people with this value more often than 1 %."""
        from leafgate.algorithms.certainty import RARELY

        return math.ceil(math.log(RARELY) / math.log(self.share)) if self.share < 1 else 0

    @property
    def question(self) -> str:
        """The owner's question, without the value and its share: policies are public, and logs often are."""
        return (
            f"nearly all people have one value of {self.secret!r}: small groups are all of this value by chance. Does "
            "it harm anybody that this value is known of them? Only the owner of the data can say"
        )

    @property
    def hint(self) -> str:
        """What to do where it harms nobody."""
        return "if it does not, name the other values in the limits: `values: [...]`"


FREQUENT = 0.9
"""A value of more than this share of all people makes the limits on all values hard to keep."""


def frequent_values(table: Table, metrics: Sequence[Metric]) -> Iterator[FrequentValue]:
    """The values of more than 90 % of the people in secrets whose every value some limit on certainty is on."""
    strict = [each for each in metrics if isinstance(each, ValueMetric) and each.values is None and not each.allow]
    for secret in table.schema.secrets:
        if not secret.countable or not any(each.secret in {None, secret.name} for each in strict):
            continue
        answers = np.array([value not in secret.no_answer for value in secret.domain])
        codes = table.codes(secret.name)
        people = table.people_by(codes, len(secret.domain)) * answers
        shares = people / max(table.people_among(answers[codes]), 1)
        first = int(shares.argmax())
        if FREQUENT < shares[first] < 1:
            domain = [str(value) for value in secret.domain]
            others = tuple(value for i, value in enumerate(domain) if i != first and value not in secret.no_answer)
            yield FrequentValue(secret.name, domain[first], others, float(shares[first]))


def round_up(people: int) -> int:
    """The number with two digits and zeros that is not below: it discloses little of a share of the table.

    >>> [round_up(people) for people in (7, 138, 3452)]
    [7, 140, 3500]
    """
    step = int(10 ** max(len(str(people)) - 2, 0))
    return -(-people // step) * step


def round_share(share: float) -> str:
    """A share of everybody in percent, to three digits but never rounded to all.

    >>> round_share(0.9674), round_share(0.99999)
    ('96.7 %', '99.9 %')
    """
    return f"{min(round(100 * share, 1), 99.9) if share < 1 else 100:g} %"
