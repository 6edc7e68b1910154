from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from leafgate import LeafgateError, Policy
from leafgate.app import load_policy
from survey import YES_NO, policy, survey, write_policy


def load(folder: Path, changes: Mapping[str, Any] | None = None) -> Policy:
    return load_policy(write_policy(folder, changes)).policy


def problems(folder: Path, changes: Mapping[str, Any]) -> tuple[Any, ...]:
    with pytest.raises(LeafgateError) as refused:
        load(folder, changes)
    assert refused.value.exit_code == 2
    return refused.value.problems


def test_a_policy_reads_as_it_is_written(tmp_path: Path) -> None:
    policy = load(tmp_path)
    assert (policy.name, policy.seed, policy.report.smallest_cell) == ("survey", 0, 10)
    assert policy.data.path == (tmp_path / "people.csv").resolve()
    assert policy.data.columns["ill"].role == ("class", "sensitive")
    assert [attack.called for attack in policy.attacks] == ["linking"]
    assert policy.metrics[0].bound == 3


@pytest.mark.parametrize(
    ("changes", "place", "message", "remedy"),
    [
        ({"sead": 1}, "sead", "unknown key", "did you mean 'seed'?"),
        ({"data.columns.age.bonds": 1}, "data.columns.age.bonds", "unknown key", "did you mean 'bounds'?"),
        ({"data.csv.headr": False}, "data.csv.headr", "unknown key", "did you mean 'header'?"),
        ({"build.measur": "gini"}, "build.measur", "unknown key", "did you mean 'measure'?"),
        ({"metrics.0.avrage": True}, "metrics[0].avrage", "unknown key", "did you mean 'average'?"),
        ({"build.confidence": 2}, "build.confidence", "less than or equal to 0.5", ""),
        ({"build.publish": {}}, "build.publish", "unknown key", "write `publish` at the top level of the policy"),
        ({"build.zzz": 1}, "build.zzz", "unknown key", "known: use, k, measure"),
        ({"build.k": 0}, "build.k", "greater than or equal to 1", ""),
        ({"build.k": "3"}, "build.k", "valid integer", ""),
        ({"build": "kadet"}, "build", "", ""),
        ({"attacks": "linking"}, "attacks", "", ""),
        ({"attacks": []}, "attacks", "list at least one", ""),
        ({"metrics": []}, "metrics", "list at least one", ""),
        (
            {"attacks.0.use": "lnking"},
            "attacks[0]",
            "nobody offers 'lnking'",
            "did you mean 'linking'?",
        ),
        (
            {"attacks.0.use": "x"},
            "attacks[0]",
            "nobody offers 'x'",
            "installed: be_dr, conditioning, counting, csmia, distinguish, fredrikson, joint, "
            "leaf_constraints, leaf_exclusion, likelihood, linking",
        ),
        ({"metrics.0.use": "l_anonymity"}, "metrics[0]", "nobody offers 'l_anonymity'", "k_anonymity"),
        ({"build.use": "kadett"}, "build", "nobody offers 'kadett'", "kadet"),
        ({"metrics.0.use": ...}, "metrics[0]", "says not what it uses", "k_anonymity"),
        ({"attacks.0.use": ...}, "attacks[0]", "says not what it uses", "linking"),
        ({"metrics.0.of": "full"}, "metrics[0].of", "no attack of the policy has this name", "one of linking"),
        (
            {"metrics.0.of": "lnking"},
            "metrics[0].of",
            "no attack of the policy has this name",
            "did you mean 'linking'?",
        ),
        (
            {"metrics.0.secret": "il"},
            "metrics[0].secret",
            "not a column with the role `sensitive`",
            "did you mean 'ill'?",
        ),
        ({"metrics.0.secret": "smoker"}, "metrics[0].secret", "not a column with the role `sensitive`", ""),
        ({"metrics.0.at_least": ...}, "metrics[0].at_least", "is missing", ""),
        ({"metrics.0.allow": 1.5}, "metrics[0].allow", "less than 1", ""),
        ({"leafgate": 2}, "leafgate", "1", ""),
        ({"seed": -1}, "seed", "greater than or equal to 0", ""),
        ({"report.smallest_cell": 0}, "report.smallest_cell", "greater than or equal to 1", ""),
        ({"data": ...}, "data", "is missing", ""),
        ({"data.columns.sex.values": [1, 2]}, "data.columns.sex.values[0]", "valid string", ""),
        ({"data.columns.sex.role": "quasi"}, "data.columns.sex.role", "'quasi_identifier'", ""),
        ({"data.columns.sex.values": ["f", "f"]}, "data.columns.sex", "list each value once", ""),
        ({"data.columns.age.bounds": [9, 1]}, "data.columns.age", "[lowest, highest]", ""),
        ({"data.columns.age.values": ["1"]}, "data.columns.age", "not both", ""),
        ({"data.columns.age.role": ["weight", "class"]}, "data.columns.age", "take the others of the column away", ""),
        ({"data.columns.age.bounds": [700, 600]}, "data.columns.age", "write [lowest, highest]", ""),
        ({"data.columns.sex.role": ["private", "sensitive"]}, "data.columns.sex", "choose", ""),
        ({"data.columns.sex.role": ["quasi_identifier", "sensitive"]}, "data.columns.sex", "choose", ""),
        ({"data.columns.ill.values": ..., "data.columns.ill.bounds": [0, 1]}, "data.columns.ill", "needs `values`", ""),
        ({"data.columns.sex.aliases": {"x": "y"}}, "data.columns.sex", "must lead to declared `values`", ""),
        ({"data.columns.sex.aliases": {"f": "m"}}, "data.columns.sex", "one of them is a value itself", ""),
        ({"data.columns.sex.role": "class"}, "data.columns", "at most one column has the role `class`", ""),
        ({"data.path": "no\0file"}, "data.path", "must be a file name", ""),
        ({"plugins": ["nobody"]}, "plugins[0]", "no installed plugin comes from 'nobody'", "install it"),
        ({"plugins": ["leafgate>=99"]}, "plugins[0]", "the policy wants 'leafgate>=99'", ""),
        ({"plugins": ["!!"]}, "plugins[0]", "not a distribution name", ""),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_remedy(
    tmp_path: Path, changes: dict[str, Any], place: str, message: str, remedy: str
) -> None:
    result = problems(tmp_path, changes)
    assert any(p.location.startswith(place) and message in p.message and remedy in p.hint for p in result), result
    assert len({p.location for p in result}) == len(result) < 3


def test_a_misspelt_attack_is_one_problem_although_metrics_name_it_rightly(tmp_path: Path) -> None:
    wrong = problems(tmp_path, {"attacks.0.use": "lnking", "metrics.0.of": "linking"})
    assert [(problem.location, problem.hint) for problem in wrong] == [("attacks[0]", "did you mean 'linking'?")]


def test_a_policy_that_is_wrong_in_five_places_lists_five_problems(tmp_path: Path) -> None:
    wrong = {
        "sead": 1,
        "data.columns.age.bounds": [9, 1],
        "build.k": 0,
        "metrics.0.of": "full",
        "attacks.0.use": "lnking",
    }
    places = [problem.location for problem in problems(tmp_path, wrong)]
    assert len(places) == 5
    assert {"sead", "data.columns.age", "build.k", "metrics[0].of"} < set(places)


def test_a_limit_in_the_wrong_direction_is_refused_once_and_says_the_right_one(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, {"metrics.0": {"use": "k_anonymity", "at_most": 3}})
    assert problem.location == "metrics[0].at_most"
    assert problem.message == "k_anonymity is limited by `at_least`"
    assert "at_least" in problem.hint


@pytest.mark.parametrize("written", [".nan", ".inf", "-.inf"])
def test_a_limit_that_is_not_finite_is_refused_with_its_place(tmp_path: Path, written: str) -> None:
    path = write_policy(tmp_path, {"metrics.0.at_least": 77})
    path.write_text(path.read_text().replace("77", written))
    with pytest.raises(LeafgateError) as refused:
        load_policy(path)
    assert [problem.location for problem in refused.value.problems] == ["metrics[0].at_least"]


@pytest.mark.parametrize("place", ["name", "data.missing.0", "data.columns.sex.values.0", "data.columns.sex.role"])
def test_a_number_where_a_text_belongs_is_refused_even_if_it_is_none(tmp_path: Path, place: str) -> None:
    path = write_policy(tmp_path, {"data.missing": ["?"], place: "77"})
    path.write_text(path.read_text().replace('"77"', ".nan"))
    with pytest.raises(LeafgateError) as refused:
        load_policy(path)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("kind", ["attacks", "metrics"])
def test_two_of_one_name_are_refused_and_names_of_their_own_help(tmp_path: Path, kind: str) -> None:
    use = policy()[kind][0]
    assert [p.location for p in problems(tmp_path, {kind: [use, use]})] == [f"{kind}[0]", f"{kind}[1]"]
    assert load(tmp_path, {kind: [use, use | {"name": "again"}]})


@pytest.mark.parametrize("name", ["confidence", "accuracy", "linking", "kadet", "use"])
def test_a_column_may_be_called_like_a_plugin(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, {f"data.columns.{name}": {"role": "ignored"}})
    (problem,) = problems(tmp_path, {f"data.columns.{name}": {"role": "ignored", "bonds": [1, 2]}})
    assert (problem.location, problem.hint) == (f"data.columns.{name}.bonds", "did you mean 'bounds'?")
    problem, *_ = problems(tmp_path, {f"data.columns.{name}": {"role": "privat"}})  # pydantic 2.11 has another
    assert problem.location.startswith(f"data.columns.{name}.role")


def test_no_quasi_identifier_is_refused(tmp_path: Path) -> None:
    private = {f"data.columns.{name}.role": "private" for name in ("age", "sex")}
    (problem,) = problems(tmp_path, private)
    assert problem.location == "data.columns"
    assert "no column is a quasi_identifier" in problem.message


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("delimiter", "\n"),
        ("delimiter", '"'),
        ("delimiter", "é"),
        ("delimiter", ";;"),
        ("quote", "\r"),
        ("quote", "é"),
        ("quote", ","),
        ("encoding", "undefined"),
        ("encoding", "nonsense"),
        ("encoding", "a\0b"),
    ],
)
def test_a_way_to_read_csv_that_cannot_work_is_refused(tmp_path: Path, key: str, wrong: str) -> None:
    from leafgate.app import open_session

    with pytest.raises(LeafgateError) as refused:
        open_session(survey(tmp_path, {f"data.csv.{key}": wrong}))
    assert refused.value.exit_code == 2


def test_a_value_may_look_like_anything_in_quotes(tmp_path: Path) -> None:
    values = ["no", "1e3", ".nan", "~", "", "a: b", "012", "<<"]
    changes = {"data.missing": [], "data.columns.sex.values": values}
    assert load(tmp_path, changes).data.columns["sex"].values == tuple(values)
    assert load(tmp_path).data.columns["ill"].values == tuple(YES_NO)
