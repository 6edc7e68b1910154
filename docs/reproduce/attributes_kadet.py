"""Trees that kADET grows on Adult with a secret input, and what leaves prove of it: for attributes_on_adult.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from attributes_setting import PEOPLE, Draw, Row, policy, scored
from leafgate.engine.knowledge import Adversaries
from leafgate.session.run import build_release, open_session

KADET = "kADET, k = 10"
COLUMNS = ["age", "workclass", "education", "sex", "hours-per-week"]
"""The public columns; with all of Adult's hardly any split keeps k = 10."""
DIVERSE = [{"use": "l_diversity", "form": "distinct", "at_least": 2}]
VARIANTS: Mapping[str, tuple[dict[str, Any], bool, bool]] = {
    "k alone, class unknown": ({}, False, False),
    "k and diversity, class unknown": ({"require": DIVERSE}, False, False),
    "k and diversity, class known": ({"require": DIVERSE}, True, False),
    "k and diversity, class public": ({"require": DIVERSE}, True, True),
}
"""What kADET requires besides k, whether the adversary knows the class, and whether the class is a public column."""


def audited(draw: Draw) -> Iterator[Row]:
    """Of each variant who is certain; in place of the attack the rows have the variant's name."""
    kept = [*COLUMNS, draw.secret, draw.target]
    few = Draw(draw.data, draw.people[kept], draw.target, draw.secret)
    for variant, (required, class_known, class_public) in VARIANTS.items():
        build = {"use": "kadet", "k": 10, **required}
        document = policy(few, build, {"leaf_constraints": {}}, class_known=class_known)
        document["data"]["columns"][draw.secret]["role"] = "sensitive"
        document["data"]["columns"][draw.target]["role"] = ["class", "quasi_identifier"] if class_public else ["class"]
        if class_public:
            del document["knows"]["class"]
        with TemporaryDirectory() as name:
            folder = Path(name)
            few.table.to_csv(folder / "table.csv", index=False)
            few.control.to_csv(folder / "control.csv", index=False)
            file = folder / "policy.yaml"
            file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
            run = open_session(file)
            artifact = build_release(run.policy, run.plugins, run.table)
            adversaries = Adversaries(run.policy, run.tables, artifact, run.plugins.readers)
            assert len(run.table) <= PEOPLE[draw.data]
            yield scored(run, adversaries, run.policy.attacks[0], draw.secret, Row(draw.data, KADET, variant))
