"""Several parties share their rows with noise, and a miner learns from them: perturb and mine."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import leafgate_plugins.ppdtc45.party
from command_line import Ended, leafgate
from leafgate import DataError
from leafgate.api import Noise
from leafgate.io.json import parse_json
from leafgate_plugins.ppdtc45.party import share_once
from leafgate_plugins.ppdtc45.shared import SharedFile

COLUMNS: dict[str, Any] = {
    "id": {"role": "key"},
    "age": {"role": "sensitive", "bins": [0, 30, 50, 100]},
    "hours": {"role": "private", "bounds": [0, 80]},
    "income": {"role": ["class", "quasi_identifier"], "values": ["low", "high"]},
}
POLICY: dict[str, Any] = {
    "leafgate": 1,
    "name": "parties",
    "data": {"columns": COLUMNS},
    "build": {"use": "ppdtc45", "noise": {"deviation": {"age": 8, "hours": 5}}},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "accuracy", "at_least": 0}],
}


def rows(first: int, number: int) -> list[str]:
    rng = np.random.default_rng(first)
    ages, hours = rng.integers(18, 90, number), rng.integers(5, 75, number)
    return [
        f"p{first + i},{a},{h},{'high' if a > 45 else 'low'}" for i, (a, h) in enumerate(zip(ages, hours, strict=True))
    ]


def written(folder: Path, name: str, header: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def lines_of(first: int, number: int) -> list[str]:
    """The same people without their key."""
    return [line.partition(",")[2] for line in rows(first, number)]


def policy(folder: Path, **changes: Any) -> Path:
    path = folder / "policy.yaml"
    path.write_text(json.dumps(POLICY | changes), encoding="utf-8")
    return path


def party(folder: Path, name: str, first: int, number: int = 300) -> Path:
    return written(folder, f"{name}.csv", "id,age,hours,income", rows(first, number))


def shared_by(folder: Path, name: str, first: int, number: int = 300) -> Path:
    out = folder / f"{name}-shared.csv"
    ended = leafgate("perturb", policy(folder), party(folder, name, first, number), "--out", out)
    assert ended.code == 0, ended.err
    return out


def mined(folder: Path, *files: Path, words: tuple[str, ...] = ()) -> Ended:
    return leafgate("mine", policy(folder), *files, "--out", folder / "release.json", *words)


@pytest.mark.thorough
def test_two_parties_with_rows_of_their_own_make_one_release(tmp_path: Path) -> None:
    files = [shared_by(tmp_path, "north", 0), shared_by(tmp_path, "south", 1000)]
    ended = mined(tmp_path, *files)
    assert ended.code == 0, ended.err
    document = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
    assert (document["counted"], len(document["records"]["rows"]), set(document["noise"])) == (
        "perturbed",
        600,
        {"age", "hours"},
    )
    assert document["records"]["columns"] == ["age", "hours", "income"]
    assert document["trees"][0]["column"] == "age"
    assert abs(document["trees"][0]["at"] - 45.5) < 8


def test_two_parties_with_columns_of_their_own_are_joined_on_the_key(tmp_path: Path) -> None:
    people = rows(0, 300)
    bank = written(tmp_path, "bank.csv", "id,age,income", [",".join(np.array(r.split(","))[[0, 1, 3]]) for r in people])
    work = written(tmp_path, "work.csv", "id,hours", [",".join(np.array(r.split(","))[[0, 2]]) for r in people[::-1]])
    files = [tmp_path / "bank-shared.csv", tmp_path / "work-shared.csv"]
    for data, out, columns in ((bank, files[0], "age,income"), (work, files[1], "hours")):
        ended = leafgate("perturb", policy(tmp_path), data, "--out", out, "--columns", columns)
        assert ended.code == 0, ended.err
    assert mined(tmp_path, *files).code == 0
    document = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
    original = {tuple(r.split(",")[1:]) for r in people}
    near = [
        min(abs(a - float(x)) + abs(h - float(y)) for x, y, z in original if z == c)
        for a, h, c in document["records"]["rows"]
    ]
    assert np.median(near) < 6  # joined rightly: some person is as near as the noise allows


@pytest.mark.thorough
def test_noise_is_drawn_once_for_a_file_and_a_shared_file_is_never_overwritten(tmp_path: Path) -> None:
    out = shared_by(tmp_path, "north", 0)
    before = out.read_bytes()
    again = leafgate("perturb", policy(tmp_path), tmp_path / "north.csv", "--out", out)
    other = leafgate("perturb", policy(tmp_path), tmp_path / "north.csv", "--out", tmp_path / "other.csv")
    assert (again.code, other.code) == (2, 2)
    assert "is there already" in again.err
    assert "noise was drawn for 'age', 'hours' of these rows before" in other.err
    assert out.read_bytes() == before
    assert not (tmp_path / "other.csv").exists()
    ledger = tmp_path / "north.csv.shared.json"
    assert ledger.stat().st_mode & 0o777 == 0o600


def small_file(name: str) -> SharedFile:
    return SharedFile(name, ("age",), [("30",)], {"age": Noise("gaussian", 8.0)})


def test_of_two_who_share_one_file_at_once_the_second_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, refused = tmp_path / "north.csv", []

    def share_too() -> None:
        try:
            share_once(small_file("two"), data, "0", tmp_path / "two.csv")
        except DataError as error:
            refused.append(error)

    second = threading.Thread(target=share_too)
    ledger = leafgate_plugins.ppdtc45.party._ledger

    def read(path: Path) -> Any:
        before = ledger(path)
        if second.ident is None:
            second.start()
            second.join(0.2)  # without a lock it would end by now
        return before

    monkeypatch.setattr(leafgate_plugins.ppdtc45.party, "_ledger", read)
    share_once(small_file("one"), data, "0", tmp_path / "one.csv")
    second.join()
    assert len(refused) == 1
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["one.csv"]


@pytest.mark.parametrize("number", [1, 2])
def test_an_interruption_leaves_the_note_and_the_shared_file_in_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    calls, fsync = iter(range(1, 100)), os.fsync

    def interrupted(handle: int) -> None:
        if next(calls) == number:
            signal.raise_signal(signal.SIGINT)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        share_once(small_file("one"), tmp_path / "north.csv", "0", tmp_path / "one.csv")
    noted = json.loads((tmp_path / "north.csv.shared.json").read_bytes())["shared"]
    assert bool(noted) == (tmp_path / "one.csv").exists() == (number == 2)


def test_a_ledger_that_cannot_be_read_stops_sharing(tmp_path: Path) -> None:
    (tmp_path / "north.csv.shared.json").write_text("{}", encoding="utf-8")
    ended = leafgate("perturb", policy(tmp_path), party(tmp_path, "north", 0), "--out", tmp_path / "out.csv")
    assert (ended.code, (tmp_path / "out.csv").exists()) == (2, False)


def test_rows_of_one_file_are_in_no_order_of_the_original_where_there_is_no_key(tmp_path: Path) -> None:
    columns = {name: spec for name, spec in COLUMNS.items() if name != "id"}
    lines = sorted(lines_of(0, 300))
    data = written(tmp_path, "sorted.csv", "age,hours,income", lines)
    path = policy(tmp_path, data={"columns": columns})
    assert leafgate("perturb", path, data, "--out", tmp_path / "out.csv").code == 0
    ages = [float(line.split(",")[0]) for line in (tmp_path / "out.csv").read_text().splitlines()[2:]]
    assert abs(stats.spearmanr(ages, range(len(ages))).statistic) < 0.2


@pytest.mark.parametrize(
    ("build", "text"),
    [
        ({"noise": {"snr": 1.3}}, "each party's rows would give another scale"),
        ({"noise": {"deviation": 3}, "rehearsal": True}, "a rehearsal is never shared"),
        ({"use": "c45"}, "this command is for shared numbers"),
    ],
)
def test_what_parties_cannot_agree_on_is_refused(tmp_path: Path, build: dict[str, Any], text: str) -> None:
    path = policy(tmp_path, build={"use": "ppdtc45"} | build)
    ended = leafgate("perturb", path, party(tmp_path, "north", 0), "--out", tmp_path / "out.csv")
    assert ended.code == 2
    assert text in ended.err
    assert not (tmp_path / "out.csv").exists()


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text
    other = path.with_name("edited.csv")
    other.write_text(text.replace(old, new, 1), encoding="utf-8")
    return other


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"scale":8.0', '"scale":4.0', "the noise on 'age' is not what the policy says"),
        ('"law":"gaussian"', '"law":"uniform"', "is not what the policy says"),
        ("id,age,hours", "id,age,height", "'height', which the policy does not have"),
        ("# leafgate/shared/1", "# leafgate/shared/9", "is not a shared file"),
        (",low", ",middling", "outside the `values` the policy declares"),
    ],
)
@pytest.mark.thorough
def test_a_file_that_does_not_fit_the_policy_is_refused(tmp_path: Path, old: str, new: str, text: str) -> None:
    ended = mined(tmp_path, edited(shared_by(tmp_path, "north", 0), old, new))
    assert ended.code == 2
    assert text in ended.err
    assert "middling" not in ended.err


def test_people_who_are_shared_twice_are_refused(tmp_path: Path) -> None:
    one = shared_by(tmp_path, "north", 0)
    ended = mined(tmp_path, one, one)
    assert ended.code == 2
    assert "300 key(s) occur twice" in ended.err


@pytest.mark.thorough
def test_people_who_are_not_in_every_file_are_left_out_only_when_asked(tmp_path: Path) -> None:
    age = written(
        tmp_path, "age.csv", "id,age,income", [f"p{i},{20 + i},{'high' if i > 9 else 'low'}" for i in range(40)]
    )
    hours = written(tmp_path, "hours.csv", "id,hours", [f"p{i},{i}" for i in range(5, 45)])
    files = [tmp_path / "age-shared.csv", tmp_path / "hours-shared.csv"]
    for data, out, columns in ((age, files[0], "age,income"), (hours, files[1], "hours")):
        assert leafgate("perturb", policy(tmp_path), data, "--out", out, "--columns", columns).code == 0
    refused, joined = mined(tmp_path, *files), mined(tmp_path, *files, words=("--common",))
    assert (refused.code, joined.code) == (2, 0)
    assert "10 people are not in every file" in refused.err
    assert "from 35 people" in joined.out


def test_what_is_shared_holds_no_original_number(tmp_path: Path) -> None:
    data = written(tmp_path, "odd.csv", "id,age,hours,income", [f"p{i},{31 + i / 7:.9f},40,low" for i in range(30)])
    assert leafgate("perturb", policy(tmp_path), data, "--out", tmp_path / "out.csv").code == 0
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert not any(line.split(",")[1] in text for line in data.read_text(encoding="utf-8").splitlines()[1:])
    first = text.splitlines()[0].removeprefix("# leafgate/shared/1 ").encode()
    assert parse_json(first, ValueError, "x") == {  # type: ignore[arg-type]
        "noise": {"age": {"law": "gaussian", "scale": 8.0}, "hours": {"law": "gaussian", "scale": 5.0}}
    }


def survey_policy(folder: Path, **build: Any) -> Path:
    columns = {name: spec for name, spec in COLUMNS.items() if name != "id"}
    lines = lines_of(0, 300)
    data = written(folder, "people.csv", "age,hours,income", lines)
    noise = {"noise": {"deviation": 8}}
    fields = {"data": {"columns": columns, "path": data.name, "test": data.name}}
    return policy(folder, **fields, build={"use": "ppdtc45", "rehearsal": True} | noise | build)


@pytest.mark.parametrize(
    ("build", "place"),
    [
        ({"noise": {"deviation": 0}}, "build.noise.deviation"),
        ({"noise": {"snr": -1}}, "build.noise.snr"),
        ({"noise": {"deviation": {"age": 8}}}, "build.noise.deviation"),
        ({"noise": {}}, "build.noise"),
        ({"noise": {"law": "laplace", "snr": 1}}, "build.noise.law"),
        ({"split": "weighted", "theta": 0.3}, "build"),
        ({"split": "matched", "groups": 2}, "build"),
        ({"model": "naive_bayes", "split": "matched"}, "build"),
        ({"noise": {"deviation": 1e-300}}, "build.noise.deviation"),
        ({"split": "threshold", "theta": 1.0}, "build.theta"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_their_place(
    tmp_path: Path, build: dict[str, Any], place: str
) -> None:
    ended = leafgate("audit", survey_policy(tmp_path, **build), "--json")
    assert ended.code == 2
    assert any(problem["place"].startswith(place) for problem in ended.problems), ended.out


def test_a_rehearsal_repeats_and_never_passes(tmp_path: Path) -> None:
    path = survey_policy(tmp_path)
    one, other = (leafgate("audit", path, "--json") for _ in range(2))
    assert one.out == other.out
    assert (one.code, one.document["verdict"]) == (3, "inconclusive")
    assert {"rehearsal", "records#age"} <= {finding["id"] for finding in one.document["findings"]}


@pytest.mark.thorough
def test_a_noisy_secret_that_no_attack_reads_is_never_passed_in_silence(tmp_path: Path) -> None:
    path = survey_policy(tmp_path, rehearsal=False)
    one = leafgate("audit", path, "--out", tmp_path / "out")
    metrics = [{"use": "interval_privacy", "at_least": 1}]
    document = json.loads(path.read_text(encoding="utf-8")) | {"attacks": [{"use": "posterior"}], "metrics": metrics}
    path.write_text(json.dumps(document), encoding="utf-8")
    other = leafgate("audit", path, "--out", tmp_path / "other")
    assert (one.code, "records#age" in one.out) == (3, True)
    assert (other.code, "records#age" in other.out) == (0, False)


def test_test_people_may_lie_outside_the_bounds_where_the_policy_says_shared(tmp_path: Path) -> None:
    metrics = [{"use": "accuracy_on_perturbed", "at_least": 0.6}]
    path = survey_policy(tmp_path, test="perturbed", split="threshold", theta=0.5)
    document = json.loads(path.read_text(encoding="utf-8")) | {"metrics": metrics}
    path.write_text(json.dumps(document), encoding="utf-8")
    other = written(tmp_path, "test.csv", "age,hours,income", ["-20,90,low", "130,-9,high", "20.25,40,low"])
    document = json.loads(path.read_text(encoding="utf-8")) | {"report": {"smallest_cell": 1}}
    path.write_text(json.dumps(document), encoding="utf-8")
    ended = leafgate("audit", path, "--json", "--test", other)
    (found,) = (f for f in ended.document["findings"] if f["metric"] == "accuracy_on_perturbed")
    assert found["value"] == 1.0
    refused = leafgate("audit", survey_policy(tmp_path), "--test", other)
    assert "outside the `bounds`" in refused.err


@pytest.mark.parametrize("model", ["trees", "naive_bayes"])
def test_a_shared_release_is_attacked_again_from_its_file(tmp_path: Path, model: str) -> None:
    path = survey_policy(tmp_path, model=model)
    out = tmp_path / "release.json"
    assert leafgate("build", path, "--out", out).code == 0
    ended = leafgate("attack", path, "--release", out, "--use", "posterior", "--out", tmp_path / "belief.csv")
    assert ended.code == 0, ended.err
    head, *result = (tmp_path / "belief.csv").read_text(encoding="utf-8").splitlines()
    assert head == 'row,column,estimate,"p([0, 30))","p([30, 50))","p([50, 100])"'
    assert len(result) == 300


KEYLESS = {"columns": {name: spec for name, spec in COLUMNS.items() if name != "id"}}


def test_records_of_a_release_are_in_the_order_of_what_they_share_and_not_of_the_file(tmp_path: Path) -> None:
    assert mined(tmp_path, shared_by(tmp_path, "north", 0)).code == 0
    rows = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))["records"]["rows"]
    assert rows == sorted(rows)


def test_a_file_named_twice_is_refused_though_it_has_no_keys(tmp_path: Path) -> None:
    path = policy(tmp_path, data=KEYLESS)
    data, out = written(tmp_path, "north.csv", "age,hours,income", lines_of(0, 300)), tmp_path / "shared.csv"
    assert leafgate("perturb", path, data, "--out", out).code == 0
    ended = leafgate("mine", path, out, out, "--out", tmp_path / "release.json")
    assert (ended.code, "hold the same rows" in ended.err) == (2, True)


def test_noise_is_drawn_once_for_a_file_whatever_rows_are_added_to_it(tmp_path: Path) -> None:
    shared_by(tmp_path, "north", 0)
    party(tmp_path, "north", 0, 301)
    ended = leafgate("perturb", policy(tmp_path), tmp_path / "north.csv", "--out", tmp_path / "more.csv")
    assert ended.code == 2
    assert "of rows of this file before" in ended.err


@pytest.mark.parametrize(
    ("columns", "header", "row", "text"),
    [
        ({"w": {"role": "weight"}}, "id,age,hours,income,w", "p1,30,40,low,3", "a key stands for several people"),
        ({"hours": {"role": "private"}}, "id,age,hours,income", "p1,30,40,low", "declare its `bounds`"),
    ],
)
def test_what_would_give_originals_away_is_refused_before_noise_is_drawn(
    tmp_path: Path, columns: dict[str, Any], header: str, row: str, text: str
) -> None:
    path = policy(tmp_path, data={"columns": COLUMNS | columns})
    ended = leafgate("perturb", path, written(tmp_path, "own.csv", header, [row]), "--out", tmp_path / "out.csv")
    assert ended.code == 2
    assert text in ended.err
    assert not (tmp_path / "own.csv.shared.json").exists()


def test_missing_cells_are_refused_before_noise_is_drawn(tmp_path: Path) -> None:
    path = policy(tmp_path, data={"columns": COLUMNS, "on_missing": "keep"})
    data = written(tmp_path, "own.csv", "id,age,hours,income", ["p1,30,,low", "p2,40,30,high"])
    ended = leafgate("perturb", path, data, "--out", tmp_path / "out.csv")
    assert (ended.code, "cells are missing" in ended.err) == (2, True)
    assert not (tmp_path / "own.csv.shared.json").exists()


@pytest.mark.parametrize("cell", ["1e308", "1e12", "39.123456789", "nan", "many"])
@pytest.mark.thorough
def test_numbers_that_the_noise_cannot_have_made_are_refused(tmp_path: Path, cell: str) -> None:
    out = shared_by(tmp_path, "north", 0)
    text = out.read_text(encoding="utf-8").splitlines()
    key, _, rest = text[2].split(",", 2)
    out.write_text("\n".join([*text[:2], f"{key},{cell},{rest}", *text[3:]]), encoding="utf-8")
    ended = mined(tmp_path, out)
    assert (ended.code, "no numbers that this noise can have made" in ended.err) == (2, True)
    assert cell not in ended.err


def test_a_shared_file_that_is_no_csv_is_refused(tmp_path: Path) -> None:
    out = shared_by(tmp_path, "north", 0)
    out.write_text(out.read_text(encoding="utf-8") + '"abc\n', encoding="utf-8")
    ended = mined(tmp_path, out)
    assert (ended.code, "is no CSV" in ended.err) == (2, True)


def test_a_release_that_cannot_be_drawn_again_is_never_overwritten(tmp_path: Path) -> None:
    path, out = survey_policy(tmp_path, rehearsal=False), tmp_path / "out"
    assert leafgate("audit", path, "--out", out).code == 3
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    again, built = leafgate("audit", path, "--out", out), leafgate("build", path, "--out", out / "release.json")
    assert (again.code, built.code) == (2, 2)
    assert "a release was drawn here before" in again.err
    for name in ("report.json", "release.json"):  # no verdict stands there for the run that made none
        before[f"earlier-{name}"] = before.pop(name)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_a_rehearsed_build_says_so_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    out = tmp_path / "release.json"
    ended = leafgate("build", survey_policy(tmp_path), "--out", out)
    assert (ended.code, "not fit to be published" in ended.out, out.stat().st_mode & 0o777) == (0, True, 0o600)


def test_linking_cannot_tell_whose_noisy_public_cells_are_whose(tmp_path: Path) -> None:
    columns = KEYLESS["columns"] | {"hours": {"role": "quasi_identifier", "bounds": [0, 80]}}
    path = survey_policy(tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["data"]["columns"] = columns
    path.write_text(json.dumps(document), encoding="utf-8")
    ended = leafgate("audit", path, "--json")
    (found,) = (f for f in ended.document["findings"] if f["id"] == "attack:linking")
    assert "noisy column 'hours'" in found["evidence"]["problem"]


def audited_again(folder: Path, document: dict[str, Any], **build: Any) -> Ended:
    again = folder / "out" / "again.yaml"
    again.write_text(json.dumps(document | {"build": {"use": "published", "path": "release.json"} | build}), "utf-8")
    return leafgate("audit", again, folder / "people.csv", "--test", folder / "people.csv", "--json")


@pytest.mark.thorough
def test_a_release_is_audited_again_where_its_owner_tells_whose_the_records_are(tmp_path: Path) -> None:
    path, out = survey_policy(tmp_path, rehearsal=False), tmp_path / "out"
    metrics = [{"use": "exposure", "at_most": 0.999, "average": True}]
    document = json.loads(path.read_text(encoding="utf-8"))
    document |= {"attacks": [{"use": "posterior"}], "metrics": metrics}
    path.write_text(json.dumps(document), encoding="utf-8")
    first = leafgate("audit", path, "--out", out, "--audience", "auditor", "--json")
    assert (out / "origins.json").stat().st_mode & 0o777 == 0o600
    del document["data"]["path"], document["data"]["test"]
    again, unknown = audited_again(tmp_path, document, origins="origins.json"), audited_again(tmp_path, document)
    assert nowhere(again.document["findings"]) == nowhere(first.document["findings"])
    assert (again.code, unknown.code) == (0, 3)


def nowhere(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings without the line of the policy: they are of two files."""
    return [{key: result for key, result in finding.items() if key != "where"} for finding in findings]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"release": "0" * 64}, "another release"),
        ({"format": "leafgate/trail/1"}, "is no file of origins"),
        ({"rows": [0]}, "not what the records were made from"),
        ({"rows": ["0"]}, "no rows of this table"),
        ({"seed": 3}, "that this version does not know"),
    ],
)
@pytest.mark.thorough
def test_origins_that_are_not_of_this_release_are_refused(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    path, out = survey_policy(tmp_path, rehearsal=False), tmp_path / "out"
    assert leafgate("audit", path, "--out", out, "--audience", "auditor").code == 3
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["data"]["path"], document["data"]["test"]
    origins = json.loads((out / "origins.json").read_text(encoding="utf-8"))
    (out / "origins.json").write_text(json.dumps(origins | change), encoding="utf-8")
    ended = audited_again(tmp_path, document, origins="origins.json")
    assert ended.code == 2
    assert text in ended.problems[0]["message"]
