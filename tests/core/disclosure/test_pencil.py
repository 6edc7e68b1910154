"""Made-up reports by the thousand, and audits with planted words: what the public can make of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from example_counts import seeds
from leafgate.api import PeopleCount, Unit
from leafgate.app import Finding, Limit, Masking, Report, ScoredPeople, VisibleTo, document
from planted import of_planted
from reports import FILES, FOR_PEOPLE, view
from standins import people_limit
from subtraction import exact_counts, given_away

POLICY = {"name": "p", "sha256": "0" * 64}
RELEASE = {"sha256": "0" * 64, "builder": {"use": "c45"}, "trees": 1, "leaves": 2}


def made_up(rng: np.random.Generator, smallest: int) -> Report:
    """A report on a few hundred people in groups of any size, each with a score by some metrics."""
    groups = rng.integers(1, 60, size=rng.integers(1, 30))
    findings = [_finding(rng, groups, place) for place in range(rng.integers(1, 5))]
    data = {"people": PeopleCount(int(groups.sum())), "distinct": PeopleCount(len(groups)), "sha256": "d" * 64}
    return Report(POLICY, data, RELEASE, findings, {}, smallest_cell=smallest)


def _finding(rng: np.random.Generator, groups: np.ndarray, place: int) -> Finding:
    people, unit = int(groups.sum()), str(rng.choice(["people", "one over people", "", "share"]))
    scores = {"people": groups, "one over people": 1 / groups}.get(unit, rng.integers(0, 5, len(groups)) / 4)
    direction = "at_most" if unit == "one over people" else str(rng.choice(["at_least", "at_most"]))
    limit = float(rng.choice(scores))
    average = bool(unit == "share" or rng.random() < 0.2)
    past = (
        np.zeros(len(groups), dtype=bool) if average else scores < limit if direction == "at_least" else scores > limit
    )
    result = ScoredPeople(scores.astype(float), groups, past, everyone=True)
    worst = (
        float(scores @ groups / people) if average else float(scores.min() if direction == "at_least" else scores.max())
    )
    beyond = None if average else int(groups[past].sum())
    passed = bool(worst >= limit if direction == "at_least" else worst <= limit)
    allow = float(rng.choice([0, rng.random() / 10])) if beyond is not None else 0.0
    passed = passed if beyond is None else beyond / people <= allow
    return Finding(
        f"m{place}@a", "m", passed, "a", value=worst,
        limit=people_limit(**{direction: limit, "average": average, "allow": allow}),
        people=people, violations=beyond, unit=Unit(unit), scored_people=result,
        masking=Masking(score_range=float(np.ptp(scores))),
    )  # fmt: skip


@pytest.mark.thorough
def test_a_thousand_reports_give_nothing_away_to_who_adds_and_subtracts() -> None:
    """In dev a quarter of a thousand."""
    rng, result, reports = np.random.default_rng(8), 0, len(seeds(1000))
    for _ in range(reports):
        smallest = int(rng.integers(3, 25))
        public = document(made_up(rng, smallest), "public")
        assert not list(given_away(public, smallest))
        assert not exact_counts(public)
        result += sum(len(finding["distribution"]) > 1 for finding in public["findings"])
    assert result > reports / 2  # and they do tell something


@pytest.mark.parametrize(
    ("size", "limit", "unit", "allow", "remedy"),
    [
        (9, {"at_least": 9.0}, "people", 0.0, "report.smallest_cell: 9"),
        (1, {"at_least": 2.0}, "people", 0.0, "report.smallest_cell: 2"),
        (9, {"at_most": 0.1112}, "one over people", 0.0, "report.smallest_cell: 9"),
        (9, {"at_least": 20.0}, "people", 0.085, "a lower `report.smallest_cell`"),
    ],
)
def test_a_verdict_that_pins_a_veiled_number_is_declared(
    size: int, limit: dict[str, float], unit: str, allow: float, remedy: str
) -> None:
    groups = np.array([size, 100 - size])
    scores = groups if unit == "people" else 1 / groups
    keeps = scores >= limit["at_least"] if "at_least" in limit else scores <= limit["at_most"]
    beyond, worst = int(groups[~keeps].sum()), scores[0]
    finding = Finding(
        "m@a", "m", beyond / 100 <= allow, "a", value=float(worst), limit=people_limit(**limit, allow=allow),
        people=100, violations=beyond, unit=Unit(unit),
    )  # fmt: skip
    fields = document(Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [finding], {}, 10), "public")
    assert len(fields["notes"]) == 1
    assert remedy in fields["notes"][0]
    assert not list(given_away(fields, 10))
    assert any("by the verdict" in found for found in given_away(fields | {"notes": []}, 10))
    auditor = document(Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [finding], {}, 10), "auditor")
    assert not auditor["notes"]


def test_a_limit_that_the_shown_numbers_decide_is_not_declared() -> None:
    for size, limit in ((9, 10.0), (9, 1.0), (15, 5.0), (15, 20.0)):
        finding = Finding("m@a", "m", size >= limit, "a", value=size, limit=people_limit(at_least=limit), people=100,
                          violations=0 if size >= limit else size, unit=Unit.PEOPLE)  # fmt: skip
        assert not document(Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [finding], {}, 10), "public")["notes"]


def numbers_for(private: bool) -> VisibleTo:
    return VisibleTo.AUDITORS if private else VisibleTo.MASKED


def of_share(kind: str, count: int, people: int, bound: float, *, private: bool) -> Finding:
    """A limit on the share of people: `count` of `people` are alone, say."""
    ones, weight = np.array([0.0, 1.0]), np.array([people - count, count])
    share, fields = count / people, dict[str, Any](people=people, audience=numbers_for(private))
    if kind == "allow":
        value, scored = float(count > 0), ScoredPeople(ones, weight, np.array([False, True]), everyone=True)
        limit = people_limit(at_most=0.5, allow=bound)
        return Finding(
            "m@a", "m", share <= bound, "a", value=value, limit=limit, violations=count, scored_people=scored, **fields
        )
    fields |= {"value": share, "unit": Unit.SHARE}
    if kind == "release":
        limit = Limit("at_most", bound)
        return Finding("m", "m", limit.is_kept(share), limit=limit, **fields)
    limit = people_limit(average=True, **{kind: bound})
    scored = ScoredPeople(ones, weight, np.zeros(2, dtype=bool), everyone=True)
    return Finding(
        "m@a",
        "m",
        limit.is_kept(share),
        "a",
        limit=limit,
        scored_people=scored,
        masking=Masking(score_range=1.0),
        **fields,
    )


def public_of(finding: Finding, people: int, smallest: int) -> tuple[bool, str]:
    """Has the public report a note, and what does it disclose besides verdicts, notes and histograms?"""
    report = Report(POLICY, {"people": PeopleCount(people)}, RELEASE, [finding], {}, smallest)
    fields = document(report, "public")
    notes, numbers = fields.pop("notes"), dict(fields.pop("findings")[0])
    assert numbers.pop("passed") == finding.passed
    del fields["verdict"], numbers["distribution"]
    return bool(notes), json.dumps([fields, numbers], sort_keys=True)


@pytest.mark.parametrize("private", [False, True], ids=["published", "suppressed"])
@pytest.mark.parametrize("kind", ["at_most", "at_least", "release", "allow"])
@pytest.mark.parametrize(("people", "smallest"), [(18, 5), (17, 3), (12, 10), (6, 10), (12, 1)])
@pytest.mark.thorough
def test_a_verdict_on_a_share_is_declared_where_it_distinguishes_few_people(
    kind: str, people: int, smallest: int, private: bool
) -> None:
    """By brute force: of few people, or all but few, some with the same public numbers keep the limit, others not."""
    few = range(1, smallest)
    for bound in [count / 2 / people for count in range(1, 2 * people)]:
        findings = [of_share(kind, count, people, bound, private=private) for count in range(people + 1)]
        public = [public_of(finding, people, smallest) for finding in findings]
        verdicts: dict[str, list[set[bool | None]]] = {numbers: [set(), set()] for _, numbers in public}
        for finding, (count, (_, numbers)) in zip(findings, enumerate(public), strict=True):
            for some, verdict in zip((count, people - count), verdicts[numbers], strict=True):
                verdict |= {finding.passed} if some in few else set()
        for count, (noted, numbers) in enumerate(public):
            assert noted == any(len(verdict) > 1 for verdict in verdicts[numbers]), (count, bound)


def partitions(people: int, largest: int) -> Iterator[list[int]]:
    """All sizes that the groups of so many people can have, from large to small."""
    if not people:
        yield []
    for size in range(min(people, largest), 0, -1):
        yield from ([size, *others] for others in partitions(people - size, size))


def of_mean(sizes: NDArray[np.int64], bound: float, *, private: bool) -> Finding:
    """A limit on the mean over people of how many share their group."""
    people, nobody = int(sizes.sum()), np.zeros(len(sizes), dtype=bool)
    mean, limit = float(sizes @ sizes / people), people_limit(at_least=bound, average=True)
    scored = ScoredPeople(sizes.astype(float), sizes, nobody, everyone=True)
    return Finding(
        "m@a", "m", limit.is_kept(mean), "a", value=mean, limit=limit, people=people, unit=Unit.PEOPLE,
        audience=numbers_for(private), scored_people=scored, masking=Masking(score_range=float(np.ptp(sizes))),
    )  # fmt: skip


@pytest.mark.parametrize("private", [False, True], ids=["published", "suppressed"])
@pytest.mark.thorough
def test_a_verdict_on_the_mean_size_of_groups_is_declared_where_it_distinguishes_small_means(private: bool) -> None:
    """By brute force over all ways to divide ten people, with every limit that a mean can equal."""
    people, smallest = 10, 5
    divided = [np.array(sizes) for sizes in partitions(people, people)]
    for bound in {float(sizes @ sizes / people) for sizes in divided} | {0.5, 5.0, 6.5}:
        findings = [of_mean(sizes, bound, private=private) for sizes in divided]
        public = [public_of(finding, people, smallest) for finding in findings]
        verdicts: dict[str, set[bool | None]] = {numbers: set() for _, numbers in public}
        for finding, (_, numbers) in zip(findings, public, strict=True):
            if finding.value is not None and finding.value < smallest:
                verdicts[numbers].add(finding.passed)
        for noted, numbers in public:
            assert noted == (len(verdicts[numbers]) > 1), bound


@pytest.mark.parametrize("count", [4, 7, 12])
def test_two_verdicts_that_pin_a_few_people_are_both_declared(count: int) -> None:
    """Of 1,000 people exactly 4 are alone, or exactly 7 exposed; 12 may be published."""
    findings = [of_share("at_most", count, 1000, bound / 1000, private=False) for bound in (count - 1, count)]
    report = Report(POLICY, {"people": PeopleCount(1000)}, RELEASE, findings, {}, 10)
    assert [finding.passed for finding in findings] == [False, True]
    notes = document(report, "public")["notes"]
    bounds = [f"0.0{count - 1:02}", f"0.0{count:02}"] if count < 10 else []
    assert [note.partition(" discloses ")[0] for note in notes] == [
        f"Whether m is at most {bound} on average" for bound in bounds
    ]
    assert not document(report, "auditor")["notes"]


def test_a_waivers_weaker_limit_below_the_smallest_cell_is_declared() -> None:
    finding = Finding(
        "k@a", "k", False, "a", value=6.0, limit=people_limit(at_least=20.0), people=100, violations=6, unit=Unit.PEOPLE
    )
    names = {"id": "W-1", "finding": "k@a", "release": "0" * 64, "owner": "a", "approved_by": "b", "reason": "c"}
    days = {"issued": "2026-01-01", "expires": "2026-01-02"}
    waiver = names | days | {"limit": {"at_least": 5.0}, "status": "applied", "message": "d"}
    facts: dict[str, Any] = {"waivers": [waiver], "judged_on": "2026-01-01"}
    report = Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [finding], {}, 10, **facts)
    [note] = document(report, "public")["notes"]
    assert "Whether k is at least 5 discloses groups of fewer than 10 people" in note


def test_the_pencil_finds_what_a_careless_report_gives_away() -> None:
    people = ScoredPeople(np.array([0.0, 1.0]), np.array([97, 3]), np.array([False, True]), everyone=True)
    careless = Finding(
        "m@a", "m", False, "a", people=100, violations=3, limit=people_limit(at_most=0.5), scored_people=people
    )
    fields = document(Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [careless], {}, 10), "public")
    assert fields["findings"][0]["beyond"] == {"fewer_than": 10}
    assert len(fields["findings"][0]["distribution"]) == 1
    fields["findings"][0]["distribution"] = [
        {"from": 0, "to": 0.5, "people": 97, "past": False},
        {"from": 0.5, "to": 1, "people": 3, "past": True},
    ]
    assert any("beyond is 3" in found for found in given_away(fields, 10))
    assert exact_counts(fields) == [97, 3]


@pytest.mark.parametrize("form", list(FILES))
def test_no_byte_of_a_public_report_was_planted(tmp_path: Path, form: str) -> None:
    report = of_planted(tmp_path)
    assert report.verdict == "fail"
    public, auditor = (view(document(report, audience), form) for audience in ("public", "auditor"))
    assert b"planted-" not in public
    assert b"planted-" in auditor or form in {"junit", *FOR_PEOPLE}  # which name no group to anybody


@pytest.mark.parametrize(("unit", "edge"), [("people", 0), ("one over people", -1)])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_the_outer_edge_of_a_histogram_does_not_tell_how_small_the_smallest_group_is(
    unit: str, edge: int, size: int
) -> None:
    groups = np.array([size] * 20 + [50] * 4)
    scores, limit = (
        (groups, people_limit(at_least=20.0)) if unit == "people" else (1 / groups, people_limit(at_most=0.05))
    )
    past = groups < 20
    result = ScoredPeople(scores.astype(float), groups, past, everyone=True)
    worst = float(scores.min() if unit == "people" else scores.max())
    people, beyond = int(groups.sum()), int(groups[past].sum())
    finding = Finding("m@a", "m", False, "a", "s", worst, limit, people, beyond, unit=Unit(unit), scored_people=result)
    public = document(Report(POLICY, {"people": PeopleCount(people)}, RELEASE, [finding], {}, 10), "public")
    outer, inner = ("to", "from") if edge else ("from", "to")
    bar = public["findings"][0]["distribution"][edge]
    assert bar[outer] == 1.0
    finding = replace(finding, limit=people_limit(at_most=1.0) if edge else people_limit(at_least=1.0), passed=True)
    finding = replace(finding, violations=0, scored_people=replace(result, violates=past & False))
    public = document(Report(POLICY, {"people": PeopleCount(people)}, RELEASE, [finding], {}, 10), "public")
    bar = public["findings"][0]["distribution"][edge]
    assert (bar[inner] <= 0.1) if edge else (bar[inner] >= 10)  # the bar says no more than that the group is small


@pytest.mark.parametrize(("sizes", "value"), [((1, 2), 1), ((40, 2), 1), ((40, 20), 2)])
def test_a_few_people_in_small_groups_are_not_told_group_by_group(sizes: tuple[int, int], value: int) -> None:
    worst = [{"people": PeopleCount(size)} for size in sizes]
    for beyond in (sum(sizes), 70):
        finding = Finding(
            "m@a",
            "m",
            False,
            "a",
            people=100,
            violations=beyond,
            limit=people_limit(at_least=3),
            evidence={"worst": worst},
        )
        public = document(Report(POLICY, {"people": PeopleCount(100)}, RELEASE, [finding], {}, 3), "public")
        assert len(public["findings"][0]["evidence"]["worst"]) == value
