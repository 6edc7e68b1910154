"""Report: what was found, and the verdict a gate can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from leafgate.errors import ExitCode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class AttackAccuracy:
    """People whose secret an attack's best guess gets right, of `people`, and those the commonest value gets right.

    Ties of the attack count in part: of two equally likely values each is the guess half of the time.
    `private`: that follows from the data, or from what only the policy grants the attack, and not from the release.
    """

    attack: str
    secret: str
    people: int
    correct: float
    majority_baseline: int
    private: bool


FORMAT = "leafgate/report/1"
Verdict = Literal["pass", "fail", "inconclusive"]
GROUPS_ALONE = "the metric scores groups of people, and no distribution of a secret"
DERIVED_ALONE = "the metric can only score what is derived"
HIDDEN_CELLS = "the belief is about hidden cells of published records"
VERIFIED_PRIVACY = "the release's claim of differential privacy was verified"
NOT_SPOKEN_OF = "the release neither predicts nor tests nor publishes this column"
"""Why a limit is judged by what is derived and not by the worse of two distributions."""
EXIT_CODES: Mapping[Verdict, ExitCode] = {
    "pass": ExitCode.PASS,
    "fail": ExitCode.FAIL,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


@dataclass(frozen=True)
class SecondaryScore:
    """A score that stands in the evidence beside the judged one: by another distribution of the secret.

    `value` is None where it has no bound. `spread` and `fewest` are a finding's, of these scores: an audience sees the
    number by the same rules as the finding's own.
    """

    value: float | None = field(repr=False)
    spread: float = field(default=0.0, repr=False)
    fewest: int | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class ScoredPeople:
    """Every record's score: what pictures of a finding are drawn from, and no report tells as it is.

    `weight` people share each record and those of `past` are beyond the limit (nobody, where an average is judged);
    the records are `everyone`'s, in the table's order, or those behind some hidden cells.
    """

    scores: NDArray[np.float64]
    weight: NDArray[np.int64]
    past: NDArray[np.bool_]
    everyone: bool


@dataclass(frozen=True, repr=False)
class Finding:
    """One limit held against one score. Its repr says no number: notebooks and logs keep what they print.

    `passed` is None when it could not be told, `value` when there is no number to give: none was
    found, or it is unbounded (the evidence says so). `people` were judged and `violations` of them lie
    past the limit (None where that is not a matter of people); `unit` is the metric's. A `private`
    finding's numbers follow from the data and not from the release: only auditors see them; an `of_release` finding
    has looked at nobody's data. `score_range` is how far people's scores are apart, so that an average is told no
    finer than
    it may be, `sensitivity` by how much one person can move a score of the release, for the same reason.
    `people_at_value`
    people are in the smallest group with the score that is told, whose fraction would tell how few; `smallest_group` in
    any. `where`
    says which line of which policy file asked for it: {"file", "line"}, empty where that is not known.
    `waiver` says who let it through although it failed, and until when. `plain_failure` is a clause in plain words:
    what it
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
    violations: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    plugin: str = ""
    unit: str = ""
    private: bool = False
    of_release: bool = False
    score_range: float = 0.0
    sensitivity: float = 0.0
    people_at_value: int | None = None
    smallest_group: int | None = None
    scored: ScoredPeople | None = field(default=None, repr=False, compare=False)
    where: Mapping[str, Any] = field(default_factory=dict)
    waiver: Mapping[str, Any] | None = None
    plain_failure: str = ""

    def __repr__(self) -> str:
        return f"Finding(id={self.id!r}, passed={self.passed})"

    @property
    def bound(self) -> float:
        """The number of its limit, to be read in the limit's direction."""
        return next(float(value) for key, value in self.limit.items() if key.startswith("at_"))

    @property
    def fails(self) -> bool:
        """Is a limit broken, and not waived?"""
        return self.passed is False and self.waiver is None


@dataclass(frozen=True, repr=False)
class TreeView:
    """The first tree of the release that asks anything, drawn twice.

    `coloured` by risk, unfolded where it is, and `plain`, by shape alone; `number` is the tree's, from 1.
    `leaves_past` says for each finding with people past its limit in how many leaves of this tree they are.
    """

    trees: int
    coloured: Sequence[Mapping[str, Any]]
    plain: Sequence[Mapping[str, Any]]
    leaves_past: Mapping[str, int]
    number: int = 1


@dataclass(frozen=True, repr=False)
class Report:
    """One audit's outcome; `leafgate.disclosure.document` turns it into the document an audience may see.

    `method` says how it was made (`leafgate.engine.report_facts`);
    `waivers` says of each of the policy's what became of it on the day it was `judged_on`. `auditor_notes` are notes
    that follow from the data: the public is not told that they are there. Its repr says no number.
    """

    policy: Mapping[str, Any]
    data: Mapping[str, Any]
    release: Mapping[str, Any] | None
    findings: Sequence[Finding]
    versions: Mapping[str, str]
    smallest_cell: int = 10
    differentially_private: bool = False
    notes: Sequence[str] = ()
    method: Mapping[str, Any] = field(default_factory=dict)
    tree: TreeView | None = field(default=None, repr=False)
    guesses: Sequence[AttackAccuracy] = ()
    waivers: Sequence[Mapping[str, Any]] = ()
    judged_on: str | None = None
    auditor_notes: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"Report(verdict={self.verdict!r}, findings={len(self.findings)})"

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
