"""Values of a secret that are spelled alike are one value until the policy says otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate as python
from command_line import Ended, leafgate
from leafgate import InconclusiveError, ReleaseError
from leafgate.api import (
    Branch,
    CategoricalSplit,
    Column,
    Leaf,
    NumericSplit,
    Release,
    Schema,
    Table,
    leaves,
    make_table,
    map_leaves,
    typed_column,
)
from leafgate.engine.spellings import merged_release
from leafgate.models.lowering.encoding import class_values
from sklearn_zoo import skops_bytes

SAME = {
    "a blank": "yes ",
    "a full stop": "yes.",
    "a no-break space": "yes\u00a0",
    "zero width": "y\u200bes",
    "full width": "\uff59\uff45\uff53",
}
OTHER_SAME = {
    "NFD": ("malad\u00e9", "malade\u0301"),
    "two dashes": ("ill-ness", "ill\u2013ness"),
    "doubled blanks": ("ill now", "ill  now"),
}
SIMILAR = {"case": ("yes", "Yes"), "a number": ("1", "1.0")}
EVERYTHING = [*(("yes", other) for other in SAME.values()), *OTHER_SAME.values(), *SIMILAR.values()]


def street(ill: str, other: str) -> list[tuple[int, str, str]]:
    """400 people: everybody in Elm Street is ill, and elsewhere two of five; half of the ill are spelled otherwise."""
    rng = np.random.default_rng(4)
    streets = ("Ash", "Elm", "Fir", "Oak")
    rows = []
    for i in range(400):
        where = streets[i % 4]
        is_ill = where == "Elm" or rng.random() < 0.4
        rows.append((int(rng.integers(18, 80)), where, (ill, other)[i // 4 % 2] if is_ill else "no"))
    return rows


def policy(folder: Path, people: Sequence[tuple[int, str, str]], **ill: Any) -> Path:
    """A policy for kADET, with what it says of the column `ill`."""
    values = sorted({state for _, _, state in people} - {*ill.get("aliases", ())})
    (folder / "people.csv").write_text("age,street,ill\n" + "".join(f"{a},{b},{c}\n" for a, b, c in people))
    document = {
        "leafgate": 1,
        "name": "streets",
        "data": {
            "path": "people.csv",
            "columns": {
                "age": {"role": "quasi_identifier", "bounds": [0, 120]},
                "street": {"role": "quasi_identifier", "values": ["Ash", "Elm", "Fir", "Oak"]},
                "ill": {"role": ["class", "sensitive"], "values": values, **ill},
            },
        },
        "build": {"use": "kadet", "k": 10},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "exposure", "at_most": 0}, {"use": "confidence", "at_most": 0.95}],
    }
    (folder / "policy.yaml").write_text(json.dumps(document))
    return folder / "policy.yaml"


def audit(path: Path) -> Ended:
    return leafgate("audit", path, "--json", "--no-remedies")


def finding(ended: Ended, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(each for each in ended.document["findings"] if each["id"] == name)
    return found


def test_a_limit_that_fails_with_the_same_values_merged_fails(tmp_path: Path) -> None:
    ended = audit(policy(tmp_path, street("yes", "yes ")))
    assert ended.code == 1
    assert finding(ended, "spelling#ill")["passed"] is None
    exposure = finding(ended, "exposure@linking#ill")
    assert (exposure["passed"], exposure["beyond"]) == (False, {"from": 100, "to": 109})
    assert "yes" not in json.dumps([finding(ended, "spelling#ill"), exposure])


def test_similar_values_are_inconclusive_until_the_policy_says_what_they_are(tmp_path: Path) -> None:
    people = street("yes", "Yes")
    asked = audit(policy(tmp_path, people))
    assert asked.code == 3
    assert "exposure@linking#ill" in finding(asked, "spelling#ill")["evidence"]["reason"]
    assert finding(asked, "exposure@linking#ill")["passed"]
    assert audit(policy(tmp_path, people, distinct=[["Yes", "yes"]])).code == 0
    merged = audit(policy(tmp_path, people, aliases={"Yes": "yes"}))
    assert merged.code == audit(policy(tmp_path, street("yes", "yes"))).code == 1


@pytest.mark.parametrize("other", ["type-2", "Type_2", "type2", "(type 2)", "t\u0443pe 2", "t\u00fdpe 2"])
def test_loose_spellings_are_asked_about_where_a_limit_fails_if_they_are_one_value(other: str, tmp_path: Path) -> None:
    people = street("type 2", other)
    asked = audit(policy(tmp_path, people))
    assert asked.code == 3
    assert "exposure@linking#ill" in finding(asked, "spelling#ill")["evidence"]["reason"]
    assert audit(policy(tmp_path, people, distinct=[["type 2", other]])).code == 0
    merged = audit(policy(tmp_path, people, aliases={other: "type 2"}))
    assert merged.code == 1
    mixed = [(age, where, state if i % 3 else "no") for i, (age, where, state) in enumerate(people)]
    assert audit(policy(tmp_path, mixed)).code == 0


def test_values_called_distinct_are_judged_as_they_are_spelled(tmp_path: Path) -> None:
    ended = audit(policy(tmp_path, street("yes", "yes "), distinct=[["yes", "yes "]]))
    assert ended.code == 0
    assert "spelling#ill" not in [each["id"] for each in ended.document["findings"]]


@pytest.mark.thorough
@pytest.mark.parametrize("pair", EVERYTHING, ids=map(ascii, EVERYTHING))
def test_init_and_audit_end_as_for_the_clean_table_where_init_wrote_aliases(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    ended: list[Ended] = []
    for folder, other in ((tmp_path / "clean", pair[0]), (tmp_path / "spelled", pair[1])):
        folder.mkdir()
        policy(folder, street(pair[0], other))
        written = leafgate("init", folder / "people.csv", "--class", "ill")
        (folder / "first.yaml").write_text(written.out)
        ended.append(audit(folder / "first.yaml"))
    clean, spelled = ended
    if "aliases:" in written.out:
        assert (spelled.code, len(spelled.document["findings"])) == (clean.code, len(clean.document["findings"]))
        assert spelled.document["release"]["leaves"] == clean.document["release"]["leaves"]
    else:
        assert pair in SIMILAR.values()
        assert spelled.code == 3


MODELS = {
    "tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
    "forest": RandomForestClassifier(3, min_samples_leaf=20, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=2, min_samples_leaf=20, random_state=0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MODELS)
def test_a_fitted_model_with_both_spellings_does_not_pass(kind: str) -> None:
    people = pd.DataFrame(street("yes", "yes "), columns=["age", "street", "ill"])
    features = people[["age"]].assign(elm=(people.street == "Elm").astype(int))
    limits = {"confidence": 0.95}
    model = MODELS[kind].fit(features, people.ill)
    spelled = python.audit(model, features, people.ill, limits=limits, search_remedies=False)
    assert spelled.verdict == "fail"
    distinct = {"ill": [["yes", "yes "]]}
    told = python.audit(model, features, people.ill, limits=limits, search_remedies=False, distinct=distinct)
    assert "spelling#ill" not in set(told.findings.finding)
    with pytest.raises(ReleaseError, match="class of its own for each of several spellings"):
        python.audit(model, features, people.ill, limits=limits, aliases={"ill": {"yes ": "yes"}})


@pytest.mark.parametrize("other", ["yes ", "NULL"])
def test_a_scrubbed_model_does_not_pass_over_a_street_of_ill_people(other: str, tmp_path: Path) -> None:
    people = pd.DataFrame(street("yes", other), columns=["age", "street", "ill"])
    people.to_csv(tmp_path / "people.csv", index=False)
    streets = make_column_transformer((OneHotEncoder(sparse_output=False), ["street"]), remainder="passthrough")
    tree = DecisionTreeClassifier(min_samples_leaf=20, max_depth=4, random_state=0)
    model = make_pipeline(streets, tree).fit(people[["age", "street"]], people.ill)
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    first = leafgate("init", tmp_path / "people.csv", "--class", "ill", "--model", tmp_path / "model.skops")
    (tmp_path / "first.yaml").write_text(first.out)
    assert leafgate("scrub", tmp_path / "model.skops", tmp_path / "new.json", "--leaves", "labels").code == 0
    (tmp_path / "first.yaml").write_text(first.out.replace("model.skops", "new.json"))
    assert audit(tmp_path / "first.yaml").code in {1, 2, 3}


def test_aliases_of_python_merge_what_the_table_has(tmp_path: Path) -> None:
    people = pd.DataFrame(street("yes", "yes "), columns=["age", "street", "ill"])
    people["street"] = people.street.where(people.index != 3, "elm")
    model = DecisionTreeClassifier(max_depth=1).fit(people[["age"]], people.ill.str.strip())
    table = people[["age", "street"]]
    found = python.audit(
        model, table, people.ill, limits={"confidence": 0.95}, search_remedies=False, aliases={"ill": {"yes ": "yes"}}
    )
    assert "spelling#ill" not in set(found.findings.finding)
    noted = [warning for warning in found.warnings if "street" in warning]
    assert len(noted) == 1
    assert "elm" not in noted[0].lower()


def test_a_model_with_a_class_for_each_spelling_is_refused_with_that_reason() -> None:
    target = Column("ill", frozenset({"class"}), values=("no", "yes"), aliases={"yes ": "yes"})
    assert class_values(("no", "yes "), None, target, "file") == ("no", "yes")
    with pytest.raises(ReleaseError, match="class of its own for each of several spellings"):
        class_values(("no", "yes", "yes "), None, target, "file")


WORDS = ("no", "No", "yes", "yes ", "yes.", "Yes")
MERGED = {"ill": {"no": "no", "No": "no", "yes": "yes", "yes ": "yes", "yes.": "yes", "Yes": "yes"}}
PEOPLE = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(WORDS)), min_size=1, max_size=40)


def table_of(people: Sequence[tuple[int, str]], values: Sequence[str]) -> Table:
    age = Column("age", frozenset({"quasi_identifier"}), bounds=(0, 3))
    ill = Column("ill", frozenset({"class", "sensitive"}), values=tuple(values))
    cells = {"age": typed_column(age, [a for a, _ in people]), "ill": typed_column(ill, [b for _, b in people])}
    return make_table(Schema((age, ill)), pd.DataFrame(cells))


def release_of(people: Sequence[tuple[int, str]], values: Sequence[str], *, shares: bool) -> Release:
    """A tree of two leaves by age, with what it counts."""

    def leaf(part: list[str]) -> Leaf:
        counts = {value: part.count(value) for value in values}
        label = max(values, key=lambda value: counts[value])
        if shares:
            return Leaf(label, shares={value: n / max(len(part), 1) for value, n in counts.items()})
        return Leaf(label, counts=counts)

    sides = ([b for a, b in people if a <= 1], [b for a, b in people if a > 1])
    tree = NumericSplit("age", 1, leaf(sides[0]), leaf(sides[1]))
    return Release({"use": "test"}, table_of(people, values).schema, (tree,))


@given(PEOPLE, st.booleans())
def test_merged_tables_and_releases_are_those_of_people_with_merged_cells(
    people: list[tuple[int, str]], shares: bool
) -> None:
    cells = [(age, MERGED["ill"][word]) for age, word in people]
    table, row = table_of(people, WORDS).with_merged_values(MERGED)
    expected = table_of(cells, ("no", "yes"))
    pd.testing.assert_frame_equal(table.frame, expected.frame)
    assert table.weight.tolist() == expected.weight.tolist()
    assert table.schema == expected.schema
    assert np.bincount(row, weights=table_of(people, WORDS).weight).tolist() == table.weight.tolist()
    merged = merged_release(release_of(people, WORDS, shares=shares), MERGED)
    for found, wanted in zip(
        leaves(merged.trees[0]), leaves(release_of(cells, ("no", "yes"), shares=shares).trees[0]), strict=True
    ):
        statistic = "shares" if shares else "counts"
        assert getattr(found, statistic) == pytest.approx(getattr(wanted, statistic))
        numbers = getattr(wanted, statistic)
        assert found.label is not None
        assert numbers[found.label] == pytest.approx(max(numbers.values()))


def test_nothing_follows_from_scores_of_merged_classes() -> None:
    release = release_of([(0, "yes"), (3, "no")], WORDS, shares=False)
    tree = map_leaves(release.trees[0], lambda leaf: Leaf(leaf.label, scores=dict.fromkeys(WORDS, 0.5)))
    merged = merged_release(Release({"use": "test"}, release.schema, (tree,), combine="boost"), MERGED)
    assert [leaf.scores for leaf in leaves(merged.trees[0])] == [{"no": 0, "yes": 0}] * 2


def test_a_tree_that_tells_spellings_apart_is_not_merged() -> None:
    illness = Column("ill", frozenset({"sensitive"}), values=("no", "yes", "yes "))
    target = Column("risk", frozenset({"class"}), values=("low", "high"))
    branches = (Branch(("no", "yes"), Leaf("low")), Branch(("yes ",), Leaf("high")))
    release = Release({"use": "test"}, Schema((illness, target)), (CategoricalSplit("ill", branches),))
    with pytest.raises(InconclusiveError, match="apart that are spelled alike"):
        merged_release(release, {"ill": {"yes": "yes", "yes ": "yes"}})


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        ({}, "not listed by what it extends"),
        ({"ill": {"role": ["class", "sensitive"], "values": ["no", "yes", "Yes"]}}, "distinct"),
        ({"ill": {"role": ["class", "sensitive"], "distinct": [["yes", "Yes"]]}}, ""),
    ],
    ids=["column not listed", "listed without", "allowed"],
)
def test_an_extending_policy_says_distinct_only_where_the_other_allows(
    parent: Mapping[str, Any], says: str, tmp_path: Path
) -> None:
    path = policy(tmp_path, street("yes", "Yes"), distinct=[["yes", "Yes"]])
    organisation = {
        "leafgate": 1,
        "data": {"columns": parent} | ({} if parent else {"unlisted": ["class", "sensitive"]}),
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "exposure", "at_most": 0}],
    }
    (tmp_path / "org.yaml").write_text(json.dumps(organisation))
    ended = leafgate("validate", path, "--org", tmp_path / "org.yaml")
    assert ended.code == (2 if says else 0), ended.err
    assert says in ended.err
