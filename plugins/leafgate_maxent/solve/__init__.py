"""Solving the problem, and certifying what was found."""
