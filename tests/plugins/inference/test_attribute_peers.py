"""The attribute attacks of SACRO-ML and ART that docs/reproduce runs: their numbers are those of the libraries."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    Column,
    Leaf,
    Node,
    NumericSplit,
    Release,
    Schema,
    Table,
    Targets,
)
from leafgate_plugins.inference.attributes.targets import InputAttack
from leafgate_plugins.inference.game import Answers

N = 100
CLASSES = ("no", "yes")
JOBS = ("baker", "smith", "judge")
SCHEMA = Schema(
    (
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
        Column("pay", frozenset({"quasi_identifier"}), bounds=(0.0, 9.0)),
        Column("job", frozenset({"sensitive"}), values=JOBS),
        Column("ill", frozenset({"class"}), values=CLASSES),
    )
)
INPUTS = ("job", "age", "pay")

has_sacroml = pytest.mark.skipif(importlib.util.find_spec("sacroml") is None, reason="needs SACRO-ML")
has_art = pytest.mark.skipif(importlib.util.find_spec("art") is None, reason="needs ART")
pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, of what they use


def people_of(rng: np.random.Generator, number: int) -> Table:
    """People whose class is noise, so that a tree can learn it by heart only."""
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, number).astype(float),
            "pay": rng.integers(0, 9, number).astype(float),
            "job": pd.Categorical.from_codes(rng.integers(0, 3, number), categories=pd.Index(JOBS)),
            "ill": pd.Categorical.from_codes(rng.integers(0, 2, number), categories=pd.Index(CLASSES)),
        }
    )
    return Table(SCHEMA, frame, np.ones(number, dtype=np.int64))


def matrix(people: Table) -> NDArray[np.float64]:
    return np.column_stack([people.codes("job"), people.numbers("age"), people.numbers("pay")]).astype(np.float64)


class Model:
    """A tree of scikit-learn's, also as a release that asks for the job's number."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.inside, self.outside, auxiliary = (people_of(rng, number) for number in (N, N, 2 * N))
        self.fitted = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
        self.fitted.fit(matrix(self.inside), self.inside.codes("ill"))
        known = Schema(SCHEMA.columns[:2] + SCHEMA.columns[3:])
        names = [column.name for column in known.columns]
        first, second = (Table(known, each.frame.loc[:, names], each.weight) for each in (self.inside, self.outside))
        self.targets = Targets(SCHEMA["job"], (first, second), auxiliary)
        self.known = AdversaryKnowledge(SCHEMA, self.inside.without_rows, targets={"job": self.targets}, seed=3)

        self.release = Release({}, SCHEMA, (self.node(0),))

    def node(self, number: int) -> Node:
        """The release's node for one of scikit-learn's."""
        tree = self.fitted.tree_
        if tree.children_left[number] < 0:
            size = int(tree.n_node_samples[number])
            counts = {
                name: round(float(share) * size) for name, share in zip(CLASSES, tree.value[number][0], strict=True)
            }
            return Leaf(label=max(counts, key=lambda name: counts[name]), counts=counts)
        low, high = self.node(tree.children_left[number]), self.node(tree.children_right[number])
        column, at = INPUTS[tree.feature[number]], float(tree.threshold[number])
        if column != "job":
            return NumericSplit(column, at, low, high)
        from leafgate.api import Branch, CategoricalSplit

        first = tuple(value for code, value in enumerate(JOBS) if code <= at)
        return CategoricalSplit("job", (Branch(first, low),), default=high)

    def belief(self, attack: InputAttack) -> AttributeBelief:
        (belief,) = attack.infer(self.release, self.known)
        assert isinstance(belief, AttributeBelief)
        return belief

    @property
    def answers(self) -> Answers:
        """By asking scikit-learn's tree itself."""
        rows = np.concatenate([matrix(self.inside), matrix(self.outside)])
        by_value = []
        for value in range(3):
            rows[:, 0] = value
            by_value.append(self.fitted.predict_proba(rows))
        own = np.concatenate([self.inside.codes("ill"), self.outside.codes("ill")])
        return Answers(np.stack(by_value, axis=1), own)


@pytest.fixture
def attributes_peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of docs/reproduce with the attacks."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "docs" / "reproduce"))
    return importlib.import_module("attributes_peers")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@has_sacroml
def test_sacroml_infers_as_often_and_as_rightly_as_its_own_run_says(model: Model, attributes_peers: ModuleType) -> None:
    """Its own run on a model whose label of the true record is the person's class, which is what the class stands for.

    It looks at a person's true record once, by `predict`, and asks `predict_proba` about the values.
    """
    from sacroml.attacks import attribute_attack

    rows, answers = matrix(model.inside), model.answers

    class Asked:
        def predict(self, _: NDArray[np.float64]) -> NDArray[np.int64]:
            return model.inside.codes("ill")

        def predict_proba(self, asked: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(model.fitted.predict_proba(asked))

    class Target:
        features = {0: {"indices": [0], "encoding": "int", "name": "job"}}  # noqa: RUF012
        model = Asked()
        X_train = X_test = rows
        X_train_orig = X_test_orig = rows[:, [0]]

    correct, total, _, _, _ = attribute_attack._infer(Target(), 0, 0.0, True)
    of_table = Answers(answers.scores[:N], answers.own[:N])
    guesses = attributes_peers.sacroml_guesses(of_table, attribute_attack._unique_max, 0.0)
    assert total == (guesses >= 0).sum() > 0
    assert correct == (guesses == model.inside.codes("job")).sum()


@has_art
@pytest.mark.parametrize("attack", ["white_box", "lifestyle"])
def test_art_on_the_release_infers_what_art_infers_on_scikit_learns_tree(
    attack: Any, model: Model, attributes_peers: ModuleType
) -> None:
    """On the same tree as scikit-learn has it; the class stands for the label of the true record in both."""
    belief = model.belief(attributes_peers.ArtAttribute(attack=attack))
    art = importlib.import_module("peer_libraries").art
    attacks, estimators = art("attacks.inference.attribute_inference"), art("estimators.classification")
    kind = {
        "white_box": attacks.AttributeInferenceWhiteBoxDecisionTree,
        "lifestyle": attacks.AttributeInferenceWhiteBoxLifestyleDecisionTree,
    }[attack]
    shares = np.bincount(model.targets.auxiliary.codes("job"), minlength=3) + 1.0
    features = np.concatenate([matrix(model.inside), matrix(model.outside)])
    theirs = kind(estimators.SklearnClassifier(model.fitted), attack_feature=0).infer(
        features[:, 1:], y=model.answers.own, values=[0, 1, 2], priors=(shares / shares.sum()).tolist()
    )
    np.testing.assert_array_equal(np.asarray(belief.posterior).argmax(axis=1), theirs)
