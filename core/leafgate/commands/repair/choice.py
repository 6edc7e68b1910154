"""The choice among candidates: what is known of their use, their order, and limits that only winners are asked of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leafgate.algorithms.usefulness import Usefulness, joint_use, mean_use
from leafgate.api import Release
from leafgate.commands.repair.trials import FITTED_ANEW, LEVELS, STEPS, Trial, Workbench, is_constant
from leafgate.search.people import FOLDS, rows_at

MOST_CROSS_FITTED = 12
"""So many candidates are fitted on parts of the table, too, where others are at hand to choose by."""

MOST_JUDGED = 8
"""So many candidates at most are asked of limits that samples of people judge."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen.

    Attributes:
        trials: The candidates, as far as they were judged.
        best: The most useful one that passes the whole policy; None where none does.
        judged_last: Did control people judge it who judged no other candidate?
    """

    trials: list[Trial]
    best: Trial | None
    judged_last: bool = False


def chosen(trials: Sequence[Trial], bench: Workbench) -> Choice:
    """The most useful candidate that passes the whole policy.

    Candidates are asked of limits that samples of people judge in the order of their use, by one half of the control;
    the first that passes is judged by the other half, which nothing else was judged by.
    """
    known = cross_fitted(trials, bench)
    order = ranked(known, bench)
    if not order or not bench.has_sampled_limits:
        return Choice(known, order[0] if order else None)
    first, last = bench.halves_of_control()
    looked: list[Trial] = []
    for trial in order[:MOST_JUDGED]:
        if looked and bench.budget.is_over():
            break
        looked.append(bench.judged(trial, first))
        known = _replaced(known, trial, looked[-1])
        if looked[-1].passes:
            judged = looked[-1] if last is None else bench.judged(trial, last)
            return Choice(_replaced(known, looked[-1], judged), judged if judged.passes else None, last is not None)
    if last is not None and all(one.report.verdict == "inconclusive" for one in looked):
        judged = bench.judged(order[0], None)  # nothing was chosen by the control, so all of it can judge
        return Choice(_replaced(known, looked[0], judged), judged if judged.passes else None, judged_last=True)
    return Choice(known, None)


def _replaced(trials: Sequence[Trial], old: Trial, new: Trial) -> list[Trial]:
    return [new if each is old else each for each in trials]


def ranked(trials: Sequence[Trial], bench: Workbench) -> list[Trial]:
    """The candidates that pass, ordered by their use less half of its standard error, the largest first.

    Equal candidates are ordered by the step of the ladder, then by how much their leaves disclose (most first), then by
    their size. Candidates that are no better than a constant come last.

    Without people outside the table the use of a cut model is measured on the people it was learned from, which is too
    favourable. Such candidates, and those whose use is unknown, come after those that were cross-validated; a model
    that predicts as the given one does needs no measurement.
    """
    blind = bench.parts.choosing is None

    def place(trial: Trial) -> tuple[bool, bool, float, int, int, int]:
        nodes = sum(tree.nodes for tree in trial.model.trees)
        unsure = blind and trial.step != "scrub" and (trial.use is None or trial.step not in FITTED_ANEW)
        order = STEPS.index(trial.step), LEVELS.index(trial.leaves), nodes
        useless = is_constant(trial.model) or (trial.use is not None and not trial.use.is_useful)
        return useless, unsure, -round(trial.sure, 4), *order

    return sorted((trial for trial in trials if trial.passes), key=place)


def cross_fitted(trials: Sequence[Trial], bench: Workbench) -> list[Trial]:
    """The candidates, those fitted anew with their use to people of the table whom they were not fitted on.

    Beside people outside the table it is one more estimate for those that seem best by these; without such people it is
    the only honest one, and of what cannot be fitted on parts of the table nothing is known.
    """
    blind = bench.parts.choosing is None
    known = [replace(one, use=None) if blind and one.step in FITTED_ANEW and one.fit is None else one for one in trials]
    order = sorted((trial for trial in known if trial.passes and trial.fit is not None), key=lambda one: -one.value)
    for trial in order if blind else order[:MOST_CROSS_FITTED]:
        within = None if trial.fit is None or bench.budget.is_over() else _use_across(trial.fit, bench)
        use = within if blind else joint_use(trial.use, within)
        known = _replaced(known, trial, replace(trial, use=use))
    return known


def _use_across(fit: Callable[[int], Release | None], bench: Workbench) -> Usefulness | None:
    """How useful what is fitted on all but one fold is to that fold, on the mean; None where that is not known."""
    table, known = bench.session.table, []
    for number in range(FOLDS):
        release = None if bench.budget.is_late() else fit(number)
        use = None if release is None else bench.use_of(release, rows_at(table, bench.fold == number))
        if use is None:
            return None
        known.append(use)
    return mean_use(known)
