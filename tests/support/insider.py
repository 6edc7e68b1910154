"""An attack that takes known people and facts into account, and the survey's policy with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from command_line import leafgate
from survey import PEOPLE, survey

INSIDER = """
from collections.abc import Sequence
from typing import Literal
import numpy as np
import pandas as pd
from leafgate.api import AttackModel, SecretBelief, AdversaryKnowledge, Release, hookimpl
leafgate_api = ">=3,<4"

class Insider(AttackModel):
    use: Literal["insider"] = "insider"
    needs = frozenset({"people", "facts"})

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[SecretBelief]:
        told = 0 if known.people is None else known.people.total_weight
        sure = 0.5 + 0.25 * told / known.public.total_weight + 0.125 * len(known.facts)
        chances = pd.DataFrame({"no": 1 - sure, "yes": sure}, index=range(len(known.records)))
        evidence = {"facts": [fact.words() for fact in known.facts]}
        return [SecretBelief("ill", chances, equivalence_class=np.arange(len(chances)), evidence=evidence)]

@hookimpl
def attack_models():
    return [Insider]
"""
FACT: dict[str, Any] = {"where": {"age": {"to": 20}, "sex": "m"}, "column": "ill", "in": ["yes"], "share": 0}


def knowing(folder: Path, changes: dict[str, Any] | None = None, content: str = PEOPLE) -> Path:
    """The survey's policy with the insider's attack."""
    confident = [{"use": "confidence", "at_most": 0.999, "scored": "derived"}]  # what it knows decides what it derives
    said = {"attacks": [{"use": "insider"}], "metrics": confident, "report.smallest_cell": 1}
    return survey(folder, said | (changes or {}), content)


def refused(folder: Path, changes: dict[str, Any]) -> list[str]:
    """The places of all that is wrong with the policy."""
    ended = leafgate("validate", knowing(folder, changes), "--json")
    assert ended.code == 2
    assert all(problem["message"] for problem in ended.problems)
    return [problem["place"] for problem in ended.problems]
