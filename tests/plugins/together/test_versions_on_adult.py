"""Two versions of a C4.5 tree on Adult that differ by one person: what `joint` proves, beside two other computations.

600 complete rows with all columns of `policies/adult-all.yaml`: there the trees with and without somebody have other
tests for about every second person, and are grown in a tenth of a second. Six random people take turns at joining.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from numpy.typing import NDArray

from adult import POLICIES, data_root
from leafgate import Release
from leafgate.api import Leaf, SecretBelief
from leafgate.app import build_release, granted_knowledge, open_session
from oracles import leaf_at, path_of, persons

pytestmark = pytest.mark.thorough

PEOPLE = 600
"""In the larger table."""

JOINERS = 6
"""Random people, each of whom joins in a pair of versions of her own."""

NOBODY = "people of no leaf"
"""The node of those who were not in the table of a tree, of whom it states nothing."""


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    """Complete rows of Adult's training part, in random order."""
    columns = yaml.safe_load((POLICIES / "adult-all.yaml").read_text())["data"]["columns"]
    file = data_root() / "adult" / "adult.data"
    cells = pd.read_csv(file, header=None, names=list(columns), skipinitialspace=True, na_values="?").dropna()
    cells = cells.sample(PEOPLE, random_state=3).reset_index(drop=True)
    cells.insert(0, "id", [f"p{i:05}" for i in range(PEOPLE)])
    return cells


def write_policy(folder: Path, data: str, build: Mapping[str, Any], leaves: str) -> Path:
    """Adult's policy, of a table with keys; that of the new table names the old release."""
    document = yaml.safe_load((POLICIES / "adult-all.yaml").read_text())
    columns = {
        name: {key: value for key, value in column.items() if key != "hierarchy"}
        for name, column in document["data"]["columns"].items()
    }
    document |= {
        "data": {"path": data, "columns": {"id": {"role": "key"}} | columns},
        "build": dict(build),
        "publish": {"leaves": leaves},
        "attacks": [{"use": "joint", "insiders": 0}],
        "metrics": [{"use": "exposure", "of": "joint", "at_most": 0}],
    }
    if data == "new.csv":
        document["releases"] = [{"path": "old.json", "data": "old.csv"}]
    file = folder / "policy.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


@dataclass(frozen=True)
class Versions:
    """A tree of everybody and a tree of everybody but one person, and whom the attack proves to have which income."""

    people: pd.DataFrame
    joiner: int
    releases: tuple[Release, Release]
    proved: NDArray[np.bool_]

    @classmethod
    def of(cls, folder: Path, cells: pd.DataFrame, joiner: int, build: Mapping[str, Any], leaves: str) -> Versions:
        cells.to_csv(folder / "new.csv", index=False)
        cells.drop(index=joiner).to_csv(folder / "old.csv", index=False)
        before = open_session(write_policy(folder, "old.csv", build, leaves))
        artifact = build_release(before.policy, before.plugins, before.table)
        (folder / "old.json").write_bytes(artifact.content)
        session = open_session(write_policy(folder, "new.csv", build, leaves))
        own = build_release(session.policy, session.plugins, session.table)
        attack = session.policy.attacks[0]
        known = granted_knowledge(session.policy, attack, session.tables, own, readers=session.plugins.readers)
        (belief,) = attack.without_knows.infer(own.release, known)
        assert isinstance(belief, SecretBelief)
        assert not belief.evidence["people_open"].count
        proved = belief.posterior.to_numpy() >= 1 - 1e-9
        return cls(cells, joiner, (own.release, artifact.release), proved)

    @property
    def rich(self) -> NDArray[np.int64]:
        """1 for each person with the second income, 0 for the others."""
        return (self.people["income"] == ">50K").to_numpy().astype(np.int64)

    @cached_property
    def leaves(self) -> tuple[list[Any], list[Any]]:
        """The path of each person in each tree; the joiner has none in the old one."""
        everyone = persons(self.people)
        new, old = ([path_of(each.trees[0], person) for person in everyone] for each in self.releases)
        return new, [NOBODY if i == self.joiner else path for i, path in enumerate(old)]

    @property
    def have_same_tests(self) -> bool:
        """Whether both trees have the same tests."""
        new, old = self.leaves
        return all(a == b for i, (a, b) in enumerate(zip(new, old, strict=True)) if i != self.joiner)

    def stated(self, version: int, path: Any, people: int) -> tuple[int, int]:
        """How many of a leaf's people have the second income: the least and the most that the leaf states."""
        if path == NOBODY:
            return 0, people
        leaf = leaf_at(self.releases[version].trees[0], path)
        assert isinstance(leaf, Leaf)
        if leaf.counts is not None:
            return (leaf.counts.get(">50K", 0),) * 2  # type: ignore[return-value]
        return (0, people // 2) if leaf.label == "<=50K" else (people // 2 + 1, people)


def possible_incomes(versions: Versions) -> NDArray[np.bool_]:
    """Which incomes each person can have, given both trees: shape (n_people, 2).

    The people of two leaves, one of each tree, are an edge between these leaves; how many have the second income is a
    flow on it, and what a leaf states limits the flow through it. The true table is one flow. Another one has more on
    an edge, or less, exactly where the edge is on a cycle of the residual graph. One edge stands for each pair of
    leaves, so that this is so where both its ends are in one strong component.

    Source: D. Gusfield, "A Graph Theoretic Approach to Statistical Data Security", SIAM J. Comput. 17(3), 1988.
    Departure: leaves with labels limit the flow through them from one side.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = list(zip(*versions.leaves, strict=True))
    of_pair, of_leaf = defaultdict[Any, list[int]](list), defaultdict[tuple[int, Any], list[int]](list)
    for pair, rich in zip(pairs, versions.rich.tolist(), strict=True):
        of_pair[pair].append(rich)
        for version, path in enumerate(pair):
            of_leaf[version, path].append(rich)
    outside = len(of_leaf)
    node = {leaf: i for i, leaf in enumerate(of_leaf)}
    arcs = []
    for (version, path), there in of_leaf.items():
        low, high = versions.stated(version, path, len(there))
        assert low <= sum(there) <= high
        inward = (outside, node[version, path]) if version == 0 else (node[version, path], outside)
        arcs += [inward] if sum(there) < high else []
        arcs += [inward[::-1]] if sum(there) > low else []
    for (new, old), there in of_pair.items():
        arcs += [(node[0, new], node[1, old])] if sum(there) < len(there) else []
        arcs += [(node[1, old], node[0, new])] if sum(there) > 0 else []
    tail, head = np.array(arcs).T
    graph = coo_array((np.ones(len(arcs)), (tail, head)), shape=(len(of_leaf) + 1,) * 2)
    _, component = connected_components(graph, directed=True, connection="strong")
    changes = {pair: component[node[0, pair[0]]] == component[node[1, pair[1]]] for pair in of_pair}
    possible = [[changes[pair] or 0 in of_pair[pair], changes[pair] or 1 in of_pair[pair]] for pair in pairs]
    return np.array(possible)


def incomes_by_enumeration(versions: Versions) -> set[int]:
    """Which incomes the joiner can have by the people of her new leaf alone, and the leaves that these had before.

    Of each old leaf some people are in her new leaf. All numbers of them with the second income are tried that the old
    leaf's statement allows, and all sums of such numbers.
    """
    new, old = versions.leaves
    mine = new[versions.joiner]
    sums = {0}
    for path in {b for a, b in zip(new, old, strict=True) if a == mine and b != NOBODY}:
        inside = sum(a == mine and b == path for a, b in zip(new, old, strict=True))
        people = sum(b == path for b in old)
        low, high = versions.stated(1, path, people)
        numbers = range(max(0, low - (people - inside)), min(inside, high) + 1)
        sums = {total + number for total in sums for number in numbers}
    low, high = versions.stated(0, mine, sum(a == mine for a in new))
    return {income for income in (0, 1) if any(low <= total + income <= high for total in sums)}


@pytest.mark.parametrize("leaves", ["counts", "labels"])
@pytest.mark.parametrize("prune", [True, False])
def test_the_joiners_income_is_proved_wherever_enumeration_proves_it(
    tmp_path: Path, cells: pd.DataFrame, leaves: str, prune: bool
) -> None:
    kinds = set()
    for joiner in np.random.default_rng(5).choice(PEOPLE, JOINERS, replace=False).tolist():
        versions = Versions.of(tmp_path, cells, joiner, {"use": "c45", "prune": prune}, leaves)
        is_proved = np.asarray(versions.proved.any(axis=1))
        assert (versions.proved.argmax(axis=1) == versions.rich)[is_proved].all()
        possible = possible_incomes(versions)
        assert (is_proved == (possible.sum(axis=1) == 1)).all()
        enumerated = incomes_by_enumeration(versions)
        assert set(np.flatnonzero(possible[joiner])) <= enumerated
        # the counts of all leaves of the new tree less those of the old one are the joiner's
        assert is_proved[joiner] or leaves == "labels"
        kinds.add((versions.have_same_tests, len(enumerated) == 1))
    if leaves == "counts":  # in the new leaf alone she is always proved only where both trees have the same tests
        assert {tests for tests, _ in kinds} == {True, False}
        assert (True, False) not in kinds
