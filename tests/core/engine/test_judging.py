from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import GroupBelief, InconclusiveError, Metric, ScoringContext
from leafgate.app import Limit, Plugins, Report
from standins import attack_that, audited, finding, metric_that, release_metric_that

SIZES = {"use": "sizes", "at_least": 4}
ODD = {"use": "odd", "at_least": 1}
NOSY = [{"use": "calm"}, {"use": "nosy"}]


def with_odd(odd: type[Metric], **said: Any) -> Report:
    return audited(odd, metrics=[SIZES, ODD | said])


def test_a_broken_limit_counts_more_than_what_could_not_be_told() -> None:
    report = audited(metric_that(lambda case: None), metrics=[{"use": "sizes", "at_least": 5}, ODD])
    assert {found.passed for found in report.findings} == {False, None}
    assert (report.verdict, report.exit_code) == ("fail", 1)


def test_every_attack_and_secret_has_its_own_finding() -> None:
    groups_only = attack_that(lambda release, known: [GroupBelief(np.zeros(len(known.records), dtype=int))])
    ids = [found.id for found in audited(groups_only, attacks=NOSY, metrics=[SIZES]).findings]
    assert ids == ["sizes@calm#ill", "sizes@calm#rich", "sizes@nosy"]


def test_names_of_the_policy_stand_in_the_ids() -> None:
    report = audited(attacks=[{"use": "calm", "name": "lazy"}], metrics=[SIZES | {"name": "crowds"}])
    assert [found.id for found in report.findings] == ["crowds@lazy#ill", "crowds@lazy#rich"]


def test_of_and_secret_choose_what_a_metric_judges() -> None:
    two = [{"use": "calm"}, {"use": "calm", "name": "again"}]
    report = audited(attacks=two, metrics=[SIZES | {"of": "again", "secret": "rich"}])
    assert [(found.id, found.attack, found.secret) for found in report.findings] == [
        ("sizes@again#rich", "again", "rich")
    ]


def people(case: ScoringContext) -> pd.Series:
    """1 for those who have flu, 0 for the others."""
    return (case.table.frame["ill"] == "flu").astype(float)


@pytest.mark.parametrize(
    ("said", "value", "passed"),
    [
        ({}, 0, False),
        ({"allow": 0.3}, 0, False),  # 3 of 8 have a cold
        ({"allow": 0.375}, 0, True),
        ({"at_least": 0}, 0, True),
        ({"average": True}, 0.625, False),
        ({"average": True, "at_least": 0.625}, 0.625, True),
    ],
)
def test_a_limit_holds_for_the_worst_off_or_most_or_on_average(
    said: dict[str, Any], value: float, passed: bool
) -> None:
    found = finding(with_odd(metric_that(people), **said), "odd@calm#ill")
    assert (found.value, found.passed, found.people) == (value, passed, 8)
    assert found.limit == Limit.from_document({"at_least": 1.0, "scored": "worst"} | said)


@pytest.mark.parametrize("percent", [29, 57, 58])
def test_an_allowed_share_is_met_exactly_whatever_floats_say(percent: int) -> None:
    weight = (100 - percent - 1, percent - 1, 1, 1)
    odd = [ODD | {"allow": percent / 100, "secret": "ill"}]
    (found,) = audited(metric_that(people), weight=weight, metrics=odd).findings
    assert (found.violations, found.people, found.passed) == (percent, 100, True)


def test_a_release_metric_has_no_attack_and_no_people() -> None:
    report = audited(release_metric_that(lambda case: 2), metrics=[{"use": "whole", "at_least": 1}])
    (found,) = report.findings
    assert (found.id, found.attack, found.secret, found.people, found.violations) == ("whole", None, None, None, None)
    assert (found.value, found.passed, found.limit) == (2.0, True, Limit("at_least", 1.0))


def test_a_metric_skips_beliefs_it_cannot_read() -> None:
    groups_only = attack_that(lambda release, known: [GroupBelief(np.zeros(len(known.records), dtype=int))])
    surest = metric_that(lambda case: case.posterior.max(axis=1))
    ids = [found.id for found in audited(groups_only, surest, attacks=NOSY, metrics=[ODD | {"at_least": 0}]).findings]
    assert ids == ["odd@calm#ill", "odd@calm#rich"]


def test_a_metric_with_nothing_to_read_is_inconclusive() -> None:
    groups_only = attack_that(lambda release, known: [GroupBelief(np.zeros(len(known.records), dtype=int))])
    surest = metric_that(lambda case: case.posterior.max(axis=1))
    report = audited(groups_only, surest, attacks=NOSY, metrics=[SIZES, ODD | {"of": "nosy"}])
    assert (finding(report, "odd@nosy").passed, report.verdict) == (None, "inconclusive")


def test_an_attack_that_failed_leaves_its_metric_without_evidence() -> None:
    def raises(release: Any, known: Any) -> Any:
        raise InconclusiveError("no solver")

    report = audited(attack_that(raises), attacks=NOSY, metrics=[SIZES | {"of": "nosy"}])
    assert [(found.id, found.passed) for found in report.findings] == [("attack:nosy", None), ("sizes@nosy", None)]


def test_nobody_found_to_offer_a_class_is_called_unknown() -> None:
    assert Plugins().origin(metric_that(people)) == "unknown"
