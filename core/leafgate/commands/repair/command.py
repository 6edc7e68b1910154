"""The command repair: the most useful model in place of a given one that a policy lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.commands.convert.command import WithScript
from leafgate.commands.convert.prediction import refuse_script, write_script
from leafgate.console.options import DataRoot

if TYPE_CHECKING:
    from leafgate.commands.repair.result import RepairResult


def repair(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model's file.")],
    policy: Annotated[Path, typer.Option(metavar="POLICY", help="The policy whose limits the new model keeps.")],
    out: Annotated[Path, typer.Option(metavar="NEW", help="The file to write; its ending chooses the format.")],
    root: DataRoot = None,
    witness: Annotated[
        Path | None,
        typer.Option(metavar="ANSWERS", help="Rows of the policy's columns with MODEL's own answers."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="GOAL", help="What to keep: auc, balanced_accuracy, accuracy, or loss of numbers."),
    ] = None,
    effort: Annotated[
        float, typer.Option(metavar="N", min=0, help="How many times the default amount of work to do.")
    ] = 1.0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="When to stop; a repetition may then end otherwise.")
    ] = None,
    only_cut: Annotated[bool, typer.Option("--only-cut", help="Cut the given model; fit nothing anew.")] = False,
    columns: Annotated[
        str,
        typer.Option(metavar="COLUMNS", help="What a new tree may ask about: columns that MODEL takes (used), or all."),
    ] = "used",
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file of all models that were tried, and an SVG, in exact numbers, for the owner.",
        ),
    ] = None,
    script: WithScript = False,
) -> int:
    """Write a model in place of one that fails.

    It is the most useful one that was found to keep every limit of the policy; its bytes are audited.
    """
    from leafgate.api.registry import Plugins
    from leafgate.commands.repair.plan import refuse_unsuitable_policy, repair_file, with_witness
    from leafgate.commands.repair.wording import candidates_picture, policy_line
    from leafgate.console.output import print_document, say
    from leafgate.disclosure.document import document
    from leafgate.disclosure.summary import summary
    from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, make_folder, refuse_same, write_file
    from leafgate.kernel.policy import Policy
    from leafgate.models.writer import model_writer
    from leafgate.policy.sources import files_named, files_read
    from leafgate.session.run import open_session

    def check(read: Policy, plugins: Plugins) -> None:
        refuse_unsuitable_policy(read)
        model_writer(out.name, plugins.readers)
        if script:
            refuse_script(out)
        named = {*files_read(policy), *files_named(read), *([] if witness is None else [witness])}
        audited = getattr(read.build, "path", None)  # which may name the new file already
        if candidates is not None:
            drawn = candidates.with_suffix(".svg")
            refuse_same(candidates, drawn)
            for file in (candidates, drawn):
                refuse_same(out, file)
                clear_file(file, {model, *named})
        clear_file(out, {model, *(named - {audited})})

    make_folder(out.parent)
    session = with_witness(open_session(policy, None, root, before_data=check), witness)
    result = repair_file(
        *(session, model, out.name),
        keep=keep,
        effort=effort,
        seconds=time_limit,
        fit_anew=not only_cut,
        columns=columns,
    )
    if candidates is not None and result.candidates is not None:
        write_file(candidates, result.candidates.to_csv(index=False, lineterminator="\n").encode(), OWNER_ONLY)
        write_file(candidates.with_suffix(".svg"), candidates_picture(result.candidates), OWNER_ONLY)
    if result.content is None:
        return _nothing_written(model, result)
    write_file(out, result.content, EVERYONE)
    say(f"{out}: passes")
    for line in result.lines:
        say(line)
    if script:
        say(write_script(out))
    say(policy_line(out, policy))
    if getattr(session.policy.build, "witness", None) is not None and witness is None:
        say("  and take `witness` out, or write what the new model answers: it is of the given model")
    print_document(summary(document(result.report, "public")))
    return 0


def _nothing_written(model: Path, result: RepairResult) -> int:
    """Say why there is no new file; the exit code."""
    from leafgate.console.output import print_document, say
    from leafgate.disclosure.document import document
    from leafgate.disclosure.summary import summary
    from leafgate.kernel.findings import EXIT_CODES

    found = "passes already" if result.passes_already else "no useful model was found to pass"
    say(f"{model}: {found}, so nothing is written")
    for line in result.lines:
        say(line)
    if result.passes_already:
        print_document(summary(document(result.report, "public")))
        return 0
    return EXIT_CODES["fail" if result.report.verdict == "pass" else result.report.verdict]
