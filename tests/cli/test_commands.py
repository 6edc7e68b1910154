"""The commands that look around: help, validate, init, schema, plugins, explain, demo."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from command_line import Ended, leafgate
from leafgate.api import DataSource
from leafgate.app import load_plugins
from patience import ends_soon
from stranger import install
from survey import PEOPLE, policy, survey, write_policy

PLUGIN_COMMANDS = ["privacy", "perturb", "mine"]
LISTED = re.findall(r"^  (\S+)  ", leafgate("--help").out.partition("Commands")[2], re.MULTILINE)
COMMANDS = sorted(LISTED)
OFFERED = load_plugins().by_name
POLICIES = Path(__file__).resolve().parents[2] / "policies"


def test_the_help_lists_the_commands_in_the_order_of_the_design() -> None:
    first, last = LISTED.index(PLUGIN_COMMANDS[0]), LISTED.index(PLUGIN_COMMANDS[-1])
    assert LISTED[first : last + 1] == PLUGIN_COMMANDS
    assert (LISTED[:3], LISTED[last + 1 :]) == (["audit", "build", "attack"], ["case", "ledger", "plugins"])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.thorough
def test_every_command_is_explained_by_the_help(command: str) -> None:
    assert f" {command} " in leafgate("--help").out
    ended = leafgate(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "Usage" in ended.out
    assert "<bool>" not in ended.out  # an option that takes no value is shown as a flag


@pytest.mark.parametrize(("limit", "code"), [(100, 1), (3, 0)])
@pytest.mark.thorough
def test_quiet_prints_nothing_and_ends_in_the_code_of_the_verdict(tmp_path: Path, limit: int, code: int) -> None:
    policy = survey(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": limit}]})
    ended = leafgate("audit", policy, "-q", "--out", tmp_path / "out")
    assert (ended.code, ended.out, ended.err) == (code, "", "")
    assert (tmp_path / "out" / "report.json").exists()
    assert leafgate("validate", policy, "--quiet") == Ended(0, "", "")
    ended = leafgate("sweep", policy, "--over", "build.k=6", "--out", tmp_path / "swept", "-q", "--workers", 1)
    assert (ended.code, ended.out, ended.err) == (code, "", "")


def test_quiet_keeps_errors_and_refuses_what_asks_for_output(tmp_path: Path) -> None:
    ended = leafgate("audit", tmp_path / "nobody.yaml", "-q")
    assert (ended.code, ended.out) == (2, "")
    assert "nobody.yaml" in ended.err
    assert leafgate("audit", survey(tmp_path), "-q", "-v").err.startswith("leafgate: --quiet: prints nothing")


def test_verbose_says_on_stderr_how_long_each_step_took(tmp_path: Path) -> None:
    policy = survey(tmp_path)
    ended = leafgate("audit", policy, "-v")
    assert "time: build" in ended.err
    assert ended.out == leafgate("audit", policy).out


def test_validate_reads_no_data(tmp_path: Path) -> None:
    path = write_policy(tmp_path, {"metrics.0.at_least": 10})
    assert leafgate("validate", path).out == f"{path}: the policy 'survey' is valid\n"
    assert leafgate("validate", path, "--json").document == {"format": "leafgate/valid/1", "name": "survey"}
    assert leafgate("audit", path).code == 2


@pytest.mark.thorough
def test_limits_on_groups_too_small_to_be_shown_are_warned_of_and_noted(tmp_path: Path) -> None:
    metrics = [
        {"use": "k_anonymity", "at_least": 3},
        {"use": "k_anonymity", "name": "large", "at_least": 10},
        {"use": "k_anonymity", "name": "anybody", "at_least": 1},
        {"use": "k_anonymity", "name": "mean", "at_least": 3, "average": True},
        {"use": "reidentification_risk", "at_most": 0.25},
    ]
    path = survey(tmp_path, {"metrics": metrics, "build": {"use": "id3"}})
    validated = leafgate("validate", path)
    assert validated.code == 0
    asked = [("metrics[0]", "k_anonymity is at least 3", 3), ("metrics[4]", "reidentification_risk is at most 0.25", 4)]
    expected = [
        f"warning: policy.yaml: {place}: whether {what} discloses groups of fewer than 10 people, which public reports "
        f"do not show: choose a limit of 10 people or more, or say `report.smallest_cell: {people}`"
        for place, what, people in asked
    ]
    assert validated.err.splitlines() == expected
    output = leafgate("validate", path, "--json")
    assert output.err == ""
    assert output.document["warnings"] == [line.removeprefix("warning: policy.yaml: ") for line in expected]
    audited = leafgate("audit", path)
    assert audited.err.splitlines() == expected
    notes = [line.removeprefix("  note: ") for line in audited.out.splitlines() if "note: Whether" in line]
    noted = [asked[0][1], "mean is at least 3 on average", asked[1][1]]
    assert [note.partition(" discloses ")[0] for note in notes] == [f"Whether {what}" for what in noted]
    assert not leafgate("validate", survey(tmp_path, {"metrics": metrics, "report.smallest_cell": 3})).err.count("[0]")


def test_root_is_where_the_data_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text(PEOPLE)
    (data / "sex.csv").write_text("f;a\nm;b\n")
    path = write_policy(tmp_path, {"data.columns.sex.hierarchy": "sex.csv"})
    for command in ("validate", "audit"):
        assert leafgate(command, path).code == 2
        assert leafgate(command, path, "--root", data).code == 0


def test_a_choice_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    ended = leafgate("audit", tmp_path / "policy.yaml", "--audience", "everyone")
    assert ended.code == 2
    assert "'--audience': 'everyone' is not one of 'public', 'auditor'. (see leafgate --help)" in ended.err
    ended = leafgate("audit", tmp_path / "policy.yaml", "--audience", "audtor")
    assert "is not one of 'public', 'auditor'. (did you mean 'auditor'?)" in ended.err


def test_init_writes_to_stdout_or_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    shown = leafgate("init", tmp_path / "people.csv")
    assert (shown.code, shown.err) == (0, "")
    out = tmp_path / "first.yaml"
    assert leafgate("init", tmp_path / "people.csv", "--out", out).out == ""
    assert out.read_text() == shown.out
    assert leafgate("validate", out).code == 0
    assert leafgate("audit", out).code in {0, 1}


def test_init_takes_the_class_and_the_header_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    out = leafgate("init", tmp_path / "people.csv", "--class", "sex").out
    assert '"sex": {role: [class, sensitive], values: [f, m]}' in out
    assert "taken for what is predicted" not in out
    guessed = leafgate("init", tmp_path / "people.csv", "--no-header").out
    (line,) = [line for line in guessed.splitlines() if '"column_4": {role: [class' in line]
    assert line.endswith("# CHECK: the last column is taken for what is predicted; name another one: --class")
    ended = leafgate("init", tmp_path / "people.csv", "--class", "nobody")
    assert ended.code == 2
    assert "--class: there is no column 'nobody' (is the first line names?" in ended.err
    ended = leafgate("init", tmp_path / "people.csv", "--class", "smokr")
    assert "--class: there is no column 'smokr' (did you mean 'smoker'?)" in ended.err


def test_schema_is_one_json_document_that_accepts_a_policy() -> None:
    schema = leafgate("schema").document
    assert Draft7Validator(schema).is_valid(policy())
    assert not Draft7Validator(schema).is_valid(policy({"build.k": 0}))


OTHER_KINDS = {"format", "reader", "command"}


@pytest.mark.thorough
def test_plugins_lists_all_that_is_installed() -> None:
    document = leafgate("plugins", "--json").document
    assert document["format"] == "leafgate/plugins/1"
    offers = [offer for plugin in document["plugins"] for offer in plugin["offers"]]
    assert {offer["use"] for offer in offers if offer["kind"] not in OTHER_KINDS} == set(OFFERED)
    assert [offer["use"] for offer in offers if offer["kind"] == "format"] == [
        "html",
        "markdown",
        "sarif",
        "junit",
        "sheet",
        "model_card",
        "mapping",
    ]
    readers = {offer["use"] for offer in offers if offer["kind"] == "reader"}
    assert readers == {"catboost", "lightgbm", "mlflow", "neutral", "onnx", "pmml", "r", "skops", "xgboost"}
    assert all(plugin["problem"] is None for plugin in document["plugins"] if plugin["distribution"] == "leafgate")
    assert all(use in leafgate("plugins").out for use in OFFERED)


def test_plugins_lists_a_broken_one_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_rusty", "import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    listed = leafgate("plugins", "--json")
    assert listed.code == 0
    rusty = next(plugin for plugin in listed.document["plugins"] if plugin["name"] == "leafgate_rusty")
    assert (rusty["distribution"], rusty["version"], rusty["offers"]) == ("leafgate-rusty", "1.0", [])
    assert "no_such_module" in rusty["problem"]
    assert "leafgate_rusty (leafgate-rusty 1.0): BROKEN" in leafgate("plugins").out


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_explain_prints_options_threat_model_formula_and_source(name: str) -> None:
    component = OFFERED[name]
    ended = leafgate("explain", name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{name}: ")
    for text in (
        () if issubclass(component, DataSource) else (component.threat_model, component.formula, component.source)
    ):
        assert text
        assert text in ended.out
    schema = component.model_json_schema()
    for option in schema["properties"].keys() - {"use"}:
        said, required = schema["properties"][option], option in schema.get("required", ())
        shown = "(required)" if required else f"(default {json.dumps(said.get('default'))})"
        lines = [line for line in ended.out.splitlines() if line.startswith(f"  {option}: ") and shown in line]
        assert any(line.endswith(said.get("description", ")")) for line in lines), option


def test_explain_of_what_nobody_offers_names_what_is_installed() -> None:
    ended = leafgate("explain", "magic")
    assert ended.code == 2
    assert all(use in ended.err for use in OFFERED)
    assert leafgate("explain", "htmll").err == "leafgate: nobody offers 'htmll' (did you mean 'html'?)\n"
    assert leafgate("explain", "kadett").err == "leafgate: nobody offers 'kadett' (did you mean 'kadet'?)\n"


def test_the_demo_ends_as_announced(tmp_path: Path) -> None:
    with ends_soon():
        ended = leafgate("demo", "--out", tmp_path / "demo")
    assert (ended.code, ended.err) == (0, "")
    assert "auditor's view" in ended.out
    for name, code in (("unprotected", 1), ("kadet", 0)):
        assert leafgate("audit", tmp_path / "demo" / f"{name}.yaml").code == code
    assert leafgate("audit", POLICIES / "demo.yaml", "--root", tmp_path / "demo").code == 1
    one, other = ((tmp_path / "demo" / f"{name}.yaml").read_text().splitlines() for name in ("unprotected", "kadet"))
    assert [a for a, b in zip(one, other, strict=True) if a != b] == ["build: {use: c45, prune: false}"]


def test_the_mortgage_example_passes() -> None:
    assert leafgate("audit", POLICIES / "mortgage.yaml").code == 0


@pytest.mark.thorough
def test_data_and_test_on_the_command_line_may_be_anywhere(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    survey(outside)
    limits = [{"use": "accuracy", "at_least": 0}, {"use": "k_anonymity", "at_least": 2}]
    path = write_policy(inside, {"metrics": limits})
    people = outside / "people.csv"
    assert leafgate("audit", path, people).code == 3
    assert leafgate("audit", path, people, "--test", people).code == 0
    assert leafgate("audit", path, outside / "nobody.csv").code == 2
    assert leafgate("audit", path, people, "--test", outside / "nobody.csv").code == 2
