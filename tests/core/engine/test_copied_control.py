"""A control has other people than the table: who is a copy of somebody in the table is no control."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leafgate.api import InconclusiveError, Schema, Table, make_table
from leafgate.engine.knowledge import ControlCheck
from random_tables import categorical, numeric


def numbered(people: int, seed: int, cells: int) -> Table:
    """People of one number from 0 below `cells`, a private input and a class."""
    rng = np.random.default_rng(seed)
    columns = (numeric("x", "quasi_identifier", bounds=(0.0, 1e9)), categorical("s", "private", values=["a", "b"]))
    frame = pd.DataFrame({"x": rng.integers(cells, size=people).astype(float)})
    frame["s"] = pd.Categorical(rng.choice(["a", "b"], people), categories=["a", "b"])
    frame["y"] = pd.Categorical(rng.choice(["no", "yes"], people), categories=["no", "yes"])
    return make_table(Schema((*columns, categorical("y", "class", values=["no", "yes"]))), frame)


@pytest.mark.parametrize("cells", [3, 100, 2_000, 10**8])
def test_people_who_are_identical_by_chance_are_a_control(cells: int) -> None:
    assert ControlCheck().near_copies(numbered(500, 1, cells), numbered(900, 2, cells), 0).p_value > 0.001


@pytest.mark.parametrize("copied", [0.4, 1.0])
def test_copies_of_people_of_the_table_are_no_control(copied: float) -> None:
    """They would teach the imputation the secrets, so that the model would seem to add nothing."""
    table, others = numbered(500, 1, 10**8), numbered(900, 2, 10**8)
    copies = pd.concat([table.frame] * 2).head(int(900 * copied))
    frame = pd.concat([copies, others.frame]).head(900).sample(frac=1, random_state=1).reset_index(drop=True)
    with pytest.raises(InconclusiveError, match="copies") as caught:
        ControlCheck().near_copies(table, make_table(table.schema, frame), 0)
    assert caught.value.problems[0].location == "data.control"
