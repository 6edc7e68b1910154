"""How many people pairs of nightly trees prove, with and without remedies: the numbers of nightly-retraining.md.

    python docs/reproduce/nightly_retraining.py [NIGHTS]
    python docs/reproduce/nightly_retraining.py together

A table of 1,000 people who are made up; every night some of them leave and as many join, and a kADET tree is grown
anew. What two versions prove together is found exactly, and compared with what is true.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from leafgate.algorithms.joint_classes import ReleasedTable, joint_system
from leafgate.algorithms.joint_proofs import check_proof, joint_proofs
from leafgate.algorithms.publication import published
from leafgate.algorithms.ranking import area_under_curve, second_class_ranking
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import BuildResult, FileDisclosure, Level, ModelFile, Publish, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table
from leafgate.kernel.tree import map_leaves, tree_arrays
from leafgate_plugins.kadet.builder import Kadet

PEOPLE = 1_000
"""In the table of each night."""

TESTED = 5_000
"""Other people, by whom the trees are tested."""

KADET = {
    "use": "kadet",
    "prune": False,
    "require": [{"use": "confidence", "at_most": 0.95}, {"use": "exposure", "insiders": 1}],
}
"""Of each tree alone nobody is certain of anybody, an insider neither, or believes anything with more than .95."""

QI = frozenset({"quasi_identifier"})
SCHEMA = Schema(
    (
        Column("age", QI, bounds=(18.0, 90.0)),
        Column("district", QI, values=tuple(f"d{i}" for i in range(8))),
        Column("job", QI, values=tuple(f"j{i}" for i in range(6))),
        Column("children", QI, bounds=(0.0, 5.0)),
        Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
    )
)


def population(n: int) -> pd.DataFrame:
    """People one after another; who is ill depends on everything, and on chance."""
    rng = np.random.default_rng(44)
    age, district = rng.integers(18, 91, n), rng.integers(0, 8, n)
    job, children = rng.integers(0, 6, n), rng.integers(0, 6, n)
    score = (age - 54) / 18 + (district % 3 == 0) * 1.0 + (job < 2) * 1.2 - (children > 2) * 0.8
    ill = rng.random(n) < 1 / (1 + np.exp(-1.5 * (score - 0.6)))
    return pd.DataFrame(
        {
            "age": age.astype(float),
            "district": pd.Categorical([f"d{i}" for i in district], categories=list(SCHEMA["district"].domain)),
            "job": pd.Categorical([f"j{i}" for i in job], categories=list(SCHEMA["job"].domain)),
            "children": children.astype(float),
            "ill": pd.Categorical(["yes" if i else "no" for i in ill], categories=["no", "yes"]),
        }
    )


@dataclass(frozen=True)
class Practice:
    """A way to publish: the least group of kADET, what leaves publish, and how many people change between versions."""

    name: str
    k: int
    leaves: Level
    units: int | None = None
    moved: int = 10

    def release(self, table: Table) -> Release:
        """The tree that is published of this table."""
        builder = Kadet.model_validate_json(json.dumps({**KADET, "k": self.k}))
        built = BuildResult.of(builder.build(table, np.random.default_rng(0))).release
        release = published(built, Publish(leaves=self.leaves), frozenset())
        return release if self.units is None else rounded(release, self.units)


def rounded(release: Release, units: int) -> Release:
    """The release with its shares rounded to multiples of 1 / units, as a model's file states them."""

    def coarse(leaf: Leaf) -> Leaf:
        shares = leaf.shares or {}
        return replace(leaf, shares={name: round(share * units) / units for name, share in shares.items()} or None)

    words = f"shares of classes, rounded to steps of {1 / units:g}"
    file = ModelFile("example", "", (FileDisclosure("ratios", "medium", words),))
    return replace(release, trees=tuple(map_leaves(tree, coarse) for tree in release.trees), file=file)


@dataclass(frozen=True)
class Result:
    """What pairs of versions prove, and how good the trees are."""

    pairs: int
    pairs_that_prove: int
    joiners: int
    joiners_proved: int
    people_proved: int
    leaves: float
    auc: float


def run(practice: Practice, nights: int) -> Result:
    """All pairs of versions that follow each other."""
    everyone = population(PEOPLE + practice.moved * nights)
    test = make_table(SCHEMA, population(PEOPLE + practice.moved * nights + TESTED).iloc[-TESTED:])
    truth = test.codes("ill")
    versions, scores, leaves = [], [], []
    for night in range(nights):
        first = practice.moved * night
        ids = np.arange(first, first + PEOPLE)
        table = make_table(SCHEMA, everyone.iloc[ids])
        release = practice.release(table)
        versions.append((ids, released(release, everyone, ids)))
        scores.append(
            area_under_curve(second_class_ranking(release, test), truth * test.weight, (1 - truth) * test.weight).value
        )
        leaves.append(tree_arrays(release.trees[0]).n_leaves)
    code = (everyone["ill"] == "yes").to_numpy().astype(int)
    proving = joined = joined_proved = people = 0
    for (old_ids, old), (new_ids, new) in pairwise(versions):
        ids = np.union1d(old_ids, new_ids)
        sources = [replace(each, record=each.record[ids]) for each in (new, old)]
        system = joint_system(sources, np.ones(len(ids), dtype=np.int64), SCHEMA, SCHEMA["ill"])
        proofs = joint_proofs(system, time_limit=60)
        assert all(check_proof(system, proof) for proof in proofs.proofs)
        assert not proofs.open.any()
        proved = proofs.proved[system.class_of]
        assert (proved.argmax(axis=1) == code[ids])[np.asarray(proved.any(axis=1))].all()
        came = ~np.isin(ids, old_ids)
        proving += int(proved.any())
        joined += int(came.sum())
        is_proved = np.asarray(proved.any(axis=1))
        joined_proved += int(is_proved[came].sum())
        people += int(is_proved.sum())
    pairs = nights - 1
    return Result(pairs, int(proving), joined, joined_proved, people, float(np.mean(leaves)), float(np.mean(scores)))


TOGETHER = (2, 3, 5, 10)
"""So many versions in a row are taken together."""

SECONDS = 120.0
"""For all versions that are taken together; what is not decided then is counted as open."""


def run_together(practice: Practice, numbers: Sequence[int]) -> list[str]:
    """How many people of all that were in some version are proved by the first versions, and are open."""
    everyone = population(PEOPLE + practice.moved * max(numbers))
    code = (everyone["ill"] == "yes").to_numpy().astype(int)
    sources = []
    for night in range(max(numbers)):
        ids = np.arange(practice.moved * night, practice.moved * night + PEOPLE)
        release = practice.release(make_table(SCHEMA, everyone.iloc[ids]))
        sources.append(released(release, everyone, ids))
    cells = []
    for number in numbers:
        ids = np.flatnonzero(np.any([each.record >= 0 for each in sources[:number]], axis=0))
        used = [replace(each, record=each.record[ids]) for each in sources[:number]]
        system = joint_system(used, np.ones(len(ids), dtype=np.int64), SCHEMA, SCHEMA["ill"])
        proofs = joint_proofs(system, time_limit=SECONDS)
        proved = np.asarray(proofs.proved[system.class_of])
        is_proved = np.asarray(proved.any(axis=1))
        assert (proved.argmax(axis=1) == code[ids])[is_proved].all()
        is_open = np.asarray(proofs.open.any(axis=1))[system.class_of]
        cells.append(f"{int(is_proved.sum())}" + (f" ({int(is_open.sum())} open)" if is_open.any() else ""))
    return cells


def released(release: Release, everyone: pd.DataFrame, ids: np.ndarray) -> ReleasedTable:
    """The release as somebody has it who knows all people, and who of them was in the table."""
    public = Schema(release.schema.public)
    names = [column.name for column in public.columns]
    own = Table(public, everyone.iloc[ids][names].reset_index(drop=True), np.ones(len(ids), dtype=np.int64))
    records, row = own.project(names)
    record = np.full(len(everyone), -1)
    record[ids] = row
    return ReleasedTable(release=release, public=records, record=record)


PRACTICES = (
    Practice("counts", 10, "counts"),
    Practice("shares of two digits", 10, "shares", 100),
    Practice("labels alone", 10, "labels"),
    Practice("counts, 300 people at once", 10, "counts", moved=300),
    Practice("labels, 300 people at once", 10, "labels", moved=300),
    Practice("k = 100, counts", 100, "counts"),
    Practice("k = 100, counts, 300 people at once", 100, "counts", moved=300),
    Practice("k = 100, shares in steps of .05", 100, "shares", 20),
    Practice("k = 100, labels alone", 100, "labels"),
    Practice("the same people every night, counts", 10, "counts", moved=0),
)


def main() -> None:
    """Print a row of the page's table for each practice."""
    if sys.argv[1:] == ["together"]:
        print(f"| published | {' | '.join(f'{number} versions' for number in TOGETHER)} |")
        print("| --- |" + " --- |" * len(TOGETHER))
        for practice in PRACTICES:
            print(f"| {practice.name} | {' | '.join(run_together(practice, TOGETHER))} |", flush=True)
        return
    nights = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print("| published | leaves | AUC | pairs that prove somebody | joiners proved | people proved a pair |")
    print("| --- | --- | --- | --- | --- | --- |")
    for practice in PRACTICES:
        r = run(practice, nights)
        joiners = f"{r.joiners_proved} of {r.joiners}" if r.joiners else "nobody joins"
        row = (practice.name, f"{r.leaves:.0f}", f"{r.auc:.3f}", f"{r.pairs_that_prove} of {r.pairs}", joiners)
        print(f"| {' | '.join(row)} | {r.people_proved / r.pairs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
