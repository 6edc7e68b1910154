"""Trials: a candidate is written as the file that it would be, and the bytes of that file are audited."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from leafgate.algorithms.usefulness import Goal, Usefulness, usefulness
from leafgate.api import Ids, InconclusiveError, Metric, PersonMetric, Release, ReleaseError, Table
from leafgate.commands.convert import rare_cells
from leafgate.commands.convert.rounding import with_rounded_numbers
from leafgate.commands.convert.scrub import LeafContent, minimise, with_leaves
from leafgate.errors import Problem
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.findings import Finding, Report
from leafgate.kernel.metrics import can_break_protection
from leafgate.kernel.policy import Policy
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.models.reader import read_foreign
from leafgate.models.writer import check_original, model_as_file, model_writer, writable_suffixes
from leafgate.progress import progress_step
from leafgate.readers import ModelIR
from leafgate.search.budget import Budget
from leafgate.search.people import FOLDS, Parts, folds_of, parts_of, rows_at
from leafgate.search.remedies import UNSEARCHED
from leafgate.session.audit import Audit
from leafgate.session.run import Session

UNITS = (100, 10)
"""Shares are rounded to multiples of 1 / units, first to two digits, then to one, from which less can be derived."""
NEUTRAL_SUFFIX = ".json"
SEARCHED = 0.7
"""The share of the work in which candidates are searched; the rest is left to compare the best of them."""

Step = Literal["scrub", "coarser leaves", "pruning", "fewer trees", "distillation", "refit"]
STEPS: tuple[Step, ...] = ("scrub", "coarser leaves", "pruning", "fewer trees", "distillation", "refit")
"""The steps of the ladder, the least change first."""

FITTED_ANEW: frozenset[Step] = frozenset({"distillation", "refit"})
"""Steps that do not cut the given model."""

LEVELS: tuple[LeafContent, ...] = ("counts", "shares", "labels")


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate and the audit of its file.

    Attributes:
        step: What was done to the given model.
        words: How, in words.
        model: The model as its file has it.
        leaves: What stands on the leaves of the file.
        content: The file.
        report: The audit of these bytes, by the limits that candidates are chosen by.
        release: What the audit made of these bytes.
        use: How useful it is to the people that candidates are chosen by; None where that is not known.
        loss: What an exact solution lost on the training people; None for other candidates.
        fit: Gives what is fitted in the same way on all but one fold of the table; None where that is not done.
    """

    step: Step
    words: str
    model: ModelIR
    leaves: LeafContent
    content: bytes
    report: Report
    release: Release | None
    use: Usefulness | None = None
    loss: int | None = None
    fit: Callable[[int], Release | None] | None = field(default=None, repr=False)

    @property
    def passes(self) -> bool:
        return self.report.verdict == "pass"

    @property
    def value(self) -> float:
        """Its usefulness as a number; below all others where it is not known."""
        return float("-inf") if self.use is None else self.use.value

    @property
    def sure(self) -> float:
        """Its usefulness less half of its standard error."""
        return float("-inf") if self.use is None else self.use.value - self.use.error / 2


@dataclass(eq=False)
class Workbench:
    """A policy with its tables, and a private folder in which candidates are written and audited.

    Attributes:
        session: The policy and its tables.
        folder: Where candidates are written; nobody else can read it.
        name: The name of the new file, whose ending is its format.
        original: The bytes of the given model's file.
        goal: What candidates are chosen by.
        budget: How much is tried.
        problem: Why the last candidate that could not be written could not.
        best: The most useful candidate that passes, so far.
        known: The audit of the given file by the whole policy, where somebody made it already.
        given: What that audit made of it.
        given_findings: The findings of that audit.
    """

    session: Session
    folder: Path
    name: str
    original: bytes
    goal: Goal = "accuracy"
    budget: Budget = field(default_factory=Budget)
    problem: ReleaseError | None = None
    best: Trial | None = field(default=None, repr=False)
    known: Audit | None = field(default=None, repr=False)
    given: SealedRelease | None = field(default=None, repr=False)
    given_findings: Sequence[Finding] = field(default=(), repr=False)

    @classmethod
    @contextmanager
    def opened(
        cls, session: Session, name: str, original: bytes, goal: Goal = "accuracy", budget: Budget | None = None
    ) -> Iterator[Workbench]:
        """A workbench whose folder is deleted in the end; without a budget the search ends by itself."""
        with tempfile.TemporaryDirectory(prefix="leafgate-") as folder:
            yield cls(session, Path(folder), name, original, goal, budget or Budget())

    @property
    def has_searched(self) -> bool:
        """Is the part of the budget used up in which candidates are looked for? All of it, as long as none passes."""
        return self.budget.is_over(1.0 if self.best is None else SEARCHED)

    @property
    def encoding(self) -> dict[str, Encoding]:
        """What the policy states of the model's features."""
        return getattr(self.session.policy.build, "encoding", {})

    @cached_property
    def people(self) -> rare_cells.TableOfPolicy:
        """The people with whose cells the new file is compared."""
        return rare_cells.TableOfPolicy.of(self.session, self.name)

    @cached_property
    def parts(self) -> Parts:
        """Who candidates are chosen by, and who the result is reported on."""
        return parts_of(self.session.tables)

    @cached_property
    def fold(self) -> Ids:
        """In which part of the table each record is, or each person: `folds_of`."""
        return folds_of(self.session.table, FOLDS)

    @property
    def is_neutral(self) -> bool:
        """Is the new file a neutral one, which needs nothing of the given file?"""
        return self.name.lower().endswith(NEUTRAL_SUFFIX)

    @cached_property
    def searched_policy(self) -> Policy:
        """The policy without the attacks that train models or are judged by samples of people.

        The best of many candidates by such limits is the one whose sample was lucky: they are asked of the winner.
        """
        policy = self.session.policy
        attacks = tuple(attack for attack in policy.attacks if not attack.needs & UNSEARCHED)
        if len(attacks) == len(policy.attacks):
            return policy
        called = {attack.called for attack in attacks}
        metrics = tuple(one for one in policy.metrics if self._is_judged_by(one, called))
        limits = metrics if can_break_protection(metrics) else ()
        return policy.model_copy(update={"attacks": attacks, "metrics": limits, "waivers": ()})

    def _is_judged_by(self, metric: Metric, attacks: Collection[str]) -> bool:
        """Did one of these attacks, or none at all, lead to a finding of the metric on the given file?"""
        return metric.called in {
            one.metric for one in self.given_findings if one.attack is None or one.attack in attacks
        }

    @property
    def has_sampled_limits(self) -> bool:
        """Are there limits that only the winner is asked of?"""
        return self.searched_policy is not self.session.policy

    @cached_property
    def keeps_features(self) -> bool:
        """Is the new file made of the given one, whose features it keeps?"""
        return model_writer(self.name, self.session.plugins.readers).check_original is not None

    @cached_property
    def rounds_numbers(self) -> bool:
        """Does the policy limit what files disclose, so that numbers on leaves need fewer digits?"""
        policy = self.session.policy
        limited = any(metric.use == "file_disclosure" for metric in policy.metrics)
        return limited or (policy.publish is not None and policy.publish.leaves != "counts")

    def audit_given(self, path: Path) -> tuple[Report, Release | None]:
        """The audit of the given file by the whole policy, and the release that it made of the file."""
        witness = getattr(self.session.policy.build, "witness", None)
        audited = self.known or self._audited(path, self.session.policy, witness)
        self.given, self.given_findings = audited.artifact, audited.report.findings
        return audited.report, None if audited.artifact is None else audited.artifact.release

    def disclosed_against_limits(self, model: ModelIR, leaves: LeafContent) -> str:
        """What the file of a model discloses in violation of a limit on files; empty where it violates none.

        It is also empty where the model cannot be written so: the trial of the candidate reports that.
        """
        metrics = [one for one in self.session.policy.metrics if one.use == "file_disclosure"]
        try:
            content = self.written(model, leaves)[1]
        except ReleaseError:
            return ""
        report, release = self._audited_part(content, metrics, ())
        if release is None or release.file is None or not any(one.is_of_file and one.fails for one in report.findings):
            return ""
        items = [item.says for item in release.file.discloses if item.severity == "high"]
        return "; ".join(dict.fromkeys(items)) or "see leafgate audit"

    @property
    def other_endings(self) -> list[str]:
        """The endings of the other formats that are written."""
        return [each for each in writable_suffixes(self.session.plugins.readers) if each != Path(self.name).suffix]

    def findings_of(self, content: bytes, metrics: Sequence[Metric], attacks: Collection[str]) -> Sequence[Finding]:
        """The findings of these metrics alone on a file, by the attacks of these names."""
        return self._audited_part(content, metrics, attacks)[0].findings

    def _audited_part(
        self, content: bytes, metrics: Sequence[Metric], attacks: Collection[str]
    ) -> tuple[Report, Release | None]:
        """The audit of a file by some metrics and attacks, whatever format it has."""
        path = self.folder / "part.json"
        write_file(path, content, OWNER_ONLY)
        policy = self.session.policy
        chosen = tuple(attack for attack in policy.attacks if attack.called in attacks)
        less = policy.model_copy(update={"metrics": tuple(metrics), "attacks": chosen, "waivers": ()})
        return self._audit(path, less)

    def _audit(
        self, path: Path, policy: Policy, witness: Path | None = None, control: Table | None = None
    ) -> tuple[Report, Release | None]:
        audited = self._audited(path, policy, witness, control)
        return audited.report, None if audited.artifact is None else audited.artifact.release

    def _audited(self, path: Path, policy: Policy, witness: Path | None = None, control: Table | None = None) -> Audit:
        """The audit of a file with the answers of its own model, which candidates have not."""
        build = policy.build.model_copy(update={"path": path, "witness": witness})
        tables = self.session.tables
        tables = tables if control is None else replace(tables, control=control)
        audit = replace(self.session, policy=policy.model_copy(update={"build": build}), tables=tables).audit()
        trees = 0 if audit.artifact is None else len(audit.artifact.release.trees)
        persons = self.session.table.person_rows
        self.budget.count_audit(len(self.session.table), trees, 0 if persons is None else persons.people)
        return audit

    def written(self, model: ModelIR, leaves: LeafContent) -> tuple[ModelIR, bytes]:
        """The model with no more than `leaves` on its leaves, and its file in the format of the new name.

        Its thresholds are no numbers of a few people, where others send everybody in the table the same way.
        Raises ReleaseError where the model cannot be written so.
        """
        model = with_rounded_numbers(model) if self.rounds_numbers else model
        for units in UNITS if leaves == "shares" else UNITS[:1]:
            try:
                if self.keeps_features:
                    less = with_leaves(model, leaves, self.name, units)
                else:
                    less = minimise(model, leaves, self.name, units, kept=self.encoding)
                less = rare_cells.complete_public_lists(less, self.people) if self.is_neutral else less
                less = rare_cells.move_rare_thresholds(less, self.people)
                return less, model_as_file(less, self.original, self.name, self.session.plugins.readers)
            except ReleaseError as error:
                problem = error
        raise problem

    def reduced(self, model: ModelIR, leaves: LeafContent) -> ModelIR:
        """The model with the numbers on its leaves that `written` leaves there, shares with two digits."""
        return with_leaves(with_rounded_numbers(model) if self.rounds_numbers else model, leaves, self.name)

    def refuse_format(self, model: ModelIR) -> None:
        """Refuse a format that cannot hold the given model, or of which no audit could read it, before any search.

        Raises:
            ReleaseError: why, and which formats can hold it.
            InconclusiveError: a library that writes the format is not installed.
        """
        if self.is_neutral:
            return
        problem = self._problem_of_format(model, self.name)
        if problem is None:
            return
        others = [each for each in self.other_endings if self._problem_of_format(model, f"new{each}") is None]
        remedy = f"end the new file's name in {' or '.join(others)}" if others else problem.hint
        why = replace(problem, hint="")
        raise ReleaseError(f"files that end so cannot hold the given model: {why}", place=self.name, remedy=remedy)

    def _problem_of_format(self, model: ModelIR, name: str) -> Problem | None:
        """Why no file of this name holds the model, whatever stands on its leaves; None where one does."""
        readers, found = self.session.plugins.readers, None
        for leaves in LEVELS:
            try:
                less = with_leaves(model, leaves, name, None)
            except ReleaseError:  # it has not so much on its leaves, or cannot do with so little
                continue
            try:
                check_original(self.original, name, readers)
                content = model_as_file(less, self.original, name, readers)
                again = read_foreign(content, name, readers)
                lower_model(again, self.session.table.schema, self.encoding, name)
                return None
            except ReleaseError as error:
                found = error.problems[0]
            except InconclusiveError:
                if name == self.name:
                    raise
                return Problem(name, "needs a library that is not installed")
        return found

    def unmerged(self, model: ModelIR, leaves: LeafContent) -> bytes:
        """The model as a neutral file in which no leaves are made one, and shares are not rounded."""
        from leafgate.commands.convert.neutral import written

        return written(self._unmerged(model, leaves))

    def without_rare_values(self, model: ModelIR, leaves: LeafContent) -> rare_cells.MergedModel:
        """The model that takes values which few people have for values that it has never seen."""
        return rare_cells.merge_rare_values(model, self._unmerged(model, leaves), self.people, dummies=self.is_neutral)

    def _unmerged(self, model: ModelIR, leaves: LeafContent) -> ModelIR:
        return minimise(model, leaves, self.name, None, merge=False, kept=self.encoding)

    def trial(
        self, model: ModelIR, leaves: LeafContent, step: Step = "pruning", words: str = "", loss: int | None = None
    ) -> Trial | None:
        """The candidate's file with its audit; None where no such file can be written."""
        with progress_step(f"{step}{words and ': '}{words}{self._best_words()}"):
            try:
                less, content = self.written(model, leaves)
            except ReleaseError as error:
                self.problem = error
                return None
            if is_constant(less) and not is_constant(model):
                return None  # no digit is left of what its leaves say
            path = self.folder / self.name
            write_file(path, content, OWNER_ONLY)
            report, release = self._audit(path, self.searched_policy)
            use = None if release is None else self.use_of(release, self.parts.choosing or self.session.table)
            found = Trial(step, words, less, leaves, content, report, release, use, loss)
        if found.passes and (self.best is None or found.value > self.best.value):
            self.best = found
        return found

    def _best_words(self) -> str:
        return f"; the best that passes: {self.best.step}" if self.best is not None else ""

    def use_of(self, release: Release, people: Table) -> Usefulness | None:
        """How useful a release is to people; None where that cannot be said."""
        try:
            return usefulness(release, people, self.goal)
        except InconclusiveError:
            return None

    def judged(self, trial: Trial, control: Table | None) -> Trial:
        """The candidate with its audit by the whole policy, by other people as `data.control`."""
        path = self.folder / self.name
        write_file(path, trial.content, OWNER_ONLY)
        report, release = self._audit(path, self.session.policy, control=control)
        return replace(trial, report=report, release=release)

    def halves_of_control(self) -> tuple[Table | None, Table | None]:
        """The people of `data.control` in two halves, for a first look and for the last one."""
        control = self.session.tables.control
        if control is None:
            return None, None
        first = folds_of(control, 2) == 0
        return rows_at(control, first), rows_at(control, ~first)


def is_constant(model: ModelIR) -> bool:
    """Does the model predict the same for everybody?"""
    return all(tree.nodes == 1 for tree in model.trees)


def person_metrics(metrics: Sequence[Metric]) -> list[PersonMetric]:
    """The limits that judge each person, and no mean over people."""
    return [metric for metric in metrics if isinstance(metric, PersonMetric) and not metric.average]
