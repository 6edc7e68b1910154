"""The kit passes honest model readers, and finds each mistake by the check that is made for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broken_plugins import readers
from broken_plugins.readers import BROKEN_READERS, HONEST_READER, STUMP
from leafgate.readers import ModelReader
from leafgate.testing import Check, DoesNotApply, KnownException, NonConformance, check_reader, reader_conformance
from leafgate.testing.offers import reader_checks

pytestmark = pytest.mark.thorough


def check_named(offered: ModelReader, name: str, **options: Any) -> Check[Any]:
    (found,) = (check for check in reader_conformance(offered, [STUMP], **options) if check.name == name)
    return found


def test_an_honest_reader_passes_every_check() -> None:
    expected = {"light_face": "the module has all broken readers, too"}
    assert set(check_reader(HONEST_READER, [STUMP], expected=expected)) == set(expected)


@pytest.mark.parametrize(("broken", "name"), BROKEN_READERS.values(), ids=BROKEN_READERS)
def test_a_mistake_is_found_by_the_check_made_for_it(broken: ModelReader, name: str) -> None:
    with pytest.raises(NonConformance) as found:
        check_named(broken, name)()
    assert found.value.what
    assert found.value.remedy


def test_a_reader_that_takes_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_checks, "MAX_SECONDS", 1.0)
    with pytest.raises(NonConformance, match="it does not end for a stump"):
        check_named(replace(HONEST_READER, read=readers.waits_for_long_files), "withstands_damage")()


def test_a_module_that_loads_what_is_heavy_is_found() -> None:
    from broken_plugins.heavy import render_in_a_heavy_module

    heavy: Any = render_in_a_heavy_module
    with pytest.raises(NonConformance, match=r"importing broken_plugins.heavy loads .*pandas"):
        check_named(replace(HONEST_READER, sniff=heavy, read=heavy), "light_face")()


def test_every_check_has_a_reader_that_it_rejects() -> None:
    rejected = {name for _, name in BROKEN_READERS.values()} | {"light_face"}
    assert rejected == {check.name for check in reader_conformance(HONEST_READER, [STUMP])}


def test_what_the_author_plants_must_be_found() -> None:
    planted = replace(STUMP, planted={"the gain": STUMP.content.replace(b"0.25", b"90210.5")})
    with pytest.raises(NonConformance, match="put into a stump as the gain is found by nobody"):
        check_reader(HONEST_READER, [planted])


def test_a_known_exception_is_skipped_with_its_reason() -> None:
    broken, name = BROKEN_READERS["states no disclosures"]
    with pytest.raises(KnownException, match="known exception: nobody has looked"):
        check_named(broken, name, expected={name: "nobody has looked"})()


def test_functions_that_no_other_process_finds_are_no_pass() -> None:
    with pytest.raises(DoesNotApply):
        check_named(replace(HONEST_READER, read=lambda content, place: readers.read(content, place)), "runs_nothing")()


def test_a_reader_needs_a_known_model() -> None:
    with pytest.raises(ValueError, match="whose model is known"):
        check_reader(HONEST_READER, [])
