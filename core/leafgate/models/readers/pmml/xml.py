"""PMML documents as elements: parsed without entities or types of the file's own, and of bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leafgate.errors import ReleaseError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST = 150 * 2**20
"""Bytes that a parsed file may take, by the estimate."""

ELEMENT, ATTRIBUTE = 140, 110
"""What an element and an attribute take, about."""

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def parse_xml(content: bytes, place: str) -> Element:
    """The outermost element; ReleaseError for what is no XML, declares entities or types, or is too large."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    if 2 * len(content) + ELEMENT * content.count(b"<") + ATTRIBUTE * content.count(b"=") > LARGEST:
        raise ReleaseError(f"would take more than {LARGEST / 2**20:.0f} MB of memory", place=place)
    try:
        root: Element = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise ReleaseError("declares types or entities of its own, which is not read", place=place) from None
    except ParseError as wrong:
        line, column = wrong.position
        raise ReleaseError(f"is not XML: line {line}, column {column}", place=place) from None
    except (ValueError, LookupError):
        raise ReleaseError("is written in an encoding that is not read", place=place) from None
    return root


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
