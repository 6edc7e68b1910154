"""Running one attack so that whatever it does wrong stays its own trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from leafgate.belief import Belief, checked
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.interfaces import AttackModel, Component
from leafgate.known import Known, lent
from leafgate.plugins import Plugins, use_of
from leafgate.release_file import Sealed


@dataclass(frozen=True)
class Attempt:
    """What came of one attack: beliefs, or the reason why there are none."""

    attack: AttackModel
    plugin: str
    beliefs: Sequence[Belief] = ()
    problem: str = ""


def attempt(attack: AttackModel, sealed: Sealed, known: Known, plugins: Plugins) -> Attempt:
    """Run one attack; whatever it does wrong becomes the reason why there is no belief."""
    origin = plugins.origin(attack)
    counted = sealed.release.counted
    if counted not in attack.reads:
        return Attempt(attack, origin, problem=f"cannot read a release whose numbers are {counted}")
    try:
        with plugin_trouble(attack, plugins):
            beliefs = tuple(checked(belief, known) for belief in attack.infer(sealed.release, lent(known)))
    except LeafgateError as error:
        return Attempt(attack, origin, problem=str(error))
    return Attempt(attack, origin, beliefs)


@contextmanager
def plugin_trouble(component: Component | type[Component], plugins: Plugins) -> Iterator[None]:
    """Turn whatever a plugin raises into an InconclusiveError that names the plugin.

    A foreign error's own text may hold a cell of the data, so only its type and place are told.
    """
    use = use_of(component if isinstance(component, type) else type(component))
    origin = f"{use} ({plugins.origin(component)})"
    try:
        yield
    except LeafgateError:
        raise
    except (Exception, SystemExit) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f", line {trace.tb_lineno} of {trace.tb_frame.f_code.co_name}" if trace is not None else ""
        raise InconclusiveError(f"{origin} failed: {type(error).__name__}{where}") from error
