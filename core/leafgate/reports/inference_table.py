"""The table of what attacks infer of a column: beside imputation without the model, and beside control people.

Its numbers stand in the evidence of findings for auditors. Other evidence may use the same keys for something else, so
that a finding without all of these numbers has no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leafgate.disclosure.wording import number_words
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean

HEADINGS = (
    "attack and column",
    "measure",
    "prior",
    "imputation",
    "attack on the table",
    "attack on control",
    "leak over imputation",
    "leak beyond control",
    "certain people",
)
"""What each cell of a row holds."""
TITLE = "What attacks infer of an input"
READING = (
    "Imputation infers the column from all that an attack knows but the model, and the prior is the commonest value; "
    "what the attack gains over imputation for people of the table is the first leak, and by how much that exceeds its "
    "gain for people of the control, whom the model has never seen, is the second. The value of certain people is "
    "proved: the release excludes all values but one of somebody who is in the table."
)
"""How the table is read."""
MEASURES = {"accuracy": "accuracy", "ppv": "PPV of the {top} surest", "mcc": "MCC"}
LARGEST_LEAK = 2.0
"""Rates lie between -1 and 1, and so do gains of the table and of the control: leaks are no larger."""
MAX_COUNT = 2**53
MAX_DETERMINING = 5
"""Columns that are named in one cell."""


@dataclass(frozen=True)
class Cell:
    """A cell of the table: its text, and a note below it, which may be empty."""

    text: str
    note: str = ""


NOTHING = Cell("-")
Row = tuple[Cell, ...]
"""As many cells as there are headings."""


def inference_rows(findings: Sequence[JsonObject]) -> Iterator[Row]:
    """A row for each attack, column and measure, each row once; without rates where people are certain alone.

    Args:
        findings: of a report, in the order of the rows.
    """
    certain: dict[tuple[object, object], Cell] = {}
    for finding in findings:
        if cell := _certain_people(finding["evidence"]):
            certain.setdefault(_whose(finding), cell)
    with_rates: set[tuple[object, object]] = set()
    rows: list[Row] = []
    for finding in findings:
        if rates := _rates(finding["evidence"]):
            with_rates.add(_whose(finding))
            rows.append((_name(finding), *rates, certain.get(_whose(finding), NOTHING)))
    for finding in findings:
        if _whose(finding) in certain.keys() - with_rates:
            rows.append((_name(finding), *[NOTHING] * (len(HEADINGS) - 2), certain[_whose(finding)]))
    yield from dict.fromkeys(rows)


def _whose(finding: JsonObject) -> tuple[object, object]:
    """The attack and the column of a finding."""
    return finding["attack"], finding["secret"]


def _name(finding: JsonObject) -> Cell:
    return Cell(clean(finding["attack"] or "-"), f"infers {clean(finding['secret'])}" if finding["secret"] else "")


def _rates(evidence: JsonObject) -> Sequence[Cell]:
    """The measure, the four columns and both leaks; empty where one of them is missing."""
    measure = evidence.get("measure")
    if not isinstance(measure, str) or measure not in MEASURES:
        return ()
    columns = ("prior", "imputation", "attack", "attack_on_control", "imputation_on_control")
    rates = [_number(evidence, "columns", name, measure) for name in columns]
    leaks = [
        [_number(evidence, "leaks", name, end) for end in ("value", "low", "high")]
        for name in ("over_imputation", "over_control")
    ]
    if None in [*rates, *leaks[0], *leaks[1]]:
        return ()
    prior, imputation, attack, on_control, imputed_control = map(_digits, rates)
    (over_imputation, *first_ends), (over_control, *second_ends) = (map(_digits, leak) for leak in leaks)
    notes = [" to ".join(first_ends), _determined(evidence.get("determined_by"))]
    top = evidence.get("top")
    return (
        Cell(
            MEASURES[measure].format(top=number_words(top) if _is_count(top) else "people"),
            f"to have {clean(of_value)}" if isinstance(of_value := evidence.get("of_value"), str) else "",
        ),
        Cell(prior),
        Cell(imputation),
        Cell(attack),
        Cell(on_control, f"imputation {imputed_control}"),
        Cell(over_imputation, "; ".join(filter(None, notes))),
        Cell(over_control, " to ".join(second_ends)),
    )


def _certain_people(evidence: JsonObject) -> Cell | None:
    """How many people are certain, and how often the same proof is right; None where that is not in the evidence."""
    proved, asked, rightly = (evidence.get(key) for key in ("proved", "people_asked", "proved_rightly"))
    if not (_is_count(proved) and _is_count(asked) and _is_count(rightly)):
        return None
    notes = [] if rightly == proved else [f"{number_words(rightly)} of them rightly"]
    control = evidence.get("on_control")
    if isinstance(control, Mapping):
        elsewhere, right = control.get("proved"), control.get("right")
        if _is_count(elsewhere) and _is_count(right) and elsewhere:
            notes.append(f"on control {number_words(elsewhere)}, {number_words(right)} of them rightly")
    return Cell(f"{number_words(proved)} of {number_words(asked)}", "; ".join(notes))


def _determined(names: object) -> str:
    """Why no gain is claimed: the columns of which the secret is a function; empty where there are none."""
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        return ""
    more = f" and {len(names) - MAX_DETERMINING} more" if len(names) > MAX_DETERMINING else ""
    named = " and ".join(clean(str(name), LONGEST) for name in names[:MAX_DETERMINING])
    return f"a function of {named}{more}: no gain is claimed"


def _number(evidence: object, *path: str) -> float | None:
    """The rate or leak at a path of keys; None where there is none."""
    for key in path:
        evidence = evidence.get(key) if isinstance(evidence, Mapping) else None
    if isinstance(evidence, bool) or not isinstance(evidence, int | float):
        return None
    return evidence if abs(evidence) <= LARGEST_LEAK else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT


def _digits(rate: float | None) -> str:
    """Three digits after the point, and no minus before zero."""
    return f"{round(rate or 0.0, 3) + 0.0:.3f}"
