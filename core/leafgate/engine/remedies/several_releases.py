"""What to do where several releases together break a limit that each may keep alone, in the order of what helps.

The order was measured (docs/how-to/nightly-retraining.md); a remedy counts as tried only where a search tried it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leafgate.engine.remedies.static import raised_options
from leafgate.kernel.findings import Remedy, scrub_command
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Release


@dataclass(frozen=True)
class SearchedRemedies:
    """What a search has to say.

    Attributes:
        useful: changes that keep every limit, of releases that predict something.
        others: that nothing useful was found, or which constants keep every limit.
        tried_labels: whether labels alone on the leaves were among what was tried.
    """

    useful: tuple[Remedy, ...] = ()
    others: tuple[Remedy, ...] = ()
    tried_labels: bool = False

    @property
    def listed(self) -> tuple[Remedy, ...]:
        """All of them, the best first."""
        return (*self.useful, *self.others)


def can_be_scrubbed(release: Release) -> bool:
    """Can its file be written anew with labels alone, and does it disclose more now?"""
    labels = release.combine in {"one", "vote"} and not release.predicts_numbers
    return labels and release.file is not None and release.publish.leaves != "labels"


def about_several_releases(
    policy: Policy, release: Release | None, searched: SearchedRemedies | None = None
) -> Iterator[Remedy]:
    """What to do where several releases together break a limit that each may keep alone, in the order of what helps.

    Args:
        policy: that names the other releases.
        release: the one that is audited.
        searched: what a search found, which takes its place in the order; None where nothing was tried.
    """
    useful, others = ([], []) if searched is None else (searched.useful, searched.others)
    labels = [remedy for remedy in useful if _is_labels_alone(remedy)]
    commands = [remedy for remedy in others if remedy.action == "run"]
    if labels:
        yield from labels
    elif searched is not None and searched.tried_labels:
        yield Remedy(action="advise", text=LABELS_IN_VAIN)
    else:
        yield from _labels_alone(policy, release)
    yield Remedy(action="advise", text=LARGER_BATCH)
    yield from (remedy for remedy in (*useful, *commands) if remedy not in labels)
    yield _fewer_leaves(policy)
    yield Remedy(action="advise", text=SAME_PEOPLE)
    if release is None or not release.claims_differential_privacy:
        yield Remedy(action="advise", text=PRIVATE_FOREST)
    yield from (remedy for remedy in others if remedy not in commands)


BESIDE = "What is out already cannot be taken back, so publish labels alone on the leaves beside it"
LABELS_IN_VAIN = (
    "What is out cannot be taken back. Labels alone were tried here and were not enough: combine them with what "
    "follows."
)
LARGER_BATCH = (
    "Wait with the next release until the batch is large enough, so that several people have come or gone in each "
    "leaf (`people_to_come_per_leaf` in the evidence for auditors says how many): the difference of two releases "
    "then counts fewer of them alone."
)
SAME_PEOPLE = (
    "Learn the next release from the same people as the last one: a tree that is published twice proves nothing more."
)
PRIVATE_FOREST = (
    "Publish a private forest (`build: {use: dp_random_trees}`) with a total epsilon for all releases of a year, "
    "chosen without the data, and limit that by `differential_privacy`: limits on what releases prove are "
    "inconclusive for its noisy numbers."
)


def _is_labels_alone(remedy: Remedy) -> bool:
    return remedy.place == "publish.leaves" or remedy.command == scrub_command("labels")


def _labels_alone(policy: Policy, release: Release | None) -> Iterator[Remedy]:
    """To publish labels alone, as far as that is possible and was not done; nothing was tried."""
    if release is None or release.publish.leaves == "labels" or release.predicts_numbers:
        return
    least = "Labels disclose less than shares and counts, and may still not be enough."
    if release.file is not None:
        if can_be_scrubbed(release):
            yield Remedy.running(BESIDE, scrub_command("labels"), f". {least}")
    elif policy.build.use == "published":
        yield Remedy(action="advise", text=f"{BESIDE}, and build the release again for that. {least}")
    else:
        text = f"{BESIDE} (`publish.leaves: labels`). {least}"
        yield Remedy(action="set", text=text, place="publish.leaves", value="labels")


def _fewer_leaves(policy: Policy) -> Remedy:
    """Fewer leaves and rounded shares, which help only together."""
    options = " and ".join(f"`build.{name}`" for name in raised_options(policy))
    raised = f" (raise {options})" if options else ""
    text = (
        f"Grow fewer leaves{raised} and round shares so that one person moves none, in steps of at least 2 / (people "
        "in the smallest leaf): either alone is often not enough."
    )
    return Remedy(action="advise", text=text)
