"""Weights are not people: limits on people count rows, unless the policy says with a reason that weights are people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate import PolicyError
from leafgate.app import Finding, Report, load_policy, open_session, parse_report
from survey import COLUMNS, survey

REASON = "one line of the register for each household of alike people"
PEOPLE_COUNT: dict[str, Any] = {"counts": "people", "reason": REASON}
ROWS = [
    f"{20 + 10 * (i // 4)},{'fm'[i % 2]},no,{'yes' if i // 4 % 2 else 'no'},{50 if i < 15 else 1}" for i in range(16)
]
WEIGHTED = "\n".join(["age,sex,smoker,ill,w", *ROWS]) + "\n"
"""Four ages of four rows each, which the class tells apart; rows weigh 50, but one of the last age weighs 1."""
LIMITS: dict[str, tuple[dict[str, Any], float, float]] = {
    "k_anonymity": ({"use": "k_anonymity", "at_least": 5}, 4, 151),
    "alpha_k_anonymity": ({"use": "alpha_k_anonymity", "alpha": 1, "at_least": 5}, 4, 151),
    "reidentification_risk": ({"use": "reidentification_risk", "at_most": 0.2}, 1 / 4, 1 / 151),
    "mean risk": ({"use": "reidentification_risk", "at_most": 0.2, "average": True}, 1 / 4, 4 / 751),
    "smallest_leaf": ({"use": "smallest_leaf", "at_least": 5}, 4, 151),
    "smallest_leaf by features": ({"use": "smallest_leaf", "by": "features", "at_least": 5}, 4, 151),
    "class_disclosure": ({"use": "class_disclosure", "form": "few", "k": 5, "at_most": 0}, 1, 0),
    "residual_degrees_of_freedom": ({"use": "residual_degrees_of_freedom", "at_least": 10}, 6, 741),
}
"""For each limit the score by rows, which breaks it, and by the people that rows are said to stand for."""


def weighted(folder: Path, spec: dict[str, Any], changes: dict[str, Any] | None = None, people: str = WEIGHTED) -> Path:
    """The survey's policy with a column of weights, and a tree that tells all ages apart."""
    fields = {"data.columns": COLUMNS | {"w": {"role": "weight", **spec}}}
    fields |= {"build": {"use": "c45", "min_leaf": 1, "prune": False, "average_gain": False}}
    return survey(folder, fields | (changes or {}), people)


def finding_of(folder: Path, spec: dict[str, Any], metric: dict[str, Any], people: str = WEIGHTED) -> Finding:
    return report_of(folder, spec, metric, people).findings[0]


def report_of(folder: Path, spec: dict[str, Any], metric: dict[str, Any], people: str = WEIGHTED) -> Report:
    return open_session(weighted(folder, spec, {"metrics": [metric]}, people)).audit().report


@pytest.mark.parametrize("name", LIMITS)
def test_limits_on_groups_of_people_count_rows_unless_weights_count_people(tmp_path: Path, name: str) -> None:
    metric, rows, people = LIMITS[name]
    for spec in ({}, {"counts": "rows"}):
        found = finding_of(tmp_path, spec, metric)
        assert found.value == pytest.approx(rows)
        assert found.passed is False
    counted = finding_of(tmp_path, PEOPLE_COUNT, metric)
    assert counted.value == pytest.approx(people)
    assert counted.passed


def test_a_person_who_weighs_much_is_still_unique(tmp_path: Path) -> None:
    lonely = WEIGHTED + "60,f,no,no,900\n"
    unique: dict[str, Any] = {"use": "uniques", "at_most": 0}
    assert (finding_of(tmp_path, {}, unique, lonely).passed, finding_of(tmp_path, {}, unique, lonely).violations) == (
        False,
        1,
    )
    assert finding_of(tmp_path, PEOPLE_COUNT, unique, lonely).passed


def test_the_k_that_kadet_claims_is_held_against_rows(tmp_path: Path) -> None:
    kadet = {
        "build": {"use": "kadet", "k": 100},
        "metrics": [{"use": "accuracy", "at_least": 0}],
        "data.test": "people.csv",
    }
    claims = {
        str(spec): next(
            f
            for f in open_session(weighted(tmp_path, spec, kadet)).audit().report.findings
            if f.metric == "k_anonymity"
        )
        for spec in ({}, PEOPLE_COUNT)
    }
    assert [(claim.id, claim.passed) for claim in claims.values()] == [("guarantee:k", False), ("guarantee:k", True)]


@pytest.mark.parametrize(
    ("heavy", "alone"),
    [("20", 4), ("60", 1)],  # four rows of twenty are alone and weigh little; one of seventeen, and weighs much
)
def test_a_share_of_people_that_may_be_beyond_a_limit_is_one_of_rows_and_of_weights(
    tmp_path: Path, heavy: str, alone: int
) -> None:
    """Neither do heavy rows hide many light ones outside the limit, nor many light rows a few heavy ones."""
    lines = [f"{20 + 10 * (i // 4)},f,no,{'yes' if i // 4 % 2 else 'no'}" for i in range(16)]
    lines += [f"{60 + 10 * i},f,no,{'yes' if i % 2 else 'no'}" for i in range(alone)]
    weights = [1000 if line.startswith(heavy) else 1 for line in lines]
    people = "age,sex,smoker,ill,w\n" + "".join(f"{line},{n}\n" for line, n in zip(lines, weights, strict=True))
    metric = {"use": "k_anonymity", "at_least": 4, "allow": 0.1}
    found = finding_of(tmp_path, {}, metric, people)
    assert (found.passed, found.violations, found.people) == (False, alone, 16 + alone)
    unweighted = people.replace(",1000\n", ",1\n")
    assert finding_of(tmp_path, {}, metric, unweighted).passed == (alone == 1)


def test_the_report_notes_weights_first_and_says_rows_beside_people(tmp_path: Path) -> None:
    path, metric = weighted(tmp_path, {}), {"use": "k_anonymity", "at_least": 4}
    by_rows = leafgate("audit", path, "--out", tmp_path / "rows")
    assert (
        "  fewer than 20 people, a row each, whose weights add up to 740 to 759\n"
        in leafgate("audit", weighted(tmp_path, {}, {"report": {"smallest_cell": 20}, "metrics": [metric]})).out
    )
    assert "  16 people, a row each, whose weights add up to 750 to 759\n" in by_rows.out
    assert json.loads((tmp_path / "rows" / "report.json").read_text())["notes"][0].startswith("'w' weighs rows")
    counted = leafgate(
        "audit", weighted(tmp_path, PEOPLE_COUNT), "--out", tmp_path / "people", "--to", "markdown", "--to", "html"
    )
    assert "  751 people in 10 to 19 rows\n" in counted.out
    document = json.loads((tmp_path / "people" / "report.json").read_text())
    assert document["notes"][0] == f"Each row is as many people as 'w' says, all of them in the table: {REASON}"
    for name in ("report.md", "report.html"):
        assert "751 people in 10 to 19 rows" in (tmp_path / "people" / name).read_text()
    assert parse_report((tmp_path / "people" / "report.json").read_bytes(), "report.json")["data"]["rows"]


def test_a_table_without_weights_says_nothing_of_rows(tmp_path: Path) -> None:
    report = open_session(survey(tmp_path)).audit().report
    assert not {"rows", "weight"} & set(report.data)
    assert not any("row" in note for note in report.notes)


def test_auditors_see_rows_per_group_and_not_weights(tmp_path: Path) -> None:
    worst = finding_of(tmp_path, {}, {"use": "k_anonymity", "at_least": 5}).evidence["worst"][0]
    assert worst["people"].count == 4


def test_the_population_of_a_weighted_file_is_its_rows_too(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("age,sex,w\n" + "".join(f"{20 + 10 * (i % 4)},f,1000\n" for i in range(24)))
    metric = {"metrics": [{"use": "k_map", "at_least": 7}], "data.population": "all.csv"}
    scores = [
        open_session(weighted(tmp_path, spec, metric)).audit().report.findings[0].value for spec in ({}, PEOPLE_COUNT)
    ]
    assert scores == [6, 6000]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"counts": "people"}, "`counts: people` needs a `reason`"),
        ({"counts": "people", "reason": " "}, "`counts: people` needs a `reason`"),
        ({"counts": "persons"}, "counts"),
        ({"role": "private", "counts": "people", "reason": "so"}, "`counts` and `reason` are for the role `weight`"),
    ],
)
def test_weights_count_people_for_a_reason_only(tmp_path: Path, spec: dict[str, Any], text: str) -> None:
    with pytest.raises(PolicyError) as refused:
        load_policy(weighted(tmp_path, spec))
    assert text in str(refused.value)


def test_what_a_weight_counts_is_part_of_the_digest_and_what_others_may_say_is_not(tmp_path: Path) -> None:
    plain = load_policy(weighted(tmp_path, {})).policy
    assert load_policy(weighted(tmp_path, PEOPLE_COUNT)).policy.sha256 != plain.sha256
    assert load_policy(weighted(tmp_path, {}, {"data.unlisted": "private"})).policy.sha256 == plain.sha256
