"""Whether something ends, told apart from whether it is fast: machines that run tests are slow and shared."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 30
"""Of this process's own work: ten times what the slowest of these tests needed on the slowest machine seen. Work that
grows faster than its input, as it does where a file is hostile to its reader, takes minutes."""


@contextmanager
def ends_soon() -> Iterator[None]:
    """Fails where what is inside takes more than SECONDS of this process's work.

    How fast it is, `tests/benchmarks/models.py` and, of hostile files, `tests/benchmarks/hostile.py` print.
    """
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS
