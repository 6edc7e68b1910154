"""The commands convert and scrub: neutral files of models that other libraries fitted."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.app import DataRoot, guarded

if TYPE_CHECKING:
    from leafgate_convert.rare_cells import MergedModel, TableOfPolicy

app = typer.Typer()


class ScrubLevel(StrEnum):
    """What the leaves of a scrubbed file may disclose."""

    labels = "labels"
    shares = "shares"
    counts = "counts"


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model's file.")]
WitnessFile = Annotated[
    Path | None,
    typer.Option(metavar="ANSWERS", help="CSV of rows that the model was given, with its own answers beside them."),
]
NewFile = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


def convert(
    model: ModelFile,
    out: NewFile,
    trust: Annotated[
        bool, typer.Option("--trust", help="Open a pickle, which runs what it holds: for its owner, where it was made.")
    ] = False,
    witness: WitnessFile = None,
) -> int:
    """Write a model's trees as a neutral file, leafgate/model/1, or in the format of OUT's ending (.onnx, .skops).

    A pickle or joblib file only with --trust. With --witness both files answer as the model itself, or none is written.
    """
    from leafgate.app import (
        OWNER_ONLY,
        load_plugins,
        make_folder,
        model_as_file,
        model_bytes,
        read_foreign,
        read_model,
        refuse_same,
        say,
        writable_suffixes,
        write_file,
    )
    from leafgate_convert.neutral import written
    from leafgate_convert.pickles import opened, refused
    from leafgate_convert.witness import rows_answered

    refuse_same(model, out)
    make_folder(out.parent)
    readers = load_plugins().readers
    read = read_model(model, readers, opened if trust else refused)
    others = tuple(ending for ending in writable_suffixes(readers) if ending != ".json")
    if out.name.lower().endswith(others):
        content = model_as_file(read, model_bytes(model), out.name, readers)
    else:
        content = written(read)
    new = read_foreign(content, out.name, readers)
    rows = rows_answered((read, new), witness, model.name)
    write_file(out, content, OWNER_ONLY)
    say(f"{out}: {len(read.trees)} tree(s) of {read.producer or read.format}; it discloses {read.level}")
    same = "; so does the new file" if witness is not None else ""
    say(f"  {_compared(model, witness, rows)}{same}")
    return 0


def _compared(model: Path, witness: Path | None, rows: int) -> str:
    """With whose answers the reading was compared."""
    if witness is not None:
        return f"what was read of {model.name} answers as {witness.name} on all {rows:,} rows that it has answers for"
    return f"compared with no answers of the model itself: name some by --witness, or audit {model.name}"


def scrub(
    model: ModelFile,
    out: NewFile,
    leaves: Annotated[ScrubLevel, typer.Option(help="What the leaves may still disclose.")],
    policy: Annotated[
        Path | None, typer.Option(metavar="POLICY", help="A policy with the data that predictions are compared on.")
    ] = None,
    root: DataRoot = None,
    digits: Annotated[
        int | None, typer.Option(min=1, max=3, help="How many digits shares have, 2 when left out.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Shares are multiples of it, such as 0.05, in place of --digits."),
    ] = None,
    witness: WitnessFile = None,
) -> int:
    """Write a neutral file that discloses only what is chosen. Its predictions are compared on points.

    With --witness what is read of MODEL answers as the model itself, or nothing is written.
    """
    from leafgate.api import printable_name
    from leafgate.app import (
        EVERYONE,
        load_plugins,
        make_folder,
        open_session,
        read_model,
        refuse_same,
        say,
        write_file,
    )
    from leafgate_convert.equivalence import on_data, unproved, with_unproved
    from leafgate_convert.neutral import written
    from leafgate_convert.rare_cells import (
        MergedModel,
        TableOfPolicy,
        complete_public_lists,
        merge_rare_values,
        move_rare_thresholds,
    )
    from leafgate_convert.scrub import compare_on_random_points, minimise, refuse_different, shares_changed
    from leafgate_convert.witness import rows_answered

    units = _units(digits, step)
    refuse_same(model, out)
    make_folder(out.parent)
    session = None if policy is None else open_session(policy, None, root)
    plugins = load_plugins() if session is None else session.plugins
    whole = read_model(model, plugins.readers)
    rows = rows_answered((whole,), witness, model.name)
    less, merged = minimise(whole, leaves.value, model.name, units), MergedModel(whole)
    people = None if session is None else TableOfPolicy.of(session, model.name)
    if people is not None and leaves.value != "counts":  # counts of leaves are those of the people who were sent there
        merged = merge_rare_values(whole, less, people)
        less = minimise(merged.model, leaves.value, model.name, units) if merged.columns else less
    proofs = [("random points", compare_on_random_points(merged.model, less, seed=0))]
    if people is not None:
        less = move_rare_thresholds(complete_public_lists(less, people), people)
        proofs.append(("records of the table", on_data(whole, less, people, merged)))
    refuse_different(proofs, leaves.value, model.name, units)
    less = with_unproved(whole, less) if session is None else less
    write_file(out, written(less), EVERYONE)
    same = " and ".join(f"{'all' if proof.of_people else f'{proof.points:,}'} {where}" for where, proof in proofs)
    change = shares_changed(whole, leaves.value, units)
    say(
        f"{out}: discloses {less.level} on its leaves{change}; predicts the same as what was read of {model.name} on "
        f"{same}{_but_for(merged, people)}"
    )
    say(f"  {_compared(model, witness, rows)}")
    if names := unproved(less):
        result = ", ".join(repr(printable_name(name)) for name in names)[:200]
        say(
            f"no table has shown what is {result}: audits ask for their `encoding`; scrubbed with --policy, they do not"
        )
    return 0


def _but_for(merged: MergedModel, people: TableOfPolicy | None) -> str:
    """Of whom a scrubbed model predicts something else, in words that disclose neither a cell nor how many they are."""
    if people is None or not merged.changed:
        return ""
    columns = " or ".join(map(repr, merged.changed))
    few = people.smallest_cell
    return f" but for predictions of some people with a value of {columns} that fewer than {few} people have"


def _units(digits: int | None, step: float | None) -> int:
    """The number of units of 1 that shares are rounded to: 100 for two digits, 20 for steps of .05.

    Raises PolicyError where both are given, or where units of the step do not make up 1.
    """
    from leafgate.api import PolicyError
    from leafgate_convert.rounding import FEWEST_UNITS, MOST_UNITS, UNITS

    if step is None:
        return UNITS if digits is None else 10**digits
    if digits is not None:
        raise PolicyError("says how shares are rounded, and --digits says it too", place="--step", remedy="give one")
    units = round(1 / step) if 1 / (2 * MOST_UNITS) < step < 1 else 0
    if not FEWEST_UNITS <= units <= MOST_UNITS or not math.isclose(units * step, 1, rel_tol=1e-9):
        raise PolicyError(
            f"{step:g} is no step of shares: 1 must be a multiple of it, from {FEWEST_UNITS} to {MOST_UNITS} times",
            place="--step",
            remedy="--step 0.05",
        )
    return units


app.command("convert")(guarded(convert))
app.command("scrub")(guarded(scrub))
