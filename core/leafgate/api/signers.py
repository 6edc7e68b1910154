"""Signers: how a plugin signs statements about reports, and verifies signatures of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from leafgate.api.report_formats import NAME

BUNDLED_SIGNER = "ed25519"
"""The signer that the core itself has, whose name no plugin can take."""


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signature.

    Attributes:
        keyid: The identifier of the public key that verifies it, as `VerificationKey.keyid` has it.
        signature: The signature's bytes.
    """

    keyid: str
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class VerificationKey:
    """What is known of a public key.

    Attributes:
        keyid: Its identifier; another key has another one.
        first_day: The first day, in UTC, on which signatures count; None where the key does not say.
        last_day: The last such day.
    """

    keyid: str
    first_day: date | None = None
    last_day: date | None = None


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A way to sign, as a plugin offers it.

    A key is the content of a file that the user names, or what a command of the user prints: a key in PEM, or
    whatever says to the signer where the key is. Each function raises InvalidError for a key that it cannot use; the
    error has no part of the key. Equal messages and keys should give equal signatures.

    Attributes:
        name: What `--signer` calls it, a word such as "ed25519".
        sign: Signs a message with a private key, which are its two arguments.
        verify: Returns whether the signature, its second argument, is of the message, its first, by the public key, its
            third.
        public_key: Returns what is known of a public key.
    """

    name: str
    sign: Callable[[bytes, bytes], Signed]
    verify: Callable[[bytes, bytes, bytes], bool]
    public_key: Callable[[bytes], VerificationKey]


def mistakes(offered: Signer) -> list[str]:
    """What is wrong with the declaration of a signer, a sentence each; empty if a command can use it."""
    problems = []
    if not isinstance(offered.name, str) or not NAME.fullmatch(offered.name):
        problems.append(f"the name {offered.name!r} is no word of small letters, digits and underscores")
    elif offered.name == BUNDLED_SIGNER:
        problems.append(f"the name {offered.name!r} belongs to leafgate itself")
    problems += [
        f"{name} is no function" for name in ("sign", "verify", "public_key") if not callable(getattr(offered, name))
    ]
    return problems
