from __future__ import annotations

from pathlib import Path

import pytest

from data_files import DATA
from leafgate import DataError
from leafgate.api import Hierarchy
from leafgate.kernel.schema import parse_hierarchy
from table_files import CLASS, Columns, data_of

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


def hierarchy(text: str, domain: list[str | None] | None = None) -> Hierarchy:
    parsed = parse_hierarchy(text, "cities.csv")
    return parsed if domain is None else parsed.restricted(domain, "cities.csv")


def refusal(text: str, domain: list[str | None] | None = None) -> str:
    with pytest.raises(DataError) as refused:
        hierarchy(text, domain)
    assert refused.value.problems[0].location == "cities.csv"
    return str(refused.value)


def test_every_value_has_its_groups_finest_first() -> None:
    assert hierarchy(CITIES).groups["Rome"] == ("Italy", "Europe", "*")
    assert hierarchy(CITIES).depth == 3


def test_a_level_on_which_all_are_one_tells_nothing_and_is_not_kept() -> None:
    whole = hierarchy(CITIES, ["Rome", "Pisa", "Paris", "Lima"])
    assert (whole.depth, whole.groups["Lima"]) == (2, ("Peru", "America"))
    europe = hierarchy(CITIES, ["Rome", "Paris"])
    assert (europe.depth, europe.groups["Rome"]) == (1, ("Italy",))


def test_values_outside_the_domain_are_left_out() -> None:
    assert set(hierarchy(CITIES, ["Pisa", "Lima"]).groups) == {"Pisa", "Lima"}


def test_missing_is_a_branch_of_its_own_on_every_level() -> None:
    groups = hierarchy(CITIES, ["Rome", "Lima", None]).groups
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
def test_what_is_no_hierarchy_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_a_value_of_the_domain_without_a_line_is_refused_and_named() -> None:
    result = refusal(CITIES, ["Rome", "Oslo", "Bonn"])
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
    ],
)
def test_one_hierarchy_may_be_written_in_many_ways(text: str) -> None:
    assert hierarchy(text) == hierarchy(CITIES)


def test_one_group_may_have_one_name_on_several_levels() -> None:
    assert hierarchy("x;a;a\ny;b;a\n").groups == {"x": ("a", "a"), "y": ("b", "a")}


@pytest.mark.parametrize("content", [b"\xff;*\n", None])
def test_a_hierarchy_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "cities.csv").write_bytes(content)
    columns: Columns = {"city": {"role": "quasi_identifier", "values": ["Rome"], "hierarchy": "cities.csv"}, "b": CLASS}
    with pytest.raises(DataError, match=r"data\.columns\.city\.hierarchy: cannot be read"):
        data_of(columns, {}, root=tmp_path).meaning()


def test_a_byte_order_mark_is_no_part_of_the_first_value(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_bytes(b"\xef\xbb\xbf" + CITIES.encode())
    columns: Columns = {
        "city": {"role": "quasi_identifier", "values": ["Rome", "Lima"], "hierarchy": "cities.csv"},
        "b": CLASS,
    }
    schema = data_of(columns, {}, root=tmp_path).meaning()
    assert schema["city"].hierarchy == hierarchy(CITIES, ["Rome", "Lima"])


@pytest.mark.skipif(not DATA.exists(), reason="the benchmark data is not here")
@pytest.mark.parametrize("name", ARX)
def test_the_adult_hierarchies_have_the_levels_of_their_description(name: str) -> None:
    text = (DATA / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8")
    whole = hierarchy(text, list(parse_hierarchy(text, name).groups))
    levels = [len({groups[level] for groups in whole.groups.values()}) for level in range(whole.depth)]
    assert [len(whole.groups), *levels] == ARX[name]


def test_a_hierarchy_longer_than_any_domain_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(DataError, match="has more than 500,000 lines"):
        parse_hierarchy("a;*\n" * 500_001, "cities.csv")  # parsed, its second line would repeat a value
