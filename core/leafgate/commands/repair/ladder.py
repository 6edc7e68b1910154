"""The ladder: changes of the given model, the least first, of which each becomes a file that is audited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from leafgate.api import MORE, LeafgateError, Metric, Release, ReleaseError, Table, columns_asked
from leafgate.commands.convert.scrub import LeafContent, folded, with_leaves
from leafgate.commands.repair import refit
from leafgate.commands.repair.distil import Grower, growers, model_of, with_features
from leafgate.commands.repair.exact import NodeLimits, PersonLimits, Solution, person_limits
from leafgate.commands.repair.pruning import PrunableModel, prunable
from leafgate.commands.repair.search import Cuts, Search, few_leaves, protects
from leafgate.commands.repair.teacher import Teacher
from leafgate.commands.repair.trials import FITTED_ANEW, LEVELS, Step, Trial, Workbench, person_metrics
from leafgate.commands.repair.tuning import tuned_settings
from leafgate.kernel.findings import Report
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR
from leafgate.search.people import rows_at, weight_at

WITHIN: dict[str, tuple[LeafContent, ...]] = {
    "counts": LEVELS,
    "shares": LEVELS[1:],
    "error_rates": LEVELS[2:],
    "labels": LEVELS[2:],
}
"""What a file may have on its leaves where a policy publishes so much; no file of a model has error rates."""

Fit = Callable[[int | None], ModelIR | None]
"""Fits a model on all people, or without those of the fold of this number; None where that fails."""

SAME_USE = 0.005
"""Two models whose use differs by less count as equally useful."""


@dataclass(eq=False)
class Ladder:
    """The candidates and the exact solutions of one repair.

    Attributes:
        bench: Where candidates are audited.
        whole: The given model.
        given: The audit of its file.
        release: What that audit made of the file.
        name: What errors call its file.
        fit_anew: May trees be grown and estimators fitted on the table?
        all_columns: May trees be grown on columns that the given model does not take?
        trials: Every candidate that was audited.
        solutions: The exact solutions of the given tree.
        proves: Do they prove anything?
        broken_by_root: Limits that even a single leaf breaks, by the ids of their findings.
        too_much: Does a file with these leaves, of this kind of values, disclose more than the limits on files allow?
            As far as that is known.
    """

    bench: Workbench
    whole: ModelIR
    given: Report
    release: Release | None
    name: str
    fit_anew: bool
    all_columns: bool = False
    trials: list[Trial] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    proves: bool = True
    broken_by_root: tuple[str, ...] = ()
    too_much: dict[tuple[LeafContent, str], bool] = field(default_factory=dict)

    def run(self) -> None:
        """Try the ladder: what keeps the predictions first, then what is quick, then what is searched."""
        self._scrubbed()
        if any(map(self._is_as_good, self.trials)) and not self.bench.has_sampled_limits:
            return
        if self.fit_anew:
            self._tuned()
            self._distilled()
        alone = len(self.whole.trees) == 1 and self._is_separable(self.model)
        if alone:
            self._for_each_level(self._solve_or_search)
        if self._has_found_of_groups():
            return
        if self.fit_anew:
            self._refitted()
        if not alone:
            self._for_each_level(self._search_all)
        if not any(trial.passes for trial in self.trials):
            self._single_leaf(self._levels())

    @cached_property
    def model(self) -> PrunableModel:
        """The given model made ready to be pruned, which takes long for a large forest."""
        bench = self.bench
        return prunable(self.whole, bench.session.table, bench.encoding, self.name, bench.goal)

    def _is_as_good(self, trial: Trial) -> bool:
        """Does what is left of the given model pass, and predict as well as it does?"""
        people = self.bench.parts.choosing or self.bench.session.table
        given = None if self.release is None else self.bench.use_of(self.release, people)
        return trial.passes and (trial.step == "scrub" or (given is not None and trial.value >= given.value - SAME_USE))

    def _has_found_of_groups(self) -> bool:
        """Are single trees enough? They are where groups must be large: people who share a leaf in all trees are few.

        Of 960 repairs by policies with such limits none had more than one tree (see docs/results/repair-use.csv).
        """
        if not (self.fit_anew and self._limits_groups):
            return False
        useful = (
            trial.use is None or trial.use.is_useful
            for trial in self.trials
            if trial.step in FITTED_ANEW and trial.passes
        )
        return any(useful)

    @property
    def _limits_groups(self) -> bool:
        """Is there a limit on how many people share a group?"""
        return any(metric.groups_only for metric in person_metrics(self._metrics))

    def refuse_disclosing_format(self) -> None:
        """ReleaseError where every file of the new format keeps something of the given file that a limit forbids."""
        if not self.bench.keeps_features:
            return
        least = self._cut(self.model, [self.model.trees[0].root_alone()])
        if kept := self.bench.disclosed_against_limits(least, self._levels_within(self.whole)[-1]):
            raise ReleaseError(
                f"files that end so keep of the given file what the policy limits: {kept}",
                place=self.bench.name,
                remedy=f"end the new file's name in {' or '.join(self.bench.other_endings)}",
            )

    def _for_each_level(self, search: Callable[[LeafContent], None]) -> None:
        """Search with one content of leaves after another, until coarser leaves can no longer help."""
        for leaves in self._levels():
            search(leaves)
            if any(trial.passes for trial in self.trials) and not self._limits(leaves).depends_on_leaf_content:
                return

    def _search_all(self, leaves: LeafContent) -> None:
        self._search([tree.nothing_pruned() for tree in self.model.trees], leaves)
        self._single_tree(leaves)

    def is_proved(self, best: Trial | None) -> bool:
        """Is there no better pruning of the given tree, by the exact solutions?"""
        bounds = [solution.loss for solution in self.solutions]
        return best is not None and best.loss is not None and self.proves and bool(bounds) and best.loss <= min(bounds)

    def _scrubbed(self) -> None:
        """The given model without what no prediction needs, and with coarser leaves.

        Not where a limit on the size of groups is violated: coarser leaves make no group larger, except where
        neighbouring leaves become equal.
        """
        limited = {metric.called for metric in person_metrics(self.bench.session.policy.metrics) if metric.groups_only}
        if any(finding.fails and finding.metric in limited for finding in self.given.findings):
            return
        model = self.whole if self.bench.keeps_features else folded(self.whole)
        for leaves in self._levels():
            if not self.bench.has_searched:
                same = leaves == model.leaf_level and (bool(model.classes) or not self.bench.rounds_numbers)
                step: Step = "scrub" if same else "coarser leaves"
                words = leaves if same or model.classes else "rounded numbers"
                found = self._kept(self.bench.trial(model, leaves, step, words))
                if found is not None and found.passes:
                    return

    def _kept(self, trial: Trial | None) -> Trial | None:
        """The candidate, which is kept unless an earlier one has the same file."""
        if trial is not None and all(each.content != trial.content for each in self.trials):
            self.trials.append(trial)
        return trial

    def _tried(self, model: ModelIR, step: Step, words: str) -> Trial | None:
        """A model of its own with the most on its leaves that passes; the last one that was tried where none does."""
        found = None
        for leaves in self._levels_within(model):
            if self.too_much.get((leaves, model.values)) or (
                self.bench.best is not None and self.bench.budget.is_over()
            ):
                continue
            found = self._kept(self._tried_at(self._labelled(model, leaves), leaves, step, words))
            if found is None:
                continue
            broken = [finding for finding in found.report.findings if finding.fails]
            if any(finding.is_of_file for finding in broken):
                self.too_much[leaves, model.values] = not _lists_people(found)
            elif found.passes or not self._limits(leaves).depends_on_leaf_content:
                return found
        return found

    def _tried_at(self, model: ModelIR, leaves: LeafContent, step: Step, words: str) -> Trial | None:
        """The model with this on its leaves; where its file names values of a few people, without these."""
        found = self.bench.trial(model, leaves, step, words)
        if found is None or not _lists_people(found):
            return found
        if not any(finding.is_of_file and finding.fails for finding in found.report.findings):
            return found
        merged = self.bench.without_rare_values(model, leaves)
        if not merged.columns:
            return found
        table, whole = self.bench.session.table, merged.model
        if model.values == "counts" and len(model.trees) == 1:
            try:
                whole = refit.recounted(
                    whole, refit.rows_for(whole, table, self.bench.encoding, self._names(), self.name)
                )
            except LeafgateError:
                return found
        return self.bench.trial(whole, leaves, step, words) or found

    def _levels_within(self, model: ModelIR) -> list[LeafContent]:
        """What may stand on a model's leaves: no more than is published, nor than it has; the most first."""
        policy = self.bench.session.policy
        claim = "counts" if policy.publish is None else policy.publish.leaves
        possible = [leaves for leaves in WITHIN[claim] if _can_have(model, leaves, self.name)]
        return possible or [leaves for leaves in LEVELS[::-1] if _can_have(model, leaves, self.name)][:1]

    def _levels(self) -> list[LeafContent]:
        """What may stand on the given model's leaves; nothing by which the file discloses too much, unless all does."""
        possible = self._levels_within(self.whole)
        kept = [leaves for leaves in possible[:-1] if not self._discloses_too_much(leaves)]
        return [*kept, *possible[-1:]]

    def _discloses_too_much(self, leaves: LeafContent) -> bool:
        """Does a file with few leaves break a limit on what files disclose already?"""
        key = leaves, self.whole.values
        if key not in self.too_much:
            cuts = [few_leaves(tree) for tree in self.model.trees]
            self.too_much[key] = bool(self.bench.disclosed_against_limits(self._cut(self.model, cuts), leaves))
        return self.too_much[key]

    def _cut(self, model: PrunableModel, cuts: Cuts) -> ModelIR:
        """A model pruned, over the features that the new file has."""
        return model.pruned(cuts, as_given=self.bench.keeps_features)

    def _labelled(self, model: ModelIR, leaves: LeafContent) -> ModelIR:
        """The model; where labels of a rare class are to be found, with classes weighed alike."""
        is_rare = leaves == "labels" and self.bench.goal == "balanced_accuracy"
        return refit.balanced(model) if is_rare and model.values == "counts" and model.counted == "exact" else model

    def _is_separable(self, model: PrunableModel) -> bool:
        """Is it one tree over public columns, whose leaves predict and keep every limit by themselves?

        A limit with `allow` tolerates violations in one leaf only as long as others have few.
        """
        given, forgives = model.given, any(metric.allow for metric in person_metrics(self._metrics))
        alone = len(given.trees) == 1 and not given.base and given.values != "scores"
        return model.is_public and alone and not forgives

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
        pruned = self._cut(self.model, [solution.cut])
        found = self._kept(self.bench.trial(pruned, leaves, "pruning", leaves, solution.loss))
        if found is None or not found.passes:
            self._search([solution.cut], leaves)

    def _search(self, base: Cuts, leaves: LeafContent) -> None:
        self.trials += Search(self.bench, self.model, base, leaves).run()

    def _single_tree(self, leaves: LeafContent) -> None:
        """The best pruning of the best tree of a forest, as a further candidate."""
        trees = self.model.trees
        if len(trees) == 1 or self.bench.has_searched:
            return
        model = self.model.alone(min(range(len(trees)), key=lambda i: trees[i].given_loss))
        if self._is_separable(model):
            solution = self._solve(model, leaves)
            if solution.cut is not None:
                self._kept(self.bench.trial(self._cut(model, [solution.cut]), leaves, "fewer trees", "one tree"))

    def _pruned_exactly(self, model: ModelIR) -> ModelIR | None:
        """One tree, pruned so far that limits on people hold; None where that cannot be."""
        leaves = next((one for one in self._levels_within(model) if not self.too_much.get((one, model.values))), None)
        model = model if leaves is None else self._labelled(model, leaves)
        try:
            whole = prunable(model, self.bench.session.table, self.bench.encoding, self.name, self.bench.goal)
        except LeafgateError:
            return None
        if leaves is None or not self._is_separable(whole):
            return model
        solution = self._solve(whole, leaves)
        return None if solution.cut is None else self._cut(whole, [solution.cut])

    @property
    def _metrics(self) -> Sequence[Metric]:
        return self.bench.session.policy.metrics

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The columns that the given model takes."""
        bench = self.bench
        return refit.columns_taken(self.whole, bench.encoding, bench.session.table.schema, self.name)

    @cached_property
    def _growing(self) -> Table:
        """The people with the columns that trees are grown on."""
        table = self.bench.session.table
        return table if self.all_columns else with_features(table, self._taken)

    def columns_added(self, trial: Trial) -> tuple[str, ...]:
        """The columns that a candidate reads and the given model does not take."""
        release = trial.release
        asked = set() if release is None else {name for tree in release.trees for name in columns_asked(tree)}
        return tuple(sorted(asked - self._taken))

    def _names(self) -> Mapping[str, str]:
        """The model's class for each value of the policy's class."""
        reading = None if self.bench.given is None else self.bench.given.provenance.reading
        if reading is not None and reading.classes:
            return dict(reading.classes)
        return {value: value for value in self.whole.classes}

    @cached_property
    def _rows(self) -> refit.Rows | None:
        """The table's people as the given model's features; None where they cannot be computed."""
        bench = self.bench
        try:
            return refit.rows_for(self.whole, bench.session.table, bench.encoding, self._names(), self.name)
        except LeafgateError:
            return None

    def _has_time(self) -> bool:
        """Is another single tree to be grown? They are quick, and are until one passes, whatever time was taken.

        Where a column numbers the people they are not quick: only one is grown once the time is up.
        """
        bench = self.bench
        if bench.best is not None:
            return not bench.budget.is_over()
        is_quick = bench.session.table.person_rows is None or not self.trials
        return is_quick or not bench.budget.is_late()

    def _tuned(self) -> None:
        """The plain tree with the depth and the leaves that predict others best, until one passes as it was fitted.

        Until one passes they are also pruned where a limit asks it. None is tried that is no coarser than one that
        violates a limit on people.
        """
        rows, bench = self._rows, self.bench
        if rows is None:
            return
        readers, table = bench.session.plugins.readers, bench.session.table
        finer: list[tuple[float, float]] = []
        for settings in tuned_settings(self._least(), self.whole, rows, table, bench.fold, readers):
            own = settings.fineness
            if any(own[0] >= leaf and own[1] >= depth for leaf, depth in finer):
                continue
            if not self._has_time():
                return
            known = len(self.trials)
            fit = partial(self._fitted, settings, with_counts=bool(self.whole.classes))
            prune = bool(self.whole.classes) and bench.best is None
            found = self._fitted_anew(fit, "distillation", settings.words, prune=prune)
            if found is not None and found.passes:
                return
            pruned = any(trial.passes for trial in self.trials[known:])
            if pruned or (found is not None and not protects(found.report)):
                finer.append(own)

    def _distilled(self) -> None:
        """Trees that keep the limits on groups by construction, for the classes and then for the model's scores.

        A tree that is grown for the classes adds nothing to a plain one that passes, where scores are asked for.
        """
        bench, table = self.bench, self.bench.session.table
        prunes = bench.goal in {"accuracy", "balanced_accuracy"}
        teacher = Teacher(bench, self.release)
        kinds = list(growers(bench.session.plugins, self._metrics, table.total_weight, prune=prunes))
        has_plain = bench.goal == "auc" and bench.best is not None
        for learns in ([teacher] if has_plain else [None, teacher]) if self.whole.classes else ():
            for grower in kinds:
                if not self._has_time() or (learns is not None and bench.has_searched):
                    return
                words = grower.words if learns is None else f"{grower.words}, by the model's scores"
                self._fitted_anew(partial(self._grown, grower, learns), "distillation", words)

    @property
    def _explained(self) -> list[str]:
        """The names of features that the policy explains, without that of the class."""
        targets = {column.name for column in self.bench.session.table.schema.having("class")}
        return [name for name in self.bench.encoding if name not in targets]

    def _grown(self, grower: Grower, teacher: Teacher | None, fold: int | None = None) -> ModelIR | None:
        """What a builder grows of the table without the people of a fold, for the classes or for a teacher's levels.

        None where it reads a sensitive column that is only there because of limits on what is learned of it.
        """
        people = self._growing if fold is None else rows_at(self._growing, self.bench.fold != fold)
        levels = None if teacher is None else teacher.levels if fold is None else teacher.within[fold]
        if teacher is not None and levels is None:
            return None
        grown, names = grower.grown(people, levels), self._names()
        if grown is None or not set(grown.release.classes) <= names.keys():
            return None
        if not self.all_columns and not set(columns_asked(grown.release.trees[0])) <= self._taken:
            return None
        return model_of(grown, names, self._explained, float32=self.bench.name.lower().endswith(".skops"))

    def _refitted(self) -> None:
        """The model's own estimator with fewer trees and larger leaves."""
        bench = self.bench
        learner = None if bench.given is None else bench.given.provenance.learner
        if self._rows is None or learner is None:
            return
        for settings in refit.settings_for(learner, self._least()):
            if bench.has_searched:
                return
            self._fitted_anew(partial(self._fitted, settings), "refit", settings.words)

    def _fitted(
        self, settings: refit.Settings, fold: int | None = None, *, with_counts: bool = False
    ) -> ModelIR | None:
        """An estimator that is fitted on the table without the people of a fold."""
        rows, table = self._rows, self.bench.session.table
        if rows is not None and fold is not None:
            own = self.bench.fold != fold
            rows = rows.at(weight_at(table, own) > 0, rows_at(table, own))
        readers = self.bench.session.plugins.readers
        return None if rows is None else refit.fitted(settings, self.whole, rows, readers, with_counts=with_counts)

    def _fitted_anew(self, fit: Fit, step: Step, words: str, *, prune: bool = False) -> Trial | None:
        """A model that is fitted anew, as a candidate.

        Args:
            fit: Fits it on all people, or without those of a fold, by which it is cross-validated.
            step: What was done.
            words: How, in words.
            prune: Is a tree pruned where a limit asks it? Then it is not cross-validated.

        Returns:
            The candidate as it was fitted; None where there is none.
        """
        model = fit(None)
        less = self._pruned_exactly(model) if model is not None and prune else model
        found = None if less is None else self._tried(less, step, words)
        if model is None or less is None or found is None or less.trees[0].nodes < model.trees[0].nodes:
            return None
        known = replace(found, fit=partial(self._released, fit, found.leaves))
        self.trials = [known if each is found else each for each in self.trials]
        return known

    def _released(self, fit: Fit, leaves: LeafContent, number: int) -> Release | None:
        """What is fitted on all but one fold, with these leaves, over the policy's columns; None where that fails."""
        model = fit(number)
        if model is None:
            return None
        try:
            less = self.bench.reduced(self._labelled(model, leaves), leaves)
            return lower_model(less, self.bench.session.table.schema, self.bench.encoding, self.name).release
        except LeafgateError:
            return None

    def _least(self) -> int:
        """People that each leaf must have by the limits on groups; 5 where there are none."""
        sizes = [
            getattr(grower.builder, name)
            for grower in growers(
                self.bench.session.plugins, self._metrics, self.bench.session.table.total_weight, prune=False
            )
            for name in grower.builder.options_ruled(MORE)
        ]
        return max(min(sizes, default=5), 2)

    def _single_leaf(self, levels: Sequence[LeafContent]) -> None:
        """The root alone, as a last resort."""
        tree = self.model.trees[0]
        cut = tree.root_alone()
        model = self.model.pruned([cut], as_given=self.bench.keeps_features)
        for leaves in levels[::-1]:
            self._kept(self.bench.trial(model, leaves, "pruning", "a single leaf"))


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
