"""Imputation of a secret without the model, against laws with a closed form; columns that determine the secret."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import leafgate_plugins.inference.attributes.imputation as module
from leafgate.api import Column, InconclusiveError, Schema, Table, Targets, install_command
from leafgate_plugins.inference.attributes.imputation import determining_columns, impute

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

SECRET = Column("secret", frozenset({"sensitive"}), values=("a", "b", "c"))
COLUMNS = (
    Column("age", frozenset({"quasi_identifier"}), bounds=(-10.0, 10.0), missing=True),
    Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Port", "Wood", "Lake"), missing=True),
    Column("grade", frozenset({"quasi_identifier"}), values=("low", "middle", "high"), ordered=True),
    SECRET,
    Column("income", frozenset({"class"}), values=("<=50K", ">50K")),
)


def people(columns: Sequence[Column], cells: Mapping[str, NDArray[np.generic]]) -> Table:
    """A row for each person; cells are numbers, or positions of values, -1 where missing."""
    frame = pd.DataFrame(
        {
            column.name: pd.Categorical.from_codes(
                cells[column.name].astype(np.int64), categories=pd.Index(column.values)
            )
            if column.values is not None
            else cells[column.name].astype(float)
            for column in columns
        }
    )
    return Table(Schema(tuple(columns)), frame, np.ones(len(frame), dtype=np.int64))


def without(table: Table, *names: str) -> Table:
    columns = tuple(column for column in table.schema.columns if column.name not in names)
    return Table(Schema(columns), table.frame[[column.name for column in columns]], table.weight)


def at(table: Table, rows: Ids) -> Table:
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), table.weight[rows])


def drawn(rng: np.random.Generator, n: int) -> dict[str, NDArray[np.generic]]:
    """Random cells of all columns but the secret, one in ten of two columns missing."""
    return {
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "town": np.where(rng.random(n) < 0.1, -1, rng.integers(0, 4, n)),
        "grade": rng.integers(0, 3, n),
        "income": rng.integers(0, 2, n),
    }


def law(cells: Mapping[str, NDArray[np.generic]]) -> Floats:
    """The probability of each value, by all known columns, with an interaction of town and grade."""
    age, town, grade = (cells[name].astype(float) for name in ("age", "town", "grade"))
    score = np.zeros((len(age), 3))
    score[:, 1] = np.where(np.isnan(age), -1.0, age) + np.where((town == 1) & (grade == 2), 2.0, 0.0)
    score[:, 2] = 1.5 * (cells["income"].astype(float) - 0.5) - 0.7 * (town == 3) + 0.5 * (grade - 1)
    weights: Floats = np.exp(score)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def world(
    seed: int,
    n_aux: int,
    n_each: int,
    *,
    noise: bool = False,
    known: Sequence[str] = ("age", "town", "grade", "income"),
) -> tuple[Targets, Floats]:
    """Targets, and the probabilities of their values by the law that all people follow."""
    rng = np.random.default_rng(seed)
    cells = drawn(rng, n_aux + 2 * n_each)
    true = np.tile([0.5, 0.3, 0.2], (n_aux + 2 * n_each, 1)) if noise else law(cells)
    secret = (rng.random((len(true), 1)) > true.cumsum(axis=1)).sum(axis=1)
    everybody = people(COLUMNS, {**cells, "secret": secret})
    unknown = [column.name for column in COLUMNS if column.name not in known]
    groups = [without(at(everybody, np.arange(start, start + n_each)), *unknown) for start in (n_aux, n_aux + n_each)]
    return Targets(SECRET, (groups[0], groups[1]), at(everybody, np.arange(n_aux))), true[n_aux:]


def divergence(true: Floats, posterior: Floats) -> float:
    """The mean Kullback-Leibler divergence: by how much the expected log loss exceeds that of the law itself."""
    return float((true * np.log(true / posterior)).sum(axis=1).mean())


def losses(posterior: Floats, codes: Ids) -> Floats:
    result: Floats = -np.log(posterior[np.arange(len(codes)), codes])
    return result


def is_a_posterior(array: Floats, people_: int, values: int) -> bool:
    return array.shape == (people_, values) and bool((array > 0).all()) and np.allclose(array.sum(axis=1), 1)


@pytest.mark.thorough
def test_imputation_is_nearly_the_law_and_calibrated_when_two_thousand_people_teach_it() -> None:
    targets, true = world(1, 2_000, 4_000)
    imputed = impute(targets, 7)
    prior = np.bincount(targets.auxiliary.codes("secret"), minlength=3) / 2_000
    assert divergence(true, imputed.posterior) < 0.03
    assert divergence(true, np.tile(prior, (len(true), 1))) > 0.15
    codes = targets.auxiliary.codes("secret")
    assert imputed.accuracy == pytest.approx((imputed.auxiliary.argmax(axis=1) == codes).mean())
    bayes = true.max(axis=1).mean()
    assert imputed.accuracy == pytest.approx(bayes, abs=4 * np.sqrt(0.25 / 2_000))
    for value in range(3):  # among those to whom a value gets a high, or a low, probability it is as frequent as that
        for chosen in np.array_split(np.argsort(imputed.auxiliary[:, value]), 4):
            stated = imputed.auxiliary[chosen, value]
            error = np.sqrt((stated * (1 - stated)).sum()) / len(chosen)
            assert (codes[chosen] == value).mean() == pytest.approx(stated.mean(), abs=4 * error)


def test_cross_fitted_posteriors_say_nothing_of_own_values_when_the_secret_is_noise() -> None:
    targets, _ = world(2, 600, 50, noise=True)
    codes = targets.auxiliary.codes("secret")
    imputed = impute(targets, 3)
    shares = np.bincount(codes, minlength=3) / len(codes)
    entropy = float(-(shares * np.log(shares)).sum())
    own = losses(imputed.auxiliary, codes)
    assert own.mean() > entropy - 2 * own.std() / np.sqrt(len(own))
    assert imputed.accuracy < shares.max() + 3 * np.sqrt(0.25 / len(codes))


@pytest.mark.thorough
def test_posterior_of_a_person_is_the_same_when_people_and_groups_stand_in_another_order() -> None:
    targets, _ = world(3, 60, 60)
    rng = np.random.default_rng(0)
    aux, first, second = (rng.permutation(60) for _ in range(3))
    shuffled = replace(
        targets,
        auxiliary=at(targets.auxiliary, aux),
        groups=(at(targets.groups[1], second), at(targets.groups[0], first)),
    )
    before, after = impute(targets, 5), impute(shuffled, 5)
    moved = np.concatenate([60 + second, first])
    np.testing.assert_allclose(after.posterior, before.posterior[moved], rtol=1e-9)
    np.testing.assert_allclose(after.auxiliary, before.auxiliary[aux], rtol=1e-9)
    assert (after.model, after.accuracy) == (before.model, before.accuracy)


@pytest.mark.thorough
def test_imputation_follows_from_the_seed_and_is_learned_once() -> None:
    targets, _ = world(3, 60, 60)
    module._KEPT.clear()
    first = impute(targets, 5)
    assert len(module._KEPT) == 1
    impute(replace(targets, groups=targets.groups), 5)
    assert len(module._KEPT) == 1
    module._KEPT.clear()
    again = impute(targets, 5)
    assert np.array_equal(again.posterior, first.posterior)
    assert np.array_equal(again.auxiliary, first.auxiliary)
    assert not np.array_equal(
        module._folds(targets.auxiliary.codes("secret"), 5), module._folds(targets.auxiliary.codes("secret"), 6)
    )
    for seed in range(2 * module.MAX_KEPT):
        impute(replace(targets, auxiliary=at(targets.auxiliary, np.arange(3))), seed)
    assert len(module._KEPT) == module.MAX_KEPT


@pytest.mark.thorough
def test_class_is_read_when_it_is_known_and_not_excluded() -> None:
    targets, _ = world(4, 200, 60, noise=True)
    told = pd.Categorical(np.array(["a", "b"])[targets.auxiliary.codes("income")], categories=["a", "b", "c"])
    auxiliary = replace(targets.auxiliary, frame=targets.auxiliary.frame.assign(secret=told), _codes={})
    targets = replace(targets, auxiliary=auxiliary)
    classes = np.concatenate([group.codes("income") for group in targets.groups])
    assert impute(targets, 1).posterior[np.arange(120), classes].min() > 0.9
    excluded = impute(targets, 1, with_class=False)
    assert excluded.accuracy < 0.7
    first, second = (without(group, "income") for group in targets.groups)
    whatever = auxiliary.frame.assign(income=auxiliary.frame["income"].array[::-1])
    unknown = replace(targets, groups=(first, second), auxiliary=replace(auxiliary, frame=whatever, _codes={}))
    for with_class in (None, True, False):
        assert np.array_equal(impute(unknown, 1, with_class).posterior, excluded.posterior)


@pytest.mark.parametrize("n_aux", [1, 9, 12])
def test_no_value_is_impossible_when_few_people_and_odd_cells_teach(n_aux: int) -> None:
    targets, _ = world(5, n_aux, 20)
    frame = targets.auxiliary.frame.assign(age=np.nan)
    first = targets.groups[0]
    odd = first.frame.assign(age=np.resize([np.inf, -np.inf, 1e300, np.nan], 20))
    targets = replace(
        targets,
        auxiliary=Table(targets.auxiliary.schema, frame, targets.auxiliary.weight),
        groups=(Table(first.schema, odd, first.weight), targets.groups[1]),
    )
    imputed = impute(targets, 0)
    assert is_a_posterior(imputed.posterior, 40, 3)
    assert is_a_posterior(imputed.auxiliary, n_aux, 3)
    assert 0 <= imputed.accuracy <= 1
    if n_aux < module.FEWEST_PEOPLE:
        shares = (np.bincount(targets.auxiliary.codes("secret"), minlength=3) + 1 / 3) / (n_aux + 1)
        np.testing.assert_allclose(imputed.posterior, np.tile(shares, (40, 1)))


def test_prior_is_all_there_is_when_everybody_has_one_value_or_nothing_is_known() -> None:
    targets, _ = world(6, 30, 5)
    same = pd.Categorical(["b"] * 30, categories=["a", "b", "c"])
    one_value = replace(targets.auxiliary, frame=targets.auxiliary.frame.assign(secret=same), _codes={})
    certain = impute(replace(targets, auxiliary=one_value), 0)
    assert (certain.model, certain.accuracy) == ("prior", 1.0)
    np.testing.assert_allclose(certain.posterior, np.tile([1 / 93, 91 / 93, 1 / 93], (10, 1)))
    first, second = (without(group, "age", "town", "grade", "income") for group in targets.groups)
    unknown = impute(replace(targets, groups=(first, second)), 0)
    assert unknown.model == "prior"
    assert is_a_posterior(unknown.posterior, 10, 3)


def test_imputation_is_inconclusive_when_scikit_learn_or_bins_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    targets, _ = world(7, 40, 5)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InconclusiveError) as error:
        impute(targets, 0)
    assert error.value.problems[0].hint == f"install it: {install_command('sklearn')}"
    with pytest.raises(InconclusiveError, match="a number"):
        impute(replace(targets, secret=COLUMNS[0]), 0)


def brute_force(tables: Sequence[Table], secret: str) -> tuple[str, ...]:
    """The first columns by which people are split into groups of one value, of five people on average."""
    rows = [
        {name: "missing" if pd.isna(cell) else str(cell) for name, cell in row.items()}
        for table in tables
        for row in table.frame.to_dict("records")
    ]
    names = [c.name for c in tables[0].schema.columns if c.name in tables[1].schema and c.name != secret]
    for size in (1, 2):
        for chosen in combinations(names, size):
            values: dict[tuple[str, ...], set[str]] = {}
            for row in rows:
                values.setdefault(tuple(row[name] for name in chosen), set()).add(row[secret])
            if rows and len(rows) >= 5 * len(values) and all(len(each) == 1 for each in values.values()):
                return chosen
    return ()


@st.composite
def two_tables(draw: st.DrawFn) -> list[Table]:
    """People whose secret follows from a column, from two or from none; the second table lacks a column."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 80))
    cells = drawn(rng, n)
    cells["age"] = rng.choice([np.nan, 0.0, 1.5], n)
    town, grade = (cells[name].astype(np.int64) for name in ("town", "grade"))
    secret = draw(st.sampled_from([grade, town % 3, (town + grade) % 3, np.zeros(n, dtype=np.int64)])).copy()
    wrong = draw(st.sampled_from([0, 0, 1, n]))
    secret[:wrong] = rng.integers(0, 3, min(wrong, n))
    everybody = people(COLUMNS, {**cells, "secret": secret})
    cut = draw(st.integers(0, n))
    lacking = draw(st.sampled_from(["town", "grade", "income"]))
    return [at(everybody, np.arange(cut)), without(at(everybody, np.arange(cut, n)), lacking)]


@given(two_tables())
def test_determining_columns_are_those_of_brute_force(tables: list[Table]) -> None:
    assert determining_columns(tables, "secret") == brute_force(tables, "secret")


def test_determining_columns_see_a_secret_number_by_its_bins_and_count_people_by_weight() -> None:
    columns = [replace(COLUMNS[0], bins=(-10.0, 0.0, 10.0)), COLUMNS[2]]
    table = people(columns, {"age": np.linspace(-9, 9, 10), "grade": np.repeat([0, 2], 5)})
    assert determining_columns([table], "age") == ("grade",)
    assert determining_columns([at(table, np.arange(1, 9))], "age") == ()
    assert determining_columns([replace(at(table, np.arange(1, 9)), weight=np.full(8, 2))], "age") == ("grade",)
    assert determining_columns([at(table, np.arange(0))], "age") == ()
