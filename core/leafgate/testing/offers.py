"""What report formats, model readers and data sources must keep to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms import prediction
from leafgate.api import report_formats
from leafgate.api.data_engines import suffix_mistakes
from leafgate.errors import LeafgateError, ReleaseError
from leafgate.io import release_codec
from leafgate.io.tables.reader import source_cells
from leafgate.ir import model_readers
from leafgate.ir.model import ModelIR
from leafgate.kernel.components import SourceFile
from leafgate.kernel.release import NOT_STATED
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import make_table, typed_column
from leafgate.models.lowering.release import lower_model
from leafgate.models.reader import read_foreign
from leafgate.testing.check import NonConformance, named, refuse_if, skip_if
from leafgate.testing.components import NETWORK, watched

HOSTILE = ("\x1b", "\u202e", "<script>")
"""What a name may bring: signs that control a terminal or turn the direction of text, and markup."""
PLANTED = "planted-7319-cell"
TEXTS = ("007", "1e5", "=1+1", 'a "b", c', " padded ", "NULL", "nan", "twice", "twice")
"""Cells that a source may take for something else, or for one."""
BEYOND_BYTES = ("exec", "open", "os.system", "pickle.find_class", "subprocess.Popen", *NETWORK)
OTHERS = (b"", b"{}", b"age,sex\n37,f\n", b'{"format":"leafgate/release/1",', b"\x89PNG\r\n", b"<?xml ")
"""How files of other formats begin."""


@dataclass(frozen=True)
class ReportScenario:
    """One report in the form for the public and in the form for auditors."""

    name: str
    public: Mapping[str, Any]
    auditor: Mapping[str, Any]


REPORTS = tuple(ReportScenario(**each) for each in json.loads(Path(__file__).with_name("reports.json").read_bytes()))
"""A failing, a passing and an inconclusive report; between them every state a finding can be in."""


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A file of a reader's format, and what its model predicts of some people.

    Attributes:
        name: What messages call the file.
        content: The bytes of the file.
        schema: The columns, as a policy declares them; its class is what the model predicts.
        rows: A cell for each column but the class, by the names of columns; None where it is missing.
        predictions: What the model predicts of each row: a class, or a number.
        planted: Further files, by what the author put into them that nobody needs to predict, such as a key with a
            number and a word: each must be refused, or have a disclosure that `content` has not.
    """

    name: str
    content: bytes
    schema: Schema
    rows: Sequence[Mapping[str, Any]]
    predictions: Sequence[Any]
    planted: Mapping[str, bytes] = field(default_factory=dict)


@contextmanager
def in_words() -> Iterator[None]:
    """NonConformance where something raises anything but an error of leafgate."""
    try:
        yield
    except (LeafgateError, NonConformance):
        raise
    except (Exception, SystemExit) as error:
        raise NonConformance(f"it raises {type(error).__name__}: {error}, which is no error of leafgate") from error


@dataclass(frozen=True)
class Offer:
    """What a plugin offers, and on what it is tried: reports, files whose models are known, or how to write a file."""

    offered: Any
    more: Sequence[Any]

    def documents(self) -> list[dict[str, Any]]:
        """Copies of all reports, with hostile names."""
        scenarios = (*REPORTS, *self.more)
        found = [deepcopy(dict(each)) for scenario in scenarios for each in (scenario.public, scenario.auditor)]
        for document in found:
            document["policy"]["name"] += "".join(HOSTILE)
            for finding in document["findings"]:
                finding["id"] += "".join(HOSTILE)
        return found

    def rendered(self, document: Mapping[str, Any]) -> bytes:
        """The file of a report, in which hostile names are escaped."""
        with in_words():
            content: Any = self.offered.render(document, {})
            bad = HOSTILE if re.search("html|xml|markdown", self.offered.media_type) else HOSTILE[:2]
            hostile = any(sign.encode() in content for sign in bad)
        refuse_if(not content or hostile, "it returns nothing, or a name brings control characters or markup into it")
        return bytes(content)

    def known(self) -> Iterator[tuple[KnownModel, ModelIR]]:
        """Each file with its model, as the core reads it."""
        for known in self.more:
            yield known, read_foreign(known.content, "model", (self.offered,))


def renders_bytes(subject: Offer) -> None:
    """Every report becomes bytes, the same each time; documents are left as they are, and the network alone.

    A report may have no release, masked numbers and no optional key; nothing is kept of an auditor's. No name brings
    control characters, marks of direction or markup into the file.
    """
    problems = report_formats.mistakes(subject.offered)
    refuse_if(problems, ", ".join(problems))
    with watched(NETWORK) as tried:
        given = subject.documents()
        first, again = ([subject.rendered(document) for document in given] for _ in range(2))
    refuse_if(tried or given != subject.documents(), "it changes its input, or calls the network")
    refuse_if(first != again, "it returns other bytes the second time")


def tells_fail_from_ok(subject: Offer) -> None:
    """The file is another one where a finding that failed has passed, and where a problem has another `id`."""
    for document in subject.documents():
        for finding in (each for each in document["findings"] if "waiver" not in each):
            _refuse_if_alike(subject, document, finding, "passed", finding["passed"], not finding["passed"])
            ids = [finding["id"]] if finding["passed"] else [finding["id"], "another"]
            _refuse_if_alike(subject, document, finding, "id", *ids)


def shows_masked_numbers(subject: Offer) -> None:
    """A masked number is drawn, where others are, as what it is, such as "fewer than 10": no number, and no blank."""
    masks = ({"fewer_than": 30}, {"fewer_than": 50}, {"more_than": 30}, {"from": 30, "to": 50}, None)
    for document in subject.documents():
        for finding in document["findings"]:
            others = [{**each, "value": 50} if each is finding else each for each in document["findings"]]
            finding["value"] = 30
            if subject.rendered(document) != subject.rendered({**document, "findings": others}):
                _refuse_if_alike(subject, document, finding, "value", 50, *masks, 30)


def _refuse_if_alike(subject: Offer, document: Any, finding: Any, key: str, *values: Any) -> None:
    """NonConformance where the file is the same with two of these values of a finding."""
    own, contents = finding[key], set[bytes]()
    for value in values:
        finding[key] = value
        contents.add(subject.rendered(document))
    finding[key] = own
    refuse_if(len(contents) < len(values), f"the file is the same whatever the `{key}` of a finding is")


FORMATS = named(renders_bytes, tells_fail_from_ok, shows_masked_numbers)
"""The relations of report formats, by name."""


def is_declared(subject: Offer) -> None:
    """It says what it reads; `sniff` knows its files and no others; `to_file` leaves strange objects alone."""
    reader = subject.offered
    problems = model_readers.mistakes(reader)
    refuse_if(problems, ", ".join(problems))
    with in_words():
        own = [reader.sniff(known.content[: model_readers.HEAD]) is True for known in subject.more]
        others = [reader.sniff(head) for head in OTHERS]
        written = reader.to_file and reader.to_file(object())
    refuse_if(not all(own) or any(others) or written is not None, "`sniff` errs, or `to_file` writes any object")
    refuse_if(not isinstance(reader.texts(), model_readers.ReaderTexts), "`texts` returns no ReaderTexts")


def returns_the_known_model(subject: Offer) -> None:
    """Each file's model predicts what it is known to: mind <= and <, missing cells, single precision; and each time."""
    for known, model in subject.known():
        release = lower_model(model, known.schema, {}, known.name, None).release
        predicted = {known.schema.target.name: list(known.predictions)}
        cells = pd.DataFrame(list(known.rows), dtype=object).assign(**predicted)
        columns = {each.name: typed_column(each, list(cells[each.name])) for each in known.schema.columns}
        table = make_table(known.schema, pd.DataFrame(columns))
        truth = table.frame[known.schema.target.name].to_numpy()
        if model.classes:
            right = [release.classes[code] for code in prediction.predict(release, table)] == truth.tolist()
        else:
            right = np.allclose(prediction.predicted_numbers(release, table), truth, rtol=1e-6)
        again = read_foreign(known.content, "model", (subject.offered,))
        same = again.model_sha256 == model.model_sha256
        refuse_if(not right or not same, f"its model of {known.name} predicts something else, or is another each time")


def states_disclosures(subject: Offer) -> None:
    """It states what a file discloses besides predictions, and that it counts people, in words that `texts` has."""
    texts = subject.offered.texts().disclosures
    for known, printed in subject.known():
        model = subject.offered.read(known.content, "model")
        untold = NOT_STATED in model.discloses or (model.counts_people and model.level != "counts")
        refuse_if(untold, f"it does not state what {known.name} discloses, or that it discloses counts")
        said = {release_codec.read_disclosure(each.written(), "model", texts).says for each in model.discloses}
        words = [(each.format, each.producer, each.settings) for each in (model, printed)]
        undeclared = words[0] != words[1] or release_codec.FOREIGN_WORDS in said
        refuse_if(undeclared, f"what it says of {known.name} has words that `texts` does not declare")


def finds_planted_content(subject: Offer) -> None:
    """What is put into a file is refused or disclosed, and not printed: look at every key, also at unknown ones."""
    skip_if(not any(known.planted for known in subject.more), "no KnownModel has files with planted content")
    for known, model in subject.known():
        for what, content in known.planted.items():
            try:
                found = read_foreign(content, "model", (subject.offered,))
                said = [item.says for item in set(found.discloses) - set(model.discloses)]
            except ReleaseError as error:
                said = [str(error)]
            words = set(re.findall(rb"[\w-]{8,}", content)) - set(re.findall(rb"[\w-]{8,}", known.content))
            printed = any(word.decode() in str(said) for word in words)
            refuse_if(not said or printed, f"what is put into {known.name} as {what} is found by nobody, or is printed")


def runs_nothing(subject: Offer) -> None:
    """While it reads, also a file that is cut off, it opens no file, runs no code, and ends no process."""
    for known, _ in subject.known():
        with watched(BEYOND_BYTES) as events:
            for share in range(1, 9):
                with suppress(LeafgateError), in_words():
                    subject.offered.read(known.content[: len(known.content) * share // 8], "model")
        refuse_if(events, f"while it reads {known.name} it does: {events[:1]}")


READERS = named(is_declared, returns_the_known_model, states_disclosures, finds_planted_content, runs_nothing)
"""The relations of model readers, by name."""


def reads_what_was_written(subject: Offer) -> None:
    """Each text comes back as it is, each row as often as it is there, a missing cell as the empty text.

    What is no such file is refused in a DataError that has no cell of it.
    """
    source, (write,) = subject.offered, subject.more
    problems = suffix_mistakes(type(source))
    refuse_if(problems, ", ".join(problems))
    name = f"people{min(source.suffixes)}"
    for last in ("1.0", "1.5"):
        rows = [(text, last) for text in TEXTS]
        with watched(NETWORK), in_words():
            cells = source.read(SourceFile(name, write(("text", "größe"), [*rows, (None, PLANTED)])))
        found = source_cells(cells, source, name).astype(str).to_numpy().tolist()
        wrong = sorted(map(tuple, found)) != sorted([*rows, ("", PLANTED)])
        refuse_if(wrong, "it returns other cells than those of the file, or what it read before")
    for content in (b"\xff" * 99, PLANTED.encode(), write(("text", "größe"), [(PLANTED, "1")])[:-9]):
        try:
            with in_words():
                source.read(SourceFile(name, content))
        except LeafgateError as error:
            refuse_if(PLANTED in str(error), "its error prints a cell")


SOURCES = named(reads_what_was_written)
"""The relations of data sources, by name."""
