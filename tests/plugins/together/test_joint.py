"""What several releases of the same people prove together, from policies and files to findings."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from command_line import leafgate
from leafgate import PolicyError
from leafgate.api import SecretBelief
from leafgate.app import Finding, Session, build_release, granted_knowledge, load_policy, open_session

COLUMNS: Mapping[str, Any] = {
    "id": {"role": "key"},
    "age": {"role": "quasi_identifier", "bounds": [0, 9]},
    "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
LIMITS = (
    {"use": "exposure", "of": "joint", "at_most": 0, "insiders": 1},
    {"use": "confidence", "of": "joint", "at_most": 0.95},
)
Row = tuple[str, int, str, str]


def people(n: int, seed: int = 0) -> list[Row]:
    """Some people whose illness depends a little on age and town."""
    rng = np.random.default_rng(seed)
    ages, towns = rng.integers(0, 10, n), rng.integers(0, 3, n)
    ill = rng.random(n) < 0.25 + 0.04 * ages + 0.1 * (towns == 1)
    return [(f"p{i:03}", int(ages[i]), "abc"[towns[i]], "yes" if ill[i] else "no") for i in range(n)]


@dataclass(frozen=True)
class Folder:
    """A folder with tables, policies and releases."""

    path: Path
    columns: Mapping[str, Any] = field(default_factory=lambda: COLUMNS)

    def table(self, name: str, rows: Sequence[Sequence[object]]) -> str:
        with (self.path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(rows)
        return name

    def policy(self, data: str, *, ignored: Sequence[str] = (), **changes: Any) -> Path:
        columns = {name: {"role": "ignored"} if name in ignored else spec for name, spec in self.columns.items()}
        document = {
            "leafgate": 1,
            "name": "together",
            "data": {"path": data, "columns": columns},
            "build": {"use": "kadet", "k": 2, "prune": False},
            "attacks": [{"use": "joint"}],
            "metrics": list(LIMITS),
            **changes,
        }
        path = self.path / "policy.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    def release(self, name: str, data: str, **changes: Any) -> str:
        session = open_session(self.policy(data, **changes))
        content = build_release(session.policy, session.plugins, session.table).content
        (self.path / name).write_bytes(content)
        return name

    def session(self, data: str, **changes: Any) -> Session:
        return open_session(self.policy(data, **changes))

    def findings(self, data: str, **changes: Any) -> dict[str, Finding]:
        return {each.id: each for each in self.session(data, **changes).audit().report.findings}

    def belief(self, data: str, **changes: Any) -> tuple[SecretBelief, Session]:
        session = self.session(data, **changes)
        attack = session.policy.attacks[0]
        artifact = build_release(session.policy, session.plugins, session.table)
        known = granted_knowledge(session.policy, attack, session.tables, artifact, readers=session.plugins.readers)
        (belief,) = attack.without_knows.infer(artifact.release, known)
        assert isinstance(belief, SecretBelief)
        return belief, session


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def proved_and_right(belief: SecretBelief, rows: Sequence[Sequence[Any]]) -> int:
    """How many people are proved; every one of them must be proved to have what is true. People in order of keys."""
    certain = belief.posterior.to_numpy() >= 1 - 1e-9
    truth = [["no", "yes"].index(row[-1]) for row in sorted(rows, key=lambda row: str(row[0]))]
    for row, value in zip(certain, truth, strict=True):
        assert not row.any() or row[value]
    return int(certain.any(axis=1).sum())


def test_a_joiner_between_two_nightly_trees_with_counts_is_proved(folder: Folder) -> None:
    rows = people(60)
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", rows)
    frozen = {"use": "published", "path": "new.json"}
    folder.release("old.json", yesterday, build={"use": "kadet", "k": 40})
    folder.release("new.json", today, build={"use": "kadet", "k": 40})
    releases = [{"path": "old.json", "data": yesterday}]
    belief, _ = folder.belief(today, build=frozen, releases=releases)
    assert proved_and_right(belief, rows) == 1
    found = folder.findings(today, build=frozen, releases=releases)
    assert found["exposure@joint#ill"].passed is False
    assert found["confidence@joint#ill"].passed is False
    alone = folder.findings(today, build=frozen)
    assert alone["exposure@joint#ill"].passed is True


@pytest.mark.parametrize(
    ("write", "passed"), [("{} ", False), ("\u200b{}.", False), ("P{}", None), ("{}", False), ("x{}", True)]
)
def test_keys_that_are_spelled_otherwise_in_another_table_hide_no_joiner(
    folder: Folder, write: str, passed: bool | None
) -> None:
    rows = people(60)
    spelled = [(write.format(row[0][1:] if write == "P{}" else row[0]), *row[1:]) for row in rows[:30]] + rows[30:]
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", spelled)
    build = {"use": "kadet", "k": 30}
    releases = [{"path": folder.release("old.json", yesterday, build=build), "data": yesterday}]
    found = folder.findings(today, build=build, releases=releases)
    assert (found.get("exposure@joint#ill") or found["exposure@joint"]).passed is passed
    if passed is None:
        assert "alike but for their spelling" in str(found["attack:joint"].evidence["problem"])
        distinct = {"role": "key", "distinct": [[row[0], f"P{row[0][1:]}"] for row in rows]}
        told = Folder(folder.path, {**COLUMNS, "id": distinct}).findings(today, build=build, releases=releases)
        assert told["exposure@joint#ill"].passed is True


def test_nobody_is_proved_by_labels_alone_of_one_leaf(folder: Folder) -> None:
    rows = people(60)
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", rows)
    build = {"use": "kadet", "k": 40}
    labels = {"leaves": "labels"}
    folder.release("old.json", yesterday, build=build, publish=labels)
    found = folder.findings(today, build=build, publish=labels, releases=[{"path": "old.json", "data": yesterday}])
    assert found["exposure@joint#ill"].passed is True


def test_limits_on_joint_judge_what_is_derived_whatever_the_policy_says(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    folder.release("age.json", table, ignored=["town"])
    for scored in ("worst", "composition", "derived"):
        metrics = [{"use": "exposure", "of": "joint", "at_most": 0, "scored": scored}]
        found = folder.findings(table, metrics=metrics, releases=[{"path": "age.json", "data": "same"}])
        finding = found["exposure@joint#ill"]
        assert finding.limit is not None
        assert finding.limit.scored == "derived"


def test_a_release_of_bootstraps_leaves_limits_inconclusive(folder: Folder) -> None:
    table = folder.table("people.csv", people(60))
    build = {"use": "kadet", "k": 40}
    name = folder.release("age.json", table, build=build)
    document = json.loads((folder.path / name).read_text())
    document["counted"] = "bootstrap"
    (folder.path / name).write_text(json.dumps(document))
    found = folder.findings(table, build=build, releases=[{"path": name, "data": "same"}])
    for limit in ("exposure@joint#ill", "confidence@joint#ill"):
        assert found[limit].passed is None
        assert "bootstraps" in str(found[limit].evidence["problem"])


def test_a_release_that_does_not_say_whose_it_is_leaves_limits_inconclusive(folder: Folder) -> None:
    rows = [(f"p{i:03}", 1, "a", "yes" if i % 3 == 0 else "no") for i in range(30)]
    joined = [*rows[1:], ("p999", 1, "a", "yes")]  # one left and one came, both ill: no number of the tree changes
    old, new = folder.table("old.csv", rows), folder.table("new.csv", joined)
    build = {"use": "kadet", "k": 30}
    folder.release("old.json", old, build=build)
    for data, passed in (({}, None), ({"data": old}, None), ({"data": "same"}, True)):
        found = folder.findings(new, build=build, releases=[{"path": "old.json"} | data])
        assert found["exposure@joint#ill" if data else "exposure@joint"].passed is passed
        if not data:
            assert "write `data: same`" in str(found["attack:joint"].evidence)
        elif passed is None:
            assert "left the table" in str(found["exposure@joint#ill"].evidence["problem"])


def test_people_of_another_table_without_keys_leave_limits_inconclusive(folder: Folder) -> None:
    rows = people(60)
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", rows)
    build = {"use": "kadet", "k": 40}
    folder.release("old.json", yesterday, build=build, ignored=["id"])
    releases = [{"path": "old.json", "data": yesterday}]
    found = folder.findings(today, build=build, ignored=["id"], releases=releases)
    assert found["exposure@joint#ill"].passed is None
    assert "key" in str(found["exposure@joint#ill"].evidence["problem"])


@pytest.mark.parametrize("fault", ["another secret", "other people", "no table", "no release"])
def test_a_release_that_is_not_of_its_table_is_inconclusive(folder: Folder, fault: str) -> None:
    rows = people(60)
    changed = [(*rows[0][:3], "no" if rows[0][3] == "yes" else "yes"), *rows[1:]]
    old = folder.table("old.csv", changed if fault == "another secret" else rows)
    today = folder.table("new.csv", rows)
    folder.release("old.json", old)
    if fault == "other people":
        folder.table("old.csv", people(60, seed=1))
    if fault == "no table":
        (folder.path / "old.csv").unlink()
    if fault == "no release":
        (folder.path / "old.json").write_text("{")
    if fault in {"no table"}:
        releases = [{"path": "old.json", "data": "gone.csv"}]
    else:
        releases = [{"path": "old.json", "data": "old.csv"}]
    found = folder.findings(today, releases=releases)
    assert found["attack:joint"].passed is None
    assert "releases[0]" in str(found["attack:joint"].evidence["problem"]) or fault == "another secret"
    assert found["exposure@joint"].passed is None


def test_what_is_not_decided_in_time_leaves_limits_inconclusive(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    found = folder.findings(table, build={"use": "kadet", "k": 20}, attacks=[{"use": "joint", "time_limit": 1e-9}])
    for limit in ("exposure@joint#ill", "confidence@joint#ill"):
        assert found[limit].passed is None
        assert "not decided in time" in str(found[limit].evidence["problem"])


@pytest.mark.parametrize(("ill", "passed"), [(1, (False, None, False)), (2, (True, None, False)), (3, (True,) * 3)])
def test_two_insiders_are_tried_by_an_attack_with_two(
    folder: Folder, ill: int, passed: tuple[bool | None, ...]
) -> None:
    table = folder.table("people.csv", [(f"p{i:03}", 1, "a", "yes" if i < ill else "no") for i in range(10)])
    for (of_limit, of_attack), expected in zip(((1, 1), (2, 1), (2, 2)), passed, strict=True):
        metrics = [{"use": "exposure", "of": "joint", "at_most": 0, "insiders": of_limit}]
        attacks = [{"use": "joint", "insiders": of_attack}]
        found = folder.findings(table, build={"use": "kadet", "k": 10}, metrics=metrics, attacks=attacks)
        assert found["exposure@joint#ill"].passed is (None if of_attack < of_limit else expected)


@pytest.mark.parametrize(
    ("young", "ill", "passed"),
    [(1, (10, 1, 0, 7, 7), False), (1, (10, 1, 1, 7, 7), False), (3, (10, 2, 1, 7, 7), True)],
)
def test_insiders_of_other_joint_classes_know_as_much(
    folder: Folder, young: int, ill: Sequence[int], passed: bool
) -> None:
    groups = (("a", 0, 20), ("b", 0, young), ("c", 0, young), ("b", 9, 9), ("c", 9, 9))
    cells = [(town, age, i < n) for (town, age, size), n in zip(groups, ill, strict=True) for i in range(size)]
    rows = [(f"p{i:03}", age, town, "yes" if is_ill else "no") for i, (town, age, is_ill) in enumerate(cells)]
    table, build = folder.table("people.csv", rows), {"use": "kadet", "k": 10, "prune": False}
    folder.release("town.json", table, build=build, ignored=["age"])
    folder.release("age.json", table, build=build, ignored=["town"])
    changes = {"build": {"use": "published", "path": "age.json"}, "releases": [{"path": "town.json", "data": "same"}]}
    assert folder.findings(table, **changes)["exposure@joint#ill"].passed is passed
    if ill == (10, 1, 0, 7, 7):  # outsiders know no more than that one of the two is ill
        metrics = [{"use": "exposure", "of": "joint", "at_most": 0}]
        assert folder.findings(table, **changes, metrics=metrics)["exposure@joint#ill"].passed is True


def test_releases_without_an_attack_that_uses_them_are_refused(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    (folder.path / "old.json").write_text("{}")
    metrics = [{"use": "exposure", "at_most": 0}]
    path = folder.policy(table, attacks=[{"use": "linking"}], metrics=metrics, releases=[{"path": "old.json"}])
    with pytest.raises(PolicyError, match="no attack and no limit of the policy uses them"):
        load_policy(path)


def two_nights(folder: Folder) -> tuple[dict[str, Any], list[Row], list[Row]]:
    """A policy's keys for two nights of the same people and one joiner; one of them fell ill in between."""
    today = people(60)
    ill = next(i for i, row in enumerate(today) if row[3] == "yes")
    yesterday = [(*row[:3], "no" if i == ill else row[3]) for i, row in enumerate(today[:-1])]
    old, new = folder.table("old.csv", yesterday), folder.table("new.csv", today)
    folder.release("old.json", old, build={"use": "kadet", "k": 40})
    changes = {"build": {"use": "kadet", "k": 40}, "releases": [{"path": "old.json", "data": old}]}
    return {"data": new, **changes}, yesterday, today


@pytest.mark.parametrize(
    ("change", "proved"),
    [
        (False, None),
        ([["yes", "no"]], None),
        ({"at_most": 0}, None),
        ([["no", "yes"]], 0),
        ({"at_most": 2}, 0),
        ({"at_most": 1}, 1),
    ],
)
def test_what_may_change_between_two_nights_is_what_changed_or_nothing_follows(
    folder: Folder, change: Any, proved: int | None
) -> None:
    changes, _, today = two_nights(folder)
    if proved is None:
        found = folder.findings(**changes, secret_may_change=change)
        assert found["exposure@joint"].passed is None
        assert "secret" in str(found["attack:joint"].evidence["problem"])
        return
    assert today[-1][3] == "yes"  # two more are ill, so that one change does not explain it
    belief, _ = folder.belief(**changes, secret_may_change=change)
    assert proved_and_right(belief, today) == proved


def test_limits_are_inconclusive_where_anything_may_change_unless_they_are_broken(folder: Folder) -> None:
    changes, _, _ = two_nights(folder)
    found = folder.findings(**changes, secret_may_change=True)
    assert found["exposure@joint#ill"].passed is None
    assert "secret_may_change" in str(found["exposure@joint#ill"].evidence["problem"])
    pure = folder.table("pure.csv", [(f"p{i:03}", i // 10, "a", "yes" if i < 10 else "no") for i in range(20)])
    folder.release("pure.json", pure)
    found = folder.findings(pure, releases=[{"path": "pure.json", "data": "same"}], secret_may_change=True)
    assert found["exposure@joint#ill"].passed is False


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ([["well", "yes"]], "a value that no secret has"),
        ({"at_least": 1}, "secret_may_change"),
        ({"at_most": 2**63}, "secret_may_change"),
    ],
)
def test_what_cannot_change_is_refused(folder: Folder, change: Any, problem: str) -> None:
    changes, _, _ = two_nights(folder)
    with pytest.raises(PolicyError, match=problem):
        load_policy(folder.policy(**changes, secret_may_change=change))


def test_changes_are_refused_without_other_releases(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    with pytest.raises(PolicyError, match="names no other `releases`"):
        load_policy(folder.policy(table, secret_may_change=True))


@pytest.mark.parametrize(
    ("older", "newer", "is_tighter"),
    [
        (True, False, True),
        (False, True, False),
        ("yes", "no", True),
        ("no", "yes", False),
        ({"at_most": 5}, {"at_most": 4}, True),
        ({"at_most": 4}, {"at_most": 5}, False),
        ([["no", "yes"]], False, True),
        (False, [["no", "yes"]], False),
        ([["no", "yes"]], {"at_most": 5}, False),
        (True, [["no", "yes"]], True),
    ],
)
def test_a_child_may_only_allow_fewer_changes(folder: Folder, older: Any, newer: Any, is_tighter: bool) -> None:
    changes, _, _ = two_nights(folder)
    parent = folder.policy(**changes, secret_may_change=older).rename(folder.path / "parent.yaml")
    child = folder.path / "child.yaml"
    document = {"leafgate": 1, "name": "child", "extends": parent.name, "secret_may_change": newer}
    child.write_text(yaml.safe_dump(document))
    if is_tighter:
        assert load_policy(child).policy.secret_may_change is not None
    else:
        with pytest.raises(PolicyError, match="secret_may_change"):
            load_policy(child)


@pytest.mark.parametrize(("word", "may"), [("no", False), ("yes", True)])
def test_yes_and_no_say_whether_a_secret_may_change(folder: Folder, word: str, may: bool) -> None:
    changes, _, _ = two_nights(folder)
    assert load_policy(folder.policy(**changes, secret_may_change=word)).policy.secret_may_change is may


def test_all_others_are_proved_where_everybody_with_the_value_is_known(folder: Folder) -> None:
    rows = [(f"p{i:03}", 5 if i < 2 else 1, "a", "yes" if i < 2 else "no") for i in range(10)]
    table = folder.table("people.csv", rows)
    (folder.path / "known.csv").write_text("age,town,ill\n5,a,yes\n5,a,yes")
    build = {"use": "kadet", "k": 10}
    belief, _ = folder.belief(table, build=build, knows={"people": "known.csv"})
    assert belief.posterior["yes"].tolist() == [0, 1]
    without, _ = folder.belief(table, build=build)
    assert without.posterior["yes"].tolist() == [0.2, 0.2]


@pytest.mark.parametrize("by_town", [True, False])
def test_known_people_are_known_as_of_the_audited_table(folder: Folder, by_town: bool) -> None:
    old_rows = [(f"p{i:03}", 1, "b" if i == 9 else "a", "yes" if i < 3 else "no") for i in range(10)]
    rows = [*old_rows[:-1], (*old_rows[-1][:3], "yes")]  # the known person, alone in her town, fell ill in between
    old, new = folder.table("old.csv", old_rows), folder.table("new.csv", rows)
    (folder.path / "known.csv").write_text("age,town,ill\n1,b,yes\n")
    (folder.path / "paper.csv").write_text("count,town,ill\n3,a,yes\n6,a,no\n1,b,no\n")
    build = {"use": "kadet", "k": 10}
    folder.release("old.json", old, build=build)
    paper = {"path": "paper.csv", "counts": ["town", "ill"]} if by_town else {"path": "old.json"}
    changes = {"secret_may_change": [["no", "yes"]], "knows": {"people": "known.csv"}}
    belief, _ = folder.belief(new, build=build, releases=[paper | {"data": old}], **changes)
    assert proved_and_right(belief, rows) == 1
    unused = belief.evidence.get("unused", [])
    assert any("in an older table" in reason for reason in unused) == by_town


def test_counts_of_a_sample_are_lower_limits_that_can_break_a_limit(folder: Folder) -> None:
    rows = [(f"p{i:03}", 1, "a", "yes" if i < 10 else "no") for i in range(20)]
    table = folder.table("people.csv", rows)
    name = folder.release("labels.json", table, publish={"leaves": "labels"})
    sample = json.loads((folder.path / folder.release("sample.json", table)).read_text())
    sample["counted"] = "sampled"
    for counts, passed in (({"no": 9, "yes": 10}, None), ({"no": 10, "yes": 10}, None)):
        sample["trees"][0]["counts"] = counts
        (folder.path / "sample.json").write_text(json.dumps(sample))
        build, releases = (
            {"use": "published", "path": name},
            [{"path": name, "data": "same"}, {"path": "sample.json", "data": "same"}],
        )
        found = folder.findings(table, build=build, publish={"leaves": "labels"}, releases=releases)
        assert found["exposure@joint#ill"].passed is passed
        assert "lower limits" in str(found["exposure@joint#ill"].evidence)


def test_a_child_may_not_drop_or_change_releases(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    for name in ("old.json", "other.json"):
        folder.release(name, table)
    parent = folder.policy(table, releases=[{"path": "old.json"}]).rename(folder.path / "parent.yaml")
    child = folder.path / "child.yaml"
    for releases in ([], [{"path": "other.json"}]):
        document = {"leafgate": 1, "name": "child", "extends": parent.name, "releases": releases}
        child.write_text(yaml.safe_dump(document))
        with pytest.raises(PolicyError, match="releases"):
            load_policy(child)
    child.write_text(yaml.safe_dump({"leafgate": 1, "name": "child", "extends": parent.name}))
    assert len(load_policy(child).policy.releases) == 1


def test_who_came_and_who_left_are_counted_for_auditors(folder: Folder) -> None:
    rows = people(60)
    yesterday, today = folder.table("old.csv", rows[:-2]), folder.table("new.csv", rows[1:])
    build = {"use": "kadet", "k": 40}
    folder.release("old.json", yesterday, build=build)
    session = folder.session(today, build=build, releases=[{"path": "old.json", "data": yesterday}])
    audit = session.audit()
    (finding,) = [each for each in audit.report.findings if each.id == "exposure@joint#ill"]
    groups = finding.evidence["came_and_left"].content.content["releases[0] (old.json)"]
    assert {name: int(group["people"].count) for name, group in groups.items()} == {"came": 2, "left": 1, "stayed": 57}


def test_one_tree_proves_what_linking_is_certain_of(folder: Folder) -> None:
    for seed in range(5):
        rows = people(40, seed)
        table = folder.table("people.csv", rows)
        belief, session = folder.belief(table, attacks=[{"use": "joint"}])
        linking, _ = folder.belief(table, attacks=[{"use": "linking"}], metrics=[{"use": "exposure", "at_most": 0}])
        known = session.table.public[0]
        assert len(belief.posterior) == len(linking.posterior) == len(known)
        certain = linking.posterior.to_numpy() >= 1 - 1e-9
        assert ((belief.posterior.to_numpy() >= 1 - 1e-9) == certain).all()


def test_labels_that_are_not_those_of_most_people_leave_no_answer(folder: Folder) -> None:
    table = folder.table("people.csv", people(60))
    name = folder.release("one.json", table, build={"use": "kadet", "k": 40}, publish={"leaves": "labels"})
    document = json.loads((folder.path / name).read_text())
    label = document["trees"][0]["label"]
    document["trees"][0]["label"] = "no" if label == "yes" else "yes"
    (folder.path / name).write_text(json.dumps(document))
    build = {"use": "published", "path": name}
    found = folder.findings(table, build=build, publish={"leaves": "labels"})
    assert "labels or shares that are not those" in str(found["attack:joint"].evidence["problem"])


def test_an_estimate_near_a_limit_is_inconclusive(folder: Folder) -> None:
    rows = people(40, seed=1)
    table = folder.table("people.csv", rows)
    build = {"use": "kadet", "k": 10, "prune": False}
    folder.release("town.json", table, build=build, ignored=["age"])
    folder.release("age.json", table, build=build, ignored=["town"])
    changes: dict[str, Any] = {
        "build": {"use": "published", "path": "age.json"},
        "releases": [{"path": "town.json", "data": "same"}],
    }
    belief, _ = folder.belief(table, **changes)
    largest = float(belief.posterior.to_numpy().max())
    assert 0.6 < largest < 0.97
    for change, passed in ((-0.03, False), (-0.01, None), (0.01, None), (0.03, True)):
        metrics = [{"use": "confidence", "of": "joint", "at_most": round(largest + change, 4)}]
        finding = folder.findings(table, metrics=metrics, **changes)["confidence@joint#ill"]
        assert finding.passed is passed, change


MORE_COLUMNS: Mapping[str, Any] = {
    "id": {"role": "key"},
    "age": {"role": "quasi_identifier", "bounds": [18, 90]},
    "district": {"role": "quasi_identifier", "values": [f"d{i}" for i in range(12)]},
    "education": {"role": "quasi_identifier", "values": [f"e{i}" for i in range(6)]},
    "job": {"role": "quasi_identifier", "values": [f"j{i}" for i in range(8)]},
    "children": {"role": "quasi_identifier", "bounds": [0, 5]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}


def more_people(n: int) -> list[tuple[object, ...]]:
    rng = np.random.default_rng(5)
    age, district, education = rng.integers(18, 90, n), rng.integers(0, 12, n), rng.integers(0, 6, n)
    job, children = rng.integers(0, 8, n), rng.integers(0, 5, n)
    score = (age - 50) / 15 + (district % 3 == 0) - 1.2 * (education > 3) + 1.3 * (job < 2) - 0.7 * (children > 2)
    ill = score + rng.normal(0, 0.8, n) > 0.9
    cells = zip(age, district, education, job, children, ill, strict=True)
    return [
        (f"p{i:04}", int(a), f"d{d}", f"e{e}", f"j{j}", int(c), "yes" if is_ill else "no")
        for i, (a, d, e, j, c, is_ill) in enumerate(cells)
    ]


def test_three_trees_that_pass_alone_fail_together(tmp_path: Path) -> None:
    folder, rows = Folder(tmp_path, MORE_COLUMNS), more_people(550)
    table = folder.table("people.csv", rows)
    alone = [
        {"use": "k_anonymity", "at_least": 10},
        {"use": "confidence", "at_most": 0.95},
        {"use": "exposure", "at_most": 0},
    ]
    require = [{"use": "confidence", "at_most": 0.95}, {"use": "exposure"}]
    builds = [
        {"use": "kadet", "k": 10, "prune": False, "measure": measure, "require": require}
        for measure in ("gain", "gini", "gain_ratio")
    ]
    for i, build in enumerate(builds):
        changes: dict[str, Any] = {"build": build, "attacks": [{"use": "linking"}], "metrics": alone}
        assert all(each.passed for each in folder.findings(table, **changes).values())
        folder.release(f"{i}.json", table, **changes)
    releases = [{"path": "1.json", "data": "same"}, {"path": "2.json", "data": "same"}]
    two, _ = folder.belief(table, build=builds[0], releases=releases[:1])
    three, _ = folder.belief(table, build=builds[0], releases=releases)
    assert 60 < 3 * proved_and_right(two, rows) < proved_and_right(three, rows)
    found = folder.findings(table, build=builds[0], releases=releases)
    assert found["exposure@joint#ill"].passed is False
    assert found["confidence@joint#ill"].passed is False


def test_a_frequency_table_is_a_release_too(folder: Folder) -> None:
    rows = people(60)
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", rows)
    counted = {(town, ill): 0 for town in "abc" for ill in ("no", "yes")}
    for row in rows[:-1]:
        counted[row[2], row[3]] += 1
    lines = ["count,town,ill", *(f"{n},{town},{ill}" for (town, ill), n in counted.items() if n)]
    (folder.path / "paper.csv").write_text("\n".join(lines))
    releases = [{"path": "paper.csv", "counts": ["town", "ill"], "data": yesterday}]
    build = {"use": "kadet", "k": 40}
    belief, _ = folder.belief(today, build=build, releases=releases)
    assert proved_and_right(belief, rows) == 1  # by the numbers of everybody, whatever the town
    found = folder.findings(today, build=build, releases=releases)
    assert found["exposure@joint#ill"].passed is False


@pytest.mark.parametrize(("n", "digits", "proved"), [(60, 1, 1), (60, 2, 1), (150, 1, 0), (150, 2, 1)])
def test_a_table_of_shares_says_what_rounds_to_them(folder: Folder, n: int, digits: int, proved: int) -> None:
    rows = people(n)
    yesterday, today = folder.table("old.csv", rows[:-1]), folder.table("new.csv", rows)
    groups: dict[str, list[bool]] = {}
    for row in rows[:-1]:
        groups.setdefault(row[2], []).append(row[3] == "yes")
    lines, sums = ["town,ill,share"], {0}
    for town, ill in groups.items():
        share = sum(ill) / len(ill)
        lines += [f"{town},yes,{share:.{digits}f}", f"{town},no,{1 - share:.{digits}f}"]
        half = 0.5 * 10**-digits + 1e-12
        fits = [k for k in range(len(ill) + 1) if abs(k / len(ill) - float(f"{share:.{digits}f}")) <= half]
        sums = {total + k for total in sums for k in fits}
    n_ill = sum(row[3] == "yes" for row in rows)
    assert proved == ((n_ill in sums) != (n_ill - 1 in sums))  # the joiner is well, or she is ill
    (folder.path / "paper.csv").write_text("\n".join(lines))
    releases = [{"path": "paper.csv", "counts": ["town", "ill"], "data": yesterday}]
    belief, _ = folder.belief(today, build={"use": "kadet", "k": 140 if n > 100 else 40}, releases=releases)
    assert proved_and_right(belief, rows) == proved


@pytest.mark.parametrize(
    "text",
    [
        "",
        "share,town,ill\n1.5,a,no\n",
        "share,town,ill\n-0.5,a,no\n",
        "share,town,ill\n1e-1,a,no\n",
        "share,town,ill\nnan,a,no\n",
        "town,ill\na,no\n",
        "count,town,ill\nx,a,no\n",
        "count,town,ill\n1,a,no\n1,a,no\n",
        "count,town,ill\n1,z,no\n",
    ],
)
def test_what_is_no_frequency_table_is_inconclusive(folder: Folder, text: str) -> None:
    table = folder.table("people.csv", people(40))
    (folder.path / "paper.csv").write_text(text)
    found = folder.findings(table, releases=[{"path": "paper.csv", "counts": ["town", "ill"], "data": "same"}])
    assert "frequency table" in str(found["attack:joint"].evidence["problem"])


def test_a_report_that_passed_says_that_no_share_is_larger(folder: Folder) -> None:
    rows = [(f"p{i:03}", i // 10, "a", "yes" if i < 7 else "no") for i in range(20)]
    table = folder.table("people.csv", rows)
    build, publish = {"use": "kadet", "k": 10, "prune": False}, {"leaves": "labels"}
    changes: dict[str, Any] = {"build": build, "publish": publish}
    name = folder.release("labels.json", table, **changes)
    limits = [{"use": "confidence", "of": "linking", "at_most": 0.99}]
    found = folder.findings(table, **changes, attacks=[{"use": "linking"}], metrics=limits)
    assert found["confidence@linking#ill"].passed is False  # everybody of the older half is well
    rows[19] = (*rows[19][:3], "yes")
    table = folder.table("people.csv", rows)
    name = folder.release("labels.json", table, **changes)
    limits = [{"use": "confidence", "of": "linking", "at_most": 0.9}]
    path = folder.policy(table, **changes, attacks=[{"use": "linking"}], metrics=limits)
    assert leafgate("audit", path, "--out", folder.path / "out").code == 0
    (folder.path / "out" / "report.json").rename(folder.path / "report.json")
    other = {"build": {"use": "published", "path": name}, "publish": publish}
    (folder.path / "paper.csv").write_text("town,ill,share\na,yes,0.4\na,no,0.6")
    releases = [{"path": "paper.csv", "counts": ["town", "ill"], "data": "same"}]
    alone, _ = folder.belief(table, **other, releases=releases)
    belief, _ = folder.belief(table, **other, releases=[*releases, {"path": "report.json"}])
    assert proved_and_right(alone, rows) == proved_and_right(belief, rows) == 0
    assert belief.posterior["no"].max() < alone.posterior["no"].max()
    document = json.loads((folder.path / "report.json").read_text())
    document["release"]["sha256"] = "0" * 64
    (folder.path / "report.json").write_text(json.dumps(document))
    found = folder.findings(table, **other, releases=[*releases, {"path": "report.json"}])
    assert "is of none of the releases" in str(found["attack:joint"].evidence["problem"])
    found = folder.findings(table, **other, releases=[{"path": "report.json", "data": table}])
    assert "leave out `data`" in str(found["attack:joint"].evidence["problem"])
    (folder.path / "report.json").write_text('{"format": "leafgate/report/1", "findings": 1}')
    found = folder.findings(table, **other, releases=[{"path": "report.json"}])
    assert "is no report" in str(found["attack:joint"].evidence["problem"])


def test_a_frequency_table_of_other_people_is_inconclusive(folder: Folder) -> None:
    table = folder.table("people.csv", people(40))
    (folder.path / "paper.csv").write_text("count,town,ill\n40,a,no\n")
    found = folder.findings(table, releases=[{"path": "paper.csv", "counts": ["town", "ill"], "data": "same"}])
    assert "is not of its table" in str(found["attack:joint"].evidence["problem"])


@pytest.mark.parametrize("counts", [["town"], ["town", "town", "ill"], ["age", "ill"], ["city", "ill"]])
def test_columns_that_no_frequency_table_can_have_are_refused(folder: Folder, counts: list[str]) -> None:
    table = folder.table("people.csv", people(40))
    (folder.path / "paper.csv").write_text("")
    path = folder.policy(table, releases=[{"path": "paper.csv", "counts": counts}])
    with pytest.raises(PolicyError, match=r"releases\[0\]\.counts"):
        load_policy(path)


def mixed(n: int, age: int = 0) -> list[Row]:
    """People who are alike in public, every second of whom is ill."""
    return [(f"p{age}{i:03}", age, "a", "yes" if i % 2 else "no") for i in range(n)]


def test_somebody_who_left_and_is_proved_leaves_limits_inconclusive(folder: Folder) -> None:
    rows = mixed(100)
    old, new = folder.table("old.csv", rows), folder.table("new.csv", rows[:-1])
    build = {"use": "kadet", "k": 20}
    folder.release("old.json", old, build=build)
    found = folder.findings(new, build=build, releases=[{"path": "old.json", "data": old}])
    for limit in ("exposure@joint#ill", "confidence@joint#ill"):
        assert found[limit].passed is None
        assert "left the table" in str(found[limit].evidence["problem"])


def test_what_the_other_releases_prove_alone_of_those_who_left_is_not_this_ones(folder: Folder) -> None:
    rows = mixed(100)
    old, new = folder.table("old.csv", rows), folder.table("new.csv", rows[:-1])
    older = folder.table("older.csv", rows[:-1])
    build = {"use": "kadet", "k": 20}
    folder.release("old.json", old, build=build)
    folder.release("older.json", older, build=build)
    releases = [{"path": "older.json", "data": older}, {"path": "old.json", "data": old}]
    found = folder.findings(new, build=build, releases=releases)
    assert found["exposure@joint#ill"].passed is True


@pytest.mark.parametrize("change", [{"at_most": 1}, [["yes", "no"]], {"at_most": 200}, [["no", "yes"], ["yes", "no"]]])
def test_what_a_secret_was_is_not_passed_over_where_it_may_have_changed(folder: Folder, change: Any) -> None:
    rows = [*((*row[:3], "yes") for row in mixed(20)), *mixed(80, age=5)]
    old, new = folder.table("old.csv", rows), folder.table("new.csv", [*rows, *mixed(2, age=9)])
    (folder.path / "paper.csv").write_text("town,ill,count\na,yes,60\na,no,40")
    folder.release("old.json", old, build={"use": "kadet", "k": 20, "prune": False})
    build = {"use": "kadet", "k": 100}
    changes: dict[str, Any] = {"build": build, "releases": [{"path": "old.json", "data": old}]}
    metrics = [{"use": "exposure", "of": "joint", "at_most": 0}]
    assert folder.findings(new, **changes, metrics=metrics)["exposure@joint#ill"].passed is False
    found = folder.findings(new, **changes, metrics=metrics, secret_may_change=change)
    assert found["exposure@joint#ill"].passed is None


@pytest.mark.parametrize("name", ["new.csv", "./new.csv", "copy.csv"])
def test_the_audited_table_under_another_name_is_the_audited_table(folder: Folder, name: str) -> None:
    cells = zip("aababbbbc", "nnnynnyny", strict=True)
    rows = [(f"p{i}", i // 3, town, "yes" if ill == "y" else "no") for i, (town, ill) in enumerate(cells)]
    new = folder.table("new.csv", rows)
    folder.table("copy.csv", rows)
    release = folder.release("age.json", new, build={"use": "kadet", "k": 3, "prune": False}, ignored=["town"])
    changes: dict[str, Any] = {"build": {"use": "kadet", "k": 9}, "secret_may_change": {"at_most": 2}}
    alone = folder.findings(new, **changes, releases=[{"path": release, "data": "same"}])
    named = folder.findings(new, **changes, releases=[{"path": release, "data": name}])
    assert alone["exposure@joint#ill"].passed is named["exposure@joint#ill"].passed is False


def test_insiders_of_a_limit_need_an_attack_that_says_what_they_know(folder: Folder) -> None:
    table = folder.table("people.csv", [("q1", 0, "b", "yes"), ("q2", 0, "b", "no"), *mixed(20)])
    (folder.path / "paper.csv").write_text("town,ill,count\na,yes,10\na,no,10\nb,yes,1\nb,no,1")
    releases = [{"path": "paper.csv", "counts": ["town", "ill"], "data": "same"}]
    changes: dict[str, Any] = {"build": {"use": "kadet", "k": 20}, "releases": releases}
    assert folder.findings(table, **changes)["exposure@joint#ill"].passed is False
    found = folder.findings(table, **changes, attacks=[{"use": "joint", "insiders": 0}])["exposure@joint#ill"]
    assert found.passed is None
    assert "insiders" in str(found.evidence["problem"])


def test_tables_that_share_no_key_leave_limits_inconclusive(folder: Folder) -> None:
    rows = people(60)
    new = folder.table("new.csv", rows)
    old = folder.table("old.csv", [(f"X{row[0]}", *row[1:]) for row in rows])
    folder.release("old.json", old)
    found = folder.findings(new, releases=[{"path": "old.json", "data": old}])
    assert found["exposure@joint"].passed is None
    assert "none of its keys" in str(found["attack:joint"].evidence["problem"])


def test_known_people_who_may_be_others_leave_limits_inconclusive(folder: Folder) -> None:
    table = folder.table("people.csv", mixed(10))
    (folder.path / "known.csv").write_text("age,town,ill\n" + "0,a,yes\n" * 5)
    found = folder.findings(table, build={"use": "kadet", "k": 10}, knows={"people": "known.csv"})
    assert found["exposure@joint#ill"].passed is None
    assert "knows.people" in str(found["exposure@joint#ill"].evidence["problem"])


def test_what_is_wrong_with_another_table_is_said_without_numbers(folder: Folder) -> None:
    rows = people(60)
    old, new = folder.table("old.csv", rows), folder.table("new.csv", rows[:-1])
    folder.release("old.json", old)
    folder.table("old.csv", [*rows[:8], ("p999", 3, "z", "no"), *rows[8:]])
    found = folder.findings(new, releases=[{"path": "old.json", "data": old}])
    problem = str(found["attack:joint"].evidence["problem"])
    assert "some cells are outside the `values`" in problem
    assert not set("123456789") & set(problem.replace("releases[0]", ""))
