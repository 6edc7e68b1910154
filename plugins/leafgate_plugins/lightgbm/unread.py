"""Content of a LightGBM file that is not part of the model: lines and values that LightGBM does not write."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from leafgate.readers import ContentField, ContentKind, UnreadTracker

NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d{1,3})?|inf|nan)"
NUMBERS = re.compile(rf"(?:{NUMBER}(?: {NUMBER})*)?")
RANGE = rf"(?:none|\[{NUMBER}:{NUMBER}\]|-?\d+(?::-?\d+)*)"
HEAD: Mapping[str, ContentField] = {
    **dict.fromkeys(("tree", "average_output"), ContentField(ContentKind.FLAG)),
    "version": ContentField(ContentKind.TEXT, re.compile(r"v\d{1,2}")),
    **dict.fromkeys(
        ("num_class", "num_tree_per_iteration", "label_index", "max_feature_idx"),
        ContentField(ContentKind.TEXT, re.compile(r"-?\d{1,8}")),
    ),
    "objective": ContentField(
        ContentKind.TEXT, re.compile(r"[a-z_0-9]{1,30}(?: [a-z_]{1,30}(?::[-.\de]{1,20})?){0,3}"), words=True
    ),
    "feature_names": ContentField(ContentKind.TEXT),
    "feature_infos": ContentField(ContentKind.TEXT, re.compile(rf"{RANGE}(?: {RANGE})*"), max_values="features"),
    "monotone_constraints": ContentField(ContentKind.TEXT, re.compile(r"-?[01](?: -?[01])*"), max_values="features"),
    "tree_sizes": ContentField(ContentKind.TEXT, NUMBERS, max_values="trees"),
}
"""The lines before the trees, by key."""


def _numbers(limit: int | str, keys: str) -> dict[str, ContentField]:
    return dict.fromkeys(keys.split(), ContentField(ContentKind.TEXT, NUMBERS, max_values=limit))


TREE: Mapping[str, ContentField] = {
    **_numbers(1, "num_leaves num_cat is_linear shrinkage"),
    **_numbers("inner", "split_feature split_gain threshold decision_type left_child right_child"),
    **_numbers("inner", "internal_value internal_weight internal_count"),
    **_numbers("leaves", "leaf_value leaf_weight leaf_count"),
    "cat_boundaries": ContentField(ContentKind.TEXT, NUMBERS, max_values="sets"),
    "cat_threshold": ContentField(ContentKind.TEXT, NUMBERS, max_values="words"),
}
"""The lines of a tree, by key, each with the number of values that it may hold."""

WRITTEN = """
alpha auc_mu_weights bagging_by_query bagging_fraction bagging_freq bagging_seed bin_construct_sample_cnt
boost_from_average boosting cat_l2 cat_smooth categorical_feature cegb_penalty_feature_coupled
cegb_penalty_feature_lazy cegb_penalty_split cegb_tradeoff data data_random_seed data_sample_strategy
deterministic device_type drop_rate drop_seed early_stopping_min_delta early_stopping_round enable_bundle
eval_at extra_seed extra_trees fair_c feature_contri feature_fraction feature_fraction_bynode
feature_fraction_seed feature_pre_filter first_metric_only force_col_wise force_row_wise
forcedbins_filename forcedsplits_filename gpu_device_id gpu_device_id_list gpu_platform_id gpu_use_dp
group_column header histogram_pool_size ignore_column interaction_constraints is_enable_sparse
is_unbalance label_column label_gain lambda_l1 lambda_l2 lambdarank_norm
lambdarank_position_bias_regularization lambdarank_truncation_level learning_rate linear_lambda
linear_tree local_listen_port machine_list_filename machines max_bin max_bin_by_feature max_cat_threshold
max_cat_to_onehot max_delta_step max_depth max_drop metric min_data_in_bin min_data_in_leaf
min_data_per_group min_gain_to_split min_sum_hessian_in_leaf monotone_constraints
monotone_constraints_method monotone_penalty multi_error_top_k neg_bagging_fraction num_class num_gpu
num_grad_quant_bins num_iterations num_leaves num_machines num_threads objective objective_seed other_rate
parser_config_file path_smooth poisson_max_delta_step pos_bagging_fraction pre_partition
precise_float_parser quant_train_renew_leaf refit_decay_rate reg_sqrt saved_feature_importance_type
scale_pos_weight seed sigmoid skip_drop stochastic_rounding time_out top_k top_rate tree_learner
tweedie_variance_power two_round uniform_drop use_missing use_quantized_grad valid verbosity weight_column
xgboost_dart_mode zero_as_missing
"""
SETTINGS = frozenset(WRITTEN.split())
"""The settings that LightGBM 3.3 to 4.7 write."""

PLAIN = re.compile(r"[-+.\w]{0,30}(?:,[-+.\w]{1,30}){0,9}|[-.\d,\[\]]+")

PATHS = frozenset(
    {
        *("data", "valid", "machines", "machine_list_filename", "parser_config_file"),
        *("forcedbins_filename", "forcedsplits_filename"),
    }
)
"""Settings that hold the path of a file, or names of machines."""


def unread_content(text: str, features: Collection[str]) -> UnreadTracker:
    """What the file holds besides the trees and what the reader discloses of it."""
    tracker = UnreadTracker()
    trees, _, rest = text.replace("\r\n", "\n").partition("\nend of trees")
    head, *each = re.split(r"^(?=Tree=\d+$)", trees, flags=re.MULTILINE)
    limits = {"features": len(features), "trees": len(each)}
    for line in filter(None, head.split("\n")):
        tracker.check_line("a line before the trees", line, HEAD, limits)
    for number, tree in enumerate(each):
        first, *lines = filter(None, tree.split("\n"))
        if first != f"Tree={number}":
            tracker.add_text("a tree's number", first)
        limits = _limits(lines)
        for line in lines:
            tracker.check_line("a line among a tree's", line, TREE, limits)
    _check_rest(tracker, rest, features)
    return tracker


def _limits(lines: Sequence[str]) -> dict[str, int]:
    """How many numbers of each kind a tree may have."""
    document = {key: value for key, sign, value in (line.partition("=") for line in lines) if sign}
    leaves = len(document.get("leaf_value", "").split())
    kinds = document.get("decision_type", "").split()
    sets = sum(kind.isdigit() and int(kind) % 2 for kind in kinds)
    ends = document.get("cat_boundaries", "").split() if sets else []
    words = int(ends[-1]) if ends and ends[-1].isdigit() else 0
    return {"inner": leaves - 1, "leaves": leaves, "sets": sets + 1 if sets else 0, "words": words}


def _check_rest(tracker: UnreadTracker, rest: str, features: Collection[str]) -> None:
    """Check the lines after the trees: importance of features, settings, and lists of categories at the end."""
    lines = rest.removesuffix("\n").split("\n")
    at = {line: i for i, line in reversed(list(enumerate(lines)))}
    begin, end = at.get("parameters:", len(lines)), at.get("end of parameters", len(lines))
    names = set(features)
    for i, line in enumerate(lines):
        categories = i == len(lines) - 1 and line.startswith("pandas_categorical:")
        if i < begin and not categories and not _is_importance(line, names):
            tracker.add_text("a line after the trees", line)
        elif begin < i < end and line and not _is_setting(line, len(features)):
            tracker.add_text("a line among the settings", line)
        elif begin < i < end:
            value = line.partition(": ")[2].removesuffix("]")
            tracker.check_texts("texts among the settings", value.split(","), names)
        elif i > max(begin, end) and line and not categories:
            tracker.add_text("a line after the settings", line)


def _is_importance(line: str, names: Collection[str]) -> bool:
    """Whether a line says how often a feature is tested, or heads those that do."""
    name, _, number = line.rpartition("=")
    known = name in names and re.fullmatch(NUMBER, number) is not None and len(number) < 30
    return known or line in {"", "feature_importances:"}


def _is_setting(line: str, features: int) -> bool:
    """Whether a line is a setting of LightGBM with a value as settings have; the reader discloses paths."""
    key, _, value = line.removeprefix("[").removesuffix("]").partition(": ")
    if not (line.startswith("[") and line.endswith("]") and key in SETTINGS):
        return False
    return key in PATHS or (PLAIN.fullmatch(value) is not None and value.count(",") < max(features, 10))


DISCLOSURES = tuple(
    """
    every category that somebody had in training
    every setting of the learner, its seeds among them
    how much every test gained
    the people on every node of every tree; with the leaves' values the people of each class
    the smallest and the largest number that anybody has, by feature
    the sum of second derivatives on every node
    what every inner node would have said
    where the data lay
    """.replace("\n    ", "\n")
    .strip()
    .splitlines()
)
"""What disclosures of such files say, with `#` for each number."""
