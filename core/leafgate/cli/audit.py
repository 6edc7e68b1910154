"""Commands that touch data: audit, build, attack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leafgate.api.registry import plugins_beside
from leafgate.console import options
from leafgate.console.output import print_document, say
from leafgate.errors import InvalidError, OutputError, PolicyError
from leafgate.io.files import EVERYONE, OWNER_ONLY, make_folder, write_file
from leafgate.io.locks import turn_in_folder
from leafgate.kernel.origin import NO_REMEDIES, WITNESS_LIBRARY
from leafgate.lazy_loading import lazy
from leafgate.session.results import (
    RELEASE,
    RESULTS,
    drawn_release,
    is_release_file,
    remove_results,
    restore_release,
    result_files,
    results_folder,
)

if TYPE_CHECKING:
    from leafgate.api.registry import Plugin, Plugins
    from leafgate.commands.attest import command as attestation
    from leafgate.kernel.policy import Policy
    from leafgate.session import run as sessions
    from leafgate.session.ledger_releases import GivenLedger
else:
    attestation = lazy("leafgate.commands.attest.command")
    sessions = lazy("leafgate.session.run")


def audit(
    policy: options.PolicyFile,
    data: options.DataFile = None,
    root: options.DataRoot = None,
    org: options.Org = None,
    test: options.TestFile = None,
    out: Annotated[Path | None, typer.Option(help="Folder for release.json, report.json, timings.json.")] = None,
    as_json: options.JsonOutput = False,
    audience: Annotated[
        options.Audience, typer.Option(help="auditor: everything, in owner-only files.")
    ] = options.Audience.public,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT", help="Write the report in this format (html, ...) too; repeatable."),
    ] = None,
    no_remedies: Annotated[
        bool,
        typer.Option(NO_REMEDIES, help="Where a limit fails, do not search for settings that pass."),
    ] = False,
    witness_library: Annotated[
        bool,
        typer.Option(
            WITNESS_LIBRARY,
            help="Let the library that wrote a model's file answer, in its own process.",
        ),
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(metavar="LEDGER", help="Releases that left: the adversary has them, too.")
    ] = None,
    ledger_key: Annotated[Path | None, typer.Option(metavar="KEY", help="The file with the key of the ledger.")] = None,
    roll_key: Annotated[
        list[Path] | None,
        typer.Option(metavar="KEY", help="The file with the key of rolls of the ledger; repeatable."),
    ] = None,
    plugin: options.PluginFiles = None,
    attest: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="Sign statements about the report with this private key, into --out."),
    ] = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Build or load a release, attack it, and judge it by the limits."""
    with nullcontext() if out is None else results_folder(out):
        if out is None:
            _refuse_without_folder(audience, to or ())
        if quiet and (as_json or verbose):
            raise InvalidError("prints nothing", place="--quiet", remedy="leave out --json and --verbose")
        sign = None if attest is None else attestation.signing(attest, out, public=audience == options.Audience.public)
        with plugins_beside(*tried_plugins(plugin or (), org)):
            beside = _given_ledger(ledger, ledger_key, roll_key or ())
            run = _opened_session(out, to or (), policy, data, root, test, org, ledger=beside)
        for option, given in ((NO_REMEDIES, no_remedies), (WITNESS_LIBRARY, witness_library)):
            if given:  # reports state it: without it the same command makes another report
                run = replace(run, policy=run.policy.with_given(option))
        if not as_json and not quiet:
            warn(policy, [*warnings_of(run.policy), *warnings_of_table(run, with_notes=True)])
        code = _audit_into(
            out,
            run,
            audience=audience,
            formats=to or (),
            search_remedies=not no_remedies,
            as_json=as_json,
            quiet=quiet,
            verbose=verbose,
        )
        if sign is not None and out is not None:
            say(attestation.attested(out, sign, run), err=True)
        return code


def _audit_into(
    out: Path | None,
    run: sessions.Session,
    *,
    audience: options.Audience,
    formats: Sequence[str],
    search_remedies: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Audit, and write the results into a folder that nobody else writes to; without one nothing is written."""
    if run.policy.build.one_shot and out is None:
        remedy = "keep the release: add --out; or try out with `rehearsal: true`"
        raise PolicyError("this builder never draws the same again", place="build", remedy=remedy)
    if out is not None:
        from leafgate.session.report_formats import chosen_formats

        results = result_files(run.plugins)
        _refuse_overwriting_releases(run.policy, out, results)
        remove_results(out, results - _results_read(run.policy, out, results))
    audited = run.audit(
        announce=lambda line: None if as_json or quiet else say(f"note: {line}", err=True),
        search_remedies=search_remedies,
    )
    if out is not None:
        from leafgate.session.results import write_results

        _refuse_second_draw(run.policy, out / RELEASE)  # a build may have drawn for this place meanwhile
        write_results(audited, audience.value, out, chosen_formats(run.plugins, formats))
    from leafgate.disclosure.document import document
    from leafgate.disclosure.summary import summary
    from leafgate.io.json import readable

    for step, seconds in audited.seconds.items() if verbose else ():
        say(f"time: {step} {seconds:.2f} s", err=True)
    if not quiet:
        public = document(audited.report, "public")
        print_document(readable(public) if as_json else summary(public))
    return audited.report.exit_code


def tried_plugins(files: Sequence[Path], org: object = None) -> list[Plugin]:
    """The plugins in these files, each run once; InvalidError beside an organisation's policy."""
    from leafgate.api.registry import plugin_of_file

    if files and org:
        message = "an organisation's policy says which plugins it trusts, and a file is none of them"
        raise InvalidError(message, place="--plugin", remedy="leave out --org while you try it")
    return [plugin_of_file(file) for file in files]


def _refuse_without_folder(audience: options.Audience, formats: Collection[str]) -> None:
    """InvalidError for options whose files need a folder."""
    if audience == options.Audience.auditor:
        raise InvalidError(
            "an auditor's report goes to a folder, not to stdout", place="--audience", remedy="add --out"
        )
    if formats:
        raise InvalidError("reports go to a folder", place="--to", remedy="add --out, or use: leafgate report")


def warn(path: Path, warnings: Iterable[str]) -> None:
    """Print warnings about a policy on stderr, one line each."""
    for problem in warnings:
        say(f"warning: {path.name}: {problem}", err=True)


def warnings_of(policy: Policy) -> list[str]:
    from leafgate.session.limit_warnings import decimal_commas, small_limits

    return [str(problem) for problem in (*small_limits(policy), *decimal_commas(policy))]


def warnings_of_table(run: sessions.Session, *, with_notes: bool = False) -> list[str]:
    """What the table says of the limits before anything is built; of a table in memory alone.

    Where a report's notes follow, what they say is left out.
    """
    from leafgate.session.limit_warnings import limits_against_table, own_people_as_test, spelled_alike

    people = run.table
    against_table = limits_against_table(run.policy, run.plugins, people)
    is_noted = with_notes and run.tables.test is not None and run.tables.test.sha256 == people.sha256 != ""
    own_people = () if is_noted else own_people_as_test(people, run.tables.test)
    return [str(problem) for problem in (*spelled_alike(people), *against_table, *own_people)]


def _given_ledger(path: Path | None, key: Path | None, roll_keys: Sequence[Path]) -> GivenLedger | None:
    """The ledger and its key, which are given together or not at all, and the keys of its rolls."""
    if path is None and roll_keys:
        raise InvalidError("is of the rolls of a ledger", place="--roll-key", remedy="give --ledger, too")
    if path is None and key is None:
        return None
    if path is None or key is None:
        missing, other = ("--ledger", "--ledger-key") if path is None else ("--ledger-key", "--ledger")
        raise InvalidError(f"is needed beside {other}", place=missing, remedy="give both, or neither")
    from leafgate.session.ledger_releases import GivenLedger

    return GivenLedger(path, key, tuple(roll_keys))


def _opened_session(
    out: Path | None, formats: Collection[str], *given: Any, ledger: GivenLedger | None
) -> sessions.Session:
    """The policy and its tables. Verdicts and releases of earlier runs in `out` are set aside by now.

    Where a release stands that could never be drawn again nothing is drawn. A release that the run reads is put back.
    """
    if out is None:
        return sessions.open_session(*given, any_size_for="audit", ledger=ledger)

    def begin(policy: Policy, plugins: Plugins) -> None:
        from leafgate.session.ledger_releases import release_paths
        from leafgate.session.report_formats import chosen_formats

        others = [other.path for other in policy.releases] + ([] if ledger is None else release_paths(ledger))
        restore_release(out, {path.resolve() for path in (*_files_of_build(policy), *others)})
        chosen_formats(plugins, formats)
        _refuse_second_draw(policy, out / RELEASE)
        _results_read(policy, out, RESULTS)

    return sessions.open_session(*given, before_data=begin, any_size_for="audit", ledger=ledger)


def _files_of_build(policy: Policy) -> set[Path]:
    return {path for _, path in policy.build if isinstance(path, Path)}


def _results_read(policy: Policy, out: Path, results: Collection[str]) -> set[str]:
    """The results that the builder itself reads: a release file that is audited where it stands.

    Raises OutputError where the audit would write its release over something else, such as a model of that name.
    """
    inputs = _files_of_build(policy)
    names = {name for name in results if (out / name).resolve() in inputs}
    if RELEASE in names and not is_release_file(out / RELEASE):
        raise OutputError(
            "is a file that this audit reads, and would be overwritten",
            place=str(out / RELEASE),
            remedy="name another folder: --out",
        )
    return names


def _refuse_overwriting_releases(policy: Policy, out: Path, results: Collection[str]) -> None:
    """OutputError where the audit would write its results over a release that it compares the audited one with."""
    for place, other in policy.placed_releases:
        if other.path.parent == out.resolve() and other.path.name in results:
            message = f"is a release that this audit reads ({place}), and would be overwritten"
            raise OutputError(message, place=str(out / other.path.name), remedy="name another folder: --out")


def _refuse_second_draw(policy: Policy, release: Path) -> None:
    """Nothing is drawn for a place where a release stands that could never be drawn again."""
    drawn = drawn_release(release) if policy.build.one_shot else None
    if drawn is not None:
        remedy = "publish that one, or name another place; what is drawn twice protects less, or promises nothing"
        raise OutputError("a release was drawn here before", place=str(drawn), remedy=remedy)


def build(
    policy: options.PolicyFile,
    out: Annotated[Path, typer.Option(help="The release file to write.")],
    data: options.DataFile = None,
    root: options.DataRoot = None,
    org: options.Org = None,
) -> int:
    """Build the release alone. Nothing is attacked, so nothing is said about it."""
    make_folder(out.parent)
    run = sessions.open_session(policy, data, root, org=org, any_size_for="build")
    _refuse_second_draw(run.policy, out)
    artifact = sessions.build_release(run.policy, run.plugins, run.tables.people, run.tables.test)
    rehearsed = run.policy.build.is_rehearsal
    with turn_in_folder(out.parent):
        _refuse_second_draw(run.policy, out)  # another build may have drawn for the same place meanwhile
        write_file(out, artifact.content, OWNER_ONLY if rehearsed else EVERYONE)
    say(f"{out}: {artifact.sha256}{' (a rehearsal: not fit to be published)' if rehearsed else ''}")
    return 0


def attack(
    policy: options.PolicyFile,
    release: Annotated[Path, typer.Option(help="The release file to attack.")],
    use: Annotated[str, typer.Option(metavar="NAME", help="An attack of the policy, or one that is installed.")],
    out: Annotated[Path, typer.Option(help="The file to write (for its owner's eyes only).")],
    data: options.DataFile = None,
    root: options.DataRoot = None,
    secret: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which secret, if there are several.")] = None,
    plugin: options.PluginFiles = None,
) -> int:
    """Write what one attack infers about everybody, as CSV. Of an attack on the mechanism: its evidence, as JSON."""
    make_folder(out.parent)
    from leafgate.cli.attack import belief_file, run_single_attack
    from leafgate.kernel.belief import AttributeBelief, MembershipBelief, TableBelief, secret_of

    with plugins_beside(*tried_plugins(plugin or ())):
        run = sessions.open_session(policy, data, root)
    belief, known = run_single_attack(run, release, use, secret)
    write_file(out, belief_file(belief, known), OWNER_ONLY)
    people = {MembershipBelief: "of candidates", AttributeBelief: f"of {secret_of(belief)} of targets"}
    people[TableBelief] = "of the records of the table, which are nobody's in particular"
    about = people.get(type(belief), f"of {secret_of(belief) or 'nobody'}")
    say(f"{out}: what {use} believes {about}, for its owner's eyes only")
    return 0
