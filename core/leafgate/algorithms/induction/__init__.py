"""Arithmetic that tree builders share: counting cells, scoring tests, growing, pruning."""
