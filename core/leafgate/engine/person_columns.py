"""Columns that may number the people, of which the policy says nothing: findings, and limits counted by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leafgate.api.registry import Plugins
from leafgate.engine.build import with_cells_of
from leafgate.engine.checks import at_builder
from leafgate.engine.knowledge import Adversaries
from leafgate.engine.rejudging import Judge, judge_again
from leafgate.kernel.findings import PERSONS, Finding, Remedy
from leafgate.kernel.persons import PersonRows
from leafgate.kernel.policy import Data

BROKEN = "counted as one person's, these limits do not hold: {}"
UNJUDGED = "whether the limits hold where they are counted as one person's could not be judged: {}"
REPEATED = "some values of {!r} stand in several rows, and each row was counted as a person"
"""How many do is not said: few of them would be a small count."""

SPELLED = "some ids of {!r} are alike but for case or how a number is written, and were counted as different people"

NOT_COUNTED = "an engine did not keep the column for each row, so that no limit could be judged by it"
CELLS = "an engine did not keep the columns that the cells of the file are compared with"
PER_ROW = "a claim of differential privacy is about one row, and not about all rows of a person"
ONE_SPELLING = "If they are one person's, write each id in one way."
DIFFERENT = "If they are different people's, list them: `distinct` of the column, such as `[[p1, P1]]`."
NUMBERS_PEOPLE = "If it numbers the people, say so: `role: person` on the column."
ROWS_ARE_PEOPLE = "If each row is a person, say so: `rows: people` under `data`."


def persons_note(name: str, data: Data) -> str:
    """What a report notes of a column that may number the people, and by which all limits hold."""
    if _are_ids(name, data):
        return f"{SPELLED.format(name)}. {ONE_SPELLING} {DIFFERENT}"
    return f"{REPEATED.format(name)}. {NUMBERS_PEOPLE} {ROWS_ARE_PEOPLE}"


def _are_ids(name: str, data: Data) -> bool:
    """Does the policy say that the column tells people apart, so that spellings alone are doubtful?"""
    return bool({"person", "key"} & data.columns[name].roles)


@dataclass(frozen=True)
class PersonColumnAudit:
    """The limits of an audit, counted by a column that may number the people.

    Attributes:
        adversaries: those of the audit, who count rows.
        plugins: those that the policy trusts.
    """

    adversaries: Adversaries
    plugins: Plugins

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, after an inconclusive one for each column by which a limit that holds might be broken.

        Args:
            findings: of the audit by rows.
            judge: returns the findings about people who are counted otherwise.
        """
        doubts = [
            self._finding(name, reason)
            for name, rows in self.adversaries.table.suspected.items()
            if (reason := NOT_COUNTED if rows is None else self._reason(name, rows, findings, judge))
        ]
        return [*at_builder(self.adversaries.policy, doubts), *findings]

    def _reason(self, name: str, rows: PersonRows, findings: Sequence[Finding], judge: Judge) -> str:
        """Why the limits that hold may not hold if rows are these persons'; empty where all of them hold."""
        own = self.adversaries
        if own.artifact.release.claims_differential_privacy and not own.policy.data.persons:
            return PER_ROW
        cells = own.table.suspected_cells.get(name, {})
        if own.table.cell_counts and not cells:
            return UNJUDGED.format(CELLS)
        people = replace(own.table, person_rows=rows, suspected={}, cell_counts=cells)
        artifact = with_cells_of(own.artifact, own.table, people, own.policy.report.smallest_cell)
        others = own.of_others(replace(own.tables, people=people), artifact)
        counted, problem = judge_again(lambda: others, judge)
        if problem:
            return UNJUDGED.format(problem)
        kept = {each.id: counted.get(each.id) for each in findings if each.passed}
        broken = [name for name, then in kept.items() if then is not None and then.passed is False]
        unjudged = [name for name, then in kept.items() if then is None or then.passed is None]
        return BROKEN.format(", ".join(broken)) if broken else UNJUDGED.format(", ".join(unjudged)) if unjudged else ""

    def _finding(self, name: str, reason: str) -> Finding:
        are_ids = _are_ids(name, self.adversaries.policy.data)
        remedies = (
            Remedy(action="set", text=NUMBERS_PEOPLE, place=f"data.columns.{name}.role", value="person"),
            Remedy(action="set", text=ROWS_ARE_PEOPLE, place="data.rows", value="people"),
        )
        if are_ids:
            remedies = (
                Remedy(action="advise", text=ONE_SPELLING),
                Remedy(action="set", text=DIFFERENT, place=f"data.columns.{name}.distinct"),
            )
        return Finding(
            f"{PERSONS}#{name}",
            PERSONS,
            passed=None,
            evidence={"problem": (SPELLED if are_ids else REPEATED).format(name), "reason": reason},
            plugin=self.plugins.origin(self.adversaries.policy.build),
            plain_failure="one person may stand in several rows, and was counted as several",
            remedies=remedies,
        )
