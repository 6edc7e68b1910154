"""Pipelines in ONNX files: the release predicts what onnxruntime answers, on every row that is given to both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from adult import adult
from foreign_releases import asked, at_the_edges, german, released
from installed_readers import Encoding, neutral_file, read_foreign
from leafgate import Release, ReleaseError, Table
from leafgate.algorithms.prediction import predict
from leafgate.algorithms.routing import route
from leafgate.api import CategoricalSplit, NumericSplit, Schema, make_table, typed_column
from leafgate.readers import ModelIR
from onnx_pipelines import PIPELINES, answers, document_of, session, tree, with_texts
from random_tables import categorical, numeric
from sklearn_pipelines import as_frame, people
from sklearn_zoo import skops_bytes


def read(document: onnx.ModelProto) -> ModelIR:
    """The model of a graph, as it is read from the file that leafgate writes of it."""
    return read_foreign(neutral_file(read_foreign(document.SerializeToString(), "m.onnx")), "m.json")


def check(document: onnx.ModelProto, release: Release, *tables: Table) -> None:
    """The release says of everybody what onnxruntime says."""
    for table in tables:
        mine = np.array(table.schema.classes)[predict(release, table)]
        assert (mine == answers(document, as_frame(table)[0]).astype(str)).all()


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_in_the_policys_columns_predicts_what_its_graph_predicts(name: str) -> None:
    table, other = (with_texts(people(seed, gaps=name == "filled")) for seed in (1, 2))
    document = document_of(PIPELINES[name]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    release = released(read(document), table.schema)
    check(document, release, table, other, at_the_edges(release, table))


@pytest.mark.parametrize("name", ["one-hot", "zeros"])
def test_numbers_of_double_precision_stay_so(name: str) -> None:
    table = with_texts(people(1, gaps=False))
    document = document_of(PIPELINES[name]().fit(*as_frame(table, each=True)), as_frame(table)[0], double=True)
    release = released(read(document), table.schema)
    check(document, release, table, at_the_edges(release, table))
    assert not any(cut.float32 for cut in asked(release, NumericSplit))


def alike(one: Release, other: Release, table: Table) -> bool:
    """Do both releases' trees part the people of the table alike?"""
    for mine, its in zip(one.trees, other.trees, strict=True):
        pairs = np.column_stack([route(each, table).leaf for each in (mine, its)])
        if not len(np.unique(pairs, axis=0)) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])):
            return False
    return True


@pytest.mark.parametrize("name", PIPELINES)
def test_the_groups_are_those_of_the_skops_file(name: str) -> None:
    table = with_texts(people(1, gaps=name == "filled"))
    model = PIPELINES[name]().fit(*as_frame(table, each=True))
    graph, skops = read(document_of(model, as_frame(table)[0])), read_foreign(skops_bytes(model), "m.skops")
    assert alike(released(graph, table.schema), released(skops, table.schema), table)


def test_tests_read_as_the_policy_speaks() -> None:
    table = with_texts(people(1, gaps=False))
    document = document_of(PIPELINES["ordinal"]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    release = released(read(document), table.schema)
    assert any(len(fan.branches[0].values) == 2 for fan in asked(release, CategoricalSplit) if fan.column == "school")
    ages = {cut.at for cut in asked(release, NumericSplit) if cut.column == "age"}
    assert ages
    assert all((at * 2).is_integer() for at in ages)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["one-hot", "ordinal", "zeros", "min and max"])
def test_adult_is_predicted_as_onnxruntime_predicts_it(name: str) -> None:
    run = adult("adult-all")
    document = document_of(PIPELINES[name]().fit(*as_frame(run.table, each=True)), as_frame(run.table)[0])
    release = released(read(document), run.table.schema)
    assert run.tables.test is not None
    check(document, release, run.table, run.tables.test, at_the_edges(release, run.table))


@pytest.mark.parametrize("name", ["one-hot", "nested", "robust", "both ways"])
def test_german_credit_is_predicted_as_onnxruntime_predicts_it(name: str) -> None:
    table = german()
    model = PIPELINES[name]().fit(*as_frame(table, each=True))
    document = document_of(model, as_frame(table)[0])
    release = released(read(document), table.schema)
    check(document, release, table, at_the_edges(release, table))
    assert alike(release, released(read_foreign(skops_bytes(model), "m.skops"), table.schema), table)


def few(seed: int) -> pd.DataFrame:
    """People with a column of each type that a graph can be given."""
    rng = np.random.default_rng(seed)
    n = 400
    return pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "part": rng.integers(0, 6, n) / 10,
            "code": rng.integers(0, 5, n).astype(float),
            "old": rng.random(n) < 0.5,
            "job": rng.choice(["x", "y", "z"], n).astype(object),
        }
    )


FEW = Schema(
    (
        numeric("age", "quasi_identifier", bounds=(0, 200)),
        categorical("part", "quasi_identifier", values=("0.10", "0", "0.2", "0.3", "0.4", "0.5", "0.7")),
        categorical("code", "quasi_identifier", values=("0", "1", "1.7", "2", "3", "4", "-0.5", "9")),
        categorical("old", "quasi_identifier", values=("False", "True")),
        categorical("job", "quasi_identifier", values=("x", "y", "z", "never")),
        categorical("rich", "class", "sensitive", values=("no", "yes")),
    )
)


def encoded(*, unknown: bool) -> Any:
    """A pipeline with an encoder for each type; with `unknown` it takes values never seen."""
    how: dict[str, Any] = {"handle_unknown": "use_encoded_value", "unknown_value": 7} if unknown else {}
    numbers = make_pipeline(SimpleImputer(strategy="constant", fill_value=3.0), OrdinalEncoder(**how))
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore" if unknown else "error"), ["code", "job"]),
        (numbers, ["part"]),
        (StandardScaler(), ["age"]),
        ("passthrough", ["old"]),
    )


def cells(values: pd.DataFrame) -> Table:
    """The people as a table of texts and numbers, a row for each."""
    spelled = values.assign(old=values["old"].astype(str), rich="no")
    for name in ("part", "code"):
        texts = {float(text): text for text in FEW[name].values or ()}
        spelled[name] = values[name].map(texts)
    frame = pd.DataFrame({c.name: typed_column(c, list(spelled[c.name])) for c in FEW.columns})
    return Table(FEW, frame, np.ones(len(frame), dtype=np.int64))


def test_every_type_of_column_is_seen_as_the_graph_sees_it() -> None:
    """Texts, whole numbers, true or false, numbers in single precision, and numbers without their fractions."""
    known, new = few(1), few(2)
    target = np.where(
        known["part"] * 3 + (known["code"] == 1) + known["old"] + (known["job"] == "y") > 1.6, "yes", "no"
    )
    document = document_of(make_pipeline(encoded(unknown=True), tree(9)).fit(known, target), known)
    new.loc[:49, "job"] = "never"
    new.loc[30:120, "code"] = np.resize([1.7, -0.5, 9.0], 91)
    new.loc[100:150, "part"] = 0.7
    release = released(read(document), FEW)
    for frame in (known, new):
        wanted = answers(document, frame)
        mine = np.array(["no", "yes"])[predict(release, cells(frame))]
        assert (mine == wanted).all()


def test_a_value_never_seen_goes_nowhere_where_the_graph_refuses_it() -> None:
    known = few(1)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), tree()).fit(known, known["job"] == "y")
    document = document_of(model, known)
    schema = Schema((*FEW.columns[:-1], categorical("rich", "class", "sensitive", values=("0", "1"))))
    release = released(read(document), schema)
    row = known.iloc[[0]].assign(job="never")
    with pytest.raises(Exception, match="Unknown"):
        answers(document, row)
    frame = cells(row).frame.assign(rich=typed_column(schema["rich"], ["0"]))
    assert route(release.trees[0], make_table(schema, frame)).leaf.tolist() == [-1]


def test_a_column_whose_missing_cells_the_graph_cannot_be_given_may_not_be_missing() -> None:
    table = with_texts(people(1, gaps=False))
    document = document_of(PIPELINES["zeros"]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    for name, refused in (("school", True), ("age", False)):
        columns = tuple(replace(c, missing=c.name == name) for c in table.schema.columns)
        if refused:
            with pytest.raises(ReleaseError, match="'school' may be missing"):
                released(read(document), Schema(columns))
        else:
            assert released(read(document), Schema(columns)).trees


def test_columns_of_one_matrix_are_named_by_the_policy_and_stay_scaled() -> None:
    table = with_texts(people(1, gaps=False))
    features, target = as_frame(table, each=True)
    x = features[["age", "pay"]].to_numpy().astype(np.float32)
    model = make_pipeline(StandardScaler(), tree(4)).fit(x, target)
    document = to_onnx(model, x[:1], options={"zipmap": False})
    said = {f"x{i}": Encoding(column=name) for i, name in enumerate(("age", "pay"))}
    release = released(read(document), table.schema, **said)
    mine = np.array(table.schema.classes)[predict(release, table)]
    given = as_frame(table)[0][["age", "pay"]].to_numpy().astype(np.float32)
    assert (mine == session(document.SerializeToString()).run(None, {"X": given})[0]).all()


def test_two_columns_that_share_a_name_in_the_graph_are_refused() -> None:
    table = with_texts(people(1, gaps=False))
    twin = numeric("p_y", "quasi_identifier", bounds=(0, 1))
    columns = tuple(replace(c, name="p-y") if c.name == "pay" else c for c in table.schema.columns)
    features, target = as_frame(table, each=True)
    made = features.rename(columns={"pay": "p-y"})
    document = document_of(PIPELINES["zeros"]().fit(made, target), made)
    assert released(read(document), Schema(columns)).trees
    with pytest.raises(ReleaseError, match="'p_y' may be another column"):
        released(read(document), Schema((*columns, twin)))


TOLD = {
    "one-hot": {"categories": "low"},
    "zeros": {"categories": "low", "moments": "medium"},
    "min and max": {"categories": "low", "extremes": "high", "rare_values": "medium"},
    "robust": {"categories": "low", "extremes": "high", "moments": "medium"},
    "filled": {"categories": "low", "moments": "medium"},
}


@pytest.mark.parametrize("name", TOLD)
def test_what_encoders_and_scalers_tell_is_told(name: str) -> None:
    table = with_texts(people(1, gaps=name == "filled"))
    document = document_of(PIPELINES[name]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    discloses = read_foreign(document.SerializeToString(), "m.onnx").discloses
    assert {item.kind: item.severity for item in discloses if not item.kind.startswith(("ratios", "scores"))} == TOLD[
        name
    ]


def test_the_names_of_columns_that_no_tree_is_given_are_told() -> None:
    known = few(1).assign(ssn=1.0, name="a")
    model = make_pipeline(make_column_transformer((MinMaxScaler(), ["age"])), tree(3)).fit(known, known["age"] > 40)
    discloses = read_foreign(document_of(model, known).SerializeToString(), "m.onnx").discloses
    says = [item.says for item in discloses if item.kind == "column_names"]
    assert says == ["the names of 6 column(s) that the model does not use (its graph's inputs)"]


def test_words_beside_inputs_and_tensors_are_other_content() -> None:
    table = with_texts(people(1, gaps=False))
    document = document_of(PIPELINES["min and max"]().fit(*as_frame(table, each=True)), as_frame(table)[0])
    document.graph.input[0].doc_string = "of a person"
    document.graph.initializer[0].doc_string = "of a person"
    discloses = read_foreign(document.SerializeToString(), "m.onnx").discloses
    assert ["2 part(s)" in item.says for item in discloses if item.kind == "other_content"] == [True]
