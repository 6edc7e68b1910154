from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from leafgate.api import (
    AdversaryKnowledge,
    Belief,
    GroupBelief,
    NoReleaseError,
    Release,
    Table,
    TreeBuilder,
)
from leafgate.app import document, readable
from standins import ORIGIN, attack_that, audited, finding

Builds = Callable[[Table], Any]


def builder_that(builds: Builds) -> type[TreeBuilder]:
    """A builder called wild."""

    class Wild(TreeBuilder):
        use: Literal["wild"] = "wild"

        def build(self, table: Table, rng: np.random.Generator) -> Any:
            return builds(table)

    return Wild


def test_no_release_that_keeps_the_promise_is_a_failed_audit() -> None:
    def gives_up(table: Table) -> Any:
        raise NoReleaseError("no tree is safe", people=5, remedy="publish less", details="5 are alone")

    report = audited(builder_that(gives_up), build={"use": "wild"})
    assert (report.verdict, report.exit_code, report.release) == ("fail", 1, None)
    found = finding(report, "build")
    assert (found.passed, found.plugin, found.evidence["reason"]) == (False, ORIGIN, "no tree is safe")
    assert document(report, "public")["findings"][0]["evidence"]["people"] == {"fewer_than": 10}
    assert b"alone" not in readable(document(report, "public"))
    evidence = document(report, "auditor")["findings"][0]["evidence"]
    assert (evidence["people"], evidence["reason_in_full"]) == (5, "5 are alone")


def test_one_input_makes_one_report() -> None:
    assert readable(document(audited(), "auditor")) == readable(document(audited(), "auditor"))


def test_every_finding_of_an_audit_names_a_distribution_and_version() -> None:
    assert {found.plugin for found in audited().findings} == {"basics 1.0"}


def test_an_attack_is_not_handed_the_builders_coins() -> None:
    seen: list[int] = []

    def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        seen.append(known.seed)
        return [GroupBelief(np.zeros(len(known.records), dtype=int))]

    for seed in (7, 7, 8):
        audited(attack_that(infer), attacks=[{"use": "nosy"}, {"use": "calm"}], seed=seed)
    assert seen[0] == seen[1] != seen[2]
    assert not {7, 8} & set(seen)
