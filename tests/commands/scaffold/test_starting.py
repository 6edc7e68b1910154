from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from data_files import DATA
from generator.policies import MISSING_WORDS, first_policy
from leafgate import DataError
from leafgate.api import InvalidError, columns_asked
from leafgate.app import load_policy, open_session, parse_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=6)
FILES = [
    ("adult/adult.data", "column_15", 30162),
    ("german_credit/german.data", "column_21", 1000),
    ("lendingclub/loan_data.csv", "not.fully.paid", 9578),
    ("congressional_voting/house-votes-84.data", "column_1", 232),
    ("nursery/nursery.data", "column_9", 12960),
    ("mushroom/agaricus-lepiota.data", "column_1", 5644),
    ("default_credit_card_clients/default_of_credit_card_clients.csv", "default payment next month", 30000),
]


def started(
    folder: Path, content: str | bytes, *, name: str = "people.csv", target: str | None = None, **more: Any
) -> Path:
    """The first policy for a file with this content, beside it."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    policy = folder / "policy.yaml"
    policy.write_text(first_policy(path, target, header=more.get("header")), encoding="utf-8")
    return policy


def columns(policy: Path) -> dict[str, Any]:
    found: dict[str, Any] = parse_yaml(policy.read_bytes(), "policy.yaml")["data"]["columns"]
    return found


def table(cells: list[str], *, head: str = "age,x,ill", sign: str = ",") -> str:
    """Numbers, the given cells, and a class."""
    rows = [sign.join([str(20 + i % 7), cell, "no" if i % 3 else "yes"]) for i, cell in enumerate(cells)]
    return "\n".join([head, *rows]) + "\n"


@pytest.mark.thorough
@pytest.mark.skipif(not DATA.exists(), reason="the benchmark data is not here")
@pytest.mark.parametrize(
    ("name", "target", "people"),
    [*FILES[:-1], pytest.param(*FILES[-1], marks=pytest.mark.slow)],
    ids=[name for name, _, _ in FILES],
)
def test_a_public_table_gets_a_policy_that_audits_it(tmp_path: Path, name: str, target: str, people: int) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(first_policy(DATA / name, target))
    run = open_session(policy, data=DATA / name)
    assert (run.table.total_weight, run.table.schema.target.name) == (people, target)
    assert run.audit().report.exit_code in {0, 1}


@pytest.mark.parametrize("sign", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.thorough
def test_the_delimiter_and_the_header_are_found(tmp_path: Path, sign: str, header: bool) -> None:
    content = table(["a", "b"] * 6, head=sign.join(["age", "x", "ill"]), sign=sign)
    policy = started(tmp_path, content if header else content.split("\n", 1)[1])
    assert list(columns(policy)) == (["age", "x", "ill"] if header else ["column_1", "column_2", "column_3"])
    assert open_session(policy).audit().report.exit_code in {0, 1}


@pytest.mark.parametrize(
    ("people", "ill", "k", "limit"), [(60, 30, 5, 0.95), (400, 200, 10, 0.95), (400, 376, 10, 0.98), (45, 20, 3, 0.95)]
)
@pytest.mark.thorough
def test_a_first_policy_builds_what_it_demands(tmp_path: Path, people: int, ill: int, k: int, limit: float) -> None:
    """The class follows from the age, so that a tree without `require` has groups of one class."""
    content = "age,x,ill\n" + "".join(f"{i},{i % 2},{'yes' if i < ill else 'no'}\n" for i in range(people))
    policy = started(tmp_path, content, target="ill")
    document = parse_yaml(policy.read_bytes(), "policy.yaml")
    required = [{"use": "exposure", "insiders": 1}, {"use": "confidence", "at_most": limit}]
    unbalanced = {"k": 40, "prune": False} if limit > 0.95 else {"k": k}
    assert document["build"] == {"use": "kadet", "require": required, **unbalanced}
    assert [metric.get("allow") for metric in document["metrics"]] == [None, None, None]
    ended = leafgate("audit", policy)
    assert (ended.code, "Only the owner of the data can say" in ended.err) == (0, limit > 0.95)


@pytest.mark.parametrize(
    ("builder", "metrics", "code"),
    [
        ("c45", ["k_anonymity", "exposure", "confidence"], 1),
        ("id3", ["k_anonymity", "exposure", "confidence"], 1),
        ("dp_laplace_trees", ["differential_privacy"], 0),
        ("dp_random_trees", ["differential_privacy"], None),  # its audit takes a minute
    ],
)
@pytest.mark.thorough
def test_a_first_policy_limits_what_its_builder_can_promise(
    tmp_path: Path, builder: str, metrics: list[str], code: int | None
) -> None:
    (tmp_path / "people.csv").write_text(table(["a", "b", "b"] * 6))
    made = leafgate("init", tmp_path / "people.csv", "--builder", builder, "--out", tmp_path / "p.yaml")
    assert (made.code, made.err.strip().endswith(" --out DIR")) == (0, builder.startswith("dp_"))
    policy = load_policy(tmp_path / "p.yaml").policy
    assert (policy.build.use, [metric.use for metric in policy.metrics]) == (builder, metrics)
    assert code is None or open_session(tmp_path / "p.yaml").audit().report.exit_code == code


@pytest.mark.parametrize("builder", ["dp_laplace_trees", pytest.param("dp_random_trees", marks=pytest.mark.thorough)])
def test_a_first_private_policy_of_persons_states_their_most_rows(tmp_path: Path, builder: str) -> None:
    rows = [f"p{i},{i % 3},{'ny'[i % 2]}\n" for i in range(60) for _ in range(1 + i % 4)]
    (tmp_path / "people.csv").write_text("patient,x,ill\n" + "".join(rows))
    assert leafgate("init", tmp_path / "people.csv", "--builder", builder, "--out", tmp_path / "p.yaml").code == 0
    policy = load_policy(tmp_path / "p.yaml").policy
    assert (policy.data.rows_at_most, [attack.use for attack in policy.attacks]) == (4, ["linking"])
    report = open_session(tmp_path / "p.yaml").audit().report
    assert (report.verdict, report.findings[0].metric) == ("pass", "differential_privacy")


def test_missing_cells_and_missing_classes_are_no_obstacle(tmp_path: Path) -> None:
    """Leaving out everybody with a missing cell would leave nobody here."""
    cells = [
        f"{20 + i % 7},{'' if i % 2 else i % 3},{i % 5 if i % 2 else ''},{'NA' if i % 9 == 0 else 'ny'[i % 2]}"
        for i in range(90)
    ]
    policy = started(tmp_path, "\n".join(["age,x,z,ill", *cells]), target="ill")
    assert columns(policy)["ill"]["no_answer"] == ["NA"]
    run = open_session(policy)
    assert (run.table.total_weight, run.table.without_class, run.audit().report.exit_code) == (80, 10, 0)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("NULL", {"values": ["n", "y"], "no_answer": ["NULL"]}),
        ("", {"values": ["n", "y"], "no_answer": [""]}),
        ("refused", {"values": ["n", "refused", "y"], "no_answer": ["refused"], "missing_is_value": True}),
        ("None", {"values": ["None", "n", "y"], "no_answer": ["None"], "missing_is_value": True}),
    ],
)
@pytest.mark.thorough
def test_a_class_that_is_not_recorded_hides_nobody(tmp_path: Path, mark: str, said: dict[str, Any]) -> None:
    """In one street all are ill whose class is recorded: kADET may not tell it from the others."""
    rows = [f"Elm,{20 + i % 3},{'y' if i % 2 else mark}" for i in range(60)]
    rows += [f"{'Ash' if i % 4 else 'Oak'},{20 + i % 5},{'ny'[i % 2]}" for i in range(120)]
    policy = started(tmp_path, "\n".join(["street,age,ill", *rows]), target="ill")
    spec = columns(policy)["ill"]
    assert {key: spec[key] for key in spec if key != "role"} == said
    audit = open_session(policy).audit(search_remedies=False)
    assert audit.report.exit_code == 0
    assert audit.artifact is not None
    assert "street" not in {name for tree in audit.artifact.release.trees for name in columns_asked(tree)}


@pytest.mark.parametrize("mark", ["NaN", "NULL", "None", "n/a", "#N/A", ".", "(null)", ".A"])
def test_numbers_with_a_usual_mark_of_missing_cells_are_numbers(tmp_path: Path, mark: str) -> None:
    rows = [f"{mark if i % 60 == 0 else 20 + i % 70},{i % 3},{'ny'[i % 2]}" for i in range(600)]
    policy = started(tmp_path, "\n".join(["age,x,ill", *rows]))
    missing = parse_yaml(policy.read_bytes(), "policy.yaml")["data"]["missing"]
    assert (missing, "bounds" in columns(policy)["age"]) == ([mark], True)
    assert "most cells are numbers, the others usual marks of missing cells" in policy.read_text()


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda i: f"{1000 + 137 * i:,}", "thousands separators: write 1234"),
        (lambda i: f"${13 * i}", "currency sign or %"),
        (lambda i: f"{i}%", "currency sign or %"),
        (lambda i: f"{i / 7:.2f}".replace(".", ","), "decimal commas: write decimal points (1.5)"),
        (lambda i: "Total" if i == 199 else str(i), "most cells are numbers, and some neither"),
    ],
)
def test_init_says_why_a_column_is_none_of_numbers(tmp_path: Path, write: Callable[[int], str], said: str) -> None:
    rows = [f"{write(i)};{i % 3};{'ny'[i % 2]}" for i in range(200)]
    assert said in started(tmp_path, "\n".join(["pay;x;ill", *rows])).read_text()


LINES = [f"{20 + i % 50},{i % 3},{'ny'[i % 2]}" for i in range(60)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("\n".join(["# made by me", "age,x,ill", *LINES]).encode(), "a title or a comment"),
        ("\n".join(["age,x,ill", *LINES, "1,2"]).encode(), "1 row(s) have another number of cells"),
        ("\n".join(["age,age,ill", *LINES]).encode(), "stands twice in the header"),
        ("\n".join(["age,x,ill", *LINES]).encode("utf-16"), "`--encoding utf-16`"),
        ("\n".join(["age,x,ill", *LINES]).encode("utf-16-le"), "`--encoding utf-16-le`"),
        (b"PK\x03\x04" + bytes(range(256)), "is a spreadsheet or an archive"),
        (b"age\n1\n2\n", "has one column"),
    ],
)
def test_a_file_that_is_no_table_is_called_what_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    refused = leafgate("init", tmp_path / "people.csv", "--out", tmp_path / "p.yaml")
    assert (refused.code, said in refused.err) == (2, True)


@pytest.mark.thorough
def test_a_table_of_3000_columns_gets_a_policy(tmp_path: Path) -> None:
    header = [*(f"measured_{i:04d}" for i in range(3000)), "ill"]
    rows = [",".join([*(str((i * j) % 97 / 8) for j in range(3000)), "ny"[i % 2]]) for i in range(1, 41)]
    assert len(columns(started(tmp_path, "\n".join([",".join(header), *rows])))) == 3001


def test_decimal_commas_are_to_be_checked_and_warned_of(tmp_path: Path) -> None:
    content = "age;long;ill\n" + "".join(f"{i % 9},5;{i},25;{'ny'[i % 2]}\n" for i in range(60))
    policy = started(tmp_path, content)
    said = [line for line in policy.read_text().splitlines() if "write decimal points (1.5)" in line]
    assert [line.split('"')[1] for line in said] == ["age", "long"]
    assert "data.columns.age: numbers with decimal commas are categories here" in leafgate("validate", policy).err


@pytest.mark.thorough
def test_another_encoding_is_asked_for_and_written(tmp_path: Path) -> None:
    """Before there is a policy nothing can be set in it."""
    (tmp_path / "people.csv").write_bytes(table(["K\xf6ln", "Ulm", "Ulm"] * 20).encode("latin-1"))
    refused = leafgate("init", tmp_path / "people.csv", "--out", tmp_path / "p.yaml")
    assert (refused.code, "data.csv" in refused.err, "`--encoding latin-1`" in refused.err) == (2, False, True)
    given = ("--encoding", "latin-1", "--out", tmp_path / "p.yaml")
    assert leafgate("init", tmp_path / "people.csv", *given).code == 0
    assert columns(tmp_path / "p.yaml")["x"]["values"] == ["K\xf6ln", "Ulm"]
    assert open_session(tmp_path / "p.yaml").table.total_weight == 60
    assert leafgate("init", tmp_path / "people.csv", "--encoding", "morse").code == 2
    assert "`data.path`" not in leafgate("init", tmp_path / "none.csv").err


def test_decimal_commas_divide_no_cells(tmp_path: Path) -> None:
    rows = [f"{i % 9},5;{i % 7},25;{i % 5},0;{i % 2}" for i in range(60)]
    policy = started(tmp_path, "\n".join(rows), header=False)
    assert len(columns(policy)) == 4
    assert 'csv: {header: false, delimiter: ";"}' in policy.read_text()


@pytest.mark.parametrize(
    "head", ["age of person,what it is,is he ill", '"age, years","x, y","ill, or not"', "age, x, ill"]
)
@pytest.mark.thorough
def test_spaces_and_signs_in_a_header_mislead_nobody(tmp_path: Path, head: str) -> None:
    policy = started(tmp_path, table(["a", "b"] * 6, head=head))
    assert len(columns(policy)) == 3
    assert open_session(policy).table.total_weight == 12


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["b", "a"] * 10, {"role": "quasi_identifier", "values": ["a", "b"]}),
        (["1", "10", "2"] * 7, {"role": "quasi_identifier", "values": ["1", "2", "10"]}),
        ([str(i % 19) for i in range(20)], {"role": "quasi_identifier", "bounds": [0, 20]}),
        (["0.5", "1"] * 10, {"role": "quasi_identifier", "bounds": [0.4, 1.1]}),
        ([f"person {i}" for i in range(20)], {"role": "identifier"}),
        ([f"{i:03d}" for i in range(10)] * 2, {"role": "quasi_identifier", "values": [f"{i:03d}" for i in range(10)]}),
        ([f"{i:05d}" for i in range(20)] * 6, {"role": "quasi_identifier", "values": [f"{i:05d}" for i in range(20)]}),
        ([f"{i:05d}" for i in range(20)] * 2, {"role": "person"}),
        (["nan" if i == 3 else str(i) for i in range(20)] * 2, None),
        (["inf" if i == 3 else str(i) for i in range(20)] * 2, None),
        ([f"1_{i}" for i in range(20)] * 2, None),
        ([f"0.{i + 1}1234567890123456789" for i in range(20)], None),
        ([str(12345678901234567890 + i * 10**6) for i in range(20)], None),
        ([f"{i + 1}e-7" for i in range(20)], None),
        ([str(-1.5 * i) for i in range(20)], None),
        (
            ["yes", "no", "Null", "~", "on"] * 4,
            {"role": "quasi_identifier", "values": ["Null", "no", "on", "yes", "~"]},
        ),
        (["a", "?"] * 10, {"role": "quasi_identifier", "values": ["a"]}),
        ([""] * 20, {"role": "ignored"}),
    ],
)
@pytest.mark.thorough
def test_the_domain_filled_in_holds_what_occurs(tmp_path: Path, cells: list[str], expected: Any) -> None:
    policy = started(tmp_path, table(cells))
    assert expected is None or columns(policy)["x"] == expected
    run = open_session(policy)
    assert run.table.total_weight + run.table.dropped == len(cells)
    assert run.audit().report.exit_code in {0, 1}


@given(st.lists(TEXTS.filter(lambda text: text.strip() != ""), min_size=2, max_size=5, unique=True), TEXTS)
def test_any_text_gets_through_a_first_policy_unharmed(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], name: str
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    head = ",".join(["age", quoted(f"x{name}"), "ill"])
    policy = started(folder, table([quoted(text) for text in texts] * 7, head=head), header=True)
    assert set(columns(policy)) == {"age", f"x{name}", "ill"}
    with (
        contextlib.suppress(DataError) if set(texts) & set(MISSING_WORDS) else contextlib.nullcontext()
    ):  # few may be left
        assert open_session(policy).table.total_weight > 0


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("", {}),
        ("age,ill\n", {}),
        ("age,age,ill\n1,2,no\n", {"header": True}),
        ("age,ill\n1,no\n2\n", {}),
        ("ill\nno\nyes\n", {}),
        (b"age,ill\n\xff,no\n", {}),
        ("age,ill\n1,no\n", {"target": "nobody"}),
    ],
)
def test_a_file_no_policy_can_be_made_for_is_refused(
    tmp_path: Path, content: str | bytes, more: dict[str, Any]
) -> None:
    with pytest.raises(InvalidError) as refused:
        started(tmp_path, content, **more)
    assert refused.value.exit_code == 2


def test_the_refusal_of_a_class_names_no_cell(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as refused:
        started(tmp_path, "anna,flu\nben,cold\n", target="ill")
    assert "flu" not in str(refused.value)


@pytest.mark.parametrize("name", ["a b.csv", "é.csv", "a\nb: [.csv", '"a".csv', "#a.csv", "no.csv"])
def test_a_file_may_be_called_anything(tmp_path: Path, name: str) -> None:
    policy = load_policy(started(tmp_path, table(["a", "b"] * 6), name=name)).policy
    assert policy.data.path == (tmp_path / name).resolve()


def test_parquet_gets_a_first_policy_too(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    cells = {"age": list(range(20)), "x": [True, True, None, False] * 5, "ill": ["no", "yes"] * 10}
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table(cells), path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(first_policy(path))
    assert columns(policy)["x"] == {"role": "quasi_identifier", "values": ["false", "true"]}
    assert open_session(policy).audit().report.exit_code in {0, 1}


def test_a_policy_too_long_to_be_read_again_is_not_written(tmp_path: Path) -> None:
    texts = [f"free text number {i}, which goes on and on" for i in range(8000)]
    with pytest.raises(InvalidError) as refused:
        started(tmp_path, table([quoted(text) for text in 10 * texts]))
    assert refused.value.exit_code == 2
    assert "free text" not in str(refused.value)


IDENTIFIERS = {
    "row numbers": ("x", [str(i + 1) for i in range(40)]),
    "row numbers, shuffled": ("x", [str(100 + i * 7 % 40) for i in range(40)]),
    "numbers of customers": ("customer_id", [str(1000 + i * i) for i in range(40)]),
    "numbers of customers, by another name": ("customerID", [str(1000 + i * i) for i in range(40)]),
    "many different whole numbers": ("x", [str(1000 + i * i) for i in range(60)]),
    "texts": ("x", [f"person {i}" for i in range(40)]),
    "nearly different texts": ("x", [f"person {i % 38}" for i in range(40)]),
    "texts, different where they are told": ("x", ["" if i % 3 == 0 else f"person {i}" for i in range(60)]),
    "dates": ("x", [f"19{50 + i}-03-1{i % 10}" for i in range(40)]),
}


@pytest.mark.parametrize(("name", "cells"), IDENTIFIERS.values(), ids=IDENTIFIERS)
def test_a_column_that_is_different_for_everybody_is_an_identifier_to_check(
    tmp_path: Path, name: str, cells: list[str]
) -> None:
    policy = started(tmp_path, table(cells, head=f"age,{name},ill"))
    assert columns(policy)[name] == {"role": "identifier"}
    assert f'"{name}": {{role: identifier}}          # CHECK: ' in policy.read_text()
    assert open_session(policy).audit().report.exit_code in {0, 1}


@pytest.mark.parametrize(
    ("cells", "check"),
    [
        ([f"{100 + i * i / 7:.3f}" for i in range(60)], "nearly every number is different"),
        ([str(1000 + i * i) for i in range(40)], "nearly every number is different"),  # few people: may be a measure
        ([str(20 + i % 30) for i in range(90)], "round bounds"),
        ([f"2001-0{1 + i % 9}-17" for i in range(90)], "dates: years or months"),
        ([f"village {i % 60}" for i in range(600)], "60 values: coarser ones"),
    ],
)
def test_what_singles_people_out_is_known_to_outsiders_and_to_be_checked(
    tmp_path: Path, cells: list[str], check: str
) -> None:
    policy = started(tmp_path, table(cells))
    assert columns(policy)["x"]["role"] == "quasi_identifier"
    (line,) = [line for line in policy.read_text().splitlines() if line.startswith('    "x"')]
    assert f"# CHECK: {check}" in line
