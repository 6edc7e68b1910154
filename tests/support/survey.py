"""A made-up survey of 24 people and a policy that it passes, written to a folder and changed at will."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEADER = "age,sex,smoker,ill"
ROWS = [
    f"{20 + 10 * (i % 4)},{'fm'[i // 4 % 2]},{'no' if i % 3 else 'yes'},{'yes' if i % 4 > 1 and i % 5 else 'no'}"
    for i in range(24)
]
PEOPLE = "\n".join([HEADER, *ROWS]) + "\n"
YES_NO = ["no", "yes"]
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi_identifier", "bounds": [0, 120]},
    "sex": {"role": "quasi_identifier", "values": ["f", "m"]},
    "smoker": {"role": "private", "values": YES_NO},
    "ill": {"role": ["class", "sensitive"], "values": YES_NO},
}
UNLISTED: dict[str, Any] = {"except": [{"columns": "smoker", "roles": "private"}]}
"""What a policy that the survey's policy extends has to say of columns that it does not list."""
ALLOWED = "data: {unlisted: {except: [{columns: smoker, roles: private}]}}\n"
"""The same as a line of YAML."""
POLICY: dict[str, Any] = {
    "leafgate": 1,
    "name": "survey",
    "data": {"path": "people.csv", "columns": COLUMNS},
    "build": {"use": "kadet", "k": 3},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 3}],
}


def policy(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The policy with something else at each dotted place, say `metrics.0.at_least`; `...` takes the place away."""
    changed: dict[str, Any] = json.loads(json.dumps(POLICY))
    for place, value in (changes or {}).items():
        *above, last = place.split(".")
        here: Any = changed
        for part in above:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        if value is ...:
            del here[last]
        elif isinstance(here, list):
            here[int(last)] = value
        else:
            here[last] = value
    return changed


def write_policy(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """The policy file in `folder`; JSON is YAML too."""
    path = folder / "policy.yaml"
    path.write_text(json.dumps(policy(changes), indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def survey(folder: Path, changes: Mapping[str, Any] | None = None, people: str | bytes = PEOPLE) -> Path:
    """The policy file, with the people beside it."""
    content = people.encode() if isinstance(people, str) else people
    (folder / "people.csv").write_bytes(content)
    return write_policy(folder, changes)
