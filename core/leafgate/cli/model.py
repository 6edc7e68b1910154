"""Commands for models that other libraries fitted: convert, scrub."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leafgate.console.options import DataRoot
from leafgate.console.output import say
from leafgate.io.files import EVERYONE, OWNER_ONLY, make_folder, refuse_same, write_file


class ScrubLevel(StrEnum):
    """What the leaves of a scrubbed file may disclose."""

    labels = "labels"
    shares = "shares"
    counts = "counts"


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model's file.")]
NewFile = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


def convert(
    model: ModelFile,
    out: NewFile,
    trust: Annotated[
        bool, typer.Option("--trust", help="Open a pickle, which runs what it holds: for its owner, where it was made.")
    ] = False,
) -> int:
    """Write a model's trees as a neutral file, leafgate/model/1. A pickle or joblib file only with --trust."""
    from leafgate.api.registry import load_plugins
    from leafgate.models.formats.native import written
    from leafgate.models.formats.pickles import read_any

    refuse_same(model, out)
    make_folder(out.parent)
    read = read_any(model, load_plugins().readers, trust=trust)
    write_file(out, written(read), OWNER_ONLY)
    say(f"{out}: {len(read.trees)} tree(s) of {read.producer or read.format}; it discloses {read.level}")
    return 0


def scrub(
    model: ModelFile,
    out: NewFile,
    leaves: Annotated[ScrubLevel, typer.Option(help="What the leaves may still disclose.")],
    policy: Annotated[
        Path | None, typer.Option(metavar="POLICY", help="A policy with the data that predictions are compared on.")
    ] = None,
    root: DataRoot = None,
    digits: Annotated[int, typer.Option(min=1, max=3, help="How many digits shares have.")] = 2,
) -> int:
    """Write a neutral file that discloses only what is chosen. Its predictions are compared on points."""
    from leafgate.api.registry import load_plugins
    from leafgate.bounded.objects import printable_name
    from leafgate.models.formats.native import written
    from leafgate.models.reader import read_bounded, read_foreign
    from leafgate.models.scrub.equivalence import unproved, with_unproved
    from leafgate.models.scrub.scrub import compare_on_random_points, minimise, refuse_different, shares_changed

    refuse_same(model, out)
    make_folder(out.parent)
    session = None
    if policy is not None:
        from leafgate.session.run import open_session

        session = open_session(policy, None, root)
    plugins = load_plugins() if session is None else session.plugins
    whole = read_foreign(read_bounded(model), model.name, plugins.readers)
    less = minimise(whole, leaves.value, model.name, digits)
    proofs = [("random points", compare_on_random_points(whole, less, seed=0))]
    if session is not None:
        from leafgate.models.scrub.equivalence import on_data

        encoding = getattr(session.policy.build, "encoding", {})
        proofs.append(("records of the table", on_data(whole, less, session.table, encoding, model.name)))
    refuse_different(proofs, leaves.value, model.name, digits)
    less = with_unproved(whole, less) if session is None else less
    write_file(out, written(less), EVERYONE)
    same = " and ".join(f"{'all' if proof.of_people else f'{proof.points:,}'} {where}" for where, proof in proofs)
    change = shares_changed(whole, leaves.value, digits)
    say(f"{out}: discloses {less.level} on its leaves{change}; predicts the same on {same}")
    if names := unproved(less):
        result = ", ".join(repr(printable_name(name)) for name in names)[:200]
        say(
            f"no table has shown what is {result}: audits ask for their `encoding`; scrubbed with --policy, they do not"
        )
    return 0
