"""CatBoost itself, which alone opens its binary files."""

from __future__ import annotations

import tempfile
from pathlib import Path


def as_json(content: bytes) -> bytes:
    """The JSON file of the model in a binary file (.cbm), as `save_model` writes it without the table."""
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        binary, text = Path(folder) / "model.cbm", Path(folder) / "model.json"
        binary.write_bytes(content)
        model = catboost.CatBoost()
        model.load_model(str(binary), format="cbm")
        model.save_model(str(text), format="json")
        return text.read_bytes()
