"""A limit on the worse of two distributions is no better than one on either of them, whatever a metric reads."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from example_counts import seeds
from leafgate.api import AdversaryKnowledge, Belief, PersonMetric, Release, ScoringContext, SecretBelief
from leafgate.app import Finding, load_plugins, open_session
from standins import attack_that, audited, finding, metric_that

WAYS = ("worst", "derived", "composition")
VARIANTS: Sequence[Mapping[str, Any]] = (
    {"use": "exposure", "at_most": 0, "insiders": 1},
    {"use": "exposure", "at_most": 0, "insiders": 2},
    {"use": "confidence", "at_most": 0.8, "average": True},
    *({"use": "l_diversity", "form": form, "at_least": 1} for form in ("distinct", "entropy")),
    {"use": "l_diversity", "form": "recursive", "c": 2, "at_least": 1},
    {"use": "beta_likeness", "form": "enhanced", "at_most": 2},
)
PAY = {"role": "sensitive", "bins": [0, 500, 1000], "scale": "ratio"}


def every_limit() -> Iterator[dict[str, Any]]:
    """A limit of every metric that can judge the worse of both, by its own example, and variants, each in all ways."""
    kinds = [kind for kind in load_plugins(["leafgate"]).kind(PersonMetric) if issubclass(kind, PersonMetric)]
    examples = [
        {"use": kind.model_fields["use"].default, **yaml.safe_load(f"{{{kind.policy_example}}}")}
        for kind in kinds
        if kind.can_score("worst")
    ]
    assert {each["use"] for each in examples} >= {"confidence", "exposure", "l_diversity", "t_closeness"}
    for i, limit in enumerate([*examples, *VARIANTS]):
        yield from ({**limit, "name": f"m{i}-{scored}", "scored": scored} for scored in WAYS)


def findings_on(folder: Path, people: str, columns: Mapping[str, Any], **changes: Any) -> dict[str, Finding]:
    """The findings of an audit of a table, which publishes it whole unless `changes` say otherwise."""
    (folder / "people.csv").write_text(people)
    policy = {
        "leafgate": 1,
        "name": "table",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "table"},
        "attacks": [{"use": "linking"}],
        "report": {"smallest_cell": 1},
        **changes,
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return {each.id: each for each in open_session(folder / "policy.yaml").audit().report.findings}


def worse(found: Finding) -> float:
    """The score, such that more is worse; infinite where it has no bound."""
    value = float("inf") if found.value is None else found.value
    return -value if found.limit is not None and found.limit.direction == "at_least" else value


@pytest.mark.parametrize("seed", seeds(4))
def test_no_score_of_the_worse_of_both_is_better_than_one_of_either(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        f"{rng.choice('AB')},{rng.choice([10, 20, 400, 490, 500, 505, 510, 900])},{rng.choice(['no', 'no', 'yes'])}"
        for _ in range(rng.choice([8, 15, 30]))
    ]
    columns = {
        "q": {"role": "quasi_identifier", "values": ["A", "B"]},
        "pay": PAY,
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    build = rng.choice([{"use": "table"}, {"use": "kadet", "k": 1, "prune": False}])
    found = findings_on(
        tmp_path, "\n".join(["q,pay,ill", *rows]) + "\n", columns, build=build, metrics=list(every_limit())
    )
    judged = [each for each in found.values() if each.limit is not None and each.metric.endswith("worst")]
    compared = 0
    for each in judged:
        assert each.limit is not None
        for scored in WAYS[1:] if each.limit.scored == "worst" else ():
            other = found[each.id.replace("-worst", f"-{scored}")]
            assert each.passed is None or other.passed is None or worse(each) >= worse(other) - 1e-9, each.id
            compared += 1
    assert compared > 10


SPREAD = "10 200 400 600 800 990"


@pytest.mark.parametrize(("pays", "value"), [("490 495 498 502 505 510 20", 1.0), (SPREAD, 0.5)])
def test_windows_are_scored_where_the_release_shows_the_true_shares(tmp_path: Path, pays: str, value: float) -> None:
    """Six of the seven pays of a group lie within 4 % of each other, on both sides of the edge of a bin.

    Whoever has the seventh knows of the other six that everybody's pay is in that window.
    """
    people = "q,pay\n" + "".join(f"{q},{pay}\n" for q, text in (("A", pays), ("B", SPREAD)) for pay in text.split())
    columns = {"q": {"role": "quasi_identifier", "values": ["A", "B"]}, "pay": PAY}
    limit = {"use": "confidence", "at_most": 0.8}
    found = findings_on(tmp_path, people, columns, metrics=[limit])["confidence@linking#pay"]
    assert found.value == pytest.approx(value)
    assert found.passed is (value <= 0.8)


def by_scored(case: ScoringContext) -> pd.Series:
    """A score that reads which distribution is scored, and not the distribution."""
    return case.weight * (0.5 if case.scored == "derived" else 0.25)


def by_posterior_and_scored(case: ScoringContext) -> pd.Series:
    """A score that reads the distribution, and which one it is."""
    return by_scored(case) + 0 * case.posterior.max(axis=1)


@pytest.mark.parametrize("score", [by_scored, by_posterior_and_scored])
def test_what_reads_which_distribution_is_scored_is_scored_by_both(score: Callable[[ScoringContext], Any]) -> None:
    def infer(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        chances = pd.DataFrame({"flu": [0.75, 0.5], "cold": [0.25, 0.5]})
        return [SecretBelief("ill", chances, equivalence_class=np.arange(2))]

    limit = {"use": "odd", "at_least": 0.1, "secret": "ill"}
    report = audited(attack_that(infer), metric_that(score), attacks=[{"use": "nosy"}], metrics=[limit])
    assert finding(report, "odd@nosy#ill").value == 0.25
