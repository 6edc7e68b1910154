"""The search for a change with which a failing audit passes: a builder's option, another builder, larger leaves.

Settings are tried on a fixed ladder (1, 2, 5, 10, 20, 50, ...) and by bisection, first against the broken limits alone,
at last by one whole audit. Nothing is random and no clock is read: the same audit finds the same remedies. No limit, no
attack, no grant and no role is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafgate.api.registry import Plugins, use_of
from leafgate.engine.keepable import UnkeepableLimit, unkeepable_limits
from leafgate.engine.remedies.several_releases import SearchedRemedies, about_several_releases
from leafgate.engine.remedies.static import has_own_command, is_of_several_releases, raised_options
from leafgate.engine.report import Auditing
from leafgate.errors import LeafgateError
from leafgate.io.release_codec import SealedRelease
from leafgate.io.yaml import yaml_flow
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.findings import Finding, Remedy, Report
from leafgate.kernel.inheritance import MORE
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Publish
from leafgate.kernel.table import Table
from leafgate.search.model_files import ModelFileSearch, nothing_found
from leafgate.search.trials import Run, Trial, Trials, is_constant_trial, ladder, leaves_of

CONSTANT = "As a constant, which predicts the same for everybody and is of no use, the release keeps"
"""The beginning of what is said of a change that leaves nothing of the trees."""
UNSEARCHED = frozenset({"mechanism", "candidates", "targets"})
"""The needs of attacks that train models, or that are judged by samples of people: no setting is chosen by these."""


def with_found_remedies(auditing: Auditing, report: Report, artifact: SealedRelease) -> Report:
    """The report with the settings that pass, or with the limits that no release of these people can keep."""
    policy, plugins, release = auditing.policy, auditing.plugins, artifact.release
    data = auditing.tables.in_memory
    if not release.claims_differential_privacy and (
        impossible := unkeepable_limits(policy.metrics, plugins, data, of_model=release.predicts_numbers)
    ):
        return _with_impossible(report, impossible)

    def run(changed: Policy) -> Trial:
        return auditing.audited(changed.with_origin(policy.origin))

    return with_searched_remedies(policy, plugins, data, report, artifact, run, auditing.tables.test)


def _with_impossible(report: Report, impossible: Sequence[UnkeepableLimit]) -> Report:
    """The report; what is to be done about limits that no release of the table can keep is to change them.

    What would be done about the other broken limits waits for that, so that nothing is recommended that cannot pass.
    """
    names = ", ".join(f"`{limit.metric.called}`" for limit in impossible)
    wait = Remedy(action="advise", text=f"First change what no release of this table can keep, the limit of {names}.")
    remedies = {limit.metric.called: (limit.remedy,) for limit in impossible}
    findings = [
        replace(each, remedies=remedies.get(each.metric, (wait, *each.remedies)))
        if each.fails and not has_own_command(each)
        else each
        for each in report.findings
    ]
    return replace(report, findings=findings)


def with_searched_remedies(
    policy: Policy,
    plugins: Plugins,
    table: Table,
    report: Report,
    artifact: SealedRelease | None,
    run: Run,
    test: Table | None = None,
) -> Report:
    """The report; its failed findings begin with what the search found, or with what it tried in vain."""
    trials = Trials(policy, table, report, artifact, run, test)
    if not trials.failed or not may_search(policy, artifact):
        return report
    found = _searched(trials, plugins)
    if not found.listed:
        return report
    release = None if artifact is None else artifact.release
    ordered = tuple(about_several_releases(policy, release, found))
    helped = {finding.id for finding in trials.failed}

    def completed(finding: Finding) -> Finding:
        if finding.id not in helped:
            return finding
        return replace(finding, remedies=ordered if is_of_several_releases(finding, policy) else found.listed)

    return replace(report, findings=[completed(finding) for finding in report.findings])


def may_search(policy: Policy, artifact: SealedRelease | None) -> bool:
    """May releases be chosen by looking at the data, and is each trial bounded?

    Not where the builder or the release promises what such a choice breaks, or draws what may be drawn once; nor where
    an attack trains models or runs the builder many times. Where attacks are judged by samples of people, choosing a
    setting by them would find one whose interval is lucky.
    """
    builder = policy.build
    promised = builder.randomness == "system" or bool(builder.guarantees)
    promised |= artifact is not None and artifact.release.claims_differential_privacy
    return not promised and not any(attack.needs & UNSEARCHED for attack in policy.attacks)


def _searched(trials: Trials, plugins: Plugins) -> SearchedRemedies:
    """What passes, first what leaves most of the trees; where that is nothing or a constant, first that it is so."""
    if trials.artifact is not None and not trials.artifact.built:
        return ModelFileSearch(trials).searched()
    found = sorted(_BuilderSearch(trials, plugins).found(), key=lambda each: (not each.remedy.tried, -each.leaves))
    useful = tuple(each.remedy for each in found if not each.constant)
    constants = (each.remedy for each in found if each.constant)
    nothing = () if useful else nothing_found(trials.tried)
    return SearchedRemedies(useful, (*nothing, *constants), trials.tried_labels)


@dataclass(frozen=True)
class _Found:
    """A remedy that keeps every limit, how many leaves the largest tree then has, and whether it is a constant."""

    remedy: Remedy
    leaves: int
    constant: bool


@dataclass(frozen=True)
class _BuilderSearch:
    """The search for options of the builder, or another builder, by trials on the table."""

    trials: Trials
    plugins: Plugins

    def found(self) -> Iterator[_Found]:
        """Every change that keeps every limit, as it is found."""
        yield from self._labels()
        for option in raised_options(self.trials.policy):
            yield from self._raised(self.trials.policy.build, option, "")
        artifact = self.trials.artifact
        if artifact is None or artifact.release.records is not None or not artifact.release.trees:
            return  # a tree would be another kind of release
        for kind in self.plugins.kind(TreeBuilder):
            if issubclass(kind, TreeBuilder) and (other := self._keeping(kind)) is not None:
                yield from self._replaced(other)

    def _labels(self) -> Iterator[_Found]:
        """Labels alone on the leaves, where the limits are on what an adversary derives from the leaves."""
        publish = self.trials.policy.publish or Publish()
        derived = all(each.limit is not None and each.limit.scored == "derived" for each in self.trials.failed)
        if publish.leaves == "labels" or not derived or not all(each.secret for each in self.trials.failed):
            return
        less = publish.model_copy(update={"leaves": "labels"})
        self.trials.tried.append("`publish.leaves: labels`")
        self.trials.tried_labels = True
        if self.trials.keeps(self.trials.trial(whole=False, publish=less)):
            text = "Publish labels alone on the leaves (`publish.leaves: labels`)"
            trial = self.trials.trial(whole=True, publish=less)
            yield from self._set(trial, text, "publish.leaves", "labels")

    def _raised(self, builder: TreeBuilder, option: str, builder_name: str) -> Iterator[_Found]:
        """The least value of a whole-number option with which every limit holds."""
        now = getattr(builder, option)
        values = ladder(now, max(self.trials.table.total_weight // 2, 1))
        if not values:
            return

        def trial_of(value: int) -> Trial | None:
            return self.trials.trial(whole=False, build=builder.model_copy(update={option: value}))

        name = f"`build.{option}`" if not builder_name else f"{builder_name} and `{option}`"
        self.trials.tried.append(f"{name} up to {values[-1]:,}")
        position = self.trials.smallest(values, trial_of)
        if position is None:
            return
        value, below = values[position], values[position - 1] if position else now
        chosen = builder.model_copy(update={option: value})
        why = self.trials.why_not(below, option)
        whole = self.trials.trial(whole=True, build=chosen)
        if builder_name:
            text = f"Build with {builder_name} and `{option}` {value:,} (`build: {_written(chosen)}`){why}"
            yield from self._set(whole, text, "build", _document(chosen))
        else:
            yield from self._set(whole, f"Set `build.{option}` to {value:,}{why}", f"build.{option}", value)

    def _keeping(self, kind: type[TreeBuilder]) -> TreeBuilder | None:
        """The builder of this kind that keeps the policy's limits by construction; the policy's own, made stricter."""
        try:
            other = kind.keeping(self.trials.policy.metrics)
        except LeafgateError:
            return None
        own = self.trials.policy.build
        if other is None or not isinstance(own, kind):
            return other
        stricter: dict[str, Any] = {}
        for name in other.model_fields_set - {"use"}:
            old, new = getattr(own, name), getattr(other, name)
            if isinstance(new, tuple):
                stricter[name] = (*old, *(each for each in new if each not in old))
            elif name in kind.options_ruled(MORE):
                stricter[name] = max(old, new)
        changed = any(getattr(own, key) != value for key, value in stricter.items())
        return own.model_copy(update=stricter) if changed else None

    def _replaced(self, other: TreeBuilder) -> Iterator[_Found]:
        """The release built with a builder that keeps such limits; with larger groups where that alone does not do."""
        self.trials.tried.append(f"`build: {_written(other)}`")
        trial = self.trials.trial(whole=False, build=other)
        if self.trials.keeps(trial):
            text = f"Build with `{other.use}`, which keeps such limits by construction (`build: {_written(other)}`)"
            whole = self.trials.trial(whole=True, build=other)
            yield from self._set(whole, text, "build", _document(other))
            return
        changed = self.trials.policy.model_copy(update={"build": other})
        for option in raised_options(changed)[:1]:
            yield from self._raised(other, option, f"`{other.use}`")

    def _set(self, whole: Trial | None, text: str, place: str, value: Any) -> Iterator[_Found]:
        """The remedy, if the whole audit with it keeps every limit; else nothing, and the limits that then break."""
        if whole is None or not self.trials.keeps(whole):
            self.trials.note_broken(whole)
            return
        constant = is_constant_trial(whole)
        if not constant and self.trials.predicts_nothing(whole):
            self.trials.tried[-1] += " (what is left of the trees predicts no better than a constant)"
            return
        text = f"{CONSTANT} {self.trials.kept(whole)}: {text[0].lower()}{text[1:]}." if constant else f"{text}."
        details, tried = self.trials.details(whole), whole.report.verdict == "pass"
        remedy = Remedy(action="set", text=text, details=details, place=place, value=value, tried=tried)
        remedy = replace(remedy, action="advise", place="", value=None) if constant else remedy
        yield _Found(remedy, leaves_of(whole), constant)


def _document(builder: TreeBuilder) -> dict[str, Any]:
    """The builder as a policy has it, without options that have their defaults."""
    written = builder.model_dump(mode="json", exclude_none=True)
    fields = type(builder).model_fields
    chosen = {
        name: written[name]
        for name in fields
        if name in written and (fields[name].is_required() or getattr(builder, name) != fields[name].get_default())
    }
    return {"use": use_of(type(builder)), **chosen}


def _written(builder: TreeBuilder) -> str:
    """The builder in one line of YAML."""
    return yaml_flow(_document(builder))
