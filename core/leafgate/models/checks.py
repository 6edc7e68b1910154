"""Whether a foreign model file discloses more than the policy states is published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leafgate.api.registry import Plugins
from leafgate.io.release_codec import FORMAT, SealedRelease
from leafgate.kernel import release as releases
from leafgate.kernel.findings import REPAIR, REPAIR_CLAUSE, Finding, Remedy, VisibleTo, scrub_command
from leafgate.kernel.policy import Policy


def file_disclosure_check(policy: Policy, plugins: Plugins, artifact: SealedRelease) -> Iterator[Finding]:
    """One finding where the release is of a file: what that discloses, compared with the level that the policy claims.

    A file that tells more is a broken claim: attacks were given what it tells. Where nothing is claimed, nothing is.
    No policy publishes a table of people, nor trees that no attack reads: a file with them fails, whatever it says.
    """
    release = artifact.release
    if release.file is None:
        yield from _of_release_file(policy, plugins, artifact.provenance.discloses)
        return
    found = sorted(release.file.discloses, key=lambda item: releases.SEVERITIES.index(item.severity), reverse=True)
    level = effective_level(release.publish.leaves, found)
    claim = level if policy.publish is None else policy.publish.leaves
    unaudited = [item.says for item in found if releases.is_never_published(item)]
    broken = releases.discloses_more(level, claim) or bool(unaudited)
    unknown = releases.NOT_STATED in found
    evidence = {
        "claimed": claim,
        "effective": level,
        "format": release.file.format,
        "discloses": [item.described() for item in found],
    }
    remedies: tuple[Remedy, ...] = ()
    if unaudited:
        evidence["problem"] = (
            unaudited[0] if unaudited[0].startswith(releases.TABLE_HELD) else f"the file holds {unaudited[0]}"
        )
        leaves = "labels" if release.publish.leaves == "error_rates" else release.publish.leaves
        remedies = (Remedy.running("Write the model anew without it", scrub_command(leaves)),)
    elif broken:
        evidence["problem"] = f"the policy publishes {claim}, and the file discloses {level}"
        remedies = (_remedy(release, claim),)
    elif unknown:
        evidence["problem"] = f"the reader of {release.file.format} files does not state what they disclose"
        text = "Update the plugin that reads this format; it must state `ModelIR.discloses`."
        remedies = (Remedy(action="advise", text=text),)
    evidence |= {"remedy": remedies[0].text} if remedies else {}
    origin = plugins.origin(policy.build)
    alarm = "the model's file discloses more than the policy publishes"
    yield Finding(
        "published_file",
        "published_file",
        None if unknown and not broken else not broken,
        evidence=evidence,
        plugin=origin,
        plain_failure=alarm,
        audience=VisibleTo.EVERYBODY,
        remedies=remedies,
    )


def _of_release_file(policy: Policy, plugins: Plugins, found: Sequence[releases.FileDisclosure]) -> Iterator[Finding]:
    """One finding where a release file discloses more than its release states, such as numbers of a few people.

    It is judged by the limits on what files disclose, which judge the file of a model by themselves.
    """
    if not found:
        return
    limits = [metric for metric in policy.metrics if metric.use == "file_disclosure"]
    known = [item for item in found if item.kind != releases.NOT_STATED.kind]
    kept = all(metric.holds(float(len(known))) for metric in limits)
    text = "Round the numbers of these columns, say so by their `step`, and build the release anew."
    yield Finding(
        "published_file",
        "published_file",
        None if kept and limits and known != list(found) else kept,
        evidence={"format": FORMAT, "discloses": [item.described() for item in found]},
        plugin=plugins.origin(policy.build),
        plain_failure="the release file discloses more than the policy publishes",
        audience=VisibleTo.EVERYBODY,
        remedies=(Remedy(action="advise", text=text),) if limits else (),
    )


def _remedy(release: releases.Release, claim: releases.Level) -> Remedy:
    """The command that writes a file which tells no more than the policy claims.

    Where several trees decide a class together, a file with less on its leaves would mostly predict otherwise, so that
    `leafgate scrub` refuses to write it.
    """
    if release.predicts_numbers:
        return Remedy.running(REPAIR_CLAUSE, REPAIR, ". It has the numbers that it predicts by and no others.")
    if release.decides_by_several_trees:
        return Remedy.running(REPAIR_CLAUSE, REPAIR, f". It has no more than {claim} on its leaves.")
    leaves = "labels" if claim == "error_rates" else claim  # no scrubbed file has error rates on its leaves
    return Remedy.running(f"Write the model anew with {leaves} on its leaves", scrub_command(leaves))


def effective_level(leaves: releases.Level, discloses: list[releases.FileDisclosure]) -> releases.Level:
    """The most that stands on the leaves or follows from what else the file discloses."""
    return max([leaves, *(item.level for item in discloses if item.level is not None)], key=releases.LEVELS.index)


def refuse_unaudited(release: releases.Release, plugins: Plugins) -> None:
    """Raise ReleaseError for content of a release file that no attack takes into account."""
    from leafgate.models.load import check_options  # which imports all readers of model files

    check_options(release, plugins)
