from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

import leafgate
from adult import adult
from feature_rows import predicted
from foreign_releases import asked, at_the_edges, german, released
from installed_readers import Encoding, read_foreign, rows_of
from leafgate import ReleaseError, Table
from leafgate.algorithms.prediction import predict
from leafgate.api import CategoricalSplit, NumericSplit, Schema
from sklearn_pipelines import NUMBERS, PIPELINES, TEXTS, as_frame, people
from sklearn_zoo import skops_bytes


def fit(name: str, table: Table) -> Any:
    features, target = as_frame(table, each=True)
    if name == "its own categories":
        features = features.astype({c.name: "category" for c in table.schema.features if not c.numeric})
    return PIPELINES[name]().fit(features, target)


def truth(model: Any, name: str, table: Table) -> Any:
    features, _ = as_frame(table)
    if name == "its own categories":
        features = features.astype({c.name: "category" for c in table.schema.features if not c.numeric})
    return pd.Index(table.schema.classes).get_indexer(model.predict(features))


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_a_pipeline_in_the_policys_columns_predicts_what_it_predicts(name: str, gaps: bool) -> None:
    table = people(1, gaps=gaps)
    model = fit(name, table)
    for read in (leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "model.skops")):
        release = released(read, table.schema)
        for tried in (table, people(2, gaps=gaps), at_the_edges(release, table)):
            assert (predict(release, tried) == truth(model, name, tried)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["one-hot", "ordinal", "scaled", "robust", "nested"])
def test_adult_is_predicted_as_the_library_predicts_it(name: str) -> None:
    run = adult("adult-all")
    model = fit(name, run.table)
    release = released(read_foreign(skops_bytes(model), "model.skops"), run.table.schema)
    assert run.tables.test is not None
    for tried in (run.table, run.tables.test, at_the_edges(release, run.table)):
        assert (predict(release, tried) == truth(model, name, tried)).all()


@pytest.mark.parametrize("name", ["one-hot", "ordinal", "scaled", "rare"])
def test_german_credit_is_predicted_as_the_library_predicts_it(name: str) -> None:
    table = german()
    model = fit(name, table)
    release = released(leafgate.from_sklearn(model), table.schema)
    for tried in (table, at_the_edges(release, table)):
        assert (predict(release, tried) == truth(model, name, tried)).all()


def test_tests_read_as_the_policy_speaks() -> None:
    table = people(1, gaps=False)
    release = released(leafgate.from_sklearn(fit("ordinal", table)), table.schema)
    assert any(len(fan.branches[0].values) == 2 for fan in asked(release, CategoricalSplit) if fan.column == "school")
    ages = {cut.at for cut in asked(release, NumericSplit) if cut.column == "age"}
    assert ages
    assert all((at * 2).is_integer() for at in ages)


def test_dummies_of_pandas_are_known_by_their_names() -> None:
    table = people(1, gaps=False)
    features, target = as_frame(table, each=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(pd.get_dummies(features), target)
    release = released(leafgate.from_sklearn(model), table.schema)
    dummies = pd.get_dummies(as_frame(table)[0])
    assert (predict(release, table) == pd.Index(table.schema.classes).get_indexer(model.predict(dummies))).all()


def test_integer_codes_are_known_by_the_policy() -> None:
    table = people(1, gaps=False)
    features, target = as_frame(table, each=True)
    codes = {name: {v: float(i) for i, v in enumerate(table.schema[name].values or ())} for name in ("school", "job")}

    def coded(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{name: frame[name].map(result) for name, result in codes.items()})

    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(coded(features), (target == "yes").astype(int))
    read = leafgate.from_sklearn(model)
    with pytest.raises(ReleaseError, match="'school': is a number"):
        released(read, table.schema, rich=Encoding(codes={"no": 0, "yes": 1}))
    said = {name: Encoding(codes=outcome) for name, outcome in codes.items()} | {
        "rich": Encoding(codes={"no": 0, "yes": 1})
    }
    release = released(read, table.schema, **said)
    assert (predict(release, table) == model.predict(coded(as_frame(table)[0]))).all()


MIXED: dict[str, Callable[[], Any]] = {
    "PCA": lambda: make_column_transformer((PCA(1), ["age", "pay"]), (OneHotEncoder(), TEXTS)),
    "PolynomialFeatures": lambda: make_column_transformer((PolynomialFeatures(), NUMBERS), (OneHotEncoder(), TEXTS)),
    "a function": lambda: make_column_transformer((FunctionTransformer(np.abs), ["pay"]), (OneHotEncoder(), TEXTS)),
    "weights": lambda: make_column_transformer((OneHotEncoder(), TEXTS)).set_params(
        transformer_weights={"onehotencoder": 2}
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_cannot_be_told_in_columns_is_refused_by_name(name: str) -> None:
    table = people(1, gaps=False)
    model = make_pipeline(MIXED[name](), DecisionTreeClassifier(random_state=0)).fit(*as_frame(table, each=True))
    with pytest.raises(ReleaseError, match="'pay': is made by a function" if name == "a function" else name[:3]):
        released(leafgate.from_sklearn(model), table.schema)


def test_a_column_the_policy_drops_is_refused_by_name() -> None:
    table = people(1, gaps=False)
    schema = Schema(tuple(c for c in table.schema.columns if c.name != "pay"))
    with pytest.raises(ReleaseError, match="'pay': asks about a column that the policy does not have, or drops"):
        released(leafgate.from_sklearn(fit("one-hot", table)), schema)


def test_counts_of_the_release_are_the_tables_people() -> None:
    from leafgate.algorithms.consistency import inconsistent_leaves

    table = people(1)
    release = released(leafgate.from_sklearn(fit("rare", table)), table.schema)
    assert (release.count_semantics, inconsistent_leaves(release, table)) == ("exact", 0)
    other = replace(table, weight=table.weight + 1)
    assert inconsistent_leaves(release, other) > 0


def test_what_a_foreign_model_predicts_of_encoded_rows_is_what_its_release_predicts() -> None:
    table = people(1, gaps=False)
    model = fit("scaled", table)
    read = leafgate.from_sklearn(model)
    encoded = model[:-1].transform(as_frame(table)[0])
    mine = np.array(read.classes)[
        predicted(read, np.asarray(encoded.todense() if hasattr(encoded, "todense") else encoded))
    ]
    assert (mine == np.array(table.schema.classes)[predict(released(read, table.schema), table)]).all()


@pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist"])
def test_a_value_never_seen_is_what_the_encoder_makes_of_it(unknown: str) -> None:
    school = np.array(["none"] * 40 + ["basic"] * 40 + ["odd", "rare"] * 3, dtype=object)
    frame = pd.DataFrame({"school": school})
    encoder = OneHotEncoder(min_frequency=5, handle_unknown=unknown, sparse_output=False)
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(frame, school == "odd")
    cells = ["never seen", "odd", "basic"]
    made = model[0].transform(pd.DataFrame({"school": cells}))
    assert made[0].any() == (unknown == "infrequent_if_exist")
    assert np.array_equal(rows_of(leafgate.from_sklearn(model), {"school": cells}), made)
