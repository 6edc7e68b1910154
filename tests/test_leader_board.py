"""The leader board (docs/measurements/leader-board.md): the page, what its numbers say, and some of them again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"
PEERS = ("SACRO-ML", "ART")
BOOSTING = ("histogram boosting", "XGBoost", "LightGBM")


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script, which needs scikit-learn and skops."""
    pytest.importorskip("sklearn")
    pytest.importorskip("skops")
    return scripts("leader_board")


@pytest.fixture
def rows(script: ModuleType) -> list[Any]:
    found: list[Any] = script.read_rows(DOCS / "results" / "leader-board.csv", script.Row)
    return found


@pytest.fixture
def page(script: ModuleType) -> str:
    text: str = (DOCS / script.PAGE).read_text(encoding="utf-8")
    return text


@pytest.fixture
def findings(page: str) -> str:
    """The page's findings in one line."""
    return " ".join(page.partition("## Findings")[2].split())


def leaders(rows: list[Any], number: str) -> list[tuple[Any, Any]]:
    """On each model the row of leafgate with the highest number, and that of the peers."""
    pairs = []
    for case in dict.fromkeys((row.data, row.model) for row in rows):
        here = [row for row in rows if (row.data, row.model) == case and getattr(row, number) is not None]
        if here:
            own, peers = ([row for row in here if (row.library in PEERS) == peer] for peer in (False, True))
            pairs.append(tuple(max(part, key=lambda row: float(getattr(row, number))) for part in (own, peers)))
    return pairs


def test_every_attack_on_every_model_has_numbers_or_a_reason(script: ModuleType, rows: list[Any]) -> None:
    setting = importlib.import_module("leader_board_setting")
    attacks = [name for part in (setting.MEMBERSHIP, setting.ATTRIBUTES) for each in part.values() for name in each]
    attacks += [*setting.TABLES, setting.SHADOW_MODELS, setting.STRUCTURAL]
    cases = {(data, model, attack) for data in script.DATA for model in script.MODELS for attack in attacks}
    assert {(row.data, row.model, row.attack) for row in rows} == cases
    assert len(rows) == len(cases)
    for row in rows:
        assert row.reason or row.seconds is not None, row
        assert row.library_version, row
        assert row.model_version, row
        assert row.reason or row.kind != "membership" or row.attack == setting.SHADOW_MODELS or row.tpr is not None, row


def test_leafgate_leads_on_most_models(rows: list[Any], findings: str) -> None:
    areas, rates = leaders(rows, "auc"), leaders(rows, "tpr")
    by_area = sum(own.auc > peer.auc for own, peer in areas)
    by_rate = sum(own.tpr > peer.tpr for own, peer in rates)
    assert f"the highest AUC on {by_area} of {len(areas)} models" in findings
    assert f"the highest TPR on {by_rate} of {len(rates)}." in findings
    ((own, peer),) = (pair for pair in areas if pair[0].auc < pair[1].auc)
    assert (peer.library, peer.data, peer.model) == ("SACRO-ML", "german", "tree")
    assert f"leads by {peer.auc - own.auc:.3f} in AUC on the tree of German credit" in findings
    ((own, peer),) = (pair for pair in rates if pair[0].tpr < pair[1].tpr)
    assert (peer.library, peer.data, peer.model) == ("SACRO-ML", "credit", "histogram boosting")
    assert f"by {100 * (peer.tpr - own.tpr):.1f} points in TPR on the clients' histogram boosting" in findings
    beyond = [sum(own.auc_low > peer.auc for own, peer in areas), sum(own.tpr_low > peer.tpr for own, peer in rates)]
    assert f"on {beyond[0]} models in AUC and on {beyond[1]} in TPR" in findings


def test_proofs_are_right_and_of_models_that_count_people(rows: list[Any], findings: str) -> None:
    proofs = [row for row in rows if row.proved is not None]
    wrong = sum(row.wrong for row in proofs)
    assert (
        f"{sum(row.proved for row in proofs):,} classes (`linking`), secrets and absences, of which {wrong}" in findings
    )
    assert wrong == 0
    assert {row.library for row in proofs} == {"leafgate"}
    assert {row.model for row in proofs} == {"tree", "extra trees"}


def test_files_of_boosting_and_of_bootstraps_prove_cells(rows: list[Any], findings: str) -> None:
    def proved(*models: str) -> str:
        cells = [row.proved_cells for row in rows if row.attack == "rebuild" and row.model in models]
        assert len(cells) == 3 * len(models)
        return f"{100 * min(cells):.0f} to {100 * max(cells):.0f} %"

    assert f"Of histogram boosting and LightGBM {proved('histogram boosting', 'LightGBM')} of the cells" in findings
    assert f"the first round alone counts, {proved('XGBoost')}." in findings
    assert f"which proves {proved('random forest')}." in findings


def test_extra_trees_disclose_nearly_everything(rows: list[Any], findings: str) -> None:
    people = importlib.import_module("leader_board_setting").PEOPLE
    extra = [row for row in rows if row.model == "extra trees"]
    secrets = sum(row.proved for row in extra if row.attack == "leaf_constraints")
    assert f"the secrets of {secrets:,} of {sum(people.values()):,} people are proved" in findings
    cells = [row.proved_cells for row in extra if row.proved_cells is not None]
    assert f"{100 * min(cells):.0f} to {100 * max(cells):.0f} % of the cells" in findings


def test_inputs_are_inferred_from_extra_trees(rows: list[Any], findings: str) -> None:
    gains: dict[tuple[str, str, str], float] = {}
    for row in rows:
        if row.gain is not None:
            case = (row.library, row.data, row.model)
            gains[case] = max(gains.get(case, -1.0), row.gain)
            assert row.model not in BOOSTING or row.gain_low < 0
    for library, text in (("leafgate", "best attack is {} points more accurate"), ("SACRO-ML", "SACRO-ML's {}, and")):
        extra = [100 * gain for (who, _, model), gain in gains.items() if (who, model) == (library, "extra trees")]
        assert text.format(f"{min(extra):.1f} to {max(extra):.1f}") in findings
    assert all(gain < 0 for (who, _, _), gain in gains.items() if who == "ART")
    sacro, own = (100 * gains[who, "german", "random forest"] for who in ("SACRO-ML", "leafgate"))
    assert f"SACRO-ML leads with {sacro:.1f} to {own:.1f}" in findings
    ahead = [case for case, gain in gains.items() if case[0] == "SACRO-ML" and gain > gains["leafgate", *case[1:]]]
    assert ahead == [("SACRO-ML", "german", "random forest")]


def test_the_structural_attack_warns_of_every_model(rows: list[Any], findings: str) -> None:
    flags = [len(row.flags.split()) for row in rows if row.kind == "structure"]
    assert f"warns of all {len(flags)} models" in findings
    assert (min(flags), max(flags)) == (2, 6)


def test_only_rebuild_overruns_its_time(rows: list[Any], findings: str) -> None:
    limit = importlib.import_module("leader_board_setting").TIME_LIMIT
    late = [row for row in rows if row.seconds is not None and row.seconds > limit + 1]
    assert {(row.attack, row.model) for row in late} == {("rebuild", "extra trees")}
    more = max(row.seconds for row in late) - limit
    assert f"takes up to {more:.0f} seconds more than its limit of {limit:.0f}** on extra trees" in findings


@pytest.mark.thorough
def test_a_tree_of_german_credit_again(script: ModuleType, rows: list[Any]) -> None:
    if not (DATA / "german_credit").exists():
        pytest.skip("the table is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    draw = script.Draw.of("german", DATA)
    with script.peers_beside():
        again = {row.attack: row for row in script.attacked(draw, "tree") if row.library == "leafgate"}
    written = [row for row in rows if (row.data, row.model, row.library) == ("german", "tree", "leafgate")]
    assert {row.attack for row in written} == set(again)
    for row in written:
        found = again[row.attack]
        assert found.wrong == row.wrong
        if row.attack in ("leaf_exclusion", "linking"):
            assert found.proved == pytest.approx(row.proved, rel=0.1)
        if row.auc is not None:
            assert found.auc == pytest.approx(row.auc, abs=0.05)
