"""Pictures of trees."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from leafgate import InconclusiveError
from leafgate.api import Branch, CategoricalSplit, Leaf, NumericSplit, install_command
from leafgate.estimators import KAnonymousTreeClassifier, PerturbedTreeClassifier

TREE = NumericSplit(
    "age",
    30.0,
    Leaf("low", {"low": 3, "high": 1}),
    CategoricalSplit(
        "job",
        (Branch(("clerk", None), Leaf("low", {"low": 2, "high": 0})), Branch(("cook",), Leaf("high"))),
        default=Leaf("low"),
    ),
)


def test_leaves_stand_side_by_side_and_nodes_above_the_middle_of_their_children() -> None:
    tree = KAnonymousTreeClassifier(k=2).fit([[1.0], [2.0]], [0, 1])
    tree.release_ = replace(tree.release_, trees=(TREE,))
    axes = tree.plot(Figure().subplots())
    assert [(text.get_text(), *text.get_position()) for text in axes.texts] == [
        ("age <= 30", 1.0, 0.0),
        ("yes", 0.5, -0.5),
        ("low\n3 low, 1 high", 0.0, -1.0),
        ("no", 1.5, -0.5),
        ("job", 2.0, -1.0),
        ("clerk, missing", 1.5, -1.5),
        ("low\n2 low", 1.0, -2.0),
        ("cook", 2.0, -1.5),
        ("high", 2.0, -2.0),
        ("else", 2.5, -1.5),
        ("low", 3.0, -2.0),
    ]


def test_a_plot_has_a_text_for_every_node_and_every_branch() -> None:
    tree = KAnonymousTreeClassifier(k=2).fit([["a"], ["a"], ["b"], ["b"]], ["no", "no", "yes", "yes"])
    axes = Figure().subplots()
    assert tree.plot(axes) is axes
    assert sorted(text.get_text() for text in axes.texts) == ["a", "b", "no\n2 no", "x0", "yes\n2 yes"]


def test_a_plot_takes_no_text_for_a_formula(tmp_path: Path) -> None:
    tree = KAnonymousTreeClassifier(k=2).fit([["$\\frac$"], ["$\\frac$"], ["b"], ["b"]], ["no", "no", "$yes_", "$yes_"])
    figure = Figure()
    tree.plot(figure.subplots())
    figure.savefig(tmp_path / "tree.png")


def test_a_plot_makes_a_figure_that_is_large_enough() -> None:
    from matplotlib import pyplot

    tree = KAnonymousTreeClassifier(k=2).fit([["a"], ["a"], ["b"], ["b"]], ["no", "no", "yes", "yes"])
    axes = tree.plot()
    assert isinstance(axes.figure, Figure)
    assert axes.figure.get_size_inches().tolist() == [pytest.approx(3.2), pytest.approx(2.4)]
    pyplot.close(axes.figure)


def test_without_matplotlib_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = KAnonymousTreeClassifier(k=2).fit([[1.0], [2.0]], [0, 1])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="a drawing needs matplotlib: " + re.escape(install_command("docs"))):
        tree.plot()


def test_a_release_without_trees_is_not_drawn() -> None:
    bayes = PerturbedTreeClassifier(model="naive_bayes", random_state=0).fit([[1.0], [2.0], [4.0], [5.0]], [0, 1, 0, 1])
    with pytest.raises(InconclusiveError, match="no tree to draw"):
        bayes.plot()
