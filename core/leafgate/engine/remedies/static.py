"""What to do about each finding that is not ok, as it follows from its reason, the policy and the release.

Nothing is tried here: `leafgate.search.remedies` looks for settings that pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from leafgate.api.registry import Plugins, use_of
from leafgate.errors import InconclusiveError, LeafgateError, Problem
from leafgate.kernel.belief import AttributeBelief, CellBelief, MechanismBelief, MembershipBelief, TableBelief
from leafgate.kernel.components import AttackModel
from leafgate.kernel.findings import JOINT_CLASSES, REPAIR, REPAIR_CLAUSE, Finding, Remedy, VisibleTo
from leafgate.kernel.inheritance import LESS, MORE
from leafgate.kernel.metrics import Metric
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Claim, Release

FILES = frozenset({"data.control", "data.test", "data.population"})
"""The keys of a policy that name one more file."""
SECTIONS = frozenset({"attacks", "build", "data", "knows", "metrics", "publish"})
"""The sections of a policy that problems locate themselves in."""
MANY_CANDIDATES = "give the attack more candidates: name more people who are not in the table in `data.control`"
MAX_ATTACKS = 3
"""So many attacks at most are named that compute what a metric judges."""


KEEP = Remedy(
    action="set",
    text="Audit the people with missing cells too, if the model was fitted on them: `data.on_missing: keep`.",
    place="data.on_missing",
    value="keep",
)


def has_own_command(finding: Finding) -> bool:
    """Does the finding say which command settles it, whatever the trees are? What a file says besides is scrubbed."""
    return finding.audience == VisibleTo.EVERYBODY and any(remedy.action == "run" for remedy in finding.remedies)


def from_error(error: LeafgateError) -> tuple[Remedy, ...]:
    """What the problems of an error advise, each hint once."""
    return _distinct(_from_problem(problem) for problem in error.problems if problem.hint)


def _distinct(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Each remedy once; their values need not be hashable."""
    kept: list[Remedy] = []
    for remedy in remedies:
        kept += [] if remedy in kept else [remedy]
    return tuple(kept)


def _from_problem(problem: Problem) -> Remedy:
    """What a problem's hint advises; the key that is missing, where the problem is about a file that a policy names."""
    text = as_sentence(problem.hint)
    if problem.location in FILES:
        return Remedy(action="add", text=f"`{problem.location}`: {text}", place=problem.location)
    root = problem.location.replace("[", ".").partition(".")[0]
    return Remedy(action="advise", text=f"`{problem.location}`: {text}" if root in SECTIONS else text)


def as_sentence(text: str) -> str:
    """The text as a sentence of its own; what begins with a name or a command keeps its first letter."""
    first = text[:1].upper() if text[:2].isalpha() and not text.startswith("leafgate ") else text[:1]
    return first + text[1:] + ("" if text.endswith((".", "?", "`", "'", '"')) else ".")


def with_static_remedies(
    findings: Sequence[Finding], policy: Policy, plugins: Plugins, release: Release | None
) -> list[Finding]:
    """The findings, each that is not ok with what follows from its reason, and the others without remedies."""
    failed = {finding.attack for finding in findings if finding.attack and finding.id == f"attack:{finding.attack}"}

    def completed(finding: Finding) -> Finding:
        if not finding.needs_action:
            return replace(finding, remedies=()) if finding.remedies else finding
        own = finding.remedies or _remedies_of(finding, policy, plugins, release, failed)
        return replace(finding, remedies=_distinct(own))

    return [completed(finding) for finding in findings]


def _remedies_of(
    finding: Finding, policy: Policy, plugins: Plugins, release: Release | None, failed: Collection[str]
) -> Iterator[Remedy]:
    """What follows from the kind of finding, where neither its metric nor its error says what to do."""
    metric = next((each for each in policy.metrics if each.called == finding.metric), None)
    if finding.id.startswith("guarantee:"):
        yield _about_claim(finding)
    elif finding.passed is None:
        yield from _about_doubt(finding, metric, policy, plugins, failed)
    elif is_of_several_releases(finding, policy):
        from leafgate.engine.remedies.several_releases import about_several_releases  # not every audit needs it

        yield from about_several_releases(policy, release)
    elif release is not None and release.claims_differential_privacy and metric is not None:
        yield from _about_private_release(metric, policy, plugins, release)
    elif finding.metric and release is not None and release.trees and release.file is not None:
        untried = "A repair looks for a model that keeps the limits, which was not tried here."
        yield Remedy.running(REPAIR_CLAUSE, REPAIR, f". {untried}")
    else:
        yield _larger_groups(policy)


def is_of_several_releases(finding: Finding, policy: Policy) -> bool:
    """Is it about a limit on what this release and the others that the policy names prove together?"""
    return bool(policy.releases) and finding.evidence.get("scored_because") == JOINT_CLASSES


def _larger_groups(policy: Policy) -> Remedy:
    options = ", ".join(f"`build.{name}`" for name in raised_options(policy))
    if options:
        return Remedy(
            action="advise", text=f"Raise {options}, so that groups of people become larger, and audit again."
        )
    text = (
        "Let the release disclose less, by a builder that keeps such limits (`leafgate plugins` lists all), by larger "
        "groups, or by less on its leaves, and audit again."
    )
    return Remedy(action="advise", text=text)


def raised_options(policy: Policy) -> list[str]:
    """The whole-number options of the builder of which more makes groups of people larger."""
    builder = type(policy.build)
    names = builder.options_ruled(MORE) | builder.raised_by_remedies
    return [name for name in builder.model_fields if name in names and type(getattr(policy.build, name)) is int]


def _about_claim(finding: Finding) -> Remedy:
    claim = finding.id.removeprefix("guarantee:")
    if finding.passed is None:
        text = (
            f"Install the plugin that checks claims of {claim}, or give the attacks and tables that its metric needs: "
            "an unchecked claim is no promise."
        )
        return Remedy(action="advise", text=text)
    text = (
        f"The release promises {claim} and does not keep it: build it again with the builder that makes this promise, "
        "from the table that it is audited on, and publish what that writes."
    )
    return Remedy(action="advise", text=text)


def _about_private_release(metric: Metric, policy: Policy, plugins: Plugins, release: Release) -> Iterator[Remedy]:
    """The metric that judges a promise of differential privacy; no release is chosen by looking at the data."""
    claims = [claim for claim in release.guarantee if Claim.of(claim).covers_data]
    own = None
    with suppress(InconclusiveError):  # the finding on the claim says it
        own = next((kind for claim in claims for kind in plugins.checkers(claim)), None)
    why = "trying settings on the data until one passes would break the promise, so none was tried"
    if own is not None and not any(isinstance(each, own) for each in policy.metrics):
        name = use_of(own)
        text = (
            f"Judge what the release promises: add the metric `{name}`, whose limit holds whatever an adversary knows. "
            f"`{metric.called}` judges numbers as if they had no noise; {why}."
        )
        yield Remedy(action="add", text=text, place="metrics", value=_promised_limit(own, release))
    if "epsilon" in policy.build.options_ruled(LESS):
        text = f"Choose a smaller `build.epsilon` without looking at the data, and draw the release once; {why}."
        yield Remedy(action="advise", text=text)
        return
    build = policy.build
    options = [f"a larger `build.{name}`" for name in sorted(build.options_ruled(MORE))]
    options += ["fewer `build.trees`"] if options and "trees" in type(build).model_fields else []
    stronger = " or ".join(options) or "a smaller epsilon"
    yield Remedy(action="advise", text=f"Build with {stronger}, chosen without the data; {why}.")


def _promised_limit(kind: type[Metric], release: Release) -> dict[str, object] | None:
    """The metric with what the release claims as its limit; None where that is no single claim."""
    promised = release.guarantee[str(kind.checks)]
    claims = promised if isinstance(promised, list) else [promised]
    try:
        metric = kind.from_claim(claims[0])
    except LeafgateError:
        return None
    return metric.model_dump(mode="json", exclude_unset=True) | {"use": use_of(kind)}


def _about_doubt(
    finding: Finding, metric: Metric | None, policy: Policy, plugins: Plugins, failed: Collection[str]
) -> Iterator[Remedy]:
    """What an inconclusive limit or attack lacks; `failed` are the attacks that formed no belief."""
    drawn = metric is not None and bool(metric.judges & {MembershipBelief, AttributeBelief})
    if drawn and finding.attack is not None:
        yield Remedy(action="add", text=as_sentence(MANY_CANDIDATES), place="data.control")
        return
    if metric is not None and metric.judges and finding.attack is None:
        suiting = [each.called for each in policy.attacks if each.called in failed and _may_suit(type(each), metric)]
        for name in suiting:
            text = f"Do what the finding `attack:{name}` asks for: without it the limit has no belief to judge."
            yield Remedy(action="advise", text=text)
        if not suiting:
            yield from _attacks_for(metric, policy, plugins)
        return
    if "interval" in finding.evidence:
        text = "The score is an estimate: more people in `data.test` make its interval narrower."
        yield Remedy(action="add", text=text, place="data.test")
        return
    needed = f"`leafgate explain {finding.use or finding.metric or finding.attack or finding.id}`"
    text = f"Give what is missing: {needed} says what it reads, and the reason above what it did not get."
    yield Remedy(action="advise", text=text)


def _attacks_for(metric: Metric, policy: Policy, plugins: Plugins) -> Iterator[Remedy]:
    """An attack beside those of the policy whose belief the metric judges, those that need nothing more first."""
    tried = {each.use for each in policy.attacks}
    kinds = [kind for kind in plugins.kind(AttackModel) if issubclass(kind, AttackModel) and use_of(kind) not in tried]
    fitting = [use_of(kind) for kind in kinds if _may_suit(kind, metric) and not _required_options(kind)]
    first = sorted(fitting, key=lambda name: (name != metric.checked_by, name != "linking"))[:MAX_ATTACKS]
    for name in first:
        text = f"Add the attack `{name}`: the limit needs what an attack of its kind computes."
        yield Remedy(action="add", text=text, place="attacks", value={"use": name})
    if not first:
        text = f"Install or add an attack whose result `{metric.called}` can judge: no attack of the policy has one."
        yield Remedy(action="advise", text=text)


def _may_suit(kind: type[AttackModel], metric: Metric) -> bool:
    """Can the attack return a belief that the metric judges? By what it needs, unless the metric names the attack."""
    if use_of(kind) == metric.checked_by:
        return True
    if "candidates" in kind.needs:
        return MembershipBelief in metric.judges
    if "targets" in kind.needs:
        return AttributeBelief in metric.judges
    if "mechanism" in kind.needs:
        return MechanismBelief in metric.judges
    return bool(metric.judges - {MembershipBelief, AttributeBelief, MechanismBelief, CellBelief, TableBelief})


def _required_options(kind: type[AttackModel]) -> bool:
    return any(field.is_required() for field in kind.model_fields.values())


def of_texts(texts: str | Sequence[Remedy]) -> tuple[Remedy, ...]:
    """What a metric advises: a text as a remedy that only a person can follow, remedies as they are."""
    if isinstance(texts, str):
        return (Remedy(action="advise", text=as_sentence(texts)),) if texts else ()
    return tuple(texts)
