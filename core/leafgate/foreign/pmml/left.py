"""What of a PMML document is not read, and what it tells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from leafgate.disclosed import PEOPLE, Disclosure, other_content, text_size
from leafgate.foreign.pmml.odd import odd, unused
from leafgate.foreign.pmml.xml import name_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MODEL = "modelName functionName algorithmName missingValueStrategy missingValuePenalty noTrueChildStrategy "
FIELD = "name optype dataType usageType outliers missingValueReplacement missingValueTreatment invalidValueTreatment"
OUTPUT = "name displayName optype dataType feature value targetField isFinalResult ruleFeature rank"
READ: Mapping[str, frozenset[str]] = {
    name: frozenset(attributes.split())
    for name, attributes in {
        "PMML": "version schemaLocation",
        "Header": "",
        "Application": "name version",
        "Timestamp": "",
        "DataDictionary": "numberOfFields",
        "DataField": FIELD + " isCyclic",
        "Value": "value property",
        "TransformationDictionary": "",
        "TreeModel": MODEL + "splitCharacteristic isScorable",
        "MiningModel": MODEL + "isScorable",
        "MiningSchema": "",
        "MiningField": FIELD,
        "Output": "",
        "OutputField": OUTPUT,
        "Segmentation": "multipleModelMethod missingPredictionTreatment missingThreshold",
        "Segment": "id weight",
        "Node": "id score recordCount defaultChild",
        "ScoreDistribution": "value recordCount probability",
        "True": "",
        "False": "",
        "SimplePredicate": "field operator value",
        "SimpleSetPredicate": "field booleanOperator",
        "CompoundPredicate": "booleanOperator",
        "Array": "n type",
    }.items()
}
"""The elements that are read, or say what a reader is to do, each with its attributes."""

NOT_READ = """
Annotation Anova AnovaRow Apply BinarySimilarity BlockIndicator ClassLabels Constant ContStats Counts DecisionTree
Decisions DefineFunction DerivedField DiscrStats Discretize EmbeddedModel Extension FieldColumnPair FieldRef
InlineTable LocalTransformations MapValues MiningBuildTask ModelExplanation ModelStats ModelVerification
MultivariateStats NormContinuous NormDiscrete NumericInfo ParameterField Partition PredictiveModelQuality Quantile
Regression TableLocator Targets Taxonomy TextIndex UnivariateStats VariableWeight VerificationFields row
"""
STANDARD = frozenset(NOT_READ.split())
"""Elements of the standard that no reader of trees needs; a report calls no others by name."""

TEXTS = {"Array", "Timestamp"}
MANY = 1.0


def left(root: Element, content: bytes, counted: bool, asked: Collection[str] = ()) -> list[Disclosure]:
    """What the document tells besides the model; `counted` where its nodes' people are disclosed already.

    `asked` are the fields that tests ask about, and the one that is predicted.
    """
    found = [] if counted or not _sized(root) else [SIZES]
    found += [EXTREMES] if any(name_of(each) == "Interval" for each in root.iter()) else []
    idle = unused(root, asked)
    says = f"the names of {idle} field(s) that the model does not use (DataField)"
    found += [Disclosure("column_names", "medium", says)] if idle else []
    return [*found, *other_content([*_unread(root), *_hidden(content), *odd(root, content, asked)])]


SIZES = Disclosure("sizes", "high", "how many people reach its nodes (recordCount)", "counts")
EXTREMES = Disclosure("extremes", "high", "the smallest and the largest number of a column (Interval)")


def _sized(root: Element) -> bool:
    """Does a node below another say how many people it has?"""
    below = (child for each in root.iter() if name_of(each) == "Node" for child in each if name_of(child) == "Node")
    return any(_more(child.get("recordCount", "0")) for child in below)


def _more(told: str) -> bool:
    try:
        return float(told) > MANY
    except ValueError:
        return True


def _unread(root: Element) -> Iterator[tuple[str, int]]:
    """Elements, attributes and texts that no reader looks at; of an element that none knows, all at once."""
    waiting = [root]
    while waiting:
        here = waiting.pop()
        name = name_of(here)
        if name not in READ:
            if name != "Interval":
                yield name if name in STANDARD else "an element that PMML does not have", PEOPLE
            continue
        for attribute in here.attrib:
            if attribute.rpartition("}")[2] not in READ[name]:
                yield f"{name}'s attribute that is not read", text_size(attribute)
        texts = [here.text if name not in TEXTS else None, *(child.tail for child in here)]
        yield from ((f"text in {name}", text_size(text)) for text in texts if text and text.strip())
        waiting.extend(here)


def _hidden(content: bytes) -> Iterator[tuple[str, int]]:
    """Comments and instructions, which no parser keeps."""
    plain = content.replace(b"\0", b"")
    for sign, end, name in ((b"<!--", b"-->", "a comment"), (b"<?", b"?>", "an instruction")):
        for part in plain.split(sign)[1:]:
            if not part.startswith(b"xml "):
                yield name, text_size(part.partition(end)[0])
