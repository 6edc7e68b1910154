"""What the attacks believe of hidden cells: order, noise at its ends, calibration, missing cells, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from components import new_attack, new_metric
from leafgate import InconclusiveError, PolicyError, Release, Table
from leafgate.api import AttackModel, CellBelief, Column, Law, Noise, Schema, make_table
from leafgate.testing import grant_knowledge, validate_belief
from scoring import scores_of_people
from shared_tables import (
    BINS,
    PEOPLE,
    alike,
    case_of,
    mean_square_error,
    noise_by_snr,
    normal_table,
    numbers_column,
    one_normal,
    secret_numbers,
    shared,
)

pytestmark = pytest.mark.thorough

ATTACKS = (new_attack("posterior"), new_attack("spectral_filter"), new_attack("pca_dr"), new_attack("be_dr"))
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)
SIX = secret_numbers({"a": np.array([1.0, 2.0, 2.0, 5.0, 7.0, 9.0])}, {"a": (0, 2, 6, 10)})


def posterior_and_estimates(
    attack: AttackModel, release: Release, table: Table, which: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Chances and estimates of one of an attack's beliefs, if the core takes it for one."""
    known = grant_knowledge(table)
    belief = validate_belief(attack.infer(release, known)[which], known, release)
    assert isinstance(belief, CellBelief)
    assert belief.estimates is not None
    return belief.posterior.to_numpy(), belief.estimates


def with_cells(release: Release, column: int, rows: slice, cell: object) -> Release:
    """The same with other cells of one column in some records."""
    assert release.records is not None
    changed = [list(row) for row in release.records.rows]
    for row in changed[rows]:
        row[column] = cell
    return replace(release, records=replace(release.records, rows=tuple(map(tuple, changed))))


@pytest.mark.parametrize(
    "attack", [new_attack("posterior"), new_attack("pca_dr"), new_attack("be_dr")], ids=lambda attack: attack.use
)
def test_under_huge_noise_everybody_is_believed_to_be_like_all(attack: AttackModel) -> None:
    """Under 100,000 times their own spread numbers tell nothing: no two people are believed to differ."""
    chances, estimates = posterior_and_estimates(
        attack, shared(one_normal(), {"a": Noise("gaussian", 1e6)}), one_normal()
    )
    assert np.ptp(chances, axis=0).max() < 0.02
    assert np.ptp(estimates) < 1


@each_attack
def test_under_tiny_noise_everybody_is_exposed(attack: AttackModel) -> None:
    case = case_of(one_normal(), shared(one_normal(), {"a": Noise("gaussian", 1e-4)}), attack, "a")
    assert scores_of_people(new_metric("exposure", at_most=1), case).mean() > 0.99
    assert scores_of_people(new_metric("normalised_rmse", at_least=0), case).iloc[0] == pytest.approx(1e-5, rel=0.05)


@each_attack
@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_who_believes_a_chance_of_one_in_ten_is_right_one_time_in_ten(attack: AttackModel, law: Law) -> None:
    case = case_of(alike(), shared(alike(), noise_by_snr(alike(), 1.0, law)), attack, "c")
    chances = case.posterior.to_numpy()
    hit = np.eye(len(BINS) - 1)[pd.Categorical(case.truth).codes]
    for low in (0.05, 0.2, 0.4):
        mine = (chances > low) & (chances < low + 0.1)
        assert hit[mine].mean() == pytest.approx(chances[mine].mean(), abs=0.06)


def classes_apart() -> Table:
    """Two classes of 5,000, 40 apart, who differ among themselves by 5."""
    group = np.repeat([0, 1], 5_000)
    labels = Column("y", frozenset({"class", "quasi_identifier"}), values=("low", "high"))
    numbers = np.random.default_rng(5).normal(np.where(group == 1, 20, -20), 5)
    frame = pd.DataFrame({"a": numbers, "y": pd.Categorical(np.where(group == 1, "high", "low"), ["low", "high"])})
    return make_table(Schema((numbers_column("a", BINS), labels)), frame)


def test_classes_in_the_clear_make_the_posterior_sharper() -> None:
    """Under noise of 20 the class tells most of the number. What all people lend to a class keeps it off the least."""
    table = classes_apart()
    release = shared(table, {"a": Noise("gaussian", 20.0)})
    with_class = mean_square_error(case_of(table, release, new_attack("posterior"), "a"))
    without = mean_square_error(case_of(table, release, new_attack("posterior", by_class=False), "a"))
    assert with_class == pytest.approx(25 * 400 / 425, rel=0.15)
    assert without > 2 * with_class


def test_a_class_of_one_is_believed_to_be_like_all() -> None:
    """By its own law alone it would be believed to be where its number is."""
    table = classes_apart()
    few = Table(table.schema, table.frame.iloc[4_900:5_001].reset_index(drop=True), np.ones(101, dtype=np.int64))
    release = shared(few, {"a": Noise("gaussian", 20.0)})
    case = case_of(few, release, new_attack("posterior"), "a")
    (loner,) = np.flatnonzero(case.table.frame["y"] == "high")
    chances, _ = posterior_and_estimates(new_attack("posterior", by_class=False), release, few)
    assert case.posterior.to_numpy()[loner] == pytest.approx(chances[loner], abs=0.05)


def test_the_mode_is_the_most_likely_number() -> None:
    """4 in 5 are at 0.5, 1 in 5 at 100.5: noise of 30 mixes nobody up, and every number's mode is one of the two."""
    table = secret_numbers({"a": np.repeat([0.5, 100.5], [4_000, 1_000])}, {"a": (0, 50, 200)})
    case = case_of(table, shared(table, {"a": Noise("uniform", 30.0)}), new_attack("posterior", estimate="mode"), "a")
    assert np.median(np.abs(case.estimates - case.table.numbers("a"))) < 5


def test_whole_numbers_at_the_edge_of_a_bin_are_found_on_its_side() -> None:
    """Of people who all work 40 hours the law reconstructed lies about 40, half of it below the edge; but not if it
    is known to be of whole numbers."""
    table = secret_numbers({"a": np.full(3_000, 40.0)}, {"a": (0, 40, 60, 99)})
    table = Table(table.schema, table.frame, np.array([3_000]))
    release = shared(table, {"a": Noise("uniform", 12.0)})
    assert posterior_and_estimates(new_attack("posterior", whole=("a",)), release, table)[0][:, 1].mean() > 0.95
    assert posterior_and_estimates(new_attack("posterior"), release, table)[0][:, 1].mean() < 0.8


@pytest.mark.parametrize("name", ["b", "c"])
def test_only_secret_numbers_with_whole_bins_can_be_said_to_be_whole(name: str) -> None:
    table = secret_numbers({"a": np.arange(3.0), "b": np.arange(3.0)}, {"a": (0, 1, 2), "b": (0, 0.5, 2)})
    with pytest.raises(PolicyError, match="no secret number whose bins begin and end at whole numbers"):
        posterior_and_estimates(
            new_attack("posterior", whole=(name,)), shared(table, {"a": Noise("gaussian", 1.0)}), table
        )


@pytest.mark.parametrize("cell", [None, {"withheld": True}])
@pytest.mark.parametrize(
    "attack",
    [new_attack("posterior"), new_attack("spectral_filter"), new_attack("pca_dr")],
    ids=lambda attack: attack.use,
)
def test_of_a_missing_cell_the_law_of_all_is_believed(attack: AttackModel, cell: object) -> None:
    table = normal_table(np.array([[100.0, 90.0], [90.0, 100.0]]))
    release = with_cells(shared(table, noise_by_snr(table, 1.0)), 0, slice(0, None, 40), cell)
    chances, estimates = posterior_and_estimates(attack, release, table)
    assert np.ptp(chances[::40], axis=0).max() == pytest.approx(0, abs=1e-12)
    assert chances[0] == pytest.approx(np.bincount(table.codes("a"), minlength=6) / PEOPLE, abs=0.05)
    assert estimates[0] == pytest.approx(0, abs=1.5)


def test_of_a_missing_cell_be_dr_believes_what_the_others_tell() -> None:
    table = normal_table(np.array([[100.0, 90.0], [90.0, 100.0]]))
    release = shared(table, {name: Noise("gaussian", 0.1) for name in "ab"})
    case = case_of(table, with_cells(release, 0, slice(0, None, 2), None), new_attack("be_dr"), "a")
    missed = (case.estimates - case.table.numbers("a"))[::2]
    assert (missed**2).mean() == pytest.approx(19, rel=0.1)


@each_attack
def test_a_column_nobody_shows_a_number_of_is_left_out(attack: AttackModel) -> None:
    table = normal_table(np.eye(2) * 100, people=50)
    release = with_cells(shared(table, noise_by_snr(table, 1.0)), 0, slice(None), None)
    assert [getattr(belief, "secret", None) for belief in attack.infer(release, grant_knowledge(table))] == ["b"]
    alone = with_cells(release, 1, slice(None), None)
    with pytest.raises(InconclusiveError, match="nothing to reconstruct"):
        attack.infer(alone, grant_knowledge(table))


@each_attack
@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_numbers_the_noise_cannot_have_made_break_nothing(attack: AttackModel, law: Law) -> None:
    release = with_cells(shared(SIX, {"a": Noise(law, 1.0)}), 0, slice(0, 2), 1e6)
    chances, estimates = posterior_and_estimates(attack, release, SIX)
    assert np.isfinite(estimates).all()
    assert ((estimates >= 0) & (estimates <= 10)).all()
    assert chances.sum(axis=1) == pytest.approx(np.ones(6))


def test_what_uniform_noise_cannot_have_made_is_believed_to_be_like_all() -> None:
    release = with_cells(shared(SIX, {"a": Noise("uniform", 1.0)}), 0, slice(0, 1), 1e6)
    missing = with_cells(release, 0, slice(0, 1), None)
    assert posterior_and_estimates(new_attack("posterior"), release, SIX)[0][0] == pytest.approx(
        posterior_and_estimates(new_attack("posterior"), missing, SIX)[0][0]
    )


@each_attack
def test_without_noisy_secret_numbers_there_is_nothing_to_reconstruct(attack: AttackModel) -> None:
    release = shared(SIX, {"a": Noise("gaussian", 1.0)})
    open_schema = Schema((Column("a", frozenset({"private"}), bounds=(0.0, 10.0)),))
    private = Table(open_schema, SIX.frame, SIX.weight)
    with pytest.raises(InconclusiveError, match="no secret number with noise"):
        attack.infer(release, grant_knowledge(private))
    with pytest.raises(InconclusiveError, match="no secret number with noise"):
        attack.infer(replace(release, noise={}), grant_knowledge(SIX))
    with pytest.raises(InconclusiveError, match="no records"):
        attack.infer(replace(release, records=None), grant_knowledge(SIX))
