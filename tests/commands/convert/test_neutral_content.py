"""A neutral file holds what predictions need, and values that the policy declares; what else is refused or counts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import Ended, leafgate
from installed_readers import neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import ArithmeticStep, CategoryCodes, MissingIndicator, ModelIR, Numeric, OneHot, TreeIR

N = 400
TREE: dict[str, Any] = {
    **{"feature": [0, -1, 1, -1, -1], "threshold": [0.5, None, 40.5, None, None]},
    **{"low": [1, -1, 3, -1, -1], "high": [2, -1, 4, -1, -1]},
    "says": [None, [0.5, 0.5], None, [0.75, 0.25], [0.25, 0.75]],
    **{"strict": False, "float32": False, "missing_low": False, "subsets": {}},
    **{"output": None, "counts": None, "size": None},
}
HONEST: dict[str, Any] = {
    **{"format": "leafgate/model/1", "from": "skops", "producer": "scrubbed", "features": ["ward_north", "age"]},
    "origins": [
        {"kind": "coded", "column": "ward", "codes": {"north": 1.0}, "other": 0.0, "missing": None},
        {"kind": "number", "column": "age", "steps": [], "fill": None},
    ],
    **{"classes": ["no", "yes"], "says": "shares", "combine": "one", "base": [], "counted": "unknown"},
    "discloses": [{"kind": "ratios", "says": "shares of classes, rounded to 2 digit(s)", "severity": "medium"}],
    "trees": [TREE],
}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    ward, age = rng.choice(["north", "south", "west"], N), rng.integers(20, 61, N)
    pay = np.round(rng.lognormal(10, 0.4, N), 2)
    is_ill = rng.random(N) < np.where(ward == "north", 0.2 + 0.3 * (age > 40) + 0.3 * (pay > 22_050), 0.5)
    return pd.DataFrame({"ward": ward, "age": age, "pay": pay, "ill": np.where(is_ill, "yes", "no")})


def audited(folder: Path, document: dict[str, Any], **ward: Any) -> Ended:
    """The audit of a file by a policy that lets it disclose nothing of severity high."""
    people().to_csv(folder / "people.csv", index=False)
    (folder / "model.json").write_text(json.dumps(document))
    known = {"role": "quasi_identifier"}
    columns = {
        "ward": {**known, "values": ["north", "south", "west"], **ward},
        "age": {**known, "bounds": [0, 120], "step": 1},
        "pay": {**known, "bounds": [0, 10_000_000]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    policy = {
        **{"leafgate": 1, "name": "wards", "data": {"path": "people.csv", "columns": columns}},
        **{"build": {"use": "published", "path": "model.json"}, "publish": {"leaves": "shares", "measure": False}},
        **{"attacks": [{"use": "linking"}], "metrics": [{"use": "file_disclosure", "at_most": 0}]},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return leafgate("audit", folder / "policy.yaml")


def changed(change: Callable[[Any], Any], **others: Any) -> dict[str, Any]:
    document = copy.deepcopy(HONEST | others)
    change(document)
    return document


def test_an_honest_file_passes(tmp_path: Path) -> None:
    assert audited(tmp_path, HONEST).code == 0


def pays(n: int) -> list[float]:
    return people()["pay"].tolist()[:n]


def _unused(document: Any, **origin: Any) -> None:
    """A feature of the pay for each of 150 people, that no test asks about."""
    for number, pay in enumerate(pays(150)):
        made = {"kind": "number", "column": "pay", "steps": [], "fill": pay}
        made |= {"fill": None, "steps": [["plus", pay]]} if origin == {"kind": "steps"} else {}
        made = {**origin, "column": "ward", "other": pay, "missing": pay} if origin.get("kind") == "coded" else made
        document["features"].append(f"pay{number}")
        document["origins"].append(made)


def _to_nothing(document: Any) -> None:
    document["origins"][0]["codes"] |= {f"Kim {number} Vale;born {1900 + number}": None for number in range(20)}


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "codes that lead to nothing": (_to_nothing, "model.json.origins[0].codes"),
    "fills of a scrubbed file": (_unused, "model.json.origins[2].fill"),
    "steps of a scrubbed file": (lambda d: _unused(d, kind="steps"), "model.json.origins[2].steps"),
    "settings of a scrubbed file": (lambda d: d.update(settings={"max_depth": 41}), "model.json.settings"),
    "a threshold of a leaf": (lambda d: d["trees"][0]["threshold"].__setitem__(1, 41), "model.json.trees[0].threshold"),
    "shares within a tree": (lambda d: d["trees"][0]["says"].__setitem__(0, [1, 0]), "model.json.trees[0].says[0]"),
    "groups of no feature": (lambda d: d.update(groups=[{"Kim Vale": 0}]), "model.json.groups"),
    "an entry of an origin": (lambda d: d["origins"][1].update({"Kim Vale": 0}), "model.json.origins[1]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_writer_of_leafgate_made_is_refused_by_its_place(tmp_path: Path, name: str) -> None:
    change, place = REFUSED[name]
    ended = audited(tmp_path, changed(change))
    assert (ended.code, place in ended.err, "Kim" in ended.err) == (2, True, False)


CODED = {"kind": "coded", "codes": {"north": 1.0}}
COUNTED: dict[str, Callable[[Any], Any]] = {
    "fills": _unused,
    "steps": lambda document: _unused(document, kind="steps"),
    "other and missing": lambda document: _unused(document, **CODED),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.thorough
def test_numbers_of_features_that_no_test_asks_about_are_other_content(tmp_path: Path, name: str) -> None:
    ended = audited(tmp_path, changed(COUNTED[name], producer="scikit-learn 1.9.1, DecisionTreeClassifier"))
    assert (ended.code, "numbers of features that no test asks about" in ended.out) == (1, True)


def _cancelling(numbers: list[float]) -> list[list[Any]]:
    """Steps that leave a number as it is, and hold these."""
    return [[operation, number] for number in numbers for operation in ("plus", "minus")]


def _never_asked(document: Any) -> None:
    """Tests whether ages are below the pay of 40 people, from the highest down."""
    tree, numbers = document["trees"][0], sorted(pays(40), reverse=True)
    first, width = 2 * len(numbers), len(numbers)
    for key in ("low", "high"):
        tree[key] = [node if node < 0 else node + first for node in tree[key]]
    before: dict[str, list[Any]] = {
        "feature": [1, -1] * width,
        "threshold": [each for number in numbers for each in (number, None)],
        "low": [each for i in range(width) for each in (2 * i + 2, -1)],
        "high": [each for i in range(width) for each in (2 * i + 1, -1)],
        "says": [None, [0.5, 0.5]] * width,
    }
    tree |= {key: [*each, *tree[key]] for key, each in before.items()}


def _scaled_pay(document: Any, steps: list[list[Any]]) -> None:
    document["origins"][1] |= {"column": "pay", "steps": steps}
    document["features"][1], document["trees"][0]["threshold"][2] = "pay", 22050.005


OF_ASKED: dict[str, Callable[[Any], Any]] = {
    "steps with cells of another column": lambda d: d["origins"][1].update(steps=_cancelling(pays(1))),
    "steps with cells of the column": lambda d: _scaled_pay(d, _cancelling(pays(5))),
    "a fill of another column": lambda d: d["origins"][1].update(fill=pays(1)[0]),
    "thresholds of another column": _never_asked,
}


@pytest.mark.parametrize("name", OF_ASKED)
@pytest.mark.thorough
def test_numbers_of_a_feature_that_are_cells_are_rare_numbers(tmp_path: Path, name: str) -> None:
    ended = audited(tmp_path, changed(OF_ASKED[name], producer="scikit-learn 1.9.1, DecisionTreeClassifier"))
    assert (ended.code, "numbers that fewer than 10 people of the table have" in ended.out) == (1, True)


@pytest.mark.thorough
def test_what_scalers_make_of_a_column_is_no_list_of_its_cells(tmp_path: Path) -> None:
    """A median and a range of quartiles, the largest number, and what shifts them."""
    low, middle, high = sorted(pays(3))
    steps = [["minus", middle], ["over", high - low], ["over", max(pays(N))], ["plus", -0.2137211]]
    threshold = ((22050.005 - middle) / (high - low)) / max(pays(N)) - 0.2137211

    def change(document: Any) -> None:
        _scaled_pay(document, steps)
        document["trees"][0]["threshold"][2] = threshold

    assert audited(tmp_path, changed(change, producer="scikit-learn 1.9.1, DecisionTreeClassifier")).code == 0


@pytest.mark.parametrize("key", ["other", "missing", "west"])
@pytest.mark.thorough
def test_a_number_that_codes_are_compared_by_is_no_cell(tmp_path: Path, key: str) -> None:
    """Any number on the same side of the threshold answers alike: 7 is nobody's, a pay is somebody's."""
    for number, code in ((7.0, 0), (pays(1)[0], 1)):
        document = changed(lambda d: d["origins"][0].update(codes={"south": 0.0, "west": 2.0, "north": 1.0}))
        part = document["origins"][0]["codes"] if key == "west" else document["origins"][0]
        part[key] = number
        assert audited(tmp_path, document).code == code, number


@pytest.mark.thorough
def test_values_of_encoders_are_the_policys_or_its_aliases(tmp_path: Path) -> None:
    known = {"north": 1.0, "south": 0.25, "west": 0.25}
    document = changed(lambda d: d["origins"][0].update(codes=known | {"n.": 0.25}))
    assert audited(tmp_path, document).code == 1
    assert audited(tmp_path, changed(lambda d: d["origins"][0].update(codes=known))).code == 0
    document["features"].append("ward_n.")
    document["origins"].append({**document["origins"][0], "codes": {"n.": 1.0}})
    assert audited(tmp_path, document).code == 1


@pytest.mark.parametrize(
    "fill", ["Kim Vale;born 1910;HIV", "Kim Vale born in 1910 has HIV since then, and she knows it"]
)
def test_a_word_for_gaps_that_names_somebody_is_other_content(tmp_path: Path, fill: str) -> None:
    def change(document: Any) -> None:
        document["origins"][0].update(codes={"north": 1.0, fill: 0.25}, stand_in=fill)

    assert audited(tmp_path, changed(change)).code == 1


@pytest.mark.parametrize("fill", ["missing", "south"])
def test_a_word_for_gaps_and_a_value_are_no_other_content(tmp_path: Path, fill: str) -> None:
    def change(document: Any) -> None:
        document["origins"][0].update(codes={"north": 1.0, fill: 0.25}, stand_in=fill)

    assert audited(tmp_path, changed(change)).code == 0


LEAVES = TreeIR(
    feature=np.array([0, -1, -1]),
    threshold=np.array([0.5, np.nan, np.nan]),
    low=np.array([1, -1, -1]),
    high=np.array([2, -1, -1]),
    values=np.array([[np.nan, np.nan], [0.5, 0.5], [0.25, 0.75]]),
)


def test_a_feature_that_no_test_asks_about_is_written_without_numbers() -> None:
    hot = OneHot({"a": 0, "b": 1}, 1, ("b",), 2.5, -0.5)
    origins = (
        Numeric("age"),
        Numeric("pay", (ArithmeticStep("minus", 1381.73),), 1277.87),
        CategoryCodes("ward", {"north": 1381.73, "south": 1.0}, 1277.87, np.nan),
        CategoryCodes("ward", hot, 1381.73, 1277.87),
        MissingIndicator("pay", 1381.73, 1277.87),
    )
    names = ("age", "pay", "ward", "ward_b", "no pay")
    model = ModelIR("skops", names, ("no", "yes"), (LEAVES,), "shares", origins=origins, discloses=())
    content = neutral_file(model)
    assert not [number for number in (b"1381", b"1277", b"2.5") if number in content]
    again = read_foreign(content, "m")
    assert "other_content" not in {item.kind for item in again.discloses}
    assert [one.column for one in again.origins or () if one] == ["age", "pay", "ward", "ward", "pay"]


def test_labels_are_ones_and_zeros() -> None:
    document = changed(lambda d: d["trees"][0]["says"].__setitem__(1, [1381.73, 0.0]), says="labels")
    document["trees"][0]["says"][3:] = [[1, 0], [0, 1]]
    assert "other_content" in {item.kind for item in read_foreign(json.dumps(document).encode(), "m").discloses}


def test_an_error_names_no_text_of_the_file() -> None:
    document = changed(lambda d: d["origins"][0]["codes"].update({"Kim Vale": "HIV"}))
    with pytest.raises(ReleaseError) as raised:
        read_foreign(json.dumps(document).encode(), "m")
    assert not {"Kim", "HIV"} & set(str(raised.value).split())
