"""Case: everything a metric may look at, with the belief laid out over the table's rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from leafgate.belief import Belief, rows_for
from leafgate.errors import InconclusiveError, UnreadableError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.known import Known
    from leafgate.release import Release
    from leafgate.table import Table


@dataclass(frozen=True)
class Case:
    """What a metric scores. `belief` is None for metrics of the release alone.

    `chances`, `groups`, `truth` and `weight` have one row for each row of `table`, so that metrics
    never align anything.
    """

    table: Table
    test: Table | None
    release: Release
    known: Known
    belief: Belief | None = None

    @property
    def weight(self) -> pd.Series:
        """People who share each record."""
        import pandas as pd

        return pd.Series(self.table.weight)

    @cached_property
    def chances(self) -> pd.DataFrame:
        """What the adversary believes of each record's secret: probabilities over its domain."""
        believed = self._belief.chances
        if believed is None:
            raise UnreadableError("the attack says nothing of a secret")
        return believed.iloc[self._position].reset_index(drop=True)

    @cached_property
    def groups(self) -> pd.Series:
        """The number of the group each record is in; equal means: cannot be told apart."""
        import pandas as pd

        return pd.Series(self._belief.groups[self._position])

    @cached_property
    def truth(self) -> pd.Series:
        """The secret of each record, as it is in the table."""
        if self._belief.secret is None:
            raise UnreadableError("the attack names no secret")
        return self.table.frame[self._belief.secret]

    @property
    def _belief(self) -> Belief:
        if self.belief is None:
            raise InconclusiveError("there is no attack to judge by")
        return self.belief

    @cached_property
    def _position(self) -> NDArray[np.int64]:
        """For each row of the table, the belief's row that speaks of it."""
        own, public = self._belief.records, self.table.public[1]
        return public if own is None else rows_for(self.known, own)[public]
