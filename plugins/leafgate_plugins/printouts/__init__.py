"""What WEKA's J48 (`weka`) and R's rpart (`rpart`) print.

Both parse the lines of one tree and put it together with `builder`, which also records the other lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leafgate.api import hookimpl
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    from leafgate.readers import ModelIR

leafgate_api = ">=3,<4"


def sniff_j48(head: bytes) -> bool:
    """Is there the title of a tree of J48's?"""
    return re.search(rb"^J48 (un)?pruned tree\s*\n-{3,}", head, re.MULTILINE) is not None


def read_j48(content: bytes, place: str) -> ModelIR:
    """The tree in a print-out of WEKA's J48."""
    from leafgate_plugins.printouts import weka

    return weka.read(content, place)


def j48_texts() -> ReaderTexts:
    """Words of the producer, and why it is not known where missing cells go."""
    from leafgate_plugins.printouts.builder import DISCLOSURES
    from leafgate_plugins.printouts.weka import UNTOLD

    return ReaderTexts(producers=frozenset({"J48", "WEKA"}), reasons=(UNTOLD,), disclosures=DISCLOSURES)


def sniff_rpart(head: bytes) -> bool:
    """Is there the header of an rpart tree?"""
    return re.search(rb"^node\), split, n, (loss|deviance), yval", head, re.MULTILINE) is not None


def read_rpart(content: bytes, place: str) -> ModelIR:
    """The tree in a print-out of R's rpart."""
    from leafgate_plugins.printouts import rpart

    return rpart.read(content, place)


def rpart_texts() -> ReaderTexts:
    """Words of the producer, and why it is not known where missing cells go."""
    from leafgate_plugins.printouts.builder import DISCLOSURES
    from leafgate_plugins.printouts.rpart import UNTOLD

    return ReaderTexts(producers=frozenset({"R", "rpart"}), reasons=(UNTOLD,), disclosures=DISCLOSURES)


MAX_BYTES = 16 * 2**20
J48 = ModelReader(
    name="j48", sniff=sniff_j48, read=read_j48, max_bytes=MAX_BYTES, texts=j48_texts, tested=("WEKA J48",)
)
"""What WEKA prints of a J48 tree."""

RPART = ModelReader(
    name="rpart", sniff=sniff_rpart, read=read_rpart, max_bytes=MAX_BYTES, texts=rpart_texts, tested=("R rpart",)
)
"""What R prints of an rpart tree."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [J48, RPART]
