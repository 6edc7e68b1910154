"""Tables that differ by one person's secret have equal public reports where file and verdicts are the same."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leafgate.app import policy_of
from limits_of_metrics import METRICS
from neighbours import Neighbours, neighbours, scrubbed_tree
from random_tables import categorical, numeric, table_of

TOWN = numeric("town", "quasi_identifier")
ILL = categorical("ill", "class", "sensitive", values=("no", "yes"))
LIMITS: list[dict[str, Any]] = [
    {"use": "t_closeness", "at_most": 0.001, "scored": "derived"},
    {"use": "confidence", "at_most": 0.99, "average": True},
]


FAST = (3, 8)
"""Seeds of neighbours that have one file and equal verdicts."""


@pytest.mark.thorough
def test_neighbours_have_equal_public_reports_in_all_formats(tmp_path: Path) -> None:
    for seed in FAST:
        pair = neighbours(seed, tmp_path, METRICS)
        reports = None if pair is None else pair.public_reports()
        assert reports is not None
        assert reports[0] == reports[1]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 7000, 1000))
def test_300_neighbours_have_equal_public_reports_in_all_formats(tmp_path: Path, first: int) -> None:
    made = (neighbours(seed, tmp_path, METRICS) for seed in count(first))
    reports = (each for pair in made if pair is not None and (each := pair.public_reports()) is not None)
    for one, other in islice(reports, 50):
        assert one == other


PEOPLE = 20


def towns(folder: Path, ill: float, units: int) -> Neighbours:
    """Two towns of 20 people: of one so many are ill, of the other .8. The file's shares are multiples of 1 / `units`.

    In one of the tables one person more is ill.
    """
    parts = ((0.0, ill), (1.0, 0.8))
    rows = [(town, "yes" if i < share * PEOPLE else "no") for town, share in parts for i in range(PEOPLE)]
    changed = [(town, "yes") if i == PEOPLE - 1 else (town, cell) for i, (town, cell) in enumerate(rows)]
    numbers = pd.DataFrame({"town": [town for town, _ in rows]})
    content = scrubbed_tree(numbers, pd.Series([cell for _, cell in rows]), "shares", units)
    (folder / "tree.json").write_bytes(content)
    said = {
        "leafgate": 1,
        "name": "towns",
        "data": {
            "columns": {
                "town": {"role": "quasi_identifier", "bounds": [0, 10]},
                "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
            }
        },
        "build": {"use": "published", "path": "tree.json"},
        "attacks": [{"use": "linking"}],
        "metrics": LIMITS,
        "report": {"smallest_cell": 1},
    }
    policy = policy_of(said, folder).policy
    return Neighbours(policy, (table_of([TOWN, ILL], rows), table_of([TOWN, ILL], changed)))


def test_rounded_shares_of_many_people_publish_nothing_of_one_of_them(tmp_path: Path) -> None:
    """Of twenty people 10 or 11 are ill, and the file says .5 of both."""
    pair = towns(tmp_path, 0.5, units=10)
    reports = pair.public_reports()
    assert reports is not None
    assert reports[0] == reports[1]
    assert b'"commonest"' not in reports[0]["json"]


def test_rounded_shares_of_so_few_people_that_they_count_them_are_published(tmp_path: Path) -> None:
    """Steps of .01 say of 20 people how many are ill, and a table with one more contradicts the file."""
    pair = towns(tmp_path, 0.45, units=100)
    assert pair.public_reports() is None
    twins = Neighbours(pair.policy, (pair.tables[0], pair.tables[0])).public_reports()
    assert twins is not None
    assert b'"commonest"' in twins[0]["json"]
