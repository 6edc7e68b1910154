"""What of a LightGBM file is not read, and what it tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from leafgate.models.exposure.unread import other_content, text_size, unread_texts
from leafgate.types.release import FileDisclosure

Parts = Iterator[tuple[str, int]]
NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d{1,3})?|inf|nan)"
NUMBERS = re.compile(rf"(?:{NUMBER}(?: {NUMBER})*)?")
HEAD: Mapping[str, re.Pattern[str]] = {
    "tree": re.compile(""),
    "average_output": re.compile(""),
    "version": re.compile(r"v\d{1,2}"),
    **dict.fromkeys(
        ("num_class", "num_tree_per_iteration", "label_index", "max_feature_idx"), re.compile(r"-?\d{1,8}")
    ),
    "objective": re.compile(r"[a-z_0-9]{1,30}(?: [a-z_]{1,30}(?::[-.\de]{1,20})?){0,3}"),
    "feature_names": re.compile(".*"),
    "feature_infos": re.compile(
        rf"(?:none|\[{NUMBER}:{NUMBER}\]|-?\d+(?::-?\d+)*)(?: (?:none|\[{NUMBER}:{NUMBER}\]|-?\d+(?::-?\d+)*))*"
    ),
    "monotone_constraints": NUMBERS,
    "tree_sizes": NUMBERS,
}
"""What stands before the trees, by its key, and how it looks."""

EACH = {
    **dict.fromkeys(("num_leaves", "num_cat", "is_linear", "shrinkage"), "one"),
    **dict.fromkeys(("split_feature", "split_gain", "threshold", "decision_type", "left_child"), "inner"),
    **dict.fromkeys(("right_child", "internal_value", "internal_weight", "internal_count"), "inner"),
    **dict.fromkeys(("leaf_value", "leaf_weight", "leaf_count"), "leaves"),
    "cat_boundaries": "sets",
    "cat_threshold": "words",
}
"""What a tree says, and of what each of the numbers is."""

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
"""What LightGBM 3.3 to 4.7 write of how they learned."""

PLAIN = re.compile(r"[-+.\w]{0,30}(?:,[-+.\w]{1,30}){0,9}|[-.\d,\[\]]+")


def unread_content(text: str, features: Collection[str]) -> tuple[FileDisclosure, ...]:
    """What the file tells besides the trees and what is disclosed of it already."""
    trees, _, rest = text.replace("\r\n", "\n").partition("\nend of trees")
    head, *each = re.split(r"^(?=Tree=\d+$)", trees, flags=re.MULTILINE)
    parts = [*_head(head, len(features), len(each))]
    for number, tree in enumerate(each):
        parts += _tree(tree, number)
    return other_content([*parts, *_after(rest, features)])


def _size(text: str) -> int:
    return text_size(text)


def _head(text: str, features: int, trees: int) -> Parts:
    most = {"feature_infos": features, "monotone_constraints": features, "tree_sizes": trees}
    for line in filter(None, text.split("\n")):
        key, _, value = line.partition("=")
        looks = HEAD.get(key)
        if looks is None or not looks.fullmatch(value) or value.count(" ") >= most.get(key, 9 + len(value)):
            yield "a line before the trees", _size(line)
        elif key == "objective":
            yield from unread_texts("the objective", [value], WORDS)


def _tree(text: str, number: int) -> Parts:
    """Lines that are not a tree's, or hold other numbers than one for each of its nodes."""
    first, *lines = filter(None, text.split("\n"))
    items = [(key, value) for key, sign, value in (line.partition("=") for line in lines) if sign]
    most = _most(dict(items))
    if first != f"Tree={number}":
        yield "a tree's number", _size(first)
    for line in lines:
        key, sign, value = line.partition("=")
        fits = sign and key in EACH and NUMBERS.fullmatch(value) and len(value.split()) <= most[EACH[key]]
        if not fits:
            yield "a line among a tree's", _size(line)


def _most(document: Mapping[str, str]) -> dict[str, int]:
    """How many numbers a tree may have of each kind."""
    leaves = len(document.get("leaf_value", "").split())
    kinds = document.get("decision_type", "").split()
    sets = sum(kind.isdigit() and int(kind) % 2 for kind in kinds)
    ends = document.get("cat_boundaries", "").split() if sets else []
    words = int(ends[-1]) if ends and ends[-1].isdigit() else 0
    return {"one": 1, "inner": leaves - 1, "leaves": leaves, "sets": sets + 1 if sets else 0, "words": words}


def _after(rest: str, features: Collection[str]) -> Parts:
    """What follows the trees: how often each feature is asked about, settings, categories; all else is told."""
    lines = rest.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    at = {line: i for i, line in reversed(list(enumerate(lines)))}
    begin, end = at.get("parameters:", len(lines)), at.get("end of parameters", len(lines))
    yield from _importances(lines[:begin], features)
    for line in filter(None, lines[begin + 1 : end]):
        if not _is_setting(line, len(features)):
            yield "a line among the settings", _size(line)
        else:
            value = line.partition(": ")[2].removesuffix("]")
            yield from unread_texts("texts among the settings", [value], WORDS, features)
    last = len(lines) - 1
    for i, line in enumerate(lines[end + 1 :], end + 1):
        if line and not (i == last and line.startswith("pandas_categorical:")):
            yield "a line after the settings", _size(line)


def _importances(lines: Sequence[str], features: Collection[str]) -> Parts:
    names = set(features)
    for line in lines:
        name, _, number = line.rpartition("=")
        known = name in names and re.fullmatch(NUMBER, number) and len(number) < 30
        categories = line.startswith("pandas_categorical:") and line is lines[-1]
        if line not in ("", "feature_importances:") and not known and not categories:
            yield "a line after the trees", _size(line)


def _is_setting(line: str, features: int) -> bool:
    """Is it a setting of LightGBM's, with a value as settings have? Paths are disclosed as such."""
    key, _, value = line.removeprefix("[").removesuffix("]").partition(": ")
    if not (line.startswith("[") and line.endswith("]") and key in SETTINGS):
        return False
    return key in PATHS or (PLAIN.fullmatch(value) is not None and value.count(",") < max(features, 10))


VALUES = """
advanced all alpha auc bagging basic binary c cegb class cpu cross cross_entropy csv cuda custom dart data e entropy
fair false feature file forest gamma gbdt gbrt goss gpu huber id inf intermediate l lambda lambdarank log logloss mae
map mape mean model mse multi multiclass multiclassova name nan ndcg none null num num_class one ova p poisson predict
quantile random rank rank_xendcg regression regression_l rf rmse serial sigmoid softmax split sqrt test train training
true tsv tweedie txt valid validation voting vs xendcg
"""
WORDS = frozenset(word for text in VALUES.split() for word in text.split("_"))
"""Words that LightGBM's settings are set to, and names that its examples give files of data."""

PATHS = frozenset(
    {
        *("data", "valid", "machines", "machine_list_filename", "parser_config_file"),
        *("forcedbins_filename", "forcedsplits_filename"),
    }
)
"""Settings that say where something lay."""
