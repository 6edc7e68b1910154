"""Keys and signers: what is refused, and that no error shows a key."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

import stranger
from attested import STATEMENTS, attest, audited, private_pem, public_pem, verify
from command_line import Ended, leafgate
from entry_points import Load, Point, install, module
from leafgate import PolicyError
from leafgate.api import InvalidError, Signed, Signer, VerificationKey
from leafgate.app import load_plugins
from leafgate.commands.attest.ed25519 import ED25519
from leafgate.commands.attest.signing import chosen_signer
from leafgate.console.describe import plugin_lines
from leafgate.lazy_loading import install_command, require_installed
from standins import ORIGIN

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
        ED25519.public_key(OTHER_PUBLIC)


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
        require_installed(missing, "the signer", missing, "sign")


def test_a_key_is_known_by_the_identifier_of_securesystemslib() -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32).public_key()
    assert ED25519.public_key(public_pem()).keyid == SSlibKey.from_crypto(key).keyid
    assert ED25519.sign(b"message", private_pem()).keyid == SSlibKey.from_crypto(key).keyid


def test_a_signature_is_of_one_message_and_one_key() -> None:
    signed = ED25519.sign(b"message", private_pem())
    assert ED25519.verify(b"message", signed.signature, public_pem())
    assert not ED25519.verify(b"messagf", signed.signature, public_pem())
    assert not ED25519.verify(b"message", signed.signature, public_pem(2))
    for i in (0, 31, 63):
        changed = bytes(byte ^ (j == i) for j, byte in enumerate(signed.signature))
        assert not ED25519.verify(b"message", changed, public_pem())
    assert not ED25519.verify(b"message", b"", public_pem())


def sealed(message: bytes, key: bytes) -> Signed:
    return Signed(keyid=key.decode(), signature=message[::-1] + key)


def fits(message: bytes, signature: bytes, key: bytes) -> bool:
    return signature == message[::-1] + key


def known(key: bytes) -> VerificationKey:
    return VerificationKey(keyid=key.decode())


def declared(**changes: Any) -> Signer:
    fields: dict[str, Any] = {"name": "wax", "sign": sealed, "verify": fits, "public_key": known}
    return Signer(**(fields | changes))


def offering(*signers: object) -> Load:
    return lambda: module(signers=lambda: list(signers))


def test_a_signer_of_a_plugin_signs_and_verifies(passed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(declared())))
    assert f"spies ({ORIGIN}): signer wax\n" in plugin_lines(load_plugins())
    key = passed / "wax.key"
    key.write_text("ring")
    assert attest_by(passed, "--key", key, "--signer", "wax").code == 0
    assert leafgate("verify", passed / "statements", "--key", key, "--signer", "wax").code == 0
    key.write_text("other ring")
    assert leafgate("verify", passed / "statements", "--key", key, "--signer", "wax").code == 2


PAGE = (Path(__file__).resolve().parents[3] / "docs/reference/plugin-kinds.md").read_text(encoding="utf-8")
(SOURCE,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def signers" in text)


def test_the_signer_of_the_page_works_as_the_page_says(
    passed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger.install(tmp_path, "acme_hmac", SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    key, short = tmp_path / "shared.key", tmp_path / "short.key"
    key.write_bytes(bytes(range(32)))
    short.write_bytes(b"planted")
    assert attest_by(passed, "--key", key, "--signer", "hmac").code == 0
    assert leafgate("verify", passed / "statements", "--key", key, "--signer", "hmac").code == 0
    key.write_bytes(bytes(range(1, 33)))
    assert leafgate("verify", passed / "statements", "--key", key, "--signer", "hmac").code == 2
    refused = attest_by(passed, "--key", short, "--signer", "hmac")
    assert (refused.code, "has fewer than 32 bytes" in refused.err) == (2, True)


def test_an_unknown_signer_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(declared())))
    with pytest.raises(InvalidError, match=r"did you mean 'wax'\?; installed: ed25519, wax|did you mean 'wax'\?"):
        chosen_signer("waxx")
    assert chosen_signer("wax").name == "wax"


def test_the_bundled_signer_loads_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.commands.attest.signing.load_plugins", lambda: pytest.fail("plugins were loaded"))
    assert chosen_signer("ed25519") is ED25519


def test_two_plugins_with_one_signer_are_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(declared())), Point("others", offering(declared()), "Others", "2.0"))
    with pytest.raises(PolicyError, match="both offer the signer 'wax'"):
        chosen_signer("wax")


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (declared(name="ed25519"), "belongs to leafgate itself"),
        (declared(name="No Word"), "is no word of small letters"),
        (declared(sign=None), "sign is no function"),
        (declared, "which is no Signer"),
    ],
    ids=["taken", "no word", "no function", "no signer"],
)
def test_what_is_no_signer_breaks_its_plugin_alone(
    monkeypatch: pytest.MonkeyPatch, offered: object, words: str
) -> None:
    install(monkeypatch, Point("spies", offering(offered)))
    (broken,) = load_plugins().broken
    assert words in broken.problem


def fails(*words: bytes) -> Any:
    raise ValueError("planted-key")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sign": fails}, "`sign` raised ValueError in fails"),
        ({"sign": lambda *words: b"planted"}, "`sign` returned bytes, not Signed"),
        ({"verify": fails}, "`verify` raised ValueError in fails"),
        ({"verify": lambda *words: "planted"}, "`verify` returned str, not bool"),
        ({"public_key": lambda *words: None}, "`public_key` returned NoneType, not VerificationKey"),
    ],
)
def test_a_signer_that_fails_is_named_without_its_text(
    passed: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Callable[..., object]], words: str
) -> None:
    key = passed / "wax.key"
    key.write_text("ring")
    install(monkeypatch, Point("spies", offering(declared())))
    assert attest_by(passed, "--key", key, "--signer", "wax").code == 0
    install(monkeypatch, Point("spies", offering(declared(**changes))))
    command = attest_by if "sign" in changes else None
    ended = (
        command(passed, "--key", key, "--signer", "wax")
        if command
        else leafgate("verify", passed / "statements", "--key", key, "--signer", "wax")
    )
    assert (ended.code, words in ended.err) == (4, True), ended.err
    assert "planted" not in ended.err
