"""Files about people in options of attacks and metrics: read, digested, and kept from the public."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate.app import load_policy, open_session
from stranger import install
from survey import HEADER, PEOPLE, survey

WITNESS = '''
from typing import Literal
import numpy as np
import pandas as pd
from leafgate.api import AttackModel, AtMost, DataSource, OwnersFile, PeopleFile, Score, SecretBelief
from leafgate.api import hookimpl, text_frame
leafgate_api = ">=3,<4"

class Witness(AttackModel):
    """Knows people of a file of its own, whether or not they are in the table."""
    use: Literal["witness"] = "witness"
    seen: PeopleFile | None = None
    other: str = ""

    def infer(self, release, known):
        from pathlib import Path
        people = known.read(Path(self.other) if self.other else self.seen)
        evidence = {"seen": people.total_weight, "columns": list(people.frame.columns)}
        even = pd.DataFrame(0.5, index=range(len(known.records)), columns=list(known.schema["ill"].domain))
        return [SecretBelief("ill", even, equivalence_class=np.arange(len(known.records)), evidence=evidence)]

class Remembered(AtMost):
    """How many people its file has."""
    use: Literal["remembered"] = "remembered"
    seen: PeopleFile

    def score(self, case):
        return Score(people=pd.Series(float(case.known.read(self.seen).total_weight), index=range(len(case.table))))

class Listing(DataSource):
    """Rows in a file of another name, with the people whom somebody else has listed."""
    use: Literal["listing"] = "listing"
    listed: OwnersFile
    suffixes = frozenset({".lst"})

    def read(self, file):
        header, *rows = [line.split(",") for line in file.content.decode().splitlines()]
        return text_frame(header, rows)

@hookimpl
def data_sources():
    return [Listing]

@hookimpl
def attack_models():
    return [Witness]

@hookimpl
def privacy_metrics():
    return [Remembered]
'''
SEEN = f"{HEADER.replace('age,', '')}\nf,no,yes\nm,no,no\nf,no,yes\n"
SAID: dict[str, Any] = {
    "attacks": [{"use": "witness", "seen": "seen.csv"}],
    "metrics": [{"use": "remembered", "seen": "seen.csv", "at_most": 3}],
    "report.smallest_cell": 1,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path, "leafgate_witness", WITNESS)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "seen.csv").write_text(SEEN)
    return tmp_path


def audited(path: Path, out: Path) -> dict[str, Any]:
    """The auditor's report."""
    leafgate("audit", path, "--out", out, "--audience", "auditor")
    document: dict[str, Any] = json.loads((out / "report.json").read_text())
    return document


def test_an_attack_and_a_metric_read_the_columns_that_their_file_has(folder: Path) -> None:
    findings = audited(survey(folder, SAID), folder / "out")["findings"]
    (judged,) = (each for each in findings if each["metric"] == "remembered")
    assert (judged["value"], judged["passed"]) == (3, True)
    assert judged["evidence"]["seen"] == 3
    assert judged["evidence"]["columns"] == ["sex", "smoker", "ill"]


def test_an_auditor_sees_the_digest_of_each_components_file(folder: Path) -> None:
    path = survey(folder, SAID)
    files = audited(path, folder / "out")["data"]["files"]
    digest = hashlib.sha256(SEEN.encode()).hexdigest()
    assert files == {"attacks.witness.seen": digest, "metrics.remembered.seen": digest}
    assert digest not in leafgate("audit", path, "--json").out


def test_an_auditor_sees_the_digest_of_a_data_sources_file(folder: Path) -> None:
    (folder / "people.lst").write_text(PEOPLE)
    said = {"data.path": "people.lst", "data.source": {"use": "listing", "listed": "seen.csv"}}
    files = audited(survey(folder, said), folder / "out")["data"]["files"]
    assert files == {"data.source.listed": hashlib.sha256(SEEN.encode()).hexdigest()}


def test_a_policys_digest_tells_only_that_a_component_has_a_file(folder: Path) -> None:
    path = survey(folder, SAID)
    first = load_policy(path).policy.sha256
    (folder / "seen.csv").write_text(PEOPLE)
    assert load_policy(path).policy.sha256 == first


def test_a_file_that_no_option_names_is_not_read(folder: Path) -> None:
    (folder / "hidden.csv").write_text(SEEN)
    said = SAID | {"attacks": [{"use": "witness", "other": str(folder / "hidden.csv")}]}
    problems = [each.evidence.get("problem", "") for each in open_session(survey(folder, said)).audit().report.findings]
    assert any("no attack or metric of the policy names this file" in problem for problem in problems)


@pytest.mark.parametrize(
    ("content", "why"),
    [(SEEN.replace("f,", "x,"), "outside the `values`"), ("shoes\n41\n", "has no column of the policy")],
)
def test_a_file_that_does_not_fit_leaves_the_attack_inconclusive(folder: Path, content: str, why: str) -> None:
    (folder / "seen.csv").write_text(content)
    report = open_session(survey(folder, SAID | {"metrics": [{"use": "k_anonymity", "at_least": 1}]})).audit().report
    (problem,) = (each for each in report.findings if each.id == "attack:witness")
    assert why in problem.evidence["problem"]
    assert "41" not in problem.evidence["problem"]


def test_a_file_that_is_not_there_is_invalid(folder: Path) -> None:
    (folder / "seen.csv").unlink()
    ended = leafgate("audit", survey(folder, SAID), "--json")
    assert ended.code == 2
    assert ended.problems[0]["place"] == "attacks.witness.seen"
