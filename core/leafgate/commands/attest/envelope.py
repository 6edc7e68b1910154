"""Lines of signed statements: DSSE envelopes, each written in one way alone, so that every byte of the file counts.

Source: Dead Simple Signing Envelope v1.0.2 (envelope.md and protocol.md of secure-systems-lab/dsse).
Departure: DSSE permits spaces, further keys, URL-safe base64 and envelopes without `keyid`; here these are refused.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from leafgate.commands.attest.ed25519 import Signed
from leafgate.errors import ReportError
from leafgate.io.json import canonical, parse_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_BYTES = 64 * 1024 * 1024
"""Of a file of statements."""
AS_WRITTEN = "as `leafgate attest` writes it"


@dataclass(frozen=True)
class Envelope:
    """A statement's bytes, and a signature of them."""

    payload: bytes
    signed: Signed

    def line(self) -> bytes:
        """The envelope as a line of a file."""
        signature = {"keyid": self.signed.keyid, "sig": b64encode(self.signed.signature).decode()}
        payload = b64encode(self.payload).decode()
        return canonical({"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": [signature]}) + b"\n"


def seal(payload: bytes, sign: Callable[[bytes], Signed]) -> Envelope:
    """The envelope of a payload."""
    return Envelope(payload, sign(pre_authentication_encoding(payload)))


def pre_authentication_encoding(payload: bytes) -> bytes:
    """The bytes that a signature of a payload is of.

    >>> pre_authentication_encoding(b"{}")
    b'DSSEv1 28 application/vnd.in-toto+json 2 {}'
    """
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def lines_of(content: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    """Each line of a file of statements with its place; ReportError where the file is empty or cut off."""
    if not content.endswith(b"\n"):
        message = "does not end with a line break" if content else "is empty"
        raise ReportError(f"{message}, so that something is missing", place=place)
    for number, line in enumerate(content[:-1].split(b"\n"), 1):
        yield f"{place}: line {number}", line + b"\n"


def parse_envelope(line: bytes, place: str) -> Envelope:
    """The envelope in a line; ReportError says what is wrong with it, by the key and without its content."""
    if line == b"\n":
        raise ReportError("is empty", place=place)
    try:
        document = parse_json(line, ReportError, place)
    except ReportError:
        raise ReportError("is not JSON in UTF-8, one object in one line", place=place) from None
    problem = _problem(document)
    if problem:
        raise ReportError(problem, place=place)
    [signature] = document["signatures"]
    signed = Signed(keyid=signature["keyid"], signature=_decoded(signature["sig"], f"{place}: signatures[0].sig"))
    envelope = Envelope(_decoded(document["payload"], f"{place}: payload"), signed)
    written = envelope.line()
    if written != line:
        pairs = enumerate(zip(line, written, strict=False), 1)
        first = next((i for i, (ours, theirs) in pairs if ours != theirs), min(len(line), len(written)) + 1)
        raise ReportError(f"is not written {AS_WRITTEN}: byte {first} is another one", place=place)
    return envelope


def _problem(document: object) -> str:
    """What is wrong with the keys and the types of an envelope; empty where nothing is."""
    if not isinstance(document, dict):
        return "is no object"
    if problem := _problem_of_keys(document, {"payload", "payloadType", "signatures"}):
        return problem
    if document["payloadType"] != PAYLOAD_TYPE:
        return f"payloadType: is not {PAYLOAD_TYPE}"
    signatures = document["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1 or not isinstance(signatures[0], dict):
        return "signatures: is no list of one signature"
    if problem := _problem_of_keys(signatures[0], {"keyid", "sig"}):
        return f"signatures[0]: {problem}"
    texts = {"payload": document["payload"], **{f"signatures[0].{key}": each for key, each in signatures[0].items()}}
    return next((f"{key}: is no text" for key, each in texts.items() if not isinstance(each, str)), "")


def _problem_of_keys(document: dict[str, object], keys: set[str]) -> str:
    if missing := sorted(keys - document.keys()):
        return f"has no {missing[0]!r}"
    return f"has {len(document.keys() - keys)} key(s) that are not signed" if document.keys() - keys else ""


def _decoded(text: str, place: str) -> bytes:
    """The bytes of a text in base64; ReportError where it is none, or is another text of these bytes."""
    try:
        content = b64decode(text, validate=True)
    except ValueError:
        raise ReportError("is not base64", place=place) from None
    if b64encode(content).decode() != text:
        raise ReportError(f"is not base64 {AS_WRITTEN}", place=place)
    return content
