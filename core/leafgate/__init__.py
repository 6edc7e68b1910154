"""leafgate audits what a decision tree discloses before it is released.

    Table --build--> Release --infer--> Belief --score--> numbers --policy--> Report

This module has what users call and catch; plugins import from leafgate.api. Nothing heavy is loaded until it is used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy_exports

if TYPE_CHECKING:
    from leafgate.commands.convert.prediction import LoadedModel as LoadedModel
    from leafgate.commands.convert.prediction import load_model as load_model
    from leafgate.commands.repair.python import Repair as Repair
    from leafgate.commands.repair.python import repair as repair
    from leafgate.errors import DataError as DataError
    from leafgate.errors import InconclusiveError as InconclusiveError
    from leafgate.errors import LeafgateError as LeafgateError
    from leafgate.errors import NoReleaseError as NoReleaseError
    from leafgate.errors import PolicyError as PolicyError
    from leafgate.errors import ReleaseError as ReleaseError
    from leafgate.kernel.policy import Policy as Policy
    from leafgate.kernel.release import Release as Release
    from leafgate.kernel.table import Table as Table
    from leafgate.models.reader import from_sklearn as from_sklearn
    from leafgate.session.audit import Audit as Audit
    from leafgate.session.model_audit import audit as audit
    from leafgate.session.model_audit import load_policy as load_policy

__version__ = "1.0.0"

__getattr__, __dir__ = lazy_exports(__name__, "__version__")
"""Imported on first use, so that a command imports no more than it needs."""


def _display_releases() -> None:
    """Have releases displayed as their tree where leafgate is imported in a notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_shell is None else get_shell()
    if getattr(shell, "display_formatter", None) is not None:
        from leafgate.session.notebook_display import register_release_page

        register_release_page(shell)


_display_releases()
