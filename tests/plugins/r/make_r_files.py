"""Make the archives of R's files anew: `python tests/plugins/r/make_r_files.py`, where R and its packages are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

from producer_archive import write_archive  # noqa: E402


def make(script: str, archive: str) -> None:
    """Run a script of R, and pack the files that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        subprocess.run(["Rscript", str(HERE / script), folder], check=True, env=environment)
        files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
        write_archive(HERE / archive, files)


if __name__ == "__main__":
    make("make_r_files.R", "models.tar.xz")
    make("make_r_objects.R", "objects.tar.xz")
