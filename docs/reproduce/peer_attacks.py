"""The attacks of SACRO-ML and of ART as a plugin of these measurements: leafgate itself has none of them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from attributes_peers import ArtAttribute, SacroMlAttribute
from leafgate.api.registry import plugin_of_classes, plugins_beside
from membership_peers import Art, SacroMl


def peers_beside() -> AbstractContextManager[None]:
    """A context in which policies may name `art`, `art_attribute`, `sacroml` and `sacroml_attribute`."""
    return plugins_beside(plugin_of_classes([Art, ArtAttribute, SacroMl, SacroMlAttribute]))
