"""What each column of a table seems to be, and the line of a first policy that declares it, with what to check.

A column of few values is categories, one of many different numbers has bounds, and one that is different for nearly
everybody is an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.api import PolicyError
from leafgate.api.registry import load_plugins
from leafgate.io.tables.cells import is_code, unread_numbers
from leafgate.io.yaml import yaml_flow, yaml_text
from leafgate.kernel.policy import CsvOptions
from leafgate.kernel.schema import MISSING_MARKS, MISSING_WORDS
from leafgate.kernel.spelling import loose_form, same_form, similar_form, spellings_of_one
from leafgate.session.answers import proposed_answers
from leafgate.session.domains import bounds_domain, is_long_list, list_domain, number_domain, rare_values
from leafgate.session.draft import ModelHints
from leafgate.session.undeclared import read_undeclared_table

MANY = 50
"""A class with more values than this is none: names, or numbers."""


FEW = 12
"""Numbers with no more different values than this could be codes; a comment says so."""


NEARLY = 0.5
"""A column with more different values than this share of its people is taken to be different for nearly everybody."""


MOSTLY = 0.8
"""A column with so large a share of numbers is taken to be one of numbers, with something else in it."""


NUMBER_NAME = re.compile(r"(^|[^a-z])(id|nr|no|num|number|key|uuid|guid|index|row|record)([^a-z]|$)|[a-z]I[dD]$")
"""What a column of people's or rows' numbers is called, as a word within its name."""


DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}([ T].*)?|\d{1,2}([-/.])\d{1,2}\3\d{4}( .*)?")
"""A date, the year first or last."""


@dataclass(frozen=True)
class Guess:
    """What one column seems to be: how many people have each of its values, and fewer than `smallest_cell` are few.

    `others` are values of people in other files, which a domain must hold, too. So many `gaps` are missing cells.
    """

    name: str
    people_with: Mapping[str, int]
    numeric: bool
    missing: frozenset[str]
    smallest_cell: int
    others: frozenset[str] = frozenset()
    gaps: int = 0

    @property
    def values(self) -> tuple[str, ...]:
        """What occurs, in the order of texts."""
        return tuple(self.people_with)

    @property
    def possible(self) -> tuple[str, ...]:
        """The values that a domain must hold, in the order of texts."""
        return tuple(sorted({*self.values, *self.others}))

    @property
    def people(self) -> int:
        """How many have a cell that is not missing."""
        return sum(self.people_with.values())

    @property
    def rare(self) -> int:
        """How many of its values few people have."""
        return rare_values(self.people_with.values(), self.smallest_cell)

    @property
    def is_long(self) -> bool:
        """Are its values too many that few people have, for a list that a policy could have?"""
        return is_long_list(self.people_with.values(), self.smallest_cell)

    @property
    def not_all_numbers(self) -> str:
        """That most cells are numbers, and some are none; not how many, who may be few. Empty where that is not so."""
        numbers = sum(people for text, people in self.people_with.items() if not is_code(text))
        everybody = self.people + self.gaps
        if numbers == everybody or numbers < MOSTLY * everybody:
            return ""
        if self.numeric:
            return "most cells are numbers, the others usual marks of missing cells, as `missing` lists them"
        others = "some neither numbers nor usual marks of missing cells"
        return f"most cells are numbers, and {others}: a total row, a remark? correct the file, and run init again"

    @property
    def unique(self) -> bool:
        """Is every cell different?"""
        return len(self.values) == self.people > FEW

    @property
    def nearly_unique(self) -> bool:
        """Are nearly all cells different?"""
        return len(self.values) > max(FEW, NEARLY * self.people)

    @property
    def dates(self) -> bool:
        return bool(self.values) and all(DATE.fullmatch(text) for text in self.values)

    @property
    def numbers_rows(self) -> bool:
        """Is it a running number, or, all whole numbers and all different, a number of a person?"""
        if not (self.numeric and self.unique and all(text.lstrip("+-").isdecimal() for text in self.values)):
            return False
        numbers = [int(text) for text in self.values]
        running = max(numbers) - min(numbers) == len(numbers) - 1
        named = NUMBER_NAME.search(self.name.lower()) or NUMBER_NAME.search(self.name)
        return running or bool(named) or len(numbers) > MANY


def guesses_of(cells: pd.DataFrame, smallest_cell: int, known: frozenset[str] = frozenset()) -> list[Guess]:
    """What each column seems to be; what is missing in one is missing in all, but for values that a model knows."""
    found = [_guess(str(name), cells[name], smallest_cell, MISSING_MARKS, known) for name in cells]
    marks = MISSING_MARKS.union(*(guess.missing for guess in found))
    return [
        guess
        if marks.isdisjoint(guess.people_with)
        else _guess(guess.name, cells[guess.name], smallest_cell, marks, known)
        for guess in found
    ]


def _guess(name: str, cells: pd.Series, smallest_cell: int, marks: frozenset[str], known: frozenset[str]) -> Guess:
    """What a column seems to be; a mark of missing cells that is `known` to a model as a value is one.

    Among texts these `marks` are missing, among numbers all that are in use.
    """
    counts = {str(text): int(number) for text, number in cells.value_counts().items() if number}
    gone = {text for text in counts if text.strip() in MISSING_WORDS} - known
    numeric = bool(counts.keys() - gone) and not any(is_code(text) for text in counts if text not in gone)
    missing = frozenset(gone if numeric else {text for text in gone if text in marks or text.strip() in marks})
    people_with = {text: counts[text] for text in sorted(counts.keys() - missing)}
    gaps = sum(counts[text] for text in missing)
    return Guess(name, people_with, numeric, missing, smallest_cell, gaps=gaps)


def with_values_of_others(
    guesses: Sequence[Guess], files: Iterable[Path], csv: CsvOptions, encoding: str | None
) -> list[Guess]:
    """The columns with the values that people in other files have.

    What is no number in a column of numbers, and a file without a column, is left for the audit to refuse.
    """
    others = {guess.name: set[str]() for guess in guesses}
    for file in files:
        cells = read_undeclared_table(file, csv.header, load_plugins(), encoding)[0]
        for guess in guesses:
            found = map(str, cells[guess.name].dropna().unique()) if guess.name in cells.columns else ()
            others[guess.name] |= {text for text in found if not (guess.numeric and is_code(text))}
    return [replace(guess, others=frozenset(others[guess.name] - MISSING_MARKS - guess.missing)) for guess in guesses]


def is_left_out(guess: Guess, hints: ModelHints | None) -> bool:
    """Is it of no use: all missing, or a name or number of people that no model asks about?"""
    asked = hints is not None and guess.name in hints.values | hints.numbers
    names_people = guess.numbers_rows or (guess.is_long and not guess.numeric)
    return not guess.values or (names_people and not asked)


def column_line(guess: Guess, hints: ModelHints | None) -> str:
    if not guess.values:
        return "{role: ignored}          # CHECK: every cell is missing"
    as_values = hints is not None and guess.name in hints.values
    as_number = hints is not None and guess.name in hints.numbers
    if is_left_out(guess, hints):
        return f"{{role: identifier}}{check_comment(_why_identifier(guess))}"
    many = len(guess.values) > FEW or any("." in text for text in guess.values)
    if guess.numeric and not as_values and (many or as_number):
        domain = bounds_domain([float(text) for text in guess.possible], guess.people)
        check = "round bounds; are they what could occur?"
        if guess.nearly_unique:
            check = f"nearly every number is different: round them, or {{role: identifier}}; {check}"
        check = "; ".join(filter(None, (guess.not_all_numbers, check)))
        return f"{yaml_flow({'role': 'quasi_identifier', **domain})}{check_comment(check)}"
    texts = sorted(guess.possible, key=float) if guess.numeric else guess.possible
    values = list_domain(texts, list(guess.people_with.values()), guess.smallest_cell).get("values", [])
    listed = f", values: [{', '.join(map(yaml_text, values))}]" if values else ""
    return f"{{role: quasi_identifier{listed}}}{check_comment(_why_values(guess, values, as_values))}"


def _why_values(guess: Guess, values: Sequence[str], as_values: bool) -> str:
    """What to check of a column that has `values`, or no domain; `as_values` where the model takes it as values."""
    if written := unread_numbers(guess.values):
        return f"categories here; {written}"
    if guess.not_all_numbers and not guess.numeric:
        return guess.not_all_numbers
    if not values:
        return f"{_many_rare(guess)}: {COARSER}"
    if guess.dates:
        return "dates: years or months single out fewer people"
    if len(values) > MANY:
        return f"{len(values)} values: coarser ones single out fewer people"
    numbers = "numbers taken as categories" if guess.numeric and not as_values else ""
    rare = f"some belong to fewer than {guess.smallest_cell} people; a public code list? then add `domain: public`"
    alike = "some values are spelled alike: say `aliases`" if spellings_of_one(values, similar_form) else ""
    return "; ".join(filter(None, (numbers, rare if guess.rare else "", alike)))


def _why_identifier(guess: Guess) -> str:
    """What makes a column look like an identifier, and what else it may be."""
    every = "every cell is different" if guess.unique else _many_rare(guess)
    if written := unread_numbers(guess.values):
        return f"{every}; {written}, and run init again"
    if guess.not_all_numbers and not guess.numeric:
        return f"{every}; {guess.not_all_numbers}"
    if guess.numeric:
        return f"{every}; a measure? then round it, as a quasi_identifier; or `key`, if rows are called by it"
    if guess.dates:
        return f"{every}; dates? as years or months they may be a quasi_identifier"
    return every if guess.unique else f"{every}; as a quasi_identifier, {COARSER}"


COARSER = "declare coarser `values`, or a whole public code list and `domain: public`"


def _many_rare(guess: Guess) -> str:
    return f"{len(guess.values)} values, many of fewer than {guess.smallest_cell} people"


def class_spec(guess: Guess, classes: pd.Series, hints: ModelHints | None) -> dict[str, Any]:
    """What the policy says of the class and secret, besides its role.

    People whose class is a mark of missing cells have none, unless the model has the mark as a class.
    """
    if hints is not None and not hints.classes:
        return _numbers_to_predict(guess, classes)
    if len(guess.values) > MANY:
        raise PolicyError(
            f"more than {MANY} different values are no classes", place="--class", remedy="name another column"
        )
    return proposed_answers(guess.possible, () if hints is None else hints.classes, sorted(guess.missing))


def _numbers_to_predict(guess: Guess, classes: pd.Series) -> dict[str, Any]:
    """A class of numbers, in intervals with round edges."""
    if not guess.numeric or len(guess.values) < 2:
        raise PolicyError(
            f"the model predicts numbers, and {guess.name!r} has none", place="--class", remedy="name another column"
        )
    no_answer = {"no_answer": sorted(guess.missing)} if guess.missing else {}
    domain = number_domain(classes.astype(str).to_numpy(dtype=np.float64), [float(text) for text in guess.possible])
    if not domain:
        why = f"the numbers of {guess.name!r} are too large, or too near each other, for round intervals"
        raise PolicyError(why, place="--class", remedy="write the policy by hand, or take a constant from the numbers")
    return {**domain, **no_answer}


def with_merged_spellings(spec: Mapping[str, Any], guess: Guess, hints: ModelHints | None) -> dict[str, Any]:
    """What the policy says of the class, where the commonest of several spellings of a value stands for all of them.

    A model that has classes of its own for them is audited as it is.
    """
    aliases, known = dict(spec.get("aliases", {})), frozenset(() if hints is None else hints.classes)
    for spellings in spellings_of_one(spec.get("values", ()), same_form):
        if len(known.intersection(spellings)) < 2:
            commonest = max(spellings, key=lambda text: guess.people_with.get(text, 0))
            aliases |= {text: commonest for text in spellings if text != commonest}
    kept = [value for value in spec.get("values", ()) if value not in aliases]
    return {**spec, "values": kept, "aliases": aliases} if aliases else dict(spec)


def class_line(guess: Guess, spec: Mapping[str, Any]) -> str:
    """The class and secret in one line of YAML."""
    checks: list[str] = []
    if "bins" in spec:
        checks.append("intervals the number is published in; `scale`, `step`: leafgate explain exposure")
    elif guess.numeric and len(guess.values) > FEW:
        checks.append("numbers taken as values: near ones are not judged together")
    if "no_answer" in spec:
        checks.append(_why_no_answer(spec))
    if guess.people_with.keys() & spec.get("aliases", {}).keys():
        checks.append("`aliases` are other spellings of the values")
    if spellings_of_one(spec.get("values", ()), loose_form):
        checks.append("some values are spelled alike: say `aliases`, or `distinct` if they are different things")
    elif "values" in spec:
        checks.append("that no two mean the same (y and yes, pos and positive)")
    return f"{yaml_flow({'role': ['class', 'sensitive'], **spec})}{check_comment('; '.join(checks))}"


def _why_no_answer(spec: Mapping[str, Any]) -> str:
    """What to check of the values and marks that may mean that nothing is recorded of somebody."""
    listed = ", ".join(yaml_text(text) for text in spec["no_answer"])
    if "missing_is_value" in spec:
        return (
            f"if {listed} means that nothing is recorded, such people hide nobody; else take it from `no_answer`. Is "
            "it a secret who gave no answer? If not, take out `missing_is_value`"
        )
    return (
        f"people with {listed} have no class and are left out. If it is a secret who they are, list it in `values`, "
        "with `missing_is_value: true`"
    )


def check_comment(what: str) -> str:
    return f"          # CHECK: {what}" if what else ""
