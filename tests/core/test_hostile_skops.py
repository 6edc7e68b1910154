import contextlib
import io
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from leafgate.errors import ReleaseError
from leafgate.foreign.neutral_file import written
from leafgate.foreign.origins import Coded
from leafgate.foreign.reading import read_foreign
from leafgate.foreign.seen import Seen
from leafgate.foreign.sklearn_columns import transformed
from leafgate.foreign.sklearn_made import raw
from patience import ends_soon
from sample_model import MODEL
from sklearn_zoo import answers, rows, skops_bytes

GOOD = skops_bytes(DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows(1), answers(rows(1), 2)))

Parts = dict[str, bytes]


def parts() -> Parts:
    archive = zipfile.ZipFile(io.BytesIO(GOOD))
    return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Parts, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def npy(array: Any, *, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def nodes_name(entries: Parts) -> str:
    return next(name for name, content in entries.items() if b"left_child" in content and name.endswith(".npy"))


def with_nodes(change: Callable[[Any], None]) -> bytes:
    """The file with other nodes in its tree."""
    entries = parts()
    nodes = np.load(io.BytesIO(entries[nodes_name(entries)])).copy()
    change(nodes)
    return zipped({**entries, nodes_name(entries): npy(nodes)})


def node(field: str, value: Any, at: int = 0) -> bytes:
    def change(nodes: Any) -> None:
        nodes[field][at] = value

    return with_nodes(change)


def with_array(content: bytes) -> bytes:
    entries = parts()
    return zipped({**entries, nodes_name(entries): content})


def header(shape: str, length: int | None = None) -> bytes:
    told = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(told) if length is None else length) + told


def with_schema(text: bytes) -> bytes:
    return zipped({**parts(), "schema.json": text})


class Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


RAN = Path("/tmp/leafgate-hostile-skops-ran")
SCHEMA = parts()["schema.json"]


def schema_with(old: bytes, new: bytes) -> bytes:
    assert old in SCHEMA
    return with_schema(SCHEMA.replace(old, new))


def bomb() -> bytes:
    """A gigabyte of nothing in a megabyte."""
    return zipped({**parts(), "zeros.npy": bytes(2**30)})


def lying_bomb() -> bytes:
    """An entry that says it is short, and is not."""
    entries = parts()
    content = bytearray(zipped({**entries, nodes_name(entries): bytes(2**26)}))
    size = struct.pack("<I", 2**26)
    return bytes(content).replace(size, struct.pack("<I", 100))


def laughs(key: str) -> bytes:
    """A list that has the list before it twice, and so on: 2**38 values in all, in one attribute of the estimator."""
    node: dict[str, Any] = {"__loader__": "ListNode", "__id__": 10**6, "content": []}
    for i in range(10**6 + 1, 10**6 + 39):
        again = {"__loader__": "CachedNode", "__id__": i - 1}
        node = {"__loader__": "ListNode", "__id__": i, "content": [node, again]}
    document = json.loads(SCHEMA)
    document["content"]["content"][key] = node
    return with_schema(json.dumps(document).encode())


def unions() -> bytes:
    """A union of twice a union of twice a union, and so on, before the estimator."""

    def thing(kind: str, number: int, facts: dict[str, Any]) -> dict[str, Any]:
        content = {"__loader__": "DictNode", "content": facts}
        return {"__class__": kind, "__loader__": "ObjectNode", "__id__": number, "content": content}

    def named(*steps: Any) -> dict[str, Any]:
        name = {"__loader__": "JsonNode", "content": '"a"'}
        rows = [{"__loader__": "TupleNode", "content": [name, step]} for step in steps]
        return {"__loader__": "ListNode", "content": rows}

    inner = thing("FeatureUnion", 10**6, {"transformer_list": named()})
    for i in range(10**6 + 1, 10**6 + 20):
        again = {"__loader__": "CachedNode", "__id__": i - 1}
        inner = thing("FeatureUnion", i, {"transformer_list": named(inner, again)})
    inner["content"]["content"]["n_features_in_"] = {"__loader__": "JsonNode", "content": "1"}
    pipeline = thing("Pipeline", 10**7, {"steps": named(inner, json.loads(SCHEMA))})
    return with_schema(json.dumps(pipeline).encode())


HOSTILE: dict[str, Callable[[], bytes]] = {
    "child out of range": lambda: node("left_child", 10**9),
    "child far below": lambda: node("right_child", -(2**62)),
    "itself its child": lambda: node("left_child", 0),
    "a loop": lambda: node("left_child", 0, 1),
    "feature out of range": lambda: node("feature", 10**6),
    "NaN threshold": lambda: node("threshold", np.nan),
    "minus infinity": lambda: node("threshold", -np.inf),
    "counts that do not add up": lambda: node("weighted_n_node_samples", 7.0),
    "negative counts": lambda: node("weighted_n_node_samples", -600.0),
    "sizes of others": lambda: node("n_node_samples", -1),
    "nodes that are none": lambda: with_array(npy(np.zeros(3))),
    "nodes of another shape": lambda: with_array(npy(np.zeros((3, 3)))),
    "10 GB header": lambda: with_array(header("(1342177280,)")),
    "header of 4 GB": lambda: with_array(header("(1,)", 2**32 - 1)),
    "header that never ends": lambda: with_array(header("(" * 5000)),
    "negative shape": lambda: with_array(header("(-1,)")),
    "shape beyond numbers": lambda: with_array(header("(" + "9" * 4000 + ",)")),
    "a pickle inside": lambda: with_array(npy(np.array([Bomb(str(RAN))], dtype=object), allow_pickle=True)),
    "a pickle beside": lambda: zipped({**parts(), "more.pkl": pickle.dumps(Bomb(str(RAN)))}),
    "a pickle called an array": lambda: with_array(pickle.dumps(Bomb(str(RAN)))),
    "no arrays": lambda: zipped({"schema.json": SCHEMA}),
    "no schema": lambda: zipped({"a.npy": npy(np.zeros(1))}),
    "a schema of lists": lambda: with_schema(b"[" * 500_000),
    "a schema of no node": lambda: with_schema(b"{}"),
    "keys twice": lambda: schema_with(
        b'"__class__": "DecisionTreeClassifier",', b'"__class__": "A", "__class__": "B",'
    ),
    "another class": lambda: schema_with(b'"__class__": "DecisionTreeClassifier"', b'"__class__": "Popen"'),
    "no tree": lambda: schema_with(b'"tree_"', b'"three_"'),
    "a laugh of laughs": lambda: laughs("classes_"),
    "a union of unions": unions,
    "more nodes than a tree has": lambda: zipped({**parts(), "more.npy": bytes(97 * 2**20)}),
    "zip bomb": bomb,
    "a bomb that lies": lying_bomb,
    "cut off": lambda: GOOD[: len(GOOD) // 2],
    "only a start": lambda: GOOD[:40],
    "too many entries": lambda: GOOD + b"PK\x01\x02" * 60_000,
    "itself for ever": lambda: with_schema(
        b'{"__class__":"Pipeline","__loader__":"ObjectNode","__id__":1,"content":'
        b'{"__loader__":"DictNode","content":{"steps":{"__loader__":"CachedNode","__id__":1}}}}'
    ),
    "itself within itself": lambda: with_schema(
        b'{"__loader__":"ListNode","__id__":1,"content":['
        + b'{"__loader__":"CachedNode","__id__":1},' * 30
        + b'{"__loader__":"CachedNode","__id__":1}]}'
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon_and_runs_nothing(name: str) -> None:
    RAN.unlink(missing_ok=True)
    content = HOSTILE[name]()
    with ends_soon(), pytest.raises(ReleaseError) as caught:
        read_foreign(content, "model.skops")
    assert caught.value.exit_code == 2
    assert not RAN.exists()


@pytest.mark.parametrize(
    "name", ["10 GB header", "zip bomb", "a bomb that lies", "a schema of lists", "header of 4 GB"]
)
def test_a_hostile_file_takes_little_memory(name: str, tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not say how much memory a process took")
    (tmp_path / "m.skops").write_bytes(HOSTILE[name]())
    program = (
        "import pathlib; from leafgate.foreign.reading import read_foreign\n"
        "import leafgate.foreign.skops_file\n"
        "from leafgate.errors import ReleaseError\n"
        f"try: read_foreign(pathlib.Path({str(tmp_path / 'm.skops')!r}).read_bytes(), 'm')\n"
        "except ReleaseError: print(pathlib.Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert int(told) * 1024 < 500 * 2**20


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_byte_of_any_part_may_be_another(data: st.DataObject) -> None:
    entries = parts()
    name = data.draw(st.sampled_from(sorted(entries)))
    content = bytearray(entries[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ReleaseError):
        read_foreign(zipped({**entries, name: bytes(content)}), "model.skops")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_node_of_the_schema_may_be_anything(data: st.DataObject) -> None:
    document = json.loads(SCHEMA)
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or not here[key] or data.draw(st.integers(0, 3)) == 0:
            here[key] = data.draw(ANYTHING)
            break
        here = here[key]
    with contextlib.suppress(ReleaseError):
        read_foreign(with_schema(json.dumps(document).encode()), "model.skops")


def thing(kind: str, **facts: Any) -> Seen:
    return Seen(kind, "model", frozenset(facts), facts.__getitem__)


def test_many_categories_take_no_more_time_and_memory_than_there_are() -> None:
    """4,000 categories, one feature each, scaled afterwards; in pairs of category and feature they are 16 millions."""
    values = tuple(f"z{i}" for i in range(4_000))
    with ends_soon():
        made = transformed(thing("OneHotEncoder", categories_=(values,)), raw(["zip"]), "model")
        scaler = thing("MaxAbsScaler", scale_=np.full(4_000, 2.0))
        made = transformed(scaler, made, "model")
        codes = made[17].origin
        assert isinstance(codes, Coded)
        assert (made[17].name, codes.other) == ("zip_z17", None)
        assert {value for value in values if codes.codes[value] == 0.5} == {"z17"}
        assert codes.codes["z18"] == 0.0
        model = replace(MODEL, features=tuple(one.name for one in made), origins=tuple(one.origin for one in made))
        content = written(model)
        assert len(content) < 10**6
        again = read_foreign(content, "model").origins
        assert again is not None
        assert again[17] == codes


def test_names_of_many_columns_are_found_at_once() -> None:
    names = tuple(f"c{i}" for i in range(60_000))
    with ends_soon():
        part = ("a", "passthrough", names)
        assert len(transformed(thing("ColumnTransformer", transformers_=(part,)), raw(names), "model")) == 60_000
        twice = thing("ColumnTransformer", transformers_=(part,) * 10_000)
        with pytest.raises(ReleaseError, match="makes more than 100,000 features"):
            transformed(twice, raw(names), "model")


def test_a_forged_name_is_told_in_one_short_line() -> None:
    forged = b'"__class__": "Popen\\nverdict: PASS' + b"x" * 5_000 + b'"'
    with pytest.raises(ReleaseError) as caught:
        read_foreign(schema_with(b'"__class__": "DecisionTreeClassifier"', forged), "model.skops")
    said = str(caught.value).partition(", which")[0]
    assert "Popen?verdict" in said
    assert len(said) < 200
