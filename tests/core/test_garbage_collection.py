import gc

import pytest

from leafgate.garbage_collection import paused_garbage_collection


def fail() -> None:
    with paused_garbage_collection(), paused_garbage_collection():
        assert not gc.isenabled()
        raise ValueError("wrong")


def test_cycles_are_looked_for_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert gc.isenabled()


def test_a_process_that_never_looks_for_cycles_does_not_begin_to() -> None:
    gc.disable()
    try:
        with paused_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
