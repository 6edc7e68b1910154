"""The text of a policy, changed value by value: every other line, also one that somebody wrote by hand, stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from leafgate.io.yaml import Kept, Node, read_yaml, yaml_flow, yaml_text
from leafgate.kernel.paths import DocumentPath

CHECKED = re.compile(r" *# CHECK[^\n]*")
"""What asks the owner to check a line: it goes when the line is answered."""
REMOVED = object()
"""Stands for the value of a key or an item that is to go."""


@dataclass(frozen=True)
class PolicyText:
    """A policy as text."""

    text: str

    @cached_property
    def _kept(self) -> Kept:
        return read_yaml(self.text.encode(), "policy.yaml")

    @property
    def document(self) -> dict[str, Any]:
        """The policy as mappings and lists; PolicyError where the text is no YAML."""
        return self._kept.document

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        value: Any = self.document
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def line(self, path: DocumentPath) -> int | None:
        """The number of the line, from 1, on which the value at a path begins; None where there is none."""
        nodes = list(_nodes(self._kept.root, path))
        return nodes[-1].start_mark.line + 1 if len(nodes) == len(path) + 1 else None

    def changed(self, changes: Mapping[DocumentPath, Any]) -> PolicyText:
        """The text with other values at these paths; `REMOVED` takes a key or an item away.

        A new key goes to the beginning of its section, and a new item to the end of its list.
        """
        document, spans = deepcopy(self.document), dict[DocumentPath, tuple[int, int, str]]()
        ordered = sorted(changes, key=lambda path: [str(step).zfill(9) for step in path])
        changes = {path: changes[path] for path in ordered if self._differs(path, changes[path])}
        for path, value in changes.items():
            _put(document, path, value)
        for path, value in changes.items():
            nodes = list(_nodes(self._kept.root, path))
            unit = path[: len(list(takewhile(lambda node: not _is_inline(node), nodes)))]
            if unit == path and value is REMOVED:
                spans[unit] = self._lines_of(nodes[-1])
            elif len(unit) < len(nodes):
                inner: Any = document
                for step in unit:
                    inner = inner[step]
                inner = [each for each in inner if each is not REMOVED] if isinstance(inner, list) else inner
                spans[unit] = self._inline(nodes[len(unit)], yaml_flow(inner))
            else:
                inner = value
                for step in reversed(path[len(nodes) :]):
                    inner = {step: inner}
                spans[path] = self._inserted(nodes[-1], path[len(nodes) - 1], yaml_flow(inner))
        text = self.text
        in_order = sorted(spans.values(), key=lambda span: (span[:2], span[2].startswith("\n")))
        for start, end, written in reversed(in_order):
            text = f"{text[:start]}{written}{text[end:]}"
        return PolicyText(text)

    def _differs(self, path: DocumentPath, value: Any) -> bool:
        before = self.get(*path)
        return before is not None if value is REMOVED else before != value

    def _inline(self, node: Node, written: str) -> tuple[int, int, str]:
        """The span of a value within its line, with the remark behind it that asks to check it."""
        end = self._end(node)
        remark = CHECKED.match(self.text, end)
        return node.start_mark.index, remark.end() if remark else end, written

    def _end(self, node: Node) -> int:
        """Where the text of a value ends; a block is said to end only where something else begins."""
        while not _is_inline(node) and node.value:
            node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
        return len(self.text[: node.end_mark.index].rstrip())

    def remark(self, path: DocumentPath) -> str:
        """What the line of a value asks to check; empty where it asks nothing."""
        nodes = list(_nodes(self._kept.root, path))
        found = CHECKED.match(self.text, nodes[-1].end_mark.index) if len(nodes) == len(path) + 1 else None
        return " ".join(found[0].replace("# CHECK:", "").split()) if found else ""

    def checked(self, paths: Iterable[DocumentPath]) -> PolicyText:
        """The text without what the lines of these values ask to check."""
        text = self
        for path in paths:
            if text.remark(path):
                *_, node = _nodes(text._kept.root, path)
                _, end, _ = text._inline(node, "")
                text = PolicyText(f"{text.text[: node.end_mark.index]}{text.text[end:]}")
        return text

    def _lines_of(self, node: Node) -> tuple[int, int, str]:
        start = self.text.rfind("\n", 0, node.start_mark.index) + 1
        return start, self._next_line(self._end(node)), ""

    def _next_line(self, place: int) -> int:
        end = self.text.find("\n", place)
        return len(self.text) if end < 0 else end + 1

    def _inserted(self, node: Node, step: str | int, written: str) -> tuple[int, int, str]:
        """The span of a new line of a mapping, of a list, or of the policy itself, whose sections go to its end."""
        column = " " * node.start_mark.column
        if isinstance(step, int):
            place = self._next_line(self._end(node))
            return place, place, f"{column}- {written}\n"
        key = step if step.isidentifier() else yaml_text(step)
        if node is self._kept.root:
            return len(self.text), len(self.text), f"\n{key}: {written}\n"
        place = self.text.rfind("\n", 0, node.start_mark.index) + 1
        return place, place, f"{column}{key}: {written}\n"


def _nodes(root: Node, path: DocumentPath) -> Iterator[Node]:
    """The node of a document, and those below it on a path, as far as there are any."""
    node = root
    yield node
    for step in path:
        if node.id == "sequence" and isinstance(step, int):
            below = node.value[step] if step < len(node.value) else None
        else:
            pairs = node.value if node.id == "mapping" else ()
            below = next((value for key, value in pairs if key.value == step), None)
        if below is None:
            return
        node = below
        yield node


def _is_inline(node: Node) -> bool:
    return bool(node.id == "scalar" or node.flow_style)


def _put(document: Any, path: DocumentPath, value: Any) -> None:
    """Set or remove the value at a path."""
    for step in path[:-1]:
        document = document.setdefault(step, {}) if isinstance(document, dict) else document[step]
    last = path[-1]
    if value is REMOVED and isinstance(document, dict):
        del document[last]
    elif isinstance(document, list) and last == len(document):
        document.append(value)
    else:
        document[last] = value
