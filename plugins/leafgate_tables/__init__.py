"""Tables as releases: as they are, or generalised first and then learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from leafgate import Release, TreeBuilder, hookimpl

if TYPE_CHECKING:
    import numpy as np

    from leafgate import Table

Parts = Literal["tree", "table", "both"]
Crowd = Annotated[int, Field(ge=1)]
Confidence = Annotated[float, Field(gt=0, le=0.5)]
PRUNE = Field(True, description="Error-based pruning of the tree by subtree replacement.")
CONFIDENCE = Field(0.25, description="Of pruning; smaller prunes more.")
K = Field(description="People in every non-empty group of the generalised table.")


class PublishedTable(TreeBuilder):
    """Publish the records themselves, cell by cell as the table has them; no tree is learned."""

    use: Literal["table"] = "table"
    columns: tuple[str, ...] | None = Field(
        None, min_length=1, description="The columns published; all but the key if left out."
    )

    public_algorithm = False
    threat_model = "None: this builder protects nobody. It is how a table, anonymised elsewhere or not, is audited."
    formula = "the release is the table"
    source = "the practice of publishing microdata"

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate_tables.raw_table import build

        return build(self, table)


class Tds(TreeBuilder):
    """Generalise the table from the top down until k-anonymity allows no more, then learn a tree from it.

    Every column is generalised the same way for everyone.
    """

    use: Literal["tds"] = "tds"
    k: Crowd = K
    choose_from: Literal["train", "train_and_test"] = Field(
        "train", description="The rows that choose the generalisation; k then holds of all of them together."
    )
    measure: Literal["gain", "gain_ratio", "gini"] = Field("gain", description="Of the tree: what the best test has.")
    prune: bool = PRUNE
    confidence: Confidence = CONFIDENCE
    release: Parts = Field("tree", description="What is released: the tree, the generalised table, or both.")

    stricter_more = frozenset({"k"})
    measure_options = frozenset({"measure", "prune", "confidence"})
    threat_model = "The adversary knows the public columns of everyone in the table, and the table or the tree."
    formula = "repeat the valid specialisation with the most information gain per anonymity lost; then C4.5 or ID3"
    source = (
        'B. Fung, K. Wang, P. Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE 2005; '
        "departures: docs/sources.md"
    )

    @property
    def wants_test(self) -> bool:
        return self.choose_from == "train_and_test"

    def build(self, table: Table, rng: np.random.Generator, test: Table | None = None) -> Release:
        from leafgate_tables.top_down_specialisation import build

        return build(self, table, test)


class Mondrian(TreeBuilder):
    """Cut the people into boxes of at least k at medians, and release the boxes as a tree or a table."""

    use: Literal["mondrian"] = "mondrian"
    k: Crowd = K
    measure: Literal["gain", "gain_ratio", "gini"] = Field(
        "gain", description="Of the tests on private columns, below the boxes: what the best has most of."
    )
    prune: bool = PRUNE
    confidence: Confidence = CONFIDENCE
    release: Parts = Field("tree", description="What is released: the tree, the generalised table, or both.")

    stricter_more = frozenset({"k"})
    measure_options = frozenset({"measure", "prune", "confidence"})
    threat_model = "The adversary knows the public columns of everyone in the table, and the table or the tree."
    formula = "cut the widest column at its median (or into its hierarchy's parts) while every part has k people"
    source = (
        'K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; '
        "departures: docs/sources.md"
    )

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate_tables.mondrian import build

        return build(self, table)


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [Mondrian, PublishedTable, Tds]
