"""Columns that follow from others: no audit passes by what people are taken not to know, and do."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import leafgate

COUNTIES = [f"c{i:02d}" for i in range(40)]
OF_COUNTIES: dict[str, Any] = {
    "zip": {"role": "ignored"},
    "county": {"role": "private", "values": COUNTIES},
    "sex": {"role": "quasi_identifier", "values": ["m", "f"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
ZIPS: dict[str, Any] = {"zip": {"role": "quasi_identifier", "bounds": [10000, 11000], "step": 1}}
ILLNESSES = {"flu": "J10", "hiv": "B20", "asthma": "J45", "none": "Z00"}
SECRET: dict[str, Any] = {"diagnosis": {"role": "sensitive", "values": [*ILLNESSES]}}
LINKING: dict[str, Any] = {"attacks": [{"use": "linking"}], "publish": {"leaves": "labels"}}


def audited(
    folder: Path,
    rows: list[dict[str, Any]],
    columns: dict[str, Any],
    known: dict[str, Any],
    metric: dict[str, Any],
    source: dict[str, Any] | None = None,
) -> tuple[str, dict[str, Any]]:
    """The verdict of a C4.5 tree that is grown where the columns are as `columns` has them, and its findings.

    It is audited where some of them are as in `known`, and the table is read as `source` says.
    """
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")

    def written(name: str, columns: dict[str, Any], **more: Any) -> Path:
        data = {"path": "t.csv", "columns": columns, **((source or {}) if name == "audited" else {})}
        document = {"leafgate": 1, "name": name, "data": data, "metrics": [metric], **LINKING, **more}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        return folder / f"{name}.yaml"

    build = {"use": "c45", "min_leaf": 2, "prune": False}
    plain = [{"use": "k_anonymity", "at_least": 2}]
    made = leafgate("build", written("built", columns, build=build, metrics=plain), "--out", folder / "r.json")
    assert made.code == 0, made.err
    policy = written("audited", {**columns, **known}, build={"use": "published", "path": "r.json"})
    leafgate("audit", policy, "--out", folder / "out", "--no-remedies")
    document = json.loads((folder / "out" / "report.json").read_text())
    return document["verdict"], {each["id"]: each for each in document["findings"]}


def people_of_counties(strangers: int) -> list[dict[str, Any]]:
    """240 people of 40 counties, whose postcode is that of their county but for some of them."""
    rng = random.Random(0)
    elsewhere = {*rng.sample(range(240), strangers)}
    chosen = [rng.choice(range(40)) if i in elsewhere else i // 6 for i in range(240)]
    return [
        {"zip": 10000 + 7 * place, "county": COUNTIES[i // 6], "sex": "mf"[i % 2], "ill": ("no", "yes")[i // 6 % 2]}
        for i, place in enumerate(chosen)
    ]


@pytest.mark.parametrize(("strangers", "asked"), [(0, True), (2, True), (24, False), (240, False)])
def test_a_private_column_that_follows_from_a_public_one_is_asked_about(
    tmp_path: Path, strangers: int, asked: bool
) -> None:
    limit = {"use": "exposure", "at_most": 0}
    verdict, findings = audited(tmp_path, people_of_counties(strangers), OF_COUNTIES, ZIPS, limit)
    assert verdict == ("inconclusive" if asked else "pass")
    assert ("dependency#county" in findings) is asked
    if asked:
        known, chance = findings["dependency#county"]["remedies"]
        assert (known["place"], known["value"]) == ("data.columns.county.role", "quasi_identifier")
        assert (chance["place"], chance["value"]) == ("data.columns.county.independent_of", ["zip"])
        by_chance = {"county": {**OF_COUNTIES["county"], "independent_of": ["zip"]}}
        assert audited(tmp_path, people_of_counties(strangers), OF_COUNTIES, ZIPS | by_chance, limit)[0] == "pass"
        columns = OF_COUNTIES | {"county": {"role": "quasi_identifier", "values": COUNTIES}}
        assert audited(tmp_path, people_of_counties(strangers), columns, ZIPS, limit)[0] == "fail"


def of_codes(rows: list[dict[str, Any]], role: Any = "class") -> dict[str, Any]:
    """Columns of people with codes, as a tree is grown on them: without their secrets."""
    return {
        "age": {"role": "quasi_identifier", "bounds": [0, 120], "step": 1},
        "diagnosis": {"role": "ignored"},
        "icd": {"role": role, "values": sorted({row["icd"] for row in rows})},
    }


def people_with_codes(codes: int, mixed: bool) -> list[dict[str, Any]]:
    """400 people with an illness and its code, one of so many; mixed, the code is chance."""
    rng, rows = random.Random(0), []
    for _ in range(400):
        age = rng.randint(20, 79)
        illness = rng.choices(list(ILLNESSES), weights=[3, 1 if age < 50 else 6, 2, 4])[0]
        code = rng.choice([*ILLNESSES.values()]) if mixed else ILLNESSES[illness]
        rows.append({"age": age, "diagnosis": illness, "icd": f"{code}.{rng.randrange(codes)}"})
    return rows


@pytest.mark.parametrize(
    ("role", "codes", "mixed", "limit"),
    [
        ("class", 1, False, {}),
        ("class", 1, True, {}),
        (["class", "sensitive"], 1, False, {}),
        ("class", 4, False, {}),
        ("class", 1, False, {"secret": "diagnosis"}),
        ("class", 1, False, {"values": ["hiv"]}),
    ],
    ids=["follows", "chance", "secret", "fine codes", "a limit on the secret", "a limit on a value"],
)
@pytest.mark.parametrize("blocks", [False, True])
def test_a_class_that_tells_a_secret_is_judged_as_one(
    tmp_path: Path, role: Any, codes: int, mixed: bool, limit: dict[str, Any], blocks: bool
) -> None:
    rows = people_with_codes(codes, mixed)
    columns = of_codes(rows, role)
    source = {"source": {"use": "polars", "most_records": 1}} if blocks else {}
    verdict, findings = audited(
        tmp_path, rows, columns, SECRET, {"use": "confidence", "at_most": 0.35, **limit}, source
    )
    is_asked = role == "class" and not mixed
    assert ("dependency#icd" in findings) is is_asked
    assert verdict == ("fail" if role != "class" else "inconclusive" if is_asked else "pass")
    if is_asked:
        assert findings["dependency#icd"]["remedies"][0]["value"] == ["class", "sensitive"]
        assert "confidence@linking#icd" in findings["dependency#icd"]["evidence"]["reason"]


def test_people_without_an_answer_contradict_no_column(tmp_path: Path) -> None:
    rows = people_with_codes(1, mixed=False)
    rows = [{**row, "diagnosis": "unknown" if i % 8 == 0 else row["diagnosis"]} for i, row in enumerate(rows)]
    columns = of_codes(rows)
    values = {"values": [*ILLNESSES, "unknown"], "no_answer": ["unknown"]}
    secret = {"diagnosis": {"role": "sensitive", **values}}
    assert "dependency#icd" in audited(tmp_path, rows, columns, secret, {"use": "confidence", "at_most": 0.35})[1]


def test_a_class_may_tell_any_of_several_secrets(tmp_path: Path) -> None:
    rows = [{**row, "ward": row["diagnosis"].upper()} for row in people_with_codes(1, mixed=False)]
    columns = of_codes(rows) | {"ward": {"role": "ignored"}}
    secrets = SECRET | {"ward": {"role": "sensitive", "values": sorted(map(str.upper, ILLNESSES))}}
    for secret in secrets:
        limit = {"use": "confidence", "at_most": 0.35, "secret": secret}
        assert "dependency#icd" in audited(tmp_path, rows, columns, secrets, limit)[1]


@pytest.mark.parametrize(("at_most", "asked"), [(0.35, True), (0.95, False)])
def test_a_limit_on_some_values_that_holds_for_the_codes_too_is_no_question(
    tmp_path: Path, at_most: float, asked: bool
) -> None:
    rows = people_with_codes(2, mixed=False)
    columns = of_codes(rows)
    limit = {"use": "confidence", "at_most": at_most, "values": ["hiv"]}
    verdict, findings = audited(tmp_path, rows, columns, SECRET, limit)
    assert ("dependency#icd" in findings, verdict) == (asked, "inconclusive" if asked else "pass")


def test_people_who_are_their_own_groups_tell_nothing(tmp_path: Path) -> None:
    """Each of 60 people has four rows, a postcode of her own and one county: no postcode is that of two people."""
    rows = [
        {"person": i // 4, "zip": 10000 + i // 4, "county": COUNTIES[i // 4 % 8], "ill": ["no", "yes"][i // 4 % 2]}
        for i in range(240)
    ]
    columns = {
        "person": {"role": "person"},
        "zip": {"role": "quasi_identifier", "bounds": [10000, 11000], "step": 1},
        "county": {"role": "private", "values": COUNTIES[:8]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    verdict, findings = audited(tmp_path, rows, columns, {}, {"use": "exposure", "at_most": 0})
    assert (verdict, "dependency#county" in findings) == ("pass", False)


def test_a_population_without_the_column_is_said_to_lack_it(tmp_path: Path) -> None:
    rows = people_of_counties(0)
    public = "\n".join(["zip,sex", *(f"{row['zip']},{row['sex']}" for row in rows)])
    (tmp_path / "population.csv").write_text(public + "\n")
    source = {"population": "population.csv"}
    findings = audited(tmp_path, rows, OF_COUNTIES, ZIPS, {"use": "exposure", "at_most": 0}, source)[1]
    assert "`data.population` has no column 'county'" in findings["dependency#county"]["evidence"]["reason"]


def test_a_column_is_independent_of_columns_that_there_are(tmp_path: Path) -> None:
    county = {"county": {**OF_COUNTIES["county"], "independent_of": ["zap"]}}
    with pytest.raises(AssertionError, match="`independent_of` of 'county' lists 'zap', which is no column"):
        audited(tmp_path, people_of_counties(0), OF_COUNTIES | county, {}, {"use": "exposure", "at_most": 0})
