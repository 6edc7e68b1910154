"""A first policy for a table, for its owner to check."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api import DataError, DataSource, PolicyError
from leafgate.api.registry import load_plugins
from leafgate.commands.scaffold.limits import PRIVATE, limits_of
from leafgate.commands.scaffold.model import (
    ClassCodes,
    class_by_position,
    class_column,
    codes_of_classes,
    rest_of_policy,
)
from leafgate.errors import nearest_name
from leafgate.io.tables.cells import is_code, unread_numbers
from leafgate.io.yaml import MAX_YAML_BYTES, yaml_flow, yaml_text
from leafgate.kernel.person_columns import names_persons, suspected_persons
from leafgate.kernel.policy import CsvOptions
from leafgate.kernel.schema import MISSING_MARKS, MISSING_WORDS
from leafgate.kernel.spelling import loose_form, same_form, similar_form, spellings_of_one
from leafgate.models.reader import read_model
from leafgate.session.answers import proposed_answers
from leafgate.session.domains import bounds_domain, is_long_list, list_domain, number_domain, rare_values
from leafgate.session.draft import ModelHints, model_hints
from leafgate.session.proposals import MODEL_GROUP, Proposal, SecretShares, propose, smallest_group
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

LAST_COLUMN = "the last column is taken for what is predicted; name another one: --class"


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


@dataclass(frozen=True)
class FirstPolicy:
    """The text of a first policy, and what its owner must decide, a line each."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Files:
    """What a first policy is made from.

    Attributes:
        data: the people's table.
        model: the file of a fitted model, of which the audit is then.
        folder: the folder the policy will stand in.
        header: whether the first line of a CSV file has the names of the columns; found out if None.
        encoding: of a CSV file, UTF-8 if None.
        test: a file of people who are not in the table, by whom use is measured.
        control: a file of people like these who are not in the table.
    """

    data: Path
    model: Path | None = None
    folder: Path | None = None
    header: bool | None = None
    encoding: str | None = None
    test: Path | None = None
    control: Path | None = None

    @property
    def others(self) -> dict[str, Path]:
        """The files of other people, by their sections of the policy."""
        found = {"test": self.test, "control": self.control}
        return {section: file for section, file in found.items() if file is not None}


@dataclass(frozen=True)
class Draft:
    """The columns of a first policy, and what follows from the table and the model.

    Attributes:
        csv: how the table's file is written.
        source: what reads it, where the core does not.
        guesses: what each column seems to be.
        target: the class.
        chosen: did the user or the model name it?
        hints: what the model's file says of the columns; None without a model.
        kept: are people with missing cells kept?
        classes: the classes of the people who are.
        person: the column that seems to number the people; None where each row seems to be a person.
        person_of: shape (n_classes,), by their numbers whose these are; -1 where a row does not say so.
    """

    csv: CsvOptions
    source: DataSource | None
    guesses: Sequence[Guess]
    target: str
    chosen: bool
    hints: ModelHints | None
    kept: bool
    classes: pd.Series
    person: str | None
    person_of: NDArray[np.int64]

    @cached_property
    def of_class(self) -> Guess:
        """What the class's column seems to be."""
        return next(guess for guess in self.guesses if guess.name == self.target)

    @property
    def most_rows(self) -> int | None:
        """The most rows that a person has; None where each row seems to be a person."""
        known = self.person_of[self.person_of >= 0]
        return None if self.person is None else int(np.bincount(known).max(initial=1))

    @cached_property
    def spec(self) -> dict[str, Any]:
        """How the policy declares the class."""
        return _with_merged_spellings(_class_spec(self.of_class, self.classes, self.hints), self.of_class, self.hints)


def first_policy(
    files: Files,
    target: str | None = None,
    builder: str = "kadet",
    harmless: Sequence[str] = (),
    draft: Draft | None = None,
) -> FirstPolicy:
    """YAML text: every column with a role and the domain that occurs, and one audit to start from.

    The class is `target`, else the last column. Long lists of texts for few people each, and whole numbers that are
    different for everybody, are taken for identifiers, which are dropped as the file is read: nothing of them gets
    into a release. Everything else is taken to be known to outsiders, the careful assumption. Bounds are round numbers
    around what occurs, so that they are nobody's; domains hold the values of other people's files, too. Every such
    guess says CHECK. A long list that a model's file asks about is left to the owner. A column that seems to number the
    people has the role `person`, and the limits are for as many people as it numbers.

    Args:
        files: what it is made from.
        target: the class.
        builder: what makes the release where no model is given: kadet, id3, c45 or one of `limits.PRIVATE`.
        harmless: values of the class that may be known of anybody.
        draft: what follows from the files, where it is known already.

    Raises InvalidError: the table or the model cannot be read, or has no such class.
    """
    path, model = files.data, files.model
    draft = draft_of(files, target) if draft is None else draft
    proposal = propose(
        _shares_of_persons(draft),
        of_model=model is not None,
        harmless=harmless,
        has_control=files.control is not None,
    )
    private = builder in PRIVATE and model is None
    most_rows = draft.most_rows if private else None
    lines = list(_lines(path, draft, files.others, most_rows))
    if draft.hints is None or model is None:
        lines += limits_of(builder, proposal, most_rows)
    else:
        cells = {*draft.of_class.values, *draft.of_class.missing}
        codes = codes_of_classes(draft.hints, [value for value in draft.spec.get("values", ()) if value in cells])
        if codes is not None and not draft.hints.unresolved_features:
            alone = [
                *_lines(path, draft, {}),
                *_limits_of_model(draft.hints, draft.target, codes, model, None, proposal),
            ]
            codes = codes.fitted("\n".join(alone), path, model)
        lines += _limits_of_model(draft.hints, draft.target, codes, model, files.folder, proposal)
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > MAX_YAML_BYTES:
        text = _without_checks_of_columns(text)
    if len(text.encode()) > MAX_YAML_BYTES:
        remedy = "leave out columns that are texts of their own, such as names and remarks"
        raise DataError("has too many different values for a policy to list", place=path.name, remedy=remedy)
    said = (f"exposure: {proposal.impossible}" if proposal.impossible else "", proposal.question)
    return FirstPolicy(text, () if private else tuple(filter(None, said)))


def _without_checks_of_columns(text: str) -> str:
    """The policy of a table so wide that it has no room for what to check of each column."""
    start, *rest = text.partition("  columns:")
    columns, limits = "".join(rest).partition("\n\n")[::2]
    columns = "\n".join(line.partition("          # CHECK")[0] for line in columns.splitlines())
    return f"{start}  # CHECK each role and domain; so many columns leave no room to say what.\n{columns}\n\n{limits}"


def draft_of(files: Files, target: str | None) -> Draft:
    """What the table and the model say of the columns."""
    path = files.data
    cells, csv, source = read_undeclared_table(path, files.header, load_plugins(), files.encoding)
    names = [str(name) for name in cells.columns]
    if len(set(names)) != len(names):
        raise DataError("a column name stands twice in the header", place=path.name, remedy="rename one")
    if not len(cells):
        raise DataError("has no rows", place=path.name)
    if len(names) < 2:
        remedy = "is it a table with commas, semicolons, tabs or | between its cells? A first policy needs two columns"
        raise DataError("has one column", place=path.name, remedy=remedy)
    if target is not None and target not in names:
        unnamed = f"the first line is people's here, so that columns are called {names[0]} to {names[-1]}"
        first_line = "is the first line names? say --header or --no-header" if csv.header else unnamed
        remedy = nearest_name(target, names, first_line)
        raise PolicyError(f"there is no column {target!r}", place="--class", remedy=remedy)
    few = smallest_group(len(cells)) if files.model is None else MODEL_GROUP
    guesses = _guesses(cells, few)
    hints = None
    if files.model is not None:
        texts = {guess.name: guess.values for guess in guesses if not guess.numeric}
        fitted = read_model(files.model, load_plugins().readers)
        hints = model_hints(fitted, names, texts)
        gaps = frozenset(word for guess in guesses if guess.numeric for word in guess.missing)
        guesses = _guesses(cells, few, hints.known - gaps)
        values = {guess.name: guess.values for guess in guesses}
        target = target or class_by_position(fitted, values, texts) or class_column(hints, values, names)
        placed = model_hints(fitted, [name for name in names if name != target], texts)
        hints = placed if placed.by_position else hints
    predicted = target or names[-1]
    kept, classes = _people_kept(cells, guesses, predicted, hints)
    guesses = _with_others(guesses, files.others.values(), csv, files.encoding)
    person, person_of = _persons(cells, guesses, predicted, classes, hints)
    return Draft(csv, source, guesses, predicted, target is not None, hints, kept, classes, person, person_of)


def _persons(
    cells: pd.DataFrame, guesses: Sequence[Guess], target: str, classes: pd.Series, hints: ModelHints | None
) -> tuple[str | None, NDArray[np.int64]]:
    """The column that seems to number the people, and whose each row is that is kept.

    Of several it is the coarsest of those whose names say so; without any, of those that are left out as identifiers,
    and of those that are called a number and have many values.
    """
    categories = {guess.name: cells[guess.name].astype("category").cat for guess in guesses if guess.name != target}
    codes = {name: each.codes.to_numpy().astype(np.int64) for name, each in categories.items()}
    for guess in guesses:
        if guess.name in codes and guess.missing:
            codes[guess.name] = np.where(cells[guess.name].isin(guess.missing), -1, codes[guess.name])
    identifiers = frozenset(guess.name for guess in guesses if guess.name in codes and is_left_out(guess, hints))
    rows = {
        name: pd.Series(np.bincount(codes[name][codes[name] >= 0], minlength=len(each.categories)), each.categories)
        for name, each in categories.items()
    }
    found = [*suspected_persons(rows, identifiers)]
    found = [name for name in found if names_persons(name)] or found
    kept = classes.index.to_numpy()
    for name in found:  # ids that are spelled alike are one
        forms = [similar_form(text) or None for text in categories[name].categories]
        number = pd.factorize(np.array(forms, dtype=object))[0]
        codes[name] = np.where(codes[name] < 0, -1, number[codes[name]])
    people = {name: len(np.unique(codes[name][kept])) for name in found}
    person = min(people, key=lambda name: people[name], default=None)
    return person, np.arange(len(classes)) if person is None else codes[person][kept]


def _shares_of_persons(draft: Draft) -> SecretShares:
    """The shares of the class's values among rows or, where more, among the people, some of whom may have several."""
    of_rows = _shares(draft.classes, draft.target, draft.spec)
    if draft.person is None or "bins" in draft.spec:
        return of_rows
    known = pd.DataFrame({"person": draft.person_of, "value": draft.classes.astype(str).to_numpy()})
    known["value"] = known["value"].replace(draft.spec.get("aliases", {}))
    known = known[(known["person"] >= 0) & known["value"].isin(list(of_rows.shares))].drop_duplicates()
    people, having = known["person"].nunique(), known["value"].value_counts()
    shares = {value: max(share, int(having.get(value, 0)) / people) for value, share in of_rows.shares.items()}
    return replace(of_rows, people=people, shares=shares)


def _shares(classes: pd.Series, target: str, spec: Mapping[str, Any]) -> SecretShares:
    """The shares of the class's values among the people who are kept."""
    if "bins" in spec:
        return SecretShares.of_numbers(target, classes.astype(str).to_numpy(dtype=np.float64), spec)
    people = {str(text): int(number) for text, number in classes.astype(str).value_counts().items()}
    return SecretShares.of_values(target, people, spec)


def _limits_of_model(
    hints: ModelHints, target: str, codes: ClassCodes | None, file: Path, beside: Path | None, proposal: Proposal
) -> Iterator[str]:
    """What is published by a model's file, tried and demanded."""
    inside = beside is None or file.resolve().is_relative_to(beside.resolve())
    name = file.name if beside is None or not inside else str(file.resolve().relative_to(beside.resolve()))
    if not inside:
        yield "# CHECK: put the model's file beside this policy, or below"
    yield from rest_of_policy(hints, name, target, codes, proposal)


def _people_kept(
    cells: pd.DataFrame, guesses: Sequence[Guess], target: str, hints: ModelHints | None
) -> tuple[bool, pd.Series]:
    """Whether people with missing cells are to be kept, and the classes of those who are; nobody without a class is.

    They are where the model was fitted on them, and where leaving them out would lose more than half of all people, or
    leave everybody with one class.
    """
    none = next(guess.missing for guess in guesses if guess.name == target)
    cells = cells[~cells[target].isin(none)]
    classes = cells[target].cat.remove_unused_categories()
    asked = [guess for guess in guesses if guess.name != target and not is_left_out(guess, hints)]
    complete = ~pd.concat([cells[guess.name].isin(guess.missing) for guess in asked] or [classes.isin([])], axis=1).any(
        axis=1
    )
    kept = bool(2 * complete.sum() < len(cells) or classes[complete].nunique() < 2)
    if hints is not None and not kept:
        gaps = {guess.name for guess in asked if guess.missing}
        kept = _fitted_with_gaps(hints, gaps, everybody=len(cells), complete=int(complete.sum()))
    return kept, classes if kept else classes[complete]


def _fitted_with_gaps(hints: ModelHints, gaps: Collection[str], everybody: int, complete: int) -> bool:
    """May the model have been fitted on the people with missing cells too, which are in the columns `gaps`?

    The number of people at the roots of its trees says so; where that is neither `everybody` nor the `complete` ones,
    it has where its trees count others, if it has a category, a number or a mark for missing cells of any of the
    columns, and where they count nobody, if it says where missing cells go.
    """
    if {everybody, complete} & hints.people and everybody != complete:
        return everybody in hints.people
    return bool(hints.fills_missing & set(gaps)) or (hints.takes_missing and not hints.people)


def _guesses(cells: pd.DataFrame, smallest_cell: int, known: frozenset[str] = frozenset()) -> list[Guess]:
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


OTHERS = {
    "test": "other people: a model's use is measured by them, and a repair chosen",
    "control": "people like these who are not in the table",
}
"""Files of other people, by their sections of the policy."""


def _with_others(guesses: Sequence[Guess], files: Iterable[Path], csv: CsvOptions, encoding: str | None) -> list[Guess]:
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


def _lines(path: Path, draft: Draft, others: Mapping[str, Path], most_rows: int | None = None) -> Iterator[str]:
    """The policy's first lines, up to the columns, with these files of other people, and the most rows of a person."""
    guesses, csv = draft.guesses, draft.csv
    yield f"# A first policy for {yaml_text(path.name)}, made by `leafgate init`. Check every line that says CHECK."
    yield "leafgate: 1"
    yield f"name: {yaml_text(path.stem)}"
    yield ""
    yield "data:"
    yield f"  path: {yaml_text(path.name)}"
    for section, file in others.items():
        yield f"  {section}: {yaml_text(file.name)}          # {OTHERS[section]}"
    if draft.source is not None:
        yield f"  source: {{use: {draft.source.use}}}"
    missing = sorted(set().union(*(guess.missing for guess in guesses if guess.name != draft.target)))
    if missing:
        yield f"  missing: [{', '.join(map(yaml_text, missing))}]"
        word = "keep" if draft.kept else "drop"
        yield f"  on_missing: {word}          # CHECK: drop (leave those people out) or keep (a value of its own)"
    elif any("" in guess.values for guess in guesses):
        yield "  missing: []               # an empty cell is a value that the model knows, such as a level of R's"
    fields = {k: v for k, v in csv.model_dump().items() if v != CsvOptions.model_fields[k].default}
    if fields:
        yield f"  csv: {{{', '.join(f'{key}: {json.dumps(value)}' for key, value in fields.items())}}}"
    if most_rows is not None:
        yield f"  rows_at_most: {most_rows}{_check(MOST_ROWS)}"
    yield "  columns:                    # CHECK each role: does an outsider know it of everyone? then quasi_identifier"
    for guess in guesses:
        is_class = guess.name == draft.target
        check = _check(LAST_COLUMN) if is_class and not draft.chosen else ""
        words = _class(guess, draft.spec) if is_class else column_line(guess, draft.hints)
        if guess.name == draft.person:
            words = f"{{role: person}}{_check(NUMBERS_PEOPLE)}"
        yield f"    {yaml_text(guess.name)}: {words}{check}"


def column_line(guess: Guess, hints: ModelHints | None) -> str:
    if not guess.values:
        return "{role: ignored}          # CHECK: every cell is missing"
    as_values = hints is not None and guess.name in hints.values
    as_number = hints is not None and guess.name in hints.numbers
    if is_left_out(guess, hints):
        return f"{{role: identifier}}{_check(_why_identifier(guess))}"
    many = len(guess.values) > FEW or any("." in text for text in guess.values)
    if guess.numeric and not as_values and (many or as_number):
        domain = bounds_domain([float(text) for text in guess.possible], guess.people)
        check = "round bounds; are they what could occur?"
        if guess.nearly_unique:
            check = f"nearly every number is different: round them, or {{role: identifier}}; {check}"
        check = "; ".join(filter(None, (guess.not_all_numbers, check)))
        return f"{yaml_flow({'role': 'quasi_identifier', **domain})}{_check(check)}"
    texts = sorted(guess.possible, key=float) if guess.numeric else guess.possible
    values = list_domain(texts, list(guess.people_with.values()), guess.smallest_cell).get("values", [])
    listed = f", values: [{', '.join(map(yaml_text, values))}]" if values else ""
    return f"{{role: quasi_identifier{listed}}}{_check(_why_values(guess, values, as_values))}"


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


NUMBERS_PEOPLE = "does it number the people? If each row is a person, write `rows: people` under `data`"
MOST_ROWS = "the most rows of a person here: state the most that anybody could have, and adapt `build` to it"
COARSER = "declare coarser `values`, or a whole public code list and `domain: public`"


def _many_rare(guess: Guess) -> str:
    return f"{len(guess.values)} values, many of fewer than {guess.smallest_cell} people"


def is_left_out(guess: Guess, hints: ModelHints | None) -> bool:
    """Is it of no use: all missing, or a name or number of people that no model asks about?"""
    asked = hints is not None and guess.name in hints.values | hints.numbers
    names_people = guess.numbers_rows or (guess.is_long and not guess.numeric)
    return not guess.values or (names_people and not asked)


def _class_spec(guess: Guess, classes: pd.Series, hints: ModelHints | None) -> dict[str, Any]:
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


def _with_merged_spellings(spec: Mapping[str, Any], guess: Guess, hints: ModelHints | None) -> dict[str, Any]:
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


def _class(guess: Guess, spec: Mapping[str, Any]) -> str:
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
    return f"{yaml_flow({'role': ['class', 'sensitive'], **spec})}{_check('; '.join(checks))}"


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


def _check(what: str) -> str:
    return f"          # CHECK: {what}" if what else ""


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
