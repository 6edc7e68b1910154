"""An audit as a notebook displays it: the public report, since notebooks are passed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from leafgate.disclosure.document import document
from leafgate.engine.audit import Audit
from leafgate.reports.notebook import report_frame


@dataclass(frozen=True, repr=False)
class NotebookAudit(Audit):
    """An audit that notebooks display as the page of its public report."""

    @classmethod
    def of(cls, audit: Audit) -> Self:
        """The same audit, with a page."""
        return cls(audit.report, audit.artifact, audit.seconds)

    def _repr_html_(self) -> str:
        return report_frame(document(self.report, "public"))
