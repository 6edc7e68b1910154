"""For classes of models that are not read, the nearest thing that is."""

from __future__ import annotations

from collections.abc import Mapping

TREE = "fit a decision tree, a forest or boosting, such as {}"
ALL_CLASSES = "fit a decision tree or a forest, which learn all classes at once"
EACH_OUTPUT = "fit, audit and publish a decision tree or a forest for each output"
EACH_MEMBER = "audit and publish each tree or forest of its `estimators_` by itself"
SAVED_BOOSTER = (
    "save the booster alone by its own library, and audit that file on what the other steps make of the table"
)
SAVED_CATBOOST = (
    'save the model alone by `save_model(path, format="json", pool=...)`, and audit that file on what the other steps '
    "make of the table"
)

NEAREST_MODELS: Mapping[str, str] = {
    "AdaBoostRegressor": "fit a GradientBoostingRegressor",
    "StackingClassifier": EACH_MEMBER,
    "StackingRegressor": EACH_MEMBER,
    "OneVsRestClassifier": ALL_CLASSES,
    "OneVsOneClassifier": ALL_CLASSES,
    "OutputCodeClassifier": ALL_CLASSES,
    "ClassifierChain": EACH_OUTPUT,
    "RegressorChain": EACH_OUTPUT,
    "TunedThresholdClassifierCV": "audit and publish its `estimator_` by itself, and state the threshold beside it",
    "FixedThresholdClassifier": "audit and publish its `estimator_` by itself, and state the threshold beside it",
    "SelfTrainingClassifier": "fit its decision tree or forest on the rows whose classes are known",
    **dict.fromkeys(
        ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"),
        "it keeps the number of every person that it learned from: fit a GradientBoostingRegressor with "
        '`loss="quantile"` for each quantile',
    ),
    "TransformedTargetRegressor": "fit its `regressor` on the transformed numbers",
    "CatBoostClassifier": SAVED_CATBOOST,
    "CatBoostRegressor": SAVED_CATBOOST,
    **dict.fromkeys(
        (
            *("LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier"),
            *("LinearSVC", "SVC", "NuSVC", "MLPClassifier", "KNeighborsClassifier", "GaussianNB", "CategoricalNB"),
            *("BernoulliNB", "MultinomialNB", "ComplementNB", "Perceptron", "GaussianProcessClassifier"),
            *("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "DummyClassifier"),
        ),
        TREE.format("DecisionTreeClassifier"),
    ),
    **dict.fromkeys(
        (
            *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "SGDRegressor"),
            *("LinearSVR", "SVR", "NuSVR", "MLPRegressor", "KNeighborsRegressor", "GaussianProcessRegressor"),
            *("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "HuberRegressor", "DummyRegressor"),
        ),
        TREE.format("DecisionTreeRegressor"),
    ),
    "RandomTreesEmbedding": "it predicts neither classes nor a number; " + TREE.format("RandomForestClassifier"),
}
"""By the name of a class, which messages may therefore repeat, what to do in its place."""

FOREIGN: Mapping[str, str] = dict.fromkeys(
    (
        *("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker"),
        *("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "Booster"),
    ),
    SAVED_BOOSTER,
)
"""By the class of an estimator of XGBoost or LightGBM, what to do where a file holds it in a way that is not read."""
