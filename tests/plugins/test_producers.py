"""The producer matrix: files of many versions of many programs are read as these programs predict, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from producer_archive import Archive, case_of
from producer_matrix import PRODUCERS, Outcome, Producer, model_of

MAX_BYTES = 200_000


def files(*, answered: bool) -> list[Any]:
    """Each file with answers, or without; those of versions before the newest are of the longer part."""
    return [
        pytest.param(
            *(producer, archive, name),
            id=f"{producer.name} {archive.version} {name}",
            marks=() if archive is producer.archives[-1] else pytest.mark.thorough,
        )
        for producer in PRODUCERS
        for archive in producer.archives
        for name in (archive.answered if answered else archive.unanswered)
    ]


@pytest.mark.parametrize(("producer", "archive", "name"), files(answered=True))
def test_a_file_is_read_as_its_producer_predicts(producer: Producer, archive: Archive, name: str) -> None:
    outcome = producer.outcome(archive, name)
    assert outcome == Outcome("", outcome.rows, outcome.rows)
    assert outcome.rows >= 80
    assert bool(model_of(archive, name).classes) == bool(archive.labels(case_of(name)))
    leftovers = "other_content" in {item.kind for item in model_of(archive, name).discloses}
    assert leftovers == (case_of(name) in producer.leftovers)


@pytest.mark.parametrize(("producer", "archive", "name"), files(answered=False))
def test_what_is_not_read_is_refused_with_the_reason(producer: Producer, archive: Archive, name: str) -> None:
    assert producer.refused[case_of(name)] in producer.outcome(archive, name).reason


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: producer.name)
def test_each_version_has_every_case_that_it_trains(producer: Producer) -> None:
    assert {archive.version for archive in producer.archives} >= set(producer.versions)  # a newer one may be tried
    cases = {case_of(name) for archive in producer.archives for name in archive.models}
    for archive in producer.archives:
        later = {case for case, since in producer.later.items() if Version(since) > Version(archive.version)}
        assert {case_of(name) for name in archive.models} == cases - later
        assert {case_of(name) for name in archive.unanswered} == producer.refused.keys() - later
        assert Path(archive.path).stat().st_size < MAX_BYTES
