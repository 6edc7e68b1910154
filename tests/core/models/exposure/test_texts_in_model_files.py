"""Texts in model files that neither a reader needs nor a known program writes: an audit never passes or prints them."""

import copy
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from example_counts import seeds
from installed_readers import READERS, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.commands.convert.scrub import minimise as scrubbed_model
from leafgate.io.release_codec import own_disclosures
from leafgate.ir.unread import has_known_words, text_size
from leafgate.readers import ContentField, ContentKind, read_shape
from make_shapes import with_shapes

MARK = "Jane Smith=ill"
Change = Callable[[Any], None]
N = 400
AGES = np.tile(np.arange(20, 60), N // 40)
NAMES = ["Jane", "Jane_smith", "Jane Smith", *(f"P{i}" for i in range(3, N))]
STATES = np.where((AGES > 40) ^ (np.arange(N) % 5 == 0), "ill", "well")


def audited(folder: Path, content: bytes, **encoding: Any) -> tuple[int, str]:
    """How an audit of what the file discloses ends, and everything it wrote."""
    (folder / "model").write_bytes(content)
    rows = [f"{name},{age},{state}" for name, age, state in zip(NAMES, AGES, STATES, strict=True)]
    (folder / "people.csv").write_text("\n".join(["name,age,state", *rows]))
    policy = {
        "leafgate": 1,
        "name": "texts",
        "data": {
            "path": "people.csv",
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi_identifier", "bounds": [0, 120]},
                "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
            },
        },
        "build": {"use": "published", "path": "model", "encoding": encoding},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "file_disclosure", "at_most": 0}],
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    options = ["--out", folder / "out", "--to", "html", "--to", "markdown", "--to", "text"]
    ended = leafgate("audit", folder / "policy.yaml", *options)
    reports = [path for path in (folder / "out").rglob("*") if path.is_file() and path.suffix != ".zip"]
    return ended.code, ended.out + ended.err + "".join(path.read_text("utf-8", "replace") for path in reports)


def scrubbed(folder: Path, content: bytes, leaves: str) -> bytes:
    (folder / "model").write_bytes(content)
    ended = leafgate("scrub", folder / "model", folder / "scrubbed", "--leaves", leaves)
    assert "Jane" not in ended.out + ended.err
    assert ended.code == 0, ended.err
    return (folder / "scrubbed").read_bytes()


def others(content: bytes) -> list[str]:
    """Severities of content that nobody needs."""
    return [item.severity for item in read_foreign(content, "m").discloses if item.kind == "other_content"]


def assert_told(folder: Path, content: bytes, leaves: str = "labels", **encoding: Any) -> None:
    """The file with the text fails, its text is nowhere, and is gone when scrubbed: a short one is somebody's name."""
    assert b"Jane" in content or zipfile.is_zipfile(io.BytesIO(content))
    code, result = audited(folder, content, **encoding)
    assert (code, "Jane" in result) == (1, False)
    less = scrubbed(folder, content, leaves)
    assert b"Jane" not in less
    assert others(less) == []


def tree() -> Any:
    return DecisionTreeClassifier(max_depth=1, random_state=0).fit(AGES.reshape(-1, 1).astype(np.float32), STATES)


def onnx_document() -> Any:
    pytest.importorskip("skl2onnx")
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    model = tree()
    return convert_sklearn(model, initial_types=[("age", FloatTensorType([None, 1]))], options={"zipmap": False})


def renamed(document: Any) -> None:
    node = next(each for each in document.graph.node if each.op_type.startswith("TreeEnsemble"))
    old, node.output[0] = node.output[0], MARK
    for each in (*document.graph.output, *document.graph.value_info):
        each.name = MARK if each.name == old else each.name
    for other in document.graph.node:
        other.input[:] = [MARK if name == old else name for name in other.input]


ONNX: dict[str, Change] = {
    "node": lambda d: setattr(d.graph.node[0], "name", MARK),
    "producer": lambda d: setattr(d, "producer_name", MARK),
    "producer version": lambda d: setattr(d, "producer_version", MARK),
    "graph": lambda d: setattr(d.graph, "name", MARK),
    "domain": lambda d: setattr(d, "domain", MARK),
    "dim_param": lambda d: setattr(d.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", MARK),
    "opset": lambda d: setattr(d.opset_import.add(), "domain", MARK),
    "denotation": lambda d: setattr(d.graph.input[0].type, "denotation", MARK),
    "dimension's denotation": lambda d: setattr(d.graph.output[0].type.tensor_type.shape.dim.add(), "denotation", MARK),
    "value_info": lambda d: setattr(d.graph.value_info.add(), "name", MARK),
    "output": renamed,
    "doc_string": lambda d: setattr(d, "doc_string", MARK),
    "doc_string of a node": lambda d: setattr(d.graph.node[0], "doc_string", MARK),
    "doc_string of an attribute": lambda d: setattr(d.graph.node[0].attribute[0], "doc_string", MARK),
    "reference of an attribute": lambda d: setattr(d.graph.node[0].attribute[0], "ref_attr_name", MARK),
    "metadata": lambda d: setattr(d.metadata_props.add(), "key", MARK),
    "overload": lambda d: setattr(d.graph.node[0], "overload", MARK),
}


@pytest.mark.thorough
@pytest.mark.parametrize("change", ONNX.values(), ids=ONNX)
def test_a_text_in_an_onnx_file_is_told(tmp_path: Path, change: Change) -> None:
    document = onnx_document()
    assert others(document.SerializeToString()) == []
    change(document)
    assert_told(tmp_path, document.SerializeToString())


def as_field(number: int, value: int) -> bytes:
    """A field of a protocol buffer with a number, both less than 128."""
    return bytes([number << 3, value])


@pytest.mark.parametrize(
    ("field", "severity"),
    [(as_field(15, 36), "medium"), (as_field(1, 36), "high"), (as_field(2, 36), "high")],
    ids=["unknown", "version twice", "producer twice"],
)
def test_a_number_in_a_field_that_onnx_does_not_have_is_other_content(field: bytes, severity: str) -> None:
    assert others(onnx_document().SerializeToString() + field) == [severity]


def skops_parts() -> tuple[dict[str, Any], dict[str, bytes]]:
    skops = pytest.importorskip("skops.io")
    import pandas as pd

    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(pd.DataFrame({"age": AGES}), STATES)
    with zipfile.ZipFile(io.BytesIO(skops.dumps(model))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop("schema.json")), parts


def zipped(schema: Any, parts: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", json.dumps(schema))
    return stream.getvalue()


def attributes(schema: Any) -> Any:
    return schema["content"]["content"]


SKOPS: dict[str, Change] = {
    "module": lambda s: attributes(s)["criterion"].update(__module__=MARK),
    "class": lambda s: attributes(s)["criterion"].update(__class__=MARK),
    "module of the model": lambda s: s.update(__module__=MARK),
    "version": lambda s: s.update(_skops_version=MARK),
    "identity": lambda s: s.update(__id__=int.from_bytes(MARK.encode(), "big")),
    "protocol": lambda s: s.update(protocol=int.from_bytes(MARK.encode(), "big")),
    "setting": lambda s: attributes(s)["splitter"].update(content=json.dumps("Jane")),
    "name of an attribute": lambda s: attributes(s).update({"Jane": attributes(s)["splitter"]}),
    "entry of a node": lambda s: s.update({"Jane": 1}),
}


@pytest.mark.parametrize("change", SKOPS.values(), ids=SKOPS)
def test_a_text_in_a_skops_file_is_told(tmp_path: Path, change: Change) -> None:
    schema, parts = skops_parts()
    assert others(zipped(schema, parts)) == []
    change(schema)
    assert_told(tmp_path, zipped(schema, parts))


def test_the_name_of_an_array_in_a_skops_file_is_told(tmp_path: Path) -> None:
    schema, parts = skops_parts()
    old = next(iter(parts))
    text = json.dumps(schema).replace(old, f"{MARK}.npy")
    parts[f"{MARK}.npy"] = parts.pop(old)
    assert_told(tmp_path, zipped(json.loads(text), parts))


ONE: dict[str, Any] = {
    "counts": None,
    "feature": [0, -1, -1],
    "float32": False,
    "high": [2, -1, -1],
    "low": [1, -1, -1],
    "missing_low": False,
    "output": None,
    "says": [None, [1.0, 0.0], [0.0, 1.0]],
    "size": None,
    "strict": False,
    "subsets": {},
    "threshold": [40.0, None, None],
}
NEUTRAL: dict[str, Any] = {
    "format": "leafgate/model/1",
    "from": "skops",
    "producer": "scrubbed",
    "features": ["age"],
    "origins": [{"kind": "number", "column": "age", "steps": [], "fill": None}],
    "classes": ["ill", "well"],
    "says": "labels",
    "combine": "one",
    "base": [],
    "counted": "unknown",
    "discloses": [],
    "trees": [ONE],
}
IN_NEUTRAL: dict[str, dict[str, Any]] = {
    "says": {"discloses": [{"kind": "seed", "says": MARK, "severity": "low"}]},
    "kind": {"discloses": [{"kind": MARK, "says": "how much every test gained", "severity": "low"}]},
    "says beside other content": {
        "discloses": [
            {
                "kind": "other_content",
                "says": f"other content, which nobody needs to predict: 1 part(s) ({MARK})",
                "severity": "low",
            }
        ]
    },
    "producer": {"producer": MARK},
    "from": {"from": MARK},
    "untold_of": {"untold_of": [MARK]},
    "untold_missing": {"untold_missing": MARK},
    "feature": {"features": [MARK]},
    "settings": {"producer": "skops", "settings": {"max_features": MARK}},
}


@pytest.mark.parametrize("change", IN_NEUTRAL.values(), ids=IN_NEUTRAL)
def test_a_text_in_a_neutral_file_is_told(tmp_path: Path, change: dict[str, Any]) -> None:
    assert others(json.dumps(NEUTRAL).encode()) == []
    assert_told(tmp_path, json.dumps(NEUTRAL | change).encode())


BESIDE_ORIGINS: dict[str, dict[str, Any]] = {
    "an entry of its own": {"kind": "number", "column": "age", "steps": [], "fill": None, "Jane": "ill"},
    "an entry of another kind": {"kind": "number", "column": "age", "steps": [], "fill": None, "seen": MARK},
    "a remedy": {"kind": "unknown", "column": "age", "why": "is made by a function", "remedy": MARK},
}


@pytest.mark.parametrize("origin", BESIDE_ORIGINS.values(), ids=BESIDE_ORIGINS)
def test_an_entry_that_an_origin_does_not_have_is_refused(origin: dict[str, Any]) -> None:
    with pytest.raises(ReleaseError) as raised:
        read_foreign(json.dumps(NEUTRAL | {"origins": [origin]}).encode(), "m")
    assert (str(raised.value).startswith("m.origins[0]"), "Jane" in str(raised.value)) == (True, False)


PMML = """<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header copyright="c"><Application name="SkLearn2PMML"
 version="0.1.2"/><Timestamp>2026-05-01 12:00:00</Timestamp></Header><DataDictionary><DataField name="age"
 optype="continuous" dataType="double"/><DataField name="state" optype="categorical" dataType="string">
<Value value="ill"/><Value value="well"/></DataField></DataDictionary><TreeModel functionName="classification"
 modelName="tree"><MiningSchema><MiningField name="age"/><MiningField name="state" usageType="target"/></MiningSchema>
<Output><OutputField name="probability(ill)" optype="continuous" dataType="double" feature="probability" value="ill"/>
</Output><Node id="0" score="well"><True/><Node id="1" score="ill"><SimplePredicate field="age" operator="lessOrEqual"
 value="45"/></Node><Node id="2" score="well"><SimplePredicate field="age" operator="greaterThan" value="45"/></Node>
</Node></TreeModel></PMML>""".replace(' copyright="c"', "")
IN_PMML = {
    "output": ('name="probability(ill)"', f'name="{MARK}"'),
    "output's display": ('name="probability(ill)"', f'name="probability(ill)" displayName="{MARK}"'),
    "model": ('modelName="tree"', 'modelName="Jane Smith"'),
    "algorithm": ('modelName="tree"', 'algorithmName="Jane Smith"'),
    "program": ("SkLearn2PMML", "Jane Smith"),
    "program's version": ("0.1.2", "Jane"),
    "time": ("2026-05-01 12:00:00", "Jane Smith"),
    "comment": ("<Output>", f"<!-- {MARK} --><Output>"),
    "element": ("<Output>", "<Jane/><Output>"),
    "attribute": ("<Output>", '<Output Jane="1">'),
    "extension": ("<Output>", f'<Extension value="{MARK}"/><Output>'),
    "usage": ('usageType="target"', 'usageType="target" optype="Jane"'),
    "field": ('name="age"\n', 'name="age" displayName="Jane"\n'),
}


def test_a_text_beside_an_interval_in_pmml_is_other_content() -> None:
    field = 'optype="continuous" dataType="double"/>'
    interval = '<Interval leftMargin="20" rightMargin="59"/></DataField>'
    ranged = PMML.replace(field, f"{field[:-2]}>{interval}", 1)
    assert others(ranged.encode()) == []
    assert others(ranged.replace("<Interval", '<Interval Jane="ill"').encode()) == ["high"]
    assert others(ranged.replace('"59"/>', '"59"><Jane/></Interval>').encode()) == ["high"]


@pytest.mark.parametrize(("old", "new"), IN_PMML.values(), ids=IN_PMML)
def test_a_text_in_a_pmml_document_is_told(tmp_path: Path, old: str, new: str) -> None:
    assert others(PMML.encode()) == []
    assert old in PMML
    assert_told(tmp_path, PMML.replace(old, new, 1).encode())


IN_XGBOOST: dict[str, Change] = {
    "scikit_learn": lambda learner: learner["attributes"].update(scikit_learn=MARK),
    "attribute": lambda learner: learner["attributes"].update(Jane="1"),
    "parameter": lambda learner: learner["objective"]["reg_loss_param"].update(scale_pos_weight="Jane"),
    "type": lambda learner: learner.update(feature_types=["Jane"]),
}


@pytest.mark.parametrize("change", IN_XGBOOST.values(), ids=IN_XGBOOST)
def test_a_text_in_an_xgboost_file_is_told(tmp_path: Path, change: Change) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=1).fit(AGES.reshape(-1, 1), (STATES == "ill").astype(int))
    model.get_booster().feature_names = ["age"]
    honest = json.loads(bytes(model.get_booster().save_raw(raw_format="json")))
    assert others(json.dumps(honest).encode()) == []
    result = copy.deepcopy(honest)
    change(result["learner"])
    assert_told(tmp_path, json.dumps(result).encode(), "shares", state={"codes": {"well": 0, "ill": 1}})


IN_LIGHTGBM = {
    "objective": ("objective=binary sigmoid:1", "objective=binary jane_smith sigmoid:1".replace("jane", "Jane")),
    "setting": ("[boosting: gbdt]", "[boosting: Jane]"),
    "path": ("[boosting: gbdt]", "[boosting: gbdt]\n[data: Jane]"),
    "line": ("end of trees", "end of trees\nJane"),
}


@pytest.mark.parametrize(("old", "new"), IN_LIGHTGBM.values(), ids=IN_LIGHTGBM)
def test_a_text_in_a_lightgbm_file_is_told(tmp_path: Path, old: str, new: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(AGES.reshape(-1, 1), label=(STATES == "ill").astype(int), feature_name=["age"])
    options = {"num_leaves": 2, "objective": "binary", "verbose": -1}
    text = re.sub(r"\[data: \]\n", "", lightgbm.train(options, data, 1).model_to_string())
    assert others(text.encode()) == []
    assert old in text
    assert_told(tmp_path, text.replace(old, new, 1).encode(), "shares", state={"codes": {"well": 0, "ill": 1}})


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_nothing_in_files_of_random_pipelines_is_told() -> None:
    """Whole, as `leafgate convert` writes it, and scrubbed: texts of known programs are no other content."""
    pytest.importorskip("skops")
    from random_pipelines import drawn, features
    from sklearn_zoo import skops_bytes

    read, tried = 0, seeds(40)
    for seed in tried:
        made = drawn(seed)
        try:
            fitted = made.pipeline.fit(features(made.people), made.people["rich"])
        except (TypeError, ValueError):
            continue  # scikit-learn cannot fit such a pipeline
        content = skops_bytes(fitted)
        try:
            model = read_foreign(content, "m")
        except ReleaseError:
            continue  # the reader says what it cannot express in columns
        whole = neutral_file(model)
        less = neutral_file(scrubbed_model(model, "shares", "m"))
        read += 1
        assert [others(each) for each in (content, whole, less)] == [[], [], []], seed
    assert read > len(tried) / 2


@pytest.mark.parametrize("name", ["one-hot", "zeros", "ordinal", "min and max", "robust", "both ways", "nested"])
def test_nothing_in_graphs_of_pipelines_is_told(name: str) -> None:
    pytest.importorskip("skl2onnx")
    from onnx_pipelines import PIPELINES, document_of, with_texts
    from sklearn_pipelines import as_frame, people

    table = with_texts(people(1, gaps=False))
    document = document_of(PIPELINES[name]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    content = document.SerializeToString()
    assert others(content) == []
    assert others(neutral_file(read_foreign(content, "m"))) == []


def test_every_disclosure_in_the_code_is_one_that_files_may_hold() -> None:
    """Literal texts of disclosures, and kinds of shape files, are all among the ones that leafgate's files may hold."""
    top = Path(__file__).resolve().parents[4]
    literal = re.compile(r'Disclosure\(\s*"([a-z_ ]+)",\s*"(?:low|medium|high)",\s*"([^"{}]+)"[,)]')
    found = [
        each
        for path in (*top.glob("core/**/*.py"), *top.glob("plugins/**/*.py"))
        for each in literal.findall(path.read_text("utf-8"))
    ]
    shapes = (read_shape(f"leafgate_plugins.{plugin}") for plugin in with_shapes())
    found += [(each.kind, each.says) for shape in shapes for each in shape.disclosures.values()]
    assert len(found) > 30
    kinds, texts = own_disclosures()
    assert {kind for kind, _ in found} <= kinds
    assert {re.sub("[0-9]{1,9}", "#", says) for _, says in found} <= texts.union(
        *(reader.texts().disclosures for reader in READERS)
    )


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("TreeEnsemble12", True),
        ("tree_ensemble", True),
        ("ONNX(Tree)", True),
        ("", True),
        ("tree Jane", False),
        ("träe", False),
        ("tree" * 60, False),
        ("tree 1 2345678901", False),
        ("٣", False),
        ("1 " * 30, False),
    ],
)
def test_known_words_are_words_and_few_digits(text: str, known: bool) -> None:
    assert has_known_words(text, {"tree", "ensemble", "onnx"}) is known


def test_any_text_that_nobody_needs_is_as_much_as_people() -> None:
    assert text_size("Jane") == text_size(b"Jane", "x" * 10) == 100
    assert text_size("x" * 5_000) == 500
    assert text_size(" ") == 0


@pytest.mark.parametrize(
    ("number", "accepted"), [(0, True), (2, True), (3, False), (-1, False), (0.5, False), (True, False)]
)
def test_a_number_alone_is_held_to_its_bound_as_one_of_a_list_is(number: float, accepted: bool) -> None:
    for kind, value in ((ContentKind.NUMBER, number), (ContentKind.NUMBERS, [number])):
        assert ContentField(kind, below=3).accepts(value, {}) is accepted
