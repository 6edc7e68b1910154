"""What files of CatBoost say that the producer matrix (tests/plugins/test_producers.py) does not compare."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import leafgate
from installed_readers import lower_model, read_foreign
from leafgate.algorithms.node_counts import Contradiction, first_contradiction
from leafgate.api import ReleaseError
from leafgate.readers import ModelIR
from producer_archive import archives_in
from producer_matrix import leaf_of, rows_of
from random_tables import categorical, numeric, table_of

ARCHIVES = archives_in(Path(__file__).parent / "producers")
NEWEST = ARCHIVES[-1]
CATEGORIES = {"colour", "ward"}


def document_of(name: str) -> Any:
    return json.loads(NEWEST.models[f"{name}.json"])


def read(document: Any) -> ModelIR:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_foreign(content, "model.json")


def test_a_missing_category_is_read_where_the_people_of_leaves_would_show_a_misreading() -> None:
    document = document_of("logloss-categories")
    assert not read(document).unspecified_missing
    for tree in document["oblivious_trees"]:
        del tree["leaf_weights"]
    assert read(document).unspecified_missing_features == CATEGORIES
    document = document_of("logloss-categories")
    document["features_info"]["cat_features_hash"].append({"hash": 1713674485, "value": "NaN"})
    assert read(document).unspecified_missing_features == CATEGORIES


def counts_of(name: str) -> list[set[str]]:
    return [{number.kind for number in tree.numbers} for tree in read(document_of(name)).trees]


def test_weights_of_leaves_are_people_where_nobody_weighs_more() -> None:
    assert counts_of("logloss") == counts_of("logloss-depthwise") == [{"rows"}] * 3
    assert counts_of("logloss-weighted") == [{"weight"}] * 3
    model = read(document_of("logloss-depthwise"))
    assert [tree.size[0] for tree in model.trees if tree.size is not None] == [80, 80, 80]
    assert model.level == "counts"


def test_weights_of_leaves_are_of_the_level_of_counts() -> None:
    """With classes that weigh 1 and 2.5, a weight of 20.5 leaves four possible pairs of numbers of people."""
    assert {item.level for item in read(document_of("logloss-weighted")).discloses if item.kind == "sizes"} == {
        "counts"
    }


WEIGHED = {22.0: (22, 0), 86.5: (84, 1), 11.0: (11, 0), 20.5: (13, 3)}
"""People of two classes, who weigh 1 and 2.5, by what they weigh together at a leaf of the first tree."""


def contradiction(people_at: Mapping[float, tuple[int, int]]) -> Contradiction | None:
    """What in the first tree contradicts a table with these people."""
    document = document_of("logloss-weighted")
    del document["oblivious_trees"][1:]
    model = read(document)
    (tree,) = model.trees
    rows = rows_of(NEWEST, "logloss-weighted")
    cells = {leaf_of(tree, row, model.features): (row["age"], row["hours"]) for row in rows}
    people: list[tuple[Any, ...]] = []
    for leaf, numbers in cells.items():
        person = [float(number) if number else None for number in numbers]
        for name, count in zip(model.classes, people_at[float(tree.numbers[0].values[leaf])], strict=True):
            people += [(*person, name)] * count
    columns = [numeric(name, "quasi_identifier", bounds=(-1e6, 1e6), missing=True) for name in model.features]
    table = table_of([*columns, categorical("y", "class", "sensitive", values=model.classes)], people)
    loaded = lower_model(model, table.schema, {}, "model")
    assert loaded.provenance.node_numbers is not None
    return first_contradiction(loaded.provenance.node_numbers, loaded.release, table)


def test_weights_of_leaves_are_what_the_people_of_each_class_weigh() -> None:
    assert contradiction(WEIGHED) is None
    found = contradiction({**WEIGHED, 22.0: (21, 1)})
    assert found is not None
    assert (found.name, found.stated, found.expected) == ("leaf_weights", 22.0, 23.5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "parts-of-numbers",
            r"statistics \(CTR\) of the kind BinarizedTargetMeanValue with parts of numbers.*simple_ctr",
        ),
        ("hashes", r"a category of which the file has the hash alone.*pool=Pool"),
        ("threshold", r"another probability than 0\.5.*set_probability_threshold"),
    ],
)
def test_what_is_not_read_is_refused_with_the_nearest_thing_that_is(name: str, reason: str) -> None:
    with pytest.raises(ReleaseError, match=f"(?s){reason}"):
        read(document_of(name))


def test_a_category_beside_the_hash_of_another_is_refused() -> None:
    document = document_of("logloss-categories")
    first, second, *_ = document["features_info"]["cat_features_hash"]
    first["value"], second["value"] = second["value"], first["value"]
    with pytest.raises(ReleaseError, match="is not the hash of the text beside it"):
        read(document)


def unknown_key(document: Any) -> None:
    document["post_transform"] = "exp"


def unknown_key_of_a_tree(document: Any) -> None:
    document["oblivious_trees"][1]["post_transform"] = 2


def unknown_key_of_a_split(document: Any) -> None:
    document["oblivious_trees"][1]["splits"][0]["post_transform"] = True


def unknown_key_of_a_feature(document: Any) -> None:
    document["features_info"]["float_features"][0]["post_transform"] = 0


@pytest.mark.parametrize(
    "change", [unknown_key, unknown_key_of_a_tree, unknown_key_of_a_split, unknown_key_of_a_feature]
)
def test_an_unknown_key_that_may_decide_a_prediction_is_refused_by_name(change: Callable[[Any], None]) -> None:
    document = document_of("logloss")
    change(document)
    with pytest.raises(ReleaseError, match="has a key 'post_transform'"):
        read(document)


def another_treatment(document: Any) -> None:
    document["features_info"]["float_features"][0]["nan_value_treatment"] = "AsZero"


def another_order(document: Any) -> None:
    document["model_info"]["class_params"]["class_to_label"] = [1, 0]


def a_leaf_less(document: Any) -> None:
    document["oblivious_trees"][0]["leaf_values"].pop()


def an_unknown_feature(document: Any) -> None:
    document["oblivious_trees"][0]["splits"][0]["float_feature_index"] = 7


def a_bias_more(document: Any) -> None:
    document["scale_and_bias"][1].append(0)


def two_forms(document: Any) -> None:
    document["trees"] = []


def another_border(document: Any) -> None:
    document["oblivious_trees"][0]["splits"][0]["border"] += 1


def another_number_of_a_test(document: Any) -> None:
    document["oblivious_trees"][0]["splits"][0]["split_index"] += 1


def another_border_in_the_list(document: Any) -> None:
    document["features_info"]["float_features"][0]["borders"][0] += 1


def borders_that_descend(document: Any) -> None:
    document["features_info"]["float_features"][0]["borders"].reverse()


def a_test_without_a_number(document: Any) -> None:
    del document["oblivious_trees"][0]["splits"][0]["split_index"]


@pytest.mark.parametrize(
    "change",
    [
        *(another_treatment, another_order, a_leaf_less, an_unknown_feature, a_bias_more, two_forms),
        *(another_border, another_number_of_a_test, another_border_in_the_list, borders_that_descend),
        a_test_without_a_number,
    ],
)
def test_a_structure_that_catboost_does_not_write_is_refused(change: Callable[[Any], None]) -> None:
    document = document_of("logloss")
    change(document)
    with pytest.raises(ReleaseError, match=r"model\.json"):
        read(document)


def note_of_somebody(document: Any) -> None:
    document["model_info"]["note"] = "Jane Smith"


def metadata(document: Any) -> None:
    document["model_info"]["params"]["metadata"] = {"who": "Jane Smith"}


def setting(document: Any) -> None:
    document["model_info"]["params"]["patients"] = [1, 2, 3]


def long_list(document: Any) -> None:
    document["model_info"]["params"]["random_seed"] = list(range(40))


def training(document: Any) -> None:
    document["model_info"]["training"] = '{"metrics": {"Jane Smith": 1}}'


def name_of_a_metric(document: Any) -> None:
    document["model_info"]["training"] = '{"metrics": {"learn_best_error": {"JaneSmith": 1}}}'


def more_errors_than_rounds(document: Any) -> None:
    errors = [{"Logloss": number / 7} for number in range(50)]
    document["model_info"]["training"] = json.dumps({"metrics": {"learn_metrics_history": errors}})


def long_number(document: Any) -> None:
    document["model_info"]["params"]["flat_params"]["random_seed"] = int("74971990" * 100)


def name_beside(document: Any) -> None:
    document["features_info"]["float_features"][0]["feature_name"] = "Jane Smith, born 1970, of Springfield, HIV"


def border(document: Any) -> None:
    document["features_info"]["float_features"][-1]["borders"].append(61.25)


@pytest.mark.parametrize(
    "change",
    [
        *(note_of_somebody, metadata, setting, long_list, long_number),
        *(training, name_of_a_metric, more_errors_than_rounds, name_beside, border),
    ],
)
def test_content_that_nobody_needs_is_disclosed(change: Callable[[Any], None]) -> None:
    document = document_of("logloss")
    before = {item.says for item in read(document).discloses}
    change(document)
    after = [item for item in read(document).discloses if item.says not in before]
    assert {item.kind for item in after} - {"settings"} == {"other_content"}
    assert not any("Jane" in item.says for item in after)


def test_a_path_is_disclosed() -> None:
    document = document_of("logloss")
    document["model_info"]["output_options"] = '{"train_dir": "/home/jane"}'
    assert "paths" in {item.kind for item in read(document).discloses}


def test_init_places_features_without_names_by_their_positions(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(NEWEST.models["logloss-nameless.json"])
    rows = [f"{row['age']},{row['hours']},{row['label']}" for row in rows_of(NEWEST, "logloss-nameless")]
    (tmp_path / "people.csv").write_text("\n".join(["age,hours,ill", *rows]) + "\n")
    policy = tmp_path / "policy.yaml"
    ended = leafgate(
        *("init", str(tmp_path / "people.csv"), "--class", "ill"),
        *("--model", str(tmp_path / "model.json"), "--out", str(policy)),
    )
    assert ended.code == 0
    encoding = yaml.safe_load(policy.read_text())["build"]["encoding"]
    assert {name: each["column"] for name, each in encoding.items()} == {"0": "age", "1": "hours"}
