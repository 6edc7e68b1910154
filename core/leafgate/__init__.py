"""leafgate audits what a decision tree gives away before it is released.

    Table --build--> Release --infer--> Belief --score--> numbers --policy--> Report

What a plugin needs can be imported from here; nothing heavy is loaded until it is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafgate.api.components import AttackModel, TreeBuilder
    from leafgate.api.context import ScoringContext
    from leafgate.api.hookspecs import hookimpl
    from leafgate.api.metrics import AtLeast, AtMost, Example, Metric, ReleaseAtLeast, ReleaseAtMost
    from leafgate.errors import DataError, InconclusiveError, LeafgateError, NoReleaseError, PolicyError
    from leafgate.models.readers.sklearn.estimators import from_sklearn
    from leafgate.types.adversary import AdversaryKnowledge, Fact
    from leafgate.types.belief import Belief
    from leafgate.types.release import BuildResult, Release
    from leafgate.types.table import Table

LATER = {
    "AtLeast": "leafgate.api.metrics",
    "AtMost": "leafgate.api.metrics",
    "AttackModel": "leafgate.api.components",
    "Belief": "leafgate.types.belief",
    "BuildResult": "leafgate.types.release",
    "ScoringContext": "leafgate.api.context",
    "DataError": "leafgate.errors",
    "Example": "leafgate.api.metrics",
    "Fact": "leafgate.types.adversary",
    "InconclusiveError": "leafgate.errors",
    "AdversaryKnowledge": "leafgate.types.adversary",
    "LeafgateError": "leafgate.errors",
    "Metric": "leafgate.api.metrics",
    "NoReleaseError": "leafgate.errors",
    "PolicyError": "leafgate.errors",
    "Release": "leafgate.types.release",
    "ReleaseAtLeast": "leafgate.api.metrics",
    "ReleaseAtMost": "leafgate.api.metrics",
    "Table": "leafgate.types.table",
    "TreeBuilder": "leafgate.api.components",
    "from_sklearn": "leafgate.models.readers.sklearn.estimators",
    "hookimpl": "leafgate.api.hookspecs",
}
"""Where each name is defined. All are imported on first use: commands withdraw older verdicts before that."""
__version__ = "0.1.0"

__all__ = [
    "AdversaryKnowledge",
    "AtLeast",
    "AtMost",
    "AttackModel",
    "Belief",
    "BuildResult",
    "DataError",
    "Example",
    "Fact",
    "InconclusiveError",
    "LeafgateError",
    "Metric",
    "NoReleaseError",
    "PolicyError",
    "Release",
    "ReleaseAtLeast",
    "ReleaseAtMost",
    "ScoringContext",
    "Table",
    "TreeBuilder",
    "from_sklearn",
    "hookimpl",
]


def _display_releases() -> None:
    """Have releases displayed as their tree where leafgate is imported in a notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_shell is None else get_shell()
    if getattr(shell, "display_formatter", None) is not None:
        from leafgate.session.notebook_display import register_release_page

        register_release_page(shell)


_display_releases()


def __getattr__(name: str) -> Any:
    if name in LATER:
        value = getattr(import_module(LATER[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'leafgate' has no attribute {name!r}")
