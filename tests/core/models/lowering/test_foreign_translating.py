import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_rows import predicted
from installed_readers import Encoding, lower_model
from leafgate import Release, ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, NumericSplit
from leafgate.app import serialize
from leafgate.ir.features import Feature, after_steps
from leafgate.models.lowering.encoding import class_values, misread
from leafgate.models.lowering.release import asked_features
from leafgate.models.lowering.tests import Split, apply_steps, invert_threshold
from leafgate.readers import ArithmeticStep, CategoryCodes, MissingIndicator, ModelIR, Numeric, Origin
from random_tables import table_of
from sample_model import MODEL, SCHEMA, TREE, with_tree

LEAVES = [Leaf("low", {"low": 4, "high": 0}), Leaf("low", {"low": 1, "high": 1}), Leaf("high", {"low": 1, "high": 3})]


def released(model: ModelIR, **said: Encoding) -> Release:
    return lower_model(model, SCHEMA, said, "model").release


def test_dummies_and_numbers_read_as_tests_on_the_columns() -> None:
    inner = CategoricalSplit("school", (Branch(("high",), LEAVES[1]),), default=LEAVES[0])
    assert released(MODEL).trees == (NumericSplit("age", 37.5, inner, LEAVES[2], "high", float32=True),)


def test_the_release_file_names_the_model_file_and_what_it_tells() -> None:
    release = serialize(released(MODEL)).release
    assert release.file is not None
    assert release.file.discloses == MODEL.discloses
    assert (release.publish.leaves, release.count_semantics, release.builder["format"]) == ("counts", "exact", "skops")


def asked_about(school: Origin) -> CategoricalSplit:
    """The inner test, its feature made so from the column."""
    tree = released(ModelIR("skops", MODEL.features, MODEL.classes, (TREE,), "counts", origins=(None, school))).trees[0]
    assert isinstance(tree, NumericSplit)
    assert isinstance(tree.low, CategoricalSplit)
    return tree.low


def test_integer_codes_become_sets_of_values() -> None:
    codes = {"none": 0.0, "basic": 1.0, "high": 2.0}
    fan = asked_about(CategoryCodes("school", codes, None, -1.0))
    taken = {value: branch.node for branch in fan.branches for value in branch.values}
    assert (taken.get("none", fan.default), taken.get("basic", fan.default)) == (LEAVES[0], LEAVES[1])
    assert taken.get(None, fan.default) == LEAVES[0]


def test_values_the_model_does_not_take_have_no_branch() -> None:
    fan = asked_about(CategoryCodes("school", {"none": 0.0, "basic": 1.0}, None, None))
    assert fan.default is None
    assert sorted(str(v) for branch in fan.branches for v in branch.values) == ["basic", "none"]


def test_a_feature_of_missingness_asks_for_missing_cells() -> None:
    assert asked_about(MissingIndicator("school")) == CategoricalSplit(
        "school", (Branch((None,), LEAVES[1]),), default=LEAVES[0]
    )


def test_codes_given_in_the_policy_count_before_names() -> None:
    said = Encoding(codes={"none": 0, "basic": 0.25, "high": 3}, column="school")
    tree = released(MODEL, school_high=said).trees[0]
    assert isinstance(tree, NumericSplit)
    assert isinstance(tree.low, CategoricalSplit)
    assert {value for branch in tree.low.branches for value in branch.values} in ({"high", None}, {"none", "basic"})


@pytest.mark.parametrize("said", [Encoding(zero="missing"), Encoding(column="school", zero="missing")])
def test_a_zero_that_is_missing_goes_with_the_codes_of_the_file(said: Encoding) -> None:
    codes = {"none": 0.0, "basic": 1.0, "high": 2.0}
    origins = [CategoryCodes("school", {**codes, "none": number}, None, -1.0) for number in (0.0, math.nan)]
    of_file, missing = (
        ModelIR("skops", MODEL.features, MODEL.classes, (TREE,), "counts", origins=(None, origin)) for origin in origins
    )
    assert released(of_file, school_high=said).trees == released(missing).trees != released(of_file).trees


def test_an_encoding_that_says_nothing_of_numbers_leaves_what_the_file_says() -> None:
    scaled = Numeric("age", (ArithmeticStep("minus", 10.0),))
    model = ModelIR("skops", MODEL.features, MODEL.classes, (TREE,), "counts", origins=(scaled, None))
    for said in (Encoding(), Encoding(confirmed=True), Encoding(column="age")):
        assert released(model, age=said).trees == released(model).trees != released(MODEL).trees


UNTOLD = [
    (("age", "height"), {}, "'height': is neither a column"),
    (("age", "income"), {}, "asks about the class itself"),
    (("age", "school"), {}, "which stands for which"),
    (("age", "school_high"), {"weight": Encoding(column="age")}, "no tree asks about a feature 'weight'"),
    (("age", "school_high"), {"school_high": Encoding(column="school", value="higher")}, "outside the column's domain"),
    (("age", "x"), {"x": Encoding(column="age", codes={"1": 2})}, "has no `values`"),
]


@pytest.mark.parametrize(("features", "said", "message"), UNTOLD, ids=[result[2] for result in UNTOLD])
def test_what_cannot_be_told_in_columns_is_refused_by_name(
    features: tuple[str, ...], said: dict[str, Encoding], message: str
) -> None:
    model = ModelIR("skops", features, MODEL.classes, (TREE,), "counts")
    with pytest.raises(ReleaseError, match=message):
        released(model, **said)


def test_classes_are_the_policys_by_value_or_by_code() -> None:
    numbered = ModelIR("skops", MODEL.features, ("0", "1"), (TREE,), "counts")
    with pytest.raises(ReleaseError, match="classes are not those of 'income'"):
        released(numbered)
    assert released(numbered, income=Encoding(codes={"low": 1, "high": 0})).trees != released(MODEL).trees
    assert released(numbered, income=Encoding(codes={"low": 0, "high": 1})).trees == released(MODEL).trees


@pytest.mark.parametrize(
    ("classes", "values", "aliases", "expected"),
    [
        (("False", "True"), ("1", "0"), {}, ("0", "1")),
        (("0", "1"), ("TRUE", "FALSE"), {}, ("FALSE", "TRUE")),
        (("False", "True"), ("no", "yes"), {"True": "yes", "False": "no"}, ("no", "yes")),
        (("0", "1"), ("no", "yes"), {"True": "yes", "False": "no"}, ("no", "yes")),
        (("N", "Y"), ("no", "yes"), {"Y": "yes", "N": "no", "y": "yes"}, ("no", "yes")),
        (("False", "True"), ("0", "1", "true"), {}, "VALUE: 0, VALUE: 1"),
        (("False", "True"), ("no", "yes"), {}, "is false .0. and which is true .1.: .*VALUE: 0, VALUE: 1"),
        (("2", "5"), ("no", "yes"), {}, "VALUE: 2, VALUE: 5"),
        (("1", "N"), ("1", "no"), {}, "map them with `aliases: .* under `data: columns: ill:`"),
        (("N", "Y"), ("no", "yes"), {}, "map them with `aliases: .* under `data: columns: ill:`"),
    ],
)
def test_truth_values_numbers_and_aliases_are_values_of_the_class_where_only_one_is_meant(
    classes: tuple[str, ...], values: tuple[str, ...], aliases: dict[str, str], expected: tuple[str, ...] | str
) -> None:
    target = Column("ill", frozenset({"class"}), values=values, aliases=aliases)
    if isinstance(expected, tuple):
        assert class_values(classes, None, target, "model") == expected
    else:
        with pytest.raises(ReleaseError, match=expected):
            class_values(classes, None, target, "model")


def test_codes_of_the_class_name_truth_values_by_their_numbers() -> None:
    target = Column("ill", frozenset({"class"}), values=("no", "yes"))
    assert class_values(("False", "True"), Encoding(codes={"no": 1, "yes": 0}), target, "model") == ("yes", "no")


STEPS = st.lists(
    st.builds(ArithmeticStep, st.sampled_from(["plus", "minus", "times", "over"]), st.floats(0.001, 1000)), max_size=3
).map(tuple)


@given(st.floats(-1e6, 1e6), STEPS, st.booleans(), st.booleans())
def test_the_cut_on_the_column_is_the_last_number_that_goes_low(
    at: float, steps: tuple[ArithmeticStep, ...], strict: bool, float32: bool
) -> None:
    asked = Split(at, strict, float32, False)
    top = invert_threshold(asked, steps)
    assert asked.low(after_steps(top, steps))
    assert not asked.low(after_steps(math.nextafter(top, math.inf), steps))
    assert apply_steps(np.array([top]), steps)[0] == after_steps(top, steps)


CODES = {"none": 0.0, "basic": 1.0, "high": 2.0}


@given(
    st.floats(0, 100),
    st.floats(-1, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    STEPS,
    st.none() | st.floats(17, 90),
)
def test_the_release_predicts_what_the_model_does(
    age: float,
    code: float,
    strict: bool,
    float32: bool,
    missing: bool,
    steps: tuple[ArithmeticStep, ...],
    fill: float | None,
) -> None:
    rows = [(x, school, "low") for x in (None, 17.0, age, 37.5, 90.0) for school in (None, "none", "basic", "high")]
    table = table_of(SCHEMA.columns, rows)
    model = with_tree(
        threshold=np.array([after_steps(age, steps), code, 0, 0, 0]),
        strict=strict,
        float32=float32,
        missing_low=missing,
    )
    model = ModelIR(
        "skops",
        ("a", "s"),
        MODEL.classes,
        model.trees,
        "counts",
        origins=(Numeric("age", steps, fill), CategoryCodes("school", CODES)),
    )
    ages = table.numbers("age")
    encoded = np.array([fill if fill is not None and np.isnan(x) else after_steps(x, steps) for x in ages])
    schools = np.array([0.0, 1.0, 2.0, np.nan])[table.codes("school")]
    wanted = predicted(model, np.column_stack([encoded, schools]))
    assert predict(released(model), table).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("name", "strange"),
    [
        ("age", False),
        ("school_high", False),
        ("school__high", False),
        ("school_nan", False),
        ("age_of_diagnosis", True),
    ],
)
def test_a_column_that_begins_like_one_of_the_policy_is_told_as_strange(name: str, strange: bool) -> None:
    model = replace(MODEL, features=(*MODEL.features, f"x__{name}"))
    file = released(model).file
    assert file is not None
    assert ("column_names" in {item.kind for item in file.discloses}) == strange


@pytest.mark.parametrize("first", [True, False])
def test_a_feature_that_some_tree_asks_for_a_number_is_not_one_of_texts_alone(first: bool) -> None:
    by_number = TREE
    by_texts = replace(TREE, threshold=np.full(5, np.nan), subsets={0: frozenset({"a"}), 1: frozenset({"b"})})
    trees = (by_number, by_texts) if first else (by_texts, by_number)
    asked = asked_features(replace(MODEL, trees=trees, combine="sum"))
    assert {(one.sets, one.texts, one.chosen) for one in asked.values()} == {
        (True, False, frozenset({"a"})),
        (True, False, frozenset({"b"})),
    }
    alone = asked_features(replace(MODEL, trees=(by_texts,)))
    assert all(one.texts for one in alone.values())


def test_a_model_that_knows_two_values_which_an_alias_makes_one_is_refused() -> None:
    """Else the tests for one of them would be reached by nobody."""
    known = CategoryCodes("village", {"Ford": 0.0, "Hill": 1.0, "Mill": 2.0})
    feature = Feature("village", least=0.5, most=1.5)
    for aliases, is_read in (({}, True), ({"M": "Ford"}, True), ({"Mill": "Ford"}, False)):
        column = Column("village", frozenset({"quasi_identifier"}), values=("Ford", "Hill"), aliases=aliases)
        assert (misread(feature, known, column, explicit=False) is None) == is_read
