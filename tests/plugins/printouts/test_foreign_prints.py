"""Print-outs of WEKA's J48 and of R's rpart: the examples of their documentation, and texts that are none."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from installed_readers import is_foreign, read_foreign
from leafgate import Release, ReleaseError, Table
from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.algorithms.prediction import predict
from leafgate.api import CategoricalSplit, NumericSplit
from leafgate.commands.convert.scrub import predicted
from leafgate.models.lowering.release import lower_model
from leafgate.readers import LEAF, ModelIR
from random_tables import categorical, numeric, table_of
from refused_models import assert_refused

# WEKA's weather data and what J48 prints of it (WEKA manual; Witten, Frank, "Data Mining", section 10.1).

WEATHER = """=== Run information ===

Scheme:       weka.classifiers.trees.J48 -C 0.25 -M 2
Instances:    14

=== Classifier model (full training set) ===

J48 pruned tree
------------------

outlook = sunny
|   humidity <= 75: yes (2.0)
|   humidity > 75: no (3.0)
outlook = overcast: yes (4.0)
outlook = rainy
|   windy = TRUE: no (2.0)
|   windy = FALSE: yes (3.0)

Number of Leaves  : \t5

Size of the tree : \t8

=== Confusion Matrix ===

 a b   <-- classified as
 7 2 | a = yes
 3 2 | b = no
"""
DAYS = [
    ("sunny", 85, "FALSE", "no"),
    ("sunny", 90, "TRUE", "no"),
    ("overcast", 86, "FALSE", "yes"),
    ("rainy", 96, "FALSE", "yes"),
    ("rainy", 80, "FALSE", "yes"),
    ("rainy", 70, "TRUE", "no"),
    ("overcast", 65, "TRUE", "yes"),
    ("sunny", 95, "FALSE", "no"),
    ("sunny", 70, "FALSE", "yes"),
    ("rainy", 80, "FALSE", "yes"),
    ("sunny", 70, "TRUE", "yes"),
    ("overcast", 90, "TRUE", "yes"),
    ("overcast", 75, "FALSE", "yes"),
    ("rainy", 91, "TRUE", "no"),
]


def weather(*, missing: bool = False) -> Table:
    columns = [
        categorical("outlook", "quasi_identifier", values=("sunny", "overcast", "rainy"), missing=missing),
        numeric("humidity", "quasi_identifier", bounds=(0, 100)),
        categorical("windy", "quasi_identifier", values=("TRUE", "FALSE")),
        categorical("play", "class", "sensitive", values=("yes", "no")),
    ]
    return table_of(columns, [(a, float(b), c, d) for a, b, c, d in DAYS])


def released(text: str, table: Table) -> tuple[ModelIR, Release]:
    content = text.encode()
    assert is_foreign(content[:4096])
    model = read_foreign(content, "model")
    return model, lower_model(model, table.schema, {}, "model").release


def test_the_weather_tree_is_that_of_the_weather() -> None:
    table = weather()
    model, release = released(WEATHER, table)
    assert isinstance(release.trees[0], CategoricalSplit)
    assert np.array_equal(predict(release, table), table.codes("play"))
    assert (model.classes, model.level, model.counted) == (("yes", "no"), "counts", "exact")
    assert inconsistent_leaves(release, table) == 0
    (tree,) = model.trees
    assert tree.size is not None
    assert tree.size[0] == 14


def test_counts_of_other_days_are_strange() -> None:
    _, release = released(WEATHER.replace("yes (4.0)", "yes (5.0)"), weather())
    assert inconsistent_leaves(release, weather()) == 1


def test_without_all_classes_errors_are_of_no_class() -> None:
    text = WEATHER.partition("=== Confusion")[0].replace("yes (4.0)", "yes (4.0/1.0)")
    model, release = released(text, weather())
    assert model.trees[0].counts is None
    assert model.level == "counts"  # where there are but the two, errors are the other one's
    assert release.publish.leaves == "labels"


def test_half_people_come_from_missing_cells_and_are_not_exact() -> None:
    model, _ = released(WEATHER.replace("yes (4.0)", "yes (4.36/0.36)"), weather())
    assert model.counted == "unknown"
    assert model.trees[0].counts is not None


def test_people_with_missing_cells_are_refused_by_name() -> None:
    with pytest.raises(ReleaseError, match=r"'outlook' may be missing.*every way"):
        released(WEATHER, weather(missing=True))


def test_one_leaf_is_a_tree() -> None:
    matrix = " 9 0 | a = yes\n 5 0 | b = no\n"
    text = f"J48 unpruned tree\n------------------\n: yes (9.0/5.0)\n\nNumber of Leaves  : \t1\n{matrix}"
    model = read_foreign(text.encode(), "model")
    assert model.trees[0].counts is not None
    assert model.trees[0].counts.tolist() == [[4.0, 5.0]]


def test_binary_splits_and_strange_names_are_read() -> None:
    text = """J48 pruned tree
------------------

blood pressure (mm) <= -1.5
|   ward = A: sick (2.0)
|   ward != A: well (3.0/1.0)
blood pressure (mm) > -1.5: well (1.0)

Number of Leaves  : \t3
"""
    model = read_foreign(text.encode(), "model")
    assert model.features == ("blood pressure (mm)", "ward")
    assert model.trees[0].threshold[0] == -1.5
    assert "sick" in model.classes


J48_HOSTILE = {
    "no leaves' number": (WEATHER.partition("Number")[0], "is it whole"),
    "a way too few": (WEATHER.replace("|   windy = FALSE: yes (3.0)\n", ""), "not those of one test"),
    "a way twice": (WEATHER.replace("windy = FALSE", "windy = TRUE"), "not those of one test"),
    "another attribute": (WEATHER.replace("humidity > 75", "outlook > 75"), "not those of one test"),
    "another threshold": (WEATHER.replace("humidity > 75", "humidity > 76"), "not those of one test"),
    "nothing below": (
        WEATHER.replace("outlook = rainy\n", "outlook = rainy\n|   |   windy = TRUE: no (2.0)\n"),
        "ends",
    ),
    "no threshold": (WEATHER.replace("<= 75", "<= high").replace("> 75", "> high"), "no number"),
    "an underscore": (WEATHER.replace("<= 75", "<= 7_5").replace("> 75", "> 7_5"), "no number"),
    "more errors than people": (WEATHER.replace("(4.0)", "(4.0/5.0)"), "more errors"),
    "one class": (WEATHER.partition("=== Conf")[0].replace(": no ", ": yes "), "two classes"),
    "a class that is not in the matrix": (WEATHER.replace("overcast: yes", "overcast: maybe"), "confusion matrix"),
    "too deep": (WEATHER.replace("outlook = rainy", "|" * 300 + " outlook = rainy"), "deeper than"),
    "endless lines": (WEATHER + "\n" * 200_000, "lines"),
    "an endless line": (WEATHER + "x" * 20_000, "a line of more"),
    "a line that is none": (WEATHER.replace("outlook = overcast", "cloudy"), "no test"),
}


@pytest.mark.parametrize(("text", "why"), J48_HOSTILE.values(), ids=J48_HOSTILE)
def test_what_is_no_print_out_of_j48_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        read_foreign(text.encode(), "model")


# rpart's kyphosis example (rpart's help page, `print(rpart(Kyphosis ~ Age + Numeric + Start, data = kyphosis))`).

KYPHOSIS = """n= 81 

node), split, n, loss, yval, (yprob)
      * denotes terminal node

 1) root 81 17 absent (0.79012346 0.20987654)  
   2) Start>=8.5 62  6 absent (0.90322581 0.09677419)  
     4) Start>=14.5 29  0 absent (1.00000000 0.00000000) *
     5) Start< 14.5 33  6 absent (0.81818182 0.18181818)  
      10) Age< 55 12  0 absent (1.00000000 0.00000000) *
      11) Age>=55 21  6 absent (0.71428571 0.28571429)  
        22) Age>=111 14  2 absent (0.85714286 0.14285714) *
        23) Age< 111 7  3 present (0.42857143 0.57142857) *
   3) Start< 8.5 19  8 present (0.42105263 0.57894737) *
"""  # noqa: W291
SPINE = [
    numeric("Age", "quasi_identifier", bounds=(0, 300)),
    numeric("Start", "quasi_identifier", bounds=(0, 20)),
    categorical("Kyphosis", "class", "sensitive", values=("absent", "present")),
]


def by_hand(age: float, start: float) -> str:
    """The print-out followed with a finger."""
    if start < 8.5:
        return "present"
    if start >= 14.5 or age < 55:
        return "absent"
    return "absent" if age >= 111 else "present"


def test_the_kyphosis_tree_says_what_it_prints() -> None:
    cells = itertools.product((0, 54.9, 55, 110, 111, 300), (1, 8.4, 8.5, 14, 14.5, 20))
    table = table_of(SPINE, [(float(age), float(start), "absent") for age, start in cells])
    model, release = released(KYPHOSIS, table)
    rows = table.frame[["Age", "Start"]].itertuples(index=False, name=None)
    assert [table.schema.classes[i] for i in predict(release, table)] == [by_hand(*row) for row in rows]
    assert isinstance(release.trees[0], NumericSplit)
    (tree,) = model.trees
    assert tree.counts is not None
    assert tree.counts[0].tolist() == [64, 17]
    assert sorted(map(tuple, tree.counts[tree.feature == LEAF].tolist())) == [
        (3, 4),
        (8, 11),
        (12, 0),
        (12, 2),
        (29, 0),
    ]
    assert (model.level, model.counted) == ("counts", "exact")


FLOWERS = """n= 150 

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 150 100 setosa (0.3333333 0.3333333 0.3333333)  
  2) colour=white,light blue 50   0 setosa (1.0000000 0.0000000 0.0000000) *
  3) colour=red,yellow 100  50 versicolor (0.0000000 0.5000000 0.5000000)  
    6) Petal.Width< 1.75 54   5 versicolor (0.0000000 0.9074074 0.0925926) *
    7) Petal.Width>=1.75 46   1 virginica (0.0000000 0.0217391 0.9782609) *
"""  # noqa: W291


def test_values_that_neither_way_names_get_no_prediction() -> None:
    columns = [
        categorical("colour", "quasi_identifier", values=("white", "light blue", "red", "yellow", "black")),
        numeric("Petal.Width", "quasi_identifier", bounds=(0, 3)),
        categorical("Species", "class", values=("setosa", "versicolor", "virginica")),
    ]
    rows = [("light blue", 1.0), ("red", 1.0), ("yellow", 1.75), ("black", 1.0)]
    table = table_of(columns, [(*row, "setosa") for row in rows])
    model, release = released(FLOWERS, table)
    found = dict(zip(table.frame["colour"], predict(release, table).tolist(), strict=True))
    assert found == {"light blue": 0, "red": 1, "yellow": 2, "black": -1}
    assert model.trees[0].counts is not None
    assert predicted(model, np.array([[np.nan, 2.0]])).shape == (1,)


def test_a_class_that_is_never_the_largest_alone_has_the_name_that_is_left_for_it() -> None:
    root = "1) root 10 4 yes (0.4 0.6)"
    ways = ["2) age< 30 8 4 no (0.5 0.5) *", "3) age>=30 2 0 yes (0 1) *"]
    head = FLOWERS.partition("1)")[0]
    assert read_foreign((head + "\n".join([root, *ways])).encode(), "m").classes == ("no", "yes")
    ways = ["2) age< 30 8 4 yes (0.5 0.5) *", ways[1]]  # nothing is left for the first class
    with pytest.raises(ReleaseError, match="what class 1 is called"):
        read_foreign((head + "\n".join([root, *ways])).encode(), "m")


def test_shares_that_are_no_people_stay_shares_beside_sizes() -> None:
    model = read_foreign(
        KYPHOSIS.replace("7  3 present (0.42857143 0.57142857)", "7  3 present (0.40 0.60)").encode(), "m"
    )
    assert (model.values, model.level, model.trees[0].counts) == ("shares", "counts", None)


def test_people_with_missing_cells_are_refused_where_surrogates_decide() -> None:
    gone = [numeric("Age", "quasi_identifier", bounds=(0, 300), missing=True), *SPINE[1:]]
    with pytest.raises(ReleaseError, match=r"'Age' may be missing.*surrogate"):
        released(KYPHOSIS, table_of(gone, []))


RPART_HOSTILE = {
    "a regression of classes": (KYPHOSIS.replace("loss, yval, (yprob)", "deviance, yval"), "no node"),
    "another header": (KYPHOSIS.replace("loss, yval, (yprob)", "loss, yval"), "no print-out of an rpart tree"),
    "a node twice": (KYPHOSIS.replace(" 3) Start", " 2) Start"), "twice"),
    "a node without parent": (KYPHOSIS.replace("23) Age", "99) Age"), "without the one above"),
    "a node too deep": (KYPHOSIS.replace("23) Age", "4294967296) Age"), "too deep"),
    "one way alone": (
        KYPHOSIS.replace("        23) Age< 111 7  3 present (0.42857143 0.57142857) *\n", ""),
        "two nodes",
    ),
    "a leaf with ways": (KYPHOSIS.replace("0.28571429)  ", "0.28571429) *"), "terminal"),
    "another threshold": (KYPHOSIS.replace("Age< 111", "Age< 112"), "other way"),
    "the same way": (KYPHOSIS.replace("Start< 8.5", "Start>=8.5"), "other way"),
    "a value on both ways": (FLOWERS.replace("red,yellow", "red,white"), "goes the other way"),
    "a share too few": (KYPHOSIS.replace("(0.85714286 0.14285714)", "(0.85714286)"), "one share for each"),
    "a share above 1": (KYPHOSIS.replace("0.85714286", "8.5"), "one share for each"),
    "a label that is not the likeliest": (KYPHOSIS.replace("2 absent (0.857", "2 present (0.857"), "likeliest"),
    "a class without a name": (KYPHOSIS.partition("   2)")[0].replace("0.20987654)  ", "0.20987654) *"), "class 2"),
    "a line that is none": (KYPHOSIS.replace("22) Age>=111 14  2", "22) Age>=111"), "no node"),
    "endless classes": (KYPHOSIS + '[1] "absent"  "present"\n' * 1_000, "lists classes"),
    "no root": (KYPHOSIS.partition(" 1) root")[0], "no root"),
    "an endless line": (KYPHOSIS + "x" * 20_000, "a line of more"),
}


@pytest.mark.parametrize(("text", "why"), RPART_HOSTILE.values(), ids=RPART_HOSTILE)
def test_what_is_no_print_out_of_rpart_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        read_foreign(text.encode(), "model")


def others(text: str) -> list[tuple[str, str]]:
    """Severity and words of what nobody read."""
    model = read_foreign(text.encode(), "m")
    return [(item.severity, item.says) for item in model.discloses if item.kind == "other_content"]


def test_a_tree_alone_tells_nothing_else() -> None:
    tree = WEATHER[WEATHER.index("J48 pruned") :].partition("=== Confusion")[0]
    assert others(tree) == others(KYPHOSIS) == others(FLOWERS) == []
    leaf = "J48 pruned tree\n------------------\n: yes (9.0/5.0)\n\nNumber of Leaves  : \t1\n\nSize of the tree : \t1\n"
    matrix = "\n=== Confusion Matrix ===\n\n 9 0 | a = yes\n 5 0 | b = no\n"
    assert [severity for severity, _ in others(leaf + matrix)] == ["medium"]


PREDICTIONS = """
=== Predictions on training set ===

    inst#     actual  predicted error prediction
        1       1:no      2:yes   +   0.667
"""
AROUND = {
    "the run": (WEATHER, "medium", "5 part(s) (the run's information, a confusion matrix)"),
    "one person's prediction": (WEATHER + PREDICTIONS, "high", "predictions of people, one by one"),
    "words before": ("of a person\n" + KYPHOSIS, "medium", "1 part(s) (text before the tree)"),
    "many words before": ("of a person\n" * 100 + KYPHOSIS, "high", "100 part(s) (text before the tree)"),
    "whom R left out": (KYPHOSIS.replace("n= 81 ", "n=81 (2 observations deleted)"), "medium", "text before the tree"),
    "another number": (KYPHOSIS.replace("n= 81 ", "n= 4711"), "medium", "text before the tree"),
    "words after": (WEATHER.replace("=== Conf", "of a person\n=== Conf"), "medium", "text after the tree"),
    "another size": (WEATHER.replace("tree : \t8", "tree : \t4711"), "medium", "text after the tree"),
    "a section": (WEATHER + "=== Of a person ===\n31\n", "medium", "7 part(s)"),
    "a long section": (WEATHER + f"=== Summary {'person ' * 99}===\n", "medium", "6 part(s)"),
    "a rule": (WEATHER.replace("------------------", "--- of a person"), "medium", "text after the tree"),
}


@pytest.mark.parametrize(("text", "severity", "says"), AROUND.values(), ids=AROUND)
def test_what_stands_around_a_tree_is_told(text: str, severity: str, says: str) -> None:
    ((found, words),) = others(text)
    assert found == severity
    assert says in words
    assert "person" not in words.replace("predictions of people", "")


@pytest.mark.parametrize("text", [WEATHER.partition("Number")[0], KYPHOSIS.partition(" 3)")[0]], ids=["j48", "rpart"])
def test_a_truncated_print_out_ends_in_exit_code_2(text: str, tmp_path: Path) -> None:
    assert_refused(tmp_path, "model.txt", text.encode())


COSTS = """n= 60

node), split, n, deviance, yval
      * denotes terminal node

1) root 60 9812.50  31.250
  2) ward=A, north,C 40 2210.00  20.500
    4) ward=A 25  400.00  14.000 *
    5) ward= north 15  310.50  31.000 *
  3) ward=B 20 1100.25  52.750 *
"""

PARTS = ("", " ", "|", "\n", ":", "(", ")", "=", "<= 1", "> 1", "1)", "2)", "-1", "nan", "1e999", "/", "*", "0.5")


@settings(deadline=30_000)
@given(st.data(), st.sampled_from([WEATHER, KYPHOSIS, FLOWERS, COSTS, f'{KYPHOSIS}[1] "absent"  "present"\n']))
def test_a_print_out_with_something_changed_is_read_or_refused(data: st.DataObject, text: str) -> None:
    first = text.index("tree\n---") + 30 if "J48" in text else 120
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(first, len(text)))
        text = text[:at] + data.draw(st.sampled_from(PARTS)) + text[at + data.draw(st.integers(0, 6)) :]
    try:
        model = read_foreign(text.encode(), "model")
    except ReleaseError:
        return
    assert len(predicted(model, np.zeros((1, max(1, len(model.features)))))) == 1
