"""Files that an extended policy names: read beside it, not beside whoever extends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from leafgate.errors import PolicyError
from leafgate.policy_lines import Line
from leafgate.policy_paths import inside

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Home:
    """A policy's folder; `held` if the command line holds another policy to it (`--org`): then no `--root` moves it."""

    folder: Path
    held: bool = False


@dataclass(frozen=True)
class Homes:
    """Where each file of a chain of policies has its folder; `own` is the one that extends the others."""

    own: str
    folders: Mapping[str, Home]
    lines: Mapping[str, Line]
    document: Mapping[str, Any]
    root: Path | None = None

    def settled(self, policy: Model) -> Model:
        """The policy with every file that another policy of the chain names taken from beside that one."""
        changed = {name: self._settled(told, name) for name, told in _fields(policy)}
        return policy.model_copy(update=changed)

    def _settled(self, told: Any, place: str) -> Any:
        if isinstance(told, Path):
            return self._file(told, place)
        if isinstance(told, BaseModel):
            return told.model_copy(update={k: self._settled(v, f"{place}.{k}") for k, v in _fields(told)})
        if isinstance(told, tuple):
            return tuple(self._settled(one, f"{place}[{i}]") for i, one in enumerate(told))
        if isinstance(told, dict):
            return {key: self._settled(one, f"{place}.{key}") for key, one in told.items()}
        return told

    def _file(self, path: Path, place: str) -> Path:
        line, name = self.lines.get(place), _at(self.document, place)
        home = None if line is None or line.file == self.own else self.folders.get(line.file)
        if home is None or (self.root is not None and not home.held and path == inside(self.root, name)):
            return path
        try:
            return inside(home.folder, name)
        except ValueError as error:
            raise PolicyError(str(error).partition(";")[0], place=place, remedy="name a file beside it") from None


def _fields(model: BaseModel) -> Iterator[tuple[str, Any]]:
    yield from model


def _at(document: Any, place: str) -> Any:
    """What stands at a place; columns may have dots in their names."""
    if not place:
        return document
    keys = document if isinstance(document, dict) else ()
    for key in sorted(keys, key=len, reverse=True):
        if place == key or place.startswith((f"{key}.", f"{key}[")):
            return _at(document[key], place[len(key) :].removeprefix("."))
    number, _, rest = place[1:].partition("]")
    return _at(document[int(number)], rest.removeprefix("."))
