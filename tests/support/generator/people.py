"""Random tables of the kinds that break first policies: outliers, point masses, rare values, names, gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Rng = np.random.Generator
Cells = NDArray[np.float64]
TARGET = "outcome"
MISSING_SHARES = (0.05, 0.12, 0.25)
"""So many people lack a cell of a column where any do."""
OUTLIERS = (3.0, 40.0, 1000.0)
"""One person of some tables has so many times the largest number of all others."""

TEXTS = (("north", "south", "east", "west"), ("cook", "nurse", "driver"), ("a", "b"))
WORDS = (("no", "yes"), ("none", "flu", "hiv"), ("low", "middle", "high", "top"))


@dataclass(frozen=True, eq=False)
class People:
    """A table, a row for each person, and what its owner would say of it.

    Attributes:
        frame: all columns, numbers as floats, texts as objects; missing cells are NaN and None.
        features: the columns that a model is given, in their order.
        names: columns of texts that are different for everybody.
        private: features that outsiders do not know.
        secrets: columns that no model is given and that nobody may find out; none where that is what is predicted.
        harmless: values of the class that may be found out.
        predicts_numbers: is what is predicted a number?
        edges: the owner's intervals of the predicted numbers, the first of which may be known; none for what leafgate
            proposes.
        step: the predicted numbers are public to a multiple of this; 0 where their owner says nothing of it.
        meaning: of other spellings of classes the class that each means.
        no_answer: the cells of the class that say that it is not recorded.
        answers_learned: is a model fitted on those alone whose class is recorded?
        person: the column that numbers the people who have several rows; empty where each row is a person.
    """

    frame: pd.DataFrame
    features: tuple[str, ...]
    names: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    predicts_numbers: bool = False
    edges: tuple[float, ...] = ()
    step: float = 0.0
    meaning: Mapping[str, str] = field(default_factory=dict)
    no_answer: tuple[str | None, ...] = ()
    answers_learned: bool = False
    person: str = ""

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def texts(self) -> list[str]:
        """The features that hold texts."""
        return [name for name in self.features if not is_number(self.frame[name])]

    @property
    def learned(self) -> People:
        """The people whom a model is fitted on."""
        if not self.answers_learned:
            return self
        return replace(self, frame=self.frame[~self.frame[TARGET].isin(self.no_answer)].reset_index(drop=True))

    @property
    def is_complete(self) -> bool:
        """Has everybody every cell?"""
        return not bool(self.frame[list(self.features)].isna().to_numpy().any())


def is_number(cells: pd.Series) -> bool:
    """Does a column hold numbers?"""
    return bool(pd.api.types.is_numeric_dtype(cells))


def draw_people(rng: Rng, *, numbers: bool, gaps: bool, owned: bool, only_numbers: bool = False) -> People:
    """60 to 800 people with 2 to 6 columns and what is predicted of them.

    Args:
        rng: of the case.
        numbers: is a number predicted, and not one of a few values?
        gaps: may cells be missing?
        owned: does the owner say roles: private columns, and secrets that no model is given?
        only_numbers: no feature is a text.
    """
    low, high = ((60, 200), (200, 450), (450, 801))[int(rng.choice(3, p=[0.3, 0.4, 0.3]))]
    n = int(rng.integers(low, high))
    columns = draw_columns(rng, n, only_numbers=only_numbers)
    target = pd.Series(_numbers_to_predict(rng, columns, n)) if numbers else pd.Series(_classes(rng, columns, n))
    features = tuple(columns)
    if gaps:
        for name in features:
            if rng.random() < 0.3:
                gone = rng.random(n) < rng.choice(MISSING_SHARES)
                if rng.random() < 0.5 and gone.any():  # whoever lacks the cell has one value
                    target[gone] = rng.choice(target[~gone])
                columns[name] = columns[name].where(~gone, None if columns[name].dtype == object else np.nan)
    names: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    if not only_numbers and rng.random() < 0.25:
        columns["name"] = pd.Series([f"{syllables(rng)} {i:03d}" for i in range(n)], dtype=object)
        names = ("name",)
    if owned and rng.random() < 0.08:
        number = rng.random() < 0.5
        columns["secret"] = pd.Series(_numbers_to_predict(rng, columns, n) if number else _classes(rng, columns, n))
        secrets = ("secret",)
    if owned and rng.random() < 0.3:
        few = [name for name in features if columns[name].nunique() <= 12]
        private = tuple(rng.choice(few, 1).tolist()) if few else ()
    columns[TARGET] = target
    harmless: tuple[str, ...] = ()
    if not numbers and not secrets and rng.random() < 0.5:
        shares = target.value_counts()
        harmless = (str(shares.index[0 if rng.random() < 0.75 else -1]),)
    step = float(rng.choice([1, 100])) if numbers and owned and not secrets and rng.random() < 0.15 else 0.0
    edges = (
        _edges(np.asarray(target, dtype=np.float64)) if numbers and owned and not secrets and rng.random() < 0.4 else ()
    )
    return People(pd.DataFrame(columns), features, names, private, secrets, harmless, numbers, edges, step)


def draw_columns(rng: Rng, n: int, *, only_numbers: bool = False) -> dict[str, pd.Series]:
    """2 to 6 columns of so many people, every second of texts unless there are only numbers."""
    columns: dict[str, pd.Series] = {}
    for i in range(int(rng.integers(2, 7))):
        text = i % 2 == 1 and not only_numbers
        columns[f"c{i}"] = _text(rng, n) if text else pd.Series(_number(rng, n))
    return columns


SPELLED_SHARE = 0.2
"""In so many tables of classes some people's class is spelled otherwise."""


def with_spellings(people: People, rng: Rng) -> People:
    """The people; in some tables of classes some of those with one class have another spelling of it."""
    if people.predicts_numbers or rng.random() >= SPELLED_SHARE:
        return people
    cells = people.frame[TARGET].astype(object)
    value = str(rng.choice(cells.unique()))
    others = [
        f"{value} ",
        f"{value}.",
        f"{value}\u00a0",
        f"{value[0]}\u200b{value[1:]}",
        value.capitalize(),
        value.upper(),
    ]
    spelling = str(rng.choice(np.array(others, dtype=object)))
    changed = (cells == value) & (rng.random(len(cells)) < rng.choice([0.1, 0.3, 0.5]))
    frame = people.frame.assign(**{TARGET: cells.where(~changed, spelling)})
    return replace(people, frame=frame, meaning={spelling: value}) if changed.any() else people


UNRECORDED_SHARE = 0.15
"""In so many tables of classes the class of some people is not recorded."""
MARKS: tuple[str | None, ...] = (None, "NULL", "unknown", "9")
"""What stands in place of a class that is not recorded; None is an empty cell."""
CODE = "9"
"""The mark of classes that are codes from 0 up."""


def with_missing_secrets(people: People, rng: Rng) -> People:
    """The people; in some tables of classes many of a group, all of one class or not, have a mark in its place."""
    if people.predicts_numbers or people.secrets or rng.random() >= UNRECORDED_SHARE:
        return people
    whole = {name: people.frame[name] for name in people.features if people.frame[name].notna().all()}
    mark = MARKS[int(rng.integers(len(MARKS)))]
    if not whole or (mark == CODE and people.meaning):
        return people
    cells, harmless = people.frame[TARGET].astype(object), people.harmless
    if mark == CODE:
        codes = {value: str(code) for code, value in enumerate(sorted(cells.unique()))}
        cells, harmless = cells.map(codes), tuple(codes[value] for value in harmless)
    inside = _part(rng, whole, len(people))
    if rng.random() < 0.7:
        cells = cells.mask(inside, rng.choice(cells.unique()))
    gone = inside & (rng.random(len(cells)) < rng.choice([0.3, 0.5, 0.8]))
    if rng.random() < 0.5:
        gone |= rng.random(len(cells)) < 0.05
    answers_learned = mark is None or bool(rng.random() < 0.4)
    if not gone.any() or cells[~gone].nunique() < 2:
        return people
    frame = people.frame.assign(**{TARGET: cells.where(~gone, mark)})
    return replace(people, frame=frame, harmless=harmless, no_answer=(mark,), answers_learned=answers_learned)


SEVERAL_SHARE = 0.15
"""In so many tables of classes people have several rows."""
PERSON = "patient"


def with_several_rows(people: People, rng: Rng) -> People:
    """The people; in some tables of classes they have several rows, whose cells are alike in most columns."""
    if people.predicts_numbers or people.secrets or people.names or rng.random() >= SEVERAL_SHARE:
        return people
    n = len(people)
    shares = rng.dirichlet(np.full(int(n / rng.choice([1.3, 2.0, 4.0])), rng.choice([1.0, 5.0])))
    persons = np.sort(rng.choice(len(shares), n, p=shares))
    first = np.searchsorted(persons, persons)
    alike = [name for name in people.features if rng.random() < 0.7] + [TARGET] * (rng.random() < 0.6)
    columns = {name: people.frame[name].iloc[first].to_numpy() for name in alike}
    if TARGET in columns and len({*columns[TARGET]} - {*people.no_answer}) < 2:
        return people
    ids = persons if rng.random() < 0.5 else [f"p{each:04d}" for each in persons]
    return replace(people, frame=people.frame.assign(**columns, **{PERSON: ids}), person=PERSON)


def _edges(numbers: Cells) -> tuple[float, ...]:
    """Three intervals of numbers from 0 up, the first of which holds what most people have; empty of others."""
    positive = numbers[numbers > 0]
    if (numbers < 0).any() or len(positive) < 2:
        return ()
    top = float(np.ceil(positive.max() * 1.2))
    first = 1.0 if (numbers == 0).mean() > 0.25 else float(np.round(np.quantile(positive, 0.6)))
    second = float(np.round(np.quantile(positive[positive >= first], 0.5))) if (positive >= first).any() else top
    edges = (0.0, first, second, top)
    return edges if all(low < high for low, high in itertools.pairwise(edges)) else ()


def syllables(rng: Rng) -> str:
    """A word that no other text of a table holds."""
    return "".join(rng.choice(["ka", "lo", "mi", "ru", "te", "zo"], 4).tolist())


def _number(rng: Rng, n: int) -> Cells:
    """A feature of numbers: ages, amounts with many zeros, few whole numbers, measures, numbers of people."""
    kind = rng.choice(["age", "amount", "few", "measure", "id"], p=[0.35, 0.25, 0.2, 0.15, 0.05])
    match kind:
        case "age":
            return rng.integers(18, 90, n).astype(float)
        case "amount":
            return np.where(rng.random(n) < 0.4, 0.0, np.round(rng.lognormal(5, 1, n), 2))
        case "few":
            return rng.integers(0, int(rng.integers(2, 8)), n).astype(float)
        case "measure":
            return np.round(rng.normal(0, 10, n), 1)
    return rng.permutation(np.arange(n) * 7 + 10_000).astype(float)


def _text(rng: Rng, n: int) -> pd.Series:
    """A feature of texts, one of whose values few people may have."""
    values = TEXTS[int(rng.integers(len(TEXTS)))]
    cells = rng.choice(np.array(values, dtype=object), n, p=rng.dirichlet(np.full(len(values), 4.0)))
    if rng.random() < 0.3:
        cells[rng.choice(n, int(rng.integers(1, 8)), replace=False)] = "rare"
    return pd.Series(cells, dtype=object)


def _part(rng: Rng, columns: dict[str, pd.Series], n: int) -> NDArray[np.bool_]:
    """Some people whom one column tells from all others: an interval of a number, or a value."""
    cells = columns[str(rng.choice(list(columns)))]
    if cells.dtype == object:
        return np.asarray(cells == rng.choice(cells.unique()))
    numbers = cells.to_numpy()
    low = float(rng.choice(numbers))
    ahead = np.sort(numbers[numbers >= low])
    return np.asarray((numbers >= low) & (numbers <= ahead[min(len(ahead) - 1, int(rng.integers(10, 10 + n // 5)))]))


def _keys(rng: Rng, columns: dict[str, pd.Series]) -> Iterator[NDArray[np.int64]]:
    """Two columns as few groups."""
    for name in rng.choice(list(columns), 2):
        cells = columns[str(name)]
        if cells.dtype == object:
            yield pd.factorize(cells)[0].astype(np.int64)
        else:
            yield np.searchsorted(np.quantile(cells, [0.3, 0.6]), cells).astype(np.int64)


def _classes(rng: Rng, columns: dict[str, pd.Series], n: int) -> NDArray[np.object_]:
    """A value for each person: one of a few, the most frequent of which 40 to 98 % have, with planted pure groups."""
    words = WORDS[int(rng.choice(len(WORDS), p=[0.6, 0.25, 0.15]))]
    values = np.array(words, dtype=object)[rng.permutation(len(words)) if rng.random() < 0.3 else slice(None)]
    share = float(rng.choice([0.4, 0.55, 0.7, 0.85, 0.95, 0.98], p=[0.2, 0.25, 0.2, 0.15, 0.12, 0.08]))
    first, second = _keys(rng, columns)
    pull = rng.normal(0, rng.choice([0.3, 0.8]), 100)[(first * 10 + second) % 100]
    odds = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + pull)))
    others = rng.choice(values[1:], n, p=rng.dirichlet(np.full(len(values) - 1, 3.0)))
    drawn = np.where(rng.random(n) < odds, values[0], others).astype(object)
    planted = rng.random()
    if planted < 0.35:
        inside = np.flatnonzero(_part(rng, columns, n))
        drawn[inside] = rng.choice(values)
        if planted < 0.15:
            drawn[int(rng.choice(inside))] = rng.choice(values)
    for value in values[:2]:  # a table of one class is refused
        if not (drawn == value).any():
            drawn[rng.choice(n, 5, replace=False)] = value
    return drawn


def _numbers_to_predict(rng: Rng, columns: dict[str, pd.Series], n: int) -> Cells:
    """Pay, gains that most people have none of, years of birth, profits, scores; some with planted groups."""
    kind = rng.choice(["pay", "gain", "year", "profit", "score"], p=[0.35, 0.15, 0.15, 0.15, 0.2])
    first, _ = _keys(rng, columns)
    match kind:
        case "pay":
            numbers = rng.lognormal(8, rng.choice([0.3, 0.8]), n) * (1 + 0.2 * first)
            step = float(rng.choice([0.01, 1, 100, 500]))
            numbers = np.round(np.round(numbers / step) * step, 2)
        case "gain":
            numbers = np.where(rng.random(n) < 0.9, 0.0, np.round(rng.lognormal(7, 1.5, n)))
        case "year":
            numbers = rng.integers(1930, 2006, n).astype(float)
        case "profit":
            numbers = np.round(rng.normal(0, 1000, n) + 300 * first)
        case _:
            numbers = np.clip(np.round(rng.normal(50 + 8 * first, 20, n)), 0, 100)
    if rng.random() < 0.25:
        inside = np.flatnonzero(_part(rng, columns, n))
        numbers[inside] = numbers[int(rng.choice(inside))]
        if rng.random() < 0.4:
            numbers[int(rng.choice(inside))] = numbers[int(rng.integers(n))]
    if rng.random() < 0.2:
        numbers[int(rng.integers(n))] = rng.choice(OUTLIERS) * max(1.0, float(np.abs(numbers).max()))
    if len(np.unique(numbers)) < 2:
        numbers[: n // 2] = numbers[0] + 1
    return np.asarray(numbers, dtype=np.float64)
