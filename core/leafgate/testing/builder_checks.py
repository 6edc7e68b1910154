"""The checks of builders."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from leafgate.algorithms.consistency import inconsistent_leaves, inconsistent_records
from leafgate.api.registry import load_plugins
from leafgate.engine.knowledge import grant_knowledge
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import release_bytes
from leafgate.kernel.belief import MechanismBelief
from leafgate.kernel.components import AttackModel, Neighbours
from leafgate.kernel.findings import lenient
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import leaves
from leafgate.testing.check import DoesNotApply, NonConformance
from leafgate.testing.common_checks import COMMON_CHECKS
from leafgate.testing.sandbox import MARK, SIGN
from leafgate.testing.scenarios.malformed import edge_case_tables
from leafgate.testing.scenarios.tables import (
    planted,
    relabelled,
    reordered,
    shuffled,
    survey,
    written_out,
)
from leafgate.testing.subjects import MANY, BuilderSubject

OF_ITSELF = ("builder", "selection", "guarantee", "combine", "counted", "publish")
"""The parts of a release that say how it came about."""


def builds(subject: BuilderSubject) -> None:
    """It makes of an ordinary table a release that a file can hold."""
    assert subject.accepted


def respects_weights(subject: BuilderSubject) -> None:
    """A row of several people is so many people: the release is that of the table with a row for each."""
    subject.require_repeatable()
    for table, release in subject.releases:
        if partition(release) != partition(subject.built(written_out(table))):
            raise NonConformance(
                "it makes another release of the same people when each has a row alone",
                "count `table.weight`, never rows",
            )


def counts_truly(subject: BuilderSubject) -> None:
    """Numbers that are said to count the table's people exactly do so; a leaf is labelled with what most there are."""
    exact = [(release, table) for table, release in subject.releases if release.count_semantics == "exact"]
    if not exact:
        raise DoesNotApply("it does not say that its numbers count exactly")
    for release, table in exact:
        if inconsistent_leaves(release, table) or inconsistent_records(release, table):
            raise NonConformance(
                "numbers of its release are not those of the table's people, and it says `counted` exact",
                "count `table.weight`; say what else the numbers count in `counted`",
            )
        if any(_mislabelled(leaf) for tree in release.trees for leaf in leaves(tree)):
            raise NonConformance(
                "a leaf of its release is labelled with a class that is not the most frequent there",
                "label a leaf with the class of most of its people; leave the label out where nobody is",
            )


def _mislabelled(leaf: Leaf) -> bool:
    counts = leaf.counts or {}
    return leaf.label in counts and counts[str(leaf.label)] < max(counts.values())


def any_column_order(subject: BuilderSubject) -> None:
    """The order of columns does not matter where no two tests are equally good."""
    _same_people(subject, reordered, "columns are reordered", "find columns by their names, never by position")


def any_label_order(subject: BuilderSubject) -> None:
    """The order in which classes and secrets are declared does not matter."""
    remedy = "count by `table.codes(name)` over the column's domain; sort nothing by name"
    _same_people(subject, relabelled, "classes are declared in another order", remedy)


def any_row_order(subject: BuilderSubject) -> None:
    """The order of rows does not matter."""
    _same_people(subject, shuffled, "rows are reordered", "a table is a multiset of people: no row is the first")


def leaks_no_record(subject: BuilderSubject) -> None:
    """What a release says of itself beside its model holds nothing of a row."""
    try:
        parts = json.loads(release_bytes(subject.built(planted(survey(MANY)))))
    except LeafgateError:
        raise DoesNotApply("it makes no release of the table in which every cell would be recognised") from None
    if any(sign in str({part: parts.get(part) for part in OF_ITSELF}) for sign in (SIGN, str(MARK)[1:])):
        raise NonConformance(
            "what its release says of itself holds a cell of the table",
            "say how it was built in `builder`, `selection` and `guarantee`; what is about people belongs into `trail`",
        )


def accounts(subject: BuilderSubject) -> None:
    """A claim of differential privacy is kept by its own account, and is not refuted by running it."""
    component, claiming = subject.component, [each for each in subject.releases if "epsilon" in each[1].guarantee]
    if not claiming:
        raise DoesNotApply("its releases claim no epsilon")
    if component.randomness != "system":
        raise NonConformance(
            "its releases claim differential privacy, and their random numbers follow from a seed",
            'state `randomness = "system"`, and draw from the generator that `build` is given',
        )
    if "epsilon" not in component.guarantees:
        raise NonConformance(
            "its releases claim an epsilon, and a sweep or a search may choose among them by the data",
            'state `guarantees = frozenset({"epsilon"})`',
        )
    for _, release in claiming:
        claim = release.guarantee["epsilon"]
        claim = claim if isinstance(claim, Mapping) else {"at_most": claim}
        try:
            epsilon = component.account(release, claim.get("delta", DELTA), claim.get("neighbours", "add_remove"))
        except InconclusiveError as error:
            raise NonConformance(f"its release claims an epsilon: {error}", error.problems[0].hint) from error
        if not epsilon <= lenient(claim["at_most"]):
            raise NonConformance(
                f"its account says epsilon {epsilon:.6g}, and its release claims {claim['at_most']:.6g}",
                "claim what the account says, or more",
            )
        added, replaced = (component.account(release, claim.get("delta", DELTA), each) for each in NEIGHBOURS)
        if replaced < added:
            raise NonConformance(
                "its account says less of people who are replaced than of people who are added",
                "to replace somebody is to take one away and to add another: up to twice the epsilon",
            )
    _run_against_claim(subject, *claiming[0])


NEIGHBOURS: tuple[Neighbours, Neighbours] = ("add_remove", "replace_one")
DELTA = 1e-6
"""The delta of a claim that states none."""
RUNS, SECONDS, CONFIDENCE = 400, 10, 0.9999
"""So often the builder is run with one person, and as often without, or as often as takes so long; and the confidence
with which a claim is refuted, so that one of 10,000 honest builders is told otherwise."""


def _run_against_claim(subject: BuilderSubject, table: Table, release: Release) -> None:
    """NonConformance where `distinguish` refutes the claim."""
    distinguish = load_plugins().component("distinguish")
    assert distinguish is not None
    assert issubclass(distinguish, AttackModel)
    options = {"runs": RUNS, "seconds": SECONDS, "confidence": CONFIDENCE}
    attack = distinguish.model_validate({"use": "distinguish", **options})
    draw = itertools.count(1)

    def mechanism(own: Table, rng: np.random.Generator) -> Release:
        return BuildResult.of(subject.rehearsing.mechanism_only.build(own, np.random.default_rng(next(draw)))).release

    try:
        beliefs = attack.infer(release, grant_knowledge(table, mechanism=mechanism))
    except LeafgateError:  # so many runs cannot refute so weak a claim
        return
    for belief in beliefs:
        if isinstance(belief, MechanismBelief) and "epsilon" in belief.refutes:
            raise NonConformance(
                f"running it refutes its claim: {belief.document['says']}",
                "look for what depends on a person beyond the noise: structure, labels, bounds, the number of people",
            )


def _same_people(subject: BuilderSubject, change: Callable[[Table], Table], when: str, remedy: str) -> None:
    if subject.component.randomness != "none":
        raise DoesNotApply("which coin falls on which column depends on their order")
    table = survey(MANY)
    built = next((release for built_from, release in subject.releases if built_from.schema == table.schema), None)
    if built is None:
        raise DoesNotApply("it makes no release of the table in which no two tests are equally good")
    if partition(built) != partition(subject.built(change(table))):
        raise NonConformance(f"it makes another release of the same people when {when}", remedy)


def partition(release: Release) -> Any:
    """The content of a release, whatever the order of columns, branches, labels and records.

    Of trees what their leaves count; of records the records themselves.
    """
    trees = (*release.trees, *release.alternatives.values())
    counts = sorted(sorted((leaf.counts or {}).items()) for tree in trees for leaf in leaves(tree))
    records: dict[str, int] = {}
    if release.records is not None:
        for row, weight in zip(release.records.rows, release.records.weight, strict=True):
            key = str(sorted((n, str(cell)) for n, cell in zip(release.records.columns, row, strict=True)))
            records[key] = records.get(key, 0) + weight
    model = None if release.bayes is None else str(release.bayes.described())
    return counts, records, model, str(dict(release.builder))


def raises_clean_errors(subject: BuilderSubject) -> None:
    """Of tables it cannot use it says so in leafgate's errors; it never crashes."""
    for table in _edge_cases(subject):
        with suppress(LeafgateError):
            subject.built(table)


def _edge_cases(subject: BuilderSubject) -> Iterator[Table]:
    yield from edge_case_tables()
    for table, _ in subject.releases:
        yield Table(table.schema, table.frame.head(1).reset_index(drop=True), table.weight[:1].copy())


BUILDER_CHECKS: Mapping[str, Callable[[BuilderSubject], None]] = {
    "builds": builds,
    **COMMON_CHECKS,
    "counts_people": respects_weights,
    "counts_truly": counts_truly,
    "any_column_order": any_column_order,
    "any_label_order": any_label_order,
    "any_row_order": any_row_order,
    "tells_nobody": leaks_no_record,
    "accounts": accounts,
    "errs_in_words": raises_clean_errors,
}
