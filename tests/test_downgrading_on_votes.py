"""The congressional votes: what Chang 2003 says of them, and what a release by the example policy comes to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_files import DATA
from leafgate.app import Audit, Session, Tables, open_session
from leafgate_plugins.downgrading.components import Downgrading
from leafgate_plugins.downgrading.grid import encode_cells, table_cells
from leafgate_plugins.downgrading.naive_bayes import columns_by_information, pair_counts
from leafgate_plugins.downgrading.options import CellAttack, Restoration, TreeInference

pytestmark = pytest.mark.thorough

POLICY = Path(__file__).resolve().parents[1] / "policies" / "votes.yaml"


@pytest.fixture(scope="module")
def votes() -> Session:
    if not (DATA / "congressional_voting").exists():
        pytest.skip("the votes are not here: set LEAFGATE_DATA to the folder that holds `congressional_voting`")
    return open_session(POLICY, root=DATA)


def audited(run: Session, **options: Any) -> Audit:
    builder = Downgrading.model_validate({"use": "downgrading", "tau": 0.7, "against": ("tree_inference",), **options})
    return replace(run, policy=run.policy.model_copy(update={"build": builder})).audit()


def right(run: Session, audit: Audit, attack: CellAttack) -> float:
    """The share of withheld parties that an attack's best guess gets right."""
    from leafgate.engine.knowledge import grant_knowledge

    assert audit.artifact is not None
    beliefs = attack.infer(audit.artifact.release, grant_knowledge(run.table))
    party = next(belief for belief in beliefs if belief.secret == "party")
    assert party.posterior is not None
    assert party.record_positions is not None
    assert audit.artifact.origins is not None
    truth = run.table.without_key.codes("party")[np.asarray(audit.artifact.origins)[party.record_positions]]
    return float((party.posterior.to_numpy().argmax(axis=1) == truth).mean())


def test_the_vote_on_physicians_tells_most_of_the_party(votes: Session) -> None:
    """Chang 2003, section 7; apart from the party."""
    cells = table_cells(votes.table)
    grid, _ = encode_cells(cells, np.zeros((len(votes.table), 17), dtype=np.bool_))
    names = [column.name for column in cells.columns]
    counts = pair_counts(grid)
    assert names[columns_by_information(counts, grid, names.index("party"))[0]] == "physician_fee_freeze"
    of_that = columns_by_information(counts, grid, names.index("physician_fee_freeze"))
    assert next(names[i] for i in of_that if names[i] != "party") == "el_salvador_aid"


def test_withholding_what_the_tree_asks_stops_the_tree_and_restoration_undoes_it(votes: Session) -> None:
    """The party of a random third of the records is withheld."""
    marks = np.zeros(len(votes.table), dtype=np.bool_)
    marks[np.random.default_rng(0).choice(len(marks), len(marks) // 3, replace=False)] = True
    votes = replace(votes, tables=Tables(replace(votes.table, protected={"party": marks})))
    open_table = audited(votes, tau=1.0, ramify=False)
    downgraded = audited(votes, ramify=False)
    before, after = (right(votes, audit, TreeInference()) for audit in (open_table, downgraded))
    restored = right(votes, downgraded, Restoration())
    assert before > 0.9
    assert after < before - 0.1
    assert restored > after + (before - after) / 2
    assert {f.id: f.passed for f in downgraded.report.findings}["confidence@tree_inference#party"]


def test_the_example_holds_nine_in_ten_against_the_tree_with_a_third_of_the_votes(votes: Session) -> None:
    assert votes.audit().report.verdict == "pass"
