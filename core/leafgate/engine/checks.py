"""Checks of the release that no limit asks for: its claims, and what leaves an audit inconclusive."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate.algorithms.consistency import follows_from_records, is_exact_despite_label
from leafgate.api.registry import Plugins, isolate_plugin_errors, use_of
from leafgate.engine.attack import AttackResult
from leafgate.engine.limits import inconclusive, judge_beliefs, judge_once, worse
from leafgate.engine.remedies.static import KEEP, as_sentence, from_error
from leafgate.engine.state import AuditState
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.json import parse_number
from leafgate.kernel.belief import CellBelief, MechanismBelief, MembershipBelief, SecretBelief
from leafgate.kernel.components import AttackModel
from leafgate.kernel.evidence import OWN_ACCOUNT, AuditorOnly, PeopleCount
from leafgate.kernel.findings import UNLIMITED, Finding, Remedy, Unit
from leafgate.kernel.metrics import Metric, PersonMetric, ValueMetric, can_break_protection
from leafgate.kernel.paths import DocumentPath
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Claim, covers_data

if TYPE_CHECKING:
    from leafgate.algorithms.class_orders import Order

Attack = Callable[[AttackModel], AttackResult]
BROKEN = "the release does not keep what it claims of {}"
MAX_EPSILON = 10.0
"""Above it one person may change a probability by more than a factor of e^10, 22,000: no belief is bounded by that."""
MAX_DELTA = 1e-3
"""Above it publishing one person in a thousand as they are keeps the promise.

Source: Dwork, Roth, The Algorithmic Foundations of Differential Privacy, 2014, section 2.3 (delta far below one
over the people). doi:10.1561/0400000042
"""
DEFAULT_DELTA = 1e-6
"""At which epsilon is claimed where a claim says nothing of delta."""


def check_claims(state: AuditState, attack: Attack) -> Iterator[Finding]:
    """One finding for each guarantee that the release claims: the worst finding of its checks.

    A claim is refuted by an attack's evidence, or when it does not hold for some secret. A claim that no plugin can
    check is inconclusive. The evidence of attacks that tried to refute the claim, and did not, is in the finding.
    `attack` runs an attack that the policy does not try.
    """
    for claim, promised in state.release.guarantee.items():
        checked = (each for one in _claims_in(promised) for each in _check_claim(claim, one, state, attack))
        findings = [*_refuted(claim, state), *checked]
        nobody = Finding("", claim, passed=None, evidence={"problem": "no installed plugin can check this claim"})
        worst = min(findings or [nobody], key=worse)
        tried = _tried(claim, state)
        if worst.passed and OWN_ACCOUNT in worst.evidence and not tried:
            remedy = TRY_LONGER if any(each.attack.use == "distinguish" for each in state.attack_results) else TRY
            worst = replace(worst, passed=None, evidence={"problem": UNTRIED}, remedies=(remedy,))
        evidence = {"claim": promised} | tried | dict(worst.evidence)
        yield replace(worst, id=f"guarantee:{claim}", evidence=evidence, plain_failure=BROKEN.format(claim))


UNTRIED = "nothing but the builder's own account says so, and no attack that runs the builder tried to refute it"
TRY_LONGER = Remedy(action="advise", text="Give `distinguish` the `runs` and `seconds` that its own finding asks for.")
TRY = Remedy(action="add", text="Add the attack `distinguish`.", place="attacks", value={"use": "distinguish"})


def verified(findings: Iterable[Finding]) -> frozenset[str]:
    """The claims that these findings of `check_claims` say to be kept, without promises too weak to bound anything.

    Of `epsilon` a promise counts up to MAX_EPSILON and MAX_DELTA; of other kinds of differential privacy none does, for
    no bound on them is known here.
    """
    kept = {finding.id.removeprefix("guarantee:"): finding.evidence["claim"] for finding in findings if finding.passed}
    return frozenset(
        claim
        for claim, promised in kept.items()
        if not Claim.of(claim).covers_data or (claim == "epsilon" and _bounds_beliefs(promised))
    )


def verified_total(policy: Policy, state: AuditState) -> str:
    """The limit on the claims of all releases together that these keep; empty where the policy has no such limit.

    As in `verified`, a total too weak to bound what is derived of a person does not count.

    Args:
        policy: with the limits, and the other releases.
        state: with the verified claims of this release.
    """
    if not policy.releases or not covers_data(state.verified_claims):
        return ""
    for metric in policy.metrics:
        if metric.checks == "epsilon" and metric.reads_releases:
            found = judge_once(metric, state, metric.called, None, None)
            total = {"at_most": found.value, "delta": getattr(metric, "delta", DEFAULT_DELTA)}
            if found.passed and _bounds_beliefs(total):
                return metric.called
    return ""


def _bounds_beliefs(promised: Any) -> bool:
    """Does one of these claims of differential privacy bound what can be derived of a person?"""
    claims = [one if isinstance(one, Mapping) else {"at_most": one} for one in _claims_in(promised)]
    return any(
        float(one.get("at_most", math.inf)) <= MAX_EPSILON and float(one.get("delta", DEFAULT_DELTA)) <= MAX_DELTA
        for one in claims
    )


def _claims_in(promised: Any) -> list[Any]:
    """The claims of one kind: several are a list of mappings."""
    several = isinstance(promised, list) and all(isinstance(one, dict) for one in promised)
    return promised if several and promised else [promised]


def _tried(claim: str, state: AuditState) -> dict[str, Any]:
    """The evidence of attacks that tried to refute a claim and did not."""
    fields = {
        result.attack.called: belief.document
        for result, belief in _about_mechanism(state)
        if claim in belief.tries and claim not in belief.refutes
    }
    return {"tried": fields} if fields else {}


def _refuted(claim: str, state: AuditState) -> Iterator[Finding]:
    for result, belief in _about_mechanism(state):
        if claim in belief.refutes:
            evidence = belief.document | {"problem": "an attack refutes it"}
            yield Finding("", claim, False, attack=result.attack.called, evidence=evidence, plugin=result.plugin)


def _about_mechanism(state: AuditState) -> Iterator[tuple[AttackResult, MechanismBelief]]:
    for result in state.attack_results:
        yield from ((result, belief) for belief in result.beliefs if isinstance(belief, MechanismBelief))


def _check_claim(claim: str, promised: Any, state: AuditState, attack: Attack) -> Iterator[Finding]:
    try:
        checkers = state.plugins.checkers(claim)
    except LeafgateError as error:
        yield Finding("", claim, None, evidence={"problem": str(error)}, remedies=from_error(error))
        return
    for checker in checkers:
        origin = state.plugins.origin(checker)
        try:
            yield from _check_with(checker, promised, state, attack)
        except LeafgateError as error:
            yield Finding("", claim, None, evidence={"problem": str(error)}, plugin=origin, remedies=from_error(error))


def _check_with(checker: type[Metric], promised: Any, state: AuditState, attack: Attack) -> Iterator[Finding]:
    """The findings of one metric: on the release, or on every belief of its attack."""
    with isolate_plugin_errors(checker, state.plugins):
        metric = checker.from_claim(promised)
    if not metric.judges:
        yield judge_once(metric, state, "", None, None)
        return
    findings: list[Finding] = []
    for result in _results_for(checker, state, attack):
        findings += judge_beliefs(metric, state, result, named=False)
        findings += [inconclusive(metric, state, "", result.problem)] if result.problem else []
    yield from findings or [inconclusive(metric, state, "", "there is no belief to check this claim by")]


def _results_for(checker: type[Metric], state: AuditState, attack: Attack) -> list[AttackResult]:
    """The results of the attack that a checker names, with its defaults; of all attacks of the policy if of none.

    An attack of the policy is not run again if it has these options, and no `knows` of its own.
    """
    if checker.checked_by is None:
        return list(state.attack_results)
    chosen = state.plugins.component(checker.checked_by)
    if chosen is None or not issubclass(chosen, AttackModel):
        raise InconclusiveError(f"nobody offers the attack {checker.checked_by!r}")
    with isolate_plugin_errors(chosen, state.plugins):
        wanted = chosen.model_validate({"use": checker.checked_by})
    return [next((a for a in state.attack_results if a.attack == wanted), None) or attack(wanted)]


def soundness_checks(policy: Policy, plugins: Plugins, state: AuditState) -> list[Finding]:
    """A finding for each reason why a pass would prove nothing."""
    origin = plugins.origin(policy.build)
    order = _fitting_order(state)
    items = [
        *_rehearsal(policy, state),
        *_misfitting_codes(order),
        *_miscounted(state),
        *_unread_parts(state),
        *_unattacked(state),
        *_unlimited_class(policy, state),
        *_unlimited(policy, state),
    ]
    evidence = _evidence(state)
    return [
        Finding(
            name,
            name.partition("#")[0],
            None,
            secret=secret,
            evidence={"problem": problem, **_dropped(problem, state), **evidence.get(name, {})},
            plugin=origin,
            plain_failure="the release discloses more than the limits allow",
            remedies=_code_remedies(order, state)
            if name == CLASS_CODES
            else _remedies(name, policy, plugins, dropped=bool(_dropped(problem, state))),
        )
        for name, secret, problem in items
    ]


def _remedies(name: str, policy: Policy, plugins: Plugins, *, dropped: bool) -> tuple[Remedy, ...]:
    """What to do about a doubt, by its name; `dropped`: the file may count people who were left out."""
    if name == "rehearsal" and policy.build.is_rehearsal:
        text = "Take `build.rehearsal` out, audit once more, and publish what that audit writes and nothing else."
        return (Remedy(action="set", text=text, place="build.rehearsal", value=False),)
    if name == "counted":
        from leafgate.algorithms.node_counts import REMEDY

        advice = Remedy(action="advise", text=as_sentence(REMEDY))
        return (KEEP, advice) if dropped else (advice,)
    if name in {"unread#records", "unread#alternatives"}:
        part = name.partition("#")[2]
        tried = {each.use for each in policy.attacks}
        kinds = [kind for kind in plugins.kind(AttackModel) if issubclass(kind, AttackModel) and part in kind.parts]
        reading = sorted({use_of(kind) for kind in kinds} - tried, key=lambda use: (use != "linking", use))[:1]
        text = "Add the attack `{}`, which takes the published {} into account."
        return tuple(
            Remedy(action="add", text=text.format(use, part), place="attacks", value={"use": use}) for use in reading
        )
    texts = {
        "rehearsal": (
            "Build the release without `rehearsal`, once, and publish that one; `claim_reason_` of an estimator says "
            "why it is a rehearsal."
        ),
        "unread": "Take the alternative tree out of the release, or publish the records it was learned from.",
        UNLIMITED: "Set a limit that says what is too much, such as `{use: k_anonymity, at_least: 10}`.",
        UNATTACKED: "Add a limit such as `{use: exposure, at_most: 0, insiders: 1}`, or one on membership.",
        "records": "Add an attack that sees through the noise on the records' cells of this secret, or withhold these.",
        "protected": "Withhold the protected cells, and add an attack that speaks of hidden cells.",
    }
    return (Remedy(action="advise", text=texts[name.partition("#")[0]]),)


SoundnessProblem = tuple[str, str | None, str]
"""A finding's id, the secret it is about, and the problem."""


def _rehearsal(policy: Policy, state: AuditState) -> Iterator[SoundnessProblem]:
    """Random numbers that follow from a seed which others may know; of estimators also what was taken from the data."""
    if policy.build.is_rehearsal:
        problem = "a rehearsal repeats by a seed that others may know, so it is not fit to be published"
        yield "rehearsal", None, problem
    elif state.release.builder.get("rehearsal") is True:
        problem = (
            "a rehearsal is not fit to be published: others may know its seed, or its domains or parameters were taken "
            "from the data"
        )
        yield "rehearsal", None, problem


def _miscounted(state: AuditState) -> Iterator[SoundnessProblem]:
    """Leaves or records that claim to count this table's people and do not, or do and claim to count others."""
    if state.inconsistency:
        yield "counted", None, state.inconsistency
    elif is_exact_despite_label(state.release, state.table):
        label = state.release.count_semantics
        problem = f"the numbers are this table's own, and the release calls them {label}: `counted` must say exact"
        yield "counted", None, problem


CLASS_CODES = "class_codes"
"""The finding about codes of classes that fit the table worse than another order."""


def _fitting_order(state: AuditState) -> Order | None:
    """An order of the model's classes that fits the table better than the one by which the policy maps them."""
    values = tuple(state.mapped_classes)
    if not values:
        return None
    from leafgate.algorithms.class_orders import better_order, people_by_class

    return better_order(people_by_class(state.release, state.table, values), tuple(range(len(values))))


def _misfitting_codes(order: Order | None) -> Iterator[SoundnessProblem]:
    """Codes of the class that the policy gives, and that fit the table worse than another order of them."""
    if order is not None:
        problem = (
            "the policy maps the model's classes to values in an order that fits the table worse than another one: "
            "are the codes the wrong way round?"
        )
        yield CLASS_CODES, None, problem


def _code_remedies(order: Order | None, state: AuditState) -> tuple[Remedy, ...]:
    """To map the classes in the order that fits, or to confirm that the other one is right."""
    values, names = tuple(state.mapped_classes), tuple(state.mapped_classes.values())
    target = state.release.target
    place = f"build.encoding.{target}"
    confirm = "If the mapping is right although it fits worse, confirm it: `confirmed: true` in `{}`."
    numbers = [parse_number(name) for name in names]
    if order is None or not all(map(math.isfinite, numbers)):
        change = Remedy(action="advise", text="Map the model's classes to the values that its people have.")
    else:
        codes = {values[row]: number for row, number in zip(order, numbers, strict=True)}
        listed = ", ".join(f"{json.dumps(value, ensure_ascii=False)}: {number:g}" for value, number in codes.items())
        text = f"Find out which number stands for which class; in this order the model fits: `codes: {{{listed}}}`."
        change = Remedy(action="set", text=text, place=f"{place}.codes", value=codes)
    return change, Remedy(action="advise", text=confirm.format(place))


def _unread_parts(state: AuditState) -> Iterator[SoundnessProblem]:
    """Published parts that no attack of the policy, of those that could run, takes into account.

    An attack that only asks the model for predictions takes no published part into account.
    """
    release = state.release
    ran = [tried.attack for tried in state.attack_results if not tried.problem]
    read_file = [attack for attack in ran if attack.chosen_access == "file"]
    read = frozenset[str]().union(*(attack.parts for attack in read_file))
    published = {"records": release.records is not None, "alternatives": len(release.fitted_trees) > len(release.trees)}
    for part, is_there in published.items():
        if is_there and ran and part not in read:
            problem = f"no attack of the policy takes the published {part} into account: try one that does (linking)"
            yield f"unread#{part}", None, problem
    if not all(follows_from_records(tree, release) for tree in release.noisy_alternatives.values()):
        problem = (
            "an alternative tree asks for numbers under noise, so that no attack sends people down it, and it tells "
            "other than the published records do: take it out, or publish the records it was learned from"
        )
        yield "unread#noisy_alternatives", None, problem


def _evidence(state: AuditState) -> dict[str, dict[str, Any]]:
    """The evidence of a doubt, by its name: for auditors, the numbers of the file and of the table at the node."""
    wrong = state.consistency.contradiction
    if wrong is None or state.consistency.release_mismatch:
        return {}
    from leafgate.algorithms.node_counts import REMEDY

    return {"counted": {"remedy": REMEDY, "numbers": AuditorOnly({"file": wrong.stated, "table": wrong.expected})}}


def _dropped(problem: str, state: AuditState) -> dict[str, PeopleCount]:
    """How many people the table has left out for missing cells, where the file may count them."""
    may_count_them = state.table.dropped and problem == state.inconsistency
    return {"dropped": PeopleCount(state.table.dropped)} if may_count_them else {}


def _unattacked(state: AuditState) -> Iterator[SoundnessProblem]:
    """Secret cells that no attack's belief is about: noisy ones of secrets, and protected ones."""
    release = state.release
    columns = () if release.records is None else release.records.columns
    for column in state.table.schema.secrets:
        noisy = column.name in release.noise and column.name in columns
        if noisy and not _noisy_cells(column.name, state) <= set(_cells_believed(column.name, state)):
            problem = "noise hides the records' cells of this secret, and no attack tried to see through it"
            yield f"records#{column.name}", column.name, problem
    for name, marks in state.table.without_key.protected.items():
        cells = _cells_believed(name, state)
        rows = set[int]() if state.origins is None else {state.origins[cell] for cell in cells}
        if not set(marks.nonzero()[0].tolist()) <= rows:
            problem = "no attack says anything of some protected cells: are they withheld, and does one speak of cells?"
            yield f"protected#{name}", name, problem


def _unlimited_class(policy: Policy, state: AuditState) -> Iterator[SoundnessProblem]:
    """A class that not everybody knows, of which no limit judges a belief, in a policy that extends an organisation's.

    No belief about a class is judged that is no secret. A policy of somebody's own may reproduce a paper whose only
    limit is on the sizes of groups.
    """
    if not policy.origin.is_held_to_organisation:
        return
    problem = "no limit judges what anybody can find out about the class, or who is in the table"
    for column in state.table.schema.having("class"):
        secret = column.name if "sensitive" in column.roles else None
        limits = (metric for metric in policy.metrics if metric.can_be_broken)
        if not column.public and not any(_limits_beliefs(metric, secret) for metric in limits):
            yield UNATTACKED, column.name, problem


def _unlimited(policy: Policy, state: AuditState) -> Iterator[SoundnessProblem]:
    """Limits on protection none of which any release could break: a pass would say nothing of anybody's protection.

    No policy is without limits; a search may audit its candidates by the part of a policy that has none.
    """
    if not policy.metrics or can_break_protection(each for each in policy.metrics if not _judges_nothing(each, state)):
        return
    if any(metric.measures == "protection" for metric in policy.metrics):
        problem = "no release could break a limit of this policy on people's protection: every score keeps each of them"
    else:
        problem = "no limit of this policy is on how well people are protected"
    yield UNLIMITED, None, problem


def _judges_nothing(metric: Metric, state: AuditState) -> bool:
    """Does it limit the file of a model that has none, values that nobody has, or a number of people to everybody?"""
    if metric.unit == Unit.PEOPLE and metric.direction == "at_most" and metric.bound >= state.table.people_among():
        return True
    if metric.use == "file_disclosure":
        return state.release.file is None
    if not isinstance(metric, ValueMetric) or metric.values is None:
        return False
    secrets = [
        each.name for each in state.table.schema.secrets if metric.secret in {None, each.name} and each.countable
    ]
    there = {str(value) for name in secrets for value in state.table.frame[name].dropna().unique()}
    return not there.intersection(metric.values) and not any(state.table.schema[name].numeric for name in secrets)


UNATTACKED = "unattacked"
"""The finding about a secret that no limit is on."""


def _limits_beliefs(metric: Metric, secret: str | None) -> bool:
    """Does the metric judge a belief about the secret or about membership, or a promise that bounds all beliefs?

    Without a secret, does it judge one of the others?
    """
    if metric.checks is not None and Claim.of(metric.checks).covers_data:
        return True
    if MembershipBelief in metric.judges:
        return True
    if secret is None or not isinstance(metric, PersonMetric) or metric.groups_only:
        return False
    return metric.secret in {None, secret} and SecretBelief in metric.judges


def _cells_believed(column: str, state: AuditState) -> Iterator[int]:
    """The records whose cells some belief is about."""
    for tried in state.attack_results:
        for belief in tried.beliefs:
            if isinstance(belief, CellBelief) and belief.secret == column:
                yield from belief.record_positions.tolist()


def _noisy_cells(column: str, state: AuditState) -> set[int]:
    """The records that show a number in the column."""
    records = state.release.records
    if records is None:
        return set()
    place = records.columns.index(column)
    return {i for i, row in enumerate(records.rows) if row[place] is not None}


def at_limits(policy: Policy, findings: Iterable[Finding]) -> list[Finding]:
    """The findings on the limits, each with the policy's line of its metric, or of the attack that failed."""
    attacks: dict[str, DocumentPath] = {each.called: ("attacks", i) for i, each in enumerate(policy.attacks)}
    metrics: dict[str, DocumentPath] = {each.called: ("metrics", i) for i, each in enumerate(policy.metrics)}
    paths = ((each, metrics.get(each.metric) or attacks.get(each.attack or "", ())) for each in findings)
    return [replace(finding, where=policy.origin.where(path)) for finding, path in paths]


def at_builder(policy: Policy, findings: Iterable[Finding]) -> list[Finding]:
    """The findings about the release itself, its claims and its making, with the policy's line of the builder."""
    return [replace(finding, where=policy.origin.where(("build",))) for finding in findings]
