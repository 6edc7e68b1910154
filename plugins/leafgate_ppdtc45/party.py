"""One party's side: its own rows, perturbed once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from leafgate.errors import DataError, LeafgateError, PolicyError
from leafgate.files import EVERYONE, OWNER_ONLY, write_files
from leafgate.noise import Noise
from leafgate.policy import Data
from leafgate.reading import read_columns
from leafgate.schema import Schema
from leafgate.strict_json import readable
from leafgate.table import Table
from leafgate_ppdtc45.coins import SystemCoins
from leafgate_ppdtc45.shared_file import SharedFile, written

LEDGER = "leafgate/shared-ledger/1"


def own_table(data: Data, path: Path, wanted: Sequence[str]) -> Table:
    """A party's rows of some columns, with the key; PolicyError where those are none of the policy's.

    `wanted` empty: all columns. Without all of them a key is needed, by which the miner joins.
    """
    schema = data.meaning()
    shown = [column.name for column in (*schema.features, schema.target)]
    strange = sorted(set(wanted) - set(shown))
    if len(set(wanted)) < len(wanted):
        raise PolicyError("names a column twice", place="--columns", remedy="name each once")
    if strange:
        remedy = f"choose from {', '.join(shown)}"
        raise PolicyError(f"{strange[0]!r} is not shared under this policy", place="--columns", remedy=remedy)
    keys = schema.having("key")
    if wanted and set(wanted) != set(shown) and not keys:
        raise PolicyError("a part of the columns needs a key to be joined on", place="--columns", remedy="role `key`")
    mine = [*keys, *(schema[name] for name in shown if not wanted or name in wanted)]
    table = read_columns(data, Schema(tuple(mine)), path, "DATA")
    if keys and (table.weight > 1).any():
        remedy = "leave out the key, or the role `weight`"
        raise DataError(
            "a key stands for several people, whose noise would average away", place=path.name, remedy=remedy
        )
    if any(np.isnan(table.numbers(column.name)).any() for column in table.schema.features if column.numeric):
        raise DataError("cells are missing, and noise is for numbers", place=path.name, remedy="say `on_missing: drop`")
    return table


def file_of(table: Table, noise: Mapping[str, Noise], rng: Generator | SystemCoins, name: str) -> SharedFile:
    """Everybody's row with noise on its numbers; by the key's order, or in no order where there is none."""
    rows = np.repeat(np.arange(len(table)), table.weight)
    keyed = bool(table.schema.having("key"))
    rows = rows if keyed else rng.permutation(rows)
    frame = table.frame.iloc[rows]
    laws = {column.name: noise[column.name] for column in table.schema.columns if column.name in noise}
    cells = [
        [repr(n) for n in laws[c.name].added(frame[c.name].to_numpy(dtype=np.float64), rng).tolist()]
        if c.name in laws
        else [str(cell) for cell in frame[c.name]]
        for c in table.schema.columns
    ]
    columns = tuple(column.name for column in table.schema.columns)
    return SharedFile(name, columns, list(zip(*cells, strict=True)), laws)


def share_once(file: SharedFile, data: Path, digest: str, out: Path) -> None:
    """Write the shared file, and beside the data a note that these columns are out; refuse what is there already.

    Raises DataError where a column of this file was shared before, whatever rows it held then, or `out` exists.
    """
    if out.exists():
        raise DataError(
            "is there already", place=str(out), remedy="name a new file; a shared file is never overwritten"
        )
    ledger = data.with_name(data.name + ".shared.json")
    before = _ledger(ledger)
    for entry in before:
        again = sorted(set(entry["columns"]) & set(file.noise))
        if again:
            rows = "of these rows" if entry["data"] == digest else "of rows of this file"
            raise DataError(
                f"noise was drawn for {', '.join(map(repr, again))} {rows} before, for {entry['shared']!r}",
                place=data.name,
                remedy="share that file, and new people from a file of their own: the mean of two draws has less noise",
            )
    mine = {"data": digest, "columns": sorted(file.noise), "shared": out.name}
    told = readable({"format": LEDGER, "shared": [*before, mine]})
    write_files(ledger.parent, {ledger.name: told}, OWNER_ONLY)
    try:
        write_files(out.parent, {out.name: written(file)}, EVERYONE)
    except LeafgateError:  # nothing was shared
        write_files(ledger.parent, {ledger.name: readable({"format": LEDGER, "shared": before})}, OWNER_ONLY)
        raise


def _ledger(path: Path) -> Sequence[Mapping[str, str]]:
    try:
        told = json.loads(path.read_bytes())
        if told["format"] == LEDGER and all({"data", "columns", "shared"} <= set(each) for each in told["shared"]):
            return list(told["shared"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DataError("cannot be read: it says what was shared of the data beside it", place=path.name)
