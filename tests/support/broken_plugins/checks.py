"""An honest audit check, and what can be wrong with one."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from leafgate.api import AuditCheck, AuditorOnly, CheckContext, CheckFinding


class SmallTable(AuditCheck):
    """Fails releases about few people."""

    use: str = "small_table"

    threat_model = "Whoever reads the release."
    formula = "fewer than 10,000 people"
    source = "counting"
    plain_failure = "the release is about too few people"

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        people = int(context.table.weight.sum())
        if people < 10_000:
            yield CheckFinding(problem="few people", fails=True, evidence={"people": AuditorOnly(people)})


class ReturnsTexts(SmallTable):
    """Returns what is no finding."""

    def run(self, context: CheckContext) -> Any:
        return ["few people"]


class SaysPass(SmallTable):
    """Would let the release through."""

    def run(self, context: CheckContext) -> Any:
        fields: dict[str, Any] = {"problem": "all is well", "fails": None}
        return [CheckFinding(**fields)]


class Prints(SmallTable):
    """Prints what it should return."""

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        print("few people")
        return ()


class WritesTable(SmallTable):
    """Sorts out what it has seen of the table."""

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        context.table.frame.iloc[0] = context.table.frame.iloc[1]
        return super().run(context)


class CallsHome(SmallTable):
    """Asks another machine."""

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        with suppress(OSError):
            socket.getaddrinfo("example.org", 443)
        return super().run(context)


class TossesCoins(SmallTable):
    """Samples the releases that it looks at, with numbers that the process shares."""

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        return [CheckFinding(problem=f"sampled {random.random()}", fails=True)]


class QuotesRelease(SmallTable):
    """Publishes the records that it objects to."""

    of_release = True

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        records = context.release.records
        rows = [] if records is None else [str(cell) for row in records.rows for cell in row]
        yield CheckFinding(problem="it has records", fails=True, evidence={"records": rows})


class Preaches(SmallTable):
    """Says what its finding means in a sentence."""

    plain_failure = "The release is about too few people."


class ReadsTable(SmallTable):
    """Says that it reads the release alone, and reads the table."""

    of_release = True


class LooksForReligion(SmallTable):
    """Objects to a column that no release of the kit has."""

    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        if "religion" in context.release.schema:
            yield CheckFinding(problem="it asks for a religion", fails=True)


BROKEN_CHECKS = (
    (LooksForReligion(), "fires"),
    (ReadsTable(), "finds"),
    (ReturnsTexts(), "finds"),
    (SaysPass(), "finds"),
    (Prints(), "finds"),
    (WritesTable(), "leaves_inputs_alone"),
    (CallsHome(), "no_network"),
    (TossesCoins(), "own_coins"),
    (TossesCoins(), "repeats"),
    (QuotesRelease(), "tells_nobody"),
    (Preaches(), "states_its_meaning"),
)
