"""What stands under scikit-learn's own names and is not what scikit-learn keeps there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.foreign.seen import Seen

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


def odd(each: Seen, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Tables where a plain value or a short list belongs, names of other kinds of objects, fields of no node."""
    features = each.get("n_features_in_")
    classes = each.get("classes_")
    for name in sorted(set(known) & each.names):
        told, most = each.get(name), None
        if name in PLACES and each.kind not in PLACES[name] and told is not None:
            most = 0
        elif name in SCALARS:
            most = 1
        elif name in SHORT:
            most = SHORT[name]
        elif name in EACH_FEATURE and isinstance(features, int):
            most = max(features, 1) * (2 if name == "interaction_cst" else 1)
        elif name in EACH_CLASS and isinstance(classes, tuple | np.ndarray) and name != "classes_":
            most = len(classes)
        if most is not None and (many := values(told)) > most:
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


def values(told: Any) -> int:
    """How many plain values something holds; objects have a look of their own."""
    if isinstance(told, np.ndarray):
        return int(told.size)
    if isinstance(told, Mapping):
        return sum(map(values, told.values()))
    if isinstance(told, tuple):
        return sum(map(values, told))
    return 0 if told is None or isinstance(told, Seen) else 1
