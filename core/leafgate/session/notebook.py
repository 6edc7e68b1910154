"""An audit as a notebook displays it: the public report, since notebooks are passed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from leafgate.api.registry import load_plugins
from leafgate.disclosure.document import document
from leafgate.engine.audit import Audit
from leafgate.session.notebook_display import report_frame


@dataclass(frozen=True, repr=False)
class NotebookAudit(Audit):
    """An audit that notebooks display as the page of its public report.

    `trusted` has the distributions that the policy trusts, whose plugins may draw it; None where it trusts all.
    """

    trusted: tuple[str, ...] | None = None

    @classmethod
    def of(cls, audit: Audit, trusted: tuple[str, ...] | None = None) -> Self:
        """The same audit, with a page."""
        return cls(audit.report, audit.artifact, audit.seconds, trusted)

    def _repr_html_(self) -> str | None:
        return report_frame(document(self.report, "public"), load_plugins(self.trusted))
