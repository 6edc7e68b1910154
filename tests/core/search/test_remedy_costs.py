"""What a remedy costs, by whom that is measured, and that none leaves nothing but the most frequent class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from leafgate import Audit
from leafgate import audit as audit_model
from leafgate.api import Remedy
from leafgate.search.trials import OTHER_PEOPLE, OWN_PEOPLE, Trials

FEATURES = ["age", "steps"]


def people(seed: int, n: int, rare: float) -> pd.DataFrame:
    """People of two classes, the second of about this share, which depends a little on a number."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"age": rng.integers(18, 90, n), "steps": rng.integers(0, 1_000, n)})
    chance = rare * np.where(rows["age"] > 54, 1.4, 0.6)
    return rows.assign(group=np.where(rng.random(n) < chance, "b", "a"))


def fitted(rare: float) -> DecisionTreeClassifier:
    table = people(0, 600, rare)
    return DecisionTreeClassifier(random_state=0).fit(table[FEATURES], table["group"])


def audited(rare: float, test: pd.DataFrame | None = None) -> Audit:
    """The audit of a whole tree whose leaves hold one person each, where groups of 60 are asked for."""
    return audit_model(fitted(rare), people(0, 600, rare), "group", test=test, limits={"k_anonymity": 60})


def remedies(audit: Audit) -> Sequence[Remedy]:
    return next(finding for finding in audit.report.findings if finding.fails).remedies


def trained(audit: Audit) -> list[Remedy]:
    return [remedy for remedy in remedies(audit) if remedy.action == "retrain"]


def test_no_training_is_proposed_that_leaves_the_most_frequent_class_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 people with larger leaves everybody gets the class of 70 % of them."""
    assert not trained(audited(0.3))
    assert trained(audited(0.5))
    monkeypatch.setattr(Trials, "leaves_base_rate", lambda *_: False)
    assert trained(audited(0.3))


def test_what_a_remedy_costs_is_measured_on_other_people_where_there_are_some() -> None:
    others = people(1, 400, 0.5)
    for remedy in trained(audit := audited(0.5, others)):
        assert OTHER_PEOPLE in remedy.details
        assert OWN_PEOPLE not in remedy.details
    auc = roc_auc_score(others["group"] == "b", fitted(0.5).predict_proba(others[FEATURES])[:, 1])
    assert f"and is {auc:.3g} now: {OTHER_PEOPLE}." in trained(audit)[0].details


def test_a_test_that_is_the_table_itself_is_warned_of_and_measures_nothing() -> None:
    audit = audited(0.5, people(0, 600, 0.5).sample(frac=1.0, random_state=3))
    assert [warning for warning in audit.warnings if "is the table itself" in warning] == [
        "test: is the table itself, so what is measured on these people flatters the model "
        "(name people who are not in the table)"
    ]
    assert trained(audit)
    for remedy in trained(audit):
        assert OWN_PEOPLE in remedy.details
    assert not any("is the table itself" in warning for warning in audited(0.5, people(1, 600, 0.5)).warnings)
