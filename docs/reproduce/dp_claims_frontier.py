"""Claims about accuracy at equal epsilon: the paper's, and our own aims."""

from __future__ import annotations

from dp_account import DELTA
from dp_findings import Findings
from dp_frontier import EPSILONS
from writing import Claim, claim, fixed

NEAR = 0.015


def noise(found: Findings) -> Claim:
    rows, holds = [], []
    for name in ("Nursery", "Mushroom", "Adult, usual split"):
        mine = found.point(name, "sampled, evidence", 1.0)
        noisy = [p for p in found.points if p.data == name and p.way.startswith("noise") and p.epsilon == 1]
        best = max(noisy, key=lambda point: point.accuracy)
        assert mine is not None
        rows.append(f"{name}: {fixed(mine.accuracy, 3)} against {fixed(best.accuracy, 3)} ({best.way})")
        holds.append(abs(mine.accuracy - best.accuracy) < NEAR)
    here = "sampled, by evidence, against the best of all with noise, epsilon 1: " + "; ".join(rows)
    verdict = "yes" if all(holds) else "in part" if any(holds) else "no"
    return Claim("Section 4: about as precise as Jagannathan et al.'s trees with noise", here, verdict)


def aims(found: Findings) -> Claim:
    points = [found.point("Adult, usual split", "sampled, evidence", e) for e in EPSILONS[:3]]
    told_of = "; ".join(f"{fixed(p.accuracy, 3)} and {fixed(p.area, 3)} at {p.epsilon:g}" for p in points if p)
    last = points[-1]
    holds = last is not None and last.accuracy >= 0.83 and (last.area or 0) >= 0.88
    aim = f"Our aim, not the paper's: Adult, accuracy .83 and area .88 at epsilon <= 1, delta <= {DELTA:g}"
    return claim(aim, f"sampled, evidence: {told_of}", holds)
