"""CatBoost's JSON files.

`reader` reads the document and builds the model, `trees` builds the nodes of each tree, `hashes` computes the numbers
by which tests name categories, and `unread` records the rest of the document: how the model was trained, and whatever
CatBoost does not write.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.api import ModelReader, ReaderTexts, ReleaseError, hookimpl

if TYPE_CHECKING:
    from leafgate.api import ModelIR

leafgate_api = ">=2,<3"

FIRST_KEY = re.compile(rb'\s*\{\s*"(ctr_data|features_info)"\s*:')
"""CatBoost sorts the keys by name, so that one of these is the first."""


def sniff(head: bytes) -> bool:
    """Does the file begin as CatBoost's JSON does?"""
    return FIRST_KEY.match(head) is not None


def read(content: bytes, place: str) -> ModelIR:
    """The model in a JSON file of CatBoost; the core checks it."""
    from leafgate_catboost import reader

    return reader.read(content, place)


def to_file(thing: Any) -> tuple[str, bytes] | None:
    """The JSON file of a fitted model of CatBoost, as `save_model` writes it."""
    catboost = sys.modules.get("catboost")
    if catboost is None or not isinstance(thing, catboost.CatBoost):
        return None
    if not thing.is_fitted():
        raise ReleaseError("is not fitted", place="model", remedy="call its `fit` first")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            thing.save_model(str(path), format="json")
        except catboost.CatBoostError:
            raise ReleaseError(
                "is a model of CatBoost that has no JSON file",
                place="model",
                remedy="fit it on numbers and categories, without texts and embeddings",
            ) from None
        return "model.json", path.read_bytes()


def texts() -> ReaderTexts:
    """Words of the producer, why missing categories are not read, and what its files disclose."""
    from leafgate_catboost.reader import NO_MISSING_CATEGORY
    from leafgate_catboost.unread import DISCLOSURES

    return ReaderTexts(
        producers=frozenset({"CatBoost", "catboost"}), reasons=(NO_MISSING_CATEGORY,), disclosures=DISCLOSURES
    )


CATBOOST = ModelReader(
    name="catboost",
    sniff=sniff,
    read=read,
    max_bytes=128 * 2**20,
    texts=texts,
    to_file=to_file,
    tested=("CatBoost 1.2",),
)
"""The files that `save_model(path, format="json")` writes."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [CATBOOST]
