from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate import PolicyError
from leafgate.api import Metric, PersonMetric
from leafgate.app import load_plugins, load_policy, open_session
from leafgate.policy.inherit import loosens, merged
from leafgate.policy.load import Loaded
from leafgate.policy.sources import DEEPEST, PolicyDocument
from leafgate.policy.strictness import compare_policies
from survey import ALLOWED, COLUMNS, UNLISTED, survey

FACT = {"where": {"age": {"to": 17}}, "column": "smoker", "in": ["no"], "share": 1}
MAXENT: dict[str, Any] = {"use": "maxent"}
UNTESTED = MAXENT | {"knows": {"label_accuracies": False}}
KNOWING = MAXENT | {"knows": {"sample": 0.2, "facts": [FACT]}}
CONFIDENCE = {"use": "confidence", "at_most": 0.9, "allow": 0.1}
AVERAGE = {"use": "confidence", "at_most": 0.9, "average": True}
SEX = {"role": "quasi_identifier", "values": ["f", "m"]}


def written(folder: Path, org: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Path:
    """The survey's policy, which extends the organisation's beside it."""
    (folder / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, **org}), indent=1))
    return survey(folder, {"extends": "org.yaml", **(changes or {})})


def allowing(org: Mapping[str, Any]) -> dict[str, Any]:
    """The organisation's policy, which lets the survey's policy keep one column from the adversary."""
    data = dict(org.get("data", {}))
    return {**org, "data": data if "unlisted" in data else data | {"unlisted": UNLISTED}}


TIGHTER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"metrics": [{"use": "k_anonymity", "at_least": 3}]}, {"metrics.0.at_least": 4}),
    ({"metrics": [CONFIDENCE]}, {"metrics": [{"use": "k_anonymity", "at_least": 2}]}),  # one more
    ({"metrics": [AVERAGE]}, {"metrics": [CONFIDENCE | {"average": False, "allow": 0}]}),
    ({"metrics": [CONFIDENCE | {"of": "linking"}]}, {"metrics": [CONFIDENCE | {"of": None}]}),
    ({"metrics": [CONFIDENCE | {"name": "sure"}]}, {"metrics": [CONFIDENCE | {"at_most": 1}]}),  # another of its own
    ({"attacks": [{"use": "maxent", "name": "more"}]}, {}),
    ({"approvals": {"reviewers": ["a@x.org", "b@x.org"]}}, {"approvals": {"reviewers": ["B@x.org"]}}),
    ({"approvals": {"decisions": 2}}, {"approvals": {"reviewers": ["a@x.org"]}}),  # the other key stays
    ({"knows": {"facts": [FACT]}}, {"knows": {"facts": [FACT | {"share": 0.5}]}, "attacks": [{"use": "maxent"}]}),
    ({"attacks": [KNOWING]}, {"attacks": [MAXENT | {"knows": {"facts": [FACT | {"share": 0.5}]}}]}),
    ({"attacks": [KNOWING]}, {"attacks": [MAXENT | {"knows": {"distribution": True}}]}),
    ({"attacks": [KNOWING]}, {"attacks": [MAXENT, MAXENT | {"name": "other", "knows": {}}]}),  # one more attack
    ({"attacks": [UNTESTED]}, {"attacks": [MAXENT]}),
    ({"knows": {"sample": 0.1}}, {"attacks": [MAXENT, KNOWING | {"name": "other"}]}),
    ({}, {"plugins": ["leafgate"]}),
    ({"data": {"columns": {"smoker": {"role": "private"}}}}, {"data.columns.smoker.role": "sensitive"}),
    ({"data": {"columns": {"sex": SEX}}}, {"data.columns.sex": SEX | {"ordered": False, "missing": False}}),
    ({"data": {"protect": [{"column": "smoker", "where": {"age": {"to": 30}}}]}}, {}),
    ({"seed": 3}, {"seed": 4}),
    ({"data": {"path": "elsewhere.csv"}}, {"data.csv": {"delimiter": ","}}),
    ({"report": {"smallest_cell": 5}}, {"data.missing": ["?"], "data.on_missing": "keep"}),  # it says nothing of data
    ({"data": {"reading": "child"}}, {"data.missing": ["?", "n/k"], "data.on_missing": "drop"}),
    ({"data": {"reading": "child", "columns": {"sex": SEX}}}, {"data.missing": ["?"], "data.on_missing": "drop"}),
]
LOOSER: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"plugins": ["leafgate", "acme"]}, {"plugins": ["leafgate"]}, "plugins"),  # the checks of acme would not run
    ({"metrics": [{"use": "k_anonymity", "at_least": 4}]}, {}, "metrics[0].at_least"),
    ({"metrics": [AVERAGE]}, {"metrics": [CONFIDENCE | {"average": False}]}, "metrics[0].allow"),
    ({"metrics": [CONFIDENCE]}, {"metrics": [CONFIDENCE | {"scored": "composition"}]}, "metrics[0].scored"),
    (
        {"metrics": [{"use": "k_anonymity", "name": "k", "at_least": 2}]},
        {"metrics": [{"use": "exposure", "name": "k", "at_most": 1}]},
        "metrics[0]",
    ),
    ({"attacks": [{"use": "maxent"}]}, {"attacks": [{"use": "maxent", "internal": False}]}, "attacks[0].internal"),
    ({}, {"report": {"smallest_cell": 9}}, "report.smallest_cell"),  # the default counts
    ({"approvals": {"reviewers": ["a@x.org"]}}, {"approvals": None}, "approvals.reviewers"),
    ({"approvals": {"decisions": 2}}, {"approvals": None}, "approvals.decisions"),
    ({"approvals": {"decisions": 2}}, {"approvals": {"decisions": 1}}, "approvals.decisions"),
    ({"approvals": {"reviewers": ["a@x.org"]}}, {"approvals": {"reviewers": ["b@x.org"]}}, "approvals.reviewers"),
    ({"knows": {"facts": [FACT]}}, {"knows": {"facts_known": 0}, "attacks": [{"use": "maxent"}]}, "knows.facts[0]"),
    ({"attacks": [KNOWING]}, {"attacks": [MAXENT | {"knows": {"facts_known": 0}}]}, "attacks[0].knows.facts[0]"),
    ({"knows": {"distribution": True}, "attacks": [MAXENT]},
     {"attacks": [{"use": "linking"}, MAXENT | {"knows": {"sample": 1}}]}, "attacks[0].knows.distribution"),
    ({"attacks": [{"use": "linking"}], "knows": {"distribution": True}},
     {"attacks": [{"use": "linking", "knows": {}}, MAXENT]}, "attacks[0].knows.distribution"),
    ({"attacks": [{"use": "linking"}]},
     {"attacks": [{"use": "linking", "knows": {"label_accuracies": False}}]}, "attacks[0].knows.label_accuracies"),
    ({"build": {"use": "kadet", "k": 4}}, {}, "build.k"),
    ({"build": {"use": "c45"}}, {}, "build"),
    ({"build": {"use": "kadet", "k": 3}}, {"build.prune": False}, "build.prune"),
    ({"data": {"columns": {"smoker": {"role": "quasi_identifier"}}}}, {}, "data.columns.smoker.role"),
    ({"data": {"columns": {"sex": {"role": "class"}}}}, {"data.columns.sex.role": "key"}, "data.columns.sex.role"),
    ({"data": {"columns": {"age": {"role": "quasi_identifier", "bounds": [0, 99]}}}}, {}, "data.columns.age.bounds"),
    ({"data": {"on_missing": "keep"}}, {"data.on_missing": "drop"}, "data.on_missing"),
    ({"data": {"csv": {"delimiter": ";"}}}, {"data.csv": {"delimiter": ","}}, "data.csv"),
    ({"data": {"columns": {"sex": {"role": "quasi_identifier"}}}}, {"data.missing": ["n/k"]}, "data.missing"),
    ({"data": {"columns": {"sex": {"role": "private"}}}}, {"data.columns.w": {"role": "weight"}}, "data.columns.w"),
    ({"data": {"columns": {"sex": SEX}}}, {"data.columns.sex.aliases": {"x": "f"}}, "data.columns.sex.aliases"),
]  # fmt: skip


@pytest.mark.parametrize(("org", "changes"), TIGHTER, ids=map(str, range(len(TIGHTER))))
def test_a_child_may_tighten_and_add(tmp_path: Path, org: dict[str, Any], changes: dict[str, Any]) -> None:
    if "data" in org and "protect" in org["data"]:
        changes = changes | {"data.columns.smoker.role": "private"}
    assert load_policy(written(tmp_path, org, changes)).policy.origin.extends == ("org.yaml",)


def test_files_that_a_parent_names_are_the_parents(tmp_path: Path) -> None:
    """Wherever it is, and though a file of that name lies beside the policy that extends it and says the same."""
    (tmp_path / "far").mkdir()
    known = {"knows": {"people": "known.csv"}, "attacks": [{"use": "maxent"}]}
    for folder, said in ((tmp_path, "ours"), (tmp_path / "far", "theirs")):
        (folder / "known.csv").write_text(said)
    (tmp_path / "far" / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, **known})))
    for child in ({}, known):
        path = survey(tmp_path, child)
        for root in (None, tmp_path):
            assert people(load_policy(path, root, tmp_path / "far" / "org.yaml")) == "theirs"
        assert people(load_policy(survey(tmp_path, known))) == "ours"
        path = survey(tmp_path, {"extends": "far/org.yaml", **child})
        assert people(load_policy(path)) == "theirs"
        assert people(load_policy(path, root=tmp_path)) == "ours"  # --root moves data, of all that belong together


def test_an_attacks_own_file_is_not_the_parents_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for folder in (tmp_path, tmp_path / "far"):
        (folder / "known.csv").write_text("")
    known = {"knows": {"people": "known.csv"}, "attacks": [MAXENT]}
    (tmp_path / "far" / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, **known})))
    own = [{"use": "linking"}, MAXENT | {"knows": {"people": "known.csv"}}, MAXENT | {"name": "as the parent says"}]
    with pytest.raises(PolicyError, match=r"attacks\[0\]\.knows\.people: changes, in no direction"):
        load_policy(survey(tmp_path, {"extends": "far/org.yaml", "attacks": own}))
    (tmp_path / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, **known})))
    assert load_policy(survey(tmp_path, {"extends": "org.yaml", "attacks": own}))  # there it is the same file


def test_a_child_keeps_what_its_parent_grants_an_attack(tmp_path: Path) -> None:
    org = {"attacks": [KNOWING]}
    loaded = load_policy(written(tmp_path, org, {"attacks": [MAXENT | {"knows": {"distribution": True}}]}))
    knows = loaded.policy.attacks[0].knows
    assert knows is not None
    assert (knows.sample, knows.distribution, len(knows.facts)) == (0.2, True, 1)


def people(loaded: Loaded) -> str:
    assert loaded.policy.knows.people is not None
    return loaded.policy.knows.people.read_text()


def test_a_childs_own_files_stay_beside_it(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for folder in (tmp_path, tmp_path / "far"):
        (folder / "sex.csv").write_text(f"f;{folder.name[:3]}\nm;{folder.name[:3]}\n")
    (tmp_path / "far" / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, "data": {"columns": {"sex": SEX}}})))
    loaded = load_policy(
        survey(tmp_path, {"data.columns.sex": SEX | {"hierarchy": "sex.csv"}}), org=tmp_path / "far" / "org.yaml"
    )
    assert loaded.policy.data.columns["sex"].hierarchy == (tmp_path / "sex.csv").resolve()


def test_a_parents_file_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "known.csv").symlink_to(tmp_path / "known.csv")
    known = {"leafgate": 1, "knows": {"people": "known.csv"}, "attacks": [{"use": "maxent"}]}
    (tmp_path / "far" / "org.yaml").write_text(json.dumps(allowing(known)))
    with pytest.raises(PolicyError, match=r"knows\.people: leaves the policy's folder"):
        load_policy(survey(tmp_path), org=tmp_path / "far" / "org.yaml")


NAMELESS = {"header": False}
ORDERS: list[tuple[list[str], list[str], list[str] | None]] = [
    (["age", "sex", "smoker", "ill"], ["age", "ill"], ["age", "sex", "smoker", "ill"]),  # as the parent has them
    (["age", "sex"], ["age", "sex", "smoker", "ill"], ["age", "sex", "smoker", "ill"]),
    (["age", "sex", "smoker", "ill"], ["age", "sex", "ill", "smoker"], None),
    (["age", "ill"], ["age", "sex", "ill", "smoker"], None),  # the secret is another column of the file
]


@pytest.mark.parametrize(("parents", "childs", "whole"), ORDERS, ids=map(str, range(len(ORDERS))))
def test_without_a_header_nobody_moves_a_parents_columns(
    tmp_path: Path, parents: list[str], childs: list[str], whole: list[str] | None
) -> None:
    (tmp_path / "org.yaml").write_text(
        json.dumps(allowing({"leafgate": 1, "data": {"csv": NAMELESS} | columns(parents)}))
    )
    path = survey(tmp_path, {"extends": "org.yaml", "data.columns": columns(childs)["columns"]})
    if whole is None:
        with pytest.raises(PolicyError, match=r"data\.columns: .*in the order "):
            load_policy(path)
        (tmp_path / "org.yaml").write_text(json.dumps(allowing({"leafgate": 1, "data": columns(parents)})))
        assert list(load_policy(path).policy.data.columns) == childs
    else:
        assert list(load_policy(path).policy.data.columns) == whole


def columns(names: list[str]) -> dict[str, Any]:
    return {"columns": {name: COLUMNS[name] for name in names}}


@pytest.mark.parametrize(("org", "changes", "place"), LOOSER, ids=map(str, range(len(LOOSER))))
def test_a_child_that_loosens_is_refused_at_the_place(
    tmp_path: Path, org: dict[str, Any], changes: dict[str, Any], place: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        load_policy(written(tmp_path, org, changes))
    assert [problem.location for problem in refused.value.problems if "what it extends" in problem.message] == [
        place
    ] or (place in [problem.location for problem in refused.value.problems])
    remedies = {problem.hint for problem in refused.value.problems}
    if "weight" in str(changes):
        assert all('except: [{columns: "w", roles: [weight]}]' in remedy for remedy in remedies)
    else:
        assert remedies == {"what extends a policy may only tighten it"}


def test_a_loosening_quotes_both_lines(tmp_path: Path) -> None:
    (tmp_path / "org.yaml").write_text("leafgate: 1\nmetrics:\n  - {use: k_anonymity, at_least: 20}\n" + ALLOWED)
    path = survey(tmp_path)
    result = json.loads(path.read_text()) | {"extends": "org.yaml"}
    del result["metrics"]
    path.write_text(json.dumps(result)[:-1] + ',\n"metrics":\n[ {"use": "k_anonymity",\n  "at_least": 3}]}')
    with pytest.raises(PolicyError) as refused:
        load_policy(path)
    (problem,) = refused.value.problems
    assert problem.location == "metrics[0].at_least"
    assert problem.message == (
        "loosens what it extends: 20 became 3; "
        'org.yaml:3: - {use: k_anonymity, at_least: 20} | policy.yaml:4: "at_least": 3}]}'
    )


def test_what_is_audited_digested_and_told_is_the_merged_policy(tmp_path: Path) -> None:
    org: dict[str, Any] = {"metrics": [{"use": "exposure", "at_most": 1}], "report": {"smallest_cell": 12}, "seed": 3}
    report = open_session(written(tmp_path, org)).audit().report
    assert [finding.metric for finding in report.findings[:2]] == ["exposure", "k_anonymity"]
    assert [finding.where["file"] for finding in report.findings[:2]] == ["org.yaml", "policy.yaml"]
    assert (report.smallest_cell, report.policy["extends"]) == (12, ["org.yaml"])
    alone = {"metrics": [*org["metrics"], {"use": "k_anonymity", "at_least": 3}], "report": org["report"], "seed": 3}
    assert report.policy["sha256"] == load_policy(survey(tmp_path, alone)).policy.sha256


def test_lines_follow_what_is_merged(tmp_path: Path) -> None:
    org = {"metrics": [{"use": "exposure", "at_most": 1}, {"use": "k_anonymity", "at_least": 2, "allow": 0.1}]}
    lines = load_policy(written(tmp_path, org, {"metrics.0.allow": 0})).policy.origin.lines
    own, parents = (
        json.loads(json.dumps((tmp_path / name).read_text())).splitlines() for name in ("policy.yaml", "org.yaml")
    )
    entries: list[tuple[tuple[str | int, ...], list[str], str]] = [
        (("metrics", 0, "at_most"), parents, '"at_most": 1'),
        (("metrics", 1, "at_least"), own, '"at_least": 3'),
        (("metrics", 1, "allow"), own, '"allow": 0'),
        (("data", "columns", "age", "role"), own, '"role": "quasi_identifier"'),
    ]
    for path, file, text in entries:
        assert text in file[lines[path].number - 1]
        assert lines[path].file == ("policy.yaml" if file is own else "org.yaml")


def test_mistakes_of_the_parent_say_in_which_file_they_are(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as refused:
        load_policy(written(tmp_path, {"metrics": [{"use": "exposure", "at_mots": 1}], "sead": 3}))
    places = {problem.location for problem in refused.value.problems}
    assert "org.yaml, line 6: metrics[0].at_mots" in places
    assert "org.yaml, line 9: sead" in places


def chain(folder: Path, length: int, last: str = "") -> Path:
    """So many policies, each extending the next; the last one extends `last`."""
    for i in range(1, length):
        following = f"p{i + 1}.yaml" if i + 1 < length else last
        result = allowing({"leafgate": 1, "metrics": [{"use": "exposure", "name": f"e{i}", "at_most": 1}]})
        (folder / f"p{i}.yaml").write_text(json.dumps(result | ({"extends": following} if following else {})))
    return survey(folder, {"extends": "p1.yaml"})


@pytest.mark.parametrize(
    ("length", "last", "text"),
    [
        (4, "p1.yaml", "extends itself"),
        (2, "policy.yaml", "extends itself"),
        (2, "p1.yaml", "extends itself"),
        (DEEPEST + 1, "", f"extends more than {DEEPEST - 1} others"),
        (3, "none.yaml", "none.yaml: cannot be read"),
        (3, "../org.yaml", "p2.yaml: extends: leaves the policy's folder"),
        (3, "/etc/hostname", "p2.yaml: extends: leaves the policy's folder"),
    ],
)
def test_a_chain_that_does_not_end_well_is_refused(tmp_path: Path, length: int, last: str, text: str) -> None:
    with pytest.raises(PolicyError) as refused:
        load_policy(chain(tmp_path, length, last))
    assert text in str(refused.value)
    assert load_policy(chain(tmp_path, DEEPEST)).policy


@pytest.mark.parametrize("extends", [3, [], ["org.yaml"], {"file": "org.yaml"}, ""])
def test_what_cannot_be_extended_is_refused(tmp_path: Path, extends: Any) -> None:
    with pytest.raises(PolicyError, match=r"policy\.yaml: extends: must be a file name"):
        load_policy(survey(tmp_path, {"extends": extends}))


def test_a_parent_in_a_folder_below_is_called_by_its_path_from_the_policy(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "far.yaml").write_text("leafgate: 1\nseed: 5\n" + ALLOWED)
    (tmp_path / "below" / "org.yaml").write_text("leafgate: 1\nextends: far.yaml\n")
    loaded = load_policy(survey(tmp_path, {"extends": "below/org.yaml"}))
    assert loaded.policy.origin.extends == ("below/org.yaml", "below/far.yaml")
    assert loaded.policy.origin.lines["seed",].file == "below/far.yaml"


def test_code_that_the_parent_does_not_trust_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.api.registry.load_plugins", lambda *pins, **options: pytest.fail("it was loaded"))
    with pytest.raises(PolicyError, match=r"plugins: .*what it extends"):
        load_policy(written(tmp_path, {"plugins": ["leafgate"]}, {"plugins": ["leafgate", "acme"]}))


def test_the_organisations_policy_holds_though_nobody_extends_it(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    org, path = tmp_path / "far" / "org.yaml", survey(tmp_path)
    org.write_text("leafgate: 1\nmetrics: [{use: exposure, at_most: 0}]\n" + ALLOWED)
    assert leafgate("audit", path).code == 0
    done = leafgate("audit", path, "--org", org, "--json")
    assert (done.code, done.document["policy"]["extends"]) == (1, ["org.yaml"])
    org.write_text("leafgate: 1\nmetrics: [{use: k_anonymity, at_least: 4}]\n" + ALLOWED)
    for words in (["audit", path], ["validate", path], ["build", path, "--out", tmp_path / "r.json"]):
        ended = leafgate(*words, "--org", org)
        assert (ended.code, ended.out) == (2, "")
        assert "org.yaml:2: metrics: [{use: k_anonymity, at_least: 4}]" in ended.err
    assert not (tmp_path / "r.json").exists()


def test_what_a_policy_and_its_organisations_both_extend_is_merged_once_and_first(tmp_path: Path) -> None:
    for name, limit, parent in (("base", 2, {}), ("org", 3, {"extends": "base.yaml"})):
        result = allowing({"leafgate": 1, "metrics": [{"use": "k_anonymity", "at_least": limit}]} | parent)
        (tmp_path / f"{name}.yaml").write_text(json.dumps(result))
    path = survey(tmp_path, {"extends": "base.yaml", "metrics.0.at_least": 4})
    assert load_policy(path, org=tmp_path / "org.yaml").policy.origin.extends == ("org.yaml", "base.yaml")
    with pytest.raises(PolicyError, match=r"3 became 2; org\.yaml:1: .* \| policy\.yaml:"):
        load_policy(survey(tmp_path, {"extends": "base.yaml", "metrics.0.at_least": 2}), org=tmp_path / "org.yaml")


def test_an_organisations_policy_does_not_extend_the_policy_it_is_given_for(tmp_path: Path) -> None:
    path = survey(tmp_path)
    (tmp_path / "org.yaml").write_text("leafgate: 1\nextends: policy.yaml\n")
    with pytest.raises(PolicyError, match="--org: extends the policy that is held to it"):
        load_policy(path, org=tmp_path / "org.yaml")
    assert load_policy(path, org=path).policy.origin.extends == ()


def test_a_policy_that_others_extend_is_validated_as_far_as_it_goes(tmp_path: Path) -> None:
    org = tmp_path / "org.yaml"
    org.write_text("leafgate: 1\nmetrics: [{use: exposure, at_most: 0}]\ndata: {columns: {age: {role: private}}}\n")
    assert leafgate("validate", org).code == 2
    assert leafgate("validate", "--partial", org).out == f"{org}: the policy is valid\n"
    assert leafgate("validate", "--partial", survey(tmp_path)).out.endswith(": the policy 'survey' is valid\n")
    org.write_text("leafgate: 1\nmetrics: [{use: exposure}]\ndata: {columns: {age: {roll: private}}}\n")
    output = leafgate("validate", "--partial", org)
    assert output.code == 2
    assert "metrics[0].at_most: is missing" in output.err
    assert "data.columns.age.roll: unknown key" in output.err
    assert leafgate("validate", "--partial", org, "--org", org).code == 2


PLUGINS = load_plugins(["leafgate"])
LIMITS = {"k_anonymity": "at_least", "l_diversity": "at_least", "confidence": "at_most", "exposure": "at_most"}
NAMES = st.sampled_from(["", "", "first", "second"])
BOTH = [{"use": "linking"}, {"use": "linking", "name": "again"}]
ATTACKS = st.sampled_from([BOTH, [*BOTH, {"use": "maxent"}], [{"use": "maxent"}, *BOTH]])
LENIENCIES: list[dict[str, Any]] = [{}, {"average": True}, {"average": False}, {"allow": 0.2}, {"allow": 0.5}]
LENIENCIES += [{"average": False, "allow": allow} for allow in (0.0, 0.2)]
SCOPES: list[dict[str, Any]] = [{}, {"of": "linking"}, {"of": "again"}, {"of": None}, {"secret": "ill"}]


@st.composite
def metrics(draw: st.DrawFn, use: str = "", name: str = "") -> dict[str, Any]:
    use = use or draw(st.sampled_from(list(LIMITS)))
    document: dict[str, Any] = {"use": use, LIMITS[use]: draw(st.sampled_from([1, 2, 3]))}
    document |= {"name": name} if (name := name or draw(NAMES)) else {}
    document |= draw(st.sampled_from(LENIENCIES))
    document |= draw(st.sampled_from(SCOPES))
    return document


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    named = st.lists(metrics(), min_size=1, max_size=3, unique_by=lambda metric: metric.get("name") or metric["use"])
    return {"leafgate": 1, "attacks": draw(ATTACKS), "metrics": draw(named)}


@st.composite
def families(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy, and one that says something of the same metrics, or of others."""
    parent = draw(policies())
    if draw(st.integers(0, 3)) == 0:
        return parent, draw(policies())
    items = [draw(metrics(metric["use"], metric.get("name", metric["use"]))) for metric in parent["metrics"]]
    return parent, draw(policies()) | {"metrics": items}


CHANCES = ([1, 0, 0], [0, 1, 0], [0, 0.9, 0.1], [0.9, 0.1, 0])
"""Of the scores 1, 2 and 3: people who are all alike, or nearly."""


def judged(document: dict[str, Any], seed: int) -> bool:
    """Does every limit hold for scores drawn for each metric, attack and secret? Judged by the metrics themselves."""
    attacks = [attack.get("name", attack["use"]) for attack in document["attacks"]]
    for result in document["metrics"]:
        metric = PLUGINS.by_name[result["use"]].model_validate(result)
        assert isinstance(metric, PersonMetric)
        for attack in attacks if metric.of is None else [metric.of]:
            for secret in ("ill", "rich") if metric.secret is None else [metric.secret]:
                rng = np.random.default_rng([seed, *f"{result['use']} {attack} {secret}".encode()])
                if not _passes(
                    metric, rng.choice([1.0, 2.0, 3.0], 6, p=CHANCES[rng.integers(4)]), rng.integers(1, 3, 6)
                ):
                    return False
    return True


def _passes(metric: Metric, scores: Any, people: Any) -> bool:
    if getattr(metric, "average"):  # noqa: B009
        return metric.holds(float((scores * people).sum() / people.sum()))
    beyond = sum(n for score, n in zip(scores, people, strict=True) if not metric.holds(float(score)))
    return bool(beyond / people.sum() <= getattr(metric, "allow"))  # noqa: B009


@given(family=families(), seeds=st.lists(st.integers(0, 10**6), min_size=10, max_size=10))
def test_whatever_passes_an_accepted_child_passes_its_parent(
    family: tuple[dict[str, Any], dict[str, Any]], seeds: list[int]
) -> None:
    parent, child = family
    first = PolicyDocument(parent, "org.yaml", {})
    whole = merged(first, PolicyDocument(child, "policy.yaml", {}))
    accepted = not any(loosens(change) for change in compare_policies(first, whole, PLUGINS))
    event(f"accepted: {accepted}")
    if not accepted or any(metric.get("average") and metric.get("allow") for metric in whole.document["metrics"]):
        return  # refused, or not valid
    for seed in seeds:
        passed = judged(whole.document, seed)
        event(f"accepted, and the child passed: {passed}")
        assert judged(parent, seed) or not passed


@given(policies())
def test_a_policy_extended_by_itself_or_by_nothing_is_itself(policy: dict[str, Any]) -> None:
    written_once = PolicyDocument(policy, "org.yaml", {})
    for child in (policy, {"leafgate": 1}):
        whole = merged(written_once, PolicyDocument(child, "policy.yaml", {}))
        assert whole == PolicyDocument(policy, "policy.yaml", {}, ("org.yaml",))
        assert compare_policies(written_once, whole, PLUGINS) == []
