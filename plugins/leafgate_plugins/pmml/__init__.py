"""PMML files: XML trees and their predicates.

`xml` parses a document within bounds, `fields` reads its data dictionary and predicates, `trees` turns nodes with
several children into binary trees, `reader` builds the model, `unread` records the rest of the document.
"""

from __future__ import annotations

import re

from leafgate.api import hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Is it XML whose outermost element is called PMML?"""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text[:1] == b"<" and re.search(rb"<(!DOCTYPE\s+)?(\w+:)?PMML\b", head) is not None


def texts() -> ReaderTexts:
    """Words of programs that write PMML, and why it is not known where missing cells go."""
    from leafgate_plugins.pmml.reader import REASONS
    from leafgate_plugins.pmml.unread import PROGRAMS, SHAPE

    return ReaderTexts(producers=PROGRAMS, reasons=REASONS, disclosures=SHAPE.says)


PMML = ModelReader(
    name="pmml",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.pmml.reader:read"),
    texts=texts,
    tested=("SkLearn2PMML package",),
)
"""A tree, or a mining model of trees, of PMML 4."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [PMML]
