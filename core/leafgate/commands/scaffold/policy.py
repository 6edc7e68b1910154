"""A first policy for a table, for its owner to check."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api import DataError, DataSource, PolicyError
from leafgate.api.registry import load_plugins
from leafgate.commands.scaffold.column_guesses import (
    Guess,
    check_comment,
    class_line,
    class_spec,
    column_line,
    guesses_of,
    is_left_out,
    with_merged_spellings,
    with_values_of_others,
)
from leafgate.commands.scaffold.limits import PRIVATE, limits_of
from leafgate.commands.scaffold.model import (
    ClassCodes,
    class_by_position,
    class_column,
    codes_of_classes,
    rest_of_policy,
)
from leafgate.errors import nearest_name
from leafgate.io.yaml import MAX_YAML_BYTES, yaml_text
from leafgate.kernel.person_columns import names_persons, suspected_persons
from leafgate.kernel.policy import CsvOptions
from leafgate.kernel.spelling import similar_form
from leafgate.models.reader import read_model
from leafgate.session.draft import ModelHints, model_hints
from leafgate.session.proposals import MODEL_GROUP, Proposal, SecretShares, propose, smallest_group
from leafgate.session.undeclared import read_undeclared_table

LAST_COLUMN = "the last column is taken for what is predicted; name another one: --class"


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
        return with_merged_spellings(class_spec(self.of_class, self.classes, self.hints), self.of_class, self.hints)


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
    guesses = guesses_of(cells, few)
    hints = None
    if files.model is not None:
        texts = {guess.name: guess.values for guess in guesses if not guess.numeric}
        fitted = read_model(files.model, load_plugins().readers)
        hints = model_hints(fitted, names, texts)
        gaps = frozenset(word for guess in guesses if guess.numeric for word in guess.missing)
        guesses = guesses_of(cells, few, hints.known - gaps)
        values = {guess.name: guess.values for guess in guesses}
        target = target or class_by_position(fitted, values, texts) or class_column(hints, values, names)
        placed = model_hints(fitted, [name for name in names if name != target], texts)
        hints = placed if placed.by_position else hints
    predicted = target or names[-1]
    kept, classes = _people_kept(cells, guesses, predicted, hints)
    guesses = with_values_of_others(guesses, files.others.values(), csv, files.encoding)
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


OTHERS = {
    "test": "other people: a model's use is measured by them, and a repair chosen",
    "control": "people like these who are not in the table",
}
"""Files of other people, by their sections of the policy."""


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
        yield f"  rows_at_most: {most_rows}{check_comment(MOST_ROWS)}"
    yield "  columns:                    # CHECK each role: does an outsider know it of everyone? then quasi_identifier"
    for guess in guesses:
        is_class = guess.name == draft.target
        check = check_comment(LAST_COLUMN) if is_class and not draft.chosen else ""
        words = class_line(guess, draft.spec) if is_class else column_line(guess, draft.hints)
        if guess.name == draft.person:
            words = f"{{role: person}}{check_comment(NUMBERS_PEOPLE)}"
        yield f"    {yaml_text(guess.name)}: {words}{check}"


NUMBERS_PEOPLE = "does it number the people? If each row is a person, write `rows: people` under `data`"
MOST_ROWS = "the most rows of a person here: state the most that anybody could have, and adapt `build` to it"
