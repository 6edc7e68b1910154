"""What readers say that they were tested with is what the producer matrix holds, and what the page lists."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from installed_readers import READERS, file_bytes, read_foreign, reader_of
from producer_matrix import PRODUCERS, Producer, model_of

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/model-files.md"
NO_MATRIX = frozenset({"leafgate", "", "R rpart", "R ranger", "R randomForest"})
"""What is compared with the programs' answers elsewhere, or written by leafgate itself."""


def producers_of(producer: Producer) -> dict[str, set[str]]:
    """What the files of a program say wrote them, by the reader that reads them; one file of each version."""
    found = defaultdict[str, set[str]](set)
    for archive in producer.archives:
        name = archive.answered[0]
        reader = reader_of(archive.models[name], name)
        found[reader.name].add(model_of(archive, name).producer)
    return found


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: producer.name)
def test_a_reader_was_tested_with_the_versions_of_the_matrix(producer: Producer) -> None:
    readers = {reader.name: reader for reader in READERS}
    for name, programs in producers_of(producer).items():
        assert {program: readers[name].tested_with(program) for program in programs} == dict.fromkeys(
            programs, "version"
        )


def test_the_reader_of_mlflow_folders_was_tested_with_what_stands_in_them(tmp_path: Path) -> None:
    (mlflow,) = [producer for producer in PRODUCERS if producer.name == "MLflow"]
    for name, content in mlflow.archives[-1].files.items():
        if "/" in name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    for folder in sorted(tmp_path.iterdir()):
        content = file_bytes(folder)
        model, reader = read_foreign(content, folder.name), reader_of(content, folder.name)
        assert (reader.name, reader.tested_with(model.producer)) == ("mlflow", "version")


def test_no_reader_says_that_it_was_tested_with_more() -> None:
    programs = {program for each in PRODUCERS for found in producers_of(each).values() for program in found}
    said = {text for reader in READERS for text in reader.tested} - NO_MATRIX
    assert {text for text in said if not any(text in program for program in programs)} == set()


def test_the_page_lists_them() -> None:
    (table,) = re.findall(r"\| format \| programs \|\n\|.*\n((?:\|.*\n)+)", PAGE.read_text())
    for reader in READERS:
        for text in reader.tested:
            program, _, version = text.rpartition(" ")
            assert {version, program.partition(",")[0]} <= {"", *re.split(r"[,;|]? |\n", table)}
