"""The commands convert and scrub: neutral files of models that other libraries fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.api import PolicyError, ReleaseError
from leafgate.commands.convert.prediction import refuse_script, write_script
from leafgate.console.options import DataRoot
from leafgate.io.files import EVERYONE, OWNER_ONLY, make_folder, refuse_same, write_file

if TYPE_CHECKING:
    from leafgate.commands.convert import rare_cells
    from leafgate.commands.convert.scrub import LeafContent
    from leafgate.commands.convert.witness import AnsweredRows
    from leafgate.readers import ModelIR, ModelReader


class ScrubLevel(StrEnum):
    """What the leaves of a scrubbed file may disclose."""

    labels = "labels"
    shares = "shares"
    counts = "counts"


class ScriptLanguage(StrEnum):
    """The languages in which a scrubbed model is written as a script."""

    r = "r"


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model's file.")]
WitnessFile = Annotated[
    Path | None,
    typer.Option(metavar="ANSWERS", help="CSV of rows with the model's own answers beside them."),
]
WithScript = Annotated[
    bool,
    typer.Option("--script", help="Write predict.py beside a new .json, which answers for people with NumPy alone."),
]
NewFile = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending chooses the format.")]


def convert(
    model: ModelFile,
    out: NewFile,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Open a pickle, which runs what it holds, or a .cbm: for its owner, where it was made."
        ),
    ] = False,
    output: Annotated[
        int | None, typer.Option(min=0, help="Which of several columns that it predicts, by its number from 0.")
    ] = None,
    witness: WitnessFile = None,
    script: WithScript = False,
) -> int:
    """Write a model's trees as a neutral file.

    That is leafgate/model/1 (.json), or what OUT's ending says (.onnx, .skops).
    A pickle, a joblib file or CatBoost's .cbm only with --trust. With --witness both files answer as the model itself,
    or none is written.
    """
    from leafgate.api.registry import load_plugins
    from leafgate.commands.convert.pickles import opened
    from leafgate.commands.convert.witness import WRITTEN_POINTS, check_written, rows_answered
    from leafgate.console.output import say
    from leafgate.models.reader import read_foreign, read_model, read_trusted

    refuse_same(model, out)
    readers = load_plugins().readers
    writer = _writer(out.name, readers)
    if script:
        refuse_script(out)
    make_folder(out.parent)
    of_model = readers if output is None else [reader.of_output(output) for reader in readers]
    read = read_trusted(model, of_model, opened) if trust else read_model(model, of_model)
    content = _content(read, model, out.name, writer, readers)
    new = read_foreign(content, out.name, readers)
    rows = rows_answered({model.name: read, out.name: new}, witness)
    check_written(read, new, out.name)
    write_file(out, content, OWNER_ONLY)
    say(
        f"{out}: {len(read.trees)} tree(s) of {read.producer or read.format}; it discloses {read.level}; read back, it "
        f"predicts the same as what was read of {model.name} on {WRITTEN_POINTS:,} random points"
    )
    same = "; so does the new file" if witness is not None else ""
    say(f"  {_compared(model, witness, rows)}{same}")
    if script:
        say(write_script(out))
    return 0


def _writer(name: str, readers: Sequence[ModelReader]) -> ModelReader | None:
    """The reader that writes files of this name; None for the neutral file, which is also one without an ending.

    Raises ReleaseError for an ending that no reader writes.
    """
    from leafgate.models.writer import model_writer

    if Path(name).suffix.lower() in {"", ".json"}:
        return None
    return model_writer(name, readers)


def _content(new: ModelIR, given: Path, name: str, writer: ModelReader | None, readers: Sequence[ModelReader]) -> bytes:
    """The file of a model that was made of the `given` one."""
    from leafgate.commands.convert.neutral import written
    from leafgate.models.reader import model_bytes
    from leafgate.models.writer import model_as_file

    return written(new) if writer is None else model_as_file(new, model_bytes(given), name, readers)


def _compared(model: Path, witness: Path | None, answered: AnsweredRows | None) -> str:
    """With whose answers the reading was compared."""
    if witness is not None and answered is not None:
        alone = " (classes alone were compared, no scores)" if answered.labels_alone else ""
        rows = f"on all {answered.rows:,} rows that it has answers for{alone}"
        return f"what was read of {model.name} answers as {witness.name} {rows}"
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
        typer.Option(metavar="NUMBER", help="Instead of --digits: round shares to multiples, such as 0.05."),
    ] = None,
    witness: WitnessFile = None,
    script: WithScript = False,
    to: Annotated[
        ScriptLanguage | None, typer.Option(help="Write predict.R beside OUT, which answers for people with R alone.")
    ] = None,
) -> int:
    """Write a file that discloses only what is chosen. Its predictions are compared on points.

    It is a neutral file, leafgate/model/1 (.json), or as OUT's ending says (.onnx, .skops). With --witness what is read
    of MODEL answers as the model itself, or nothing is written.
    """
    from leafgate.api.registry import load_plugins
    from leafgate.bounded.objects import printable_name
    from leafgate.commands.convert import rare_cells
    from leafgate.commands.convert.equivalence import on_data, unproved, with_unproved
    from leafgate.commands.convert.scrub import compare_on_random_points, refuse_different, shares_changed
    from leafgate.commands.convert.witness import check_written, rows_answered
    from leafgate.console.output import say
    from leafgate.engine.person_columns import persons_note
    from leafgate.models.reader import read_foreign, read_model
    from leafgate.session.run import open_session

    units = _units(digits, step)
    refuse_same(model, out)
    session = None if policy is None else open_session(policy, None, root)
    plugins = load_plugins() if session is None else session.plugins
    writer = _writer(out.name, plugins.readers)
    _refuse_scripts(out, script, to)
    make_folder(out.parent)
    whole = read_model(model, plugins.readers)
    rows = rows_answered({model.name: whole}, witness)

    people = None if session is None else rare_cells.TableOfPolicy.of(session, model.name)
    less, unmoved, merged = _reduced(whole, model.name, leaves.value, units, people, writer)
    marked = with_unproved(whole, less) if session is None else less
    if writer is not None and (names := unproved(marked)):
        raise ReleaseError(
            f"cannot record that no table has shown what {len(names)} of its features are",
            place=out.name,
            remedy="give the table it was trained on by --policy; or write a file that ends in .json",
        )
    content = _content(less, model, out.name, writer, plugins.readers)
    new = read_foreign(content, out.name, plugins.readers)
    reduced = new if less is unmoved else unmoved  # moved thresholds part points between the cells of the table anew
    proofs = [("random points", compare_on_random_points(merged.model, reduced, seed=0))]
    if people is not None:
        proofs.append(("records of the table", on_data(whole, new, people, merged)))
    refuse_different(proofs, leaves.value, model.name, units)
    check_written(less, new, out.name)
    content = content if marked is less else _content(marked, model, out.name, writer, plugins.readers)
    write_file(out, content, EVERYONE)
    same = " and ".join(f"{'all' if proof.of_people else f'{proof.points:,}'} {where}" for where, proof in proofs)
    change = shares_changed(whole, leaves.value, units)
    say(
        f"{out}: discloses {less.level} on its leaves{change}; read back, it predicts the same as what was read of "
        f"{model.name} on {same}{_but_for(merged, people)}"
    )
    say(f"  {_compared(model, witness, rows)}")
    if names := unproved(marked):
        result = ", ".join(repr(printable_name(name)) for name in names)[:200]
        say(
            f"no table has shown what is {result}: audits ask for their `encoding`; scrubbed with --policy, they do not"
        )
    if session is not None:
        for name in session.table.suspected:
            note = persons_note(name, session.policy.data)
            say(f"values and thresholds of few people were looked for by rows: {note}")
    for line in _scripts(new, out, script, to):
        say(line)
    return 0


def _reduced(
    whole: ModelIR,
    name: str,
    leaves: LeafContent,
    units: int,
    people: rare_cells.TableOfPolicy | None,
    writer: ModelReader | None,
) -> tuple[ModelIR, ModelIR, rare_cells.MergedModel]:
    """The model that discloses only what is chosen, the same before thresholds were moved, and the merged values.

    Args:
        whole: the model that was read.
        name: of its file.
        leaves: what stays on its leaves.
        units: the parts of 1 to which shares are rounded.
        people: the table of the policy, whose rare values and numbers are removed; None without a policy.
        writer: what writes the new file; None for a neutral file, whose features may be others.
    """
    from leafgate.commands.convert import rare_cells
    from leafgate.commands.convert.scrub import minimise, with_leaves

    keeps_features = writer is not None and writer.check_original is not None
    reduce = with_leaves if keeps_features else minimise
    less, merged = reduce(whole, leaves, name, units), rare_cells.MergedModel(whole)
    if people is None:
        return less, less, merged
    if leaves != "counts":  # counts of leaves are those of the people who were sent there
        listed = minimise(whole, leaves, name, units) if keeps_features else less
        merged = rare_cells.merge_rare_values(whole, listed, people, dummies=not keeps_features)
        less = reduce(merged.model, leaves, name, units) if merged.columns else less
    complete = rare_cells.complete_public_lists(less, people) if writer is None else less
    return rare_cells.move_rare_thresholds(complete, people), less, merged


def _refuse_scripts(out: Path, script: bool, to: ScriptLanguage | None) -> None:
    """PolicyError where a script cannot stand beside a new file."""
    from leafgate.commands.convert.r_script import refuse_r_script

    if script:
        refuse_script(out)
    if to is not None:
        refuse_r_script(out)


def _scripts(new: ModelIR, out: Path, script: bool, to: ScriptLanguage | None) -> Iterator[str]:
    """Write the scripts that were asked for; a line on each that states how it is run."""
    from leafgate.commands.convert.r_script import write_r_script

    if script:
        yield write_script(out)
    if to is not None:
        yield write_r_script(new, out)


def _but_for(merged: rare_cells.MergedModel, people: rare_cells.TableOfPolicy | None) -> str:
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
    from leafgate.commands.convert.rounding import FEWEST_UNITS, MOST_UNITS, UNITS

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
