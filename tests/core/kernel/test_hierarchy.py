from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from data_files import DATA
from leafgate import DataError
from leafgate.api import Hierarchy
from table_files import CLASS, Columns, data_of

ALL = ("Rome", "Pisa", "Paris", "Lima")
CITIES = "Rome;Italy;Europe;*\nPisa;Italy;Europe;*\nParis;France;Europe;*\nLima;Peru;America;*\n"
ARX = {
    "age": [100, 20, 10, 5],
    "education": [16, 5, 3],
    "marital-status": [7, 2],
    "native-country": [41, 5],
    "occupation": [14, 3],
    "race": [5],
    "salary-class": [2],
    "sex": [2],
    "workclass": [8, 3],
}


def hierarchy(folder: Path, text: str | bytes, domain: Iterable[str], **options: Any) -> Hierarchy:
    """The hierarchy of these values of a column that a file describes."""
    (folder / "cities.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    city = {"role": "quasi_identifier", "values": list(domain), "hierarchy": "cities.csv"}
    found = data_of({"city": city, "b": CLASS}, options, root=folder).meaning()["city"].hierarchy
    assert found is not None
    return found


def refusal(folder: Path, text: str, domain: Iterable[str] = ("Rome", "Pisa")) -> str:
    with pytest.raises(DataError) as refused:
        hierarchy(folder, text, domain)
    assert refused.value.problems[0].location == "data.columns.city.hierarchy"
    return str(refused.value)


def test_every_value_has_its_groups_finest_first(tmp_path: Path) -> None:
    found = hierarchy(tmp_path, CITIES, ["Rome", "Pisa", "Lima"])
    assert (found.depth, found.groups["Rome"]) == (2, ("Italy", "Europe"))


def test_a_level_on_which_all_are_one_tells_nothing_and_is_not_kept(tmp_path: Path) -> None:
    whole = hierarchy(tmp_path, CITIES, ALL)
    assert (whole.depth, whole.groups["Lima"]) == (2, ("Peru", "America"))
    europe = hierarchy(tmp_path, CITIES, ["Rome", "Paris"])
    assert (europe.depth, europe.groups["Rome"]) == (1, ("Italy",))


def test_values_outside_the_domain_are_left_out(tmp_path: Path) -> None:
    assert set(hierarchy(tmp_path, CITIES, ["Pisa", "Lima"]).groups) == {"Pisa", "Lima"}


def test_missing_is_a_branch_of_its_own_on_every_level(tmp_path: Path) -> None:
    groups = hierarchy(tmp_path, CITIES, ["Rome", "Lima"], on_missing="keep").groups
    assert len(groups[None]) == len(groups["Rome"])
    assert not set(groups[None]) & set(groups["Rome"] + groups["Lima"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the hierarchy is empty"),
        ("\n\n", "the hierarchy is empty"),
        ("Rome;Italy\nPisa\n", "line 2 has 1 levels, line 1 has 2"),
        ("Rome;Italy;*\nRome;Italy;*\n", "line 2 repeats an earlier value"),
        ("Rome;Italy;Europe\nPisa;Italy;Africa\n", "has two parents"),
        (f'"{"x" * 200_000}";*\n', ""),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


def test_a_value_of_the_domain_without_a_line_is_refused_and_named(tmp_path: Path) -> None:
    result = refusal(tmp_path, CITIES, ["Rome", "Oslo", "Bonn"])
    assert "2 value(s) of the domain have no line" in result
    assert "'Oslo', 'Bonn'" in result


@pytest.mark.parametrize(
    "text",
    [
        CITIES.replace("\n", "\r\n"),
        CITIES.replace(";", " ; "),
        CITIES.rstrip("\n"),
        '"Rome"' + CITIES[4:],
        CITIES + "\n\n",
        "\ufeff" + CITIES,
    ],
)
def test_one_hierarchy_may_be_written_in_many_ways(tmp_path: Path, text: str) -> None:
    assert hierarchy(tmp_path, text, ALL) == hierarchy(tmp_path, CITIES, ALL)


def test_one_group_may_have_one_name_on_several_levels(tmp_path: Path) -> None:
    groups = hierarchy(tmp_path, "x;a;a\ny;b;a\nz;c;c\n", "xyz").groups
    assert groups == {"x": ("a", "a"), "y": ("b", "a"), "z": ("c", "c")}


def test_a_hierarchy_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.columns\.city\.hierarchy: cannot be read"):
        hierarchy(tmp_path, b"\xff;*\n", ["Rome"])
    (tmp_path / "cities.csv").unlink()
    columns: Columns = {"city": {"role": "quasi_identifier", "values": ["Rome"], "hierarchy": "cities.csv"}, "b": CLASS}
    with pytest.raises(DataError, match=r"data\.columns\.city\.hierarchy: cannot be read"):
        data_of(columns, {}, root=tmp_path).meaning()


@pytest.mark.skipif(not DATA.exists(), reason="the benchmark data is not here")
@pytest.mark.parametrize("name", ARX)
def test_the_adult_hierarchies_have_the_levels_of_their_description(tmp_path: Path, name: str) -> None:
    text = (DATA / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8")
    whole = hierarchy(tmp_path, text, [line.partition(";")[0] for line in text.splitlines()])
    levels = [len({groups[level] for groups in whole.groups.values()}) for level in range(whole.depth)]
    assert [len(whole.groups), *levels] == ARX[name]


def test_a_hierarchy_longer_than_any_domain_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    text = "Rome;*\n" * 500_001  # parsed, its second line would repeat a value
    assert "has more than 500,000 lines" in refusal(tmp_path, text)
