"""The run that a stored report must belong to, and its waivers judged again.

A report alone cannot say whether it is the one that a pipeline has just made: whoever reads it says which policy,
release and file they expect. An expectation is a SHA-256 or the file that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.errors import InvalidError, PolicyError, Problem, ReleaseError
from leafgate.kernel.options import digest

if TYPE_CHECKING:
    from leafgate.kernel.policy import Policy

SHA256 = re.compile(r"[0-9a-fA-F]{64}")
ANOTHER_RUN = "this report is of another run: audit again into a fresh folder"


@dataclass(frozen=True, kw_only=True)
class ExpectedRun:
    """The digests, or the files that have them, that a report must match; None accepts any.

    `option_prefix` is what the names of the command's options begin with; `where_missing` is what to do where the
    report has no such digest. `org` and `root` are those by which the policy is read; an audit that was not held to all
    of `org` is another one.
    """

    policy: str | None = None
    org: tuple[Path, ...] = ()
    root: Path | None = None
    release: str | None = None
    file: str | None = None
    as_of: str | None = None
    option_prefix: str = "--expect-"
    where_missing: str = ANOTHER_RUN

    def judged(self, report: dict[str, Any], path: Path) -> tuple[dict[str, Any], list[str]]:
        """The report with its waivers judged again, and a line for each waiver that is over.

        Raises:
            InvalidError: the report is of another run, or an expectation cannot be understood.
        """
        problems = list(self._differences(report, str(path)))
        if not report["policy"].get("reproducible", True) and (self.policy or self.release or self.file):
            message = "was made with a plugin that is not installed, and cannot be repeated"
            problems.append(Problem(str(path), message, "install the plugin, and audit again without --plugin"))
        if problems:
            raise InvalidError.listing(problems)
        if not report.get("waivers"):
            return report, []
        return judge_waivers_again(report, self.day(report.get("judged_on")))

    def _differences(self, report: Mapping[str, Any], path: str) -> Iterator[Problem]:
        """Every part of the run that is not the expected one."""
        yield from self._differences_beside(report["policy"], path)
        release = report["release"] or {}
        expected = [
            ("policy", report["policy"], self.policy_digests(report)),
            ("release", release, _digests(self.release, f"{self.option_prefix}release")),
            ("release.file", release.get("file", {}), _digests(self.file, f"{self.option_prefix}file")),
        ]
        for name, described, digests in expected:
            for key, wanted in digests.items():
                actual = described.get(key)
                if actual != wanted:
                    text = "names none" if actual is None else f"is {actual[:16]}"
                    message = f"{text}, and {str(wanted or 'none')[:16]} is expected"
                    remedy = self.where_missing if actual is None else ANOTHER_RUN
                    yield Problem(f"{path}: {name}.{key}", message, remedy)

    def policy_digests(self, report: Mapping[str, Any]) -> dict[str, str | None]:
        """The digests that a report of the expected policy has; of a file also that of its waivers.

        A digest may be that without the audited file: none is left to compare then.
        """
        policy = self.policy_of_file
        if policy is None:
            digests = _digests(self.policy, f"{self.option_prefix}policy")
            without_file = report["policy"].get("sha256_without_file")
            return {} if without_file is not None and digests.get("sha256") == without_file else digests
        from leafgate.kernel.waivers import waivers_sha256
        from leafgate.session.run import with_data_files

        given = report["policy"].get("given", ())
        if "--test" in given:  # the digest depends on whether there is a test table, and not on which
            policy = with_data_files(policy, None, Path("TEST"))
        sha256 = policy_sha256(policy, str(self.policy))
        return {"sha256": sha256, "waivers_sha256": waivers_sha256(policy.waivers) if policy.waivers else None}

    @cached_property
    def policy_of_file(self) -> Policy | None:
        """The expected policy; None where none, or its digest alone, is expected."""
        if self.policy is None or SHA256.fullmatch(self.policy):
            return None
        from leafgate.policy.load import load_policy

        if not Path(self.policy).is_file():
            raise _no_digest(self.policy, f"{self.option_prefix}policy")
        return load_policy(Path(self.policy), self.root, self.org).policy

    def _differences_beside(self, policy: Mapping[str, Any], path: str) -> Iterator[Problem]:
        """What the command line of the audit gave beside the policy that is not as expected."""
        if policy.get("given", ()).count("--org") < len(self.org):
            message = "is of an audit that was not held to the organisation's policy"
            yield Problem(f"{path}: policy.given", message, "audit again with --org")
        if self.policy is not None and self.root is None:
            for key, kind in policy.get("given_files", {}).items():
                if kind == "other":
                    message = "is another file than the policy names"
                    yield Problem(f"{path}: {key}", message, "audit the file that it names")

    def day(self, judged_on: str | None) -> date:
        """The day to judge on: never one before that on which the report was judged, where it says which."""
        from leafgate.kernel.waivers import day_of

        day = day_of(self.as_of, "--as-of")
        if self.as_of is None:
            return day
        if judged_on is not None and day < date.fromisoformat(judged_on):
            message = f"is before {judged_on}, the day the report was judged on"
            raise InvalidError(message, place="--as-of", remedy="name that day or a later one")
        return day


def policy_sha256(policy: Policy, place: str) -> str:
    """The digest by which reports name a policy; PolicyError where a file that belongs to it cannot be read."""
    from pydantic_core import PydanticSerializationError

    try:
        return policy.sha256
    except PydanticSerializationError:
        message = "names a file that cannot be read, so that it has no digest"
        raise PolicyError(message, place=place, remedy="put the file there") from None


def judge_waivers_again(report: dict[str, Any], day: date) -> tuple[dict[str, Any], list[str]]:
    """The report as it is on a day: findings whose waiver is over fail again. No waiver begins to apply.

    Returns:
        The report itself where every waiver still holds, so that the same bytes come of it on every such day; a line
        for each waiver that is over.
    """
    from leafgate.kernel.waivers import outside_days

    over, waivers = dict[str, str](), []
    for waiver in report["waivers"]:
        issued, expires = (date.fromisoformat(waiver[key]) for key in ("issued", "expires"))
        reason = outside_days(issued, expires, day) if waiver["status"] == "applied" else None
        if reason is not None:
            name = f"{waiver['id']} of {waiver['finding']}"
            over[waiver["finding"]] = f"the waiver {name} does not apply any more: {reason[1]}"
            waiver = waiver | {"status": reason[0], "message": reason[1]}
        waivers.append(waiver)
    if not over:
        return report, []
    findings = [
        {key: value for key, value in finding.items() if key != "waiver" or finding["id"] not in over}
        for finding in report["findings"]
    ]
    report = {key: value for key, value in report.items() if key != "affected"}  # more limits are broken now
    changed = {"verdict": "fail", "waived": report["waived"] - len(over), "judged_on": day.isoformat()}
    return report | changed | {"findings": findings, "waivers": waivers}, [*over.values()]


def _digests(expected: str | None, option: str) -> dict[str, str | None]:
    return {} if expected is None else {"sha256": sha256_of(expected, option)}


def sha256_of(expected: str, option: str) -> str:
    """The expected SHA-256: as it was written, or of the file that was named; InvalidError where it is neither."""
    if SHA256.fullmatch(expected):
        return expected.lower()
    try:
        return digest(Path(expected))
    except (ValueError, ReleaseError):
        raise _no_digest(expected, option) from None


def _no_digest(expected: str, option: str) -> InvalidError:
    remedy = "write all 64 digits, or name the file"
    if not expected:
        return InvalidError("is empty", place=option, remedy=remedy)
    return InvalidError("is neither a SHA-256 nor a file that can be read", place=option, remedy=remedy)
