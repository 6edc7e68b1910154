"""The command privacy: what a forest promises, or which forests keep a promise."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leafgate.console.exit_codes import guarded
from leafgate.errors import InvalidError
from leafgate.io.files import EVERYONE, write_file
from leafgate.io.json import readable

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
    k: Annotated[str, typer.Option(help="Counters below are shown as 0; with --reach several, as 10,20,50.")],
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
    """Say how private a forest of sampled, thresholded random trees is; no data is looked at."""
    if reach:
        return _reach(_numbers(k, "--k"), _numbers(trees, "--trees"), epsilon, delta, neighbours, out, as_json)
    if beta is None or (epsilon is None) == (delta is None):
        raise InvalidError("give --beta, and --epsilon or --delta", place="privacy")
    from leafgate_dp_random_trees.accounting import Forest, at_delta, at_epsilon

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
    from leafgate_dp_random_trees.accounting import reached
    from leafgate_dp_random_trees.plot import picture

    found = list(reached(epsilon, delta, ks, trees, neighbours.value))
    title = f"largest beta for epsilon = {epsilon:g}, delta = {delta:g}"
    if out is not None:
        write_file(out, picture(found, title), EVERYONE)
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


app.command("privacy")(guarded(privacy))
