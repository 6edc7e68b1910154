"""The meaning of a report: how the audit was made, what its verdict states, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from leafgate.disclosure.summary import WAIVED
from leafgate.io.json import JsonObject
from leafgate.io.text import clean

MAX_COLUMNS = 40
"""Columns that are listed by name."""
BOUNDS = (
    "A pass means that the attacks of this policy, with the knowledge it grants them, stay within its limits. "
    "It says nothing about attacks that were not tried, about knowledge that was not granted, "
    "or about what other releases of the same people add.",
    "A limit that could not be checked is inconclusive and never a pass.",
)
NEXT = {
    "pass": (),
    "fail": (
        "This result means that somebody who has the release, and the knowledge that the policy grants, learns more "
        "about people than the policy allows. Change what this report says, and audit again.",
    ),
    "inconclusive": (
        "Something that the policy asks for could not be checked; the findings state why. Until it is checked, the "
        "release must not be published.",
    ),
}
LEVEL_MEANINGS = {
    "labels": "the tests of each tree, and what its leaves predict",
    "error_rates": "the tests of each tree, what its leaves predict, and how often that is wrong",
    "shares": "the tests of each tree, and the shares of the values on its leaves",
    "counts": "the tests of each tree, and how many people of each value are on its leaves",
    "records": "records of people, or what was learned of them, and no tree",
}


def published_words(method: JsonObject) -> str:
    """What the release publishes, in words; `method` is the report's threat model."""
    words = LEVEL_MEANINGS.get(method["publishes"], clean(method["publishes"]))
    return words.replace("how many people", "how many rows") if method.get("unit") == "rows" else words


def meaning(report: JsonObject) -> list[str]:
    """What follows from the verdict, what to do, and what does not follow."""
    waived = [WAIVED] if report["verdict"] == "pass" and report.get("waived") else []
    return [*NEXT[report["verdict"]], *waived, *BOUNDS]


def method_lines(report: JsonObject) -> Iterator[tuple[str, str]]:
    """The threat model as pairs of a heading and a line; none for a report without it."""
    method = report.get("method")
    if not method:
        return
    if method.get("publishes"):
        yield "Published", published_words(method)
    yield "Secret", _listed(method["secret"])
    granted = "".join(f"; {each}" for each in method["granted"])
    yield "The adversary knows", f"of everybody: {_listed(method['known'])}{granted}"
    unknown = [*([_listed(method["unknown"])] if method["unknown"] else []), *method.get("withheld", ())]
    if unknown:
        yield "It does not know", "; ".join(unknown)
    for attack in method["attacks"]:
        assumes = clean(attack["assumes"], 1000) or "does not state what it assumes"
        yield f"Attack {clean(attack['name'])}", assumes + _own_knowledge(attack) + _access(attack)
    for claim, promised in method.get("claims", {}).items():
        yield f"The release claims {clean(claim)}", clean(_promise(promised), 400)


def _own_knowledge(attack: JsonObject) -> str:
    """What an attack is granted in place of what the others are, as a sentence; empty where it is granted the same."""
    if "granted" not in attack:
        return ""
    granted = "; ".join(clean(each) for each in attack["granted"]) or "nothing but the public columns"
    withheld = "; ".join(clean(each) for each in attack.get("withheld", ()))
    unknown = f" It does not know {withheld}." if withheld else ""
    return f" This attack alone is granted: {granted}.{unknown}"


ACCESS = {
    "labels": " It asks the model for labels and does not have the file.",
    "scores": " It asks the model for scores and does not have the file.",
}


def _access(attack: JsonObject) -> str:
    """What an attack has of the model, and whom it is to tell apart, as sentences; empty where that is nothing else."""
    guessed = attack.get("candidates", 0)
    people = f" It tells apart at most {guessed} people of the table and as many others." if guessed else ""
    return ACCESS.get(attack.get("access", "file"), "") + people


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_COLUMNS} more" if len(names) > MAX_COLUMNS else ""
    return (", ".join(map(clean, names[:MAX_COLUMNS])) or "nothing") + more


def _promise(promised: JsonValue) -> str:
    """The parameters of a claim as text."""
    if isinstance(promised, Mapping):
        return ", ".join(f"{key.replace('_', ' ')} {_promise(value)}" for key, value in promised.items())
    if isinstance(promised, list | tuple):
        return "; ".join(map(_promise, promised))
    return f"{promised:.6g}" if isinstance(promised, float) else str(promised)
