"""Validation of evidence: what attacks and metrics state besides their numbers is what reports can hold."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from leafgate.errors import InconclusiveError
from leafgate.io.evidence import EvidenceDocument
from leafgate.kernel.evidence import RESERVED, AuditorOnly, PeopleCount

LARGEST = 1e300
"""The largest absolute value of a number in evidence; larger numbers, infinity and NaN are refused."""
MAX_COUNT = 2**53 - 1
"""The largest count that a report may hold: every whole number up to it is exact in JSON."""
MAX_CHARACTERS = 1_000_000
"""The most that one finding may state: reports are read by people, and kept."""


def checked_evidence(evidence: object, kept: Collection[str], whose: str = "its") -> dict[str, Any]:
    """The evidence, if a report can hold it and it has no key of `kept`; InconclusiveError names what is wrong."""
    text = _as_json(evidence)
    if text is None or not isinstance(evidence, Mapping):
        raise InconclusiveError(f"{whose} evidence is not what JSON can say")
    if len(text) > MAX_CHARACTERS:
        raise InconclusiveError(
            f"{whose} evidence has {len(text):,} characters; a report holds {MAX_CHARACTERS:,} of it"
        )
    taken = sorted(set(evidence) & set(kept))
    if taken:
        what = f"the key `{taken[0]}`, which is the core's" if taken[0] in RESERVED else "a key of the attack's own"
        raise InconclusiveError(f"{whose} evidence has {what}")
    try:
        EvidenceDocument.of(json.loads(text))
    except ValidationError as error:
        key = error.errors(include_input=False, include_context=False)[0]["loc"][0]
        raise InconclusiveError(f"{whose} evidence has a `{key}` that no report can hold") from None
    groups = evidence.get("worst", ())
    if not all(isinstance(group["people"], PeopleCount) for group in groups):
        raise InconclusiveError(f"{whose} evidence has groups in `worst` whose `people` are no PeopleCount")
    private = [group[key] for group in groups for key in ("path", "true") if key in group]
    private += [evidence["roc"]] if "roc" in evidence else []
    if not all(isinstance(each, AuditorOnly) for each in private):
        raise InconclusiveError(f"{whose} evidence has `path`, `true` or `roc` outside of AuditorOnly")
    return dict(evidence)


def is_json_encodable(thing: object) -> bool:
    """Can it be written as JSON, once counts and private values are masked for an audience?"""
    return _as_json(thing) is not None


def _as_json(thing: object) -> str | None:
    """The JSON of what auditors see of it; None where there is none."""
    try:
        text = json.dumps(_unmasked(thing), allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError):
        return None
    return text


def _unmasked(thing: object) -> object:
    """What auditors see of it; TypeError for what no report can hold."""
    if isinstance(thing, AuditorOnly):
        return _unmasked(thing.content)
    if isinstance(thing, PeopleCount):
        if type(thing.count) is int and 0 <= thing.count <= MAX_COUNT:
            return thing.count
    elif isinstance(thing, Mapping):
        if all(isinstance(key, str) for key in thing):
            return {key: _unmasked(value) for key, value in thing.items()}
    elif isinstance(thing, list | tuple):
        return [_unmasked(each) for each in thing]
    elif not isinstance(thing, int | float) or -LARGEST <= thing <= LARGEST:
        return thing
    raise TypeError("no report can hold it")
