"""What commands and report formats import beside `leafgate.api`.

Policies and what differs between two of them; release files, model files, audits and their results; stored reports
and the sentences in which they put findings; reading and writing files; options, output and exit codes of commands. A
plugin that adds commands or report formats uses it. It belongs to the same versioned interface. Each name is imported
when it is first read, so that commands which touch no data start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy_exports

if TYPE_CHECKING:
    from leafgate.api.registry import Plugins as Plugins
    from leafgate.api.registry import load_plugins as load_plugins
    from leafgate.console.exit_codes import guarded as guarded
    from leafgate.console.options import DataRoot as DataRoot
    from leafgate.console.options import PolicyFile as PolicyFile
    from leafgate.console.output import print_document as print_document
    from leafgate.console.output import say as say
    from leafgate.disclosure.document import document as document
    from leafgate.disclosure.stored import parse_report as parse_report
    from leafgate.disclosure.stored import read_report as read_report
    from leafgate.disclosure.summary import findings_by_urgency as findings_by_urgency
    from leafgate.disclosure.summary import in_short as in_short
    from leafgate.disclosure.summary import summary as summary
    from leafgate.disclosure.wording import finding_state as finding_state
    from leafgate.engine.build import publish as publish
    from leafgate.engine.report import Audit as Audit
    from leafgate.errors import ExitCode as ExitCode
    from leafgate.io.files import write_file as write_file
    from leafgate.io.json import readable as readable
    from leafgate.io.release_codec import SealedRelease as SealedRelease
    from leafgate.io.release_codec import read_release as read_release
    from leafgate.io.release_codec import serialize as serialize
    from leafgate.io.yaml import parse_yaml as parse_yaml
    from leafgate.kernel.findings import Finding as Finding
    from leafgate.kernel.findings import Limit as Limit
    from leafgate.kernel.findings import Masking as Masking
    from leafgate.kernel.findings import Report as Report
    from leafgate.kernel.findings import ScoredPeople as ScoredPeople
    from leafgate.kernel.findings import SecondaryScore as SecondaryScore
    from leafgate.kernel.findings import VisibleTo as VisibleTo
    from leafgate.kernel.tables import Tables as Tables
    from leafgate.models.load import load_release as load_release
    from leafgate.policy.load import load_policy as load_policy
    from leafgate.policy.load import policy_of as policy_of
    from leafgate.progress import progress_watched_by as progress_watched_by
    from leafgate.session.ledger_releases import GivenLedger as GivenLedger
    from leafgate.session.run import Session as Session
    from leafgate.session.run import audit_policy as audit_policy
    from leafgate.session.run import build_release as build_release
    from leafgate.session.run import granted_knowledge as granted_knowledge
    from leafgate.session.run import open_session as open_session

__getattr__, __dir__ = lazy_exports(__name__)
