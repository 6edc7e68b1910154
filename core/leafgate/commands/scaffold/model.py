"""What a fitted model gives for the first policy that audits it."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from leafgate.api import LeafgateError
from leafgate.commands.scaffold.limits import tried_and_demanded
from leafgate.io.json import parse_number
from leafgate.models.lowering.release import asked_features
from leafgate.readers import ModelIR
from leafgate.session.draft import ModelHints, columns_by_position
from leafgate.session.proposals import Proposal
from leafgate.session.run import fitting_classes, open_session


def class_by_position(model: ModelIR, values: Mapping[str, Sequence[str]], texts: Collection[str]) -> str | None:
    """The column that a model predicts whose features are named by their positions among all other columns.

    Of the columns that could be the class it is the one which leaves the most features with thresholds between the
    smallest and the largest number of their columns; of several such columns the last.

    Args:
        model: the model.
        values: the values of each column of the table, in its order.
        texts: the columns that hold no numbers.

    Returns:
        None where features have names, or are not one fewer than the columns.
    """
    names = list(values)
    if len(model.features) != len(names) - 1 or not columns_by_position(model, names):
        return None
    numbers = {name: sorted(map(float, values[name])) for name in names if name not in texts and values[name]}
    features = list(asked_features(model).values())

    def fitting(predicted: str) -> int:
        columns = columns_by_position(model, [name for name in names if name != predicted])
        spans = [(feature, numbers.get(columns[feature.name])) for feature in features]
        return sum(span is not None and span[0] <= each.least and each.most <= span[-1] for each, span in spans)

    if model.classes:
        possible = [name for name in names if len(set(values[name])) == len(model.classes)]
    else:
        possible = list(numbers)
    return max(reversed(possible), key=fitting, default=None)


def class_column(hints: ModelHints, values: Mapping[str, Sequence[str]], columns: Sequence[str]) -> str:
    """The column that has the model's classes; the last of those that no tree asks about, if several have or none.

    Of a model that predicts numbers: the last column of numbers that no tree asks about.
    """
    free = [name for name in columns if name not in hints.numbers | hints.values]
    fitting = [name for name in free if set(values[name]) == set(hints.classes)]
    if not hints.classes:
        fitting = [name for name in free if name not in hints.texts]
    return (fitting or free or list(columns))[-1]


@dataclass(frozen=True)
class ClassCodes:
    """The number that the model gives each value of the class, and what is known of it."""

    codes: Mapping[str, float]
    known: str = "the model's number of each class"

    @classmethod
    def in_order(cls, values: Sequence[str], classes: Sequence[str]) -> Self:
        """The values in their order, with the numbers of the model's classes in theirs, where these are numbers."""
        numbers = [parse_number(name) for name in classes]
        plain = len(numbers) == len(values) and all(map(math.isfinite, numbers))
        return cls(dict(zip(values, numbers if plain else range(len(values)), strict=True)))

    def fitted(self, policy: str, data: Path, model: Path) -> ClassCodes:
        """The codes in the order that fits the table best, by a whole `policy` that has these codes."""
        with tempfile.TemporaryDirectory(prefix="leafgate-") as name:
            folder = Path(name)
            copy = shutil.copytree if model.is_dir() else shutil.copyfile
            copy(model, folder / model.name)
            (folder / "policy.yaml").write_text(policy)
            try:
                classes = fitting_classes(open_session(folder / "policy.yaml", data))
            except LeafgateError:
                return self
        if classes is None:
            return replace(self, known=f"{self.known}; the table fits several orders equally well")
        codes = {value: parse_number(classes[value]) for value in self.codes}
        return ClassCodes(codes, f"{self.known}; of all orders this one fits the table best")


def codes_of_classes(hints: ModelHints, values: Sequence[str]) -> ClassCodes | None:
    """The numbers of a class whose values have other names than the model's classes; None where they have not.

    Values that the model has no class for, such as other spellings, make no other names of those that it has.
    """
    unlike_classes = bool(hints.classes) and not set(hints.classes) <= set(values)
    return ClassCodes.in_order(values, hints.classes) if unlike_classes else None


def rest_of_policy(
    hints: ModelHints, folder: str, target: str, codes: ClassCodes | None, proposal: Proposal
) -> Iterator[str]:
    """The end of the policy: the model's file, its level, what it discloses, attacks and limits to start from."""
    yield ""
    if hints.unresolved_features or hints.by_position or codes is not None:
        yield f"build:\n  use: published\n  path: {json.dumps(folder)}"
        yield "  encoding:                   # CHECK: what these features are, which the file does not say"
        for name, column in hints.by_position.items():
            check = "its position in the table"
            if name in hints.unresolved_features:
                check += "; add codes: {VALUE: number}, the model's number of each value"
            yield f"    {json.dumps(name)}: {{column: {json.dumps(column)}}}          # CHECK: {check}"
        for name in (name for name in hints.unresolved_features if name not in hints.by_position):
            yield f"    {json.dumps(name)}: {{}}   # CHECK: {{column: ..., value: ...}} or {{codes: {{VALUE: number}}}}"
        if codes is not None:
            listed = ", ".join(f"{json.dumps(value)}: {number:g}" for value, number in codes.codes.items())
            yield f"    {json.dumps(target)}: {{codes: {{{listed}}}}}          # CHECK: {codes.known}"
    else:
        yield f"build: {{use: published, path: {json.dumps(folder)}}}"
    yield ""
    yield from (f"# The file discloses, beyond its predictions, {line}" for line in hints.says)
    yield f"publish: {{leaves: {hints.level}, measure: false}}"
    yield from tried_and_demanded(proposal, hints.level)
