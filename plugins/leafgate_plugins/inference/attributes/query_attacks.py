"""Attacks that ask the model about a target once for each value of the secret: csmia, lomia and likelihood.

`csmia` and `lomia` decide by the labels that the model answers, and need to know nothing of other people's secrets.
`likelihood` starts from the imputation and multiplies it by what the model answers, as far as that is worth something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate import api
from leafgate_plugins.inference.attributes.targets import (
    InputAttack,
    answers_by_value,
    auxiliary_answers,
    auxiliary_as_targets,
    completions,
    known_cells,
    repeating,
    require_class,
    text_ranks,
    value_shares,
)
from leafgate_plugins.inference.game import Answers, canonical_order, coins, own_classes, rows_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")

DECIMALS = 12
"""Confidences that are equal to so many decimals are equal: means over trees are rounded in different ways."""
TIED_STRENGTH = 1e-3
"""By how much, relatively, values that csmia cannot choose among are more probable than those that it rules out."""
OWN_DECISION = 2 / 3
"""Lomia's probability of the value of somebody of case 1; the rest is what its classifier believes."""
SMALLEST_SCORE = 1e-3
"""The likelihood attack counts scores of the own class below this as this: a score of 0 is no proof."""
SMALLEST_PROBABILITY = 1e-12
"""The likelihood attack counts imputed probabilities below this as this."""
BAND_EDGES = (0.1, 0.5, 1.0, 2.0, 4.0)
"""Where the bands of the likelihood attack begin, by how far a person's log scores differ over the values."""
DECIDING_BAND = 3
"""From this band on answers are far enough apart to decide: the scores differ by a factor of 2.7 at least."""
PRIOR_PRECISION = 1.0
"""The precision of the prior of an exponent, around 1, where the model was not trained on the people."""
MAX_EXPONENT_OF_MEMBERS = 1000.0
"""The largest exponent where it was: scores of forests that differ by a hundredth may decide of a value."""
BISECTIONS = 50
"""The number of halvings that find an exponent, far below the error of any number of people."""
MEMBERS_PER_MODEL = 2
"""The auxiliary people are divided into so many parts, of which each trains a model where `calibration: members`."""
LOMIA_STREAM = 12
"""The stream of random numbers, among those that the audit's seed allows, that belongs to lomia's classifier."""
LIKELIHOOD_STREAM = 13
"""The stream of the models that the likelihood attack trains."""


class QueryAttack(InputAttack):
    """What the attacks on answers have in common: they compare answers with the class, which must be known."""

    models = frozenset({"trees", "naive_bayes"})


class Csmia(QueryAttack):
    """Infer the value with which the model predicts the person's class; confidence decides where that is not one."""

    use: Literal["csmia"] = "csmia"

    formula = (
        "value = the one with which the label is the person's class; of several the one with the highest confidence; "
        "if there is none, the one with the lowest confidence"
    )
    source = "Mehnaz and others, USENIX Security 2022, arXiv:2201.09370, section 4.1"

    def conclude(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge, targets: api.Targets
    ) -> api.AttributeBelief:
        require_class(targets, known.schema)
        answers = answers_by_value(source, targets, known.schema, known.seed)
        decisions = csmia_decisions(answers)
        return api.AttributeBelief(
            targets.secret.name,
            csmia_posterior(decisions),
            planted=repeating(answers, known.seed, lambda leaky, _: csmia_posterior(csmia_decisions(leaky))),
            evidence={"cases": cases_counted(decisions.case)},
        )


@dataclass(frozen=True)
class Decisions:
    """What the confidence-score-based attack decides about each person.

    Attributes:
        case: shape (n,), 1 where one value gives the person's class, 2 where several do, 3 where none does.
        chosen: shape (n, V), the value that is inferred; several where their confidences are equal.
        lead: shape (n,), from 0 to 1, by how much the deciding confidence is ahead of that of the next value; 0 where
            several values are chosen.
    """

    case: NDArray[np.int64]
    chosen: api.Mask
    lead: api.Floats


def gives_own_class(answers: Answers) -> api.Mask:
    """Whether the model's label at each value is the person's class: shape (n, V).

    Where scores of several classes are the highest each of them is a label, so that the order of classes does not
    matter.
    """
    own, highest = np.round(answers.of_own_class, DECIMALS), np.round(answers.scores.max(axis=2), DECIMALS)
    return np.asarray((own >= highest) & (own > 0))


def csmia_decisions(answers: Answers) -> Decisions:
    """The value that the confidence-score-based attack infers for each person.

    Args:
        answers: about n people, of V values and C classes. A value with which the model answers nothing gives no class;
            somebody whose class is not known, or to whom the model answers nothing, is of case 3.

    Returns:
        The case, the value and its lead for each person. In case 1 the lead is that of the own class's score, which may
        be 0 with more than two classes.

    Source: Mehnaz, Dibbo, Kabir, Li, Bertino, USENIX Security 2022, arXiv:2201.09370, section 4.1. As in the authors'
        code the confidence is that of the label.
    Departure: the authors' code breaks ties at random; here all values that tie are chosen.
    """
    right = gives_own_class(answers)
    answered = answers.scores.max(axis=2) > 0
    silent = answered.sum(axis=1) == 0
    case = np.where(right.sum(axis=1) == 1, 1, np.where(right.any(axis=1), 2, 3))
    confidence = np.round(answers.scores.max(axis=2), DECIMALS)
    wrong = np.where(answered | silent[:, None], -confidence, -np.inf)
    deciding = np.where((case < 3)[:, None], np.where(right, confidence, -np.inf), wrong)
    chosen = deciding == deciding.max(axis=1, keepdims=True)
    ranked = np.where((case == 1)[:, None], np.round(answers.of_own_class, DECIMALS), deciding)
    of_chosen = np.where(chosen, ranked, -np.inf).max(axis=1)
    next_best = np.where(chosen, -np.inf, ranked).max(axis=1)
    lead = np.clip(of_chosen - np.where(np.isinf(next_best), of_chosen - 1, next_best), 0, 1)
    return Decisions(case, chosen, np.where(chosen.sum(axis=1) == 1, lead, 0.0))


def csmia_posterior(decisions: Decisions) -> api.Floats:
    """A posterior in which the inferred value is the most probable one.

    Its probability orders people by the case, case 1 first, and within a case by the lead of the deciding confidence.
    Where several values are chosen they are a little more probable than all others, and equally so; such people come
    last. All other values are equally probable.

    Returns:
        Shape (n, V); rows sum to 1.

    Departure: the paper infers a value and states no probability. The order is of use for PPV at k; the numbers are
        not calibrated.
    """
    chosen, n_values = decisions.chosen, decisions.chosen.shape[1]
    one = chosen.sum(axis=1) == 1
    mass = 1 / n_values + (1 - 1 / n_values) * (3 - decisions.case + decisions.lead) / 3
    of_one = np.where(chosen, mass[:, None], ((1 - mass) / max(1, n_values - 1))[:, None])
    weights = np.where(chosen, 1.0, 1.0 - TIED_STRENGTH)
    return np.asarray(np.where(one[:, None], of_one, weights / weights.sum(axis=1, keepdims=True)))


def cases_counted(case: NDArray[np.int64]) -> dict[str, int]:
    """How many targets are of each of the three cases."""
    return {str(number): int((case == number).sum()) for number in (1, 2, 3)}


class Lomia(QueryAttack):
    """Infer the only value with which the label is right; a classifier trained on these people infers all others."""

    use: Literal["lomia"] = "lomia"
    trees: api.PositiveInt = Field(
        10, description="Trees of the random forest, which learns from people with exactly one right value."
    )
    everybody: bool = Field(
        default=False,
        description="Ask the classifier about everybody, as the authors' code does; otherwise people with exactly one"
        " right value keep it.",
    )

    access_levels = frozenset({"labels", "scores", "file"})
    formula = (
        "value = the one with which the label is the person's class; if there is no such value or several, what a "
        "random forest predicts that learned those values from the known columns"
    )
    source = "Mehnaz and others, USENIX Security 2022, arXiv:2201.09370, section 4.2"

    def conclude(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge, targets: api.Targets
    ) -> api.AttributeBelief:
        require_class(targets, known.schema)
        api.require_installed("sklearn", "lomia", "scikit-learn", "sklearn")
        answers = answers_by_value(source, targets, known.schema, known.seed)
        columns = np.concatenate([known_cells(group) for group in targets.groups])
        shares, ranks = value_shares(targets), text_ranks(targets.secret)[: len(targets.secret.domain)]
        by_text = np.argsort(ranks)

        def posterior(about: Answers, repetition: int) -> api.Floats:
            rng = coins(known.seed, LOMIA_STREAM, repetition)
            decided = lomia_decisions(about)
            ranked = np.where(decided >= 0, ranks[decided], -1)
            believed = lomia_posterior(
                ranked, columns, shares[by_text], rng, trees=self.trees, everybody=self.everybody
            )
            return believed[:, ranks]

        decided = lomia_decisions(answers)
        return api.AttributeBelief(
            targets.secret.name,
            posterior(answers, 0),
            planted=repeating(answers, known.seed, lambda leaky, repetition: posterior(leaky, 1 + repetition)),
            evidence={"decided_by_labels": int((decided >= 0).sum())},
        )


def lomia_decisions(answers: Answers) -> NDArray[np.int64]:
    """The one value with which the label is the person's class, shape (n,); -1 where there is none, or several.

    Source: Mehnaz and others, USENIX Security 2022, arXiv:2201.09370, section 4.2: case 1.
    """
    right = gives_own_class(answers)
    return np.where(right.sum(axis=1) == 1, right.argmax(axis=1), -1)


def lomia_posterior(
    decided: NDArray[np.int64],
    columns: api.Floats,
    shares: api.Floats,
    rng: np.random.Generator,
    *,
    trees: int = 10,
    everybody: bool = False,
) -> api.Floats:
    """What the label-only attack believes of each person.

    Args:
        decided: shape (n,), the value that the labels give, -1 where they give none: `lomia_decisions`.
        columns: shape (n, k), the known columns, the class among them, as numbers; NaN where missing.
        shares: shape (V,), the shares of the values among other people, which are believed of everybody where the
            labels decide about nobody.
        rng: of the random forest.
        trees: of the random forest.
        everybody: whether the forest is asked about people of case 1, too.

    Returns:
        Shape (n, V), rows sum to 1: what the forest believes; for people of case 1, unless `everybody`, a third of
        that and two thirds for their value. The order of people does not matter: the forest learns from them in the
        order of their columns.

    Source: Mehnaz and others, USENIX Security 2022, arXiv:2201.09370, section 4.2. The authors' code trains an ensemble
        of decision trees at BigML.
    Departure: people of case 1 keep the value that the labels give unless `everybody`, where the authors' code asks the
        ensemble about all people. Where the labels decide about nobody the paper has no attack.
    """
    case_1 = decided >= 0
    if not case_1.any():
        return np.repeat(shares[None], len(decided), axis=0)
    from sklearn.ensemble import RandomForestClassifier
    from threadpoolctl import threadpool_limits

    forest = RandomForestClassifier(n_estimators=trees, random_state=int(rng.integers(2**31)))
    with threadpool_limits(1):
        taught = np.flatnonzero(case_1)
        taught = taught[np.lexsort((decided[taught], *columns[taught].T[::-1]))]
        forest.fit(columns[taught], decided[taught])
        believed = np.zeros((len(decided), len(shares)))
        believed[:, forest.classes_] = forest.predict_proba(columns)
    if everybody:
        return believed
    kept = case_1[:, None] & (decided[:, None] == np.arange(len(shares)))
    return np.where(case_1[:, None], OWN_DECISION * kept + (1 - OWN_DECISION) * believed, believed)


class Likelihood(QueryAttack):
    """Multiply the imputation's posterior by a power of the model's score of the person's class at each value."""

    use: Literal["likelihood"] = "likelihood"
    calibration: Literal["others", "members"] = Field(
        "others",
        description="What the power is fitted on: the model's answers about auxiliary people, who are not in the "
        "table (`others`: no worse than imputation on people outside), or answers of models of the same "
        "kind that were trained on these people (`members`: right for people of the table, worse than "
        "imputation on others).",
    )

    needs = frozenset({"targets", "mechanism"})
    access_levels = frozenset({"labels", "scores", "file"})
    formula = (
        "posterior(v) is proportional to imputation(v) * max(p(class | columns, v), 0.001)^b; b, from 0, depends on "
        "how much the answers differ over the values, and is the lower end of what auxiliary people show"
    )
    source = (
        "Bayes' rule from the imputation of Jayaraman and Evans, CCS 2022, arXiv:2209.01292; the exponents are "
        "leafgate's own"
    )

    def conclude(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge, targets: api.Targets
    ) -> api.AttributeBelief:
        from leafgate_plugins.inference.attributes.imputation import impute

        require_class(targets, known.schema)
        imputed = impute(targets, known.seed)
        answers = answers_by_value(source, targets, known.schema, known.seed)
        if self.calibration == "members":
            calibrating = member_answers(known, targets)
        else:
            calibrating = auxiliary_answers(source, targets, known.schema, known.seed)
        truth = targets.auxiliary.codes(targets.secret.name)
        trained = self.calibration == "members"
        exponents = fit_exponents(imputed.auxiliary, log_scores(calibrating), truth, trained_on=trained)
        trust = exponents_of_deciding(log_scores(answers), exponents)

        def posterior(leaky: Answers, repetition: int) -> api.Floats:
            """Answers that leak are trusted as those are by which the audited model would leak, and not better."""
            drawn = coins(known.seed, LIKELIHOOD_STREAM, 1 + repetition).choice(trust, size=len(targets))
            return weighed_by_scores(imputed.posterior, log_scores(leaky), drawn)

        return api.AttributeBelief(
            targets.secret.name,
            likelihood_posterior(imputed.posterior, log_scores(answers), exponents),
            planted=repeating(answers, known.seed, posterior),
            evidence={"calibration": self.calibration, "exponents": np.round(exponents, 3).tolist()},
        )


def log_scores(answers: Answers) -> api.Floats:
    """The logarithm of the score of each person's own class at each value, at least that of 0.001: shape (n, V).

    It is 0 for somebody whose class is missing, and where the model has no answer at any value.
    """
    own = answers.of_own_class
    silent = (answers.own >= answers.scores.shape[2]) | ~answers.scores.any(axis=(1, 2))
    return np.where(silent[:, None], 0.0, np.log(np.clip(own, SMALLEST_SCORE, 1)))


def bands(logs: api.Floats) -> NDArray[np.int64]:
    """The band of each person by how far the log scores differ over the values: shape (n,), from 0 to 5."""
    spread = logs.max(axis=1) - logs.min(axis=1)
    return np.asarray(np.searchsorted(np.array(BAND_EDGES), spread, side="right"), dtype=np.int64)


def likelihood_posterior(imputed: api.Floats, logs: api.Floats, exponents: api.Floats) -> api.Floats:
    """The imputed posterior, multiplied by the scores to the power of the exponent of the person's band.

    Args:
        imputed: shape (n, V), rows sum to 1.
        logs: shape (n, V), logarithms of the scores of the own class: `log_scores`.
        exponents: shape (6,), from 0, one for each band: `fit_exponents`.

    Returns:
        Shape (n, V), rows sum to 1. Where the scores are the same at all values it is `imputed`.
    """
    return weighed_by_scores(imputed, logs, exponents[bands(logs)])


def weighed_by_scores(imputed: api.Floats, logs: api.Floats, powers: api.Floats) -> api.Floats:
    """The imputed posterior, multiplied by the scores to a power of each person's own.

    Args:
        imputed: shape (n, V), rows sum to 1.
        logs: shape (n, V), logarithms of the scores of the own class: `log_scores`.
        powers: shape (n,), from 0.

    Returns:
        Shape (n, V), rows sum to 1. Where the scores are the same at all values, or the power is 0, it is `imputed`.
    """
    relative = powers[:, None] * (logs - logs.max(axis=1, keepdims=True))
    posterior = np.maximum(imputed, SMALLEST_PROBABILITY) * np.exp(relative)
    same = ~(logs != logs[:, :1]).any(axis=1) | (powers == 0)
    return np.where(same[:, None], imputed, posterior / posterior.sum(axis=1, keepdims=True))


def exponents_of_deciding(logs: api.Floats, exponents: api.Floats) -> api.Floats:
    """The exponents of the people whose answers are far enough apart to decide of a value.

    A leak is in answers like these. A band that none of them is in may have the exponent 1 only because nobody bears it
    out or contradicts it, so that it states nothing of the leaks that the attack would see.

    Args:
        logs: shape (n, V), `log_scores` of what the model answers about the targets.
        exponents: shape (6,), one for each band.

    Returns:
        Ascending, of at least one person: those from DECIDING_BAND on; of the highest band where none is as high.
    """
    band = bands(logs)
    return np.sort(exponents[band[band >= min(DECIDING_BAND, int(band.max(initial=0)))]])


def fit_exponents(imputed: api.Floats, logs: api.Floats, truth: NDArray[np.int64], *, trained_on: bool) -> api.Floats:
    """How far a model's scores can be trusted on top of the imputation, by bands of how much they differ.

    In each band the exponent b maximises the likelihood of the true values under imputed(v) * score(v)^b, with a normal
    prior around 1, which is Bayes' rule; from that one standard error is subtracted. A band in which nobody is keeps 1.
    So answers that the true values of known people do not confirm change nothing, and answers unlike any about known
    people are believed.

    Args:
        imputed: shape (n, V), each person's posterior, learned from others.
        logs: shape (n, V), `log_scores` of the answers about them.
        truth: shape (n,), the position of each one's true value.
        trained_on: whether these people trained the models that answered about them. Of others the exponent is 1 at
            most, for what the class says of them imputation knows. Of people who trained a model there is no such
            bound, and the prior counts as much as one person of the band.

    Returns:
        Shape (6,), from 0; to 1 unless `trained_on`.

    Departure: a power of the likelihood, rather than weights of all terms: imputation has learned from the class
        already, so that b = 1 would count it twice; and with b = 0 the posterior is the imputation itself, so that no
        gain comes from calibrating the imputation anew. b is above 1 where small differences of scores say much: the
        trees of a forest that were trained on a person agree on this person's value, and shares of trees are no
        probabilities.
    """
    base = np.log(np.maximum(imputed, SMALLEST_PROBABILITY))
    band = bands(logs)
    exponents = np.ones(len(BAND_EDGES) + 1)
    for number in np.unique(band):
        here = band == number
        exponents[number] = _lower_exponent(base[here], logs[here], truth[here], trained_on)
    return exponents


def _lower_exponent(base: api.Floats, logs: api.Floats, truth: NDArray[np.int64], trained_on: bool) -> float:
    """The exponent of one band: the posterior mode less a standard error, by bisection of the slope."""
    precision = float(logs.var(axis=1).mean()) if trained_on else PRIOR_PRECISION
    if precision == 0:
        return 1.0  # all answers are the same at all values
    of_truth = logs[np.arange(len(truth)), truth].sum()

    def moments(b: float) -> tuple[float, float]:
        weights = np.exp(base + b * logs - (base + b * logs).max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mean = (weights * logs).sum(axis=1)
        return float(mean.sum()), float((weights * (logs - mean[:, None]) ** 2).sum())

    low, high = 0.0, MAX_EXPONENT_OF_MEMBERS if trained_on else 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if moments(middle)[0] - of_truth + precision * (middle - 1) > 0:
            high = middle
        else:
            low = middle
    information = moments(low)[1]
    return max(0.0, high - float(np.sqrt(information)) / (information + precision))


def member_answers(known: api.AdversaryKnowledge, targets: api.Targets) -> Answers:
    """What models of the same kind answer about the auxiliary people on whom they were trained.

    The people are divided into two halves, of which each trains a model.

    Raises:
        InconclusiveError: nobody knows how to train a model of the same kind.
    """
    if known.retrain is None:
        raise api.InconclusiveError(
            "calibration on members needs to train models of the same kind, and how that is done is not known",
            remedy="choose `calibration: others`, or name the estimator in `build: {trained_by: ...}`",
        )
    auxiliary, schema, n_values = targets.auxiliary, known.schema, len(targets.secret.domain)
    rng = coins(known.seed, LIKELIHOOD_STREAM, 0)
    scores = np.zeros((len(auxiliary), n_values, len(schema.classes)))
    as_targets, order = auxiliary_as_targets(targets), canonical_order(auxiliary)
    for number, part in enumerate(np.array_split(order[rng.permutation(len(auxiliary))], MEMBERS_PER_MODEL)):
        api.report_progress(number, MEMBERS_PER_MODEL, "models")
        if not len(part):
            continue
        people = rows_of(as_targets, part)
        asked = [list(completions(people, targets, schema, value, known.seed)) for value in range(n_values)]
        frame = pd.concat([table.frame for tables in asked for table in tables], ignore_index=True)
        query = api.Table(schema, frame, np.ones(len(frame), dtype=np.int64))
        answered = np.nan_to_num(known.retrain(auxiliary.people_at(part), query, int(rng.integers(2**31))))
        scores[part] = answered.reshape(n_values, len(asked[0]), len(part), -1).mean(axis=1).transpose(1, 0, 2)
    return Answers(scores, own_classes(auxiliary, schema))
