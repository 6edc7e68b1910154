"""One of the columns that an estimator of several outputs predicts, as an estimator of that column alone."""

from __future__ import annotations

from typing import Any

from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple, with_attributes
from leafgate.readers import ObjectView

ESTIMATOR_PER_OUTPUT = ("MultiOutputClassifier", "MultiOutputRegressor")
"""The classes that fit an estimator for each output."""

EACH_BY_ITSELF = "write each as a file of its own, by `leafgate convert MODEL NEW.json --output 0` and so on"


def output_of(estimator: ObjectView, output: int | None) -> ObjectView:
    """The estimator of one of the columns that an estimator predicts; the estimator itself where it predicts one.

    Args:
        estimator: fitted.
        output: the number of the column, from 0; None where none is chosen.

    Raises:
        ReleaseError: it predicts several columns and none is chosen, or no column has this number.
    """
    is_list = estimator.kind in ESTIMATOR_PER_OUTPUT
    number = len(estimator.many("estimators_")) if is_list else estimator.get("n_outputs_", 1)
    if output is None and number == 1 and not is_list:
        return estimator
    if output is None:
        raise ReleaseError(f"predicts {number} columns at once", place=estimator.place, remedy=EACH_BY_ITSELF)
    if not isinstance(number, int) or output >= number:
        raise ReleaseError(f"has no output {output}: it predicts {number} column(s)", place=estimator.place)
    if is_list:
        return _member(estimator.many("estimators_")[output], estimator)
    return estimator if number == 1 else _alone(estimator, output)


def _alone(estimator: ObjectView, output: int) -> ObjectView:
    """A tree or a forest with the classes and the leaves' values of one output."""
    changes: dict[str, Any] = {"n_outputs_": 1}
    width = 1
    if "classes_" in estimator:
        changes["classes_"] = estimator.many("classes_")[output]
        width = len(as_tuple(changes["classes_"], estimator, "classes_"))
    if "estimators_" in estimator:
        members = (_member(each, estimator) for each in estimator.many("estimators_"))
        changes["estimators_"] = tuple(_alone(each, output) for each in members)
    if "tree_" in estimator:
        tree = _member(estimator["tree_"], estimator)
        values = tree.array("values")
        if values.ndim != 3 or values.shape[1] <= output:
            raise ReleaseError("its tree's `values` are not those of each output", place=tree.place)
        changes["tree_"] = with_attributes(tree, values=values[:, output : output + 1, :width])
    return with_attributes(estimator, **changes)


def _member(thing: Any, estimator: ObjectView) -> ObjectView:
    if not isinstance(thing, ObjectView):
        raise ReleaseError(f"its {estimator.kind} holds something that is no estimator", place=estimator.place)
    return thing
