"""Columns that may mean more than the policy declares, and limits as if they did.

A value of a secret may mean that nothing is recorded. A column may follow from another one: what everybody knows of a
postcode they know of its county, and whoever learns a code of an illness learns the illness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from leafgate.api.registry import Plugins
from leafgate.engine.build import with_policy_columns
from leafgate.engine.checks import at_builder
from leafgate.engine.knowledge import Adversaries
from leafgate.engine.rejudging import Judge, judge_again, what_follows
from leafgate.engine.spellings import with_merged_values
from leafgate.errors import InconclusiveError
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import DEPENDENCY, NO_ANSWER, Finding, Remedy
from leafgate.kernel.schema import Column
from leafgate.kernel.table import Table

UNANSWERED = "some of its values may say that nothing is recorded, and were audited as answers"
NONE_RECORDED = "they say so"
NOT_RECORDED = "If they say that nothing is recorded, list them: `no_answer` of the column, such as `[unknown]`."
ANSWERS = "If they are answers, say so: `no_answer: []` of the column."

FOLLOWS = "its values follow from those of {!r}, which everybody knows of everyone: it was audited as unknown"
GIVES_AWAY = "the secret {!r} follows from its values, and it was audited as no secret"
IS_SO = "whoever knows one column knows the other"
KNOWN = "If whoever knows the one column knows the other, say so: `role: quasi_identifier` on {!r}."
TELLER = "If whoever learns this learns the secret, say so: `role: {}` on {!r}."
CHANCE = "If it is chance, say so: `independent_of: [{}]` on {!r}."


def _with_columns(adversaries: Adversaries, columns: Mapping[str, Column]) -> Adversaries:
    """The adversaries of the same people and the same release, to whom these columns are others."""

    def changed(table: Table) -> Table:
        schema = table.schema
        for column in columns.values():
            schema = schema.with_column(column)
        return replace(table, schema=schema, _codes={})

    artifact, people = adversaries.artifact, changed(adversaries.table)
    release = with_policy_columns(artifact.release, people.schema)
    return adversaries.of_others(adversaries.tables.changed(people, changed), replace(artifact, release=release))


@dataclass(frozen=True)
class AnswerAudit:
    """The limits of an audit, where values that may mean that nothing is recorded are no answers.

    Attributes:
        adversaries: those of the audit, to whom they are answers.
        doubts: by the names of secrets such values.
        plugins: those that the policy trusts.
    """

    adversaries: Adversaries
    doubts: Mapping[str, Sequence[str]]
    plugins: Plugins

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, after one about each secret of which a limit that holds does not hold then.

        Args:
            findings: of the audit in which all values are answers.
            judge: returns the findings about people of whom some have no answer.
        """
        schema = self.adversaries.table.schema
        columns = {name: schema[name].with_no_answer(values) for name, values in self.doubts.items()}
        judged, problem = judge_again(lambda: _with_columns(self.adversaries, columns), judge)
        found = []
        for name in self.doubts:
            own = {key: each for key, each in judged.items() if each.secret == name}
            outcome = what_follows(findings, own, problem, NONE_RECORDED)
            found += [self._finding(name, outcome)] if outcome else []
        return [*at_builder(self.adversaries.policy, found), *findings]

    def _finding(self, name: str, outcome: str) -> Finding:
        place = f"data.columns.{name}.no_answer"
        return Finding(
            f"{NO_ANSWER}#{name}",
            NO_ANSWER,
            passed=None,
            secret=name,
            evidence={"problem": UNANSWERED, "reason": outcome, "values": AuditorOnly(list(self.doubts[name]))},
            plugin=self.plugins.origin(self.adversaries.policy.build),
            plain_failure="people without an answer hide those who have one",
            remedies=(
                Remedy(action="set", text=NOT_RECORDED, place=place),
                Remedy(action="set", text=ANSWERS, place=place, value=[]),
            ),
        )


@dataclass(frozen=True)
class DependencyAudit:
    """The limits of an audit, where what follows from known columns is known, and what tells a secret is secret.

    Attributes:
        adversaries: those of the audit, to whom the columns are what the policy declares.
        doubts: pairs of a column that determines another one, and that one.
        plugins: those that the policy trusts.
    """

    adversaries: Adversaries
    doubts: Sequence[tuple[Column, Column]]
    plugins: Plugins

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, after one about each column by whose meaning a limit that holds would not hold.

        Args:
            findings: of the audit as the policy declares the columns.
            judge: returns the findings where they mean more.
        """
        found = dict[str, Finding]()  # one about each column, although it may tell several secrets
        for other, column in self.doubts:
            judged, problem = judge_again(partial(self._with_meaning, other, column), judge)
            if outcome := what_follows(findings, judged, problem, IS_SO):
                finding = self._finding(other, column, outcome)
                found.setdefault(finding.id, finding)
        return [*at_builder(self.adversaries.policy, [*found.values()]), *findings]

    def _with_meaning(self, other: Column, column: Column) -> Adversaries:
        """The adversaries to whom whoever knows the one column knows the other.

        A column that tells a secret is judged by the limits on the secret. Of a class, the values that tell one value
        of the secret are taken for one.
        """
        own, meant = self.adversaries, _as_meant(other, column)
        if meant.name == column.name:
            population = own.tables.population
            if population is not None and meant.name not in population.schema:
                raise InconclusiveError(f"`data.population` has no column {meant.name!r}")
            return _with_columns(own, {meant.name: meant})
        first: dict[str, str] = {}
        merged = {value: first.setdefault(told, value) for value, told in _told(own.table, other, column).items()}
        meant = replace(meant, no_answer=tuple(first[value] for value in column.no_answer if value in first))

        def changed(metric: Any) -> Any:
            if getattr(metric, "secret", None) not in (None, column.name):
                return metric
            update: dict[str, Any] = {"secret": other.name} if getattr(metric, "secret", None) else {}
            if values := getattr(metric, "values", None):
                update["values"] = (*values, *(first[each] for each in values if each in first))
            return metric.model_copy(update=update)

        policy = own.policy.model_copy(update={"metrics": tuple(map(changed, own.policy.metrics))})
        own = _with_columns(replace(own, policy=policy), {meant.name: meant})
        is_merged = "class" in other.roles and len(first) < len(merged)  # trees test the values of others
        return with_merged_values(own, {other.name: merged}) if is_merged else own

    def _finding(self, other: Column, column: Column, outcome: str) -> Finding:
        meant = _as_meant(other, column)
        roles = sorted(meant.roles)
        role = roles if len(roles) > 1 else roles[0]
        is_known = meant.name == column.name
        text = KNOWN.format(column.name) if is_known else TELLER.format(str(role).replace("'", ""), other.name)
        return Finding(
            f"{DEPENDENCY}#{meant.name}",
            DEPENDENCY,
            passed=None,
            evidence={
                "problem": FOLLOWS.format(other.name) if is_known else GIVES_AWAY.format(column.name),
                "reason": outcome,
            },
            plugin=self.plugins.origin(self.adversaries.policy.build),
            plain_failure="people know or learn more than the policy declares",
            remedies=(
                Remedy(action="set", text=text, place=f"data.columns.{meant.name}.role", value=role),
                Remedy(
                    action="set",
                    text=CHANCE.format(column.name if meant.name == other.name else other.name, meant.name),
                    place=f"data.columns.{meant.name}.independent_of",
                    value=[column.name if meant.name == other.name else other.name],
                ),
            ),
        )


def _as_meant(other: Column, column: Column) -> Column:
    """The column that has another role where one follows from the other: the secret's teller, or what is known."""
    if "sensitive" in column.roles:
        return replace(other, roles=(other.roles - {"private"}) | {"sensitive"})
    return replace(column, roles=frozenset({"quasi_identifier"}))


def _told(table: Table, other: Column, column: Column) -> dict[str, str]:
    """For each value of a column that occurs the value of a secret that most people with it have."""
    n_values, domain = len(column.domain), column.domain
    size = len(other.domain) * n_values
    people = table.people_by(table.codes(other.name) * n_values + table.codes(column.name), size)
    by_value = people.reshape(-1, n_values)
    most_of, occurs_of = by_value.argmax(axis=1).tolist(), by_value.sum(axis=1).tolist()
    occurring = zip(other.domain, most_of, occurs_of, strict=True)
    return {str(value): str(domain[most]) for value, most, occurs in occurring if occurs and value is not None}
