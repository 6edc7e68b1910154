"""Private random trees on Adult: what one promise buys (docs/measurements/dp-random-trees-results.md has the rest)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from adult import POLICIES, data_root, value
from leafgate.app import open_session
from leafgate.engine.report import Audit
from leafgate.session.run import Session

pytestmark = pytest.mark.slow


METRICS = (
    {"use": "differential_privacy", "at_most": 1, "delta": 1e-6},
    {"use": "accuracy", "at_least": 0.83},
    {"use": "area_under_curve", "at_least": 0.88},
)


@cache
def private() -> Session:
    return open_session(POLICIES / "adult-private.yaml", root=data_root())


def audited(build: Mapping[str, Any], metrics: tuple[Mapping[str, Any], ...] = METRICS, seed: int = 0) -> Audit:
    """By the metrics alone: attacks are tried elsewhere."""
    run = private()
    builder, *limits = [run.plugins.by_name[str(each["use"])].model_validate(each) for each in (build, *metrics)]
    update = {"build": builder, "metrics": tuple(limits), "attacks": (), "seed": seed}
    return replace(run, policy=run.policy.model_copy(update=update)).audit()


def test_at_epsilon_1_the_aims_are_met_by_what_was_drawn_from_the_systems_entropy() -> None:
    audit = audited({"use": "dp_random_trees", "epsilon": 1.0})
    assert (audit.report.verdict, audit.report.exit_code) == ("pass", 0)
    assert value(audit, "differential_privacy") <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_aims_are_met_by_other_draws(seed: int) -> None:
    found = audited({"use": "dp_random_trees", "epsilon": 1.0, "rehearsal": True}, METRICS[1:], seed)
    assert value(found, "accuracy") >= 0.83
    assert value(found, "area_under_curve") >= 0.88


def test_sums_of_numbers_stay_near_the_most_frequent_class() -> None:
    audit = audited({"use": "dp_random_trees", "epsilon": 1.0, "combine": "sum"})
    assert value(audit, "accuracy") == pytest.approx(0.754, abs=0.01)
    assert audit.report.verdict == "fail"


def test_half_the_promise_is_not_kept_by_the_same_forest() -> None:
    strict = ({"use": "differential_privacy", "at_most": 0.5, "delta": 1e-6},)
    audit = audited({"use": "dp_random_trees", "epsilon": 1.0, "combine": "sum"}, strict)
    assert (audit.report.verdict, audit.report.exit_code) == ("fail", 1)
