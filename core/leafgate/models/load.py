"""Loading a release file: it must fit the policy and hold nothing that no check audits."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from leafgate.api.registry import Plugins, load_plugins
from leafgate.bounded.json import refuse_large
from leafgate.errors import Problem, ReleaseError
from leafgate.garbage_collection import paused_garbage_collection
from leafgate.io.json import is_number
from leafgate.io.release_codec import FORMAT, Provenance, SealedRelease, read_release
from leafgate.ir.content import ColumnNumbers, FileContent
from leafgate.ir.model_readers import HEAD, ModelReader
from leafgate.ir.validate import refuse_later_trees
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.release import AuditedFile, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import NO_FAN, tree_arrays
from leafgate.models.exposure.categories import without_declared
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.models.reader import is_foreign, model_bytes, read_with_reader

MAX_PARSED = 600 * 2**20
"""Bytes of memory that a release file may take once it is parsed, some 700,000 nodes. The estimate is about twice
the truth, so that what is parsed stays below 500 MB."""


@paused_garbage_collection()
def load_release(
    path: Path,
    schema: Schema,
    encoding: Mapping[str, Encoding] | None = None,
    people: int | None = None,
    readers: Sequence[ModelReader] | None = None,
    asked_about: Table | None = None,
    *,
    later_trees: bool = False,
) -> SealedRelease:
    """The release in the file, or somebody else's model as one; ReleaseError when it cannot be read or does not fit.

    The file is read once: its digest in `audited_file` is that of the bytes that became the release.
    Every column it names must be in the policy, with the same domain and known to the same people, and its
    target must be the policy's class. `encoding` is what the policy says of a model's features, `people` how many the
    table has: a list of values nearly as long as the table names people. `readers` read other libraries' files; None:
    those of all installed plugins. `asked_about` are people about whom the library that wrote the file is asked, too.
    A file with trees after the best round is refused unless `later_trees`: somebody then says which trees predict.
    """
    content = model_bytes(path)
    readers = load_plugins().readers if readers is None else readers
    if is_foreign(content[:HEAD], readers):
        read, reader = read_with_reader(content, path.name, readers)
        if not later_trees:
            refuse_later_trees(read, path.name)
        model = without_declared(read, schema)
        file = AuditedFile.of(path, reader.file_format or read.format, content)
        loaded = lower_model(model, schema, encoding or {}, path.name, people)
        assert loaded.provenance.reading is not None
        reading, witness = replace(loaded.provenance.reading, tested=reader.tested_with(read.producer)), None
        if asked_about is not None:
            from leafgate.models.library import library_witness

            of_library = (content, reader, loaded.release, reading, encoding or {}, asked_about, path.name)
            witness = library_witness(model, *of_library)
        provenance = replace(loaded.provenance, audited_file=file, reading=reading, witness=witness)
        return replace(loaded, provenance=provenance)
    if encoding:
        raise ReleaseError("is no foreign model, so there is no `encoding` of it", place=path.name)
    refuse_large(content, path.name, MAX_PARSED)
    loaded = read_release(content, path.name)
    file = AuditedFile.of(path, FORMAT, content)
    loaded = replace(loaded, provenance=Provenance(audited_file=file, model_content=_content_of(loaded.release)))
    problems = list(_schema_mismatches(loaded.release, schema, path.name))
    if problems:
        raise ReleaseError.listing(problems)
    return loaded


def _content_of(release: Release) -> FileContent:
    """The numbers that the tests of a release file compare with those of a column: its texts are the policy's."""
    numbers: dict[str, list[NDArray[np.float64]]] = {}
    for tree in map(tree_arrays, release.fitted_trees):
        compares = (tree.fan == NO_FAN) & np.isfinite(tree.threshold)
        for i, (name, _) in enumerate(tree.columns):
            numbers.setdefault(name, []).append(tree.threshold[compares & (tree.column == i)])
    found = {name: np.unique(np.concatenate(listed)) for name, listed in numbers.items()}
    return FileContent({}, numbers=tuple(ColumnNumbers(name, (), each) for name, each in found.items() if len(each)))


def _domain(column: Column) -> tuple[object, ...]:
    return (column.values, column.bins, column.edges)


def _schema_mismatches(release: Release, schema: Schema, place: str) -> list[Problem]:
    found = []
    if release.file is not None:
        remedy = "name the model's own file: what that holds is not in this one"
        found.append(Problem(f"{place}.file", "is leafgate's own rendition of a model's file", remedy))
    for name in sorted(release.noise):
        if not _shows_numbers(release, name):
            remedy = (
                "take out the law: without published numbers it hides what trees tell of the column, and tells nothing"
            )
            found.append(Problem(f"{place}.noise.{name}", "no published record has a number with this noise", remedy))
    for name in sorted(column.name for column in release.schema.columns):
        if name not in schema:
            found.append(Problem(place, f"the release names {name!r}, which the policy does not have"))
        elif _domain(release.schema[name]) != _domain(schema[name]):
            found.append(Problem(place, f"{name!r} has another domain in the release than in the policy"))
        elif release.schema[name].bounds not in {None, schema[name].bounds}:
            remedy = "the release must state the policy's bounds, or none: others may be the extremes of the data"
            found.append(Problem(place, f"{name!r} has other bounds in the release than in the policy", remedy))
        elif release.schema[name].public != schema[name].public:
            found.append(Problem(place, f"{name!r} is a quasi_identifier in one of release and policy only"))
    if release.schema.having("class") and release.target not in {column.name for column in schema.having("class")}:
        found.append(Problem(place, f"the release predicts {release.target!r}, the policy's class is another"))
    return found


def _shows_numbers(release: Release, name: str) -> bool:
    """Does some published record have a number in the column?"""
    if release.records is None or name not in release.records.columns:
        return False
    position = release.records.columns.index(name)
    return any(is_number(row[position]) for row in release.records.rows)


WORD = re.compile(r"[a-z][a-z0-9_]{0,19}")
"""A setting in words, or the name of an option; longer texts could speak of people."""

NAME = re.compile(r"[\w.'-]{1,40}")
"""The name of a builder."""

MAX_OPTIONS = 8
"""Options that a builder which is not installed may have: each is a number, true or false, or a word."""

MAX_VALUES = 48
"""Numbers and words in all options of a builder; for each column of the release MAX_VALUES_PER_COLUMN more."""

MAX_VALUES_PER_COLUMN = 2
MAX_ALTERNATIVES = 4
SELECTION: Mapping[str, type] = {
    "average_gain": bool,
    "columns": str,
    "from": str,
    "k": int,
    "measure": str,
    "min_leaf": int,
    "min_split": int,
    "penalty": bool,
    "pruned": bool,
    "split": str,
    "theta": float,
}
"""The facts that a release file may state about the choice of its tests, and the type of each."""


def check_options(release: Release, plugins: Plugins, place: str = "release") -> None:
    """Refuse content of a release file that no attack looks at: it would be published without being audited.

    `builder`, `selection` and `guarantee` are JSON of any shape as far as the format goes. Here the options of an
    installed builder must be what that builder takes, those of any other builder a few numbers and words; texts are
    words or names and values that the policy declares. What a claim says is left to its check, for a claim that cannot
    be checked is never a pass; only how much it says is limited. Raises ReleaseError, which quotes nothing of the file.
    """
    declared = {text for column in release.schema.columns for text in (column.name, *(column.values or ()))}
    problems = [
        *_builder_problems(release, plugins, f"{place}.builder"),
        *_selection_problems(release, f"{place}.selection"),
    ]
    most = MAX_VALUES + MAX_VALUES_PER_COLUMN * len(release.schema.columns)
    options = {name: value for name, value in release.builder.items() if name != "use"}
    problems += _content_problems(options, declared, most, f"{place}.builder")
    problems += _content_problems(release.guarantee, None, most, f"{place}.guarantee")
    if len(release.alternatives) > MAX_ALTERNATIVES or not all(map(WORD.fullmatch, release.alternatives)):
        remedy = f"at most {MAX_ALTERNATIVES}, each named by one word"
        problems.append(Problem(f"{place}.alternatives", "has too many trees, or names that are no words", remedy))
    if problems:
        raise ReleaseError.listing(problems)


TAKE_OUT = "take out what is no setting: nobody audits it, and the file publishes it"


def _builder_problems(release: Release, plugins: Plugins, place: str) -> Iterator[Problem]:
    use = str(release.builder["use"])
    if not NAME.fullmatch(use):
        yield Problem(f"{place}.use", "is no name of a builder", "at most 40 letters, digits, dots and dashes")
    options = {name: value for name, value in release.builder.items() if name != "use"}
    installed = plugins.component(use)
    if installed is not None and issubclass(installed, TreeBuilder) and not _validates(installed, release.builder):
        yield Problem(place, "has options that the installed builder of this name does not take", TAKE_OUT)
    elif installed is None and not _few_plain(options):
        remedy = f"{TAKE_OUT}; or install the builder, so that its options can be checked"
        yield Problem(place, f"has more than {MAX_OPTIONS} options, or some that are neither number nor word", remedy)


def _few_plain(options: Mapping[str, Any]) -> bool:
    plain = (value is None or is_number(value) or isinstance(value, bool | str) for value in options.values())
    return len(options) <= MAX_OPTIONS and all(plain)


def _validates(builder: type[TreeBuilder], document: Mapping[str, Any]) -> bool:
    """Does the builder take these options? Some may be left out: a measure that is not published goes with them.

    A release names every option, and a builder may refuse that one is written which others make idle; so options that
    have their default are not written here.
    """
    if set(document) - set(builder.model_fields):
        return False
    defaults = {name: field.get_default(call_default_factory=True) for name, field in builder.model_fields.items()}
    plain = to_jsonable_python({name: value for name, value in defaults.items() if name != "use"}, fallback=str)
    written = {name: value for name, value in document.items() if name not in plain or plain[name] != value}
    try:
        builder.model_validate_json(json.dumps(written))
    except ValidationError as error:
        return all(wrong["type"] == "missing" for wrong in error.errors(include_input=False, include_url=False))
    return True


def _selection_problems(release: Release, place: str) -> Iterator[Problem]:
    for name, value in (release.selection or {}).items():
        wanted = SELECTION.get(name)
        right = isinstance(value, wanted) if wanted is not None and wanted is not float else is_number(value)
        if wanted is int and isinstance(value, bool):
            right = False
        if isinstance(value, str):
            right = right and all(map(WORD.fullmatch, value.split(" "))) and value.count(" ") < 2
        if wanted is None or not right:
            yield Problem(place, "has a fact that this version does not know, or one of another type", TAKE_OUT)
            return


def _content_problems(document: Any, declared: Collection[str] | None, most: int, place: str) -> Iterator[Problem]:
    """Too many values, or texts that are neither words nor `declared`; None where others look at the texts."""
    values, texts, waiting = 0, list[str](), [document]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            texts += here
            waiting += here.values()
        elif isinstance(here, list | tuple):
            waiting += here
        else:
            values += 1
            texts += [here] if isinstance(here, str) else []
    if values > most:
        yield Problem(place, f"holds more than {most} values", TAKE_OUT)
    if declared is not None and not all(WORD.fullmatch(text) or text in declared for text in texts):
        yield Problem(place, "holds a text that is neither a word nor a name or value the policy declares", TAKE_OUT)
