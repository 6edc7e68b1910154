"""An audit by limits none of which any release could break is inconclusive."""

import math
from pathlib import Path
from typing import Any, Literal

import pytest

from command_line import leafgate
from leafgate.api import ReleaseAtMost, Score, ScoringContext, Unit
from leafgate.app import Tables, audit_policy, load_plugins
from random_tables import table_of
from standins import ROWS, WEIGHT, audited, metric_that, plugins_with, policy_with
from survey import survey

K1 = {"use": "k_anonymity", "name": "anybody", "at_least": 1}
EXPOSURE = {"use": "exposure", "at_most": 1}
CONFIDENCE = {"use": "confidence", "at_most": 1}


@pytest.mark.parametrize(
    "metrics",
    [
        *(
            [K1],
            [EXPOSURE],
            [K1, EXPOSURE, CONFIDENCE],
            [CONFIDENCE | {"average": True}],
            [CONFIDENCE | {"allow": 0.5}],
        ),
        [{"use": "file_disclosure", "at_most": 0}],  # no file of a model is audited
    ],
)
def test_limits_that_no_release_could_break_are_inconclusive(tmp_path: Path, metrics: list[dict[str, Any]]) -> None:
    ended = leafgate("audit", survey(tmp_path, {"metrics": metrics}), "--json")
    assert (ended.code, ended.document["verdict"]) == (3, "inconclusive")
    (found,) = (each for each in ended.document["findings"] if each["passed"] is None)
    assert (found["id"], found["secret"], found["limit"]) == ("unlimited", None, {})
    assert "no release could break a limit" in found["evidence"]["problem"]
    assert "`{use: k_anonymity, at_least: 10}`" in found["remedies"][0]["text"]


@pytest.mark.parametrize(("at_least", "code"), [(2, 0), (3, 0), (25, 1)])
def test_a_limit_beside_them_that_can_be_broken_decides(tmp_path: Path, at_least: int, code: int) -> None:
    limit = {"use": "k_anonymity", "at_least": at_least}
    ended = leafgate("audit", survey(tmp_path, {"metrics": [K1, EXPOSURE, limit]}), "--json")
    assert ended.code == code
    assert "unlimited" not in {each["id"] for each in ended.document["findings"]}


@pytest.mark.parametrize(
    ("vacuous", "real"),
    [
        ({"use": "l_diversity", "form": "distinct", "at_least": 1}, {"at_least": 2}),
        ({"use": "l_diversity", "form": "recursive", "c": 2, "at_least": 0}, {"at_least": 1}),
        ({"use": "divergence", "at_least": 0}, {"at_least": 0.01}),
        ({"use": "t_closeness", "at_most": 1}, {"at_most": 0.99}),
        ({"use": "risky_settings", "at_most": 1}, {"at_most": 0}),
        ({"use": "privacy_loss", "at_most": 1}, {"at_most": 0.99}),
        ({"use": "interval_privacy", "at_least": 0}, {"at_least": 0.1}),
        ({"use": "normalised_rmse", "at_least": 0}, {"at_least": 0.1}),
    ],
)
def test_the_ends_of_ranges_are_no_limits(vacuous: dict[str, Any], real: dict[str, Any]) -> None:
    kinds = load_plugins(["leafgate"]).by_name
    assert not kinds[vacuous["use"]].model_validate(vacuous).can_be_broken  # type: ignore[attr-defined]
    assert kinds[vacuous["use"]].model_validate(vacuous | real).can_be_broken  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ([{"use": "accuracy", "at_least": 0.1}], "no limit of this policy is on how well people are protected"),
        ([K1, {"use": "accuracy", "at_least": 0.1}], "no release could break a limit of this policy on people's"),
    ],
)
def test_a_limit_on_use_protects_nobody(tmp_path: Path, metrics: list[dict[str, Any]], says: str) -> None:
    ended = leafgate("audit", survey(tmp_path, {"metrics": metrics, "data.test": "people.csv"}), "--json")
    assert ended.code == 3
    (found,) = (each for each in ended.document["findings"] if each["id"] == "unlimited")
    assert says in found["evidence"]["problem"]


def test_a_metric_that_states_no_range_of_scores_can_be_broken() -> None:
    report = audited(metric_that(lambda case: case.sizes), metrics=[{"use": "odd", "at_least": 0}])
    assert (report.verdict, report.exit_code) == ("pass", 0)


@pytest.mark.parametrize(("at_least", "verdict"), [(1, "inconclusive"), (2, "pass")])
def test_a_limit_of_one_person_is_none_and_one_of_two_is_one(at_least: int, verdict: str) -> None:
    assert audited(metrics=[{"use": "sizes", "at_least": at_least}]).verdict == verdict


@pytest.mark.parametrize(("at_most", "verdict"), [(7, "pass"), (8, "inconclusive")])
def test_a_limit_of_everybody_is_none_on_a_number_of_people(at_most: int, verdict: str) -> None:
    class Exposed(ReleaseAtMost):
        use: Literal["exposed"] = "exposed"
        unit = Unit.PEOPLE
        score_range = (0, math.inf)

        def score(self, case: ScoringContext) -> Score:
            return Score(0)

    assert audited(Exposed, metrics=[{"use": "exposed", "at_most": at_most}]).verdict == verdict


def test_the_part_of_a_policy_that_has_no_limits_is_not_called_unlimited() -> None:
    plugins = plugins_with()
    part = policy_with(plugins).model_copy(update={"metrics": ()})
    table = table_of(part.data.meaning().columns, ROWS, WEIGHT)
    assert not audit_policy(part, plugins, Tables(table)).report.findings
