"""Numbers of persons with several rows: windows and totals are those of counting every row, one person left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.algorithms.certainty import DOMINANCE, Window, Windows, dominating
from leafgate.algorithms.person_numbers import PersonWindows, dominating_differences, dominating_persons
from leafgate.kernel.person_columns import names_persons
from leafgate.kernel.persons import person_rows

WINDOW = Window(width=2.0)
groups = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=14)
"""The rows of one group: whose each is, and its number."""


def largest_share(rows: list[tuple[int, int]]) -> float:
    """The largest share by rows and by persons, over all windows and all persons who are left out."""
    persons = {person for person, _ in rows}
    if len(persons) == 1:
        return 1.0
    found = 0.0
    for _, start in rows:
        inside = [person for person, number in rows if start <= number <= start + WINDOW.width]
        for out in persons:
            kept = [person for person, _ in rows if person != out]
            found = max(found, sum(person != out for person in inside) / len(kept))
            found = max(found, len({*inside} - {out}) / (len(persons) - 1))
    return found


@given(rows=groups, insiders=st.integers(0, 2))
def test_windows_leave_out_all_rows_of_a_person(rows: list[tuple[int, int]], insiders: int) -> None:
    person, numbers = (np.array(column) for column in zip(*rows, strict=True))
    whose = person_rows(np.arange(len(rows)), person, np.ones(len(rows), dtype=np.int64))
    everybody = np.ones(len(rows), dtype=bool)
    windows = PersonWindows(numbers.astype(float), whose, np.zeros(len(rows), dtype=np.int64), WINDOW)
    assert windows.largest_share(everybody).tolist() == pytest.approx([largest_share(rows)])
    expected = [
        any(
            start <= number <= start + 2
            and len({other for other, cell in rows if not start <= cell <= start + 2}) <= insiders
            for _, start in rows
        )
        for _, number in rows
    ]
    assert windows.certain(insiders, everybody).tolist() == expected


@given(rows=groups, insiders=st.integers(0, 2))
def test_a_total_has_the_sum_of_all_rows_of_a_person(rows: list[tuple[int, int]], insiders: int) -> None:
    person, numbers = (np.array(column) for column in zip(*rows, strict=True))
    whose = person_rows(np.arange(len(rows)), person, np.ones(len(rows), dtype=np.int64))
    group = np.zeros(len(rows), dtype=np.int64)
    totals = {each: sum(number for other, number in rows if other == each) for each in {each for each, _ in rows}}
    ranked = sorted(totals.values(), reverse=True)
    exposed = sum(ranked[insiders + 1 :]) < DOMINANCE * ranked[0]
    found = dominating_persons(numbers.astype(float), whose, group, insiders)
    assert found.tolist() == [exposed and totals[each] == ranked[0] for each, _ in rows]


@given(numbers=st.lists(st.integers(0, 9), min_size=2, max_size=12), insiders=st.integers(0, 2))
def test_persons_of_one_row_are_judged_as_rows(numbers: list[int], insiders: int) -> None:
    cells, ones = np.array(numbers, dtype=float), np.ones(len(numbers), dtype=np.int64)
    group, everybody = np.arange(len(numbers)) % 2, np.ones(len(numbers), dtype=bool)
    whose = person_rows(np.arange(len(numbers)), np.arange(len(numbers)), ones)
    by_persons, by_rows = PersonWindows(cells, whose, group, WINDOW), Windows.of(cells, ones, group, WINDOW)
    assert by_persons.largest_share(everybody) == pytest.approx(by_rows.largest_share(everybody))
    assert by_persons.certain(insiders, everybody).tolist() == by_rows.certain(insiders, everybody).tolist()
    totals = dominating_persons(cells, whose, group, insiders), dominating(cells, ones, group, insiders)
    assert totals[0].tolist() == totals[1].tolist()


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from([0, 1, 30])), min_size=1, max_size=14
    ),
    insiders=st.integers(0, 2),
    lowest=st.sampled_from([0, 5]),
)
def test_a_difference_of_totals_discloses_who_dominates_those_that_do_not_cancel_out(
    rows: list[tuple[int, int, int]], insiders: int, lowest: int
) -> None:
    rows = [(group, person, number + lowest) for group, person, number in rows]
    group, person, numbers = (np.array(column) for column in zip(*rows, strict=True))
    whose = person_rows(np.arange(len(rows)), person, np.ones(len(rows), dtype=np.int64))
    exposed = set()
    for one in range(3):
        for other in range(one + 1, 3):
            parts = [
                {each: sum(n for g, p, n in rows if (g, p) == (chosen, each)) for g, each, _ in rows if g == chosen}
                for chosen in (one, other)
            ]
            cancelled = [each for each in parts[0].keys() & parts[1].keys() if parts[0][each] == parts[1][each]]
            left = {each: abs(parts[0].get(each, 0) - parts[1].get(each, 0)) for part in parts for each in part}
            beyond = {}
            for each in left:
                hers = [(n - lowest) * ((g == one) - (g == other)) for g, p, n in rows if p == each]
                beyond[each] = min(left[each], abs(sum(hers)))
            most = max(left.values(), default=0)
            for largest in (each for each, total in left.items() if cancelled and total == most > 0):
                others = sorted((number for each, number in beyond.items() if each != largest), reverse=True)
                if sum(others[insiders:]) < DOMINANCE * most:
                    exposed |= {(one, largest), (other, largest)}
    found = dominating_differences(numbers.astype(float), whose, group, insiders, lowest)
    flagged = {(int(g), int(p)) for g, p in zip(group[found], person[found], strict=True)}
    assert flagged <= exposed
    assert bool(flagged) == bool({(g, p) for g, p, _ in rows} & exposed)


PERSONS = """
patient patient_id PatientID pid patid subject Subject subject_id subj_no participant person person_id personid
customer customer_id CustomerId custid client client_no member memberNumber household household_id hhid hh_id id
ID uid user user_id userID student studentid student_number pupil_id employee EmployeeNumber emp_no worker_id
respondent respondent_id case case_id caseno claimant beneficiary_id policyholder borrower_id applicant donor_id
account account_no acct_id mrn ssn individual indiv_id insured_id pseudonym farmer_id tenant_id
"""


OTHERS = """
age sex visit visit_id visit_no date postal_code zip zipcode region region_id hospital hospital_id ward ward_no
state country_code year month income education education_num household_size number_of_children children cases
patients_per_day customer_age session_id order_no product_id item_code school_id class_id team trial_no height
diagnosis_code ICD10 store_id row_id record_no transaction_id department_id occupation score group userspace
"""


def test_at_least_95_percent_of_usual_names_of_persons_are_known_and_no_other_names() -> None:
    assert sum(map(names_persons, PERSONS.split())) >= 0.95 * len(PERSONS.split())
    assert [name for name in OTHERS.split() if names_persons(name)] == []
