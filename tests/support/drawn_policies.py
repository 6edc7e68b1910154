"""First policies, as `leafgate init` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leafgate.commands.scaffold import policy
from leafgate.kernel.schema import MISSING_WORDS as MISSING_WORDS


def first_policy(data: Path, target: str | None = None, harmless: Sequence[str] = (), **files: Any) -> str:
    """The text of the first policy for a table; `files` are other files and how the table is read."""
    return policy.first_policy(policy.Files(data, **files), target, harmless=harmless).text
