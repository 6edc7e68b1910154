"""Import a module on its first use, so that listing plugins loads no numpy, no pandas and no solver.

A plugin keeps its classes and their mathematics in one file and still imports instantly:

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = lazy("numpy")
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module and imports it when one of its attributes is first read.

    It differs from `importlib.util.LazyLoader` in that `sys.modules` does not contain the module before that.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        self.__dict__[attribute] = value  # the next read finds it without calling this method
        return value

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


def lazy(name: str) -> Any:
    """Return a stand-in for the module `name` that imports it on first use.

    Args:
        name: The full name of a module, for example "numpy" or "leafgate.algorithms.prediction".

    Returns:
        An object with the module's attributes. A module that is not installed raises ModuleNotFoundError on first use.

    >>> fractions = lazy("fractions")
    >>> fractions.Fraction(1, 2) * 2
    Fraction(1, 1)
    """
    return LazyModule(name)


@dataclass(frozen=True)
class LazyFunction:
    """Stands for a function, whose module is imported when it is called.

    Attributes:
        path: "MODULE:NAME", for example "leafgate_plugins.onnx.reader:read".

    >>> LazyFunction("math:gcd")(6, 4)
    2
    """

    path: str

    def __call__(self, *arguments: Any) -> Any:
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)(*arguments)


LAZY_IMPORT = re.compile(r"^    from ([\w.]+) import (\w+) as \2$", re.MULTILINE)
"""A line below `if TYPE_CHECKING:` by which a module exports a name."""


@cache
def lazy_names(package: str) -> Mapping[str, str]:
    """The names that a module exports, each with the module that it is imported from when it is first read.

    They are what the source imports for type checkers alone, a name a line, so that each name is written once:

        if TYPE_CHECKING:
            from leafgate.kernel.table import Table as Table

    Args:
        package: the `__name__` of the module that exports.
    """
    source: str = vars(sys.modules[package])["__loader__"].get_source(package)
    return {name: module for module, name in LAZY_IMPORT.findall(source)}


def lazy_exports(package: str, *own: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's `__getattr__` and `__dir__`, by which it has its `lazy_names` (PEP 562).

    Args:
        package: the `__name__` of the module that exports.
        own: names that it has itself, and that it exports, too.

    Returns:
        A function that imports a name when it is first read, after which it is an attribute of the module; it raises
        AttributeError for any other name. `__all__` is the list of all of them, which the second function returns.
    """

    def get(name: str) -> Any:
        if name == "__all__":
            return names()
        home = lazy_names(package)
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*lazy_names(package), *own})

    return get, names


@cache
def install_command(extra: str) -> str:
    """The command that installs the packages of an optional extra of leafgate, with their lowest versions.

    It names packages and not an extra of leafgate, which pip would look up on an index where the name may be another's.
    The packages are those of the installed distribution's metadata, which pyproject.toml is the source of.

    Args:
        extra: the name of the extra.

    Returns:
        For example `pip install "onnx>=1.16"`, quoted for a shell; where the metadata has no such extra, the command
        that installs it from a checkout.
    """
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(text) for text in requires("leafgate") or ()]
    except PackageNotFoundError:
        requirements = []
    packages = []
    for requirement in requirements:
        marker, requirement.marker = requirement.marker, None
        if marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""}):
            packages.append(f'"{requirement}"')
    if not packages:
        return f'pip install ".[{extra}]" in a checkout of leafgate'
    return f"pip install {' '.join(packages)}"


def require_installed(module: str, user: str, called: str, extra: str) -> None:
    """Raise InconclusiveError where a library that is an optional extra is not installed; nothing is imported.

    Args:
        module: the name of its package.
        user: what needs it, as errors call that.
        called: what users call the library.
        extra: the extra of leafgate that installs it.
    """
    from importlib.util import find_spec

    from leafgate.errors import InconclusiveError

    if find_spec(module) is None:
        remedy = f"install it: {install_command(extra)}"
        raise InconclusiveError(f"{user} needs {called}, which is not installed", remedy=remedy)
