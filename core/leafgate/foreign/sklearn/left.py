"""What of a fitted scikit-learn model is not scikit-learn's, or of columns that the model does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.disclosed import PEOPLE, Disclosure, has_known_words, other_content, text_size
from leafgate.foreign.model import CategoryList
from leafgate.foreign.seen import Seen
from leafgate.foreign.sklearn.made import Made, is_missing, text_of
from leafgate.foreign.sklearn.odd import odd

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
"""Attributes of scikit-learn's own: read here, told of elsewhere, or how the algorithm was set."""

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


def left(whole: Seen, made: Sequence[Made]) -> tuple[Disclosure, ...]:
    """What is nobody's need: attributes that somebody set, the generator's state, names of columns that are dropped."""
    own = {one.name for one in made} | {one.origin.column for one in made}
    unknown, names, random = list[tuple[str, int]](), set[str](), False
    for each in _objects(whole):
        random |= each.kind in {"RandomState", "Generator"}
        unknown += _of(each) if each.kind not in {"RandomState", "Generator"} else []
        names |= {str(name) for name in _listed(each.get("feature_names_in_"))}
    strange = {name for name in names - own if name.partition("__")[2] not in own}
    says = f"the names of {len(strange)} column(s) that the model does not use (feature_names_in_)"
    found = [Disclosure("column_names", "medium", says)] if strange else []
    found += [SEED] if random else []
    return (*found, *other_content(unknown))


def category_lists(whole: Seen) -> tuple[CategoryList, ...]:
    """Every list of values that an object of the file holds, whether any feature is made with it or not.

    Encoders keep them fitted (`categories_`) and as they were asked for (`categories`), label encoders as `classes_`,
    imputers what they fill gaps with.
    """
    found = list[CategoryList]()
    for each in _objects(whole):
        names = [str(name) for name in _listed(each.get("feature_names_in_"))]
        fill = each.get("fill_value")
        for key in ("categories_", "categories"):
            told = each.get(key)
            lists = list(told) if isinstance(told, tuple | np.ndarray) else []
            columns = names if len(names) == len(lists) else [""] * len(lists)
            found += [_values(column, one, fill) for column, one in zip(columns, lists, strict=True)]
        if each.kind in LABEL_ENCODERS:
            found.append(_values("", each.get("classes_"), fill))
        found += [_values("", (one,), fill) for one in _listed(each.get("statistics_")) if isinstance(one, str)]
    return tuple(dict.fromkeys(one for one in found if one.values))


LABEL_ENCODERS = {"LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer", "TargetEncoder"}


def _values(column: str, told: Any, fill: Any) -> CategoryList:
    return CategoryList(column, frozenset(text_of(one) for one in _listed(told) if not is_missing(one) and one != fill))


def names_in(whole: Seen) -> tuple[str, ...]:
    """The names of columns that any object of the file was given."""
    return tuple({str(name): None for each in _objects(whole) for name in _listed(each.get("feature_names_in_"))})


SEED = Disclosure("seed", "medium", "the state of the generator of random numbers that it was trained with")


def _objects(whole: Seen) -> Iterator[Seen]:
    """Every object that another has, trees too."""
    waiting: list[Any] = [whole]
    for _ in range(STEPS):
        if not waiting:
            return
        here = waiting.pop()
        if isinstance(here, Seen):
            yield here
            if here.kind not in {"RandomState", "Generator"}:
                waiting.extend(each for name in sorted(here.names) if _deep(each := here.get(name)))
        else:
            waiting.extend(filter(_deep, here.values() if isinstance(here, Mapping) else here))


def _deep(thing: Any) -> bool:
    return isinstance(thing, Seen | tuple | Mapping)


def _of(each: Seen) -> Iterator[tuple[str, int]]:
    """Attributes that are not scikit-learn's, and settings that are a long text."""
    for name in sorted(each.names):
        if name not in KNOWN and (told := each.get(name)) is not None:
            yield "an attribute that scikit-learn does not have", max(size(told), PEOPLE * (not _is_known(name)))
        elif name in KNOWN and isinstance(told := each.get(name), str) and not SETTING.fullmatch(told):
            yield "a text among the settings of an object", text_size(told)
        if name in STEPS_OF:
            yield from _names_of_steps(each, name)
    yield from odd(each, KNOWN)


def _is_known(name: str) -> bool:
    """May an attribute of this name be one of a later scikit-learn?"""
    return has_known_words(name, WORDS)


def _names_of_steps(each: Seen, name: str) -> Iterator[tuple[str, int]]:
    """Names of steps that are no short words, or of more steps than a pipeline has."""
    told = each.get(name)
    named = [one[0] for one in told if isinstance(one, tuple) and one] if isinstance(told, tuple) else []
    texts = [one for one in named if isinstance(one, str)]
    strange = [one for one in texts if not SETTING.fullmatch(one)] if len(texts) <= MAX_STEPS_NAMED else texts
    if strange:
        yield "names of steps of an object", text_size(*strange)


def _listed(names: Any) -> Sequence[Any]:
    if isinstance(names, np.ndarray):
        return list(names.ravel().tolist())
    return names if isinstance(names, tuple) else ()


def size(told: Any) -> int:
    """About how many numbers something holds; many where nobody can say."""
    if isinstance(told, np.ndarray):
        return int(told.size)
    if isinstance(told, Mapping | tuple):
        return sum(size(one) for one in (told.values() if isinstance(told, Mapping) else told))
    if isinstance(told, Seen):
        return PEOPLE if told.names else 1
    return text_size(told) if isinstance(told, str) else 1
