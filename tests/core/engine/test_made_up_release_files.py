"""Release files that somebody wrote by hand to expose people, each beside an honest file: none of the former passes."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import Ended, leafgate

PEOPLE = [("north", "ill", 20 + i % 5) for i in range(30)] + [
    ("south", "ill" if i % 2 else "well", 20 + i % 5) for i in range(30)
]
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "town": {"role": "quasi_identifier", "values": ["north", "south"]},
    "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
    "age": {"role": "private", "bounds": [0, 120]},
}
SCHEMA: dict[str, Any] = {
    "town": {"role": ["quasi_identifier"], "values": ["north", "south"]},
    "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
    "age": {"role": ["private"], "bounds": [0, 120]},
}


def leaf(ill: float, well: float, **more: Any) -> dict[str, Any]:
    return {"kind": "leaf", "label": "ill", "counts": {"ill": ill, "well": well}, **more}


def by_town(north: dict[str, Any], south: dict[str, Any]) -> dict[str, Any]:
    branches = [{"values": ["north"], "node": north}, {"values": ["south"], "node": south}]
    return {"kind": "fan", "column": "town", "branches": branches}


def release(**changes: Any) -> dict[str, Any]:
    """A tree of one leaf that tells nothing about anybody alone, with other content at some keys."""
    document: dict[str, Any] = {
        "format": "leafgate/release/1",
        "builder": {"use": "hand"},
        "target": "state",
        "classes": ["ill", "well"],
        "publish": {"leaves": "counts", "measure": None},
        "counted": "exact",
        "selection": None,
        "schema": copy.deepcopy(SCHEMA),
        "trees": [leaf(45, 15)],
    }
    return document | changes


def records(rows: list[list[Any]], weight: list[int], columns: tuple[str, ...] = ("town", "state")) -> dict[str, Any]:
    return {
        "model": "none",
        "trees": [],
        "records": {"columns": list(columns), "rows": rows, "weight": weight},
    }


def audited(folder: Path, fields: dict[str, Any], roles: dict[str, Any] | None = None, **policy: Any) -> Ended:
    """The audit of a release file under a policy that forbids to be certain and right about anybody."""
    lines = [f"Person {i},{town},{state},{age}" for i, (town, state, age) in enumerate(PEOPLE)]
    (folder / "people.csv").write_text("\n".join(["name,town,state,age", *lines]) + "\n")
    (folder / "release.json").write_text(json.dumps(fields))
    document = {
        "leafgate": 1,
        "name": "made up",
        "data": {"path": "people.csv", "columns": COLUMNS | (roles or {})},
        "build": {"use": "published", "path": "release.json"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "exposure", "at_most": 0}, {"use": "k_anonymity", "at_least": 5}],
    } | policy
    (folder / "policy.yaml").write_text(json.dumps(document))
    return leafgate("audit", folder / "policy.yaml", "--json")


DERIVED = [{"use": "exposure", "at_most": 0, "scored": "derived"}]
"""A limit that does not look at what the groups are truly composed of, which alone breaks the others."""


def test_an_honest_tree_passes(tmp_path: Path) -> None:
    assert audited(tmp_path, release()).code == 0


def test_scores_without_a_model_file_leave_the_class_open(tmp_path: Path) -> None:
    def scored(ill: float) -> dict[str, Any]:
        return {"kind": "leaf", "label": "ill", "scores": {"ill": ill, "well": 0.0}}

    result = release(trees=[by_town(scored(50.0), scored(0.0))], combine="boost", counted="unknown")
    result["publish"]["leaves"] = "labels"
    assert audited(tmp_path, result).code == 1
    assert audited(tmp_path, result, metrics=DERIVED).code == 3


def test_scores_beside_counts_of_unknown_people_leave_the_class_open(tmp_path: Path) -> None:
    def scored(ill: float) -> dict[str, Any]:
        return leaf(1.5, 1.5, scores={"ill": ill, "well": 0.0})

    result = release(trees=[by_town(scored(50.0), scored(0.0))], combine="boost", counted="unknown")
    assert audited(tmp_path, result).code == 1
    assert audited(tmp_path, result, metrics=DERIVED).code == 3


def test_numbers_on_leaves_of_a_class_of_texts_are_refused(tmp_path: Path) -> None:
    ended = audited(tmp_path, release(trees=[leaf(45, 15, value=20.0017)]))
    assert ended.code == 2
    assert "value" in ended.problems[0]["message"]


ROWS = [[f"Person {i}", town, state] for i, (town, state, _) in enumerate(PEOPLE)]
SOMEBODY = "Person 17 of north is ill"
FREE: dict[str, dict[str, Any]] = {
    "rows among the options": {"builder": {"use": "hand", "people": ROWS}},
    "rows in an object": {"builder": {"use": "hand", "of": {"people": {"Person 17": "ill"}}}},
    "a sentence among the options": {"builder": {"use": "hand", "note": SOMEBODY}},
    "a sentence as an option's name": {"builder": {"use": "hand", SOMEBODY: 1}},
    "a sentence for the builder": {"builder": {"use": SOMEBODY}},
    "many numbers": {"builder": {"use": "hand"} | {f"x{i}": i for i in range(9)}},
    "options an installed builder does not have": {"builder": {"use": "c45", "people": 17}},
    "an installed builder's option of another kind": {"builder": {"use": "c45", "min_leaf": ROWS}},
    "rows in the selection": {"selection": {"measure": "gini", "people": ROWS}},
    "rows for a fact of the selection": {"selection": {"measure": "gini", "k": ROWS}},
    "a sentence for a fact of the selection": {"selection": {"measure": "gini", "split": SOMEBODY}},
    "a claim of many numbers": {"guarantee": {"k": [{"at_least": 1 + i / 1000} for i in range(200)]}},
    "a sentence for an alternative": {"alternatives": {SOMEBODY: leaf(45, 15)}},
    "rows as a switch of a column": {"schema": SCHEMA | {"age": SCHEMA["age"] | {"ordered": ROWS}}},
    "rows as a column's bins": {"schema": SCHEMA | {"age": SCHEMA["age"] | {"bins": ROWS}}},
    "a model file's disclosures": {
        "file": {"format": "xgboost", "sha256": "0", "discloses": [{"kind": "x", "severity": "low", "says": SOMEBODY}]}
    },
}


@pytest.mark.parametrize("case", FREE)
def test_content_that_nobody_audits_is_refused(tmp_path: Path, case: str) -> None:
    result = release(**FREE[case])
    result["publish"]["measure"] = (result["selection"] or {}).get("measure")
    ended = audited(tmp_path, result)
    assert ended.code == 2
    assert all("Person" not in str(problem) for problem in ended.problems)


@pytest.mark.parametrize(
    "document",
    [
        {"builder": {"use": "c45", "min_leaf": 2, "prune": False}},
        {"builder": {"use": "acme.trees", "depth": 3, "rule": "greedy", "deep": True}},
        {"selection": {"measure": "gain_ratio", "average_gain": True, "min_leaf": 2, "from": "complete records"}},
    ],
)
def test_options_and_facts_about_the_algorithm_are_no_trouble(tmp_path: Path, document: dict[str, Any]) -> None:
    whole = release(**document)
    whole["publish"]["measure"] = (whole["selection"] or {}).get("measure")
    assert audited(tmp_path, whole).code == 0


@pytest.mark.parametrize("attack", ["maxent", "counting"])
@pytest.mark.parametrize("part", ["records", "alternatives"])
def test_a_published_part_that_no_attack_reads_is_inconclusive(tmp_path: Path, attack: str, part: str) -> None:
    parts = {"records": {"records": HONEST["records"]}, "alternatives": {"alternatives": {"plain": EXACT}}}
    limits = [{"use": "exposure", "at_most": 0}]
    result = release(**parts[part])
    assert audited(tmp_path, result, attacks=[{"use": attack}], metrics=limits).code == 3
    assert audited(tmp_path, result, attacks=[{"use": attack}, {"use": "linking"}], metrics=limits).code == 1
    assert audited(tmp_path, release(), attacks=[{"use": attack}], metrics=limits).code == 0


EXACT = by_town(leaf(30, 0), leaf(15, 15))


@pytest.mark.parametrize("counted", ["exact", "sampled", "bootstrap", "perturbed", "noisy", "unknown"])
def test_exact_counts_never_pass_under_whatever_label(tmp_path: Path, counted: str) -> None:
    ended = audited(tmp_path, release(trees=[EXACT], counted=counted))
    assert ended.code == 1
    assert any(finding["id"] == "counted" for finding in ended.document["findings"]) is (counted != "exact")
    groups = [{"use": "k_anonymity", "at_least": 5}]
    assert audited(tmp_path, release(trees=[EXACT], counted=counted), metrics=groups).code == (
        0 if counted == "exact" else 3
    )


def test_exact_shares_labelled_unknown_never_pass(tmp_path: Path) -> None:
    def shares(ill: float) -> dict[str, Any]:
        return {"kind": "leaf", "label": "ill", "shares": {"ill": ill, "well": 1 - ill}}

    result = release(trees=[by_town(shares(1.0), shares(0.5))], counted="unknown")
    result["publish"]["leaves"] = "shares"
    assert audited(tmp_path, result).code == 1
    assert audited(tmp_path, result, metrics=[{"use": "k_anonymity", "at_least": 5}]).code == 3


def test_whole_numbers_labelled_unknown_that_are_other_peoples_are_inconclusive(tmp_path: Path) -> None:
    others = release(trees=[by_town(leaf(29, 1), leaf(16, 14))], counted="unknown")
    assert audited(tmp_path, others).code == 1  # all people of the first leaf are ill, whatever it says
    ended = audited(tmp_path, others, metrics=[{"use": "k_anonymity", "at_least": 5}])
    assert ended.code == 3
    assert any(finding["id"] == "counted" for finding in ended.document["findings"])


def test_bounds_that_the_policy_does_not_declare_are_refused(tmp_path: Path) -> None:
    """Bounds that are the data's extremes tell what the youngest and the oldest have."""
    for bounds, code in [([0, 120], 0), ([20, 24], 2), ([0, 120.5], 2)]:
        schema = SCHEMA | {"age": SCHEMA["age"] | {"bounds": bounds}}
        assert audited(tmp_path, release(schema=schema)).code == code
    assert audited(tmp_path, release(schema=SCHEMA | {"age": {"role": ["private"]}})).code == 0


HONEST = records([["north", "ill"], ["south", "ill"], ["south", "well"]], [30, 15, 15])
SUPPRESSED = records([[{"withheld": True}, "ill"], [{"withheld": True}, "well"]], [45, 15])


def test_an_honest_table_that_withholds_the_town_passes(tmp_path: Path) -> None:
    assert audited(tmp_path, release(**SUPPRESSED)).code == 0


def test_an_honest_table_that_shows_a_town_of_ill_people_fails(tmp_path: Path) -> None:
    assert audited(tmp_path, release(**HONEST)).code == 1


@pytest.mark.parametrize("counted", ["exact", "unknown", "sampled"])
def test_records_with_true_secrets_that_match_nobody_are_inconclusive(tmp_path: Path, counted: str) -> None:
    roles = {"town": COLUMNS["town"] | {"values": ["north", "south", "nowhere", "west"]}}
    schema = SCHEMA | {"town": SCHEMA["town"] | {"values": ["north", "south", "nowhere", "west"]}}
    result = records([["nowhere", "ill"], ["west", "ill"], ["west", "well"]], [30, 15, 15])
    assert audited(tmp_path, release(schema=schema, counted=counted, **result), roles).code == 3


@pytest.mark.parametrize(
    ("rows", "weight"),
    [
        ([["north", "well"], ["south", "ill"]], [30, 30]),  # the right towns, other secrets
        ([[{"in": ["north"]}, "ill"], [{"withheld": True}, "well"], [{"withheld": True}, "ill"]], [31, 15, 14]),
        ([[{"withheld": True}, "ill"], [{"withheld": True}, "well"]], [40, 20]),
    ],
)
def test_records_that_cannot_be_the_people_never_pass(tmp_path: Path, rows: Any, weight: list[int]) -> None:
    ended = audited(tmp_path, release(**records(rows, weight)))
    assert ended.code in {1, 3}
    assert any(finding["id"] == "counted" for finding in ended.document["findings"])


def shared(scale: float, value: float) -> dict[str, Any]:
    """Everybody's age under noise of one scale; the release says another."""
    noise = np.random.default_rng(0).normal(0, scale, len(PEOPLE))
    rows = [[float(age + r)] for (_, _, age), r in zip(PEOPLE, noise.tolist(), strict=True)]
    return {
        **records(rows, [1] * len(rows), ("age",)),
        "counted": "perturbed",
        "noise": {"age": {"law": "gaussian", "scale": value}},
    }


SECRET_AGE = {"age": {"role": "sensitive", "bins": [0, 20.5, 22.5, 120]}}


def test_noise_on_a_secret_that_the_release_calls_private_is_looked_through(tmp_path: Path) -> None:
    schema = SCHEMA | {"age": {"role": ["private"], "bounds": [0, 120], "bins": [0, 20.5, 22.5, 120]}}
    metrics = [{"use": "k_anonymity", "at_least": 5}]
    ended = audited(tmp_path, release(schema=schema, **shared(1e-6, 1e-6)), SECRET_AGE, metrics=metrics)
    assert ended.code == 3
    assert any(finding["id"] == "records#age" for finding in ended.document["findings"])


def test_numbers_with_less_noise_than_the_release_says_are_inconclusive(tmp_path: Path) -> None:
    metrics = [{"use": "k_anonymity", "at_least": 5}]
    assert audited(tmp_path, release(**shared(30.0, 30.0)), metrics=metrics).code == 0
    assert audited(tmp_path, release(**shared(1.0, 30.0)), metrics=metrics).code == 3
    assert audited(tmp_path, release(**shared(0.0, 0.001)), metrics=metrics).code == 3


def test_trees_beside_noise_are_attacked_unless_they_ask_for_noisy_numbers(tmp_path: Path) -> None:
    result = shared(30.0, 30.0) | {"model": "trees", "trees": [leaf(45, 15)], "alternatives": {"plain": EXACT}}
    metrics = [{"use": "k_anonymity", "at_least": 40}]
    assert audited(tmp_path, release(**result), metrics=metrics).code == 1
    assert audited(tmp_path, release(**result | {"alternatives": {}}), metrics=metrics).code == 0


BY_AGE = {"kind": "cut", "column": "age", "at": 22.5, "low": leaf(30, 0), "high": leaf(15, 15)}
NOISE = {"age": {"law": "gaussian", "scale": 1.0}}


@pytest.mark.parametrize(
    "records_told",
    [
        {},
        {"records": {"columns": ["town"], "rows": [["north"], ["south"]], "weight": [30, 30]}},
        {"records": {"columns": ["age"], "rows": [[{"from": 0, "to": 120}]], "weight": [60]}},
    ],
    ids=["no records", "records of other columns", "no numbers"],
)
def test_noise_on_numbers_that_no_record_shows_is_refused(tmp_path: Path, records_told: dict[str, Any]) -> None:
    result = release(alternatives={"second": BY_AGE}, noise=NOISE) | records_told
    ended = audited(tmp_path, result)
    assert ended.code == 2
    assert "no published record has a number with this noise" in ended.problems[0]["message"]


def with_noisy_records(alternative: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A harmless tree, an alternative that asks for the records' noisy ages, and these records."""
    rows = [[age + (7 * i % 12) - 5.5, state] for i, (_, state, age) in enumerate(PEOPLE)]
    fields = {"columns": ["age", "state"], "rows": rows, "weight": [1] * len(rows)}
    noise = {"age": {"law": "gaussian", "scale": 3.0}}
    return release(alternatives={"second": alternative}, noise=noise, records=fields, counted="perturbed", **changes)


def counted_by_noisy_age() -> dict[str, Any]:
    low = [state for i, (_, state, age) in enumerate(PEOPLE) if age + (7 * i % 12) - 5.5 <= 22.5]
    high = [state for i, (_, state, age) in enumerate(PEOPLE) if age + (7 * i % 12) - 5.5 > 22.5]
    sides = [leaf(side.count("ill"), side.count("well")) for side in (low, high)]
    return {"kind": "cut", "column": "age", "at": 22.5, "low": sides[0], "high": sides[1]}


def finding_ids(ended: Ended) -> set[str]:
    return {finding["id"] for finding in json.loads(ended.out)["findings"]}


def test_a_tree_of_noisy_numbers_that_counts_others_than_the_records_is_inconclusive(tmp_path: Path) -> None:
    honest, other = counted_by_noisy_age(), counted_by_noisy_age()
    other["low"]["counts"]["ill"] += 1
    labelled = copy.deepcopy(honest)
    labelled["low"]["label"] = "well"
    assert "unread#noisy_alternatives" not in finding_ids(audited(tmp_path, with_noisy_records(honest)))
    for alternative in (other, labelled, BY_AGE):
        ended = audited(tmp_path, with_noisy_records(alternative))
        assert ended.code in {1, 3}
        assert "unread#noisy_alternatives" in finding_ids(ended)


def test_a_secret_that_is_withheld_in_every_record_is_not_spoken_of(tmp_path: Path) -> None:
    roles = {
        "state": {"role": "sensitive", "values": ["ill", "well"]},
        "age": {"role": "class", "values": [str(age) for age in range(20, 25)]},
    }
    schema = copy.deepcopy(SCHEMA) | {"age": {"role": ["class"], "values": roles["age"]["values"]}}
    schema["state"]["role"] = ["sensitive"]
    withheld = {"withheld": True}

    def release_document(state_of_north: Any) -> dict[str, Any]:
        rows = records([["north", state_of_north], ["south", withheld]], [30, 30])
        return release(schema=schema, target="age", classes=roles["age"]["values"], **rows)

    assert audited(tmp_path, release_document(withheld), roles).code == 0
    assert audited(tmp_path, release_document("ill"), roles).code == 1


def dropped_audit(folder: Path, tree: dict[str, Any], people: list[str]) -> Ended:
    """The audit of a file that says not what it counts, on a table that leaves out people with missing ages."""
    (folder / "people.csv").write_text("\n".join(["age,state", *people]) + "\n")
    schema = {"age": SCHEMA["age"] | {"role": ["quasi_identifier"]}, "state": SCHEMA["state"]}
    result = release(trees=[tree], schema=schema, counted="unknown", publish={"leaves": "shares", "measure": None})
    (folder / "release.json").write_text(json.dumps(result))
    columns = {"age": COLUMNS["age"] | {"role": "quasi_identifier"}, "state": COLUMNS["state"]}
    document = {
        "leafgate": 1,
        "name": "dropped",
        "data": {"path": "people.csv", "columns": columns, "missing": [""], "on_missing": "drop"},
        "build": {"use": "published", "path": "release.json"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "exposure", "at_most": 0}],
    }
    (folder / "policy.yaml").write_text(json.dumps(document))
    return leafgate("audit", folder / "policy.yaml", "--json")


def test_numbers_of_people_who_were_dropped_for_missing_cells_never_pass(tmp_path: Path) -> None:
    def shares(ill: float) -> dict[str, Any]:
        return {"kind": "leaf", "label": "ill", "shares": {"ill": ill, "well": 1 - ill}}

    everybody = [f"{20 + i},{'ill' if i % 3 else 'well'}" for i in range(30)]
    gaps = [",ill"] * 14
    tree = {"kind": "cut", "column": "age", "at": 100, "low": shares(0.665), "high": shares(1.0)}
    ended = dropped_audit(tmp_path, tree | {"missing": "high"}, everybody + gaps)
    assert (ended.code, "counted" in finding_ids(ended)) == (3, True)
    assert "on_missing: keep" in ended.out
    [counted] = [finding for finding in ended.document["findings"] if finding["id"] == "counted"]
    assert counted["evidence"]["dropped"] == {"from": 10, "to": 19}
    assert "whom the file may count: 10 to 19" in leafgate("audit", tmp_path / "policy.yaml").out
    assert dropped_audit(tmp_path, tree | {"missing": "high"}, everybody).code == 0
    assert dropped_audit(tmp_path, tree | {"missing": "low"}, everybody + gaps).code == 0
    assert dropped_audit(tmp_path, shares(0.665), everybody + gaps).code == 0


@pytest.mark.parametrize("repeated", [True, False])
def test_a_report_says_that_an_identifier_stands_in_several_rows(tmp_path: Path, repeated: bool) -> None:
    audited(tmp_path, release())
    content = (tmp_path / "people.csv").read_text()
    (tmp_path / "people.csv").write_text(content.replace("Person 1,", "Person 0,") if repeated else content)
    ended = leafgate("audit", tmp_path / "policy.yaml", "--json")
    noted = [note for note in json.loads(ended.out)["notes"] if "identifier 'name'" in note]
    assert len(noted) == repeated
    assert "Person" not in ended.out
