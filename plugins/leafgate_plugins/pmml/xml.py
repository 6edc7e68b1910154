"""Elements of a PMML document, by their names without a namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leafgate.api import ReleaseError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def name_of(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def named(element: Element, *names: str) -> Iterator[Element]:
    """The elements of these names directly below."""
    return (child for child in element if name_of(child) in names)


def only(element: Element, name: str, place: str) -> Element:
    """The one element of a name directly below."""
    found = list(named(element, name))
    if len(found) != 1:
        raise ReleaseError(f"must have one {name}", place=place)
    return found[0]


def words(element: Element) -> list[str]:
    """The members of an Array of texts."""
    result = WORD.findall(element.text or "")
    return [bare if bare else re.sub(r"\\(.)", r"\1", quoted) for quoted, bare in result]
