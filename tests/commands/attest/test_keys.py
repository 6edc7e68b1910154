"""Keys: what is refused, and that no error shows a key."""

from __future__ import annotations

import importlib.util
import os
import threading
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

from attested import STATEMENTS, attest, audited, private_pem, public_pem, verify
from command_line import Ended, leafgate
from leafgate.api import install_command, require_installed

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


def test_a_public_key_of_another_kind_is_refused(passed: Path) -> None:
    attest(passed)
    (passed / "other.pem").write_bytes(OTHER_PUBLIC)
    ended = verify(passed, key="other.pem")
    assert (ended.code, "is no Ed25519 key" in ended.err) == (2, True), ended.err


def test_a_key_comes_through_a_pipe(passed: Path) -> None:
    pipe = passed / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(private_pem()))
    writer.start()
    assert attest_by(passed, "--key", pipe).code == 0
    writer.join()
    assert verify(passed).code == 0


def test_a_key_that_is_not_there_is_an_error(passed: Path) -> None:
    ended = attest_by(passed, "--key", "nowhere.pem")
    assert (ended.code, "cannot be read" in ended.err) == (2, True), ended.err


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
