"""The command `privacy`: the guarantee of a forest, or the parameters that satisfy a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.api import InvalidError
from leafgate.app import guarded, readable, write_file
from leafgate.io.files import EVERYONE

if TYPE_CHECKING:
    from leafgate_plugins.dp_random_trees.accounting import FeasibleParameters

app = typer.Typer()


class MethodName(StrEnum):
    """How it is accounted for."""

    theorem = "theorem"
    tight = "tight"


class NeighboursName(StrEnum):
    """How two tables differ that must look alike."""

    add_remove = "add_remove"
    replace_one = "replace_one"


def privacy(
    k: Annotated[str, typer.Option(help="Smaller counts are shown as 0; with --reach several, as 10,20,50.")],
    trees: Annotated[str, typer.Option(help="How many trees; with --reach several.")],
    beta: Annotated[float | None, typer.Option(help="The chance that a tree keeps a person.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="In nats, of all trees together.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of all trees together.")] = None,
    reach: Annotated[bool, typer.Option("--reach", help="The largest beta that keeps (epsilon, delta).")] = False,
    method: Annotated[MethodName, typer.Option(help="The printed theorem, or the tight account.")] = MethodName.tight,
    neighbours: Annotated[
        NeighboursName, typer.Option(help="Somebody more or less, or somebody else.")
    ] = NeighboursName.add_remove,
    out: Annotated[Path | None, typer.Option(help="With --reach: an SVG picture to write.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Say how private a forest of sampled, thresholded trees is. No data is looked at."""
    if reach:
        return _reach(_numbers(k, "--k"), _numbers(trees, "--trees"), epsilon, delta, neighbours, out, as_json)
    if beta is None or (epsilon is None) == (delta is None):
        raise InvalidError("give --beta, and --epsilon or --delta", place="privacy")
    from leafgate_plugins.dp_random_trees.accounting import Forest, at_delta, at_epsilon

    forest = Forest(_number(k, "--k"), beta, _number(trees, "--trees"))
    if delta is not None:
        found = at_delta(forest, delta, method.value, neighbours.value)
    else:
        found = at_epsilon(forest, float(epsilon or 0), method.value, neighbours.value)
    result = found.document()
    if as_json:
        typer.echo(readable(result).decode(), nl=False)
        return 0
    typer.echo(
        f"{found.trees} trees, k = {found.k}, beta = {found.beta:g}, {found.neighbours}, {found.method}: "
        f"epsilon = {found.epsilon:.4g} at delta = {found.delta:.3g}; no account can be below {found.epsilon_lower:.4g}"
    )
    return 0


def _reach(
    ks: list[int],
    trees: list[int],
    epsilon: float | None,
    delta: float | None,
    neighbours: NeighboursName,
    out: Path | None,
    as_json: bool,
) -> int:
    if epsilon is None or delta is None or not 0 < delta < 1 or epsilon <= 0:
        raise InvalidError("wants --epsilon above 0 and --delta between 0 and 1", place="--reach")
    from leafgate_plugins.dp_random_trees.accounting import feasible_parameters

    found = list(feasible_parameters(epsilon, delta, ks, trees, neighbours.value))
    title = f"largest beta for epsilon = {epsilon:g}, delta = {delta:g}"
    if out is not None:
        write_file(out, rate_plot(found, title), EVERYONE)
    if as_json:
        items = [{"k": one.k, "trees": one.trees, "beta": one.beta} for one in found]
        typer.echo(readable({"epsilon": epsilon, "delta": delta, "reached": items}).decode(), nl=False)
        return 0
    cells = {(one.k, one.trees): "-" if one.beta is None else f"{one.beta:.2f}" for one in found}
    typer.echo("\n".join(_table(title, ks, trees, cells)))
    return 0


def _table(title: str, ks: list[int], trees: list[int], cells: dict[tuple[int, int], str]) -> Iterator[str]:
    yield title
    yield "    k" + "".join(f"{f'{n} trees':>12}" for n in trees)
    for k in ks:
        yield f"{k:>5}" + "".join(f"{cells[k, n]:>12}" for n in trees)


def _numbers(words: str, place: str) -> list[int]:
    parts = [part.strip() for part in words.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise InvalidError("is no whole number, 1 or more, or a list of them", place=place, remedy="for example 20")
    return [int(part) for part in parts]


def _number(words: str, place: str) -> int:
    found = _numbers(words, place)
    if len(found) > 1:
        raise InvalidError("names several; that is for --reach", place=place)
    return found[0]


WIDTH = 640
"""Width of the picture, in SVG user units."""
HEIGHT = 400
"""Height of the picture, in SVG user units."""
LEFT = 64
"""Left margin: room for the labels of the sampling rates."""
RIGHT = 90
"""Right margin: room for the label of each line."""
TOP = 40
"""Top margin: room for the title."""
BOTTOM = 56
"""Bottom margin: room for the numbers of trees."""
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#6a1b9a", "#8a6d00", "#37474f")


def rate_plot(results: Sequence[FeasibleParameters], title: str) -> bytes:
    """One line for each k over the numbers of trees, which stand as far apart as their logarithms."""
    return "".join(f"{line}\n" for line in _drawn(results, title)).encode()


def _drawn(found: Sequence[FeasibleParameters], title: str) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">'
    yield "<style>text{font:13px system-ui,sans-serif;fill:#222}path{fill:none;stroke-width:2}</style>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/><title>{escape(title)}</title>'
    yield f'<text x="{LEFT}" y="22">{escape(title)}</text>'
    trees = sorted({one.trees for one in found})
    top = max((one.beta or 0 for one in found), default=0) * 1.1 or 1.0

    def x(n: int) -> float:
        span = math.log(trees[-1]) - math.log(trees[0]) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(n) - math.log(trees[0])) / span

    def y(beta: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * beta / top

    for n in trees:
        yield f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{n}</text>'
    for i in range(5):
        rate = top * i / 4
        yield f'<text x="{LEFT - 8}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:.2f}</text>'
        yield f'<path d="M{LEFT} {y(rate):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 14}" text-anchor="middle">trees</text>'
    for i, k in enumerate(sorted({one.k for one in found})):
        points = [(x(one.trees), y(one.beta)) for one in found if one.k == k and one.beta is not None]
        colour = COLOURS[i % len(COLOURS)]
        if points:
            line = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
            yield f'<path d="M{line}" stroke="{colour}"/>'
            yield from (f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points)
            yield f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}">k = {k}</text>'
    yield "</svg>"


app.command("privacy")(guarded(privacy))
