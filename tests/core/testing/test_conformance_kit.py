"""The kit passes what is honest, and finds each mistake by the check that is made for it."""

from __future__ import annotations

import os
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from broken_plugins import BROKEN, HONEST
from broken_plugins.attacks import Blind, ByLeaves, ReadsNothing
from broken_plugins.builders import ByColumn, ByHash, ByTheHour, TossedOnce
from broken_plugins.heavy import HeavyFace
from broken_plugins.metrics import Doubt, Reversed
from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, ReleaseAtLeast, Score, ScoringContext
from leafgate.kernel.components import Component
from leafgate.testing import (
    Check,
    DoesNotApply,
    KnownException,
    NonConformance,
    check_attack,
    check_builder,
    check_metric,
    conformance,
)
from leafgate.testing.sandbox import offline
from leafgate.testing.subprocess_worker import digests_elsewhere, outcomes


def check_named(component: Component, name: str, **said: Any) -> Check[Any]:
    (found,) = (check for check in conformance(component, **said) if check.name == name)
    return found


@pytest.mark.parametrize("check", [check for each in HONEST for check in conformance(each)], ids=str)
def test_what_is_honest_passes(check: Check[Any]) -> None:
    """A check that finds a mistake raises NonConformance; one that finds none returns."""
    check()


@pytest.mark.parametrize(("broken", "name"), BROKEN, ids=[f"{type(broken).__name__} {name}" for broken, name in BROKEN])
def test_a_mistake_is_found_by_the_check_made_for_it(broken: Component, name: str) -> None:
    with pytest.raises(NonConformance) as found:
        replace(check_named(broken, name), first=None)()
    assert found.value.what
    assert found.value.remedy


class Divides(ByLeaves):
    """Raises of every release."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Any:
        raise ZeroDivisionError("nobody of flu")


def test_one_cause_is_one_failure_with_the_text_of_the_error() -> None:
    failed, skipped = [], []
    for check in conformance(Divides()):
        try:
            check()
        except DoesNotApply as why:
            skipped.append(str(why))
        except NonConformance as found:
            failed.append(found.what)
    assert len(failed) == 1
    assert "ZeroDivisionError: nobody of flu (in infer, line " in failed[0]
    assert set(skipped) == {"does not apply: `believes` fails, and decides the rest"}
    with pytest.raises(NonConformance) as whole:
        check_attack(Divides())
    assert str(whole.value).count("what would be right") == 2  # of the check, and of all of them


def test_every_check_has_a_plugin_that_it_rejects() -> None:
    rejected = {name for _, name in BROKEN} | {"light_face"}
    assert rejected >= {check.name for each in HONEST for check in conformance(each)}


def test_a_face_that_loads_what_is_heavy_is_found() -> None:
    with pytest.raises(NonConformance, match=r"importing broken_plugins.heavy loads .*pandas"):
        check_named(HeavyFace(), "light_face")()


def test_what_does_not_apply_says_why_and_is_no_pass() -> None:
    with pytest.raises(DoesNotApply, match="does not apply: it measures what a release is good for"):
        check_named(Useful(at_least=0), "sees_a_leak")()


class Useful(ReleaseAtLeast):
    """What every release is good for."""

    use: str = "useful"

    threat_model = "None: this is what the release is good for."

    def score(self, case: ScoringContext) -> Score:
        return Score(1.0)


def test_a_known_exception_is_listed_with_its_reason_and_with_what_was_found() -> None:
    with pytest.raises(KnownException, match=r"knows nobody \(a tree of public columns isolates somebody"):
        check_named(Blind(), "catches_a_leak", expected={"catches_a_leak": "knows nobody"})()


def test_a_known_exception_that_passes_is_no_exception_any_more() -> None:
    with pytest.raises(NonConformance, match="passes, though it is expected to fail: knows nobody"):
        check_named(ByLeaves(), "catches_a_leak", expected={"catches_a_leak": "knows nobody"})()


def test_an_exception_from_a_check_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="there is no check 'leak'"):
        conformance(ByLeaves(), expected={"leak": "knows nobody"})


def test_all_checks_at_once_list_everything_that_does_not_hold() -> None:
    left_out = {"asks_the_oracle_alone", "plants_what_it_says", "same_of_representatives", "takes_noise_for_noise"}
    assert set(check_attack(ByLeaves())) == left_out
    assert set(check_builder(ByColumn())) == {"accounts"}  # it promises nothing
    assert set(check_metric(Doubt(at_least=0))) == {"says_who_moves_it"}  # it is of people
    with pytest.raises(NonConformance, match=r"(?s)sees_a_leak.*nothing_is_safest"):
        check_metric(Reversed(at_least=0))
    with pytest.raises(NonConformance, match="believes nothing of any release"):
        check_attack(ReadsNothing())


def test_only_builders_attacks_and_metrics_conform() -> None:
    with pytest.raises(TypeError, match="is no builder, attack, metric or check"):
        conformance(Component(use="x"))


def test_while_a_check_runs_no_other_machine_is_reached() -> None:
    import socket

    with offline() as tried, pytest.raises(OSError, match="no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    assert tried == ["getaddrinfo"]
    with offline() as tried:
        for call in (socket.gethostbyaddr, socket.gethostbyname):
            with pytest.raises(OSError, match="no network"):
                call("192.0.2.1")
        with pytest.raises(OSError, match="no network"):
            socket.socket()
    assert tried == ["gethostbyaddr", "gethostbyname", "socket"]
    mine, yours = socket.socketpair()
    with offline() as tried, mine, yours:
        mine.sendall(b"x")
        assert yours.recv(1) == b"x"
    assert tried == []


def test_in_the_other_process_texts_have_other_hashes_and_clocks_another_hour() -> None:
    for broken in (ByHash(), ByTheHour(), TossedOnce()):
        there = digests_elsewhere(broken, ())
        assert there.keys() == outcomes(broken, ()).keys()
        assert not set(there.values()) & set(outcomes(broken, ()).values())
    assert digests_elsewhere(ByColumn(), ()) == outcomes(ByColumn(), ())


def test_what_cannot_be_found_in_the_other_process_is_no_pass() -> None:
    class Here(ByLeaves):
        """Stands in no module's top."""

    with pytest.raises(DoesNotApply, match="cannot be sent to another process"):
        check_named(Here(), "repeats_elsewhere")()


def test_a_plugin_that_ends_the_other_process_is_named_and_the_next_has_a_new_one() -> None:
    assert digests_elsewhere(EndsProcess(), ()) == "no answer"
    assert digests_elsewhere(ByColumn(), ()) == outcomes(ByColumn(), ())


class EndsProcess(ByColumn):
    """Takes its process down with it."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        os._exit(3)


UNSAID = ["the paper it comes from", "TODO", "FIXME: cite", "<your paper>", "...", "Say here what"]


@pytest.mark.parametrize("text", UNSAID)
def test_words_that_stand_for_others_explain_nothing(text: str) -> None:
    broken = type("Broken", (ByLeaves,), {"source": text, "__doc__": "Something."})
    with pytest.raises(NonConformance, match="still says in source what stood there"):
        check_named(broken(), "explains_itself")()


def test_a_skipped_check_is_skipped_for_unittest_as_for_pytest() -> None:
    assert issubclass(DoesNotApply, unittest.SkipTest)
    assert issubclass(KnownException, unittest.SkipTest)
