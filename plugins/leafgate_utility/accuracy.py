"""Accuracy on the test table."""

from __future__ import annotations

from leafgate import Case, InconclusiveError
from leafgate.routing import predict


def accuracy(case: Case) -> float:
    """People predicted rightly over people, from 0 to 1; a person no leaf speaks about is an error."""
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if case.noisy_test:
        raise InconclusiveError("the test people's numbers have noise on them", remedy="use accuracy_on_perturbed")
    if not (case.release.trees or case.release.bayes):
        raise InconclusiveError("the release has no model to predict with", remedy="release one, or leave this out")
    right = predict(case.release, case.test) == case.test.codes(case.release.target)
    return float(case.test.weight[right].sum() / case.test.people)
