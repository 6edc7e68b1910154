"""The commands `leafgate case show` and `decide`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.exit_codes import guarded
from leafgate.console.options import DataRoot, JsonOutput, Org
from leafgate.console.output import print_document, say
from leafgate.errors import InvalidError, LedgerError
from leafgate.io.json import JsonDocument, readable

if TYPE_CHECKING:
    from leafgate.commands.case.folder import Case
    from leafgate.commands.case.record import Request

Given = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with report.json, or a report in it.")]
PolicyOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The policy; needed until the first decision names it.")
]
HIDDEN = "hidden until a second person has decided"

case_app = typer.Typer(help="Decide about an audited release, with a reason and a signature.", no_args_is_help=True)


def show(
    folder: Given,
    policy: PolicyOption = None,
    org: Org = None,
    root: DataRoot = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A public key of those who may decide; repeatable. No other one counts."),
    ] = None,
    as_json: JsonOutput = False,
) -> int:
    """Show a case: what nobody examined, who decided what, and what it comes to as the files are now."""
    from leafgate.commands.attest.keys import public_key
    from leafgate.commands.case.folder import open_case

    trusted = None if key is None else {str(public_key(each).key.keyval["public"]) for each in key}
    case = open_case(folder, _request(folder, policy, org, root, None), trusted)
    _print_case(case, as_json=as_json)
    if trusted is None and case.record.decisions and not as_json:
        say("note: name the keys of those who may decide: --key. Otherwise anybody can have signed", err=True)
    return case.state.exit_code


def decide(
    folder: Given,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who decides.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Her private key, in PEM.")],
    approve: Annotated[bool, typer.Option("--approve", help="The release may leave.")] = False,
    changes: Annotated[bool, typer.Option("--changes", help="It must be changed first.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="It may not leave.")] = False,
    question: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=TEXT", help="Why it is acceptable that nobody examined a question; repeatable."),
    ] = None,
    not_acceptable: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=TEXT", help="Why it is not acceptable, which excludes --approve; repeatable."),
    ] = None,
    facts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A YAML file with who asks for it and what for; once.")
    ] = None,
    policy: PolicyOption = None,
    org: Org = None,
    root: DataRoot = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ledger to which an approved release is added.")
    ] = None,
    ledger_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The file with its secret key.")] = None,
    as_json: JsonOutput = False,
) -> int:
    """Add a signed decision to a case. It stays hidden until the second person, where two are wanted, decides."""
    from leafgate.commands.attest.keys import key_of_file, signer_of
    from leafgate.commands.case import folder as cases
    from leafgate.io.files import read_key

    if approve + changes + reject != 1:
        remedy = "say --approve, --changes or --reject"
        raise InvalidError("names no decision, or several", place="case decide", remedy=remedy)
    case = cases.decide(
        folder,
        "approve" if approve else "changes" if changes else "reject",
        reason=reason,
        by=by,
        signer=signer_of(key_of_file(key)),
        questions=[
            *_answered(question or [], acceptable=True),
            *_answered(not_acceptable or [], acceptable=False),
        ],
        request=_request(folder, policy, org, root, facts),
        ledger=ledger,
        ledger_key=None if ledger_key is None else read_key(ledger_key, LedgerError, str(ledger_key)),
    )
    _print_case(case, as_json=as_json)
    return case.state.exit_code


case_app.command("show")(guarded(show))
case_app.command("decide")(guarded(decide))


def _request(
    folder: Path, policy: Path | None, org: list[Path] | None, root: Path | None, facts: Path | None
) -> Request | None:
    from leafgate.commands.case.folder import request_for
    from leafgate.io.files import read_bounded
    from leafgate.io.yaml import MAX_YAML_BYTES
    from leafgate.reports.sheet import read_facts

    if policy is None:
        if org or root or facts:
            raise InvalidError("is missing", place="--policy", remedy="name it with --org, --root and --facts")
        return None
    read = None if facts is None else read_facts(read_bounded(facts, MAX_YAML_BYTES, InvalidError, str(facts)))
    return request_for(folder, policy, org or (), root, read)


def _answered(texts: list[str], *, acceptable: bool) -> list[JsonDocument]:
    parts = (text.partition("=") for text in texts)
    return [{"question": name.strip(), "acceptable": acceptable, "because": because} for name, _, because in parts]


def case_document(case: Case) -> JsonDocument:
    """What is known of a case, for programs; of a hidden decision that it was made, and whether it is void."""
    state = case.state
    decisions = [
        {
            **each.decision.model_dump(mode="json", include={"by", "at", "key", "about"}, exclude_none=True),
            **({} if each.is_hidden else each.decision.model_dump(include={"decision", "reason", "questions"})),
            "hidden": each.is_hidden,
            "void": list(each.void),
        }
        for each in state.decisions
    ]
    return {
        "format": "leafgate/decided/1",
        "state": state.name,
        "verdict": state.verdict,
        "wanted": state.wanted,
        "facts": case.record.request.facts.model_dump(mode="json", exclude_none=True),
        "not_examined": dict(case.subject.not_examined),
        "now": dict(case.subject.digests),
        "decisions": decisions,
    }


def _print_case(case: Case, *, as_json: bool) -> None:

    if as_json:
        print_document(readable(case_document(case)))
        return
    for name, asks in case.subject.not_examined.items():
        say(f"not examined: {asks} ({name})")
    for each in case.state.decisions:
        decision = each.decision
        said = HIDDEN if each.is_hidden else f"{decision.decision}: {decision.reason}"
        say(f"{decision.at}  {decision.by} ({decision.key[:16]})  {said}")
        for answer in () if each.is_hidden else decision.questions:
            say(f"  {answer.question}: {'acceptable' if answer.acceptable else 'not acceptable'}: {answer.because}")
        for reason in each.void:
            say(f"  void: {reason}")
    say(f"{case.report_path.parent}: {case.state.words} (the verdict is {case.state.verdict})")
