"""How the tests are run: the Hypothesis profiles, and the attack on every public report that a test makes.

The profile is chosen by `--hypothesis-profile` or the variable `HYPOTHESIS_PROFILE`: `dev` (the default) takes the same
few examples in every run, `ci` and `nightly` search at random, with more of them.

Every public report is attacked with a pencil: no small number may follow from those it shows. Each document is attacked
once; in `dev` every tenth only, chosen by its digest.

What is installed is looked at once for all tests of a process (`remembered`). While tests are collected nothing is
searched for garbage, and what is there then is not searched afterwards: it lasts as long as the process. Afterwards
it is searched for as seldom as in a process of leafgate.

Side by side, tests stay with their neighbours, with whom they share what was made once. Libraries compute in one
thread, in the processes that tests start, too; `OMP_NUM_THREADS` in the environment says otherwise.
"""

import gc
import hashlib
import importlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import leafgate.disclosure.document
import remembered
from leafgate.cli import GC_THRESHOLD
from leafgate.disclosure.masking import Audience
from leafgate.kernel.findings import Report
from subtraction import exact_counts, given_away

_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", _COMMON, max_examples=12, derandomize=True)
settings.register_profile("ci", _COMMON, max_examples=50)
settings.register_profile("nightly", _COMMON, max_examples=400)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a run in the background; tests send Ctrl-C, to themselves too
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, and threads of several wait for each other
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile every module anew

_document = leafgate.disclosure.document.document
_harmless: set[bytes] = set()  # digests of documents that were attacked in vain


def _attacked(report: Report, audience: Audience) -> dict[str, Any]:
    document = _document(report, audience)
    if audience != "public" or report.smallest_cell <= 2:  # fewer than 2 is 1
        return document
    digest = hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).digest()
    skipped = settings.get_current_profile_name() == "dev" and int.from_bytes(digest) % 10
    if not skipped and digest not in _harmless:
        findings = [*given_away(document, report.smallest_cell), *exact_counts(document)]
        assert not findings, f"a public report gives away: {findings}"
        _harmless.add(digest)
    return document


leafgate.disclosure.document.document = _attacked  # before any test module imports it
remembered.install()


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports scripts of `docs/reproduce`, which make pages."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "docs" / "reproduce"))
    return importlib.import_module


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """A million objects are made, and hardly any are let go."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, no word on `--dist`: each takes a part of the list, and who is done takes from the others' ends."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    return WorkStealingScheduling(config, log)
