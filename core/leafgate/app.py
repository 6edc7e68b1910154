"""What commands and report formats import beside `leafgate.api`.

Policies, release files, writing files, options and exit codes of commands; the sentences in which reports put findings.
A plugin that adds commands or report formats uses it. It belongs to the same versioned interface. Each name is
imported when it is first read, so that commands which touch no data start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy_exports

if TYPE_CHECKING:
    from leafgate.api.registry import Plugins as Plugins
    from leafgate.console.exit_codes import guarded as guarded
    from leafgate.console.options import AsOf as AsOf
    from leafgate.console.options import ExpectFile as ExpectFile
    from leafgate.console.options import ExpectPolicy as ExpectPolicy
    from leafgate.console.options import ExpectRelease as ExpectRelease
    from leafgate.console.options import PolicyFile as PolicyFile
    from leafgate.disclosure.stored import parse_report as parse_report
    from leafgate.disclosure.text import audited_file as audited_file
    from leafgate.disclosure.text import finding_alarm as finding_alarm
    from leafgate.disclosure.text import finding_details as finding_details
    from leafgate.disclosure.text import finding_headline as finding_headline
    from leafgate.disclosure.text import group_words as group_words
    from leafgate.disclosure.text import idle_waiver_lines as idle_waiver_lines
    from leafgate.disclosure.text import limit_words as limit_words
    from leafgate.disclosure.text import middle_of_count as middle_of_count
    from leafgate.disclosure.text import number_words as number_words
    from leafgate.disclosure.text import people_words as people_words
    from leafgate.disclosure.text import quoted_name as quoted_name
    from leafgate.disclosure.text import release_words as release_words
    from leafgate.disclosure.text import verdict_words as verdict_words
    from leafgate.engine.build import publish as publish
    from leafgate.io.files import EVERYONE as EVERYONE
    from leafgate.io.files import OWNER_ONLY as OWNER_ONLY
    from leafgate.io.files import make_folder as make_folder
    from leafgate.io.files import write_file as write_file
    from leafgate.io.files import write_files as write_files
    from leafgate.io.json import JsonDocument as JsonDocument
    from leafgate.io.json import JsonObject as JsonObject
    from leafgate.io.json import are_numbers as are_numbers
    from leafgate.io.json import are_texts as are_texts
    from leafgate.io.json import canonical as canonical
    from leafgate.io.json import is_number as is_number
    from leafgate.io.json import list_at as list_at
    from leafgate.io.json import object_at as object_at
    from leafgate.io.json import parse_json as parse_json
    from leafgate.io.json import parse_number as parse_number
    from leafgate.io.json import readable as readable
    from leafgate.io.release_codec import LoadedRelease as LoadedRelease
    from leafgate.io.release_codec import read_noise as read_noise
    from leafgate.io.release_codec import serialize as serialize
    from leafgate.io.tables import read_columns as read_columns
    from leafgate.io.text import LONGEST as LONGEST
    from leafgate.io.text import clean as clean
    from leafgate.models.load import load_release as load_release
    from leafgate.models.lowering.encoding import Encoding as Encoding
    from leafgate.models.origins import with_origins as with_origins
    from leafgate.policy.load import compile_plan as compile_plan
    from leafgate.policy.load import load_policy as load_policy
    from leafgate.policy.models import Data as Data
    from leafgate.policy.models import Policy as Policy
    from leafgate.policy.sources import display_path as display_path
    from leafgate.session.expected_run import ExpectedRun as ExpectedRun
    from leafgate.types.report import EXIT_CODES as EXIT_CODES
    from leafgate.types.report import Verdict as Verdict

__getattr__ = lazy_exports(
    __name__,
    {
        "leafgate.api.registry": "Plugins",
        "leafgate.console.exit_codes": "guarded",
        "leafgate.console.options": "AsOf ExpectFile ExpectPolicy ExpectRelease PolicyFile",
        "leafgate.disclosure.stored": "parse_report",
        "leafgate.disclosure.text": "audited_file finding_alarm finding_details finding_headline group_words "
        "idle_waiver_lines limit_words middle_of_count number_words people_words quoted_name release_words "
        "verdict_words",
        "leafgate.engine.build": "publish",
        "leafgate.io.files": "EVERYONE OWNER_ONLY make_folder write_file write_files",
        "leafgate.io.json": "JsonDocument JsonObject are_numbers are_texts canonical is_number list_at object_at "
        "parse_json parse_number readable",
        "leafgate.io.release_codec": "LoadedRelease read_noise serialize",
        "leafgate.io.tables": "read_columns",
        "leafgate.io.text": "LONGEST clean",
        "leafgate.models.load": "load_release",
        "leafgate.models.lowering.encoding": "Encoding",
        "leafgate.models.origins": "with_origins",
        "leafgate.policy.load": "compile_plan load_policy",
        "leafgate.policy.models": "Data Policy",
        "leafgate.policy.sources": "display_path",
        "leafgate.session.expected_run": "ExpectedRun",
        "leafgate.types.report": "EXIT_CODES Verdict",
    },
)
