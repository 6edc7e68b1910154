"""Columns whose values the encoder of a pipeline lists: a user of Python says nothing about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate

CODES = range(10_000, 90_000, 2_000)
"""More postal codes than a short list has, which few people have each, and far apart."""


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, pd.DataFrame, pd.Series]:
    """A pipeline whose tree asks about postal codes, which are whole numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": np.repeat(CODES, 6), "age": rng.integers(20, 80, 6 * len(CODES))})
    ill = pd.Series(np.where(table["code"] % 6_000 == 0, "yes", "no"), name="ill")
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["code"]), remainder="passthrough")
    return make_pipeline(encoded, DecisionTreeClassifier(random_state=0)).fit(table, ill), table, ill


def audited(fitted: tuple[Any, pd.DataFrame, pd.Series], **options: Any) -> leafgate.Audit:
    given: dict[str, Any] = {"limits": {"k_anonymity": 10}, "search_remedies": False, **options}
    return leafgate.audit(*fitted, **given)


def values_of(audit: leafgate.Audit) -> list[str]:
    assert audit.files is not None
    values: list[str] = audit.files.document["data"]["columns"]["code"]["values"]
    return values


@pytest.mark.thorough
def test_integers_of_an_encoder_are_its_values_as_texts_and_a_note_says_that_the_policy_lists_them(fitted: Any) -> None:
    audit = audited(fitted)
    assert values_of(audit) == [str(code) for code in CODES]
    assert dict(audit.findings[["finding", "verdict"]].values)["reading"] == "pass"
    assert any("the policy that `audit.to_policy` writes lists" in warning for warning in audit.warnings)
    with_floats = audited((fitted[0], fitted[1].astype(float), fitted[2]))
    assert values_of(with_floats) == values_of(audit)


@pytest.mark.parametrize("values", [list(CODES), np.array(CODES, dtype=np.float32), list(map(str, CODES))])
@pytest.mark.thorough
def test_values_may_be_given_as_the_numbers_that_they_are(values: Any, fitted: Any) -> None:
    assert values_of(audited(fitted, roles={"code": {"values": values}})) == [str(code) for code in CODES]


@pytest.mark.thorough
def test_values_of_test_people_that_the_encoder_ignores_are_no_error(fitted: Any) -> None:
    other = fitted[1].assign(code=[99_999, *fitted[1]["code"][1:]])
    for roles in ({}, {"code": {"values": list(CODES)}}):
        audit = audited(fitted, roles=roles, test=(other, fitted[2]))
        assert values_of(audit) == [*map(str, CODES), "99999"]


def test_an_error_about_values_names_the_argument(fitted: Any) -> None:
    fewer = {"values": list(CODES)[:-1]}
    message = (
        r"X, column 'code': some cells are outside the `values` that `roles` declares, .*\(correct X, or the roles\)"
    )
    with pytest.raises(leafgate.DataError, match=message):
        audited(fitted, roles={"code": fewer})
    with pytest.raises(leafgate.ReleaseError, match=r"takes it as values, and it has no `values` .*under `roles`"):
        audited(fitted, roles={"code": {"bounds": [0, 100_000]}})
