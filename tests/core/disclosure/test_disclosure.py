import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.api import AuditorOnly, PeopleCount, Unit
from leafgate.app import (
    Finding,
    Masking,
    Report,
    ScoredPeople,
    SecondaryScore,
    VisibleTo,
    document,
    open_session,
    readable,
    summary,
)
from leafgate.disclosure.histograms import Bar, distribution, published_counts, suppress_secondary
from leafgate.engine.audience import beside_claim
from standins import people_limit
from survey import PEOPLE, survey

POLICY = {"name": "p", "sha256": "0" * 64}
RELEASE = {"sha256": "0" * 64, "builder": {"use": "stump"}, "trees": 1, "leaves": 2}


def report(*findings: Finding, people: int, distinct: int = 0, smallest: int = 10, **facts: Any) -> Report:
    """A report on some people; without `distinct`, everybody is different."""
    fields = {
        "distinct": AuditorOnly(PeopleCount(distinct or people)),
        "sha256": AuditorOnly("d" * 64),
        "keyed_sha256": "e" * 64,
    }
    data = {"people": PeopleCount(people), **fields}
    return Report(POLICY, data, RELEASE, findings, {}, smallest_cell=smallest, **facts)


def found(people: int, beyond: int | None = None, **facts: Any) -> Finding:
    """A finding about everybody."""
    passed = None if beyond is None else beyond == 0
    return Finding("m@a", "m", people=people, violations=beyond, **({"passed": passed} | facts))


def averaged(people: int, past: int) -> Finding:
    """A share of the people, and how large it may be."""
    return found(
        people, value=past / people, unit=Unit.SHARE, limit=people_limit(at_most=0.5, average=True), passed=True
    )


def shared(people: int, past: int) -> Finding:
    """A share of people that is a score of the release."""
    return replace(averaged(people, past), attack=None, limit=people_limit(at_most=0.5))


def left(people: int, known: int) -> Finding:
    """Everybody less a number that anyone knows."""
    return found(
        people, value=people - known, unit=Unit.PEOPLE_LEFT, attack=None, limit=people_limit(at_least=9), passed=True
    )


def sized(people: int, size: float, *, average: bool = False) -> Finding:
    """A number of people, and how large it must be."""
    return found(people, value=size, unit=Unit.PEOPLE, limit=people_limit(at_least=9, average=average), passed=False)


def group_finding(people: int, size: int) -> Finding:
    """A finding whose evidence tells of a group."""
    worst = {"people": PeopleCount(size), "path": AuditorOnly("path"), "true": AuditorOnly({"flu": PeopleCount(1)})}
    return found(people, evidence={"smallest": PeopleCount(size), "worst": [worst]})


@st.composite
def reports(draw: st.DrawFn, *, smallest: int | None = None) -> Report:
    people = draw(st.integers(1, 60))
    some = st.integers(0, people)
    kinds = [
        st.builds(found, st.just(people), some),
        st.builds(averaged, st.just(people), some),
        st.builds(shared, st.just(people), some),
        st.builds(left, st.just(people), st.integers(0, 90)),
        st.builds(sized, st.just(people), st.integers(1, people)),
        st.builds(sized, st.just(people), st.floats(1, people), average=st.just(True)),
        st.builds(group_finding, st.just(people), st.integers(1, people)),
    ]
    findings = draw(st.lists(st.one_of(kinds), max_size=4))
    cell = draw(st.integers(1, 15)) if smallest is None else smallest
    return report(*findings, people=people, distinct=draw(st.integers(1, people)), smallest=cell)


def exact_in(thing: Any) -> Iterator[int]:
    """The whole numbers that stand somewhere unveiled."""
    if isinstance(thing, Mapping):
        veiled = set(thing) in ({"fewer_than"}, {"from", "to"})
        for inside in () if veiled else thing.values():
            yield from exact_in(inside)
    elif isinstance(thing, list):
        for inside in thing:
            yield from exact_in(inside)
    elif isinstance(thing, int) and not isinstance(thing, bool):
        yield thing


def exact_counts(of: Report) -> set[int]:
    """Every count of people or records that the public document shows or gives away as a share."""
    public = document(of, "public")
    counts = set(exact_in(public["data"]))
    for shown, finding in zip(public["findings"], of.findings, strict=True):
        counts |= set(exact_in([shown["people"], shown["beyond"], shown["evidence"]]))
        value = shown["value"]
        if finding.unit == "people" and not isinstance(value, Mapping) and not finding.average:
            counts.add(int(value))
        if finding.unit == "people left" and not isinstance(value, Mapping):
            counts.add(of.data["people"].count)
        if finding.unit == "share" and isinstance(value, float):
            counts.add(round(value * of.data["people"].count))
    return counts


@given(reports())
def test_no_count_below_the_smallest_cell_is_shown_in_any_form(of: Report) -> None:
    assert not [count for count in exact_counts(of) if 0 < count < of.smallest_cell]


@given(reports())
def test_no_two_counts_shown_tell_a_smaller_one_by_subtraction(of: Report) -> None:
    shown = exact_counts(of)
    assert not [(a, b) for a in shown for b in shown if 0 < a - b < of.smallest_cell]


@given(reports(smallest=1))
def test_with_cells_of_one_everything_is_shown(of: Report) -> None:
    public, auditor = document(of, "public"), document(of, "auditor")
    assert public["data"]["people"] == auditor["data"]["people"]
    assert [f["value"] for f in public["findings"]] == [finding.value for finding in of.findings]
    assert [f["beyond"] for f in public["findings"]] == [finding.violations for finding in of.findings]


@given(reports())
def test_auditors_see_everything_and_summaries_can_always_be_written(of: Report) -> None:
    shown = document(of, "auditor")
    assert shown["data"]["people"] == of.data["people"].count
    for result, finding in zip(shown["findings"], of.findings, strict=True):
        assert (result["value"], result["people"], result["beyond"]) == (
            finding.value,
            finding.people,
            finding.violations,
        )
        for group in result["evidence"].get("worst", ()):
            assert (group["path"], group["true"]) == ("path", {"flu": 1})
    assert summary(document(of, "public"))
    assert summary(shown)


@pytest.mark.parametrize("smallest", [3, 4, 5, 10])
def test_no_veil_fits_one_count_alone(smallest: int) -> None:
    seen: dict[bytes, set[tuple[int, int]]] = {}
    for people in range(1, 3 * smallest):
        for beyond in range(people + 1):
            public = document(report(found(people, beyond, passed=True), people=people, smallest=smallest), "public")
            seen.setdefault(readable(public), set()).add((beyond, people - beyond))
    for sides in seen.values():
        for small in zip(*sides, strict=True):
            assert len(set(small)) > 1 or not 0 < small[0] < smallest


def test_a_share_whose_total_is_veiled_does_not_tell_the_total() -> None:
    shown = document(report(averaged(7, 3), people=7), "public")
    assert shown["data"]["people"] == shown["findings"][0]["people"] == {"fewer_than": 10}
    assert shown["findings"][0]["value"] is None


def test_a_veiled_share_is_told_as_a_share() -> None:
    shown = document(report(averaged(200, 3), people=200), "public")
    assert shown["findings"][0]["value"] == {"fewer_than": 0.05}
    assert "less than 0.05" in summary(shown)


def test_private_things_are_nowhere_in_a_public_document() -> None:
    evidence = {
        "path": AuditorOnly("planted-1"),
        "groups": [AuditorOnly("planted-2"), {"deep": AuditorOnly(["planted-3"]), "open": 0.5}],
        "worst": [{"people": PeopleCount(3), "true": AuditorOnly({"planted-4": PeopleCount(3)})}],
    }
    of = report(found(100, 3, evidence=evidence), people=100)
    assert b"planted" not in readable(document(of, "public"))
    assert "planted" not in summary(document(of, "public"))
    assert document(of, "public")["findings"][0]["evidence"] == {
        "groups": [{"open": 0.5}],
        "worst": [{"people": {"fewer_than": 10}}],
    }
    assert all(f"planted-{i}".encode() in readable(document(of, "auditor")) for i in (1, 2, 3, 4))


PRIVATE_RELEASE = report(
    *beside_claim([found(100040, 20011, value=0.5), averaged(100040, 3), averaged(100040, 50020), sized(100040, 12)]),
    people=100040,
    distinct=70017,
    differentially_private=True,
)


def test_where_differential_privacy_is_claimed_the_public_learns_no_total() -> None:
    public = document(PRIVATE_RELEASE, "public")
    assert public["data"] == {}
    assert [finding["people"] for finding in public["findings"]] == [None] * 4
    for text in (readable(public).decode(), summary(public)):
        assert not [word for word in ("100040", "100,040", "70017", "d" * 64) if word in text]
    assert public["findings"][1]["value"] is None
    assert "outside" in public["notes"][-1]


@pytest.mark.parametrize("unit", [unit for unit in Unit if unit != Unit.ONE_OVER_PEOPLE])
def test_the_public_numbers_of_a_private_release_follow_from_the_release_alone(unit: Unit) -> None:
    evidence = {"claim": 1, "derived": 2, "problem": "p", "further": 3}
    whole = found(
        100040, value=0.25, unit=unit, attack=None, limit=people_limit(at_most=1), passed=True, evidence=evidence
    )
    of_release = replace(whole, unit=Unit.NONE, audience=VisibleTo.EVERYBODY)
    of = replace(PRIVATE_RELEASE, findings=beside_claim([whole, of_release]))
    findings = document(of, "public")["findings"]
    assert [finding["value"] for finding in findings] == [None, 0.25]
    assert [finding["evidence"] for finding in findings] == [{"claim": 1, "problem": "p"}, evidence]
    assert document(of, "auditor")["findings"][0]["value"] == 0.25


@pytest.mark.parametrize("hidden", [False, True])
def test_beside_a_claim_of_privacy_what_is_derived_is_for_auditors(hidden: bool) -> None:
    score = SecondaryScore(0.5)
    evidence = {"derived": AuditorOnly(score) if hidden else score}
    judged = found(100040, value=0.25, limit=people_limit(at_most=1, average=True), passed=True, evidence=evidence)
    of = replace(PRIVATE_RELEASE, findings=beside_claim([judged]))
    assert document(of, "public")["findings"][0]["evidence"] == {}
    assert document(of, "auditor")["findings"][0]["evidence"] == {"derived": 0.5}


def test_people_left_are_told_no_finer_than_the_people() -> None:
    assert value_told(report(left(400, 30), people=400)) == 370
    assert value_told(report(left(395, 30), people=400)) == {"from": 360, "to": 370}  # 390 to 400 of them
    assert value_told(report(left(8, 30), people=8)) == {"fewer_than": -20}


def test_auditors_learn_the_totals_of_a_differentially_private_release() -> None:
    assert document(PRIVATE_RELEASE, "auditor")["data"]["people"] == 100040


def test_nothing_else_is_kept_back_without_such_a_claim() -> None:
    public = document(replace(PRIVATE_RELEASE, differentially_private=False), "public")
    assert public["data"] == {"people": 100040, "keyed_sha256": "e" * 64}


def test_how_many_are_distinct_changes_nothing_that_the_public_sees() -> None:
    """It counts rows with their secrets: 80 people in 40 distinct records are pairs who share theirs."""
    some = found(80, 40, unit=Unit.PEOPLE, value=40.0, limit=people_limit(at_least=2))
    seen = {readable(document(report(some, people=80, distinct=n), "public")) for n in (40, 41, 75, 80)}
    assert len(seen) == 1
    assert document(report(some, people=80, distinct=41), "auditor")["data"]["distinct"] == 41


@pytest.mark.parametrize(
    ("moved", "smallest", "value", "step"),
    [
        (1 / 3000, 10, 0.67, 0.01),
        (1 / 100, 10, 0.7, 0.1),
        (1 / 99, 10, None, None),
        (1.0, 10, None, None),
        (1 / 3000, 1, 0.673333, None),
        (0.0, 10, 0.673333, None),
    ],
)
def test_a_score_that_single_people_move_is_told_in_steps_of_the_smallest_cell(
    moved: float, smallest: int, value: float | None, step: float | None
) -> None:
    whole = Finding(
        "accuracy",
        "accuracy",
        True,
        value=0.673333,
        limit=people_limit(at_least=0.673),
        masking=Masking(sensitivity=moved),
    )
    of = report(whole, people=400, smallest=smallest)
    [public], [auditor] = (document(of, audience)["findings"] for audience in ("public", "auditor"))
    assert (public["value"], public.get("step"), public["passed"]) == (value, step, True)
    assert (auditor["value"], "step" in auditor) == (0.673333, False)


def risky(people: int, risk: float, **limit: Any) -> Finding:
    """One over a number of people."""
    return found(
        people, value=risk, unit=Unit.ONE_OVER_PEOPLE, limit=people_limit(**{"at_most": 1} | limit), passed=True
    )


def value_told(of: Report, place: int = 0) -> Any:
    return document(of, "public")["findings"][place]["value"]


def test_one_over_a_small_number_of_people_is_veiled_like_the_number() -> None:
    assert value_told(report(risky(400, 1 / 7), people=400)) == {"more_than": 0.1}
    assert value_told(report(risky(400, 1 / 20), people=400)) == {"from": round(1 / 29, 6), "to": 1 / 20}
    assert document(report(risky(400, 1 / 7), people=400), "auditor")["findings"][0]["value"] == 1 / 7
    assert "is more than 0.1" in summary(document(report(risky(400, 1 / 7), people=400), "public"))


@pytest.mark.parametrize(
    ("risk", "limit", "said"),
    [
        (1 / 20, 1 / 20, "is 0.03448 to 0.05 (wanted at most 0.05)"),
        (1 / 24, 0.045, "m@a holds (wanted at most 0.045)"),
        (1 / 20, 0.04, "is 0.03448 to 0.05 (wanted at most 0.04)"),
    ],
)
def test_no_masked_number_stands_beside_a_limit_that_holds_and_that_only_some_numbers_of_its_step_keep(
    risk: float, limit: float, said: str
) -> None:
    finding = replace(risky(400, risk, at_most=limit), passed=limit >= risk)
    assert said in summary(document(report(finding, people=400), "public"))


@pytest.mark.parametrize(("end", "is_said"), [(0.94, True), (1, False)])
def test_no_masked_number_that_outsiders_derive_does_either(end: float, is_said: bool) -> None:
    judged = document(report(risky(400, 1 / 20, at_most=0.95), people=400), "public")
    finding = judged["findings"][0]
    finding |= {"value": None, "passed": True, "evidence": {"derived": {"from": 0.9, "to": end}}}
    finding["limit"] = finding["limit"] | {"scored": "worst"}
    assert ("what an outsider can derive is" in summary(judged)) == is_said


@pytest.mark.parametrize(
    ("people", "value"),
    [
        (0, 0),
        (1, {"fewer_than": 10}),
        (9, {"fewer_than": 10}),
        (10, {"from": 10, "to": 19}),
        (385, {"from": 380, "to": 389}),
        (389, {"from": 380, "to": 389}),
        (390, {"from": 390, "to": 403}),  # all but 13 and everyone look the same
        (394, {"from": 390, "to": 403}),
        (403, {"from": 390, "to": 403}),
    ],
)
def test_counts_are_told_as_steps_of_one_grid_and_nearly_everyone_as_everyone(people: int, value: Any) -> None:
    public = document(report(found(403, people), people=403), "public")["findings"][0]
    assert (public["beyond"], public["people"]) == (value, 403)
    assert document(report(found(403, people), people=403, smallest=1), "public")["findings"][0]["beyond"] == people


def test_one_person_more_moves_no_count_but_the_total() -> None:
    one, other = (document(report(found(n, 95), sized(n, 33), people=n), "public")["findings"] for n in (400, 401))
    assert [finding | {"people": None} for finding in one] == [finding | {"people": None} for finding in other]


@pytest.mark.parametrize(("smallest", "value"), [(10, 1.99), (1, 1.985), (100, 2.0)])
def test_an_average_is_told_in_steps_that_the_smallest_cell_makes(smallest: int, value: float) -> None:
    average = found(
        1000, value=1.985, masking=Masking(score_range=1.0), limit=people_limit(at_least=1, average=True), passed=True
    )
    assert value_told(report(average, people=1000, smallest=smallest)) == pytest.approx(value, abs=0.006)
    if smallest == 1:
        assert value_told(report(average, people=1000, smallest=1)) == 1.985


@pytest.mark.parametrize(("smallest", "beyond"), [(10, {"from": 50, "to": 60}), (1, 60)])
def test_bars_say_that_everyone_is_past_the_limit_only_where_the_count_does(smallest: int, beyond: Any) -> None:
    scores, weight = np.array([1.0, 2.0, 4.0]), np.array([10, 20, 30])
    scored = ScoredPeople(scores, weight, np.ones(3, dtype=bool), everyone=True)
    limit = people_limit(at_least=10.0)
    finding = found(60, 60, passed=False, limit=limit, unit=Unit.PEOPLE, value=1.0, scored_people=scored)
    result = document(report(finding, people=60, smallest=smallest), "public")["findings"][0]
    assert result["beyond"] == beyond
    assert {bar["past"] for bar in result["distribution"]} == (set() if smallest > 1 else {True})


def test_of_a_private_finding_the_public_hears_of_no_group() -> None:
    worst = {"people": PeopleCount(40), "possible_values": 1}
    hidden = found(
        400,
        95,
        audience=VisibleTo.AUDITORS,
        limit=people_limit(at_least=1),
        evidence={"worst": [worst], "problem": "none"},
    )
    public, auditor = (
        document(report(hidden, people=400), audience)["findings"][0] for audience in ("public", "auditor")
    )
    assert public["evidence"] == {"problem": "none"}
    assert auditor["evidence"]["worst"] == [{"people": 40, "possible_values": 1}]


@pytest.mark.parametrize(("people", "bars"), [(9, 1), (10, 2)])
def test_a_bar_of_one_fewer_than_the_smallest_cell_is_joined(people: int, bars: int) -> None:
    parts = [Bar(0, 1, people, None), Bar(1, 2, 100, None)]
    assert len(suppress_secondary(parts, 10)) == bars


@pytest.mark.parametrize(
    ("bounds", "noted"),
    [
        ([20, 50], "smallest and the largest"),
        ([20, 120], "smallest"),
        ([0, 50], "largest"),
        ([0, 120], ""),
    ],
)
def test_bounds_that_somebody_has_are_noted_for_auditors_alone(tmp_path: Path, bounds: list[int], noted: str) -> None:
    audited = open_session(survey(tmp_path, {"data.columns.age.bounds": bounds})).audit().report
    items = [note for note in document(audited, "auditor")["notes"] if "age" in note]
    assert [f"The declared bounds of 'age' end at the {noted} number that occurs" in note for note in items] == [
        True
    ] * bool(noted)
    assert not any("'age'" in note for note in document(audited, "public")["notes"])


def test_a_bound_of_nought_is_not_noted_though_somebody_has_it(tmp_path: Path) -> None:
    path = survey(tmp_path, {"data.columns.age.bounds": [0, 120]}, PEOPLE.replace("\n20,", "\n0,"))
    assert not any("age" in note for note in document(open_session(path).audit().report, "auditor")["notes"])


def test_the_bounds_0_and_1_are_not_noted_though_somebody_has_both(tmp_path: Path) -> None:
    lines = PEOPLE.splitlines()
    truths = [",".join([str(i % 2), *line.split(",")[1:]]) for i, line in enumerate(lines[1:])]
    path = survey(tmp_path, {"data.columns.age.bounds": [0, 1]}, "\n".join([lines[0], *truths]) + "\n")
    assert not any("'age'" in note for note in document(open_session(path).audit().report, "auditor")["notes"])


def scored(scores: list[float], weight: list[int], limit: dict[str, Any], unit: str = "") -> Finding:
    """A finding about people with these scores."""
    numbers = np.array(scores, dtype=float)
    at_least = "at_least" in limit
    bound = next(iter(limit.values()))
    past = numbers < bound if at_least else numbers > bound
    if limit.get("average"):
        past = np.zeros(len(numbers), dtype=bool)
    people = ScoredPeople(numbers, np.array(weight), past, everyone=True)
    return Finding("m@a", "m", passed=True, limit=people_limit(**limit), unit=Unit(unit), scored_people=people)


def test_bars_are_cut_at_the_limit_and_hold_it_on_the_safe_side() -> None:
    bars = distribution(scored([0.2, 0.5, 0.5, 0.9], [1, 2, 3, 4], {"at_most": 0.5}))
    assert sum(bar.people for bar in bars if not bar.past) == 6
    assert next(bar for bar in bars if bar.people == 5).high == 0.5
    bars = distribution(scored([0.2, 0.5, 0.5, 0.9], [1, 2, 3, 4], {"at_least": 0.5}))
    assert sum(bar.people for bar in bars if bar.past) == 1
    assert next(bar for bar in bars if bar.people == 5).low == 0.5


def test_group_sizes_stand_in_bars_of_1_2_5_10() -> None:
    bars = distribution(scored([1, 2, 3, 7, 30, 450], [1] * 6, {"at_least": 20}, "people"))
    assert [(bar.low, bar.high, bar.people) for bar in bars] == [
        *((1, 2, 1), (2, 5, 2), (5, 10, 1), (10, 20, 0), (20, 50, 1), (50, 100, 0), (100, 200, 0), (200, 500, 1)),
    ]


def test_a_score_without_bound_opens_the_last_bar() -> None:
    assert distribution(scored([1, math.inf], [1, 2], {"at_most": 3}))[-1] == Bar(3, None, 2, past=True)


numbers = st.floats(-50, 50) | st.integers(-3, 3).map(float) | st.floats(0, 1)


@given(
    st.lists(st.tuples(numbers, st.integers(1, 30)), min_size=1, max_size=40),
    numbers,
    st.sampled_from(["at_least", "at_most"]),
    st.booleans(),
)
def test_every_person_is_in_one_bar_around_the_score_on_its_side_of_the_limit(
    people: list[tuple[float, int]], limit: float, direction: str, average: bool
) -> None:
    finding = scored([s for s, _ in people], [w for _, w in people], {direction: limit, "average": average})
    bars = distribution(finding)
    assert sum(bar.people for bar in bars) == sum(w for _, w in people)
    if len({bar.past for bar in bars}) == 2:
        assert any(bar.low == limit for bar in bars)
    past = sum(w for s, w in people if (s < limit if direction == "at_least" else s > limit))
    if not average:
        assert sum(bar.people for bar in bars if bar.past) == past
    for bar in bars:
        assert bar.low is not None
        assert bar.high is not None
        assert bar.low < bar.high
        inside = sum(w for s, w in people if bar.low + 1e-9 < s < bar.high - 1e-9)
        within = sum(w for s, w in people if bar.low - 1e-9 <= s <= bar.high + 1e-9)
        assert inside <= bar.people <= within


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.integers(1, 15),
)
def test_no_run_from_either_end_of_a_veiled_histogram_is_small(counts: list[int], smallest: int) -> None:
    bars = [Bar(float(i), float(i + 1), count, past=i < 3) for i, count in enumerate(counts)]
    shown = suppress_secondary(bars, smallest)
    assert sum(bar.people for bar in shown) == sum(counts)
    assert shown[0].low == 0
    assert all(bar.high == after.low for bar, after in itertools.pairwise(shown))
    if len(shown) == 1:
        return
    everyone = [bar.people for bar in shown]
    runs = {sum(everyone[:i]) for i in range(len(everyone))} | {sum(everyone[i:]) for i in range(1, len(everyone))}
    for count in runs | set(everyone):
        assert count == 0 or count >= smallest
    assert runs - {0, sum(everyone)} <= {count for count, _ in published_counts(shown)}


def test_a_histogram_that_gives_nothing_away_stays_as_it_is() -> None:
    bars = [Bar(0, 1, 20, past=True), Bar(1, 2, 0, past=False), Bar(2, 3, 45, past=False)]
    assert suppress_secondary(bars, 10) == tuple(bars)


@pytest.mark.parametrize("scores", [[], [math.inf]])
def test_without_a_finite_score_there_is_no_histogram(scores: list[float]) -> None:
    assert distribution(scored(scores, [1] * len(scores), {"at_most": 1})) == ()
