"""What each way to a model that passes comes to in one split, measured for repair_use.py."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from leafgate.algorithms.prediction import class_scores, predicted_classes
from leafgate.api import Floats, InconclusiveError, Release, ReleaseError, Table, leaves
from leafgate.commands.convert.scrub import LeafContent, with_leaves
from leafgate.commands.repair.plan import repair_file
from leafgate.commands.repair.trials import Workbench
from leafgate.errors import LeafgateError
from leafgate.io.tables.reader import read_table
from leafgate.models.reader import read_foreign
from leafgate.models.writer import object_as_file
from leafgate.readers import ModelIR
from leafgate.search.people import parts_of
from leafgate.session.run import Session, open_session
from leafgate_plugins.kadet.builder import Kadet
from repair_use_data import KINDS, POLICIES, Draw, Kind, Sizes

GIVEN, REPAIR, REFIT, KADET, CONSTANT = "given", "repair", "refit", "kadet", "constant"
OF_MODEL = (GIVEN, REPAIR, REFIT)
"""What depends on the kind of the given model."""
SHARED = (KADET, CONSTANT)
"""What does not; it stands under the kind `any`."""
ANY = "any"
NEW = "new.json"
LATEST = 4
"""An answer that takes so many times the time limit counts as none."""


@dataclass(frozen=True)
class Row:
    """What came of one method in one split.

    Attributes:
        kind: of the given model; `any` where the method does not depend on it.
        passes: does what the method wrote pass the audit by the whole policy?
        auc: its area under the ROC curve on people whom no method saw; 0.5, which is that of a constant, where
            nothing passes.
        balanced: its balanced accuracy on them, likewise.
        choosing: its area on the people whom refits and kADET were chosen by.
        trees, leaves: how many it has; None where nothing passes.
        tried, passed: how many models were audited, and how many of them passed.
        note: why there is nothing.
        seconds: by the clock.
    """

    data: str
    policy: str
    split: int
    kind: str
    method: str
    passes: str
    auc: float
    balanced: float
    choosing: float | None = None
    trees: int | None = None
    leaves: int | None = None
    tried: int | None = None
    passed: int | None = None
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """Methods that are to be measured in one split with one kind of models, or with none."""

    data: str
    policy: str
    split: int
    kind: str
    methods: tuple[str, ...]


def scores(release: Release, people: Table, value: str) -> Floats:
    """The score that a release gives each record for this value; the votes where leaves have labels alone."""
    try:
        found = class_scores(release, people)
    except InconclusiveError:
        found = class_scores(replace(release, combine="vote"), people)
    return np.nan_to_num(found[:, release.classes.index(value)], nan=0.5)


def area(release: Release, people: Table, value: str) -> float:
    """The area under the ROC curve, ties counting one half, as scikit-learn computes it."""
    has = people.codes(release.target) == people.schema[release.target].domain.index(value)
    return float(roc_auc_score(has, scores(release, people, value), sample_weight=people.weight))


def balanced_accuracy(release: Release, people: Table) -> float:
    """The mean over the classes of the share of their people who are predicted to have them."""
    domain = [*people.schema[release.target].domain, None]
    names = np.array([*map(domain.index, release.classes), -1])
    predicted = names[predicted_classes(release, people)]
    return float(balanced_accuracy_score(people.codes(release.target), predicted, sample_weight=people.weight))


class TimeLimitError(BaseException):
    """The time is over; no handler of errors takes it for one of its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimitError in this thread, the main one, after so many seconds."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, where a callback of the interpreter ignored it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Split:
    """One split under a policy with one kind of models, in a folder that holds the tables."""

    task: Task
    draw: Draw
    folder: Path
    seconds: float
    kinds: Mapping[str, Kind] = field(default_factory=lambda: KINDS)

    @cached_property
    def kind(self) -> Kind | None:
        return self.kinds.get(self.task.kind)

    @cached_property
    def session(self) -> Session:
        """The policy and its tables."""
        return open_session(self.draw.write_policy(self.task.policy, self.kind, "model", self.folder))

    @cached_property
    def evaluation(self) -> Table:
        """The people whom no method saw."""
        data = self.session.policy.data
        return read_table(data, self.session.table.schema, self.folder / "evaluation.csv", "evaluation")

    @cached_property
    def choosing(self) -> Table:
        """The people whom refits and kADET are chosen by."""
        choosing = parts_of(self.session.tables).choosing
        assert choosing is not None, "each half of data.test needs ten people of each class"
        return choosing

    @cached_property
    def model(self) -> Path:
        """The file of the given model."""
        assert self.kind is not None
        name, content = self.as_file(self.kind.fitted(self.draw, self.kind.given))
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def as_file(self, model: Any) -> tuple[str, bytes]:
        """The name and the content of the file of a fitted model."""
        written = object_as_file(model, self.session.plugins.readers)
        assert written is not None
        return written

    def audited(self, build: Any) -> tuple[bool, Release | None]:
        """Does what this builder makes pass, and the release as it was audited."""
        audit = replace(self.session, policy=self.session.policy.model_copy(update={"build": build})).audit()
        return audit.report.verdict == "pass", None if audit.artifact is None else audit.artifact.release

    def audited_file(self, path: Path) -> tuple[bool, Release | None]:
        """Does a model's file pass, and the release as it was audited."""
        return self.audited(self.session.policy.build.model_copy(update={"path": path}))

    def row(self, method: str, passes: bool, release: Release | None, **others: Any) -> Row:
        """The row of what a method wrote; that of a constant where it wrote nothing."""
        task = self.task
        start = Row(
            task.data, task.policy, task.split, task.kind, method, "yes" if passes else "no", 0.5, 0.5, **others
        )
        if release is None:
            return start
        return replace(
            start,
            auc=area(release, self.evaluation, self.draw.rare),
            balanced=balanced_accuracy(release, self.evaluation),
            choosing=area(release, self.choosing, self.draw.rare),
            trees=len(release.trees),
            leaves=sum(1 for tree in release.trees for _ in leaves(tree)),
        )

    def given(self) -> Row:
        """The given model."""
        passes, release = self.audited_file(self.model)
        return self.row(GIVEN, passes, release)

    def repair(self) -> Row:
        """What the command writes, which is audited once more; the given model where it passes already."""
        try:
            with time_limit(LATEST * self.seconds):
                result = repair_file(self.session, self.model, NEW, seconds=self.seconds)
        except TimeLimitError:
            return self.row(REPAIR, False, None, note=f"no answer in {LATEST * self.seconds:g} s")
        except LeafgateError as error:
            return self.row(REPAIR, False, None, note=type(error).__name__)
        if result.passes_already:
            return replace(self.given(), method=REPAIR, note="passes already")
        if result.content is None:
            return self.row(REPAIR, False, None, note="nothing passes")
        (self.folder / NEW).write_bytes(result.content)
        passes, release = self.audited_file(self.folder / NEW)
        assert passes, f"{self.task}: the repaired file does not pass"
        return self.row(REPAIR, passes, release)

    def refit(self) -> Row:
        """The best on the choosing people of the refits that pass, each as the finest file that does."""
        assert self.kind is not None
        best, passed = None, 0
        with Workbench.opened(self.session, NEW, b"") as bench:
            for settings in self.kind.refits():
                name, content = self.as_file(self.kind.fitted(self.draw, settings))
                read = read_foreign(content, name, self.session.plugins.readers)
                release = first_passing(bench, read, POLICIES[self.task.policy].leaves)
                if release is None:
                    continue
                passed += 1
                use = area(release, self.choosing, self.draw.rare)
                if best is None or use > best[0]:
                    best = use, release
        counts = {"tried": len(self.kind.refits()), "passed": passed}
        if best is None:
            return self.row(REFIT, False, None, note="nothing passes", **counts)
        return self.row(REFIT, True, best[1], **counts)

    def kadet(self) -> Row:
        """The better on the choosing people of the trees that kADET grows with the policy's limits, pruned and not."""
        builder = Kadet.keeping(self.session.policy.metrics)
        assert builder is not None
        best, passed = None, 0
        for prune in (True, False):
            passes, release = self.audited(builder.model_copy(update={"prune": prune}))
            if not passes or release is None:
                continue
            passed += 1
            use = area(release, self.choosing, self.draw.rare)
            if best is None or use > best[0]:
                best = use, release
        if best is None:
            return self.row(KADET, False, None, tried=2, passed=0, note="nothing passes")
        return self.row(KADET, True, best[1], tried=2, passed=passed)

    def constant(self) -> Row:
        """A single leaf: kADET's tree where everybody must be in one group."""
        passes, release = self.audited(Kadet(k=self.session.table.total_weight))
        return self.row(CONSTANT, passes, release)

    def rows(self) -> Iterator[Row]:
        """A row for each method of the task."""
        if self.kind is not None:
            assert self.model.exists()  # the fit and the reading are on no method's clock
            assert len(self.evaluation)
            assert len(self.choosing)
        for method in self.task.methods:
            start = time.perf_counter()
            row = getattr(self, method)()
            yield replace(row, seconds=time.perf_counter() - start)


def first_passing(bench: Workbench, model: ModelIR, levels: Sequence[LeafContent]) -> Release | None:
    """The release of the first file of a model that passes, of those with these contents of leaves."""
    for level in levels:
        try:
            with_leaves(model, level, bench.name, None)
        except ReleaseError:
            continue
        trial = bench.trial(model, level)
        if trial is not None and trial.passes:
            return trial.release
    return None


def measured(task: Task, root: Path, sizes: Sizes, seconds: float) -> list[Row]:
    """The rows of a task; its files are removed again."""
    with TemporaryDirectory() as name:
        draw = Draw.of(task.data, root, task.split, sizes)
        draw.write_tables(Path(name))
        return list(Split(task, draw, Path(name), seconds).rows())


def methods_of(kind: str) -> Collection[str]:
    """What is measured with a kind of models, or with none."""
    return SHARED if kind == ANY else OF_MODEL
