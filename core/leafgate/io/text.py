"""Texts of strangers, made fit to print: in one line, without control signs, of bounded length."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with a replacement character for every sign that ends a line or moves a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def shorten(text: str, longest: int) -> str:
    """Return the text cut to at most `longest` signs, the last of them an ellipsis where something was cut."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
