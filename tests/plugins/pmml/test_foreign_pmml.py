"""PMML: the standard's own example, random trees against the letter of the standard, and files that are none."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_rows import predicted, votes
from installed_readers import lower_model, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.api import Branch, CategoricalSplit, Leaf, NumericSplit
from leafgate.readers import ModelIR
from leafgate_plugins.pmml.trees import MAX_ASKED, PmmlNode, Walk
from patience import ends_soon
from pmml_by_letter import Cells, evaluate
from random_tables import categorical, numeric, table_of
from refused_models import assert_refused

FIELDS = {"n": "double", "m": "double", "s": "string", "t": "string"}
VALUES = ("a", "b", "c", "d")
NUMBERS = (1.0, 2.0, 2.5, 3.0)


def document(model: str, fields: dict[str, str], classes: tuple[str, ...], more: str = "") -> bytes:
    """A whole file around one model; numbers are continuous, texts have no declared values."""
    text = "".join(
        f'<DataField name="{name}" optype="{"categorical" if kind == "string" else "continuous"}" dataType="{kind}"/>'
        for name, kind in fields.items()
    )
    values = "".join(f'<Value value="{value}"/>' for value in classes)
    return (
        f'<?xml version="1.0"?><PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary>{text}'
        f'<DataField name="y" optype="categorical" dataType="string">{values}</DataField></DataDictionary>{more}{model}'
        "</PMML>"
    ).encode()


def schema_of(fields: dict[str, str]) -> str:
    text = "".join(f'<MiningField name="{name}"/>' for name in fields)
    return f'<MiningSchema>{text}<MiningField name="y" usageType="target"/></MiningSchema>'


def tree_model(nodes: str, fields: dict[str, str], **options: str) -> str:
    text = "".join(f' {name}="{value}"' for name, value in options.items())
    return f'<TreeModel functionName="classification"{text}>{schema_of(fields)}{nodes}</TreeModel>'


GOLF = """
<Node score="will play"><True/>
  <Node score="will play"><SimplePredicate field="outlook" operator="equal" value="sunny"/>
    <Node score="will play">
      <CompoundPredicate booleanOperator="and">
        <SimplePredicate field="temperature" operator="lessThan" value="90"/>
        <SimplePredicate field="temperature" operator="greaterThan" value="50"/>
      </CompoundPredicate>
      <Node score="will play"><SimplePredicate field="humidity" operator="lessThan" value="80"/></Node>
      <Node score="no play"><SimplePredicate field="humidity" operator="greaterOrEqual" value="80"/></Node>
    </Node>
    <Node score="no play">
      <CompoundPredicate booleanOperator="or">
        <SimplePredicate field="temperature" operator="greaterOrEqual" value="90"/>
        <SimplePredicate field="temperature" operator="lessOrEqual" value="50"/>
      </CompoundPredicate>
    </Node>
  </Node>
  <Node score="may play">
    <CompoundPredicate booleanOperator="or">
      <SimplePredicate field="outlook" operator="equal" value="overcast"/>
      <SimplePredicate field="outlook" operator="equal" value="rain"/>
    </CompoundPredicate>
    <Node score="may play">
      <CompoundPredicate booleanOperator="and">
        <SimplePredicate field="temperature" operator="greaterThan" value="60"/>
        <SimplePredicate field="temperature" operator="lessThan" value="100"/>
        <SimplePredicate field="outlook" operator="equal" value="overcast"/>
        <SimplePredicate field="humidity" operator="lessThan" value="70"/>
        <SimplePredicate field="windy" operator="equal" value="false"/>
      </CompoundPredicate>
    </Node>
    <Node score="no play">
      <CompoundPredicate booleanOperator="and">
        <SimplePredicate field="outlook" operator="equal" value="rain"/>
        <SimplePredicate field="humidity" operator="lessThan" value="70"/>
      </CompoundPredicate>
    </Node>
  </Node>
</Node>"""
GOLF_FIELDS = {"temperature": "double", "humidity": "double", "windy": "string", "outlook": "string"}
PLAY = ("will play", "no play", "may play")


@pytest.mark.parametrize("no_child", ["returnNullPrediction", "returnLastPrediction"])
def test_the_standards_example_plays_as_the_standard_says(no_child: str) -> None:
    model = tree_model(GOLF, GOLF_FIELDS, noTrueChildStrategy=no_child)
    read = read_foreign(document(model, GOLF_FIELDS, PLAY), "golf")
    columns = [
        numeric("temperature", "quasi_identifier", bounds=(0, 120)),
        numeric("humidity", "quasi_identifier", bounds=(0, 100)),
        categorical("windy", "quasi_identifier", values=("true", "false")),
        categorical("outlook", "quasi_identifier", values=("sunny", "overcast", "rain")),
        categorical("y", "class", "sensitive", values=PLAY),
    ]
    cells = itertools.product(
        (50.0, 50.5, 60.0, 61.0, 89.0, 90.0, 100.0),
        (69.0, 70.0, 79.0, 80.0),
        ("true", "false"),
        columns[3].values or (),
    )
    table = table_of(columns, [(*row, "no play") for row in cells])
    release = lower_model(read, table.schema, {}, "golf").release
    inside = fromstring(model)
    rows = table.frame.drop(columns="y").to_dict("records")
    expected = [evaluate(inside, {str(k): v for k, v in row.items()}) for row in rows]
    order = table.schema.classes
    assert [None if i < 0 else order[i] for i in predict(release, table)] == expected
    assert set(expected) == ({"will play", "no play", "may play"} | ({None} if "Null" in no_child else set()))


@st.composite
def predicates(draw: st.DrawFn, depth: int = 2) -> Element:
    kind = draw(st.integers(0, 9 if depth else 6))
    if kind >= 7:
        how = draw(st.sampled_from(["and", "or", "xor", "surrogate"]))
        result = Element("CompoundPredicate", booleanOperator=how)
        result.extend([draw(predicates(depth - 1)) for _ in range(draw(st.integers(2, 3)))])
        return result
    if kind == 0:
        return Element(draw(st.sampled_from(["True", "False"])))
    if kind == 1:
        operator = draw(st.sampled_from(["isMissing", "isNotMissing"]))
        return Element("SimplePredicate", field=draw(st.sampled_from(list(FIELDS))), operator=operator)
    if kind <= 3:
        operator = draw(st.sampled_from(["lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"]))
        number = str(draw(st.sampled_from(NUMBERS)))
        return Element("SimplePredicate", field=draw(st.sampled_from(["n", "m"])), operator=operator, value=number)
    field = draw(st.sampled_from(["s", "t"]))
    if kind == 4:
        operator = draw(st.sampled_from(["equal", "notEqual"]))
        return Element("SimplePredicate", field=field, operator=operator, value=draw(st.sampled_from(VALUES)))
    result = Element("SimpleSetPredicate", field=field, booleanOperator=draw(st.sampled_from(["isIn", "isNotIn"])))
    array = SubElement(result, "Array", type="string")
    array.text = " ".join(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True)))
    return result


@st.composite
def nodes(draw: st.DrawFn, name: str = "0", depth: int = 3) -> Element:
    result = Element("Node", id=name, score=draw(st.sampled_from(["p", "q", "r"])))
    result.append(draw(predicates()) if name != "0" else Element("True"))
    many = draw(st.integers(1, 3)) if depth and draw(st.integers(0, 3)) else 0
    below: list[str] = [f"{name}.{i}" for i in range(many)]
    result.extend([draw(nodes(child, depth - 1)) for child in below])
    if below and draw(st.sampled_from([True, False])):
        result.set("defaultChild", draw(st.sampled_from(below)))
    return result


def coded(cells: Cells) -> list[float]:
    """A row for the neutral tree, texts as their positions."""
    return [
        np.nan if cell is None else VALUES.index(cell) if isinstance(cell, str) else cell for cell in cells.values()
    ]


def with_codes(model: ModelIR) -> ModelIR:
    """The model with categories as numbers, so that rows can be."""
    for tree in model.trees:
        for node, chosen in tree.subsets.items():
            tree.subsets[node] = frozenset(float(VALUES.index(str(value))) for value in chosen)  # type: ignore[index]
    return model


CELLS = [
    dict(zip(FIELDS, row, strict=True))
    for row in itertools.product(
        (0.5, 1.0, 2.0, 2.2, 3.0, 9.0, None), (1.5, 2.5, None), (*VALUES, None), ("a", "d", None)
    )
]


@given(
    nodes(),
    st.sampled_from(["none", "lastPrediction", "nullPrediction", "defaultChild"]),
    st.sampled_from(["returnNullPrediction", "returnLastPrediction"]),
)
def test_every_row_gets_what_the_standard_gives_it(root: Element, missing: str, no_child: str) -> None:
    options = {"missingValueStrategy": missing, "noTrueChildStrategy": no_child}
    model = tree_model(tostring(root).decode(), FIELDS, **options)
    read = with_codes(read_foreign(document(model, FIELDS, ("p", "q", "r")), "model"))
    inside = fromstring(model)
    places = [list(FIELDS).index(name) for name in read.features]
    rows = np.array([coded(cells) for cells in CELLS], dtype=float)[:, places]
    expected = [evaluate(inside, cells) for cells in CELLS]
    order = (*read.classes, None)
    found = [order[i] for i in predicted(read, rows)]
    wrong = [(cells, mine, right) for cells, mine, right in zip(CELLS, found, expected, strict=True) if mine != right]
    assert not wrong, (wrong[:3], tostring(root).decode())


COUNTED = """
<Node score="low" recordCount="10"><True/>
  <ScoreDistribution value="low" recordCount="6"/><ScoreDistribution value="high" recordCount="4"/>
  <Node score="low" recordCount="6"><SimplePredicate field="age" operator="lessOrEqual" value="37.5"/>
    <ScoreDistribution value="low" recordCount="5"/><ScoreDistribution value="high" recordCount="1"/></Node>
  <Node score="high" recordCount="4"><SimplePredicate field="age" operator="greaterThan" value="37.5"/>
    <ScoreDistribution value="low" recordCount="1"/><ScoreDistribution value="high" recordCount="3"/></Node>
</Node>"""
AGE = {"age": "double"}


def test_counts_are_read_and_disclosed() -> None:
    model = read_foreign(document(tree_model(COUNTED, AGE), AGE, ("low", "high")), "model")
    assert (model.level, model.leaf_level, model.counted) == ("counts", "counts", "exact")
    columns = [numeric("age", "quasi_identifier", bounds=(0, 99)), categorical("y", "class", values=("low", "high"))]
    release = lower_model(model, table_of(columns, []).schema, {}, "model").release
    low, high = Leaf("low", {"low": 5, "high": 1}), Leaf("high", {"low": 1, "high": 3})
    assert release.trees == (NumericSplit("age", 37.5, low, high, "high"),)


def test_fractions_are_shares_and_no_counts() -> None:
    shares = COUNTED.replace('"5"', '"0.8"').replace('"1"', '"0.2"').replace('"3"', '"0.7"').replace('"6"', '"0.6"')
    model = read_foreign(document(tree_model(shares.replace('"4"', '"0.4"'), AGE), AGE, ("low", "high")), "model")
    assert model.level == "shares"


def test_counts_that_do_not_add_up_are_not_taken_for_people() -> None:
    strange = COUNTED.replace('value="high" recordCount="3"', 'value="high" recordCount="2"')
    model = read_foreign(document(tree_model(strange, AGE), AGE, ("low", "high")), "model")
    assert model.trees[0].counts is None
    assert model.level == "counts"


def test_sets_read_as_branches() -> None:
    nodes_told = """<Node score="p"><True/>
      <Node score="p"><SimpleSetPredicate field="s" booleanOperator="isIn"><Array type="string">"a b" c</Array>
        </SimpleSetPredicate></Node><Node score="q"><True/></Node></Node>"""
    fields = {"s": "string"}
    model = read_foreign(document(tree_model(nodes_told, fields), fields, ("p", "q")), "model")
    columns = [
        categorical("s", "quasi_identifier", values=("a b", "c", "d")),
        categorical("y", "class", values=("p", "q")),
    ]
    (tree,) = lower_model(model, table_of(columns, []).schema, {}, "model").release.trees
    assert isinstance(tree, CategoricalSplit)
    assert (tree.branches, tree.default) == ((Branch(("d",), Leaf("q")),), Leaf("p"))


def test_a_missing_value_that_is_replaced_goes_where_its_replacement_goes() -> None:
    model = tree_model(COUNTED, AGE).replace('name="age"/>', 'name="age" missingValueReplacement="40"/>', 1)
    read = read_foreign(document(model, AGE, ("low", "high")), "model")
    assert predicted(read, np.array([[np.nan], [40.0], [30.0]])).tolist() == [1, 1, 0]


def test_single_precision_is_the_data_dictionarys_to_say() -> None:
    model = tree_model(COUNTED.replace("37.5", "0.1"), {"age": "float"})
    (tree,) = read_foreign(document(model, {"age": "float"}, ("low", "high")), "model").trees
    assert tree.flag("float32")[0]
    assert tree.threshold[0] == np.float32(0.1)


def forest(how: str, *trees: str, more: str = "") -> bytes:
    segments = "".join(f"<Segment{more}><True/>{tree}</Segment>" for tree in trees)
    model = f'<Segmentation multipleModelMethod="{how}">{segments}</Segmentation>'
    text = f'<MiningModel functionName="classification">{schema_of(AGE)}{model}</MiningModel>'
    return document(text, AGE, ("low", "high"))


def test_several_trees_vote_or_are_averaged() -> None:
    other = COUNTED.replace("37.5", "50")
    trees = [tree_model(each, AGE) for each in (COUNTED, other, other)]
    rows = np.array([[30.0], [40.0], [60.0]])
    assert predicted(read_foreign(forest("majorityVote", *trees), "model"), rows).tolist() == [0, 0, 1]
    averaged = read_foreign(forest("average", *trees), "model")
    assert averaged.combine == "mean_per_tree"
    assert votes(averaged, rows)[1] == pytest.approx([(1 / 4 + 5 / 6 + 5 / 6) / 3, (3 / 4 + 1 / 6 + 1 / 6) / 3])


def test_numbers_are_read_as_numbers() -> None:
    text = tree_model(COUNTED, AGE, noTrueChildStrategy="returnLastPrediction").replace("classification", "regression")
    text = text.replace('score="low"', 'score="1.5"').replace('score="high"', 'score="-2"')
    model = read_foreign(document(text, AGE, ()), "model")
    assert votes(model, np.array([[37.5], [38.0]])).ravel().tolist() == [1.5, -2.0]


def test_where_the_model_weighs_several_leaves_missing_cells_are_refused_by_name() -> None:
    read = read_foreign(
        document(tree_model(COUNTED, AGE, missingValueStrategy="weightedConfidence"), AGE, ("low", "high")), "model"
    )
    for missing in (False, True):
        columns = [
            numeric("age", "quasi_identifier", bounds=(0, 99), missing=missing),
            categorical("y", "class", values=("low", "high")),
        ]
        schema = table_of(columns, []).schema
        if not missing:
            assert lower_model(read, schema, {}, "model").release.trees
            continue
        with pytest.raises(ReleaseError, match=r"'age' may be missing.*weightedConfidence"):
            lower_model(read, schema, {}, "model")


GOOD = tree_model(COUNTED, AGE)


def numbers_rescaled(attributes: str, method: str | None = None) -> str:
    """A tree of the numbers 1 and 4, or two of them put together, whose result is rescaled."""
    nodes = (
        '<Node><True/><Node score="1"><SimplePredicate field="age" operator="lessOrEqual" value="37.5"/></Node>'
        '<Node score="4"><True/></Node></Node>'
    )
    tree = tree_model(nodes, AGE).replace('"classification"', '"regression"')
    targets = f"<Targets><Target {attributes}/></Targets>"
    if method is None:
        return tree.replace("<Node", f"{targets}<Node", 1)
    segments = f"<Segment><True/>{tree}</Segment>" * 2
    return (
        f'<MiningModel functionName="regression">{schema_of(AGE)}{targets}'
        f'<Segmentation multipleModelMethod="{method}">{segments}</Segmentation></MiningModel>'
    )


@pytest.mark.parametrize(("method", "expected"), [(None, [5, 11]), ("sum", [7, 19]), ("average", [5, 11])])
def test_a_predicted_number_is_rescaled(method: str | None, expected: list[float]) -> None:
    """Twice what the trees predict together, and 3."""
    text = numbers_rescaled('field="y" rescaleFactor="2" rescaleConstant="3"', method)
    model = read_foreign(document(text, AGE, ()), "m")
    assert votes(model, np.array([[37.0], [38.0]]))[:, 0].tolist() == expected
    assert "other_content" not in {item.kind for item in model.discloses}


REFUSED = {
    "a field of its own making": (GOOD.replace('field="age"', 'field="log_age"'), "no field of its data dictionary"),
    "an unknown strategy": (tree_model(COUNTED, AGE, missingValueStrategy="guess"), "treats missing values by 'guess'"),
    "a number that equals": (GOOD.replace("lessOrEqual", "equal"), "which is not read"),
    "a threshold that is none": (GOOD.replace("37.5", "nan"), "what is no number"),
    "a threshold with an underscore": (GOOD.replace("37.5", "3_7"), "what is no number"),
    "a count that is none": (GOOD.replace('recordCount="5"', 'recordCount="many"'), "a count or a score"),
    "targets of classes": (GOOD.replace("<Node", '<Targets><Target rescaleFactor="2"/></Targets><Node', 1), "Targets"),
    "trees that vote for a number": (numbers_rescaled('rescaleFactor="2"', "majorityVote"), "vote for a number"),
    "rounded targets": (numbers_rescaled('castInteger="round"'), "Targets"),
    "targets at most 9": (numbers_rescaled('max="9"'), "Targets"),
    "an outlier that is cut": (GOOD.replace('name="age"/', 'name="age" outliers="asExtremeValues"/'), "changes values"),
    "two predicates": (GOOD.replace("<True/>", "<True/><True/>", 1), "one predicate"),
    "a tree for some": (
        f'<MiningModel functionName="classification">{schema_of(AGE)}<Segmentation multipleModelMethod="selectFirst">'
        f"<Segment><True/>{GOOD}</Segment></Segmentation></MiningModel>",
        "'selectFirst', which is not read",
    ),
    "no tree": ('<RegressionModel functionName="classification"/>', "one TreeModel or MiningModel"),
    "clustering": (GOOD.replace("classification", "clustering"), "neither classifies"),
    "too deep": (
        tree_model('<Node score="low"><True/>' * 300 + "</Node>" * 300, AGE),
        "deeper than 200",
    ),
    "a compound that explodes": (
        tree_model(
            '<Node score="low"><True/>'
            + '<Node score="high"><CompoundPredicate booleanOperator="xor">'
            + "".join(f'<SimplePredicate field="f{i}" operator="lessThan" value="1"/>' for i in range(30))
            + '</CompoundPredicate></Node><Node score="low"><True/></Node></Node>',
            {f"f{i}": "double" for i in range(30)},
        ),
        "nodes|predicates",
    ),
}


@pytest.mark.parametrize(("model", "why"), REFUSED.values(), ids=REFUSED)
@pytest.mark.thorough
def test_what_is_not_read_is_refused_by_name(model: str, why: str) -> None:
    fields = {f"f{i}": "double" for i in range(30)} | AGE
    with pytest.raises(ReleaseError, match=why):
        read_foreign(document(model, fields, ("low", "high")), "model")


ENTITIES = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
HOSTILE: dict[str, bytes | Callable[[], bytes]] = {
    "an entity bomb": f'<!DOCTYPE PMML [<!ENTITY e0 "ha">{ENTITIES}]><PMML>&e9;</PMML>'.encode(),
    "an external entity": b'<!DOCTYPE PMML [<!ENTITY x SYSTEM "file:///etc/passwd">]><PMML>&x;</PMML>',
    "types from elsewhere": b'<!DOCTYPE PMML SYSTEM "http://127.0.0.1:1/pmml.dtd"><PMML/>',
    "truncated": document(GOOD, AGE, ("low", "high"))[:400],
    "nested without end": lambda: b"<PMML>" + b"<a>" * 1_000_000,
    "elements without end": lambda: b"<PMML>" + b"<a/>" * 10_000_000 + b"</PMML>",
    "attributes without end": lambda: b"<PMML " + b" ".join(b'a%d=""' % i for i in range(2_000_000)) + b"/>",
    "an encoding that there is not": b'<?xml version="1.0" encoding="no-such"?><PMML/>',
    "no UTF-8": b"<PMML>\xff\xfe</PMML>",
    "nothing": b"<PMML/>",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.thorough
def test_a_hostile_file_ends_in_exit_code_2(content: bytes | Callable[[], bytes], tmp_path: Path) -> None:
    file = content if isinstance(content, bytes) else content()
    assert "root:" not in assert_refused(tmp_path, "model.pmml", file)


TEXT = document(GOOD, AGE, ("low", "high")).decode()
PARTS = (
    "",
    "<",
    ">",
    '"',
    "<True/>",
    "nan",
    "-1",
    "1e999",
    'score="x"',
    "&amp;",
    "<Node>",
    "isMissing",
    'defaultChild="1"',
)


@settings(deadline=30_000)
@given(st.data())
def test_a_file_with_something_changed_is_read_or_refused(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(70, len(text)))
        text = text[:at] + data.draw(st.sampled_from(PARTS)) + text[at + data.draw(st.integers(0, 12)) :]
    try:
        model = read_foreign(text.encode(), "model")
    except ReleaseError:
        return
    assert_predicts(model)


def assert_predicts(model: Any) -> None:
    assert len(predicted(model, np.zeros((1, max(1, len(model.features)))))) == 1


def test_more_elements_than_are_read_in_seconds_are_refused() -> None:
    with ends_soon(), pytest.raises(ReleaseError, match="would take more than 150 MB"):
        read_foreign(b'<PMML version="4.4">' + b"<Node/>" * 1_100_000 + b"</PMML>", "model")


def test_predicates_without_end_are_refused_soon() -> None:
    part = Walk({}, "false", last=False, silent=np.zeros(2), nobody=np.zeros(2))
    part.asked = MAX_ASKED
    with pytest.raises(ReleaseError, match="asks more than 100,000 predicates"):
        part.tree(PmmlNode(True, np.zeros(2), np.zeros(2), ()), "model")


def file_disclosures(text: str) -> dict[str, tuple[str, str | None]]:
    """What a file is said to disclose besides counts and shares: severity and level by kind."""
    found = read_foreign(text.encode(), "model").discloses
    return {item.kind: (item.severity, item.level) for item in found if item.kind not in {"counts", "shares"}}


COUNTED_FILE = document(tree_model(COUNTED, AGE), AGE, ("low", "high")).decode()
STATS = (
    '<ModelStats><UnivariateStats field="age"><NumericInfo minimum="17" maximum="90"/></UnivariateStats></ModelStats>'
)
ROW = "<ModelVerification><InlineTable><row><age>17</age></row></InlineTable></ModelVerification>"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("</TreeModel>", STATS + "</TreeModel>", {"other_content": ("high", None)}),
        ("</TreeModel>", ROW + "</TreeModel>", {"other_content": ("high", None)}),
        ("<Header/>", "<Header><Annotation>Ada, 36</Annotation></Header>", {"other_content": ("high", None)}),
        ("<Header/>", '<Header><Extension name="user" value="ada"/></Header>', {"other_content": ("high", None)}),
        ("<Header/>", '<Header description="Ada, 36"/>', {"other_content": ("high", None)}),
        ("<Header/>", "<Header/><!-- Ada, 36 -->", {"other_content": ("high", None)}),
        ("<Header/>", "<Header/>Ada, 36", {"other_content": ("high", None)}),
        (
            'dataType="double"/>',
            'dataType="double"><Interval leftMargin="17"/></DataField>',
            {"extremes": ("medium", None)},
        ),
        ("<Header/>", "<Header/>", {}),
        ("<TreeModel ", f'<TreeModel modelName="{"Ada, 36; " * 200}" ', {"other_content": ("high", None)}),
        ("<TreeModel ", '<TreeModel modelName="tree of May" ', {}),
        ("<TreeModel ", '<TreeModel missingValuePenalty="Ada" ', {"other_content": ("high", None)}),
        ("<PMML ", f'<PMML xmlns:q="{"Ada, 36; " * 200}" ', {"other_content": ("high", None)}),
        ("<PMML ", '<PMML xmlns:AdaIsThirtySix="http://www.dmg.org/PMML-4_4" ', {"other_content": ("high", None)}),
        ("<PMML ", '<PMML xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ', {}),
        ("<Node ", f'<Node id="{"Ada, 36; " * 200}" ', {"other_content": ("high", None)}),
        ("<Node ", '<Node id="19360412" ', {"other_content": ("high", None)}),
        ("<Node ", '<Node id="n1" ', {}),
        (
            "<DataDictionary>",
            '<DataDictionary><DataField name="who" optype="categorical" dataType="string">'
            + '<Value value="Ada, 36, who is ill"/>' * 60
            + "</DataField>",
            {"column_names": ("medium", None)},  # its values are compared with the table
        ),
        (
            "<Header/>",
            "<Header><Timestamp>" + "Ada, 36; " * 30 + "</Timestamp></Header>",
            {"other_content": ("high", None)},
        ),
        ("<Header/>", "<Header><Timestamp>2026-05-01 12:00:00</Timestamp></Header>", {}),
    ],
)
def test_what_nobody_reads_of_a_document_is_told(old: str, new: str, expected: dict[str, Any]) -> None:
    assert file_disclosures(COUNTED_FILE.replace(old, new, 1)) == expected


def test_people_on_nodes_are_told_where_no_class_has_a_count() -> None:
    bare = COUNTED_FILE.replace(' recordCount="10"', "", 1)
    for told_count in ('value="low" recordCount', 'value="high" recordCount'):
        bare = bare.replace(told_count, told_count.replace("recordCount", "probability"))
    assert file_disclosures(bare) == {"sizes": ("high", "counts")}


def cast(name: str, source: str, kind: str, *, optype: str = "continuous", inside: str = "") -> str:
    ref = inside or f'<FieldRef field="{source}"/>'
    return f'<DerivedField name="{name}" optype="{optype}" dataType="{kind}">{ref}</DerivedField>'


def asking(field: str, at: str, operator: str = "lessOrEqual") -> str:
    """A tree with one test of a field."""
    opposite = {"lessOrEqual": "greaterThan", "lessThan": "greaterOrEqual"}[operator]
    return (
        f'<Node><True/><Node score="low"><SimplePredicate field="{field}" operator="{operator}" value="{at}"/></Node>'
        f'<Node score="high"><SimplePredicate field="{field}" operator="{opposite}" value="{at}"/></Node></Node>'
    )


CHAINS: dict[str, tuple[str, list[tuple[str, str]], Callable[[Any], Any], Callable[[float], Any]]] = {
    "float, as double": ("float", [("double(n)", "double")], lambda x: float(np.float32(x)), float),
    "double, as float": ("double", [("float(n)", "float")], np.float32, np.float32),
    "double, as float, as double": (
        "double",
        [("float(n)", "float"), ("double(float(n))", "double")],
        lambda x: float(np.float32(x)),
        float,
    ),
    "double, as double": ("double", [("double(n)", "double")], float, float),
    "integer, as double": ("integer", [("double(n)", "double")], float, float),
    "float, as double, as float": (
        "float",
        [("double(n)", "double"), ("float(double(n))", "float")],
        np.float32,
        np.float32,
    ),
}
"""By what is cast: the field's type, the casts, what becomes of a cell, and of the number that it is compared with."""


@pytest.mark.parametrize("operator", ["lessOrEqual", "lessThan"])
@pytest.mark.parametrize("at", ["0.1", "7.05", "37.5", "16777217"])
@pytest.mark.parametrize("local", [False, True], ids=["of the document", "of the model"])
@pytest.mark.parametrize("chain", CHAINS)
def test_fields_that_only_cast_a_number_are_asked_in_their_precision(
    chain: str, local: bool, at: str, operator: str
) -> None:
    kind, casts, of_cell, of_threshold = CHAINS[chain]
    sources = ["n", *(name for name, _ in casts)]
    derived = "".join(cast(name, source, to) for (name, to), source in zip(casts, sources, strict=False))
    model = tree_model(asking(casts[-1][0], at, operator), {"n": kind})
    if local:
        model = model.replace("<Node", f"<LocalTransformations>{derived}</LocalTransformations><Node", 1)
    more = "" if local else f"<TransformationDictionary>{derived}</TransformationDictionary>"
    read = read_foreign(document(model, {"n": kind}, ("low", "high"), more), "m")
    assert read.features == ("n",)
    assert "other_content" not in {each.kind for each in read.discloses}
    number = float(at)
    single = np.float32(number)
    cells = {number, *(float(np.nextafter(number, side)) for side in (-np.inf, np.inf))}
    cells |= {float(single), *(float(np.nextafter(single, np.float32(side))) for side in (-np.inf, np.inf))}
    for cell in sorted(cells):
        value, threshold = of_cell(cell), of_threshold(number)
        low = value <= threshold if operator == "lessOrEqual" else value < threshold
        assert predicted(read, np.array([[cell]]))[0] == (0 if low else 1), cell


def test_a_gap_is_filled_before_it_is_cast() -> None:
    derived = f"<TransformationDictionary>{cast('float(n)', 'n', 'float')}{cast('w', 'float(n)', 'double')}"
    model = tree_model(asking("w", "0.1"), {"n": "double"})
    filled = model.replace('name="n"/', 'name="n" missingValueReplacement="0.1"/')
    read = read_foreign(
        document(filled, {"n": "double"}, ("low", "high"), f"{derived}</TransformationDictionary>"), "m"
    )
    assert float(np.float32(0.1)) > 0.1
    assert predicted(read, np.array([[np.nan]]))[0] == 1


N = {"n": "double", "s": "string"}
OTHER_FIELDS = {
    "a function": (cast("d", "n", "double", inside='<Apply function="log"><FieldRef field="n"/></Apply>'), "'Apply'"),
    "a norm": (cast("d", "n", "double", inside='<NormContinuous field="n"/>'), "'NormContinuous'"),
    "a whole number": (cast("d", "n", "integer"), "'continuous integer'"),
    "a category": (cast("d", "n", "string", optype="categorical"), "'categorical string'"),
    "of a text": (cast("d", "s", "double"), "'continuous double'"),
    "a word for missing": (
        cast("d", "n", "double", inside='<FieldRef field="n" mapMissingTo="0"/>'),
        "'FieldRef'",
    ),
    "of no field": (cast("d", "z", "double"), "one that it does not have"),
    "of a later field": (cast("d", "e", "double") + cast("e", "n", "double"), "one that it does not have"),
}


@pytest.mark.parametrize("case", OTHER_FIELDS)
def test_other_derived_fields_are_refused_by_what_they_do(case: str) -> None:
    derived, words = OTHER_FIELDS[case]
    model = tree_model(asking("d", "1.5"), N)
    inside = model.replace("<Node", f"<LocalTransformations>{derived}</LocalTransformations><Node", 1)
    with pytest.raises(ReleaseError, match=rf"{words}.*which is not read.*cast a number to double or float"):
        read_foreign(document(inside, N, ("low", "high")), "m")
    more = f"<TransformationDictionary>{derived}</TransformationDictionary>"
    with pytest.raises(ReleaseError, match=r"asks about 'd'.*no cast of one.*cast a number to double or float"):
        read_foreign(document(model, N, ("low", "high"), more), "m")


def test_one_field_in_several_precisions_is_refused() -> None:
    more = f"<TransformationDictionary>{cast('float(n)', 'n', 'float')}</TransformationDictionary>"
    nodes = (
        '<Node><True/><Node score="low"><SimplePredicate field="n" operator="lessOrEqual" value="0.1"/></Node>'
        '<Node score="high"><SimplePredicate field="float(n)" operator="greaterThan" value="0.1"/></Node></Node>'
    )
    with pytest.raises(ReleaseError, match="one field in several precisions"):
        read_foreign(document(tree_model(nodes, {"n": "double"}), {"n": "double"}, ("low", "high"), more), "m")


def test_trees_of_a_forest_are_given_casts_of_the_whole_model() -> None:
    """As JPMML-SkLearn writes them: the trees' own schemas name the derived fields."""
    derived = f"<LocalTransformations>{cast('double(n)', 'n', 'double')}</LocalTransformations>"
    tree = tree_model(asking("double(n)", "0.1"), {"double(n)": "double"})
    segments = "".join(f'<Segment id="{i}"><True/>{tree}</Segment>' for i in (1, 2))
    whole = (
        f'<MiningModel functionName="classification">{schema_of({"n": "float"})}{derived}'
        f'<Segmentation multipleModelMethod="majorityVote">{segments}</Segmentation></MiningModel>'
    )
    read = read_foreign(document(whole, {"n": "float"}, ("low", "high")), "m")
    assert (read.features, len(read.trees)) == (("n",), 2)
    assert "other_content" not in {each.kind for each in read.discloses}
    assert predicted(read, np.array([[0.1], [0.09]])).tolist() == [1, 0]  # 0.1 is more in single precision
    filled = whole.replace('name="double(n)"/>', 'name="double(n)" missingValueReplacement="3"/>')
    with pytest.raises(ReleaseError, match="fills gaps of a field that it does not declare"):
        read_foreign(document(filled, {"n": "float"}, ("low", "high")), "m")
