"""Metrics of each person's protection: k-anonymity, confidence and exposure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import api

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd

    from leafgate.algorithms import certainty, person_certainty, person_numbers
else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")
    certainty, person_certainty, person_numbers = (
        api.lazy(f"leafgate.algorithms.{name}") for name in ("certainty", "person_certainty", "person_numbers")
    )


class KAnonymity(api.AtLeast):
    """How many people are in each person's equivalence class: those whom the adversary cannot distinguish."""

    use: Literal["k_anonymity"] = "k_anonymity"

    counts_persons = True
    policy_example = "at_least: 5"
    judges = api.ABOUT_GROUPS
    groups_only = True
    unit = api.Unit.PEOPLE
    checks = "k"
    checked_by = "linking"
    by_equivalence_class = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "k(x) = number of people in the group of x"
    plain_failure = "people stand in groups that are too small"
    scale = "people, from 1"
    score_range = (0, math.inf)
    interpretation = "1: singled out; k: hidden among k - 1 others"
    examples = (api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 4.0),)
    source = (
        'L. Sweeney, "k-Anonymity: A Model for Protecting Privacy", 2002; for models: A. Friedman, A. Schuster, '
        'R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definition 6'
    )

    @classmethod
    def from_claim(cls, claim: Any) -> api.Metric:
        if not isinstance(claim, int) or isinstance(claim, bool) or claim < 1:
            raise api.InconclusiveError("a claimed k is a whole number of people, 1 or more")
        return cls(at_least=claim)

    def score(self, case: api.ScoringContext) -> api.Score:
        return api.Score(people=case.sizes)


class Confidence(api.ValueMetric, api.AtMost):
    """How sure the adversary is of one value: the largest probability believed, right or wrong."""

    use: Literal["confidence"] = "confidence"

    counts_persons = True
    policy_example = "at_most: 0.8"
    checks = "confidence"
    checked_by = "linking"
    by_equivalence_class = True
    judges_numbers = True
    threat_model = "Whatever the attack it judges assumes."
    formula = (
        "max over judged values v of P(secret = v | x); of a number also max over narrow windows w, "
        "wherever the edges of its bins are, of the share of the group in w, any one person left out"
    )
    plain_failure = "the adversary is too sure of some people's {secret}"
    scale = "from 1/|domain| to 1"
    score_range = (0, 1)
    interpretation = "1: the adversary is certain of one value; 1/|domain|: knows nothing"
    examples = (
        api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.75),
        api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.25, {"values": ("cold",)}),
    )
    source = 'A. Friedman, A. Schuster, R. Wolff, PKDD 2006, section 4.2 ("confidence")'

    def score(self, case: api.ScoringContext) -> api.Score:
        judged = self.judged_values(case)
        largest = case.posterior.to_numpy()[:, judged].max(axis=1)
        windows = _windows(case)
        if windows is not None:
            group = np.unique(case.equivalence_class, return_inverse=True)[1].reshape(-1)
            share = windows.largest_share(judged[case.table.codes(case.secret.name)])
            largest = np.maximum(largest, share[group])
        return api.Score(people=pd.Series(largest))


class Exposure(api.ValueMetric, api.AtMost):
    """Whether the adversary is certain of a person's secret, and right: 1 if so, else 0."""

    use: Literal["exposure"] = "exposure"
    insiders: Annotated[int, api.MORE, Field(ge=0)] = Field(
        0, description="How many members of a group pool what they know, their own values too; 0: outsiders alone."
    )

    counts_persons = True
    policy_example = "at_most: 0, insiders: 1"
    unit = api.Unit.SHARE
    checks = "exposure"
    checked_by = "linking"
    by_equivalence_class = True
    judges_numbers = True
    threat_model = (
        "Whatever the attack it judges assumes; with `insiders` also members of the person's group, or, for `joint`, "
        "any other people of the tables."
    )
    formula = (
        "1 if the truth is a judged value and at most `insiders` people of the group of x have another "
        "one (without insiders: if P(secret = truth | x) = 1, to 1e-9), else 0; a number also 1 if all "
        "others but the insiders are within 10 % of it (`scale: ratio`) or 5 % of the bounds, if less "
        "than 10 % of it is left of a disclosed total without it and the insiders' numbers, or if it is "
        "published and no multiple of `step`"
    )
    plain_failure = "it is certain what some people's {secret} is"
    scale = "0 or 1"
    score_range = (0, 1)
    interpretation = "0: nobody's secret is known for certain"
    examples = (
        api.Example({"flu": 3}, {"flu": 5, "cold": 5}, 1.0),
        api.Example({"flu": 3, "cold": 1}, {"flu": 5, "cold": 5}, 0.0),
        api.Example({"flu": 2, "cold": 2}, {"flu": 5, "cold": 5}, 0.0, {"insiders": 1}),
    )
    source = (
        'A. Friedman, A. Schuster, R. Wolff, PKDD 2006, section 4.2 and Figure 6 ("exposed tuples"); numbers: A. '
        'Hundepool and others, "Statistical Disclosure Control", 2012, chapters 4 and 5'
    )

    @classmethod
    def from_claim(cls, claim: Any) -> api.Metric:
        """The claim that nobody is exposed; a mapping may name insiders, values and the secret."""
        return super().from_claim({"at_most": 0, **claim} if isinstance(claim, dict) else claim)

    def score(self, case: api.ScoringContext) -> api.Score:
        """1.0 for each row whose true value is certain, else 0.0.

        The truth is not read where certainty is never wrong and there are no insiders, so that the scores may be
        public. That all persons of a group have a value at least once follows from no number of rows by itself: what
        does is judged with the composition.
        """
        if case.scored == "by_persons":
            return api.Score(people=pd.Series(np.zeros(len(case.table))))
        certain = self._certain_values(case) & self.judged_values(case)
        if case.certain_is_true and not self.insiders:
            exposed = certain.any(axis=1)
        else:
            truth = case.posterior.columns.get_indexer(pd.Index(case.truth.astype(object)))
            exposed = certain[np.arange(len(truth)), truth]
        evidence: dict[str, Any] = {}
        for name, by_number in self._exposed_by_numbers(case):
            exposed = exposed | by_number
            if by_number.any():
                evidence[name] = api.AuditorOnly(api.PeopleCount(case.table.people_among(by_number)))
        exposed = exposed | self._exposed_by_sums(case, np.asarray(exposed))
        return api.Score(people=pd.Series(exposed.astype(float)), evidence=evidence)

    def _certain_values(self, case: api.ScoringContext) -> api.Mask:
        """For each record and value whether the adversary, with insiders, is certain of it; shape of the posterior."""
        posterior = case.posterior.to_numpy()
        to_insiders = case.certain_to_insiders(self.insiders) if self.insiders else None
        if to_insiders is not None:
            return np.asarray((posterior >= certainty.CERTAIN) | to_insiders)
        if self.insiders and isinstance(case.belief, api.SecretBelief) and case.belief.derived_alone:
            problem = "the attack does not say what insiders are certain of"
            raise api.InconclusiveError(problem, remedy="leave the option `insiders` of the attack out")
        people = case.people_by_value if self.insiders and case.table.person_rows is None else None
        if people is None and self.insiders and case.is_composition_derived and case.table.person_rows is None:
            people = posterior * case.sizes.to_numpy()[:, None]
        if people is None:
            return np.asarray(posterior >= certainty.CERTAIN)
        return certainty.certain_values(people, self.insiders)

    def _exposed_by_sums(self, case: api.ScoringContext, exposed: api.Mask) -> api.Mask:
        """The records of persons whose value follows from whose rows are whose, and the groups' rows of each value.

        A record is exposed for everybody who has it where it is for one of them.
        """
        found = np.zeros(len(case.table), dtype=bool)
        derived = self.scored == case.scored == "derived" and case.release.count_semantics == "exact"
        persons = case.rows_of_persons if derived or case.scored == "composition" else None
        if persons is None:
            return found
        values, judged = case.table.codes(case.secret.name), self.judged_values(case)
        group = np.unique(case.equivalence_class, return_inverse=True)[1].reshape(-1)
        result = person_certainty.certain_of_persons(
            persons, group, values, len(case.secret.domain), insiders=self.insiders, varies=case.secret.varies
        )
        found[persons.record[(result.certain & judged)[persons.person, values[persons.record]]]] = True
        if (result.open & judged).any() and (self.allow or self.average or not (found | exposed).any()):
            raise api.InconclusiveError(
                "whether somebody's value follows from the numbers of rows was not decided within the work allowed",
                remedy="publish labels; or let groups have more persons, who have about as many rows each",
            )
        if derived and not case.is_composition_derived and (found & ~exposed).any():
            raise api.InconclusiveError(
                "what labels and shares prove of persons with several rows is judged by the groups' true numbers alone",
                remedy="leave `scored: derived` out",
            )
        return found

    def _exposed_by_numbers(self, case: api.ScoringContext) -> Iterator[tuple[str, api.Mask]]:
        """For each rule on numbers its name, and which records it finds exposed."""
        windows, numbers = _windows(case), case.numbers
        if numbers is None:
            return
        judged = self.judged_values(case)[case.table.codes(case.secret.name)]
        if windows is not None:
            yield "people_in_one_window", windows.certain(self.insiders, judged)
        if "class" not in case.secret.roles:
            return
        persons = case.rows_of_persons
        size, lowest = _sizes(case, numbers)
        for group in certainty.disclosed_totals(case.release, case.table, case.equivalence_class.to_numpy()):
            if persons is None:
                found = certainty.dominating(size, case.table.persons, group, self.insiders, lowest)
            else:
                found = person_numbers.dominating_persons(size, persons, group, self.insiders, lowest)
                found |= person_numbers.dominating_differences(size, persons, group, self.insiders, lowest)
            yield "people_whose_number_dominates_a_total", judged & found
        few = judged & certainty.cells_of_few(numbers, case.table.people_by, case.smallest_cell, case.secret.step)
        printed = certainty.published_numbers(case.release, case.table)
        yield "people_whose_number_is_published", few & certainty.printed_cells(numbers, printed)
        yield "people_whose_number_is_behind_a_leaf", few & certainty.numbers_behind_leaves(case.release, case.table)


def _windows(case: api.ScoringContext) -> certainty.Windows | person_numbers.PersonWindows | None:
    """The windows of the true numbers in each group; None where they are not judged, or the secret is no number.

    Where a release predicts the intervals of a class of numbers, and no numbers, these intervals are its values.
    """
    numbers = case.numbers if case.scored == "composition" else None
    in_intervals = "class" in case.secret.roles and not case.release.discloses_numbers
    if numbers is None or in_intervals:
        return None
    group = np.unique(case.equivalence_class, return_inverse=True)[1].reshape(-1)
    persons, window = case.rows_of_persons, certainty.Window.of(case.secret)
    if persons is not None:
        return person_numbers.PersonWindows(numbers, persons, group, window)
    return certainty.Windows.of(numbers, case.table.persons, group, window)


def _sizes(case: api.ScoringContext, numbers: api.Floats) -> tuple[api.Floats, float]:
    """How large numbers are in totals, and the lowest that they can be.

    Where they may be negative it is how far they are from the rounded median of everybody, which may be 0.
    """
    edges = case.secret.edges or case.secret.bins or (0.0,)
    if case.table.weighted and case.table.person_rows is None:  # a record is in a mean as often as its weight says
        weights = case.table.weight / np.maximum(case.table.persons, 1)
        return np.asarray(np.abs(numbers) * weights), 0.0
    if edges[0] >= 0:
        return numbers, float(edges[0])
    return np.asarray(np.abs(numbers - certainty.rounded_median(numbers, case.table.weight))), 0.0
