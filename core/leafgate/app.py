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
    from leafgate.api.registry import load_plugins as load_plugins
    from leafgate.console.exit_codes import guarded as guarded
    from leafgate.console.options import DataRoot as DataRoot
    from leafgate.console.options import PolicyFile as PolicyFile
    from leafgate.console.output import print_document as print_document
    from leafgate.console.output import say as say
    from leafgate.disclosure.document import document as document
    from leafgate.disclosure.stored import parse_report as parse_report
    from leafgate.disclosure.stored import read_report as read_report
    from leafgate.disclosure.summary import finding_state as finding_state
    from leafgate.disclosure.summary import findings_by_urgency as findings_by_urgency
    from leafgate.engine.build import publish as publish
    from leafgate.errors import ExitCode as ExitCode
    from leafgate.io.files import write_file as write_file
    from leafgate.io.json import readable as readable
    from leafgate.io.release_codec import serialize as serialize
    from leafgate.models.load import load_release as load_release
    from leafgate.policy.load import load_policy as load_policy
    from leafgate.session.run import audit_policy as audit_policy
    from leafgate.session.run import open_session as open_session

__getattr__, __dir__ = lazy_exports(__name__)
