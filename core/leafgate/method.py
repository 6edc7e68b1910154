"""How an audit was made, in what reports can say of it: what is published, who attacks, and with what knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafgate.policy import Policy
from leafgate.release import Release
from leafgate.schema import Schema


def method_facts(policy: Policy, release: Release | None, schema: Schema) -> dict[str, Any]:
    """The columns by what the adversary knows of them, what else it is granted, its attacks, and what is published.

    Nothing in it comes from the data: it follows from the policy, its plugins and what the release claims.
    """
    known = [column.name for column in schema.public]
    secrets = [column.name for column in schema.secrets]
    told: dict[str, Any] = {
        "known": known,
        "secret": secrets,
        "unknown": [column.name for column in schema.columns if _unknown(column.roles, column.name, known, secrets)],
        "granted": list(_granted(policy)),
        "attacks": [{"name": attack.called, "assumes": attack.threat_model} for attack in policy.attacks],
    }
    if release is not None:
        told |= {"publishes": release.publish.leaves if release.trees else "records", "claims": dict(release.guarantee)}
    return told


def _unknown(roles: frozenset[str], name: str, known: list[str], secrets: list[str]) -> bool:
    """Is it a column that the release may ask about, the adversary does not know, and nobody calls a secret?"""
    return name not in known and name not in secrets and "private" in roles


def _granted(policy: Policy) -> Iterator[str]:
    """What the policy grants the adversary beside the public columns."""
    knows = policy.knows
    if knows.distribution:
        yield "how common each value of the secrets is"
    if knows.people is not None:
        yield "some people's secrets, from a file"
    if knows.sample:
        yield f"the secrets of {100 * knows.sample:g} % of the people"
    rules = len(knows.facts) if knows.facts_known is None else knows.facts_known
    if rules:
        yield f"{rules} {'rule' if rules == 1 else 'rules'} about people"
    if policy.data.population is not None:
        yield "the public columns of the population that the people come from"
