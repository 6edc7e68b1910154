"""Does a release file belong to this policy?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from leafgate.disclosed import AuditedFile
from leafgate.errors import Problem, ReleaseError
from leafgate.foreign.categories import without_declared
from leafgate.foreign.encoding import Encoding
from leafgate.foreign.reading import HEAD, file_format, is_foreign, read_bounded, read_foreign
from leafgate.foreign.translating import release_of
from leafgate.release import Release
from leafgate.release_file import FORMAT, read_release
from leafgate.schema import Column, Schema


def read_fitting(path: Path, schema: Schema, encoding: Mapping[str, Encoding] | None = None) -> Release:
    """The release in the file, or somebody else's model as one; ReleaseError when it cannot be read or does not fit.

    The file is read once: its digest in `audited_file` is that of the bytes that became the release.
    Every column it names must be in the policy, with the same domain and known to the same people, and its
    target must be the policy's class. `encoding` is what the policy says of a model's features.
    """
    content = read_bounded(path)
    if is_foreign(content[:HEAD]):
        model = without_declared(read_foreign(content, path.name), schema)
        file = AuditedFile.of(path, file_format(content, model), content)
        return replace(release_of(model, content, schema, encoding or {}, path.name), audited_file=file)
    if encoding:
        raise ReleaseError("is no foreign model, so there is no `encoding` of it", place=path.name)
    release = replace(read_release(content, path.name), audited_file=AuditedFile.of(path, FORMAT, content))
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
