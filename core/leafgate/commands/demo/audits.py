"""The demonstration: made-up data, two policies, their audits, and the results side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from leafgate.commands.demo.people import people_csv
from leafgate.disclosure.stored import read_report
from leafgate.disclosure.wording import group_words, number_words
from leafgate.io.files import EVERYONE, make_folder, write_files
from leafgate.session.report_formats import chosen_formats
from leafgate.session.results import write_results
from leafgate.session.run import open_session

BUILDS = {
    "unprotected": "build: {use: c45, prune: false}",
    "kadet": "build: {use: kadet, k: 20, measure: gain_ratio}",
}
ANNOUNCED = {"unprotected": "fail", "kadet": "pass"}


def policy_text(which: str) -> str:
    """The demo's policy, its one `build:` line set to the unprotected or the protected builder."""
    text = files("leafgate.commands.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    return text.replace(BUILDS["unprotected"], BUILDS[which])


def run_demo(folder: Path) -> tuple[str, bool]:
    """Write data, policies and reports into `folder`; the text to show, and whether both ended as announced."""
    write_files(folder, {"people.csv": people_csv(3000, 1), "test.csv": people_csv(3000, 2)}, EVERYONE)
    reports = {}
    for which in BUILDS:
        write_files(folder, {f"{which}.yaml": policy_text(which).encode()}, EVERYONE)
        session = open_session(folder / f"{which}.yaml")
        audited = session.audit(search_remedies=True)
        below = folder / which
        make_folder(below)
        write_results(audited, "auditor", below, chosen_formats(session.plugins, ["html"]))
        reports[which] = read_report(below / "report.json")
    as_announced = all(reports[which]["verdict"] == verdict for which, verdict in ANNOUNCED.items())
    return "\n".join(_lines(reports, folder)) + "\n", as_announced


def _lines(reports: Mapping[str, Any], folder: Path) -> Iterator[str]:
    bare, safe = reports["unprotected"], reports["kadet"]
    yield "3,000 made-up people. Their age, sex, district, job and household are known to anyone who looks;"
    yield "whether they smoke is not; whether they are chronically ill is the secret. Two trees predict it."
    yield "(This is the auditor's view: a public report names no path and no small number.)"
    yield ""
    yield f"{'':38}{'unprotected (c45)':>22}{'protected (kadet)':>20}"
    for title, cell in _ROWS:
        yield f"{title:38}{cell(bare):>22}{cell(safe):>20}"
    yield ""
    yield "The three most exposed groups of the unprotected tree:"
    for i, group in enumerate(_of(bare, "exposure")["evidence"]["worst"], 1):
        yield f"  {i}. {group_words(group, 'chronically_ill')}"
    cost = _of(bare, "accuracy")["value"] - _of(safe, "accuracy")["value"]
    yield ""
    if cost > 0:
        yield f"Protection cost {cost * 100:.1f} points of accuracy."
    else:
        yield f"Protection cost no accuracy: {-cost * 100:.1f} points better than a tree that learned people by heart."
    yield f"See who is exposed, and why: {folder / 'unprotected' / 'report.html'}"
    yield f"Policies and full reports: {folder}. The policies differ in one line; try your own:"
    yield f"  leafgate audit {folder / 'kadet.yaml'}"


def _of(report: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    return next(finding for finding in report["findings"] if finding["metric"] == metric)


_ROWS = (
    ("verdict", lambda report: report["verdict"].upper()),
    ("people in the smallest group", lambda report: number_words(_of(report, "k_anonymity")["value"])),
    ("people in groups smaller than 20", lambda report: number_words(_of(report, "k_anonymity")["beyond"])),
    ("people whose illness is exposed", lambda report: number_words(_of(report, "exposure")["beyond"])),
    ("accuracy on 3,000 other people", lambda report: f"{_of(report, 'accuracy')['value']:.3f}"),
    ("leaves", lambda report: number_words(report["release"]["leaves"])),
)
