"""What plugins say of themselves, taken from their classes: `leafgate explain` and the reference pages print it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from leafgate.api import registry
from leafgate.api.data_engines import DataEngine
from leafgate.api.options import options, parts
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.knowledge import needs_in_words
from leafgate.kernel.metrics import Example, Metric, PersonMetric
from leafgate.kernel.oracle import ACCESS_LEVELS

KINDS: dict[type[Component], str] = {
    TreeBuilder: "builder",
    AttackModel: "attack",
    Metric: "metric",
    DataSource: "source",
}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: its type, its default as JSON (empty where it must be given) and its meaning."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """The options of a component, or of a mapping below its option `under`."""

    under: str
    picked: str
    summary: str
    options: tuple[Option, ...]

    @property
    def heading(self) -> str:
        """The option that holds the mapping, with the `use` that picks it."""
        return self.under + (f": {{use: {self.picked}}}" if self.picked else "")


@dataclass(frozen=True, kw_only=True)
class Description:
    """All that documentation says of one component.

    Attributes:
        text: The docstring: a sentence, and paragraphs after it.
        notes: Sentences about what the component reads, judges and prints.
        facts: Titles and texts: the threat model, the formula, the source.
        examples: Worked examples, a sentence each.
        policy_example: Lines of a policy that use the component; empty where its class states no example.
        groups: Its options, and those of the mappings below them.
    """

    name: str
    kind: str
    origin: str
    text: str
    notes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    examples: tuple[str, ...]
    policy_example: str
    groups: tuple[OptionGroup, ...]


def kind_of(component: type[Component]) -> str:
    """builder, attack, metric or source."""
    return next(word for base, word in KINDS.items() if issubclass(component, base))


def describe(component: type[Component], origin: str) -> Description:
    """The description of a component, whose distribution and version are `origin`."""
    metric = component if issubclass(component, Metric) else None
    own = OptionGroup(under="", picked="", summary="", options=options_of(component))
    return Description(
        name=registry.use_of(component),
        kind=kind_of(component),
        origin=origin,
        text=inspect.getdoc(component) or "",
        notes=tuple(_notes(component)),
        facts=tuple((title, text) for title, text in _facts(component) if text),
        examples=() if metric is None else tuple(map(_worked_out, metric.examples)),
        policy_example=policy_example(component),
        groups=(own, *_groups(component)),
    )


def explanation(component: type[Component], origin: str) -> str:
    """The page `leafgate explain` prints of a component."""
    described = describe(component, origin)
    lines = [f"{described.name}: {described.kind} of {origin}", "", described.text, "", *described.notes]
    lines += (f"{title}: {text}" for title, text in described.facts)
    lines += (f"Example: {example}" for example in described.examples)
    if described.policy_example:
        lines += ["", "In a policy:", *(f"  {line}" for line in described.policy_example.splitlines())]
    for group in described.groups:
        lines += ["", f"{group.heading}: {group.summary}" if group.under else "Options:"]
        lines += (_option_line(option) for option in group.options)
    return "\n".join(lines) + "\n"


def options_of(model: type[BaseModel]) -> tuple[Option, ...]:
    """The options of a component or of a mapping in a policy."""
    return tuple(
        Option(name=name, type=type_, default=default, meaning=meaning)
        for name, type_, default, meaning in options(model)
    )


def summary_of(documented: object) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())


def policy_example(component: type[Component]) -> str:
    """Lines of a policy that use a component, with the options of its `policy_example`; empty if these are missing."""
    required = any(field.is_required() for name, field in component.model_fields.items() if name != "use")
    if required and not component.policy_example:
        return ""
    used = "{" + ", ".join(filter(None, (f"use: {registry.use_of(component)}", component.policy_example))) + "}"
    if issubclass(component, TreeBuilder):
        return f"build: {used}"
    if issubclass(component, DataSource):
        return f"data:\n  source: {used}"
    return f"{'attacks' if issubclass(component, AttackModel) else 'metrics'}:\n  - {used}"


def format_explanation(offered: registry.OfferedFormat) -> str:
    """The page `leafgate explain` prints of a report format."""
    format_ = offered.format
    lines = [f"{format_.name}: format of {offered.origin}", "", inspect.getdoc(format_.render) or "", ""]
    return "\n".join([*lines, *format_notes(offered)]) + "\n"


def format_notes(offered: registry.OfferedFormat) -> Iterator[str]:
    """Sentences about the files of a report format."""
    format_ = offered.format
    yield f"File: {format_.filename}, of the type {format_.media_type}."
    if format_.attachments:
        yield f"Shows, where given: {', '.join(sorted(format_.attachments))}."
    if format_.render_tree is not None:
        yield "Draws the first tree of a release in notebooks."


def reader_explanation(reader: ModelReader, origin: str) -> str:
    """The page `leafgate explain` prints of a reader of model files."""
    lines = [f"{reader.name}: reader of {origin}", "", inspect.getdoc(reader.read) or "", "", *reader_notes(reader)]
    return "\n".join(lines) + "\n"


def reader_notes(reader: ModelReader) -> Iterator[str]:
    """Sentences about what a reader of model files reads and writes."""
    yield f"Reads files of up to {reader.max_bytes / 2**20:g} MB, and states what each discloses."
    if reader.from_object is not None:
        yield "Reads models in memory, too."
    if reader.write is not None:
        yield f"Writes models as files that end in {', '.join(reader.suffixes)}."


def _notes(component: type[Component]) -> Iterator[str]:
    """Sentences about what a component reads, judges and prints."""
    if issubclass(component, Metric):
        yield from _metric_notes(component)
    if issubclass(component, AttackModel):
        yield from _attack_notes(component)
    if issubclass(component, DataSource):
        suffixes = [".csv", ".parquet", ".jsonl"] if issubclass(component, DataEngine) else sorted(component.suffixes)
        yield f"Reads files that end in: {', '.join(suffixes)}."
    if issubclass(component, TreeBuilder):
        yield RANDOMNESS[component.randomness]


RANDOMNESS = {
    "none": "Random numbers: none.",
    "seed": "Random numbers: from the policy's `seed`.",
    "system": "Random numbers: from the operating system; no audit can repeat the release.",
}


def _facts(component: type[Component]) -> Iterator[tuple[str, str]]:
    """Titles and texts; a text may be empty."""
    yield "Threat model", component.threat_model
    yield "Formula", component.formula
    if issubclass(component, Metric):
        yield "Scale", component.scale
        yield "Scores mean", component.interpretation
        try:
            failure = component.plain_failure_of("<secret>")
        except Exception:
            with registry.isolate_plugin_errors(component, registry.load_plugins()):
                raise
        yield "Where the limit is broken", failure
    yield "Source", component.source


def _attack_notes(attack: type[AttackModel]) -> Iterator[str]:
    """What an attack can read, and what it takes into account."""
    every = AttackModel.reads
    which = "numbers of every kind" if attack.reads == every else "only these numbers"
    yield f"Reads {which}: {', '.join(sorted(attack.reads))}."
    granted = "; ".join(text for need, text in needs_in_words().items() if need in attack.needs)
    yield f"Uses, if granted: {granted or 'nothing more'}."
    yield f"Access: {', '.join(sorted(attack.access_levels, key=ACCESS_LEVELS.index))}."


def _metric_notes(metric: type[Metric]) -> Iterator[str]:
    """What a metric scores, which claim it checks, and what the public reads of it."""
    yield from _what_it_scores(metric)
    if metric.checks:
        yield f"Checks the guarantee {metric.checks!r} that a release claims."
    if metric.public == "verdict":
        yield "Public reports state only the outcome."


def _what_it_scores(metric: type[Metric]) -> Iterator[str]:
    """Whom a metric scores, how a policy limits it, and by which distributions of a secret."""
    of_people = issubclass(metric, PersonMetric)
    whole = "each attack's belief" if metric.judges else "the release"
    yield f"Scores {'each person' if of_people else whole}; a policy limits it with `{metric.direction}`."
    if not issubclass(metric, PersonMetric):
        return
    if metric.groups_only:
        yield "It judges groups of people, and no distribution of a secret."
        return
    names = {
        "worst": "for each person the worse of what is derived and the group's true composition (`scored: worst`)",
        "derived": "what is derived (`scored: derived`)",
        "composition": "the group's true composition (`scored: composition`)",
    }
    judged = [name for scored, name in names.items() if metric.can_score(scored)]  # type: ignore[arg-type]
    yield f"It judges {', or '.join(judged)}."


def _groups(component: type[Component]) -> Iterator[OptionGroup]:
    for under, model in parts(component):
        use = model.model_fields.get("use")
        picked = str(use.default) if use else ""
        yield OptionGroup(under=under, picked=picked, summary=summary_of(model), options=options_of(model))


def _option_line(option: Option) -> str:
    default = f"default {option.default}" if option.default else "required"
    return f"  {option.name}: {option.type} ({default}){'. ' + option.meaning if option.meaning else ''}"


def _worked_out(example: Example) -> str:
    """An example in a sentence."""
    group, everyone = map(_listed, (example.group, example.everyone))
    options = "".join(f" with {key}: {value}" for key, value in example.options.items())
    population = "" if example.population is None else f" ({example.population} of the population)"
    believed = "" if example.believed is None else f", believed to be {_listed(example.believed)}"
    baseline = "" if example.prior is None else f" over a baseline of {_listed(example.prior)}"
    who = f"a group of {group}{population}{believed}{baseline}"
    return f"{who}, everyone being {everyone}, scores {example.score:.6g}{options}."


def _listed(some: Mapping[str, float]) -> str:
    return ", ".join(f"{n} {value}" for value, n in some.items())


def _offers(plugin: registry.Plugin) -> list[tuple[str, str]]:
    """The kind and the name of everything that a plugin offers."""
    others = [("format", each.name) for each in plugin.formats]
    others += [("reader", each.name) for each in plugin.readers]
    for app in plugin.commands:
        others += [("command", registry.command_name(command)) for command in app.registered_commands]
        for group in app.registered_groups:
            members = [] if group.typer_instance is None else group.typer_instance.registered_commands
            others += [("command", f"{group.name} {registry.command_name(command)}") for command in members]
    return [*((kind_of(offer.component), offer.use) for offer in plugin.offers), *others]


def plugins_document(plugins: registry.Plugins) -> dict[str, Any]:
    """Every plugin found, as JSON."""
    return {
        "format": "leafgate/plugins/1",
        "plugins": [
            {
                "name": plugin.name,
                "distribution": plugin.distribution,
                "version": plugin.version,
                "offers": [{"kind": kind, "use": use} for kind, use in _offers(plugin)],
                "problem": plugin.problem or None,
            }
            for plugin in plugins.entries
        ],
    }


def plugin_lines(plugins: registry.Plugins) -> Iterator[str]:
    """Every plugin found, a line each for people."""
    for plugin in plugins.entries:
        offers = ", ".join(" ".join(offer) for offer in _offers(plugin)) or "nothing"
        state = f"BROKEN: {plugin.problem}" if plugin.problem else offers
        yield f"{plugin.name} ({plugin.origin}): {state}\n"
    for problem in plugins.clashes.values():
        yield f"CLASH: {problem}\n"
