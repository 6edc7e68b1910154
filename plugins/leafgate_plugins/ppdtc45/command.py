"""The commands perturb, which a party runs on its own rows, and mine, which learns from what parties share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.api import PolicyError
from leafgate.app import PolicyFile, guarded

if TYPE_CHECKING:
    from leafgate.api.registry import Plugins
    from leafgate.kernel.policy import Policy
    from leafgate_plugins.ppdtc45.options import Ppdtc45

app = typer.Typer()
SharedFiles = Annotated[list[Path], typer.Argument(metavar="SHARED...", help="What the parties share.")]


def perturb(
    policy: PolicyFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The party's own rows.")],
    out: Annotated[Path, typer.Option(help="The file to share; it must not exist.")],
    columns: Annotated[str | None, typer.Option(help="The party's columns, where columns are split: a,b,c.")] = None,
) -> int:
    """Draw noise for a party's rows, and write the file it shares. No noise is ever drawn for them again."""
    from leafgate.io.files import make_folder
    from leafgate_plugins.ppdtc45.party import SystemCoins, make_shared_file, read_party_table, share_once
    from leafgate_plugins.ppdtc45.shared import agreed_noise

    make_folder(out.parent)
    chosen, builder, _ = _builder(policy)
    if builder.rehearsal:
        raise PolicyError("a rehearsal is never shared", place="build.rehearsal", remedy="leave it out")
    noise = agreed_noise(builder.noise, chosen.data.meaning())
    table = read_party_table(chosen.data, data, [] if columns is None else columns.split(","))
    file = make_shared_file(table, noise, SystemCoins(), out.name)
    share_once(file, data, table.sha256, out)
    typer.echo(f"{out}: {len(file.rows)} rows, noise on {', '.join(file.noise) or 'no column'}")
    return 0


def mine_command(
    policy: PolicyFile,
    shared: SharedFiles,
    out: Annotated[Path, typer.Option(help="The release file to write.")],
    common: Annotated[bool, typer.Option("--common", help="Leave out who is not in every file.")] = False,
) -> int:
    """Pool what several parties share, and learn from it. By rows or by columns; nothing is attacked."""
    import numpy as np

    from leafgate.app import publish, write_file
    from leafgate.io.files import EVERYONE, make_folder
    from leafgate_plugins.ppdtc45.builder import learn
    from leafgate_plugins.ppdtc45.party import pool_files
    from leafgate_plugins.ppdtc45.shared import agreed_noise, read_shared

    make_folder(out.parent)
    chosen, builder, plugins = _builder(policy)
    schema = chosen.data.meaning()
    together = pool_files(
        [read_shared(path, schema) for path in shared], schema, agreed_noise(builder.noise, schema), common=common
    )
    artifact = publish(chosen, plugins, learn(builder, together, np.random.default_rng(chosen.seed)))
    write_file(out, artifact.content, EVERYONE)
    people = f"{len(together.classes):,} people of {len(shared)} file(s)"
    typer.echo(f"{out}: from {people}, sha256 {artifact.sha256[:16]}")
    return 0


def _builder(path: Path) -> tuple[Policy, Ppdtc45, Plugins]:
    """The policy and its builder, which must be this one."""
    from leafgate.app import load_policy
    from leafgate_plugins.ppdtc45.options import Ppdtc45

    loaded = load_policy(path)
    if not isinstance(loaded.policy.build, Ppdtc45):
        raise PolicyError("this command is for shared numbers", place="build.use", remedy="use: ppdtc45")
    return loaded.policy, loaded.policy.build, loaded.plugins


app.command("perturb")(guarded(perturb))
app.command("mine")(guarded(mine_command))
