"""Run one attack with what it is granted, and isolate its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from leafgate.algorithms.prediction import class_scores, predict
from leafgate.api.offers import described
from leafgate.api.registry import TO_AUTHORS, Plugins, isolate_plugin_errors
from leafgate.engine.remedies.static import from_error
from leafgate.engine.validation import validate_belief
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.belief import Belief, CellBelief, GroupBelief, SecretBelief, TableBelief, secret_of
from leafgate.kernel.components import AttackModel
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import Remedy
from leafgate.kernel.knowledge import AdversaryKnowledge, Membership, defensive_copy, limit_knowledge
from leafgate.kernel.oracle import Access, PredictionOracle, QueryLog
from leafgate.processes import limited_call

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.algorithms.near_copies import NearCopies
    from leafgate.engine.knowledge import Adversaries
    from leafgate.kernel.release import Release
    from leafgate.kernel.table import Table


@dataclass(frozen=True)
class AttackResult:
    """The beliefs of one attack, or the reason why there are none.

    Attributes:
        attack: the attack as the policy has it.
        plugin: where it comes from.
        known: what this attack was granted, by which its beliefs are scored.
        beliefs: what it believes; empty where there is a problem.
        problem: the reason why there are no beliefs.
        remedies: what to do about the problem.
        membership: who of the candidates in `known` is in the table; None where there are no candidates.
        queries: how often it asked the model; None where it was handed the release.
        near_copies: the test whether people of the control are copies of people of the table; None where there are no
            candidates or targets.
    """

    attack: AttackModel
    plugin: str
    known: AdversaryKnowledge
    beliefs: Sequence[Belief] = ()
    problem: str = ""
    membership: Membership | None = None
    queries: QueryLog | None = None
    remedies: tuple[Remedy, ...] = ()
    near_copies: NearCopies | None = None

    @property
    def evidence(self) -> dict[str, Any]:
        """What the engine itself states in the findings of this attack: candidates and queries.

        How often the model was asked is for auditors, because an attack may ask once for each candidate.
        """
        document: dict[str, Any] = {}
        drawn = self.membership
        if drawn is not None:
            in_table = int(drawn.in_table.sum())
            counts = {
                "in_table": in_table,
                "not_in_table": len(drawn.in_table) - in_table,
                "identical": int(drawn.identical.sum()),
            }
            document["candidates"] = {name: PeopleCount(count) for name, count in counts.items()}
            if self.near_copies is not None:
                document["candidates"]["copies_seen"] = AuditorOnly(self.near_copies.described)
        if self.queries is not None:
            asked = {"calls": self.queries.calls, "rows": self.queries.rows}
            document["queries"] = {"access": self.attack.chosen_access, "asked": AuditorOnly(asked)}
        return document


def oracle_of(release: Release, access: Access, log: QueryLog) -> PredictionOracle:
    """The oracle that predicts what the release predicts; it answers with scores where the access has them."""

    def labels(table: Table) -> NDArray[np.int64]:
        return predict(release, table)

    def scores(table: Table) -> NDArray[np.float64]:
        return class_scores(release, table)

    return PredictionOracle(release.schema, release.classes, log, labels, scores if access == "scores" else None)


def call_infer(
    attack: AttackModel, release: Release, known: AdversaryKnowledge, log: QueryLog | None = None
) -> Sequence[Belief]:
    """What the attack returns, unchecked, when it is handed what the policy chooses of the model.

    Queries are counted in `log`.
    """
    access: Any = attack.chosen_access
    handed: Any = release if access == "file" else oracle_of(release, access, QueryLog() if log is None else log)
    return attack.without_knows.infer(handed, known)


def announce_attack(
    attack: AttackModel,
    artifact: SealedRelease,
    known: AdversaryKnowledge,
    plugins: Plugins,
    announce: Callable[[str], None],
) -> None:
    """Pass on an attack's forecast of its run; an error of the forecast is ignored, for the run will report it."""
    try:
        with isolate_plugin_errors(attack, plugins):
            access: Any = attack.chosen_access
            handed: Any = artifact.release if access == "file" else oracle_of(artifact.release, access, QueryLog())
            text = attack.without_knows.forecast(handed, defensive_copy(known))
    except LeafgateError:
        return
    if text:
        announce(f"attack {attack.called}: {text}")


def run_as_granted(
    attack: AttackModel, adversaries: Adversaries, plugins: Plugins, announce: Callable[[str], None]
) -> AttackResult:
    """Run an attack of the policy with what the policy grants it; a problem where that cannot be granted."""
    artifact, section = adversaries.artifact, adversaries.policy.knows_place(attack)
    try:
        attack.refuse_persons(adversaries.table)
        known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
        copies = adversaries.near_copies_for(attack)
    except InconclusiveError as error:
        nothing = limit_knowledge(adversaries.default, attack.needs)
        return AttackResult(attack, plugins.origin(attack), nothing, problem=str(error), remedies=from_error(error))
    announce_attack(attack, artifact, known, plugins, announce)
    return replace(run_attack(attack, artifact, known, plugins, section, membership), near_copies=copies)


def run_attack(
    attack: AttackModel,
    artifact: SealedRelease,
    known: AdversaryKnowledge,
    plugins: Plugins,
    section: str = "knows",
    membership: Membership | None = None,
) -> AttackResult:
    """Run one attack and validate its beliefs; an error of it becomes the reason why there is no belief.

    Args:
        attack: an attack of the policy, or one with its defaults.
        artifact: the release.
        known: what is granted to this attack, limited to what it declares.
        plugins: where attacks come from.
        section: where the policy grants it, for errors of the attack, which speak of `knows`.
        membership: who of the candidates is in the table; for the result, the attack does not get it.
    """
    origin, release = plugins.origin(attack), artifact.release
    origin_name = f"{attack.use} ({origin})"
    log = None if attack.chosen_access == "file" else QueryLog()
    result = AttackResult(attack, origin, known, membership=membership, queries=log)
    try:
        _require_fit(attack, release, known)
    except InconclusiveError as error:
        return replace(result, problem=str(error), remedies=from_error(error))

    def answer() -> Answer:
        try:
            with isolate_plugin_errors(attack, plugins):
                return _listed(call_infer(attack, release, defensive_copy(known), log), origin_name), log
        except LeafgateError as error:
            return error, log

    try:
        if attack.time_limit is None or attack.limits_itself():
            items, _ = answer()
        else:
            items, log = _answer_in_time(answer, attack.time_limit, origin_name)
            result = replace(result, queries=log)
        if isinstance(items, LeafgateError):
            raise items
        with isolate_plugin_errors(attack, plugins), naming_component(origin_name):
            beliefs = tuple(_validated(belief, attack, known, release if log is None else None) for belief in items)
            about = [secret_of(belief) or type(belief) for belief in beliefs]
            if len(set(about)) < len(about):
                raise InconclusiveError("returned two beliefs about one secret, or two of one type about none")
            if not beliefs:
                raise InconclusiveError("returned no belief")
    except LeafgateError as error:
        located = (replace(each, location=_in_section(each.location, section)) for each in error.problems)
        return replace(result, problem="\n".join(map(str, located)), remedies=from_error(error))
    return replace(result, beliefs=beliefs)


def _require_fit(attack: AttackModel, release: Release, known: AdversaryKnowledge) -> None:
    """Raise InconclusiveError where an attack cannot read such a release, or counts rows where persons have several."""
    attack.refuse_persons(known.public)
    if release.count_semantics not in attack.reads:
        raise InconclusiveError(f"cannot read a release whose numbers are {release.count_semantics}")
    if release.model not in attack.models:
        raise InconclusiveError(f"cannot read a release whose model is {release.model}")


def _listed(items: object, origin_name: str) -> list[object]:
    """What an attack returned, which may be a generator."""
    if isinstance(items, Belief) or not isinstance(items, Iterable):
        message = f"{origin_name}: `infer` returned {described(items)} where a list of beliefs belongs"
        raise InconclusiveError(message, remedy=TO_AUTHORS)
    return list(items)


@contextmanager
def naming_component(origin_name: str) -> Iterator[None]:
    """Name the component in what is wrong with its answer."""
    try:
        yield
    except InconclusiveError as error:
        problem = error.problems[0]
        message = f"{origin_name}: {problem.message}"
        raise type(error)(message, place=problem.location, remedy=problem.hint or TO_AUTHORS) from error


Answer: TypeAlias = tuple[list[object] | LeafgateError, QueryLog | None]
"""The beliefs of an attack as it returns them, or its error; and how often it asked the model."""


def _answer_in_time(answer: Callable[[], Answer], seconds: float, origin_name: str) -> Answer:
    """The answer of an attack that runs in a process of its own; no queries are known of one that is ended."""
    try:
        with naming_component(origin_name):
            return limited_call(answer, seconds)
    except TimeoutError:
        remedy = "raise its `time_limit`, or give the attack less to do by its options"
        message = f"{origin_name}: was ended after its {seconds:g} seconds (`time_limit`)"
        return InconclusiveError(message, remedy=remedy), None
    except InconclusiveError as error:
        return error, None


def _validated(belief: object, attack: AttackModel, known: AdversaryKnowledge, release: Release | None) -> Belief:
    """The belief, validated; one about people of the table only from an attack that knows who they are."""
    drawn = {"candidates", "targets"} & attack.needs
    if drawn and isinstance(belief, GroupBelief | SecretBelief | CellBelief | TableBelief):
        problem = f"its belief is about people of the table, whom an attack with `{min(drawn)}` cannot know"
        raise InconclusiveError(problem)
    return validate_belief(belief, known, release)


def _in_section(location: str, section: str) -> str:
    """The location in the policy of what an attack locates in the knowledge that it was granted."""
    return section + location.removeprefix("knows") if location.startswith("knows.") else location
