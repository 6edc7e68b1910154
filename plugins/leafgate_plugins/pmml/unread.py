"""Content of a PMML document that is not part of the model, or longer than the standard's words and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from leafgate.api import FileDisclosure
from leafgate.readers import MANY_NUMBERS, ContentField, ContentKind, UnreadTracker
from leafgate_plugins.pmml.xml import name_of, named

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


WORD = ContentField(ContentKind.TEXT, re.compile(r"[A-Za-z-]{0,30}"), words=True)
NUMBER = ContentField(ContentKind.TEXT, re.compile(r"[-+.\deE]{0,24}"), words=True)
SHORT_NAME = ContentField(ContentKind.TEXT, re.compile(r"[\w .:()/-]{0,60}"), words=True)
HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoosting"
LONG_ALGORITHMS = (f"{HISTOGRAMS}Classifier", f"{HISTOGRAMS}Regressor")
"""Names of algorithms that are longer than other names."""

ALGORITHM = ContentField(
    ContentKind.TEXT, re.compile(rf"[\w .:()/-]{{0,60}}|{'|'.join(map(re.escape, LONG_ALGORITHMS))}"), words=True
)
PLACES = ContentField(ContentKind.TEXT, re.compile(r"(https?://[\w./:-]{1,60}\s*){0,2}"), words=True)
TEXT = ContentField(ContentKind.TEXT, words=True)
"""A text of known words, or of a name that the reader accounts for."""

NAME = ContentField(ContentKind.TEXT)
"""A name of a column, a value or a class: what the reader needs and discloses as such."""

SCHEMA_LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
WORD_ATTRIBUTES = """
    functionName missingValueStrategy noTrueChildStrategy optype dataType usageType outliers missingValueTreatment
    invalidValueTreatment splitCharacteristic isScorable property feature multipleModelMethod missingPredictionTreatment
    booleanOperator operator type ruleFeature isFinalResult closure x-mathContext
"""
NUMBER_ATTRIBUTES = (
    "missingValuePenalty isCyclic numberOfFields missingThreshold weight n rank version rescaleConstant rescaleFactor"
)
ATTRIBUTES: Mapping[str, ContentField] = {
    **dict.fromkeys(WORD_ATTRIBUTES.split(), WORD),
    **dict.fromkeys(NUMBER_ATTRIBUTES.split(), NUMBER),
    **dict.fromkeys(("modelName", "displayName"), SHORT_NAME),
    "algorithmName": ALGORITHM,
    SCHEMA_LOCATION: PLACES,
}
"""Attributes that the reader ignores, or that are a choice among words; others are texts."""

NAMES = {
    ("DataField", "name"),
    ("FieldRef", "field"),
    ("MiningField", "name"),
    ("Value", "value"),
    ("SimplePredicate", "field"),
    ("SimplePredicate", "value"),
    ("SimpleSetPredicate", "field"),
    ("ScoreDistribution", "value"),
    ("Node", "score"),
    ("Target", "field"),
}
"""The attributes of elements that are names of columns, values or classes."""

SPECIAL: Mapping[tuple[str, str], ContentField] = {**dict.fromkeys(NAMES, NAME), ("Application", "version"): TEXT}
MODEL = "modelName functionName algorithmName missingValueStrategy missingValuePenalty noTrueChildStrategy "
FIELD = "name optype dataType usageType outliers missingValueReplacement missingValueTreatment invalidValueTreatment"
OUTPUT = "name displayName optype dataType feature value targetField isFinalResult ruleFeature rank"
ELEMENTS: Mapping[str, Mapping[str, ContentField]] = {
    name: {key: SPECIAL.get((name, key), ATTRIBUTES.get(key, TEXT)) for key in attributes.split()}
    for name, attributes in {
        "PMML": f"version schemaLocation {SCHEMA_LOCATION}",
        "Header": "",
        "Application": "name version",
        "Timestamp": "",
        "DataDictionary": "numberOfFields",
        "DataField": FIELD + " isCyclic",
        "Value": "value property",
        "Interval": "closure leftMargin rightMargin",
        "TransformationDictionary": "",
        "LocalTransformations": "",
        "DerivedField": "name optype dataType displayName",
        "FieldRef": "field",
        "TreeModel": MODEL + "splitCharacteristic isScorable x-mathContext",
        "MiningModel": MODEL + "isScorable x-mathContext",
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
        "Targets": "",
        "Target": "field rescaleConstant rescaleFactor",
    }.items()
}
"""The elements that are read, or say what a reader is to do, each with its attributes."""

NOT_READ = """
Annotation Anova AnovaRow Apply BinarySimilarity BlockIndicator ClassLabels Constant ContStats Counts DecisionTree
Decisions DefineFunction DiscrStats Discretize EmbeddedModel Extension FieldColumnPair InlineTable MapValues
MiningBuildTask ModelExplanation ModelStats ModelVerification MultivariateStats NormContinuous NormDiscrete NumericInfo
ParameterField Partition PredictiveModelQuality Quantile Regression TableLocator TargetValue Taxonomy TextIndex
UnivariateStats VariableWeight VerificationFields row
"""
STANDARD = frozenset(NOT_READ.split())
"""Elements of the standard that no reader of trees needs; a report calls no others by name."""

DATE = re.compile(r"[\d:T.+Z/ -]{4,40}|[A-Za-z]{3,9},? [A-Za-z]{3,9} [\d: ]{5,20}([A-Z]{2,5} )?\d{4}")
"""A time in digits, or as Java and C write it."""

WRITERS = """
angoss apache augustus by cart com converter dmg entity ibm jpmml knime learn library lightgbm micro microstrategy miner
modeler model node nyoka org package pmml pypmml python r random randomforest rapid rapidminer rattle regression rpart
sas scikit server sk skl sklearn sklearn2pmml softwareag spark sparkml spss statistica tibco weka xgboost zementis
"""
PROGRAMS = frozenset(WRITERS.split())
"""Words of the names of programs that write PMML, which reports may print."""

FORM_WORDS = """
{} probability({}) probability_{} Probability_{} confidence({}) Confidence_{} P({}) P_{} p_{} y_{}
proba_{} predicted_{} Predicted_{} predicted({}) prediction({})
"""
CASTS = ("double({})", "float({})", "double(float({}))", "float(double({}))")
"""Names that JPMML gives a field in another precision."""

FORMS = frozenset({*FORM_WORDS.split(), *CASTS})
"""Names of outputs of a class or a field."""

SPACES = re.compile(rb"""xmlns(:[\w.-]*)?\s*=\s*("[^"]*"|'[^']*')""")
SPACE = re.compile(
    rb".(http://www\.dmg\.org/PMML-\d_\d(_\d)?|http://www\.w3\.org/2001/XMLSchema(-instance)?"
    rb"|http://jpmml\.org/jpmml-model/InlineTable)."
)
PREFIX = 12
"""Signs of the longest prefix of a namespace, its colon among them."""

NUMBERED = re.compile(r"[A-Za-z_-]{0,8}(\d{1,15})")
"""Identifiers of nodes and segments."""


SIZES = FileDisclosure("sizes", "high", "how many people reach its nodes (recordCount)", "counts")
EXTREMES = FileDisclosure("extremes", "medium", "the smallest and the largest number of a column (Interval)")

TEXTS = {"Array", "Timestamp"}
"""Elements that hold a text."""

MANY = 1.0
"""A larger recordCount is of people; up to here it may be a share of them."""

LONG_OUTPUT = 150
"""Signs of all attributes of the longest OutputField."""


def unread_content(
    root: Element, content: bytes, counted: bool, asked: Collection[str] = ()
) -> tuple[list[FileDisclosure], frozenset[str]]:
    """What the document discloses besides the model, and its short texts.

    `counted` where the counts of its nodes are disclosed already; `asked` are the fields that tests ask about, and the
    one that is predicted.
    """
    found = [] if counted or not _has_sizes(root) else [SIZES]
    intervals = sum(name_of(each) == "Interval" for each in root.iter())
    if intervals:
        of_fields = sum(len(list(named(each, "Interval"))) for each in root.iter() if name_of(each) == "DataField")
        found.append(EXTREMES if intervals == of_fields else replace(EXTREMES, severity="high"))
    idle = _unused_fields(root, asked)
    says = f"the names of {idle} field(s) that the model does not use (DataField)"
    found += [FileDisclosure("column_names", "medium", says)] if idle else []
    tracker = UnreadTracker()
    _check_elements(tracker, root)
    _check_bytes(tracker, content)
    _check_fields(tracker, root)
    _check_ids(tracker, root)
    return [*found, *tracker.disclosures()], tracker.texts


def _check_elements(tracker: UnreadTracker, root: Element) -> None:
    """Check elements, their attributes and texts; of an element that none knows, nothing inside is looked at."""
    names = _names(root)
    waiting = [root]
    while waiting:
        here = waiting.pop()
        name = name_of(here)
        if name not in ELEMENTS:
            tracker.add(name if name in STANDARD else "an element that PMML does not have", MANY_NUMBERS)
            continue
        tracker.check_table(here.attrib, ELEMENTS[name], {}, name, names)
        for text in (here.text if name not in TEXTS else None, *(child.tail for child in here)):
            if text and text.strip():
                tracker.add_text(f"text in {name}", text)
        if name == "Timestamp":
            text = (here.text or "").strip()
            if DATE.fullmatch(text):
                tracker.keep(text)
            else:
                tracker.check_texts(name, [text], names)
        if name == "OutputField" and sum(map(len, here.attrib.values())) > LONG_OUTPUT:
            tracker.add_text("a long OutputField", *here.attrib.values())
        if name == "SimplePredicate" and here.get("operator") in {"isMissing", "isNotMissing"} and here.get("value"):
            tracker.add_text("a value that nothing is compared with", here.get("value", ""))
        classes = [each.get("value") for each in named(here, "ScoreDistribution")]
        if len(set(classes)) < len(classes):  # the last one of a class counts
            tracker.add("a ScoreDistribution that another replaces", len(classes) - len(set(classes)))
        waiting.extend(here)


def _names(root: Element) -> frozenset[str]:
    """What fields, values and classes are called, alone or within the name of an output, as `probability(yes)`."""
    keys = ("name", "value", "score")
    items = {each.get(key, "") for each in root.iter() for key in keys if (name_of(each), key) in NAMES}
    return frozenset({*(form.format(name) for form in FORMS for name in items), *LONG_ALGORITHMS})


def _check_bytes(tracker: UnreadTracker, content: bytes) -> None:
    """Check what no parser keeps: comments, instructions, and namespaces that are none of PMML's."""
    plain = content.replace(b"\0", b"")
    for sign, end, name in ((b"<!--", b"-->", "a comment"), (b"<?", b"?>", "an instruction")):
        for part in plain.split(sign)[1:]:
            if not part.startswith(b"xml "):
                tracker.add_text(name, part.partition(end)[0])
    for prefix, place in SPACES.findall(plain):
        if len(prefix) > PREFIX or not SPACE.fullmatch(place):
            tracker.add_text("a namespace that is none of PMML's", prefix + place)


def _unused_fields(root: Element, asked: Collection[str]) -> int:
    """How many fields are declared that no test asks about."""
    items = (field.get("name", "") for dictionary in named(root, "DataDictionary") for field in dictionary)
    return len({name for name in items if name and name not in asked})


def _check_fields(tracker: UnreadTracker, root: Element) -> None:
    """Check values that no valid cell has, and names of undeclared fields."""
    declared = set[str]()
    for dictionary in named(root, "DataDictionary"):
        for field in named(dictionary, "DataField"):
            declared.add(field.get("name", ""))
            values = [(v.get("value", ""), v.get("property", "valid")) for v in named(field, "Value")]
            invalid = [value for value, kind in values if kind != "valid" and (value, kind) != ("NaN", "missing")]
            if invalid:
                tracker.add_text("values that no cell may have", *invalid)
    declared |= {form.format(name) for form in CASTS for name in declared}
    for each in root.iter():
        if name_of(each) == "MiningField" and each.get("name", "") not in declared:
            tracker.add_text("a field that is not declared", each.get("name", ""))


def _check_ids(tracker: UnreadTracker, root: Element) -> None:
    """Check that ids of nodes and segments are running numbers, or those of a tree whose children are 2i and 2i+1."""
    nodes = [each for each in root.iter() if name_of(each) in {"Node", "Segment"}]
    most = 4 * len(nodes) + 16
    parents = {child: each for each in nodes for child in each}
    for each in nodes:
        own = each.get("id")
        if own is None or ((number := _number(own)) is not None and number <= most):
            continue
        parent = parents.get(each)
        halved = None if parent is None else _number(parent.get("id", ""))
        if number is None or halved is None or number // 2 != halved:
            tracker.add_text(f"a {name_of(each)}'s id", own)


def _number(text: str) -> int | None:
    found = NUMBERED.fullmatch(text)
    return None if found is None or not text.isascii() else int(found[1])


def _has_sizes(root: Element) -> bool:
    """Whether a node below another has a count of people."""
    below = (child for each in root.iter() if name_of(each) == "Node" for child in each if name_of(child) == "Node")
    return any(_is_many(child.get("recordCount", "0")) for child in below)


def _is_many(text: str) -> bool:
    try:
        return float(text) > MANY
    except ValueError:
        return True


DISCLOSURES = tuple(
    """
    how many people reach its nodes (recordCount)
    people of each class on its nodes (recordCount)
    shares of each class on its nodes
    the names of # field(s) that the model does not use (DataField)
    the smallest and the largest number of a column (Interval)
    """.replace("\n    ", "\n")
    .strip()
    .splitlines()
)
"""What disclosures of such files say, with `#` for each number."""
