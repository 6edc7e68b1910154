from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from command_line import leafgate
from generator.policies import policy_for_any_table
from leafgate import PolicyError, Table
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import finished
from leafgate.api import (
    Column,
    Hierarchy,
    Node,
    Release,
    Schema,
    ScoringContext,
    SecretBelief,
    make_table,
)
from leafgate.app import Audit, Tables, audit_policy, load_plugins
from leafgate.testing import grant_knowledge
from leafgate_plugins.diversity.metrics import AlphaKAnonymity, DeltaDisclosure, LDiversity, TCloseness
from leafgate_plugins.kadet.builder import Kadet
from leafgate_plugins.kadet.grow import grow
from leafgate_plugins.kadet.requirements import (
    ConfidenceRequired,
    DeltaDisclosureRequired,
    ExposureRequired,
    LDiversityRequired,
    Required,
    TClosenessRequired,
    admissible_of,
    make_requirement,
    requirements_for,
)
from leafgate_plugins.protection.metrics import Confidence, Exposure
from literal_kadet import LiteralKadet
from mortgage import RISK, mortgage
from oracles import People, numbered, people_of, spans
from questions import Measure, Question, shape, size
from random_tables import categorical, hierarchies, table_of, tables
from scoring import scores_of_people
from survey import survey

Ok = Callable[[People], bool]
Counts = Sequence[int]
"""People by value, over a secret's domain."""


def exact(limit: float | None) -> Fraction:
    """The limit as it was meant: 2/3 where the float is the nearest to it."""
    assert limit is not None
    return Fraction(limit).limit_denominator(1000)


def shares(counts: Counts) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def entropy_diverse(counts: Counts, least: Fraction) -> bool:
    """H(p) >= ln l without a logarithm: n^n >= l^n prod n_v^n_v."""
    n = sum(counts)
    return bool(n**n >= least**n * math.prod(count**count for count in counts))


def recursively_diverse(counts: Counts, c: Fraction, least: Fraction) -> bool:
    falling = sorted(shares(counts), reverse=True)
    return falling[0] < c * sum(falling[math.ceil(least) - 1 :])


def moved(p: Sequence[Fraction], overall: Sequence[Fraction], column: Column, distance: str) -> Fraction:
    """The earth mover's distance of p and everyone's shares."""
    extra = [one - other for one, other in zip(p, overall, strict=True)]
    if distance == "equal":
        return sum((max(each, Fraction(0)) for each in extra), Fraction(0))
    if distance == "ordered":
        steps = [abs(sum(extra[:i], Fraction(0))) for i in range(1, len(extra))]
        return sum(steps, Fraction(0)) / max(len(steps), 1)
    assert column.hierarchy is not None
    depth = column.hierarchy.depth
    climbed = Fraction(0)
    for level in range(depth + 1):  # what leaves or enters each group of each level climbs one step there
        inside: dict[str | None, Fraction] = {}
        for value, each in zip(column.domain, extra, strict=True):
            group = value if level == 0 else column.hierarchy.groups[value][level - 1]
            inside[group] = inside.get(group, Fraction(0)) + each
        climbed += sum((abs(each) for each in inside.values()), Fraction(0)) / 2
    return climbed / (depth + 1)


def disclosed(p: Sequence[Fraction], overall: Sequence[Fraction], most: float) -> bool:
    held = [(one, other) for one, other in zip(p, overall, strict=True) if other]
    return any(one == 0 or round(abs(math.log(one / other)), 12) > most for one, other in held)


def judged_values(wanted: ConfidenceRequired | ExposureRequired, column: Column) -> set[int]:
    """The positions of the values that a requirement judges."""
    return {i for i, value in enumerate(column.domain) if wanted.values is None or value in wanted.values}


def exposed(counts: Counts, insiders: int, judged: set[int]) -> bool:
    """Do all people of a group but some insiders have one judged value? Every choice of insiders is tried.

    Of each value one person more than there are insiders is enough: so many never are insiders all together.
    """
    members = [value for value, people in enumerate(counts) for _ in range(min(people, insiders + 1))]
    for n_inside in range(min(insiders, len(members) - 1) + 1):
        for inside in combinations(range(len(members)), n_inside):
            others = {value for i, value in enumerate(members) if i not in inside}
            if len(others) == 1 and others <= judged:
                return True
    return False


def satisfies(counts: Counts, everyone: Counts, wanted: Required, column: Column) -> bool:
    """Does a group with these people satisfy what is required of this secret?"""
    p, overall = shares(counts), shares(everyone)
    if isinstance(wanted, LDiversityRequired):
        least = exact(wanted.at_least)
        if wanted.form == "recursive":
            return recursively_diverse(counts, exact(wanted.c), least)
        return entropy_diverse(counts, least) if wanted.form == "entropy" else sum(map(bool, counts)) >= least
    if isinstance(wanted, ConfidenceRequired):
        return max(p[i] for i in judged_values(wanted, column)) <= exact(wanted.at_most)
    if isinstance(wanted, ExposureRequired):
        return not exposed(counts, wanted.insiders, judged_values(wanted, column))
    if isinstance(wanted, TClosenessRequired):
        return moved(p, overall, column, wanted.distance) <= exact(wanted.at_most)
    assert isinstance(wanted, DeltaDisclosureRequired)
    return not disclosed(p, overall, wanted.at_most)


def counted(people: People, column: Column) -> Counts:
    return [sum(n for person, n in people if person[column.name] == value) for value in column.domain]


def ok_of(table: Table, wanted: Sequence[Required]) -> Ok:
    """Do these people satisfy everything that is required, of every secret it is required of?"""
    asked = [(one, column) for one in wanted for column in table.schema.secrets if one.secret in {None, column.name}]
    everyone = {column.name: counted(people_of(table), column) for column in table.schema.secrets}
    return lambda people: all(
        satisfies(counted(people, column), everyone[column.name], one, column) for one, column in asked
    )


@st.composite
def arranged(draw: st.DrawFn, column: Column) -> Column:
    """The column with its values in order and in a hierarchy, perhaps one without levels."""
    found = draw(hierarchies(column.values or (), missing=False))
    return replace(column, ordered=True, hierarchy=found or Hierarchy(dict.fromkeys(column.domain, ())))


@st.composite
def secretive(draw: st.DrawFn, *, numbers: bool = True, gaps: bool = True) -> Table:
    """A table with secrets, each with an order and a hierarchy."""
    table = draw(tables(numbers=numbers, gaps=gaps).filter(lambda table: bool(table.schema.secrets)))
    columns = []
    for column in table.schema.columns:
        if "sensitive" in column.roles:
            column = draw(arranged(column))
        columns.append(column)
    return make_table(Schema(tuple(columns)), table.frame, table.weight)


FORMS: Mapping[type[Required], Mapping[str, Sequence[Any]]] = {
    LDiversityRequired: {"at_least": (1, 1.2, 1.5, 1.9, 2, 2.5)},
    ConfidenceRequired: {"at_most": (0.5, 0.6, 2 / 3, 0.75, 0.9, 1)},
    ExposureRequired: {"insiders": (0, 1, 2)},
    TClosenessRequired: {"at_most": (0, 0.05, 0.1, 0.25, 0.5), "distance": ("equal", "ordered", "hierarchical")},
    DeltaDisclosureRequired: {"at_most": (0, 0.3, 0.5, 0.693147180560, 1, 2)},
}


@st.composite
def one_required(
    draw: st.DrawFn, secret: str | None = None, values: Sequence[str] = ("v0",), kinds: Sequence[type[Required]] = ()
) -> Required:
    """Any requirement, or one of some kinds, of one secret or of all; all secrets have these values."""
    kind = draw(st.sampled_from(kinds or list(FORMS)))
    fields = {name: draw(st.sampled_from(values)) for name, values in FORMS[kind].items()}
    if kind is LDiversityRequired:
        fields["form"] = draw(st.sampled_from(["distinct", "entropy", "recursive"]))
        fields |= {"c": draw(st.sampled_from([0.5, 1, 2, 3.5]))} if fields["form"] == "recursive" else {}
    if "values" in kind.model_fields and values and draw(st.booleans()):
        fields["values"] = tuple(draw(st.sets(st.sampled_from(values), min_size=1)))
    return kind.model_validate({"use": kind.model_fields["use"].default, "secret": secret, **fields})


@st.composite
def asking(draw: st.DrawFn, *, numbers: bool = True, gaps: bool = True) -> tuple[Table, tuple[Any, ...]]:
    """A table, and one or two requirements."""
    table = draw(secretive(numbers=numbers, gaps=gaps))
    secrets = {column.name: column.values or () for column in table.schema.secrets}
    several = [] if len(secrets) > 1 else next(iter(secrets.values()))
    names = st.sampled_from([None, *secrets])
    drawn = [draw(names) for _ in range(draw(st.integers(1, 2)))]
    return table, tuple(draw(one_required(name, secrets.get(name or "", several))) for name in drawn)


PLUGINS = load_plugins()
POLICY = policy_for_any_table([{"use": "k_anonymity", "at_least": 1}])


def audited(table: Table, **options: Any) -> Audit:
    """The audit of the tree that these options grow."""
    return audit_policy(POLICY.model_copy(update={"build": Kadet(**options)}), PLUGINS, Tables(table))


def first_groups(table: Table) -> list[People]:
    """The people of a tree that is one leaf: everybody, or those of each class where that is public."""
    target, people = table.schema.target, people_of(table)
    return list(Question(target).parts(people).values()) if target.public else [people]


def groups(table: Table, tree: Node) -> list[People]:
    """The people of each group, by Definition 4."""
    _, where = table.public
    span = numbered(spans([tree], grant_knowledge(table)))
    found: dict[int, People] = {}
    for row, each in zip(where.tolist(), people_of(table), strict=True):
        found.setdefault(span[row], []).append(each)
    return list(found.values())


@given(asking(), st.integers(1, 6), st.booleans())
def test_every_group_of_a_built_tree_satisfies_what_its_builder_required(
    asked: tuple[Table, tuple[Any, ...]], k: int, prune: bool
) -> None:
    table, wanted = asked
    ok = ok_of(table, wanted)
    done = audited(table, k=k, require=wanted, prune=prune)
    if done.artifact is None:
        assert [finding.id for finding in done.report.findings] == ["build"]
        assert not all(size(group) >= k and ok(group) for group in first_groups(table))
        return
    found = groups(table, done.artifact.release.trees[0])
    assert all(size(group) >= k and ok(group) for group in found)
    claims = {finding.id: finding.passed for finding in done.report.findings if finding.id.startswith("guarantee:")}
    assert claims == {"guarantee:k": True} | {f"guarantee:{one.use}": True for one in wanted}


@given(asking(gaps=False), st.integers(1, 4), st.booleans())
@pytest.mark.thorough
def test_the_table_published_beside_the_tree_keeps_what_was_required(
    asked: tuple[Table, tuple[Any, ...]], k: int, prune: bool
) -> None:
    table, wanted = asked
    done = audited(table, k=k, require=wanted, prune=prune, publish_table=True)
    assume(done.artifact is not None)
    assert all(finding.passed for finding in done.report.findings if finding.id.startswith("guarantee:"))


def tree_of(table: Table, wanted: Sequence[Any], k: int, measure: Measure) -> Node:
    people, average = encode(table), measure == "gain_ratio"
    admissible = admissible_of(people, table.schema, k, wanted)
    root, _ = grow(people, table.schema, admissible, measure, average_gain=average, max_spans=100_000)
    return finished(people, root, table.schema)


@given(asking(), st.integers(1, 4), st.sampled_from(["gain", "gini"]))
def test_the_tree_is_the_one_the_pseudo_code_grows_when_ok_asks_for_more(
    asked: tuple[Table, tuple[Any, ...]], k: int, measure: Measure
) -> None:
    table, wanted = asked
    literal = LiteralKadet(table, k, measure, average_gain=False, ok=ok_of(table, wanted)).tree
    assume(literal is not None)
    assert literal is not None
    assert shape(tree_of(table, wanted, k, measure)) == shape(literal)


# What makes it work: requirements survive merging, and agree with the metrics that check them

VALUES = ("v0", "v1", "v2", "v3")
METRICS: Mapping[str, type[LDiversity | Confidence | Exposure | TCloseness | DeltaDisclosure]] = {
    "l_diversity": LDiversity,
    "confidence": Confidence,
    "exposure": Exposure,
    "t_closeness": TCloseness,
    "delta_disclosure": DeltaDisclosure,
}


@st.composite
def crowds(draw: st.DrawFn, groups: int) -> tuple[Column, list[Counts]]:
    """A secret, and the people of so many groups by their value of it, somebody in each."""
    size = draw(st.integers(1, len(VALUES)))
    group = st.lists(st.integers(0, 12), min_size=size, max_size=size).filter(any)
    column = draw(arranged(categorical("secret", "sensitive", values=VALUES[:size])))
    return column, draw(st.lists(group, min_size=groups, max_size=groups))


def together(several: Sequence[Counts]) -> Counts:
    return [sum(counts) for counts in zip(*several, strict=True)]


def holds(wanted: Required, column: Column, everyone: Counts, counts: Counts) -> bool:
    """What kADET's own requirement says of a group."""
    made = make_requirement(wanted, column, np.array(everyone, dtype=float))
    return bool(made.holds(np.array(counts, dtype=float)))


@given(crowds(3), one_required())
def test_what_holds_for_two_groups_holds_for_both_together(
    asked: tuple[Column, list[Counts]], wanted: Required
) -> None:
    column, (one, other, rest) = asked
    everyone = together([one, other, rest])
    assume(holds(wanted, column, everyone, one) and holds(wanted, column, everyone, other))
    assert holds(wanted, column, everyone, together([one, other]))


@given(crowds(3), one_required())
def test_a_requirement_is_what_exact_arithmetic_makes_of_its_definition(
    asked: tuple[Column, list[Counts]], wanted: Required
) -> None:
    column, several = asked
    everyone = together(several)
    expected = [satisfies(counts, everyone, wanted, column) for counts in several]
    assert [holds(wanted, column, everyone, counts) for counts in several] == expected


def case_of(column: Column, several: Sequence[Counts]) -> ScoringContext:
    """People who say which group they are in, judged by their true composition."""
    who = categorical("who", "quasi_identifier", values=[f"group {i}" for i in range(len(several))])
    items = [
        (f"group {i}", value, people)
        for i, counts in enumerate(several)
        for value, people in zip(column.domain, counts, strict=True)
        if people
    ]
    table = table_of([who, column], [row[:2] for row in items], [row[2] for row in items])
    known, size = grant_knowledge(table), len(column.domain)
    chances = pd.DataFrame(1 / size, index=range(len(several)), columns=list(column.domain))
    belief = SecretBelief(column.name, chances, equivalence_class=np.arange(len(several)))
    return ScoringContext(table, None, Release({}, table.schema), known, belief, scored="composition")


def scores_of(wanted: Required, column: Column, several: Sequence[Counts]) -> list[float]:
    """Each group's score by the metric of the requirement's name."""
    metric, case = METRICS[wanted.use].from_claim(wanted.claim()), case_of(column, several)
    scores = pd.Series(scores_of_people(metric, case)).groupby(case.equivalence_class).agg(["min", "max"])
    assert (scores["min"] == scores["max"]).all()
    return list(map(float, scores["min"]))


def limited(wanted: Required, limit: float) -> Required:
    """The requirement with another limit."""
    return wanted.model_copy(update={"at_least" if isinstance(wanted, LDiversityRequired) else "at_most": limit})


WITH_LIMITS = [kind for kind in FORMS if kind is not ExposureRequired]


@given(crowds(3), one_required(kinds=WITH_LIMITS), st.sampled_from([0.0, 1e-9, -1e-9, 1e-3, -1e-3]))
def test_a_requirement_agrees_with_the_metric_of_its_name_at_its_very_score_too(
    asked: tuple[Column, list[Counts]], wanted: Required, off: float
) -> None:
    column, several = asked
    everyone = together(several)
    scores = scores_of(wanted, column, several)
    least = 1e-9 if isinstance(wanted, LDiversityRequired) else 0
    most = METRICS[wanted.use].score_range[1]
    for limit in {score + off for score in scores if math.isfinite(score) and least <= score + off <= most}:
        metric = METRICS[wanted.use].from_claim(limited(wanted, limit).claim())
        expected = [metric.holds(score) for score in scores]
        assert [holds(limited(wanted, limit), column, everyone, counts) for counts in several] == expected


@given(crowds(3), one_required(kinds=[ExposureRequired]))
def test_nobody_in_a_group_is_exposed_exactly_where_the_builder_admits_the_group(
    asked: tuple[Column, list[Counts]], wanted: Required
) -> None:
    column, several = asked
    case = case_of(column, several)
    scores = pd.Series(scores_of_people(Exposure.from_claim(wanted.claim()), case))
    worst = scores.groupby(case.equivalence_class).max()
    admitted = [holds(wanted, column, together(several), counts) for counts in several]
    assert [score == 0 for score in worst] == admitted


def test_a_public_class_must_keep_what_is_required_of_its_own_people() -> None:
    # Everybody smokes among the good risks, so to say of a public class who has it gives the habit away.
    city = categorical("city", "quasi_identifier", values=("Rome", "Bonn"))
    habit = categorical("habit", "sensitive", values=("smokes", "does not"))
    risk = categorical("loan_risk", "class", "quasi_identifier", values=("good", "bad"))
    table = table_of([city, habit, risk], [("Rome", "smokes", "good"), ("Bonn", "does not", "bad")], [4, 4])
    done = audited(table, k=2, require=(LDiversityRequired(form="distinct", at_least=2),))
    (found,) = done.report.findings
    assert (found.id, found.passed, done.artifact) == ("build", False, None)
    assert "everyone with 'good' is one group, and 'habit' is not distinct 2-diverse" in found.evidence["reason"]


def test_a_release_claims_each_requirement_under_the_name_of_the_metric_that_checks_it() -> None:
    wanted = (
        LDiversityRequired(at_least=1.5),
        LDiversityRequired(form="recursive", c=3, at_least=2, secret="loan_risk"),
        TClosenessRequired(at_most=0.5),
    )
    sealed = audited(mortgage(), k=3, require=wanted).artifact
    assert sealed is not None
    l_diverse = [
        {"form": "entropy", "at_least": 1.5},
        {"form": "recursive", "c": 3, "at_least": 2, "secret": "loan_risk"},
    ]
    t_close = {"distance": "equal", "at_most": 0.5}
    assert sealed.release.guarantee == {"k": 3, "l_diversity": l_diverse, "t_closeness": [t_close]}
    result = [{"use": "l_diversity", **one} for one in l_diverse] + [{"use": "t_closeness", **t_close}]
    assert sealed.release.builder["require"] == result
    bare = audited(mortgage(), k=3).artifact
    assert bare is not None
    assert "require" not in bare.release.builder


def test_a_claim_of_exposure_has_the_options_of_the_metric_and_leaves_out_defaults() -> None:
    assert ExposureRequired().claim() == {"at_most": 0}
    wanted = ExposureRequired(insiders=1, values=("bad",), secret="loan_risk")
    options = {"secret": "loan_risk", "insiders": 1, "values": ["bad"]}
    assert wanted.claim() == {"at_most": 0, **options}
    assert ConfidenceRequired(at_most=0.9).claim() == {"at_most": 0.9}
    sealed = audited(mortgage(), k=3, require=(wanted,)).artifact
    assert sealed is not None
    assert sealed.release.guarantee == {"k": 3, "exposure": [wanted.claim()]}
    assert sealed.release.builder["require"] == [{"use": "exposure", **options}]


def test_values_of_another_secret_than_those_that_a_requirement_is_about_are_invalid() -> None:
    city = categorical("city", "quasi_identifier", values=("Rome", "Bonn"))
    habit = categorical("habit", "sensitive", values=("smokes", "does not"))
    table = table_of([city, habit, RISK], [("Rome", "smokes", "good"), ("Bonn", "does not", "bad")], [4, 4])
    coded = encode(table)
    both = ExposureRequired(values=("smokes", "bad"))
    assert len(admissible_of(coded, table.schema, 1, [both]).views) == 2
    with pytest.raises(PolicyError, match="none of `values` is a value of 'loan_risk'"):
        admissible_of(coded, table.schema, 1, [ExposureRequired(values=("smokes",))])
    with pytest.raises(PolicyError, match="'bad' is no value of 'habit'"):
        admissible_of(coded, table.schema, 1, [ExposureRequired(values=("smokes", "bad"), secret="habit")])


# What a policy's limits ask of the builder


@pytest.mark.parametrize(
    ("limit", "required"),
    [
        (Exposure(at_most=0), ExposureRequired()),
        (Exposure(at_most=0.01, average=True), ExposureRequired()),
        (Exposure(at_most=0, allow=0.05, secret="ill"), ExposureRequired(secret="ill")),
        (Exposure(at_most=1), None),
        (Exposure(at_most=0, insiders=1), ExposureRequired(insiders=1)),
        (
            Exposure(at_most=0, insiders=2, values=("yes",), secret="ill"),
            ExposureRequired(insiders=2, values=("yes",), secret="ill"),
        ),
        (Confidence(at_most=0.9), ConfidenceRequired(at_most=0.9)),
        (Confidence(at_most=0.9, values=("yes",)), ConfidenceRequired(at_most=0.9, values=("yes",))),
        (AlphaKAnonymity(at_least=5, alpha=0.8), ConfidenceRequired(at_most=0.8)),
        (
            AlphaKAnonymity(at_least=5, alpha=0.8, values=("yes",), secret="ill"),
            ConfidenceRequired(at_most=0.8, values=("yes",), secret="ill"),
        ),
        (LDiversity(form="distinct", at_least=2), LDiversityRequired(form="distinct", at_least=2)),
    ],
)
def test_a_limit_asks_for_the_requirement_that_keeps_it(limit: Any, required: Required | None) -> None:
    _, found = requirements_for([limit, limit])
    assert found == (() if required is None else (required,))


AT_0 = "build.require[0]"
MISTAKES: Mapping[str, tuple[Any, str, str]] = {
    "an unknown name": ([{"use": "k_map", "at_least": 2}], AT_0, "one of 'l_diversity', 'confidence'"),
    "a misspelt name": ([{"use": "confidense", "at_most": 1}], AT_0, "did you mean 'confidence'?"),
    "no name": ([{"at_least": 2}], AT_0, "write `use:`"),
    "the wrong direction": (
        [{"use": "confidence", "at_least": 0.5}],
        f"{AT_0}.at_least",
        "write at_most instead of at_least",
    ),
    "no limit": ([{"use": "confidence"}], f"{AT_0}.at_most", ""),
    "a limit misspelt": ([{"use": "confidence", "at_mos": 1}], f"{AT_0}.at_mos", "did you mean 'at_most'?"),
    "a column that is no secret": ([{"use": "confidence", "at_most": 1, "secret": "smoker"}], AT_0, "secrets: 'ill'"),
    "a column there is not": ([{"use": "confidence", "at_most": 1, "secret": "nobody"}], AT_0, "secrets: 'ill'"),
    "a value there is not": (
        [{"use": "exposure", "values": ["no", "yess"]}],
        AT_0,
        "did you mean 'yes'?",
    ),
    "a value of another secret": (
        [{"use": "confidence", "at_most": 1, "values": ["hiv"]}],
        AT_0,
        "name values of 'ill'",
    ),
    "no values": ([{"use": "exposure", "values": []}], f"{AT_0}.values", ""),
    "fewer insiders than none": ([{"use": "exposure", "insiders": -1}], f"{AT_0}.insiders", ""),
    "a limit of exposure": ([{"use": "exposure", "at_most": 0}], f"{AT_0}.at_most", "known: use, secret"),
    "a share above 1": ([{"use": "confidence", "at_most": 1.5}], f"{AT_0}.at_most", ""),
    "a text": ([{"use": "confidence", "at_most": "0.5"}], f"{AT_0}.at_most", ""),
    "another's option": (
        [{"use": "confidence", "at_most": 1, "form": "entropy"}],
        f"{AT_0}.form",
        "known: use, secret",
    ),
    "c without recursive": ([{"use": "l_diversity", "at_least": 2, "c": 2}], AT_0, ""),
    "recursive without c": ([{"use": "l_diversity", "form": "recursive", "at_least": 2}], AT_0, ""),
    "an unknown form": (
        [{"use": "l_diversity", "form": "entropic", "at_least": 2}],
        f"{AT_0}.form",
        "did you mean 'entropy'?",
    ),
    "an l of 0": ([{"use": "l_diversity", "at_least": 0}], f"{AT_0}.at_least", ""),
    "an infinite l": ([{"use": "l_diversity", "at_least": math.inf}], f"{AT_0}.at_least", ""),
    "a negative distance": ([{"use": "t_closeness", "at_most": -0.1}], f"{AT_0}.at_most", ""),
    "no order": ([{"use": "t_closeness", "distance": "ordered", "at_most": 1}], "build.require[0]", "`ordered: true`"),
    "no hierarchy": (
        [{"use": "t_closeness", "distance": "hierarchical", "at_most": 1}],
        "build.require[0]",
        "name one with `hierarchy:`",
    ),
    "the second of two": (
        [{"use": "delta_disclosure", "at_most": 1}, {"use": "delta_disclosure", "at_most": True}],
        "build.require[1].at_most",
        "",
    ),
    "no mapping": ([["confidence", 0.5]], AT_0, "write a mapping: {...}"),
    "no list": ({"use": "confidence", "at_most": 1}, "build.require", "write a list: [...]"),
}


@pytest.mark.parametrize(("said", "place", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_what_is_required_is_invalid_and_told_with_its_place(
    tmp_path: Path, said: Any, place: str, remedy: str
) -> None:
    ended = leafgate("audit", survey(tmp_path, {"build.require": said}), "--json")
    assert ended.code == 2
    problem = next(problem for problem in ended.problems if problem["place"] == place)
    assert remedy in problem["remedy"]
    assert problem["message"]


def test_what_is_required_where_nothing_is_secret_is_invalid(tmp_path: Path) -> None:
    changes = {
        "build.require": [{"use": "confidence", "at_most": 1}],
        "data.columns.ill.role": ["class", "quasi_identifier"],
    }
    ended = leafgate("audit", survey(tmp_path, changes), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, AT_0)
    assert "`sensitive`" in ended.problems[0]["remedy"]


UNREACHABLE: Mapping[str, tuple[dict[str, Any], str]] = {
    # 10 of the 24 people are ill.
    "entropy": ({"use": "l_diversity", "at_least": 2}, "not entropy 2-diverse"),
    "distinct": ({"use": "l_diversity", "form": "distinct", "at_least": 3}, "not distinct 3-diverse"),
    "recursive": (
        {"use": "l_diversity", "form": "recursive", "c": 1, "at_least": 2},
        "not recursively (1, 2)-diverse",
    ),
    "confidence": ({"use": "confidence", "at_most": 0.58}, "more than 58 % of it"),
    "confidence of a value": (
        {"use": "confidence", "at_most": 0.4, "values": ["yes"]},
        "one of the `values` of 'ill' has more than 40 % of it",
    ),
    "exposure": ({"use": "exposure", "insiders": 10}, "certain in it to 10 of its people, who know their own"),
}


@pytest.mark.parametrize(("required", "why"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_what_not_even_everybody_together_satisfies_is_no_release_with_the_reason(
    tmp_path: Path, required: dict[str, Any], why: str
) -> None:
    out = tmp_path / "out"
    ended = leafgate("audit", survey(tmp_path, {"build.require": [required]}), "--json", "--out", out)
    assert (ended.code, ended.document["release"]) == (1, None)
    (found,) = ended.document["findings"]
    assert (found["id"], found["passed"]) == ("build", False)
    assert "the table as a whole is one group" in found["evidence"]["reason"]
    assert why in found["evidence"]["reason"]
    assert sorted(path.name for path in out.iterdir()) == ["report.json", "timings.json"]
