"""Everything that a model's file discloses without saying so."""

from __future__ import annotations

from dataclasses import replace

from leafgate.ir.model import ModelIR
from leafgate.models.exposure.categories import value_names_disclosed
from leafgate.models.exposure.scores import with_recoverable_score_counts
from leafgate.models.exposure.shares import with_recoverable_counts


def with_implied_disclosures(model: ModelIR) -> ModelIR:
    """The model, its disclosures completed: names of values, and counts that follow from shares, means or scores."""
    stated = replace(model, discloses=(*model.discloses, *value_names_disclosed(model)))
    return with_recoverable_score_counts(with_recoverable_counts(stated))
