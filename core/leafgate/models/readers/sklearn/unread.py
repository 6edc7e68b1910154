"""Content of a fitted scikit-learn model and its skops file that is not part of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.models.exposure.unread import PEOPLE, SIGNS, has_known_words, other_content, text_size, unread_texts
from leafgate.models.formats.objects import ObjectView
from leafgate.models.formats.zip import Parts, stray_bytes
from leafgate.models.ir.model import CategoryList
from leafgate.models.readers.sklearn.feature import PipelineFeature, is_missing, text_of
from leafgate.types.release import FileDisclosure

ONE = """
    _infrequent_enabled _n_features _n_samples _n_samples_bootstrap _precomputed _strategy _use_validation_data
    approx_hessian closs constant_hessian device do_early_stopping_ high high_inclusive interval_y_pred
    interval_y_true low low_inclusive max_depth max_features_ missing_values_bin_idx_ n_bins n_classes n_estimators_
    n_features_in_ n_features n_outputs n_outputs_ n_threads n_trees_per_iteration_ node_count oob_score_ pattern
    sparse_output_ _sklearn_version xp y_true_int y_true_one_hot accept_sparse add_indicator alpha bootstrap
    ccp_alpha check_inverse clip copy criterion early_stopping encoded_missing_value error_on_new
    feature_name_combiner features fill_value handle_unknown keep_empty_features l2_regularization learning_rate
    loss max_bins max_depth max_features max_iter max_leaf_nodes max_samples memory min_frequency
    min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf missing_values n_estimators
    n_iter_no_change n_jobs oob_score quantile random_state scoring sparse sparse_output sparse_threshold splitter
    strategy subsample tol transform_input unit_variance unknown_value validate validation_fraction verbose
    verbose_feature_names_out warm_start with_centering with_mean with_scaling with_std force_int_remainder_cols
    presort min_impurity_split remainder init dtype func inverse_func feature_names_out base_estimator estimator_
    estimator constant_
"""
SCALARS = frozenset(ONE.split())
"""One value each."""

FEW = 10
SHORT = {"feature_range": 2, "quantile_range": 2, "kw_args": FEW, "inv_kw_args": FEW, "transformer_weights": FEW}
SHORT |= {"_n_features_outs": 1_000, "estimator_params": 30, "n_classes_": FEW, "_sklearn_output_config": FEW}
"""So many values at most."""

EACH_CLASS = frozenset({"class_weight", "class_prior_", "classes_"})
FEATURES = """
    center_ scale_ data_max_ data_min_ data_range_ max_abs_ mean_ min_ statistics_ var_ n_samples_seen_
    is_categorical_ _is_categorical_remapped features_ drop_idx_ _drop_idx_after_grouping feature_names_in_
    monotonic_cst categorical_features interaction_cst drop max_categories
"""
EACH_FEATURE = frozenset(FEATURES.split())
"""No more values than the object has features."""

PLACES = {"nodes": {"Tree", "TreePredictor"}, "values": {"Tree"}, "state": set[str](), "bit_generator": set[str]()}
"""Names that objects of these kinds alone have, beside generators of random numbers."""

TREE = "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples missing_go_to_left"
PREDICTOR = (
    "value count feature_idx num_threshold missing_go_to_left left right gain depth is_leaf bin_threshold "
    "is_categorical bitset_idx"
)
FIELDS = {"Tree": frozenset(TREE.split()), "TreePredictor": frozenset(PREDICTOR.split())}
PADDING = 8
"""Bytes that a compiler leaves between the fields of a node."""


def anomalies(each: ObjectView, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Tables where a plain value or a short list belongs, names of other kinds of objects, fields of no node."""
    features = each.get("n_features_in_")
    classes = each.get("classes_")
    for name in sorted(set(known) & each.names):
        result, most = each.get(name), None
        if name in PLACES and each.kind not in PLACES[name] and result is not None:
            most = 0
        elif name in SCALARS:
            most = 1
        elif name in SHORT:
            most = SHORT[name]
        elif name in EACH_FEATURE and isinstance(features, int):
            most = max(features, 1) * (2 if name == "interaction_cst" else 1)
        elif name in EACH_CLASS and isinstance(classes, tuple | np.ndarray) and name != "classes_":
            most = len(classes)
        if most is not None and (many := values(result)) > most:
            yield "more than one setting in an object", many
    nodes = each.get("nodes")
    if each.kind in FIELDS and isinstance(nodes, np.ndarray) and nodes.dtype.names is not None:
        yield from _of_nodes(nodes, FIELDS[each.kind])


def _of_nodes(nodes: np.ndarray, known: Collection[str]) -> Iterator[tuple[str, int]]:
    names = nodes.dtype.names or ()
    more = [name for name in names if name not in known]
    if more:
        yield "fields of nodes that are not read", sum(nodes[name].size for name in more)
    padding = nodes.dtype.itemsize - sum(nodes.dtype[name].itemsize for name in names)
    if padding > PADDING:
        yield "bytes between the fields of nodes", len(nodes) * padding // 8
    for name, most in (("depth", len(nodes)), ("bin_threshold", 256)):
        if name in names and (nodes[name].dtype.kind not in "iu" or (nodes[name] >= most).any()):
            yield "fields of nodes that are not read", int(nodes[name].size)


def values(value: Any) -> int:
    """How many plain values something holds; objects have a look of their own."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, Mapping):
        return sum(map(values, value.values()))
    if isinstance(value, tuple):
        return sum(map(values, value))
    return 0 if value is None or isinstance(value, ObjectView) else 1


PARAMETERS = """
    accept_sparse add_indicator alpha bootstrap categorical_features categories ccp_alpha check_inverse class_weight
    clip constant copy criterion drop dtype early_stopping encoded_missing_value error_on_new feature_name_combiner
    feature_names_out feature_range features fill_value func handle_unknown init interaction_cst inv_kw_args
    inverse_func
    keep_empty_features kw_args l2_regularization learning_rate loss max_bins max_categories max_depth max_features
    max_iter max_leaf_nodes max_samples memory min_frequency min_impurity_decrease min_samples_leaf min_samples_split
    min_weight_fraction_leaf missing_values monotonic_cst n_estimators n_iter_no_change n_jobs oob_score quantile
    quantile_range random_state remainder scoring sparse sparse_output sparse_threshold splitter steps strategy
    subsample
    tol transform_input transformer_list transformer_weights transformers unit_variance unknown_value validate
    validation_fraction verbose verbose_feature_names_out warm_start with_centering with_mean with_scaling with_std
    base_estimator force_int_remainder_cols presort min_impurity_split
"""
FITTED = """
    _bin_mapper _columns _default_to_infrequent_mappings _drop_idx_after_grouping _feature_subsample_rng
    _fill_dtype _fit_dtype _infrequent_enabled _infrequent_indices _is_categorical_remapped _label_encoder _loss
    _missing_indices _n_features _n_features_outs _n_samples _n_samples_bootstrap _precomputed _predictors _preprocessor
    _random_seed _remainder _rng _scorer _sklearn_output_config _sklearn_version _strategy _baseline_prediction
    _transformer_to_input_indices _use_validation_data approx_hessian bin_thresholds_ binned_left_cat_bitsets
    bit_generator categories_ center_ class_indexing_offsets class_prior_ classes_ closs constant_ constant_hessian
    data_max_ data_min_ data_range_ device do_early_stopping_ drop_idx_ dtype_exclude dtype_include estimator estimator_
    estimator_params estimators_ feature_names_in_ features_ gauss has_gauss high high_inclusive indicator_ init_
    interval_y_pred interval_y_true is_categorical is_categorical_ known_categories link low low_inclusive max_abs_
    max_features_ max_depth mean_ min_ missing_values_bin_idx_ n_bins n_bins_non_missing_ n_classes n_classes_
    n_estimators_ n_features_in_ n_features n_outputs n_outputs_ n_samples_seen_ n_threads n_trees_per_iteration_
    node_count nodes oob_decision_function_ oob_improvement_ oob_prediction_ oob_score_ oob_scores_ output_indices_
    pattern raw_left_cat_bitsets scale_ sparse_output_ state statistics_ train_score_ transformers_ tree_
    validation_score_ values var_ xp y_true_int y_true_one_hot _n_outputs _name_to_fitted_passthrough
    _fitted_with_sw _sample_weight K _n_classes gamma
"""
KNOWN = frozenset((PARAMETERS + FITTED).split())
"""Attributes of scikit-learn: read, disclosed elsewhere, or settings of the algorithm."""

WRITTEN = """
absolute ada adaboostclassifier adaboostregressor all allow array as auto bagging baggingclassifier baggingregressor
balanced best binarizer binary binning binomial bitset bool boost boosting both box builtins bytearray bytes category
cats centerer child children classifier clf cls code codes column columntransformer complex compose concat counter cox
cy d datetime decisiontreeclassifier decisiontreeregressor defaultdict deny deprecated deviance dict discretization
discretizer dt dummy dummyclassifier dummyregressor dxsm else embedding encode encoded encoders encoding ensemble
ensure entropy est exist exp expm exponential extra extratreeclassifier extratreeregressor extratreesclassifier
extratreesregressor false fdr featureunion filled final finite first flag flags float forest fpr frame frequent
friedman from functions functiontransformer functools fwe gain gaps gb gbc gbm generic gini go gradient
gradientboostingclassifier gradientboostingregressor half hgb hist histgradientboostingclassifier
histgradientboostingregressor huber identity if iforest ignore imputation impute imputed imputer inc index is
isolation isolationforest it johnson json kbinsdiscretizer kernel kernelcenterer key keywords knn knnimputer kwds
labelbinarizer labelencoder labels lad large last learn learner log logit logs ls mae main make maxabsscaler median
method minmaxscaler missingindicator model most mse mt mtrand multi multilabelbinarizer multinomial na namespace nan
nd ndarray nested nominal none normalizer num number numbers numeric numerical numpy nums object ohe onehot
onehotencoder only ord ordered ordinal ordinalencoder other p pandas partial pass pcg percentile philox pipe pipeline
poisson polars polynomial polynomialfeatures pool pos power powertransformer predictor prep preprocess preprocessing
quantiletransformer raise randomforestclassifier randomforestregressor randomtreesembedding rare regressor rest rf rfe
rfecv right robust robustscaler scaled scaler second select selection selector seq sequence sequential series set sfc
side simple simpleimputer size slice spawn spawned spline splinetransformer sqrt square squared stacking
stackingclassifier stackingregressor standard standardscaler step stop str stratified string target targetencoder text
texts then timedelta transformed transformedtargetregressor tuple two type types ufunc uint uinteger uniform union
univariate utils voting votingclassifier votingregressor warn ways weighted yeo zero
"""
WORDS = frozenset(re.findall("[a-z]+", f"{PARAMETERS} {FITTED} {WRITTEN}".lower()))
"""Words in texts of scikit-learn's files: classes, modules, settings, names that people give steps of a pipeline."""

STEPS = 2_000_000
SETTING = re.compile(r"[\w.+<>/:()-]{0,40}( [\w.+<>/:()-]{1,20}){0,2}")
"""A setting that is a text, or the name of a step: up to three words."""

STEPS_OF = {"steps", "transformers", "transformers_", "transformer_list"}
MAX_STEPS_NAMED = 50
"""Steps of one pipeline, parts of one transformer: what has more of them has names of something else."""


def unread_content(root: ObjectView, features: Sequence[PipelineFeature]) -> tuple[FileDisclosure, ...]:
    """What the model does not need: attributes that a user set, the generator's state, names of dropped columns."""
    own = {one.name for one in features} | {one.origin.column for one in features}
    unknown, names, random = list[tuple[str, int]](), set[str](), False
    for each in _objects(root):
        random |= each.kind in {"RandomState", "Generator"}
        unknown += _of(each) if each.kind not in {"RandomState", "Generator"} else []
        names |= {str(name) for name in _listed(each.get("feature_names_in_"))}
    unknown_names = {name for name in names - own if name.partition("__")[2] not in own}
    says = f"the names of {len(unknown_names)} column(s) that the model does not use (feature_names_in_)"
    found = [FileDisclosure("column_names", "medium", says)] if unknown_names else []
    found += [SEED] if random else []
    return (*found, *other_content(unknown))


def category_lists(root: ObjectView) -> tuple[CategoryList, ...]:
    """Every list of values that an object of the file holds, whether any feature is made with it or not.

    Encoders keep them fitted (`categories_`) and as they were asked for (`categories`), label encoders as `classes_`,
    imputers what they fill gaps with.
    """
    found = list[CategoryList]()
    for each in _objects(root):
        names = [str(name) for name in _listed(each.get("feature_names_in_"))]
        fill = each.get("fill_value")
        for key in ("categories_", "categories"):
            result = each.get(key)
            lists = list(result) if isinstance(result, tuple | np.ndarray) else []
            columns = names if len(names) == len(lists) else [""] * len(lists)
            found += [_values(column, one, fill) for column, one in zip(columns, lists, strict=True)]
        if each.kind in LABEL_ENCODERS:
            found.append(_values("", each.get("classes_"), fill))
        found += [_values("", (one,), fill) for one in _listed(each.get("statistics_")) if isinstance(one, str)]
    return tuple(dict.fromkeys(one for one in found if one.values))


LABEL_ENCODERS = {"LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer", "TargetEncoder"}


def _values(column: str, document: Any, fill: Any) -> CategoryList:
    return CategoryList(
        column, frozenset(text_of(one) for one in _listed(document) if not is_missing(one) and one != fill)
    )


def names_in(root: ObjectView) -> tuple[str, ...]:
    """The names of columns that any object of the file was given."""
    return tuple({str(name): None for each in _objects(root) for name in _listed(each.get("feature_names_in_"))})


SEED = FileDisclosure("seed", "medium", "the state of the generator of random numbers that it was trained with")


def _objects(whole: ObjectView) -> Iterator[ObjectView]:
    """Every object that another has, trees too."""
    waiting: list[Any] = [whole]
    for _ in range(STEPS):
        if not waiting:
            return
        here = waiting.pop()
        if isinstance(here, ObjectView):
            yield here
            if here.kind not in {"RandomState", "Generator"}:
                waiting.extend(each for name in sorted(here.names) if _deep(each := here.get(name)))
        else:
            waiting.extend(filter(_deep, here.values() if isinstance(here, Mapping) else here))


def _deep(thing: Any) -> bool:
    return isinstance(thing, ObjectView | tuple | Mapping)


def _of(each: ObjectView) -> Iterator[tuple[str, int]]:
    """Attributes that are not scikit-learn's, and settings that are a long text."""
    for name in sorted(each.names):
        if name not in KNOWN and (result := each.get(name)) is not None:
            yield "an attribute that scikit-learn does not have", max(size(result), PEOPLE * (not _is_known(name)))
        elif name in KNOWN and isinstance(result := each.get(name), str) and not SETTING.fullmatch(result):
            yield "a text among the settings of an object", text_size(result)
        if name in STEPS_OF:
            yield from _names_of_steps(each, name)
    yield from anomalies(each, KNOWN)


def _is_known(name: str) -> bool:
    """Whether an attribute of this name may belong to a later scikit-learn."""
    return has_known_words(name, WORDS)


def _names_of_steps(each: ObjectView, name: str) -> Iterator[tuple[str, int]]:
    """Names of steps that are not short words, or of more steps than a pipeline has."""
    result = each.get(name)
    named = [one[0] for one in result if isinstance(one, tuple) and one] if isinstance(result, tuple) else []
    texts = [one for one in named if isinstance(one, str)]
    unknown_names = [one for one in texts if not SETTING.fullmatch(one)] if len(texts) <= MAX_STEPS_NAMED else texts
    if unknown_names:
        yield "names of steps of an object", text_size(*unknown_names)


def _listed(names: Any) -> Sequence[Any]:
    if isinstance(names, np.ndarray):
        return list(names.ravel().tolist())
    return names if isinstance(names, tuple) else ()


def size(value: Any) -> int:
    """About how many numbers something holds; many where nobody can say."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, Mapping | tuple):
        return sum(size(one) for one in (value.values() if isinstance(value, Mapping) else value))
    if isinstance(value, ObjectView):
        return PEOPLE if value.names else 1
    return text_size(value) if isinstance(value, str) else 1


KEYS = {
    *("__class__", "__id__", "__loader__", "__module__", "__reduce__", "_skops_version", "content", "file"),
    *("is_json", "key_types", "protocol", "shape", "type"),
}
NAMES = {"TypeNode", "FunctionNode"}
"""Nodes that are a name, with nothing in them."""

OPAQUE = {"LossNode", "PartialNode", "DTypeNode"}
"""Nodes whose content is not looked at; honest ones have no arrays with numbers in them."""

BYTES = 8
SMALL = 192
"""Bytes of the array that scikit-learn makes a tree with: how many classes its one output has."""

OWN = KEYS - {"content", "key_types", "shape", "__reduce__"}
"""Entries of a node that are one text or number."""

FILE = re.compile(r"[0-9]{1,20}\.npy")
"""The name skops gives an array: its identity in Python's memory."""

VERSION = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){1,3}((\.?dev|rc|a|b|\.post)[0-9]{1,3})?")
MAX_ID = 2**64
MAX_PROTOCOL = 100


def unread_skops_content(
    parts: Parts, content: bytes, top: Mapping[str, Any], schema: str, names: Collection[str]
) -> tuple[FileDisclosure, ...]:
    """What the file holds besides the model; `names` are those of columns, values and classes that it discloses."""
    referred: set[str] = set()
    found = [*_in_zip(parts, content), *_in_schema(parts, top, referred)]
    orphans = [size for name, size in parts.sizes.items() if name != schema and name not in referred]
    found += _texts(parts, top, schema, names)
    return other_content([*found, *(("an entry that nothing refers to", size // BYTES) for size in orphans)])


def _texts(parts: Parts, top: Any, schema: str, names: Collection[str]) -> Iterator[tuple[str, int]]:
    """Texts of the schema and of arrays that neither scikit-learn nor skops writes."""
    classes, modules, plain, unusual = set[str](), set[str](), set[str](), 0
    waiting: list[Any] = [top]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            plain.add(_plain(here))
        if isinstance(here, list):
            waiting.extend(here)
        if not isinstance(here, dict):
            continue
        fields = {key: here[key] for key in OWN & here.keys() if isinstance(here[key], str | int)}
        plain |= here.keys() - KEYS
        classes |= {str(fields[key]) for key in ("__class__", "__loader__", "type") if key in fields}
        modules |= {str(fields["__module__"])} if "__module__" in fields else set()
        unusual += not _numbers_fit(fields)
        waiting.extend(here[key] for key in here.keys() - fields.keys())
    yield from unread_texts("names of classes", classes, WORDS)
    yield from unread_texts("names of modules", modules, WORDS)
    if unusual:
        yield "numbers and versions that skops does not write", max(PEOPLE, unusual)
    yield from unread_texts("texts of the schema", plain, WORDS, names)
    for name in parts.sizes:
        if name != schema:
            if not FILE.fullmatch(name):
                yield "an entry's name", text_size(name)
            array = parts.array(name)
            yield from unread_texts("texts of arrays", _in_array(array), WORDS, names)


def _plain(content: str) -> str:
    """The text that a plain value is: as JSON, where it is one; numbers are none."""
    if content.startswith('"') and content.endswith('"'):
        try:
            return str(json.loads(content))
        except ValueError:
            return content
    return "" if NUMBER.fullmatch(content) else content


NUMBER = re.compile(r"-?([0-9]{1,40}|[0-9.]{1,24}(e[-+]?[0-9]{1,3})?|NaN|Infinity)|true|false|null")


def _numbers_fit(document: Mapping[str, Any]) -> bool:
    """Are a node's identity, version and the like what skops writes?"""
    ids, protocol, version = (document.get(key, 0) for key in ("__id__", "protocol", "_skops_version"))
    return (
        type(ids) is int
        and abs(ids) < MAX_ID
        and type(protocol) is int
        and 0 <= protocol < MAX_PROTOCOL
        and (version == 0 or (isinstance(version, str) and VERSION.fullmatch(version) is not None))
        and isinstance(document.get("is_json", True), bool)
        and isinstance(document.get("file", ""), str)
    )


def _in_array(array: np.ndarray) -> Iterator[str]:
    """Texts that an array holds, and names of its fields."""
    for name, result in (array.dtype.fields or {}).items():
        yield from (name, *(map(str, result[2:])))
    if array.dtype.kind == "U":
        yield from map(str, array.ravel())
    if array.dtype.kind in "SV" and array.dtype.fields is None:
        yield from (bytes(each).decode("utf-8", "replace") for each in array.ravel())


def _in_zip(parts: Parts, content: bytes) -> Iterator[tuple[str, int]]:
    """Comments, and bytes that belong to no entry."""
    infos, end = parts.archive.infolist(), len(parts.archive.comment)
    if end:
        yield "the zip's comment", max(PEOPLE, end // SIGNS)
    comments = sum(len(info.comment) for info in infos)
    if comments:
        yield "a comment of a zip's entry", max(PEOPLE, comments // SIGNS)
    stray = stray_bytes(parts.archive, content)
    if stray:
        yield "bytes of the zip that belong to no entry", max(PEOPLE, stray // BYTES)


def _in_schema(parts: Parts, top: Mapping[str, Any], referred: set[str]) -> Iterator[tuple[str, int]]:
    """Entries of nodes that nobody reads; names the arrays that some node refers to."""
    waiting: list[tuple[Any, str]] = [(top, "")]
    while waiting:
        here, inside = waiting.pop()
        if isinstance(here, list):
            waiting.extend((each, inside) for each in here)
        if not isinstance(here, dict):
            continue
        kind = here.get("__loader__")
        node = isinstance(kind, str)
        if node:
            yield from (("an entry of a node", _letters(here[key])) for key in sorted(set(here) - KEYS))
            if kind in NAMES and "content" in here:
                yield "content of a name", _letters(here["content"])
            if inside == "key_types" and kind not in {"ListNode", "TypeNode", "CachedNode"}:
                yield "content of a name", _letters(here)
            inside = str(kind) if kind in OPAQUE and not inside else inside
            name = here.get("file")
            if isinstance(name, str):
                referred.add(name)
                size = parts.sizes.get(name, 0)
                if inside in {*OPAQUE, "__reduce__"} and size > SMALL:
                    yield "an array that the model does not read", size // BYTES
        special = {"key_types", "__reduce__"}
        waiting.extend((value, key if node and key in special else inside) for key, value in here.items())


def _letters(document: Any) -> int:
    return text_size(str(document))
