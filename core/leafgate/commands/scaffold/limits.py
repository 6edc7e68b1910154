"""What a first policy has built, published, tried and demanded, as YAML, with what the owner must check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor
from textwrap import wrap

from leafgate.io.yaml import yaml_flow
from leafgate.session.proposals import CONFIDENCE, Proposal

SMALLEST_CELL = 10
"""The k of a first policy for tables that are not small, and the smallest number that reports print."""

WIDTH = 110
"""Characters of a comment's line."""

PRIVATE = {
    "dp_random_trees": "{use: dp_random_trees, epsilon: 1, delta: 1.0e-6}",
    "dp_laplace_trees": "{use: dp_laplace_trees, trees: 10, scale: 10, delta: 1.0e-6}",
}
"""Builders of differentially private releases, with options for an epsilon of 1; nothing of the table decides them."""


def _build_for_persons(builder: str, most_rows: int) -> str:
    """The options of such a builder for an epsilon of 1 of a person who may have so many rows."""
    if builder == "dp_laplace_trees":
        return f"{{use: dp_laplace_trees, trees: 10, scale: {10 * most_rows}, delta: 1.0e-6}}"
    epsilon, k = floor(1e6 / most_rows) / 1e6, min(20 * most_rows, 1000)
    return f"{{use: dp_random_trees, trees: 10, k: {k}, epsilon: {epsilon:g}, delta: {1e-6 / (3 * most_rows):.1e}}}"


DISTINGUISH = "{use: distinguish}        # tries to refute the promise; may take a minute"
LINKING = "{use: linking}            # `distinguish`, which tries to refute the promise, counts rows"

_PRIVATE = """
# CHECK each domain above: it is published, and the promise of differential privacy holds only where it is not
# taken from these people.
build: {build}        # CHECK: the promise; 1 is strong, 10 says little

publish: {{leaves: counts, measure: true}}

attacks:
  - {attack}

metrics:
  - {{use: differential_privacy, at_most: 1, delta: 1.0e-6}}
"""


def limits_of(builder: str, proposal: Proposal, most_rows: int | None = None) -> Iterator[str]:
    """The end of a policy: what is built of a table, and the limits; kadet, id3, c45 or one of PRIVATE.

    A person may have so many rows, where a column numbers the people.
    """
    if builder in PRIVATE:
        build, attack = PRIVATE[builder], DISTINGUISH
        if most_rows is not None:
            build, attack = _build_for_persons(builder, most_rows), LINKING
        yield from _PRIVATE.format(build=build, attack=attack).splitlines()
        return
    few = "" if proposal.k == SMALLEST_CELL else "; few people, so few: 10 and more protect better"
    yield ""
    if builder == "kadet":
        yield "build:"
        yield "  use: kadet"
        chance = "; smaller groups are often of one value by chance" if proposal.group > proposal.k else few
        yield f"  k: {proposal.group:<24} # CHECK: how many people must share every path{chance}"
        if not proposal.prune:
            yield "  prune: false              # most people have one value: pruning would leave hardly a test"
        yield "  require:                    # what the limits below ask of every group"
        yield from (f"    - {yaml_flow(required)}" for required in proposal.require)
    else:
        yield f"build: {{use: {builder}}}         # protects nobody; the limits below say what it discloses"
        yield f"# CHECK: how many people must share every path{few}"
    yield ""
    yield "publish: {leaves: counts, measure: true}"
    yield from tried_and_demanded(proposal, "counts")
    if few:
        yield ""
        check = "# CHECK: reports tell whether groups are this small, as k does"
        yield f"report: {{smallest_cell: {proposal.k}}}     {check}"


def tried_and_demanded(proposal: Proposal, level: str) -> Iterator[str]:
    """The attacks and the limits of a proposal; `level` is what stands on the leaves."""
    yield "\nattacks:"
    yield from (f"  - {yaml_flow(attack)}" for attack in proposal.attacks)
    yield "\nmetrics:"
    for limit in proposal.metrics:
        yield f"  - {yaml_flow(limit)}{_check(limit, proposal)}"
    if proposal.question:
        values = yaml_flow(list(proposal.choice))
        yield from (f"  # {line}" for line in wrap(f"CHECK: {proposal.question}.", WIDTH))
        yield "  # If it harms nobody, add to `exposure` and `confidence`, here and in `build.require` if it is there:"
        yield f"  #   values: {values}"
    if level in {"counts", "shares"}:
        yield "  # CHECK: must no leaf count 1 to 9 people of a class? Then add this limit; for a model file, see"
        yield "  # `leafgate scrub MODEL NEW --leaves shares --step .05`, too:"
        yield f"  # - {{use: class_disclosure, form: few, k: {SMALLEST_CELL}, at_most: 0}}"


def _check(limit: Mapping[str, object], proposal: Proposal) -> str:
    """What the owner must check of a limit."""
    if limit["use"] == "exposure":
        return "   # nobody is certain of anybody, not even a member of the group"
    if limit["use"] == "confidence" and limit["at_most"] != CONFIDENCE and not proposal.judged:
        return "   # CHECK: most people have one value, or numbers near each other, so it is high"
    return ""
