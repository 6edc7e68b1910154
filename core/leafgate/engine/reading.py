"""Whether the file of a model was read as it predicts: the finding `reading`, without which no audit of one passes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.algorithms.witness import Witness
from leafgate.api.registry import Plugins
from leafgate.engine.remedies.static import from_error
from leafgate.engine.state import AuditState
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import Provenance
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import Finding, Remedy
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import ModelReading, Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import TreeArrays, columns_asked, leaves, tree_arrays

READING = "reading"
"""The finding about how the file of a model was read."""

BY_CHANCE = (
    "it predicts the classes of the table's people no better than chance would: its features may be other columns than "
    "the policy has for them, or its classes other values"
)
BEYOND_CHANCE = 1.0
"""By so many standard deviations a model is right more often than chance about those whom it was learned from."""

ROUNDING = 1e-24
"""A variance of rounding errors alone: everybody is predicted the same."""

MOST_UNREACHED = 0.01
"""Of each tree so large a share of the people may be in leaves that no row of the witness comes to."""

WITNESS = (
    "Let the model itself answer for the rows of the table, and name the file: `build: {witness: answers.csv}`. In "
    "Python: `people.assign(**dict(zip(model.classes_, model.predict_proba(X).T))).to_csv('answers.csv', index=False)`."
)
MISREAD = (
    "The file is read otherwise than its model predicts, or the answers are of another model or of other columns: "
    "write them anew by the model of this very file. If they stay so, report it as an error of the reader."
)


READ_ALIKE = (
    "Read the table as the model was given it: name cells that `pandas.read_csv` took for missing, such as None or "
    "NA, under `data.missing`, with `on_missing: keep`; declare other spellings as `aliases`. If the model was fitted "
    "on some of these people, say so: `trained_by: {subsample: SHARE}`."
)


def reading_check(policy: Policy, plugins: Plugins, state: AuditState, provenance: Provenance) -> Iterator[Finding]:
    """The finding that says by what it is known that a model's file was read right; none for other releases.

    A witness whose answers agree shows it for the leaves that its rows come to; so do exact counts of each class, from
    which the predictions follow, where they are the table's; so does a program whose files are read right in tests.
    Nobody is shown to be exposed by a misreading, so that it is inconclusive.
    """
    reading, witness = provenance.reading, provenance.witness
    if reading is None or state.release.file is None:
        return
    passed: bool | None
    remedies: tuple[Remedy, ...] = ()
    unseen = _unseen_values(state, provenance, reading)
    if unseen:
        problem = f"people of the table have values of {', '.join(unseen)} that the file was not fitted on"
        passed, evidence, remedies = None, {"problem": problem}, (Remedy(action="advise", text=READ_ALIKE),)
    elif policy.build.witness_file is not None or witness is not None:
        passed, evidence, remedies = _by_witnesses(policy, state, reading, witness)
    elif not _counts_show(state, reading) and _predicts_by_chance(state):
        passed, evidence, remedies = None, {"problem": BY_CHANCE}, (Remedy(action="advise", text=WITNESS),)
    elif by_itself := _without_witness(state, reading):
        passed, evidence = True, {"reason": by_itself}
    else:
        passed, evidence, remedies = None, _untested(reading), (Remedy(action="advise", text=WITNESS),)
    yield Finding(
        READING,
        READING,
        passed,
        evidence=evidence,
        plugin=plugins.origin(policy.build),
        plain_failure="the file may be read otherwise than its model predicts",
        remedies=remedies,
    )


def _unseen_values(state: AuditState, provenance: Provenance, reading: ModelReading) -> list[str]:
    """The columns of which people of the table have values that a file which was fitted on all of them would list."""
    numbers, table = provenance.node_numbers, state.table
    if numbers is not None and numbers.subsample != 1.0:
        return []
    complete = {name: each for name, each in reading.unseen_marks.items() if not table.has_missing([name]).any()}
    found: list[str] = []
    for name in {**reading.unseen, **complete}:
        unseen = reading.unseen.get(name, frozenset()) | complete.get(name, frozenset())
        if unseen and not unseen.isdisjoint(table.frame[name].dropna().unique()):
            found.append(repr(name))
    return found


def _predicts_by_chance(state: AuditState) -> bool:
    """Do scores of classes, labels or numbers fit the people no better than if each had another's class?

    What permutations of the classes would give has a mean and a variance in closed form. Trees that predict the same
    for everybody, and have leaves that differ, were learned from others.

    Source: Hoeffding, "A Combinatorial Central Limit Theorem", Annals of Mathematical Statistics 22(4), 1951.
    """
    release, table = state.release, state.table
    if not len(table):
        return False
    if release.predicts_numbers:
        numbers = predicted_numbers(release, table)
        return bool((numbers == numbers[0]).all()) and _has_other_leaves(release, table)
    try:
        scores = np.nan_to_num(class_scores(release, table))
    except InconclusiveError:  # it publishes labels alone; whom it predicts nothing for has the last row
        scores = np.eye(len(release.classes) + 1)[predict(release, table), :-1]
    weight, people, actual = table.weight, table.total_weight, table.codes(release.target)
    shares = np.bincount(actual, weights=weight, minlength=len(release.classes)) / people
    average = weight @ scores / people
    fit = weight @ scores[np.arange(len(actual)), actual] / people
    centred = scores - (scores @ shares)[:, None] - average + average @ shares
    variance = (weight @ centred**2) @ shares / people**2
    if variance <= ROUNDING:
        return _has_other_leaves(release, table)
    return bool(fit - average @ shares < BEYOND_CHANCE * math.sqrt(variance))


def _has_other_leaves(release: Release, table: Table) -> bool:
    """Of a model that predicts the same for everybody, has it leaves that differ? People left out may be in these."""
    return not table.dropped and any(len({leaf.words for leaf in leaves(tree)}) > 1 for tree in release.trees)


def _without_witness(state: AuditState, reading: ModelReading) -> str:
    """By what it is known, without a witness, that the file was read right; empty where by nothing."""
    if _counts_show(state, reading):
        return "the numbers of people of each class at all leaves, from which the predictions follow, are the table's"
    if reading.unknown or not reading.tested:
        return ""
    if reading.tested == "program" and _has_unknown_content(state.release):
        return ""
    if reading.tested == "version":
        return "files of this program and version are read in tests as it predicts"
    return (
        "files of other versions of this program are read in tests as it predicts, and nothing of this one is unknown"
    )


def _counts_show(state: AuditState, reading: ModelReading) -> bool:
    """Do the predictions follow from counts that are the table's?"""
    return not reading.unknown and counts_decide(state.release) and not state.inconsistency


def _has_unknown_content(release: Release) -> bool:
    """Does the file hold something that its reader does not know?"""
    return release.file is not None and any(item.kind == "other_content" for item in release.file.discloses)


def counts_decide(release: Release) -> bool:
    """Do the predictions follow from exact numbers of people of each class at the leaves, whose labels most have?"""
    exact = release.count_semantics == "exact" and release.publish.leaves == "counts"
    if not exact or release.combine == "boost" or release.predicts_numbers:
        return False
    return all(_are_most_common(tree_arrays(tree), release.classes) for tree in release.trees)


def _are_most_common(arrays: TreeArrays, classes: tuple[str, ...]) -> bool:
    """Does no leaf's label have fewer people than another class?"""
    labels, counts = arrays.label_positions(classes), arrays.numbers_per_class("counts", classes)
    labelled = np.flatnonzero(labels >= 0)
    return bool((counts[labelled, labels[labelled]] == counts[labelled].max(axis=1, initial=0)).all())


def _untested(reading: ModelReading) -> dict[str, Any]:
    """Why nothing shows that the file is read right."""
    unshown = "nothing shows that the file is read as its model predicts:"
    if not reading.unknown and reading.tested:
        return {"problem": f"{unshown} its version is none whose files are read in tests, and it has unknown content"}
    if not reading.unknown:
        return {"problem": f"{unshown} its program is none whose files are read in tests"}
    named = AuditorOnly(f"they are {', '.join(reading.unknown[:5])}")
    return {"problem": f"{unshown} keys where predictions are decided are not known here", "reason_in_full": named}


Judged = tuple[bool | None, dict[str, Any], tuple[Remedy, ...]]
"""Whether a witness agrees, with evidence and remedies."""


def _by_witnesses(policy: Policy, state: AuditState, reading: ModelReading, asked: Witness | None) -> Judged:
    """What the policy's witness and the library say, the first that does not agree before all others."""
    judged: list[Judged] = []
    path = policy.build.witness_file
    if path is not None:
        try:
            judged.append(_by_witness(state, reading, _of_file(policy, state, reading, path), path.name))
        except LeafgateError as error:
            judged.append((None, {"problem": f"the witness cannot be used: {error}"}, from_error(error)))
    if asked is not None:
        judged.append(_by_witness(state, reading, asked, "the library that wrote the file"))
    return next((each for each in judged if not each[0]), judged[-1])


def _of_file(policy: Policy, state: AuditState, reading: ModelReading, path: Path) -> Witness:
    release = state.release
    asked = {name for tree in release.trees for name in columns_asked(tree)}
    names = [(reading.classes[value], value) if value in reading.classes else () for value in release.classes]
    classes = [] if release.predicts_numbers else names
    from leafgate.io.tables.witness import read_witness

    return read_witness(policy.data, state.table.schema, asked, classes, path, "build.witness")


def _by_witness(state: AuditState, reading: ModelReading, witness: Witness, name: str) -> Judged:
    """Whether the answers of a witness are those of what was read; `name` is what reports call it."""
    from leafgate.algorithms.witness import answers_of, first_difference, unreached_share

    release, witness = state.release, witness.answered
    read = answers_of(release, witness.rows)
    compared = read if reading.knows_scores else replace(read, scores=None)
    different = first_difference(witness.answers, compared)
    if different is not None:
        row = int(witness.numbers[different])
        problem = f"the witness answers otherwise than what was read of the file, first in its row {row}"
        return None, {"problem": problem}, (Remedy(action="advise", text=MISREAD),)
    unreached = unreached_share(release, state.table, witness.rows)
    if unreached > MOST_UNREACHED:
        problem = "people of the table come to leaves of some tree which no row of the witness comes to"
        text = "Let the model answer for all rows of the table, or for more of them."
        where = AuditorOnly(f"{100 * unreached:.3g} % of the people")
        return None, {"problem": problem, "reason_in_full": where}, (Remedy(action="advise", text=text),)
    rows = AuditorOnly(f"{len(witness.rows):,} rows of {name} were compared")
    scored = witness.answers.scored
    if read.scores is None or (compared.scores is not None and scored is not None and scored.all()):
        return True, {"reason": "what was read answers as the witness does", "reason_in_full": rows}, ()
    by_itself = _without_witness(state, reading)
    if by_itself:
        reason = f"what was read predicts the classes that the witness does; of scores it is known that {by_itself}"
        return True, {"reason": reason, "reason_in_full": rows}, ()
    problem = "the witness shows predicted classes alone, and nothing shows that the leaves' scores are read right"
    return None, {"problem": problem, "reason_in_full": rows}, (Remedy(action="advise", text=WITNESS),)
