"""The checks of a model reader: a known model comes back, nothing in its file is left unstated, no file does harm."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.prediction import predict, predicted_numbers
from leafgate.errors import InconclusiveError, ReleaseError
from leafgate.ir.model import ModelIR
from leafgate.ir.model_readers import HEAD, ModelReader, ReaderTexts, mistakes
from leafgate.kernel.release import LEVELS, NOT_STATED, Release
from leafgate.kernel.table import Table, typed_column
from leafgate.models.lowering.release import lower_model
from leafgate.models.reader import is_pickle, read_foreign
from leafgate.testing.check import DoesNotApply, NonConformance, raising_line
from leafgate.testing.common_checks import HEAVY, loaded_by
from leafgate.testing.offers.known_models import (
    PLANTED_TEXT,
    KnownModel,
    damaged,
    numbers_by_key,
    with_added_content,
    with_changed_key,
    with_changed_numbers,
    without_keys,
)

OF_PREDICTIONS = frozenset({"numbers", "ratios", "scores", "scores_betray_counts", "scores_may_betray_counts"})
"""Kinds of disclosures that speak of what the leaves predict, and of nothing else in the file."""
MAX_SECONDS = 10.0
"""Seconds that a damaged copy of a file of a test may take."""
MAX_MEMORY, MEMORY_PER_BYTE = 64 * 2**20, 400
"""Bytes of memory that it may take: so many, and so many more for each byte of the file."""
OTHERS: Mapping[str, bytes] = {
    "an empty file": b"",
    "a table": b"age,sex,income\n37,f,low\n52,m,high\n",
    "a neutral file": b'{"format":"leafgate/model/1",',
    "a release file": b'{\n "format": "leafgate/release/1",',
    "an empty object": b"{}",
    "XGBoost's JSON": b'{"learner":{"attributes":{},"feature_names":["age"]',
    "LightGBM's text": b"tree\nversion=v4\nnum_class=1\n",
    "PMML": b'<?xml version="1.0"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">',
    "an ONNX graph": b"\x08\x08\x12\x08skl2onnx\x1a\x061.17.0",
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "zeros": bytes(HEAD),
}
"""How files of other formats begin."""


@dataclass(frozen=True)
class ReaderSubject:
    """A reader, and files of its format whose models are known."""

    reader: ModelReader
    known: Sequence[KnownModel]

    def read(self, content: bytes) -> ModelIR:
        """The model as the core reads it with this reader alone; ReleaseError where it is refused."""
        return read_foreign(content, "model", (self.reader,))

    @cached_property
    def models(self) -> tuple[tuple[KnownModel, ModelIR], ...]:
        """Each known file with its model; NonConformance where it is refused."""
        return tuple((each, self._known(each)) for each in self.known)

    def _known(self, known: KnownModel) -> ModelIR:
        try:
            return self.read(known.content)
        except ReleaseError as error:
            raise NonConformance(f"it refuses {known.name}: {error}", "read it: its model is known") from error

    def outcome(self, content: bytes) -> ModelIR | ReleaseError:
        """The model, or the error that refuses the file."""
        try:
            return self.read(content)
        except ReleaseError as error:
            return error


def is_declared(subject: ReaderSubject) -> None:
    """Its name is a word, its functions are functions, `max_bytes` fits, and `to_file` leaves strange objects alone."""
    if problems := mistakes(subject.reader):
        raise NonConformance(problems[0], "see docs/reference/plugin-readers.md")
    try:
        texts: object = subject.reader.texts()
    except Exception as error:
        raise NonConformance(
            f"`texts` raises {type(error).__name__} {raising_line(error)}", "return ReaderTexts"
        ) from error
    if not isinstance(texts, ReaderTexts):
        raise NonConformance(f"`texts` returns a {type(texts).__name__}", "return ReaderTexts")
    if subject.reader.to_file is None:
        return
    try:
        written: object = subject.reader.to_file(object())
    except Exception as error:
        raise NonConformance(
            f"`to_file` raises {type(error).__name__} for an object of no library {raising_line(error)}", "return None"
        ) from error
    if written is not None:
        raise NonConformance("`to_file` writes an object of no library", "return None for what is not your library's")


def imports_lightly(subject: ReaderSubject) -> None:
    """Importing the modules of `sniff` and `read` loads nothing heavy."""
    for function in (subject.reader.sniff, subject.reader.read):
        if loaded := loaded_by(function.__module__, HEAVY):
            raise NonConformance(
                f"importing {function.__module__} loads {', '.join(loaded)}",
                "import what is heavy inside `read`: readers are listed by every `leafgate plugins`",
            )


def sniffs_its_files(subject: ReaderSubject) -> None:
    """It knows the first bytes of its own files."""
    for known in subject.known:
        if is_pickle(known.content[:HEAD]):
            raise NonConformance(f"{known.name} begins as pickles do", "the core refuses these before it asks a reader")
        if subject.reader.sniff(known.content[:HEAD]) is not True:
            raise NonConformance(f"`sniff` does not know {known.name}", "return True for the first bytes of its files")


def sniffs_no_others(subject: ReaderSubject) -> None:
    """It takes no file of another format for its own."""
    for name, head in OTHERS.items():
        if subject.reader.name in name.lower().replace("'s", "").split():
            continue
        try:
            taken = subject.reader.sniff(head)
        except Exception as error:
            raise NonConformance(
                f"`sniff` raises {type(error).__name__} for {name}",
                "answer False for whatever is no file of the format",
            ) from error
        if taken:
            raise NonConformance(
                f"`sniff` takes {name} for its own", "ask for what only files of the format begin with"
            )


def returns_the_known_model(subject: ReaderSubject) -> None:
    """The model of each known file predicts what it is known to predict."""
    if not subject.known:
        raise DoesNotApply("no known model is given")
    for known, model in subject.models:
        try:
            release = lower_model(model, known.schema, {}, known.name, None).release
        except ReleaseError as error:
            raise NonConformance(
                f"its model of {known.name} cannot be told in the columns: {error}", "state `features`, or `origins`"
            ) from error
        table = _table(known)
        if model.classes:
            found = _predicted_classes(release, table)
            right = [a == b for a, b in zip(found, known.predictions, strict=True)]
        else:
            found = predicted_numbers(release, table).tolist()
            right = np.isclose(found, np.array(known.predictions, dtype=np.float64), rtol=1e-6).tolist()
        if not all(right):
            row = right.index(False)
            raise NonConformance(
                f"its model of {known.name} predicts {found[row]!r} for row {row}, not {known.predictions[row]!r}",
                "send everybody where the library sends them: <= or <, missing cells, single precision",
            )


def _table(known: KnownModel) -> Table:
    """The rows as a table, each prediction as the class."""
    target = known.schema.target.name
    cells = {
        column.name: known.predictions if column.name == target else [row.get(column.name) for row in known.rows]
        for column in known.schema.columns
    }
    frame = pd.DataFrame({name: typed_column(known.schema[name], list(values)) for name, values in cells.items()})
    return Table(known.schema, frame, np.ones(len(frame), dtype=np.int64))


def writes_what_it_reads(subject: ReaderSubject) -> None:
    """Where it writes, it reads each known model again: the predictions are the same, and it discloses no more."""
    write = subject.reader.write
    if write is None:
        return
    refused = list[str]()
    for known, model in subject.models:
        try:
            content = write(model, known.content)
        except InconclusiveError as error:
            raise DoesNotApply(f"it cannot write here: {error}") from error
        except ReleaseError as error:
            refused.append(f"{known.name}: {error}")
            continue
        _require_same_model(subject, known, model, content)
    if len(refused) == len(subject.known):
        raise DoesNotApply(f"it writes none of the known models, such as {refused[0]}")


def _require_same_model(subject: ReaderSubject, known: KnownModel, model: ModelIR, content: bytes) -> None:
    """NonConformance where what was written is read as another model, or discloses more than the model did."""
    try:
        again = subject.read(content)
        before, after = (lower_model(each, known.schema, {}, known.name, None).release for each in (model, again))
    except ReleaseError as error:
        raise NonConformance(
            f"it refuses what it wrote of {known.name}: {error}", "write what `read` takes, with the same features"
        ) from error
    table = _table(known)
    if model.classes:
        same = np.array_equal(_predicted_classes(before, table), _predicted_classes(after, table))
    else:
        same = np.allclose(predicted_numbers(before, table), predicted_numbers(after, table), rtol=1e-6, atol=0)
    if not same:
        raise NonConformance(
            f"what it wrote of {known.name} predicts otherwise than the model",
            "keep thresholds to the last digit, `strict`, `float32`, `missing_low` and the order of classes",
        )
    if LEVELS.index(again.level) > LEVELS.index(model.level):
        raise NonConformance(
            f"what it wrote of {known.name} discloses {again.level}, the model discloses {model.level}",
            "leave out whatever the model does not hold",
        )


def _predicted_classes(release: Release, table: Table) -> list[Any]:
    """Each row's class by its name: the order of classes is the file's own."""
    return [release.classes[code] for code in predict(release, table).tolist()]


def repeats(subject: ReaderSubject) -> None:
    """The same bytes give the same model again, whatever was read in between."""
    for known, model in subject.models:
        if subject.read(known.content).model_sha256 != model.model_sha256:
            raise NonConformance(
                f"it returns another model when {known.name} is read again", "keep nothing between calls"
            )


def states_disclosures(subject: ReaderSubject) -> None:
    """Of each known file it states what that discloses besides predictions, in words that it declares."""
    texts = subject.reader.texts().disclosures
    for known in subject.known:
        model = subject.reader.read(known.content, "model")
        if model.counts_people and model.level != "counts":
            raise NonConformance(
                f"it reads numbers of people from {known.name}, and does not state that the file discloses counts",
                "state a disclosure of the severity `high` and the level `counts`",
            )
        for item in model.discloses:
            if item == NOT_STATED:
                raise NonConformance(
                    f"it does not state what {known.name} discloses besides predictions",
                    "give the model `discloses`: an empty tuple if you looked and there is nothing",
                )
            says = re.sub("[0-9]{1,9}", "#", item.written()["says"])
            if says not in texts and not _is_of_core(item.written()):
                raise NonConformance(
                    f"`texts` does not declare the disclosure {says!r}", "list it in ReaderTexts(disclosures=...)"
                )


def _is_of_core(item: dict[str, Any]) -> bool:
    """Is the disclosure one of those that the core itself has words for?"""
    from leafgate.io.release_codec import FOREIGN_WORDS, read_disclosure

    return read_disclosure(item, "model").says != FOREIGN_WORDS


def declares_its_texts(subject: ReaderSubject) -> None:
    """What its models say of themselves is in words that it declares, so that reports print it."""
    for known in subject.known:
        own = subject.reader.read(known.content, "model")
        printed = subject.read(known.content)
        for name in ("format", "producer", "settings"):
            if getattr(printed, name) != getattr(own, name):
                raise NonConformance(
                    f"reports do not print the `{name}` of {known.name}: it has words that `texts` does not declare",
                    "list them in ReaderTexts(producers=...), those of settings in `words`",
                )


def finds_planted_content(subject: ReaderSubject) -> None:
    """A number that is put into a file where nobody needs it is refused, or disclosed."""
    for known, model in subject.models:
        for what, content in (*with_added_content(known.content), *known.planted.items()):
            found = subject.outcome(content)
            if isinstance(found, ModelIR) and not set(found.discloses) - set(model.discloses):
                raise NonConformance(
                    f"a number that is put into {known.name} as {what} is found by nobody",
                    "let `UnreadTracker.check_table` look at every key, not only at those that you read",
                )


def accounts_for_numbers(subject: ReaderSubject) -> None:
    """Where numbers of a file can change and nothing of the model does, some disclosure speaks of more than leaves.

    In JSON the numbers of nodes must be what it speaks of: with them it is there, and without them it is not.
    """
    for known, model in subject.models:
        if {item.kind for item in model.discloses} - OF_PREDICTIONS:
            _require_disclosures_of_nodes(subject, known, model)
            continue
        for what, content in with_changed_numbers(known.content):
            if _is_read_as(subject, content, model):
                raise NonConformance(
                    f"{what} of {known.name} is read by nobody, and no disclosure speaks of it",
                    "read it (`TreeIR.counts`, `numbers`), or state in `discloses` what it tells",
                )


def _is_read_as(subject: ReaderSubject, content: bytes, model: ModelIR) -> bool:
    found = subject.outcome(content)
    return isinstance(found, ModelIR) and found.model_sha256 == model.model_sha256


def _require_disclosures_of_nodes(subject: ReaderSubject, known: KnownModel, model: ModelIR) -> None:
    """NonConformance where numbers under one key of nodes are read by nobody, and no disclosure depends on them.

    Each such key is tried without the others, because one disclosure may speak of several. Where the reader refuses a
    file without them, nothing can be said.
    """
    content = known.content
    nodes = sum(int((tree.feature < 0).sum()) for tree in model.trees)
    forgotten = {
        key
        for key, numbers in numbers_by_key(content).items()
        if numbers >= nodes and _is_read_as(subject, with_changed_key(content, key), model)
    }
    bare = subject.outcome(without_keys(content, forgotten))
    if not isinstance(bare, ModelIR):
        return
    for key in sorted(forgotten):
        alone = subject.outcome(without_keys(content, forgotten - {key}))
        if isinstance(alone, ModelIR) and set(alone.discloses) == set(bare.discloses):
            raise NonConformance(
                f"the numbers under {key!r} of {known.name} are read by nobody, and what it discloses is the same "
                "without them",
                "read them (`TreeIR.counts`, `numbers`), or state in `discloses` what they disclose",
            )


def prints_nothing_of_the_file(subject: ReaderSubject) -> None:
    """No error and no disclosure repeats a text of the file that is no name of a column, a value or a class."""
    for known in subject.known:
        for what, content in with_added_content(known.content):
            found = subject.outcome(content)
            says = [item.says for item in found.discloses] if isinstance(found, ModelIR) else [str(found)]
            if any(PLANTED_TEXT in text for text in says):
                raise NonConformance(
                    f"it prints a text that is put into {known.name} as {what}", "say where something is, not what"
                )


PROGRAM = """
import json, pickle, sys, time, tracemalloc
sys.path[:] = pickle.load(sys.stdin.buffer)
reader, whole, contents = pickle.load(sys.stdin.buffer)
from leafgate.errors import InconclusiveError, ReleaseError
from leafgate.models.reader import read_foreign

def read(content):
    try:
        read_foreign(content, "model", (reader,))
    except ReleaseError:
        pass

for content in whole:
    read(content)
events = []
WATCHED = ("exec", "open", "os.system", "pickle.find_class", "subprocess.Popen", "socket.connect")
if not contents:
    sys.addaudithook(lambda event, _: events.append(event) if event in WATCHED else None)
    for content in whole:
        read(content)
for number, content in enumerate(contents):
    print(json.dumps(["begins", number]), flush=True)
    started = time.perf_counter()
    read(content)
    seconds = time.perf_counter() - started
    print(json.dumps(["took", seconds, None]), flush=True)
tracemalloc.start()
for number, content in enumerate(contents):
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    read(content)
    print(json.dumps(["memory", number, tracemalloc.get_traced_memory()[1] - before]), flush=True)
print(json.dumps(["ends", events]), flush=True)
"""


def _elsewhere(subject: ReaderSubject, contents: Sequence[bytes]) -> tuple[list[Any], str]:
    """The lines of a process that reads the known files and then these; why it did not end, or an empty text."""
    whole = [known.content for known in subject.known]
    try:
        packed = pickle.dumps((subject.reader, whole, list(contents)))
    except Exception:
        raise DoesNotApply("its functions are not at the top of a module, where another process finds them") from None
    with subprocess.Popen(  # noqa: S603  the running Python with a program of this file
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ.copy(),
    ) as process:
        try:
            out, _ = process.communicate(pickle.dumps(list(sys.path)) + packed, timeout=MAX_SECONDS * 12)
            problem = "" if process.returncode == 0 else f"ends the process with code {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            problem = "does not end"
    return [json.loads(line) for line in out.splitlines() if line.endswith(b"]")], problem


def withstands_damage(subject: ReaderSubject) -> None:
    """Copies cut off, with other bytes, huge numbers or deep nesting are read or refused soon, in little memory."""
    for known in subject.known:
        files = list(damaged(known.content))
        lines, problem = _elsewhere(replace(subject, known=(known,)), [content for _, content in files])
        begun = [line[1] for line in lines if line[0] == "begins"]
        remedy = "check sizes before you allocate, walk without recursion, read JSON by `parse_bounded_json`"
        if problem:
            where = files[begun[-1]][0] if begun else "whole"
            raise NonConformance(f"it {problem} for {known.name} {where}", remedy)
        for number, seconds in zip(begun, (line[1] for line in lines if line[0] == "took"), strict=True):
            if seconds > MAX_SECONDS:
                raise NonConformance(f"it takes {seconds:.0f} s for {known.name} {files[number][0]}", remedy)
        for number, size in ((line[1], line[2]) for line in lines if line[0] == "memory"):
            if size > MAX_MEMORY + MEMORY_PER_BYTE * len(files[number][1]):
                what = f"{size / 2**20:.0f} MB of memory for {known.name} {files[number][0]}"
                raise NonConformance(f"it takes {what}", remedy)


def runs_nothing(subject: ReaderSubject) -> None:
    """While it reads it opens no file, starts no program, runs no code of the file and unpickles nothing."""
    lines, problem = _elsewhere(subject, [])
    if problem:
        raise NonConformance(f"it {problem} in another process", "keep everything that it needs in its modules")
    events = sorted(set(lines[-1][1]))
    if events:
        raise NonConformance(
            f"while it reads, it does: {', '.join(events)}",
            "look at the bytes as data: never eval, exec, open or unpickle",
        )


READER_CHECKS: Mapping[str, Callable[[ReaderSubject], None]] = {
    "is_declared": is_declared,
    "light_face": imports_lightly,
    "sniffs_its_files": sniffs_its_files,
    "sniffs_no_others": sniffs_no_others,
    "returns_the_known_model": returns_the_known_model,
    "writes_what_it_reads": writes_what_it_reads,
    "repeats": repeats,
    "states_disclosures": states_disclosures,
    "declares_its_texts": declares_its_texts,
    "finds_planted_content": finds_planted_content,
    "accounts_for_numbers": accounts_for_numbers,
    "prints_nothing_of_the_file": prints_nothing_of_the_file,
    "withstands_damage": withstands_damage,
    "runs_nothing": runs_nothing,
}
"""The checks of a model reader, by name."""
