"""Audits with a change, against the broken limits alone or whole, and bisection on a fixed ladder of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leafgate.algorithms.prediction import predict
from leafgate.algorithms.pruned_release import is_constant, largest_leaf_count
from leafgate.algorithms.sampling import has_same_records
from leafgate.algorithms.usefulness import Goal, Usefulness, usefulness
from leafgate.engine.remedies.static import has_own_command
from leafgate.engine.report import Audit
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.findings import UNLIMITED, Finding, Report
from leafgate.kernel.policy import Policy
from leafgate.kernel.table import Table

MEASURES: dict[Goal, str] = {
    "auc": "The area under the ROC curve (0.5 for a constant)",
    "balanced_accuracy": "The share of people predicted rightly, as the mean over the classes (one over their number "
    "for a constant),",
}
"""How well a release predicts, by what it publishes: scores, or labels alone. Neither flatters a constant."""
OWN_PEOPLE = "of the table's own people, which flatters what was learned from them"
OTHER_PEOPLE = "of the people of `data.test`"
STEPS = (1, 2, 5)
"""The first digits of the ladder: a value that passes discloses no more than which coarse settings pass."""


Trial = Audit
"""An audit with a change: its report, and what was built."""

Run = Callable[[Policy], Trial]
"""Audits by a policy on the same tables, without a search of its own."""


def ladder(above: int, most: int) -> list[int]:
    """The values 1, 2, 5, 10, 20, 50, ... above one number and up to another.

    >>> ladder(2, 120)
    [5, 10, 20, 50, 100]
    """
    powers = (10**power for power in range(len(str(max(most, 1)))))
    return [step * power for power in powers for step in STEPS if above < step * power <= most]


def first_kept(number: int, is_kept: Callable[[int], bool | None]) -> int | None:
    """The first position of a ladder from which on limits are kept, by bisection.

    Args:
        number: how many positions there are.
        is_kept: whether limits are kept at a position; None where nothing can be built there, which asks for too much,
            so that smaller positions are tried.

    Returns:
        None where limits are kept at no position that was tried.

    >>> first_kept(8, lambda position: position >= 5)
    5
    """
    low, high, first = 0, number - 1, None
    while low <= high:
        middle = (low + high) // 2
        kept = is_kept(middle)
        first = middle if kept else first
        low, high = (middle + 1, high) if kept is False else (low, middle - 1)
    return first


@dataclass
class Trials:
    """The trials of one search, on the tables of one audit.

    `tried` says in words what was tried, `tried_labels` whether labels alone were, and `use_now` how useful the audited
    release is: to other people where the policy names some in `data.test`, else to the table's.
    """

    policy: Policy
    table: Table
    report: Report
    artifact: SealedRelease | None
    run: Run
    test: Table | None = None
    tried: list[str] = field(default_factory=list)
    tried_labels: bool = False
    use_now: dict[Goal, Usefulness | None] = field(default_factory=dict)

    @cached_property
    def measured(self) -> tuple[Table, str]:
        """Whom releases are measured on, and in words who they are; a test that is the table itself counts as none."""
        if self.test is None or not len(self.test) or has_same_records(self.test, self.table):
            return self.table, OWN_PEOPLE
        return self.test, OTHER_PEOPLE

    @property
    def failed(self) -> list[Finding]:
        """The findings that something is sought for."""
        return [finding for finding in self.report.findings if finding.fails and not has_own_command(finding)]

    def _restricted(self) -> Policy:
        """The policy with only the attacks and the limits that failed."""
        names = {finding.metric for finding in self.failed}
        attackers = {finding.attack for finding in self.failed}
        metrics = tuple(each for each in self.policy.metrics if each.called in names)
        attacks = tuple(each for each in self.policy.attacks if each.called in attackers)
        changes = {"metrics": metrics or self.policy.metrics, "attacks": attacks, "waivers": ()}
        return self.policy.model_copy(update=changes)

    def trial(self, *, whole: bool, **changes: Any) -> Trial | None:
        """An audit by the policy with changes; None where it cannot be run at all."""
        policy = self.policy.model_copy(update={"waivers": ()}) if whole else self._restricted()
        try:
            return self.run(policy.model_copy(update=changes))
        except LeafgateError:
            return None

    def keeps(self, trial: Trial | None) -> bool:
        """Does every limit hold, but for what could not be determined before either?

        The limits of a restricted policy may all be on use, which is no doubt about the whole one (`unlimited`).
        """
        if trial is None or trial.artifact is None:
            return False
        findings = self.report.findings
        aside = {each.id for each in findings if each.passed is None or each.waiver or has_own_command(each)}
        aside.add(UNLIMITED)
        return all(finding.passed or finding.id in aside for finding in trial.report.findings)

    def smallest(self, values: Sequence[int], trial_of: Callable[[int], Trial | None]) -> int | None:
        """The position of the least value for which the broken limits hold; None where they hold for none."""

        def is_kept(position: int) -> bool | None:
            trial = trial_of(values[position])
            return None if trial is None or trial.artifact is None else self.keeps(trial)

        return first_kept(len(values), is_kept)

    def note_broken(self, whole: Trial | None) -> None:
        """Add to what was tried last which limits then break that were not broken before."""
        broken = [] if whole is None else [finding.id for finding in whole.report.findings if finding.fails]
        also = ", ".join(f"`{each}`" for each in broken[:3])
        self.tried[-1] += f" (the broken limits then hold, and {also} does not)" if also else ""

    def why_not(self, below: int, option: str) -> str:
        """Why the value below does not do, in a clause."""
        hidden = [column.name for column in self.table.schema.columns if "private" in column.roles]
        widen = "private columns widen what a leaf discloses, so " if hidden and option != "k" else ""
        return f"; {widen}{below:,} is not enough"

    def kept(self, whole: Trial) -> str:
        """Which limits hold in a trial that keeps what it is to keep, as the object of a sentence."""
        others = [f"`{finding.id}`" for finding in whole.report.findings if not finding.passed]
        return f"every limit but {', '.join(others)}" if others else "every limit"

    def details(self, trial: Trial, *, of_cut: bool = False) -> str:
        """How large the smallest group would be, and what the change costs in use, for auditors.

        Args:
            trial: with the change.
            of_cut: whether the change is to cut the given trees back.
        """
        groups = (finding.masking.smallest_group for finding in trial.report.findings)
        sizes = [size for size in groups if size is not None]
        leaves = leaves_of(trial)
        clauses = [f"the smallest group would be {min(sizes):,}"] if sizes else []
        clauses += [f"the largest tree would have {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"] if leaves else []
        text = ("Cut back so, " if of_cut else "") + ", and ".join(clauses)
        sentences = [f"{text[:1].upper()}{text[1:]}."] if clauses else []
        return " ".join([*sentences, *self._use_lost(trial)])

    def _use_lost(self, trial: Trial) -> Iterator[str]:
        """How well a trial's release predicts beside the audited one; nothing where either is not known."""
        if (goal := self._goal(trial)) is None:
            return
        if goal not in self.use_now:
            self.use_now[goal] = self._use(self.artifact, goal)
        after, now = self._use(trial.artifact, goal), self.use_now[goal]
        if after is not None and now is not None:
            yield f"{MEASURES[goal]} would be {after.value:.3g}, and is {now.value:.3g} now: {self.measured[1]}."

    def _goal(self, trial: Trial) -> Goal | None:
        """By what a trial's release is compared with the audited one; None where they are not compared."""
        if trial.artifact is None or self.artifact is None:
            return None
        releases = trial.artifact.release, self.artifact.release
        if any(release.predicts_numbers for release in releases):
            return None
        scored = all(release.publish.leaves in {"counts", "shares"} for release in releases)
        return "auc" if scored else "balanced_accuracy"

    def _use(self, artifact: SealedRelease | None, goal: Goal) -> Usefulness | None:
        try:
            return None if artifact is None else usefulness(artifact.release, self.measured[0], goal)
        except InconclusiveError:
            return None

    def predicts_nothing(self, trial: Trial) -> bool:
        """Is what was built in a trial a constant, or no better than one to the people whom it is measured on?"""
        if is_constant_trial(trial):
            return True
        goal = self._goal(trial)
        use = None if goal is None else self._use(trial.artifact, goal)
        return use is not None and use.value <= use.constant

    def leaves_base_rate(self, trial: Trial) -> bool:
        """Does everybody get the same class by a trial's release, and not by the audited one?"""
        if self.predicts_nothing(trial):
            return True
        if trial.artifact is None or self.artifact is None or trial.artifact.release.predicts_numbers:
            return False
        try:
            predicted = [predict(each.release, self.measured[0]) for each in (trial.artifact, self.artifact)]
        except InconclusiveError:
            return False
        after, now = (len(np.unique(classes)) for classes in predicted)
        return after == 1 < now


def leaves_of(trial: Trial) -> int:
    """How many leaves the largest tree of a trial has; 0 where there is none."""
    return 0 if trial.artifact is None else largest_leaf_count(trial.artifact.release)


def is_constant_trial(trial: Trial) -> bool:
    """Is what was built in a trial a constant, which predicts the same for everybody?"""
    return trial.artifact is not None and is_constant(trial.artifact.release)
