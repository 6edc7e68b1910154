import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from hostile_skops import HOSTILE, RAN, SCHEMA, parts, schema_with, with_schema, zipped
from installed_readers import neutral_file, read_foreign
from leafgate import ReleaseError, from_sklearn
from leafgate.readers import CategoryCodes
from patience import ends_soon
from refused_models import assert_read_or_refused, assert_refused_in_little_memory


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.thorough
def test_a_hostile_file_is_refused_soon_and_runs_nothing(name: str) -> None:
    RAN.unlink(missing_ok=True)
    content = HOSTILE[name]()
    with ends_soon(), pytest.raises(ReleaseError) as caught:
        read_foreign(content, "model.skops")
    assert caught.value.exit_code == 2
    assert not RAN.exists()


@pytest.mark.parametrize(
    "name", ["10 GB header", "zip bomb", "a bomb that lies", "a schema of lists", "header of 4 GB"]
)
def test_a_hostile_file_takes_little_memory(name: str, tmp_path: Path) -> None:
    assert_refused_in_little_memory(tmp_path, HOSTILE[name]())


@given(st.data())
def test_a_part_with_some_bytes_changed_is_read_or_refused(data: st.DataObject) -> None:
    entries = parts()
    name = data.draw(st.sampled_from(sorted(entries)))
    content = bytearray(entries[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert_read_or_refused(zipped({**entries, name: bytes(content)}), "model.skops")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_a_schema_with_anything_at_some_node_is_read_or_refused(data: st.DataObject) -> None:
    document = json.loads(SCHEMA)
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or not here[key] or data.draw(st.integers(0, 3)) == 0:
            here[key] = data.draw(ANYTHING)
            break
        here = here[key]
    assert_read_or_refused(with_schema(json.dumps(document).encode()), "model.skops")


@pytest.mark.thorough
def test_many_categories_take_no_more_time_and_memory_than_there_are() -> None:
    """4,000 categories, one feature each, scaled afterwards; in pairs of category and feature they are 16 millions."""
    values = [f"z{i:04}" for i in range(4_000)]
    encoder = make_pipeline(OneHotEncoder(), MaxAbsScaler(), DecisionTreeClassifier(max_depth=1))
    encoder.fit(pd.DataFrame({"zip": values}), np.arange(4_000) == 17)
    encoder[1].scale_ = np.full(4_000, 2.0)
    with ends_soon():
        model = from_sklearn(encoder)
        assert model.origins is not None
        codes = model.origins[17]
        assert isinstance(codes, CategoryCodes)
        assert (model.features[17], codes.otherwise) == ("zip_z0017", None)
        assert {value for value in values if codes.codes[value] == 0.5} == {"z0017"}
        assert codes.codes["z0018"] == 0.0
        content = neutral_file(model)
        assert len(content) < 10**6
        again = read_foreign(content, "model")
        assert again.origins is not None
        assert again.origins[17] == codes
        assert again.model_sha256 == read_foreign(content, "model").model_sha256


@pytest.mark.thorough
def test_names_of_many_columns_are_found_at_once() -> None:
    names = [f"c{i}" for i in range(60_000)]
    columns = ColumnTransformer([("a", "passthrough", slice(0, 60_000))])
    model = make_pipeline(columns, DecisionTreeClassifier()).fit(np.arange(120_000.0).reshape(2, -1), [0, 1])
    columns.feature_names_in_ = np.array(names, dtype=object)
    columns.transformers_ = [(*columns.transformers_[0][:2], names)]
    with ends_soon():
        assert len(from_sklearn(model).features) == 60_000
        columns.transformers_ *= 3
        with pytest.raises(ReleaseError, match="makes more than 100,000 features"):
            from_sklearn(model)


def test_a_forged_name_of_a_class_is_not_told() -> None:
    forged = b'"__class__": "Popen\\nverdict: PASS' + b"x" * 5_000 + b'"'
    with pytest.raises(ReleaseError) as caught:
        read_foreign(schema_with(b'"__class__": "DecisionTreeClassifier"', forged), "model.skops")
    said = str(caught.value).partition(", and not")[0]
    assert "holds a model of a class unknown to leafgate" in said
    assert "Popen" not in str(caught.value)
    assert len(said) < 200
