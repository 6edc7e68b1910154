"""What files of R hold besides their model is found by its path, and compared with the table."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate
from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate_plugins.r.serialisation import NULL, NUMBERS, PAIRS, Kind, RObject, parse_r
from r_files import FOLDER, files, model_in, table_in
from r_writer import HEAD, objects_in, without_people, written

POLICY = """
leafgate: 1
name: model
data:
  path: held.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 100]}
    ward: {role: quasi_identifier, values: [north, south, west]}
    bmi: {role: quasi_identifier, bounds: [0, 100]}
    target: {role: [class, sensitive], values: ["no", "yes"]}
build: {use: published, path: model.rds}
publish: {leaves: counts, measure: false}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}]
"""
WHOLE = "the file holds the table that it was trained on: 200 of 200 people, 4 column(s) (terms$.Environment$people)"


def audited(folder: Path, name: str, table: bytes | None = None) -> dict[str, list[str]]:
    """What the audit of a file says that it discloses, by kind; `verdict` beside it."""
    (folder / "model.rds").write_bytes(files()[name])
    (folder / "held.csv").write_bytes(files()["held.csv"] if table is None else table)
    (folder / "policy.yaml").write_text(POLICY)
    document = leafgate("audit", folder / "policy.yaml", "--json").document
    (finding,) = [each for each in document["findings"] if each["id"] == "published_file"]
    found: dict[str, list[str]] = {"verdict": [document["verdict"]], "passed": [str(finding["passed"])]}
    for item in finding["evidence"]["discloses"]:
        found.setdefault(item["kind"], []).append(item["says"])
    return found


def test_a_model_that_was_fitted_in_a_function_holds_the_table(tmp_path: Path) -> None:
    found = audited(tmp_path, "held-rpart.rds")
    assert (found["verdict"], found["passed"]) == (["fail"], ["False"])
    assert found["training_table"][0] == WHOLE
    equal, others = found["training_rows"][:2]
    for column in ("age", "ward", "bmi", "target"):
        assert f"terms$.Environment$people${column} is {column!r} in 200 of 200 cells" in equal
    assert "y is 'target' in 200 of 200 cells" in equal
    assert others.endswith("(where)")
    assert any("terms$.Environment$clinic: 1 value(s)" in says for says in found["variables"])
    text = leafgate("audit", tmp_path / "policy.yaml").out.splitlines()
    assert text[1] == f"  {WHOLE[:1].upper()}{WHOLE[1:]}."


def test_a_file_with_a_table_fails_where_that_is_compared_with_other_people(tmp_path: Path) -> None:
    lines = files()["held.csv"].decode().splitlines()
    found = audited(tmp_path, "held-rpart.rds", "\n".join(lines[:41]).encode())
    assert (found["passed"], found["training_table"]) == (["False"], ["1 table(s), with 200 rows in all"])


def test_few_people_who_are_not_in_the_file_are_not_counted(tmp_path: Path) -> None:
    lines = files()["held.csv"].decode().splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[0], "99", 1)
    found = audited(tmp_path, "held-rpart.rds", "\n".join(lines).encode())
    assert found["training_table"][0].startswith(WHOLE.replace("200 of", "190 of").partition(" (")[0])
    assert "$age is 'age' in 190 of 200 cells" in found["training_rows"][0]


def test_bags_and_out_of_bag_predictions_are_values_of_each_row(tmp_path: Path) -> None:
    (says,) = [each for each in audited(tmp_path, "held-inbag.rds")["training_rows"] if "no column" in each]
    assert says.endswith("are no column of the table: 4 (predictions, inbag.counts)")


def test_proximity_and_votes_are_values_of_each_row() -> None:
    model = model_in("held-proximity.rds")
    locations = {vector.location for vector in model.held}
    assert {"predicted", "oob.times", "votes$no", "votes$yes", "y", "proximity$1", "proximity$40"} <= locations


def test_a_file_that_holds_nothing_of_people_says_so() -> None:
    model = model_in("held-nothing.rds")
    kinds = {item.kind for item in model.discloses}
    assert model.held == ()
    assert kinds.isdisjoint({"training_table", "training_rows", "variables", "other_content"})
    assert "counts" in kinds


def test_no_disclosure_prints_a_cell_that_few_people_have(tmp_path: Path) -> None:
    """A variable has the name of a patient, who is in the table."""
    content = files()["held-rpart.rds"].replace(b"clinic", b"jsmith")
    assert content != files()["held-rpart.rds"]
    table = table_in(files()["held.csv"])
    rows = zip(*table.values(), strict=True)
    lines = [",".join([*table, "name"]), *(",".join([*row, f"p{i}"]) for i, row in enumerate(rows))]
    lines[7] = lines[7].replace("p6", "jsmith")
    (tmp_path / "model.rds").write_bytes(content)
    (tmp_path / "held.csv").write_text("\n".join(lines))
    (tmp_path / "policy.yaml").write_text(POLICY.replace("    target:", "    name: {role: identifier}\n    target:"))
    out = leafgate("audit", tmp_path / "policy.yaml").out
    assert "terms$.Environment$...: 1 value(s)" in out
    assert "jsmith" not in out


def test_the_archives_are_beside_the_scripts_that_make_them() -> None:
    assert {path.name for path in FOLDER.glob("make_*")} == {"make_r_files.R", "make_r_files.py", "make_r_objects.R"}


@pytest.mark.parametrize("name", ["held-rpart.rds", "held-inbag.rds"])
def test_scrubbing_leaves_nothing_of_the_table(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.rds").write_bytes(files()[name])
    (tmp_path / "held.csv").write_bytes(files()["held.csv"])
    (tmp_path / "policy.yaml").write_text(POLICY)
    ended = leafgate(
        "scrub",
        tmp_path / "model.rds",
        tmp_path / "new.json",
        "--leaves",
        "labels",
        "--policy",
        tmp_path / "policy.yaml",
    )
    assert ended.code == 0, ended.err
    (tmp_path / "policy.yaml").write_text(POLICY.replace("model.rds", "new.json").replace("counts", "labels"))
    document = leafgate("audit", tmp_path / "policy.yaml", "--json").document
    assert document["verdict"] == "pass"


def disclosed(path: Path) -> list[tuple[str, str, str]] | None:
    """What the file discloses that is not of the algorithm; None where it is refused."""
    try:
        model = read_foreign(path.read_bytes(), path.name)
    except ReleaseError:
        return None
    return sorted((item.kind, item.severity, item.says) for item in model.discloses if item.severity != "low")


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_content_that_nobody_needs_is_disclosed_wherever_it_is(tmp_path: Path) -> None:
    made = subprocess.run(["Rscript", str(FOLDER / "plant_content.R"), str(tmp_path)], capture_output=True)
    if made.returncode and b"there is no package called" in made.stderr:
        pytest.skip("a package of R is not installed")
    plain = {path.stem: disclosed(path) for path in tmp_path.glob("*.rds") if path.name.count(".") == 1}
    planted = {path.stem: disclosed(path) for path in tmp_path.glob("*.*.*.rds")}
    assert len(plain) == 3
    assert [name for name, found in planted.items() if found == plain[name.partition(".")[0]]] == []


PLANTED = RObject(Kind.DOUBLE, 7319 + np.arange(150) / 7)
PERSON = "Strange Person"
OF_PEOPLE = frozenset({"where", "y", "predicted", "oob.times", "votes", "predictions", "inbag.counts", "proximity"})
FORMS = ("class", "levels", "tzone", "dim", "names", "row.names", "dimnames")


def changed(thing: RObject) -> Iterator[tuple[str, Mapping[str, RObject], Any]]:
    """Ways to put numbers, or the name of a person, into an object: what, and the attributes and the value then."""
    has, value = thing.attributes, thing.value
    if thing.kind not in {Kind.BUILTIN, Kind.SPECIAL}:
        yield "attribute", {**has, "extra": PLANTED}, value
        for form in FORMS:
            names = has[form].value if form in has and has[form].kind == Kind.TEXTS else []
            yield f"text in {form}", {**has, form: RObject(Kind.TEXTS, [*names, PERSON])}, value
            yield f"numbers as {form}", {**has, form: PLANTED}, value
    if thing.kind in NUMBERS:
        yield "longer", has, np.concatenate([np.asarray(value, np.float64), PLANTED.value])
    elif thing.kind == Kind.TEXTS:
        yield "a text more", has, [*value, PERSON]
    elif thing.kind in {Kind.LIST, Kind.EXPRESSION}:
        yield "an element more", has, [*value, PLANTED]
    elif thing.kind in PAIRS:
        yield "a pair more", has, [*value, ("extra", PLANTED)]
        yield "a tag more", has, [*value, (PERSON, NULL)]


def noticed(content: bytes) -> Any:
    """What an audit learns of a file: high disclosures, texts and vectors that it compares, the model; or an error."""
    try:
        model = read_foreign(content, "m")
    except ReleaseError as error:
        return str(error)
    high = [(item.kind, item.says) for item in model.discloses if item.severity == "high"]
    held = [(each.location, repr(each.cells.tolist())) for each in model.held]
    return sorted(high), model.texts, held, model.model_sha256


@pytest.mark.parametrize("share", [0.01, pytest.param(0.1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", ["held-nothing.rds", "held-inbag.rds", "forest-003.rds"])
def test_nothing_is_put_into_any_object_unnoticed(name: str, share: float) -> None:
    rng = random.Random(5)
    whole = without_people(parse_r(files()[name], name), OF_PEOPLE)
    before, missed = noticed(written(whole)), []
    assert [kind for kind, _ in before[0]] == (["counts"] if name == "held-nothing.rds" else [])
    for thing in objects_in(whole):
        if thing.kind in {Kind.NULL, Kind.SYMBOL, Kind.ENVIRONMENT}:
            continue
        old = thing.attributes, thing.value
        for what, attributes, value in changed(thing):
            if rng.random() < share:
                thing.attributes, thing.value = attributes, value
                if noticed(written(whole)) == before:
                    missed.append((what, thing.kind.name))
        thing.attributes, thing.value = old
    assert missed == []


@pytest.mark.parametrize("part", ["dev", "complexity", "var", "variable.importance", "cptable"])
def test_numbers_and_names_that_r_does_not_write_there_are_disclosed(part: str) -> None:
    """Deviances that do not follow from the counts, costs above 1, names that no feature has, a column more."""
    whole = without_people(parse_r(files()["held-nothing.rds"], "m"), OF_PEOPLE)
    before = noticed(written(whole))[0]
    frame = whole.get("frame")
    assert frame is not None
    thing = whole.get(part) if frame.get(part) is None else frame.get(part)
    assert thing is not None
    if part in {"dev", "complexity"}:
        thing.value = thing.value + 31.0
    elif part == "cptable":
        columns = thing.attributes["dim"].value + np.array([0, 1])
        thing.value, thing.attributes["dim"].value = np.resize(thing.value, columns.prod()), columns
    elif part == "var":  # a factor in R before 4.0
        levels = [*dict.fromkeys(thing.value), PERSON]
        thing.kind, thing.value = Kind.INTEGER, np.array([levels.index(each) + 1 for each in thing.value])
        thing.attributes = {"levels": RObject(Kind.TEXTS, levels), "class": RObject(Kind.TEXTS, ["factor"])}
    else:
        thing.attributes["names"].value[-1] = PERSON
    assert noticed(written(whole))[0] != before


@pytest.mark.parametrize("where", ["tag", "attribute", "environment", "instructions"])
def test_parts_that_a_reader_would_drop_are_refused(where: str) -> None:
    """Attributes of the same name, names that are no symbols, and code that is no code hold what nobody would see."""
    twice = (item(0x402, 1, 9, 1) + b"a" + item(13, 1, 7)) * 2 + item(254)
    content = {
        "tag": item(0x402, 13, 1, 7, 13, 1, 7, 254),
        "attribute": item(0x20D, 1, 7) + twice,
        "environment": item(4, 0, 253) + twice + item(254, 254),
        "instructions": item(21, 1, 19, 1, 13, 1, 7, 0),
    }[where]
    with pytest.raises(ReleaseError, match=r"without a name, or of the same name|no symbol|without instructions"):
        parse_r(HEAD + content, "m")


def item(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)
