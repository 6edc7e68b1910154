"""An adversary who reads what was published, and says of whom it gives away what.

It knows the public columns of everybody, so that it puts each person into a group by the leaves that she can reach; it
knows how large each group is, and it has one member of each group on its side, who knows her own value. It is written
for this harness alone and shares no code with leafgate.
"""

from __future__ import annotations

import io
import itertools
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from generator.published import Floats, Ids, Published

FEW = 10
"""A number that fewer people have is theirs."""
NEAR = 0.1
"""A number is known where it is known to this share of the larger one; so is the largest of a total."""
NEAR_IN_BOUNDS = 0.05
"""Other numbers are known where they are known to this share of their bounds."""
EDGE = 1e-9
"""So much of a limit is left to either side: floating point may decide it."""
MEAN_TOLERANCE = 1e-5
"""How well a published number times people agrees with the total that it is, in single precision."""
LEAST_LETTERS = 4
"""Shorter texts are in every file by accident."""
CODES = ("utf-8", "utf-32-le")
"""How files write texts: the second is NumPy's."""
MANY_CANDIDATES = 60
"""The adversary tries no more values of private columns than this."""


@dataclass(frozen=True)
class Exposed:
    """What the adversary found: of how many people, and by which way."""

    way: str
    people: int
    secret: str
    words: str

    def __str__(self) -> str:
        return f"{self.way} of {self.secret!r}: {self.people} people, {self.words}"


@dataclass(frozen=True, eq=False)
class Secret:
    """A column whose cells the policy protects.

    Attributes:
        name: of the column.
        cells: everybody's.
        judged: the values that may not be known, of numbers their intervals by position; None for all.
        is_ratio: are numbers near to each other by their ratio?
        width: how near other numbers are to each other.
        edges: of intervals that the policy takes for values; empty where there are none.
        step: numbers are public to a multiple of this; 0 where they are not.
    """

    name: str
    cells: pd.Series
    judged: frozenset[str] | None = None
    is_ratio: bool = False
    width: float = 0.0
    edges: Sequence[float] = ()
    step: float = 0.0

    @property
    def is_number(self) -> bool:
        return bool(self.edges)

    @property
    def intervals(self) -> Ids:
        """The interval of each number, by its position; the upper edge of the last one is in it."""
        inner = np.asarray(self.edges)[1:-1]
        return np.asarray(np.searchsorted(inner, self.cells.to_numpy(dtype=np.float64), side="right"))

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Whose number may not be known."""
        if self.judged is None:
            return np.ones(len(self.cells), dtype=bool)
        return np.isin(self.intervals.astype(str), list(self.judged))


@dataclass(frozen=True, eq=False)
class Outsider:
    """The adversary: what is published, the people's public columns, and what is to be protected.

    Attributes:
        published: the model.
        frame: the people; of private columns and secrets the adversary reads nothing but what `judge` compares.
        private: columns that it does not know.
        secrets: what it may not find out, and the model predicts; of other columns the model says nothing.
        names: columns whose texts may not be in the file.
        texts: columns whose texts may not be there where few people have one.
        k: so many people must be in each group.
        confidence: the largest share of a group's people, or of the others, that one value or window may have; 1 for
            no limit.
        no_answer: values of classes that say that they are not recorded; of these people nothing is found out.
        persons: whose each row is, by number; None where each row is a person.
    """

    published: Published
    frame: pd.DataFrame
    secrets: Sequence[Secret]
    private: Sequence[str] = ()
    names: Sequence[str] = ()
    texts: Sequence[str] = ()
    k: int = 1
    confidence: float = 1.0
    no_answer: Sequence[str | None] = ()
    persons: Ids | None = None

    def exposed(self) -> list[Exposed]:
        """Everything that is found, of each way in which anybody is exposed."""
        return [each for each in self._tried() if each.people]

    def _tried(self) -> Iterator[Exposed]:
        """Every way, and of how many people it is."""
        groups = self.groups()
        persons = np.arange(len(groups)) if self.persons is None else self.persons
        yield small_groups(groups, persons, self.k)
        yield from self._texts()
        for secret in self.secrets:
            if secret.is_number:
                yield from near_numbers(secret, groups, self.confidence)
                yield from same_values(_intervals(secret), groups, persons, self.confidence)
                if self.published.numbers is not None:
                    yield from self._totals(secret)
                    yield from self._printed(secret)
            else:
                known = ~self.frame[secret.name].isin(self.no_answer).to_numpy()
                recorded = replace(secret, cells=secret.cells[known])
                yield from same_values(recorded, groups[known], persons[known], self.confidence)

    def groups(self) -> Ids:
        """Each person's group: those whose leaves are the same whatever the cells are that the adversary lacks."""
        keys = [self.published.leaves(variant) for variant in self._variants()]
        return number_rows(np.column_stack(keys))

    def _variants(self) -> Iterator[pd.DataFrame]:
        """The people with every combination of private cells that may lead to other leaves."""
        pools = []
        for name in self.private:
            cells = self.frame[name]
            values: list[Any] = cells.dropna().unique().tolist()
            if pd.api.types.is_numeric_dtype(cells):
                values = sorted(values)
                values += [(one + other) / 2 for one, other in itertools.pairwise(values)]
                values += [values[0] - 1, values[-1] + 1]
            pools.append(values + ([None] if bool(cells.isna().any()) else []))
        for combination in itertools.islice(itertools.product(*pools), MANY_CANDIDATES):
            changed = {}
            for name, value in zip(self.private, combination, strict=True):
                number = pd.api.types.is_numeric_dtype(self.frame[name])
                cell = np.nan if number and value is None else value
                changed[name] = np.full(len(self.frame), cell, dtype=float if number else object)
            yield self.frame.assign(**changed)

    def _texts(self) -> Iterator[Exposed]:
        """Texts of columns that no release may have, and those of others that few people have."""
        parts = list(_parts(self.published.content))
        common = {
            str(text) for name in self.texts for text, n in self.frame[name].value_counts().items() if n >= FEW
        }  # which may be there for a column that many people have them in
        for name in (*self.names, *self.texts):
            counts = self.frame[name].value_counts()
            texts = [str(text) for text, people in counts.items() if name in self.names or people < FEW]
            texts = [text for text in texts if len(text) >= LEAST_LETTERS and text not in common]
            there = {text for text in texts for code in CODES if any(text.encode(code) in part for part in parts)}
            people = int(counts[[text in there for text in counts.index.astype(str)]].sum())
            yield Exposed("text", people, name, "whose names are in the file")

    def _totals(self, secret: Secret) -> Iterator[Exposed]:
        """Totals of leaves that belong to one person almost alone.

        A total follows where the published number is known to be a mean: it is this times the people, and of added
        trees what the earlier ones predict for them besides. It is compared with the truth, so that nothing is found
        where the number is another after all.
        """
        published = self.published
        if not published.is_mean or published.numbers is None or self.private:
            return
        truth, is_judged = secret.cells.to_numpy(dtype=np.float64), secret.is_judged
        leaves, numbers = published.leaves(self.frame), published.numbers(self.frame)
        before = np.full(len(truth), float(sum(published.constants)))
        if published.first_has_base:
            before = np.full(len(truth), float(numbers[:, 0].mean()))
            numbers = numbers.copy()
            numbers[:, 0] -= before
        found: dict[str, set[int]] = {}
        for t in range(numbers.shape[1]):
            for rows in members(number_rows(leaves[:, t : t + 1])):
                n = len(rows)
                total = numbers[rows, t].sum()
                if published.is_added:
                    own = numbers[rows[0], t] / published.learning_rate * (n + published.regularisation)
                    total = before[rows].sum() + own
                if abs(total - truth[rows].sum()) > MEAN_TOLERANCE * (
                    np.abs(truth[rows]).sum() + np.abs(before[rows]).sum()
                ):
                    continue
                person = dominating(truth[rows], float(np.median(truth)))
                if person is not None and is_judged[rows[person]]:
                    found.setdefault("total" if t == 0 else "total of a later tree", set()).add(int(rows[person]))
            if published.is_added:
                before = before + numbers[:, t]
        for way, people in found.items():
            yield Exposed(way, len(people), secret.name, "whose number a total gives")

    def _printed(self, secret: Secret) -> Iterator[Exposed]:
        """Numbers of the file, and predictions of these people, that are the cells of few."""
        published = self.published
        assert published.numbers is not None
        truth = secret.cells.to_numpy(dtype=np.float64)
        printed = [np.asarray(published.constants, dtype=np.float64)]
        printed.append(published.numbers(self.frame).ravel())
        if published.predictions is not None:
            printed.append(published.predictions(self.frame))
        said = set(np.concatenate(printed).astype(np.float32).tolist())
        values, counts = np.unique(truth, return_counts=True)
        judged = set(truth[secret.is_judged].tolist())
        few = {
            float(np.float32(value)): count
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
            if count < FEW and value in judged and not _is_public(value, secret.step)
        }
        ways = (("printed", said, "stands in the file"), ("derived", self._first_leaves(), "follows from a leaf"))
        for way, known, words in ways:
            people = sum(few[each] for each in few.keys() & known)
            yield Exposed(way, people, secret.name, f"whose number {words}")

    def _first_leaves(self) -> set[float]:
        """What the first of added trees was fitted to: its leaves without learning rate, and with what all begin with.

        With the absolute error this is the median of each leaf's people.
        """
        published = self.published
        if not published.is_added or published.numbers is None or self.private or published.first_has_base:
            return set()
        first = published.numbers(self.frame)[:, 0] / published.learning_rate + sum(published.constants)
        return set(first.astype(np.float32).tolist())


def _is_public(number: float, step: float) -> bool:
    """Is a number one of those that everybody knows of?"""
    return bool(step) and abs(number / step - round(number / step)) <= EDGE * max(1.0, abs(number / step))


def number_rows(keys: Ids) -> Ids:
    """The number of each distinct row."""
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1]).ravel()


def members(groups: Ids) -> list[Ids]:
    """The rows of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def small_groups(groups: Ids, persons: Ids, k: int) -> Exposed:
    """Groups of fewer than k people, each of whom may have several rows."""
    sizes = [len(set(persons[rows].tolist())) for rows in members(groups)]
    people = [size for size in sizes if size < k]
    return Exposed("small group", sum(people), "who", f"in {len(people)} groups below {k}")


def same_values(secret: Secret, groups: Ids, persons: Ids, confidence: float) -> Iterator[Exposed]:
    """People in whose group everybody, or everybody but one, has their value, in all rows."""
    certain = insider = sure = 0
    cells = secret.cells.to_numpy(dtype=object)
    for rows in members(groups):
        owners, values = persons[rows], cells[rows].astype(str)
        people = len(set(owners.tolist()))
        for value in set(values.tolist()):
            if secret.judged is not None and value not in secret.judged:
                continue
            having, others = set(owners[values == value].tolist()), set(owners[values != value].tolist())
            certain += len(having) if not others else 0
            insider += len(having - others) if len(others) == 1 else 0
            share = max(len(having) / people, (values == value).mean())
            sure += len(having) if share > confidence + EDGE else 0
    yield Exposed("certain", certain, secret.name, "in groups of one value")
    yield Exposed("insider", insider, secret.name, "certain to the one who differs")
    yield Exposed("confidence", sure, secret.name, f"above {confidence:g}")


def near_numbers(secret: Secret, groups: Ids, confidence: float) -> Iterator[Exposed]:
    """People in whose group all numbers but one are near to each other."""
    certain = sure = 0
    cells, is_judged = secret.cells.to_numpy(dtype=np.float64), secret.is_judged
    for rows in members(groups):
        order = rows[np.argsort(cells[rows], kind="stable")]
        numbers, judged = cells[order], is_judged[order]
        n = len(numbers)
        known = np.zeros(n, dtype=bool)
        for i in range(n):
            inside = _within(secret, numbers, i)
            if inside >= n - 1:
                known[i : i + inside] = True
            if judged[i] and n > 1 and min(inside, n - 1) > (confidence + EDGE) * (n - 1):
                sure += 1
        certain += int((known & judged).sum())
    yield Exposed("near", certain, secret.name, "whose numbers are near to each other")
    yield Exposed("confidence in a number", sure, secret.name, f"above {confidence:g}")


def _within(secret: Secret, numbers: Floats, start: int) -> int:
    """How many of the sorted numbers are near to this one and larger."""
    low = float(numbers[start])
    end = low / (1 - NEAR) if secret.is_ratio else low + secret.width
    return int(np.searchsorted(numbers, end - EDGE * (end - low), side="right")) - start


def _intervals(secret: Secret) -> Secret:
    """The intervals of a secret number, as values."""
    places = pd.Series(secret.intervals.astype(str), dtype=object)
    return Secret(f"{secret.name} in intervals", places, secret.judged)


def dominating(numbers: Floats, median: float) -> int | None:
    """Whose number the total of all gives to within 10 % to the one with the second largest; None for nobody's.

    Numbers below 0 are taken as distances from everybody's median, rounded to two digits.
    """
    if bool((numbers < 0).any()):
        rounded = 0.0 if median == 0 else round(median, 1 - math.floor(math.log10(abs(median))))
        numbers = np.abs(numbers - rounded)
    order = np.argsort(-numbers)
    largest = float(numbers[order[0]])
    rest = float(numbers[order[2:]].sum())
    return int(order[0]) if largest > 0 and rest < NEAR * largest * (1 - EDGE) else None


def _parts(content: bytes) -> Iterator[bytes]:
    """The bytes of a file, and of each file in it where it is an archive."""
    yield content
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


def secret_of(
    name: str,
    spec: Mapping[str, Any],
    cells: pd.Series,
    harmless: Sequence[str],
    step: float = 0.0,
    harmless_intervals: Sequence[int] = (),
) -> Secret:
    """A secret as the policy declares its column; what is harmless, and a step, are what the owner declared."""
    if spec.get("bins"):
        edges = [float(edge) for edge in spec["bins"]]
        width = NEAR_IN_BOUNDS * (edges[-1] - edges[0])
        count = len(edges) - 1
        judged = {str(place) for place in range(count) if place not in harmless_intervals}
        return Secret(
            name,
            cells,
            frozenset(judged) if len(judged) < count else None,
            spec.get("scale") == "ratio",
            width,
            edges,
            step,
        )
    texts = pd.Series([_text(cell) for cell in cells], dtype=object)
    return Secret(name, texts, frozenset(texts) - frozenset(harmless) if harmless else None)


def _text(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
