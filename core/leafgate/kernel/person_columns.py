"""Which columns may number the people of a table, although no policy says so: by name, and because they repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FEWEST_PERSONS = 10
"""A column with fewer different values groups people, and does not number them."""

FEWEST_ROWS = (1.2, 5)
"""An identifier with fewer rows of a value in the mean, and fewer of each value, hardly repeats, as names do."""

MANY_NUMBERS = 50
"""A column that is called a number, and has more different values, does not count something."""

PERSON = re.compile(
    "acc(oun)?t|applicant|beneficiary|borrower|case|claimant|client|cust(omer)?|donor|emp(loyee)?|hh(id)?|household|"
    "indiv(idual)?|insured|member|mrn|participant|pat(ient)?|person|p(at)?id|policyholder|pupil|respondent|ssn|"
    "student|subj(ect)?|user|worker"
)
"""Words for a person, or for the unit that is protected as one."""

IDENTIFIER = re.compile("ids?|identifier|[ug]?uid|pseudonym")
"""Words that make an identifier of what stands before them, or are one alone."""

RUNNING_NUMBER = re.compile("no|nr|num|number")
"""Words for a number of something, which alone do not say of what."""

NUMBER = re.compile(f"{RUNNING_NUMBER.pattern}|key|code|ref|hash")
"""Words that make a number of what stands before them."""

THING = re.compile(
    "address|admission|area|batch|branch|cent(er|re)|city|class|clinic|commune|country|county|course|date|day|dob|"
    "birth(day)?|department|dept|device|district|division|encounter|episode|event|exam|facility|group|hospital|image|"
    "item|line|location|lot|machine|match|measurement|municipality|observation|office|order|page|parcel|period|place|"
    "plot|plz|post(al|code)?|practice|product|province|question|record|region|route|row|sample|school|season|seat|"
    "sector|sequence|serial|series|service|session|shop|site|spell|state|station|stay|store|street|study|submission|"
    "supplier|task|team|test|ticket|time|town|tract|transaction|trial|trip|unit|vehicle|vendor|village|visit|ward|"
    "week|year|zip(code)?|zone"
)
"""Words for what is numbered and is no person."""

DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d{1,2}([./-])\d{1,2}\2\d{2,4}")
"""A day as a text."""


def may_number_people(name: str) -> bool:
    """Does the name of a column hint that it numbers the people, or that it numbers what it does not say?"""
    return names_persons(name) or is_number_of_something(name)


def names_persons(name: str) -> bool:
    """Does the name of a column hint that it numbers the people?

    >>> [name for name in ("PatientID", "id", "case_no", "visit_id", "household size", "age") if names_persons(name)]
    ['PatientID', 'id', 'case_no']
    """
    words, whose = _words(name), _whose(name)
    is_identifier = any(map(IDENTIFIER.fullmatch, words))
    if not whose:
        return is_identifier
    if len(words) == 1 and words[0].endswith("id"):
        return PERSON.fullmatch(words[0]) is not None or PERSON.fullmatch(words[0][:-2]) is not None
    if len(whose) == len(words):
        return all(map(PERSON.fullmatch, words))
    if any(map(PERSON.fullmatch, whose)):
        return True
    return is_identifier and len(whose) == 1 and not THING.fullmatch(whose[0])


def is_number_of_something(name: str) -> bool:
    """Does the name of a column say that it is a number, and not of what?

    >>> [name for name in ("nr", "No.", "number", "order_no", "code", "age") if is_number_of_something(name)]
    ['nr', 'No.', 'number']
    """
    words = _words(name)
    return bool(words) and all(map(RUNNING_NUMBER.fullmatch, words))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _whose(name: str) -> list[str]:
    """The words of a name but for those that make an identifier or a number of the others."""
    return [word for word in _words(name) if not IDENTIFIER.fullmatch(word) and not NUMBER.fullmatch(word)]


def suspected_persons(rows: Mapping[str, pd.Series], identifiers: frozenset[str]) -> Iterator[str]:
    """The columns that may number the people.

    Each has a value in several rows, and either its name hints at persons, or the policy calls it an identifier, or its
    name a number of what it does not say, and neither its name nor the form of its values says that it is a place, a
    day or another thing. A column of fractions never does. One whose values go one to one with those of another column
    may, such as a measurement at the first visit.

    Args:
        rows: for each column the rows that have each text, indexed by the text; 0 of those that mean a missing cell.
        identifiers: the columns that the policy calls identifiers.
    """
    for name, of_text in rows.items():
        there = of_text[of_text > 0]
        distinct, number = len(there), int(there.sum())
        if not FEWEST_PERSONS <= distinct < number or _has_fractions(there.index):
            continue
        hardly_repeats = number < FEWEST_ROWS[0] * distinct and there.max() < FEWEST_ROWS[1]
        is_thing = any(map(THING.fullmatch, _whose(name))) or all(map(DATE.fullmatch, there.index))
        is_identifier = name in identifiers or (is_number_of_something(name) and distinct > MANY_NUMBERS)
        if names_persons(name) or (is_identifier and not hardly_repeats and not is_thing):
            yield name


def _has_fractions(texts: Iterable[str]) -> bool:
    """Is some text a number with digits other than 0 after its point?"""
    fractions = (re.fullmatch(r"[+-]?\d*[.,](\d+)", text) for text in texts)
    return any(each is not None and each[1].strip("0") for each in fractions)
