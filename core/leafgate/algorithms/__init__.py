"""Mathematics that the engine and plugins share: routing, equivalence, consistency, induction."""
