"""The total of several releases of the same people: epsilons and deltas add up, and nothing is added unverified."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from command_line import leafgate
from components import new_builder, new_metric
from dp_survey import beside, dp_trees, epsilon, laplace_trees, released, saying, survey
from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import Publish, Score

TODAY, YESTERDAY = survey(), survey(seed=1)


@cache
def noisy(seed: int = 0, **options: Any) -> Release:
    """A private release of the people of yesterday."""
    return released(laplace_trees(**options), YESTERDAY, seed)


@cache
def own(**options: Any) -> Release:
    return released(laplace_trees(**options), TODAY)


def total(others: Sequence[tuple[Release, Table]], release: Release | None = None, **options: Any) -> Score:
    """The score of a release of today's people beside others."""
    return new_metric("differential_privacy", at_most=100, **options).score(beside(others, release or own(), TODAY))


@pytest.mark.thorough
def test_pure_epsilons_of_three_releases_add_up() -> None:
    score = total([(noisy(delta=0), YESTERDAY), (noisy(1, delta=0), YESTERDAY)], own(delta=0), delta=0)
    assert score.value == pytest.approx(3 * 8 / 10)
    assert [each["epsilon"] for each in score.evidence["claims"]] == pytest.approx([0.8, 0.8, 0.8])
    assert [each["release"] for each in score.evidence["claims"]] == ["this release", "releases[0]", "releases[1]"]


@pytest.mark.thorough
def test_at_the_sum_of_their_deltas_the_total_is_the_sum_of_the_claims() -> None:
    sampled = released(dp_trees(delta=2e-4), YESTERDAY)
    score = total([(sampled, YESTERDAY), (noisy(delta=5e-5), YESTERDAY)], delta=1e-4 + 2e-4 + 5e-5)
    releases = (own(), sampled, noisy(delta=5e-5))
    claimed = [each.guarantee["epsilon"]["at_most"] for each in releases]
    assert score.value == pytest.approx(sum(claimed), abs=1e-9)
    assert [each["claim"] for each in score.evidence["claims"]] == [each.guarantee["epsilon"] for each in releases]


@pytest.mark.thorough
def test_a_smaller_delta_is_divided_and_every_release_is_accounted_at_its_part() -> None:
    score = total([(noisy(), YESTERDAY)], delta=1e-4)
    assert score.value == pytest.approx(2 * epsilon(own(), TODAY, delta=5e-5), abs=1e-9)
    assert (score.value or 0) > 2 * own().guarantee["epsilon"]["at_most"]


@pytest.mark.thorough
def test_every_release_is_accounted_for_the_relation_of_the_limit() -> None:
    """A claim for people who are added costs twice as much for people who are replaced."""
    replaced = noisy(delta=0, neighbours="replace_one")
    assert total([(replaced, YESTERDAY)], own(delta=0), delta=0).value == pytest.approx(2 * 0.8)
    both = total([(replaced, YESTERDAY)], own(delta=0), delta=0, neighbours="replace_one")
    assert both.value == pytest.approx(2 * 1.6)


@pytest.mark.parametrize("position", ["another", "this"])
@pytest.mark.thorough
def test_a_release_without_a_claim_makes_the_total_infinite(position: str) -> None:
    without = released(new_builder("random_trees", trees=2), YESTERDAY if position == "another" else TODAY)
    score = total([(without, YESTERDAY)]) if position == "another" else total([(noisy(), YESTERDAY)], without)
    label = "releases[0]" if position == "another" else "this release"
    assert score.value == math.inf
    assert score.evidence["broken"] == [f"{label}: it claims no differential privacy, so no epsilon is enough"]
    assert label in str(score.remedy)


def test_a_claim_that_the_release_breaks_makes_the_total_infinite() -> None:
    half = replace(noisy(), guarantee={"epsilon": {**noisy().guarantee["epsilon"], "at_most": 0.1}})
    score = total([(half, YESTERDAY)])
    assert score.value == math.inf
    assert score.evidence["broken"] == ["releases[0]: the release claims something else than its builder does"]


@pytest.mark.thorough
def test_a_release_of_other_people_than_its_table_says_makes_the_total_infinite() -> None:
    (problem,) = total([(noisy(), survey(500))]).evidence["broken"]
    assert problem.startswith("releases[0]: the numbers are not drawn from this table")


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        (lambda: released(laplace_trees(rehearsal=True), YESTERDAY), "rehearsal"),
        (lambda: published(noisy(), Publish(leaves="labels", measure=True), frozenset()), "cannot be seen"),
        (lambda: saying(noisy(), use="of_somebody_else"), "did not run its builder"),
        (lambda: replace(noisy(), guarantee={"rho": 0.1}, builder={"use": "other"}), "did not run its builder"),
    ],
)
def test_a_claim_that_cannot_be_verified_leaves_a_kept_limit_inconclusive(release: Any, problem: str) -> None:
    score = total([(release(), YESTERDAY)], delta=1e-4)
    assert problem in score.insufficient
    assert score.insufficient.startswith("the claims of some releases cannot be verified: releases[0]: ")
    assert [each["epsilon"] for each in score.evidence["claims"]] == [score.value, None]


def test_over_release_judges_this_release_alone_and_so_does_a_claim() -> None:
    without = released(new_builder("random_trees", trees=2), YESTERDAY)
    alone = own().guarantee["epsilon"]["at_most"]
    assert total([(without, YESTERDAY)], delta=1e-4, over="release").value == alone
    kind: Any = type(new_metric("differential_privacy", at_most=1))
    claimed = kind.from_claim(own().guarantee["epsilon"])
    assert claimed.over == "release"


COLUMNS: Mapping[str, Any] = {
    "id": {"role": "key"},
    "age": {"role": "quasi_identifier", "bounds": [0, 9]},
    "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
LIMIT = {"use": "differential_privacy", "at_most": 0.75, "delta": 0}


def audited(folder: Path, name: str, people: slice, **changes: Any) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings of an audit of some of the people, which costs an epsilon of .25."""
    rng = np.random.default_rng(0)
    ages, towns = rng.integers(0, 10, 600), rng.integers(0, 3, 600)
    ill = rng.random(600) < 0.25 + 0.04 * ages
    rows = [(f"p{i:03}", ages[i], "abc"[towns[i]], "yes" if ill[i] else "no") for i in range(600)]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([tuple(COLUMNS), *rows[people]])
    document = {
        "leafgate": 1,
        "name": name,
        "data": {"path": f"{name}.csv", "columns": COLUMNS},
        "build": {"use": "dp_laplace_trees", "trees": 4, "scale": 16, "delta": 0},
        "attacks": [{"use": "linking"}],
        "metrics": [LIMIT],
        **changes,
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    ended = leafgate("audit", folder / f"{name}.yaml", "--out", folder / name, "--audience", "auditor")
    report = json.loads((folder / name / "report.json").read_bytes())
    return ended.code, {finding["id"]: finding for finding in report["findings"]}


def named(*names: str) -> list[dict[str, Any]]:
    return [{"path": f"{name}/release.json", "data": f"{name}.csv"} for name in names]


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    """A folder with the audited releases of two nights."""
    for name, people in (("monday", slice(0, 590)), ("tuesday", slice(10, 600))):
        assert audited(tmp_path, name, people)[0] == 0
    return tmp_path


@pytest.mark.thorough
def test_the_releases_of_three_nights_are_judged_together(nights: Path) -> None:
    everybody = slice(0, 600)
    code, findings = audited(nights, "wednesday", everybody, releases=named("monday", "tuesday"))
    assert code == 0
    assert findings["differential_privacy"]["value"] == pytest.approx(0.75)
    labels = [each["release"] for each in findings["differential_privacy"]["evidence"]["claims"]]
    assert labels == ["this release", "releases[0] (release.json)", "releases[1] (release.json)"]
    assert findings["guarantee:epsilon"]["value"] == 0.25
    code, findings = audited(nights, "thursday", everybody, releases=named("monday", "tuesday", "wednesday"))
    assert code == 1
    assert findings["differential_privacy"]["value"] == pytest.approx(1.0)
    assert findings["guarantee:epsilon"]["passed"] is True


@pytest.mark.thorough
def test_a_frequency_table_breaks_the_total(nights: Path) -> None:
    (nights / "table1.csv").write_text("town,ill,count\na,yes,5\n")
    releases = [*named("monday"), {"path": "table1.csv", "counts": ["town", "ill"], "data": "same"}]
    code, findings = audited(nights, "wednesday", slice(0, 600), releases=releases)
    assert code == 1
    found = findings["differential_privacy"]
    assert found["value"] is None
    assert found["evidence"]["unbounded"] is True
    assert found["evidence"]["broken"] == [
        "releases[1] (table1.csv): it claims no differential privacy, so no epsilon is enough"
    ]
    assert "releases[1] (table1.csv)" in found["remedies"][0]["text"]


@pytest.mark.thorough
def test_a_release_that_cannot_be_verified_is_inconclusive_unless_the_others_break_the_limit(nights: Path) -> None:
    build = {"use": "dp_laplace_trees", "trees": 4, "scale": 16, "delta": 0, "rehearsal": True}
    audited(nights, "rehearsal", slice(0, 600), build=build)
    releases = named("monday", "rehearsal")
    code, findings = audited(nights, "wednesday", slice(0, 600), releases=releases)
    assert code == 3
    assert findings["differential_privacy"]["value"] == pytest.approx(0.5)
    assert "releases[1] (release.json): it is a rehearsal" in findings["differential_privacy"]["evidence"]["problem"]
    code, findings = audited(nights, "thursday", slice(0, 600), releases=releases, metrics=[{**LIMIT, "at_most": 0.4}])
    assert code == 1
    assert findings["differential_privacy"]["passed"] is False


JOINT = {"use": "confidence", "of": "joint", "at_most": 0.95}


@pytest.mark.parametrize(("at_most", "covered"), [(0.75, True), (0.7, False)])
@pytest.mark.thorough
def test_a_total_that_is_kept_covers_what_joint_does_not_read(nights: Path, at_most: float, covered: bool) -> None:
    limits = [{**LIMIT, "at_most": at_most}, JOINT]
    releases = named("monday", "tuesday")
    code, findings = audited(
        nights, "wednesday", slice(0, 600), attacks=[{"use": "joint"}], metrics=limits, releases=releases
    )
    found = findings["confidence@joint#ill"]
    assert found["passed"] is (True if covered else None)
    assert found["evidence"].get("covered_by") == ("differential_privacy" if covered else None)
    assert len(found["evidence"]["unused"]) == 3
    assert code == (0 if covered else 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": [JOINT]},
        {"metrics": [{**LIMIT, "over": "release"}, JOINT]},
        {"metrics": [{**LIMIT, "at_most": 100}, JOINT], "build": {"use": "dp_laplace_trees", "scale": 0.5, "delta": 0}},
    ],
)
@pytest.mark.thorough
def test_joint_stays_inconclusive_where_no_limit_on_the_total_bounds_beliefs(
    nights: Path, changes: dict[str, Any]
) -> None:
    code, findings = audited(
        nights, "wednesday", slice(0, 600), attacks=[{"use": "joint"}], releases=named("monday"), **changes
    )
    assert code == 3
    assert findings["confidence@joint#ill"]["passed"] is None
    assert "covered_by" not in findings["confidence@joint#ill"]["evidence"]


@pytest.mark.thorough
def test_beside_a_release_with_exact_counts_a_private_one_leaves_joint_inconclusive(nights: Path) -> None:
    build = {"use": "kadet", "k": 20}
    audited(nights, "exact", slice(0, 600), build=build, metrics=[{"use": "k_anonymity", "at_least": 20}])
    releases = [*named("monday"), {"path": "exact/release.json", "data": "same"}]
    limits = [{**LIMIT, "at_most": 9}, JOINT]
    _, findings = audited(
        nights, "wednesday", slice(0, 600), attacks=[{"use": "joint"}], metrics=limits, releases=releases
    )
    assert findings["differential_privacy"]["passed"] is False
    assert findings["confidence@joint#ill"]["passed"] is None


@pytest.mark.thorough
def test_a_release_that_cannot_be_read_leaves_the_total_inconclusive(nights: Path) -> None:
    (nights / "broken.json").write_text("{}")
    code, findings = audited(nights, "wednesday", slice(0, 600), releases=[{"path": "broken.json", "data": "same"}])
    assert code == 3
    assert "releases[0]" in findings["differential_privacy"]["evidence"]["problem"]


def test_a_report_has_no_noise_so_that_no_total_is_kept(nights: Path) -> None:
    releases = [*named("monday"), {"path": "monday/report.json"}]
    code, findings = audited(nights, "wednesday", slice(0, 600), releases=releases)
    assert code == 3
    assert "releases[1]: is a report" in findings["differential_privacy"]["evidence"]["problem"]
