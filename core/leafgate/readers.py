"""What readers of model files import beside `leafgate.api`: neutral models, and documents of strangers parsed safely.

It belongs to the same versioned interface. Each name is imported when it is first read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy_exports

if TYPE_CHECKING:
    from leafgate.bounded.json import parse_bounded_json as parse_bounded_json
    from leafgate.bounded.objects import ObjectView as ObjectView
    from leafgate.bounded.objects import view_object as view_object
    from leafgate.bounded.xml import parse_bounded_xml as parse_bounded_xml
    from leafgate.bounded.zip import parse_bounded_zip as parse_bounded_zip
    from leafgate.io.json import is_number as is_number
    from leafgate.io.json import object_at as object_at
    from leafgate.io.json import parse_number as parse_number
    from leafgate.io.shapes import read_shape as read_shape
    from leafgate.ir.arrays import TreeIRBuilder as TreeIRBuilder
    from leafgate.ir.arrays import refuse_many_categories as refuse_many_categories
    from leafgate.ir.features import ArithmeticStep as ArithmeticStep
    from leafgate.ir.features import CategoryCodes as CategoryCodes
    from leafgate.ir.features import MissingIndicator as MissingIndicator
    from leafgate.ir.features import Numeric as Numeric
    from leafgate.ir.features import OneHot as OneHot
    from leafgate.ir.features import Operation as Operation
    from leafgate.ir.features import Origin as Origin
    from leafgate.ir.features import Unresolved as Unresolved
    from leafgate.ir.model import COUNTS_DISCLOSURE as COUNTS_DISCLOSURE
    from leafgate.ir.model import LEAF as LEAF
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
    from leafgate.ir.model_readers import ModelReader as ModelReader
    from leafgate.ir.model_readers import ReaderTexts as ReaderTexts
    from leafgate.ir.model_readers import Vocabulary as Vocabulary
    from leafgate.ir.node_numbers import NO_SAMPLING as NO_SAMPLING
    from leafgate.ir.node_numbers import NodeNumbers as NodeNumbers
    from leafgate.ir.node_numbers import NumberKind as NumberKind
    from leafgate.ir.node_numbers import Sampling as Sampling
    from leafgate.ir.unread import LETTERS_PER_NUMBER as LETTERS_PER_NUMBER
    from leafgate.ir.unread import MANY_NUMBERS as MANY_NUMBERS
    from leafgate.ir.unread import ContentField as ContentField
    from leafgate.ir.unread import ContentKind as ContentKind
    from leafgate.ir.unread import UnreadTracker as UnreadTracker
    from leafgate.ir.unread import content_size as content_size
    from leafgate.kernel.release import CalibratedSum as CalibratedSum

__getattr__, __dir__ = lazy_exports(__name__)
