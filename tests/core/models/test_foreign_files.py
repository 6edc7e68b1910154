import contextlib
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from installed_readers import is_foreign, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import (
    SIZES_DISCLOSURE,
    ArithmeticStep,
    CategoryCodes,
    MissingIndicator,
    ModelIR,
    Numeric,
    Unresolved,
)
from patience import ends_soon
from sample_model import MODEL, TREE

POLICY = """
leafgate: 1
name: model
data:
  path: people.csv
  missing: ["?"]
  on_missing: keep
  columns:
    age: {role: quasi_identifier, bounds: [17, 90]}
    school: {role: quasi_identifier, values: [none, basic, high]}
    income: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: model.json}
publish: {leaves: LEVEL}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}]
report: {smallest_cell: 1}  # eight people
"""
PEOPLE = "age,school,income\n" + "20,none,low\n30,basic,low\n" * 2 + "37.5,high,low\n25,high,high\n"
PEOPLE += "40,none,high\n?,?,high\n50,high,high\n60,basic,low\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "model.json").write_bytes(neutral_file(MODEL))
    return tmp_path


def findings(folder: Path, level: str) -> tuple[int, Mapping[str, Any]]:
    """An audit that claims to publish `level`: how it ends, and its findings."""
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", level))
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    return ended.code, {finding["id"]: finding for finding in ended.document["findings"]}


def test_a_model_file_is_audited_as_any_release(folder: Path) -> None:
    code, found = findings(folder, "counts")
    assert code == 0
    assert found["k_anonymity@linking#income"]["passed"]
    assert found["published_file"]["evidence"]["effective"] == "counts"
    assert found["published_file"]["evidence"]["discloses"] == [item.described() for item in MODEL.discloses]


@pytest.mark.parametrize("base", [(), (0.25,)], ids=["from nothing", "from a score"])
def test_a_report_counts_the_trees_of_a_boosted_model_and_not_what_it_starts_from(
    folder: Path, base: tuple[float, ...]
) -> None:
    scored = replace(TREE, values=TREE.values[:, 1:] - 2.5, counts=None, size=None)
    model = replace(MODEL, trees=(scored, scored), values="scores", combine="boost", base=base, counted="unknown")
    (folder / "model.json").write_bytes(neutral_file(replace(model, discloses=())))
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "shares"))
    document = leafgate("audit", folder / "policy.yaml", "--json").document
    assert (document["release"]["trees"], document["release"]["leaves"]) == (2, 6)
    assert (document["tree"]["trees"], document["tree"].get("number", 1)) == (2, 1)


def test_a_file_that_tells_more_than_the_policy_claims_fails(folder: Path) -> None:
    code, found = findings(folder, "labels")
    assert code == 1
    assert not found["published_file"]["passed"]
    assert "scrub" in found["published_file"]["evidence"]["remedy"]


def test_a_policy_limits_what_a_file_may_tell(folder: Path) -> None:
    limits = (
        "metrics: [{use: file_disclosure, at_most: 0}, {use: file_disclosure, name: any, severity: low, at_most: 1}]"
    )
    text = POLICY.replace("LEVEL", "counts").replace("metrics: [{use: k_anonymity, at_least: 2}]", limits)
    (folder / "policy.yaml").write_text(text)
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    found = {finding["id"]: (finding["value"], finding["passed"]) for finding in ended.document["findings"]}
    assert (found["file_disclosure"], found["any"]) == ((1, False), (1, True))


def test_a_broken_limit_on_a_file_lists_what_it_counts_and_the_command_that_mends_it(folder: Path) -> None:
    limits = "metrics: [{use: file_disclosure, at_most: 0}]"
    text = POLICY.replace("LEVEL", "counts").replace("metrics: [{use: k_anonymity, at_least: 2}]", limits)
    (folder / "policy.yaml").write_text(text)
    lines = leafgate("audit", folder / "policy.yaml").out.splitlines()
    broken = next(i for i, line in enumerate(lines) if "FAIL  file_disclosure" in line)
    (told,) = [i for i, line in enumerate(lines) if "the file discloses (high)" in line]
    assert told > broken  # and it stands under no limit that holds
    assert any("what to do: Write the model anew" in line for line in lines)
    report = leafgate("audit", folder / "policy.yaml", "--json").document
    finding = next(each for each in report["findings"] if each["metric"] == "file_disclosure")
    command = finding["remedies"][0]["command"]
    assert command[:2] == ["leafgate", "scrub"]
    words = {
        "MODEL": str(folder / "model.json"),
        "NEW": str(folder / "new.json"),
        "POLICY": str(folder / "policy.yaml"),
    }
    assert leafgate(*(words.get(word, word) for word in command[1:])).code == 0
    (folder / "new.json").rename(folder / "model.json")
    ended = leafgate("audit", folder / "policy.yaml")
    assert "ok    file_disclosure is 0" in ended.out


def test_names_of_columns_the_policy_drops_are_told_of(folder: Path) -> None:
    (folder / "model.json").write_bytes(neutral_file(replace(MODEL, features=(*MODEL.features, "surname"))))
    _, found = findings(folder, "counts")
    kinds = [item["kind"] for item in found["published_file"]["evidence"]["discloses"]]
    assert kinds == ["counts", "column_names"]


def test_counts_of_other_people_leave_the_audit_inconclusive(folder: Path) -> None:
    (folder / "people.csv").write_text(PEOPLE + "18,none,low\n")
    code, found = findings(folder, "counts")
    assert code == 3
    assert "counted" in found


EVERYTHING = replace(
    MODEL,
    origins=(
        Numeric("age", (ArithmeticStep("minus", 3.5), ArithmeticStep("over", 2.0)), 40.0),
        CategoryCodes("school", {"none": 0.0, "high": 1.5}, None, float("nan")),
    ),
    producer="by hand",
)
ABSENT = replace(
    MODEL, origins=(MissingIndicator("age"), Unresolved("school", "is made by a function, which is not run here"))
)
ABSENT_AS_MISSING = replace(MODEL, origins=(MissingIndicator("age", 0.0, math.nan), None))
BOOSTED = ModelIR(
    "skops",
    ("age", "school"),
    ("a", "b", "c"),
    (
        replace(
            TREE,
            values=TREE.values[:, :1],
            output=2,
            counts=None,
            size=np.array([np.nan, 6, 4, 2, 4]),
            strict=True,
            missing_low=np.array([True, False, False, False, False]),
            subsets={1: frozenset({"none", "basic", 3.0})},
        ),
    ),
    "scores",
    "boost",
    base=(0.5, -1.0, 0.25),
    discloses=(SIZES_DISCLOSURE,),
)


def test_an_infinite_number_is_no_neutral_file() -> None:
    endless = replace(MODEL, origins=(MissingIndicator("age", 0.0, math.inf), None))
    with pytest.raises(ReleaseError, match="infinite"):
        neutral_file(endless)


@pytest.mark.parametrize(
    "model",
    [MODEL, EVERYTHING, ABSENT, ABSENT_AS_MISSING, BOOSTED],
    ids=["plain", "origins", "absent", "absent as missing", "boosted"],
)
def test_a_neutral_file_read_back_is_the_same_model(model: ModelIR) -> None:
    read = read_foreign(neutral_file(model), "model")  # which tells the names of values besides
    assert neutral_file(replace(read, discloses=model.discloses)) == neutral_file(model)
    for mine, its in zip(model.trees, read.trees, strict=True):
        np.testing.assert_array_equal(mine.feature, its.feature)
        np.testing.assert_array_equal(mine.flag("missing_low"), its.flag("missing_low"))
        assert (mine.subsets, mine.output) == (its.subsets, its.output)
    assert (read.classes, read.combine, read.base, read.counted) == (
        *(model.classes, model.combine, model.base, model.counted),
    )


STRANGE: list[tuple[str, Any]] = [
    ("features", "age"),
    ("says", "nothing"),
    ("combine", []),
    ("counted", "roughly"),
    ("base", ["0"]),
    ("discloses", [{"kind": "x"}]),
    ("discloses", [{"kind": "x", "severity": "deadly", "says": "y"}]),
    ("origins", []),
    ("origins", [{"kind": "number", "column": "age", "steps": [["times", -1]]}, None]),
    ("origins", [{"kind": "spell", "column": "age"}, None]),
    ("origins", [{"kind": "absent", "column": "age", "there": 0, "gone": "gone"}, None]),
    ("origins", [{"kind": "absent", "column": "age", "there": 0}, None]),
    ("groups", 5),
    ("groups", [{"none": 0.5}]),
    ("origins", [{"kind": "coded", "column": "school", "codes": [0, 0, 1.0, 0.0]}, None]),
    ("trees", [{"feature": [0.5]}]),
    ("trees", [{}]),
    ("trees", "none"),
    ("people", ["Anna"]),
]


@pytest.mark.parametrize(("key", "value"), STRANGE, ids=[f"{key}={value}"[:40] for key, value in STRANGE])
def test_a_neutral_file_that_cannot_be_meant_is_refused(key: str, value: Any) -> None:
    fields = {**json.loads(neutral_file(MODEL)), key: value}
    with pytest.raises(ReleaseError):
        read_foreign(json.dumps(fields).encode(), "model")


def test_a_file_that_keeps_back_what_it_tells_is_seen_through() -> None:
    silent = replace(MODEL, discloses=())
    assert [item.kind for item in read_foreign(neutral_file(silent), "model").discloses] == ["counts"]
    sized = replace(silent, trees=(replace(TREE, counts=None),))
    read = read_foreign(neutral_file(sized), "model")
    assert ([item.kind for item in read.discloses], read.level) == (["sizes", "ratios"], "counts")


def test_what_would_fill_the_memory_is_refused_before_it_is_parsed() -> None:
    content = b'{"format":"leafgate/model/1","trees":[' + b"[]," * 6_000_000 + b"[]]}"
    with ends_soon(), pytest.raises(ReleaseError, match="would take more than 300 MB"):
        read_foreign(content, "model")


@pytest.mark.parametrize(
    ("length", "sign"), [(40_000_000, "\U0001f600"), (70_000_000, "\\ud83d\\ude00")], ids=["plain", "escaped"]
)
def test_one_wide_sign_makes_a_text_wide_and_so_too_large(length: int, sign: str) -> None:
    content = b'{"learner":"' + b"a" * length + sign.encode() + b'"}'
    with pytest.raises(ReleaseError, match="would take more than 300 MB"):
        read_foreign(content, "model")


class Bomb:
    """Whoever unpickles this finds a file of that name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_by_its_content_and_not_opened(folder: Path, protocol: int) -> None:
    content = pickle.dumps(Bomb(folder / "ran"), protocol)
    assert is_foreign(content[:4096])
    (folder / "model.json").write_bytes(content)
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    for command, place in (("audit", "model.json"), ("validate", "build.path")):
        ended = leafgate(command, folder / "policy.yaml", "--json")
        assert (ended.code, ended.problems[0]["place"]) == (2, place)
        assert "is a pickle" in ended.problems[0]["message"]
        assert all(way in ended.problems[0]["remedy"] for way in ("skops.io.dump", "leafgate convert", "--trust"))
    assert not (folder / "ran").exists()


def test_validate_asks_for_no_model_file(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    (folder / "model.json").unlink()
    assert leafgate("validate", folder / "policy.yaml").code == 0


def test_a_file_of_no_known_format_is_no_release(folder: Path) -> None:
    (folder / "model.json").write_bytes(b"tree\nversion=v9\n")
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    assert leafgate("audit", folder / "policy.yaml", "--json").code == 2


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path, kind: str) -> None:
    path = folder / "model.json"
    path.unlink()
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
    }
    make[kind]()
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    for command in (["audit", "policy.yaml", "--json"], ["convert", "model.json", "out.json"]):
        program = [sys.executable, "-c", "from leafgate.cli import main; main()", *command]
        ended = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 2
        assert kind != "pipe" or "is no regular file" in ended.stdout + ended.stderr


def test_encoding_speaks_of_models_only(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    code = leafgate("build", folder / "policy.yaml", "--out", folder / "release.json").code
    assert code == 0
    again = POLICY.replace("LEVEL", "counts").replace("model.json}", "release.json, encoding: {age: {column: age}}}")
    (folder / "policy.yaml").write_text(again)
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    assert (ended.code, "no foreign model" in ended.problems[0]["message"]) == (2, True)


@given(st.data())
def test_any_sign_of_a_neutral_file_may_be_another(data: st.DataObject) -> None:
    content = bytearray(neutral_file(EVERYTHING))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(30, len(content) - 1))] = data.draw(
            st.sampled_from(b'0123456789.-e"[]{},:nulltruefals')
        )
    with contextlib.suppress(ReleaseError):
        assert read_foreign(bytes(content), "model").trees


HOSTILE = {
    "child out of range": (b'"low":[1,2,-1,-1,-1]', b'"low":[1,9,-1,-1,-1]'),
    "itself its child": (b'"low":[1,2,-1,-1,-1]', b'"low":[0,2,-1,-1,-1]'),
    "NaN threshold": (b'"threshold":[37.5', b'"threshold":[NaN'),
    "beyond floats": (b'"threshold":[37.5', b'"threshold":[1e999'),
    "a key twice": (b'"features":', b'"says":"counts","features":'),
    "counts that do not add up": (b'"counts":[[6.0', b'"counts":[[7.0'),
    "more digits than Python reads": (b'"threshold":[37.5', b'"threshold":[' + b"9" * 5000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_ends_an_audit_with_exit_code_2(folder: Path, name: str) -> None:
    old, new = HOSTILE[name]
    content = neutral_file(MODEL)
    assert old in content
    (folder / "model.json").write_bytes(content.replace(old, new))
    (folder / "policy.yaml").write_text(POLICY.replace("LEVEL", "counts"))
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    assert ended.code == 2
    assert ended.problems[0]["place"].startswith("model.json")


@pytest.mark.parametrize("command", [("convert",), ("scrub", "--leaves", "labels")])
def test_a_model_is_never_written_over(folder: Path, command: tuple[str, ...]) -> None:
    before = (folder / "model.json").read_bytes()
    (folder / "second").hardlink_to(folder / "model.json")
    for out in ("model.json", "second"):
        ended = leafgate(command[0], folder / "model.json", folder / out, *command[1:])
        assert ended.code == 2
        assert "is a file that this command reads" in ended.err
    assert (folder / "model.json").read_bytes() == before


ILL = "Ada, 36; " * 200
SMUGGLED: dict[str, Callable[[Any], None]] = {
    "a long producer": lambda value: value.update(producer=ILL),
    "a long origin": lambda value: value.update({"from": ILL}),
    "a setting that is a table": lambda value: value.update(settings={"max_depth": ILL}),
    "a long reason": lambda value: value.update(untold_missing=ILL),
    "a long name": lambda value: value.update(features=[*value["features"], ILL]),
    "a disclosure that says too much": lambda value: value["discloses"][0].update(says=ILL),
    "many disclosures": lambda value: value.update(discloses=[{**value["discloses"][0], "says": "36"}] * 200),
}


@pytest.mark.parametrize("change", SMUGGLED.values(), ids=SMUGGLED)
def test_what_a_neutral_file_has_no_need_of_is_told(change: Callable[[Any], None]) -> None:
    document = json.loads(neutral_file(MODEL))
    change(document)
    found = [
        item for item in read_foreign(json.dumps(document).encode(), "m").discloses if item.kind == "other_content"
    ]
    assert [item.severity for item in found] == ["high"]


@pytest.mark.parametrize(("key", "node", "value"), [("low", 3, 3), ("high", 4, 1), ("strict", 3, True)])
def test_numbers_of_nodes_that_nobody_reads_are_told(key: str, node: int, value: Any) -> None:
    document = json.loads(neutral_file(MODEL))
    items = document["trees"][0][key]
    document["trees"][0][key] = [items] * len(document["trees"][0]["low"]) if isinstance(items, bool) else items
    document["trees"][0][key][node] = value
    found = [
        item for item in read_foreign(json.dumps(document).encode(), "m").discloses if item.kind == "other_content"
    ]
    assert [item.severity for item in found] == ["medium"]


@pytest.mark.parametrize("model", [MODEL, EVERYTHING, ABSENT, BOOSTED], ids=["plain", "origins", "absent", "boosted"])
def test_nothing_that_we_write_is_other_content(model: ModelIR) -> None:
    assert "other_content" not in {item.kind for item in read_foreign(neutral_file(model), "m").discloses}
