"""Audits of every outcome, keys, statements about their reports, and these statements read without leafgate's code."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID
from sklearn.tree import DecisionTreeClassifier

from command_line import Ended, leafgate
from repairs import fit_in, policy_file
from survey import survey

STATEMENTS = "statements.intoto.jsonl"
TODAY = datetime.now(UTC).date()
FINDING = "k_anonymity@linking#ill"
OUTCOMES: Mapping[str, Mapping[str, Any]] = {
    "pass": {},
    "fail": {"metrics.0.at_least": 24},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
}
"""Changes of the survey's policy by which its audit ends so."""
CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


def private_pem(seed: int = 1) -> bytes:
    """A private key; the same for the same seed."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(seed: int = 1) -> bytes:
    """Its public key."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def certificate_pem(first: date, last: date, seed: int = 1) -> bytes:
    """A certificate of its public key, for these days."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "owner")])
    begin, end = (datetime(day.year, day.month, day.day, 12, tzinfo=UTC) for day in (first, last))
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(begin).not_valid_after(end)
    return builder.sign(key, None).public_bytes(Encoding.PEM)


def write_keys(folder: Path) -> None:
    """A pair of keys, and another one, as files."""
    for seed, name in ((1, ""), (2, "other-")):
        (folder / f"{name}private.pem").write_bytes(private_pem(seed))
        (folder / f"{name}public.pem").write_bytes(public_pem(seed))


def audited(folder: Path, outcome: str = "pass", changes: Mapping[str, Any] | None = None) -> Path:
    """A folder with keys, the survey's policy, and in `out` an audit of this outcome."""
    folder.mkdir(parents=True, exist_ok=True)
    write_keys(folder)
    ended = leafgate("audit", survey(folder, {**OUTCOMES[outcome], **(changes or {})}), "--out", folder / "out")
    assert ended.code == CODES[outcome], ended.err
    return folder


def waiver(days: int) -> dict[str, Any]:
    """A waiver of the survey's broken limit that ends so many days from now."""
    return {
        "id": "W-1",
        "finding": FINDING,
        "owner": "Jane Planted <jane@example.org>",
        "approved_by": "dpo@example.org",
        "reason": "The reason names Planted.",
        "issued": (TODAY - timedelta(days=20)).isoformat(),
        "expires": (TODAY + timedelta(days=days)).isoformat(),
    }


def waived(folder: Path, days: int = 10) -> Path:
    """The same with a broken limit that is waived."""
    audited(folder, "fail")
    digest = report_of(folder)["release"]["sha256"]
    return audited(folder, "pass", {**OUTCOMES["fail"], "waivers": [{**waiver(days), "release": digest}]})


def audited_model(folder: Path) -> Path:
    """A folder with a scikit-learn model, its policy, and in `out` an audit that it passed."""
    people = [(age, zip_, sex, "yn"[(age // 30 + sex) % 2]) for age in (20, 50) for zip_ in range(10) for sex in (0, 1)]
    table = pd.DataFrame(people * 3, columns=["age", "zip", "sex", "class"])
    fit_in(folder, table, DecisionTreeClassifier(max_depth=2, min_samples_leaf=20, random_state=0))
    write_keys(folder)
    limits = [{"use": "k_anonymity", "at_least": 10}]
    ended = leafgate("audit", policy_file(folder, limits, classes=["n", "y"]), "--out", folder / "out")
    assert ended.code == 0, ended.out + ended.err
    return folder


def report_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "out" / "report.json").read_bytes())
    return document


def attest(folder: Path, *words: object, out: str = "statements") -> Ended:
    """Attest the report in the folder."""
    key = folder / "private.pem"
    return leafgate("attest", folder / "out" / "report.json", "--key", key, "--out", folder / out, *words)


def verify(folder: Path, *words: object, key: str = "public.pem", out: str = "statements") -> Ended:
    """Verify the statements in the folder."""
    return leafgate("verify", folder / out, "--key", folder / key, *words)


def envelope(folder: Path, out: str = "statements") -> dict[str, Any]:
    """The envelope in the folder, as any program reads it."""
    document: dict[str, Any] = json.loads((folder / out / STATEMENTS).read_text())
    return document


def statement(folder: Path, out: str = "statements") -> dict[str, Any]:
    """The statement in the folder."""
    document: dict[str, Any] = json.loads(b64decode(envelope(folder, out)["payload"]))
    return document
