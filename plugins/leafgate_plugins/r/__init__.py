"""Models of R in files of `saveRDS` and `save`: rpart, ranger, randomForest, and caret's `train` around one of these.

`serialisation` reads R's objects from bytes, `vectors` checks what they are, `rpart` and `forests` turn models into
neutral trees, `contents` finds what else a file contains, and `reader` puts this together. No R is needed, and nothing
in a file is evaluated.
"""

from __future__ import annotations

import re

from leafgate.api import hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"

HEAD = re.compile(rb"RD[ABX][1-9]\n|X\n\x00\x00\x00|A\n[1-9]\n|B\n[\x01-\x09]\x00")
"""What files of `save` and `saveRDS` begin with, once they are decompressed."""


def sniff(head: bytes) -> bool:
    """Does the file begin as R's files do?"""
    return HEAD.match(head) is not None


def texts() -> ReaderTexts:
    """Words of the producer, and why a feature or missing cells cannot be read."""
    from leafgate_plugins.r.contents import DISCLOSURES
    from leafgate_plugins.r.features import NEITHER, NO_LEVELS
    from leafgate_plugins.r.forests import NOBODY
    from leafgate_plugins.r.rpart import MANY_SURROGATES

    return ReaderTexts(
        producers=frozenset({"R", "rpart", "ranger", "randomForest", "of", "caret"}),
        reasons=(NEITHER, NO_LEVELS, NOBODY, MANY_SURROGATES),
        disclosures=DISCLOSURES,
    )


R = ModelReader(
    name="r",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.r.reader:read"),
    max_bytes=256 * 2**20,
    texts=texts,
    witness_lines=LazyFunction("leafgate_plugins.r.reader:witness_lines"),
    tested=("R rpart", "R ranger", "R randomForest"),
)
"""The files that `saveRDS` writes, and `save` of one object."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [R]
