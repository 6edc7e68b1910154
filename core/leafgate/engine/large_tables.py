"""What an audit can do of a table that does not fit into memory."""

from __future__ import annotations

from leafgate.api.plan import AuditPlan
from leafgate.api.registry import Plugins, use_of
from leafgate.kernel.checks import AuditCheck
from leafgate.kernel.schema import Schema


def records_needed_by(plan: AuditPlan, plugins: Plugins, schema: Schema) -> list[str]:
    """What of a plan needs every record of the table in memory; nothing where representatives of the leaves suffice.

    Args:
        plan: of the policy, without its facts.
        plugins: the plugins of the policy.
        schema: the columns that are read.
    """
    reasons = records_needed_to_build(plan, schema)
    grants = plan.grants
    knows_people = grants.people or grants.sample is not None or grants.fact_count > 0
    reasons += ["what `knows` says of single people"] if knows_people else []
    attacks = (each for each in plan.attacks if not each.by_equivalence_class or each.knows is not None)
    reasons += [f"the attack {attack.called!r}" for attack in attacks]
    metrics = (each for each in plan.metrics if not each.by_equivalence_class and not each.of_release)
    reasons += [f"the limit {metric.called!r}" for metric in metrics]
    checks = (check for check in plugins.kind(AuditCheck) if issubclass(check, AuditCheck) and not check.of_release)
    return [*reasons, *(f"the check {use_of(check)!r}" for check in checks)]


def records_needed_to_build(plan: AuditPlan, schema: Schema) -> list[str]:
    """The same of what only builds the release."""
    columns = (
        (name, role) for role in ("key", "weight") for name, column in plan.columns.items() if role in column.roles
    )
    reasons = [f"the column {name!r} with the role `{role}`" for name, role in columns]
    reasons += ["`data.protect`"] if plan.protected_columns else []
    return reasons + ([] if plan.builder.builds_large(schema) else [f"the builder {plan.builder.use!r}"])
