"""Differentially private random trees: builders, the check of their claim, and an attack that tries to refute it.

`builder` draws the `structure` of the trees, counts with the `mechanisms` and scores with `leaf_scores`. `accounting`
computes (epsilon, delta) without any data; the command `leafgate privacy` prints it. `claim_check` verifies that a
release satisfies the conditions of its account (`randomness` tests its counts), `composition` adds up the epsilons of
several releases, and `distinguish` attacks the claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {
        "dp_random_trees": "leafgate_plugins.dp_random_trees.options:DpRandomTrees",
        "dp_laplace_trees": "leafgate_plugins.dp_random_trees.options:DpLaplaceTrees",
        "random_trees": "leafgate_plugins.dp_random_trees.options:RandomTrees",
    }


@hookimpl
def attack_models() -> dict[str, str]:
    return {"distinguish": "leafgate_plugins.dp_random_trees.options:Distinguish"}


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {"differential_privacy": "leafgate_plugins.dp_random_trees.options:DifferentialPrivacy [epsilon]"}


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_plugins.dp_random_trees.command import app

    return [app]
