"""The choice among the candidates of a search: the most accurate one that passes an audit, fitted to everybody."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone

from leafgate.api.registry import load_plugins
from leafgate.errors import InvalidError, LeafgateError, NoReleaseError
from leafgate.estimators.classifiers import KAnonymousTreeClassifier, ReleaseClassifier
from leafgate.kernel.components import AttackModel
from leafgate.kernel.schema import UNUSED_ROLES
from leafgate.policy.load import document_of, load_policy
from leafgate.search.remedies import UNSEARCHED

if TYPE_CHECKING:
    from leafgate.kernel.findings import Verdict
    from leafgate.session.audit import Audit


class ChoiceError(InvalidError, ValueError):
    """A search that would break a promise, or whose refit could be another model than the one that was audited."""


class NoPassingCandidateError(NoReleaseError, ValueError):
    """No candidate of a search passes the audit."""


@dataclass(frozen=True)
class AuditedCandidate:
    """One candidate of a search that was fitted to everybody and audited.

    Attributes:
        index: its position in `cv_results_`.
        params: its parameters.
        score: its mean score in cross-validation.
        verdict: `pass`, `fail` or `inconclusive`; None where no model could be fitted or audited.
        broken: the findings that do not pass, by their ids; or why there is no audit.
    """

    index: int
    params: Mapping[str, Any]
    score: float
    verdict: Verdict | None
    broken: tuple[str, ...] = ()


class AuditedChoice:
    """The `refit` of a search: the candidate with the best score among those whose audit passes.

    Candidates are taken in the order of their mean scores. Each is fitted to all people and audited as it would be
    released, by `leafgate.audit`, until one passes; the search then fits this candidate once more, to the same people.
    Models of single folds are never audited, because they are never released.

    Where choosing among several models breaks what they promise, the choice refuses to be made: for
    PrivateForestClassifier and PerturbedTreeClassifier, of which every fit spends epsilon or shares the same people
    again, and for attacks that train models or are judged by samples of people, because the best of several candidates
    would be the one whose sample was lucky. So does an estimator whose `random_state` is None, because its refit would
    be another model than the one that was audited.

    Args:
        estimator: the estimator that the search is given.
        X: the people that the search is fitted to, all of them.
        y: their classes.
        policy: a policy's file, whose columns, attacks, limits and `publish` hold for every candidate; its `build` does
            not, because the estimator takes that place.
        metric: the name of the score that decides, where the search has several.
        options: the arguments of `leafgate.audit`: `roles`, `secret`, `limits`, `attacks`, `publish` and so on.

    Attributes:
        audits: the candidates that were audited, the best score first; the last one passes.
        audit: the audit of the candidate that passes; None before the search.

    Raises:
        ChoiceError: the choice would break a promise, or could not be of the model that was audited.

    >>> from sklearn.model_selection import GridSearchCV
    >>> X = np.arange(100).reshape(-1, 1)
    >>> y = np.where(X[:, 0] >= 90, "yes", "no")
    >>> tree = KAnonymousTreeClassifier()
    >>> choice = AuditedChoice(tree, X, y, limits={"k_anonymity": 20})
    >>> search = GridSearchCV(tree, {"k": [5, 20, 40]}, refit=choice, cv=2).fit(X, y)
    >>> search.best_params_
    {'k': 20}
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        policy: str | Path | None = None,
        metric: str = "score",
        **options: Any,
    ) -> None:
        if policy is not None:
            options = {**options_of_policy(Path(policy), _names_in(X, y)), **options}
        refuse_choice(estimator, options)
        self.estimator = estimator
        self.metric = metric
        self.options = {"search_remedies": False, **options}
        self.audits: tuple[AuditedCandidate, ...] = ()
        self.audit: Audit | None = None
        self._people: tuple[Any, ...] | None = tuple(
            rows if hasattr(rows, "shape") else np.asarray(rows) for rows in (X, y)
        )

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """The position of the chosen candidate in `cv_results_`, as scikit-learn asks for it.

        Raises:
            NoPassingCandidateError: no candidate passes.
            ChoiceError: the search has no score of the name `metric`, or a candidate would break a promise.
        """
        self.audits, self.audit = (), None
        for index in self._order(cv_results):
            candidate = self._audited(index, cv_results)
            self.audits += (candidate,)
            if candidate.verdict == "pass":
                return index
        broken = sorted({finding for each in self.audits if each.verdict is not None for finding in each.broken})
        raise NoPassingCandidateError(
            f"none of {len(self.audits)} candidate(s) passes{': ' if broken else ''}{', '.join(broken)}",
            remedy="search over larger leaves or fewer columns; `audits` of the choice says what each candidate breaks",
        )

    def _order(self, cv_results: Mapping[str, Any]) -> list[int]:
        """The candidates by their mean scores, the best first, the first of equals first; none without a score."""
        scores = cv_results.get(f"mean_test_{self.metric}")
        if scores is None:
            known = [name.removeprefix("mean_test_") for name in cv_results if name.startswith("mean_test_")]
            remedy = f"choose metric= from {', '.join(known)}"
            raise ChoiceError(f"the search has no score {self.metric!r}", place="metric", remedy=remedy)
        order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
        return [int(index) for index in order if not np.isnan(scores[index])]

    def _audited(self, index: int, cv_results: Mapping[str, Any]) -> AuditedCandidate:
        """One candidate, fitted to everybody and audited."""
        from leafgate.session.model_audit import audit

        X, y = self._everybody()
        params, score = cv_results["params"][index], float(cv_results[f"mean_test_{self.metric}"][index])
        model = clone(self.estimator).set_params(**clone(params, safe=False))
        refuse_choice(model, self.options)
        try:
            audited = audit(model.fit(X, y), X, y, **self.options)
        except (LeafgateError, ValueError) as error:
            if isinstance(error, InvalidError) and not isinstance(error, ValueError):
                raise  # the arguments of the audit are wrong, of every candidate alike
            return AuditedCandidate(index, params, score, None, (str(error),))
        broken = tuple(finding.id for finding in audited.report.findings if finding.needs_action)
        if audited.verdict == "pass":
            self.audit = audited
        return AuditedCandidate(index, params, score, audited.verdict, broken)

    def _everybody(self) -> tuple[Any, ...]:
        if self._people is None:
            raise ChoiceError("the people are not kept in a file", place="X", remedy="make a new AuditedChoice")
        return self._people

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the people, and the audit, which knows them: a search that is saved has no data in it."""
        return {**self.__dict__, "_people": None, "audit": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same choice with the same people, for scikit-learn's `clone`."""
        return type(self)(self.estimator, *self._everybody(), metric=self.metric, **self.options)


def options_of_policy(path: Path, names: Collection[str]) -> dict[str, Any]:
    """The arguments of `leafgate.audit` that state what a policy asks for of a model.

    Args:
        path: the policy's file.
        names: the columns of the table, the class among them; columns that the policy has left out may be missing.

    Raises:
        PolicyError: the policy is wrong.
        ChoiceError: the policy has a section that these arguments cannot state.
    """
    load_policy(path)
    document = document_of(path)
    data = document["data"]
    sections = {"knows": document.get("knows")} | {f"data.{key}": data.get(key) for key in ("protect", "population")}
    specs = {name: spec for name, spec in data["columns"].items() if name in names or not _is_left_out(spec)}
    sections |= {f"data.columns.{name}.hierarchy": spec.get("hierarchy") for name, spec in specs.items()}
    for section, content in sections.items():
        if content:
            remedy = "leave it out of the policy of the search, and audit the chosen model by the whole policy"
            raise ChoiceError("a search cannot take this into account", place=section, remedy=remedy)
    options = {"roles": specs, "limits": document["metrics"], "attacks": document["attacks"]}
    return options | {key: document[key] for key in ("publish", "seed") if key in document}


def _is_left_out(spec: Mapping[str, Any]) -> bool:
    """Has the column an unused role, so that the rows of a search need not have it?"""
    role = spec["role"]
    return set([role] if isinstance(role, str) else role) <= UNUSED_ROLES


def _names_in(X: Any, y: Any) -> set[str]:
    """The names of the columns of X, and that of y."""
    return {str(name) for name in getattr(X, "columns", ())} | {str(getattr(y, "name", None) or "class")}


def refuse_choice(estimator: Any, options: Mapping[str, Any]) -> None:
    """Refuse a choice among several fits of an estimator where that breaks a promise.

    Args:
        estimator: an estimator, or a pipeline with estimators as its parts.
        options: arguments of `leafgate.audit`, of which `attacks` are looked at.

    Raises:
        ChoiceError: why, and what to do instead.
    """
    for part in _parts(estimator):
        kind = type(part).__name__
        if isinstance(part, ReleaseClassifier) and not part.can_be_chosen():
            raise ChoiceError(
                f"{kind} may not be chosen by a search, because every fit publishes something of the same people: "
                "several spend their epsilons or average their noise away, and to choose by the data spends more",
                place="estimator",
                remedy="choose its parameters without the data, or on data that are nobody's; then fit it once",
            )
        if not isinstance(part, KAnonymousTreeClassifier) and getattr(part, "random_state", 0) is None:
            raise ChoiceError(
                f"{kind} draws anew at every fit, so the search would release another model than the one that was "
                "audited",
                place="estimator",
                remedy="set its random_state to a number",
            )
    for use in _refused_attacks(options.get("attacks")):
        raise ChoiceError(
            f"{use!r} trains models or is judged by samples of people, so the best of several candidates would be the "
            "one whose sample was lucky",
            place="attacks",
            remedy="leave it out of the search, and audit the chosen model with it once",
        )


def _parts(estimator: Any) -> Iterator[Any]:
    """The estimator and every estimator among its parameters."""
    yield estimator
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield value


def _refused_attacks(attacks: Any) -> Iterator[str]:
    """The attacks by which no setting is chosen, by their names."""
    if attacks is None:
        return
    listed = [attacks] if isinstance(attacks, str | Mapping) else attacks
    names = [each if isinstance(each, str) else str(each.get("use")) for each in listed]
    plugins = load_plugins()
    for name in names:
        kind = plugins.component(name)
        if kind is not None and issubclass(kind, AttackModel) and kind.needs & UNSEARCHED:
            yield name
