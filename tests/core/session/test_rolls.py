"""Rolls of a ledger: a roll replaces a table that is gone, expires, forgets people, and is noticed where it changed."""

from __future__ import annotations

import json
import shutil
import stat
from datetime import date
from typing import Any

import pytest
import yaml

from clock import set_today
from command_line import Ended, leafgate
from ledgers import keyed_digest, keyed_id, read_roll
from nights import KEY, ROLL_KEY, Nights


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Two audited nights, the first of which is in the ledger with its table and a roll."""
    nights = Nights(tmp_path_factory.mktemp("nights"))
    for night in range(2):
        assert nights.audit(night).code == 0
    ended = nights.add(0, *nights.roll_words())
    assert (ended.code, ended.err) == (0, "")
    return nights


def findings(nights: Nights) -> dict[str, Any]:
    return {each["id"]: each for each in nights.report(1)["findings"]}


def audit(nights: Nights, *words: object) -> Ended:
    """Audit the second night for its auditor, with the ledger and the key of its rolls."""
    return nights.audit(1, "--audience", "auditor", "--roll-key", nights.roll_key, *words, ledger=True)


def problem(nights: Nights, *words: object) -> str:
    """What an audit lacks of other releases; it must be inconclusive."""
    assert nights.audit(1, *words, ledger=True).code == 3
    assert not any(each["passed"] for name, each in findings(nights).items() if "joint" in name)
    return str(findings(nights)["attack:joint"]["evidence"]["problem"])


def forget(nights: Nights, *words: object) -> Ended:
    return leafgate("ledger", "forget", nights.roll, "--roll-key", nights.roll_key, *words)


def proved(nights: Nights) -> int:
    return int(findings(nights)["exposure@joint#ill"]["evidence"]["people_proved"])


@pytest.mark.thorough
def test_a_roll_proves_what_its_table_proves_and_findings_say_that_it_was_not_compared(nights: Nights) -> None:
    assert audit(nights).code == 1
    by_table = findings(nights)
    (nights.folder / "0.csv").unlink()
    assert audit(nights).code == 1
    by_roll = findings(nights)
    assert by_roll.keys() == by_table.keys()
    for name, found in by_roll.items():
        said = found["evidence"].pop("not_compared", None)
        if name.endswith("@joint#ill"):
            assert said == ["ledger line 1 (release.json): not compared with its table, in whose place is a roll"]
        assert {**found, "where": {}} == {**by_table[name], "where": {}}
    assert nights.report(1)["data"]["files"].keys() == {"ledger line 1.roll"}
    assert nights.report(1)["policy"]["given"][4:6] == ["--roll-key", "KEY"]
    assert str(nights.roll_key) not in json.dumps(nights.report(1))


def test_the_line_of_a_roll_names_it_and_has_the_digest_of_what_never_changes(nights: Nights) -> None:
    (line,) = map(json.loads, nights.ledger.read_bytes().splitlines())
    head = read_roll(nights.roll).head_sha256
    assert line["roll"] == {"path": "roll.json", "keyed_sha256": keyed_digest(KEY, "roll", head)}
    assert forget(nights, keyed_id(ROLL_KEY, "p007")).code == 0
    assert read_roll(nights.roll).head_sha256 == head
    assert "; roll roll.json\n" in leafgate("ledger", "show", nights.ledger, "--key", nights.key).out
    assert nights.verify("--key", nights.key).code == 0


@pytest.mark.thorough
def test_a_table_whose_path_has_another_table_now_is_replaced_by_the_roll_and_a_copy_elsewhere_is_found(
    nights: Nights,
) -> None:
    shutil.copyfile(nights.folder / "0.csv", nights.folder / "copy.csv")
    shutil.copyfile(nights.folder / "1.csv", nights.folder / "0.csv")
    assert audit(nights).code == 1
    assert "not_compared" in findings(nights)["exposure@joint#ill"]["evidence"]
    words = ["--key", nights.key, "--data", nights.folder / "copy.csv", "--date", "2026-01-01"]
    assert leafgate("ledger", "add", nights.ledger, nights.out(0) / "report.json", *words).code == 0
    assert audit(nights).code == 1
    assert "not_compared" not in findings(nights)["exposure@joint#ill"]["evidence"]


def test_a_roll_has_no_key_no_public_cell_and_no_secret_and_its_owner_alone_reads_it(nights: Nights) -> None:
    roll = read_roll(nights.roll, ROLL_KEY)
    assert stat.S_IMODE(nights.roll.stat().st_mode) == 0o600
    assert (roll.purpose, roll.controller, roll.expires) == ("joint audits", "A. Clinic", date(2999, 12, 31))
    rows = (nights.folder / "0.csv").read_text().splitlines()[1:]
    assert roll.leaf.keys() == {keyed_id(ROLL_KEY, row.split(",")[0]) for row in rows}
    assert {len(reached) for reached in roll.leaf.values()} == {1}
    assert roll.people == len(rows)
    assert json.loads(nights.roll.read_bytes()).keys() == {
        *("format", "purpose", "controller", "expires", "release", "leaves", "people", "key_check", "leaf", "mac")
    }


@pytest.mark.parametrize("missing", ["roll", "roll_key", "policy", "purpose", "controller", "expires"])
def test_a_roll_without_one_of_its_options_is_refused(nights: Nights, missing: str) -> None:
    before = nights.ledger.read_bytes()
    changes: dict[str, Any] = {"roll": nights.folder / "new.json", missing: None}
    words = nights.roll_words(**changes)
    ended = nights.add(0, *words)
    assert (ended.code, f"--{missing.replace('_', '-')}: is missing" in ended.err) == (2, True)
    assert nights.ledger.read_bytes() == before
    assert not (nights.folder / "new.json").exists()


def test_a_roll_is_never_written_over_and_none_is_left_where_no_line_is_added(nights: Nights) -> None:
    before = nights.roll.read_bytes()
    ended = nights.add(0, *nights.roll_words())
    assert (ended.code, "is there already" in ended.err) == (2, True)
    assert nights.roll.read_bytes() == before
    nights.key.write_bytes(b"x" * 32)
    ended = nights.add(0, *nights.roll_words(roll=nights.folder / "new.json"))
    assert ended.code == 2
    assert not (nights.folder / "new.json").exists()


def test_a_roll_is_refused_for_a_past_day_another_policy_and_no_table(nights: Nights) -> None:
    new = nights.folder / "new.json"
    assert "--expires: is over" in nights.add(0, *nights.roll_words(roll=new, expires="2020-01-01")).err
    assert "--expires: is no day" in nights.add(0, *nights.roll_words(roll=new, expires="soon")).err
    assert "--data: is needed for a roll" in nights.add(0, *nights.roll_words(roll=new), data=False).err
    nights.policy(0, build={"use": "kadet", "k": 6})
    assert "is not the policy of the report" in nights.add(0, *nights.roll_words(roll=new)).err
    assert not new.exists()


def test_a_release_whose_trees_test_what_is_not_public_gets_no_roll(nights: Nights) -> None:
    columns = {
        "id": {"role": "key"},
        "age": {"role": "private", "bounds": [0, 9]},
        "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    nights.policy(0, data={"path": "0.csv", "columns": columns}, metrics=[{"use": "k_anonymity", "at_least": 1}])
    nights.audit(0)
    ended = nights.add(0, *nights.roll_words(roll=nights.folder / "new.json"))
    assert ended.code == 2
    assert ended.err.count("\n") == 1, ended.err
    assert "--roll: cannot be made: its trees test columns that are not public, and a roll has no secret" in ended.err


@pytest.mark.thorough
def test_after_its_last_day_a_roll_is_inconclusive(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:

    (nights.folder / "0.csv").unlink()
    set_today(monkeypatch, date(2999, 12, 31))
    assert audit(nights).code == 1
    set_today(monkeypatch, date(3000, 1, 1))
    said = problem(nights, "--roll-key", nights.roll_key)
    assert "ledger line 1: the table of its people is gone, and its roll expired on 2999-12-31" in said


@pytest.mark.thorough
def test_without_the_key_of_the_roll_or_with_another_one_it_is_inconclusive(nights: Nights) -> None:
    (nights.folder / "0.csv").unlink()
    assert "its roll cannot be used without its key" in problem(nights)
    other = nights.folder / "other"
    other.write_bytes(b"y" * 32)
    assert "its roll has another key" in problem(nights, "--roll-key", other)
    assert audit(nights, "--roll-key", other).code == 1
    assert nights.audit(1, "--roll-key", other).code == 2


@pytest.mark.thorough
def test_a_roll_that_was_changed_or_is_gone_is_inconclusive(nights: Nights) -> None:
    (nights.folder / "0.csv").unlink()
    words = ["--roll-key", nights.roll_key]
    original = nights.roll.read_bytes()
    document = json.loads(original)
    person, other = [*document["leaf"]][:2]
    moved = {**document["leaf"], person: [(document["leaf"][person][0] + 1) % document["leaves"][0]]}
    fewer = {each: leaf for each, leaf in document["leaf"].items() if each != other}
    changes = [
        {**document, "leaf": moved},
        {**document, "leaf": fewer},
        {**document, "expires": "3999-12-31"},
        {**document, "people": document["people"] + 1},
        {**document, "mac": "0" * 64},
    ]
    for changed in changes:
        nights.roll.write_bytes(json.dumps(changed, sort_keys=True, separators=(",", ":")).encode() + b"\n")
        assert "its roll was changed" in problem(nights, *words)
        assert forget(nights, person).code == 2
    nights.roll.write_bytes(original.replace(b"joint audits", b"joint  audits"))
    assert "its roll was changed" in problem(nights, *words)
    nights.roll.write_bytes(b"{}\n")
    assert "its roll is no roll" in problem(nights, *words)
    nights.roll.unlink()
    assert "its roll is gone, too" in problem(nights, *words)


@pytest.mark.thorough
def test_whoever_is_forgotten_is_not_in_the_roll_and_less_is_proved(nights: Nights) -> None:
    (nights.folder / "0.csv").unlink()
    audit(nights)
    before = proved(nights)
    assert before
    roll = read_roll(nights.roll, ROLL_KEY)
    cells = nights.folder / "cells"
    cells.write_text("p007\np009\n")
    ended = forget(nights, "--key-cell-file", cells)
    assert (ended.code, ended.out) == (0, f"{nights.roll}: 186 people; 2 of 188 forgotten\n")
    after = read_roll(nights.roll, ROLL_KEY)
    assert roll.leaf.keys() - after.leaf.keys() == {keyed_id(ROLL_KEY, "p007"), keyed_id(ROLL_KEY, "p009")}
    assert stat.S_IMODE(nights.roll.stat().st_mode) == 0o600
    assert audit(nights).code in {0, 1, 3}
    assert proved(nights) <= before
    (said,) = findings(nights)["exposure@joint#ill"]["evidence"]["not_compared"]
    assert said.endswith("some of its people were forgotten, so that less may be proved of others than is true")
    again = forget(nights, "--key-cell-file", cells)
    assert (again.code, "2 ids are not in the roll, so nobody was erased" in again.err) == (2, True)
    assert "p007" not in again.err
    ended = forget(nights, keyed_id(ROLL_KEY, "p010").upper(), "--json")
    assert ended.document == {"format": "leafgate/forgotten/1", "people": 185, "forgotten": 3}


def test_forgetting_needs_the_key_and_somebody(nights: Nights) -> None:
    before = nights.roll.read_bytes()
    assert "KEY-ID: is no keyed id" in forget(nights, "p007").err
    assert "names nobody" in forget(nights).err
    person = keyed_id(ROLL_KEY, "p007")
    assert "Missing option '--roll-key'" in leafgate("ledger", "forget", nights.roll, person).err
    other = nights.folder / "other"
    other.write_bytes(b"y" * 32)
    assert "has another key" in leafgate("ledger", "forget", nights.roll, person, "--roll-key", other).err
    assert nights.roll.read_bytes() == before


@pytest.mark.parametrize("leaves", ["counts", "shares", "labels"])
@pytest.mark.thorough
def test_somebody_who_has_another_secret_now_is_noticed_where_leaves_do_not_allow_it(
    nights: Nights, leaves: str
) -> None:
    nights.policy(0, publish={"leaves": leaves})
    assert nights.audit(0).code == 0
    nights.ledger.unlink()
    assert nights.begin().code == 0
    nights.roll.unlink()
    assert nights.add(0, *nights.roll_words()).code == 0
    (nights.folder / "0.csv").unlink()
    path = nights.folder / "1.csv"
    same = path.read_text()
    swapped = same.replace(",no", ",-").replace(",yes", ",no").replace(",-", ",yes")
    assert audit(nights).code in {0, 1, 3}
    assert "attack:joint" not in findings(nights)
    path.write_text(swapped)
    assert "or somebody has another secret now" in problem(nights, "--roll-key", nights.roll_key)
    nights.policy(1, secret_may_change=[["no", "yes"], ["yes", "no"]], ledger="required")
    assert audit(nights).code in {0, 1, 3}
    assert "attack:joint" not in findings(nights)


def test_a_limit_on_a_total_epsilon_needs_the_table_and_no_roll(nights: Nights) -> None:
    (nights.folder / "0.csv").unlink()
    private = {"use": "dp_random_trees", "epsilon": 1, "trees": 2, "rehearsal": True}
    metrics = [{"use": "differential_privacy", "at_most": 3}]
    nights.policy(1, build=private, attacks=[{"use": "linking"}], metrics=metrics)
    assert audit(nights).code == 3
    total = findings(nights)["differential_privacy"]
    assert (total["passed"], "a limit on this needs the table" in total["evidence"]["problem"]) == (None, True)


@pytest.mark.thorough
def test_a_roll_of_an_audit_that_an_organisation_held_to_its_policy_needs_that_policy(nights: Nights) -> None:
    nights.ledger.unlink()
    assert nights.begin().code == 0
    org = nights.folder / "org.yaml"
    unlisted = {"except": [{"columns": "id", "roles": ["key"]}]}
    org.write_text(yaml.safe_dump({"leafgate": 1, "ledger": "required", "data": {"unlisted": unlisted}}))
    assert nights.audit(0, "--org", org, ledger=True).code == 0
    words = nights.roll_words(roll=nights.folder / "new.json")
    assert "is not the policy of the report" in nights.add(0, *words).err
    assert nights.add(0, *words, "--org", org).code == 0
    assert "--org: is of the policy by which a roll is made" in nights.add(0, "--org", org).err


@pytest.mark.parametrize("has_own_key", [False, True])
@pytest.mark.thorough
def test_people_of_two_rolls_with_one_key_are_the_same_and_each_may_have_its_own(
    nights: Nights, has_own_key: bool
) -> None:
    other = nights.folder / "other"
    other.write_bytes(b"y" * 32)
    changes: dict[str, Any] = {"roll_key": other} if has_own_key else {}
    assert nights.add(1, *nights.roll_words(1, roll=nights.folder / "roll1.json", **changes)).code == 0
    header, *rows = (nights.folder / "1.csv").read_text().splitlines()
    (nights.folder / "2.csv").write_text("\n".join([header, *rows[6:]]) + "\n")
    nights.policy(2)
    words = ["--audience", "auditor", "--roll-key", nights.roll_key, "--roll-key", other]
    evidence = []
    for _ in range(2):
        assert nights.audit(2, *words, ledger=True).code in {0, 1, 3}
        (found,) = [each for each in nights.report(2)["findings"] if each["id"] == "exposure@joint#ill"]
        evidence.append({**found["evidence"], "worst": None})
        for night in range(2):
            (nights.folder / f"{night}.csv").unlink(missing_ok=True)
    assert len(evidence[1].pop("not_compared")) == 2
    if has_own_key:
        assert evidence[1]["people_proved"] <= evidence[0]["people_proved"]
    else:
        assert evidence[1] == evidence[0]
