"""Shadow models: who is drawn for them, and what they answer."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import leafgate_plugins.inference.membership.shadows
from leafgate.api import (
    AdversaryKnowledge,
    Candidates,
    InconclusiveError,
    Learner,
    Table,
)
from leafgate.app import progress_watched_by
from leafgate_plugins.inference.membership.shadows import ShadowModels, ShadowOptions, forecast_shadows, train_shadows
from leafgate_plugins.sklearn.training import train
from sklearn_pipelines import people

pytestmark = pytest.mark.thorough

TREE = Learner("sklearn.tree.DecisionTreeClassifier", {"max_depth": 5})


@pytest.fixture(autouse=True)
def _nothing_in_memory() -> None:
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()


def known_of(table: Table, seed: int = 3, in_table: int = 300) -> AdversaryKnowledge:
    """The knowledge of an attack whose candidates are the rows of a table."""
    candidates = Candidates(table, in_table, len(table) - in_table)
    return AdversaryKnowledge(
        table.schema, table.without_rows, retrain=partial(train, TREE), seed=seed, candidates=candidates
    )


class Reports(list[tuple[int, int, str]]):
    """Every report of parts that are done."""

    def begin(self, step: str) -> None:
        raise AssertionError(f"a plugin began the step {step}")

    def end(self) -> None:
        raise AssertionError("a plugin ended a step")

    def report(self, done: int, total: int, parts: str) -> None:
        self.append((done, total, parts))


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_says_how_many_models_are_trained(jobs: int) -> None:
    known = known_of(people(1, n=400), in_table=200)
    with progress_watched_by(reports := Reports()):
        train_shadows(ShadowOptions(models=3, jobs=jobs), known)
        train_shadows(ShadowOptions(models=5, jobs=jobs), known)
    first, second = [(done, 3, "shadow models") for done in range(4)], [(done, 2, "shadow models") for done in range(3)]
    assert reports == [*first, *second]  # only those that are not known yet


def at(table: Table, rows: np.ndarray) -> Table:
    """The rows of a table in this order, each one person."""
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))


def test_each_model_is_trained_on_as_many_candidates_as_the_model_and_on_others_each_time() -> None:
    table = people(1, n=700)
    shadows = train_shadows(ShadowOptions(models=8), known_of(table))
    assert shadows.scores.shape == (8, len(table), 2)
    assert (shadows.trained_on.sum(axis=1) == 300).all()
    assert len(np.unique(shadows.trained_on, axis=0)) == 8
    for model, rows in enumerate(shadows.trained_on):
        seeds = np.random.SeedSequence(3, spawn_key=(1,)).spawn(8)
        rng = np.random.default_rng(seeds[model])
        rng.permutation(len(table))
        own = at(table, np.flatnonzero(rows))
        np.testing.assert_allclose(shadows.scores[model], train(TREE, own, table, int(rng.integers(2**31))))


def test_the_order_of_candidates_only_permutes_the_result() -> None:
    table = people(1, n=600)
    doubled = at(table, np.array([*range(len(table)), *range(0, len(table), 3)]))
    order = np.random.default_rng(0).permutation(len(doubled))
    first = train_shadows(ShadowOptions(models=6), known_of(doubled))
    second = train_shadows(ShadowOptions(models=6), known_of(at(doubled, order)))
    assert (second.scores == first.scores[:, order]).all()
    assert _patterns(second, at(doubled, order)) == _patterns(first, doubled)


def _patterns(shadows: ShadowModels, table: Table) -> list[tuple[object, ...]]:
    """Each candidate's cells, and which models were trained on the candidate, in sorted order."""
    rows = zip(table.frame.astype(str).itertuples(index=False), shadows.trained_on.T.tolist(), strict=True)
    return sorted((*map(str, cells), *map(str, trained)) for cells, trained in rows)


def test_nobody_who_knows_how_to_train_is_inconclusive() -> None:
    known = replace(known_of(people(1)), retrain=None)
    with pytest.raises(InconclusiveError, match="neither the algorithm nor the estimator"):
        train_shadows(ShadowOptions(models=2), known)


class CountedTraining:
    """Trains trees, and counts how often; an error in the model before which it is told to stop."""

    def __init__(self, stop: int | None = None, pause: float = 0.0) -> None:
        self.calls, self.stop, self.pause = 0, stop, pause

    def __call__(self, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        if self.calls == self.stop:
            raise InconclusiveError("that is enough")
        self.calls += 1
        time.sleep(self.pause)
        return train(TREE, own, asked, seed)


def test_threads_change_nothing() -> None:
    known = known_of(people(2, n=500))
    one, two = (
        train_shadows(ShadowOptions(models=7, jobs=jobs), replace(known, retrain=partial(train, TREE)))
        for jobs in (1, 3)
    )
    assert (one.scores == two.scores).all()
    assert (one.trained_on == two.trained_on).all()


def test_attacks_share_one_set_and_the_first_models_of_a_larger_one() -> None:
    training = CountedTraining()
    known = replace(known_of(people(2, n=500)), retrain=training)
    few = train_shadows(ShadowOptions(models=3), known)
    many = train_shadows(ShadowOptions(models=5), replace(known))
    assert training.calls == 5
    assert (many.scores[:3] == few.scores).all()
    train_shadows(ShadowOptions(models=4), known)
    assert training.calls == 5
    train_shadows(ShadowOptions(models=4), replace(known, seed=9))
    assert training.calls == 9


def cached(beside: Path, **options: object) -> ShadowOptions:
    """Options of a policy in this folder."""
    return ShadowOptions.model_validate(options, context={"beside": beside})


def test_a_cache_serves_the_next_process_and_no_other_people_or_training(tmp_path: Path) -> None:
    def run(table: Table, models: int, kind: str = "sklearn tree", seed: int = 3) -> tuple[ShadowModels, int]:
        """In a new process, as far as what is kept in memory goes."""
        leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()
        training = CountedTraining()
        known = replace(known_of(table, seed), retrain=training, retrain_id=kind)
        return train_shadows(cached(tmp_path, models=models, cache="kept"), known), training.calls

    table = people(2, n=500)
    first, calls = run(table, 4)
    assert calls == 4
    (file,) = (tmp_path / "kept").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again, calls = run(table, 4)
    assert calls == 0
    assert (again.scores == first.scores).all()
    assert (again.trained_on == first.trained_on).all()
    order = np.random.default_rng(1).permutation(len(table))
    moved, calls = run(at(table, order), 6)
    assert calls == 2
    assert (moved.scores[:4] == first.scores[:, order]).all()
    assert run(people(5, n=500), 4)[1] == 4
    assert run(table, 4, kind="sklearn forest")[1] == 4
    assert run(table, 4, seed=4)[1] == 4
    ages = table.numbers("age").copy()
    ages[0] = 17.5
    assert run(replace(table, frame=table.frame.assign(age=ages), _codes={}), 4)[1] == 4
    file.write_bytes(b"PK no archive")
    assert run(table, 4)[1] == 4
    assert run(table, 4)[1] == 0


def test_what_was_trained_before_an_error_is_in_the_cache(tmp_path: Path) -> None:
    table = people(2, n=500)
    options = cached(tmp_path, models=6, cache=".", jobs=1)
    known = replace(known_of(table), retrain=CountedTraining(stop=2), retrain_id="sklearn tree")
    with pytest.raises(InconclusiveError, match="that is enough"):
        train_shadows(options, known)
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()
    rest = CountedTraining()
    train_shadows(options, replace(known, retrain=rest))
    assert rest.calls == 4


def test_what_another_process_cached_meanwhile_is_kept(tmp_path: Path) -> None:
    known = replace(known_of(people(2, n=500)), retrain=CountedTraining(), retrain_id="sklearn tree")
    train_shadows(cached(tmp_path, models=5, cache="kept"), known)
    (file,) = (tmp_path / "kept").iterdir()
    content = file.read_bytes()
    file.unlink()
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        file.write_bytes(content)
        return train(TREE, own, asked, seed)

    train_shadows(cached(tmp_path, models=2, cache="kept", jobs=1), replace(known, retrain=retrain))
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()
    rest = CountedTraining()
    train_shadows(cached(tmp_path, models=5, cache="kept"), replace(known, retrain=rest))
    assert rest.calls == 0


def test_a_cache_without_room_is_named_and_hides_no_other_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_room)
    known = replace(known_of(people(2, n=500)), retrain=CountedTraining(), retrain_id="sklearn tree")
    with pytest.raises(InconclusiveError, match=r"^shadows.cache: could not be written: .*make room, run again"):
        train_shadows(cached(tmp_path, models=2, cache="kept"), known)

    def interrupted(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        if calls.pop():
            raise KeyboardInterrupt
        return train(TREE, own, asked, seed)

    calls = [True, False]
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()
    with pytest.raises(KeyboardInterrupt):
        train_shadows(cached(tmp_path, models=2, cache="kept", jobs=1), replace(known, retrain=interrupted))


def test_errors_of_threads_are_raised() -> None:
    known = replace(known_of(people(2, n=500)), retrain=CountedTraining(stop=3))
    with pytest.raises(InconclusiveError, match="that is enough"):
        train_shadows(ShadowOptions(models=9, jobs=2), known)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_time_limit_ends_it_and_the_next_run_goes_on(tmp_path: Path, jobs: int) -> None:
    table = people(2, n=500)
    options = cached(tmp_path, models=12, time_limit=0.4, cache="kept", jobs=jobs)
    known = replace(known_of(table), retrain=CountedTraining(pause=0.2), retrain_id="sklearn tree")
    with pytest.raises(InconclusiveError, match=r"\d+ of 12 shadow models were trained in 0.4 s") as caught:
        train_shadows(options, known)
    done = int(caught.value.problems[0].message.split()[0])
    assert 1 <= done < 12
    assert "goes on where it ended" in str(caught.value.problems)
    leafgate_plugins.inference.membership.shadows._ANSWERS.sets.clear()
    rest = CountedTraining()
    assert len(train_shadows(options.model_copy(update={"time_limit": None}), replace(known, retrain=rest))) == 12
    assert rest.calls == 12 - done


def test_a_forecast_trains_nothing_and_is_the_same_on_every_machine() -> None:
    training = CountedTraining()
    known = replace(known_of(people(2, n=700)), retrain=training)
    options = ShadowOptions(models=10, jobs=1)
    words = "10 shadow models, each trained on 300 of 700 candidates"
    assert forecast_shadows(options, known) == words
    assert training.calls == 0
    train_shadows(options, known)
    assert forecast_shadows(options, known) == f"{words}, are known from an earlier attack or run"


INTERRUPTED = """
import signal, sys, time, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it
sys.path[:0] = {path!r}
from dataclasses import replace
from test_membership_shadows import CountedTraining, known_of
from leafgate_plugins.inference.membership.shadows import ShadowOptions, train_shadows
from sklearn_pipelines import people
known = replace(known_of(people(2, n=500)), retrain=CountedTraining(pause=30.0))
print("ready", flush=True)
train_shadows(ShadowOptions(models=9, jobs={jobs}), known)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_it_at_once(jobs: int) -> None:
    script = INTERRUPTED.format(path=[str(Path(__file__).parent), *sys.path], jobs=jobs)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        time.sleep(1.0)
        running.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, err = running.communicate(timeout=120)
        assert "KeyboardInterrupt" in err
        assert running.returncode != 0
        assert time.monotonic() - started < 60  # nine models take 270 s, or 150 s in two threads
