"""Attempts to pass limits on inferred inputs with a release that leaks, and to read a value from a public report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from leafgate.errors import PolicyError
from leafgate.policy.load import load_policy
from leafgate_attributes.query_attacks import exponents_of_deciding, weighed_by_scores


def logs_that_differ_by(*spreads: float) -> np.ndarray:
    """The logarithms of scores of two values, for one person of each spread."""
    return np.array([[-3.0, spread - 3.0] for spread in spreads])


def test_likelihood_is_trusted_with_a_planted_leak_as_with_the_answers_of_the_model() -> None:
    """Answers that nobody gives have the exponent 1, and say nothing of leaks in the answers that the model gives."""
    exponents = np.array([0.9, 0.6, 0.3, 0.0, 0.1, 1.0])
    answered = logs_that_differ_by(0.0, 0.3, 0.7, 1.5, 1.6, 3.0)
    trust = exponents_of_deciding(answered, exponents)
    assert trust.tolist() == [0.0, 0.0, 0.1]
    imputed = np.full((3, 2), 0.5)
    np.testing.assert_array_equal(
        weighed_by_scores(imputed, logs_that_differ_by(4.6, 4.6, 4.6), trust)[:2], imputed[:2]
    )
    assert exponents_of_deciding(logs_that_differ_by(0.0, 0.3), exponents).tolist() == [0.6]


COLUMNS = {
    "town": {"role": "quasi_identifier", "values": ["Hill", "Port"]},
    "married": {"role": "private", "values": ["no", "yes"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}


@pytest.mark.parametrize("limit", ["attribute_certain", "attribute_leak", "k_anonymity"])
def test_a_child_policy_makes_no_secret_input_public_where_what_is_inferred_of_it_is_limited(
    tmp_path: Path, limit: str
) -> None:
    """A public column is no secret input, so that nobody would infer it, and limits would hold without it."""
    bound = {"at_least": 2} if limit == "k_anonymity" else {"at_most": 0}
    metrics = [{"use": limit, **bound}]
    attacks = [{"use": "linking"}, {"use": "leaf_constraints"}]
    data = {"path": "table.csv", "control": "control.csv", "columns": COLUMNS}
    parent = {"leafgate": 1, "name": "parent", "data": data, "build": {"use": "c45"}, "attacks": attacks}
    (tmp_path / "parent.yaml").write_text(json.dumps({**parent, "metrics": metrics}))
    public = {"married": {"role": "quasi_identifier", "values": ["no", "yes"]}}
    path = tmp_path / "child.yaml"
    path.write_text(json.dumps({"leafgate": 1, "name": "c", "extends": "parent.yaml", "data": {"columns": public}}))
    if limit == "k_anonymity":
        assert load_policy(path).policy.data.columns["married"].role == ("quasi_identifier",)
        return
    with pytest.raises(PolicyError) as refused:
        load_policy(path)
    assert [problem.location for problem in refused.value.problems] == ["data.columns.married.role"]
