"""Content of a LightGBM file that is not part of the model: lines and values that LightGBM does not write."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from leafgate.readers import UnreadTracker, read_shape

NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d{1,3})?|inf|nan)")
SHAPE = read_shape("leafgate_plugins.lightgbm")
"""What LightGBM 3.3 to 4.7 write: the lines before the trees, those of a tree, and the settings after them."""

HEAD, TREE, SETTINGS = (SHAPE.tables[name] for name in ("head", "tree", "settings"))
PATHS = frozenset(key for key, field in SETTINGS.items() if field.pattern is None)
"""Settings that hold the path of a file, or names of machines."""

MAX_LIST = 10
"""Values of the longest list of a setting that has none for each feature."""


def unread_content(text: str, features: Collection[str]) -> UnreadTracker:
    """What the file holds besides the trees and what the reader discloses of it."""
    tracker = UnreadTracker()
    trees, _, rest = text.replace("\r\n", "\n").partition("\nend of trees")
    head, *each = re.split(r"^(?=Tree=\d+$)", trees, flags=re.MULTILINE)
    limits = {"features": len(features), "trees": len(each)}
    for line in filter(None, head.split("\n")):
        tracker.check_line("a line before the trees", line, HEAD, limits)
    for number, tree in enumerate(each):
        first, *lines = filter(None, tree.split("\n"))
        if first != f"Tree={number}":
            tracker.add_text("a tree's number", first)
        limits = _limits(lines)
        for line in lines:
            tracker.check_line("a line among a tree's", line, TREE, limits)
    _check_rest(tracker, rest, features)
    return tracker


def _limits(lines: Sequence[str]) -> dict[str, int]:
    """How many numbers of each kind a tree may have."""
    document = {key: value for key, sign, value in (line.partition("=") for line in lines) if sign}
    leaves = len(document.get("leaf_value", "").split())
    kinds = document.get("decision_type", "").split()
    sets = sum(kind.isdigit() and int(kind) % 2 for kind in kinds)
    ends = document.get("cat_boundaries", "").split() if sets else []
    words = int(ends[-1]) if ends and ends[-1].isdigit() else 0
    return {"inner": leaves - 1, "leaves": leaves, "sets": sets + 1 if sets else 0, "words": words}


def _check_rest(tracker: UnreadTracker, rest: str, features: Collection[str]) -> None:
    """Check the lines after the trees: importance of features, settings, and lists of categories at the end."""
    lines = rest.removesuffix("\n").split("\n")
    at = {line: i for i, line in reversed(list(enumerate(lines)))}
    begin, end = at.get("parameters:", len(lines)), at.get("end of parameters", len(lines))
    names = set(features)
    for i, line in enumerate(lines):
        categories = i == len(lines) - 1 and line.startswith("pandas_categorical:")
        if i < begin and not categories and not _is_importance(line, names):
            tracker.add_text("a line after the trees", line)
        elif begin < i < end and line:
            _check_setting(tracker, line, names)
        elif i > max(begin, end) and line and not categories:
            tracker.add_text("a line after the settings", line)


def _is_importance(line: str, names: Collection[str]) -> bool:
    """Whether a line says how often a feature is tested, or heads those that do."""
    name, _, number = line.rpartition("=")
    known = name in names and NUMBER.fullmatch(number) is not None and len(number) < 30
    return known or line in {"", "feature_importances:"}


def _check_setting(tracker: UnreadTracker, line: str, features: Collection[str]) -> None:
    """Check a setting of LightGBM, whose value has no more parts than settings have; the reader discloses paths."""
    inner = line.removeprefix("[").removesuffix("]")
    key, _, value = inner.partition(": ")
    if f"[{inner}]" != line or (key not in PATHS and value.count(",") >= max(len(features), MAX_LIST)):
        tracker.add_text("a line among the settings", line)
    elif tracker.check_line("a line among the settings", inner, SETTINGS, {}, ": "):
        tracker.check_texts("texts among the settings", value.split(","), features)
