"""A stranger's membership attack, its metric and an attribute attack, written from docs/reference/plugins.md alone."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import leafgate
from entry_points import Point
from leafgate.api import AdversaryKnowledge, AttackModel, Candidates, Metric, Table, registry, typed_column
from leafgate.api.hookspecs import GROUP
from leafgate.app import ExitCode
from leafgate.io.release_codec import read_release
from leafgate.testing import Check, Scenario, conformance
from secret_inputs import SECRET_INPUT

PACKAGE = Path(__file__).with_name("initech_leafgate")
MODULES = ("initech_membership", "initech_attributes")
LIMITS = {"initech_membership": 150, "initech_attributes": 120}
"""The most lines of a module."""

DOMAINS = {
    "region": ("north", "south", "east"),
    "band": ("20s", "30s", "40s", "50s"),
    "team": tuple("abcdefgh"),
    "shift": ("day", "night", "both"),
    "smoker": ("yes", "no"),
    "health": ("ill", "well"),
}
PEOPLE = 400
POLICY: Mapping[str, Any] = {
    "leafgate": 1,
    "name": "clinic",
    "data": {
        "path": "table.csv",
        "control": "control.csv",
        "columns": {
            name: {"role": {"smoker": "sensitive"}.get(name, "quasi_identifier"), "values": list(values)}
            for name, values in DOMAINS.items()
        }
        | {"health": {"role": ["class", "quasi_identifier"], "values": list(DOMAINS["health"])}},
    },
    "attacks": [
        {"use": "leaf_loss"},
        {"use": "leaf_loss", "name": "asking", "access": "scores"},
        {"use": "leaf_attributes"},
        {"use": "linking"},
    ],
    "metrics": [
        {"use": "membership_area", "at_most": 0.6},
        {"use": "membership_area", "name": "strict_area", "of": "leaf_loss", "at_most": 0.52},
        {"use": "exposure", "at_most": 0, "scored": "derived"},
    ],
}
BUILDERS: Mapping[str, Any] = {"over_grown": {"use": "id3"}, "anonymous": {"use": "kadet", "k": 20}}
Row = dict[str, str]


def people(seed: int) -> list[Row]:
    """Smokers are ill more often, and nothing else matters."""
    coins = random.Random(seed)
    rows = []
    for _ in range(PEOPLE):
        row = {name: coins.choice(values) for name, values in DOMAINS.items()}
        row["health"] = "ill" if coins.random() < (0.65 if row["smoker"] == "yes" else 0.35) else "well"
        rows.append(row)
    return rows


MEMBERS, OTHERS = people(1), people(2)


@pytest.fixture(scope="module")
def initech() -> Iterator[dict[str, ModuleType]]:
    """The modules of the package, installed as a distribution beside the bundled plugins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PACKAGE)
        modules = {name: import_module(name) for name in MODULES}
        installed = vars(registry)["entry_points"](group=GROUP)
        points = [Point(name, partial(modules.__getitem__, name), "initech-leafgate", "1.0") for name in MODULES]
        patch.setattr(registry, "entry_points", lambda group: [*installed, *points])
        yield modules


@pytest.fixture(scope="module")
def clinic(initech: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the two tables, and a policy for each builder."""
    folder = tmp_path_factory.mktemp("clinic")
    for name, rows in (("table", MEMBERS), ("control", OTHERS)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(DOMAINS))
            writer.writeheader()
            writer.writerows(rows)
    for name, builder in BUILDERS.items():
        (folder / f"{name}.yaml").write_text(json.dumps({**POLICY, "build": builder}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def reports(clinic: Path) -> dict[tuple[str, str], Any]:
    """The report of each builder's release for each audience; the exit code is under `code`."""
    found = {}
    for name, audience in product(BUILDERS, ("public", "auditor")):
        out = clinic / f"{name}-{audience}"
        ended = leafgate("audit", clinic / f"{name}.yaml", "--audience", audience, "--out", out, "--to", "sarif")
        assert ended.err == ""
        found[name, audience] = json.loads((out / "report.json").read_bytes()) | {"code": ended.code, "folder": out}
    return found


def finding(report: Any, name: str) -> Any:
    """The finding with this id."""
    (found,) = (each for each in report["findings"] if each["id"] == name)
    return found


def test_the_modules_are_as_short_as_the_page_says_a_plugin_can_be() -> None:
    for name, most in LIMITS.items():
        assert len((PACKAGE / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= most


# The conformance kit.


def kit() -> list[Any]:
    """Every check of the package's classes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PACKAGE)
        membership, attributes = (import_module(name) for name in MODULES)
    components: list[tuple[str, AttackModel | Metric, Sequence[Scenario]]] = [
        ("file", membership.LeafLoss(), ()),
        ("scores", membership.LeafLoss(access="scores"), ()),
        ("area", membership.MembershipArea(at_most=0.6), ()),
        ("attributes", attributes.LeafAttributes(), (SECRET_INPUT,)),
    ]
    return [
        pytest.param(check, id=f"{name}-{check.name}")
        for name, component, on in components
        for check in conformance(component, on=on)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("check", kit())
def test_it_conforms(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that finds a mistake raises NonConformance."""
    monkeypatch.syspath_prepend(PACKAGE)
    check()


# Audits.


def walk(node: Any, row: Row) -> Any:
    """The leaf of a release file to which a row goes: plain recursion over its JSON."""
    if node["kind"] == "leaf":
        return node
    (below,) = (each["node"] for each in node["branches"] if row[node["column"]] in each["values"])
    return walk(below, row)


def tree_of(report: Any) -> Any:
    """The one tree in the release file beside a report."""
    (tree,) = json.loads((report["folder"] / "release.json").read_bytes())["trees"]
    return tree


class Counted:
    """The members at each leaf by their class, counted in the table and not read from the tree."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.members = Counter((id(walk(tree, row)), row["health"]) for row in MEMBERS)

    def of(self, row: Row, health: str | None = None) -> int:
        """The members at the row's leaf who have its class, or this one."""
        return self.members[id(walk(self.tree, row)), health or row["health"]]

    def excludes(self, row: Row) -> bool:
        """Does nobody of its class go to its leaf?"""
        return self.of(row) == 0

    def share(self, row: Row) -> float:
        """The share of its class at its leaf; 0 where there is nobody."""
        everybody = sum(self.of(row, health) for health in DOMAINS["health"])
        return self.of(row) / everybody if everybody else 0.0

    def possible(self, row: Row) -> set[str]:
        """The values of smoker with which it comes to a leaf of somebody with its class."""
        return {value for value in DOMAINS["smoker"] if not self.excludes({**row, "smoker": value})}


def area_by_pairs(counted: Counted, *, excluding: bool) -> float:
    """The area under the ROC curve, over every pair of a member and another candidate."""
    members, others = (
        [-1.0 if excluding and counted.excludes(row) else counted.share(row) for row in rows]
        for rows in (MEMBERS, OTHERS)
    )
    return sum((a > b) + (a == b) / 2 for a in members for b in others) / len(members) / len(others)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_area_is_that_of_all_pairs(name: str, reports: dict[tuple[str, str], Any]) -> None:
    report = reports[name, "auditor"]
    counted = Counted(tree_of(report))
    for attack, excluding in (("leaf_loss", True), ("asking", False)):
        found = finding(report, f"membership_area@{attack}")
        assert found["value"] == pytest.approx(area_by_pairs(counted, excluding=excluding), abs=1e-12)
        assert found["plugin"] == "initech-leafgate 1.0"
        assert found["evidence"]["candidates"]["in_table"] == PEOPLE


def test_the_over_grown_tree_fails_and_the_anonymous_one_passes(reports: dict[tuple[str, str], Any]) -> None:
    over_grown, anonymous = (reports[name, "auditor"] for name in BUILDERS)
    assert (over_grown["code"], anonymous["code"]) == (ExitCode.FAIL, ExitCode.INCONCLUSIVE)
    for attack in ("leaf_loss", "asking"):
        broken, kept = (finding(report, f"membership_area@{attack}") for report in (over_grown, anonymous))
        assert broken["passed"] is False
        assert broken["evidence"]["interval"]["low"] > 0.6
        assert kept["passed"] is True
        assert kept["evidence"]["interval"]["high"] < 0.6
    assert finding(over_grown, "strict_area@leaf_loss")["passed"] is False
    undecided = finding(anonymous, "strict_area@leaf_loss")
    assert undecided["passed"] is None
    assert undecided["evidence"]["problem"] == "the limit lies within the interval of the score"


def test_the_interval_is_that_of_wilson(initech: dict[str, ModuleType]) -> None:
    """Brown, Cai, DasGupta 2001 give the formula; 15 of 50 at 95 % are from 0.1910 to 0.4375."""
    assert initech["initech_membership"].wilson(0.3, 50, 0.95) == pytest.approx((0.1910, 0.4375), abs=1e-4)


def test_excluded_is_who_has_nobody_of_the_class_in_the_leaf(
    initech: dict[str, ModuleType], reports: dict[tuple[str, str], Any]
) -> None:
    """The attack's own answer, candidate by candidate, against brute force over the table."""
    report = reports["over_grown", "auditor"]
    counted, rows = Counted(tree_of(report)), [*MEMBERS, *OTHERS]
    release = read_release((report["folder"] / "release.json").read_bytes(), "release.json").release
    columns = {
        column.name: typed_column(column, [row[column.name] for row in rows]) for column in release.schema.columns
    }
    ones = np.ones(len(rows), dtype=np.int64)
    candidates = Candidates(Table(release.schema, pd.DataFrame(columns), ones), PEOPLE, PEOPLE)
    nobody = Table(release.schema, pd.DataFrame(columns), ones).without_rows
    known = AdversaryKnowledge(release.schema, nobody, candidates=candidates)
    (belief,) = initech["initech_membership"].LeafLoss().infer(release, known)
    expected = [counted.excludes(row) for row in rows]
    assert sum(expected) > 20
    assert belief.excluded.tolist() == expected
    assert not any(expected[:PEOPLE])


@pytest.mark.parametrize("name", BUILDERS)
def test_possible_values_are_those_of_brute_force(name: str, reports: dict[tuple[str, str], Any]) -> None:
    report = reports[name, "auditor"]
    counted = Counted(tree_of(report))
    certain = [row for row in MEMBERS if len(counted.possible(row)) == 1]
    exposed = finding(report, "exposure@leaf_attributes#smoker")
    assert exposed["beyond"] == len(certain)
    assert exposed["passed"] is (not certain)
    assert bool(certain) is (name == "over_grown")
    assert all(counted.possible(row) == {row["smoker"]} for row in certain)


# Every other place where a plugin shows.


def test_the_public_reads_whether_a_limit_holds_and_nothing_of_candidates(reports: dict[tuple[str, str], Any]) -> None:
    for name in BUILDERS:
        public, auditor = reports[name, "public"], reports[name, "auditor"]
        for found in (each for each in public["findings"] if each["metric"] in {"membership_area", "strict_area"}):
            seen = finding(auditor, found["id"])
            assert found["passed"] == seen["passed"]
            assert found["value"] is None
            assert set(found["evidence"]) <= {"problem"}
        texts = [(public["folder"] / file).read_text(encoding="utf-8") for file in ("report.json", "report.sarif")]
        for secret in ("in_table", "not_in_table", "excluded", "queries"):
            assert not any(secret in text for text in texts)
        for seen in (each for each in auditor["findings"] if each["metric"] == "membership_area"):
            numbers = [seen["value"], *seen["evidence"]["interval"].values()]
            assert not any(f"{number:.4f}"[:6] in text for number in numbers for text in texts)


def test_sarif_names_the_broken_limit(reports: dict[tuple[str, str], Any]) -> None:
    (run,) = json.loads((reports["over_grown", "public"]["folder"] / "report.sarif").read_bytes())["runs"]
    texts = [each["message"]["text"] for each in run["results"] if each["ruleId"] == "membership_area"]
    assert any("lets people find out who is in the table" in text.lower() for text in texts)
    assert any("membership_area@asking is broken (wanted at most 0.6)" in text for text in texts)


def test_without_people_outside_the_audit_says_what_is_missing(clinic: Path) -> None:
    data = {key: value for key, value in POLICY["data"].items() if key != "control"}
    policy = {**POLICY, "data": data, "build": BUILDERS["over_grown"]}
    (clinic / "alone.yaml").write_text(json.dumps(policy), encoding="utf-8")
    out = clinic / "alone"
    assert leafgate("audit", clinic / "alone.yaml", "--out", out).code == ExitCode.FAIL  # by what attributes tell
    report = json.loads((out / "report.json").read_bytes())
    assert finding(report, "membership_area@any")["passed"] is None
    assert "data.control: there are no people" in finding(report, "attack:leaf_loss")["evidence"]["problem"]


def test_a_release_of_labels_has_no_scores_to_attack(clinic: Path) -> None:
    policy = {**POLICY, "build": BUILDERS["over_grown"], "publish": {"leaves": "labels"}}
    (clinic / "labels.yaml").write_text(json.dumps(policy), encoding="utf-8")
    out = clinic / "labels"
    assert (
        leafgate("audit", clinic / "labels.yaml", "--audience", "auditor", "--out", out).code == ExitCode.INCONCLUSIVE
    )
    report = json.loads((out / "report.json").read_bytes())
    assert {each["passed"] for each in report["findings"] if "membership" in each["metric"]} == {None}
    assert finding(report, "attack:leaf_attributes")["evidence"]["problem"] == "a leaf publishes no counts"
