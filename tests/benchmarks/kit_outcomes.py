"""What the conformance kit says of every bundled plugin and of every planted mistake, as JSON.

    python tests/benchmarks/kit_outcomes.py FILE [--only KIND ...]

`kit_before_lean.json` beside this file has the outcomes of the kit at the commit `BEFORE_LEAN` of `same_results.py`,
which was four times as long and had a check for each mistake. The kit must still find three quarters of the planted
mistakes of attacks, metrics, builders and readers, and must pass everything that is bundled.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import unittest
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from leafgate.reports import FORMATS
from leafgate.testing import Check, KnownException, format_conformance, reader_conformance

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS / "support"))
Found = Iterator[tuple[str, Any]]


def outcome(check: Check) -> str:
    """How one check ends."""
    try:
        check()
    except KnownException:
        return "known exception"
    except unittest.SkipTest:
        return "does not apply"
    except AssertionError:
        return "fails"
    return "passes"


def outcomes(checks: Iterable[Check]) -> dict[str, str]:
    """How each check ends, by its name."""
    return {check.name: outcome(check) for check in checks}


def components() -> Found:
    """Bundled builders, attacks and metrics, each with the options of `test_conformance.py` that are not slow."""
    by_component: dict[str, list[Check]] = {}
    for param in runpy.run_path(str(TESTS / "plugins" / "test_conformance.py"))["every_check"]():
        if not param.marks:
            (check,) = param.values
            options = param.id.removeprefix(str(check))
            by_component.setdefault(f"{check.plugin} {options}".strip(), []).append(check)
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


def planted() -> Found:
    """For each kind and each plugin with a mistake the checks that fail."""
    for kind, mistakes in runpy.run_path(str(TESTS / "core" / "testing" / "test_kit.py"))["PLANTED"].items():
        for mistake, (checks, _) in mistakes.items():
            yield f"{kind}: {mistake}", [check.name for check in checks if outcome(check) == "fails"]


KINDS: dict[str, Callable[[], Found]] = {
    "planted": planted,
    "formats": formats,
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
