"""An honest metric, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from leafgate import InconclusiveError
from leafgate.api import (
    AtLeast,
    Example,
    MembershipBelief,
    Metric,
    ReleaseAtLeast,
    ReleaseAtMost,
    Score,
    ScoringContext,
    SecretBelief,
)

if TYPE_CHECKING:
    import pandas as pd

    from leafgate import Table


class Doubt(AtLeast):
    """How unlikely each person's true secret is thought."""

    use: str = "doubt"

    threat_model = "Whatever the attack it judges assumes."
    formula = "1 - P(secret = truth | x)"
    source = "elementary"
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"flu": 4}, {"flu": 5, "cold": 5}, 0.25, believed={"flu": 0.75, "cold": 0.25}),
    )

    def score(self, case: ScoringContext) -> Score:
        return Score(people=self.numbers(case), evidence=self.details(case))

    def details(self, case: ScoringContext) -> Any:
        """The evidence."""
        return {}

    def numbers(self, case: ScoringContext) -> pd.Series:
        """The score of each person."""
        import numpy as np
        import pandas as pd

        rows, truth = np.arange(len(case.table)), case.table.codes(case.secret.name)
        return pd.Series(1 - case.posterior.to_numpy()[rows, truth])


class Reversed(Doubt):
    """Takes certainty for safety."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        return case.posterior.max(axis=1)


class LikesHalf(Doubt):
    """Finds a person safest of whom half is known."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        return 2 - (super().numbers(case) - 0.3).abs()


class WritesTable(Doubt):
    """Sorts out what it has seen of the table."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        found = super().numbers(case)
        case.table.frame["seen"] = True
        return found


class WritesChances(Doubt):
    """Rounds the chances where they stand."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        found = super().numbers(case)
        case.posterior.iloc[:, 0] = 0.0
        return found


class CountsRows(Doubt):
    """How many rows are in each group, however many people share them."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        return case.equivalence_class.groupby(case.equivalence_class).transform("size").astype(float)


class ByPosition(Doubt):
    """Leaves out whoever stands in the first group by the first column."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        import pandas as pd

        first = pd.Series(pd.factorize(case.table.frame.iloc[:, 0])[0])
        return super().numbers(case) + (first == 0)


class FirstValue(Doubt):
    """Looks at the value that is declared first, and at no other."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        return 1 - case.posterior.iloc[:, 0]


class GlobalCoins(Doubt):
    """Draws from the random numbers that all share."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        import numpy as np

        return super().numbers(case) - 0.1 * np.random.random()


class Clipped(Doubt):
    """Lets nobody be known for certain."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        return super().numbers(case).clip(lower=0.05)


class SpillsRow(Doubt):
    """Tells everybody where the first person lives."""

    def details(self, case: ScoringContext) -> Any:
        return {"who": f"somebody in {case.table.frame.iloc[0].get('town', '')}"}


class SpillsCount(Doubt):
    """Tells everybody how few people there are in a group."""

    def details(self, case: ScoringContext) -> Any:
        return {"smallest": int(case.weight.groupby(case.equivalence_class).sum().min())}


class EvidenceOfRows(Doubt):
    """Tells of rows, however many people share them."""

    def details(self, case: ScoringContext) -> Any:
        return {"rows": len(case.table)}


class NotANumber(Doubt):
    """Divides by how many are alone, who may be none."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        import numpy as np

        return super().numbers(case) * np.nan


class Crashes(Doubt):
    """Takes a population for granted."""

    def numbers(self, case: ScoringContext) -> pd.Series:
        assert len(case.known.population.weight)  # type: ignore[union-attr]
        return super().numbers(case)


class ByTheBelief(Doubt):
    """Reads the belief itself, which is never the composition."""

    def numbers(self, case: ScoringContext) -> pd.Series:

        own = replace(case, scored="derived")
        return super().numbers(own)


class NoGroupsOnly(Doubt):
    """Says that it reads groups alone, and reads what is believed."""

    groups_only = True


class HalfDeclared(Doubt):
    """Says that it can score the worse of two, and not both of the two."""

    scorable = frozenset({"worst", "derived"})


class ByTheTest(ReleaseAtLeast):
    """The commonest class's share of the test people, to the last digit and for everyone."""

    use: str = "by_the_test"

    threat_model = "None: this is what the release is good for."
    formula = "people of the commonest class / people of the test table"
    source = "elementary"

    def score(self, case: ScoringContext) -> Score:
        import numpy as np

        people = self.people(case)
        if people is None:
            raise InconclusiveError("there is no test table")
        column = people.schema.having("class")[0].name
        share = float(np.bincount(people.codes(column), weights=people.weight).max() / people.total_weight)
        return Score(share, sensitivity=self.moved(people.total_weight))

    def people(self, case: ScoringContext) -> Table | None:
        """Whose share it is."""
        return case.test

    def moved(self, people: int) -> float:
        """By how much one of the test people is said to move the score."""
        return 0.0


class ByTheTable(ByTheTest):
    """The commonest class's share of the people of the table, as a number that everybody may read."""

    public = "number"

    def people(self, case: ScoringContext) -> Table:
        return case.table


class MeanCertainty(ReleaseAtMost):
    """The probability of everybody's likeliest value, on average."""

    use: str = "mean_certainty"

    public = "verdict"
    judges = frozenset({SecretBelief})
    threat_model = "Whatever the attack it judges assumes."
    formula = "mean over people of max P(v | x)"
    source = "elementary"

    def score(self, case: ScoringContext) -> Score:
        certainty = case.posterior.to_numpy().max(axis=1)
        return Score(float((certainty * case.weight).sum() / case.weight.sum()))


class MeanOfRows(MeanCertainty):
    """Forgets that several people share a row."""

    def score(self, case: ScoringContext) -> Score:
        return Score(float(case.posterior.to_numpy().max(axis=1).mean()))


class Separation(ReleaseAtMost):
    """How much higher the candidates who are in the table score on average."""

    use: str = "separation"

    judges = frozenset({MembershipBelief})
    threat_model = "Whatever the attack it judges assumes."
    formula = "mean score of candidates in the table - mean score of the others"
    source = "Yeom, Giacomelli, Fredrikson, Jha 2018"

    def score(self, case: ScoringContext) -> Score:
        scores, inside = case.require_belief(MembershipBelief).scores, case.membership.in_table
        return Score(float(scores[inside].mean() - scores[~inside].mean()))


class SeparatesNobody(Separation):
    """Compares no candidates."""

    def score(self, case: ScoringContext) -> Score:
        return Score(float(case.require_belief(MembershipBelief).scores.max() * 0))


BROKEN_METRICS: tuple[tuple[Metric, str], ...] = (
    (NotANumber(at_least=0), "works"),
    (SeparatesNobody(at_most=0), "sees_a_leak"),
    (MeanOfRows(at_most=0), "counts_people"),
    (WritesTable(at_least=0), "runs_apart"),
    (WritesChances(at_least=0), "runs_apart"),
    (GlobalCoins(at_least=0), "runs_apart"),
    (CountsRows(at_least=0), "counts_people"),
    (EvidenceOfRows(at_least=0), "counts_people"),
    (ByPosition(at_least=0), "any_column_order"),
    (FirstValue(at_least=0), "any_label_order"),
    (SpillsRow(at_least=0), "tells_nobody"),
    (SpillsCount(at_least=0), "publishes_no_counts"),
    (Reversed(at_least=0), "sees_a_leak"),
    (LikesHalf(at_least=0), "sees_a_leak"),
    (ByTheTest(at_least=0), "says_who_moves_it"),
    (ByTheTable(at_least=0), "says_who_moves_it"),
    (Clipped(at_least=0), "sees_a_leak"),
    (Crashes(at_least=0), "errs_in_words"),
    (ByTheBelief(at_least=0), "scores_what_it_declares"),
    (NoGroupsOnly(at_least=0), "scores_what_it_declares"),
    (HalfDeclared(at_least=0), "scores_what_it_declares"),
)
