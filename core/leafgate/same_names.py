"""Names as people see them: what cannot be seen, and what a name keeps whatever way it is written."""

from __future__ import annotations

import re
import unicodedata

BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Signs that count as printable and show nothing: joiners, fillers, selectors of variants, blank patterns.

Source: Unicode 15.1, DerivedCoreProperties.txt, Default_Ignorable_Code_Point, as far as these signs are of no category
C or Z; besides the letters and symbols whose glyph is empty by their name or chart (U+2800, U+13441, U+13442, U+16FE4,
U+1D159).
"""


def seen(text: str) -> str:
    """What of a text somebody sees, side by side: no spaces, no control signs, nothing blank."""
    return "".join(sign for sign in BLANK.sub("", text) if unicodedata.category(sign)[0] not in "CZ")


def person(name: str) -> str:
    """A name without what does not make it another's: case, spaces, forms of letters, signs nobody sees."""
    plain = unicodedata.normalize("NFKC", seen(name)).casefold()
    return unicodedata.normalize("NFC", seen(unicodedata.normalize("NFKC", plain)))
