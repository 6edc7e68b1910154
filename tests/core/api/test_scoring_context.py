"""ScoringContext.observed: reads of a table's secrets are recorded, and asking the guard records nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from broken_plugins.metrics import Separation
from leafgate import LeafgateError
from leafgate.algorithms.derivable import undisclosed_reads
from leafgate.api import (
    AtLeast,
    GroupBelief,
    MechanismBelief,
    MembershipBelief,
    Metric,
    Public,
    ScoringContext,
    UnreadableError,
)
from leafgate.app import Plugins, VisibleTo
from leafgate.engine.audience import audience_of_score
from leafgate.kernel.context import Observation
from leafgate.kernel.knowledge import Membership
from leafgate.testing.components import text_of
from leafgate.testing.metrics import candidates_case, people_case
from leafgate.testing.scenarios import full_tree_release

SECRET = "illness"
POSTERIOR, PRIOR, COMPOSITION, PEOPLE, SCORED, OVERALL, TRUTH, NUMBERS, SIZES, MEMBERSHIP, TABLES = Observation
PROPERTIES = [
    name
    for name, what in vars(ScoringContext).items()
    if isinstance(what, property | cached_property) and name != "everyone"  # which is the table, as `table` is
]
READS_SECRETS = {
    "posterior": {"derived": {POSTERIOR}, "composition": {POSTERIOR, COMPOSITION}},
    "prior": {"derived": {PRIOR}, "composition": {PRIOR}},
    "_composition": {"derived": {COMPOSITION}, "composition": {COMPOSITION}},
    "worst_case_posteriors": {"derived": {TRUTH}, "composition": {TRUTH}},
    "people_by_value": {"derived": {SCORED}, "composition": {SCORED, COMPOSITION}},
    "overall": {"derived": {OVERALL}, "composition": {OVERALL}},
    "truth": {"derived": {TRUTH}, "composition": {TRUTH}},
    "sizes": {"derived": {SIZES}, "composition": {SIZES}},
    "population": {"derived": {SIZES}, "composition": {SIZES}},
}


def a_case(scored: Any = "derived") -> ScoringContext:
    """A tree that asks for a private column."""
    case = people_case(0.5)
    return replace(case, release=full_tree_release(case.table, "much"), scored=scored, observed=set())


def with_other_secrets(case: ScoringContext) -> ScoringContext:
    """The same context, but everybody in the table has the first value of the secret."""
    table = case.table
    frame = table.frame.assign(**{SECRET: table.frame[SECRET].iloc[np.zeros(len(table), dtype=int)].to_numpy()})
    frame[SECRET] = frame[SECRET].astype(table.frame[SECRET].dtype)
    return replace(case, table=replace(table, frame=frame), observed=set())


def value(case: ScoringContext, name: str) -> str:
    try:
        return text_of([getattr(case, name)])
    except LeafgateError as error:
        return str(error)


@pytest.mark.parametrize("scored", ["derived", "composition"])
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_that_reads_the_tables_secrets_records_it(name: str, scored: str) -> None:
    """A new property whose value follows the table's secrets fails here until it records what it reads."""
    case = a_case(scored)
    depends = value(case, name) != value(with_other_secrets(a_case(scored)), name)
    assert case.observed == READS_SECRETS.get(name, {}).get(scored, set())
    assert case.observed or not depends


@pytest.mark.parametrize(
    "name", [name for name in READS_SECRETS if isinstance(vars(ScoringContext)[name], cached_property)]
)
def test_a_property_turned_into_a_method_still_records_the_read(name: str) -> None:
    case = a_case("composition")
    vars(ScoringContext)[name].func(case)
    assert name not in vars(case)
    assert case.observed == READS_SECRETS[name]["composition"]


ROUTES: dict[str, tuple[Callable[[ScoringContext], object], Observation]] = {
    "a copy": (lambda case: replace(case).truth, TRUTH),
    "a copy that holds the composition": (lambda case: replace(case, scored="composition").posterior, COMPOSITION),
    "a name in a text": (lambda case: getattr(case, "over" + "all"), OVERALL),
    "what the engine uses": (lambda case: case.worst_case_posteriors, TRUTH),
}


@pytest.mark.parametrize(("read", "what"), ROUTES.values(), ids=ROUTES)
def test_a_read_by_another_route_is_recorded(read: Callable[[ScoringContext], object], what: Observation) -> None:
    case = a_case()
    read(case)
    assert what in case.observed


@pytest.mark.parametrize("name", ["table", "test", "known"])
def test_a_metric_of_the_release_is_recorded_to_read_tables_and_no_other_is(name: str) -> None:
    case = a_case()
    own = case.of_release_metric()
    assert (getattr(case, name), case.scored) == (vars(own)[name], "derived")
    assert case.observed == {SCORED}
    assert getattr(own, name) is getattr(case, name)
    assert case.observed == {SCORED, TABLES}
    assert own.with_own_record().table is case.table


def test_a_read_that_fails_records_nothing() -> None:
    case = replace(a_case(), belief=GroupBelief(np.zeros(len(a_case().known.records), dtype=int)), observed=set())
    for name in READS_SECRETS.keys() - {"sizes"}:  # which such a belief has
        with pytest.raises(LeafgateError):
            getattr(case, name)
    assert not case.observed


def test_a_copy_with_its_own_record_leaves_the_record_alone() -> None:
    case = a_case()
    assert (case.with_own_record().truth is not None, case.observed) == (True, set())
    assert case.with_own_record("composition").scored == "composition"
    assert case.with_own_record().scored == "derived"


class Asks(AtLeast):
    """A metric whose own guard reads everything."""

    use: str = "asks"

    def public_in(self, case: ScoringContext) -> Public:
        return "verdict" if len(case.posterior) + len(case.truth) + len(case.overall) == 0 else "coarse"


def is_hidden(metric: Metric, case: ScoringContext, sensitivity: float = 0.0) -> bool:
    return audience_of_score(metric, Plugins(), [case], None, sensitivity) == VisibleTo.AUDITORS


def test_asking_the_guard_adds_no_observation() -> None:
    case = a_case()
    assert case.truth is not None
    hidden = [is_hidden(Asks(at_least=1), case) for _ in range(2)]
    assert (hidden, case.observed) == ([True, True], {TRUTH})
    assert undisclosed_reads(case) == {TRUTH}
    assert case.observed == {TRUTH}
    assert not is_hidden(Asks(at_least=1), a_case())


def test_who_is_in_the_table_is_read_by_the_property_that_records_it() -> None:
    truth = Membership(np.array([True, False]), np.array([False, False]))
    case = replace(a_case(), belief=MembershipBelief(np.zeros(2)), _membership=truth, observed=set())
    assert undisclosed_reads(case) == frozenset()
    assert case.membership is truth
    assert undisclosed_reads(case) == {MEMBERSHIP}


def test_a_belief_is_read_as_the_type_that_it_is() -> None:
    case = replace(a_case(), belief=MembershipBelief(np.zeros(2)))
    assert case.require_belief(MembershipBelief).scores.tolist() == [0, 0]
    with pytest.raises(UnreadableError, match="no MechanismBelief"):
        case.require_belief(MechanismBelief)
    with pytest.raises(UnreadableError, match="no candidates"):
        assert case.membership


@pytest.mark.parametrize(("sensitivity", "hidden"), [(0.0, True), (0.01, False)])
def test_a_score_of_candidates_is_hidden_unless_it_states_how_far_one_of_them_moves_it(
    sensitivity: float, hidden: bool
) -> None:
    case, metric = candidates_case(1.0), Separation(at_most=1)
    metric.score(case)
    assert Observation.MEMBERSHIP in case.observed
    assert is_hidden(metric, case, sensitivity) is hidden
