"""The words of the pages, from `words.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from leafgate.io.yaml import parse_yaml


@cache
def words() -> Mapping[str, Any]:
    """All words by the part of the pages that they are of."""
    return parse_yaml(files("leafgate.commands.desk").joinpath("words.yaml").read_bytes(), "words.yaml")
