"""None is read wrong: what leafgate makes of changed model files, compared with what the files answer.

The numbers of people in a file are also compared with the people that a file of the producer matrix was trained on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from evaluators.answers import Answers, Cell, Columns, Floats, NoModelError, Questions, softmax
from feature_rows import predicted, votes
from generator.changes import Change, changed, paths_by_kind, points
from generator.formats import Format, ModelFile
from installed_readers import leaves_of, lower_model, read_foreign, rows_of
from leafgate import LeafgateError, ReleaseError, Table
from leafgate.algorithms.node_counts import first_contradiction
from leafgate.algorithms.witness import TOLERANCE, first_difference
from leafgate.algorithms.witness import Answers as Witness
from leafgate.commands.convert.witness import answers_to as answered
from leafgate.models.points import known_origins
from leafgate.readers import CategoryCodes, ModelIR
from producer_archive import NAMES, made_up_people, quantiles
from random_tables import categorical, numeric, table_of

MOST_CLASSES = 3
SINGLE = 4e-6
"""Sums in single precision, in another order, differ by this part of their terms."""

Effect = Literal["no model", "equivalent", "changed"]
Verdict = Literal["refused", "inconclusive", "right", "wrong", "read"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A changed file: what the change does to its answers, and whether leafgate reads them.

    Attributes:
        file: the name of the file.
        change: what was changed.
        effect: whether its answers differ from those before; "no model" where its producer would not open it.
        verdict: whether leafgate refuses the file, or an audit without a witness is inconclusive for a key that is not
            known, or its reading answers as the file does; "read" where it reads what is no model.
        reason: why the file is refused.
        witnessed: whether the answers before, on rows that were chosen before, contradict the reading as a witness.
        visible: whether what the producer answers on these rows differs by more than the tolerance of a witness.
        counted: whether the file's numbers of people contradict the people that it was trained on; None where the
            original has none that are theirs, or where the file is refused.
        moved: whether the file answers otherwise to some of these people; only where they are counted.
    """

    file: str
    change: Change
    effect: Effect
    verdict: Verdict
    reason: str = ""
    witnessed: bool = False
    visible: bool = False
    counted: bool | None = None
    moved: bool = False


def answers_of(model: ModelIR, columns: Columns) -> Answers:
    """What leafgate's reading of a model answers, by its own prediction."""
    with_codes, cells = _cells_of(model, columns)
    rows = rows_of(with_codes, cells)
    if model.combine == "one" and model.classes:
        scores = with_codes.trees[0].values[leaves_of(with_codes.trees[0], rows)]
    else:
        scores = votes(with_codes, rows)
    if model.classes and model.values in {"shares", "counts", "labels"}:
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = scores / scores.sum(axis=1, keepdims=True)
    size = abs(scores).sum(axis=1)
    if not model.classes:
        return Answers(scores=scores, size=size)
    labels = tuple(model.classes[i] if i >= 0 else "" for i in predicted(with_codes, rows).tolist())
    if model.calibrated_sums:
        return Answers(scores=scores, size=size, labels=labels, classes=model.classes, shares=scores)
    if len(model.classes) == 2 and all(each.output is None and each.values.shape[1] == 1 for each in model.trees):
        scores = scores[:, 1:]
    own = scores if model.combine != "boost" else softmax(scores)
    shares = None if model.values == "labels" else own
    return Answers(scores=scores, size=size, labels=labels, classes=model.classes, shares=shares)


def are_alike_by_shares(some: Answers, others: Answers) -> bool:
    """Are the shares of classes and the classes the same, or the classes alone where either has no shares?"""
    if some.shares is None or others.shares is None:
        return some.labels == others.labels if some.labels is not None else are_alike(some, others)
    ones = np.ones(len(some.size))
    return are_alike(replace(some, scores=some.shares, size=ones), replace(others, scores=others.shares, size=ones))


def _cells_of(model: ModelIR, columns: Columns) -> tuple[ModelIR, Columns]:
    """The model and the cells of its columns, as its predictions take them."""
    if not {origin.column for origin in known_origins(model)} & set(columns):  # the file has no names
        columns = {f"x{i}": column for i, column in enumerate(columns.values())}
    return _with_codes(model, {name: _texts_of_codes(model, name, column) for name, column in columns.items()})


def _texts_of_codes(model: ModelIR, name: str, column: Sequence[Cell]) -> Sequence[Cell]:
    """The cells of a column as its codes in the model name them: numbers as texts, where these are texts."""
    coded = [each for each in known_origins(model) if isinstance(each, CategoryCodes) and each.column == name]
    if not any(isinstance(value, str) for each in coded for value in each.codes):
        return column
    return [f"{cell:g}" if isinstance(cell, float) else cell for cell in column]


def _with_codes(model: ModelIR, columns: Columns) -> tuple[ModelIR, Columns]:
    """The model and the cells with numbers in place of texts, where its tests name texts."""
    names = {
        model.features[int(tree.feature[node])]
        for tree in model.trees
        for node, chosen in tree.subsets.items()
        if any(isinstance(each, str) for each in chosen)
    }
    if not names:
        return model, columns
    names |= {name for number, name in enumerate(model.features) if number not in model.asked}
    texts: dict[str, float] = {}

    def code(cell: float | str) -> float:
        return texts.setdefault(cell, float(len(texts))) if isinstance(cell, str) else float(cell)

    trees = tuple(
        replace(tree, subsets={node: frozenset(map(code, chosen)) for node, chosen in tree.subsets.items()})
        for tree in model.trees
    )
    cells = {
        name: [cell if cell is None or name not in names else code(str(cell)) for cell in column]
        for name, column in columns.items()
    }
    return replace(model, trees=trees), cells


def are_alike(some: Answers, others: Answers) -> bool:
    """Are these the same answers, but for rounding?"""
    if (some.labels is None) != (others.labels is None) or sorted(some.classes) != sorted(others.classes):
        return False
    mine, theirs = some.by_class(), others.by_class()
    if mine.shape != theirs.shape:
        return False
    near = SINGLE * np.maximum(np.maximum(some.size, others.size), 1e-30)[:, None]
    with np.errstate(invalid="ignore"):
        same = (abs(mine - theirs) <= near) | (np.isnan(mine) & np.isnan(theirs)) | (mine == theirs)
    if not same.all():
        return False
    if some.labels is None or others.labels is None:
        return True
    rows = zip(some.labels, others.labels, mine, near[:, 0], strict=True)
    return all(label == other or _is_tie(row, bound) for label, other, row, bound in rows)


def is_visible(before: Answers, after: Answers, *, labels_alone: bool) -> bool:
    """Do the producer's answers, or its labels, differ by more than a witness may differ from a reading?"""
    said = before.labels is not None and after.labels is not None and not labels_alone
    if not said or before.shares is None or after.shares is None:
        if before.labels is not None or after.labels is not None:
            both = zip(before.labels or (), after.labels or (), strict=False)
            return set(before.classes) != set(after.classes) or any(said and said != now for said, now in both)
        return bool((abs(before.scores - after.scores) > TOLERANCE * abs(before.scores).max()).any())
    if before.shares.shape != after.shares.shape or set(before.classes) != set(after.classes):
        return True
    answered = ~np.isnan(before.shares).any(axis=1)
    order = [after.classes.index(name) for name in before.classes]
    return bool((~(abs(before.shares - after.shares[:, order]) <= TOLERANCE)[answered]).any())


def _is_tie(scores: Floats, bound: float) -> bool:
    first, second = sorted(scores.tolist())[-1:-3:-1]
    return bool(first - second <= 2 * bound)


@cache
def trained_on(names: tuple[str, ...], classes: tuple[str, ...], *, filled: bool) -> Table:
    """The made-up people with the class that they learn from; `filled`: missing cells are 4."""
    x, number = made_up_people()
    x = np.where(np.isnan(x), 4.0, x) if filled else x
    order = sorted(classes, key=["False", "0", "low", "some", "True", "1", "high", "2"].index)
    learned = [order[i] for i in quantiles(number, len(classes)).tolist()]
    columns = [numeric(name, "quasi_identifier", bounds=(-1e6, 1e6), missing=True) for name in names]
    people = [
        (*(None if np.isnan(cell) else float(cell) for cell in row), name)
        for row, name in zip(x.tolist(), learned, strict=True)
    ]
    return table_of([*columns, categorical("learned", "class", "sensitive", values=sorted(classes))], people)


def people_columns(*, filled: bool) -> Columns:
    """The cells of the made-up people; `filled`: missing ones are 4."""
    x, _ = made_up_people()
    x = np.where(np.isnan(x), 4.0, x) if filled else x
    cells = [[None if np.isnan(cell) else float(cell) for cell in column] for column in x.T.tolist()]
    return dict(zip(NAMES, cells, strict=True))


def contradicts(model: ModelIR, content: bytes, *, filled: bool = False) -> bool | None:
    """Do the file's numbers of people contradict the people it was trained on? None where it has none to compare.

    A file that no policy over these columns takes contradicts them, too.
    """
    of_categories = model.origins is not None or any(tree.subsets for tree in model.trees)
    if not 2 <= len(model.classes) <= MOST_CLASSES or of_categories or not any(tree.numbers for tree in model.trees):
        return None
    names = tuple(NAMES) if set(model.features) <= set(NAMES) else tuple(f"x{i}" for i in range(len(NAMES)))
    try:
        table = trained_on(names, tuple(sorted(model.classes)), filled=filled)
        loaded = lower_model(model, table.schema, {}, "model")
        if loaded.provenance.node_numbers is None:
            return None
        return first_contradiction(loaded.provenance.node_numbers, loaded.release, table) is not None
    except (LeafgateError, ValueError):
        return True


class Original:
    """A file before it is changed, with its answers on the rows that were chosen for it."""

    def __init__(self, format: Format, file: ModelFile, rng: np.random.Generator) -> None:
        self.format, self.file = format, file
        self.document = format.parse(file.content)
        self.questions = format.questions(self.document)
        self.columns = points(
            file.rows, [self.questions], rng, missing_texts=format.missing_texts, missing=file.missing
        )
        self.answers = format.evaluate(self.document, self.columns)
        self.paths = paths_by_kind(self.document, format.words)
        model = self.reading()
        self.filled: bool | None = None  # were missing cells of the people filled? None where nobody counts them
        for filled in (True, False):
            if model is not None and contradicts(model, file.content, filled=filled) is False:
                self.filled = filled

    def mutation(self, rng: np.random.Generator) -> Outcome:
        """One change, and what becomes of it."""
        change, document = changed(self.document, self.paths, self.format.words, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._outcome(change, document, rng)

    def _outcome(self, change: Change, document: object, rng: np.random.Generator) -> Outcome:
        content = self.format.dump(document)
        model, reason = _read(content, self.file.name)
        columns = self.columns
        effect: Effect = "no model"
        visible = False
        expected: Answers | None = None
        try:
            with np.errstate(all="ignore"):
                found = self.format.evaluate(document, columns)
                columns, expected, before = self._beside(document, found, rng)
                effect = "equivalent" if are_alike(before, expected) else "changed"
                labels_alone = model is not None and model.values == "labels"
                visible = is_visible(self.answers, found, labels_alone=labels_alone)
        except (NoModelError, KeyError, ValueError, TypeError, IndexError, OverflowError, AttributeError) as error:
            reason = reason or f"evaluator: {error!r}"
        if model is None:
            return Outcome(file=self.file.name, change=change, effect=effect, verdict="refused", reason=reason)
        if expected is None:
            return Outcome(file=self.file.name, change=change, effect="no model", verdict="read", reason=reason)
        witnessed = self.is_contradicted(model)
        if model.unknown:
            verdict: Verdict = "inconclusive"
        else:
            verdict = "right" if self.alike(model, columns, expected) else "wrong"
        counted = None if self.filled is None else contradicts(model, content, filled=self.filled)
        return Outcome(
            file=self.file.name,
            change=change,
            effect=effect,
            verdict=verdict,
            witnessed=witnessed,
            visible=visible,
            counted=counted,
            moved=counted is not None and self._moves(document),
        )

    def reading(self) -> ModelIR | None:
        """What is read of the file; None where it is refused."""
        return _read(self.file.content, self.file.name)[0]

    def alike(self, model: ModelIR, columns: Columns, expected: Answers) -> bool:
        """Does a reading answer so?"""
        found = _safely(model, columns)
        compare = are_alike_by_shares if self.format.by_shares else are_alike
        return found is not None and compare(found, expected)

    def _moves(self, document: object) -> bool:
        """Does a changed document answer otherwise to the people that the original was trained on?"""
        people = people_columns(filled=bool(self.filled))
        both = [self.format.evaluate(each, people) for each in (self.document, document)]
        return not are_alike(*both)

    def is_contradicted(self, model: ModelIR) -> bool:
        """Do the answers of the original, as a witness, contradict a reading?"""
        renamed, cells = _cells_of(model, self.columns)
        said = self.answers
        if (said.labels is None) != (not model.classes):
            return True  # a witness of numbers names no classes, and one of classes no numbers
        if said.labels is None:
            witness = Witness(numbers=said.scores[:, 0])
        elif set(said.classes) != set(model.classes):
            return True  # the values of the policy are not the classes of the model
        else:
            labels = np.array([model.classes.index(label) if label else -1 for label in said.labels])
            order = [said.classes.index(name) for name in model.classes]
            shares = None if said.shares is None else said.shares[:, order]
            witness = Witness(scores=shares, labels=None if shares is not None else labels)
        try:
            with np.errstate(all="ignore"):
                return first_difference(witness, answered(renamed, cells)) is not None
        except (KeyError, ValueError, TypeError, IndexError):
            return True

    def _beside(self, document: object, found: Answers, rng: np.random.Generator) -> tuple[Columns, Answers, Answers]:
        """The rows chosen for the original, or where other things are asked for both documents; and both's answers."""
        asked: Questions = self.format.questions(document)
        known = {name: self.questions.get(name) for name in asked}
        if known == asked or set(asked) - set(self.file.rows):
            return self.columns, found, self.answers
        both = [self.questions, asked]
        columns = points(self.file.rows, both, rng, missing_texts=self.format.missing_texts, missing=self.file.missing)
        return columns, self.format.evaluate(document, columns), self.format.evaluate(self.document, columns)


def _safely(model: ModelIR, columns: Columns) -> Answers | None:
    try:
        with np.errstate(all="ignore"):
            return answers_of(model, columns)
    except (KeyError, ValueError, TypeError):
        return None


def _read(content: bytes, name: str) -> tuple[ModelIR | None, str]:
    try:
        return read_foreign(content, name), ""
    except ReleaseError as error:
        return None, str(error)


def outcomes(format: Format, number: int, seed: int) -> Iterator[Outcome]:
    """So many changes, spread over the files of a format."""
    rng = np.random.default_rng(seed)
    files = list(format.files())
    order = rng.permutation(len(files))[:number]
    for i, each in enumerate(order.tolist()):
        many = number // len(order) + (i < number % len(order))
        original = Original(format, files[each], rng)
        for _ in range(many):
            yield original.mutation(rng)
