"""A metric as the checks see it: its scores of the cases it can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.case import Case
from leafgate.errors import LeafgateError
from leafgate.interfaces import Metric, RecordMetric
from leafgate.testing.cases import SHOWN, Change, Learned, Shown, release_case, unchanged
from leafgate.testing.checks import NonConformance, called
from leafgate.testing.settings import SETTINGS, Setting
from leafgate.testing.watching import told

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class MetricSubject:
    """A metric, and the cases it is shown."""

    metric: Metric
    more: Sequence[Setting] = ()

    @property
    def of_people(self) -> bool:
        return isinstance(self.metric, RecordMetric)

    @property
    def all_kinds(self) -> list[Shown]:
        if self.of_people:
            return list(SHOWN)
        return [Shown(s.name, partial(release_case, s), s.labels) for s in (*SETTINGS, *self.more)]

    @property
    def kinds(self) -> list[Shown]:
        """The kinds of cases it can score; NonConformance when there is none."""
        return [kind for kind, _ in self._found]

    @property
    def first(self) -> dict[str, str]:
        """What it said of each the first time, in a text."""
        return {kind.name: said for kind, said in self._found}

    @cached_property
    def _found(self) -> list[tuple[Shown, str]]:
        found, why = [], ""
        for kind in self.all_kinds:
            try:
                found.append((kind, self.said(self.case(kind))))
            except LeafgateError as error:
                why = str(error)
        if not found:
            raise NonConformance(
                f"{self.metric.use} scores no case of this kit: {why}",
                "if its options do not fit (`secret`, `of`), choose others; if it needs another release, "
                "give a Setting in `on`",
            )
        return found

    def case(self, kind: Shown, learned: Learned = "everything", change: Change = unchanged) -> Case:
        """A case as the policy's options have it; by `scored: worst` the one of what is derived."""
        composition = isinstance(self.metric, RecordMetric) and self.metric.scored == "composition"
        return replace(kind.case(learned, change), scored="composition" if composition else "derived")

    def scores(self, case: Case) -> Scores:
        """What it says of a case: a number for each row, or one; infinite on the unsafe side only."""
        found = called(self.metric, lambda: self.metric.score(case))
        try:
            numbers = np.asarray(found, dtype=float)
        except (TypeError, ValueError):
            raise NonConformance("it returns no numbers", "return a Series of floats, or one float") from None
        wanted = (len(case.table),) if self.of_people else ()
        if numbers.shape != wanted:
            remedy = "return a number for each row of `case.table`; for one number derive from ReleaseAtLeast or AtMost"
            raise NonConformance(f"it returns numbers of shape {numbers.shape}, wanted {wanted}", remedy)
        unsafe = np.inf if self.metric.direction == "at_most" else -np.inf
        if not (np.isfinite(numbers) | (numbers == unsafe)).all():
            raise NonConformance(
                "it returns NaN, or is infinite on the safe side",
                f"where nothing bounds what is learned the score is {unsafe}; where it cannot tell, "
                "raise InconclusiveError",
            )
        return numbers

    def evidence(self, case: Case, numbers: Scores) -> Any:
        """What it tells beside these scores."""
        given: Any = pd.Series(numbers.reshape(-1).copy()) if self.of_people else float(numbers)
        return called(self.metric, partial(self.metric.evidence, case, given))

    def said(self, case: Case) -> str:
        """Its scores of a case, and what it tells beside them, in a text."""
        numbers = self.scores(case)
        return f"{told(numbers)} {self.evidence(case, numbers)!r}"

    def worst(self, case: Case) -> float:
        """The worst-off person's score, the better the higher."""
        numbers = self.scores(case).reshape(-1)
        return float(numbers.min()) if self.metric.direction == "at_least" else -float(numbers.max())
