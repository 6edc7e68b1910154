"""The search for a change with which a failing audit passes: a builder's option, another builder, larger leaves.

Settings are tried on a fixed ladder (1, 2, 5, 10, 20, 50, ...) and by bisection, first against the broken limits alone,
at last by one whole audit. Nothing is random and no clock is read: the same audit finds the same remedies. No limit, no
attack, no grant and no role is ever changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from leafgate.algorithms.pruned_release import largest_leaf_count, pruned_release
from leafgate.algorithms.publication import at_level
from leafgate.api.components import TreeBuilder
from leafgate.api.plan import AuditPlan
from leafgate.api.registry import Plugins, use_of
from leafgate.engine.remedies import REPAIR, raised_options
from leafgate.errors import LeafgateError
from leafgate.io.release_codec import LoadedRelease, ReleaseArtifact
from leafgate.types.release import Claim, Publish, Release
from leafgate.types.report import Finding, Remedy, Report
from leafgate.types.tree import map_leaves

if TYPE_CHECKING:
    import numpy as np

    from leafgate.types.table import Table

PLAIN_WORD = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z][a-z0-9_]*")
"""Texts that YAML reads as texts without quotes."""
STEPS = (1, 2, 5)
"""The first digits of the ladder: a value that passes says no more than which coarse settings do."""
LEAF_PARAMETERS = {
    "sklearn": ("min_samples_leaf", 1.0),
    "lightgbm": ("min_data_in_leaf", 1.0),
    "xgboost": ("min_child_weight", 0.25),
}
"""By library, the parameter that bounds a leaf from below, and what one person adds to it at most: XGBoost adds second
derivatives, which are at most a quarter for the logistic loss, so that a sum of 50 needs 200 people."""


@dataclass(frozen=True)
class Trial:
    """One audit with a change: its report, and what was built (None where nothing could be)."""

    report: Report
    artifact: ReleaseArtifact | None


Run = Callable[[AuditPlan], Trial]
"""Audits a plan on the same tables, without a search of its own."""


def ladder(above: int, most: int) -> list[int]:
    """The values 1, 2, 5, 10, 20, 50, ... above one number and up to another.

    >>> ladder(2, 120)
    [5, 10, 20, 50, 100]
    """
    powers = (10**power for power in range(len(str(max(most, 1)))))
    return [step * power for power in powers for step in STEPS if above < step * power <= most]


def with_searched_remedies(
    plan: AuditPlan, plugins: Plugins, table: Table, report: Report, artifact: ReleaseArtifact | None, run: Run
) -> Report:
    """The report; its failed findings begin with what the search found, or with a remedy that says it found nothing."""
    failed = [finding for finding in report.findings if finding.fails]
    if not failed or not may_search(plan, artifact):
        return report
    search = _Search(plan, plugins, table, report, artifact, run)
    found = tuple(search.remedies())
    if not found:
        return report

    def advised(finding: Finding) -> Finding:
        others = () if any(each.tried for each in found) else finding.remedies
        kept = [each for each in others if each.action != "advise" and each not in found]
        return replace(finding, remedies=(*found, *kept))

    findings = [advised(finding) if finding.fails else finding for finding in report.findings]
    return replace(report, findings=findings)


def may_search(plan: AuditPlan, artifact: ReleaseArtifact | None) -> bool:
    """May releases be chosen by looking at the data, and is each trial bounded?

    Not where the builder or the release promises what such a choice breaks, or draws what may be drawn once; nor where
    an attack trains models or runs the builder many times.
    """
    builder = plan.builder
    promised = builder.randomness == "system" or any(Claim.of(kind).covers_data for kind in builder.guarantees)
    promised = promised or bool(builder.guarantees)
    if artifact is not None and artifact.release.claims_differential_privacy:
        promised = True
    return not promised and not any("mechanism" in attack.needs for attack in plan.attacks)


class _GivenRelease(TreeBuilder):
    """Stands in for a builder: returns a release that was made in the search."""

    use: Literal["published"] = "published"
    public_algorithm = False

    _made: list[LoadedRelease] = []  # noqa: RUF012  a pydantic private attribute

    @classmethod
    def of(cls, made: LoadedRelease) -> _GivenRelease:
        builder = cls()
        builder._made = [made]
        return builder

    def build(self, table: Table, rng: np.random.Generator) -> LoadedRelease:
        return self._made[0]


@dataclass
class _Search:
    """One search; `failing` has the verdicts of trials by their builders, so that none is run twice."""

    plan: AuditPlan
    plugins: Plugins
    table: Table
    report: Report
    artifact: ReleaseArtifact | None
    run: Run
    tried: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Finding]:
        return [finding for finding in self.report.findings if finding.fails]

    def remedies(self) -> Iterator[Remedy]:
        """What passes, the smallest change first; one remedy that says so where nothing does."""
        model = self.artifact is not None and self.artifact.release.file is not None
        fed = self.artifact is not None and not self.artifact.built
        found = list(self._of_model() if model else () if fed else self._of_builder())
        yield from sorted(found, key=lambda remedy: not remedy.tried)
        if not found and self.tried:
            text = (
                f"No change was found with which every limit holds. Tried: {'; '.join(self.tried)}. "
                "Gather more people, or publish fewer columns."
            )
            yield Remedy(action="none", text=text)

    def _restricted(self) -> AuditPlan:
        """The plan with only the attacks and the limits that failed."""
        names = {finding.metric for finding in self.failed}
        attackers = {finding.attack for finding in self.failed}
        metrics = tuple(each for each in self.plan.metrics if each.called in names)
        attacks = tuple(each for each in self.plan.attacks if each.called in attackers)
        return replace(self.plan, metrics=metrics or self.plan.metrics, attacks=attacks, waivers=())

    def _trial(self, *, whole: bool, **changes: Any) -> Trial | None:
        """An audit of the plan with changes; None where it cannot be run at all."""
        plan = replace(self.plan, waivers=()) if whole else self._restricted()
        try:
            return self.run(replace(plan, **changes))
        except LeafgateError:
            return None

    def _keeps(self, trial: Trial | None) -> bool:
        """Does every limit hold, but for what could not be determined before either?"""
        if trial is None or trial.artifact is None:
            return False
        doubtful = {finding.id for finding in self.report.findings if finding.passed is None}
        return all(finding.passed or finding.id in doubtful for finding in trial.report.findings if not finding.waiver)

    def _smallest(self, values: Sequence[int], trial_of: Callable[[int], Trial | None]) -> tuple[int, Trial] | None:
        """The least value for which the broken limits hold, by bisection; None where they hold for none that was tried.

        Where nothing can be built with a value, it asks for too much, and smaller ones are tried.
        """
        low, high, best = 0, len(values) - 1, None
        while low <= high:
            middle = (low + high) // 2
            trial = trial_of(values[middle])
            if self._keeps(trial):
                assert trial is not None
                best = values[middle], trial
            if self._keeps(trial) or trial is None or trial.artifact is None:
                high = middle - 1
            else:
                low = middle + 1
        return best

    def _of_builder(self) -> Iterator[Remedy]:
        yield from self._labels()
        for option in raised_options(self.plan):
            yield from self._raised(self.plan.builder, option, "")
        for kind in self.plugins.kind(TreeBuilder):
            if issubclass(kind, TreeBuilder) and (other := self._keeping(kind)) is not None:
                yield from self._replaced(other)

    def _labels(self) -> Iterator[Remedy]:
        """Labels alone on the leaves, where the limits are on what an adversary derives from the leaves."""
        publish = self.plan.publish or Publish()
        derived = all(each.limit is not None and each.limit.scored == "derived" for each in self.failed)
        if publish.leaves == "labels" or not derived or not all(each.secret for each in self.failed):
            return
        less = replace(publish, leaves="labels")
        self.tried.append("`publish.leaves: labels`")
        if self._keeps(self._trial(whole=False, publish=less)):
            text = "Publish labels alone on the leaves (`publish.leaves: labels`)"
            trial = self._trial(whole=True, publish=less)
            yield from self._set(trial, text, "publish.leaves", "labels")

    def _raised(self, builder: TreeBuilder, option: str, said: str) -> Iterator[Remedy]:
        """The least value of a whole-number option with which every limit holds."""
        now = getattr(builder, option)
        values = ladder(now, max(self.table.people // 2, 1))
        if not values:
            return

        def trial_of(value: int) -> Trial | None:
            return self._trial(whole=False, builder=builder.model_copy(update={option: value}))

        name = f"`build.{option}`" if not said else f"{said} and `{option}`"
        self.tried.append(f"{name} up to {values[-1]:,}")
        found = self._smallest(values, trial_of)
        if found is None:
            return
        value, trial = found
        chosen = builder.model_copy(update={option: value})
        below = values[values.index(value) - 1] if values.index(value) else now
        why = self._why_not(below, option)
        whole = self._trial(whole=True, builder=chosen)
        if said:
            text = f"Build with {said} and `{option}` {value:,} (`build: {_written(chosen)}`){why}"
            yield from self._set(whole, text, "build", _document(chosen), trial)
        else:
            yield from self._set(whole, f"Set `build.{option}` to {value:,}{why}", f"build.{option}", value, trial)

    def _why_not(self, below: int, option: str) -> str:
        """Why the value below does not do, in a clause."""
        hidden = [column.name for column in self.table.schema.columns if "private" in column.roles]
        widen = "private columns widen what a leaf discloses, so " if hidden and option != "k" else ""
        return f"; {widen}{below:,} is not enough"

    def _keeping(self, kind: type[TreeBuilder]) -> TreeBuilder | None:
        """The builder of this kind that keeps the policy's limits by construction; the policy's own, made stricter."""
        try:
            other = kind.keeping(self.plan.metrics)
        except LeafgateError:
            return None
        mine = self.plan.builder
        if other is None or not isinstance(mine, kind):
            return other
        stricter: dict[str, Any] = {}
        for name in other.model_fields_set - {"use"}:
            old, new = getattr(mine, name), getattr(other, name)
            if isinstance(new, tuple):
                stricter[name] = (*old, *(each for each in new if each not in old))
            elif name in kind.stricter_more:
                stricter[name] = max(old, new)
        return (
            mine.model_copy(update=stricter)
            if any(getattr(mine, key) != value for key, value in stricter.items())
            else None
        )

    def _replaced(self, other: TreeBuilder) -> Iterator[Remedy]:
        """The release built with a builder that keeps such limits; with larger groups where that alone does not do."""
        self.tried.append(f"`build: {_written(other)}`")
        trial = self._trial(whole=False, builder=other)
        if self._keeps(trial):
            text = f"Build with `{other.use}`, which keeps such limits by construction (`build: {_written(other)}`)"
            whole = self._trial(whole=True, builder=other)
            yield from self._set(whole, text, "build", _document(other), trial)
            return
        plan = replace(self.plan, builder=other)
        for option in raised_options(plan)[:1]:
            yield from self._raised(other, option, f"`{other.use}`")

    def _set(
        self, whole: Trial | None, text: str, place: str, value: Any, restricted: Trial | None = None
    ) -> Iterator[Remedy]:
        """The remedy, if the whole audit with it keeps every limit; else nothing, and the limits that then break."""
        if not self._keeps(whole):
            broken = [] if whole is None else [finding.id for finding in whole.report.findings if finding.fails]
            also = ", ".join(f"`{each}`" for each in broken[:3])
            self.tried[-1] += f" (the broken limits then hold, and {also} does not)" if also else ""
            return
        assert whole is not None
        details, passes = self._details(whole), whole.report.verdict == "pass"
        yield Remedy(
            action="set",
            text=f"{text}.{_one_leaf(whole)}",
            details=details,
            place=place,
            value=value,
            tried=passes,
        )

    def _details(self, trial: Trial) -> str:
        """How large the smallest group would be, and how many leaves there would be, for auditors."""
        sizes = [finding.smallest_group for finding in trial.report.findings if finding.smallest_group is not None]
        groups = f"The smallest group would be {min(sizes):,}" if sizes else ""
        if trial.artifact is None or not trial.artifact.release.trees:
            return f"{groups}." if groups else ""
        count = largest_leaf_count(trial.artifact.release)
        leaves = f"{count:,} {'leaf' if count == 1 else 'leaves'}"
        return (
            f"{groups}, and the largest tree would have {leaves}."
            if groups
            else f"The largest tree would have {leaves}."
        )

    def _of_model(self) -> Iterator[Remedy]:
        """What to do with a model's file: write it anew with labels, cut it back, or train it with larger leaves."""
        assert self.artifact is not None
        release = self.artifact.release
        if not release.trees:
            return
        if release.combine in {"one", "vote"} and release.publish.leaves != "labels" and not release.predicts_numbers:
            scrubbed = self._given(_with_labels(release))
            self.tried.append("labels alone on the leaves")
            if self._keeps(self._trial(whole=False, **scrubbed)) and self._keeps(self._trial(whole=True, **scrubbed)):
                command = ("leafgate", "scrub", "MODEL", "NEW", "--leaves", "labels", "--policy", "POLICY")
                text = (
                    f"Write the model anew with labels alone on its leaves (`{' '.join(command)}`), and audit the new "
                    "file: then every limit holds."
                )
                yield Remedy(action="run", text=text, command=command, tried=True)
                return
        yield from self._larger_leaves(release)

    def _larger_leaves(self, release: Release) -> Iterator[Remedy]:
        """The least size of leaves with which this model's own trees keep every limit, with less on them if need be."""
        values = ladder(1, self.table.people)
        variants = [("", release)]
        if release.combine in {"one", "vote"} and release.publish.leaves != "labels" and not release.predicts_numbers:
            variants.append((" and labels alone on them", _with_labels(release)))
        for said, variant in variants:
            self.tried.append(f"leaves of up to {values[-1]:,} people{said}" if values else "")

            def trial_of(value: int, variant: Release = variant) -> Trial | None:
                return self._trial(whole=False, **self._given(pruned_release(variant, self.table, value)))

            found = self._smallest(values, trial_of)
            if found is None:
                continue
            value, _ = found
            whole = self._trial(whole=True, **self._given(pruned_release(variant, self.table, value)))
            if not self._keeps(whole):
                broken = [] if whole is None else [finding.id for finding in whole.report.findings if finding.fails]
                also = ", ".join(f"`{each}`" for each in broken[:3])
                self.tried[-1] += f" (the broken limits then hold, and {also} does not)" if also else ""
                continue
            assert whole is not None
            yield from self._retrained(value, values, said, whole)
            return

    def _retrained(self, value: int, values: Sequence[int], said: str, whole: Trial) -> Iterator[Remedy]:
        below = values[values.index(value) - 1] if values.index(value) else 1
        why = self._why_not(below, "")
        held = f"Cut back to leaves of at least {value:,} people{said}, this model's trees keep every limit{why}"
        command = f"`{' '.join(REPAIR)}`"
        text = f"Repair the model ({command}), and audit the new file. {held}.{_one_leaf(whole)}"
        yield Remedy(action="run", text=text, details=self._details(whole), command=REPAIR)
        parameter, most = self._leaf_parameter()
        if parameter:
            bound = round(value * most) or 1
            scrub = ", scrub the file (`leafgate scrub ... --leaves labels`)" if said else ""
            text = f"Train the model with `{parameter}` {bound:,}{scrub} and audit it again. {held}."
            yield Remedy(action="retrain", text=text, parameter=parameter, value=bound)

    def _leaf_parameter(self) -> tuple[str, float]:
        """The learner's parameter that bounds a leaf from below; empty where the learner is not known."""
        learner = None if self.artifact is None else self.artifact.learner
        library = "" if learner is None else learner.estimator.partition(".")[0]
        return LEAF_PARAMETERS.get(library, ("", 1.0))

    def _given(self, release: Release) -> dict[str, Any]:
        """The changes of the plan by which a release is audited that the search made."""
        made = LoadedRelease(release, learner=None if self.artifact is None else self.artifact.learner)
        changes: dict[str, Any] = {"builder": _GivenRelease.of(made)}
        return changes


def _with_labels(release: Release) -> Release:
    """The release as a scrubbed file has it: labels on its leaves, and nothing else beside its tests."""
    file = None if release.file is None else replace(release.file, discloses=())

    def bare(tree: Any) -> Any:
        return map_leaves(
            tree, lambda leaf: replace(at_level(leaf, "labels"), counts=None, shares=None, error_rate=None)
        )

    trees = tuple(map(bare, release.trees))
    return replace(
        release,
        trees=trees,
        publish=Publish("labels", measure=False),
        selection=None,
        file=file,
        count_semantics="unknown",
    )


def _one_leaf(trial: Trial) -> str:
    """A warning where nothing is left of the trees."""
    if trial.artifact is None or not trial.artifact.release.trees or largest_leaf_count(trial.artifact.release) > 1:
        return ""
    return " Beware: the tree is then a single leaf, which predicts the same for everybody."


def _document(builder: TreeBuilder) -> dict[str, Any]:
    """The builder as a policy has it: what was set, without the defaults."""
    written = builder.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return {"use": use_of(type(builder)), **{key: value for key, value in written.items() if key != "use"}}


def _written(builder: TreeBuilder) -> str:
    """The builder in one line of YAML."""
    return _flow(_document(builder))


def _flow(value: Any) -> str:
    """A value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and PLAIN_WORD.fullmatch(value):
        return value
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)
