"""Secret numbers: what is believed of them is believed of the bin they lie in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from components import new_attack
from leafgate import Release
from leafgate.algorithms.feasible import Domain, Interval, branch_domains, largest_value_going_low
from leafgate.algorithms.routing import goes_low
from leafgate.api import Column, Leaf, NumericSplit, Schema, SecretBelief, bin_names, bin_of, bins_between
from leafgate.testing import grant_knowledge
from random_tables import categorical, table_of
from survey import survey
from table_files import PUBLIC, read

EDGES = st.lists(st.integers(-50, 50), min_size=3, max_size=8, unique=True).map(sorted)
SECRET_AGE = {"role": "sensitive", "bounds": [0, 120], "bins": [0, 30, 45, 120]}
PRIVATE_AGE = {
    "data.columns.age": SECRET_AGE,
    "data.columns.ill.role": "class",
    "data.columns.sex": {"role": "quasi_identifier", "values": ["f", "m"]},
}


@given(EDGES, st.floats(-60, 60))
def test_a_number_is_in_the_bin_whose_edges_it_lies_between(edges: list[int], number: float) -> None:
    (found,) = bin_of(np.array([number]), edges).tolist()
    assert found == max(i for i, edge in enumerate([-np.inf, *edges[1:-1]]) if edge <= number)
    assert len(bin_names(edges)) == len(edges) - 1


@given(EDGES, st.integers(-60, 60), st.integers(0, 30))
def test_a_range_touches_the_bins_of_the_numbers_in_it(edges: list[int], low: int, width: int) -> None:
    inside = np.linspace(low, low + width, 8 * width + 1)
    inside = inside[(inside >= edges[0]) & (inside <= edges[-1])]
    assert set(np.flatnonzero(bins_between(edges, low, low + width))) == set(bin_of(inside, edges))
    above_low = np.append(inside[inside > low], np.nextafter(low, np.inf))
    above_low = above_low[(above_low >= edges[0]) & (above_low <= min(edges[-1], low + width))]
    assert set(np.flatnonzero(bins_between(edges, low, low + width, open_low=True))) == set(bin_of(above_low, edges))


def near(numbers: Iterable[float], *, float32: bool) -> list[float]:
    """Each number, its neighbours, and those around the two numbers at which rounding to float32 changes."""
    found = list(numbers)
    if float32:
        singles = [np.float32(number) for number in found]
        sides = [np.nextafter(one, np.float32(to)) for one in singles for to in (-np.inf, np.inf)]
        found += [(float(one) + float(two)) / 2 for one in {*singles, *sides} for two in (*singles, *sides)]
    return sorted({math.nextafter(n, to) for n in found for to in (-math.inf, n, math.inf)})


NUMBERS = st.sampled_from([-1.0, 0.0, 0.1, float(np.float32(0.1)), 2.5, 5.0, 5000.0, 16777217.0, 5e-324, 1e9])


@given(st.lists(NUMBERS, min_size=3, max_size=5, unique=True).map(sorted), st.data())
def test_after_any_cuts_a_bin_is_possible_where_a_float_of_it_takes_that_way(edges: list[float], data: Any) -> None:
    missing = data.draw(st.booleans())
    sides: list[Literal["low", "high"] | None] = ["low", "high"] if missing else [None]
    column = Column("pay", frozenset({"private"}), bounds=(edges[0], edges[-1]), missing=missing)
    schema, possible, cuts = Schema((column,)), dict[str, Domain](), list[tuple[NumericSplit, bool]]()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.one_of(NUMBERS, st.sampled_from(near(edges, float32=True))))
        cut = NumericSplit(
            "pay", at, Leaf("a"), Leaf("b"), *data.draw(st.tuples(st.sampled_from(sides), *[st.booleans()] * 2))
        )
        low = data.draw(st.booleans())
        possible = {"pay": branch_domains(cut, possible, schema)[not low][1]}
        cuts.append((cut, low))
    rest = possible["pay"]
    assert isinstance(rest, Interval)
    tried = np.array(near([*edges, *(cut.at for cut, _ in cuts)], float32=True))
    tried = tried[(tried >= edges[0]) & (tried <= edges[-1])]
    for cut, low in cuts:
        tried = tried[goes_low(cut, tried) == low]
    found = bins_between(edges, rest.low, rest.high, open_low=True)
    assert set(np.flatnonzero(found)) == set(bin_of(tried, edges))
    assert rest.missing == (missing and all((cut.missing == "low") == low for cut, low in cuts))


@pytest.mark.parametrize("at", [0.1, 0.3, 1e39, -1e39, float(np.finfo(np.float32).max), 3.4028235677973366e38])
@pytest.mark.parametrize("strict", [True, False])
def test_the_largest_number_that_goes_low_of_a_float32_cut_is_exact(at: float, strict: bool) -> None:
    cut = NumericSplit("pay", at, Leaf("a"), Leaf("b"), strict=strict, float32=True)
    top = largest_value_going_low(cut)
    assert goes_low(cut, np.array([top, math.nextafter(top, math.inf)])).tolist() == [True, False]


def test_nobody_above_a_strict_cut_at_a_bins_edge_is_believed_in_the_bin_below_it() -> None:
    # 29 of 30 people earn 5000 or more: the leaf above the cut is all in the upper bin, whose edge the cut is.
    columns = (
        categorical("town", "quasi_identifier", values=("a", "b")),
        Column("pay", frozenset({"sensitive"}), bounds=(0, 10_000), bins=(0, 5_000, 10_000)),
        categorical("y", "class", values=("no", "yes")),
    )
    table = table_of(columns, [("a", 100.0, "no"), *[("a", 5_000.0 + i, "yes") for i in range(29)]])
    tree = NumericSplit("pay", 5_000.0, Leaf("no", {"no": 1, "yes": 0}), Leaf("yes", {"no": 0, "yes": 29}), strict=True)
    (belief,) = new_attack("linking").infer(Release({}, table.schema, (tree,)), grant_knowledge(table))
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy()[0] == pytest.approx([1 / 30, 29 / 30])


def test_what_the_adversary_knows_of_the_distribution_is_by_bins(tmp_path: Path) -> None:
    columns: dict[str, dict[str, Any]] = {"sex": PUBLIC, "age": SECRET_AGE}
    table = read(tmp_path, "sex,age\nf,29.5\nm,30\nm,45\nm,120\n", columns)
    known = grant_knowledge(table, distribution=True)
    assert known.distribution == {"age": {"[0, 30)": 0.25, "[30, 45)": 0.25, "[45, 120]": 0.5}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"role": "sensitive", "bounds": [0, 120]}, "needs `bins`"),
        ({"role": "sensitive", "bins": [0, 120]}, "at least 3 items"),
        ({"role": "sensitive", "bins": [0, 45, 30]}, "must rise"),
        ({"role": "sensitive", "bounds": [0, 99], "bins": [0, 30, 120]}, "begin and end where the `bounds` do"),
        ({"role": "quasi_identifier", "bins": [0, 30, 120]}, "for numbers with the role `sensitive`"),
        ({"role": "sensitive", "values": ["20"], "bins": [0, 30, 120]}, "for numbers with the role `sensitive`"),
        ({"role": "class", "bounds": [0, 120]}, "a class needs `values`"),
    ],
)
def test_bins_that_are_none_are_refused_with_their_place(tmp_path: Path, spec: dict[str, Any], text: str) -> None:
    ended = leafgate("validate", survey(tmp_path, {"data.columns.age": spec}), "--json")
    assert ended.code == 2
    assert any("data.columns.age" in p["place"] and text in p["message"] for p in ended.problems), ended.out


def test_a_secret_of_numbers_without_bins_is_refused_once_the_data_are_read(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path, {"data.columns.age": {"role": "sensitive"}}), "--json")
    assert (ended.code, ended.problems[0]["remedy"]) == (
        2,
        "declare its `bins`, the edges of the intervals it is believed to lie in",
    )


def test_a_tree_that_asks_a_secret_number_gives_its_bin_away(tmp_path: Path) -> None:
    changes = PRIVATE_AGE | {
        "data.columns.ill.role": ["class", "quasi_identifier"],
        "build": {"use": "id3"},
        "metrics": [{"use": "confidence", "at_most": 0.999, "secret": "age", "scored": "derived"}],
    }
    people = "age,sex,smoker,ill\n" + "20,f,no,no\n25,m,no,no\n50,f,no,yes\n60,m,no,yes\n"
    ended = leafgate("audit", survey(tmp_path, changes, people), "--json")
    (result,) = ended.document["findings"]
    assert (result["id"], result["value"]) == ("confidence@linking#age", None)  # of 4 people: not the public's
    leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out", "--audience", "auditor")
    (found,) = json.loads((tmp_path / "out" / "report.json").read_bytes())["findings"]
    assert found["value"] == pytest.approx(1 / 2)


def test_published_numbers_tell_their_bins(tmp_path: Path) -> None:
    changes = PRIVATE_AGE | {
        "build": {"use": "table"},
        "metrics": [{"use": "exposure", "average": True, "at_most": 0.999, "secret": "age"}],
    }
    people = "age,sex,smoker,ill\n" + "20,f,no,no\n25,f,no,yes\n50,m,no,yes\n20,m,no,yes\n"
    ended = leafgate("audit", survey(tmp_path, changes, people), "--json", "--out", tmp_path / "out")
    assert ended.document["verdict"] == "pass", ended.out
    report = (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    assert "exposure@linking#age" in report


def test_edges_that_differ_in_late_digits_have_names_apart() -> None:
    edges = (0.0, 1000.0000000000001, 1000.0000000000002, 1000.0000000000003, 1e4)
    assert len(set(bin_names(edges))) == 4
    assert bin_names((0, 0.1, 0.30000000000000004)) == ("[0, 0.1)", "[0.1, 0.30000000000000004]")
