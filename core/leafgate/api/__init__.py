"""All that plugin authors import, together with `leafgate.algorithms` and, for commands, `leafgate.app`.

Components  TreeBuilder, AttackModel; metrics of people (AtLeast, AtMost) and of releases (ReleaseAtLeast, ...);
            AuditCheck; DataSource, which reads files of data, and DataEngine, which counts records
Hooks       hookimpl marks the functions of a plugin; lazy("numpy") imports a heavy module on its first use
Values      Table, Schema, Release and its trees, AdversaryKnowledge, ScoringContext, what evidence is made of
Beliefs     GroupBelief, SecretBelief, CellBelief, MembershipBelief, AttributeBelief, MechanismBelief
Models      ModelReader, ModelIR and its trees, JSON, zip and XML within bounds: for readers of model files
Errors      InconclusiveError ("could not tell", never a pass), PolicyError, DataError, NoReleaseError, ...

docs/reference/plugins.md explains them and says what a version of this interface promises. Each name is imported when
it is first read. The modules of this package are private:

    hookspecs       the hooks by which a plugin offers classes, commands and report formats
    components      base classes of tree builders, attacks and data sources;  metrics: those of metrics;
                    context: what a metric reads
    checks          base class of checks that run in every audit;  report_formats: what a format is;
                    model_readers: what a reader is
    options         types of options: ranges of numbers, names of files;  knowledge: what `knows` may grant
    plan            AuditPlan, all that the engine knows of a policy, and what a policy declares
    registry        finds, checks and loads plugins
"""

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy as lazy
from leafgate.lazy_loading import lazy_exports
from leafgate.lazy_loading import optional_module as optional_module
from leafgate.lazy_loading import require_installed as require_installed

if TYPE_CHECKING:
    from leafgate.api.checks import AuditCheck as AuditCheck
    from leafgate.api.checks import CheckContext as CheckContext
    from leafgate.api.checks import CheckFinding as CheckFinding
    from leafgate.api.components import ONLY_DERIVED as ONLY_DERIVED
    from leafgate.api.components import AttackModel as AttackModel
    from leafgate.api.components import DataEngine as DataEngine
    from leafgate.api.components import DataLocation as DataLocation
    from leafgate.api.components import DataSource as DataSource
    from leafgate.api.components import SourceFile as SourceFile
    from leafgate.api.components import Strict as Strict
    from leafgate.api.components import TreeBuilder as TreeBuilder
    from leafgate.api.context import ScoringContext as ScoringContext
    from leafgate.api.hookspecs import hookimpl as hookimpl
    from leafgate.api.metrics import ABOUT_GROUPS as ABOUT_GROUPS
    from leafgate.api.metrics import ABOUT_SECRETS as ABOUT_SECRETS
    from leafgate.api.metrics import AtLeast as AtLeast
    from leafgate.api.metrics import AtMost as AtMost
    from leafgate.api.metrics import Example as Example
    from leafgate.api.metrics import Metric as Metric
    from leafgate.api.metrics import PersonMetric as PersonMetric
    from leafgate.api.metrics import ReleaseAtLeast as ReleaseAtLeast
    from leafgate.api.metrics import ReleaseAtMost as ReleaseAtMost
    from leafgate.api.metrics import ReleaseMetric as ReleaseMetric
    from leafgate.api.metrics import Score as Score
    from leafgate.api.metrics import ValueMetric as ValueMetric
    from leafgate.api.model_readers import ModelReader as ModelReader
    from leafgate.api.model_readers import ReaderTexts as ReaderTexts
    from leafgate.api.model_readers import Vocabulary as Vocabulary
    from leafgate.api.options import CacheFolder as CacheFolder
    from leafgate.api.options import NonNegativeFloat as NonNegativeFloat
    from leafgate.api.options import OpenProbability as OpenProbability
    from leafgate.api.options import OwnersFile as OwnersFile
    from leafgate.api.options import PeopleFile as PeopleFile
    from leafgate.api.options import PolicyFile as PolicyFile
    from leafgate.api.options import PositiveFloat as PositiveFloat
    from leafgate.api.options import PositiveInt as PositiveInt
    from leafgate.api.options import PositiveShare as PositiveShare
    from leafgate.api.options import PruningConfidence as PruningConfidence
    from leafgate.api.options import Share as Share
    from leafgate.api.options import ShareBelowOne as ShareBelowOne
    from leafgate.api.plan import Declarations as Declarations
    from leafgate.api.plan import DeclaredColumn as DeclaredColumn
    from leafgate.api.report_formats import SWEEP_PICTURE as SWEEP_PICTURE
    from leafgate.api.report_formats import ReportDocument as ReportDocument
    from leafgate.api.report_formats import ReportFormat as ReportFormat
    from leafgate.bounded.json import parse_bounded_json as parse_bounded_json
    from leafgate.bounded.objects import ObjectView as ObjectView
    from leafgate.bounded.objects import as_tuple as as_tuple
    from leafgate.bounded.objects import printable_name as printable_name
    from leafgate.bounded.objects import view_object as view_object
    from leafgate.bounded.xml import parse_bounded_xml as parse_bounded_xml
    from leafgate.bounded.zip import ZipParts as ZipParts
    from leafgate.bounded.zip import parse_bounded_zip as parse_bounded_zip
    from leafgate.bounded.zip import stray_bytes as stray_bytes
    from leafgate.errors import DataError as DataError
    from leafgate.errors import InconclusiveError as InconclusiveError
    from leafgate.errors import InvalidError as InvalidError
    from leafgate.errors import LeafgateError as LeafgateError
    from leafgate.errors import NoReleaseError as NoReleaseError
    from leafgate.errors import OutputError as OutputError
    from leafgate.errors import PolicyError as PolicyError
    from leafgate.errors import Problem as Problem
    from leafgate.errors import ReleaseError as ReleaseError
    from leafgate.errors import UnreadableError as UnreadableError
    from leafgate.errors import nearest_name as nearest_name
    from leafgate.ir.arrays import BitSets as BitSets
    from leafgate.ir.arrays import CategoryBudget as CategoryBudget
    from leafgate.ir.arrays import TreeIRBuilder as TreeIRBuilder
    from leafgate.ir.arrays import floats_at as floats_at
    from leafgate.ir.arrays import integers_at as integers_at
    from leafgate.ir.arrays import reachable_nodes as reachable_nodes
    from leafgate.ir.arrays import refuse_many_categories as refuse_many_categories
    from leafgate.ir.features import LOOKUP_ROUNDING as LOOKUP_ROUNDING
    from leafgate.ir.features import SINGLE_PRECISION as SINGLE_PRECISION
    from leafgate.ir.features import ArithmeticStep as ArithmeticStep
    from leafgate.ir.features import CategoryCodes as CategoryCodes
    from leafgate.ir.features import LookupPrecision as LookupPrecision
    from leafgate.ir.features import MissingIndicator as MissingIndicator
    from leafgate.ir.features import Numeric as Numeric
    from leafgate.ir.features import OneHot as OneHot
    from leafgate.ir.features import Operation as Operation
    from leafgate.ir.features import Origin as Origin
    from leafgate.ir.features import Unresolved as Unresolved
    from leafgate.ir.features import after_steps as after_steps
    from leafgate.ir.features import distinct_names as distinct_names
    from leafgate.ir.features import number_codes as number_codes
    from leafgate.ir.features import with_zero_missing as with_zero_missing
    from leafgate.ir.model import COUNTS_DISCLOSURE as COUNTS_DISCLOSURE
    from leafgate.ir.model import LEAF as LEAF
    from leafgate.ir.model import LEARNER_SETTINGS as LEARNER_SETTINGS
    from leafgate.ir.model import LISTED_SETTINGS as LISTED_SETTINGS
    from leafgate.ir.model import NUMBERS_DISCLOSURE as NUMBERS_DISCLOSURE
    from leafgate.ir.model import RATIOS_DISCLOSURE as RATIOS_DISCLOSURE
    from leafgate.ir.model import SCORES_DISCLOSURE as SCORES_DISCLOSURE
    from leafgate.ir.model import SIZES_DISCLOSURE as SIZES_DISCLOSURE
    from leafgate.ir.model import CategoryList as CategoryList
    from leafgate.ir.model import LeafValueKind as LeafValueKind
    from leafgate.ir.model import LearnerSetting as LearnerSetting
    from leafgate.ir.model import ModelIR as ModelIR
    from leafgate.ir.model import TreeIR as TreeIR
    from leafgate.ir.model import boosted_model as boosted_model
    from leafgate.ir.node_numbers import NO_SAMPLING as NO_SAMPLING
    from leafgate.ir.node_numbers import Hessians as Hessians
    from leafgate.ir.node_numbers import NodeNumbers as NodeNumbers
    from leafgate.ir.node_numbers import NumberKind as NumberKind
    from leafgate.ir.node_numbers import Sampling as Sampling
    from leafgate.ir.unread import LETTERS_PER_NUMBER as LETTERS_PER_NUMBER
    from leafgate.ir.unread import MANY_NUMBERS as MANY_NUMBERS
    from leafgate.ir.unread import ContentField as ContentField
    from leafgate.ir.unread import ContentKind as ContentKind
    from leafgate.ir.unread import UnreadTracker as UnreadTracker
    from leafgate.ir.unread import content_size as content_size
    from leafgate.ir.unread import has_known_words as has_known_words
    from leafgate.ir.unread import number_array as number_array
    from leafgate.ir.unread import text_size as text_size
    from leafgate.ir.validate import MAX_FEATURES as MAX_FEATURES
    from leafgate.processes import worker_pool as worker_pool
    from leafgate.progress import report_progress as report_progress
    from leafgate.types.adversary import AdversaryKnowledge as AdversaryKnowledge
    from leafgate.types.adversary import Between as Between
    from leafgate.types.adversary import Candidates as Candidates
    from leafgate.types.adversary import Fact as Fact
    from leafgate.types.adversary import Mechanism as Mechanism
    from leafgate.types.adversary import Membership as Membership
    from leafgate.types.adversary import PredictionOracle as PredictionOracle
    from leafgate.types.adversary import Targets as Targets
    from leafgate.types.arrays import Codes as Codes
    from leafgate.types.arrays import CompactIds as CompactIds
    from leafgate.types.arrays import Floats as Floats
    from leafgate.types.arrays import Ids as Ids
    from leafgate.types.arrays import Mask as Mask
    from leafgate.types.arrays import Rows as Rows
    from leafgate.types.belief import AttributeBelief as AttributeBelief
    from leafgate.types.belief import Belief as Belief
    from leafgate.types.belief import CellBelief as CellBelief
    from leafgate.types.belief import Certainty as Certainty
    from leafgate.types.belief import GroupBelief as GroupBelief
    from leafgate.types.belief import MechanismBelief as MechanismBelief
    from leafgate.types.belief import MembershipBelief as MembershipBelief
    from leafgate.types.belief import PlantedLeak as PlantedLeak
    from leafgate.types.belief import SecretBelief as SecretBelief
    from leafgate.types.evidence import AuditorOnly as AuditorOnly
    from leafgate.types.evidence import PeopleCount as PeopleCount
    from leafgate.types.evidence import ReleaseOnly as ReleaseOnly
    from leafgate.types.large_table import LargeTable as LargeTable
    from leafgate.types.noise import Coins as Coins
    from leafgate.types.noise import Law as Law
    from leafgate.types.noise import Noise as Noise
    from leafgate.types.noise import noise_with as noise_with
    from leafgate.types.release import NOT_STATED as NOT_STATED
    from leafgate.types.release import BuildResult as BuildResult
    from leafgate.types.release import Claim as Claim
    from leafgate.types.release import Combine as Combine
    from leafgate.types.release import Counted as Counted
    from leafgate.types.release import FileDisclosure as FileDisclosure
    from leafgate.types.release import Learner as Learner
    from leafgate.types.release import Level as Level
    from leafgate.types.release import NaiveBayes as NaiveBayes
    from leafgate.types.release import Records as Records
    from leafgate.types.release import Release as Release
    from leafgate.types.release import Severity as Severity
    from leafgate.types.report import Remedy as Remedy
    from leafgate.types.report import Unit as Unit
    from leafgate.types.report import lenient as lenient
    from leafgate.types.schema import Column as Column
    from leafgate.types.schema import Hierarchy as Hierarchy
    from leafgate.types.schema import Schema as Schema
    from leafgate.types.schema import Value as Value
    from leafgate.types.schema import bin_of as bin_of
    from leafgate.types.schema import bins_between as bins_between
    from leafgate.types.table import Table as Table
    from leafgate.types.table import distinct_rows as distinct_rows
    from leafgate.types.table import make_table as make_table
    from leafgate.types.table import text_frame as text_frame
    from leafgate.types.table import typed_column as typed_column
    from leafgate.types.tree import MAX_DEPTH as MAX_DEPTH
    from leafgate.types.tree import MAX_TREES as MAX_TREES
    from leafgate.types.tree import Branch as Branch
    from leafgate.types.tree import CategoricalSplit as CategoricalSplit
    from leafgate.types.tree import Leaf as Leaf
    from leafgate.types.tree import Node as Node
    from leafgate.types.tree import NumericSplit as NumericSplit
    from leafgate.types.tree import children as children
    from leafgate.types.tree import columns_asked as columns_asked
    from leafgate.types.tree import leaves as leaves
    from leafgate.types.tree import map_leaves as map_leaves

__getattr__ = lazy_exports(
    __name__,
    {
        "leafgate.api.checks": "AuditCheck CheckContext CheckFinding",
        "leafgate.api.components": "AttackModel DataEngine DataLocation DataSource ONLY_DERIVED SourceFile Strict "
        "TreeBuilder",
        "leafgate.api.context": "ScoringContext",
        "leafgate.api.hookspecs": "hookimpl",
        "leafgate.api.metrics": "ABOUT_GROUPS ABOUT_SECRETS AtLeast AtMost Example Metric PersonMetric "
        "ReleaseAtLeast ReleaseAtMost ReleaseMetric Score ValueMetric",
        "leafgate.api.model_readers": "ModelReader ReaderTexts Vocabulary",
        "leafgate.api.options": "CacheFolder NonNegativeFloat OpenProbability OwnersFile PeopleFile PolicyFile "
        "PositiveFloat PositiveInt PositiveShare PruningConfidence Share ShareBelowOne",
        "leafgate.api.plan": "Declarations DeclaredColumn",
        "leafgate.api.report_formats": "ReportDocument ReportFormat SWEEP_PICTURE",
        "leafgate.bounded.json": "parse_bounded_json",
        "leafgate.bounded.objects": "as_tuple ObjectView printable_name view_object",
        "leafgate.bounded.xml": "parse_bounded_xml",
        "leafgate.bounded.zip": "parse_bounded_zip stray_bytes ZipParts",
        "leafgate.errors": "DataError InconclusiveError InvalidError LeafgateError nearest_name NoReleaseError "
        "OutputError PolicyError Problem ReleaseError UnreadableError",
        "leafgate.ir.arrays": "BitSets CategoryBudget floats_at integers_at reachable_nodes refuse_many_categories "
        "TreeIRBuilder",
        "leafgate.ir.features": "after_steps ArithmeticStep CategoryCodes distinct_names LOOKUP_ROUNDING "
        "LookupPrecision MissingIndicator number_codes Numeric OneHot Operation Origin SINGLE_PRECISION "
        "Unresolved with_zero_missing",
        "leafgate.ir.model": "boosted_model CategoryList COUNTS_DISCLOSURE LEAF LeafValueKind LEARNER_SETTINGS "
        "LearnerSetting LISTED_SETTINGS ModelIR NUMBERS_DISCLOSURE RATIOS_DISCLOSURE SCORES_DISCLOSURE "
        "SIZES_DISCLOSURE TreeIR",
        "leafgate.ir.node_numbers": "Hessians NO_SAMPLING NodeNumbers NumberKind Sampling",
        "leafgate.ir.unread": "content_size ContentField ContentKind has_known_words LETTERS_PER_NUMBER "
        "MANY_NUMBERS number_array text_size UnreadTracker",
        "leafgate.ir.validate": "MAX_FEATURES",
        "leafgate.processes": "worker_pool",
        "leafgate.progress": "report_progress",
        "leafgate.types.adversary": "AdversaryKnowledge Between Candidates Fact Membership PredictionOracle Targets",
        "leafgate.types.arrays": "Codes CompactIds Floats Ids Mask Rows",
        "leafgate.types.belief": "AttributeBelief Belief CellBelief Certainty GroupBelief MechanismBelief "
        "MembershipBelief PlantedLeak SecretBelief",
        "leafgate.types.evidence": "AuditorOnly PeopleCount ReleaseOnly",
        "leafgate.types.noise": "Coins Law Noise noise_with",
        "leafgate.types.release": "BuildResult Claim Combine Counted FileDisclosure Learner Level NaiveBayes "
        "NOT_STATED Records Release Severity",
        "leafgate.types.report": "lenient Remedy Unit",
        "leafgate.types.schema": "bin_of bins_between Column Hierarchy Schema Value",
        "leafgate.types.large_table": "LargeTable",
        "leafgate.types.table": "distinct_rows make_table Table text_frame typed_column",
        "leafgate.types.tree": "Branch CategoricalSplit children columns_asked Leaf leaves map_leaves MAX_DEPTH "
        "MAX_TREES Node NumericSplit",
    },
)
