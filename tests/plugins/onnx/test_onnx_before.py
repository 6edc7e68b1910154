"""Operators before the trees of an ONNX graph: every feature is, bit for bit, what onnxruntime makes of the cells."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from feature_rows import votes
from installed_readers import neutral_file, read_foreign, rows_of
from leafgate import ReleaseError
from leafgate.readers import CategoryCodes
from onnx_graphs import graph_of, op, with_features
from onnx_pipelines import session
from patience import ends_soon

Graph = tuple[list[Any], Mapping[str, Any], int]
F: Any = np.float32
D: Any = np.float64
W: Any = np.int64
WIDE = [op("Concat", "a b", "c", axis=1)]
HOT = op("OneHotEncoder", "t", "h", cats_strings=["x", "y", "z"], zeros=1)
AGES, TEXTS = [0, 1, 2, 3], ["x", "y", "z"]

READ: dict[str, Graph] = {
    "two numbers": ([op("Concat", "a b", axis=-1)], {}, 2),
    "a scaler": ([*WIDE, op("Scaler", "c", offset=[3.3, -0.7], scale=[0.1, 7.3])], {}, 2),
    "a scaler of one number for all": ([*WIDE, op("Scaler", "c", offset=[3.3], scale=[0.1])], {}, 2),
    "a scaler of whole numbers": ([op("Scaler", "w", offset=[3.3], scale=[0.1])], {}, 1),
    "two scalers": (
        [op("Scaler", "a", "s", offset=[1.1], scale=[3.7]), op("Scaler", "s", offset=[0.3], scale=[0.2])],
        {},
        1,
    ),
    "less and divided": ([*WIDE, op("Sub", "c k", "s"), op("Div", "s l")], {"k": F([0.1, 3]), "l": F([7.7, 0.3])}, 2),
    "times and more": ([*WIDE, op("Mul", "k c", "s"), op("Add", "s l")], {"k": F([[0.1, 3]]), "l": F(7.7)}, 2),
    "in double precision": ([op("Sub", "d k", "s"), op("Div", "s l")], {"k": D([0.1]), "l": D([[7.7]])}, 1),
    "double made single": ([op("Sub", "d k", "s"), op("Cast", "s", to=1)], {"k": D([0.1])}, 1),
    "single made double": ([op("Sub", "a k", "s"), op("Cast", "s", to=11)], {"k": F([0.1])}, 1),
    "whole made single": ([op("Cast", "w", to=1)], {}, 1),
    "whole made double": ([op("Cast", "w", to=11)], {}, 1),
    "within bounds": ([op("Clip", "b2 k l")], {"k": F(-0.3), "l": F(0.7)}, 1),
    "within one bound": ([op("Clip", "b2 - l")], {"l": F(0.7)}, 1),
    "gaps filled": ([*WIDE, op("Imputer", "c", imputed_value_floats=[0.3, 7.1], replaced_value_float=np.nan)], {}, 2),
    "filled, then scaled": (
        [
            op("Imputer", "a", "s", imputed_value_floats=[0.3], replaced_value_float=np.nan),
            op("Scaler", "s", offset=[1.1], scale=[3.7]),
        ],
        {},
        1,
    ),
    "scaled, then filled": (
        [
            op("Scaler", "a", "s", offset=[1.1], scale=[3.7]),
            op("Imputer", "s", imputed_value_floats=[0.3], replaced_value_float=np.nan),
        ],
        {},
        1,
    ),
    "texts one by one": ([HOT, op("Reshape", "h k")], {"k": W([-1, 3])}, 3),
    "texts flattened": ([HOT, op("Flatten", "h")], {}, 3),
    "texts by size": ([HOT, op("Reshape", "h k")], {"k": W([0, -1])}, 3),
    "texts scaled the other way round": (
        [HOT, op("Flatten", "h", "f"), op("Mul", "f k", "s"), op("Add", "s l")],
        {"k": F([-0.1, 3, 0]), "l": F(1.7)},
        3,
    ),
    "texts chosen": ([HOT, op("Gather", "h k", "g", axis=-1), op("Flatten", "g")], {"k": W([2, -3])}, 2),
    "texts put together": (
        [
            HOT,
            op("Split", "h k", "p q", axis=-1),
            op("ReduceSum", "q e", "r", keepdims=1),
            op("Concat", "p r", "c", axis=-1),
            op("Flatten", "c"),
        ],
        {"k": W([1, 2]), "e": W([-1])},
        2,
    ),
    "texts numbered": (
        [
            op("LabelEncoder", "t", "l", keys_strings=TEXTS, values_int64s=[5, 7, 5], default_int64=9),
            op("Cast", "l", to=1),
        ],
        {},
        1,
    ),
    "texts numbered and scaled": (
        [
            op("LabelEncoder", "t", "l", keys_strings=TEXTS, values_floats=[0.1, 7.7, -5], default_float=9.9),
            op("Scaler", "l", offset=[0.3], scale=[-1.7]),
        ],
        {},
        1,
    ),
    "nothing for texts never seen": (
        [op("LabelEncoder", "t", "l", keys_strings=TEXTS, values_int64s=[5, 7, 5]), op("Cast", "l", to=1)],
        {},
        1,
    ),
    "whole numbers one by one": (
        [op("OneHotEncoder", "w", "h", cats_int64s=AGES, zeros=1), op("Flatten", "h")],
        {},
        4,
    ),
    "whole numbers numbered": (
        [
            op("LabelEncoder", "w", "l", keys_int64s=AGES, values_floats=[4.0, 3.0, 2.0, 1.0], default_float=-1.0),
            op("Identity", "l"),
        ],
        {},
        1,
    ),
    "true or false": ([op("Cast", "o", to=1)], {}, 1),
    "some of a matrix": ([op("ArrayFeatureExtractor", "m k")], {"k": W([2, 0])}, 2),
    "one of a matrix": ([op("ArrayFeatureExtractor", "m k")], {"k": W(1)}, 1),
    "a matrix in parts": ([op("Split", "m k", "p q", axis=1), op("Concat", "q p", axis=1)], {"k": W([1, 2])}, 3),
    "a matrix and a column": ([op("Concat", "a m", axis=1)], {}, 4),
    "rows joined": ([op("FeatureVectorizer", "m a", inputdimensions=[3, 1])], {}, 4),
    "a constant by an operator": (
        [helper.make_node("Constant", [], ["k"], value=helper.make_tensor("", 1, [1], [0.1])), op("Sub", "a k")],
        {},
        1,
    ),
    "as it is": ([op("Identity", "a")], {}, 1),
}


def spelled(name: str) -> tuple[list[Any], Mapping[str, Any], int]:
    """The graph; `b2` is a number that is never missing."""
    operators, constants, width = READ[name]
    if not any("b2" in node.input for node in operators):
        return operators, constants, width
    fill = op("Imputer", "b", "b2", imputed_value_floats=[0.1], replaced_value_float=np.nan)
    return [fill, *operators], constants, width


def cells(n: int = 300) -> dict[str, list[Any]]:
    """Numbers of every size, some missing; texts and whole numbers, some never seen."""
    rng = np.random.default_rng(0)
    document: dict[str, Any] = {
        name: np.where(rng.random(n) < 0.1, np.nan, rng.normal(0, 10.0 ** rng.integers(-3, 9, n))) for name in "abd"
    }
    document |= {f"m{i}": rng.normal(0, 1e3, n) for i in range(3)}
    document |= {"w": rng.integers(-3, 6, n), "t": rng.choice([*TEXTS, "never"], n), "o": rng.random(n) < 0.5}
    return {name: [None if one != one else one for one in column.tolist()] for name, column in document.items()}


def fed(document: Any, people: Mapping[str, list[Any]]) -> dict[str, Any]:
    kinds = {1: F, 11: D, 7: W, 8: object, 9: np.bool_}
    given = {one.name: kinds[one.type.tensor_type.elem_type] for one in document.graph.input}
    gone = {name: [np.nan if one is None else one for one in column] for name, column in people.items()}
    return {
        name: np.column_stack([gone[f"m{i}"] for i in range(3)]).astype(kind)
        if name == "m"
        else np.array(gone[name], dtype=object).astype(kind)[:, None]
        for name, kind in given.items()
    }


@pytest.mark.parametrize("name", READ)
def test_every_feature_is_what_onnxruntime_makes_of_the_cells(name: str) -> None:
    operators, constants, width = spelled(name)
    document = graph_of(operators, constants, width=width)
    read = read_foreign(neutral_file(read_foreign(document.SerializeToString(), "m.onnx")), "m.json")
    people = cells()
    shown = with_features(document)
    number, features = session(shown.SerializeToString()).run(None, fed(document, people))
    texts = {name: [str(one) for one in people[name]] for name in "to"}
    if name.startswith("whole numbers"):
        texts["w"] = [str(one) for one in people["w"]]
    if len(document.graph.input) == 1 and document.graph.input[0].name == "m":
        people |= {f"x{i}": people[f"m{i}"] for i in range(3)}
    mine = rows_of(read, {**people, **texts})
    rounded = mine.astype(F) if features.dtype == F else mine
    assert np.array_equal(rounded, features, equal_nan=True)
    assert np.array_equal(votes(read, mine)[:, 0].astype(F), number.reshape(-1))


HIGHER: dict[str, Callable[[], Any]] = {
    "an operator not known": lambda: graph_of([op("Abs", "a")], width=1),
    "a known one of another domain": lambda: other_domain(),
    "numbers turned": lambda: graph_of([op("Mul", "a k")], {"k": F(-1)}, width=1),
    "numbers made nothing": lambda: graph_of([op("Mul", "a k")], {"k": F(0)}, width=1),
    "divided by nothing": lambda: graph_of([op("Div", "a k")], {"k": F(0)}, width=1),
    "a constant less a number": lambda: graph_of([op("Sub", "k a")], {"k": F(1)}, width=1),
    "a constant through a number": lambda: graph_of([op("Div", "k a")], {"k": F(1)}, width=1),
    "two columns added": lambda: graph_of([op("Add", "a b")], width=1),
    "two columns multiplied": lambda: graph_of([op("Mul", "a b")], width=1),
    "a constant for each person": lambda: graph_of([op("Add", "a k")], {"k": F([[1], [2]])}, width=1),
    "a constant that widens": lambda: graph_of([op("Add", "a k")], {"k": F([1, 2])}, width=2),
    "a constant too wide": lambda: graph_of([*WIDE, op("Add", "c k")], {"k": F([1, 2, 3])}, width=2),
    "a constant of another type": lambda: graph_of([op("Add", "a k")], {"k": D([1])}, width=1),
    "a constant that is no number": lambda: graph_of([op("Add", "a k")], {"k": F([np.nan])}, width=1),
    "an infinite constant": lambda: graph_of([op("Mul", "a k")], {"k": F([np.inf])}, width=1),
    "whole numbers added to": lambda: graph_of([op("Add", "w k", "s"), op("Cast", "s", to=1)], {"k": W([1])}, width=1),
    "bounds for each column": lambda: graph_of([*WIDE, op("Clip", "c k")], {"k": F([1, 2])}, width=2),
    "bounds from a column": lambda: graph_of([op("Clip", "a b")], width=1),
    "people joined": lambda: graph_of([op("Concat", "a b", axis=0)], width=1),
    "people joined from behind": lambda: graph_of([op("Concat", "a b", axis=-2)], width=1),
    "joined along no axis": lambda: graph_of([op("Concat", "a b", axis=7)], width=2),
    "joined without an axis": lambda: graph_of([op("Concat", "a b")], width=2),
    "two types joined": lambda: graph_of([op("Concat", "a w", axis=1)], width=2),
    "people mixed": lambda: graph_of([*WIDE, op("Reshape", "c k")], {"k": W([-1, 1])}, width=1),
    "people of a number": lambda: graph_of([*WIDE, op("Reshape", "c k")], {"k": W([2, -1])}, width=1),
    "people and columns in one row": lambda: graph_of([*WIDE, op("Reshape", "c k")], {"k": W([-1])}, width=1),
    "a shape of another kind": lambda: graph_of([*WIDE, op("Reshape", "c k")], {"k": F([-1, 2])}, width=2),
    "nothing for zeros": lambda: graph_of([*WIDE, op("Reshape", "c k", allowzero=1)], {"k": W([0, 2])}, width=2),
    "flattened with people": lambda: graph_of([*WIDE, op("Flatten", "c", axis=0)], width=2),
    "people chosen": lambda: graph_of([*WIDE, op("Gather", "c k")], {"k": W([0])}, width=2),
    "a column chosen that there is not": lambda: graph_of([*WIDE, op("Gather", "c k", axis=1)], {"k": W([2])}, width=1),
    "a column that there is not": lambda: graph_of([op("ArrayFeatureExtractor", "m k")], {"k": W([3])}, width=1),
    "a column from behind": lambda: graph_of([op("ArrayFeatureExtractor", "m k")], {"k": W([-1])}, width=1),
    "no column": lambda: graph_of([op("ArrayFeatureExtractor", "m k")], {"k": W([])}, width=1),
    "a column by a column": lambda: graph_of([op("ArrayFeatureExtractor", "m w")], width=1),
    "split too far": lambda: graph_of([op("Split", "m k", "p y", axis=1)], {"k": W([1, 3])}, width=1),
    "split into fewer": lambda: graph_of([op("Split", "m k", "p y", axis=1)], {"k": W([3])}, width=1),
    "split with nothing": lambda: graph_of([op("Split", "m k", "p y", axis=1)], {"k": W([0, 3])}, width=3),
    "split below nothing": lambda: graph_of([op("Split", "m k", "p y", axis=1)], {"k": W([-1, 4])}, width=3),
    "split people": lambda: graph_of([op("Split", "m k", "p y", axis=0)], {"k": W([1, 2])}, width=3),
    "people added up": lambda: graph_of([*WIDE, op("ReduceSum", "c k")], {"k": W([0])}, width=2),
    "columns added up": lambda: graph_of([*WIDE, op("ReduceSum", "c k")], {"k": W([1])}, width=1),
    "everything added up": lambda: graph_of([*WIDE, op("ReduceSum", "c")], width=1),
    "codes of two columns added up": lambda: graph_of(
        [
            HOT,
            op("OneHotEncoder", "w", "v", cats_int64s=AGES),
            op("Concat", "h v", "c", axis=-1),
            op("ReduceSum", "c k", "s"),
            op("Flatten", "s"),
        ],
        {"k": W([-1])},
        width=1,
    ),
    "an axis lost": lambda: graph_of([HOT, op("ReduceSum", "h k", keepdims=0)], {"k": W([-1])}, width=1),
    "a category twice": lambda: graph_of(
        [op("OneHotEncoder", "t", "h", cats_strings=["x", "x"]), op("Flatten", "h")], width=2
    ),
    "no category": lambda: graph_of([op("OneHotEncoder", "t", "h", zeros=1), op("Flatten", "h")], width=1),
    "categories of two types": lambda: graph_of(
        [op("OneHotEncoder", "t", "h", cats_strings=["x"], cats_int64s=[1]), op("Flatten", "h")], width=1
    ),
    "categories of another type": lambda: graph_of(
        [op("OneHotEncoder", "t", "h", cats_int64s=[1]), op("Flatten", "h")], width=1
    ),
    "numbers one by one": lambda: graph_of(
        [op("OneHotEncoder", "a", "h", cats_int64s=[1]), op("Flatten", "h")], width=1
    ),
    "neither zeros nor not": lambda: graph_of(
        [op("OneHotEncoder", "t", "h", cats_strings=["x"], zeros=2), op("Flatten", "h")], width=1
    ),
    "scaled numbers one by one": lambda: graph_of(
        [
            op("Scaler", "a", "s", offset=[1.0], scale=[2.0]),
            op("Cast", "s", "c", to=7),
            op("OneHotEncoder", "c", "h", cats_int64s=[1]),
            op("Flatten", "h"),
        ],
        width=1,
    ),
    "a key twice": lambda: graph_of(
        [op("LabelEncoder", "a", keys_floats=[1.0, 1.0], values_floats=[1.0, 2.0])], width=1
    ),
    "a key that is no number": lambda: graph_of(
        [op("LabelEncoder", "a", keys_floats=[1.0, np.nan], values_floats=[1.0, 2.0])], width=1
    ),
    "keys of another type": lambda: graph_of(
        [op("LabelEncoder", "t", keys_floats=[1.0], values_floats=[1.0])], width=1
    ),
    "numbers of two types for keys": lambda: graph_of(
        [op("LabelEncoder", "a", keys_floats=[1.0], values_floats=[1.0], values_int64s=[2])], width=1
    ),
    "keys of two types": lambda: graph_of(
        [op("LabelEncoder", "a", keys_floats=[1.0], keys_int64s=[1], values_floats=[1.0])], width=1
    ),
    "fewer numbers than keys": lambda: graph_of(
        [op("LabelEncoder", "a", keys_floats=[1.0, 2.0], values_floats=[1.0])], width=1
    ),
    "texts for texts": lambda: graph_of(
        [op("LabelEncoder", "t", "l", keys_strings=["x"], values_strings=["y"])], width=1, made="l"
    ),
    "codes coded": lambda: graph_of(
        [
            op("LabelEncoder", "t", "l", keys_strings=["x"], values_int64s=[1]),
            op("OneHotEncoder", "l", "h", cats_int64s=[1]),
            op("Flatten", "h"),
        ],
        width=1,
    ),
    "a scaler too wide": lambda: graph_of([op("Scaler", "a", offset=[1.0, 2.0], scale=[1.0, 2.0])], width=1),
    "a scaler that turns": lambda: graph_of([op("Scaler", "a", offset=[1.0], scale=[-1.0])], width=1),
    "a scaler of halves": lambda: graph_of([op("Scaler", "a", scale=[1.0])], width=1),
    "a scaler of doubles": lambda: graph_of([op("Scaler", "d", offset=[1.0], scale=[1.0])], width=1),
    "a number replaced": lambda: graph_of(
        [op("Imputer", "a", imputed_value_floats=[1.0], replaced_value_float=-1.0)], width=1
    ),
    "nothing replaced": lambda: graph_of([op("Imputer", "a", imputed_value_floats=[1.0])], width=1),
    "replaced by what is missing": lambda: graph_of(
        [op("Imputer", "a", imputed_value_floats=[np.nan], replaced_value_float=np.nan)], width=1
    ),
    "rows of other widths": lambda: graph_of([op("FeatureVectorizer", "m a", inputdimensions=[1, 3])], width=4),
    "rows of two types": lambda: graph_of([op("FeatureVectorizer", "w a", inputdimensions=[1, 1])], width=2),
    "rows of texts": lambda: graph_of([op("FeatureVectorizer", "t a", inputdimensions=[1, 1])], width=2),
    "texts as they are": lambda: graph_of([], width=1, made="t"),
    "texts made numbers": lambda: graph_of([op("Cast", "t", to=1)], width=1),
    "true or false as they are": lambda: graph_of([], width=1, made="o"),
    "numbers made true or false": lambda: graph_of([op("Cast", "a", "s", to=9), op("Cast", "s", to=1)], width=1),
    "fractions cut off": lambda: graph_of([op("Cast", "a", "s", to=7), op("Cast", "s", to=1)], width=1),
    "a cube": lambda: graph_of([HOT], width=1, made="h"),
    "features beyond the input": lambda: graph_of([], width=2, made="a"),
    "features beyond what is joined": lambda: graph_of(WIDE, width=3, made="c"),
    "a wire to nowhere": lambda: graph_of([op("Concat", "a nobody", axis=1)], width=2),
    "a wire to what comes later": lambda: graph_of([op("Identity", "s"), op("Identity", "a", "s")], width=1),
    "a circle": lambda: graph_of([op("Concat", "a s", axis=1), op("Identity", "y", "s")], width=2),
    "from the trees back": lambda: graph_of([op("Concat", "a number", axis=1)], width=2),
    "one name of two operators": lambda: graph_of([op("Identity", "a"), op("Identity", "b")], width=1),
    "one name of an operator and an input": lambda: graph_of([op("Identity", "a", "b"), op("Identity", "b")], width=1),
    "one name of an operator and a constant": lambda: graph_of(
        [op("Identity", "a", "k"), op("Add", "b k")], {"k": F([1])}, width=1
    ),
    "more outputs than it makes": lambda: graph_of([op("Identity", "a", "y z")], width=1),
    "an attribute of its own": lambda: graph_of([op("Identity", "a", people=[1.0])], width=1),
    "beside the trees": lambda: graph_of([op("Identity", "a"), op("Identity", "b", "z")], width=1),
    "doubled again and again": lambda: doubled(40),
    "wide again and again": lambda: doubled(15, rest=200),
    "added to again and again": lambda: graph_of(
        [op("Add", f"{'a' if i == 0 else f's{i}'} k", f"s{i + 1}") for i in range(60)],
        {"k": F([1])},
        width=1,
        made="s60",
    ),
    "wide and added to": lambda: graph_of(
        [op("Gather", "a k", "s0", axis=1), *(op("Add", f"s{i} l", f"s{i + 1}") for i in range(30))],
        {"k": np.zeros(100_000, dtype=np.int64), "l": F([1])},
        width=1,
        made="s30",
    ),
    "more keys than anybody has values": lambda: graph_of(
        [op("LabelEncoder", "w", keys_int64s=list(range(100_001)), values_floats=[0.0] * 100_001)], width=1
    ),
    "many keys again and again": lambda: graph_of(
        [
            op("LabelEncoder", "w", "s0", keys_int64s=list(range(90_000)), values_floats=[0.0] * 90_000),
            *(op("Scaler", f"s{i}", f"s{i + 1}", offset=[1.0], scale=[1.0]) for i in range(12)),
        ],
        width=1,
        made="s12",
    ),
}


def other_domain() -> Any:
    document = graph_of([op("Scaler", "a", offset=[1.0], scale=[1.0])], width=1)
    document.graph.node[0].domain = "mine"
    return document


def doubled(times: int, rest: int = 0) -> Any:
    """A row that is joined to itself, and then joined to nothing else for long."""
    operators = [op("Concat", "a a", "y0", axis=1)]
    operators += [op("Concat", f"y{i} y{i}", f"y{i + 1}", axis=1) for i in range(times)]
    operators += [op("Identity", f"y{times + i}", f"y{times + i + 1}") for i in range(rest)]
    return graph_of(operators, width=1, made=f"y{times + rest}")


@pytest.mark.thorough
@pytest.mark.parametrize("name", HIGHER)
def test_what_is_not_surely_told_in_columns_is_refused(name: str) -> None:
    content = HIGHER[name]().SerializeToString()
    with ends_soon(), pytest.raises(ReleaseError) as caught:
        read_foreign(content, "m.onnx")
    assert caught.value.exit_code == 2
    assert "is not what its format says" not in str(caught.value)


def test_operators_that_are_not_read_are_named() -> None:
    document = graph_of([op("Abs", "a", "s"), op("Sqrt", "s")], width=1)
    with pytest.raises(ReleaseError, match="operators that are not read here: Abs, Sqrt"):
        read_foreign(document.SerializeToString(), "m.onnx")


GIVEN: dict[str, Callable[[Any], None]] = {
    "without a type": lambda one: one.ClearField("type"),
    "of a type not read": lambda one: setattr(one.type.tensor_type, "elem_type", TensorProto.FLOAT16),
    "of any width": lambda one: one.type.tensor_type.shape.dim[1].ClearField("dim_value"),
    "of no shape": lambda one: one.type.tensor_type.ClearField("shape"),
    "of a billion columns": lambda one: setattr(one.type.tensor_type.shape.dim[1], "dim_value", 10**9),
}


@pytest.mark.parametrize("name", GIVEN)
def test_inputs_must_say_what_they_are(name: str) -> None:
    document = graph_of([op("Scaler", "m", offset=[1.0], scale=[1.0])], width=1)
    GIVEN[name](document.graph.input[0])
    with pytest.raises(ReleaseError, match="'m'"):
        read_foreign(document.SerializeToString(), "m.onnx")


def test_a_matrix_of_any_width_is_read_where_nothing_is_made_of_it() -> None:
    document = graph_of([op("Cast", "m", to=1)], width=2)
    GIVEN["of any width"](document.graph.input[0])
    assert read_foreign(document.SerializeToString(), "m.onnx").features == ("x0", "x1")


TENSORS: dict[str, Callable[[Any], Any]] = {
    "shorter than its shape": lambda t: t.dims.__setitem__(0, 3),
    "of a negative size": lambda t: t.dims.__setitem__(0, -2),
    "of values of another type": lambda t: (t.ClearField("raw_data"), t.int64_data.extend([1, 2])),
    "of two lists of values": lambda t: t.float_data.extend([1.0, 2.0]),
    "of another type": lambda t: setattr(t, "data_type", TensorProto.INT32),
    "of a type that there is not": lambda t: setattr(t, "data_type", 99),
    "in another file": lambda t: setattr(t, "data_location", TensorProto.EXTERNAL),
    "cut off": lambda t: setattr(t, "raw_data", t.raw_data[:-1]),
    "with ten axes": lambda t: t.dims.extend([1] * 10),
}


@pytest.mark.parametrize("name", TENSORS)
def test_constants_must_be_what_they_say(name: str) -> None:
    document = graph_of([*WIDE, op("Add", "c k")], {"k": F([1, 2])}, width=2)
    TENSORS[name](document.graph.initializer[0])
    with pytest.raises(ReleaseError):
        read_foreign(document.SerializeToString(), "m.onnx")


@pytest.mark.parametrize("field", ["float_data", "raw_data"])
def test_constants_may_be_listed_or_raw(field: str) -> None:
    document = graph_of([*WIDE, op("Sub", "c k")], {"k": F([0.25, 2])}, width=2)
    if field == "float_data":
        document.graph.initializer[0].CopyFrom(helper.make_tensor("k", 1, [2], [0.25, 2.0]))
    assert document.graph.initializer[0].HasField("raw_data") == (field == "raw_data")
    origins = read_foreign(document.SerializeToString(), "m.onnx").origins
    assert [step.by for one in origins or () for step in one.steps if step.operation == "minus"] == [0.25, 2.0]  # type: ignore[union-attr]


def test_an_attribute_of_two_types_is_refused() -> None:
    document = graph_of([op("Scaler", "a", offset=[1.0], scale=[1.0])], width=1)
    document.graph.node[0].attribute[0].ints.append(1)
    with pytest.raises(ReleaseError, match="one type with a value of another"):
        read_foreign(document.SerializeToString(), "m.onnx")


def test_two_graphs_in_one_file_are_refused() -> None:
    content = graph_of([op("Identity", "a")], width=1).SerializeToString()
    with pytest.raises(ReleaseError, match="or several"):
        read_foreign(content + content, "m.onnx")


def test_names_that_begin_alike_are_two() -> None:
    long = "n" * 400
    document = graph_of([op("Identity", "a", long + "1"), op("Concat", f"{long}1 {long}2", axis=1)], width=2)
    with pytest.raises(ReleaseError, match="nothing before it makes"):
        read_foreign(document.SerializeToString(), "m.onnx")


def test_an_attribute_of_another_type_than_it_says_is_refused() -> None:
    document = graph_of([op("Scaler", "a", offset=[1.0], scale=[1.0])], width=1)
    document.graph.node[0].attribute[0].type = onnx.AttributeProto.INTS
    with pytest.raises(ReleaseError, match="one type with a value of another"):
        read_foreign(document.SerializeToString(), "m.onnx")


def rewired(graph: Any, rng: random.Random) -> None:
    """A graph with one thing in it otherwise: a wire, an attribute, a constant, an operator, the order."""
    node = rng.choice(list(graph.node)[:-1] or list(graph.node))
    kind = rng.choice(["wire", "wire", "attribute", "less", "constant", "operator", "order"])
    if kind == "wire" and node.input:
        names = [name for each in graph.node for name in (*each.input, *each.output)]
        node.input[rng.randrange(len(node.input))] = rng.choice([*names, *(one.name for one in graph.initializer)])
    elif kind == "attribute" and node.attribute:
        result = rng.choice(list(node.attribute))
        listed = result.ints or result.floats
        if listed:
            listed[rng.randrange(len(listed))] = rng.choice([-1, 0, 1, 2, 3])
        elif result.type == onnx.AttributeProto.INT:
            result.i = rng.choice([-2, -1, 0, 1, 2, 7, 11])
    elif kind == "less" and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif kind == "constant" and graph.initializer:
        result = rng.choice(list(graph.initializer))
        value = numpy_helper.to_array(result).copy()
        value.reshape(-1)[rng.randrange(value.size)] = rng.choice([-2, -1, 0, 1, 2, 3])
        result.CopyFrom(numpy_helper.from_array(value.reshape(rng.choice([(-1,), (1, -1), value.shape])), result.name))
    elif kind == "operator":
        node.op_type, node.domain = rng.choice(["Add", "Sub", "Mul", "Div", "Concat", "Gather", "Flatten", "Clip"]), ""
    elif kind == "order" and len(graph.node) > 2:
        one, other = rng.sample(range(len(graph.node) - 1), 2)
        swapped = type(node).FromString(graph.node[one].SerializeToString())
        graph.node[one].CopyFrom(graph.node[other])
        graph.node[other].CopyFrom(swapped)


def told_alike(document: Any, people: Mapping[str, list[Any]]) -> bool:
    """Does the graph, where it is read and runs, give these people the numbers that the model gives them?"""
    content = document.SerializeToString()
    try:
        read = read_foreign(content, "m.onnx")
    except ReleaseError:
        return False
    kept = [
        i
        for i in range(50)
        if all(people[name][i] is not None for name in read.unspecified_missing_features & set(people))
    ]
    some = {name: [column[i] for i in kept] for name, column in people.items()}
    try:
        number = session(content).run(None, fed(document, some))[0]
    except Exception:  # onnxruntime has many ways to say no
        return False
    if len(document.graph.input) == 1 and document.graph.input[0].name == "m":
        some |= {f"x{i}": some[f"m{i}"] for i in range(3)}
    coded = {one.column for one in read.origins or () if isinstance(one, CategoryCodes)}
    spelled = {name: [str(cell) for cell in some[name]] for name in coded}
    assert np.array_equal(votes(read, rows_of(read, {**some, **spelled}))[:, 0].astype(F), number.reshape(-1))
    return True


@pytest.mark.thorough
def test_whatever_is_changed_in_a_graph_it_is_refused_or_read_as_it_runs() -> None:
    rng, people, alike = random.Random(7), cells(50), 0
    for _ in range(400):
        operators, constants, width = spelled(rng.choice(list(READ)))
        document = graph_of(operators, constants, width=width)
        rewired(document.graph, rng)
        alike += told_alike(document, people)
    assert alike > 60


TWICE: dict[str, Callable[[Any], None]] = {
    "an input": lambda g: g.input.append(g.input[0]),
    "a constant": lambda g: g.initializer.append(g.initializer[0]),
    "an attribute": lambda g: g.node[0].attribute.append(g.node[0].attribute[0]),
}


@pytest.mark.parametrize("name", TWICE)
def test_nothing_may_be_said_twice(name: str) -> None:
    document = graph_of([*WIDE, op("Add", "c k")], {"k": F([1, 2])}, width=2)
    TWICE[name](document.graph)
    with pytest.raises(ReleaseError, match=r"two inputs|twice"):
        read_foreign(document.SerializeToString(), "m.onnx")


@pytest.mark.thorough
def test_operators_are_given_no_more_columns_than_anybody_has() -> None:
    document = graph_of([op("Identity", "a", "s0"), op("Add", "s0 k")], {"k": F([1])}, width=1)
    for given in document.graph.input:
        if given.name == "a":
            given.type.tensor_type.shape.dim[1].dim_value = 100_000
    with pytest.raises(ReleaseError, match="comes after more than 20,000 columns"):
        read_foreign(document.SerializeToString(), "m.onnx")
