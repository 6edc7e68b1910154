"""Contexts of beliefs about an input of the model, from arrays, and attacks that repeat on planted values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from leafgate.algorithms.consistency import Consistency
from leafgate.api import AttributeBelief, Column, Metric, Release, Schema, Score, ScoringContext, Table, Targets
from leafgate.api.registry import Plugin, Plugins, offers_of
from leafgate.engine.attack import AttackResult
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.limits import judge
from leafgate.engine.state import AuditState
from leafgate.kernel.findings import Finding
from leafgate.kernel.knowledge import Membership, limit_knowledge
from leafgate_plugins.inference.attributes import metrics
from random_tables import table_of
from standins import attack_that

TOWN = Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Port", "Lake"))
ILL = Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes"))
VALUES = ("single", "married", "widowed", "divorced")
Planted = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class AskedCase:
    """A context of a belief about targets, and what the imputation says of them.

    Attributes:
        context: as an audit has it.
        imputation: shape (n_targets, n_values), in the place of the imputation that an audit learns.
        determined_by: the columns that an audit would see the secret to be a function of.
    """

    context: ScoringContext
    imputation: np.ndarray
    determined_by: tuple[str, ...] = ()

    def score(self, metric: Metric) -> Score:
        """The score of a metric."""
        with self._patched():
            return metric.score(self.context)

    def finding(self, metric: Metric) -> Finding:
        """The finding of a metric, as an audit has it."""
        (found,) = self.findings(metric)
        return found

    def findings(self, *judging: Metric) -> list[Finding]:
        """The findings of metrics that a policy has together."""
        case = self.context
        assert case.belief is not None
        nosy = attack_that(lambda release, known: [], needs=frozenset({"targets"}))
        result = AttackResult(nosy(use="nosy"), "spies", case.known, [case.belief], membership=case.membership)
        kinds = dict.fromkeys(map(type, judging))
        plugins = Plugins((Plugin("spies", "acme-spies", "1.2", offers_of((*kinds, nosy))),))
        state = AuditState(
            case.table,
            None,
            case.release,
            case.known,
            [result],
            plugins,
            Consistency(case.table, case.release),
            comparisons={AttributeBelief: case.comparisons},
        )
        with self._patched():
            return judge(judging, state)

    def _patched(self) -> Any:
        imputation, determined_by = self.imputation, self.determined_by
        return mock.patch.multiple(
            metrics,
            imputed=lambda targets, seed: imputation,
            determining_columns=lambda case, targets: determined_by,
        )


def asked(
    truth: np.ndarray,
    in_table: np.ndarray,
    posterior: np.ndarray,
    imputation: np.ndarray,
    *,
    certain: np.ndarray | None = None,
    planted: Planted | None = None,
    comparisons: int = 1,
    others_in_table: int = 0,
    seed: int = 0,
    auxiliary: np.ndarray | None = None,
    determined_by: tuple[str, ...] = (),
    identical: np.ndarray | None = None,
) -> AskedCase:
    """The case of a belief about targets.

    Args:
        truth: shape (n,), the position of each target's value.
        in_table: shape (n,), who of them is in the table; the groups are the order given.
        posterior: shape (n, n_values), of the attack.
        imputation: shape (n, n_values).
        certain: shape (n,), the values that the attack proves, -1 for none.
        planted: how the attack repeats itself on planted values.
        comparisons: how many limits there are.
        others_in_table: people of the table who are no targets.
        seed: of the policy.
        auxiliary: shape (n_auxiliary,), the values of the auxiliary people; one of each when left out.
        determined_by: the columns of which the secret is a function.
        identical: shape (n,), who of the control has all cells of somebody in the table; nobody when left out.
    """
    values = posterior.shape[1]
    married = Column("married", frozenset({"private"}), values=VALUES[:values])
    inside = [("Hill", VALUES[code], "no") for code in truth[in_table]]
    columns = (TOWN, married, ILL)
    table = table_of(columns, [*inside, *[("Port", VALUES[0], "no")] * others_in_table])
    known_codes = np.arange(values) if auxiliary is None else auxiliary
    others = table_of(columns, [("Lake", VALUES[code], "yes") for code in known_codes])
    targets = Targets(
        married,
        (_hidden(int(in_table.sum())), _hidden(int((~in_table).sum()))),
        others,
        complete=not others_in_table,
    )
    known = limit_knowledge(grant_knowledge(table), frozenset({"targets"}))
    context = ScoringContext(
        table,
        None,
        Release({}, table.schema),
        replace(known, targets={"married": targets}, seed=seed),
        AttributeBelief("married", posterior, certain=certain, planted=planted),
        comparisons=comparisons,
        _membership=Membership(
            in_table.copy(),
            np.zeros(len(truth), dtype=bool) if identical is None else identical,
            secrets={"married": truth.astype(np.int64)},
        ),
    )
    return AskedCase(context, imputation, determined_by)


def _hidden(people: int) -> Table:
    """People of whom the town alone is known."""
    frame = table_of((TOWN,), [("Hill",)]).frame.iloc[np.zeros(people, dtype=np.int64)].reset_index(drop=True)
    return Table(Schema((TOWN,)), frame, np.ones(people, dtype=np.int64))


def guess_of(codes: np.ndarray, values: int, sureness: float = 0.8) -> np.ndarray:
    """A posterior with this probability of one value of each person, and the same of all others."""
    rest = (1 - sureness) / (values - 1)
    return np.where(np.arange(values) == codes[:, None], sureness, rest)


def mistaken(truth: np.ndarray, values: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """The truth, but for a share of the people, at random, another value."""
    wrong = rng.random(len(truth)) < share
    return np.where(wrong, (truth + rng.integers(1, values, len(truth))) % values, truth)


def seeing(imputation: np.ndarray, seen: float = 1.0, sureness: float = 0.98) -> Planted:
    """An attack's repetition on planted values: it knows these of a share of the people whose values leak."""

    def planted(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
        rng = np.random.default_rng(repetition)
        known = leaking & (rng.random(len(leaking)) < seen)
        return np.where(known[:, None], guess_of(values, imputation.shape[1], sureness), imputation)

    return planted
