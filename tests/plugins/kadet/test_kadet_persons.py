"""kADET where a person may have several rows: no group breaks k or what is required, by counting and by enumeration."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafgate import Table
from leafgate.algorithms.person_certainty import RowsOfPersons
from leafgate.algorithms.routing import route
from leafgate.app import open_session
from literal_persons import certain_by_enumeration
from survey import survey

COLUMNS: dict[str, Any] = {
    "patient": {"role": "person"},
    "age": {"role": "quasi_identifier", "bounds": [0, 9]},
    "ward": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
MOST_SHARE = 0.9


def random_policy(folder: Path, rng: np.random.Generator, insiders: int) -> Path:
    """Ten persons of one to three rows, few of which have no id, five young ones who are more often ill; k = 2."""
    lines = ["patient,age,ward,ill"]
    for person in range(10):
        old = person % 2
        age, ward, ill = 6 * old + int(rng.integers(4)), rng.choice(list("abc")), rng.random() < (0.7, 0.3)[old]
        for _ in range(int(rng.integers(1, 4))):
            moved = rng.random() < 0.1
            value = ill if rng.random() < 0.98 else not ill
            whose = "" if rng.random() < 0.05 else f"p{person}"
            lines.append(f"{whose},{int(rng.integers(10)) if moved else age},{ward},{'yes' if value else 'no'}")
    if len({line.rsplit(",", 1)[1] for line in lines[1:]}) < 2:
        lines[1] = lines[1].rsplit(",", 1)[0] + (",no" if lines[1].endswith("yes") else ",yes")
    require = [{"use": "exposure", "insiders": insiders}, {"use": "confidence", "at_most": MOST_SHARE}]
    return survey(
        folder,
        {
            "data.columns": copy.deepcopy(COLUMNS),
            "data.missing": [""],
            "build": {"use": "kadet", "k": 2, "prune": False, "require": require},
            "metrics": [{"use": "k_anonymity", "at_least": 2}],
        },
        "\n".join(lines) + "\n",
    )


def check(folder: Path, seed: int) -> tuple[int, bool]:
    """Compare one tree with counting and enumeration; how many leaves it has, and whether it could be enumerated."""
    insiders = seed % 2
    session = open_session(random_policy(folder, np.random.default_rng(seed), insiders))
    audit = session.audit()
    if audit.artifact is None:
        return 0, False
    table = session.table
    assert isinstance(table, Table)
    assert table.person_rows is not None
    persons, routed = table.person_rows, route(audit.artifact.release.trees[0], table)
    leaf, value = routed.leaf[persons.record], table.codes("ill")[persons.record]
    for number in np.unique(leaf).tolist():
        here = leaf == number
        people = {int(person) for person in persons.person[here]}
        assert len(people) >= 2
        for each in (0, 1):
            with_it = {int(person) for person in persons.person[here & (value == each)]}
            assert len(with_it) <= MOST_SHARE * len(people)
    persons = persons.with_strangers(table.weight)
    leaf, value = routed.leaf[persons.record], table.codes("ill")[persons.record]
    cells = dict.fromkeys(zip(persons.person.tolist(), leaf.tolist(), value.tolist(), strict=True), 0)
    for cell, rows in zip(
        zip(persons.person.tolist(), leaf.tolist(), value.tolist(), strict=True), persons.rows.tolist(), strict=True
    ):
        cells[cell] += rows
    keys = list(cells)
    rows = RowsOfPersons(
        person=np.array([person for person, _, _ in keys]),
        leaf=np.array([[leaf for _, leaf, _ in keys]]),
        value=np.array([value for _, _, value in keys]),
        rows=np.array([cells[key] for key in keys]),
        n_persons=persons.size,
        n_values=2,
    )
    compared = False
    for fixed in (True, False):
        certain = certain_by_enumeration(rows, rows.composition, insiders, fixed=fixed)
        compared |= certain is not None
        assert certain is None or not certain[rows.person, rows.value].any()
    return routed.n_leaves, compared


@pytest.mark.parametrize("seed", range(6))
def test_no_group_breaks_k_or_what_is_required_of_persons(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)


@pytest.mark.slow
def test_no_group_of_300_tables_breaks_k_or_what_is_required_of_persons(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    found = [check(tmp_path_factory.mktemp("persons"), seed) for seed in range(100, 400)]
    assert sum(number > 1 for number, _ in found) > 15
    assert sum(compared for _, compared in found) > 100
