"""Ed25519 signatures by securesystemslib. Private keys are PKCS#8, public ones SPKI or certificates, in PEM.

Source: RFC 8032. Key identifiers are those of securesystemslib, so that its users find the key by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import Any

from leafgate.errors import InvalidError
from leafgate.lazy_loading import require_installed

EXTRA = "sign"
"""The extra of leafgate that installs what this needs."""
KEY_TYPE = "ed25519"
"""What securesystemslib calls the kind of key."""
MAKE_KEY = "make one: openssl genpkey -algorithm ed25519 -out private.pem"
MAKE_PUBLIC = "make it of the private key: openssl pkey -in private.pem -pubout -out public.pem"
PRIVATE = b"PRIVATE KEY-----"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signature, and the identifier of the public key that verifies it."""

    keyid: str
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class VerificationKey:
    """What is known of a public key: its identifier, and the first and the last day, in UTC, on which it counts."""

    keyid: str
    first_day: date | None = None
    last_day: date | None = None


def sign(message: bytes, private_key: bytes) -> Signed:
    """Sign a message with a private key in PEM."""
    library = _library()
    key = _private(private_key)
    try:
        signature = library.CryptoSigner(key).sign(message)
    except ValueError:
        raise InvalidError("is no Ed25519 key", place="key", remedy=MAKE_KEY) from None
    if library.SSlibKey.from_crypto(key.public_key()).keytype != KEY_TYPE:
        raise InvalidError("is no Ed25519 key", place="key", remedy=MAKE_KEY)
    return Signed(keyid=signature.keyid, signature=bytes.fromhex(signature.signature))


def verify(message: bytes, signature: bytes, public_key: bytes) -> bool:
    """Is the signature of this message, by the public key in PEM?"""
    library, key = _library(), _public(public_key)[0]
    exceptions = import_module("securesystemslib.exceptions")
    try:
        key.verify_signature(library.Signature(key.keyid, signature.hex()), message)
    except exceptions.UnverifiedSignatureError:
        return False
    return True


def public_key(content: bytes) -> VerificationKey:
    """What is known of a public key in PEM; of a certificate also its days."""
    key, days = _public(content)
    return VerificationKey(keyid=key.keyid, first_day=days[0], last_day=days[1])


def _library() -> Any:
    """The module of securesystemslib with keys and signers; InconclusiveError where it is not installed."""
    for module in ("securesystemslib", "cryptography"):
        require_installed(module, "signing", module, EXTRA)
    return import_module("securesystemslib.signer")


def _cryptography(module: str) -> Any:
    return import_module(f"cryptography.{module}")


def _private(content: bytes) -> Any:
    serialization = _cryptography("hazmat.primitives.serialization")
    if PRIVATE not in content:
        raise InvalidError("is no private key in PEM", place="key", remedy=MAKE_KEY)
    try:
        return serialization.load_pem_private_key(content, password=None)
    except TypeError:
        remedy = "let a command decrypt it: --key-command 'openssl pkey -in private.pem'"
        raise InvalidError("is encrypted", place="key", remedy=remedy) from None
    except (ValueError, _cryptography("exceptions").UnsupportedAlgorithm):
        raise InvalidError("is no private key that can be read", place="key", remedy=MAKE_KEY) from None


def _public(content: bytes) -> tuple[Any, tuple[date | None, date | None]]:
    """The key of securesystemslib, and the first and the last day on which it counts."""
    library, serialization = _library(), _cryptography("hazmat.primitives.serialization")
    if PRIVATE in content:
        raise InvalidError("is a private key; verifiers have the public one", place="key", remedy=MAKE_PUBLIC)
    days: tuple[date | None, date | None] = (None, None)
    try:
        if CERTIFICATE in content:
            certificate = _cryptography("x509").load_pem_x509_certificate(content)
            days = certificate.not_valid_before_utc.date(), certificate.not_valid_after_utc.date()
            key = certificate.public_key()
        else:
            key = serialization.load_pem_public_key(content)
        found = library.SSlibKey.from_crypto(key)
    except (ValueError, _cryptography("exceptions").UnsupportedAlgorithm):
        raise InvalidError("is no public key in PEM", place="key", remedy=MAKE_PUBLIC) from None
    if found.keytype != KEY_TYPE:
        raise InvalidError("is no Ed25519 key", place="key", remedy=MAKE_KEY)
    return found, days
