"""A tiny audit of eight people, with plugins that do whatever a test tells them to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from leafgate import Policy
from leafgate.api import (
    ABOUT_GROUPS,
    AdversaryKnowledge,
    AtLeast,
    AttackModel,
    Belief,
    Branch,
    CategoricalSplit,
    Leaf,
    Metric,
    Release,
    ReleaseAtLeast,
    Score,
    ScoringContext,
    SecretBelief,
    Table,
    TreeBuilder,
    Unit,
)
from leafgate.api.registry import Plugin, Plugins, offers_of
from leafgate.app import audit_policy, load_plugins
from leafgate.kernel.components import Component
from leafgate.kernel.findings import Finding, Limit, Report
from leafgate.kernel.release import Counted
from leafgate.kernel.tables import Tables
from leafgate.policy.load import policy_model
from random_tables import table_of

C = TypeVar("C", bound=type[Component])
ORIGIN = "acme-spies 1.2"
COLUMNS = {
    "zip": {"role": "quasi_identifier", "values": ["1", "2"]},
    "ill": {"role": ["class", "sensitive"], "values": ["flu", "cold"]},
    "rich": {"role": "sensitive", "values": ["yes", "no"]},
}
ROWS = [("1", "flu", "no"), ("1", "cold", "no"), ("2", "flu", "yes"), ("2", "cold", "no")]
WEIGHT = (3, 1, 2, 2)


class Stump(TreeBuilder):
    """One leaf for each zip code."""

    use: Literal["stump"] = "stump"
    claims: dict[str, Any] = {}  # noqa: RUF012  a pydantic field
    counted: Counted = "exact"

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        leaves = [Branch((zip_code,), Leaf("flu", counts_of(table, zip_code))) for zip_code in ("1", "2")]
        tree = CategoricalSplit("zip", tuple(leaves))
        return Release(self.described(), table.schema, (tree,), guarantee=self.claims, count_semantics=self.counted)


def counts_of(table: Table, zip_code: str) -> dict[str, int]:
    """People with a zip code, by illness."""
    rows = zip(table.frame["zip"], table.frame["ill"], table.weight.tolist(), strict=True)
    counts = {"flu": 0, "cold": 0}
    for its_zip, ill, people in rows:
        counts[ill] += people if its_zip == zip_code else 0
    return counts


class Calm(AttackModel):
    """Tells zip codes apart and thinks everything equally likely."""

    use: Literal["calm"] = "calm"

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [
            SecretBelief(c.name, even(known, c.name), equivalence_class=np.arange(len(known.records)))
            for c in known.schema.secrets
        ]


class Sizes(AtLeast):
    """People in each group."""

    use: Literal["sizes"] = "sizes"

    judges = ABOUT_GROUPS
    unit = Unit.PEOPLE

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.weight.groupby(case.equivalence_class).transform("sum"))


def even(known: AdversaryKnowledge, secret: str = "ill") -> pd.DataFrame:
    """Every value equally likely, for everyone."""
    domain = list(known.schema[secret].domain)
    return pd.DataFrame(1 / len(domain), index=range(len(known.records)), columns=domain)


def attack_that(does: Callable[[Release, AdversaryKnowledge], Any], **facts: Any) -> type[AttackModel]:
    """An attack called nosy; `facts` are class variables."""

    class Nosy(AttackModel):
        use: Literal["nosy"] = "nosy"

        def infer(self, release: Release, known: AdversaryKnowledge) -> Any:
            return does(release, known)

    return with_facts(Nosy, facts)


def metric_that(does: Callable[[ScoringContext], Any], **facts: Any) -> type[Metric]:
    """A metric of people called odd; `does` returns a Score, or the numbers of one."""

    class Odd(AtLeast):
        use: Literal["odd"] = "odd"

        def score(self, case: ScoringContext) -> Any:
            returned = does(case)
            return returned if isinstance(returned, Score) else Score(people=returned)

    return with_facts(Odd, facts)


def release_metric_that(does: Callable[[ScoringContext], Any], **facts: Any) -> type[Metric]:
    """A metric of the release called whole; `does` returns a Score, or the number of one."""

    class Whole(ReleaseAtLeast):
        use: Literal["whole"] = "whole"

        def score(self, case: ScoringContext) -> Any:
            returned = does(case)
            return returned if isinstance(returned, Score) else Score(returned)

    return with_facts(Whole, facts)


def with_facts(component: C, facts: Mapping[str, Any]) -> C:
    for name, fact in facts.items():
        setattr(component, name, fact)
    return component


def plugins_with(*offers: type[Component]) -> Plugins:
    """Calm basics, and a stranger's plugin beside them."""
    basics = Plugin("basics", "basics", "1.0", offers_of((Stump, Calm, Sizes)))
    return Plugins((basics, Plugin("spies", "acme-spies", "1.2", offers_of(offers))))


def installed_with(*offers: type[Component]) -> Plugins:
    """What leafgate brings along, and a stranger's plugin beside it."""
    return Plugins((*load_plugins(["leafgate"]).entries, Plugin("spies", "acme-spies", "1.2", offers_of(offers))))


def policy_document(**said: Any) -> dict[str, Any]:
    """A policy of attack calm and metric sizes, unless something else is said."""
    fields = {
        "leafgate": 1,
        "name": "tiny",
        "data": {"columns": COLUMNS},
        "build": {"use": "stump"},
        "attacks": [{"use": "calm"}],
        "metrics": [{"use": "sizes", "at_least": 4}],
    }
    return fields | said


def policy_in(folder: Path, plugins: Plugins, document: Mapping[str, Any]) -> Policy:
    """The policy those plugins make of a document whose files are in a folder."""
    content = json.dumps(document)
    return policy_model(plugins).model_validate_json(content, context={"beside": folder, "root": folder})


def policy_with(plugins: Plugins, **said: Any) -> Policy:
    """The policy those plugins make of the document."""
    return policy_in(Path(), plugins, policy_document(**said))


def audited(*offers: type[Component], weight: Sequence[int] = WEIGHT, **said: Any) -> Report:
    """The report on eight people (or others, by weight), with a stranger's classes at hand."""
    plugins = plugins_with(*offers)
    policy = policy_with(plugins, **said)
    return audit_policy(policy, plugins, Tables(table_of(policy.data.meaning().columns, ROWS, weight))).report


def finding(report: Report, id: str) -> Finding:
    """The one finding with this id."""
    (found,) = (finding for finding in report.findings if finding.id == id)
    return found


def people_limit(**limit: Any) -> Limit:
    """A limit on people's scores, by the names that reports have; of what is derived unless it says otherwise."""
    return Limit.from_document({"scored": "derived"} | limit)
