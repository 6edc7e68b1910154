"""Group metrics beside pyCANON: what both define alike is equal; where they part, which of them is right and why.

`pycanon_peer` says how to have pyCANON here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_files import DATA
from leafgate import Table
from leafgate.app import Finding, Session, Tables, policy_of
from pycanon_peer import pycanon, told_by_pycanon
from random_tables import table_of
from table_files import table_in

Found = Mapping[str, Finding]
Groups = Mapping[str, Mapping[str, int]]
"""How many people of each group have each value of the secret."""

same = partial(pytest.approx, rel=1e-9, abs=1e-9)
ALIKE = {
    "k": {"use": "k_anonymity", "at_least": 1},
    "alpha": {"use": "confidence", "at_most": 1},
    "distinct": {"use": "l_diversity", "form": "distinct", "at_least": 1},
    "t": {"use": "t_closeness", "at_most": 1},
    "basic beta": {"use": "beta_likeness", "at_most": 9},
}
UNLIKE = {
    "entropy": {"use": "l_diversity", "form": "entropy", "at_least": 1},
    "enhanced beta": {"use": "beta_likeness", "form": "enhanced", "at_most": 9},
    "delta": {"use": "delta_disclosure", "at_most": 9},
}


@pytest.fixture(scope="module", autouse=True)
def _pycanon_is_here() -> None:
    pycanon()


ORDERED = {"use": "t_closeness", "distance": "ordered", "at_most": 1}


def recursive(c: float) -> dict[str, Any]:
    return {"use": "l_diversity", "form": "recursive", "c": c, "at_least": 0}


def alpha_k(alpha: float) -> dict[str, Any]:
    return {"use": "alpha_k_anonymity", "alpha": alpha, "at_least": 0}


def loaded(
    frame: pd.DataFrame,
    public: Sequence[str],
    secret: str,
    values: Sequence[str],
    metrics: Mapping[str, Mapping[str, Any]],
    data: Mapping[str, Any] | None = None,
) -> Any:
    """The policy that publishes the records; the secret's values are given in order."""
    columns: dict[str, Any] = {name: {"role": "ignored"} for name in frame.columns}
    columns[secret] = {"role": "sensitive", "values": list(values), "ordered": True}
    for name in public:
        columns[name] = {"role": "quasi_identifier", "values": sorted(frame[name].dropna().unique())}
    document = {
        "leafgate": 1,
        "name": "beside pyCANON",
        "data": {"columns": columns, "on_missing": "keep", **(data or {})},
        "build": {"use": "table"},
        "attacks": [{"use": "linking"}],
        "metrics": [{**metric, "name": name} for name, metric in metrics.items()],
    }
    return policy_of(document, folder=DATA, root=DATA)


def findings(loaded: Any, table: Table) -> Found:
    """What an audit finds, by the metric's name."""
    audit = Session(loaded.policy, loaded.plugins, Tables(table)).audit()
    return {finding.metric: finding for finding in audit.report.findings}


@dataclass(frozen=True)
class Source:
    """A table of `shared/data`; its columns' names, in file order."""

    path: str
    columns: tuple[str, ...]
    delimiter: str = ","

    @property
    def frame(self) -> pd.DataFrame:
        """Its cells as texts, as pandas reads them; the test is skipped where the file is not here."""
        path = DATA / self.path
        if not path.exists():
            pytest.skip(f"{self.path} is not here: set LEAFGATE_DATA to the folder that holds it")
        reading: dict[str, Any] = {"dtype": str, "keep_default_na": False, "skipinitialspace": True}
        frame: pd.DataFrame = pd.read_csv(path, sep=self.delimiter, header=None, names=list(self.columns), **reading)
        return frame

    def table(self, loaded: Any) -> Table:
        """The Table as leafgate reads it."""
        return table_in(loaded.policy.data, DATA / self.path)

    @property
    def data(self) -> dict[str, Any]:
        return {"csv": {"header": False, "skip_initial_space": True, "delimiter": self.delimiter}}


ADULT = Source(
    "adult/adult.data",
    (
        *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
        *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
    ),
)
NURSERY = Source(
    "nursery/nursery.data",
    ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"),
)
GERMAN = Source("german_credit/german.data", tuple(f"c{number}" for number in range(1, 22)), delimiter=" ")
VOTES = Source("congressional_voting/house-votes-84.data", ("party", *(f"vote{number}" for number in range(1, 17))))
DEMOGRAPHY = ("sex", "race", "relationship", "education")
GRADES = ("not_recom", "recommend", "very_recom", "priority", "spec_prior")


@dataclass(frozen=True)
class Setting:
    """Who knows what of whom: public columns, and one secret."""

    source: Source
    public: tuple[str, ...]
    secret: str

    def __str__(self) -> str:
        return f"{Path(self.source.path).stem} {'+'.join(self.public)} {self.secret}"


FAST = [
    Setting(ADULT, ("sex", "race"), "income"),
    Setting(ADULT, ("sex", "race"), "occupation"),
    Setting(ADULT, ("sex", "age"), "income"),
    Setting(ADULT, DEMOGRAPHY, "income"),
    Setting(NURSERY, ("parents", "has_nurs"), "class"),
    Setting(NURSERY, ("parents", "form", "housing", "finance"), "class"),
    Setting(NURSERY, ("social", "health"), "class"),
    Setting(GERMAN, ("c15",), "c21"),
    Setting(GERMAN, ("c15",), "c7"),
    Setting(GERMAN, ("c9", "c15"), "c21"),
    Setting(GERMAN, ("c9", "c15", "c17"), "c4"),
    Setting(GERMAN, ("c9", "c20"), "c7"),
    Setting(VOTES, ("vote1",), "party"),
    Setting(VOTES, ("vote1", "vote2"), "party"),
    Setting(VOTES, ("vote4", "vote5", "vote14"), "party"),
    Setting(VOTES, ("party",), "vote4"),
]
SLOW = [Setting(ADULT, DEMOGRAPHY, "occupation"), Setting(ADULT, ("age", "sex", "race"), "education")]
settings_of_tables = pytest.mark.parametrize(
    "setting", [*FAST, *(pytest.param(setting, marks=pytest.mark.slow) for setting in SLOW)], ids=str
)


def audited(setting: Setting, metrics: Mapping[str, Mapping[str, Any]], values: Sequence[str] = ()) -> Found:
    """What leafgate finds in the file; the secret's values are those that occur, unless given."""
    source, secret = setting.source, setting.secret
    frame = source.frame
    result = loaded(frame, setting.public, secret, values or sorted(frame[secret].unique()), metrics, source.data)
    return findings(result, source.table(result))


@cache
def ours(setting: Setting) -> Found:
    """Every metric that pyCANON has something like, from one audit."""
    return audited(setting, {**ALIKE, **UNLIKE})


@cache
def theirs(setting: Setting) -> Mapping[str, float]:
    return told_by_pycanon(setting.source.frame, setting.public, setting.secret)


def shares(setting: Setting) -> tuple[pd.DataFrame, pd.Series]:
    """People per group and value, and everyone's shares: a way of its own, by pandas."""
    frame, secret = setting.source.frame, setting.secret
    counts = frame.groupby([*setting.public, secret]).size().unstack(fill_value=0)
    return counts, frame[secret].value_counts(normalize=True)


@settings_of_tables
@pytest.mark.parametrize("metric", ALIKE)
def test_what_both_define_alike_is_equal(setting: Setting, metric: str) -> None:
    assert ours(setting)[metric].value == same(theirs(setting)[metric])


@settings_of_tables
def test_their_entropy_l_is_ours_cut_to_a_whole_number(setting: Setting) -> None:
    entropy = ours(setting)["entropy"].value
    assert entropy is not None
    assert theirs(setting)["entropy"] == math.floor(entropy)


@settings_of_tables
def test_pycanons_enhanced_beta_is_ours_where_some_beta_holds(setting: Setting) -> None:
    enhanced, basic = ours(setting)["enhanced beta"], ours(setting)["basic beta"].value
    assert basic is not None
    if enhanced.value is not None:
        assert theirs(setting)["enhanced beta"] == same(enhanced.value)
        return
    _, everyone = shares(setting)
    assert enhanced.evidence["unbounded"]
    assert theirs(setting)["enhanced beta"] == same(min(basic, -math.log(everyone.min())))


@settings_of_tables
def test_their_delta_is_ours_but_for_the_values_a_group_rules_out(setting: Setting) -> None:
    counts, everyone = shares(setting)
    quotients = counts.div(counts.sum(axis=1), axis=0) / everyone
    delta = ours(setting)["delta"]
    assert (delta.value is None) == bool((counts == 0).any(axis=None)) == ("unbounded" in delta.evidence)
    assert theirs(setting)["delta"] == same(np.abs(np.log(quotients.where(quotients > 0))).max(axis=None))
    assert delta.value is None or delta.value == same(theirs(setting)["delta"])


@settings_of_tables
def test_alpha_and_k_of_theirs_are_granted_and_no_smaller_alpha_is(setting: Setting) -> None:
    result = theirs(setting)
    metrics = {"granted": alpha_k(result["alpha"]), "refused": alpha_k(result["alpha"] - 1e-9)}
    found = audited(setting, metrics)
    assert (found["granted"].value, found["refused"].value) == (result["k"], 0)


@settings_of_tables
def test_their_c_is_1_or_2_whatever_the_table_and_ours_is_the_one_of_the_definition(setting: Setting) -> None:
    result = theirs(setting)
    counts, _ = shares(setting)
    falling = -np.sort(-counts.to_numpy(), axis=1)
    distinct = int((counts > 0).sum(axis=1).min())
    c = int(np.floor(falling[:, 0] / falling[:, distinct - 1 :].sum(axis=1)).max()) + 1  # smallest whole one
    metrics = {"enough": recursive(c), "too little": recursive(c - 1)} if c > 1 else {"enough": recursive(c)}
    found = {name: finding.value for name, finding in audited(setting, metrics).items()}
    assert result["l of c"] == distinct == found["enough"]
    assert c == 1 or found["too little"] < distinct  # type: ignore[operator]
    assert math.isnan(result["c"]) if distinct == 1 else result["c"] in {1, 2}


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        (Setting(NURSERY, ("parents", "has_nurs"), "class"), GRADES),
        (Setting(NURSERY, ("form", "housing"), "class"), GRADES),
        (Setting(GERMAN, ("c9", "c20"), "c7"), ("A71", "A72", "A73", "A74", "A75")),
        (Setting(VOTES, ("party",), "vote4"), ("n", "?", "y")),
        (Setting(ADULT, ("sex", "race"), "education-num"), tuple(str(number) for number in range(1, 17))),
    ],
    ids=str,
)
def test_ordered_t_closeness_is_theirs_of_the_places_in_the_order(setting: Setting, values: tuple[str, ...]) -> None:
    places = {value: place for place, value in enumerate(values)}
    frame, secret = setting.source.frame, setting.secret
    numbered = frame.assign(**{secret: frame[secret].map(places)})
    ordered = audited(setting, {"t": ORDERED}, values)["t"].value
    assert ordered == same(told_by_pycanon(numbered, setting.public, secret)["t"])


def people(groups: Groups) -> pd.DataFrame:
    """Everybody's group and secret."""
    rows = [(group, value) for group, held in groups.items() for value, count in held.items() for _ in range(count)]
    return pd.DataFrame(rows, columns=["group", "secret"], dtype=str)


def all_by_hand(
    frame: pd.DataFrame,
    metrics: Mapping[str, Mapping[str, Any]],
    public: Sequence[str] = ("group",),
    secret: str = "secret",
    values: Sequence[str] = (),
) -> Found:
    """What leafgate finds in a frame of texts; the secret's values are those that occur, unless given."""
    result = loaded(frame, public, secret, values or sorted(frame[secret].unique()), metrics)
    columns = result.policy.data.meaning().columns
    cells = frame[[column.name for column in columns]].astype(object)
    rows = list(cells.where(cells.notna(), None).itertuples(index=False, name=None))
    return findings(result, table_of(columns, rows))


def by_hand(frame: pd.DataFrame, metric: Mapping[str, Any], **asked: Any) -> Finding:
    return all_by_hand(frame, {"one": metric}, **asked)["one"]


def pycanon_of(frame: pd.DataFrame) -> Mapping[str, float]:
    return told_by_pycanon(frame, ["group"], "secret")


def test_an_entropy_l_of_almost_3_is_1_short_of_it_in_pycanon() -> None:
    # H of shares 2/5, 2/5, 1/5 is 1.0549 nats, e ** H is 2.8717.
    table = people({"x": {"a": 2, "b": 2, "c": 1}})
    assert by_hand(table, UNLIKE["entropy"]).value == same(5 / 2**0.8)
    assert pycanon_of(table)["entropy"] == 2


def test_pycanon_takes_the_rarest_value_for_the_most_frequent_in_recursive_diversity() -> None:
    # For l = 2 the definition asks for 100 < c * 1. pyCANON's counts are in rising order: 1 < c * 100.
    table = people({"x": {"a": 100, "b": 1}})
    assert [by_hand(table, recursive(c)).value for c in (0.5, 1.0, 100.0, 100.5, 101.0)] == [0, 1, 1, 2, 2]
    assert (pycanon_of(table)["c"], pycanon_of(table)["l of c"]) == (1, 2)


def test_a_value_that_a_group_rules_out_is_unbounded_here_and_ignored_by_pycanon() -> None:
    # Nobody of x has b. Of what is there, b of y is farthest from everyone: ln(1/2 / (1/4)) = ln 2.
    table = people({"x": {"a": 2}, "y": {"a": 1, "b": 1}})
    found = by_hand(table, UNLIKE["delta"])
    assert (found.value, found.evidence["unbounded"]) == (None, True)
    assert pycanon_of(table)["delta"] == same(math.log(2))


def test_a_gain_open_to_a_rarer_value_alone_breaks_enhanced_beta_and_not_pycanons() -> None:
    # a: 3/4 of everyone, all of x: gain 1/3 > -ln 3/4 = 0.288. c: 1/8 of everyone, 1/4 of y: gain 1 < -ln 1/8.
    table = people({"x": {"a": 4}, "y": {"a": 2, "b": 1, "c": 1}})
    assert by_hand(table, UNLIKE["enhanced beta"]).value is None
    assert pycanon_of(table)["enhanced beta"] == by_hand(table, ALIKE["basic beta"]).value == same(1)


@given(
    groups=st.dictionaries(
        st.sampled_from("xyz"),
        st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1),
        min_size=1,
    )
)
def test_in_random_tables_what_both_can_tell_is_equal(groups: Groups) -> None:
    table = people(groups)
    result = pycanon_of(table)
    found = {name: finding.value for name, finding in all_by_hand(table, {**ALIKE, **UNLIKE}).items()}
    entropy = found.pop("entropy")
    assert {name: value for name, value in found.items() if value is not None} == {
        name: same(result[name]) for name, value in found.items() if value is not None
    }
    assert set(ALIKE) <= {name for name, value in found.items() if value is not None}
    assert entropy is not None
    assert result["entropy"] in {math.floor(entropy), math.floor(entropy - 1e-9)}
