"""Known distributions of columns, which the records of reconstructed tables follow as nearly as the leaves allow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy import optimize

from leafgate import InconclusiveError, Release, Table
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, TableBelief, typed_column
from leafgate.testing import grant_knowledge, validate_belief
from leafgate.testing.scenarios import written_out
from leafgate_plugins.reconstruction.leaf_records import TableReconstruction
from leafgate_plugins.reconstruction.marginals import even_places, fitted_cells, marginal_of
from leafgate_plugins.reconstruction.rebuild import Rebuild
from random_tables import categorical, numeric, table_of, tables
from random_trees import counted, forests

ATTACKS = (TableReconstruction(), Rebuild())
both_attacks = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)

TOWN = categorical("town", "quasi_identifier", values=("Hill", "Mill", "Port"))
AGE = numeric("age", "quasi_identifier", bounds=(0.0, 100.0), missing=True)
ILL = categorical("ill", "sensitive", values=("no", "yes"))
RISK = categorical("risk", "class", "quasi_identifier", values=("low", "high"))
PEOPLE = table_of(
    (TOWN, AGE, ILL, RISK),
    [
        *[("Hill", 3.0, "no", "low"), ("Hill", 11.0, "no", "low"), ("Hill", 12.0, "yes", "high")],
        *[("Mill", 41.0, "no", "low"), ("Mill", 90.0, "no", "high"), ("Mill", None, "no", "high")],
    ],
)


def records_of(attack: Any, table: Table, *trees: Node, distribution: bool = True) -> pd.DataFrame:
    """The records that an attack writes down, validated as in an audit."""
    release = Release({}, table.schema, trees, combine="one" if len(trees) == 1 else "vote")
    known = grant_knowledge(table, distribution=distribution)
    (belief,) = attack.infer(release, known)
    valid = validate_belief(belief, known, release)
    assert isinstance(valid, TableBelief)
    return valid.records


@both_attacks
def test_leaves_and_distributions_that_determine_the_table_give_it_back(attack: Any) -> None:
    """Nobody is from Port, so that whoever is not from Hill is from Mill; whoever is older than 40, or of an unknown
    age, is from there too, and the ages below are those of Hill."""
    by_town = CategoricalSplit("town", (Branch(("Hill",), NumericSplit("age", 11.5, Leaf(), Leaf())),), Leaf())
    records = records_of(attack, PEOPLE, counted(by_town, PEOPLE))
    expected = written_out(PEOPLE).frame[["town", "age", "risk"]]
    of_hill = records[records["town"] == "Hill"]
    assert Counter(records["town"]) == {"Hill": 3, "Mill": 3}
    assert sorted(of_hill["age"]) == [3, 11, 12]
    assert sorted(records["age"].fillna(-1)) == sorted(expected["age"].fillna(-1))
    both = ["town", "risk"]
    assert Counter(records[both].itertuples(index=False)) == Counter(expected[both].itertuples(index=False))


@both_attacks
def test_a_secret_follows_the_shares_that_are_granted(attack: Any) -> None:
    """Of the two leaves one has no ill people, so that the one person who is ill is in the other."""
    tree = NumericSplit("age", 11.5, CategoricalSplit("ill", (Branch(("no",), Leaf()),), Leaf()), Leaf())
    records = records_of(attack, PEOPLE, counted(tree, PEOPLE))
    assert Counter(records["ill"]) == {"no": 5, "yes": 1}


@both_attacks
def test_a_secret_number_follows_the_shares_of_its_bins(attack: Any) -> None:
    pay = Column("pay", frozenset({"sensitive"}), bounds=(0.0, 60.0), bins=(0.0, 20.0, 40.0, 60.0), ordered=True)
    numbers = [1.0, 5.0, 25.0, 45.0, 50.0, 55.0]
    frame = pd.DataFrame({"pay": numbers, "risk": typed_column(RISK, ["low", "high"] * 3)})
    table = Table(table_of((pay, RISK), [(5.0, "low")]).schema, frame, np.ones(6, dtype=np.int64))
    records = records_of(attack, table, counted(NumericSplit("pay", 30.0, Leaf(), Leaf()), table))
    assert Counter(records["pay"].astype(str)) == {"[0, 20)": 2, "[20, 40)": 1, "[40, 60]": 3}


@both_attacks
def test_without_the_grant_public_records_are_not_looked_at(attack: Any) -> None:
    tree = counted(NumericSplit("age", 11.5, Leaf(), CategoricalSplit("ill", (), Leaf())), PEOPLE)
    release = Release({}, PEOPLE.schema, (tree,))
    known = grant_knowledge(PEOPLE)
    (one,) = attack.infer(release, known)
    (other,) = attack.infer(release, replace(known, public=known.public.without_rows))
    pd.testing.assert_frame_equal(one.records, other.records)
    assert marginal_of(AGE, known) is None


@both_attacks
@given(st.data())
@pytest.mark.thorough
def test_every_column_of_the_records_has_its_distribution(attack: Any, data: st.DataObject) -> None:
    """The table itself agrees with all leaves, so that some table has all known distributions. Each column has its own:
    values and missing cells the numbers of people, and numbers the very cells, but for people in the wrong leaf."""
    table = data.draw(tables(most=10))
    trees = data.draw(forests(table, most=1 if attack.use == "table_reconstruction" else 2))
    release = Release({}, table.schema, tuple(counted(tree, table) for tree in trees), combine="vote")
    known = grant_knowledge(table, distribution=True)
    try:
        (belief,) = attack.infer(release, known)
    except InconclusiveError:  # no tree counts everybody
        reject()
    if not known.distribution or len(belief.records) < table.total_weight or belief.unfinished:
        return
    true = written_out(table).frame
    for name in set(belief.records.columns) - {table.schema.target.name}:
        column = table.schema[name]
        if column.public or name in known.distribution:
            found, wanted = (frame[name].astype(object) for frame in (belief.records, true))
            assert Counter(found.where(found.notna(), "missing")) == Counter(wanted.where(wanted.notna(), "missing"))


Rows = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]


@st.composite
def rows_and_shares(draw: st.DrawFn) -> Rows:
    """Which parts rows reach, their people, and a distribution over the parts."""
    n_rows, n_parts = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    reach = np.array(
        [draw(st.lists(st.booleans(), min_size=n_parts, max_size=n_parts).filter(any)) for _ in range(n_rows)]
    )
    people = np.array(draw(st.lists(st.integers(0, 20), min_size=n_rows, max_size=n_rows).filter(any)))
    shares = np.array(draw(st.lists(st.integers(0, 9), min_size=n_parts, max_size=n_parts).filter(any)), dtype=float)
    return reach, people, shares


@given(rows_and_shares())
def test_as_many_people_as_possible_have_the_parts_of_the_distribution(case: Rows) -> None:
    """Compared with a linear program: the largest transport from rows to parts, whose capacities are the distribution
    rounded to whole people, differs from that of the exact one by less than a person for each part."""
    reach, people, shares = case
    cells = fitted_cells(reach, people, shares, np.ones(len(shares)))
    assert (cells >= 0).all()
    assert not cells[~reach].any()
    assert cells.sum(axis=1).tolist() == people.tolist()
    wanted = shares / shares.sum() * people.sum()
    met = np.minimum(cells.sum(axis=0), wanted).sum()
    assert met >= largest_transport(reach, people, wanted) - len(shares)


def largest_transport(reach: Any, people: Any, wanted: Any) -> float:
    """How many people, parts of them too, can be sent to parts they reach that want them."""
    rows, parts = np.nonzero(reach)
    by_row, by_part = (np.arange(n)[:, None] == of for n, of in ((len(people), rows), (len(wanted), parts)))
    found = optimize.linprog(
        -np.ones(len(rows)), A_ub=np.vstack([by_row, by_part]).astype(float), b_ub=[*people, *wanted]
    )
    return float(-found.fun)


def test_a_fit_that_needs_a_part_to_be_empty_is_met() -> None:
    """Each row of two must leave its first part to the row before: proportional fitting alone tends to it slowly."""
    n = 30
    reach = np.eye(n, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    cells = fitted_cells(reach, np.full(n, 5), np.ones(n), np.ones(n))
    assert cells.tolist() == (5 * np.eye(n, dtype=int)).tolist()


def test_people_whose_parts_nobody_has_are_divided_by_size() -> None:
    reach = np.array([[True, False, False], [False, True, True]])
    cells = fitted_cells(reach, np.array([2, 4]), np.array([1.0, 0.0, 0.0]), np.array([1.0, 3.0, 1.0]))
    assert cells.tolist() == [[2, 0, 0], [0, 3, 1]]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_places_are_even_within_each_part(parts: list[int]) -> None:
    part = np.array(parts)
    places = even_places(part)
    for each in set(parts):
        n = parts.count(each)
        assert sorted(places[part == each]) == pytest.approx([(i + 0.5) / n for i in range(n)])
