"""What leaves state is compared with those of a roll of whom something is known."""

from __future__ import annotations

import hashlib
import hmac
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

from example_counts import seeds
from joint_cases import Case, changing_case, drawn_case, random_case, reported_case
from leafgate import InconclusiveError, Table
from leafgate.api import Schema
from leafgate.engine.rolls import ReadRoll, require_possible
from leafgate.io.roll import keyed_id, make_roll

KEY = bytes(range(32))


def roll_of(case: Case, number: int, forgotten: list[int]) -> ReadRoll:
    """The roll of a version of a case, without the people who are forgotten."""
    source = case.rolled_sources({number: ()})[number]
    assert source.roll is not None
    people = case.versions[number].people.tolist()
    leaf = {keyed_id(KEY, person): source.roll.leaf[:, source.record[person]].tolist() for person in people}
    facts: dict[str, Any] = {"key": KEY, "release": "0" * 64, "purpose": "a", "controller": "b"}
    n_leaves = [8] * len(source.release.trees)
    roll = make_roll(leaf, n_leaves, expires=date(2999, 1, 1), **facts)
    kept = {each: reached for each, reached in roll.leaf.items() if each not in {keyed_id(KEY, p) for p in forgotten}}
    return ReadRoll(roll.model_copy(update={"leaf": kept}), KEY)


def test_the_id_of_a_key_is_that_of_its_form_and_of_a_form_what_it_always_was() -> None:
    expected = hmac.new(KEY, b"leafgate/roll/1 cell p 1", hashlib.sha256).hexdigest()
    assert {keyed_id(KEY, spelling) for spelling in ("p 1", " p  1 ", "p 1.", "\u200bp 1", "\uff50 1")} == {expected}
    assert len({keyed_id(KEY, key) for key in ("p 1", "P 1", "17", "017", ".", ";")}) == 6


def table_of(case: Case, label: Any) -> Table:
    """A table with these classes of everybody."""
    target = case.schema.target
    cells = pd.Categorical([target.domain[code] for code in label], categories=list(target.domain))
    frame = pd.DataFrame({target.name: cells})
    return Table(Schema((target,)), frame, np.ones(len(frame), dtype=np.int64))


@pytest.mark.parametrize("make", [random_case, drawn_case, reported_case, changing_case])
@pytest.mark.parametrize("seed", seeds(40))
def test_what_is_true_of_everybody_contradicts_no_roll(make: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = make(rng)
    people = np.flatnonzero(rng.random(len(case.label)) < 0.7).tolist()
    table = table_of(case, case.label[people])
    for number, source in enumerate(case.sources()):
        forgotten = case.versions[number].people[rng.random(len(case.versions[number].people)) < 0.3].tolist()
        roll = roll_of(case, number, forgotten)
        require_possible(roll, source.release, table, people, case.change, "here")


def test_most_wrong_classes_contradict_counts() -> None:
    noticed = tried = 0
    for seed in range(60):
        case = random_case(np.random.default_rng(seed))
        people = [*range(len(case.label))]
        wrong = table_of(case, 1 - case.label)
        for number, source in enumerate(case.sources()):
            if case.versions[number].level == "counts":
                tried += 1
                try:
                    require_possible(roll_of(case, number, []), source.release, wrong, people, case.change, "here")
                except InconclusiveError as error:
                    noticed += "somebody has another secret now" in str(error)
    assert noticed > tried / 2 > 5
