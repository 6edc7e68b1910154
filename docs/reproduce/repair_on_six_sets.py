"""How much accuracy `leafgate repair` loses, on six data sets under four policies, beside three other ways.

    python docs/reproduce/repair_on_six_sets.py --root DIR [--data ...] [--policies ...] [--methods ...]

DIR holds the folders `adult`, `default_credit_card_clients`, `german_credit`, `nursery`, `mushroom` and `lendingclub`.
scikit-learn's default tree is fitted on half of the people of a data set and repaired; the other half is the test. What
is in docs/results/repair.csv already is not run again; the measured part of the page is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from repair_data import DATA, MADE_UP, POLICIES, SIZE, Draw
from repair_methods import GIVEN, KADET, METHODS, REFIT, REPAIR, SUBTREE, Row, measured
from writing import count, fixed, put, read_rows, section, signed, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
SIZE_POLICIES = ("k10", "k10 and class")
"""The policies that the large tree is repaired under."""


def main() -> None:
    options = _options()
    results = options.out / "repair.csv"
    rows = read_rows(results, Row) if results.exists() else []
    for data in options.data:
        draw = None
        for policy in options.policies:
            done = {row.method for row in rows if (row.data, row.policy) == (data, policy)}
            wanted = [method for method in _methods(data, policy, options.methods) if method not in done]
            if not wanted:
                continue
            draw = draw or Draw.of(MADE_UP if data == SIZE else DATA[data], options.root)
            for row in measured(data, policy, draw, POLICIES[policy], wanted):
                rows.append(row)
                write_csv(results, sorted(rows, key=_place))
                print(data, policy, row.method, flush=True)
    put(options.page, lines(sorted(rows, key=_place)))


def _methods(data: str, policy: str, methods: Sequence[str]) -> Sequence[str]:
    """What is run: of the large tree the repair alone, under two policies."""
    if data != SIZE:
        return methods
    return [method for method in methods if method == REPAIR and policy in SIZE_POLICIES]


def _place(row: Row) -> tuple[int, int, int]:
    """Where a row stands in the results."""
    data, policies, methods = [*DATA, SIZE], list(POLICIES), [GIVEN, *METHODS]
    return data.index(row.data), policies.index(row.policy), methods.index(row.method)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page."""
    for policy, limits in POLICIES.items():
        here = [row for row in rows if row.policy == policy and row.data != SIZE]
        yield from section(f"`{policy}`: {limits.words}", accuracies(here))
    yield from section("Repair beside the others", differences(rows))
    yield from section("What a repair takes, and what it says", repairs(rows))
    yield from section("A large tree", large(rows))


def by_method(rows: Sequence[Row]) -> Iterator[tuple[str, str, Mapping[str, Row]]]:
    """Each data set and policy with its rows by their methods."""
    for data in DATA:
        for policy in POLICIES:
            here = {row.method: row for row in rows if (row.data, row.policy) == (data, policy)}
            if here:
                yield data, policy, here


def accuracies(rows: Sequence[Row]) -> Iterator[str]:
    """The accuracy of each way, on the table's people and on those of the test."""
    head = ("data", "people", *(f"{method}: training, test, leaves" for method in (GIVEN, *METHODS)))
    body = [
        [DATA[data].name, count(here[REPAIR].people), *(_cell(here.get(method)) for method in (GIVEN, *METHODS))]
        for data, _, here in by_method(rows)
        if REPAIR in here
    ]
    yield from table(head, body, "lrrrrrr")


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    if row.right is None:
        return "nothing passed"
    text = f"{fixed(train(row), 3)}, {fixed(test(row), 3)}, {count(row.leaves)}"
    return text if row.method == GIVEN or row.passes == "yes" else f"({text}: fails)"


def train(row: Row) -> float:
    """Accuracy on the people of the table."""
    assert row.right is not None
    return row.right / row.people


def test(row: Row) -> float:
    """Accuracy on the people of the test."""
    assert row.test_right is not None
    return row.test_right / row.test_people


def differences(rows: Sequence[Row]) -> Iterator[str]:
    """By how much repair is better or worse than each other way, in points of a hundred."""
    head = (
        "policy",
        "beside",
        "pairs",
        "training: mean",
        "least",
        "most",
        "test: mean",
        "least",
        "most",
        "test: better",
    )
    body = []
    for policy in POLICIES:
        for method in (GIVEN, SUBTREE, REFIT, KADET):
            pairs = [
                (here[REPAIR], here[method])
                for _, name, here in by_method(rows)
                if name == policy and comparable(here, method)
            ]
            if pairs:
                body.append([policy, method, str(len(pairs)), *_spread(pairs)])
    yield from table(head, body, "llrrrrrrrr")


def comparable(here: Mapping[str, Row], method: str) -> bool:
    """Did both the repair and the other way come to a tree, which passes unless it is the given one?"""
    if REPAIR not in here or method not in here or here[REPAIR].right is None:
        return False
    return here[method].right is not None and (method == GIVEN or here[method].passes == "yes")


def _spread(pairs: Sequence[tuple[Row, Row]]) -> list[str]:
    points = [[100 * (of(own) - of(other)) for own, other in pairs] for of in (train, test)]
    numbers = [f(each) for each in points for f in (_mean, min, max)]
    better = sum(1 for each in points[1] if each > 0)
    return [*map(signed, numbers), f"{better} of {len(pairs)}"]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def repairs(rows: Sequence[Row]) -> Iterator[str]:
    """What repairs took, and whether they were exact."""
    head = ("data", "policy", "audits", "seconds", "on the processor", "exact", "training people right", "at most")
    body = [
        [
            *(DATA[data].name, policy, count(row.audited), fixed(row.seconds, 1), fixed(row.user_seconds, 1)),
            *(row.exact or "-", count(row.right), count(row.at_most)),
        ]
        for data, policy, here in by_method(rows)
        if (row := here.get(REPAIR)) is not None
    ]
    yield from table(head, body, "llrrrlrr")


def large(rows: Sequence[Row]) -> Iterator[str]:
    """What repairs of the large tree took."""
    head = (
        "policy",
        "people",
        "leaves before",
        "after",
        "training",
        "test",
        "audits",
        "seconds",
        "on the processor",
        "exact",
    )
    body = []
    for policy in SIZE_POLICIES:
        here = {row.method: row for row in rows if (row.data, row.policy) == (SIZE, policy)}
        if here:
            row = here[REPAIR]
            numbers = (count(row.people), count(here[GIVEN].leaves), count(row.leaves))
            body.append(
                [
                    *(policy, *numbers, *(fixed(of(row), 3) if row.right is not None else "-" for of in (train, test))),
                    *(count(row.audited), fixed(row.seconds, 1), fixed(row.user_seconds, 1), row.exact or "-"),
                ]
            )
    yield from table(head, body, "lrrrrrrrrl")


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How much accuracy a repair loses, on six data sets.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds the data sets' folders")
    parser.add_argument("--data", nargs="+", choices=[*DATA, SIZE], default=[*DATA, SIZE])
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/repair-measured.md", help="the page to bring up to date"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
