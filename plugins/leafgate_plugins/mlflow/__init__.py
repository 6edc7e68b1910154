"""MLflow: folders of models that it saved."""

from __future__ import annotations

from leafgate.api import hookimpl
from leafgate.folders import FOLDER_HEAD
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Is it a folder?"""
    return head.startswith(FOLDER_HEAD)


def texts() -> ReaderTexts:
    """What disclosures of such folders say."""
    from leafgate.readers import read_shape

    return ReaderTexts(disclosures=read_shape("leafgate_plugins.mlflow").says)


MLFLOW = ModelReader(
    name="mlflow",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.mlflow.reader:read"),
    max_bytes=2**29,
    texts=texts,
    file_format="mlflow",
    tested=("scikit-learn 1.9", "LightGBM, file version v4", "XGBoost 3.4"),
)
"""The folders that MLflow's `save_model` and `log_model` write."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [MLFLOW]
