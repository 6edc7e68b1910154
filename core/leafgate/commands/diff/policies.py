"""Two policies: what got tighter or looser, of what their files hold too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leafgate.api.registry import load_plugins
from leafgate.kernel.options import ABOUT_PEOPLE, UNREADABLE
from leafgate.kernel.paths import locate
from leafgate.policy.load import PartialPolicy, read_partial_policy
from leafgate.policy.strictness import PolicyChange, compare_policies


def changes_of(old: Path, new: Path, *, strict: bool = False) -> list[PolicyChange]:
    """Every change from the first policy to the second, of what files hold too.

    Where it is `strict`, what could not be compared is a change that is `different`.
    """
    plugins = load_plugins()
    before, after = (read_partial_policy(path, plugins) for path in (old, new))
    changes = [*compare_policies(before.written, after.written, plugins), *_of_contents(before, after, strict=strict)]
    if strict and (before.contents is None or after.contents is None):
        changes.append(PolicyChange("different", ("policy",), "what cannot be compared", "what cannot be compared"))
    return changes


def _of_contents(before: PartialPolicy, after: PartialPolicy, *, strict: bool) -> Iterator[PolicyChange]:
    """The files of the same name that hold something else; one that cannot be read does only where it is `strict`.

    The digests of files about people are not printed: a reader could test a guess on them.
    """
    named = {locate(before.written.document, path): path for path in before.contents or {}}
    for path, new in (after.contents or {}).items():
        was = named.get(locate(after.written.document, path))
        if was is None or before.contents is None:
            continue
        old = before.contents[was]
        is_unread = strict and old == UNREADABLE
        if (old == new and not is_unread) or ABOUT_PEOPLE + UNREADABLE in {old, new}:
            continue  # people who are in no commit, such as those of a worktree, are compared by name
        lines = before.written.nearest_line(was), after.written.nearest_line(path)
        if new.startswith(ABOUT_PEOPLE):
            yield PolicyChange("different", path, "people of one file", "those of another", *lines)
        else:
            yield PolicyChange("different", path, _words(old), _words(new), *lines)


def _words(content: str) -> str:
    return content if content == UNREADABLE else f"sha256 {content[:16]}"
