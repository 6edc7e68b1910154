"""Write the tables of shape files from the files of the producer matrix.

    python tests/support/make_shapes.py [--check] [PLUGIN ...]

The reader of each format reads the files of all versions. A key that a shape file does not have is added, with the
first of the file's types that accepts everything that stands under it, so a person reads in the diff what a new version
writes, and gives it another type where its content is of people. A key that no file has is dropped, unless `unseen`
says why it is there. `--check` writes nothing, and ends in exit code 1 where a file would change.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate.folders import pack_folder
from leafgate.io.shapes import SHAPE_FILE, types_of
from leafgate.io.yaml import parse_yaml
from leafgate.readers import ContentField, UnreadTracker, read_shape
from producer_archive import archives_in

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
HEAD = "# What files of the format hold. `tables` is written by tests/support/make_shapes.py, the rest by people.\n"
Table = dict[str, Any]
"""The fields of a table as a shape file has them: each the name of a type, a table, or a list with one table."""


def with_shapes() -> list[str]:
    """The names of the plugins that have a shape file."""
    return sorted(path.parent.name for path in Path(str(files("leafgate_plugins"))).glob(f"*/{SHAPE_FILE}"))


def model_files(plugin: str) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each model that the producers of the plugin's format wrote."""
    folders = (PLUGINS / plugin / "producers", PLUGINS / "mlflow" / "producers")
    paths = {path.parent for folder in folders for ending in ("*.tar.xz", "*.zip") for path in folder.rglob(ending)}
    for archive in (archive for folder in sorted(paths) for archive in archives_in(folder)):
        saved: dict[str, dict[str, bytes]] = {}
        for name, file in archive.files.items():
            case, _, path = name.partition("/")
            if path:
                saved.setdefault(case, {})[path] = file
            elif not name.endswith(".csv"):
                yield name, file
        yield from ((case, pack_folder(each)) for case, each in saved.items())


@dataclass
class Observed:
    """What readers met in files, for the tables of a shape file.

    Attributes:
        types: the types of the file, then the kinds of content, in the order in which they are chosen.
        tables: the tables as the file has them, by the identity of the fields that a reader checks.
        keys: the keys that some file has, by the identity of a table.
        possible: the types that accept everything under a key that its table does not have.
        paths: the paths of the keys that some file has.
    """

    types: Mapping[str, ContentField]
    tables: Mapping[int, Table]
    keys: dict[int, set[str]] = dataclasses.field(default_factory=dict)
    possible: dict[tuple[int, str], list[str]] = dataclasses.field(default_factory=dict)
    paths: set[str] = dataclasses.field(default_factory=set)

    def note(self, fields: Mapping[str, ContentField], content: Mapping[str, Any], limits: Mapping[str, int]) -> None:
        """Note the keys of a table that a reader checks."""
        if id(fields) in self.tables:
            self._note(self.tables[id(fields)], content, limits)

    def _note(self, table: Table, content: Mapping[str, Any], limits: Mapping[str, int]) -> None:
        new = self.keys.setdefault(id(table), set())
        for key, value in content.items():
            known = key in table and key not in self._added(table)
            new.add(key)
            if known:
                continue
            inner = value[0] if isinstance(value, list) and value else value
            if isinstance(inner, dict):
                own = table.setdefault(key, [{}] if isinstance(value, list) else {})
                for each in value if isinstance(value, list) else [value]:
                    self._note(own[0] if isinstance(own, list) else own, each, limits)
            names = self.possible.get((id(table), key), list(self.types))
            self.possible[id(table), key] = [name for name in names if accepts(self.types[name], value, limits)]
            if not isinstance(inner, dict):
                table[key] = self.possible[id(table), key][0]

    def _added(self, table: Table) -> set[str]:
        return {key for at, key in self.possible if at == id(table)}

    def kept(self, table: Table, place: str, explained: Collection[str]) -> Table:
        """The fields of a table that some file has or `explained` names, sorted."""
        found: Table = {}
        for key, value in sorted(table.items()):
            if key in self.keys.get(id(table), ()):
                self.paths.add(f"{place}{key}")
            elif f"{place}{key}" not in explained:
                continue
            inner = value[0] if isinstance(value, list) else value
            found[key] = value if isinstance(value, str) else self.kept(inner, f"{place}{key}.", explained)
            found[key] = [found[key]] if isinstance(value, list) else found[key]
        return found


def accepts(field: ContentField, value: object, limits: Mapping[str, int]) -> bool:
    """Does a type accept a value, and are its limits known where it stands?"""
    named = {each for each in (field.length, field.max_values, field.below) if isinstance(each, str)}
    return named <= limits.keys() and field.accepts(value, limits)


def shape_file(plugin: str) -> Path:
    """Where a plugin's shape file is."""
    return Path(str(files(f"leafgate_plugins.{plugin}") / SHAPE_FILE))


def remade(plugin: str, document: dict[str, Any]) -> str:
    """The text of a plugin's shape file, whose parsed text is given, after its reader has read all files."""
    pairs = paired(document["tables"], read_shape(f"leafgate_plugins.{plugin}").tables)
    observed = Observed(types_of(document), {id(fields): table for fields, table in pairs})
    check_table, check_line = UnreadTracker.check_table, UnreadTracker.check_line

    def of_table(self: Any, content: Any, fields: Any, limits: Any, *rest: Any) -> None:
        observed.note(fields, content, limits)
        check_table(self, content, fields, limits, *rest)

    def of_line(self: Any, location: str, line: str, fields: Any, limits: Any, separator: str = "=") -> bool:
        key, _, value = line.partition(separator)
        observed.note(fields, {key: value}, limits)
        return check_line(self, location, line, fields, limits, separator)

    with patch.object(UnreadTracker, "check_table", of_table), patch.object(UnreadTracker, "check_line", of_line):
        for name, content in model_files(plugin):
            with suppress(ReleaseError):  # some files of the matrix are refused
                read_foreign(content, name)
    explained = {path for paths in document["unseen"].values() for path in paths}
    tables = {name: observed.kept(table, f"{name}.", explained) for name, table in document["tables"].items()}
    unseen = {why: sorted(set(paths) - observed.paths) for why, paths in document["unseen"].items()}
    document |= {"unseen": {why: paths for why, paths in unseen.items() if paths}, "tables": tables}
    return HEAD + yaml.safe_dump(document, sort_keys=False, width=110)


def paired(table: Table, fields: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Table]]:
    """The fields that a reader checks of each table, before the table as the shape file has it."""
    yield fields, table
    for key, value in table.items():
        if not isinstance(value, str):
            inner: Any = fields[key]
            inner = inner.fields if isinstance(inner, ContentField) else inner
            yield from paired(value[0] if isinstance(value, list) else value, inner)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("plugins", nargs="*", metavar="PLUGIN", help="such as xgboost; default: all")
    chosen = parser.parse_args(words)
    changed = False
    for plugin in chosen.plugins or with_shapes():
        path = shape_file(plugin)
        before, after = path.read_text("utf-8"), remade(plugin, parse_yaml(path.read_bytes(), plugin))
        sys.stdout.writelines(unified_diff(before.splitlines(True), after.splitlines(True), plugin, f"{plugin} anew"))
        changed |= before != after
        if not chosen.check:
            path.write_text(after, "utf-8")
    return 1 if changed and chosen.check else 0


if __name__ == "__main__":
    sys.exit(main())
