"""The measured part of docs/measurements/maxent-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator

from leafgate.kernel.release import Level
from maxent_claims import claims
from maxent_findings import MEASURES, Findings
from maxent_kadet_page import against_kadet
from maxent_knowledge import FACTS, LEVELS
from maxent_rows import NAMES, RATES, missed_linear, overall
from maxent_runs import Attacked
from writing import count, fixed, section, signed, table, yes

TOLD: tuple[Level, ...] = (RATES, "counts")
LEVEL_NAMES = {"labels": "labels", "error_rates": "error rates", "counts": "counts"}


def lines(found: Findings, picture: str, knowledge: str) -> Iterator[str]:
    yield from section("Claim by claim", _claims(found))
    yield f"![D_overall, average differences, time and memory]({picture})\n"
    yield from section("D_overall: Figures 3, 4 and 6", _divergences(found))
    yield from section("Constraints, and how sure the optimum is", _certainty(found))
    for level in TOLD:
        yield from section(f"The top 10 with {LEVEL_NAMES[level]}: Figure 7", _top(found, level))
    yield from section("The average of the top K differences: Figure 8", _averages(found))
    yield from section("Time and memory: Figure 9", _costs(found))
    yield from section("Does 50-anonymity help against MaxEnt?", against_kadet(found.holds))
    yield from section("The knowledge curve: people", _people(found))
    yield f"![Risk against what is known already]({knowledge})\n"
    yield from section("The knowledge curve: facts", _facts(found))


def _claims(found: Findings) -> Iterator[str]:
    rows = [(claim.paper, claim.here, claim.reproduces) for claim in claims(found)]
    return table(("The paper (section 5)", "Here", "Reproduces"), rows, "lll")


def _named(each: Attacked) -> tuple[str, str, str]:
    wanted = each.wanted
    told = LEVEL_NAMES[wanted.level] + (", accuracies known" if wanted.label_accuracies else "")
    return f"{NAMES[wanted.measure]}, {each.tree.leaves:,} leaves", told, yes(wanted.internal)


def _divergences(found: Findings) -> Iterator[str]:
    rows = [(*_named(each), overall(each), count(each.floored[0])) for each in found.attacks]
    return table(("tree", "leaves tell", "choices used", "D_overall", "floored cells"), rows, "lllrr")


def _certainty(found: Findings) -> Iterator[str]:
    head: tuple[str, ...] = (
        "tree",
        "leaves tell",
        "internal",
        "imposed",
        "bind",
        "labels imposed",
        "entropy",
        "at most",
        "gap",
    )
    head = (*head, "starts", "apart by", "worst linear", "worst internal")
    rows = [
        (
            *_named(each)[:2],
            count(each.tree.internal),
            count(each.imposed.get("internal", 0)),
            count(each.binding),
            count(each.imposed.get("label", 0)),
            fixed(each.entropy, 6),
            fixed(each.bound, 6),
            f"{each.gap:.1e}",
            "convex" if each.convex else str(len(each.found)),
            "-" if each.convex else f"{each.spread:.1e}",
            f"{missed_linear(each):.0e}",
            f"{each.missed.get('internal', 0):.0e}",
        )
        for each in found.attacks
        if each.wanted.internal
    ]
    return table(head, rows, "ll" + "r" * (len(head) - 2))


def _top(found: Findings, level: Level) -> Iterator[str]:
    head = ("rank", "difference", "KL1, with", "KL2, without", "KL1 at all optima", "people")
    for measure in MEASURES[::-1]:
        yield f"By {NAMES[measure]}:\n"
        rows = [
            (
                str(top.rank),
                *(fixed(number, 3) for number in (top.difference, top.kl1, top.kl2)),
                f"{fixed(top.lowest, 3)} to {fixed(top.highest, 3)}" if top.lowest < top.highest else "the same",
                count(top.people),
            )
            for top in found.top(measure, level)
        ]
        yield from table(head, rows, "rrrrrr")
        yield ""


def _averages(found: Findings) -> Iterator[str]:
    kinds = [(measure, level) for level in TOLD for measure in MEASURES]
    columns = [found.averages(measure, level) for measure, level in kinds]
    head = ("K", *(f"{NAMES[measure]}, {LEVEL_NAMES[level]}" for measure, level in kinds))
    rows = [(count(row[0].k), *(fixed(each.difference, 4) for each in row)) for row in zip(*columns, strict=True)]
    return table(head, rows, "rrrrr")


def _costs(found: Findings) -> Iterator[str]:
    rows = [
        (*_named(each), fixed(each.seconds), fixed(each.worked), count(round(each.megabytes))) for each in found.attacks
    ]
    return table(("tree", "leaves tell", "choices used", "seconds", "processor seconds", "MB at most"), rows, "lllrrr")


def _people(found: Findings) -> Iterator[str]:
    names = list(dict.fromkeys(each.released for each in found.people))
    head = ("known %", *(f"{what}, {name}" for name in names for what in ("D_overall", "exposed %", "confidence %")))
    shares = dict.fromkeys(each.known for each in found.people)
    point = {(each.released, each.known): each for each in found.people}
    rows = [
        (
            f"{100 * share:g}",
            *(
                fixed(value, decimals)
                for name in names
                for value, decimals in (
                    (point[name, share].divergence, 4),
                    (point[name, share].exposed, 2),
                    (point[name, share].confidence, 1),
                )
            ),
        )
        for share in shares
    ]
    return table(head, rows, "r" * len(head))


def _facts(found: Findings) -> Iterator[str]:
    point = {(each.released, int(each.known)): each.divergence for each in found.facts}
    rows = [
        (
            words,
            *(
                f"{fixed(point[level, i], 4)} ({signed(100 * (point[level, i] / point[level, 0] - 1))} %)"
                for level in LEVELS
            ),
        )
        for i, words in enumerate(("no fact", *(f"and: {fact}" for fact in FACTS)))
    ]
    return table(("known", *(f"D_overall, {LEVEL_NAMES[level]}" for level in LEVELS)), rows, "lrrr")
