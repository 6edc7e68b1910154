"""What plugins say of themselves, taken from their classes and nowhere else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from leafgate.api.checks import AuditCheck
from leafgate.api.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.api.metrics import Example, Metric, PersonMetric
from leafgate.api.model_readers import ModelReader
from leafgate.api.options import options, parts
from leafgate.api.registry import OfferedFormat, Plugin, Plugins, command_name, use_of
from leafgate.types.adversary import ACCESS_LEVELS

KINDS: dict[type[Component], str] = {
    TreeBuilder: "builder",
    AttackModel: "attack",
    Metric: "metric",
    AuditCheck: "check",
    DataSource: "source",
}


def kind_of(component: type[Component]) -> str:
    """builder, attack, metric, check or source."""
    return next(word for base, word in KINDS.items() if issubclass(component, base))


def explanation(component: type[Component], origin: str) -> str:
    """The page `leafgate explain` prints."""
    lines = [f"{use_of(component)}: {kind_of(component)} of {origin}", "", inspect.getdoc(component) or "", ""]
    if issubclass(component, Metric):
        lines += _metric_lines(component)
    if issubclass(component, AttackModel):
        lines += _attack_lines(component)
    if issubclass(component, DataSource):
        lines.append(f"Reads files that end in: {', '.join(sorted(component.suffixes))}.")
    if issubclass(component, TreeBuilder):
        lines.append(f"Randomness: {component.randomness}.")
    if issubclass(component, AuditCheck):
        return "\n".join([*lines, *_check_lines(component)]) + "\n"
    scale, safe, alarm = "", "", ""
    if issubclass(component, Metric):
        scale, safe, alarm = component.scale, component.interpretation, component.plain_failure_of("the secret")
    for title, text in (
        ("Threat model", component.threat_model),
        ("Formula", component.formula),
        ("Scale", scale),
        ("Safe", safe),
        ("Broken", alarm),
        ("Source", component.source),
    ):
        if text:
            lines.append(f"{title}: {text}")
    lines += map(_worked_out, component.examples if issubclass(component, Metric) else ())
    lines += ["", "Options:"]
    lines += _option_lines(component, "  ")
    for name, model in parts(component):
        use = model.model_fields.get("use")
        picked = f": {{use: {use.default}}}" if use else ""
        lines += ["", f"{name}{picked}: {_first_line(model)}", *_option_lines(model, "  ")]
    return "\n".join(lines) + "\n"


def format_explanation(offered: OfferedFormat) -> str:
    """The page `leafgate explain` prints of a report format."""
    format_ = offered.format
    lines = [f"{format_.name}: format of {offered.origin}", "", inspect.getdoc(format_.render) or "", ""]
    lines.append(f"File: {format_.filename}, of the type {format_.media_type}.")
    if format_.attachments:
        lines.append(f"Shows, where given: {', '.join(sorted(format_.attachments))}.")
    if format_.render_tree is not None:
        lines.append("Draws the first tree of a release in notebooks.")
    return "\n".join(lines) + "\n"


def _attack_lines(attack: type[AttackModel]) -> Iterator[str]:
    """What an attack can read, and what it takes into account."""
    yield f"Reads numbers that are: {', '.join(sorted(attack.reads))}."
    yield f"Takes into account, where granted: {', '.join(sorted(attack.needs)) or 'nothing more'}."
    if attack.access_levels != {"file"}:
        yield f"Can use of the model: {', '.join(sorted(attack.access_levels, key=ACCESS_LEVELS.index))}."


def reader_explanation(reader: ModelReader, origin: str) -> str:
    """The page `leafgate explain` prints of a reader of model files."""
    lines = [f"{reader.name}: reader of {origin}", "", inspect.getdoc(reader.read) or "", ""]
    lines.append(f"Reads files of up to {reader.max_bytes / 2**20:g} MB; it states what each discloses.")
    if reader.from_object is not None:
        lines.append("Reads models in memory, too.")
    if reader.write is not None:
        lines.append(f"Writes models as files that end in {', '.join(reader.suffixes)}.")
    return "\n".join(lines) + "\n"


def _check_lines(check: type[AuditCheck]) -> Iterator[str]:
    """When a check runs, what the public reads of it, and what it states about itself."""
    yield "Runs in every audit; where a policy lists `plugins`, only if its distribution is among them."
    public = "its reasons" if check.of_release else "that it has a finding, and no reason"
    yield f"Public reports state {public}."
    texts = {"Threat model": check.threat_model, "Formula": check.formula, "Source": check.source}
    yield from (f"{title}: {text}" for title, text in {**texts, "Finding": check.plain_failure}.items() if text)


def _metric_lines(metric: type[Metric]) -> Iterator[str]:
    """What a metric scores, which claim it checks, and what the public reads of it."""
    yield from _what_it_scores(metric)
    if metric.checks:
        yield f"Checks the guarantee {metric.checks!r} that a release claims."
    if metric.private:
        yield "Public reports state whether the limit holds, and no number."


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


def _option_lines(model: type[BaseModel], indent: str) -> Iterator[str]:
    for name, kind, default, description in options(model):
        shown = "required" if default == "" else f"default {default}"
        yield f"{indent}{name}: {kind} ({shown}){'. ' + description if description else ''}"


def _first_line(model: type[BaseModel]) -> str:
    return (inspect.getdoc(model) or "").partition("\n")[0]


def _worked_out(example: Example) -> str:
    """An example in a sentence."""
    group, everyone = map(_listed, (example.group, example.everyone))
    options = "".join(f" with {key}: {value}" for key, value in example.options.items())
    population = "" if example.population is None else f" ({example.population} of the population)"
    believed = "" if example.believed is None else f", believed to be {_listed(example.believed)}"
    baseline = "" if example.prior is None else f" over a baseline of {_listed(example.prior)}"
    who = f"a group of {group}{population}{believed}{baseline}"
    return f"Example: {who}, everyone being {everyone}, scores {example.score:.6g}{options}."


def _listed(some: Mapping[str, float]) -> str:
    return ", ".join(f"{n} {value}" for value, n in some.items())


def _offers(plugin: Plugin) -> list[tuple[str, str]]:
    """The kind and the name of everything that a plugin offers."""
    others = [("format", each.name) for each in plugin.formats]
    others += [("attachment", name) for name, _ in plugin.attachments]
    others += [("reader", each.name) for each in plugin.readers]
    others += [("function", name) for name, _ in plugin.functions]
    for app in plugin.commands:
        others += [("command", command_name(command)) for command in app.registered_commands]
        for group in app.registered_groups:
            members = [] if group.typer_instance is None else group.typer_instance.registered_commands
            others += [("command", f"{group.name} {command_name(command)}") for command in members]
    return [*((kind_of(component), use_of(component)) for component in plugin.offers), *others]


def plugins_document(plugins: Plugins) -> dict[str, Any]:
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


def plugin_lines(plugins: Plugins) -> Iterator[str]:
    """Every plugin found, a line each for people."""
    for plugin in plugins.entries:
        offers = ", ".join(" ".join(offer) for offer in _offers(plugin)) or "nothing"
        state = f"BROKEN: {plugin.problem}" if plugin.problem else offers
        yield f"{plugin.name} ({plugin.origin}): {state}\n"
