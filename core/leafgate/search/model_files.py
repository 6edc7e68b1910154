"""What to do with a model's file that fails: labels alone on its leaves, larger leaves, fewer trees.

What a learner would make with larger leaves is tried on the given trees, cut back to such leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from leafgate.algorithms.pruned_release import Pruning, is_constant
from leafgate.algorithms.publication import at_level
from leafgate.engine.remedies.several_releases import SearchedRemedies, can_be_scrubbed
from leafgate.engine.remedies.static import has_own_command
from leafgate.io.release_codec import Provenance, SealedRelease
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.findings import REPAIR, REPAIR_CLAUSE, Remedy, scrub_command
from leafgate.kernel.release import RARE_CLASSES, Publish, Release, discloses_more
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, map_leaves
from leafgate.search.trials import Trial, Trials, is_constant_trial, ladder

LEAF_PARAMETERS = {
    "sklearn": ("min_samples_leaf", 1.0),
    "lightgbm": ("min_data_in_leaf", 1.0),
    "xgboost": ("min_child_weight", 0.25),
}
"""By library, the parameter that bounds a leaf from below, and what one person adds to it at most: XGBoost adds second
derivatives, which are at most a quarter for the logistic loss, so that a sum of 50 needs 200 people; twice as much for
several classes, and 1 for the squared error of numbers."""
MARGIN_STEPS = 2
"""By so many steps of the ladder leaves should be larger in training than those with which this model, cut back, keeps
the limits: a new model divides people otherwise."""
DRAWN_SHARE = 0.63
"""About this share of the people is drawn for each tree of a forest on bootstraps, one less 1/e."""
FEWER_TREES = (10, 5, 2, 1)
"""So many trees of a forest are kept in trials where leaves of no size do with all of them."""

NOT_TRIED = "A repair prunes each subtree by itself and fits anew, which was not tried here."


def nothing_found(tried: Sequence[str], *, of_file: bool = False) -> Iterator[Remedy]:
    """What to do where nothing that was tried keeps every limit; of a model's file its repair, which was not tried."""
    listed = f" Tried here without a useful result: {'; '.join(tried)}." if tried else ""
    if of_file:
        yield Remedy.running(REPAIR_CLAUSE, REPAIR, f". {NOT_TRIED}{listed}")
    elif tried:
        text = f"{listed.strip()} Gather more people, publish fewer columns, or try other settings."
        yield Remedy(action="none", text=text)


class GivenRelease(TreeBuilder):
    """Stands in for a builder: returns a release that was made in the search."""

    use: Literal["published"] = "published"
    public_algorithm = False

    _release: list[SealedRelease] = []  # noqa: RUF012  a pydantic private attribute

    @classmethod
    def of(cls, release: SealedRelease) -> GivenRelease:
        builder = cls()
        builder._release = [release]
        return builder

    def build(self, table: Table, rng: np.random.Generator) -> SealedRelease:
        return self._release[0]


@dataclass(frozen=True)
class _Variant:
    """A model that is tried in place of the audited one: with `labels` alone on its leaves, or its first `trees`."""

    release: Release
    labels: bool = False
    trees: int = 0

    @property
    def clause(self) -> str:
        """What differs, as the end of a clause."""
        return " and labels alone on them" if self.labels else f" in {self.trees} of its trees" if self.trees else ""


@dataclass(frozen=True, eq=False)
class _CutBack:
    """The leaves with which a variant keeps every limit: of `value` people or more; of `larger` in training.

    `whole` is the whole audit of the trees cut back to `value`, and `trained` an audit of those cut back to `larger`.
    """

    variant: _Variant
    value: int
    larger: int
    margin_steps: int
    held: str
    whole: Trial
    trained: Trial


@dataclass(frozen=True)
class ModelFileSearch:
    """The search for what to do with the file of a model, by trials on its trees."""

    trials: Trials

    @property
    def _counted(self) -> str:
        """What leaves count: rows where a column numbers the people, of whom each may have several."""
        return "people" if self.trials.table.person_rows is None else "rows"

    def searched(self) -> SearchedRemedies:
        """What to do with a model's file: write it anew with labels, cut it back, or train it with larger leaves."""
        assert self.trials.artifact is not None
        release = self.trials.artifact.release
        items = () if release.file is None else release.file.discloses
        of_file = any(each.is_of_file for each in self.trials.failed)
        if not release.trees or (of_file and any(item.kind == RARE_CLASSES for item in items)):
            return SearchedRemedies()  # other trees have the same classes
        if can_be_scrubbed(release) and not is_constant(_with_labels(release)):
            scrubbed = self._given(_with_labels(release))
            self.trials.tried.append("labels alone on the leaves")
            self.trials.tried_labels = True
            if self.trials.keeps(self.trials.trial(whole=False, **scrubbed)):
                whole = self.trials.trial(whole=True, **scrubbed)
                if whole is not None and self.trials.keeps(whole):
                    return SearchedRemedies((self._scrubbed(whole),), tried_labels=True)
                self.trials.note_broken(whole)
        return self._larger_leaves(release)

    def _scrubbed(self, whole: Trial) -> Remedy:
        """The command that leaves labels alone on the leaves, with which a whole audit keeps every limit."""
        return Remedy.running(
            "Write the model anew with labels alone on its leaves",
            scrub_command("labels"),
            f": then {self.trials.kept(whole)} holds.",
            details=self.trials.details(whole),
            tried=whole.report.verdict == "pass",
        )

    def _larger_leaves(self, release: Release) -> SearchedRemedies:
        """What cuts the model back, and the parameters of a learner whose model would be like it.

        Leaves so large that nothing is left of the trees are named last, as what they are.
        """
        found: list[_CutBack] = []
        for variant in self._variants(release):
            cut = self._cut_back(variant)
            found += [] if cut is None else [cut]
            if cut is not None and cut.margin_steps == MARGIN_STEPS:
                break
        useful = [cut for cut in found if not self.trials.predicts_nothing(cut.whole)]
        if useful:
            remedies = tuple(self._cut_or_retrained(useful, release))
            return SearchedRemedies(remedies, tried_labels=self.trials.tried_labels)
        others = list(nothing_found(self.trials.tried, of_file=release.file is not None))
        if found and is_constant_trial(found[0].whole):
            cut = found[0]
            text = (
                f"Leaves of at least {cut.value:,} {self._counted}{cut.variant.clause} keep "
                f"{self.trials.kept(cut.whole)}, but nothing is left of the trees then: they predict the same for "
                "everybody, which is of no use. A model that is trained with such leaves may be no better."
            )
            others.append(Remedy(action="advise", text=text, details=self.trials.details(cut.whole, of_cut=True)))
        return SearchedRemedies((), tuple(others), self.trials.tried_labels)

    def _cut_or_retrained(self, found: Sequence[_CutBack], release: Release) -> Iterator[Remedy]:
        """The repair of the model, or its training with such leaves as keep every limit; of a release file, advice."""
        best = max(found, key=lambda cut: cut.margin_steps)
        first = next((cut for cut in found if not cut.variant.trees), best)
        if release.file is None:  # a release file of leafgate, which a builder made
            text = f"Build the release again with larger groups. {first.held}."
            yield Remedy(action="advise", text=text, details=self.trials.details(first.whole, of_cut=True))
            return
        yield Remedy.running(REPAIR_CLAUSE, REPAIR, f". {NOT_TRIED}")
        parameter, most = self._leaf_parameter()
        with_margin = best.margin_steps > 0 or len(release.trees) == 1  # new forests are more unlike the given one
        useless = self.trials.leaves_base_rate(best.trained)
        if parameter and with_margin and best.larger <= self._largest_of_two() and not useless:
            yield self._retrained(best, parameter, most)

    def _variants(self, release: Release) -> Iterator[_Variant]:
        """The model, the same with labels alone on its leaves, and its first trees, the most first."""
        yield _Variant(release)
        if can_be_scrubbed(release):
            yield _Variant(_with_labels(release), labels=True)
        if release.combine in {"vote", "mean_per_tree"} and self._leaf_parameter()[0] == "min_samples_leaf":
            for count in FEWER_TREES:
                if count < len(release.trees):
                    yield _Variant(replace(release, trees=release.trees[:count]), trees=count)

    def _cut_back(self, variant: _Variant) -> _CutBack | None:
        """The least size of leaves with which a variant's trees keep every limit; None where none does."""
        values = ladder(1, self.trials.table.total_weight)
        if not values:
            return None
        self.trials.tried.append(f"leaves of up to {values[-1]:,} {self._counted}{variant.clause}")

        pruning = Pruning(variant.release, self.trials.table)

        def changes(value: int) -> dict[str, Any]:
            return self._given(pruning.cut_back(value))

        position = self.trials.smallest(values, lambda value: self.trials.trial(whole=False, **changes(value)))
        if position is None:
            return None
        value, below = values[position], values[position - 1] if position else 1
        whole = self.trials.trial(whole=True, **changes(value))
        if whole is None or not self.trials.keeps(whole):
            self.trials.note_broken(whole)
            return None
        held = (
            f"Cut back to leaves of at least {value:,} {self._counted}{variant.clause}, this model's trees keep "
            f"{self.trials.kept(whole)}"
        )
        larger = ladder(value, self._largest_of_two())[:MARGIN_STEPS]
        steps, trained = 0, whole
        for size in () if self.trials.predicts_nothing(whole) else larger:
            trial = self.trials.trial(whole=False, **changes(size))
            if trial is None or not self.trials.keeps(trial) or self.trials.leaves_base_rate(trial):
                break
            steps, trained = steps + 1, trial
        size = larger[steps - 1] if steps else value
        return _CutBack(variant, value, size, steps, held + self.trials.why_not(below, ""), whole, trained)

    def _largest_of_two(self) -> int:
        """The most people whom each of two leaves can have in training; with more no tree divides anybody."""
        drawn = self.trials.artifact is not None and self.trials.artifact.release.count_semantics == "bootstrap"
        return int(self.trials.table.total_weight * (DRAWN_SHARE if drawn else 1.0)) // 2

    def _retrained(self, cut: _CutBack, parameter: str, most: float) -> Remedy:
        """The parameters with which a learner makes such leaves."""
        trees = cut.variant.trees
        bounds = {parameter: max(round(cut.larger * most), 1)} | ({"n_estimators": trees} if trees else {})
        wanted = " and ".join(f"`{name}` {bound:,}" for name, bound in bounds.items())
        why = f" {cut.held}."
        if cut.larger > cut.value:
            why += f" {cut.value:,} would leave no margin, and a new model divides people otherwise."
        else:
            why += " That leaves no margin: a new model divides people otherwise, and may break a limit again."
        return Remedy.retraining(
            f"Train the model with {wanted}",
            bounds,
            f".{why}",
            afterwards=self._afterwards(cut),
            details=self.trials.details(cut.trained, of_cut=True),
        )

    def _afterwards(self, cut: _CutBack) -> tuple[str, ...]:
        """The command that changes the file of a model that is trained anew, if one has to.

        Such a file has the counts again that a limit on the file, or what the policy publishes, does not allow.
        """
        if cut.variant.labels:
            return scrub_command("labels")
        publish = self.trials.policy.publish
        of_file = any(each.fails and has_own_command(each) for each in self.trials.report.findings)
        return REPAIR if of_file or (publish is not None and discloses_more("counts", publish.leaves)) else ()

    def _leaf_parameter(self) -> tuple[str, float]:
        """The learner's parameter that bounds a leaf from below; empty where the learner is not known."""
        artifact = self.trials.artifact
        if artifact is None or artifact.provenance.learner is None:
            return "", 1.0
        library = artifact.provenance.learner.estimator.partition(".")[0]
        parameter, most = LEAF_PARAMETERS.get(library, ("", 1.0))
        if artifact.release.predicts_numbers:
            return parameter, 1.0
        return parameter, 2 * most if library == "xgboost" and len(artifact.release.classes) > 2 else most

    def _given(self, release: Release) -> dict[str, Any]:
        """The changes of the policy by which a release is audited that the search made."""
        learner = None if self.trials.artifact is None else self.trials.artifact.provenance.learner
        loaded = SealedRelease(release, provenance=Provenance(learner=learner))
        changes: dict[str, Any] = {"build": GivenRelease.of(loaded)}
        return changes


def _with_labels(release: Release) -> Release:
    """The release as a scrubbed file has it: labels on its leaves, and nothing else beside its tests."""
    file = None if release.file is None else replace(release.file, discloses=())

    def bare(tree: Node) -> Node:
        return map_leaves(
            tree, lambda leaf: replace(at_level(leaf, "labels"), counts=None, shares=None, error_rate=None)
        )

    trees = tuple(map(bare, release.trees))
    return replace(
        release,
        trees=trees,
        publish=Publish(leaves="labels", measure=False),
        selection=None,
        file=file,
        count_semantics="unknown",
    )
