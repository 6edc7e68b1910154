"""Texts written by others, made fit to print: in one line, without control characters, of bounded length."""

from __future__ import annotations

import re

COMMAND = re.compile(r"^(?=\s*::)|#(?=#\[)")
"""The start of a GitHub `::command::` in a line, or of an Azure `##[command]`."""

LONGEST = 200
"""Longer names are cut; JSON documents have all of them."""


def printable(text: str) -> str:
    """The text with a replacement character for every character that ends a line or moves a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def printable_line(line: str) -> str:
    """The line without control characters, line ends and commands to a CI runner."""
    return COMMAND.sub("\N{REPLACEMENT CHARACTER}", printable(line))


def shorten(text: str, longest: int) -> str:
    """The text, or its beginning and an ellipsis if it has more than `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def clean(text: object, longest: int = LONGEST) -> str:
    """A text without control characters, marks of direction and line ends, cut to `longest` characters."""
    return shorten(printable_line(str(text)), longest)
