"""Cells of single people at random places of model files of seven formats are found; honest files have none."""

import copy
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leafgate
from example_counts import seeds
from installed_readers import Encoding, lower_model, minimise, model_as_file, neutral_file, read_foreign
from leafgate import Audit, ReleaseError, Table
from leafgate.algorithms.witness import first_difference
from leafgate.api import Column, Schema, make_table, typed_column
from leafgate.commands.convert.sampling import random_cells
from leafgate.commands.convert.witness import answers_to
from leafgate.ir.content import FileContent
from leafgate.models.exposure.categories import many_unknown_names
from leafgate.models.exposure.cells import cells_disclosed
from leafgate.models.points import known_origins, with_coded_sets
from random_tables import categorical

N = 1200
FEW = 10
GIVEN, FAMILY = ("Anna", "Bo", "Cleo", "Dmitri", "Eda", "Finn"), ("Lindqvist", "O'Hara", "Nuñez", "Sato", "Weiß")
TOWNS, JOBS = ("east", "north", "south"), ("clerk", "cook", "driver", "nurse", "teacher")


@cache
def people() -> pd.DataFrame:
    """Names and dates of birth of single people, exact incomes, and ages, hours, towns and jobs of many."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, N)
    return pd.DataFrame(
        {
            "name": [f"{GIVEN[i % 6]} {FAMILY[i % 5]} {i}" for i in range(N)],
            "born": [f"{1966 + i % 40}-{1 + i % 12:02}-{1 + i // 43:02}" for i in range(N)],
            "income": np.round(rng.lognormal(10, 0.5, N), 2),
            "age": age,
            "hours": rng.integers(10, 50, N),
            "town": rng.choice(TOWNS, N),
            "job": rng.choice(JOBS, N),
            "state": np.where((age > 40) ^ (rng.random(N) < 0.2), "ill", "well"),
        }
    )


DROPPED = ("name", "born")


def column(name: str, *roles: str, **more: Any) -> Column:
    return Column(name, frozenset(roles or {"quasi_identifier"}), **more)


SCHEMA = Schema(
    (
        column("income", bounds=(0, 1e7)),
        column("age", bounds=(0, 120), step=1.0),
        column("hours", bounds=(0, 1e6), step=1.0),
        column("town", values=TOWNS),
        column("job", values=JOBS),
        column("state", "class", "sensitive", values=("ill", "well")),
    ),
    dropped=DROPPED,
)


def test_a_list_of_the_values_of_several_columns_is_judged_by_all_of_them() -> None:
    def kinds(*more: str) -> list[str]:
        content = FileContent({}, unplaced=(frozenset({*TOWNS, *JOBS, *more}),))
        return [f"{item.kind} {item.says.split()[0]}" for item in cells_disclosed(content, table(), FEW)]

    assert kinds() == []
    assert kinds("nobody's job") == ["people_listed values"]
    assert kinds(str(people()["name"][7])) == ["people_listed texts"]


@cache
def table() -> Table:
    frame = people()
    typed = {each.name: typed_column(each, frame[each.name].tolist()) for each in SCHEMA.columns}
    made = make_table(SCHEMA, pd.DataFrame(typed))
    object.__setattr__(made, "cell_counts", {name: frame[name].astype(str).value_counts() for name in frame})
    return made


CODES = {"state": Encoding(codes={"well": 0.0, "ill": 1.0})}


def told(content: bytes) -> list[str]:
    """What the file discloses of single people, by kind; other content counts, numbers of people on nodes do not."""
    model = read_foreign(content, "m")
    of_classes = {} if set(model.classes) == {"ill", "well"} else CODES
    loaded = lower_model(model, SCHEMA, of_classes, "m", N)
    assert loaded.release.file is not None
    assert loaded.provenance.model_content is not None
    found = (*loaded.release.file.discloses, *cells_disclosed(loaded.provenance.model_content, table(), FEW))
    return [item.kind for item in found if item.severity == "high" and item.kind in KINDS]


KINDS = {"people_listed", "rare_numbers", "other_content", "paths"}


def is_found(content: bytes) -> bool:
    """Does an audit not pass the file: a cell is found, or the file is refused?"""
    try:
        return bool(told(content))
    except ReleaseError:
        return True


def a_cell(rng: np.random.Generator, text: bool = True) -> str:
    """A cell of one person: a name, a date, or a number of many digits."""
    name = str(rng.choice(["name", "born", "income"] if text else ["income"]))
    cells = people()[name] if name != "income" else people()["income"][people()["income"] >= 10_000]
    return str(cells.iloc[int(rng.integers(len(cells)))])


Place = Callable[[np.random.Generator], bytes]


def skops_file(steps: tuple[str, str] = ("prepare", "tree"), encoded: str | None = None) -> bytes:
    """A pipeline with an encoder of towns, and of the column `encoded`."""
    skops = pytest.importorskip("skops.io")
    frame = people()
    columns = ["town", *([] if encoded is None else [encoded])]
    parts = [(OneHotEncoder() if name == "town" else OrdinalEncoder(), [name]) for name in columns]
    prepare = make_column_transformer(*parts, ("passthrough", ["age"]))
    model = Pipeline([(steps[0], prepare), (steps[1], DecisionTreeClassifier(max_depth=2, random_state=0))])
    return bytes(skops.dumps(model.fit(frame[[*columns, "age"]], frame["state"])))


def in_schema(content: bytes, old: str, new: str) -> bytes:
    """The skops file with another text in its schema."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = parts["schema.json"].decode()
    assert old in schema
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, schema.replace(old, new, 1) if name == "schema.json" else part)
    return stream.getvalue()


def escaped(text: str, times: int = 1) -> str:
    """The text as it stands in a JSON text, or in one within a JSON text."""
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


@cache
def plain_skops() -> bytes:
    return skops_file()


def _encoder(rng: np.random.Generator) -> bytes:
    """An encoder of some column of single people's cells: of all of them, in a file that asks about none."""
    return skops_file(encoded=str(rng.choice(["name", "born", "income"])))


def _categories(rng: np.random.Generator) -> bytes:
    """An encoder asked for a category more, whose fitted part knows nothing of it."""
    skops = pytest.importorskip("skops.io")
    frame = people()
    encoder = OneHotEncoder(categories=[list(TOWNS)])
    model = Pipeline([("encode", make_column_transformer((encoder, ["town"]))), ("tree", DecisionTreeClassifier())])
    model.fit(frame[["town"]], frame["state"])
    model.steps[0][1].transformers_[0][1].categories = [np.array([*TOWNS, a_cell(rng)], dtype=object)]
    return bytes(skops.dumps(model))


SKOPS: Mapping[str, Place] = {
    "step": lambda rng: skops_file((a_cell(rng), "tree")),
    "second step": lambda rng: skops_file(("prepare", a_cell(rng))),
    "setting": lambda rng: in_schema(plain_skops(), '\\"best\\"', escaped(json.dumps(a_cell(rng)))),
    "class": lambda rng: in_schema(plain_skops(), '"DecisionTreeClassifier"', f'"{escaped(a_cell(rng))}"'),
    "module": lambda rng: in_schema(plain_skops(), '"sklearn.tree._classes"', f'"{escaped(a_cell(rng))}"'),
    "encoder": _encoder,
    "categories": _categories,
}


def xgboost_document(names: tuple[str, ...] = ("income", "age")) -> Any:
    xgboost = pytest.importorskip("xgboost")
    frame = people()
    x = frame[["age", "hours"]].set_axis(list(names), axis=1)
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=1, base_score=0.5).fit(x, (frame["state"] == "ill") * 1)
    return json.loads(bytes(model.get_booster().save_raw(raw_format="json")))


def _in_xgboost(change: Callable[[Any, str], Any], *, number: bool = False) -> Place:
    def place(rng: np.random.Generator) -> bytes:
        document = copy.deepcopy(_plain_xgboost())
        change(document["learner"], a_cell(rng, text=not number))
        return json.dumps(document).encode()

    return place


@cache
def _plain_xgboost() -> Any:
    return xgboost_document()


def _tree(learner: Any) -> Any:
    return learner["gradient_booster"]["model"]["trees"][0]


def _threshold(learner: Any, cell: str) -> None:
    tree = _tree(learner)
    tree["split_indices"][0] = 0
    tree["split_conditions"][0] = float(np.float32(float(cell)))


XGBOOST: Mapping[str, Place] = {
    "threshold": _in_xgboost(_threshold, number=True),
    "feature": _in_xgboost(lambda learner, cell: learner["feature_names"].__setitem__(0, cell)),
    "dummy": _in_xgboost(lambda learner, cell: learner["feature_names"].__setitem__(1, f"name_{cell}")),
    "patsy": _in_xgboost(lambda learner, cell: learner["feature_names"].__setitem__(1, f"C(name)[T.{cell}]")),
    "pivot": _in_xgboost(lambda learner, cell: learner["feature_names"].__setitem__(1, f"{cell}_score")),
    "objective": _in_xgboost(lambda learner, cell: learner["objective"].update(name=cell)),
    "booster": _in_xgboost(lambda learner, cell: learner["gradient_booster"].update(name=cell)),
    "attribute": _in_xgboost(lambda learner, cell: learner["attributes"].update({cell: "1"})),
    "scikit_learn": _in_xgboost(lambda learner, cell: learner["attributes"].update(scikit_learn=cell)),
    "entry": _in_xgboost(lambda learner, cell: learner.update({cell: 1})),
    "type": _in_xgboost(lambda learner, cell: learner.update(feature_types=[cell, "int"])),
}


@cache
def lightgbm_text() -> str:
    lightgbm = pytest.importorskip("lightgbm")
    frame = people()
    data = lightgbm.Dataset(
        frame[["age", "hours"]].to_numpy(), label=(frame["state"] == "ill") * 1, feature_name=["income", "age"]
    )
    options = {"num_leaves": 2, "objective": "binary", "verbose": -1}
    return re.sub(r"\[data: \]\n", "", lightgbm.train(options, data, 1).model_to_string())


def _in_lightgbm(old: str, new: str, *, number: bool = False) -> Place:
    def place(rng: np.random.Generator) -> bytes:
        cell = a_cell(rng, text=not number)
        text, n = re.subn(old, lambda found: found.expand(new).replace("CELL", cell), lightgbm_text(), count=1)
        assert n == 1
        return text.encode()

    return place


LIGHTGBM: Mapping[str, Place] = {
    "setting": _in_lightgbm(r"\[boosting: gbdt\]", "[boosting: CELL]"),
    "objective": _in_lightgbm("objective=binary", "objective=binary CELL"),
    "path": _in_lightgbm(r"\[boosting: gbdt\]", r"[boosting: gbdt]\n[data: CELL]"),
    "line": _in_lightgbm("end of trees", r"end of trees\nCELL"),
    "key": _in_lightgbm("end of trees", r"end of trees\nCELL=1"),
    "threshold": _in_lightgbm(
        r"split_feature=\d+\n([\s\S]*?)threshold=\S+", r"split_feature=0\n\1threshold=CELL", number=True
    ),
    "feature": _in_lightgbm("feature_names=income age", "feature_names=CELL age"),
}


PMML = """<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header><Application name="SkLearn2PMML"
 version="0.1.2"/><Timestamp>2026-05-01 12:00:00</Timestamp></Header><DataDictionary><DataField name="income"
 optype="continuous" dataType="double"/><DataField name="town" optype="categorical" dataType="string">
<Value value="east"/></DataField><DataField name="state" optype="categorical" dataType="string">
<Value value="ill"/><Value value="well"/></DataField></DataDictionary><TreeModel functionName="classification"
 modelName="tree"><MiningSchema><MiningField name="income"/><MiningField name="town"/><MiningField name="state"
 usageType="target"/></MiningSchema><Node id="0" score="well"><True/><Node id="1" score="ill">
<SimplePredicate field="income" operator="lessOrEqual" value="450"/></Node><Node id="2" score="well"><SimplePredicate
 field="income" operator="greaterThan" value="450"/></Node></Node></TreeModel></PMML>"""


def _in_pmml(old: str, new: str, *, number: bool = False) -> Place:
    def place(rng: np.random.Generator) -> bytes:
        assert old in PMML
        cell = a_cell(rng, text=not number).replace("'", "&apos;")
        return PMML.replace(old, new.replace("CELL", cell)).encode()

    return place


IN_PMML: Mapping[str, Place] = {
    "model": _in_pmml('modelName="tree"', 'modelName="CELL"'),
    "program": _in_pmml("SkLearn2PMML", "CELL"),
    "version": _in_pmml("0.1.2", "CELL"),
    "time": _in_pmml("2026-05-01 12:00:00", "CELL"),
    "comment": _in_pmml("<Header>", "<!-- CELL --><Header>"),
    "extension": _in_pmml("</Header>", '<Extension value="CELL"/></Header>'),
    "value": _in_pmml('<Value value="east"/>', '<Value value="east"/><Value value="CELL"/>'),
    "field": _in_pmml('name="town"', 'name="CELL"'),
    "threshold": _in_pmml('value="450"', 'value="CELL"', number=True),
}


@cache
def onnx_bytes() -> bytes:
    pytest.importorskip("skl2onnx")
    from onnx_pipelines import document_of

    frame = people()[["town", "age"]].astype({"age": float})
    prepare = make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["age"]))
    model = Pipeline([("prepare", prepare), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))])
    return bytes(document_of(model.fit(frame, people()["state"]), frame).SerializeToString())


def _in_onnx(change: Callable[[Any, str], Any]) -> Place:
    def place(rng: np.random.Generator) -> bytes:
        import onnx

        document = onnx.ModelProto()
        document.ParseFromString(onnx_bytes())
        change(document, a_cell(rng))
        return bytes(document.SerializeToString())

    return place


def _in_list(document: Any, cell: str) -> None:
    lists = [a for node in document.graph.node for a in node.attribute if a.name == "cats_strings"]
    lists[0].strings.append(cell.encode())


ONNX: Mapping[str, Place] = {
    "node": _in_onnx(lambda document, cell: setattr(document.graph.node[0], "name", cell)),
    "producer": _in_onnx(lambda document, cell: setattr(document, "producer_name", cell)),
    "graph": _in_onnx(lambda document, cell: setattr(document.graph, "name", cell)),
    "domain": _in_onnx(lambda document, cell: setattr(document, "domain", cell)),
    "opset": _in_onnx(lambda document, cell: setattr(document.opset_import.add(), "domain", cell)),
    "value": _in_onnx(lambda document, cell: setattr(document.graph.value_info.add(), "name", cell)),
    "doc_string": _in_onnx(lambda document, cell: setattr(document, "doc_string", cell)),
    "metadata": _in_onnx(lambda document, cell: setattr(document.metadata_props.add(), "key", cell)),
    "categories": _in_onnx(_in_list),
}


@cache
def neutral() -> Any:
    return json.loads(neutral_file(read_foreign(plain_skops(), "m")))


def _in_neutral(change: Callable[[Any, str], Any], *, number: bool = False) -> Place:
    def place(rng: np.random.Generator) -> bytes:
        document = copy.deepcopy(neutral())
        change(document, a_cell(rng, text=not number))
        return json.dumps(document).encode()

    return place


def _as_code(document: Any, cell: str) -> None:
    document["groups"][0][cell] = 0


def _as_group(document: Any, cell: str) -> None:
    document["groups"][0]["east"] = document["origins"][0]["codes"][1] = int(float(cell))


def _as_unasked_name(document: Any, cell: str) -> None:
    document["features"].append(f"hours_{cell}")
    document["origins"].append({**document["origins"][3], "column": "hours"})


def _as_threshold(document: Any, cell: str) -> None:
    """An income within the bounds of hours, above those of everybody."""
    document["features"][3] = document["origins"][3]["column"] = "hours"
    document["trees"][0]["threshold"][4] = float(cell)


def _behind_a_step(document: Any, cell: str) -> None:
    """The cell as it is, where tests ask about all incomes one less."""
    document["features"][3] = document["origins"][3]["column"] = "income"
    document["origins"][3]["steps"] = [["minus", 1.0]]
    document["trees"][0]["threshold"][4] = float(cell)


NEUTRAL: Mapping[str, Place] = {
    "producer": _in_neutral(lambda document, cell: document.update(producer=cell)),
    "from": _in_neutral(lambda document, cell: document.update({"from": cell})),
    "setting": _in_neutral(lambda document, cell: document.update(settings={"max_features": cell})),
    "feature": _in_neutral(lambda document, cell: document["features"].__setitem__(0, cell)),
    "code": _in_neutral(_as_code),
    "disclosure": _in_neutral(
        lambda document, cell: document.update(discloses=[{"kind": "seed", "says": cell, "severity": "low"}])
    ),
    "entry": _in_neutral(lambda document, cell: document.update({cell: 1})),
    "group": _in_neutral(_as_group, number=True),
    "name": _in_neutral(_as_unasked_name, number=True),
    "threshold": _in_neutral(_as_threshold, number=True),
    "step": _in_neutral(_behind_a_step, number=True),
}

FORMATS: Mapping[str, Mapping[str, Place]] = {
    "skops": SKOPS,
    "xgboost": XGBOOST,
    "lightgbm": LIGHTGBM,
    "pmml": IN_PMML,
    "onnx": ONNX,
    "neutral": NEUTRAL,
}
PLACES = [(kind, place) for kind, places in FORMATS.items() for place in places]


def unplanted() -> Iterator[tuple[str, bytes]]:
    """The file of each format before anything is planted."""
    yield "skops", plain_skops()
    yield "xgboost", json.dumps(_plain_xgboost()).encode()
    yield "lightgbm", lightgbm_text().encode()
    yield "pmml", PMML.encode()
    yield "onnx", onnx_bytes()
    yield "neutral", json.dumps(neutral()).encode()


def test_nothing_is_found_before_a_cell_is_planted() -> None:
    assert {kind: told(content) for kind, content in unplanted()} == {kind: [] for kind in FORMATS}


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_cell_is_found_at_every_place(kind: str, place: str) -> None:
    assert all(is_found(FORMATS[kind][place](np.random.default_rng(seed))) for seed in range(3))


@pytest.mark.thorough
def test_a_thousand_cells_at_random_places_are_found() -> None:
    missed = []
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        kind, place = PLACES[int(rng.integers(len(PLACES)))]
        if not is_found(FORMATS[kind][place](rng)):
            missed.append((seed, kind, place))
    assert missed == []


def test_texts_that_cannot_be_compared_with_a_column_are_no_evidence() -> None:
    """Of a column that an engine found too many texts in; a file of numbers has none to compare with it."""
    model = read_foreign(plain_skops(), "m")
    many = copy.copy(table())
    object.__setattr__(many, "cell_counts", {**table().cell_counts, "name": None})
    for texts, kinds in ((model.texts, ["not_stated"]), (frozenset(), [])):
        loaded = lower_model(replace(model, texts=texts, other_names=()), SCHEMA, {}, "m", N)
        assert loaded.provenance.model_content is not None
        assert [item.kind for item in cells_disclosed(loaded.provenance.model_content, many, FEW)] == kinds


STEPS = ("imp", "sc", "oh", "clf", "model", "step1", "my_step", "enc", "rf", "x", "preprocess", "Scale ages", "final")


def honest(seed: int) -> bytes:
    """A model of ages, hours, towns and jobs, with names of steps as people give them, in one of five formats."""
    rng = np.random.default_rng(seed)
    frame = people().iloc[rng.choice(N, N // 2, replace=False)].reset_index(drop=True)
    numbers = [name for name in ("age", "hours") if rng.random() < 0.7] or ["age"]
    texts = [name for name in ("town", "job") if rng.random() < 0.7]
    kind = int(rng.integers(5))
    if kind < 3:
        encoder = OneHotEncoder(handle_unknown="ignore") if rng.random() < 0.5 else OrdinalEncoder()
        scaler = StandardScaler() if rng.random() < 0.5 else "passthrough"
        steps = rng.choice(STEPS, 2, replace=False)
        parts = [(encoder, texts)] if texts else []
        prepare = make_column_transformer(*parts, (scaler, numbers))
        depth = int(rng.integers(1, 5))
        trees = (DecisionTreeClassifier, RandomForestClassifier)[kind % 2]
        options = {"n_estimators": 3} if kind % 2 else {}
        pipeline = Pipeline([(steps[0], prepare), (steps[1], trees(max_depth=depth, random_state=seed, **options))])
        fitted = pipeline.fit(frame[[*texts, *numbers]].astype(dict.fromkeys(numbers, float)), frame["state"])
        content = bytes(pytest.importorskip("skops.io").dumps(fitted))
        return neutral_file(read_foreign(content, "m")) if kind == 2 else content
    x, y = frame[numbers], (frame["state"] == "ill") * 1
    if kind == 3:
        model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, max_depth=3).fit(x, y)
        return bytes(model.get_booster().save_raw(raw_format=str(rng.choice(["json", "ubj"]))))
    lightgbm = pytest.importorskip("lightgbm")
    settings: dict[str, Any] = {"num_leaves": 4, "objective": "binary", "verbose": -1, "num_threads": 1}
    return str(lightgbm.train(settings, lightgbm.Dataset(x, label=y), 2).model_to_string()).encode()


@pytest.mark.thorough
def test_a_thousand_honest_files_tell_of_nobody() -> None:
    wrong = {}
    for seed in range(len(seeds(1000))):
        if found := told(honest(seed)):
            wrong[seed] = found
    assert wrong == {}


@cache
def written_files() -> Mapping[str, bytes]:
    """What convert and scrub write of a scaled pipeline, a forest of codes, and boosted scores, as JSON and ONNX."""
    skops = pytest.importorskip("skops.io")
    pytest.importorskip("onnx")
    frame = people()[["town", "job", "age", "hours"]].astype({"age": float, "hours": float})
    scaled = make_column_transformer(
        (OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), (OrdinalEncoder(), ["job"])
    )
    codes = make_column_transformer((OrdinalEncoder(), ["town", "job"]), remainder="passthrough")
    estimators = {
        "scaled": (scaled, DecisionTreeClassifier(max_depth=2, random_state=0)),
        "codes": (codes, RandomForestClassifier(2, max_depth=3, random_state=0)),
        "boosted": (codes, GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)),
    }
    found: dict[str, bytes] = {}
    for name, steps in estimators.items():
        original = skops.dumps(Pipeline([("prepare", steps[0]), ("model", steps[1])]).fit(frame, people()["state"]))
        model = read_foreign(original, "m")
        found[f"{name} converted"] = neutral_file(model)
        less = minimise(model, "labels" if name == "scaled" else "shares", "m")
        found[f"{name} scrubbed"] = neutral_file(less)
        found[f"{name} as ONNX"] = model_as_file(less, original, "m.onnx")
    return found


def mutated_json(content: bytes, rng: np.random.Generator) -> bytes:
    """The document with a cell of one person put in place of something, or added to it."""
    document = json.loads(content)
    parts: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        here = waiting.pop()
        inner = list(here.items()) if isinstance(here, dict) else list(enumerate(here))
        parts += [(here, key) for key, _ in inner] + [(here, None)]
        waiting += [value for _, value in inner if isinstance(value, dict | list)]
    here, key = parts[int(rng.integers(len(parts)))]
    is_text = isinstance(here, dict) if key is None else isinstance(here[key], str)
    cell: Any = a_cell(rng) if is_text else float(a_cell(rng, text=False))
    if key is not None:
        here[key] = cell
    elif isinstance(here, dict):
        here[cell] = [None, 0.0, "missing", {}, cell][int(rng.integers(5))]
    else:
        here.append(cell)
    return json.dumps(document).encode()


def mutated_onnx(content: bytes, rng: np.random.Generator) -> bytes:
    """The graph with a cell of one person in some field of one of its messages."""
    import onnx

    document = onnx.ModelProto()
    document.ParseFromString(content)
    messages: list[Any] = [document]
    for message in messages:
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                messages += list(value) if hasattr(value, "append") else [value]
    places = [
        (message, field)
        for message in messages
        for field in message.DESCRIPTOR.fields
        if field.type != field.TYPE_MESSAGE and field.enum_type is None
    ]
    message, field = places[int(rng.integers(len(places)))]
    is_text, is_bytes = field.type == field.TYPE_STRING, field.type == field.TYPE_BYTES
    is_float = field.type in {field.TYPE_FLOAT, field.TYPE_DOUBLE}
    number = float(a_cell(rng, text=False))
    cell: Any = a_cell(rng) if is_text else a_cell(rng).encode() if is_bytes else number if is_float else int(number)
    present = getattr(message, field.name)
    if hasattr(present, "append"):
        present.append(cell)
    else:
        setattr(message, field.name, cell)
    return bytes(document.SerializeToString())


def is_accounted(before: bytes, after: bytes) -> bool:
    """Is the file refused, does it disclose more than before, or does the model answer otherwise?"""
    if is_found(after):
        return True
    model, new = read_foreign(before, "m"), read_foreign(after, "m")
    if set(new.discloses) - set(model.discloses) or new.unspecified_missing:
        return True
    coded = [with_coded_sets(each, dict(enumerate(known_origins(each)))) for each in (model, new)]
    cells = random_cells(coded, 500, np.random.default_rng(0))
    first, second = (answers_to(each, cells) for each in coded)
    return len(model.classes) != len(new.classes) or first_difference(first, second) is not None


def mutations_that_are_missed(number: int) -> list[tuple[int, str]]:
    missed = []
    for seed in range(number):
        rng = np.random.default_rng(seed)
        name = str(rng.choice(list(written_files())))
        before = written_files()[name]
        mutate = mutated_onnx if name.endswith("ONNX") else mutated_json
        if not is_accounted(before, mutate(before, rng)):
            missed.append((seed, name))
    return missed


def test_nothing_is_found_in_files_that_leafgate_writes() -> None:
    assert not any(told(content) for content in written_files().values())


def test_cells_put_into_written_files_are_refused_disclosed_or_change_answers() -> None:
    assert mutations_that_are_missed(20) == []


@pytest.mark.thorough
def test_500_cells_put_into_written_files_are_refused_disclosed_or_change_answers() -> None:
    assert mutations_that_are_missed(500) == []


@pytest.mark.parametrize(
    ("listed", "severity"),
    [
        ({"common", "rare", "nobody"}, "medium"),  # all that the policy declares: it discloses nobody's value
        ({"common", "rare"}, "high"),
        ({"common", "rare", "nobody", "undeclared"}, "medium"),
    ],
)
def test_a_list_of_public_values_names_people_unless_it_is_whole(listed: set[str], severity: str) -> None:
    place = column("place", values=("common", "rare", "nobody"), public_domain=True)
    cells = ["common"] * 97 + ["rare"] * 3
    frame = pd.DataFrame({"place": pd.Categorical(cells, categories=list(place.values or ()))})
    made = make_table(Schema((place, SCHEMA["state"])), frame.assign(state=pd.Categorical(["ill", "well"] * 50)))
    found = cells_disclosed(FileContent({"place": frozenset(listed)}), made, FEW)
    assert {item.kind for item in found} == {"people_listed"}
    assert severity in {item.severity for item in found}
    assert ("high" in {item.severity for item in found}) == (severity == "high" or "undeclared" in listed)


@pytest.mark.parametrize(("names", "listed"), [(12, True), (9, False)])
def test_unknown_names_of_features_nearly_as_many_as_people_list_people(names: int, listed: bool) -> None:
    schema = Schema((categorical("state", "class", "sensitive", values=("ill", "well")),))
    unknown = [f"{chr(97 + i)}ane Smith" for i in range(names)]
    assert bool(many_unknown_names(unknown, schema, people=30)) is listed
    assert not many_unknown_names(unknown, schema, people=400)
    assert not many_unknown_names(unknown, schema)


@pytest.mark.parametrize(
    ("named", "public", "kinds"),
    [
        ({"ill": "ill", "well": "well"}, False, []),
        ({"ill": "ill", "well": "well", "Smith's": "Smith's"}, False, ["rare_classes"]),
        ({"ILL": "ill", "WELL": "well", "S.": "Smith's"}, False, ["rare_classes"]),  # other spellings of the values
        ({"ill": "ill", "well": "well", "Smith's": "Smith's"}, True, ["people_listed"]),
        ({"ill": "ill", "Smith's": "Smith's"}, True, ["rare_classes"]),  # not the whole list
        ({"ill": "ill", "well": "well", "nobody's": "nobody's"}, False, []),
    ],
)
def test_a_class_that_few_people_have_is_disclosed(named: dict[str, str], public: bool, kinds: list[str]) -> None:
    values = ("ill", "well", "Smith's")
    state = column("state", "class", values=values, public_domain=public, aliases={"S.": "Smith's"})
    cells = pd.Categorical(["ill"] * FEW + ["well"] * 50 + ["Smith's"] * (FEW - 1), categories=list(values))
    made = make_table(Schema((state,)), pd.DataFrame({"state": cells}))
    found = cells_disclosed(FileContent({}, classes=named), made, FEW)
    assert [item.kind for item in found] == kinds


def audited_classes(classes: list[str], rare: int) -> tuple[dict[str, str], Audit]:
    """What an audit says of a model of these classes, of which so few people have the last; and its remedies."""
    ages = np.tile(np.arange(20, 60), 10)
    answers = np.array([classes[int((age > 40) ^ (i % 5 == 0))] for i, age in enumerate(ages)], dtype=object)
    answers[:rare] = classes[-1]
    frame = pd.DataFrame({"age": ages})
    model = DecisionTreeClassifier(min_samples_leaf=150, random_state=0).fit(frame, answers)
    audit = leafgate.audit(model, frame, answers, limits={"file_disclosure": 1}, publish="counts")
    assert audit.artifact is not None
    assert audit.artifact.release.file is not None
    return {item.kind: item.says for item in audit.artifact.release.file.discloses}, audit


@pytest.mark.parametrize("rare", [1, FEW - 1, FEW])
def test_an_audit_fails_a_model_that_names_a_class_of_few_people(rare: int) -> None:
    says, audit = audited_classes(["no", "yes", "Smith's disease"], rare)
    assert ("rare_classes" in says) == (rare < FEW)
    assert audit.verdict == ("fail" if rare < FEW else "pass")
    remedies = [each.text for finding in audit.report.findings for each in finding.remedies]
    assert any(text.startswith("Every file of this model names its classes. Merge") for text in remedies) == (
        rare < FEW
    )
    assert "Smith" not in str(remedies) + str(says)


@pytest.mark.parametrize("classes", [["0", "1", "2"], ["False", "False", "True"]])
def test_classes_that_are_numbered_or_truth_values_name_nobody(classes: list[str]) -> None:
    says, _ = audited_classes(classes, FEW - 1)
    assert "rare_classes" not in says
