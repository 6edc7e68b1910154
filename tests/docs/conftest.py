"""The documentation site is built once for the tests of its pages and of its notebooks."""

import fcntl
from pathlib import Path

import pytest

from documentation_site import build_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the built site, which processes that run tests side by side share."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    built = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (built / "index.html").exists():
            build_site(built, shared / "jupyter")
    return built
