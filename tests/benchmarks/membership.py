"""Membership inference beside SACRO-ML, in one run: python tests/benchmarks/membership.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files; SACRO-ML runs where it is installed. Both train
equally many shadow models of a model of 5,000 people, on halves of the same 10,000 candidates. All attacks of leafgate
share one set of shadow models; SACRO-ML's LiRA is a single attack. No time is asserted anywhere; seconds are printed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from adult_rows import adult, matrix
from leafgate.api import AdversaryKnowledge, Candidates, Learner, PredictionOracle, Table
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.membership.likelihood_ratios import RMIA, LiRA
from leafgate_plugins.inference.membership.score_attacks import LossThreshold
from leafgate_plugins.inference.membership.shadows import ShadowOptions
from leafgate_plugins.sklearn.training import train
from timing import command, seconds

START, END = "<!-- membership -->", "<!-- /membership -->"
PEOPLE, IN_TABLE, SHADOWS = 10_000, 5_000, 16
MODELS: dict[str, tuple[Callable[..., Any], str]] = {
    "a tree": (DecisionTreeClassifier, "sklearn.tree.DecisionTreeClassifier"),
    "a forest of 100 trees": (RandomForestClassifier, "sklearn.ensemble.RandomForestClassifier"),
}


@dataclass(frozen=True)
class Game:
    """10,000 people of Adult in random order, the first half of whom the model is fitted on."""

    table: Table

    @classmethod
    def of(cls, root: Path) -> Game:
        """Those of a folder."""
        table = adult(root).table
        rows = np.random.default_rng(7).permutation(np.repeat(np.arange(len(table)), table.weight))[:PEOPLE]
        frame = table.frame.iloc[rows].reset_index(drop=True)
        return cls(Table(table.schema, frame, np.ones(PEOPLE, dtype=np.int64)))

    def ours(self, estimator: str, seeds: Iterator[int]) -> None:
        """Train shadow models, and run three attacks on them. Each time with another seed: nothing is kept."""
        retrain = partial(train, Learner(estimator))
        own = self.table.people_at(np.arange(IN_TABLE))

        def scores(asked: Table) -> np.ndarray:
            return retrain(own, asked, 0)

        labels = lambda asked: scores(asked).argmax(axis=1)  # noqa: E731
        oracle = PredictionOracle(self.table.schema, self.table.schema.classes, QueryLog(), labels, scores)
        known = AdversaryKnowledge(
            self.table.schema,
            self.table.people_at(np.zeros(0, dtype=np.int64)),
            retrain=retrain,
            seed=next(seeds),
            candidates=Candidates(self.table, IN_TABLE, PEOPLE - IN_TABLE),
        )
        shadows = ShadowOptions(models=SHADOWS)
        for attack in (LossThreshold(), LiRA(shadows=shadows), RMIA(shadows=shadows)):
            attack.infer(oracle, known)

    def theirs(self, estimator: Callable[..., Any]) -> None:
        """Fit the model, and run SACRO-ML's LiRA on it."""
        from sacroml.attacks.likelihood_attack import LIRAAttack
        from sacroml.attacks.target import Target

        rows, classes = matrix(self.table)
        parts = {"X_train": rows[:IN_TABLE], "X_test": rows[IN_TABLE:]}
        parts |= {"y_train": classes[:IN_TABLE], "y_test": classes[IN_TABLE:]}
        model = estimator(random_state=0).fit(parts["X_train"], parts["y_train"])
        with TemporaryDirectory() as folder:
            attack = LIRAAttack(folder, write_report=False, n_shadow_models=SHADOWS, mode="online-carlini")
            attack.attack(Target(model=model, **parts))


def beside(root: Path) -> Iterator[str]:
    """Each kind of model, ours and SACRO-ML's in turn; shadow models are not trained twice."""
    game, seeds, installed = Game.of(root), count(), find_spec("sacroml") is not None
    game.ours("sklearn.tree.DecisionTreeClassifier", seeds)  # imports
    yield "| shadow models | leafgate, three attacks (s) | SACRO-ML's LiRA (s) | ratio | target |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name, (estimator, called) in MODELS.items():
        ours = seconds(partial(game.ours, called, seeds))
        theirs = seconds(partial(game.theirs, estimator)) if installed else None
        cells = ("not installed", "-") if theirs is None else (f"{theirs:.1f}", f"{ours / theirs:.2f}")
        yield f"| {SHADOWS} of {name} | {ours:.1f} | {' | '.join(cells)} | at most 1 |"


def report(root: Path) -> str:
    """All of it as Markdown."""
    logging.disable(logging.INFO)
    return "\n".join(beside(root))


if __name__ == "__main__":
    command(report, START, END)
