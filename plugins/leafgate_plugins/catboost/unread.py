"""What a CatBoost file holds besides the trees: how the model was trained, and content that CatBoost does not write."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.ir.unread import number_array
from leafgate.readers import (
    ContentField,
    ContentKind,
    NumberKind,
    TreeIR,
    UnreadTracker,
    content_size,
    parse_bounded_json,
)

WRITTEN = """
__params_key_order allow_const_label allow_writing_files alpha approx_on_full_history auto_class_weights
bagging_temperature bayesian_matrix_reg best_model_min_trees boost_from_average boosting_options
boosting_type bootstrap bootstrap_type border_count border_type cat_feature_params cat_features class_names
class_weights classes_count colsample_bylevel combinations_ctr combinations_ctrs counter_calc_method
ctr_binarization ctr_leaf_count_limit ctr_target_border_count ctr_type custom_loss custom_metric
custom_metrics data_partition data_processing_options default delimiter delta depth detailed_profile
dev_default_value_fraction_for_sparse dev_efb_max_buckets dev_group_features dev_leafwise_approxes
dev_leafwise_scoring dev_max_subset_size_for_build_borders dev_score_calc_obj_block_size
dev_sparse_array_indexing device_config devices dictionaries dictionaries_names dictionary_id
diffusion_temperature early_stopping_rounds embedding_features embedding_processing
embedding_processing_options end_of_sentence_token_policy end_of_word_token_policy eta eval_file_name
eval_fraction eval_metric feature_border_type feature_calcers feature_processing feature_weights
file_with_hosts final_ctr_computation_mode final_feature_calcer_computation_mode first_feature_use_penalties
fixed_binary_splits flat_params float_features_binarization fold_len_multiplier fold_permutation_block
force_unit_auto_pair_weights fstr_internal_file fstr_regular_file fstr_type gpu_cat_features_storage
gpu_ram_part gram_order grow_policy has_time hints ignored_features input_borders iterations json_log kwargs
l2_leaf_reg langevin languages leaf_estimation_backtracking leaf_estimation_iterations
leaf_estimation_method learn_error_log learning_rate lemmatizing logging_level loss_function lowercasing
max_bin max_ctr_complexity max_depth max_dictionary_size max_leaves metric_period metrics min_data_in_leaf
model_format model_shrink_mode model_shrink_rate model_size_reg monotone_constraints mvs_reg n_estimators
name nan_mode node_port node_type num_leaves num_trees number_process_policy number_token objective
objective_metric occurrence_lower_bound od_config od_pval od_type od_wait one_hot_max_size output_borders
output_columns params penalties penalties_coefficient per_feature_ctr per_feature_ctrs
per_float_feature_quantization per_object_feature_penalties permutation_count pinned_memory_size
posterior_sampling prediction_type prior_estimation priors profile_log q random_score_type random_seed
random_state random_strength reg_lambda result_model_file roc_file rsm sampling_frequency sampling_unit
save_snapshot scale_pos_weight score_function separator_type silent simple_ctr simple_ctrs skip_empty
skip_step snapshot_file snapshot_interval sparse_features_conflict_fraction split_by_set start_token_id
stop_pvalue store_all_simple_ctr subsample subtokens_policy system_options tags target_binarization
target_border task_type test_error_log text_features text_processing_options thread_count time_left_log
token_level_type token_types tokenizer_id tokenizers tokenizers_names train_dir training_options_file
tree_learner_options type use_best_model use_weights used_ram_limit verbose verbose_eval wait_iterations
"""
SETTINGS = frozenset(WRITTEN.split())
"""Every setting that CatBoost 1.2 writes, at any depth."""

OWN_VALUES = """
AnyImprovement Armijo Balanced Bayesian Bernoulli BiGram BoW Borders Buckets ByDelimiter BySense CPU CatboostBinary
Classic Constant Cosine Counter CrossEntropy Debug Decreasing Default Depthwise Exact Expectile FeatureImportance
FloatTargetMeanValue Forbidden Full GPU Gradient GreedyLogSum GreedyMinEntropy Group Huber IncToDec Indices Info
Insert Iter KNN L2 LDA Label LeaveAsIs Logloss Lossguide Lq MAE MAPE MVS Max Median Min MinEntropy MultiClass
NaiveBayes Newton NewtonCosine NewtonL2 No None NormalWithModelSizeDecrease Number Object Ordered PerTree
PerTreeLevel Plain Poisson PrefixTreeSize Quantile RMSE RawFormulaVal SampleId Silent Simple SingleHost SingleToken
Skip SkipTest Space SqrtBalanced SymmetricTree Uniform UniformAndQuantiles Unknown Verbose Word catboost_profile.log
catboost_training.json experiment experiment.cbsnapshot learn_error.tsv model test_error.tsv time_left.tsv
"""
VALUES = frozenset(OWN_VALUES.split())
"""Texts among the settings that are CatBoost's own."""

USERS_OWN = frozenset({"metadata", "pool_metainfo_options"})
"""Settings under which a user may write anything."""

NUMBER_SIGN = "\N{INPUT SYMBOL FOR NUMBERS}"
"""What CatBoost writes for the numbers in a text (`number_token`)."""

ORDER = re.compile(r'\[("[a-z_]{1,40}"(,"[a-z_]{1,40}")*)?\]')
"""The order of a loss's parameters, as a text."""

SHORT_NUMBER = re.compile(r"-?\d{1,6}(\.\d{1,6})?")
METRIC_SETTINGS = frozenset({"loss_function", "objective", "eval_metric", "custom_metric", "custom_loss"})

MAX_LIST = 20
"""No setting but names of features and weights of classes has a longer list."""

PATHS = {
    "eval_file_name": "",
    "fstr_internal_file": "",
    "fstr_regular_file": "",
    "output_borders": "",
    "training_options_file": "",
    "roc_file": "",
    "train_dir": "catboost_info",
    "file_with_hosts": "hosts.txt",
}
"""Settings that hold the path of a file or folder, and what they are where nobody chose one."""

NUMBER, NUMBERS, TEXT = (
    ContentField(ContentKind.NUMBER),
    ContentField(ContentKind.NUMBERS),
    ContentField(ContentKind.TEXT),
)
NAMED: Mapping[str, ContentField] = {
    "feature_id": TEXT,
    "feature_name": TEXT,
    "feature_index": ContentField(ContentKind.NUMBER, below="features"),
    "flat_feature_index": ContentField(ContentKind.NUMBER, below=100_000),
}
NUMERIC: Mapping[str, ContentField] = {
    **NAMED,
    "borders": NUMBERS,
    "has_nans": ContentField(ContentKind.ANY, max_values=1),
    "nan_value_treatment": TEXT,
}
CATEGORICAL: Mapping[str, ContentField] = {**NAMED, "values": NUMBERS}
INFO: Mapping[str, ContentField] = {
    "float_features": ContentField(ContentKind.TABLES, fields=NUMERIC),
    "categorical_features": ContentField(ContentKind.TABLES, fields=CATEGORICAL),
    "cat_features_hash": ContentField(ContentKind.TABLES, fields={"hash": NUMBER, "value": TEXT}),
    **dict.fromkeys(("ctrs", "text_features", "embedding_features"), ContentField(ContentKind.ANY, max_values=0)),
}
COMMIT_LINE = re.compile(
    r"(Author|Summary|Build by|Top src dir|Branch|Commit|Last Changed Rev|git-svn info|[\w ]{1,20}):.*"
)
VERSION = re.compile(r"Branch: tags/v(\d{1,3}\.\d{1,3}(\.\d{1,3})?)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
GUID = re.compile(r"[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}")
METRIC_NAMES = """
AUC Accuracy BalancedAccuracy BalancedErrorRate BrierScore CrossEntropy Expectile F F1 FairLoss HammingLoss HingeLoss
Huber Kappa LogLikelihoodOfPrediction LogLinQuantile Logloss Lq MAE MAPE MCC MSLE MedianAbsoluteError MultiClass
MultiClassOneVsAll NormalizedGini NumErrors PRAUC Poisson Precision Quantile R2 RMSE Recall SMAPE TotalF1 Tweedie WKappa
ZeroOneLoss
"""
METRICS = frozenset(METRIC_NAMES.split())
"""Metrics of classes and of numbers that are CatBoost's own."""

WORD_OR_NUMBER = r"(\d{1,6}(\.\d{1,6})?|true|false|Classic|Macro|Micro|Mu|OneVsAll|Weighted)"
METRIC = re.compile(rf"(?P<name>[A-Za-z0-9]+)(:[a-z_]{{1,30}}={WORD_OR_NUMBER}(;[a-z_]{{1,30}}={WORD_OR_NUMBER})*)?")
"""A metric with its options, as CatBoost writes it."""

LARGEST_SETTING = 2**64
"""Settings are whole numbers below this, or numbers of double precision."""

MAX_ROUNDS = 100_000
"""Rounds of training whose errors a file may hold."""

MODEL_INFO = frozenset(
    {
        *("binclass_probability_threshold", "catboost_version_info", "class_params", "model_guid", "output_options"),
        *("params", "train_finish_time", "training"),
    }
)

SIZES = FileDisclosure(
    "sizes",
    "high",
    "the people at every leaf of every tree (leaf_weights); with the leaves' values the people of each class",
    "counts",
)
WEIGHTS = FileDisclosure("sizes", "high", "what the people at every leaf weigh together (leaf_weights)", "counts")
"""The file has the weights of classes beside it, so that numbers of people of each class follow."""

CATEGORIES = FileDisclosure("categories", "medium", "every category that somebody had in training")
HAS_MISSING = FileDisclosure("missing_cells", "low", "which columns had missing cells in training")
SETTINGS_WRITTEN = "every setting of the learner, in # texts and numbers, its seeds among them"
ERRORS = FileDisclosure("training_loss", "medium", "the error of every round of training")
WHEN = FileDisclosure("time", "low", "when training ended")
WHERE = FileDisclosure("paths", "medium", "where the data lay")
DISCLOSURES = (
    SETTINGS_WRITTEN,
    *(each.says for each in (SIZES, WEIGHTS, CATEGORIES, HAS_MISSING, ERRORS, WHEN, WHERE)),
)
"""What disclosures of such files say, with `#` for each number."""


def version_of(info: Mapping[str, Any]) -> str:
    """The version of CatBoost that wrote the file; empty where it does not say."""
    text = info.get("catboost_version_info")
    found = VERSION.search(text) if isinstance(text, str) else None
    return found[1] if found else ""


def disclosed(document: Mapping[str, Any], kind: NumberKind | None) -> list[FileDisclosure]:
    """What the file discloses besides predictions; `kind` is that of the weights of leaves, None without them."""
    info, features = document["model_info"], document["features_info"]
    numeric = features.get("float_features") or []
    found = [SIZES] if kind == "rows" else [WEIGHTS] if kind else []
    found += [CATEGORIES] if features.get("cat_features_hash") else []
    found += [HAS_MISSING] if any(each.get("has_nans") for each in numeric) else []
    found += [ERRORS] if info.get("training") else []
    found += [WHEN] if info.get("train_finish_time") else []
    settings = list(_settings(_parsed(info.get("output_options")))) + list(_settings(info.get("params")))
    number = sum(_count(value) for _, value in settings)
    found += [FileDisclosure("settings", "low", SETTINGS_WRITTEN.replace("#", str(number)))] if number else []
    found += [WHERE] if any(key in PATHS and value != PATHS[key] for key, value in settings) else []
    return found


def unread_content(document: Mapping[str, Any], names: Sequence[str], trees: Sequence[TreeIR]) -> UnreadTracker:
    """What the file holds besides the trees and what the reader discloses of it."""
    tracker = UnreadTracker()
    features = document["features_info"]
    limits = {"features": max(1, len(names))}
    tracker.check_table(
        {key: each for key, each in features.items() if each is not None}, INFO, limits, "features_info"
    )
    if document.get("ctr_data"):
        tracker.add("ctr_data", content_size(document["ctr_data"]))
    every = [*(features.get("float_features") or ()), *(features.get("categorical_features") or ())]
    shown = [each.get("feature_name", "") for each in every]
    tracker.check_texts("features_info.feature_name", [each for each in shown if isinstance(each, str)], names)
    _check_flags(tracker, features)
    _check_borders(tracker, document, trees)
    _check_model_info(tracker, document["model_info"], names)
    return tracker


def _check_flags(tracker: UnreadTracker, features: Mapping[str, Any]) -> None:
    """Check that `has_nans` is true or false."""
    for each in features.get("float_features") or ():
        if not isinstance(each.get("has_nans", False), bool):
            tracker.add("features_info.has_nans", content_size(each["has_nans"]))


def _check_borders(tracker: UnreadTracker, document: Mapping[str, Any], trees: Sequence[TreeIR]) -> None:
    """Check that borders, and values of categories, are those of tests: others are content that predicts nothing."""
    asked: dict[tuple[str, int], set[float]] = {}
    for split in _splits(document):
        if split["split_type"] == "FloatFeature":
            asked.setdefault(("float", split["float_feature_index"]), set()).add(split["border"])
        else:
            asked.setdefault(("category", split["cat_feature_index"]), set()).add(split["value"])
    features = document["features_info"]
    for key, kind, where in (("float_features", "float", "borders"), ("categorical_features", "category", "values")):
        for each in features.get(key) or ():
            numbers = number_array(each.get(where, []))
            used = asked.get((kind, each["feature_index"]), set())
            if numbers is not None and (unused := len(set(numbers.tolist()) - used)):
                tracker.add(f"features_info.{where} that no tree uses", unused)
            if numbers is not None and len(set(numbers.tolist())) < len(numbers):
                tracker.add(f"features_info.{where}", len(numbers))


def _splits(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every test of the file."""
    for tree in document.get("oblivious_trees") or ():
        yield from tree["splits"] or ()
    waiting = list(document.get("trees") or ())
    while waiting:
        node = waiting.pop()
        if "split" in node:
            yield node["split"]
            waiting += [node["left"], node["right"]]


def _check_model_info(tracker: UnreadTracker, info: Mapping[str, Any], names: Collection[str]) -> None:
    for key in info.keys() - MODEL_INFO:
        tracker.add("unknown entries of model_info", max(100, content_size(info[key])))
    for key, pattern in (("model_guid", GUID), ("train_finish_time", DATE)):
        value = info.get(key, "")
        if value != "" and not (isinstance(value, str) and pattern.fullmatch(value)):
            tracker.add(f"model_info.{key}", content_size(value))
    _check_version(tracker, info.get("catboost_version_info", ""))
    classes = {str(each) for each in (info.get("class_params") or {}).get("class_names", [])}
    label_type = (info.get("class_params") or {}).get("class_label_type", "String")
    if label_type not in {"Boolean", "Float", "Integer", "String"}:
        tracker.add("model_info.class_params.class_label_type", content_size(label_type))
    if (info.get("class_params") or {}).get("classes_count", 0) not in {0, len(classes)}:
        tracker.add("model_info.class_params.classes_count", 1)
    known = {*names, *classes}
    _check_settings(tracker, info.get("params"), "model_info.params", known)
    if info.get("output_options"):
        options = _parsed(info["output_options"])
        if isinstance(options, dict):
            _check_settings(tracker, options, "model_info.output_options", known)
        else:
            tracker.add("model_info.output_options", content_size(info["output_options"]))
    if info.get("training") and not _is_history(_parsed(info["training"]), _rounds(info)):
        tracker.add("model_info.training", content_size(info["training"]))


def _check_version(tracker: UnreadTracker, text: Any) -> None:
    """Check the text about the version of CatBoost: lines of a key and a short value."""
    lines = text.splitlines() if isinstance(text, str) else None
    if lines is None or len(lines) > 20:
        tracker.add("model_info.catboost_version_info", content_size(text))
        return
    strange = [line for line in lines if line.strip() and not _is_version_line(line.strip())]
    if strange:
        tracker.add_text("model_info.catboost_version_info", *strange)


def _is_version_line(line: str) -> bool:
    return COMMIT_LINE.fullmatch(line) is not None and len(line) <= 200


def _parsed(text: Any) -> Any:
    """What a text holds that is JSON in turn; None where it is none."""
    try:
        return parse_bounded_json(text.encode(), "text") if isinstance(text, str) else None
    except ReleaseError:
        return None


def _settings(document: Any) -> Iterator[tuple[str, Any]]:
    """Each setting at any depth with its value: a text, a number, a list or None."""
    waiting = [document]
    while waiting:
        table = waiting.pop()
        for key, value in table.items() if isinstance(table, dict) else ():
            items = value if isinstance(value, list) else [value]
            waiting += [each for each in items if isinstance(each, dict)]
            if not any(isinstance(each, dict) for each in items):
                yield key, value


def _count(value: Any) -> int:
    """How many texts and numbers a setting holds."""
    return sum(map(_count, value)) if isinstance(value, list) else 1


def _check_settings(tracker: UnreadTracker, document: Any, location: str, known: Collection[str]) -> None:
    """Check that settings are CatBoost's and their values short; short texts are compared with the table's cells."""
    waiting = [document]
    while waiting:
        table = waiting.pop()
        if not isinstance(table, dict):
            tracker.add(location, content_size(table))
            continue
        for key, value in table.items():
            if key in USERS_OWN:
                if value not in ({}, {"tags": {}}):
                    tracker.add(f"{location}.{key}", max(100, content_size(value)))
            elif key not in SETTINGS and key not in known:
                tracker.add(f"unknown entries of {location}", max(100, content_size(value)))
            elif isinstance(value, dict):
                waiting.append(value)
            else:
                _check_setting(tracker, key, value, location, known, waiting)


def _check_setting(
    tracker: UnreadTracker, key: str, value: Any, location: str, known: Collection[str], waiting: list[Any]
) -> None:
    items = value if isinstance(value, list) else [value]
    if len(items) > max(MAX_LIST, len(known)) or (key in PATHS and not isinstance(value, str)):
        tracker.add(location, content_size(value))
        return
    for each in items:
        if isinstance(each, dict):
            waiting.append(each)
        elif _is_too_large(each):
            tracker.add(location, content_size(each))
        elif isinstance(each, str) and key not in PATHS and not _is_programs_own(key, each):
            tracker.check_texts(location, [each], known)


def _is_too_large(value: Any) -> bool:
    """Whether a setting is a list that holds more than a few numbers, or a number of too many digits."""
    if isinstance(value, list):
        return number_array(value) is None or len(value) > MAX_LIST or any(map(_is_too_large, value))
    return isinstance(value, int) and abs(value) >= LARGEST_SETTING


def _is_programs_own(key: str, text: str) -> bool:
    """Whether a text is one of CatBoost's own, or a short number."""
    if text in VALUES or SHORT_NUMBER.fullmatch(text) or (key == "delimiter" and text == " "):
        return True
    if key == "number_token":
        return text == NUMBER_SIGN
    if key == "__params_key_order":
        return ORDER.fullmatch(text) is not None
    return key in METRIC_SETTINGS and _is_metric(text)


def _is_metric(text: str) -> bool:
    found = METRIC.fullmatch(text)
    return found is not None and found["name"] in METRICS


def _rounds(info: Mapping[str, Any]) -> int:
    """How many rounds of training the settings allow; 0 where they do not say."""
    options = info["params"].get("boosting_options")
    found = options.get("iterations") if isinstance(options, dict) else None
    return found if type(found) is int and 0 <= found <= MAX_ROUNDS else 0


def _is_history(document: Any, rounds: int) -> bool:
    """Whether this is the record of errors: by metric one number for each of at most so many rounds."""
    metrics = document.get("metrics") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(metrics, dict):
        return False
    known = {"best_iteration", "learn_best_error", "learn_metrics_history", "test_best_error", "test_metrics_history"}
    return metrics.keys() <= known and all(_are_errors(each, rounds) for each in metrics.values())


def _are_errors(content: Any, rounds: int) -> bool:
    waiting = [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            if len(item) > max(MAX_LIST, rounds):
                return False
            waiting += item
        elif isinstance(item, dict):
            if not all(map(_is_metric, item)):
                return False
            waiting += item.values()
        elif isinstance(item, bool) or not isinstance(item, int | float) or abs(item) >= LARGEST_SETTING:
            return False
    return True
