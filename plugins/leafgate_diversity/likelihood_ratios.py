"""How much more is known of a value in a group than of everyone: beta-likeness, delta-disclosure.

`p` has a row for each group and a column for each value, `overall` the shares among everyone.
Departure, in all: values nobody in the table has are left out. The ratio to a share of 0 is
undefined, and nobody's secret is a value that nobody has.
"""

from __future__ import annotations

import numpy as np

from leafgate_diversity.l_diversity import DECIMALS, Floats


def basic_beta(p: Floats, overall: Floats) -> Floats:
    """The largest relative gain (p - P) / P of a value that a group has more of; from 0 up.

    Source: Cao, Karras, "Publishing Microdata with a Robust Privacy Guarantee", PVLDB 5(11), 2012.
    doi:10.14778/2350229.2350255

    >>> basic_beta(np.array([[0.75, 0.25]]), np.array([0.5, 0.5])).tolist()
    [0.5]
    """
    return np.asarray(np.round(_relative_gains(p, overall).max(axis=1), DECIMALS))


def enhanced_beta(p: Floats, overall: Floats) -> Floats:
    """The smallest beta for which each row is enhanced beta-like; infinite if there is none.

    Every value that a group has more of must satisfy (p - P) / P <= min(beta, -ln P). A gain beyond
    -ln P is refused whatever beta is.

    Source: Cao, Karras 2012, enhanced beta-likeness.
    """
    gains = _relative_gains(p, overall)
    most = -np.log(overall[overall > 0])
    refused = (gains > np.round(most, DECIMALS)).any(axis=1)
    return np.where(refused, np.inf, np.round(gains.max(axis=1), DECIMALS))


def _relative_gains(p: Floats, overall: Floats) -> Floats:
    held = overall > 0
    gains = (p[:, held] - overall[held]) / overall[held]
    return np.asarray(np.round(np.maximum(gains, 0), DECIMALS))


def disclosure(p: Floats, overall: Floats) -> Floats:
    """The largest |ln(p / P)| over the values, in nats; from 0 up, infinite where a group lacks a value.

    Source: Brickell, Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility in
    Anonymized Data Publishing", KDD 2008 (delta-disclosure privacy).
    doi:10.1145/1401890.1401904
    Departure: the definition asks for less than delta; here the smallest delta that would do is
    told, and `at_most` takes equality as safe.
    """
    held = overall > 0
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.abs(np.log(p[:, held] / overall[held])).max(axis=1), DECIMALS))
