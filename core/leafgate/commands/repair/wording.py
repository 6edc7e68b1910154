"""The outcome of a repair in sentences, which disclose no more of the people than a public report does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from leafgate.algorithms.usefulness import Goal, Usefulness
from leafgate.api import Table
from leafgate.commands.convert.rounding import has_means
from leafgate.commands.repair.plan import RepairOutcome
from leafgate.commands.repair.result import CANDIDATE_COLUMNS
from leafgate.commands.repair.trials import FITTED_ANEW, STEPS, Trial, Workbench, is_constant
from leafgate.disclosure.document import document
from leafgate.disclosure.masking import MAX_ROUNDING_BASE, round_coarsely
from leafgate.disclosure.wording import finding_headline, limit_words, number_words
from leafgate.engine.keepable import frequent_values
from leafgate.io.json import JsonDocument
from leafgate.ir.features import known_by
from leafgate.kernel.findings import Report
from leafgate.models.lowering.content import STAND_INS
from leafgate.readers import CategoryCodes, ModelIR
from leafgate.search.picture import Dot, picture
from leafgate.session.run import Session

WORDS: dict[Goal, str] = {
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "loss": "explained variance",
}

ENDED_BY = {
    "work": "the search ended after its amount of work; with more a better model may be found (`--effort`)",
    "clock": "the time limit ended the search (`--time-limit`), so a repetition may find another model",
}
"""What is said of a search that ended before everything was tried."""

CUTTING_IN_VAIN = (
    "  cutting cannot help: the leaves of boosting keep their scores, from which more can be derived than the policy "
    "allows in a file; leave out `--only-cut`, so that a tree is fitted anew"
)

FINEST = 0.01
"""The step to which an AUC is rounded."""


def use_words(use: Usefulness | None, people: Table, goal: Goal, smallest: int) -> str:
    """How useful a release is to people, in so many digits that they are no count of a few.

    An AUC has two digits where each class has as many people as the smallest cell: it compares pairs of people, and
    discloses of none of them who is right. Other numbers are rounded so that fewer do not move them by a step.
    """
    if use is None:
        return "unknown"
    counts = np.bincount(people.codes(people.schema.target.name), weights=people.weight)
    rarest = int(counts[counts > 0].min(initial=people.total_weight))
    if goal == "auc" and smallest > 1:
        return f"about {number_words(float(round_coarsely(use.value, FINEST)))}" if rarest >= smallest else TOO_FEW
    return number_of_people_words(use.value, rarest if goal == "balanced_accuracy" else people.total_weight, smallest)


TOO_FEW = "not told of so few people"


def number_of_people_words(value: float, people: int, smallest: int) -> str:
    """A number that one of so many people moves by at most 1 / people, rounded so that few do not move it by a step.

    >>> number_of_people_words(0.789, 1000, 10), number_of_people_words(0.789, 1000, 1)
    ('about 0.79', '0.789')
    >>> number_of_people_words(1 / 3, 9, 10)
    'not told of so few people'
    """
    base = 0.0 if smallest == 1 else 10.0 ** math.ceil(math.log10(smallest / people))
    if base > MAX_ROUNDING_BASE:
        return TOO_FEW
    return f"{'about ' if base else ''}{number_words(float(round_coarsely(value, base) if base else value))}"


def success_lines(outcome: RepairOutcome, best: Trial, new: ModelIR, bench: Workbench) -> Iterator[str]:
    """What was done, how useful the new model is beside the given one, and what else was tried."""
    if outcome.added:
        yield f"  asks about columns that the given model does not take: {', '.join(map(repr, outcome.added))}"
    yield f"  {_step(best)}"
    yield f"  {_size(new)}; the given model has {_size(outcome.model)}"
    yield f"  on its leaves: {_level(new)}; the given file discloses {_level(outcome.model)}"
    if bench.rounds_numbers and has_means(new):
        yield "  numbers on its leaves are rounded: from means to the last digit people's sums follow"
    yield f"  it names {_names(new)}; the given file {_names(outcome.model)}"
    if outcome.merged:
        few, columns = bench.session.policy.report.smallest_cell, " or ".join(map(repr, outcome.merged))
        yield f"  it takes values of {columns} that fewer than {few} people have for values that it has never seen"
    yield f"  {choice_words(outcome, best, bench)}"
    yield f"  {_use_line(outcome, best, bench)}"
    yield from _ladder(outcome, bench)
    if proof := _proof(outcome, best, bench):
        yield f"  {proof}"
    if outcome.ended_by:
        yield f"  {ENDED_BY[outcome.ended_by]}"
    yield from question_lines(bench.session)
    sampled = [one.id for one in best.report.findings if one.passed and one.evidence.get("judged_by") == "interval"]
    if sampled and not outcome.judged_last:
        yield (
            f"  judged by samples of people: {', '.join(sampled)}; several audits asked for them, and an interval "
            "flatters what is chosen by it: audit the new file with other people in data.control"
        )
    elif sampled:
        yield (
            f"  judged by samples of people: {', '.join(sampled)}; by people of data.control who judged nothing else"
        )


def choice_words(outcome: RepairOutcome, best: Trial, bench: Workbench) -> str:
    """By whom the model was chosen."""
    number = _many(len(outcome.trials), "candidate")
    chosen = bench.parts.choosing
    if best.step == "scrub":
        return "it predicts as the given model does, so nothing was chosen"
    if chosen is not None:
        return f"chosen of {number} on {chosen.people_among():,} people of data.test; they influenced the model"
    if best.step in FITTED_ANEW and best.use is None:
        return f"of {number}, and how well it predicts others is not known: {bench.parts.advice}"
    if best.step in FITTED_ANEW:
        return f"chosen of {number} within the table: each was fitted on parts of it and asked about the rest"
    return f"chosen of {number} by the training people: {bench.parts.advice}"


def _use_line(outcome: RepairOutcome, best: Trial, bench: Workbench) -> str:
    """How useful both models are, to the same people."""
    word, smallest = WORDS[bench.goal], bench.session.policy.report.smallest_cell
    people = bench.parts.reporting
    if people is not None:
        half = "other " if bench.parts.choosing is not None else ""
        whose = f"{people.people_among():,} {half}people of {bench.parts.whose}, whom nothing was chosen by"
    else:
        people, whose = bench.session.table, f"the training people alone, which flatters: {bench.parts.advice}"
    uses = [None if release is None else bench.use_of(release, people) for release in (outcome.release, best.release)]
    before, after = (use_words(use, people, bench.goal, smallest) for use in uses)
    line = f"{word} on {whose}: {before} before, {after} after"
    if bench.parts.reporting is None and outcome.reported is not None:
        fitted = use_words(outcome.reported, people, bench.goal, smallest)
        line += f" ({fitted} where it is fitted on parts of the table and asked about the rest)"
    return line


def _step(trial: Trial) -> str:
    return f"{trial.step}: {trial.words}" if trial.words else trial.step


def _ladder(outcome: RepairOutcome, bench: Workbench) -> Iterator[str]:
    """For each step that was tried the most useful candidate that passes, or what stands in its way."""
    whose = bench.parts.choosing or bench.session.table
    smallest = bench.session.policy.report.smallest_cell
    yield f"  tried, the least change first, with the {WORDS[bench.goal]} on the people it was chosen by:"
    for step in STEPS:
        trials = [trial for trial in outcome.trials if trial.step == step]
        if not trials:
            continue
        passing = [trial for trial in trials if trial.passes and not is_constant(trial.model)]
        if not passing and any(trial.passes for trial in trials):
            yield f"    {step}: what passes predicts the same for everybody, {len(trials):,} tried"
        elif passing:
            top = max(passing, key=lambda trial: trial.sure)
            flatters = ", its own people, which flatters"
            own = flatters if bench.parts.choosing is None and step not in FITTED_ANEW else ""
            use = use_words(top.use, whose, bench.goal, smallest)
            yield f"    {step}: {use}{own}; {_size(top.model)}; {len(passing):,} of {len(trials):,} pass"
        else:
            ids = dict.fromkeys(one.id for trial in trials for one in trial.report.findings if one.needs_action)
            yield f"    {step}: none of {len(trials):,} passes; broken: {', '.join(ids)}"


def candidates_table(outcome: RepairOutcome, bench: Workbench) -> pd.DataFrame:
    """Every candidate with what it is and what it is worth, the given model first, for the data's owner."""
    parts, rows = bench.parts, []
    if outcome.release is not None:
        chosen, reported = (
            None if part is None else bench.use_of(outcome.release, part) for part in (parts.choosing, parts.reporting)
        )
        rows.append(_row("given", "", outcome.model, outcome.given, chosen, reported))
    for trial in outcome.trials:
        reported = None
        if trial.passes and parts.reporting is not None and trial.release is not None:
            reported = bench.use_of(trial.release, parts.reporting)
        rows.append(_row(trial.step, trial.words, trial.model, trial.report, trial.use, reported))
    return pd.DataFrame(rows, columns=CANDIDATE_COLUMNS)


def candidates_picture(candidates: pd.DataFrame) -> bytes:
    """The use of every candidate against its headroom, as SVG; the most useful one of each step that passes is named.

    Args:
        candidates: the table of candidates.
    """
    known = candidates.dropna(subset=["headroom", "chosen_by"])
    passing = known[known["verdict"] == "pass"]
    named = {*passing.groupby("step")["chosen_by"].idxmax(), *known.index[known["step"] == "given"]}
    columns = known.index, known["headroom"].tolist(), known["chosen_by"].tolist(), known["verdict"], known["step"]
    dots = [Dot(x, y, verdict, step if i in named else "") for i, x, y, verdict, step in zip(*columns, strict=True)]
    return picture(dots, ("headroom of the tightest limit on people", "use"), (1.0, None))


def _row(
    step: str, words: str, model: ModelIR, report: Report, chosen: Usefulness | None, reported: Usefulness | None
) -> tuple[object, ...]:
    """A row of the table, in the order of its columns."""
    leaves = sum(len(tree.leaves) for tree in model.trees)
    uses = [np.nan if use is None else use.value for use in (chosen, reported)]
    broken = " ".join(one.id for one in report.findings if one.needs_action)
    return step, words, len(model.trees), leaves, *uses, report.verdict, broken, _headroom(report)


def _headroom(report: Report) -> float | None:
    """By what factor the tightest limit on people holds, below 1 where it is broken; None where there is none."""
    found = []
    for one in report.findings:
        if one.limit is None or one.value is None or (one.secret is None and one.scored_people is None):
            continue
        if one.limit.direction == "at_least" and one.bound > 0:
            found.append(one.value / one.bound)
        elif one.limit.direction == "at_most" and one.value > 0:
            found.append(one.bound / one.value)
    return min(found, default=None)


def question_lines(session: Session) -> Iterator[str]:
    """What only the owner can decide, where one value of a secret is nearly everybody's."""
    for frequent in frequent_values(session.table, session.policy.metrics):
        yield f"  {frequent.question}: {frequent.hint}"


def _level(model: ModelIR) -> str:
    """The statistic on its leaves; of a model of numbers these."""
    return "numbers" if not model.classes and model.level == "labels" else model.level


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


def _proof(outcome: RepairOutcome, best: Trial, bench: Workbench) -> str:
    """Whether a better pruning can exist, or how many training people more it could predict rightly at most."""
    if best.step == "scrub":
        return ""
    by = "predicts more of" if bench.goal == "accuracy" else "separates better"
    if outcome.exact:
        rightly = " rightly" if bench.goal == "accuracy" else ""
        return f"exact: no pruning of this tree that keeps the limits {by} the training people{rightly}"
    if not outcome.bounded_by_limits:
        return "searched, and a better one may exist; there is no bound on how much better"
    if bench.goal != "accuracy" or best.step in FITTED_ANEW:
        return "the best pruning of the given tree by the limits on people was among the candidates"
    people, smallest = bench.session.table.total_weight, bench.session.policy.report.smallest_cell
    most = number_of_people_words(1 - outcome.at_least / people, people, smallest)
    return (
        "searched, and a better one may exist: by the limits on people alone no pruning predicts more than "
        f"{most} of the training people rightly"
    )


def failure_lines(outcome: RepairOutcome, bench: Workbench) -> Iterator[str]:
    """What stands in the way, what the candidate that comes nearest to passing breaks, and what to do."""
    yield from _obstacles(outcome, bench)
    if outcome.nearest is not None:
        yield from _nearest_lines(outcome, outcome.nearest)
    elif outcome.only_constant:
        yield "  these limits stand in the way, which the given model breaks:"
        yield from (f"    {finding_headline(finding)}" for finding in _broken(outcome.given))
        yield "  weaken one of these limits, gather more people, or say which values harm nobody (`values` of a limit)"
    else:
        yield "  no pruned model could be written in this format: see leafgate scrub"


def _obstacles(outcome: RepairOutcome, bench: Workbench) -> Iterator[str]:
    """What stands in the way of every candidate."""
    if outcome.only_constant:
        yield "  nothing useful passes: the best that does is no better than the same prediction for everybody"
        if bench.goal != "auc" and outcome.model.classes:
            yield f"  looked for by {WORDS[bench.goal]}; for a rare class try `--keep auc`, which ranks people"
    if outcome.ended_by:
        yield f"  {ENDED_BY[outcome.ended_by]}"
    if _is_only_cut_boosting(outcome):
        yield CUTTING_IN_VAIN
    if outcome.broken_by_root:
        yield f"  even a single leaf, which everybody shares, breaks: {', '.join(outcome.broken_by_root)}"


def _nearest_lines(outcome: RepairOutcome, nearest: Trial) -> Iterator[str]:
    """What the candidate that comes nearest to passing breaks, which limits it keeps instead, and what to do."""
    broken = list(_broken(nearest.report))
    yield f"  the candidate that comes nearest to passing has {_size(nearest.model)} and breaks:"
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


def _is_only_cut_boosting(outcome: RepairOutcome) -> bool:
    """Was boosting cut and nothing fitted anew, though every file with its scores violates a limit on files?"""
    cuts = [trial for trial in outcome.trials if not is_constant(trial.model)]
    only_cut = bool(cuts) and not any(trial.step in FITTED_ANEW for trial in outcome.trials)
    return (
        only_cut
        and outcome.model.values == "scores"
        and all(any(one.is_of_file and one.fails for one in trial.report.findings) for trial in cuts)
    )


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
