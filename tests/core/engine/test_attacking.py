from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    GroupBelief,
    InconclusiveError,
    MechanismBelief,
    MembershipBelief,
    PeopleCount,
    SecretBelief,
)
from leafgate.app import Report, document, readable, summary
from standins import ORIGIN, attack_that, audited, even, finding

Says = Callable[[AdversaryKnowledge], Any]


def with_nosy(nosy: type[AttackModel], **said: Any) -> Report:
    return audited(nosy, attacks=[{"use": "calm"}, {"use": "nosy"}], **said)


def belief(known: AdversaryKnowledge) -> SecretBelief:
    return SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))


def chances(table: Any) -> Says:
    return lambda known: [replace(belief(known), posterior=table)]


def baseline(table: Any) -> Says:
    return lambda known: [replace(belief(known), prior=table)]


def groups(numbers: Any) -> Says:
    return lambda known: [replace(belief(known), equivalence_class=numbers)]


def evidence(document: Any) -> Says:
    return lambda known: [replace(belief(known), evidence=document)]


def records(**columns: list[Any]) -> Says:
    own = pd.DataFrame(columns)
    groups, unsure = np.zeros(len(own), dtype=int), pd.DataFrame({"flu": 0.5, "cold": 0.5}, index=own.index)
    return lambda known: [SecretBelief("ill", unsure, equivalence_class=groups, records=own)]


def shares(*rows: Any) -> Says:
    return chances(pd.DataFrame(rows, columns=["flu", "cold"]))


def certain() -> pd.DataFrame:
    return pd.DataFrame({"flu": [1.0, 0.0], "cold": [0.0, 1.0]})


def together(**believed: Any) -> SecretBelief:
    """A belief of two people who cannot be told apart; the group's number is none that a float can tell from others."""
    return SecretBelief("ill", equivalence_class=np.full(2, 2**60 + 1), **believed)


NOTHING: Any = None
NO_NAME: Any = ["ill"]
NO_NAMES: Any = 5
LISTS: Any = [["k"]]


class Own(SecretBelief):
    """No type of belief that a metric could declare."""


NONSENSE: dict[str, Says] = {
    "nothing": lambda known: None,
    "a number": lambda known: 7,
    "a belief outside a list": belief,
    "no belief in a list": lambda known: [None],
    "a dict": lambda known: [{"secret": "ill"}],
    "no belief at all": lambda known: [],
    "the same belief twice": lambda known: [belief(known), belief(known)],
    "a belief about what everybody knows": lambda known: [
        replace(belief(known), secret="zip", posterior=even(known, "zip"))
    ],
    "too few groups": groups(np.zeros(1)),
    "groups that are no numbers": groups(np.array(["a", "b"])),
    "groups that are NaN": groups(np.array([0.0, np.nan])),
    "half groups": groups(np.array([0.5, 1.0])),
    "groups in two dimensions": groups(np.zeros((2, 2), dtype=int)),
    "a group of people who are told apart": lambda known: [
        replace(
            belief(known),
            equivalence_class=np.zeros(2, dtype=int),
            posterior=pd.DataFrame({"flu": [1, 0.5], "cold": [0, 0.5]}),
        )
    ],
    "chances without a secret": lambda known: [replace(belief(known), secret=NOTHING)],
    "a secret without chances": chances(None),
    "an unknown secret": lambda known: [replace(belief(known), secret="height")],
    "a secret that is no name": lambda known: [replace(belief(known), secret=NO_NAME)],
    "chances in an array": chances(np.full((2, 2), 0.5)),
    "too few chances": shares((0.5, 0.5)),
    "too many chances": shares((0.5, 0.5), (0.5, 0.5), (0.5, 0.5)),
    "chances that are NaN": shares((0.5, np.nan), (0.5, 0.5)),
    "negative chances": shares((1.5, -0.5), (0.5, 0.5)),
    "people of one group who are believed different things": lambda known: [together(posterior=certain())],
    "people of one group with different alternatives": lambda known: [
        together(posterior=even(known), alternative_posteriors=[certain()])
    ],
    "chances that do not sum to one": shares((0.5, 0.4), (0.5, 0.5)),
    "chances that are words": shares(("likely", "not"), ("likely", "not")),
    "a baseline in an array": baseline(np.full((2, 2), 0.5)),
    "a baseline of too few": baseline(pd.DataFrame({"flu": [0.5], "cold": [0.5]})),
    "a baseline that does not sum to one": baseline(pd.DataFrame({"flu": [0.5, 0.5], "cold": [0.5, 0.4]})),
    "a baseline that is NaN": baseline(pd.DataFrame({"flu": [0.5, np.nan], "cold": [0.5, 0.5]})),
    "a baseline of another column": baseline(pd.DataFrame({"flu": [0.5, 0.5], "gout": [0.5, 0.5]})),
    "another column": chances(pd.DataFrame({"flu": [0.5, 0.5], "gout": [0.5, 0.5]})),
    "columns in another order": chances(pd.DataFrame({"cold": [0.5, 0.5], "flu": [0.5, 0.5]})),
    "no evidence": evidence(None),
    "evidence that is NaN": evidence({"gap": float("nan")}),
    "evidence that is no JSON": evidence({"gap": object()}),
    "evidence with half a character": evidence({"word": "\ud800"}),
    "evidence with a number nobody can print": evidence({"gap": 10**5000}),
    "people that are no number": evidence({"smallest": PeopleCount("Ben")}),  # type: ignore[arg-type]
    "people in an array's number": evidence({"smallest": PeopleCount(np.int64(3))}),  # type: ignore[arg-type]
    "a refutation that names nothing": lambda known: [MechanismBelief(refutes=NO_NAMES)],
    "a refutation that is a name": lambda known: [MechanismBelief(refutes="k")],
    "a refutation of a list": lambda known: [MechanismBelief(refutes=LISTS)],
    "an attempt that names nothing": lambda known: [MechanismBelief(tries=NO_NAMES)],
    "a refutation in the evidence": evidence({"refutes": ["k"]}),
    "a belief of no type": lambda known: [Belief()],
    "a belief of a type of its own": lambda known: [Own("ill", even(known))],
    "scores of candidates that it was not granted": lambda known: [MembershipBelief(np.zeros(2))],
    "groups without numbers": lambda known: [GroupBelief(NOTHING)],
    "two divisions into groups": lambda known: [GroupBelief(np.arange(2)), GroupBelief(np.arange(2))],
    "a population in no groups": lambda known: [
        replace(belief(known), equivalence_class=None, population_groups=np.arange(0))
    ],
    "shares of no groups": lambda known: [replace(belief(known), equivalence_class=None, certainty="shares")],
    "records without the public columns": records(age=[1, 2]),
    "records that leave people out": records(zip=["1"]),
    "records that name people twice": records(zip=["1", "2", "2"]),
}


@pytest.mark.parametrize("says", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_of_an_attack_is_inconclusive_and_its_own(says: Says) -> None:
    report = with_nosy(attack_that(lambda release, known: says(known)))
    assert (report.verdict, report.exit_code) == ("inconclusive", 3)
    assert finding(report, "sizes@calm#ill").passed is True
    assert finding(report, "sizes@calm#rich").passed is True
    failed = finding(report, "attack:nosy")
    assert failed.passed is None
    assert failed.plugin == ORIGIN
    assert readable(document(report, "auditor"))


def test_a_baseline_may_stand_beside_the_chances() -> None:
    frame = pd.DataFrame({"flu": [0.25, 0.5], "cold": [0.75, 0.5]})
    assert with_nosy(attack_that(lambda release, known: baseline(frame)(known))).verdict == "pass"


def test_people_of_one_group_may_differ_by_what_floating_point_adds() -> None:
    close = pd.DataFrame({"flu": [0.5, 0.5 + 1e-9], "cold": [0.5, 0.5 - 1e-9]})
    assert with_nosy(attack_that(lambda release, known: [together(posterior=close)])).verdict == "pass"


def test_people_of_one_group_may_not_differ_by_more_than_a_millionth() -> None:
    apart = pd.DataFrame({"flu": [0.5, 0.5 + 2e-6], "cold": [0.5, 0.5 - 2e-6]})
    report = with_nosy(attack_that(lambda release, known: [together(posterior=apart)]))
    assert "different rows for people of one equivalence class" in finding(report, "attack:nosy").evidence["problem"]


@pytest.mark.parametrize(("missing", "verdict"), [(0.5e-6, "pass"), (1e-4, "inconclusive")])
def test_a_row_of_chances_may_miss_1_by_what_floating_point_adds(missing: float, verdict: str) -> None:
    short = pd.DataFrame({"flu": [0.5, 0.5], "cold": [0.5, 0.5 - missing]})
    believed = attack_that(lambda release, known: [replace(each, posterior=short) for each in baseline(short)(known)])
    assert with_nosy(believed).verdict == verdict


def test_what_is_known_besides_the_release_may_tell_people_of_one_group_apart() -> None:
    nosy = attack_that(lambda release, known: [together(posterior=certain(), prior=even(known))])
    assert with_nosy(nosy).exit_code != 3


def test_what_is_believed_beforehand_may_differ_within_a_group() -> None:
    nosy = attack_that(lambda release, known: [together(posterior=even(known), prior=certain())])
    report = with_nosy(nosy)
    assert finding(report, "sizes@nosy#ill").value == 8


def test_an_attack_need_not_divide_people_into_groups() -> None:
    nosy = attack_that(lambda release, known: [replace(belief(known), equivalence_class=None)])
    report = with_nosy(
        nosy, metrics=[{"use": "sizes", "at_least": 4}, {"use": "sizes", "name": "s", "of": "nosy", "at_least": 4}]
    )
    assert finding(report, "sizes@calm#ill").passed is True
    assert finding(report, "s@nosy").evidence["problem"] == "there is no belief this metric can read"


def test_an_attack_may_speak_of_groups_of_a_secret_and_of_the_mechanism() -> None:
    def all_three(release: Any, known: AdversaryKnowledge) -> list[Belief]:
        return [belief(known), GroupBelief(np.arange(2)), MechanismBelief(tries=("calm",))]

    report = with_nosy(attack_that(all_three))
    assert [found.id for found in report.findings if found.attack == "nosy"] == ["sizes@nosy#ill", "sizes@nosy"]


def test_groups_whose_numbers_no_float_tells_apart_are_two_groups() -> None:
    nosy = attack_that(
        lambda release, known: [replace(together(posterior=certain()), equivalence_class=np.array([2**60, 2**60 + 1]))]
    )
    assert with_nosy(nosy).exit_code != 3


def test_an_attack_cannot_take_the_place_of_witnesses() -> None:
    nosy = attack_that(lambda release, known: evidence({"worst": 5})(known))
    report = with_nosy(nosy, build={"use": "stump", "claims": {"calm": 3}})
    assert summary(document(report, "auditor"))


def test_an_attack_may_speak_of_its_own_records() -> None:
    says = records(zip=["2", "1"], sign=["x", "y"])
    report = with_nosy(attack_that(lambda release, known: says(known)))
    assert finding(report, "sizes@nosy#ill").value == 8


def test_an_attack_that_could_not_tell_says_so_in_its_own_words() -> None:
    def gives_up(release: Any, known: Any) -> Any:
        raise InconclusiveError("the solver did not converge")

    found = finding(with_nosy(attack_that(gives_up)), "attack:nosy")
    assert found.evidence["problem"] == "the solver did not converge"


def test_an_attack_that_cannot_read_sampled_numbers_says_so() -> None:
    nosy = attack_that(lambda release, known: [belief(known)], reads=frozenset({"exact"}))
    assert with_nosy(nosy).verdict == "pass"
    report = with_nosy(nosy, build={"use": "stump", "counted": "sampled"})
    assert report.verdict == "inconclusive"
    assert "sampled" in finding(report, "attack:nosy").evidence["problem"]


def test_an_attack_that_cannot_explain_its_groups_still_counts() -> None:
    def explains(group: int) -> str:
        raise ValueError("Ben has flu")

    nosy = attack_that(lambda release, known: [replace(belief(known), explain=explains)])
    report = with_nosy(nosy, metrics=[{"use": "sizes", "at_least": 5}])
    assert report.verdict == "fail"
    assert finding(report, "sizes@nosy#ill").violations == 8
    assert b"Ben" not in readable(document(report, "auditor"))


def test_an_explanation_that_is_no_text_is_left_out() -> None:
    explains: Any = lambda group: object()  # noqa: E731
    nosy = attack_that(lambda release, known: [replace(belief(known), explain=explains)])
    report = with_nosy(nosy, metrics=[{"use": "sizes", "at_least": 5}])
    assert readable(document(report, "auditor"))


def test_the_traceback_of_an_attack_is_shown_to_who_writes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def divides(release: Any, known: Any) -> Any:
        return 1 / 0

    assert with_nosy(attack_that(divides)).verdict == "inconclusive"
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("LEAFGATE_TRACEBACK", "1")
    with_nosy(attack_that(divides))
    assert "return 1 / 0" in capsys.readouterr().err


def test_trouble_is_placed_in_the_plugins_own_code() -> None:
    def raises(release: Any, known: Any) -> Any:
        return np.stack([])

    problem = finding(with_nosy(attack_that(raises)), "attack:nosy").evidence["problem"]
    assert ".infer (" in problem or ".raises" in problem


def test_an_attack_that_cannot_read_a_model_says_so() -> None:
    nosy = attack_that(lambda release, known: [belief(known)], models=frozenset({"none"}))
    problem = finding(with_nosy(nosy), "attack:nosy").evidence["problem"]
    assert "cannot read a release whose model is trees" in problem
