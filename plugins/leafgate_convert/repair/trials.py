"""Trials: a candidate is written as the file that it would be, and the bytes of that file are audited."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from leafgate.api import InconclusiveError, Metric, ModelIR, PersonMetric, Problem, Release, ReleaseError
from leafgate.app import (
    OWNER_ONLY,
    Encoding,
    Finding,
    Policy,
    Report,
    Session,
    check_original,
    lower_model,
    model_as_file,
    model_writer,
    read_foreign,
    writable_suffixes,
    write_file,
)
from leafgate_convert.rare_cells import TableOfPolicy, complete_public_lists, move_rare_thresholds
from leafgate_convert.scrub import LeafContent, minimise, with_leaves

UNITS = (100, 10)
"""Shares are tried in multiples of 1 / units, two digits and one: with fewer people may no longer follow from them."""
NEUTRAL_SUFFIX = ".json"
LEVELS: tuple[LeafContent, ...] = ("counts", "shares", "labels")


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate and the audit of its file.

    Attributes:
        model: The pruned model as its file has it.
        leaves: What stands on the leaves of the file.
        content: The file.
        report: The audit of these bytes by the whole policy.
        release: What the audit made of these bytes.
        errors: Training people, by their weight, whom the model in the file predicts wrongly.
    """

    model: ModelIR
    leaves: LeafContent
    content: bytes
    report: Report
    release: Release | None
    errors: int

    @property
    def passes(self) -> bool:
        return self.report.verdict == "pass"


@dataclass(eq=False)
class Workbench:
    """A policy with its tables, and a private folder in which candidates are written and audited.

    Attributes:
        session: The policy and its tables.
        folder: Where candidates are written; nobody else can read it.
        name: The name of the new file, whose ending is its format.
        original: The bytes of the given model's file.
        audits: How many audits have been made.
        problem: Why the last candidate that could not be written could not.
    """

    session: Session
    folder: Path
    name: str
    original: bytes
    audits: int = 0
    problem: ReleaseError | None = None

    @classmethod
    @contextmanager
    def opened(cls, session: Session, name: str, original: bytes) -> Iterator[Workbench]:
        """A workbench whose folder is deleted in the end."""
        with tempfile.TemporaryDirectory(prefix="leafgate-") as folder:
            yield cls(session, Path(folder), name, original)

    @property
    def encoding(self) -> dict[str, Encoding]:
        """What the policy says of the model's features."""
        return getattr(self.session.policy.build, "encoding", {})

    @cached_property
    def people(self) -> TableOfPolicy:
        """The people with whose cells the new file is compared."""
        return TableOfPolicy.of(self.session, self.name)

    @property
    def is_neutral(self) -> bool:
        """Is the new file a neutral one, which needs nothing of the given file?"""
        return self.name.lower().endswith(NEUTRAL_SUFFIX)

    @cached_property
    def keeps_features(self) -> bool:
        """Is the new file made of the given one, whose features it keeps?"""
        return model_writer(self.name, self.session.plugins.readers).check_original is not None

    def audit_given(self, path: Path) -> tuple[Report, Release | None]:
        """The audit of the given file by the whole policy, and the release that it made of the file."""
        return self._audit(path, self.session.policy, getattr(self.session.policy.build, "witness", None))

    def findings_of(self, content: bytes, metrics: Sequence[Metric], attacks: Collection[str]) -> Sequence[Finding]:
        """The findings of these metrics alone on a neutral file, by the attacks of these names."""
        path = self.folder / "part.json"
        write_file(path, content, OWNER_ONLY)
        policy = self.session.policy
        chosen = tuple(attack for attack in policy.attacks if attack.called in attacks)
        less = policy.model_copy(update={"metrics": tuple(metrics), "attacks": chosen, "waivers": ()})
        return self._audit(path, less)[0].findings

    def _audit(self, path: Path, policy: Policy, witness: Path | None = None) -> tuple[Report, Release | None]:
        """The audit of a file with the answers of its own model, which candidates have not."""
        self.audits += 1
        build = policy.build.model_copy(update={"path": path, "witness": witness})
        audited = replace(self.session, policy=policy.model_copy(update={"build": build})).audit()
        return audited.report, None if audited.artifact is None else audited.artifact.release

    def written(self, model: ModelIR, leaves: LeafContent) -> tuple[ModelIR, bytes]:
        """The model with no more than `leaves` on its leaves, and its file in the format of the new name.

        Its thresholds are no numbers of a few people, where others send everybody in the table the same way.
        Raises ReleaseError where the model cannot be written so.
        """
        for units in UNITS if leaves == "shares" else UNITS[:1]:
            try:
                if self.keeps_features:
                    less = with_leaves(model, leaves, self.name, units)
                else:
                    less = minimise(model, leaves, self.name, units, kept=self.encoding)
                less = complete_public_lists(less, self.people) if self.is_neutral else less
                less = move_rare_thresholds(less, self.people)
                return less, model_as_file(less, self.original, self.name, self.session.plugins.readers)
            except ReleaseError as error:
                problem = error
        raise problem

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
        endings = (each for each in writable_suffixes(self.session.plugins.readers) if each != Path(self.name).suffix)
        others = [each for each in endings if self._problem_of_format(model, f"new{each}") is None]
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
                lower_model(again, content, self.session.table.schema, self.encoding, name)
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
        from leafgate_convert.neutral import written

        return written(minimise(model, leaves, self.name, None, merge=False, kept=self.encoding))

    def trial(self, model: ModelIR, leaves: LeafContent, errors: int) -> Trial | None:
        """The candidate's file with its audit by the whole policy; None where no such file can be written."""
        try:
            less, content = self.written(model, leaves)
        except ReleaseError as error:
            self.problem = error
            return None
        path = self.folder / self.name
        write_file(path, content, OWNER_ONLY)
        return Trial(less, leaves, content, *self._audit(path, self.session.policy), errors)


def person_metrics(metrics: Sequence[Metric]) -> list[PersonMetric]:
    """The limits that judge each person, and no mean over people."""
    return [metric for metric in metrics if isinstance(metric, PersonMetric) and not metric.average]


def is_of_file(finding: Finding) -> bool:
    """Is it a finding on what a model's file tells beyond its predictions?"""
    return finding.id == "published_file" or (finding.use or finding.metric) == "file_disclosure"
