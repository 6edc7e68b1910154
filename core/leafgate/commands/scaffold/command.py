"""The commands init, schema and plugins new."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from leafgate.api import InvalidError


class Kind(Enum):
    """What a new plugin offers; no StrEnum, whose members hide `str.format`."""

    attack = "attack"
    metric = "metric"
    builder = "builder"
    format = "format"
    source = "source"
    reader = "reader"
    command = "command"


class Builder(Enum):
    """What builds the release of a first policy."""

    kadet = "kadet"
    id3 = "id3"
    c45 = "c45"
    dp_random_trees = "dp_random_trees"
    dp_laplace_trees = "dp_laplace_trees"


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    target: Annotated[str | None, typer.Option("--class", metavar="COLUMN", help="What is predicted.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line has names.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The policy file to write; default: stdout.")] = None,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="A fitted model, to audit that.")] = None,
    builder: Annotated[Builder | None, typer.Option(help="What grows the trees; default: kadet.")] = None,
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Of a CSV file; default: UTF-8.")] = None,
    harmless: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE", help="A value of the class that may be known of anybody; repeatable."),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(metavar="FILE", help="People who are not in the table: limit membership, too.")
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Others who are not in the table: a repair is chosen and measured by them."),
    ] = None,
) -> int:
    """Write a first policy for a table. Domains are filled in for you to check."""
    from leafgate.api.registry import load_plugins
    from leafgate.commands.scaffold.limits import PRIVATE
    from leafgate.commands.scaffold.policy import Files, first_policy
    from leafgate.console.output import print_document, say
    from leafgate.io.files import EVERYONE, write_file
    from leafgate.models.reader import witness_lines

    if builder is not None and model is not None:
        raise InvalidError(
            "a fitted model needs no builder", place="--builder", remedy="leave out --builder or --model"
        )
    use = "kadet" if builder is None else builder.value
    if use in PRIVATE and (harmless or control):
        place = "--harmless" if harmless else "--control"
        remedy = "leave it out: the promise of differential privacy is about every value and everybody"
        raise InvalidError(f"is no part of a policy for {use}", place=place, remedy=remedy)
    for place, file in (("--control", control), ("--test", test)):
        if file is not None and not file.is_file():
            raise InvalidError("there is no such file", place=place, remedy="name people who are not in the table")
    if out is not None and out.exists():
        raise InvalidError("is there already", place=str(out), remedy="name another file, or move that one away")
    folder = None if out is None else out.parent
    files = Files(data, model, folder, header, encoding, test, control)
    first = first_policy(files, target, use, harmless or ())
    text = first.text
    for note in first.notes:
        say(f"note: {note}", err=True)
    if out is None:
        print_document(text)
        return 0
    write_file(out, text.encode(), EVERYONE)
    beside = data.resolve().parent == out.resolve().parent
    root = "" if beside else f" --root {data.parent}"
    written = " --out DIR" if use in PRIVATE else ""
    for line in witness_lines(model, data, load_plugins().readers) if model is not None else ():
        say(line, err=True)
    if model is not None and not model.resolve().is_relative_to(out.resolve().parent):
        say(f"{out}: put {model} into the folder of this policy, or below: `build.path` is read from there", err=True)
    say(f"{out}: check the lines that say CHECK, then: leafgate audit {out}{root}{written}", err=True)
    return 0


def schema() -> int:
    """Print the JSON Schema of policies for editors (draft-07). It has every installed plugin's options."""
    from leafgate.api.registry import load_plugins
    from leafgate.commands.scaffold.json_schema import policy_schema
    from leafgate.console.output import print_document
    from leafgate.io.json import readable

    print_document(readable(policy_schema(load_plugins())))
    return 0


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The package's name.")],
    kind: Annotated[Kind | None, typer.Option(help="What it offers; an attack and a metric if left out.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write; NAME here if left out.")] = None,
) -> int:
    """Write a package with a plugin to start from, which passes its own tests."""
    from leafgate.api.registry import load_plugins
    from leafgate.commands.scaffold.plugin import newcomer, package
    from leafgate.io.files import EVERYONE, write_file

    plugin = newcomer(name, ("attack", "metric") if kind is None else (kind.value,), load_plugins())
    folder = Path(plugin.module) if out is None else out
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidError("is there already", place=str(folder), remedy="name another folder: --out")
    for path, content in package(plugin).items():
        write_file(folder / path, content, EVERYONE)
    typer.echo(f"{folder}: next, pip install -e '{folder}[dev]' and pytest {folder}")
    return 0
