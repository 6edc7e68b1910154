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
    from leafgate.disclosure.intervals import range_of_value as range_of_value
    from leafgate.disclosure.intervals import share_range as share_range
    from leafgate.disclosure.masking import MAX_ROUNDING_BASE as MAX_ROUNDING_BASE
    from leafgate.disclosure.masking import round_coarsely as round_coarsely
    from leafgate.disclosure.schema import LimitDocument as LimitDocument
    from leafgate.disclosure.schema import MaskedScore as MaskedScore
    from leafgate.disclosure.stored import parse_report as parse_report
    from leafgate.disclosure.stored import read_report as read_report
    from leafgate.disclosure.stored import report_bytes as report_bytes
    from leafgate.disclosure.summary import FINDING_STATES as FINDING_STATES
    from leafgate.disclosure.summary import WAIVED as WAIVED
    from leafgate.disclosure.summary import FindingState as FindingState
    from leafgate.disclosure.summary import finding_state as finding_state
    from leafgate.disclosure.summary import findings_by_urgency as findings_by_urgency
    from leafgate.disclosure.summary import in_short as in_short
    from leafgate.disclosure.summary import plain_meaning as plain_meaning
    from leafgate.disclosure.summary import summary as summary
    from leafgate.disclosure.text import audited_file as audited_file
    from leafgate.disclosure.text import file_words as file_words
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
    from leafgate.disclosure.text import remedy_lines as remedy_lines
    from leafgate.disclosure.text import verdict_words as verdict_words
    from leafgate.disclosure.text import with_disclosures_once as with_disclosures_once
    from leafgate.engine.build import publish as publish
    from leafgate.engine.keepable import frequent_values as frequent_values
    from leafgate.engine.keepable import unkeepable_limits as unkeepable_limits
    from leafgate.engine.remedies.search import UNSEARCHED as UNSEARCHED
    from leafgate.errors import ExitCode as ExitCode
    from leafgate.errors import ReportError as ReportError
    from leafgate.interruptions import interrupts_deferred as interrupts_deferred
    from leafgate.io.files import EVERYONE as EVERYONE
    from leafgate.io.files import OWNER_ONLY as OWNER_ONLY
    from leafgate.io.files import clear_file as clear_file
    from leafgate.io.files import make_folder as make_folder
    from leafgate.io.files import read_bounded as read_bounded
    from leafgate.io.files import refuse_same as refuse_same
    from leafgate.io.files import remove_files as remove_files
    from leafgate.io.files import write_file as write_file
    from leafgate.io.files import write_files as write_files
    from leafgate.io.json import KEY as KEY
    from leafgate.io.json import JsonDocument as JsonDocument
    from leafgate.io.json import JsonObject as JsonObject
    from leafgate.io.json import are_numbers as are_numbers
    from leafgate.io.json import are_texts as are_texts
    from leafgate.io.json import canonical as canonical
    from leafgate.io.json import is_number as is_number
    from leafgate.io.json import list_at as list_at
    from leafgate.io.json import object_at as object_at
    from leafgate.io.json import one_of as one_of
    from leafgate.io.json import parse_json as parse_json
    from leafgate.io.json import parse_number as parse_number
    from leafgate.io.json import readable as readable
    from leafgate.io.json import refuse_unknown as refuse_unknown
    from leafgate.io.json import unknown_key as unknown_key
    from leafgate.io.locks import turn_in_folder as turn_in_folder
    from leafgate.io.release_codec import LoadedRelease as LoadedRelease
    from leafgate.io.release_codec import ReleaseArtifact as ReleaseArtifact
    from leafgate.io.release_codec import read_disclosure as read_disclosure
    from leafgate.io.release_codec import read_noise as read_noise
    from leafgate.io.release_codec import serialize as serialize
    from leafgate.io.tables.cells import DECIMAL_POINTS as DECIMAL_POINTS
    from leafgate.io.tables.cells import are_decimal_commas as are_decimal_commas
    from leafgate.io.tables.cells import is_code as is_code
    from leafgate.io.tables.reader import read_columns as read_columns
    from leafgate.io.tables.witness import answers_in as answers_in
    from leafgate.io.tables.witness import read_answer_cells as read_answer_cells
    from leafgate.io.text import LONGEST as LONGEST
    from leafgate.io.text import clean as clean
    from leafgate.io.text import printable_line as printable_line
    from leafgate.io.text import shorten as shorten
    from leafgate.io.yaml import MAX_YAML_BYTES as MAX_YAML_BYTES
    from leafgate.io.yaml import parse_yaml as parse_yaml
    from leafgate.io.yaml import yaml_flow as yaml_flow
    from leafgate.io.yaml import yaml_number as yaml_number
    from leafgate.io.yaml import yaml_text as yaml_text
    from leafgate.ir.features import known_by as known_by
    from leafgate.ir.model import topological_order as topological_order
    from leafgate.kernel.findings import DIRECTIONS as DIRECTIONS
    from leafgate.kernel.findings import EXIT_CODES as EXIT_CODES
    from leafgate.kernel.findings import REPAIR as REPAIR
    from leafgate.kernel.findings import REPAIR_CLAUSE as REPAIR_CLAUSE
    from leafgate.kernel.findings import Direction as Direction
    from leafgate.kernel.findings import Finding as Finding
    from leafgate.kernel.findings import Report as Report
    from leafgate.kernel.findings import Verdict as Verdict
    from leafgate.kernel.findings import VisibleTo as VisibleTo
    from leafgate.kernel.findings import scrub_command as scrub_command
    from leafgate.kernel.folders import FOLDER_HEAD as FOLDER_HEAD
    from leafgate.kernel.folders import folder_files as folder_files
    from leafgate.kernel.options import ABOUT_PEOPLE as ABOUT_PEOPLE
    from leafgate.kernel.options import UNREADABLE as UNREADABLE
    from leafgate.kernel.paths import DocumentPath as DocumentPath
    from leafgate.kernel.paths import format_path as format_path
    from leafgate.kernel.policy import CsvOptions as CsvOptions
    from leafgate.kernel.policy import Data as Data
    from leafgate.kernel.policy import Policy as Policy
    from leafgate.kernel.policy import SourceLine as SourceLine
    from leafgate.kernel.witness import Answers as Answers
    from leafgate.models.exposure.categories import drop_unused_categories as drop_unused_categories
    from leafgate.models.exposure.cells import ColumnCells as ColumnCells
    from leafgate.models.exposure.cells import column_cells as column_cells
    from leafgate.models.exposure.cells import in_single_precision as in_single_precision
    from leafgate.models.exposure.cells import values_of_few as values_of_few
    from leafgate.models.exposure.implied import with_implied_disclosures as with_implied_disclosures
    from leafgate.models.load import load_release as load_release
    from leafgate.models.lowering.content import STAND_INS as STAND_INS
    from leafgate.models.lowering.content import content_of as content_of
    from leafgate.models.lowering.encoding import IDLE_CATEGORY as IDLE_CATEGORY
    from leafgate.models.lowering.encoding import Encoding as Encoding
    from leafgate.models.lowering.encoding import origins_of as origins_of
    from leafgate.models.lowering.encoding import plainly as plainly
    from leafgate.models.lowering.release import asked_features as asked_features
    from leafgate.models.lowering.release import lower_model as lower_model
    from leafgate.models.lowering.release import with_resolved_origins as with_resolved_origins
    from leafgate.models.lowering.tests import Split as Split
    from leafgate.models.lowering.tests import apply_steps as apply_steps
    from leafgate.models.lowering.tests import invert_threshold as invert_threshold
    from leafgate.models.origins import with_origins as with_origins
    from leafgate.models.points import Cells as Cells
    from leafgate.models.points import cells_of_column as cells_of_column
    from leafgate.models.points import column_edges as column_edges
    from leafgate.models.points import known_origins as known_origins
    from leafgate.models.points import rows_of as rows_of
    from leafgate.models.reader import model_bytes as model_bytes
    from leafgate.models.reader import read_foreign as read_foreign
    from leafgate.models.reader import read_model as read_model
    from leafgate.models.writer import check_original as check_original
    from leafgate.models.writer import model_as_file as model_as_file
    from leafgate.models.writer import model_writer as model_writer
    from leafgate.models.writer import object_as_file as object_as_file
    from leafgate.models.writer import writable_suffixes as writable_suffixes
    from leafgate.policy.inherit import quoted_value as quoted_value
    from leafgate.policy.load import PartialPolicy as PartialPolicy
    from leafgate.policy.load import document_of as document_of
    from leafgate.policy.load import load_policy as load_policy
    from leafgate.policy.load import policy_model as policy_model
    from leafgate.policy.load import policy_of as policy_of
    from leafgate.policy.load import read_partial_policy as read_partial_policy
    from leafgate.policy.sources import PolicyDocument as PolicyDocument
    from leafgate.policy.sources import component_name as component_name
    from leafgate.policy.sources import display_path as display_path
    from leafgate.policy.sources import files_named as files_named
    from leafgate.policy.sources import files_read as files_read
    from leafgate.policy.sources import read_policy_lines as read_policy_lines
    from leafgate.policy.strictness import PolicyChange as PolicyChange
    from leafgate.policy.strictness import compare_policies as compare_policies
    from leafgate.policy.strictness import line_of_value as line_of_value
    from leafgate.progress import progress_step as progress_step
    from leafgate.session.audit import Audit as Audit
    from leafgate.session.domains import bounds_domain as bounds_domain
    from leafgate.session.domains import is_long_list as is_long_list
    from leafgate.session.domains import list_domain as list_domain
    from leafgate.session.domains import number_domain as number_domain
    from leafgate.session.domains import rare_values as rare_values
    from leafgate.session.domains import round_bounds as round_bounds
    from leafgate.session.draft import ModelHints as ModelHints
    from leafgate.session.draft import columns_by_position as columns_by_position
    from leafgate.session.draft import model_hints as model_hints
    from leafgate.session.expected_run import ExpectedRun as ExpectedRun
    from leafgate.session.proposals import CONFIDENCE as CONFIDENCE
    from leafgate.session.proposals import MODEL_GROUP as MODEL_GROUP
    from leafgate.session.proposals import Proposal as Proposal
    from leafgate.session.proposals import SecretShares as SecretShares
    from leafgate.session.proposals import propose as propose
    from leafgate.session.proposals import smallest_group as smallest_group
    from leafgate.session.repair import CANDIDATE_COLUMNS as CANDIDATE_COLUMNS
    from leafgate.session.repair import TIME_LIMIT as TIME_LIMIT
    from leafgate.session.repair import RepairFunction as RepairFunction
    from leafgate.session.repair import RepairResult as RepairResult
    from leafgate.session.report_formats import chosen_formats as chosen_formats
    from leafgate.session.results import RELEASE as RELEASE
    from leafgate.session.results import remove_results as remove_results
    from leafgate.session.results import result_files as result_files
    from leafgate.session.results import results_folder as results_folder
    from leafgate.session.results import write_results as write_results
    from leafgate.session.run import Session as Session
    from leafgate.session.run import SharedTables as SharedTables
    from leafgate.session.run import audit_inputs_sha256 as audit_inputs_sha256
    from leafgate.session.run import audit_policy as audit_policy
    from leafgate.session.run import fitting_classes as fitting_classes
    from leafgate.session.run import open_session as open_session
    from leafgate.session.run import with_data_files as with_data_files
    from leafgate.session.undeclared import read_undeclared_table as read_undeclared_table

__getattr__ = lazy_exports(
    __name__,
    {
        "leafgate.kernel.options": "ABOUT_PEOPLE UNREADABLE",
        "leafgate.api.registry": "load_plugins Plugins",
        "leafgate.console.exit_codes": "guarded",
        "leafgate.console.options": "AsOf Audience DataFile DataRoot ExpectFile ExpectPolicy ExpectRelease "
        "JsonOutput PolicyFile Quiet TestFile",
        "leafgate.console.output": "print_document say",
        "leafgate.disclosure.document": "document",
        "leafgate.disclosure.intervals": "range_of_value share_range",
        "leafgate.disclosure.masking": "MAX_ROUNDING_BASE round_coarsely",
        "leafgate.disclosure.schema": "LimitDocument MaskedScore",
        "leafgate.disclosure.stored": "parse_report read_report report_bytes",
        "leafgate.disclosure.summary": "FINDING_STATES FindingState finding_state findings_by_urgency in_short "
        "plain_meaning summary WAIVED",
        "leafgate.disclosure.text": "audited_file file_words finding_alarm finding_details finding_headline "
        "group_words idle_waiver_lines limit_words middle_of_count number_words people_words quoted_name "
        "release_words remedy_lines verdict_words with_disclosures_once",
        "leafgate.engine.build": "publish",
        "leafgate.engine.keepable": "frequent_values unkeepable_limits",
        "leafgate.engine.remedies.search": "UNSEARCHED",
        "leafgate.errors": "ExitCode ReportError",
        "leafgate.interruptions": "interrupts_deferred",
        "leafgate.io.tables.cells": "are_decimal_commas DECIMAL_POINTS is_code",
        "leafgate.io.files": "clear_file EVERYONE make_folder OWNER_ONLY read_bounded refuse_same remove_files "
        "write_file write_files",
        "leafgate.io.locks": "turn_in_folder",
        "leafgate.io.json": "are_numbers are_texts canonical is_number JsonDocument KEY JsonObject list_at object_at "
        "one_of parse_json parse_number readable refuse_unknown unknown_key",
        "leafgate.io.release_codec": "LoadedRelease ReleaseArtifact read_disclosure read_noise serialize",
        "leafgate.io.tables.reader": "read_columns",
        "leafgate.io.tables.witness": "answers_in read_answer_cells",
        "leafgate.io.text": "clean LONGEST printable_line shorten",
        "leafgate.io.yaml": "MAX_YAML_BYTES parse_yaml yaml_flow yaml_number yaml_text",
        "leafgate.ir.features": "known_by",
        "leafgate.ir.model": "topological_order",
        "leafgate.models.points": "Cells cells_of_column column_edges known_origins rows_of",
        "leafgate.models.exposure.categories": "drop_unused_categories",
        "leafgate.models.exposure.cells": "column_cells ColumnCells in_single_precision values_of_few",
        "leafgate.models.lowering.content": "content_of STAND_INS",
        "leafgate.models.exposure.implied": "with_implied_disclosures",
        "leafgate.models.load": "load_release",
        "leafgate.models.lowering.encoding": "Encoding IDLE_CATEGORY origins_of plainly",
        "leafgate.models.lowering.release": "asked_features lower_model with_resolved_origins",
        "leafgate.models.lowering.tests": "apply_steps invert_threshold Split",
        "leafgate.models.origins": "with_origins",
        "leafgate.models.reader": "model_bytes read_foreign read_model",
        "leafgate.models.writer": "check_original model_as_file model_writer object_as_file writable_suffixes",
        "leafgate.policy.inherit": "quoted_value",
        "leafgate.policy.load": "document_of load_policy PartialPolicy policy_model policy_of read_partial_policy",
        "leafgate.kernel.policy": "CsvOptions Data Policy SourceLine",
        "leafgate.policy.sources": "component_name display_path files_named files_read PolicyDocument "
        "read_policy_lines",
        "leafgate.policy.strictness": "compare_policies line_of_value PolicyChange",
        "leafgate.progress": "progress_step",
        "leafgate.session.domains": "bounds_domain is_long_list list_domain number_domain rare_values round_bounds",
        "leafgate.session.draft": "columns_by_position model_hints ModelHints",
        "leafgate.session.expected_run": "ExpectedRun",
        "leafgate.session.proposals": "CONFIDENCE MODEL_GROUP Proposal propose SecretShares smallest_group",
        "leafgate.session.audit": "Audit",
        "leafgate.session.repair": "CANDIDATE_COLUMNS TIME_LIMIT RepairFunction RepairResult",
        "leafgate.session.report_formats": "chosen_formats",
        "leafgate.session.results": "RELEASE remove_results result_files results_folder write_results",
        "leafgate.session.run": "audit_inputs_sha256 audit_policy fitting_classes open_session Session "
        "SharedTables with_data_files",
        "leafgate.session.undeclared": "read_undeclared_table",
        "leafgate.kernel.folders": "FOLDER_HEAD folder_files",
        "leafgate.kernel.paths": "DocumentPath format_path",
        "leafgate.kernel.findings": "Direction DIRECTIONS EXIT_CODES Finding REPAIR REPAIR_CLAUSE Report Verdict "
        "VisibleTo scrub_command",
        "leafgate.kernel.witness": "Answers",
    },
)
