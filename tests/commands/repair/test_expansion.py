import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

import leafgate.commands.repair.expansion as module
from cases import more
from command_line import leafgate
from leafgate.app import load_plugins, open_session
from leafgate.commands.convert.scrub import predicted
from leafgate.commands.repair.pruning import PrunableModel, prunable
from leafgate.models.reader import read_model
from leafgate.readers import LEAF
from repairs import LABELS, fit_in, people, policy_file

ENSEMBLES = [
    GradientBoostingClassifier(n_estimators=4, random_state=0),
    RandomForestClassifier(3, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, random_state=0),
]


def opened(folder: Path, estimator: Any, seed: int, classes: int) -> PrunableModel:
    fit_in(folder, people(seed, 150, classes), estimator)
    session = open_session(policy_file(folder, [{"use": "k_anonymity", "at_least": 5}], classes=LABELS[:classes]))
    return prunable(read_model(folder / "model.skops", load_plugins().readers), session.table, {}, "model.skops")


@pytest.mark.parametrize("estimator", [ENSEMBLES[0], *more(*ENSEMBLES[1:])], ids=["boosting", "forest", "histograms"])
@given(seed=st.integers(0, 2**16), classes=st.sampled_from([2, 3]))
@pytest.mark.thorough
def test_where_no_test_is_left_out_the_tree_predicts_as_the_ensemble_does(
    estimator: Any, seed: int, classes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("expanded")
    model = opened(folder, estimator, seed, classes)
    table = people(seed, 150, classes)
    rows = table[list(model.given.features)].to_numpy(np.float64)
    nothing = [tree.nothing_pruned() for tree in model.trees]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_PEOPLE", 1)
        [whole, *_] = module.expansions(model, nothing, np.ones(len(model.trees[0].at), dtype=np.int64))
    assert len(whole.trees) == 1
    np.testing.assert_array_equal(predicted(whole, rows), predicted(model.given, rows))


def test_each_test_keeps_five_people_on_each_side_and_rounds_are_tried_in_quarters(tmp_path: Path) -> None:
    model = opened(tmp_path, GradientBoostingClassifier(n_estimators=20, random_state=0), 1, 2)
    persons = np.ones(len(model.trees[0].at), dtype=np.int64)
    found = module.expansions(model, [tree.nothing_pruned() for tree in model.trees], persons)
    assert len(found) == 3  # twenty rounds, five, and one
    table = open_session(tmp_path / "policy.yaml").table
    for one in found:
        [tree] = prunable(one, table, {}, "model.skops").trees
        inner = tree.tree.feature != LEAF
        assert tree.people[tree.tree.low[inner]].min() >= 5 <= tree.people[tree.tree.high[inner]].min()


def test_a_tree_that_would_be_too_large_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(tmp_path, RandomForestClassifier(4, random_state=0), 1, 2)
    monkeypatch.setattr(module, "MAX_EXPANDED_NODES", 10)
    persons = np.ones(len(model.trees[0].at), dtype=np.int64)
    assert module.expansions(model, [tree.nothing_pruned() for tree in model.trees], persons) == []


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", [ENSEMBLES[0], *more(*ENSEMBLES[1:])], ids=["boosting", "forest", "histograms"])
def test_ensembles_are_repaired_where_a_limit_is_on_confidence(estimator: Any, tmp_path: Path) -> None:
    """No attack works out what sums of scores disclose, so that no pruning of boosting would keep the limit."""
    fit_in(tmp_path, people(1, 400), estimator)
    metrics = [{"use": "k_anonymity", "at_least": 10}, {"use": "confidence", "at_most": 0.95, "allow": 0.05}]
    policy_file(tmp_path, metrics, leaves="shares")
    options = ("--policy", tmp_path / "policy.yaml", "--out", tmp_path / "new.json")
    ended = leafgate("repair", tmp_path / "model.skops", *options)
    assert (ended.code, ended.err) == (0, "")
    policy = json.loads((tmp_path / "policy.yaml").read_text())
    policy["build"]["path"] = "new.json"
    (tmp_path / "again.yaml").write_text(json.dumps(policy))
    found = leafgate("audit", tmp_path / "again.yaml", "--json")
    assert found.code == 0
    assert found.document["release"]["leaves"] > 1
