"""What an attack is handed of the model: the release, or an oracle that answers for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from leafgate.errors import InconclusiveError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.schema import Column, Schema
    from leafgate.kernel.table import Table

Access = Literal["labels", "scores", "file"]
"""What an attack is handed of the model: answers with labels, answers with scores, or the release itself."""
ACCESS_LEVELS: tuple[Access, ...] = get_args(Access)
"""The same, the weakest first."""


@dataclass
class QueryLog:
    """How often an oracle was asked, and of how many rows in all."""

    calls: int = 0
    rows: int = 0


class PredictionOracle:
    """The model as somebody sees it who can ask it for predictions and does not have the file.

    It has no attribute by which the release can be reached. Attacks are not sandboxed, though: one that looks into the
    closures of the oracle's functions or through the interpreter's memory is a plugin that must not be trusted.

    Attributes:
        schema: the columns, their domains and roles, as the release states them.
        classes: the labels that the model can answer, in the order of the columns of `scores`.
        access: `labels` or `scores`.
    """

    __slots__ = ("_labels", "_log", "_scores", "access", "classes", "schema")

    def __init__(
        self,
        schema: Schema,
        classes: tuple[str, ...],
        log: QueryLog,
        labels: Callable[[Table], NDArray[np.int64]],
        scores: Callable[[Table], NDArray[np.float64]] | None = None,
    ) -> None:
        """An oracle that answers by these functions of a table, and counts in `log`.

        Args:
            schema: the columns of a query.
            classes: the labels.
            log: where queries are counted.
            labels: gives the position of each row's class, -1 for none: shape (n_rows,).
            scores: gives the score of each class, NaN for none: shape (n_rows, n_classes). None where the attack may
                ask for labels only.
        """
        self.schema, self.classes = schema, classes
        self.access: Access = "labels" if scores is None else "scores"
        self._labels, self._scores, self._log = labels, scores, log

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return self._log.calls

    @property
    def rows(self) -> int:
        """Of how many rows it was asked in all."""
        return self._log.rows

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """The label that the model predicts for each row: categorical over `classes`; missing where it has none.

        Args:
            frame: every column of the schema but the class, which is ignored, as are others: values of the declared
                domain as texts or categories, numbers, and None or NaN where a cell is missing.

        Raises:
            InconclusiveError: a column is not there or has a cell outside its domain, or what is published is not
                enough to predict.
        """
        import pandas as pd

        answers = self._labels(self._asked(frame))
        return pd.Series(pd.Categorical.from_codes(answers, categories=pd.Index(self.classes)), index=frame.index)

    def scores(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The score of each class for each row: columns `classes`; rows sum to 1, or are NaN where it has none.

        Args:
            frame: as `labels` takes it.

        Raises:
            InconclusiveError: the attack may ask for labels only; or as `labels`.
        """
        import pandas as pd

        if self._scores is None:
            raise InconclusiveError("it may ask the model for labels only, not for scores")
        return pd.DataFrame(self._scores(self._asked(frame)), index=frame.index, columns=list(self.classes))

    def _asked(self, frame: pd.DataFrame) -> Table:
        """The rows of a query as a table, a row for each; counts the query."""
        import numpy as np
        import pandas as pd

        from leafgate.kernel.table import Table

        cells = {}
        for column in self.schema.columns:
            if column.name not in frame.columns and "class" not in column.roles:
                raise InconclusiveError(f"its query lacks the column {column.name!r}")
            ignored = "class" in column.roles
            asked = pd.Series(np.nan, index=frame.index) if ignored else frame[column.name]
            cells[column.name] = _query_cells(column, asked)
        self._log.calls += 1
        self._log.rows += len(frame)
        return Table(self.schema, pd.DataFrame(cells), np.ones(len(frame), dtype=np.int64))


def _query_cells(column: Column, cells: pd.Series) -> pd.Series:
    """Cells of a query as a table holds them; InconclusiveError for one outside the column's domain."""
    import numpy as np
    import pandas as pd

    outside = InconclusiveError(f"its query has cells outside the domain of {column.name!r}")
    if column.values is None or column.holds_numbers:
        try:
            return pd.Series(cells.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            raise outside from None
    codes = pd.Index(column.values, dtype=object).get_indexer(pd.Index(cells.astype(object)))
    if ((codes < 0) & cells.notna().to_numpy()).any():
        raise outside
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(column.values)))
