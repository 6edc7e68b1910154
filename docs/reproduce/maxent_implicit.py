"""The MaxEnt paper's statements about implicit information and about what it costs, held against this run."""

from __future__ import annotations

from collections.abc import Iterator

from leafgate.kernel.release import Level
from maxent_findings import MEASURES, Findings
from maxent_rows import CLEAR, NAMES, RATES, overall
from maxent_settings import Measure
from writing import Claim, fixed

TOLD: tuple[tuple[Level, str], ...] = ((RATES, "error rates"), ("counts", "counts"))
LABELS: Level = "labels"
LOWER = 0.3
"""KL1 is much smaller than KL2 if it is by this share, on average over the top 10."""


def implicit(found: Findings) -> Iterator[Claim]:
    """Figures 6, 7 and 8."""
    yield from (_overall(found, measure) for measure in MEASURES)
    yield from (_top(found, level, words) for level, words in TOLD)
    yield _averages(found)


def _overall(found: Findings, measure: Measure) -> Claim:
    without, within = (found.of(measure, RATES, internal=internal) for internal in (False, True))
    change = [each - without.overall[0] for each in within.overall]
    clearly = measure == "gini"
    holds = max(change) < -CLEAR if clearly else max(map(abs, change)) < CLEAR
    here = f"{fixed(without.overall[0], 3)} without, {overall(within)} with" + ("; it rises" if min(change) > 0 else "")
    paper = f"implicit information {'clearly' if clearly else 'hardly'} lowers D_overall for {NAMES[measure]}"
    return Claim(paper, here, "yes" if holds else "no")


def _top(found: Findings, level: Level, words: str) -> Claim:
    top = found.top("gain", level)
    assert all(each.kl1 < each.kl2 for each in top), "implicit information lowers nobody's divergence"
    lower = sum(1 - each.kl1 / each.kl2 for each in top) / len(top)
    here = (
        f"{words}: differences from {fixed(top[0].difference, 3)} to {fixed(top[-1].difference, 3)}, KL1 on average "
        f"{100 * lower:.0f} % below KL2"
    )
    paper = "information gain: KL1 is far below KL2 for the top 10; differences from 1.492 to 1.144"
    return Claim(paper, here, "yes" if lower > LOWER else "no")


def _averages(found: Findings) -> Claim:
    result, falls = [], True
    for level, words in TOLD:
        means = [each.difference for each in found.averages("gain", level)]
        falls &= means == sorted(means, reverse=True)
        result.append(
            f"{words}: {fixed(means[0], 3)} for K = 1, {fixed(means[6], 3)} for 100, {fixed(means[-1], 4)} for all"
        )
    return Claim("the average over the top K differences falls with K", "; ".join(result), "yes" if falls else "no")


def costs(found: Findings) -> Iterator[Claim]:
    """Figure 9, by what the processors did: it does not depend on who else uses the machine."""
    gini, gain = (found.of(measure, RATES, internal=True) for measure in MEASURES)
    longer, more = gain.worked > gini.worked, gain.megabytes > gini.megabytes
    here = f"{'longer' if longer else 'not longer'}, and {'more' if more else 'not more'} memory"
    paper = "information gain takes longer than gini, and more memory (2.5 against 1.2 GB)"
    yield Claim(paper, here, "yes" if longer and more else "no")
    bare, labels = (
        [found.of(measure, level, internal=internal).worked for measure in MEASURES]
        for level, internal in ((RATES, False), (LABELS, True))
    )
    both = (gini.worked, gain.worked)
    slower = all(mine > other for mine, other in zip(both, bare, strict=True))
    here = "without, there is a closed form"
    yield Claim("with implicit information it takes longer than without", here, "yes" if slower else "no")
    faster = all(mine < other for mine, other in zip(both, labels, strict=True))
    here = "labels alone make all values equally likely for everyone, and nothing has to be solved"
    yield Claim("with error rates it takes far less time than without", here, "yes" if faster else "no")
