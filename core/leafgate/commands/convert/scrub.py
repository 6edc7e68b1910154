"""Scrubbing: a file with the same predictions that discloses less."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

import numpy as np

from leafgate import readers
from leafgate.api import Combine, Floats, ReleaseError
from leafgate.commands.convert import SCRUBBED
from leafgate.commands.convert.merging import collapse_equal_leaves
from leafgate.commands.convert.prediction import predictor
from leafgate.commands.convert.rounding import UNITS, finer, largest_change, same_labels, with_rounded
from leafgate.commands.convert.sampling import random_cells
from leafgate.commands.convert.unread import plainly_named
from leafgate.ir.model import FLAGS
from leafgate.models.exposure.categories import drop_unused_categories
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.models.lowering.tests import invert_threshold, splits_in

LeafContent = Literal["labels", "shares", "counts"]
POINTS = 20_000


def minimise(
    model: readers.ModelIR,
    leaves: LeafContent,
    place: str,
    units: int | None = UNITS,
    *,
    merge: bool = True,
    kept: Collection[str] = (),
) -> readers.ModelIR:
    """The model with nothing in it but what predictions need and, on its leaves, what `leaves` allows.

    Shares become multiples of 1 / units (None: as they are). All scores of boosting stay, because nobody could predict
    without them.

    Features that no tree tests go, with their names, except the names in `kept`; so do tests between leaves of one
    label (unless `merge` is False), and values that no test parts from values never seen. How numbers were scaled and
    gaps filled goes into the thresholds. Raises ReleaseError where the file has not what is to be left.
    """
    model = with_leaves(folded(model), leaves, place, units, merge=merge)
    asked = sorted(model.asked | {i for i, name in enumerate(model.features) if name in kept})
    number = {old: new for new, old in enumerate(asked)}
    trees = [_renumbered(tree, number) for tree in model.trees]
    origins = None if model.origins is None else tuple(model.origins[f] for f in asked)
    names = tuple(model.features[f] for f in asked)
    sampling = model.sampling if any(tree.counts is not None for tree in trees) else readers.NO_SAMPLING
    kept_model = replace(model, features=names, origins=origins, trees=tuple(trees), producer=SCRUBBED, settings={})
    columns = set(names) if origins is None else {one.column for one in origins if one is not None} | set(names)
    untold_of = model.unspecified_missing_features & columns
    gone = model.unspecified_missing if untold_of or not model.unspecified_missing_features else ""
    kept_model = replace(kept_model, unspecified_missing_features=untold_of, unspecified_missing=gone)
    less = plainly_named(drop_unused_categories(replace(kept_model, sampling=sampling, hessians=None)))
    return with_implied_disclosures(less)


def with_leaves(
    model: readers.ModelIR, leaves: LeafContent, place: str, units: int | None = UNITS, *, merge: bool = True
) -> readers.ModelIR:
    """The model over the same features with no more on its leaves than `leaves` allows, and no other numbers of people.

    Leaves that say the same are made one unless `merge` is False. Raises ReleaseError where the model has not what is
    to be left.
    """
    if leaves == "counts" and model.leaf_level != "counts":
        raise ReleaseError(f"has no counts on its leaves to leave there, only {model.leaf_level}", place=place)
    if leaves == "labels" and model.values == "scores":
        raise ReleaseError(
            "cannot do with labels: its leaves' scores add up, and the shares of classes follow from them",
            place=place,
            remedy="--leaves shares",
        )
    if leaves == "shares" and model.leaf_level == "labels":
        raise ReleaseError("has no shares on its leaves to leave there", place=place, remedy="--leaves labels")
    if leaves == "shares" and model.values == "labels" and not all(_all_speak(tree) for tree in model.trees):
        raise ReleaseError(
            "has leaves that predict nothing, which no shares say", place=place, remedy="--leaves labels"
        )
    model = _at_level(model, leaves, merge=merge)
    if leaves == "shares" and model.values == "shares" and units is not None:
        model = with_rounded(model, units, place, merge=merge)
    return model


def _all_speak(tree: readers.TreeIR) -> bool:
    """Does every leaf of labels say one?"""
    return bool(tree.values[tree.leaves].any(axis=1).all())


def shares_changed(model: readers.ModelIR, leaves: LeafContent, units: int = UNITS) -> str:
    """How much shares change by rounding and whether labels do, in words; empty where nothing is rounded."""
    if leaves != "shares" or not model.classes or model.values not in {"shares", "counts"}:
        return ""
    model = _at_level(model, leaves)
    certain = "; no label changes, whichever leaves meet" if same_labels(model, units) else ""
    return f", which change by at most {largest_change(model, units):.4f}{certain}"


def _at_level(model: readers.ModelIR, leaves: LeafContent, *, merge: bool = True) -> readers.ModelIR:
    """The reduced leaves, and what they still disclose."""
    if not model.classes or model.values == "scores":
        trees = tuple(replace(tree, counts=None, size=None, numbers=()) for tree in model.trees)
        return replace(model, trees=trees, discloses=(readers.SCORES_DISCLOSURE,))
    if leaves == "counts":
        trees = tuple(
            replace(tree, counts=_at_leaves(tree, tree.counts), size=None, numbers=()) for tree in model.trees
        )
        return replace(model, trees=trees, discloses=(readers.COUNTS_DISCLOSURE,))
    if leaves == "shares":
        trees = tuple(
            replace(tree, values=_shares(model, tree), counts=None, size=None, numbers=()) for tree in model.trees
        )
        return replace(model, trees=trees, values="shares", discloses=(readers.RATIOS_DISCLOSURE,))
    trees = tuple(
        replace(tree, values=_labels(tree.values), counts=None, size=None, numbers=()) for tree in model.trees
    )
    trees = tuple(map(collapse_equal_leaves, trees)) if merge else trees
    combine: Combine = "one" if model.combine == "one" else "vote"
    return replace(model, trees=trees, values="labels", combine=combine, discloses=(), counted="unknown")


def _at_leaves(tree: readers.TreeIR, numbers: Floats | None) -> Floats | None:
    return None if numbers is None else np.where((tree.feature == readers.LEAF)[:, None], numbers, np.nan)


def _shares(model: readers.ModelIR, tree: readers.TreeIR) -> Floats:
    """Shares to the last bit as the model adds them up."""
    if model.values == "shares":
        return tree.values
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(tree.values / tree.values.sum(axis=1, keepdims=True))


def _labels(says: Floats) -> Floats:
    """1 for the class that a leaf predicts, 0 for the others; nothing where it predicts none."""
    before = np.arange(says.shape[1]) == says.argmax(axis=1)[:, None]
    return np.asarray(before & says.any(axis=1, keepdims=True), dtype=np.float64)


def folded(model: readers.ModelIR) -> readers.ModelIR:
    """The model over the columns' own numbers: how they were scaled and gaps filled goes into the thresholds.

    A column stays scaled whose scaled 0 is missing to the model: no threshold of its own numbers sends 0 elsewhere.
    """
    if model.origins is None:
        return model
    origins = tuple(readers.Numeric(one.column) if _is_foldable(one) else one for one in model.origins)
    return replace(model, trees=tuple(_folded(model, tree) for tree in model.trees), origins=origins)


def _is_foldable(origin: readers.Origin | None) -> TypeGuard[readers.Numeric]:
    return isinstance(origin, readers.Numeric) and not origin.zero_is_missing


def _folded(model: readers.ModelIR, tree: readers.TreeIR) -> readers.TreeIR:
    """The tree over the columns' own numbers: steps and stand-ins of missing cells are worked into its tests."""
    if model.origins is None:
        return tree
    strict, float32, missing_low = (np.array(tree.flag(name)) for name in FLAGS)
    threshold = tree.threshold.copy()
    for node, asked in splits_in(tree, np.flatnonzero(tree.compares)):
        origin = model.origins[int(tree.feature[node])]
        if not _is_foldable(origin):
            continue
        if origin.fill is not None:
            missing_low[node] = asked.low(origin.fill)
        if origin.steps:
            most = np.finfo(np.float64).max
            top = invert_threshold(asked, origin.steps)
            threshold[node] = np.clip(top, -most, most)
            strict[node], float32[node] = top == -np.inf, False
    return replace(tree, threshold=threshold, strict=strict, float32=float32, missing_low=missing_low)


def _renumbered(tree: readers.TreeIR, number: Mapping[int, int]) -> readers.TreeIR:
    """The tree over fewer features."""
    feature = np.array(
        [readers.LEAF if f == readers.LEAF else number[f] for f in tree.feature.tolist()], dtype=np.int64
    )
    return replace(tree, feature=feature)


@dataclass(frozen=True)
class Proof:
    """How many points two models were held against each other on, and on how many they differ.

    Of points that are a table's records neither number is told: how many distinct records there are, or how few
    are predicted otherwise, is a fact about the people (docs/explanation/threat-model.md).
    """

    points: int
    different: int
    of_people: bool = False


def compare_on_random_points(original: readers.ModelIR, scrubbed: readers.ModelIR, seed: int) -> Proof:
    """Both models on random points, among them every threshold and the numbers next to it."""
    cells = random_cells((original, scrubbed), POINTS, np.random.default_rng(seed))
    before, after = (predictor(model).predict(cells) for model in (original, scrubbed))
    if original.classes:
        different = sum(own != new for own, new in zip(before, after, strict=True))
    else:
        own, new = (np.array(numbers, dtype=np.float64) for numbers in (before, after))
        different = int((~np.isclose(own, new, rtol=1e-12, equal_nan=True)).sum())
    return Proof(len(before), different)


def refuse_different(proofs: Sequence[tuple[str, Proof]], leaves: LeafContent, place: str, units: int = UNITS) -> None:
    """ReleaseError unless all proofs found no difference."""
    more = f", or {finer(units)} where that is allowed" if finer(units) else ""
    remedies = {
        "labels": "its trees' shares decide together, so labels are not enough: --leaves shares, or leafgate repair",
        "shares": f"its trees' shares decide together: leafgate repair{more}",
        "counts": "please report it",
    }
    for where, proof in proofs:
        if proof.different:
            count = "some of the" if proof.of_people else f"{proof.different:,} of {proof.points:,}"
            raise ReleaseError(
                f"would predict otherwise on {count} {where}",
                place=place,
                remedy=remedies[leaves],
            )
