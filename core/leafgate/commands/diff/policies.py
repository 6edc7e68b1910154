"""Two policies: what got tighter or looser, of what their files hold too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from leafgate.api.registry import load_plugins
from leafgate.io.json import canonical
from leafgate.kernel.options import ABOUT_PEOPLE, UNREADABLE
from leafgate.policy.load import NamedFile, read_partial_policy
from leafgate.policy.strictness import PolicyChange, compare_policies


def changes_of(old: Path, new: Path, *, strict: bool = False) -> list[PolicyChange]:
    """Every change from the first policy to the second, of what files hold too.

    Where it is `strict`, what could not be compared is a change that is `different`.
    """
    plugins = load_plugins()
    before, after = (read_partial_policy(path, plugins, strict=strict) for path in (old, new))
    changes = [*map(_of_content, compare_policies(before.written, after.written, plugins))]
    if strict and not (before.is_whole and after.is_whole):
        changes.append(PolicyChange("different", ("policy",), "what cannot be compared", "what cannot be compared"))
    return changes


def _of_content(change: PolicyChange) -> PolicyChange:
    """The change; where only what a file holds is another, that of this file.

    The digests of files about people are not printed: a reader could test a guess on them.
    """
    path, old, new = change.path, change.old, change.new
    if old is None or canonical(old) != canonical(new):
        return change
    while isinstance(old, list | dict):
        key = next(key for key in (old if isinstance(old, dict) else range(len(old))) if old[key] != new[key])
        path, old, new = (*path, key), old[key], new[key]
    if any((file.content or "").startswith(ABOUT_PEOPLE) for file in (old, new)):
        return replace(change, path=path, old="people of one file", new="those of another")
    return replace(change, path=path, old=_content(old), new=_content(new))


def _content(file: NamedFile) -> str:
    return UNREADABLE if file.content in (None, UNREADABLE) else f"sha256 {str(file.content)[:16]}"
