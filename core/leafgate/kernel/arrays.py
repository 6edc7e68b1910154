"""Names for the arrays that algorithms hand each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Real numbers: shares, probabilities, people by weight."""
Ids = NDArray[np.int64]
"""Numbers that identify groups, leaves or other things that are counted from 0."""
CompactIds = NDArray[np.integer[Any]]
"""The same in any integers, which may be small ones to save memory."""
Codes = NDArray[np.int64]
"""Positions of values in a column's domain."""
Rows = NDArray[np.int64]
"""Positions of rows in a table."""
Mask = NDArray[np.bool_]
"""Which elements are chosen."""
