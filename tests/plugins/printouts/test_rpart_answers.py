"""Print-outs of R's rpart, compared with what R itself predicts and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import leafgate
from data_files import case_file
from installed_readers import read_foreign
from leafgate import Release, ReleaseError, Table
from leafgate.algorithms.node_counts import first_contradiction
from leafgate.algorithms.prediction import predict, predicted_numbers
from leafgate.api import Column, Schema, leaves
from leafgate.kernel.schema import bin_names
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR
from random_tables import categorical, numeric, table_of

HERE = Path(__file__).parent / "rpart"
LEARNED = {
    **{"levels": "two", "losses": "two", "unpredicted": "two", "weights": "two"},
    **{"digits": "three", "prior": "three", "six": "six"},
}
"""The trees of classes, and which classes each has learned."""

COUNTED = sorted(LEARNED.keys() - {"weights"})
EDGES = (0.0, 5.0, 250.0, 1000.0)


def people() -> pd.DataFrame:
    return pd.read_csv(HERE / "people.csv", keep_default_na=False)


def content_of(name: str) -> bytes:
    return (HERE / f"{name}.txt").read_bytes()


def released(name: str) -> tuple[ModelIR, Release, Table]:
    """The model of a print-out, and its release over R's people."""
    model, rows = read_foreign(content_of(name), name), people()
    target = (
        categorical("learned", "class", "sensitive", values=sorted(set(rows[LEARNED[name]])))
        if name in LEARNED
        else Column("learned", frozenset({"class", "sensitive"}), values=bin_names(EDGES), edges=EDGES)
    )
    columns = [
        categorical("ward", "quasi_identifier", values=sorted(set(rows["ward"]))),
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        target,
    ]
    learned = rows[LEARNED[name]] if name in LEARNED else [1.0] * len(rows)
    table = table_of(columns, list(zip(rows["ward"], rows["age"].astype(float), learned, strict=True)))
    return model, lower_model(model, table.schema, {}, name).release, table


def answers_by_cells(name: str) -> dict[tuple[str, float], Any]:
    """What R predicts, by ward and age."""
    rows = people()
    return dict(zip(zip(rows["ward"], rows["age"].astype(float), strict=True), rows[name], strict=True))


@pytest.mark.parametrize("name", sorted(LEARNED))
def test_a_tree_predicts_the_classes_that_r_predicts(name: str) -> None:
    _, release, table = released(name)
    theirs = answers_by_cells(name)
    cells = zip(table.frame["ward"], table.frame["age"], strict=True)
    assert [release.classes[i] for i in predict(release, table)] == [theirs[cell] for cell in cells]


@pytest.mark.parametrize("name", ["anova", "poisson"])
def test_a_tree_predicts_the_numbers_that_r_predicts(name: str) -> None:
    model, release, table = released(name)
    theirs = answers_by_cells(name)
    cells = zip(table.frame["ward"], table.frame["age"], strict=True)
    np.testing.assert_allclose(predicted_numbers(release, table), [theirs[cell] for cell in cells], rtol=1e-6)
    assert [item.kind for item in model.discloses] == ["sizes", "impurity", "categories"]


@pytest.mark.parametrize("name", COUNTED)
def test_a_tree_counts_the_people_whom_r_counts(name: str) -> None:
    model, release, _ = released(name)
    nodes = pd.read_csv(HERE / "nodes.csv")
    nodes = nodes[nodes["tree"] == name].pivot_table(index="node", columns="class", values="people")
    (tree,) = model.trees
    assert tree.counts is not None
    mine = tree.counts[~np.isnan(tree.counts).any(axis=1)]
    assert {tuple(row) for row in nodes[list(model.classes)].to_numpy()} == {tuple(row) for row in mine if sum(row)}
    assert (model.level, model.counted) == ("counts", "exact")
    assert len(list(leaves(release.trees[0]))) == content_of(name).count(b"*\n")


def test_weights_of_rows_leave_shares_and_sizes() -> None:
    model, _, _ = released("weights")
    assert (model.level, model.values, model.counted) == ("counts", "shares", "unknown")
    assert [item.kind for item in model.discloses] == ["sizes", "shares", "categories"]


def test_a_class_with_a_share_that_nobody_there_has_contradicts_the_table() -> None:
    """Of the 22 people of the ward without a name, some have each class."""
    model, _, table = released("weights")
    loaded, rows = lower_model(model, table.schema, {}, "weights"), people()
    assert loaded.provenance.node_numbers is not None
    assert first_contradiction(loaded.provenance.node_numbers, loaded.release, table) is None
    changed = rows["two"].where(rows["ward"] != "", "yes")
    other = table_of(table.schema.columns, list(zip(rows["ward"], rows["age"].astype(float), changed, strict=True)))
    found = first_contradiction(loaded.provenance.node_numbers, loaded.release, other)
    assert found is not None
    assert found.name == "yprob"


def test_a_class_that_no_node_predicts_needs_its_name_from_r() -> None:
    tree = content_of("unpredicted").partition(b"[1]")[0]
    with pytest.raises(ReleaseError, match=r'class 2 is called.*print\(attr\(fit, "ylevels"\)\)'):
        read_foreign(tree, "m")
    with pytest.raises(ReleaseError, match="lists other classes"):
        read_foreign(tree + b'[1] "no" "yes" "perhaps"\n', "m")


CLASS_WITH_NUMBERS = b"""n= 30

node), split, n, loss, yval, (yprob)

1) root 30 12 10 20 (0.6000000 0.4000000)
  2) age< 30 20 4 10 20 (0.8000000 0.2000000) *
  3) age>=30 10 2 3 (0.2000000 0.8000000) *
"""


def test_classes_that_hold_numbers_are_read_where_r_lists_them() -> None:
    model = read_foreign(CLASS_WITH_NUMBERS + b'[1] "10 20" "3"\n', "m")
    assert model.classes == ("10 20", "3")
    assert model.trees[0].counts is not None
    assert model.trees[0].counts[0].tolist() == [18, 12]
    with pytest.raises(ReleaseError, match="classes that hold numbers"):
        read_foreign(CLASS_WITH_NUMBERS, "m")


PARTLY_NAMED = """n= 100

node), split, n, {loss}, yval{shares}

1) root {root}
  2) f=a,b,c 60 {left}
    4) age< 30 30 {first} *
    5) age>=30 30 {second}
     10) f=a 15 {second} *
     11) f=b 15 {second} *
  3) f=d 40 {right} *
"""
"""Nobody with c is above 30."""
OF_CLASSES = PARTLY_NAMED.format(
    loss="loss",
    shares=", (yprob)",
    root="100 40 no (0.6 0.4)",
    left="10 no (0.8333333 0.1666667)",
    first="0 no (1 0)",
    second="10 no (0.6666667 0.3333333)",
    right="10 yes (0.25 0.75)",
)
OF_NUMBERS = PARTLY_NAMED.format(
    loss="deviance", shares="", root="100 90 7", left="9 6", first="4 5", second="3 7.5", right="6 9"
)


@pytest.mark.parametrize("text", [OF_CLASSES, OF_NUMBERS], ids=["classes", "numbers"])
def test_levels_that_a_split_leaves_out_get_no_answer_and_no_leaf(text: str) -> None:
    target = Column("y", frozenset({"class"}), values=bin_names(EDGES), edges=EDGES)
    columns = [
        categorical("f", "quasi_identifier", values=("a", "b", "c", "d", "never named")),
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        target if text is OF_NUMBERS else categorical("y", "class", values=("no", "yes")),
    ]
    rows = [("a", 40.0), ("c", 20.0), ("c", 40.0), ("d", 40.0), ("never named", 20.0)]
    table = table_of(columns, [(*row, 1.0 if text is OF_NUMBERS else "no") for row in rows])
    release = lower_model(read_foreign(text.encode(), "m"), table.schema, {}, "m").release
    assert len(list(leaves(release.trees[0]))) == text.count("*\n")
    if text is OF_NUMBERS:
        found = dict(
            zip(map(tuple, table.frame[["f", "age"]].to_numpy()), predicted_numbers(release, table), strict=True)
        )
        np.testing.assert_equal([found[row] for row in rows], [7.5, 5, np.nan, 9, np.nan])
    else:
        found = dict(zip(map(tuple, table.frame[["f", "age"]].to_numpy()), predict(release, table), strict=True))
        assert [found[row] for row in rows] == [0, 0, -1, 1, -1]


@pytest.mark.parametrize("text", [OF_CLASSES, OF_NUMBERS], ids=["classes", "numbers"])
def test_levels_without_an_answer_have_none_in_converted_and_scrubbed_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "tree.txt").write_text(text)
    for words in (("convert",), ("scrub", "--leaves", "labels")):
        new = tmp_path / f"{words[0]}.json"
        ended = leafgate(words[0], tmp_path / "tree.txt", new, *words[1:])
        assert ended.code == 0, ended.err
        (tree,) = read_foreign(new.read_bytes(), "new").trees
        silent = np.isnan(tree.values[tree.leaves]) if text is OF_NUMBERS else tree.values[tree.leaves] == 0
        assert silent.all(axis=1).sum() == 1


def test_a_policy_without_the_levels_of_either_branch_is_refused_with_what_to_declare() -> None:
    """Young people of the wards a and b, and older ones of x and y, have no number."""
    lines = [
        *("n= 20", "node), split, n, deviance, yval", "1) root 20 100 5", "2) age< 30 10 50 2"),
        *("4) ward=x 5 10 1 *", "5) ward=y 5 10 3 *", "3) age>=30 10 50 8", "6) ward=a 5 10 7 *", "7) ward=b 5 10 9 *"),
    ]
    model = read_foreign("\n".join(lines).encode(), "numbers.txt")
    _, _, table = released("anova")
    age, target = table.schema["age"], table.schema["learned"]

    def lowered(*wards: str) -> Release:
        ward = categorical("ward", "quasi_identifier", values=wards)
        return lower_model(model, Schema((ward, age, target)), {}, "numbers.txt").release

    assert lowered("a", "b", "x", "y").predicts_numbers
    for wards in (("a", "b"), ("b", "x")):
        with pytest.raises(ReleaseError, match=r"predicts nothing for some people.*every value that the model knows"):
            lowered(*wards)


@pytest.mark.parametrize("name", ["levels-named-on-both-sides", "narrowed-factor", "three-digits", "prior"])
def test_the_cases_are_read_with_exact_counts(name: str) -> None:
    content = case_file(f"rpart/{name}.txt").read_bytes()
    model = read_foreign(content, name)
    assert (model.level, model.counted) == ("counts", "exact")
    assert len(model.trees[0].leaves) == content.count(b"*\n") + content.count(b"*\r\n") + content.endswith(b"*")


@pytest.mark.parametrize("name", ["narrowed-factor", "three-digits"])
def test_an_audit_of_the_cases_finds_their_counts_in_the_table(name: str, tmp_path: Path) -> None:
    for end in ("txt", "csv"):
        (tmp_path / f"{name}.{end}").write_bytes(case_file(f"rpart/{name}.{end}").read_bytes())
    policy, model = tmp_path / "policy.yaml", tmp_path / f"{name}.txt"
    leafgate("init", str(tmp_path / f"{name}.csv"), "--class", "ill", "--model", str(model), "--out", str(policy))
    ended = leafgate("audit", str(policy))
    assert "????" not in ended.out


def test_init_writes_a_policy_for_a_factor_with_an_empty_level(tmp_path: Path) -> None:
    rows = people()[["ward", "age", "two"]]
    rows.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "tree.txt").write_bytes(content_of("levels"))
    policy = tmp_path / "policy.yaml"
    data, model = str(tmp_path / "people.csv"), str(tmp_path / "tree.txt")
    leafgate("init", data, "--class", "two", "--model", model, "--out", str(policy))
    assert "missing: []" in policy.read_text()
    assert "????" not in leafgate("audit", str(policy)).out
