"""Conformance kit: checks that a plugin keeps the contract that leafgate relies on.

One line of pytest for each plugin:

    @pytest.mark.parametrize("check", conformance(MyAttack()), ids=str)
    def test_conforms(check): check()

For a report format it is `format_conformance(MY_FORMAT)`, for a data source `source_conformance(MySource(), write)`,
where `write` makes files for it, for a model reader `reader_conformance(MY_READER, files)`, and for a plugin's module
with its commands `plugin_conformance("my_module")`. A check that does not apply
to a plugin is skipped, with the reason; none passes silently.

`scenarios` holds tables, releases and contexts; `subjects` runs a component on them; `common_checks` and the checks
of each kind of component compare what it returns; `sandbox` observes the process meanwhile, `subprocess_worker` is a
second process; `check` is one check and the ways it can end. `offers` checks report formats on the documents of
`scenarios.reports`, model readers on files whose model is known, data sources on files that were written for them, and
modules by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leafgate.api.report_formats import ReportFormat
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.components import Component, DataSource
from leafgate.testing.check import Check, DoesNotApply, KnownException, NonConformance, checked_all, checks_of

if TYPE_CHECKING:
    from leafgate.testing.offers.known_models import KnownModel
    from leafgate.testing.offers.source_checks import Write
    from leafgate.testing.scenarios import Scenario
    from leafgate.testing.scenarios.reports import ReportScenario

__all__ = [
    "Check",
    "DoesNotApply",
    "KnownException",
    "KnownModel",
    "NonConformance",
    "ReportScenario",
    "Scenario",
    "check_attack",
    "check_builder",
    "check_component",
    "check_format",
    "check_metric",
    "check_plugin",
    "check_reader",
    "check_source",
    "conformance",
    "format_conformance",
    "plugin_conformance",
    "reader_conformance",
    "source_conformance",
]

Expected = Mapping[str, str] | None


def conformance(component: Component, *, on: Sequence[Scenario] = (), expected: Expected = None) -> list[Check[Any]]:
    """List every check of a builder, an attack or a metric; calling a check runs it.

    Args:
        component: What is checked, with its options.
        on: Scenarios to run it on in addition to the kit's.
        expected: Names of checks that are known to fail, each with the reason: such a check is skipped, and fails if
            it passes after all.

    Raises:
        TypeError: `component` is no builder, attack or metric.
        ValueError: `expected` names a check that does not exist.
    """
    from leafgate.testing.attack_checks import ATTACK_CHECKS
    from leafgate.testing.builder_checks import BUILDER_CHECKS
    from leafgate.testing.metric_checks import METRIC_CHECKS
    from leafgate.testing.subjects import AttackSubject, MetricSubject, subject_of

    subject = subject_of(component, on)
    if isinstance(subject, AttackSubject):
        return checks_of(component, ATTACK_CHECKS, subject, expected)
    if isinstance(subject, MetricSubject):
        return checks_of(component, METRIC_CHECKS, subject, expected)
    return checks_of(component, BUILDER_CHECKS, subject, expected)


def format_conformance(
    offered: ReportFormat, *, on: Sequence[ReportScenario] = (), expected: Expected = None
) -> list[Check[Any]]:
    """List every check of a report format; calling a check runs it.

    Args:
        offered: The format that is checked.
        on: Reports to render in addition to the kit's.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist.
    """
    from leafgate.testing.offers.format_checks import FORMAT_CHECKS, FormatSubject

    return checks_of(offered, FORMAT_CHECKS, FormatSubject(offered, on), expected)


def check_format(
    offered: ReportFormat, *, on: Sequence[ReportScenario] = (), expected: Expected = None
) -> dict[str, str]:
    """Run every check of a report format; results and errors are those of `check_component`."""
    return checked_all(format_conformance(offered, on=on, expected=expected))


def source_conformance(source: DataSource, write: Write, *, expected: Expected = None) -> list[Check[Any]]:
    """List every check of a data source; calling a check runs it.

    Args:
        source: The data source that is checked, with its options.
        write: Writes a file that it reads, from the names of the columns and rows of texts (None: a missing cell), and
            returns the bytes.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist.
    """
    from leafgate.testing.offers.source_checks import SOURCE_CHECKS, SourceSubject

    return checks_of(source, SOURCE_CHECKS, SourceSubject(source, write), expected)


def check_source(source: DataSource, write: Write, *, expected: Expected = None) -> dict[str, str]:
    """Run every check of a data source; results and errors are those of `check_component`."""
    return checked_all(source_conformance(source, write, expected=expected))


def reader_conformance(
    offered: ModelReader, files: Sequence[KnownModel], *, expected: Expected = None
) -> list[Check[Any]]:
    """List every check of a model reader; calling a check runs it.

    Args:
        offered: The reader that is checked.
        files: Small files of its format whose models are known; without one, most checks say nothing.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist, or there is no file.
    """
    from leafgate.testing.offers.reader_checks import READER_CHECKS, ReaderSubject

    if not files:
        raise ValueError("give a file of the format whose model is known: a KnownModel")
    return checks_of(offered, READER_CHECKS, ReaderSubject(offered, tuple(files)), expected)


def check_reader(offered: ModelReader, files: Sequence[KnownModel], *, expected: Expected = None) -> dict[str, str]:
    """Run every check of a model reader; results and errors are those of `check_component`."""
    return checked_all(reader_conformance(offered, files, expected=expected))


def plugin_conformance(module: str, *, expected: Expected = None) -> list[Check[Any]]:
    """List every check of a plugin's module: what it offers, its names, and its commands; calling a check runs it.

    Args:
        module: The name of the module, as its entry point has it.
        expected: Names of checks that are known to fail, each with the reason.

    Raises:
        ValueError: `expected` names a check that does not exist.
    """
    from leafgate.testing.offers.module_checks import MODULE_CHECKS, ModuleSubject

    subject = ModuleSubject(module)
    return checks_of(subject, MODULE_CHECKS, subject, expected)


def check_plugin(module: str, *, expected: Expected = None) -> dict[str, str]:
    """Run every check of a plugin's module; results and errors are those of `check_component`."""
    return checked_all(plugin_conformance(module, expected=expected))


def check_component(component: Component, *, on: Sequence[Scenario] = (), expected: Expected = None) -> dict[str, str]:
    """Run every check of a builder, an attack or a metric.

    Returns:
        The names of checks that did not apply or were expected to fail, each with the reason.

    Raises:
        NonConformance: One or more checks failed; the text lists all of them.
    """
    return checked_all(conformance(component, on=on, expected=expected))


check_attack = check_metric = check_builder = check_component


def __getattr__(name: str) -> Any:
    if name == "ReportScenario":
        return import_module("leafgate.testing.scenarios.reports").ReportScenario
    if name == "KnownModel":
        return import_module("leafgate.testing.offers.known_models").KnownModel
    if name == "Scenario":
        return import_module("leafgate.testing.scenarios").Scenario
    raise AttributeError(f"module 'leafgate.testing' has no attribute {name!r}")
