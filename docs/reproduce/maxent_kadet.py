"""Does k-anonymity help against the maximum-entropy attack? kADET's releases, attacked in three ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kadet_runs import release_of
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import Finding
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.tree import leaves
from leafgate.session.run import Session
from maxent_settings import TIME_LIMIT, publishing

KS = (2, 10, 50, 200)
PRIVATE: tuple[tuple[str, ...], ...] = (("sex", "race"), ("relationship",))
ATTACKS: tuple[Mapping[str, Any], ...] = (
    {"use": "linking"},
    {"use": "maxent", "name": "leaves", "internal": False, "time_limit": TIME_LIMIT},
    {"use": "maxent", "name": "choices", "internal": True, "time_limit": TIME_LIMIT},
)
# Attacks are compared by what each derives, as in the paper; the composition is the same for all of them.
METRICS: tuple[Mapping[str, Any], ...] = (
    {"use": "exposure", "scored": "derived", "average": True, "at_most": 1},
    {"use": "confidence", "name": "surest", "scored": "derived", "at_most": 1},
    {"use": "confidence", "scored": "derived", "average": True, "at_most": 1},
    {"use": "divergence", "average": True, "at_least": 0},
    {"use": "gain", "average": True, "at_most": 1e9},
    {"use": "gain", "name": "largest_gain", "at_most": 1e9},
    {"use": "k_anonymity", "at_least": 1},
)


@dataclass(frozen=True)
class Hold:
    """One attack on one release; shares in per cent, the gain against what the leaves alone say.

    `internal` counts the internal constraints of the problem, `imposed` those that had to be imposed; empty
    where the attack has none, `note` says why, or why it found no belief.
    """

    release: str
    private: str
    leaves: int
    attack: str
    smallest_group: int | None
    exposed: float | None
    surest: float | None
    confidence: float | None
    divergence: float | None
    gain: float | None
    largest_gain: float | None
    internal: int | None
    imposed: int | None
    note: str


def holds(run: Session) -> Iterator[Hold]:
    """Every release by every attack: ID3 and kADET with all public, then kADET where columns are private."""
    yield from _attacked(run, "ID3", (), {"use": "id3", "measure": "gain", "min_split": 6})
    for k in KS:
        yield from _attacked(run, f"kADET, k = {k}", (), _kadet(k))
    for names in PRIVATE:
        for k in (2, 50):
            yield from _attacked(_hiding(run, names), f"kADET, k = {k}", names, _kadet(k))


def _kadet(k: int) -> dict[str, Any]:
    return {"use": "kadet", "k": k, "measure": "gain", "prune": False}


def _hiding(run: Session, names: Sequence[str]) -> Session:
    """The same people, some of whose columns no outsider knows."""

    def hidden(column: Column) -> Column:
        return replace(column, roles=frozenset({"private"})) if column.name in names else column

    schema = Schema(tuple(hidden(column) for column in run.table.schema.columns))
    return replace(run, tables=replace(run.tables, people=replace(run.table, schema=schema)))


def _attacked(run: Session, name: str, private: Sequence[str], builder: Mapping[str, Any]) -> Iterator[Hold]:
    run, offered = publishing(run, builder), run.plugins.by_name
    attacks, metrics = (
        [offered[str(each["use"])].model_validate(each) for each in many] for many in (ATTACKS, METRICS)
    )
    policy = run.policy.model_copy(update={"attacks": tuple(attacks), "metrics": tuple(metrics)})
    done = replace(run, policy=policy).audit()
    size = sum(1 for _ in leaves(release_of(done).trees[0]))
    for attack in policy.attacks:
        found = {f.metric: f for f in done.report.findings if f.attack == attack.called and "guarantee" not in f.id}
        failed = [f for f in done.report.findings if f.id == f"attack:{attack.called}"]
        yield _hold(name, " and ".join(private), size, attack.called, found, failed)


def _hold(
    name: str, private: str, size: int, attack: str, found: Mapping[str, Finding], failed: Sequence[Finding]
) -> Hold:
    def value(metric: str, times: float = 1) -> float | None:
        number = found[metric].value if metric in found else None
        return None if number is None else times * float(number)

    evidence = found["surest"].evidence if "surest" in found else {}
    numbers, imposed = (_plain(evidence.get(key, {})).get("internal") for key in ("constraints", "imposed"))
    smallest = value("k_anonymity")
    return Hold(
        name,
        private,
        size,
        attack,
        None if smallest is None else int(smallest),
        value("exposure", 100),
        value("surest", 100),
        value("confidence", 100),
        value("divergence"),
        value("gain"),
        value("largest_gain"),
        numbers,
        (imposed or 0) if numbers else None,
        str(failed[0].evidence["problem"]) if failed else str(evidence.get("without_internal", "")),
    )


def _plain(document: Any) -> Mapping[str, int]:
    content = document.content if isinstance(document, AuditorOnly) else document
    return dict(content)
