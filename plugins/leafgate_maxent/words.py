"""Constraints in words: which choice of the tree says something, and where."""

from __future__ import annotations

from leafgate.tree import Cut, Fan
from leafgate_maxent.choices import Choices
from leafgate_maxent.walk import Walked


def choice_words(choices: Choices, constraint: int, walked: Walked) -> str:
    """Because the tree asks T and not W at a node: what an internal constraint is about."""
    inner = walked.inner[int(choices.node[constraint])]
    segment, behind = int(choices.segment[constraint]), int(choices.behind[constraint])
    other = choices.cells.names[int(choices.cells.column[segment])]
    how = "" if behind < 0 else f" (cut {behind - int(choices.cells.start[segment]) + 1} of its numbers there)"
    where = " and ".join(_answer(node, child) for node, child in walked.answers(inner.path)) or "at the root"
    return f"{where}: the tree asks {_asked(inner.node)} and not {other}{how}"


def _asked(node: Cut | Fan) -> str:
    return f"{node.column} <= {node.at:g}" if isinstance(node, Cut) else node.column


def leaf_words(walked: Walked, leaf: int) -> str:
    """The answers that lead to a leaf, and what it tells."""
    if leaf < 0:
        return "no leaf"
    path = " and ".join(_answer(node, child) for node, child in walked.answers(walked.paths[leaf])) or "everyone"
    return f"{path} -> {walked.leaves[leaf].words}"


def _answer(node: Cut | Fan, child: int) -> str:
    if isinstance(node, Cut):
        sign = "<" if node.strict else "<="
        return f"{node.column} {sign} {node.at:g}" if child == 0 else f"not {node.column} {sign} {node.at:g}"
    if child == len(node.branches):
        return f"{node.column} = any other"
    values = [str(value) if value is not None else "missing" for value in node.branches[child].values]
    return f"{node.column} = {values[0]}" if len(values) == 1 else f"{node.column} in {{{', '.join(values)}}}"
