"""MLflow: folders of models that it saved (`reader`), and an audit's verdict beside a model (`leafgate mlflow log`).

`export` tags a run with the verdict and keeps the public report among its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl
from leafgate.readers import FOLDER_HEAD, ModelReader, ReaderTexts

if TYPE_CHECKING:
    import typer

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
    from leafgate_plugins.mlflow.reader import DISCLOSURES

    return ReaderTexts(disclosures=DISCLOSURES)


MLFLOW = ModelReader(
    name="mlflow",
    sniff=sniff,
    read=read,
    max_bytes=512 * 2**20,
    texts=texts,
    file_format="mlflow",
    tested=("scikit-learn 1.9", "LightGBM, file version v4", "XGBoost 3.4"),
)
"""The folders that MLflow's `save_model` and `log_model` write."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [MLFLOW]


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_plugins.mlflow.command import app

    return [app]
