"""Report: findings on the limits of a policy, and the verdict that a gate acts on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

from leafgate.errors import ExitCode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.kernel.origin import LedgerHead


class VisibleTo(StrEnum):
    """Who may see a number. `leafgate.engine.audience` decides it of scores, right after scoring; reports draw it.

    Attributes:
        EVERYBODY: it follows from the release alone, so that a claim of differential privacy covers it.
        MASKED: it follows from the release and the public columns; public reports mask it by its unit and `Masking`.
        AUDITORS: it follows from the data, or from knowledge that the policy grants; public reports leave it out.
    """

    EVERYBODY = "everybody"
    MASKED = "masked"
    AUDITORS = "auditors"


@dataclass(frozen=True, repr=False)
class AttackAccuracy:
    """People whose secret an attack's best guess gets right, of `people`, and those the commonest value gets right.

    Ties of the attack count in part: of two equally likely values each is the guess half of the time. For a person with
    several rows a guess is right where it is for one of them.
    """

    attack: str
    secret: str
    people: int
    correct: float
    majority_baseline: int
    audience: VisibleTo


class Unit(StrEnum):
    """What a metric's score counts; it decides how a public report masks the score and where histograms have edges.

    `NONE` counts nothing, such as one person's posterior; `PEOPLE` is the size of an equivalence class and
    `ONE_OVER_PEOPLE` one over it; `SHARE` is a share of all people; `PEOPLE_LEFT` is all people less a number that the
    release discloses; `TABLE` is anything else that is computed from the table.
    """

    NONE = ""
    PEOPLE = "people"
    ONE_OVER_PEOPLE = "one over people"
    SHARE = "share"
    PEOPLE_LEFT = "people left"
    TABLE = "table"

    @property
    def is_of_everyone(self) -> bool:
        """Does it relate the score to the number of all people, so that the score discloses a count of the others?"""
        return self in {Unit.SHARE, Unit.PEOPLE_LEFT}


Public = Literal["number", "coarse", "verdict"]
"""What a public report shows of a score: its number, the number masked by its unit, or whether the limit holds."""
Measured = Literal["protection", "use", "cost"]
"""What a score is about: how well people are protected, what the release is good for, or what protecting them costs.

A sweep plots protection against use, and chooses the most; without a metric of use the least cost.
"""
Direction = Literal["at_least", "at_most"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
Scored = Literal["worst", "derived", "composition"]
"""By which distribution a limit is judged; `worst`: for each person the worse of the two scores."""
SLACK = 1e-12
"""A score may miss its limit by this much (for limits above 1: by this share of the limit), as floating point does."""


def lenient(limit: float, sign: int = 1) -> float:
    """The limit plus its slack, or minus it where `sign` is -1."""
    return limit + sign * SLACK * max(1.0, abs(limit))


@dataclass(frozen=True)
class Limit:
    """The bound that a score must keep, and how people's scores are judged by it.

    `average`: the mean over people is judged, not the worst-off person. `allow` is the share of people, from 0 to
    below 1, that may violate it. `scored` is the distribution of the secret that is judged; None where the
    limit is on a number of the whole release.
    """

    direction: Direction
    bound: float
    average: bool = False
    allow: float = 0.0
    scored: Scored | None = None

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Limit:
        """The limit of a report's or a waiver's JSON, which has the bound under the name of its direction."""
        direction: Direction = "at_least" if "at_least" in document else "at_most"
        others = {key: value for key, value in document.items() if key in {"average", "allow", "scored"}}
        return cls(direction, float(document[direction]), **others)

    def document(self) -> dict[str, Any]:
        """The limit as JSON, as reports have it."""
        judged = {"average": self.average, "allow": self.allow, "scored": self.scored}
        return {self.direction: self.bound} | (judged if self.scored is not None else {})

    def is_kept(self, value: float) -> bool:
        """Does the score keep the bound? Rounding errors of floating point do not count."""
        return value >= lenient(self.bound, -1) if self.direction == "at_least" else value <= lenient(self.bound)

    def margin(self, value: float) -> float:
        """By how much the score is on the safe side of the bound; negative where it is beyond."""
        return value - self.bound if self.direction == "at_least" else self.bound - value


FORMAT = "leafgate/report/1"
UNLIMITED = "unlimited"
"""The finding about a policy whose limits protect nobody."""
PERSONS = "persons"
"""The finding about a column that may number the people, of which the policy says nothing."""
TO_DECIDE = "To decide: "
"""How a note begins that asks the owner of the policy for a decision; every format shows it before all others."""
SPELLING = "spelling"
"""The finding about values of a secret or a class that may be one value in several spellings."""
NO_ANSWER = "no_answer"
"""The finding about values of a secret that may mean that nothing is recorded, of which the policy says nothing."""
DEPENDENCY = "dependency"
"""The finding about a column that follows from another one, of which the policy knows nothing."""
Verdict = Literal["pass", "fail", "inconclusive"]
FindingState = Literal["failed", "inconclusive", "waived", "passed"]
FINDING_STATES: tuple[FindingState, ...] = get_args(FindingState)
"""The states of findings, the most urgent first."""
GROUPS_ALONE = "the metric scores groups of people, and no distribution of a secret"
DERIVED_ALONE = "the metric can only score what is derived"
HIDDEN_CELLS = "the belief is about hidden cells of published records"
NO_CLASSES = "the attack divides people into no equivalence classes"
VERIFIED_PRIVACY = "the release's claim of differential privacy was verified"
NOT_SPOKEN_OF = "the release neither predicts nor tests nor publishes this column"
JOINT_CLASSES = "a joint class that is small, or pure, discloses nothing by itself"
# The seven texts above say why a limit is judged by what is derived and not by the worse of two distributions.
EXIT_CODES: Mapping[Verdict, ExitCode] = {
    "pass": ExitCode.PASS,
    "fail": ExitCode.FAIL,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


def state_of(passed: bool | None, *, waived: bool) -> FindingState:
    """The state of a finding; a waived one is never called passed, and what could not be determined is not waived."""
    if passed is None:
        return "inconclusive"
    return "waived" if waived else "passed" if passed else "failed"


def verdict_of(states: Collection[FindingState]) -> Verdict:
    """Fail if a limit is broken and not waived; else inconclusive if a finding is, or there is none; else pass."""
    if "failed" in states:
        return "fail"
    return "inconclusive" if "inconclusive" in states or not states else "pass"


@dataclass(frozen=True, repr=False)
class Masking:
    """What public reports mask a score by, besides its unit. Its repr holds no number.

    Attributes:
        score_range: the largest of people's scores minus the smallest; averages are rounded by it.
        sensitivity: the most by which one person can move a score of the release, which is rounded by it.
        people_at_value: people in the smallest equivalence class that has the score; None of hidden cells.
        smallest_group: people in the smallest equivalence class of all; None of hidden cells.
    """

    score_range: float = 0.0
    sensitivity: float = 0.0
    people_at_value: int | None = None
    smallest_group: int | None = None


@dataclass(frozen=True)
class SecondaryScore:
    """A score in a finding's evidence that is by another distribution of the secret than the judged one.

    `value` is None where it has no bound. An audience sees it by the same rules as the finding's own number.
    """

    value: float | None = field(repr=False)
    masking: Masking = field(default=Masking(), repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class ScoredPeople:
    """Every record's score, from which histograms are made; no report prints it.

    `weight` people share each record, and those whom `violates` marks violate the limit (nobody, where an average is
    judged);
    the records are `everyone`'s, in the table's order, or those behind some hidden cells.
    """

    scores: NDArray[np.float64]
    weight: NDArray[np.int64]
    violates: NDArray[np.bool_]
    everyone: bool


RemedyAction = Literal["set", "run", "retrain", "add", "advise", "none"]


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One thing that can be done about a finding that is not ok. It never loosens the policy.

    Attributes:
        action: `set` a key of the policy to a value; `run` a command; `retrain` the model with another parameter;
            `add` something that the policy lacks; `advise`, which only a person can follow; `none`: a search found
            nothing useful, and the text says what was tried.
        text: one plain sentence for everybody: without a cell of the data, and without a number of people.
        details: sentences with numbers that follow from the data, for auditors alone: how large the smallest group
            would be, and what the change costs in use.
        place: where in the policy, such as `build.min_leaf` or `data.control`; of `set` and `add`. A list, such as
            `metrics`, is added to.
        value: what stands there afterwards, as JSON; None where only a person knows it.
        parameters: of the learner, by their names, of `retrain`.
        command: the words of the command, of `run`; MODEL, POLICY and NEW stand for the audited file, the policy's
            file and a new file.
        tried: whether a whole audit with it kept every limit.
        what: of `run` and `retrain` what is done, as the clause that the text begins with.
        outcome: of `run` and `retrain` how the text ends, after what is done and how.
        afterwards: of `retrain` the words of the command that changes the new model's file before it is audited.

    In a text backquotes mark what another interface has another name for: keys of the policy, such as
    `data.control` or `publish.leaves: labels`, and commands.
    """

    action: RemedyAction
    text: str
    details: str = field(default="", repr=False)
    place: str = ""
    value: Any = None
    parameters: Mapping[str, int | float] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    tried: bool = False
    what: str = field(default="", repr=False)
    outcome: str = field(default="", repr=False)
    afterwards: tuple[str, ...] = ()

    @classmethod
    def running(
        cls,
        what: str,
        command: tuple[str, ...],
        outcome: str = ".",
        *,
        details: str = "",
        tried: bool = False,
        brief: bool = False,
    ) -> Remedy:
        """To run a command that writes a new file, and to audit that file.

        Args:
            what: what the command does, as a clause.
            command: its words.
            outcome: how the sentence ends, and further ones.
            details: as in Remedy.
            tried: as in Remedy.
            brief: whether the text calls the new file NEW, as the command does.
        """
        line = f"`{' '.join(command)}`"
        text = f"{what}: {line}; then audit NEW" if brief else f"{what} ({line}), and audit the new file"
        return cls(
            action="run",
            text=text + outcome,
            details=details,
            command=command,
            tried=tried,
            what=what,
            outcome=outcome,
        )

    @classmethod
    def retraining(
        cls,
        what: str,
        parameters: Mapping[str, int | float],
        outcome: str = ".",
        *,
        afterwards: tuple[str, ...] = (),
        details: str = "",
    ) -> Remedy:
        """To train the model with other parameters, and to audit it.

        Args:
            what: which parameters, as a clause.
            parameters: these parameters.
            outcome: how the sentence ends, and further ones.
            afterwards: the words of the command that changes the new model's file before it is audited, if one does.
            details: as in Remedy.
        """
        line = f"`{' '.join(afterwards)}`"
        if afterwards == REPAIR:
            then = f", take out of its file what it discloses beside its predictions ({line}), and audit that file"
        elif afterwards:
            then = f", write its file with labels alone ({line}), and audit that file"
        else:
            then = " and audit it again"
        return cls(
            action="retrain",
            text=what + then + outcome,
            details=details,
            parameters=parameters,
            what=what,
            outcome=outcome,
            afterwards=afterwards,
        )


REPAIR = ("leafgate", "repair", "MODEL", "--policy", "POLICY", "--out", "NEW")
"""The words of the command that looks for the most useful model in place of an audited one that passes."""


REPAIR_CLAUSE = "Repair the model"
"""What that command does, as the clause that a remedy begins with."""


def scrub_command(leaves: str) -> tuple[str, ...]:
    """The words of the command that writes a model's file anew with no more than this on its leaves."""
    return ("leafgate", "scrub", "MODEL", "NEW", "--leaves", leaves, "--policy", "POLICY")


@dataclass(frozen=True, repr=False)
class Finding:
    """One limit compared with one score. Its repr holds no number, because notebooks and logs keep what they print.

    `passed` is None where the question is inconclusive; `value` is None where there is no number, or an unbounded one
    (the evidence says so). `people` were judged and `violations` of them violate the limit (None where the score is
    not about people). `audience` says who may see these numbers; where public reports mask them, `unit`, which is the
    metric's, and `masking` say how. `where` is the line of the policy file that asked for the limit: {"file", "line"},
    empty where it is not known. `waiver` states who lets the finding through although it failed, and until when.
    `plain_failure` is a clause in plain words: what a broken limit means. `use` is the `use` of a metric with a name of
    its own. `remedies` say what to do where it is not ok, the best first.
    """

    id: str
    metric: str
    passed: bool | None
    use: str = field(default="", kw_only=True)
    attack: str | None = None
    secret: str | None = None
    value: float | None = None
    limit: Limit | None = None
    people: int | None = None
    violations: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    plugin: str = ""
    unit: Unit = Unit.NONE
    audience: VisibleTo = VisibleTo.MASKED
    masking: Masking = Masking()
    scored_people: ScoredPeople | None = field(default=None, repr=False, compare=False)
    where: Mapping[str, Any] = field(default_factory=dict)
    waiver: Mapping[str, Any] | None = None
    plain_failure: str = ""
    remedies: tuple[Remedy, ...] = ()

    def __repr__(self) -> str:
        return f"Finding(id={self.id!r}, passed={self.passed})"

    @property
    def bound(self) -> float:
        """The number of its limit, to be read in the limit's direction."""
        if self.limit is None:
            raise ValueError(f"finding {self.id!r} has no limit")
        return self.limit.bound

    @property
    def average(self) -> bool:
        """Is its value the mean over people?"""
        return self.limit is not None and self.limit.average

    @property
    def is_of_file(self) -> bool:
        """Is it about the bytes of a model's file, and what they disclose beyond predictions?"""
        return self.id == "published_file" or (self.use or self.metric) == "file_disclosure"

    @property
    def fails(self) -> bool:
        """Is a limit broken, and not waived?"""
        return self.passed is False and self.waiver is None

    @property
    def needs_action(self) -> bool:
        """Is it failed or inconclusive, and not waived?"""
        return self.passed is not True and self.waiver is None


@dataclass(frozen=True, repr=False)
class TreeView:
    """The first tree of the release that asks anything, drawn twice.

    `coloured` by risk, unfolded where it is, and `plain`, by shape alone; `number` is the tree's, from 1.
    `leaves_past` says for each finding with people outside its limit in how many leaves of this tree they are.
    """

    trees: int
    coloured: Sequence[Mapping[str, Any]]
    plain: Sequence[Mapping[str, Any]]
    leaves_past: Mapping[str, int]
    number: int = 1


@dataclass(frozen=True, repr=False)
class Report:
    """One audit's outcome; `leafgate.disclosure.document` turns it into the document an audience may see.

    `method` describes how it was made (`leafgate.engine.report_facts`); `waivers` has the status of each waiver of
    the policy on the day `judged_on`. `auditor_notes` are notes that follow from the data: a public report does not
    disclose that they exist. `ledger` is the head of the ledger whose releases were taken into account. `affected` says
    how many people are outside at least one broken limit, for auditors. Its repr holds no number.
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
    ledger: LedgerHead | None = None
    affected: int | None = None

    def __repr__(self) -> str:
        return f"Report(verdict={self.verdict!r}, findings={len(self.findings)})"

    @property
    def waived(self) -> int:
        """How many broken limits are waived."""
        return sum(finding.waiver is not None for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the states of the findings."""
        return verdict_of([state_of(each.passed, waived=each.waiver is not None) for each in self.findings])

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]
