"""Candidates: people in the table and people who are not, without anything that tells which they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entry_points import Point, install, offering
from leafgate.algorithms.near_copies import NearCopies
from leafgate.algorithms.sampling import MAX_PEOPLE
from leafgate.api import (
    AdversaryKnowledge,
    AuditorOnly,
    Belief,
    Candidates,
    Column,
    GroupBelief,
    InconclusiveError,
    MechanismBelief,
    MembershipBelief,
    PeopleCount,
    Release,
    Table,
)
from leafgate.app import Report, Tables, audit_policy, load_plugins
from leafgate.cli.attack import belief_csv
from leafgate.engine.attack import AttackResult
from leafgate.engine.knowledge import draw_candidates
from leafgate.kernel.knowledge import Membership
from leafgate.testing import validate_belief
from random_tables import table_of
from standins import ROWS, WEIGHT, attack_that, finding, plugins_with, policy_with

COLUMNS = (
    Column("job", frozenset({"quasi_identifier"}), values=("baker", "smith", "judge"), missing=True),
    Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)
KEYED = (Column("id", frozenset({"key"})), *COLUMNS)
JOBS = ("baker", "smith", "judge", None)
PEOPLE = [("baker", 30.0, "no"), ("smith", 40.0, "yes"), ("judge", 50.0, "no")]
OTHERS = [("smith", 40.0, "yes"), (None, 70.0, "no")]

person = st.tuples(st.sampled_from(JOBS), st.sampled_from((20.0, 30.0, 40.0)), st.sampled_from(("no", "yes")))
people = st.lists(person, min_size=1, max_size=8)


def sorted_rows(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in frame.astype(object).itertuples(index=False))


def rows_of(*tables: Table) -> list[tuple[str, ...]]:
    """One row for each person."""
    frames = [table.without_key.frame.loc[np.repeat(np.arange(len(table)), table.persons)] for table in tables]
    return sorted_rows(pd.concat(frames))


def drawn(
    inside: Sequence[Any], outside: Sequence[Any], most: int = 100, seed: int = 0
) -> tuple[Candidates, Membership]:
    return draw_candidates(table_of(COLUMNS, inside), table_of(COLUMNS, outside), most, seed)


@given(people, people, st.integers(0, 2**63 - 1))
def test_everybody_of_both_tables_is_a_candidate_once(inside: list[Any], outside: list[Any], seed: int) -> None:
    candidates, membership = drawn(inside, outside, seed=seed)
    frame, member = candidates.frame, membership.in_table
    assert sorted_rows(frame[member]) == rows_of(table_of(COLUMNS, inside))
    assert sorted_rows(frame[~member]) == rows_of(table_of(COLUMNS, outside))
    assert (candidates.in_table, candidates.not_in_table) == (len(inside), len(outside))
    assert candidates.prior == pytest.approx(len(inside) / (len(inside) + len(outside)))
    assert len(candidates) == len(frame)
    assert (candidates.table.weight == 1).all()


def described(candidates: Candidates) -> list[Any]:
    """Everything of the frame but its cells."""
    frame = candidates.frame
    columns = [(name, frame[name].dtype, frame[name].attrs, frame[name].index.equals(frame.index)) for name in frame]
    return [frame.index, frame.attrs, frame.flags, columns, candidates.table.rows, candidates.table.protected]


@given(people, people)
def test_nothing_but_the_cells_depends_on_who_is_in_the_table(inside: list[Any], outside: list[Any]) -> None:
    """What is in the table and what is not could be exchanged, and the frame would be described the same."""
    one, other = drawn(inside, outside)[0], drawn(outside, inside)[0]
    assert str(described(one)) == str(described(other))
    assert sorted_rows(one.frame) == sorted_rows(other.frame)
    assert isinstance(one.frame.index, pd.RangeIndex)
    assert list(one.frame["job"].cat.categories) == ["baker", "smith", "judge"]


def test_the_order_is_that_of_the_seed_and_the_cells() -> None:
    """Somebody who knows the seed and not which table is which cannot compute it."""
    inside, outside = PEOPLE * 8, OTHERS * 12
    first = drawn(inside, outside)[1].in_table
    assert np.array_equal(first, drawn(inside, outside)[1].in_table)
    assert not np.array_equal(first, drawn(inside, outside, seed=1)[1].in_table)
    older = [(job, age + 1, ill) for job, age, ill in inside]
    assert not np.array_equal(first, drawn(older, outside)[1].in_table)
    assert not np.array_equal(first, np.sort(first))
    assert not np.array_equal(first, np.sort(first)[::-1])


@pytest.mark.thorough
def test_every_order_of_three_candidates_is_about_as_frequent() -> None:
    seen = [tuple(drawn(PEOPLE[:1], OTHERS, seed=seed)[1].in_table.tolist()) for seed in range(600)]
    for place in range(3):
        assert 150 < sum(order[place] for order in seen) < 250


@given(people, people, st.integers(1, 8), st.integers(0, 8))
def test_more_candidates_contain_fewer(inside: list[Any], outside: list[Any], most: int, more: int) -> None:
    few, many = drawn(inside, outside, most), drawn(inside, outside, most + more)
    assert few[0].in_table == min(most, len(inside))
    assert few[0].not_in_table == min(most, len(outside))
    for member in (True, False):
        of_few = sorted_rows(few[0].frame[few[1].in_table == member])
        of_many = sorted_rows(many[0].frame[many[1].in_table == member])
        for row in set(of_few):
            assert of_few.count(row) <= of_many.count(row)


def keyed(rows: Sequence[Any], first: int) -> Table:
    return table_of(KEYED, [(str(first + i), *row) for i, row in enumerate(rows)])


def test_identical_records_under_another_key_stay_and_are_marked() -> None:
    candidates, membership = draw_candidates(keyed(PEOPLE, 0), keyed(OTHERS, 7), 10, 0)
    assert candidates.not_in_table == 2
    assert "id" not in candidates.frame
    assert "id" not in candidates.table.schema
    assert sorted_rows(candidates.frame[membership.identical]) == [("smith", "40.0", "yes")]
    assert not membership.identical[membership.in_table].any()


def test_a_record_is_identical_to_one_of_the_table_that_is_no_candidate() -> None:
    same = [("baker", 30.0, "no")]
    for seed in range(20):
        candidates, membership = drawn(PEOPLE, same, most=1, seed=seed)
        assert len(candidates) == 2
        assert membership.identical.sum() == 1


def test_a_control_of_nobody_is_refused() -> None:
    with pytest.raises(InconclusiveError, match="there is nobody in it"):
        draw_candidates(keyed(PEOPLE, 0), keyed([], 0), 10, 0)


def test_a_row_that_counts_as_several_people_is_several_candidates() -> None:
    shared = table_of(COLUMNS, PEOPLE, (3, 1, 2))
    survey = replace(shared, rows=np.ones(3, dtype=np.int64), counts_people=False)
    control = table_of(COLUMNS, OTHERS)
    as_people, as_rows = (draw_candidates(table, control, 10, 0)[0] for table in (shared, survey))
    assert (as_people.in_table, as_people.training_weighted) == (6, False)
    assert (as_rows.in_table, as_rows.training_weighted) == (3, True)
    assert draw_candidates(replace(shared, rows=np.ones(3, dtype=np.int64)), control, 10, 0)[0].in_table == 6


def test_a_table_with_too_many_people_is_refused() -> None:
    with pytest.raises(InconclusiveError, match="candidates are drawn from fewer than"):
        draw_candidates(table_of(COLUMNS, PEOPLE[:1], (MAX_PEOPLE,)), table_of(COLUMNS, OTHERS), 1, 0)


# --- In an audit ---

OUTSIDE = [("1", "flu", "yes"), ("2", "cold", "yes")]


def heard(*, needs: frozenset[str] = frozenset({"candidates"}), **said: Any) -> list[AdversaryKnowledge]:
    """What an attack with these needs is handed, and nothing where it is not run; its audit has no limit it breaks."""
    return listened(needs, **said)[0]


def listened(
    needs: frozenset[str], *, control: bool = True, test: Any = None, seed: int = 0, **said: Any
) -> tuple[list[AdversaryKnowledge], Report]:
    given_to: list[AdversaryKnowledge] = []

    def listen(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        given_to.append(known)
        return [MechanismBelief()]

    plugins = plugins_with(attack_that(listen, needs=needs))
    chosen = policy_with(plugins, attacks=[{"use": "nosy", **said}, {"use": "calm"}], seed=seed)
    columns = chosen.data.meaning().columns
    table, others = table_of(columns, ROWS, WEIGHT), table_of(columns, OUTSIDE) if control else None
    tested = None if test is None else table_of(columns, test)
    return given_to, audit_policy(chosen, plugins, Tables(table, test=tested, control=others)).report


def test_an_attack_with_candidates_is_told_nobody_of_the_table() -> None:
    (known,) = heard()
    assert known.candidates is not None
    assert (known.candidates.in_table, known.candidates.not_in_table) == (8, 2)
    assert len(known.records) == len(known.public) == len(known.weight) == 0
    assert list(known.records.columns) == ["zip"]
    assert known.people is None
    assert list(known.candidates.frame.columns) == ["zip", "ill", "rich"]


def test_an_attack_without_the_need_gets_no_candidates() -> None:
    (known,) = heard(needs=frozenset())
    assert known.candidates is None
    assert len(known.records) == 2


def test_the_policy_bounds_the_candidates() -> None:
    (known,) = heard(knows={"candidates": 1})
    assert known.candidates is not None
    assert (known.candidates.in_table, known.candidates.not_in_table) == (1, 1)
    assert known.candidates.table_size == 8


def test_without_a_control_the_test_people_are_the_control() -> None:
    (known,) = heard(control=False, test=OUTSIDE[:1])
    assert known.candidates is not None
    assert known.candidates.not_in_table == 1


def test_without_anybody_who_is_not_in_the_table_the_attack_is_inconclusive() -> None:
    known, report = listened(frozenset({"candidates"}), control=False)
    problem = finding(report, "attack:nosy")
    assert known == []
    assert problem.passed is None
    assert "data.control: there are no people who are not in the table" in problem.evidence["problem"]
    assert report.verdict == "inconclusive"


def test_an_attack_with_candidates_cannot_speak_of_people_of_the_table() -> None:
    def guess(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [GroupBelief(np.zeros(0, dtype=int))]

    plugins = plugins_with(attack_that(guess, needs=frozenset({"candidates"})))
    chosen = policy_with(plugins, attacks=[{"use": "nosy"}])
    columns = chosen.data.meaning().columns
    report = audit_policy(
        chosen, plugins, Tables(table_of(columns, ROWS, WEIGHT), control=table_of(columns, OUTSIDE))
    ).report
    assert "whom an attack with `candidates` cannot know" in finding(report, "attack:nosy").evidence["problem"]


def test_an_attack_that_needs_candidates_and_known_people_is_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    nosy = attack_that(lambda release, known: [], needs=frozenset({"candidates", "people"}))
    install(monkeypatch, Point("spies", offering(nosy)))
    [broken] = load_plugins().broken
    assert "cannot need `people`" in broken.problem


# --- What the findings and the file of a single attack say ---


def known_of(candidates: Candidates | None) -> AdversaryKnowledge:
    table = table_of(COLUMNS, PEOPLE)
    return AdversaryKnowledge(table.schema, table.public[0].without_rows, candidates=candidates)


def test_an_attacks_findings_count_its_candidates_for_a_masked_report() -> None:
    _, membership = draw_candidates(keyed(PEOPLE, 0), keyed(OTHERS, 7), 10, 0)
    nosy = attack_that(lambda release, known: [])
    result = AttackResult(nosy(use="nosy"), "", known_of(None), membership=membership)
    counts = {name: PeopleCount(count) for name, count in {"in_table": 3, "not_in_table": 2, "identical": 1}.items()}
    assert result.evidence == {"candidates": counts}
    tested = NearCopies(p_value=0.5, seen_from={"job": 0.1, "age": None})
    stated = AuditorOnly({"from_share": 0.1, "unless_they_differ_in": ["age"]})
    assert replace(result, near_copies=tested).evidence == {"candidates": {**counts, "copies_seen": stated}}


def test_a_single_attack_writes_a_score_for_each_candidate_and_not_who_they_are() -> None:
    belief = MembershipBelief(np.arange(5.0), excluded=np.arange(5) > 3, exclusion_p_values=np.arange(5) / 4)
    content = belief_csv(belief, known_of(drawn(PEOPLE, OTHERS)[0])).decode().splitlines()
    assert content[0] == "job,age,ill,score,excluded,exclusion_p_value"
    assert len(content) == 6
    assert content[5].endswith(",4.0,True,1.0")


@pytest.mark.parametrize("name", ["p_values", "exclusion_p_values"])
@pytest.mark.parametrize("wrong", [[0.5, -0.1, 0, 0, 0], [0.5, 1.1, 0, 0, 0], [0.5] * 4, [np.nan] * 5, ["a"] * 5])
def test_p_values_are_numbers_from_0_to_1_for_each_candidate(name: str, wrong: list[Any]) -> None:
    known = known_of(drawn(PEOPLE, OTHERS)[0])
    good: dict[str, Any] = {name: np.array([0.0, 0.25, 0.5, 1.0, 1.0])}
    bad: dict[str, Any] = {name: np.array(wrong)}
    validate_belief(MembershipBelief(np.zeros(5), **good), known)
    with pytest.raises(InconclusiveError, match=f"`{name}`"):
        validate_belief(MembershipBelief(np.zeros(5), **bad), known)
