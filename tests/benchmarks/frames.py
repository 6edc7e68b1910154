"""How long does `leafgate.audit` take for a table in memory, compared with another version of leafgate?

    python tests/benchmarks/frames.py OTHER_PYTHON [--rows 1000000] [--runs 5]

OTHER_PYTHON is the interpreter of an environment with the other version. Both audit the same decision tree and table,
each in a process of its own and by turns. Printed are the median seconds of each and the median of the ratios of pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

AUDIT = """
import json, resource, sys, time
import numpy as np, pandas as pd
from sklearn.tree import DecisionTreeClassifier
import leafgate

rows, rng = int(sys.argv[1]), np.random.default_rng(0)
people = pd.DataFrame({
    "age": rng.integers(18, 90, rows),
    "zip": rng.integers(0, 1000, rows),
    "pay": rng.normal(3000, 700, rows).round(2),
    "hours": rng.integers(0, 60, rows),
    "children": rng.integers(0, 6, rows),
    "sex": rng.integers(0, 2, rows),
})
odd = (people["age"] > 50) ^ (people["pay"] > 3300) ^ (rng.random(rows) < 0.1)
ill = pd.Series(np.where(odd, "yes", "no"), name="ill")
tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=50, random_state=0).fit(people, ill)
start = time.perf_counter()
audit = leafgate.audit(tree, people, ill, search_remedies=False)
seconds = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"verdict": audit.verdict, "seconds": seconds, "memory": memory}))
"""


def measured(python: str, rows: int) -> dict[str, float]:
    """The seconds and the largest memory in MB of one audit by an interpreter."""
    ended = subprocess.run([python, "-c", AUDIT, str(rows)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", metavar="OTHER_PYTHON")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    pairs = [(measured(given.other, given.rows), measured(sys.executable, given.rows)) for _ in range(given.runs)]
    for name, each in (("other", [pair[0] for pair in pairs]), ("this", [pair[1] for pair in pairs])):
        seconds, memory = (statistics.median(run[key] for run in each) for key in ("seconds", "memory"))
        print(f"{name}: {seconds:.2f} s, {memory:.0f} MB")
    ratio = statistics.median(other["seconds"] / this["seconds"] for other, this in pairs)
    print(f"{ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
