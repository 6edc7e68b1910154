"""What a plugin is: a tree builder, an attack model or a privacy metric.

A class is its own options: its fields are what a policy may write beside `use:`, checked before
anything runs. Class variables say what `leafgate explain` prints and what the core must know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np

    from leafgate.api.declarations import Declarations
    from leafgate.types.adversary import AdversaryKnowledge
    from leafgate.types.belief import Belief
    from leafgate.types.release import Release
    from leafgate.types.table import Table


Limit = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
Unit = Literal["", "people", "one over people", "share", "people left", "table"]
Distribution = Literal["derived", "composition"]
"""A distribution of a secret: what the adversary derives, or the true composition of each person's group."""
Scored = Literal["worst", "derived", "composition"]
"""By which distribution a limit is judged; `worst`: for each person the worse of the two scores."""
DEFAULT_ORDER: tuple[Scored, ...] = ("worst", "derived", "composition")
"""The first of these that a metric can score is its default."""
ONLY_DERIVED: frozenset[Scored] = frozenset({"derived"})
"""The `scorable` of metrics that compare what is believed with the truth."""
SLACK = 1e-12
"""By so much (of limits above 1: by such a part of them) a score may miss its limit, for floating point does."""
STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False)


class Component(BaseModel):
    """What builders, attacks and metrics have in common: `use`, the name a policy picks it by.

    `stricter_more` and `stricter_less` name options of which more, or less, always protects better (of a switch, on is
    more): a policy that extends another may change these in that direction, and no other option of what that one has.
    """

    model_config = STRICT

    use: str

    threat_model: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""
    stricter_more: ClassVar[frozenset[str]] = frozenset()
    stricter_less: ClassVar[frozenset[str]] = frozenset()

    def missing_requirements(self, plan: Declarations) -> str:
        """A sentence about what this component needs and the policy does not declare; empty where nothing is missing.

        It is called before any table is read.
        """
        return ""


class TreeBuilder(Component):
    """Makes what the owner would publish.

    `randomness` says where its coins come from: `none`, `seed` (repeatable) or `system` (the
    operating system's entropy); a builder with an option `rehearsal` may then take the seed all the same,
    for a release that must not be published. `measure_options` names the options that give the selection
    measure away, so that `publish: {measure: false}` can leave them out. `guarantees` names guarantees
    (`epsilon`) that hold only while nobody chooses among several releases by looking at the data.
    """

    randomness: ClassVar[Literal["none", "seed", "system"]] = "none"
    measure_options: ClassVar[frozenset[str]] = frozenset()
    public_algorithm: ClassVar[bool] = True
    guarantees: ClassVar[frozenset[str]] = frozenset()

    @property
    def is_rehearsal(self) -> bool:
        """Is this for trying out only, repeatable by the seed though it should not be?"""
        return bool(getattr(self, "rehearsal", False))

    @property
    def one_shot(self) -> bool:
        """Are its coins drawn once, from the operating system?"""
        return self.randomness == "system" and not self.is_rehearsal

    @property
    def mechanism_only(self) -> TreeBuilder:
        """The builder without what anyone could compute from the rest it shows: what attacks on the mechanism run."""
        return self

    @property
    def noisy_test(self) -> bool:
        """Are the numbers of `data.test` shared ones, which need not lie within the columns' bounds?"""
        return False

    @property
    def wants_test(self) -> bool:
        """Is `build` to be given the test table too, as `test`?"""
        return False

    @property
    def people_files(self) -> Mapping[str, Path]:
        """The files about people that it reads beside the table: their digests are told with the data's."""
        return {}

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        """The release, with exact counts on its leaves; the core cuts it to what is published.

        Raises NoReleaseError when nothing keeps the builder's promise.
        """
        raise NotImplementedError(type(self).__name__)

    def described(self) -> dict[str, Any]:
        """The builder as its release names it."""
        return {"use": self.use} | self.model_dump(mode="json", exclude={"use"})


class AttackModel(Component):
    """Says what an adversary would believe, from the release and what the policy grants it.

    `reads` lists what the release's numbers may count for the attack to understand them, `models`
    the kinds of model it can read;
    `parts` which published parts of a release it takes into account: `trees` (the model, whatever kind it is),
    `alternatives`, `records`; `uses` which optional knowledge (`distribution`, `people`, `facts`, `label_accuracies`).
    Where no attack of a policy takes a part into account the audit is inconclusive.
    """

    name: str = Field(default="", description="What findings call it; default: what it uses. Unique.")

    reads: ClassVar[frozenset[str]] = frozenset({"exact", "sampled", "bootstrap", "perturbed", "noisy", "unknown"})
    models: ClassVar[frozenset[str]] = frozenset({"trees"})
    parts: ClassVar[frozenset[str]] = frozenset({"trees", "alternatives", "records"})
    uses: ClassVar[frozenset[str]] = frozenset()

    @property
    def called(self) -> str:
        """Its name in the policy: `name`, or what it uses."""
        return self.name or self.use

    def forecast(self, release: Release, known: AdversaryKnowledge) -> str:
        """What it is about to do and about how long that takes, told before it begins; empty where it is quick."""
        return ""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        """One belief for each secret the attack speaks about."""
        raise NotImplementedError(type(self).__name__)


class Strict(BaseModel):
    """Unknown keys, other types, NaN: refused; error texts without the input."""

    model_config = STRICT
