"""The pages of builders, attacks, metrics and data sources: their introductions, and the families of their sections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leafgate.api.data_engines import DataEngine
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.metrics import Metric, PersonMetric

GENERATED = "<!-- made by make_reference.py -->"
EXPLAIN = """Options not marked as required may be left out, those without a type are texts, and bold marks the default.
`leafgate explain NAME` also prints """

BUILDERS = f"""# Builders

A builder makes the release: it grows trees, generalises a table, or reads an existing model
([`published`](#published)). A policy names one under `build`.

{EXPLAIN}the formula and the source.

{GENERATED}
"""

ATTACKS = f"""# Attacks

An attack computes what an adversary can infer about each person from the release and from the knowledge that the
policy grants. A policy lists one or more under `attacks`; [metrics](metrics.md) limit what they infer.

Unless an entry says otherwise, an attack needs the release file, uses no granted knowledge, and reads numbers of every
kind: `exact`, of a `bootstrap` or another sample (`sampled`), with noise (`noisy`; `perturbed` in records), or of
`unknown` origin. An attack that cannot read the numbers, or lacks access, is inconclusive and never passes.

{EXPLAIN}the formula and the source.

{GENERATED}
"""

METRICS = f"""# Metrics

A metric scores each person or the whole release, and a policy limits the score with `at_least` or `at_most`.
[Choose limits](../how-to/limits.md) helps you decide.

Every metric has a `name`, and a metric of attacks has `of`: the attack that it judges, by default every one. Unless an
entry says otherwise, a metric assumes whatever the attack it judges assumes.

{EXPLAIN}worked examples and the source.

{GENERATED}
"""

SOURCES = f"""# Data sources

A data source reads tables that the core does not read itself, or lets an engine count their records where they are. A
policy names one under `data.source`, by its name alone (`source: duckdb`) or with options. [Large
tables](../how-to/large-tables.md) explains how to use them; [plugins](plugin-kinds.md#a-data-source) can add others.

{GENERATED}
"""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Components that share a section of a page.

    Attributes:
        title: The heading; empty where a page has no families.
        about: What is so of all members.
        members: Their names.
    """

    title: str
    about: str = ""
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page of one kind of components.

    Attributes:
        common: Headings, and the base classes whose options all components below them have.
        left_out: Beginnings of statements that the introduction makes, or that `leafgate explain` alone prints.
        usual: Statements that the introduction makes of all components, unless an entry or its family says otherwise.
        stated_above: Options that the introduction describes.
        without_formula: Components whose description says as much as their formula.
        families: The sections; empty where the page lists the components one after the other.
    """

    intro: str
    base: type[Component]
    common: dict[str, type[Component]]
    left_out: tuple[str, ...] = ()
    usual: tuple[tuple[str, str], ...] = ()
    stated_above: frozenset[str] = frozenset()
    without_formula: frozenset[str] = frozenset()
    families: tuple[Family, ...] = ()

    def sections(self, names: Iterable[str]) -> tuple[Family, ...]:
        """The families, which must have every component once; one without a title where the page has none."""
        if not self.families:
            return (Family(title="", members=tuple(names)),)
        if sorted(name for family in self.families for name in family.members) != sorted(names):
            raise ValueError("list every component in one Family of docs/reference/make_reference.py")
        return self.families


BUILDER_PAGE = Page(
    intro=BUILDERS,
    base=TreeBuilder,
    common={},
    left_out=("Formula", "Source", "None:"),
    families=(
        Family(
            title="Existing files and tables",
            about="[Audit the file of a model](../how-to/audit-a-model-file.md) and [Audit a release "
            "file](../how-to/audit-a-model-file.md#audit-a-release-file-again) show how to use `published`.",
            members=("published", "table"),
        ),
        Family(
            title="k-anonymity",
            about="[k-anonymous trees](../explanation/kadet.md) and [Baselines](../explanation/baselines.md) explain "
            "them.",
            members=("kadet", "mondrian", "tds"),
        ),
        Family(
            title="Differential privacy",
            about="[Publish under differential privacy](../how-to/differential-privacy.md) shows how to use them, and "
            "[Private random trees](../explanation/dp-random-trees.md) explains them.",
            members=("dp_random_trees", "dp_laplace_trees"),
        ),
        Family(
            title="Perturbed numbers and withheld cells",
            about="[Learn from perturbed data](../how-to/shared-numbers.md) and [Downgrade a "
            "table](../how-to/downgrading.md) show how to use them.",
            members=("ppdtc45", "downgrading"),
        ),
        Family(
            title="Baselines without protection",
            about="They protect nobody, and show what ordinary trees disclose.",
            members=("c45", "id3", "random_trees"),
        ),
    ),
)
ATTACK_PAGE = Page(
    intro=ATTACKS,
    base=AttackModel,
    common={"Options of all attacks": AttackModel},
    left_out=("Formula", "Source", "Reads numbers of every kind"),
    usual=(("Access", "file."), ("Uses, if granted", "nothing more.")),
    families=(
        Family(
            title="Linking attacks",
            about="[Linking](../explanation/linking.md) and [Nightly "
            "retraining](../how-to/nightly-retraining.md) explain them.",
            members=("linking", "joint"),
        ),
        Family(
            title="Maximum entropy",
            about="These also use that each test was chosen over others: [more](../explanation/maxent.md).",
            members=("maxent", "counting"),
        ),
        Family(
            title="Membership inference",
            about="These infer who is in the table. [Limit membership "
            "inference](../how-to/limits.md#limit-membership-inference) helps you choose; "
            "[Membership](../explanation/membership.md) explains them.",
            members=("loss_threshold", "lira", "rmia", "quantile", "worst_case", "leaf_exclusion"),
        ),
        Family(
            title="Attribute inference",
            about="These infer an input of the model. [Limit input "
            "inference](../how-to/limits.md#limit-the-inference-of-an-input) helps you choose; "
            "[Attributes](../explanation/attributes.md) explains them.",
            members=(
                "likelihood",
                "csmia",
                "lomia",
                "fredrikson",
                "leaf_constraints",
            ),
        ),
        Family(
            title="Table reconstruction",
            about="[Table reconstruction](../explanation/table-reconstruction.md) explains it.",
            members=("table_reconstruction", "rebuild"),
        ),
        Family(
            title="Perturbed numbers",
            about="These estimate original numbers from numbers with noise: "
            "[more](../explanation/ppdtc45.md#what-shared-numbers-disclose).",
            members=("posterior", "spectral_filter", "pca_dr", "be_dr"),
        ),
        Family(
            title="Withheld cells",
            about="These infer cells that published records withhold: [more](../explanation/downgrading.md).",
            members=("conditioning", "naive_bayes", "tree_inference", "restoration"),
        ),
        Family(
            title="Claims of differential privacy",
            about="[Private random trees](../explanation/dp-random-trees.md) explains it.",
            members=("distinguish",),
        ),
    ),
)
METRIC_PAGE = Page(
    intro=METRICS,
    base=Metric,
    common={"Options of metrics of people": PersonMetric},
    left_out=(
        "Source",
        "Scores each person",
        "Scores each attack's belief",
        "Scores the release",
        "It judges",
        "Checks the guarantee",
        "None:",
        "Whatever the attack it judges assumes.",
        "Whatever the attack it judges assumes; p is",
        "Whatever the attack it judges assumes; P* is",
    ),
    without_formula=frozenset(
        {
            "accuracy",
            "accuracy_on_perturbed",
            "alpha_k_anonymity",
            "area_under_curve",
            "attribute_certain",
            "cells_withheld",
            "class_disclosure",
            "file_disclosure",
            "functionality",
            "k_anonymity",
            "k_map",
            "membership_advantage",
            "membership_auc",
            "membership_excluded",
            "membership_tpr",
            "reidentification_risk",
            "smallest_leaf",
            "uniques",
        }
    ),
    stated_above=frozenset({"at_least", "at_most", "name", "of"}),
    families=(
        Family(
            title="Group sizes",
            about="These score each person by the size of their group (equivalence class), not by a secret "
            "([more](../explanation/group-metrics.md)).",
            members=("k_anonymity", "uniques", "reidentification_risk", "k_map"),
        ),
        Family(
            title="Secrets within groups",
            about="These score each person by how much their group still shares a secret. By default they judge the "
            "worse of two distributions: what the adversary derives, and the group's true composition "
            "([why](../explanation/group-metrics.md)). p is the judged distribution of a person's secret, P the shares "
            "among everyone.",
            members=(
                "exposure",
                "confidence",
                "l_diversity",
                "t_closeness",
                "alpha_k_anonymity",
                "beta_likeness",
                "delta_disclosure",
            ),
        ),
        Family(
            title="Beliefs and the truth",
            about="These score each person by comparing P*, which the attack derives, with the truth "
            "([more](../explanation/group-metrics.md#divergence-and-gain)).",
            members=("divergence", "gain"),
        ),
        Family(
            title="Membership inference",
            about="These score each membership attack; intervals allow for chance "
            "([more](../explanation/membership.md)).",
            members=(
                "membership_tpr",
                "membership_auc",
                "membership_advantage",
                "membership_identified",
                "membership_excluded",
                "leave_one_out",
            ),
        ),
        Family(
            title="Attribute inference",
            about="These score each attack that infers an input of the model ([more](../explanation/attributes.md)).",
            members=("attribute_leak", "attribute_certain"),
        ),
        Family(
            title="Reconstruction",
            about="[Table reconstruction](../explanation/table-reconstruction.md) and "
            "[Reconstruction](../explanation/ppdtc45.md#what-shared-numbers-disclose) explain them.",
            members=("reconstructed_cells", "normalised_rmse"),
        ),
        Family(
            title="Perturbed numbers",
            about="These score the release by its noise "
            "([more](../explanation/ppdtc45.md#what-shared-numbers-disclose)).",
            members=("interval_privacy", "privacy_loss"),
        ),
        Family(
            title="Differential privacy budget",
            members=("differential_privacy",),
        ),
        Family(
            title="The model and its file",
            about="These score the release by its shape, its training or its file "
            "([more](../explanation/structure.md)). Some are rules of thumb without an adversary.",
            members=(
                "smallest_leaf",
                "class_disclosure",
                "residual_degrees_of_freedom",
                "risky_settings",
                "generalisation_gap",
                "file_disclosure",
            ),
        ),
        Family(
            title="Usefulness",
            about="These measure what the release is good for, or what protection costs. A policy without other "
            "limits never passes.",
            members=("accuracy", "area_under_curve", "accuracy_on_perturbed", "functionality", "cells_withheld"),
        ),
    ),
)
SOURCE_PAGE = Page(intro=SOURCES, base=DataSource, common={"Options of all engines": DataEngine})
