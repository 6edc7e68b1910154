"""Made-up people: no one here exists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DISTRICTS = ("Harbour", "Hill", "Lakeside", "Mill", "Old Town", "Station")
JOBS = ("baker", "builder", "clerk", "driver", "nurse", "retired", "student", "teacher")
HOUSEHOLDS = ("alone", "couple", "family", "shared flat")
DUST = np.array([1.1, 1.3, 0.0, 0.5, 0.3, 0.2, -0.3, 0.0])
"""How much each job adds to the odds of being ill."""


def people_csv(n: int, seed: int) -> bytes:
    """A CSV file of `n` people, the same bytes for the same seed."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(45, 18, n), 18, 90).astype(int)
    sex = rng.integers(0, 2, n)
    district, household = rng.integers(0, len(DISTRICTS), n), rng.integers(0, len(HOUSEHOLDS), n)
    job = _jobs(age, rng)
    smoker = rng.random(n) < 0.18 + 0.12 * np.isin(job, [0, 1, 3])
    odds = -4.2 + 0.055 * age + 1.3 * smoker + DUST[job] + 0.4 * (district == 3) + 0.2 * sex
    ill = rng.random(n) < 1 / (1 + np.exp(-odds))
    rows = ["name,age,sex,district,job,household,smoker,chronically_ill"]
    for i in range(n):
        public = (age[i], ("female", "male")[sex[i]], DISTRICTS[district[i]], JOBS[job[i]], HOUSEHOLDS[household[i]])
        private = ("yes" if smoker[i] else "no", "yes" if ill[i] else "no")
        rows.append(",".join(map(str, (f"person {seed}-{i}", *public, *private))))
    return ("\n".join(rows) + "\n").encode()


def _jobs(age: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    working = rng.choice([0, 1, 2, 3, 4, 7], size=len(age))
    job = np.where((age < 25) & (rng.random(len(age)) < 0.6), JOBS.index("student"), working)
    return np.where((age > 64) & (rng.random(len(age)) < 0.9), JOBS.index("retired"), job)
