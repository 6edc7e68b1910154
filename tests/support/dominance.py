"""The dominance harness: what must be so of every audit, and the random releases on which it is tried.

(a) More of the same release never makes anybody safer. (b) Whom a simple honest adversary knows with certainty,
`exposure` counts. (c) Numbers that contradict the table never pass. (d) Cells of single people that stand in a file are
disclosed. (e) Under limits that everything keeps, an honest release passes: blocking whatever comes is no audit.

Of the files of models `first_policy_cases` asks the same. One integer seed decides a whole case.
`python -m dominance --cases 10000` (with `tests/support` on PYTHONPATH) runs many, and prints the seeds of failures.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from generator.adversary import certain_people
from generator.policies import (
    LENIENT,
    LINKING,
    NOTHING_DISCLOSED,
    OF_TREES,
    Metrics,
    Outcome,
    audited,
    audited_file,
    strict_metrics,
)
from generator.published import leaves_of, nodes_of
from generator.tables import DeclaredPeople, Rng, contradicting_table, draw_declared_people
from generator.trees import LEVELS, HandMade, draw_hand_made, leaf_counts, records_of
from leafgate import Table

TOLERANCE = 1e-9
LISTED = 3
"""So many failures of one kind are printed."""
MAXENT: Metrics = (*LINKING, {"use": "maxent", "internal": False, "solver": "structured", "time_limit": 20.0})


@dataclass(frozen=True)
class Failure:
    """A property that does not hold: which, for what kind of release, and the seed that repeats it."""

    seed: int
    prop: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"seed {self.seed}: ({self.prop}) {self.kind}: {self.text}"


Problem = tuple[str, str, str]
"""The property's letter, the kind of release, and what is wrong."""


def more_is_not_safer(
    less: Outcome, more: Outcome, people: DeclaredPeople, kind: str, *, plain: bool
) -> Iterator[Problem]:
    """(a) for two releases of which the second tells all that the first does.

    What an adversary derives from less may be surer and wrong, where one group reaches several leaves whose sizes are
    not told, or where it knows everybody's distribution. So limits on `confidence` and `l_diversity` are compared
    between `plain` releases: one tree of public tests.
    """
    for secret in (column.name for column in people.schema.secrets):
        for attack in ("linking", "maxent"):
            for metric in ("exposure", "derived_exposure"):
                before, after = (outcome.exposed(secret, metric, attack) for outcome in (less, more))
                if before is not None and after is not None and (before & ~after).any():
                    yield (
                        "a",
                        kind,
                        f"{int((before & ~after).sum())} records are no longer certain by {metric}@{attack}",
                    )
        one, other = (outcome.findings.get(f"composition@linking#{secret}") for outcome in (less, more))
        if one and other and one.value is not None and other.value is not None and other.value < one.value - TOLERANCE:
            yield "a", kind, "the worst composition improves"
    for name, finding in less.findings.items():
        later = more.findings.get(name)
        comparable = plain or finding.metric not in {"confidence", "l_diversity"}
        if comparable and finding.passed is False and later is not None and later.passed:
            yield "a", kind, f"{finding.metric} no longer fails"
    if plain and less.verdict == "fail" and more.verdict == "pass":
        yield "a", kind, "the verdict no longer fails"


def certain_are_exposed(
    outcome: Outcome, people: DeclaredPeople, kind: str, attacks: Sequence[str]
) -> Iterator[Problem]:
    """(b) for an audit with the limits of `strict_metrics`."""
    if outcome.document is None:
        return
    certain = certain_people(outcome.document, people.table)
    for secret, known in (certain or {}).items():
        truthful = outcome.document["counted"] == "exact"
        for attack in attacks:
            wanted = {"exposure": known.composition} | ({"derived_exposure": known.derived} if truthful else {})
            for metric, rows in wanted.items():
                exposed = outcome.exposed(secret, metric, attack)
                if exposed is not None and (rows & ~exposed).any():
                    yield "b", kind, f"{int((rows & ~exposed).sum())} certain records, not counted by {metric}@{attack}"
        if known.composition.any() and outcome.verdict == "pass":
            yield "b", kind, "passes over people who are certain"
        for attack in attacks:
            surest, sizes = (outcome.scores(f"{use}@{attack}#{secret}") for use in ("confidence", "k_anonymity"))
            if surest is not None and (surest < known.surest - TOLERANCE).any():
                yield "b", kind, f"confidence@{attack} is less than a group's composition gives"
            if sizes is not None and (sizes > known.people + TOLERANCE).any():
                yield "b", kind, f"k_anonymity@{attack} counts more people than the adversary's group has"


def doubts(outcome: Outcome) -> list[str]:
    """What keeps an audit from passing, with limits that everything keeps; one of them judges trees alone."""
    has_trees = outcome.document is None or bool(outcome.document["trees"])
    found = [name for name, finding in outcome.findings.items() if not finding.passed]
    found = [name for name in found if has_trees or name != OF_TREES]
    return [*found, *([outcome.error] if outcome.error else [])]


def does_not_pass(outcome: Outcome, kind: str) -> Iterator[Problem]:
    """(c) for a release whose numbers contradict the table, audited with limits that everything keeps."""
    if not doubts(outcome):
        yield "c", kind, "passes"


def honest_passes(outcome: Outcome, kind: str) -> Iterator[Problem]:
    """(e) for a release of the very people it is audited on, audited with limits that everything keeps."""
    if found := doubts(outcome):
        yield "e", kind, f"ends in {outcome.verdict}: {', '.join(found)}"


def attacks_run(outcome: Outcome, kind: str) -> Iterator[Problem]:
    """(e) for a release of a builder of ours: no attack may fail on it."""
    for name, finding in outcome.findings.items():
        if name.startswith("attack:"):
            yield "e", kind, f"{name}: {finding.evidence.get('problem')}"


Case = Callable[[Rng], Iterator[Problem]]


def builder_case(rng: Rng) -> Iterator[Problem]:
    """A builder of ours at two levels; its release beside another table."""
    people = draw_declared_people(rng)
    build = _draw_build(rng, people)
    attacks = (
        MAXENT if build["use"] in {"id3", "c45"} and people.table.total_weight < 100 and rng.random() < 0.3 else LINKING
    )
    names = [str(attack["use"]) for attack in attacks]
    metrics, level = strict_metrics(rng), str(rng.choice(LEVELS[:3]))
    kind, granted = f"{build['use']} {build.get('release', '')}".strip(), bool(rng.random() < 0.2)
    policy: dict[str, Any] = {"attacks": list(attacks), "knows": {"distribution": granted}}
    less, more = (
        audited(people, build, metrics, publish={"leaves": at, "measure": at == "counts"}, **policy)
        for at in (level, "counts")
    )
    for outcome, at in ((less, level), (more, "counts")):
        yield from certain_are_exposed(outcome, people, f"{kind} {at}", names)
        yield from attacks_run(outcome, f"{kind} {at}")
    if less.document and more.document:
        plain = _is_plain(more.document) and not granted
        yield from more_is_not_safer(less, more, people, f"{kind} {level} -> counts", plain=plain)
    for outcome in (less, more):
        if outcome.document and outcome.document["counted"] == "exact":
            if rng.random() < 0.3:
                yield from honest_passes(audited_file(people, outcome.document, LENIENT), kind)
            yield from _beside_another_table(rng, people, outcome.document, kind)


def _draw_build(rng: Rng, people: DeclaredPeople) -> dict[str, Any]:
    k = int(rng.choice([1, 2, 5]))
    options: list[dict[str, Any]] = [
        {"use": "id3"},
        {"use": "c45", "prune": bool(rng.random() < 0.5)},
        {"use": "kadet", "k": k, "publish_table": bool(rng.random() < 0.3)},
        {"use": "tds", "k": k, "release": str(rng.choice(["tree", "table", "both"]))},
        {"use": "mondrian", "k": k, "release": str(rng.choice(["tree", "table", "both"]))},
        {"use": "random_trees", "trees": 2, "depth": 2, "structure": "random"},
        {"use": "table"},
    ]
    return options[int(rng.choice(len(options), p=[0.22, 0.22, 0.16, 0.1, 0.1, 0.12, 0.08]))]


def _is_plain(document: Mapping[str, Any]) -> bool:
    """Is it one tree, or none, that asks only about columns the adversary knows of everyone?"""
    roles = {name: spec["role"] for name, spec in document["schema"].items()}
    nodes = [node for tree in document["trees"] for node in nodes_of(tree) if node["kind"] != "leaf"]
    return len(document["trees"]) <= 1 and all("quasi_identifier" in roles[node["column"]] for node in nodes)


def _beside_another_table(
    rng: Rng, people: DeclaredPeople, document: Mapping[str, Any], kind: str
) -> Iterator[Problem]:
    how, others = contradicting_table(rng, people)
    if _contradicts(document, others):
        level = document["publish"]["leaves"]
        yield from does_not_pass(audited_file(others, document, LENIENT), f"{kind} {level} beside a table {how}")


def _contradicts(document: Mapping[str, Any], people: DeclaredPeople) -> bool:
    """Do the table's people, sent down the trees, give other numbers than the leaves tell, by more than a rounding?"""
    if document["records"] is not None and sum(document["records"]["weight"]) != people.table.total_weight:
        return True
    for tree in document["trees"]:
        for leaf, counts in zip(leaves_of(tree), leaf_counts(document, tree, people.table), strict=True):
            shares = counts / max(counts.sum(), 1)
            if "counts" in leaf and list(leaf["counts"].values()) != counts.tolist():
                return True
            if "shares" in leaf and (
                not counts.any() or abs(np.array([*leaf["shares"].values()]) - shares).max() > 1e-3
            ):
                return True
            if "error_rate" in leaf:
                right = shares[document["classes"].index(leaf["label"])]
                if not counts.any() or abs(1 - right - leaf["error_rate"]) > 1e-3:
                    return True
    return False


def hand_made_case(rng: Rng) -> Iterator[Problem]:
    """Trees that no builder would grow: at two levels, their numbers called others, changed, beside other people."""
    people = draw_declared_people(rng)
    made = draw_hand_made(rng, people)
    metrics, level = strict_metrics(rng), str(rng.choice(LEVELS[:3]))
    kind = f"{made.counted} trees" if len(made.trees) > 1 else f"{made.counted} tree"
    low, high = (made.document(at) for at in (level, "counts"))
    less, more = (audited_file(people, document, metrics) for document in (low, high))
    yield from certain_are_exposed(less, people, f"{kind} {level}", ["linking"])
    yield from certain_are_exposed(more, people, f"{kind} counts", ["linking"])
    yield from more_is_not_safer(less, more, people, f"{kind} {level} -> counts", plain=_is_plain(high))
    if made.counted == "exact":
        at = str(rng.choice([level, "counts"]))
        claim = str(rng.choice(["unknown", "unknown", "perturbed", "noisy", "sampled", "bootstrap"]))
        claimed = audited_file(people, made.document(at, counted=claim), metrics)
        yield from certain_are_exposed(claimed, people, f"{claim} tree {at}, in truth exact", ["linking"])
        exact = more if at == "counts" else less
        yield from more_is_not_safer(claimed, exact, people, f"{at} {claim} -> exact", plain=_is_plain(high))
        yield from _beside_another_table(rng, people, high if rng.random() < 0.5 else low, kind)
    if rng.random() < 0.15:
        what = str(rng.choice(["scores", "values"]))
        by_hand = audited_file(people, _with_scores(made) if what == "scores" else _with_values(made), metrics)
        yield from certain_are_exposed(by_hand, people, f"{what} made by hand", ["linking"])
    if rng.random() < 0.15:
        yield from _with_rows_of_people(rng, made)
    if rng.random() < 0.3:
        at = str(rng.choice(LEVELS))
        yield from honest_passes(audited_file(people, made.document(at), LENIENT), f"{kind} {at}")
    yield from _with_a_number_changed(rng, made, level if rng.random() < 0.5 else "counts")


def _with_values(made: HandMade) -> dict[str, Any]:
    """The trees with a number on each leaf, which says the share of a class that has no numbers."""
    document = made.document("labels", counted="unknown")
    for tree, counts in zip(document["trees"], made.counts, strict=True):
        for leaf, row in zip(leaves_of(tree), counts, strict=True):
            leaf["value"] = float(row[0] / max(row.sum(), 1))
            del leaf["label"]
    return document


def _with_scores(made: HandMade) -> dict[str, Any]:
    """The trees as boosting whose scores are made by hand: they say of nobody what they count."""
    document = made.document("shares", counted="unknown") | {"combine": "boost"}
    for tree in document["trees"]:
        for leaf in leaves_of(tree):
            shares = leaf.pop("shares", None) or dict.fromkeys(document["classes"], 0.5)
            leaf["scores"] = {name: round(share - 0.5, 2) for name, share in shares.items()}
    return document


def _with_rows_of_people(rng: Rng, made: HandMade) -> Iterator[Problem]:
    """(d) where the free parts of a release file hold people's rows."""
    document = made.document("counts")
    rows = records_of(rng, made.people, 1.0)["rows"]
    place = str(rng.choice(["builder", "selection"]))
    document["builder" if place == "builder" else place] = {"use": "made_by_hand", "measure": None, "notes": rows}
    if place == "builder":
        del document["builder"]["measure"]
    outcome = audited_file(made.people, document, (*LENIENT, *NOTHING_DISCLOSED))
    if outcome.verdict == "pass":
        yield "d", f"rows of people under `{place}`", "pass"


def _with_a_number_changed(rng: Rng, made: HandMade, level: str) -> Iterator[Problem]:
    """One number of one leaf changed, by a hair or a lot, so that it is not the table's."""
    document = made.document(level)
    leaves = [leaf for tree in document["trees"] for leaf in leaves_of(tree)]
    truth = np.concatenate([leaf_counts(document, tree, made.people.table) for tree in document["trees"]])
    place = int(rng.integers(len(leaves)))
    leaf, counts, name = leaves[place], truth[place], str(rng.choice(document["classes"]))
    there = int(counts[document["classes"].index(name)])
    how = ""
    if "counts" in leaf and made.counted == "exact":
        amount = float(rng.choice([1, -1, 1e-7, there, 1000]))
        if amount and leaf["counts"][name] + amount >= 0:
            leaf["counts"][name] += int(amount) if amount == int(amount) else amount
            how = f"{amount:g} more people"
    elif "counts" in leaf and made.counted == "sampled":
        leaf["counts"][name] = there + int(rng.choice([1, 100]))
        how = "more people than there are"
    elif "counts" in leaf and made.counted == "bootstrap" and there == 0:
        leaf["counts"][name] = 1
        how = "somebody of a class that nobody has"
    elif "shares" in leaf and made.counted == "exact":
        first, second = sorted(leaf["shares"], key=lambda each: -leaf["shares"][each])[:2]
        moved = float(rng.choice([0.01, 0.2])) * leaf["shares"][first]
        leaf["shares"][first] -= moved
        leaf["shares"][second] += moved
        how = "shares moved"
    elif "error_rate" in leaf and made.counted == "exact":
        moved = float(rng.choice([0.01, 0.2]))
        leaf["error_rate"] += moved if leaf["error_rate"] + moved <= 1 else -moved
        how = "error rate moved"
    if how:
        outcome = audited_file(made.people, document, LENIENT)
        yield from does_not_pass(outcome, f"{made.counted} tree {level}, {how}")


def records_case(rng: Rng) -> Iterator[Problem]:
    """Records beside trees: none, all withheld, some cells, all cells; each discloses more than the one before."""
    people = draw_declared_people(rng)
    while people.table.total_weight > 200:
        people = draw_declared_people(rng)
    made = draw_hand_made(rng, people)
    if made.counted != "exact":
        return
    metrics = strict_metrics(rng)
    shown = float(rng.choice([0.3, 0.7, 0.95]))
    partial, whole = records_of(rng, people, shown), records_of(rng, people, 1.0)
    steps = {
        "trees": None,
        "withheld records": records_of(rng, people, 0.0),
        "partial records": partial,
        "records": whole,
    }
    before: Outcome | None = None
    for name, records in steps.items():
        document = made.document("counts", records=records)
        outcome = audited_file(people, document, metrics)
        yield from certain_are_exposed(outcome, people, f"{name} exact", ["linking"])
        if before is not None:
            yield from more_is_not_safer(before, outcome, people, f"-> {name}", plain=False)
        before = outcome
    if rng.random() < 0.3:
        yield from honest_passes(
            audited_file(people, made.document("counts", records=whole), LENIENT), "records and trees"
        )
    yield from _with_faint_noise(rng, people, whole, metrics)
    alone = made.document("counts", records=whole) | {"trees": [], "model": "none", "combine": "one"}
    assert before is not None
    yield from more_is_not_safer(
        audited_file(people, alone, metrics), before, people, "records -> records and trees", plain=False
    )
    stranger = copy.deepcopy(dict(whole))
    stranger["weight"][0] += int(rng.choice([1, 50]))
    document = made.document("counts", records=stranger)
    yield from does_not_pass(audited_file(people, document, LENIENT), "records of more people")
    yield from _records_of_nobody(rng, made, whole)


def _with_faint_noise(
    rng: Rng, people: DeclaredPeople, whole: Mapping[str, Any], metrics: Metrics
) -> Iterator[Problem]:
    """(b) for records of secret numbers with noise that hides nothing, which the release does not call secret."""
    secret = [column.name for column in people.schema.secrets if column.bins]
    if not secret:
        return
    records = copy.deepcopy(dict(whole))
    place = records["columns"].index(secret[0])
    for row in records["rows"]:
        row[place] += float(rng.normal()) * 1e-6
    document = HandMade(people, (), (), "perturbed").document("counts", records=records) | {"model": "none"}
    document["noise"] = {secret[0]: {"law": "gaussian", "scale": 1e-6}}
    document["schema"][secret[0]] = document["schema"][secret[0]] | {"role": ["private"]}
    outcome = audited_file(people, document, metrics)
    yield from certain_are_exposed(outcome, people, "records with faint noise", ["linking"])


def private_case(rng: Rng) -> Iterator[Problem]:
    """A forest that claims differential privacy: as it is drawn, and with numbers that no chance has touched."""
    people = draw_declared_people(rng, plain=True)
    people = people.with_table(Table(people.schema, people.table.frame, people.table.weight * 50))
    trees, rate = 12, 0.075
    build = {"use": "dp_random_trees", "trees": trees, "k": 20, "beta": rate, "depth": 1, "combine": "sum"}
    honest = audited(people, build | {"structure": "random"}, LENIENT)
    yield from honest_passes(honest, "private forest")
    if honest.document is None:
        return
    how, change = FORGERIES[int(rng.integers(len(FORGERIES)))]
    forged, changed = copy.deepcopy(dict(honest.document)), 0
    for tree in forged["trees"]:
        for leaf, row in zip(leaves_of(tree), leaf_counts(forged, tree, people.table), strict=True):
            numbers = [round(change(people * rate, people)) for people in row.tolist()]
            leaf["counts"] = {name: n if n >= 20 else 0 for name, n in zip(forged["classes"], numbers, strict=True)}
            changed += sum(n >= 20 for n in numbers)
    if changed >= 2 * trees:
        yield from does_not_pass(audited_file(people, forged, LENIENT), f"private forest, {how}")


FORGERIES: Sequence[tuple[str, Callable[[float, int], float]]] = (
    ("rounded expectations", lambda expected, people: expected),
    ("everybody counted", lambda expected, people: people),
    ("twice the rate", lambda expected, people: 2 * expected),
    ("half the rate", lambda expected, people: expected / 2),
)


def _records_of_nobody(rng: Rng, made: HandMade, whole: Mapping[str, Any]) -> Iterator[Problem]:
    """(c) where as many records as there are people have public cells that none of them has."""
    people = made.people
    public = [column for column in people.schema.public if column.values is not None]
    for column in public:
        unused = set(column.values or ()) - set(people.table.frame[column.name].dropna())
        if unused:
            records = copy.deepcopy(dict(whole))
            place = records["columns"].index(column.name)
            for row in records["rows"]:
                row[place] = min(unused)
            document = made.document("counts", records=records)
            yield from does_not_pass(audited_file(people, document, LENIENT), "records of nobody")
            alone = document | {"trees": [], "model": "none"}
            alone["combine"] = "one"
            yield from does_not_pass(audited_file(people, alone, LENIENT), "records of nobody alone")
            return


def cases() -> Mapping[str, tuple[float, Case]]:
    """Every kind of case, and how often it is drawn."""
    return {
        "builder": (0.3, builder_case),
        "hand made": (0.3, hand_made_case),
        "records": (0.1, records_case),
        "private": (0.03, private_case),
    }


def check(seed: int, only: str = "") -> list[Failure]:
    """All failures of the case that a seed draws; with `only`, of a case of that kind."""
    rng = np.random.default_rng(seed)
    known = cases()
    odds = np.array([often for often, _ in known.values()])
    name = str(rng.choice(list(known), p=odds / odds.sum()))
    return [Failure(seed, *problem) for problem in known[only or name][1](rng)]


def main() -> int:
    """Run many cases; 1 where a property does not hold."""
    parser = argparse.ArgumentParser(prog="dominance", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", default="", choices=["", *cases()], help="cases of one kind alone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    started, done = time.perf_counter(), 0
    found: Counter[tuple[str, str, str]] = Counter()
    for seed in range(chosen.first, chosen.first + chosen.cases):
        if time.perf_counter() - started > chosen.seconds:
            break
        for failure in _tried(seed, chosen.kind):
            key = (failure.prop, failure.kind, failure.text.lstrip("0123456789 "))
            found[key] += 1
            if found[key] <= LISTED:
                print(failure, flush=True)
        done += 1
    seconds = time.perf_counter() - started
    print(f"\n{done:,} cases in {seconds:.0f} s; {sum(found.values()):,} failures of {len(found)} kinds")
    for (prop, kind, text), number in sorted(found.items()):
        print(f"{number:6} ({prop}) {kind}: {text}")
    return 1 if found else 0


def _tried(seed: int, kind: str) -> list[Failure]:
    """The failures of a case; an error that is no finding is one too."""
    try:
        return check(seed, kind)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [Failure(seed, "crash", type(error).__name__, f"{where.filename}:{where.lineno} {error}")]


if __name__ == "__main__":
    sys.exit(main())
