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
from leafgate import PolicyError
from leafgate.api import Remedy
from leafgate.app import document, readable
from leafgate.kernel.findings import REPAIR, scrub_command
from leafgate.kernel.paths import DocumentPath
from leafgate.session.python_text import error_in_python, remedy_in_python

COMMAND_WORDS = re.compile(r"leafgate repair|\bMODEL --|--policy POLICY --out|\bdata\.(?:control|test)\b|build:")


def people(count: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, count), "zip": rng.integers(0, 30, count)})
    return table, pd.Series(np.where(rng.random(count) < table["age"] / 100, "yes", "no"), name="ill")


REPAIRED = "`repair = leafgate.repair(audit)`, whose `repair.audit` is the audit of the new model"
SCRUB = scrub_command("labels")
TRAINED = "Train the model with `min_samples_leaf` 50"
LEAVES = {"min_samples_leaf": 50}
REMEDIES = {
    "repair": (Remedy.running("Repair the model", REPAIR, ". 20 fails."), f"Repair the model: {REPAIRED}. 20 fails."),
    "scrub": (
        Remedy.running("Write the model anew with labels on its leaves", SCRUB),
        f"Write the model anew with labels on its leaves: {REPAIRED}; or in a terminal, with the files of "
        "`audit.to_policy(FOLDER)`, `leafgate scrub MODEL NEW --leaves labels --policy POLICY`.",
    ),
    "repair in a sentence": (
        Remedy(action="advise", text="Repair the model (`leafgate repair MODEL --policy POLICY --out NEW`): cut it."),
        "Repair the model (`leafgate.repair(audit)`): cut it.",
    ),
    "training": (Remedy.retraining(TRAINED, LEAVES), f"{TRAINED} and audit it again with `leafgate.audit`."),
    "training and a repair": (
        Remedy.retraining(TRAINED, LEAVES, afterwards=REPAIR),
        f"{TRAINED}, audit it with `leafgate.audit`, and let `leafgate.repair` take out of its file what that "
        "discloses beside its predictions.",
    ),
    "training and labels": (
        Remedy.retraining(TRAINED, LEAVES, ". 20 fails.", afterwards=SCRUB),
        f'{TRAINED}, audit it with `publish="labels"`, and let `leafgate.repair` write its file with labels alone. '
        "20 fails.",
    ),
    "people of a file": (
        Remedy(action="add", text="`data.control`: Name people.", place="data.control"),
        "`control`: Name people.",
    ),
    "missing cells": (
        Remedy(action="set", text="Keep them (`data.on_missing: keep`).", place="data.on_missing", value="keep"),
        'Keep them (`on_missing="keep"`).',
    ),
    "an encoding": (
        Remedy(action="advise", text="State it under `build: {encoding: ...}`, as `data: {on_missing: drop}`."),
        'State it under `encoding`, as `on_missing="drop"`.',
    ),
    "an attack": (
        Remedy(action="add", text="Add the attack `linking`: it is needed.", place="attacks", value={"use": "linking"}),
        "Add the attack `linking`: it is needed. It goes into `attacks`.",
    ),
    "a key without an argument": (
        Remedy(action="set", text="Set `build.min_leaf` to 5.", place="build.min_leaf", value=5),
        "Set `build.min_leaf` to 5. This is in the policy that `audit.to_policy(FOLDER)` writes.",
    ),
    "a command": (
        Remedy(action="advise", text="`leafgate explain linking` says what it reads."),
        "`leafgate explain linking`, in a terminal, says what it reads.",
    ),
    "nothing of the kind": (Remedy(action="advise", text="Gather more people."), "Gather more people."),
}


@pytest.mark.parametrize(("remedy", "text"), REMEDIES.values(), ids=REMEDIES)
def test_a_remedy_names_functions_and_arguments(remedy: Remedy, text: str) -> None:
    assert remedy_in_python(remedy).text == text


PROBLEMS = {
    "a role": (("data", "columns", "a.b", "role"), "roles: a.b.role: is wrong"),
    "all roles": (("data", "columns"), "roles: is wrong"),
    "a limit": (("metrics", 0, "at_least"), "limits[0].at_least: is wrong"),
    "a feature": (("build", "encoding", "sex"), "encoding.sex: is wrong"),
    "no argument": (("knows", "people"), "knows.people: is wrong"),
}


@pytest.mark.parametrize(("path", "text"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_with_a_key_of_the_policy_is_one_with_an_argument(path: DocumentPath, text: str) -> None:
    assert str(error_in_python(PolicyError("is wrong", place=path), {})) == text


def test_a_printed_key_is_found_in_the_policy() -> None:
    policy = {"data": {"columns": {"a.b": {"role": "private"}}}}
    error = PolicyError("is wrong", place="data.columns.a.b.role", remedy="say `data: {on_missing: drop}`")
    assert str(error_in_python(error, policy)) == 'roles: a.b.role: is wrong (say `on_missing="drop"`)'


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(random_state=0), RandomForestClassifier(4, max_depth=5, random_state=0)],
    ids=["tree", "forest"],
)
@pytest.mark.thorough
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


@pytest.mark.thorough
def test_remedies_of_an_audit_by_a_policy_speak_of_the_policy(tmp_path: Path) -> None:
    table, ill = people(100)
    files = leafgate.audit(DecisionTreeClassifier().fit(table, ill), table, ill, search_remedies=False)
    files.to_policy(tmp_path)
    audit = leafgate.audit(tmp_path / "policy.yaml", search_remedies=False)
    assert any("`leafgate repair MODEL" in remedy.text for remedy in audit.remedies)
