"""Hostile skops files, by what is wrong with each."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from sklearn_zoo import answers, rows, skops_bytes

GOOD = skops_bytes(DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows(1), answers(rows(1), 2)))

Parts = dict[str, bytes]


def parts() -> Parts:
    archive = zipfile.ZipFile(io.BytesIO(GOOD))
    return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Parts, compression: int = zipfile.ZIP_DEFLATED, level: int | None = None) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, compresslevel=level) as archive:
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
    result = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(result) if length is None else length) + result


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


@cache
def bomb() -> bytes:
    """A gigabyte of nothing in five megabytes."""
    return zipped({**parts(), "zeros.npy": bytes(2**30)}, level=1)


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
