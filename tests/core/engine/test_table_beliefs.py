"""Beliefs about reconstructed records are validated, and silence no check that asks who else was attacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    Belief,
    Column,
    InconclusiveError,
    Metric,
    Release,
    ReleaseAtMost,
    Schema,
    Score,
    ScoringContext,
    Table,
    TableBelief,
    make_table,
)
from leafgate.engine import validation
from leafgate.engine.attack import AttackResult
from leafgate.engine.checks import _limits_beliefs, _unattacked
from leafgate.testing import grant_knowledge, validate_belief
from random_tables import categorical, table_of
from standins import attack_that, audited, finding

AGE = Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0))
PAY = Column("pay", frozenset({"sensitive"}), bounds=(0.0, 20.0), bins=(0.0, 10.0, 20.0), ordered=True)
TOWN = Column("town", frozenset({"private"}), values=("Hill", "Mill"), missing=True)
SIZE = Column("size", frozenset({"private"}), bounds=(0.0, 9.0), missing=True)
RISK = Column("risk", frozenset({"class"}), values=("low", "high"))
SECRET = "Zanzibar-4711"
"""A cell that no message may repeat."""


def known() -> AdversaryKnowledge:
    """What is known of three people."""
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, 40.0],
            "pay": [5.0, 5.0, 15.0],
            "town": pd.Categorical(["Hill", "Mill", None], categories=["Hill", "Mill"]),
            "size": [1.0, 2.0, np.nan],
            "risk": pd.Categorical(["low", "high", "low"], categories=["low", "high"]),
        }
    )
    return grant_knowledge(make_table(Schema((AGE, PAY, TOWN, SIZE, RISK)), frame))


def records_of(cells: dict[str, Any]) -> pd.DataFrame:
    belief = validate_belief(TableBelief(pd.DataFrame(cells)), known())
    assert isinstance(belief, TableBelief)
    return belief.records


def test_cells_are_typed_as_those_of_a_table() -> None:
    records = records_of(
        {
            "town": ["Mill", None],
            "pay": ["[10, 20]", "[0, 10)"],
            "age": [1, 2.5],
            "size": [np.nan, 3],
            "risk": pd.Categorical(["high", "high"]),
        }
    )
    assert records["town"].cat.codes.tolist() == [1, -1]
    assert records["pay"].cat.codes.tolist() == [1, 0]
    assert records["risk"].cat.categories.tolist() == ["low", "high"]
    assert records["age"].tolist() == [1.0, 2.5]
    assert records["size"].isna().tolist() == [True, False]


REFUSED: dict[str, tuple[Any, str]] = {
    "no frame": ([["Mill"]], "a DataFrame"),
    "no column": (pd.DataFrame(index=[0]), "columns of the policy"),
    "an unknown column": (pd.DataFrame({"name": [SECRET]}), "columns of the policy"),
    "a column twice": (pd.DataFrame([[1.0, 2.0]], columns=["age", "age"]), "columns of the policy"),
    "a column without a name": (pd.DataFrame({0: [1.0]}), "columns of the policy"),
    "no record": (pd.DataFrame({"age": []}), "from one record"),
    "more records than people": (pd.DataFrame({"age": [1.0] * 4}), "as many `records` as the table has people"),
    "no value of the domain": (pd.DataFrame({"town": [SECRET]}), "'town' outside its domain"),
    "a value without a hash": (pd.DataFrame({"town": [[SECRET]]}), "'town' outside its domain"),
    "a number in place of its bin": (pd.DataFrame({"pay": [5.0]}), "'pay' outside its domain"),
    "a missing class": (pd.DataFrame({"risk": [None]}), "'risk' outside its domain"),
    "a text for a number": (pd.DataFrame({"age": [SECRET]}), "'age' that are not numbers"),
    "an infinite number": (pd.DataFrame({"age": [np.inf]}), "'age' that are not finite"),
    "a number that cannot be missing": (pd.DataFrame({"age": [np.nan]}), "'age' that are not finite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_records_that_no_table_could_have_are_refused_without_a_cell(case: str) -> None:
    records, reason = REFUSED[case]
    with pytest.raises(InconclusiveError, match=reason) as refused:
        validate_belief(TableBelief(records), known())
    assert SECRET not in str(refused.value)


def test_a_table_beyond_the_budget_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_TABLE_CELLS", 3)
    assert len(records_of({"age": [1.0, 2.0, 3.0]})) == 3
    with pytest.raises(InconclusiveError, match="more than 3 cells"):
        records_of({"age": [1.0, 2.0], "size": [1.0, 2.0]})


class Cells(ReleaseAtMost):
    """How many cells an attack reconstructs."""

    use: Literal["cells"] = "cells"

    judges = frozenset({TableBelief})
    public = "verdict"

    def score(self, case: ScoringContext) -> Score:
        records = case.require_belief(TableBelief).records
        size = float(records.size)
        records["zip"] = "1"  # it has a copy
        return Score(size)


def reconstructing(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
    return [TableBelief(pd.DataFrame({"zip": ["1", "2"], "ill": ["flu", "cold"]}))]


SAID: dict[str, Any] = {
    "attacks": [{"use": "nosy"}],
    "metrics": [{"use": "cells", "at_most": 4}, {"use": "cells", "name": "again", "at_most": 3}],
}


def test_a_belief_about_a_table_is_judged_once_for_each_limit_and_about_no_secret() -> None:
    report = audited(attack_that(reconstructing), Cells, **SAID)
    judged = {each.id: (each.passed, each.secret) for each in report.findings}
    assert judged == {"cells@nosy": (True, None), "again@nosy": (False, None)}


def test_an_attack_that_is_told_candidates_reconstructs_nobody() -> None:
    def infer(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [TableBelief(known.candidates.frame[["zip"]])] if known.candidates else []

    attack = attack_that(infer, needs=frozenset({"candidates"}))
    report = audited(attack, Cells, **SAID)
    assert finding(report, "attack:nosy").passed is None
    assert report.verdict == "inconclusive"


def test_two_beliefs_about_one_table_are_refused() -> None:
    twice = attack_that(lambda release, known: [*reconstructing(release, known)] * 2)
    report = audited(twice, Cells, **SAID)
    assert "two of one type" in str(finding(report, "attack:nosy").evidence["problem"])


def test_a_limit_on_a_table_is_no_limit_on_what_is_found_out_about_a_class() -> None:
    """Beside nothing else it leaves the finding `unattacked` of an organisation's policies as it is."""
    metric: Metric = Cells.model_validate({"use": "cells", "at_most": 4})
    assert not _limits_beliefs(metric, "ill")


@dataclass(frozen=True)
class Ran:
    """What the checks of attacked secrets read of an audit: one attack has reconstructed a table."""

    release: Release
    table: Table
    attack_results: Sequence[AttackResult]
    origins: Sequence[int]


def test_a_belief_about_a_table_speaks_of_no_protected_cell() -> None:
    """The reconstructed records have the column, and say nothing of the cell of a given person."""
    columns = (
        categorical("zip", "quasi_identifier", values=("1", "2")),
        categorical("rich", "private", values=("yes", "no")),
    )
    table = table_of(columns, [("1", "yes"), ("2", "no")])
    marked = replace(table, protected={"rich": np.array([True, False])}, _codes={})
    belief = TableBelief(pd.DataFrame({"rich": ["yes", "no"]}))
    result = AttackResult(attack_that(reconstructing)(use="nosy"), "nobody", grant_knowledge(marked), beliefs=(belief,))
    state: Any = Ran(Release({}, marked.schema), marked, (result,), (0, 1))
    assert [name for name, _, _ in _unattacked(state)] == ["protected#rich"]
