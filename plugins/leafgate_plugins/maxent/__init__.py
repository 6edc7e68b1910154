"""The maximum-entropy attack and the counting attack on published trees.

`attack` turns a release and the adversary's knowledge into beliefs. `problem` states the constraints that leaves and
splits imply, `presolve` fixes cells and merges symmetric strata, and `solve` finds the distribution of largest entropy
with a certificate. `counting` weighs all integer data sets that satisfy the same constraints equally.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "maxent": "leafgate_plugins.maxent.components:MaxEnt",
        "counting": "leafgate_plugins.maxent.components:Counting",
    }
