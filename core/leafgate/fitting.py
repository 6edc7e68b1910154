"""Does a release file belong to this policy?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leafgate.errors import Problem, ReleaseError
from leafgate.foreign.bounded_json import refuse_large
from leafgate.foreign.categories import without_declared
from leafgate.foreign.encoding import Encoding
from leafgate.foreign.reading import head_of, is_foreign, read_bounded, read_foreign
from leafgate.foreign.translating import release_of
from leafgate.release import Release
from leafgate.release_file import read_release
from leafgate.schema import Column, Schema

MAX_PARSED = 600 * 2**20
"""Bytes of memory that a release file may take once it is parsed, some 700,000 nodes. The estimate is about twice
the truth, so that what is parsed stays below 500 MB."""


def read_fitting(path: Path, schema: Schema, encoding: Mapping[str, Encoding] | None = None) -> Release:
    """The release in the file, or somebody else's model as one; ReleaseError when it cannot be read or does not fit.

    Every column it names must be in the policy, with the same domain and known to the same people, and its
    target must be the policy's class. `encoding` is what the policy says of a model's features.
    """
    if is_foreign(head_of(path)):
        content = read_bounded(path)
        model = without_declared(read_foreign(content, path.name), schema)
        return release_of(model, content, schema, encoding or {}, path.name)
    if encoding:
        raise ReleaseError("is no foreign model, so there is no `encoding` of it", place=path.name)
    content = read_bounded(path)
    refuse_large(content, path.name, MAX_PARSED)
    release = read_release(content, path.name)
    problems = list(_misfits(release, schema, path.name))
    if problems:
        raise ReleaseError.listing(problems)
    return release


def _domain(column: Column) -> tuple[object, ...]:
    return (column.values, column.bins, column.edges)


def _misfits(release: Release, schema: Schema, place: str) -> list[Problem]:
    found = []
    for name in sorted(column.name for column in release.schema.columns):
        if name not in schema:
            found.append(Problem(place, f"the release names {name!r}, which the policy does not have"))
        elif _domain(release.schema[name]) != _domain(schema[name]):
            found.append(Problem(place, f"{name!r} has another domain in the release than in the policy"))
        elif release.schema[name].public != schema[name].public:
            found.append(Problem(place, f"{name!r} is a quasi_identifier in one of release and policy only"))
    if release.schema.having("class") and release.target not in {column.name for column in schema.having("class")}:
        found.append(Problem(place, f"the release predicts {release.target!r}, the policy's class is another"))
    return found
