"""Downgrading: withhold a few more cells of a table, so that its secret cells cannot be inferred from the rest.

`options` declares the adversaries and the builder's options. `grid` encodes a table. `c45_missing`, `naive_bayes` and
`conditioning` are models that an adversary fits to it; `adversaries` has those of trees, and combines all of them.
`search` withholds cells round by round, `builder` publishes the result, and `metrics` measures its cost.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {"downgrading": "leafgate_plugins.downgrading.options:Downgrading"}


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "tree_inference": "leafgate_plugins.downgrading.options:TreeInference",
        "conditioning": "leafgate_plugins.downgrading.options:Conditioning",
        "naive_bayes": "leafgate_plugins.downgrading.options:NaiveBayes",
        "restoration": "leafgate_plugins.downgrading.options:Restoration",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "cells_withheld": "leafgate_plugins.downgrading.components:CellsWithheld []",
        "functionality": "leafgate_plugins.downgrading.components:Functionality []",
    }
