"""All that plugin authors import, together with `leafgate.algorithms`, `leafgate.readers` and `leafgate.app`.

Components  TreeBuilder, AttackModel; metrics of people (AtLeast, AtMost) and of releases (ReleaseAtLeast, ...);
            DataSource, which reads files of data, and DataEngine, which counts records
Hooks       hookimpl marks the functions of a plugin; lazy("numpy") imports a heavy module on its first use
Values      Table, Schema, Release and its trees, AdversaryKnowledge, ScoringContext, what evidence is made of
Beliefs     GroupBelief, SecretBelief, CellBelief, MembershipBelief, AttributeBelief,
            TableBelief, MechanismBelief
Errors      InconclusiveError ("could not tell", never a pass), PolicyError, DataError, NoReleaseError, ...

docs/reference/plugins.md explains them and says what a version of this interface promises. Each name is imported when
it is first read. The modules of this package are private:

    hookspecs       the hooks by which a plugin offers classes, commands and report formats
    components      base classes of tree builders, attacks and data sources;  metrics: those of metrics;
                    context: what a metric reads
    report_formats  what a format is
    options         types of options: ranges of numbers, names of files;  knowledge: what `knows` may grant
    policy          the policy, which builders, attacks and metrics are parts of
    registry        finds and loads plugins;  offers: checks what they offer
"""

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy as lazy
from leafgate.lazy_loading import lazy_exports
from leafgate.lazy_loading import require_installed as require_installed

if TYPE_CHECKING:
    from leafgate.api.data_engines import DataEngine as DataEngine
    from leafgate.api.decorators import attack as attack
    from leafgate.api.decorators import person_metric as person_metric
    from leafgate.api.decorators import release_metric as release_metric
    from leafgate.api.hookspecs import hookimpl as hookimpl
    from leafgate.api.report_formats import ReportDocument as ReportDocument
    from leafgate.api.report_formats import ReportFormat as ReportFormat
    from leafgate.api.text_frames import text_frame as text_frame
    from leafgate.errors import DataError as DataError
    from leafgate.errors import InconclusiveError as InconclusiveError
    from leafgate.errors import InvalidError as InvalidError
    from leafgate.errors import LeafgateError as LeafgateError
    from leafgate.errors import NoReleaseError as NoReleaseError
    from leafgate.errors import PolicyError as PolicyError
    from leafgate.errors import ReleaseError as ReleaseError
    from leafgate.errors import UnreadableError as UnreadableError
    from leafgate.kernel.arrays import Codes as Codes
    from leafgate.kernel.arrays import Floats as Floats
    from leafgate.kernel.arrays import Ids as Ids
    from leafgate.kernel.arrays import Mask as Mask
    from leafgate.kernel.belief import UNPLANTED as UNPLANTED
    from leafgate.kernel.belief import AttributeBelief as AttributeBelief
    from leafgate.kernel.belief import Belief as Belief
    from leafgate.kernel.belief import CellBelief as CellBelief
    from leafgate.kernel.belief import GroupBelief as GroupBelief
    from leafgate.kernel.belief import MechanismBelief as MechanismBelief
    from leafgate.kernel.belief import MembershipBelief as MembershipBelief
    from leafgate.kernel.belief import PlantedLeak as PlantedLeak
    from leafgate.kernel.belief import SecretBelief as SecretBelief
    from leafgate.kernel.belief import TableBelief as TableBelief
    from leafgate.kernel.components import ONLY_DERIVED as ONLY_DERIVED
    from leafgate.kernel.components import AttackModel as AttackModel
    from leafgate.kernel.components import Component as Component
    from leafgate.kernel.components import DataSource as DataSource
    from leafgate.kernel.components import SourceFile as SourceFile
    from leafgate.kernel.components import TreeBuilder as TreeBuilder
    from leafgate.kernel.context import ScoringContext as ScoringContext
    from leafgate.kernel.evidence import AuditorOnly as AuditorOnly
    from leafgate.kernel.evidence import PeopleCount as PeopleCount
    from leafgate.kernel.facts import Between as Between
    from leafgate.kernel.facts import Fact as Fact
    from leafgate.kernel.findings import Public as Public
    from leafgate.kernel.findings import Remedy as Remedy
    from leafgate.kernel.findings import Unit as Unit
    from leafgate.kernel.inheritance import LESS as LESS
    from leafgate.kernel.inheritance import MORE as MORE
    from leafgate.kernel.knowledge import AdversaryKnowledge as AdversaryKnowledge
    from leafgate.kernel.knowledge import Candidates as Candidates
    from leafgate.kernel.knowledge import Mechanism as Mechanism
    from leafgate.kernel.knowledge import Targets as Targets
    from leafgate.kernel.large_table import LargeTable as LargeTable
    from leafgate.kernel.leaf import Leaf as Leaf
    from leafgate.kernel.metrics import ABOUT_GROUPS as ABOUT_GROUPS
    from leafgate.kernel.metrics import AtLeast as AtLeast
    from leafgate.kernel.metrics import AtMost as AtMost
    from leafgate.kernel.metrics import Example as Example
    from leafgate.kernel.metrics import Metric as Metric
    from leafgate.kernel.metrics import PersonMetric as PersonMetric
    from leafgate.kernel.metrics import ReleaseAtLeast as ReleaseAtLeast
    from leafgate.kernel.metrics import ReleaseAtMost as ReleaseAtMost
    from leafgate.kernel.metrics import ReleaseMetric as ReleaseMetric
    from leafgate.kernel.metrics import Score as Score
    from leafgate.kernel.metrics import ValueMetric as ValueMetric
    from leafgate.kernel.noise import Law as Law
    from leafgate.kernel.noise import Noise as Noise
    from leafgate.kernel.noise import noise_with as noise_with
    from leafgate.kernel.options import NonNegativeFloat as NonNegativeFloat
    from leafgate.kernel.options import OpenProbability as OpenProbability
    from leafgate.kernel.options import OwnersFile as OwnersFile
    from leafgate.kernel.options import PeopleFile as PeopleFile
    from leafgate.kernel.options import PositiveFloat as PositiveFloat
    from leafgate.kernel.options import PositiveInt as PositiveInt
    from leafgate.kernel.options import Share as Share
    from leafgate.kernel.options import Strict as Strict
    from leafgate.kernel.oracle import PredictionOracle as PredictionOracle
    from leafgate.kernel.policy import Policy as Policy
    from leafgate.kernel.release import BuildResult as BuildResult
    from leafgate.kernel.release import Combine as Combine
    from leafgate.kernel.release import Counted as Counted
    from leafgate.kernel.release import FileDisclosure as FileDisclosure
    from leafgate.kernel.release import Learner as Learner
    from leafgate.kernel.release import Level as Level
    from leafgate.kernel.release import ModelFile as ModelFile
    from leafgate.kernel.release import Publish as Publish
    from leafgate.kernel.release import Records as Records
    from leafgate.kernel.release import Release as Release
    from leafgate.kernel.schema import Column as Column
    from leafgate.kernel.schema import Hierarchy as Hierarchy
    from leafgate.kernel.schema import Schema as Schema
    from leafgate.kernel.schema import bin_names as bin_names
    from leafgate.kernel.schema import bin_of as bin_of
    from leafgate.kernel.schema import bins_between as bins_between
    from leafgate.kernel.table import Table as Table
    from leafgate.kernel.table import make_table as make_table
    from leafgate.kernel.table import typed_column as typed_column
    from leafgate.kernel.tree import Branch as Branch
    from leafgate.kernel.tree import CategoricalSplit as CategoricalSplit
    from leafgate.kernel.tree import Node as Node
    from leafgate.kernel.tree import NumericSplit as NumericSplit
    from leafgate.kernel.tree import children as children
    from leafgate.kernel.tree import columns_asked as columns_asked
    from leafgate.kernel.tree import leaves as leaves
    from leafgate.kernel.tree import map_leaves as map_leaves
    from leafgate.lazy_loading import install_command as install_command
    from leafgate.progress import report_progress as report_progress

__getattr__, __dir__ = lazy_exports(__name__, "lazy", "require_installed")
