"""Markdown of the reference pages: options, texts with backticks, links and wrapped lines."""

from __future__ import annotations

import re
import textwrap
from typing import get_args

from leafgate.console.describe import Option
from leafgate.kernel.schema import Role

TYPES = {
    "string": "text",
    "object": "mapping",
    "boolean": "boolean",
    "list": "list",
    "mapping": "mapping",
    "number": "number",
    "integer": "integer",
    "role": "role",
}
"""Words for types of options; other words are choices."""
ROLE_NAMES = frozenset(get_args(Role))
"""The roles of columns, which a type lists as `role`."""


def bullet(option: Option, sections: frozenset[str] = frozenset()) -> str:
    """An option with its type, its default and its meaning; the default of one in `sections` stands below."""
    choices = [choice for choice in option.type.split(" | ") if choice != "null"]
    if set(choices) >= ROLE_NAMES:
        choices = ["role", *(choice for choice in choices if choice not in ROLE_NAMES)]
    default = option.default.strip('"')
    if not option.default:
        needed = "required"
    elif default in {"null", "", "{}", "[]"} or (option.name in sections and default.startswith("{")):
        needed = ""
    else:
        needed = "" if default in choices else f"default `{option.default}`"
    words = _in_words(choices, default)
    if default in choices and all(f"`{choice}`" in option.meaning for choice in choices):
        words, needed = "", f"default `{default}`"
    if needed.startswith("default") and words in {"boolean", "positive integer", "positive number"}:
        words = ""
    meaning = f": {cell(option.meaning)}" if option.meaning else ""
    about = ", ".join(each for each in (words, needed) if each not in {"", "text"})
    return wrapped(f"- `{option.name}`{f' ({about})' if about else ''}{meaning}", "  ")


def _in_words(choices: list[str], default: str) -> str:
    """The types or values of an option, the default in bold."""
    named = []
    for choice in dict.fromkeys(choices):
        words = _type_in_words(choice)
        if choice not in TYPES and re.fullmatch(r"[\w-]+", choice):
            words = f"**`{choice}`**" if choice == default else f"`{choice}`"
        named.append(words)
    return " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _type_in_words(text: str) -> str:
    """A type in words, with an interval of its numbers where there is one."""
    word, _, limits = TYPES.get(text, text).partition(" ")
    ends = dict(re.findall(r"([<>]=?) (\S+)", limits))
    low = next(((bracket, ends[sign]) for sign, bracket in ((">=", "["), (">", "(")) if sign in ends), None)
    high = next(((ends[sign], bracket) for sign, bracket in (("<=", "]"), ("<", ")")) if sign in ends), None)
    if low and high:
        return f"{word} in `{''.join(low)},{''.join(high)}`"
    if not low:
        return word
    return f"positive {word}" if low in {("(", "0"), ("[", "1")} else f"{word} from {low[1]}"


def prose(text: str) -> str:
    """A text with backticks as Markdown: other signs that Markdown would read are escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts)


def cell(text: str) -> str:
    """A text on one line, as Markdown."""
    parts = re.split(r"(`[^`]*`|\*\*required\*\*|\[[^\]]*\]\([^)]*\))", " ".join(text.split()))
    escaped = (part if i % 2 else re.sub(r"([*<])", r"\\\1", part) for i, part in enumerate(parts))
    return "".join(escaped).replace("|", "\\|")


def linked(text: str) -> str:
    """The text with links to the pages, publications and code that it names."""
    text = re.sub(r"docs/([\w/-]+)\.md", r"[\1](../\1.md)", text)
    text = re.sub(r"([^;]*), doi:(10\.\d+/[^\s,;]*[\w)])", r"[\1](https://doi.org/\2)", text)
    return re.sub(r"([^;]*), arXiv:(\d{4}\.\d+)", r"[\1](https://arxiv.org/abs/\2)", text)


def anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def short(source: str) -> str:
    """A source without titles, initials, sections and remarks, and with the first of three authors or more."""
    source = re.sub(r' ?"[^"]{12,}",', "", source)
    source = re.sub(r";.*|, sections? [\d.]+.*|, Definitions? .*|, Algorithm .*", "", source)
    source = re.sub(r" \([^)]*\)$", "", source)
    source = re.sub(r"\b(?:[A-Z]\.[ -]?)+(?=[A-Z][a-z])", "", source)
    return (
        re.sub(r"\b([A-Z][a-z][\w-]*)(?:, (?:de )?[A-Z][a-z][\w-]*){2,},", r"\1 and others,", source)
        if re.search(r"\d", source)
        else ""
    )


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def wrapped_paragraphs(text: str) -> str:
    return "\n\n".join(wrapped(" ".join(paragraph.split())) for paragraph in text.split("\n\n"))
