"""Random children of random parents: what an accepted child passes, its parent passes, counted person by person."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from leafgate import LeafgateError
from leafgate.api import Leaf, Node, NumericSplit
from leafgate.app import load_policy, open_session

TEXTS = ["x", "y", "z", "q"]
NUMBERS = [0, 1, 2, 3]
NAMES = ["a", "b", "n", "w"]
"""Two columns of texts, one of numbers, and one of small whole numbers that could be weights."""
MISSING = "?"
ROLES = ["quasi_identifier", "quasi_identifier", "private", "sensitive", "ignored", "identifier", "key", "weight"]
TAKEN = ["quasi_identifier", "private", "private", "sensitive", None]
"""Roles of columns that nobody lists; None is any role."""
KNOWN = "quasi_identifier"
FIXED: dict[str, dict[str, str]] = {
    "private": {"unlisted": KNOWN, "a": "private", "b": "private", "n": KNOWN, "w": KNOWN},
    "weighted": {"unlisted": "weight", "a": KNOWN, "b": KNOWN, "n": KNOWN, "w": "weight"},
    "reading": {"unlisted": KNOWN, "a": KNOWN, "b": KNOWN, "n": KNOWN, "w": KNOWN},
}
"""Families of a parent that lists no column: a child that knows little, one with heavy rows, one with missing cells."""
NOWHERE = ("nowhere",)

Document = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """Rows of cells by column, a parent and a child as they are written."""

    rows: list[dict[str, str]]
    parent: Document
    child: Document


@st.composite
def specs(draw: st.DrawFn, name: str, role: Any = None) -> Document:
    """What a policy says of one column."""
    role = role or draw(st.sampled_from(ROLES if name == "w" else ROLES[:-1]))
    spec: Document = {"role": role}
    if role == "weight":
        counts = draw(st.sampled_from([{}, {}, {"counts": "people", "reason": "families"}, {"counts": "rows"}]))
        return spec | counts
    if role in {"ignored", "identifier", "key"}:
        return spec
    if name in {"n", "w"}:
        bounds = draw(st.sampled_from([{"bounds": [0, 9]}, {"bounds": [0, 9]}, {}]))
        return spec | (bounds if role != "sensitive" else {"bins": [0, 2, 4, 9]})
    aliases = draw(st.sampled_from([{}, {}, {"q": "x"}, {"q": "y"}]))
    values = [text for text in TEXTS if text not in aliases]
    more: Document = draw(st.sampled_from([{}, {}, {"hierarchy": f"{len(values)}.csv"}]))
    return spec | {"values": values, "aliases": aliases} | more


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Some that the parent must refuse, and some that it may accept: the others show nothing."""
    people = draw(st.integers(8, 16))
    kind = draw(st.sampled_from(["private", "weighted", "reading", "any", "any"]))
    fixed = FIXED.get(kind, {})
    gaps = kind == "reading" or (not fixed and draw(st.booleans()))
    cells = {"a": ["x", "x", "y"], "b": ["x", "q", "y"], "n": ["0", "1", "3"], "w": ["1", "1", "2", "5"]}
    drawn = {
        name: st.sampled_from(some + [MISSING] * (gaps and not fixed and name != "w")) for name, some in cells.items()
    }
    rows = [{name: draw(cell) for name, cell in drawn.items()} for _ in range(people)]
    rows[0] |= {"a": MISSING} if kind == "reading" else {}
    rows = [row | ({"w": "5"} if fixed else {}) | {"ill": draw(st.sampled_from(["no", "yes"]))} for row in rows]
    reading: Document = {"missing": [MISSING], "on_missing": draw(st.sampled_from(["drop", "keep"]))} if gaps else {}
    hiding = {"missing": [MISSING, "y"], "on_missing": "drop"}  # whoever has this value is nobody
    reading = reading if fixed and not gaps else draw(st.sampled_from([reading, reading, reading, hiding]))
    unlisted = fixed["unlisted"] if fixed else draw(allowances())
    listed, described = dict[str, Document](), dict[str, Document]()
    for name in NAMES:
        how = draw(st.sampled_from(["not", "not", "alike", "alike", "alike", "otherwise"]))
        role = draw(st.sampled_from([*roles_allowed(unlisted, name), "quasi_identifier", *TAKEN]))
        role = "weight" if name == "w" and draw(st.booleans()) else role
        how, role = ("not", fixed[name]) if fixed else (how, role)
        described[name] = undeclared(draw(specs(name, role)), reading)
        if how != "not":
            listed[name] = draw(specs(name)) if how == "otherwise" else dict(described[name])
    target = draw(st.sampled_from([["class"], ["class", "sensitive"], ["class", "quasi_identifier"]]))
    described["ill"] = {"role": target, "values": ["no", "yes"]}
    limit = draw(st.sampled_from([2, 2, 3]))
    leniency: Document = draw(st.sampled_from([{}, {}, {"allow": 0.2}, {"average": True}]))
    metrics: list[Document] = [{"use": "k_anonymity", "at_least": limit, **leniency}]
    metrics += draw(st.sampled_from([[], [{"use": "confidence", "at_most": 1}]]))
    data: Document = (draw(st.sampled_from([{}, reading])) if not listed else reading) | {"unlisted": unlisted}
    data |= {"columns": listed} if listed else {}
    data |= draw(st.sampled_from([{}, {"reading": "child"}]))
    if draw(st.integers(0, 5)) == 0:
        data = {key: result for key, result in data.items() if key not in {"missing", "on_missing"}}
    parent = {"leafgate": 1, "attacks": [{"use": "linking"}], "metrics": metrics, "data": data}
    own = {"use": "k_anonymity", "at_least": limit + draw(st.sampled_from([0, 1, -1]))}
    least = 3 if kind == "reading" else draw(st.sampled_from([1, 1, 3]))
    child = {
        "leafgate": 1,
        "name": "child",
        "extends": "org.yaml",
        "build": {"use": "c45", "min_leaf": least, "prune": False, "average_gain": False},
        "metrics": draw(st.sampled_from([[], [], [own]])),
        "data": {"path": "people.csv", "columns": described, **reading},
    }
    return Family(rows, parent, child)


def undeclared(spec: Document, reading: Document) -> Document:
    """The column without the values that mean a missing cell, which no policy may declare."""
    if "values" not in spec:
        return spec
    values = [value for value in spec["values"] if value not in reading.get("missing", [])]
    return spec | {"values": values, "aliases": {k: v for k, v in spec["aliases"].items() if v in values}}


def roles_allowed(unlisted: Any, name: str) -> list[str]:
    """What a parent that says so allows of a column that it does not list, beyond what is always free."""
    if isinstance(unlisted, str | list):
        return [unlisted] if isinstance(unlisted, str) else unlisted
    return [one["roles"] for one in unlisted.get("except", []) if fnmatchcase(name, one["columns"])]


def allowances() -> st.SearchStrategy[Any]:
    """What a parent allows of columns that it does not list."""
    patterns = st.sampled_from(["a", "b", "[ab]", "w", "?", "n*"])
    exempt = st.fixed_dictionaries({"columns": patterns, "roles": st.sampled_from(ROLES)})
    mapping = st.fixed_dictionaries({"except": st.lists(exempt, max_size=3)})
    return st.one_of(mapping, mapping, st.sampled_from(["quasi_identifier", "private", ["sensitive", "ignored"]]))


def written(folder: Path, family: Family) -> Path:
    names = [*NAMES, "ill"]
    lines = [",".join(row[name] for name in names) for row in family.rows]
    (folder / "people.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    for values in (TEXTS, TEXTS[:-1]):
        (folder / f"{len(values)}.csv").write_text("".join(f"{value};{'ab'[value > 'x']};*\n" for value in values))
    (folder / "org.yaml").write_text(json.dumps(family.parent))
    order = {name: family.child["data"]["columns"][name] for name in names}
    child = family.child | {"data": family.child["data"] | {"columns": order}}
    (folder / "policy.yaml").write_text(json.dumps(child))
    return folder / "policy.yaml"


def judged_by_parent(family: Family, tree: Node) -> bool:
    """Do the parent's limits on groups hold for this tree? Every person is taken in turn, every unknown value tried.

    What the parent says counts; where it says nothing, the child only describes the table: columns that the parent does
    not list are known to the adversary, unless it allows the child's role, or it limits what is learned of a secret.
    Nobody is left out for missing cells unless the parent says so, or leaves it to the child.
    """
    data, described = family.parent["data"], family.child["data"]
    listed = data.get("columns", {})
    own = {"missing", "on_missing"} if data.get("reading") == "child" else set() if listed else {"missing"}
    reading = {**{key: described[key] for key in own if key in described}, **data}
    columns = {name: listed.get(name, described["columns"][name]) for name in [*NAMES, "ill"]}
    missing, drops = reading.get("missing", [""]), reading.get("on_missing") == "drop"
    people: list[tuple[dict[str, Any], int]] = []
    for row in family.rows:
        cells = {name: cell_of(row[name], columns[name], missing) for name in row}
        read = {
            name for name in cells if not {"ignored", "identifier", "weight"} & roles_of(described["columns"][name])
        }
        if drops and any(cells[name] is None for name in read):
            continue
        counted = columns["w"] if "w" in listed else {}
        people.append((cells, int(row["w"]) if counted.get("counts") == "people" else 1))
    known = [name for name in columns if is_known(name, family)]
    values: dict[str, list[Any]] = {name: [*TEXTS, None] for name in ("a", "b")}
    values |= {name: [0, 1, 2, 3, 4, 5, None] for name in ("n", "w")} | {"ill": ["no", "yes"]}
    asked = set(columns_of(tree))
    unknown = [name for name in columns if name in asked and name not in known]
    group = [
        tuple(
            way(tree, {**cells, **dict(zip(unknown, chosen, strict=True))})
            for chosen in product(*(values[name] for name in unknown))
        )
        for cells, _ in people
    ]
    sizes = Counter[Any]()
    for ways, (_, count) in zip(group, people, strict=True):
        sizes[ways] += count
    everyone = [(sizes[ways], count) for ways, (_, count) in zip(group, people, strict=True)]
    return all(holds(metric, everyone) for metric in family.parent["metrics"] if metric["use"] == "k_anonymity")


def holds(metric: Document, sizes: list[tuple[int, int]]) -> bool:
    total = sum(count for _, count in sizes)
    if metric.get("average"):
        return sum(size * count for size, count in sizes) / total >= int(metric["at_least"])
    beyond = sum(count for size, count in sizes if size < metric["at_least"])
    return beyond / total <= float(metric.get("allow", 0))


def roles_of(spec: Mapping[str, Any]) -> set[str]:
    return {spec["role"]} if isinstance(spec["role"], str) else set(spec["role"])


def is_known(name: str, family: Family) -> bool:
    """Does the parent's adversary know this column?"""
    data = family.parent["data"]
    if name in data.get("columns", {}):
        return "quasi_identifier" in roles_of(data["columns"][name])
    allowed = {"class", *roles_allowed(data["unlisted"], name)}
    if any(metric["use"] == "confidence" for metric in family.parent["metrics"]):
        allowed |= {"sensitive"}
    roles = roles_of(family.child["data"]["columns"][name])
    free = roles <= allowed or "class" in roles
    return not free or "quasi_identifier" in roles


def cell_of(text: str, spec: Mapping[str, Any], missing: list[str]) -> Any:
    text = spec.get("aliases", {}).get(text, text)
    if text in missing:
        return None
    return float(text) if text.isdecimal() else text


def columns_of(node: Node) -> Iterator[str]:
    if isinstance(node, Leaf):
        return
    yield node.column
    for below in [node.low, node.high] if isinstance(node, NumericSplit) else [branch.node for branch in node.branches]:
        yield from columns_of(below)
    if not isinstance(node, NumericSplit) and node.default is not None:
        yield from columns_of(node.default)


def way(node: Node, cells: Mapping[str, Any]) -> tuple[Any, ...]:
    """The ways taken from the root to a leaf."""
    taken: list[Any] = []
    while not isinstance(node, Leaf):
        cell = cells[node.column]
        if isinstance(node, NumericSplit):
            if not isinstance(cell, int | float) or math.isnan(cell):
                low = node.missing == "low" if node.missing else None
            else:
                low = cell < node.at if node.strict else cell <= node.at
            if low is None:
                return NOWHERE
            taken.append(low)
            node = node.low if low else node.high
            continue
        branch = next((i for i, branch in enumerate(node.branches) if cell in branch.values), None)
        child = node.default if branch is None else node.branches[branch].node
        if child is None:
            return NOWHERE
        taken.append(branch)
        node = child
    return tuple(taken)


@given(family=families())
def test_no_accepted_child_passes_a_release_that_its_parent_fails(family: Family) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder), family)
        try:
            load_policy(path)
        except LeafgateError as error:
            event("refused by its parent" if "what it extends" in str(error) else "no valid policy")
            return
        try:
            audited = open_session(path).audit()
        except LeafgateError:
            event("accepted, and the table does not fit")
            return
        event(f"accepted: {audited.report.verdict}")
        if audited.report.verdict == "pass" and audited.artifact is not None:
            assert judged_by_parent(family, audited.artifact.release.trees[0])
