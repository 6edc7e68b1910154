"""Private random trees (docs/measurements/dp-random-trees-results.md): the page is made of the results."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.thorough
def test_the_epsilons_of_sampling_rates_are_those_of_the_tight_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    script = import_module("dp_forests")
    written = import_module("writing").read_rows(DOCS / "results" / "dp-sampling-rates.csv", script.Rate)
    again = list(script.sampling_rates())
    assert [(row.k, row.beta, row.trees) for row in written] == [(row.k, row.beta, row.trees) for row in again]
    assert [row.epsilon for row in written] == pytest.approx([row.epsilon for row in again], abs=1e-4)
