"""Signers found by name, and called so that an error of a plugin is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from leafgate.api.registry import load_plugins
from leafgate.api.signers import BUNDLED_SIGNER, Signed, Signer, VerificationKey
from leafgate.commands.attest.ed25519 import ED25519
from leafgate.errors import InvalidError, LeafgateError, nearest_name, raising_line
from leafgate.plugin_output import plugin_output_dropped

Answer = TypeVar("Answer")


def chosen_signer(name: str) -> Signer:
    """The signer of this name; plugins are loaded for others than the bundled one alone.

    Raises:
        InvalidError: nobody offers it.
    """
    if name == BUNDLED_SIGNER:
        return ED25519
    offered = load_plugins().signers
    if name not in offered:
        names = sorted({BUNDLED_SIGNER, *offered})
        remedy = nearest_name(name, names, f"installed: {', '.join(names)}")
        raise InvalidError(f"nobody offers the signer {name!r}", place="--signer", remedy=remedy)
    return offered[name]


def signed_by(signer: Signer, message: bytes, private_key: bytes) -> Signed:
    """The signature of a message; LeafgateError where the signer fails."""
    return _answer(signer, "sign", Signed, lambda: signer.sign(message, private_key))


def key_of(signer: Signer, public_key: bytes) -> VerificationKey:
    """What the signer knows of a public key; LeafgateError where it fails."""
    return _answer(signer, "public_key", VerificationKey, lambda: signer.public_key(public_key))


def is_signed(signer: Signer, message: bytes, signature: bytes, public_key: bytes) -> bool:
    """Is the signature of the message? Only True is a yes; LeafgateError where the signer fails."""
    return _answer(signer, "verify", bool, lambda: signer.verify(message, signature, public_key))


def _answer(signer: Signer, name: str, kind: type[Answer], ask: Callable[[], object]) -> Answer:
    """What a function of a signer returned; the text of an error of its own may have the key, and is left out."""
    try:
        with plugin_output_dropped():
            answer = ask()
    except (KeyboardInterrupt, LeafgateError):
        raise
    except BaseException as error:
        message = f"the signer {signer.name!r}: `{name}` raised {type(error).__name__}{raising_line(error)}"
        raise LeafgateError(message, place="--signer", remedy="report this to the authors of the plugin") from error
    if not isinstance(answer, kind):
        message = f"the signer {signer.name!r}: `{name}` returned {type(answer).__name__}, not {kind.__name__}"
        raise LeafgateError(message, place="--signer", remedy="report this to the authors of the plugin")
    return answer
