"""The MLflow exporter, against a store of files in a process of its own."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cases import more
from command_line import Ended, leafgate, process
from leafgate.api import InvalidError, install_command
from leafgate.app import ExpectedRun
from leafgate_plugins.mlflow.export import read_public

pytestmark = pytest.mark.thorough

POLICIES = Path(__file__).resolve().parents[2] / "policies"
INSTALLED = pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
STRICTER = ("k_anonymity, at_least: 3", "k_anonymity, at_least: 4")
CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports of an audit that passes and of one that fails."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copy(POLICIES / "mortgage.csv", folder)
    policy = (POLICIES / "mortgage.yaml").read_text()
    for name, text in (("pass", policy), ("fail", policy.replace(*STRICTER))):
        (folder / f"{name}.yaml").write_text(text)
        assert leafgate("audit", folder / f"{name}.yaml", "--out", folder / name).code == CODES[name]
    result = json.loads((folder / "fail" / "report.json").read_text()) | {"verdict": "inconclusive", "release": None}
    result["findings"] = [finding | {"passed": finding["passed"] or None} for finding in result["findings"]]
    (folder / "inconclusive").mkdir()
    (folder / "inconclusive" / "report.json").write_text(json.dumps(result))
    return folder


@pytest.fixture
def audits(audited: Path, tmp_path: Path) -> Path:
    """The same reports in a folder of the test's own, without a store."""
    shutil.copytree(audited, tmp_path, dirs_exist_ok=True)
    return tmp_path


def log(audits: Path, name: str, *words: str, before: str = "") -> Ended:
    """Run `mlflow log` on a report; the store is files below `audits`."""
    allow = "import os; os.environ['MLFLOW_ALLOW_FILE_STORE'] = 'true'"
    uri = (audits / "store").as_uri()
    return process("mlflow", "log", audits / name, "--tracking-uri", uri, *words, before=f"{allow}\n{before}")


def tags(audits: Path) -> dict[str, str]:
    """The tags of the one run in the store, as its files have them, without MLflow."""
    found = list((audits / "store").glob("*/*/tags/leafgate.*"))
    return {file.name: file.read_text() for file in found}


@INSTALLED
@pytest.mark.parametrize("verdict", ["fail", *more("pass", "inconclusive")])
def test_a_run_is_tagged_and_keeps_the_report_and_the_verdict_is_the_exit_code(verdict: str, audits: Path) -> None:
    ended = log(audits, verdict, "--experiment", "loans")
    assert ended.code == CODES[verdict], ended.err
    run = ended.out.removeprefix("run ").split(":")[0]
    assert ended.out == f"run {run}: {verdict}\n"
    report = audits / verdict / "report.json"
    document = json.loads(report.read_text())
    wanted = {"leafgate.verdict": verdict, "leafgate.policy": "mortgage", "leafgate.waived": str(document["waived"])}
    wanted |= {"leafgate.policy_sha256": document["policy"]["sha256"]}
    wanted |= {} if document["release"] is None else {"leafgate.release_sha256": document["release"]["sha256"]}
    assert tags(audits) == wanted
    (kept,) = (audits / "store").glob("*/*/artifacts/leafgate/*")
    assert kept.read_bytes() == report.read_bytes()
    assert run in str(kept)


def test_a_run_is_tagged_with_the_audited_file(audits: Path) -> None:
    path = audits / "pass" / "report.json"
    document = json.loads(path.read_text())
    assert not [name for name in read_public(audits / "pass").tags if "file" in name]
    document["release"]["file"] = {"name": "model\n.onnx", "format": "onnx", "sha256": "ab" * 32}
    path.write_text(json.dumps(document))
    first = list(read_public(audits / "pass").tags.items())[:3]
    assert first == [
        ("leafgate.file_name", "model\N{REPLACEMENT CHARACTER}.onnx"),
        ("leafgate.file_format", "onnx"),
        ("leafgate.file_sha256", "ab" * 32),
    ]


@pytest.mark.parametrize("file", [{}, [], "model.onnx", {"name": "model.onnx", "format": 1, "sha256": "ab" * 32}])
def test_a_report_that_says_no_file_where_it_should_is_refused(audits: Path, file: Any) -> None:
    path = audits / "pass" / "report.json"
    document = json.loads(path.read_text())
    document["release"]["file"] = file
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidError, match=r"release\.file"):
        read_public(audits / "pass")


@pytest.mark.processes
@INSTALLED
def test_the_run_that_trained_the_model_can_be_tagged(audits: Path) -> None:
    first = log(audits, "fail", "--experiment", "loans")
    run = first.out.removeprefix("run ").split(":")[0]
    again = log(audits, "pass", "--run-id", run)
    assert (again.code, again.out) == (0, f"run {run}: pass\n")
    assert tags(audits)["leafgate.verdict"] == "pass"


@pytest.mark.processes
@INSTALLED
def test_what_mlflow_does_not_take_blocks(audits: Path) -> None:
    ended = log(audits, "pass", "--run-id", "0" * 32)
    assert (ended.code, ended.out) == (2, "")
    assert "MLflow did not take the report" in ended.err


@INSTALLED
@pytest.mark.parametrize(
    ("store", "remedy"),
    [("file://{}/store", "MLFLOW_ALLOW_FILE_STORE=true"), *more(("sqlite:///{}/hush:word.db", "pip install mlflow"))],
)
def test_a_store_that_mlflow_refuses_is_reported_with_a_remedy_without_its_address(
    store: str, remedy: str, audits: Path
) -> None:
    if store.startswith("sqlite") and find_spec("sqlalchemy") is not None:
        pytest.skip("all of MLflow is installed, which knows databases")
    forget = "import os; os.environ.pop('MLFLOW_ALLOW_FILE_STORE', None)"
    uri = store.format(audits)
    ended = process("mlflow", "log", audits / "pass", "--tracking-uri", uri, "--experiment", "loans", before=forget)
    assert (ended.code, ended.out) == (2, "")
    assert remedy in ended.err
    assert str(audits) not in ended.err


@pytest.mark.processes
@INSTALLED
def test_nobody_but_the_store_is_called(audits: Path) -> None:
    refuse = "import socket\ndef no(*a, **k): os._exit(99)\nsocket.socket.connect = socket.getaddrinfo = no"
    assert log(audits, "pass", "--experiment", "loans", before=refuse).code == 0


def test_an_auditor_s_report_is_refused(audits: Path) -> None:
    words = ("--out", audits / "secret", "--audience", "auditor")
    assert leafgate("audit", audits / "pass.yaml", *words).code == 0
    ended = log(audits, "secret", "--experiment", "loans")
    assert ended.code == 2
    assert "is for auditors only" in ended.err
    assert not (audits / "store").exists()


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"format": "leafgate/report/1", "audience": "public"},
        {"format": "leafgate/report/1", "verdict": "pass"},
        {"format": "leafgate/report/1", "verdict": "splendid", "audience": "public"},
        {"format": "leafgate/report/1", "verdict": "pass", "audience": "public", "policy": {}, "release": None},
        {"format": "leafgate/report/2", "verdict": "pass", "audience": "public", "policy": {"name": "x"}},
        {"format": "leafgate/release/1"},
    ],
)
def test_what_is_no_public_report_is_refused(document: Any, tmp_path: Path) -> None:
    if document is not None:
        (tmp_path / "report.json").write_text(json.dumps(document))
    with pytest.raises(InvalidError):
        read_public(tmp_path)


@pytest.mark.parametrize("words", [(), ("--run-id", "1", "--experiment", "2")])
def test_a_run_or_an_experiment_is_named(words: tuple[str, ...], audits: Path) -> None:
    assert log(audits, "pass", *words).code == 2


def test_without_mlflow_the_remedy_is_told(audits: Path) -> None:
    ended = log(audits, "pass", "--experiment", "loans", before="import sys; sys.modules['mlflow'] = None")
    assert ended.code == 2
    assert install_command("mlflow") in ended.err


def test_a_store_must_be_named(audits: Path) -> None:
    forget = "import os; os.environ.pop('MLFLOW_TRACKING_URI', None)"
    assert process("mlflow", "log", audits / "pass", "--experiment", "loans", before=forget).code == 2


def test_an_audit_that_is_invalid_leaves_nothing_to_log(audits: Path) -> None:
    (audits / "pass.yaml").write_text("leafgate: 1\n")
    assert leafgate("audit", audits / "pass.yaml", "--out", audits / "pass").code == 2
    assert log(audits, "pass", "--experiment", "loans").code == 2
    assert not (audits / "store").exists()


def test_a_report_of_another_run_is_refused_before_mlflow_is_called(audits: Path) -> None:
    for words in (
        ["--expect-policy", str(audits / "fail.yaml")],
        ["--expect-release", "0" * 64],
        ["--expect-file", str(audits / "mortgage.csv")],
        ["--expect-policy", "nowhere.yaml"],
    ):
        store = ("--tracking-uri", (audits / "store").as_uri())
        ended = leafgate("mlflow", "log", audits / "pass", *store, "--experiment", "loans", *words)
        assert (ended.code, ended.out) == (2, ""), words
        assert not (audits / "store").exists()


def test_a_report_whose_verdict_was_edited_is_refused(audits: Path) -> None:
    path = audits / "fail" / "report.json"
    path.write_text(path.read_text().replace('"verdict": "fail"', '"verdict": "pass"'))
    with pytest.raises(InvalidError, match="its findings make it 'fail'"):
        read_public(audits / "fail")


def test_tags_say_what_became_of_waivers_on_the_day_the_report_is_read(audits: Path) -> None:
    policy, out, today = audits / "fail.yaml", audits / "fail", datetime.now(UTC).date()
    report = json.loads((out / "report.json").read_text())
    days = {"issued": today.isoformat(), "expires": (today + timedelta(days=9)).isoformat()}
    waivers = [
        {"id": f"W-{i}", "finding": finding["id"], "release": report["release"]["sha256"], "reason": "a pilot"}
        | {"owner": "jane@example.org", "approved_by": "dpo@example.org"}
        | days
        for i, finding in enumerate(report["findings"])
        if finding["passed"] is False
    ]
    policy.write_text(f"{policy.read_text()}\nwaivers: {json.dumps(waivers)}\n")
    assert leafgate("audit", policy, "--out", out).code == 0
    now = read_public(out, ExpectedRun(policy=str(policy)))
    assert (now.exit_code, now.tags["leafgate.verdict"], now.lapsed_waivers) == (0, "pass", [])
    assert now.tags["leafgate.judged_on"] == today.isoformat()
    late = read_public(out, ExpectedRun(as_of=(today + timedelta(days=10)).isoformat()))
    assert (late.exit_code, late.tags["leafgate.verdict"], late.tags["leafgate.waived"]) == (1, "fail", "0")
    assert late.tags["leafgate.judged_on"] == (today + timedelta(days=10)).isoformat()
    assert len(late.lapsed_waivers) == len(waivers)
