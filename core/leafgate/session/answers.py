"""What a first policy says of values of a secret that may mean that nothing is recorded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from leafgate.kernel.answers import unanswered_values


def proposed_answers(values: Sequence[str], classes: Collection[str], marks: Sequence[str] = ()) -> dict[str, Any]:
    """What a first policy says of a secret's values: `values`, and `no_answer` where some may be none.

    Values that may mean that nothing is recorded stay values, and limits judge both the people with other values and
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
