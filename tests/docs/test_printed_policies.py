"""A policy that a page prints passes on made-up people with an honest release, or its page says why not."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from leafgate.app import parse_yaml
from sklearn_zoo import skops_bytes

TOP = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```yaml\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
AUDITED_ELSEWHERE = {
    "boosting": "tests/plugins/inference/test_boosting_recipe.py",
    "surprise": "the session of its page",
}
"""Whole policies that other tests audit, by their names."""
COLUMNS: dict[str, Any] = {
    "patient": {"role": "key"},
    "age": {"role": "quasi_identifier", "bounds": [17, 90]},
    "district": {"role": "quasi_identifier", "values": ["Harbour", "Hill", "Mill"]},
    "sex": {"role": "quasi_identifier", "values": ["female", "male"]},
    "marital": {"role": "private", "values": ["Married", "Single"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
HONEST: dict[str, Any] = {
    "leafgate": 1,
    "name": "printed",
    "data": {"path": "table.csv", "test": "test.csv", "columns": COLUMNS},
    "build": {"use": "kadet", "k": 200},
    "publish": {"leaves": "counts", "measure": True},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 20}, {"use": "exposure", "at_most": 0}],
}
"""What a page does not print of a policy."""
FILLED: dict[str, dict[str, Any]] = {
    "docs/explanation/kadet.md": {"values": ["no", "hiv"]},
    "docs/explanation/table-reconstruction.md": {
        "knows": {"distribution": True},
        "noise": (0.45, 0.45),
        "people": 1_000,
    },
    "docs/how-to/differential-privacy.md": {"attacks": [{"use": "distinguish"}]},
    "married-or-not": {"noise": (0.3, 0.6)},
}
"""By page, or name of a whole policy: what it assumes of the people or of the rest of the policy."""
INCONCLUSIVE = {
    "docs/explanation/table-reconstruction.md": "where half the largest possible score (1 - B) would keep it",
}
"""Why no release of a table with few columns passes, as the page says it."""


def printed() -> list[Any]:
    """Each policy or part of one that has limits, attacks or a builder of leafgate, after its page."""
    result = []
    for path in [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]:
        page, text = str(path.relative_to(TOP)), path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block[2].startswith("- "):  # a list, such as a recipe of a pipeline
                continue
            policy = parse_yaml(textwrap.dedent(block[2]).encode(), page)
            made = policy.get("build", {}).get("use", "published") != "published"
            if any(attack["use"] == "rebuild" for attack in policy.get("attacks", [])):  # proving cells takes minutes
                continue
            if policy.get("name") not in AUDITED_ELSEWHERE and (made or {"metrics", "attacks"} & policy.keys()):
                line = text[: block.start()].count("\n") + 2
                result.append(pytest.param(page, policy, id=f"{page}:{line}"))
    return result


def people_of(columns: dict[str, Any], seed: int, noise: tuple[float, float], people: int) -> pd.DataFrame:
    """People with cells drawn from the domains; the class follows from age, but for noise by a private column."""
    rng = np.random.default_rng(seed)
    cells: dict[str, Any] = {}
    for name, column in columns.items():
        if column["role"] == "key":
            cells[name] = np.arange(people) + seed * people
        elif "bounds" in column:
            cells[name] = rng.integers(column["bounds"][0], column["bounds"][1], people, endpoint=True)
        else:
            cells[name] = rng.choice(column["values"], people)
    table = pd.DataFrame(cells)
    target, private = (
        next(name for name, column in columns.items() if role in column["role"]) for role in ("class", "private")
    )
    unlikely, likely = columns[target]["values"]
    noisy = rng.random(people) < np.where(table[private] == columns[private]["values"][0], *noise)
    return table.assign(**{target: np.where((table["age"] > 50) ^ noisy, likely, unlikely)})


def write_policy(folder: Path, page: str, shown: dict[str, Any]) -> Path:
    """Write the policy, completed, with the tables that it names and the releases that are out."""
    filled = dict(FILLED.get(shown.get("name", page), {}))
    values, noise = filled.pop("values", ["no", "yes"]), filled.pop("noise", (0.02, 0.2))
    people = filled.pop("people", 4_000)
    data = shown.get("data", {})
    columns = data.get("columns", {})
    if "leafgate" not in shown:
        columns = COLUMNS | columns | {"ill": COLUMNS["ill"] | {"values": values}}
    whole = HONEST | filled | shown | {"data": HONEST["data"] | data | {"columns": columns}}
    folder.mkdir(exist_ok=True)
    for seed, part in enumerate(("path", "test", "control")):
        name = whole["data"].get(part, "")
        if (shipped := TOP / "policies" / name).is_file():
            shutil.copy(shipped, folder)
            whole["data"].pop("test")
        elif name:
            people_of(columns, seed, noise, people).to_csv(folder / name, index=False)
    if known := whole.get("knows", {}).get("people"):
        people_of(columns, 0, noise, people).head(people // 100).to_csv(folder / known, index=False)
    if "releases" in whole:
        write_releases(folder, page, {key: value for key, value in shown.items() if key != "releases"}, whole)
    (folder / "policy.yaml").write_text(json.dumps(whole))
    return folder / "policy.yaml"


def write_releases(folder: Path, page: str, earlier: dict[str, Any], whole: dict[str, Any]) -> None:
    """Write what left before: trees by the same builder, a model's file and a frequency table."""
    for release in whole["releases"]:
        path = folder / release["path"]
        if path.name == "release.json":
            policy = write_policy(path.parent, page, earlier)
            leafgate("audit", policy, "--out", path.parent)
            (path.parent / whole["data"]["path"]).rename(folder / release["data"])
        elif "counts" in release:
            people = pd.read_csv(folder / release["data"])
            people.groupby(release["counts"]).size().rename("count").to_csv(path)
        else:
            path.parent.mkdir()
            people = pd.read_csv(folder / whole["data"]["path"])
            path.write_bytes(skops_bytes(DecisionTreeClassifier(max_depth=1).fit(people[["age"]], people["ill"])))


@pytest.mark.thorough
@pytest.mark.parametrize(("page", "policy"), printed())
def test_a_printed_policy_passes_on_made_up_people(page: str, policy: dict[str, Any], tmp_path: Path) -> None:
    path = write_policy(tmp_path, page, policy)
    done = leafgate("audit", path, "--no-remedies", "--out", tmp_path / "audited")
    if reason := INCONCLUSIVE.get(page):
        assert reason in " ".join((TOP / page).read_text(encoding="utf-8").split())
        assert "a table half of whose cells beyond the baseline are reconstructed would keep this limit" in done.out
    assert done.code == (3 if reason else 0), done.out + done.err
