"""When the promise is not kept: an error that says how far it came, without a cell."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from leafgate.errors import NoReleaseError
from leafgate_downgrading.coding import Cells
from leafgate_downgrading.grid import Mask
from leafgate_downgrading.searching import Search

if TYPE_CHECKING:
    from leafgate_downgrading import Downgrading


def refuse_unprotected(search: Search, protected: Mask, cells: Cells, options: Downgrading) -> None:
    """NoReleaseError when more protected cells are in rows that were given up than the policy allows."""
    rows = np.array(sorted(search.given_up), dtype=np.int64)
    lost, every = int(protected[rows].sum()), int(protected.sum())
    if lost <= options.allow * every:
        return
    names = [column.name for column in cells.columns]
    where = ", ".join(
        f"{count} of {name!r}" for name, count in zip(names, protected[rows].sum(axis=0), strict=True) if count
    )
    why = Counter(search.given_up.values())
    reasons = "; ".join(f"{count} record(s): {reason}" for reason, count in sorted(why.items()))
    raise NoReleaseError(
        "some protected cells cannot be held below the limits",
        people=lost,
        remedy="ask for a higher tau, rho or v, allow a share of the cells, or protect fewer",
        details=f"of {every} protected cells these cannot: {where} ({reasons}). The best table found withholds "
        f"{_withheld(search.hidden, protected)}, and models learned from it err by {search.loss:+.3f}",
    )


def _withheld(hidden: Mask, protected: Mask) -> str:
    """The further cells withheld, as a count and as a share of the visible cells of threatened rows."""
    threatened = protected.any(axis=1)
    further, visible = int((hidden & ~protected).sum()), int((~protected[threatened]).sum())
    return f"{further} further cells of {visible} in the records concerned"
