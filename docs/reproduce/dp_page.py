"""The measured part of docs/measurements/dp-random-trees-results.md."""

from __future__ import annotations

from collections.abc import Iterator

from dp_account import DELTA, Epsilons, epsilon_of
from dp_claims import claims
from dp_data import FRONTIER, PAPER
from dp_findings import Findings
from dp_forests import BETAS, KS, Cell
from dp_page_frontier import frontier, most_trees
from dp_told import mean_with_error
from writing import count, fixed, section, table

TREES, BETA, PRIVATE_K = 32, 0.1, 20


def lines(found: Findings, frontier_picture: str, delta_picture: str) -> Iterator[str]:
    yield from section("Claim by claim", _claims(found))
    yield from section("Delta against epsilon: Table 5", _table5(found))
    yield f"![delta against epsilon]({delta_picture})\n"
    yield from section("Plain trees: Table A1", _plain(found))
    yield from section("Accuracy by depth and k: Table 6", _depths(found))
    yield from section("Accuracy by sampling rate: Table 7", _rates(found))
    yield from section("Accuracy at equal epsilon", most_trees(found))
    yield f"![accuracy against epsilon]({frontier_picture})\n"
    for name in FRONTIER:
        yield from section(name, frontier(found, name))
    yield from _without(found)


def _claims(found: Findings) -> Iterator[str]:
    rows = [(claim.paper, claim.here, claim.reproduces) for claim in claims(found)]
    return table(("The paper", "Here", "Reproduces"), rows, "lll")


def _table5(found: Findings) -> Iterator[str]:
    head = ("k", "beta", "trees", "least delta", "epsilon, theorem", "epsilon, tight")
    yield f"Epsilon of all trees together at delta {DELTA:g}; a dash where none is enough. Every delta: the CSV file.\n"
    yield from table(head, map(_row5, found.epsilons), "rrrrrr")
    yield ""
    yield "Delta at a total epsilon, k = 20, beta = 0.1 (theorem / tight):\n"
    rows = [each for each in found.deltas if (each.k, each.beta) == (20, BETA) and 0.5 <= each.epsilon <= 8]
    totals = list(dict.fromkeys(each.epsilon for each in rows))
    by = {(each.trees, each.epsilon): f"{each.theorem} / {each.tight}" for each in rows}
    counts = dict.fromkeys(each.trees for each in rows)
    lines = [(str(trees), *(by[trees, total] for total in totals)) for trees in counts]
    yield from table(("trees", *(f"epsilon {total:g}" for total in totals)), lines, "r" * (len(totals) + 1))


def _row5(e: Epsilons) -> tuple[str, ...]:
    return str(e.k), f"{e.beta:g}", str(e.trees), e.floor, fixed(e.theorem), fixed(e.tight, 3)


def _plain(found: Findings) -> Iterator[str]:
    head = ("data", "runs", "most frequent class", "C4.5")
    rows = [(p.data, str(p.runs), fixed(p.most, 3), mean_with_error(p.accuracy, p.accuracy_error)) for p in found.plain]
    return table(head, rows, "lrrr")


def _depths(found: Findings) -> Iterator[str]:
    yield f"{TREES} trees, beta = {BETA:g}; k = 0 are the random trees without sampling and without k.\n"
    yield from _same(found)
    for name in PAPER:
        yield f"{name}:\n"
        grid = [(depth, [found.cell(name, depth, TREES, k, BETA) for k in KS]) for depth in found.depths(name)]
        rows = [(str(depth), count(cells[0].runs), *map(_accuracy, cells)) for depth, cells in grid]
        yield from table(("depth", "runs", *(f"k = {k}" for k in KS)), rows, "r" * (len(KS) + 2))
        yield ""


def _same(found: Findings) -> Iterator[str]:
    plain, private, built_plain, built_private = (mean_with_error(mean.value, mean.error) for mean in found.same)
    yield (
        f"Held against the builders, on one split of Nursery, 8 trees of depth 3, 20 seeds: without k {plain} here and "
        f"{built_plain} by `random_trees`; with k = 20, beta = 0.1 {private} and {built_private}.\n"
    )


def _rates(found: Findings) -> Iterator[str]:
    ks = KS[1:]
    yield (
        f"{TREES} trees, at the depth where k = {PRIVATE_K} and beta = {BETA:g} are best; below, epsilon "
        f"at delta {DELTA:g}, tight, the same for all data.\n"
    )
    for name in PAPER:
        depth = found.best_depth(name, TREES, PRIVATE_K)
        yield f"{name}, depth {depth}:\n"
        rows = [(f"{beta:g}", *(_accuracy(found.cell(name, depth, TREES, k, beta)) for k in ks)) for beta in BETAS]
        yield from table(("beta", *(f"k = {k}" for k in ks)), rows, "r" * (len(ks) + 1))
        yield ""
    yield "Epsilon; a dash where no epsilon is enough:\n"
    rows = [(f"{beta:g}", *(fixed(epsilon_of(k, beta, TREES), 3) for k in ks)) for beta in BETAS]
    yield from table(("beta", *(f"k = {k}" for k in ks)), rows, "r" * (len(ks) + 1))


def _accuracy(cell: Cell) -> str:
    return mean_with_error(cell.accuracy, cell.accuracy_error)


def _without(found: Findings) -> Iterator[str]:
    for name in found.without:
        yield f"{name} was left out: no Python that has it was given.\n"
