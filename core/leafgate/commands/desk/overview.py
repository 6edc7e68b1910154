"""What a service sees of all cases together: what is open, what was decided and why, and the ledger of what left.

No number here is about people, and no words are those of whoever decided, which may hold such numbers.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from leafgate.commands.desk.cases import RUNS, Case
from leafgate.commands.desk.decisions import Decider, decided_about, decided_in, has_decisions
from leafgate.commands.desk.jobs import PUBLIC, Job, jobs_of
from leafgate.commands.desk.questions import QUESTIONS
from leafgate.commands.ledger import coverage, line_words
from leafgate.disclosure.questions import QUESTIONS as OF_REPORTS
from leafgate.disclosure.questions import answers
from leafgate.errors import LeafgateError
from leafgate.io.ledger import read_ledger

CLOSED = {"approved", "changes", "rejected"}
TOGETHER = "several_outputs"
KNOWN = {question.name for question in OF_REPORTS} | {question.name for question in QUESTIONS}
Row = tuple[str, str, str, str]
"""The part, and what stands in the columns of its table."""


def overview(cases: Iterable[tuple[Case, str]]) -> list[Row]:
    """The rows of all parts, for cases with their states in words; a decision that is hidden is not counted."""
    opened, counts = list[Row](), Counter[tuple[str, str, str]]()
    for case, words in cases:
        try:
            jobs = jobs_of(case)
        except LeafgateError:  # whatever is wrong with a case, it is open
            jobs = []
        if not any(found.state in CLOSED for found in decided_in(jobs)[-1:]):
            opened.append(("open", case.name, words, str(jobs[0].record.asked.date()) if jobs else ""))
        for found in filter(None, (decided_about(job) for job in jobs if has_decisions(job))):
            for each in () if found.case is None else found.case.state.decisions:
                if each.is_hidden:
                    continue
                made = each.decision
                counts["decisions", made.at[:7], made.decision] += 1
                for answer in made.questions:
                    said = "acceptable" if answer.acceptable else "not acceptable"
                    name = answer.question if answer.question in KNOWN else "another question"
                    counts["reasons", made.decision, f"{name}: {said}"] += 1
    counted = [(*key, str(number)) for key, number in sorted(counts.items())]
    return [*sorted(opened, key=lambda row: row[3]), *counted]


def overview_csv(rows: Iterable[Row]) -> str:
    """The rows as a table in a file."""
    text = io.StringIO()
    csv.writer(text).writerows([("part", "name", "detail", "value"), *rows])
    return text.getvalue()


def histories(decider: Decider, cases: Iterable[Case]) -> tuple[Mapping[str, Sequence[tuple[str, str]]], list[str]]:
    """The releases of each table that left, with what their reports say of them together, and what was verified."""
    if decider.ledger is None or not decider.ledger.exists():
        return {}, []
    ledger = read_ledger(decider.ledger, decider.ledger_key)
    jobs = dict[str | None, Job]()
    for case in cases:
        with suppress(LeafgateError):  # whatever is wrong with a case, the others are there
            jobs |= {case.sha256(f"{RUNS}/{job.number}/{PUBLIC}"): job for job in jobs_of(case)}
    tables = dict[str, list[tuple[str, str]]]()
    for line in ledger.lines:
        report = job.public_report if line.report.sha256 and (job := jobs.get(line.report.sha256)) else None
        listed = [] if report is None else [each for each in answers(report) if each.question.name == TOGETHER]
        words = " ".join(listed[0].says) if listed else "not known: no report of it is in this desk"
        name = line.data.path if line.data else "a table that nobody named"
        tables.setdefault(name, []).append((line_words(line), words))
    return tables, coverage(len(ledger.lines), None, has_key=True)
