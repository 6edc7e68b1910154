"""Content of a PMML document that is not part of the model, or longer than the standard's words and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from leafgate.models.exposure.unread import PEOPLE, other_content, text_size, unread_texts
from leafgate.models.readers.pmml.xml import name_of, named
from leafgate.types.release import FileDisclosure

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


WORD, NUMBER, NAME = re.compile(r"[A-Za-z-]{0,30}"), re.compile(r"[-+.\deE]{0,24}"), re.compile(r"[\w .:()/-]{0,60}")
PLACES = re.compile(r"(https?://[\w./:-]{1,60}\s*){0,2}")
WORDS = """
    functionName missingValueStrategy noTrueChildStrategy optype dataType usageType outliers missingValueTreatment
    invalidValueTreatment splitCharacteristic isScorable property feature multipleModelMethod missingPredictionTreatment
    booleanOperator operator type ruleFeature isFinalResult
"""
NUMBERS = "missingValuePenalty isCyclic numberOfFields missingThreshold weight n rank version"
KINDS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(WORDS.split(), WORD),
    **dict.fromkeys(NUMBERS.split(), NUMBER),
    **dict.fromkeys(("modelName", "algorithmName", "displayName"), NAME),
    "schemaLocation": PLACES,
}
"""Attributes that the reader ignores, or that are a choice among words, each with its pattern."""

WRITTEN = """
absent active aggregate algorithm all allow am analytics and apache apr april array as asis association aug august
augustus auto average bagging binary boolean boosting by c cart categorical cest cet chaid child class classification
classifier code com compound confidence continuous converter count cpp current data date dec december decision default
defaultchild defaults dev dmg double e edt ensemble entity equal error est estimator exception extension extreme false
feature feb february field final float forest frame fri friday from function functions gb gbm generator gini gmt
gradient gradientboosting greater greaterorequal greaterthan hist http https ibm id in input int integer interval
invalid invalids is isin ismissing isnotin isnotmissing isolation j jan january java jpmml jul july jun june k kind
knime last lastprediction leaf learn learner less lessorequal lessthan lgbm library lightgbm linear log logistic
majority majorityvote map mar march max may mean median micro microstrategy min mine miner mining missing model
modelchain modeler mon monday multi n name no node none not notequal nov november null nullprediction number numeric
nyoka object oct october of one operator or ordinal org original out outlier outliers output outputs p package party
pdt pipeline pm pmml post pred predict predicted prediction predictions predictor prob proba probabilities probability
property pst py pypmml python quantile r random randomforest rank rapid rapidminer rattle raw rc real reason reg
regression regressor regular residual result return returninvalid returnlastprediction returnnullprediction rf root
rpart rule s sas sat saturday schema sci scikit scorable score segment select selectall selectfirst sep september
server simple single sk skl sklearn snapshot software softwareag spark sparkml split splits spss statistica statistics
status string studio sum sun sunday supplementary surrogate t target test than the threshold thu thursday tibco time
to transformed tree treemodel trees true tue tuesday type tz uci unknown user utc v valid value values version vote w
waikato warning wed wednesday weighted weightedaverage weightedconfidence weightedmajorityvote weka www x xgb xgboost
xml xmlschema xor xsd xsi y z zementis
"""
TEXT_WORDS = frozenset(WRITTEN.split())
"""Words of the standard, of dates, of programs that write PMML, and of what these call models and outputs."""

NAMED = {
    "Application": "the program's name",
    "Timestamp": "the time",
    "OutputField": "names of output fields",
    "TreeModel": "the model's name",
    "MiningModel": "the model's name",
}
"""How reports name texts of these elements."""

FREE = {("DataField", "name"), ("MiningField", "name"), ("Value", "value"), ("SimplePredicate", "field")}
FREE |= {
    ("SimplePredicate", "value"),
    ("SimpleSetPredicate", "field"),
    ("ScoreDistribution", "value"),
    ("Node", "score"),
}
"""Names of columns, values and classes: what the reader needs and discloses as such."""

FORMS = [
    "{}",
    "probability({})",
    "probability_{}",
    "Probability_{}",
    "confidence({})",
    "Confidence_{}",
    "P({})",
    "P_{}",
    "p_{}",
    "y_{}",
]
FORMS += ["proba_{}", "predicted_{}", "Predicted_{}", "predicted({})", "prediction({})"]
"""Names of outputs of a class or a field."""

SPACES = re.compile(rb"""xmlns(:[\w.-]*)?\s*=\s*("[^"]*"|'[^']*')""")
SPACE = re.compile(rb".(http://www\.dmg\.org/PMML-\d_\d(_\d)?|http://www\.w3\.org/2001/XMLSchema(-instance)?).")
PREFIX = 12
"""Signs of the longest prefix of a namespace, its colon among them."""

NUMBERED = re.compile(r"[A-Za-z_-]{0,8}(\d{1,15})")
"""Identifiers of nodes and segments."""


def anomalies(root: Element, content: bytes, asked: Collection[str]) -> Iterator[tuple[str, int]]:
    """Texts that are too long, values of fields that no test uses, and repeated entries."""
    names = _names(root)
    for each in root.iter():
        name = name_of(each)
        for key, value in each.attrib.items():
            kind = KINDS.get(key.rpartition("}")[2])
            if kind is not None and not kind.fullmatch(value) and (name, key) != ("Application", "version"):
                yield f"an attribute `{key.rpartition('}')[2]}`", text_size(value)
        if name in {"Node", "Segmentation"}:
            yield from _twice(each)
        if name == "SimplePredicate" and each.get("operator") in {"isMissing", "isNotMissing"} and each.get("value"):
            yield "a value that nothing is compared with", text_size(each.get("value", ""))
        texts = [value for key, value in each.attrib.items() if (name, key) not in FREE]
        texts += [(each.text or "").strip()] if name == "Timestamp" else []
        yield from unread_texts(NAMED.get(name, "texts of attributes"), texts, TEXT_WORDS, names)
    yield from _numbers_of_nodes(root)
    yield from _fields(root, asked)
    plain = content.replace(b"\0", b"")
    for prefix, place in SPACES.findall(plain):
        if len(prefix) > PREFIX or not SPACE.fullmatch(place):
            yield "a namespace that is none of PMML's", text_size(prefix + place)


def _names(root: Element) -> frozenset[str]:
    """What fields, values and classes are called, alone or within the name of an output, as `probability(yes)`."""
    items = {
        each.get(key, "") for each in root.iter() for key in ("name", "value", "score") if (name_of(each), key) in FREE
    }
    return frozenset(form.format(name) for form in FORMS for name in items)


def unused(root: Element, asked: Collection[str]) -> int:
    """How many fields are declared that no test asks about."""
    items = (field.get("name", "") for dictionary in named(root, "DataDictionary") for field in dictionary)
    return len({name for name in items if name and name not in asked})


def _fields(root: Element, asked: Collection[str]) -> Iterator[tuple[str, int]]:
    """Values of fields that are not asked about, or that no valid cell has, and names of fields there are not."""
    there = set[str]()
    for dictionary in named(root, "DataDictionary"):
        for field in named(dictionary, "DataField"):
            there.add(field.get("name", ""))
            idle = field.get("name") not in asked
            values = [v for v in named(field, "Value") if idle or v.get("property", "valid") != "valid"]
            if values:
                yield (
                    "values of a field that no test asks about",
                    text_size(*(value.get("value", "") for value in values)),
                )
    for each in root.iter():
        name = each.get("name", "")
        if name_of(each) == "MiningField" and name not in there:
            yield "a field that is not declared", text_size(name)
        if name_of(each) == "OutputField" and _signs(each) > 150:
            yield "a long OutputField", text_size(*each.attrib.values())


def _signs(element: Element) -> int:
    return sum(len(value) for value in element.attrib.values())


def _twice(element: Element) -> Iterator[tuple[str, int]]:
    """Distributions of one class that stand twice at a node: the last one counts."""
    items = [each.get("value") for each in named(element, "ScoreDistribution")]
    if len(set(items)) < len(items):
        yield "a ScoreDistribution that another replaces", len(items) - len(set(items))


def _numbers_of_nodes(root: Element) -> Iterator[tuple[str, int]]:
    """Names of nodes and segments that are no running numbers, nor those of a tree whose children are 2i and 2i+1."""
    nodes = [each for each in root.iter() if name_of(each) in {"Node", "Segment"}]
    most = 4 * len(nodes) + 16
    above = {child: each for each in nodes for child in each}
    for each in nodes:
        result = each.get("id")
        if result is None or ((number := _number(result)) is not None and number <= most):
            continue
        parent = above.get(each)
        halved = None if parent is None else _number(parent.get("id", ""))
        if number is None or halved is None or number // 2 != halved:
            yield f"a {name_of(each)}'s id", text_size(result)


def _number(text: str) -> int | None:
    found = NUMBERED.fullmatch(text)
    return None if found is None or not text.isascii() else int(found[1])


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


def unread_content(root: Element, content: bytes, counted: bool, asked: Collection[str] = ()) -> list[FileDisclosure]:
    """What the document discloses besides the model; `counted` where the counts of its nodes are disclosed already.

    `asked` are the fields that tests ask about, and the one that is predicted.
    """
    found = [] if counted or not _sized(root) else [SIZES]
    found += [EXTREMES] if any(name_of(each) == "Interval" for each in root.iter()) else []
    idle = unused(root, asked)
    says = f"the names of {idle} field(s) that the model does not use (DataField)"
    found += [FileDisclosure("column_names", "medium", says)] if idle else []
    return [*found, *other_content([*_unread(root), *_hidden(content), *anomalies(root, content, asked)])]


SIZES = FileDisclosure("sizes", "high", "how many people reach its nodes (recordCount)", "counts")
EXTREMES = FileDisclosure("extremes", "high", "the smallest and the largest number of a column (Interval)")


def _sized(root: Element) -> bool:
    """Whether a node below another has a count of people."""
    below = (child for each in root.iter() if name_of(each) == "Node" for child in each if name_of(child) == "Node")
    return any(_more(child.get("recordCount", "0")) for child in below)


def _more(text: str) -> bool:
    try:
        return float(text) > MANY
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
