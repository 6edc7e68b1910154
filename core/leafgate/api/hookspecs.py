"""The hooks, by which a plugin offers classes, whose options the policy fills in, formats and model readers.

A hook that offers classes returns them in a list, or names them: a mapping from the name that policies use to the
place of the class, such as `{"kadet": "leafgate_plugins.kadet.builder:Kadet"}`. A class that is named is imported when
a command needs it, so that commands stay quick. The claim that a metric checks may stand behind its place, in brackets,
`{"k_anonymity": "leafgate_plugins.protection.metrics:KAnonymity [k]"}`, or `[]` for none: then no release that claims
something else imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

    from leafgate.api.report_formats import ReportFormat
    from leafgate.ir.model_readers import ModelReader
    from leafgate.kernel.components import AttackModel, DataSource, TreeBuilder
    from leafgate.kernel.metrics import Metric

GROUP = "leafgate"
"""The entry-point group, and the project name of the hooks."""

API_VERSION = "3.0"
"""The version of the plugin interface: these hooks, `leafgate.api`, `leafgate.algorithms`, `leafgate.app` and
`leafgate.testing`."""
API_RANGE = ">=3,<4"
"""The versions that a plugin written against this one states in its module, as `leafgate_api = ">=3,<4"`."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def tree_builders() -> list[type[TreeBuilder]] | Mapping[str, str]:
    """Offer ways to make what the owner would publish."""
    raise NotImplementedError


@hookspec
def attack_models() -> list[type[AttackModel]] | Mapping[str, str]:
    """Offer ways an adversary would use a release."""
    raise NotImplementedError


@hookspec
def privacy_metrics() -> list[type[Metric]] | Mapping[str, str]:
    """Offer ways to score what an attack learned."""
    raise NotImplementedError


@hookspec
def data_sources() -> list[type[DataSource]] | Mapping[str, str]:
    """Offer ways to read data files that are neither CSV nor Parquet."""
    raise NotImplementedError


@hookspec
def report_formats() -> list[ReportFormat]:
    """Offer formats in which a report can be written."""
    raise NotImplementedError


@hookspec
def model_readers() -> list[ModelReader]:
    """Offer formats of model files that can be read."""
    raise NotImplementedError


@hookspec
def commands() -> list[typer.Typer]:
    """Offer further commands, and commands for a group that exists; a name that is taken is refused."""
    raise NotImplementedError
