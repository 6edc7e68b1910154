"""Cases of a test that the default run leaves out."""

from __future__ import annotations

from typing import Any

import pytest


def more(*cases: Any) -> list[Any]:
    """Cases with the marker `processes`: the default run states the same fact on the case beside them.

    A tuple holds the values of several parameters.
    """
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.processes) for case in cases
    ]
