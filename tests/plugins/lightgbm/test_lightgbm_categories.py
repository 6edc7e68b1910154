"""Lists of categories in LightGBM's files: told where they must belong, asked for where they may belong elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_rows import votes
from hostile_models import lightgbm
from installed_readers import Encoding, lower_model, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.api import Schema, make_table, typed_column
from leafgate.readers import CategoryCodes, ModelIR, Unresolved
from patience import ends_soon
from random_tables import categorical, numeric

REGIONS = (1, 2, 10, 20, 30)
VALUES = {"job": ("d", "b", "a", "c"), "region": tuple(map(str, REGIONS)), "level": ("w", "u", "v")}
SCHEMA = Schema(
    (
        numeric("age", "quasi_identifier", bounds=(0, 100), missing=True),
        *(categorical(name, "quasi_identifier", values=(*v, "99"), missing=True) for name, v in VALUES.items()),
        categorical("rich", "class", "sensitive", values=("no", "yes")),
    )
)
RICH = {"rich": Encoding(codes={"no": 0, "yes": 1})}


def people(n: int = 500) -> pd.DataFrame:
    """Some with gaps; values are in the order in which the lists shall have them."""
    rng = np.random.default_rng(4)
    cells = {"age": rng.integers(18, 80, n).astype(float)} | {
        name: rng.choice(np.array(REGIONS if name == "region" else values, dtype=object), n)
        for name, values in VALUES.items()
    }
    frame = pd.DataFrame(
        {name: pd.Series(result, dtype=float if name == "age" else object) for name, result in cells.items()}
    )
    rich = (frame["age"] > 45) ^ frame["job"].isin(["a", "d"]) ^ frame["region"].isin([2, 20]) ^ (frame["level"] == "u")
    frame["rich"] = (rich ^ (rng.random(n) < 0.05)).astype(int)
    for name in ("age", *VALUES):
        frame[name] = frame[name].where(rng.random(n) > 0.08, math.nan)
    return frame


def typed(frame: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """The columns as `ordered` or `unordered` categories, or as bare `codes` of them."""
    made = {"age": frame["age"]}
    for name, kind in kinds.items():
        order = list(REGIONS if name == "region" else VALUES[name])
        each = pd.Categorical(frame[name].where(frame[name].isin(order)), categories=order, ordered=kind == "ordered")
        codes = pd.Series(each.codes, index=frame.index).astype(float)
        made[name] = codes.where(codes >= 0) if kind == "codes" else pd.Series(each, index=frame.index)
    return pd.DataFrame(made)


def trained(kinds: Mapping[str, str], **options: Any) -> lgb.Booster:
    frame = people()
    data = lgb.Dataset(typed(frame, kinds), label=frame["rich"], **options)
    how = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 12}
    return lgb.train(how, data, 8)


def read(model: lgb.Booster) -> ModelIR:
    return read_foreign(model.model_to_string().encode(), "m")


def check(model: lgb.Booster, kinds: Mapping[str, str], said: Mapping[str, Encoding] = RICH) -> None:
    """Everybody's prediction; of people with gaps, and with values that no list has, unless `said` tells the codes."""
    frame = people(200)
    frame.loc[:20, list(VALUES)] = "99"
    frame = frame if said == RICH else frame[21:].dropna()
    cells = {name: [_spelled(cell, str(name)) for cell in frame[name]] for name in frame}
    table = make_table(SCHEMA, pd.DataFrame({c.name: typed_column(c, cells[c.name]) for c in SCHEMA.columns}))
    release = lower_model(read(model), SCHEMA, said, "m").release
    back = pd.DataFrame({c.name: table.frame[c.name].astype(float if c.numeric else object) for c in SCHEMA.columns})
    scores = np.asarray(model.predict(typed(back.astype({"region": float}), kinds), raw_score=True))
    assert (predict(release, table) == (scores > 0)).all()


def _spelled(cell: Any, name: str) -> Any:
    if pd.isna(cell):
        return None
    return ("no", "yes")[cell] if name == "rich" else cell if name == "age" else str(cell)


TOLD = {
    "ordered texts": {"level": "ordered"},
    "ordered numbers": {"region": "ordered"},
    "ordered ones beside others": {"job": "unordered", "region": "ordered", "level": "unordered"},
    "all ordered": {"job": "ordered", "region": "ordered", "level": "ordered"},
    "none ordered": {"job": "unordered", "region": "unordered", "level": "unordered"},
}


@pytest.mark.parametrize("kinds", TOLD.values(), ids=TOLD)
def test_lists_that_can_be_of_one_column_alone_are_read(kinds: Mapping[str, str]) -> None:
    check(trained(kinds), kinds)


def test_lists_of_one_column_alone_are_read_where_the_settings_name_others() -> None:
    kinds = {"job": "ordered", "region": "unordered"}
    model = trained(kinds, categorical_feature=["job"])
    check(model, kinds)


@pytest.mark.parametrize(
    "kinds", [{"level": "codes", "job": "ordered"}, {"level": "codes", "job": "unordered"}], ids=str
)
def test_lists_that_may_be_of_several_columns_are_asked_for(kinds: Mapping[str, str]) -> None:
    model = trained(kinds, categorical_feature=["level"])
    codes = {name: Encoding(codes={v: float(i) for i, v in enumerate(VALUES[name])}) for name in kinds}
    with pytest.raises(ReleaseError, match="does not say which: give `codes`") as caught:
        lower_model(read(model), SCHEMA, RICH, "m")
    assert "'level'" in str(caught.value)
    assert "'job'" in str(caught.value)
    check(model, kinds, RICH | codes)


def test_a_column_of_few_numbers_may_be_the_lists_or_not() -> None:
    """Whether somebody's flag or somebody's level was the ordered column, no file of LightGBM says."""
    frame = people()
    flag = (frame["age"] > 40).astype(int)
    data = lgb.Dataset(typed(frame, {"level": "ordered"}).assign(flag=flag), label=frame["rich"])
    model = read(lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 3))
    assert model.origins is not None
    assert [isinstance(one, Unresolved) for one in model.origins] == [False, True, True]


ITEMS = st.lists(
    st.tuples(st.sampled_from(["list", "plain", "constant"]), st.integers(1, 5), st.integers(0, 5), st.booleans()),
    min_size=1,
    max_size=7,
)


def belonging(
    lists: Any, infos: Sequence[str], features: int | None = None
) -> tuple[dict[int, list[str]], frozenset[int]]:
    """The features that are told to have a list, with it, and those in doubt, of a file that asks about the first."""
    names = [f"f{number}" for number in range(features or len(infos))]
    tree = (
        "num_leaves=2\nsplit_feature=0\nthreshold=0.5\ndecision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=1 2"
    )
    text = lightgbm(tree, f"\npandas_categorical:{json.dumps(lists)}").decode()
    text = text.replace("max_feature_idx=0", f"max_feature_idx={len(names) - 1}")
    text = text.replace("feature_names=a", f"feature_names={' '.join(names)}")
    text = text.replace("feature_infos=none", f"feature_infos={' '.join(infos)}")
    origins = read_foreign(text.encode(), "m").origins or (None,) * len(names)
    told = {i: list(origin.codes) for i, origin in enumerate(origins) if isinstance(origin, CategoryCodes)}
    return told, frozenset(i for i, origin in enumerate(origins) if isinstance(origin, Unresolved))


@given(ITEMS)
def test_a_list_is_never_taken_for_another_columns(items: list[tuple[str, int, int, bool]]) -> None:
    """Columns with a list and without, whatever LightGBM saw of them: what is told is so, all others are in doubt."""
    infos: list[str] = []
    lists: list[list[str]] = []
    owners: list[int] = []
    for number, (kind, size, most, by_set) in enumerate(items):
        top = min(most, size - 1) if kind == "list" else most
        text = ":".join(map(str, range(-1, top + 1))) if by_set else f"[0:{top}]"
        infos.append("none" if kind == "constant" else text)
        if kind == "list":
            lists.append([f"{number}.{i}" for i in range(size)])
            owners.append(number)
    told, doubtful = belonging(lists, infos)
    assert all(told[number] == lists[owners.index(number)] for number in told)
    assert set(owners) <= told.keys() | doubtful


def test_lists_that_fit_nothing_leave_every_feature_in_doubt() -> None:
    assert belonging([["a"], ["b"]], ["[0:9]", "none"])[1] == {0, 1}
    assert belonging([["a", "b"]], ["[0:1]", "[0.5:1]", "[-1:1]"])[0] == {0: ["a", "b"]}
    assert belonging([["a", "b"]], [], 1)[0] == {0: ["a", "b"]}
    assert belonging([["a", "b"]], [], 2)[1] == {0, 1}


@pytest.mark.parametrize("document", [{}, [1], "x", [["a"], {}]], ids=str)
def test_lists_that_are_none_are_refused(document: Any) -> None:
    with pytest.raises(ReleaseError, match="must be a list of lists"):
        belonging(document, ["none"])


@pytest.mark.thorough
def test_many_lists_and_features_are_gone_through_soon() -> None:
    with ends_soon():
        assert len(belonging([["a", "b"]] * 50_000, ["[0:1]"] * 100_000)[1]) == 100_000


def test_what_is_in_a_list_twice_or_of_two_kinds_is_asked_for() -> None:
    text = trained({"level": "ordered"}).model_to_string()
    for result in ('["w", "w", "v"]', '["w", 1, "v"]', '["w", null, "v"]'):
        model = read_foreign(text.replace('["w", "u", "v"]', result).encode(), "m")
        with pytest.raises(ReleaseError, match="neither all texts nor all numbers"):
            lower_model(model, SCHEMA, RICH, "m")
    model = read_foreign(text.encode(), "m")
    assert model.origins == (None, CategoryCodes("level", {"w": 0.0, "u": 1.0, "v": 2.0}, math.nan))


@pytest.mark.parametrize("at", [5e-36, -5e-36, 1e-40, -1e-40, 0.0])
def test_a_threshold_among_the_numbers_that_are_zero_parts_where_lightgbm_parts(at: float) -> None:
    x = np.random.default_rng(1).normal(size=(300, 1))
    how = {"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 2}
    text = lgb.train(how, lgb.Dataset(x, label=(x[:, 0] > 0).astype(int)), 1).model_to_string()
    old = next(line for line in text.splitlines() if line.startswith("threshold="))
    text = text.replace(old, f"threshold={at!r}")
    zero = float(np.float32(1e-35))
    near = [0.0, -0.0, at, 4e-36, 6e-36, zero, np.nextafter(zero, 1), 2e-35, 1.0]
    rows = np.array([[sign * number] for number in near for sign in (1, -1)])
    wanted = lgb.Booster(model_str=text).predict(rows, raw_score=True)
    assert np.array_equal(votes(read_foreign(text.encode(), "m"), rows)[:, -1], np.asarray(wanted))
