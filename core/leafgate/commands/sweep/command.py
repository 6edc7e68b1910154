"""The command sweep: one policy, many options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from leafgate.api import InvalidError
from leafgate.console.options import Audience, DataFile, DataRoot, JsonOutput, PolicyFile, Quiet, TestFile

Over = Annotated[
    list[str], typer.Option(metavar="PLACE=VALUE,...", help="An option of the policy and its values; repeatable.")
]
FILES = ("sweep.json", "sweep.csv", "sweep.svg")
Workers = Annotated[int, typer.Option(min=0, help="Parallel processes; 0: one for each processor.")]


def sweep(
    policy: PolicyFile,
    over: Over,
    out: Annotated[Path, typer.Option(help="Folder for sweep.json, sweep.csv, sweep.svg, and a folder a point.")],
    data: DataFile = None,
    root: DataRoot = None,
    test: TestFile = None,
    workers: Workers = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compute everything anew; else finished points are kept.")
    ] = False,
    as_json: JsonOutput = False,
    audience: Annotated[Audience, typer.Option(help="auditor: exact numbers, in owner-only files.")] = Audience.public,
    quiet: Quiet = False,
) -> int:
    """Audit a policy with every combination of some options. Names the most useful release that passes."""
    from leafgate.commands.sweep.axes import axis_of, points_of, refuse_probing
    from leafgate.commands.sweep.pool import run_points
    from leafgate.commands.sweep.results import as_csv, as_document, outcome_of, sweep_picture, table_lines
    from leafgate.commands.sweep.worker import Task, at_point, policy_at
    from leafgate.console.output import print_document, say
    from leafgate.io.files import EVERYONE, OWNER_ONLY, write_files
    from leafgate.io.json import readable
    from leafgate.policy.load import document_of
    from leafgate.progress import progress_step
    from leafgate.session.results import remove_results, results_folder

    with results_folder(out, "sweep"):
        if quiet and as_json:
            raise InvalidError("prints nothing", place="--quiet", remedy="leave out --json")
        remove_results(out, FILES)  # whatever happens, nothing of an earlier sweep is taken for this one's
        axes = [axis_of(words) for words in over]
        points = points_of(document_of(policy), axes)
        public = audience == Audience.public
        if public:
            refuse_probing(axes)
        task = Task(policy.parent, root, data, test, out, audience.value, fresh)
        policies = []
        for point in points:
            with at_point(point):
                policies.append(policy_at(point, task)[0])
        with progress_step("sweep"):
            results = run_points(points, task, min(workers or _processors(), len(points)))
        outcome = outcome_of(results, policies)
        document = as_document(outcome, audience.value)
        files = (readable(document), as_csv(outcome), sweep_picture(document))
        write_files(out, dict(zip(FILES, files, strict=True)), EVERYONE if public else OWNER_ONLY)
    if as_json:
        print_document(readable(as_document(outcome, audience.value, numbers=public)))
    elif not quiet:
        for line in table_lines(outcome, numbers=public):
            say(line)
    return outcome.exit_code


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
