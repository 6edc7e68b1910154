"""The people, models, attacks and audits of membership_on_adult.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import skops.io
import yaml
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import AttackModel, MembershipBelief, ScoringContext
from leafgate.engine.attack import run_attack
from leafgate.engine.knowledge import Adversaries
from leafgate.session.run import Session, build_release, open_session
from leafgate_plugins.inference.membership.metrics import MembershipAdvantage, MembershipAuc, MembershipTpr

PEOPLE = 10_000
DRAW, SPLITS = 7, 100
"""Seeds: of the people of a data set; of the half that the first target is fitted on."""
SHADOWS, PRIVATE_SHADOWS = 31, 12
"""Shadow models of a model that is fitted in a second, and of a private forest."""
LOW_RATE, RATE = 0.001, 0.01
EXCLUSION_LEVEL = 1e-4
DP, DP_EPSILON, DP_DELTA = "private random trees", 1.0, 1e-6

Estimators = Mapping[str, Callable[[int], Any]]
MODELS: Estimators = {
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "tree, leaf >= 10": lambda seed: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
    "tree, depth 5, leaf >= 50": lambda seed: DecisionTreeClassifier(
        max_depth=5, min_samples_leaf=50, random_state=seed
    ),
    "forest": lambda seed: RandomForestClassifier(random_state=seed),
    "forest, leaf >= 5": lambda seed: RandomForestClassifier(min_samples_leaf=5, random_state=seed),
    "forest, no bootstrap": lambda seed: RandomForestClassifier(bootstrap=False, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "histogram boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}
PRIVATE: Mapping[str, Any] = {
    "use": "dp_random_trees",
    "epsilon": DP_EPSILON,
    "delta": DP_DELTA,
    "neighbours": "replace_one",
    "rehearsal": True,
}
"""Who is in the table changes place with somebody who is not: so many people are in it whoever they are."""

Attacks = Mapping[str, Mapping[str, Any]]
OWN: Attacks = {
    "loss_threshold": {},
    "leaf_exclusion": {},
    "lira": {"shadows": SHADOWS},
    "lira, offline": {"use": "lira", "mode": "offline", "shadows": SHADOWS},
    "lira, fixed variance": {"use": "lira", "variance": "fixed", "shadows": SHADOWS},
    "lira, fixed variance, clip 1e-16": {"use": "lira", "variance": "fixed", "clip": 1e-16, "shadows": SHADOWS},
    "rmia": {"shadows": SHADOWS},
    "worst_case": {"shadows": SHADOWS},
    "quantile": {"shadows": SHADOWS},
}
PEERS: Attacks = {
    "sacroml lira": {"use": "sacroml", "attack": "lira", "open_pickles": True, "shadows": SHADOWS},
    "sacroml lira, fixed variance": {
        "use": "sacroml",
        "attack": "lira",
        "fix_variance": True,
        "open_pickles": True,
        "shadows": SHADOWS,
    },
    "sacroml lira, offline": {
        "use": "sacroml",
        "attack": "lira",
        "mode": "offline",
        "open_pickles": True,
        "shadows": SHADOWS,
    },
    "sacroml worst_case": {"use": "sacroml", "attack": "worst_case", "correct": True, "shadows": SHADOWS},
    "sacroml qmia": {"use": "sacroml", "attack": "qmia", "shadows": SHADOWS},
    "art rule_based": {"use": "art", "attack": "rule_based"},
    "art black_box": {"use": "art", "attack": "black_box", "shadows": SHADOWS},
}


@dataclass(frozen=True)
class Row:
    """What an attack finds out about a target: rates with their intervals of 95 %, each for itself.

    Attributes:
        excluded: the share of the non-members whom the attack excludes.
        wrongly: how many members it excludes.
        seconds: it took, with the shadow models where it was the first that asked for them.
        problem: why there is nothing else.
    """

    data: str
    model: str
    target: int
    attack: str
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    tpr_001: float | None = None
    tpr_001_low: float | None = None
    tpr_001_high: float | None = None
    tpr_01: float | None = None
    tpr_01_low: float | None = None
    tpr_01_high: float | None = None
    advantage: float | None = None
    advantage_low: float | None = None
    advantage_high: float | None = None
    excluded: float | None = None
    wrongly: int | None = None
    seconds: float | None = None
    problem: str = ""


def adult(root: Path) -> tuple[pd.DataFrame, str]:
    """Adult's training part but for the weight and the second education, and the name of the class."""
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += ["relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"]
    file = root / "adult" / "adult.data"
    cells = pd.read_csv(file, header=None, names=[*names, "income"], skipinitialspace=True, na_filter=False)
    return cells.drop(columns=["fnlwgt", "education-num"]), "income"


def credit(root: Path) -> tuple[pd.DataFrame, str]:
    """The credit card clients without their number, and the name of the class."""
    cells = pd.read_csv(root / "default_credit_card_clients" / "default_of_credit_card_clients.csv")
    cells = cells.drop(columns=["ID"]).rename(columns={"default payment next month": "default"})
    return cells.astype(dict.fromkeys(("SEX", "EDUCATION", "MARRIAGE", "default"), str)), "default"


DATA: Mapping[str, Callable[[Path], tuple[pd.DataFrame, str]]] = {"adult": adult, "credit": credit}


@dataclass(frozen=True)
class Draw:
    """10,000 people of a data set, and the name of the class."""

    data: str
    people: pd.DataFrame
    target: str

    @classmethod
    def of(cls, data: str, root: Path) -> Draw:
        """Those of a data set."""
        cells, target = DATA[data](root)
        rows = np.random.default_rng(DRAW).permutation(len(cells))[:PEOPLE]
        return cls(data, cells.iloc[rows].reset_index(drop=True), target)

    def halves(self, number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Those whom a target is fitted on, and the others."""
        order = np.random.default_rng(SPLITS + number).permutation(len(self.people))
        return self.people.iloc[order[: PEOPLE // 2]], self.people.iloc[order[PEOPLE // 2 :]]

    def columns(self) -> dict[str, Any]:
        """The columns of a policy; the adversary knows all of them, the class too."""
        columns: dict[str, Any] = {}
        for name, cells in self.people.items():
            role = ["class", "sensitive"] if name == self.target else "quasi_identifier"
            if pd.api.types.is_numeric_dtype(cells):
                columns[str(name)] = {"role": role, "bounds": [float(cells.min()), float(cells.max())]}
            else:
                columns[str(name)] = {"role": role, "values": sorted(set(cells))}
        return columns


def policy(draw: Draw, build: Mapping[str, Any], attacks: Attacks) -> dict[str, Any]:
    """A policy with these attacks. A limit is on the area; whether it is kept does not matter here."""
    shadows = PRIVATE_SHADOWS if build is PRIVATE else SHADOWS
    listed = [
        {"use": name, "name": name, **options, **({"shadows": {"models": shadows}} if "shadows" in options else {})}
        for name, options in attacks.items()
    ]
    return {
        "leafgate": 1,
        "name": "membership",
        "data": {"path": "table.csv", "control": "control.csv", "missing": [], "columns": draw.columns()},
        "build": dict(build),
        "publish": {"leaves": "counts", "measure": True},
        "knows": {"candidates": PEOPLE},
        "attacks": listed,
        "metrics": [{"use": "membership_auc", "at_most": 0.6}],
    }


def attacked(draw: Draw, model: str, number: int, attacks: Attacks) -> Iterator[Row]:
    """What attacks find out about a target; its files are removed again."""
    inside, outside = draw.halves(number)
    with TemporaryDirectory() as name:
        folder = Path(name)
        inside.to_csv(folder / "table.csv", index=False)
        outside.to_csv(folder / "control.csv", index=False)
        build = PRIVATE if model == DP else saved(draw, model, number, folder)
        file = folder / "policy.yaml"
        file.write_text(yaml.safe_dump(policy(draw, build, attacks), sort_keys=False), encoding="utf-8")
        run = open_session(file)
        artifact = build_release(run.policy, run.plugins, run.table)
        adversaries = Adversaries(run.policy, run.tables, artifact, run.plugins.readers)
        for attack in run.policy.attacks:
            yield scored(run, adversaries, attack, Row(draw.data, model, number, attack.called))


def saved(draw: Draw, model: str, number: int, folder: Path) -> dict[str, Any]:
    """The model of one half, as a skops file, and the part of a policy that names it."""
    inside, _ = draw.halves(number)
    features = pd.get_dummies(draw.people.drop(columns=[draw.target]), dtype=float).loc[inside.index]
    skops.io.dump(MODELS[model](number).fit(features, inside[draw.target]), folder / "model.skops")
    return {"use": "published", "path": "model.skops"}


def who_is_excluded(belief: MembershipBelief) -> np.ndarray:
    """Whom the attack excludes: for certain, or by a test of the level EXCLUSION_LEVEL where trees have bootstraps."""
    excluded = np.zeros(len(belief.scores), dtype=bool) if belief.excluded is None else np.asarray(belief.excluded)
    if belief.exclusion_p_values is not None:
        excluded = excluded | (np.asarray(belief.exclusion_p_values) <= EXCLUSION_LEVEL)
    return excluded


def scored(run: Session, adversaries: Adversaries, attack: AttackModel, row: Row) -> Row:
    """What the metrics say of an attack, run as the engine runs it."""
    known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
    start = time.perf_counter()
    result = run_attack(attack, adversaries.artifact, known, run.plugins, membership=membership)
    seconds = time.perf_counter() - start
    if result.problem:
        return replace(row, problem=result.problem)
    (belief,) = result.beliefs
    assert isinstance(belief, MembershipBelief)
    assert membership is not None
    case = ScoringContext(
        run.table, None, adversaries.artifact.release, known, replace(belief, planted=None), _membership=membership
    )
    found: dict[str, Any] = {}
    for name, metric in (
        ("auc", MembershipAuc(at_most=1, group="everybody")),
        ("tpr_001", MembershipTpr(at_most=1, group="everybody", at_fpr=LOW_RATE)),
        ("tpr_01", MembershipTpr(at_most=1, group="everybody", at_fpr=RATE)),
        ("advantage", MembershipAdvantage(at_most=1, group="everybody")),
    ):
        score = metric.score(case)
        assert score.interval is not None
        found |= {name: score.value, f"{name}_low": score.interval[0], f"{name}_high": score.interval[1]}
    if attack.use == "leaf_exclusion":
        excluded, inside = who_is_excluded(belief), membership.in_table
        found |= {"excluded": float(excluded[~inside].mean()), "wrongly": int((excluded & inside).sum())}
    return replace(row, seconds=seconds, **found)
