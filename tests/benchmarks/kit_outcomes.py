"""What the conformance kit says of every bundled plugin and of every planted mistake, as JSON.

    python tests/benchmarks/kit_outcomes.py FILE [--only KIND ...]

`kit_before_lean.json` beside this file has the outcomes at the commit `BEFORE_LEAN` of `same_results.py`. A smaller kit
must still find three quarters of the planted mistakes of attacks, metrics, builders and readers, and must pass
everything that is bundled.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
import unittest
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))


from broken_plugins.attacks import BROKEN_ATTACKS
from broken_plugins.builders import BROKEN_BUILDERS
from broken_plugins.formats import BROKEN_FORMATS
from broken_plugins.metrics import BROKEN_METRICS
from broken_plugins.readers import BROKEN_READERS, STUMP
from broken_plugins.sources import BROKEN_SOURCES, write_lines
from leafgate.reports import FORMATS
from leafgate.testing import (
    Check,
    KnownException,
    conformance,
    format_conformance,
    plugin_conformance,
    reader_conformance,
    source_conformance,
)

TESTS = Path(__file__).resolve().parents[1]
Found = Iterator[tuple[str, Any]]


def outcome(check: Check[Any]) -> str:
    """How one check ends."""
    try:
        check()
    except KnownException:
        return "known exception"
    except unittest.SkipTest:
        return "does not apply"
    except AssertionError:
        return "fails"
    except subprocess.TimeoutExpired:
        return "no answer in time"
    return "passes"


def outcomes(checks: Iterable[Check[Any]]) -> dict[str, str]:
    """How each check ends, by its name."""
    return {check.name: outcome(check) for check in checks}


def components() -> Found:
    """Bundled builders, attacks and metrics, each with the options of `test_conformance.py` that are not slow."""
    by_component: dict[str, list[Check[Any]]] = {}
    for param in runpy.run_path(str(TESTS / "plugins" / "test_conformance.py"))["every_check"]():
        if not param.marks:
            (check,) = param.values
            options = param.id.removeprefix(str(check))
            by_component.setdefault(f"{check.component.use} {options}".strip(), []).append(check)
    for name, checks in by_component.items():
        yield name, outcomes(checks)


def readers() -> Found:
    """Bundled readers, each on a file that its library wrote."""
    for name, (reader, make) in runpy.run_path(str(TESTS / "plugins" / "test_reader_conformance.py"))["FILES"].items():
        yield name, outcomes(reader_conformance(reader, [make()]))


def formats() -> Found:
    """Bundled report formats."""
    for offered in FORMATS:
        yield offered.name, outcomes(format_conformance(offered))


def modules() -> Found:
    """Modules of bundled plugins."""
    for name in runpy.run_path(str(TESTS / "core" / "testing" / "test_module_kit.py"))["BUNDLED"]:
        yield name, outcomes(plugin_conformance(name))


def planted(mistakes: Iterable[tuple[str, list[Check[Any]], str]]) -> Found:
    """For each plugin with a mistake: the check made for it, and whether that fails."""
    for name, checks, made_for_it in mistakes:
        (check,) = (each for each in checks if each.name == made_for_it)
        object.__setattr__(check, "first", None)
        yield f"{name}: {made_for_it}", outcome(check)


def planted_components(broken: Iterable[tuple[Any, str]]) -> Found:
    return planted((type(each).__name__, conformance(each), name) for each, name in broken)


KINDS: dict[str, Callable[[], Found]] = {
    "planted in attacks": lambda: planted_components(BROKEN_ATTACKS),
    "planted in metrics": lambda: planted_components(BROKEN_METRICS),
    "planted in builders": lambda: planted_components(BROKEN_BUILDERS),
    "planted in formats": lambda: planted(
        (name, format_conformance(offered), check) for name, (offered, check) in BROKEN_FORMATS.items()
    ),
    "planted in readers": lambda: planted(
        (name, reader_conformance(offered, [STUMP]), check) for name, (offered, check) in BROKEN_READERS.items()
    ),
    "planted in sources": lambda: planted(
        (name, source_conformance(source, write_lines), check) for name, (source, check) in BROKEN_SOURCES.items()
    ),
    "formats": formats,
    "modules": modules,
    "readers": readers,
    "components": components,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="What the conformance kit says of every plugin and every mistake.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    stored = json.loads(options.file.read_text(encoding="utf-8")) if options.file.exists() else {}
    for kind in options.only:
        stored[kind] = {}
        for name, found in KINDS[kind]():
            stored[kind][name] = found
            options.file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
            print(kind, name, flush=True)


if __name__ == "__main__":
    main()
