"""Unprotected trees, to compare with: ID3 and C4.5."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {
        "id3": "leafgate_plugins.baselines.builders:Id3",
        "c45": "leafgate_plugins.baselines.builders:C45",
    }
