"""What the command line says of limits before anything is built, and what an organisation's policy asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import leafgate

RARE = "age,x,ill\n" + "".join(f"{20 + i % 50},{i % 7},{'yes' if i % 30 == 0 else 'no'}\n" for i in range(600))
COLUMNS = """  columns:
    age: {role: quasi_identifier, bounds: [0, 100]}
    x: {role: quasi_identifier, bounds: [0, 10]}
    ill: {role: [class, sensitive], values: ["no", "yes"]}
"""


def policy(folder: Path, metrics: str, build: str = "{use: c45, min_leaf: 50}") -> Path:
    """A policy for the people with a rare value, with these limits."""
    (folder / "people.csv").write_text(RARE)
    path = folder / "policy.yaml"
    text = f"leafgate: 1\nname: rare\ndata:\n  path: people.csv\n{COLUMNS}build: {build}\nattacks: [{{use: linking}}]\n"
    path.write_text(f"{text}metrics: {metrics}\n")
    return path


def test_validate_with_the_data_says_which_limit_no_release_can_keep(tmp_path: Path) -> None:
    path = policy(tmp_path, "[{use: confidence, at_most: 0.95}, {use: k_anonymity, at_least: 601}]")
    assert leafgate("validate", path).err == ""
    ended = leafgate("validate", path, "--data", tmp_path / "people.csv")
    assert ended.code == 0
    first, second = ended.err.strip().splitlines()
    assert "metrics[0]: no release of this table can keep it: too many people have one value of 'ill'" in first
    assert "metrics[1]: no release of this table can keep it: the table has too few people" in second
    audited = leafgate("audit", path)
    assert audited.code == 1
    assert audited.err.startswith(ended.err.strip())
    assert "No release of this table can keep this limit" in audited.out
    assert "96.7" not in audited.out + audited.err  # no share that the few others could be worked out from


@pytest.mark.parametrize(
    ("metric", "build"),
    [
        ("{use: confidence, at_most: 0.95, allow: 0.05}", "{use: c45, min_leaf: 50}"),  # one pure group may be beyond
        ("{use: confidence, at_most: 0.95, scored: derived}", "{use: c45, min_leaf: 50}"),
        ("{use: confidence, at_most: 0.95}", "{use: table, columns: [age, x]}"),  # it says nothing of the class
        ('{use: confidence, at_most: 0.95, values: ["yes"]}', "{use: c45, min_leaf: 50}"),
    ],
)
def test_limits_that_some_release_may_keep_are_not_called_impossible(tmp_path: Path, metric: str, build: str) -> None:
    path = policy(tmp_path, f"[{metric}]", build)
    assert "no release" not in leafgate("validate", path, "--data", tmp_path / "people.csv").err


def test_the_owner_is_asked_about_a_frequent_value_once_and_never_told_which_it_is(tmp_path: Path) -> None:
    path = policy(tmp_path, "[{use: exposure, at_most: 0, insiders: 1}]")
    [line] = leafgate("audit", path, "--no-remedies").err.strip().splitlines()
    assert "nearly all people have one value of 'ill': small groups are all of this value by chance" in line
    assert "96.7" not in line
    assert "Only the owner of the data can say" in line
    named = policy(tmp_path, '[{use: exposure, at_most: 0, insiders: 1, values: ["yes"]}]')
    assert leafgate("audit", named, "--no-remedies").err == ""


def test_under_an_organisations_policy_a_class_without_a_limit_on_beliefs_is_inconclusive(tmp_path: Path) -> None:
    path = policy(tmp_path, "[{use: k_anonymity, at_least: 10}]", "{use: kadet, k: 10}")
    (tmp_path / "org.yaml").write_text("leafgate: 1\nmetrics: [{use: k_anonymity, at_least: 10}]\n")
    assert leafgate("audit", path).code == 0
    ended = leafgate("audit", path, "--org", tmp_path / "org.yaml")
    assert ended.code == 3
    assert "unattacked" in ended.out
    assert "Add a limit such as `{use: exposure, at_most: 0, insiders: 1}`" in ended.out


@pytest.mark.parametrize(
    ("parent", "child", "code"),
    [
        ("{use: exposure, at_most: 0, insiders: 1}", "{use: exposure, at_most: 0, insiders: 0}", 2),
        ("{use: exposure, at_most: 0}", "{use: exposure, at_most: 0, insiders: 1}", 0),
        ("{use: exposure, at_most: 0}", '{use: exposure, at_most: 0, values: ["yes"]}', 2),
        ('{use: exposure, at_most: 0, values: ["yes"]}', '{use: exposure, at_most: 0, values: ["no", "yes"]}', 0),
    ],
)
def test_fewer_insiders_and_fewer_values_are_looser(tmp_path: Path, parent: str, child: str, code: int) -> None:
    path = policy(tmp_path, f"[{child}]")
    (tmp_path / "org.yaml").write_text(f"leafgate: 1\nmetrics: [{parent}]\n")
    assert leafgate("validate", path, "--org", tmp_path / "org.yaml").code == code


def test_a_child_may_not_say_how_finely_numbers_of_its_own_column_are_public(tmp_path: Path) -> None:
    path = policy(tmp_path, "[{use: exposure, at_most: 0}]")
    path.write_text(path.read_text().replace("bounds: [0, 10]}", "bounds: [0, 10], step: 1}"))
    (tmp_path / "org.yaml").write_text("leafgate: 1\nmetrics: [{use: exposure, at_most: 0}]\n")
    ended = leafgate("validate", path, "--org", tmp_path / "org.yaml")
    assert (ended.code, "which alone may state its `step`" in ended.err) == (2, True)
    (tmp_path / "org.yaml").write_text("leafgate: 1\nmetrics: []\ndata: {unlisted: {step: 1}}\n")
    assert leafgate("validate", path, "--org", tmp_path / "org.yaml").code == 0


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("age: {role: quasi_identifier, bounds: [-1, 100], scale: ratio}", "`scale: ratio` is for numbers from 0 up"),
        ('age: {role: quasi_identifier, values: ["1"], step: 1}', "are for numbers, not for `values`"),
        ("age: {role: quasi_identifier, bounds: [0, 100], step: 0}", "greater than 0"),
        ("age: {role: quasi_identifier, bounds: [0, 100], domain: public}", "`domain: public` needs `values`"),
        ("age: {role: quasi_identifier, domain: public}", "every value of the code list, as it is published"),
        ('age: {role: quasi_identifier, values: ["1"], domain: private}', "data.columns.age.domain"),
    ],
)
@pytest.mark.thorough
def test_scale_step_and_domain_are_refused_where_they_mean_nothing(tmp_path: Path, column: str, problem: str) -> None:
    path = policy(tmp_path, "[{use: exposure, at_most: 0}]")
    path.write_text(path.read_text().replace("age: {role: quasi_identifier, bounds: [0, 100]}", column))
    ended = leafgate("validate", path)
    assert (ended.code, problem in ended.err) == (2, True)


def test_init_takes_harmless_values_and_a_control(tmp_path: Path) -> None:
    policy(tmp_path, "[{use: exposure, at_most: 0}]")
    (tmp_path / "others.csv").write_text(RARE)
    made = leafgate("init", tmp_path / "people.csv", "--harmless", "no", "--control", tmp_path / "others.csv")
    assert (made.code, made.err) == (0, "")
    assert 'insiders: 1, values: ["yes"]' in made.out
    assert "control: others.csv" in made.out.replace('"', "")
    assert "{use: membership_auc, at_most: 0.6}" in made.out
    for words in (("--harmless", "maybe"), ("--control", tmp_path / "nobody.csv")):
        assert leafgate("init", tmp_path / "people.csv", *words).code == 2
    assert leafgate("init", tmp_path / "people.csv", "--builder", "dp_random_trees", "--harmless", "no").code == 2


def test_init_says_where_nobody_can_keep_what_it_proposes(tmp_path: Path) -> None:
    rows = "".join(f"{i % 50},{'yes' if i == 3 else 'no'}\n" for i in range(300))
    (tmp_path / "people.csv").write_text(f"age,ill\n{rows}")
    made = leafgate("init", tmp_path / "people.csv", "--class", "ill")
    assert made.code == 0
    assert (
        "note: exposure: no release of this table can keep it: all people, or all but one, have one value" in made.err
    )
