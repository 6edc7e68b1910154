"""Fitted models of other libraries: the neutral model, lowering to a release, exposure, scrubbing, readers."""
