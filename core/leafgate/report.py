"""Report: what was found, and the verdict a gate can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.guessing import Guess
    from leafgate.tree_view import TreeView

FORMAT = "leafgate/report/1"
Verdict = Literal["pass", "fail", "inconclusive"]
EXIT_CODES: Mapping[Verdict, int] = {"pass": 0, "fail": 1, "inconclusive": 3}


@dataclass(frozen=True)
class People:
    """A count of people of the table; the public sees it only from the smallest cell up."""

    count: int


@dataclass(frozen=True)
class Private:
    """Something about particular people: a path, a value. Only auditors see it."""

    content: Any


@dataclass(frozen=True, eq=False)
class ScoredPeople:
    """Every record's score: what pictures of a finding are drawn from, and no report tells as it is.

    `weight` people share each record and those of `past` are beyond the limit (nobody, where an average is judged);
    the records are `everyone`'s, in the table's order, or those behind some hidden cells.
    """

    scores: NDArray[np.float64]
    weight: NDArray[np.int64]
    past: NDArray[np.bool_]
    everyone: bool


@dataclass(frozen=True)
class Finding:
    """One limit held against one score.

    `passed` is None when it could not be told, `value` when there is no number to give: none was
    found, or it is unbounded (the evidence says so). `people` were judged and `beyond` of them lie
    past the limit (None where that is not a matter of people); `unit` is the metric's. A `private`
    finding's numbers follow from the data and not from the release: only auditors see them. `spread`
    is how far people's scores are apart, so that an average is told no finer than it may be. `where`
    says which line of which policy file asked for it: {"file", "line"}, empty where that is not known.
    `waiver` says who let it through although it failed, and until when. `alarm` is a clause in plain words: what it
    means if the limit is broken. `use` is what a metric with a name of its own uses.
    """

    id: str
    metric: str
    passed: bool | None
    use: str = field(default="", kw_only=True)
    attack: str | None = None
    secret: str | None = None
    value: float | None = None
    limit: Mapping[str, Any] = field(default_factory=dict)
    people: int | None = None
    beyond: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    plugin: str = ""
    unit: str = ""
    private: bool = False
    spread: float = 0.0
    scored: ScoredPeople | None = field(default=None, repr=False, compare=False)
    where: Mapping[str, Any] = field(default_factory=dict)
    waiver: Mapping[str, Any] | None = None
    alarm: str = ""

    @property
    def fails(self) -> bool:
        """Is a limit broken, and not waived?"""
        return self.passed is False and self.waiver is None


@dataclass(frozen=True)
class Report:
    """One audit's outcome; `leafgate.disclosure` turns it into the document an audience may see.

    `waivers` says of each of the policy's what became of it on the day it was `judged_on`.
    """

    policy: Mapping[str, Any]
    data: Mapping[str, Any]
    release: Mapping[str, Any] | None
    findings: Sequence[Finding]
    versions: Mapping[str, str]
    smallest_cell: int = 10
    differentially_private: bool = False
    notes: Sequence[str] = ()
    tree: TreeView | None = field(default=None, repr=False)
    guesses: Sequence[Guess] = ()
    waivers: Sequence[Mapping[str, Any]] = ()
    judged_on: str | None = None

    @property
    def waived(self) -> int:
        """How many broken limits are waived."""
        return sum(finding.waiver is not None for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """Fail if a limit is broken and not waived; else inconclusive if one could not be told; else pass."""
        if any(finding.fails for finding in self.findings):
            return "fail"
        if not self.findings or any(finding.passed is None for finding in self.findings):
            return "inconclusive"
        return "pass"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]
