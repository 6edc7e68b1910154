"""Imputation of a secret column without the model: the baseline that an attack on the model has to beat.

Jayaraman and Evans (arXiv:2209.01292) show that attribute inference often learns no more from a model than imputation
learns from other people's records. The imputation here is therefore a strong one, and sees all that an attack sees of
the targets, and never the model.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from leafgate.api import Column, InconclusiveError, Schema, Table, Targets, lazy, require_installed
from leafgate_plugins.inference.game import canonical_order, coins

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.api import Floats, Mask
else:
    np, pd = lazy("numpy"), lazy("pandas")

RANDOM_STREAM = 4
"""The stream of random numbers, among those that the audit's seed allows, that belongs to the imputation."""
FOLDS = 5
"""Each auxiliary person's posterior is learned from the other four fifths of the auxiliary people."""
FEWEST_PEOPLE = 10
"""From fewer auxiliary people only the shares of the values are learned."""
MAX_BOOSTED_VALUES = 40
"""With more values among the auxiliary people boosting is too slow: it grows a tree for each value in each round."""
MAX_CATEGORIES = 254
"""So many values of an unordered column are told apart, the most frequent ones; scikit-learn's boosting takes 255."""
MAX_KEPT = 8
"""So many imputations are kept in memory; one of 24,000 targets and 15 values is 3 MB."""
PEOPLE_PER_COMBINATION = 5
"""On average so many people share the cells of columns that are said to determine the secret."""
SAMPLE = 2_000
"""Two columns that do not determine the secret among so many rows are not looked at further."""

BINARY = 2
"""A secret of two values needs one tree a round, and so can have more rounds with a lower learning rate."""
LEAVES = (4, 8)
"""The numbers of leaves of boosted trees that are tried."""
ROUNDS = (1, 2, 3, 5, 7, 10, 13, 16, 20, 25, 30, 36, 43, 50, 60, 72, 85, 100, 120)
"""The numbers of boosting rounds that are tried."""
MAX_LARGE_TREES_VALUES = 5
"""With more values only the smaller trees are tried, which were better and faster on Adult's occupation and age."""
SLOW_RATE = 0.1
"""The learning rate of boosting for a secret of two values."""
FAST_RATE = 0.2
"""The learning rate of boosting for a secret of more values."""
TREES = 375
"""The most trees of one boosted model for a secret of more than two values, where that allows MIN_ROUNDS."""
MIN_ROUNDS = 10
"""At least so many rounds of boosting are tried."""
MOST_FAST_ROUNDS = 60
"""At most so many rounds of boosting at the higher learning rate are tried."""
PEOPLE_A_LEAF = 20
"""Of so many people who are learned from one has to be in each leaf."""
MIN_LEAF = 3
"""The fewest people in a leaf of a boosted tree, however few are learned from."""
MAX_LEAF = 10
"""So many people in a leaf of a boosted tree are enough, however many are learned from."""
MAX_ITERATIONS = 200
"""The most iterations of logistic regression for one penalty."""
GRADIENT_TOLERANCE = 1e-3
"""Logistic regression ends where no derivative of the mean loss is larger."""
INVERSE_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""The inverse strengths of the L2 penalty of logistic regression that are tried."""
KNOTS = (0.2, 0.4, 0.6, 0.8)
"""Logistic regression bends at these quantiles of a number."""
TAILS = (0.005, 0.995)
"""Logistic regression reads numbers outside these quantiles as the quantiles."""

Path = Callable[["NDArray[np.int64]", "NDArray[np.int64]", Sequence[float]], "Iterator[Floats]"]
"""Learns from people at positions, and yields the posterior of others at positions for each setting, in their order."""


@dataclass(frozen=True)
class Imputation:
    """What an adversary believes of a secret who has other people's records, and not the model.

    Attributes:
        posterior: shape (n, V), the probability of each value for each target, the first group first; above 0, rows
            sum to 1.
        auxiliary: shape (n_aux, V), the probability of each value for each auxiliary person, learned from the others.
        accuracy: for how many of the auxiliary people the most probable value of `auxiliary` is right, from 0 to 1.
        model: what the posterior comes from: `prior` (the shares of the values), `boosting`, `logistic regression`, or
            `boosting and logistic regression` (the mean of both).
    """

    posterior: Floats
    auxiliary: Floats
    accuracy: float
    model: str

    def __post_init__(self) -> None:
        self.posterior.setflags(write=False)
        self.auxiliary.setflags(write=False)


def impute(targets: Targets, seed: int, with_class: bool | None = None) -> Imputation:
    """Impute the secret of each target from the columns that are known of it, as the auxiliary people teach it.

    Gradient boosting, multinomial logistic regression, the mean of both and the shares of the values alone are compared
    by the log loss in cross-validation, which also chooses the number of rounds and the penalty. A person's posterior
    depends neither on the order of people nor on who else is among the targets. Results are kept in memory, so that
    attacks and metrics share them.

    Args:
        targets: the people; of the auxiliary people only the secret and the columns of the groups are read.
        seed: for the folds of cross-validation, from 0.
        with_class: False where the class shall not be read even if it is known of the targets. Otherwise it is read
            wherever it is known.

    Raises:
        InconclusiveError: the secret is a number without bins, or scikit-learn is not installed.
    """
    if not targets.secret.countable:
        raise InconclusiveError(
            "the secret is a number, of which no finitely many values can be believed",
            place=f"data.columns.{targets.secret.name}",
            remedy="declare its `bins`",
        )
    columns = [
        column
        for column in sorted(targets.groups[0].schema.columns, key=lambda column: column.name)
        if column.name != targets.secret.name and not (with_class is False and "class" in column.roles)
    ]
    people = _people_of(targets, columns)
    key = people.digest(seed)
    with _ONE_AT_A_TIME:
        if key not in _KEPT:
            _KEPT[key] = _imputed(people, seed)
            while len(_KEPT) > MAX_KEPT:
                _KEPT.popitem(last=False)
        _KEPT.move_to_end(key)
        kept = _KEPT[key]
    places = _places_by_name(targets.secret)
    return replace(kept, posterior=kept.posterior[:, places], auxiliary=kept.auxiliary[:, places])


_KEPT: OrderedDict[str, Imputation] = OrderedDict()
_ONE_AT_A_TIME = threading.Lock()


def smoothed(posterior: Floats, people: int) -> Floats:
    """The posterior after one more person who has each value with equal probability, so that no value is impossible.

    Where the posterior is the shares of the values among the people, this is Perks' estimate.

    Args:
        posterior: shape (..., n_values), rows sum to 1.
        people: how many people it was learned from, from 0.

    Returns:
        The same shape, above 0, rows sum to 1.

    Source: Perks, "Some observations on inverse probability", Journal of the Institute of Actuaries 73, 1947.

    >>> smoothed(np.array([0.75, 0.25, 0.0]), 8).round(3).tolist()
    [0.704, 0.259, 0.037]
    """
    result: Floats = (people * posterior + 1 / posterior.shape[-1]) / (people + 1)
    return result


@dataclass(frozen=True)
class _People:
    """The auxiliary people, then the targets, as numbers.

    Attributes:
        cells: shape (n_aux + n, n_columns): numbers, or numbers of categories; NaN where missing. The auxiliary people
            are in an order that follows from their cells.
        categorical: shape (n_columns,), which columns are numbers of categories without an order.
        levels: shape (n_columns,), how many categories a column has, ordered or not; 0 for numbers.
        codes: shape (n_aux,), the place of each auxiliary person's value among the values in the order of their names.
        values: how many values the secret has.
        place: shape (n_aux,), the position among these of each row of `Targets.auxiliary`.
    """

    cells: Floats
    categorical: Mask
    levels: NDArray[np.int64]
    codes: NDArray[np.int64]
    values: int
    place: NDArray[np.int64]

    def digest(self, seed: int) -> str:
        """What the imputation follows from, as a text."""
        result = hashlib.sha256(json.dumps([seed, self.values, self.cells.shape]).encode())
        for array in (self.cells, self.categorical, self.levels, self.codes, self.place):
            result.update(np.ascontiguousarray(array).tobytes())
        return result.hexdigest()


def _people_of(targets: Targets, columns: Sequence[Column]) -> _People:
    """The auxiliary people and the targets with some columns."""
    auxiliary = targets.auxiliary
    read = (*columns, auxiliary.schema[targets.secret.name])
    order = canonical_order(Table(Schema(read), auxiliary.frame[[column.name for column in read]], auxiliary.weight))
    parts = [_cells(column, auxiliary, order, targets.groups) for column in columns]
    levels = np.array([levels for _, levels in parts], dtype=np.int64)
    unordered = np.array([not column.numeric and not column.ordered for column in columns], dtype=bool)
    cells = [cells for cells, _ in parts]
    return _People(
        np.column_stack(cells) if cells else np.empty((len(auxiliary) + len(targets), 0)),
        unordered,
        levels,
        _places_by_name(targets.secret)[auxiliary.codes(targets.secret.name)[order]],
        len(targets.secret.domain),
        np.argsort(order),
    )


def _places_by_name(secret: Column) -> NDArray[np.int64]:
    """The place of each value of the domain in the order of names, so that the declared order changes nothing."""
    names = [(value is None, value or "") for value in secret.domain]
    return np.argsort(sorted(range(len(names)), key=names.__getitem__))


def _cells(column: Column, auxiliary: Table, order: NDArray[np.int64], groups: Sequence[Table]) -> tuple[Floats, int]:
    """A column of the auxiliary people in an order, then of the targets; and how many categories it has.

    Categories without an order are numbered from the most frequent one among the auxiliary people; those that are too
    many, or that no auxiliary person has, are one category.
    """
    tables = (auxiliary, *groups)
    if column.values is None or column.holds_numbers:
        cells = [table.numbers(column.name) for table in tables]
        return np.concatenate([cells[0][order], *cells[1:]]), 0
    codes = [table.frame[column.name].cat.codes.to_numpy().astype(np.int64) for table in tables]
    levels = len(column.values)
    ranks = np.arange(levels, dtype=float)
    if not column.ordered:
        frequency = np.bincount(codes[0][codes[0] >= 0], minlength=levels)
        by_frequency = np.lexsort((np.array(column.values, dtype=str), -frequency))
        kept = min(int((frequency > 0).sum()), MAX_CATEGORIES)
        ranks[by_frequency] = np.minimum(np.arange(levels), kept)
        levels = kept + 1
    ranks = np.append(ranks, np.nan)  # of the code -1
    return np.concatenate([ranks[codes[0][order]], *(ranks[of_group] for of_group in codes[1:])]), levels


def _imputed(people: _People, seed: int) -> Imputation:
    """The posteriors by the model that is best in cross-validation."""
    folds = _folds(people.codes, seed)
    choices = [_prior(people, folds)]
    present = len(np.unique(people.codes))
    if len(people.codes) >= FEWEST_PEOPLE and present > 1 and people.cells.shape[1]:
        require_installed("sklearn", "imputation", "scikit-learn", "sklearn")
        import sklearn.ensemble
        import sklearn.linear_model  # noqa: F401  (threads of a library are limited only once it is loaded)
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            choices += _learned(people, folds, present, seed)
            best = _best_of(choices)
            posterior = best.impute()
    else:
        best = choices[0]
        posterior = best.impute()
    right = best.auxiliary.argmax(axis=1) == people.codes
    accuracy = float(right.mean()) if len(right) else 1 / people.values
    return Imputation(posterior, best.auxiliary[people.place], accuracy, best.model)


@dataclass(frozen=True)
class _Choice:
    """A model that the imputation may come from.

    Attributes:
        model: as `Imputation.model`.
        auxiliary: shape (n_aux, V), cross-fitted.
        losses: shape (n_aux,), the log loss of each row of `auxiliary`, in nats.
        impute: learns from all auxiliary people, and returns the posterior of the targets, shape (n, V).
    """

    model: str
    auxiliary: Floats
    losses: Floats
    impute: Callable[[], Floats]

    @property
    def loss(self) -> float:
        """The mean of the losses; 0 for nobody."""
        return float(self.losses.sum()) / max(1, len(self.losses))


def _best_of(choices: Sequence[_Choice]) -> _Choice:
    """The model of the lowest loss; but the mean of models, if the lowest is within one standard error of its loss.

    The losses of few people say little of which model is better, and the loss of the mean is at most the mean loss.
    """
    best = min(choices, key=lambda choice: choice.loss)
    mean = choices[-1]
    differences = mean.losses - best.losses
    standard_error = float(differences.std()) / math.sqrt(len(differences))
    return mean if best.model != "prior" and differences.mean() <= standard_error else best


def _folds(codes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Shape (n_people,): a random fold for each person, each value spread evenly over the folds."""
    rng = coins(seed, RANDOM_STREAM)
    shuffled = rng.permutation(len(codes))
    by_value = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[by_value] = np.arange(len(codes)) % FOLDS
    return folds


def _log_losses(posterior: Floats, codes: NDArray[np.int64]) -> Floats:
    """Minus the logarithm of the probability of each person's value."""
    result: Floats = -np.log(posterior[np.arange(len(codes)), codes])
    return result


def _prior(people: _People, folds: NDArray[np.int64]) -> _Choice:
    """The shares of the values."""

    def shares(codes: NDArray[np.int64], asked: int) -> Floats:
        of_values = np.bincount(codes, minlength=people.values) / max(1, len(codes))
        return np.tile(smoothed(of_values, len(codes)), (asked, 1))

    auxiliary = np.empty((len(folds), people.values))
    for fold in range(FOLDS):
        auxiliary[folds == fold] = shares(people.codes[folds != fold], int((folds == fold).sum()))
    losses = _log_losses(auxiliary, people.codes)
    return _Choice("prior", auxiliary, losses, lambda: shares(people.codes, len(people.cells) - len(people.codes)))


def _learned(people: _People, folds: NDArray[np.int64], present: int, seed: int) -> Iterator[_Choice]:
    """Regression, boosting where there are few enough values, and the mean of both."""
    regression = _cross_fitted("logistic regression", _regression(people), INVERSE_PENALTIES, people, folds)
    yield regression
    if present > MAX_BOOSTED_VALUES:
        return
    most = ROUNDS[-1] if present == BINARY else int(np.clip(TREES // present, MIN_ROUNDS, MOST_FAST_ROUNDS))
    rounds = [n for n in ROUNDS if n <= most]
    rate = SLOW_RATE if present == BINARY else FAST_RATE
    boosting = min(
        (
            _cross_fitted("boosting", _boosting(people, leaves, rate, seed), rounds, people, folds)
            for leaves in (LEAVES if present <= MAX_LARGE_TREES_VALUES else LEAVES[:1])
        ),
        key=lambda choice: choice.loss,
    )
    yield boosting
    auxiliary = (regression.auxiliary + boosting.auxiliary) / 2
    yield _Choice(
        "boosting and logistic regression",
        auxiliary,
        _log_losses(auxiliary, people.codes),
        lambda: (regression.impute() + boosting.impute()) / 2,
    )


def _cross_fitted(
    model: str, path: Path, settings: Sequence[float], people: _People, folds: NDArray[np.int64]
) -> _Choice:
    """A kind of model with that of the settings which has the lowest log loss."""
    fitted = np.empty((len(settings), len(folds), people.values))
    for fold in range(FOLDS):
        learned_from, asked = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for setting, posterior in enumerate(_with_every_value(path, people, learned_from, asked, settings)):
            fitted[setting, asked] = posterior
    losses = [_log_losses(posterior, people.codes) for posterior in fitted]
    best = int(np.argmin([of_setting.sum() for of_setting in losses]))

    def impute() -> Floats:
        everybody = np.arange(len(people.codes))
        asked = np.arange(len(people.codes), len(people.cells))
        return next(_with_every_value(path, people, everybody, asked, settings[best : best + 1]))

    return _Choice(model, fitted[best], losses[best], impute)


def _with_every_value(
    path: Path,
    people: _People,
    learned_from: NDArray[np.int64],
    asked: NDArray[np.int64],
    settings: Sequence[float],
) -> Iterator[Floats]:
    """The smoothed posterior of the people who are asked, for each setting: shape (n_asked, V)."""
    present = np.unique(people.codes[learned_from])
    if not len(asked):
        posteriors: Iterator[Floats] = (np.empty((0, len(present))) for _ in settings)
    elif len(present) == 1:
        posteriors = (np.ones((len(asked), 1)) for _ in settings)
    else:
        posteriors = path(learned_from, asked, settings)
    for posterior in posteriors:
        result = np.zeros((len(asked), people.values))
        result[:, present] = posterior
        yield smoothed(result, len(learned_from))


def _boosting(people: _People, leaves: int, rate: float, seed: int) -> Path:
    """Gradient boosting of trees; the setting is the number of rounds."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def path(learned_from: NDArray[np.int64], asked: NDArray[np.int64], settings: Sequence[float]) -> Iterator[Floats]:
        estimator = HistGradientBoostingClassifier(
            learning_rate=rate,
            max_iter=int(max(settings)),
            max_leaf_nodes=leaves,
            min_samples_leaf=int(np.clip(len(learned_from) // PEOPLE_A_LEAF, MIN_LEAF, MAX_LEAF)),
            l2_regularization=1.0,
            categorical_features=people.categorical,
            early_stopping=False,
            random_state=seed % 2**32,
        )
        known, wanted = people.cells[learned_from], people.cells[asked]
        unknown = np.isnan(known).all(axis=0)  # scikit-learn refuses a column without any cell
        known[:, unknown] = wanted[:, unknown] = 0.0
        estimator.fit(known, people.codes[learned_from])
        if len(settings) == 1:
            yield estimator.predict_proba(wanted)
            return
        for rounds, posterior in enumerate(estimator.staged_predict_proba(wanted), 1):
            if rounds in settings:
                yield posterior

    return path


def _regression(people: _People) -> Path:
    """Multinomial logistic regression; the setting is the inverse strength of its L2 penalty."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    design = _design(people)

    def path(learned_from: NDArray[np.int64], asked: NDArray[np.int64], settings: Sequence[float]) -> Iterator[Floats]:
        estimator: Any = LogisticRegression(max_iter=MAX_ITERATIONS, tol=GRADIENT_TOLERANCE, warm_start=True)
        for inverse_penalty in settings:
            estimator.C = inverse_penalty
            with warnings.catch_warnings():  # cross-validation judges a model that has not converged, too
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(design[learned_from], people.codes[learned_from])
            yield estimator.predict_proba(design[asked])

    return path


def _design(people: _People) -> Any:
    """The design matrix of logistic regression, a sparse one with a row for each of the people.

    A category has an indicator. A number, and the position of an ordered category, is scaled to mean 0 and deviation 1
    among the auxiliary people and bends at its quantiles. A missing cell has an indicator.
    """
    from scipy import sparse

    blocks = []
    n_aux = len(people.codes)
    for cells, categorical, levels in zip(people.cells.T, people.categorical, people.levels.tolist(), strict=True):
        missing = np.isnan(cells)
        blocks.append(sparse.csr_array(missing[:, None].astype(float)))
        if levels:
            rows = np.flatnonzero(~missing)
            entries = (np.ones(len(rows)), (rows, cells[rows].astype(np.int64)))
            blocks.append(sparse.csr_array(entries, shape=(len(cells), levels)))
        if not categorical:
            blocks.append(sparse.csr_array(_linear_spline(cells, cells[:n_aux])))
    return sparse.hstack(blocks, format="csr")


def _linear_spline(numbers: Floats, auxiliary: Floats) -> Floats:
    """A number, and by how much it exceeds each of its quantiles; each column scaled, 0 where the number is missing.

    Args:
        numbers: shape (n,), NaN where missing.
        auxiliary: those that quantiles and scales are of.

    Returns:
        Shape (n, at most 5); of no columns where all numbers of `auxiliary` are alike.
    """
    known = np.sort(auxiliary[np.isfinite(auxiliary)])
    if not len(known):
        return np.empty((len(numbers), 0))
    low, high = np.quantile(known, TAILS)
    knots = [low, *(knot for knot in np.unique(np.quantile(known, KNOTS)) if low < knot < high)]
    clipped, reference = np.clip(numbers, low, high), np.clip(known, low, high)
    columns = []
    for knot in knots:
        excess, of_reference = np.maximum(clipped - knot, 0), np.maximum(reference - knot, 0)
        if (scale := of_reference.std()) > 0:
            columns.append(np.nan_to_num((excess - of_reference.mean()) / scale))
    return np.column_stack(columns) if columns else np.empty((len(numbers), 0))


def determining_columns(tables: Sequence[Table], secret: str) -> tuple[str, ...]:
    """One or two columns of which the secret is a function among all people, where they are known.

    Whoever knows these columns of a person and other people's records infers the secret without any model. A missing
    cell is a value, and a secret number is known by its bins. Columns whose cells few people share determine everything
    and mean nothing, so that there have to be five people for each combination of cells that occurs, on average.

    Args:
        tables: one or more: people with the secret and what else is known of them. Columns that one of the tables lacks
            are not looked at. Each row counts as many people as share it.
        secret: the name of a column of all tables.

    Returns:
        The shortest such columns, the first ones in the order of the first table's schema; () where there are none.
    """
    shared = [c.name for c in tables[0].schema.columns if all(c.name in table.schema for table in tables)]
    tables = [table for table in tables if len(table)]
    if not tables:
        return ()
    people = int(sum(table.persons.sum() for table in tables))
    if tables[0].schema[secret].bins is None:
        value = _numbered(tables, secret)[0]
    else:
        value = np.concatenate([table.codes(secret) for table in tables])
    most = people // PEOPLE_PER_COMBINATION
    known = {name: _numbered(tables, name) for name in shared if name != secret}
    known = {name: (codes, size) for name, (codes, size) in known.items() if size <= most}
    for name, (codes, size) in known.items():
        if _is_function(value, codes, size):
            return (name,)
    for (first, (codes, _)), (second, (others, size)) in combinations(known.items(), 2):
        both = codes * size + others
        part = both[:SAMPLE]
        if _is_function(value[:SAMPLE], *_renumbered(part)):
            combined, combinations_that_occur = _renumbered(both)
            if combinations_that_occur <= most and _is_function(value, combined, combinations_that_occur):
                return (first, second)
    return ()


def _numbered(tables: Sequence[Table], name: str) -> tuple[NDArray[np.int64], int]:
    """A column of all tables as numbers of its distinct cells, and how many these are; a missing cell is one."""
    return _renumbered(pd.concat([table.frame[name] for table in tables], ignore_index=True))


def _renumbered(cells: Any) -> tuple[NDArray[np.int64], int]:
    codes, distinct = pd.factorize(cells, use_na_sentinel=False)
    return codes.astype(np.int64), len(distinct)


def _is_function(value: NDArray[np.int64], codes: NDArray[np.int64], size: int) -> bool:
    """Have all people with the same code the same value?"""
    of_code = np.empty(size, dtype=np.int64)
    of_code[codes] = value
    return bool(np.array_equal(of_code[codes], value))
