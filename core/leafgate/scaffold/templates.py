"""The texts a new plugin is made of. `@...@` stands for its names."""

from __future__ import annotations

WORDS = {"attack": "attack", "metric": "doubt", "builder": "trees"}
FILES = {"attack": "beliefs.py", "metric": "scores.py", "builder": "building.py"}
OPTIONS = {"attack": "", "metric": "at_least=0.1", "builder": ""}
IMPORTS = {
    "attack": ("AttackModel", "Belief", "AdversaryKnowledge", "Release"),
    "metric": ("AtLeast", "ScoringContext", "Example", "Metric"),
    "builder": ("Release", "TreeBuilder"),
}
TYPED = {
    "attack": "",
    "metric": "    import pandas as pd\n",
    "builder": "    import numpy as np\n    from leafgate import Table\n",
}


def isort_key(name: str) -> tuple[bool, str]:
    """Classes before functions, each by name: the order in which import sorters put names."""
    return name[0].islower(), name


PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "@DISTRIBUTION@"
version = "0.1.0"
description = "A plugin for leafgate"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["leafgate"]

[project.optional-dependencies]
dev = ["mypy", "pandas-stubs", "pytest"]

[project.entry-points.leafgate]
@MODULE@ = "@MODULE@"

[tool.hatch.build.targets.wheel]
packages = ["@MODULE@"]
"""

README = """# @DISTRIBUTION@

A plugin for leafgate. Say here what it does, whom it assumes, and where it comes from.

    pip install -e ".[dev]"
    pytest                      # holds it to what leafgate takes for granted
    mypy --strict @MODULE@ tests
    leafgate plugins            # is it found?

A policy picks it by its name:

```yaml
plugins: [leafgate, @DISTRIBUTION@]
@POLICY@
```

@NOTES@What its classes say of themselves (`threat_model`, `formula`, `source` and the like) is about what stands here
now. Write over it together with the rest: `leafgate explain` prints it, and nobody else can check it.

`leafgate.testing` has the checks; a check that the plugin may fail is declared with its reason:
`conformance(..., expected={"catches_a_leak": "why"})`.
"""

NOTES = {
    "attack": """The attack reads one tree that asks public columns alone, and numbers that count people exactly. Of
other releases it says that it cannot read them, and the audit is inconclusive (exit code 3): so of `leafgate demo`,
whose tree asks a private column.
""",
    "metric": """The metric judges every attack of the policy, unless `of:` names one.
""",
    "builder": """The builder protects nobody yet: an audit of what it makes is there to say so.
""",
}

POLICY = {
    "attack": "attacks: [{use: @USE@}]",
    "metric": "metrics: [{use: @USE@, at_least: 0.1}]",
    "builder": "build: {use: @USE@}",
}

FACE = '''"""Say in one sentence what this plugin is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from leafgate import @NAMES@

if TYPE_CHECKING:
@TYPED@'''

PLAIN_FACE = FACE.replace("TYPE_CHECKING, ", "").replace("\nif TYPE_CHECKING:\n@TYPED@", "")

CLASSES = {
    "attack": '''class @CLASS@(AttackModel):
    """Believe of everyone what the leaf they reach tells."""

    use: Literal["@USE@"] = "@USE@"

    reads = frozenset({"exact"})
    threat_model = "The adversary knows the public columns of everyone, and the tree asks nothing else."
    formula = "P(class = v) = people of class v in the leaf / people in the leaf"
    source = "counting who reaches each leaf"

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[Belief]:
        from @MODULE@.beliefs import infer

        return infer(release, known)
''',
    "metric": '''class @CLASS@(AtLeast):
    """How unlikely each person's true secret is thought."""

    use: Literal["@USE@"] = "@USE@"

    threat_model = "Whatever the attack it judges assumes."
    formula = "1 - P(secret = truth | x)"
    scale = "from 0 to 1"
    safe = "1: the truth is thought impossible; 0: the adversary is certain, and right"
    alarm = "the truth about some people's {secret} comes as no surprise"
    source = "the chance that an attack leaves to everything but the truth"
    examples = (Example({"flu": 4}, {"flu": 5, "cold": 5}, 0.25, believed={"flu": 0.75, "cold": 0.25}),)

    def score(self, case: ScoringContext) -> pd.Series:
        from @MODULE@.scores import doubt

        return doubt(case)
''',
    "builder": '''class @CLASS@(TreeBuilder):
    """One leaf for each value of the column with the first name."""

    use: Literal["@USE@"] = "@USE@"

    threat_model = "None: this builder protects nobody."
    formula = "people of each class by the value of one column"
    source = "counting the people of the table"

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from @MODULE@.building import tree

        return Release(self.described(), table.schema, (tree(table),))
''',
}

HOOKS = {
    "attack": """@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [@CLASS@]
""",
    "metric": """@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [@CLASS@]
""",
    "builder": """@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [@CLASS@]
""",
}

MATHEMATICS = {
    "attack": '''"""What the leaves of a tree tell of the people who reach them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from leafgate import Belief, InconclusiveError, AdversaryKnowledge, Release
from leafgate.algorithms.routing import route
from leafgate.types.tree import columns_asked


def shares(counts: np.ndarray) -> np.ndarray:
    """The share of each class (columns) in each leaf (rows); uniform where nobody is.

    >>> shares(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    people = counts.sum(axis=1, keepdims=True)
    certainty: np.ndarray = np.where(people > 0, counts / np.maximum(people, 1), 1 / counts.shape[1])
    return told


def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
    """One belief about the class: everybody in a leaf is believed the same."""
    if len(release.trees) != 1 or not columns_asked(release.trees[0]) <= set(known.records.columns):
        raise InconclusiveError("reads one tree that asks public columns alone")
    routed, target = route(release.trees[0], known.public), known.schema.target
    if (routed.leaf < 0).any() or any(leaf.counts is None for leaf in routed.leaves):
        raise InconclusiveError("reads trees that tell counts on every leaf")
    counts = np.array([[(leaf.counts or {}).get(str(name), 0) for name in target.domain] for leaf in routed.leaves])
    chances = pd.DataFrame(shares(counts)[routed.leaf], columns=list(target.domain))
    return [Belief(target.name, routed.leaf, chances)]
''',
    "metric": '''"""How unlikely the truth is thought."""

from __future__ import annotations

import numpy as np
import pandas as pd
from leafgate import ScoringContext


def doubt(case: ScoringContext) -> pd.Series:
    """1 - P(secret = truth | x) for each row of the table, from 0 to 1."""
    rows, truth = np.arange(len(case.table)), case.table.codes(case.secret.name)
    return pd.Series(1 - case.posterior.to_numpy(dtype=float)[rows, truth])
''',
    "builder": '''"""A tree of one test."""

from __future__ import annotations

import numpy as np
from leafgate import InconclusiveError, Table
from leafgate.types.tree import Branch, CategoricalSplit, Leaf


def tree(table: Table) -> CategoricalSplit:
    """People of each class by the value of the column with the first name.

    Raises InconclusiveError where no column has values to ask about.
    """
    asked = [column for column in table.schema.features if column.values is not None]
    if not asked:
        raise InconclusiveError("asks one column that has values, and there is none")
    column, classes = min(asked, key=lambda each: each.name), table.schema.classes
    counts = np.zeros((len(column.domain), len(classes)), dtype=np.int64)
    np.add.at(counts, (table.codes(column.name), table.codes(table.schema.target.name)), table.weight)
    leaves = (Leaf(classes[int(row.argmax())], dict(zip(classes, row.tolist(), strict=True))) for row in counts)
    return CategoricalSplit(column.name, tuple(Branch((v,), leaf) for v, leaf in zip(column.domain, leaves,
    strict=True)))
''',
}

TEST = '''"""It keeps to what leafgate takes for granted; and its numbers can be checked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from leafgate.testing import Check, conformance
@IMPORTS@

from @MODULE@ import @NAMES@


@pytest.mark.parametrize("check", [@CALLS@], ids=str)
def test_it_conforms(check: Check[Any]) -> None:
    check()
'''

FACT_IMPORTS = {
    "attack": "from leafgate.testing.scenarios import SETTINGS",
    "metric": "from leafgate.testing.scenarios.contexts import people_case",
    "builder": "from leafgate.testing.scenarios.tables import survey\nfrom leafgate.types.tree import leaves",
}

FACTS = {
    "attack": """def test_who_is_alone_in_a_leaf_is_found_out() -> None:
    world = next(setting for setting in SETTINGS if setting.name == "a tree of public columns").world()
    (belief,) = @CLASS@().infer(world.release, world.known)
    assert belief.chances is not None
    (oldest,) = belief.chances[world.known.records["age"] == 90]["flu"]
    assert oldest == 1
""",
    "metric": """def test_nobody_doubts_what_is_known() -> None:
    case = people_case("everything")
    scores = @CLASS@(at_least=0.1).score(case)
    assert scores[case.table.frame["age"] == 90].tolist() == [0]
""",
    "builder": """def test_everybody_is_counted_once() -> None:
    from @MODULE@.building import tree

    counts = [leaf.counts or {} for leaf in leaves(tree(survey()))]
    assert sum(sum(each.values()) for each in counts) == survey().people
""",
}
