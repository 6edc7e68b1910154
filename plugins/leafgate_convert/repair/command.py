"""The command repair: the most accurate model below a given one that a policy lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.app import DataRoot, guarded

app = typer.Typer()


def repair(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model's file.")],
    policy: Annotated[Path, typer.Option(metavar="POLICY", help="The policy whose limits the new model keeps.")],
    out: Annotated[Path, typer.Option(metavar="NEW", help="The file to write; its ending chooses the format.")],
    root: DataRoot = None,
) -> int:
    """Write the most accurate model below a given one that keeps every limit of a policy, and audit its bytes."""
    from leafgate.app import (
        EVERYONE,
        EXIT_CODES,
        Plugins,
        Policy,
        clear_file,
        document,
        make_folder,
        model_writer,
        open_session,
        print_document,
        read_model,
        refuse_same,
        say,
        summary,
        write_file,
    )
    from leafgate_convert.repair.plan import opened_model, refuse_other_builders, repaired
    from leafgate_convert.repair.trials import Workbench
    from leafgate_convert.repair.wording import failure_lines, policy_line, success_lines

    def check(read: Policy, plugins: Plugins) -> None:
        refuse_other_builders(read)
        model_writer(out.name, plugins.readers)
        data = read.data
        inputs = [path for path in (data.path, data.test, data.control, data.population, read.knows.people) if path]
        clear_file(out, [model, policy, *inputs])

    for given in (model, policy):
        refuse_same(given, out)
    make_folder(out.parent)
    session = open_session(policy, None, root, before_data=check)
    whole = opened_model(model, session)
    with Workbench.opened(session, out.name, model.read_bytes()) as bench:
        outcome = repaired(bench, whole, model)
    if outcome.given.verdict == "pass":
        say(f"{model}: passes already, so nothing is written")
        print_document(summary(document(outcome.given, "public")))
        return 0
    if outcome.best is None:
        say(f"{model}: no model below it was found to pass, so nothing is written")
        for line in failure_lines(outcome):
            say(line)
        report = outcome.given if outcome.nearest is None else outcome.nearest.report
        return EXIT_CODES["fail" if report.verdict == "pass" else report.verdict]
    write_file(out, outcome.best.content, EVERYONE)
    say(f"{out}: passes")
    for line in success_lines(outcome, outcome.best, read_model(out, session.plugins.readers), session):
        say(line)
    say(policy_line(out, policy))
    print_document(summary(document(outcome.best.report, "public")))
    return 0


app.command("repair")(guarded(repair))
