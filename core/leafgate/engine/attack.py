"""Run one attack and isolate its errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from types import TracebackType

from leafgate.api.components import AttackModel, Component
from leafgate.api.registry import Plugins, use_of
from leafgate.engine.validation import validate_belief
from leafgate.errors import InconclusiveError, LeafgateError, NoReleaseError, PolicyError, ReleaseError
from leafgate.io.release_codec import ReleaseArtifact
from leafgate.types.adversary import AdversaryKnowledge, defensive_copy
from leafgate.types.belief import Belief


@dataclass(frozen=True)
class AttackResult:
    """The beliefs of one attack, or the reason why there are none.

    `known` is what this attack was granted, by which its beliefs are scored.
    """

    attack: AttackModel
    plugin: str
    known: AdversaryKnowledge
    beliefs: Sequence[Belief] = ()
    problem: str = ""


def announce_attack(
    attack: AttackModel,
    artifact: ReleaseArtifact,
    known: AdversaryKnowledge,
    plugins: Plugins,
    announce: Callable[[str], None],
) -> None:
    """Pass on an attack's forecast of its run; an error of the forecast is ignored, for the run will report it."""
    try:
        with isolate_plugin_errors(attack, plugins):
            text = attack.without_knows.forecast(artifact.release, defensive_copy(known))
    except LeafgateError:
        return
    if text:
        announce(f"attack {attack.called}: {text}")


def run_attack(
    attack: AttackModel,
    artifact: ReleaseArtifact,
    known: AdversaryKnowledge,
    plugins: Plugins,
    section: str = "knows",
) -> AttackResult:
    """Run one attack and validate its beliefs; an error of it becomes the reason why there is no belief.

    `known` is what is granted to this attack, limited to what it declares. `section` is where the policy grants it, for
    errors of the attack, which speak of `knows`.
    """
    origin, release = plugins.origin(attack), artifact.release
    result = AttackResult(attack, origin, known)
    if release.count_semantics not in attack.reads:
        return replace(result, problem=f"cannot read a release whose numbers are {release.count_semantics}")
    if release.model not in attack.models:
        return replace(result, problem=f"cannot read a release whose model is {release.model}")
    try:
        with isolate_plugin_errors(attack, plugins):
            items = attack.without_knows.infer(release, defensive_copy(known))
            beliefs = tuple(validate_belief(belief, known, release) for belief in items)
    except LeafgateError as error:
        located = (replace(each, location=_in_section(each.location, section)) for each in error.problems)
        return replace(result, problem="\n".join(map(str, located)))
    secrets = [belief.secret for belief in beliefs]
    if not beliefs or len(set(secrets)) < len(secrets):
        return replace(result, problem="returned two beliefs about one secret" if beliefs else "returned no belief")
    return replace(result, beliefs=beliefs)


def _in_section(location: str, section: str) -> str:
    """The location in the policy of what an attack locates in the knowledge that it was granted."""
    return section + location.removeprefix("knows") if location.startswith("knows.") else location


@contextmanager
def isolate_plugin_errors(component: Component | type[Component], plugins: Plugins) -> Iterator[None]:
    """Turn whatever a plugin raises into an InconclusiveError that names the plugin; what it prints goes to stderr.

    Errors about the policy or a release file pass, and so do NoReleaseError and InconclusiveError. Of any other error
    only its type and the line are reported: its own text may hold a cell of the data.
    """
    kind = component if isinstance(component, type) else type(component)
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (PolicyError, ReleaseError, InconclusiveError, NoReleaseError):
        raise
    except (Exception, SystemExit) as error:
        where = _location_in(error.__traceback__, kind.__module__.partition(".")[0])
        origin = f"{use_of(kind)} ({plugins.origin(component)})"
        raise InconclusiveError(f"{origin} failed: {type(error).__name__}{where}") from error


def _location_in(trace: TracebackType | None, package: str) -> str:
    """The deepest line of the plugin's own code in a traceback, else the deepest line of all."""
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame.f_globals.get("__name__", ""), trace.tb_lineno, trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    own = [frame for frame in frames if frame[0].partition(".")[0] == package]
    module, line, function = (own or frames or [("", 0, "")])[-1]
    return f", line {line} of {module}.{function}" if module else ""
