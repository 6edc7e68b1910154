"""What an audit can do of a table that does not fit into memory."""

from __future__ import annotations

from dataclasses import replace

from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table


def records_needed_by(policy: Policy, schema: Schema) -> list[str]:
    """What of a policy needs every record of the table in memory; nothing where representatives of the leaves suffice.

    Args:
        policy: what is audited by.
        schema: the columns that are read.
    """
    reasons = records_needed_to_build(policy, schema)
    knows = policy.knows
    knows_people = knows.people is not None or knows.sample is not None or bool(knows.granted_facts)
    reasons += ["what `knows` says of single people"] if knows_people else []
    attacks = (each for each in policy.attacks if not each.by_equivalence_class or each.knows is not None)
    reasons += [f"the attack {attack.called!r}" for attack in attacks]
    metrics = (
        each
        for each in policy.metrics
        if (policy.releases and each.reads_releases) or (not each.by_equivalence_class and each.public != "number")
    )
    return [*reasons, *(f"the limit {metric.called!r}" for metric in metrics)]


def records_needed_to_build(policy: Policy, schema: Schema) -> list[str]:
    """What of a policy needs every record of the table in memory where the release is only built."""
    listed = policy.data.columns.items()
    columns = ((name, role) for role in ("key", "weight", "person") for name, column in listed if role in column.role)
    reasons = [f"the column {name!r} with the role `{role}`" for name, role in columns]
    reasons += ["`data.protect`"] if policy.data.protect else []
    return reasons + ([] if policy.build.builds_large(schema) else [f"the builder {policy.build.use!r}"])


def representatives_of(data: LargeTable, release: Release) -> Table:
    """One record for all people whom the trees treat alike, and what is known of the file."""
    from leafgate.algorithms.representatives import representatives

    return replace(representatives(data.tables(), data.schema, release), **data.facts)
