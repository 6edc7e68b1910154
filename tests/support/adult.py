"""Adult, read once and shared: the kADET paper's two settings, and audits of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from data_files import DATA
from leafgate.app import open_session
from leafgate.engine.report import Audit
from leafgate.session.run import Session

POLICIES = Path(__file__).resolve().parents[2] / "policies"
MEASURES = {"adult-id3": "gain", "adult-all": "gain_ratio"}
UNPROTECTED = {"adult-id3": "id3", "adult-all": "c45"}


def data_root() -> Path:
    """The folder that holds `adult`; where there is none, the test is skipped."""
    if not (DATA / "adult" / "adult.data").exists():
        pytest.skip("Adult is not here: set LEAFGATE_DATA to the folder that holds `adult`")
    return DATA


@cache
def adult(setting: str) -> Session:
    """A setting's policy and tables."""
    return open_session(POLICIES / f"{setting}.yaml", root=data_root())


def audited(setting: str, k: int, build: Mapping[str, Any]) -> Audit:
    """A builder audited under a policy that demands k, and measures exposure, confidence and accuracy."""
    run = adult(setting)
    metrics = [
        {"use": "k_anonymity", "at_least": k},
        {"use": "exposure", "scored": "derived", "average": True, "at_most": 1},
        {"use": "confidence", "scored": "derived", "at_most": 1},
        {"use": "accuracy", "at_least": 0},
    ]
    builder, *limits = [run.plugins.by_name[str(each["use"])].model_validate(each) for each in (build, *metrics)]
    return replace(run, policy=run.policy.model_copy(update={"build": builder, "metrics": tuple(limits)})).audit()


@cache
def kadet(setting: str, k: int, *, prune: bool = True) -> Audit:
    """kADET as the paper uses it in a setting, demanded and built with the same k."""
    return audited(setting, k, {"use": "kadet", "k": k, "measure": MEASURES[setting], "prune": prune})


@cache
def unprotected(setting: str, k: int) -> Audit:
    """The tree that promises nothing, under the policy that demands k."""
    return audited(setting, k, {"use": UNPROTECTED[setting]})


def value(audit: Audit, metric: str) -> float:
    """What a metric of the policy came to."""
    found = next(f.value for f in audit.report.findings if f.id.split("@")[0] == metric)
    assert found is not None
    return found
