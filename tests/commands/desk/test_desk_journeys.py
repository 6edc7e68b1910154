"""Somebody goes from an empty folder to a verdict and a repaired pass, in a real browser."""

from __future__ import annotations

import pickle
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import leafgate
from desk_visits import Person, RunningDesk, demo_people, demo_policy, violations

KNOWN = {
    "Is each row one person": "Yes",
    "Must nobody learn it": "Nobody may learn it",
    "What will leave": "Numbers of people",
    "name": "Not used",
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    folder = tmp_path / "desk"
    folder.mkdir()
    running = RunningDesk(folder)
    yield running
    if running.process.poll() is None:
        running.stop()


def demo_files(folder: Path) -> None:
    """The demonstration's people, and the tree that fails."""
    (folder / "people.csv").write_bytes(demo_people(1000, 1))
    (folder / "test.csv").write_bytes(demo_people(1000, 2))
    (folder / "unprotected.yaml").write_text(demo_policy("unprotected"), encoding="utf-8")
    assert leafgate("build", folder / "unprotected.yaml", "--out", folder / "tree.json").code == 0


@pytest.mark.thorough
def test_the_failing_tree_of_the_demo_comes_to_a_verdict_and_a_protected_pass(
    person: Person, desk: RunningDesk
) -> None:
    demo_files(desk.folder)
    person.opens(desk)
    assert "No cases yet" in person.page.locator("main").inner_text()
    person.begins(desk, "demo", model="tree.json", table="people.csv", test="test.csv")
    headings = person.answers(desk, "demo", KNOWN)
    assert "What could somebody outside know of every person?" in headings
    assert person.runs(desk, "demo").startswith("Fail: do not release this file")
    page = person.page
    assert "869 of 1,000 people" in page.locator(".verdict").inner_text()
    assert page.frame_locator("iframe").locator("svg").count()
    given = page.url
    page.get_by_role("button", name="Try to build it so").click()
    assert person.reads().startswith("Pass: no limit is broken")
    page.goto(given)
    compared = page.get_by_role("region", name="side by side").locator("tr:has(th[scope=row])")
    rows = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in compared.all()}
    assert [cell.strip() for cell in rows["Verdict"]] == ["fail", "pass"]
    assert all(re.fullmatch(r"0\.\d\d", cell) for cell in rows["How well it predicts others (0.5 is chance)"])
    page.get_by_role("link", name="Public sees").click()
    assert not page.get_by_role("heading", name="Who is exposed").count()
    assert hindrances(page, desk, "demo") == []


def hindrances(page: Any, desk: RunningDesk, case: str) -> list[tuple[str, str, str]]:
    """What axe finds on every screen, wide and narrow, and what is wider than a narrow window."""
    at = f"{desk.root}/cases/{case}"
    screens = ["/", "/new", "/security"]
    below = ["", "/policy", "/requester", "/check", "/runs/1", "/runs/2", "/runs/2?view=public"]
    below += [f"/questions/{name}" for name in ("people", "predicted", "outsiders", "harmless", "publish", "limits")]
    found = []
    for path in screens + below:
        address = f"{desk.root if path in screens else at}{path}"
        page.set_viewport_size({"width": 1300, "height": 900})
        page.goto(address)
        found += violations(page)
        if path in {"/runs/2", "/questions/outsiders"}:
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": 400, "height": 800})
            found += violations(page)
            page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 320, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > 320:
            found.append((address, "is wider than 320 px", ""))
    return found


def visits(folder: Path, seed: int, name: str) -> pd.DataFrame:
    """Several rows of each of 300 patients, whose infection is spelled in two ways."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(300), 4)
    age, ward = rng.integers(18, 90, 300)[rows], rng.choice(["A", "B", "C", "D"], 300)[rows]
    ill = (rng.random(300) < 0.2 + 0.004 * (age[::4] - 18))[rows]
    infection = np.where(ill, rng.choice(["yes", "yes "], len(rows)), "no")
    table = pd.DataFrame({"patient": rows + 1000 * seed, "age": age, "ward": ward, "infection": infection})
    table.to_csv(folder / name, index=False)
    return table


def fitted_model(table: pd.DataFrame, target: str, file: Path, least: int) -> None:
    """A pipeline of scikit-learn that learned some people by heart."""
    compose, pipeline, preprocessing, tree = (
        pytest.importorskip(f"sklearn.{name}") for name in ("compose", "pipeline", "preprocessing", "tree")
    )
    features = table.drop(columns=target)
    texts = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    encoder = preprocessing.OneHotEncoder(handle_unknown="ignore")
    columns = compose.make_column_transformer((encoder, texts), remainder="passthrough")
    learner = tree.DecisionTreeClassifier(random_state=0, min_samples_leaf=least)
    model = pipeline.make_pipeline(columns, learner).fit(features, table[target].str.strip())
    pytest.importorskip("skops.io").dump(model, file)


@pytest.mark.slow
def test_a_pipeline_comes_to_a_verdict_and_a_repaired_pass(person: Person, desk: RunningDesk) -> None:
    for name, seed in (("people.csv", 1), ("test.csv", 2)):
        (desk.folder / name).write_bytes(demo_people(1500, seed))
    people = pd.read_csv(desk.folder / "people.csv").drop(columns="name")
    fitted_model(people, "chronically_ill", desk.folder / "pipeline.skops", 4)
    person.opens(desk)
    person.begins(desk, "pipeline", model="pipeline.skops", table="people.csv", test="test.csv")
    assert "scikit-learn" in person.page.locator("main").inner_text()
    person.answers(desk, "pipeline", KNOWN)
    assert person.runs(desk, "pipeline").startswith("Fail")
    person.page.get_by_role("button", name="Try a repair").click()
    assert person.reads().startswith("Pass")
    assert (desk.folder / "pipeline" / "runs" / "3" / "repaired.json").is_file()
    person.page.get_by_role("button", name="Use the repaired file").click()
    person.page.wait_for_selector("h1:has-text('Case pipeline')")
    assert '"runs/3/repaired.json"' in (desk.folder / "pipeline" / "policy.yaml").read_text(encoding="utf-8")
    person.page.goto(f"{desk.root}/")
    assert "Pass, not decided" in person.page.locator("main").inner_text()


@pytest.mark.slow
def test_several_rows_of_a_person_and_two_spellings_are_asked_about(person: Person, desk: RunningDesk) -> None:
    table = visits(desk.folder, 1, "visits.csv")
    visits(desk.folder, 2, "others.csv")
    fitted_model(table.drop(columns="patient"), "infection", desk.folder / "model.skops", 5)
    person.opens(desk)
    person.begins(desk, "visits", model="model.skops", table="visits.csv", test="others.csv")
    known = {
        "Is each row one person": "No. patient",
        "Can one person's": "No",
        "infection: do these": "The same; keep yes",
    }
    headings = person.answers(desk, "visits", {**KNOWN, **known})
    assert {"Is each row of visits.csv one person?", "Do these mean the same?"} <= set(headings)
    text = (desk.folder / "visits" / "policy.yaml").read_text(encoding="utf-8")
    assert '"patient": {role: person}' in text
    assert 'aliases: {"yes ": "yes"}' in text
    assert person.runs(desk, "visits").startswith("Fail")
    person.page.get_by_role("button", name=re.compile("Try (a repair|to build)")).first.click()
    assert person.reads().startswith("Pass")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_a_model_of_r_comes_to_a_verdict_and_a_repaired_pass(person: Person, desk: RunningDesk) -> None:
    for name, seed in (("people.csv", 1), ("test.csv", 2)):
        (desk.folder / name).write_bytes(demo_people(1500, seed))
    script = (
        "people <- read.csv('people.csv', stringsAsFactors=TRUE); people$name <- NULL;"
        "saveRDS(rpart::rpart(chronically_ill ~ age + sex + smoker, people, minbucket=3, cp=0.001), 'model.rds')"
    )
    if subprocess.run(["Rscript", "-e", script], cwd=desk.folder, capture_output=True, check=False).returncode:
        pytest.skip("rpart is not installed")
    person.opens(desk)
    person.begins(desk, "r", model="model.rds", table="people.csv", test="test.csv")
    person.answers(desk, "r", KNOWN)
    assert person.runs(desk, "r").startswith("Fail")
    person.page.get_by_role("button", name="Try a repair").click()
    assert person.reads().startswith("Pass")


@pytest.mark.slow
def test_a_run_is_cancelled_and_one_outlives_the_page_and_the_desk(person: Person, desk: RunningDesk) -> None:
    (desk.folder / "people.csv").write_bytes(demo_people(1500, 1))
    person.opens(desk)
    person.begins(desk, "tree", table="people.csv")
    page = person.page
    page.goto(f"{desk.root}/cases/tree/check")
    page.get_by_role("button", name="Run the audit").click()
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("h1:has-text('Stopped. Nothing was decided.')")
    assert "Stopped by" in page.locator("main").inner_text()
    page.get_by_role("button", name="Run again").click()
    page.reload()
    page.wait_for_selector("h1:has-text('The audit runs')")
    desk.stop(signal.SIGKILL)
    again = RunningDesk(desk.folder, desk.port)
    try:
        page.goto(desk.root + "/")
        assert "earlier start" in page.locator("h1").inner_text()
        person.opens(again)
        page.goto(f"{again.root}/cases/tree/runs/3")
        assert person.reads().startswith(("Pass", "Fail", "Inconclusive"))
        assert sorted(path.name for path in (desk.folder / "tree" / "runs").iterdir()) == ["1", "2", "3"]
    finally:
        again.stop()


@pytest.mark.slow
def test_a_pickle_is_refused_with_what_to_do(person: Person, desk: RunningDesk) -> None:
    (desk.folder / "people.csv").write_bytes(demo_people(300, 1))
    (desk.folder / "model.pkl").write_bytes(pickle.dumps({"a": [1.5]}))
    person.opens(desk)
    person.begins(desk, "pickle", model="model.pkl", table="people.csv")
    words = person.page.locator("main").inner_text()
    assert "The files could not be read" in words
    assert "skops" in words
    assert not (desk.folder / "pickle" / "policy.yaml").exists()


@pytest.mark.slow
def test_two_windows_and_a_keyboard_alone(person: Person, desk: RunningDesk, browser: Any) -> None:
    (desk.folder / "people.csv").write_bytes(demo_people(300, 1))
    person.opens(desk)
    page = person.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    person.begins(desk, "tree", table="people.csv")
    address = f"{desk.root}/cases/tree/questions/people"
    page.goto(address)
    other = page.context.new_page()
    other.goto(address)
    press_through(page, "radio", "Yes. Each row is a different person")
    press_through(page, "submit", "Save and continue")
    page.wait_for_url("**/questions/predicted")
    other.get_by_label("Yes. Each row").check()
    other.get_by_role("button", name="Save and continue").click()
    assert "Changed in another window. Nothing was saved." in other.locator("main").inner_text()
    other.close()
    press_through(page, "submit", "Save and continue")
    page.wait_for_selector("#trouble")
    assert page.evaluate("document.activeElement.id") == "trouble"
    assert page.title().startswith("Error: ")


def press_through(page: Any, kind: str, words: str) -> None:
    """Reach a control by the Tab key and the arrows, and use it by the space bar or Enter."""
    is_there = "words => (document.activeElement.labels?.[0] ?? document.activeElement).textContent.startsWith(words)"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(is_there, words):
            break
        if kind == "radio" and page.evaluate("document.activeElement.type") == "radio":
            page.keyboard.press("ArrowDown")
            if page.evaluate(is_there, words):
                return
    assert page.evaluate(is_there, words)
    page.keyboard.press("Space" if kind == "radio" else "Enter")
