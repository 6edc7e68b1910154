"""Every bundled builder, attack and metric keeps to what a stranger's must keep to."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit_scenarios import ON, worked_case
from leafgate.api import AttackModel, BuildResult, Component, DataSource, Example, Metric
from leafgate.api.registry import use_of
from leafgate.app import load_plugins, serialize
from leafgate.processes import limited_call
from leafgate.reports import FORMATS
from leafgate.testing import Check, conformance, format_conformance
from leafgate.testing.attacks import AttackSubject
from leafgate.testing.components import MANY, text_of

pytestmark = pytest.mark.thorough

OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "alpha_k_anonymity": ({"alpha": 0.5}, {"alpha": 0.5, "values": ["flu"]}),
    "attribute_leak": ({"at_most": 0.5}, {"at_most": 0.5, "measure": "ppv"}, {"at_most": 0.5, "measure": "mcc"}),
    "beta_likeness": ({}, {"form": "enhanced"}),
    "cells_withheld": ({}, {"among": "all"}, {"among": "count"}),
    "conditioning": ({}, {"least": 5.0}),
    "confidence": ({}, {"scored": "composition"}),
    "counting": ({}, {"most_states": 0}),
    "distinguish": ({}, {"method": "one_run"}),
    "downgrading": ({"tau": 0.8}, {"tau": 0.8, "release": "both", "against": ["conditioning"], "v": 0.5}),
    "dp_laplace_trees": ({"trees": 3, "depth": 1}, {"trees": 3, "depth": 1, "structure": "random"}),
    "dp_random_trees": ({"trees": 3, "depth": 1}, {"trees": 3, "depth": 1, "neighbours": "replace_one"}),
    "kadet": ({"k": 5}, {"k": 5, "measure": "gini", "prune": False}, {"k": 5, "publish_table": True}),
    "leave_one_out": ({"people": 5, "time_limit": 600.0, "seeds": 2},),
    "likelihood": ({}, {"calibration": "members"}),
    "l_diversity": ({}, {"form": "distinct"}, {"form": "recursive", "c": 2.0}),
    "maxent": ({}, {"solver": "gekko"}),
    "lira": (
        {"shadows": {"models": 8}},
        {"shadows": {"models": 8}, "mode": "offline", "variance": "fixed"},
    ),
    "membership_auc": ({}, {"group": "everybody"}),
    "membership_tpr": ({"at_fpr": 0.3}, {"at_fpr": 0.3, "group": "everybody"}),
    "mondrian": ({"k": 5}, {"k": 5, "release": "both"}),
    "posterior": ({}, {"estimate": "mode"}),
    "ppdtc45": tuple(
        {"noise": {"law": "gaussian", "deviation": 5.0}, **more}
        for more in ({}, {"split": "matched"}, {"split": "weighted"}, {"model": "naive_bayes"})
    ),
    "quantile": (
        {"shadows": {"models": 8}},
        {"shadows": {"models": 8}, "law": "quantile", "false_positives": 0.1},
    ),
    "random_trees": ({"trees": 3, "depth": 1}, {"trees": 3, "depth": 1, "structure": "random"}),
    "reconstructed_cells": ({}, {"baseline": "domains"}, {"counted": "records"}, {"counted": "proved"}),
    "reidentification_risk": ({}, {"among": "population"}),
    "rmia": ({"shadows": {"models": 8}},),
    "t_closeness": ({}, {"distance": "ordered"}, {"distance": "hierarchical"}),
    "worst_case": (
        {"shadows": {"models": 8}},
        {"shadows": {"models": 8}, "classifier": "logistic_regression", "correct": True},
    ),
    "tds": ({"k": 5}, {"k": 5, "choose_from": "train_and_test", "release": "table"}),
}
"""Options to check each with, where its defaults are not all there is to check."""

SHAPE = {"sees_a_leak": "it scores the shape of trees, which beside shared numbers is the same whatever the noise"}
CONTRADICTED = "it learns from auxiliary people, who in the kit contradict what leaves tell of people of the table"
EXPECTED: dict[tuple[str, int], dict[str, str]] = {
    ("class_disclosure", 0): SHAPE,
    ("file_disclosure", 0): {"sees_a_leak": "it scores what a file discloses, and the kit's releases come from none"},
    ("distinguish", 1): {
        "catches_a_leak": "one run needs many made-up people, each counted apart; the kit's counts one"
    },
    ("worst_case", 0): {
        "catches_a_leak": "it reads how certain the model is, and not of which class: option `correct` adds that"
    },
    ("likelihood", 0): {"catches_a_leak": CONTRADICTED},
    ("published", 0): {"any_label_order": "the file declares domains in one order, to which a policy must keep"},
}
"""By name, and by which of its options: checks that fail for a reason."""

SLOW = {"counting", "maxent", "downgrading", "dp_laplace_trees", "dp_random_trees", "mondrian", "tds"}
"""What takes long: options beyond the first are checked with the slow tests."""

PLUGINS = load_plugins()


FOLDER = tempfile.TemporaryDirectory()
(Path(FOLDER.name) / "release.json").write_bytes(
    serialize(BuildResult.of(MANY.release(MANY.table("much"), "much"))).content
)
OPTIONS["published"] = ({"path": "release.json"},)


def made(kind: type[Component], **options: Any) -> Component:
    """The component as a policy makes it; metrics with a limit, which no check asks for."""
    limit = {kind.direction: 0} if issubclass(kind, Metric) else {}
    result = json.dumps({"use": use_of(kind), **limit, **options})
    beside = Path(FOLDER.name)
    return kind.model_validate_json(result, context={"beside": beside, "root": beside})


def every_check() -> list[Any]:
    """A check for each class that is offered, for each of its options here."""
    found = []
    for use, kind in sorted(PLUGINS.by_name.items()):
        if issubclass(kind, DataSource):  # tests/core/io/tables/test_engines.py holds engines against the core
            continue
        for number, options in enumerate(OPTIONS.get(use, ({},))):
            component = made(kind, **options)
            checks = conformance(component, on=ON.get(use, ()), expected=EXPECTED.get((use, number)))
            for check in checks:
                marks = [pytest.mark.slow] if number and use in SLOW else []
                found.append(pytest.param(check, id=f"{check}{number or ''}", marks=marks))
    return found


@pytest.mark.parametrize("check", every_check())
def test_it_conforms(check: Check) -> None:
    """A check that finds a mistake raises NonConformance; one that finds none returns."""
    check()


@pytest.mark.parametrize(
    "check",
    [check for each in FORMATS for check in format_conformance(each)],
    ids=str,
)
def test_a_report_format_conforms(check: Check) -> None:
    check()


ATTACKS = [made(kind, **OPTIONS.get(use_of(kind), ({},))[0]) for kind in PLUGINS.kind(AttackModel)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)
def test_an_attack_believes_the_same_in_a_process_that_is_limited_in_time(attack: AttackModel) -> None:
    subject = AttackSubject(attack, ON.get(attack.use, ()))
    _, opened, believed = next(iter(subject.accepted))
    limited = limited_call(lambda: text_of(subject.run(opened)), 600.0)
    assert limited == text_of(believed)


def test_everything_that_is_bundled_is_checked() -> None:
    offers = [each for plugin in PLUGINS.entries if plugin.distribution == "leafgate" for each in plugin.offers]
    bundled = {each.use for each in offers if each.hook != "data_sources"}
    assert len(bundled) >= 40
    assert bundled == {param.values[0].plugin for param in every_check()} & bundled
    assert set(OPTIONS) <= bundled


EXAMPLES = [
    pytest.param(kind, example, id=f"{use_of(kind)} {number}")
    for kind in PLUGINS.kind(Metric)
    for number, example in enumerate(vars(kind).get("examples", ()))
]


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_the_examples_that_explain_shows_score_what_they_say(kind: type[Metric], example: Example) -> None:
    case = worked_case(example)
    (row,) = np.flatnonzero(case.table.codes("who") == 0)[:1]
    metric: Any = made(kind, **example.options)
    assert metric.score(case).people[row] == pytest.approx(example.score, rel=1e-9, abs=1e-9)


def test_every_bundled_metric_says_in_plain_words_what_its_broken_limit_means() -> None:
    kinds = [kind for kind in PLUGINS.kind(Metric) if issubclass(kind, Metric)]
    metrics = [kind for kind in kinds if kind.__module__.startswith("leafgate_")]
    assert len(metrics) > 20
    for kind in metrics:
        clause = kind.plain_failure_of("income")
        assert clause, kind
        assert clause == clause.strip(" ."), kind
        assert not {"{", "_"} & set(clause), kind
