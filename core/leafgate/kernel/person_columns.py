"""Which columns may number the people of a table, although no policy says so: by name, and because they repeat."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from leafgate.kernel.spelling import similar_form

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

PERSONAL = re.compile("(full )?name|e ?mail|mail")
"""Names of a column in which people have values of their own."""

EITHER = re.compile("record|sample|serial|study")
"""Words for a thing by whose number many tables mean a person: an identifier with such a name is asked about."""

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
    day or another thing. Values that are spelled alike are one. A column of fractions never does, but an identifier of
    persons. One whose values go one to one with those of another column may, such as a measurement at the first visit.

    Args:
        rows: for each column the rows that have each text, indexed by the text; 0 of those that mean a missing cell.
        identifiers: the columns that the policy calls identifiers.
    """
    for name, of_text in rows.items():
        there = of_text[of_text > 0]
        by_form = there.groupby([similar_form(text) or text for text in there.index]).sum()
        distinct, number, is_named = len(by_form), int(there.sum()), names_persons(name)
        if not FEWEST_PERSONS <= distinct < number:
            continue
        if _are_fractions(there.index) and not (name in identifiers and is_named):
            continue
        hardly_repeats = number < FEWEST_ROWS[0] * distinct and by_form.max() < FEWEST_ROWS[1]
        is_thing = _names_a_thing(name) or all(map(DATE.fullmatch, there.index))
        is_identifier = name in identifiers or (is_number_of_something(name) and distinct > MANY_NUMBERS)
        if is_named or (is_identifier and not is_thing and (_has_number_word(name) or not hardly_repeats)):
            yield name


def is_personal(name: str) -> bool:
    """Does the name of a column that the policy ignores say that each person has a value of her own?

    >>> [name for name in ("full_name", "EMail", "record_id", "hospital_no", "hospital_id", "job") if is_personal(name)]
    ['full_name', 'EMail', 'record_id', 'hospital_no']
    """
    is_thing_of_persons = any(map(THING.fullmatch, _whose(name))) and not _names_a_thing(name)
    return PERSONAL.fullmatch(" ".join(_words(name))) is not None or (is_thing_of_persons and _has_number_word(name))


def _has_number_word(name: str) -> bool:
    """Does the name call the column an identifier or a number, so that equal values are no equal names?"""
    return any(IDENTIFIER.fullmatch(word) or RUNNING_NUMBER.fullmatch(word) for word in _words(name))


def _names_a_thing(name: str) -> bool:
    """Does the name say that the column numbers what is no person? A number of a hospital or a unit is a patient's."""
    things = [word for word in _whose(name) if THING.fullmatch(word) and not EITHER.fullmatch(word)]
    is_number = any(map(RUNNING_NUMBER.fullmatch, _words(name)))
    return bool(things) and not (is_number and {*things} <= {"hospital", "unit"})


def _are_fractions(texts: Collection[str]) -> bool:
    """Are most texts numbers with digits other than 0 after their point, as those of a measurement are?"""
    fractions = (re.fullmatch(r"[+-]?\d*[.,](\d+)", text) for text in texts)
    return 2 * sum(each is not None and bool(each[1].strip("0")) for each in fractions) > len(texts)
