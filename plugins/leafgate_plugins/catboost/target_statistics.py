"""Statistics of categories (CTR), and tests that ask whether one is above a border.

CatBoost computes a number for each combination of categories, and of answers to other tests, from a table that counts
the people of each class who had it. A combination that nobody had gets the number of nobody. So a test is true of some
of the combinations in the table, and answers for all others as for one that nobody had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Ids, ReleaseError
from leafgate.io.json import list_at
from leafgate.readers import is_number, object_at, parse_bounded_json
from leafgate_plugins.catboost.hashes import combined_hashes
from leafgate_plugins.catboost.trees import Groups, Split, StatisticTest, borders_at, refuse_unknown_keys

BORDERS, BUCKETS, MEAN = "Borders", "Buckets", "BinarizedTargetMeanValue"
FREQUENCIES = ("Counter", "FeatureFreq")
KINDS = (BORDERS, BUCKETS, MEAN, *FREQUENCIES)

ELEMENTS: Mapping[str, tuple[str, ...]] = {
    "cat_feature_value": ("cat_feature_index",),
    "float_feature": ("border", "float_feature_index"),
    "cat_feature_exact_value": ("cat_feature_index", "value"),
}
"""What a combination is made of, in CatBoost's order: categories, then answers to tests; and the keys of each."""

OPTIONS = ("prior_numerator", "prior_denomerator", "shift", "scale")
KEYS = ("borders", "ctr_type", "elements", "identifier", "target_border_idx", *OPTIONS)
MAX_OPTION = 1e9
MAX_ELEMENTS = 16

MAX_COMBINATIONS = 10_000_000
"""So many combinations are looked for in the tables of one file."""

MAX_PEOPLE = 2**31
MAX_WIDTH = 1002
HASH = re.compile(r"0|[1-9][0-9]{0,19}")
EMPTY = 2**64 - 1
"""The hash of an empty place of a table, beside which CatBoost writes again what stands at the first."""

WITH_TEXTS = (
    'save it with `save_model(path, format="json", pool=Pool(X, cat_features=...))`, which lists the categories'
)
FEWER_COMBINATIONS = "fit it with `max_ctr_complexity=1`, or without columns of many categories"

ReadElement = Callable[[Mapping[str, Any], str], int | Split]
"""Reads an element of a combination: the position of a feature whose category it is, or a test that it answers."""


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """How many people had each combination.

    Attributes:
        name: the file's name of the table.
        features: the features whose categories are combined.
        bits: the tests whose answers are combined with these.
        combinations: shape (n, n_features + n_bits): the number of the text of each feature, and 0 or 1 for an answer.
        counts: shape (n, n_numbers), the numbers that stand beside each.
        denominator: the number of people of the commonest combination, in tables of frequencies.
    """

    name: str
    features: tuple[int, ...]
    bits: tuple[Split, ...]
    combinations: Ids
    counts: Ids
    denominator: int


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A number for each combination of a table, shape (n,) in single precision, and for all others."""

    table: CountTable
    target_border: int
    borders: tuple[float, ...]
    values: NDArray[np.float32]
    otherwise: np.float32

    def test(self, border: float, texts: Sequence[str]) -> StatisticTest:
        """The test whether the number is above a border; `texts` are the categories by their numbers."""
        otherwise = bool(self.otherwise > np.float32(border))
        features, by_answers = self.table.features, dict[tuple[bool, ...], set[tuple[int, ...]]]()
        for row in self.table.combinations[(self.values > np.float32(border)) != otherwise].tolist():
            answers = tuple(map(bool, row[len(features) :]))
            by_answers.setdefault(answers, set()).add(tuple(row[: len(features)]))
        exceptions = {answers: _groups(features, rows, texts) for answers, rows in by_answers.items()}
        return StatisticTest(bits=self.table.bits, exceptions=exceptions, otherwise=otherwise)


def _groups(features: Sequence[int], rows: Collection[tuple[int, ...]], texts: Sequence[str]) -> Groups:
    """Tests of one category after another that say whether a combination is one of the rows."""
    if not features:
        return ()
    rests: dict[int, set[tuple[int, ...]]] = {}
    for first, *rest in sorted(rows):
        rests.setdefault(first, set()).add(tuple(rest))
    by_rest: dict[frozenset[tuple[int, ...]], list[int]] = {}
    for first, after in rests.items():
        by_rest.setdefault(frozenset(after), []).append(first)
    return tuple(
        (Split.of_texts(features[0], numbers, texts), _groups(features[1:], same, texts))
        for same, numbers in by_rest.items()
    )


def read_statistics(
    document: Mapping[str, Any], hashes: Sequence[int], read_element: ReadElement, place: str
) -> list[Statistic]:
    """The statistics of a file, in the order by which CatBoost numbers their tests.

    Args:
        document: the file.
        hashes: the hashes of the categories that the file lists, by their numbers.
        read_element: reads an element of a combination.
        place: where the file's features are.
    """
    info = document["features_info"]
    contents = object_at(document.get("ctr_data") or {}, "ctr_data")
    if contents and _has_lost_tables(document["model_info"]):
        raise ReleaseError(
            "has one of several tables of statistics (CTR), of one kind for several borders of the target",
            place="model_info.params.cat_feature_params",
            remedy="fit it with one `TargetBorderCount` and `TargetBorderType` for each kind",
        )
    tables: dict[str, CountTable] = {}
    left, statistics = MAX_COMBINATIONS, []
    for i, item in enumerate(list_at(info, "ctrs", place) if info.get("ctrs") is not None else []):
        here = f"{place}.ctrs[{i}]"
        each = object_at(item, here)
        refuse_unknown_keys(each, KEYS, here)
        if each.get("ctr_type") not in KINDS:
            raise ReleaseError(f"must be one of {', '.join(KINDS)}", place=f"{here}.ctr_type")
        base = json.dumps({"identifier": list_at(each, "elements", here), "type": each["ctr_type"]}, sort_keys=True)
        if base not in tables:
            features, bits = _elements(each["elements"], read_element, f"{here}.elements")
            left -= len(hashes) ** len(features) * 2 ** len(bits)
            if left < 0:
                what = f"has statistics (CTR) of more than {MAX_COMBINATIONS:,} combinations of categories"
                raise ReleaseError(what, place=here, remedy=FEWER_COMBINATIONS)
            tables[base] = _table(_name(each, base, here), contents, each["ctr_type"], features, bits, hashes)
        if each.get("identifier") != tables[base].name:
            raise ReleaseError("must name the table of this statistic", place=f"{here}.identifier")
        statistics.append(_statistic(each, tables[base], here))
    if len(contents) != len(tables):
        raise ReleaseError("has tables of no statistic", place="ctr_data")
    return statistics


def _has_lost_tables(info: Mapping[str, Any]) -> bool:
    """Whether statistics of one kind were fitted for several borders of the target.

    CatBoost writes their tables under one name, so that the last of them alone is in the file.
    """
    options = info["params"].get("cat_feature_params")
    options = options if isinstance(options, dict) else {}
    of_features = options.get("per_feature_ctrs")
    lists = [options.get("simple_ctrs"), options.get("combinations_ctrs")]
    for listed in [*lists, *(of_features.values() if isinstance(of_features, dict) else ())]:
        borders: dict[str, Any] = {}
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and isinstance(kind := each.get("ctr_type"), str):
                target = each.get("target_binarization")
                if borders.setdefault(kind, target) != target:
                    return True
    return False


def _name(document: Mapping[str, Any], base: str, place: str) -> str:
    """The name of a statistic's table: what it is of, as JSON in a text."""
    name = document.get("identifier")
    if isinstance(name, str) and json.dumps(parse_bounded_json(name.encode(), place), sort_keys=True) == base:
        return name
    raise ReleaseError("must say what the statistic is of", place=f"{place}.identifier")


def _elements(items: list[Any], read_element: ReadElement, place: str) -> tuple[tuple[int, ...], tuple[Split, ...]]:
    """The features and the tests that a statistic combines, in CatBoost's order."""
    found, order = [], []
    for i, item in enumerate(items):
        here = f"{place}[{i}]"
        each = object_at(item, here)
        kind = each.get("combination_element")
        if not isinstance(kind, str) or kind not in ELEMENTS:
            raise ReleaseError(f"must be one of {', '.join(ELEMENTS)}", place=f"{here}.combination_element")
        if each.keys() != {"combination_element", *ELEMENTS[kind]}:
            raise ReleaseError(f"must have {', '.join(ELEMENTS[kind])}", place=here)
        order.append([*ELEMENTS].index(kind))
        found.append(read_element(each, here))
    if order != sorted(order) or 0 not in order or len(order) > MAX_ELEMENTS:
        raise ReleaseError(f"must be categories, then answers to tests, at most {MAX_ELEMENTS}", place=place)
    return tuple(e for e in found if isinstance(e, int)), tuple(e for e in found if isinstance(e, Split))


def _table(
    name: str,
    contents: Mapping[str, Any],
    kind: str,
    features: tuple[int, ...],
    bits: tuple[Split, ...],
    hashes: Sequence[int],
) -> CountTable:
    """The table under a name, every combination of which the file's list of categories explains."""
    document = object_at(contents.get(name), "ctr_data")
    refuse_unknown_keys(document, ("counter_denominator", "hash_map", "hash_stride"), "ctr_data")
    items, width = list_at(document, "hash_map", "ctr_data"), document.get("hash_stride")
    denominator = document.get("counter_denominator")
    expected = (2,) if kind in FREQUENCIES else (3,) if kind == MEAN else range(3, MAX_WIDTH)
    if type(width) is not int or width not in expected or len(items) % width:
        raise ReleaseError("must be the length of a row of this table", place="ctr_data.hash_stride")
    rows = [items[i : i + width] for i in range(0, len(items), width)]
    if kind == MEAN and any(isinstance(row[1], float) for row in rows):
        what = (
            f"has statistics (CTR) of the kind {MEAN} with parts of numbers, of which CatBoost opens whole ones alone"
        )
        raise ReleaseError(what, place="ctr_data.hash_map", remedy="fit it with `simple_ctr=['Borders', 'Counter']`")
    if not all(_is_row(row) for row in rows):
        raise ReleaseError("must be hashes, each with whole numbers of people", place="ctr_data.hash_map")
    if type(denominator) is not int or not 0 <= denominator < MAX_PEOPLE:
        raise ReleaseError("must be a number of people", place="ctr_data.counter_denominator")
    counts_of = {int(row[0]): row[1:] for row in rows}
    repeated = counts_of.pop(EMPTY, None)
    if len({row[0] for row in rows}) != len(rows) or (repeated is not None and repeated not in counts_of.values()):
        raise ReleaseError("must have each combination once", place="ctr_data.hash_map")
    keys, known = np.array([*counts_of], dtype=np.uint64), combined_hashes(hashes, len(features), len(bits))
    if not np.isin(keys, known).all():
        what = "counts people of a category of which the file has the hash alone"
        raise ReleaseError(what, place="ctr_data.hash_map", remedy=WITH_TEXTS)
    order = np.argsort(known, axis=None)
    at = order[np.searchsorted(known.ravel(), keys, sorter=order)]
    return CountTable(
        name=name,
        features=features,
        bits=bits,
        combinations=np.stack(np.unravel_index(at, known.shape), axis=1),
        counts=np.array([*counts_of.values()], dtype=np.int64).reshape(-1, width - 1),
        denominator=denominator,
    )


def _is_row(row: list[Any]) -> bool:
    """Whether this is a hash, as a text, and numbers of people."""
    name, *counts = row
    is_hash = isinstance(name, str) and HASH.fullmatch(name) is not None and int(name) <= EMPTY
    return is_hash and all(type(each) is int and each >= 0 for each in counts) and sum(counts) < MAX_PEOPLE


def _statistic(document: Mapping[str, Any], table: CountTable, place: str) -> Statistic:
    """A statistic, computed from its table in single precision as CatBoost does.

    Source: CatBoost 1.2, `TStaticCtrProvider::CalcCtrs` and `TModelCtr::Calc`.
    """
    kind, target_border = document["ctr_type"], document.get("target_border_idx")
    n = table.counts.shape[1]
    if type(target_border) is not int or not 0 <= target_border < {BORDERS: n - 1, BUCKETS: n}.get(kind, 1):
        raise ReleaseError("must be the number of a border, or of a class", place=f"{place}.target_border_idx")
    options: list[Any] = [document.get(key) for key in OPTIONS]
    if not all(is_number(each) and abs(each) < MAX_OPTION for each in options) or options[1] < 1 / MAX_OPTION:
        raise ReleaseError("must be numbers, the denominator above 0", place=place)
    counts = np.vstack([table.counts, np.zeros((1, n), dtype=np.int64)])  # the last row is of nobody
    counted = counts[:, target_border + 1 :].sum(axis=1) if kind == BORDERS else counts[:, target_border]
    total = counts[:, 1] if kind == MEAN else counts.sum(axis=1)
    if kind in FREQUENCIES:
        total = np.full(len(counts), table.denominator)
    numerator, denominator, shift, scale = map(np.float32, options)
    values = (counted.astype(np.float32) + numerator) / (total.astype(np.float32) + denominator)
    values = (values + shift) * scale
    return Statistic(
        table=table,
        target_border=target_border,
        borders=tuple(borders_at(document, place)),
        values=values[:-1],
        otherwise=values[-1],
    )
