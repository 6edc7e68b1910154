"""Does a release file belong to this policy?"""

from __future__ import annotations

from pathlib import Path

from leafgate.errors import Problem, ReleaseError
from leafgate.release import Release
from leafgate.release_file import read_release
from leafgate.schema import Schema
from leafgate.tree import columns_asked


def read_fitting(path: Path, schema: Schema) -> Release:
    """The release in the file; ReleaseError when it cannot be read or speaks of other columns.

    Every column its trees ask about or its records show must be in the policy, with the same
    domain and known to the same people.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror}", place=path.name) from None
    release = read_release(content, path.name)
    problems = list(_misfits(release, schema, path.name))
    if problems:
        raise ReleaseError.listing(problems)
    return release


def _misfits(release: Release, schema: Schema, place: str) -> list[Problem]:
    named = set().union(*(columns_asked(tree) for tree in release.trees)) | {release.target}
    if release.records is not None:
        named |= set(release.records.columns)
    found = []
    for name in sorted(named):
        if name not in schema:
            found.append(Problem(place, f"the release uses {name!r}, which the policy does not have"))
        elif release.schema[name].values != schema[name].values:
            found.append(Problem(place, f"{name!r} has another domain in the release than in the policy"))
        elif release.schema[name].public != schema[name].public:
            found.append(Problem(place, f"{name!r} is a quasi_identifier in one of release and policy only"))
    return found
