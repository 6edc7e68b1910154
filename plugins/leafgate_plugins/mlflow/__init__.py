"""MLflow: folders of models that it saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl
from leafgate.folders import FOLDER_HEAD
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    from leafgate.readers import ModelIR


leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Is it a folder?"""
    return head.startswith(FOLDER_HEAD)


def read(content: bytes, place: str) -> ModelIR:
    """The model in a folder that MLflow saved."""
    from leafgate_plugins.mlflow import reader

    return reader.read(content, place)


def texts() -> ReaderTexts:
    """What disclosures of such folders say."""
    from leafgate.readers import read_shape

    return ReaderTexts(disclosures=read_shape("leafgate_plugins.mlflow").says)


TESTED = ("scikit-learn 1.9", "LightGBM, file version v4", "XGBoost 3.4")
MLFLOW = ModelReader(
    name="mlflow", sniff=sniff, read=read, max_bytes=2**29, texts=texts, file_format="mlflow", tested=TESTED
)
"""The folders that MLflow's `save_model` and `log_model` write."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [MLFLOW]
