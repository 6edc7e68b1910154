"""What the release is good for: accuracy."""

from __future__ import annotations

from typing import Literal

from leafgate import Case, Metric, ReleaseAtLeast, hookimpl


class Accuracy(ReleaseAtLeast):
    """The share of the people in `data.test` whose class the released trees predict."""

    use: Literal["accuracy"] = "accuracy"

    threat_model = "None: this is what the release is good for."
    formula = "people of the test table predicted rightly / people of the test table, from 0 to 1"
    source = "the usual definition"

    def score(self, case: Case) -> float:
        from leafgate_utility.accuracy import accuracy

        return accuracy(case)


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [Accuracy]
