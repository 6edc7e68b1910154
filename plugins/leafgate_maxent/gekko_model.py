"""A GEKKO model that stays on this machine, says nothing and leaves nothing behind.

GEKKO prints the matrices it is given, leaves its files where it fails, and reports success where there is
none: everything it prints is caught, its folder is removed whatever happens, and what it reports is not read.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafgate.errors import InconclusiveError

IPOPT = 3
MOST = 1000
"""Steps of the solver."""
NEAR = 1e-11
"""How far conditions may be missed, in shares."""
OPTIONS = ["bound_relax_factor 0", "acceptable_iter 0"]
"""No cell below 0, where logarithms end; nothing that is only nearly solved."""
REMEDY = 'pip install "gekko>=1.3.3" where it has a binary with IPOPT, or say `solver: structured`'


@contextlib.contextmanager
def caught() -> Iterator[io.StringIO]:
    """All that is printed meanwhile, the data with it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield said


@contextlib.contextmanager
def empty_model() -> Iterator[Any]:
    """An empty model, in a new folder that only this user can read and that is gone afterwards."""
    try:
        from gekko import GEKKO
    except ImportError as error:
        raise no_gekko("GEKKO is not installed") from error
    model = GEKKO(remote=False)
    assert model._remote is False, "the data stays on this machine"
    try:
        yield model
    finally:
        model.cleanup()
        if Path(model._path).exists():
            shutil.rmtree(model._path)


def run(model: Any, deadline: float, said: io.StringIO) -> bool:
    """Have it solved by IPOPT; False where there was no time or nothing came back.

    Raises InconclusiveError where GEKKO cannot run on this machine.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    model.options.SOLVER, model.options.MAX_ITER, model.options.MAX_TIME = IPOPT, MOST, left
    model.options.RTOL = model.options.OTOL = NEAR
    model.solver_options = OPTIONS
    try:
        model.solve(disp=True, debug=0)
    except OSError as error:
        if Path(str(error.filename)).parent != Path(model._path):
            raise no_gekko("GEKKO's binary is missing or cannot be run") from error
        if "APMonitor" not in said.getvalue():
            raise no_gekko("GEKKO's binary does not work") from error
        return False
    except Exception as error:  # GEKKO raises nothing more special
        if "not supported" in str(error):
            raise no_gekko("GEKKO has no binary for this platform") from error
        return False
    return True


def no_gekko(what: str) -> InconclusiveError:
    """The error where GEKKO cannot run, and what to do about it."""
    return InconclusiveError(f"{what}, so the MaxEnt problem was not solved", remedy=REMEDY)


def solver_of(said: str) -> str:
    """The solver that ran: builds without IPOPT (GEKKO 1.3.2 on Linux) take another and name it only here."""
    found = re.search(r"using default solver: *(\w+)", said)
    return found[1] if found else "IPOPT"


def steps_of(said: str) -> int:
    """The steps that IPOPT says it took, all runs together."""
    return sum(map(int, re.findall(r"Number of Iterations\.*: *(\d+)", said)))
