"""Model readers: how a plugin turns the files of one library into neutral trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from leafgate.errors import ReleaseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.ir.model import ModelIR
    from leafgate.kernel.release import Learner
    from leafgate.kernel.table import Table

NAME = re.compile(r"[a-z][a-z0-9_]*")
RESERVED_NAMES = frozenset({"leafgate", "pickle"})
"""Names that no reader has: of the program itself, and of what the core refuses."""
HEAD = 4096
"""Bytes at the beginning of a file by which a reader recognizes its format."""
LARGEST = 512 * 2**20
"""Bytes of the largest file that any reader is given."""


PRODUCERS = "a by format hand in is known memory not program that unknown version here"
"""Words of what the core calls programs and formats that it does not know."""


@dataclass(frozen=True, kw_only=True)
class ReaderTexts:
    """What the texts of a reader's models consist of; of anything else reports say that it is not known.

    A text of a model file may name a person. So what has other words than these is not printed.

    Attributes:
        producers: Words of the names of programs that write such files, of classes, and of `ModelIR.format`.
        reasons: The sentences in which the reader says why it cannot tell something (`ModelIR.unspecified_missing`,
            `Unresolved.why`), without the names of columns.
        disclosures: What the reader's disclosures say, with `#` in place of each number.
    """

    producers: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()
    disclosures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("producers", "reasons", "disclosures"):
            texts = getattr(self, name)
            if isinstance(texts, str) or not all(isinstance(each, str) for each in texts):
                raise TypeError(f"`{name}` of ReaderTexts is no collection of texts")


@dataclass(frozen=True, kw_only=True)
class ModelReader:
    """The reader of one format of model files, as a plugin offers it.

    Attributes:
        name: What errors and `leafgate plugins` call the format, a word such as "catboost".
        sniff: Whether a file with these first 4096 bytes (or fewer, where it is shorter) looks like the format. It
            is asked about files of all formats, and answers at once.
        read: Returns the model in the bytes of a file; the second argument is what errors call the file. It runs no
            code of the file's, takes memory and time in proportion to the bytes, and raises ReleaseError for what it
            cannot read. The core checks the model that it returns. In `ModelIR.discloses` it states what the file
            discloses besides predictions; where it states nothing, no audit of such a file passes.
        max_bytes: Larger files are refused before they are read; at most 512 MB.
        texts: Returns what the texts of its models consist of.
        from_object: Returns the model of an object in memory, such as a fitted estimator; ReleaseError for objects
            that it does not know. None for a reader of files alone.
        to_file: Returns the name and the bytes of the file of an object in memory, as its owner would publish it, such
            as ("model.skops", b"..."), the same bytes for the same object; None for an object of another library.
            Raises ReleaseError for an object of its own library that is not fitted or has no such file, and
            InconclusiveError where a library is not installed, with the command that installs it. None for a reader
            that writes no objects.
        to_file_with: Called in place of `to_file` where the rows are at hand that the object was fitted on, as its user
            has them, for objects whose file needs something of them, such as the texts of categories. It need not
            believe that they are these rows. None for a reader that needs no rows.
        trains: The beginnings of the names of estimators that `train` can fit, such as "sklearn.".
        train: Fits an estimator on a table (people count by `persons`) and returns the score that it gives each class,
            in the order of the class's domain, for the rows of a second table: shape (n_rows, n_classes), rows sum
            to 1. The last argument is the seed. Raises InconclusiveError where the library is not installed, with the
            command that installs it, or the estimator is none that it may fit. None for a reader that fits nothing.
        fit: Fits such an estimator, or a regressor of the same library, on features, shape (n_people, n_features), and
            classes, whole numbers from 0, or any numbers, and returns it, so that `to_file` writes it. The last
            argument is the seed. Raises as `train` does. None for a reader that fits nothing, or whose estimators it
            cannot return.
        read_output: Called in place of `read` for one of several columns that a model predicts; the third argument is
            its number, from 0. None for a reader of models that predict one column.
        read_with: Called in place of `read` for files that hold models of other readers, in their words; the third
            argument is what texts may consist of, by all readers in use.
        file_format: What reports call the format of such a file, whose models name the format they came from; empty
            for `ModelIR.format`.
        write: Returns a model as a file of this format; the second argument is the file that the model was made from,
            of whatever format, whose structure is kept where this one needs it. What `read` makes of the new file
            predicts the same for everybody, and the new file discloses no more than the model. Raises ReleaseError for
            a model that the format cannot hold, or another file than the format needs, and InconclusiveError where a
            library is not installed, with the command that installs it. None for a reader that writes nothing.
        tested: Programs, with or without a version, whose files were read in tests as these programs answer, such as
            ("XGBoost 3.3", "XGBoost 3.4"), in the words of `ModelIR.producer`; ("",) where the plugin itself says what
            the files mean. Files of other programs pass no audit without a witness.
        library: "MODULE:NAME" of a function that opens the bytes of a file by the library that wrote it, and answers
            for rows: of the model's features, as an array, and of the table's columns, as a frame. It returns `scores`
            (n_rows, n_classes), `labels` (positions of classes) or `numbers`, with the names of the `classes` where the
            library has an order of its own. It is called in a process of its own, where who runs the audit asks for
            it. None where no library can be asked.
        opened_by: The first bytes of files that only their library opens, each with "MODULE:NAME" of a function that
            returns, of the bytes of such a file, one that `read` reads. It is called in a process of its own, where the
            file's owner says so (`leafgate convert --trust`). Otherwise `read` refuses such a file.
        check_original: Called before models are looked for that `write` shall put into the structure of a file, with
            the bytes of that file. Raises ReleaseError, in the words of `write`, where `write` takes no model from this
            file, and InconclusiveError where a library is not installed. None where any file will do.
        witness_lines: Returns lines in the language of the program that wrote a model, which write its own answers
            beside the rows of a table as `answers.csv`; the other arguments are the names of the files of the model and
            of the table. `leafgate init --model` prints them. None where there is nothing to say.
        suffixes: The endings of the names of such files, such as ".onnx", by which commands choose `write`.
    """

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[bytes, str], ModelIR]
    max_bytes: int = 64 * 2**20
    texts: Callable[[], ReaderTexts] = ReaderTexts
    from_object: Callable[[Any], ModelIR] | None = None
    to_file: Callable[[Any], tuple[str, bytes] | None] | None = None
    to_file_with: Callable[[Any, Any], tuple[str, bytes] | None] | None = None
    trains: tuple[str, ...] = ()
    train: Callable[[Learner, Table, Table, int], NDArray[np.float64]] | None = None
    fit: Callable[[Learner, NDArray[np.float64], NDArray[Any], int], Any] | None = None
    read_output: Callable[[bytes, str, int], ModelIR] | None = None
    read_with: Callable[[bytes, str, Vocabulary], ModelIR] | None = None
    file_format: str = ""
    write: Callable[[ModelIR, bytes], bytes] | None = None
    suffixes: tuple[str, ...] = ()
    check_original: Callable[[bytes], None] | None = None
    tested: tuple[str, ...] = ()
    library: str | None = None
    opened_by: Mapping[bytes, str] = field(default_factory=dict)
    witness_lines: Callable[[ModelIR, str, str], tuple[str, ...]] | None = None

    def of_output(self, output: int) -> ModelReader:
        """The reader of one of the columns that models predict, by its number from 0."""

        def read(content: bytes, place: str) -> ModelIR:
            if self.read_output is None:
                raise ReleaseError("is of a format whose models predict one column", place=place)
            return self.read_output(content, place, output)

        return replace(self, read=read, read_with=None)

    def tested_with(self, producer: str) -> Literal["version", "program", ""]:
        """Whether it was tested with this version of a program, with the program in other versions, or with neither."""
        if any(_is_named(each, producer) for each in self.tested):
            return "version"
        programs = {name for each in self.tested if (name := VERSION.sub("", each)) != each}
        return "program" if any(_is_named(each, producer) for each in programs) else ""


VERSION = re.compile(r" v?[0-9][0-9.]*$")


def _is_named(name: str, producer: str) -> bool:
    """Does the producer have this name, and after it no more digits of its version?"""
    return re.search(rf"(^|\b){re.escape(name)}(?![0-9A-Za-z])", producer) is not None


@dataclass(frozen=True)
class Vocabulary:
    """What texts of models that reports print may consist of, beside names of columns, values and classes.

    Attributes:
        producers: words, in small letters, of what readers call the program that wrote a file.
        reasons: words of what readers say where missing cells, or a feature, cannot be read.
        disclosures: what disclosures of plugins' readers say, with `#` for each number.
    """

    producers: frozenset[str] = frozenset(PRODUCERS.split())
    reasons: frozenset[str] = frozenset()
    disclosures: frozenset[str] = frozenset()

    @classmethod
    def of(cls, readers: Iterable[ModelReader]) -> Self:
        """The words of the core and of these readers."""
        from leafgate.ir.unread import words_in

        texts = list(map(_texts_of, readers))
        reasons = words_in(" ".join(reason for each in texts for reason in each.reasons))
        producers = frozenset(PRODUCERS.split()).union(*(_spelled(each.producers) for each in texts))
        disclosures = frozenset[str]().union(*(each.disclosures for each in texts))
        return cls(producers, producers | reasons, disclosures)


def _spelled(words: Collection[str]) -> frozenset[str]:
    """The words as texts are taken apart: the parts of `XGBoost` are XG and Boost."""
    from leafgate.ir.unread import words_in

    return frozenset(word.lower() for word in words) | words_in(" ".join(words))


def _texts_of(reader: ModelReader) -> ReaderTexts:
    """What the reader's texts consist of; nothing where it is broken, so that nothing of its models is printed."""
    try:
        texts: object = reader.texts()
        return texts if isinstance(texts, ReaderTexts) else ReaderTexts()
    except Exception:
        return ReaderTexts()


SUFFIX = re.compile(r"(\.[a-z0-9]+)+")


def mistakes(offered: ModelReader) -> list[str]:
    """What is wrong with the declaration of a reader, a sentence each; empty if the core can use it."""
    problems = []
    if not NAME.fullmatch(offered.name):
        problems.append(f"the name {offered.name!r} is no word of small letters, digits and underscores")
    elif offered.name in RESERVED_NAMES:
        problems.append(f"the name {offered.name!r} belongs to leafgate itself")
    if type(offered.max_bytes) is not int or not 0 < offered.max_bytes <= LARGEST:
        problems.append(f"max_bytes is no whole number from 1 to {LARGEST:,}")
    tested: object = offered.tested
    if not isinstance(tested, tuple) or not all(isinstance(each, str) for each in tested):
        problems.append('tested are no names of programs, such as ("XGBoost 3.4",)')
    return problems + _mistakes_of_writing(offered)


def _mistakes_of_writing(offered: ModelReader) -> list[str]:
    """What is wrong with what a reader says of writing its format."""
    suffixes: object = offered.suffixes
    are_texts = isinstance(suffixes, tuple) and all(isinstance(each, str) for each in suffixes)
    if not are_texts or not all(map(SUFFIX.fullmatch, offered.suffixes)):
        return ['suffixes are no endings in small letters, such as (".onnx",)']
    if (offered.write is None) != (not suffixes):
        return ["`write` and `suffixes` belong together: a function, and the endings by which it is chosen"]
    return []
