"""scikit-learn's models and their pipelines, from skops files (`skops`) and from memory (`estimators`).

`pipeline` traces features back to columns with `encoders` and `numeric_transformers`; `trees` and `hist_boosting` read
the trees, `calibration` those of calibrated ones, `foreign_estimators` estimators of XGBoost and LightGBM, by the
readers of their own libraries; `disclosures` and `unread` say what the objects hold besides. `training` fits such
models on other people, `writer` puts other trees into the estimator of a skops file, `objects` writes the file of an
estimator in memory.
"""

from __future__ import annotations

from leafgate.api import hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Is it a zip?"""
    return head.startswith(b"PK\x03\x04")


def texts() -> ReaderTexts:
    """Words of scikit-learn's texts, and why a feature is not known."""
    from leafgate_plugins.sklearn.disclosures import TRIED
    from leafgate_plugins.sklearn.estimators import READERS
    from leafgate_plugins.sklearn.nearest_models import FOREIGN
    from leafgate_plugins.sklearn.pipeline import FUNCTION
    from leafgate_plugins.sklearn.unread import PRODUCERS, SHAPE

    producers = PRODUCERS.union(READERS, FOREIGN)
    return ReaderTexts(producers=producers, reasons=(FUNCTION,), disclosures=(*SHAPE.says, TRIED))


SKOPS = ModelReader(
    name="skops",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.sklearn.skops:read"),
    read_output=LazyFunction("leafgate_plugins.sklearn.skops:read"),
    max_bytes=400 * 2**20,
    texts=texts,
    from_object=LazyFunction("leafgate_plugins.sklearn.estimators:from_sklearn"),
    to_file=LazyFunction("leafgate_plugins.sklearn.objects:skops_file"),
    trains=("sklearn.",),
    train=LazyFunction("leafgate_plugins.sklearn.training:train"),
    fit=LazyFunction("leafgate_plugins.sklearn.training:fit"),
    write=LazyFunction("leafgate_plugins.sklearn.writer:write"),
    suffixes=(".skops",),
    check_original=LazyFunction("leafgate_plugins.sklearn.writer:check_original"),
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
