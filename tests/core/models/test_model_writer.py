"""Which reader writes a file is chosen by its name; what was written is read again before anybody gets it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from broken_plugins.readers import HONEST_READER, STUMP, read
from command_line import Ended, leafgate
from entry_points import Point, install, module
from installed_readers import onnx_file
from leafgate.api import ReleaseError
from leafgate.readers import ModelReader
from sample_model import edited

ELM = replace(HONEST_READER, name="elm", sniff=lambda head: False)
POLICY = """
leafgate: 1
name: oak
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    risk: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: stump.oak}
publish: {leaves: counts}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 6}]
"""
PEOPLE = [(20, "low")] * 6 + [(20, "high")] + [(60, "low")] + [(60, "high")] * 4
Write = Callable[..., Ended]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Run a command on the file of a stump, with these readers installed beside the bundled ones."""
    (tmp_path / "stump.oak").write_bytes(STUMP.content)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("age,risk\n" + "".join(f"{age},{risk}\n" for age, risk in PEOPLE))
    bundled: Any = entry_points(group="leafgate")
    monkeypatch.chdir(tmp_path)

    def run(words: str, *readers: ModelReader) -> Ended:
        install(monkeypatch, Point("oaks", lambda: module(model_readers=lambda: [*readers])), *bundled)
        return leafgate(*words.split())

    return run


def test_the_end_of_the_name_chooses_the_reader_whatever_its_case(write: Write) -> None:
    assert write("convert stump.oak new.OAK", replace(ELM, suffixes=(".elm",)), HONEST_READER).code == 0
    assert read(Path("new.OAK").read_bytes(), "new.OAK").features == ("age",)


def failing(*given: Any) -> Any:
    raise KeyError("a cell")


def refusing(*given: Any) -> Any:
    raise ReleaseError("holds no oak", place="m")


def oak(**changes: Any) -> ModelReader:
    return replace(HONEST_READER, **changes)


CONVERT, REPAIR = "convert stump.oak new.oak", "repair stump.oak --policy policy.yaml --out new.oak"
SCRUB = "scrub stump.oak new.oak --leaves labels --policy policy.yaml"
REFUSED: dict[str, tuple[str, list[ModelReader], str]] = {
    "nobody writes it": ("convert stump.oak new.pkl", [oak()], r"no installed plugin writes .*\.oak"),
    "two plugins write it": (CONVERT, [oak(), ELM], "several plugins, elm and oak"),
    "its reader refuses it": (CONVERT, [oak(write=lambda model, original: original[:-9])], r"new\.oak: "),
    "it discloses more": (SCRUB, [oak(write=lambda model, original: original)], "discloses counts, the model labels"),
    "the plugin fails": (CONVERT, [oak(write=failing)], r"the plugin 'oak' failed to write it \(KeyError"),
    "its original is refused": (REPAIR, [oak(check_original=refusing)], "holds no oak"),
    "the plugin fails to look": (
        REPAIR,
        [oak(check_original=failing)],
        r"'oak' failed to look at it \(KeyError",
    ),
}


@pytest.mark.parametrize(("words", "readers", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_written_is_refused(write: Write, words: str, readers: list[ModelReader], why: str) -> None:
    ended = write(words, *readers)
    assert (ended.code, bool(re.search(why, ended.err))) == (2, True), ended.err
    assert "a cell" not in ended.err
    assert not list(Path().glob("new.*"))


def test_what_is_written_is_read_again_as_the_same_model(write: Write) -> None:
    assert write("convert stump.oak new.oak", HONEST_READER).code == 0
    (again,), (tree,) = (read(content, "m").trees for content in (Path("new.oak").read_bytes(), STUMP.content))
    assert again.threshold.tolist() == pytest.approx(tree.threshold.tolist(), nan_ok=True)
    assert again.counts is not None
    assert tree.counts is not None
    assert again.counts[1:].tolist() == tree.counts[1:].tolist()


def test_a_model_that_is_none_is_not_written() -> None:
    with pytest.raises(ReleaseError, match="no finite number"):
        onnx_file(edited("threshold", 0, float("inf")))
