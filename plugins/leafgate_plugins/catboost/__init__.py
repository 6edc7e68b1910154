"""CatBoost's JSON files.

`reader` reads the document and builds the model, `trees` builds the nodes of each tree, `hashes` computes the numbers
by which tests name categories, and `unread` records the rest of the document: how the model was trained, and whatever
CatBoost does not write. `training` fits such models on other people; `library` has CatBoost open its binary files.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.api import ReleaseError, hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    from leafgate.readers import ModelIR

leafgate_api = ">=3,<4"

FIRST_KEY = re.compile(rb'\s*\{\s*"(ctr_data|features_info)"\s*:')
"""CatBoost sorts the keys by name, so that one of these is the first."""


BINARY = b"CBM1"


def sniff(head: bytes) -> bool:
    """Does the file begin as CatBoost's JSON does, or as its binary file, which is refused by its name?"""
    return FIRST_KEY.match(head) is not None or head.startswith(BINARY)


def read(content: bytes, place: str) -> ModelIR:
    """The model in a JSON file of CatBoost."""
    if content.startswith(BINARY):
        raise ReleaseError(
            "is a binary file of CatBoost (.cbm), which CatBoost alone reads",
            place=place,
            remedy='save it by `save_model(path, format="json", pool=Pool(X, cat_features=...))`; '
            "or its owner runs `leafgate convert FILE NEW --trust`, with CatBoost installed",
        )
    from leafgate_plugins.catboost import reader

    return reader.read(content, place)


def to_file(thing: Any) -> tuple[str, bytes] | None:
    """The JSON file of a fitted model of CatBoost, as `save_model` writes it without the table."""
    return to_file_with(thing, None)


def to_file_with(thing: Any, rows: Any) -> tuple[str, bytes] | None:
    """The JSON file of a fitted model of CatBoost, as `save_model` writes it.

    Where the model has categories, `rows` are the table, whose texts the file then lists beside their hashes.
    """
    catboost = sys.modules.get("catboost")
    if catboost is None or not isinstance(thing, catboost.CatBoost):
        return None
    if not thing.is_fitted():
        raise ReleaseError("is not fitted", place="model", remedy="call its `fit` first")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            thing.save_model(str(path), format="json", pool=_pool(thing, rows))
        except catboost.CatBoostError:
            raise ReleaseError(
                "is a model of CatBoost that has no JSON file",
                place="model",
                remedy="fit it on numbers and categories, without texts and embeddings",
            ) from None
        return "model.json", path.read_bytes()


def _pool(model: Any, rows: Any) -> Any:
    """The table of a model with categories, as CatBoost takes it; None for one without, or where it does not fit."""
    categories = model.get_cat_feature_indices()
    if rows is None or not categories:
        return None
    catboost = sys.modules["catboost"]
    names = list(model.feature_names_)
    try:
        own = rows[names] if set(names) <= set(getattr(rows, "columns", ())) else rows
        return catboost.Pool(own, cat_features=categories)
    except (catboost.CatBoostError, KeyError, TypeError, ValueError, IndexError):
        return None


def texts() -> ReaderTexts:
    """Words of the producer, why missing categories are not read, and what its files disclose."""
    from leafgate_plugins.catboost.reader import NO_MISSING_CATEGORY
    from leafgate_plugins.catboost.unread import SHAPE

    return ReaderTexts(
        producers=frozenset({"CatBoost", "catboost"}), reasons=(NO_MISSING_CATEGORY,), disclosures=SHAPE.says
    )


CATBOOST = ModelReader(
    name="catboost",
    sniff=sniff,
    read=read,
    max_bytes=128 * 2**20,
    texts=texts,
    to_file=to_file,
    to_file_with=to_file_with,
    tested=("CatBoost 1.2",),
    trains=("catboost.",),
    train=LazyFunction("leafgate_plugins.catboost.training:train"),
    opened_by={BINARY: "leafgate_plugins.catboost.library:as_json"},
)
"""The files that `save_model(path, format="json")` writes."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [CATBOOST]
