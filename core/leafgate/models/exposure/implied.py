"""Everything that a model's file discloses without saying so."""

from __future__ import annotations

from dataclasses import replace

from leafgate.ir.model import CALIBRATION_DISCLOSURE, ModelIR
from leafgate.kernel.release import FileDisclosure
from leafgate.models.exposure.categories import value_names_disclosed
from leafgate.models.exposure.scores import with_recoverable_score_counts
from leafgate.models.exposure.shares import with_recoverable_counts


def with_implied_disclosures(model: ModelIR) -> ModelIR:
    """The model, its disclosures completed: names of values, and counts that follow from shares, means or scores."""
    stated = replace(model, discloses=(*model.discloses, *value_names_disclosed(model), *_calibration_disclosed(model)))
    return with_recoverable_score_counts(with_recoverable_counts(stated))


def _calibration_disclosed(model: ModelIR) -> tuple[FileDisclosure, ...]:
    """The shares at the points of calibrated sums, where the file does not say them."""
    like, has_points = CALIBRATION_DISCLOSURE, any(each.points for each in model.calibrated_sums)
    said = any((item.kind, item.severity) == (like.kind, like.severity) for item in model.discloses)
    return (like,) if has_points and not said else ()
