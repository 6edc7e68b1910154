"""Which options of `data` a policy may state beyond what it extends: those that remove and rename nobody.

Some are decided by the two policies alone. Of others each file must show that they remove nobody (`file_checks`): the
reader of tables then raises an error where one does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leafgate.api.registry import Plugins
from leafgate.io.json import parse_number
from leafgate.kernel.components import DataSource
from leafgate.kernel.inheritance import Kind
from leafgate.kernel.paths import DocumentPath, dict_or_empty, locate
from leafgate.kernel.schema import MISSING_WORDS
from leafgate.kernel.spelling import similar_form

COMMENT: DocumentPath = ("data", "csv", "comment")
"""The option that has lines skipped."""
CHILD = "in the policy that is extended, say data: {reading: child}"
PARENT = "state it in the policy that is extended"


@dataclass(frozen=True)
class Refusal:
    """Why a policy may not state an option, and what to do; empty where the difference itself says it."""

    problem: str = ""
    hint: str = ""


def _refusal(problem: str, hint: str) -> Refusal:
    return Refusal(f"{problem}, which what it extends does not allow", hint)


def refused_option(
    older: Mapping[str, Any], newer: Mapping[str, Any], path: DocumentPath, plugins: Plugins
) -> Refusal | None:
    """Return why the newer policy may not state an option of how files are read as it does; None where it may.

    Args:
        older: the document of the policy that is extended.
        newer: the document of the policy that results.
        path: the option.
        plugins: the plugins that both trust.
    """
    key, new = path[-1], locate(newer, path)
    leaves_it = key in {"missing", "on_missing"} and is_left_to_child(older)
    if locate(older, path) is not None or (locate(older, ("data", "columns")) and not leaves_it):
        return Refusal()
    if leaves_it:
        return None
    if key == "on_missing" and new == "drop":
        return _refusal("leaves out people with missing cells", f"say on_missing: keep; or, {CHILD}")
    if key == "missing":
        return _refused_marks(new, is_dropping=locate(older, ("data", "on_missing")) == "drop")
    if key == "csv" and dict_or_empty(new).get("quote") not in {None, '"'}:
        return _refusal('has a quote other than ", which can make one row of several', f"leave it out, or {PARENT}")
    if key == "source":
        return _refused_source(new, plugins)
    return None


def is_left_to_child(older: Mapping[str, Any]) -> bool:
    """Does the policy leave it to those that extend it which rows with missing cells are left out?"""
    return bool(locate(older, ("data", "reading")) == "child")


def _refused_marks(marks: Any, *, is_dropping: bool) -> Refusal | None:
    if is_dropping:
        return _refusal(
            "decides who is left out for missing cells", f"{PARENT}; or, there, say data: {{reading: child}}"
        )
    if any(str(mark).strip() not in MISSING_WORDS for mark in (marks if isinstance(marks, list) else [])):
        words = ", ".join(sorted(filter(None, MISSING_WORDS)))
        return _refusal(
            "takes for missing what may be a value",
            f"name the empty cell and {words} alone, and declare others as `values`; or, {CHILD}",
        )
    return None


def _refused_source(source: Any, plugins: Plugins) -> Refusal | None:
    name = source if isinstance(source, str) else str(dict_or_empty(source).get("use"))
    kind = plugins.component(name)
    neutral = kind.keeps_rows if kind is not None and issubclass(kind, DataSource) else frozenset[str]()
    chosen = sorted(set(dict_or_empty(source)) - {"use"} - neutral)
    if chosen:
        return _refusal(f"may read some of the rows alone ({', '.join(chosen)})", f"leave this out, or {PARENT}")
    return None


def refused_texts(
    older: Mapping[str, Any], newer: Mapping[str, Any], spec: Mapping[str, Any]
) -> Iterator[tuple[str, Kind, Refusal]]:
    """Yield what a column that the newer policy alone lists may not say of the texts in the file, with its option.

    Of `aliases` that is the first one that may rename somebody. Nobody is judged whose secret is one of `no_answer`, so
    that these must be marks of missing cells, and no values.
    """
    marks = spec.get("no_answer") or []
    listed = locate(newer, ("data", "missing"))
    missing = {*map(str, listed if isinstance(listed, list) else [""]), *map(str, marks)}
    for text, value in dict_or_empty(spec.get("aliases")).items():
        if refusal := _refused_alias(str(text), str(value), spec, missing, left_to_child=is_left_to_child(older)):
            yield "aliases", "different", refusal
            break
    values = {*map(str, spec.get("values") or ())}
    are_marks = all(str(mark).strip() in MISSING_WORDS and str(mark) not in values for mark in marks)
    if not are_marks and not is_left_to_child(older):
        hint = f"list the column, and {PARENT}; or, {CHILD}"
        yield "no_answer", "looser", _refusal("leaves people with a value unjudged", hint)


def _refused_alias(
    text: str, value: str, spec: Mapping[str, Any], missing: Collection[str], *, left_to_child: bool
) -> Refusal | None:
    is_mark = text.strip() in {*MISSING_WORDS, *missing}
    if value in missing and not is_mark and not left_to_child:
        return _refusal("makes missing cells of values", f"declare them as `values`; or, {CHILD}")
    if similar_form(text) and similar_form(text) == similar_form(value):
        return None
    if math.isfinite(parse_number(text)) and math.isfinite(parse_number(value)):
        return _refusal("makes another number of a number", f"leave it out, or list the column, and {PARENT}")
    if is_mark and value not in missing and not {"class", "sensitive"} & roles_of(spec):
        return _refusal("makes values of missing cells", "name the text under `data.missing`, and say on_missing: keep")
    return None


PUBLISHED = "published"
"""The builder of releases that are read from a file: their trees may tell apart what aliases make one value."""


def file_checks(older: Mapping[str, Any], newer: Mapping[str, Any]) -> frozenset[DocumentPath]:
    """Return the options that the newer policy states beyond the older one, and each file must bear out.

    These are COMMENT, of which no line may be as wide as the table, and the aliases of columns that the adversary does
    not know, or that a published file may tell apart, of which none may make one value of two that occur.
    """
    paths: set[DocumentPath] = set()
    of_file = locate(newer, ("build", "use")) == PUBLISHED
    if locate(newer, COMMENT) != locate(older, COMMENT):
        paths.add(COMMENT)
    for name, spec in dict_or_empty(locate(newer, ("data", "columns"))).items():
        path: DocumentPath = ("data", "columns", name, "aliases")
        if locate(newer, path) != locate(older, path) and (of_file or "quasi_identifier" not in roles_of(spec)):
            paths.add(path)
    return frozenset(paths)


def roles_of(spec: Any) -> set[str]:
    """Return the roles of a column as a policy's document has them."""
    role = dict_or_empty(spec).get("role")
    return {role} if isinstance(role, str) else {str(each) for each in role} if isinstance(role, list) else set()
