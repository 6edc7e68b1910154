"""What the release is good for: accuracy, and the area under the curve."""

from __future__ import annotations

from typing import Literal

from leafgate import Metric, ReleaseAtLeast, ScoringContext, hookimpl


class Accuracy(ReleaseAtLeast):
    """The share of the people in `data.test` whose class the released trees predict."""

    use: Literal["accuracy"] = "accuracy"

    threat_model = "None: this is what the release is good for."
    plain_failure = "the release predicts too badly"
    formula = "people of the test table predicted rightly / people of the test table, from 0 to 1"
    source = "the usual definition"

    def sensitivity(self, case: ScoringContext) -> float:
        return 0.0 if case.test is None else 1 / case.test.people

    def score(self, case: ScoringContext) -> float:
        from leafgate_utility.metrics import accuracy

        return accuracy(case)


class AreaUnderCurve(ReleaseAtLeast):
    """How well the released trees rank the people in `data.test` by their class, where there are two."""

    use: Literal["area_under_curve"] = "area_under_curve"

    threat_model = "None: this is what the release is good for."
    plain_failure = "the release tells the classes apart too badly"
    formula = "the chance that a person of the second class is ranked above one of the first, ties counting one half"
    source = 'Hanley, McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 143(1), 1982'

    def sensitivity(self, case: ScoringContext) -> float:
        from leafgate_utility.metrics import rarest

        return 1 / rarest(case)

    def score(self, case: ScoringContext) -> float:
        from leafgate_utility.metrics import area_under_curve

        return area_under_curve(case)


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [Accuracy, AreaUnderCurve]
