"""The command that validates policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.api.registry import load_plugins, plugins_beside
from leafgate.cli.audit import tried_plugins, warn, warnings_of, warnings_of_table
from leafgate.console.options import DataRoot, JsonOutput, Org, PluginFiles, Quiet
from leafgate.console.output import print_document, say
from leafgate.errors import InvalidError, LeafgateError
from leafgate.io.json import readable

if TYPE_CHECKING:
    from leafgate.kernel.components import TreeBuilder

PolicyFiles = Annotated[list[Path], typer.Argument(metavar="POLICY...", help="The policies, YAML files.")]


def validate(
    policies: PolicyFiles,
    root: DataRoot = None,
    org: Org = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Policies that others extend: they need not be complete.")
    ] = False,
    depending: Annotated[
        bool,
        typer.Option("--dependents", help="Also every policy of this repository that depends on them."),
    ] = False,
    as_json: JsonOutput = False,
    digest: Annotated[
        bool, typer.Option("--digest", help="Print the policy's SHA-256 alone, as `--expect-policy` takes it.")
    ] = False,
    quiet: Quiet = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="The table: also list limits that no release of it can keep."),
    ] = None,
    plugin: PluginFiles = None,
) -> int:
    """Check policies, and list everything that is wrong. No table is read but that of `--data`."""
    _refuse_contradictions(depending=depending, partial=partial, as_json=as_json, digest=digest, quiet=quiet)
    if digest and (partial or as_json or depending or len(policies) > 1):
        raise InvalidError("is of one whole policy", place="--digest", remedy="name one, and leave out the rest")
    if digest:
        say(_sha256(policies[0], root, org))
        return 0
    if data is not None and (partial or depending or len(policies) > 1):
        raise InvalidError(
            "is the table of one whole policy", place="--data", remedy="name one, and leave out the rest"
        )
    if partial and (root or org):
        raise InvalidError("what others extend is looked at by itself", place="--partial", remedy="leave out the rest")
    if as_json and len(policies) > 1:
        raise InvalidError("one document is about one policy", place="--json", remedy="name one, or leave it out")
    wanted = _dependents(policies, org, quiet=quiet) if depending else [(policy, partial) for policy in policies]
    failed: list[LeafgateError] = []
    tried = tried_plugins(plugin or (), org)
    for policy, incomplete in wanted:
        try:
            with plugins_beside(*tried):
                name, warnings = _read_policy(policy, root, org, data, partial=incomplete)
        except LeafgateError as error:
            failed.append(error if len(wanted) == 1 and not depending else _of_file(error, policy))
            continue
        if as_json:
            warned = {"warnings": warnings} if warnings else {}
            print_document(readable({"format": "leafgate/valid/1", "name": name, **warned}))
            continue
        if not quiet:
            warn(policy, warnings)
            end = " as far as it goes: others complete it" if incomplete and depending else ""
            say(f"{policy}: {f'the policy {name!r}' if name else 'the policy'} is valid{end}")
    _raise_all(failed)
    return 0


def _refuse_contradictions(*, depending: bool, partial: bool, as_json: bool, digest: bool, quiet: bool) -> None:
    """InvalidError for options that are not meant together."""
    if depending and (partial or as_json):
        message = "looks at several policies, complete or not"
        raise InvalidError(message, place="--dependents", remedy="leave out --partial and --json")
    if quiet and (as_json or digest):
        raise InvalidError("prints nothing", place="--quiet", remedy="leave out --json and --digest")


def _raise_all(failed: Sequence[LeafgateError]) -> None:
    """One error with the problems of all, if there are any."""
    if failed:
        worst = InvalidError if any(isinstance(error, InvalidError) for error in failed) else type(failed[0])
        raise worst.listing(problem for error in failed for problem in error.problems)


def _dependents(changed: list[Path], org: list[Path] | None, *, quiet: bool) -> list[tuple[Path, bool]]:
    """The policies to look at, and whether each is one that others complete."""
    from leafgate.policy.dependents import dependents

    listed = [(policy.path, policy.partial) for policy in dependents(changed, org or ())]
    if not listed and not quiet:
        say("no policy is read with these files")
    return listed


def _sha256(policy: Path, root: Path | None, org: list[Path] | None) -> str:
    """The digest that reports name a valid policy by."""
    from leafgate.policy.load import load_policy
    from leafgate.session.expected_run import policy_sha256

    return policy_sha256(load_policy(policy, root, org).policy, str(policy))


def _read_policy(
    policy: Path, root: Path | None, org: list[Path] | None, data: Path | None, *, partial: bool
) -> tuple[str, list[str]]:
    """What a valid policy calls itself, and what it is warned of; one that others extend need have no name."""
    from leafgate.policy.load import load_policy

    if not partial:
        loaded = load_policy(policy, root, org).policy
        if loaded.build.wants_readers:
            _refuse_pickles(loaded.build)
        if data is None:
            return loaded.name, warnings_of(loaded)
        from leafgate.session.run import open_session

        run = open_session(policy, data, root, org=org, any_size_for="audit")
        return loaded.name, [*warnings_of(loaded), *warnings_of_table(run)]
    from leafgate.policy.load import read_partial_policy

    return str(read_partial_policy(policy, load_plugins()).written.document.get("name") or ""), []


def _refuse_pickles(builder: TreeBuilder) -> None:
    """Raise ReleaseError where the builder reads a model from a file that is a pickle, which no audit opens."""
    from leafgate.models.reader import refuse_pickle

    for name, value in builder:
        if isinstance(value, Path):
            refuse_pickle(value, f"build.{name}")


def _of_file(error: LeafgateError, policy: Path) -> LeafgateError:
    """The same problems, each saying which policy it is in."""

    def placed(place: str) -> str:
        if place.startswith(str(policy)):
            return place
        return f"{policy}{place.removeprefix(policy.name)}" if place.startswith(policy.name) else f"{policy}: {place}"

    return type(error).listing(replace(each, location=placed(each.location)) for each in error.problems)
