"""The options and arguments that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Audience(StrEnum):
    """Who will read the report."""

    public = "public"
    auditor = "auditor"


PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy, a YAML file.")]
DataFile = Annotated[Path | None, typer.Argument(metavar="[DATA]", help="The table; overrides data.path.")]
DataRoot = Annotated[Path | None, typer.Option(help="The folder the policy's data files are below.")]
Org = Annotated[
    list[Path] | None,
    typer.Option(metavar="POLICY", help="A policy that this one must complete or tighten; repeatable."),
]
PluginFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin", metavar="FILE.py", help="Try a plugin that is not installed; repeatable. The file is run."
    ),
]
TestFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The test table; overrides data.test.")]
JsonOutput = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, whatever happens.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors: the exit code is the verdict.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print on stderr how long each step took.")]
ExpectPolicy = Annotated[
    str | None, typer.Option(metavar="SHA256|POLICY", help="Refuse a report of another policy, or of other waivers.")
]
ExpectRelease = Annotated[str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another release.")]
ExpectFile = Annotated[str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another model file.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="Judge waivers again on this day; default: today, in UTC.")
]
