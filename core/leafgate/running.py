"""What every command that touches data does first: policy, tables, release."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.errors import DataError, PolicyError
from leafgate.files import EVERYONE, write_files
from leafgate.plugins import Plugins
from leafgate.policy import Policy
from leafgate.policy_file import load_policy
from leafgate.strict_json import readable

if TYPE_CHECKING:
    from leafgate.auditing import Audit
    from leafgate.disclosure import Audience
    from leafgate.table import Table


@dataclass(frozen=True)
class Run:
    """A policy with its plugins and tables, the command line's overrides taken in."""

    policy: Policy
    plugins: Plugins
    table: Table
    test: Table | None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def audit(self) -> Audit:
        """Build, attack and judge; the seconds it took to read are part of its timings."""
        from leafgate.auditing import audit

        audited = audit(self.policy, self.plugins, self.table, self.test)
        return replace(audited, seconds={**self.seconds, **audited.seconds})


def prepare(path: Path, data: Path | None = None, root: Path | None = None, test: Path | None = None) -> Run:
    """Read a policy and the tables it names; `data` and `test` come from the command line, any folder will do.

    Raises PolicyError and DataError, listing everything that is wrong.
    """
    loaded = load_policy(path, root)
    policy = _overridden(loaded.policy, data, test)
    if policy.data.path is None:
        raise PolicyError("says not where the table is", place="data.path", remedy="name it there, or give DATA")
    from leafgate.reading import read_table

    start = time.perf_counter()
    table = read_table(policy.data, policy.data.meaning(), policy.data.path)
    _refuse_one_class(table)
    other = None
    if policy.data.test is not None:
        other = read_table(policy.data, table.schema, policy.data.test)
    return Run(policy, loaded.plugins, table, other, {"read": time.perf_counter() - start})


def _refuse_one_class(table: Table) -> None:
    """A table whose people all have one class has nothing to learn and nothing to protect."""
    for column in table.schema.having("class"):
        if column.values is not None and len(set(table.codes(column.name).tolist())) < 2:
            raise DataError(
                "everybody has the same class", place=f"column {column.name!r}", remedy="choose another class column"
            )


def _overridden(policy: Policy, data: Path | None, test: Path | None) -> Policy:
    changed = {key: path for key, path in (("path", data), ("test", test)) if path is not None}
    return policy.model_copy(update={"data": policy.data.model_copy(update=changed)})


RESULTS = ("release.json", "report.json", "timings.json")


def write_results(audit: Audit, audience: Audience, folder: Path) -> None:
    """Leave an audit's files in a folder: release.json, report.json, timings.json.

    An auditor's report is for its owner's eyes only, and so is a release that did not pass.
    """
    private = {"report.json"} if audience == "auditor" else set()
    private |= {"release.json"} if audit.report.verdict != "pass" else set()
    write_files(folder, _results(audit, audience), EVERYONE, private)


def _results(audit: Audit, audience: Audience) -> Mapping[str, bytes]:
    from leafgate.disclosure import document

    timings = {"format": "leafgate/timings/1", "seconds": {k: round(v, 6) for k, v in audit.seconds.items()}}
    files = {"report.json": readable(document(audit.report, audience)), "timings.json": readable(timings)}
    return files if audit.sealed is None else {"release.json": audit.sealed.content, **files}
