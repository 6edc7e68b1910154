"""A second implementation of what a case comes to, which knows only hashes and signatures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def is_approved(case: bytes, about: Mapping[str, str]) -> bool:
    """Do two people approve what has these digests?"""
    content = json.loads(case)
    if content["format"] != "leafgate/case/1":
        return False
    before, keys, names = content["request"], set(), set()
    for decision in content["decisions"]:
        unsigned = {key: entry for key, entry in decision.items() if key != "signature"}
        signature = bytes.fromhex(decision["signature"])
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(decision["key"]))
            key.verify(signature, b"leafgate/case/1\n" + canonical(unsigned))
        except (InvalidSignature, ValueError):
            return False
        if signature.hex() != decision["signature"]:
            return False  # `fromhex` skips blanks, and reads capital letters
        if decision["previous"] != sha256(canonical(before)) or decision["decision"] != "approve":
            return False
        if decision["about"] != about:
            return False
        keys.add(decision["key"])
        names.add(decision["by"].casefold().strip())
        before = decision
    return min(len(keys), len(names)) >= 2


def canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
