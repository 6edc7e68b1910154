"""Tables that outsiders and the release cannot tell apart: public reports on them differ in their verdicts alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import new_attack, new_metric, published_file
from example_counts import examples
from generator.policies import policy_for_any_table
from leafgate import Policy, Release, Table
from leafgate.algorithms.publication import published
from leafgate.algorithms.routing import route
from leafgate.api import Branch, CategoricalSplit, Counted, Leaf, Level, Publish
from leafgate.app import Tables, audit_policy, document, load_plugins, serialize
from limits_of_metrics import METRICS
from random_tables import categorical, cells, table_of, tables
from random_trees import counted, forests

COUNTED: Sequence[Counted] = ("exact", "exact", "bootstrap", "unknown")
POLICY = policy_for_any_table(METRICS)
PLUGINS = load_plugins(["leafgate"])


@dataclass(frozen=True)
class Twins:
    """Two tables with equal public columns, and a release that says the same of both."""

    release: Release
    tables: tuple[Table, Table]


@st.composite
def twins(draw: st.DrawFn, *, most: int, trees: int = 2, true_labels: bool = False) -> Twins:
    """A release at any level; the tables differ in who of a leaf has which secrets or, where it tells none, in any.

    With `true_labels`, labels of a release that counts exactly stay those of a most frequent class in either table.
    """
    table = draw(tables(most=most, public_class=False, numbers=False))
    grown = draw(forests(table, most=trees))
    level = draw(st.sampled_from(get_args(Level)))
    counted = draw(st.sampled_from(COUNTED))
    draft = Release(
        {"use": "x"}, table.schema, grown, count_semantics=counted, combine="one" if len(grown) == 1 else "vote"
    )
    release = published(draft, Publish(leaves=level, measure=False), frozenset())
    rng = random.Random(draw(st.integers(0, 2**32)))
    free = counted == "unknown" or (level == "labels" and not (true_labels and counted == "exact"))
    return Twins(release, (exchanged(table, release, rng, free=free), exchanged(table, release, rng, free=free)))


def exchanged(table: Table, release: Release, rng: random.Random, *, free: bool) -> Table:
    """The people, what is unknown of them exchanged among those of the same leaves; or made up, where `free`."""
    columns = table.schema.columns
    leaf = list(zip(*(route(tree, table).leaf.tolist() for tree in release.trees), strict=True))
    people = [
        (leaf[i], [None if cell != cell else cell for cell in row])
        for i, row in enumerate(table.frame.astype(object).to_numpy().tolist())
        for _ in range(int(table.weight[i]))
    ]
    hidden = [i for i, column in enumerate(columns) if not column.public]
    for place in set(leaf):
        mine = [row for where, row in people if where == place]
        unknown = [[rng.choice(cells(columns[i])) if free else row[i] for i in hidden] for row in mine]
        rng.shuffle(unknown)
        for row, result in zip(mine, unknown, strict=True):
            for i, cell in zip(hidden, result, strict=True):
                row[i] = cell
    return table_of(columns, [row for _, row in people])


def policy_on(release: Release, folder: Path, smallest: int, **changes: Any) -> Policy:
    """Everything is held against the release in a file."""
    path = folder / "release.json"
    path.write_bytes(serialize(release).content)
    report = POLICY.report.model_copy(update={"smallest_cell": smallest})
    return POLICY.model_copy(update={"build": published_file(path), "report": report, "publish": None, **changes})


def public_report(policy: Policy, table: Table) -> dict[str, Any]:
    """What everybody may read, without what stands for the whole file: its digest and its distinct records."""
    fields = document(audit_policy(policy, PLUGINS, Tables(table)).report, "public")
    fields["data"] = {key: what for key, what in fields["data"].items() if key not in {"sha256", "distinct"}}
    return fields


def interfering(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What two reports tell differently, but for which limits hold, and what follows from that alone."""
    ours, theirs = ({finding["id"]: finding for finding in report["findings"]} for report in (one, other))
    doubtful = {finding["id"] for finding in (*ours.values(), *theirs.values()) if finding["passed"] is None}
    found = [
        f"{name}: {key} {ours[name].get(key, 'nothing')} {theirs[name].get(key, 'nothing')}"
        for name in sorted(ours.keys() & theirs.keys() - doubtful)
        for key in sorted(ours[name].keys() | theirs[name].keys())
        if key not in {"passed", "evidence", "remedies"} and ours[name].get(key, ...) != theirs[name].get(key, ...)
    ]
    same_verdict = [name for name in ours.keys() & theirs.keys() if ours[name]["passed"] == theirs[name]["passed"]]
    found += [
        f"{name}: remedies"
        for name in sorted(same_verdict)
        if ours[name].get("remedies") != theirs[name].get("remedies")
    ]
    for name in sorted(ours.keys() & theirs.keys() - doubtful):
        found += [f"{name}: evidence"] if ours[name]["evidence"] != theirs[name]["evidence"] else []
    found += [f"{name}: missing" for name in sorted((ours.keys() ^ theirs.keys()) - doubtful)]
    verdicts = [{name: finding["passed"] for name, finding in findings.items()} for findings in (ours, theirs)]
    rest = {"data", "release", "guesses", "notes", "policy", *({"tree"} if verdicts[0] == verdicts[1] else ())}
    return [*found, *(f"{key}: {one[key]} {other[key]}" for key in sorted(rest) if one[key] != other[key])]


@given(twins(most=10), st.sampled_from([1, 3, 10]))
@pytest.mark.thorough
def test_public_reports_on_tables_with_other_secrets_differ_in_verdicts_alone(
    tmp_path_factory: pytest.TempPathFactory, pair: Twins, smallest: int
) -> None:
    policy = policy_on(pair.release, tmp_path_factory.mktemp("p"), smallest)
    assert interfering(*(public_report(policy, table) for table in pair.tables)) == []


@examples(1 / 4)
@given(
    twins(most=6, trees=1, true_labels=True),
    st.booleans(),
    st.sampled_from([{}, {"distribution": True}, {"sample": 0.5}]),
)
@pytest.mark.thorough
def test_public_reports_differ_in_verdicts_alone_whatever_attacks_are_granted(
    tmp_path_factory: pytest.TempPathFactory, pair: Twins, counting: bool, knows: dict[str, Any]
) -> None:
    attack = new_attack("counting", internal=False) if counting else new_attack("maxent", internal=False)
    changes = {"attacks": (new_attack("linking"), attack), "knows": POLICY.knows.model_validate(knows)}
    policy = policy_on(pair.release, tmp_path_factory.mktemp("p"), 3, **changes)
    assert interfering(*(public_report(policy, table) for table in pair.tables)) == []


@pytest.mark.thorough
def test_public_reports_on_reconstructed_records_differ_in_verdicts_alone(tmp_path: Path) -> None:
    """Who of a leaf has which job and class is not in the release, and decides how many cells are right."""
    columns = (
        categorical("town", "quasi_identifier", values=("Hill", "Mill")),
        categorical("job", "private", values=("cook", "nurse")),
        categorical("ill", "class", "sensitive", values=("no", "yes")),
    )
    jobs = CategoricalSplit("job", (Branch(("cook",), Leaf()), Branch(("nurse",), Leaf())))
    tree = CategoricalSplit("town", (Branch(("Hill",), Leaf()), Branch(("Mill",), jobs)))
    mill = [("Mill", job, ill) for job, ill in (("cook", "no"), ("nurse", "yes")) for _ in range(20)]
    apart = [("Hill", job, ill) for job, ill in (("cook", "no"), ("nurse", "yes")) for _ in range(20)]
    mixed = [("Hill", job, ill) for job in ("cook", "nurse") for ill in ("no", "yes") for _ in range(10)]
    pair = tuple(table_of(columns, [*mill, *hill]) for hill in (apart, mixed))
    release = Release({"use": "x"}, pair[0].schema, (counted(tree, pair[0]),))
    limits = [
        *POLICY.metrics,
        *(new_metric("reconstructed_cells", name=f"r{at}", at_most=at) for at in (-0.9, 0.02, 0.1)),
    ]
    policy = policy_on(
        release, tmp_path, 3, attacks=(new_attack("linking"), new_attack("table_reconstruction")), metrics=tuple(limits)
    )
    reports = [audit_policy(policy, PLUGINS, Tables(table)).report for table in pair]
    values = [next(f.value for f in report.findings if f.metric == "r-0.9") for report in reports]
    assert values[0] != values[1]
    assert interfering(*(public_report(policy, table) for table in pair)) == []


@pytest.mark.thorough
def test_a_belief_about_a_tested_column_rests_on_how_often_labels_are_right(tmp_path: Path) -> None:
    """More people are believed to be in the leaf whose class is less certain, so its accuracy shows in both beliefs."""
    columns = (
        categorical("age", "quasi_identifier", values=("old", "young")),
        categorical("ill", "sensitive", values=("no", "yes")),
        categorical("class", "class", "sensitive", values=("bad", "good")),
    )
    tree = CategoricalSplit("ill", (Branch(("no",), Leaf("good")), Branch(("yes",), Leaf("bad"))))
    rows = [["old", ill, label] for ill, label in (("no", "good"), ("yes", "bad")) for _ in range(10)]
    mixed = [[age, ill, "good" if i in {12, 13, 14, 15} else label] for i, (age, ill, label) in enumerate(rows)]
    pair = tuple(table_of(columns, each) for each in (rows, mixed))
    release = Release({"use": "x"}, pair[0].schema, (tree,), publish=Publish(leaves="labels", measure=False))
    policy = policy_on(release, tmp_path, 3, attacks=(new_attack("linking"), new_attack("maxent", internal=False)))
    beliefs = [audit_policy(policy, PLUGINS, Tables(table)).report for table in pair]
    values = [[f.value for f in report.findings if f.attack == "maxent" and f.secret == "ill"] for report in beliefs]
    assert values[0] != values[1]
    assert interfering(*(public_report(policy, table) for table in pair)) == []
