"""An attack with a `time_limit` believes what it believes without one, or is ended and is inconclusive."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate, start
from leafgate import PolicyError, load_policy
from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    AuditorOnly,
    Belief,
    GroupBelief,
    InconclusiveError,
    PredictionOracle,
    Release,
    SecretBelief,
)
from leafgate.app import Report, document
from patience import SECONDS
from session_processes import ended_in
from standins import ORIGIN, Calm, attack_that, audited, even, finding
from stranger import install
from survey import survey, write_policy

LONG = 3600.0
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")


def with_nosy(nosy: type[AttackModel], time_limit: float | None, **said: Any) -> Report:
    limit = {} if time_limit is None else {"time_limit": time_limit}
    return audited(nosy, attacks=[{"use": "calm"}, {"use": "nosy", **said, **limit}])


def problem_of(report: Report) -> str:
    found = finding(report, "attack:nosy")
    assert found.passed is None
    return str(found.evidence["problem"])


def test_an_attack_is_ended_when_its_time_is_over() -> None:
    began = time.monotonic()
    report = with_nosy(attack_that(lambda release, known: time.sleep(SECONDS)), 0.2)
    assert time.monotonic() - began < SECONDS / 2
    assert problem_of(report).startswith(f"nosy ({ORIGIN}): was ended after its 0.2 seconds (`time_limit`)")
    assert [remedy.text for remedy in finding(report, "attack:nosy").remedies] == [
        "Raise its `time_limit`, or give the attack less to do by its options."
    ]
    assert finding(report, "sizes@calm#ill").passed is not None
    assert not multiprocessing.active_children()


def words_of(group: int) -> str:
    return f"class {group}"


def closure(known: AdversaryKnowledge) -> Callable[[int], str]:
    numbers = {"rows": len(known.records)}
    return lambda group: f"class {group} of {numbers['rows'] // ((group and 1) or 1)}"


EXPLAINED: dict[str, Callable[[AdversaryKnowledge], Any]] = {
    "nothing": lambda known: None,
    "a function": lambda known: words_of,
    "a closure": closure,
    "one that raises": lambda known: lambda group: str(1 // group),
    "one that returns no text": lambda known: lambda group: group,
}


@pytest.mark.parametrize("explains", EXPLAINED.values(), ids=EXPLAINED)
def test_a_limit_that_is_kept_changes_nothing_of_the_report(explains: Callable[[AdversaryKnowledge], Any]) -> None:
    def believes(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        rows = np.arange(len(known.records))
        evidence = {"rows": len(rows), "who": AuditorOnly({"rows": rows.tolist()})}
        return [
            SecretBelief("ill", even(known), equivalence_class=rows, explain=explains(known), evidence=evidence),
            GroupBelief(rows, explain=explains(known)),
        ]

    reports = [with_nosy(attack_that(believes), limit) for limit in (None, LONG)]
    for audience in ("public", "auditor"):
        free, limited = (document(report, audience) for report in reports)
        assert free["findings"] == limited["findings"]
        assert free["policy"] == limited["policy"]
    assert finding(reports[1], "sizes@nosy#ill").passed is not None


def test_queries_are_counted_and_beliefs_of_oracles_arrive() -> None:
    def asks(oracle: PredictionOracle, known: AdversaryKnowledge) -> Sequence[Belief]:
        oracle.labels(known.records.assign(rich="no"))
        return Calm().infer(oracle, known)  # type: ignore[arg-type]

    nosy = attack_that(asks, access_levels=frozenset({"labels"}))  # type: ignore[arg-type]
    free, limited = (finding(with_nosy(nosy, limit), "sizes@nosy#ill").evidence["queries"] for limit in (None, LONG))
    assert free == limited
    assert free["asked"].content["calls"] == 1


class _Own(Exception):  # noqa: N818
    """An error that cannot be pickled again: its class takes two texts."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def refuses(release: Release, known: AdversaryKnowledge) -> Any:
    raise InconclusiveError("no prior", place="knows.distribution", remedy="grant it")


def fails(release: Release, known: AdversaryKnowledge) -> Any:
    raise _Own("37", "flu")


@pytest.mark.parametrize(
    "does", [refuses, fails, lambda release, known: 7, lambda release, known: [], lambda release, known: [even(known)]]
)
def test_errors_and_wrong_answers_are_the_same_with_a_limit(does: Callable[[Release, AdversaryKnowledge], Any]) -> None:
    free, limited = (finding(with_nosy(attack_that(does), limit), "attack:nosy") for limit in (None, LONG))
    assert free == limited
    assert "37" not in str(limited.evidence)


def test_an_interruption_that_an_attack_raises_ends_the_audit() -> None:
    def interrupts(release: Release, known: AdversaryKnowledge) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_nosy(attack_that(interrupts), LONG)


@pytest.mark.parametrize("ends", [lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL)])
def test_a_process_that_ends_without_an_answer_is_inconclusive(ends: Callable[[], object]) -> None:
    report = with_nosy(attack_that(lambda release, known: ends()), LONG)
    assert "its process ended without an answer" in problem_of(report)


def test_a_belief_that_cannot_be_pickled_says_what_to_do() -> None:
    class Local(SecretBelief):
        """A class that no other process can find."""

    def believes(release: Release, known: AdversaryKnowledge) -> Any:
        return [Local("ill", even(known))]

    said = problem_of(with_nosy(attack_that(believes), LONG))
    assert "cannot be limited in time, because its result cannot be pickled" in said
    assert "leave out `time_limit`" in said


class _Unreadable(SecretBelief):
    """A class that is pickled, and whose objects cannot be made again."""

    def __reduce__(self) -> Any:
        return _Own, ("one text",)


def test_a_belief_that_cannot_be_read_back_says_what_to_do() -> None:
    nosy = attack_that(lambda release, known: [_Unreadable("ill", even(known))])
    assert "its result cannot be pickled (TypeError)" in problem_of(with_nosy(nosy, LONG))


def test_without_fork_an_attack_says_that_it_cannot_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert "needs a process that is forked" in problem_of(with_nosy(attack_that(lambda release, known: []), LONG))


ASLEEP = """
import time
from typing import Literal
from leafgate.api import AttackModel, hookimpl
leafgate_api = ">=3,<4"

class Asleep(AttackModel):
    use: Literal["asleep"] = "asleep"

    def infer(self, release, known):
        open("begun", "w").close()
        time.sleep(3600)

@hookimpl
def attack_models():
    return [Asleep]
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.thorough
def test_an_audit_that_is_ended_ends_its_limited_attack(tmp_path: Path, number: signal.Signals, code: int) -> None:
    install(tmp_path, "acme_asleep", ASLEEP)
    policy = survey(tmp_path, {"attacks": [{"use": "asleep", "time_limit": LONG}], "metrics.0.of": "asleep"})
    running = start("audit", policy, path=tmp_path, cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + SECONDS
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline, running.communicate()
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert ended_in(running.pid, SECONDS)


def test_the_digest_of_a_policy_does_not_depend_on_time(tmp_path: Path) -> None:
    digests = []
    for changes in ({}, {"attacks.0.time_limit": 60.0}, {"attacks.0.time_limit": 6}):
        digests.append(load_policy(write_policy(tmp_path, changes)).sha256)
    assert len(set(digests)) == 1
    own = [{"attacks.0": {"use": "maxent", "time_limit": seconds}} for seconds in (5.0, 6.0)]
    assert len({load_policy(write_policy(tmp_path, changes)).sha256 for changes in own}) == 2


@pytest.mark.parametrize("seconds", [0, -1, "1 min", True])
def test_a_limit_that_is_no_number_of_seconds_is_refused(tmp_path: Path, seconds: object) -> None:
    with pytest.raises(PolicyError, match=r"attacks\[0\].time_limit"):
        load_policy(write_policy(tmp_path, {"attacks.0.time_limit": seconds}))


@pytest.mark.parametrize("times", [(5, 50), (50, 5), (None, 5), (5, None)])
def test_a_policy_that_extends_another_may_give_attacks_more_time_or_less(
    tmp_path: Path, times: tuple[float | None, float | None]
) -> None:
    parent, child = ([{"use": "linking", **({} if each is None else {"time_limit": each})}] for each in times)
    (tmp_path / "parent.yaml").write_text(
        json.dumps(json.loads(write_policy(tmp_path).read_text()) | {"attacks": parent})
    )
    (tmp_path / "child.yaml").write_text(
        json.dumps({"leafgate": 1, "name": "child", "extends": "parent.yaml", "attacks": child})
    )
    survey(tmp_path)
    assert leafgate("validate", tmp_path / "child.yaml").code == 0
