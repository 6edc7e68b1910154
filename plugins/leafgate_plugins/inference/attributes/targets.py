"""Targets of attribute inference: what the adversary knows of them, and what the model answers at each value.

The adversary knows columns of a target, but not the secret.
"""

from __future__ import annotations

import hashlib
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    AttributeBelief,
    Belief,
    InconclusiveError,
    PredictionOracle,
    Release,
    Table,
    Targets,
    lazy,
)
from leafgate_plugins.inference.game import Answers, one_hot, own_classes, scores_about

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.api import Column, Floats, Mask, Schema
else:
    np, pd = lazy("numpy"), lazy("pandas")

TABLES = 5
"""A bin of a secret number is asked about by so many numbers, and cells that are not known by so many people's."""
PLANTED_SCORE = 0.99
"""The score of the own class at the planted value, where a leak is planted; at all other values it is one less this."""


class InputAttack(AttackModel):
    """What attacks on inputs of the model have in common: one belief for each secret input that they are to infer."""

    secret: str | None = Field(
        default=None,
        description="The column to infer, not a public one; by default each such column that the model's trees test.",
    )

    needs = frozenset({"targets"})
    access_levels = frozenset({"scores", "file"})
    parts = frozenset({"trees"})
    threat_model = (
        "The adversary believes of each target that this person is in the table, knows all columns but the secret (or "
        "those that the policy says, and the class where it says so), all columns of some other people, and has the "
        "release file or its answers."
    )

    def infer(self, source: Release | PredictionOracle, known: AdversaryKnowledge) -> list[Belief]:
        return [self.conclude(source, known, targets) for targets in chosen_secrets(known, self.secret)]

    @abstractmethod
    def conclude(
        self, source: Release | PredictionOracle, known: AdversaryKnowledge, targets: Targets
    ) -> AttributeBelief:
        """What the attack believes of one secret."""


def chosen_secrets(known: AdversaryKnowledge, secret: str | None) -> list[Targets]:
    """The targets of the secret that the policy names, or of each that the model's trees test.

    Raises:
        InconclusiveError: there is no such column, or it has neither values nor bins.
    """
    inputs = known.targets
    tested = [name for name, targets in inputs.items() if targets.tested]
    if secret is None and not tested:
        raise InconclusiveError(
            "the model's trees test no column that is not public, so there is no input to infer",
            remedy="name the column in the attack's `secret`, and it is shown that nothing follows about it",
        )
    if secret is not None and secret not in inputs:
        is_class = secret in known.schema and "class" in known.schema[secret].roles
        reason = (
            "it is the class, which other attacks infer" if is_class else "it is public, or no column of the policy"
        )
        raise InconclusiveError(
            f"{secret!r} is no input to infer: {reason}",
            remedy="name a column with the role `private` or `sensitive`, or leave `secret` out",
        )
    chosen = [inputs[name] for name in ([secret] if secret is not None else tested)]
    for targets in chosen:
        if not targets.secret.countable:
            name = targets.secret.name
            raise InconclusiveError(
                f"the column {name!r} is a number without bins, so its values cannot be listed",
                remedy=f"give data.columns.{name} `bins`, or name another column in `secret`",
            )
    return chosen


def class_is_known(targets: Targets, schema: Schema) -> bool:
    """Whether the adversary knows the class of the targets."""
    return schema.target.name in targets.groups[0].schema


def require_class(targets: Targets, schema: Schema) -> None:
    """Raise InconclusiveError where the adversary does not know the class of the targets."""
    if not class_is_known(targets, schema):
        raise InconclusiveError(
            "the attack compares what the model answers with each person's class, and that is not known",
            remedy="grant it by `knows: {class: true}`",
        )


def answers_by_value(source: Release | PredictionOracle, targets: Targets, schema: Schema, seed: int) -> Answers:
    """What the model answers about each target, of the first group and then of the second, at each value.

    Cells that the adversary does not know besides the secret are those of auxiliary people; answers are averaged. So
    are they over several numbers of a bin.

    Args:
        source: the release, or an oracle that answers about it.
        targets: the people, and the column to infer.
        schema: every column that the model may ask for.
        seed: of the random numbers that choose auxiliary people, from 0.
    """
    parts = [_shared_answers(source, group, targets, schema, seed) for group in targets.groups]
    return Answers(np.concatenate([part.scores for part in parts]), np.concatenate([part.own for part in parts]))


KEPT = 12
"""How many tables' answers are kept for other attacks on the same release: two groups and auxiliary people, of some
secrets."""
_kept: dict[tuple[int, str], tuple[weakref.ref[Release], Answers]] = {}


def _shared_answers(
    source: Release | PredictionOracle, people: Table, targets: Targets, schema: Schema, seed: int
) -> Answers:
    """The answers about people, of a release computed once for all attacks; an oracle is asked by each of them."""
    if isinstance(source, PredictionOracle):
        return _answers(source, people, targets, schema, seed)
    key = id(source), _digest(people, targets, seed)
    kept = _kept.get(key)
    if kept is not None and kept[0]() is source:
        return kept[1]
    answers = _answers(source, people, targets, schema, seed)
    while len(_kept) >= KEPT:
        _kept.pop(next(iter(_kept)))
    _kept[key] = weakref.ref(source), answers
    return answers


def _digest(people: Table, targets: Targets, seed: int) -> str:
    """What answers about people depend on, besides the model."""
    from leafgate.algorithms.sampling import record_hashes

    names = [column.name for column in people.schema.columns]
    hashes = [record_hashes(table).tobytes() for table in (people, targets.auxiliary)]
    return hashlib.sha256(b"".join([repr((names, targets.secret.name, seed)).encode(), *hashes])).hexdigest()


def auxiliary_answers(source: Release | PredictionOracle, targets: Targets, schema: Schema, seed: int) -> Answers:
    """The same about the auxiliary people, of whom the class is known. The arguments are as of `answers_by_value`."""
    answered = _shared_answers(source, auxiliary_as_targets(targets), targets, schema, seed)
    return Answers(answered.scores, own_classes(targets.auxiliary, schema))


def auxiliary_as_targets(targets: Targets) -> Table:
    """The auxiliary people with the columns that the adversary knows of targets."""
    schema: Schema = targets.groups[0].schema
    frame = targets.auxiliary.frame.loc[:, [column.name for column in schema.columns]]
    return Table(schema, frame, targets.auxiliary.weight)


def _answers(source: Release | PredictionOracle, people: Table, targets: Targets, schema: Schema, seed: int) -> Answers:
    values = range(len(targets.secret.domain))
    by_value = []
    for value in values:
        completed = [_scores_or_labels(source, table) for table in completions(people, targets, schema, value, seed)]
        by_value.append(np.mean(completed, axis=0))
    return Answers(np.stack(by_value, axis=1), own_classes(people, schema))


def completions(people: Table, targets: Targets, schema: Schema, value: int, seed: int) -> Iterator[Table]:
    """Tables of the same people with all columns of the schema, in which the secret has one value.

    There is one, unless the secret is a number (one table for each of some numbers in the bin) or the adversary does
    not know other columns (one for each of some auxiliary people whose cells stand in for them).

    Args:
        people: some targets, or auxiliary people, with the columns that are known of targets.
        targets: the column to infer, and the auxiliary people.
        schema: the columns of the tables.
        value: the position of the secret's value in its domain.
        seed: of the random numbers that choose auxiliary people, from 0.
    """
    class_name = schema.target.name
    apart = {class_name, targets.secret.name}
    hidden = [column.name for column in schema.columns if column.name not in people.schema and column.name not in apart]
    rng = np.random.default_rng([seed, 5])
    donors = targets.auxiliary.frame
    for cell in _cells_for(targets, value, repeated=bool(hidden)):
        chosen = rng.integers(len(donors), size=len(people))
        cells = {}
        for column in schema.columns:
            if column.name == targets.secret.name:
                cells[column.name] = _constant(column, cell, len(people))
            elif column.name in people.schema:
                cells[column.name] = people.frame[column.name].reset_index(drop=True)
            elif column.name == class_name:
                cells[column.name] = _constant(column, None, len(people))
            else:
                cells[column.name] = donors[column.name].iloc[chosen].reset_index(drop=True)
        yield Table(schema, pd.DataFrame(cells), np.ones(len(people), dtype=np.int64))


def _cells_for(targets: Targets, value: int, *, repeated: bool) -> list[str | float | None]:
    """The cells of the secret by which the model is asked about one value.

    Of a bin they are quantiles of the auxiliary people's numbers in it, or its middle where there is none.
    """
    column = targets.secret
    if column.bins is None:
        return [column.domain[value]] * (TABLES if repeated else 1)
    numbers = targets.auxiliary.numbers(column.name)[targets.auxiliary.codes(column.name) == value]
    if not len(numbers):
        numbers = np.array([(column.bins[value] + column.bins[value + 1]) / 2])
    return [float(each) for each in np.quantile(numbers, (np.arange(TABLES) + 0.5) / TABLES, method="nearest")]


def _constant(column: Column, cell: str | float | None, rows: int) -> pd.Series:
    """A column with the same cell in each row, as a Table holds it; None for a missing one."""
    if column.values is None or column.holds_numbers:
        return pd.Series(np.full(rows, np.nan if cell is None else cell, dtype=np.float64))
    code = -1 if cell is None else column.values.index(str(cell))
    return pd.Series(pd.Categorical.from_codes(np.full(rows, code), categories=pd.Index(column.values)))


def _scores_or_labels(source: Release | PredictionOracle, people: Table) -> Floats:
    """The score of each class for each row; 1 for the label where there are labels alone, all 0 where there is none."""
    from leafgate.algorithms.prediction import predict

    try:
        return scores_about(source, people)
    except InconclusiveError:
        if isinstance(source, PredictionOracle):
            raise
        return one_hot(predict(source, people), len(source.classes))


def planted_answers(answers: Answers, values: NDArray[np.int64], leaking: Mask, seed: int, repetition: int) -> Answers:
    """Answers that depend on the secret of those who leak, and on nobody else's.

    The own class of somebody who leaks has the score PLANTED_SCORE at the planted value, and one less that at all
    others; the rest goes to the other classes alike. Of everybody else the model answers at every value what it answers
    at one of them, chosen at random.

    Args:
        answers: of the audited model; where a class is not known, or there is but one, nothing can be planted.
        values: shape (n_people,), the position of the value that is planted.
        leaking: shape (n_people,), who leaks.
        seed: of the audit; what is planted follows from it and from the repetition, and is the same for all attacks.
        repetition: from 0.
    """
    n, n_values, classes = answers.scores.shape
    rng = np.random.default_rng([int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0]), 6])
    scores = np.repeat(answers.scores[np.arange(n), rng.integers(n_values, size=n)][:, None], n_values, axis=1)
    who = np.flatnonzero(leaking & (answers.own < classes) & (classes > 1))
    own_score = np.where(np.arange(n_values) == values[who, None], PLANTED_SCORE, 1 - PLANTED_SCORE)
    scores[who] = ((1 - own_score) / max(1, classes - 1))[:, :, None]
    scores[who, :, answers.own[who]] = own_score
    return Answers(scores, answers.own)


def repeating(
    answers: Answers, seed: int, conclude: Callable[[Answers, int], Floats]
) -> Callable[[NDArray[Any], NDArray[Any], int], Floats]:
    """Repeat an attack on answers in which values are planted: the `planted` of an AttributeBelief.

    Args:
        answers: as `planted_answers` takes them.
        seed: of the audit, from 0.
        conclude: what the attack believes by such answers in a repetition, whose number is from 0: shape (n_people,
            n_values), rows sum to 1.
    """

    def planted(values: NDArray[Any], leaking: NDArray[Any], repetition: int) -> Floats:
        return conclude(planted_answers(answers, values, leaking, seed, repetition), repetition)

    return planted


def known_cells(people: Table) -> Floats:
    """All columns of a table as numbers: shape (n, k), NaN where a number is missing.

    Columns stand in the order of their names, and values are numbered in the order of their texts, so that neither the
    order of columns nor that of declared values matters.
    """
    cells = [
        people.numbers(column.name)
        if column.values is None
        else text_ranks(column)[people.codes(column.name)].astype(np.float64)
        for column in sorted(people.schema.columns, key=lambda column: column.name)
    ]
    return np.column_stack(cells)


def text_ranks(column: Column) -> NDArray[np.int64]:
    """The place of each value in the order of their texts, and then that of a missing one; of each bin its own."""
    if column.bins is not None:
        return np.arange(len(column.domain))
    texts = [(value is None, "" if value is None else value) for value in (*(column.values or ()), None)]
    places = {text: place for place, text in enumerate(sorted(texts))}
    return np.array([places[text] for text in texts], dtype=np.int64)


def value_shares(targets: Targets) -> Floats:
    """The shares of the secret's values among the auxiliary people and one more of each value: shape (V,), above 0."""
    counts = np.bincount(targets.auxiliary.codes(targets.secret.name), minlength=len(targets.secret.domain)) + 1.0
    return np.asarray(counts / counts.sum())
