from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from example_counts import examples
from leafgate import InconclusiveError, Release, Table
from leafgate.api import AdversaryKnowledge, Branch, CategoricalSplit, Fact, Leaf, Level, Publish
from leafgate.testing import grant_knowledge
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.counting import diagnostics as sampling
from leafgate_plugins.maxent.counting.posterior import CountingPosterior, counting_posterior
from leafgate_plugins.maxent.problem import build as modelling
from leafgate_plugins.maxent.problem.problem import Problem
from literal_counting import count
from literal_maxent import model_of
from maxent_examples import AGE, DEGREE, SALARY
from random_maxent import LEVELS, VALUES, Case, cases, release_of, secret_tables, sklearn_cases
from random_tables import categorical, table_of

pytestmark = pytest.mark.thorough

SMALL = secret_tables(most=7, heaviest=3)

ILL = categorical("ill", "class", "sensitive", values=("no", "a bit", "very"))
TOWN = categorical("town", "quasi_identifier", values=("here", "there"))


def problem_of(release: Release, known: AdversaryKnowledge, *, internal: bool = True) -> Problem:
    return modelling.build_model(release, known, internal=internal).problem


def answer(problem: Problem, *, seed: int = 0, seconds: float = 60, most_states: int = 2_000_000) -> CountingPosterior:
    return counting_posterior(problem, seed=seed, deadline=time.monotonic() + seconds, most_states=most_states)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("internal", [True, False])
def test_the_posterior_is_that_of_brute_force(level: Level, internal: bool) -> None:
    @examples(1 / 2)
    @given(cases(SMALL, [level]) | sklearn_cases([level]))
    def check(case: Case) -> None:
        _, release, known = case
        try:
            expected = count(model_of(release, known, internal=internal))
        except ValueError:
            return
        assert expected is not None
        found = answer(problem_of(release, known, internal=internal))
        assert found.exact
        assert found.log_data_sets == pytest.approx(np.log(expected.data_sets), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(found.people / known.weight[:, None], expected.p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.people.sum(axis=1), known.weight, rtol=1e-12)

    check()


def survey(seed: int, level: Level) -> tuple[Table, Release]:
    """Twelve rows of three questions, and a tree that leaves some of them together."""
    rng = np.random.default_rng(seed)
    names, sizes = "abc", (2, 3, 2)
    columns = [categorical(n, "quasi_identifier", values=tuple("012"[:k])) for n, k in zip(names, sizes, strict=True)]
    columns.append(categorical("y", "class", "sensitive", values=VALUES[:3]))
    rows = [[*(str(rng.integers(k)) for k in sizes), VALUES[rng.integers(3)]] for _ in range(12)]
    table = table_of(columns, rows, rng.integers(1, 4, size=12).tolist())
    return table, release_of(Id3(min_split=6), table, level)


SAMPLED: Sequence[tuple[Level, int, bool]] = [
    ("counts", 1, False),
    ("error_rates", 3, False),
    ("error_rates", 0, True),
    ("labels", 2, False),
]


@pytest.mark.parametrize(("level", "seed", "distribution"), SAMPLED)
def test_the_sampler_agrees_with_counting(level: Level, seed: int, distribution: bool) -> None:
    table, release = survey(seed, level)
    known = grant_knowledge(table, distribution=distribution)
    exact, sampled = (answer(problem_of(release, known), most_states=most) for most in (10**7, 0))
    assert exact.exact
    assert not sampled.exact
    assert sampled.log_data_sets is None
    assert sampled.evidence["r_hat"] <= 1.05
    far = np.abs(exact.people - sampled.people) / known.weight[:, None]
    assert far.max() < 4 * sampled.evidence["standard_error"] <= 0.04


def test_the_sampler_repeats_by_seed() -> None:
    table, release = survey(3, "error_rates")
    one, same, other = (
        answer(problem_of(release, grant_knowledge(table)), seed=seed, most_states=0).people for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()


def test_chains_that_do_not_agree_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "R_HAT", 0.9)
    monkeypatch.setattr(sampling, "DOUBLINGS", 1)
    table, release = survey(1, "counts")
    with pytest.raises(InconclusiveError, match=r"not converged: R-hat 1\.0"):
        answer(problem_of(release, grant_knowledge(table)), most_states=0)


@pytest.mark.parametrize("most_states", [0, 10**6])
def test_no_time_is_no_answer(most_states: int) -> None:
    table, release = survey(1, "counts")
    with pytest.raises(InconclusiveError, match="in the time allowed"):
        answer(problem_of(release, grant_knowledge(table)), seconds=-1, most_states=most_states)


PLACE = [("here", "no"), ("here", "a bit"), ("there", "no"), ("there", "very")]
PLACES = table_of((TOWN, ILL), PLACE, [2, 1, 1, 1])


def leaf(stated: Leaf, level: Level = "counts") -> Release:
    """One leaf for everybody."""
    return Release(
        builder={"use": "id3"}, schema=PLACES.schema, trees=(stated,), publish=Publish(leaves=level, measure=False)
    )


def of_leaf(
    stated: Leaf, level: Level = "counts", facts: Sequence[Fact] = (), people: Table | None = None
) -> CountingPosterior:
    return answer(problem_of(leaf(stated, level), grant_knowledge(PLACES, facts=facts, people=people)))


@pytest.mark.parametrize("counts", [{"no": 3, "a bit": 1, "very": 2}, {"no": 6, "a bit": -1}])
def test_a_release_of_other_people_is_no_answer(counts: Mapping[str, int]) -> None:
    with pytest.raises(InconclusiveError, match="do not belong together"):
        of_leaf(Leaf("no", counts))


def test_divided_people_are_no_answer() -> None:
    with pytest.raises(InconclusiveError, match="whole numbers"):
        of_leaf(Leaf("no", error_rate=0.5), "error_rates")


@pytest.mark.parametrize(
    ("most_states", "message"), [(0, "agrees with the release was found"), (10**6, "do not belong together")]
)
def test_choices_that_no_data_set_explains_are_no_answer(
    monkeypatch: pytest.MonkeyPatch, most_states: int, message: str
) -> None:
    """Age tells nothing, and education does, however its five and seven people fall."""
    monkeypatch.setattr(sampling, "ROUNDS", 2)
    ages = ("20-30", "30-40")
    rows = [(a, d, s) for a, d in product(ages, ("Masters", "Doctorate")) for s in ("<=50K", ">50K")]
    table = table_of((AGE, DEGREE, SALARY), rows, [1, 1, 2, 2, 2, 1, 1, 2])
    half = Leaf("<=50K", {"<=50K": 3, ">50K": 3})
    asked = CategoricalSplit("age", tuple(Branch((age,), half) for age in ages))
    release = replace(release_of(Id3(), table, "counts"), trees=(asked,))
    with pytest.raises(InconclusiveError, match=message):
        answer(problem_of(release, grant_knowledge(table)), most_states=most_states)


def test_somebody_known_by_name_is_not_counted_again() -> None:
    """Two of the five are ill a bit or very; knowing one of two here to be ill a bit leaves one other of four."""
    people = table_of((TOWN, ILL), [("here", "a bit")])
    found = of_leaf(Leaf("no", {"no": 3, "a bit": 1, "very": 1}), people=people)
    np.testing.assert_allclose(found.people, [[1.5, 0.0, 0.5], [1.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert found.log_data_sets == pytest.approx(np.log(4))


def test_facts_of_groups_are_counted_with() -> None:
    """All three here share the two who are ill: 3 ways to say who."""
    fact = Fact({"town": ("there",)}, "ill", ("no",), 1, 1)
    found = of_leaf(Leaf("no", error_rate=0.4), "error_rates", [fact])
    np.testing.assert_allclose(found.people, [[1, 1, 1], [2, 0, 0]], atol=1e-12)
    assert found.log_data_sets == pytest.approx(np.log(3 * 2 * 2))


def test_a_label_is_no_rarer_than_any_class() -> None:
    found = of_leaf(Leaf("no"), "labels")
    ways = [w for w in product(range(3), repeat=5) if w.count(0) >= max(w.count(1), w.count(2))]
    assert found.log_data_sets == pytest.approx(np.log(len(ways)))
    assert found.people[:, 0].sum() == pytest.approx(np.mean([w.count(0) for w in ways]))


def test_trees_that_ask_unknown_columns_are_not_read() -> None:
    pet = categorical("pet", "private", values=("cat", "dog"))
    table = table_of((TOWN, pet, ILL), [("here", "cat", "no"), ("there", "dog", "very")])
    asked = CategoricalSplit(
        "pet", (Branch(("cat",), Leaf("no", {"no": 1})), Branch(("dog",), Leaf("very", {"very": 1})))
    )
    release = Release(
        builder={"use": "id3"}, schema=table.schema, trees=(asked,), publish=Publish(leaves="counts", measure=False)
    )
    with pytest.raises(InconclusiveError, match="reads only trees that ask public columns"):
        answer(problem_of(release, grant_knowledge(table)))
