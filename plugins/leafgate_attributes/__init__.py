"""Attribute inference: what a model discloses of its inputs, beyond what the other columns say of them."""
