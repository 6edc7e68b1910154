from __future__ import annotations

import json
from typing import Any

import pytest

from leafgate import Release, ReleaseError
from leafgate.algorithms.publication import published
from leafgate.api import Publish, Records, Schema
from leafgate.app import read_release, serialize
from random_tables import categorical, numeric

AGE = numeric("age", "quasi_identifier", bounds=(17.0, 90.0))
ILL = categorical("ill", "sensitive", values=("yes", "no"))
RISK = categorical("risk", "class", values=("good", "bad"))
RECORDS = Records(("age", "ill"), ((17.0, "yes"), ({"from": 20, "to": 30}, {"withheld": True})), (3, 4))
DRAFT = Release({"use": "careful"}, Schema((AGE, ILL)), model="none", guarantee={"k": 3}, records=RECORDS)
LEAF = {"kind": "leaf", "label": "good", "counts": {"good": 1, "bad": 2}}
CLASS = {"role": ["class"], "values": ["good", "bad"]}


def written(release: Release = DRAFT) -> dict[str, Any]:
    """The file as a document."""
    document: dict[str, Any] = json.loads(serialize(release).content)
    return document


def read(document: dict[str, Any]) -> Release:
    return read_release(json.dumps(document).encode(), "release").release


def test_records_without_a_class_come_back_as_they_were() -> None:
    sealed = serialize(DRAFT)
    assert (sealed.release.schema, sealed.release.records) == (DRAFT.schema, RECORDS)
    assert (sealed.release.model, sealed.release.guarantee) == ("none", {"k": 3})
    assert serialize(sealed.release).content == sealed.content


@pytest.mark.parametrize("measure", [True, False])
def test_cut_down_to_what_is_published_they_can_be_written_too(measure: bool) -> None:
    sealed = serialize(published(DRAFT, Publish(leaves="labels", measure=measure), frozenset()))
    assert sealed.release.records == RECORDS
    assert ("selection" in json.loads(sealed.content)) == measure


def test_records_with_a_class_name_it() -> None:
    result = written(Release({"use": "careful"}, Schema((AGE, ILL, RISK)), model="none", records=RECORDS))
    assert (result["target"], result["classes"]) == ("risk", ["good", "bad"])
    assert read(result).target == "risk"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a tree predicts nothing": ({"trees": [LEAF]}, "release.schema"),
    "a tree by its model only": ({"model": "trees"}, "release.schema"),
    "a tree beside the model": ({"alternatives": {"plain": LEAF}}, "release.schema"),
    "another model": ({"model": "naive_bayes"}, "release.schema"),
    "no model, so trees": ({"model": ...}, "release.schema"),
    "a class that is no column": ({"target": "risk", "classes": ["good", "bad"]}, "release"),
    "a column that is no class": ({"target": "ill", "classes": ["yes", "no"]}, "release"),
    "classes of nothing": ({"classes": ["good", "bad"]}, "release"),
    "a target without classes": ({"target": "ill"}, "release"),
    "an empty target": ({"target": ""}, "release"),
    "classes that are nothing": ({"classes": None}, "release"),
    "no classes said": ({"classes": ...}, "release"),
    "trees that are nothing": ({"trees": None}, "release.trees"),
    "alternatives that are nothing": ({"alternatives": None}, "release.alternatives"),
    "alternatives in a list": ({"alternatives": [LEAF]}, "release.alternatives"),
}


@pytest.mark.parametrize(("changes", "place"), WRONG.values(), ids=WRONG)
def test_without_a_class_this_is_refused_with_its_place(changes: dict[str, Any], place: str) -> None:
    fields = {key: value for key, value in (written() | changes).items() if value is not ...}
    with pytest.raises(ReleaseError) as caught:
        read(fields)
    assert caught.value.problems[0].location == place
    assert caught.value.exit_code == 2


HOSTILE: dict[str, dict[str, Any]] = {
    "target null": {"target": None},
    "no classes": {"classes": []},
    "neither": {"target": None, "classes": []},
    "target left out": {"target": ...},
    "classes the other way round": {"classes": ["bad", "good"]},
    "one class": {"classes": ["good"]},
    "two columns with the role": {"schema": {"age": CLASS, "ill": CLASS, "risk": CLASS}},
    "a class of numbers": {"schema": {"age": {"role": ["class"], "bounds": [0, 1]}}, "target": "age", "classes": []},
}


@pytest.mark.parametrize("changes", HOSTILE.values(), ids=HOSTILE)
def test_a_class_that_is_there_cannot_be_denied(changes: dict[str, Any]) -> None:
    with_class = written(Release({"use": "careful"}, Schema((AGE, ILL, RISK)), model="none", records=RECORDS))
    fields = {key: value for key, value in (with_class | changes).items() if value is not ...}
    with pytest.raises(ReleaseError) as caught:
        read(fields)
    assert caught.value.problems[0].location in {"release", "release.schema"}


def test_trees_cannot_be_passed_off_as_none() -> None:
    with_class = written(Release({"use": "careful"}, Schema((AGE, ILL, RISK)), model="none", records=RECORDS))
    with pytest.raises(ReleaseError):
        read(with_class | {"trees": [LEAF]})
