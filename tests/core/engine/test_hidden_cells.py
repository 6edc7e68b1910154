"""Beliefs about hidden cells of published records, held against the people behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    BuildResult,
    CellBelief,
    Records,
    Release,
    Table,
    TreeBuilder,
)
from leafgate.app import Limit, Report, SealedRelease, Tables, audit_policy, document
from leafgate.cli.attack import belief_file
from leafgate.io.release_codec import Provenance
from leafgate.policy.protection import protected
from leafgate.testing import grant_knowledge
from random_tables import table_of
from standins import COLUMNS, ROWS, attack_that, finding, installed_with, plugins_with, policy_with

WITHHELD = {"withheld": True}
SEEN = (("2", "flu"), ("1", "flu"), ("2", "cold"), ("1", "cold"))
ORIGINS = (2, 0, 3, 1)  # of the table, whose distinct records are sorted
HIDDEN = np.array([3, 0])


class Withholding(TreeBuilder):
    """Publishes everyone but for the riches of two."""

    use: Literal["withholding"] = "withholding"
    origins: tuple[int, ...] | None = ORIGINS

    def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
        rich = table.frame["rich"].tolist()
        items = [WITHHELD if i in HIDDEN else rich[row] for i, row in enumerate(ORIGINS)]
        rows = tuple((*seen, cell) for seen, cell in zip(SEEN, items, strict=True))
        records = Records(("zip", "ill", "rich"), rows, tuple(int(table.weight[row]) for row in ORIGINS))
        release = Release({"use": "x"}, table.schema, model="none", records=records)
        return BuildResult(release, origins=self.origins)


def reads_tables(does: Callable[[Release, AdversaryKnowledge], Any]) -> type[AttackModel]:
    return attack_that(does, models=frozenset({"none"}), needs=frozenset({"mechanism"}))


def believes(*rows: tuple[float, float], cells: Any = HIDDEN, **more: Any) -> type[AttackModel]:
    """An attack that believes these chances of yes and no."""
    chances = pd.DataFrame(rows, columns=["yes", "no"])
    return reads_tables(lambda release, known: [CellBelief("rich", chances, cells, **more)])


def report_of(attack: type[AttackModel], *metrics: dict[str, Any], **build: Any) -> Report:
    plugins = installed_with(Withholding, attack)
    said = {"build": {"use": "withholding", **build}, "attacks": [{"use": "nosy"}], "metrics": list(metrics)}
    policy = policy_with(plugins, **said)
    return audit_policy(policy, plugins, Tables(table_of(policy.data.meaning().columns, ROWS, (3, 1, 2, 2)))).report


EXPOSURE = {"use": "exposure", "at_most": 0, "average": True}
SURE = {"use": "confidence", "at_most": 0.9}


def test_a_belief_about_hidden_cells_is_held_against_the_people_behind_them() -> None:
    """Record 3 is a cold of zip 1, who is not rich (1 person); record 0 a flu of zip 2, who is (2 people)."""
    report = report_of(believes((0.0, 1.0), (0.25, 0.75)), EXPOSURE, SURE)
    exposed, sure = finding(report, "exposure@nosy#rich"), finding(report, "confidence@nosy#rich")
    assert exposed.people == 3
    assert exposed.value == pytest.approx(1 / 3)
    assert (sure.people, sure.violations, sure.value) == (3, 1, 1.0)
    for found in (exposed, sure):  # there is no group whose composition could be judged
        assert found.limit == Limit("at_most", found.bound, found.average, scored="derived")
        assert found.evidence["scored_because"] == "the belief is about hidden cells of published records"


def test_the_record_and_value_of_an_exposed_cell_are_for_auditors_alone() -> None:
    report = report_of(believes((0.0, 1.0), (0.25, 0.75)), SURE)
    (auditors,) = document(report, "auditor")["findings"]
    (worst,) = auditors["evidence"]["worst"]
    assert (worst["record"], worst["believed"], worst["true"]) == (3, {"no": 1.0}, {"no": 1})
    (public,) = document(report, "public")["findings"]
    assert public["evidence"]["worst"] == [{"people": {"fewer_than": 10}, "shares": "records", "possible_values": 1}]


def test_metrics_of_groups_are_not_for_an_attack_that_speaks_of_cells_alone() -> None:
    report = report_of(believes((0.5, 0.5), (0.5, 0.5)), {"use": "k_anonymity", "at_least": 1})
    assert finding(report, "k_anonymity@any").passed is None


@pytest.mark.parametrize(
    ("attack", "problem"),
    [
        (believes((0.5, 0.5), (0.5, 0.5), cells=np.array([1, 2])), "cells that the records show"),
        (believes((0.5, 0.5), (0.5, 0.5), cells=np.array([3, 3])), "each of its cells once"),
        (believes((0.5, 0.5), (0.5, 0.5), cells=np.array([3, 9])), "records that are not there"),
        (believes((0.5, 0.5), (0.5, 0.5), cells=np.array([0.5, 3])), "each of its cells once"),
        (believes((0.5, 0.5)), "needs one row of probabilities for each record"),
        (believes((0.5, 0.5), (0.5, 0.5), estimates=np.array([1.0])), "a number for each of 2 cells in `estimates`"),
        (believes((0.5, 0.5), (0.5, 0.5), cells=None), "each of its cells once"),
    ],
)
def test_a_belief_about_cells_that_makes_no_sense_is_the_attacks_own_trouble(
    attack: type[AttackModel], problem: str
) -> None:
    report = report_of(attack, SURE)
    assert problem in finding(report, "attack:nosy").evidence["problem"]


def test_where_nobody_knows_whose_the_records_are_it_cannot_be_told() -> None:
    report = report_of(believes((0.0, 1.0), (0.25, 0.75)), SURE, origins=None)
    found = finding(report, "confidence@nosy#rich")
    assert (found.passed, report.exit_code) == (None, 3)
    assert "known only where the release is built" in found.evidence["problem"]


def test_no_attack_receives_what_a_builder_says_to_the_owner_alone() -> None:
    received: list[Release] = []

    def look(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        received.append(release)
        if known.mechanism is not None:
            table = table_of(release.schema.columns, ROWS, (3, 1, 2, 2))
            received.append(known.mechanism(table, np.random.default_rng(0)))
        return []

    report_of(reads_tables(look), SURE)
    assert [type(release) for release in received] == [Release, Release]
    owners = {field.name for kind in (BuildResult, SealedRelease, Provenance) for field in fields(kind)} - {"release"}
    assert {"origins", "trail", "written", "provenance", "node_numbers", "learner", "witness"} <= owners
    assert not any(hasattr(release, name) for release in received for name in owners)


@pytest.mark.parametrize("origins", [[0, 1, 2], [0, 1, 2, 4], [0, 1, 2, -1]])
def test_origins_that_name_no_rows_are_the_builders_own_trouble(origins: list[int]) -> None:
    with pytest.raises(Exception, match="says not for each record which row") as caught:
        report_of(believes((0.5, 0.5), (0.5, 0.5)), SURE, origins=origins)
    assert caught.value.exit_code == 3  # type: ignore[attr-defined]


def test_what_is_believed_of_cells_is_a_table_of_rows_columns_and_chances() -> None:
    chances = pd.DataFrame([(0.25, 0.75)], columns=["yes", "no"])
    belief = CellBelief("rich", chances, np.array([3]), estimates=np.array([1.5]))
    result = belief_file(belief, grant_knowledge(table_of(policy_with(plugins_with()).data.meaning().columns, ROWS)))
    assert result.decode() == "row,column,estimate,p(yes),p(no)\n3,rich,1.5,0.25,0.75\n"


def test_every_protected_cell_must_be_spoken_of() -> None:
    """Riches of both zips are protected; the attack speaks of one withheld cell only, or the other is not withheld."""
    protect = [{"column": "status", "where": {"zip": ["1", "2"]}}]
    columns = COLUMNS | {"status": {"role": "private", "values": ["yes", "no"]}}
    del columns["rich"]
    for cells, result in ((np.array([0, 1, 2, 3]), False), (np.array([0, 1, 3]), True)):
        report = status_report(columns, protect, cells)
        assert ("protected#status" in {found.id for found in report.findings}) == result


def status_report(columns: dict[str, Any], protect: list[dict[str, Any]], cells: Any) -> Report:
    class Hiding(TreeBuilder):
        use: Literal["hiding"] = "hiding"

        def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
            rows = tuple((*seen, WITHHELD) for seen in SEEN)
            records = Records(("zip", "ill", "status"), rows, tuple(int(n) for n in table.weight))
            release = Release({"use": "x"}, table.schema, model="none", records=records)
            return BuildResult(release, origins=(0, 1, 2, 3))

    def even(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        chances = pd.DataFrame(0.5, index=range(len(cells)), columns=["yes", "no"])
        return [CellBelief("status", chances, cells)]

    plugins = installed_with(Hiding, reads_tables(even))
    said = {"build": {"use": "hiding"}, "attacks": [{"use": "nosy"}], "metrics": [SURE]}
    policy = policy_with(plugins, data={"columns": columns, "protect": protect}, **said)
    table = table_of(policy.data.meaning().columns, ROWS, (3, 1, 2, 2))
    return audit_policy(policy, plugins, Tables(protected(policy.data.protect, table))).report


def test_the_people_behind_cells_stand_in_the_order_of_the_cells() -> None:
    """Record 0 is a flu of zip 2, who is rich (2 people); record 3 a cold of zip 1, who is not (1 person)."""
    attack = believes((1.0, 0.0), (1.0, 0.0), cells=np.array([0, 3]))
    exposed = finding(report_of(attack, EXPOSURE), "exposure@nosy#rich")
    assert exposed.value == pytest.approx(2 / 3)


def test_of_a_column_that_is_no_secret_the_protected_cells_alone_are_judged() -> None:
    """Of four withheld cells one is protected: 3 people of zip 1 with flu."""
    protect = [{"column": "status", "where": {"zip": "1", "ill": "flu"}}]
    columns = COLUMNS | {"status": {"role": "private", "values": ["yes", "no"]}}
    del columns["rich"]
    report = status_report(columns, protect, np.array([0, 1, 2, 3]))
    assert finding(report, "confidence@nosy#status").people == 3
