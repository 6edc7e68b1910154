"""YAML read so that nothing can be half understood.

YAML 1.2 core scalars (`no` is a text, `1e-3` a number), no duplicate keys, no anchors or aliases,
no tags, text keys only, 256 KB and 32 levels at most.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from leafgate.errors import PolicyError
from leafgate.kernel.paths import DocumentPath

MAX_YAML_BYTES = 256 * 1024
MAX_DEPTH = 32
LARGEST_EXACT = 2**53
"""Whole numbers below it are written without a decimal point, whatever their type."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the YAML 1.2 core schema and no patience for ambiguity."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(problem="anchors and aliases are not allowed", problem_mark=event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(problem="tags are not allowed", problem_mark=event.start_mark)
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH}", problem_mark=event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise yaml.MarkedYAMLError(problem="a key that is not text; quote it", problem_mark=key.start_mark)
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)


_CORE = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
}
_Loader.yaml_implicit_resolvers = {}
for _kind, (_pattern, _first) in _CORE.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _integer(loader: _Loader, node: Any) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


Node = Any
"""A node of PyYAML with its `id`, its `value` and its position `start_mark`."""


@dataclass(frozen=True)
class Kept:
    """A document, the text it was read from, and the root node with the positions of its parts."""

    document: dict[str, Any]
    text: str
    root: Node


def parse_yaml(content: bytes, place: str) -> dict[str, Any]:
    """The mapping in a YAML document; PolicyError with the line of whatever is wrong."""
    return read_yaml(content, place).document


def read_yaml(content: bytes, place: str) -> Kept:
    """Return the mapping together with the text and the node that give the line of each value."""
    if len(content) > MAX_YAML_BYTES:
        raise PolicyError(
            f"is larger than {MAX_YAML_BYTES // 1024} KB", place=place, remedy="a policy is a page of text"
        )
    loader = None
    try:
        text = content.decode("utf-8-sig")
        loader = _Loader(text)
        root: Node = loader.get_single_node()
        document = None if root is None else loader.construct_document(root)
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise PolicyError("is not UTF-8 text", place=place) from None
    except yaml.MarkedYAMLError as error:
        unended = error.context == "while scanning a quoted scalar"  # the problem stands where the file ends
        mark = error.context_mark if unended else error.problem_mark
        line = f"{place}, line {mark.line + 1}" if mark else place
        raise PolicyError("a quoted text that does not end" if unended else str(error.problem), place=line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PolicyError(f"is not YAML ({type(error).__name__})", place=place) from None
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(document, dict):
        raise PolicyError("is not a mapping of keys to values", place=place, remedy="start with `leafgate: 1`")
    return Kept(document, text, root)


def yaml_number(number: float) -> str:
    """A number as YAML, whole ones without a decimal point."""
    return str(int(number)) if float(number).is_integer() and abs(number) < LARGEST_EXACT else json.dumps(number)


def yaml_text(text: str) -> str:
    """A text as YAML, quoted so that nothing else can be meant."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def yaml_flow(value: Any) -> str:
    """A plain value, list or mapping as YAML on one line.

    >>> yaml_flow({"use": "k_anonymity", "at_least": 10.0})
    '{use: k_anonymity, at_least: 10}'
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)}: {yaml_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_flow, value))}]"
    if isinstance(value, str):
        return value if _is_word(value) else yaml_text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return yaml_number(value)


def yaml_entries(document: Mapping[str, Any], path: DocumentPath = ()) -> Iterator[tuple[DocumentPath, str]]:
    """A mapping as lines of YAML, each with the path of what begins on it; `path` is the document's own.

    Sections such as `data` and `columns` have a line for each key, lists of mappings a line for each item.
    """
    indent = "  " * len(path)
    for key, value in document.items():
        here = (*path, key)
        if key in BLOCKS and isinstance(value, Mapping) and value:
            yield here, f"{indent}{_key(key)}:"
            yield from _items(value, here) if key in ENTRIES else yaml_entries(value, here)
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            yield here, f"{indent}{_key(key)}:"
            yield from (((*here, i), f"{indent}  - {yaml_flow(item)}") for i, item in enumerate(value))
        else:
            yield here, f"{indent}{_key(key)}: {yaml_flow(value)}"


def as_parsed(value: Any) -> Any:
    """A plain value, list or mapping as reading its YAML gives it: whole numbers as integers, all keys as texts.

    >>> as_parsed({1: (2.0, 0.5, "a")})
    {'1': [2, 0.5, 'a']}
    """
    value = (
        value.item() if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    )
    if isinstance(value, Mapping):
        return {str(key): as_parsed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_parsed(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT:
        return int(value)
    return value


BLOCKS = frozenset({"data", "columns", "build", "encoding"})
ENTRIES = frozenset({"columns", "encoding"})
"""Sections whose keys are names that users give."""


def _items(entries: Mapping[str, Any], path: DocumentPath) -> Iterator[tuple[DocumentPath, str]]:
    for name, value in entries.items():
        yield (*path, name), f"{'  ' * len(path)}{yaml_text(name)}: {yaml_flow(value)}"


WORDS = frozenset("abcdefghijklmnopqrstuvwxyz_0123456789")


def _is_word(text: str) -> bool:
    """Is it a plain word of small letters that YAML cannot take for anything else?"""
    return text[:1].isalpha() and set(text) <= WORDS and text not in {"true", "false", "null", "yes", "no", "on", "off"}


def _key(key: object) -> str:
    return str(key) if _is_word(str(key)) else yaml_text(str(key))
