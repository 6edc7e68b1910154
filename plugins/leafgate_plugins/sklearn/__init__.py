"""scikit-learn's models and their pipelines, from skops files (`skops`) and from memory (`estimators`).

`pipeline` traces features back to columns with `encoders` and `numeric_transformers`; `trees` and `hist_boosting` read
the trees, `calibration` those of calibrated ones, `foreign_estimators` estimators of XGBoost and LightGBM, by the
readers of their own libraries; `disclosures` and `unread` say what the objects hold besides. `training` fits such
models on other people, `writer` puts other trees into the estimator of a skops file, `objects` writes the file of an
estimator in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leafgate.api import hookimpl
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Learner, Table
    from leafgate.readers import ModelIR

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Is it a zip?"""
    return head.startswith(b"PK\x03\x04")


def read(content: bytes, place: str) -> ModelIR:
    """The model in a skops file."""
    from leafgate_plugins.sklearn import skops

    return skops.read(content, place)


def read_output(content: bytes, place: str, output: int) -> ModelIR:
    """The model of one of the columns that an estimator in a skops file predicts."""
    from leafgate_plugins.sklearn import skops

    return skops.read(content, place, output)


def from_object(thing: Any) -> ModelIR:
    """The model of a fitted estimator or pipeline in memory, not yet checked; no method of it is called."""
    from leafgate_plugins.sklearn import estimators

    return estimators.from_sklearn(thing)


def to_file(thing: Any) -> tuple[str, bytes] | None:
    """The skops file of a fitted estimator or pipeline; see `objects.skops_file`."""
    from leafgate_plugins.sklearn import objects

    return objects.skops_file(thing)


def texts() -> ReaderTexts:
    """Words of scikit-learn's texts, and why a feature is not known."""
    from leafgate_plugins.sklearn.disclosures import TRIED
    from leafgate_plugins.sklearn.estimators import READERS
    from leafgate_plugins.sklearn.nearest_models import FOREIGN
    from leafgate_plugins.sklearn.pipeline import FUNCTION
    from leafgate_plugins.sklearn.unread import PRODUCERS, SHAPE

    producers = PRODUCERS.union(READERS, FOREIGN)
    return ReaderTexts(producers=producers, reasons=(FUNCTION,), disclosures=(*SHAPE.says, TRIED))


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """The scores of an estimator that is fitted on people; see `training.train`."""
    from leafgate_plugins.sklearn import training

    return training.train(learner, own, asked, seed)


def fit(learner: Learner, features: NDArray[np.float64], target: NDArray[Any], seed: int) -> Any:
    """An estimator that is fitted on features; see `training.fit`."""
    from leafgate_plugins.sklearn import training

    return training.fit(learner, features, target, seed)


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as a skops file with the pipeline and estimator of the original one; see `writer.write`."""
    from leafgate_plugins.sklearn import writer

    return writer.write(model, original)


def check_original(original: bytes) -> None:
    """Refuse a file into which no other trees are put; see `writer.check_original`."""
    from leafgate_plugins.sklearn import writer

    writer.check_original(original)


SKOPS = ModelReader(
    name="skops",
    sniff=sniff,
    read=read,
    read_output=read_output,
    max_bytes=400 * 2**20,
    texts=texts,
    from_object=from_object,
    to_file=to_file,
    trains=("sklearn.",),
    train=train,
    fit=fit,
    write=write,
    suffixes=(".skops",),
    check_original=check_original,
    library="leafgate_plugins.sklearn.library:answer",
    tested=(
        *(f"scikit-learn 1.{minor}" for minor in range(3, 10)),
        *("XGBoost 3.2", "LightGBM, file version v4"),
    ),
)
"""The files that `skops.io.dump` writes, and scikit-learn's models in memory."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [SKOPS]
