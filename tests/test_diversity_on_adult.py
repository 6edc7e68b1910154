"""What the kADET paper says of diversity and of top-down specialisation, on Adult.

The page is docs/measurements/diversity-on-adult.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adult import MEASURES, adult, value
from components import new_builder
from leafgate import NoReleaseError
from leafgate.api import Column, Leaf, Node, Schema
from leafgate.app import Audit, Session, Tables

pytestmark = pytest.mark.slow


SETTINGS = ("adult-id3", "adult-all")
Options = Mapping[str, Any]


def audited(run: Session, build: Options, *metrics: Options) -> Audit:
    offered = run.plugins.by_name
    builder, *limits = [offered[str(each["use"])].model_validate(each) for each in (build, *metrics)]
    return replace(run, policy=run.policy.model_copy(update={"build": builder, "metrics": tuple(limits)})).audit()


def pruned(setting: str) -> bool:
    """As we read the paper: ID3 is not, C4.5 is."""
    return setting == "adult-all"


def confidence(limit: float) -> Options:
    return {"use": "confidence", "at_most": limit}


def entropy(least: float) -> Options:
    return {"use": "l_diversity", "form": "entropy", "at_least": least}


def held_to(setting: str, required: Options) -> Audit:
    """kADET with k = 1 and this requirement, judged by the metric of the same name and limit, derived and composed."""
    build = {"use": "kadet", "k": 1, "measure": MEASURES[setting], "prune": pruned(setting), "require": (required,)}
    composed = {**required, "name": "composed", "scored": "composition"}
    return audited(adult(setting), build, composed, {**required, "name": "derived", "scored": "derived"})


def tree(audit: Audit) -> Node:
    assert audit.artifact is not None
    return audit.artifact.release.trees[0]


@pytest.mark.parametrize("k", [2, 5, 10])
def test_for_small_k_tds_spends_everything_on_relationship_and_predicts_nothing(k: int) -> None:
    found = audited(adult("adult-id3"), {"use": "tds", "k": k, "release": "both"}, {"use": "accuracy", "at_least": 0})
    assert isinstance(tree(found), Leaf)
    assert found.artifact is not None
    records = found.artifact.release.records
    assert records is not None
    items = {name for i, name in enumerate(records.columns) if len({str(row[i]) for row in records.rows}) > 1}
    assert items == {"marital-status", "relationship", "income"}


def test_tds_that_chooses_from_test_people_too_keeps_no_k_of_the_training_people() -> None:
    build = {"use": "tds", "k": 500, "choose_from": "train_and_test", "release": "table"}
    assert value(audited(adult("adult-id3"), build, {"use": "k_anonymity", "at_least": 500}), "k_anonymity") == 399


@pytest.mark.parametrize(("use", "smallest"), [("tds", 89), ("mondrian", 50)])
def test_a_generalised_table_keeps_its_k(use: str, smallest: int) -> None:
    build = {"use": use, "k": 50, "release": "table"}
    audit = audited(adult("adult-all"), build, {"use": "k_anonymity", "at_least": 50})
    assert (audit.report.verdict, value(audit, "k_anonymity")) == ("pass", smallest)


@pytest.mark.parametrize("required", [confidence(0.75), entropy(1.8), entropy(1.9)])
@pytest.mark.parametrize("setting", SETTINGS)
def test_beyond_the_root_there_is_no_release(setting: str, required: Options) -> None:
    audit = held_to(setting, required)
    assert audit.artifact is None
    assert [(finding.id, finding.passed) for finding in audit.report.findings] == [("build", False)]
    assert (audit.report.verdict, audit.report.exit_code) == ("fail", 1)
    builder = new_builder("kadet", k=1, require=(required,))
    with pytest.raises(NoReleaseError, match="not even a single leaf"):
        builder.build(adult(setting).table, np.random.default_rng(0))


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_l_that_every_tree_has_is_no_limit(setting: str) -> None:
    assert held_to(setting, entropy(1.0)).report.verdict == "inconclusive"


def with_private(run: Session, names: Collection[str]) -> Session:
    def hidden(column: Column) -> Column:
        private = column.name in names
        return replace(column, roles=frozenset({"private"}), hierarchy=None) if private else column

    schema = Schema(tuple(hidden(column) for column in run.table.schema.columns))
    return replace(run, tables=Tables(replace(run.table, schema=schema)))


def test_groups_can_keep_to_a_limit_while_what_is_derived_of_them_does_not() -> None:
    build = {"use": "kadet", "k": 50, "measure": "gain", "require": (confidence(0.9),)}
    judged = {"composed": "composition", "derived": "derived"}
    composed, derived = ({**confidence(0.9), "name": name, "scored": scored} for name, scored in judged.items())
    run = with_private(adult("adult-id3"), {"sex", "relationship"})
    audit = audited(run, build, composed, derived)
    found = {finding.id.split("@")[0]: finding.passed for finding in audit.report.findings}
    assert found == {"composed": True, "derived": False, "guarantee:k": True, "guarantee:confidence": True}
    # Machine operators and inspectors: all leaves they can reach hold 15,875 and 1,369 people.
    assert value(audit, "derived") == pytest.approx(15_875 / (15_875 + 1_369))
    # The group that is really the surest has 9,014 and 1,276.
    assert value(audit, "composed") == pytest.approx(9_014 / (9_014 + 1_276))
