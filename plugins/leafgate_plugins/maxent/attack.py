"""One belief for each secret, from a release and the adversary's knowledge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.derivable import mark_unmodelled_scores
from leafgate.kernel.belief import Certainty
from leafgate_plugins.maxent.counting.posterior import counting_posterior
from leafgate_plugins.maxent.problem.build import Model, build_model
from leafgate_plugins.maxent.problem.leaf_constraints import leaf_statistics
from leafgate_plugins.maxent.problem.problem import EntropyMaximum, Problem, SolveSettings
from leafgate_plugins.maxent.problem.split_constraints import SplitConstraints
from leafgate_plugins.maxent.problem.tree_index import TreeIndex
from leafgate_plugins.maxent.solve.active_set import solve
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.infeasibility import count_by_kind


def describe_split_constraint(choices: SplitConstraints, constraint: int, walked: TreeIndex) -> str:
    """A split constraint in words: the tree tests T and not W at a node."""
    inner = walked.inner[int(choices.node[constraint])]
    segment, behind = int(choices.segment[constraint]), int(choices.cut_after[constraint])
    other = choices.cells.names[int(choices.cells.column[segment])]
    how = "" if behind < 0 else f" (cut {behind - int(choices.cells.start[segment]) + 1} of its numbers there)"
    where = " and ".join(_describe_answer(node, child) for node, child in walked.answers(inner.path)) or "at the root"
    return f"{where}: the tree asks {_describe_test(inner.node)} and not {other}{how}"


def _describe_test(node: api.NumericSplit | api.CategoricalSplit) -> str:
    return f"{node.column} <= {node.at:g}" if isinstance(node, api.NumericSplit) else node.column


def describe_leaf(walked: TreeIndex, leaf: int) -> str:
    """The answers on the path to a leaf, and what the leaf publishes, in words."""
    if leaf < 0:
        return "no leaf"
    path = (
        " and ".join(_describe_answer(node, child) for node, child in walked.answers(walked.paths[leaf])) or "everyone"
    )
    return f"{path} -> {walked.leaves[leaf].words}"


def _describe_answer(node: api.NumericSplit | api.CategoricalSplit, child: int) -> str:
    if isinstance(node, api.NumericSplit):
        sign = "<" if node.strict else "<="
        return f"{node.column} {sign} {node.at:g}" if child == 0 else f"not {node.column} {sign} {node.at:g}"
    if child == len(node.branches):
        return f"{node.column} = any other"
    values = [str(value) if value is not None else "missing" for value in node.branches[child].values]
    return f"{node.column} = {values[0]}" if len(values) == 1 else f"{node.column} in {{{', '.join(values)}}}"


MAX_BINDING = 10
"""Split constraints with the largest duals that the evidence names."""
MAX_LEAVES = 4
"""Reachable leaves that the explanation of a group names."""


def group_explainer(model: Model, groups: api.Ids) -> Callable[[int], str]:
    """What the release states of a group: the leaves its people can reach, of the first tree."""

    def explain(group: int) -> str:
        problem = model.problem
        row = model.people.row_of(int(np.flatnonzero(groups == group)[0]))
        leaves = np.unique(problem.strata.leaf[problem.strata.row == row, :1]).tolist()
        more = f" or {len(leaves) - MAX_LEAVES} more" if len(leaves) > MAX_LEAVES else ""
        return " or ".join(describe_leaf(problem.trees[0], leaf) for leaf in leaves[:MAX_LEAVES]) + more

    return explain


def solution_evidence(model: Model, outcome: EntropyMaximum) -> dict[str, Any]:
    """Solver, constraints and optimality gap of a solution; what depends on cells of people is for auditors only."""
    problem = model.problem
    constraints = count_by_kind(problem.linear) | {"internal": sum(map(len, problem.split_constraints))}
    document: dict[str, Any] = {
        "solver": outcome.engine,
        "convex": outcome.convex,
        "gap": outcome.gap,
        "constraints": api.AuditorOnly({kind: count for kind, count in constraints.items() if count}),
        "imposed": api.AuditorOnly(dict(outcome.active)),
        "missed": api.AuditorOnly(dict(outcome.violations)),
        "entropy": api.AuditorOnly(outcome.entropy),
        "entropy_at_most": api.AuditorOnly(outcome.bound),
    }
    document |= {f"without_{kind}": reason for kind, reason in problem.left_out.items()}
    if outcome.engine_difference is not None:
        document["engines_apart"] = outcome.engine_difference
    if not outcome.convex:
        document["starts"] = api.AuditorOnly(list(outcome.optima))
    if outcome.binding:
        document["because"] = api.AuditorOnly(_describe_binding(problem, outcome))
    return document


def _describe_binding(problem: Problem, outcome: EntropyMaximum) -> list[Mapping[str, Any]]:
    """The split constraints with the largest duals, in words."""
    items: list[Mapping[str, Any]] = []
    for each in outcome.binding[:MAX_BINDING]:
        choices = problem.split_constraints[each.tree]
        words = describe_split_constraint(choices, each.constraint, problem.trees[choices.tree])
        items.append({"choice": words, "price": each.dual})
    return items


def infer(
    release: api.Release, known: api.AdversaryKnowledge, settings: SolveSettings, *, internal: bool, members: bool
) -> list[api.SecretBelief] | list[api.GroupBelief]:
    """The posterior of largest entropy for each secret, with the leaves-only posterior as its prior.

    Args:
        release: what is published.
        known: what the adversary knows.
        settings: the engine, its number of starts and its time limit.
        internal: use the constraints of the splits.
        members: the adversary knows who is in the training data.

    Raises:
        InconclusiveError: when the optimum cannot be found or certified in time.
    """
    model = build_model(release, known, internal=internal, members=members)
    outcome = solve(model.problem, settings)
    evidence = solution_evidence(model, outcome)
    if not members:
        full = build_model(release, known, internal=internal)
        cost = _cost_of_unknown_members(known, full, solve(full.problem, settings), model, outcome)
        evidence["cost_of_not_knowing_members"] = api.AuditorOnly(cost)
    leaves = leaves_only(release, known, members, settings)
    return _beliefs(release, model, known, outcome.people, evidence, leaves, others=outcome.alternatives)


def infer_counting(
    release: api.Release, known: api.AdversaryKnowledge, *, internal: bool, most_states: int, time_limit: float
) -> list[api.SecretBelief] | list[api.GroupBelief]:
    """The posterior when every data set that agrees with the release is equally likely.

    Args:
        release: what is published.
        known: what the adversary knows.
        internal: use the constraints of the splits.
        most_states: components with more states are sampled instead of enumerated.
        time_limit: seconds.

    Raises:
        InconclusiveError: when the data sets cannot be counted in time.
    """
    model = build_model(release, known, internal=internal)
    deadline = time.monotonic() + time_limit
    posterior = counting_posterior(model.problem, seed=known.seed, deadline=deadline, most_states=most_states)
    evidence: dict[str, Any] = {"exact": posterior.exact, "counted": api.AuditorOnly(posterior.evidence)}
    evidence |= {f"without_{kind}": reason for kind, reason in model.problem.left_out.items()}
    if posterior.log_data_sets is not None:
        evidence["log_data_sets"] = api.AuditorOnly(posterior.log_data_sets)
    leaves = leaves_only(release, known, True, SolveSettings(time_limit=time_limit))
    certainty: Certainty = "certain" if posterior.exact else "guess"  # true in every data set is true in this one
    return _beliefs(release, model, known, posterior.people, evidence, leaves, certainty=certainty)


def _beliefs(
    release: api.Release,
    model: Model,
    known: api.AdversaryKnowledge,
    people: api.Floats,
    evidence: dict[str, Any],
    leaves: tuple[Model, api.Floats],
    *,
    others: Sequence[api.Floats] = (),
    certainty: Certainty = "guess",
) -> list[api.SecretBelief] | list[api.GroupBelief]:
    secrets = [column for column in known.schema.secrets if column.values is not None]
    groups = groups_of(model, known)
    explain = group_explainer(model, groups)
    if not secrets:
        return [api.GroupBelief(groups, evidence=evidence, explain=explain)]
    bare = replace(known, distribution={})

    def believed(model: Model, people: api.Floats, secret: api.Column, known: api.AdversaryKnowledge) -> pd.DataFrame:
        return with_leaf_statistics(posterior_of(model, people, secret, known), model, secret, release)

    beliefs = [
        api.SecretBelief(
            secret.name,
            believed(model, people, secret, known),
            equivalence_class=groups,
            evidence=evidence,
            explain=explain,
            prior=believed(*leaves, secret, bare),
            alternative_posteriors=tuple(believed(model, other, secret, known) for other in others),
            certainty=certainty,
        )
        for secret in secrets
    ]
    return [mark_unmodelled_scores(belief, release) for belief in beliefs]


def with_leaf_statistics(chances: pd.DataFrame, model: Model, secret: api.Column, release: api.Release) -> pd.DataFrame:
    """The belief about the class, or what the leaves say as it stands where that is more certain of a value.

    Numbers of other people than the table's, or of unknown counting, are no constraints: they could contradict
    each other. But an adversary who reads in the file that all people of a leaf are ill believes it.
    """
    if release.count_semantics not in {"unknown", "bootstrap"} or secret.name != model.target.name:
        return chances
    strata, owner = model.problem.strata, model.people.owner[model.problem.strata.row]
    statistics = leaf_statistics(model.problem.trees, strata, model.target)
    if statistics is None:
        return chances
    total = np.zeros((int(owner.max(initial=-1)) + 1, statistics.shape[1]))
    np.add.at(total, owner, np.nan_to_num(statistics) * model.problem.reference[:, None])
    solved = chances.to_numpy()
    rows = np.where(solved > 0, total[model.people.position], 0)  # what is known of people rules values out
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    surer = rows.max(axis=1, keepdims=True) > solved.max(axis=1, keepdims=True)
    return pd.DataFrame(np.where(surer, rows, solved), columns=chances.columns)


def leaves_only(
    release: api.Release, known: api.AdversaryKnowledge, members: bool, settings: SolveSettings
) -> tuple[Model, api.Floats]:
    """What the leaves say, without the choices of tests and without what else the adversary knows."""
    bare = replace(known, people=None, facts=(), distribution={})
    model = build_model(release, bare, internal=False, members=members)
    people, exact = closed_form(model.problem)
    return model, people if exact else solve(model.problem, replace(settings, solver="structured")).people


def posterior_of(model: Model, people: api.Floats, secret: api.Column, known: api.AdversaryKnowledge) -> pd.DataFrame:
    """A row for each record of Known, a column for each value of the secret; rows add up to 1."""
    problem, size = model.problem, len(secret.domain)
    strata = problem.strata
    values = np.zeros((int(model.people.owner.max(initial=-1)) + 1, size))
    owner = model.people.owner[strata.row]
    if secret.name == model.target.name:
        np.add.at(values, owner, people)
    elif secret.name in strata.value:
        cell = owner * size + strata.value[secret.name]
        np.add.at(values.reshape(-1), cell, people.sum(axis=1))
    else:
        shares = known.distribution.get(secret.name)
        prior = [1 / size] * size if shares is None else [shares[str(value)] for value in secret.domain]
        values += np.array(prior)
    values = np.maximum(values[model.people.position], 0)
    return pd.DataFrame(values / values.sum(axis=1, keepdims=True), columns=pd.Index(list(secret.domain)))


def groups_of(model: Model, known: api.AdversaryKnowledge) -> api.Ids:
    """People who can reach the same leaves of each tree are a group, if the class is public those of one class."""
    problem, people = model.problem, model.people
    number = np.unique(problem.strata.leaf, axis=0, return_inverse=True)[1].ravel()
    mark = np.random.default_rng(0).integers(1, 2**63, size=int(number.max(initial=0)) + 1, dtype=np.uint64)
    total = np.zeros(len(problem.weight), dtype=np.uint64)
    np.add.at(total, problem.strata.row, mark[number])
    of_record = np.zeros(int(people.owner.max(initial=-1)) + 1, dtype=np.uint64)
    of_record[people.owner] = total
    groups = np.unique(of_record, return_inverse=True)[1].astype(np.int64)[people.position]
    if not model.target.public:
        return groups
    own_class = known.public.codes(model.target.name)
    return np.asarray(np.unique(groups * len(model.target.domain) + own_class, return_inverse=True)[1].astype(np.int64))


def _cost_of_unknown_members(
    known: api.AdversaryKnowledge, full: Model, full_outcome: EntropyMaximum, model: Model, outcome: EntropyMaximum
) -> dict[str, float]:
    """Conditional entropy of the class, in nats per person of the table, with and without known membership."""
    weight = known.weight / known.weight.sum()

    def conditional_entropy(model: Model, people: api.Floats) -> float:
        p = posterior_of(model, people, model.target, known).to_numpy()
        return float(weight @ -(p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(axis=1))

    return {
        "knowing": conditional_entropy(full, full_outcome.people),
        "not_knowing": conditional_entropy(model, outcome.people),
    }
