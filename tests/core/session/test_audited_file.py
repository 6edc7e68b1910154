"""Which file a report is about: its name, its format and the digest of the very bytes that were audited."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from installed_readers import neutral_file
from leafgate import PolicyError, ReleaseError
from leafgate.app import Session, document, open_session, parse_report, readable
from leafgate.errors import ReportError
from leafgate.models import load as fitting
from leafgate.models.exposure import cells
from leafgate.models.reader import model_bytes
from reports import view
from sample_model import MODEL

TODAY = date(2026, 11, 22)
PEOPLE = "age,school,income\n" + "20,none,low\n30,basic,low\n" * 2 + "37.5,high,low\n25,high,high\n"
PEOPLE += "40,none,high\n?,?,high\n50,high,high\n60,basic,low\n"
ANOTHER = replace(MODEL, producer="another program")
"""The same trees, which another program wrote."""
FINDING = "k_anonymity@linking#income"
WAIVER = {
    "id": "W-1",
    "finding": FINDING,
    "owner": "jane@example.org",
    "approved_by": "dpo@example.org",
    "reason": "a pilot of two weeks",
    "issued": "2026-11-01",
    "expires": "2026-12-01",
}


def policy(folder: Path, path: str, *, school: str = "quasi_identifier", waivers: Any = (), **changes: Any) -> Path:
    """A policy that audits the file at `path` below the folder, and asks for larger groups than there are."""
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [17, 90]},
        "school": {"role": school, "values": ["none", "basic", "high"]},
        "income": {"role": ["class", "sensitive"], "values": ["low", "high"]},
    }
    fields = {
        "leafgate": 1,
        "name": "model",
        "data": {"path": "people.csv", "missing": ["?"], "on_missing": "keep", "columns": columns},
        "build": {"use": "published", "path": path},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 5}],
        "waivers": list(waivers),
        **changes,
    }
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "policy.yaml").write_text(json.dumps(fields))
    return folder / "policy.yaml"


def run(folder: Path, path: str = "model.json", **changes: Any) -> Session:
    return open_session(policy(folder, path, **changes))


def report(folder: Path, path: str = "model.json", **changes: Any) -> dict[str, Any]:
    """The public report of an audit, as its file has it."""
    fields: dict[str, Any] = json.loads(readable(document(run(folder, path, **changes).audit(TODAY).report, "public")))
    return fields


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the model as a neutral file."""
    (tmp_path / "model.json").write_bytes(neutral_file(MODEL))
    return tmp_path


def test_the_report_says_first_which_model_file_was_audited(folder: Path) -> None:
    release = report(folder)["release"]
    file = {"name": "model.json", "format": "leafgate/model/1", "sha256": sha256((folder / "model.json").read_bytes())}
    assert next(iter(release.items())) == ("file", file)
    assert release["sha256"] != file["sha256"]


def without_missing() -> dict[str, Any]:
    """The data of the policy without people whose cells are missing."""
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [17, 90]},
        "school": {"role": "quasi_identifier", "values": ["none", "basic", "high"]},
        "income": {"role": ["class", "sensitive"], "values": ["low", "high"]},
    }
    return {"path": "people.csv", "missing": ["?"], "on_missing": "drop", "columns": columns}


def test_a_columns_role_changes_the_renditions_digest_and_not_the_files(folder: Path) -> None:
    known, unknown = (report(folder, school=role)["release"] for role in ("quasi_identifier", "private"))
    assert known["file"] == unknown["file"]
    assert known["sha256"] != unknown["sha256"]


def test_the_digest_of_a_release_file_is_that_of_the_release(folder: Path) -> None:
    sealed = run(folder, build={"use": "kadet", "k": 3}, data=without_missing()).audit(TODAY).artifact
    assert sealed is not None
    (folder / "release.json").write_bytes(sealed.content)
    release = report(folder, "release.json", data=without_missing())["release"]
    assert release["file"] == {"name": "release.json", "format": "leafgate/release/1", "sha256": sealed.sha256}
    assert release["sha256"] == sealed.sha256


@pytest.mark.parametrize("build", [{"use": "kadet", "k": 3}, {"use": "c45"}])
def test_a_release_that_was_built_names_no_file(folder: Path, build: dict[str, Any]) -> None:
    report_document = report(folder, build=build, data=without_missing())
    assert "file" not in report_document["release"]
    assert "audited file" not in view(report_document, "text").decode()


def test_the_digest_is_of_the_bytes_read_though_the_file_is_replaced_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited = run(folder)
    before, reads = (folder / "model.json").read_bytes(), []

    def replaced_after_reading(path: Path) -> bytes:
        content = model_bytes(path)
        reads.append(path)
        path.write_text("another file")
        return content

    monkeypatch.setattr(fitting, "model_bytes", replaced_after_reading)
    sealed = audited.audit(TODAY).artifact
    assert sealed is not None
    assert sealed.provenance.audited_file is not None
    assert (sealed.provenance.audited_file.sha256, len(reads)) == (sha256(before), 1)


def test_a_name_has_no_folder(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "model.json").rename(folder / "deep" / "er" / "model.json")
    report_document = report(folder, "deep/er/model.json")
    assert report_document["release"]["file"]["name"] == "model.json"
    assert str(folder) not in json.dumps(report_document)


def test_a_name_that_is_no_text_is_told_as_one(folder: Path) -> None:
    name = os.fsdecode(b"model\xff.json")
    try:
        (folder / "model.json").rename(folder / name)
    except OSError:
        pytest.skip("this file system takes no such name")
    (folder / "link.json").symlink_to(name)
    assert report(folder, "link.json")["release"]["file"]["name"] == "model\N{REPLACEMENT CHARACTER}.json"


def test_the_files_name_is_no_part_of_the_release(folder: Path) -> None:
    first = report(folder)["release"]
    (folder / "model.json").rename(folder / "renamed.json")
    second = report(folder, "renamed.json")["release"]
    assert first["sha256"] == second["sha256"]
    assert (first["file"]["name"], second["file"]["name"]) == ("model.json", "renamed.json")


def stored(folder: Path, change: Callable[[dict[str, Any]], Any]) -> bytes:
    report_document = report(folder)
    change(report_document)
    return json.dumps(report_document).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: value["release"]["file"].update(sha256="0" * 63), "release.file.sha256"),
        (lambda value: value["release"]["file"].update(path="/home"), "release.file: has a key"),
        (lambda value: value["release"]["file"].update(name=""), "release.file.name"),
        (lambda value: value["release"]["file"].pop("format"), "has no 'format'"),
        (lambda value: value["release"].update(file=None), "release.file"),
    ],
)
def test_a_stored_report_with_a_file_of_another_form_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(ReportError, match=message):
        parse_report(stored(folder, change), "report.json")


def test_the_diff_of_two_reports_says_that_the_file_is_another_where_its_model_is(folder: Path) -> None:
    contents = {"old": neutral_file(MODEL), "same": neutral_file(MODEL) + b"\n", "new": neutral_file(ANOTHER)}
    for name, content in contents.items():
        (folder / "model.json").write_bytes(content)
        leafgate("audit", policy(folder, "model.json"), "--out", folder / name)
    old, same, new = (folder / name / "report.json" for name in contents)
    assert leafgate("diff", old, same).out == "No difference.\n"
    first, *_ = leafgate("diff", old, new, "--json").document["changes"]
    files = [json.loads(path.read_bytes())["release"]["file"] for path in (old, new)]
    assert first == {"kind": "different", "finding": None, "what": "file", "old": files[0], "new": files[1]}
    lines = leafgate("diff", old, new).out.splitlines()
    digests = [sha256(neutral_file(MODEL)), sha256(neutral_file(ANOTHER))]
    one, other = (f'"model.json" (leafgate/model/1), sha256 {digest}' for digest in digests)
    assert lines[0] == f"different  the audited file is another: {one} became {other}"
    assert "audited file" not in leafgate("diff", old, old).out


def waiver(**changes: Any) -> dict[str, Any]:
    return WAIVER | changes


def of_file(folder: Path) -> dict[str, Any]:
    """A waiver of the model file."""
    return waiver(file=sha256((folder / "model.json").read_bytes()))


def status(folder: Path, *waivers: dict[str, Any], **changes: Any) -> str:
    report_document = report(folder, waivers=waivers, **changes)
    parse_report(json.dumps(report_document).encode(), "report.json")
    return str(report_document["waivers"][0]["status"])


def test_a_waiver_of_a_file_stays_when_a_columns_role_changes(folder: Path) -> None:
    for role in ("quasi_identifier", "private"):
        assert status(folder, of_file(folder), school=role) == "applied"


def test_a_waiver_of_a_file_lets_no_other_file_through(folder: Path) -> None:
    waived = of_file(folder)
    (folder / "model.json").write_bytes(neutral_file(MODEL) + b"\n")
    report_document = report(folder, waivers=[waived])
    assert (report_document["verdict"], report_document["waived"], report_document["waivers"][0]["status"]) == (
        "fail",
        0,
        "other_release",
    )
    digest = sha256(neutral_file(MODEL) + b"\n")
    assert (
        report_document["waivers"][0]["message"] == f"it is for file {waived['file'][:16]}, and this is {digest[:16]}"
    )


def test_a_waiver_of_a_file_lets_no_release_through_that_says_it_was_made_of_that_file(folder: Path) -> None:
    made_up = run(folder).audit(TODAY).artifact
    assert made_up is not None
    (folder / "release.json").write_bytes(made_up.content)
    digest = sha256((folder / "model.json").read_bytes())
    with pytest.raises(ReleaseError, match="is leafgate's own rendition of a model's file"):
        report(folder, "release.json", waivers=[waiver(file=digest)])


def test_a_waiver_of_a_file_does_not_apply_where_no_file_was_read(folder: Path) -> None:
    built: dict[str, Any] = {
        "build": {"use": "kadet", "k": 3},
        "data": without_missing(),
        "metrics": [{"use": "k_anonymity", "at_least": 9}],
    }
    (result,) = report(folder, waivers=[of_file(folder)], **built)["waivers"]
    assert result["status"] == "other_release"
    assert result["message"].endswith("and this release was not read from a file")


def test_a_waiver_of_a_models_release_applies_to_this_model_in_whatever_bytes(folder: Path) -> None:
    waived = waiver(release=report(folder)["release"]["sha256"])
    assert status(folder, waived) == "applied"
    assert status(folder, waived, school="private") == "other_release"
    (folder / "model.json").write_bytes(neutral_file(MODEL) + b"\n")
    assert status(folder, waived) == "applied"
    (folder / "model.json").write_bytes(neutral_file(ANOTHER))
    assert status(folder, waived) == "other_release"


def test_a_waiver_about_the_bytes_of_a_model_names_its_file(folder: Path) -> None:
    limits: dict[str, Any] = {"metrics": [{"use": "file_disclosure", "severity": "low", "at_most": 0}]}
    about_bytes = {"finding": "file_disclosure"}
    by_release = waiver(release=report(folder, **limits)["release"]["sha256"], **about_bytes)
    assert status(folder, by_release, **limits) == "not_waivable"
    assert status(folder, of_file(folder) | about_bytes, **limits) == "applied"


def test_a_waiver_of_a_release_does_not_take_the_files_digest_for_it(folder: Path) -> None:
    assert status(folder, waiver(release=of_file(folder)["file"])) == "other_release"


@pytest.mark.parametrize(
    ("waivers", "message"),
    [
        ([waiver()], "names one digest"),
        ([waiver(file="0" * 64, release="0" * 64)], "names one digest"),
        ([waiver(file="0" * 63)], "waivers.0..file: must be the whole SHA-256, 64 digits: `release.file.sha256`"),
        ([waiver(file="0" * 64), waiver(id="W-2", file="0" * 64)], "this finding of this release has a waiver already"),
        ([waiver(file="0" * 64), waiver(id="W-2", release="1" * 64)], "another waiver of this finding names a file"),
    ],
)
def test_waivers_of_a_finding_name_one_digest_each_and_of_one_kind(
    folder: Path, waivers: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        run(folder, waivers=waivers)


def test_waivers_of_two_files_or_of_two_findings_may_stand_together(folder: Path) -> None:
    others = [waiver(id="W-2", file="0" * 64), waiver(id="W-3", finding="exposure@linking#income", release="0" * 64)]
    assert status(folder, of_file(folder), *others) == "applied"


def published_file(folder: Path, threshold: float, *, limited: bool) -> list[Any]:
    """Whether the finding on a release file with this threshold passed; nothing where there is no finding."""
    limit = [{"use": "file_disclosure", "at_most": 0}] if limited else []
    metrics = [{"use": "k_anonymity", "at_least": 2}, *limit]
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [17, 90]},
        "income": {"role": ["class", "sensitive"], "values": ["low", "high"]},
    }
    rows = [f"{age},{'low' if age < 40 else 'high'}\n" for age in [20, 30, 50, 60] * 3] + ["37.5,low\n"]
    data = {"path": "some.csv", "columns": columns}
    (folder / "some.csv").write_text("".join(["age,income\n", *rows]))
    built = policy(folder, "release.json", data=data, metrics=metrics, build={"use": "c45", "min_leaf": 2})
    leafgate("audit", built, "--out", folder / "out", "--no-remedies")
    release = json.loads((folder / "out" / "release.json").read_text())
    release["trees"][0]["at"] = threshold
    (folder / "release.json").write_text(json.dumps(release))
    few = {"smallest_cell": 2}
    path = policy(folder, "release.json", data=data, metrics=metrics, report=few)
    ended = leafgate("audit", path, "--json", "--no-remedies")
    return [each["passed"] for each in ended.document["findings"] if each["id"] == "published_file"]


@pytest.mark.parametrize(("threshold", "passes"), [(45, True), (37.5, False)])
@pytest.mark.parametrize("limited", [True, False])
def test_a_number_that_few_people_have_in_a_release_file_is_limited_as_in_a_models(
    tmp_path: Path, threshold: float, passes: bool, limited: bool
) -> None:
    assert published_file(tmp_path, threshold, limited=limited) == ([] if passes else [not limited])


def test_numbers_of_a_release_file_that_were_compared_with_nothing_are_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "column_cells", lambda table, few: {each.name: None for each in table.schema.columns})
    assert published_file(tmp_path, 45, limited=True) == [None]
