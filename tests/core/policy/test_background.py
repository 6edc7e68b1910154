"""What an adversary knows of some people, and of people in general: how a policy says it, and who is told."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from itertools import pairwise
from math import comb, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from insider import FACT, INSIDER, knowing, refused
from leafgate import Table
from leafgate.algorithms.sampling import nested_sample, sampled
from leafgate.api import AdversaryKnowledge, Belief, Between, DataError, Fact, Release, SecretBelief
from leafgate.app import load_policy
from random_tables import categorical, numeric, table_of
from standins import attack_that, audited, even, finding
from stranger import install
from survey import COLUMNS, HEADER, PEOPLE, ROWS
from table_files import data_of, known_people_in, people

PLANTED = "Zanzibar"


@pytest.fixture
def insider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with an attack installed that takes known people and facts into account."""
    install(tmp_path, "leafgate_insider", INSIDER)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


AGE = numeric("age", "quasi_identifier", bounds=(0, 99), missing=True)
TOWN = categorical("town", "quasi_identifier", values=("A", "B", "C"), missing=True)
PUBLIC = table_of([AGE, TOWN], [(17, "A"), (18, "B"), (18, None), (40, "C"), (None, "A")])


@pytest.mark.parametrize(
    ("where", "whom"),
    [
        ({}, {(17, "A"), (18, "B"), (18, None), (40, "C"), (None, "A")}),
        ({"age": Between(high=18)}, {(17, "A"), (18, "B"), (18, None)}),
        ({"age": Between(low=18)}, {(18, "B"), (18, None), (40, "C")}),
        ({"age": Between(17.5, 39)}, {(18, "B"), (18, None)}),
        ({"town": ("A", "C")}, {(17, "A"), (40, "C"), (None, "A")}),
        ({"town": (None, "B")}, {(18, "B"), (18, None)}),
        ({"town": ("A",), "age": Between(high=18)}, {(17, "A")}),
        ({"town": ("C",), "age": Between(high=18)}, set()),
    ],
)
def test_a_fact_speaks_of_those_whose_public_cells_meet_all_it_asks(where: Any, whom: set[Any]) -> None:
    met = Fact(where, "ill", ("yes",), 0, 0.5).holds_for(PUBLIC)
    meant = Table(PUBLIC.schema, PUBLIC.frame[met].reset_index(drop=True), PUBLIC.weight[met])
    assert set(people(meant)) == whom


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (
            Fact({"age": Between(high=17)}, "marital", ("Married",), 0, 0.2),
            "no more than 0.2 of the people with age <= 17 are 'Married' (marital)",
        ),
        (Fact({}, "ill", ("flu", None), 0, 0), "none of the people are 'flu' or missing (ill)"),
        (
            Fact({"sex": ("f", "m"), "age": Between(18, inf)}, "ill", ("flu",), 0.5, 1),
            "at least 0.5 of the people with sex 'f' or 'm', age >= 18 are 'flu' (ill)",
        ),
        (
            Fact({"age": Between(1, 2)}, "ill", ("flu",), 0.25, 0.5),
            "from 0.25 to 0.5 of the people with age from 1 to 2 are 'flu' (ill)",
        ),
        (Fact({"age": Between(3, 3)}, "ill", ("flu",), 1, 1), "all of the people with age = 3 are 'flu' (ill)"),
        (Fact({}, "ill", ("flu",), 0.3, 0.3), "0.3 of the people are 'flu' (ill)"),
    ],
)
def test_a_fact_can_be_said(fact: Fact, words: str) -> None:
    assert fact.words() == words


def knowledge_of(**said: Any) -> AdversaryKnowledge:
    """What an attack on eight people is told."""
    heard: list[AdversaryKnowledge] = []

    def listen(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        heard.append(known)
        return [SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))]

    nosy = attack_that(listen, needs=frozenset({"people", "facts"}))
    report = audited(nosy, attacks=[{"use": "nosy"}], **said)
    assert finding(report, "sizes@nosy#ill").passed
    return heard[0]


SIMPLE = {"column": "ill", "in": ["flu"]}


@pytest.mark.parametrize(
    ("written", "fact"),
    [
        ({"share": 0.25}, Fact({}, "ill", ("flu",), 0.25, 0.25)),
        ({"share": {"to": 0.25}, "where": {}}, Fact({}, "ill", ("flu",), 0, 0.25)),
        ({"share": {"from": 0.25}, "where": {"zip": "1"}}, Fact({"zip": ("1",)}, "ill", ("flu",), 0.25, 1)),
        (
            {"share": {"from": 0, "to": 1}, "where": {"zip": ["1", "2"]}},
            Fact({"zip": ("1", "2")}, "ill", ("flu",), 0, 1),
        ),
        ({"column": "rich", "in": ["yes", "no"], "share": 1}, Fact({}, "rich", ("yes", "no"), 1, 1)),
    ],
)
def test_an_attack_is_told_the_facts_of_the_policy(written: dict[str, Any], fact: Fact) -> None:
    assert knowledge_of(knows={"facts": [SIMPLE | written]}).facts == (fact,)


@pytest.mark.parametrize("known", [0, 1, 2, None])
def test_only_the_first_facts_are_granted_where_their_number_is_limited(known: int | None) -> None:
    facts = [SIMPLE | {"share": 0.5}, SIMPLE | {"share": 0.75}]
    assert [fact.low for fact in knowledge_of(knows={"facts": facts, "facts_known": known}).facts] == [0.5, 0.75][
        :known
    ]


def test_an_attack_is_told_nothing_that_the_policy_does_not_grant() -> None:
    known = knowledge_of()
    assert (known.people, known.facts, dict(known.distribution)) == (None, (), {})


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"where": {"agee": {"to": 17}}}, "where.agee"),
        ({"where": {"age": {"too": 17}}}, "where.age.too"),
        ({"where": {"age": {"to": "x"}}}, "where.age.to"),
        ({"where": {"age": {"from": 18, "to": 17}}}, "where.age"),
        ({"where": {"age": {"from": 121}}}, "where.age"),
        ({"where": {"age": {"to": -1}}}, "where.age"),
        ({"where": {"age": {}}}, "where.age"),
        ({"where": {"age": 17}}, "where.age"),
        ({"where": {"age": "17"}}, "where.age"),
        ({"where": {"sex": "x"}}, "where.sex"),
        ({"where": {"sex": ["f", None]}}, "where.sex"),
        ({"where": {"sex": []}}, "where.sex"),
        ({"where": {"sex": {"to": 1}}}, "where.sex"),
        ({"where": {"smoker": "yes"}}, "where.smoker"),
        ({"where": {"ill": "yes"}}, "where.ill"),
        ({"where": "everyone"}, "where"),
        ({"column": "sick"}, "column"),
        ({"column": "sex"}, "column"),
        ({"column": "name"}, "column"),
        ({"column": "income"}, "column"),
        ({"in": []}, "in"),
        ({"in": ["yes", "maybe"]}, "in[1]"),
        ({"in": [True]}, "in[0]"),
        ({"in": "yes"}, "in"),
        ({"share": 1.5}, "share"),
        ({"share": -0.1}, "share"),
        ({"share": True}, "share"),
        ({"share": inf}, "share"),
        ({"share": {}}, "share"),
        ({"share": {"from": 0.2, "to": 0.1}}, "share"),
        ({"share": {"to": 1.5}}, "share.to"),
        ({"about": "everyone"}, "about"),
    ],
)
def test_a_fact_that_cannot_be_meant_is_invalid(insider: Path, changes: dict[str, Any], place: str) -> None:
    more = {"name": {"role": "identifier"}, "income": {"role": "private", "bounds": [0, 9]}}
    columns = {f"data.columns.{name}": spec for name, spec in more.items()}
    assert refused(insider, columns | {"knows.facts": [FACT, FACT | changes]}) == [f"knows.facts[1].{place}"]


OPEN: dict[str, Any] = {"data.columns.sex": {"role": "quasi_identifier"}, "data.columns.smoker": {"role": "private"}}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"where": {"sex": "Zanziba"}}, "where.sex"),
        ({"where": {"sex": {"to": 1}}}, "where.sex"),
        ({"column": "smoker", "in": ["n"]}, "in[0]"),
    ],
)
def test_a_fact_about_a_column_without_a_domain_is_checked_against_the_table(
    insider: Path, changes: dict[str, Any], place: str
) -> None:
    content = PEOPLE.replace(",f,", f",{PLANTED},").replace(",no,", f",{PLANTED},")
    path = knowing(insider, {**OPEN, "knows.facts": [FACT | {"where": {}} | changes]}, content)
    assert leafgate("validate", path).code == 0
    ended = leafgate("audit", path, "--json")
    assert (ended.code, [problem["place"] for problem in ended.problems]) == (2, [f"knows.facts[0].{place}"])
    assert PLANTED not in ended.out + ended.err


def test_a_fact_about_nobody_in_the_table_is_refused(insider: Path) -> None:
    path = knowing(insider, {"knows.facts": [FACT, FACT | {"where": {"age": {"from": 21, "to": 29}}}]})
    ended = leafgate("audit", path, "--json")
    assert (ended.code, [problem["place"] for problem in ended.problems]) == (2, ["knows.facts[1].where"])


@pytest.mark.parametrize(("facts", "known"), [([], 1), ([FACT], 2), ([FACT], -1)])
def test_no_more_facts_can_be_known_than_there_are(insider: Path, facts: list[Any], known: int) -> None:
    assert refused(insider, {"knows.facts": facts, "knows.facts_known": known}) == ["knows.facts_known"]


@pytest.mark.parametrize(("key", "value"), [("people", "known.csv"), ("sample", 0), ("facts", [FACT])])
def test_knowledge_that_no_attack_uses_is_refused(insider: Path, key: str, value: Any) -> None:
    assert load_policy(knowing(insider, {f"knows.{key}": value}))
    linking = {"attacks": [{"use": "linking"}], "metrics": [{"use": "k_anonymity", "at_least": 3}]}
    assert refused(insider, {f"knows.{key}": value, **linking}) == [f"knows.{key}"]


@pytest.mark.parametrize(("key", "value"), [("people", "known.csv"), ("sample", 0.5)])
def test_without_a_secret_nobodys_can_be_known(insider: Path, key: str, value: Any) -> None:
    assert refused(insider, {f"knows.{key}": value, "data.columns.ill.role": "class"}) == [f"knows.{key}"]


TWO_SECRETS: dict[str, Any] = {**COLUMNS, "rich": {"role": "sensitive", "values": ["no", "yes"]}}
COUNTED: dict[str, Any] = {"n": {"role": "weight"}, **TWO_SECRETS}
TABLE = "age,sex,smoker,ill,rich\n30,f,no,no,no\n30,f,yes,no,no\n40,m,yes,yes,no\n50,m,yes,no,yes\n"
FILES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "one secret": ("age,sex,ill\n30,f,no\n30,f,no\n40,m,yes\n", TWO_SECRETS, {}),
    "in another order": ("ill,sex,age\nno,f,30\nno,f,30\nyes,m,40\n", TWO_SECRETS, {}),
    "all secrets": ("age,sex,ill,rich\n30,f,no,no\n30,f,no,no\n40,m,yes,no\n", TWO_SECRETS, {}),
    "all columns": ("age,sex,smoker,ill,rich\n30,f,no,no,no\n30,f,yes,no,no\n40,m,yes,yes,no\n", TWO_SECRETS, {}),
    "with weights": ("age,n,sex,ill\n30,2,f,no\n40,1,m,yes\n", COUNTED, {}),
    "without the weights": ("age,sex,ill\n30,f,no\n30,f,no\n40,m,yes\n", COUNTED, {}),
    "without header": ("30,f,no,no\n30,f,no,no\n40,m,yes,no\n", TWO_SECRETS, {"csv": {"header": False}}),
    "weights, without header": ("2,30,f,no,no\n1,40,m,yes,no\n", COUNTED, {"csv": {"header": False}}),
    "with other marks": ("age;sex;ill\n30;f;no\n30;f;no\n40;m;yes\n", TWO_SECRETS, {"csv": {"delimiter": ";"}}),
    "aliases": (
        "age,sex,ill\n30,F,no\n30,f,no\n40,m,yes\n",
        {**TWO_SECRETS, "sex": {**COLUMNS["sex"], "aliases": {"F": "f"}}},
        {},
    ),
}


def table_of_four() -> Table:
    data = data_of(TWO_SECRETS, {})
    rows: list[Any] = [line.split(",") for line in TABLE.splitlines()[1:]]
    return table_of(data.meaning().columns, [(float(row[0]), *row[1:]) for row in rows])


def read(folder: Path, content: str, columns: dict[str, Any], options: dict[str, Any] | None = None) -> Table:
    path = folder / "known.csv"
    path.write_text(content)
    return known_people_in(data_of(columns, options or {}), table_of_four(), path)


@pytest.mark.parametrize(("content", "columns", "options"), FILES.values(), ids=FILES)
def test_known_people_are_read_as_the_table_is(
    tmp_path: Path, content: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    found = read(tmp_path, content, columns, options)
    names = [column.name for column in found.schema.columns]
    assert names in (["age", "sex", "ill"], ["age", "sex", "ill", "rich"])
    assert people(found, ["age", "sex", "ill"]) == {(30, "f", "no"): 2, (40, "m", "yes"): 1}


@pytest.mark.parametrize(
    "content",
    [
        "age,sex,ill\n30,f,yes\n",  # she is not ill
        "age,sex,ill\n31,f,no\n",  # nobody is 31
        "age,sex,ill\n40,m,yes\n40,m,yes\n",  # there is one, not two
        "age,sex,ill\n30,f,no\n30,f,no\n30,f,no\n50,f,no\n",
        "age,sex,ill,rich\n50,m,no,no\n",  # he is rich
        "n,age,sex,ill\n3,30,f,no\n",
    ],
)
def test_known_people_who_are_not_in_the_table_are_refused_and_not_counted(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, content, COUNTED if content.startswith("n,") else TWO_SECRETS)
    message = "some of them are not in the table, or not so often (name people of the table, each once)"
    assert str(error.value) == f"knows.people: {message}"


BAD_FILES = {
    "another value": (f"age,sex,ill\n30,f,{PLANTED}\n", "known.csv, column 'ill'"),
    "another public value": (f"age,sex,ill\n30,{PLANTED},no\n", "known.csv, column 'sex'"),
    "no number": (f"age,sex,ill\n{PLANTED},f,no\n", "known.csv, column 'age'"),
    "a missing secret": (f"age,sex,ill\n30,f,no\n30,{PLANTED},\n", "known.csv, column 'sex'"),
    "no secret": ("age,sex\n30,f\n", "known.csv"),
    "a public column too few": ("age,ill\n30,no\n", "known.csv"),
    "an unknown column": (f"age,sex,ill,{PLANTED}\n30,f,no,{PLANTED}\n", "known.csv"),
    "nobody": ("age,sex,ill\n", "known.csv"),
    "nothing": ("", "known.csv"),
    "a stranger": ("age,sex,ill\n99,f,no\n", "knows.people"),
}


def with_known(folder: Path, content: str, changes: dict[str, Any] | None = None) -> Path:
    (folder / "known.csv").write_text(content)
    return knowing(folder, {"knows.people": "known.csv"} | (changes or {}))


@pytest.mark.parametrize(("content", "place"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_not_what_the_policy_says_is_invalid_and_no_cell_of_it_is_told(
    insider: Path, content: str, place: str
) -> None:
    ended = leafgate("audit", with_known(insider, content), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, place)
    assert PLANTED not in ended.out + ended.err


def test_a_file_that_is_not_there_is_invalid_and_its_key_is_told(insider: Path) -> None:
    ended = leafgate("audit", knowing(insider, {"knows.people": "known.csv"}), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, "known.csv")
    assert "knows.people" in ended.problems[0]["remedy"]


def test_people_are_named_or_drawn_not_both(insider: Path) -> None:
    assert refused(insider, {"knows.people": "known.csv", "knows.sample": 0.1}) == ["knows.sample"]


@pytest.mark.parametrize("share", [-0.1, 1.1, True, "half"])
def test_a_share_that_is_none_cannot_be_drawn(insider: Path, share: Any) -> None:
    assert refused(insider, {"knows.sample": share}) == ["knows.sample"]


FIVE = "\n".join([HEADER, *ROWS[:5]]) + "\n"


@pytest.mark.parametrize("knows", [{"sample": 0.5}, {"facts": [FACT]}, {"people": "known.csv"}])
def test_numbers_that_rest_on_what_was_granted_are_for_auditors(insider: Path, knows: dict[str, Any]) -> None:
    (insider / "known.csv").write_text(FIVE)
    result = leafgate("audit", knowing(insider, {"knows": knows}), "--json").document["findings"][0]
    assert (result["value"], result["passed"]) == (None, True)


@pytest.mark.parametrize("over", ["knows.people=five.csv", "knows.facts[0].share=0,0.5", "knows={}"])
def test_the_public_sees_no_sweep_over_who_or_what_is_known(insider: Path, over: str) -> None:
    ended = leafgate(
        "sweep", knowing(insider, {"knows": {"facts": [FACT]}}), "--over", over, "--out", insider / "o", "--json"
    )
    assert ended.code == 2
    assert "auditor" in ended.out


def test_a_single_attack_knows_the_facts_and_people_of_the_policy(insider: Path) -> None:
    (insider / "known.csv").write_text(FIVE)
    path = knowing(insider, {"knows": {"people": "known.csv", "facts": [FACT]}})
    assert leafgate("build", path, "--out", insider / "release.json").code == 0
    out = insider / "belief.csv"
    ended = leafgate("attack", path, "--release", insider / "release.json", "--use", "insider", "--out", out)
    assert ended.code == 0
    believed = next(csv.DictReader(io.StringIO(out.read_text())))
    assert float(believed["p(yes)"]) == pytest.approx(0.5 + 0.25 * 5 / 24 + 0.125)


def test_that_people_are_known_is_part_of_the_policys_digest_and_who_is_not(insider: Path) -> None:
    digests = {load_policy(with_known(insider, content)).policy.sha256 for content in (FIVE, PEOPLE)}
    assert len(digests) == 1
    for knows in ({}, {"sample": 0.5}, {"facts": [FACT]}, {"facts": [FACT], "facts_known": 0}):
        digests.add(load_policy(knowing(insider, {"knows": knows})).policy.sha256)
    assert len(digests) == 5


@pytest.mark.parametrize(
    ("over", "knows", "surer"),
    [
        ("knows.sample=0,0.01,0.1,0.5,1", {}, [0, 0, 0.25 * 2 / 24, 0.125, 0.25]),
        ("knows.facts_known=0,1,2", {"facts": [FACT, FACT]}, [0, 0.125, 0.25]),
        ("knows.facts[0].share=0,0.5", {"facts": [FACT]}, [0.125, 0.125]),
        ("knows.people=five.csv,all.csv", {}, [0.25 * 5 / 24, 0.25]),
    ],
)
def test_a_sweep_draws_risk_against_knowledge(
    insider: Path, over: str, knows: dict[str, Any], surer: list[float]
) -> None:
    (insider / "five.csv").write_text(FIVE)
    (insider / "all.csv").write_text(PEOPLE)
    path, out = knowing(insider, {"knows": knows, "seed": 7}), insider / "swept"
    options = ["--out", out, "--workers", 1, "--audience", "auditor"]
    ended = leafgate("sweep", path, "--over", over, *options)
    assert ended.code == 0, ended.out + ended.err
    points = json.loads((out / "sweep.json").read_text())["points"]
    found = [point["findings"][0]["value"] for point in points]
    assert found == pytest.approx([0.5 + more for more in surer])
    reports = [json.loads(path.read_text()) for path in out.glob("*/report.json")]
    assert len({report["release"]["sha256"] for report in reports}) == 1


SIX = table_of(
    [
        categorical("zip", "quasi_identifier", values=("1", "2")),
        categorical("ill", "sensitive", values=("flu", "cold")),
    ],
    [("1", "flu"), ("1", "cold"), ("2", "cold")],
    [3, 1, 2],
)


def queue(seed: int, weight: tuple[int, ...] = (3, 1, 2)) -> list[tuple[int, ...]]:
    """How many of each record are among the first none, one, two and so on."""
    counts = np.array(weight, dtype=np.int64)
    return [tuple(nested_sample(counts, first, seed).tolist()) for first in range(sum(weight) + 1)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_a_queue_lets_in_one_more_person_at_a_time_until_all_are_there(weight: list[int], seed: int) -> None:
    queued = queue(seed, tuple(weight))
    assert (queued[0], queued[-1]) == ((0,) * len(weight), tuple(weight))
    assert all(
        sorted(np.subtract(after, before)) == [0] * (len(weight) - 1) + [1] for before, after in pairwise(queued)
    )
    assert queued == queue(seed, tuple(weight))


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5])
def test_everyone_is_equally_likely_to_be_drawn_and_so_is_every_pair(first: int) -> None:
    # Of 3, 1 and 2 people: the multivariate hypergeometric distribution, counted by hand.
    drawn = Counter(tuple(nested_sample(SIX.weight, first, seed).tolist()) for seed in range(4000))
    for a, b, c in ((a, b, first - a - b) for a in range(4) for b in range(2)):
        chance = comb(3, a) * comb(1, b) * comb(2, c) / comb(6, first) if 0 <= c <= 2 else 0
        spread = (chance * (1 - chance) / 4000) ** 0.5
        assert abs(drawn[a, b, c] / 4000 - chance) <= 4 * spread


@pytest.mark.parametrize(("share", "drawn"), [(0.01, 0), (0.1, 1), (0.4, 2), (0.5, 3), (1, 6)])
def test_the_share_of_the_people_is_drawn_to_the_nearest_person(share: float, drawn: int) -> None:
    found = sampled(SIX, share, seed=3)
    assert (0 if found is None else found.total_weight) == drawn


def test_others_are_drawn_with_another_seed_of_the_policy() -> None:
    drawn = [knowledge_of(knows={"sample": 0.5}, seed=seed).people for seed in (1, 1, *range(2, 9))]
    found = [people(one) for one in drawn if one is not None]
    assert found[0] == found[1]
    assert len(set(map(str, found))) > 2


def test_a_huge_table_costs_no_more_than_its_records() -> None:
    found = nested_sample(np.array([9 * 10**8, 10**7], dtype=np.int64), 10**8, 1)
    assert found.sum() == 10**8
    assert found[1] == pytest.approx(10**8 / 91, rel=0.01)


def test_more_people_than_can_be_drawn_from_are_refused() -> None:
    with pytest.raises(DataError, match=r"^knows.sample"):
        sampled(table_of(SIX.schema.columns, [("1", "flu")], [10**9]), 0.5, 1)
