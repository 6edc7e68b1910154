"""Random models that ask about numbers, codes, sets of categories and missing cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leafgate import Table
from leafgate.readers import (
    LEAF,
    ArithmeticStep,
    CategoryCodes,
    MissingIndicator,
    ModelIR,
    Numeric,
    OneHot,
    Origin,
    TreeIR,
)
from random_tables import categorical, numeric, table_of

JOBS = ("clerk", "nurse", "smith", "tailor")
GRADES = ("1", "2", "3")
NAN = math.nan
CELLS: list[tuple[Any, ...]] = list(itertools.product((*JOBS, None), (*GRADES, None), (-1.0, 0.0, 0.5, 1.5, 3.0, None)))
COLUMNS = (
    categorical("job", "quasi_identifier", values=JOBS, missing=True),
    categorical("grade", "quasi_identifier", values=GRADES, missing=True),
    numeric("age", "quasi_identifier", bounds=(-10, 10), missing=True),
)


def table(classes: Sequence[str]) -> Table:
    """Everybody there can be, a missing cell in every column among them."""
    target = categorical("learned", "class", "sensitive", values=classes)
    return table_of([*COLUMNS, target], [(*cells, classes[0]) for cells in CELLS])


GROUPS = {job: i for i, job in enumerate(JOBS)}
ORIGINS: dict[str, Origin] = {
    "age": Numeric("age"),
    "scaled": Numeric("age", (ArithmeticStep("minus", 0.1), ArithmeticStep("over", 0.3)), fill=0.7),
    "sparse": Numeric("age", (ArithmeticStep("times", 2.0),), zero_is_missing=True),
    "filled": Numeric("age", (ArithmeticStep("minus", 0.5),), fill=-0.3, zero_is_missing=True),
    "never 0": Numeric("age", (ArithmeticStep("minus", 0.1), ArithmeticStep("over", 3.0)), zero_is_missing=True),
    "no age": MissingIndicator("age"),
    "dummy": CategoryCodes("job", OneHot(GROUPS, 1, ("nurse",)), 0.0, 0.0),
    "codes": CategoryCodes("job", {"clerk": 0.0, "nurse": 1.0, "smith": 2.0}, NAN, 1.0),
    "fractions": CategoryCodes("grade", {"1": 0.1, "2": 0.2}, 0.3, NAN),
    "gaps": CategoryCodes("grade", {"1": NAN, "3": 2.0}, -1.0, 5.0),
    "no job": MissingIndicator("job"),
}
CODES = {
    "job": CategoryCodes("job", {job: float(code) for code, job in enumerate(JOBS[:3])}, -1.0, NAN),
    "job known": CategoryCodes("job", {job: float(code) for code, job in enumerate(JOBS)}, NAN, 1.0),
    "grade": CategoryCodes("grade", {"1": NAN, "2": 1.0, "3": 0.0}, 2.0, 0.0),
}
"""Features that are asked by sets of codes; `grade text` is asked by sets of texts."""
NAMES = (*ORIGINS, *(f"set of {name}" for name in CODES), "grade text")


def random_model(seed: int, classes: int, trees: int, kind: str) -> ModelIR:
    """Trees that ask about all kinds of features, with labels, shares, scores or numbers on their leaves."""
    rng = np.random.default_rng(seed)
    outputs = {"scores": 1 if classes == 2 else classes, "values": 1}.get(kind, classes)
    combine: Any = {"scores": "boost", "values": "sum"}.get(kind) or ("vote" if kind == "labels" else "mean_per_tree")
    leaves: Any = kind
    known: list[Origin] = [*ORIGINS.values(), *CODES.values(), Numeric("grade")]
    return ModelIR(
        "made",
        NAMES,
        () if kind == "values" else ("a", "b", "c")[:classes],
        tuple(_tree(rng, 3, kind, outputs) for _ in range(trees)),
        leaves,
        "one" if trees == 1 and kind in {"labels", "shares"} else combine,
        (0.25,) * outputs if kind == "scores" else (),
        discloses=(),
        origins=tuple(known),
    )


def _tree(rng: np.random.Generator, depth: int, kind: str, outputs: int) -> TreeIR:
    nodes: list[dict[str, Any]] = []

    def grow(left: int) -> int:
        own = len(nodes)
        nodes.append({"feature": LEAF, "at": NAN, "low": LEAF, "high": LEAF, "says": _said(rng, kind, outputs)})
        if left and (left == depth or rng.random() < 0.7):
            feature = int(rng.integers(len(NAMES)))
            nodes[own] |= {"feature": feature, "missing_low": bool(rng.random() < 0.5), "strict": rng.random() < 0.3}
            nodes[own] |= _test(rng, NAMES[feature])
            nodes[own] |= {"low": grow(left - 1), "high": grow(left - 1)}
        return own

    grow(depth)
    return TreeIR(
        feature=np.array([node["feature"] for node in nodes]),
        threshold=np.array([node["at"] for node in nodes]),
        low=np.array([node["low"] for node in nodes]),
        high=np.array([node["high"] for node in nodes]),
        values=np.array([node["says"] for node in nodes]),
        strict=np.array([bool(node.get("strict")) for node in nodes]),
        float32=np.array([node["feature"] != LEAF and rng.random() < 0.3 for node in nodes]),
        missing_low=np.array([bool(node.get("missing_low")) for node in nodes]),
        subsets={i: node["chosen"] for i, node in enumerate(nodes) if "chosen" in node},
    )


def _test(rng: np.random.Generator, name: str) -> dict[str, Any]:
    if name == "grade text":
        return {"chosen": frozenset(rng.choice(GRADES, rng.integers(1, 3), replace=False).tolist())}
    if name.startswith("set of "):
        return {"chosen": frozenset(rng.choice([-1.0, 0.0, 1.0, 2.0], rng.integers(1, 4), replace=False).tolist())}
    if name.startswith("no "):
        return {"at": 0.5}
    return {"at": float(rng.choice([-0.5, 0.1, 0.15, 0.2, 0.5, 1.0, 1.5]))}


def _said(rng: np.random.Generator, kind: str, outputs: int) -> Any:
    if kind == "labels":
        return np.eye(outputs)[rng.integers(outputs)]
    return rng.dirichlet(np.ones(outputs)) if kind == "shares" else rng.normal(size=outputs)


RARE = ("could take both", "sends everybody one way", "takes 0 for missing in")
"""Why a random model may be none that has a file."""
