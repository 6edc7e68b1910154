"""The plan of a repair: a ladder of changes, the least first, of which the most useful that passes is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from leafgate.api import (
    Ids,
    InconclusiveError,
    InvalidError,
    LeafgateError,
    Metric,
    ModelIR,
    Release,
    ReleaseError,
)
from leafgate.app import (
    OWNER_ONLY,
    Finding,
    Policy,
    RepairResult,
    Report,
    Session,
    load_release,
    lower_model,
    model_bytes,
    read_model,
    unkeepable_limits,
    write_file,
)
from leafgate_convert.rare_cells import MergedModel, merge_rare_values
from leafgate_convert.repair.distil import Grower, given_scores, growers, levels_of, model_of, scores_across
from leafgate_convert.repair.exact import NodeLimits, PersonLimits, Solution, person_limits
from leafgate_convert.repair.expansion import expansions
from leafgate_convert.repair.pruning import PrunableModel, prunable
from leafgate_convert.repair.refit import (
    Rows,
    Settings,
    balanced,
    fitted,
    recounted,
    rows_for,
    settings_for,
    tree_settings,
)
from leafgate_convert.repair.search import Cuts, Search, few_leaves
from leafgate_convert.repair.trials import FITTED_ANEW, STEPS, Step, Trial, Workbench, is_of_file, person_metrics
from leafgate_convert.repair.usefulness import (
    Usefulness,
    folds_of,
    goal_of,
    joint_use,
    mean_use,
    rows_at,
)
from leafgate_convert.scrub import LeafContent, minimise, with_leaves

FINEST_FIRST: tuple[LeafContent, ...] = ("counts", "shares", "labels")
WITHIN: dict[str, tuple[LeafContent, ...]] = {
    "counts": FINEST_FIRST,
    "shares": FINEST_FIRST[1:],
    "error_rates": FINEST_FIRST[2:],
    "labels": FINEST_FIRST[2:],
}
"""What a file may have on its leaves where a policy publishes so much; no file of a model has error rates."""

TIME_LIMIT = 60.0
"""Seconds that a repair takes by default before it ends with the best so far."""

FOLDS = 3
"""What is fitted anew is fitted on all but one of so many parts of the table, and asked about that one."""

SAME_USE = 0.005
"""A model that differs from the given one in its use by less predicts as well as that."""

MOST_CROSS_FITTED = 12
"""So many candidates are fitted on parts of the table, too, where others are at hand to choose by."""

MOST_JUDGED = 8
"""So many candidates at most are asked of limits that samples of people judge."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a repair found.

    Attributes:
        model: The given model.
        given: The audit of its file.
        release: What that audit made of the file.
        trials: Every candidate that was audited.
        best: The most useful candidate that passes; None where none passes, or the given file does.
        nearest: The candidate that breaks the fewest limits, of those the most useful; None where one passes that does
            not predict the same for everybody.
        exact: Was `best` compared with every pruning of the tree?
        at_least: No model below the given one that keeps the limits loses less on the training people.
        bounded_by_limits: Does `at_least` follow from the limits on people, not only from the given model?
        bound_hit: Did an exact solution have too many prunings to compare?
        broken_by_root: Limits that even a single leaf breaks, by the ids of their findings.
        only_constant: Does a model pass, but none that does not predict the same for everybody?
        reported: How useful `best` is to people whom nothing was chosen by; None where there are none.
        merged: Columns whose values of a few people are taken for values never seen.
        stopped: Did the time limit end the search?
        judged_last: Was `best` judged by control people whom no other candidate was judged by?
    """

    model: ModelIR
    given: Report
    release: Release | None
    trials: tuple[Trial, ...] = ()
    best: Trial | None = None
    nearest: Trial | None = None
    exact: bool = False
    at_least: int = 0
    bounded_by_limits: bool = False
    bound_hit: bool = False
    broken_by_root: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    only_constant: bool = False
    reported: Usefulness | None = None
    stopped: bool = False
    judged_last: bool = False


def repair_file(
    session: Session,
    path: Path,
    name: str,
    *,
    keep: str | None = None,
    seconds: float | None = TIME_LIMIT,
    fit_anew: bool = True,
) -> RepairResult:
    """The most useful model found in place of the one in a file that passes the audit of a policy.

    Args:
        session: The policy and its tables.
        path: The file of the given model.
        name: The name of the new file, whose ending chooses its format.
        keep: What of its use is kept as high as possible: `auc`, `balanced_accuracy`, `accuracy` or, of numbers,
            `loss`; None for what fits the policy.
        seconds: After so many no further candidate is looked at; None for no limit.
        fit_anew: May trees be grown and estimators fitted on the table? Otherwise the given model is only cut.

    Raises:
        InvalidError: the policy audits no file, the file is a release of leafgate's own, or `keep` does not fit.
        ReleaseError: the model cannot be told in the policy's columns, or no model below it written as such a file.
        InconclusiveError: the model is not of this table's people, or a limit on people could not be judged.
    """
    from leafgate_convert.repair.wording import candidate_rows, failure_lines, question_lines, success_lines

    refuse_other_builders(session.policy)
    whole = opened_model(path, session)
    goal = goal_of(session.policy, keep, of_numbers=not whole.classes)
    with Workbench.opened(session, name, model_bytes(path), goal, seconds) as bench:
        if impossible := unkeepable_limits(session.policy.metrics, session.plugins, session.table, of_model=True):
            given, _ = bench.audit_given(path)
            why = [f"{limit.metric.called}: {limit.message}; {limit.hint}" for limit in impossible]
            return RepairResult(
                report=given, passes_already=given.verdict == "pass", lines=(*why, *question_lines(session))
            )
        outcome = without_constant(repaired(bench, whole, path, fit_anew=fit_anew))
        if outcome.given.verdict == "pass":
            return RepairResult(report=outcome.given, passes_already=True)
        candidates = candidate_rows(outcome, bench)
        if outcome.best is None:
            report = outcome.given if outcome.nearest is None else outcome.nearest.report
            lines = (*failure_lines(outcome, bench), *question_lines(session))
            return RepairResult(report=report, lines=lines, candidates=candidates)
        file = bench.folder / name
        write_file(file, outcome.best.content, OWNER_ONLY)
        new = read_model(file, session.plugins.readers)
        lines = tuple(success_lines(outcome, outcome.best, new, bench))
    return RepairResult(report=outcome.best.report, content=outcome.best.content, lines=lines, candidates=candidates)


def is_constant(model: ModelIR) -> bool:
    """Does the model predict the same for everybody?"""
    return all(tree.nodes == 1 for tree in model.trees)


def without_constant(outcome: Outcome) -> Outcome:
    """The outcome, where the best that passes is no better than a constant as one in which nothing passes."""
    if outcome.best is None:
        return outcome
    useless = outcome.reported is not None and not outcome.reported.is_useful
    if not useless and not is_constant(outcome.best.model):
        return outcome
    return replace(outcome, best=None, only_constant=True)


def repaired(bench: Workbench, model: ModelIR, path: Path, *, fit_anew: bool = True) -> Outcome:
    """The most useful model found in place of the given one that passes the audit of its file.

    Args:
        bench: The policy, its tables, and where candidates are audited.
        model: The given model, as read from the file at `path`.
        path: Its file.
        fit_anew: May trees be grown and estimators fitted on the table?

    Raises:
        ReleaseError: the model cannot be told in the policy's columns, or no model below it written as such a file.
        InconclusiveError: the model is not of this table's people, or a limit on people could not be judged.
    """
    given, release = bench.audit_given(path)
    if given.verdict == "pass":
        return Outcome(model, given, release)
    bench.refuse_format(model)
    _refuse_other_people(given)
    merged = _merged(model, given, release, bench)
    whole = prunable(merged.model, bench.session.table, bench.encoding, path.name, bench.goal)
    plan = _Plan(bench, whole, given, release, path.name, fit_anew)
    plan.run()
    if not plan.trials and bench.problem is not None:
        raise bench.problem
    best, judged_last = plan.winner()
    others = [trial for trial in plan.trials if not (best and (trial.passes or is_constant(trial.model)))]
    nearest = min(others, key=_distance, default=None) if best is None or is_constant(best.model) else None
    limited = [solution.at_least for solution in plan.solutions] if plan.proves else []
    return Outcome(
        model,
        given,
        release,
        tuple(plan.trials),
        best,
        nearest,
        exact=plan.is_proved(best),
        at_least=min(limited, default=0),
        bounded_by_limits=bool(limited),
        bound_hit=any(not solution.complete for solution in plan.solutions),
        broken_by_root=plan.broken_by_root,
        merged=merged.columns,
        reported=None if best is None else reported_use(best, bench),
        stopped=plan.stopped,
        judged_last=judged_last,
    )


def reported_use(trial: Trial, bench: Workbench) -> Usefulness | None:
    """How useful a candidate is to people whom nothing was chosen by, or cross-fitted; None where nobody knows."""
    if bench.parts.reporting is not None and trial.release is not None:
        return bench.use_of(trial.release, bench.parts.reporting)
    return trial.use if trial.step in FITTED_ANEW and bench.parts.choosing is None else None


def _merged(model: ModelIR, given: Report, release: Release | None, bench: Workbench) -> MergedModel:
    """The model that does not name values of a few people, where the policy limits what the file tells and it does."""
    items = () if release is None or release.file is None else release.file.discloses
    if not any(item.kind == "people_listed" for item in items) or not any(map(_limits_file, given.findings)):
        return MergedModel(model)
    leaves: LeafContent = "shares" if model.values == "scores" else "labels"
    least = minimise(model, leaves, bench.name, None, merge=False, kept=bench.encoding)
    return merge_rare_values(model, least, bench.people, dummies=bench.is_neutral)


def _limits_file(finding: Finding) -> bool:
    return is_of_file(finding) and finding.fails and finding.id != "published_file"


def _distance(trial: Trial) -> tuple[int, float]:
    """How many limits a candidate breaks, and how useless it is."""
    return sum(finding.fails or finding.passed is None for finding in trial.report.findings), -trial.value


def _refuse_other_people(given: Report) -> None:
    """InconclusiveError where the file may be misread, counts other people, or has its classes mapped otherwise.

    Without its counts nobody could see it, and leaves that the table labels anew would seem to predict better.
    """
    remedies = {
        "reading": "write what the model itself answers, and name it by --witness; see leafgate audit",
        "class_codes": "correct the codes of the class, or confirm them; see leafgate audit",
        "counted": "name the table it was trained on; see leafgate audit",
    }
    for finding in given.findings:
        if finding.id in remedies and not finding.passed:
            problem = f"is not repaired: {finding.evidence['problem']}"
            raise InconclusiveError(problem, place="MODEL", remedy=remedies[finding.id])


@dataclass(frozen=True)
class _Scores:
    """Levels of a teacher's scores.

    Attributes:
        levels: shape (n_records,); None where they tell apart no more than the classes do.
        across: Was the teacher of each record fitted on other people?
    """

    levels: Ids | None
    across: bool


@dataclass(eq=False)
class _Plan:
    """The candidates and the exact solutions of one repair."""

    bench: Workbench
    model: PrunableModel
    given: Report
    release: Release | None
    name: str
    fit_anew: bool
    trials: list[Trial] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    proves: bool = True
    broken_by_root: tuple[str, ...] = ()
    told: set[tuple[LeafContent, str]] = field(default_factory=set)
    stopped: bool = False
    fits: dict[bytes, Callable[[int], Release | None]] = field(default_factory=dict)

    def run(self) -> None:
        """Try the ladder: what keeps the predictions first, then what is quick, then what is searched."""
        alone = self._is_separable(self.model)
        self._scrubbed()
        if any(map(self._is_as_good, self.trials)) and not self.bench.has_sampled_limits:
            return
        anew = self.fit_anew and bool(self.model.given.classes)
        if anew:
            self._distilled()
        if alone:
            self._for_each_level(self._solve_or_search)
        if anew:
            self._fitted_trees()
        if not alone:
            self._expanded()
        if anew:
            self._refitted()
        if not alone:
            self._for_each_level(self._search_all)
        self.stopped = self.bench.out_of_time
        if not any(trial.passes for trial in self.trials):
            self._single_leaf(self._levels())
        self._cross_fits()

    def _is_as_good(self, trial: Trial) -> bool:
        """Does what is left of the given model pass, and predict as well as it does?"""
        people = self.bench.parts.choosing or self.bench.session.table
        given = None if self.release is None else self.bench.use_of(self.release, people)
        return trial.passes and (trial.step == "scrub" or (given is not None and trial.value >= given.value - SAME_USE))

    def _for_each_level(self, search: Callable[[LeafContent], None]) -> None:
        """Search with one kind of leaves after another, until leaves that say less can gain nothing."""
        for leaves in self._levels():
            search(leaves)
            if any(trial.passes for trial in self.trials) and not self._limits(leaves).hides_composition:
                return

    def _search_all(self, leaves: LeafContent) -> None:
        self._search([tree.nothing_pruned() for tree in self.model.trees], leaves)
        self._single_tree(leaves)

    def winner(self) -> tuple[Trial | None, bool]:
        """The most useful candidate that passes the whole policy; whether people who judged no other one say so.

        Candidates are judged by limits that samples of people decide in the order of their use, by one half of the
        control; the first that passes is judged by the other half, which nothing else was judged by.
        """
        ranked = self.ranked()
        if not self.bench.has_sampled_limits:
            return (ranked[0] if ranked else None), False
        first, last = self.bench.halves_of_control()
        undecided = True
        for number, trial in enumerate(ranked[:MOST_JUDGED]):
            if number and self.bench.at_end:
                break
            looked = self.bench.judged(trial, first)
            undecided &= looked.report.verdict == "inconclusive"
            if looked.passes and last is not None:
                looked = self.bench.judged(trial, last)
                self._replace(trial, looked)
                return (looked if looked.passes else None), looked.passes
            self._replace(trial, looked)
            if looked.passes:
                return looked, False
        if (
            undecided and ranked and last is not None
        ):  # no candidate was chosen by the control: it is judged by all of it
            looked = self.bench.judged(ranked[0], None)
            self._replace(ranked[0], looked)
            return (looked if looked.passes else None), looked.passes
        return None, False

    def _replace(self, trial: Trial, judged: Trial) -> None:
        self.trials = [judged if each is trial or each.content == judged.content else each for each in self.trials]

    def ranked(self) -> list[Trial]:
        """The candidates that pass, the most useful first; of equals the least change, and the most on the leaves.

        Of two that seem equally useful the one comes first of which more is known: half a standard error counts.

        Without people outside the table the use of what was cut is known on its own people alone, which flatters. It
        comes after what was fitted anew, whose use is cross-fitted; what predicts as the given model does comes first.
        """
        blind = self.bench.parts.choosing is None
        passing = [trial for trial in self.trials if trial.passes]

        def place(trial: Trial) -> tuple[bool, bool, float, int, int, int]:
            nodes = sum(tree.nodes for tree in trial.model.trees)
            cut = blind and trial.step not in FITTED_ANEW and trial.step != "scrub"
            order = STEPS.index(trial.step), FINEST_FIRST.index(trial.leaves), nodes
            return is_constant(trial.model), cut, -round(trial.sure, 4), *order

        return sorted(passing, key=place)

    def is_proved(self, best: Trial | None) -> bool:
        """Is there no better pruning of the given tree, by the exact solutions?"""
        bounds = [solution.at_least for solution in self.solutions]
        return best is not None and best.loss is not None and self.proves and bool(bounds) and best.loss <= min(bounds)

    def _scrubbed(self) -> None:
        """The given model without what no prediction needs, and with coarser leaves.

        Not where a limit on the size of groups is broken: leaves that say less make no group larger, unless they say
        the same as their neighbours.
        """
        limited = {metric.called for metric in person_metrics(self.bench.session.policy.metrics) if metric.groups_only}
        if any(finding.fails and finding.metric in limited for finding in self.given.findings):
            return
        model = self.model.given if self.bench.keeps_features else self.model.plain
        for leaves in self._levels():
            if not self.bench.out_of_time:
                step: Step = "scrub" if leaves == model.leaf_level else "coarser leaves"
                found = self._kept(self.bench.trial(model, leaves, step, leaves))
                if found is not None and found.passes:
                    return

    def _kept(self, trial: Trial | None) -> Trial | None:
        self.trials += [] if trial is None else [trial]
        return trial

    def _tried(self, model: ModelIR, step: Step, words: str) -> Trial | None:
        """A model of its own with the most on its leaves that passes; the last one that was tried where none does."""
        found = None
        for leaves in self._levels_within(model):
            if (leaves, model.values) in self.told or self.bench.at_end:
                continue
            is_label = leaves == "labels" and self.bench.goal == "balanced_accuracy" and model.counted == "exact"
            own = balanced(model) if is_label and model.values == "counts" else model
            found = self._kept(self._tried_at(own, leaves, step, words))
            if found is None:
                continue
            broken = [finding for finding in found.report.findings if finding.fails]
            if any(map(is_of_file, broken)):
                self.told |= set() if _lists_people(found) else {(leaves, model.values)}
            elif found.passes or not self._limits(leaves).hides_composition:
                return found
        return found

    def _tried_at(self, model: ModelIR, leaves: LeafContent, step: Step, words: str) -> Trial | None:
        """The model with this on its leaves; where its file names values of a few people, without these."""
        found = self.bench.trial(model, leaves, step, words)
        if found is None or not _lists_people(found) or not any(map(is_of_file, filter(_fails, found.report.findings))):
            return found
        least = minimise(model, leaves, self.bench.name, None, merge=False, kept=self.bench.encoding)
        merged = merge_rare_values(model, least, self.bench.people, dummies=self.bench.is_neutral)
        if not merged.columns:
            return found
        table, whole = self.bench.session.table, merged.model
        if model.values == "counts" and len(model.trees) == 1:
            try:
                whole = recounted(whole, rows_for(whole, table, self.bench.encoding, self._names(), self.name))
            except LeafgateError:
                return found
        return self.bench.trial(whole, leaves, step, words) or found

    def _levels_within(self, model: ModelIR) -> list[LeafContent]:
        """What may stand on a model's leaves: no more than is published, nor than it has; the most first."""
        policy = self.bench.session.policy
        claim = "counts" if policy.publish is None else policy.publish.leaves
        possible = [leaves for leaves in WITHIN[claim] if _can_have(model, leaves, self.name)]
        return possible or [leaves for leaves in FINEST_FIRST[::-1] if _can_have(model, leaves, self.name)][:1]

    def _levels(self) -> list[LeafContent]:
        """The same of the given model; without those by which the file tells too much, unless there is no other."""
        possible = self._levels_within(self.model.given)
        kept = [leaves for leaves in possible[:-1] if not self._tells_too_much(leaves)]
        return [*kept, *possible[-1:]]

    def _tells_too_much(self, leaves: LeafContent) -> bool:
        """Does a file with few leaves break a limit on what files tell already?"""
        key = leaves, self.model.given.values
        if key in self.told or key in self._asked:
            return key in self.told
        self._asked.add(key)
        try:
            _, content = self.bench.written(self._small(), leaves)
        except ReleaseError:
            return False
        metrics = [one for one in self.bench.session.policy.metrics if one.use == "file_disclosure"]
        if any(is_of_file(one) and one.fails for one in self.bench.findings_of(content, metrics, ())):
            self.told.add(key)
        return key in self.told

    _asked: set[tuple[LeafContent, str]] = field(default_factory=set)

    def _small(self) -> ModelIR:
        """The given model with few leaves in each tree."""
        cuts = [few_leaves(tree) for tree in self.model.trees]
        return self.model.pruned(cuts, as_given=self.bench.keeps_features)

    def _is_separable(self, model: PrunableModel) -> bool:
        """Is it one tree over public columns, whose leaves predict by themselves?"""
        given = model.given
        return model.is_public and len(given.trees) == 1 and not given.base and given.values != "scores"

    def _limits(self, leaves: LeafContent) -> PersonLimits:
        metrics = person_metrics(self.bench.searched_policy.metrics)
        return person_limits(metrics, self.given.findings, leaves)

    def _solve(self, model: PrunableModel, leaves: LeafContent) -> Solution:
        return NodeLimits(self.bench, model, leaves, self._limits(leaves)).solve()

    def _solve_or_search(self, leaves: LeafContent) -> None:
        """The exact solution, and a search where it does not pass or proves nothing."""
        solution = self._solve(self.model, leaves)
        if not solution.separable:
            self.proves = False
            self._search([tree.nothing_pruned() for tree in self.model.trees], leaves)
            return
        if solution.cut is None:
            self.broken_by_root = tuple(sorted({*self.broken_by_root, *solution.broken_by_root}))
            return
        self.solutions.append(solution)
        pruned = self.model.pruned([solution.cut], as_given=self.bench.keeps_features)
        found = self._kept(self.bench.trial(pruned, leaves, "pruning", leaves, solution.loss))
        if found is None or not found.passes:
            self._search([solution.cut], leaves)

    def _search(self, base: Cuts, leaves: LeafContent) -> None:
        self.trials += Search(self.bench, self.model, base, leaves).run()

    def _single_tree(self, leaves: LeafContent) -> None:
        """The best pruning of the best tree of a forest, as a further candidate."""
        trees = self.model.trees
        if len(trees) == 1 or self.bench.out_of_time:
            return
        model = self.model.alone(min(range(len(trees)), key=lambda i: trees[i].given_loss))
        if self._is_separable(model):
            solution = self._solve(model, leaves)
            if solution.cut is not None:
                pruned = model.pruned([solution.cut], as_given=self.bench.keeps_features)
                self._kept(self.bench.trial(pruned, leaves, "fewer trees", "one tree"))

    def _expanded(self) -> None:
        """The first trees as one tree, with the people of each class on its leaves, pruned exactly."""
        if not self.model.given.classes:
            return
        rows = self._rows
        for one in expansions(self.model, list(map(few_leaves, self.model.trees)), self.bench.session.table.persons):
            if self.bench.out_of_time:
                return
            counted = one if rows is None else recounted(one, rows)
            words = "one tree of the first trees"
            self._pruned_exactly(counted, "fewer trees", words)
            if rows is not None and self.bench.goal != "auc":
                self._pruned_exactly(one, "fewer trees", words)

    def _pruned_exactly(self, model: ModelIR, step: Step, words: str) -> None:
        """One tree, pruned so far that limits on people hold, as a candidate."""
        leaves = next((one for one in self._levels_within(model) if (one, model.values) not in self.told), None)
        if leaves == "labels" and self.bench.goal == "balanced_accuracy" and model.values == "counts":
            model = balanced(model)
        try:
            whole = prunable(model, self.bench.session.table, self.bench.encoding, self.name, self.bench.goal)
        except LeafgateError:
            return
        if leaves is None or not self._is_separable(whole):
            self._tried(model, step, words)
            return
        solution = self._solve(whole, leaves)
        if solution.cut is not None:
            self._tried(whole.pruned([solution.cut], as_given=self.bench.keeps_features), step, words)

    @property
    def _metrics(self) -> Sequence[Metric]:
        return self.bench.session.policy.metrics

    def _names(self) -> Mapping[str, str]:
        """The model's class for each value of the policy's class."""
        given = self.bench.given
        if given is not None and given.reading is not None and given.reading.classes:
            return dict(given.reading.classes)
        return {value: value for value in self.model.given.classes}

    @cached_property
    def _rows(self) -> Rows | None:
        """The table's people as the given model's features; None where they cannot be told."""
        bench = self.bench
        try:
            return rows_for(self.model.given, bench.session.table, bench.encoding, self._names(), self.name)
        except LeafgateError:
            return None

    def _distilled(self) -> None:
        """Trees that keep the limits on groups by construction, by the classes and by the given model's scores.

        Those by the classes are quick, and are tried whatever time the given model has taken.
        """
        bench = self.bench
        prunes = bench.goal in {"accuracy", "balanced_accuracy"}
        kinds = list(growers(bench.session.plugins, self._metrics, bench.session.table.people, prune=prunes))
        for of_scores in (False, True):
            for grower in kinds:
                if bench.at_end or (of_scores and bench.out_of_time):
                    return
                self._grown_tree(grower, of_scores=of_scores)

    def _grown_tree(self, grower: Grower, *, of_scores: bool) -> None:
        """A tree that a builder grows of the table, as a candidate."""
        bench, names = self.bench, self._names()
        levels = self._scores.levels if of_scores else None
        grown = None if of_scores and levels is None else grower.grown(bench.session.table, levels)
        if grown is None or not set(grown.release.classes) <= names.keys():
            return
        words = grower.words + (", by the model's scores" if of_scores else "")
        model = model_of(grown, names, bench.encoding, float32=bench.name.lower().endswith(".skops"))
        self._fits_by(self._tried(model, "distillation", words), partial(self._grown, grower, of_scores))

    def _grown(self, grower: Grower, of_scores: bool, number: int) -> Release | None:
        """What a builder grows on all but one fold."""
        levels = self._within[number] if of_scores else None
        if of_scores and levels is None:
            return None
        bench, names = self.bench, self._names()
        grown = grower.grown(rows_at(bench.session.table, self._fold != number), levels)
        if grown is None:
            return None
        model = model_of(grown, names, bench.encoding)
        return lower_model(model, b"", bench.session.table.schema, bench.encoding, self.name).release

    def _fitted_trees(self) -> None:
        """Single trees over the model's features, by classes and by scores."""
        rows = self._rows
        if rows is None:
            return
        for settings in tree_settings(self._least()):
            for labels in (rows.classes, self._scores.levels):
                if labels is None or self.bench.out_of_time:
                    continue
                by = "" if labels is rows.classes else ", by the model's scores"
                self._fitted_tree(settings, rows, labels, settings.words + by)

    def _refitted(self) -> None:
        """The model's own estimator with fewer trees and larger leaves."""
        rows, bench = self._rows, self.bench
        learner = None if bench.given is None else bench.given.learner
        if rows is None or learner is None:
            return
        for settings in settings_for(learner, self._least()):
            if bench.out_of_time:
                return
            model = fitted(settings, self.model.given, rows, bench.session.plugins.readers)
            if model is not None:
                found = self._tried(model, "refit", settings.words)
                self._fits_by(found, partial(self._fitted_release, settings, rows, None))

    def _fitted_tree(self, settings: Settings, rows: Rows, labels: Ids, words: str) -> None:
        """A tree over the model's features with people of each class on its leaves, pruned where a limit asks it."""
        model = fitted(settings, self.model.given, rows, self.bench.session.plugins.readers, labels)
        if model is None:
            return
        known, number = len(self.trials), len(model.trees[0].leaves)
        self._pruned_exactly(model, "distillation", words)
        whole = [one for one in self.trials[known:] if len(one.model.trees[0].leaves) == number]
        for found in whole:  # what was pruned further is another tree than one that is fitted on a part of the table
            self._fits_by(found, partial(self._fitted_release, settings, rows, labels))

    def _fitted_release(self, settings: Settings, rows: Rows, labels: Ids | None, number: int) -> Release | None:
        """What is fitted on all but one fold, over the policy's columns."""
        bench, readers = self.bench, self.bench.session.plugins.readers
        part = self._fold != number
        some = None if labels is None else labels[part]
        if labels is not None and labels is self._scores.levels:
            some = self._within[number]
            if some is None:
                return None
        model = fitted(settings, self.model.given, rows.at(part), readers, some)
        if model is None:
            return None
        return lower_model(model, b"", bench.session.table.schema, bench.encoding, self.name).release

    def _least(self) -> int:
        """People that each leaf must have by the limits on groups; 5 where there are none."""
        sizes = [
            getattr(grower.builder, name)
            for grower in growers(
                self.bench.session.plugins, self._metrics, self.bench.session.table.people, prune=False
            )
            for name in grower.builder.stricter_more
        ]
        return max(min(sizes, default=5), 2)

    @cached_property
    def _scores(self) -> _Scores:
        """Levels of scores: of estimators that did not see the people where one can be fitted, else the given one's."""
        bench, table = self.bench, self.bench.session.table
        learner, readers = None if bench.given is None else bench.given.learner, bench.session.plugins.readers
        across = None if learner is None else scores_across(learner, readers, table, self._fold)
        if learner is None or across is None:
            own = None if self.release is None else given_scores(self.release, table)
            return _Scores(None if own is None else levels_of(own, table), across=False)
        return _Scores(levels_of(across, table), across=True)

    @cached_property
    def _within(self) -> tuple[Ids | None, ...]:
        """For each fold the levels of everybody else by teachers that saw nobody of the fold."""
        bench, table = self.bench, self.bench.session.table
        learner = None if bench.given is None else bench.given.learner
        if learner is None or not self._scores.across:
            return (None,) * FOLDS
        found = []
        for number in range(FOLDS):
            others = rows_at(table, self._fold != number)
            inner = scores_across(learner, bench.session.plugins.readers, others, folds_of(others, 2))
            found.append(None if inner is None else levels_of(inner, others))
        return tuple(found)

    def _cross_fits(self) -> None:
        """Give candidates that were fitted anew their use on people of the table whom they were not fitted on.

        Beside people outside the table it is one more estimate for those that seem best by these; without such people
        it is the only honest one.
        """
        blind = self.bench.parts.choosing is None
        passing = [trial for trial in self.trials if trial.passes and trial.content in self.fits]
        order = sorted(passing, key=lambda trial: -trial.value)
        for trial in order if blind else order[:MOST_CROSS_FITTED]:
            within = None if self.bench.at_end else self._cross_fitted(self.fits[trial.content])
            use = within if blind else joint_use(trial.use, within)
            self._replace(trial, replace(trial, use=use))

    def _cross_fitted(self, fit: Callable[[int], Release | None]) -> Usefulness | None:
        """How useful what is fitted on all but one fold is to that fold, on the mean; None where that is not known."""
        table, known = self.bench.session.table, []
        for number in range(FOLDS):
            release = fit(number)
            use = None if release is None else self.bench.use_of(release, rows_at(table, self._fold == number))
            if use is None:
                return None
            known.append(use)
        return mean_use(known)

    def _fits_by(self, trial: Trial | None, fit: Callable[[int], Release | None]) -> None:
        """Note how a candidate was fitted: `fit` gives what is fitted on all but one fold.

        None where tests were chosen by scores that know that fold's classes.
        """
        if trial is not None:
            self.fits[trial.content] = fit

    @cached_property
    def _fold(self) -> Ids:
        """In which of the parts of the table each record is."""
        return folds_of(self.bench.session.table, FOLDS)

    def _single_leaf(self, levels: Sequence[LeafContent]) -> None:
        """The root alone, as a last resort."""
        tree = self.model.trees[0]
        cut = tree.root_alone()
        model = self.model.pruned([cut], as_given=self.bench.keeps_features)
        for leaves in levels[::-1]:
            self._kept(self.bench.trial(model, leaves, "pruning", "a single leaf"))


def _fails(finding: Finding) -> bool:
    return finding.fails


def _lists_people(trial: Trial) -> bool:
    """Does the candidate's file name values that a few people have?"""
    file = None if trial.release is None else trial.release.file
    return file is not None and any(item.kind == "people_listed" for item in file.discloses)


def _can_have(model: ModelIR, leaves: LeafContent, place: str) -> bool:
    try:
        with_leaves(model, leaves, place, None)
    except ReleaseError:
        return False
    return True


def opened_model(path: Path, session: Session) -> ModelIR:
    """The model to repair.

    Raises:
        InvalidError: it is a release of leafgate's own, which is built anew and not repaired.
        ReleaseError: it cannot be read.
    """
    try:
        return read_model(path, session.plugins.readers)
    except ReleaseError:
        _refuse_own_release(path, session)
        raise


def _refuse_own_release(path: Path, session: Session) -> None:
    """InvalidError where the file is a release of leafgate's own, with the reason why it is not repaired."""
    try:
        release = load_release(path, session.table.schema, readers=session.plugins.readers).release
    except ReleaseError:
        return
    builder = session.plugins.by_name.get(str(release.builder.get("use", "")))
    if release.claims_differential_privacy:
        reason = "claims differential privacy, and pruned by looking at the people it would keep no such promise"
    elif getattr(builder, "randomness", "none") == "system":
        reason = "was drawn once and for all, and what is changed by looking at the people is another draw"
    else:
        reason = "is a release of leafgate's own and no fitted model's file"
    raise InvalidError(f"{reason}, so it is not repaired", place=path.name, remedy="change `build` and build it anew")


def with_witness(session: Session, witness: Path | None) -> Session:
    """The session with this witness of the given model, where there is one, in place of the policy's."""
    if witness is None:
        return session
    build = session.policy.build.model_copy(update={"witness": witness})
    return replace(session, policy=session.policy.model_copy(update={"build": build}))


def refuse_other_builders(policy: Policy) -> None:
    """InvalidError for a policy that does not audit a file."""
    if policy.build.use != "published":
        raise InvalidError(
            f"builds its release by {policy.build.use!r}, and a repair needs `published`, which audits a file",
            place="build.use",
            remedy="say `build: {use: published, path: FILE}`",
        )
