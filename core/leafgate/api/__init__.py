"""All that plugin authors import, together with `leafgate.algorithms` and, for commands, `leafgate.app`.

Components  TreeBuilder, AttackModel; metrics of people (AtLeast, AtMost) and of releases (ReleaseAtLeast, ...);
            AuditCheck; DataSource, which reads files of data
Hooks       hookimpl marks the functions of a plugin; lazy("numpy") imports a heavy module on its first use
Values      Table, Schema, Release and its trees, AdversaryKnowledge, Belief, ScoringContext, what evidence is made of
Errors      InconclusiveError ("could not tell", never a pass), PolicyError, DataError, NoReleaseError, ...

docs/plugins.md explains them and says what a version of this interface promises. Each name is imported when it
is first read. The modules of this package are private:

    hookspecs       the hooks by which a plugin offers classes, commands and report formats
    components      base classes of tree builders, attacks and data sources;  metrics: those of metrics;
                    context: what a metric reads
    checks          base class of checks that run in every audit;  report_formats: what a format is
    options         types of options: ranges of numbers, names of files;  knowledge: what `knows` may grant
    plan            AuditPlan, all that the engine knows of a policy, and what a policy declares
    registry        finds, checks and loads plugins;  describe: prints what a plugin states about itself
"""

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy as lazy
from leafgate.lazy_loading import lazy_exports

if TYPE_CHECKING:
    from leafgate.api.checks import AuditCheck as AuditCheck
    from leafgate.api.checks import CheckContext as CheckContext
    from leafgate.api.checks import CheckFinding as CheckFinding
    from leafgate.api.components import ONLY_DERIVED as ONLY_DERIVED
    from leafgate.api.components import AttackModel as AttackModel
    from leafgate.api.components import DataSource as DataSource
    from leafgate.api.components import SourceFile as SourceFile
    from leafgate.api.components import Strict as Strict
    from leafgate.api.components import TreeBuilder as TreeBuilder
    from leafgate.api.context import ScoringContext as ScoringContext
    from leafgate.api.hookspecs import hookimpl as hookimpl
    from leafgate.api.metrics import AtLeast as AtLeast
    from leafgate.api.metrics import AtMost as AtMost
    from leafgate.api.metrics import Example as Example
    from leafgate.api.metrics import Metric as Metric
    from leafgate.api.metrics import RecordMetric as RecordMetric
    from leafgate.api.metrics import ReleaseAtLeast as ReleaseAtLeast
    from leafgate.api.metrics import ReleaseAtMost as ReleaseAtMost
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
    from leafgate.processes import worker_pool as worker_pool
    from leafgate.types.adversary import AdversaryKnowledge as AdversaryKnowledge
    from leafgate.types.adversary import Between as Between
    from leafgate.types.adversary import Fact as Fact
    from leafgate.types.adversary import Mechanism as Mechanism
    from leafgate.types.arrays import Codes as Codes
    from leafgate.types.arrays import Floats as Floats
    from leafgate.types.arrays import Ids as Ids
    from leafgate.types.arrays import Mask as Mask
    from leafgate.types.arrays import Rows as Rows
    from leafgate.types.belief import Belief as Belief
    from leafgate.types.belief import CellBelief as CellBelief
    from leafgate.types.belief import Certainty as Certainty
    from leafgate.types.belief import GroupBelief as GroupBelief
    from leafgate.types.belief import MechanismBelief as MechanismBelief
    from leafgate.types.belief import MembershipBelief as MembershipBelief
    from leafgate.types.belief import SecretBelief as SecretBelief
    from leafgate.types.evidence import AuditorOnly as AuditorOnly
    from leafgate.types.evidence import PeopleCount as PeopleCount
    from leafgate.types.evidence import ReleaseOnly as ReleaseOnly
    from leafgate.types.noise import Coins as Coins
    from leafgate.types.noise import Law as Law
    from leafgate.types.noise import Noise as Noise
    from leafgate.types.noise import noise_with as noise_with
    from leafgate.types.release import BuildResult as BuildResult
    from leafgate.types.release import Combine as Combine
    from leafgate.types.release import Counted as Counted
    from leafgate.types.release import NaiveBayes as NaiveBayes
    from leafgate.types.release import Records as Records
    from leafgate.types.release import Release as Release
    from leafgate.types.release import Severity as Severity
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
        "leafgate.api.components": "AttackModel DataSource ONLY_DERIVED SourceFile Strict TreeBuilder",
        "leafgate.api.context": "ScoringContext",
        "leafgate.api.hookspecs": "hookimpl",
        "leafgate.api.metrics": "AtLeast AtMost Example Metric RecordMetric ReleaseAtLeast ReleaseAtMost",
        "leafgate.api.options": "NonNegativeFloat OpenProbability OwnersFile PeopleFile PolicyFile "
        "PositiveFloat PositiveInt PositiveShare PruningConfidence Share ShareBelowOne",
        "leafgate.api.plan": "Declarations DeclaredColumn",
        "leafgate.api.report_formats": "ReportDocument ReportFormat SWEEP_PICTURE",
        "leafgate.errors": "DataError InconclusiveError InvalidError LeafgateError NoReleaseError OutputError "
        "PolicyError Problem ReleaseError UnreadableError",
        "leafgate.processes": "worker_pool",
        "leafgate.types.adversary": "AdversaryKnowledge Between Fact",
        "leafgate.types.arrays": "Codes Floats Ids Mask Rows",
        "leafgate.types.belief": "Belief CellBelief Certainty GroupBelief MechanismBelief MembershipBelief "
        "SecretBelief",
        "leafgate.types.evidence": "AuditorOnly PeopleCount ReleaseOnly",
        "leafgate.types.noise": "Coins Law Noise noise_with",
        "leafgate.types.release": "BuildResult Combine Counted NaiveBayes Records Release Severity",
        "leafgate.types.report": "lenient Unit",
        "leafgate.types.schema": "bin_of bins_between Column Hierarchy Schema Value",
        "leafgate.types.table": "distinct_rows make_table Table text_frame typed_column",
        "leafgate.types.tree": "Branch CategoricalSplit children columns_asked Leaf leaves map_leaves "
        "MAX_DEPTH Node NumericSplit",
    },
)
