"""Remedies as Python users read them: displayed in their words, and stored in those of the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import leafgate
from leafgate.app import document, readable
from leafgate.session.python_words import in_python

COMMAND_WORDS = re.compile(r"leafgate repair|\bMODEL --|--policy POLICY --out|\bdata\.(?:control|test)\b|build:")


def people(count: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, count), "zip": rng.integers(0, 30, count)})
    return table, pd.Series(np.where(rng.random(count) < table["age"] / 100, "yes", "no"), name="ill")


TEXTS = {
    "repair": (
        "Repair the model (`leafgate repair MODEL --policy POLICY --out NEW`), and audit the new file. 20 fails.",
        "Repair the model: `repair = leafgate.repair(audit)`, whose `repair.audit` is the audit of the new model. "
        "20 fails.",
    ),
    "repair without an audit": (
        "Repair the model (`leafgate repair MODEL --policy POLICY --out NEW`): it is cut back.",
        "Repair the model (`leafgate.repair(audit)`): it is cut back.",
    ),
    "scrub": (
        "Write the model anew with labels on its leaves (`leafgate scrub MODEL NEW --leaves labels --policy POLICY`), "
        "and audit the new file.",
        "Write the model anew with labels on its leaves: `repair = leafgate.repair(audit)`, whose `repair.audit` is "
        "the audit of the new model; or in a terminal, with the files of `audit.to_policy(FOLDER)`, `leafgate scrub "
        "MODEL NEW --leaves labels --policy POLICY`.",
    ),
    "training": (
        "Train the model with `min_samples_leaf` 50 and audit it again.",
        "Train the model with `min_samples_leaf` 50 and audit it again with `leafgate.audit`.",
    ),
    "training and a repair": (
        "Train the model with `min_samples_leaf` 50, take out of its file what it tells beside its predictions "
        "(`leafgate repair MODEL --policy POLICY --out NEW`), and audit that file.",
        "Train the model with `min_samples_leaf` 50, audit it with `leafgate.audit`, and let `leafgate.repair` take "
        "out of its file what that tells beside its predictions.",
    ),
    "people of a file": (
        "`data.control`: Name people who are not in the table.",
        "`control`: Name people who are not in the table.",
    ),
    "missing cells": (
        "Keep them in the table (`data.on_missing: keep`).",
        'Keep them in the table (`on_missing="keep"`).',
    ),
    "an attack": ("Add the attack `linking`: it is needed.", "Add the attack `linking` to `attacks`: it is needed."),
    "a key without an argument": (
        "Set `build.min_leaf` to 5.",
        "Set `build.min_leaf` to 5. This is in the policy that `audit.to_policy(FOLDER)` writes.",
    ),
    "nothing of the kind": ("Gather more people.", "Gather more people."),
}


@pytest.mark.parametrize(("text", "translated"), TEXTS.values(), ids=TEXTS)
def test_a_remedy_names_functions_and_arguments(text: str, translated: str) -> None:
    assert in_python(text) == translated


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(random_state=0), RandomForestClassifier(4, max_depth=5, random_state=0)],
    ids=["tree", "forest"],
)
def test_displayed_remedies_are_in_python_and_stored_ones_as_the_command_line_has_them(
    model: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, ill = people()
    audit = leafgate.audit(model.fit(table, ill), table, ill, publish="labels")  # type: ignore[attr-defined]
    audit.show()
    lines = [line for line in capsys.readouterr().out.splitlines() if "what to do" in line]
    texts = [remedy.text for remedy in audit.remedies]
    assert any("`repair = leafgate.repair(audit)`" in text for text in texts)
    for text in (*lines, *texts):
        assert not COMMAND_WORDS.search(text), text
    page = audit._repr_html_()
    assert page is not None
    assert "leafgate repair MODEL" not in page
    assert b"leafgate repair MODEL --policy POLICY --out NEW" in readable(document(audit.report, "public"))
    audit.save(tmp_path)
    stored = json.loads((tmp_path / "report.json").read_bytes())
    assert stored == json.loads(readable(document(audit.report, "public")))
    commands = [remedy.command for remedy in audit.remedies]
    assert ("leafgate", "repair", "MODEL", "--policy", "POLICY", "--out", "NEW") in commands


def test_remedies_of_an_audit_by_a_policy_speak_of_the_policy(tmp_path: Path) -> None:
    table, ill = people(100)
    files = leafgate.audit(DecisionTreeClassifier().fit(table, ill), table, ill, search_remedies=False)
    files.to_policy(tmp_path)
    audit = leafgate.audit(tmp_path / "policy.yaml", search_remedies=False)
    assert any("`leafgate repair MODEL" in remedy.text for remedy in audit.remedies)
