"""Which modules of ours a command imports: `python tests/support/imported.py audit policies/mortgage.yaml`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path

from leafgate.cli import main


def imported_by(words: Sequence[str]) -> dict[str, int]:
    """The lines of each module of leafgate and its plugins that is imported once a command has run in this process.

    Args:
        words: those of the command line after `leafgate`.
    """
    sys.argv = ["leafgate", *words]
    with suppress(SystemExit), redirect_stdout(io.StringIO()):
        main()
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    ours = {name: Path(file) for name, file in files.items() if file and name.partition(".")[0].startswith("leafgate")}
    return {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in sorted(ours.items())}


if __name__ == "__main__":
    for module, lines in (found := imported_by(sys.argv[1:])).items():
        print(f"{lines:6} {module}")
    print(f"{sum(found.values()):6} lines of {len(found)} modules")
