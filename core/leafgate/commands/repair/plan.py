"""The plan of a repair: a ladder of changes, the least first, of which the most useful that passes is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from leafgate.algorithms.usefulness import Goal, Usefulness
from leafgate.api import InconclusiveError, InvalidError, Release, ReleaseError
from leafgate.commands.convert.rare_cells import MergedModel
from leafgate.commands.convert.scrub import LeafContent
from leafgate.commands.repair.choice import chosen
from leafgate.commands.repair.ladder import Ladder
from leafgate.commands.repair.result import RepairResult
from leafgate.commands.repair.trials import FITTED_ANEW, Trial, Workbench, is_constant
from leafgate.engine.keepable import unkeepable_limits
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.kernel.findings import SPELLING, Finding, Report
from leafgate.kernel.policy import Policy
from leafgate.models.load import load_release
from leafgate.models.reader import model_bytes, read_model
from leafgate.readers import ModelIR
from leafgate.search.budget import Budget
from leafgate.session.audit import Audit
from leafgate.session.run import Session

COLUMNS = ("used", "all")
"""What trees that are grown anew may ask about: columns that the given model takes, or all of the policy."""


@dataclass(frozen=True, eq=False)
class RepairOutcome:
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
        broken_by_root: Limits that even a single leaf breaks, by the ids of their findings.
        only_constant: Does a model pass, but none that does not predict the same for everybody?
        reported: How useful `best` is to people whom nothing was chosen by; None where there are none.
        added: Columns that `best` asks about and the given model does not take.
        merged: Columns whose values of a few people are taken for values never seen.
        ended_by: What ended the search early: nothing, the amount of work, or the clock.
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
    broken_by_root: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    only_constant: bool = False
    reported: Usefulness | None = None
    ended_by: Literal["", "work", "clock"] = ""
    judged_last: bool = False


def goal_of(policy: Policy, keep: str | None, *, of_numbers: bool) -> Goal:
    """The goal of a repair: the one that is asked for, or the one that fits what the policy publishes.

    Raises InvalidError for a goal that there is not, or that does not fit what the model predicts.
    """
    goals: tuple[Goal, ...] = get_args(Goal)
    fitting = goals[-1:] if of_numbers else goals[:-1]
    if keep is None:
        labels = policy.publish is not None and policy.publish.leaves in {"labels", "error_rates"}
        return "loss" if of_numbers else "balanced_accuracy" if labels else "auc"
    for goal in fitting:
        if goal == keep:
            return goal
    what = "numbers" if of_numbers else "classes"
    raise InvalidError(
        f"no model of {what} is kept for this", place="--keep", remedy=f"choose from {', '.join(fitting)}"
    )


def repair_file(
    session: Session,
    path: Path,
    name: str,
    *,
    keep: str | None = None,
    effort: float = 1.0,
    seconds: float | None = None,
    fit_anew: bool = True,
    columns: str = "used",
    known: Audit | None = None,
) -> RepairResult:
    """The most useful model found in place of the one in a file that passes the audit of a policy.

    Args:
        session: The policy and its tables.
        path: The file of the given model.
        name: The name of the new file, whose ending chooses its format.
        keep: What of its use is kept as high as possible: `auc`, `balanced_accuracy`, `accuracy` or, of numbers,
            `loss`; None for what fits the policy.
        effort: How many times the default amount of work is done.
        seconds: After so many no further candidate is looked at, whatever the effort; None for no limit.
        fit_anew: May trees be grown and estimators fitted on the table? Otherwise the given model is only cut.
        columns: What trees that are grown anew may ask about: columns that the given model takes (`used`), or `all`.
        known: The audit of that file by this policy; None where it is still to be made.

    Raises:
        InvalidError: the policy audits no file, the file is a release of leafgate's own, or `keep` does not fit.
        ReleaseError: the model cannot be expressed in the policy's columns, or no pruned one be written as such a file.
        InconclusiveError: the model is not of this table's people, or a limit on people could not be judged.
    """
    from leafgate.commands.repair.wording import candidates_table, failure_lines, question_lines, success_lines

    refuse_unsuitable_policy(session.policy)
    whole = opened_model(path, session)
    if columns not in COLUMNS:
        raise InvalidError("is no choice of columns", place="--columns", remedy=f"choose from {', '.join(COLUMNS)}")
    goal = goal_of(session.policy, keep, of_numbers=not whole.classes)
    with Workbench.opened(session, name, model_bytes(path), goal, Budget.of(effort, seconds)) as bench:
        bench.known = known
        if impossible := unkeepable_limits(session.policy.metrics, session.plugins, session.table, of_model=True):
            given, _ = bench.audit_given(path)
            why = [f"{limit.metric.called}: {limit.message}; {limit.hint}" for limit in impossible]
            return RepairResult(
                report=given, passes_already=given.verdict == "pass", lines=(*why, *question_lines(session))
            )
        outcome = without_constant(repaired(bench, whole, path, fit_anew=fit_anew, all_columns=columns == "all"))
        if outcome.given.verdict == "pass":
            return RepairResult(report=outcome.given, passes_already=True)
        candidates = candidates_table(outcome, bench)
        if outcome.best is None:
            report = outcome.given if outcome.nearest is None else outcome.nearest.report
            lines = (*failure_lines(outcome, bench), *question_lines(session))
            return RepairResult(report=report, lines=lines, candidates=candidates)
        file = bench.folder / name
        write_file(file, outcome.best.content, OWNER_ONLY)
        new = read_model(file, session.plugins.readers)
        lines = tuple(success_lines(outcome, outcome.best, new, bench))
    return RepairResult(report=outcome.best.report, content=outcome.best.content, lines=lines, candidates=candidates)


def without_constant(outcome: RepairOutcome) -> RepairOutcome:
    """The outcome, where the best that passes is no better than a constant as one in which nothing passes."""
    if outcome.best is None:
        return outcome
    useless = outcome.reported is not None and not outcome.reported.is_useful
    if not useless and not is_constant(outcome.best.model):
        return outcome
    return replace(outcome, best=None, only_constant=True)


def repaired(
    bench: Workbench, model: ModelIR, path: Path, *, fit_anew: bool = True, all_columns: bool = False
) -> RepairOutcome:
    """The most useful model found in place of the given one that passes the audit of its file.

    Args:
        bench: The policy, its tables, and where candidates are audited.
        model: The given model, as read from the file at `path`.
        path: Its file.
        fit_anew: May trees be grown and estimators fitted on the table?
        all_columns: May trees be grown on columns that the given model does not take?

    Raises:
        ReleaseError: the model cannot be expressed in the policy's columns, or no pruned one be written as such a file.
        InconclusiveError: the model is not of this table's people, or a limit on people could not be judged.
    """
    given, release = bench.audit_given(path)
    if given.verdict == "pass":
        return RepairOutcome(model, given, release)
    bench.refuse_format(model)
    _refuse_other_people(given)
    merged = _merged(model, given, release, bench)
    ladder = Ladder(bench, merged.model, given, release, path.name, fit_anew, all_columns)
    ladder.refuse_disclosing_format()
    ladder.run()
    if not ladder.trials and bench.problem is not None:
        raise bench.problem
    choice = chosen(ladder.trials, bench)
    best = choice.best
    others = [trial for trial in choice.trials if not (best and (trial.passes or is_constant(trial.model)))]
    nearest = min(others, key=_distance, default=None) if best is None or is_constant(best.model) else None
    limited = [solution.loss for solution in ladder.solutions] if ladder.proves else []
    return RepairOutcome(
        model,
        given,
        release,
        tuple(choice.trials),
        best,
        nearest,
        exact=ladder.is_proved(best),
        at_least=min(limited, default=0),
        bounded_by_limits=bool(limited),
        broken_by_root=ladder.broken_by_root,
        added=() if best is None else ladder.columns_added(best),
        merged=merged.columns,
        reported=None if best is None else reported_use(best, bench),
        ended_by=bench.budget.ended_by,
        judged_last=choice.judged_last,
    )


def reported_use(trial: Trial, bench: Workbench) -> Usefulness | None:
    """How useful a candidate is to people whom nothing was chosen by, or cross-fitted; None where nobody knows."""
    if bench.parts.reporting is not None and trial.release is not None:
        return bench.use_of(trial.release, bench.parts.reporting)
    return trial.use if trial.step in FITTED_ANEW and bench.parts.choosing is None else None


def _merged(model: ModelIR, given: Report, release: Release | None, bench: Workbench) -> MergedModel:
    """The model that does not name values of a few people, where the policy limits what the file discloses."""
    items = () if release is None or release.file is None else release.file.discloses
    if not any(item.kind == "people_listed" for item in items) or not any(map(_limits_file, given.findings)):
        return MergedModel(model)
    leaves: LeafContent = "shares" if model.values == "scores" else "labels"
    return bench.without_rare_values(model, leaves)


def _limits_file(finding: Finding) -> bool:
    return finding.is_of_file and finding.fails and finding.id != "published_file"


def _distance(trial: Trial) -> tuple[int, float]:
    """How many limits a candidate breaks, and how useless it is."""
    return sum(finding.fails or finding.passed is None for finding in trial.report.findings), -trial.value


def _refuse_other_people(given: Report) -> None:
    """InconclusiveError where the file may be misread or counts other people, or its classes may be others.

    Without its counts nobody could see it, and leaves that the table labels anew would seem to predict better.
    """
    remedies = {
        "reading": "write what the model itself answers, and name it by --witness; see leafgate audit",
        "class_codes": "correct the codes of the class, or confirm them; see leafgate audit",
        "counted": "name the table it was trained on; see leafgate audit",
        SPELLING: "say `aliases` or `distinct` of the column; see leafgate audit",
    }
    for finding in given.findings:
        name = finding.id.partition("#")[0]
        if name in remedies and not finding.passed:
            problem = f"is not repaired: {finding.evidence['problem']}"
            raise InconclusiveError(problem, place="MODEL", remedy=remedies[name])


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


def refuse_unsuitable_policy(policy: Policy) -> None:
    """InvalidError for a policy that does not audit a file, or that requires a ledger."""
    if policy.build.use != "published":
        raise InvalidError(
            f"builds its release by {policy.build.use!r}, and a repair needs `published`, which audits a file",
            place="build.use",
            remedy="say `build: {use: published, path: FILE}`",
        )
    if policy.ledger == "required":
        remedy = "repair by a policy that requires none, and audit the new file with the ledger"
        raise InvalidError("requires a ledger, which a repair does not take", place="ledger", remedy=remedy)
