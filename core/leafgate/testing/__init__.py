"""Conformance kit: checks that a plugin keeps the contract that leafgate relies on.

One line of pytest for each plugin:

    @pytest.mark.parametrize("check", conformance(MyAttack()), ids=str)
    def test_conforms(check): check()

For a report format it is `format_conformance(MY_FORMAT)`, for a data source `source_conformance(MySource(), write)`,
where `write` makes files for it, and for a model reader `reader_conformance(MY_READER, files)`. A check that does not
apply to a plugin is skipped, with the reason; none passes silently.

There is a relation for each check: a plain function whose docstring says what must hold. `components` has those of
every component and of builders, `attacks` and `metrics` those of these kinds, tried on the `scenarios`; `offers` has
those of other plugins.

`grant_knowledge` makes what an attack is granted, and `validate_belief` is what an audit does to its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leafgate.api.report_formats import ReportFormat
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.validation import validate_belief
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.metrics import Metric
from leafgate.testing import attacks, components, metrics, offers
from leafgate.testing.check import Check, DoesNotApply, Expected, KnownException, NonConformance, checks_of
from leafgate.testing.metrics import Case
from leafgate.testing.offers import KnownModel, ReportScenario
from leafgate.testing.scenarios import Scenario

__all__ = [
    "Case",
    "Check",
    "DoesNotApply",
    "KnownException",
    "KnownModel",
    "NonConformance",
    "ReportScenario",
    "Scenario",
    "conformance",
    "format_conformance",
    "grant_knowledge",
    "reader_conformance",
    "source_conformance",
    "validate_belief",
]


def conformance(component: Component, *, on: Sequence[Any] = (), expected: Expected = None) -> list[Check]:
    """List every check of a builder, an attack or a metric; calling a check runs it.

    Args:
        component: What is checked, with its options.
        on: Scenarios, or for a metric also Cases, to run it on in addition to the kit's.
        expected: Names of checks that are known to fail, each with the reason: such a check is skipped, and fails if
            it passes after all.

    Raises:
        TypeError: `component` is no builder, attack or metric.
        ValueError: `expected` names a check that does not exist.
    """
    if isinstance(component, AttackModel):
        return checks_of(component.use, attacks.ATTACKS, attacks.AttackSubject(component, on), expected)
    if isinstance(component, Metric):
        return checks_of(component.use, metrics.METRICS, metrics.MetricSubject(component, on), expected)
    if isinstance(component, TreeBuilder):
        return checks_of(component.use, components.BUILDERS, components.BuilderSubject(component, on), expected)
    raise TypeError(f"{type(component).__name__} is no builder, attack or metric")


def format_conformance(offered: ReportFormat, *, on: Sequence[Any] = (), expected: Expected = None) -> list[Check]:
    """List every check of a report format; `on` has ReportScenarios, other arguments are those of `conformance`."""
    return checks_of(offered.name, offers.FORMATS, offers.Offer(offered, on), expected)


def reader_conformance(offered: ModelReader, files: Sequence[KnownModel], *, expected: Expected = None) -> list[Check]:
    """List every check of a model reader.

    Args:
        offered: The reader that is checked.
        files: Small files of its format whose models are known.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist, or there is no file.
    """
    if not files:
        raise ValueError("give a file of the format whose model is known: a KnownModel")
    return checks_of(offered.name, offers.READERS, offers.Offer(offered, files), expected)


Write = Callable[[Sequence[str], Sequence[Any]], bytes]
"""Makes a file of the names of its columns and of rows of texts; None is a missing cell."""


def source_conformance(source: DataSource, write: Write, *, expected: Expected = None) -> list[Check]:
    """List every check of a data source.

    Args:
        source: The data source that is checked, with its options.
        write: Makes a file that it reads of the names of its columns and of rows of texts; None is a missing cell.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist.
    """
    return checks_of(source.use, offers.SOURCES, offers.Offer(source, (write,)), expected)
