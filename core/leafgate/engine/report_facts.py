"""What a report says of its data: how many people there are, and by digests which files they stand in."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafgate.api.declarations import Grants
from leafgate.api.paths import digest
from leafgate.api.plan import AuditPlan
from leafgate.errors import PolicyError
from leafgate.types.evidence import AuditorOnly, PeopleCount
from leafgate.types.release import Release
from leafgate.types.schema import Schema
from leafgate.types.table import Table

KEY = "report.digest_key"
SHORTEST, LONGEST = 16, 4096
"""So many bytes a key has."""


@dataclass(frozen=True)
class DataFiles:
    """The digests of the table's file and, by what they are for, of all others about people; the key for the public.

    Whoever can guess a file's content, say all of it but one person's secret, can confirm the guess by its plain
    digest. So that one is for auditors; without the key, the keyed one confirms nothing.
    """

    table: str
    others: Mapping[str, str] = field(default_factory=dict)
    key: bytes | None = field(default=None, repr=False)

    @property
    def same_test(self) -> bool:
        """Is the test table the table itself?"""
        return self.others.get("test") == self.table != ""

    def facts(self, *, differentially_private: bool = False) -> dict[str, Any]:
        """What a report says of them; where differential privacy is claimed, the keyed digest alone."""
        if not self.table:
            return {}
        keyed = {} if self.key is None else {"keyed_sha256": self.keyed(self.key)}
        if keyed and differentially_private:
            return keyed
        others = {"files": AuditorOnly(dict(self.others))} if self.others else {}
        return {"sha256": AuditorOnly(self.table), **others, **keyed}

    def keyed(self, key: bytes) -> str:
        """HMAC-SHA256 of the table's digest in hexadecimal and, a line each, the names and digests of the others."""
        lines = [self.table, *(f"{name} {result}" for name, result in sorted(self.others.items()))]
        return hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).hexdigest()


def files_of(plan: AuditPlan, table: Table, others: Mapping[str, Table | None]) -> DataFiles:
    """The files that an audit reads people from; PolicyError for a key that is none."""
    key = None if plan.digest_key is None else read_key(plan.digest_key)
    fields = {name: other.sha256 for name, other in others.items() if other is not None and other.sha256}
    fields |= {name: digest(path) for name, path in plan.builder.people_files.items()}
    return DataFiles(table.sha256, fields, key)


def read_key(path: Path) -> bytes:
    """The key in a file; PolicyError where it cannot be one."""
    try:
        with path.open("rb") as file:
            key = file.read(LONGEST + 1)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", place=KEY, remedy="make one, and keep it") from None
    if not SHORTEST <= len(key) <= LONGEST:
        message = f"is no key: it has fewer than {SHORTEST} bytes, or more than {LONGEST}"
        raise PolicyError(message, place=KEY, remedy="for example: head -c 32 /dev/urandom > FILE")
    return key


def data_facts(table: Table, files: DataFiles, *, differentially_private: bool) -> dict[str, Any]:
    """What a report says of the data. How many distinct records there are would tell who is alike in secret.

    Where a column says how many people a row stands for: the `rows` that people stand in if they are counted as people,
    else the `weight`, that is the people whom the rows are said to stand for.
    """
    counted = {"dropped": table.dropped, "commented": table.commented}
    left_out = {key: PeopleCount(count) for key, count in counted.items() if count}
    result = files.facts(differentially_private=differentially_private)
    beside = {}
    if table.rows is not None:
        beside = {"rows": table.rows} if table.counts_people else {"weight": table.weight}
    counts = {key: PeopleCount(int(each.sum())) for key, each in ({"people": table.persons} | beside).items()}
    return {**counts, "distinct": AuditorOnly(PeopleCount(len(table))), **result, **left_out}


# --- How an audit was made, in what reports can say of it: what is published, who attacks, and with what
#     knowledge ---


def describe_threat_model(plan: AuditPlan, release: Release | None, schema: Schema) -> dict[str, Any]:
    """The columns by what the adversary knows of them, what else it is granted, its attacks, and what is published.

    Nothing in it comes from the data: it follows from the policy, its plugins and what the release claims.
    """
    known = [column.name for column in schema.public]
    secrets = [column.name for column in schema.secrets]
    document: dict[str, Any] = {
        "known": known,
        "secret": secrets,
        "unknown": [column.name for column in schema.columns if _unknown(column.roles, column.name, known, secrets)],
        "granted": list(_granted(plan.grants)),
        "attacks": [{"name": attack.called, "assumes": attack.threat_model} for attack in plan.attacks],
    }
    if release is not None:
        document |= {
            "publishes": release.publish.leaves if release.trees else "records",
            "claims": dict(release.guarantee),
        }
    return document


def _unknown(roles: frozenset[str], name: str, known: list[str], secrets: list[str]) -> bool:
    """Is it a column that the release may ask about, the adversary does not know, and nobody calls a secret?"""
    return name not in known and name not in secrets and "private" in roles


def _granted(grants: Grants) -> Iterator[str]:
    """What the policy grants the adversary beside the public columns."""
    if grants.distribution:
        yield "how common each value of the secrets is"
    if grants.people:
        yield "some people's secrets, from a file"
    if grants.sample:
        yield f"the secrets of {100 * grants.sample:g} % of the people"
    rules = grants.fact_count
    if rules:
        yield f"{rules} {'rule' if rules == 1 else 'rules'} about people"
    if grants.population:
        yield "the public columns of the population that the people come from"
