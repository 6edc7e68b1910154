"""The linking attack: the equivalence classes of a published tree or table, and the posterior of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from leafgate.api import AdversaryKnowledge, AttackModel, GroupBelief, Release, SecretBelief, lazy

if TYPE_CHECKING:
    from leafgate_plugins.linking import attack
else:
    attack = lazy("leafgate_plugins.linking.attack")


class Linking(AttackModel):
    """Group everyone by what the release publishes about their public cells, and read off their secret."""

    use: Literal["linking"] = "linking"

    counts_persons = True
    models = frozenset({"trees", "none"})
    needs = frozenset({"distribution", "label_accuracies", "population"})
    by_equivalence_class = True
    threat_model = (
        "The adversary has the release and the public columns of everyone in the table (a voter register, an HR "
        "list), and routes each person down the trees, trying every value of the columns it does not know."
    )
    formula = (
        "one group = people with the same trees after their public cells are filled in; belief = the pooled leaf "
        "statistics of the leaves they can reach, a label alone counting with its accuracy"
    )
    source = (
        'A. Friedman, A. Schuster, R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definitions 4 and 5; '
        "forests: docs/explanation/linking.md"
    )

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[GroupBelief | SecretBelief]:
        return attack.infer(release, known)
