from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate.app import load_policy
from leafgate.commands.diff.reports import moved
from leafgate.disclosure.intervals import Range, range_of, range_of_value, share_range
from survey import policy, survey

CHANGES: list[tuple[dict[str, Any], list[tuple[str, str]], int]] = [
    ({}, [], 0),
    ({"metrics.0.at_least": 4}, [("tighter", "metrics[0].at_least")], 0),
    ({"metrics.0.at_least": 2}, [("looser", "metrics[0].at_least")], 1),
    ({"metrics": [{"use": "exposure", "at_most": 1}]}, [("looser", "metrics[0]"), ("tighter", "metrics[0]")], 1),
    ({"attacks": [{"use": "maxent"}]}, [("looser", "attacks[0]"), ("tighter", "attacks[0]")], 1),
    ({"name": "other", "seed": 4}, [("different", "name"), ("different", "seed")], 0),
    ({"build": {"use": "c45"}}, [("different", "build")], 0),
    ({"build.k": 2}, [("looser", "build.k")], 1),
    ({"report": {"smallest_cell": 5}}, [("looser", "report.smallest_cell")], 1),
    ({"data.columns.age.role": "private"}, [("looser", "data.columns.age.role")], 1),
    ({"data.columns.smoker": ...}, [("different", "data.columns.smoker")], 0),
    ({"data.columns.sex": ...}, [("looser", "data.columns.sex")], 1),
    ({"plugins": ["leafgate"]}, [("tighter", "plugins")], 0),
]


def pair(folder: Path, changes: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> tuple[Path, Path]:
    files = folder / "old.yaml", folder / "new.yaml"
    for path, result in zip(files, (old or {}, changes), strict=True):
        path.write_text(json.dumps(policy(result), indent=1))
    return files


@pytest.mark.parametrize(("changes", "kinds", "code"), CHANGES, ids=map(str, range(len(CHANGES))))
def test_every_change_has_its_kind_and_a_looser_one_ends_in_1(
    tmp_path: Path, changes: dict[str, Any], kinds: list[tuple[str, str]], code: int
) -> None:
    done = leafgate("diff", *pair(tmp_path, changes), "--json")
    assert [(change["kind"], change["place"]) for change in done.document["changes"]] == kinds
    assert (done.code, done.document["format"], done.document["of"]) == (code, "leafgate/diff/1", "policies")


FULL: dict[str, Any] = {
    "data.columns.age.role": "quasi_identifier",
    "data.columns.sex.hierarchy": "sex.csv",
    "data.columns.ill.aliases": {"y": "yes"},
    "data.test": "test.csv",
    "data.population": "all.csv",
    "data.protect": [{"column": "smoker", "where": {"age": {"to": at}}} for at in (30, 40)],
    "knows": {
        "people": "known.csv",
        "facts": [{"where": {"age": {"to": at}}, "column": "smoker", "in": ["no"], "share": 1} for at in (17, 19)],
    },
    "build": {"use": "published", "path": "release.json"},
    "attacks": [{"use": "linking"}, {"use": "maxent"}],
    "metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "exposure", "at_most": 1}],
    "plugins": ["leafgate", "leafgate>=0"],
}
FILES = ("sex.csv", "test.csv", "all.csv", "known.csv", "release.json")
ORDERS = ("data.columns", "data.protect", "knows.facts", "attacks", "metrics", "plugins")


def both(folder: Path, change: Mapping[str, Any] | None = None) -> list[Path]:
    """The full policy twice, each in a folder with its files."""
    found = []
    for name, more in (("old", {}), ("new", change or {})):
        (folder / name).mkdir()
        for file in FILES:
            (folder / name / file).write_text("some file")
        found.append(survey(folder / name, {**FULL, **more}))
    return found


@pytest.mark.parametrize("file", [None, *FILES])
def test_what_a_file_holds_is_compared_as_the_digest_covers_it(tmp_path: Path, file: str | None) -> None:
    old, new = both(tmp_path)
    if file is None:
        assert leafgate("diff", old, new).out == "No difference.\n"
        return
    (new.parent / file).write_text("another")
    digests = [hashlib.sha256(text).hexdigest()[:16] for text in (b"some file", b"another")]
    about_people = file in {"test.csv", "all.csv", "known.csv"}
    out = leafgate("diff", old, new).out
    assert len(out.splitlines()) == 2
    if about_people:
        assert ": people of one file became those of another (policy.yaml:" in out
        assert not any(digest in out for digest in digests)
        return
    assert f": sha256 {digests[0]} became sha256 {digests[1]} (policy.yaml:" in out
    (new.parent / file).unlink()
    assert f": sha256 {digests[0]} became cannot be read (policy.yaml:" in leafgate("diff", old, new).out


@pytest.mark.parametrize("place", ORDERS)
def test_another_order_is_a_difference_where_the_digest_covers_it(tmp_path: Path, place: str) -> None:
    old, new = both(tmp_path)
    document = json.loads(new.read_text())
    *above, last = place.split(".")
    here = document[above[0]] if above else document
    here[last] = dict(reversed(here[last].items())) if isinstance(here[last], dict) else here[last][::-1]
    new.write_text(json.dumps(document))
    done = leafgate("diff", old, new, "--json")
    assert [(one["kind"], one["place"]) for one in done.document["changes"]] == [("different", place)]
    assert done.code == 0


@pytest.mark.parametrize("header", [True, False])
def test_columns_that_change_places_are_named(tmp_path: Path, header: bool) -> None:
    old, new = pair(tmp_path, {"data.csv": {"header": header}}, {"data.csv": {"header": header}})
    document = json.loads(new.read_text())
    columns = document["data"]["columns"]
    document["data"]["columns"] = {name: columns[name] for name in ("age", "smoker", "sex", "ill")}
    new.write_text(json.dumps(document))
    words = "different  data.columns: in the order sex, smoker became in the order smoker, sex ("
    assert leafgate("diff", old, new).out.startswith(words)


def test_without_a_header_a_column_that_comes_between_moves_the_others(tmp_path: Path) -> None:
    for header, kinds in ((True, ["different"]), (False, ["different", "different"])):
        old, new = pair(tmp_path, {"data.csv": {"header": header}}, {"data.csv": {"header": header}})
        document = json.loads(new.read_text())
        document["data"]["columns"] = {"first": {"role": "ignored"}} | document["data"]["columns"]
        new.write_text(json.dumps(document))
        assert [one["kind"] for one in leafgate("diff", old, new, "--json").document["changes"]] == kinds


VALUES: dict[str, list[Any]] = {
    "name": ["survey", "other"],
    "seed": [0, 1],
    "build.k": [3, 4],
    "metrics.0.name": ["k_anonymity", "k"],
    "metrics.0.at_least": [3, 3.0, 2],
    "metrics.0.of": ["linking"],
    "publish": [{}, {"leaves": "counts"}, {"measure": False}],
    "report": [{}, {"smallest_cell": 10}, {"smallest_cell": 9}],
    "max_waiver_days": [90, 91],
    "data.missing": [[""], ["?"]],
    "data.columns.age.bounds": [[0, 120], [0, 120.0], [0, 99]],
    "data.columns.smoker.values": [["no", "yes"], ["yes", "no"]],
}


SAMPLED = {place: st.sampled_from(values) for place, values in VALUES.items()}


@given(*(st.fixed_dictionaries({}, optional=SAMPLED) for _ in range(2)))
@pytest.mark.thorough
def test_no_difference_is_told_of_equal_digests_only(old: dict[str, Any], new: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        one, other = pair(Path(folder), new, old)
        equal = load_policy(one).policy.sha256 == load_policy(other).policy.sha256
        if leafgate("diff", one, other).out == "No difference.\n":
            assert equal


def test_words_say_what_became_of_what_and_where(tmp_path: Path) -> None:
    old, new = pair(tmp_path, {"metrics.0.at_least": 2, "report": {"smallest_cell": 12}})
    lines = [
        next(i for i, line in enumerate(new.read_text().splitlines(), 1) if key in line) for key in ("at_l", "smalle")
    ]
    assert leafgate("diff", old, new).out.splitlines() == [
        f"looser     metrics[0].at_least: 3 became 2 (old.yaml:{lines[0]}, new.yaml:{lines[0]})",
        f"tighter    report.smallest_cell: 10 became 12 (new.yaml:{lines[1]})",
        "1 looser, 1 tighter.",
    ]
    assert leafgate("diff", old, old).out == "No difference.\n"


def test_a_waiver_that_is_added_is_looser(tmp_path: Path) -> None:
    waiver = {"id": "1", "finding": "f", "release": "0" * 64, "owner": "a", "approved_by": "b", "reason": "r"}
    waivers = [waiver | {"issued": "2026-01-01", "expires": "2026-01-02"}]
    old, new = pair(tmp_path, {"waivers": waivers})
    assert leafgate("diff", old, new).code == 1
    assert leafgate("diff", new, old).code == 0


def test_policies_that_others_extend_need_not_be_complete(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("leafgate: 1\nmetrics: [{use: exposure, at_most: 0}]\n")
    (tmp_path / "b.yaml").write_text("leafgate: 1\nextends: a.yaml\nreport: {smallest_cell: 20}\n")
    done = leafgate("diff", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert (done.code, done.out.splitlines()[0][:7]) == (0, "tighter")
    for name, role in (("a", "private"), ("b", "sensitive")):
        (tmp_path / f"{name}.yaml").write_text(f"leafgate: 1\ndata: {{columns: {{smoker: {{role: {role}}}}}}}\n")
    assert leafgate("diff", tmp_path / "a.yaml", tmp_path / "b.yaml").out.splitlines()[1:] == ["1 tighter."]
    (tmp_path / "a.yaml").write_text("leafgate: 1\nbuild: {k: 3}\n")
    assert leafgate("diff", tmp_path / "a.yaml", tmp_path / "a.yaml").out == "No difference.\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("leafgate: 1\nmetrcs: []\n", "metrcs: unknown key"),
        ("leafgate: 1\nmetrics: [{use: exposure, at_leest: 0}]\n", "at_leest: unknown key"),
        ("leafgate: 1\nmetrics: [{use: exposure}]\n", "metrics[0].at_most: is missing"),
        ("leafgate: 2\n", "leafgate: "),
        ("a: [", "other.yaml, line 1"),
        ("leafgate: 1\nextends: other.yaml\n", "extends itself"),
        ('{"format": "leafgate/report/1"}', "a policy and a report"),
    ],
)
def test_what_cannot_be_compared_ends_in_2(tmp_path: Path, content: str, text: str) -> None:
    old, _ = pair(tmp_path, {})
    (tmp_path / "other.yaml").write_text(content)
    done = leafgate("diff", old, tmp_path / "other.yaml")
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert leafgate("diff", old, tmp_path / "none.yaml").code == 2


def finding(**said: Any) -> dict[str, Any]:
    limit = {"at_least": 3, "average": False, "allow": 0.0}
    fields = {"id": "m@a#s", "passed": True, "value": 5, "limit": limit | said.pop("limit", {})}
    report = {"verdict": "pass", "policy": {}, "data": {}, "release": None, "versions": {"acme": "1.0"}}
    return {**report, "findings": [fields | said]}


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ({}, {}, []),
        ({}, {"value": 4}, ["worse"]),
        ({}, {"value": 6}, ["better"]),
        ({}, {"value": 5 + 1e-13}, ["different"]),
        ({"value": {"from": 10, "to": 19}}, {"value": {"from": 20, "to": 29}}, ["better"]),
        ({"value": {"from": 10, "to": 19}}, {"value": {"fewer_than": 10}}, ["worse"]),
        ({"value": {"from": 10, "to": 19}}, {"value": 12}, ["different"]),
        ({}, {"passed": False}, ["worse"]),
        ({}, {"passed": None}, ["worse"]),
        ({"passed": False}, {"passed": None}, ["different"]),
        ({"passed": False}, {"passed": False, "waiver": {}}, ["better"]),
        ({"passed": False, "waiver": {}}, {}, ["better"]),
        ({}, {"limit": {"at_least": 2}}, ["worse"]),
        ({}, {"limit": {"allow": 0.1}}, ["worse"]),
        ({}, {"limit": {"average": True}, "value": 9}, ["worse"]),
        ({}, {"id": "n@a#s"}, ["vanished", "appeared"]),
    ],
)
def test_findings_get_better_or_worse(old: dict[str, Any], new: dict[str, Any], kinds: list[str]) -> None:
    assert [one.kind for one in moved(finding(**old), finding(**new))] == kinds


def test_another_version_of_a_plugin_is_named_before_what_got_better() -> None:
    old, new = finding(), finding(value=6) | {"versions": {"acme": "1.1"}}
    named, better = moved(old, new)
    assert (named.kind, named.what, named.old, named.new) == ("different", "version of acme", "1.0", "1.1")
    assert better.kind == "better"


def audited(folder: Path, changes: dict[str, Any], *words: object) -> Path:
    folder.mkdir()
    leafgate("audit", survey(folder, changes), "--out", folder / "out", *words)
    return folder / "out" / "report.json"


def test_two_reports_end_in_1_when_something_got_worse(tmp_path: Path) -> None:
    one = audited(tmp_path / "a", {})
    other = audited(tmp_path / "b", {"metrics.0.at_least": 20})
    done = leafgate("diff", one, other, "--json")
    kinds = [(change["kind"], change["what"]) for change in done.document["changes"]]
    assert kinds == [
        ("worse", "verdict"),
        ("different", "policy"),
        ("worse", "outcome"),
        ("better", "limit at_least"),
    ]
    assert (done.code, leafgate("diff", one, one).code, leafgate("diff", one, one).out) == (1, 0, "No difference.\n")
    assert "worse      report: verdict pass became fail" in leafgate("diff", one, other).out


def test_an_auditors_report_goes_to_a_file_for_its_owner_and_not_to_stdout(tmp_path: Path) -> None:
    one, other = (
        audited(tmp_path / name, {"build.k": k}, "--audience", "auditor") for name, k in (("a", 3), ("b", 12))
    )
    assert leafgate("diff", one, other).code == 2
    done = leafgate("diff", one, other, "--out", tmp_path / "diff.json", "--json")
    assert set(done.document) == {"format", "of"}
    assert (tmp_path / "diff.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "diff.json").read_text())["changes"]


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(0, 5), st.sampled_from(["at_least", "at_most"]))
def test_a_range_says_only_what_holds_for_all_of_it(value: float, limit: float, width: float, direction: Any) -> None:
    result = Range(value - width, value + width).holds(direction, limit)
    exact = Range(value, value).holds(direction, limit)
    assert result in {None, exact}
    assert exact is not None
    veiled = range_of({"from": value - width, "to": value + width})
    assert veiled is not None
    assert veiled.holds(direction, limit) in {None, exact}


@pytest.mark.parametrize(
    ("document", "direction", "limit", "holds"),
    [
        (20 - 1e-12, "at_least", 20, True),  # a limit is kept if it is missed by a rounding error
        (20 - 1e-6, "at_least", 20, False),
        ({"fewer_than": 20}, "at_least", 20, False),  # none of these is 20
        ({"fewer_than": 20}, "at_least", 19, None),
        ({"more_than": 0.1}, "at_most", 0.1, None),  # told to six digits
        ({"from": 0.2, "to": 0.333333}, "at_most", 0.3333331, None),
        ({"from": 10, "to": 19}, "at_most", 19, True),
    ],
)
def test_a_range_holds_as_far_as_it_is_told(document: Any, direction: Any, limit: float, holds: bool | None) -> None:
    found = range_of(document)
    assert found is not None
    assert found.holds(direction, limit) is holds


def test_a_share_of_two_ranges_is_as_wide_as_it_may_be() -> None:
    found = share_range({"from": 10, "to": 19}, {"from": 20, "to": 29})
    assert found == Range(10 / 29, 19 / 20)


def test_an_accuracy_in_steps_does_not_contradict_the_verdict_by_it() -> None:
    in_steps, exact = range_of_value(STEPPED), range_of_value(STEPPED | {"step": 0.001})
    assert in_steps is not None
    assert in_steps.holds("at_least", STEPPED["limit"]["at_least"]) is None
    assert exact is not None
    assert exact.holds("at_least", STEPPED["limit"]["at_least"]) is False


STEPPED: dict[str, Any] = {
    "id": "accuracy",
    "passed": True,
    "value": 0.67,
    "step": 0.01,
    "limit": {"at_least": 0.673},
    "people": None,
    "beyond": None,
    "evidence": {},
}
