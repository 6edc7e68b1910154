"""The people, models, attacks and audits of attributes_on_adult.py."""

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
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import AttackModel, AttributeBelief, AuditorOnly, InconclusiveError, ScoringContext
from leafgate.engine.attack import run_attack
from leafgate.engine.knowledge import Adversaries
from leafgate.session.run import Session, build_release, open_session
from leafgate_plugins.inference.attributes.metrics import AttributeCertain, AttributeLeak

DRAW, MODEL_SEED = 11, 0
"""Seeds: of the people of a data set; of the models."""
AUXILIARY = 2_000

Estimators = Mapping[str, Callable[[], Any]]
MODELS: Estimators = {
    "tree": lambda: DecisionTreeClassifier(random_state=MODEL_SEED),
    "tree, leaf >= 10": lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=MODEL_SEED),
    "tree, depth 5, leaf >= 50": lambda: DecisionTreeClassifier(
        max_depth=5, min_samples_leaf=50, random_state=MODEL_SEED
    ),
    "forest": lambda: RandomForestClassifier(random_state=MODEL_SEED),
    "forest, no bootstrap": lambda: RandomForestClassifier(bootstrap=False, random_state=MODEL_SEED),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=MODEL_SEED),
}
Attacks = Mapping[str, Mapping[str, Any]]
OWN: Attacks = {
    "leaf_constraints": {},
    "likelihood": {},
    "likelihood, members": {"use": "likelihood", "calibration": "members"},
    "csmia": {},
    "lomia": {},
    "fredrikson": {},
}
PEERS: Attacks = {
    "art black_box": {"use": "art_attribute", "attack": "black_box"},
    "art white_box": {"use": "art_attribute", "attack": "white_box"},
    "sacroml": {"use": "sacroml_attribute"},
}


@dataclass(frozen=True)
class Row:
    """What an attack on one model infers: accuracies, leaks with intervals of 95 %, each for itself, and proofs.

    Attributes:
        prior: the accuracy of the commonest value.
        imputed, imputed_control: that of imputation, for people of the table and of the control.
        attacked, attacked_control: that of the attack.
        leak: the gain over imputation for people of the table; `gap` that less the gain for people of the control.
        ppv, ppv_imputed: the share of right guesses among the 100 people of whom attack, or imputation, is surest.
        mcc, mcc_imputed: Matthews correlations.
        certain, wrong: people of the table with a proof, and how many of the proofs are wrong.
        control_proofs, control_right: people of the control with the same proof, and how many of these are right.
        seconds: the attack took, imputation included where it was the first to ask for it.
        problem: why there is nothing else.
    """

    data: str
    model: str
    attack: str
    prior: float | None = None
    imputed: float | None = None
    attacked: float | None = None
    attacked_control: float | None = None
    imputed_control: float | None = None
    leak: float | None = None
    leak_low: float | None = None
    leak_high: float | None = None
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    ppv: float | None = None
    ppv_imputed: float | None = None
    mcc: float | None = None
    mcc_imputed: float | None = None
    certain: int | None = None
    wrong: int | None = None
    control_proofs: int | None = None
    control_right: int | None = None
    seconds: float | None = None
    problem: str = ""


def adult(root: Path) -> tuple[pd.DataFrame, str, str]:
    """Adult, both parts, with one column on whether somebody is married; the class; the secret."""
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += ["relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"]
    parts = []
    for name, skipped in (("adult.data", 0), ("adult.test", 1)):
        file = root / "adult" / name
        options: dict[str, Any] = {"header": None, "skipinitialspace": True, "na_filter": False}
        parts.append(pd.read_csv(file, names=[*names, "income"], skiprows=skipped, **options))
    cells = pd.concat(parts, ignore_index=True)
    cells["income"] = cells["income"].str.rstrip(".")
    married = cells["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    cells = cells.assign(married=np.where(married, "yes", "no"))
    return cells.drop(columns=["fnlwgt", "education-num", "marital-status", "relationship"]), "income", "married"


def credit(root: Path) -> tuple[pd.DataFrame, str, str]:
    """The credit card clients without their number; whether somebody is married is the secret."""
    cells = pd.read_csv(root / "default_credit_card_clients" / "default_of_credit_card_clients.csv")
    cells = cells.drop(columns=["ID"]).rename(columns={"default payment next month": "default"})
    cells = cells.assign(MARRIAGE=np.where(cells["MARRIAGE"] == 1, "yes", "no"))
    return cells.astype(dict.fromkeys(("SEX", "EDUCATION", "default"), str)), "default", "MARRIAGE"


def nursery(root: Path) -> tuple[pd.DataFrame, str, str]:
    """Nursery without its two recommended applications; the family's health, of three values, is the secret."""
    names = ["parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"]
    cells = pd.read_csv(root / "nursery" / "nursery.data", header=None, names=names, na_filter=False)
    return cells[cells["class"] != "recommend"].reset_index(drop=True), "class", "health"


DATA: Mapping[str, Callable[[Path], tuple[pd.DataFrame, str, str]]] = {
    "adult": adult,
    "credit": credit,
    "nursery": nursery,
}
PEOPLE = {"adult": 12_000, "credit": 12_000, "nursery": 5_000}
"""How many people are in the table, and how many targets in the control."""


@dataclass(frozen=True)
class Draw:
    """People of a data set: those of the table first, then the control and the auxiliary people."""

    data: str
    people: pd.DataFrame
    target: str
    secret: str

    @classmethod
    def of(cls, data: str, root: Path) -> Draw:
        """Those of a data set, drawn once."""
        cells, target, secret = DATA[data](root)
        rows = np.random.default_rng(DRAW).permutation(len(cells))[: 2 * PEOPLE[data] + AUXILIARY]
        return cls(data, cells.iloc[rows].reset_index(drop=True), target, secret)

    @property
    def table(self) -> pd.DataFrame:
        """The people whom models are fitted on."""
        return self.people.iloc[: PEOPLE[self.data]]

    @property
    def control(self) -> pd.DataFrame:
        """The others."""
        return self.people.iloc[PEOPLE[self.data] :]

    def columns(self, secret_role: str) -> dict[str, Any]:
        """The columns of a policy; the adversary knows all of them but the secret."""
        columns: dict[str, Any] = {}
        for name, cells in self.people.items():
            role: Any = {self.target: ["class"], self.secret: secret_role}.get(str(name), "quasi_identifier")
            if pd.api.types.is_numeric_dtype(cells):
                columns[str(name)] = {"role": role, "bounds": [float(cells.min()), float(cells.max())]}
            else:
                columns[str(name)] = {"role": role, "values": sorted(set(cells))}
        return columns


def policy(draw: Draw, build: Mapping[str, Any], attacks: Attacks, *, class_known: bool = True) -> dict[str, Any]:
    """A policy with these attacks. A limit is on proofs; whether it is kept does not matter here."""
    return {
        "leafgate": 1,
        "name": "attributes",
        "data": {"path": "table.csv", "control": "control.csv", "missing": [], "columns": draw.columns("private")},
        "build": dict(build),
        "publish": {"leaves": "counts", "measure": True},
        "knows": {"candidates": PEOPLE[draw.data], "auxiliary": AUXILIARY, "class": class_known},
        "attacks": [{"use": name, "name": name, **options} for name, options in attacks.items()],
        "metrics": [{"use": "attribute_certain", "at_most": 0}],
    }


def attacked(draw: Draw, model: str, attacks: Attacks) -> Iterator[Row]:
    """What attacks infer from a model; its files are removed again."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        draw.table.to_csv(folder / "table.csv", index=False)
        draw.control.to_csv(folder / "control.csv", index=False)
        build = saved(draw, model, folder)
        file = folder / "policy.yaml"
        file.write_text(yaml.safe_dump(policy(draw, build, attacks), sort_keys=False), encoding="utf-8")
        run = open_session(file)
        artifact = build_release(run.policy, run.plugins, run.table)
        adversaries = Adversaries(run.policy, run.tables, artifact, run.plugins.readers)
        for attack in run.policy.attacks:
            yield scored(run, adversaries, attack, draw.secret, Row(draw.data, model, attack.called))


def saved(draw: Draw, model: str, folder: Path) -> dict[str, Any]:
    """The model of the table, as a skops file, and the part of a policy that names it."""
    features = pd.get_dummies(draw.people.drop(columns=[draw.target]), dtype=float).iloc[: len(draw.table)]
    skops.io.dump(MODELS[model]().fit(features, draw.table[draw.target]), folder / "model.skops")
    return {"use": "published", "path": "model.skops"}


def scored(run: Session, adversaries: Adversaries, attack: AttackModel, secret: str, row: Row) -> Row:
    """What the metrics say of an attack, run as the engine runs it."""
    try:
        known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
    except InconclusiveError as error:
        return replace(row, problem=str(error))
    start = time.perf_counter()
    result = run_attack(attack, adversaries.artifact, known, run.plugins, membership=membership)
    seconds = time.perf_counter() - start
    beliefs = [belief for belief in result.beliefs if isinstance(belief, AttributeBelief) and belief.secret == secret]
    if result.problem or not beliefs:
        return replace(row, problem=result.problem)
    case = ScoringContext(
        run.table,
        None,
        adversaries.artifact.release,
        known,
        replace(beliefs[0], planted=None),
        _membership=membership,
    )
    evidence = {measure: read(AttributeLeak(at_most=1, measure=measure).score(case).evidence) for measure in MEASURES}
    columns, leaks = evidence["accuracy"]["columns"], evidence["accuracy"]["leaks"]
    numbers: dict[str, Any] = {
        "prior": columns["prior"]["accuracy"],
        "imputed": columns["imputation"]["accuracy"],
        "attacked": columns["attack"]["accuracy"],
        "attacked_control": columns["attack_on_control"]["accuracy"],
        "imputed_control": columns["imputation_on_control"]["accuracy"],
        "ppv": columns["attack"]["ppv"],
        "ppv_imputed": columns["imputation"]["ppv"],
        "mcc": columns["attack"]["mcc"],
        "mcc_imputed": columns["imputation"]["mcc"],
    }
    for name, leak in (("leak", leaks["over_imputation"]), ("gap", leaks["over_control"])):
        numbers |= {name: leak["value"], f"{name}_low": leak["low"], f"{name}_high": leak["high"]}
    if beliefs[0].certain is not None:
        proofs = read(AttributeCertain(at_most=0).score(case).evidence)
        numbers |= {
            "certain": proofs["proved"],
            "wrong": proofs["proved"] - proofs["proved_rightly"],
            "control_proofs": proofs["on_control"]["proved"],
            "control_right": proofs["on_control"]["right"],
        }
    return replace(row, seconds=seconds, **numbers)


MEASURES = ("accuracy",)


def read(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence as an auditor reads it."""
    return {key: value.content if isinstance(value, AuditorOnly) else value for key, value in evidence.items()}
