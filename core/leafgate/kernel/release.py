"""Release: everything an adversary gets to see, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field

from leafgate.folders import content_digest
from leafgate.kernel.inheritance import LESS, ordered_by, ranked
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.noise import Noise
from leafgate.kernel.options import Strict
from leafgate.kernel.schema import Schema
from leafgate.kernel.tree import Node, columns_asked, tree_arrays

Level = Literal["labels", "error_rates", "shares", "counts"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Every level, the one that discloses least first."""


def discloses_more(level: Level, reference: Level) -> bool:
    """Does `level` disclose more than `reference`?"""
    return LEVELS.index(level) > LEVELS.index(reference)


Severity = Literal["low", "medium", "high"]
"""low: of the algorithm; medium: of all people together; high: of small groups, or of single people."""
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the least to the most."""


RARE_CLASSES = "rare_classes"
"""The kind of the disclosure that a file names classes of a few people, as every file of its model does."""


LOCATED = frozenset(
    {"other_content", "people_listed", RARE_CLASSES, "rare_numbers", "training_rows", "training_table", "variables"}
)
"""The kinds of disclosures whose description ends in where it is, in brackets."""


@dataclass(frozen=True)
class FileDisclosure:
    """One thing that a file discloses: its `kind`, how severe that is, and a description without any cell.

    `level` is the publication level of the leaves that it amounts to, None where it is about something else.
    """

    kind: str
    severity: Severity
    says: str
    level: Level | None = None

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        fields = {"kind": self.kind, "severity": self.severity, "says": self.says}
        return fields if self.level is None else fields | {"level": self.level}

    def written(self) -> dict[str, Any]:
        """The JSON of leafgate's own files; without the location of it, which no reader could check."""
        says = self.says.partition(" (")[0] if self.kind in LOCATED else self.says
        return replace(self, says=says).described()


TABLE_HELD = "the file holds the table that it was trained on"


LATER_TREES = "later_trees"
"""The kind of the disclosure that a file holds trees with which its model does not predict."""


VALUE_COUNTS = "value_counts"
"""The kind of the disclosure that a file counts the people who have a value of a column, whatever leaf they are at."""


def is_never_published(item: FileDisclosure) -> bool:
    """Does the file hold what no attack reads: people, counts of those with a value, or trees that do not predict?"""
    return item.kind in {"training_table", LATER_TREES, VALUE_COUNTS}


NOT_STATED = FileDisclosure("not_stated", "high", "what else it tells is not stated by the reader of its format")
"""Stands in place of disclosures where a reader of model files gives none: nothing follows from such a list."""


@dataclass(frozen=True)
class AuditedFile:
    """The file whose bytes were audited: its `name` without any folder, its `format`, the SHA-256 of these bytes.

    Of a folder it is the digest of all its files (`content_digest`). Make it `of` the bytes that were read, never of a
    second reading: the file may have been replaced in between.
    """

    name: str
    format: str
    sha256: str

    @classmethod
    def of(cls, path: Path, format: str, content: bytes) -> Self:
        """The file at `path`, of which `content` was read. Bytes of the name that are no text are replaced."""
        name = os.fsencode(path.name).decode("utf-8", "replace")
        return cls(name, format, content_digest(content))

    def described(self) -> dict[str, Any]:
        """As a report has it."""
        return {"name": self.name, "format": self.format, "sha256": self.sha256}


FeatureEncoding = Literal["number", "codes", "one_hot", "category"]


@dataclass(frozen=True)
class Learner:
    """An estimator that was fitted, as its library names it, so that the same can be fitted on other people.

    Attributes:
        estimator: the class with its module, such as `sklearn.ensemble.RandomForestClassifier`.
        parameters: its parameters by name: numbers, texts, True, False or None; defaults may be left out.
        encoding: how each column became features, by its name, in the order of the features: `number`, `codes` (a
            number for each value, in the order of its domain where that means something, else of its texts), `one_hot`,
            or `category` (codes that the library itself takes for categories). Columns that are left out are not used.
            Empty where that is not known.
        unknown: names of parameters that the model depends on and that its file does not hold: nothing can be fitted
            before `trained_by` names them.
        categories: the names of the features that the library itself took for categories, where the file discloses.
    """

    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    encoding: Mapping[str, FeatureEncoding] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    categories: frozenset[str] = frozenset()

    def described(self) -> str:
        """The parameters by their names, and the encoding of columns in the order of the features, as JSON."""
        return json.dumps([dict(sorted(self.parameters.items())), list(self.encoding.items())])


@dataclass(frozen=True)
class ModelFile:
    """The file a release was read from, if that is somebody else's model: its format, and what it discloses.

    `model_sha256` is the digest of the model as it was read: another file with the same model has the same digest.
    """

    format: str
    model_sha256: str
    discloses: tuple[FileDisclosure, ...] = ()

    def described(self) -> dict[str, Any]:
        """As a release file has it."""
        items = [item.written() for item in self.discloses]
        return {"format": self.format, "model_sha256": self.model_sha256, "discloses": items}


@dataclass(frozen=True)
class ModelReading:
    """What is known of how the file of somebody else's model was read; for the auditor, and not in the release.

    Attributes:
        producer: the program that wrote the file, in words; empty where the file does not say.
        tested: whether the reader was tested with files of this `version` of the program, of the `program` in other
            versions, or of neither (empty).
        unknown: the keys of the part that decides predictions which the reader does not know.
        classes: the model's own name of each class, by the value of the policy.
        knows_scores: whether the scores of classes that the model answers are known from those of its trees.
        unseen: by column, values of the policy that are not in the file's list of all values that it was fitted on.
        unseen_marks: by column, values that programs take for missing cells, which the file does not list, while it
            has missing cells apart from all values.
    """

    producer: str = ""
    tested: Literal["version", "program", ""] = ""
    unknown: tuple[str, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    knows_scores: bool = True
    unseen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unseen_marks: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class NaiveBayes:
    """The share of each class, and each column's normal distribution (mean, variance) within each of them.

    Source: Mitchell, "Machine Learning", 1997, section 6.9. Classes without a share are never predicted.
    """

    shares: Mapping[str, float]
    normals: Mapping[str, Mapping[str, tuple[float, float]]]

    def described(self) -> dict[str, Any]:
        """The model as JSON, as a release file has it."""
        normals = {name: {label: list(normal) for label, normal in of.items()} for name, of in self.normals.items()}
        return {"shares": dict(self.shares), "normals": normals}


Counted = Literal["exact", "sampled", "bootstrap", "perturbed", "noisy", "unknown"]
CountedUnit = Literal["people", "rows"]
Combine = Literal["one", "vote", "sum", "mean_per_tree", "boost", "exp_sum"]
ADDED_UP: frozenset[Combine] = frozenset({"sum", "boost", "exp_sum"})
"""How trees become a prediction where what their leaves have is added up; `exp_sum` predicts its exponential."""

Link = Literal["softmax", "logistic", "isotonic"]
LARGEST_SCORE = 1e150
"""Larger points of a calibration are none of a sum of scores."""


@dataclass(frozen=True)
class CalibratedSum:
    """Consecutive trees of a model whose scores add up, and the link that makes shares of classes of the sum.

    A model with several such sums answers the mean of their shares.

    Attributes:
        trees: how many trees.
        link: the softmax of all sums; of several classes the logistic function of each sum, over the total of these; or
            the lines between points, over their total.
        is_mean: whether sums are divided by the number of trees first.
        points: for each class the points, as pairs of a sum and a share; beyond the first and the last the share stays.
            Of two classes one has none: it has what the other leaves. Empty unless the link is `isotonic`.

    Source: Niculescu-Mizil, Caruana, "Predicting Good Probabilities With Supervised Learning", ICML 2005.
    """

    trees: int
    link: Link
    is_mean: bool = False
    points: tuple[tuple[tuple[float, float], ...], ...] = ()

    def described(self) -> dict[str, Any]:
        """As JSON, as the files of releases and models have it."""
        optional = {"mean": self.is_mean, "points": [[list(point) for point in each] for each in self.points]}
        return {"trees": self.trees, "link": self.link} | {key: value for key, value in optional.items() if value}

    def fits(self, classes: int) -> bool:
        """Does it make shares of so many classes?"""
        if self.link != "isotonic":
            return not self.points and classes >= (2 if self.link == "softmax" else 3)
        silent = sum(not each for each in self.points)
        return len(self.points) == classes and silent == (classes == 2) and all(map(_are_points, self.points))


def _are_points(points: Sequence[tuple[float, float]]) -> bool:
    """Do sums rise, and are shares between 0 and 1?"""
    rise = all(low[0] < high[0] for low, high in pairwise(points))
    return rise and all(abs(at) <= LARGEST_SCORE and 0 <= share <= 1 for at, share in points)


def are_sums_of(sums: Sequence[CalibratedSum], trees: int, combine: Combine, classes: int) -> bool:
    """Are these all sums of a model with so many trees and classes? Most models have none."""
    if not sums:
        return True
    counts = [each.trees for each in sums]
    return combine == "boost" and min(counts) > 0 and sum(counts) == trees and all(s.fits(classes) for s in sums)


Model = Literal["trees", "naive_bayes", "none"]


class Publish(Strict):
    """What will be published; the key stands at the top level of a policy, beside `build`."""

    leaves: Annotated[Level, ordered_by(ranked(LEVELS[::-1]))] = Field(
        "counts", description="What leaves publish: labels alone, or also error rates, shares or counts."
    )
    measure: Annotated[bool, LESS] = Field(True, description="Is the selection measure published?")


@dataclass(frozen=True)
class Records:
    """Published records; a cell is a value, None, {"in": [...]}, {"from", "to"} or {"withheld": true}."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    weight: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """A kind of promise that a release makes, such as `k` or `epsilon`.

    Attributes:
        kind: its name in `Release.guarantee`.
        covers_data: whether it promises differential privacy of all that is computed from the table. A public report
            then states no count of people, no digest of the data and no score that was computed from it, for these
            would be outside the promise.
    """

    kind: str
    covers_data: bool = False

    @classmethod
    def of(cls, kind: str) -> Claim:
        """The claim of this name, as leafgate knows it."""
        return cls(kind, kind in DIFFERENTIAL_PRIVACY)


DIFFERENTIAL_PRIVACY = frozenset({"epsilon", "rho", "mu"})
"""Kinds of claims of differential privacy: (epsilon, delta), zero-concentrated (rho), Gaussian (mu).

Source: Bun, Steinke, TCC 2016, doi:10.1007/978-3-662-53641-4_24; Dong, Roth, Su, JRSS B 84(1), 2022,
doi:10.1111/rssb.12454
"""


def covers_data(kinds: Iterable[str]) -> bool:
    """Is one of these kinds of claims one of differential privacy?"""
    return any(Claim.of(kind).covers_data for kind in kinds)


@dataclass(frozen=True)
class Release:
    """What is published: trees or records, what their numbers count, and what is claimed of them.

    It has only what the published file has: what its owner alone may know stands in `BuildResult`, which no attack
    receives. `selection` is what is known of the algorithm (measure, filters, parameters); `guarantee` the claims,
    checked in every audit. `bayes` is the model where it is no tree. `noise` is the distribution of what was added to a
    column's numbers in `records`. `file` describes somebody else's model file that the release was read from, which is
    what will be published then. `unit` is what one counted thing is: a person, or a row, of which a person may have
    several. `calibrated_sums` say how scores of trees become shares of classes, where they are more than added up.
    """

    builder: Mapping[str, Any]
    schema: Schema
    trees: tuple[Node, ...] = ()
    publish: Publish = field(default_factory=Publish)
    count_semantics: Counted = "exact"
    selection: Mapping[str, Any] | None = None
    guarantee: Mapping[str, Any] = field(default_factory=dict)
    combine: Combine = "one"
    model: Model = "trees"
    alternatives: Mapping[str, Node] = field(default_factory=dict)
    records: Records | None = None
    noise: Mapping[str, Noise] = field(default_factory=dict)
    bayes: NaiveBayes | None = None
    file: ModelFile | None = None
    unit: CountedUnit = "people"
    calibrated_sums: tuple[CalibratedSum, ...] = ()

    @property
    def target(self) -> str:
        return self.schema.target.name

    @property
    def fitted_trees(self) -> tuple[Node, ...]:
        """Every tree that can route people: the model's, and alternatives that test no column with noise."""
        noisy = self.noisy_alternatives
        return (*self.trees, *(tree for name, tree in self.alternatives.items() if name not in noisy))

    @property
    def noisy_alternatives(self) -> dict[str, Node]:
        """The alternatives that test columns with noise, by name: trees for published records, not for people."""
        noisy = set(self.noise)
        return {name: tree for name, tree in self.alternatives.items() if columns_asked(tree) & noisy}

    def shows_exactly(self, column: str) -> bool:
        """Do the published records contain this column's cells unchanged?"""
        if self.records is None or column not in self.records.columns or column in self.noise:
            return False
        place = self.records.columns.index(column)
        return all(row[place] is None or isinstance(row[place], str | int | float) for row in self.records.rows)

    @property
    def predicts_numbers(self) -> bool:
        """Are its trees regression trees: does each leaf predict a number of the target, and none a label?"""
        return bool(self.trees) and self.schema.target.edges is not None and all(map(_are_numbers, self.trees))

    @property
    def decides_by_several_trees(self) -> bool:
        """Do shares or scores of several trees decide about a class together, so that their labels alone do not?"""
        return len(self.trees) > 1 and self.combine not in {"one", "vote"} and not self.predicts_numbers

    @property
    def discloses_numbers(self) -> bool:
        """Does some leaf predict a number of a numeric target?"""
        trees = (*self.trees, *self.alternatives.values())
        numeric = bool(trees) and self.schema.target.edges is not None
        return numeric and any("value" in tree_arrays(tree).statistics.numbers for tree in trees)

    @property
    def discloses_scores(self) -> bool:
        """Does some leaf have scores of the classes?"""
        trees = (*self.trees, *self.alternatives.values())
        return any("scores" in tree_arrays(tree).statistics.numbers for tree in trees)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The kinds of its claims."""
        return tuple(Claim.of(kind) for kind in self.guarantee)

    @property
    def claims_differential_privacy(self) -> bool:
        """Does it claim differential privacy of any kind?"""
        return covers_data(self.guarantee)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.schema.classes

    @property
    def approximate(self) -> bool:
        """Do its numbers only approximate shares of people: of a sample, of changed cells, or with noise on them?"""
        return self.count_semantics in {"sampled", "perturbed", "noisy"}

    def is_empty(self, leaf: Leaf) -> bool:
        """Does the release disclose that the leaf counts nobody?

        A leaf of nobody has neither shares nor an error rate, so it is recognised among leaves that have them.
        """
        if leaf.counts is not None:
            return not any(leaf.counts.values())
        bare = leaf.shares is None and leaf.error_rate is None and leaf.scores is None and leaf.value is None
        return bare and self.publish.leaves in {"shares", "error_rates"}


@dataclass(frozen=True)
class BuildResult:
    """What a builder returns: the release, and what its owner alone may know of it.

    No attack receives this and no published file contains it.

    Attributes:
        release: what is published, as the adversary sees it.
        origins: for each published record the row of the table that it was made from.
        trail: what the builder did and why, step by step, as JSON.
    """

    release: Release
    origins: tuple[int, ...] | None = field(default=None, repr=False)
    trail: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @staticmethod
    def of(built: Release | BuildResult) -> BuildResult:
        """The result of a builder that returned the release alone, or such a result itself."""
        return BuildResult(built) if isinstance(built, Release) else built


def _are_numbers(tree: Node) -> bool:
    """Does each leaf predict a number, and none a label?"""
    leaves = tree_arrays(tree).statistics
    return bool(leaves.publishes("value").all() and (leaves.label < 0).all())
