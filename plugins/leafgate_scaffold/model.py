"""What a fitted model gives for the first policy that audits it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leafgate.app import ModelHints, Proposal, load_plugins, model_hints, read_model
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


def rest_of_policy(
    hints: ModelHints, folder: str, target: str, values: Sequence[str], proposal: Proposal
) -> Iterator[str]:
    """The end of the policy: the model's file, its level, what it discloses, attacks and limits to start from."""
    yield ""
    unlike_classes = bool(hints.classes) and set(values) != set(hints.classes)
    if hints.unresolved_features or unlike_classes:
        yield f"build:\n  use: published\n  path: {json.dumps(folder)}"
        yield "  encoding:                   # CHECK: what these features are, which the file does not say"
        for name in hints.unresolved_features:
            yield f"    {json.dumps(name)}: {{}}   # CHECK: {{column: ..., value: ...}} or {{codes: {{VALUE: number}}}}"
        if unlike_classes:
            codes = ", ".join(f"{json.dumps(value)}: {i}" for i, value in enumerate(values))
            yield f"    {json.dumps(target)}: {{codes: {{{codes}}}}}          # CHECK: the model's number of each class"
    else:
        yield f"build: {{use: published, path: {json.dumps(folder)}}}"
    yield ""
    yield from (f"# The file tells, beyond its predictions, {line}" for line in hints.says)
    yield f"publish: {{leaves: {hints.level}, measure: false}}"
    yield from tried_and_demanded(proposal, hints.level)
