"""Attacks that learn from the shadow models with scikit-learn: the worst case of SACRO-ML, and quantile regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import InconclusiveError, Table, lazy, require_installed
from leafgate_plugins.inference.game import Answers, coins
from leafgate_plugins.inference.membership.likelihood_ratios import logit
from leafgate_plugins.inference.membership.planted import Scorer
from leafgate_plugins.inference.membership.score_attacks import ShadowAttack
from leafgate_plugins.inference.membership.shadows import ShadowModels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats, Mask
else:
    np = lazy("numpy")

RANDOM_STREAM = 3
"""The stream of random numbers, among those that the audit's seed allows, that belongs to these attacks."""
MAX_ROWS = 50_000
"""The most answers of shadow models that an attack learns from; of more a random part is taken."""
DECIMALS = 3
"""To how many decimals the worst case reads scores: few distinct rows are then classified."""
MAX_CATEGORIES = 255
"""The most values of a column that scikit-learn's boosting takes for categories; with more they are numbers."""
SMALLEST_TRAINING = 2
"""So few rows teach nothing."""


class LearnedAttack(ShadowAttack):
    """What both have in common: one fit serves all planted leaks, and scikit-learn must be installed."""

    fitted_once = True


class WorstCase(LearnedAttack):
    """Train a classifier on the scores that shadow models give members and others; apply it to the model's scores."""

    use: Literal["worst_case"] = "worst_case"
    classifier: Literal["random_forest", "logistic_regression"] = Field(
        "random_forest", description="What separates the scores of members from those of others."
    )
    correct: bool = Field(default=False, description="Also learn whether the label with the highest score is right.")

    formula = (
        "score = the probability that a classifier gives to `member`, from the scores of all classes, the highest "
        "first; it is trained on such rows of shadow models, with whether they were trained on the person"
    )
    source = "the worst case attack of SACRO-ML 2.0.1, arXiv:2212.01233; shadow models as in Shokri and others 2017"

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return fit_worst_case(shadows, seed, forest=self.classifier == "random_forest", correct=self.correct)


@dataclass(frozen=True)
class MemberClassifier:
    """A classifier of sorted scores.

    Attributes:
        member: the probability of `member` for rows of features.
        correct: whether the features say if the label is right.
        _classified: the probabilities of rows that were asked before: leaks are planted in the same answers many times.
    """

    member: Callable[[Floats], Floats]
    correct: bool
    _classified: dict[bytes, float] = field(default_factory=dict, repr=False, compare=False)

    def scores(self, answers: Answers) -> Floats:
        """The probability of each candidate to be a member, by its scores: from 0 to 1."""
        rows, positions = distinct(sorted_scores(answers, self.correct))
        keys = [row.tobytes() for row in rows]
        new = [i for i, key in enumerate(keys) if key not in self._classified]
        if new:
            self._classified.update(zip((keys[i] for i in new), self.member(rows[new]).tolist(), strict=True))
        return np.array([self._classified[key] for key in keys])[positions]


def distinct(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows, and which of them each row is."""
    if rows.shape[1] == 1:
        values, positions = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], positions
    values, positions = np.unique(rows, axis=0, return_inverse=True)
    return values, positions.reshape(-1)


def sorted_scores(answers: Answers, correct: bool = False) -> Floats:
    """The scores of all classes, the highest first, to three decimals; with `correct` also whether the label is right.

    Args:
        answers: about any people.
        correct: whether to add a column of 1 where no class has a higher score than the person's own, else 0.

    Returns:
        Shape (n_people, n_classes), the lowest score left out, for the others tell it; or one column more.
    """
    rows = np.round(-np.sort(-answers.scores, axis=1), DECIMALS)
    features = rows[:, : max(1, rows.shape[1] - 1)]
    if not correct:
        return features
    right = (answers.of_own_class >= answers.scores.max(axis=1)) & (answers.of_own_class > 0)
    return np.column_stack([features, right.astype(float)])


def fit_worst_case(shadows: ShadowModels, seed: int, *, forest: bool = True, correct: bool = False) -> MemberClassifier:
    """Train a classifier on what shadow models answer about people they were trained on, and about others.

    Args:
        shadows: the shadow models; of more than 50,000 answers a random part is used.
        seed: for random numbers, from 0.
        forest: a random forest, with SACRO-ML's parameters; else logistic regression.
        correct: whether it also learns from whether the label is right.

    Raises:
        InconclusiveError: scikit-learn is not installed.

    Source: the worst case attack of SACRO-ML 2.0.1. arXiv:2212.01233
    Departure: SACRO-ML trains the classifier on half of the model's own members and others, which only its owner knows;
        here it is trained on shadow models, as Shokri, Stronati, Song and Shmatikov do (S&P 2017). Scores are read to
        three decimals.
    """
    require_installed("sklearn", "worst_case", "scikit-learn", "sklearn")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    rng = coins(seed, RANDOM_STREAM)
    models, people = shadows.trained_on.shape
    chosen = _some(rng, np.arange(models * people))
    model, person = np.divmod(chosen, people)
    answers = Answers(shadows.scores[model, person], shadows.own[person])
    member = shadows.trained_on[model, person]
    random_state = int(rng.integers(2**31))
    estimator: Any = (
        RandomForestClassifier(min_samples_split=20, min_samples_leaf=10, max_depth=5, random_state=random_state)
        if forest
        else LogisticRegression()
    )
    with threadpool_limits(1):
        estimator.fit(sorted_scores(answers, correct), member)
    column = list(estimator.classes_).index(True) if True in estimator.classes_ else 0

    def probability(rows: Floats) -> Floats:
        result: Floats = estimator.predict_proba(rows)[:, column]
        return result

    return MemberClassifier(probability, correct)


class Quantile(LearnedAttack):
    """Compare the candidate's score with the scores that models give similar people whom they were not trained on."""

    use: Literal["quantile"] = "quantile"
    law: Literal["normal", "quantile"] = Field(
        "normal",
        description="`normal`: a mean and a deviation for people with these cells; `quantile`: the quantile that "
        "`false_positives` names.",
    )
    false_positives: float = Field(
        0.01, gt=0, le=0.5, description="The share of non-members whose logit is above the quantile that is learned."
    )
    clip: float = Field(
        1e-3, gt=0, le=0.1, description="Added to p and to 1 - p in the logit, which bounds it by ln(1 + 1 / clip)."
    )
    least_deviation: float = Field(
        0.1, gt=0, le=10.0, description="Added to each standard deviation of logits: scores of trees hardly differ."
    )

    formula = (
        "phi = the logit of the model's score of the candidate's class; normal: score = (phi - mean) / deviation, both "
        "regressed on all cells; quantile: score = phi - quantile, regressed likewise; from the answers of shadow "
        "models about people whom they were not trained on"
    )
    source = "Bertran, Tang, Kearns, Morgenstern, Roth, Wu, NeurIPS 2023, arXiv:2307.03694"

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        level = 1 - self.false_positives if self.law == "quantile" else None
        return fit_quantile(
            shadows, features_of(people), seed, level=level, clip=self.clip, least_deviation=self.least_deviation
        )


@dataclass(frozen=True)
class RegressedLaws:
    """What models answer about people like each candidate, when they were not trained on them.

    Attributes:
        location: shape (n_candidates,), the mean or the quantile of the logit of the candidate's class.
        deviation: shape (n_candidates,), above 0; 1 where the location is a quantile.
        clip: added to p and to 1 - p in the logit.
    """

    location: Floats
    deviation: Floats
    clip: float

    def scores(self, answers: Answers) -> Floats:
        """How far each candidate's logit is above what is usual for people like this one."""
        return (logit(answers.of_own_class, self.clip) - self.location) / self.deviation


@dataclass(frozen=True)
class Features:
    """People as numbers.

    Attributes:
        cells: shape (n_people, n_columns); NaN where missing.
        categorical: shape (n_columns,), which columns are numbers of categories.
    """

    cells: Floats
    categorical: Mask


def features_of(people: Table) -> Features:
    """All cells of each person, the class too, columns by name and categories numbered by their texts."""
    cells, categorical = [], []
    for column in sorted(people.schema.columns, key=lambda column: column.name):
        if column.values is None or column.holds_numbers:
            cells.append(people.numbers(column.name))
            categorical.append(False)
        else:
            ranks = np.append(np.argsort(np.argsort(np.array(column.values, dtype=str))).astype(float), np.nan)
            codes = people.frame[column.name].cat.codes.to_numpy()
            cells.append(ranks[codes])
            categorical.append(len(column.values) <= MAX_CATEGORIES)
    return Features(np.column_stack(cells), np.array(categorical))


def fit_quantile(
    shadows: ShadowModels,
    people: Features,
    seed: int,
    *,
    level: float | None = None,
    clip: float = 1e-3,
    least_deviation: float = 0.1,
) -> RegressedLaws:
    """Regress the logits that models give people whom they were not trained on, on all cells of these people.

    Args:
        shadows: the shadow models, two at least; of more than 50,000 answers a random part is used.
        people: the candidates, in the order of `shadows`.
        seed: for random numbers, from 0.
        level: in (0, 1): which quantile is regressed; None for a mean and a deviation.
        clip: added to p and to 1 - p in the logit, above 0.
        least_deviation: added to each deviation, above 0.

    Raises:
        InconclusiveError: scikit-learn is not installed, or every shadow model was trained on all candidates.

    Source: Bertran, Tang, Kearns, Morgenstern, Roth, Wu, NeurIPS 2023. arXiv:2307.03694
    Departure: the paper regresses the audited model's own scores of people who are known to be no members; here
        nobody is, and shadow models answer about people whom they were not trained on. The score is the logit of the
        own class, not its distance from that of the next class, which is twice that where there are two classes.
    """
    require_installed("sklearn", "quantile", "scikit-learn", "sklearn")
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    rng = coins(seed, RANDOM_STREAM)
    outside = _some(rng, np.flatnonzero(~shadows.trained_on.reshape(-1)))
    if len(outside) < SMALLEST_TRAINING:
        raise InconclusiveError(
            "there is nobody whom a shadow model was not trained on", remedy="give more people in data.control"
        )
    model, person = np.divmod(outside, shadows.trained_on.shape[1])
    phi = logit(shadows.of_own_class, clip)[model, person]
    random_state = int(rng.integers(2**31))

    def regressed(values: Floats, **loss: Any) -> Floats:
        estimator = HistGradientBoostingRegressor(
            categorical_features=people.categorical, early_stopping=False, random_state=random_state, **loss
        )
        with threadpool_limits(1):
            estimator.fit(people.cells[person], values)
            result: Floats = estimator.predict(people.cells)
        return result

    if level is not None:
        location = regressed(phi, loss="quantile", quantile=level)
        return RegressedLaws(location, np.ones_like(location), clip)
    mean = regressed(phi)
    variance = regressed((phi - mean[person]) ** 2)
    return RegressedLaws(mean, np.sqrt(np.maximum(variance, 0)) + least_deviation, clip)


def _some(rng: np.random.Generator, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """All positions, or MAX_ROWS of them at random, in their order."""
    if len(positions) <= MAX_ROWS:
        return positions
    return np.sort(rng.choice(positions, MAX_ROWS, replace=False))
