"""The ways to a tree that passes, measured for repair_on_six_sets.py."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import skops.io
from sklearn.tree import DecisionTreeClassifier

from leafgate import from_sklearn
from leafgate.algorithms.prediction import predict
from leafgate.api import Release, Table, leaves
from leafgate.session.run import Session, open_session
from leafgate_convert.repair.plan import opened_model, repaired
from leafgate_convert.repair.trials import Trial, Workbench
from repair_data import Draw, Limits

GIVEN, REPAIR, SUBTREE, REFIT, KADET = "the given tree", "repair", "ccp_alpha", "refit", "kADET"
METHODS = (REPAIR, SUBTREE, REFIT, KADET)


@dataclass(frozen=True)
class Row:
    """What came out of one way on one data set under one policy.

    Attributes:
        people, test_people: How many are in the table, and in the test.
        passes: Does the tree pass its audit?
        right, test_right: How many of them it predicts rightly; None where no tree passed.
        leaves: Of the tree.
        tried: How many trees were fitted.
        audited: How many audits were made.
        exact: Of a repair: was it called exact?
        at_most: Of a repair: no pruning that keeps the limits on people predicts more of the table's people rightly.
        same: Of a repair: on how many of all people scikit-learn predicts with the file that was written what leafgate
            predicts with it.
        seconds, user_seconds: Of a repair, reading the tables included: by the clock, and of the processor.
    """

    data: str
    policy: str
    method: str
    people: int
    test_people: int
    passes: str
    right: int | None = None
    test_right: int | None = None
    leaves: int | None = None
    tried: int | None = None
    audited: int | None = None
    exact: str = ""
    at_most: int | None = None
    same: int | None = None
    seconds: float | None = None
    user_seconds: float | None = None


@dataclass(frozen=True)
class Case:
    """A data set under a policy, with the given tree, in a folder of its own."""

    data: str
    policy: str
    draw: Draw
    limits: Limits
    folder: Path

    def rows(self, methods: Sequence[str]) -> Iterator[Row]:
        """A row for each method; one for the given tree before that of the repair."""
        model = self.draw.given()
        file = self.draw.write(self.limits, model, self.folder)
        for method in methods:
            if method == REPAIR:
                yield from self.repaired(file)
                continue
            session = open_session(file)
            if method == KADET:
                yield self.kadet(session)
            else:
                trees = self.draw.subtrees if method == SUBTREE else self.draw.refits
                yield self.first_that_passes(method, trees, session)

    def row(self, method: str, passes: bool, release: Release | None, session: Session, **others: Any) -> Row:
        """The row of a release."""
        assert session.test is not None
        row = Row(
            self.data,
            self.policy,
            method,
            session.table.people,
            session.test.people,
            "yes" if passes else "no",
            **others,
        )
        if release is None:
            return row
        right = [right_of(release, people) for people in self._both(session)]
        number = sum(1 for tree in release.trees for _ in leaves(tree))
        return replace(row, right=right[0], test_right=right[1], leaves=number)

    def _both(self, session: Session) -> tuple[Table, Table]:
        assert session.test is not None
        return session.table, session.test

    def repaired(self, policy: Path) -> list[Row]:
        """The given tree, and what the command writes as a skops file."""
        start, user = time.perf_counter(), os.times().user
        path = policy.with_name("model.skops")
        session = open_session(policy)
        with Workbench.opened(session, "new.skops", path.read_bytes()) as bench:
            outcome = repaired(bench, opened_model(path, session), path)
        spent = {
            "audited": bench.audits,
            "seconds": time.perf_counter() - start,
            "user_seconds": os.times().user - user,
        }
        given = self.row(GIVEN, outcome.given.verdict == "pass", outcome.release, session)
        if outcome.best is None:
            return [given, self.row(REPAIR, given.passes == "yes", None, session, **spent)]
        new = policy.with_name("new.skops")
        new.write_bytes(outcome.best.content)
        release = outcome.best.release
        assert release is not None
        row = self.row(
            REPAIR,
            outcome.best.passes,
            release,
            session,
            **spent,
            exact="yes" if outcome.exact else "no",
            at_most=session.table.people - outcome.at_least if outcome.bounded_by_limits else None,
            same=self.alike(new, release, session),
        )
        assert row.right == session.table.people - outcome.best.errors
        return [given, row]

    def alike(self, file: Path, release: Release, session: Session) -> int:
        """On how many people scikit-learn predicts with a file what leafgate predicts with it."""
        model = skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))
        names, same = np.array([str(value) for value in release.classes]), 0
        for people in self._both(session):
            cells = pd.get_dummies(people.frame.drop(columns=[self.draw.target]), dtype=float)
            known = cells.reindex(columns=self.draw.features.columns)
            equal = names[predict(release, people)] == model.predict(known).astype(str)
            same += int(people.weight[equal].sum())
        return same

    def first_that_passes(self, method: str, trees: Sequence[DecisionTreeClassifier], session: Session) -> Row:
        """The tree that passes with the most training people predicted rightly; of equals the one with fewer leaves.

        Where all columns are public and counts are published, people who share a leaf are an equivalence class: a tree
        with fewer than k people in a leaf fails, and is not audited.
        """
        right = [int((tree.predict(self.draw.known) == self.draw.labels).sum()) for tree in trees]
        order = sorted(range(len(trees)), key=lambda i: (-right[i], trees[i].get_n_leaves()))
        with Workbench.opened(session, "new.json", b"") as bench:
            for i in order:
                if self._has_small_leaves(trees[i]):
                    continue
                trial = self._audited(bench, trees[i], session.table.people - right[i])
                if trial.passes:
                    row = self.row(method, True, trial.release, session, tried=len(trees), audited=bench.audits)
                    assert row.right == right[i]
                    return row
            return self.row(method, False, None, session, tried=len(trees), audited=bench.audits)

    def _has_small_leaves(self, tree: DecisionTreeClassifier) -> bool:
        """Does some leaf, as scikit-learn counts, make an equivalence class of fewer than k people?"""
        if self.limits.private or self.limits.leaves != "counts":
            return False
        people = np.bincount(tree.apply(self.draw.known))
        return bool((people[people > 0] < self.limits.k).any())

    def _audited(self, bench: Workbench, tree: DecisionTreeClassifier, errors: int) -> Trial:
        level = cast(Literal["counts", "labels"], self.limits.leaves)
        trial = bench.trial(from_sklearn(tree), level, errors)
        assert trial is not None, bench.problem
        return trial

    def kadet(self, session: Session) -> Row:
        """The tree that kADET grows with the same limits; `require` has no people who may be beyond one."""
        build = {"use": "kadet", "k": self.limits.k, "require": tuple(map(dict, self.limits.limits))}
        builder = session.plugins.by_name["kadet"].model_validate(build)
        audit = replace(session, policy=session.policy.model_copy(update={"build": builder})).audit()
        release = None if audit.artifact is None else audit.artifact.release
        return self.row(KADET, audit.report.verdict == "pass", release, session, tried=1, audited=1)


def right_of(release: Release, people: Table) -> int:
    """How many people a release predicts rightly."""
    return int(people.weight[predict(release, people) == people.codes(release.target)].sum())


def measured(data: str, policy: str, draw: Draw, limits: Limits, methods: Sequence[str]) -> Iterator[Row]:
    """The rows of a data set under a policy; its files are removed again."""
    with TemporaryDirectory() as name:
        yield from Case(data, policy, draw, limits, Path(name)).rows(methods)
