"""The plan of a repair: what is audited, solved and searched, in which order, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from leafgate.api import InconclusiveError, InvalidError, ModelIR, Release, ReleaseError
from leafgate.app import (
    OWNER_ONLY,
    Finding,
    Policy,
    RepairResult,
    Report,
    Session,
    load_release,
    model_bytes,
    read_model,
    unkeepable_limits,
    write_file,
)
from leafgate_convert.rare_cells import MergedModel, merge_rare_values
from leafgate_convert.repair.exact import NodeLimits, PersonLimits, Solution, person_limits
from leafgate_convert.repair.expansion import expansions
from leafgate_convert.repair.pruning import PrunableModel, prunable
from leafgate_convert.repair.search import Cuts, Search, few_leaves
from leafgate_convert.repair.trials import Trial, Workbench, is_of_file, person_metrics
from leafgate_convert.scrub import LeafContent, minimise, with_leaves

FINEST_FIRST: tuple[LeafContent, ...] = ("counts", "shares", "labels")
WITHIN: dict[str, tuple[LeafContent, ...]] = {
    "counts": FINEST_FIRST,
    "shares": FINEST_FIRST[1:],
    "error_rates": FINEST_FIRST[2:],
    "labels": FINEST_FIRST[2:],
}
"""What a file may have on its leaves where a policy publishes so much; no file of a model has error rates."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a repair found.

    Attributes:
        model: The given model.
        given: The audit of its file.
        release: What that audit made of the file.
        given_errors: Training people whom it predicts wrongly.
        best: The candidate that passes with the fewest errors; None where none passes, or the given file does.
        nearest: The candidate that breaks the fewest limits, of those with the fewest errors; None where one passes
            that does not predict the same for everybody.
        exact: Was `best` compared with every pruning of the tree?
        at_least: No model below the given one that keeps the limits has fewer errors.
        bounded_by_limits: Does `at_least` follow from the limits on people, not only from the given model?
        bound_hit: Did an exact solution have too many prunings to compare?
        broken_by_root: Limits that even a single leaf breaks, by the ids of their findings.
        only_constant: Does a model pass, but none that does not predict the same for everybody?
        merged: Columns whose values of a few people are taken for values never seen.
    """

    model: ModelIR
    given: Report
    release: Release | None
    given_errors: int = 0
    best: Trial | None = None
    nearest: Trial | None = None
    exact: bool = False
    at_least: int = 0
    bounded_by_limits: bool = False
    bound_hit: bool = False
    broken_by_root: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    only_constant: bool = False


def repair_file(session: Session, path: Path, name: str) -> RepairResult:
    """The most accurate model found below the one in a file that passes the audit of a policy.

    Args:
        session: The policy and its tables.
        path: The file of the given model.
        name: The name of the new file, whose ending chooses its format.

    Raises:
        InvalidError: the policy audits no file, or the file is a release of leafgate's own.
        ReleaseError: the model cannot be told in the policy's columns, or no model below it written as such a file.
        InconclusiveError: the model is not of this table's people, or a limit on people could not be judged.
    """
    from leafgate_convert.repair.wording import failure_lines, success_lines

    refuse_other_builders(session.policy)
    whole = opened_model(path, session)
    with Workbench.opened(session, name, model_bytes(path)) as bench:
        if impossible := unkeepable_limits(session.policy.metrics, session.plugins, session.table, of_model=True):
            given, _ = bench.audit_given(path)
            why = tuple(f"{limit.metric.called}: {limit.message}; {limit.hint}" for limit in impossible)
            return RepairResult(report=given, passes_already=given.verdict == "pass", lines=why)
        outcome = without_constant(repaired(bench, whole, path))
        if outcome.given.verdict == "pass":
            return RepairResult(report=outcome.given, passes_already=True)
        if outcome.best is None:
            report = outcome.given if outcome.nearest is None else outcome.nearest.report
            return RepairResult(report=report, lines=tuple(failure_lines(outcome)))
        file = bench.folder / name
        write_file(file, outcome.best.content, OWNER_ONLY)
        new = read_model(file, session.plugins.readers)
        lines = tuple(success_lines(outcome, outcome.best, new, session))
    return RepairResult(report=outcome.best.report, content=outcome.best.content, lines=lines)


def is_constant(model: ModelIR) -> bool:
    """Does the model predict the same for everybody?"""
    return all(tree.nodes == 1 for tree in model.trees)


def without_constant(outcome: Outcome) -> Outcome:
    """The outcome, where the best that passes is a constant as one in which nothing passes: nobody can use one."""
    if outcome.best is None or not is_constant(outcome.best.model):
        return outcome
    return replace(outcome, best=None, only_constant=True)


def repaired(bench: Workbench, model: ModelIR, path: Path) -> Outcome:
    """The most accurate model found below the given one that passes the audit of its file.

    Args:
        bench: The policy, its tables, and where candidates are audited.
        model: The given model, as read from the file at `path`.
        path: Its file.

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
    whole = prunable(merged.model, bench.session.table, bench.encoding, path.name)
    errors = whole.errors
    plan = _Plan(bench, whole, given, path.name)
    plan.run()
    if not plan.trials and bench.problem is not None:
        raise bench.problem
    passing = [trial for trial in plan.trials if trial.passes]
    best = min(passing, key=lambda trial: (trial.errors, FINEST_FIRST.index(trial.leaves)), default=None)
    others = [trial for trial in plan.trials if not (best and (trial.passes or is_constant(trial.model)))]
    nearest = min(others, key=_distance, default=None) if best is None or is_constant(best.model) else None
    limited = [solution.at_least for solution in plan.solutions] if plan.proves else []
    bound = min(limited) if limited else errors
    return Outcome(
        model,
        given,
        release,
        errors,
        best,
        nearest,
        exact=plan.is_proved(best),
        at_least=bound,
        bounded_by_limits=bool(limited),
        bound_hit=any(not solution.complete for solution in plan.solutions),
        broken_by_root=plan.broken_by_root,
        merged=merged.columns,
    )


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


def _distance(trial: Trial) -> tuple[int, int]:
    """How many limits a candidate breaks, and its errors."""
    return sum(finding.fails or finding.passed is None for finding in trial.report.findings), trial.errors


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


@dataclass(eq=False)
class _Plan:
    """The candidates and the exact solutions of one repair."""

    bench: Workbench
    model: PrunableModel
    given: Report
    name: str
    trials: list[Trial] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    proves: bool = True
    broken_by_root: tuple[str, ...] = ()

    def run(self) -> None:
        """Solve exactly where that can be done, and search where it cannot, or where the solution does not pass."""
        levels = self._levels()
        alone = self._is_separable(self.model)
        if not alone:
            self._expanded()
        for leaves in levels:
            if alone:
                self._solve_or_search(leaves)
            else:
                self._search([tree.nothing_pruned() for tree in self.model.trees], leaves)
                self._single_tree(leaves)
            if any(trial.passes for trial in self.trials) and not self._may_gain(leaves):
                return
        if not any(trial.passes for trial in self.trials):
            self._single_leaf(levels)

    def is_proved(self, best: Trial | None) -> bool:
        """Is there no better pruning of the given tree, by the exact solutions?"""
        bounds = [solution.at_least for solution in self.solutions]
        return best is not None and self.proves and bool(bounds) and best.errors <= min(bounds)

    def _levels(self) -> list[LeafContent]:
        """What may stand on the leaves: no more than is published, nor than the model has; the most first.

        Kinds of leaves by which the file itself tells more than it may are left out, unless there is no other.
        """
        policy = self.bench.session.policy
        claim = "counts" if policy.publish is None else policy.publish.leaves
        possible = [leaves for leaves in WITHIN[claim] if self._can_have(leaves)]
        if not possible:
            possible = [leaves for leaves in FINEST_FIRST[::-1] if self._can_have(leaves)][:1]
        kept = [leaves for leaves in possible[:-1] if not self._tells_too_much(leaves)]
        return [*kept, *possible[-1:]]

    def _can_have(self, leaves: LeafContent) -> bool:
        try:
            with_leaves(self.model.given, leaves, self.name, None)
        except ReleaseError:
            return False
        return True

    def _tells_too_much(self, leaves: LeafContent) -> bool:
        """Does a file with few leaves break a limit on what files tell already?"""
        try:
            _, content = self.bench.written(self._small(), leaves)
        except ReleaseError:
            return False
        metrics = [one for one in self.bench.session.policy.metrics if one.use == "file_disclosure"]
        return any(is_of_file(one) and one.fails for one in self.bench.findings_of(content, metrics, ()))

    def _may_gain(self, leaves: LeafContent) -> bool:
        """May leaves that say less allow a better model? Only where a limit is on what follows from them alone."""
        fewest = min(trial.errors for trial in self.trials if trial.passes)
        return self._limits(leaves).hides_composition and fewest > self.model.errors

    def _small(self) -> ModelIR:
        """The given model with few leaves in each tree."""
        cuts = [few_leaves(tree) for tree in self.model.trees]
        return self.model.pruned(cuts, as_given=not self.bench.is_neutral)

    def _is_separable(self, model: PrunableModel) -> bool:
        """Is it one tree over public columns, whose leaves predict by themselves?"""
        given = model.given
        return model.is_public and len(given.trees) == 1 and not given.base and given.values != "scores"

    def _limits(self, leaves: LeafContent) -> PersonLimits:
        return person_limits(person_metrics(self.bench.session.policy.metrics), self.given.findings, leaves)

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
        found = self._trial_of(self.model, solution, leaves)
        if found is None or not found.passes:
            self._search([solution.cut], leaves)

    def _trial_of(self, model: PrunableModel, solution: Solution, leaves: LeafContent) -> Trial | None:
        """The solution's file with its audit, kept as a candidate."""
        if solution.cut is None:
            return None
        pruned = model.pruned([solution.cut], as_given=not self.bench.is_neutral)
        found = self.bench.trial(pruned, leaves, solution.errors)
        self.trials += [] if found is None else [found]
        return found

    def _search(self, base: Cuts, leaves: LeafContent) -> None:
        self.trials += Search(self.bench, self.model, base, leaves).run()

    def _single_tree(self, leaves: LeafContent) -> None:
        """The best pruning of the best tree of a forest, as a further candidate."""
        trees = self.model.trees
        if len(trees) == 1:
            return
        model = self.model.alone(min(range(len(trees)), key=lambda i: trees[i].given_errors))
        if self._is_separable(model):
            self._trial_of(model, self._solve(model, leaves), leaves)

    def _expanded(self) -> None:
        """The first trees as one tree with labels, pruned exactly."""
        if not self.model.given.classes:
            return
        solved = []
        for one in expansions(self.model, list(map(few_leaves, self.model.trees)), self.bench.session.table.persons):
            model = prunable(one, self.bench.session.table, self.bench.encoding, self.name)
            if self._is_separable(model):
                solved.append((self._solve(model, "labels"), model))
        for solution, model in sorted(solved, key=lambda each: each[0].errors):
            found = self._trial_of(model, solution, "labels")
            if found is not None and found.passes:
                return

    def _single_leaf(self, levels: Sequence[LeafContent]) -> None:
        """The root alone, as a last resort."""
        tree = self.model.trees[0]
        cut = tree.root_alone()
        model = self.model.pruned([cut], as_given=not self.bench.is_neutral)
        for leaves in levels[::-1]:
            found = self.bench.trial(model, leaves, tree.errors_of(cut))
            self.trials += [] if found is None else [found]


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
