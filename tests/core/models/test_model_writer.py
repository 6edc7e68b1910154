"""Which reader writes a file is chosen by its name; what was written is read again before anybody gets it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from broken_plugins.readers import HONEST_READER, STUMP, labels_alone, read
from leafgate.api import ReleaseError
from leafgate.models.reader import read_foreign
from leafgate.models.writer import check_original, model_as_file, model_writer
from leafgate.readers import ModelIR, ModelReader

MODEL = read(STUMP.content, "stump")


def failing(model: ModelIR, original: bytes) -> bytes:
    raise KeyError("a cell")


def test_the_end_of_the_name_chooses_the_reader_whatever_its_case() -> None:
    other = ModelReader(name="elm", sniff=bool, read=read)
    assert model_writer("new.OAK", (other, HONEST_READER)) is HONEST_READER


def test_an_ending_that_nobody_writes_is_refused_with_those_that_are() -> None:
    with pytest.raises(ReleaseError, match=r"no installed plugin writes.*\.oak"):
        model_writer("new.pkl", (HONEST_READER,))


def test_an_ending_that_two_plugins_write_is_refused() -> None:
    with pytest.raises(ReleaseError, match="elm and oak"):
        model_writer("new.oak", (HONEST_READER, replace(HONEST_READER, name="elm")))


def test_what_is_written_is_read_again_as_the_same_model() -> None:
    (again,) = read_foreign(
        model_as_file(MODEL, STUMP.content, "new.oak", (HONEST_READER,)), "m", (HONEST_READER,)
    ).trees
    (tree,) = MODEL.trees
    assert again.threshold.tolist() == pytest.approx(tree.threshold.tolist(), nan_ok=True)
    assert again.counts is not None
    assert tree.counts is not None
    assert again.counts[1:].tolist() == tree.counts[1:].tolist()


def test_a_file_that_discloses_more_than_the_model_is_refused() -> None:
    unchanged = replace(HONEST_READER, write=lambda model, original: original)
    with pytest.raises(ReleaseError, match="discloses counts, the model labels"):
        model_as_file(labels_alone(STUMP.content, "stump"), STUMP.content, "new.oak", (unchanged,))


def test_a_file_that_its_reader_refuses_is_refused() -> None:
    torn = replace(HONEST_READER, write=lambda model, original: original[:-9])
    with pytest.raises(ReleaseError):
        model_as_file(MODEL, STUMP.content, "new.oak", (torn,))


def test_an_error_of_the_plugin_is_named_without_its_text() -> None:
    with pytest.raises(ReleaseError, match=r"'oak' failed to write it \(KeyError\)") as caught:
        model_as_file(MODEL, STUMP.content, "new.oak", (replace(HONEST_READER, write=failing),))
    assert "cell" not in str(caught.value)


def test_a_model_that_is_none_is_not_written() -> None:
    (tree,) = MODEL.trees
    endless = replace(MODEL, trees=(replace(tree, threshold=np.full(tree.nodes, np.inf)),))
    with pytest.raises(ReleaseError, match="no finite number"):
        model_as_file(endless, STUMP.content, "new.oak", (HONEST_READER,))


def test_a_file_that_its_writer_takes_no_model_from_is_refused_before_there_is_one() -> None:
    def refusing(original: bytes) -> None:
        raise ReleaseError("holds no oak", place="m")

    def broken(original: bytes) -> None:
        raise KeyError("a cell")

    with pytest.raises(ReleaseError, match="holds no oak"):
        check_original(STUMP.content, "new.oak", (replace(HONEST_READER, check_original=refusing),))
    with pytest.raises(ReleaseError, match=r"failed to look at it \(KeyError\)") as caught:
        check_original(STUMP.content, "new.oak", (replace(HONEST_READER, check_original=broken),))
    assert "cell" not in str(caught.value)
    check_original(STUMP.content, "new.oak", (HONEST_READER,))
