"""Which CSV is plain, so that every reader divides it alike."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from leafgate.kernel.policy import CsvOptions

BLOCK_BYTES = 2**18
"""So many bytes of a file are looked at together."""
LINE_END = ord("\n")


def is_plain(blocks: Iterable[bytes], options: CsvOptions) -> bool:
    """Is a file CSV that cannot be misread?

    It is UTF-8 with two columns or more, every line divided by as many delimiters. No cell holds a delimiter, a line
    end or a quote; quotes are only around whole cells. There is no comment, and no space that would be skipped.

    Args:
        blocks: the bytes of the file.
        options: how it is written.
    """
    if options.encoding not in {"utf-8", "utf-8-sig"} or options.delimiter == " ":
        return False
    delimiter, quote = options.delimiter.encode(), options.quote.encode()
    strange = [b"\0", codecs.BOM_UTF8]
    if options.comment is not None:
        strange.append(b"\n" + options.comment.encode())
    if options.skip_initial_space:
        strange += [b"\n ", delimiter + b" "]
    width = 0
    for lines in _whole_lines(_without_mark(blocks, options.encoding)):
        before = b"\n" + lines
        if any(sign in before for sign in strange):
            return False
        if b"\r" in lines and lines.count(b"\r") != lines.count(b"\r\n"):
            return False
        here = _width(lines, delimiter, quote)
        if here < 2 or here != (width or here):
            return False
        width = here
    return width > 1


def _without_mark(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The blocks without the byte order mark at the beginning of `utf-8-sig`."""
    for number, block in enumerate(blocks):
        yield block.removeprefix(codecs.BOM_UTF8) if number == 0 and encoding == "utf-8-sig" else block


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, divided behind line ends; an empty line stands for a line that is too long."""
    rest = b""
    for block in blocks:
        block = rest + block
        end = block.rfind(b"\n") + 1
        if end:
            yield block[:end]
        rest = block[end:]
        if len(rest) >= csv.field_size_limit():
            yield b"\n"
            return
    if rest:
        yield rest + b"\n"


def _width(lines: bytes, delimiter: bytes, quote: bytes) -> int:
    """The cells of every line; 0 where lines differ, or where quotes, delimiters or a long line could be misread."""
    signs = np.frombuffer(lines, dtype=np.uint8)
    is_end = signs == LINE_END
    divides = is_end | (signs == delimiter[0])
    ends_line = is_end[divides]
    width = int(ends_line.argmax()) + 1
    rows, rest = divmod(len(ends_line), width)
    if rest or not ends_line[width - 1 :: width].all() or np.count_nonzero(ends_line) != rows:
        return 0
    if np.diff(np.flatnonzero(is_end), prepend=-1).max() >= csv.field_size_limit():
        return 0
    if quote in lines:
        quotes = np.flatnonzero(signs == quote[0])
        if len(quotes) % 2:
            return 0
        opening, closing = quotes[::2], quotes[1::2]
        behind = np.isin(signs[closing + 1], [LINE_END, delimiter[0], ord("\r")])
        in_front = (opening == 0) | np.isin(signs[opening - 1], [LINE_END, delimiter[0]])
        where = np.flatnonzero(divides)
        whole = np.searchsorted(where, opening) == np.searchsorted(where, closing)
        if not (behind & in_front & whole).all():
            return 0
    return width
