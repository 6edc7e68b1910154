"""What a policy may say of columns that the policies it extends do not list; and several organisations' policies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate import PolicyError
from leafgate.app import load_policy, open_session
from survey import COLUMNS, survey

CONFIDENCE = {"use": "confidence", "at_most": 1}
ROLES = {
    "weight": {"role": "weight"},
    "private": {"role": "private", "values": ["no", "yes"]},
    "ignored": {"role": "ignored"},
    "identifier": {"role": "identifier"},
    "key": {"role": "key"},
}
C45 = {"use": "c45", "min_leaf": 1, "prune": False}
QUASI = {"role": "quasi_identifier", "values": ["no", "yes"]}
OPEN = COLUMNS | {"smoker": QUASI}
"""The survey's columns, all of them known to the adversary but the class."""


def organisation(folder: Path, document: Mapping[str, Any] | None = None, name: str = "org") -> Path:
    path = folder / f"{name}.yaml"
    metrics = [{"use": "k_anonymity", "at_least": 3}]
    path.write_text(
        json.dumps({"leafgate": 1, "attacks": [{"use": "linking"}], "metrics": metrics} | dict(document or {}))
    )
    return path


def child(folder: Path, columns: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Path:
    return survey(folder, {"data.columns": {**OPEN, **columns}, **(changes or {})})


def refusal(path: Path, *orgs: Path) -> PolicyError:
    with pytest.raises(PolicyError) as refused:
        load_policy(path, org=orgs)
    return refused.value


def test_an_age_that_is_called_a_weight_multiplies_nobody(tmp_path: Path) -> None:
    org, path = organisation(tmp_path), child(tmp_path, {"age": {"role": "weight"}}, {"build": C45})
    ended = leafgate("audit", path, "--org", org)
    assert (ended.code, ended.out) == (2, "")
    assert (
        "data.columns.age: is not listed by what it extends, which does not allow the role weight for it" in ended.err
    )
    assert 'say data: {unlisted: {except: [{columns: "age", roles: [weight]}]}}' in ended.err
    assert load_policy(path).policy.data.weight is not None  # who holds to no organisation's policy may say so


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("named", ["--org", "extends"])
def test_roles_that_take_a_column_from_the_adversary_are_the_parents_to_allow(
    tmp_path: Path, role: str, named: str
) -> None:
    """What the error says to write in the organisation's policy is enough, and a pattern is."""
    extends = {"extends": "org.yaml"} if named == "extends" else {}
    path = child(tmp_path, {"smoker": ROLES[role]}, extends)
    orgs = [] if extends else [organisation(tmp_path)]
    organisation(tmp_path)
    (problem,) = refusal(path, *orgs).problems
    assert problem.location == "data.columns.smoker"
    assert f'except: [{{columns: "smoker", roles: [{role}]}}]' in problem.hint
    accepted: list[Any] = [
        {"except": [{"columns": "smoker", "roles": [role]}]},
        {"except": [{"columns": ["*_id", "sm?ke*"], "roles": role}]},
        role,
        ["quasi_identifier", role],
        {"role": role},
    ]
    for unlisted in accepted:
        organisation(tmp_path, {"data": {"unlisted": unlisted}})
        assert load_policy(path, org=orgs).policy.origin.extends == ("org.yaml",)
    organisation(tmp_path, {"data": {"columns": {"smoker": ROLES[role]}}})
    assert load_policy(path, org=orgs).policy.origin.extends == ("org.yaml",)
    refused: list[Any] = ["quasi_identifier", {"except": [{"columns": "SMOKER", "roles": role}]}, {"role": "class"}]
    for unlisted in refused:
        organisation(tmp_path, {"data": {"unlisted": unlisted}})
        assert refusal(path, *orgs).problems[0].location == "data.columns.smoker"


def test_a_child_may_name_a_secret_where_the_parent_limits_what_is_learned(tmp_path: Path) -> None:
    """Else a column would leave the adversary's knowledge, and nothing would be asked of it."""
    path = child(tmp_path, {"smoker": {"role": "sensitive", "values": ["no", "yes"]}})
    metrics = [{"use": "k_anonymity", "at_least": 3}]
    org = organisation(tmp_path)
    assert "roles: [sensitive]" in refusal(path, org).problems[0].hint
    organisation(tmp_path, {"metrics": [*metrics, {**CONFIDENCE, "secret": "ill"}]})
    assert refusal(path, org).problems[0].location == "data.columns.smoker"
    for allowing in ({"metrics": [*metrics, CONFIDENCE]}, {"data": {"unlisted": ["quasi_identifier", "sensitive"]}}):
        organisation(tmp_path, allowing)
        assert load_policy(path, org=org)
    organisation(tmp_path)
    for role in (["class", "sensitive"], "class", ["class", "quasi_identifier"]):
        assert load_policy(child(tmp_path, {"ill": {"role": role, "values": ["no", "yes"]}}), org=org)


@pytest.mark.parametrize(
    ("old", "new"), [(None, "private"), ("private", ["private", "ignored"]), ({"step": 2}, {"step": 3})]
)
def test_what_is_allowed_of_unlisted_columns_only_becomes_less(tmp_path: Path, old: Any, new: Any) -> None:
    org = organisation(tmp_path, {} if old is None else {"data": {"unlisted": old}})
    assert refusal(child(tmp_path, {}, {"data.unlisted": new}), org).problems[0].location == "data.unlisted"
    assert load_policy(child(tmp_path, {}, {"data.unlisted": "quasi_identifier"}), org=org)


def test_what_is_allowed_lasts_through_a_chain(tmp_path: Path) -> None:
    organisation(tmp_path, {"data": {"unlisted": {"except": [{"columns": "smoker", "roles": "private"}]}}})
    (tmp_path / "team.yaml").write_text(json.dumps({"leafgate": 1, "extends": "org.yaml", "seed": 1}))
    path = child(tmp_path, {"smoker": ROLES["private"]}, {"extends": "team.yaml"})
    assert load_policy(path).policy.origin.extends == ("team.yaml", "org.yaml")
    team = {"leafgate": 1, "extends": "org.yaml", "data": {"unlisted": "quasi_identifier"}}
    (tmp_path / "team.yaml").write_text(json.dumps(team))
    assert refusal(path).problems[0].location == "data.columns.smoker"


@pytest.mark.parametrize("unlisted", ["secret", [], {"except": [{"columns": "x"}]}, {"roles": "private"}, 3])
def test_what_unlisted_cannot_mean_is_refused(tmp_path: Path, unlisted: Any) -> None:
    assert refusal(child(tmp_path, {}, {"data.unlisted": unlisted})).problems[0].location.startswith("data.unlisted")


COUNTED = {"role": "weight", "counts": "people", "reason": "a line of the register for each family of alike people"}
PUBLIC = {**OPEN["sex"], "domain": "public"}
SPELLED = {"role": ["class", "sensitive"], "values": ["AA", "Aa"], "distinct": [["AA", "Aa"]]}


@pytest.mark.parametrize(
    ("name", "spec", "key", "less"),
    [
        ("smoker", COUNTED, "counts", {"role": "weight"}),
        ("sex", PUBLIC, "domain", {**PUBLIC, "domain": None}),
        ("ill", SPELLED, "distinct", {**SPELLED, "distinct": []}),
    ],
)
def test_only_the_parent_says_of_a_column_what_is_looser_than_the_default(
    tmp_path: Path, name: str, spec: dict[str, Any], key: str, less: dict[str, Any]
) -> None:
    path = child(tmp_path, {name: spec})
    org = organisation(tmp_path, {"data": {"unlisted": "weight"}})
    (problem,) = refusal(path, org).problems
    assert problem.location == f"data.columns.{name}.{key}"
    assert f"which alone may state its `{key}`" in problem.message
    assert f"list {name} under data.columns" in problem.hint
    organisation(tmp_path, {"data": {"columns": {name: less}}})
    assert [each.location for each in refusal(path, org).problems] == [f"data.columns.{name}.{key}"]
    organisation(tmp_path, {"data": {"columns": {name: spec}}})
    assert load_policy(path, org=org)
    path = child(tmp_path, {name: less})  # at the same place
    for document in ({"data": {"columns": {name: spec}}}, {"data": {"unlisted": "weight"}}):
        assert load_policy(path, org=organisation(tmp_path, document))


def test_a_list_that_the_parent_calls_public_is_the_parents(tmp_path: Path) -> None:
    org = organisation(tmp_path, {"data": {"columns": {"sex": {"role": "quasi_identifier", "domain": "public"}}}})
    assert "data.columns.sex.values" in [each.location for each in refusal(child(tmp_path, {}), org).problems]


@pytest.mark.parametrize(
    ("allowed", "step", "fine"),
    [(None, 1, False), (1, 1, True), (1, 5, True), (0.1, 0.3, True), (1, 0.5, False), (2, 3, False), (2, 1, False)],
)
def test_a_step_of_an_unlisted_column_is_a_multiple_of_the_one_that_the_parent_allows(
    tmp_path: Path, allowed: float | None, step: float, fine: bool
) -> None:
    org = organisation(tmp_path, {} if allowed is None else {"data": {"unlisted": {"step": allowed}}})
    path = child(tmp_path, {"age": {**OPEN["age"], "step": step}})
    if fine:
        assert load_policy(path, org=org)
    else:
        (problem,) = refusal(path, org).problems
        assert (problem.location, f"unlisted: {{step: {step}}}" in problem.hint) == ("data.columns.age.step", True)


def test_the_step_that_a_parent_allows_is_for_no_secret(tmp_path: Path) -> None:
    """Neither at once nor by a policy in between, for which the column is no secret yet."""
    organisation(tmp_path, {"metrics": [CONFIDENCE], "data": {"unlisted": {"role": "private", "step": 1}}})
    numbers = {"bins": [0, 40, 120], "step": 1}
    secret, private = ({"role": role, **numbers} for role in ("sensitive", "private"))
    path = child(tmp_path, {"age": secret}, {"extends": "org.yaml"})
    assert [each.location for each in refusal(path).problems] == ["data.columns.age.step"]
    team = {"leafgate": 1, "extends": "org.yaml", "data": {"columns": {"age": private}}}
    (tmp_path / "team.yaml").write_text(json.dumps(team))
    path = child(tmp_path, {"age": secret}, {"extends": "team.yaml"})
    assert [each.location for each in refusal(path).problems] == ["data.columns.age.role"]
    assert load_policy(child(tmp_path, {"age": {**secret, "step": None}}, {"extends": "team.yaml"}))


def test_every_organisations_policy_applies(tmp_path: Path) -> None:
    """Whichever comes last: of two policies one is broken, and the command says so."""
    first = organisation(tmp_path, {"metrics": [{"use": "exposure", "at_most": 0}]}, "first")
    second = organisation(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 2}]}, "second")
    path = child(tmp_path, {})
    assert leafgate("audit", path).code == 0
    for orgs in ([first, second], [second, first]):
        done = leafgate("audit", path, "--org", orgs[0], "--org", orgs[1], "--json")
        assert done.code == 1
        assert {finding["metric"] for finding in done.document["findings"]} == {"exposure", "k_anonymity"}
        assert set(done.document["policy"]["extends"]) == {"first.yaml", "second.yaml"}
        given = done.document["policy"]["given"]
        assert given == ["--org", orgs[0].name, "--org", orgs[1].name]


def extends(path: Path, *orgs: Path) -> Sequence[str]:
    return load_policy(path, org=orgs).policy.origin.extends


def test_a_policy_that_keeps_to_the_strictest_of_several_is_fine_in_any_order(tmp_path: Path) -> None:
    strict = organisation(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 3}]}, "strict")
    lax = organisation(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 2}]}, "lax")
    assert extends(child(tmp_path, {}), strict, lax) == ("lax.yaml", "strict.yaml")
    assert extends(child(tmp_path, {}), lax, strict) == ("strict.yaml", "lax.yaml")
    silent = child(tmp_path, {}, {"metrics": [{"use": "exposure", "at_most": 1}]})
    assert load_policy(silent, org=[lax, strict]).policy.metrics[0].bound == 3
    assert "3 became 2; strict.yaml:1:" in str(refusal(silent, strict, lax))  # the last would have won


def test_the_same_policy_twice_or_as_a_parent_is_taken_once(tmp_path: Path) -> None:
    base = organisation(tmp_path, {}, "base")
    org = organisation(tmp_path, {"extends": "base.yaml"})
    path = child(tmp_path, {})
    assert extends(path, org, org) == ("org.yaml", "base.yaml")
    assert extends(path, base, org) == ("org.yaml", "base.yaml")
    assert extends(path, org, base) == ("org.yaml", "base.yaml")
    assert extends(path, path, org) == ("org.yaml", "base.yaml")
    assert extends(child(tmp_path, {}, {"extends": "base.yaml"}), org, base) == ("org.yaml", "base.yaml")


def test_policies_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name / "gov").mkdir(parents=True)
        metric = {"use": "exposure", "name": name, "at_most": 1}
        organisation(tmp_path / name / "gov", {"metrics": [metric]})
    orgs = [tmp_path / name / "gov" / "org.yaml" for name in ("a", "b", "c")]
    loaded = load_policy(child(tmp_path, {}), org=orgs)
    assert len(set(loaded.policy.origin.extends)) == 3
    assert [metric.called for metric in loaded.policy.metrics] == ["a", "b", "c", "k_anonymity"]


def test_what_no_organisation_lists_stays_the_adversarys_with_several(tmp_path: Path) -> None:
    """A column that one of them allows is not thereby allowed by the other."""
    path = child(tmp_path, {"smoker": ROLES["private"]})
    allowing = organisation(tmp_path, {"data": {"columns": {"smoker": ROLES["private"]}}}, "allowing")
    silent = organisation(tmp_path, {}, "silent")
    assert load_policy(path, org=allowing)
    assert refusal(path, allowing, silent).problems[0].location == "data.columns.smoker"
    assert refusal(path, silent, allowing).problems[0].location == "data.columns.smoker"


def test_each_row_of_a_weight_that_the_organisation_allows_is_a_person(tmp_path: Path) -> None:
    organisation(tmp_path, {"data": {"unlisted": {"except": [{"columns": "w", "roles": "weight"}]}}})
    (tmp_path / "own").mkdir()
    changes = {"data.columns": {**OPEN, "w": {"role": "weight"}}, "build": {**C45, "average_gain": False}}
    people = (survey(tmp_path / "own").parent / "people.csv").read_text().splitlines()
    weighted = "\n".join([people[0] + ",w", *(line + ",1000" for line in people[1:])]) + "\n"
    path = survey(tmp_path / "own", changes, weighted)
    findings = open_session(path, org=tmp_path / "org.yaml").audit().report.findings
    assert [each.id for each in findings if each.passed is None] == ["unattacked"]
    finding = next(each for each in findings if each.metric == "k_anonymity")
    assert (finding.metric, finding.passed, finding.people) == ("k_anonymity", False, 24)


@pytest.mark.parametrize("role", ["class", ["class", "sensitive"], ["class", "quasi_identifier"]])
def test_another_secret_does_not_stand_in_for_the_class_under_an_organisations_limits(
    tmp_path: Path, role: str | list[str]
) -> None:
    limits = [{"use": "k_anonymity", "at_least": 3}, {"use": "exposure", "at_most": 0}]
    org = organisation(tmp_path, {"metrics": limits})
    columns = {"ill": {**COLUMNS["ill"], "role": role}, "smoker": {**QUASI, "role": "sensitive"}}
    unbreakable = {"use": "membership_advantage", "at_most": 1}
    path = child(tmp_path, columns, {"metrics": [unbreakable]})
    findings = open_session(path, org=org).audit().report.findings
    assert [each.secret for each in findings if each.metric == "unattacked"] == (["ill"] if role == "class" else [])
    own = open_session(child(tmp_path, columns, {"metrics": limits})).audit().report.findings
    assert "unattacked" not in {each.metric for each in own}
