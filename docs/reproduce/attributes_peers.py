"""Attribute attacks of the Adversarial Robustness Toolbox (ART) and of SACRO-ML, on the same model and targets.

Both libraries let the adversary know what the model answers about a person's true record, which nobody knows who does
not know the secret. Here the person's class stands for that answer, as ART's documentation advises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    InconclusiveError,
    PredictionOracle,
    Release,
    Share,
    Table,
    Targets,
    lazy,
    leaves,
)
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
from leafgate_plugins.inference.game import Answers, coins
from peer_libraries import ArtClassifier, art, by_name, name_and_version, sacroml, seed_classifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats

    Guess = Callable[[Answers], NDArray[np.int64]]
else:
    np = lazy("numpy")

RANDOM_STREAM = 14
"""The stream of random numbers, among those that the audit's seed allows, that belongs to these attacks."""
CERTAIN = 0.999
"""The probability of the value that a library infers: it states none."""


class PeerAttack(InputAttack):
    """What both adapters have in common: the library names a value for each target, or none."""

    def belief(
        self, known: AdversaryKnowledge, targets: Targets, answers: Answers, guess: Guess, facts: dict[str, Any]
    ) -> AttributeBelief:
        """The belief that follows from the values that the library infers from answers.

        Args:
            known: what the policy grants.
            targets: the people, and the column to infer.
            answers: about the targets.
            guess: the position of each target's value, -1 where the library infers none, from answers like these.
            facts: what the finding states.
        """
        prior = value_shares(targets)
        planted = repeating(answers, known.seed, lambda leaky, _: guess_posterior(guess(leaky), prior))
        guesses = guess(answers)
        evidence = {**facts, "inferred": int((guesses >= 0).sum())}
        return AttributeBelief(targets.secret.name, guess_posterior(guesses, prior), planted=planted, evidence=evidence)


def guess_posterior(guesses: NDArray[np.int64], prior: Floats) -> Floats:
    """A posterior that is nearly certain of each guess, and the prior where there is none.

    Args:
        guesses: shape (n,), positions of values, -1 for none.
        prior: shape (V,), sums to 1.

    Returns:
        Shape (n, V), rows sum to 1.
    """
    n_values = len(prior)
    rest = (1 - CERTAIN) / max(1, n_values - 1)
    sure = np.where(guesses[:, None] == np.arange(n_values), CERTAIN if n_values > 1 else 1.0, rest)
    return np.asarray(np.where(guesses[:, None] >= 0, sure, prior))


class SacroMlAttribute(PeerAttack):
    """Run the attribute attack of SACRO-ML on categorical columns: it infers the unique value of highest confidence."""

    use: Literal["sacroml_attribute"] = "sacroml_attribute"
    threshold: Share = Field(0.0, description="Its `attack_threshold`: a lower confidence infers nothing.")

    formula = (
        "value = the one with which the model gives the person's class with the highest confidence, if no other value "
        "has the same confidence; otherwise none is inferred, and the shares of the values are believed"
    )
    source = "SACRO-ML, github.com/AI-SDC/SACRO-ML: sacroml.attacks.attribute_attack"

    def conclude(
        self, source: Release | PredictionOracle, known: AdversaryKnowledge, targets: Targets
    ) -> AttributeBelief:
        require_class(targets, known.schema)
        unique_max = sacroml("attacks.attribute_attack")._unique_max
        answers = by_name(answers_by_value(source, targets, known.schema, known.seed), known.schema.classes)
        facts = {"peer": name_and_version("sacroml")}
        return self.belief(
            known, targets, answers, lambda each: sacroml_guesses(each, unique_max, self.threshold), facts
        )


def sacroml_guesses(
    answers: Answers, unique_max: Callable[[list[float], float], bool], threshold: float
) -> NDArray[np.int64]:
    """The value that SACRO-ML infers of each person, -1 for none: shape (n,).

    Args:
        answers: about the people.
        unique_max: SACRO-ML's own function.
        threshold: from 0 to 1.

    Source: `_infer` of SACRO-ML 2.0.1.
    Departure: SACRO-ML keeps the values with which the label is that of the person's true record; as nobody knows that
        label, it is here the person's class.
    """
    confidence, right = answers.scores.max(axis=2), answers.labels == answers.own[:, None]
    guesses = np.full(len(right), -1, dtype=np.int64)
    for person in np.flatnonzero(right.any(axis=1)):
        values = np.flatnonzero(right[person])
        confidences = confidence[person, values].tolist()
        if unique_max(confidences, threshold):
            guesses[person] = values[np.argmax(confidences)]
    return guesses


class ArtAttribute(PeerAttack):
    """Run an attribute attack of ART: its classifier of labels, or one of its two attacks on a decision tree."""

    use: Literal["art_attribute"] = "art_attribute"
    attack: Literal["black_box", "white_box", "lifestyle"] = Field(
        "black_box",
        description="`black_box`: AttributeInferenceBlackBox, which learns from the auxiliary people; `white_box`, "
        "`lifestyle`: its attacks on a decision tree, which need the file of one tree with counts.",
    )
    classifier: ArtClassifier = "rf"

    access_levels = frozenset({"labels", "scores", "file"})
    formula = (
        "black_box: what its classifier predicts from the known columns and the labels at all values; white_box: the "
        "one value with which the label is the class, else that with the highest prior * size of the leaf; lifestyle: "
        "the value with the highest prior * size of the leaf"
    )
    source = "Adversarial Robustness Toolbox, github.com/Trusted-AI/adversarial-robustness-toolbox"

    def conclude(
        self, source: Release | PredictionOracle, known: AdversaryKnowledge, targets: Targets
    ) -> AttributeBelief:
        facts: dict[str, Any] = {"attack": self.attack}
        if self.attack != "lifestyle":
            require_class(targets, known.schema)
        attacks = art("attacks.inference.attribute_inference")
        answers = by_name(answers_by_value(source, targets, known.schema, known.seed), known.schema.classes)
        facts["peer"] = name_and_version("art")
        if self.attack == "black_box":
            taught = by_name(auxiliary_answers(source, targets, known.schema, known.seed), known.schema.classes)
            black_box = fit_black_box(attacks, targets, taught, self.classifier, known.seed)
            return self.belief(known, targets, answers, black_box, facts)
        tree = reached_leaves(source, known, targets)
        prior = value_shares(targets)

        def guess(each: Answers) -> NDArray[np.int64]:
            reached = tree if each is answers else ReachedLeaves(np.zeros_like(tree.leaf), np.ones(1))
            return art_tree_guesses(attacks, each, reached, prior, lifestyle=self.attack == "lifestyle")

        belief = self.belief(known, targets, answers, guess, facts)
        if self.attack == "lifestyle":  # it reads no label, and so no leak can be planted in labels
            return AttributeBelief(belief.secret, belief.posterior, evidence=belief.evidence)
        return belief


def label_patterns(answers: Answers) -> NDArray[np.int64]:
    """The labels at all values as one number for each person: shape (n,), from 0."""
    base = answers.scores.shape[2] + 1
    pattern = np.zeros(len(answers.own), dtype=np.int64)
    for labels in answers.labels.T:
        pattern = (pattern * base + labels + 1) % (2**31 - 1)
    return pattern


def fit_black_box(attacks: Any, targets: Targets, taught: Answers, classifier: str, seed: int) -> Guess:
    """ART's black-box attack, trained on the auxiliary people.

    Args:
        attacks: ART's module.
        targets: the people, and the column to infer.
        taught: what the model answers about the auxiliary people.
        classifier: the type of its classifier.
        seed: of the classifier, from 0.

    Departure: ART gives its classifier the label that the model predicts of a person's true record. As nobody can ask
        for that without the secret, it is given the labels at all values, numbered.
    """
    estimators = art("estimators.classification")
    columns = np.concatenate([filled_cells(group) for group in targets.groups])
    ranks = text_ranks(targets.secret)[: len(targets.secret.domain)]
    by_text, truth = np.argsort(ranks), ranks[targets.auxiliary.codes(targets.secret.name)]
    patterns = np.unique(label_patterns(taught))

    def numbered(answers: Answers) -> NDArray[np.int64]:
        """The position of each pattern among those of the auxiliary people; their number for others."""
        pattern = label_patterns(answers)
        place = np.minimum(np.searchsorted(patterns, pattern), len(patterns) - 1)
        return np.where(patterns[place] == pattern, place, len(patterns))

    rows = np.column_stack([truth, filled_cells(auxiliary_as_targets(targets))]).astype(np.float64)
    labels = np.eye(len(patterns) + 1)[numbered(taught)]
    order = np.lexsort((numbered(taught), *rows.T))
    rows, labels = rows[order], labels[order]
    model = estimators.BlackBoxClassifier(lambda _: labels, (rows.shape[1],), len(patterns) + 1)
    model.predict = lambda *_, **__: labels  # by itself it asks in batches, which have no positions
    attack = attacks.AttributeInferenceBlackBox(model, attack_model_type=classifier, attack_feature=0)
    seed_classifier(attack, int(coins(seed, RANDOM_STREAM, 0).integers(2**31)))
    attack.fit(rows)

    def guess(answers: Answers) -> NDArray[np.int64]:
        inferred = attack.infer(columns, pred=numbered(answers)[:, None].astype(np.float64))
        return np.asarray(by_text[np.asarray(inferred).astype(np.int64)])

    return guess


def filled_cells(people: Table) -> Floats:
    """The known columns as numbers, -1 where a number is missing: shape (n, k)."""
    return np.nan_to_num(known_cells(people), nan=-1.0)


@dataclass(frozen=True)
class ReachedLeaves:
    """Where people go in a tree with each value of the secret.

    Where a leak is planted all go to one leaf, so that the labels alone disclose it.

    Attributes:
        leaf: shape (n, V), the number of the leaf from 0.
        sizes: shape (n_leaves,), the people of the table in each leaf.
    """

    leaf: NDArray[np.int64]
    sizes: Floats


def reached_leaves(source: Release | PredictionOracle, known: AdversaryKnowledge, targets: Targets) -> ReachedLeaves:
    """The leaf that each target reaches with each value.

    Where a bin has several numbers, or cells are not known besides the secret, one of the completions is taken.

    Raises:
        InconclusiveError: the attack has no file, or the release is not one tree with counts and a leaf for everybody.
    """
    from leafgate.algorithms.routing import route

    remedy = "choose `attack: black_box`"
    if isinstance(source, PredictionOracle):
        raise InconclusiveError("the attack reads the leaves of the tree, and has no file", remedy=remedy)
    if len(source.trees) != 1:
        raise InconclusiveError("ART's white-box attacks are about one decision tree", remedy=remedy)
    (tree,) = source.trees
    sizes = [leaf.size for leaf in leaves(tree)]
    if any(size is None for size in sizes):
        raise InconclusiveError("the leaves publish no counts, which ART's attacks read", remedy=remedy)
    reached = np.empty((len(targets), len(targets.secret.domain)), dtype=np.int64)
    for value in range(reached.shape[1]):
        tables = [next(completions(group, targets, known.schema, value, known.seed)) for group in targets.groups]
        reached[:, value] = np.concatenate([route(tree, table).leaf for table in tables])
    if (reached < 0).any():
        raise InconclusiveError("the tree has no leaf for some targets, and ART's attacks need one", remedy=remedy)
    return ReachedLeaves(reached, np.array(sizes, dtype=np.float64))


def art_tree_guesses(
    attacks: Any, answers: Answers, tree: ReachedLeaves, prior: Floats, *, lifestyle: bool
) -> NDArray[np.int64]:
    """The value that ART's attacks on decision trees infer of each person: shape (n,).

    ART is given rows with the position of a person, a value, and a column that it needs and nothing reads.

    Args:
        attacks: ART's module.
        answers: about the people; the class stands for the label of the true record.
        tree: where they go.
        prior: shape (V,), the shares of the values.
        lifestyle: the attack that ART calls after the lifestyle survey of the paper, which does not use the class.
    """
    base = art("estimators.classification.scikitlearn").ScikitlearnDecisionTreeClassifier
    labels, classes = answers.labels, answers.scores.shape[2]

    class Tree(base):  # type: ignore[misc, valid-type]
        """ART's view of the tree: the root is node 0, and a leaf is the node after its number."""

        def predict(self, x: Floats, **_: Any) -> Floats:
            """A column for each class, 1 for the label; the first column is for no label."""
            return np.asarray(np.eye(classes + 1)[labels[_positions(x)] + 1])

        def get_decision_path(self, x: Any) -> NDArray[np.int64]:
            return np.append(0, tree.leaf[_positions(np.reshape(x, (1, -1)))] + 1)

        def get_samples_at_node(self, node_id: int) -> float:
            return float(tree.sizes[node_id - 1] if node_id else tree.sizes.sum())

        @property
        def input_shape(self) -> tuple[int, ...]:
            return (3,)

    kind = "AttributeInferenceWhiteBoxLifestyleDecisionTree" if lifestyle else "AttributeInferenceWhiteBoxDecisionTree"
    attack = getattr(attacks, kind)(Tree(model=None), attack_feature=1)
    rows = np.column_stack([np.arange(len(labels)), np.zeros(len(labels))]).astype(np.float64)
    values = list(range(len(prior)))
    inferred = attack.infer(rows, y=answers.own + 1, values=values, priors=prior.tolist())
    return np.asarray(inferred).astype(np.int64)


def _positions(rows: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The person and the value of rows that ART asks about."""
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
