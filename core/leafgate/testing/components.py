"""What builders, attacks and metrics must all keep to, and builders alone; what is watched while they run."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.consistency import inconsistent_leaves, inconsistent_records
from leafgate.api import options
from leafgate.errors import LeafgateError
from leafgate.io.release_codec import serialize
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.release import BuildResult
from leafgate.kernel.table import Table
from leafgate.kernel.tree import leaves
from leafgate.testing import scenarios
from leafgate.testing.check import Relation, guarded, named, refuse_if, skip_if

NETWORK = ("socket.__new__", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
SURROUNDINGS = ("os.putenv", "os.unsetenv", "os.chdir")
"""Events that Python raises in its audit hooks, also for modules that do without `socket` or `os`."""
_WATCHED: list[tuple[Collection[str], list[str]]] = []


@contextmanager
def watched(events: Collection[str]) -> Iterator[list[str]]:
    """The events among these that happen meanwhile; no connection is made."""
    _listen()
    _WATCHED.append((events, []))
    try:
        yield _WATCHED[-1][1]
    finally:
        _WATCHED.pop()


@cache
def _listen() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: object) -> None:
    if _WATCHED and event in _WATCHED[-1][0]:
        _WATCHED[-1][1].append(event)
        if event.startswith("socket."):
            raise OSError("no network during a check")


def text_of(thing: Any) -> str:
    """The content of an object as a text; in one process equal objects have equal texts."""
    if isinstance(thing, pd.DataFrame | pd.Series):
        thing = thing.astype(object).to_dict()
    if isinstance(thing, Mapping):
        thing = list(thing.items())
    if is_dataclass(thing) and not isinstance(thing, type):
        thing = [getattr(thing, part.name) for part in fields(thing) if part.compare]
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(text_of, thing))}]"
    return repr(thing.tolist()) if isinstance(thing, np.ndarray) else "" if callable(thing) else repr(thing)


def public(evidence: Any) -> Any:
    """Evidence as the public may come to read it: without what is private, and without counts of people."""
    if isinstance(evidence, Mapping):
        return {key: public(value) for key, value in evidence.items()}
    if isinstance(evidence, list | tuple):
        return [public(value) for value in evidence]
    return None if isinstance(evidence, AuditorOnly | PeopleCount) else evidence


@dataclass(frozen=True)
class Subject:
    """A component, and scenarios that its author adds to those of the kit. Each kind of component has methods:

    - `cases()`: everything that it is tried on, such as scenarios.
    - `open(case, change)`: a new input of a case, its table changed beforehand.
    - `run(opened, seed)`: what the component returns for an input, checked as an audit does.
    - `answers(opened, output)`: what an output says of each person, whatever the order of rows, columns and values.
    - `words(output)`: what everybody may read of an output beside its numbers.
    - `inputs(opened)`: what the component could write into.
    - `edge_cases()`: unusual inputs, which it may refuse.
    """

    component: Any
    more: Sequence[Any] = ()

    @cached_property
    def accepted(self: Any) -> list[tuple[Any, Any, Any]]:
        """The cases that the component can use, each with an input and its output; NonConformance if there are none."""
        accepted, why = list[tuple[Any, Any, Any]](), ""
        for case in self.cases():
            try:
                opened = self.open(case, scenarios.unchanged)
                accepted.append((case, opened, self.run(opened)))
            except LeafgateError as error:
                why = f": {error}"
        refuse_if(not accepted, f"it can use nothing of this kit, nor of the scenarios in `on`{why}")
        return accepted


def works(subject: Any) -> None:
    """It takes what it declares that it can read, and returns what an audit takes."""
    assert subject.accepted


def described_options(subject: Any) -> None:
    """Its options are frozen and checked strictly, as its base class says, and each has a description."""
    kind = type(subject.component)
    strict = kind.model_config.get("extra") == "forbid" and kind.model_config.get("frozen")
    refuse_if(not strict, "it takes options nobody declared, or lets them be changed")
    for _, model in [("", kind), *options.parts(kind)]:
        silent = [name for name, *_, description in options.options(model) if not description]
        refuse_if(silent, f"the option {' '.join(silent)} does not say what it is for")


def runs_apart(subject: Any) -> None:
    """A second run on the same input, with the same seed, returns the same, and leaves everything else alone.

    It draws from the `rng` that it is given, or from `known.seed`, and reads no clock; a builder states in `randomness`
    where it draws from. It copies before it writes into an input, and puts back what it changes of the process: random
    numbers, the environment, the working directory, what numpy does about errors. It opens no connection and resolves
    no host name: what is audited must not leave the machine.
    """
    seed = 1 if getattr(subject.component, "randomness", "") == "none" else 0
    for case, _, output in subject.accepted:
        opened, states = subject.open(case, scenarios.unchanged), list[str]()
        before = text_of(subject.inputs(opened))
        random.seed(1)
        np.random.seed(1)
        with np.errstate(all="warn", under="ignore"), watched((*NETWORK, *SURROUNDINGS)) as events:
            states.append(_shared_state())
            again = subject.run(opened, seed)
            states.append(_shared_state())
        refuse_if(events, f"it calls the network, or changes its surroundings: {events[:1]}")
        refuse_if(states[0] != states[1], "it changes random numbers or settings that the whole process shares")
        refuse_if(text_of(subject.inputs(opened)) != before, "it changes its input")
        draws = getattr(subject.component, "one_shot", False)
        refuse_if(text_of(again) != text_of(output) and not draws, "it returns something else when it is run again")


def _shared_state() -> str:
    return text_of([random.getstate(), np.random.get_state(), np.geterr()])


def tells_nobody(subject: Any) -> None:
    """What everybody may read holds no cell: evidence about somebody is wrapped in AuditorOnly or PeopleCount.

    Looked for are numbers with decimals and long texts that no secret has, unless an option names them.
    """
    for _, opened, output in subject.accepted:
        table = getattr(opened, "table", opened)
        own = [column for column in table.schema.columns if column.numeric or not column.roles & scenarios.SECRET]
        cells = {str(cell) for column in own for cell in table.frame[column.name].dropna().unique()}
        words = set(re.findall(r"[\w.]+", str(subject.words(output))))
        chosen = set(re.findall(r"\w+", str(subject.component)))
        said = {cell for cell in (cells & words) - chosen if len(cell) > 3}
        refuse_if(said, f"what it publishes says what stands in a row of the table: {len(said)} cells")


def errs_in_words(subject: Any) -> None:
    """Of what it cannot use it says so in leafgate's errors, such as InconclusiveError; it never crashes."""
    for opened in subject.edge_cases():
        with suppress(LeafgateError):
            subject.run(opened)


def same_when(change: scenarios.Change, subject: Any) -> None:
    """What it says of each person is the same in any order of rows, columns and values, and in a row with others."""
    draws = getattr(subject.component, "randomness", "none") != "none"
    skip_if(draws, "which coin falls on whom depends on their order")
    for case, opened, output in subject.accepted:
        twin = subject.open(case, change)
        alike = same(subject.answers(opened, output), subject.answers(twin, subject.run(twin)))
        refuse_if(not alike, f"it says something else of the same people when their table is {change.__name__}")


CLOSE = 1e-4
"""By such a part numbers that should be equal may differ: some attacks solve for them."""


def same(one: Any, other: Any) -> bool:
    """Are two answers equal, but for the last digits of numbers?"""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(np.isclose(one, other, rtol=CLOSE, atol=CLOSE) if isinstance(one, float) else one == other)


COMPONENTS: Mapping[str, Relation] = {
    **named(works, described_options, runs_apart, tells_nobody, errs_in_words),
    "any_column_order": partial(same_when, scenarios.reordered),
    "any_label_order": partial(same_when, scenarios.relabelled),
    "any_row_order": partial(same_when, scenarios.shuffled),
}
"""The relations of every component, by name."""

MANY = scenarios.Scenario("many people", lambda telling: scenarios.survey(900), scenarios.tree_release)
"""So many that no two splits are equally good."""


@dataclass(frozen=True)
class BuilderSubject(Subject):
    """A builder, and the tables it is given."""

    component: TreeBuilder

    def cases(self) -> Iterator[scenarios.Scenario]:
        """Scenarios, of which the table is used."""
        yield from (MANY, *self.more)

    def open(self, case: scenarios.Scenario, change: scenarios.Change) -> Table:
        """The scenario's table."""
        return case.world(change).table

    def run(self, opened: Table, seed: int = 0) -> BuildResult:
        """What it builds, where a file can hold that; of a builder that draws from the system its rehearsal."""
        builder = self.component
        if builder.one_shot and "rehearsal" in type(builder).model_fields:
            builder = builder.model_copy(update={"rehearsal": True})
        test: dict[str, Any] = {"test": opened} if builder.wants_test else {}
        with guarded(builder):
            built = BuildResult.of(builder.build(opened, np.random.default_rng(seed), **test))
            serialize(built)
        return built

    def answers(self, opened: Table, output: BuildResult) -> str:
        """What leaves count, the records, and what the release says of its builder."""
        release = output.release
        trees = (*release.trees, *release.alternatives.values())
        counts = sorted(sorted((leaf.counts or {}).items()) for tree in trees for leaf in leaves(tree))
        records = release.records and zip(release.records.rows, release.records.weight, strict=True)
        rows = sorted((sorted(map(str, row)), weight) for row, weight in records or ())
        return str((counts, rows, release.bayes and release.bayes.described(), dict(release.builder)))

    def words(self, output: BuildResult) -> list[Any]:
        """What the release says of how it came about."""
        return [output.release.builder, output.release.selection, output.release.guarantee]

    def inputs(self, opened: Table) -> list[Any]:
        """The table."""
        return [opened]

    def edge_cases(self) -> Iterator[Table]:
        """One person; one class; the class and nothing else."""
        table = scenarios.survey()
        yield table.at(np.arange(1))
        yield table.at(np.flatnonzero(table.codes("illness") == 0))
        yield table.project(["illness"])[0]


def counts_truly(subject: BuilderSubject) -> None:
    """Numbers that are said to count people exactly do so (`table.weight`); a leaf's label is its commonest class."""
    exact = [each for each in subject.accepted if each[2].release.count_semantics == "exact"]
    for _, table, output in exact:
        wrong = inconsistent_leaves(output.release, table) or inconsistent_records(output.release, table)
        refuse_if(wrong, "numbers of its release are not those of the table's people, and it says that they are")
        for leaf in (leaf for tree in output.release.trees for leaf in leaves(tree)):
            counts = leaf.counts or {}
            rare = counts.get(str(leaf.label), np.inf) < max(counts.values(), default=0)
            refuse_if(rare, "a leaf of its release is labelled with a class that is not the commonest there")
    skip_if(not exact, "it does not say that its numbers count exactly")


BUILDERS: Mapping[str, Relation] = {
    **COMPONENTS,
    "counts_people": partial(same_when, scenarios.written_out),
    **named(counts_truly),
}
"""The relations of builders, by name."""
