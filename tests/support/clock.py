"""The day on which waivers, ledgers and statements are judged."""

from __future__ import annotations

from datetime import date

import pytest


def set_today(patch: pytest.MonkeyPatch, today: date) -> None:
    """Have leafgate take this day for today."""
    for module in ("kernel.waivers", "session.ledger_releases"):
        patch.setattr(f"leafgate.{module}.utc_today", lambda: today)
