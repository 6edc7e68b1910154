"""The command demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.errors import ExitCode


def demo(
    out: Annotated[Path, typer.Option(help="Where data, policies and reports go.")] = Path("leafgate-demo"),
) -> int:
    """Audit an unprotected and a protected tree on made-up people. Shown as an auditor sees it."""
    from leafgate.commands.demo.audits import run_demo
    from leafgate.console.output import print_document
    from leafgate.io.files import make_folder

    make_folder(out)
    text, as_announced = run_demo(out)
    print_document(text)
    return ExitCode.PASS if as_announced else ExitCode.INTERNAL
