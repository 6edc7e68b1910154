"""The limits that leafgate proposes: one place for `leafgate init`, with a model, a builder or neither, and Python.

Proposed limits let nobody be certain of anybody, not even a member of the group who knows her own value, and no value
be too likely. Which values are harmless to be known of is the owner's decision, which is never made here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leafgate.errors import InvalidError, nearest_name
from leafgate.kernel.schema import Column, bin_names, bin_of
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.algorithms import certainty
    from leafgate.engine import keepable
else:
    np = lazy("numpy")
    certainty, keepable = lazy("leafgate.algorithms.certainty"), lazy("leafgate.engine.keepable")

SMALLEST_GROUPS = ((200, 10), (50, 5), (0, 3))
"""From so many people on, so many must share every path; fewer people would be left with hardly a test."""

MODEL_GROUP = 10
"""So many people must share every path of a model that is audited, however many people there are."""

FEW = 10
"""Limits do not disclose numbers of fewer people, nor such differences."""

CONFIDENCE = 0.95
"""The largest share of one value in a group, where the table as a whole leaves room below it."""

ROUNDING = 1e-9
"""By so much a share may miss a round number."""

UNPRUNED = 0.8
"""Where a value has more than this share of the people, pruning by errors takes back tests that are of use."""

MEMBERSHIP_ATTACKS: Sequence[Mapping[str, Any]] = ({"use": "leaf_exclusion"}, {"use": "loss_threshold"})
"""The attacks on membership of a first policy: those that train no model."""

MEMBERSHIP_LIMITS: Sequence[Mapping[str, Any]] = (
    {"use": "membership_auc", "at_most": 0.6},
    {"use": "membership_excluded", "of": "leaf_exclusion", "at_most": 0.05},
)
"""The limits on membership where people who are not in the table are given."""


@dataclass(frozen=True, kw_only=True)
class SecretShares:
    """How many people there are, and the shares of them with each value of the class.

    Attributes:
        name: the class.
        people: how many.
        shares: of each value of the class, or each interval of a number, in the order of the domain; they sum to 1.
        window: of a number the largest share of people in one narrow window, else 0.
    """

    name: str
    people: int
    shares: Mapping[str, float]
    window: float = 0.0

    @classmethod
    def of_values(cls, name: str, people: Mapping[str, int], spec: Mapping[str, Any]) -> SecretShares:
        """The shares of the values that a policy declares in `spec`, from the people who have each spelling of them.

        Of those whose value is recorded, as the `no_answer` in `spec` says.
        """
        aliases: Mapping[str, str] = spec.get("aliases", {})
        unanswered = {*map(str, spec.get("no_answer", ()))}
        counts = {str(value): 0 for value in spec.get("values", ()) if str(value) not in unanswered}
        for text, number in people.items():
            value = aliases.get(text, text)
            if value not in unanswered:
                counts[value] = counts.get(value, 0) + number
        total = max(sum(counts.values()), 1)
        return cls(name=name, people=sum(counts.values()), shares={value: n / total for value, n in counts.items()})

    @classmethod
    def of_numbers(cls, name: str, numbers: NDArray[np.float64], spec: Mapping[str, Any]) -> SecretShares:
        """The shares of the bins that a policy declares in `spec`, from everybody's number."""
        edges = tuple(float(edge) for edge in spec["bins"])
        people = np.bincount(bin_of(numbers, edges), minlength=len(edges) - 1)
        column = Column(name, frozenset({"class"}), values=bin_names(edges), edges=edges, scale=spec.get("scale"))
        one, nobody = np.ones(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        windows = certainty.Windows.of(numbers, one, nobody, certainty.Window.of(column))
        window = float(windows.largest_share(np.ones(len(numbers), dtype=bool))[0])
        shares = dict(zip(bin_names(edges), (people / max(len(numbers), 1)).tolist(), strict=True))
        return cls(name=name, people=len(numbers), shares=shares, window=window)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What a first policy tries and demands.

    Attributes:
        attacks: as a policy has them.
        metrics: as a policy has them.
        require: what kADET keeps of them by construction, as `build.require` has it.
        k: how many people must share every path.
        group: how many people kADET lets share every path: k, or so many that a group is of the frequent value by
            chance less often than 1 %.
        prune: does kADET prune by errors? Where most people have one value that takes back tests that are of use, for
            few change what is predicted.
        judged: the values of the class that limits are on; None for all.
        impossible: which of these limits no release of the table can keep, and why; empty where all may be kept.
        question: what only the owner can decide, without any value; empty where there is nothing to decide.
        choice: the values other than the one that the question is about, for a `values:` that the owner may choose.
    """

    attacks: tuple[Mapping[str, Any], ...]
    metrics: tuple[Mapping[str, Any], ...]
    require: tuple[Mapping[str, Any], ...]
    k: int
    group: int
    prune: bool = True
    judged: tuple[str, ...] | None = None
    impossible: str = ""
    question: str = ""
    choice: tuple[str, ...] = field(default=())


def propose(
    secret: SecretShares,
    *,
    of_model: bool,
    harmless: Sequence[str] = (),
    has_control: bool = False,
    other_secrets: Sequence[str] = (),
) -> Proposal:
    """The attacks and the limits to start from.

    Args:
        secret: how many people there are, and how many of them have each value of the class.
        of_model: is a model's file audited, and not built from the table?
        harmless: values of the class of which the owner says that it harms nobody if they are known of somebody.
        has_control: are people given who are not in the table?
        other_secrets: the secrets beside the class, of which no value is harmless.

    Raises:
        InvalidError: `harmless` names no value of the class, or all of them.
    """
    judged = _judged(secret, harmless)
    values: dict[str, Any] = {} if judged is None else {"values": list(judged)}
    if judged is not None and other_secrets:  # whose values are others, and no less secret
        values["secret"] = secret.name
    largest = max((share for value, share in secret.shares.items() if judged is None or value in judged), default=0.0)
    largest = max(largest, secret.window if judged is None else 0.0)
    k = MODEL_GROUP if of_model else smallest_group(secret.people)
    exposure = {"use": "exposure", "insiders": 1, **values}
    confidence = {"use": "confidence", "at_most": confidence_limit(largest, secret.people), **values}
    metrics = [
        {"use": "k_anonymity", "at_least": k},
        {"use": "exposure", "at_most": 0, "insiders": 1, **values},
        confidence,
        *(limit for name in (other_secrets if judged is not None else ()) for limit in limits_on_secret(name)),
        *([{"use": "file_disclosure", "at_most": 0}] if of_model else []),
        *(MEMBERSHIP_LIMITS if has_control else ()),
    ]
    attacks = ({"use": "linking"}, *(MEMBERSHIP_ATTACKS if has_control else ()))
    frequent = _frequent_value(secret, UNPRUNED)
    asks = judged is None and frequent is not None and frequent.share > keepable.FREQUENT
    return Proposal(
        attacks=attacks,
        metrics=tuple(metrics),
        require=(exposure, confidence),
        k=k,
        group=k if frequent is None else max(k, min(keepable.round_up(frequent.pure_by_chance), secret.people // 10)),
        prune=frequent is None,
        judged=judged,
        impossible=_impossible(secret, largest),
        question=frequent.question if asks and frequent is not None else "",
        choice=frequent.others if asks and frequent is not None else (),
    )


def limits_on_secret(name: str) -> tuple[dict[str, Any], ...]:
    """The limits on a secret that is not the class."""
    exposure = {"use": "exposure", "name": f"exposure of {name}", "secret": name, "at_most": 0, "insiders": 1}
    return exposure, {"use": "confidence", "name": f"confidence of {name}", "secret": name, "at_most": CONFIDENCE}


def _judged(secret: SecretShares, harmless: Sequence[str]) -> tuple[str, ...] | None:
    """The values that are not harmless; None where none is."""
    for value in harmless:
        if value not in secret.shares:
            hint = nearest_name(value, secret.shares, f"name a value of {secret.name!r}")
            raise InvalidError(f"{value!r} is no value of {secret.name!r}", place="harmless", remedy=hint)
    if not harmless:
        return None
    judged = tuple(value for value in secret.shares if value not in harmless)
    if not judged:
        remedy = f"if nothing of {secret.name!r} is a secret, take the role `sensitive` from it"
        raise InvalidError("are all values of the class, and no limit is left", place="harmless", remedy=remedy)
    return judged


def _impossible(secret: SecretShares, largest: float) -> str:
    """Why nobody can keep the limit on exposure: everybody, or all but one, have one value or are in one window."""
    if round((1 - largest) * secret.people) > 1:
        return ""
    what = "numbers in one narrow window" if largest == secret.window else "one value"
    return f"{keepable.IMPOSSIBLE}: all people, or all but one, have {what} of {secret.name!r}"


def _frequent_value(secret: SecretShares, above: float) -> keepable.FrequentValue | None:
    """The value of more than this share of the people; None where there is none, and where all have it."""
    value, share = max(secret.shares.items(), key=lambda item: item[1])
    if not above < share < 1:
        return None
    others = tuple(other for other in secret.shares if other != value)
    return keepable.FrequentValue(secret.name, value, others, share)


def smallest_group(people: int) -> int:
    """The k of a first policy for a table of so many people.

    >>> [smallest_group(people) for people in (40, 60, 8000)]
    [3, 5, 10]
    """
    return next(k for least, k in SMALLEST_GROUPS if people >= least)


def confidence_limit(largest_share: float, people: int) -> float:
    """The share of one value that no group may exceed: 0.95, or half way from the share among everybody to 1.

    The second where more than 0.9 of all people have one value, since groups can hardly stay below what holds of
    everybody. It is rounded up, from 0.99 on so that only 1, 2 or 5 is left to 1. The people without the value count in
    tens, and fewer as one: a policy is public, and a closer limit would disclose how many people are few.

    >>> [confidence_limit(share, 100_000) for share in (0.5, 0.9, 0.94, 0.967, 0.985, 0.9987, 1)]
    [0.95, 0.95, 0.97, 0.99, 0.995, 0.9995, 0.95]
    >>> [confidence_limit(1 - few / 200, 200) for few in (1, 9, 10, 19, 20)]
    [0.998, 0.998, 0.98, 0.98, 0.95]
    """
    if largest_share >= 1:  # nobody can keep it, and everybody should know
        return CONFIDENCE
    tens = math.floor((1 - largest_share) * people / FEW * (1 + ROUNDING))
    rest = max(tens * FEW, 1) / people / 2
    if rest >= 1 - CONFIDENCE:
        return CONFIDENCE
    if rest >= 0.01:
        return 1 - math.floor(100 * rest * (1 + ROUNDING)) / 100
    power = 10.0 ** math.floor(math.log10(rest))
    step = max(times for times in (1, 2, 5) if times * power <= rest * (1 + ROUNDING))
    return float(f"{1 - step * power:.12g}")
