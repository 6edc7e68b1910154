"""A model file without what it need not disclose, and proof that it predicts the same.

`scrub` is the entry point; `rounding` and `sampling` reduce leaves, `equivalence` compares the predictions.
"""
