"""What plugins are written against: hooks, base classes of components and metrics, the context of a score, registry."""
