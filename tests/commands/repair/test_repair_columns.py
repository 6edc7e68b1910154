"""What a repaired model asks about: the columns that the given model takes, unless all are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from leafgate import Audit, LeafgateError
from leafgate import audit as audit_model
from leafgate import repair as repair_model
from leafgate.api import columns_asked
from repairs import people, policy_file
from sklearn_zoo import skops_bytes


def patients(seed: int, n: int) -> pd.DataFrame:
    """People with a column that was filled in after the outcome, and so predicts it well."""
    table = people(seed, n)
    rng = np.random.default_rng(seed)
    table["visits"] = np.where(table["class"] == "b", 6, 2) + rng.integers(0, 3, n)
    return table


def audited(taken: Sequence[str], **limits: Any) -> Audit:
    """The audit of a tree that was fitted on some columns, of a table with all of them."""
    table = patients(0, 300)
    rows, labels = table.drop(columns="class"), table["class"]
    model = DecisionTreeClassifier(random_state=0).fit(rows[list(taken)], labels)
    return audit_model(
        model, rows, labels, test=patients(1, 300), limits={"k_anonymity": 10, **limits}, search_remedies=False
    )


def asked_by(audit: Audit) -> set[str]:
    assert audit.artifact is not None
    return {name for tree in audit.artifact.release.trees for name in columns_asked(tree)}


@pytest.mark.thorough
def test_a_repair_asks_about_no_column_that_the_given_model_does_not_take() -> None:
    found = repair_model(audited(["age", "zip"]), effort=0.02)
    assert found.found
    assert found.candidates is not None
    assert "distillation" in set(found.candidates["step"])
    assert asked_by(found.audit) <= {"age", "zip"}
    assert not any("does not take" in sentence for sentence in found.sentences)


@pytest.mark.thorough
def test_with_all_columns_the_first_sentence_names_those_that_the_given_model_does_not_take(
    tmp_path: Path,
) -> None:
    found = repair_model(audited(["age", "zip"]), columns="all", effort=0.02, out=tmp_path / "new.json")
    assert "visits" in asked_by(found.audit)
    added = sorted(asked_by(found.audit) - {"age", "zip"})
    named = ", ".join(map(repr, added))
    assert found.sentences[0] == f"asks about columns that the given model does not take: {named}"


def test_an_unknown_choice_of_columns_is_refused() -> None:
    with pytest.raises(LeafgateError, match="choose from used, all"):
        repair_model(audited(["age", "zip"]), columns="some")


@pytest.mark.thorough
def test_the_command_says_first_which_columns_it_took(tmp_path: Path) -> None:
    table = people(0, 300)
    table["zip"] = np.where(table["class"] == "b", 6, 2)  # known only afterwards
    model = DecisionTreeClassifier(random_state=0).fit(table[["age", "sex"]], table["class"])
    table.to_csv(tmp_path / "people.csv", index=False)
    table.iloc[::2].to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    policy = policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 10}], test=True)
    repaired = ("repair", tmp_path / "model.skops", "--policy", policy, "--effort", 0.02)
    ended = leafgate(*repaired, "--out", tmp_path / "new.json")
    assert ended.code == 0
    assert "zip" not in (tmp_path / "new.json").read_text()
    ended = leafgate(*repaired, "--out", tmp_path / "all.json", "--columns", "all")
    assert ended.out.splitlines()[1] == "  asks about columns that the given model does not take: 'zip'"
