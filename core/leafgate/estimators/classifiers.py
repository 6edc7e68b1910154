"""Classifiers whose fitted model is a release; fit builds it with a builder of the installed plugins."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from leafgate.algorithms import prediction
from leafgate.algorithms.publication import published
from leafgate.algorithms.routing import NOWHERE
from leafgate.api.registry import load_plugins
from leafgate.errors import LeafgateError, NoReleaseError, plain
from leafgate.estimators.columns import (
    Cells,
    ClassLabels,
    ColumnOptions,
    InvalidInputError,
    Layout,
    class_labels,
    feature_columns,
    invalid,
    read_frame,
    with_unknown_values,
)
from leafgate.io.files import EVERYONE, write_file
from leafgate.io.release_codec import serialize
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.release import BuildResult, Publish, Release
from leafgate.kernel.tree import leaves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST_ROWS = 2
"""A table of one row is refused, as by scikit-learn's checks."""
LARGEST_SEED = 2**31
"""Seeds that are drawn from a RandomState are below this."""


class NoTreeError(NoReleaseError, ValueError):
    """No tree keeps the promise, such as k-anonymity of fewer than k people; to scikit-learn it is a ValueError."""


@dataclass(frozen=True, eq=False)
class TrainingPeople:
    """The people that a tree is built from.

    Attributes:
        layout: how the columns of X and y become those of a table.
        cells: by column.
        classes: shape (n_rows,), the position of each row's class in the domain of the class.
        weight: shape (n_rows,), how many people each row stands for; None where each is one.
    """

    layout: Layout
    cells: Mapping[str, Cells]
    classes: NDArray[np.int64]
    weight: NDArray[np.int64] | None


class ReleaseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the classifiers have in common: X and y become a table, a builder makes the release, the release predicts.

    A fitted estimator keeps no person of the data: its attributes hold the release, the labels and the domains of the
    columns, which the release publishes too.
    """

    use: ClassVar[str]
    """The builder, as a policy names it."""
    takes_categories: ClassVar[bool] = True
    feature_role: ClassVar[str] = "quasi_identifier"
    target_roles: ClassVar[tuple[str, ...]] = ("class", "sensitive")
    settings: ClassVar[tuple[str, ...]]
    """The parameters that are the builder's options, under the names that a policy has."""

    domains: Mapping[str, Any] | None
    roles: Mapping[str, Any] | None
    classes: Sequence[Any] | None
    random_state: Any

    classes_: NDArray[Any]
    release_: Release
    claim_: Mapping[str, Any]
    claim_reason_: str
    feature_names_in_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Build the release from the people in X.

        Args:
            X: a row for each person: a two-dimensional array or a pandas or Polars data frame. Columns of numbers are
                numbers to the tree; columns of texts, bools and categories are categorical.
            y: the class of each person.
            sample_weight: how many people each row stands for, whole numbers from 0; 1 each when left out.

        Returns:
            The estimator itself.

        Raises:
            InvalidInputError: the parameters, X or y cannot be used; it is a ValueError.
            NoTreeError: no tree keeps the promise for these people; it is a ValueError.
        """
        own_name = getattr(y, "name", None)
        names, X, y = self._validated(X, y)
        target = _target_name(own_name, names)
        y = np.asarray(column_or_1d(y, warn=True))
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        check_consistent_length(X, y)
        weight = _people_of(sample_weight, len(y))
        if weight is not None and not weight.all():
            kept = weight > 0
            X, y, weight = X[kept] if isinstance(X, np.ndarray) else _rows(X, kept), y[kept], weight[kept]
        if len(y) < FEWEST_ROWS:
            raise InvalidInputError(f"Found {len(y)} sample(s), and n_samples >= {FEWEST_ROWS} is needed")
        options = self._column_options()
        with _as_value_errors():
            cells = read_frame(X, names)
            labels = class_labels(y, target, options)
            layout = Layout.of(feature_columns(cells, target, options), labels.column)
            self._build(TrainingPeople(layout, cells, self._codes_of(y, labels), weight))
        self.classes_ = labels.labels
        self._label_of_value = labels.label_of_value
        self._layout = layout
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that the release predicts for each row of X.

        A value that fit did not see goes, at each test, to the branch with the most people. Where a forest publishes no
        number for a row, the class with the most people in the whole release is predicted.
        """
        check_is_fitted(self)
        rows = self._layout.prediction_table(self._read(X))
        codes = prediction.predict(self._routes, rows)
        codes[codes == NOWHERE] = self._class_shares.argmax()
        return np.asarray(self.classes_[self._label_of_value[codes]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class for each row of X, as the release publishes it.

        One tree answers the shares of its leaf; in a leaf that counts nobody its label has probability 1. A forest
        answers what its combination rule makes of the leaves' numbers. Where a forest publishes no number for a row,
        the shares of the classes in the whole release are answered.

        Returns:
            Shape (n_rows, n_classes), in the order of `classes_`.
        """
        check_is_fitted(self)
        rows = self._layout.prediction_table(self._read(X))
        codes = prediction.predict(self._routes, rows)
        scores = prediction.class_scores(self._routes, rows)
        silent = np.isnan(scores[:, 0])
        scores[silent] = np.eye(scores.shape[1])[codes[silent]]
        scores[silent & (codes == NOWHERE)] = self._class_shares
        answer = np.empty_like(scores)
        answer[:, self._label_of_value] = scores
        return answer

    def export(self, path: str | Path) -> Path:
        """Write the release file (`leafgate/release/1`), which `leafgate audit` takes with `build: {use: published}`.

        Args:
            path: the file to write, such as `release.json`; an older one is replaced.

        Returns:
            The path.
        """
        check_is_fitted(self)
        write_file(Path(path), serialize(self.release_).content, EVERYONE)
        return Path(path)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the first tree of the release with matplotlib.

        Args:
            ax: where to draw; a new figure when left out.

        Returns:
            The axes that were drawn on.
        """
        from leafgate.estimators.drawing import draw_tree

        check_is_fitted(self)
        return draw_tree(self.release_, ax)

    @classmethod
    def can_be_chosen(cls) -> bool:
        """May one of several fits to the same people be chosen by looking at the data?

        Not where the builder draws what may be drawn once, or promises what such a choice breaks.
        """
        kind = _builder_kind(cls.use)
        return kind.randomness != "system" and not kind.guarantees

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._on_missing == "keep"
        tags.input_tags.categorical = self.takes_categories
        return tags

    @property
    def _on_missing(self) -> str | None:
        return getattr(self, "on_missing", None)

    def _validated(self, X: Any, y: Any) -> tuple[list[str], Any, Any]:
        """The names of the columns, X as an array or a data frame, and y."""
        if hasattr(X, "columns") and hasattr(X, "shape"):
            validate_data(self, X, y, skip_check_array=True)
            if X.shape[0] < FEWEST_ROWS or not X.shape[1]:
                raise InvalidInputError(
                    f"Found a data frame with {X.shape[0]} sample(s) and {X.shape[1]} feature(s)",
                    remedy=f"n_samples >= {FEWEST_ROWS} and a feature are needed",
                )
        else:
            finite = "allow-nan" if self._on_missing == "keep" else True
            X, y = validate_data(self, X, y, dtype=None, ensure_all_finite=finite, ensure_min_samples=FEWEST_ROWS)
        return _column_names(self), X, y

    def _read(self, X: Any) -> dict[str, Cells]:
        """The columns of X for predictions."""
        if hasattr(X, "columns") and hasattr(X, "shape"):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            finite = "allow-nan" if self._on_missing == "keep" else True
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=finite)
        return read_frame(X, _column_names(self))

    def _codes_of(self, y: NDArray[Any], labels: ClassLabels) -> NDArray[np.int64]:
        """Each label's position among the values of the class column."""
        value_of_label = np.argsort(labels.label_of_value)
        return np.asarray(value_of_label[np.searchsorted(labels.labels, y.astype(labels.labels.dtype))])

    def _column_options(self) -> ColumnOptions:
        if self._on_missing not in {None, "keep"}:
            raise InvalidInputError(
                "must be None or 'keep'", place="on_missing", remedy="leave incomplete rows out yourself"
            )
        domains, roles = dict(self.domains or {}), dict(self.roles or {})
        return ColumnOptions(domains, roles, self.classes, self._on_missing, self.feature_role, self.target_roles)

    def _builder(self, **further: Any) -> TreeBuilder:
        """The builder with the options that the parameters state; InvalidInputError where one is wrong."""
        document = {"use": self.use, **{name: getattr(self, name) for name in self.settings}, **further}
        stated = {name: value for name, value in document.items() if value is not None}
        try:
            builder = _builder_kind(self.use).model_validate_json(json.dumps(stated, default=_plain_number))
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, wrong["loc"])) or type(self).__name__
            raise InvalidInputError(plain(wrong["msg"]), place=place) from None
        except (TypeError, ValueError):
            raise InvalidInputError("a parameter is no number, text or list", place=type(self).__name__) from None
        assert isinstance(builder, TreeBuilder)
        return builder

    def _build(self, people: TrainingPeople) -> None:
        """Set what fit learns: the release, what it claims, and what predictions need of it."""
        raise NotImplementedError(type(self).__name__)

    def _keep(self, builder: TreeBuilder, release: Release, claim_reason: str) -> None:
        """The release as it would be published, and the trees and shares that predictions are made of."""
        self.release_ = published(release, Publish(), builder.measure_options)
        self.claim_ = dict(self.release_.guarantee)
        self.claim_reason_ = claim_reason
        self._routes = with_unknown_values(self.release_)
        counts = np.array(
            [
                [float((leaf.counts or {}).get(label, 0)) for label in release.classes]
                for tree in release.trees
                for leaf in leaves(tree)
            ]
        ).reshape(-1, len(release.classes))
        total = counts.sum(axis=0)
        uniform = np.full(len(total), 1 / len(total))
        self._class_shares = total / total.sum() if total.any() else uniform


class KAnonymousTreeClassifier(ReleaseClassifier):
    """A decision tree that is k-anonymous by construction (kADET).

    Every group of people whom somebody cannot tell apart, who knows the tree and everybody's quasi-identifiers, has at
    least k members. The tree is learned without random numbers.

    Args:
        k: people in every non-empty group.
        require: what every group must satisfy besides, as the builder `kadet` has it in a policy: a list such as
            `[{"use": "l_diversity", "at_least": 1.5}]`.
        measure: `gain`, `gain_ratio` or `gini`: what the best test has most of.
        average_gain: with `gain_ratio`, tests below the node's mean gain come last.
        prune: error-based pruning; it keeps k-anonymity.
        confidence: of pruning; smaller prunes more.
        publish_table: publish the equivalent k-anonymous table beside the tree.
        max_spans: with more groups than this fit gives up.
        roles: for some columns who knows them: `quasi_identifier` (the default: everybody), `private` (nobody),
            `sensitive` (a secret), `identifier` or `ignored` (left out); or a list. The class, whose column is named
            like the Series y or else `class`, is `["class", "sensitive"]`.
        domains: for some columns which values there can be: bounds `(17, 90)`, values `["no", "yes"]`, or a mapping
            such as `{"bins": [0, 10, 20]}` as a policy has it. `{"values": [...], "hierarchy": FILE}`, or in place of
            the file a mapping from each value to its groups, says how values generalise. Of other columns the domain is
            taken from X, and stands in the release.
        classes: the labels that there can be; taken from y when left out.
        on_missing: `keep` makes missing cells a value of their own in every column; without it they are refused.
        random_state: not used, because nothing is random; for code that sets it on every estimator.

    Attributes:
        release_: what would be published, a `leafgate.Release`.
        claim_: what the release claims, by the kinds of claims.
        claim_reason_: what the claim rests on, in a sentence.
        classes_: the labels.
        n_features_in_: how many columns X has.
        feature_names_in_: their names, where X has names.

    Source: A. Friedman, A. Schuster, R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006.

    >>> tree = KAnonymousTreeClassifier(k=2).fit([["a"], ["a"], ["b"], ["b"]], ["no", "no", "yes", "yes"])
    >>> tree.predict([["b"]]).tolist(), tree.claim_
    (['yes'], {'k': 2})
    """

    use = "kadet"
    settings = (
        *("k", "require", "measure", "average_gain", "prune", "confidence"),
        *("publish_table", "max_spans"),
    )

    def __init__(
        self,
        k: int = 5,
        *,
        require: Sequence[Mapping[str, Any]] = (),
        measure: str = "gain",
        average_gain: bool = True,
        prune: bool = True,
        confidence: float = 0.25,
        publish_table: bool = False,
        max_spans: int = 100_000,
        roles: Mapping[str, Any] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        on_missing: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.require = require
        self.measure = measure
        self.average_gain = average_gain
        self.prune = prune
        self.confidence = confidence
        self.publish_table = publish_table
        self.max_spans = max_spans
        self.roles = roles
        self.domains = domains
        self.classes = classes
        self.on_missing = on_missing
        self.random_state = random_state

    def _build(self, people: TrainingPeople) -> None:
        builder, layout = self._builder(), people.layout
        table = layout.training_table(people.cells, people.classes, people.weight)
        release = BuildResult.of(builder.build(table, np.random.default_rng(0))).release
        reason = (
            "Every group of these people that the tree cannot tell apart has at least k members, for an adversary who "
            "knows the quasi-identifiers that `roles` names."
        )
        if layout.open_domains:
            reason += (
                f" The domains of {_listed(layout.open_domains)} were taken from the data and stand in the release: "
                "the smallest number, the largest or a rare value may be one person's: declare `domains` and `classes`."
            )
        self._keep(builder, release, reason)


class RandomisedClassifier(ReleaseClassifier):
    """What the estimators have in common whose builder draws random numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags

    def _drawn(
        self, people: TrainingPeople, further_reasons: Sequence[str] = ()
    ) -> tuple[TreeBuilder, Release, list[str]]:
        """The builder, what it built, and why that is only for trying out; it is a rehearsal then."""
        reasons, layout = [], people.layout
        if self.random_state is not None:
            reasons.append("`random_state` fixes the random numbers, which others may then repeat")
        if layout.open_domains:
            reasons.append(f"the domains of {_listed(layout.open_domains)} were taken from the data")
        reasons += further_reasons
        builder = self._builder(rehearsal=bool(reasons))
        table = layout.as_declared.training_table(people.cells, people.classes, people.weight)
        rng = np.random.default_rng(_seed(self.random_state))
        return builder, BuildResult.of(builder.build(table, rng)).release, reasons


class PrivateForestClassifier(RandomisedClassifier):
    """A forest of random trees with differential privacy (the builder `dp_random_trees`).

    The trees ask about columns drawn from the declared domains; each counts a sample of the people and shows no number
    below k. The release claims its (epsilon, delta) only where every domain and the classes are declared,
    `random_state` is None, so that the random numbers are the operating system's, and no search chose the parameters.
    Otherwise it is a rehearsal, which claims nothing and which no audit passes; `claim_reason_` says why.

    Each fit on the same people spends epsilon again: cross-validation with 5 folds and 10 candidates fits 50 times, and
    to choose the best of several releases spends more. Choose parameters without the data. The `best_estimator_` of a
    search such as GridSearchCV claims nothing; parameters that you choose by the data yourself are not noticed.

    Args:
        epsilon: the promise to keep at `delta`; it decides how many trees there are, and how many people each samples.
        delta: at which epsilon is promised.
        trees: how many; by epsilon when left out, or 128 without one.
        depth: columns that each tree asks.
        k: numbers of fewer people are shown as 0.
        beta: the chance of each person to be in a tree's sample; by epsilon when left out.
        structure: `balanced`, or `random` for a column drawn anew at every node.
        combine: `evidence`, `normalised` or `sum`: how the leaves' numbers are put together.
        neighbours: `add_remove` or `replace_one`: by what the tables differ that cannot be told apart.
        roles: as of KAnonymousTreeClassifier.
        domains: for every column its bounds or values, as of KAnonymousTreeClassifier. They are published: take them
            from what the columns mean, never from the data.
        classes: the labels that there can be.
        on_missing: `keep` makes missing cells a value of their own in every column; without it they are refused.
        random_state: a seed for trying out; None for releases.

    Attributes:
        release_, claim_, claim_reason_, classes_, n_features_in_, feature_names_in_: as of KAnonymousTreeClassifier.

    Source: Waseda, Nojima, Wang, Appl. Sci. 14(17), 2024; corrections: docs/explanation/dp-random-trees.md.
    """

    use = "dp_random_trees"
    settings = ("epsilon", "delta", "trees", "depth", "k", "beta", "structure", "combine", "neighbours")

    def __init__(
        self,
        epsilon: float | None = 1.0,
        *,
        delta: float = 1e-6,
        trees: int | None = None,
        depth: int = 2,
        k: int = 20,
        beta: float | None = None,
        structure: str = "balanced",
        combine: str = "evidence",
        neighbours: str = "add_remove",
        roles: Mapping[str, Any] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        on_missing: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.trees = trees
        self.depth = depth
        self.k = k
        self.beta = beta
        self.structure = structure
        self.combine = combine
        self.neighbours = neighbours
        self.roles = roles
        self.domains = domains
        self.classes = classes
        self.on_missing = on_missing
        self.random_state = random_state

    def _build(self, people: TrainingPeople) -> None:
        search = _search_in_progress()
        chosen = (
            f"{search} chose the parameters by the data and fitted other candidates to the same people, which the "
            "epsilon of one fit does not cover"
        )
        builder, release, reasons = self._drawn(people, [chosen] if search else [])
        if reasons:
            release = replace(release, guarantee={})
            claim_reason = f"No epsilon is claimed: {'; '.join(reasons)}."
        else:
            claim_reason = (
                "The domains and the classes are declared, and the random numbers are the operating system's: this is "
                "the epsilon of this one fit. Each further fit on the same people spends its own epsilon besides, and "
                "a choice of the parameters by the data is not covered."
            )
        self._keep(builder, release, claim_reason)


class PerturbedTreeClassifier(RandomisedClassifier):
    """A decision tree from numbers with noise on them (PPDTC4.5).

    fit adds noise to the numbers of everybody in X, as parties would before they share their rows, and learns a tree
    for original numbers from what is shared. The release publishes the shared rows, the laws of the noise and the tree.
    Every column of X must be numbers. PPDTC4.5 promises nothing: audit the release with the attacks `posterior`,
    `spectral_filter` and `be_dr`. Each fit shares the same people again, and the mean of several draws has less noise.

    Args:
        noise: the law and the amount, as a policy has them: `{"snr": 1.0}` when left out, which is as much noise as
            there is variance; `{"deviation": {"age": 15}}`, `{"law": "uniform", "half_width": 10}` or
            `{"privacy": 20}`.
        model: `trees` or `naive_bayes`.
        split: `deconvolved`, `matched`, `threshold`, `random_path` or `weighted`: how noise is allowed for.
        theta: of `threshold`: how sure a person must be below a cut; chosen by held-out people when left out.
        average_gain, min_leaf, prune, confidence: of C4.5; None leaves the builder's own setting.
        roles: as of KAnonymousTreeClassifier, but columns that are not named are `private`, and the class, which is
            shared as it is, is `["class", "quasi_identifier"]`.
        domains: for every column its bounds `(17, 90)`, or `{"bins": [17, 30, 90]}`. Which numbers occur is itself a
            secret: where bounds are taken from X, the release is a rehearsal.
        classes: the labels that there can be.
        random_state: a seed for trying out; None for releases.

    Attributes:
        release_, claim_, claim_reason_, classes_, n_features_in_, feature_names_in_: as of KAnonymousTreeClassifier.

    Source: L. Liu, M. Kantarcioglu, B. Thuraisingham, HICSS 2009; departures: docs/explanation/ppdtc45.md.
    """

    use = "ppdtc45"
    takes_categories = False
    feature_role = "private"
    target_roles = ("class", "quasi_identifier")
    settings = ("noise", "model", "split", "theta", "average_gain", "min_leaf", "prune", "confidence")

    def __init__(
        self,
        noise: Mapping[str, Any] | None = None,
        *,
        model: str = "trees",
        split: str | None = None,
        theta: float | str | None = None,
        average_gain: bool | None = None,
        min_leaf: int | None = None,
        prune: bool | None = None,
        confidence: float | None = None,
        roles: Mapping[str, Any] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.noise = noise
        self.model = model
        self.split = split
        self.theta = theta
        self.average_gain = average_gain
        self.min_leaf = min_leaf
        self.prune = prune
        self.confidence = confidence
        self.roles = roles
        self.domains = domains
        self.classes = classes
        self.random_state = random_state

    def _builder(self, **further: Any) -> TreeBuilder:
        return super()._builder(**further, **({"noise": {"snr": 1.0}} if self.noise is None else {}))

    def _build(self, people: TrainingPeople) -> None:
        builder, release, reasons = self._drawn(people)
        claim_reason = (
            "PPDTC4.5 claims nothing: an audit measures how closely the shared numbers disclose the originals."
        )
        if reasons:
            claim_reason += f" This release is a rehearsal besides, and not fit to be published: {'; '.join(reasons)}."
        self._keep(builder, release, claim_reason)


@cache
def _builder_kind(use: str) -> type[TreeBuilder]:
    """The builder of the installed plugins with this name."""
    kind = load_plugins().component(use)
    if kind is None or not issubclass(kind, TreeBuilder):
        remedy = "install leafgate completely; `leafgate plugins` says what is broken"
        raise InvalidInputError(f"no installed plugin offers the builder {use!r}", remedy=remedy)
    return kind


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Errors of the data, of parameters and of builders as errors that scikit-learn takes for a ValueError."""
    try:
        yield
    except (InvalidInputError, NoTreeError):
        raise
    except NoReleaseError as error:
        problem = error.problems[0]
        raise NoTreeError(problem.message, people=error.people, remedy=problem.hint, details=error.details) from None
    except LeafgateError as error:
        raise invalid(error) from None


def _search_in_progress() -> str | None:
    """The class of the search that fits the estimator with the best parameters it found; None outside of searches.

    A search calls the fit of its choice itself, in a pipeline or not and whatever its `n_jobs` is, so it is among the
    callers. It has `best_params_` by then, or its class has a property of that name, which need not be readable yet.
    Candidates may be taken for the choice; they are thrown away. Members of an ensemble that are fitted in other
    threads or processes have other callers and are not noticed.
    """
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, BaseEstimator) and inspect.getattr_static(caller, "best_params_", None) is not None:
            return type(caller).__name__
        frame = frame.f_back
    return None


def _people_of(sample_weight: Any, rows: int) -> NDArray[np.int64] | None:
    """How many people each row stands for, shape (rows,); InvalidInputError for anything but whole numbers."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != (rows,):
        raise InvalidInputError(f"sample_weight has the shape {weight.shape}, and X has {rows} rows")
    if weight.dtype.kind not in "iufb" or not np.isfinite(weight).all() or (weight < 0).any() or (weight % 1).any():
        raise InvalidInputError(
            "sample_weight counts people: whole numbers from 0", remedy="round them, or leave it out"
        )
    if not weight.any():
        raise InvalidInputError("sample_weight is zero for every row, so there is nobody", remedy="leave it out")
    return weight.astype(np.int64)


def _rows(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Some rows of a data frame."""
    return X.loc[kept] if hasattr(X, "loc") else X[np.flatnonzero(kept)]


def _target_name(own_name: Any, names: Sequence[str]) -> str:
    """What the class column is called: as the Series y, else `class`, with underscores where a column has that name."""
    if isinstance(own_name, str) and own_name and own_name not in names:
        return own_name
    return next(name for name in (f"class{'_' * number}" for number in count()) if name not in names)


def _column_names(estimator: Any) -> list[str]:
    """The names of the columns of X; x0, x1, ... where it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _plain_number(value: Any) -> Any:
    """For JSON: numbers of NumPy, tuples and other sequences of parameters."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(type(value).__name__)


def _seed(random_state: Any) -> int | None:
    """The seed that a `random_state` stands for; None for the operating system's random numbers."""
    if random_state is None or (isinstance(random_state, int | np.integer) and random_state >= 0):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(LARGEST_SEED))
