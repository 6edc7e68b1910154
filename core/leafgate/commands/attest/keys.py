"""Ed25519 keys in PEM, and the envelopes that they sign: of a statement, as DSSE has them, by securesystemslib.

Source: RFC 8032; DSSE 1.0. Key identifiers are those of securesystemslib, so that its users find the key by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

from leafgate.errors import InvalidError, ReportError
from leafgate.io.files import read_bounded
from leafgate.io.json import canonical, parse_json
from leafgate.lazy_loading import require_installed

EXTRA = "sign"
"""The extra of leafgate that installs what this needs."""
KEY_TYPE = "ed25519"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_BYTES = 64 * 1024
"""Of a key, or of a chain of certificates."""
MAKE_KEY = "make one: openssl genpkey -algorithm ed25519 -out private.pem"
MAKE_PUBLIC = "make it of the private key: openssl pkey -in private.pem -pubout -out public.pem"
PRIVATE = b"PRIVATE KEY-----"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True)
class PublicKey:
    """A key that verifies, and the first and the last day, in UTC, on which it counts."""

    key: Any
    first_day: date | None = None
    last_day: date | None = None

    def payload(self, content: bytes, place: str) -> bytes:
        """The payload of an envelope that this key signed; ReportError or InvalidError where it did not.

        Args:
            content: one line of JSON, every byte as `leafgate attest` writes it.
            place: what errors call it.
        """
        dsse, exceptions = import_module("securesystemslib.dsse"), import_module("securesystemslib.exceptions")
        document = parse_json(content, ReportError, place)
        try:
            envelope = dsse.Envelope.from_dict(document)
            unsigned = [each for each in envelope.signatures.values() if each.unrecognized_fields]
            again = canonical(envelope.to_dict()) + b"\n"
        except (AttributeError, KeyError, TypeError, ValueError, exceptions.Error):
            raise ReportError("is no envelope with a payload and signatures", place=place) from None
        if again != content or unsigned or envelope.payload_type != PAYLOAD_TYPE:
            raise ReportError("is not written as `leafgate attest` writes it", place=place)
        try:
            envelope.verify([self.key], 1)
        except exceptions.VerificationError:
            known = self.key.keyid in envelope.signatures
            text = "the signature is not of this payload" if known else f"is not signed by {self.key.keyid[:16]}"
            raise InvalidError(text, place=place, remedy="do not rely on it: let its owner attest again") from None
        return bytes(envelope.payload)


def sealing(content: bytes) -> Callable[[bytes], bytes]:
    """What puts a payload into an envelope that the private key in PEM signs; InvalidError where it is no such key."""
    signer, dsse = _signer(_library(), _private(content)), import_module("securesystemslib.dsse")

    def sealed(payload: bytes) -> bytes:
        envelope = dsse.Envelope(payload, PAYLOAD_TYPE, {})
        envelope.sign(signer)
        return canonical(envelope.to_dict()) + b"\n"

    return sealed


def public_of(content: bytes) -> PublicKey:
    """The public key of a private key in PEM; InvalidError where it is no such key."""
    return PublicKey(_signer(_library(), _private(content)).public_key)


@dataclass(frozen=True)
class Signer:
    """A private key: its public key and what makes its signatures, in hexadecimal digits."""

    public: str
    sign: Callable[[bytes], str]


def signer_of(content: bytes, passphrase: bytes | None = None) -> Signer:
    """The private key in PEM, which may be encrypted; InvalidError where it is no such key."""
    library = _library()
    key = _private(content, passphrase)
    return Signer(_signer(library, key).public_key.keyval["public"], lambda message: str(key.sign(message).hex()))


def is_signed(public: str, signature: str, message: bytes) -> bool:
    """Is it the signature of a message by the private key of this public key, both in hexadecimal digits?"""
    _library()
    ed25519 = _cryptography("hazmat.primitives.asymmetric.ed25519")
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (ValueError, _cryptography("exceptions").InvalidSignature):
        return False
    return True


def _signer(library: Any, key: Any) -> Any:
    try:
        signer = library.CryptoSigner(key)
    except ValueError:
        raise InvalidError("is no Ed25519 key", place="key", remedy=MAKE_KEY) from None
    if signer.public_key.keytype != KEY_TYPE:
        raise InvalidError("is no Ed25519 key", place="key", remedy=MAKE_KEY)
    return signer


def public_key(path: Path) -> PublicKey:
    """The public key in a file, of a certificate with its days; InvalidError where there is none."""
    content = key_of_file(path)
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
    return PublicKey(found, *days)


def _library() -> Any:
    """The module of securesystemslib with keys and signers; InconclusiveError where it is not installed."""
    for module in ("securesystemslib", "cryptography"):
        require_installed(module, "signing", module, EXTRA)
    return import_module("securesystemslib.signer")


def _cryptography(module: str) -> Any:
    return import_module(f"cryptography.{module}")


def _private(content: bytes, passphrase: bytes | None = None) -> Any:
    serialization = _cryptography("hazmat.primitives.serialization")
    if PRIVATE not in content:
        raise InvalidError("is no private key in PEM", place="key", remedy=MAKE_KEY)
    try:
        return serialization.load_pem_private_key(content, password=passphrase)
    except TypeError:
        if passphrase is not None:  # none is needed
            return _private(content)
        remedy = "decrypt it for this command alone: --key <(openssl pkey -in private.pem)"
        raise InvalidError("is encrypted", place="key", remedy=remedy) from None
    except (ValueError, _cryptography("exceptions").UnsupportedAlgorithm):
        if passphrase is not None:
            raise InvalidError("cannot be decrypted with this passphrase", place="key", remedy="try again") from None
        raise InvalidError("is no private key that can be read", place="key", remedy=MAKE_KEY) from None


def key_of_file(path: Path) -> bytes:
    """The content of a key's file, which may be a pipe; InvalidError where it cannot be read."""
    content = read_bounded(path, MAX_BYTES, InvalidError, "--key")
    if not content.strip():
        raise InvalidError("is empty", place="--key", remedy="name a key")
    if len(content) > MAX_BYTES:
        raise InvalidError(f"is larger than {MAX_BYTES // 1024} kB, and no key", place="--key")
    return content
