"""The linking attack: the equivalence classes of a published tree or table, and the posterior of each."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def attack_models() -> dict[str, str]:
    return {"linking": "leafgate_plugins.linking.components:Linking"}
