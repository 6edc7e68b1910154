"""PPDTC4.5: trees learned from records whose numbers carry additive noise.

`party` perturbs the rows of one party and pools the files of several, `shared` holds the perturbed records and their
file format. `builder` learns the model: `split_methods` (quantile matching, threshold, weights), `growing` (random or
weighted paths) and `deconvolved_c45` with the mixture densities of `em`. `scoring` classifies perturbed records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {"ppdtc45": "leafgate_plugins.ppdtc45.options:Ppdtc45"}


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {"accuracy_on_perturbed": "leafgate_plugins.ppdtc45.options:AccuracyOnPerturbed []"}


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_plugins.ppdtc45.command import app

    return [app]
