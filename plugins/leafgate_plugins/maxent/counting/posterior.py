"""The posterior when everybody's class is a fact: uniform over all data sets that agree with everything known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.api import Floats
from leafgate_plugins.maxent.counting.answer import Answer, out_of_time, refuse_parts_of_people
from leafgate_plugins.maxent.counting.closed_form import closed_form
from leafgate_plugins.maxent.counting.components import Component, components_of
from leafgate_plugins.maxent.counting.constraints import integer_model, sums_of, violated_splits
from leafgate_plugins.maxent.counting.diagnostics import sample_component
from leafgate_plugins.maxent.counting.exact import enumerate_component
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.solve.infeasibility import raise_on_conflict

MAX_CELLS_FOR_LP = 20_000
"""Up to so many cells a linear program looks first whether facts contradict each other, or the release."""


@dataclass(frozen=True)
class CountingPosterior:
    """`people[s, x]` of public row s are expected to have class x.

    `log_data_sets` is the natural logarithm of the number of data sets, each an assignment of classes to
    people; None unless everything was counted exactly. `evidence` can be written as JSON.
    """

    people: Floats
    log_data_sets: float | None
    exact: bool
    evidence: dict[str, Any]


def counting_posterior(
    problem: Problem, *, seed: int, deadline: float, most_states: int = 200_000
) -> CountingPosterior:
    """What an adversary who counts data sets expects; `deadline` is a time of `time.monotonic`.

    Parts of the problem that nothing joins are counted on their own: in closed form, by listing where at most
    `most_states` steps do, else by sampling. Everything repeats by seed. Raises InconclusiveError where
    time is up, the sampler has not converged, leaves do not publish whole numbers, no data set satisfies everything
    that is known, or trees test columns that the adversary does not know.

    Departure: the paper (Zhu, Du 2010) relaxes shares of people to real numbers; its Example 1 argues with
    whole people.
    """
    refuse_parts_of_people(problem)
    if problem.allowed.size <= MAX_CELLS_FOR_LP and any(linear.kind == "background" for linear in problem.linear):
        raise_on_conflict(problem, deadline)
    model = integer_model(problem)
    equal, least = sums_of(problem, model)
    violated = violated_splits(problem, model)
    people, log_data_sets = model.certain.astype(np.float64), model.log_ways
    answers = []
    for number, component in enumerate(components_of(model, equal, least, violated)):
        if time.monotonic() > deadline:
            raise out_of_time()
        answer = _answer(component, [seed, number], deadline, most_states)
        people[component.row] += component.rows(answer.people, model.open)
        log_data_sets += answer.log_data_sets or 0.0
        answers.append(answer)
    exact = all(answer.log_data_sets is not None for answer in answers)
    fields = {
        "people_certain": int(model.certain.sum()),
        "internal_that_matter": len(violated),
        **_evidence(answers),
    }
    return CountingPosterior(people, log_data_sets if exact else None, exact, fields)


def _answer(component: Component, seed: Sequence[int], deadline: float, most_states: int) -> Answer:
    answer = closed_form(component, deadline) or enumerate_component(component, most_states, deadline)
    return answer or sample_component(component, np.random.default_rng(seed), deadline)


def _evidence(answers: Sequence[Answer]) -> dict[str, Any]:
    """How many parts were counted how; of those sampled the worst diagnostics."""
    sampled = [answer.evidence for answer in answers if answer.log_data_sets is None]
    found: dict[str, Any] = {
        "parts": len(answers),
        "parts_listed": sum("listed" in answer.evidence for answer in answers),
        "parts_sampled": len(sampled),
    }
    if sampled:
        found |= {
            "chains": min(each["chains"] for each in sampled),
            "r_hat": max(each["r_hat"] for each in sampled),
            "effective_draws": min(each["effective_draws"] for each in sampled),
            "standard_error": max(each["standard_error"] for each in sampled),
            "moves": sum(each["moves"] for each in sampled),
        }
    return found
