"""The points of a sweep as dots of a picture."""

from __future__ import annotations

from typing import Any

from leafgate.commands.sweep.words import near_end, setting_words, worst_finding
from leafgate.io.json import JsonObject
from leafgate.io.text import shorten
from leafgate.search.picture import Dot, picture

MAX_SHORT_LENGTH = 32


def sweep_picture(sweep: JsonObject) -> bytes:
    """The picture of a sweep: each point is named by its values.

    Across: protection; up: utility. Without a utility metric protection is drawn over the points in
    their order. Equal documents give equal bytes.
    """
    named = (sweep["protection"], sweep["utility"])
    if None in named:
        named = ("point", sweep["protection"] or sweep["utility"])
    dots, limits = [], (_limit(sweep, named[0]), _limit(sweep, named[1]))
    for i, point in enumerate(sweep["points"]):
        x = float(i + 1) if named[0] == "point" else _score(point, named[0])
        y = _score(point, named[1])
        if x is not None and y is not None:
            label = ", ".join(map(_short_words, point["values"].values()))
            dots.append(Dot(x, y, point["verdict"], label))
    return picture(dots, (str(named[0]), str(named[1])), limits)


def _short_words(value: Any) -> str:
    """The value of an option in few letters: of a mapping only its values."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    text = " ".join(map(_short_words, parts)) if isinstance(value, dict | list) and value else setting_words(value)
    return shorten(text, MAX_SHORT_LENGTH)


def _score(point: JsonObject, metric: str | None) -> float | None:
    finding = worst_finding(point["findings"], metric)
    return None if finding is None else near_end(finding["value"])


def _limit(sweep: JsonObject, metric: str | None) -> float | None:
    """The metric's limit, if it is the same at every point."""
    findings = [worst_finding(point["findings"], metric) for point in sweep["points"]]
    limits = {limit for f in findings if f is not None for key, limit in f["limit"].items() if key.startswith("at_")}
    return float(limits.pop()) if len(limits) == 1 else None
