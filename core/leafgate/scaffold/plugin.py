"""A new plugin: a package for somebody to start from, which passes the conformance kit as it is."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from leafgate.api.registry import Plugins
from leafgate.errors import InvalidError
from leafgate.scaffold import templates as texts

Kind = Literal["attack", "metric", "builder"]
LONGEST = 50
"""Characters of a name, at most."""


@dataclass(frozen=True)
class Newcomer:
    """A plugin that is not there yet: its module, and what it offers, each with the name a policy picks it by."""

    module: str
    kinds: tuple[Kind, ...]

    @property
    def distribution(self) -> str:
        return self.module.replace("_", "-")

    def use(self, kind: Kind) -> str:
        """The module's own name for the first kind; what comes besides adds a word of its own."""
        return self.module if kind == self.kinds[0] else f"{self.module}_{texts.WORDS[kind]}"

    def class_name(self, kind: Kind) -> str:
        return "".join(part.capitalize() for part in self.use(kind).split("_"))


def newcomer(name: str, kinds: tuple[Kind, ...], plugins: Plugins) -> Newcomer:
    """The plugin of this name; InvalidError where no package can be called so, or somebody else is."""
    module = re.sub(r"[-. ]+", "_", name.strip()).lower()
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", module) or len(module) > LONGEST:
        raise InvalidError(
            "is no name for a package",
            place="NAME",
            remedy=f"begin with a letter; letters, digits, - and _ to {LONGEST} characters",
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "tests" or find_spec(module):
        raise InvalidError(
            f"{module!r} is taken by Python or by what is installed", place="NAME", remedy="choose another"
        )
    made = Newcomer(module, kinds)
    for kind in kinds:
        if made.use(kind) in plugins.by_name:
            origin = plugins.origin(plugins.by_name[made.use(kind)])
            raise InvalidError(f"{origin} offers {made.use(kind)!r} already", place="NAME", remedy="choose another")
    return made


def package(newcomer: Newcomer) -> Mapping[str, bytes]:
    """The package's files, by their paths: a face, its mathematics, a test, what installs it, what explains it."""
    files = {
        "pyproject.toml": texts.PYPROJECT,
        "README.md": _readme(newcomer),
        f"{newcomer.module}/__init__.py": _face(newcomer),
        f"{newcomer.module}/py.typed": "",
        "tests/test_conformance.py": _test(newcomer),
    }
    files |= {f"{newcomer.module}/{texts.FILES[kind]}": texts.MATHEMATICS[kind] for kind in newcomer.kinds}
    return {path: _filled(text, newcomer).encode() for path, text in files.items()}


def _filled(text: str, made: Newcomer) -> str:
    return text.replace("@MODULE@", made.module).replace("@DISTRIBUTION@", made.distribution)


def _of_kind(text: str, made: Newcomer, kind: Kind) -> str:
    return text.replace("@CLASS@", made.class_name(kind)).replace("@USE@", made.use(kind))


def _face(made: Newcomer) -> str:
    names = sorted({"hookimpl", *(name for kind in made.kinds for name in texts.IMPORTS[kind])}, key=texts.isort_key)
    typed = "".join(texts.TYPED[kind] for kind in made.kinds)
    head = (texts.FACE if typed else texts.PLAIN_FACE).replace("@NAMES@", ", ".join(names)).replace("@TYPED@", typed)
    parts = [_of_kind(texts.CLASSES[kind], made, kind) for kind in made.kinds]
    hooks = [_of_kind(texts.HOOKS[kind], made, kind) for kind in made.kinds]
    return "\n\n".join([head, *parts, *hooks])


def _test(made: Newcomer) -> str:
    names = ", ".join(sorted(made.class_name(kind) for kind in made.kinds))
    calls = ", ".join(f"*conformance({made.class_name(kind)}({texts.OPTIONS[kind]}))" for kind in made.kinds)
    facts = [_of_kind(texts.FACTS[kind], made, kind) for kind in made.kinds]
    imports = "\n".join(sorted(texts.FACT_IMPORTS[kind] for kind in made.kinds))
    head = texts.TEST.replace("@NAMES@", names).replace("@CALLS@", calls).replace("@IMPORTS@", imports)
    return "\n\n".join([head, *facts])


def _readme(made: Newcomer) -> str:
    text = "\n".join(_of_kind(texts.POLICY[kind], made, kind) for kind in made.kinds)
    notes = "".join(f"{texts.NOTES[kind]}\n" for kind in made.kinds)
    return texts.README.replace("@POLICY@", text).replace("@NOTES@", notes)
