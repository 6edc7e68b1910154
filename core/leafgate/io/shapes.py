"""Shape files: what the files of a format hold, as data beside the format's reader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from leafgate.ir.unread import ContentField, ContentKind
from leafgate.kernel.release import FileDisclosure

SHAPE_FILE = "shape.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The strict parser of policies would take ten times as long, and these files are leafgate's own."""


@dataclass(frozen=True)
class Shape:
    """What the files of a format hold.

    Attributes:
        tables: the fields of each table that the reader checks, by the table's name.
        disclosures: what files disclose that hold some part, by the reader's name of the part.
        words: lists of texts that are the program's own, by name.
    """

    tables: Mapping[str, Mapping[str, ContentField]]
    disclosures: Mapping[str, FileDisclosure]
    words: Mapping[str, frozenset[str]]

    @property
    def says(self) -> tuple[str, ...]:
        """What the disclosures say, each once, with `#` for each number."""
        return tuple(dict.fromkeys(re.sub("[0-9]{1,9}", "#", each.says) for each in self.disclosures.values()))

    def disclosed(self, parts: Mapping[str, int]) -> list[FileDisclosure]:
        """What the parts disclose that a file has; a part's number stands for `#` in its sentence."""
        found = ((self.disclosures[name], number) for name, number in parts.items() if number)
        return [replace(each, says=each.says.replace("#", str(number))) for each, number in found]


@cache
def read_shape(package: str) -> Shape:
    """The shape in the file `shape.yaml` of a package.

    Its `types` are kinds of content with limits, by name (the attributes of `ContentField`). Each of its `tables` has
    for a key the name of a kind or of a type, the fields of a table, or, in a list of one item, those of each table of
    a list. `disclosures` have the attributes of `FileDisclosure`, `words` are separated by blanks. `unseen` is for
    `tests/support/make_shapes.py`.
    """
    document = yaml.load(files(package).joinpath(SHAPE_FILE).read_bytes(), LOADER)  # noqa: S506  # a safe one
    types = types_of(document)
    return Shape(
        tables={name: _fields(table, types) for name, table in document["tables"].items()},
        disclosures={name: FileDisclosure(**each) for name, each in document["disclosures"].items()},
        words={name: frozenset(each.split()) for name, each in document.get("words", {}).items()},
    )


def types_of(document: Mapping[str, Any]) -> dict[str, ContentField]:
    """The types of a parsed shape file in its order, then the kinds of content, by name."""
    own = {name: _type(**options) for name, options in document.get("types", {}).items()}
    return {**own, **{kind.name.lower(): ContentField(kind) for kind in ContentKind}}


def _type(kind: str, pattern: str | None = None, **limits: Any) -> ContentField:
    return ContentField(ContentKind[kind.upper()], None if pattern is None else re.compile(pattern), **limits)


def _fields(table: Mapping[str, Any], types: Mapping[str, ContentField]) -> dict[str, ContentField]:
    return {key: types[value] if isinstance(value, str) else _table(value, types) for key, value in table.items()}


def _table(value: Any, types: Mapping[str, ContentField]) -> ContentField:
    """The field of a table, or of a list of tables."""
    if isinstance(value, list):
        return ContentField(ContentKind.TABLES, fields=_fields(value[0], types))
    return ContentField(ContentKind.TABLE, fields=_fields(value, types))
