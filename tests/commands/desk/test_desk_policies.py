"""What the desk writes into a policy: the lines of `leafgate init`, and those that the answers say, and no others."""

from __future__ import annotations

import contextlib
import io
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.app import load_policy, parse_yaml
from leafgate.cli import run
from leafgate.commands.desk.cases import Case, Desk
from leafgate.commands.desk.jobs import Job, Line, ask_job
from leafgate.commands.desk.policy_text import REMOVED, PolicyText
from leafgate.commands.desk.questions import DOUBT, QUESTIONS, CaseInQuestion, Question
from leafgate.commands.desk.reading import read_files
from leafgate.commands.desk.results import protected_build, remedies_for

FIRST = """\
leafgate: 1
name: "people"   # a name

data:
  path: "people.csv"
  missing: [""]
  columns:                    # CHECK each role
    "age": {role: quasi_identifier, bounds: [0, 100]}          # CHECK: round bounds
    "ill": {role: [class, sensitive], values: ["no", "yes"]}
# written by hand

build:
  use: kadet
  k: 10                       # CHECK: how many
  require:                    # what the limits ask
    - {use: exposure, insiders: 1}
    - {use: confidence, at_most: 0.95}

publish: {leaves: counts, measure: true}

metrics:
  - {use: k_anonymity, at_least: 10}
  # CHECK: a remark
  - {use: confidence, at_most: 0.95}   # by hand, too
"""
VALUES: dict[tuple[str | int, ...], list[Any]] = {
    ("data", "rows"): ["people"],
    ("data", "path"): ["other.csv", 'a "b".csv'],
    ("data", "missing"): [["", "NA"], REMOVED],
    ("data", "columns", "age"): [{"role": "private", "bounds": [0, 10]}],
    ("data", "columns", "ill", "aliases"): [{"yes ": "yes"}],
    ("data", "columns", "new one"): [{"role": "ignored"}],
    ("build", "k"): [20],
    ("build", "require", 0, "values"): [["yes"]],
    ("publish", "leaves"): ["labels"],
    ("metrics", 0): [{"use": "k_anonymity", "at_least": 30}],
    ("metrics", 1, "at_most"): [0.5],
    ("metrics", 2): [{"use": "exposure", "at_most": 0}],
    ("report", "smallest_cell"): [5],
}


@st.composite
def changes(draw: st.DrawFn) -> dict[tuple[str | int, ...], Any]:
    paths = draw(st.lists(st.sampled_from(sorted(VALUES, key=str)), unique=True))
    return {path: draw(st.sampled_from(VALUES[path])) for path in paths}


@given(changes())
def test_a_changed_text_says_what_was_changed_and_keeps_every_other_line(
    changed: dict[tuple[str | int, ...], Any],
) -> None:
    new = PolicyText(FIRST).changed(changed)
    expected = parse_yaml(FIRST.encode(), "first")
    for path, value in changed.items():
        inner: Any = expected
        for step in path[:-1]:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else inner[step]
        if value is REMOVED:
            del inner[path[-1]]
        elif isinstance(inner, list) and path[-1] == len(inner):
            inner.append(value)
        else:
            inner[path[-1]] = value
    assert new.document == expected
    for line in ("leafgate: 1", 'name: "people"   # a name', "# written by hand", "  # CHECK: a remark"):
        assert line in new.text.splitlines()
    assert new.changed(changed).text == new.text
    assert PolicyText(FIRST).changed({}).text == FIRST


def visits(folder: Path, rows: int = 400) -> None:
    """Visits of patients, with two spellings, gaps and words for no answer, and other people of the same kind."""
    rng = np.random.default_rng(0)
    for name in ("visits.csv", "others.csv"):
        answers = rng.choice(["yes", "yes ", "no", "No", "refused"], rows, p=[0.2, 0.1, 0.5, 0.1, 0.1])
        columns = {
            "patient": np.arange(rows) // 4,
            "age": rng.integers(18, 80, rows),
            "ward": rng.choice(["A", "B", "C"], rows),
            "note": [f"text {number}" for number in range(rows)],
            "infection": answers,
        }
        pd.DataFrame(columns).to_csv(folder / name, index=False)


@pytest.fixture(scope="module")
def read_case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A case whose files the desk has read."""
    folder = tmp_path_factory.mktemp("desk") / "visits"
    folder.mkdir()
    visits(folder)
    Case(folder).save(files={"table": "visits.csv", "test": "others.csv"}, answers={})
    assert read_files(folder) == 0
    return Case(folder)


def test_without_answers_it_is_the_policy_that_init_writes(read_case: Case, tmp_path: Path) -> None:
    visits(tmp_path)
    words = ["init", str(tmp_path / "visits.csv"), "--test", str(tmp_path / "others.csv")]
    assert run([*words, "--out", str(tmp_path / "policy.yaml")]) == 0
    assert read_case.policy.text == (tmp_path / "policy.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_doubt_loosens_nothing(read_case: Case, tmp_path: Path, question: Question) -> None:
    asked = CaseInQuestion(read_case.facts, read_case.policy)
    fields = question.fields(asked)
    given_ = {one.name: DOUBT if one.choices else one.chosen for one in fields}
    if not fields:
        pytest.skip("the question does not arise")
    assert all(one.problem(given_) == "" for one in fields)
    for name, policy in (("before", asked.policy), ("after", question.answered(asked, given_))):
        (tmp_path / f"{name}.yaml").write_text(policy.text, encoding="utf-8")
    assert run(["diff", str(tmp_path / "before.yaml"), str(tmp_path / "after.yaml")]) == 0


ANSWERS = {
    "people": {"who": "column:patient"},
    "predicted": {"target": "column:infection", "hidden": "yes"},
    "publish": {"leaves": "labels"},
    "limits": {"group": "12", "sure": "90", "certain": "1"},
}


def answered(case: Case) -> Iterator[tuple[str, PolicyText]]:
    """The policy after each question, with what ANSWERS says, and the first answer to anything else."""
    policy = case.policy
    for question in QUESTIONS:
        fields = question.fields(CaseInQuestion(case.facts, policy))
        if fields:
            first = {one.name: one.chosen or one.choices[0].value for one in fields}
            policy = question.answered(CaseInQuestion(case.facts, policy), {**first, **ANSWERS.get(question.name, {})})
            yield question.name, policy


def test_the_answers_write_these_lines_and_the_report_is_the_command_lines(read_case: Case, tmp_path: Path) -> None:
    steps = dict(answered(read_case))
    assert {"people", "predicted", "outsiders", "spellings", "gaps", "harmless", "publish", "limits"} <= set(steps)
    policy = steps["limits"]
    by_hand = read_case.policy.document
    columns = by_hand["data"]["columns"]
    columns["infection"] |= {
        "values": ["No", "refused", "yes"],
        "aliases": {"yes ": "yes", "no": "No"},
        "varies": True,
    }
    by_hand["publish"]["leaves"] = "labels"
    for limit in [*by_hand["metrics"], *by_hand["build"]["require"]]:
        if limit["use"] == "k_anonymity":
            limit["at_least"] = 12
        if limit["use"] == "confidence":
            limit["at_most"] = 0.9
    by_hand["build"]["k"] = max(12, by_hand["build"]["k"])
    assert policy.document == by_hand
    assert not [line for line in policy.text.splitlines() if line.startswith('    "infection"') and "CHECK" in line]

    case = read_case.save(policy=policy)
    load_policy(case.folder / "policy.yaml")
    job = ask_job(case, "audit")
    [audit] = [step.words for step in job.steps if step.words[0] == "leafgate"]
    assert audit[:3] == ("leafgate", "audit", "policy.yaml")
    assert not {"--trust", "--plugin", "--org"} & set(audit)


def test_a_protected_tree_keeps_the_limits_of_the_policy() -> None:
    policy = PolicyText(FIRST)
    assert protected_build(policy) == {"use": "kadet", "k": 10, "require": [{"use": "confidence", "at_most": 0.95}]}


def test_a_case_of_the_command_line_is_a_case(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "policy.yaml").write_text("data: {path: visits.csv}\nbuild: {use: kadet}\n")
    [first] = Desk(tmp_path).cases()
    assert first.files == {"table": "visits.csv"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A case with a rare class, a second column that may be a secret, spellings of what outsiders know, and gaps."""
    folder = tmp_path_factory.mktemp("desk") / "clinic"
    folder.mkdir()
    rng = np.random.default_rng(0)
    person = np.arange(400) // 5
    columns = {
        "patient": person,
        "region": rng.choice(["North", "north", "South"], 80)[person],
        "income": rng.choice([*map(str, range(1000, 1040)), "?"], 400),
        "diagnosis": rng.choice(["flu", "cold", "cough"], 400),
        "hiv": np.where(rng.random(400) < 0.03, "pos", "neg"),
    }
    pd.DataFrame(columns).to_csv(folder / "clinic.csv", index=False)
    Case(folder).save(files={"table": "clinic.csv"}).refuse_links()
    assert read_files(folder) == 0
    return Case(folder)


def answer(case: Case, policy: PolicyText, name: str, **said: str) -> PolicyText:
    """The policy after one question: what is said, else what stands there, else doubt; it is always valid."""
    [question] = [each for each in QUESTIONS if each.name == name]
    asked = CaseInQuestion(case.facts, policy)
    given_ = {one.name: said.get(one.name, one.chosen or DOUBT) for one in question.fields(asked)}
    assert set(said) <= set(given_)
    assert question.problems(asked, given_) == {}
    policy = question.answered(asked, given_)
    (case.folder / "answered.yaml").write_text(policy.text, encoding="utf-8")
    load_policy(case.folder / "answered.yaml")
    return policy


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["ill", "stage"])
def test_whatever_is_answered_the_policy_is_valid(tmp_path: Path, target: str) -> None:
    """Of a table with gaps, people who refused, and two spellings, each answer to each question after the others."""
    cells = {
        "person": np.arange(300) // 3,
        "age": np.arange(300) % 50 + 20,
        "town": ["Leeds", "leeds", "York", "Hull", ""] * 60,
        "stage": ["early", "late", "none", "", "refused", "Late"] * 50,
        "ill": ["yes", "no", "no", "Yes", "", "unknown"] * 50,
    }
    pd.DataFrame(cells).to_csv(tmp_path / "people.csv", index=False)
    case = Case(tmp_path).save(files={"table": "people.csv"}, target=target)
    assert read_files(case.folder) == 0
    case = Case(case.folder)
    policy, said = case.policy, {"outsiders": {"town": "quasi_identifier", "ill": "sensitive", "stage": "sensitive"}}
    for question in QUESTIONS:
        fields = question.fields(CaseInQuestion(case.facts, policy))
        for name, value in ((one.name, choice.value) for one in fields for choice in one.choices):
            if name != "target" and not (name in cells and value == "ignored"):
                answer(case, policy, question.name, **{name: value})
        names = {one.name for one in fields}
        decided = {key: value for key, value in said.get(question.name, {}).items() if key in names}
        policy = answer(case, policy, question.name, **decided)
        assert fields or question.name == "varies"


def limits_on(policy: PolicyText, secret: str) -> dict[str, Any]:
    return {limit["use"]: limit for limit in policy.get("metrics") if limit.get("secret") == secret}


@pytest.mark.parametrize("order", [("outsiders", "harmless"), ("harmless", "outsiders")])
def test_each_secret_has_limits_of_its_own_in_any_order(clinic: Case, order: tuple[str, str]) -> None:
    said = {"outsiders": {"diagnosis": "sensitive"}, "harmless": {"neg": "harmless"}}
    policy = answer(clinic, clinic.policy, "predicted", hidden="yes")
    policy = answer(clinic, policy, "limits", sure="99")
    for name in order:
        policy = answer(clinic, policy, name, **said[name])
    assert limits_on(policy, "hiv")["exposure"]["values"] == ["pos"]
    assert limits_on(policy, "diagnosis")["confidence"]["at_most"] == 0.95
    assert limits_on(policy, "diagnosis")["exposure"]["insiders"] == 1
    required = protected_build(policy)["require"]
    assert {each.get("secret") for each in required} >= {"diagnosis"}
    assert not [each for each in required if "name" in each]
    policy = answer(clinic, policy, "limits", **{"sure:diagnosis": "90"})
    assert limits_on(policy, "diagnosis")["confidence"]["at_most"] == 0.9
    assert limits_on(policy, "hiv")["confidence"]["at_most"] == 0.99
    policy = answer(clinic, policy, "outsiders", diagnosis="quasi_identifier")
    assert limits_on(policy, "diagnosis") == {}


def test_doubt_about_a_secret_leaves_it_a_secret(clinic: Case) -> None:
    policy = answer(clinic, clinic.policy, "people", who="column:patient")
    policy = answer(clinic, policy, "outsiders", diagnosis="sensitive")
    policy = answer(clinic, policy, "varies", diagnosis="yes", hiv="yes")
    doubted = answer(clinic, policy, "outsiders")
    assert doubted.get("data", "columns", "diagnosis", "role") == "sensitive"
    assert "varies" not in answer(clinic, policy, "outsiders", diagnosis="private").get("data", "columns", "diagnosis")


def test_a_policy_says_so_where_all_values_that_may_be_no_answers_are_answers(clinic: Case) -> None:
    [gaps] = [each for each in QUESTIONS if each.name == "gaps"]
    policy = answer(clinic, clinic.policy, "outsiders", diagnosis="sensitive")
    diagnosis = clinic.facts.columns["diagnosis"].model_copy(update={"unanswered": ["flu"]})
    facts = clinic.facts.model_copy(update={"columns": {**clinic.facts.columns, "diagnosis": diagnosis}})
    asked = CaseInQuestion(facts, policy)
    given_ = {one.name: "answer" if one.name == "diagnosis:flu" else DOUBT for one in gaps.fields(asked)}
    said = gaps.changes(asked, given_)["data", "columns", "diagnosis"]
    assert (said["no_answer"], "missing_is_value" in said) == ([], False)


def test_no_role_is_chosen_before_somebody_chooses_and_what_is_found_is_counted(clinic: Case) -> None:
    questions, asked = {each.name: each for each in QUESTIONS}, CaseInQuestion(clinic.facts, clinic.policy)
    fields = {one.name: one for one in questions["outsiders"].fields(asked)}
    assert {"region", "income", "diagnosis"} <= set(fields)
    assert {one.chosen for one in fields.values()} == {""}
    assert "nearly every row" not in "".join(one.found for one in fields.values())
    assert "A group of 30 rows can be 6 people." in questions["people"].found(asked)[0]
    assert [one.name for one in questions["spellings"].fields(asked)] == ["region:similar:0"]
    every = dict.fromkeys(("neg", "pos"), "harmless")
    assert questions["harmless"].problems(asked, every) != {}


def test_what_the_policy_says_to_check_is_checked_by_somebody(clinic: Case) -> None:
    questions, asked = {each.name: each for each in QUESTIONS}, CaseInQuestion(clinic.facts, clinic.policy)
    lines = questions["outsiders"].to_check(asked)
    assert ("data", "columns", "income") in lines
    assert ("data", "on_missing") in questions["gaps"].to_check(asked)
    checked = clinic.policy.checked(lines)
    assert questions["outsiders"].to_check(CaseInQuestion(clinic.facts, checked)) == []
    assert checked.document == clinic.policy.document
    assert len(checked.text.splitlines()) == len(clinic.policy.text.splitlines())


@pytest.mark.parametrize(
    ("failed", "offered"),
    [(["file_disclosure"], ["scrub"]), (["file_disclosure", "confidence"], ["repair", "set"])],
)
def test_less_in_the_file_is_offered_where_that_is_all_that_failed(failed: list[str], offered: list[str]) -> None:
    findings = [{"metric": name, "passed": False} for name in failed]
    facts = SimpleNamespace(model=SimpleNamespace(kind="model"))
    case = SimpleNamespace(is_read=True, facts=facts, policy=PolicyText(FIRST))
    report = {"verdict": "fail", "findings": findings}
    job: Any = SimpleNamespace(report=report, kind="audit", case=case, output="model.skops")
    assert [kind for kind, _ in remedies_for(job)] == offered


BY_HAND = {
    "data:\n": "data:\n  rows: people\n",
    '"mean symmetry": {role: quasi_identifier': '"mean symmetry": {role: private',
    "[0.1, 0.4]}          # CHECK: round bounds; are they what could occur?": "[0.1, 0.4]}",
    "at_least: 10": "at_least: 12",
    "at_most: 0.95": "at_most: 0.9",
}
"""What somebody who answers the same changes in the policy of `leafgate init`."""


@pytest.mark.thorough
def test_the_policy_and_the_reports_are_the_command_lines_byte_by_byte(tmp_path: Path) -> None:
    """All but `timings.json`, which has seconds: paths are relative to a case, and reports name no time."""
    datasets, tree = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.tree")
    known = datasets.load_breast_cancer(as_frame=True)
    table = known.data[["mean radius", "mean texture", "mean symmetry"]].round(2)
    diagnosis = known.target_names[known.target]
    model = tree.DecisionTreeClassifier(min_samples_leaf=4, random_state=0).fit(table[:400], diagnosis[:400])
    folders = [tmp_path / by / "clinic" for by in ("desk", "hand")]
    folders[0].mkdir(parents=True)
    table.assign(diagnosis=diagnosis)[:400].to_csv(folders[0] / "people.csv", index=False)
    table.assign(diagnosis=diagnosis)[400:].to_csv(folders[0] / "others.csv", index=False)
    pytest.importorskip("skops.io").dump(model, folders[0] / "model.skops")
    shutil.copytree(folders[0], folders[1])
    case, hand = Case(folders[0]), folders[1]
    case.save(files={"table": "people.csv", "test": "others.csv", "model": "model.skops"})
    line = Line(Desk(case.folder.parent))
    line.open()
    ended(line.add(case, "read"))
    policy = answer(case, Case(case.folder).policy, "people", who="yes")
    policy = answer(case, policy, "outsiders", **{"mean radius": "quasi_identifier", "mean symmetry": "private"})
    case = case.save(policy=answer(case, policy, "limits", group="12", sure="90"))
    job = ended(line.add(case, "audit"))
    line.close()

    words = ["init", "people.csv", "--model", "model.skops", "--test", "others.csv", "--out", "policy.yaml"]
    with contextlib.chdir(hand):
        assert run(words) == 0
        written = (hand / "policy.yaml").read_text(encoding="utf-8")
        for proposed, decided in BY_HAND.items():
            assert written.count(proposed) == 1
            written = written.replace(proposed, decided)
        (hand / "policy.yaml").write_text(written, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert run(list(job.steps[0].words[1:])) == 1
    assert case.policy.text == (hand / "policy.yaml").read_text(encoding="utf-8")
    assert (job.folder / "public.json").read_text(encoding="utf-8") == printed.getvalue()
    results = [{path.name: path.read_bytes() for path in (at / "runs/2/results").iterdir()} for at in folders]
    assert results[0].keys() == results[1].keys() >= {"report.json", "report.html", "release.json"}
    assert [name for name in results[0] if results[0][name] != results[1][name]] in ([], ["timings.json"])


def ended(job: Job) -> Job:
    """Wait until a job has ended."""
    while Job(job.case, job.number).is_open:
        time.sleep(0.1)
    return Job(job.case, job.number)
