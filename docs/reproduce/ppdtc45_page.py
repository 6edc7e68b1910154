"""The measured part of docs/measurements/ppdtc45-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from ppdtc45_claims import claims, means
from ppdtc45_parts import Estimate, Loss, Moved, Part
from ppdtc45_picture import curve
from ppdtc45_printed import FEW_COLUMNS, FEW_ROWS, LOSSES, PRINTED, TABLES
from ppdtc45_runs import Score
from ppdtc45_setting import LAWS
from ppdtc45_words import WORDS
from writing import fixed, section, table

DATA = tuple(LAWS)
OURS = ("deconvolved", "deconvolved, bounds unknown", "matched", "threshold, auto", "weighted")


@dataclass(frozen=True)
class Findings:
    """Everything that was measured."""

    scores: Sequence[Score]
    losses: Sequence[Loss]
    parts: Sequence[Part]
    thresholds: Sequence[Moved]
    estimates: Sequence[Estimate]


def lines(found: Findings, picture: str) -> Iterator[str]:
    draws = len({score.draw for score in found.scores})
    yield f"Means over {draws} draws of 10,000 rows and of the noise; in brackets the standard error of the mean.\n"
    result = claims(found.scores, found.estimates)
    rows = ((one.paper, one.here, one.reproduces) for one in result)
    yield from section("Claims", table(("claim", "here", "reproduces"), rows, "lll"))
    yield from section("On original numbers: the paper's ways and better ones", _beyond(found.scores))
    for number, ways in sorted(TABLES.items()):
        yield from section(f"Table {number}", _printed_table(found.scores, ways))
    yield from section("Table 1: privacy loss", _losses(found.losses))
    yield from section("Tables 2 and 3: parts of the rows, parts of the columns", _parts(found.parts))
    yield from section("Figures 1 and 2: the threshold", _figures(found.thresholds, picture))
    yield from section("Section 7.4: how long it takes", _seconds(found.scores))
    yield from section("What attacks make of the shared numbers", _estimates(found.estimates))


def _values(scores: Sequence[Score], name: str, way: str, test: str) -> list[float]:
    return [score.accuracy for score in scores if (score.data, score.way, score.test) == (name, way, test)]


def _mean(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{fixed(mean(values))} ({fixed(error)})"


def _beyond(scores: Sequence[Score]) -> Iterator[str]:
    ways = ("C4.5 on originals", "C4.5 on shared", "threshold", "random path", *OURS)
    rows = [[way, *(_mean(_values(scores, name, way, "original")) for name in DATA)] for way in ways]
    yield from table(("tree", *DATA), rows, "l" + "r" * 5)
    yield ""
    yield "How much of the way from C4.5 on shared numbers to C4.5 on originals each tree goes (%):\n"
    mine = means(scores)
    gaps = []
    for way in OURS:
        low, high = (
            [mine[name, each, "original"] for name in DATA] for each in ("C4.5 on shared", "C4.5 on originals")
        )
        here = [mine[name, way, "original"] for name in DATA]
        gaps.append([way, *(fixed(100 * (h - a) / (b - a), 0) for h, a, b in zip(here, low, high, strict=True))])
    yield from table(("tree", *DATA), gaps, "l" + "r" * 5)


def _printed_table(scores: Sequence[Score], ways: Sequence[str]) -> Iterator[str]:
    rows = []
    for way in ways:
        for test in ("reconstructed", "original", "shared"):
            if (way, test) in PRINTED:
                rows.append([f"{way}, {test} test", "printed", *(fixed(p) for p in PRINTED[way, test]), ""])
                here = [_mean(_values(scores, name, way, test)) for name in DATA]
                rows.append(["", "here", *here, WORDS.get((way, test), "")])
    yield from table(("", "", *DATA, "a word"), rows, "ll" + "r" * 5 + "l")


def _losses(losses: Sequence[Loss]) -> Iterator[str]:
    columns = list(dict.fromkeys(loss.column for loss in losses))
    rows = []
    for name in DATA:
        mine = {loss.column: loss.loss for loss in losses if loss.data == name}
        rows.append(
            [name, fixed(LOSSES[name], 4), fixed(mean(mine.values()), 4), *(fixed(mine[c], 3) for c in columns)]
        )
    yield from table(("", "printed", "mean here", *columns), rows, "l" + "r" * (2 + len(columns)))
    yield ""
    yield "The paper's values rest on a binning it does not state. Of a Gaussian column the loss would be"
    yield "1 - 1/sqrt(1 + SNR): .391, .341, .293 and .184. Nearly everybody's capital gain and loss is 0, so"
    yield "there is little to lose."


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    rows = []
    for few, printed in FEW_ROWS.items():
        here = [part.accuracy for part in parts if (part.rows, part.columns) == (few, "all")]
        rows.append([f"{few} rows, 10 groups", _spread(printed), _spread(here)])
    for (number, columns), accuracy in FEW_COLUMNS.items():
        here = [part.accuracy for part in parts if (part.rows, part.columns) == (number, str(columns))]
        rows.append([f"{number:,} rows, {columns} columns", fixed(accuracy), _spread(here)])
    yield from table(("C4.5 on originals of", "printed", "here"), rows, "lrr")
    yield ""
    yield "Which columns the paper took is not said; here are all subsets. Mean, least and most."


def _spread(values: Sequence[float]) -> str:
    return f"{fixed(mean(values))} ({fixed(min(values))} to {fixed(max(values))})"


def _figures(found: Sequence[Moved], picture: str) -> Iterator[str]:
    yield f"![Accuracy against the threshold]({picture})\n"
    rows = []
    for name in DATA:
        accuracies = curve(found, name)
        thetas = sorted({one.theta for one in found})
        best = max(range(len(thetas)), key=accuracies.__getitem__)
        at = {theta: accuracies[thetas.index(theta)] for theta in (0.3, 0.5)}
        rows.append([name, f"{thetas[best]:g}", fixed(accuracies[best]), fixed(at[0.3]), fixed(at[0.5])])
    yield from table(("", "best threshold", "accuracy there", "at 0.3", "at 0.5"), rows, "lrrrr")
    yield ""
    yield "The paper finds 0.3 good for Gaussian and 0.5 for uniform noise. Of which of its Gaussian data Figure 2 is,"
    yield "it does not say."


def _seconds(scores: Sequence[Score]) -> Iterator[str]:
    plain = {(s.data, s.draw): s.seconds for s in scores if s.way == "C4.5 on shared" and s.seconds}
    rows = []
    for way in ("C4.5 on BE", "matched", "deconvolved"):
        ratios = [s.seconds / (plain[s.data, s.draw] or 1) for s in scores if s.way == way and s.seconds]
        rows.append([way, f"{median(ratios):.1f}"])
    yield from table(("", "seconds over those of C4.5 on shared numbers (median)"), rows, "lr")
    yield ""
    yield "C4.5 on BE: the reconstruction alone, before any tree. The paper says BE takes three to five times as long"
    yield "as PPDTC4.5, which takes as long as C4.5. Matched is on top of the tree it moves."


def _estimates(found: Sequence[Estimate]) -> Iterator[str]:
    attacks = list(dict.fromkeys(one.attack for one in found))
    columns = list(dict.fromkeys(one.column for one in found))
    rows = []
    for name in DATA:
        for attack in attacks:
            mine = {one.column: one.rmse for one in found if (one.data, one.attack) == (name, attack)}
            cells = [fixed(mine[column], 3) for column in columns]
            rows.append([name, attack, *cells, fixed(mean(mine.values()), 3)])
    yield from table(("", "attack", *columns, "mean"), rows, "ll" + "r" * (len(columns) + 1))
    yield ""
    yield "Root mean square error over the column's standard deviation, of all 32,561 people: 1 is what the mean gives."
