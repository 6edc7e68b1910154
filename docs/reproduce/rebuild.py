"""How much of a table the attack `rebuild` rebuilds and proves, over people, trees and kinds of models.

    python docs/reproduce/rebuild.py --root DIR [--time-limit 60] [--large 600]

DIR holds the folders `adult` and `german_credit`. Writes docs/results/rebuild.csv. It needs scikit-learn, XGBoost and
LightGBM. Forests are fitted on one column for each value, without bootstrap unless a model says otherwise. Models of
files have their libraries' own settings; regression predicts hours per week, the others the income. There the attacks
know how each column is distributed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import leafgate
from data_sets import german
from leafgate.algorithms.table_matching import MAX_PAIRS, baseline, coded_cells, most_right, true_cells
from leafgate.api import Branch, BuildResult, CategoricalSplit, Column, Leaf, Node, NumericSplit, Release, Schema, Table
from leafgate.api.registry import load_plugins
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.validation import validate_belief
from leafgate.kernel.belief import TableBelief
from leafgate.kernel.schema import bin_names
from leafgate.kernel.training_rows import TrainingRows
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.models.reader import from_sklearn, read_foreign
from leafgate_plugins.dp_random_trees.options import DpRandomTrees, RandomTrees
from leafgate_plugins.kadet.builder import Kadet
from leafgate_plugins.reconstruction.leaf_records import TableReconstruction
from leafgate_plugins.reconstruction.rebuild import Rebuild
from membership_setting import adult
from writing import read_rows, write_csv

RESULTS = Path(__file__).resolve().parents[1] / "results" / "rebuild.csv"
DATA: Mapping[str, Callable[[Path], tuple[pd.DataFrame, str]]] = {"adult": adult, "german": german}
SIZES = (("adult", 100), ("adult", 300), ("adult", 1_000), ("german", 300))
TREES = (1, 5, 20)
LARGE = ("adult", 10_000, 20)
SIDE_BY_SIDE = ("adult", 1_000)
REPAIRED = "repaired forest"
NUMBER = ("hours-per-week", (0, 20, 35, 40, 45, 60, 100))
"""The column that regression predicts, and the intervals in which its numbers count as right."""


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=0)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbosity=-1)


FILES: Mapping[str, tuple[bool, Callable[[], Any]]] = {
    "regression tree": (True, lambda: DecisionTreeRegressor(random_state=0)),
    "regression tree, 20 people a leaf": (True, lambda: DecisionTreeRegressor(min_samples_leaf=20, random_state=0)),
    "regression forest": (True, lambda: RandomForestRegressor(20, bootstrap=False, max_features=0.3, random_state=0)),
    "regression forest on bootstraps": (True, lambda: RandomForestRegressor(20, random_state=0)),
    "histogram boosting of numbers": (True, lambda: HistGradientBoostingRegressor(random_state=0)),
    "random forest on bootstraps, its file": (False, lambda: RandomForestClassifier(20, random_state=0)),
    "gradient boosting": (False, lambda: GradientBoostingClassifier(random_state=0)),
    "histogram boosting": (False, lambda: HistGradientBoostingClassifier(random_state=0)),
    "XGBoost": (False, _xgboost),
    "LightGBM": (False, _lightgbm),
}
"""Models of files, and whether they predict numbers."""


@dataclass(frozen=True)
class Row:
    """What one attack made of one model.

    `right`, `without`, `records` and `records_without` are shares of cells and of whole records that are right, and the
    same without the release; `wrong` is the share of people in a wrong leaf, the mean over trees; `proved` the share of
    cells that are proved. None where it was not computed, or the attack does not read such numbers.
    """

    data: str
    people: int
    model: str
    trees: int
    attack: str
    seconds: float | None = None
    wrong: float | None = None
    right: float | None = None
    without: float | None = None
    records: float | None = None
    records_without: float | None = None
    proved: float | None = None


def people_of(data: str, root: Path, people: int, number: tuple[str, Sequence[float]] | None = None) -> Table:
    """So many random people, a row each; `number` is a column that takes the place of the class, and its intervals."""
    cells, target = DATA[data](root)
    if number is not None:
        cells, target = cells.drop(columns=[target]), number[0]
    cells = cells.sample(people, random_state=0).reset_index(drop=True)
    columns, frame = list[Column](), dict[str, Any]()
    for name in cells.columns:
        if number is not None and name == target:
            edges = tuple(number[1])
            names, bounds = bin_names(edges), (edges[0], edges[-1])
            columns.append(Column(name, frozenset({"class"}), values=names, bounds=bounds, edges=edges))
            frame[name] = cells[name].astype(float)
            continue
        if pd.api.types.is_numeric_dtype(cells[name]):
            numbers = cells[name].astype(float)
            bounds = (float(numbers.min()), float(numbers.max()))
            columns.append(Column(name, frozenset({"quasi_identifier"}), bounds=bounds))
            frame[name] = numbers
            continue
        values = tuple(sorted(set(cells[name].astype(str))))
        roles = frozenset({"class", "sensitive"}) if name == target else frozenset({"quasi_identifier"})
        columns.append(Column(name, roles, values=values))
        frame[name] = pd.Categorical(cells[name].astype(str), categories=list(values))
    return Table(Schema(tuple(columns)), pd.DataFrame(frame), np.ones(people, dtype=np.int64))


def forest_release(
    people: Table, trees: int, *, extra: bool = False, min_samples_leaf: int = 1, bootstrap: bool = False
) -> Release:
    """A forest of scikit-learn that counts everybody in each tree."""
    target = people.schema.target.name
    tests = list[tuple[str, str | None]]()
    features = list[Any]()
    for column in people.schema.features:
        if column.numeric:
            tests.append((column.name, None))
            features.append(people.numbers(column.name))
        for value in column.values or ():
            tests.append((column.name, value))
            features.append((people.frame[column.name] == value).to_numpy(dtype=float))
    kind = ExtraTreesClassifier if extra else RandomForestClassifier
    fitted = kind(trees, bootstrap=bootstrap, random_state=0, min_samples_leaf=min_samples_leaf)
    fitted.fit(np.column_stack(features), people.frame[target].astype(str).to_numpy())
    grown = [_tree(each.tree_, tests, [str(name) for name in fitted.classes_]) for each in fitted.estimators_]
    return Release(
        {}, people.schema, tuple(grown), combine="vote", count_semantics="bootstrap" if bootstrap else "exact"
    )


def _tree(fitted: Any, tests: Sequence[tuple[str, str | None]], classes: Sequence[str]) -> Node:
    def node(i: int) -> Node:
        if fitted.children_left[i] < 0:
            counts = np.rint(fitted.value[i, 0] * fitted.weighted_n_node_samples[i]).astype(int)
            return Leaf(classes[int(counts.argmax())], dict(zip(classes, counts.tolist(), strict=True)))
        name, value = tests[fitted.feature[i]]
        low, high = node(fitted.children_left[i]), node(fitted.children_right[i])
        if value is None:
            return NumericSplit(name, float(fitted.threshold[i]), low, high, float32=True)
        return CategoricalSplit(name, (Branch((value,), high),), low)

    return node(0)


def of_file(people: Table, model: Any) -> tuple[Release, TrainingRows | None]:
    """The release that a fitted model's file comes to, and the rows that the file counts."""
    target = people.schema.target
    names = [column.name for column in people.schema.features if not column.numeric]
    cells = people.frame.drop(columns=[target.name]).astype(dict.fromkeys(names, str))
    codes = {str(value): i for i, value in enumerate(target.values or ())}
    wanted = people.numbers(target.name) if target.edges else people.frame[target.name].astype(str).map(codes)
    labels = np.asarray(wanted, dtype=float)
    if type(model).__module__.startswith("sklearn"):
        encoded = make_column_transformer((OneHotEncoder(sparse_output=False), names), remainder="passthrough")
        read = from_sklearn(make_pipeline(encoded, model).fit(cells, labels))
    else:
        model.fit(pd.get_dummies(cells, columns=names, dtype=float), labels)
        is_lightgbm = hasattr(model, "booster_")
        content = model.booster_.model_to_string().encode() if is_lightgbm else model.get_booster().save_raw("json")
        read = read_foreign(bytes(content), "model", load_plugins().readers)
    encoding = {} if target.edges else {target.name: Encoding(codes=codes)}
    loaded = lower_model(read, people.schema, encoding, "model")
    return loaded.release, loaded.provenance.training_rows


def rows(
    data: str, people: Table, model: str, release: Release, time_limit: float, of_training: TrainingRows | None = None
) -> Iterator[Row]:
    """Both attacks on one release."""
    for attack in (TableReconstruction(), Rebuild(time_limit=time_limit)):
        start = Row(data, people.total_weight, model, len(release.trees), attack.use)
        if release.count_semantics not in attack.reads:
            yield start
            continue
        known = replace(grant_knowledge(people, distribution=of_training is not None), rows=of_training)
        begin = time.monotonic()
        try:
            (belief,) = attack.infer(release, known)
        except leafgate.InconclusiveError:
            yield start
            continue
        seconds = time.monotonic() - begin
        valid = validate_belief(belief, known, release)
        assert isinstance(valid, TableBelief)
        yield Row(**{**vars(start), "seconds": seconds, **measured(people, valid)})


def measured(people: Table, belief: TableBelief) -> dict[str, float | None]:
    """The numbers of one belief."""
    names = sorted(belief.records.columns)
    cells = people.total_weight * len(people.schema.features)
    found: dict[str, float | None] = {"wrong": belief.evidence.get("in_a_wrong_leaf")}
    if belief.proved_cells is not None:
        found["proved"] = belief.proved_cells / cells
    if len(belief.records) * people.total_weight > MAX_PAIRS:
        return found
    columns, coded = true_cells(people, names), coded_cells(belief.records, people.schema)
    found["right"] = most_right(columns, coded)
    found["records"] = most_right(columns, coded, "records")
    found["without"] = baseline(columns, len(belief.records), 0).value
    found["records_without"] = baseline(columns, len(belief.records), 0, counted="records").value
    return found


def repaired_release(people: Table) -> Release:
    """What `leafgate.repair` makes of a forest of 20 trees without bootstrap, by the limits that it has by itself."""
    target = people.schema.target.name
    cells = people.frame.drop(columns=[target])
    names = [column.name for column in people.schema.features if not column.numeric]
    cells = cells.astype(dict.fromkeys(names, str))
    encoded = make_column_transformer((OneHotEncoder(sparse_output=False), names), remainder="passthrough")
    model = make_pipeline(encoded, RandomForestClassifier(20, bootstrap=False, random_state=0))
    labels = people.frame[target].astype(str)
    repair = leafgate.repair(leafgate.audit(model.fit(cells, labels), cells, labels))
    assert repair.audit is not None
    assert repair.audit.artifact is not None
    return repair.audit.artifact.release


def rows_of_files(root: Path, time_limit: float) -> Iterator[Row]:
    """Models of files, each beside the others on the same people."""
    data, n = SIDE_BY_SIDE
    for name, (is_number, make) in FILES.items():
        people = people_of(data, root, n, NUMBER if is_number else None)
        release, of_training = of_file(people, make())
        yield from rows(data, people, name, release, time_limit, of_training)


def every_row(root: Path, time_limit: float, large: float) -> Iterator[Row]:
    for data, n in SIZES:
        people = people_of(data, root, n)
        for trees in TREES:
            yield from rows(data, people, "random forest", forest_release(people, trees), time_limit)
    people = people_of(*SIDE_BY_SIDE[:1], root, SIDE_BY_SIDE[1])
    data, rng = SIDE_BY_SIDE[0], np.random.default_rng(0)
    for model, release in (
        ("kADET, k = 10", Kadet(k=10).build(people, rng)),
        ("private random trees, epsilon 1", DpRandomTrees(epsilon=1.0, rehearsal=True).build(people, rng)),
        ("random trees with all counts", RandomTrees(trees=20, depth=4).build(people, rng)),
        ("random forest, 20 people a leaf", forest_release(people, 20, min_samples_leaf=20)),
        ("random forest on bootstraps", forest_release(people, 20, bootstrap=True)),
        ("extra trees", forest_release(people, 20, extra=True)),
        (REPAIRED, repaired_release(people)),
    ):
        yield from rows(data, people, model, BuildResult.of(release).release, time_limit)
    yield from rows_of_files(root, time_limit)
    data, n, trees = LARGE
    if large:
        people = people_of(data, root, n)
        yield from list(rows(data, people, "random forest", forest_release(people, trees), large))[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each attack")
    parser.add_argument("--large", type=float, default=600.0, help="seconds for 10,000 people; 0 leaves them out")
    parser.add_argument("--repaired", action="store_true", help="run the repaired forest alone; other rows stay")
    parser.add_argument("--files", action="store_true", help="run the models of files alone; other rows stay")
    options = parser.parse_args()
    if options.files:
        rows_of = rows_of_files(options.root, options.time_limit)
        found = [row for row in read_rows(RESULTS, Row) if row.model not in FILES]
    elif options.repaired:
        people = people_of(*SIDE_BY_SIDE[:1], options.root, SIDE_BY_SIDE[1])
        rows_of = rows(SIDE_BY_SIDE[0], people, REPAIRED, repaired_release(people), options.time_limit)
        found = [row for row in read_rows(RESULTS, Row) if row.model != REPAIRED]
    else:
        rows_of, found = every_row(options.root, options.time_limit, options.large), []
    for row in rows_of:
        print(row, flush=True)
        found.append(row)
    write_csv(RESULTS, found)


if __name__ == "__main__":
    main()
