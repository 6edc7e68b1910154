"""ONNX files: `wire` parses protocol buffers, `graph` the operators, `reader` builds the model.

`preprocessing` and `operators*` trace features back to columns, `ensemble*` reads the trees, `postprocessing` checks
what follows them, `unread` records the rest. `writer` writes models as such files: their trees, over
`written_features`, which it makes of columns.
"""

from __future__ import annotations

import re

from leafgate.api import hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"

PRODUCER, LABELS_PRODUCER = "leafgate", "leafgate labels"
"""What files that `writer` writes say made them: where leaves hold 1 for a label, that is no share of their people."""
MISSING_TEXT = ""
"""What files that `writer` writes are given in place of a missing category."""


def sniff(head: bytes) -> bool:
    """An `ir_version` of one byte, then the producer's name or the like: how every ONNX file found begins."""
    return re.match(rb"\x08[\x01-\x1f](\x12|\x1a|\x22|\x2a|\x32|\x3a|\x42|\x28)", head) is not None


def texts() -> ReaderTexts:
    """Words of programs that write ONNX, and why it is not known where missing cells go."""
    from leafgate_plugins.onnx.reader import UNTOLD
    from leafgate_plugins.onnx.unread import PROGRAMS, SHAPE

    producers = PROGRAMS | {LABELS_PRODUCER}
    return ReaderTexts(producers=producers, reasons=(UNTOLD,), disclosures=SHAPE.says)


ONNX = ModelReader(
    name="onnx",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.onnx.reader:read"),
    max_bytes=192 * 2**20,
    texts=texts,
    write=LazyFunction("leafgate_plugins.onnx.writer:write"),
    suffixes=(".onnx",),
    tested=("skl2onnx 1.16", "skl2onnx 1.18", "skl2onnx 1.20", "OnnxMLTools 1.16", "leafgate"),
)
"""ONNX graphs with one ensemble of trees."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [ONNX]
