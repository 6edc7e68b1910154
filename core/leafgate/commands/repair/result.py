"""What a repair of a model's file came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leafgate.kernel.findings import Report

if TYPE_CHECKING:
    import pandas as pd

CANDIDATE_COLUMNS = ["step", "words", "trees", "leaves", "chosen_by", "reported", "verdict", "breaks", "headroom"]
"""The columns of the table of candidates, a row for each model that a repair tried, the given one first.

- `step`: what was done to it (scrub, coarser leaves, pruning, fewer trees, distillation, refit); `given` for itself
- `words`: how
- `trees`: how many trees it has
- `leaves`: how many leaves they have together
- `chosen_by`: its use (AUC, for example) to those whom candidates were chosen by; where nobody outside the table was at
  hand, to parts of the table that it was not fitted on, and of a cut model to its own people, which flatters
- `reported`: its use to people whom nothing was chosen by; of what does not pass it is missing
- `verdict`: of its audit, by the limits that candidates are chosen by
- `breaks`: the findings that do not pass, by their ids
- `headroom`: by what factor the tightest limit on people holds; below 1 where it is broken
"""


@dataclass(frozen=True, kw_only=True, repr=False)
class RepairResult:
    """What a repair of a file came to.

    Attributes:
        report: the audit of the new file; of the given file, or of the nearest candidate, where there is none.
        content: the new file; None where there is none.
        passes_already: does the given file pass as it is?
        lines: what was changed, or what stands in the way, a line each.
        candidates: the table of every model that was tried (CANDIDATE_COLUMNS); None where none was looked for.
    """

    report: Report
    content: bytes | None = field(default=None, repr=False)
    passes_already: bool = False
    lines: tuple[str, ...] = ()
    candidates: pd.DataFrame | None = field(default=None, repr=False, compare=False)
