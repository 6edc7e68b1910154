"""Secret numbers: what is believed of them is believed of the bin they lie in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate.bins import bin_names, bin_of, bins_between
from leafgate.known import known_of
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
    without_low = bin_of(inside[inside > low], edges)
    assert set(np.flatnonzero(bins_between(edges, low, low + width, open_low=True))) >= set(without_low)


def test_what_the_adversary_knows_of_the_distribution_is_by_bins(tmp_path: Path) -> None:
    columns: dict[str, dict[str, Any]] = {"sex": PUBLIC, "age": SECRET_AGE}
    table = read(tmp_path, "sex,age\nf,29.5\nm,30\nm,45\nm,120\n", columns)
    known = known_of(table, distribution=True)
    assert known.distribution == {"age": {"[0, 30)": 0.25, "[30, 45)": 0.25, "[45, 120]": 0.5}}


@pytest.mark.parametrize(
    ("spec", "told"),
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
def test_bins_that_are_none_are_refused_with_their_place(tmp_path: Path, spec: dict[str, Any], told: str) -> None:
    ended = leafgate("validate", survey(tmp_path, {"data.columns.age": spec}), "--json")
    assert ended.code == 2
    assert any("data.columns.age" in p["place"] and told in p["message"] for p in ended.problems), ended.out


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
        "metrics": [{"use": "confidence", "at_most": 1, "secret": "age"}],
    }
    people = "age,sex,smoker,ill\n" + "20,f,no,no\n25,m,no,no\n50,f,no,yes\n60,m,no,yes\n"
    ended = leafgate("audit", survey(tmp_path, changes, people), "--json")
    (told,) = ended.document["findings"]
    assert (told["id"], told["value"]) == ("confidence@linking#age", None)  # of 4 people: not the public's
    leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out", "--audience", "auditor")
    (found,) = json.loads((tmp_path / "out" / "report.json").read_bytes())["findings"]
    assert found["value"] == pytest.approx(1 / 2)


def test_published_numbers_tell_their_bins(tmp_path: Path) -> None:
    changes = PRIVATE_AGE | {
        "build": {"use": "table"},
        "metrics": [{"use": "exposure", "average": True, "at_most": 1, "secret": "age"}],
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
