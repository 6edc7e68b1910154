"""Sphinx extension: the directive `public-names` documents the names that a module of leafgate exports.

    ```{public-names} leafgate.api
    :from: leafgate.kernel.components leafgate.kernel.metrics
    ```

It lists the names that come from these modules, or all of them; of a module that exports nothing from elsewhere its own
public functions and classes. Docstrings are those of the code: single backticks mark code, as in Markdown, and the
options of components are listed with their types, defaults and descriptions.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

UNWRITTEN = re.compile(r"<(?:[^<>]|<[^<>]*>)*>")
"""A default that Python shows as no expression: `<factory>`, `<function f>`."""
REQUEST = re.compile(r"set_\w+_request")
FITTED = re.compile(r"^:ivar (\w+)_:", re.MULTILINE)
"""A fitted attribute of an estimator: reStructuredText would take the underscore for a link."""
TOP = "leafgate"
CODE = re.compile(r"(?<![`\\])`([^`\n]+(?:\n[^`\n]+)?)`(?!`)(\w?)")
"""A text in single backticks, which may continue on the next line, and a letter that follows it at once."""


def public_names(module: str) -> dict[str, str]:
    """The names that a module exports, each with the module that defines it, in the order of the source."""
    package = import_module(module)
    tree = ast.parse(inspect.getsource(package))
    exported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("leafgate"):
            exported |= {alias.asname: str(node.module) for alias in node.names if alias.asname == alias.name}
    listed = [name for name in getattr(package, "__all__", ()) if name not in exported and not name.startswith("_")]
    exported |= {name: _home(package, name) for name in listed}
    return exported or dict.fromkeys(_own_names(package), module)


def _home(package: ModuleType, name: str) -> str:
    return str(getattr(getattr(package, name), "__module__", package.__name__))


def _own_names(module: ModuleType) -> Iterator[str]:
    """The public functions and classes that a module defines."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if own and not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name


@cache
def comments(module: str) -> dict[str, str]:
    """The texts below the constants and type aliases of a module, by their names."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    found: dict[str, str] = {}
    for statement, below in (pair for body in bodies for pair in itertools.pairwise(body)):
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found |= {target.id: below.value.value for target in targets if isinstance(target, ast.Name)}
    return found


class PublicNames(SphinxDirective):
    """Documents exported names under the module that exports them."""

    required_arguments = 1
    option_spec = {"from": directives.unchanged}  # noqa: RUF012  the interface of docutils

    def run(self) -> list[nodes.Node]:
        """Parse the directives of autodoc for each name; what `leafgate` itself exports is on its own page."""
        module = self.arguments[0]
        homes = self.options.get("from", "").split()
        names = {name: home for name, home in public_names(module).items() if not homes or home in homes}
        if not names:
            raise self.error(f"{module} exports nothing from {', '.join(homes)}")
        elsewhere = [] if module == TOP else sorted(name for name in names if name in public_names(TOP))
        lines = [] if homes or set(names.values()) != {module} else [*_text_of(module), ""]
        lines.append("```{eval-rst}")
        for name in sorted(names.keys() - set(elsewhere), key=list(names).index):
            lines += _directive(module, name, names[name])
        lines += ["```", ""]
        if elsewhere:
            lines.append(f"{', '.join(f'{{py:obj}}`{TOP}.{name}`' for name in elsewhere)}: see [Python API](api.md).")
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, source=module), self.content_offset, node)
        return list(node.children)


def _text_of(module: str) -> list[str]:
    """The docstring of a module, which is Markdown."""
    return inspect.cleandoc(import_module(module).__doc__ or "").splitlines()


def _directive(module: str, name: str, home: str) -> Iterator[str]:
    """The directive of one name: a class, a function, or a constant with the text below it."""
    value = getattr(import_module(home), name, None)  # some aliases exist for type checkers alone
    own = str(getattr(value, "__module__", "")).startswith(TOP)
    if own and isinstance(value, type):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        yield from (f".. {kind}:: {module}.{name}", "")
    elif own and inspect.isfunction(value):
        yield from (f".. autofunction:: {module}.{name}", "")
    else:
        yield f".. py:data:: {module}.{name}"
        if isinstance(value, int | float | str):
            yield f"   :value: {value!r}"
        yield ""
        yield from (f"   {line}" for line in _as_rst(inspect.cleandoc(comments(home).get(name, "")).splitlines()))
        yield ""


def _as_rst(lines: Sequence[str]) -> list[str]:
    """Docstring lines with code in double backticks, as reStructuredText has it."""
    text = CODE.sub(
        lambda match: f"``{' '.join(match[1].split())}``" + (rf"\ {match[2]}" if match[2] else ""), "\n".join(lines)
    )
    return text.splitlines()


def _keep_sentences(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Begin with an empty comment, so that napoleon reads no words before a colon as the type of a property."""
    if what in {"attribute", "data", "property"}:
        lines[:0] = ["..", ""]


def _process_docstring(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Read single backticks as code; list the options of components."""
    lines[:] = FITTED.sub(r":ivar \1\\_:", "\n".join(_as_rst(lines))).split("\n")
    if what == "class" and inspect.isclass(documented) and issubclass(documented, BaseModel):
        lines += _as_rst(list(_options(documented)))


def _options(model: type[BaseModel]) -> Iterator[str]:
    """The described fields that a model declares itself."""
    own = {name: field for name, field in model.model_fields.items() if name in model.__annotations__}
    described = {name: field for name, field in own.items() if field.description}
    if described:
        yield from ("", "Options:", "")
    for name, field in described.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        shown = "required" if field.is_required() else f"default {default!r}"
        added = "" if isinstance(default, BaseModel) else f" ({shown})"
        yield f"* `{field.alias or name}`{added}: {field.description}"
    yield ""


def _process_signature(
    app: Sphinx, what: str, name: str, documented: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Leave out the signature of pydantic models, whose options are listed; write `...` for defaults that are made."""
    if what == "class" and inspect.isclass(documented) and issubclass(documented, BaseModel):
        return "", None
    return None if signature is None else (UNWRITTEN.sub("...", signature), returns)


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what pydantic adds to every model, and scikit-learn's routing of metadata to every estimator."""
    owner = getattr(member, "__module__", "") or ""
    added = name.startswith("model_") or REQUEST.fullmatch(name) or owner.startswith("pydantic")
    return True if added else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the hooks of autodoc."""
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", _keep_sentences, priority=400)  # napoleon has 500
    app.connect("autodoc-process-docstring", _process_docstring, priority=600)
    app.connect("autodoc-process-signature", _process_signature)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
