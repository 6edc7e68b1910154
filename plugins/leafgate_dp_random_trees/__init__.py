"""Differentially private random trees: what sampling and a threshold promise without noise.

The account stands alone: `leafgate privacy`, or `leafgate_dp_random_trees.account` from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_dp_random_trees.command import app

    return [app]
