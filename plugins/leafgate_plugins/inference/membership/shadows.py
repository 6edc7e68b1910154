"""Shadow models: models of the same kind that the adversary trains on random halves of the candidates.

All attacks of a policy that ask for shadow models share one set: a model that was trained once is not trained again in
the same process, nor by a later run where the policy names a folder to keep the answers in.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from pydantic import Field

from leafgate.api import AdversaryKnowledge, InconclusiveError, LeafgateError, Strict, lazy, report_progress
from leafgate.kernel.options import CacheFolder
from leafgate_plugins.inference.game import candidates_of, canonical_order, coins, own_classes
from leafgate_plugins.inference.membership.side_by_side import side_by_side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats, Mask, Table

    Retrain = Callable[[Table, Table, int], Floats]
else:
    np = lazy("numpy")


RANDOM_STREAM = 1
"""The stream of random numbers, among those that the audit's seed allows, that belongs to shadow models."""


class ShadowOptions(Strict):
    """How many shadow models are trained, and how."""

    models: int = Field(32, ge=2, description="How many shadow models are trained; a candidate is in half of them.")
    time_limit: float | None = Field(
        None,
        gt=0,
        description="Seconds after which no further model is trained, so that the attack is inconclusive.",
    )
    cache: CacheFolder | None = Field(
        None,
        description="A folder below the policy's own that keeps the models' answers for the next run.",
    )
    jobs: int | None = Field(
        None,
        ge=1,
        le=64,
        description="How many models are trained at once; by default one for each core, of builders one.",
    )


@dataclass(frozen=True)
class ShadowModels:
    """What shadow models answer about each candidate.

    Attributes:
        scores: shape (n_models, n_candidates, n_classes), from 0 to 1: as `Answers.scores` of each model.
        trained_on: shape (n_models, n_candidates), whether the model was trained on the candidate.
        own: shape (n_candidates,), as `Answers.own`.
    """

    scores: Floats
    trained_on: Mask
    own: NDArray[np.int64]

    def __len__(self) -> int:
        """How many models there are."""
        return len(self.scores)

    @property
    def of_own_class(self) -> Floats:
        """The score of each candidate's own class: shape (n_models, n_candidates); 0 where the class is missing."""
        padded = np.pad(self.scores, ((0, 0), (0, 0), (0, 1)))
        result: Floats = padded[:, np.arange(len(self.own)), self.own]
        return result

    def without(self, model: int) -> ShadowModels:
        """All of them but one."""
        kept = np.arange(len(self)) != model
        return ShadowModels(self.scores[kept], self.trained_on[kept], self.own)


def shadow_size(n_candidates: int, in_table: int) -> int:
    """How many candidates each shadow model is trained on: as many as the model, at most half of all."""
    return max(1, min(in_table, n_candidates // 2))


def train_shadows(options: ShadowOptions, known: AdversaryKnowledge) -> ShadowModels:
    """Shadow models of the audited model, each trained on random candidates.

    Which candidates are drawn follows from the seed and from their cells, not from where they stand. The first models
    are the same however many there are.

    Args:
        options: how many, and how they are trained; of these only the number changes the result.
        known: its candidates, and `retrain`.

    Raises:
        InconclusiveError: there are no candidates, nobody knows how to train such a model, the time is over, or the
            cache cannot be written.
    """
    training = _training_of(known)
    with _ONE_AT_A_TIME:
        answers = _ANSWERS.of(training)
        training.train(options, answers, range(options.models))
    missing = [model for model in range(options.models) if model not in answers]
    if missing:
        raise _out_of_time(options, options.models - len(missing))
    place = np.argsort(training.order)
    scores = np.stack([answers[model][place] for model in range(options.models)])
    trained_on = np.zeros(scores.shape[:2], dtype=bool)
    for model in range(options.models):
        trained_on[model, training.drawn(model)[0]] = True
    return ShadowModels(scores, trained_on, own_classes(training.people))


def forecast_shadows(options: ShadowOptions, known: AdversaryKnowledge) -> str:
    """How many models are going to be trained on how many people; no clock is read.

    Raises:
        InconclusiveError: as `train_shadows`.
    """
    training = _training_of(known)
    with _ONE_AT_A_TIME:
        answers = _ANSWERS.of(training)
        training.load(options, answers)
        known_before = all(model in answers for model in range(options.models))
    number = (
        f"{options.models:,} shadow models, each trained on {training.size:,} of {len(training.people):,} candidates"
    )
    return f"{number}, are known from an earlier attack or run" if known_before else number


ROUNDING = 1e-6
"""So much may a score exceed 1."""

WRITE_SECONDS = 30.0
"""How often the cache is written while models are trained."""


def _out_of_time(options: ShadowOptions, done: int) -> InconclusiveError:
    kept = (
        "run it again, which goes on where it ended" if options.cache else "name a `cache`, so that a next run goes on"
    )
    return InconclusiveError(
        f"{done} of {options.models} shadow models were trained in {options.time_limit:g} s",
        place="shadows.time_limit",
        remedy=f"allow more time, or {kept}",
    )


def _training_of(known: AdversaryKnowledge) -> _Training:
    candidates = candidates_of(known)
    if known.retrain is None:
        raise InconclusiveError(
            "shadow models cannot be trained: neither the algorithm nor the estimator of the model is known",
            remedy="name it in `build: {trained_by: {estimator: ..., parameters: ...}}`, or use an attack without them",
        )
    size = shadow_size(len(candidates), candidates.in_table)
    in_python = known.mechanism is not None
    return _Training(candidates.table, size, known.seed, known.retrain, known.retrain_id, in_python)


@dataclass(frozen=True)
class _Training:
    """How the models of one set are trained.

    Attributes:
        people: the candidates.
        size: how many of them each model is trained on.
        seed: the seed of all of them.
        retrain: as `AdversaryKnowledge.retrain`.
        retrain_id: as `AdversaryKnowledge.retrain_id`.
        in_python: whether a builder trains them, so that threads would wait for each other.
    """

    people: Table
    size: int
    seed: int
    retrain: Retrain
    retrain_id: str
    in_python: bool

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The candidates in an order that follows from their cells."""
        return canonical_order(self.people)

    @cached_property
    def digest(self) -> str:
        """What the answers follow from: the candidates with all cells, in no order, what is trained, seed and size."""
        columns = [(column.name, column.described()) for column in self.people.schema.columns]
        found = hashlib.sha256(json.dumps([self.retrain_id, self.seed, self.size, columns]).encode())
        for column in self.people.schema.columns:
            cells = self.people.numbers(column.name) if column.numeric else self.people.codes(column.name)
            found.update(np.ascontiguousarray(cells[self.order]).astype("<f8").tobytes())
        return found.hexdigest()

    def drawn(self, model: int) -> tuple[NDArray[np.int64], int]:
        """The positions of the candidates that a model is trained on, and its seed."""
        rng = coins(self.seed, RANDOM_STREAM, model)
        rows = self.order[rng.permutation(len(self.people))[: self.size]]
        return rows, int(rng.integers(2**31))

    def scores(self, model: int) -> Floats:
        """What a model answers about the candidates, in the order of their cells."""
        rows, seed = self.drawn(model)
        scores = np.nan_to_num(self.retrain(self.people.people_at(rows), self.people, seed))
        result: Floats = np.asarray(scores, dtype=np.float64)[self.order]
        return result

    def jobs(self, options: ShadowOptions) -> int:
        """How many models are trained at once."""
        if options.jobs is not None:
            return options.jobs
        return 1 if self.in_python else max(1, _cores())

    def train(self, options: ShadowOptions, answers: dict[int, Floats], models: Sequence[int]) -> None:
        """Add the answers of the models that are not among them yet, as far as the time reaches."""
        self.load(options, answers)
        missing = [model for model in models if model not in answers]
        clock = _Clock(options.time_limit)
        written = time.monotonic()
        unwritten = False
        try:
            report_progress(0, len(missing), "shadow models")
            for model, scores in side_by_side(clock.allowed(missing), self.scores, self.jobs(options)):
                answers[model], unwritten = scores, True
                clock.finished += 1
                report_progress(clock.finished, len(missing), "shadow models")
                if time.monotonic() - written > WRITE_SECONDS:
                    self.store(options, answers)
                    written, unwritten = time.monotonic(), False
        except BaseException:
            if unwritten:
                with suppress(InconclusiveError):  # what ended the training is the reason, and not the cache
                    self.store(options, answers)
            raise
        if unwritten:
            self.store(options, answers)

    def load(self, options: ShadowOptions, answers: dict[int, Floats]) -> None:
        """Add what the cache holds; a file that is none of these is left alone until it is written anew."""
        path = self._path(options)
        if path is None or not path.is_file():
            return
        try:
            with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as file:
                models, scores = file["models"], file["scores"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return
        shape = (len(models), len(self.people), len(self.people.schema.classes))
        if scores.dtype != np.float64 or scores.shape != shape or models.dtype != np.int64:
            return
        if ((scores >= 0) & (scores <= 1 + ROUNDING)).all():
            for model, of_model in zip(models.tolist(), scores, strict=True):
                answers.setdefault(model, of_model)

    def store(self, options: ShadowOptions, answers: dict[int, Floats]) -> None:
        """Write all answers to the cache, if there is one, together with those that other processes wrote meanwhile."""
        path = self._path(options)
        if path is None:
            return
        try:
            self._write(path, options, answers)
        except LeafgateError as error:
            problems = (replace(each, location="shadows.cache") for each in error.problems)  # a path is not public
            raise InconclusiveError.listing(problems) from None

    def _write(self, path: Path, options: ShadowOptions, answers: dict[int, Floats]) -> None:
        from leafgate.app import write_file
        from leafgate.io.files import OWNER_ONLY, make_folder
        from leafgate.io.locks import turn_in_folder

        make_folder(path.parent)
        with turn_in_folder(path.parent):
            self.load(options, answers)
            models = sorted(answers)
            content = BytesIO()
            np.savez(content, models=np.array(models, dtype=np.int64), scores=np.stack([answers[m] for m in models]))
            write_file(path, content.getvalue(), OWNER_ONLY)

    def _path(self, options: ShadowOptions) -> Path | None:
        """The file of this set in the cache; None without a cache, or where nobody knows what is trained."""
        if options.cache is None or not self.retrain_id:
            return None
        name = hashlib.sha256(f"{self.digest} {_versions(self.retrain_id.partition('.')[0])}".encode()).hexdigest()
        return options.cache / f"shadows-{name[:40]}.npz"


def _versions(package: str) -> list[str]:
    """The versions of leafgate, numpy and of the distributions that a package is of."""
    from importlib.metadata import packages_distributions, version

    names = {"leafgate", "numpy", *packages_distributions().get(package, [])}
    return [f"{name} {version(name)}" for name in sorted(names)]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Answers:
    """The answers of the models of the last sets, so that attacks share them."""

    sets: OrderedDict[str, tuple[Retrain, dict[int, Floats]]] = field(default_factory=OrderedDict)

    def of(self, training: _Training) -> dict[int, Floats]:
        """The answers of a set by model, to be added to."""
        who = "" if training.retrain_id else str(id(training.retrain))
        name = f"{training.digest} {who}"
        _, answers = self.sets.setdefault(name, (training.retrain, {}))
        self.sets.move_to_end(name)
        while len(self.sets) > MAX_SETS:
            self.sets.popitem(last=False)
        return answers


MAX_SETS = 2
"""So many sets of shadow models are kept in memory; 32 models of 10,000 candidates and 2 classes are 5 MB."""

_ANSWERS = _Answers()
_ONE_AT_A_TIME = threading.Lock()


@dataclass
class _Clock:
    """Lets models begin as long as they are likely to end within the limit; the first one in any case."""

    limit: float | None
    finished: int = 0
    begun: float = field(default_factory=time.monotonic)

    def allowed(self, models: Sequence[int]) -> Iterator[int]:
        """The models that may begin, each when it is asked for."""
        for model in models:
            passed = time.monotonic() - self.begun
            each = passed / self.finished if self.finished else 0.0
            if self.limit is not None and model != models[0] and passed + each > self.limit:
                return
            yield model
