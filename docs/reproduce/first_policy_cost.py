"""What first policies cost: which models keep the limits that leafgate proposes, and what the models are worth.

    python docs/reproduce/first_policy_cost.py --root DIR [--tables ...] [--out DIR] [--page FILE]

DIR holds the folders `adult`, `default_credit_card_clients`, `german_credit`, `nursery` and `lendingclub`. Trees and
forests of scikit-learn and kADET's trees are fitted on 90 % of the training people of each table, several times, and
judged by the limits that `leafgate.audit` and `leafgate init` propose: once on all values of the class, once on the
rarer one alone. The table is written to docs/results/first-policy-cost.csv, and the measured part of the page is
written anew. With `--tables` the rows of the other tables stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from data_sets import german, lending, nursery
from leafgate.algorithms.certainty import certain_values
from leafgate.algorithms.prediction import class_scores
from leafgate.api import leaves
from leafgate.app import open_session
from leafgate.commands.scaffold.policy import Files, first_policy
from leafgate.kernel.findings import lenient
from leafgate.session.proposals import SecretShares, propose
from leafgate.session.run import build_release
from membership_setting import adult, credit
from writing import fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/first-policy-cost.md"
TEST_SHARE = 1 / 3
SPLIT_SEED = 0
THINNING_SEED = 5
SUBSAMPLE_SEED = 100
"""The seed of the first subsample; the others follow it."""
MODEL_SEED = 0
SUBSAMPLE = 0.9
"""The share of the training people whom each model is fitted on."""
RARE_SHARE = 0.05
"""The share of the rarer class in the tables that are thinned."""
RUNS = 20
"""Subsamples for trees."""
FEW_RUNS = 5
"""Subsamples for forests and kADET."""
LEAF_SIZES = (10, 20, 50, 200)
MAX_LEAVES = (8, 32, None)
FOREST_LEAF_SIZES = (10, 50, 200)
FOREST_MAX_LEAVES = (8, 32)
FOREST_TREES = (20, 100)
KADET_SIZES = (10, 30, 50)
"""People in every group of the trees that stand beside the proposed one."""
UNPROTECTED_LEAF = 10
"""The smallest leaf of the tree that stands for one that nobody protects."""
HALF = 0.5
"""The share of an unprotected tree's gain that kADET must keep."""
LIMITS = ("k_anonymity", "exposure", "confidence")
"""The proposed limits that are judged; a model's file is judged apart."""
STRICT = "all values"
HARMLESS = "the rarer value"
"""The values that limits are on where the frequent one is declared harmless."""
TREE = "tree"
FOREST = "forest"
KADET = "kADET"
AS_PROPOSED = "kADET, as proposed"

Cells = tuple[pd.DataFrame, str]


def complete_adult(root: Path) -> Cells:
    """Adult's training part without the people who have an unknown cell."""
    cells, target = adult(root)
    return cells[~cells.isin(["?"]).any(axis=1)].reset_index(drop=True), target


def one_rank(root: Path) -> Cells:
    """Nursery; the class is whether an application is very recommended."""
    cells, target = nursery(root)
    return cells.assign(**{target: np.where(cells[target] == "very_recom", "very_recom", "other")}), target


def thinned(read: Callable[[Path], Cells]) -> Callable[[Path], Cells]:
    """A table from which people of the rarer class are left out until they are 5 %."""

    def read_thinned(root: Path) -> Cells:
        cells, target = read(root)
        people = cells[target].value_counts()
        rare = np.flatnonzero(cells[target] == people.index[-1])
        kept = round(RARE_SHARE / (1 - RARE_SHARE) * int(people.iloc[0]))
        left_out = np.random.default_rng(THINNING_SEED).permutation(rare)[kept:]
        is_kept = ~np.isin(np.arange(len(cells)), left_out)
        return cells[is_kept].reset_index(drop=True), target

    return read_thinned


@dataclass(frozen=True)
class DataSet:
    """A table by its name on the page, and how it is read below a folder: its cells and its class of two values."""

    name: str
    read: Callable[[Path], Cells]


DATA: Mapping[str, DataSet] = {
    "adult": DataSet("Adult", complete_adult),
    "credit": DataSet("Credit card clients", credit),
    "lending": DataSet("LendingClub", lending),
    "german": DataSet("German credit", german),
    "nursery": DataSet("Nursery, `very_recom` against the rest", one_rank),
    "adult 5 %": DataSet("Adult, rarer class thinned to 5 %", thinned(complete_adult)),
    "credit 5 %": DataSet("Credit card clients, rarer class thinned to 5 %", thinned(credit)),
}


@dataclass(frozen=True)
class Row:
    """What came of one setting on one table, as means over the subsamples.

    Attributes:
        data: the table.
        model: a tree or a forest of scikit-learn, or a tree of kADET with what was changed of the proposed builder.
        judged: the values of the class that the limits are on.
        trees: how many there are.
        leaf: the smallest leaf, of kADET its k.
        max_leaves: the most leaves of a tree; None for as many as there are.
        runs: how many models were fitted.
        people: whom each was fitted on.
        frequent: the share of the frequent value among all people.
        confidence_limit: the proposed limit on confidence.
        kept: the share of models that keep all limits.
        k_anonymity: the share that keep this limit.
        exposure: likewise.
        confidence: likewise.
        leaves: of all trees of a model.
        few: the share of leaves that count 1 to 9 people of some class; None for forests.
        auc: on the test.
        auc_lowest: of all models.
        auc_highest: of all models.
    """

    data: str
    model: str
    judged: str
    trees: int
    leaf: int
    max_leaves: int | None
    runs: int
    people: int
    frequent: float
    confidence_limit: float
    kept: float
    k_anonymity: float
    exposure: float
    confidence: float
    leaves: float
    few: float | None
    auc: float
    auc_lowest: float
    auc_highest: float

    @property
    def gain(self) -> float:
        """What the AUC is above that of a coin."""
        return self.auc - 0.5


@dataclass(frozen=True)
class Measured:
    """One model: which limits it keeps, by the judged values; how many leaves there are; and its AUC."""

    keeps: Mapping[str, Mapping[str, bool]]
    leaves: int
    few: float | None
    auc: float


@dataclass(frozen=True)
class People:
    """The people of a table, in two parts drawn once with equal shares of the classes.

    Attributes:
        data: the table.
        cells: everybody's.
        target: the class.
        training: the positions of those whom models are fitted on.
        test: the others.
    """

    data: str
    cells: pd.DataFrame
    target: str
    training: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, data: str, root: Path) -> People:
        """Those of a data set below a folder."""
        cells, target = DATA[data].read(root)
        training, test = train_test_split(
            np.arange(len(cells)), test_size=TEST_SHARE, stratify=cells[target], random_state=SPLIT_SEED
        )
        return cls(data, cells, target, np.sort(training), np.sort(test))

    @cached_property
    def values(self) -> tuple[str, str]:
        """The frequent value of the class, and the rarer one."""
        frequent, rare = self.cells[self.target].value_counts().index
        return str(frequent), str(rare)

    @cached_property
    def features(self) -> pd.DataFrame:
        """What models of scikit-learn are fitted on: numbers, and a dummy for each value."""
        return pd.get_dummies(self.cells.drop(columns=[self.target]), dtype=float)

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """The features as trees of scikit-learn read them."""
        return self.features.to_numpy(dtype=np.float32)

    @cached_property
    def is_rare(self) -> NDArray[np.bool_]:
        """Who has the rarer value."""
        return np.asarray(self.cells[self.target] == self.values[1])

    @property
    def frequent(self) -> float:
        """The share of the frequent value."""
        return float(1 - self.is_rare.mean())

    def subsample(self, run: int) -> NDArray[np.int64]:
        """The positions of 90 % of the training people."""
        order = np.random.default_rng(SUBSAMPLE_SEED + run).permutation(self.training)
        return np.sort(order[: round(SUBSAMPLE * len(order))])

    def harmless(self, judged: str) -> tuple[str, ...]:
        """The values that are declared harmless."""
        return (self.values[0],) if judged == HARMLESS else ()

    def limits(self, judged: str, people: NDArray[np.int64]) -> tuple[Mapping[str, Any], ...]:
        """The limits that `leafgate.audit` proposes for a model of some people."""
        rare = int(self.is_rare[people].sum())
        shares = SecretShares.of_values(
            self.target, dict(zip(self.values, (len(people) - rare, rare), strict=True)), {}
        )
        return propose(shares, of_model=True, harmless=self.harmless(judged)).metrics

    def keeps(self, group: NDArray[np.int64], people: NDArray[np.int64]) -> dict[str, dict[str, bool]]:
        """By the judged values, whether a grouping of people by the leaves that they reach keeps each limit.

        That this is what the audit finds is asserted by tests.
        """
        rare = np.bincount(group, weights=self.is_rare[people])
        size = np.bincount(group)
        counts = np.stack([size - rare, rare], axis=-1)[size > 0]
        return {judged: keeps_limits(counts, self.values, self.limits(judged, people)) for judged in (STRICT, HARMLESS)}


def keeps_limits(
    counts: NDArray[np.float64], values: Sequence[str], limits: Sequence[Mapping[str, Any]]
) -> dict[str, bool]:
    """Whether groups keep each limit; `counts` has a row for each group, and a column for each value."""
    size, found = counts.sum(axis=-1), {}
    for limit in limits:
        judged = [value in limit.get("values", values) for value in values]
        if limit["use"] == "k_anonymity":
            found["k_anonymity"] = bool(size.min() >= limit["at_least"])
        elif limit["use"] == "exposure":
            found["exposure"] = not certain_values(counts, limit["insiders"])[:, judged].any()
        elif limit["use"] == "confidence":
            share = (counts[:, judged] / size[:, None]).max()
            found["confidence"] = bool(share <= lenient(limit["at_most"]))
    return found


def few_of_a_class(counts: NDArray[np.float64]) -> float:
    """The share of groups that have 1 to 9 people of some class."""
    return float(((counts > 0) & (counts < 10)).any(axis=-1).mean())


def models(people: People) -> Iterator[Row]:
    """The rows of scikit-learn's trees and forests, twice each: by all values, and by the rarer one."""
    for leaf in LEAF_SIZES:
        for most in MAX_LEAVES:
            measured = [fitted_tree(people, leaf, most, run) for run in range(RUNS)]
            yield from model_rows(people, TREE, 1, leaf, most, measured)
    for leaf in FOREST_LEAF_SIZES:
        for most in FOREST_MAX_LEAVES:
            forests = [fitted_forests(people, leaf, most, run) for run in range(FEW_RUNS)]
            for i, trees in enumerate(FOREST_TREES):
                yield from model_rows(people, FOREST, trees, leaf, most, [each[i] for each in forests])


def fitted_tree(people: People, leaf: int, most: int | None, run: int) -> Measured:
    """scikit-learn's tree on a subsample."""
    some = people.subsample(run)
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, max_leaf_nodes=most, random_state=MODEL_SEED)
    tree.fit(people.rows[some], people.is_rare[some])
    group = np.unique(tree.apply(people.rows[some]), return_inverse=True)[1].reshape(-1)
    rare = np.bincount(group, weights=people.is_rare[some])
    few = few_of_a_class(np.stack([np.bincount(group) - rare, rare], axis=-1))
    return Measured(people.keeps(group, some), int(tree.get_n_leaves()), few, auc_of(people, tree))


def fitted_forests(people: People, leaf: int, most: int | None, run: int) -> list[Measured]:
    """scikit-learn's forests of 20 and of 100 trees on a subsample; the first 20 trees are the same."""
    some, found = people.subsample(run), []
    forest = RandomForestClassifier(
        min_samples_leaf=leaf, max_leaf_nodes=most, random_state=MODEL_SEED, warm_start=True
    )
    for trees in FOREST_TREES:
        forest.set_params(n_estimators=trees).fit(people.rows[some], people.is_rare[some])
        reached = np.ascontiguousarray(forest.apply(people.rows[some]).astype(np.int32))
        paths = reached.view(f"V{reached.dtype.itemsize * reached.shape[1]}").reshape(-1)
        group = np.unique(paths, return_inverse=True)[1].reshape(-1)
        n_leaves = sum(int(each.get_n_leaves()) for each in forest.estimators_)
        found.append(Measured(people.keeps(group, some), n_leaves, None, auc_of(people, forest)))
    return found


def auc_of(people: People, model: Any) -> float:
    """The AUC of a model of scikit-learn on the test."""
    return float(roc_auc_score(people.is_rare[people.test], model.predict_proba(people.rows[people.test])[:, 1]))


def model_rows(
    people: People, model: str, trees: int, leaf: int, most: int | None, measured: Sequence[Measured]
) -> Iterator[Row]:
    """The two rows of one setting."""
    some = people.subsample(0)
    for judged in (STRICT, HARMLESS):
        confidence = next(each for each in people.limits(judged, some) if each["use"] == "confidence")
        yield row_of(people, (model, judged, trees, leaf, most), float(confidence["at_most"]), measured)


def row_of(
    people: People, setting: tuple[str, str, int, int, int | None], limit: float, measured: Sequence[Measured]
) -> Row:
    """The means over some models of one setting: the model, the judged values, trees, smallest leaf, most leaves."""
    model, judged, trees, leaf, max_leaves = setting
    keeps = pd.DataFrame([each.keeps[judged] for each in measured])
    few = [each.few for each in measured if each.few is not None]
    auc = [each.auc for each in measured]
    return Row(
        data=people.data,
        model=model,
        judged=judged,
        trees=trees,
        leaf=leaf,
        max_leaves=max_leaves,
        runs=len(measured),
        people=len(people.subsample(0)),
        frequent=people.frequent,
        confidence_limit=limit,
        kept=float(keeps.all(axis=1).mean()),
        k_anonymity=float(keeps["k_anonymity"].mean()),
        exposure=float(keeps["exposure"].mean()),
        confidence=float(keeps["confidence"].mean()),
        leaves=float(np.mean([each.leaves for each in measured])),
        few=float(np.mean(few)) if few else None,
        auc=float(np.mean(auc)),
        auc_lowest=min(auc),
        auc_highest=max(auc),
    )


def kadet_changes(build: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is changed of the builder that `leafgate init` proposes, by the name of the model."""
    yield AS_PROPOSED, {}
    is_pruned, proposed_k = build.get("prune", True), build["k"]
    if not is_pruned:
        yield f"{KADET}, pruned", {"prune": True, "k": KADET_SIZES[0]}
    for k in KADET_SIZES:
        if is_pruned or k != proposed_k:
            yield f"{KADET}, not pruned", {"prune": False, "k": k}
    yield f"{KADET}, pruned, gini", {"prune": True, "k": KADET_SIZES[0], "measure": "gini"}
    yield f"{KADET}, not pruned, gini", {"prune": False, "measure": "gini"}


def kadet(people: People, changed: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of kADET's trees, by all values and by the rarer one; `changed` names models to be left in alone."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        people.cells.to_csv(folder / "people.csv", index=False)
        people.cells.iloc[people.test].to_csv(folder / "test.csv", index=False)
        for judged in (STRICT, HARMLESS):
            text = first_policy(Files(folder / "people.csv"), people.target, harmless=people.harmless(judged)).text
            document = yaml.safe_load(text)
            limit = next(each["at_most"] for each in document["metrics"] if each["use"] == "confidence")
            for model, changes in kadet_changes(document["build"]):
                if changed and model not in changed:
                    continue
                built = {**document, "build": {**document["build"], **changes}}
                (folder / "policy.yaml").write_text(yaml.safe_dump(built, sort_keys=False), encoding="utf-8")
                measured = [grown_tree(people, folder, run, judged) for run in range(FEW_RUNS)]
                yield row_of(people, (model, judged, 1, built["build"]["k"], None), float(limit), measured)


def grown_tree(people: People, folder: Path, run: int, judged: str) -> Measured:
    """kADET's tree on a subsample, audited by its policy."""
    some = people.subsample(run)
    people.cells.iloc[some].to_csv(folder / "table.csv", index=False)
    session = open_session(folder / "policy.yaml", data=folder / "table.csv", test=folder / "test.csv")
    findings = {finding.metric: bool(finding.passed) for finding in session.audit().report.findings}
    release = build_release(session.policy, session.plugins, session.table).release
    tree_leaves = [leaf for tree in release.trees for leaf in leaves(tree)]
    counts = np.array([list(dict(leaf.counts or {}).values()) for leaf in tree_leaves], dtype=float)
    test = session.tables.test
    assert test is not None
    rare = list(test.schema.target.domain).index(people.values[1])
    scores = np.nan_to_num(class_scores(release, test)[:, rare], nan=1 - people.frequent)
    auc = roc_auc_score(test.codes(people.target) == rare, scores, sample_weight=test.weight)
    return Measured(
        {judged: {name: findings[name] for name in LIMITS}}, len(tree_leaves), few_of_a_class(counts), float(auc)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    results = options.out / "first-policy-cost.csv"
    rows = read_rows(results, Row) if results.exists() else []
    for data in options.tables:
        if not options.page_alone:
            people = People.of(data, options.root)
            found = [row for row in rows if row.data == data and row.model in (TREE, FOREST)]
            found = found if options.kadet_alone and found else list(models(people))
            rows = [row for row in rows if row.data != data] + found + list(kadet(people))
            rows.sort(key=lambda row: list(DATA).index(row.data))
            write_csv(results, rows)
            print(data, flush=True)
    put(options.page, lines(read_rows(results, Row)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Which models keep the limits that leafgate proposes.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult` and the others")
    parser.add_argument("--tables", nargs="+", choices=list(DATA), default=list(DATA), help="these tables alone")
    parser.add_argument("--kadet-alone", action="store_true", help="keep the rows of trees and forests that are there")
    parser.add_argument("--page-alone", action="store_true", help="write the page from the results that are there")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(arguments)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: for each table kADET as proposed, and how many trees keep the policy."""
    head = ("table", "best tree", "kADET: all values", "kADET: rarer value", "trees: all values", "trees: rarer value")
    body = []
    for data in DATA:
        here = [row for row in rows if row.data == data]
        if here:
            _, best = unprotected(here)
            kadet_aucs = [fixed(proposed(here, judged).auc, 3) for judged in (STRICT, HARMLESS)]
            shares = [percent(share_kept(here, judged)) for judged in (STRICT, HARMLESS)]
            body.append([DATA[data].name, fixed(best.auc, 3), *kadet_aucs, *shares])
    yield from table(head, body, "lrrrrr")


def unprotected(rows: Sequence[Row]) -> tuple[Row, Row]:
    """Of scikit-learn's trees without a limit on leaves the one with leaves of 10, and the one with the best AUC."""
    uncut = [row for row in rows if row.model == TREE and row.max_leaves is None]
    return next(row for row in uncut if row.leaf == UNPROTECTED_LEAF), max(uncut, key=lambda row: row.auc)


def proposed(rows: Sequence[Row], judged: str) -> Row:
    """The row of kADET as `leafgate init` proposes it."""
    return next(row for row in rows if (row.model, row.judged) == (AS_PROPOSED, judged))


def share_kept(rows: Sequence[Row], judged: str) -> float:
    """The share of scikit-learn's trees, of all settings, that keep the policy."""
    return float(np.mean([row.kept for row in rows if (row.model, row.judged) == (TREE, judged)]))


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.0f} %" if share in (0, 1) or 100 * share >= 10 else f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
