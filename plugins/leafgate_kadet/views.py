"""From a policy's requirements to what must hold of every group, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from leafgate.errors import PolicyError
from leafgate.induction.coding import Coded
from leafgate.induction.growing import class_counts
from leafgate.schema import Column, Schema
from leafgate_kadet.admissibility import Admissible, Crowd, Requirement, View
from leafgate_kadet.required import Required
from leafgate_kadet.requirements import requirement


def admissible_of(coded: Coded, schema: Schema, k: int, wanted: Sequence[Required]) -> Admissible:
    """k people in every group, and what is required of each secret; PolicyError for a secret there is not."""
    by_column: dict[str, list[tuple[str, Required]]] = {}
    for name, place, one in _spread(schema, wanted):
        by_column.setdefault(name, []).append((place, one))
    target = schema.target
    first = View(target.name, coded, [Crowd(k), *_required(coded, target, by_column.pop(target.name, []))])
    others = []
    for name, some in by_column.items():
        seen = _by_values_of(coded, schema[name])
        others.append(View(name, seen, _required(seen, schema[name], some)))
    return Admissible([first, *others])


def _spread(schema: Schema, wanted: Sequence[Required]) -> Iterator[tuple[str, str, Required]]:
    """Each requirement with each secret it is about, and its place in the policy."""
    secrets = [column.name for column in schema.secrets]
    for i, one in enumerate(wanted):
        place = f"build.require[{i}]"
        if not secrets or one.secret not in {None, *secrets}:
            known = ", ".join(map(repr, secrets)) or "none; give a column the role `sensitive`"
            raise PolicyError("there is no such secret", place=place, remedy=f"secrets: {known}")
        chosen = [name for name in secrets if one.secret in {None, name}]
        numbers = [name for name in chosen if schema[name].numeric]
        if numbers:
            raise PolicyError(
                f"{numbers[0]!r} is a number, and this is about values",
                place=place,
                remedy="declare its `values`, or name another secret",
            )
        yield from ((name, place, one) for name in chosen)


def _required(coded: Coded, column: Column, wanted: Sequence[tuple[str, Required]]) -> list[Requirement]:
    everyone = class_counts(coded, np.arange(len(coded.classes)))
    return [requirement(one, column, everyone, place) for place, one in wanted]


def _by_values_of(coded: Coded, column: Column) -> Coded:
    """The same people, with a feature's values, in the domain's order, in the place of the classes."""
    i = next(i for i, feature in enumerate(coded.features) if feature.column.name == column.name)
    place = np.array([column.domain.index(value) for value in coded.features[i].values])
    return replace(coded, classes=place[coded.codes[:, i]], n_classes=len(column.domain))
