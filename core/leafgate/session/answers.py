"""Values of a secret that may say that nothing is recorded: what a first policy proposes as `no_answer`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from leafgate.io.json import parse_number
from leafgate.kernel.schema import MISSING_WORDS

UNANSWERED = frozenset(
    {
        *("unknown", "not known", "unk", "unclear", "undetermined", "unspecified", "not specified", "not stated"),
        *("refused", "refusal", "declined", "declined to answer", "prefer not to say", "prefer not to answer"),
        *("no answer", "not answered", "no response", "nonresponse", "no data", "not asked", "not recorded"),
        *("dont know", "do not know", "dk", "missing", "not reported", "not available", "not tested", "untested"),
        *("unbekannt", "keine angabe", "weiss nicht", "inconnu", "desconocido", "no sabe", "sconosciuto", "onbekend"),
    }
)
"""Words for an answer that is not there, in lower case, without apostrophes."""
CODES = (9.0, 99.0, 999.0, 9999.0)
"""Numbers that code lists have for an answer that is not there, also with a minus; behind a gap, as 0, 1, 9."""


def unanswered_values(values: Collection[str]) -> list[str]:
    """Those of the values of a secret that may say that nothing is recorded, in order; never all of them.

    >>> unanswered_values(["no", "Don't know", "yes"]), unanswered_values(["0", "1", "9"])
    (["Don't know"], ['9'])
    >>> unanswered_values(["7", "8", "9"])
    []
    """
    found = [value for value in values if value.strip() in MISSING_WORDS or _words(value) in UNANSWERED]
    numbers = sorted({parse_number(value) for value in values if value not in found})
    if len(numbers) > 2 and all(map(math.isfinite, numbers)):
        chosen = set()
        if numbers[-1] in CODES and numbers[-1] - numbers[-2] > 1:
            chosen.add(numbers[-1])
        if -numbers[0] in CODES and numbers[1] - numbers[0] > 1:
            chosen.add(numbers[0])
        found = [value for value in values if value in found or parse_number(value) in chosen]
    return found if len(found) < len(values) else []


def proposed_answers(values: Sequence[str], classes: Collection[str], marks: Sequence[str] = ()) -> dict[str, Any]:
    """What a first policy says of a secret's values: `values`, and `no_answer` where some may be none.

    Values that may say that nothing is recorded stay values, and limits judge both the people with other values and
    everybody, until the owner decides. Where a model has as many classes without them, whoever has them has no class.

    Args:
        values: of the secret.
        classes: of the model that predicts it; none where there is no such model.
        marks: of missing cells that are in the column.
    """
    values = list(values)
    if marks and len(classes) == len(values) + len(marks):
        values, marks = sorted([*values, *marks]), []
    words, marks = unanswered_values(values), list(marks)
    if words and len(classes) == len(values) - len(words):
        values, marks, words = [value for value in values if value not in words], [*marks, *words], []
    no_answer = {"no_answer": [*words, *marks]} if words or marks else {}
    return {"values": values, **no_answer, **({"missing_is_value": True} if words else {})}


def _words(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", re.sub(r"['\u2019.]", "", text)).strip().casefold()
