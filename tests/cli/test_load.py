"""Many audits at once that share folders and a cache, are interrupted and killed, and find the disk full.

What signal comes when follows from a seed, which every failure names. `LEAFGATE_LOAD_SEED=N` repeats one round.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import LISTEN, leafgate, start
from patience import SECONDS
from session_processes import PROC, ended_in
from survey import PEOPLE, survey, write_policy

PROCESSES = 8
SEED = "LEAFGATE_LOAD_SEED"
SEEDS = [int(os.environ[SEED])] if SEED in os.environ else [1]
SLOW_ROUNDS = 24
SIGNALS = ("SIGINT", "SIGTERM", "SIGKILL")
STARTED_WITHIN_SECONDS = 4.0
MOST_WRITING_CALLS = 8
"""Signals come at one of so many calls that write, or at a random time."""
TEMPORARY = ".leafgate-*"
CODES = {0, 1}
"""How runs end that nothing disturbs."""
WORKER_KILLED = 3
COMMAND_KILLED = 4
"""Of the two processes of a command the one that runs it was killed."""
IN_USE = "another audit or sweep is writing its results there"

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="looks for processes in Linux's /proc")

FAULTS = """
import os, signal, time
number, name, pause = os.environ["LOAD_FAULTS"].split()
calls = 0

def disturbed(call):
    def instead(*words, **options):
        global calls
        calls += 1
        if calls == int(number):
            os.kill(os.getpid(), getattr(signal, name))
        time.sleep(float(pause))
        return call(*words, **options)
    return instead

for each in ("fsync", "replace"):
    setattr(os, each, disturbed(getattr(os, each)))
"""
"""A slow disk, and a signal at the n-th call that writes: 0 is none of them."""
SITE = "import os\nif 'LOAD_FAULTS' in os.environ:\n    import load_faults\n"
"""Runs in every process, so in workers too."""

SHADOWS = {"shadows": 8, "more shadows": 12}
"""How many shadow models audits of these kinds train; both keep them in one cache."""


def membership(models: int) -> dict[str, Any]:
    return {
        "build": {"use": "c45"},
        "data.control": "control.csv",
        "attacks": [{"use": "lira", "shadows": {"models": models, "cache": "cache", "jobs": 1}}],
        "metrics": [{"use": "membership_auc", "at_most": 1}, {"use": "smallest_leaf", "at_least": 2}],
    }


KINDS: dict[str, dict[str, Any]] = {
    "builder": {},
    "failing": {"metrics.0.at_least": 24},
    "model": {"build": {"use": "published", "path": "tree.skops"}, "metrics.0.at_least": 2},
    **{kind: membership(models) for kind, models in SHADOWS.items()},
    "sweep": {},
}
OVER = ["--over", "build.k=2,3,4,6"]


@dataclass
class Ran:
    """One process of a round, how it was disturbed and how it ended."""

    kind: str
    out: Path
    signal: str
    running: subprocess.Popen[str]
    code: int = 0
    err: str = ""


@dataclass
class Load:
    """A folder with a policy of each kind, and what each audit writes that nothing disturbs."""

    folder: Path
    expected: dict[str, dict[str, bytes]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def words(self, kind: str, out: Path, workers: int = 1) -> list[object]:
        sweep = ["sweep", self.folder / "sweep.yaml", *OVER, "--workers", workers]
        return [*(sweep if kind == "sweep" else ["audit", self.folder / f"{kind}.yaml"]), "--out", out]

    def begin(self, kind: str, out: Path, faults: str = "") -> subprocess.Popen[str]:
        """Start one run in a session of its own, its processes disturbed as `FAULTS` says."""
        setting = f"import os; os.environ['LOAD_FAULTS'] = {faults!r}; import load_faults\n" if faults else ""
        before, site = f"{LISTEN}\n{setting}", self.folder / "site"
        return start(*self.words(kind, out, workers=2), before=before, path=site, start_new_session=True)

    def calm(self, kind: str, out: Path) -> None:
        """Run undisturbed: no temporary file of killed ones stays, and the results are those of an untouched folder."""
        ended = leafgate(*self.words(kind, out))
        assert ended.code in CODES, (kind, ended.err)
        assert not list(out.rglob(TEMPORARY))
        assert results(out) == self.expected[kind], kind


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Load:
    from sklearn.tree import DecisionTreeClassifier
    from skops.io import dump

    folder = tmp_path_factory.mktemp("load")
    survey(folder).unlink()
    for kind, changes in KINDS.items():
        write_policy(folder, changes).rename(folder / f"{kind}.yaml")
    (folder / "control.csv").write_text(PEOPLE.replace("20,", "25,"))
    rows = [line.split(",") for line in PEOPLE.splitlines()[1:]]
    tree = DecisionTreeClassifier(min_samples_leaf=4, random_state=0)
    tree.fit([[float(row[0])] for row in rows], [row[3] for row in rows])
    tree.feature_names_in_ = np.array(["age"], dtype=object)
    dump(tree, folder / "tree.skops")
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    (folder / "site" / "load_faults.py").write_text(FAULTS)
    load = Load(folder)
    for kind in KINDS:
        ended = leafgate(*load.words(kind, folder / "expected" / kind))
        assert ended.code in CODES, (kind, ended.out, ended.err)
        load.expected[kind] = results(folder / "expected" / kind)
    shutil.rmtree(folder / "cache")
    return load


@pytest.fixture
def load(made: Load, tmp_path: Path) -> Load:
    """The same in a folder of this test's own."""
    shutil.copytree(made.folder, tmp_path / "load")
    return Load(tmp_path / "load", made.expected)


def results(folder: Path) -> dict[str, bytes]:
    """Every file of results but those that hold clock readings or were set aside."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    kept = (path for path in files if path.name != "timings.json" and not path.name.startswith("earlier-"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def points_of(folder: Path) -> dict[str, bytes]:
    """The files of the finished points of sweeps."""
    finished = {point.parent.name for point in folder.glob("*/point.json")}
    return {name: content for name, content in results(folder).items() if name.partition("/")[0] in finished}


def shadow_scores(cache: Path) -> dict[int, bytes]:
    """What the cache holds of each shadow model."""
    scores = {}
    for path in cache.glob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            scores.update({int(number): each.tobytes() for number, each in zip(*file.values(), strict=True)})
    return scores


def assert_whole(folder: Path) -> None:
    """Every JSON document can be parsed, and a report stands beside the very release that it is about."""
    for path in folder.rglob("*.json"):
        json.loads(path.read_bytes())
    for report in folder.rglob("report.json"):
        document = json.loads(report.read_bytes())
        release = report.with_name("release.json")
        if document["release"] is not None:
            assert release.exists(), report
            assert hashlib.sha256(release.read_bytes()).hexdigest() == document["release"]["sha256"], report
        code = {"pass": 0, "fail": 1, "inconclusive": 3}[document["verdict"]]
        assert leafgate("report", report).code == code, report


def assert_ended(ran: Ran) -> None:
    """A run ends by its verdict or by its signal, or is refused in one line; of several processes one may be killed."""
    number = getattr(signal, ran.signal, None)
    codes = CODES | ({128 + number, -number} if number else set())
    codes |= {WORKER_KILLED} if ran.kind == "sweep" and number else set()
    codes |= {COMMAND_KILLED} if ran.signal == "SIGKILL" else set()
    if ran.code == 2:
        assert IN_USE in ran.err, ran.err
    else:
        assert ran.code in codes, (ran.code, ran.err)
    lines = [line for line in ran.err.splitlines() if line.startswith("leafgate: ")]
    assert len(lines) == (ran.code in {2, WORKER_KILLED, COMMAND_KILLED}), ran.err
    assert number == -ran.code or "Traceback" not in ran.err, ran.err  # Python had not come to leafgate's first line


def started_runs(load: Load, rng: random.Random, outs: list[Path]) -> list[Ran]:
    """Start 8 runs within some seconds, three in four of them disturbed; wait until all have ended."""
    kinds = [*KINDS, *rng.choices(list(KINDS), k=PROCESSES - len(KINDS))]
    rng.shuffle(kinds)
    moments = sorted(rng.uniform(0, STARTED_WITHIN_SECONDS) for _ in kinds)
    started, later = [], []
    begun = time.monotonic()
    for moment, kind, out in zip(moments, kinds, outs, strict=True):
        name, by_time = rng.choice((*SIGNALS, "")), rng.random() < 0.3
        call, pause = rng.randint(1, MOST_WRITING_CALLS), rng.uniform(0, 0.3)
        seconds = moment + rng.uniform(0.1, 2 * STARTED_WITHIN_SECONDS)
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        faults = f"{0 if by_time or not name else call} {name or None} {pause:.3f}"
        started.append(Ran(kind, out, name, load.begin(kind, out, faults)))
        if name and by_time:
            later.append((seconds, len(started) - 1))
    for seconds, number in sorted(later):
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        if started[number].running.poll() is None:
            started[number].running.send_signal(getattr(signal, started[number].signal))
    for ran in started:
        _, ran.err = ran.running.communicate(timeout=4 * SECONDS)
        ran.code = ran.running.returncode
        load.counts[f"{ran.signal or 'undisturbed'} {ran.code}"] += 1
    return started


def one_round(load: Load, seed: int, *, shared: bool) -> None:
    """Disturb 8 runs into one folder, or into one each, and look at what they leave."""
    cache = load.folder / "cache"
    outs = [load.folder / ("shared" if shared else f"own-{number}") for number in range(PROCESSES)]
    scores = shadow_scores(cache)
    points = {out: points_of(out) for out in outs}
    older = {path for out in outs for path in out.rglob(TEMPORARY)}  # of points of sweeps that were killed
    started = started_runs(load, random.Random(f"{seed} {shared}"), outs)
    for ran in started:
        assert ended_in(ran.running.pid, SECONDS), f"{ran.kind} left processes after {ran.signal}"
        assert_ended(ran)
    for out, before in points.items():
        if out.exists():
            assert_whole(out)
        here = [ran for ran in started if ran.out == out]
        assert any(ran.signal == "SIGKILL" for ran in here) or older.issuperset(out.rglob(TEMPORARY)), out
        after = points_of(out)
        assert {name: after.get(name) for name in before} == before, "a finished point was lost"
    after_scores = shadow_scores(cache)
    for ran in started:
        trained = range(SHADOWS.get(ran.kind, 0) if ran.code in CODES else 0)
        assert set(trained) <= set(after_scores), "a shadow model was lost"
    assert {number: after_scores.get(number) for number in scores} == scores, "a shadow model was lost"


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(SEEDS, marks=pytest.mark.processes),
        pytest.param([*range(SEEDS[0], SEEDS[0] + SLOW_ROUNDS)], marks=pytest.mark.slow),
    ],
    ids=["once", "hundreds"],
)
def test_audits_that_are_interrupted_and_killed_leave_whole_results_and_no_process(
    load: Load, seeds: list[int]
) -> None:
    for seed in seeds:
        for shared in (True, False):
            try:
                one_round(load, seed, shared=shared)
            except BaseException as error:
                error.add_note(f"repeat it by {SEED}={seed}; {'one folder' if shared else 'a folder each'}")
                raise
    print(dict(sorted(load.counts.items())))
    for kind in ("sweep", "shadows"):  # what was finished is taken over
        load.calm(kind, load.folder / "own-0" / kind)
    assert leafgate(*load.words("builder", load.folder / "shared")).code == 0
    assert not list((load.folder / "shared").glob(TEMPORARY))


PAGE_BYTES = 4096
DISK_PAGES = 64
NEEDS_MOUNT = "only root can mount a small disk"


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of DISK_PAGES pages of memory; the test is skipped where none can be mounted."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_PAGES * PAGE_BYTES}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(NEEDS_MOUNT)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, pages: int) -> Path:
    """A file that leaves so many pages of a disk free."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE_BYTES))
        except OSError:
            file.truncate(file.tell() - pages * PAGE_BYTES)
    return filler


def assert_full(load: Load, kind: str, out: Path) -> None:
    """A run that finds no room ends in 3 or 4, in one line that says what to do, with nothing half written."""
    running = load.begin(kind, out)
    said, err = running.communicate(timeout=4 * SECONDS)
    assert ended_in(running.pid, SECONDS)
    lines = [line for line in err.splitlines() if line.startswith("leafgate: ")]
    assert "Traceback" not in err
    assert_whole(out)
    assert not list(load.folder.rglob(TEMPORARY))
    if running.returncode == 3:  # one attack found no room, and the others and the limits were judged
        assert lines == []
        assert "shadows.cache: could not be written: " in said, said
        assert "make room, run again" in said
        assert json.loads((out / "report.json").read_bytes())["verdict"] == "inconclusive"
        return
    assert (running.returncode, len(lines)) == (4, 1), err
    assert "make room, run again" in lines[0]
    assert not (out / "report.json").exists()


@pytest.mark.processes
@pytest.mark.parametrize(("kind", "seed"), [("builder", 1), ("sweep", 2), ("shadows", 3)])
def test_a_disk_that_is_full_loses_no_earlier_result_and_the_next_run_goes_on(load: Load, kind: str, seed: int) -> None:
    cache = load.folder / "cache"
    with small_disk(cache if kind == "shadows" else load.folder / "disk") as disk:
        earlier, out = disk / "earlier", (load.folder if kind == "shadows" else disk) / "out"
        assert leafgate(*load.words("builder", earlier)).code == 0
        if kind == "sweep":  # some points are finished, and others are not
            assert leafgate("sweep", load.folder / "sweep.yaml", "--over", "build.k=2,6", "--out", out).code == 0
        points, pages = points_of(out), random.Random(seed).randrange(2)
        filler = fill(disk, pages)
        assert_full(load, kind, out)
        assert results(earlier) == load.expected["builder"]
        after = points_of(out)
        assert {name: after.get(name) for name in points} == points
        filler.unlink()
        ended = leafgate(*load.words(kind, out))
        assert ended.code in CODES, ended.err
        assert results(out) == load.expected[kind]


@pytest.mark.processes
def test_a_folder_that_an_audit_writes_to_is_refused_to_others_and_left_as_it_is(load: Load) -> None:
    out = load.folder / "out"
    os.mkfifo(load.folder / "people.pipe")
    running = start(*load.words("builder", out), load.folder / "people.pipe", start_new_session=True)
    with (load.folder / "people.pipe").open("w") as pipe:  # opens once the audit reads
        for kind in ("failing", "sweep"):
            (out / "report.json").write_text("{}")
            (out / "sweep.json").write_text("{}")
            ended = leafgate(*load.words(kind, out))
            assert (ended.code, IN_USE in ended.err) == (2, True)
            assert {path.name for path in out.iterdir()} == {"report.json", "sweep.json"}
        (out / "sweep.json").unlink()
        pipe.write(PEOPLE)
    _, err = running.communicate(timeout=4 * SECONDS)
    assert running.returncode == 0, err
    assert_whole(out)
    load.calm("builder", out)
