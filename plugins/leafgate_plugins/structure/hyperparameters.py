"""How a model was learned: as its release declares it, else as its trees show it, else unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from leafgate.algorithms.routing import split_rows
from leafgate.api import AuditorOnly, InconclusiveError, Leaf, Node, PeopleCount, Release, ScoringContext, leaves
from leafgate.kernel.tree import tree_arrays
from leafgate_plugins.structure import sacro_rules

OWN_NAMES = {"depth": "max_depth", "min_split": "min_samples_split", "trees": "n_estimators"}
"""What builders of our own call the same."""

COUNTS = ("min_samples_leaf", "min_samples_split")


@dataclass(frozen=True)
class SettingValue:
    """A setting, None where it is unknown, and where it is from."""

    value: sacro_rules.Setting | None
    source: Literal["declared", "measured", "unknown"]

    def described(self, name: str) -> dict[str, Any]:
        """As evidence: a number that is measured counts people."""
        if self.value is None:
            return {"from": self.source}
        if self.source == "measured" and name in COUNTS:
            return {"value": AuditorOnly(PeopleCount(int(self.value))), "from": self.source}
        return {"value": "unlimited" if self.value == math.inf else self.value, "from": self.source}


@dataclass(frozen=True)
class Risk:
    """Settings, the rules by which they are risky, and what to change."""

    family: str
    settings: Mapping[str, SettingValue]
    rules: list[sacro_rules.Rule]
    change: dict[str, sacro_rules.Region]

    @property
    def evidence(self) -> dict[str, Any]:
        document: dict[str, Any] = {"rules": [_describe(rule) for rule in self.rules], "change": _describe(self.change)}
        return document | {"settings": {name: each.described(name) for name, each in self.settings.items()}}


def risk(case: ScoringContext) -> Risk:
    """The fewest settings to change for no rule to hold; what is unknown is taken for the riskiest it could be."""
    family = family_of(case.release)
    rules = sacro_rules.RULES[family]
    result = settings_of(case, family)
    worst: tuple[dict[str, sacro_rules.Region], dict[str, sacro_rules.Setting]] | None = None
    for settings in _possible_settings(result, rules):
        change = sacro_rules.fewest_changes(settings, rules)
        if worst is None or len(change) > len(worst[0]):
            worst = change, settings
    assert worst is not None
    return Risk(family, result, sacro_rules.broken(worst[1], rules), worst[0])


def family_of(release: Release) -> str:
    """The kind of model whose rules apply: `tree`, `forest` or `boosting`. InconclusiveError without trees."""
    if not release.trees:
        raise InconclusiveError("the release has no trees", remedy="it judges releases of trees")
    if release.calibrated_sums:
        raise InconclusiveError("its trees are calibrated, and no rule is known for those")
    if release.combine == "boost":
        return "boosting"
    return "tree" if release.combine == "one" or len(release.trees) == 1 else "forest"


def settings_of(case: ScoringContext, family: str) -> dict[str, SettingValue]:
    """Every setting that the family's rules speak of."""
    names = dict.fromkeys(name for rule in sacro_rules.RULES[family] for name in rule)
    declared, measured = _declared(case), _measured(case, set(names))
    found = {}
    for name in names:
        if name in declared:
            found[name] = SettingValue(declared[name], "declared")
        elif name in measured:
            found[name] = SettingValue(measured[name], "measured")
        else:
            found[name] = SettingValue(None, "unknown")
    return found


def counts_people(case: ScoringContext) -> bool:
    """Is some setting measured by how many people are at tests and in leaves?"""
    result = settings_of(case, family_of(case.release))
    return any(each.source == "measured" for name, each in result.items() if name in COUNTS)


def _possible_settings(
    document: Mapping[str, SettingValue], rules: Sequence[sacro_rules.Rule]
) -> Iterator[dict[str, sacro_rules.Setting]]:
    """The settings with everything that what is unknown may be."""
    tried = [
        [each.value] if each.value is not None else sacro_rules.some_of_each(name, rules)
        for name, each in document.items()
    ]
    for values in product(*tried):
        yield dict(zip(document, values, strict=True))


def _declared(case: ScoringContext) -> dict[str, sacro_rules.Setting]:
    """What the release states of its learner, in the rules' words; what cannot be read is not declared."""
    builder = case.release.builder
    nested = [part for part in builder.values() if isinstance(part, Mapping)]
    said = {OWN_NAMES.get(key, key): value for part in (*nested, builder) for key, value in part.items()}
    read = {name: _read(name, value, case.table.people_among()) for name, value in said.items()}
    found = {name: value for name, value in read.items() if value is not None}
    return ({"bootstrap": "yes"} if case.release.count_semantics == "bootstrap" else {}) | found


def _read(name: str, value: Any, people: int) -> sacro_rules.Setting | None:
    """One setting; a part of the people is taken for as many as it is."""
    if name == "splitter":
        return value if value in sacro_rules.CHOICES["splitter"] else None
    if name == "max_features":
        return "all" if value is None or value == 1.0 else "some"
    if name == "bootstrap":
        return ("no", "yes")[value] if isinstance(value, bool) else None
    if name == "max_depth" and value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return math.ceil(value * people) if name in COUNTS and isinstance(value, float) and value < 1 else float(value)


def _measured(case: ScoringContext, names: set[str]) -> dict[str, sacro_rules.Setting]:
    """What the trees show: how deep and how many they are, and the fewest people in a leaf and at a test."""
    trees = case.release.trees
    asking = [tree for tree in trees if not isinstance(tree, Leaf)]  # a leaf alone is what boosting starts from
    rounds = len(asking) / (_scored_classes(asking) if case.release.combine == "boost" else 1)
    depth = max(tree_arrays(tree).depth for tree in trees)
    found: dict[str, sacro_rules.Setting] = {"n_estimators": max(1.0, rounds), "max_depth": float(depth)}
    if names & set(COUNTS):
        least = np.array([_least_people(case, tree) for tree in trees]).min(axis=0)
        found |= {name: float(n) for name, n in zip(COUNTS, least, strict=True) if np.isfinite(n)}
    return found


def _scored_classes(trees: Sequence[Node]) -> int:
    """To how many classes' scores the trees add, each to one: so many trees are grown in a round of boosting."""
    found = set[str]()
    for tree in trees:
        found |= {name for name, score in (next(leaves(tree)).scores or {}).items() if score}
    return max(1, len(found))


def _least_people(case: ScoringContext, tree: Node) -> tuple[float, float]:
    """The fewest people in a leaf that holds anybody, and at a test."""
    leaf, test = math.inf, math.inf
    waiting = [(tree, np.arange(len(case.table)))]
    while waiting:
        node, rows = waiting.pop()
        people = float(case.table.people_among(rows))
        if not people:
            continue
        if isinstance(node, Leaf):
            leaf = min(leaf, people)
        else:
            test = min(test, people)
            waiting.extend(split_rows(node, case.table, rows))
    return leaf, test


def _describe(regions: Mapping[str, sacro_rules.Region]) -> str:
    return ", ".join(f"{name} {region}" for name, region in regions.items())
