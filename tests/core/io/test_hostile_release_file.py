import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import ReleaseError
from leafgate.api import CategoricalSplit, Leaf, Schema
from leafgate.app import load_release, read_release, serialize
from patience import ends_soon
from sample_release import Steps, changed, written

TREE: Steps = ("trees", 0)
CUT: Steps = (*TREE, "branches", 0, "node")
LEAF: Steps = (*CUT, "low")
AGE: Steps = ("schema", "age")
ROW: Steps = ("records", "rows", 0)
NODE = {"kind": "leaf", "label": "low"}
HUGE = 10**400

WRONG: list[tuple[Steps, Any]] = [
    (("format",), "leafgate/release/2"),
    (("target",), "age"),
    (("classes",), ["high", "low"]),
    (("counted",), "roughly"),
    (("combine",), ["one"]),
    (("model",), {}),
    (("publish", "leaves"), "everything"),
    (("publish",), None),
    (("builder",), "kadet"),
    (("guarantee",), [3]),
    (("selection",), "gain"),
    (("alternatives",), [NODE]),
    (("schema",), {}),
    ((*AGE, "role"), [["quasi_identifier"]]),
    ((*AGE, "role"), ["spy"]),
    ((*AGE, "bounds"), [90, 17]),
    ((*AGE, "bounds"), [0, HUGE]),
    (("schema", "sports", "values"), ["yes", "yes"]),
    (("schema", "income", "role"), ["sensitive"]),
    (("schema", "income", "values"), None),
    ((*CUT, "column"), "height"),
    ((*CUT, "column"), ["age"]),
    ((*CUT, "column"), "sports"),
    ((*CUT, "at"), "37"),
    ((*CUT, "at"), True),
    ((*CUT, "at"), HUGE),
    ((*CUT, "missing"), "left"),
    ((*CUT, "missing"), {}),
    ((*CUT, "low"), None),
    ((*CUT, "kind"), "stump"),
    ((*CUT, "kind"), ["cut"]),
    ((*TREE, "column"), "age"),
    ((*TREE, "branches"), []),
    ((*TREE, "branches", 0, "values"), ["perhaps"]),
    ((*TREE, "branches", 0, "values"), ["yes", "yes"]),
    ((*TREE, "branches", 0, "values"), [["yes"]]),
    ((*TREE, "branches"), [{"values": ["yes"], "node": NODE}, {"values": ["no", "yes"], "node": NODE}]),
    ((*TREE, "other"), []),
    ((*LEAF, "label"), "middle"),
    ((*LEAF, "label"), ["low"]),
    ((*LEAF, "counts"), {"low": -1, "high": 2}),
    ((*LEAF, "counts"), {"low": 1, "middle": 2}),
    ((*LEAF, "counts"), {"low": True, "high": 2}),
    ((*LEAF, "counts"), {"low": HUGE, "high": 2}),
    ((*LEAF, "counts"), {"low": 2**53 + 1, "high": 2}),
    ((*LEAF, "counts"), [1, 2]),
    ((*LEAF, "shares"), {"low": 0.5, "high": 0.4}),
    ((*LEAF, "shares"), {"low": 1.5, "high": -0.5}),
    ((*LEAF, "error_rate"), 2),
    ((*LEAF, "error_rate"), "0"),
    ((*LEAF, "value"), "1"),
    ((*LEAF, "value"), 34.5),
    ((*CUT, "strict"), [["34", "Jane", "high"]]),
    ((*CUT, "float32"), "Jane has a high income"),
    ((*AGE, "ordered"), {"Jane": "high"}),
    ((*AGE, "missing"), 1),
    ((*AGE, "bins"), [["34", "Jane", "high"]]),
    ((*AGE, "bins"), [90, 17]),
    (("trees",), {}),
    (("trees",), [None]),
    (("records",), []),
    (("records", "columns"), ["age", "height", "income"]),
    (("records", "weight"), [3, 4]),
    (("records", "weight"), [3, 4, 0]),
    (("records", "weight"), [3, 4, 5.5]),
    (ROW, ["yes"]),
    ((*ROW, 0), {"from": 1}),
    ((*ROW, 0), "yes"),
    ((*ROW, 0), 91),
    ((*ROW, 0), HUGE),
    ((*ROW, 1), "perhaps"),
    ((*ROW, 1), {"in": "yes"}),
    ((*ROW, 1), {"in": [["yes"]]}),
    ((*ROW, 1), {"withheld": False}),
    ((*ROW, 2), None),
    (("people",), [{"name": "Anna"}]),
    ((*LEAF, "note"), "Anna"),
    ((*CUT, "note"), "Anna"),
    ((*TREE, "branches", 0, "note"), "Anna"),
    ((*AGE, "note"), "Anna"),
    (("publish", "note"), "Anna"),
    (("records", "note"), "Anna"),
    (("records", "rows"), []),
    (("publish", "leaves"), "labels"),
    (("publish", "measure"), "gini"),
    ((*LEAF, "error_rate"), 0.5),
    (("builder", "use"), 3),
    (("trees",), [NODE, NODE]),
]


@pytest.mark.parametrize(("steps", "value"), WRONG, ids=[f"{s[-1]}={str(v)[:30]}" for s, v in WRONG])
def test_what_cannot_be_meant_is_refused_with_its_place(steps: Steps, value: Any) -> None:
    with pytest.raises(ReleaseError, match=r"^release") as caught:
        read_release(changed(steps, value), "release")
    assert caught.value.exit_code == 2


NO_JSON = {
    "nothing": b"",
    "not utf-8": b'"\xff"',
    "null": b"null",
    "a list": b"[1]",
    "two documents": written() + written(),
    "a key twice": written().replace(b'"k": 3', b'"k": 3, "k": 4'),
    "not a number": written().replace(b"37.5", b"NaN"),
    "infinite": written().replace(b"37.5", b"-Infinity"),
    "beyond floats": written().replace(b"37.5", b"1e999"),
    "beyond floats where nobody looks": written().replace(b'"k": 3', b'"k": 1e999'),
    "more digits than Python reads": written().replace(b"37.5", b"9" * 5000),
    "half a character": written().replace(b'"careful"', b'"\\ud800"'),
    "lists in lists": b"[" * 200_000,
}


@pytest.mark.parametrize("content", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_proper_json_is_refused_at_once(content: bytes) -> None:
    with ends_soon(), pytest.raises(ReleaseError):
        read_release(content, "release")


HIDDEN = [
    (b'"people": [["Ann", 37], ["Bob", 41]]', "1 key.s. that this version does not know"),
    (b'"alternatives": {"plain": 3}', "a key stands twice"),
    (b'"trees": []', "a key stands twice"),
    (b'"noise": {"height": {"law": "laplace", "scale": 1}}', "noise.height"),
]
"""What stands behind the trees, where a reader that looks for their last bracket does not look, and what is said."""


@pytest.mark.parametrize("end_of_trees", [b"\n ],\n ", b"], "])
@pytest.mark.parametrize(("hidden", "said"), HIDDEN)
def test_keys_behind_the_trees_are_read_wherever_the_trees_seem_to_end(
    end_of_trees: bytes, hidden: bytes, said: str
) -> None:
    document = written()
    end = document.rindex(b"\n ]")
    with_hidden = document[:end] + end_of_trees + hidden + b',\n "selection": [0' + document[end:]
    with pytest.raises(ReleaseError, match="a key stands twice"):
        read_release(with_hidden, "r")
    with pytest.raises(ReleaseError, match=said):
        read_release(with_hidden.replace(b'"selection": [0', b'"bayes": [0'), "r")


def test_known_keys_behind_the_trees_are_audited() -> None:
    document = written()
    end = document.rindex(b"\n ]")
    told = (
        b'{"format": "joblib", "model_sha256": "0", "discloses": [{"kind": "seed", "severity": "high", "says": "x"}]}'
    )
    # `bayes` is None as if it were missing; its list makes a second end of the trees.
    hidden = document[:end] + b'\n ],\n "file": ' + told.replace(b"}]}", b"}\n ]}") + document[end + 3 :]
    found = read_release(hidden, "r").release
    assert found.file is not None
    assert len(found.file.discloses) == 1
    assert found.trees == read_release(document, "r").release.trees


def test_trees_that_stand_in_another_key_are_not_read() -> None:
    document = json.loads(written())
    document["builder"]["trees"] = document["trees"]
    document["trees"] = ["trees"]
    text = json.dumps(document, indent=1).replace('\n  "trees": [', '\n "trees": [', 1).encode()
    with pytest.raises(ReleaseError, match=r"trees\[0\]"):
        read_release(text, "r")


@pytest.mark.parametrize("depth", [201, 400, 5000])
def test_a_tree_too_deep_to_be_meant_is_refused(depth: int) -> None:
    leaf = json.dumps(NODE).encode()
    side = b'{"kind": "cut", "column": "age", "at": 20, "low": ' + leaf + b', "high": '
    content = changed(("trees", 0), "HERE").replace(b'"HERE"', side * depth + leaf + b"}" * depth)
    with pytest.raises(ReleaseError, match="deep"):
        read_release(content, "release")


def places(thing: Any, here: Steps = ()) -> Iterator[Steps]:
    """Every place in a JSON document but the top."""
    if here:
        yield here
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, below in inside:
        yield from places(below, (*here, key))


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([HUGE, -HUGE])
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["yes", "low", "age", "leaf"])
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)


@given(st.sampled_from(list(places(json.loads(written())))), ANYTHING)
def test_anything_anywhere_is_read_or_refused(steps: Steps, value: Any) -> None:
    try:
        loaded = read_release(changed(steps, value), "release")
    except ReleaseError:
        return
    assert serialize(loaded).release == loaded.release


BRANCHES = 60_000
"""As many branches, held against a list of as many values, take a minute; against a set, a second."""


def wide(**changes: Any) -> bytes:
    """A release about one column of 60,000 values, which its records and its one tree name one by one."""
    values = [f"v{i}" for i in range(BRANCHES)]
    leaf = {"kind": "leaf", "label": "n"}
    schema = {
        "job": {"role": ["quasi_identifier"], "values": values},
        "ill": {"role": ["class", "sensitive"], "values": ["n", "y"]},
    }
    fields = {
        "format": "leafgate/release/1",
        "builder": {"use": "made"},
        "target": "ill",
        "classes": ["n", "y"],
        "publish": {"leaves": "labels", "measure": None},
        "counted": "unknown",
        "schema": schema,
        "guarantee": {},
        "combine": "one",
        "model": "trees",
        "alternatives": {},
        "records": {"columns": ["job"], "rows": [[value] for value in values], "weight": [1] * BRANCHES},
        "trees": [{"kind": "fan", "column": "job", "branches": [{"values": [v], "node": leaf} for v in values]}],
    }
    return json.dumps({**fields, **changes}).encode()


@pytest.mark.thorough
def test_many_branches_and_many_records_are_read_in_time_linear_in_them() -> None:
    with ends_soon():
        release = read_release(wide(), "release").release
    assert isinstance(release.trees[0], CategoricalSplit)
    assert len(release.trees[0].branches) == BRANCHES


@pytest.mark.parametrize("trees", [20_000, 20_001])
@pytest.mark.thorough
def test_more_trees_than_any_ensemble_has_are_refused(trees: int) -> None:
    leaf = {"kind": "leaf", "label": "n"}
    below = trees // 2
    content = wide(combine="vote", trees=[leaf] * below, alternatives={str(i): leaf for i in range(trees - below)})
    if trees == 20_000:
        assert len(read_release(content, "release").release.trees) == below
        return
    with pytest.raises(ReleaseError, match="has more than 20,000 trees"):
        read_release(content, "release")


@pytest.mark.thorough
def test_leaves_without_numbers_for_many_classes_are_refused_before_any_is_made() -> None:
    classes = [f"k{i}" for i in range(5_000)]
    schema = {
        "job": {"role": ["quasi_identifier"], "bounds": [0, 1]},
        "ill": {"role": ["class"], "values": classes},
    }
    leaf = {"kind": "leaf", "label": "k0", "counts": {}}
    publish = {"leaves": "counts", "measure": None}
    fields = {"schema": schema, "classes": classes, "publish": publish, "combine": "vote", "records": None}
    few = read_release(wide(**fields, trees=[leaf] * 20), "release").release.trees[0]
    assert isinstance(few, Leaf)
    assert few.counts == dict.fromkeys(classes, 0)
    with ends_soon(), pytest.raises(ReleaseError, match="leaves and classes for more than 10,000,000 numbers"):
        read_release(wide(**fields, trees=[leaf] * 10_000), "release")


@pytest.mark.thorough
def test_a_million_trees_of_one_leaf_are_refused_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, tail = wide(trees=["HERE"], combine="vote", records=None).split(b'"HERE"')
    leaves = b",".join([b'{"kind":"leaf","label":"n"}'] * 1_500_000)
    (tmp_path / "release.json").write_bytes(head + leaves + tail)
    monkeypatch.setattr("leafgate.models.load.read_release", lambda *given: pytest.fail("was parsed"))
    with pytest.raises(ReleaseError, match="would take more than 600 MB of memory"):
        load_release(tmp_path / "release.json", Schema(()))
