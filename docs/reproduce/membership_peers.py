"""Attacks of SACRO-ML and of the Adversarial Robustness Toolbox (ART), on the same model and the same candidates.

Neither is told who is in the table. Where theirs learn from people of known membership they learn from shadow models,
of which everybody knows on whom they were trained. What they write lies in a private folder that is removed again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    Belief,
    InconclusiveError,
    MembershipBelief,
    OpenProbability,
    PredictionOracle,
    Release,
    Table,
    lazy,
)
from leafgate_plugins.inference.game import Answers, answers_about, candidates_of, canonical_order, one_hot
from leafgate_plugins.inference.membership.planted import Scorer, planted_in_answers
from leafgate_plugins.inference.membership.score_attacks import ShadowAttack
from leafgate_plugins.inference.membership.shadows import ShadowModels
from peer_libraries import ArtClassifier, art, by_name, name_and_version, sacroml, seed_classifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats
else:
    np = lazy("numpy")

SMALLEST = 1e-16
"""What SACRO-ML adds to deviations, and to 0 and 1 before it takes a logit."""
WORST_CASE_FOREST = {"min_samples_split": 20, "min_samples_leaf": 10, "max_depth": 5}
"""SACRO-ML's own parameters of the forest that its worst case learns."""


class PeerAttack(ShadowAttack):
    """What the adapters have in common: how many shadow models a peer's classifier learns from."""

    learn_from: int = Field(3, ge=1, description="From how many shadow models a classifier of theirs learns.")

    fitted_once = True

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        classes = people.schema.classes
        named = by_name(Answers(shadows.scores, shadows.own), classes)
        models = ShadowModels(named.scores, shadows.trained_on, named.own)
        return ByName(self.fit_by_name(models, people, seed), classes)

    @abstractmethod
    def fit_by_name(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        """What `fit` returns, from scores whose classes are in the order of their names."""


class SacroMl(PeerAttack):
    """Run an attack of SACRO-ML: its LiRA, its worst case, or its quantile attack (QMIA)."""

    use: Literal["sacroml"] = "sacroml"
    attack: Literal["lira", "worst_case", "qmia"] = Field("worst_case", description="Which of its attacks to run.")
    mode: Literal["online-carlini", "offline-carlini", "offline"] = Field(
        "online-carlini", description="Of lira: its `mode`."
    )
    fix_variance: bool = Field(False, description="Of lira: its `fix_variance`, one variance of all candidates.")
    correct: bool = Field(
        False, description="Of worst_case: its `include_model_correct_feature`, whether the label is right."
    )
    alpha: OpenProbability = Field(0.01, description="Of qmia: its `alpha`, the false positive rate of its quantile.")
    open_pickles: bool = Field(
        False,
        description="Of lira: let it write the shadow models' answers as pickles into a private folder, and open them"
        " again. It opens no other file.",
    )

    formula = "whatever SACRO-ML 2 computes; with lira the number that it calls member_prob"
    source = "SACRO-ML, github.com/AI-SDC/SACRO-ML"

    def fit_by_name(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        if self.attack == "lira":
            return fit_lira(self, shadows)
        if self.attack == "qmia":
            return fit_qmia(self, shadows, people, seed)
        return fit_worst_case(self, shadows, seed)

    def facts(self, scorer: Scorer) -> dict[str, Any]:
        return {"peer": name_and_version("sacroml"), "attack": self.attack}


class Art(PeerAttack):
    """Run a membership attack of the Adversarial Robustness Toolbox: its rule, or its classifier of models' answers."""

    use: Literal["art"] = "art"
    attack: Literal["rule_based", "black_box"] = Field(
        "black_box",
        description="`rule_based`: people whose label is right are in the table, without shadow models; `black_box`: "
        "a classifier of scores and class learns from shadow models.",
    )
    classifier: ArtClassifier = "rf"

    access_levels = frozenset({"labels", "scores", "file"})
    formula = "rule_based: 1 where the model's label is the candidate's, else 0; black_box: its classifier's score"
    source = "Adversarial Robustness Toolbox, github.com/Trusted-AI/adversarial-robustness-toolbox"

    def fit_by_name(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return fit_black_box(self, shadows, seed)

    def facts(self, scorer: Scorer) -> dict[str, Any]:
        return {"peer": name_and_version("art"), "attack": self.attack}

    def forecast(self, release: Release, known: AdversaryKnowledge) -> str:
        return "" if self.attack == "rule_based" else super().forecast(release, known)

    def infer(self, source: Release | PredictionOracle, known: AdversaryKnowledge) -> list[Belief]:
        if self.attack == "black_box":
            return super().infer(source, known)
        candidates, answers = candidates_of(known), answers_about(source, known)
        rule = ArtRule(art("attacks.inference.membership_inference"), art("estimators.classification"))
        scorer = ByName(rule, known.schema.classes)
        arranged = answers.at(canonical_order(candidates.table))
        planted = planted_in_answers(arranged, candidates.in_table, known.seed, scorer)
        return [MembershipBelief(scorer.scores(answers), planted=planted, evidence=self.facts(scorer))]


@dataclass(frozen=True)
class ByName:
    """A scorer that is asked with the classes in the order of their names."""

    scorer: Scorer
    classes: Sequence[str]

    def scores(self, answers: Answers) -> Floats:
        """Its score of each candidate: shape (n_candidates,)."""
        return self.scorer.scores(by_name(answers, self.classes))


class Answering:
    """A model that knows what it answers about some people, and is asked for them by their positions.

    Attributes:
        scores: shape (n_people, n_classes).
        classes_: the positions of the classes.
    """

    def __init__(self, scores: Floats) -> None:
        self.scores = scores
        self.classes_ = np.arange(scores.shape[1])

    def predict_proba(self, positions: NDArray[Any]) -> Floats:
        """The scores of the people whose positions are in the first column: shape (n, n_classes)."""
        result: Floats = self.scores[positions[:, 0].astype(np.int64)]
        return result

    def predict(self, positions: NDArray[Any]) -> NDArray[np.int64]:
        """The positions of their likeliest classes."""
        result: NDArray[np.int64] = self.predict_proba(positions).argmax(axis=1)
        return result

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """No parameters."""
        return {}

    def __sklearn_clone__(self) -> Answering:
        """Itself: it is trained already."""
        return self


class _InOrder(Answering):
    """A classifier that answers with its scores in their order, whatever columns it is given."""

    def predict_proba(self, positions: NDArray[Any]) -> Floats:
        return self.scores


def positions(people: int) -> NDArray[np.int64]:
    """A column of positions from 0."""
    return np.arange(people)[:, None]


def with_class(own: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """The positions of those whose class is not missing."""
    return np.flatnonzero(own < classes)


def filled(scores: Floats, there: NDArray[np.int64], people: int) -> Floats:
    """Finite scores for everybody: those without a class have the lowest of the others."""
    finite = np.nan_to_num(scores.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
    result = np.full(people, finite.min(initial=0.0))
    result[there] = finite
    return result


@dataclass
class SacroLira:
    """SACRO-ML's LiRA.

    Its own code scores the first answers, those of the audited model. It takes seconds, so that leaks which are planted
    later are scored by the same formula on arrays; if the two did not agree on the first answers, nothing would come
    of either.

    Attributes:
        options: of the attack.
        shadows: what the shadow models answer.
        there: positions of the candidates with a class.
        laws: the mean and the deviation of each such candidate's logits, with the candidate and without.
        checked: whether its own code has run.
    """

    options: SacroMl
    shadows: ShadowModels
    there: NDArray[np.int64]
    laws: dict[str, Floats]
    checked: bool = field(default=False)

    def scores(self, answers: Answers) -> Floats:
        """What SACRO-ML calls `member_prob`, of each candidate: shape (n_candidates,)."""
        quick = lira_member_prob(answers.of_own_class[self.there], self.laws, self.options.mode)
        if not self.checked:
            theirs = their_lira(self.options, self.shadows, answers, self.there)
            if not np.allclose(theirs, quick, rtol=1e-9, equal_nan=True):
                raise InconclusiveError("this version of SACRO-ML computes its LiRA otherwise than version 2.0")
            self.checked = True
        return filled(quick, self.there, len(answers.own))


def fit_lira(options: SacroMl, shadows: ShadowModels) -> SacroLira:
    """The laws of each candidate's logits, as SACRO-ML computes them."""
    if not options.open_pickles:
        raise InconclusiveError(
            "SACRO-ML's LiRA keeps its shadow models as pickles, and opens them",
            remedy="allow it with `open_pickles: true`: it opens what it wrote itself, in a private folder",
        )
    sacroml("attacks.likelihood_attack")
    there = with_class(shadows.own, shadows.scores.shape[2])
    logits = sacro_logit(shadows.of_own_class[:, there])
    laws = {}
    for name, chosen in (("in", shadows.trained_on[:, there]), ("out", ~shadows.trained_on[:, there])):
        parts = [column[kept] for column, kept in zip(logits.T, chosen.T, strict=True)]
        laws[f"{name}_mean"] = np.array([part.mean() if len(part) else 0.0 for part in parts])
        deviation = np.array([part.std() if len(part) else 0.0 for part in parts])
        everything = np.concatenate(parts) if options.fix_variance else deviation
        laws[f"{name}_std"] = np.full(len(there), everything.std()) if options.fix_variance else deviation
    return SacroLira(options, shadows, there, laws)


def sacro_logit(scores: Floats) -> Floats:
    """SACRO-ML's logit: of scores that are at least 1e-16 and at most the largest number below 1."""
    clipped = np.clip(scores, SMALLEST, 1 - SMALLEST)
    result: Floats = np.log(clipped / (1 - clipped))
    return result


def lira_member_prob(own: Floats, laws: dict[str, Floats], mode: str) -> Floats:
    """SACRO-ML's `member_prob` from the score of each candidate's own class and the laws of its logits.

    Source: LIRAAttack._get_probabilities of SACRO-ML 2.0.
    """
    from scipy.stats import norm

    logit, out_deviation = sacro_logit(own), laws["out_std"] + SMALLEST
    if mode == "offline":
        return np.asarray(norm.cdf(logit, loc=laws["out_mean"], scale=out_deviation))
    out = -norm.logpdf(logit, laws["out_mean"], out_deviation)
    if mode == "offline-carlini":
        return np.asarray(out)
    return np.asarray(out + norm.logpdf(logit, laws["in_mean"], laws["in_std"] + SMALLEST))


def their_lira(options: SacroMl, shadows: ShadowModels, answers: Answers, there: NDArray[np.int64]) -> Floats:
    """SACRO-ML's own run, on the shadow models that are there: shape (len(there),).

    Who is said to be in the table does not matter to it; the first candidates are.
    """
    module, models = sacroml("attacks.likelihood_attack"), sacroml("attacks.model_sklearn")
    saved, half = sacroml("attacks.utils").save_shadow_model, len(there) // 2
    with TemporaryDirectory() as folder:
        attack = module.LIRAAttack(
            output_dir=folder,
            write_report=False,
            n_shadow_models=len(shadows),
            mode=options.mode,
            fix_variance=options.fix_variance,
            report_individual=True,
        )
        for model, (scores, trained_on) in enumerate(zip(shadows.scores, shadows.trained_on, strict=True)):
            inside, outside = np.flatnonzero(trained_on[there]), np.flatnonzero(~trained_on[there])
            saved(attack.shadow_path, model, models.SklearnModel(Answering(scores[there])), inside, outside)
        rows, own = positions(len(there)), answers.own[there]
        target = sacroml("attacks.target").Target(
            model=models.SklearnModel(Answering(answers.scores[there])),
            X_train=rows[:half],
            y_train=own[:half],
            X_test=rows[half:],
            y_test=own[half:],
        )
        attack.attack(target)
    return np.asarray(attack.result["member_prob"], dtype=np.float64)


@dataclass(frozen=True)
class SacroQuantile:
    """SACRO-ML's QMIA: its hinge score less the quantile that its regression predicts of people outside the table."""

    attack: Any
    columns: Floats
    there: NDArray[np.int64]

    def scores(self, answers: Answers) -> Floats:
        """The margin of each candidate: shape (n_candidates,)."""
        own = answers.own[self.there]
        hinge = sacroml("attacks.utils").qmia_hinge_score(answers.scores[self.there], own)
        return filled(
            hinge - self.attack.quantile_model.predict(np.column_stack((self.columns, own))),
            self.there,
            len(answers.own),
        )


def fit_qmia(options: SacroMl, shadows: ShadowModels, people: Table, seed: int) -> SacroQuantile:
    """Its regression, learned from what a shadow model answers about each candidate on whom it was not trained."""
    module, models = sacroml("attacks.qmia_attack"), sacroml("attacks.model_sklearn")
    without = ~shadows.trained_on
    there = np.flatnonzero((shadows.own < shadows.scores.shape[2]) & without.any(axis=0))
    model = without[:, there].argmax(axis=0)
    columns = np.column_stack(
        [people.codes(c.name) if c.countable else people.numbers(c.name) for c in _inputs(people)]
    )
    with TemporaryDirectory() as folder:
        attack = module.QMIAAttack(output_dir=folder, write_report=False, alpha=options.alpha, random_state=seed)
        rows, own = columns[there].astype(np.float64), shadows.own[there]
        target = sacroml("attacks.target").Target(
            model=models.SklearnModel(_InOrder(shadows.scores[model, there])),
            X_train=rows,
            y_train=own,
            X_test=rows,
            y_test=own,
        )
        output = attack.attack(target)
    if output.get("status") != "success":
        raise InconclusiveError("SACRO-ML's QMIA fails: its regression predicts one quantile for everybody")
    return SacroQuantile(attack, rows, there)


def _inputs(people: Table) -> list[Any]:
    """The columns of the schema but the class, in the order of their names."""
    columns = [column for column in people.schema.columns if "class" not in column.roles]
    return sorted(columns, key=lambda column: column.name)


@dataclass(frozen=True)
class SacroWorstCase:
    """A forest of SACRO-ML's that tells sorted scores of people in a table from those of others."""

    attack: Any
    classifier: Any

    def scores(self, answers: Answers) -> Floats:
        """Its probability of each candidate: shape (n_candidates,)."""
        rows, _ = sacro_rows(self.attack, answers, answers.at(np.zeros(0, dtype=np.int64)))
        result: Floats = self.classifier.predict_proba(rows)[:, 1]
        return result


def fit_worst_case(options: SacroMl, shadows: ShadowModels, seed: int) -> SacroWorstCase:
    """SACRO-ML's classifier, learned from the first shadow models."""
    module = sacroml("attacks.worst_case_attack")
    with TemporaryDirectory() as folder:
        attack = module.WorstCaseAttack(
            output_dir=folder,
            write_report=False,
            include_model_correct_feature=options.correct,
            attack_model_params=WORST_CASE_FOREST | {"random_state": seed % 2**32},
        )
    rows, labels = sacro_rows(attack, *taught(shadows, options.learn_from))
    return SacroWorstCase(attack, attack._get_attack_model().fit(rows, labels))


def sacro_rows(attack: Any, members: Answers, others: Answers) -> tuple[Floats, Floats]:
    """What its classifier is given of people in the table and of others, and who is in the table."""
    right = [answers.scores.argmax(axis=1) == answers.own for answers in (members, others)]
    rows, labels = attack._prepare_attack_data(
        members.scores, others.scores, train_correct=1 * right[0], test_correct=1 * right[1]
    )
    return rows, labels


def taught(shadows: ShadowModels, models: int) -> tuple[Answers, Answers]:
    """What the first shadow models answer about those on whom they were trained, and about the others.

    Candidates whose class is missing are left out.
    """
    there = with_class(shadows.own, shadows.scores.shape[2])
    scores = shadows.scores[:models, there]
    own = np.broadcast_to(shadows.own[there], scores.shape[:2])
    trained_on = shadows.trained_on[:models, there]
    return Answers(scores[trained_on], own[trained_on]), Answers(scores[~trained_on], own[~trained_on])


@dataclass(frozen=True)
class ArtRule:
    """ART's rule: whoever's label is right is in the table."""

    attacks: Any
    estimators: Any

    def scores(self, answers: Answers) -> Floats:
        """1 for those whom it takes for members, else 0: shape (n_candidates,)."""
        people, classes = answers.scores.shape
        there = with_class(answers.own, classes)
        model = self.estimators.BlackBoxClassifier(Answering(answers.scores).predict_proba, (1,), classes)
        rule = self.attacks.MembershipInferenceBlackBoxRuleBased(model)
        guesses = rule.infer(positions(people)[there], one_hot(answers.own[there], classes))
        return filled(guesses, there, people)


@dataclass(frozen=True)
class ArtBlackBox:
    """ART's classifier of scores and class."""

    attack: Any

    def scores(self, answers: Answers) -> Floats:
        """Its probability of each candidate: shape (n_candidates,)."""
        people, classes = answers.scores.shape
        there = with_class(answers.own, classes)
        chances = self.attack.infer(
            None, one_hot(answers.own[there], classes), pred=answers.scores[there], probabilities=True
        )
        return filled(np.reshape(chances, (len(there), -1))[:, -1], there, people)


def fit_black_box(options: Art, shadows: ShadowModels, seed: int) -> ArtBlackBox:
    """ART's classifier, learned from the first shadow models."""
    attacks, estimators = art("attacks.inference.membership_inference"), art("estimators.classification")
    classes = shadows.scores.shape[2]
    model = estimators.BlackBoxClassifier(Answering(shadows.scores[0]).predict_proba, (1,), classes)
    attack = attacks.MembershipInferenceBlackBox(model, attack_model_type=options.classifier)
    seed_classifier(attack, seed % 2**32)
    members, others = taught(shadows, options.learn_from)
    attack.fit(
        pred=members.scores,
        y=one_hot(members.own, classes),
        test_pred=others.scores,
        test_y=one_hot(others.own, classes),
    )
    return ArtBlackBox(attack)
