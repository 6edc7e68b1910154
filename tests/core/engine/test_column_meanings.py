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
ILLNESSES = {"flu": "J10", "hiv": "B20", "asthma": "J45", "none": "Z00"}
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
    columns = {
        "zip": {"role": "ignored"},
        "county": {"role": "private", "values": COUNTIES},
        "sex": {"role": "quasi_identifier", "values": ["m", "f"]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    zips = {"zip": {"role": "quasi_identifier", "bounds": [10000, 11000], "step": 1}}
    limit = {"use": "exposure", "at_most": 0}
    verdict, findings = audited(tmp_path, people_of_counties(strangers), columns, zips, limit)
    assert verdict == ("inconclusive" if asked else "pass")
    assert ("determined#county" in findings) is asked
    if asked:
        (known, _) = findings["determined#county"]["remedies"]
        assert (known["place"], known["value"]) == ("data.columns.county.role", "quasi_identifier")
        open_county = {"county": {"role": "quasi_identifier", "values": COUNTIES}}
        columns = {**columns, **open_county}
        assert audited(tmp_path, people_of_counties(strangers), columns, zips, limit)[0] == "fail"


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
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 120], "step": 1},
        "diagnosis": {"role": "ignored"},
        "icd": {"role": role, "values": sorted({row["icd"] for row in rows})},
    }
    secret = {"diagnosis": {"role": "sensitive", "values": [*ILLNESSES]}}
    source = {"source": {"use": "polars", "most_records": 1}} if blocks else {}
    verdict, findings = audited(
        tmp_path, rows, columns, secret, {"use": "confidence", "at_most": 0.35, **limit}, source
    )
    is_asked = role == "class" and not mixed
    assert ("determined#icd" in findings) is is_asked
    assert verdict == ("fail" if role != "class" else "inconclusive" if is_asked else "pass")
    if is_asked:
        assert findings["determined#icd"]["remedies"][0]["value"] == ["class", "sensitive"]
        assert "confidence@linking#icd" in findings["determined#icd"]["evidence"]["reason"]


def test_people_without_an_answer_contradict_no_column(tmp_path: Path) -> None:
    rows = people_with_codes(1, mixed=False)
    rows = [{**row, "diagnosis": "unknown" if i % 8 == 0 else row["diagnosis"]} for i, row in enumerate(rows)]
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 120], "step": 1},
        "diagnosis": {"role": "ignored"},
        "icd": {"role": "class", "values": sorted({row["icd"] for row in rows})},
    }
    values = {"values": [*ILLNESSES, "unknown"], "no_answer": ["unknown"]}
    secret = {"diagnosis": {"role": "sensitive", **values}}
    assert "determined#icd" in audited(tmp_path, rows, columns, secret, {"use": "confidence", "at_most": 0.35})[1]
