"""How much noise: from what the policy says to one law for each column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import PolicyError, Problem
from leafgate.noise import Noise, noise_with
from leafgate.schema import Schema
from leafgate.table import Table
from leafgate_ppdtc45.options import NoiseOptions

PLACE = "build.noise"


def laws(options: NoiseOptions, table: Table) -> dict[str, Noise]:
    """The noise on each column a tree may ask about, scales in the column's unit.

    Raises PolicyError, every mistake at once: columns that are no numbers, or have missing cells, or are not
    named where others are; a constant column under an SNR.
    """
    problems = list(_misfits(options, table.schema))
    found: dict[str, Noise] = {}
    for column in table.schema.features:
        amount = options.amount(column.name)
        if not column.numeric or amount is None:
            continue
        numbers = table.numbers(column.name)
        if np.isnan(numbers).any():
            problems.append(Problem(PLACE, f"cells of {column.name!r} are missing", "say `on_missing: drop`"))
        elif options.kind == "snr" and np.ptp(numbers) == 0:
            remedy = "give the column the role `ignored`, or the noise by its `deviation`"
            problems.append(Problem(f"{PLACE}.snr", f"{column.name!r} is constant and has no SNR", remedy))
        else:
            found[column.name] = _law(options, amount, numbers, table.weight)
    if problems:
        raise PolicyError.listing(problems)
    return found


def agreed(options: NoiseOptions, schema: Schema) -> dict[str, Noise]:
    """The same where no data may be asked; PolicyError for an SNR, which every party's data would give otherwise."""
    problems = list(_misfits(options, schema))
    if options.kind == "snr":
        remedy = "agree on each column's `deviation` (or `half_width`, or `privacy`) beforehand"
        problems.append(Problem(f"{PLACE}.snr", "each party's rows would give another scale", remedy))
    if problems:
        raise PolicyError.listing(problems)
    amounts = {column.name: options.amount(column.name) for column in schema.features}
    nobody = np.zeros(0)
    return {name: _law(options, amount, nobody, nobody) for name, amount in amounts.items() if amount is not None}


def _misfits(options: NoiseOptions, schema: Schema) -> list[Problem]:
    found = []
    features = {column.name: column for column in schema.features}
    for name, column in features.items():
        if not column.numeric:
            remedy = "give it the role `ignored`; its values would be shared as they are"
            found.append(Problem(PLACE, f"{name!r} has values, and noise is for numbers", remedy))
        elif not column.declared:
            remedy = "declare its `bounds`; which numbers occur is itself a secret"
            found.append(Problem(f"data.columns.{name}", "its domain would be taken from the data", remedy))
        elif options.amount(name) is None:
            remedy = "name it, or give it the role `ignored`; its numbers would be shared as they are"
            found.append(Problem(f"{PLACE}.{options.kind}", f"no noise is said for {name!r}", remedy))
    strangers = sorted(options.named - set(features))
    found += [Problem(f"{PLACE}.{options.kind}.{name}", "is no column that a tree may ask about") for name in strangers]
    if not features:
        found.append(Problem("data.columns", "there is no column to share", "a tree asks about numbers"))
    if any(not column.declared for column in schema.having("class")):
        found.append(Problem("data.columns", "the class's domain would be taken from the data", "declare its `values`"))
    if any("sensitive" in column.roles for column in schema.having("class")):
        remedy = "make it [class, quasi_identifier], or [class]"
        found.append(Problem("data.columns", "the class is shared as it is, so it is no secret", remedy))
    return found


def _law(options: NoiseOptions, amount: float, numbers: NDArray[np.float64], weight: NDArray[Any]) -> Noise:
    match options.kind:
        case "snr":
            mean = np.average(numbers, weights=weight)
            exact = noise_with(options.law, float(np.average((numbers - mean) ** 2, weights=weight)) / amount)
            return Noise(options.law, float(f"{exact.scale:.2g}"))  # it is published: no more digits than it needs
        case "deviation":
            return noise_with(options.law, amount**2)
        case "half_width":
            return Noise(options.law, amount)
        case _:
            return Noise(
                options.law, amount / 2 if options.law == "uniform" else amount / math.sqrt(2 * math.pi * math.e)
            )
