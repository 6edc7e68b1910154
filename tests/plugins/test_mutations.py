"""Model files with one thing changed: what is read of them answers as they do, by evaluators that share no code.

Files are those of the producer matrix. A change leaves no model, changes no answer, or changes some. Where it changes
some, the file is refused, or the reading changes alike and the answers before contradict it as a witness.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from evaluators.answers import Answers
from generator.formats import FORMATS, ModelFile, archive_of
from installed_readers import read_foreign
from mutations import Original, Outcome, contradicts, outcomes
from producer_archive import case_of

NUMBERS = [pytest.param(250, marks=pytest.mark.thorough), pytest.param(1000, marks=pytest.mark.slow)]
"""So many files of each format are changed."""
SINGLE = 4e-6
OTHER_LINKS = {"binary-sigmoid", "gradient-exponential"}
"""Cases whose shares of classes follow from their scores in another way than the logistic function."""


@cache
def files_of(name: str) -> list[ModelFile]:
    return list(FORMATS[name].files())


def as_the_producer_says(answers: Answers, labels: list[str], scores: np.ndarray) -> bool:
    """Are the scores and the classes those of the producer, on the rows that it answers?"""
    asked = ~np.isnan(scores).any(axis=1)
    if answers.labels is not None and labels:
        theirs = Answers(scores=scores, size=answers.size, labels=tuple(labels), classes=answers.classes)
        mine = answers.by_class()[asked]
        same = [a == b for a, b, row in zip(answers.labels, labels, asked, strict=True) if row]
        return all(same) and bool((abs(mine - theirs.by_class()[asked]) <= SINGLE * answers.size[asked, None]).all())
    return bool((abs(answers.scores - scores)[asked] <= SINGLE * answers.size[asked, None]).all())


def each_version() -> list[Any]:
    """Each version of each program; those between the oldest and the newest run with `slow`."""
    found = []
    for name, each in FORMATS.items():
        versions = each.versions
        for version in versions:
            marks = pytest.mark.thorough if version in {versions[0], versions[-1]} else pytest.mark.slow
            found.append(pytest.param(name, version, id=f"{name} {version}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "version"), each_version())
def test_evaluators_answer_as_the_producers(name: str, version: str) -> None:
    kind, files = FORMATS[name], [file for file in files_of(name) if file.name.startswith(f"{version}/")]
    assert len(files) >= 8
    for file in files:
        archive, case = archive_of(kind, file)
        answers = kind.evaluate(kind.parse(file.content), file.rows)
        scores = archive.margins(case)
        if (
            name == "LightGBM" and case.endswith("forest") and not case.startswith("poisson")
        ):  # it adds up what it says of rows, and divides for shares
            scores = scores / (len(kind.parse(file.content)["trees"]) // scores.shape[1])
        assert as_the_producer_says(answers, archive.labels(case), scores), file.name


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["LightGBM", "XGBoost"])
def test_numbers_of_people_in_a_file_are_those_that_the_model_was_trained_on(name: str) -> None:
    """Rows that were drawn at random are declared by a policy, where the file does not record it."""
    held = {file.name: contradicts(read_foreign(file.content, "m"), file.content) for file in files_of(name)}
    contradicted = {case for case, is_contradicted in held.items() if is_contradicted}
    assert {case for case in contradicted if "parallel" not in case} <= {"4.1.0/binary-goss.txt"}
    versions = {case.partition("/")[0] for case, is_contradicted in held.items() if is_contradicted is False}
    assert versions == set(FORMATS[name].versions)


def check(found: list[Outcome]) -> None:
    wrong = [each for each in found if each.verdict == "wrong"]
    assert not wrong
    unseen = [each for each in found if each.verdict in {"right", "inconclusive"} and each.visible > each.witnessed]
    assert not unseen
    assert {each.effect for each in found} == {"no model", "equivalent", "changed"}
    assert sum(each.witnessed for each in found) > len(found) / 20


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_of_a_changed_file_answers_as_it_does_or_the_file_is_refused(name: str, number: int) -> None:
    check(list(outcomes(FORMATS[name], number, seed=3)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_changed_is_read_as_it_answers(name: str) -> None:
    for file in files_of(name)[:: max(1, len(files_of(name)) // 10)]:
        original = Original(FORMATS[name], file, np.random.default_rng(0))
        model = original.reading()
        assert model is not None
        assert original.alike(model, original.columns, original.answers)
        assert not original.is_contradicted(model) or case_of(file.name.rpartition("/")[2]) in OTHER_LINKS
