"""What several releases of the same people prove together: the attack `joint`.

`components` has the attack with its options, `attack` how a belief is made of proofs, `estimate` what is believed where
nothing is proved. The classes of people and the proofs are in `leafgate.algorithms.joint_classes` and `joint_proofs`.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def attack_models() -> dict[str, str]:
    return {"joint": "leafgate_plugins.together.components:Joint"}
