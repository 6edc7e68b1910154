"""The table of what attacks infer of a column: of real findings for auditors, nothing of it for the public."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asked_targets import AskedCase, asked, guess_of, mistaken
from leafgate.api import AttributeBelief, PeopleCount
from leafgate.app import Report, document
from leafgate.disclosure.masking import Audience
from leafgate.reports.inference_table import HEADINGS, TITLE, inference_rows
from leafgate_plugins.inference.attributes.metrics import AttributeCertain, AttributeLeak
from reports import FILES, HOSTILE, Page, renamed, view

PEOPLE = 600
TABLE = "scroll inferences"
"""The class of the table on a page."""


def case(determined_by: tuple[str, ...] = ()) -> AskedCase:
    """An attack that is right for 481 of the table's people, and that proves the values of seven of them."""
    rng = np.random.default_rng(3)
    truth, inside = rng.integers(0, 2, 2 * PEOPLE), np.arange(2 * PEOPLE) < PEOPLE
    attack, imputation = (guess_of(mistaken(truth, 2, share, rng), 2) for share in (0.2, 0.3))
    certain = np.full(2 * PEOPLE, -1)
    certain[:7], certain[-5:] = truth[:7], 0
    return asked(truth, inside, attack, imputation, certain=certain, determined_by=determined_by)


def audited(audience: Audience = "auditor", attacked: AskedCase | None = None) -> dict[str, Any]:
    """The report of all three measures and of certain people."""
    attacked = attacked or case()
    leaks = [AttributeLeak(at_most=0.001, measure=measure) for measure in ("accuracy", "ppv", "mcc")]
    findings = [attacked.finding(metric) for metric in (*leaks, AttributeCertain(at_most=0))]
    policy = {"name": "p", "sha256": "0" * 64}
    report = Report(policy, {"people": PeopleCount(PEOPLE)}, None, findings, {}, 10)
    return dict(document(report, audience))


def markdown_rows(text: str) -> Iterator[list[str]]:
    """The cells of the table of inferences, by rows, without its heading."""
    lines = text.partition(TITLE)[2].splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    for line in table:
        yield [cell.strip().replace("<br>", " ") for cell in line.strip("|").split("|")]


def test_page_and_markdown_have_the_four_columns_both_leaks_and_certain_people() -> None:
    report = audited()
    [leak, *_, certain] = report["findings"]
    assert certain["evidence"]["proved"] == 7
    columns = {name: f"{of['accuracy']:.3f}" for name, of in leak["evidence"]["columns"].items()}
    over_imputation, over_control = (
        "{value:.3f} {low:.3f} to {high:.3f}".format(**leak["evidence"]["leaks"][name])
        for name in ("over_imputation", "over_control")
    )
    right = certain["evidence"]["on_control"]["right"]
    expected = [
        "nosy infers married",
        "accuracy",
        columns["prior"],
        columns["imputation"],
        columns["attack"],
        f"{columns['attack_on_control']} imputation {columns['imputation_on_control']}",
        over_imputation,
        over_control,
        f"7 of 600 on control 5, {right} of them rightly",
    ]
    assert columns["attack"] == "0.802"
    ((heading, *rows),) = Page(view(report, "html"), TABLE).tables
    assert tuple(heading) == HEADINGS
    assert rows[0] == expected
    assert [row[1] for row in rows] == ["accuracy", "PPV of the 100 surest", "MCC"]
    assert list(markdown_rows(view(report, "markdown").decode())) == rows


def test_sarif_for_auditors_states_the_columns_and_certain_people_in_words() -> None:
    report = audited()
    messages = [each["message"]["text"] for each in json.loads(view(report, "sarif"))["runs"][0]["results"]]
    says = [finding["evidence"]["says"] for finding in report["findings"]]
    assert len(messages) == 4
    assert all(any(words in message for message in messages) for words in says)


def numbers_of(thing: object) -> Iterator[float]:
    """All numbers in some evidence."""
    if isinstance(thing, Mapping):
        for each in thing.values():
            yield from numbers_of(each)
    elif isinstance(thing, float):
        yield thing


def test_public_reports_have_no_table_and_none_of_its_numbers_in_any_format() -> None:
    public = audited("public")
    evidence = [finding["evidence"] for finding in audited()["findings"]]
    secrets = {
        number
        for each in evidence
        for key in ("columns", "leaks", "without_identical")
        for number in numbers_of(each.get(key, {}))
    }
    assert len(secrets) > 20
    known = {0.0, 1.0, *(number for finding in public["findings"] for number in numbers_of(finding))}
    for form, text in {"json": json.dumps(public), **{form: view(public, form).decode() for form in FILES}}.items():
        shown = {float(each) for each in re.findall(r"\d+\.\d+", text.partition("</style>")[2] or text)}
        assert not [(one, two) for one in shown - known for two in secrets if abs(one - abs(two)) < 5e-4], form
        for words in (TITLE, "infers", "by imputation", "is proved", "rightly", "surest"):
            assert words not in text, (form, words)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_of_columns_and_attacks_are_nothing_but_text_in_the_table(name: str) -> None:
    plain = audited(attacked=case(("town",)))
    hostile = renamed(plain, name)
    for finding, before in zip(hostile["findings"], plain["findings"], strict=True):
        finding["evidence"] = finding["evidence"] | {
            key: before["evidence"][key] for key in ("measure", "columns", "leaks") if key in before["evidence"]
        }
    page, before = (Page(view(each, "html"), TABLE) for each in (hostile, plain))
    tags, tags_before = ([tag for tag in each.tags if tag != "code"] for each in (page, before))  # but a font
    assert tags == tags_before
    assert [name for name, _ in page.attributes] == [name for name, _ in before.attributes]
    ((_, *rows),) = page.tables
    assert len(rows) == 3
    text = view(hostile, "markdown").decode()
    assert {len(row) for row in markdown_rows(text)} == {len(HEADINGS)}
    assert all("no gain is claimed" in row[6] for row in rows)
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert "<script" not in text


def test_certain_people_have_a_row_where_no_leak_is_limited_and_an_attack_without_proofs_a_dash() -> None:
    report = audited()
    [row] = inference_rows(report["findings"][-1:])
    assert [cell.text for cell in row] == ["nosy", *["-"] * 7, "7 of 600"]
    [row] = inference_rows(report["findings"][:1])
    assert row[-1].text == "-"
    attacked = case()
    nobody = replace(attacked.context.require_belief(AttributeBelief), certain=np.full(2 * PEOPLE, -1))
    [*_, finding] = audited(attacked=replace(attacked, context=replace(attacked.context, belief=nobody)))["findings"]
    [row] = inference_rows([finding])
    assert (row[-1].text, row[-1].note) == ("0 of 600", "")


SPOILED: Mapping[str, tuple[str, object]] = {
    "columns of another metric": ("columns", ["age", "town"]),
    "a column that is missing": ("columns", {"prior": {"accuracy": 0.5}}),
    "no leaks": ("leaks", None),
    "leaks that are no rates": ("leaks", {"over_imputation": {"value": 10**400, "low": 0, "high": 1}}),
    "another measure": ("measure", ["accuracy"]),
}


@pytest.mark.parametrize(("key", "content"), SPOILED.values(), ids=SPOILED)
def test_evidence_that_is_not_of_this_shape_has_no_row(key: str, content: object) -> None:
    finding = deepcopy(audited()["findings"][0])
    assert list(inference_rows([finding]))
    finding["evidence"][key] = content
    assert not list(inference_rows([finding]))


def test_equal_rows_are_shown_once() -> None:
    findings = audited()["findings"]
    assert len(list(inference_rows([*findings, *findings]))) == 3


def test_the_row_of_a_predictive_value_of_one_value_names_it() -> None:
    finding = case().finding(AttributeLeak(at_most=0.001, measure="ppv", value="married", top=50))
    report = Report({"name": "p", "sha256": "0" * 64}, {"people": PeopleCount(PEOPLE)}, None, [finding], {}, 10)
    (row,) = inference_rows(document(report, "auditor")["findings"])
    assert (row[1].text, row[1].note) == ("PPV of the 50 surest", "to have married")
    assert "50 surest to have married" in finding.evidence["says"].content
