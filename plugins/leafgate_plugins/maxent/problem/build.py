"""Build the problem from a release and the adversary's knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.api import AdversaryKnowledge, Column, Mask, Release, Table, columns_asked
from leafgate_plugins.maxent.problem.candidate_splits import candidate_rules, split_constraints
from leafgate_plugins.maxent.problem.leaf_constraints import (
    LinearConstraints,
    label_constraints,
    leaf_constraints,
    mask_constraints,
    row_constraints,
)
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.problem.strata import ProblemRows, Strata, people_of, strata_of
from leafgate_plugins.maxent.problem.tree_index import index_tree


@dataclass(frozen=True)
class Model:
    """The problem, whose rows are those of `people`, and what its classes are."""

    problem: Problem
    people: ProblemRows
    target: Column


def build_model(release: Release, known: AdversaryKnowledge, *, internal: bool, members: bool = True) -> Model:
    """The problem of who has which class, and which unknown cells, given everything the adversary has.

    Unless `members`, the adversary knows `AdversaryKnowledge.population` and not who of it is in the table.
    Raises InconclusiveError where there are too many cases to distinguish.
    """
    people = people_of(known, members=members)
    public = people.public
    target = known.schema.target
    strata = strata_of(release.trees, public, known.schema, _separated_columns(release, known), members=members)
    trees = [index_tree(tree) for tree in release.trees]
    weight = public.weight[strata.row].astype(np.float64)
    linear = [
        row_constraints(strata.row, public.weight.astype(np.float64), len(target.domain)),
        *leaf_constraints(release, trees, strata, weight, target),
        *label_constraints(release, strata, weight, target, known.label_accuracies),
        *_background(known, public, strata, target, members=members),
    ]
    rules, why = candidate_rules(release, known.schema, members=members) if internal else (None, "not asked for")
    left_out: dict[str, int | str] = {} if rules else {"internal": why}
    choices = []
    if rules is not None and release.count_semantics == "exact":
        found = (
            split_constraints(tree, strata, i, public, known.schema, weight, rules) for i, tree in enumerate(trees)
        )
        choices = [each for each in found if each is not None and len(each)]
    elif rules is not None:
        left_out = {"internal": f"the numbers count other people than the table's: {release.count_semantics}"}
    if release.records is not None:
        left_out["records"] = "published records are not read"
    possible = _allowed(people, strata, target)
    allowed = possible & ~_ruled_out(known, public, strata, target)
    settled = release.publish.leaves in ("counts", "shares") or (
        release.publish.leaves == "error_rates" and len(target.domain) == 2
    )
    problem = Problem(public, strata, len(target.domain), allowed, trees, linear, choices, left_out, settled, possible)
    return Model(problem, people, target)


def _separated_columns(release: Release, known: AdversaryKnowledge) -> list[str]:
    """Unknown columns, besides the class, whose values need strata of their own."""
    asked = frozenset[str]().union(*(columns_asked(tree) for tree in release.trees))
    about = {fact.column for fact in known.facts}
    if known.people is not None:
        about |= {column.name for column in known.people.schema.columns}
    secrets = {column.name for column in known.schema.secrets if column.values is not None}
    wanted = (asked & secrets) | about
    return [
        column.name
        for column in known.schema.columns
        if column.name in wanted and not column.public and column.name != known.schema.target.name
    ]


def _background(
    known: AdversaryKnowledge, public: Table, strata: Strata, target: Column, *, members: bool
) -> Iterator[LinearConstraints]:
    """What is known of some people, of all, and of groups of them."""
    weight = public.weight.astype(np.float64)
    for name, shares in known.distribution.items():
        if members and (name == target.name or name in strata.value):
            domain = known.schema[name].domain
            masks = [_having(strata, target, name, [code]) for code in range(len(domain))]
            bounds = [shares[str(value)] * weight.sum() for value in domain]
            yield mask_constraints("distribution", masks, bounds, equal=True)
    masks, bounds, about = [], [], []
    for number, fact in enumerate(known.facts):
        inside = fact.holds_for(public)
        domain = known.schema[fact.column].domain
        having = _having(strata, target, fact.column, [domain.index(value) for value in fact.values])
        there = inside[strata.row][:, None]
        people = weight[inside].sum()
        masks += [having & there, ~having & there]
        bounds += [fact.low * people, (1 - fact.high) * people]
        about += [number, number]
    if masks:
        yield mask_constraints("background", masks, bounds, about=about)


def _having(strata: Strata, target: Column, name: str, codes: Sequence[int]) -> Mask:
    """The cells of people who have one of some values of an unknown column."""
    classes = len(target.domain)
    if name == target.name:
        return np.broadcast_to(np.isin(np.arange(classes), codes), (len(strata), classes))
    return np.broadcast_to(np.isin(strata.value[name], codes)[:, None], (len(strata), classes))


def _ruled_out(known: AdversaryKnowledge, public: Table, strata: Strata, target: Column) -> Mask:
    """The cells that a fact leaves nobody in: none of some people has a value, or all have others."""
    empty = np.zeros((len(strata), len(target.domain)), dtype=bool)
    for fact in known.facts:
        domain = known.schema[fact.column].domain
        having = _having(strata, target, fact.column, [domain.index(value) for value in fact.values])
        there = fact.holds_for(public)[strata.row][:, None]
        empty |= there & ((having & (fact.high <= 0)) | (~having & (fact.low >= 1)))
    return empty


def _allowed(people: ProblemRows, strata: Strata, target: Column) -> Mask:
    """Which cells can hold anybody: of whom something is known, only those where it is so."""
    allowed = np.ones((len(strata), len(target.domain)), dtype=bool)
    if target.public:
        allowed &= people.public.codes(target.name)[strata.row][:, None] == np.arange(allowed.shape[1])
    for name, code in people.known.items():
        mine = code[strata.row]
        if name == target.name:
            allowed &= (mine[:, None] < 0) | (mine[:, None] == np.arange(allowed.shape[1]))
        else:
            allowed &= ((mine < 0) | (mine == strata.value[name]))[:, None]
    return allowed
