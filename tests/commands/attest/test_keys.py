"""Keys: what is refused, and that no error shows a key."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from securesystemslib.signer import SSlibKey

from attested import STATEMENTS, attest, audited, private_pem, public_pem, verify
from command_line import Ended, leafgate
from leafgate.api import InvalidError
from leafgate.commands.attest.ed25519 import public_key, sign
from leafgate.commands.attest.ed25519 import verify as is_signed
from leafgate.lazy_loading import install_command, require_installed

ENCRYPTED = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"planted")
)
ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
OTHER_PRIVATE = ELLIPTIC.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
OTHER_PUBLIC = ELLIPTIC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited(tmp_path_factory.mktemp("keys"))


def attest_by(folder: Path, *words: object) -> Ended:
    return leafgate("attest", folder / "out" / "report.json", "--out", folder / "statements", *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (public_pem(), "is no private key in PEM"),
        (b"planted", "is no private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----\n", "is no private key that can be read"),
        (ENCRYPTED, "is encrypted"),
        (OTHER_PRIVATE, "is no Ed25519 key"),
        (b" \n", "is empty"),
    ],
    ids=["public", "no key", "broken", "encrypted", "another kind", "empty"],
)
def test_what_is_no_private_key_is_refused(passed: Path, content: bytes, words: str) -> None:
    key = passed / "wrong.pem"
    key.write_bytes(content)
    ended = attest_by(passed, "--key", key)
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert "planted" not in ended.err
    assert not (passed / "statements" / STATEMENTS).exists()


def test_a_public_key_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidError, match="is no Ed25519 key"):
        public_key(OTHER_PUBLIC)


def test_a_command_prints_the_key_and_no_shell_reads_it(passed: Path) -> None:
    key = shlex.quote(str(passed / "private.pem"))
    assert attest_by(passed, "--key-command", f"cat {key}").code == 0
    assert verify(passed).code == 0
    touched = passed / "touched"
    refused = attest_by(passed, "--key-command", f"cat {key}; touch {touched}")
    assert (refused.code, touched.exists()) == (2, False)
    assert "ended with" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a file, or a command"),
        (("--key", "private.pem", "--key-command", "cat private.pem"), "name a file, or a command"),
        (("--key-command", ""), "is empty"),
        (("--key-command", "cat 'private"), "quotation mark"),
        (("--key-command", "no-such-program-here"), "cannot be run"),
        (("--key-command", f"{sys.executable} -c \"print('planted'); exit(3)\""), "ended with 3"),
        (("--key-command", f"{sys.executable} -c ''"), "is empty"),
        (("--key", "nowhere.pem"), "cannot be read"),
    ],
    ids=["neither", "both", "no words", "open quote", "unknown", "fails", "silent", "no file"],
)
def test_a_key_that_does_not_come_is_an_error_with_a_remedy(passed: Path, words: tuple[str, ...], said: str) -> None:
    ended = attest_by(passed, *words)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert "planted" not in ended.err


@pytest.mark.parametrize("time", ["2026-11-22", "2026-13-22T08:00:00Z", "2026-11-22T08:00:00", "soon", ""])
def test_a_time_that_is_none_is_refused(passed: Path, time: str) -> None:
    ended = attest_by(passed, "--key", passed / "private.pem", "--time", time)
    assert (ended.code, "--time: is no time" in ended.err) == (2, True)


@pytest.mark.parametrize("missing", ["securesystemslib", "cryptography"])
def test_without_the_extra_an_error_says_what_to_install(
    passed: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find_spec(name))
    attest(passed, out="kept")
    for ended in (attest_by(passed, "--key", passed / "private.pem"), verify(passed, out="kept")):
        assert ended.code in {2, 3}
    ended = attest_by(passed, "--key", passed / "private.pem")
    assert (ended.code, install_command("sign") in ended.err) == (3, True)
    with pytest.raises(Exception, match=missing):
        require_installed(missing, "signing", missing, "sign")


def test_a_key_is_known_by_the_identifier_of_securesystemslib() -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32).public_key()
    assert public_key(public_pem()).keyid == SSlibKey.from_crypto(key).keyid
    assert sign(b"message", private_pem()).keyid == SSlibKey.from_crypto(key).keyid


def test_a_signature_is_of_one_message_and_one_key() -> None:
    signed = sign(b"message", private_pem())
    assert is_signed(b"message", signed.signature, public_pem())
    assert not is_signed(b"messagf", signed.signature, public_pem())
    assert not is_signed(b"message", signed.signature, public_pem(2))
    for i in (0, 31, 63):
        changed = bytes(byte ^ (j == i) for j, byte in enumerate(signed.signature))
        assert not is_signed(b"message", changed, public_pem())
    assert not is_signed(b"message", b"", public_pem())
