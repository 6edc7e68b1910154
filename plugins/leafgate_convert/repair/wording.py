"""The outcome of a repair in sentences, which disclose no more of the people than a public report does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leafgate.algorithms.prediction import predict
from leafgate.api import CategoryCodes, InconclusiveError, ModelIR, Release, Table
from leafgate.app import (
    MAX_ROUNDING_BASE,
    STAND_INS,
    JsonDocument,
    Report,
    Session,
    document,
    finding_headline,
    known_by,
    limit_words,
    number_words,
    round_coarsely,
)
from leafgate_convert.repair.plan import Outcome
from leafgate_convert.repair.trials import Trial


@dataclass(frozen=True)
class Accuracies:
    """How often two releases predict rightly, over the same people.

    Attributes:
        whose: The people, in words.
        before: The given model's accuracy.
        after: The new one's.
    """

    whose: str
    before: str
    after: str


def accuracies(session: Session, before: Release | None, after: Release | None) -> Accuracies:
    """Both accuracies over people that nothing was chosen by, or where there are none over the training people."""
    table, whose = session.table, "the training people alone, which flatters: name people in `data.test`"
    for section, other in (("data.control", session.control), ("data.test", session.test)):
        if other is not None:
            table, whose = other, f"the people of {section}, whom the repair did not use"
    smallest = session.policy.report.smallest_cell
    return Accuracies(whose, _accuracy(before, table, smallest), _accuracy(after, table, smallest))


def _accuracy(release: Release | None, table: Table, smallest: int) -> str:
    if release is None:
        return "unknown"
    try:
        right = predict(release, table) == table.codes(release.target)
    except InconclusiveError:
        return "unknown"
    return share_words(int(table.weight[right].sum()), table.people, smallest)


def share_words(part: int, people: int, smallest: int) -> str:
    """A share of people, rounded so that fewer than the smallest cell do not move it by a step.

    >>> share_words(789, 1000, 10), share_words(789, 1000, 1), share_words(3, 9, 10)
    ('about 0.79', '0.789', 'not told of so few people')
    """
    base = 0.0 if smallest == 1 else 10.0 ** math.ceil(math.log10(smallest / people))
    if base > MAX_ROUNDING_BASE:
        return "not told of so few people"
    share = round_coarsely(part / people, base) if base else part / people
    return f"{'about ' if base else ''}{number_words(float(share))}"


def success_lines(outcome: Outcome, best: Trial, new: ModelIR, session: Session) -> Iterator[str]:
    """What was changed, how good the new model is, and what is known of better ones."""
    accuracy = accuracies(session, outcome.release, best.release)
    yield f"  {_size(new)}; the given model has {_size(outcome.model)}"
    yield f"  on its leaves: {new.level}; the given file tells {outcome.model.level}"
    yield f"  it names {_names(new)}; the given file {_names(outcome.model)}"
    if outcome.merged:
        few, columns = session.policy.report.smallest_cell, " or ".join(map(repr, outcome.merged))
        yield f"  it takes values of {columns} that fewer than {few} people have for values that it has never seen"
    yield f"  {_proof(outcome, best, session)}"
    yield f"  accuracy on {accuracy.whose}: {accuracy.before} before, {accuracy.after} after"

    sampled = [one.id for one in best.report.findings if one.passed and one.evidence.get("judged_by") == "interval"]
    if sampled:
        yield (
            f"  judged by samples of people: {', '.join(sampled)}; several audits asked for them, and an interval "
            "flatters what is chosen by it: audit the new file with other people in data.control"
        )


def _size(model: ModelIR) -> str:
    leaves = sum(len(tree.leaves) for tree in model.trees)
    nodes = sum(tree.nodes for tree in model.trees)
    return f"{_many(len(model.trees), 'tree')}, {_many(nodes, 'node')}, {_many(leaves, 'leaf', 'leaves')}"


def _names(model: ModelIR) -> str:
    """How many features and values of categories a file names."""
    coded = [one for one in model.origins or () if isinstance(one, CategoryCodes)]
    values = {(one.column, value) for one in coded for value in known_by(one) - STAND_INS}
    features = _many(len(model.features), "feature")
    return f"{features} and {_many(len(values), 'value')} of categories" if values else features


def _many(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _proof(outcome: Outcome, best: Trial, session: Session) -> str:
    """Whether a better model can exist, or how many training people more it could predict rightly at most."""
    if outcome.exact:
        return "exact: no pruning of this tree that keeps the limits predicts more of the training people rightly"
    people, smallest = session.table.people, session.policy.report.smallest_cell
    right, most = (share_words(people - errors, people, smallest) for errors in (best.errors, outcome.at_least))
    whole = "searched, and a better one may exist: of the training people it predicts"
    if outcome.bounded_by_limits:
        hit = " (a bound: there were too many prunings to compare all)" if outcome.bound_hit else ""
        return f"{whole} {right} rightly; by the limits on people alone no pruning predicts more than {most}{hit}"
    return f"{whole} {right} rightly, the given model {most}"


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """What the candidate that comes nearest to passing breaks, which limits it keeps instead, and what to do."""
    if outcome.only_constant:
        yield "  the only model that was found to pass predicts the same for everybody, and nobody can use it"
    if outcome.broken_by_root:
        yield f"  even a single leaf, which everybody shares, breaks: {', '.join(outcome.broken_by_root)}"
    if outcome.nearest is None and outcome.only_constant:
        yield "  these limits stand in the way, which the given model breaks:"
        yield from (f"    {finding_headline(finding)}" for finding in _broken(outcome.given))
        yield "  weaken one of these limits, gather more people, or say which values harm nobody (`values` of a limit)"
        return
    if outcome.nearest is None:
        yield "  no pruned model could be written in this format: see leafgate scrub"
        return
    broken = list(_broken(outcome.nearest.report))
    size = _size(outcome.nearest.model)
    yield f"  the candidate that comes nearest to passing has {size} and breaks:"
    yield from (f"    {finding_headline(finding)}" for finding in broken)
    names = {finding["id"] for finding in broken}
    kept = [finding["id"] for finding in _broken(outcome.given) if finding["id"] not in names]
    if kept and not outcome.broken_by_root:
        yield f"  it keeps these limits, which the given model breaks: {', '.join(kept)}; no candidate keeps all limits"
    if outcome.broken_by_root:
        yield "  no pruning keeps a limit that a single leaf breaks: gather more people, or check that limit"
    elif all(
        finding["passed"] is False and finding["value"] is not None and limit_words(finding) for finding in broken
    ):
        yield "  it would pass if the policy's limits allowed the values above; otherwise train another model"
    else:
        yield "  train another model, such as one with larger leaves or of fewer columns, and audit that"


def _broken(report: Report) -> Iterator[JsonDocument]:
    """The findings of the public report that do not pass."""
    for finding in document(report, "public")["findings"]:
        if not finding["passed"] and "waiver" not in finding:
            yield finding


def policy_line(out: Path, policy: Path) -> str:
    """The line of the policy to change, so that an audit is of the new file."""
    folder = policy.resolve().parent
    if out.resolve().is_relative_to(folder):
        return f"  to audit it, change the policy's `build`: path: {out.resolve().relative_to(folder).as_posix()}"
    return f"  to audit it, move it beside the policy, and change the policy's `build`: path: {out.name}"
