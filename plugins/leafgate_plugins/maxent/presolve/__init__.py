"""Presolve: `fixed_cells` finds what the constraints settle, `reduce` substitutes it and merges symmetric strata."""
