"""`published`: audit a release file, whoever made it."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {"file_disclosure": "leafgate_plugins.published.components:FileDisclosure []"}


@hookimpl
def tree_builders() -> dict[str, str]:
    return {"published": "leafgate_plugins.published.components:Published"}
