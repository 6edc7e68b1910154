"""Model readers that plugins offer: what is refused when they are loaded, and which one reads a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafgate
from command_line import leafgate as command
from command_line import leafgate as run
from entry_points import BASICS, Load, Point, install, module
from installed_readers import neutral_file
from leafgate import PolicyError, ReleaseError
from leafgate.app import load_plugins
from leafgate.commands.convert import NEUTRAL
from leafgate.kernel.release import NOT_STATED
from leafgate.models.reader import is_foreign, read_foreign, read_with_reader
from leafgate.models.writer import object_as_file
from leafgate.readers import ModelIR, ModelReader, NodeNumbers, ReaderTexts, Vocabulary
from sample_model import MODEL, TREE
from standins import ORIGIN

FILE = b"ACORN 1\n"


def sniff_acorn(head: bytes) -> bool:
    return head.startswith(b"ACORN")


def read_acorn(content: bytes, place: str) -> ModelIR:
    return replace(MODEL, format="acorn", producer="ACORN 1")


def acorn_texts() -> ReaderTexts:
    return ReaderTexts(producers=frozenset({"acorn"}))


def declared(**changes: Any) -> ModelReader:
    fields: dict[str, Any] = {"name": "acorn", "sniff": sniff_acorn, "read": read_acorn, "texts": acorn_texts}
    return ModelReader(**(fields | changes))


def reading(*readers: object) -> Load:
    return lambda: module(model_readers=lambda: list(readers))


def offering(*readers: object) -> Point:
    return Point("spies", reading(*readers))


def raising(*given: object) -> Any:
    raise ValueError("a cell")


def test_a_reader_is_listed_and_reads_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared()), BASICS)
    found = load_plugins()
    assert not found.broken
    assert f"spies ({ORIGIN}): reader acorn\n" in command("plugins").out
    offers = {each["name"]: each["offers"] for each in command("plugins", "--json").document["plugins"]}
    assert offers["spies"] == [{"kind": "reader", "use": "acorn"}]
    assert is_foreign(FILE, found.readers)
    assert not is_foreign(b"acorn", found.readers)
    assert read_foreign(FILE, "m", found.readers).producer == "ACORN 1"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Acorn trees"}, "is no word of small letters"),
        ({"name": "leafgate"}, "belongs to leafgate itself"),
        ({"max_bytes": 2**40}, "max_bytes is no whole number from 1 to"),
        ({"max_bytes": 1.5}, "max_bytes is no whole number from 1 to"),
        ({"write": raising}, "`write` and `suffixes` belong together"),
        ({"suffixes": (".acorn",)}, "`write` and `suffixes` belong together"),
        ({"write": raising, "suffixes": ".acorn"}, "suffixes are no endings"),
        ({"write": raising, "suffixes": ("acorn",)}, "suffixes are no endings"),
    ],
)
def test_a_reader_that_cannot_be_used_is_refused_in_one_line(
    changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, offering(declared(**changes)), BASICS)
    found = load_plugins()
    (broken,) = found.broken
    assert words in broken.problem
    assert "\n" not in broken.problem
    assert found.readers == ()
    assert [plugin.name for plugin in found.entries if not plugin.problem] == ["basics"]


def test_one_name_of_two_plugins_is_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Point("others", reading(declared()), "Other_Spies", "2.0")
    install(monkeypatch, offering(declared()), other)
    with pytest.raises(PolicyError, match="'acorn'") as caught:
        _ = load_plugins().readers
    assert "acme-spies 1.2 (spies)" in str(caught.value)
    assert "other-spies 2.0 (others)" in str(caught.value)


def test_a_file_that_no_reader_knows_names_the_formats_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared()))
    with pytest.raises(ReleaseError, match="of a format that is known here") as caught:
        read_foreign(b"OAK 1\n", "m", load_plugins().readers)
    assert caught.value.problems[0].hint == "known: acorn"


def test_a_reader_that_takes_every_file_for_its_own_takes_no_file_from_others() -> None:
    greedy = declared(name="greedy", sniff=lambda head: True, read=raising)
    assert read_foreign(FILE, "m", (greedy, declared())).format == "acorn"
    assert read_foreign(neutral_file(MODEL), "m", (greedy, NEUTRAL)).classes == MODEL.classes
    with pytest.raises(ReleaseError, match="not what its format says"):
        read_foreign(b"OAK", "m", (greedy, declared()))


def test_a_file_that_two_readers_read_is_refused() -> None:
    other = declared(name="other")
    with pytest.raises(ReleaseError, match="a model to several readers, acorn and other"):
        read_foreign(FILE, "m", (declared(), other))


def test_texts_that_a_reader_does_not_declare_are_not_printed() -> None:
    for texts in (ReaderTexts, raising, lambda: 5):
        model = read_foreign(FILE, "m", (declared(texts=texts),))
        assert (model.format, model.producer) == ("unknown", "a program that is not known here")


def test_a_reader_of_files_of_other_readers_models_is_given_the_words_of_all() -> None:
    def read_box(content: bytes, place: str, known: Vocabulary) -> ModelIR:
        return replace(MODEL, format="acorn", producer=" ".join(sorted(known.producers & {"acorn", "box", "oak"})))

    box = declared(
        name="box",
        read=raising,
        read_with=read_box,
        file_format="box/1",
        texts=lambda: ReaderTexts(producers=frozenset({"Box"})),
    )
    other = declared(sniff=lambda head: False)
    model, reader = read_with_reader(FILE, "m", (box, other))
    assert (model.format, model.producer, reader.file_format) == ("acorn", "acorn box", "box/1")
    assert read_with_reader(FILE, "m", (declared(),))[1].name == "acorn"
    with pytest.raises(ReleaseError, match="of a format that is known here") as caught:
        read_foreign(b"OAK", "m", (box, declared()))
    assert caught.value.problems[0].hint == "known: box/1, acorn"


def test_objects_are_read_by_the_reader_that_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared(name="skops", from_object=lambda thing: MODEL)))
    assert leafgate.from_sklearn(object()) == MODEL
    install(monkeypatch, BASICS)
    with pytest.raises(ReleaseError, match="no installed plugin reads objects as 'skops' does"):
        leafgate.from_sklearn(object())


def test_objects_are_written_by_the_reader_that_knows_them() -> None:
    own = declared(to_file=lambda thing: ("model.acorn", FILE) if thing == "oak" else None)
    assert object_as_file("oak", (declared(), own)) == ("model.acorn", FILE)
    assert object_as_file("elm", (declared(), own)) is None


@pytest.mark.parametrize(
    ("to_file", "words"),
    [
        (raising, "the plugin 'acorn' failed to write it .ValueError."),
        (lambda thing: FILE, "returned no name and bytes"),
        (lambda thing: ("../../model", FILE), "returned no name and bytes"),
        (lambda thing: ("model.acorn", "text"), "returned no name and bytes"),
    ],
)
def test_a_reader_that_writes_no_file_of_an_object_is_named(to_file: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words) as caught:
        object_as_file("oak", (declared(to_file=to_file),))
    assert "a cell" not in str(caught.value)


POLICY = """
leafgate: 1
name: acorns
data:
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    school: {role: quasi_identifier, values: [high, none]}
    y: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: model.acorn}
attacks: [{use: linking}]
metrics: [{use: file_disclosure, at_most: 9}]
report: {smallest_cell: 1}
"""
PEOPLE = b"age,school,y\n" + b"".join(
    f"{age},{school},{label}\n".encode() * people
    for age, school, label, people in [
        *((30, "none", "low", 4), (30, "high", "low", 1), (30, "high", "high", 1), (50, "none", "low", 1)),
        (50, "none", "high", 3),
    ]
)


def audited(folder: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[bytes, str], ModelIR]) -> Any:
    """The audit of a file, by the plugins of leafgate and a stranger's reader."""
    from importlib.metadata import entry_points

    points = [*entry_points(group="leafgate"), offering(declared(read=read))]
    install(monkeypatch, *points)
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "people.csv").write_bytes(PEOPLE)
    (folder / "model.acorn").write_bytes(FILE)
    return run("audit", folder / "policy.yaml", folder / "people.csv", "--json")


def test_a_file_whose_reader_states_no_disclosures_never_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = audited(tmp_path, monkeypatch, lambda content, place: replace(read_acorn(content, place), counted="exact"))
    assert {each["id"]: each["passed"] for each in stated.document["findings"]}["file_disclosure"] is True

    def silent(content: bytes, place: str) -> ModelIR:
        model = read_acorn(content, place)
        return ModelIR("acorn", model.features, model.classes, model.trees, "counts", counted="exact")

    assert silent(FILE, "m").discloses == (NOT_STATED,)
    ended = audited(tmp_path, monkeypatch, silent)
    found = {each["id"]: each["passed"] for each in ended.document["findings"]}
    assert found["file_disclosure"] is None
    assert found["published_file"] is None
    assert ended.code == 3


def test_a_file_whose_reader_counts_people_and_does_not_say_so_never_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(content: bytes, place: str) -> ModelIR:
        model = read_acorn(content, place)
        people = NodeNumbers("weights", "rows", np.array([10.0, 6.0, 4.0, 2.0, 4.0]))
        labels = np.eye(2)[TREE.values.argmax(axis=1)]
        tree = replace(TREE, values=labels, counts=None, size=None, numbers=(people,))
        return replace(model, trees=(tree,), values="labels", counted="unknown", discloses=())

    assert forgetful(FILE, "m").discloses == ()
    [disclosure] = read_foreign(FILE, "m", [declared(read=forgetful)]).discloses
    assert disclosure == NOT_STATED
    found = {each["id"]: each["passed"] for each in audited(tmp_path, monkeypatch, forgetful).document["findings"]}
    assert (found["file_disclosure"], found["published_file"]) == (None, None)


def test_a_policy_that_pins_others_gets_no_strangers_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(tmp_path, monkeypatch, read_acorn)
    (tmp_path / "policy.yaml").write_text(POLICY + "plugins: [leafgate]\n")
    ended = run("audit", tmp_path / "policy.yaml", tmp_path / "people.csv", "--json")
    assert ended.code == 2
    (tmp_path / "policy.yaml").write_text(POLICY + "plugins: [leafgate, acme-spies]\n")
    assert run("audit", tmp_path / "policy.yaml", tmp_path / "people.csv", "--json").code in {0, 1, 3}
