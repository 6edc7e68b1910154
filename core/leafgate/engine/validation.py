"""Validation: what attacks and metrics return is checked here, once, before anything is judged by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np
import pandas as pd

from leafgate.api.offers import described
from leafgate.engine.evidence import checked_evidence, is_json_encodable
from leafgate.errors import InconclusiveError
from leafgate.kernel import belief as beliefs
from leafgate.kernel.evidence import CORE_OF_ATTACKS, RESERVED
from leafgate.kernel.findings import Remedy
from leafgate.kernel.metrics import Metric, PersonMetric, Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafgate.kernel.context import ScoringContext
    from leafgate.kernel.knowledge import AdversaryKnowledge
    from leafgate.kernel.release import Release
    from leafgate.kernel.schema import Column

B = TypeVar("B", bound=beliefs.PosteriorBelief)
POSTERIOR_TOLERANCE = 1e-6
"""Posteriors of people in one equivalence class may differ by this much, as floating point does."""
ROUNDING = 1e-9
"""By this share of its larger end a score may lie outside of the metric's `score_range`."""
MAX_TABLE_CELLS = 20_000_000
"""A table of more reconstructed cells is refused: it would be copied for each metric, and no matching is that large."""
KINDS = {"biuf": "a number", "iu": "a whole number", "b": "True or False"}
"""The kinds of numpy's numbers that the arrays of beliefs hold, and what each is called."""


def validate_belief(belief: object, known: AdversaryKnowledge, release: Release | None = None) -> beliefs.Belief:
    """The belief, its numbers as arrays that cannot be written to; InconclusiveError states what is wrong with it."""
    if not isinstance(belief, beliefs.Belief) or type(belief) not in beliefs.BELIEF_TYPES:
        names = [kind.__name__ for kind in beliefs.BELIEF_TYPES]
        wanted = f"{', '.join(names[:-1])} or {names[-1]}"
        raise InconclusiveError(f"returned a {type(belief).__name__} where a {wanted} belongs")
    checked_evidence(belief.evidence, CORE_OF_ATTACKS)
    match belief:
        case beliefs.SecretBelief():
            return _validated_secret(belief, known)
        case beliefs.CellBelief():
            return _validated_cells(belief, known, release)
        case beliefs.GroupBelief():
            return replace(belief, **_validated_classes(belief, known))
        case beliefs.MembershipBelief():
            return _validated_membership(belief, known)
        case beliefs.AttributeBelief():
            return _validated_attribute(belief, known)
        case beliefs.TableBelief():
            return _validated_table(belief, known)
        case beliefs.MechanismBelief():
            return replace(belief, tries=_claims(belief.tries, "tries"), refutes=_claims(belief.refutes, "refutes"))
    raise AssertionError  # every type of BELIEF_TYPES has a case


def validate_score(score: object, metric: Metric, case: ScoringContext) -> Score:
    """The score, its numbers as floats; InconclusiveError states what is wrong with it."""
    if not isinstance(score, Score):
        raise InconclusiveError(f"`score` returned {described(score)} where a Score belongs")
    of_people = isinstance(metric, PersonMetric)
    part, other = (score.people, score.value) if of_people else (score.value, score.people)
    if part is None or other is not None:
        wanted = "`people` and no `value`" if of_people else "a `value` and no `people`"
        raise InconclusiveError(f"returned a Score that needs {wanted}")
    for name, (fits, wanted) in OF_RELEASES.items():
        if of_people and getattr(score, name) != getattr(Score(), name):
            raise InconclusiveError(f"returned `{name}`, which only the score of a release may have")
        if not fits(score):
            raise InconclusiveError(f"returned `{name}` that is not {wanted}")
    kept = RESERVED | set(case.belief.evidence if case.belief else ())
    evidence = checked_evidence(score.evidence, kept - (set() if of_people else {"worst"}))
    numbers = _scores(part, metric, (len(case.table),) if of_people else ())
    if of_people:
        return replace(score, people=pd.Series(numbers), evidence=evidence)
    return replace(score, value=float(numbers), evidence=evidence)


def _scores(scores: object, metric: Metric, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The scores as floats of this shape, within the metric's range; infinite on the unsafe side only."""
    numbers = real_numbers(scores)
    if numbers is None:
        raise InconclusiveError("returned no numbers")
    if isinstance(scores, pd.Series) and _is_reordered(scores.index):
        raise InconclusiveError("returned numbers in another order than the rows of `case.table`")
    if numbers.shape != shape:
        raise InconclusiveError(f"returned numbers of shape {numbers.shape}, wanted {shape}")
    unsafe = np.inf if metric.direction == "at_most" else -np.inf
    if not (np.isfinite(numbers) | (numbers == unsafe)).all():
        raise InconclusiveError("returned a number that is not finite")
    lowest, highest = metric.score_range
    bounded = numbers[np.isfinite(numbers)]
    slack = ROUNDING * max((abs(end) for end in metric.score_range if np.isfinite(end)), default=0.0)
    if ((bounded < lowest - slack) | (bounded > highest + slack)).any():
        raise InconclusiveError(f"returned a number outside of its `score_range`, {lowest:g} to {highest:g}")
    return numbers


def _encloses(score: Score) -> bool:
    """Has the score no interval, or one around its value?"""
    if score.interval is None:
        return True
    ends = real_numbers(score.interval)
    return ends is not None and ends.shape == (2,) and bool(ends[0] <= score.value <= ends[1])


def _is_bounded(score: Score) -> bool:
    sensitivity = real_numbers(score.sensitivity)
    return sensitivity is not None and sensitivity.shape == () and bool(0 <= sensitivity < np.inf)


def _has_remedies(score: Score) -> bool:
    if isinstance(score.remedy, str):
        return True
    return all(isinstance(each, Remedy) and each.text and is_json_encodable(each.value) for each in score.remedy)


OF_RELEASES: Mapping[str, tuple[Callable[[Score], bool], str]] = {
    "interval": (_encloses, "its lowest and its highest number, around the score"),
    "sensitivity": (_is_bounded, "a finite number from 0 up"),
    "insufficient": (lambda score: isinstance(score.insufficient, str), "a text"),
    "remedy": (_has_remedies, "a text or remedies"),
}
"""What only the score of a release may have, and what it may be."""


def real_numbers(values: Any) -> NDArray[np.float64] | None:
    """A copy of the values as floats; None where one is missing, or stored as a text, date or complex number."""
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        return None
    array = np.asarray(values)
    if array.dtype.kind == "O":
        is_real = not any(isinstance(number, str | bytes | complex) for number in array.ravel())
    else:
        is_real = array.dtype.kind in "biuf"
    try:
        return np.array(array, dtype=float) if is_real else None
    except (TypeError, ValueError):
        return None


def _array(
    values: Any,
    name: str,
    size: int,
    noun: str,
    kinds: str = "biuf",
    low: float = -np.inf,
    high: float = np.inf,
    *,
    infinite: bool = False,
) -> NDArray[Any] | None:
    """A part of a belief as an array that cannot be written to; None where the belief has no such part.

    Args:
        values: the part, as the attack returns it.
        name: its name.
        size: how many numbers it must have.
        noun: what it has a number for each of.
        kinds: the numbers that it may hold, one of `KINDS`.
        low: the lowest number.
        high: the highest number.
        infinite: may it be infinite?

    Raises:
        InconclusiveError: it is another array.
    """
    if values is None:
        return None
    if isinstance(values, pd.Series) and _is_reordered(values.index):
        raise InconclusiveError(f"its belief has its `{name}` in another order than the {noun}")
    array = real_numbers(values) if kinds == "biuf" else np.array(values)
    if array is None or array.shape != (size,) or array.dtype.kind not in kinds:
        raise InconclusiveError(f"its belief needs {KINDS[kinds]} for each of {size} {noun} in `{name}`")
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise InconclusiveError(f"its belief has `{name}` that are not finite")
    if ((array < low) | (array > high)).any():
        raise InconclusiveError(f"its belief has `{name}` that are not between {low:g} and {high:g}")
    array.setflags(write=False)
    return array


def _is_reordered(index: pd.Index) -> bool:
    """Does the index number the rows 0, 1, 2, ... in another order? Numbers are read by position."""
    positions = np.arange(len(index))
    if index.dtype.kind not in "iu" or np.array_equal(index, positions):
        return False
    return bool(np.array_equal(np.sort(index), positions))


def _validated_secret(belief: beliefs.SecretBelief, known: AdversaryKnowledge) -> beliefs.SecretBelief:
    """The belief about people's secrets.

    Where it has no prior, people of one equivalence class must have equal posteriors: the class states that the release
    does not distinguish them, and an attack that starts from nothing else has nothing to distinguish them by. A limit
    on the size of classes would otherwise pass for people whom the attack distinguishes. Where it has a prior, its
    posteriors may differ as much as the knowledge in that prior makes them differ.
    """
    classes = _validated_classes(belief, known)
    groups = classes["equivalence_class"]
    if groups is None and belief.population_groups is not None:
        raise InconclusiveError("its belief has `population_groups`, which are numbered as an `equivalence_class` is")
    if groups is None and belief.certainty == "shares":
        raise InconclusiveError("its belief is certain of shares, which are of whole classes: `equivalence_class`")
    belief = replace(_with_checked_posteriors(belief, _rows_of_people(belief, known), known), **classes)
    if "sensitive" not in known.schema[belief.secret].roles:
        raise InconclusiveError("its belief is about a column that is no secret")
    if belief.certain_to_insiders is not None:
        belief = replace(belief, certain_to_insiders=_certain_to_insiders(belief, groups))
    if groups is not None and belief.prior is None:
        _check_equal_within_classes(groups, [belief.posterior, *belief.alternative_posteriors])
    return belief


def _certain_to_insiders(belief: beliefs.SecretBelief, groups: NDArray[Any] | None) -> list[NDArray[Any]]:
    """What insiders are certain of, as arrays that cannot be written to."""
    found = [np.array(each) for each in belief.certain_to_insiders or ()]
    is_numbered = groups is not None and (not len(groups) or groups.min() >= 0)
    for insiders, pairs in enumerate(found, 1):
        fits = pairs.dtype.kind == "i" and pairs.ndim == 3 and pairs.shape[1:] == (insiders + 1, 2)
        in_domain = fits and (pairs >= 0).all() and (pairs[:, :, 1] < belief.posterior.shape[1]).all()
        if not is_numbered or not in_domain:
            raise InconclusiveError("its belief needs classes and values, for each insider, in `certain_to_insiders`")
        pairs.setflags(write=False)
    return found


def _rows_of_people(belief: beliefs.GroupBelief | beliefs.SecretBelief, known: AdversaryKnowledge) -> int:
    """How many records the belief is about: the attack's own, or the adversary's.

    Raises InconclusiveError where own records do not name every public one. Rows are read by position; where an attack
    has records of its own these number the rows.
    """
    if isinstance(belief, beliefs.SecretBelief) and belief.of_people:
        if known.releases is None:
            raise InconclusiveError("its belief is about people whom it is not granted: declare `releases` in `needs`")
        return known.releases.in_table
    if belief.records is not None:
        beliefs.rows_for(known, belief.records)
        return len(belief.records)
    return len(known.records)


def _validated_classes(belief: beliefs.GroupBelief | beliefs.SecretBelief, known: AdversaryKnowledge) -> dict[str, Any]:
    """The belief's equivalence classes, of records and of the population, as arrays."""
    people = 0 if known.population is None else len(known.population)
    rows, classes = _rows_of_people(belief, known), belief.equivalence_class
    if classes is None and isinstance(belief, beliefs.GroupBelief):
        raise InconclusiveError(f"its belief needs a whole number for each of {rows} records in `equivalence_class`")
    if classes is not None and belief.records is not None:
        classes = np.asarray(classes)  # its index may be that of the attack's own records
    return {
        "equivalence_class": _array(classes, "equivalence_class", rows, "records", "iu"),
        "population_groups": _array(belief.population_groups, "population_groups", people, "of the population", "iu"),
    }


def _with_checked_posteriors(belief: B, rows: int, known: AdversaryKnowledge) -> B:
    """The belief with all probabilities as floats, whatever kind of number the attack chose."""
    if belief.certainty not in get_args(beliefs.Certainty):
        raise InconclusiveError(f"its belief's certainty is none of {', '.join(get_args(beliefs.Certainty))}")
    if not isinstance(belief.secret, str) or belief.secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")
    column, own_rows = known.schema[belief.secret], getattr(belief, "records", None) is not None
    if not column.countable:
        raise InconclusiveError("its belief is about numbers that have no `bins`")

    def checked(chances: object, noun: str) -> pd.DataFrame:
        if not isinstance(chances, pd.DataFrame) or list(chances.columns) != list(column.domain):
            raise InconclusiveError(f"the columns of its {noun} are not the secret's domain, in order")
        if not own_rows and _is_reordered(chances.index):
            raise InconclusiveError(f"its {noun} has its rows in another order than the records")
        numbers = [each for _, cells in chances.items() if (each := real_numbers(cells)) is not None]
        if len(numbers) < len(column.domain):
            raise InconclusiveError(f"its {noun} has cells that are not numbers")
        _check_distributions(np.column_stack(numbers), (rows, len(column.domain)), noun, "record")
        return chances.astype(float)

    return replace(
        belief,
        posterior=checked(belief.posterior, "posterior"),
        prior=None if belief.prior is None else checked(belief.prior, "prior"),
        alternative_posteriors=tuple(checked(each, "alternative posterior") for each in belief.alternative_posteriors),
    )


def _check_distributions(numbers: NDArray[Any], shape: tuple[int, int], noun: str, of: str) -> None:
    """InconclusiveError unless the numbers have this shape and each row is a distribution."""
    if numbers.shape != shape or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InconclusiveError(f"its {noun} needs one row of probabilities for each {of}")
    if not np.allclose(numbers.sum(axis=1), 1, atol=POSTERIOR_TOLERANCE):
        raise InconclusiveError(f"the rows of its {noun} do not sum to 1")


def _check_equal_within_classes(groups: NDArray[Any], several: Sequence[pd.DataFrame]) -> None:
    """Refuse an equivalence class whose records have different probabilities, with an InconclusiveError."""
    order = np.argsort(groups, kind="stable")
    grouped = groups[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1])[: len(grouped)])
    for chances in several:
        if not len(grouped):
            return
        numbers = chances.to_numpy(dtype=float)[order]
        apart = np.maximum.reduceat(numbers, first) - np.minimum.reduceat(numbers, first)
        if (apart > POSTERIOR_TOLERANCE).any():
            raise InconclusiveError(
                "its belief has different rows for people of one equivalence class: they must be equal, unless a "
                "`prior` says what distinguishes these people"
            )


def _validated_cells(
    belief: beliefs.CellBelief, known: AdversaryKnowledge, release: Release | None
) -> beliefs.CellBelief:
    """The belief about hidden cells of the release's records: withheld ones, and those of a column with noise."""
    cells = np.array(belief.record_positions)
    records = None if release is None else release.records
    if release is None or records is None or belief.secret not in records.columns:
        raise InconclusiveError("its belief is about cells that no record shows")
    if cells.ndim != 1 or cells.dtype.kind not in "iu" or len(set(cells.tolist())) < len(cells):
        raise InconclusiveError("its belief needs each of its cells once, as a position among the records")
    if not len(cells) or not 0 <= cells.min() <= cells.max() < len(records.rows):
        raise InconclusiveError("its belief is about records that are not there")
    shown = (records.rows[cell][records.columns.index(belief.secret)] for cell in cells.tolist())
    if belief.secret not in release.noise and not all(cell == {"withheld": True} for cell in shown):
        raise InconclusiveError("its belief is about cells that the records show")
    cells.setflags(write=False)
    estimates = _array(belief.estimates, "estimates", len(cells), "cells")
    checked = _with_checked_posteriors(belief, len(cells), known)
    return replace(checked, record_positions=cells, estimates=estimates)


def _validated_membership(belief: beliefs.MembershipBelief, known: AdversaryKnowledge) -> beliefs.MembershipBelief:
    """The belief about who of the candidates is in the table."""
    if known.candidates is None:
        raise InconclusiveError("its belief is about candidates, and it is granted none: declare them in `needs`")
    size, of = len(known.candidates), "candidates"
    scores = _array(belief.scores, "scores", size, of)
    if scores is None:
        raise InconclusiveError("its belief has no `scores`")
    return replace(
        belief,
        scores=scores,
        p_values=_array(belief.p_values, "p_values", size, of, low=0, high=1),
        excluded=_array(belief.excluded, "excluded", size, of, "b"),
        exclusion_p_values=_array(belief.exclusion_p_values, "exclusion_p_values", size, of, low=0, high=1),
        odds=_array(belief.odds, "odds", size, of, low=0, infinite=True),
    )


def _validated_attribute(belief: beliefs.AttributeBelief, known: AdversaryKnowledge) -> beliefs.AttributeBelief:
    """The belief about an input of the model, of each target."""
    if belief.secret not in known.targets:
        raise InconclusiveError(
            "its belief is about a column of which no targets are granted", remedy="speak of those in `known.targets`"
        )
    targets = known.targets[belief.secret]
    values = len(targets.secret.domain)
    posterior = real_numbers(belief.posterior)
    if posterior is None:
        raise InconclusiveError("its posterior has cells that are not numbers")
    _check_distributions(posterior, (len(targets), values), "posterior", "target")
    posterior.setflags(write=False)
    certain = _array(belief.certain, "certain", len(targets), "targets", "iu", low=-1, high=values - 1)
    return replace(belief, posterior=posterior, certain=certain)


def _claims(names: object, which: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise InconclusiveError(f"its belief must list the guarantees that it `{which}` by name")
    return tuple(names)


def _validated_table(belief: beliefs.TableBelief, known: AdversaryKnowledge) -> beliefs.TableBelief:
    """The belief, its cells typed as those of a table are: categoricals over values or intervals, and floats.

    Raises InconclusiveError where no table of the policy's columns and so many people could have such records.
    """
    records = belief.records
    if not isinstance(records, pd.DataFrame):
        raise InconclusiveError("its belief needs a DataFrame of `records`")
    names = list(records.columns)
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) and n in known.schema for n in names):
        raise InconclusiveError("its belief needs `records` with columns of the policy, each once")
    if not 0 < len(records) <= known.public.total_weight:
        raise InconclusiveError("its belief needs from one record to as many `records` as the table has people")
    if records.size > MAX_TABLE_CELLS:
        raise InconclusiveError(f"its belief has `records` with more than {MAX_TABLE_CELLS:,} cells")
    proved, most = belief.proved_cells, len(records) * (len(names) - (known.schema.target.name in names))
    if proved is not None and (not isinstance(proved, int) or not 0 <= proved <= most):
        raise InconclusiveError("its belief has `proved_cells` that are no whole number up to all cells of its records")
    limit = belief.proved_most
    if limit is not None and (not isinstance(limit, int) or limit < (proved or 0)):
        raise InconclusiveError("its belief has `proved_most` that is no whole number from `proved_cells` up")
    cells = {name: _typed_cells(known.schema[name], records[name]) for name in names}
    return replace(belief, records=pd.DataFrame(cells))


def _typed_cells(column: Column, cells: pd.Series) -> pd.Series:
    """Cells as a categorical over the column's values or intervals, or as floats; InconclusiveError for others."""
    cells = cells.reset_index(drop=True)
    if not column.countable:
        numbers = real_numbers(cells.to_numpy(dtype=object, na_value=np.nan))
        if numbers is None:
            raise InconclusiveError(f"its belief has `records` with cells of {column.name!r} that are not numbers")
        if np.isinf(numbers).any() or (np.isnan(numbers).any() and not column.missing):
            raise InconclusiveError(f"its belief has `records` with numbers of {column.name!r} that are not finite")
        return pd.Series(numbers)
    values = [value for value in column.domain if value is not None]
    missing = cells.isna()
    position = {value: place for place, value in enumerate(values)}
    codes = [position.get(cell, -1) if isinstance(cell, str) else -1 for cell in cells.astype(object)]
    typed = pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(values, dtype=object)))
    if (typed.isna() & ~missing).any() or (missing.any() and None not in column.domain):
        raise InconclusiveError(f"its belief has `records` with cells of {column.name!r} outside its domain")
    return typed
