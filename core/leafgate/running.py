"""What every command that touches data does first: read the policy, and the tables it names."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.errors import DataError, PolicyError
from leafgate.plugins import Plugins
from leafgate.policy import Policy
from leafgate.policy_file import load_policy

if TYPE_CHECKING:
    from leafgate.auditing import Audit
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
