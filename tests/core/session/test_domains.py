"""The domains and limits that `leafgate init` and `leafgate.audit` propose disclose no rare value and no few people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafgate
from data_files import DATA
from generator.policies import first_policy
from leafgate.app import parse_yaml
from leafgate.session.domains import bounds_domain, is_long_list, list_domain, rare_values, round_bounds
from leafgate.session.proposals import confidence_limit

CELL = 10
GENERATOR = np.random.default_rng(3)
PEOPLE = 800
NAMES = [f"Anna Person-{i}" for i in range(PEOPLE)]
TOWNS = {n: [f"town {i}" for i in GENERATOR.integers(0, n, PEOPLE)] for n in (161, 200, 277)}
AGES = GENERATOR.integers(18, 90, PEOPLE)
INCOMES = GENERATOR.integers(12_000, 90_000, PEOPLE)


def table(**columns: Any) -> pd.DataFrame:
    """People of whom the age decides nearly whether they are ill, with more columns."""
    ill = np.where((AGES > 50) ^ (np.arange(PEOPLE) % 9 == 0), "yes", "no")
    return pd.DataFrame({"age": AGES, **columns, "ill": ill})


def by_init(place: Path, people: pd.DataFrame, **more: Any) -> tuple[dict[str, Any], str]:
    """The columns of the policy that `leafgate init` writes, and its text."""
    people.to_csv(place / "people.csv", index=False)
    text = first_policy(place / "people.csv", "ill", **more)
    columns: dict[str, Any] = parse_yaml(text.encode(), "policy.yaml")["data"]["columns"]
    return columns, text


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f'    "{name}":'))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=120))
def test_a_list_is_long_by_the_people_who_have_each_value(people: list[int]) -> None:
    few = Counter(number < CELL for number in people)[True]
    assert rare_values(people, CELL) == few
    assert is_long_list(people, CELL) == (len(people) > 12 and (few > len(people) - few or few > 50))
    assert not is_long_list(people, 1)


@given(st.lists(st.integers(-200, 200), min_size=1, max_size=60), st.integers(1, 600))
def test_a_step_is_for_whole_numbers_of_which_the_bounds_hold_fewer_than_there_are_people(
    numbers: list[int], people: int
) -> None:
    domain = bounds_domain([float(number) for number in numbers], people)
    low, high = domain["bounds"]
    possible = [number for number in range(-1000, 1001) if low <= number <= high]
    assert set(numbers) <= set(possible)
    assert ("step" in domain) == (len(possible) < people)
    assert "step" not in bounds_domain([*numbers, numbers[0] + 0.5], people)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=400))
def test_a_long_list_of_whole_numbers_becomes_every_number_in_bounds_that_are_nobodys(numbers: list[int]) -> None:
    counts = Counter(map(str, numbers))
    texts = sorted(counts, key=int)
    domain = list_domain(texts, list(counts.values()), CELL)
    if not is_long_list(list(counts.values()), CELL):
        assert domain == {"values": texts}
    elif domain:
        values = list(map(int, domain["values"]))
        assert values == list(range(values[0], values[-1] + 1))
        assert set(numbers) <= set(values)
        assert len(values) < len(numbers)
        assert list_domain([f"v{text}" for text in texts], list(counts.values()), CELL) == {}


def test_names_are_an_identifier_and_the_policy_has_none_of_them(tmp_path: Path) -> None:
    columns, text = by_init(tmp_path, table(name=NAMES))
    assert columns["name"] == {"role": "identifier"}
    assert "Anna" not in text


@pytest.mark.parametrize("towns", TOWNS)
def test_161_to_277_texts_of_800_people_are_an_identifier_and_the_policy_has_none_of_them(
    tmp_path: Path, towns: int
) -> None:
    columns, text = by_init(tmp_path, table(town=TOWNS[towns]))
    assert columns["town"] == {"role": "identifier"}
    assert "town " not in text
    line = line_of(text, "town")
    assert f"{len(set(TOWNS[towns]))} values, many of fewer than 10 people; as a quasi_identifier" in line
    assert "`domain: public`" in line


def test_ages_are_public_to_the_year_and_incomes_are_not(tmp_path: Path) -> None:
    columns, text = by_init(tmp_path, table(income=INCOMES, share=np.round(GENERATOR.random(PEOPLE), 2)))
    assert columns["age"] == {"role": "quasi_identifier", "bounds": [10, 90], "step": 1}
    assert columns["income"] == {"role": "quasi_identifier", "bounds": [10000, 90000]}
    assert "step" not in columns["share"]
    assert line_of(text, "age").startswith('    "age": {role: quasi_identifier, bounds: [10, 90], step: 1}          # ')


def test_fewer_people_than_years_are_no_reason_for_a_step(tmp_path: Path) -> None:
    assert "step" not in by_init(tmp_path, table().head(60))[0]["age"]


def test_a_secret_number_has_no_step() -> None:
    tree = pytest.importorskip("sklearn.tree")
    people = table(points=GENERATOR.integers(0, 60, PEOPLE))
    model = tree.DecisionTreeClassifier(max_depth=2).fit(people[["age", "points"]], people["ill"])
    audit = leafgate.audit(model, people, "ill", secret="points", search_remedies=False)
    columns = parse_yaml(audit.to_policy().encode(), "policy.yaml")["data"]["columns"]
    assert columns["age"]["step"] == 1
    assert columns["points"].keys() == {"role", "bins", "scale"}


@pytest.mark.skipif(not DATA.exists(), reason="the benchmark data is not here")
@pytest.mark.parametrize(
    ("file", "target", "name", "values"),
    [
        ("adult/adult.data", "column_15", "column_14", 41),  # native-country: one value is one person's
        ("german_credit/german.data", "column_21", "column_4", 10),  # purposes: one is nine people's
    ],
)
def test_a_list_with_few_rare_values_stays_a_domain_and_may_be_public(
    file: str, target: str, name: str, values: int
) -> None:
    text = first_policy(DATA / file, target)
    assert len(parse_yaml(text.encode(), "policy.yaml")["data"]["columns"][name]["values"]) == values
    check = "# CHECK: some belong to fewer than 10 people; a public code list? then add `domain: public`"
    assert line_of(text, name).endswith(check)


def audited_with_towns(model: Any, towns: list[str], **more: Any) -> leafgate.Audit:
    people = table(town=towns)
    return leafgate.audit(model, people[["age", "town"]], people["ill"], search_remedies=False, **more)


def tree_of_towns(**encoder: Any) -> Any:
    """A model that asks about towns, each of four people."""
    pytest.importorskip("sklearn")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore", **encoder), ["town"]))
    people = table(town=FOURS)
    ill = np.where(people["town"].isin(FOURS[:30]), "yes", "no")
    return make_pipeline(prepare, DecisionTreeClassifier(max_depth=4)).fit(people[["town"]], ill)


FOURS = [f"town {i % 200:03d}" for i in range(PEOPLE)]


def test_a_column_of_rare_texts_that_no_test_asks_about_is_left_out_with_a_warning() -> None:
    tree = pytest.importorskip("sklearn.tree")
    model = tree.DecisionTreeClassifier(max_depth=2).fit(table()[["age"]], table()["ill"])
    audit = audited_with_towns(model, FOURS)
    columns = parse_yaml(audit.to_policy().encode(), "policy.yaml")["data"]["columns"]
    assert columns["town"] == {"role": "identifier"}
    assert [warning for warning in audit.warnings if "taken for an identifier" in warning] == [
        "X, column 'town': taken for an identifier and left out, for it has many values that fewer than 10 people have "
        "each; roles={'town': 'quasi_identifier'} keeps it"
    ]
    kept = audited_with_towns(model, FOURS, roles={"town": "quasi_identifier"})
    assert not any("taken for an identifier" in warning for warning in kept.warnings)
    assert '"town": {role: quasi_identifier}' in kept.to_policy()


def test_a_list_of_rare_texts_that_a_model_asks_about_is_left_to_the_owner(tmp_path: Path) -> None:
    model = tree_of_towns()
    audit = audited_with_towns(model, FOURS)
    assert audit.verdict == "fail"
    assert "town 0" not in audit.to_policy()
    skops = pytest.importorskip("skops.io")
    (tmp_path / "m.skops").write_bytes(skops.dumps(model))
    columns, text = by_init(tmp_path, table(town=FOURS), model=tmp_path / "m.skops", folder=tmp_path)
    assert columns["town"] == {"role": "quasi_identifier"}
    check = "# CHECK: 200 values, many of fewer than 10 people: declare coarser `values`, or a whole public code list"
    assert check in line_of(text, "town")


def test_a_model_that_asks_about_a_dropped_column_ends_in_one_error_without_a_cell() -> None:
    with pytest.raises(leafgate.ReleaseError) as refused:
        audited_with_towns(tree_of_towns(), FOURS, roles={"town": "identifier"})
    assert refused.value.exit_code == 2
    assert str(refused.value).endswith(
        ": 'town': the model asks about this column, whose role drops it (give it a role that is kept, such as "
        "quasi_identifier, or fit the model without it)"
    )
    assert str(refused.value).count("town") == 1


@pytest.mark.parametrize("which", ["test", "control"])
def test_other_people_with_texts_that_the_table_lacks_are_read_and_the_caller_is_warned(which: str) -> None:
    people = table(town=FOURS)
    other = people[["age", "town"]].assign(town="elsewhere"), people["ill"]
    audit = audited_with_towns(tree_of_towns(), FOURS, **{which: other})
    assert audit.verdict == "fail"
    columns = parse_yaml(audit.to_policy().encode(), "policy.yaml")["data"]["columns"]
    assert columns["town"]["values"] == sorted({*FOURS, "elsewhere"})
    assert [warning for warning in audit.warnings if "town" in warning] == [
        "X, column 'town': the policy that `audit.to_policy` writes lists many values that fewer than 10 people have "
        "each; give coarser values, or keep that policy to yourself"
    ]
    spec = {"role": "quasi_identifier", "values": columns["town"]["values"], "domain": "public"}
    declared = audited_with_towns(tree_of_towns(), FOURS, roles={"town": spec}, **{which: other})
    assert not [warning for warning in declared.warnings if "town" in warning]


def test_categories_that_nobody_has_are_no_obstacle_to_a_list_that_is_left_to_the_owner() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    people = table(town=pd.Categorical(FOURS, categories=[*sorted(set(FOURS)), "nowhere"]))
    people["ill"] = np.where(people["town"].isin(FOURS[:90]), "yes", "no")
    model = lightgbm.LGBMClassifier(n_estimators=3, min_data_per_group=4, cat_smooth=0, verbose=-1)
    model.fit(people[["age", "town"]], people["ill"])
    audit = leafgate.audit(model, people[["age", "town"]], people["ill"], search_remedies=False)
    assert audit.verdict == "fail"
    assert '"town": {role: quasi_identifier}' in audit.to_policy()


def test_ages_that_a_model_takes_as_categories_are_every_age_within_round_bounds(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    skops = pytest.importorskip("skops.io")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    people = table().head(300)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["age"])), DecisionTreeClassifier(max_depth=3))
    model.fit(people[["age"]], people["ill"])
    (tmp_path / "m.skops").write_bytes(skops.dumps(model))
    columns, _ = by_init(tmp_path, people, model=tmp_path / "m.skops", folder=tmp_path)
    expected = {"role": "quasi_identifier", "values": [str(age) for age in range(10, 91)]}
    assert columns["age"] == expected
    audit = leafgate.audit(model, people[["age"]], people["ill"], search_remedies=False)
    assert parse_yaml(audit.to_policy().encode(), "policy.yaml")["data"]["columns"]["age"] == expected


@pytest.mark.parametrize("numbers", [[0, 1], [0, 0.25, 1], [0.0, 1.0]])
def test_truth_values_and_shares_are_bounded_by_0_and_1(numbers: list[float]) -> None:
    assert round_bounds(numbers) == (0, 1)


@given(st.lists(st.floats(-1e300, 1e300) | st.integers(-(10**6), 10**6).map(float), min_size=1))
def test_bounds_are_round_hold_every_number_and_are_nobodys(numbers: list[float]) -> None:
    low, high = round_bounds(numbers)
    ends = {0, 1} if (min(numbers), max(numbers)) == (0, 1) else {0}
    assert all(low < number < high for number in numbers if number not in ends)
    assert high >= max(numbers)
    assert low <= 0 <= high or 0 not in numbers
    span = max(numbers) - min(numbers) or max(map(abs, numbers)) or 1
    assert low < high <= low + 3 * span + 1e-12 * max(map(abs, numbers)) + 1e-299


@pytest.mark.parametrize("people", [30, 60, 120, 200, 999, 5000])
def test_the_proposed_limit_of_confidence_hides_ten_people(people: int) -> None:
    limits = {others: confidence_limit(1 - others / people, people) for others in range(1, people)}
    assert all(1 - others / people < limit < 1 for others, limit in limits.items())
    counts = pd.Series(limits).groupby(list(limits.values())).agg(lambda same: same.index.max() - same.index.min() + 1)
    assert counts.drop(0.95, errors="ignore").min() >= 9
    assert pd.Series(limits).sort_index().is_monotonic_decreasing
