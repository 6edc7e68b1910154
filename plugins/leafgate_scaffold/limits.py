"""What a first policy has built, published, tried and demanded: numbers that fit the table's size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SMALLEST_GROUPS = ((200, 10), (50, 5), (0, 3))
"""From so many people on, so many must share every path; fewer people would be left with hardly a test."""

CONFIDENCE = 0.95
"""The largest share of one value in a group, where the table as a whole leaves room below it."""


@dataclass(frozen=True)
class TableSize:
    """How many people an audit of the table is about, and the share of them with the most frequent class."""

    people: int
    largest_share: float


def smallest_group(people: int) -> int:
    """The k of a first policy for a table of so many people.

    >>> [smallest_group(people) for people in (40, 60, 8000)]
    [3, 5, 10]
    """
    return next(k for least, k in SMALLEST_GROUPS if people >= least)


def confidence_limit(largest_share: float) -> float:
    """The share of one value that no group may exceed: 0.95, or half way from the share among everybody to 1.

    The second where more than 0.9 of all people have one value, since groups can hardly stay below what holds of
    everybody. It is rounded, and never below that share.

    >>> [confidence_limit(share) for share in (0.5, 0.9, 0.94, 0.985, 1)]
    [0.95, 0.95, 0.97, 0.9925, 1.0]
    """
    if largest_share <= 2 * CONFIDENCE - 1:
        return CONFIDENCE
    return round((1 + largest_share) / 2, 2 if largest_share < 0.98 else 4)


def limits_of(builder: str, size: TableSize) -> Iterator[str]:
    """The end of a policy: what is built of a table of this size, and the limits; kadet, id3, c45 or one of PRIVATE."""
    if builder in PRIVATE:
        yield from _PRIVATE.format(build=PRIVATE[builder]).splitlines()
        return
    k, confidence = smallest_group(size.people), confidence_limit(size.largest_share)
    few = "" if k == SMALLEST_GROUPS[0][1] else "; few people, so few: 10 and more protect better"
    skewed = "" if confidence == CONFIDENCE else "; most people have one value, so it is high"
    text = _PROTECTED if builder == "kadet" else _ORDINARY
    yield from text.format(builder=builder, k=k, confidence=confidence, few=few, skewed=skewed).splitlines()
    if few:
        yield f"\nreport: {{smallest_cell: {k}}}     # CHECK: reports tell whether groups are this small, as k does"


PRIVATE = {
    "dp_random_trees": "{use: dp_random_trees, epsilon: 1, delta: 1.0e-6}",
    "dp_laplace_trees": "{use: dp_laplace_trees, trees: 10, scale: 10, delta: 1.0e-6}",
}
"""Builders of differentially private releases, with options for an epsilon of 1; nothing of the table decides them."""

_GROUPS = """
publish: {{leaves: counts, measure: true}}

attacks:
  - {{use: linking}}

metrics:
  - {{use: k_anonymity, at_least: {k}}}
  - {{use: confidence, at_most: {confidence:g}}}
"""

_PROTECTED = f"""
build:
  use: kadet
  k: {{k:<24}} # CHECK: how many people must share every path{{few}}
  require:                    # what the limits below ask of every group
    - {{{{use: confidence, at_most: {{confidence:g}}}}}}   # CHECK: the share that one value may have{{skewed}}
{_GROUPS}"""

_ORDINARY = f"""
build: {{{{use: {{builder}}}}}}         # protects nobody; the limits below say what it discloses
# CHECK the limits: how many people must share every path{{few}}; the share that one value may have{{skewed}}
{_GROUPS}"""

_PRIVATE = """
# CHECK each domain above: it is published, and the promise of differential privacy holds only where it is not
# taken from these people.
build: {build}        # CHECK: the promise; 1 is strong, 10 says little

publish: {{leaves: counts, measure: true}}

attacks:
  - {{use: distinguish}}        # tries to refute the promise; may take a minute

metrics:
  - {{use: differential_privacy, at_most: 1, delta: 1.0e-6}}
"""
