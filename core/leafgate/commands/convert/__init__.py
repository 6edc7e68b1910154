"""Neutral files of models, `leafgate/model/1`: their reader, and `convert`, `scrub` and `repair`, which write models.

`neutral` reads and writes them, `unread` finds what of one is no part of the model. `command` has the commands:
`pickles` opens what its owner trusts; `scrub` leaves of a model what may be disclosed, with `rounding` and `merging` of
leaves, and compares predictions on points (`sampling`) and on a policy's table (`equivalence`). `predict` predicts by a
neutral file without leafgate, and `prediction` by means of it for leafgate and users of Python. `repair/` writes the
most useful model in place of a given one that keeps a policy's limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl
from leafgate.readers import ModelReader, ReaderTexts, Vocabulary

if TYPE_CHECKING:
    from leafgate.readers import ModelIR

leafgate_api = ">=3,<4"

FORMAT = "leafgate/model/1"
SCRUBBED = "scrubbed"
"""The producer of what `leafgate scrub` writes."""
FOREIGN_REASON = "its file gives a reason in words that leafgate does not write"
UNPROVED = "was held against no table before the counts went that could show it to be a code of the model's own"
"""Why a feature of a scrubbed model is unknown."""


def sniff(head: bytes) -> bool:
    """Does the file begin as neutral files do?"""
    return head.lstrip()[:1] == b"{" and FORMAT.encode() in head[:200]


def read(content: bytes, place: str) -> ModelIR:
    """The model in a neutral file, `leafgate/model/1`."""
    return read_with(content, place, Vocabulary())


def read_with(content: bytes, place: str, known: Vocabulary) -> ModelIR:
    """The model in a neutral file, not yet checked; texts of other words than are `known` are disclosures of it."""
    from leafgate.commands.convert import neutral

    return neutral.read(content, place, known)


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as a neutral file; nothing of the `original` file is kept."""
    from leafgate.commands.convert import neutral

    return neutral.written(model)


def texts() -> ReaderTexts:
    """The words of `leafgate scrub`, and of the reader itself."""
    steps = ("shares of classes, rounded to steps of #.#",)
    return ReaderTexts(producers=frozenset({SCRUBBED}), reasons=(FOREIGN_REASON, UNPROVED), disclosures=steps)


NEUTRAL = ModelReader(
    name="neutral",
    sniff=sniff,
    read=read,
    max_bytes=512 * 2**20,
    texts=texts,
    read_with=read_with,
    file_format=FORMAT,
    write=write,
    suffixes=(".json",),
    tested=("",),
)
"""The files that `leafgate convert` and `leafgate scrub` write."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [NEUTRAL]
