"""Metrics of a release's usefulness: accuracy, and the area under the ROC curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from leafgate.api import InconclusiveError, PeopleCount, ReleaseAtLeast, Score, ScoringContext, lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.algorithms import prediction, ranking
    from leafgate.api import Release, Table
else:
    np = lazy("numpy")
    prediction, ranking = (lazy(f"leafgate.algorithms.{name}") for name in ("prediction", "ranking"))


NOISY_REMEDY = "use accuracy_on_perturbed"
"""What to do where the test people's numbers have noise on them."""


MORE_PEOPLE = (
    "gather more people, or columns that say more of the class: with the same people a better model is one that "
    "discloses more of them"
)
"""What to do where a release predicts too badly: nothing that loosens the limits on what it discloses."""


class Accuracy(ReleaseAtLeast):
    """The share of the people in `data.test` whose class the released trees predict.

    A person for whom no leaf predicts a class counts as an error.
    """

    use: Literal["accuracy"] = "accuracy"

    counts_persons = True
    policy_example = "at_least: 0.8"
    by_equivalence_class = True
    measures = "use"
    threat_model = "None: this is what the release is good for."
    plain_failure = "the release predicts too badly"
    score_range = (0, 1)
    formula = "people of the test table predicted rightly / people of the test table, from 0 to 1"
    source = "the usual definition"

    def score(self, case: ScoringContext) -> Score:
        test = case.require_exact_test(NOISY_REMEDY)
        right = prediction.predict(case.release, test) == test.codes(case.release.target)
        most = _most_rows(test)
        share = float(test.weight[right].sum() / test.total_weight)
        return Score(share, sensitivity=most / test.total_weight, remedy=MORE_PEOPLE, evidence=_left_out(test))


class AreaUnderCurve(ReleaseAtLeast):
    """How well the released trees rank the people in `data.test` by their class, where there are two.

    People are ranked by the trees' votes for the second class against the first; people for whom no leaf predicts a
    class are in the middle.
    """

    use: Literal["area_under_curve"] = "area_under_curve"

    counts_persons = True
    policy_example = "at_least: 0.7"
    by_equivalence_class = True
    measures = "use"
    threat_model = "None: this is what the release is good for."
    plain_failure = "the release separates the classes too badly"
    score_range = (0, 1)
    formula = "the chance that a person of the second class is ranked above one of the first, ties counting one half"
    source = 'Hanley, McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 143(1), 1982'

    def score(self, case: ScoringContext) -> Score:
        """The area; each person of the rarer class moves it by at most one over the people of that class."""
        test = case.require_exact_test(NOISY_REMEDY)
        if len(case.release.classes) != 2:
            raise InconclusiveError("there are not two classes", remedy="`accuracy` takes any number of classes")
        people = _people_of_each_class(case.release, test)
        area = ranking.area_under_curve(ranking.second_class_ranking(case.release, test), *people).value
        rarer = min(each.sum() for each in people)
        return Score(area, sensitivity=_most_rows(test) / int(rarer), remedy=MORE_PEOPLE, evidence=_left_out(test))


def _most_rows(test: Table) -> int:
    """The most rows of one person, by which she changes a mean of rows; 1 where every row is a person."""
    if test.person_rows is None:
        return 1
    return int(test.person_rows.by_group(np.zeros(len(test), dtype=np.int64)).rows.max(initial=1))


def _left_out(test: Table) -> dict[str, PeopleCount]:
    """How many people of the test table are left out because they are in the audited table."""
    return {"left_out": PeopleCount(test.left_out)} if test.left_out else {}


def _people_of_each_class(release: Release, test: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """People of the second class and of the first, for each record; InconclusiveError if a class has nobody."""
    second = test.codes(release.target) == 1
    people = test.weight * second, test.weight * ~second
    if not people[0].sum() or not people[1].sum():
        raise InconclusiveError("the test table has nobody of one class", place="data.test")
    return people
