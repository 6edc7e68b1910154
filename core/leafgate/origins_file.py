"""The file in which an owner keeps whose the records of a release are, `leafgate/origins/1`."""

from __future__ import annotations

from leafgate.release_file import Sealed
from leafgate.strict_json import readable

FORMAT = "leafgate/origins/1"


def origins_document(sealed: Sealed) -> bytes:
    """For each published record the row of the table (sorted, equal people together, no key) it was made from."""
    return readable({"format": FORMAT, "release": sealed.sha256, "rows": list(sealed.origins or ())})
