"""The maximum-entropy problem: unknowns, constraints of leaves and splits."""
