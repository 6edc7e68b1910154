"""What a policy can set for the attacks on withheld cells and for the builder `downgrading`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    BuildResult,
    CellBelief,
    InconclusiveError,
    NonNegativeFloat,
    PositiveInt,
    Release,
    Share,
    TreeBuilder,
    lazy,
)
from leafgate.errors import nearest_name
from leafgate.kernel.options import PruningConfidence, ShareBelowOne

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from leafgate.api import BuildResult, Floats, Policy, Table
    from leafgate_plugins.downgrading import adversaries, builder, c45_missing, conditioning, grid, naive_bayes
    from leafgate_plugins.downgrading.adversaries import FittedAdversary, TreeCache
    from leafgate_plugins.downgrading.c45_missing import TreeOptions
    from leafgate_plugins.downgrading.grid import Grid
else:
    np, pd = lazy("numpy"), lazy("pandas")
    adversaries, builder, c45_missing, conditioning, grid, naive_bayes = (
        lazy(f"leafgate_plugins.downgrading.{name}")
        for name in ("adversaries", "builder", "c45_missing", "conditioning", "grid", "naive_bayes")
    )

SEES = "The adversary sees the published records, and the values the policy declares; nobody is known beforehand. "
PAPER = 'L. Chang, "Statistical Sensitive Data Protection and Inference Prevention with Decision Tree Methods", 2003'


class CellAttack(AttackModel):
    """Infers the withheld cells of published records from the cells that are visible."""

    models = frozenset({"none", "trees"})
    parts = frozenset({"records"})

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[CellBelief]:
        """One belief for each column with withheld cells; InconclusiveError where there are none.

        Numbers without `bins` have nothing to believe probabilities of, and are left out; cells that are generalised
        count as not seen.
        """
        records = release.records
        if records is None or not any(grid.WITHHELD in row for row in records.rows):
            raise InconclusiveError("the release withholds no cell")
        cells, hidden = grid.read_cells(records, release.schema)
        encoded, _ = grid.encode_cells(cells, hidden)
        rows = np.flatnonzero(hidden.any(axis=1))
        beliefs = []
        for place, (mine, chances) in sorted(self.fit(encoded).posterior(encoded.codes[rows], rows).items()):
            column = cells.columns[place]
            withheld = np.array([records.rows[row][place] == grid.WITHHELD for row in rows[mine].tolist()])
            if column.countable and withheld.any():
                frame = pd.DataFrame(chances[withheld], columns=pd.Index(column.domain, dtype=object))
                beliefs.append(CellBelief(column.name, frame, rows[mine][withheld]))
        if not beliefs:
            raise InconclusiveError("the release withholds numbers only, which have no `bins`")
        return beliefs

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        """The adversary after studying `grid`, and nothing else.

        `cache` holds trees grown before, keyed by all that they were learned from, and `counts` the pair counts of the
        grid; both only save time.
        """
        raise NotImplementedError


class ByTrees(CellAttack):
    """What attacks that learn trees have in common."""

    least: Annotated[float, Field(ge=1)] = Field(
        2.0, description="The least number of people on two branches of every test."
    )
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: PruningConfidence = Field(0.25, description="Confidence of pruning; smaller prunes more.")
    train_on: Literal["all", "complete"] = Field(
        "all", description="Learn from all records (by fractional cases), or only from those without a withheld cell."
    )

    def tree_options(self) -> TreeOptions:
        """The options of C4.5 that the attack uses."""
        return c45_missing.TreeOptions(self.least, self.confidence if self.prune else None, self.train_on == "complete")


class TreeInference(ByTrees):
    """Learn a C4.5 tree that predicts each column from the others, and apply it to the column's withheld cells."""

    use: Literal["tree_inference"] = "tree_inference"
    threat_model = SEES + "They learn a tree."
    formula = "class shares of the leaves a record can reach, weighted by the people on the branches it cannot tell"
    source = f'{PAPER}, section 3; J. Quinlan, "C4.5", 1993, chapter 3'

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        return adversaries.TreeAdversary(grid, self.tree_options(), cache)


class Conditioning(CellAttack):
    """Count the records that agree with the attacked one on all visible cells, or on the most informative of them."""

    use: Literal["conditioning"] = "conditioning"
    least: Annotated[float, Field(ge=1)] = Field(1.0, description="The least number of people who must agree.")

    threat_model = SEES + "They count those who look the same, and look less closely where there are too few."
    formula = "P(v) = share of v among those who agree on every visible cell; else without the least telling, and so on"
    source = "conditional frequencies; backing off as in S. Katz, 1987; theory: docs/how-to/downgrading.md"

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        return conditioning.ConditioningAdversary(grid, self.least, counts)


class NaiveBayes(CellAttack):
    """Treat every visible cell as independent evidence of the withheld one."""

    use: Literal["naive_bayes"] = "naive_bayes"

    threat_model = SEES + "They multiply the evidence of all visible cells, one added to every count."
    formula = "P(v) ~ (n_v + 1) x product over visible cells c of (n_vc + 1) / (n_v + values of the column)"
    source = "naive Bayes with Laplace's rule of succession"

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        return naive_bayes.NaiveBayesAdversary(grid, counts)


class Restoration(ByTrees):
    """Fill in withheld cells by trees, then attack as `tree_inference` does as if these cells were known."""

    use: Literal["restoration"] = "restoration"
    rounds: Annotated[int, Field(ge=1, le=20)] = Field(2, description="How often withheld cells are filled in.")

    threat_model = SEES + "They know that cells were withheld because they tell of others, and restore them first."
    formula = "tree_inference, with what tree_inference believes of the other withheld cells in their place"
    source = f"{PAPER}, section 7"

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        return adversaries.RestorationAdversary(
            adversaries.TreeAdversary(grid, self.tree_options(), cache), self.rounds
        )


Adversary = Annotated[TreeInference | Conditioning | NaiveBayes | Restoration, Field(discriminator="use")]
Name = Literal["tree_inference", "conditioning", "naive_bayes", "restoration"]


def _named(written: Any) -> Any:
    """An adversary's name stands for the adversary as it is by default."""
    if isinstance(written, list | tuple):
        return tuple({"use": each} if isinstance(each, str) else each for each in written)
    return written


NAMED = BeforeValidator(_named, json_schema_input_type=tuple[Name | Adversary, ...])


class Downgrading(TreeBuilder):
    """Withhold the protected cells and few others, so that no listed adversary is too sure of a protected cell.

    Cells of quasi-identifiers stay: the adversary knows them of everyone.
    """

    use: Literal["downgrading"] = "downgrading"
    against: Annotated[tuple[Adversary, ...], NAMED, Field(min_length=1)] = Field(
        (TreeInference(), Conditioning(), NaiveBayes(), Restoration()),
        description="The adversaries: names, or attacks with options.",
        json_schema_extra={"default": ["tree_inference", "conditioning", "naive_bayes", "restoration"]},
    )
    tau: Share = Field(description="The largest belief in a protected cell.")
    rho: Share = Field(0.7, description="The largest belief in a cell that is withheld for the sake of others.")
    v: Share = Field(0.05, description="How much the error of models learned from the table may rise.")
    ramify: bool = Field(True, description="Protect cells that are withheld for others from being restored, too.")
    believed: Literal["most", "truth"] = Field(
        "most",
        description="Limit the belief in any value (`most`), or in the true one (`truth`): then a wrong guess "
        "discloses what is true.",
    )
    allow: ShareBelowOne = Field(
        0.0, description="The share of protected cells that may stay above tau, where that saves the most."
    )
    columns: tuple[str, ...] | None = Field(
        None, min_length=1, description="Columns whose cells may be withheld; by default all but the public ones."
    )
    weights: dict[str, NonNegativeFloat] = Field(
        {}, description="How much a column counts as a class, in E and F; by default 1."
    )
    width: PositiveInt = Field(
        4, description="How many sets of cells the search carries on at a time; more costs less data."
    )
    release: Literal["table", "both"] = Field("table", description="The table, or also the tree a reader would learn.")

    policy_example = "tau: 0.7"
    randomness = "seed"
    public_algorithm = False
    threat_model = "The adversary sees the downgraded table, knows how it was made, and attacks as `against` names."
    formula = "hide few visible cells of threatened rows until max belief <= tau, of hidden cells <= rho, F <= v"
    source = f"{PAPER}; corrections and departures: docs/explanation/downgrading.md"

    def described(self) -> dict[str, Any]:
        """The builder as its release names it; no adversary of `against` has `knows`, and all have the same access."""
        hidden = {"knows", "access", "time_limit"}
        against = [adversary.model_dump(mode="json", exclude=hidden) for adversary in self.against]
        return super().described() | {"against": against}

    def missing_requirements(self, policy: Policy) -> str:
        if not policy.data.protect and not any("sensitive" in spec.roles for spec in policy.data.columns.values()):
            return "nothing is secret: name cells in `data.protect`, or give a column the role `sensitive`"
        if any(adversary.knows is not None for adversary in self.against):
            return "the adversaries of `against` are granted nothing: leave `knows` out"
        if any(adversary.time_limit is not None for adversary in self.against):
            return "the adversaries of `against` are not limited in time: leave `time_limit` out"
        for option, names in (("columns", self.columns or ()), ("weights", self.weights)):
            strange = [name for name in names if name not in policy.data.columns]
            if strange:
                meant = nearest_name(strange[0], policy.data.columns, "")
                return f"`{option}` names {strange[0]!r}, which is no column{meant and f'; {meant}'}"
            keys = [name for name in names if "key" in policy.data.columns[name].roles]
            if keys:
                return f"`{option}` names {keys[0]!r}, which is the key and not published"
        if self.release == "both" and not any("class" in spec.roles for spec in policy.data.columns.values()):
            return "`release: both` needs a column with the role `class`, which the tree predicts"
        return ""

    def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
        return builder.build(self, table, rng)
