"""PMML documents of trees, as the standard says that they predict: shares of classes, or numbers.

Source: DMG, PMML 4.4, TreeModel ("Evaluation of the model"), MultipleModels (Segmentation), Targets. A document is an
element: a table of its name, attributes, text and children.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from evaluators.answers import MAX_DEPTH, Answers, Columns, NoModelError, Question, Questions

Document = dict[str, Any]
Values = Mapping[str, float | None]
PRECISIONS = {"float": np.float32, "double": np.float64, "integer": np.float64}
COMPARISONS = {
    "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b,
    "greaterThan": lambda a, b: a > b,
    "greaterOrEqual": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
}
PREDICATES = {"True", "False", "SimplePredicate", "CompoundPredicate", "SimpleSetPredicate"}
IGNORED = {"MiningSchema", "Output", "Extension", "LocalTransformations"}


def parse(content: bytes) -> Document:
    """The document in a file's bytes."""
    return _table(ElementTree.fromstring(content))


def _table(element: ElementTree.Element) -> Document:
    children = [_table(each) for each in element]
    return {"tag": element.tag, "attributes": dict(element.attrib), "text": element.text or "", "children": children}


def dump(document: Document) -> bytes:
    """The bytes of a document."""
    return bytes(ElementTree.tostring(_element(document)))


def _element(document: Document) -> ElementTree.Element:
    attributes = {key: str(value) for key, value in document.get("attributes", {}).items()}
    element = ElementTree.Element(document.get("tag", "None"), attributes)
    element.text = document.get("text", "")
    element.extend([_element(each) for each in document.get("children", ())])
    return element


def _name(document: Document) -> str:
    return str(document["tag"]).rpartition("}")[2]


def _found(document: Document, *names: str) -> list[Document]:
    return [each for each in document["children"] if _name(each) in names]


def _only(document: Document, *names: str) -> Document:
    found = _found(document, *names)
    if len(found) != 1:
        raise NoModelError(f"no {names[0]}, or several")
    return found[0]


class _Evaluation:
    """The evaluation of one row: its cells in the precision of their fields."""

    def __init__(self, precisions: Mapping[str, Any], cells: Values, how: str, no_child: str) -> None:
        self.precisions, self.cells, self.how, self.no_child = precisions, cells, how, no_child

    def holds(self, predicate: Document) -> bool | None:
        """True, false, or None for unknown."""
        kind = _name(predicate)
        if kind in {"True", "False"}:
            return kind == "True"
        if kind == "CompoundPredicate":
            return self._compound(predicate)
        attributes = predicate["attributes"]
        if kind != "SimplePredicate" or attributes.get("field") not in self.cells:
            raise NoModelError("a predicate of another kind, or of no field")
        cell, operator = self.cells[attributes["field"]], attributes["operator"]
        if operator in {"isMissing", "isNotMissing"}:
            return bool((cell is None) == (operator == "isMissing"))
        if operator not in COMPARISONS:
            raise NoModelError("no such operator")
        value = self.precisions[attributes["field"]](attributes["value"])
        if cell is None:
            return False if self.how == "none" else None
        return bool(COMPARISONS[operator](self.precisions[attributes["field"]](cell), value))

    def _compound(self, predicate: Document) -> bool | None:
        operator = predicate["attributes"]["booleanOperator"]
        answers = [self.holds(each) for each in _found(predicate, *PREDICATES)]
        if operator == "surrogate":
            found: bool | None = next((each for each in answers if each is not None), None)
            return False if found is None and self.how == "none" else found
        if operator not in {"and", "or"}:
            raise NoModelError("no such operator")
        decided = bool(operator == "or")
        if decided in answers:
            return decided
        return None if None in answers else not decided

    def node(self, node: Document) -> Document | None:
        """The node that says what is predicted; None where nothing is."""
        for _ in range(MAX_DEPTH):
            below = _found(node, "Node")
            if not below:
                return node
            taken = None
            for child in below:
                answer = self.holds(_only(child, *PREDICATES))
                if answer is None and self.how == "defaultChild":
                    named = [
                        each for each in below if each["attributes"].get("id") == node["attributes"]["defaultChild"]
                    ]
                    taken = named[0] if named else None
                    if taken is None:
                        return None
                    break
                if answer is None:
                    return node if self.how == "lastPrediction" else None
                if answer:
                    taken = child
                    break
            if taken is None:
                return node if self.no_child == "returnLastPrediction" else None
            node = taken
        raise NoModelError("too deep")


STRATEGIES = {"none", "nullPrediction", "defaultChild", "lastPrediction"}


def _tree(model: Document, precisions: Mapping[str, Any], rows: Sequence[Values], classes: list[str]) -> Any:
    """Of each row the shares of the classes and the score of its node, or its number."""
    how = model["attributes"].get("missingValueStrategy", "none")
    no_child = model["attributes"].get("noTrueChildStrategy", "returnNullPrediction")
    if how not in STRATEGIES or no_child not in {"returnNullPrediction", "returnLastPrediction"}:
        raise NoModelError("no such strategy")
    root = _only(model, "Node")
    found: list[list[float]] = []
    labels: list[str] = []
    if classes and not _scores(root) <= set(classes):
        raise NoModelError("a score that is no class")
    for cells in rows:
        node = _Evaluation(precisions, cells, how, no_child).node(root)
        score = None if node is None else node["attributes"].get("score")
        if not classes:
            found.append([np.nan if score is None else float(score)])
            continue
        shares = [np.nan] * len(classes) if node is None else _shares(node, classes)
        found.append(shares)
        labels.append("" if node is None else score or classes[shares.index(max(shares))])
    return np.array(found, dtype=np.float64), labels


def _scores(node: Document) -> set[str]:
    """The scores of a node and of all below it."""
    own = {node["attributes"]["score"]} if "score" in node["attributes"] else set()
    return own.union(*(_scores(each) for each in _found(node, "Node")))


def _shares(node: Document, classes: list[str]) -> list[float]:
    said = {
        each["attributes"]["value"]: float(each["attributes"]["recordCount"])
        for each in _found(node, "ScoreDistribution")
    }
    if not set(said) <= set(classes) or sum(said.values()) <= 0 or min(said.values()) < 0:
        raise NoModelError("no shares of the classes")
    return [said.get(name, 0.0) / sum(said.values()) for name in classes]


def _targets(model: Document) -> tuple[float, float]:
    """By what a number is multiplied, and what is added."""
    targets = [each for part in _found(model, "Targets") for each in _found(part, "Target")]
    if not targets:
        return 1.0, 0.0
    attributes = targets[0]["attributes"]
    if len(targets) > 1 or set(attributes) - {"field", "rescaleFactor", "rescaleConstant"}:
        raise NoModelError("targets of another kind")
    return float(attributes.get("rescaleFactor", 1)), float(attributes.get("rescaleConstant", 0))


def _schema(document: Document) -> tuple[Document, dict[str, Any], list[str]]:
    """The model, the precision of each field, and the classes."""
    model = _only(document, "TreeModel", "MiningModel")
    fields = {each["attributes"]["name"]: each for each in _found(_only(document, "DataDictionary"), "DataField")}
    schema = _found(_only(model, "MiningSchema"), "MiningField")
    (target,) = [e["attributes"]["name"] for e in schema if e["attributes"].get("usageType") in {"target", "predicted"}]
    if target not in fields:
        raise NoModelError("no target")
    classes = [each["attributes"]["value"] for each in _found(fields[target], "Value")]
    if len(set(classes)) < len(classes):
        raise NoModelError("a class twice")
    kind = model["attributes"]["functionName"]
    if kind not in {"classification", "regression"} or (kind == "classification") != bool(classes):
        raise NoModelError("no such function")
    precisions = {}
    for each in schema:
        name = each["attributes"]["name"]
        if name not in fields or set(each["attributes"]) - {"name", "usageType", "importance"}:
            raise NoModelError("a field that is replaced, or not there")
        if name != target:
            precisions[name] = PRECISIONS[fields[name]["attributes"]["dataType"]]
    return model, precisions, classes


def _casts(model: Document) -> dict[str, tuple[str, Any]]:
    """The fields that are others in another precision: of which, and in which."""
    found: list[tuple[str, str, Any]] = []
    waiting = [model]
    while waiting:
        each = waiting.pop()
        waiting += each["children"]
        if _name(each) == "DerivedField":
            (reference,) = _found(each, "FieldRef")
            attributes = each["attributes"]
            found.append((attributes["name"], reference["attributes"]["field"], PRECISIONS[attributes["dataType"]]))
    made = {alias for alias, _, _ in found}
    first = {alias: (name, precision) for alias, name, precision in found if name not in made}
    return {**first, **{alias: (name, precision) for alias, name, precision in found if name in first}}


def evaluate(document: Document, columns: Columns) -> Answers:
    """The shares of classes and the classes, or the numbers."""
    if _found(document, "TransformationDictionary"):
        raise NoModelError("derived fields")
    model, precisions, classes = _schema(document)
    names = [name for name in columns if name in precisions]
    rows: list[dict[str, float | None]] = [
        {name: None if cell is None else float(cell) for name, cell in zip(names, row, strict=True)}
        for row in zip(*(columns[name] for name in names), strict=True)
    ]
    for alias, (name, precision) in _casts(model).items():
        if name not in precisions or alias in precisions:
            raise NoModelError("a field of none")
        precisions[alias] = precision
        for row in rows:
            cell = row[name]
            row[alias] = None if cell is None else float(precisions[name](cell))
    if _name(model) == "TreeModel":
        scores, labels = _tree(model, precisions, rows, classes)
        size = np.nan_to_num(abs(scores)).sum(axis=1)
    else:
        segmentation = _only(model, "Segmentation")
        segments = _found(segmentation, "Segment")
        if any(_name(_only(each, *PREDICATES)) != "True" for each in segments):
            raise NoModelError("segments for some rows")
        found = [_tree(_only(each, "TreeModel"), precisions, rows, classes)[0] for each in segments]
        how = segmentation["attributes"]["multipleModelMethod"]
        if how not in {"sum", "average"} or (classes and how == "sum"):
            raise NoModelError("no such method")
        scores = np.sum(found, axis=0) / (len(found) if how == "average" else 1)
        size = np.nan_to_num(np.sum([abs(each).sum(axis=1) for each in found], axis=0))
        labels = [classes[i] for i in scores.argmax(axis=1)] if classes else []
    if classes:
        return Answers(
            scores=scores, size=np.ones(len(rows)), labels=tuple(labels), classes=tuple(classes), shares=scores
        )
    factor, constant = _targets(model)
    return Answers(scores=scores * factor + constant, size=size * abs(factor) + abs(constant))


def questions(document: Document) -> Questions:
    """What each test asks, by field."""
    model, precisions, _ = _schema(document)
    found = {name: Question(precision=np.float32) for name in precisions}
    fields = {name: name for name in found}
    for alias, (name, _) in _casts(model).items():
        fields[alias] = fields.get(name, name)
    waiting = [document]
    while waiting:
        each = waiting.pop()
        waiting += each["children"]
        attributes = each["attributes"]
        if (
            _name(each) == "SimplePredicate"
            and fields.get(attributes.get("field", "")) in found
            and "value" in attributes
        ):
            found[fields[attributes["field"]]].thresholds.add(float(np.float32(attributes["value"])))
    return found
