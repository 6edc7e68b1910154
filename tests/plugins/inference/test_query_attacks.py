"""csmia, lomia, likelihood and fredrikson: literal transcriptions, laws that are known, and planted leaks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    Branch,
    CategoricalSplit,
    Column,
    InconclusiveError,
    Leaf,
    Node,
    NumericSplit,
    PredictionOracle,
    Release,
    Schema,
    Table,
    Targets,
    leaves,
)
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.attributes.query_attacks import (
    BAND_EDGES,
    MAX_EXPONENT_OF_MEMBERS,
    Csmia,
    Likelihood,
    Lomia,
    bands,
    csmia_decisions,
    csmia_posterior,
    exponents_of_deciding,
    fit_exponents,
    likelihood_posterior,
    log_scores,
    lomia_decisions,
    lomia_posterior,
    weighed_by_scores,
)
from leafgate_plugins.inference.attributes.targets import InputAttack
from leafgate_plugins.inference.attributes.white_box import (
    Fredrikson,
    consistent_shares,
    leaf_numbers,
    values_of_children,
    white_box_posterior,
)
from leafgate_plugins.inference.game import Answers

CLASSES = ("low", "high")
VALUES = ("no", "flu", "ache")
SECRET = Column("ill", frozenset({"sensitive"}), values=VALUES)
SCHEMA = Schema(
    (
        Column("job", frozenset({"quasi_identifier"}), values=("baker", "smith", "judge"), missing=True),
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
        SECRET,
        Column("pay", frozenset({"class"}), values=CLASSES),
    )
)
N = 300


@st.composite
def answers_of_models(draw: st.DrawFn) -> Answers:
    """Answers with many ties, of values that the model has no answer for, and people without a class."""
    people, values, classes = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(2, 3))
    cells = st.lists(st.integers(0, 3), min_size=people * values * classes, max_size=people * values * classes)
    weights = np.array(draw(cells), dtype=np.float64).reshape(people, values, classes)
    total = weights.sum(axis=2, keepdims=True)
    own = np.array(draw(st.lists(st.integers(0, classes), min_size=people, max_size=people)), dtype=np.int64)
    return Answers(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0), own)


def paper_csmia(scores: NDArray[np.float64], own: int) -> tuple[int, set[int]]:
    """Section 4.1 for one person: the case, and the values among which a tie is broken at random."""
    rows = {value: [round(float(score), 12) for score in row] for value, row in enumerate(scores) if row.any()}
    predicted = {value: [label for label, score in enumerate(row) if score == max(row)] for value, row in rows.items()}
    confidence = {value: max(row) for value, row in rows.items()}
    matching = [value for value, labels in predicted.items() if own in labels]
    if len(matching) == 1:
        return 1, {matching[0]}
    if len(matching) > 1:
        highest = max(confidence[value] for value in matching)
        return 2, {value for value in matching if confidence[value] == highest}
    if not predicted:
        return 3, set(range(len(scores)))
    lowest = min(confidence.values())
    return 3, {value for value in predicted if confidence[value] == lowest}


@given(answers=answers_of_models())
def test_csmia_decides_as_the_paper_does_for_each_person(answers: Answers) -> None:
    decisions = csmia_decisions(answers)
    posterior = csmia_posterior(decisions)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    for person, (scores, own) in enumerate(zip(answers.scores, answers.own, strict=True)):
        case, values = paper_csmia(scores, int(own))
        assert decisions.case[person] == case
        highest = np.flatnonzero(posterior[person] == posterior[person].max())
        assert set(highest.tolist()) == set(np.flatnonzero(decisions.chosen[person]).tolist()) == values
    strength, tied = posterior.max(axis=1), decisions.chosen.sum(axis=1) > 1
    for first, second in product(range(len(strength)), repeat=2):
        if not tied[first] and (tied[second] or decisions.case[first] < decisions.case[second]):
            assert strength[first] >= strength[second] - 1e-12


@pytest.mark.parametrize("everybody", [False, True])
def test_lomia_predicts_as_a_transcription_of_the_authors_code_does(everybody: bool) -> None:
    rng = np.random.default_rng(1)
    people, n_values = 120, 3
    columns = rng.integers(0, 4, (people, 3)).astype(np.float64)
    scores = rng.dirichlet([1.0, 1.0], (people, n_values))
    own = rng.integers(0, 2, people)
    rows, targets, decided = [], [], {}
    for person in range(people):
        bits = [int(np.argmax(scores[person, value])) == own[person] for value in range(n_values)]
        if sum(bits) == 1:
            decided[person] = bits.index(True)
            rows.append(columns[person])
            targets.append(decided[person])
    state = int(np.random.default_rng(5).integers(2**31))
    taught = sorted(zip(map(tuple, rows), targets, strict=True))
    forest = RandomForestClassifier(n_estimators=10, random_state=state)
    forest.fit([row for row, _ in taught], [target for _, target in taught])
    expected = [
        decided[person] if person in decided and not everybody else int(forest.predict(columns[[person]])[0])
        for person in range(people)
    ]
    posterior = lomia_posterior(
        lomia_decisions(Answers(scores, own)), columns, np.ones(3) / 3, np.random.default_rng(5), everybody=everybody
    )
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert posterior.argmax(axis=1).tolist() == expected
    assert 10 < len(decided) < people - 10


def test_lomia_believes_the_shares_of_others_where_labels_decide_about_nobody() -> None:
    shares = np.array([0.2, 0.5, 0.3])
    posterior = lomia_posterior(np.full(4, -1), np.zeros((4, 2)), shares, np.random.default_rng(0))
    np.testing.assert_array_equal(posterior, np.repeat(shares[None], 4, axis=0))


@given(seed=st.integers(0, 2**20))
def test_likelihood_is_the_imputation_where_the_model_ignores_the_secret(seed: int) -> None:
    rng = np.random.default_rng(seed)
    imputed = rng.dirichlet(np.ones(3), 40)
    answers = Answers(np.repeat(rng.dirichlet(np.ones(2), 40)[:, None], 3, axis=1), rng.integers(0, 3, 40))
    exponents = fit_exponents(imputed, log_scores(answers), rng.integers(0, 3, 40), trained_on=False)
    np.testing.assert_array_equal(likelihood_posterior(imputed, log_scores(answers), exponents), imputed)


@pytest.mark.parametrize("trained_on", [False, True])
@given(seed=st.integers(0, 2**20))
def test_exponents_are_the_mode_less_a_standard_error(seed: int, trained_on: bool) -> None:
    """The mode by a general optimiser, and the information by differences of the slope."""
    rng = np.random.default_rng(seed)
    imputed = rng.dirichlet(np.ones(3), 60)
    logs = np.log(rng.uniform(0.05, 1, (60, 3)))
    truth = rng.integers(0, 3, 60)
    exponents, band = fit_exponents(imputed, logs, truth, trained_on=trained_on), bands(logs)
    for number in range(len(BAND_EDGES) + 1):
        here = band == number
        if not here.any():
            assert exponents[number] == 1
            continue
        one_person = float(logs[here].var(axis=1).mean()) if trained_on else 1.0

        def loss(b: float, here: NDArray[np.bool_] = here, one_person: float = one_person) -> float:
            terms = np.log(imputed[here]) + b * logs[here]
            normalised = terms[np.arange(here.sum()), truth[here]] - logsumexp(terms, axis=1)
            return float(-normalised.sum() + one_person * (b - 1) ** 2 / 2)

        bounds = (0, MAX_EXPONENT_OF_MEMBERS if trained_on else 1)
        mode = float(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)
        step = 1e-3 * max(1.0, mode)
        precision = (loss(mode + step) - 2 * loss(mode) + loss(mode - step)) / step**2
        expected = max(0.0, mode - np.sqrt(max(0.0, precision - one_person)) / precision)
        assert exponents[number] == pytest.approx(expected, abs=2e-3, rel=2e-3)


def known_law(rng: np.random.Generator, people: int) -> tuple[NDArray[np.float64], Answers, NDArray[np.int64]]:
    """People of a law that is known: the posterior given columns and class, p(class | columns, v), and the truth."""
    of_columns = rng.dirichlet(np.ones(3), people)
    truth = np.array([rng.choice(3, p=row) for row in of_columns])
    of_class = rng.dirichlet([0.5, 0.5], (people, 3))
    own = (rng.random(people) < of_class[np.arange(people), truth, 1]).astype(np.int64)
    answers = Answers(of_class, own)
    joint = of_columns * answers.of_own_class
    return joint / joint.sum(axis=1, keepdims=True), answers, truth


def test_likelihood_uses_what_the_model_says_and_the_imputation_does_not_know() -> None:
    rng = np.random.default_rng(3)

    def blind(people: int) -> tuple[NDArray[np.float64], Answers, NDArray[np.int64]]:
        return np.full((people, 3), 1 / 3), *known_law(rng, people)[1:]

    imputed, answers, truth = blind(1_000)
    exponents = fit_exponents(imputed, log_scores(answers), truth, trained_on=False)
    imputed, answers, truth = blind(2_000)
    posterior = likelihood_posterior(imputed, log_scores(answers), exponents)
    assert np.log(posterior[np.arange(2_000), truth]).mean() > np.log(1 / 3) + 0.02
    assert (posterior.argmax(axis=1) == truth).mean() > 0.4


DOMAINS: dict[str, tuple[str, ...]] = {"a": ("x", "y"), "b": ("p", "q", "r"), "s": ("0", "1", "2")}
SMALL = Schema(
    (
        Column("a", frozenset({"quasi_identifier"}), values=DOMAINS["a"]),
        Column("b", frozenset({"quasi_identifier"}), values=DOMAINS["b"]),
        Column("s", frozenset({"sensitive"}), values=DOMAINS["s"]),
        Column("y", frozenset({"class"}), values=CLASSES),
    )
)
POSSIBLE = list(product(*DOMAINS.values()))


def random_tree(rng: np.random.Generator, depth: int) -> Node:
    """A tree of categorical tests, some with a default child, whose leaves have no numbers yet."""
    if depth == 0 or rng.random() < 0.15:
        return Leaf(label="low")
    column = str(rng.choice(list(DOMAINS)))
    values = DOMAINS[column]
    first = int(rng.integers(1, len(values)))
    below = [random_tree(rng, depth - 1) for _ in range(2)]
    if rng.random() < 0.5:
        return CategoricalSplit(column, (Branch(values[:first], below[0]),), default=below[1])
    return CategoricalSplit(column, (Branch(values[:first], below[0]), Branch(values[first:], below[1])))


def position(node: Node, person: dict[str, str]) -> int:
    """The position, from left to right, of the leaf that a person reaches: by recursion."""
    if isinstance(node, Leaf):
        return 0
    assert isinstance(node, CategoricalSplit)
    below = [branch.node for branch in node.branches] + ([] if node.default is None else [node.default])
    taken = next((i for i, branch in enumerate(node.branches) if person[node.column] in branch.values), len(below) - 1)
    return sum(len(list(leaves(child))) for child in below[:taken]) + position(below[taken], person)


def paper_white_box(
    paths: list[dict[tuple[str, ...], int]],
    numbers: list[list[int]],
    prior: NDArray[np.float64],
    known: dict[str, str],
    own: int | None,
) -> list[float]:
    """Section 4 of the paper for one person, with phi by all possible people; the class as an addition to it."""
    total = sum(map(sum, numbers))
    names = list(DOMAINS)

    def phi(path: int, value: str, consistent: dict[str, str]) -> bool:
        wanted = {**consistent, "s": value}
        return any(
            paths[0][x] == path and all(x[names.index(name)] == cell for name, cell in wanted.items()) for x in POSSIBLE
        )

    weights = []
    for code, value in enumerate(DOMAINS["s"]):
        above = below = 0.0
        for path, counts in enumerate(numbers):
            count = sum(counts) if own is None else counts[own]
            above += count / total * phi(path, value, known)
            below += sum(counts) / total * phi(path, value, {})
        weights.append(prior[code] * above / below if below else 0.0)
    return [w / sum(weights) for w in weights] if sum(weights) else prior.tolist()


def cells_table(people: list[tuple[str, ...]], names: list[str]) -> Table:
    """A table of these people with these columns, a row for each."""
    columns = [SMALL[name] for name in names]
    frame = pd.DataFrame(
        {
            column.name: pd.Categorical(
                [person[i] for person in people], categories=pd.Index(DOMAINS.get(column.name, CLASSES))
            )
            for i, column in enumerate(columns)
        }
    )
    return Table(Schema(tuple(columns)), frame, np.ones(len(people), dtype=np.int64))


@given(seed=st.integers(0, 2**20), with_class=st.booleans(), with_b=st.booleans())
def test_fredrikson_agrees_with_the_paper_s_estimator_on_small_trees(seed: int, with_class: bool, with_b: bool) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3)
    paths = {x: position(tree, dict(zip(DOMAINS, x, strict=True))) for x in POSSIBLE}
    numbers = [[0, 0] for _ in leaves(tree)]
    for x in rng.choice(len(POSSIBLE), 12):
        numbers[paths[POSSIBLE[x]]][int(rng.integers(2))] += 1
    counted = iter(numbers)

    def filled(node: Node) -> Node:
        if isinstance(node, Leaf):
            return Leaf(label="low", counts=dict(zip(CLASSES, next(counted), strict=True)))
        assert isinstance(node, CategoricalSplit)
        branches = tuple(Branch(branch.values, filled(branch.node)) for branch in node.branches)
        return CategoricalSplit(node.column, branches, None if node.default is None else filled(node.default))

    tree = filled(tree)
    names = ["a", "b"] if with_b else ["a"]
    people = list(product(*(DOMAINS[name] for name in names)))
    own = rng.integers(0, 2, len(people))
    prior = rng.dirichlet(np.ones(3))
    everyone = cells_table([(*x, "low") for x in POSSIBLE], [*DOMAINS, "y"])
    shares = leaf_numbers(tree, CLASSES if with_class else (), everyone)
    posterior = white_box_posterior(
        prior, *consistent_shares(tree, cells_table(people, names), SMALL["s"], shares, own)
    )
    for person, cells in enumerate(people):
        known = dict(zip(names, cells, strict=True))
        expected = paper_white_box([paths], numbers, prior, known, int(own[person]) if with_class else None)
        assert posterior[person] == pytest.approx(expected)


@given(at=st.sampled_from([5.0, 9.99, 10.0, 15.0, 20.0, 35.0]), strict=st.booleans(), float32=st.booleans())
def test_a_bin_goes_to_each_child_to_which_one_of_its_numbers_goes(at: float, strict: bool, float32: bool) -> None:
    secret = Column("age", frozenset({"sensitive"}), bounds=(0.0, 40.0), bins=(0.0, 10.0, 20.0, 40.0))
    low, high = values_of_children(NumericSplit("age", at, Leaf(), Leaf(), strict=strict, float32=float32), secret)
    numbers = np.unique(np.concatenate([np.linspace(0, 40, 161), np.nextafter([10.0, 20.0, 40.0], 0)]))
    read = numbers.astype(np.float32).astype(np.float64) if float32 else numbers
    goes_low = read < at if strict else read <= at
    bins = np.minimum(np.searchsorted([10.0, 20.0], numbers, side="right"), 2)
    assert set(np.unique(bins[goes_low])) <= set(np.flatnonzero(low)) <= {0, 1, 2}
    assert set(np.unique(bins[~goes_low])) <= set(np.flatnonzero(high))
    if at not in bins:  # between the numbers above there is room for none that goes elsewhere
        assert (low | high).all()


def people_of(rng: np.random.Generator, number: int) -> Table:
    """People whose class is noise, and whose secret depends on their job."""
    job = rng.integers(-1, 3, number)
    ill = np.where(rng.random(number) < 0.4, np.maximum(job, 0), rng.integers(0, 3, number))
    frame = pd.DataFrame(
        {
            "job": pd.Categorical.from_codes(job, categories=pd.Index(["baker", "smith", "judge"])),
            "age": rng.integers(20, 60, number).astype(float),
            "ill": pd.Categorical.from_codes(ill, categories=pd.Index(VALUES)),
            "pay": pd.Categorical.from_codes(rng.integers(0, 2, number), categories=pd.Index(CLASSES)),
        }
    )
    return Table(SCHEMA, frame, np.ones(number, dtype=np.int64))


def without(people: Table, *names: str) -> Table:
    columns = tuple(column for column in SCHEMA.columns if column.name not in names)
    return Table(Schema(columns), people.frame.loc[:, [column.name for column in columns]], people.weight)


def matrix(people: Table, inputs: tuple[str, ...]) -> NDArray[np.float64]:
    return np.column_stack([people.numbers(name) if name == "age" else people.codes(name) for name in inputs])


class Game:
    """People of the table (the first group) and of the control, and a tree of some columns."""

    def __init__(self, inputs: tuple[str, ...], seed: int = 0, with_class: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.inside, self.outside, auxiliary = (people_of(rng, N) for _ in range(3))
        hidden = ("ill",) if with_class else ("ill", "pay")
        groups = without(self.inside, *hidden), without(self.outside, *hidden)
        self.targets = Targets(SECRET, groups, auxiliary)
        self.truth = np.concatenate([self.inside.codes("ill"), self.outside.codes("ill")])

        def retrain(own: Table, asked: Table, state: int) -> NDArray[np.float64]:
            model = DecisionTreeClassifier(random_state=state)
            model.fit(matrix(own, inputs), own.codes("pay"), own.weight)
            return np.asarray(model.predict_proba(matrix(asked, inputs)))

        def scores(asked: Table) -> NDArray[np.float64]:
            return retrain(self.inside, asked, 0)

        self.known = AdversaryKnowledge(
            SCHEMA, self.inside.without_rows, retrain=retrain, targets={"ill": self.targets}, seed=3
        )
        self.oracle = PredictionOracle(SCHEMA, CLASSES, QueryLog(), lambda asked: scores(asked).argmax(axis=1), scores)

    def belief(self, attack: InputAttack, source: Any = None) -> AttributeBelief:
        (belief,) = attack.infer(source or self.oracle, self.known)
        assert isinstance(belief, AttributeBelief)
        return belief

    def right(self, posterior: NDArray[Any]) -> tuple[float, float]:
        """The accuracy on people of the table, and on the control."""
        right = posterior.argmax(axis=1) == self.truth
        return float(right[:N].mean()), float(right[N:].mean())


@pytest.fixture(scope="module")
def memorised() -> Game:
    """A tree that learned a class that is noise by heart, from the secret too."""
    return Game(("job", "age", "ill"))


@pytest.fixture(scope="module")
def ignoring() -> Game:
    return Game(("job", "age"))


def small_release(level: str = "counts") -> Release:
    leaf = {
        "counts": Leaf("high", counts={"low": 30, "high": 70}),
        "shares": Leaf("high", shares={"low": 0.3, "high": 0.7}),
        "labels": Leaf("high"),
    }[level]
    tree = CategoricalSplit("ill", (Branch(("no",), leaf),), default=leaf)
    return Release({}, SCHEMA, (tree,))


ATTACKS = [Csmia(), Lomia(), Likelihood()]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)
def test_attacks_on_answers_need_the_class(attack: InputAttack) -> None:
    game = Game(("job", "age", "ill"), with_class=False)
    with pytest.raises(InconclusiveError) as caught:
        game.belief(attack)
    assert "knows: {class: true}" in str(caught.value)


@pytest.mark.parametrize("attack", [Csmia(), Likelihood(calibration="members")], ids=lambda each: each.use)
def test_each_sees_what_a_tree_memorised_in_people_of_the_table_alone(attack: InputAttack, memorised: Game) -> None:
    inside, outside = memorised.right(np.asarray(memorised.belief(attack).posterior))
    assert inside > outside + 0.1


def test_likelihood_trusts_a_memorising_tree_only_where_it_is_calibrated_on_members(memorised: Game) -> None:
    others = memorised.right(np.asarray(memorised.belief(Likelihood()).posterior))
    members = memorised.right(np.asarray(memorised.belief(Likelihood(calibration="members")).posterior))
    assert members[0] > others[0] + 0.05
    assert members[1] <= others[1] + 0.02


def test_likelihood_says_what_is_missing_to_calibrate_on_members(memorised: Game) -> None:
    unknown = AdversaryKnowledge(SCHEMA, memorised.known.public, targets=memorised.known.targets)
    with pytest.raises(InconclusiveError) as caught:
        Likelihood(calibration="members").infer(memorised.oracle, unknown)
    assert "trained_by" in str(caught.value)


def test_no_attack_on_answers_prefers_a_value_by_a_model_that_ignores_the_secret(ignoring: Game) -> None:
    """Of csmia every value is tied, lomia believes the shares of others, and likelihood the imputation."""
    from leafgate_plugins.inference.attributes.imputation import impute

    csmia = ignoring.belief(Csmia())
    np.testing.assert_allclose(np.asarray(csmia.posterior), 1 / 3)
    assert (np.asarray(ignoring.belief(Lomia()).posterior) == np.asarray(ignoring.belief(Lomia()).posterior)[0]).all()
    np.testing.assert_array_equal(ignoring.belief(Likelihood()).posterior, impute(ignoring.targets, 3).posterior)


def test_fredrikson_says_that_it_needs_counts_or_shares(ignoring: Game) -> None:
    with pytest.raises(InconclusiveError, match="neither counts nor shares"):
        ignoring.belief(Fredrikson(), small_release("labels"))
    np.testing.assert_allclose(np.asarray(ignoring.belief(Fredrikson(), small_release("shares")).posterior).sum(1), 1)


def test_fredrikson_takes_the_mean_over_trees(ignoring: Game) -> None:
    def posterior(*trees: Node) -> NDArray[np.float64]:
        return np.asarray(ignoring.belief(Fredrikson(), Release({}, SCHEMA, trees, combine="sum")).posterior)

    def tree(low: int) -> Node:
        below: Callable[[int], Leaf] = lambda count: Leaf("low", counts={"low": count, "high": 10})  # noqa: E731
        return CategoricalSplit("ill", (Branch(("flu",), below(low)),), default=below(5))

    np.testing.assert_allclose(posterior(tree(1), tree(40)), (posterior(tree(1)) + posterior(tree(40))) / 2)


def logs_that_differ_by(*spreads: float) -> np.ndarray:
    """The logarithms of scores of two values, for one person of each spread."""
    return np.array([[-3.0, spread - 3.0] for spread in spreads])


def test_likelihood_is_trusted_with_a_planted_leak_as_with_the_answers_of_the_model() -> None:
    """Answers that nobody gives have the exponent 1, and say nothing of leaks in the answers that the model gives."""
    exponents = np.array([0.9, 0.6, 0.3, 0.0, 0.1, 1.0])
    answered = logs_that_differ_by(0.0, 0.3, 0.7, 1.5, 1.6, 3.0)
    trust = exponents_of_deciding(answered, exponents)
    assert trust.tolist() == [0.0, 0.0, 0.1]
    imputed = np.full((3, 2), 0.5)
    np.testing.assert_array_equal(
        weighed_by_scores(imputed, logs_that_differ_by(4.6, 4.6, 4.6), trust)[:2], imputed[:2]
    )
    assert exponents_of_deciding(logs_that_differ_by(0.0, 0.3), exponents).tolist() == [0.6]
