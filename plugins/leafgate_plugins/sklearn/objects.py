"""The skops file of an estimator in memory, with the same bytes whenever the same estimator is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from leafgate.api import InconclusiveError, ReleaseError
from leafgate.lazy_loading import install_command
from leafgate_plugins.sklearn.disclosures import SEARCHES
from leafgate_plugins.sklearn.writer import renumbered

PLACE = "model"
NAME = "model.skops"
LIBRARIES = frozenset({"sklearn", "imblearn"})
"""The packages whose estimators are written by skops, and read."""


def skops_file(thing: Any) -> tuple[str, bytes] | None:
    """The name and the bytes of the skops file of a fitted estimator or pipeline; None for objects of other libraries.

    Of a search over settings it is the file of the best estimator, of a pipeline that ends in an estimator of another
    library the neutral one.

    Raises:
        ReleaseError: the estimator is not fitted, or skops cannot save it.
        InconclusiveError: skops is not installed.
    """
    if type(thing).__module__.partition(".")[0] not in LIBRARIES or not hasattr(thing, "get_params"):
        return None
    if type(thing).__name__ in SEARCHES:
        thing = _best_estimator(thing)
    _refuse_unfitted(thing)
    steps: Sequence[Any] = getattr(thing, "steps", ())
    if steps and type(steps[-1][1]).__module__.partition(".")[0] not in LIBRARIES:
        from leafgate_plugins.sklearn.foreign_estimators import pipeline_file

        return pipeline_file(thing) or _refuse_other_library(thing)
    try:
        from skops.io import dumps
    except ImportError as error:
        remedy = install_command("sklearn")
        raise InconclusiveError("skops, which writes such files, is not installed", remedy=remedy) from error
    try:
        content = dumps(thing)
    except Exception as error:
        raise ReleaseError(
            f"cannot be saved by skops ({type(error).__name__})",
            place=PLACE,
            remedy="fit the model without functions and classes of your own",
        ) from None
    return NAME, renumbered(content)


def _best_estimator(search: Any) -> Any:
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    remedy = "call its `fit` first; with `refit=False` fit a model with its `best_params_`"
    raise ReleaseError(f"is a {type(search).__name__} without a `best_estimator_`", place=PLACE, remedy=remedy)


def _refuse_unfitted(thing: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(thing)
    except NotFittedError:
        raise ReleaseError("is not fitted", place=PLACE, remedy="call its `fit` first") from None
    except TypeError:
        kind = type(thing).__name__
        raise ReleaseError(f"is a {kind}, which is no estimator", place=PLACE, remedy="give a fitted model") from None


def _refuse_other_library(pipeline: Any) -> NoReturn:
    """ReleaseError for a pipeline that ends in an estimator of a library which no reader can write."""
    remedy = "audit its last step on what the others make of X: leafgate.audit(model[-1], model[:-1].transform(X), y)"
    kind = type(pipeline.steps[-1][1]).__name__
    raise ReleaseError(f"is a pipeline that ends in a {kind}", place=PLACE, remedy=remedy)
