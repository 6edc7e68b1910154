"""Columns that may number the people, of which the policy says nothing: findings, and limits counted by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from leafgate.api.registry import Plugins
from leafgate.engine.knowledge import Adversaries
from leafgate.engine.waivers import SourceLocations
from leafgate.errors import LeafgateError
from leafgate.kernel.evidence import PeopleCount
from leafgate.kernel.findings import PERSONS, Finding, Remedy
from leafgate.kernel.persons import PersonRows

SEVERAL_ROWS = "{!r} has {:,} different values in {:,} rows, and each row was counted as a person"
BROKEN = "counted by its values, these limits do not hold: {}"
UNJUDGED = "whether the limits hold where its values are counted could not be judged: {}"
PER_ROW = "a claim of differential privacy is about one row, and not about all rows of a person"
NUMBERS_PEOPLE = "If it numbers the people, say so: `role: person` on the column."
ROWS_ARE_PEOPLE = "If each row is a person, say so: `rows: people` under `data`."

Judge = Callable[[Adversaries], Sequence[Finding]]
"""Runs the attacks of these adversaries and returns the findings on what they believe."""


def persons_note(name: str, rows: PersonRows) -> str:
    """What a report notes of a column that may number the people."""
    return f"{SEVERAL_ROWS.format(name, rows.people, int(rows.rows.sum()))}. {NUMBERS_PEOPLE} {ROWS_ARE_PEOPLE}"


@dataclass(frozen=True)
class PersonColumnAudit:
    """The limits of an audit, counted by a column that may number the people.

    Attributes:
        adversaries: those of the audit, who count rows.
        plugins: those that the policy trusts.
        locations: of findings in the policy.
    """

    adversaries: Adversaries
    plugins: Plugins
    locations: SourceLocations

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, after an inconclusive one for each column by which a limit that holds would be broken.

        Args:
            findings: of the audit by rows.
            judge: returns the findings about people who are counted otherwise.
        """
        suspected = self.adversaries.table.suspected.items()
        doubts = [doubt for name, rows in suspected for doubt in self._doubts(name, rows, findings, judge)]
        return [*self.locations.of_build(doubts), *findings]

    def _doubts(self, name: str, rows: PersonRows, findings: Sequence[Finding], judge: Judge) -> Iterator[Finding]:
        own = self.adversaries
        kept = {
            each.id
            for each in findings
            if each.passed and each.limit is not None and not each.id.startswith("guarantee:")
        }
        if own.artifact.release.claims_differential_privacy:
            reason = PER_ROW
        else:
            people = replace(own.table, person_rows=rows, suspected={})
            others = replace(own, tables=replace(own.tables, people=people), _drawn={}, _asked={})
            try:
                broken = [each.id for each in judge(others) if each.id in kept and each.fails]
                reason = BROKEN.format(", ".join(broken)) if broken else ""
            except LeafgateError as error:
                reason = UNJUDGED.format(error)
        if reason:
            yield Finding(
                f"{PERSONS}#{name}",
                PERSONS,
                passed=None,
                evidence={
                    "problem": SEVERAL_ROWS.format(name, rows.people, int(rows.rows.sum())),
                    "reason": reason,
                    "values": PeopleCount(rows.people),
                },
                plugin=self.plugins.origin(own.policy.build),
                plain_failure="one person may stand in several rows, and was counted as several",
                remedies=(
                    Remedy(action="set", text=NUMBERS_PEOPLE, place=f"data.columns.{name}.role", value="person"),
                    Remedy(action="set", text=ROWS_ARE_PEOPLE, place="data.rows", value="people"),
                ),
            )
