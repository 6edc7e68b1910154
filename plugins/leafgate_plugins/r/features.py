"""What R's models call features, and the levels of those that are factors, by which R codes them from 1 on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from leafgate.readers import CategoryCodes, CategoryList, Origin, Unresolved
from leafgate_plugins.r.serialisation import Kind, RObject
from leafgate_plugins.r.vectors import Place

NEITHER = "is neither a number nor a factor in R"
NO_LEVELS = "is an ordered factor, whose levels the file does not list: give `codes`, its levels from 1 on"
PLAIN = frozenset({"numeric", "logical", "factor", "ordered", "character"})
"""Classes of R's columns whose cells are numbers, truth values or texts."""


@dataclass(frozen=True)
class Features:
    """The features of a model, in its order.

    Attributes:
        names: what R calls them.
        levels: the levels of factors and texts, by feature; the first has the code 1.
        unresolved: why a feature is not known, by feature.
        unseen: whether levels that nobody had in training have the next code; else R refuses them.
        dummies: features that are 1 for one level of a column and else 0, as `model.matrix` makes them.
    """

    names: list[str]
    levels: Mapping[str, list[str]] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)
    unseen: bool = False
    dummies: Mapping[str, CategoryCodes] = field(default_factory=dict)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def position(self, name: str, place: Place) -> int:
        """The position of a feature; ReleaseError where there is none of this name."""
        if name not in self._positions:
            raise place.refuse("asks about a feature that it does not list")
        return self._positions[name]

    @property
    def origins(self) -> tuple[Origin | None, ...]:
        """What each feature is made of; None for a number."""
        return tuple(map(self._origin, self.names))

    def _origin(self, name: str) -> Origin | None:
        if name in self.unresolved:
            return Unresolved(name, self.unresolved[name])
        if name in self.dummies:
            return self.dummies[name]
        if name not in self.levels:
            return None
        codes = {level: float(code) for code, level in enumerate(self.levels[name], 1)}
        return CategoryCodes(name, codes, float(len(codes) + 1) if self.unseen else None, math.nan)

    @property
    def lists(self) -> tuple[CategoryList, ...]:
        """The levels of all factors, which are all that their columns had in training."""
        return tuple(
            CategoryList(name, frozenset(levels), complete=True) for name, levels in sorted(self.levels.items())
        )


def of_terms(fit: RObject, place: Place) -> Features:
    """The features of a model with terms and `xlevels`, as rpart has them."""
    terms = fit.get("terms")
    labels = None if terms is None else terms.attributes.get("term.labels")
    names = [_plain(name) for name in place.texts(labels, "terms")]
    if len(set(names)) != len(names):
        raise place.refuse("has two features of one name")
    classes = data_classes(fit)
    listed = fit.attributes.get("xlevels")
    levels = {} if listed is None else {n: place.texts(each, "xlevels") for n, each in listed.elements.items()}
    unresolved = {name: NEITHER for name in names if classes.get(name, "numeric") not in PLAIN}
    return Features(names, levels, unresolved)


def data_classes(fit: RObject) -> dict[str, str]:
    """What R says that each column of the training table was, by name; empty where the model has no terms."""
    terms = fit.get("terms")
    classes = None if terms is None else terms.attributes.get("dataClasses")
    if classes is None or classes.kind != Kind.TEXTS:
        return {}
    return {_plain(name): text or "" for name, text in zip(classes.names, classes.value, strict=False)}


def _plain(name: str) -> str:
    """A name without the backticks that R puts around names with other signs."""
    return name[1:-1] if len(name) > 2 and name.startswith("`") and name.endswith("`") else name
