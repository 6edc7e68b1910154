"""What a fitted model gives for the first policy that audits it."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from leafgate.api import LeafgateError
from leafgate.app import (
    ModelHints,
    Proposal,
    fitting_classes,
    load_plugins,
    model_hints,
    open_session,
    parse_number,
    read_model,
)
from leafgate_scaffold.limits import tried_and_demanded


def hints_of(path: Path, columns: Sequence[str], texts: Mapping[str, Sequence[str]]) -> ModelHints:
    """What the model in the file says of a table with these columns; `texts` are the values where none are numbers."""
    return model_hints(read_model(path, load_plugins().readers), columns, texts)


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
            shutil.copyfile(model, folder / model.name)
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
    """The numbers of a class whose values have other names than the model's classes; None where they have not."""
    unlike_classes = bool(hints.classes) and set(values) != set(hints.classes)
    return ClassCodes.in_order(values, hints.classes) if unlike_classes else None


def rest_of_policy(
    hints: ModelHints, folder: str, target: str, codes: ClassCodes | None, proposal: Proposal
) -> Iterator[str]:
    """The end of the policy: the model's file, its level, what it discloses, attacks and limits to start from."""
    yield ""
    if hints.unresolved_features or codes is not None:
        yield f"build:\n  use: published\n  path: {json.dumps(folder)}"
        yield "  encoding:                   # CHECK: what these features are, which the file does not say"
        for name in hints.unresolved_features:
            yield f"    {json.dumps(name)}: {{}}   # CHECK: {{column: ..., value: ...}} or {{codes: {{VALUE: number}}}}"
        if codes is not None:
            listed = ", ".join(f"{json.dumps(value)}: {number:g}" for value, number in codes.codes.items())
            yield f"    {json.dumps(target)}: {{codes: {{{listed}}}}}          # CHECK: {codes.known}"
    else:
        yield f"build: {{use: published, path: {json.dumps(folder)}}}"
    yield ""
    yield from (f"# The file tells, beyond its predictions, {line}" for line in hints.says)
    yield f"publish: {{leaves: {hints.level}, measure: false}}"
    yield from tried_and_demanded(proposal, hints.level)
