"""What each format makes of a report, read back by somebody else's reader."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import junitparser
import pytest
import sarif_pydantic
from jsonschema import Draft4Validator

from command_line import leafgate
from leafgate.app import Report, document, findings_by_urgency, readable, summary
from leafgate.disclosure.wording import finding_alarm
from leafgate.reports.svg_roc import FLOOR, LEFT, RIGHT, TOP, roc_figure
from reports import FILES, HOSTILE, Page, audited, renamed, view
from survey import survey, write_policy

CHANGES: dict[str, dict[str, Any]] = {
    "pass": {},
    "fail": {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
    "no release": {"build.k": 25},
}
SCHEMA = json.loads((Path(__file__).parents[1] / "support" / "sarif-schema-2.1.0.json").read_bytes())
_SUPPRESSION = SCHEMA["definitions"]["suppression"]["properties"]
_SUPPRESSION["status"] = _SUPPRESSION.pop("state")  # renamed after this draft


@pytest.fixture(scope="module", params=CHANGES)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return audited(tmp_path_factory.mktemp("audit"), CHANGES[request.param])


def results_of(content: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(content)["runs"][0]["results"]
    return found


def test_the_page_says_the_verdict_first_and_asks_nobody_for_anything(report: dict[str, Any]) -> None:
    seen = Page(view(report, "html"))
    assert summary(report).splitlines()[0].partition(": ")[2] in seen.text
    assert not {"script", "iframe", "object", "embed", "img"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    links, ids = seen.values("href", "src", "xlink:href", "action"), seen.values("id")
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert len(ids) == len(set(ids))


def test_sarif_is_valid_and_has_a_result_for_whatever_does_not_hold(report: dict[str, Any]) -> None:
    content = view(report, "sarif")
    Draft4Validator(SCHEMA).validate(json.loads(content))
    read = sarif_pydantic.Sarif.model_validate_json(content)
    results = read.runs[0].results or []
    broken = [finding for finding in findings_by_urgency(report) if finding["passed"] is not True]
    assert len(results) == len(broken)
    first = [(result.message.text or "").splitlines()[0] for result in results]
    assert all(
        f"{finding_alarm(finding)} {finding['id']}".strip() in line for line, finding in zip(first, broken, strict=True)
    )
    rules = read.runs[0].tool.driver.rules or []
    assert [rules[result.rule_index or 0].id for result in results] == [result.rule_id for result in results]
    for result in results_of(content):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "policy.yaml"
        assert place["region"]["startLine"] >= 1


def test_an_alert_points_into_the_policys_folder_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "policies").mkdir()
    survey(tmp_path / "policies", CHANGES["fail"])
    monkeypatch.chdir(tmp_path)
    leafgate("audit", "policies/policy.yaml", "--out", "out")
    document = json.loads(Path("out/report.json").read_bytes())
    [place, *_] = [r["locations"][0]["physicalLocation"] for r in results_of(view(document, "sarif"))]
    assert place["artifactLocation"]["uri"] == "policies/policy.yaml"
    assert "leafgate audit policies/policy.yaml " in view(document, "markdown").decode()


def test_a_rule_says_what_a_metric_with_a_name_of_its_own_uses(tmp_path: Path) -> None:
    metrics = [{"use": "k_anonymity", "name": "crowd", "at_least": 24}, {"use": "exposure", "at_most": 0}]
    audit = audited(tmp_path, {"metrics": metrics})
    rules = json.loads(view(audit, "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    texts = {rule["id"]: rule["fullDescription"]["text"] for rule in rules}
    assert texts["crowd"].startswith(
        "The check crowd, which uses k_anonymity. A limit of the privacy policy, checked by "
    )
    assert texts["exposure"].startswith("The check exposure. A limit of ")


def test_waivers_that_do_not_apply_are_told_in_every_format(tmp_path: Path) -> None:
    waiver = {"id": "W-9", "finding": "k_anonymity@linking#ill", "release": "0" * 64, "owner": "a", "approved_by": "b"}
    days = {"reason": "r", "issued": "2026-01-01", "expires": "2026-02-01"}
    audit = audited(tmp_path, CHANGES["fail"] | {"waivers": [waiver | days]})
    for form in FILES:
        assert "does not apply" in (Page(view(audit, form)).text if form == "html" else view(audit, form).decode())
    Draft4Validator(SCHEMA).validate(json.loads(view(audit, "sarif")))


def test_junit_counts_failures_and_errors_as_the_report_does(report: dict[str, Any]) -> None:
    content = view(report, "junit")
    suites = junitparser.JUnitXml.fromroot(junitparser.JUnitXml.fromstring(content)._elem)
    [suite] = list(suites)
    outcomes = [finding["passed"] for finding in report["findings"]]
    cases = list(suite)
    assert [case.name for case in cases] == [finding["id"] for finding in report["findings"]]
    kinds = [type(case.result[0]).__name__ if case.result else "" for case in cases]
    assert kinds == [{True: "", False: "Failure", None: "Error"}[passed] for passed in outcomes]
    assert (suite.failures, suite.errors) == (outcomes.count(False), outcomes.count(None))


def test_markdown_has_a_row_for_every_finding(report: dict[str, Any]) -> None:
    text = view(report, "markdown").decode()
    assert len([line for line in text.splitlines() if re.match(r"\| [❌❓⚠✅]", line)]) == len(report["findings"])


def test_text_is_what_the_audit_said(report: dict[str, Any]) -> None:
    assert view(report, "text").decode() == summary(report)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_nobody_would_choose_do_no_harm_in_any_format(tmp_path: Path, name: str) -> None:
    plain = audited(tmp_path, CHANGES["fail"])
    plain["release"]["file"] = {"name": "model.onnx", "format": "onnx", "sha256": "ab" * 32}
    result = renamed(plain, name)
    for form in FILES:
        text = view(result, form).decode()
        allowed = {"\n"}
        assert not [sign for sign in text if not sign.isprintable() and sign not in allowed]
        assert len(text) < 300_000
    page, before = Page(view(result, "html")), Page(view(plain, "html"))
    tags, tags_before = ([tag for tag in each.tags if tag != "code"] for each in (page, before))  # `code` is but a font
    assert tags == tags_before
    assert {name for name, _ in page.attributes} == {name for name, _ in before.attributes}
    table = [line for line in view(result, "markdown").decode().splitlines() if line.startswith("|")]
    assert [line.count("|") for line in table] == [4] * len(table)
    markdown = view(result, "markdown").decode()
    assert not re.search(r"(?<!\\)\]\(|<!--|<script", markdown)
    Draft4Validator(SCHEMA).validate(json.loads(view(result, "sarif")))
    assert len(list(junitparser.JUnitXml.fromstring(view(result, "junit")))) == 1


DIGEST = "ab" * 32


@pytest.fixture
def of_a_file(tmp_path: Path) -> dict[str, Any]:
    """The report of a release that was read from a file; real but for the file's name, format and digest."""
    audit = audited(tmp_path, CHANGES["fail"])
    audit["release"] = {"file": {"name": "model.onnx", "format": "onnx", "sha256": DIGEST}, **audit["release"]}
    return audit


def test_every_format_names_the_audited_file_before_anything_else_about_the_release(of_a_file: dict[str, Any]) -> None:
    line = f'audited file "model.onnx" (onnx), sha256 {DIGEST}'
    assert view(of_a_file, "text").decode().splitlines()[1] == f"  {line}"
    listed = [line for line in view(of_a_file, "markdown").decode().splitlines() if line.startswith("- ")]
    assert listed[0] == f'- audited file "model.onnx" (onnx), sha256 `{DIGEST}`'
    page = Page(view(of_a_file, "html")).text
    assert page.index(f'Audited file "model.onnx" (onnx), sha256 {DIGEST}') < page.index("FAIL: do not publish")
    [suite] = list(junitparser.JUnitXml.fromstring(view(of_a_file, "junit")))
    facts = [(one.name, one.value) for one in suite.properties()]  # type: ignore[no-untyped-call]
    assert facts[:3] == [("file_name", "model.onnx"), ("file_format", "onnx"), ("file_sha256", DIGEST)]
    [run] = json.loads(view(of_a_file, "sarif"))["runs"]
    [artifact] = run["artifacts"]
    assert (artifact["location"], artifact["hashes"]) == ({"uri": "model.onnx"}, {"sha-256": DIGEST})
    assert next(iter(run["properties"].items())) == ("file", of_a_file["release"]["file"])
    assert {result["analysisTarget"]["index"] for result in run["results"]} == {0}
    Draft4Validator(SCHEMA).validate(json.loads(view(of_a_file, "sarif")))
    sarif_pydantic.Sarif.model_validate_json(view(of_a_file, "sarif"))


def test_a_report_of_no_file_names_none_in_any_format(report: dict[str, Any]) -> None:
    for form in FILES:
        text = view(report, form).decode().lower()
        assert not [word for word in ("audited file", "file_name", "artifacts", "analysistarget") if word in text]


@pytest.mark.parametrize(
    "name",
    [
        f'model.onnx" (onnx), sha256 {"00" * 32}',
        "a\n  ok    everything",
        "../../etc/passwd",
        "https://example.org/?a#b",
        *HOSTILE.values(),
    ],
)
def test_a_files_name_passes_for_nothing_but_a_name(of_a_file: dict[str, Any], name: str) -> None:
    of_a_file["release"]["file"]["name"] = f"{name}.onnx"
    line = view(of_a_file, "text").decode().splitlines()[1]
    assert line.isprintable()
    _, end = json.JSONDecoder().raw_decode(line.removeprefix("  audited file "))
    assert line.removeprefix("  audited file ")[end:] == f" (onnx), sha256 {DIGEST}"
    uri = json.loads(view(of_a_file, "sarif"))["runs"][0]["artifacts"][0]["location"]["uri"]
    assert not set(uri) & set('/:?#\\<>"')
    markdown = view(of_a_file, "markdown").decode()
    assert not re.search(r"(?<!\\)\]\(|<!--|<script|https:", markdown.split("- policy")[0])


def test_a_waived_finding_is_skipped_suppressed_and_seen(tmp_path: Path) -> None:
    audit = audited(tmp_path, CHANGES["fail"])
    waiver = {
        "id": "W-7",
        "owner": "a",
        "approved_by": "b",
        "reason": "old",
        "issued": "2026-01-01",
        "expires": "2026-02-01",
    }
    audit["findings"][0]["waiver"] = waiver
    audit |= {
        "waived": 1,
        "judged_on": "2026-01-02",
        "waivers": [{**waiver, "finding": audit["findings"][0]["id"], "status": "applied", "message": ""}],
    }
    [result, *_] = [r for r in results_of(view(audit, "sarif")) if "suppressions" in r]
    assert result["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "W-7: old"}]
    Draft4Validator(SCHEMA).validate(json.loads(view(audit, "sarif")))
    [suite] = list(junitparser.JUnitXml.fromstring(view(audit, "junit")))
    assert suite.skipped == 1
    assert "waived until 2026-02-01 by b" in view(audit, "markdown").decode()
    assert "W-7 of " in Page(view(audit, "html")).text


def test_an_alert_stays_the_same_alert_when_the_release_changes(tmp_path: Path) -> None:
    audit = audited(tmp_path, CHANGES["fail"])
    again = json.loads(json.dumps(audit).replace(audit["release"]["sha256"], "f" * 64))
    prints = [[r["partialFingerprints"] for r in results_of(view(one, "sarif"))] for one in (audit, again)]
    assert prints[0] == prints[1]
    assert len({json.dumps(one) for one in prints[0]}) == len(prints[0])
    audit["policy"]["file"] = "other.yaml"  # of the same name
    other = [r["partialFingerprints"] for r in results_of(view(audit, "sarif"))]
    assert not any(one in prints[0] for one in other)


@pytest.mark.thorough
def test_an_alert_stays_the_same_alert_when_only_numbers_change(tmp_path: Path) -> None:
    def prints(said: dict[str, Any], ill: str = "ill") -> set[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        document = json.loads(json.dumps(audited(folder, said)).replace("#ill", f"#{ill}"))
        results = results_of(view(document, "sarif"))
        assert all(
            one["partialFingerprints"]["primaryLocationLineHash"]
            == f"{one['partialFingerprints']['leafgateFinding/v1'][:16]}:1"
            for one in results
        )
        return {one["partialFingerprints"]["primaryLocationLineHash"] for one in results}

    limit: dict[str, Any] = {"use": "k_anonymity", "at_least": 20}
    first = prints({"metrics": [limit]})
    assert len(first) == 1
    assert prints({"metrics": [limit | {"at_least": 30}]}) == first
    assert prints({"metrics": [limit | {"allow": 0.1}], "seed": 4, "build.k": 4}) == first
    assert prints({"metrics": [{"use": "exposure", "at_most": 1}, limit]}) == first  # in another line
    others = [
        prints({"metrics": [limit | {"name": "k"}]}),
        prints({"metrics": [limit], "attacks": [{"use": "linking", "name": "l"}]}),
        prints({"metrics": [limit]}, "smoker"),
        prints({"metrics": [limit], "name": "other"}),
    ]
    assert len({frozenset(each) for each in others}) == len(others)
    assert not any(each & first for each in others)


@pytest.mark.thorough
def test_five_thousand_failing_leaves_stay_within_every_limit(tmp_path: Path) -> None:
    zips = [f"z{i}" for i in range(5200)]
    rows = [f"{z},{'yes' if i % 3 else 'no'}" for i, z in enumerate(zips) for _ in range(2)]
    changes: dict[str, Any] = {
        "data.columns": {
            "zip": {"role": "quasi_identifier", "values": zips},
            "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
        },
        "build": {"use": "id3"},
        "metrics": [{"use": "k_anonymity", "name": f"k{i}", "at_least": 3 + i} for i in range(100)],
        "report": {"smallest_cell": 1},
    }
    (tmp_path / "people.csv").write_text("\n".join(["zip,ill", *rows]) + "\n")
    write_policy(tmp_path, changes)
    leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out", "--audience", "auditor")
    document = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert document["tree"]["nodes"][0]["leaves_past"] == 5200
    assert len(view(document, "html")) < 1_000_000
    assert len(view(document, "markdown")) < 1024 * 1024
    content = view(document, "sarif")
    assert len(content) < 10_000_000
    results = results_of(content)
    assert len(results) == 100
    assert max(len(result["locations"][0].get("logicalLocations", ())) for result in results) <= 50
    assert len(readable(document)) < 1_000_000


@pytest.mark.thorough
def test_equal_reports_give_equal_bytes_whatever_the_process(tmp_path: Path) -> None:
    audit = audited(tmp_path, CHANGES["fail"])
    (tmp_path / "report.json").write_bytes(readable(audit))
    program = (
        "import json, sys, hashlib; from leafgate.api.registry import load_plugins\n"
        "from leafgate.session.report_formats import offered_formats, render\n"
        "document = json.load(open(sys.argv[1]))\n"
        "formats = offered_formats(load_plugins())\n"
        "assert len(formats) >= 5\n"
        "print([hashlib.sha256(render(each, document)).hexdigest() for each in formats.values()])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "report.json")],
            env={"PYTHONHASHSEED": seed, "PATH": "", "TZ": "Asia/Tokyo" if seed == "2" else "UTC"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_the_templates_come_with_the_package() -> None:
    assert {path.name for path in files("leafgate.reports").joinpath("templates").iterdir()} >= {
        "report.html.j2",
        "style.css",
    }


def test_a_histogram_ends_at_the_smallest_cell_where_all_groups_are_smaller(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path, {"build.k": 2, "metrics.0.at_least": 2}), "--out", tmp_path / "out")
    document = json.loads((tmp_path / "out" / "report.json").read_bytes())
    document["findings"][0]["distribution"] = [{"from": 2.0, "to": 10, "people": 24, "past": False}]
    assert "How protection is spread over people" in Page(view(document, "html")).text


ROC = {"fpr": [0.001, 0.1, 1.0], "tpr": [0.0, 0.5, 1.0], "low": [0.0, 0.2, 1.0], "high": [0.01, 0.7, 1.0]}


def with_curves(tmp_path: Path, *attacks: str) -> dict[str, Any]:
    report = audited(tmp_path, {})
    finding = report["findings"][0]
    curves = [
        finding | {"id": f"auc@{attack}", "attack": attack, "evidence": finding["evidence"] | {"roc": ROC}}
        for attack in attacks
    ]
    return report | {"findings": [*report["findings"], *curves]}


def test_a_page_draws_the_curve_of_each_attack_once(tmp_path: Path) -> None:
    page = view(with_curves(tmp_path, "a", "b", "a"), "html").decode()
    assert page.count('class="band"') == page.count('class="curve"') == 2
    assert "ROC curve of a" in page
    assert "Whom the attacks find in the table" in page


def test_a_page_says_that_findings_on_the_whole_release_mark_no_leaf(tmp_path: Path) -> None:
    says = "Findings on the release as a whole mark no leaf."
    marked = audited(tmp_path, CHANGES["fail"], audience="auditor")
    assert marked["tree"]["coloured"]
    assert says not in Page(view(marked, "html")).text
    unmarked = marked | {"findings": [each | {"beyond": None} for each in marked["findings"]]}
    assert says in Page(view(unmarked, "html")).text


def test_a_page_without_curves_has_no_section_of_them(tmp_path: Path) -> None:
    assert "Whom the attacks find" not in view(audited(tmp_path, {}), "html").decode()


def test_a_curve_lies_on_logarithmic_axes_within_its_band() -> None:
    """Three decades: a tenth of all lies two thirds along the axis, and nobody on the axis itself."""
    figure = roc_figure("auc@a", ROC)
    assert [words for _, words in figure.x_ticks] == ["0.1 %", "1 %", "10 %", "100 %"]
    assert figure.curve == f"M{LEFT} {FLOOR}L{LEFT + (RIGHT - LEFT) * 2 / 3:.1f} 34.1L{RIGHT} {TOP}"
    places = [tuple(map(float, point.split())) for point in figure.band.strip("MZ").split("L")]
    assert len(places) == 6
    assert places[0][0] == places[-1][0] == LEFT
    assert figure.chance == f"M{LEFT} {FLOOR}L{RIGHT} {TOP}"


@pytest.mark.parametrize("fpr", [[0.0, 1.0], [0.0, 0.0], [1e-300, 1.0], [1.0, 1.0]])
def test_odd_curves_stay_within_the_figure(fpr: list[float]) -> None:
    figure = roc_figure("auc@a", {"fpr": fpr, "tpr": [0.0, 1.0], "low": [0.0, 0.0], "high": [1.0, 1.0]})
    places = [tuple(map(float, point.split())) for point in figure.band.strip("MZ").split("L")]
    assert all(LEFT <= x <= RIGHT and TOP <= y <= FLOOR for x, y in places)
    assert len(figure.x_ticks) <= 7


def test_a_decision_comes_first_and_once_in_every_format(tmp_path: Path) -> None:
    report = audited(tmp_path, {"data.test": "people.csv"}, audience="public")
    asked, fact = "To decide: The test table is the table", "Noise is drawn anew"
    assert report["notes"][0].startswith(asked)
    report["notes"].append(fact)
    texts = {name: view(report, name).decode() for name in FILES}
    assert {name: text.count(asked) for name, text in texts.items()} == dict.fromkeys(texts, 1)
    for text in texts.values():
        assert text.index(asked) < (text.index(fact) if fact in text else len(text))
    assert texts["junit"].index(asked) < texts["junit"].index("<testcase")
    assert texts["sheet"].index(asked) < texts["sheet"].index('<section aria-labelledby="request">')


def test_a_test_table_of_the_same_bytes_is_spoken_of_once(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path, {"data.test": "people.csv"}), "--no-remedies")
    assert (ended.out + ended.err).count("is the table") == ended.out.count("is the table") == 1


def test_a_document_has_decisions_before_other_notes() -> None:
    report = Report(
        {"name": "p", "sha256": "0" * 64}, {}, None, [], {}, notes=["A fact."], auditor_notes=["To decide: A."]
    )
    assert document(report, "auditor")["notes"] == ["To decide: A.", "A fact."]
    assert document(report, "public")["notes"] == ["A fact."]
