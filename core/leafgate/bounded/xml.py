"""XML of strangers as elements: parsed without entities or types of the file's own, and of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.errors import ReleaseError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST = 150 * 2**20
"""Bytes that a parsed file may take, by the estimate."""

ELEMENT, ATTRIBUTE = 140, 110
"""What an element and an attribute take, about."""


def parse_bounded_xml(content: bytes, place: str) -> Element:
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
