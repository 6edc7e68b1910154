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
    from leafgate.console.options import AsOf as AsOf
    from leafgate.console.options import Audience as Audience
    from leafgate.console.options import DataFile as DataFile
    from leafgate.console.options import DataRoot as DataRoot
    from leafgate.console.options import ExpectFile as ExpectFile
    from leafgate.console.options import ExpectPolicy as ExpectPolicy
    from leafgate.console.options import ExpectRelease as ExpectRelease
    from leafgate.console.options import JsonOutput as JsonOutput
    from leafgate.console.options import PolicyFile as PolicyFile
    from leafgate.console.options import Quiet as Quiet
    from leafgate.console.options import TestFile as TestFile
    from leafgate.console.output import print_document as print_document
    from leafgate.console.output import say as say
    from leafgate.disclosure.document import document as document
    from leafgate.disclosure.stored import parse_report as parse_report
    from leafgate.disclosure.stored import read_report as read_report
    from leafgate.disclosure.stored import report_bytes as report_bytes
    from leafgate.disclosure.summary import finding_state as finding_state
    from leafgate.disclosure.summary import findings_by_urgency as findings_by_urgency
    from leafgate.disclosure.summary import summary as summary
    from leafgate.disclosure.text import finding_details as finding_details
    from leafgate.disclosure.text import finding_headline as finding_headline
    from leafgate.disclosure.text import limit_words as limit_words
    from leafgate.disclosure.text import number_words as number_words
    from leafgate.engine.build import publish as publish
    from leafgate.errors import ExitCode as ExitCode
    from leafgate.folders import folder_files as folder_files
    from leafgate.interruptions import interrupts_deferred as interrupts_deferred
    from leafgate.io.files import EVERYONE as EVERYONE
    from leafgate.io.files import OWNER_ONLY as OWNER_ONLY
    from leafgate.io.files import make_folder as make_folder
    from leafgate.io.files import write_file as write_file
    from leafgate.io.files import write_files as write_files
    from leafgate.io.json import canonical as canonical
    from leafgate.io.json import parse_json as parse_json
    from leafgate.io.json import readable as readable
    from leafgate.io.locks import turn_in_folder as turn_in_folder
    from leafgate.io.release_codec import LoadedRelease as LoadedRelease
    from leafgate.io.release_codec import read_noise as read_noise
    from leafgate.io.release_codec import serialize as serialize
    from leafgate.io.tables.reader import read_columns as read_columns
    from leafgate.io.text import clean as clean
    from leafgate.io.yaml import parse_yaml as parse_yaml
    from leafgate.kernel.findings import EXIT_CODES as EXIT_CODES
    from leafgate.kernel.findings import REPAIR as REPAIR
    from leafgate.kernel.findings import REPAIR_CLAUSE as REPAIR_CLAUSE
    from leafgate.kernel.findings import Verdict as Verdict
    from leafgate.kernel.findings import scrub_command as scrub_command
    from leafgate.kernel.policy import Data as Data
    from leafgate.kernel.policy import Policy as Policy
    from leafgate.models.load import load_release as load_release
    from leafgate.models.lowering.encoding import Encoding as Encoding
    from leafgate.models.origins import with_origins as with_origins
    from leafgate.models.reader import read_foreign as read_foreign
    from leafgate.models.writer import model_as_file as model_as_file
    from leafgate.models.writer import object_as_file as object_as_file
    from leafgate.policy.load import load_policy as load_policy
    from leafgate.session.expected_run import ExpectedRun as ExpectedRun
    from leafgate.session.run import audit_policy as audit_policy
    from leafgate.session.run import open_session as open_session

__getattr__, __dir__ = lazy_exports(__name__)
