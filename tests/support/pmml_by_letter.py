"""PMML tree models evaluated as the standard says it, element by element: slow, and nothing but the letter.

Source: DMG, PMML 4.4, TreeModel: "Evaluation of the model", missingValueStrategy, noTrueChildStrategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

Cells = Mapping[str, float | str | None]
COMPARE = {
    "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b,
    "greaterThan": lambda a, b: a > b,
    "greaterOrEqual": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
}


def holds(element: Element, cells: Cells, how: str) -> bool | None:
    """True, false, or None for unknown."""
    if element.tag in {"True", "False"}:
        return element.tag == "True"
    if element.tag == "CompoundPredicate":
        return compound(element, cells, how)
    cell = cells[element.attrib["field"]]
    operator = element.get("operator", "")
    if operator in {"isMissing", "isNotMissing"}:
        return (cell is None) == (operator == "isMissing")
    if cell is None:
        return False if how == "none" else None
    if element.tag == "SimpleSetPredicate":
        members = (element.find("Array").text or "").split()  # type: ignore[union-attr]
        return (cell in members) == (element.attrib["booleanOperator"] == "isIn")
    value = element.attrib["value"]
    return bool(COMPARE[operator](cell, float(value) if isinstance(cell, float) else value))


def compound(element: Element, cells: Cells, how: str) -> bool | None:
    operator = element.attrib["booleanOperator"]
    if operator == "surrogate":
        found = next((each for each in (holds(part, cells, "") for part in element) if each is not None), None)
        return False if found is None and how == "none" else found
    answers = [holds(part, cells, how) for part in element]
    if operator == "xor":
        return None if None in answers else sum(map(bool, answers)) % 2 == 1
    decided = operator == "or"
    return decided if decided in answers else None if None in answers else not decided


def evaluate(model: Element, cells: Cells) -> str | None:
    """The score of one row; None for no prediction."""
    how = model.get("missingValueStrategy", "none")
    here = model.find("Node")
    assert here is not None
    while True:
        below = here.findall("Node")
        if not below:
            return here.get("score")
        taken = None
        for child in below:
            answer = holds(child[0], cells, how)
            if answer is None:
                if how == "lastPrediction":
                    return here.get("score")
                if how == "nullPrediction":
                    return None
                assert how == "defaultChild"
                taken = next((each for each in below if each.get("id") == here.get("defaultChild")), None)
                if taken is None:
                    return None
                break
            if answer:
                taken = child
                break
        if taken is None:
            return here.get("score") if model.get("noTrueChildStrategy") == "returnLastPrediction" else None
        here = taken
