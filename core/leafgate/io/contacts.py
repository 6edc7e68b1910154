"""Names and addresses as people see them: what cannot be seen, and what stays the same whatever way it is written."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Signs that count as printable and show nothing: joiners, fillers, selectors of variants, blank patterns.

Source: Unicode 15.1, DerivedCoreProperties.txt, Default_Ignorable_Code_Point, as far as these signs are of no category
C or Z; besides the letters and symbols whose glyph is empty by their name or chart (U+2800, U+13441, U+13442, U+16FE4,
U+1D159).
"""


def visible_text(text: str) -> str:
    """What of a text somebody sees, side by side: no spaces, no control signs, nothing blank."""
    return "".join(sign for sign in BLANK.sub("", text) if unicodedata.category(sign)[0] not in "CZ")


def normalize_person_name(name: str) -> str:
    """A name without what does not make it another's: case, spaces, forms of letters, signs nobody sees."""
    plain = unicodedata.normalize("NFKC", visible_text(name)).casefold()
    return unicodedata.normalize("NFC", visible_text(unicodedata.normalize("NFKC", plain)))


BRACKETS = re.compile(r"<([^<>]*)>")
COMMENTS = re.compile(r"\([^()]*\)")
ADDRESS = re.compile(r"(?<![^\s<>()\[\],;:\"@])[^\s<>()\[\],;:\"@]+@[^\s<>()\[\],;:\"@]+")
"""What may be an address in a text: something on either side of one `@`, without the signs that separate addresses."""
IDEOGRAPHIC_FULL_STOP = "\u3002"
"""Divides labels of a domain as a dot does (RFC 3490, 3.1); NFKC turns its half-width form into it."""
SEPARATORS = re.compile(r"[\W_]+")
"""What stands between two words of a name."""


@dataclass(frozen=True)
class Contact:
    """A person as a policy names them: the words of the visible name, and every e-mail address that is written.

    `addresses` are as exact as mail systems are: without case, forms of letters, a final dot, and with one spelling of
    an internationalised domain. `mailboxes` are what remains without what many providers ignore: `+tag`, and every
    sign of the local part that is neither a letter nor a digit. Both are empty where no address is written.
    """

    words: tuple[str, ...]
    addresses: frozenset[str]
    mailboxes: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The visible name in the order it is written, and in alphabetical order."""
        return frozenset({"".join(self.words), "".join(sorted(self.words))} - {""})


def contact(text: str) -> Contact:
    """The name and the addresses in what a policy says of one person: `Jane Doe <jane@example.org>`, or less.

    Whatever can be read as an address counts, for this compares two people and is to be on the safe side;
    `address_of` reads what somebody is known by.
    """
    bare = COMMENTS.sub(" ", _plain(text))
    bracketed = [inner.replace(" ", "") for inner in BRACKETS.findall(bare)]
    tight = re.sub(r"(?<! ) *@ *", "@", bare)
    written = {found for part in (tight, *bracketed) for found in ADDRESS.findall(part)}
    name = ADDRESS.sub(" ", BRACKETS.sub(" ", tight)) if written else bare
    words = tuple(filter(None, map(_letters, SEPARATORS.split(name))))
    addresses = frozenset(filter(None, map(_exact, written)))
    joined = filter(None, map(_exact, ADDRESS.findall(bare.replace(" ", ""))))
    return Contact(words, addresses, frozenset(map(_mailbox, {*addresses, *joined})))


def address_of(text: str) -> str:
    """The one address of `dpo@example.org` or `Name <dpo@example.org>`, as Contact has it; empty of anything else."""
    plain = _spaced(unicodedata.normalize("NFKC", _spaced(text)).casefold()).strip()
    name, bracket, rest = plain.partition("<")
    written = rest.removesuffix(">") if bracket else name
    whole = (not bracket or rest.endswith(">")) and not (bracket and "@" in name)
    return _exact(written) if whole and ADDRESS.fullmatch(written) else ""


def same_person(entry: str, another: str) -> bool:
    """Could two entries be one person, as far as they say? In doubt they are.

    They are where a mailbox, or the visible name, is the same. Where one of them has no address, they are also where
    the other's local part spells its name: `Jane Doe` beside jane@, doe@, jane.doe@, jdoe@ and doe.jane@example.org.
    What they do not say is not known: two mailboxes of one person are two people here.
    """
    if normalize_person_name(entry) == normalize_person_name(another):
        return True
    first, second = contact(entry), contact(another)
    if first.mailboxes & second.mailboxes or first.names & second.names:
        return True
    return any(
        not nameless.mailboxes and _spells(mailbox, nameless.words)
        for nameless, other in ((first, second), (second, first))
        for mailbox in other.addresses
    )


def _plain(text: str) -> str:
    """A text in one case and one form, one space between words, without the quotes that addresses may stand in."""
    plain = _spaced(unicodedata.normalize("NFKC", _spaced(text)).casefold())
    plain = unicodedata.normalize("NFC", plain).replace("mailto:", " ").replace(IDEOGRAPHIC_FULL_STOP, ".")
    return re.sub(r"[\s\"'`\\\[\]]+", lambda found: " " if " " in found[0] else "", plain)


def _spaced(text: str) -> str:
    """What of a text somebody sees, with a plain space for whatever separates words."""
    text = BLANK.sub("", text)
    kinds = ((sign, unicodedata.category(sign)[0]) for sign in text)
    return "".join(" " if kind == "Z" or sign in "\t\r\n\v\f" else "" if kind == "C" else sign for sign, kind in kinds)


def _letters(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(sign for sign in text if unicodedata.category(sign)[0] in "LMN")


def _exact(written: str) -> str:
    """Local part and domain in the one spelling that mail systems deliver alike; empty where either is nothing."""
    local, _, domain = written.rpartition("@")
    labels = [_label(label) for label in domain.replace(IDEOGRAPHIC_FULL_STOP, ".").split(".")]
    domain = ".".join(filter(None, labels))
    return f"{local}@{domain}" if _letters(local) and domain else ""


def _label(label: str) -> str:
    """One label of a domain, decoded where it is an A-label (RFC 5890), without signs that no label ends in."""
    label = label.strip("".join(sign for sign in label if not sign.isalnum()))
    if not label.startswith("xn--"):
        return label
    try:
        decoded = label[len("xn--") :].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", decoded).casefold()) or label


def _mailbox(exact: str) -> str:
    """An address without what many providers ignore in it: dots, a tag after `+`, signs that are no letters."""
    local, _, domain = exact.rpartition("@")
    kept = _letters(local.partition("+")[0]) or _letters(local)
    return f"{kept}@{domain}"


def _spells(exact: str, words: tuple[str, ...]) -> bool:
    """Is the local part of an address a usual form of a name: one of its words, all of them, an initial and a word?"""
    parts = [*filter(None, map(_letters, SEPARATORS.split(exact.rpartition("@")[0].partition("+")[0])))]
    local, initials = "".join(parts), {word[0] for word in words}
    if not local or not words:
        return False
    initial = (local[0] in initials and local[1:] in words) or (local[-1] in initials and local[:-1] in words)
    return initial or local in {*words, "".join(words)} or sorted(parts) == sorted(words)
