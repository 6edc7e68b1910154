"""The bundled plugins, a package each; the entry points of the group `leafgate` name them."""
