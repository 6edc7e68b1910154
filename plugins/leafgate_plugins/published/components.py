"""`published`: audit a release file, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, get_args

from pydantic import Field, model_validator

from leafgate import api
from leafgate.kernel.findings import REPAIR, REPAIR_CLAUSE, scrub_command
from leafgate.kernel.options import PolicyFile
from leafgate.kernel.release import ADDED_UP, NOT_STATED, RARE_CLASSES, ModelReading, Severity
from leafgate.models.lowering.encoding import Encoding

if TYPE_CHECKING:
    import numpy as np

    from leafgate.io.release_codec import SealedRelease
    from leafgate.readers import ModelReader


SCRUBBED_LEAVES: Mapping[str, tuple[Severity, ...]] = {"counts": ("high",), "shares": ("medium",), "labels": ()}
"""What `leafgate scrub --leaves` leaves of a model's disclosures: their severities, most information first."""
SCRUBBED_SCORES: Mapping[str, tuple[Severity, ...]] = {"shares": ("low",)}
"""The same where the scores of the leaves add up, without which nobody could predict."""


CELLS = frozenset({"people_listed", "rare_numbers"})
"""Kinds of disclosures that `leafgate scrub --policy` takes out of any file without changing its leaves."""
CELLS_MENDED = "Write the model anew with other thresholds between the same people, and without values that few have"


OTHER_CLASSES = (
    "Every file of this model names its classes. Merge those that few people have, or leave these people out, and "
    "train it anew. If the list of classes exists without this table, say `domain: public` of the column."
)


def _question(release: api.Release, items: Sequence[api.FileDisclosure]) -> str:
    """What the owner is asked where a file lists values of a few people; empty where it does not."""
    says = [item.says for item in items if item.kind == "people_listed" and item.severity == "high"]
    texts = [column.name for column in release.schema.columns if column.values is not None]
    named = [name for name in texts if any(f"{name!r}" in each for each in says)]
    if not named:
        return ""
    columns = " or ".join(map(repr, named))
    return (
        f"Does the list of values of {columns} exist without this table, as a list of countries does? Then say "
        "`domain: public` of that column in the policy, and `leafgate scrub` writes the whole list."
    )


class TrainedBy(api.Strict):
    """What of a model's training its file does not record."""

    subsample: float = Field(
        1.0, gt=0, le=1, description="Each tree was grown on this share of the table's people, drawn at random."
    )
    weighted: bool = Field(
        False, description="People had weights that the file does not record: only numbers of people are compared."
    )
    complete_rows: bool = Field(
        False,
        description="Nobody with a missing cell was in the training: limits are judged without the people whom "
        "`on_missing: drop` leaves out.",
    )
    estimator: str | None = Field(
        None,
        description="The class that was fitted, such as `sklearn.ensemble.RandomForestClassifier`, for attacks that "
        "train models; by default what the file names.",
    )
    parameters: dict[str, str | int | float | bool | None] = Field(
        {}, description="Parameters of `estimator`; the others are as the file says, or have their defaults."
    )

    best_iteration: int | None = Field(
        None,
        ge=0,
        description="XGBoost's last round that predicts, from 0, where the file holds later ones.",
    )

    @model_validator(mode="after")
    def _whose_parameters(self) -> Self:
        if self.parameters and self.estimator is None:
            raise ValueError("`parameters` are those of an `estimator`; name it")
        return self


class Published(api.TreeBuilder):
    """Read a release from a file instead of growing one; its bytes are audited as they are."""

    use: Literal["published"] = "published"
    path: PolicyFile = Field(description="The release file or model file, in the policy's folder or below.")

    origins: api.OwnersFile | None = Field(
        None,
        description="Whose its records are: the `origins.json` that an audit for auditors left beside the release.",
    )

    witness: api.OwnersFile | None = Field(
        None, description="Of a model: rows of the table's columns with the model's own answers beside them."
    )

    encoding: dict[str, Encoding] = Field(
        {}, description="Of a model: what its features are, by name, where neither its file nor the names show it."
    )

    trained_by: TrainedBy | None = Field(
        None,
        description="What the model's file does not record about its training; `complete_rows` of any file.",
    )

    counts_persons = True
    policy_example = "path: release.json"
    audited_option = "path"
    public_algorithm = False

    threat_model = "Whatever the file claims is checked; nothing in it is trusted."
    formula = "the release is the file; of a fitted model what its trees say over the policy's columns"
    source = "the formats of release files and model files: docs/reference/model-files.md"

    @property
    def witness_file(self) -> Path | None:
        return self.witness

    @property
    def wants_readers(self) -> bool:
        return True

    def build(
        self,
        table: api.Table,
        rng: np.random.Generator,
        readers: Sequence[ModelReader] | None = None,
        *,
        ask_library: bool = False,
    ) -> SealedRelease:
        loaded = self._loaded(table.schema, table.total_weight, readers, table if ask_library else None)
        if self.origins is None:
            return loaded
        from leafgate.models.origins import with_origins

        return with_origins(loaded, self.origins, table)

    def builds_large(self, schema: api.Schema) -> bool:
        """Where no published record has to be found among the people."""
        return self.origins is None

    def build_large(
        self,
        table: api.LargeTable,
        rng: np.random.Generator,
        readers: Sequence[ModelReader] | None = None,
        *,
        ask_library: bool = False,
    ) -> SealedRelease:
        if ask_library:
            what = "the library that wrote the file is not asked about a table that does not fit into memory"
            raise api.InconclusiveError(what, place="--witness-library", remedy="name a witness")
        return self._loaded(table.schema, table.total_weight, readers)

    def _loaded(
        self,
        schema: api.Schema,
        people: int,
        readers: Sequence[ModelReader] | None,
        asked_about: api.Table | None = None,
    ) -> SealedRelease:
        from leafgate.app import load_release

        answered = self.witness is not None or (
            self.trained_by is not None and self.trained_by.best_iteration is not None
        )
        loaded = load_release(self.path, schema, self.encoding, people, readers, asked_about, later_trees=answered)
        return loaded if self.trained_by is None else self._trained(loaded, self.trained_by)

    def _trained(self, loaded: SealedRelease, how: TrainedBy) -> SealedRelease:
        """The release, its file's numbers to be held against a part of the table, or against weights."""
        if how == TrainedBy(complete_rows=True):  # which can be said of any release
            return replace(loaded, provenance=replace(loaded.provenance, complete_rows=True))
        if loaded.provenance.node_numbers is None:
            raise api.ReleaseError(
                "is no file of a fitted model, so nothing is to be said of its training",
                place=self.path.name,
                remedy="remove `build: {trained_by: ...}`",
            )
        numbers = replace(loaded.provenance.node_numbers, subsample=how.subsample, weighted=how.weighted)
        learner = _learner(loaded.provenance.learner, how)
        reading = loaded.provenance.reading
        if how.best_iteration is not None:
            reading = _confirmed(reading, how.best_iteration, self.path.name)
        provenance = replace(
            loaded.provenance,
            node_numbers=numbers,
            learner=learner,
            complete_rows=how.complete_rows,
            reading=reading,
        )
        return replace(loaded, provenance=provenance)


def _confirmed(reading: ModelReading | None, best: int, place: str) -> ModelReading:
    """The reading of a file that was stopped early, whose best round the policy confirms."""
    from leafgate.ir.validate import best_iteration_key  # which loads NumPy

    key = best_iteration_key(best)
    if reading is None or key not in reading.unknown:
        raise api.ReleaseError(
            "does not name this round as its best, before others",
            place=f"{place}, build.trained_by.best_iteration",
            remedy="give the file's own `best_iteration`, or save booster[:best_iteration + 1]",
        )
    return replace(reading, unknown=tuple(each for each in reading.unknown if each != key))


def _learner(of_file: api.Learner | None, how: TrainedBy) -> api.Learner | None:
    """The estimator that the policy names, with what the file of the model says of it besides."""
    if how.estimator is None or of_file is None:
        return of_file if how.estimator is None else api.Learner(how.estimator, how.parameters)
    same = how.estimator == of_file.estimator
    return api.Learner(how.estimator, {**(of_file.parameters if same else {}), **how.parameters}, of_file.encoding)


class FileDisclosure(api.ReleaseAtMost):
    """The number of things that a model's file discloses beyond its predictions, of this severity or a worse one."""

    use: Literal["file_disclosure"] = "file_disclosure"
    severity: Severity = Field(
        "high", description="`low`: everything; `high`: only what is about small groups and single people."
    )

    counts_persons = True
    policy_example = "at_most: 0"
    public = "number"
    threat_model = "The adversary reads the file itself, not only what it predicts."
    plain_failure = "the model's file discloses more than it may"
    formula = (
        "number of things the file discloses with this severity or a worse one; 0 where no file of a model is audited"
    )
    source = "formats and libraries, read as they write: docs/reference/model-files.md"

    def score(self, case: api.ScoringContext) -> api.Score:
        order = get_args(Severity)
        file = case.release.file
        items = () if file is None else file.discloses
        if NOT_STATED in items:
            raise api.InconclusiveError(
                "the reader of the file's format does not state what it discloses besides predictions"
            )
        unknown = [item.says for item in items if item.kind == NOT_STATED.kind]
        known = (item for item in items if item.kind != NOT_STATED.kind)
        counted = [item for item in known if order.index(item.severity) >= order.index(self.severity)]
        if unknown and self.holds(len(counted)):
            raise api.InconclusiveError(f"the file holds {unknown[0]}")
        if file is None or self.holds(len(counted)):
            return api.Score(float(len(counted)))
        listed = [item.described() for item in sorted(counted, key=lambda item: -order.index(item.severity))]
        remedy = self._remedy(case.release, items)
        question = _question(case.release, counted)
        remedies = [remedy] if not question else [remedy, api.Remedy(action="advise", text=question)]
        return api.Score(float(len(counted)), evidence={"discloses": listed}, remedy=remedies)

    def _remedy(self, release: api.Release, items: Sequence[api.FileDisclosure]) -> api.Remedy:
        """The command that writes a file which keeps the limit, with as much on its leaves as the limit allows.

        Where a file that was scrubbed to shares discloses counts all the same, shares do not do. A forest's file is
        repaired: labels of its trees predict otherwise than their shares, and rounded shares often do. Where cells of a
        few people are all that is too much, it is scrubbed, which changes no leaf.
        """
        order = get_args(Severity)
        counted = {item.kind for item in items if order.index(item.severity) >= order.index(self.severity)}
        if RARE_CLASSES in counted:
            return api.Remedy(action="advise", text=OTHER_CLASSES)
        if counted <= CELLS and release.decides_by_several_trees:
            leaves = "labels" if release.predicts_numbers or release.publish.leaves == "labels" else "shares"
            return api.Remedy.running(CELLS_MENDED, scrub_command(leaves), brief=True)
        if release.predicts_numbers:
            if not self.holds(int(self.severity == "low")):  # without the numbers of its leaves nobody could predict
                text = "No file of this model discloses so little: train one that predicts labels, or publish no file."
                return api.Remedy(action="advise", text=text)
            numbers = ". It has the numbers that it predicts by and no others, means rounded."
            return api.Remedy.running(REPAIR_CLAUSE, REPAIR, numbers, brief=True)
        if release.decides_by_several_trees:
            why = (
                "Its trees decide together, so `leafgate scrub` seldom writes a file that predicts the same and passes."
            )
            return api.Remedy.running(REPAIR_CLAUSE, REPAIR, f". {why}", brief=True)
        left = SCRUBBED_SCORES if release.combine in ADDED_UP else SCRUBBED_LEAVES
        disclosing = {"ratios", "scores_betray_counts", "scores_may_betray_counts"}
        high = {item.kind for item in items if item.severity == "high"}
        for leaves, severities in left.items():
            kept = sum(order.index(severity) >= order.index(self.severity) for severity in severities)
            rounds = leaves == "shares" and release.combine == "vote"  # rounded shares may change a tree's vote
            if not self.holds(kept) or rounds or (leaves == "shares" and disclosing & high):
                continue
            also = " (labels where the policy publishes no more)" if leaves != "labels" and "labels" in left else ""
            what = f"Write the model anew with {leaves} on its leaves{also}"
            return api.Remedy.running(what, scrub_command(leaves), brief=True)
        what = f"No scrubbed file of this model discloses so little. {REPAIR_CLAUSE}"
        return api.Remedy.running(what, REPAIR, brief=True)
