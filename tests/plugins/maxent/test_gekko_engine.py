from __future__ import annotations

import socket
import stat
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse as sp

from leafgate import InconclusiveError
from leafgate_plugins.maxent.presolve.fixed_cells import independent_rows
from leafgate_plugins.maxent.problem.split_constraints import impurity
from leafgate_plugins.maxent.solve import gekko as gekko_engine
from leafgate_plugins.maxent.solve import interior_point as structured
from leafgate_plugins.maxent.solve.certificate import estimate_duals
from leafgate_plugins.maxent.solve.gekko import OPTIONS, solver_of
from leafgate_plugins.maxent.solve.lifting import decompose_blocks, lift, make_elastic
from leafgate_plugins.maxent.solve.subproblem import Subproblem
from maxent_parts import crossed_leaves, parts

GEKKO = import_module("gekko.gekko")


def solved(part: Subproblem, time_limit: float = 60.0) -> gekko_engine.SolvedByGekko:
    return gekko_engine.solve(part, time_limit=time_limit)


def agree(part: Subproblem) -> None:
    one, other = solved(part), structured.solve(part)
    assert one.converged
    assert other.converged
    assert part.max_violation(one.x) < 1e-8
    assert part.entropy(one.x) == pytest.approx(part.entropy(other.x), rel=1e-8, abs=1e-8)
    assert one.x == pytest.approx(other.x, abs=1e-5)
    assert one.duals == pytest.approx(other.duals, abs=1e-5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The GEKKO models that are solved."""
    seen: list[Any] = []
    solve = GEKKO.GEKKO.solve

    def watched(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(self)
        self.mode = stat.S_IMODE(Path(self._path).stat().st_mode)
        return solve(self, *args, **options)

    monkeypatch.setattr(GEKKO.GEKKO, "solve", watched)
    return seen


@pytest.mark.parametrize("gini", [False, True])
@pytest.mark.thorough
def test_both_engines_find_the_same_optimum(gini: bool) -> None:
    found = [part for seed in range(30) for part in parts(seed, gini=gini)]
    assert len(found) >= 3  # most random leaves break nothing
    for part in found:
        agree(part)


@pytest.mark.parametrize("gini", [False, True])
@pytest.mark.thorough
def test_they_agree_where_a_constraint_may_be_bought_off(gini: bool) -> None:
    part = crossed_leaves(4, gini=gini)
    price = structured.solve(part).duals[0]
    for cost in (price / 2, price * 2):
        wide = make_elastic(part, sp.eye_array(1, format="csr"), np.array([cost]))
        agree(wide)
        assert solved(wide).duals[0] == pytest.approx(min(cost, price), rel=1e-4)


@pytest.mark.thorough
def test_linear_inequalities_have_prices_too() -> None:
    part = crossed_leaves(3, gini=False)
    bound = solved(part).x[0] + 0.05
    part = replace(part, inequality=sp.csr_array(np.eye(1, len(part))), inequality_bound=np.array([bound]))
    agree(part)
    one, other = solved(part), structured.solve(part)
    assert one.x[0] == pytest.approx(bound)
    assert one.inequality_duals == pytest.approx(other.inequality_duals, abs=1e-5)
    assert one.inequality_duals[0] > 0.01


def test_without_inequalities_a_leaf_has_its_own_distribution() -> None:
    part = crossed_leaves(3, gini=False)
    nothing = replace(part.curved, coefficients=sp.csr_array((0, part.curved.coefficients.shape[1])))
    part = replace(part, curved=nothing)
    one = solved(part)
    assert one.converged
    assert one.x == pytest.approx(part.start, abs=1e-7)


def test_at_an_optimum_the_prices_make_everything_flat() -> None:
    part = crossed_leaves(5, gini=False)
    one = solved(part)
    uphill = part.gradient(one.x) + part.curved.jacobian(one.x).T @ one.duals + part.equality.T @ one.equality_duals
    assert uphill == pytest.approx(np.zeros(len(part)), abs=1e-6)
    assert estimate_duals(part, part.start).residual > 0.1 or part.max_violation(part.start) > 1e-3


@pytest.mark.thorough
def test_an_expression_too_long_for_gekko_is_split(models: list[Any]) -> None:
    part = crossed_leaves(200, gini=False)
    names = [f"v{i}" for i in range(len(lift(part).start))]
    assert max(len("+".join(terms)) for terms in lift(part).curved(names, np.arange(1))) > 15_000
    agree(part)
    items = [*models[0]._equations, *models[0]._objectives, *models[0]._inter_equations]
    assert len(models[0]._intermediates) > 1
    assert max(len(str(each)) for each in items) < 15_000


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    solved(crossed_leaves(3, gini=False))
    assert capfd.readouterr() == ("", "")


def test_the_folder_is_private_and_gone_afterwards(folder: Path, models: list[Any]) -> None:
    solved(crossed_leaves(3, gini=False))
    assert models[0]._path.startswith(str(folder))
    assert models[0].mode == 0o700
    assert list(folder.iterdir()) == []


def test_the_folder_is_gone_after_trouble_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GEKKO.GEKKO, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solved(crossed_leaves(3, gini=False))
    assert list(folder.iterdir()) == []


def test_no_network_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any) -> None:
        raise AssertionError("the data stays on this machine")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refused)
    assert solved(crossed_leaves(3, gini=False)).converged


def test_ipopt_is_asked_and_named(models: list[Any]) -> None:
    assert solved(crossed_leaves(3, gini=False)).solver == "IPOPT"
    assert models[0].options.SOLVER == 3
    assert models[0].solver_options == OPTIONS
    assert models[0]._remote is False


def test_a_build_without_ipopt_is_noticed_although_it_names_ipopt() -> None:
    said = " solver            3  not supported\n using default solver: APOPT\n Solver         :  IPOPT (v3.12)\n"
    assert solver_of(said) == "APOPT"


@pytest.mark.parametrize("trouble", ["missing", "not executable", "not a program", "silent"])
def test_without_a_binary_that_runs_it_says_what_to_do(
    trouble: str, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries = tmp_path.with_name(f"{tmp_path.name}-gekko") / "bin"
    binaries.mkdir(parents=True)
    for name in ("apm", "apm_mac", "apm_aarch64", "apm_arm") if trouble != "missing" else ():
        (binaries / name).write_text("#!/bin/sh\n" if trouble == "silent" else "\0")
        (binaries / name).chmod(0o600 if trouble == "not executable" else 0o700)
    monkeypatch.setattr(GEKKO, "__file__", str(binaries.parent / "gekko.py"))
    with pytest.raises(InconclusiveError, match="solver: structured"):
        solved(crossed_leaves(3, gini=False))
    assert list(folder.iterdir()) == []


def test_on_a_platform_without_a_binary_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GEKKO, "sys", SimpleNamespace(platform="plan9"))
    with pytest.raises(InconclusiveError, match="no binary for this platform"):
        solved(crossed_leaves(3, gini=False))


def test_where_gekko_is_not_installed_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gekko", None)
    with pytest.raises(InconclusiveError, match="GEKKO is not installed"):
        solved(crossed_leaves(3, gini=False))


@pytest.mark.parametrize("time_limit", [-1.0, 0.0, 0.003])
def test_too_little_time_is_not_done(time_limit: float, folder: Path) -> None:
    one = solved(crossed_leaves(30, gini=False), time_limit)
    assert not one.converged
    assert np.isfinite(one.x).all()
    assert list(folder.iterdir()) == []


def test_the_solver_is_given_no_more_than_the_time_that_is_left(models: list[Any]) -> None:
    solved(crossed_leaves(3, gini=False), 7.0)
    assert 0 < models[0].options.MAX_TIME < 7


def test_what_cannot_be_is_not_done_whatever_the_solver_says() -> None:
    part = crossed_leaves(3, gini=False)
    offset = part.curved.offset.copy()
    offset[-part.curved.classes :] = 1e3  # more impurity than the people of the part can have
    assert not solved(replace(part, curved=replace(part.curved, offset=offset))).converged


def test_equations_that_follow_from_others_are_left_out() -> None:
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1.0], [2, 2, 2, 2]])
    kept = independent_rows(sp.csr_array(rows))
    assert len(kept) == np.linalg.matrix_rank(rows[kept]) == 3


def twice(part: Subproblem) -> Subproblem:
    """A part and a copy of it that nothing joins to it."""
    curved, rows = part.curved, len(part.inequality_bound)
    return replace(
        part,
        reference=np.tile(part.reference, 2),
        limit=np.tile(part.limit, 2),
        start=np.tile(part.start, 2),
        equality=sp.block_diag([part.equality] * 2, format="csr"),
        equality_bound=np.tile(part.equality_bound, 2),
        inequality=sp.csr_array((rows, 2 * len(part))),
        curved=replace(
            curved,
            matrix=sp.block_diag([curved.matrix] * 2, format="csr"),
            offset=np.tile(curved.offset, 2),
            coefficients=sp.block_diag([curved.coefficients] * 2, format="csr"),
            top=np.tile(curved.top, 2),
        ),
    )


@pytest.mark.parametrize(("classes", "runs"), [(3, 1), (60, 2)])
@pytest.mark.thorough
def test_what_nothing_joins_is_solved_apart_unless_it_is_small(classes: int, runs: int, models: list[Any]) -> None:
    part = crossed_leaves(classes, gini=True)
    one = solved(twice(part))
    assert len(models) == runs
    assert one.converged
    alone = solved(part)
    assert one.x == pytest.approx(np.tile(alone.x, 2), abs=1e-6)
    assert one.duals == pytest.approx(np.tile(alone.duals, 2), abs=1e-6)


def test_batches_are_all_there_is() -> None:
    problem = lift(twice(crossed_leaves(60, gini=True)))
    found = list(decompose_blocks(problem))
    for whole, name in ((problem.start, "variables"), (problem.right, "rows"), (problem.part.curved, "curved")):
        numbers = np.concatenate([getattr(batch, name) for batch in found])
        assert sorted(numbers.tolist()) == list(range(len(whole)))


def test_settled_blocks_leave_nothing_to_tell() -> None:
    part = crossed_leaves(3, gini=False)
    settled = sp.csr_array(part.curved.matrix.shape)
    blocks = replace(part.curved, matrix=settled, offset=np.ones(settled.shape[0]))
    assert impurity(blocks.counts(part.start), gini=False) == pytest.approx(3 * np.log(3))
    assert lift(replace(part, curved=blocks)).curved([], np.arange(1)) == []
