"""Settings of a learner that were found risky: SACRO-ML's rules, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

Setting = float | str


@dataclass(frozen=True)
class Between:
    """Numbers above `above` and up to `to`."""

    above: float = -math.inf
    to: float = math.inf

    def __contains__(self, number: Setting) -> bool:
        return isinstance(number, float | int) and self.above < number <= self.to

    def __str__(self) -> str:
        low = f"above {self.above:g}" if self.above > -math.inf else ""
        high = f"up to {self.to:g}" if self.to < math.inf else ""
        return " and ".join(filter(None, (low, high)))


@dataclass(frozen=True)
class Chosen:
    """A region of a setting that is no number: a single choice."""

    choice: str

    def __contains__(self, choice: Setting) -> bool:
        return choice == self.choice

    def __str__(self) -> str:
        return self.choice


Region = Between | Chosen
Rule = Mapping[str, Region]
"""Settings are risky together where every one named lies in its region."""

CHOICES = {"splitter": ("best", "random"), "max_features": ("all", "some"), "bootstrap": ("yes", "no")}
"""Settings that are no numbers; `all` columns compete at every test, or some."""

DEEP, SMALL, FEW = Between(7.5), Between(to=7.5), Between(to=15)
ALL, SOME = Chosen("all"), Chosen("some")
BEST, RANDOM = Chosen("best"), Chosen("random")

RULES: Mapping[str, Sequence[Rule]] = {
    "tree": (
        {"max_depth": DEEP, "min_samples_leaf": SMALL, "min_samples_split": FEW},
        {"splitter": BEST, "max_depth": DEEP, "min_samples_leaf": SMALL, "min_samples_split": Between(15)},
        {"splitter": BEST, "max_depth": DEEP, "min_samples_leaf": Between(7.5, 15), "max_features": ALL},
        {"splitter": BEST, "max_depth": Between(3.5, 7.5), "min_samples_leaf": SMALL, "max_features": ALL},
        {"splitter": RANDOM, "max_depth": DEEP, "min_samples_leaf": SMALL, "max_features": ALL},
    ),
    "forest": (
        {"max_depth": Between(3.5), "n_estimators": Between(35), "max_features": SOME},
        {
            "max_depth": Between(3.5),
            "n_estimators": Between(35),
            "min_samples_split": FEW,
            "max_features": ALL,
            "bootstrap": Chosen("yes"),
        },
        {
            "max_depth": DEEP,
            "n_estimators": Between(15, 35),
            "min_samples_leaf": FEW,
            "bootstrap": Chosen("no"),
        },
    ),
    "boosting": (
        {"max_depth": Between(3.5), "n_estimators": Between(3.5, 12.5), "min_child_weight": Between(to=1.5)},
        {"max_depth": Between(3.5), "n_estimators": Between(12.5), "min_child_weight": Between(to=3)},
        {"max_depth": Between(3.5), "n_estimators": Between(62.5), "min_child_weight": Between(3, 6)},
    ),
}
"""By family: one tree, a forest, boosted trees.

Source: SACRO-ML 2.0, attacks/structural_attack.py, which took them from a decision tree over the study of
arXiv:2502.09396: settings among the fifth that membership inference did best against.
"""


def broken(settings: Mapping[str, Setting], rules: Sequence[Rule]) -> list[Rule]:
    """The rules by which these settings are risky."""
    return [rule for rule in rules if all(settings[name] in region for name, region in rule.items())]


def fewest_changes(settings: Mapping[str, Setting], rules: Sequence[Rule]) -> dict[str, Region]:
    """The fewest settings to change, and where to, so that no rule holds; nothing where none does."""
    regions = {name: _regions(name, rules) for name in settings}
    ways = sorted(product(*regions.values()), key=lambda way: sum(map(_is_outside, settings.values(), way)))
    for way in ways:
        inside = dict(zip(settings, map(_value_in, way), strict=True))
        if not broken(inside, rules):
            return {name: to for name, to in zip(settings, way, strict=True) if settings[name] not in to}
    raise AssertionError("the shallowest single tree is safe by every rule")


def _is_outside(setting: Setting, region: Region) -> bool:
    return setting not in region


def _value_in(region: Region) -> Setting:
    """A setting in the region."""
    if isinstance(region, Chosen):
        return region.choice
    return region.to if region.to < math.inf else region.above + 1


def some_of_each(name: str, rules: Sequence[Rule]) -> list[Setting]:
    """A value of a setting in each region that no rule divides."""
    return [_value_in(region) for region in _regions(name, rules)]


def _regions(name: str, rules: Sequence[Rule]) -> list[Region]:
    """The regions of a setting that no rule divides."""
    if name in CHOICES:
        return [Chosen(choice) for choice in CHOICES[name]]
    found = [rule[name] for rule in rules if name in rule]
    edges = {edge for region in found if isinstance(region, Between) for edge in (region.above, region.to)}
    inner = sorted(edge for edge in edges if math.isfinite(edge))
    return [Between(low, high) for low, high in zip((-math.inf, *inner), (*inner, math.inf), strict=True)]
