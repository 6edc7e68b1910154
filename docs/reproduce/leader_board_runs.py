"""What attacks make of one model of leader_board.py: a row for each."""

from __future__ import annotations

import json
import logging
import re
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import attributes_setting
from leader_board_setting import (
    ATTRIBUTES,
    CERTAIN,
    CONTROL,
    DRAWS,
    LIBRARIES,
    LOW_RATE,
    MEMBERSHIP,
    MODELS,
    NO_COUNTS,
    SHADOW_MODELS,
    STRUCTURAL,
    STRUCTURAL_FLAGS,
    TABLES,
    TIME_LIMIT,
    Draw,
    Row,
    policy,
    saved,
)
from leafgate.api import (
    AttackModel,
    InconclusiveError,
    MembershipBelief,
    Score,
    ScoringContext,
    SecretBelief,
    TableBelief,
)
from leafgate.engine.attack import AttackResult, run_attack
from leafgate.engine.knowledge import Adversaries
from leafgate.processes import limited_call
from leafgate.session.run import Session, build_release, open_session
from leafgate_plugins.inference.membership.metrics import MembershipAuc, MembershipTpr
from leafgate_plugins.inference.membership.shadows import ShadowOptions, train_shadows
from peer_libraries import art, sacroml
from rebuild import measured


def attacked(draw: Draw, name: str, *, tables_alone: bool = False) -> Iterator[Row]:
    """The rows of one model, or those of the attacks TABLES alone; its files are removed again."""
    family = MODELS[name]
    blank = Row(draw.data, name, "", "", "leafgate", model_version=installed(family.library))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        draw.write(folder)
        model, build = saved(draw, family, folder)
        parts: list[Iterable[Row]] = [membership_rows(draw, build, folder, blank, tables_alone=tables_alone)]
        if not tables_alone:
            parts += [attribute_rows(draw, build, folder, blank), [structural_row(draw, model, blank)]]
        for rows in parts:
            yield from (replace(row, library_version=installed(row.library)) for row in rows)


def installed(library: str) -> str:
    """The version of a library; empty where it is not installed."""
    try:
        return f"{library} {version(LIBRARIES[library])}"
    except PackageNotFoundError:
        return ""


def opened(folder: Path, document: Mapping[str, Any]) -> tuple[Session, Adversaries]:
    """A policy's session, and what its adversaries know."""
    file = folder / "policy.yaml"
    file.write_text(json.dumps(document), encoding="utf-8")
    run = open_session(file)
    artifact = build_release(run.policy, run.plugins, run.table)
    return run, Adversaries(run.policy, run.tables, artifact, run.plugins.readers)


def membership_rows(
    draw: Draw, build: Mapping[str, Any], folder: Path, blank: Row, *, tables_alone: bool = False
) -> Iterator[Row]:
    """Membership, linking and rebuilt tables, or the last two alone."""
    libraries = {name: library for library, attacks in MEMBERSHIP.items() for name in attacks}
    every = {name: options for attacks in MEMBERSHIP.values() for name, options in attacks.items()} | dict(TABLES)
    document = policy(draw, build, every, inputs=False)
    run, adversaries = opened(folder, document)
    for attack in run.policy.attacks:
        if tables_alone and attack.called not in TABLES:
            continue
        if attack.called == "lira":  # the first that needs shadow models; forked attacks find them in this process
            yield shadow_row(adversaries, attack, replace(blank, kind="membership", attack=SHADOW_MODELS))
        row = replace(blank, attack=attack.called)
        if attack.called == "linking":
            yield linking_row(run, adversaries, attack, replace(row, kind="linking"))
        elif attack.called in TABLES:
            yield table_row(run, adversaries, attack, replace(row, kind="table"))
        else:
            library = libraries[attack.called]
            yield membership_row(run, adversaries, attack, replace(row, kind="membership", library=library))


def shadow_row(adversaries: Adversaries, attack: AttackModel, row: Row) -> Row:
    """How long the shadow models take, which all attacks on membership share."""
    options = getattr(attack, "shadows", None)
    assert isinstance(options, ShadowOptions)
    start = time.perf_counter()
    try:
        train_shadows(options, adversaries.knowledge_of(attack))
    except InconclusiveError as error:
        return replace(row, reason=in_a_line(str(error)))
    return replace(row, seconds=time.perf_counter() - start)


def membership_row(run: Session, adversaries: Adversaries, attack: AttackModel, row: Row) -> Row:
    """AUC and TPR of an attack on membership, and whom exclusion proves not to be in the table."""
    known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
    start = time.perf_counter()
    result = run_attack(attack, adversaries.artifact, known, run.plugins, membership=membership)
    if result.problem:
        return replace(row, reason=in_a_line(result.problem))
    row = replace(row, seconds=time.perf_counter() - start)
    (belief,) = result.beliefs
    assert isinstance(belief, MembershipBelief)
    assert membership is not None
    release = adversaries.artifact.release
    case = ScoringContext(run.table, None, release, known, replace(belief, planted=None), _membership=membership)
    area = MembershipAuc(at_most=1, group="everybody").score(case)
    row = replace(row, auc=area.value, **ends("auc", area))
    try:
        rate = MembershipTpr(at_most=1, group="everybody", at_fpr=LOW_RATE).score(case)
        row = replace(row, tpr=rate.value, **ends("tpr", rate))
    except InconclusiveError:
        row = replace(row, reason=f"a rate of {LOW_RATE:g} needs more than {CONTROL[row.data]} people of the control")
    if attack.use == "leaf_exclusion" and belief.excluded is None:
        return replace(row, reason=f"{DRAWS} of anybody; its score is a test")
    if belief.excluded is None:
        return row
    excluded = np.asarray(belief.excluded)
    return replace(row, proved=int(excluded.sum()), wrong=int((excluded & membership.in_table).sum()))


def ends(name: str, score: Score) -> dict[str, Any]:
    """The interval of a score."""
    assert score.interval is not None
    return {f"{name}_low": score.interval[0], f"{name}_high": score.interval[1]}


def run_timed(run: Session, adversaries: Adversaries, attack: AttackModel) -> tuple[AttackResult, float]:
    """What an attack concludes, and its seconds."""
    known = adversaries.knowledge_of(attack)
    start = time.perf_counter()
    result = run_attack(attack, adversaries.artifact, known, run.plugins)
    return result, time.perf_counter() - start


def linking_row(run: Session, adversaries: Adversaries, attack: AttackModel, row: Row) -> Row:
    """Of how many people the class is certain, for somebody who knows all their other cells."""
    result, seconds = run_timed(run, adversaries, attack)
    if result.problem:
        return replace(row, reason=in_a_line(result.problem))
    (belief,) = result.beliefs
    assert isinstance(belief, SecretBelief)
    row = replace(row, seconds=seconds)
    if belief.certainty == "guess":
        drawn = adversaries.artifact.release.count_semantics == "bootstrap"
        return replace(row, reason=f"{DRAWS} of anybody" if drawn else NO_COUNTS)
    posterior = belief.posterior.to_numpy()[run.table.public[1]]
    certain = posterior.max(axis=1) >= CERTAIN
    right = posterior.argmax(axis=1) == run.table.codes(belief.secret)
    persons = run.table.persons
    return replace(row, proved=int(persons[certain].sum()), wrong=int(persons[certain & ~right].sum()))


def table_row(run: Session, adversaries: Adversaries, attack: AttackModel, row: Row) -> Row:
    """Shares of cells that are rebuilt right, right without the model, and proved."""
    result, seconds = run_timed(run, adversaries, attack)
    if result.problem:
        counts = adversaries.artifact.release.count_semantics != "unknown"
        return replace(row, reason=in_a_line(result.problem) if counts else NO_COUNTS)
    (belief,) = result.beliefs
    assert isinstance(belief, TableBelief)
    found, row = measured(run.table, belief), replace(row, seconds=seconds)
    row = replace(row, right=found["right"], baseline=found["without"], proved_cells=found.get("proved"))
    if attack.called == "rebuild" and row.proved_cells is None:
        return replace(row, reason=f"{DRAWS} of cells")
    return row


def attribute_rows(draw: Draw, build: Mapping[str, Any], folder: Path, blank: Row) -> Iterator[Row]:
    """Attribute inference."""
    libraries = {name: library for library, attacks in ATTRIBUTES.items() for name in attacks}
    every = {name: options for attacks in ATTRIBUTES.values() for name, options in attacks.items()}
    document = policy(draw, build, every, inputs=True)
    run, adversaries = opened(folder, document)
    for attack in run.policy.attacks:
        row = replace(blank, kind="attribute", attack=attack.called, library=libraries[attack.called])
        found = attributes_setting.scored(
            run, adversaries, attack, draw.secret, attributes_setting.Row(row.data, row.model, attack.called)
        )
        if found.problem:
            yield replace(row, reason=in_a_line(found.problem))
            continue
        row = replace(row, seconds=found.seconds)
        if attack.called == "leaf_constraints" and found.certain is None:
            row = replace(row, reason=f"{DRAWS} of anybody")
        row = replace(row, gain=found.leak, gain_low=found.leak_low, gain_high=found.leak_high)
        yield replace(row, proved=found.certain, wrong=found.wrong)


def structural_row(draw: Draw, model: Any, blank: Row) -> Row:
    """SACRO-ML's structural attack, which is handed the model and everybody."""
    row = replace(blank, kind="structure", attack=STRUCTURAL, library="SACRO-ML")
    start = time.perf_counter()
    try:
        flags = limited_call(lambda: structural_flags(draw, model), TIME_LIMIT)
    except TimeoutError:
        return replace(row, reason=f"was ended after its {TIME_LIMIT:g} seconds")
    except Exception as error:  # whatever SACRO-ML raises is the reason why there is no result
        return replace(row, reason=in_a_line(f"{type(error).__name__}: {error}"))
    return replace(row, flags=" ".join(flags) or "none", seconds=time.perf_counter() - start)


def structural_flags(draw: Draw, model: Any) -> list[str]:
    """The risks that SACRO-ML's structural attack sees."""
    attack, target = (sacroml(f"attacks.{name}") for name in ("structural_attack", "target"))
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")  # scikit-learn warns of features without names
    features, own = draw.features, draw.people[draw.target].astype(int).to_numpy()
    inside, outside = slice(0, draw.size), slice(draw.size, 2 * draw.size)
    with tempfile.TemporaryDirectory() as folder:
        structural = attack.StructuralAttack(output_dir=folder, write_report=False)
        structural.attack(
            target.Target(
                model=model,
                X_train=features.iloc[inside].to_numpy(),
                y_train=own[inside],
                X_test=features.iloc[outside].to_numpy(),
                y_test=own[outside],
            )
        )
    if structural.results is None:
        raise InconclusiveError("SACRO-ML's structural attack has no result for this kind of model")
    return [flag for flag in STRUCTURAL_FLAGS if getattr(structural.results, flag)]


def load_peers() -> None:
    """Import SACRO-ML and ART, where they are installed, so that no attack's seconds contain that."""
    for load, module in (
        (sacroml, "attacks.likelihood_attack"),
        (sacroml, "attacks.structural_attack"),
        (art, "attacks.inference.membership_inference"),
        (art, "estimators.classification"),
    ):
        with suppress(InconclusiveError):
            load(module)


def in_a_line(text: str) -> str:
    """The first line of a problem, without its remedy."""
    return re.sub(r" \([^()]*\)$", "", text.splitlines()[0]) if text else ""
