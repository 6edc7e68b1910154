"""The command sweep: what it varies, what it leaves, what it takes over, how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import textwrap
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Literal
from xml.etree import ElementTree

import numpy as np
import pytest

from command_line import Ended, leafgate, start
from leafgate import PolicyError
from leafgate.api import Release, Table, TreeBuilder, hookimpl
from leafgate.app import policy_of
from leafgate.commands.sweep.axes import Point, axis_of, points_of
from leafgate.commands.sweep.results import SweepOutcome, value_of
from leafgate.commands.sweep.worker import Result, Task, policy_at
from leafgate.search.picture import _free_line
from survey import policy, survey

METRICS = [{"use": "k_anonymity", "at_least": 6}, {"use": "exposure", "at_most": 1}]
ACCURATE = [*METRICS, {"use": "accuracy", "at_least": 0}]


def swept(folder: Path, *words: object, changes: Mapping[str, Any] | None = None, out: str = "swept") -> Ended:
    """A sweep of the survey, whose people are their own test table; results go to a folder beside it."""
    path = survey(
        folder, {"data.test": "people.csv", "metrics": deepcopy(ACCURATE), "build.prune": False, **(changes or {})}
    )
    alone = [] if "--workers" in words else ["--workers", 1]
    return leafgate("sweep", path, "--out", folder / out, *alone, *words)


def results(folder: Path, out: str = "swept") -> Any:
    return json.loads((folder / out / "sweep.json").read_text())


def rows(folder: Path, out: str = "swept") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / out / "sweep.csv").read_text())))


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but those that hold clock readings."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "timings.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_every_value_is_audited_and_the_most_accurate_release_that_passes_is_named(tmp_path: Path) -> None:
    ended = swept(tmp_path, "--over", "build.k=1,3,6,12", changes={"report.smallest_cell": 2})
    assert (ended.code, ended.err) == (0, "")
    points = {row["build.k"]: row for row in rows(tmp_path)}
    assert {k: row["verdict"] for k, row in points.items()} == {"1": "fail", "3": "fail", "6": "pass", "12": "pass"}
    result = results(tmp_path)
    accuracy = {p["folder"]: p["findings"][-2]["value"] for p in result["points"] if p["verdict"] == "pass"}
    assert accuracy[result["best"]] == max(accuracy.values())
    assert result["best"] in ended.out.splitlines()[-1]


def test_a_row_names_each_limit_that_its_release_breaks_and_no_kept_one(tmp_path: Path) -> None:
    ended = swept(tmp_path, "--over", "build.k=3,6")
    assert [row["fails on"] for row in rows(tmp_path)] == ["k_anonymity@linking#ill", ""]
    assert [point["fails_on"] for point in results(tmp_path)["points"]] == [["k_anonymity@linking#ill"], []]
    header, failing, passing, *_ = ended.out.splitlines()
    assert header.endswith("verdict  fails on")
    assert failing.endswith("FAIL  k_anonymity@linking#ill")
    assert passing.endswith("pass")


def test_where_no_point_tells_how_useful_it_is_the_first_that_passes_is_named_as_that(tmp_path: Path) -> None:
    """The test table has too few people for its accuracy to be public."""
    ended = swept(tmp_path, "--over", "build.k=1,6,12")
    assert results(tmp_path)["best"] == "build.k=6"
    assert ended.out.splitlines()[-1].startswith("The first release that passes: build.k=6 ")
    assert {row["accuracy"] for row in rows(tmp_path)} == {"holds"}


def test_a_points_release_is_the_one_an_audit_with_its_option_makes(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3,6")
    folder = results(tmp_path)["points"][1]["folder"]
    path = survey(tmp_path, {"data.test": "people.csv", "metrics": ACCURATE, "build.prune": False, "build.k": 6})
    assert leafgate("audit", path, "--out", tmp_path / "one").code == 0
    point, one = tmp_path / "swept" / folder, tmp_path / "one"
    assert (point / "release.json").read_bytes() == (one / "release.json").read_bytes()
    assert without_lines(point / "report.json") == without_lines(one / "report.json")


def without_lines(report: Path) -> dict[str, Any]:
    """A report without where its policy has what: the policy of a point is in no file."""
    document: dict[str, Any] = json.loads(report.read_text())
    document["policy"].pop("file", None)
    for finding in document["findings"]:
        del finding["where"]
    return document


def test_two_options_are_combined_the_last_one_fastest(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3,6", "--over", "publish.leaves=labels,counts")
    values = [(row["build.k"], row["publish.leaves"]) for row in rows(tmp_path)]
    assert values == [("3", "labels"), ("3", "counts"), ("6", "labels"), ("6", "counts")]


def test_any_place_of_the_policy_can_be_varied(tmp_path: Path) -> None:
    over = ["build={use: id3},{use: mondrian, k: 6}", "metrics[0].at_least=2,6"]
    ended = swept(tmp_path, *(word for words in over for word in ("--over", words)), "--audience", "auditor")
    assert ended.code == 0
    assert [row["verdict"] for row in rows(tmp_path)] == ["pass", "fail", "pass", "pass"]


@pytest.mark.thorough
def test_the_results_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=1,3,6", "--workers", 2, out="two")
    swept(tmp_path, "--over", "build.k=1,3,6", "--workers", 1, out="alone")
    assert files(tmp_path / "two") == files(tmp_path / "alone")
    assert len(files(tmp_path / "alone")) == 3 + 3 * 3


def test_finished_points_are_taken_over_and_a_longer_sweep_adds_to_them(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3,6")
    reports = {path: os.stat(path).st_mtime_ns for path in tmp_path.rglob("report.json")}
    before = files(tmp_path / "swept")
    swept(tmp_path, "--over", "build.k=3,6")
    assert files(tmp_path / "swept") == before
    swept(tmp_path, "--over", "build.k=3,6,12")
    assert {path: os.stat(path).st_mtime_ns for path in reports} == reports
    assert len(rows(tmp_path)) == 3


def test_other_people_or_another_policy_are_audited_anew(tmp_path: Path) -> None:
    def data_and_policy() -> tuple[str, str]:
        report = json.loads((tmp_path / "swept" / "build.k=3" / "report.json").read_text())
        return report["data"]["sha256"], report["policy"]["sha256"]

    auditor = ("--audience", "auditor")
    swept(tmp_path, "--over", "build.k=3", *auditor)
    first = data_and_policy()
    swept(tmp_path, "--over", "build.k=3", *auditor, changes={"metrics.1.at_most": 0.5})
    second = data_and_policy()
    assert (first[0], first[1] != second[1]) == (second[0], True)
    path = survey(tmp_path, {"metrics": METRICS}, "age,sex,smoker,ill\n" + "20,f,no,no\n30,m,no,yes\n" * 6)
    leafgate("sweep", path, "--over", "build.k=3", "--out", tmp_path / "swept", "--workers", 1, *auditor)
    assert data_and_policy()[0] != first[0]


def test_points_that_read_alike_have_folders_of_their_own(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "name=a b,a_b,a.b")
    assert [point["folder"] for point in results(tmp_path)["points"]] == ["name=a_b", "name=a_b~2", "name=a.b"]


def test_a_point_that_was_interrupted_is_audited_again(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3,6")
    before = files(tmp_path / "swept")
    (report,) = (tmp_path / "swept").glob("build.k=3*/report.json")
    report.write_bytes(report.read_bytes()[:40])
    swept(tmp_path, "--over", "build.k=3,6")
    assert files(tmp_path / "swept") == before


def test_a_point_whose_release_is_of_another_run_is_audited_again(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3,6")
    before = files(tmp_path / "swept")
    one, another = sorted((tmp_path / "swept").glob("*/release.json"))
    one.write_bytes(another.read_bytes() + b" ")
    swept(tmp_path, "--over", "build.k=3,6")
    assert files(tmp_path / "swept") == before


def test_fresh_computes_what_is_there_already(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=6")
    (report,) = (tmp_path / "swept").glob("build.k=6*/report.json")
    report.write_text('{"verdict": "fail", "findings": []}')
    assert swept(tmp_path, "--over", "build.k=6").code == 1
    assert swept(tmp_path, "--over", "build.k=6", "--fresh").code == 0


def test_nothing_that_passes_is_exit_1_and_nothing_that_could_be_told_is_exit_3(tmp_path: Path) -> None:
    assert swept(tmp_path, "--over", "build.k=1,3").code == 1
    ended = swept(tmp_path, "--over", "build.max_spans=1", changes={"data.columns.smoker.role": "private"})
    assert ended.code == 3
    assert rows(tmp_path)[0]["verdict"] == "inconclusive"
    assert "separates more than 1 groups" in rows(tmp_path)[0]["problem"]
    assert "No release passes" in ended.out


def test_a_point_without_a_release_is_a_row_that_fails(tmp_path: Path) -> None:
    assert swept(tmp_path, "--over", "build.k=6,25").code == 0
    assert [row["verdict"] for row in rows(tmp_path)] == ["pass", "fail"]


def test_without_a_utility_metric_the_first_that_passes_is_named(tmp_path: Path) -> None:
    ended = swept(tmp_path, "--over", "build.k=1,3,6", changes={"metrics": METRICS})
    assert "The first release that passes: build.k=6" in ended.out


def test_the_picture_is_an_svg_with_a_dot_a_point_and_the_limits(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=1,3,6", "--audience", "auditor")
    root = ElementTree.parse(tmp_path / "swept" / "sweep.svg").getroot()
    kinds = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert kinds.count("circle") == 3
    fills = [element.get("fill") for element in root.iter() if element.tag.endswith("circle")]
    assert fills.count("#fff") == 2
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"k_anonymity", "accuracy", "limit 6", "limit 0"} <= set(texts)


def test_the_public_sees_no_small_count_and_auditors_files_are_theirs_alone(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3")
    assert rows(tmp_path)[0]["k_anonymity@linking#ill"] == "fewer than 10"
    swept(tmp_path, "--over", "build.k=3", "--audience", "auditor", out="seen")
    assert float(rows(tmp_path, "seen")[0]["k_anonymity@linking#ill"]) >= 3
    for path in (tmp_path / "seen").glob("sweep.*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_json_is_the_document_that_is_written(tmp_path: Path) -> None:
    ended = swept(tmp_path, "--over", "build.k=3,6", "--json")
    assert ended.document == results(tmp_path)
    assert ended.document["format"] == "leafgate/sweep/1"


@pytest.mark.parametrize(
    ("over", "place"),
    [
        ("build.k", "--over"),
        ("=3", "--over"),
        ("build.k=", "--over build.k"),
        ("build.k=3,3", "--over build.k"),
        ("build.k=[3", "--over build.k"),
        ("build.kk=3", "build.kk=3: build.kk"),
        ("build.k=0,3", "build.k=0: build.k"),
        ("metrics[7].at_least=3", "--over metrics[7].at_least"),
        ("metrics.at_least=3", "--over metrics.at_least"),
        ("name.x=3", "--over name.x"),
        ("metrics[0].at_least=3,6", "--over metrics[0].at_least"),
        ("report.smallest_cell=1", "--over report.smallest_cell"),
    ],
)
def test_a_mistake_is_told_with_its_place_before_anything_runs(tmp_path: Path, over: str, place: str) -> None:
    ended = swept(tmp_path, "--over", over, "--json")
    assert ended.code == 2
    assert place in [problem["place"].partition(",")[0] for problem in ended.problems]
    assert not list((tmp_path / "swept").iterdir())


def test_a_place_named_twice_or_within_another_is_refused(tmp_path: Path) -> None:
    assert swept(tmp_path, "--over", "build.k=3", "--over", "build.k=6").code == 2
    ended = swept(tmp_path, "--over", "build.k=3", "--over", "build={use: id3},{use: c45}")
    assert (ended.code, "build.k: lies within build" in ended.err) == (2, True)
    ended = swept(tmp_path, "--over", "metrics[0].at_least=3", "--over", "metrics[00].at_least=6")
    assert (ended.code, "lies within metrics[0].at_least" in ended.err) == (2, True)


def test_what_an_auditor_sweeps_tells_the_screen_verdicts_alone(tmp_path: Path) -> None:
    words = ["--over", "metrics[0].at_least=2,3,4", "--audience", "auditor"]
    ended = swept(tmp_path, *words)
    assert [line.split() for line in ended.out.splitlines()[:2]] == [
        ["metrics[0].at_least", "verdict"],
        ["2", "pass"],
    ]
    assert float(rows(tmp_path)[0]["k_anonymity@linking#ill"]) == 3
    assert all(point["findings"] == [] for point in swept(tmp_path, *words, "--json").document["points"])


def test_a_row_says_why_it_has_no_number(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build={use: kadet, k: 25},{use: table}")
    result = rows(tmp_path)
    assert "fewer than 25 people" in result[0]["problem"]
    assert "no model to predict with" in result[1]["problem"]
    assert result[0]["build"] == "{use: kadet, k: 25}"


def test_a_killed_worker_is_inconclusive_and_finished_points_stay(tmp_path: Path) -> None:
    path = survey(tmp_path, {"metrics": METRICS})
    words = ["sweep", path, "--over", "build.k=1,2,3,4,5,6,7,8", "--out", tmp_path / "swept", "--workers", 2]
    dying = "import os, leafgate.commands.sweep.pool as s; work = s._audit_point"
    dying += "\ndef die(named):\n    os.kill(os.getpid(), 9)\ns._audit_point = die"
    spawned = tmp_path / "sitecustomize.py"
    spawned.write_text(f"import sys\nif '--multiprocessing-fork' in sys.argv:\n{textwrap.indent(dying, '    ')}\n")
    running = start(*words, path=tmp_path)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (3, "")
    assert "a worker was killed" in err


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_that_only_the_data_show_ends_the_sweep_with_exit_2(tmp_path: Path, workers: int) -> None:
    closeness = "build.require=[{use: t_closeness, distance: ordered, at_most: 1}],[]"
    ended = swept(tmp_path, "--over", closeness, "--workers", workers)
    assert (ended.code, ended.out) == (2, "")
    assert "have no declared order" in ended.err


class Promising(TreeBuilder):
    """Promises differential privacy, whatever it does."""

    use: Literal["id3"] = "id3"
    measure: Literal["gain", "gini"] = "gain"
    rehearsal: bool = False

    guarantees: ClassVar[frozenset[str]] = frozenset({"epsilon"})

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        raise NotImplementedError


@pytest.mark.parametrize("rehearsal", [False, True])
def test_a_builder_that_promises_differential_privacy_is_swept_in_rehearsal_only(
    tmp_path: Path, rehearsal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import leafgate_plugins.baselines

    monkeypatch.setattr(leafgate_plugins.baselines, "tree_builders", hookimpl(lambda: [Promising]))
    loaded = policy_of(policy({"build": {"use": "id3", "rehearsal": rehearsal}}), tmp_path)
    assert loaded.policy.build.guarantees == {"epsilon"}
    (point,) = points_of(policy({"build": {"use": "id3", "rehearsal": rehearsal}}), [axis_of("build.measure=gini")])
    task = Task(tmp_path, None, None, None, tmp_path, "public", fresh=False)
    if rehearsal:
        assert policy_at(point, task)[0].build.guarantees == {"epsilon"}
        return
    with pytest.raises(PolicyError, match="promises differential privacy") as result:
        policy_at(point, task)
    assert "rehearsal: true" in str(result.value)


def test_nothing_stale_stands_in_the_folder_of_a_point_that_could_not_be_told(tmp_path: Path) -> None:
    private = {"data.columns.smoker.role": "private"}
    swept(tmp_path, "--over", "build.k=3", changes=private)
    assert (tmp_path / "swept" / "build.k=3" / "release.json").exists()
    assert swept(tmp_path, "--over", "build.k=3", changes={**private, "build.max_spans": 1}).code == 3
    assert not list((tmp_path / "swept" / "build.k=3").iterdir())


def test_a_point_whose_release_is_gone_is_audited_again(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=6")
    (tmp_path / "swept" / "build.k=6" / "release.json").unlink()
    assert swept(tmp_path, "--over", "build.k=6").code == 0
    assert (tmp_path / "swept" / "build.k=6" / "release.json").exists()


def test_the_public_does_not_take_over_what_an_auditor_saw(tmp_path: Path) -> None:
    swept(tmp_path, "--over", "build.k=3", "--audience", "auditor")
    swept(tmp_path, "--over", "build.k=3")
    assert rows(tmp_path)[0]["k_anonymity@linking#ill"] == "fewer than 10"


def test_a_utility_of_nothing_is_better_than_none_or_less() -> None:
    def result(value: float | None) -> Result:
        finding = {"id": "u", "metric": "u", "value": value, "passed": True, "limit": {"at_least": -9}, "evidence": {}}
        return Result(Point({"x": value}, {}), {"verdict": "pass", "findings": [finding]}, str(value))

    best = SweepOutcome([result(-3.0), result(None), result(0.0)], "u", None).best
    assert best is not None
    assert best.folder == "0.0"


def test_of_several_findings_the_worst_is_shown() -> None:
    findings = [
        {"id": f"k@{i}", "metric": "k", "value": value, "passed": True, "limit": {"at_least": 5}, "evidence": {}}
        for i, value in enumerate([90, 12, 40])
    ]
    only = Result(Point({"x": 1}, {}), {"verdict": "pass", "findings": findings}, "x")
    assert value_of(only, "k") == 12


@pytest.mark.parametrize(
    "over",
    [
        "data.on_missing=drop,keep",
        "data.path=people.csv,other.csv",
        "data.missing=[a],[b]",
        "data.columns.smoker.role=private,weight",
        "data={},[]",
    ],
)
def test_the_public_never_sees_what_other_people_in_the_table_would_change(tmp_path: Path, over: str) -> None:
    """From one point to the next the counts differ by the people who came or went."""
    ended = leafgate("sweep", survey(tmp_path), "--over", over, "--out", tmp_path / "swept", "--json")
    assert ended.code == 2
    assert [problem["remedy"] for problem in ended.problems] == ["say --audience auditor"]
    assert not list((tmp_path / "swept").iterdir())


def test_options_of_the_data_are_varied_too_each_table_read_for_itself(tmp_path: Path) -> None:
    people = "age,sex,smoker,ill\n" + "20,f,no,no\n30,m,no,yes\n,f,yes,no\n" * 6
    path = survey(tmp_path, {"metrics": METRICS, "data.on_missing": "drop"}, people)
    over = ("--over", "data.on_missing=drop,keep", "--audience", "auditor")
    leafgate("sweep", path, *over, "--out", tmp_path / "swept", "--workers", 1)
    reports = [
        json.loads((tmp_path / "swept" / p["folder"] / "report.json").read_text()) for p in results(tmp_path)["points"]
    ]
    assert [result["data"]["people"] for result in reports] == [12, 18]


def test_dots_in_one_place_share_a_name_and_names_stay_in_the_picture(tmp_path: Path) -> None:
    swept(
        tmp_path,
        "--over",
        "build.k=6,12",
        "--over",
        "build.require=[],[{use: confidence, at_most: 1}]",
        "--audience",
        "auditor",
    )
    root = ElementTree.parse(tmp_path / "swept" / "sweep.svg").getroot()
    named = {str(e.text): e for e in root.iter() if e.tag.endswith("text") and "," in str(e.text)}
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == 4
    assert sorted(named) == ["12, [] and 1 more", "6, [] and 1 more"]
    for text, element in named.items():
        start, width = float(element.attrib["x"]), 7 * len(text)
        left = start - width if element.get("text-anchor") == "end" else start
        assert left > 0
        assert left + width < 720


def test_names_of_dots_that_are_close_do_not_run_into_each_other() -> None:
    taken: list[tuple[float, float, float]] = []
    lines = [_free_line(taken, start, start + 40.0, 100.0) for start in (10.0, 30.0, 45.0, 90.0)]
    assert lines == [100.0, 88.0, 76.0, 100.0]
