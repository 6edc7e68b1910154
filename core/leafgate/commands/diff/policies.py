"""Two policies: what got tighter or looser, and what that would change on a stored report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafgate.api import AttackModel, InvalidError, MembershipBelief, Metric, PersonMetric
from leafgate.api.registry import isolate_plugin_errors, load_plugins
from leafgate.commands.diff.reports import scored_in
from leafgate.disclosure.intervals import range_of_value, share_range
from leafgate.io.json import canonical
from leafgate.kernel.options import ABOUT_PEOPLE, UNREADABLE
from leafgate.policy.load import NamedFile, read_partial_policy
from leafgate.policy.sources import PolicyDocument, component_name
from leafgate.policy.strictness import PolicyChange, compare_policies

ELSEWHERE = {"build", "publish", "data", "knows", "seed"}
"""Parts of a policy whose change makes another release or adversary: no stored result decides the outcome."""
SCOPE = {"of": "attack", "secret": "secret"}
JUDGED = {"at_least", "at_most", "allow", "average", "of", "secret"}


def changes_of(
    old: Path, new: Path, *, strict: bool = False, revision: str = ""
) -> tuple[PolicyDocument, PolicyDocument, list[PolicyChange]]:
    """Both policies, and every change from the first to the second, of what files hold too.

    Where it is `strict`, what could not be compared is a change that is `different`. `revision` is where the older
    policy comes from, for its lines and for what is wrong with it, as git writes that: `HEAD~1:policy.yaml`.
    """
    plugins = load_plugins()
    with _located_at(revision):
        before = read_partial_policy(old, plugins, strict=strict)
    after = read_partial_policy(new, plugins, strict=strict)
    changes = [*map(_of_content, compare_policies(before.written, after.written, plugins))]
    if strict and not (before.is_whole and after.is_whole):
        changes.append(PolicyChange("different", ("policy",), "what cannot be compared", "what cannot be compared"))
    return before.written, after.written, [_of_revision(revision, change) for change in changes]


def _of_content(change: PolicyChange) -> PolicyChange:
    """The change; where only what a file holds is another, that of this file.

    The digests of files about people are not printed: a reader could test a guess on them.
    """
    path, old, new = change.path, change.old, change.new
    if old is None or canonical(old) != canonical(new):
        return change
    while isinstance(old, list | dict):
        key = next(key for key in (old if isinstance(old, dict) else range(len(old))) if old[key] != new[key])
        path, old, new = (*path, key), old[key], new[key]
    if any((file.content or "").startswith(ABOUT_PEOPLE) for file in (old, new)):
        return replace(change, path=path, old="people of one file", new="those of another")
    return replace(change, path=path, old=_content(old), new=_content(new))


def _content(file: NamedFile) -> str:
    return UNREADABLE if file.content in (None, UNREADABLE) else f"sha256 {str(file.content)[:16]}"


@contextmanager
def _located_at(revision: str) -> Iterator[None]:
    try:
        yield
    except InvalidError as error:
        prefix = f"{revision}:" if revision else ""
        listed = (replace(problem, location=f"{prefix}{problem.location}") for problem in error.problems)
        raise type(error).listing(listed) from None


def _of_revision(revision: str, change: PolicyChange) -> PolicyChange:
    line = change.old_line
    if not revision or line is None:
        return change
    return replace(change, old_line=replace(line, file=f"{revision}:{line.file}"))


@dataclass(frozen=True)
class ExpectedOutcome:
    """What would become of one finding: `outcome` is one of OUTCOMES, `reason` why it cannot be decided."""

    finding: str
    outcome: str
    reason: str = ""


OUTCOMES = ("would fail", "would pass", "cannot tell", "no longer asked", "still fails", "still passes")


def expected_outcomes(
    report: Mapping[str, Any], new: PolicyDocument, changes: Sequence[PolicyChange]
) -> list[ExpectedOutcome]:
    """What the newer policy's limits would make of each finding of a stored report, as far as its numbers decide."""
    metrics = {component_name(item): item for item in new.document.get("metrics", ())}
    attacks = {component_name(item) for item in new.document.get("attacks", ())}
    limits = [
        finding for finding in report["findings"] if finding["limit"] and not finding["id"].startswith("guarantee:")
    ]
    items = [
        _predict(finding, metrics.get(finding["metric"]), attacks, changes, report["audience"]) for finding in limits
    ]
    missing = [name for name in metrics if name not in {finding["metric"] for finding in limits}]
    untried = [
        change.name
        for change in changes
        if change.is_addition_or_removal and change.path[0] == "attacks" and change.old is None
    ]
    items += [ExpectedOutcome(str(name), "cannot tell", "the report has no finding of this metric") for name in missing]
    return items + [ExpectedOutcome(name, "cannot tell", "the report has not tried this attack") for name in untried]


def _predict(
    finding: Mapping[str, Any],
    document: Mapping[str, Any] | None,
    attacks: set[Any],
    changes: Sequence[PolicyChange],
    audience: str,
) -> ExpectedOutcome:
    name, asked = finding["id"], document is not None and finding["attack"] in {None, *attacks}
    if document is None or not asked or any(document.get(k) not in {None, finding[w]} for k, w in SCOPE.items()):
        return ExpectedOutcome(name, "no longer asked")
    reason = next(_reasons_of_another_value(finding, changes), "")
    if reason or finding["passed"] is None:
        return ExpectedOutcome(name, "cannot tell", reason or "the report was inconclusive, too")
    metric = _metric(document)
    if MembershipBelief in metric.judges and any(map(_changes_comparisons, changes)):
        return ExpectedOutcome(name, "cannot tell", "another number of limits on membership is compared")
    if _scores_another_distribution(finding, metric):
        scored = scored_in(finding["limit"])
        return ExpectedOutcome(
            name, "cannot tell", f"the report is by `scored: {scored}`, the policy by another distribution"
        )
    passes = _passes(finding, metric, audience)
    if passes is None:
        return ExpectedOutcome(name, "cannot tell", "what the report states of the number does not decide it")
    if passes == finding["passed"]:
        return ExpectedOutcome(name, "still passes" if passes else "still fails")
    return ExpectedOutcome(name, "would pass" if passes else "would fail")


def _scores_another_distribution(finding: Mapping[str, Any], metric: Metric) -> bool:
    """Is the finding by another distribution of the secret than the metric's limit is?

    It is not where an audit judges what is derived although the policy asks for the worse of both, and says why.
    """
    if not isinstance(metric, PersonMetric) or finding["evidence"].get("scored_because"):
        return False
    return metric.scored != scored_in(finding["limit"])


def _metric(document: Mapping[str, Any]) -> Metric:
    metric = load_plugins().by_name[str(document["use"])].model_validate_json(canonical(dict(document)))
    assert isinstance(metric, Metric)
    return metric


def _changes_comparisons(change: PolicyChange) -> bool:
    """Does it change how many limits on membership there are, so that the intervals of all are others?"""
    if change.path[0] == "metrics" and change.path[-1] == "of":
        return True
    if change.path[0] not in {"attacks", "metrics"} or not change.is_addition_or_removal:
        return False
    item = change.new if change.old is None else change.old
    kind = load_plugins().by_name.get(str(item.get("use"))) if isinstance(item, Mapping) else None
    if kind is not None and issubclass(kind, AttackModel):
        return "candidates" in kind.needs
    return kind is None or (issubclass(kind, Metric) and MembershipBelief in kind.judges)


def _reasons_of_another_value(finding: Mapping[str, Any], changes: Sequence[PolicyChange]) -> Iterator[str]:
    """The changes that make the value of a stored finding differ."""
    for change in changes:
        root, option = change.path[0], change.path[-1]
        concerned = change.name in {finding["attack"], finding["metric"]} and not change.is_addition_or_removal
        is_judged = root == "metrics" and option in JUDGED
        if root in ELSEWHERE or (concerned and root in {"attacks", "metrics"} and not is_judged):
            yield f"{change.place} is another"


def _passes(finding: Mapping[str, Any], metric: Metric, audience: str) -> bool | None:
    """Does the finding pass by a metric's limit? None where the report's numbers leave it open."""
    direction, stored = metric.direction, finding["limit"]
    if direction not in stored:
        return None
    stricter = -metric.limit.margin(stored[direction])
    average, allow = getattr(metric, "average", False), getattr(metric, "allow", 0.0)
    was_average, allowed = stored.get("average", False), stored.get("allow", 0.0)
    if average == was_average:
        if finding["passed"] is False and stricter >= 0 and allow <= allowed:
            return False
        if finding["passed"] is True and stricter <= 0 and allow >= allowed:
            return True
    if was_average and audience == "public":
        return None  # rounded in the report, and not decidable from it
    worst = _worst(finding, metric)
    if average != was_average:
        return worst if worst is not None and worst == average and not allow else None
    if not allow or worst:
        return worst
    return _share_allowed(finding, stricter, allow)


def _worst(finding: Mapping[str, Any], metric: Metric) -> bool | None:
    """Does the number that was judged keep a metric's limit? None where what the report states does not decide it."""
    evidence = finding["evidence"]
    if evidence.get("judged_by") == "interval":
        ends = [evidence.get("interval", {}).get(end) for end in ("low", "high")]
        with isolate_plugin_errors(metric, load_plugins()):
            kept = {None if end is None else metric.holds(end) for end in ends}
        if kept == {True} and MembershipBelief in metric.judges:
            return None  # it passes where the attack sees a planted leak of the new limit's size
        return kept.pop() if len(kept) == 1 else None
    if evidence.get("unbounded"):
        return False
    result = range_of_value(finding)
    return None if result is None else result.holds(metric.direction, metric.bound)


def _share_allowed(finding: Mapping[str, Any], stricter: float, allow: float) -> bool | None:
    """Are no more people outside the limit than are allowed? A stricter limit has more of them, or as many."""
    beyond = share_range(finding["beyond"], finding["people"])
    if beyond is None:
        return None
    if stricter <= 0 and beyond.high <= allow:
        return True
    return False if stricter >= 0 and beyond.low > allow else None
