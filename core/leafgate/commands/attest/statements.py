"""The in-toto statements about an audit, all derived from its predicate: the verifier derives them again.

Source: in-toto Attestation Framework, Statement v1 and the predicates test-result v0.1 and svr v0.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from leafgate.commands.attest.predicate import PREDICATE_TYPE, AuditPredicate
from leafgate.io.json import JsonDocument, canonical

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SVR = "https://in-toto.io/attestation/svr/v0.2"
NAMES: Mapping[object, str] = {PREDICATE_TYPE: "audit", TEST_RESULT: "test-result", SVR: "svr"}
"""What messages call a statement, by the type of its predicate."""
VERIFIER = "leafgate:verifier"
"""What the verifier's identifier begins with; a slash and the version of leafgate follow."""
PROPERTY = "LEAFGATE:"
"""What a verified property begins with; the id of a criterion follows."""
ALL_PASSED = "LEAFGATE_PASS"
"""The property of a release of which every criterion passed."""
PASSED_OR_WAIVED = "LEAFGATE_PASS_WITH_WAIVERS"
"""The property of a release of which every criterion passed or is waived, until the waivers expire."""
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)


def is_time(text: object) -> bool:
    """Is it a second in UTC as statements write it?"""
    try:
        return isinstance(text, str) and bool(TIME.fullmatch(text)) and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def time_of(seconds: float) -> str:
    """Seconds since the epoch as statements write a time."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def statements(predicate: AuditPredicate, time: str) -> list[JsonDocument]:
    """The statements about an audit: what it found, its tests, and of a pass a summary of what was verified.

    Args:
        predicate: what the audit found.
        time: when it ended, for the summary.
    """
    about = _subject(predicate)
    made = [(PREDICATE_TYPE, predicate.json_document()), (TEST_RESULT, _test_result(predicate))]
    made += [(SVR, _svr(predicate, time))] if predicate.verdict == "pass" else []
    return [
        {"_type": STATEMENT_TYPE, "subject": about, "predicateType": kind, "predicate": content}
        for kind, content in made
    ]


def payload(statement: JsonDocument) -> bytes:
    """The bytes of a statement that are signed."""
    return canonical(statement)


def _subject(predicate: AuditPredicate) -> list[JsonDocument]:
    """The release and the model's file; where their digests are kept back, the policy that they were audited by."""
    release = predicate.release
    named = [] if release is None or release.sha256 is None else [("release.json", release.sha256)]
    if named and release is not None and release.file is not None:
        named.append((release.file.name, release.file.sha256))
    return [_resource(*each) for each in named or [(predicate.policy.name, predicate.policy.sha256)]]


def _resource(name: str, sha256: str) -> JsonDocument:
    return {"name": name, "digest": {"sha256": sha256}}


def _policies(predicate: AuditPredicate) -> list[JsonDocument]:
    policy = predicate.policy
    waivers = [] if policy.waivers_sha256 is None else [_resource("waivers", policy.waivers_sha256)]
    return [_resource(policy.name, policy.sha256), *waivers]


def _test_result(predicate: AuditPredicate) -> JsonDocument:
    """Criteria as tests: a waived one is a warning, an inconclusive one has failed."""
    waived = [each.id for each in predicate.criteria if each.waiver]
    passed = "WARNED" if waived else "PASSED"
    return {
        "result": passed if predicate.verdict == "pass" else "FAILED",
        "configuration": _policies(predicate),
        "passedTests": [each.id for each in predicate.criteria if each.passed],
        "warnedTests": waived,
        "failedTests": [each.id for each in predicate.criteria if not each.passed and not each.waiver],
    }


def _svr(predicate: AuditPredicate, time: str) -> JsonDocument:
    """What was verified: no criterion that is waived."""
    return {
        "verifier": {
            "id": f"{VERIFIER}/{predicate.versions.get('leafgate', 'unknown')}",
            "policies": _policies(predicate),
        },
        "timeCreated": time,
        "properties": [
            PASSED_OR_WAIVED if predicate.waived else ALL_PASSED,
            *(f"{PROPERTY}{each.id}" for each in predicate.criteria if each.passed),
        ],
    }
